"""The general pack of tools: DICOM conversion, display, one tool on many images, notes."""

from __future__ import annotations

from app.tools.api import Registrar
from app.tools.general.dicom_processor import DicomProcessor
from app.tools.general.for_each_image import ForEachImage
from app.tools.general.general_plan import PLAN
from app.tools.general.image_visualizer import ImageVisualizer
from app.tools.general.remember import Forget, Remember, Remembered


def register(registry: Registrar) -> None:
    """Add the general pack's tools and its plan (which says when they are used) to the registry."""
    registry.register(DicomProcessor())
    registry.register(ImageVisualizer())
    registry.register(ForEachImage())
    for tool in (Remember(), Remembered(), Forget()):
        registry.register(tool)
    registry.plan(PLAN)
