"""Keys of commands that the user changes: the menu, the image, the lists and the file follow."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel, QPushButton

from app.views import help_dialogs
from app.views.command_palette import CommandPalette
from app.views.main_window import MainWindow
from app.views.shortcuts import ShortcutsDialog
from app.workspace.workspace import Workspace
from tests.gui.viewer_support import FakeDecoder, WaitUntil, activate, found, instance, study

pytestmark = pytest.mark.gui

CONTROL = Qt.KeyboardModifier.ControlModifier
Opened = Callable[[], MainWindow]


@pytest.fixture
def opened(
    qapp: QApplication, tmp_path: Path, wait_until: WaitUntil, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Opened]:
    monkeypatch.setenv("SIGHTLINE_HOME", str(tmp_path))
    made: list[MainWindow] = []

    def open_window() -> MainWindow:
        decoder = FakeDecoder()
        decoder.result = found(study(instance("1.1")))
        window = MainWindow(Workspace(), decoder, QLabel("chat"), layout_file=tmp_path / "w.ini")
        made.append(window)
        window.show()
        window.open_paths([Path("/images")])
        wait_until(lambda: window.canvas.picture is not None and not window.busy)
        activate(window, wait_until)
        return window

    yield open_window
    for window in made:
        window.quit()
        window.deleteLater()


def edit(window: MainWindow, words: str) -> ShortcutsDialog:
    """Open the dialog with the only command that has these words."""
    window.edit_shortcuts()
    (dialog,) = [one for one in window.findChildren(ShortcutsDialog) if one.isVisible()]
    QTest.keyClicks(dialog.search, words)
    assert len(dialog.model.rows) == 1, dialog.model.rows
    return dialog


def press(button: QPushButton) -> None:
    QTest.mouseClick(button, Qt.MouseButton.LeftButton)


def test_a_new_key_works_and_the_old_one_no_longer_does(opened: Opened):
    window = opened()
    dialog = edit(window, "image invert")
    QTest.keyClick(dialog.key, Qt.Key.Key_J)
    press(dialog.use)
    assert dialog.model.data(dialog.model.index(0, 1)) == "J"
    dialog.accept()
    invert = window.workspace.viewport
    QTest.keyClick(window.canvas, Qt.Key.Key_I)
    assert not invert.display.invert
    QTest.keyClick(window.canvas, Qt.Key.Key_J)
    assert invert.display.invert
    assert "(J)" in window.actions_.invert.toolTip()
    keys = dict(row for _, rows in help_dialogs.gestures(key_of(window)) for row in rows)
    assert keys["J, Shift+R"].startswith("invert")
    window.find_command()
    (palette,) = window.findChildren(CommandPalette)
    QTest.keyClicks(palette.search, "image invert")
    assert palette.list.item(0).text() == "Image › Invert   J"
    palette.reject()


def key_of(window: MainWindow) -> Callable[[str], str]:
    return window.actions_.shortcuts_.key_of


def test_keys_are_kept_and_given_back(opened: Opened, tmp_path: Path):
    first = opened()
    dialog = edit(first, "flip left")
    QTest.keyClick(dialog.key, Qt.Key.Key_G, CONTROL)
    press(dialog.use)
    file = tmp_path / "config" / "shortcuts.json"
    assert json.loads(file.read_text())["keys"] == {"flip_h": "Ctrl+G"}
    dialog.accept()
    second = opened()
    assert second.actions_.flip_h.shortcut().toString() == "Ctrl+G"
    again = edit(second, "flip left")
    press(again.reset)
    assert second.actions_.flip_h.shortcut().toString() == "H"
    assert json.loads(file.read_text())["keys"] == {}
    press(again.remove)
    assert second.actions_.flip_h.shortcut().isEmpty()
    press(again.reset_all)
    assert second.actions_.flip_h.shortcut().toString() == "H"
    again.accept()


def test_a_key_in_use_is_told_with_the_name_of_its_command(opened: Opened):
    window = opened()
    dialog = edit(window, "image invert")
    QTest.keyClick(dialog.key, Qt.Key.Key_F)
    assert "“View › Fit to window”" in dialog.note.text()
    press(dialog.use)
    assert (key_of(window)("invert"), key_of(window)("fit")) == ("F", "")
    QTest.keyClick(dialog.key, Qt.Key.Key_Down)
    assert "scroll through the images" in dialog.note.text()
    assert not dialog.use.isEnabled()
    dialog.accept()
    window.canvas.set_window(None)
    QTest.keyClick(window.canvas, Qt.Key.Key_F)
    assert window.workspace.viewport.display.invert


def test_the_brush_has_its_keys_while_it_is_in_hand(opened: Opened):
    window = opened()
    actions = window.actions_
    actions.shortcuts_.set_key("invert", "[")
    assert actions.turn_left.shortcut().isEmpty()
    actions.brush.trigger()
    assert actions.invert.shortcut().isEmpty()
    actions.brush.trigger()
    assert actions.invert.shortcut().toString() == "["


def test_every_command_of_the_menus_can_have_another_key(opened: Opened):
    window = opened()
    window.edit_shortcuts()
    (dialog,) = window.findChildren(ShortcutsDialog)
    titles = {title for _name, title in dialog.model.rows}
    assert {"View › Theme › Light", "View › Layout › Two by two", "View › Studies"} <= titles
    assert {"Image › Plane › Axial", "Findings › Heatmaps › Show or hide heatmaps"} <= titles
    named = set(window.actions_.shortcuts_.actions.values())
    own = window.findChildren(QAction, options=Qt.FindChildOption.FindDirectChildrenOnly)
    assert len(own) > 60
    assert [one.text() for one in own if one not in named] == []
    dialog.reject()


def test_the_key_that_is_held_for_the_magnifier_can_be_another(opened: Opened):
    window = opened()
    QTest.mouseMove(window.canvas.viewport(), window.canvas.viewport().rect().center())
    assert window.actions_.shortcuts_.set_key("magnify", "G")
    QTest.keyPress(window.canvas, Qt.Key.Key_Z)
    assert not window.canvas.magnifier.on
    QTest.keyRelease(window.canvas, Qt.Key.Key_Z)
    QTest.keyPress(window.canvas, Qt.Key.Key_G)
    assert window.canvas.magnifier.on
    QTest.keyRelease(window.canvas, Qt.Key.Key_G)
    assert not window.canvas.magnifier.on


def test_no_key_of_a_command_is_the_canvas_s_too(opened: Opened):
    window = opened()
    keys = {action.shortcut() for action in window.actions_.shortcuts_.actions.values()}
    both = {key.name for key in window.canvas._keys if QKeySequence(key) in keys}
    assert both <= {"Key_BracketLeft", "Key_BracketRight"}, "it would work when it is taken away"
