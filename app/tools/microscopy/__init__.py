"""The microscopy pack of tools: segmentation of cells and nuclei, crops, cell states, plots."""

from __future__ import annotations

from app.tools.api import Registrar
from app.tools.microscopy.image_info import ImageInfo


def register(registry: Registrar) -> None:
    """Add the microscopy pack's tools and its plan to the registry."""
    registry.register(ImageInfo())
