"""Flips and quarter turns: image, findings, letters, mouse and marks go together."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QColor
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from app.imaging.findings import Box, Polyline, State
from app.imaging.pixels import pipeline
from app.imaging.space import geometry
from app.imaging.types import Orientation, Spacing, SpacingSource, Voi, Window
from app.views.canvas import orientation
from app.views.canvas.annotated_render import render_annotated
from app.workspace.viewport import Display
from tests.gui.canvas_scene import LEFT, Scene, move
from tests.gui.viewer_support import finding, found, frame, instance, line_layer, study

pytestmark = pytest.mark.gui

TURNS = [
    Display(flip_h=h, flip_v=v, quarter_turns=q)
    for h, v, q in itertools.product((False, True), (False, True), range(4))
]


def oracle(display: Display, x: float, y: float, columns: int, rows: int) -> tuple[float, float]:
    """Where a pixel goes, by moving an image that holds its own coordinates."""
    grid = np.moveaxis(np.mgrid[:rows, :columns], 0, -1)
    if display.flip_h:
        grid = np.fliplr(grid)
    if display.flip_v:
        grid = np.flipud(grid)
    for _ in range(display.quarter_turns):
        grid = np.rot90(grid, k=-1)
    row, column = np.argwhere((grid == (y, x)).all(axis=-1))[0]
    return float(column), float(row)


@pytest.mark.parametrize("display", TURNS)
def test_transform_and_pixels_agree_with_numpy(display: Display):
    mapping = orientation.transform((7, 5), display)
    picture = orientation.orient_pixels(np.arange(35, dtype=np.uint8).reshape(5, 7), display)
    for x, y in ((0, 0), (6, 4), (2, 3), (5, 1)):
        at = mapping.map(QPointF(x, y))
        assert (at.x(), at.y()) == oracle(display, x, y, 7, 5)
        assert picture[round(at.y()), round(at.x())] == y * 7 + x


@pytest.mark.parametrize("display", TURNS)
def test_operations_act_on_what_is_seen(display: Display):
    """Mirroring after any turn mirrors the picture, whatever was done before."""
    picture = np.arange(35, dtype=np.uint8).reshape(5, 7)
    seen = orientation.orient_pixels(picture, display)
    for changed, expected in (
        (display.flipped(across=True), np.fliplr(seen)),
        (display.flipped(across=False), np.flipud(seen)),
        (display.turned(1), np.rot90(seen, -1)),
        (display.turned(-1), np.rot90(seen, 1)),
    ):
        np.testing.assert_array_equal(orientation.orient_pixels(picture, changed), expected)


@pytest.mark.parametrize("display", TURNS)
def test_only_an_image_that_lies_as_in_its_file_has_no_mark(display: Display):
    picture = np.arange(35, dtype=np.uint8).reshape(5, 7)
    same = np.array_equal(orientation.orient_pixels(picture, display), picture)
    assert (display.turn_text == "") is same
    mirrored = display.flip_h != display.flip_v
    assert ("Flipped" in display.turn_text) is mirrored


@pytest.mark.parametrize("display", TURNS)
def test_a_pixel_is_found_where_it_is_drawn(scene: Scene, display: Display):
    scene.show(voi=Voi((Window(1500, 200),)))
    scene.workspace.viewport.set_display(display)
    scene.settle()
    scene.canvas.set_zoom(12.0, QPointF(30, 20))
    shot = scene.canvas.grab().toImage()
    bright = scene.at(30, 20)
    assert QColor(shot.pixel(bright)).red() == 255
    for dx, dy in ((-12, 0), (12, 0), (0, -12), (0, 12)):
        assert QColor(shot.pixel(bright + QPoint(dx, dy))).red() < 128
    back = scene.canvas.to_image(scene.canvas.to_widget(30.25, 20.75))
    assert (back.x(), back.y()) == pytest.approx((30.25, 20.75), abs=1e-6)
    move(scene.canvas.viewport(), bright, Qt.MouseButton.NoButton)
    assert scene.canvas.overlay.corners.bottom_left[0] == "x 30  y 20   2000 HU"


@pytest.mark.parametrize("display", TURNS)
def test_findings_letters_and_clicks_follow(scene: Scene, display: Display):
    scene.show(orientation=Orientation("L", "F"))
    scene.workspace.viewport.set_display(display)
    line = finding(
        scene.canvas.frame.ref, Polyline(((5, 70), (40, 70))), "Width", state=State.ACCEPTED
    )
    box = finding(scene.canvas.frame.ref, Box(60, 5, 95, 30), "Node", state=State.ACCEPTED)
    before = scene.canvas.grab().toImage()
    scene.workspace.annotations.add([line, box])
    scene.settle()
    after = scene.canvas.grab().toImage()
    for x, y in ((20, 70), (60, 17), (75, 30)):  # clear of all texts
        assert after.pixel(scene.at(x, y)) != before.pixel(scene.at(x, y))
    for at, expected in (((20, 70), line.id), ((75, 20), box.id), ((10, 10), "")):
        QTest.mouseClick(scene.canvas.viewport(), LEFT, pos=scene.at(*at))
        assert scene.workspace.annotations.selected == expected
    sides = scene.canvas.overlay.sides
    assert (sides.left, sides.right, sides.top, sides.bottom) == geometry.edge_letters(
        Orientation("L", "F"), display.flip_h, display.flip_v, display.quarter_turns
    )
    assert scene.canvas.overlay.corners.mark == tuple(filter(None, [display.turn_text]))


def test_keys_flip_and_rotate_and_reset_undoes_them(scene: Scene):
    scene.show()
    seen: list[tuple[str, ...]] = []
    for key in (Qt.Key.Key_H, Qt.Key.Key_BracketRight, Qt.Key.Key_V, Qt.Key.Key_BracketLeft):
        scene.key(key)
        seen.append(scene.canvas.overlay.corners.mark)
    assert seen == [
        ("Flipped left-right",),
        ("Flipped left-right, rotated 90° right",),
        ("Rotated 90° right",),
        (),
    ]
    scene.key(Qt.Key.Key_H)
    scene.canvas.reset()
    scene.settle()
    assert scene.canvas.overlay.corners.mark == ()
    assert scene.workspace.viewport.display == Display()
    assert scene.canvas.overlay.sides.left == "R"


@pytest.mark.parametrize("aspect", [0.5, 2.0])
def test_a_quarter_turn_keeps_the_true_shape_of_pixels(scene: Scene, aspect: float):
    scene.show(spacing=Spacing(0.5 * aspect, 0.5, SpacingSource.PATIENT, aspect))
    scene.key(Qt.Key.Key_BracketRight)
    origin, right, down = (scene.canvas.to_widget(*at) for at in ((0, 0), (10, 0), (0, 10)))
    assert abs((right - origin).x()) < 1e-6  # rows run down the screen now
    assert abs((down - origin).y()) < 1e-6
    tall, wide = abs((right - origin).y()), abs((down - origin).x())
    assert wide / tall == pytest.approx(aspect, rel=1e-6)
    for corner in ((-0.5, -0.5), (99.5, 79.5)):
        at = scene.canvas.to_widget(*corner)
        assert -1 <= at.x() <= 501
        assert -1 <= at.y() <= 401


def test_an_unknown_orientation_stays_unlabelled(scene: Scene):
    scene.show(orientation=Orientation())
    scene.key(Qt.Key.Key_H)
    sides = scene.canvas.overlay.sides
    assert (sides.left, sides.right, sides.top, sides.bottom) == ("", "", "", "")
    assert scene.canvas.overlay.corners.mark == ("Flipped left-right",)


def test_flips_stay_while_scrolling_a_cine_or_zoomed(scene: Scene):
    scene.show(instance(frames=5))
    scene.canvas.set_zoom(9.0, QPointF(30, 20))
    middle = scene.canvas.to_image(QPointF(scene.canvas.viewport().rect().center()))
    scene.key(Qt.Key.Key_H)
    now = scene.canvas.to_image(QPointF(scene.canvas.viewport().rect().center()))
    assert (now.x(), now.y()) == pytest.approx((middle.x(), middle.y()), abs=0.2)  # a px
    scene.wheel(-120)
    assert scene.canvas.picture.job.frame_index == 1
    assert scene.canvas.overlay.corners.mark == ("Flipped left-right",)
    assert scene.canvas.to_widget(60, 20).x() < scene.canvas.to_widget(30, 20).x()


def test_flips_stay_from_image_to_image_of_a_series_and_end_with_it(scene: Scene):
    scene.workspace.add(found(study(*(instance(f"1.{number}") for number in (1, 2, 3)))))
    scene.settle()
    scene.key(Qt.Key.Key_V)
    scene.key(Qt.Key.Key_Down)
    assert scene.canvas.picture.job.instance.sop_instance_uid == "1.2"
    assert scene.canvas.overlay.corners.mark == ("Flipped top-bottom",)
    assert scene.canvas.to_widget(30, 60).y() < scene.canvas.to_widget(30, 20).y()
    scene.workspace.add(found(study(instance("9.9"), uid="t")))
    scene.settle()
    assert scene.canvas.overlay.corners.mark == ()
    assert scene.canvas.to_widget(30, 60).y() > scene.canvas.to_widget(30, 20).y()


def test_panning_moves_what_is_seen_with_the_mouse(scene: Scene):
    scene.show()
    scene.key(Qt.Key.Key_BracketRight)
    scene.key(Qt.Key.Key_H)
    before = scene.at(50, 40)
    scene.drag(Qt.MouseButton.MiddleButton, QPoint(200, 150), (60, 30))
    after = scene.at(50, 40)
    assert (after - before).x() == pytest.approx(60, abs=1)
    assert (after - before).y() == pytest.approx(30, abs=1)


def test_an_export_is_turned_with_its_layers(qapp: QApplication):
    base = frame(stored=np.arange(100 * 90, dtype=np.int16).reshape(100, 90))
    display = Display(flip_h=True, quarter_turns=1)
    plain = render_annotated(base, instance(size=(100, 90)), turn=display)
    expected = np.rot90(np.fliplr(pipeline.render(base)), -1)
    np.testing.assert_array_equal(plain, np.repeat(expected[..., None], 3, axis=2))
    layers = [line_layer((20, 10), (20, 60))]
    drawn = render_annotated(base, instance(size=(100, 90)), turn=display, layers=layers)
    changed = np.argwhere((drawn != plain).any(axis=2))
    ends = [oracle(display, 20, y, 90, 100) for y in (10, 60)]
    xs, ys = sorted(x for x, _ in ends), sorted(y for _, y in ends)
    assert changed[:, 1].min() == pytest.approx(xs[0], abs=3)
    assert changed[:, 1].max() == pytest.approx(xs[1], abs=3)
    assert changed[:, 0].mean() == pytest.approx(ys[0], abs=0.6)


@pytest.mark.parametrize("aspect", [2.5, 0.4])
@pytest.mark.parametrize("display", [Display(), Display(flip_h=True, quarter_turns=1)])
def test_an_export_has_the_true_shape_as_the_canvas_has(
    qapp: QApplication, display: Display, aspect: float
):
    """A disc in the patient is round in the picture, and a line drawn on a mark lies on it."""
    rows, columns = 100, 90
    y, x = np.mgrid[:rows, :columns].astype(float)
    disc = ((x - 40) ** 2 + ((y - 45) * aspect) ** 2 < 15**2).astype(np.int16) * 1000
    base = frame(
        stored=disc, spacing=Spacing(aspect, 1.0, SpacingSource.PATIENT, aspect), voi=Voi()
    )
    image = instance(size=(rows, columns))
    bright = render_annotated(base, image, window=Window(500, 2), turn=display)
    width, height = orientation.shown_size((columns, rows), display)
    tall = 1 / aspect if display.quarter_turns else aspect
    assert bright.shape[0] / bright.shape[1] == pytest.approx(height * tall / width, rel=0.005)
    # Corner text is at the corners: the disc is what is bright about the middle of its own row.
    at = oracle(display, 40, 45, columns, rows)
    row = round((at[1] + 0.5) * bright.shape[0] / height)
    column = round((at[0] + 0.5) * bright.shape[1] / width)
    across = np.count_nonzero(bright[row, :, 0] > 128)
    down = np.count_nonzero(bright[:, column, 0] > 128)
    assert down == pytest.approx(across, rel=0.12)
    layers = [line_layer((40, 10), (40, 80))]
    drawn = render_annotated(base, image, Window(500, 2), turn=display, layers=layers)
    changed = np.argwhere((drawn != bright).any(axis=2))
    middle = (changed.min(axis=0) + changed.max(axis=0)) / 2
    assert middle == pytest.approx((row, column), abs=2)
