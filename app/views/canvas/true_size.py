"""How large an image must be drawn so that 1 mm of the object is 1 mm on the screen."""

from __future__ import annotations

from PySide6.QtGui import QScreen

from app.imaging.types import Spacing, SpacingSource
from app.views.translation import tr, translatable

TRUE = (SpacingSource.PATIENT, SpacingSource.CALIBRATED, SpacingSource.REGION, SpacingSource.MANUAL)
"""Sources of a spacing that holds in the object itself."""

_REFUSALS = {
    SpacingSource.NONE: translatable(
        "The file gives no pixel spacing, so the size of the object is unknown."
    ),
    SpacingSource.DETECTOR: translatable(
        "The file gives the spacing at the detector only. The object is smaller than its shadow "
        "there, by an unknown factor."
    ),
    SpacingSource.STANDARD: translatable(
        "The image was warped into a standard space: its mm are not the patient's."
    ),
    SpacingSource.SPECIMEN: translatable(
        "The image is of a microscope: at true size it would be too small to see."
    ),
}


def refusal(spacing: Spacing) -> str:
    """Return why an image cannot be shown at its true size; "" if it can."""
    if spacing.known and spacing.source in TRUE:
        return ""
    return tr(_REFUSALS.get(spacing.source, _REFUSALS[SpacingSource.NONE]))


def true_zoom(spacing: Spacing, pixel_mm: float) -> float | None:
    """Return the zoom of true size, None if refused; `pixel_mm` is physical."""
    if spacing.row_mm is None or spacing.column_mm is None or refusal(spacing):
        return None
    return min(spacing.row_mm, spacing.column_mm) / pixel_mm


def screen_key(screen: QScreen) -> str:
    """Return a screen's key by resolution, which sets pixel size, but not by scaling."""
    size = screen.size() * screen.devicePixelRatio()
    parts = (screen.manufacturer(), screen.model(), screen.serialNumber(), screen.name())
    return " ".join(part for part in (*parts, f"{size.width()} x {size.height()}") if part)
