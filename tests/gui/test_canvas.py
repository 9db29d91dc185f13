"""The canvas: coordinates, mouse, keys, corner text, with real widgets and events."""

from __future__ import annotations

import numpy as np
import pytest
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QColor
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from app.errors import FileProblem
from app.imaging.types import Lut, Orientation, Spacing, SpacingSource, Voi, Window
from tests.gui.canvas_scene import LEFT, MIDDLE, RIGHT, Scene, move, pixels_of
from tests.gui.viewer_support import (
    found,
    frame,
    instance,
    study,
)

pytestmark = pytest.mark.gui


def test_a_pixel_is_drawn_where_its_coordinates_say(scene: Scene):
    scene.show(voi=Voi((Window(1500, 200),)))
    scene.canvas.set_zoom(12.0, QPointF(30, 20))  # pixels as squares, not interpolated
    shot = scene.canvas.grab().toImage()
    bright = scene.at(30, 20)
    assert QColor(shot.pixel(bright)).red() == 255
    across, down = scene.canvas.pixel_scale
    for dx, dy in ((-1, 0), (1, 0), (0, -1), (0, 1)):
        beside = bright + QPoint(round(dx * across), round(dy * down))
        assert QColor(shot.pixel(beside)).red() < 128


def test_image_and_widget_coordinates_are_each_others_inverse(scene: Scene):
    scene.show()
    scene.canvas.set_zoom(7.3, QPointF(60, 40))
    for x, y in ((0, 0), (30.25, 20.75), (99.5, 79.5)):
        back = scene.canvas.to_image(scene.canvas.to_widget(x, y))
        assert (back.x(), back.y()) == pytest.approx((x, y), abs=1e-6)


def test_y_grows_downwards_and_x_to_the_right(scene: Scene):
    scene.show()
    assert scene.at(30, 60).y() > scene.at(30, 20).y()
    assert scene.at(60, 20).x() > scene.at(30, 20).x()


@pytest.mark.parametrize("aspect", [0.5, 1.0, 2.0])
def test_pixels_are_drawn_with_their_true_shape(scene: Scene, aspect: float):
    spacing = Spacing(0.5 * aspect, 0.5, SpacingSource.PATIENT, aspect)
    scene.show(spacing=spacing)
    across, down = scene.canvas.pixel_scale
    assert down / across == pytest.approx(aspect, rel=1e-6)


def test_the_whole_image_is_in_view_at_first_and_after_a_resize(scene: Scene):
    scene.show()
    for size in ((500, 400), (300, 420)):
        scene.canvas.resize(*size)
        scene.settle()
        view = scene.canvas.view_rect
        assert view.left() <= -0.5 + 1e-6
        assert view.right() >= 99.5 - 1e-6
        assert view.top() <= -0.5 + 1e-6
        assert view.bottom() >= 79.5 - 1e-6


def test_drag_to_the_right_widens_the_window_and_down_raises_its_centre(scene: Scene):
    scene.show()
    scene.drag(LEFT, QPoint(200, 150), (90, 0))
    wider = scene.canvas.shown_window
    assert wider.width > 1000
    assert wider.center == pytest.approx(500)
    scene.drag(LEFT, QPoint(200, 150), (0, 90))
    lower = scene.canvas.shown_window
    assert lower.center > 500
    assert lower.width == pytest.approx(wider.width)


def test_drag_down_darkens_a_monochrome2_image(scene: Scene):
    scene.show()
    before = float(pixels_of(scene.canvas).mean())
    scene.drag(LEFT, QPoint(200, 150), (0, 120))
    assert float(pixels_of(scene.canvas).mean()) < before


def test_window_sensitivity_follows_the_value_range(scene: Scene):
    scene.show()
    scene.drag(LEFT, QPoint(200, 150), (600, 0))
    narrow = scene.canvas.shown_window.width - 1000
    wide_image = instance("1.2")
    stored = frame().stored.astype(np.int32) * 10
    scene.decoder.frames[("1.2", 0)] = frame("1.2", stored=stored)
    scene.workspace.viewport.show(wide_image)
    scene.settle()
    scene.drag(LEFT, QPoint(200, 150), (600, 0))
    assert scene.canvas.shown_window.width - 1000 == pytest.approx(10 * narrow, rel=0.01)


