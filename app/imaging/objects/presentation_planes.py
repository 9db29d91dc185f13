"""Overlays of a presentation state (PS3.3 C.9.2, C.11.7)."""

from __future__ import annotations

from typing import Any

import numpy as np
from pydicom.dataset import Dataset

from app.imaging.dicom.dicom_file import Header
from app.imaging.dicom.dicom_items import clean
from app.imaging.dicom.frame_attributes import numbers
from app.imaging.dicom.overlays import GROUPS, overlays_of
from app.imaging.types import OverlayPlane


def state_overlays(header: Header, warnings: list[str]) -> dict[int, OverlayPlane]:
    """The bitmaps that a state brings, by group; damaged ones are warnings."""
    planes = overlays_of(header, 0, np.zeros(0, np.uint8))
    found = {plane.group: plane for plane in planes}
    for group in GROUPS:
        if group << 16 | 0x3000 not in header.dataset:
            continue
        if group not in found:
            warnings.append(f"its overlay {group:04X} is damaged and not shown")
        elif (numbers(_value(header.dataset, group, 0x0015)) or (1,))[0] > 1:
            warnings.append(f"of its overlay {group:04X} only the first frame is shown")
    return found


def active_layers(dataset: Dataset) -> dict[int, str]:
    """Overlay group -> graphic layer that it is shown in, for all groups that are shown."""
    layers = {group: _text(dataset, group, 0x1001) for group in GROUPS}
    return {group: layer for group, layer in layers.items() if layer}


def _value(dataset: Dataset, group: int, element: int) -> Any:
    try:
        return dataset[group << 16 | element].value
    except Exception:
        return None  # absent, or a value that pydicom cannot convert


def _text(dataset: Dataset, group: int, element: int) -> str:
    value = _value(dataset, group, element)
    return clean(value) if isinstance(value, str) else ""
