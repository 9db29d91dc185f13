"""Room for the image: the rail of a narrow window, panels hidden and brought back, the tools."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QImage, QMouseEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QApplication,
    QComboBox,
    QLabel,
    QLineEdit,
    QPlainTextEdit,
    QPushButton,
    QSlider,
    QTabBar,
    QToolBar,
    QToolButton,
    QWidget,
)

from app.imaging.findings import Point
from app.views.canvas.image_view import ImageView
from app.views.canvas.mouse_gestures import scrolled
from app.views.chat.dock import ChatDock
from app.views.command_palette import commands_of
from app.views.main_window import MainWindow
from app.views.menu_bar import ToolGroup
from app.wiring import Program, ViewRequest, build_window
from app.workspace import drawing
from app.workspace.viewport import Pane
from app.workspace.workspace import Workspace
from tests.gui.viewer_support import (
    FakeDecoder,
    WaitUntil,
    activate,
    finding,
    found,
    frame,
    instance,
    picture_panes,
    study,
)

pytestmark = pytest.mark.gui


@pytest.fixture
def program_window(qapp: QApplication, wait_until: WaitUntil) -> Iterator[MainWindow]:
    """The window of the program, with the real assistant."""
    program = Program()
    window = build_window(program, ViewRequest())
    window.show()
    wait_until(lambda: not window.busy)
    yield window
    window.quit()
    program.close()


LEFT = Qt.MouseButton.LeftButton
Open = Callable[[int], MainWindow]


@pytest.fixture
def open_window(qapp: QApplication, tmp_path: Path, wait_until: WaitUntil) -> Iterator[Open]:
    """Opens windows of a width, one after the other, on one file of settings."""
    made: list[MainWindow] = []

    def open_one(width: int) -> MainWindow:
        if made:
            made[-1].close()
        chat = QLabel("chat")
        chat.setMinimumWidth(300)  # as the real one has
        window = MainWindow(Workspace(), FakeDecoder(), chat, layout_file=tmp_path / "window.ini")
        made.append(window)
        if len(made) == 1:
            window.resize(width, 700)
        window.show()
        window.resize(width, 700)
        wait_until(lambda: window.width() == width and not window.busy)
        return window

    yield open_one
    for window in made:
        window.close()
        window.deleteLater()


def seen(window: MainWindow) -> set[str]:
    return {name for name, dock in window.docks.items() if dock.isVisible()}


def press(window: MainWindow, name: str) -> None:
    QTest.mouseClick(window.arrangement.rail.buttons[name], LEFT)


def test_a_narrow_window_has_one_dock_and_a_rail_with_the_others(
    open_window: Open, wait_until: WaitUntil
):
    window = open_window(1024)
    rail = window.arrangement.rail
    assert rail.isVisible()
    assert seen(window) == {"Studies"}
    wait_until(lambda: window.viewports.width() > 0.65 * 1024)
    for name in ("Assistant", "Findings"):
        press(window, name)
        assert seen(window) == {name}, "one at a time"
        assert rail.buttons[name].isChecked()
        wait_until(lambda: window.viewports.width() > 0.6 * 1024)
    press(window, "Findings")
    assert seen(window) == set()
    wait_until(lambda: window.viewports.width() > 0.9 * 1024)


def test_a_dock_on_the_rail_says_its_key_and_how_much_is_in_it(
    open_window: Open, wait_until: WaitUntil
):
    window = open_window(1024)
    button = window.arrangement.rail.buttons["Findings"]
    assert "Ctrl+3" in button.toolTip()
    bare = button.grab().toImage()
    window.workspace.add(found(study(instance())))
    window.workspace.annotations.add([finding(frame().ref, Point(1, 2), name) for name in "ab"])
    wait_until(lambda: button.count == 2)
    assert button.accessibleName() == "Findings, 2"
    assert button.grab().toImage() != bare


def test_the_rail_says_that_the_assistant_has_answered(
    program_window: MainWindow, wait_until: WaitUntil
):
    window, chat = program_window, program_window.chat
    assert isinstance(chat, ChatDock)
    window.resize(1000, 700)
    wait_until(lambda: window.arrangement.narrow and not window.busy)
    press(window, "Assistant")
    chat.composer.edit.setPlainText("What can you do?")
    QTest.keyClick(chat.composer.edit, Qt.Key.Key_Return)
    press(window, "Studies")
    button = window.arrangement.rail.buttons["Assistant"]
    wait_until(lambda: chat.is_idle() and button.count == 1)
    press(window, "Assistant")
    assert button.count == 0


def test_docks_come_back_when_the_window_is_wide_again(open_window: Open, wait_until: WaitUntil):
    window = open_window(1400)
    assert not window.arrangement.rail.isVisible()
    assert seen(window) == {"Studies", "Findings", "Assistant"}
    window.resize(1000, 700)
    wait_until(lambda: seen(window) == {"Studies"})
    press(window, "Assistant")
    window.resize(1400, 700)
    wait_until(lambda: seen(window) == {"Studies", "Findings", "Assistant"})
    assert not window.arrangement.rail.isVisible()


@pytest.mark.parametrize(("first", "then"), [(1000, 1000), (1000, 1400), (1400, 1000)])
def test_the_next_start_has_the_docks_of_its_width(open_window: Open, first: int, then: int):
    window = open_window(first)
    if first < 1200:
        press(window, "Assistant")
    again = open_window(then)
    wide = {"Studies", "Findings", "Assistant"}
    narrow = {"Assistant"} if first < 1200 else {"Studies"}
    assert seen(again) == (wide if then > 1200 else narrow)


def test_panels_hidden_with_tab_are_there_at_the_next_start(
    open_window: Open, wait_until: WaitUntil
):
    window = open_window(1400)
    activate(window, wait_until)
    before = seen(window)
    window.canvas.setFocus()
    QTest.keyClick(window.canvas, Qt.Key.Key_Tab)
    assert seen(window) == set()
    again = open_window(1400)
    assert seen(again) == before
    activate(again, wait_until)
    for shown in (set[str](), before):
        again.canvas.setFocus()
        QTest.keyClick(again.canvas, Qt.Key.Key_Tab)
        assert seen(again) == shown


def test_the_attributes_share_a_tab_with_the_studies(open_window: Open, wait_until: WaitUntil):
    window = open_window(1600)
    wait_until(lambda: window.docks["Studies"].width() == 270)
    width = window.viewports.width()
    attributes = window.arrangement.actions["Attributes"]
    attributes.trigger()
    wait_until(lambda: attributes.isChecked() and window.attributes.visibleRegion().rectCount())
    assert window.viewports.width() == pytest.approx(width, abs=2)
    studies = window.arrangement.actions["Studies"]
    assert not studies.isChecked()
    studies.trigger()  # brings the tab to the front instead of closing the panel
    wait_until(lambda: studies.isChecked() and window.study_list.visibleRegion().rectCount())
    assert not attributes.isChecked()


# What the left button does


def drag(image: ImageView, dy: int) -> None:
    view = image.viewport()
    start = view.rect().center()
    QTest.mousePress(view, LEFT, pos=start)
    for step in (dy // 2, dy):
        at = QPointF(start + QPoint(0, step))
        move = QMouseEvent(
            *(QEvent.Type.MouseMove, at, QPointF(view.mapToGlobal(at.toPoint()))),
            *(Qt.MouseButton.NoButton, LEFT, Qt.KeyboardModifier.NoModifier),
        )
        QApplication.sendEvent(view, move)
    QTest.mouseRelease(view, LEFT, pos=start + QPoint(0, dy))


def tool_button(window: MainWindow, name: str) -> ToolGroup:
    buttons = window.actions_.toolbar.findChildren(ToolGroup)
    (found_one,) = [one for one in buttons if one.text().strip() == name]
    return found_one


@pytest.fixture
def stack(open_window: Open, wait_until: WaitUntil) -> MainWindow:
    """A window that shows the second of 40 images."""
    window = open_window(1440)
    window.workspace.add(found(study(*(instance(f"1.{n}") for n in range(40)))))
    wait_until(lambda: window.canvas.picture is not None and not window.busy)
    window.canvas.scroller.step(1)
    wait_until(lambda: not window.busy)
    activate(window, wait_until)
    window.canvas.setFocus()
    return window


@pytest.mark.parametrize(
    ("name", "key", "cursor"),
    [
        ("Pan", Qt.Key.Key_G, Qt.CursorShape.OpenHandCursor),
        ("Zoom", Qt.Key.Key_Z, Qt.CursorShape.BitmapCursor),
        ("Scroll", Qt.Key.Key_S, Qt.CursorShape.BitmapCursor),
    ],
)
def test_the_left_button_does_what_the_chosen_tool_says(
    stack: MainWindow, wait_until: WaitUntil, name: str, key: Qt.Key, cursor: Qt.CursorShape
):
    canvas, button = stack.canvas, tool_button(stack, name)
    window_button = tool_button(stack, "Window")
    shift, none = Qt.KeyboardModifier.ShiftModifier, Qt.KeyboardModifier.NoModifier
    held = none if name == "Pan" else shift
    assert window_button.isChecked()
    key_text = key.name.removeprefix("Key_")
    assert f"{key_text})" in button.toolTip()
    for choose in (
        lambda: QTest.keyClick(canvas, key, held),
        lambda: QTest.mouseClick(button, LEFT, pos=QPoint(10, 10)),
    ):
        choose()
        assert button.isChecked()
        assert not window_button.isChecked()
        assert "Active" in button.toolTip()
        assert canvas.cursor().shape() == cursor
        before = canvas.to_widget(0, 0), canvas.zoom, canvas.scroller.place[0]
        drag(canvas, -40 if name == "Zoom" else 40)
        wait_until(lambda: not stack.busy)
        after = canvas.to_widget(0, 0), canvas.zoom, canvas.scroller.place[0]
        assert stack.workspace.viewport.display.window is None, "the window is left alone"
        if name == "Pan":
            assert (after[0] - before[0]).toPoint() == QPoint(0, 40)
        elif name == "Zoom":
            assert after[1] > before[1] * 1.1
        else:
            assert after[2] == before[2] + scrolled(40, canvas.height(), 40)
            assert after[2] > before[2] + 1
        QTest.keyClick(canvas, Qt.Key.Key_Escape)
        assert window_button.isChecked()
        assert canvas.cursor().shape() == Qt.CursorShape.ArrowCursor
    drag(canvas, 40)
    wait_until(lambda: not stack.busy)
    assert stack.workspace.viewport.display.window is not None


def test_the_tool_in_hand_works_on_a_tool_s_picture_too(
    stack: MainWindow, wait_until: WaitUntil, tmp_path: Path
):
    stack.actions_.pointers[1].trigger()
    path = tmp_path / "overlay.png"
    assert QImage(60, 40, QImage.Format.Format_Grayscale8).save(str(path))
    stack.workspace.panes.show(Pane(path, "Overlay", "", "image_visualizer", {}, "1.1"))
    wait_until(lambda: not stack.busy)
    (pane,) = picture_panes(stack)
    before = pane.view.to_widget(0, 0)
    drag(pane.view, 30)
    assert (pane.view.to_widget(0, 0) - before).toPoint() == QPoint(0, 30)


def test_a_drag_of_three_quarters_of_the_view_goes_through_a_long_series():
    assert scrolled(750.0, 1000.0, 500) == 500
    assert scrolled(-750.0, 1000.0, 500) == -500
    assert scrolled(32.0, 1000.0, 3) == 2


def test_a_group_shows_the_tool_in_hand_and_takes_it_again(stack: MainWindow):
    button = tool_button(stack, "Measure")
    stack.actions_.angle.trigger()
    assert button.isChecked()
    assert "angle" in button.toolTip()
    assert "Shift+L" in button.toolTip()
    assert not tool_button(stack, "Window").isChecked()
    QTest.mouseClick(button, LEFT, pos=QPoint(10, 10))  # puts it away
    assert not button.isChecked()
    QTest.mouseClick(button, LEFT, pos=QPoint(10, 10))
    assert stack.canvas.drawing_tool.tool == drawing.ANGLE
    QTest.mouseClick(tool_button(stack, "Window"), LEFT, pos=QPoint(10, 10))
    assert stack.canvas.drawing_tool.tool == ""
    QTest.mouseClick(tool_button(stack, "Window"), LEFT, pos=QPoint(10, 10))
    assert tool_button(stack, "Window").isChecked(), "there is always one in hand"


# Names


def focusable(window: MainWindow) -> list[QWidget]:
    """The widgets of a window that Tab can reach, in its order, whether shown now or not."""
    chain: list[QWidget] = []
    widget = window.nextInFocusChain()
    while widget is not None and widget is not window:
        if widget.focusPolicy() & Qt.FocusPolicy.TabFocus and widget.focusProxy() is None:
            chain.append(widget)
        widget = widget.nextInFocusChain()
    return chain


def lacks(widget: QWidget) -> str:
    """What a widget does not tell: its name, its tooltip, or the key of its action."""
    text = widget.text() if isinstance(widget, QAbstractButton) else ""
    if not (widget.accessibleName() or text.strip()):
        return "name"
    # Lists, pages and the image speak for themselves; so does a text that is read on a button.
    silent = isinstance(widget, QLineEdit | QComboBox | QSlider | QAbstractButton | QPlainTextEdit)
    if silent and not isinstance(widget, QPushButton) and not widget.toolTip():
        return "tooltip"
    action = widget.defaultAction() if isinstance(widget, QToolButton) else None
    key = action.shortcut().toString() if action is not None else ""
    return "key" if html.escape(key) not in widget.toolTip() else ""


def test_every_control_has_a_name_and_a_tooltip_with_its_key(
    program_window: MainWindow, wait_until: WaitUntil
):
    window = program_window
    for width in (1000, 1600):
        window.resize(width, 900)
        wait_until(lambda width=width: window.arrangement.narrow is (width < 1200))
        window.arrangement.actions["Attributes"].trigger()
        QTest.qWait(20)
        bars = window.findChildren(QToolBar)
        in_bars = [one for bar in bars for one in bar.findChildren(QToolButton)]
        own = [one for one in focusable(window) if not isinstance(one.parent(), QTabBar)]
        assert len(own) > 40
        assert len(in_bars) > 20
        told = {(type(one).__name__, one.objectName(), lacks(one)) for one in (*own, *in_bars)}
        assert not [one for one in told if one[2]]
    for button in window.placeholder.findChildren(QPushButton):
        for action in (window.actions_.open_files, window.actions_.open_folder):
            if button.text() == action.text():
                assert action.shortcut().toString() in button.toolTip()


def test_every_action_of_the_menus_that_has_a_key_tells_it_in_its_tooltip(
    program_window: MainWindow,
):
    actions = [action for _, action in commands_of(program_window)]
    keyed = [one for one in actions if not one.shortcut().isEmpty()]
    assert len(keyed) > 50
    for action in keyed:
        assert html.escape(action.shortcut().toString()) in action.toolTip(), action.text()


def test_the_focus_goes_through_the_panels_in_the_order_of_the_view_menu(
    program_window: MainWindow,
):
    docks = program_window.docks
    order = [
        name
        for widget in focusable(program_window)
        for name, dock in docks.items()
        if dock.isAncestorOf(widget)
    ]
    assert list(dict.fromkeys(order)) == list(docks)
