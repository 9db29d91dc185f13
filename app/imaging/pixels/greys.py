"""The stages from stored values to grey levels (PS3.3 C.11), each a pure function on arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.imaging.types import Frame, Lut, VoiFunction, Window

Array = NDArray[Any]
Floats = NDArray[np.float64]
Bytes = NDArray[np.uint8]


def modality_values(frame: Frame, stored: Array) -> Floats:
    """Stored values in modality units, e.g. HU (C.11.1): the LUT if there is one, else rescale."""
    values = stored.astype(np.float64)
    if frame.modality_lut is not None:
        return _looked_up(values, frame.modality_lut).astype(np.float64)
    return values * frame.rescale.slope + frame.rescale.intercept


def voi_levels(frame: Frame, values: Floats, window: Window | None) -> Floats:
    """Modality values -> 0..1 (C.11.2).

    Args:
        frame: Its VOI LUTs are applied where the window names one, or there is no window.
        values: In modality units.
        window: A possible window (`windows.valid_window`), or None.
    """
    luts = frame.voi.luts
    if window is None or 0 <= window.lut < len(luts):
        return apply_voi_lut(values, luts[window.lut if window is not None else 0])
    return apply_window(values, window)


def apply_window(values: Floats, window: Window) -> Floats:
    """Modality values -> 0..1 (C.11.2.1.2 and C.11.2.1.3)."""
    center, width = window.center, window.width
    if window.function is VoiFunction.SIGMOID:
        exponent = np.clip(-4.0 * (values - center) / width, -700, 700)
        return 1.0 / (1.0 + np.exp(exponent))
    if window.function is VoiFunction.LINEAR_EXACT:
        return np.clip((values - center) / width + 0.5, 0.0, 1.0)
    if width == 1:
        return (values > center - 0.5).astype(np.float64)
    return np.clip((values - (center - 0.5)) / (width - 1.0) + 0.5, 0.0, 1.0)


def apply_voi_lut(values: Floats, lut: Lut) -> Floats:
    """Modality values -> 0..1 by the LUT's own output range (C.11.2.1.1)."""
    return _outputs(_looked_up(values, lut), lut)


def apply_presentation_lut(levels: Floats, lut: Lut) -> Floats:
    """Levels 0..1 -> P-values 0..1 (C.11.4): the whole input range spans the table's entries."""
    index = np.rint(np.nan_to_num(levels) * (lut.data.size - 1)).astype(np.intp)
    return _outputs(lut.data[index], lut)


def _looked_up(values: Floats, lut: Lut) -> NDArray[np.uint16]:
    index = np.rint(np.clip(np.nan_to_num(values) - lut.first, 0, lut.data.size - 1))
    return lut.data[index.astype(np.intp)]


def _outputs(data: NDArray[np.uint16], lut: Lut) -> Floats:
    return np.clip(data / (2.0**lut.bits - 1.0), 0.0, 1.0)


def levels_of(frame: Frame, stored: Floats, window: Window | None) -> Floats:
    """Stored values -> 0..1, 1 being white, after all stages that the file asks for.

    What is not a number (float maps have it outside the body) stays so.
    """
    levels = voi_levels(frame, modality_values(frame, stored), window)
    if frame.presentation_lut is not None:
        levels = apply_presentation_lut(levels, frame.presentation_lut)
    if frame.photometric == "MONOCHROME1" or frame.inverse:
        levels = 1.0 - levels
    return np.where(np.isnan(stored), np.nan, levels)


def palette_colours(frame: Frame, stored: Array) -> Bytes:
    """Stored values -> [..., 3] RGB by the frame's palette; values outside have its end colours."""
    assert frame.palette is not None
    index = stored.astype(np.intp) - frame.palette_first
    return frame.palette[np.clip(index, 0, len(frame.palette) - 1)]


def is_coloured(frame: Frame, stored: Array) -> NDArray[np.bool_]:
    """Which stored values a Supplemental Palette colours: from its first one on (C.7.6.19)."""
    return stored.astype(np.int64, copy=False) >= frame.palette_first
