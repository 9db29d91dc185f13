"""Planes of images in the patient: conversion from pixels to patient coordinates and back.

Patient coordinates are mm in LPS: x to the patient's left, y to the back, z to the head (PS3.3
C.7.6.2.1.1). Pixels are (x, y) = (column, row); Image Position is the centre of pixel (0, 0).
"""

from __future__ import annotations

import math
from functools import lru_cache

from app.imaging.space.spacing import SpacingAttributes, image_spacing
from app.imaging.types import XYZ as XYZ
from app.imaging.types import Frame, Instance, Orientation, Spacing, SpacingSource
from app.imaging.types import FramePlane as FramePlane

IN_SPACE = (SpacingSource.PATIENT, SpacingSource.STANDARD)
"""Sources of a spacing that holds between points in the patient, or in a standard space."""

MAX_POSITION_MM = 1e6
"""Positions beyond this (a kilometre) are mistakes."""


def _dot(a: tuple[float, ...], b: tuple[float, ...]) -> float:
    return sum(p * q for p, q in zip(a, b, strict=True))


@lru_cache(maxsize=256)  # the viewports ask for each shown image's at every step
def image_plane(
    orientation: Orientation, spacing: Spacing, frame_of_reference: str = ""
) -> FramePlane | None:
    """Return the plane of an image, or None if position, direction or spacing is unknown.

    A spacing measured on a detector or film scanner does not count, as it is not a distance in the
    patient. For an image in a standard space, coordinates are those of that space.
    """
    cosines, position = orientation.cosines, orientation.position
    # Without all three, points of two images must not be compared.
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
    """Return whether six cosines are two perpendicular unit vectors, allowing for rounding."""
    if len(cosines) != 6 or not all(math.isfinite(part) for part in cosines):
        return False
    row, column = cosines[:3], cosines[3:]
    products = (_dot(row, row) - 1, _dot(column, column) - 1, _dot(row, column))
    return all(abs(product) < 1e-2 for product in products)


def is_position(position: tuple[float, ...]) -> bool:
    """Return whether `position` has three coordinates of at most `MAX_POSITION_MM` in size."""
    return len(position) == 3 and all(abs(part) <= MAX_POSITION_MM for part in position)


def frame_plane(frame: Frame, frame_of_reference: str = "") -> FramePlane | None:
    """Return the plane of a frame, or None if position, direction or spacing is unknown."""
    return image_plane(frame.orientation, frame.spacing, frame_of_reference)


def patient_point(frame: Frame, x: float, y: float) -> XYZ | None:
    """Return the patient coordinates (mm, LPS) of a pixel of a frame, or None if unknown."""
    plane = frame_plane(frame)
    return plane.point(x, y) if plane is not None else None


def instance_plane(instance: Instance) -> FramePlane | None:
    """Return the plane of an instance's first frame from its header; None if unknown."""
    place = sorting_plane(instance)
    return place if place is not None and math.isfinite(place.spacing[0]) else None


def sorting_plane(instance: Instance) -> FramePlane | None:
    """Return the plane of an instance's first frame for sorting; None if unknown.

    Unlike for `instance_plane`, the spacing need not be known; an unknown spacing is NaN.
    """
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
    """Return a plane by the texts of its attributes; cached, since sorting asks for each often."""
    directions = _directions(orientation)
    origin = parse_numbers(position)
    if directions is None or not is_position(origin):
        return None
    x, y, z = origin
    return FramePlane((x, y, z), *directions, _pixel_spacing(spacing), frame_of_reference)


@lru_cache(maxsize=256)
def _directions(text: str) -> tuple[XYZ, XYZ] | None:
    """Return the unit vectors of ImageOrientationPatient; cached, since slices share them."""
    cosines = parse_numbers(text)
    return (_unit_vector(cosines[:3]), _unit_vector(cosines[3:])) if is_rotation(cosines) else None


@lru_cache(maxsize=256)
def _pixel_spacing(text: str) -> tuple[float, float]:
    spacing = image_spacing(SpacingAttributes(pixel=parse_numbers(text), cross_sectional=True))
    if spacing.row_mm is None or spacing.column_mm is None:
        return math.nan, math.nan
    return spacing.row_mm, spacing.column_mm


def parse_numbers(text: str) -> tuple[float, ...]:
    """Return the backslash-separated numbers in a text; () if any part is not a finite number."""
    try:
        values = tuple(float(part) for part in text.split("\\"))
    except ValueError:
        return ()
    return values if all(math.isfinite(value) for value in values) else ()
