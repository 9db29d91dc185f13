"""The user's own measurements as findings: a length between two points, an angle of three.

They are made by hand: nothing of them may be called a result of an AI.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from app.imaging import geometry
from app.imaging.findings import XY, Finding, Polyline, Provenance, new_id
from app.imaging.types import Frame, SpacingSource

RULER = "ruler"
ANGLE = "angle"
POINTS = {RULER: 2, ANGLE: 3}
"""How many points each tool takes."""

_LABELS = {RULER: "Length", ANGLE: "Angle"}


def by_hand(finding: Finding) -> bool:
    """Whether the user measured it; what a run made has the run's id."""
    made = finding.provenance
    return made.tool in POINTS and not made.run_id


def points_of(finding: Finding) -> tuple[XY, ...]:
    """The points that can be moved; none for what a tool found."""
    shape = finding.geometry
    return shape.points if by_hand(finding) and isinstance(shape, Polyline) else ()


def measure(tool: str, frame: Frame, points: Sequence[XY], finding_id: str = "") -> Finding:
    """A measurement; without value while points are missing.

    Args:
        tool: RULER or ANGLE.
        frame: The image.
        points: (x, y) in its pixels; those outside are moved to its border. The second of an
            angle is its vertex.
        finding_id: Of the finding that it replaces; "" for a new one.
    """
    kept = tuple(_inside(frame, point) for point in points)
    value, units, basis = None, "", ""
    if len(kept) == POINTS[tool]:
        value, units, basis = _LENGTH_OR_ANGLE[tool](frame, kept)
    made = Provenance(tool, "", "", "", "", "")
    return Finding(
        id=finding_id or new_id(),
        image=frame.ref,
        geometry=Polyline(kept),
        label=_LABELS[tool],
        score=None,
        units=units,
        provenance=made,
        value=value,
        description=basis,
    )


def moved(finding: Finding, frame: Frame, place: int, to: XY) -> Finding:
    """The measurement with one of its points elsewhere."""
    points = list(points_of(finding))
    points[place] = to
    return measure(finding.provenance.tool, frame, points, finding.id)


def _inside(frame: Frame, point: XY) -> XY:
    x = min(max(point[0], -0.5), frame.columns - 0.5)
    y = min(max(point[1], -0.5), frame.rows - 0.5)
    return x, y


def _length(frame: Frame, points: Sequence[XY]) -> tuple[float, str, str]:
    found = geometry.length(frame, points[0], points[1])
    if found.source is SpacingSource.NONE:
        return found.value, found.units, frame.spacing.note
    return found.value, f"{found.units} ({found.source.value})", frame.spacing.note


def _angle(frame: Frame, points: Sequence[XY]) -> tuple[float, str, str]:
    """Angle at the second point in degrees, of the true shape of the pixels."""
    (ax, ay), (x, y), (bx, by) = points
    aspect = frame.spacing.aspect
    first = math.atan2((ay - y) * aspect, ax - x)
    second = math.atan2((by - y) * aspect, bx - x)
    turn = math.degrees(abs(first - second)) % 360
    basis = "" if frame.spacing.known or aspect != 1 else "taking the pixels for square"
    return min(turn, 360 - turn), "°", basis


_LENGTH_OR_ANGLE = {RULER: _length, ANGLE: _angle}
