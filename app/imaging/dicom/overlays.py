"""Display shutters (PS3.3 C.7.6.11, C.7.6.15) and overlay planes, groups 6000 to 601E (C.9.2).

A plane is stored as Overlay Data or, in older files, in unused bits of the pixel data (retired;
PS3.5 8.1.2).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydicom.dataset import Dataset
from pydicom.sequence import Sequence

from app.imaging.dicom.dicom_file import Header, value_of, value_text
from app.imaging.dicom.dicom_items import finite_numbers, text_of, whole_number
from app.imaging.dicom.frame_attributes import FrameAttributes, numbers
from app.imaging.dicom.palette import color_from_cielab
from app.imaging.types import OverlayPlane, Shutter

Array = NDArray[Any]

GROUPS = tuple(range(0x6000, 0x6020, 2))
_MAX_SIDE = 32_767
_MAX_PIXELS = 2**27
"""Limit of all planes of an image together; each pixel takes a byte."""


@dataclass(frozen=True, slots=True)
class _Group:
    """The elements of one overlay group."""

    header: Header
    number: int

    def value(self, element: int) -> Any:
        try:
            return self.header.dataset[self.number << 16 | element].value
        except Exception:
            return None  # absent, or a value that pydicom cannot convert

    def whole(self, element: int, default: int) -> int:
        values = numbers(self.value(element))[:1]
        return int(values[0]) if values and abs(values[0]) < 2**31 else default

    def text(self, element: int) -> str:
        return value_text(self.value(element))


def overlays_of(header: Header, index: int, words: Array) -> tuple[OverlayPlane, ...]:
    """Return the undamaged overlay planes of frame `index` (from 0), in order of group number.

    `words` are the frame's pixels, [rows, columns], with unused bits, which may hold overlays.
    """
    planes: list[OverlayPlane] = []
    for number in GROUPS:
        if (number << 16 | 0x0100) in header.dataset or (number << 16 | 0x3000) in header.dataset:
            plane = _plane(_Group(header, number), index, words)
            if plane is not None and plane.pixels.size + sum(p.pixels.size for p in planes) <= (
                _MAX_PIXELS
            ):
                planes.append(plane)
    return tuple(planes)


def _plane(group: _Group, index: int, words: Array) -> OverlayPlane | None:
    data = group.value(0x3000)
    pixels = (
        _own_bits(group, data, index)
        if isinstance(data, bytes | bytearray) and data
        else _embedded_bits(group, words)
    )
    if pixels is None:
        return None
    origin = numbers(group.value(0x0050))
    if len(origin) != 2 or not all(abs(part) < 2**15 for part in origin):
        origin = (1.0, 1.0)
    return OverlayPlane(
        pixels=pixels,
        row=int(origin[0]) - 1,
        column=int(origin[1]) - 1,
        group=group.number,
        kind="R" if group.text(0x0040).upper() == "R" else "G",
        label=group.text(0x1500) or group.text(0x0022),
    )


def _own_bits(group: _Group, data: bytes | bytearray, index: int) -> NDArray[np.bool_] | None:
    rows, columns = group.whole(0x0010, 0), group.whole(0x0011, 0)
    if not (0 < rows <= _MAX_SIDE and 0 < columns <= _MAX_SIDE and rows * columns <= _MAX_PIXELS):
        return None
    place = _frame_of(group, index)
    if place is None:
        return None
    if not group.header.little_endian and _is_ow(group):
        data = np.frombuffer(bytes(data[: len(data) & ~1]), "<u2").byteswap().tobytes()
    count = rows * columns
    first = place * count
    raw = np.frombuffer(data, np.uint8)[first // 8 : -(-(first + count) // 8)]
    bits = np.unpackbits(raw, bitorder="little")[first % 8 :][:count]
    if bits.size < count:
        return None
    return bits.reshape(rows, columns).astype(np.bool_)


def _is_ow(group: _Group) -> bool:
    return group.header.dataset[group.number << 16 | 0x3000].VR == "OW"


def _frame_of(group: _Group, index: int) -> int | None:
    """Return the overlay frame of image frame `index`: from Image Frame Origin on, or all."""
    frames = group.whole(0x0015, 0)
    origin = group.whole(0x0051, 1)
    if frames <= 1:
        several = group.value(0x0051) is not None and frames == 1
        return 0 if not several or index == origin - 1 or origin < 1 else None
    place = index - (origin - 1)
    return place if 0 <= place < frames else None


def _embedded_bits(group: _Group, words: Array) -> NDArray[np.bool_] | None:
    allocated, position = group.whole(0x0100, 0), group.whole(0x0102, -1)
    if allocated <= 1 or not 0 <= position < allocated:
        return None
    stored = numbers(group.header.value("BitsStored"))[:1]
    high = numbers(group.header.value("HighBit"))[:1]
    if stored and math.isfinite(stored[0]):
        top = high[0] if high and math.isfinite(high[0]) else stored[0] - 1
        if top - stored[0] < position <= top:
            return None  # that bit is the value's own
    if words.ndim != 2 or words.dtype.kind not in "iu" or position >= 8 * words.dtype.itemsize:
        return None
    unsigned = words.view(f"u{words.dtype.itemsize}")
    return (unsigned >> position & 1).astype(np.bool_)


def visible_overlays(header: Header, planes: tuple[OverlayPlane, ...]) -> tuple[OverlayPlane, ...]:
    """Return the overlays to draw: all but the one that the file uses as its shutter's bitmap."""
    if "BITMAP" not in header.text("ShutterShape").upper().split("\\"):
        return planes
    group = numbers(header.value("ShutterOverlayGroup"))[:1]
    return tuple(plane for plane in planes if not group or plane.group != group[0])


