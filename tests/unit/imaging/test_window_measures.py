"""Windows against values: limits, regions, histograms, and parts of a picture."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from app.imaging.pixels import greys, pipeline, windows
from app.imaging.types import Frame, ImageRef, Rescale, Shutter, VoiFunction, Window


def frame(stored: NDArray[Any], **fields: Any) -> Frame:
    """A grey frame of these stored values."""
    return Frame(stored, ImageRef("1.1", 0, "sha"), **fields)


@pytest.mark.parametrize("function", [VoiFunction.LINEAR, VoiFunction.LINEAR_EXACT])
@pytest.mark.parametrize("limits", [(0.0, 999.0), (-1024.0, 3071.0), (10.5, 11.75)])
def test_limits_are_the_last_black_and_the_first_white_value(
    function: VoiFunction, limits: tuple[float, float]
):
    """By the formulas of PS3.3 C.11.2.1.2.1 and C.11.2.1.3.2."""
    low, high = limits
    window = windows.window_between(low, high, function)
    assert windows.grey_limits(window) == pytest.approx(limits)
    step = (high - low) / 100
    values = np.array([low - step, low, low + step, high - step, high, high + step])
    levels = greys.apply_window(values, window)
    assert levels[:2] == pytest.approx([0, 0])
    assert levels[2] == pytest.approx(0.01)
    assert levels[3] == pytest.approx(0.99)
    assert levels[4:] == pytest.approx([1, 1])


def test_limits_that_meet_are_a_threshold():
    window = windows.window_between(100, 100)
    assert window.width == 1
    np.testing.assert_array_equal(greys.apply_window(np.array([99.0, 100, 101]), window), [0, 0, 1])


@pytest.mark.parametrize("rescale", [Rescale(), Rescale(2.0, -1000.0), Rescale(-0.5, 3.0)])
@pytest.mark.parametrize("spread", [40, 5000])
def test_a_histogram_counts_each_whole_number_in_its_bin(rescale: Rescale, spread: int):
    stored = np.random.default_rng(3).integers(0, spread, (300, 400)).astype(np.int16)
    stored[0, :100] = -7  # padding
    found = windows.value_histogram(frame(stored, rescale=rescale, padding=(-7, -7)))
    assert found is not None
    values = stored[stored >= 0] * rescale.slope + rescale.intercept
    assert found.counts.sum() == values.size
    places = np.searchsorted(found.edges, values) - 1
    np.testing.assert_array_equal(found.counts, np.bincount(places, minlength=found.counts.size))
    numbers = np.diff(found.edges) / abs(rescale.slope)
    assert numbers == pytest.approx(round(numbers[0]))  # equally many whole numbers in each


def test_a_histogram_of_one_value_of_fractions_and_of_nothing():
    same = windows.value_histogram(frame(np.full((5, 5), 3, np.uint8)))
    assert same is not None
    assert same.counts.tolist() == [25]
    fractions = np.linspace(0, 1, 10_000, dtype=np.float32).reshape(100, 100)
    fractions[0, 0] = np.nan
    found = windows.value_histogram(frame(fractions))
    assert found is not None
    assert found.counts.sum() == 9_999
    assert windows.value_histogram(frame(np.full((5, 5), np.nan, np.float32))) is None


@pytest.mark.parametrize("shutter", [None, Shutter(circle=(30.0, 20.0, 15.0), level=0.3)])
def test_a_part_of_a_picture_is_what_the_whole_has_there(shutter: Shutter | None):
    stored = np.random.default_rng(3).integers(0, 4096, (60, 80)).astype(np.uint16)
    rows, columns = range(10, 40), range(20, 61)
    for one in (stored, stored.astype(np.float32), np.dstack([stored // 16] * 3).astype(np.uint8)):
        color = {"photometric": "RGB"} if one.ndim == 3 else {}
        made = frame(one, shutter=shutter, bits=8 if one.ndim == 3 else 12, **color)
        for window in (None, Window(2000, 900)):
            whole = pipeline.render(made, window, invert=True)
            part = pipeline.render_part(made, rows, columns, window, invert=True)
            np.testing.assert_array_equal(part, whole[10:40, 20:61])


def test_values_of_every_nth_pixel_are_left_out_behind_a_shutter():
    stored = np.arange(4800, dtype=np.uint16).reshape(60, 80)
    made = frame(stored, shutter=Shutter(rectangle=(10, 49, 5, 44)))
    got = pipeline.values_in(made, range(2, 60), range(4, 80), step=3)
    rows, columns = np.mgrid[2:60:3, 4:80:3]
    seen = (columns >= 10) & (columns <= 49) & (rows >= 5) & (rows <= 44)
    np.testing.assert_array_equal(np.sort(got), np.sort(stored[2:60:3, 4:80:3][seen]))


def test_the_useful_range_leaves_out_padding_and_single_hot_pixels():
    stored = np.random.default_rng(3).integers(100, 1100, (300, 300)).astype(np.int32)
    stored[5, 5] = 10**6
    stored[:20] = -2000
    low, high = windows.useful_range(frame(stored, padding=(-2000, -2000)))
    assert 100 <= low < 110
    assert 1090 < high < 1100
