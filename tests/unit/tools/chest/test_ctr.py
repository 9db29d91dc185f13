"""The cardiothoracic ratio of drawn shapes whose widths are known exactly."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pytest
from numpy.typing import NDArray

from app.tools.chest.ctr_geometry import HEART, LEFT_LUNG, RIGHT_LUNG, measure, midline

Masks = dict[str, NDArray[np.bool_]]


def _ellipse(centre: tuple[float, float], radii: tuple[float, float]) -> NDArray[np.bool_]:
    y, x = np.mgrid[:400, :500]
    return ((x - centre[0]) / radii[0]) ** 2 + ((y - centre[1]) / radii[1]) ** 2 <= 1


def chest(heart_x: float = 262.0, heart_width: float = 80.0) -> Masks:
    """Lungs from x = 80 to 420 and a heart `2 * heart_width` wide, which the lungs leave out."""
    heart = _ellipse((heart_x, 270.0), (heart_width, 60.0))
    right = _ellipse((155.0, 200.0), (75.0, 150.0)) & ~heart
    left = _ellipse((345.0, 200.0), (75.0, 150.0)) & ~heart
    return {RIGHT_LUNG: right, LEFT_LUNG: left, HEART: heart}


def test_ratio_of_drawn_ellipses_is_that_of_their_widths():
    found = measure(chest(), position="PA")
    assert found.refused is None
    assert found.heart is not None
    assert found.thorax is not None
    assert found.heart.length == 161.0  # pixels 182..342, edge to edge
    assert found.thorax.length == 341.0  # pixels 80..420
    assert found.ratio == pytest.approx(161 / 341)
    assert found.warnings == ()


def test_lines_end_on_the_pixel_edges_of_the_masks():
    found = measure(chest(), position="PA")
    assert found.thorax is not None
    assert found.heart is not None
    assert found.thorax.start == (79.5, 200.0)
    assert found.thorax.end == (420.5, 200.0)
    assert (found.heart.start[0], found.heart.end[0]) == (181.5, 342.5)
    assert found.heart.start[1] == found.heart.end[1] == 270.0


def test_the_midline_lies_between_the_lungs():
    masks = chest()
    thorax = measure(masks).thorax
    assert thorax is not None
    assert midline(masks[RIGHT_LUNG], masks[LEFT_LUNG], thorax) == 250.0


def test_column_spacing_gives_millimetres_and_leaves_the_ratio_alone():
    plain, scaled = measure(chest()), measure(chest(), column_spacing_mm=0.5)
    assert scaled.ratio == plain.ratio
    assert scaled.heart_mm == 80.5
    assert scaled.thorax_mm == 170.5
    assert plain.heart_mm is None


def test_rows_stretched_by_tall_pixels_leave_the_ratio_alone():
    tall = {name: np.repeat(mask, 3, axis=0) for name, mask in chest().items()}
    assert measure(tall).ratio == measure(chest()).ratio


@pytest.mark.parametrize(("position", "word"), [("AP", "magnified"), ("unknown", "unknown")])
def test_other_views_than_pa_are_warned_about(position: Literal["PA", "AP", "unknown"], word: str):
    assert any(word in note for note in measure(chest(), position=position).warnings)


def test_lateral_is_refused():
    assert measure(chest(), position="lateral").ratio is None


@pytest.mark.parametrize("name", [RIGHT_LUNG, LEFT_LUNG, HEART])
def test_a_missing_structure_is_refused_by_name(name: str):
    masks = chest()
    masks[name] = np.zeros_like(masks[name])
    found = measure(masks)
    assert found.ratio is None
    assert name.lower() in str(found.refused)


def test_thorax_cut_off_at_the_side_is_refused():
    cut = {name: mask[:, 100:] for name, mask in chest().items()}
    assert "cut off" in str(measure(cut).refused)


def test_heart_cut_off_below_is_warned_about():
    cut = {name: mask[:325] for name, mask in chest().items()}
    assert any("border" in note for note in measure(cut).warnings)


def test_uncertain_heart_is_warned_about_then_refused():
    warned = measure(chest(), confidence={HEART: 0.75})
    assert any("low confidence" in note for note in warned.warnings)
    assert measure(chest(), confidence={HEART: 0.5}).ratio is None


def test_effusion_that_hides_the_heart_border_is_warned_about():
    masks = chest()
    masks[LEFT_LUNG][210:] = False  # fluid up to the middle of the left lung
    notes = " ".join(measure(masks, position="PA").warnings)
    assert "bases differ" in notes
    assert "left edge" in notes


def test_rotated_patient_is_warned_about():
    masks = chest()
    shifted = _ellipse((345.0, 200.0), (40.0, 150.0))
    wide = _ellipse((185.0, 200.0), (105.0, 150.0))
    masks[LEFT_LUNG], masks[RIGHT_LUNG] = shifted & ~masks[HEART], wide & ~masks[HEART]
    assert any("rotated" in note for note in measure(masks, position="PA").warnings)


def test_unusual_ratio_is_warned_about():
    notes = measure(chest(heart_width=140.0), position="PA").warnings
    assert any("unusual" in note for note in notes)


def test_masks_of_different_shape_are_an_error():
    masks = chest()
    masks[HEART] = masks[HEART][:-1]
    with pytest.raises(ValueError, match="shape"):
        measure(masks)