def frame_shutter(attributes: FrameAttributes, planes: tuple[OverlayPlane, ...]) -> Shutter | None:
    """Return the shutter of a frame, or None if the whole frame is visible.

    A frame of an enhanced object may have its own shutter (C.7.6.16.2.5). `planes` are the frame's
    overlays, one of which may be the shutter's bitmap.
    """
    own: Any = attributes.value("FrameDisplayShutterSequence")
    if isinstance(own, Sequence) and len(own):
        dataset: Dataset = own[0]
    else:
        dataset = attributes.header.dataset
    if not has_shutter(dataset):
        return None
    return shutter_of(dataset, {plane.group: plane for plane in planes})


def shutter_of(dataset: Dataset, planes: dict[int, OverlayPlane]) -> Shutter | None:
    """Return the display shutter that `dataset` declares, or None if there is none.

    `planes` are overlays by group number; a shutter may name one as its bitmap. Positions in DICOM,
    (row, column) from 1, become (x, y) from 0.
    """
    shapes = text_of(dataset, "ShutterShape").upper().split("\\")
    rectangle = _rectangle(dataset) if "RECTANGULAR" in shapes else None
    circle = _circle(dataset) if "CIRCULAR" in shapes else None
    polygon = _polygon(dataset) if "POLYGONAL" in shapes else ()
    group = whole_number(dataset, "ShutterOverlayGroup")
    plane = planes.get(group) if "BITMAP" in shapes and group is not None else None
    if rectangle is None and circle is None and not polygon and plane is None:
        return None
    level = finite_numbers(dataset, "ShutterPresentationValue", 1)
    return Shutter(
        rectangle=rectangle,
        circle=circle,
        polygon=polygon,
        bitmap=_placed(plane) if plane is not None else None,
        level=min(max(level[0] / 65535, 0.0), 1.0) if level else 0.0,
        color=color_from_cielab(numbers(value_of(dataset, "ShutterPresentationColorCIELabValue"))),
    )


def has_shutter(dataset: Dataset) -> bool:
    """Return True if an image or presentation state declares a display shutter."""
    return bool(text_of(dataset, "ShutterShape"))


def _rectangle(dataset: Dataset) -> tuple[int, int, int, int] | None:
    edges = [
        whole_number(dataset, f"Shutter{edge}Edge")
        for edge in ("LeftVertical", "RightVertical", "UpperHorizontal", "LowerHorizontal")
    ]
    known = [edge - 1 for edge in edges if edge is not None and abs(edge) < 2**31]
    if len(known) != 4:
        return None
    left, right, top, bottom = known
    return (left, right, top, bottom) if left <= right and top <= bottom else None


def _circle(dataset: Dataset) -> tuple[float, float, float] | None:
    center = finite_numbers(dataset, "CenterOfCircularShutter", 2)
    radius = finite_numbers(dataset, "RadiusOfCircularShutter", 1)
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
    """Return an overlay's bitmap shifted to the image's origin."""
    pixels = plane.pixels[max(-plane.row, 0) :, max(-plane.column, 0) :]
    above, left = max(plane.row, 0), max(plane.column, 0)
    return np.pad(pixels, ((above, 0), (left, 0)))
