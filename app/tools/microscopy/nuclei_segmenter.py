"""The tool `nuclei_segmenter`: numbers the nuclei in an image."""

from __future__ import annotations

from app.tools.api import ToolSpec
from app.tools.microscopy.names import NUCLEI, OTHER_NAMES
from app.tools.microscopy.segmentation import (
    NEEDS,
    NUCLEI_TARGET,
    ObjectSegmenter,
    SegmentationInput,
    SegmentationOutput,
)

SPEC = ToolSpec(
    name=NUCLEI,
    other_names=OTHER_NAMES[NUCLEI],
    title="Count nuclei",
    icon="circle-dashed",
    description=(
        "Finds, numbers and measures each nucleus in a microscopy image: a nuclear stain in "
        "fluorescence, H&E, or the white cells of a stained blood smear. Returns the count, "
        "mask_path (a TIFF that numbers the nuclei) and table_path (area, position, form and "
        "intensity of each)."
    ),
    Input=SegmentationInput,
    Output=SegmentationOutput,
    needs=NEEDS,
    timeout_s=300.0,
    pack="microscopy",
    phrases=("count nuclei", "segment nuclei", "number of nuclei", "outline the nuclei"),
)


def nuclei_segmenter() -> ObjectSegmenter:
    """Return the tool."""
    return ObjectSegmenter(SPEC, NUCLEI_TARGET)
