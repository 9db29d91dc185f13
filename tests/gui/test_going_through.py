"""Going through a study: frames and images in turn, the slider, stacks as cines, series by keys."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, QSize, Qt, QTimer
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel, QPushButton, QScrollArea, QToolButton

from app.imaging.types import Content, Problem, Series
from app.paths import resources_dir
from app.views import help_dialogs, notices
from app.views.canvas.scrolling import SPEEDS
from app.views.chat.dock import Header
from app.views.main_window import MainWindow
from app.workspace.workspace import Workspace
from tests.gui.canvas_scene import LEFT, Scene, move
from tests.gui.viewer_support import FakeDecoder, WaitUntil, activate, found, instance, study

pytestmark = pytest.mark.gui


def stack(scene: Scene, *frames: int) -> None:
    """A series of images with so many frames each, the first of them shown."""
    images = [instance(f"1.{number}", frames=count) for number, count in enumerate(frames)]
    scene.workspace.add(found(study(*images)))
    scene.settle()


def shown(scene: Scene) -> tuple[str, int]:
    model = scene.workspace.viewport
    return model.instance.sop_instance_uid, model.frame_index


def test_every_frame_of_every_image_of_a_series_is_reached(scene: Scene):
    stack(scene, 2, 1, 3)
    every = [("1.0", 0), ("1.0", 1), ("1.1", 0), ("1.2", 0), ("1.2", 1), ("1.2", 2)]
    seen = [shown(scene)]
    for _ in range(7):
        scene.key(Qt.Key.Key_Down)
        seen.append(shown(scene))
    assert seen == [*every, every[-1], every[-1]]
    back = [shown(scene)]
    for _ in range(5):
        scene.wheel(120)
        back.append(shown(scene))
    assert back == every[::-1]
    scene.key(Qt.Key.Key_End)
    assert shown(scene) == every[-1]
    scene.key(Qt.Key.Key_Home)
    assert shown(scene) == every[0]


def test_the_slider_is_there_only_where_there_is_something_to_scroll(scene: Scene):
    stack(scene, 1)
    assert not scene.canvas.scrubber.isVisible()
    stack(scene, 1, 1)
    assert scene.canvas.scrubber.isVisible()


def test_the_slider_follows_and_leads(scene: Scene):
    stack(scene, *[1] * 20)
    slider = scene.canvas.scrubber
    area = scene.canvas.viewport().geometry()
    assert slider.geometry().right() == area.right()
    tops = [slider.handle.top()]
    for _ in range(19):
        scene.key(Qt.Key.Key_Right)
        tops.append(slider.handle.top())
    assert tops == sorted(set(tops))
    assert slider.handle.bottom() <= slider.height()

    at = slider.handle.center()
    QTest.mousePress(slider, LEFT, pos=at)
    assert shown(scene) == ("1.19", 0)  # taking the handle alone moves nothing
    to = QPoint(at.x(), 0)
    move(slider, to, LEFT)
    QTest.mouseRelease(slider, LEFT, pos=to)
    scene.settle()
    assert shown(scene) == ("1.0", 0)

    QTest.mouseClick(slider, LEFT, pos=QPoint(6, slider.height() - 2))
    scene.settle()
    assert shown(scene) == ("1.19", 0)
    QTest.mouseClick(slider, LEFT, pos=QPoint(6, slider.height() // 2))
    scene.settle()
    assert shown(scene) in {("1.9", 0), ("1.10", 0)}
    assert scene.workspace.viewport.display.window is None  # no drag of the window began


def test_a_stack_is_played_like_a_cine_and_goes_round(scene: Scene):
    stack(scene, 1, 1, 1)
    seen: list[str] = []
    model = scene.workspace.viewport
    model.image_changed.connect(lambda: seen.append(model.instance.sop_instance_uid))
    scene.canvas.scroller.change_speed(1)
    scene.canvas.scroller.toggle()
    scene.wait_until(lambda: len(seen) >= 5)
    assert "Cine 20 frames/s" in scene.canvas.overlay.corners.bottom_left
    scene.canvas.scroller.pause()
    scene.settle()
    assert seen[:5] == ["1.1", "1.2", "1.0", "1.1", "1.2"]
    assert not any("Cine" in line for line in scene.canvas.overlay.corners.bottom_left)


def test_a_stack_that_plays_stops_when_another_is_chosen(scene: Scene):
    stack(scene, 1, 1, 1)
    scene.canvas.scroller.toggle()
    scene.workspace.viewport.show(scene.workspace.studies.all[0].series[0].instances[2])
    assert not scene.canvas.scroller.playing
    scene.settle()


def test_a_cine_runs_as_fast_as_asked(scene: Scene):
    stack(scene, 8)
    scroller = scene.canvas.scroller
    assert scroller.rate == pytest.approx(50)
    rates = []
    for _ in range(len(SPEEDS)):
        scroller.change_speed(-1)
        rates.append(scroller.rate)
    assert rates[:2] == pytest.approx([25, 12.5])
    assert rates[2:] == [rates[1]] * 3


@pytest.fixture
def window(qapp: QApplication, tmp_path: Path, wait_until: WaitUntil) -> Iterator[MainWindow]:
    made = MainWindow(
        Workspace(), FakeDecoder(), QLabel("chat"), layout_file=tmp_path / "window.ini"
    )
    made.resize(1024, 700)
    made.show()
    made.canvas.setFocus()
    wait_until(lambda: not made.busy)
    yield made
    made.close()
    made.deleteLater()


def test_keys_go_from_series_to_series(window: MainWindow, wait_until: WaitUntil):
    first, second, third = instance("1.1"), instance("2.1"), instance("3.1")
    mask = replace(instance("2.9"), content=Content.SEGMENTATION, references=("1.1",))
    one = study(first, uid="s")
    over = Series("s.9", "Mask", "SEG", 9, (mask,))
    two = Series("s.2", "Late", "CT", 2, (second,))
    window.workspace.add(
        found(replace(one, series=(*one.series, over, two)), study(third, uid="t"))
    )
    wait_until(lambda: not window.busy)
    activate(window, wait_until)
    model = window.workspace.viewport

    def press(key: str) -> str:
        held = Qt.KeyboardModifier
        modifier = held.ShiftModifier if key.isupper() else held.NoModifier
        QTest.keyClick(window.canvas, Qt.Key.Key_N, modifier)
        wait_until(lambda: not window.busy)
        return model.instance.sop_instance_uid

    # A segmentation of what is shown has no images of its own to stop at.
    assert [press("n") for _ in range(3)] == ["2.1", "3.1", "3.1"]
    assert [press("N") for _ in range(3)] == ["2.1", "1.1", "1.1"]


def test_the_help_lists_every_key_of_the_window(window: MainWindow):
    rows = chain(*(rows for _, rows in help_dialogs.gestures(window.actions_.shortcuts_.key_of)))
    words = "\n".join(keys for keys, _ in rows)
    assert "{" not in words
    known = set(re.split(r", | and |[ \n]", words)) | {",", "."}
    known |= {f"Ctrl+{key}" for key in "12345678XCVD"}
    known |= {f"Ctrl+Alt+{key}" for key in "123456SWZLR"}
    assert "Ctrl+1, 2, 3, 5, 6, 7, 8, 4" in words
    assert "Ctrl+X, C, V, D" in words
    assert "Ctrl+Alt+1, 2, 3, 4, 5, 6\n" in words
    assert "Ctrl+Alt+S, W, Z, L, R\n" in words
    actions = window.findChildren(QAction)
    shortcuts = {
        QKeySequence(key).toString()
        for action in actions
        for key in action.shortcuts()
        if not key.isEmpty()
    }
    assert len(shortcuts) > 25
    assert shortcuts - known == set()
    names = {"Up": "Arrows", "Left": "Arrows", "Down": "Arrows", "Right": "Arrows"}
    names |= {"PageUp": "Page Up", "PageDown": "Page Down", "Plus": "+", "Equal": "+", "Minus": "-"}
    names |= {"BracketLeft": "[", "BracketRight": "]"}
    names |= {str(number): "1 to 9" for number in range(1, 10)}
    for key in window.canvas._keys:
        name = key.name.removeprefix("Key_")
        assert names.get(name, name) in words


def test_no_two_actions_share_a_key(window: MainWindow):
    keys = list(
        chain.from_iterable(
            [key.toString() for key in action.shortcuts()]
            for action in window.findChildren(QAction)
        )
    )
    assert sorted(keys) == sorted(set(keys))


def test_the_help_fits_the_smallest_screen(window: MainWindow):
    dialog = help_dialogs.shortcuts(window, window.actions_.shortcuts_.key_of)
    dialog.show()
    assert dialog.width() <= 1024
    assert dialog.height() <= 640
    dialog.close()


def test_on_a_small_screen_the_help_scrolls_and_its_button_stays(
    window: MainWindow, wait_until: WaitUntil
):
    dialog = help_dialogs.shortcuts(window, window.actions_.shortcuts_.key_of)
    dialog.resize(780, 420)
    dialog.show()
    (area,) = dialog.findChildren(QScrollArea)
    (close,) = dialog.findChildren(QPushButton)
    wait_until(lambda: area.verticalScrollBar().maximum() > 0)
    assert dialog.size() == QSize(780, 420)
    assert dialog.rect().contains(close.geometry())
    assert area.widget().width() <= area.viewport().width(), "nothing is cut off at the side"
    dialog.close()


def test_what_the_study_list_keeps_does_not_stay_over_the_image(
    window: MainWindow, wait_until: WaitUntil, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(notices, "LISTED_MS", 50)
    problems = tuple(
        Problem(Path(f"/x/{name}"), "it is a text file", "Open images") for name in "ab"
    )
    window.notices.show_problems(problems)
    assert len(window.notices.all()) == 1
    wait_until(lambda: not window.notices.all())
    window.notices.show_problems(problems[:1])  # one file that was opened on purpose
    (kept,) = window.notices.all()
    assert not kept.findChildren(QTimer)


def test_every_tool_is_in_reach_at_every_width(window: MainWindow, wait_until: WaitUntil):
    bar = window.actions_.toolbar
    more = bar.findChild(QToolButton, "qt_toolbar_ext_button")
    words = Qt.ToolButtonStyle.ToolButtonTextBesideIcon
    for width, worded, whole in ((1440, True, True), (1024, False, True), (820, False, False)):
        window.resize(width, 700)
        wait_until(lambda width=width: bar.width() == width)
        QApplication.processEvents()
        assert (window.actions_.window_button.toolButtonStyle() == words) is worded
        assert more.isVisible() is not whole
        if whole:
            shown = [one for one in bar.findChildren(QToolButton) if one is not more]
            rail = {one.defaultAction() for one in window.arrangement.rail.buttons.values()}
            docks = [one for one in shown if one.defaultAction() in rail]
            assert all(one.isVisible() for one in shown if one not in docks)
            assert all(one.isVisible() is (width >= 1200) for one in docks)
            assert window.arrangement.rail.isVisible() is (width < 1200)
        else:
            seen = more.grab().toImage()
            across = range(seen.width())
            tints = {seen.pixel(x, y) for x in across for y in range(seen.height())}
            assert len(tints) > 3, "its arrow can be seen"


def test_every_icon_says_what_it_is(window: MainWindow):
    for button in window.actions_.toolbar.findChildren(QToolButton):
        assert button.toolTip()


def test_the_keys_that_the_assistant_names_are_those_of_the_window(window: MainWindow):
    lines = tomllib.loads((resources_dir() / "words" / "viewer.toml").read_text("utf-8"))["lines"]
    named = {key for line in lines for key in re.findall(r"\*\*(.+?)\*\*", line["says"])}
    shortcuts = {key.toString() for one in window.findChildren(QAction) for key in one.shortcuts()}
    header = Header()  # of the chat, whose menu is named too
    actions = [*window.findChildren(QAction), *header.findChildren(QAction)]
    texts = {one.text().replace("&", "") for one in actions}
    rows = chain(*(rows for _, rows in help_dialogs.gestures(window.actions_.shortcuts_.key_of)))
    words = "\n".join(keys for keys, _ in rows).casefold()
    assert {"I", "R", "H", "L", "Window", "Hide all findings"} <= named
    buttons = {one.text().strip() for one in window.findChildren(QToolButton)}
    for key in named - shortcuts - texts - buttons:
        assert key.removeprefix("the ").split(" keys")[0].casefold() in words, key
