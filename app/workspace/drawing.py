"""What the user can draw on an image with the mouse: measurements, and marks for tools."""

from __future__ import annotations

from collections.abc import Sequence

from app.imaging.findings import XY, Finding
from app.imaging.types import Frame
from app.workspace import measurements, user_marks

POINTS = measurements.POINTS | user_marks.POINTS
"""How many points each drawing tool takes."""

DRAGGED = (measurements.RULER, user_marks.BOX)
"""Tools whose drawing is one drag: a mere click draws nothing with them, but selects."""


def by_hand(finding: Finding) -> bool:
    """Whether the user drew it."""
    return measurements.by_hand(finding) or user_marks.is_mark(finding)


def points_of(finding: Finding) -> tuple[XY, ...]:
    """The points that can be moved; none for what a tool found."""
    return user_marks.points_of(finding) or measurements.points_of(finding)


def draw(tool: str, frame: Frame, points: Sequence[XY]) -> Finding:
    """What `tool` makes of the points that are set so far, in pixels of the image."""
    if tool in user_marks.POINTS:
        return user_marks.mark(tool, frame, points)
    return measurements.measure(tool, frame, points)


def moved(finding: Finding, frame: Frame, place: int, to: XY) -> Finding:
    """The same with one of its points elsewhere."""
    if user_marks.is_mark(finding):
        return user_marks.moved(finding, frame, place, to)
    return measurements.moved(finding, frame, place, to)


def verb(tool: str) -> str:
    """What drawing with it is called in the list of what can be undone."""
    return "Mark" if tool in user_marks.POINTS else "Measure"
