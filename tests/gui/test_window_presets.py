"""Window presets that the user edits: their keys, the menu, the file."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel, QLineEdit, QPushButton

from app.imaging.types import Voi, Window
from app.views.main_window import MainWindow
from app.views.preset_dialog import CENTER, NAME, WIDTH, PresetDialog
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

pytestmark = [pytest.mark.gui, pytest.mark.usefixtures("forked")]

Opened = Callable[[], MainWindow]


@pytest.fixture
def opened(
    qapp: QApplication, tmp_path: Path, wait_until: WaitUntil, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Opened]:
    monkeypatch.setenv("SIGHTLINE_HOME", str(tmp_path))
    made: list[MainWindow] = []

    def open_window() -> MainWindow:
        decoder = FakeDecoder()
        windows = (Window(41, 401, explanation="SOFT"), Window(300, 1500, explanation="BONE"))
        decoder.frames[("1.1", 0)] = frame("1.1", voi=Voi(windows))
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


def edit(window: MainWindow) -> PresetDialog:
    window.actions_.edit_presets.trigger()
    (dialog,) = [one for one in window.findChildren(PresetDialog) if one.isVisible()]
    return dialog


def press(button: QPushButton) -> None:
    QTest.mouseClick(button, Qt.MouseButton.LeftButton)


def type_into(dialog: PresetDialog, row: int, column: int, text: str) -> None:
    """Type into a cell as a user does."""
    table = dialog.table
    if table.state() is not table.State.EditingState:  # as it is after "Add"
        table.setCurrentCell(row, column)
        table.edit(table.model().index(row, column))
    (field,) = [one for one in table.viewport().findChildren(QLineEdit) if one.isVisible()]
    field.selectAll()
    QTest.keyClicks(field, text)
    QTest.keyClick(field, Qt.Key.Key_Return)
    QApplication.processEvents()


def shown(window: MainWindow) -> tuple[float, float]:
    now = window.canvas.shown_window
    assert now is not None
    return now.center, now.width


def test_edited_presets_have_the_first_keys_and_are_kept(opened: Opened, tmp_path: Path):
    window = opened()
    QTest.keyClick(window.canvas, Qt.Key.Key_1)
    assert shown(window) == (41, 401), "shipped ones follow those of the file"
    dialog = edit(window)
    assert "CT" in dialog.windowTitle()
    assert dialog.table.item(0, NAME).text() == "Lung"
    type_into(dialog, 0, CENTER, "-500")
    type_into(dialog, 0, WIDTH, "1400")
    dialog.table.setCurrentCell(1, NAME)
    press(dialog.up)
    press(dialog.save)
    QTest.keyClick(window.canvas, Qt.Key.Key_1)
    assert shown(window) == (480, 2500)
    QTest.keyClick(window.canvas, Qt.Key.Key_2)
    assert shown(window) == (-500, 1400)
    menu = window.actions_.presets
    menu.aboutToShow.emit()
    texts = [one.text().split("\t")[0] for one in menu.actions()]
    assert texts[:2] == ["&1  Bone", "&2  Lung"]
    assert {"&9  SOFT", "BONE", "Edit presets…"} <= set(texts)
    kept = json.loads((tmp_path / "config" / "presets.json").read_text())["presets"]["CT"]
    assert kept[1] == {"name": "Lung", "center": -500, "width": 1400}
    again = opened()
    QTest.keyClick(again.canvas, Qt.Key.Key_2)
    assert shown(again) == (-500, 1400)
    dialog = edit(again)
    press(dialog.shipped)
    press(dialog.save)
    QTest.keyClick(again.canvas, Qt.Key.Key_1)
    assert shown(again) == (41, 401)


def test_what_is_no_window_is_told_and_not_saved(opened: Opened):
    window = opened()
    window.canvas.set_window(Window(123, 45))
    dialog = edit(window)
    for text in ("1,500", "nan", "0", "-3", "1e12", "wide"):
        type_into(dialog, 0, WIDTH, text)
        assert dialog.note.text().startswith("Row 1: "), text
        assert not dialog.save.isEnabled()
    type_into(dialog, 0, WIDTH, "0.5")
    assert dialog.save.isEnabled()
    last = dialog.table.rowCount()
    press(dialog.add)
    assert [dialog.table.item(last, column).text() for column in (CENTER, WIDTH)] == ["123", "45"]
    type_into(dialog, last, NAME, " ")
    assert "A name has" in dialog.note.text()
    dialog.reject()
