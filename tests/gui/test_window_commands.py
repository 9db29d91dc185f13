"""Texts of the image, presets by number, full screen, hidden panels and the command palette."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel, QPushButton

from app.imaging.types import Voi, Window
from app.views.command_palette import CommandPalette, commands_of
from app.views.main_window import MainWindow
from app.workspace.workspace import Workspace
from tests.gui.viewer_support import (
    FakeDecoder,
    WaitUntil,
    activate,
    found,
    frame,
    instance,
    study,
)

pytestmark = pytest.mark.gui

CONTROL, SHIFT = Qt.KeyboardModifier.ControlModifier, Qt.KeyboardModifier.ShiftModifier


@pytest.fixture
def window(qapp: QApplication, tmp_path: Path, wait_until: WaitUntil) -> Iterator[MainWindow]:
    decoder = FakeDecoder()
    windows = (Window(40, 400, explanation="SOFT"), Window(300, 1500, explanation="BONE"))
    decoder.frames[("1.1", 0)] = frame("1.1", voi=Voi(windows))
    decoder.result = found(study(instance("1.1", StudyDescription="Head of Jane")))
    made = MainWindow(Workspace(), decoder, QLabel("chat"), layout_file=tmp_path / "window.ini")
    made.resize(1280, 800)
    made.show()
    made.open_paths([Path("/images")])
    wait_until(lambda: made.canvas.picture is not None and not made.busy)
    activate(made, wait_until)
    yield made
    made.quit()
    made.deleteLater()


def palette(window: MainWindow) -> CommandPalette:
    QTest.keyClick(window, Qt.Key.Key_P, CONTROL | SHIFT)
    (dialog,) = window.findChildren(CommandPalette)
    return dialog


def test_f2_shows_the_texts_without_names_then_warnings_only_then_all(window: MainWindow):
    texts = window.canvas.overlay
    whole = texts.corners
    assert "Doe, Jane" in whole.top_left[0]
    QTest.keyClick(window, Qt.Key.Key_F2)
    said = " ".join((*texts.corners.top_left, *texts.corners.top_right))
    assert not any(part in said for part in ("Doe", "Jane", "4711", "Axial"))
    assert "CT" in said
    assert "2024-01-31" in said
    window.canvas.flip(across=True)
    QTest.keyClick(window, Qt.Key.Key_F2)
    assert texts.corners.top_left == texts.corners.bottom_left == ()
    assert texts.corners.mark == ("Flipped left-right",)
    assert texts.sides.left
    window.canvas.flip(across=True)
    QTest.keyClick(window, Qt.Key.Key_F2)
    assert texts.corners == whole


def test_a_new_viewport_has_as_much_text_as_the_others(window: MainWindow, wait_until: WaitUntil):
    QTest.keyClick(window, Qt.Key.Key_F2)
    window.viewports.show_layout("1x2")
    second = window.viewports.frames[1]
    second.viewport.show(window.workspace.instance_of("1.1"))
    wait_until(lambda: not window.busy)
    assert "Doe" not in " ".join(second.canvas.overlay.corners.top_left)


def test_number_keys_choose_the_presets_as_their_menu_numbers_them(window: MainWindow):
    menu = window.actions_.presets
    menu.aboutToShow.emit()
    assert [action.text().split("\t")[0] for action in menu.actions()[:2]] == [
        "&1  SOFT",
        "&2  BONE",
    ]
    QTest.keyClick(window.canvas, Qt.Key.Key_2)
    assert window.canvas.shown_window.center == 300
    QTest.keyClick(window.canvas, Qt.Key.Key_1)
    assert window.canvas.shown_window.center == 40
    presets = window.canvas.picture.presets
    QTest.keyClick(window.canvas, Qt.Key.Key_9)
    assert len(presets) > 8
    assert window.canvas.shown_window.center == presets[8].center


def test_tab_on_the_image_hides_all_panels_and_shows_the_same_again(window: MainWindow):
    shown = [name for name, dock in window.docks.items() if dock.isVisible()]
    window.canvas.setFocus()
    before = window.canvas.width()
    QTest.keyClick(window.canvas, Qt.Key.Key_Tab)
    assert not any(dock.isVisible() for dock in window.docks.values())
    QApplication.processEvents()
    assert window.canvas.width() > 1.3 * before
    QTest.keyClick(window.canvas, Qt.Key.Key_Tab)
    assert [name for name, dock in window.docks.items() if dock.isVisible()] == shown


def test_f11_fills_the_screen_and_gives_the_window_back(window: MainWindow):
    QTest.keyClick(window, Qt.Key.Key_F11)
    assert window.isFullScreen()
    QTest.keyClick(window, Qt.Key.Key_F11)
    assert not window.isFullScreen()


def test_the_palette_finds_a_command_by_words_and_runs_it(window: MainWindow):
    dialog = palette(window)
    QTest.keyClicks(dialog.search, "flip left")
    assert [dialog.list.item(n).text() for n in range(dialog.list.count())] == [
        "Image › Flip left-right   H"
    ]
    QTest.keyClick(dialog.search, Qt.Key.Key_Return)
    assert window.workspace.viewport.display.flip_h


def test_the_palette_lists_every_menu_entry_and_skips_what_cannot_be_done(window: MainWindow):
    names = [name for name, _ in commands_of(window)]
    assert "File › Open files…" in names
    assert "View › Layout › Two by two" in names
    assert "Image › Window presets › 2  BONE" in names
    dialog = palette(window)
    QTest.keyClicks(dialog.search, "undo")
    item = dialog.list.item(0)
    assert not item.flags() & Qt.ItemFlag.ItemIsEnabled
    QTest.keyClick(dialog.search, Qt.Key.Key_Return)
    assert dialog.isVisible()
    dialog.reject()


def test_the_arrow_keys_move_in_the_palette_while_typing(window: MainWindow):
    dialog = palette(window)
    QTest.keyClicks(dialog.search, "rotate")
    QTest.keyClick(dialog.search, Qt.Key.Key_Down)
    QTest.keyClick(dialog.search, Qt.Key.Key_Return)
    assert window.workspace.viewport.display.quarter_turns == 1  # the second: rotate right


def test_the_last_session_is_offered_with_its_layout(
    qapp: QApplication, tmp_path: Path, wait_until: WaitUntil, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("SIGHTLINE_HOME", str(tmp_path / "home"))
    made: list[MainWindow] = []

    def opened() -> MainWindow:
        decoder = FakeDecoder()
        decoder.result = found(study(instance("1.1")), study(instance("2.1"), uid="t"))
        window = MainWindow(Workspace(), decoder, QLabel("chat"), layout_file=tmp_path / "w.ini")
        made.append(window)
        window.show()
        return window

    def session_of(window: MainWindow) -> QPushButton | None:
        buttons = window.findChildren(QPushButton)
        return next((one for one in buttons if one.text() == "The last session"), None)

    first = opened()
    assert session_of(first) is None
    first.recent.keep(True)
    first.open_paths([tmp_path, Path("/images")])
    wait_until(lambda: first.canvas.picture is not None and not first.busy)
    first.viewports.show_layout("2x1")
    first.viewports.frames[1].viewport.show(first.workspace.instance_of("2.1"))
    wait_until(lambda: not first.busy)
    first.quit()
    second = opened()
    button = session_of(second)
    assert button is not None
    QTest.mouseClick(button, Qt.MouseButton.LeftButton)
    wait_until(lambda: second.canvas.picture is not None and not second.busy)
    shown = [one.instance for one in second.workspace.layout.viewports]
    assert second.workspace.layout.name == "2x1"
    assert [one.sop_instance_uid if one else "" for one in shown] == ["1.1", "2.1"]
    session = second.recent.session
    assert session is not None
    assert session.paths == (Path("/images"),), "only what was still open"
    second.recent.keep(False)
    second.quit()
    assert session_of(opened()) is None
    for window in made:
        window.quit()
        window.deleteLater()


def test_what_was_opened_is_offered_again(
    qapp: QApplication, tmp_path: Path, wait_until: WaitUntil, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("SIGHTLINE_HOME", str(tmp_path / "home"))
    (tmp_path / "ct head").mkdir()

    def opened() -> MainWindow:
        decoder = FakeDecoder()
        decoder.result = found(study(instance("1.1")))
        made = MainWindow(Workspace(), decoder, QLabel("chat"), layout_file=tmp_path / "window.ini")
        made.show()
        return made

    first = opened()
    remember = first.actions_.recent_menu
    remember.aboutToShow.emit()
    assert not remember.actions()[-1].isChecked()
    remember.actions()[-1].trigger()
    first.open_paths([tmp_path / "ct head"])
    wait_until(lambda: first.canvas.picture is not None and not first.busy)
    first.quit()
    second = opened()
    (again,) = [one for one in second.findChildren(QPushButton) if one.text() == "ct head"]
    QTest.mouseClick(again, Qt.MouseButton.LeftButton)
    wait_until(lambda: second.canvas.picture is not None and not second.busy)
    menu = second.actions_.recent_menu
    menu.aboutToShow.emit()
    assert [one.text() for one in menu.actions()[:3]] == [
        "Open the last session",
        "",
        "&1  ct head",
    ]
    menu.actions()[-1].trigger()
    menu.aboutToShow.emit()
    assert not menu.actions()[-1].isChecked()
    assert not list((tmp_path / "home" / "config").glob("recent.json*"))
    second.quit()
