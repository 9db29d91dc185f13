"""The audit log in the real window: opened from menu and settings, told of what is done there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QMenu

from app.audit.entries import read_entries
from app.audit.verification import verify
from app.imaging.findings import Box, State
from app.imaging.types import ImageRef
from app.settings import PolicySettings
from app.views.audit.audit_window import AuditWindow
from app.views.chat.dock import ChatDock
from app.wiring import Program
from app.workspace import review
from tests.gui import test_settings_in_use
from tests.gui.hands import click, open_page
from tests.gui.test_settings_in_use import Opened
from tests.gui.viewer_support import finding

pytestmark = pytest.mark.gui

Wait = Callable[..., None]
home, opened = test_settings_in_use.home, test_settings_in_use.opened


@pytest.fixture
def made(opened: Callable[[], Opened]) -> Iterator[Opened]:
    yield opened()
    QApplication.clipboard().clear()


def windows(made: Opened) -> list[AuditWindow]:
    opened = made.window.findChildren(AuditWindow)
    return [item for item in opened if item.isVisible()]


def actions(program: Program) -> list[str]:
    return [entry.action for entry in read_entries(program.audit.folder)]


def menu(made: Opened, title: str) -> QMenu:
    (found,) = [
        action.menu() for action in made.window.menuBar().actions() if action.text() == title
    ]
    assert isinstance(found, QMenu)
    return found


def test_the_help_menu_opens_the_log_by_keys(made: Opened, wait_until: Wait):
    help_menu = menu(made, "&Help")
    help_menu.popup(made.window.pos())
    wait_until(help_menu.isVisible)
    while help_menu.activeAction() is not made.window.actions_.audit:
        QTest.keyClick(help_menu, Qt.Key.Key_Down)
    QTest.keyClick(help_menu, Qt.Key.Key_Return)
    wait_until(lambda: windows(made))
    (window,) = windows(made)
    assert window.windowTitle() == "Audit log"
    QTest.keyClick(window, Qt.Key.Key_Escape)
    wait_until(lambda: not windows(made))


def test_the_privacy_page_opens_it_above_the_settings(made: Opened, wait_until: Wait):
    dialog = made.settings()
    open_page(dialog, "Privacy")
    click(dialog.privacy.audit_button)
    wait_until(lambda: windows(made))
    (window,) = windows(made)
    assert window.parent() is dialog
    window.close()
    dialog.close()


def test_a_question_a_copy_a_withdrawn_consent_and_changed_rules_are_recorded(
    made: Opened, wait_until: Wait
):
    program = made.program
    made.ask("Hello Jane Doe")
    QGuiApplication.clipboard().setText("Jane Doe")
    wait_until(lambda: "copied" in actions(program))
    program.consents.withdraw("cloud.example")
    wait_until(lambda: "consent_withdrawn" in actions(program))
    changed = program.settings.model_copy(update={"policy": PolicySettings(tools={"x": "deny"})})
    program.change_settings(changed)
    wait_until(lambda: "settings_changed" in actions(program))
    assert actions(program)[:3] == ["segment", "run_started", "run_finished"]
    whole = b"".join(path.read_bytes() for path in program.audit.folder.iterdir())
    assert b"Jane" not in whole
    assert verify(program.audit.folder, program.audit.secret).ok


def test_a_conversation_is_not_exported_without_the_log(
    made: Opened, wait_until: Wait, tmp_path: Path
):
    made.ask("Hello")
    program = made.program
    away = program.audit.folder.with_name("away")
    program.audit.folder.rename(away)
    program.audit.folder.write_text("in the way")
    chat = made.chat
    assert isinstance(chat, ChatDock)
    assert chat.thread is not None
    chat.exporter._save(chat.thread, tmp_path / "out.md", "md")
    wait_until(lambda: program.audit.problem)
    wait_until(lambda: not chat._background.pending)
    assert not (tmp_path / "out.md").exists()
    program.audit.folder.unlink()
    away.rename(program.audit.folder)
    chat.exporter._save(chat.thread, tmp_path / "out.md", "md")
    wait_until((tmp_path / "out.md").exists)
    wait_until(lambda: actions(program)[-1] == "exported")


def test_a_decision_on_a_finding_is_recorded_with_its_id_and_no_name(
    made: Opened, wait_until: Wait
):
    program, annotations = made.program, made.window.workspace.annotations
    assert annotations.reviewer == review.login()
    annotations.reviewer = "Jane Roe"
    ref = ImageRef("1.1", 0, "sha")
    annotations.add([finding(ref, Box(1, 1, 5, 5), "Doe nodule", id="f1")])
    annotations.decide(["f1"], State.REJECTED)
    wait_until(lambda: "findings_decided" in actions(program))
    annotations.commands.undo()
    wait_until(lambda: actions(program).count("findings_decided") == 2)
    told = [one for one in read_entries(program.audit.folder) if one.action == "findings_decided"]
    assert [one.facts["state"] for one in told] == ["rejected", "proposed"]
    assert [list(one.facts["ids"]) for one in told] == [["f1"], ["f1"]]
    whole = b"".join(path.read_bytes() for path in program.audit.folder.iterdir())
    assert b"Jane" not in whole
    assert b"Doe" not in whole
