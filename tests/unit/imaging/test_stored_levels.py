"""Smaller copies of stored values: full size as `render` shows it, copies as the mean of theirs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from app.imaging.pixels import pipeline
from app.imaging.pixels.stored_levels import SMALLEST, StoredLevels, can_average, level_shapes
from app.imaging.types import Frame, ImageRef, Lut, Rescale, Shutter, Voi, VoiFunction, Window
from tests.unit.imaging import oracle

REF = ImageRef("1.2", 0, "00")
WHOLE = slice(None)


def frame_of(stored: NDArray[Any], **fields: Any) -> Frame:
    fields.setdefault("bits", 8 * stored.dtype.itemsize)
    return Frame(stored=stored, ref=REF, **fields)


def greys(
    levels: StoredLevels,
    level: int,
    window: Window,
    invert: bool = False,
    rows: slice = WHOLE,
    columns: slice = WHOLE,
) -> NDArray[np.uint8]:
    """A part of a level as greys; all three colours of a word must be equal."""
    words = levels.render_part(level, rows, columns, levels.table(level, window, invert))
    channels = words[..., None] >> np.array([0, 8, 16, 24], np.uint32) & 0xFF
    assert (channels[..., 3] == 255).all()
    assert (channels[..., :2] == channels[..., 1:3]).all()
    return channels[..., 0].astype(np.uint8)


@settings(deadline=None, max_examples=150)
@given(
    dtype=st.sampled_from(["u1", "i1", "u2", "i2"]),
    ends=st.tuples(st.floats(0, 1), st.floats(0, 1)),
    center=st.floats(-40_000, 70_000),
    width=st.floats(1, 70_000),
    slope=st.floats(-5, 5).filter(lambda value: abs(value) > 1e-3),
    intercept=st.floats(-2000, 2000),
    function=st.sampled_from(VoiFunction),
    changes=st.sampled_from(
        [
            {},
            {"photometric": "MONOCHROME1"},
            {"inverse": True},
            {"presentation_lut": Lut(0, 8, np.arange(256, dtype=np.uint16)[::-1].copy())},
            {"shutter": Shutter(rectangle=(2, 9, 3, 12), level=0.3)},
        ]
    ),
    invert=st.booleans(),
)
def test_full_size_is_what_render_gives(
    dtype: str,
    ends: tuple[float, float],
    center: float,
    width: float,
    slope: float,
    intercept: float,
    function: VoiFunction,
    changes: dict[str, Any],
    invert: bool,
):
    info = np.iinfo(dtype)
    low, high = (round(info.min + end * (info.max - info.min)) for end in sorted(ends))
    stored = np.random.default_rng(1).integers(low, high, (16, 20), endpoint=True).astype(dtype)
    frame = frame_of(stored, rescale=Rescale(slope, intercept), **changes)
    window = Window(center, width, function)
    expected = pipeline.render(frame, window, invert)
    np.testing.assert_array_equal(greys(StoredLevels(frame), 0, window, invert), expected)
    part = greys(StoredLevels(frame), 0, window, invert, slice(3, 11), slice(5, 6))
    np.testing.assert_array_equal(part, expected[3:11, 5:6])


@pytest.mark.parametrize("dtype", ["u1", "i1", "u2", "i2"])
@pytest.mark.parametrize("bits", [1, 5, 8, 12, 16])
def test_copies_are_the_window_of_the_mean(dtype: str, bits: int):
    """The witness averages in float64 and windows that by the standard's own formula."""
    info = np.iinfo(dtype)
    spread = min(2**bits - 1, int(info.max) - int(info.min))
    low = max(int(info.min), -spread // 2)
    stored = np.random.default_rng(2).integers(low, low + spread, (1030, 1101), endpoint=True)
    frame = frame_of(stored.astype(dtype), rescale=Rescale(2.0, -3.0))
    levels = StoredLevels(frame)
    window = Window(2 * (low + 0.4 * spread) - 3, max(1.0, spread), VoiFunction.LINEAR_EXACT)
    mean = stored.astype(np.float64)
    for level in (1, 2):
        rows, columns = mean.shape[0] // 2 * 2, mean.shape[1] // 2 * 2
        mean = mean[:rows, :columns].reshape(rows // 2, 2, columns // 2, 2).mean((1, 3))
        expected = oracle.linear_exact(mean * 2.0 - 3.0, window.center, window.width)
        shown = greys(levels, level, window)
        assert shown.shape == mean.shape == level_shapes(1030, 1101)[level]
        # A value is kept to a quarter of a step, or to 1/16384 of the range where that is finer.
        steps = 255 * 2 * max(spread / 2**15, 0.5 if bits >= 15 else 0.125) / window.width
        assert np.abs(shown - 255 * expected).max() <= 0.5 + level * steps


def test_a_checkerboard_of_extremes_becomes_their_mean():
    stored = np.indices((1024, 1024)).sum(0) % 2 * 65_535
    levels = StoredLevels(frame_of(stored.astype(np.uint16)))
    window = Window(32_768, 65_536)
    assert set(np.unique(greys(levels, 0, window))) == {0, 255}
    for level in (1, 2):
        assert set(np.unique(greys(levels, level, window))) == {128}


@pytest.mark.parametrize("dtype", ["u1", "i2"])
def test_a_binary_image_keeps_the_share_of_its_ones(dtype: str):
    stored = np.zeros((1024, 1024), dtype)
    stored[::4, ::4] = 1
    levels = StoredLevels(frame_of(stored))
    window = Window(0.5, 1.0, VoiFunction.LINEAR_EXACT)
    assert set(np.unique(greys(levels, 1, window))) == {0, 64}
    assert set(np.unique(greys(levels, 2, window))) == {16}


def test_a_constant_image_and_one_of_a_single_row_have_levels():
    window = Window(7, 1, VoiFunction.LINEAR_EXACT)
    levels = StoredLevels(frame_of(np.full((600, 600), 7, np.int16)))
    assert (greys(levels, 1, window) == 128).all()
    row = StoredLevels(frame_of(np.arange(600, dtype=np.uint16)[None]))
    assert len(row.shapes) == 1


@pytest.mark.parametrize("order", [(2, 1, 0), (0, 1, 2), (1, 2)])
def test_copies_that_are_not_all_kept_have_the_same_values(order: tuple[int, ...]):
    stored = np.random.default_rng(1).integers(-900, 3000, (1030, 1101), dtype=np.int16)
    kept, sparing = StoredLevels(frame_of(stored)), StoredLevels(frame_of(stored), sparing=True)
    for level in order:
        np.testing.assert_array_equal(kept.level(level), sparing.level(level))
    smallest = StoredLevels(frame_of(stored), sparing=True)
    smallest.level(2)
    assert set(smallest._levels) == {0, 2}


def test_levels_end_at_the_smallest_copy_worth_having():
    shapes = level_shapes(2048, 1500)
    assert shapes == [(2048, 1500), (1024, 750), (512, 375), (256, 187)]
    assert max(shapes[-1]) < 2 * SMALLEST


def test_a_shutter_hides_in_every_level():
    stored = np.full((1024, 1024), 1000, np.uint16)
    stored[:200] = 0
    frame = frame_of(stored, shutter=Shutter(rectangle=(200, 823, 200, 823), level=0.2))
    levels = StoredLevels(frame)
    for level in (0, 1, 2):
        shown = greys(levels, level, Window(500, 1000), invert=True)
        edge = 200 // 2**level
        assert set(np.unique(shown[:edge])) == {51}
        assert (shown[edge:-edge, edge:-edge] != 51).all()
        assert set(np.unique(shown[-edge:])) == {51}


LUT = Lut(0, 8, np.arange(256, dtype=np.uint16))


@pytest.mark.parametrize(
    ("changes", "window"),
    [
        ({"stored": np.zeros((4, 4, 3), np.uint8), "photometric": "RGB"}, None),
        ({"palette": np.zeros((4, 3), np.uint8), "photometric": "PALETTE COLOR"}, None),
        ({"palette": np.zeros((4, 3), np.uint8), "supplemental": True}, Window(1, 2)),
        ({"modality_lut": LUT}, Window(1, 2)),
        ({"stored": np.array([[0.0, np.nan]], np.float32)}, Window(1, 2)),
        ({"stored": np.zeros((4, 4), np.int32)}, Window(1, 2)),
        ({"stored": np.zeros((0, 4), np.int16)}, Window(1, 2)),
        ({"voi": Voi((), (LUT,))}, None),
        ({"voi": Voi((), (LUT,))}, Window(1, 2, lut=0)),
    ],
    ids=["rgb", "palette", "supplemental", "modality", "nan", "wide", "none", "voi", "voi by name"],
)
def test_frames_whose_stored_values_must_not_be_averaged(
    changes: dict[str, Any], window: Window | None
):
    plain = frame_of(np.zeros((4, 4), np.uint16))
    assert can_average(plain, Window(1, 2))
    assert not can_average(replace(plain, **changes), window)