def test_the_window_text_follows_the_drag(scene: Scene):
    scene.show()
    view = scene.canvas.viewport()
    QTest.mousePress(view, LEFT, pos=QPoint(200, 150))
    move(view, QPoint(300, 150), LEFT)
    scene.wait_until(lambda: "by hand" in " ".join(scene.canvas.overlay.corners.bottom_left))
    QTest.mouseRelease(view, LEFT, pos=QPoint(300, 150))
    scene.settle()


def test_middle_drag_pans_and_right_drag_zooms(scene: Scene):
    scene.show()
    before = scene.at(50, 40)
    scene.drag(MIDDLE, QPoint(200, 150), (60, 30))
    after = scene.at(50, 40)
    assert (after - before).x() == pytest.approx(60, abs=1)
    assert (after - before).y() == pytest.approx(30, abs=1)
    zoom = scene.canvas.zoom
    scene.drag(RIGHT, QPoint(200, 150), (0, -60))
    assert scene.canvas.zoom > zoom


def test_space_makes_the_left_button_pan(scene: Scene):
    scene.show()
    QTest.keyPress(scene.canvas, Qt.Key.Key_Space)
    scene.drag(LEFT, QPoint(200, 150), (60, 0))
    QTest.keyRelease(scene.canvas, Qt.Key.Key_Space)
    assert scene.workspace.viewport.display.window is None
    assert scene.canvas.view_rect.left() < -0.5


def test_wheel_zooms_a_single_image_at_the_cursor(scene: Scene):
    scene.show()
    middle = QPointF(scene.canvas.viewport().rect().center())
    under, zoom = scene.canvas.to_image(middle), scene.canvas.zoom
    scene.wheel(240)
    assert scene.canvas.zoom > zoom * 1.3
    now = scene.canvas.to_image(middle)
    assert (now.x(), now.y()) == pytest.approx((under.x(), under.y()), abs=0.02)


def test_keys_invert_fit_and_show_one_to_one(scene: Scene):
    scene.show()
    before = pixels_of(scene.canvas).copy()
    scene.key(Qt.Key.Key_I)
    np.testing.assert_array_equal(pixels_of(scene.canvas), 255 - before)
    assert "INVERTED" in " ".join(scene.canvas.overlay.corners.bottom_left)
    scene.key(Qt.Key.Key_0)
    assert scene.canvas.zoom == pytest.approx(1.0)
    assert "Zoom 100%" in scene.canvas.overlay.corners.bottom_left
    scene.key(Qt.Key.Key_F)
    assert scene.canvas.zoom > 1.0


def test_reset_brings_back_window_polarity_and_view(scene: Scene):
    scene.show()
    before = pixels_of(scene.canvas).copy()
    scene.drag(LEFT, QPoint(200, 150), (90, 60))
    scene.key(Qt.Key.Key_I)
    scene.canvas.set_zoom(9.0)
    scene.canvas.reset()
    scene.settle()
    np.testing.assert_array_equal(pixels_of(scene.canvas), before)
    assert scene.canvas.shown_window == Window(500, 1000, explanation="SOFT")
    assert scene.canvas.view_rect.left() <= -0.5 + 1e-6


def test_double_click_fits(scene: Scene):
    scene.show()
    scene.canvas.set_zoom(9.0)
    QTest.mouseDClick(scene.canvas.viewport(), LEFT, pos=QPoint(100, 100))
    assert scene.canvas.view_rect.right() >= 99.5 - 1e-6


def test_wheel_scrolls_frames_and_control_wheel_zooms(scene: Scene):
    scene.show(instance(frames=5))
    scene.wheel(-120)
    assert scene.workspace.viewport.frame_index == 1
    assert "Frame 2 / 5" in scene.canvas.overlay.corners.top_right
    zoom = scene.canvas.zoom
    scene.wheel(120, Qt.KeyboardModifier.ControlModifier)
    assert scene.workspace.viewport.frame_index == 1
    assert scene.canvas.zoom > zoom


def test_a_touchpads_small_steps_add_up_to_one_frame(scene: Scene):
    scene.show(instance(frames=5))
    for _ in range(4):
        scene.wheel(-30)
    assert scene.workspace.viewport.frame_index == 1


