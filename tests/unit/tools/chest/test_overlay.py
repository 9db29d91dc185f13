"""The picture of a segmentation."""

from __future__ import annotations

import numpy as np
import pytest

from app.tools.chest import overlay
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
