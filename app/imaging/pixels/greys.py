"""The steps from stored values to grey levels (PS3.3 C.11), each a pure function on arrays."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.imaging.types import Frame, Lut, VoiFunction, Window

Array = NDArray[Any]
Floats = NDArray[np.float64]
Bytes = NDArray[np.uint8]

_PART = 12_288
"""Entries of a table computed at a time: they stay in the processor's cache, without new memory."""

_STRIP = 2**15
"""Pixels looked up at a time, for the same reason."""


def modality_values(frame: Frame, stored: Array) -> Floats:
    """Convert stored values to modality units, e.g. HU, by the frame's Modality LUT or rescale."""
    values = stored.astype(np.float64)
    if frame.modality_lut is not None:
        return _look_up(values, frame.modality_lut).astype(np.float64)
    return values * frame.rescale.slope + frame.rescale.intercept


def voi_levels(frame: Frame, values: Floats, window: Window | None) -> Floats:
    """Convert values in modality units to grey levels 0..1 (C.11.2).

    If `window` is None, the frame's first VOI LUT is used (there must be one); if `window.lut` is
    the number of one, that VOI LUT; otherwise the window, which must be valid.
    """
    luts = frame.voi.luts
    if window is None or 0 <= window.lut < len(luts):
        return apply_voi_lut(values, luts[window.lut if window is not None else 0])
    return apply_window(values, window)


def apply_window(values: Floats, window: Window) -> Floats:
    """Convert modality values to grey levels 0..1 by a window (C.11.2.1.2 and C.11.2.1.3)."""
    center, width = window.center, window.width
    if window.function is VoiFunction.SIGMOID:
        # exp overflows beyond 709.
        exponent = np.clip(-4.0 * (values - center) / width, -700, 700)
        return 1.0 / (1.0 + np.exp(exponent))
    if window.function is VoiFunction.LINEAR_EXACT:
        return np.clip((values - center) / width + 0.5, 0.0, 1.0)
    # The formula would divide by 0; the standard asks for a threshold.
    if width == 1:
        return (values > center - 0.5).astype(np.float64)
    return np.clip((values - (center - 0.5)) / (width - 1.0) + 0.5, 0.0, 1.0)


def apply_voi_lut(values: Floats, lut: Lut) -> Floats:
    """Convert modality values to 0..1 by a VOI LUT, scaled by its output range (C.11.2.1.1)."""
    return _outputs(_look_up(values, lut), lut)


def apply_presentation_lut(levels: Floats, lut: Lut) -> Floats:
    """Convert levels 0..1 to P-values 0..1 by a LUT (C.11.4); level 0 takes its first entry."""
    index = np.rint(np.nan_to_num(levels) * (lut.data.size - 1)).astype(np.intp)
    return _outputs(lut.data[index], lut)


def _look_up(values: Floats, lut: Lut) -> NDArray[np.uint16]:
    index = np.rint(np.clip(np.nan_to_num(values) - lut.first, 0, lut.data.size - 1))
    return lut.data[index.astype(np.intp)]


def _outputs(data: NDArray[np.uint16], lut: Lut) -> Floats:
    return np.clip(data / (2.0**lut.bits - 1.0), 0.0, 1.0)


def grey_levels(frame: Frame, stored: Floats, window: Window | None) -> Floats:
    """Convert stored values to levels 0..1 (1 is white): rescale, VOI, presentation, inversion.

    NaN, which maps of float values have outside the body, stays NaN.
    """
    return np.where(np.isnan(stored), np.nan, _levels(frame, stored, window))


def _levels(frame: Frame, stored: Floats, window: Window | None) -> Floats:
    levels = voi_levels(frame, modality_values(frame, stored), window)
    if frame.presentation_lut is not None:
        levels = apply_presentation_lut(levels, frame.presentation_lut)
    if frame.photometric == "MONOCHROME1" or frame.inverse:
        levels = 1.0 - levels
    return levels


def grey_table(
    frame: Frame, window: Window | None, invert: bool, first: int, count: int, step: float = 1.0
) -> Bytes:
    """Return greys 0..255 for the stored values `first + n * step`, with n from 0 to `count` - 1.

    Without a window, the first VOI LUT applies. `invert` exchanges black and white.
    """
    table = np.empty(count, np.uint8)
    # A narrow window maps most of 65,536 entries to black or white.
    start, stop = _varying_entries(frame, window, first, count, step)
    if start or stop < count:
        ends = np.array([first, first + (count - 1) * step], np.float64)
        table[:start], table[stop:] = to_bytes(_levels(frame, ends, window), invert)
    for part in range(start, stop, _PART):
        numbers = np.arange(part, min(part + _PART, stop), dtype=np.float64)
        numbers *= step
        numbers += first
        levels = _levels(frame, numbers, window)
        table[part : part + levels.size] = to_bytes(levels, invert)
    return table


