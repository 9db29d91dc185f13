"""Windows (centre and width of greys): checks, the window an image opens with, and presets."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.imaging.pixels.greys import has_value, modality_values
from app.imaging.types import Frame, Instance, Lut, Series, VoiFunction, Window
from app.paths import shipped_table

Array = NDArray[Any]

ABSURD = 1e11
"""Window centres and widths beyond this are damaged."""
_FARTHEST = ABSURD / 2.5
"""Values beyond this do not widen an automatic window."""

AUTO = "auto"
_AUTO_PERCENTILES = (0.5, 99.5)
_AUTO_SAMPLES = 250_000
_SAMPLES = 9
_OWN_SCALE = frozenset({"CR", "DX", "IO", "MG", "PX", "RG", "XR"})
"""Modalities whose images may be exposures of their own even if they are in one series."""
_BORDER_SHARE = 0.5
"""Share of the edge's pixels that must be equal to count as a border without image."""
_DARK = 8
"""An 8-bit image that uses less than 1/8 of its range is stretched, not shown nearly black."""
_NARROW = 16

CT_WINDOW = Window(40, 400, explanation="usual for CT; none in the file")

_CT_PRESETS: dict[str, list[float]] = shipped_table("dicom", "ct_presets")


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
    """Return the window an image opens with: the file's first, else 40/400 for HU, else automatic.

    None for a colour image, or if there is a VOI LUT but no window (`render` applies the LUT).
    """
    if frame.is_color:
        return None
    if frame.voi.windows:
        return frame.voi.windows[0]
    if frame.voi.luts:
        return None
    return auto_window(frame) if has_automatic_window(frame) else CT_WINDOW


def has_automatic_window(frame: Frame) -> bool:
    """Return whether the window that an image opens with is computed from its pixels."""
    of_file = frame.voi.windows or frame.voi.luts
    return not (frame.is_color or of_file or frame.rescale.units == "HU")


@dataclass(frozen=True, slots=True, eq=False)
class GreySample:
    """Pixels of one frame, in modality units, from which `window_of` computes an automatic window.

    Attributes:
        values: The values, without padding.
        inner: Mask of `values`: True for pixels that do not belong to a constant border.
        limits: Modality values of the lowest and highest stored value that the image's bits allow.
        plain: Whether the stored values are 8-bit greys without rescale.
        whole: Whether the stored values are integers.
    """

    values: Array
    inner: Array
    limits: tuple[float, float]
    plain: bool
    whole: bool


def grey_sample(frame: Frame) -> GreySample:
    """Return evenly spaced pixels of a grey frame, from which its automatic window is computed."""
    # A quarter of a million pixels give nearly the same percentiles in a few milliseconds.
    step = max(1, math.ceil(math.sqrt(frame.stored.size / _AUTO_SAMPLES)))
    kept = _drop_padding(frame, frame.stored[::step, ::step].reshape(-1))
    values = modality_values(frame, kept)
    finite = np.isfinite(values)
    plain = frame.modality_lut is None and frame.rescale.slope == 1 and not frame.rescale.intercept
    return GreySample(
        values[finite],
        _is_inner(frame, kept)[finite],
        _stored_range(frame),
        plain and frame.stored.dtype == np.uint8,
        frame.stored.dtype.kind in "iu",
    )


def has_own_scale(instance: Instance) -> bool:
    """Return whether an image's default window is to be computed from its own pixels alone.

    True for pictures, radiographs, and images of several frames; False for slices of a series.
    """
    alone = instance.kind == "picture" or instance.get("Modality") in _OWN_SCALE
    return alone or instance.frames > 1


