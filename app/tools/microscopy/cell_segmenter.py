"""The tool `cell_segmenter`: numbers the cells in an image."""

from __future__ import annotations

from app.tools.api import ToolSpec
from app.tools.microscopy.names import CELLS, OTHER_NAMES
from app.tools.microscopy.segmentation import (
    NEEDS,
    CellSegmentationInput,
    ObjectSegmenter,
    SegmentationOutput,
    Target,
)

SPEC = ToolSpec(
    name=CELLS,
    other_names=OTHER_NAMES[CELLS],
    title="Count cells",
    icon="hexagon",
    description=(
        "Finds, numbers and measures each cell in a microscopy image: phase contrast or "
        "brightfield, a stain of whole cells in fluorescence, the red cells of a stained blood "
        "smear; in H&E by their nuclei. Returns the count, mask_path (a TIFF that numbers the "
        "cells) and table_path (area, position, form and intensity of each)."
    ),
    Input=CellSegmentationInput,
    Output=SegmentationOutput,
    needs=NEEDS,
    timeout_s=300.0,
    pack="microscopy",
    phrases=("count cells", "segment cells", "number of cells", "cell count", "count bacteria"),
)


def cell_segmenter() -> ObjectSegmenter:
    """Return the tool."""
    return ObjectSegmenter(SPEC, Target("cells", "cell", "cells"))
