"""Lengths and angles with their source, and the side letters of an image.

Coordinates are (x, y) = (column, row), and pixel centres are integers. Directions are DICOM's
patient letters (PS3.3 C.7.6.1.1.1): L, R, A, P, H, F for the direction in which x or y grows.
Quadrupeds have letters of their own (Le, Rt, V, D, Cr, Cd, ...; see `_OPPOSITE`).
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from app.imaging.findings import Box
from app.imaging.space.spacing import common_region
from app.imaging.types import XY, Frame, Orientation, Region, SpacingSource

_OBLIQUE = 0.05
"""Cosine up to which a direction gets no letter (about 3 degrees)."""

_PAIRS = ("L R", "A P", "H F", "Le Rt", "V D", "Cr Cd", "M La", "Pr Di")
_OPPOSITE: dict[str, str] = {
    one: other for pair in map(str.split, _PAIRS) for one, other in (pair, pair[::-1])
}
"""Opposite directions. A quadruped's letters (PS3.3 C.7.6.1.1.1) are written Le, Cr, ..., so that
its PR (proximal) is not taken for a biped's P and R; Ro, Pa and Pl have no opposite."""

UNLABELLED = "-"
"""Letter of a known direction without a sure name: an animal's axes depend on the body part."""

_LETTER = re.compile("[A-Z][a-z]?")
_SHOWN = {"La": "L", "Ro": "R"}


@dataclass(frozen=True, slots=True)
class Length:
    """A measured length or angle.

    Attributes:
        units: "mm", "°" or "px"; in an ultrasound region also "s", "Hz", "mm/s", ...
        source: Source of the scale; NONE for px.
        text: The value with units and source, for display.
    """

    value: float
    units: str
    source: SpacingSource
    text: str


def length(frame: Frame, p0: XY, p1: XY) -> Length:
    """Return the distance between (x, y) points: in mm if the spacing is known, else in pixels.

    In an image with regions both points must lie in one of them (by `common_region`); any other
    distance is in pixels. If a region's axes have different units (a Doppler trace: seconds and
    mm/s), there is no distance: `text` gives both differences, and `value` is the vertical
    difference (or the horizontal one if only that axis has a scale).
    """
    spacing = frame.spacing
    dx, dy = p1[0] - p0[0], p1[1] - p0[1]
    if frame.regions:
        region = common_region(frame.regions, (p0, p1))
        return _pixels(math.hypot(dx, dy)) if region is None else _length_in_region(region, dx, dy)
    if spacing.row_mm is None or spacing.column_mm is None:
        return _pixels(math.hypot(dx, dy))
    value = math.hypot(dx * spacing.column_mm, dy * spacing.row_mm)
    text = f"{_mm(value)} ({spacing.source.value})"
    return Length(value, "mm", spacing.source, text)


def pixel_mm(frame: Frame, box: Box) -> tuple[float, float, SpacingSource] | None:
    """Return the (width, height) in mm of the pixels in a box, and their source; None if unknown.

    In an image with regions the whole box must lie in one of them, whose axes are in mm.
    """
    xs, ys = (box.x0 + 0.5, box.x1 - 0.5), (box.y0 + 0.5, box.y1 - 0.5)
    return scale_at(frame, [(x, y) for x in xs for y in ys])


def _length_in_region(region: Region, dx: float, dy: float) -> Length:
    across, down = abs(dx * region.dx), abs(dy * region.dy)
    source = SpacingSource.REGION
    if _is_in_mm(region):
        value = math.hypot(across, down)
        return Length(value, "mm", source, f"{_mm(value)} ({source.value})")
    figures = [(across, region.x_units), (down, region.y_units)]
    shown = [f"{_figure(value)} {units}" for value, units in figures if units]
    if not shown:
        return _pixels(math.hypot(dx, dy))
    # The vertical axis usually carries the measured quantity, e.g. the velocity.
    value, units = figures[1] if region.y_units else figures[0]
    return Length(value, units, source, f"{', '.join(shown)} ({source.value})")


def _is_in_mm(region: Region) -> bool:
    return region.x_units == "mm" and region.y_units == "mm"


def _pixels(value: float) -> Length:
    return Length(value, "px", SpacingSource.NONE, f"{value:.1f} px")


def _figure(value: float) -> str:
    return f"{value:.2f}" if value < 10 else f"{value:.1f}"


def _mm(value: float) -> str:
    """Return millimetres as text, or micrometres for what is seen under a microscope."""
    return f"{value:.1f} mm" if value >= 0.1 or value == 0 else f"{value * 1000:.3g} µm"


def angle(frame: Frame, first: XY, vertex: XY, second: XY) -> Length | None:
    """Return the angle at `vertex` between the rays to two other points, 0 to 180 degrees.

    Pixels have the aspect ratio `Spacing.aspect`; if one region of the image contains all points
    and has a scale, its scale is used instead. The source is NONE if there is no scale: the spacing
    is unknown, or the image has regions but none applies.

    Returns None if `vertex` coincides with another point, or the axes of that region are not in mm.
    """
    found = pixel_shape(frame, (first, vertex, second))
    if found is None:
        return None
    tall, source = found
    # Only the ratio of the pixel's sides matters to an angle.
    ax, ay = first[0] - vertex[0], (first[1] - vertex[1]) * tall
    bx, by = second[0] - vertex[0], (second[1] - vertex[1]) * tall
    if (ax, ay) == (0, 0) or (bx, by) == (0, 0):
        return None
    value = abs(math.degrees(math.atan2(ax * by - ay * bx, ax * bx + ay * by)))
    return Length(value, "°", source, f"{value:.1f}°")


