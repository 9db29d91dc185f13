"""What marks that the user drew measure: lengths, angles, axes and areas, each with its source.

Every value is computed from the geometry and the scale of the image alone; those that rest on pixel
values are in `region_statistics`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.imaging.findings import XY, Box, Ellipse, Mask, Measurement, Polygon
from app.imaging.pixels.numbered_objects import Objects
from app.imaging.space import geometry
from app.imaging.types import Frame, SpacingSource
from app.workspace import region_statistics

Points = NDArray[np.float64]

MICRO = 0.1
"""mm below which a length is given in micrometres."""

_MICRO_AREA = 0.01  # mm² below which an area is
_SIDES = 1440  # of the polygon whose perimeter stands for an ellipse's: right to 1e-6
_MOST_CHECKED = 5000  # corners of an outline that are searched for crossings: any drawn one's
_PART = 64  # of its sides at once
_TENTHS = 10
_RIGHT = 90 + 1e-9  # degrees


@dataclass(frozen=True, slots=True)
class Measured:
    """What a mark measures.

    Attributes:
        value: The main value, in `units` with their source; None where it cannot be told.
        note: A remark on the scale, without a capital; or "".
        measurements: All values, `value` first.
        label: A label in place of the kind's own, or "".
    """

    value: float | None = None
    units: str = ""
    note: str = ""
    measurements: tuple[Measurement, ...] = ()
    label: str = ""


def scale_note(frame: Frame, points: Sequence[XY]) -> str:
    """Return why lengths between points are in pixels, or a doubt about their scale; or ""."""
    if not frame.regions:
        return frame.spacing.note
    if geometry.scale_at(frame, points) is not None:
        return ""
    shape = geometry.pixel_shape(frame, points)
    if shape is None:
        return "the axes of this ultrasound region are not both lengths"
    return "not within one ultrasound region with a scale"


def path_length(frame: Frame, points: Sequence[XY], *, closed: bool = False) -> Measurement:
    """Return the length of a line through points, with "px" where mm are unknown."""
    line = np.array(points, dtype=np.float64).reshape(-1, 2)
    if closed:
        line = np.vstack((line, line[:1]))
    found = geometry.scale_at(frame, points)
    step = np.diff(line, axis=0)
    name = "Perimeter" if closed else "Length"
    if found is None:
        return Measurement(name, float(np.hypot(step[:, 0], step[:, 1]).sum()), "px")
    value = float(np.hypot(step[:, 0] * found[0], step[:, 1] * found[1]).sum())
    return _small(Measurement(name, value, "mm", found[2].value))


def _small(one: Measurement) -> Measurement:
    """Return a length in µm if it is of a microscope's size."""
    if one.units == "mm" and 0 < one.value < MICRO:
        return Measurement(one.name, one.value * 1000, "µm", one.rests_on)
    return one


def with_source(one: Measurement) -> str:
    """Return the units of a measurement with what they rest on, e.g. "mm (patient)"."""
    return f"{one.units} ({one.rests_on})" if one.rests_on else one.units


def polyline(frame: Frame, points: Sequence[XY]) -> Measured:
    """Return the length of an open line of several segments."""
    if len(points) < 2:
        return Measured()
    found = path_length(frame, points)
    return Measured(found.value, with_source(found), scale_note(frame, points), (found,))


def cobb(frame: Frame, points: Sequence[XY]) -> Measured:
    """Return Cobb's angle between two lines (0-1 and 2-3); see `geometry.angle_between`.

    Above 90 degrees the note also tells the smaller angle between the lines.
    """
    if len(points) < 4:
        return Measured()
    found = geometry.angle_between(frame, (points[0], points[1]), (points[2], points[3]))
    if found is None:
        return Measured(note="no angle: the axes have different units, or a line has no length")
    square = found.source is SpacingSource.NONE and frame.spacing.aspect == 1
    note = "assuming square pixels" if square else ""
    if found.value > _RIGHT:
        smaller = f"the smaller angle between the lines is {180 - found.value:.1f}°"
        note = f"{smaller}; {note}" if note else smaller
    return Measured(found.value, "°", note, (Measurement("Cobb angle", found.value, "°"),))


