"""Measurements of one structure's mask, named as in the results of MedRAX (another program)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.imaging.pixels import pipeline
from app.imaging.types import Frame, Spacing, SpacingSource

_AREA_NOTES = {
    SpacingSource.DETECTOR: "measured in the detector plane: in the patient it is smaller, by the "
    "square of the magnification",
    SpacingSource.CALIBRATED: "uses the calibration stored in the file",
    SpacingSource.PATIENT: "uses PixelSpacing as stored in the file",
    SpacingSource.REGION: "uses the ultrasound region's calibration",
}


def spacing_mm(spacing: Spacing) -> list[float] | None:
    """Return the spacing in mm as [between rows, between columns], or None if it is unknown."""
    if spacing.row_mm is None or spacing.column_mm is None:
        return None
    return [spacing.row_mm, spacing.column_mm]


def area_note(spacing: Spacing) -> str:
    """Return a text on the spacing that an area in cm² uses, or on why there is no such area."""
    if not spacing.known:
        return unknown_spacing(spacing)
    return _AREA_NOTES.get(spacing.source, "uses the spacing stored in the file")


def unknown_spacing(spacing: Spacing) -> str:
    """Return a text on why there are no lengths and areas where the spacing is unknown."""
    why = spacing.note or "not in the file"
    return f"no figures in mm or cm²: the pixel spacing is unknown ({why})"


def organ_metrics(mask: NDArray[np.bool_], frame: Frame, confidence: float) -> dict[str, Any]:
    """Return the area, position, shape and intensities of a mask that is not empty.

    Args:
        mask: [rows, columns] of the whole image.
        frame: The image, whose own pixel spacing and stored values are used.
        confidence: Mean probability inside this mask.

    Returns:
        JSON values. `centroid` is [y, x]; `bbox` is [min_y, min_x, max_y, max_x] with the maxima
        excluded, as in MedRAX; `relative_position` gives the centroid's distances from the top and
        from the left as fractions of the image, and its distance from the image's centre;
        intensities are rescaled (modality LUT) values, independent of the window, or None for a
        colour image; `aspect_ratio` is height / width.
    """
    y, x = np.nonzero(mask)
    rows, columns = mask.shape
    top, bottom, left, right = (int(v) for v in (y.min(), y.max() + 1, x.min(), x.max() + 1))
    centre_y, centre_x = float(y.mean()), float(x.mean())
    # Pixel centres are integers, so the image's middle is at (size - 1) / 2.
    from_top, from_left = (centre_y + 0.5) / rows, (centre_x + 0.5) / columns
    values = np.empty(0)
    if not frame.is_color:
        values = pipeline.values_in(frame, range(top, bottom), range(left, right), mask)
    return {
        "area_pixels": len(y),
        "area_cm2": area_cm2(len(y), frame.spacing),
        "centroid": [round(centre_y, 2), round(centre_x, 2)],
        "bbox": [top, left, bottom, right],
        "width": right - left,
        "height": bottom - top,
        "aspect_ratio": round((bottom - top) / (right - left), 4),
        "relative_position": {
            "top": round(from_top, 4),
            "left": round(from_left, 4),
            "center_dist": round(float(np.hypot(from_top - 0.5, from_left - 0.5)), 4),
        },
        "mean_intensity": round(float(values.mean()), 2) if values.size else None,
        "std_intensity": round(float(values.std()), 2) if values.size else None,
        "confidence_score": round(confidence, 4),
    }


def area_cm2(pixels: float, spacing: Spacing) -> float | None:
    """Return the area of a number of pixels in cm², or None if the spacing is unknown."""
    if spacing.row_mm is None or spacing.column_mm is None:
        return None
    return round(pixels * spacing.row_mm * spacing.column_mm / 100.0, 2)


def area_text(figures: Mapping[str, Any], decimals: int) -> str:
    """Return the area in a mask's `organ_metrics` as text: "12.3 cm² (4,567 px)"."""
    pixels = f"{figures['area_pixels']:,} px"
    area = figures["area_cm2"]
    return pixels if area is None else f"{area:.{decimals}f} cm² ({pixels})"
