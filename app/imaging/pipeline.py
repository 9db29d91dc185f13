"""From stored values to what is shown: modality, VOI, presentation, palette (PS3.3 C.11).

Pure numpy on `Frame`; nothing here reads a file. The window is applied to full-precision values,
and only the result is reduced to 8 bits.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.imaging.types import Frame, Lut, VoiFunction, Window

Array = NDArray[Any]
Floats = NDArray[np.float64]
Bytes = NDArray[np.uint8]

ABSURD = 1e9
"""Window centres and widths beyond this are damaged, not meant."""

AUTO = "auto"
_AUTO_PERCENTILES = (0.5, 99.5)
_AUTO_SAMPLES = 250_000
_BORDER_SHARE = 0.5
"""Share of the edge's pixels that must be equal for them to count as a border without image."""
_DARK = 8
"""An 8-bit image that uses less than 1/8 of its range is stretched, not shown nearly black."""
_NARROW = 16

_CT_PRESETS = (
    ("Lung", -600, 1500),
    ("Bone", 480, 2500),
    ("Brain", 40, 80),
    ("Abdomen", 50, 400),
    ("Mediastinum", 40, 400),
    ("Liver", 60, 160),
    ("Stroke", 35, 35),
    ("Angiography", 300, 600),
)


def valid_window(window: Window) -> Window | None:
    """The window if it can be applied, else None: damaged, or a width that is not above 0.

    LINEAR needs a width of at least 1 (C.11.2.1.2.1), but files with fractional values (PET, maps)
    use less; such a window is meant as LINEAR_EXACT.
    """
    center, width = window.center, window.width
    if not (math.isfinite(center) and math.isfinite(width)):
        return None
    if width <= 0 or width > ABSURD or abs(center) > ABSURD:
        return None
    if window.function is VoiFunction.LINEAR and width < 1:
        return Window(center, width, VoiFunction.LINEAR_EXACT, window.explanation)
    return window


def default_window(frame: Frame) -> Window | None:
    """The window an image opens with: the file's first, else an automatic one.

    None for colour, and where the file gives a VOI LUT but no window: `render` then applies it.
    """
    if frame.is_color:
        return None
    if frame.voi.windows:
        return frame.voi.windows[0]
    return None if frame.voi.luts else auto_window(frame)


def auto_window(frame: Frame) -> Window:
    """A window from the pixels: all but the darkest and brightest 0.5%.

    Padding and a constant border (collimation, the ground around a scan) do not count. 8-bit
    images are shown as they are, unless they use a small part of their range.
    """
    step = max(1, math.ceil(math.sqrt(frame.stored.size / _AUTO_SAMPLES)))
    sample = frame.stored[::step, ::step].reshape(-1)
    kept = _without_padding(frame, sample)
    inner = _without_border(frame, kept)
    low, high = _range(frame, inner)
    if low == high:
        low, high = _range(frame, kept, percentiles=(0, 100))
    plain = frame.modality_lut is None and frame.rescale.slope == 1 and not frame.rescale.intercept
    if frame.stored.dtype == np.uint8 and plain:
        full = 2**frame.bits - 1
        if low == high or high - low > full / _DARK:
            low, high = 0.0, float(full)
    if low == high and frame.stored.dtype.kind in "iu":
        low, high = _stored_range(frame)
    return _window_between(low, high)


def _without_padding(frame: Frame, sample: Array) -> Array:
    keep = np.isfinite(sample)
    if frame.padding is not None:
        first, last = frame.padding
        keep &= (sample < first) | (sample > last)
    return sample[keep] if keep.any() else sample


