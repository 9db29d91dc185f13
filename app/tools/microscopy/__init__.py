"""The microscopy pack of tools: segmentation of cells and nuclei, crops, cell states, plots."""

from __future__ import annotations

from app.tools.api import Registrar
from app.tools.microscopy.analysis_visualizer import AnalysisVisualizer
from app.tools.microscopy.cell_state_analyzer import CellStateAnalyzer
from app.tools.microscopy.image_captioner import ImageCaptioner
from app.tools.microscopy.image_info import ImageInfo
from app.tools.microscopy.image_preprocessor import ImagePreprocessor
from app.tools.microscopy.plan import PLAN
from app.tools.microscopy.segmenters import cell_segmenter, nuclei_segmenter, organoid_segmenter
from app.tools.microscopy.single_cell_cropper import SingleCellCropper


def register(registry: Registrar) -> None:
    """Add the microscopy pack's tools and its plan to the registry."""
    registry.register(ImageInfo())
    registry.register(ImagePreprocessor())
    registry.register(nuclei_segmenter())
    registry.register(cell_segmenter())
    registry.register(organoid_segmenter())
    registry.register(SingleCellCropper())
    registry.register(CellStateAnalyzer())
    registry.register(AnalysisVisualizer())
    registry.register(ImageCaptioner())
    registry.plan(PLAN)
