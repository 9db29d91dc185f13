"""Spacing that a file states in its own words, not in DICOM's."""

from __future__ import annotations

import math

from app.imaging.space.spacing import MAX_ANISOTROPY, MAX_SPACING_MM, MIN_SPACING_MM
from app.imaging.types import Spacing, SpacingSource


def stated_spacing(row_mm: float, column_mm: float, source: SpacingSource, note: str) -> Spacing:
    """A spacing, or an unknown one where the figures are impossible.

    Args:
        row_mm: Between rows; 0 for unknown.
        column_mm: Between columns; 0 for unknown.
        source: What it rests on.
        note: Who says so.
    """
    pair = (row_mm, column_mm)
    if not all(math.isfinite(mm) for mm in pair) or min(pair) <= 0:
        return Spacing(note="the file gives no spacing")
    if min(pair) < MIN_SPACING_MM or max(pair) > MAX_SPACING_MM:
        return Spacing(note=f"a spacing of {row_mm:g} x {column_mm:g} mm ignored as impossible")
    if max(pair) > MAX_ANISOTROPY * min(pair):
        return Spacing(note=f"a spacing of {row_mm:g} x {column_mm:g} mm ignored as impossible")
    return Spacing(row_mm, column_mm, source, row_mm / column_mm, note)
