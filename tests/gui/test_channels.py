"""Channels of a microscope's image in the window: together or one, by mouse, wheel and keys."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tifffile
from PIL import Image
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel, QMenu

from app.headless.render import RenderRequest, render
from app.imaging.decode import Decoder
from app.imaging.findings import Box
from app.imaging.types import Window
from app.tools.images import RunImages
from app.views.canvas.annotated_render import Look
from app.views.canvas.corner_text import Detail
from app.views.canvas.scrolling import TimeBar
from app.views.main_window import MainWindow
from app.views.pictures.picture_source import source_of
from app.views.slice_paste import slices_of
from app.workspace.layout import LAYOUTS
from app.workspace.workspace import Workspace
from tests.gui.canvas_scene import move
from tests.gui.heartbeat import Heartbeat, best, stall_ms
from tests.gui.viewer_support import WaitUntil, activate, finding

pytestmark = [pytest.mark.gui, pytest.mark.usefixtures("forked")]

TIMES, DEPTHS, CHANNELS, SIZE = 2, 3, 3, 64
LEFT, NONE = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier


def stack() -> np.ndarray[Any, np.dtype[np.uint16]]:
    """T Z C Y X: each channel is bright in its own columns, the first depth brightest."""
    rng = np.random.default_rng(5)  # an even background would pass for a border
    data = rng.integers(90, 111, (TIMES, DEPTHS, CHANNELS, SIZE, SIZE)).astype(np.uint16)
    data[..., 50, 30] = 100
    for time in range(TIMES):
        for z in range(DEPTHS):
            for channel in range(CHANNELS):
                left = channel * 20
                data[time, z, channel, :, left : left + 20] = 1000 * (3 - z) + 100 * time + channel
    return data


@pytest.fixture
def window(
    qapp: QApplication, real_decoder: Decoder, tmp_path: Path, wait_until: WaitUntil
) -> Iterator[MainWindow]:
    made = MainWindow(
        Workspace(), real_decoder, QLabel("chat"), layout_file=tmp_path / "window.ini"
    )
    made.resize(1100, 800)
    made.show()
    path = tmp_path / "a.ome.tif"
    metadata = {"axes": "TZCYX", "Channel": {"Name": ["DAPI", "GFP", "RFP"]}}
    tifffile.imwrite(path, stack(), ome=True, metadata=metadata)
    made.open_paths([path])
    wait_until(lambda: made.canvas.picture is not None and not made.busy)
    activate(made, wait_until)
    yield made
    made.close()
    made.deleteLater()


def settle(window: MainWindow, wait_until: WaitUntil) -> None:
    wait_until(lambda: not window.busy and not window.canvas.busy)


def shown(window: MainWindow) -> tuple[int, int, int]:
    """(channel, z, time) of the picture on the screen."""
    job = window.canvas.picture.job
    return job.instance.axes.place(job.frame.ref.frame)


def color_at(window: MainWindow, x: float, y: float) -> tuple[int, int, int]:
    canvas = window.canvas
    image = canvas.viewport().grab().toImage()
    at = canvas.to_widget(x, y)
    color = image.pixelColor(round(at.x()), round(at.y()))
    return color.red(), color.green(), color.blue()


def click(widget: Any) -> None:
    QTest.mouseClick(widget, LEFT)


def panel(window: MainWindow) -> Any:
    return window.viewports.active.channels


def test_it_opens_as_a_composite_in_the_dyes_colours(window: MainWindow, wait_until: WaitUntil):
    settle(window, wait_until)
    assert panel(window).isVisible()
    assert [row.name.text() for row in panel(window).rows] == ["DAPI", "GFP", "RFP"]
    blue, green, red = (color_at(window, x, 5) for x in (10, 30, 50))
    assert blue[2] > 150
    assert max(blue[:2]) < 60
    assert green[1] > 150
    assert max(green[0], green[2]) < 60
    assert red[0] > 150
    assert max(red[1:]) < 60


def test_the_wheel_goes_through_depths_and_with_keys_through_times(
    window: MainWindow, wait_until: WaitUntil
):
    settle(window, wait_until)
    assert window.canvas.scroller.place == (0, DEPTHS)
    QTest.keyClick(window.canvas, Qt.Key.Key_Down)
    settle(window, wait_until)
    assert shown(window) == (0, 1, 0)
    QTest.keyClick(window.canvas, Qt.Key.Key_End)
    settle(window, wait_until)
    assert shown(window) == (0, 2, 0)
    QTest.keyClick(window, Qt.Key.Key_Right, Qt.KeyboardModifier.AltModifier)
    settle(window, wait_until)
    assert shown(window) == (0, 2, 1)
    bar = window.canvas.findChild(TimeBar)
    assert (bar.isVisible(), bar.value(), bar.maximum()) == (True, 1, TIMES - 1)
    bar.setValue(0)
    settle(window, wait_until)
    assert shown(window) == (0, 2, 0)
    window.actions_.play.trigger()
    wait_until(lambda: shown(window) == (0, 2, 1))  # a film of one depth
    window.actions_.play.trigger()


def test_boxes_switch_channels_and_the_last_one_stays(window: MainWindow, wait_until: WaitUntil):
    settle(window, wait_until)
    rows = panel(window).rows
    click(rows[1].check)
    settle(window, wait_until)
    assert max(color_at(window, 30, 5)) < 60
    click(rows[1].check)
    settle(window, wait_until)
    assert color_at(window, 30, 5)[1] > 150
    click(rows[0].check)
    click(rows[1].check)
    click(rows[2].check)  # refused
    settle(window, wait_until)
    assert [row.check.isChecked() for row in rows] == [False, False, True]
    assert [one.ref.frame for one in window.canvas.frame.channels][-1] == 2


def test_a_key_shows_the_selected_channel_alone_in_grey(window: MainWindow, wait_until: WaitUntil):
    settle(window, wait_until)
    click(panel(window).rows[1].name)
    settle(window, wait_until)
    assert shown(window)[0] == 1
    keys = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.AltModifier
    QTest.keyClick(window, Qt.Key.Key_C, keys)
    settle(window, wait_until)
    red, green, blue = color_at(window, 30, 5)
    assert red == green == blue
    assert red > 150
    assert max(color_at(window, 10, 5)) < 60
    corners = window.canvas.overlay.corners
    assert any(
        "channel 2 of 3 (GFP)".casefold() in text.casefold() for text in corners.bottom_right
    )
    QTest.keyClick(window, Qt.Key.Key_Down, Qt.KeyboardModifier.AltModifier)
    settle(window, wait_until)
    assert shown(window)[0] == 2
    assert color_at(window, 50, 5)[0] > 150
    QTest.keyClick(window, Qt.Key.Key_C, keys)
    settle(window, wait_until)
    assert color_at(window, 10, 5)[2] > 150


def test_each_channel_keeps_its_own_window(window: MainWindow, wait_until: WaitUntil):
    settle(window, wait_until)
    canvas, model = window.canvas, window.canvas.model
    first = canvas.shown_window
    click(panel(window).rows[2].name)
    settle(window, wait_until)
    start = canvas.viewport().rect().center()
    QTest.mousePress(canvas.viewport(), LEFT, pos=start)
    for step in (10, 40, 80):
        move(canvas.viewport(), start + QPoint(step, 0), LEFT)
    QTest.mouseRelease(canvas.viewport(), LEFT, pos=start + QPoint(80, 0))
    settle(window, wait_until)
    wide = canvas.shown_window
    assert wide.width != first.width
    assert model.channel_looks[0].window is None
    click(panel(window).rows[0].name)
    settle(window, wait_until)
    assert canvas.shown_window == first
    click(panel(window).rows[2].name)
    settle(window, wait_until)
    assert canvas.shown_window == wide
    click(panel(window).rows[2].auto)
    settle(window, wait_until)
    assert model.display.window is None


def test_a_colour_is_chosen_from_the_swatch(window: MainWindow, wait_until: WaitUntil):
    settle(window, wait_until)
    click(panel(window).rows[0].swatch)
    (menu,) = [one for one in panel(window).findChildren(QMenu) if one.isVisible()]
    yellow = next(one for one in menu.actions() if one.text() == "Yellow")
    yellow.trigger()
    menu.close()
    settle(window, wait_until)
    red, green, blue = color_at(window, 10, 5)
    assert min(red, green) > 150
    assert blue < 60


def test_values_of_all_visible_channels_under_the_cursor(window: MainWindow, wait_until: WaitUntil):
    settle(window, wait_until)
    canvas = window.canvas
    at = canvas.to_widget(30, 50)
    move(canvas.viewport(), QPoint(round(at.x()), round(at.y())), Qt.MouseButton.NoButton)
    wait_until(lambda: "DAPI" in " ".join(canvas.overlay.corners.bottom_left))
    texts = " ".join(canvas.overlay.corners.bottom_left)
    assert "DAPI 100 · GFP 3001 · RFP 100" in texts


def test_findings_of_a_channel_are_drawn_at_its_depth_only(
    window: MainWindow, wait_until: WaitUntil, tmp_path: Path, real_decoder: Decoder
):
    settle(window, wait_until)
    images = RunImages(window.workspace.open_images(), tmp_path, real_decoder)
    other = images.resolve("image-1", channel="GFP", z=1)
    assert other.ref.frame != window.canvas.frame.ref.frame
    window.workspace.annotations.add([finding(other.ref, Box(5, 5, 20, 20), "Cell")])
    settle(window, wait_until)
    assert not window.canvas.annotation_items()
    QTest.keyClick(window.canvas, Qt.Key.Key_Down)
    settle(window, wait_until)
    assert [item.finding.label for item in window.canvas.annotation_items()] == ["Cell"]
    click(panel(window).rows[1].check)  # its channel is not shown: the place is the same
    window.actions_.together.trigger()
    settle(window, wait_until)
    assert len(window.canvas.annotation_items()) == 1


def test_a_finding_chosen_in_the_list_keeps_the_selected_channel(
    window: MainWindow, wait_until: WaitUntil, tmp_path: Path, real_decoder: Decoder
):
    settle(window, wait_until)
    images = RunImages(window.workspace.open_images(), tmp_path, real_decoder)
    here = images.resolve("image-1", channel="RFP")
    below = images.resolve("image-1", channel="RFP", z=2)
    found = [
        finding(here.ref, Box(5, 5, 20, 20), "Here", id="here"),
        finding(below.ref, Box(5, 5, 20, 20), "Below", id="below"),
    ]
    window.workspace.annotations.add(found)
    settle(window, wait_until)
    window.findings_list.shown.emit("here")
    settle(window, wait_until)
    assert shown(window) == (0, 0, 0)
    window.findings_list.shown.emit("below")
    settle(window, wait_until)
    assert shown(window) == (2, 2, 0)
    job = window.canvas.picture.job
    places = slices_of(window.workspace, job.instance, job.frame_index)
    assert [job.instance.axes.place(index) for _, index in places] == [
        (2, z, 0) for z in range(DEPTHS)
    ]


def test_tools_get_the_selected_or_the_only_visible_channel(
    window: MainWindow, wait_until: WaitUntil, tmp_path: Path, real_decoder: Decoder
):
    settle(window, wait_until)
    rows = panel(window).rows
    click(rows[1].name)
    settle(window, wait_until)
    images = RunImages(window.workspace.open_images(), tmp_path, real_decoder)
    np.testing.assert_array_equal(images.resolve("image-1").frame.stored, stack()[0, 0, 1])
    click(rows[0].check)
    click(rows[1].check)
    settle(window, wait_until)
    images = RunImages(window.workspace.open_images(), tmp_path, real_decoder)
    np.testing.assert_array_equal(images.resolve("image-1").frame.stored, stack()[0, 0, 2])


def test_a_picture_of_it_has_the_same_colours(window: MainWindow, wait_until: WaitUntil):
    settle(window, wait_until)
    source = source_of(window.canvas, window.workspace, window.decoder)
    assert source is not None
    assert len(source.frames) == DEPTHS
    plain = Look(marks=False, detail=None)
    here, next_depth = source.draw(0, plain), source.draw(1, plain)
    for picture in (here, next_depth):
        assert picture[5, 10, 2] > 150
        assert picture[5, 10, :2].max() < 60
        assert picture[5, 30, 1] > 150
        assert picture[5, 50, 0] > 150
    assert not np.array_equal(here, next_depth)


def test_render_annotated_shows_what_the_window_shows(tmp_path: Path):
    path, out = tmp_path / "a.ome.tif", tmp_path / "a.png"
    metadata = {"axes": "TZCYX", "Channel": {"Name": ["DAPI", "GFP", "RFP"]}}
    tifffile.imwrite(path, stack().repeat(8, 3).repeat(8, 4), ome=True, metadata=metadata)
    assert render(RenderRequest(path, out, annotated=True)) == 0
    with Image.open(out) as picture:
        pixels = np.asarray(picture.convert("RGB"))
    for x, channel in ((10, 2), (30, 1), (50, 0)):
        color = pixels[250, 8 * x]
        assert color[channel] > 150
        assert sorted(color)[1] < 60


def test_ctrl_alt_and_the_wheel_go_through_times(window: MainWindow, wait_until: WaitUntil):
    settle(window, wait_until)
    keys = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.AltModifier
    view = window.canvas.viewport()
    middle = QPointF(view.rect().center())
    event = QWheelEvent(
        middle,
        view.mapToGlobal(middle),
        QPoint(),
        QPoint(-120, 0),  # as Qt has it while Alt is held
        Qt.MouseButton.NoButton,
        keys,
        Qt.ScrollPhase.NoScrollPhase,
        False,
    )
    QApplication.sendEvent(view, event)
    settle(window, wait_until)
    assert shown(window) == (0, 0, 1)


@pytest.mark.slow
def test_scrolling_four_large_channels_stalls_nothing(
    window: MainWindow, wait_until: WaitUntil, tmp_path: Path, gui_heartbeat: Heartbeat
):
    """2,048 x 2,048 x 4 channels, 16 bits, 6 depths: no stall of the window over 50 ms."""
    rng = np.random.default_rng(6)
    data = rng.integers(100, 5000, (6, 4, 2048, 2048)).astype(np.uint16)
    path = tmp_path / "large.ome.tif"
    tifffile.imwrite(path, data, ome=True, metadata={"axes": "ZCYX"})
    window.open_paths([path])
    wait_until(lambda: window.canvas.frame is not None and window.canvas.frame.rows == 2048)
    settle(window, wait_until)
    runs: list[dict[str, float]] = []
    for _ in range(5):  # other programs can only lengthen a stall: each step quiet once is proof
        run: dict[str, float] = {}
        for step, way in enumerate((1, 1, 1, -1, -1, -1)):
            gui_heartbeat.restart()
            window.canvas.scroller.step(way)
            settle(window, wait_until)
            gui_heartbeat.look()
            run[str(step)] = gui_heartbeat.longest_ms
        runs.append(run)
        if max(best(runs).values()) < stall_ms():
            break
    assert max(best(runs).values()) < stall_ms()


def test_the_thumbnail_shows_the_channels_together(window: MainWindow, wait_until: WaitUntil):
    settle(window, wait_until)
    image = window.canvas.model.instance
    assert image is not None
    small = window.decoder.thumbnail(image, 64).result(30)
    for x, channel in ((10, 2), (30, 1), (50, 0)):
        assert small[32, x].argmax() == channel
        assert sorted(small[32, x])[1] < 60


def test_linked_windows_show_the_same_channels(window: MainWindow, wait_until: WaitUntil):
    settle(window, wait_until)
    model = window.canvas.model
    window.workspace.arrange(LAYOUTS["1x2"])
    settle(window, wait_until)
    other = next(one for one in window.workspace.layout.viewports if one is not model)
    other.show(model.instance, 1)
    wait_until(lambda: other.frame is not None and not window.busy)
    window.links.set_link("window", True)
    click(panel(window).rows[2].check)
    wanted = Window(2000, 500)
    window.canvas.set_window(wanted)
    settle(window, wait_until)
    assert [look.visible for look in other.display.channels] == [True, True, False]
    assert other.channel == 1
    assert other.channel_looks[0].window == wanted
    assert other.display.window is None


def test_the_panel_goes_with_the_texts(window: MainWindow, wait_until: WaitUntil):
    settle(window, wait_until)
    window.canvas.set_detail(Detail.NONE)
    assert not panel(window).isVisible()
    window.canvas.set_detail(Detail.ALL)
    assert panel(window).isVisible()


def test_it_is_shown_again_as_it_was(window: MainWindow, wait_until: WaitUntil):
    settle(window, wait_until)
    click(panel(window).rows[0].check)
    model = window.canvas.model
    image = model.instance
    settle(window, wait_until)
    model.show(None)
    settle(window, wait_until)
    assert not panel(window).isVisible()
    model.show(image)
    settle(window, wait_until)
    assert [look.visible for look in model.display.channels] == [False, True, True]
    assert max(color_at(window, 10, 5)) < 60
