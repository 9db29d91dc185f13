"""From stored values to grey: windows, inversion, automatic windows, colour, read-out."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from app.imaging.pixels.pipeline import grey_at, render
from app.imaging.pixels.windows import (
    auto_window,
    default_window,
    frame_presets,
    lut_window,
    presets,
    valid_window,
)
from app.imaging.types import Frame, ImageRef, Lut, Rescale, Voi, VoiFunction, Window
from tests.unit.imaging import oracle

REF = ImageRef("1.2", 0, "00")
FORMULAS = {
    VoiFunction.LINEAR: oracle.linear,
    VoiFunction.LINEAR_EXACT: oracle.linear_exact,
    VoiFunction.SIGMOID: oracle.sigmoid,
}


def frame_of(stored: NDArray[Any], **fields: Any) -> Frame:
    fields.setdefault("bits", 8 * stored.dtype.itemsize)
    return Frame(stored=stored, ref=REF, **fields)


@settings(deadline=None, max_examples=200)
@given(
    dtype=st.sampled_from(["u1", "i1", "u2", "i2"]),
    center=st.floats(-40_000, 70_000),
    width=st.floats(1, 70_000),
    slope=st.floats(-5, 5).filter(lambda value: abs(value) > 1e-3),
    intercept=st.floats(-2000, 2000),
    function=st.sampled_from(VoiFunction),
    photometric=st.sampled_from(["MONOCHROME1", "MONOCHROME2"]),
    invert=st.booleans(),
)
def test_the_lookup_table_equals_the_formula_for_every_stored_value(
    dtype: str,
    center: float,
    width: float,
    slope: float,
    intercept: float,
    function: VoiFunction,
    photometric: str,
    invert: bool,
):
    limits = np.iinfo(dtype)
    values = np.arange(limits.min, limits.max + 1).astype(dtype)
    frame = frame_of(
        values.reshape(16, -1), rescale=Rescale(slope, intercept), photometric=photometric
    )
    with np.errstate(all="ignore"):
        level = FORMULAS[function](values * slope + intercept, center, width)
    inverse = invert != (photometric == "MONOCHROME1")
    expected = (1 - level if inverse else level) * 255
    shown = render(frame, Window(center, width, function), invert).reshape(-1)
    assert np.abs(shown - expected).max() <= 0.5 + 1e-6


@pytest.mark.parametrize("dtype", ["u4", "i4", "f4", "f8"])
def test_wide_and_floating_values_are_windowed_without_a_table(dtype: str):
    values = np.linspace(0, 60_000, 200 * 3).astype(dtype).reshape(200, 3)
    shown = render(frame_of(values), Window(30_000, 40_000))
    expected = oracle.linear(values.astype(float), 30_000, 40_000) * 255
    assert np.abs(shown - expected).max() <= 0.51


def test_a_narrow_window_keeps_the_full_precision_of_the_stored_values():
    stored = np.arange(20_000, 20_256, dtype=np.uint16).reshape(16, 16)
    assert len(np.unique(render(frame_of(stored), Window(20_128, 256)))) == 256


def test_monochrome1_shows_high_values_dark_and_invert_turns_it_round():
    stored = np.array([[0, 255]], np.uint8)
    frame = frame_of(stored, photometric="MONOCHROME1")
    assert render(frame, Window(128, 256)).tolist() == [[255, 0]]
    assert render(frame, Window(128, 256), invert=True).tolist() == [[0, 255]]


def test_presentation_lut_shape_inverse_says_the_same_as_monochrome1_not_its_opposite():
    stored = np.array([[0, 255]], np.uint8)
    frame = frame_of(stored, photometric="MONOCHROME1", inverse=True)
    assert render(frame, Window(128, 256)).tolist() == [[255, 0]]
    frame = frame_of(stored, photometric="MONOCHROME2", inverse=True)
    assert render(frame, Window(128, 256)).tolist() == [[255, 0]]


def test_the_first_of_several_windows_is_the_default():
    first, second = Window(40, 400), Window(300, 1500)
    frame = frame_of(np.zeros((2, 2), np.int16), voi=Voi((first, second)))
    assert default_window(frame) == first


def test_a_voi_lut_is_applied_where_there_is_no_window():
    lut = Lut(10, 12, np.array([0, 2048, 4095], np.uint16))
    frame = frame_of(np.array([[0, 10, 11, 12, 99]], np.uint8), voi=Voi((), (lut,)))
    assert default_window(frame) is None
    assert render(frame).tolist() == [[0, 0, 128, 255, 255]]


def test_the_window_that_stands_for_a_voi_lut_covers_its_entries_and_no_others():
    """Dragging begins there. C.11.2.1.2: black up to c - 0.5 - (w - 1) / 2, white (w - 1) later."""
    window = lut_window(Lut(500, 12, np.arange(101, dtype=np.uint16), "curve"), 1)
    assert (window.explanation, window.lut) == ("curve", 1)
    black = window.center - 0.5 - (window.width - 1) / 2
    assert (black, black + window.width - 1) == (500, 600)


def test_a_modality_lut_comes_before_the_window():
    lut = Lut(-1, 16, np.array([1000, 2000, 3000], np.uint16))
    frame = frame_of(np.array([[-5, -1, 0, 1, 9]], np.int16), modality_lut=lut)
    shown = render(frame, Window(2000.5, 2001))
    assert shown.tolist() == [[0, 0, 128, 255, 255]]
    grey = grey_at(frame, 2, 0)
    assert grey is not None
    assert grey.value == 2000


@pytest.mark.parametrize("width", [0, -5, math.nan, math.inf, 1e12])
def test_an_impossible_window_is_refused(width: float):
    assert valid_window(Window(40, width)) is None
    with pytest.raises(ValueError, match="width"):
        render(frame_of(np.zeros((2, 2), np.uint8)), Window(40, width))


def test_a_fractional_linear_width_is_taken_as_linear_exact():
    window = valid_window(Window(0.5, 0.25))
    assert window == Window(0.5, 0.25, VoiFunction.LINEAR_EXACT)


@pytest.mark.parametrize("value", [0, 1, 500, 65535])
@pytest.mark.parametrize("dtype", [np.uint16, np.float32])
def test_a_constant_image_is_shown_and_divides_by_nothing(value: int, dtype: type):
    stored = np.full((8, 8), value, dtype)
    with np.errstate(all="raise"):
        assert len(np.unique(render(frame_of(stored)))) == 1


def test_an_8_bit_image_without_a_window_is_shown_as_it_is():
    stored = np.random.default_rng(0).integers(0, 256, (40, 40), np.uint8)
    np.testing.assert_array_equal(render(frame_of(stored)), stored)


def test_an_8_bit_image_that_uses_a_small_part_of_its_range_is_stretched():
    stored = np.tile(np.arange(8, dtype=np.uint8), (8, 1))
    assert render(frame_of(stored)).max() == 255


def test_a_one_bit_image_is_black_and_white():
    stored = np.zeros((32, 32), np.uint8)
    stored[10:20, 10:20] = 1
    shown = render(frame_of(stored, bits=1))
    assert set(np.unique(shown)) == {0, 255}


def scan_with_ground() -> NDArray[np.int16]:
    rng = np.random.default_rng(1)
    stored = np.full((200, 200), -2000, np.int16)
    stored[40:160, 40:160] = rng.normal(1000, 50, (120, 120))
    return stored


def test_padding_does_not_count_in_the_automatic_window():
    stored = scan_with_ground()
    stored[0] = 0  # so that the border is not constant
    window = auto_window(frame_of(stored, padding=(-2000, -2000)))
    assert window.center - window.width / 2 > -200


def test_a_constant_border_does_not_count_in_the_automatic_window():
    window = auto_window(frame_of(scan_with_ground()))
    assert 800 < window.center - window.width / 2 < 1000
    assert 1000 < window.center + window.width / 2 < 1200


def test_single_hot_pixels_do_not_stretch_the_automatic_window():
    stored = np.random.default_rng(2).integers(1000, 2000, (300, 300)).astype(np.uint16)
    stored[5, 5], stored[9, 9] = 0, 65535
    assert auto_window(frame_of(stored)).width < 1100


def test_values_that_are_no_numbers_are_black_and_do_not_break_the_window():
    stored = np.linspace(0, 1, 64, dtype=np.float32).reshape(8, 8)
    stored[0, 0] = np.nan
    shown = render(frame_of(stored))
    assert shown[0, 0] == 0
    assert shown[-1, -1] == 255


def test_a_palette_maps_from_its_first_value_and_stops_at_its_ends():
    palette = np.array([[1, 2, 3], [4, 5, 6]], np.uint8)
    frame = frame_of(
        np.array([[0, 10, 11, 200]], np.uint8),
        photometric="PALETTE COLOR",
        palette=palette,
        palette_first=10,
    )
    assert render(frame).tolist() == [[[1, 2, 3], [1, 2, 3], [4, 5, 6], [4, 5, 6]]]
    assert default_window(frame) is None
    grey = grey_at(frame, 2, 0)
    assert grey is not None
    assert (grey.text, grey.value) == ("4 5 6", None)


def test_deep_colour_is_reduced_last_and_invert_negates_it():
    stored = np.array([[[0, 32768, 65535]]], np.uint16)
    frame = frame_of(stored, photometric="RGB")
    assert render(frame).tolist() == [[[0, 128, 255]]]
    assert render(frame, invert=True).tolist() == [[[255, 127, 0]]]


def test_the_grey_under_a_point_is_in_modality_units():
    stored = np.array([[100, 200], [300, 400]], np.int16)
    frame = frame_of(stored, rescale=Rescale(1, -1024, "HU"))
    grey = grey_at(frame, 1.4, 0.4)
    assert grey is not None
    assert (grey.stored, grey.value, grey.units, grey.text) == ((200.0,), -824, "HU", "-824 HU")


def test_pixel_centres_are_integers_and_outside_is_nothing():
    frame = frame_of(np.zeros((2, 3), np.uint8))
    assert grey_at(frame, -0.5, -0.5) is not None
    assert grey_at(frame, 2.49, 1.49) is not None
    assert grey_at(frame, 2.5, 0) is None
    assert grey_at(frame, 0, -0.51) is None


def test_presets_are_for_ct_only_and_the_files_own_come_first():
    assert {"Lung", "Bone", "Brain", "Abdomen", "Mediastinum"} <= {
        window.explanation for window in presets("CT")
    }
    assert presets("MR") == ()
    stored = np.arange(64, dtype=np.int16).reshape(8, 8)
    frame = frame_of(stored, voi=Voi((Window(40, 400, explanation="SOFT"), Window(1, 2))))
    names = [window.explanation for window in frame_presets(frame, "CR")]
    assert names == ["SOFT", "File 2", "auto"]


@pytest.mark.parametrize("slope", [1.0, 1e12, -1e12])
def test_values_of_32_bits_are_shown_by_their_automatic_window(slope: float):
    stored = np.linspace(0, 2**32 - 1, 4096).astype(np.uint32).reshape(64, 64)
    frame = frame_of(stored, rescale=Rescale(slope))
    assert valid_window(auto_window(frame)) is not None
    shown = render(frame)
    assert len(np.unique(shown)) > (200 if slope == 1 else 1)
