"""Windows: validity, the window an image opens with, and presets."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.imaging.pixels.greys import has_value, modality_values
from app.imaging.types import Frame, Lut, VoiFunction, Window

Array = NDArray[Any]

ABSURD = 1e11
"""Window centres and widths beyond this are damaged."""
_FARTHEST = ABSURD / 2.5
"""Values beyond this do not widen an automatic window."""

AUTO = "auto"
_AUTO_PERCENTILES = (0.5, 99.5)
_AUTO_SAMPLES = 250_000
_BORDER_SHARE = 0.5
"""Share of the edge's pixels that must be equal to count as a border without image."""
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
    """Return `window`, corrected if needed; None if a value is absurd or the width is not above 0.

    LINEAR requires a width of at least 1 (C.11.2.1.2.1), but files with fractional values (PET,
    maps) use smaller widths; such a window is treated as LINEAR_EXACT.
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
    """Return the window an image opens with: the file's first window, else an automatic one.

    None for a colour image, or if there is a VOI LUT but no window (`render` applies the LUT).
    """
    if frame.is_color:
        return None
    if frame.voi.windows:
        return frame.voi.windows[0]
    return None if frame.voi.luts else auto_window(frame)


def auto_window(frame: Frame) -> Window:
    """Return a window that spans the pixel values, leaving out the darkest and brightest 0.5%.

    Padding and a constant border (collimation, the background of a scan) are ignored. 8-bit images
    get their full range, unless they use only a small part of it.
    """
    # A quarter of a million pixels give nearly the same percentiles in a few milliseconds.
    step = max(1, math.ceil(math.sqrt(frame.stored.size / _AUTO_SAMPLES)))
    sample = frame.stored[::step, ::step].reshape(-1)
    kept = _drop_padding(frame, sample)
    inner = _drop_border(frame, kept)
    low, high = _range(frame, inner)
    # A nearly constant image: percentiles may hide its only different pixels.
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


def _drop_padding(frame: Frame, sample: Array) -> Array:
    keep = has_value(frame, sample)
    return sample[keep] if keep.any() else sample


def _drop_border(frame: Frame, sample: Array) -> Array:
    """Return the sample without the value of most of the image's edge, if it is an extreme one."""
    s = frame.stored
    edge = np.concatenate((s[0], s[-1], s[:, 0], s[:, -1]))
    values, counts = np.unique(edge, return_counts=True)
    border = values[counts.argmax()]
    # A value in the middle of the range is tissue, not a border.
    if counts.max() < _BORDER_SHARE * edge.size or border not in (sample.min(), sample.max()):
        return sample
    inner = sample[sample != border]
    # Too few pixels say nothing about the image.
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
    """Return the modality values of the lowest and highest stored value that the bits can hold."""
    signed = frame.stored.dtype.kind == "i"
    low = -(2 ** (frame.bits - 1)) if signed else 0
    ends = modality_values(frame, np.array([low, low + 2**frame.bits - 1], np.float64))
    return float(ends.min()), float(ends.max())


def _window_between(low: float, high: float) -> Window:
    """Return the window that maps `low` to black and `high` to white."""
    low, high = (min(max(end, -_FARTHEST), _FARTHEST) for end in (low, high))
    if not high > low:
        return Window(low, 1.0, VoiFunction.LINEAR_EXACT, AUTO)
    if high - low < _NARROW and not (low.is_integer() and high.is_integer()):
        return Window((low + high) / 2, high - low, VoiFunction.LINEAR_EXACT, AUTO)
    return Window((low + high + 1) / 2, high - low + 1, VoiFunction.LINEAR, AUTO)


def presets(modality: str) -> tuple[Window, ...]:
    """Return the usual windows for CT; empty for other modalities, whose units are not fixed."""
    if modality.upper() != "CT":
        return ()
    return tuple(Window(center, width, explanation=name) for name, center, width in _CT_PRESETS)


def frame_presets(frame: Frame, modality: str) -> tuple[Window, ...]:
    """Return the windows for the preset menu: the file's, an automatic one, the modality's."""
    if frame.is_color:
        return ()
    named: list[Window] = []
    for number, window in enumerate(frame.voi.windows, start=1):
        name = window.explanation or ("File" if number == 1 else f"File {number}")
        named.append(Window(window.center, window.width, window.function, name))
    named += [lut_window(lut, number) for number, lut in enumerate(frame.voi.luts)]
    # CT presets are in HU and useless in other units.
    units = frame.rescale.units in ("HU", "")
    return (*named, auto_window(frame), *(presets(modality) if units else ()))


def lut_window(lut: Lut, number: int) -> Window:
    """Return the window that stands for `lut`, the VOI LUT at index `number` of a frame."""
    name = lut.explanation or ("VOI LUT" if number == 0 else f"VOI LUT {number + 1}")
    entries = lut.data.size
    return Window(lut.first + entries / 2, max(entries, 1), explanation=name, lut=number)
