"""Parts of the canvas that need no window: outlines, copies, placing, wording, export."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from PySide6.QtCore import QPointF, QRectF
from PySide6.QtWidgets import QApplication

from app.imaging.pixels import pipeline
from app.imaging.types import OverlayPlane, Spacing, SpacingSource, VoiFunction, Window
from app.views import wording
from app.views.canvas import colormaps, finding_shapes, label_chips, object_outlines
from app.views.canvas.annotated_render import render_annotated
from app.views.canvas.image_layer import pyramid
from app.views.canvas.label_chips import Chip
from app.views.canvas.mouse_gestures import RANGE_PX, dragged_window
from app.views.canvas.pane import read_picture
from tests.gui.viewer_support import frame, instance, line_layer

pytestmark = pytest.mark.gui


def polygon_area(points: np.ndarray) -> float:
    x, y = points[:, 0], points[:, 1]
    return abs(float(np.sum(x * np.roll(y, -1) - np.roll(x, -1) * y))) / 2


def outlines(pixels: np.ndarray) -> list[np.ndarray]:
    traced = object_outlines.trace(pixels)
    return np.split(traced.points, traced.starts[1:]) if len(traced.starts) else []


def test_a_disc_s_outline_has_its_area_and_length():
    y, x = np.mgrid[:101, :101]
    disc = (x - 50) ** 2 + (y - 50) ** 2 <= 40**2
    (outline,) = outlines(disc)
    assert polygon_area(outline) == pytest.approx(disc.sum(), rel=0.02)
    assert outline.mean(axis=0) == pytest.approx((50, 50), abs=0.5)
    assert np.hypot(*(outline - 50).T) == pytest.approx(40, abs=1.1)


def test_a_single_pixel_has_a_diamond_around_its_centre():
    pixels = np.zeros((3, 4), bool)
    pixels[1, 2] = True
    (outline,) = outlines(pixels)
    assert sorted(map(tuple, outline)) == [(1.5, 1.0), (2.0, 0.5), (2.0, 1.5), (2.5, 1.0)]


def test_holes_and_islands_each_have_an_outline():
    pixels = np.ones((20, 20), bool)
    pixels[5:9, 5:9] = False
    pixels[6, 6] = True
    assert len(outlines(pixels)) == 3


def test_pixels_that_touch_by_a_corner_are_kept_apart():
    for pixels in (np.eye(2, dtype=bool), np.eye(2, dtype=bool)[::-1]):
        assert len(outlines(pixels)) == 2


def test_an_empty_mask_has_no_outline():
    assert outlines(np.zeros((5, 5), bool)) == []


def test_random_masks_are_enclosed_by_their_outlines():
    random = np.random.default_rng(7)
    for _ in range(20):
        pixels = random.random((12, 15)) < 0.5
        borders = finding_shapes.border_length(np.pad(pixels, 1))
        points = sum(len(outline) for outline in outlines(pixels))
        assert points <= borders  # straight runs are shortened, nothing is invented


def test_smaller_copies_average_and_keep_the_mean():
    image = np.random.default_rng(1).integers(0, 256, (1200, 1500), dtype=np.uint8)
    levels = pyramid(image)
    assert [level.shape for level in levels] == [(1200, 1500), (600, 750), (300, 375)]
    assert levels[1][0, 0] == (int(image[:2, :2].sum()) + 2) // 4
    assert float(levels[2].mean()) == pytest.approx(float(image.mean()), abs=0.6)


def test_a_narrow_range_keeps_a_window_narrower_than_one():
    moved = dragged_window(Window(0.5, 1.0), -RANGE_PX / 2, 0, 1.0)
    assert moved.width == pytest.approx(0.5)
    assert moved.function is VoiFunction.LINEAR_EXACT
    assert dragged_window(Window(40, 80), -5000, 0, 4000).width == 1.0


def test_chips_find_free_places(qapp: QApplication):
    chips = [Chip(str(n), f"Finding {n}", QPointF(200, 150), "#ffffff") for n in range(8)]
    taken = [QRectF(0, 0, 120, 60)]
    placed = label_chips.place(chips, QRectF(0, 0, 500, 400), taken)
    rects = [item.rect for item in placed] + taken
    assert len(placed) == 8
    for number, rect in enumerate(rects):
        assert not any(rect.intersects(other) for other in rects[number + 1 :])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Doe^John", "Doe, John"),
        ("Yamada^Tarou=山田^太郎=やまだ^たろう", "Yamada, Tarou"),
        ("=山田^太郎", "山田, 太郎"),
        ("Plain Name", "Plain Name"),
        ("A\u202eB\x00C", "A B C"),
        ("", ""),
    ],
)
def test_person_names(text: str, expected: str):
    assert wording.person_name(text) == expected


def test_a_length_says_what_it_rests_on():
    assert wording.spacing_text(Spacing()) == "Pixel spacing unknown: lengths in px"
    detector = Spacing(0.2, 0.2, SpacingSource.DETECTOR)
    assert wording.spacing_text(detector) == "0.2 mm/px · detector plane"
    patient = Spacing(0.5, 0.25, SpacingSource.PATIENT, 2.0)
    assert wording.spacing_text(patient) == "0.5 × 0.25 mm/px · patient"


def test_colour_maps_by_name():
    for name in ("viridis", "hot", "bone_r", "jet", "inferno"):
        assert colormaps.is_known(name)
        assert colormaps.table(name).shape == (256, 3)
    assert colormaps.is_gray("gray")
    assert not colormaps.is_known("nonsense")
    np.testing.assert_array_equal(colormaps.table("hot_r"), colormaps.table("hot")[::-1])


def test_a_pane_s_picture_is_coloured_only_when_grey(qapp: QApplication, tmp_path: Path):
    grey = np.tile(np.arange(256, dtype=np.uint8), (3, 1))
    Image.fromarray(grey).save(tmp_path / "grey.png")
    colour = np.random.default_rng(2).integers(0, 256, (5, 7, 3), dtype=np.uint8)
    Image.fromarray(colour).save(tmp_path / "colour.png")
    np.testing.assert_array_equal(read_picture(tmp_path / "grey.png", "gray")[0], grey)
    np.testing.assert_array_equal(
        read_picture(tmp_path / "grey.png", "viridis")[0][0], colormaps.table("viridis")
    )
    np.testing.assert_array_equal(read_picture(tmp_path / "colour.png", "hot")[0], colour)


# Export


def test_an_export_without_text_or_layers_is_the_rendered_image(qapp: QApplication):
    tiny = frame(stored=np.arange(100 * 90, dtype=np.int16).reshape(100, 90))
    exported = render_annotated(tiny, instance(size=(100, 90)))
    expected = pipeline.render(tiny)
    np.testing.assert_array_equal(exported, np.repeat(expected[..., None], 3, axis=2))


def test_an_export_draws_the_file_s_own_overlays(qapp: QApplication):
    bits = np.zeros((10, 20), bool)
    bits[3, 4] = True
    base = frame(stored=np.zeros((100, 120), np.int16), overlays=(OverlayPlane(bits, 30, 40),))
    drawn = render_annotated(base, instance())
    assert [tuple(at) for at in np.argwhere(drawn.any(axis=2))] == [(33, 44)]


def test_an_exported_line_lies_on_its_pixels(qapp: QApplication):
    base = frame(stored=np.zeros((100, 100), np.int16))
    drawn = render_annotated(base, instance(), layers=[line_layer((20, 50), (80, 50))])
    drawn = drawn.sum(axis=2)
    column = drawn[:, 50].astype(float)
    middle = float((np.arange(100) * column).sum() / column.sum())
    assert math.isclose(middle, 50.0, abs_tol=0.3)
