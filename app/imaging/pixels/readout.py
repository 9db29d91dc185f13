"""What lies under the cursor: stored, modality (PS3.3 C.11.1) and real-world values."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from app.imaging.pixels.greys import is_coloured, modality_values, palette_colours
from app.imaging.pixels.masks import hidden_pixels
from app.imaging.types import Frame, RealWorldMap


@dataclass(frozen=True, slots=True)
class Grey:
    """What lies under a point.

    Attributes:
        stored: The stored value, or three for RGB.
        value: In modality units; None for colour.
        units: Of `value`, e.g. "HU"; "" when unknown.
        text: For display, e.g. "-873 HU", or "812 (1.2 mm2/s ADC)" with a real-world value.
        real: What the file maps the stored value to, or None.
        real_units: Of `real`, UCUM.
    """

    stored: tuple[float, ...]
    value: float | None
    units: str
    text: str
    real: float | None = None
    real_units: str = ""


def grey_at(frame: Frame, x: float, y: float) -> Grey | None:
    """The pixel that covers (x, y); None outside the image.

    Args:
        frame: The image.
        x: Column; pixel centres are integers.
        y: Row.
    """
    column, row = math.floor(x + 0.5), math.floor(y + 0.5)
    if not (0 <= column < frame.columns and 0 <= row < frame.rows):
        return None
    pixel = np.atleast_1d(frame.stored[row, column])
    stored = tuple(float(part) for part in pixel)
    hidden = ", behind the shutter" if _is_hidden(frame, column, row) else ""
    coloured = frame.is_color or (frame.supplemental and bool(is_coloured(frame, pixel)[0]))
    real = None if frame.is_color else real_value(frame.real_world, stored[0])
    if coloured:
        colour = palette_colours(frame, pixel)[0] if frame.palette is not None else pixel
        text = " ".join(str(part) for part in colour)
        if real is None:
            return Grey(stored, None, "", text + hidden)
        shown = _with_units(real[0], real[1].units, real[1].label)
        return Grey(stored, None, "", shown + hidden, real[0], real[1].units)
    value = float(modality_values(frame, pixel)[0])
    units = frame.rescale.units
    if frame.padding is not None and frame.padding[0] <= stored[0] <= frame.padding[1]:
        hidden += ", padding"
    if real is None:
        return Grey(stored, value, units, _with_units(value, units) + hidden)
    found, mapping = real
    same = math.isclose(found, value, rel_tol=1e-9, abs_tol=1e-12)
    if not same or (units and mapping.units not in ("", units)):
        meant = _with_units(found, mapping.units, mapping.label)
        text = f"{_with_units(value, units)} ({meant})"
    else:
        text = _with_units(value, mapping.units or units)
    return Grey(stored, value, units, text + hidden, found, mapping.units)


def _with_units(value: float, units: str, label: str = "") -> str:
    number = f"{value:.0f}" if value.is_integer() else f"{value:.4g}"
    return " ".join(part for part in (number, units, label) if part)


def _is_hidden(frame: Frame, column: int, row: int) -> bool:
    if frame.shutter is None:
        return False
    mask = hidden_pixels(frame.shutter, range(row, row + 1), frame.columns, frame.spacing.aspect)
    return bool(mask[0, column])


def real_value(maps: tuple[RealWorldMap, ...], stored: float) -> tuple[float, RealWorldMap] | None:
    """What a stored value stands for, by the first map that covers it."""
    for found in maps:
        if not found.first <= stored <= found.last:
            continue
        if found.lut is not None:
            return float(found.lut[int(stored - found.first)]), found
        return stored * found.slope + found.intercept, found
    return None
