"""The picture of a segmentation."""

from __future__ import annotations

import numpy as np
import pytest

from app.imaging.label_colors import COLORS, LabelColors, rgb
from app.tools.chest import organs, overlay
from tests.unit.tools.chest.synthetic import masks, radiograph


def test_it_has_the_images_size_and_colours_only_the_masks():
    grey = (radiograph(960, 800) >> 4).astype(np.uint8)
    picture = overlay.draw(grey, masks(960, 800), "a footer")
    assert picture.shape == (960, 800, 3)
    spread = np.ptp(picture.astype(int), axis=2)
    for mask in masks(960, 800).values():
        assert (spread[mask] > 5).mean() > 0.95
    outside = ~np.logical_or.reduce(list(masks(960, 800).values()))
    outside[:200, :300] = False  # the legend
    assert (spread[outside] == 0).all()


@pytest.mark.parametrize("shape", [(16, 16), (40, 200), (200, 40), (900, 1)])
def test_any_size_can_be_drawn(shape: tuple[int, int]):
    mask = np.zeros(shape, bool)
    mask[shape[0] // 2, shape[1] // 2] = True
    assert overlay.draw(np.zeros(shape, np.uint8), {"Heart": mask}, "x").shape == (*shape, 3)


def test_the_source_pixels_are_not_touched():
    grey = (radiograph() >> 4).astype(np.uint8)
    before = grey.copy()
    overlay.draw(grey, masks(), "x")
    np.testing.assert_array_equal(grey, before)


STRUCTURES = {"Right Lung": 0, "Left Lung": 1, "Heart": 2}


@pytest.mark.parametrize("order", [list(STRUCTURES), ["Heart", "Left Lung", "Right Lung"]])
def test_a_structure_has_the_colour_that_it_has_on_the_canvas(order: list[str]):
    canvas = LabelColors(organs.COLOURED)
    canvas.take("Nodule")  # what was found before changes nothing
    found = {name: masks(960, 800)[name] for name in order}
    picture = overlay.draw(np.zeros((960, 800), np.uint8), found, "x")
    for name, mask in found.items():
        assert canvas.of(name) == STRUCTURES[name]
        # The whole edge has the colour itself: no other structure's is there in its place.
        colour = rgb(COLORS[canvas.of(name)])
        assert (picture[mask] == colour).all(axis=1).sum() > 300, name
        others = {rgb(c) for c in COLORS} - {colour}
        assert not any((picture[mask] == other).all(axis=1).sum() > 300 for other in others), name


def test_nothing_else_looks_like_the_lungs_or_the_heart():
    colours = LabelColors(organs.COLOURED)
    places = [colours.take(f"finding {number}") for number in range(40)]
    assert set(places) == set(range(3, len(COLORS)))
    assert [colours.take(f"finding {number}") for number in range(40)] == places
