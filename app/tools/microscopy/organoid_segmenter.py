"""The tool `organoid_segmenter`: numbers the organoids in an image."""

from __future__ import annotations

from app.tools.api import ToolSpec
from app.tools.microscopy.names import ORGANOIDS, OTHER_NAMES
from app.tools.microscopy.segmentation import (
    NEEDS,
    ObjectSegmenter,
    SegmentationInput,
    SegmentationOutput,
    Target,
)

SPEC = ToolSpec(
    name=ORGANOIDS,
    other_names=OTHER_NAMES[ORGANOIDS],
    title="Count organoids",
    icon="organoid",
    description=(
        "Finds, numbers and measures each organoid, spheroid or other large object in an image "
        "(brightfield or fluorescence), by contrast and texture. Returns the count, mask_path (a "
        "TIFF that numbers the organoids) and table_path (area, position, form and intensity of "
        "each)."
    ),
    Input=SegmentationInput,
    Output=SegmentationOutput,
    needs=NEEDS,
    timeout_s=300.0,
    pack="microscopy",
    phrases=("count organoids", "segment organoids", "number of organoids", "count spheroids"),
)


def organoid_segmenter() -> ObjectSegmenter:
    """Return the tool."""
    return ObjectSegmenter(SPEC, Target("organoids", "organoid", "organoids"))
