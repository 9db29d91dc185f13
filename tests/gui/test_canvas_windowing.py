"""What of an image is windowed, when, and that nothing wrong is seen meanwhile."""

from __future__ import annotations

import gc
import math
import weakref
from typing import Any
from unittest.mock import patch as patched

import numpy as np
import pytest
import SimpleITK
from numpy.typing import NDArray
from PySide6.QtCore import QPoint, QPointF, QTimer
from PySide6.QtGui import QImage, QPainter, QRegion
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QWidget

from app.imaging.pixels import pipeline
from app.imaging.types import Lut, Shutter, Voi, VoiFunction, Window
from app.views.canvas.corner_text import Corners
from app.views.canvas.image_layer import Patch, ScreenPatch
from app.views.canvas.rendering import REST_MS, Picture
from tests.gui.canvas_scene import LEFT, Scene, move, pixels_of
from tests.gui.viewer_support import is_rested

pytestmark = pytest.mark.gui

ROWS, COLUMNS = 1400, 1800
WIDE = Window(2048, 4096)


def film(rows: int = ROWS, columns: int = COLUMNS) -> NDArray[np.uint16]:
    """Values of 12 bits: a slope, a bright square and noise."""
    y, x = np.indices((rows, columns))
    noise = np.random.default_rng(5).integers(0, 300, (rows, columns))
    values = 1200 * x // columns + 1200 * y // rows + noise
    values[rows // 3 : rows // 2, columns // 3 : columns // 2] += 1200
    return values.astype(np.uint16)


def show(scene: Scene, **changes: Any) -> None:
    fields: dict[str, Any] = {"stored": film(), "voi": Voi((WIDE,))}
    scene.show(None, **fields | changes)
    rested(scene)


def picture(scene: Scene) -> Picture:
    """What is on the screen."""
    assert scene.canvas.picture is not None
    return scene.canvas.picture


def rendered(
    scene: Scene, window: Window | None = None, *, invert: bool = False
) -> NDArray[np.uint8]:
    """What the shown frame must look like in full."""
    return pipeline.render(picture(scene).job.frame, window, invert)


def rested(scene: Scene) -> None:
    """Wait until nothing more is windowed."""
    scene.wait_until(lambda: is_rested(scene.canvas))


def seen(scene: Scene) -> NDArray[np.int16]:
    """The canvas without what is written over it."""
    scene.canvas.overlay.hide()
    image = scene.canvas.grab().toImage().convertToFormat(QImage.Format.Format_Grayscale8)
    flat = np.frombuffer(image.constBits(), np.uint8).reshape(image.height(), -1)
    return flat[:, : image.width()].astype(np.int16)


def greys(patch: Patch | ScreenPatch) -> NDArray[np.uint8]:
    return patch.pixels.astype(np.uint8)


def patch_of(scene: Scene, level: int) -> Patch:
    return next(patch for patch in scene.canvas.layer.patches if patch.level == level)


def part_of(patch: Patch, whole: NDArray[np.uint8]) -> NDArray[np.uint8]:
    left, top, right, bottom = patch.area
    return whole[top:bottom, left:right]


@pytest.mark.parametrize(
    ("at", "turns", "invert"),
    [
        *(((700, 600), 0, False), ((700.4, 600.7), 0, True), ((700, 600), 1, True)),
        *(((700.4, 600.7), 1, False), ((700.4, 600.7), 2, True)),
    ],
)
def test_one_to_one_each_pixel_of_the_screen_is_what_render_gives(
    scene: Scene, at: tuple[float, float], turns: int, invert: bool
):
    show(scene)
    scene.canvas.set_zoom(1.0, QPointF(*at))
    scene.canvas.rotate(turns)
    if invert:
        scene.canvas.toggle_invert()
    window = Window(1700, 300)
    scene.canvas.set_window(window)
    rested(scene)
    shot, expected = seen(scene), rendered(scene, window, invert=invert)
    for row in range(2, 398, 13):
        for column in range(2, 498, 7):
            place = scene.canvas.to_image(QPointF(column + 0.5, row + 0.5))
            x, y = place.x(), place.y()
            near = {
                int(expected[b, a])
                for a in {math.floor(x + 0.49), math.ceil(x - 0.49)}
                for b in {math.floor(y + 0.49), math.ceil(y - 0.49)}
            }
            assert int(shot[row, column]) in near


@pytest.mark.parametrize("zoom", [7.0])
@pytest.mark.parametrize("invert", [False, True])
def test_at_full_size_the_pixels_in_view_are_what_render_gives(
    scene: Scene, zoom: float, invert: bool
):
    show(scene)
    scene.canvas.set_zoom(zoom, QPointF(700, 600))
    if invert:
        scene.canvas.toggle_invert()
    window = Window(1700, 900)
    scene.canvas.set_window(window)
    scene.settle()
    patch = patch_of(scene, 0)
    assert patch.pixels.size < ROWS * COLUMNS / 4  # not all of it
    expected = rendered(scene, window, invert=invert)
    np.testing.assert_array_equal(greys(patch), part_of(patch, expected))


def test_what_is_on_the_screen_is_what_render_gives(scene: Scene):
    """At a zoom at which pixels are squares, by their centres on the screen."""
    show(scene)
    scene.canvas.set_zoom(8.0, QPointF(700, 600))
    window = Window(1700, 900)
    scene.canvas.set_window(window)
    scene.settle()
    shot, expected = seen(scene), rendered(scene, window)
    view = scene.canvas.view_rect
    columns = range(int(view.left()) + 2, int(view.right()) - 2)
    for row in range(int(view.top()) + 2, int(view.bottom()) - 2, 5):
        places = [scene.at(column, row) for column in columns]
        shown = [shot[place.y(), place.x()] for place in places]
        assert shown == expected[row, columns.start : columns.stop].tolist()


@pytest.mark.parametrize("zoom", [0.0, 0.4, 1.0, 1.7])
def test_a_picture_looks_the_same_during_a_drag_and_after_it(scene: Scene, zoom: float):
    show(scene)
    if zoom:
        scene.canvas.set_zoom(zoom, QPointF(700, 600))
        rested(scene)
    view = scene.canvas.viewport()
    QTest.mousePress(view, LEFT, pos=QPoint(200, 150))
    move(view, QPoint(260, 190), LEFT)
    scene.settle()
    assert not picture(scene).complete
    during = seen(scene)
    QTest.mouseRelease(view, LEFT, pos=QPoint(260, 190))
    rested(scene)
    after = seen(scene)
    assert len(scene.canvas.layer.patches) > 1
    assert during.std() > 10
    np.testing.assert_array_equal(during, after)


@pytest.mark.parametrize("zoom", [0.0, 0.3, 1.0, 3.0])
def test_a_pan_or_zoom_during_a_drag_uncovers_no_older_window(scene: Scene, zoom: float):
    """All is white in the first window and black in the second; painted before any answer."""
    show(scene)
    if zoom:
        scene.canvas.set_zoom(zoom, QPointF(900, 700))
    scene.canvas.set_window(Window(-5000, 10))
    rested(scene)
    assert seen(scene)[200, 250] == 255
    scene.canvas.set_window(Window(9000, 10))
    scene.settle()
    assert not picture(scene).complete
    for step in (
        lambda: scene.canvas.pan_by(150, 90),
        lambda: scene.canvas.zoom_by(0.5),
        lambda: scene.canvas.zoom_by(5.0),
        scene.canvas.fit,
    ):
        step()
        assert seen(scene)[130:270, 170:330].max() == 0


def test_a_pan_shows_the_image_at_once_and_sharp_when_it_is_there(scene: Scene):
    show(scene)
    scene.canvas.set_zoom(1.0, QPointF(300, 300))
    scene.canvas.set_window(Window(1500, 2500))
    scene.settle()
    scene.canvas.pan_by(-600, -500)
    assert seen(scene).min() > 20  # coarser for the moment, but nowhere empty
    scene.settle()
    sharp = seen(scene)
    rested(scene)
    np.testing.assert_array_equal(seen(scene), sharp)
    patch = patch_of(scene, 0)
    expected = rendered(scene, Window(1500, 2500))
    np.testing.assert_array_equal(greys(patch), part_of(patch, expected))


@pytest.mark.parametrize(
    ("zoom", "turns", "flipped"),
    [
        *((0.0, 0, False), (0.7, 1, True), (1.7, 2, False), (1.7, 3, True)),
        *((0.7, 0, True), (3.3, 3, False), (3.3, 2, True), (3.3, 1, False)),
    ],
)
def test_the_screens_own_pixels_lie_where_qt_draws_the_image(
    scene: Scene, zoom: float, turns: int, flipped: bool
):
    """A window that clips nothing: then it does not matter whether Qt interpolates the greys."""
    y, x = np.mgrid[:ROWS, :COLUMNS]
    bumps = 1000 + 400 * np.sin(x / 9) + 300 * np.cos(y / 13) + x / 10
    show(scene, stored=bumps.astype(np.int16))
    canvas = scene.canvas
    if zoom:
        canvas.set_zoom(zoom, QPointF(700, 600))
    for _ in range(turns):
        canvas.rotate(1)
    if flipped:
        canvas.flip(across=True)
    canvas.set_window(Window(1050, 2000))
    rested(scene)
    ours = seen(scene)
    assert canvas.layer.on_screen is not None
    with patched.object(canvas.layer, "on_screen", None):
        qts = seen(scene)
    assert np.ptp(qts) > 60
    # A pixel elsewhere would differ by up to 40 levels in these bumps; both round each step.
    assert np.abs(ours - qts).max() <= 2


def test_the_screens_own_pixels_show_the_values_that_simpleitk_interpolates(scene: Scene):
    """In a narrow window, in which interpolated greys would be others than windowed values."""
    show(scene)
    canvas = scene.canvas
    canvas.set_zoom(3.0, QPointF(700, 600))
    window = Window(2330, 200, VoiFunction.LINEAR_EXACT)
    canvas.set_window(window)
    rested(scene)
    shot, stored = seen(scene), canvas.frame.stored
    image = SimpleITK.GetImageFromArray(stored.astype(np.float64))
    checked = 0
    for column in range(3, canvas.width() - 3, 7):
        for row in range(3, canvas.height() - 3, 5):
            at = canvas.to_image(QPointF(column + 0.5, row + 0.5))
            value = image.EvaluateAtContinuousIndex((at.x(), at.y()), SimpleITK.sitkLinear)
            assert isinstance(value, float)
            grey = 255 * min(max((value - window.center) / window.width + 0.5, 0.0), 1.0)
            assert abs(shot[row, column] - grey) <= 2, (column, row)
            checked += 0 < grey < 255
    assert checked > 20


def test_colours_are_not_rendered_again_for_the_screen(scene: Scene):
    """They cannot be averaged as values, so that there is nothing to do when the view rests."""
    rgb = np.zeros((300, 400, 3), np.uint8)
    rgb[..., 1] = 90
    show(scene, stored=rgb, photometric="RGB", bits=8, voi=Voi())
    requests = []
    with patched.object(scene.canvas._renderer, "request", requests.append):
        scene.canvas.set_zoom(2.0)
        QTest.qWait(3 * REST_MS)
    assert requests == []


def test_finished_buffers_are_never_written_to_again(scene: Scene):
    show(scene)
    kept: list[tuple[Patch | ScreenPatch, NDArray[np.uint8], Window | None]] = []
    for step in range(40):
        scene.canvas.set_window(Window(1000 + 40 * step, 800))
        if step % 4 == 0:
            scene.settle()
            assert picture(scene).window == Window(1000 + 40 * step, 800)
        layer = scene.canvas.layer
        patches = [*layer.patches, *([layer.on_screen] if layer.on_screen is not None else [])]
        kept += [(patch, greys(patch), picture(scene).window) for patch in patches]
    rested(scene)
    assert len({id(patch) for patch, _, _ in kept}) >= 20
    for patch, then, window in kept:
        np.testing.assert_array_equal(greys(patch), then)
        if isinstance(patch, Patch) and patch.level == 0:
            whole = rendered(scene, window)
            np.testing.assert_array_equal(then, part_of(patch, whole))


def test_all_of_an_image_of_common_size_is_there_after_a_drag(scene: Scene):
    show(scene)
    scene.drag(LEFT, QPoint(200, 150), (40, 20))
    rested(scene)
    window = scene.canvas.shown_window
    np.testing.assert_array_equal(pixels_of(scene.canvas), rendered(scene, window))


def test_of_a_huge_image_no_more_is_windowed_than_is_worth_it(scene: Scene):
    stored = np.zeros((6000, 7000), np.uint8)
    stored[::2] = 200
    show(scene, stored=stored, voi=Voi((Window(127.5, 255, VoiFunction.LINEAR_EXACT),)), bits=8)
    sizes = [patch.pixels.size for patch in scene.canvas.layer.patches]
    assert sum(sizes) < 7_000_000
    assert set(np.unique(seen(scene)[150:250, 200:300])) == {100}
    scene.canvas.one_to_one()
    scene.settle()
    view = scene.canvas.view_of()
    assert view is not None
    assert picture(scene).covers(view)
    rested(scene)
    patch = patch_of(scene, 0)
    np.testing.assert_array_equal(greys(patch), part_of(patch, stored))
    assert sum(patch.pixels.size for patch in scene.canvas.layer.patches) < 14_000_000


def test_a_picture_finer_than_the_screen_has_the_detail_that_it_can_show(scene: Scene):
    """Stripes of 2 and 2 columns: none are left in a copy at a quarter of the size."""
    stripes = np.zeros((6000, 7000), np.uint16)
    stripes[:, np.arange(7000) % 4 < 2] = 4000
    scene.canvas.overlay.hide()
    scene.canvas.set_density(4.0)
    show(scene, stored=stripes)
    assert 0.1 > scene.canvas.zoom > 0.05
    fine = QImage(scene.canvas.size() * 4, QImage.Format.Format_RGB32)
    fine.setDevicePixelRatio(4.0)
    painter = QPainter(fine)
    QWidget.render(scene.canvas, painter, QPoint(), QRegion(scene.canvas.rect()))
    painter.end()
    fine = fine.convertToFormat(QImage.Format.Format_Grayscale8)
    flat = np.frombuffer(fine.constBits(), np.uint8).reshape(fine.height(), -1)
    assert flat[800, 400:1600].std() > 40
    assert seen(scene)[200, 100:400].std() < 2  # the screen cannot show them


def test_nothing_is_kept_of_an_image_that_is_closed_while_it_is_drawn(scene: Scene):
    model, held = scene.workspace.viewport, list[weakref.ref[Any]]()

    def close_soon() -> None:
        assert model.frame is not None
        held.append(weakref.ref(model.frame.stored))
        QTimer.singleShot(0, scene.workspace.close_all)

    disconnect = model.frame_changed.connect(close_soon)
    scene.show(stored=film(), voi=Voi((WIDE,)))
    disconnect()
    scene.decoder.frames.clear()
    scene.wait_until(lambda: held and model.instance is None)
    scene.settle()
    assert scene.canvas.picture is None
    scene.wait_until(lambda: _gone(held[0]))


def _gone(kept: weakref.ref[Any]) -> bool:
    """Whether nothing holds it; a worker that has answered may for a moment, until it ends."""
    gc.collect()
    return kept() is None


def test_a_checkerboard_of_extremes_is_grey_when_it_is_shown_smaller(scene: Scene):
    board = (np.indices((1200, 1200)).sum(0) % 2 * 4095).astype(np.uint16)
    show(scene, stored=board)
    shot = seen(scene)[100:300, 200:300]
    assert abs(int(shot.min()) - 128) <= 1
    assert abs(int(shot.max()) - 128) <= 1


def test_a_shutter_covers_while_the_window_is_dragged(scene: Scene):
    shutter = Shutter(rectangle=(400, 1399, 300, 1099), level=0.25)
    show(scene, shutter=shutter)
    scene.canvas.set_window(Window(9000, 10))
    scene.canvas.toggle_invert()
    scene.settle()
    shot = seen(scene)
    for point, grey in (((100, 100), 64), ((900, 700), 255), ((1700, 1300), 64)):
        place = scene.at(*point)
        assert shot[place.y(), place.x()] == grey


RAMP = np.stack([np.arange(256)] * 3, -1).astype(np.uint8)


@pytest.mark.parametrize(
    "changes",
    [
        {"stored": np.dstack([film() // 16] * 3).astype(np.uint8), "photometric": "RGB", "bits": 8},
        {
            "stored": (film() // 16).astype(np.uint8),
            "palette": RAMP,
            "photometric": "PALETTE COLOR",
        },
        {"palette": RAMP, "palette_first": 2500, "supplemental": True, "voi": Voi((WIDE,))},
        {"stored": film().astype(np.float32) / 7, "voi": Voi((Window(300, 500),))},
        {"voi": Voi((), (Lut(0, 8, np.arange(4096, dtype=np.uint16)[::-1] // 16),))},
        {"modality_lut": Lut(0, 12, np.arange(4096, dtype=np.uint16)[::-1])},
    ],
    ids=["rgb", "palette", "supplemental", "float", "voi lut", "modality lut"],
)
def test_frames_that_are_windowed_whole_look_as_render_gives_them(
    scene: Scene, changes: dict[str, Any]
):
    show(scene, **{"voi": Voi()} | changes)
    assert picture(scene).complete
    expected = rendered(scene)
    np.testing.assert_array_equal(pixels_of(scene.canvas), expected)
    scene.canvas.toggle_invert()
    scene.settle()
    expected = rendered(scene, invert=True)
    np.testing.assert_array_equal(pixels_of(scene.canvas), expected)


def test_the_texts_of_a_drag_are_made_once_for_all_windows_of_a_moment(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
):
    show(scene)
    QApplication.processEvents()
    overlay = scene.canvas.overlay
    told: list[tuple[str, ...]] = []
    set_corners = overlay.set_corners

    def noting(corners: Corners) -> None:
        told.append(corners.bottom_left)
        set_corners(corners)

    monkeypatch.setattr(overlay, "set_corners", noting)
    for number in range(5):
        scene.canvas.set_window(Window(1500, 800 + number))
    assert not told
    assert scene.canvas.busy
    scene.settle()
    scene.wait_until(lambda: not scene.canvas.busy)
    assert len(told) == 1
    assert any("804" in line for line in told[0])


def test_the_texts_of_a_turned_image_turn_with_it(scene: Scene):
    show(scene)
    told = scene.canvas.overlay.corners
    scene.canvas.set_window(Window(1500, 800))
    scene.canvas.toggle_invert()
    assert scene.canvas.overlay.corners != told
