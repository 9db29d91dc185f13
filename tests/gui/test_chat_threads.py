"""Threads: a new one starts afresh, an old one opens with its history and goes on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from app.agent.events import RunFinished
from app.agent.messages import Message, ToolCall
from app.agent.sessions import SessionStore, Thread
from app.views.chat.conversation import KEPT
from app.views.chat.dock import BATCH
from tests.gui.chat_support import Chat, FakeRunner, finding, opened, picture

pytestmark = pytest.mark.gui

Wait = Callable[..., None]
LEFT = Qt.MouseButton.LeftButton


@pytest.fixture
def chat(qapp: object, tmp_path: Path) -> Iterator[Chat]:
    yield from opened(tmp_path / "sessions")


def past(store: SessionStore, *pairs: tuple[str, str]) -> Thread:
    """A thread on disk with questions and answers."""
    thread = store.new_thread()
    for question, answer in pairs:
        thread.append(Message(role="user", text=question))
        thread.append(Message(role="assistant", text=answer))
    return thread


def questions(chat: Chat) -> list[str]:
    return [run.question for run in chat.dock.conversation.runs]


def test_a_new_thread_starts_empty_and_the_old_one_opens_again(chat: Chat, wait_until: Wait):
    chat.dock.submit("first question")
    wait_until(lambda: chat.runner.asked)
    old = chat.dock.thread
    assert old is not None
    old.append(Message(role="user", text="first question"))
    old.append(Message(role="assistant", text="first **answer**"))
    chat.runner.finish("first **answer**")
    wait_until(lambda: chat.run.ended)
    QTest.mouseClick(chat.dock.header.new, LEFT)
    assert questions(chat) == []
    assert not chat.dock.empty.isHidden()
    chat.dock.submit("second question")
    wait_until(lambda: len(chat.runner.asked) == 2)
    assert chat.dock.thread is not old
    assert chat.runner.asked[1][1].thread is chat.dock.thread
    chat.runner.finish("two")
    wait_until(lambda: chat.run.ended)
    chat.dock.open_thread(old.thread_id)
    wait_until(lambda: questions(chat) == ["first question"])
    wait_until(chat.dock.is_idle)
    assert chat.run.answers[0].view.plain() == "first answer"
    chat.dock.submit("and then?")
    wait_until(lambda: len(chat.runner.asked) == 3)
    assert chat.runner.asked[2][1].thread.thread_id == old.thread_id
    assert questions(chat) == ["first question", "and then?"]


def test_the_history_lists_threads_with_title_and_date(chat: Chat, wait_until: Wait):
    thread = past(chat.store, ("What & where?", "There."))
    QTest.mouseClick(chat.dock.header.history, LEFT)
    menu = chat.dock.header.menu
    wait_until(menu.isVisible)
    titles = [action.text() for action in menu.actions()]
    assert titles[0].split("\t")[0] == "What && where?"
    assert ":" in titles[0].split("\t")[1]
    menu.actions()[0].trigger()
    menu.close()
    wait_until(lambda: questions(chat) == ["What & where?"])
    assert chat.dock.thread is not None
    assert chat.dock.thread.thread_id == thread.thread_id


def test_no_thread_is_made_before_the_first_question(chat: Chat, wait_until: Wait):
    assert chat.dock.thread is None
    assert chat.store.threads() == ()
    QTest.mouseClick(chat.dock.header.history, LEFT)
    wait_until(chat.dock.header.menu.isVisible)
    assert [action.isEnabled() for action in chat.dock.header.menu.actions()] == [False]
    chat.dock.header.menu.close()


def test_earlier_calls_come_back_as_cards(chat: Chat, wait_until: Wait):
    thread = chat.store.new_thread()
    assert thread.folder is not None
    overlay = picture(thread.files_dir() / "overlay.png")
    still_open = finding("Heart", call_id="c1")
    chat.workspace.annotations.add([still_open])
    good = {
        "summary": "Outlined.",
        "output": {"segmentation_image_path": str(overlay), "other_image_path": "/etc/hostname"},
        "metadata": {},
    }
    calls = [
        ToolCall(id="c1", name="chest_xray_segmentation", arguments={"organs": ["Heart"]}),
        ToolCall(id="c2", name="chest_xray_classifier", arguments={}),
    ]
    bad = {"error": "The weights are missing.", "remedy": "Add them."}
    for message in (
        Message(role="user", text="Where is the heart?"),
        Message(role="assistant", text="I look.", tool_calls=calls),
        Message(role="tool", call_id="c1", tool="chest_xray_segmentation", data=good),
        Message(role="tool", call_id="c2", tool="chest_xray_classifier", ok=False, data=bad),
        Message(role="assistant", text="The Heart is there."),
    ):
        thread.append(message)
    chat.dock.open_thread(thread.thread_id)
    wait_until(lambda: chat.dock.conversation.runs and chat.run.ended == "run_finished")
    cards = chat.run.cards
    assert [cards[key].status for key in ("c1", "c2")] == ["ok", "failed"]
    error = cards["c2"].error
    assert error is not None
    assert error.plain() == "The weights are missing. Add them."
    assert len(cards["c1"].thumbnails) == 1  # a file outside the thread's folder is not read
    assert len(cards["c1"].chips) == 1
    assert [view.view.plain() for view in chat.run.answers] == ["I look.", "The Heart is there."]


def test_a_run_that_was_cut_off_says_that_it_has_no_answer(chat: Chat, wait_until: Wait):
    thread = chat.store.new_thread()
    thread.append(Message(role="user", text="q"))
    chat.dock.open_thread(thread.thread_id)
    wait_until(lambda: chat.dock.conversation.runs and chat.run.ended)
    assert chat.run.notice is not None
    assert chat.run.notice.view.plain() == "No answer was recorded."


def test_turning_to_another_thread_stops_the_run_and_its_events_stay_out(
    chat: Chat, wait_until: Wait
):
    chat.runner.obeys = False
    chat.dock.submit("one")
    wait_until(lambda: chat.runner.asked)
    chat.dock.submit("queued behind it")
    chat.dock.new_thread()
    assert chat.runner.cancelled == ["run-1"]
    assert chat.agent.pending == ()
    chat.dock.submit("two")
    wait_until(lambda: len(chat.agent.pending) == 1)
    chat.runner.say(RunFinished, answer="late answer to one")
    wait_until(lambda: len(chat.runner.asked) == 2)
    assert questions(chat) == ["two"]
    assert chat.run.answers == []


def test_a_thread_that_cannot_be_read_says_so_and_the_chat_goes_on(chat: Chat, wait_until: Wait):
    chat.dock.open_thread("no-such-thread")
    wait_until(lambda: chat.dock.conversation._notes)
    chat.dock.submit("still here?")
    wait_until(lambda: chat.runner.asked)
    assert questions(chat) == ["still here?"]


def test_without_a_folder_the_question_is_still_answered(
    chat: Chat, wait_until: Wait, tmp_path: Path
):
    (tmp_path / "sessions").write_text("a file where the folder should be")
    chat.dock.submit("q")
    wait_until(lambda: chat.runner.asked)
    assert chat.runner.asked[0][1].thread.folder is None
    assert len(chat.dock.conversation._notes) == 1


def test_a_long_thread_opens_at_its_end_and_more_comes_on_demand(chat: Chat, wait_until: Wait):
    thread = past(chat.store, *((f"q{index}", f"a{index}") for index in range(50)))
    chat.dock.open_thread(thread.thread_id)
    wait_until(lambda: len(questions(chat)) == BATCH)
    wait_until(chat.dock.is_idle)
    assert questions(chat)[-1] == "q49"
    for _ in range(10):
        chat.dock.conversation.older_wanted.emit()
        wait_until(chat.dock.is_idle)
    assert questions(chat) == [f"q{index}" for index in range(50)]
    assert [run.answers[0].view.plain() for run in chat.dock.conversation.runs[:2]] == ["a0", "a1"]


def test_a_very_long_conversation_keeps_its_newest_runs_as_widgets(chat: Chat, wait_until: Wait):
    count = KEPT + 6
    runner: FakeRunner = chat.runner
    for index in range(count):
        chat.dock.submit(f"q{index}")
        wait_until(lambda index=index: len(runner.asked) == index + 1)
        assert chat.dock.thread is not None
        chat.dock.thread.append(Message(role="user", text=f"q{index}"))
        chat.dock.thread.append(Message(role="assistant", text=f"a{index}"))
        runner.finish(f"a{index}")
        wait_until(lambda: chat.run.ended)
    assert len(questions(chat)) == KEPT
    for _ in range(2):
        chat.dock.conversation.older_wanted.emit()
        wait_until(chat.dock.is_idle)
    assert questions(chat) == [f"q{index}" for index in range(count)]