def sample_frames(source: Series | Instance) -> list[tuple[Instance, int]]:
    """Return up to nine evenly spread (image, frame) pairs from which to compute a window."""
    count = source.frames if isinstance(source, Instance) else len(source.instances)
    places = sorted({round(step * (count - 1) / (_SAMPLES - 1)) for step in range(_SAMPLES)})
    if isinstance(source, Instance):
        return [(source, place) for place in places]
    return [(one := source.instances[place], one.frames // 2) for place in places]


def auto_window(frame: Frame) -> Window:
    """Return the window that `window_of` computes from the pixels of this frame alone."""
    return window_of([grey_sample(frame)])


def window_of(samples: Sequence[GreySample]) -> Window:
    """Return one window for all frames of a series, from samples of some of them.

    It spans the pixel values, leaving out the darkest and brightest 0.5%. Padding and a constant
    border (collimation, the background of a scan) are ignored. 8-bit images get their full range,
    unless they use only a small part of it.
    """
    low, high = _range([one.values[one.inner] for one in samples], _AUTO_PERCENTILES)
    # A nearly constant image: percentiles may hide its only different pixels.
    if low == high:
        low, high = _range([one.values for one in samples], (0, 100))
    full = min(one.limits[0] for one in samples), max(one.limits[1] for one in samples)
    if all(one.plain for one in samples) and (low == high or high - low > full[1] / _DARK):
        low, high = full
    if low == high and all(one.whole for one in samples):
        low, high = full
    return _window_between(low, high)


def _drop_padding(frame: Frame, sample: Array) -> Array:
    keep = has_value(frame, sample)
    return sample[keep] if keep.any() else sample


def _is_inner(frame: Frame, sample: Array) -> Array:
    """Return which pixels differ from the value of most of the edge, if that is an extreme one."""
    s = frame.stored
    edge = np.concatenate((s[0], s[-1], s[:, 0], s[:, -1]))
    values, counts = np.unique(edge, return_counts=True)
    border = values[counts.argmax()]
    inner = sample != border
    # A value in the middle of the range is tissue, not a border; too few pixels say nothing.
    few = np.count_nonzero(inner) < max(16, sample.size // 100)
    common = counts.max() >= _BORDER_SHARE * edge.size
    if common and border in (sample.min(), sample.max()) and not few:
        return inner
    return np.ones(sample.shape, bool)


def _range(values: Sequence[Array], percentiles: tuple[float, float]) -> tuple[float, float]:
    every = np.concatenate(values)
    if not every.size:
        return 0.0, 0.0
    low, high = np.percentile(every, percentiles)
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
    """Return the usual CT windows if `modality` is CT; else (), since units are not fixed there."""
    if modality.upper() != "CT":
        return ()
    return tuple(Window(at, width, explanation=name) for name, (at, width) in _CT_PRESETS.items())


def frame_presets(
    frame: Frame, modality: str, own: Sequence[Window] | None = None
) -> tuple[Window, ...]:
    """Return the windows for the preset menu; () for a colour image.

    They are the file's windows and VOI LUTs, the automatic window, and the modality's `presets`
    unless the values are known not to be in HU. The user's `own` presets for the modality replace
    the latter and come first, so that each has the same key whatever is in the file.
    """
    if frame.is_color:
        return ()
    named: list[Window] = []
    for number, window in enumerate(frame.voi.windows, start=1):
        name = window.explanation or ("File" if number == 1 else f"File {number}")
        named.append(Window(window.center, window.width, window.function, name))
    named += [lut_window(lut, number) for number, lut in enumerate(frame.voi.luts)]
    if not any(window.explanation == AUTO for window in named):  # that of the series
        named.append(auto_window(frame))
    # CT presets are in HU and useless in other units.
    fit = modality.upper() != "CT" or frame.rescale.units in ("HU", "")
    if own is not None:
        return (*(own if fit else ()), *named)
    return (*named, *(presets(modality) if fit else ()))


def lut_window(lut: Lut, number: int) -> Window:
    """Return a window that selects VOI LUT `number` (from 0) and spans the values it maps."""
    name = lut.explanation or ("VOI LUT" if number == 0 else f"VOI LUT {number + 1}")
    entries = lut.data.size
    return Window(lut.first + entries / 2, max(entries, 1), explanation=name, lut=number)