def bidirectional(frame: Frame, points: Sequence[XY]) -> Measured:
    """Return the long and the short of two perpendicular axes (0-1 and 2-3)."""
    if len(points) < 4:
        return Measured()
    both = [path_length_named(frame, points, pair) for pair in ((0, 1), (2, 3))]
    both.sort(key=lambda one: one.value, reverse=True)
    named = tuple(
        Measurement(name, one.value, one.units, one.rests_on)
        for name, one in zip(("Long axis", "Short axis"), both, strict=True)
    )
    return Measured(named[0].value, with_source(named[0]), scale_note(frame, points), named)


def path_length_named(frame: Frame, points: Sequence[XY], pair: tuple[int, int]) -> Measurement:
    """Return the length between two of several points, in the scale that applies to all."""
    found = geometry.scale_at(frame, points)
    (ax, ay), (bx, by) = points[pair[0]], points[pair[1]]
    if found is None:
        return Measurement("Length", math.hypot(bx - ax, by - ay), "px")
    value = math.hypot((bx - ax) * found[0], (by - ay) * found[1])
    return Measurement("Length", value, "mm", found[2].value)


def cardiothoracic(frame: Frame, points: Sequence[XY]) -> Measured:
    """Return the ratio of two lengths: the heart's width (0-1) and the thorax's (2-3)."""
    if len(points) < 4:
        return Measured()
    shape = geometry.pixel_shape(frame, points)
    if shape is None:
        return Measured(note="no ratio: the axes have different units")
    widths = [
        math.hypot(points[n + 1][0] - points[n][0], (points[n + 1][1] - points[n][1]) * shape[0])
        for n in (0, 2)
    ]
    if not widths[1]:
        return Measured(note="no ratio: the second line has no length")
    ratio = widths[0] / widths[1]
    heart, thorax = (path_length_named(frame, points, pair) for pair in ((0, 1), (2, 3)))
    return Measured(
        ratio,
        "ratio",
        scale_note(frame, points),
        (
            Measurement("Cardiothoracic ratio", ratio, "ratio"),
            Measurement("Heart width", heart.value, heart.units, heart.rests_on),
            Measurement("Thorax width", thorax.value, thorax.units, thorax.rests_on),
        ),
    )


def region(frame: Frame, shape: Box | Ellipse | Polygon) -> Measured:
    """Return area and perimeter of a region, by its outline and not by its pixels.

    The area of a polygon that crosses itself is not told: its parts would cancel out.
    """
    outline, extremes, pixels = _outline(shape)
    if len(outline) < 3:
        return Measured()
    note = scale_note(frame, extremes)
    found = geometry.scale_at(frame, extremes)
    perimeter = _perimeter(outline, found)
    if isinstance(shape, Polygon) and crosses_itself(shape):
        note = "; ".join(part for part in ("no area: the outline crosses itself", note) if part)
        return Measured(None, "", note, (perimeter,))
    area = _area(pixels, found)
    return Measured(area.value, with_source(area), note, (area, perimeter))


def mask(frame: Frame, shape: Mask) -> Measured:
    """Return the area of a mask: the number of its pixels times the area of one."""
    rows, columns = region_statistics.extent(shape)
    if not len(rows):
        return Measured(0.0, "px²", "", (Measurement("Area", 0.0, "px²"),))
    corners = [(columns[0], rows[0]), (columns[-1], rows[0])]
    corners += [(columns[-1], rows[-1]), (columns[0], rows[-1])]
    area = _area(float(np.count_nonzero(shape.pixels)), geometry.scale_at(frame, corners))
    return Measured(area.value, with_source(area), scale_note(frame, corners), (area,))


def object_area(frame: Frame, objects: Objects, place: int) -> Measurement:
    """Return the area of a numbered object, by its position in `objects`."""
    x0, y0, x1, y1 = objects.boxes[place].tolist()
    corners = [(x0, y0), (x1, y0), (x1, y1), (x0, y1)]
    return _area(float(objects.areas[place]), geometry.scale_at(frame, corners))


def _area(pixels: float, found: tuple[float, float, SpacingSource] | None) -> Measurement:
    """Return an area of so many pixels in mm², or in px² without a scale."""
    if found is None:
        return Measurement("Area", pixels, "px²")
    value, units = pixels * found[0] * found[1], "mm²"
    if value < _MICRO_AREA:
        value, units = value * 1e6, "µm²"
    return Measurement("Area", value, units, found[2].value)


