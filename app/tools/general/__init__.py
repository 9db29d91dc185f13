"""The general pack of tools: DICOM conversion, display, one tool on many images, priors."""

from __future__ import annotations

from app.tools.api import Registrar
from app.tools.general.dicom_processor import DicomProcessor
from app.tools.general.for_each_image import ForEachImage
from app.tools.general.general_plan import PLAN
from app.tools.general.image_visualizer import ImageVisualizer
from app.tools.general.volume_compare import VolumeCompare


def register(registry: Registrar) -> None:
    """Add the general pack's tools and its plan (which says when they are used) to the registry."""
    registry.register(DicomProcessor())
    registry.register(ImageVisualizer())
    registry.register(ForEachImage())
    registry.register(VolumeCompare())
    registry.plan(PLAN)
