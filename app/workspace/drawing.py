"""The tools that draw on an image with the mouse: measurements and marks."""

from __future__ import annotations

from collections.abc import Sequence

from app.imaging.findings import XY, Finding
from app.imaging.types import Frame
from app.workspace import measurements, user_marks

POINTS = measurements.POINTS | user_marks.POINTS
"""Number of points that each drawing tool takes."""

DRAGGED = (measurements.RULER, user_marks.BOX)
"""Tools drawn with one drag; a click without a drag selects instead."""


def by_hand(finding: Finding) -> bool:
    """Return whether the user drew a finding."""
    return measurements.by_hand(finding) or user_marks.is_mark(finding)


def points_of(finding: Finding) -> tuple[XY, ...]:
    """Return the points of a finding that can be moved; () for findings of tools."""
    return user_marks.points_of(finding) or measurements.points_of(finding)


def draw(tool: str, frame: Frame, points: Sequence[XY]) -> Finding:
    """Return the finding that a drawing tool makes of the points set so far (image px)."""
    if tool in user_marks.POINTS:
        return user_marks.mark(tool, frame, points)
    return measurements.measure(tool, frame, points)


def move_point(finding: Finding, frame: Frame, place: int, to: XY) -> Finding:
    """Return a finding with one of its points moved; `place` is the number of the point."""
    if user_marks.is_mark(finding):
        return user_marks.move_point(finding, frame, place, to)
    return measurements.move_point(finding, frame, place, to)


def verb(tool: str) -> str:
    """Return the verb for a drawing tool in the label of its undo step."""
    return "Mark" if tool in user_marks.POINTS else "Measure"