def _outline(shape: Box | Ellipse | Polygon) -> tuple[Sequence[XY], Sequence[XY], float]:
    """Return a region's outline, its points that must share one scale, and its area in px²."""
    if isinstance(shape, Polygon):
        x, y = np.array(shape.points, dtype=np.float64).reshape(-1, 2).T
        # From its own corner: far from the origin the products would lose digits.
        x, y = x - x[:1], y - y[:1]
        pixels = abs(float(x @ np.roll(y, -1) - y @ np.roll(x, -1))) / 2
        return shape.points, shape.points, pixels
    width, height = shape.x1 - shape.x0, shape.y1 - shape.y0
    if isinstance(shape, Ellipse):
        center, middle = (shape.x0 + shape.x1) / 2, (shape.y0 + shape.y1) / 2
        turn = np.linspace(0, 2 * math.pi, _SIDES, endpoint=False)
        x, y = center + width / 2 * np.cos(turn), middle + height / 2 * np.sin(turn)
        sides = [(shape.x0, middle), (shape.x1, middle), (center, shape.y0), (center, shape.y1)]
        return list(zip(x.tolist(), y.tolist(), strict=True)), sides, width * height * math.pi / 4
    corners = [(shape.x0, shape.y0), (shape.x1, shape.y0)]
    corners += [(shape.x1, shape.y1), (shape.x0, shape.y1)]
    # The outermost pixels, as their outer edges would lie beyond a region of the same size.
    centers = [(x + (0.5 if x == shape.x0 else -0.5), y) for x, y in corners]
    centers = [(x, y + (0.5 if y == shape.y0 else -0.5)) for x, y in centers]
    return corners, centers, width * height


def _perimeter(
    outline: Sequence[XY], found: tuple[float, float, SpacingSource] | None
) -> Measurement:
    step = np.diff(np.array([*outline, outline[0]], dtype=np.float64), axis=0)
    if found is None:
        return Measurement("Perimeter", float(np.hypot(step[:, 0], step[:, 1]).sum()), "px")
    value = float(np.hypot(step[:, 0] * found[0], step[:, 1] * found[1]).sum())
    return _small(Measurement("Perimeter", value, "mm", found[2].value))


def crosses_itself(shape: Polygon) -> bool:
    """Return whether two sides of an outline cross; very long ones are not searched, and False."""
    start = np.array(shape.points, dtype=np.float64)
    count = len(start)
    if count < 4 or count > _MOST_CHECKED:
        return False
    end = np.roll(start, -1, axis=0)
    parts = [slice(first, first + _PART) for first in range(0, count, _PART)]
    # Only stretches whose surroundings meet can cross.
    low = np.array([np.minimum(start[part], end[part]).min(axis=0) for part in parts])
    high = np.array([np.maximum(start[part], end[part]).max(axis=0) for part in parts])
    meet = (low[:, None] <= high[None]).all(axis=2)
    pairs = np.argwhere(np.triu(meet & meet.T))
    return any(
        _any_cross(start[parts[one]], end[parts[one]], start[parts[other]], end[parts[other]])
        for one, other in pairs.tolist()
    )


def _any_cross(start: Points, end: Points, other_start: Points, other_end: Points) -> bool:
    """Return whether any of some lines crosses any of others; touching is no crossing."""

    def turn(first: Points, last: Points, points: Points) -> Points:
        """Return on which side of each line (row) each point (column) lies."""
        side, away = last - first, points[None, :, :] - first[:, None, :]
        return np.sign(side[:, None, 0] * away[:, :, 1] - side[:, None, 1] * away[:, :, 0])

    apart = turn(start, end, other_start) * turn(start, end, other_end) < 0
    others = turn(other_start, other_end, start) * turn(other_start, other_end, end) < 0
    return bool((apart & others.T).any())


def figure(value: float) -> str:
    """Return a length or area as text: tenths from 10 on, else three digits."""
    return f"{value:,.1f}" if abs(value) >= _TENTHS else f"{value:.3g}"