def angle_between(frame: Frame, first: tuple[XY, XY], second: tuple[XY, XY]) -> Length | None:
    """Return Cobb's angle between two end plates, 0 to 180 degrees, by the rules of `angle`.

    Two lines alone have two angles, whose sum is 180 degrees; a severe curve may have the larger
    one. Which it is follows from where the plates lie, and not from how they were drawn: both are
    taken from the same side of the line through their middles to the other, as the spine runs
    from one to the other. Lines whose middles coincide have the smaller angle.

    Returns None if a line has no length, or the axes of the region are not in mm.
    """
    found = pixel_shape(frame, (*first, *second))
    if found is None:
        return None
    tall, source = found
    (ax, ay), (bx, by) = (
        (end[0] - start[0], (end[1] - start[1]) * tall) for start, end in (first, second)
    )
    if (ax, ay) == (0, 0) or (bx, by) == (0, 0):
        return None
    # From one middle to the other, twice as long.
    x = sum(point[0] for point in second) - sum(point[0] for point in first)
    y = (sum(point[1] for point in second) - sum(point[1] for point in first)) * tall
    across, along = ax * by - ay * bx, ax * bx + ay * by
    sides = (x * ay - y * ax) * (x * by - y * bx)
    along = math.copysign(along, along * sides) if sides else abs(along)
    value = math.degrees(math.atan2(abs(across), along))
    return Length(value, "°", source, f"{value:.1f}°")


def pixel_shape(frame: Frame, points: Sequence[XY]) -> tuple[float, SpacingSource] | None:
    """Return a pixel's height divided by its width at some points, and the scale's source.

    The source is NONE if there is no scale. Returns None if the axes there are not lengths: in an
    ultrasound region of a trace, whose x is a time.
    """
    tall, source = frame.spacing.aspect, frame.spacing.source
    if frame.regions:
        region = common_region(frame.regions, points)
        source = SpacingSource.NONE
        if region is not None and (region.x_units or region.y_units):
            if not _is_in_mm(region):
                return None
            tall, source = abs(region.dy / region.dx), SpacingSource.REGION
    return tall, source


def scale_at(frame: Frame, points: Sequence[XY]) -> tuple[float, float, SpacingSource] | None:
    """Return the (width, height) in mm of a pixel where all `points` lie, and the source, or None.

    In an image with regions one of them must apply to all points, with axes in mm.
    """
    if frame.regions:
        region = common_region(frame.regions, points)
        if region is None or not _is_in_mm(region):
            return None
        return abs(region.dx), abs(region.dy), SpacingSource.REGION
    spacing = frame.spacing
    if spacing.row_mm is None or spacing.column_mm is None:
        return None
    return spacing.column_mm, spacing.row_mm, spacing.source


def direction_letters(direction: Sequence[float], quadruped: bool = False) -> str:
    """Return a direction's patient letters, largest component first, e.g. "LA"; "" if it has none.

    Args:
        direction: (x, y, z) in patient coordinates, LPS (PS3.3 C.7.6.2.1.1).
        quadruped: Whether Anatomical Orientation Type is QUADRUPED: x grows to the animal's left, y
            to its back (dorsal), z to its head (cranial).
    """
    if len(direction) != 3 or not all(math.isfinite(part) for part in direction):
        return ""
    names = (("Le", "Rt"), ("D", "V"), ("Cr", "Cd")) if quadruped else ("LR", "PA", "HF")
    pairs = zip(direction, names, strict=True)
    strong = [(abs(part), pair[part < 0]) for part, pair in pairs if abs(part) > _OBLIQUE]
    return "".join(letter for _, letter in sorted(strong, key=lambda item: -item[0]))


def is_quadruped(orientation: Orientation) -> bool:
    """Return whether an orientation has letters of quadrupeds (Le, V, Cr, ...), not L, P, H etc."""
    return bool(set(orientation.row + orientation.column) - set("LRAPHF"))


def opposite_letters(letters: str) -> str:
    """Return the letters of the opposite direction; "" if any of the letters is unknown."""
    found: list[str] = _LETTER.findall(letters)
    turned = [_OPPOSITE.get(letter, "") for letter in found]
    return "".join(turned) if all(turned) and "".join(found) == letters else ""


def _display_letters(letters: str) -> str:
    """Return letters for display: a quadruped's in DICOM's own capitals."""
    found: list[str] = _LETTER.findall(letters)
    return "".join(_SHOWN.get(letter, letter.upper()) for letter in found)


def edge_letters(
    orientation: Orientation, flip_h: bool = False, flip_v: bool = False, quarter_turns: int = 0
) -> tuple[str, str, str, str]:
    """Return the patient letters at the (left, right, top, bottom) edges of an image as displayed.

    The image is mirrored (`flip_h`: left-right, `flip_v`: top-bottom), then rotated clockwise by
    `quarter_turns`. A letter is "" if the file does not give the direction.
    """
    row, column = orientation.row, orientation.column
    # Letters of the file (PatientOrientation) win: a projection has no cosines.
    if orientation.cosines is not None and not (row or column):
        row = direction_letters(orientation.cosines[:3])
        column = direction_letters(orientation.cosines[3:])
    left, right, top, bottom = opposite_letters(row), row, opposite_letters(column), column
    if flip_h:
        left, right = right, left
    if flip_v:
        top, bottom = bottom, top
    for _ in range(quarter_turns % 4):
        left, right, top, bottom = bottom, top, left, right
    return (
        _display_letters(left),
        _display_letters(right),
        _display_letters(top),
        _display_letters(bottom),
    )
