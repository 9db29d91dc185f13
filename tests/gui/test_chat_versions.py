"""A question is edited and asked again, an answer made anew, pinned and copied; nothing is lost."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QCoreApplication, QPoint, QPointF, Qt
from PySide6.QtGui import QGuiApplication, QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QMenu, QToolButton, QWidget

from app.agent.events import DataSent, RunEvent, RunFinished, RunStarted, TextDelta, Usage
from app.agent.messages import Message
from app.agent.sessions import SessionStore, Thread, ThreadInfo
from app.views.chat.run_wording import total_usage
from tests.gui.chat_support import Chat, ask, opened

pytestmark = pytest.mark.gui

Wait = Callable[..., None]
Shown = Callable[[RunEvent], None]
LEFT = Qt.MouseButton.LeftButton
ANSWER = "**Wide**: $\\frac{a}{b}$ of [1].\n\n| a | b |\n|---|---|\n| 1 | 2 |"


@pytest.fixture
def chat(qapp: object, tmp_path: Path) -> Iterator[Chat]:
    for made in opened(tmp_path / "sessions"):
        shown = made.runner.on_event

        def keep(event: RunEvent, made: Chat = made, shown: Shown = shown) -> None:
            """Write an event before it is shown, as the real runner does."""
            (made.dock.thread or Thread.in_memory()).record(event)
            shown(event)

        made.runner.on_event = keep
        yield made


def past(store: SessionStore, *pairs: tuple[str, str]) -> Thread:
    """A conversation on disk, a question a minute."""
    thread = store.new_thread()
    for number, (question, answer) in enumerate(pairs):
        when = f"2025-12-31T00:{number:02}:00.000+00:00"
        begun = RunStarted(
            run_id=f"r{number}", seq=0, time=when, thread_id=thread.thread_id,
            question=question, model="offline",
        )  # fmt: skip
        thread.record(begun)
        thread.append(Message(role="user", text=question))
        thread.record(TextDelta(run_id=f"r{number}", seq=1, time=when, text=answer))
        thread.append(Message(role="assistant", text=answer))
        thread.record(RunFinished(run_id=f"r{number}", seq=2, time=when, answer=answer))
    return thread


def show(chat: Chat, wait_until: Wait, thread: Thread) -> None:
    chat.dock.open_thread(thread.thread_id)
    wait_until(lambda: chat.dock.conversation.runs and chat.dock.is_idle())


def questions(chat: Chat) -> list[str]:
    return [run.question for run in chat.dock.conversation.runs]


def choose(owner: QWidget, button: QToolButton, wait_until: Wait, text: str) -> None:
    """Click a line of the menu that a button opens."""

    def shown() -> list[QMenu]:
        return [menu for menu in owner.findChildren(QMenu) if menu.isVisible()]

    wait_until(button.isVisible)
    QTest.mouseClick(button, LEFT)
    wait_until(shown)
    menu = shown()[-1]
    action = next(item for item in menu.actions() if item.text() == text)
    QTest.mouseClick(menu, LEFT, pos=menu.actionGeometry(action).center())


def edit(chat: Chat, wait_until: Wait, index: int) -> None:
    bubble = chat.dock.conversation.runs[index].bubble
    choose(bubble, bubble.more, wait_until, "Edit and ask again…")
    wait_until(lambda: bubble.editor is not None and bubble.editor.edit.isVisible())


def place(chat: Chat, index: int) -> str:
    """Which version of a question is said to be shown."""
    switch = chat.dock.conversation.runs[index].bubble.versions
    return "" if switch is None or switch.isHidden() else switch.place.text()


def test_an_edited_question_is_asked_in_its_place_and_the_old_answer_stays(
    chat: Chat, wait_until: Wait
):
    old = past(chat.store, ("one", "1"), ("two", "2"), ("three", "3"))
    show(chat, wait_until, old)
    edit(chat, wait_until, 1)
    editor = chat.dock.conversation.runs[1].bubble.editor
    assert editor is not None
    assert editor.edit.toPlainText() == "two"
    QTest.keyClicks(editor.edit, "second?")
    QTest.keyClick(editor.edit, Qt.Key.Key_Return)
    wait_until(lambda: chat.runner.asked and chat.run.run_id)
    assert questions(chat) == ["one", "second?"]
    assert chat.runner.asked[0][1].text == "second?"
    assert [item.text for item in chat.runner.asked[0][1].thread.history] == ["one", "1"]
    chat.runner.finish("better")
    wait_until(lambda: chat.run.ended and chat.dock.is_idle())
    wait_until(lambda: place(chat, 1) == "2 of 2")
    assert place(chat, 0) == ""
    # The old conversation is whole, and one click away in either direction.
    switch = chat.run.bubble.versions
    assert switch is not None
    QTest.mouseClick(switch.before, LEFT)
    wait_until(lambda: questions(chat) == ["one", "two", "three"] and chat.dock.is_idle())
    wait_until(lambda: place(chat, 1) == "1 of 2")
    switch = chat.dock.conversation.runs[1].bubble.versions
    assert switch is not None
    assert not switch.before.isEnabled()
    QTest.mouseClick(switch.after, LEFT)
    wait_until(lambda: questions(chat) == ["one", "second?"])
    # The list has the conversation once, by its newest version.
    wait_until(chat.dock.is_idle)
    assert [info.thread_id for info in chat.store.threads()] != [old.thread_id]
    assert len(chat.store.threads()) == 1


def test_an_edit_that_is_given_up_changes_nothing(chat: Chat, wait_until: Wait):
    show(chat, wait_until, past(chat.store, ("one", "1")))
    edit(chat, wait_until, 0)
    editor = chat.run.bubble.editor
    assert editor is not None
    QTest.keyClicks(editor.edit, "other")
    QTest.keyClick(editor.edit, Qt.Key.Key_Escape)
    wait_until(chat.run.bubble.view.isVisible)
    assert chat.run.bubble.editor is None
    assert chat.run.bubble.view.plain() == "one"
    assert chat.runner.asked == []


def test_an_answer_is_made_anew_beside_the_old_one(chat: Chat, wait_until: Wait):
    ask(chat, wait_until, "How wide?")
    chat.runner.finish("narrow")
    wait_until(lambda: chat.run.ended and chat.dock.is_idle())
    again = chat.run.answers[-1].findChildren(QToolButton)[0]
    assert "Answer again" in again.accessibleName()
    QTest.mouseClick(again, LEFT)
    wait_until(lambda: len(chat.runner.asked) == 2 and chat.run.run_id == "run-2")
    assert chat.runner.asked[1][1].text == "How wide?"
    assert questions(chat) == ["How wide?"]
    chat.runner.finish("wide")
    wait_until(lambda: place(chat, 0) == "2 of 2")
    switch = chat.run.bubble.versions
    assert switch is not None
    QTest.mouseClick(switch.before, LEFT)
    wait_until(lambda: chat.dock.conversation.runs and chat.dock.is_idle())
    assert [one.text for one in chat.run.answers] == ["narrow"]


def test_a_pinned_answer_is_in_the_list_and_leads_to_its_place(chat: Chat, wait_until: Wait):
    thread = past(chat.store, *((f"question {n}", f"answer {n}\n\n" * 30) for n in range(4)))
    past(chat.store, ("newer", "n"))
    show(chat, wait_until, thread)
    run = chat.dock.conversation.runs[1]
    assert run.more is not None
    chat.dock.conversation.reveal(run.more)
    choose(run.more, run.more, wait_until, "Pin this answer")
    wait_until(chat.dock.is_idle)
    chat.dock.new_thread()
    header = chat.dock.header
    QTest.mouseClick(header.history, LEFT)
    wait_until(header.menu.isVisible)
    lines = [action.text().split("\t")[0] for action in header.menu.actions()[1:]]
    assert lines == ["newer", "question 0", "      question 1"]
    action = header.menu.actions()[3]
    QTest.mouseClick(header.menu, LEFT, pos=header.menu.actionGeometry(action).center())
    wait_until(lambda: len(chat.dock.conversation.runs) == 4 and chat.dock.is_idle())
    run = chat.dock.conversation.runs[1]
    viewport = chat.dock.conversation.viewport()
    wait_until(lambda: 0 <= run.mapTo(viewport, run.rect().topLeft()).y() < 40)
    assert run.more is not None
    assert run.more.pinned


def test_a_pinned_conversation_is_first_in_the_list(chat: Chat, wait_until: Wait):
    show(chat, wait_until, past(chat.store, ("older", "1")))
    header = chat.dock.header
    choose(header, header.more, wait_until, "Pin the conversation")
    wait_until(chat.dock.is_idle)
    past(chat.store, ("newer", "2"))
    assert [info.title for info in chat.store.threads()] == ["older", "newer"]
    chat.dock.new_thread()
    chat.dock.open_thread(chat.store.threads()[0].thread_id)
    wait_until(lambda: header.pin.isChecked())


def test_an_answer_is_copied_as_text_and_as_markdown(chat: Chat, wait_until: Wait):
    show(chat, wait_until, past(chat.store, ("How wide?", ANSWER)))
    assert chat.run.more is not None
    choose(chat.run.more, chat.run.more, wait_until, "Copy as Markdown")
    assert QGuiApplication.clipboard().text() == ANSWER
    choose(chat.run.more, chat.run.more, wait_until, "Copy as plain text")
    assert QGuiApplication.clipboard().text() == "Wide: a/b of [1].\n\na\tb\n1\t2"


def test_a_conversation_is_copied_as_text_and_as_markdown(chat: Chat, wait_until: Wait):
    show(chat, wait_until, past(chat.store, ("How wide?", ANSWER), ("And\nhigh?", "No.")))
    header = chat.dock.header
    choose(header, header.more, wait_until, "Copy as Markdown")
    marked = f"> How wide?\n\n{ANSWER}\n\n> And\n> high?\n\nNo."
    wait_until(lambda: QGuiApplication.clipboard().text() == marked)
    choose(header, header.more, wait_until, "Copy as plain text")
    wait_until(lambda: QGuiApplication.clipboard().text().startswith("> How wide?\n\nWide: a/b"))
    assert QGuiApplication.clipboard().text().endswith("> And\n> high?\n\nNo.")


def test_a_search_shows_what_it_found_and_leads_there(chat: Chat, wait_until: Wait):
    pairs = [(f"question {n}", "Nothing special.\n\n" * 20) for n in range(3)]
    past(chat.store, *pairs, ("last", "There is a large gallstone in it."), ("end", "x\n\n" * 60))
    header = chat.dock.header
    QTest.mouseClick(header.history, LEFT)
    wait_until(header.menu.isVisible)
    QTest.keyClicks(header.finder, "gallstone")
    wait_until(lambda: any("large gallstone" in one.text() for one in header.menu.actions()))
    hit = next(one for one in header.menu.actions() if "large gallstone" in one.text())
    QTest.mouseClick(header.menu, LEFT, pos=header.menu.actionGeometry(hit).center())
    wait_until(lambda: len(chat.dock.conversation.runs) == 5 and chat.dock.is_idle())
    run, viewport = chat.dock.conversation.runs[3], chat.dock.conversation.viewport()
    wait_until(lambda: 0 <= run.mapTo(viewport, run.rect().topLeft()).y() < 40)


def test_a_word_is_searched_for_once_it_is_typed(
    chat: Chat, wait_until: Wait, monkeypatch: pytest.MonkeyPatch
):
    """Each search reads all conversations; letter by letter they would queue up."""
    show(chat, wait_until, past(chat.store, ("one", "a large gallstone")))
    searched: list[str] = []
    threads = chat.store.threads

    def count(words: str = "") -> tuple[ThreadInfo, ...]:
        searched.append(words)
        return threads(words)

    monkeypatch.setattr(chat.store, "threads", count)
    header = chat.dock.header
    QTest.mouseClick(header.history, LEFT)
    wait_until(header.finder.isVisible)
    QTest.keyClicks(header.finder, "gallstone")
    wait_until(lambda: any("gallstone" in one.text() for one in header.menu.actions()))
    assert searched == ["", "gallstone"]
    header.menu.close()


def test_the_menu_says_what_a_conversation_took(chat: Chat, wait_until: Wait):
    ask(chat, wait_until)
    counts = {"input_tokens": 1, "output_tokens": 1}
    for host, cost in (("api.example.org", 0.25), ("", None)):
        if not host:
            ask(chat, wait_until, "And here?")
        else:
            chat.runner.say(DataSent, host=host, model="m", characters=5)
        chat.runner.say(Usage, **counts, run_input_tokens=1000, run_output_tokens=20, cost=cost)
        chat.runner.finish("ok")
        wait_until(lambda: chat.run.ended and chat.dock.is_idle())
    usage = chat.run.answers[-1].usage
    assert usage is not None
    assert usage.full == "1,000 tokens in, 20 out, on this computer: no cost"
    header = chat.dock.header
    QTest.mouseClick(header.more, LEFT)
    wait_until(lambda: header.usage.isVisible())
    assert header.usage.text() == "2,000 tokens in, 40 out, about $0.25"
    header.more_menu.close()


def test_tokens_without_a_price_say_so(chat: Chat, wait_until: Wait):
    """No price comes with Sightline: without one of the user's the cost is not known."""
    counts = {"input_tokens": 1, "output_tokens": 1}
    for cost in (None, 0.25):
        ask(chat, wait_until)
        chat.runner.say(DataSent, host="api.example.org", model="m", characters=5)
        chat.runner.say(Usage, **counts, run_input_tokens=1000, run_output_tokens=20, cost=cost)
        chat.runner.finish("ok")
        wait_until(lambda: chat.run.ended and chat.dock.is_idle())
        thread = chat.dock.thread
        assert thread is not None
        if cost is None:
            assert total_usage(thread.runs()) == "1,000 tokens in, 20 out, price not known"
    first = chat.dock.conversation.runs[0].answers[-1].usage
    assert first is not None
    assert first.full == "1,000 tokens in, 20 out, price not known"
    assert total_usage(thread.runs()) == (
        "2,000 tokens in, 40 out, about $0.25, without answers whose price is not known"
    )


