"""Graphic Data of structured reports and presentation states as our geometry.

PS3.3 C.10.5.1.2 and C.18.6.1.2. Points here are (x, y) in pixels whose centres are integers, from
0: DICOM's (0.5, 0.5), the centre of its top left pixel, is our (0, 0).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from app.imaging.findings import XY, Geometry, Point, Polygon, Polyline

PIXEL_CORNER = 0.5
"""What is taken from a DICOM coordinate, whose origin is the top left pixel's top left corner."""

_OUTLINE = 72
_STEPS = 8
_MAX_SMOOTHED = 4000
_MAX_COORDINATE = 1e7


def points_of(data: Sequence[float]) -> tuple[XY, ...] | None:
    """Pairs of a flat list, as they are; None when it has no or half a point, or absurd values."""
    if len(data) < 2 or len(data) % 2:
        return None
    if not all(abs(value) <= _MAX_COORDINATE for value in data):
        return None
    return tuple(zip(data[0::2], data[1::2], strict=True))


def pixel_point(point: XY) -> XY:
    """A DICOM image position (origin at the corner) in our pixels (origin at the centre)."""
    return point[0] - PIXEL_CORNER, point[1] - PIXEL_CORNER


def geometries_of(kind: str, points: Sequence[XY]) -> tuple[Geometry, ...]:
    """What a graphic draws; empty when its number of points does not fit its type.

    Args:
        kind: Graphic Type: POINT, MULTIPOINT, POLYLINE, INTERPOLATED, CIRCLE or ELLIPSE. A POLYGON
            (of 3-D coordinates) is a closed POLYLINE.
        points: In our pixels.
    """
    given = tuple(points)
    if kind == "POINT":
        return (Point(*given[0]),) if len(given) == 1 else ()
    if kind == "MULTIPOINT":
        return tuple(Point(*point) for point in given)
    if kind == "CIRCLE":
        return (circle(*given),) if len(given) == 2 else ()
    if kind == "ELLIPSE":
        return (ellipse(given),) if len(given) == 4 else ()
    if kind not in ("POLYLINE", "INTERPOLATED", "POLYGON") or len(given) < 2:
        return ()
    closed = len(given) > 3 and given[0] == given[-1]
    if kind == "INTERPOLATED" and 2 < len(given) <= _MAX_SMOOTHED:
        given = _smoothed(given, closed)
    if closed or kind == "POLYGON":
        return (Polygon(given[:-1] if given[0] == given[-1] else given),)
    return (Polyline(given),)


def circle(center: XY, edge: XY) -> Polygon:
    """A circle by its centre and a point of its circumference."""
    radius = math.dist(center, edge)
    return _outline(center, (radius, 0.0), (0.0, radius))


def ellipse(ends: Sequence[XY]) -> Polygon:
    """An ellipse by the ends of its major axis, then those of its minor axis."""
    (ax, ay), (bx, by), (cx, cy), (dx, dy) = ends
    center = ((ax + bx) / 2, (ay + by) / 2)
    return _outline(center, ((bx - ax) / 2, (by - ay) / 2), ((dx - cx) / 2, (dy - cy) / 2))


def _outline(center: XY, major: XY, minor: XY) -> Polygon:
    """The ellipse with these half axes."""
    points: list[XY] = []
    for step in range(_OUTLINE):
        angle = 2 * math.pi * step / _OUTLINE
        a, b = math.cos(angle), math.sin(angle)
        points.append(
            (center[0] + a * major[0] + b * minor[0], center[1] + a * major[1] + b * minor[1])
        )
    return Polygon(tuple(points))


def _smoothed(points: tuple[XY, ...], closed: bool) -> tuple[XY, ...]:
    """A Catmull-Rom curve: it passes through every point, as the standard asks."""
    body = points[:-1] if closed else points
    count = len(body)
    segments = count if closed else count - 1
    curve: list[XY] = []
    for index in range(segments):
        four = [
            body[position % count] if closed else body[min(max(position, 0), count - 1)]
            for position in range(index - 1, index + 3)
        ]
        curve += [_between(four, step / _STEPS) for step in range(_STEPS)]
    return (*curve, points[-1])


def _between(four: Sequence[XY], t: float) -> XY:
    """The curve's point at `t` (0..1) between the second and the third point."""

    def one(axis: int) -> float:
        a, b, c, d = (point[axis] for point in four)
        return 0.5 * (
            2 * b
            + (c - a) * t
            + (2 * a - 5 * b + 4 * c - d) * t**2
            + (3 * b - a - 3 * c + d) * t**3
        )

    return one(0), one(1)