def _without_border(frame: Frame, sample: Array) -> Array:
    """The sample without the value that most of the image's edge has, if it is an extreme one."""
    s = frame.stored
    edge = np.concatenate((s[0], s[-1], s[:, 0], s[:, -1]))
    values, counts = np.unique(edge, return_counts=True)
    border = values[counts.argmax()]
    if counts.max() < _BORDER_SHARE * edge.size or border not in (sample.min(), sample.max()):
        return sample
    inner = sample[sample != border]
    return inner if inner.size >= max(16, sample.size // 100) else sample


def _range(
    frame: Frame, sample: Array, percentiles: tuple[float, float] = _AUTO_PERCENTILES
) -> tuple[float, float]:
    values = modality_values(frame, sample)
    finite = values[np.isfinite(values)]
    if not finite.size:
        return 0.0, 0.0
    low, high = np.percentile(finite, percentiles)
    return float(low), float(high)


def _stored_range(frame: Frame) -> tuple[float, float]:
    """What a constant image is measured against: all values that its bits could hold."""
    signed = frame.stored.dtype.kind == "i"
    low = -(2 ** (frame.bits - 1)) if signed else 0
    ends = modality_values(frame, np.array([low, low + 2**frame.bits - 1], np.float64))
    return float(ends.min()), float(ends.max())


def _window_between(low: float, high: float) -> Window:
    """The window that maps `low` to black and `high` to white."""
    if not high > low:
        return Window(low, 1.0, VoiFunction.LINEAR_EXACT, AUTO)
    if high - low < _NARROW and not (low.is_integer() and high.is_integer()):
        return Window((low + high) / 2, high - low, VoiFunction.LINEAR_EXACT, AUTO)
    return Window((low + high + 1) / 2, high - low + 1, VoiFunction.LINEAR, AUTO)


def render(frame: Frame, window: Window | None = None, invert: bool = False) -> Bytes:
    """What the canvas shows, at the image's own matrix size.

    Args:
        frame: The image.
        window: VOI window in modality units; None for the image's default. Ignored for colour.
        invert: Exchange black and white (on top of what the file asks for).

    Returns:
        uint8 [rows, columns], or [rows, columns, 3] RGB for colour. 255 is white.

    Raises:
        ValueError: The window cannot be applied (its width is not above 0, or not finite).
    """
    if frame.is_color:
        colour = _colour(frame)
        return 255 - colour if invert else colour
    chosen = window if window is not None else default_window(frame)
    if chosen is not None:
        chosen = valid_window(chosen)
        if chosen is None:
            raise ValueError("a window's width must be above 0, and its values finite")
    inverted = invert != (frame.photometric == "MONOCHROME1" or frame.inverse)
    stored = frame.stored
    if stored.dtype.kind in "iu" and stored.dtype.itemsize <= 2:
        unsigned = stored.view(f"u{stored.dtype.itemsize}")
        return np.take(_table(frame, chosen, inverted), unsigned)
    pixels = np.empty(stored.shape, np.uint8)
    for row in range(0, frame.rows, 64):
        # In strips, since float64 needs eight times the memory of the result.
        levels = _levels(frame, stored[row : row + 64].astype(np.float64), chosen)
        pixels[row : row + 64] = _to_bytes(levels, inverted)
    return pixels


def _table(frame: Frame, window: Window | None, inverted: bool) -> Bytes:
    """Grey level of every stored value, indexed by its bits as an unsigned number."""
    bits = 8 * frame.stored.dtype.itemsize
    values = np.arange(2**bits, dtype=np.float64)
    if frame.stored.dtype.kind == "i":
        values[2 ** (bits - 1) :] -= 2**bits
    return _to_bytes(_levels(frame, values, window), inverted)


def _levels(frame: Frame, stored: Floats, window: Window | None) -> Floats:
    """Stored values -> 0..1 after modality and VOI."""
    values = modality_values(frame, stored)
    if window is None:
        return _apply_voi_lut(values, frame.voi.luts[0])
    return apply_window(values, window)


def _to_bytes(levels: Floats, inverted: bool) -> Bytes:
    # NaN (float maps have it outside the body) is shown black.
    levels = np.nan_to_num(levels, nan=1.0 if inverted else 0.0)
    if inverted:
        levels = 1.0 - levels
    return np.floor(levels * 255.0 + 0.5).astype(np.uint8)


def modality_values(frame: Frame, stored: Array) -> Floats:
    """Stored values in modality units, e.g. HU (C.11.1): the LUT if there is one, else rescale."""
    values = stored.astype(np.float64)
    if frame.modality_lut is not None:
        lut = frame.modality_lut
        index = np.clip(values - lut.first, 0, lut.data.size - 1).astype(np.intp)
        return lut.data[index].astype(np.float64)
    return values * frame.rescale.slope + frame.rescale.intercept


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


def _apply_voi_lut(values: Floats, lut: Lut) -> Floats:
    """Modality values -> 0..1 by the LUT's own output range (C.11.2.1.1)."""
    index = np.clip(np.nan_to_num(values) - lut.first, 0, lut.data.size - 1).astype(np.intp)
    return np.clip(lut.data[index] / (2.0**lut.bits - 1.0), 0.0, 1.0)


def _colour(frame: Frame) -> Bytes:
    if frame.palette is not None:
        index = frame.stored.astype(np.intp) - frame.palette_first
        return frame.palette[np.clip(index, 0, len(frame.palette) - 1)]
    stored = frame.stored
    if stored.dtype == np.uint8 and frame.bits >= 8:
        return stored.view(np.uint8)
    full = 2.0**frame.bits - 1.0
    return np.floor(np.clip(stored.astype(np.float64) / full, 0.0, 1.0) * 255.0 + 0.5).astype(
        np.uint8
    )


@dataclass(frozen=True, slots=True)
class Grey:
    """What lies under a point.

    Attributes:
        stored: The stored value, or three for RGB.
        value: In modality units; None for colour.
        units: Of `value`, e.g. "HU"; "" when unknown.
        text: For display, e.g. "-873 HU".
    """

    stored: tuple[float, ...]
    value: float | None
    units: str
    text: str


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
    if frame.palette is not None:
        index = min(max(int(stored[0]) - frame.palette_first, 0), len(frame.palette) - 1)
        pixel = frame.palette[index]
    if frame.is_color:
        return Grey(stored, None, "", " ".join(str(part) for part in pixel))
    value = float(modality_values(frame, pixel)[0])
    shown = f"{value:.0f}" if value.is_integer() else f"{value:.4g}"
    return Grey(stored, value, frame.rescale.units, f"{shown} {frame.rescale.units}".strip())


def presets(modality: str) -> tuple[Window, ...]:
    """Common windows of a modality, in its own units; only CT has units that make them possible."""
    if modality.upper() != "CT":
        return ()
    return tuple(Window(center, width, explanation=name) for name, center, width in _CT_PRESETS)


def frame_presets(frame: Frame, modality: str) -> tuple[Window, ...]:
    """What the preset menu offers: the file's windows, the automatic one, the modality's."""
    if frame.is_color:
        return ()
    named: list[Window] = []
    for number, window in enumerate(frame.voi.windows, start=1):
        name = window.explanation or ("File" if number == 1 else f"File {number}")
        named.append(Window(window.center, window.width, window.function, name))
    units = frame.rescale.units in ("HU", "")
    return (*named, auto_window(frame), *(presets(modality) if units else ()))