def test_a_formula_is_shown_in_characters(chat: Chat, wait_until: Wait):
    text = "So $D = \\frac{2TP}{2TP+FP+FN}$ costs $5 and $10.\n\n$$\nA = \\pi r^2\n$$\n"
    show(chat, wait_until, past(chat.store, ("Which formula?", text)))
    assert chat.run.answers[0].view.plain() == (
        "So D = 2TP/(2TP+FP+FN) costs $5 and $10.\nA = π r²"
    )
    assert chat.run.answers[0].text == text


def test_scrolling_to_the_top_shows_what_was_said_earlier(chat: Chat, wait_until: Wait):
    """Page by page to the first question, without a click on "Show earlier messages"."""
    pairs = [(f"question {n}", "word " * 200) for n in range(30)]
    show(chat, wait_until, past(chat.store, *pairs))
    view = chat.dock.conversation
    wait_until(lambda: view.verticalScrollBar().maximum() > 1000)
    assert len(view.runs) == 20
    middle = view.viewport().rect().center()

    def up() -> bool:
        wheel(view.viewport(), middle)
        return len(view.runs) == 30

    wait_until(up)
    assert questions(chat)[0] == "question 0"
    wait_until(lambda: view._older.isHidden())


def wheel(view: QWidget, place: QPoint) -> None:
    """Turn the wheel up by two notches."""
    none = Qt.MouseButton.NoButton, Qt.KeyboardModifier.NoModifier
    where = QPointF(place), QPointF(view.mapToGlobal(place))
    phase = Qt.ScrollPhase.NoScrollPhase
    event = QWheelEvent(*where, QPoint(), QPoint(0, 240), *none, phase, False)
    QCoreApplication.sendEvent(view, event)
