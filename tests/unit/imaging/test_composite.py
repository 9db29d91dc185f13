"""Several channels in one picture, against the sum by its definition."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from app.imaging.axes import Axes, Channel
from app.imaging.pixels import composite, pipeline
from app.imaging.pixels.composite import CompositeLevels, Tint, can_average_all, can_compose
from app.imaging.pixels.stored_levels import ScreenGrid
from app.imaging.types import Frame, ImageRef, Shutter, Window

RED, GREEN, ORANGE, WHITE = (255, 0, 0), (0, 255, 0), (255, 128, 0), (255, 255, 255)
COLORS = (RED, GREEN, ORANGE, WHITE)
WINDOWS = (Window(500, 1000), Window(3000, 800), Window(100, 300), Window(2000, 4000))


def frames(dtype: Any = np.uint16, size: tuple[int, int] = (37, 53)) -> list[Frame]:
    rng = np.random.default_rng(4)
    return [
        Frame(rng.integers(0, 4000, size).astype(dtype), ImageRef("1.2", n, str(n)), bits=16)
        for n in range(4)
    ]


def tints(made: list[Frame]) -> list[Tint]:
    return [Tint(*one) for one in zip(made, WINDOWS, COLORS, strict=True)]


def expected(made: list[Frame]) -> NDArray[np.uint8]:
    """The definition: grey times colour over 255, rounded; sums up to 255."""
    total = np.zeros((*made[0].stored.shape, 3))
    for frame, window, color in zip(made, WINDOWS, COLORS, strict=True):
        grey = pipeline.render(frame, window).astype(float)
        total += np.floor(grey[..., None] * np.array(color) / 255 + 0.5)
    return np.minimum(total, 255).astype(np.uint8)


@pytest.mark.parametrize("dtype", [np.uint16, np.int16, np.float32, np.uint32])
def test_channels_add_up_in_their_colours(dtype: Any):
    made = frames(dtype)
    np.testing.assert_array_equal(composite.render(tints(made)), expected(made))
    np.testing.assert_array_equal(composite.render(tints(made), invert=True), 255 - expected(made))
    part = composite.render_part(tints(made), range(5, 20), range(7, 31))
    np.testing.assert_array_equal(part, expected(made)[5:20, 7:31])


def channels_of(words: NDArray[np.uint32]) -> NDArray[np.uint8]:
    assert (words >> 24 == 255).all()
    return np.stack([words >> shift & 255 for shift in (16, 8, 0)], axis=-1).astype(np.uint8)


def test_the_drawn_copies_are_the_same_at_full_size():
    made = frames()
    levels = CompositeLevels(tints(made))
    table = levels.tables(0, False)
    words = levels.render_part(0, slice(None), slice(None), table)
    np.testing.assert_array_equal(channels_of(words), expected(made))
    words = levels.render_part(0, slice(3, 9), slice(4, 44), levels.tables(0, True))
    np.testing.assert_array_equal(channels_of(words), 255 - expected(made)[3:9, 4:44])


def test_a_grid_at_the_pixels_shows_these():
    made = frames()
    levels = CompositeLevels(tints(made))
    grid = ScreenGrid(2.0, 5.0, 1.0, 1.0, 30, 20)
    words = levels.render_grid(0, grid, levels.tables(1, False))
    apart = channels_of(words).astype(int) - expected(made)[5:25, 2:32]
    assert np.abs(apart).max() <= 2  # codes hold a quarter of a value, for each of four channels


def test_smaller_copies_average_values_before_the_windows():
    value = np.full((1024, 512), 1000, np.uint16)
    value[:, ::2] = 3000  # pairs of 1000 and 3000: their mean is 2000
    made = [Frame(value, ImageRef("1.2", 0, ""), bits=16)]
    tint = Tint(
        made[0],
        Window(
            2000.5,
            3,
        ),
        RED,
    )
    levels = CompositeLevels([tint])
    words = levels.render_part(1, slice(None), slice(None), levels.tables(1, False))
    inside = Frame(np.array([[2000]], np.uint16), ImageRef("1", 0, ""), bits=16)
    grey = int(pipeline.render(inside, tint.window)[0, 0])
    assert np.unique(channels_of(words)[..., 0]).tolist() == [grey]
    assert not channels_of(words)[..., 1:].any()


def test_copies_of_the_same_pixels_are_used_again():
    made = frames()
    first = CompositeLevels(tints(made))
    first.parts[2].level(0)
    again = CompositeLevels(tints(made)[1:], first.parts)
    assert [id(one) for one in again.parts] == [id(one) for one in first.parts[1:]]


def test_what_can_be_shown_together():
    made = frames()
    assert can_compose(made)
    assert not can_compose([])
    other = Frame(np.zeros((2, 2), np.uint16), ImageRef("1", 0, ""))
    assert not can_compose([*made, other])
    colour = Frame(np.zeros((37, 53, 3), np.uint8), ImageRef("1", 0, ""))
    assert not can_compose([*made, colour])
    shut = Frame(made[0].stored, ImageRef("1", 0, ""), shutter=Shutter(circle=(1.0, 1.0, 1.0)))
    assert not can_compose([*made, shut])
    assert can_average_all(tints(made))
    assert not can_average_all(tints(frames(np.float32)))


def test_the_note_without_the_channel():
    axes = Axes((Channel("DAPI"), Channel("GFP")), 3)
    index = axes.index(1, 2, 0)
    frame = Frame(np.zeros((1, 1)), ImageRef("1", index, ""), note=f"{axes.text(index)}. cut short")
    assert frame.note.startswith("channel 2 of 2 (GFP), depth 3 of 3")
    assert composite.without_channel(frame, axes).note == "depth 3 of 3. cut short"
    flat = Axes((Channel("DAPI"), Channel("GFP")))
    frame = Frame(np.zeros((1, 1)), ImageRef("1", 1, ""), note=flat.text(1))
    assert composite.without_channel(frame, flat).note == ""
