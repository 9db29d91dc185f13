"""Calibration by a known length: a line on an image that the user says is so many mm long.

The calibration is part of the line, as one of its measurements, so that it is kept, undone and
deleted with it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import replace

from app.imaging.findings import Finding, Measurement, Polyline
from app.imaging.types import Frame, Spacing, SpacingSource
from app.workspace.drawing import KNOWN_LENGTH, RULER, SERIES_LENGTH, by_hand

LEAST_MM, MOST_MM = 0.01, 10_000.0
_LEAST_PX = 2.0


def known_length(finding: Finding) -> float | None:
    """Return the true length in mm by which a line calibrates its image, or None."""
    for one in finding.measurements:
        if one.name in (KNOWN_LENGTH, SERIES_LENGTH):
            return one.value
    return None


def is_for_series(finding: Finding) -> bool:
    """Return whether a line calibrates all images of its series."""
    return any(one.name == SERIES_LENGTH for one in finding.measurements)


def can_calibrate(finding: Finding) -> bool:
    """Return whether a finding is a straight line drawn by hand, long enough to calibrate by."""
    line = finding.geometry
    if not (by_hand(finding) and finding.provenance.tool == RULER and isinstance(line, Polyline)):
        return False
    return len(line.points) == 2 and math.dist(*line.points) >= _LEAST_PX


def with_known_length(finding: Finding, mm: float | None, *, series: bool = False) -> Finding:
    """Return a line that calibrates its image, or its series, by `mm`; None: it no longer does."""
    kept = tuple(
        one for one in finding.measurements if one.name not in (KNOWN_LENGTH, SERIES_LENGTH)
    )
    if mm is not None:
        name = SERIES_LENGTH if series else KNOWN_LENGTH
        kept = (*kept, Measurement(name, mm, "mm", SpacingSource.MANUAL.value))
    return replace(finding, measurements=kept)


def calibrating(
    findings: Iterable[Finding], frame: Frame, in_series: Callable[[Finding], bool]
) -> Finding | None:
    """Return the line that calibrates `frame`: the last on itself, else the last of its series.

    `in_series` tells whether a line is on an image of the frame's series, with like pixels.
    """
    own = wider = None
    for finding in findings:
        if known_length(finding) is None or not can_calibrate(finding):
            continue
        if frame.shows(finding.image):
            own = finding
        elif is_for_series(finding) and in_series(finding):
            wider = finding
    return own or wider


def calibrated(frame: Frame, line: Finding | None) -> Frame:
    """Return a frame whose spacing is such that `line` has its known length; pixels keep shape.

    The scale replaces the file's, regions included. Without a line it is the frame itself.
    """
    mm = known_length(line) if line is not None else None
    if mm is None or line is None or not isinstance(line.geometry, Polyline):
        return frame
    (ax, ay), (bx, by) = line.geometry.points
    tall = frame.spacing.aspect
    column_mm = mm / math.hypot(bx - ax, (by - ay) * tall)
    spacing = Spacing(column_mm * tall, column_mm, SpacingSource.MANUAL, tall)
    return replace(frame, spacing=spacing, regions=(), calibration="")
