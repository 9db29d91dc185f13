"""Measurements drawn by the user: the length between two points, and angles from three points.

They are made by hand and never labelled as AI results.
"""

from __future__ import annotations

from collections.abc import Sequence

from app.imaging.findings import XY, Finding, Polyline, Provenance, new_id
from app.imaging.space import geometry
from app.imaging.types import Frame, SpacingSource

RULER = "ruler"
ANGLE = "angle"
POINTS = {RULER: 2, ANGLE: 3}
"""Number of points that each measuring tool needs."""

_LABELS = {RULER: "Length", ANGLE: "Angle"}
_MICRO = 0.1  # mm below which a length is given in micrometres


def by_hand(finding: Finding) -> bool:
    """Return whether the user made a measurement; a finding made by a run has a run id."""
    made = finding.provenance
    return made.tool in POINTS and not made.run_id


def points_of(finding: Finding) -> tuple[XY, ...]:
    """Return the points that the user can move; () for a finding made by a tool."""
    shape = finding.geometry
    return shape.points if by_hand(finding) and isinstance(shape, Polyline) else ()


def measure(tool: str, frame: Frame, points: Sequence[XY], finding_id: str = "") -> Finding:
    """Return a measurement as a finding; its value is None until all points are set.

    Args:
        tool: RULER or ANGLE.
        frame: The image.
        points: (x, y) in image pixels; points outside are moved to the border. The second point of
            an angle is its vertex.
        finding_id: Id of the finding to replace; "" for a new one.
    """
    kept = tuple(_inside(frame, point) for point in points)
    label, value, units, basis = _LABELS[tool], None, "", ""
    if len(kept) == POINTS[tool]:
        label, value, units, basis = _MEASURE[tool](frame, kept)
    made = Provenance(tool, "", "", "", "", "")
    return Finding(
        id=finding_id or new_id(),
        image=frame.ref,
        geometry=Polyline(kept),
        label=label,
        score=None,
        units=units,
        provenance=made,
        value=value,
        description=basis[:1].upper() + basis[1:],
    )


def move_point(finding: Finding, frame: Frame, place: int, to: XY) -> Finding:
    """Return a measurement with one of its points moved; `place` is the point's index."""
    points = list(points_of(finding))
    points[place] = to
    return measure(finding.provenance.tool, frame, points, finding.id)


def _inside(frame: Frame, point: XY) -> XY:
    x = min(max(point[0], -0.5), frame.columns - 0.5)
    y = min(max(point[1], -0.5), frame.rows - 0.5)
    return x, y


def _length(frame: Frame, points: Sequence[XY]) -> tuple[str, float | None, str, str]:
    found = geometry.length(frame, points[0], points[1])
    note = "" if frame.regions else frame.spacing.note
    if found.source is SpacingSource.NONE:
        return "Length", found.value, found.units, note
    source = f"({found.source.value})"
    across, _, down = found.text.removesuffix(source).strip().partition(", ")
    if down:  # axes of different units, as time and speed: no length, but two differences
        return "Difference", found.value, f"{found.units}, {across} {source}", note
    if found.units == "mm" and found.value < _MICRO:
        return "Length", found.value * 1000, f"µm {source}", note
    label = "Length" if found.units == "mm" else "Difference"
    return label, found.value, f"{found.units} {source}", note


def _angle(frame: Frame, points: Sequence[XY]) -> tuple[str, float | None, str, str]:
    found = geometry.angle(frame, *points)
    if found is None:
        return "Angle", None, "", "there is no angle between these axes"
    square = found.source is SpacingSource.NONE and frame.spacing.aspect == 1
    return "Angle", found.value, found.units, "taking the pixels for square" if square else ""


_MEASURE = {RULER: _length, ANGLE: _angle}
