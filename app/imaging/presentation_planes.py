"""Overlays and shutters of a presentation state (PS3.3 C.9.2, C.7.6.11, C.7.6.15, C.11.7)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydicom.dataset import Dataset

from app.imaging.cielab import rgb_of_lab
from app.imaging.describe import numbers
from app.imaging.dicom_file import value_of
from app.imaging.dicom_items import clean, finite, text_of, whole
from app.imaging.types import OverlayPlane, Shutter

GROUPS = tuple(range(0x6000, 0x6020, 2))
_MAX_SIDE = 65_535
_MAX_OVERLAY = 2**28


def overlays_of(dataset: Dataset, warnings: list[str]) -> dict[int, OverlayPlane]:
    """The bitmaps that the state brings, by group."""
    found: dict[int, OverlayPlane] = {}
    for group in GROUPS:
        if (group << 16 | 0x3000) not in dataset and (group << 16 | 0x0010) not in dataset:
            continue
        plane = _overlay(dataset, group)
        if plane is None:
            warnings.append(f"its overlay {group:04X} is damaged and not shown")
            continue
        found[group] = plane
        if (_number(dataset, group, 0x0015) or 1) > 1:
            warnings.append(f"of its overlay {group:04X} only the first frame is shown")
    return found


def _overlay(dataset: Dataset, group: int) -> OverlayPlane | None:
    rows, columns = _number(dataset, group, 0x0010), _number(dataset, group, 0x0011)
    data = _value(dataset, group, 0x3000)
    if rows is None or columns is None or not isinstance(data, bytes):
        return None
    if not (0 < rows <= _MAX_SIDE and 0 < columns <= _MAX_SIDE and rows * columns <= _MAX_OVERLAY):
        return None
    count = rows * columns
    if len(data) * 8 < count:
        return None
    raw = np.frombuffer(data, np.uint8, (count + 7) // 8)
    bits = np.unpackbits(raw, bitorder="little")[:count]
    origin = numbers(_value(dataset, group, 0x0050))
    if len(origin) != 2 or not all(abs(part) <= 2**15 for part in origin):
        origin = (1.0, 1.0)
    label = _text(dataset, group, 0x1500) or _text(dataset, group, 0x0022)
    return OverlayPlane(
        pixels=bits.reshape(rows, columns).astype(np.bool_),
        row=int(origin[0]) - 1,
        column=int(origin[1]) - 1,
        group=group,
        kind="R" if _text(dataset, group, 0x0040).upper() == "R" else "G",
        label=label,
    )


def active_layers(dataset: Dataset) -> dict[int, str]:
    """Overlay group -> graphic layer that it is shown in, for all groups that are shown."""
    layers = {group: _text(dataset, group, 0x1001) for group in GROUPS}
    return {group: layer for group, layer in layers.items() if layer}


def _value(dataset: Dataset, group: int, element: int) -> Any:
    try:
        return dataset[group << 16 | element].value
    except Exception:
        return None  # absent, or a value that pydicom cannot convert


def _number(dataset: Dataset, group: int, element: int) -> int | None:
    values = numbers(_value(dataset, group, element))
    return int(values[0]) if values and math.isfinite(values[0]) else None


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
        color=rgb_of_lab(numbers(value_of(dataset, "ShutterPresentationColorCIELabValue"))),
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
