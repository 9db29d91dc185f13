"""Marks that the user draws for a tool: a box around an object, points inside or outside it.

They are neither measurements nor AI results.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from app.imaging.findings import XY, Box, Finding, Point, Provenance, new_id
from app.imaging.types import Frame

BOX = "mark_box"
POINT = "mark_point"
OUTSIDE = "mark_outside"
"""Tool that marks a point as not belonging to the object."""

POINTS = {BOX: 2, POINT: 1, OUTSIDE: 1}
"""Number of points that each tool needs."""

LABELS = {BOX: "Box", POINT: "Point", OUTSIDE: "Point outside"}


def is_mark(finding: Finding) -> bool:
    """Return whether the user drew a finding as a mark; a finding made by a run has a run id."""
    return finding.provenance.tool in POINTS and not finding.provenance.run_id


def points_of(finding: Finding) -> tuple[XY, ...]:
    """Return the points that can be moved; for a box, its corners clockwise from the top left."""
    shape = finding.geometry
    if not is_mark(finding):
        return ()
    if isinstance(shape, Box):
        x0, y0, x1, y1 = shape.x0, shape.y0, shape.x1, shape.y1
        return (x0, y0), (x1, y0), (x1, y1), (x0, y1)
    return ((shape.x, shape.y),) if isinstance(shape, Point) else ()


def mark(tool: str, frame: Frame, points: Sequence[XY], finding_id: str = "") -> Finding:
    """Return a mark as a finding.

    Args:
        tool: BOX, POINT or OUTSIDE.
        frame: The image.
        points: (x, y) in image pixels. For a box, two opposite corners, which may be equal. Points
            outside the image are moved to its border.
        finding_id: Id of the mark to replace; "" for a new one.

    Returns:
        The finding; the sides of a box lie on pixel edges, and a box covers at least one pixel.
    """
    shape = _box(frame, points[0], points[-1]) if tool == BOX else _point(frame, points[-1])
    return Finding(
        id=finding_id or new_id(),
        image=frame.ref,
        geometry=shape,
        label=LABELS[tool],
        score=None,
        units="",
        provenance=Provenance(tool, "", "", "", "", ""),
        description=_where(shape),
    )


def move_point(finding: Finding, frame: Frame, place: int, to: XY) -> Finding:
    """Return the mark with one point moved; the opposite corner of a box stays in place."""
    points = points_of(finding)
    opposite = points[(place + 2) % 4] if len(points) == 4 else to
    return mark(finding.provenance.tool, frame, (opposite, to), finding.id)


def _where(shape: Box | Point) -> str:
    if isinstance(shape, Point):
        return f"x {shape.x:.1f}, y {shape.y:.1f} px"
    columns, rows = shape.x1 - shape.x0, shape.y1 - shape.y0
    return f"{columns:.0f} × {rows:.0f} px from x {shape.x0 + 0.5:.0f}, y {shape.y0 + 0.5:.0f}"


def _point(frame: Frame, at: XY) -> Point:
    x = min(max(at[0], -0.5), frame.columns - 0.5)
    y = min(max(at[1], -0.5), frame.rows - 0.5)
    return Point(x, y)


def _box(frame: Frame, one: XY, other: XY) -> Box:
    x0, x1 = _span(one[0], other[0], frame.columns)
    y0, y1 = _span(one[1], other[1], frame.rows)
    return Box(x0, y0, x1, y1)


def _span(fixed: float, free: float, size: int) -> tuple[float, float]:
    """Return an interval between pixel edges, at least one pixel wide."""
    low, high = sorted((_edge(fixed, size), _edge(free, size)))
    if low == high:  # it grows to the side that it was drawn to
        grows_up = (free >= fixed and high < size - 0.5) or low <= -0.5
        low, high = (low, high + 1) if grows_up else (low - 1, high)
    return low, high


def _edge(value: float, size: int) -> float:
    return min(max(math.floor(value) + 0.5, -0.5), size - 0.5)
