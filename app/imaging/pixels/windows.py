"""Windows (centre and width of greys): checks, the window an image opens with, and presets."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
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
MANUAL = "manual"
REGION = "region"
FITTED = "fitted"
PROTOCOL = "protocol"
"""`Window.explanation` of windows that are computed, set by hand, taken from a drawn region,
offered in place of a useless one, or named in a hanging protocol."""
_AUTO_PERCENTILES = (0.5, 99.5)
_AUTO_SAMPLES = 250_000
_REGION_PERCENTILES = (1.0, 99.0)
_USEFUL_PERCENTILES = (0.1, 99.9)
_USEFUL_SAMPLES = 65_536
_HISTOGRAM_SAMPLES = 1_000_000
_BINS = 512
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


def sample_frames(source: Series | Instance, channel: int = 0) -> list[tuple[Instance, int]]:
    """Return up to nine evenly spread (image, frame) pairs from which to compute a window.

    Of an image with several channels they are those of `channel`.
    """
    count, channels = len(source.instances) if isinstance(source, Series) else source.frames, 1
    if isinstance(source, Instance) and source.axes is not None:
        channels = len(source.axes.channels)
        count //= channels
    places = sorted({round(step * (count - 1) / (_SAMPLES - 1)) for step in range(_SAMPLES)})
    if isinstance(source, Instance):
        return [(source, place * channels + channel) for place in places]
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


def region_window(values: Array) -> Window | None:
    """Return the window that spans the values of a region; None if there are none.

    It reaches from the 1st to the 99th percentile, so that a few pixels of noise, or of a metal
    clip, do not widen it. A region of one value only gets a window of width 1 around it.
    """
    if not values.size:
        return None
    low, high = _range([values], _REGION_PERCENTILES)
    return replace(_window_between(low, high), explanation=REGION)


MISFIT_SHARE = 0.99
"""Share of a frame's pixels, padding and a constant border left out, that counts as nearly all."""

MISFIT_PART = 0.15
"""Part of a window's range in which nearly all pixels make it useless: 38 of 256 greys are left."""

FILM_SHARE = 0.9
FILM_PART = 0.5
"""The same for radiographs, which have no dark surroundings: a film of which 90% of the pixels lie
in less than half of the range is washed out. Of the films in our test data those with a sensible
window use 0.6 or more, the demo film 0.43."""

_FITTED_PERCENTILES = (2.5, 97.5)
"""Of a radiograph, between which its fitted window lies: a few percent are metal or direct beam."""

_MISFIT_LEAST = 1000
"""Pixels below which a frame says nothing about its window."""

_FILMS = frozenset({"CR", "DX", "IO", "PX", "RG", "XR"})
_SPARSE = frozenset({"CT", "PT", "NM"})
"""Modalities whose windows leave most of the pixels black or white by design: lungs, tracers."""


@dataclass(frozen=True, slots=True)
class Misfit:
    """A window of a file that is plainly useless.

    Attributes:
        share: Share of the pixels that are shown in few greys; or that lie outside the window.
        greys: In how many of 256 greys they are shown; 0 where they lie outside.
        better: A window that fits the pixels.
        window: The useless one.
    """

    share: float
    greys: int
    better: Window
    window: Window


def can_misfit(frame: Frame, modality: str) -> bool:
    """Return whether the first window of a frame's file is one that `window_misfit` may judge."""
    if frame.is_color or not frame.voi.windows or frame.voi.windows[0].explanation == AUTO:
        return False
    return modality not in _SPARSE and frame.rescale.units != "HU"


