"""The tools that number the cells, the nuclei or the organoids in an image."""

from __future__ import annotations

from typing import Any

from app.tools.api import ToolSpec
from app.tools.microscopy.names import CELLS, NUCLEI, ORGANOIDS, OTHER_NAMES
from app.tools.microscopy.segmentation import (
    NEEDS,
    NUCLEI_TARGET,
    CellSegmentationInput,
    ObjectSegmenter,
    SegmentationInput,
    SegmentationOutput,
    Target,
)

_COMMON: dict[str, Any] = {
    "Output": SegmentationOutput,
    "needs": NEEDS,
    "timeout_s": 300.0,
    "pack": "microscopy",
}
_CELLS = ToolSpec(
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
    phrases=("count cells", "segment cells", "number of cells", "cell count", "count bacteria"),
    **_COMMON,
)
_NUCLEI = ToolSpec(
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
    phrases=("count nuclei", "segment nuclei", "number of nuclei", "outline the nuclei"),
    **_COMMON,
)
_ORGANOIDS = ToolSpec(
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
    phrases=("count organoids", "segment organoids", "number of organoids", "count spheroids"),
    **_COMMON,
)


def cell_segmenter() -> ObjectSegmenter:
    """Return the tool `cell_segmenter`."""
    return ObjectSegmenter(_CELLS, Target("cells", "cell", "cells"))


def nuclei_segmenter() -> ObjectSegmenter:
    """Return the tool `nuclei_segmenter`."""
    return ObjectSegmenter(_NUCLEI, NUCLEI_TARGET)


def organoid_segmenter() -> ObjectSegmenter:
    """Return the tool `organoid_segmenter`."""
    return ObjectSegmenter(_ORGANOIDS, Target("organoids", "organoid", "organoids"))
