"""Overlays and shutters of a presentation state (PS3.3 C.9.2, C.7.6.11, C.7.6.15, C.11.7)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydicom.dataset import Dataset

from app.imaging.dicom.describe import numbers
from app.imaging.dicom.dicom_file import Header, value_of
from app.imaging.dicom.dicom_items import clean, finite, text_of, whole
from app.imaging.dicom.overlays import GROUPS, overlays_of
from app.imaging.objects.layer_colors import color_from_cielab
from app.imaging.types import OverlayPlane, Shutter


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


def shutter_of(dataset: Dataset, planes: dict[int, OverlayPlane]) -> Shutter | None:
    """The display shutter, its bitmap taken from the overlay group that it names.

    DICOM counts rows and columns from 1 here, and gives (row, column).
    """
    shapes = text_of(dataset, "ShutterShape").upper().split("\\")
    rectangle = _rectangle(dataset) if "RECTANGULAR" in shapes else None
    circle = _circle(dataset) if "CIRCULAR" in shapes else None
    polygon = _polygon(dataset) if "POLYGONAL" in shapes else ()
    group = whole(dataset, "ShutterOverlayGroup")
    plane = planes.get(group) if "BITMAP" in shapes and group is not None else None
    if rectangle is None and circle is None and not polygon and plane is None:
        return None
    level = finite(dataset, "ShutterPresentationValue", 1)
    return Shutter(
        rectangle=rectangle,
        circle=circle,
        polygon=polygon,
        bitmap=_placed(plane) if plane is not None else None,
        level=min(max(level[0] / 65535, 0.0), 1.0) if level else 0.0,
        color=color_from_cielab(numbers(value_of(dataset, "ShutterPresentationColorCIELabValue"))),
    )


def has_shutter(dataset: Dataset) -> bool:
    """Whether the state names a shutter's shape at all."""
    return bool(text_of(dataset, "ShutterShape"))


def _rectangle(dataset: Dataset) -> tuple[int, int, int, int] | None:
    edges = [
        whole(dataset, f"Shutter{edge}Edge")
        for edge in ("LeftVertical", "RightVertical", "UpperHorizontal", "LowerHorizontal")
    ]
    known = [edge - 1 for edge in edges if edge is not None and abs(edge) < 2**31]
    if len(known) != 4:
        return None
    left, right, top, bottom = known
    return (left, right, top, bottom) if left <= right and top <= bottom else None


def _circle(dataset: Dataset) -> tuple[float, float, float] | None:
    center = finite(dataset, "CenterOfCircularShutter", 2)
    radius = finite(dataset, "RadiusOfCircularShutter", 1)
    if center is None or radius is None or radius[0] <= 0:
        return None
    return center[1] - 1, center[0] - 1, radius[0]


def _polygon(dataset: Dataset) -> tuple[tuple[float, float], ...]:
    values = numbers(value_of(dataset, "VerticesOfThePolygonalShutter"))
    if len(values) < 6 or len(values) % 2 or not all(math.isfinite(part) for part in values):
        return ()
    return tuple(
        (column - 1, row - 1) for row, column in zip(values[0::2], values[1::2], strict=True)
    )


def _placed(plane: OverlayPlane) -> NDArray[np.bool_]:
    """The overlay from the image's first row and column on."""
    pixels = plane.pixels[max(-plane.row, 0) :, max(-plane.column, 0) :]
    above, left = max(plane.row, 0), max(plane.column, 0)
    return np.pad(pixels, ((above, 0), (left, 0)))