def window_misfit(frame: Frame, modality: str) -> Misfit | None:
    """Return why the first window of a frame's file is plainly useless; None if it is not.

    It is where nearly all pixels (`MISFIT_SHARE`) lie in less than `MISFIT_PART` of the window's
    range, so that the image is flat (for radiographs: `FILM_SHARE` in `FILM_PART`), or where nearly
    all lie outside, so that it is black and white only.
    """
    sample = grey_sample(frame)
    values = sample.values[sample.inner]
    if values.size < _MISFIT_LEAST:
        return None
    window = frame.voi.windows[0]
    low, high = grey_limits(window)
    if len(np.unique(values[:: max(1, values.size // _MISFIT_LEAST)])) < 3:
        return None  # one value, or a mask of two
    film = modality in _FILMS
    better = replace(
        _window_between(*_range([values], _FITTED_PERCENTILES)) if film else window_of([sample]),
        explanation=FITTED,
    )
    outside = np.count_nonzero((values < low) | (values > high))
    if outside >= MISFIT_SHARE * values.size:
        return Misfit(MISFIT_SHARE, 0, better, window)
    rules = [(MISFIT_SHARE, MISFIT_PART)]
    rules += [(FILM_SHARE, FILM_PART)] if film else []
    for share, part in rules:
        tail = (1 - share) / 2 * 100
        first, last = _range([values], (tail, 100 - tail))
        if first >= low and last <= high and first < last < first + part * (high - low):
            count = math.ceil((last - first) / (high - low) * 256)
            return Misfit(share, count, better, window)
    return None


@dataclass(frozen=True, slots=True, eq=False)
class Histogram:
    """The number of pixels in each of a row of equal ranges of values.

    Attributes:
        edges: Edges of the bins in modality units, float [bins + 1], evenly spaced.
        counts: Pixels in each bin, int [bins].
    """

    edges: Array
    counts: Array


def value_histogram(frame: Frame) -> Histogram | None:
    """Count the values of a grey frame, padding left out; None if there are none.

    Of large frames a million evenly spaced pixels are counted. Whole numbers get bins that hold
    equally many of them, so that no bin is empty for that reason.
    """
    step = max(1, math.ceil(math.sqrt(frame.stored.size / _HISTOGRAM_SAMPLES)))
    kept = _drop_padding(frame, frame.stored[::step, ::step].reshape(-1))
    values = modality_values(frame, kept)
    values = values[np.isfinite(values)]
    if not values.size:
        return None
    low, high = float(values.min()), float(values.max())
    slope = abs(frame.rescale.slope)
    if frame.stored.dtype.kind in "iu" and frame.modality_lut is None and slope:
        numbers = round((high - low) / slope) + 1
        each = math.ceil(numbers / _BINS)  # whole numbers in a bin
        bins = math.ceil(numbers / each)
        low -= slope / 2
        high = low + bins * each * slope
    else:
        bins = _BINS
        if low == high:
            low, high = low - 0.5, high + 0.5
    counts, edges = np.histogram(values, bins, (low, high))
    return Histogram(edges, counts)


def useful_range(frame: Frame) -> tuple[float, float]:
    """Return the range of modality values of nearly all (99.8%) pixels of a grey frame.

    Padding is left out, and single pixels far from all others hardly count; a sample is measured.
    """
    step = max(1, math.ceil(math.sqrt(frame.stored.size / _USEFUL_SAMPLES)))
    values = modality_values(frame, _drop_padding(frame, frame.stored[::step, ::step].reshape(-1)))
    return _range([values[np.isfinite(values)]], _USEFUL_PERCENTILES)


def grey_limits(window: Window) -> tuple[float, float]:
    """Return the highest value that is black and the lowest that is white (PS3.3 C.11.2.1.2).

    In an image that is shown inverted (MONOCHROME1) black and white change places. For SIGMOID,
    which has no such values, return centre minus and plus half the width.
    """
    if window.function is VoiFunction.LINEAR:
        middle, half = window.center - 0.5, (window.width - 1) / 2
    else:
        middle, half = window.center, window.width / 2
    return middle - half, middle + half


def window_between(low: float, high: float, function: VoiFunction = VoiFunction.LINEAR) -> Window:
    """Return the window whose `grey_limits` are `low` and `high`, set by hand.

    LINEAR has a width of 1 at least; for the others, `high` must be above `low`.
    """
    if function is VoiFunction.LINEAR:
        return Window((low + high + 1) / 2, max(high - low, 0.0) + 1, function, MANUAL)
    return Window((low + high) / 2, high - low, function, MANUAL)


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