def test_keys_go_through_frames_and_stop_at_the_ends(scene: Scene):
    scene.show(instance(frames=25))
    for key, index in (
        (Qt.Key.Key_Down, 1),
        (Qt.Key.Key_PageDown, 11),
        (Qt.Key.Key_End, 24),
        (Qt.Key.Key_Down, 24),
        (Qt.Key.Key_Up, 23),
        (Qt.Key.Key_Home, 0),
        (Qt.Key.Key_PageUp, 0),
    ):
        scene.key(key)
        assert scene.workspace.viewport.frame_index == index
        assert scene.canvas.picture.job.frame_index == index


def test_keys_go_through_a_series_and_keep_the_window(scene: Scene):
    images = [instance(f"1.{number}") for number in (1, 2, 3)]
    scene.workspace.add(found(study(*images)))
    scene.settle()
    scene.drag(LEFT, QPoint(200, 150), (90, 0))
    window = scene.canvas.shown_window
    scene.key(Qt.Key.Key_Down)
    assert scene.workspace.viewport.instance is images[1]
    assert scene.canvas.shown_window == window
    assert "Image 2 / 3" in scene.canvas.overlay.corners.top_right


def test_steps_while_a_frame_is_awaited_add_up(scene: Scene):
    scene.show(instance(frames=20))
    scene.decoder.prompt = False
    for _ in range(4):
        QTest.keyClick(scene.canvas, Qt.Key.Key_Down)
    assert len(scene.decoder.waiting) == 1
    scene.decoder.answer()
    scene.wait_until(lambda: len(scene.decoder.waiting) == 1)
    scene.decoder.answer()
    scene.settle()
    assert scene.canvas.picture.job.frame_index == 4


def test_a_late_answer_is_dropped(scene: Scene):
    scene.show(instance(frames=9))
    scene.decoder.prompt = False
    viewport = scene.workspace.viewport
    viewport.scroll_to(3)
    viewport.scroll_to(7)
    scene.decoder.answer(1)
    scene.wait_until(lambda: viewport.frame is not None and viewport.frame.ref.frame == 7)
    scene.decoder.answer(0)
    scene.settle()
    assert scene.canvas.picture.job.frame.ref.frame == 7
    assert viewport.frame.ref.frame == 7


def test_another_patients_image_never_stays_under_the_new_name(scene: Scene):
    scene.show()
    scene.decoder.prompt = False
    other = instance("9.9", PatientName="Roe^Rick")
    scene.workspace.add(found(study(other, uid="t")))
    assert scene.canvas.picture is None
    assert pixels_of(scene.canvas) is None
    assert scene.canvas.overlay.corners.top_left == ()
    scene.decoder.answer()
    scene.settle()
    assert scene.canvas.overlay.corners.top_left[0] == "Roe, Rick"


def test_a_cine_plays_in_order_and_pauses(scene: Scene):
    scene.show(instance(frames=4))
    seen: list[int] = []
    scene.canvas.picture_changed.connect(lambda: seen.append(scene.canvas.picture.job.frame_index))
    scene.canvas.scroller.toggle()
    scene.wait_until(lambda: len(seen) >= 6)
    scene.canvas.scroller.pause()
    assert seen[:6] == [1, 2, 3, 0, 1, 2]
    assert not scene.canvas.scroller.playing


@pytest.mark.parametrize(
    ("orientation", "letters"),
    [
        (Orientation("L", "P"), ("R", "L", "A", "P")),
        (Orientation("L", "F"), ("R", "L", "H", "F")),
        (Orientation("P", "F"), ("A", "P", "H", "F")),
        (Orientation(), ("", "", "", "")),
    ],
)
def test_side_letters(scene: Scene, orientation: Orientation, letters: tuple[str, ...]):
    scene.show(orientation=orientation)
    sides = scene.canvas.overlay.sides
    assert (sides.left, sides.right, sides.top, sides.bottom) == letters


def test_corner_text_is_what_the_file_says_without_markup(scene: Scene):
    name = "<b>Doe</b>^Jane<img/>"
    scene.show(instance(PatientName=name), lossy="Lossy JPEG 10:1")
    corners = scene.canvas.overlay.corners
    assert corners.top_left[0] == "<b>Doe</b>, Jane<img/>"
    assert "ID 4711" in corners.top_left
    assert corners.top_right[0] == "CT  Axial"
    assert "W 1000  C 500  (file: SOFT)" in corners.bottom_left
    assert corners.bottom_right == ("Lossy JPEG 10:1",)
    assert corners.scale == ("Pixel spacing unknown: lengths in px",)


