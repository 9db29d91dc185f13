"""Cleaning and judging of masks, without a network."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from app.tools.chest.model_pictures import MIRRORED_NOTE
from app.tools.chest.thorax_masks import (
    HEART,
    LEFT_LUNG,
    RIGHT_LUNG,
    check_shapes,
    clean_margins,
    largest_component,
)

SURE = {RIGHT_LUNG: 0.95, LEFT_LUNG: 0.95, HEART: 0.95}


def _box(top: int, bottom: int, left: int, right: int) -> NDArray[np.bool_]:
    mask = np.zeros((100, 100), np.bool_)
    mask[top:bottom, left:right] = True
    return mask


def chest() -> dict[str, NDArray[np.bool_]]:
    return {
        RIGHT_LUNG: _box(15, 75, 15, 42),
        LEFT_LUNG: _box(15, 75, 66, 87),
        HEART: _box(45, 78, 48, 66),
    }


def test_largest_keeps_one_component_and_fills_its_holes():
    mask = _box(10, 40, 10, 40)
    mask[20:25, 20:25] = False
    mask[80:85, 80:85] = True
    assert np.array_equal(largest_component(mask), _box(10, 40, 10, 40))


def test_largest_of_nothing_is_nothing():
    assert not largest_component(np.zeros((5, 5), np.bool_)).any()


def _probabilities(masks: dict[str, NDArray[np.bool_]]) -> NDArray[np.float32]:
    planes = [masks[name].astype(np.float32) for name in (RIGHT_LUNG, LEFT_LUNG, HEART)]
    return np.stack([1 - sum(planes, np.zeros((100, 100), np.float32)), *planes])


def test_cleaned_drops_islands_and_fills_holes():
    classes = _probabilities(chest())
    classes[1, 40:44, 25:29], classes[0, 40:44, 25:29] = 0, 1  # a hole in the right lung
    classes[1, 5:9, 5:9], classes[0, 5:9, 5:9] = 1, 0  # an island of it
    right = clean_margins(classes)[0] > 0
    assert right[42, 27]
    assert not right[:12, :12].any()


def test_cleaned_keeps_the_structures_apart_and_in_place():
    masks = chest()
    found = clean_margins(_probabilities(masks)) > 0
    assert int(found.sum(axis=0).max()) == 1
    for mask, name in zip(found, (RIGHT_LUNG, LEFT_LUNG, HEART), strict=True):
        overlap = 2 * (mask & masks[name]).sum() / (mask.sum() + masks[name].sum())
        assert overlap > 0.95, name


def test_cleaned_closes_a_dent_in_the_heart_below_the_diaphragm():
    masks = chest()
    masks[HEART][74:78, 55:58] = False
    assert (clean_margins(_probabilities(masks))[2] > 0)[74:76, 56].all()


def test_cleaned_cuts_a_thin_spur_off_the_heart():
    masks = chest()
    masks[HEART] |= _box(30, 46, 56, 58)
    assert not (clean_margins(_probabilities(masks))[2] > 0)[:38].any()


def test_cleaned_of_nothing_is_nothing():
    empty = np.zeros((4, 60, 80), np.float32)
    empty[0] = 1
    assert not (clean_margins(empty) > 0).any()


def test_a_plain_chest_has_no_doubts():
    judged = check_shapes(chest(), SURE)
    assert judged.refused is None
    assert judged.warnings == ()


def test_lungs_the_wrong_way_round_are_refused():
    masks = chest()
    masks[RIGHT_LUNG], masks[LEFT_LUNG] = masks[LEFT_LUNG], masks[RIGHT_LUNG]
    assert "on the wrong sides" in str(check_shapes(masks, SURE).refused)


def test_lungs_above_each_other_are_refused():
    masks = {
        RIGHT_LUNG: _box(5, 40, 20, 50),
        LEFT_LUNG: _box(50, 90, 40, 80),
        HEART: _box(0, 0, 0, 0),
    }
    assert "side by side" in str(check_shapes(masks, SURE).refused)


def test_no_lungs_are_refused():
    nothing = np.zeros((50, 50), np.bool_)
    empty = {name: nothing.copy() for name in (RIGHT_LUNG, LEFT_LUNG, HEART)}
    assert check_shapes(empty, SURE).refused is not None


def test_a_lung_whited_out_is_warned_about():
    masks = chest()
    masks[LEFT_LUNG] = np.zeros((100, 100), np.bool_)
    judged = check_shapes(masks, SURE)
    assert judged.refused is None
    assert "left lung was not found" in judged.warnings[0]


def test_a_heart_on_the_patients_right_is_warned_about_since_the_film_may_be_mirrored():
    masks = chest()
    mirrored = {
        RIGHT_LUNG: masks[LEFT_LUNG][:, ::-1],
        LEFT_LUNG: masks[RIGHT_LUNG][:, ::-1],
        HEART: masks[HEART][:, ::-1],
    }
    (note,) = check_shapes(mirrored, SURE).warnings
    assert "mirrored" in note
    assert "side marker" in note


def test_a_film_that_looks_mirrored_is_warned_about_once():
    assert check_shapes(chest(), SURE, mirrored=0.4).warnings == ()
    masks = chest()
    heart_on_the_right = {
        RIGHT_LUNG: masks[LEFT_LUNG][:, ::-1],
        LEFT_LUNG: masks[RIGHT_LUNG][:, ::-1],
        HEART: masks[HEART][:, ::-1],
    }
    for shown in (masks, heart_on_the_right):
        assert check_shapes(shown, SURE, mirrored=0.9).warnings == (MIRRORED_NOTE,)


def test_a_film_with_one_lung_may_look_mirrored_too():
    masks = chest()
    masks[LEFT_LUNG] = np.zeros((100, 100), np.bool_)
    assert MIRRORED_NOTE in check_shapes(masks, SURE, mirrored=0.9).warnings


def test_a_half_filled_lung_is_warned_about():
    masks = chest()
    masks[RIGHT_LUNG] = _box(15, 45, 15, 42)
    assert any("right lung is much smaller" in note for note in check_shapes(masks, SURE).warnings)


def test_a_lung_cut_off_is_warned_about():
    masks = chest()
    masks[LEFT_LUNG] = _box(15, 75, 70, 100)
    assert any("border" in note for note in check_shapes(masks, SURE).warnings)


@pytest.mark.parametrize("name", [RIGHT_LUNG, LEFT_LUNG, HEART])
def test_low_confidence_is_warned_about_by_name(name: str):
    notes = check_shapes(chest(), SURE | {name: 0.7}).warnings
    assert any("low confidence" in note and name.lower() in note for note in notes)
