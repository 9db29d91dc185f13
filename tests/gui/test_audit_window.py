"""The audit window: listed, filtered, searched, checked and saved by mouse and keys, no stall."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QFileDialog, QLabel, QWidget
from shiboken6 import isValid

from app.audit import AuditLog, Entry, entry_text
from app.audit.entries import (
    GENESIS,
    HEAD_NAME,
    Head,
    Keys,
    encode,
    encode_head,
    read_entries,
    segment_path,
    signed,
)
from app.audit.exports import record_export
from app.errors import FileProblem, SightlineError
from app.views.application import freeze_startup_objects
from app.views.audit.audit_window import (
    ACTION,
    OUTCOME,
    WHAT,
    AuditWindow,
    CopyRecorder,
    show_audit,
)
from tests.gui.hands import click
from tests.gui.heartbeat import Heartbeat, stall_ms

pytestmark = pytest.mark.gui

Wait = Callable[..., None]
SECRET = b"k" * 32
UID = "1.2.840.113619.2.5.17"
RUN = {"run": "r" * 32, "thread": "t" * 32}


@pytest.fixture
def log(tmp_path: Path) -> AuditLog:
    made = AuditLog(tmp_path / "audit", SECRET)
    image = made.name("image", UID)
    made.record("tool_started", {**RUN, "tool": "segmentation", "effect": "compute"})
    made.record("tool_finished", {**RUN, "tool": "segmentation", "status": "ok"})
    sent = {"host": "cloud.example", "model": "m", "characters": 812, "images": [image]}
    made.record("data_sent", {**RUN, **sent, "pictures": ["p"]})
    made.record("approval_answered", {**RUN, "granted": False, "scope": "once"})
    return made


@pytest.fixture
def shown(qapp: QApplication, log: AuditLog, wait_until: Wait) -> Iterator[AuditWindow]:
    window = AuditWindow(log)
    window.show()
    wait_until(lambda: window.model.rowCount() == 5)
    yield window
    if isValid(window):
        window.close()


def cells(window: AuditWindow, column: int) -> list[str]:
    return [str(window.model.index(row, column).data()) for row in range(window.model.rowCount())]


def tampered(log: AuditLog) -> None:
    path = segment_path(log.folder, 1)
    path.write_bytes(path.read_bytes().replace(b'"characters":812', b'"characters":813'))


def test_the_newest_line_is_first_with_what_was_done_and_how_it_ended(shown: AuditWindow):
    assert cells(shown, ACTION) == [
        "Answered",
        "Sent",
        "Tool ended",
        "Tool called",
        "File started",
    ]
    assert cells(shown, OUTCOME)[:3] == ["not allowed", "", "done"]
    assert cells(shown, WHAT)[1] == "812 characters to cloud.example, 1 picture, m"
    assert shown.count.text() == "5 lines"


def test_the_keyboard_chooses_a_kind_and_a_line(shown: AuditWindow, wait_until: Wait):
    shown.kind.setFocus()
    for _ in range(3):
        QTest.keyClick(shown.kind, Qt.Key.Key_Down)
    assert shown.kind.value == "Sent"
    wait_until(lambda: shown.model.rowCount() == 1)
    assert shown.count.text() == "1 of 5 lines"
    shown.table.setFocus()
    QTest.keyClick(shown.table, Qt.Key.Key_Home)
    QTest.keyClick(shown.table, Qt.Key.Key_Down)
    assert "host: cloud.example" in shown.details.toPlainText()
    assert "audit-000001.jsonl, line 4" in shown.details.toPlainText()


def test_a_click_on_a_line_tells_all_of_it(shown: AuditWindow):
    place = shown.table.visualRect(shown.model.index(2, WHAT)).center()
    QTest.mouseClick(shown.table.viewport(), Qt.MouseButton.LeftButton, pos=QPoint(place))
    told = shown.details.toPlainText()
    assert told.startswith("Tool ended")
    assert "status: ok" in told
    assert "run: " + "r" * 32 in told


def test_a_uid_in_the_search_finds_what_was_done_with_that_image(
    shown: AuditWindow, wait_until: Wait
):
    QTest.keyClick(shown, Qt.Key.Key_F, Qt.KeyboardModifier.ControlModifier)
    QTest.keyClicks(shown.search, UID)
    wait_until(lambda: cells(shown, ACTION) == ["Sent"])
    shown.search.setText(UID + ".1")
    wait_until(lambda: shown.model.rowCount() == 0)
    assert shown.empty.title.text() == "No line matches"
    assert not shown.export_button.isEnabled()
    shown.search.setText("Segmentation")
    wait_until(lambda: shown.model.rowCount() == 2)


def test_verify_says_in_words_that_all_is_as_it_was_written(shown: AuditWindow, wait_until: Wait):
    click(shown.verify_button)
    assert shown.verdict.text() == "Checking every line…"
    wait_until(lambda: shown.verdict.text().startswith("All 5 lines are as they were written"))
    assert shown.verdict.property("tone") == "ok"


def test_verify_shows_the_line_that_was_changed(
    shown: AuditWindow, log: AuditLog, wait_until: Wait
):
    tampered(log)
    shown.verify_button.setFocus()
    QTest.keyClick(shown.verify_button, Qt.Key.Key_Space)
    wait_until(lambda: "NOT as it was written" in shown.verdict.text())
    assert "audit-000001.jsonl, line 4" in shown.verdict.text()
    assert shown.verdict.accessibleName() == shown.verdict.text()
    wait_until(lambda: shown.table.currentIndex().row() == 1)
    assert cells(shown, OUTCOME)[1] == "changed"
    assert "NOT AS IT WAS WRITTEN" in shown.details.toPlainText()


def test_a_line_that_was_changed_is_shown_as_it_is_now(
    shown: AuditWindow, log: AuditLog, wait_until: Wait
):
    assert cells(shown, WHAT)[1].startswith("812 characters")
    tampered(log)
    click(shown.verify_button)
    wait_until(lambda: shown.table.currentIndex().row() == 1)
    assert cells(shown, WHAT)[1].startswith("813 characters")
    assert "characters: 813" in shown.details.toPlainText()


def test_a_log_that_vanishes_after_it_was_checked_keeps_its_verdict(
    shown: AuditWindow, log: AuditLog, wait_until: Wait, monkeypatch: pytest.MonkeyPatch
):
    def gone(*_arguments: object) -> None:
        raise SightlineError("the audit log cannot be read")

    monkeypatch.setattr("app.views.audit.audit_window.matching_rows", gone)
    tampered(log)
    click(shown.verify_button)
    wait_until(lambda: shown.table.currentIndex().row() == 1)
    assert "NOT as it was written" in shown.verdict.text()


def test_the_focus_stays_on_verify_so_that_a_second_press_does_nothing_else(
    shown: AuditWindow, wait_until: Wait
):
    shown.verify_button.setFocus()
    QTest.keyClick(shown.verify_button, Qt.Key.Key_Space)
    assert shown.focusWidget() is shown.verify_button
    QTest.keyClick(shown.verify_button, Qt.Key.Key_Space)
    wait_until(lambda: shown.verdict.text().startswith("All 5 lines"))
    assert shown.focusWidget() is shown.verify_button


def test_what_was_written_meanwhile_is_there_after_a_refresh(
    shown: AuditWindow, log: AuditLog, wait_until: Wait
):
    log.record("copied", {"what": "text"})
    click(shown.refresh_button)
    wait_until(lambda: shown.model.rowCount() == 6)
    assert cells(shown, ACTION)[0] == "Copied"


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_what_is_listed_is_saved_and_that_is_recorded(
    shown: AuditWindow, log: AuditLog, wait_until: Wait, tmp_path: Path, form: str
):
    path = tmp_path / f"saved.{form}"
    click(shown.export_button)
    (dialog,) = shown.findChildren(QFileDialog)
    dialog.selectFile(str(path))
    dialog.accept()
    wait_until(lambda: shown.verdict.text().startswith("Saved 5 lines"))
    text = path.read_text(encoding="utf-8-sig")
    if form == "csv":
        rows = list(csv.DictReader(text.splitlines()))
        assert [row["action"] for row in rows] == cells(shown, ACTION)[::-1]
        assert rows[3]["what"] == "812 characters to cloud.example, 1 picture, m"
    else:
        assert [json.loads(line)["n"] for line in text.splitlines()] == [1, 2, 3, 4, 5]
    last = list(read_entries(log.folder))[-1]
    assert (last.action, last.facts["what"], last.facts["status"]) == (
        "exported",
        "audit log",
        "ok",
    )
    assert "saved" not in str(last.facts), "a file's name may name the patient"


def test_a_table_for_a_spreadsheet_holds_no_formula(
    shown: AuditWindow, log: AuditLog, wait_until: Wait, tmp_path: Path
):
    log.record("tool_started", {"tool": '=HYPERLINK("http://x")'})
    click(shown.refresh_button)
    wait_until(lambda: shown.model.rowCount() == 6)
    shown.save(tmp_path / "t.csv")
    wait_until(lambda: shown.verdict.text().startswith("Saved"))
    rows = list(csv.DictReader((tmp_path / "t.csv").read_text("utf-8-sig").splitlines()))
    assert rows[-1]["what"].startswith("'=")


def test_tab_goes_through_all_and_escape_closes(shown: AuditWindow, wait_until: Wait):
    shown.activateWindow()
    shown.kind.setFocus()
    order = [
        shown.kind,
        shown.search,
        shown.refresh_button,
        shown.table,
        shown.details,
        shown.verify_button,
        shown.export_button,
        shown.close_button,
    ]
    seen = [shown.focusWidget()]
    for _ in order[1:]:
        QTest.keyClick(seen[-1], Qt.Key.Key_Tab)
        seen.append(shown.focusWidget())
    assert seen == order
    assert all(widget.accessibleName() or widget.text() for widget in order)  # type: ignore[attr-defined]
    QTest.keyClick(shown, Qt.Key.Key_Escape)
    wait_until(lambda: not isValid(shown) or not shown.isVisible())


def test_a_log_that_cannot_be_read_and_an_empty_one_say_so(
    qapp: QApplication, wait_until: Wait, tmp_path: Path
):
    empty = AuditWindow(AuditLog(tmp_path / "none", SECRET))
    empty.show()
    wait_until(lambda: empty.empty.title.text() == "The audit log is empty")
    click(empty.verify_button)
    wait_until(lambda: "nothing to check" in empty.verdict.text())
    empty.close()
    (tmp_path / "file").write_text("")
    broken = AuditWindow(AuditLog(tmp_path / "file", SECRET))
    broken.show()
    wait_until(lambda: broken.empty.title.text() == "The audit log cannot be read")
    assert broken.empty.text.text()
    broken.close()


def many(folder: Path, count: int) -> AuditLog:
    """A log of `count` lines in one file, as the program would write it, but at once."""
    folder.mkdir()
    keys, last, lines = Keys(SECRET), GENESIS, list[bytes]()
    for number in range(1, count + 1):
        facts: dict[str, Any] = {**RUN, "tool": f"tool_{number % 7}", "status": "ok"}
        action = "tool_finished"
        if number == 1:
            action = "segment"
            facts = {"segment": 1, "after": GENESIS, "why": "begun", "key": keys.id}
        text = encode(number, "2026-01-01T00:00:00.000+00:00", action, facts)
        last = keys.line_mac(last, text)
        lines.append(signed(text, last))
    data = b"".join(lines)
    segment_path(folder, 1).write_bytes(data)
    head = encode_head(keys, Head(count, 1, len(data), last))
    (folder / HEAD_NAME).write_bytes(head)
    return AuditLog(folder, SECRET)


def test_a_hundred_thousand_lines_are_read_filtered_searched_and_checked_without_a_stall(
    qapp: QApplication, wait_until: Wait, gui_heartbeat: Heartbeat, tmp_path: Path
):
    freeze_startup_objects()  # as the window does; else what a test process holds is gone through
    log = many(tmp_path / "audit", 100_000)
    window = AuditWindow(log)
    window.show()
    gui_heartbeat.restart()
    wait_until(lambda: window.model.rowCount() == 100_000, timeout=60)
    window.search.setText("tool_3")
    wait_until(lambda: 0 < window.model.rowCount() < 20_000, timeout=60)
    window.search.clear()
    wait_until(lambda: window.model.rowCount() == 100_000, timeout=60)
    click(window.verify_button)
    wait_until(lambda: window.verdict.text().startswith("All 100,000 lines"), timeout=60)
    gui_heartbeat.stop()
    assert gui_heartbeat.worst.cpu_ms < stall_ms()
    window.close()


@dataclass
class Noted:
    """What was told."""

    told: list[tuple[str, dict[str, Any]]] = field(default_factory=list)

    def __call__(self, action: str, **facts: Any) -> None:
        self.told.append((action, facts))


def test_a_copy_from_the_window_is_recorded_without_its_text(qapp: QApplication, wait_until: Wait):
    noted = Noted()
    parent = QLabel()
    CopyRecorder(noted, parent)
    QGuiApplication.clipboard().setText("Doe^Jane")
    wait_until(lambda: noted.told)
    assert noted.told == [("copied", {"what": "text", "characters": 8})]
    assert "Doe" not in str(noted.told)
    QGuiApplication.clipboard().clear()
    parent.deleteLater()


def test_the_window_opens_above_a_modal_one(qapp: QApplication, log: AuditLog, wait_until: Wait):
    parent = QWidget()
    window = show_audit(log, parent)
    wait_until(lambda: window.model.rowCount() == 5)
    assert window.parent() is parent
    window.close()
    parent.deleteLater()


def test_every_action_has_words_of_its_own_kind():
    for action in ("tool_started", "approval_asked", "data_sent", "exported", "settings_changed"):
        entry = Entry(1, "", action, {})
        assert entry_text.entry_kind(entry) in entry_text.KINDS
        assert entry_text.action_text(entry) != action
    assert (
        entry_text.action_text(Entry(1, "", "from a newer version", {})) == "from a newer version"
    )


def test_a_broken_log_keeps_an_export_from_being_made(tmp_path: Path):
    (tmp_path / "audit").write_text("")
    log = AuditLog(tmp_path / "audit", SECRET)
    with (
        pytest.raises(FileProblem, match="nothing was saved"),
        record_export(log, "picture", tmp_path / "x.png"),
    ):
        raise AssertionError("must not begin")
    assert log.problem


def test_a_search_does_not_hide_the_line_that_was_changed(
    shown: AuditWindow, log: AuditLog, wait_until: Wait
):
    tampered(log)
    shown.search.setText("segmentation")
    wait_until(lambda: shown.model.rowCount() == 2)
    click(shown.verify_button)
    wait_until(lambda: shown.model.rowCount() == 5 and shown.table.currentIndex().row() == 1)
    assert shown.search.text() == ""
    assert cells(shown, OUTCOME)[1] == "changed"
    assert "NOT AS IT WAS WRITTEN" in shown.details.toPlainText()
