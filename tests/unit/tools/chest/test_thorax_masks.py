"""Cleaning and judging of masks, without a network."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from app.tools.chest.thorax_masks import HEART, LEFT_LUNG, RIGHT_LUNG, cleaned, judge, largest

SURE = {RIGHT_LUNG: 0.95, LEFT_LUNG: 0.95, HEART: 0.95}


def _box(top: int, bottom: int, left: int, right: int) -> NDArray[np.bool_]:
    mask = np.zeros((100, 100), np.bool_)
    mask[top:bottom, left:right] = True
    return mask


def chest() -> dict[str, NDArray[np.bool_]]:
    return {
        RIGHT_LUNG: _box(15, 75, 15, 42),
        LEFT_LUNG: _box(15, 75, 62, 87),
        HEART: _box(45, 78, 42, 62),
    }


def test_largest_keeps_one_component_and_fills_its_holes():
    mask = _box(10, 40, 10, 40)
    mask[20:25, 20:25] = False
    mask[80:85, 80:85] = True
    assert np.array_equal(largest(mask), _box(10, 40, 10, 40))


def test_largest_of_nothing_is_nothing():
    assert not largest(np.zeros((5, 5), np.bool_)).any()


def test_cleaned_drops_islands_and_fills_holes():
    inside = _box(20, 80, 20, 80).astype(np.float32)
    inside[45:50, 45:50] = 0
    inside[5:9, 5:9] = 1
    margins = cleaned(np.stack([1 - inside, inside]))
    assert (margins[0] > 0)[47, 47]
    assert not (margins[0] > 0)[:12, :12].any()


def test_a_plain_chest_has_no_doubts():
    judged = judge(chest(), SURE)
    assert judged.refused is None
    assert judged.warnings == ()


def test_lungs_the_wrong_way_round_are_refused():
    masks = chest()
    masks[RIGHT_LUNG], masks[LEFT_LUNG] = masks[LEFT_LUNG], masks[RIGHT_LUNG]
    assert "wrong way round" in str(judge(masks, SURE).refused)


def test_lungs_above_each_other_are_refused():
    masks = {
        RIGHT_LUNG: _box(5, 40, 20, 50),
        LEFT_LUNG: _box(50, 90, 40, 80),
        HEART: _box(0, 0, 0, 0),
    }
    assert "side by side" in str(judge(masks, SURE).refused)


def test_no_lungs_are_refused():
    nothing = np.zeros((50, 50), np.bool_)
    empty = {name: nothing.copy() for name in (RIGHT_LUNG, LEFT_LUNG, HEART)}
    assert judge(empty, SURE).refused is not None


def test_a_lung_whited_out_is_warned_about():
    masks = chest()
    masks[LEFT_LUNG] = np.zeros((100, 100), np.bool_)
    judged = judge(masks, SURE)
    assert judged.refused is None
    assert "left lung was not found" in judged.warnings[0]


def test_a_half_filled_lung_is_warned_about():
    masks = chest()
    masks[RIGHT_LUNG] = _box(15, 45, 15, 42)
    assert any("right lung is much smaller" in note for note in judge(masks, SURE).warnings)


def test_a_lung_cut_off_is_warned_about():
    masks = chest()
    masks[LEFT_LUNG] = _box(15, 75, 70, 100)
    assert any("border" in note for note in judge(masks, SURE).warnings)


@pytest.mark.parametrize("name", [RIGHT_LUNG, LEFT_LUNG, HEART])
def test_low_confidence_is_warned_about_by_name(name: str):
    notes = judge(chest(), SURE | {name: 0.7}).warnings
    assert any("low confidence" in note and name.lower() in note for note in notes)
