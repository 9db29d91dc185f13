"""Display shutters of images and presentation states (PS3.3 C.7.6.11, C.7.6.15)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydicom.dataset import Dataset
from pydicom.sequence import Sequence

from app.imaging.dicom.dicom_file import value_of
from app.imaging.dicom.dicom_items import finite_numbers, text_of, whole_number
from app.imaging.dicom.frame_attributes import FrameAttributes, numbers
from app.imaging.dicom.palette import color_from_cielab
from app.imaging.types import OverlayPlane, Shutter


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
    """Return whether an image or presentation state declares a shutter shape."""
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
