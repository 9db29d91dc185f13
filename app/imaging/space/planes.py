"""The plane of an image in the patient: from pixels to patient coordinates and back.

Patient coordinates are mm, LPS: x to the patient's left, y to the back, z to the head (PS3.3
C.7.6.2.1.1). Pixels are (x, y) = (column, row); the position of a file is that of the centre of
pixel (0, 0).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from app.imaging.space.spacing import SpacingAttributes, spacing_of
from app.imaging.types import Frame, Instance, Orientation, Spacing, SpacingSource

XYZ = tuple[float, float, float]

IN_SPACE = (SpacingSource.PATIENT, SpacingSource.STANDARD)
"""What a plane's spacing rests on: mm between its pixels in the patient, or in a standard space."""

MAX_POSITION_MM = 1e6
"""A position further away than a kilometre is a mistake."""


@dataclass(frozen=True, slots=True)
class FramePlane:
    """Where an image lies.

    Attributes:
        origin: Patient mm of the centre of pixel (0, 0).
        row: Unit vector of increasing column (along a row).
        column: Unit vector of increasing row (down a column).
        spacing: (between rows, between columns) in mm, as PixelSpacing.
        frame_of_reference: FrameOfReferenceUID, or "" when unknown; coordinates of two planes may
            be compared only where it is the same.
    """

    origin: XYZ
    row: XYZ
    column: XYZ
    spacing: tuple[float, float]
    frame_of_reference: str = ""

    @property
    def normal(self) -> XYZ:
        """Unit vector: row x column."""
        (a, b, c), (d, e, f) = self.row, self.column
        x, y, z = b * f - c * e, c * d - a * f, a * e - b * d
        size = math.sqrt(x * x + y * y + z * z)
        return x / size, y / size, z / size

    def point(self, x: float, y: float) -> XYZ:
        """Patient coordinates of a pixel (equation C.7.6.2.1-1)."""
        right, down = x * self.spacing[1], y * self.spacing[0]
        p, q, r = (
            o + u * right + v * down
            for o, u, v in zip(self.origin, self.row, self.column, strict=True)
        )
        return p, q, r

    def pixel(self, point: XYZ) -> XYZ:
        """(x, y, distance): the pixel nearest to a point, and how far the point is from the plane.

        The distance is in mm, positive on the side of the normal. x and y are not rounded and may
        lie outside the image.
        """
        away = tuple(p - o for p, o in zip(point, self.origin, strict=True))
        along, down = _dot(away, self.row), _dot(away, self.column)
        skew = _dot(self.row, self.column)
        # A file's directions are perpendicular only within its rounding.
        x = (along - skew * down) / (1 - skew * skew)
        y = (down - skew * along) / (1 - skew * skew)
        return x / self.spacing[1], y / self.spacing[0], _dot(away, self.normal)

    @property
    def affine(self) -> NDArray[np.float64]:
        """[4, 4]: (x, y, distance along the normal in mm, 1) -> patient mm."""
        matrix = np.eye(4)
        matrix[:3, 0] = np.array(self.row) * self.spacing[1]
        matrix[:3, 1] = np.array(self.column) * self.spacing[0]
        matrix[:3, 2] = self.normal
        matrix[:3, 3] = self.origin
        return matrix


def _dot(a: tuple[float, ...], b: tuple[float, ...]) -> float:
    return sum(p * q for p, q in zip(a, b, strict=True))


def plane_of(
    orientation: Orientation, spacing: Spacing, frame_of_reference: str = ""
) -> FramePlane | None:
    """The plane of an image, or None where position, direction or spacing is unknown.

    A spacing at a detector or of a film scanner is no distance in the patient. The coordinates of
    an image in a standard space are those of that space.
    """
    cosines, position = orientation.cosines, orientation.position
    if cosines is None or position is None or spacing.source not in IN_SPACE:
        return None
    if spacing.row_mm is None or spacing.column_mm is None or not is_rotation(cosines):
        return None
    row, column = _unit_vector(cosines[:3]), _unit_vector(cosines[3:])
    return FramePlane(
        position, row, column, (spacing.row_mm, spacing.column_mm), frame_of_reference
    )


def _unit_vector(vector: tuple[float, ...]) -> XYZ:
    x, y, z = vector
    size = math.sqrt(x * x + y * y + z * z)
    return x / size, y / size, z / size


def is_rotation(cosines: tuple[float, ...]) -> bool:
    """Whether both directions have unit length and are perpendicular, within a file's rounding."""
    if len(cosines) != 6 or not all(math.isfinite(part) for part in cosines):
        return False
    row, column = cosines[:3], cosines[3:]
    products = (_dot(row, row) - 1, _dot(column, column) - 1, _dot(row, column))
    return all(abs(product) < 1e-2 for product in products)


def is_position(position: tuple[float, ...]) -> bool:
    """Whether it is a possible Image Position (Patient)."""
    return len(position) == 3 and all(abs(part) <= MAX_POSITION_MM for part in position)


def frame_plane(frame: Frame, frame_of_reference: str = "") -> FramePlane | None:
    """The plane of a frame; None when the file does not say where it lies."""
    return plane_of(frame.orientation, frame.spacing, frame_of_reference)


def patient_point(frame: Frame, x: float, y: float) -> XYZ | None:
    """Patient coordinates (mm, LPS) of a pixel of a frame, or None when unknown."""
    plane = frame_plane(frame)
    return plane.point(x, y) if plane is not None else None


def instance_plane(instance: Instance) -> FramePlane | None:
    """The plane of an instance (of its first frame) from its header's attributes alone."""
    place = instance_place(instance)
    return place if place is not None and math.isfinite(place.spacing[0]) else None


def instance_place(instance: Instance) -> FramePlane | None:
    """The same with a spacing of NaN where it is unknown: enough to sort images by."""
    get = instance.get
    return _plane_from_texts(
        get("ImageOrientationPatient"),
        get("ImagePositionPatient"),
        get("PixelSpacing"),
        get("FrameOfReferenceUID"),
    )


@lru_cache(maxsize=4096)
def _plane_from_texts(
    orientation: str, position: str, spacing: str, frame_of_reference: str
) -> FramePlane | None:
    """A plane from its attributes' texts: to sort a series, each is asked for seven times."""
    directions = _directions(orientation)
    origin = parse_numbers(position)
    if directions is None or not is_position(origin):
        return None
    x, y, z = origin
    return FramePlane((x, y, z), *directions, _pixel_spacing(spacing), frame_of_reference)


@lru_cache(maxsize=256)
def _directions(text: str) -> tuple[XYZ, XYZ] | None:
    """Unit vectors of ImageOrientationPatient's text, which most slices of a stack share."""
    cosines = parse_numbers(text)
    return (_unit_vector(cosines[:3]), _unit_vector(cosines[3:])) if is_rotation(cosines) else None


@lru_cache(maxsize=256)
def _pixel_spacing(text: str) -> tuple[float, float]:
    spacing = spacing_of(SpacingAttributes(pixel=parse_numbers(text), cross_sectional=True))
    if spacing.row_mm is None or spacing.column_mm is None:
        return math.nan, math.nan
    return spacing.row_mm, spacing.column_mm


def parse_numbers(text: str) -> tuple[float, ...]:
    """Numbers of a multi-valued attribute's text; () when one of them is none or not finite."""
    try:
        values = tuple(float(part) for part in text.split("\\"))
    except ValueError:
        return ()
    return values if all(math.isfinite(value) for value in values) else ()
