"""The question field: Enter, Shift+Enter, Up, Esc, growing, and where the focus goes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QEvent, QMimeData, QObject, Qt, QUrl
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QWidget

from tests.gui.chat_support import Chat, open_image, opened

pytestmark = pytest.mark.gui

Wait = Callable[..., None]
Key = Qt.Key


@pytest.fixture
def chat(qapp: object, tmp_path: Path) -> Iterator[Chat]:
    yield from opened(tmp_path / "sessions")


class Painted(QObject):
    """Counts how often a widget is painted, and laid out anew."""

    def __init__(self, widget: QWidget) -> None:
        super().__init__(widget)
        self.count = self.laid_out = 0
        widget.installEventFilter(self)

    def eventFilter(self, _watched: QObject, event: QEvent) -> bool:
        self.count += event.type() == QEvent.Type.Paint
        self.laid_out += event.type() == QEvent.Type.LayoutRequest
        return False


def asked(chat: Chat) -> list[str]:
    return [question.text for _, question in chat.runner.asked]


def test_enter_sends_and_empties_the_field(chat: Chat, wait_until: Wait):
    edit = chat.dock.composer.edit
    QTest.keyClicks(edit, "Where?")
    QTest.keyClick(edit, Key.Key_Return)
    wait_until(lambda: asked(chat))
    assert asked(chat) == ["Where?"]
    assert edit.toPlainText() == ""


def test_shift_enter_breaks_the_line_and_the_field_grows(chat: Chat, wait_until: Wait):
    edit = chat.dock.composer.edit
    low = edit.height()
    QTest.keyClicks(edit, "one")
    QTest.keyClick(edit, Key.Key_Return, Qt.KeyboardModifier.ShiftModifier)
    QTest.keyClicks(edit, "two")
    assert edit.height() > low
    assert not asked(chat)
    QTest.keyClick(edit, Key.Key_Enter)
    wait_until(lambda: asked(chat))
    assert asked(chat) == ["one\ntwo"]
    assert edit.height() == low


def test_the_focus_goes_back_to_the_field_from_a_button_that_goes_out(chat: Chat, wait_until: Wait):
    composer = chat.dock.composer
    chat.dock.activateWindow()
    wait_until(chat.dock.isActiveWindow)
    composer.set_text("Where?")
    composer.send.setFocus()
    QTest.keyClick(composer.send, Key.Key_Space)
    assert composer.edit.hasFocus()
    wait_until(lambda: composer.stop.isVisible())
    composer.stop.setFocus()
    QTest.keyClick(composer.stop, Key.Key_Space)
    assert not composer.stop.isEnabled()
    assert composer.edit.hasFocus()


def test_what_the_empty_field_says_is_seen_to_change(chat: Chat, wait_until: Wait):
    composer = chat.dock.composer
    wait_until(lambda: chat.dock.isVisible())
    painted = Painted(composer.edit.viewport())
    wait_until(lambda: painted.count)
    painted.count = 0
    composer.set_about("CR", "Ask about this image…")
    wait_until(lambda: painted.count)


def test_the_field_stops_growing(chat: Chat):
    edit = chat.dock.composer.edit
    chat.dock.composer.set_text("line\n" * 60)
    assert edit.height() <= 8 * edit.fontMetrics().lineSpacing() + 4


def test_spaces_alone_are_not_sent(chat: Chat):
    edit = chat.dock.composer.edit
    QTest.keyClicks(edit, "   ")
    QTest.keyClick(edit, Key.Key_Return)
    assert not asked(chat)
    assert not chat.dock.composer.send.isEnabled()


def test_up_recalls_the_last_question_only_in_an_empty_field(chat: Chat, wait_until: Wait):
    edit = chat.dock.composer.edit
    QTest.keyClick(edit, Key.Key_Up)
    assert edit.toPlainText() == ""
    chat.dock.submit("the last question")
    wait_until(lambda: asked(chat))
    QTest.keyClick(edit, Key.Key_Up)
    assert edit.toPlainText() == "the last question"
    chat.dock.composer.set_text("a draft")
    QTest.keyClick(edit, Key.Key_Up)
    assert edit.toPlainText() == "a draft"


def test_escape_stops_the_run_and_keeps_the_draft(chat: Chat, wait_until: Wait):
    edit = chat.dock.composer.edit
    QTest.keyClick(edit, Key.Key_Escape)
    assert chat.runner.cancelled == []
    chat.dock.submit("q")
    wait_until(lambda: asked(chat))
    QTest.keyClicks(edit, "draft")
    QTest.keyClick(edit, Key.Key_Escape)
    assert chat.runner.cancelled == ["run-1"]
    assert edit.toPlainText() == "draft"
    wait_until(lambda: chat.run.ended == "run_cancelled")


def test_escape_stops_from_anywhere_in_the_dock(chat: Chat, wait_until: Wait):
    chat.dock.submit("q")
    wait_until(lambda: asked(chat))
    QTest.keyClick(chat.dock.header.new, Key.Key_Escape)
    assert chat.runner.cancelled == ["run-1"]


def test_pasted_text_loses_its_form_and_files_are_left_to_the_window(chat: Chat):
    edit = chat.dock.composer.edit
    rich = QMimeData()
    rich.setHtml("<b>bold</b>")
    rich.setText("bold")
    edit.insertFromMimeData(rich)
    assert edit.toPlainText() == "bold"
    files = QMimeData()
    files.setUrls([QUrl.fromLocalFile("/data/x.dcm")])
    assert not edit.canInsertFromMimeData(files)


def test_another_image_s_name_is_drawn_and_nothing_laid_out_anew(chat: Chat, wait_until: Wait):
    composer = chat.dock.composer
    parts = (composer.about, composer.edit.viewport(), composer)
    line, field, whole = painted = [Painted(one) for one in parts]
    composer.set_about("CT · 1.dcm", "Ask about this image…")
    wait_until(lambda: all(one.count for one in painted))
    line.count = field.count = whole.laid_out = 0
    composer.set_about("CT · 2.dcm", "Ask about this image…")
    wait_until(lambda: line.count)
    assert composer.about.shown_text() == composer.about.accessibleName() == "CT · 2.dcm"
    assert (field.count, whole.laid_out) == (0, 0)


def test_it_says_which_image_a_question_is_about(chat: Chat):
    composer = chat.dock.composer
    assert composer.about.full == "No image open"
    open_image(chat.workspace)
    assert composer.about.full == "CR · Chest · PA · chest.dcm"
    assert "this image" in composer.edit.placeholderText()
    chat.workspace.viewport.show(None)
    assert composer.about.full == "No image open"


def test_the_keyboard_reaches_everything(chat: Chat, wait_until: Wait):
    open_image(chat.workspace)
    chat.dock.activateWindow()
    chat.dock.focus_composer()
    wait_until(lambda: chat.dock.composer.edit.hasFocus())
    seen = set()
    for _ in range(14):
        QTest.keyClick(chat.dock.focusWidget(), Key.Key_Tab)
        seen.add(chat.dock.focusWidget())
    wanted = {chat.dock.header.badge, chat.dock.header.new, chat.dock.header.history}
    shown = (button for button in chat.dock.empty.buttons if button.isVisible())
    wanted |= {chat.dock.composer.edit, *shown}
    assert wanted <= seen
    assert all(part.accessibleName() for part in wanted)