def _varying_entries(
    frame: Frame, window: Window | None, first: int, count: int, step: float
) -> tuple[int, int]:
    """Return the range of entries that a linear window may map to something between its ends."""
    slope = frame.rescale.slope
    linear = window is not None and window.function is not VoiFunction.SIGMOID
    if window is None or not linear or 0 <= window.lut < len(frame.voi.luts):
        return 0, count
    if frame.modality_lut is not None or not slope:
        return 0, count
    reach = window.width / 2 + 1  # LINEAR shifts by a half; the rest is room for rounding
    ends = ((window.center + sign * reach - frame.rescale.intercept) / slope for sign in (-1, 1))
    low, high = (min(max((end - first) / step, -1.0), count + 1.0) for end in sorted(ends))
    return min(max(math.floor(low), 0), count), min(max(math.ceil(high) + 1, 0), count)


def unsigned_view(stored: Array) -> NDArray[np.unsignedinteger[Any]]:
    """Reinterpret the same bits as unsigned integers, for use as indices into a `stored_table`."""
    return stored.view(f"u{stored.dtype.itemsize}")


def look_up_table(table: NDArray[Any], stored: Array) -> NDArray[Any]:
    """Look up an image's stored values in a `stored_table`; return a new contiguous array."""
    values = unsigned_view(stored)
    found = np.empty(values.shape, table.dtype)
    if not values.size:
        return found
    rows = max(_STRIP // values.shape[1], 1)
    index = np.empty((rows, values.shape[1]), np.intp)
    for row in range(0, values.shape[0], rows):
        strip = values[row : row + rows]
        np.copyto(index[: len(strip)], strip)
        # "wrap" makes no buffered copy, and no value lies outside the table.
        np.take(table, index[: len(strip)], out=found[row : row + rows], mode="wrap")
    return found


def stored_table(
    frame: Frame,
    window: Window | None,
    invert: bool,
    extremes: tuple[int, int] | None = None,
) -> Bytes:
    """Return a table of greys for 8- or 16-bit stored integers, indexed by `unsigned_view`.

    Args:
        frame: The image.
        window: A valid window; None for the frame's first VOI LUT.
        invert: Whether black and white are exchanged.
        extremes: Lowest and highest stored value in the image, or None if unknown.

    Returns:
        uint8, one entry for each value of the type; undefined for values that do not occur.
    """
    stored = frame.stored
    if not stored.size:
        return np.empty(1, np.uint8)
    low, high = extremes or (int(stored.min()), int(stored.max()))
    greys = grey_table(frame, window, invert, low, high - low + 1)
    table = np.empty(2 ** (8 * stored.dtype.itemsize), np.uint8)
    below = min(max(-low, 0), greys.size)  # how many of them are of values below zero
    table[table.size + min(low, 0) :][:below] = greys[:below]
    table[max(low, 0) :][: greys.size - below] = greys[below:]
    return table


def to_bytes(levels: Floats, invert: bool) -> Bytes:
    """Convert levels 0..1, inverted if `invert`, to bytes 0..255; overwrites the input array."""
    if invert:
        np.subtract(1.0, levels, out=levels)
    levels[np.isnan(levels)] = 0.0  # black, whatever the polarity
    levels *= 255.0
    levels += 0.5
    return levels.astype(np.uint8)  # rounds down, as nothing is below 0


def palette_colours(frame: Frame, stored: Array) -> Bytes:
    """Convert stored values to [..., 3] RGB; values outside the palette get its end colours."""
    assert frame.palette is not None
    index = stored.astype(np.intp) - frame.palette_first
    return frame.palette[np.clip(index, 0, len(frame.palette) - 1)]


def is_coloured(frame: Frame, stored: Array) -> NDArray[np.bool_]:
    """Return a mask: True where a Supplemental Palette (C.7.6.19) colours the stored value."""
    return stored.astype(np.int64, copy=False) >= frame.palette_first


def has_value(frame: Frame, stored: Array) -> NDArray[np.bool_]:
    """Return a mask: True where the stored value is finite, and neither padding nor coloured."""
    keep = np.isfinite(stored)
    if frame.supplemental:
        keep &= ~is_coloured(frame, stored)
    if frame.padding is not None:
        first, last = frame.padding
        keep &= (stored < first) | (stored > last)
    return keep
