"""Where the window comes from and how to set it; colours, magnifier, true size, interpolation."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pydicom
import pyqtgraph as pg
import pytest
from numpy.typing import NDArray
from pydicom.data import get_palette_files
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QImage
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from app.imaging.pixels import pipeline, windows
from app.imaging.pixels.windows import grey_limits
from app.imaging.types import (
    Lut,
    Rescale,
    Shutter,
    Spacing,
    SpacingSource,
    Voi,
    VoiFunction,
    Window,
)
from app.views.canvas import colormaps
from app.views.canvas.image_layer import to_array
from app.views.canvas.mouse_gestures import RANGE_PX, dragged_window
from app.views.canvas.true_size import screen_key
from app.views.canvas.window_hint import WindowHint
from app.views.histogram_panel import HistogramPanel
from app.views.main_window import MainWindow
from app.views.screen_calibration import CARD_MM, ScreenCalibration
from app.workspace import drawing
from app.workspace.display_settings import DisplaySettings
from app.workspace.workspace import Workspace
from tests.gui.canvas_scene import LEFT, Scene, move
from tests.gui.hands import click
from tests.gui.heartbeat import Heartbeat, stall_ms
from tests.gui.viewer_support import FakeDecoder, WaitUntil, activate, found, frame, instance, study

pytestmark = pytest.mark.gui

KEY = Qt.Key
ATTEMPTS = 8


@pytest.fixture
def decoder() -> FakeDecoder:
    return FakeDecoder()


@pytest.fixture
def window(
    qapp: QApplication, decoder: FakeDecoder, tmp_path: Path, wait_until: WaitUntil
) -> Iterator[MainWindow]:
    made = MainWindow(Workspace(), decoder, layout_file=tmp_path / "window.ini")
    made.resize(1280, 800)
    made.show()
    wait_until(lambda: not made.busy)
    yield made
    made.close()
    made.deleteLater()


@pytest.fixture(autouse=True)
def _own_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SIGHTLINE_HOME", str(tmp_path / "home"))


def show(window: MainWindow, decoder: FakeDecoder, wait_until: WaitUntil, **changes: Any) -> None:
    decoder.frames[("1.1", 0)] = frame(**changes)
    window.workspace.add(found(study(instance(Modality=changes.pop("Modality", "CT")))))
    wait_until(lambda: window.canvas.picture is not None and not window.busy)
    activate(window, wait_until)
    window.canvas.setFocus()


def limits_of(window: MainWindow) -> tuple[float, float]:
    """The highest black and the lowest white value."""
    shown = window.canvas.shown_window
    assert shown is not None
    return grey_limits(shown)


def rendered(scene: Scene, invert: bool = False) -> NDArray[np.uint8]:
    """The shown frame in its window, in greys."""
    frame = scene.canvas.frame
    assert frame is not None
    return pipeline.render(frame, scene.canvas.shown_window, invert)


def bottom_left(scene: Scene) -> str:
    return "\n".join(scene.canvas.overlay.corners.bottom_left)


def draw(scene: Scene, start: tuple[float, float], end: tuple[float, float]) -> None:
    """Drag from one pixel of the image to another."""
    first, last = scene.at(*start), scene.at(*end)
    scene.drag(LEFT, first, (last.x() - first.x(), last.y() - first.y()))


# A window from a region


@pytest.mark.parametrize("quarters", [0, 1])
def test_a_drawn_region_sets_the_window_to_its_values(scene: Scene, quarters: int):
    stored = np.random.default_rng(4).integers(0, 3000, (80, 100)).astype(np.int16)
    stored[20:40, 30:60] = np.arange(600).reshape(20, 30) + 400
    stored[25, 35] = 2900  # a clip
    scene.show(stored=stored, rescale=Rescale(1.0, -1000.0, "HU"))
    scene.canvas.rotate(quarters)
    scene.key(KEY.Key_W)
    assert scene.canvas.drawing_tool.tool == drawing.WINDOW_REGION
    draw(scene, (30, 20), (59, 39))
    inside = stored[20:40, 30:60] - 1000.0
    shown = scene.canvas.shown_window
    assert shown is not None
    assert grey_limits(shown) == pytest.approx(np.percentile(inside, (1, 99)))
    assert "(from a region)" in bottom_left(scene)
    assert scene.canvas.drawing_tool.tool == ""  # one rectangle, then a drag is a drag again
    assert len(scene.workspace.annotations) == 0


def test_a_region_of_one_value_is_shown_mid_grey(scene: Scene):
    stored = np.full((80, 100), 700, np.int16)
    stored[:10], stored[-10:] = 699, 701
    scene.show(stored=stored)
    scene.key(KEY.Key_W)
    draw(scene, (30, 30), (50, 50))
    shown = scene.canvas.shown_window
    assert shown is not None
    assert shown.width >= 1
    image = rendered(scene)
    assert (image[40, 40], image[5, 40], image[75, 40]) == (128, 0, 255)


def test_a_click_or_escape_sets_no_window_and_a_colour_image_has_none(scene: Scene):
    scene.show()
    before = scene.canvas.shown_window
    scene.key(KEY.Key_W)
    QTest.mouseClick(scene.canvas.viewport(), LEFT, pos=scene.at(50, 40))
    assert scene.canvas.drawing_tool.tool == drawing.WINDOW_REGION
    assert scene.canvas.shown_window == before
    scene.key(KEY.Key_Escape)
    assert scene.canvas.drawing_tool.tool == ""
    colour = np.zeros((80, 100, 3), np.uint8)
    scene.decoder.frames[("1.2", 0)] = frame("1.2", stored=colour, photometric="RGB", voi=Voi())
    scene.workspace.viewport.show(instance("1.2"))
    scene.settle()
    scene.key(KEY.Key_W)
    draw(scene, (30, 20), (59, 39))
    assert scene.workspace.viewport.display.window is None


def test_a_region_in_a_large_image_is_read_without_a_stall(scene: Scene):
    stored = np.random.default_rng(1).integers(0, 4096, (2048, 2048)).astype(np.uint16)
    scene.show(stored=stored)
    scene.key(KEY.Key_W)
    draw(scene, (0, 0), (2047, 2047))
    shown = scene.canvas.shown_window
    assert shown is not None
    assert grey_limits(shown) == pytest.approx(np.percentile(stored, (1, 99)), abs=20)


def test_linked_viewports_follow_a_region(
    window: MainWindow, decoder: FakeDecoder, wait_until: WaitUntil
):
    window.workspace.add(found(study(instance("1.1"), instance("1.2"))))
    window.viewports.show_layout("1x2")
    second = window.viewports.frames[1]
    second.viewport.show(instance("1.2"))
    wait_until(lambda: not window.busy and second.canvas.picture is not None)
    window.actions_.link_menu.choices["window"].trigger()
    window.actions_.region.trigger()
    assert second.canvas.drawing_tool.tool == drawing.WINDOW_REGION
    canvas = window.canvas
    start, end = (canvas.to_widget(*at).toPoint() for at in ((10, 40), (40, 60)))
    QTest.mousePress(canvas.viewport(), LEFT, pos=start)
    move(canvas.viewport(), end, LEFT)
    QTest.mouseRelease(canvas.viewport(), LEFT, pos=end)
    wait_until(lambda: not window.busy)
    assert canvas.shown_window == second.canvas.shown_window != Window(500, 1000)
    window.actions_.presets.aboutToShow.emit()
    (checked,) = [one for one in window.actions_.presets.actions() if one.isChecked()]
    assert checked.text().startswith("From a region\tW ")
    assert not window.actions_.region.isChecked()


# Where the window comes from


def test_the_corner_says_where_the_window_comes_from(scene: Scene):
    scene.show(voi=Voi((Window(500, 1000), Window(40, 400, explanation="BRAIN"))))
    assert "W 1000  C 500  (file)" in bottom_left(scene)
    for key, text in (
        (KEY.Key_2, "(file: BRAIN)"),
        (KEY.Key_3, "(automatic)"),
        (KEY.Key_4, "(Lung)"),
        (KEY.Key_1, "(file)"),
    ):
        scene.key(key)
        assert text in bottom_left(scene)
    scene.drag(LEFT, QPoint(200, 150), (60, 0))
    assert "(by hand)" in bottom_left(scene)


def hint_of(window: MainWindow) -> WindowHint:
    return window.viewports.active.window_hint


def film() -> NDArray[np.uint16]:
    """A film of 12 bits in a file that declares 15 of them."""
    y, x = np.indices((400, 500))
    return (1200 + x + y + np.random.default_rng(2).integers(0, 50, x.shape)).astype(np.uint16)


FLAT = Voi((Window(15000, 30000),))


@pytest.mark.parametrize(
    ("voi", "misfit"),
    [(FLAT, "shows 99"), (Voi((Window(9000, 2000),)), "leaves 99")],
    ids=["flat", "outside"],
)
def test_a_useless_window_of_a_file_is_named_and_replaced_by_one_click(
    window: MainWindow, decoder: FakeDecoder, wait_until: WaitUntil, voi: Voi, misfit: str
):
    decoder.frames[("1.1", 0)] = frame(stored=film(), voi=voi, rescale=Rescale())
    window.workspace.add(found(study(instance(Modality="DX"))))
    wait_until(lambda: hint_of(window).isVisible() and not window.busy)
    hint, canvas = hint_of(window), window.canvas
    assert canvas.shown_window == voi.windows[0]  # nothing is changed by itself
    assert f"{misfit}% of the pixels" in hint.text.text()
    click(hint.button)
    wait_until(lambda: not window.busy)
    shown = canvas.shown_window
    assert shown is not None
    low, high = np.percentile(film(), (2.5, 97.5))
    assert grey_limits(shown) == pytest.approx((low, high), abs=5)
    assert "(fitted to the image)" in canvas.overlay.corners.bottom_left[-1]
    assert not hint.isVisible()
    activate(window, wait_until)
    QTest.keyClick(canvas, KEY.Key_R, Qt.KeyboardModifier.ShiftModifier)
    wait_until(lambda: not window.busy)
    assert canvas.shown_window == voi.windows[0]
    assert not hint.isVisible()


def test_a_closed_hint_does_not_come_again(
    window: MainWindow, decoder: FakeDecoder, wait_until: WaitUntil
):
    for uid in ("1.1", "1.2"):
        decoder.frames[(uid, 0)] = frame(uid, stored=film(), voi=FLAT, rescale=Rescale())
    images = [instance(uid, Modality="MR") for uid in ("1.1", "1.2")]
    window.workspace.add(found(study(*images)))
    wait_until(lambda: hint_of(window).isVisible())
    click(hint_of(window).close_button)
    QTest.keyClick(window.canvas, KEY.Key_Down)
    wait_until(
        lambda: (
            window.canvas.frame is not None
            and window.canvas.frame.ref.sop_instance_uid == "1.2"
            and not window.busy
        )
    )
    assert not hint_of(window).isVisible()
    assert window.canvas.shown_window == FLAT.windows[0]


def test_sensible_windows_are_left_alone():
    """A lung window over soft tissue, a tracer that is nearly nowhere, a film that fits."""
    lung = frame(stored=film(), voi=Voi((Window(-600, 1500),)), rescale=Rescale(0.02, 0, "HU"))
    assert not windows.can_misfit(lung, "CT")
    assert not windows.can_misfit(frame(rescale=Rescale()), "PT")
    assert not windows.can_misfit(frame(rescale=Rescale(), voi=Voi()), "MR")
    judge = windows.window_misfit
    for fits in (Window(1650, 1000), Window(1650, 100)):
        assert judge(frame(stored=film(), voi=Voi((fits,))), "DX") is None
    # Half of the range: washed out for a film, but usual where the surroundings are dark.
    half = frame(stored=film(), voi=Voi((Window(2000, 2000),)))
    assert judge(half, "MR") is None
    washed = judge(half, "DX")
    assert washed is not None
    assert washed.share == 0.9
    assert 60 < washed.greys < 128
    mask = frame(stored=(film() > 1600).astype(np.uint8), voi=Voi((Window(0.5, 1),)))
    assert judge(mask, "MR") is None
    assert judge(frame(stored=film(), voi=FLAT), "MR") is not None


# Drags


def test_a_drag_is_fine_for_narrow_windows_and_covers_the_range_for_all():
    """Brain in a CT of 4000 HU, a wide film, a map of fractions."""
    brain = Window(40, 80)
    assert abs(dragged_window(brain, 1, 0, 4000).width - 80) < 0.5
    assert abs(dragged_window(brain, 0, -20, 4000).center - 40) < 15
    assert dragged_window(brain, RANGE_PX, 0, 4000).width == pytest.approx(4080)
    wide = Window(15000, 30000)
    assert dragged_window(wide, -RANGE_PX, 0, 3000).width == 1
    assert dragged_window(wide, -0.9 * RANGE_PX, 0, 3000).width == pytest.approx(3000)
    fraction = Window(0.5, 1.0, VoiFunction.LINEAR_EXACT)
    assert dragged_window(fraction, 0, RANGE_PX / 2, 1.0).center == pytest.approx(1.0)
    there = dragged_window(brain, 300, 0, 4000).width
    assert 500 < there < 2000
    assert dragged_window(brain, -50, 0, 4000).width < 80


def test_single_hot_pixels_do_not_make_a_drag_coarse(scene: Scene):
    stored = frame().stored.astype(np.int32)
    scene.show(stored=stored)
    scene.drag(LEFT, QPoint(200, 150), (0, 90))
    usual = scene.canvas.shown_window
    stored = stored.copy()
    stored[10, 10] = 1_000_000
    scene.decoder.frames[("1.2", 0)] = frame("1.2", stored=stored)
    scene.workspace.viewport.show(instance("1.2"))
    scene.settle()
    scene.drag(LEFT, QPoint(200, 150), (0, 90))
    shown = scene.canvas.shown_window
    assert shown is not None
    assert usual is not None
    assert shown.center == pytest.approx(usual.center, rel=0.02)


# Histogram


def panel_of(window: MainWindow, wait_until: WaitUntil) -> HistogramPanel:
    QTest.keyClick(window.canvas, KEY.Key_W, Qt.KeyboardModifier.ShiftModifier)
    (panel,) = window.findChildren(HistogramPanel)
    wait_until(lambda: panel.isVisible() and not panel.busy and not window.busy)
    return panel


def drag_in(
    panel: HistogramPanel, start: float, end: float, after: Callable[[], object] = lambda: None
) -> None:
    """Drag in the plot from one value to another; call `after` after each event."""
    view, box = panel.plot.viewport(), panel.plot.getViewBox()
    middle = box.viewRange()[1]

    def at(value: float) -> QPoint:
        return box.mapViewToScene(QPointF(value, sum(middle) / 2)).toPoint()

    first, last = at(start), at(end)
    QTest.mouseMove(view, first)
    move(view, first, Qt.MouseButton.NoButton)
    QTest.mousePress(view, LEFT, pos=first)
    for step in range(1, 9):
        after()
        move(view, first + (last - first) * step / 8, LEFT)
    after()
    QTest.mouseRelease(view, LEFT, pos=last)


def test_the_histogram_counts_the_shown_frame_and_its_limits_set_the_window(
    window: MainWindow,
    decoder: FakeDecoder,
    wait_until: WaitUntil,
    monkeypatch: pytest.MonkeyPatch,
):
    # pyqtgraph drops what comes faster than a hand moves.
    monkeypatch.setitem(pg.CONFIG_OPTIONS, "mouseRateLimit", -1)
    show(window, decoder, wait_until)
    panel = panel_of(window, wait_until)
    assert panel.histogram is not None
    stored = window.canvas.frame.stored
    counts, edges = panel.histogram.counts, panel.histogram.edges
    assert counts.sum() == stored.size
    assert counts[np.searchsorted(edges, 2000) - 1] == 1  # the one bright pixel
    assert panel.plot.getAxis("bottom").labelText == "HU"
    low, high = limits_of(window)
    assert panel.limits.getRegion() == pytest.approx((low, high))
    drag_in(panel, high, 1500)
    wait_until(lambda: not window.busy)
    after = limits_of(window)
    assert after == pytest.approx((low, 1500), abs=12)  # a pixel of the plot is some HU
    assert panel.high_field.value() == pytest.approx(after[1], abs=0.01)
    assert panel.high_field.lineEdit().width() > 60  # the number is to be read
    drag_in(panel, 700, 900)
    moved = limits_of(window)
    assert moved[0] - after[0] == pytest.approx(200, abs=15)
    assert moved[1] - moved[0] == pytest.approx(after[1] - after[0])
    panel.low_field.setFocus()
    panel.low_field.selectAll()
    QTest.keyClicks(panel.low_field, "100\r")
    assert limits_of(window)[0] == pytest.approx(100)


def test_the_histogram_follows_windows_set_elsewhere_and_other_images(
    window: MainWindow, decoder: FakeDecoder, wait_until: WaitUntil
):
    show(window, decoder, wait_until)
    panel = panel_of(window, wait_until)
    window.canvas.set_window(Window(300.5, 201))
    assert panel.limits.getRegion() == pytest.approx((200, 400))
    other = np.full((80, 100), 7, np.int16)
    decoder.frames[("1.2", 0)] = frame("1.2", stored=other)
    window.workspace.viewport.show(instance("1.2"))
    wait_until(lambda: not window.busy and not panel.busy)
    assert panel.histogram.counts.tolist() == [8000]
    colour = np.zeros((80, 100, 3), np.uint8)
    decoder.frames[("1.3", 0)] = frame("1.3", stored=colour, photometric="RGB", voi=Voi())
    window.workspace.viewport.show(instance("1.3"))
    wait_until(lambda: not window.busy and not panel.busy)
    assert panel.message.isVisible()
    assert not panel.limits.isVisible()
    assert not panel.low_field.isEnabled()


def test_a_large_frame_is_counted_and_dragged_without_a_stall(
    window: MainWindow, decoder: FakeDecoder, wait_until: WaitUntil, gui_heartbeat: Heartbeat
):
    stored = np.random.default_rng(1).integers(0, 65536, (2048, 2048)).astype(np.uint16)
    show(window, decoder, wait_until, stored=stored)
    panel = panel_of(window, wait_until)
    stalls: list[float] = []
    # Other programs on the machine can only lengthen a stall: once without one is proof.
    while len(stalls) < ATTEMPTS and min(stalls, default=math.inf) >= stall_ms():
        uid = f"1.{len(stalls) + 2}"
        decoder.frames[(uid, 0)] = frame(uid, stored=stored)
        before = panel.histogram
        gui_heartbeat.restart()
        window.workspace.viewport.show(instance(uid))
        wait_until(lambda before=before: panel.histogram is not before and not window.busy)
        drag_in(panel, panel.high_field.value(), 800, gui_heartbeat.look)
        wait_until(lambda: not window.busy)
        stalls.append(gui_heartbeat.longest_ms)
    assert min(stalls) < stall_ms()


# Colour maps


@pytest.mark.parametrize(
    ("name", "uid"),
    [
        ("hot iron", "1.2.840.10008.1.5.1"),
        ("pet", "1.2.840.10008.1.5.2"),
        ("hot metal blue", "1.2.840.10008.1.5.3"),
        ("pet 20 step", "1.2.840.10008.1.5.4"),
    ],
)
def test_the_palettes_of_dicom_are_those_that_pydicom_ships(name: str, uid: str):
    files = [pydicom.dcmread(file) for file in get_palette_files("*.dcm")]
    (palette,) = [one for one in files if one.SOPInstanceUID == uid]
    colours = ("Red", "Green", "Blue")
    parts = [palette[f"{one}PaletteColorLookupTableData"].value for one in colours]
    expected = np.stack([np.frombuffer(part, np.uint8) for part in parts], axis=1)
    np.testing.assert_array_equal(colormaps.table(name), expected)


def colours_of(scene: Scene) -> NDArray[np.uint8]:
    """The full-size pixels on the canvas, [rows, columns, 3]."""
    (patch,) = [one for one in scene.canvas.layer.patches if one.level == 0]
    words = patch.pixels
    assert words.dtype == np.uint32
    return np.stack([words >> 16 & 255, words >> 8 & 255, words & 255], axis=2).astype(np.uint8)


@pytest.mark.parametrize(
    "changes", [{}, {"stored": frame().stored.astype(np.float32)}], ids=["levels", "whole"]
)
def test_a_colour_map_colours_the_greys_and_reset_ends_it(scene: Scene, changes: dict[str, Any]):
    shutter = Shutter(rectangle=(10, 99, 0, 79), level=0.5)
    scene.show(shutter=shutter, **changes)
    scene.canvas.set_colormap("hot iron")
    scene.settle()
    greys = rendered(scene)
    expected = colormaps.table("hot iron")[greys]
    expected[:, :10] = 128  # what the shutter hides has no value
    np.testing.assert_array_equal(colours_of(scene), expected)
    assert "Colour map: Hot iron" in bottom_left(scene)
    bar = scene.canvas.color_bar
    assert bar.isVisible()
    assert (bar.scale.bottom, bar.scale.top) == ("0 HU", "999 HU")
    picture = to_array(bar.grab().toImage())
    assert picture[3, 6].min() > 180  # white hot at the top
    assert picture[-4, 6].max() < 50
    scene.key(KEY.Key_I)
    assert (bar.scale.bottom, bar.scale.top) == ("999 HU", "0 HU")
    inverted = rendered(scene, True)
    got = colours_of(scene)[:, 10:]
    np.testing.assert_array_equal(got, colormaps.table("hot iron")[inverted][:, 10:])
    scene.canvas.reset()
    scene.settle()
    np.testing.assert_array_equal(scene.canvas.layer.patches[-1].pixels.astype(np.uint8), greys)
    assert "Colour map" not in bottom_left(scene)
    assert not bar.isVisible()


def test_the_menu_colours_one_series_which_remembers_it(
    window: MainWindow, decoder: FakeDecoder, wait_until: WaitUntil
):
    show(window, decoder, wait_until)
    menu = window.actions_.colormaps
    menu.choices["pet"].trigger()
    wait_until(lambda: not window.busy)
    first, viewport = viewport_instance(window), window.workspace.viewport
    assert "Colour map: PET" in window.canvas.overlay.corners.bottom_left
    window.workspace.add(found(study(other := instance("5.1"), uid="t")))
    viewport.show(other)
    wait_until(lambda: not window.busy)
    assert viewport.display.colormap == ""
    viewport.show(first)
    wait_until(lambda: not window.busy)
    assert viewport.display.colormap == "pet"
    menu.aboutToShow.emit()
    assert [name for name, action in menu.choices.items() if action.isChecked()] == ["pet"]
    colour = np.zeros((80, 100, 3), np.uint8)
    decoder.frames[("1.3", 0)] = frame("1.3", stored=colour, photometric="RGB", voi=Voi())
    viewport.show(instance("1.3"))
    wait_until(lambda: not window.busy)
    assert not menu.menuAction().isEnabled()


def viewport_instance(window: MainWindow) -> Any:
    return window.workspace.viewport.instance


# Magnifier


def seen(scene: Scene, at: QPoint) -> tuple[int, int, int]:
    colour = scene.canvas.grab().toImage().pixelColor(at)
    return colour.red(), colour.green(), colour.blue()


def test_the_magnifier_shows_the_pixels_around_the_mouse_while_its_key_is_held(scene: Scene):
    """A frame shown at a quarter of its size, in which every second column is white."""
    stored = np.zeros((1600, 2000), np.uint16)
    stored[:, ::2] = 1000
    stored[:, :700] = 0
    scene.show(stored=stored)
    scene.canvas.set_window(Window(500, 1000))
    scene.canvas.flip(across=True)
    scene.settle()
    glass, view = scene.canvas.magnifier, scene.canvas.viewport()
    at = scene.at(700, 800)
    before, place = scene.canvas.view_rect, scene.canvas.shown_window
    move(view, at, Qt.MouseButton.NoButton)
    QTest.keyPress(scene.canvas, KEY.Key_Z)
    assert glass.isVisible()
    assert (glass.geometry().center() - at).manhattanLength() <= 2
    for steps, factor in ((1, 3.0), (5, 4.0), (-9, 2.0)):
        scene.wheel(120 * steps)
        assert glass.factor == factor
    # Mirrored: what is left of column 700 is black, and stands right of the mouse.
    picture = to_array(glass.grab().toImage())
    middle, half = glass.height() // 2, glass.width() // 2
    assert picture[middle, half + 10 : half + 100].max() == 0
    columns = picture[middle, half - 100 : half - 10, 0] > 250
    assert (np.diff(columns) != 0).all()  # every single one
    scene.canvas.toggle_invert()
    scene.settle()
    picture = to_array(glass.grab().toImage())
    assert picture[middle, half + 10 : half + 100].min() == 255
    scene.canvas.toggle_invert()
    QTest.keyRelease(scene.canvas, KEY.Key_Z)
    assert not glass.isVisible()
    assert scene.canvas.view_rect == before
    assert scene.canvas.shown_window == place
    assert len(scene.workspace.annotations) == 0


def test_the_magnifier_of_the_menu_stays_in_every_viewport_until_escape(
    window: MainWindow, decoder: FakeDecoder, wait_until: WaitUntil
):
    show(window, decoder, wait_until)
    window.actions_.magnify.trigger()
    glass, view = window.canvas.magnifier, window.canvas.viewport()
    assert window.actions_.magnify.isChecked()
    move(view, view.rect().center(), Qt.MouseButton.NoButton)
    assert glass.isVisible()
    window.viewports.show_layout("1x2")
    assert all(one.canvas.magnifier.on for one in window.viewports.frames)
    move(view, view.rect().center(), Qt.MouseButton.NoButton)
    QTest.keyClick(window.canvas, KEY.Key_Z)  # its key does not end it
    assert glass.isVisible()
    QTest.keyClick(window.canvas, KEY.Key_Escape)
    assert not any(one.canvas.magnifier.on for one in window.viewports.frames)
    assert not window.actions_.magnify.isChecked()
    window.actions_.magnify.setShortcut("Ctrl+Y")  # as a user may have changed it
    move(view, view.rect().center(), Qt.MouseButton.NoButton)
    QTest.keyPress(window.canvas, KEY.Key_Z)
    assert not glass.isVisible()
    QTest.keyPress(window.canvas, KEY.Key_Y, Qt.KeyboardModifier.ControlModifier)
    assert glass.isVisible()
    QTest.keyRelease(window.canvas, KEY.Key_Y)
    assert not glass.isVisible()


# True size and interpolation


def test_true_size_asks_for_the_screen_once_and_then_holds(
    window: MainWindow, decoder: FakeDecoder, wait_until: WaitUntil
):
    show(window, decoder, wait_until, spacing=Spacing(0.5, 0.5, SpacingSource.CALIBRATED))
    QTest.keyClick(window.canvas, KEY.Key_T)
    (dialog,) = window.findChildren(ScreenCalibration)
    bar = dialog.bar
    QTest.mousePress(bar, LEFT, pos=QPoint(300, 40))
    move(bar, QPoint(12 + 428, 40), LEFT)
    QTest.mouseRelease(bar, LEFT, pos=QPoint(12 + 428, 40))
    QTest.keyClick(bar, KEY.Key_Right)
    QTest.keyClick(bar, KEY.Key_Left)
    click(dialog.keep_button)
    wait_until(lambda: not window.busy)
    canvas = window.canvas
    # 428 px are 85.6 mm: a pixel is 0.2 mm, so that 100 mm must be 500 px.
    length = canvas.to_widget(200, 0) - canvas.to_widget(0, 0)
    assert math.hypot(length.x(), length.y()) == pytest.approx(500, rel=1e-3)
    assert any("(true size)" in line for line in canvas.overlay.corners.bottom_left)
    QTest.keyClick(canvas, KEY.Key_Plus)
    assert not any("(true size)" in line for line in canvas.overlay.corners.bottom_left)
    QTest.keyClick(canvas, KEY.Key_T)
    assert canvas.zoom == pytest.approx(2.5)
    kept = DisplaySettings(Path(window_home(window)) / "display.json")
    assert kept.pixel_mm(screen_key(canvas.screen())) == pytest.approx(CARD_MM / 428)


def window_home(_window: MainWindow) -> Path:
    from app import paths

    return paths.config_dir()


@pytest.mark.parametrize(
    ("spacing", "words"),
    [
        (Spacing(), "no pixel spacing"),
        (Spacing(0.1, 0.1, SpacingSource.DETECTOR), "at the detector only"),
    ],
)
def test_true_size_is_refused_where_the_scale_is_not_the_objects(
    window: MainWindow, decoder: FakeDecoder, wait_until: WaitUntil, spacing: Spacing, words: str
):
    show(window, decoder, wait_until, spacing=spacing)
    zoom = window.canvas.zoom
    QTest.keyClick(window.canvas, KEY.Key_T)
    assert words in window.notices.all()[-1].text.text()
    assert not window.findChildren(ScreenCalibration)
    assert window.canvas.zoom == zoom


@pytest.mark.parametrize("broken", [b"{", b"[]", b'{"screens": 4}', b"\xff", b'{"smooth": 3}'])
def test_a_broken_file_of_display_settings_starts_the_program(tmp_path: Path, broken: bytes):
    file = tmp_path / "display.json"
    file.write_bytes(broken)
    settings = DisplaySettings(file)
    assert settings.smooth
    settings.set_pixel_mm("screen", 0.2)
    DisplaySettings(file).set_smooth(False)  # another program
    settings.set_pixel_mm("other", 0.3)
    again = DisplaySettings(file)
    assert (again.smooth, again.pixel_mm("screen"), again.pixel_mm("other")) == (False, 0.2, 0.3)
    with pytest.raises(ValueError, match="no screen"):
        settings.set_pixel_mm("screen", 40.0)
    file.write_text(json.dumps({"screens": {"a": -1, "b": "x", "c": 0.25}}))
    assert [DisplaySettings(file).pixel_mm(one) for one in "abc"] == [None, None, 0.25]


def test_enlarged_pixels_are_smooth_or_sharp_in_every_viewport_and_it_is_remembered(
    window: MainWindow, decoder: FakeDecoder, wait_until: WaitUntil
):
    step = np.zeros((80, 100), np.int16)
    step[:, 50:] = 1000
    show(window, decoder, wait_until, stored=step)
    canvas = window.canvas
    canvas.set_zoom(4.0)
    wait_until(lambda: not window.busy)
    canvas.overlay.hide()

    def greys() -> int:
        """How many greys are between black and white."""
        image = canvas.grab().toImage().convertToFormat(QImage.Format.Format_Grayscale8)
        line = [image.pixelColor(x, canvas.height() // 2).red() for x in range(canvas.width())]
        return len(set(line) - {0, 255})

    smooth = window.actions_.smooth
    assert smooth.isChecked()
    assert greys() > 0
    smooth.trigger()
    assert greys() == 0
    window.viewports.show_layout("1x2")
    assert not any(one.canvas.layer.smooth for one in window.viewports.frames)
    assert not DisplaySettings(window_home(window) / "display.json").smooth


def test_an_image_is_no_longer_called_of_true_size_on_another_or_remeasured_screen(
    window: MainWindow, decoder: FakeDecoder, wait_until: WaitUntil, monkeypatch: pytest.MonkeyPatch
):
    show(window, decoder, wait_until, spacing=Spacing(0.5, 0.5, SpacingSource.CALIBRATED))
    canvas, settings = window.canvas, window.display_settings

    def is_true() -> bool:
        return any("(true size)" in line for line in canvas.overlay.corners.bottom_left)

    screen = screen_key(canvas.screen())
    settings.set_pixel_mm(screen, 0.25)
    QTest.keyClick(canvas, KEY.Key_T)
    assert is_true()
    settings.set_pixel_mm(screen, 0.5)
    assert not is_true()
    settings.set_pixel_mm(screen, 0.25)
    assert is_true()
    monkeypatch.setattr("app.views.canvas.canvas.screen_key", lambda _screen: "another")
    QApplication.sendEvent(canvas, QEvent(QEvent.Type.ScreenChangeInternal))
    assert not is_true()


def test_a_colour_map_over_a_look_up_table_has_no_scale_that_would_be_false(scene: Scene):
    falling = Lut(0, 16, np.linspace(65535, 0, 1001).astype(np.uint16))
    scene.show(voi=Voi((), (falling,)))
    scene.canvas.set_colormap("hot iron")
    scene.settle()
    assert not scene.canvas.color_bar.isVisible()  # 0 is the brightest here, not the darkest
    scene.canvas.set_window(Window(500, 1000, VoiFunction.SIGMOID))
    scene.settle()
    assert not scene.canvas.color_bar.isVisible()
    scene.canvas.set_window(Window(500, 1000))
    scene.settle()
    assert scene.canvas.color_bar.isVisible()


def test_the_fields_of_the_histogram_show_very_small_limits(
    window: MainWindow, decoder: FakeDecoder, wait_until: WaitUntil
):
    stored = (np.arange(8000).reshape(80, 100) * 1e-10).astype(np.float32)
    show(window, decoder, wait_until, stored=stored, voi=Voi(), rescale=Rescale())
    panel = panel_of(window, wait_until)
    before = limits_of(window)
    assert panel.high_field.value() == pytest.approx(before[1], rel=1e-3)
    panel.high_field.setFocus()
    panel.high_field.selectAll()
    QTest.keyClicks(panel.high_field, "0.0000005\r")
    assert limits_of(window) == pytest.approx((before[0], 5e-7), rel=0.02)


def test_nothing_is_said_of_an_image_whose_window_was_not_judged(
    window: MainWindow, decoder: FakeDecoder, wait_until: WaitUntil
):
    sensible = Voi((Window(1650, 1000),))
    for uid, voi in (("1.1", FLAT), ("1.2", sensible)):
        decoder.frames[(uid, 0)] = frame(uid, stored=film(), voi=voi, rescale=Rescale())
    window.workspace.add(found(study(*[instance(uid, Modality="MR") for uid in ("1.1", "1.2")])))
    wait_until(lambda: hint_of(window).isVisible())
    canvas = window.canvas
    for key, seen in ((KEY.Key_Down, False), (KEY.Key_Up, True)):
        before = canvas.frame
        QTest.keyClick(canvas, key)
        wait_until(lambda before=before: canvas.frame is not before and not window.busy)
        assert hint_of(window).isVisible() == seen


def test_a_hint_that_was_closed_in_another_viewport_goes_away(
    window: MainWindow, decoder: FakeDecoder, wait_until: WaitUntil
):
    decoder.frames[("1.1", 0)] = frame(stored=film(), voi=FLAT, rescale=Rescale())
    film_image = instance(Modality="DX")
    window.workspace.add(found(study(film_image)))
    window.viewports.show_layout("1x2")
    window.workspace.layout.viewports[1].show(film_image)
    first, other = (one.window_hint for one in window.viewports.frames)
    wait_until(lambda: not window.busy and first.isVisible())
    window.viewports.frames[1].canvas.picture_changed.emit()
    assert other.isVisible()
    click(first.close_button)
    click(other.button)
    assert not other.isVisible()
    assert window.workspace.layout.viewports[1].display.window is None
