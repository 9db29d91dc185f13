"""The tools that draw on an image with the mouse: measurements and marks."""

from __future__ import annotations

from collections.abc import Sequence

from app.imaging.findings import XY, Finding
from app.imaging.types import Frame
from app.workspace import measurements, user_marks

POINTS = measurements.POINTS | user_marks.POINTS
"""Number of points that each drawing tool needs."""

DRAGGED = (measurements.RULER, user_marks.BOX)
"""Tools used with a single drag; a click without a drag selects a finding instead."""


def by_hand(finding: Finding) -> bool:
    """Return whether the user drew a finding."""
    return measurements.by_hand(finding) or user_marks.is_mark(finding)


def points_of(finding: Finding) -> tuple[XY, ...]:
    """Return the points of a finding that the user can move; () for a finding made by a tool."""
    return user_marks.points_of(finding) or measurements.points_of(finding)


def draw(tool: str, frame: Frame, points: Sequence[XY]) -> Finding:
    """Return the finding that a drawing tool makes from the points set so far (in image px)."""
    if tool in user_marks.POINTS:
        return user_marks.mark(tool, frame, points)
    return measurements.measure(tool, frame, points)


def move_point(finding: Finding, frame: Frame, place: int, to: XY) -> Finding:
    """Return a finding with one of its points moved to `to`; `place` is the point's index."""
    if user_marks.is_mark(finding):
        return user_marks.move_point(finding, frame, place, to)
    return measurements.move_point(finding, frame, place, to)


def verb(tool: str) -> str:
    """Return the verb that the label of an undo step uses for a drawing tool."""
    return "Mark" if tool in user_marks.POINTS else "Measure"
