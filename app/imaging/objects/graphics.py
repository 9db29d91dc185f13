"""Graphic Data of structured reports and presentation states as geometries.

PS3.3 C.10.5.1.2 and C.18.6.1.2. Points here are (x, y) in pixels from 0 whose centres are integers;
DICOM's (0.5, 0.5), the centre of its top left pixel, is (0, 0) here.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from app.imaging.findings import XY, Geometry, Point, Polygon, Polyline

Floats = NDArray[np.float64]

PIXEL_CORNER = 0.5
"""Subtracted from a DICOM coordinate, whose origin is the corner of the top left pixel."""

_CORNERS = 72
_STEPS = 8
_MAX_SMOOTHED = 4000
_MAX_COORDINATE = 1e7


def coordinate_pairs(data: Sequence[float]) -> tuple[XY, ...] | None:
    """Return `data` (x, y, x, y, ...) as pairs; None if empty, odd in length or beyond ±1e7."""
    if len(data) < 2 or len(data) % 2:
        return None
    if not all(abs(value) <= _MAX_COORDINATE for value in data):
        return None
    return tuple(zip(data[0::2], data[1::2], strict=True))


def pixel_point(point: XY) -> XY:
    """Convert (x, y) measured from the image's corner to pixels whose centres are integers."""
    return point[0] - PIXEL_CORNER, point[1] - PIXEL_CORNER


def graphic_geometries(kind: str, points: Sequence[XY]) -> tuple[Geometry, ...]:
    """Return the geometries of a DICOM graphic; empty for an unknown type or a wrong point count.

    `kind` is the Graphic Type: POINT, MULTIPOINT, POLYLINE, INTERPOLATED, CIRCLE, ELLIPSE or (in
    3-D coordinates) POLYGON, which is a closed POLYLINE. `points` are (x, y) in pixels with integer
    centres.
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
    # DICOM closes an outline by repeating its first point.
    closed = len(given) > 3 and given[0] == given[-1]
    # Dense points need no smoothing, which would multiply them by `_STEPS`.
    if kind == "INTERPOLATED" and 2 < len(given) <= _MAX_SMOOTHED:
        given = _smooth_curve(given, closed)
    if closed or kind == "POLYGON":
        return (Polygon(given[:-1] if given[0] == given[-1] else given),)
    return (Polyline(given),)


def circle(center: XY, edge: XY) -> Polygon:
    """Return a polygon that approximates the circle around `center` through `edge`."""
    radius = math.dist(center, edge)
    (x, y) = center
    return ellipse(((x - radius, y), (x + radius, y), (x, y - radius), (x, y + radius)))


def ellipse(ends: Sequence[XY]) -> Polygon:
    """Return an ellipse as a polygon; `ends`: two ends of the major axis, then of the minor."""
    return Polygon(point_tuples(ellipse_corners(np.array(ends, np.float64), _CORNERS)))


def ellipse_corners(ends: Floats, count: int) -> Floats:
    """Return [count, 2] corners (x, y) of a polygon that approximates an ellipse.

    `ends` are [4, 2] points (x, y): the two ends of the major axis, then those of the minor axis.
    The corners start at the second end of the major axis.
    """
    angles = np.linspace(0, 2 * np.pi, count, endpoint=False)[:, None]
    major, minor = (ends[1] - ends[0]) / 2, (ends[3] - ends[2]) / 2
    return ends.mean(axis=0) + np.cos(angles) * major + np.sin(angles) * minor


def point_tuples(points: Floats) -> tuple[XY, ...]:
    """Return an [n, 2] array as (x, y) tuples."""
    return tuple((x, y) for x, y in points.tolist())


def _smooth_curve(points: tuple[XY, ...], closed: bool) -> tuple[XY, ...]:
    """Return a Catmull-Rom curve: it passes through every point, as PS3.3 C.10.5.1.2 asks."""
    body = np.array(points[:-1] if closed else points)
    # Each segment needs the points before and after it; an open line repeats its ends.
    padding = ((1, 2), (0, 0)) if closed else ((1, 1), (0, 0))
    around = np.pad(body, padding, mode="wrap" if closed else "edge")[:, None]
    a, b, c, d = around[:-3], around[1:-2], around[2:-1], around[3:]
    t = (np.arange(_STEPS) / _STEPS)[:, None]
    curve = b + 0.5 * (
        (c - a) * t + (2 * a - 5 * b + 4 * c - d) * t**2 + (3 * b - a - 3 * c + d) * t**3
    )
    return (*point_tuples(curve.reshape(-1, 2)), points[-1])
