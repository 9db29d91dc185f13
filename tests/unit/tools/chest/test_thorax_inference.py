"""How far the network's own looks differ: looks that agree, and some that do not."""

from __future__ import annotations

import numpy as np
import pytest

from app.tools.chest.thorax_arch import STRUCTURES
from app.tools.chest.thorax_masks import Window, coarse_shape, enlarge_masks, window_around
from app.tools.chest.thorax_net import pass_variation
from tests.unit.tools.chest.synthetic import masks


def probabilities(shift: int = 0) -> np.ndarray:
    """[4, 240, 200]: sure of the drawn chest, moved to the viewer's right."""
    drawn = masks()
    planes = np.stack([np.roll(drawn[name], shift, axis=1) for name in STRUCTURES]).astype(
        np.float32
    )
    return np.concatenate([1 - planes.sum(axis=0, keepdims=True), planes])


def margins() -> np.ndarray:
    drawn = masks()
    return np.stack([drawn[name] for name in STRUCTURES]).astype(np.float32) * 2 - 1


def test_looks_that_agree_leave_no_doubt():
    spread = pass_variation([probabilities(), probabilities()], margins())
    assert spread.agreement == dict.fromkeys(STRUCTURES, 1.0)
    assert spread.ratio == 0.0
    assert spread.warnings == ()


def test_looks_that_differ_are_told_for_each_structure_and_the_ratio():
    wide = probabilities()
    heart = np.roll(wide[3], 16, axis=1) + wide[3] > 0  # the same heart, 16 columns wider
    wide[3], wide[0] = heart, wide[0] * ~heart
    wide[1:3] *= ~heart
    spread = pass_variation([probabilities(), wide], margins())
    assert spread.agreement["Heart"] < spread.agreement["Right Lung"]
    assert spread.ratio == pytest.approx(16 / 160, abs=0.02)
    assert not any("ratio" in note for note in spread.warnings)  # `cardiothoracic_ratio` says it


def test_a_structure_on_which_the_looks_disagree_is_named():
    spread = pass_variation([probabilities(), probabilities(30)], margins())
    assert any("the right lung changes when" in note for note in spread.warnings)


def test_without_a_heart_in_one_look_there_is_no_spread_of_the_ratio():
    none = probabilities()
    none[0] += none[3]
    none[3] = 0
    assert pass_variation([probabilities(), none], margins()).ratio is None


def test_a_structure_that_was_not_found_has_no_agreement():
    lone = margins()
    lone[2] = -1
    assert "Heart" not in pass_variation([probabilities()], lone).agreement


@pytest.mark.parametrize(
    ("shape", "rectangle"),
    [((900, 1200), (151, 603, 240, 777)), ((1201, 700), (90, 800, 33, 510))],
    ids=["landscape", "portrait"],
)
def test_an_enlarged_mask_lies_where_it_was_planted_to_half_a_coarse_pixel(
    shape: tuple[int, int], rectangle: tuple[int, int, int, int]
):
    top, bottom, left, right = rectangle
    grid = coarse_shape(shape)
    step = shape[0] / grid[0], shape[1] / grid[1]
    # What share of each coarse pixel the rectangle covers, as the network's soft edges tell it.
    axes = [
        np.clip(np.minimum(b, (np.arange(n) + 1) * s) - np.maximum(a, np.arange(n) * s), 0, s) / s
        for n, s, a, b in ((grid[0], step[0], top, bottom), (grid[1], step[1], left, right))
    ]
    margin = np.outer(*axes).astype(np.float32) * 2 - 1
    (mask,) = enlarge_masks(margin[None], shape)
    assert mask.shape == shape
    rows, columns = np.nonzero(mask.any(axis=1))[0], np.nonzero(mask.any(axis=0))[0]
    found = rows[0], rows[-1] + 1, columns[0], columns[-1] + 1
    assert np.abs(np.array(found) - rectangle).max() <= max(step) / 2


def test_a_window_around_nothing_is_none():
    assert window_around([np.zeros((10, 10), bool)], (100, 100), 0.1) is None


def test_a_window_on_another_grid_is_the_same_part():
    assert Window(10, 50, 20, 80).on_grid((100, 200), (50, 100)) == Window(5, 25, 10, 40)