def test_the_value_under_the_cursor_is_shown_and_goes_with_it(scene: Scene):
    scene.show()
    view = scene.canvas.viewport()
    move(view, scene.at(30, 20), Qt.MouseButton.NoButton)
    assert scene.canvas.overlay.corners.bottom_left[0] == "x 30  y 20   2000 HU"
    QApplication.sendEvent(scene.canvas, QEvent(QEvent.Type.Leave))
    assert not any("x 30" in line for line in scene.canvas.overlay.corners.bottom_left)


def test_an_error_is_shown_instead_of_an_older_image(scene: Scene):
    scene.show()
    scene.decoder.broken = FileProblem(
        "its pixel data is cut off", subject="/images/2.dcm", remedy="Ask for a new export"
    )
    scene.workspace.viewport.show(instance("2"))
    scene.wait_until(lambda: scene.canvas.error)
    assert "cut off" in scene.canvas.error
    assert pixels_of(scene.canvas) is None


def test_a_voi_lut_is_named_and_a_drag_leaves_it_for_a_window(scene: Scene):
    """The LUT's own greys (PS3.3 C.11.2.1.1), then a window over the range that it maps."""
    ramp = np.arange(1001, dtype=np.uint16)
    luts = (Lut(0, 10, ramp, "NORMAL"), Lut(0, 10, ramp[::-1].copy(), "TURNED"))
    scene.show(voi=Voi((), luts))
    assert "VOI LUT: NORMAL" in scene.canvas.overlay.corners.bottom_left
    stored = scene.canvas.frame.stored.clip(0, 1000)
    expected = np.floor(ramp[stored] / 1023 * 255 + 0.5)
    np.testing.assert_array_equal(pixels_of(scene.canvas), expected)
    presets = {window.explanation: window for window in scene.canvas.picture.presets}
    scene.canvas.set_window(presets["TURNED"])
    scene.settle()
    assert "VOI LUT: TURNED" in scene.canvas.overlay.corners.bottom_left
    expected = np.floor((1000 - stored) / 1023 * 255 + 0.5)
    np.testing.assert_array_equal(pixels_of(scene.canvas), expected)
    scene.drag(LEFT, QPoint(200, 150), (90, 0))
    assert scene.canvas.shown_window.lut == -1
    assert scene.canvas.shown_window.width > 1000
    assert "by hand" in " ".join(scene.canvas.overlay.corners.bottom_left)


def test_a_voi_lut_of_another_image_is_not_claimed_where_there_is_none(scene: Scene):
    scene.show()
    scene.canvas.set_window(Window(500, 1000, explanation="NORMAL", lut=0))
    scene.settle()
    assert scene.canvas.shown_window.lut == -1
    assert "VOI LUT" not in " ".join(scene.canvas.overlay.corners.bottom_left)


def test_colour_images_have_no_window(scene: Scene):
    rgb = np.zeros((80, 100, 3), np.uint8)
    rgb[..., 0] = 200
    scene.show(stored=rgb, photometric="RGB", voi=Voi())
    assert scene.canvas.shown_window is None
    scene.drag(LEFT, QPoint(200, 150), (90, 0))
    assert scene.workspace.viewport.display.window is None
    shot = scene.canvas.grab().toImage()
    assert QColor(shot.pixel(scene.at(50, 40))).red() == 200


@pytest.mark.parametrize("shape", [(0, 0), (0, 5), (1, 1), (1, 300), (300, 1)])
def test_images_without_pixels_or_with_one_row_do_no_harm(scene: Scene, shape: tuple[int, int]):
    scene.show(stored=np.zeros(shape, np.int16), voi=Voi())
    scene.drag(LEFT, QPoint(200, 150), (30, 30))
    scene.wheel(120)
    scene.key(Qt.Key.Key_F)
    scene.canvas.grab()
    shown = scene.canvas.picture is not None
    assert shown or scene.canvas.error
    scene.show(instance("2.2"))
    assert scene.canvas.image_size == (100, 80)
