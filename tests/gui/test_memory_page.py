"""The settings page of notes: seen, added, edited, switched off and deleted by mouse and keys."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from shiboken6 import isValid

from app.agent.llm.probe import Probe
from app.agent.policy import Grants
from app.agent.privacy.consents import Consents
from app.secrets import Secrets
from app.settings import Settings
from app.tools.memory import Memory, Note, without_somebody
from app.views.settings.settings_dialog import SettingsDialog, SettingsSources
from tests.gui.hands import choose, click, open_page, retype

pytestmark = pytest.mark.gui

Wait = Callable[..., None]
KEPT = (Note("Short answers"), Note("Lengths in mm", "site convention"))


def _no_model(*_: object) -> None:
    raise AssertionError("no model is tested here")


@dataclass
class Rig:
    dialog: SettingsDialog
    memory: Memory
    file: Path
    told: list[object]

    def texts(self) -> list[tuple[str, str]]:
        rows = self.dialog.memory.list
        items = (rows.topLevelItem(at) for at in range(rows.topLevelItemCount()))
        return [(item.text(0), item.text(1)) for item in items if item is not None]

    def click_row(self, at: int, x: int = 80) -> None:
        rows = self.dialog.memory.list
        item = rows.topLevelItem(at)
        assert item is not None
        place = QPoint(x, rows.visualItemRect(item).center().y())
        QTest.mouseClick(rows.viewport(), Qt.MouseButton.LeftButton, pos=place)


@pytest.fixture
def rig(qapp: object, tmp_path: Path) -> Iterator[Rig]:
    site = tmp_path / "site.json"
    site.write_text(json.dumps([{"text": "Units are SI", "kind": "site convention"}]), "utf-8")
    file = tmp_path / "memory.json"
    memory = Memory(file, [site])
    memory.replace((), KEPT)
    probe = Probe(_no_model, lambda _: False)  # pyright: ignore[reportArgumentType]
    sources = SettingsSources(
        Secrets(),
        Consents(),
        Grants(),
        probe,
        memory=memory,
        without_patients=lambda text: without_somebody(text, "[removed]"),
    )
    told: list[object] = []
    dialog = SettingsDialog(Settings(), sources, lambda _changed: "applied", told.append)
    dialog.show()
    open_page(dialog, "Assistant memory")
    yield Rig(dialog, memory, file, told)
    if isValid(dialog):
        dialog.close()


def test_it_shows_the_notes_and_the_administrators_that_cannot_be_changed(rig: Rig):
    assert rig.texts() == [
        ("Units are SI", "Site convention, by your administrator"),
        ("Short answers", "Preference"),
        ("Lengths in mm", "Site convention"),
    ]
    page = rig.dialog.memory
    rig.click_row(0)
    assert not page.delete_button.isEnabled()
    assert page.text.text() == ""
    rig.click_row(0, x=12)
    QTest.keyClick(page.list, Qt.Key.Key_Delete)
    assert page.notes() == KEPT
    assert "of 1500 characters" in page.room.text()


def test_a_note_is_added_changed_switched_off_and_deleted(rig: Rig, wait_until: Wait):
    page = rig.dialog.memory
    assert not page.add_button.isEnabled()
    retype(page.text, "Impression first")
    choose(page.kind, "Report style")
    QTest.keyClick(page.text, Qt.Key.Key_Return)  # adds; it does not save and close
    assert rig.dialog.isVisible()
    assert rig.texts()[-1] == ("Impression first", "Report style")
    assert page.text.text() == ""
    rig.click_row(1)
    assert page.text.text() == "Short answers"
    retype(page.text, "Very short answers")
    click(page.change_button)
    assert rig.texts()[1] == ("Very short answers", "Preference")
    rig.click_row(1, x=12)  # its box
    rig.click_row(2)
    QTest.keyClick(page.list, Qt.Key.Key_Delete)
    assert rig.memory.notes() == KEPT, "nothing is kept before Save"
    click(rig.dialog.save_button)
    wait_until(lambda: rig.told)
    assert rig.memory.notes() == (
        Note("Very short answers", "preference", on=False),
        Note("Impression first", "report style"),
    )
    assert "Very short" not in rig.memory.told()
    assert [one["text"] for one in json.loads(rig.file.read_text("utf-8"))] == [
        "Very short answers",
        "Impression first",
    ]


def test_keys_alone_reach_everything_and_what_is_typed_is_not_lost(rig: Rig, wait_until: Wait):
    page = rig.dialog.memory
    rig.dialog.activateWindow()
    wait_until(rig.dialog.isActiveWindow)
    rig.dialog.list.setFocus()
    QTest.keyClick(rig.dialog.list, Qt.Key.Key_Tab)
    assert page.list.hasFocus()
    QTest.keyClick(page.list, Qt.Key.Key_Down)
    QTest.keyClick(page.list, Qt.Key.Key_End)
    QTest.keyClick(page.list, Qt.Key.Key_Space)
    assert [note.on for note in page.notes()] == [True, False]
    QTest.keyClick(page.list, Qt.Key.Key_Tab)
    assert page.text.hasFocus()
    retype(page.text, "Lengths in cm")
    click(rig.dialog.save_button)
    wait_until(lambda: rig.told)
    changed = Note("Lengths in cm", "site convention", on=False)
    assert rig.memory.notes() == (KEPT[0], changed)


def test_a_note_about_a_patient_is_not_saved_and_the_reason_is_shown(rig: Rig, wait_until: Wait):
    page = rig.dialog.memory
    retype(page.text, "This patient is allergic")
    click(page.add_button)
    click(rig.dialog.save_button)
    wait_until(lambda: "nothing about patients is kept" in rig.dialog.note.text())
    assert "[removed] is allergic" in rig.dialog.note.text()
    assert rig.dialog.isVisible()
    assert rig.memory.notes() == KEPT
    assert not rig.told
