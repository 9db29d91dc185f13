"""Threads: a new one starts afresh, an old one opens with its history and goes on."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QCoreApplication, QEvent, Qt
from PySide6.QtGui import QContextMenuEvent, QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QApplication,
    QComboBox,
    QFileDialog,
    QInputDialog,
    QLineEdit,
    QMenu,
    QMessageBox,
    QPushButton,
)

from app.agent.events import (
    ApprovalRequested,
    ApprovalResolved,
    ModelRetry,
    Noted,
    ReasoningDelta,
    RunCancelled,
    RunEvent,
    RunFailed,
    RunFinished,
    RunStarted,
    TextDelta,
    ToolFinished,
    ToolStarted,
    Usage,
)
from app.agent.json_forms import plain
from app.agent.llm.endpoint import WAITING_NOTE
from app.agent.messages import Message
from app.agent.privacy.consents import consent_request
from app.agent.sessions import SessionStore, Thread
from app.tools.plots import Plot, write_plot
from app.tools.tables import table_of, write_table
from app.views.chat.approval import ApprovalCard
from app.views.chat.consent import ConsentCard
from app.views.chat.conversation import KEPT
from app.views.chat.message import Notice
from app.views.chat.run_view import NoteLine
from app.views.chat.threads import BATCH, CARDS
from tests.gui.chat_support import TIME, Chat, FakeRunner, ask, finding, opened, picture
from tests.gui.heartbeat import Heartbeat, stall_ms

pytestmark = pytest.mark.gui

Wait = Callable[..., None]
LEFT = Qt.MouseButton.LeftButton


@pytest.fixture
def chat(qapp: object, tmp_path: Path) -> Iterator[Chat]:
    yield from opened(tmp_path / "sessions")


def past(store: SessionStore, *pairs: tuple[str, str]) -> Thread:
    """A thread on disk with questions and answers."""
    thread = store.new_thread()
    for number, (question, answer) in enumerate(pairs):
        add_answer(thread, f"r{number}", question, answer)
    return thread


def add_answer(thread: Thread, run_id: str, question: str, answer: str) -> None:
    """Add a run to a thread, with its messages."""
    said = (TextDelta, {"text": answer})
    add_run(thread, run_id, question, said, (RunFinished, {"answer": answer}))
    thread.append(Message(role="user", text=question))
    thread.append(Message(role="assistant", text=answer))


def questions(chat: Chat) -> list[str]:
    return [run.question for run in chat.dock.conversation.runs]


def test_a_new_thread_starts_empty_and_the_old_one_opens_again(chat: Chat, wait_until: Wait):
    chat.dock.submit("first question")
    wait_until(lambda: chat.runner.asked)
    old = chat.dock.thread
    assert old is not None
    add_answer(old, "run-1", "first question", "first **answer**")
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
    titles = [action.text() for action in menu.actions()[1:]]
    assert titles[0].split("\t")[0] == "What && where?"
    assert ":" in titles[0].split("\t")[1]
    menu.actions()[1].trigger()
    menu.close()
    wait_until(lambda: questions(chat) == ["What & where?"])
    assert chat.dock.thread is not None
    assert chat.dock.thread.thread_id == thread.thread_id


def test_no_thread_is_made_before_the_first_question(chat: Chat, wait_until: Wait):
    assert chat.dock.thread is None
    assert chat.store.threads() == ()
    QTest.mouseClick(chat.dock.header.history, LEFT)
    wait_until(chat.dock.header.menu.isVisible)
    assert [action.isEnabled() for action in chat.dock.header.menu.actions()[1:]] == [False]
    chat.dock.header.menu.close()


def test_earlier_calls_come_back_as_cards(chat: Chat, wait_until: Wait):
    thread = chat.store.new_thread()
    assert thread.folder is not None
    overlay = picture(thread.files_dir() / "overlay.png")
    other = finding("Heart", call_id="c1")  # of another conversation's call
    own = replace(other, id="own", label="Lung", provenance=replace(other.provenance, run_id="r1"))
    chat.workspace.annotations.add([other, own])
    good = {"call_id": "c1", "tool": "chest_xray_segmentation"}
    bad = {"call_id": "c2", "tool": "chest_xray_classifier"}
    files = (overlay, Path("/etc/hostname"))
    made = [{"path": str(path), "role": "image", "title": ""} for path in files]
    result = {"status": "ok", "summary": "Outlined.", "output": {}, "artifacts": made}
    thread.log_call("c1", good["tool"], {}, result | {"metadata": {}}, TIME, TIME)
    lost = "The weights are missing. Add them."
    add_run(
        thread,
        "r1",
        "Where is the heart?",
        (TextDelta, {"text": "I look."}),
        (ToolStarted, {**good, "arguments": {"organs": ["Heart"]}}),
        (ToolStarted, {**bad, "arguments": {}}),
        (ToolFinished, {**good, "status": "ok", "summary": "Outlined."}),
        (ToolFinished, {**bad, "status": "failed", "summary": "", "error": lost}),
        (TextDelta, {"text": "The Heart is there."}),
        (RunFinished, {"answer": "The Heart is there."}),
    )
    chat.dock.open_thread(thread.thread_id)
    wait_until(lambda: chat.dock.conversation.runs and chat.run.ended == "run_finished")
    cards = chat.run.cards
    assert [cards[key].status for key in ("c1", "c2")] == ["ok", "failed"]
    error = cards["c2"].error
    assert error is not None
    assert error.plain() == "The weights are missing. Add them."
    assert len(cards["c1"].thumbnails) == 1  # a file outside the thread's folder is not read
    assert [chip.text() for chip in cards["c1"].chips] == ["Lung"]
    assert [view.view.plain() for view in chat.run.answers] == ["I look.", "The Heart is there."]


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
        add_answer(chat.dock.thread, f"run-{index + 1}", f"q{index}", f"a{index}")
        runner.finish(f"a{index}")
        wait_until(lambda: chat.run.ended)
    assert len(questions(chat)) == KEPT
    for _ in range(2):
        chat.dock.conversation.older_wanted.emit()
        wait_until(chat.dock.is_idle)
    assert questions(chat) == [f"q{index}" for index in range(count)]


# -- what came back, as it was


def recorded(chat: Chat, question: str, *events: tuple[Callable[..., RunEvent], dict[str, Any]]):
    """A thread on disk with one run told by events, closed like a program that ended."""
    thread = chat.store.new_thread()
    add_run(thread, "r1", question, *events)
    thread_id = thread.thread_id
    thread.close()
    return thread_id


def add_run(
    thread: Thread,
    run_id: str,
    question: str,
    *events: tuple[Callable[..., RunEvent], dict[str, Any]],
) -> None:
    head: list[tuple[Callable[..., RunEvent], dict[str, Any]]] = [
        (
            RunStarted,
            {"thread_id": thread.thread_id, "question": question, "model": "gpt-x at host"},
        )
    ]
    for seq, (kind, fields) in enumerate([*head, *events]):
        thread.record(kind(run_id=run_id, seq=seq, time=TIME, **fields))


def show(chat: Chat, wait_until: Wait, thread_id: str) -> None:
    chat.dock.open_thread(thread_id)
    wait_until(lambda: chat.dock.conversation.runs)
    wait_until(chat.dock.is_idle)


def test_thinking_comes_back_folded_and_approvals_as_answered(chat: Chat, wait_until: Wait):
    asked = {"title": "Allow send?", "detail": "", "tool": "send", "arguments": {"to": "x"}}
    thread_id = recorded(
        chat,
        "Send it",
        (ReasoningDelta, {"text": "Should I?"}),
        (TextDelta, {"text": "half an ans"}),
        (
            ModelRetry,
            {"attempt": 2, "attempts": 4, "wait_s": 9.0, "reason": "x", "withdrawn": True},
        ),
        (Noted, {"text": WAITING_NOTE, "passing": True}),
        (TextDelta, {"text": "I will send it."}),
        (ToolStarted, {"call_id": "c", "tool": "send", "arguments": {"to": "x"}}),
        (ApprovalRequested, {"approval_id": "a", "effect": "send", "call_id": "c", **asked}),
        (ApprovalResolved, {"approval_id": "a", "granted": True, "scope": "session"}),
        (ApprovalRequested, {"approval_id": "b", **asked}),
        (ApprovalResolved, {"approval_id": "b", "granted": False, "reason": "not again"}),
        (ToolFinished, {"call_id": "c", "tool": "send", "status": "ok", "summary": "Sent."}),
        (TextDelta, {"text": "It is sent."}),
        (Usage, {"input_tokens": 5, "output_tokens": 6, "run_input_tokens": 5}),
        (RunFinished, {"answer": "It is sent.", "stopped_by": "steps"}),
    )
    show(chat, wait_until, thread_id)
    run = chat.run
    assert [item.view.plain() for item in run.answers] == ["I will send it.", "It is sent."]
    assert run.thoughts == []  # it was taken back with the half answer
    assert [card.state.full for card in run.approvals.values()] == [
        "Allowed in this conversation", "Not allowed: not again",
    ]  # fmt: skip
    cards = [card for card in run.approvals.values() if isinstance(card, ApprovalCard)]
    assert [card.allow.isVisible() for card in cards] == [False, False]
    assert list(run.cards) == ["c"]
    assert run.activity.isHidden()
    assert not run.findChildren(NoteLine)
    assert run.notice is not None
    assert "The limit of steps" in run.notice.view.plain()
    usage = run.answers[-1].usage
    assert usage is not None
    assert usage.full == "5 tokens in, 0 out, on this computer: no cost"


def test_a_consent_comes_back_with_the_pictures_of_its_own_thread_only(
    chat: Chat, wait_until: Wait, tmp_path: Path
):
    elsewhere = tmp_path / "elsewhere.png"
    elsewhere.write_bytes(b"x")
    fields = consent_request("m", "api.example.org") | {"about": "pictures"}
    thread_id = recorded(
        chat,
        "What is it?",
        (
            ApprovalRequested,
            {"approval_id": "a", **fields, "pictures": [{"path": str(elsewhere), "caption": "c"}]},
        ),
        (ApprovalResolved, {"approval_id": "a", "granted": True}),
        (RunFinished, {"answer": "A lung."}),
    )
    show(chat, wait_until, thread_id)
    card = chat.run.approvals["a"]
    assert isinstance(card, ConsentCard)
    assert card.dialog is None, "what was answered is not asked again"
    assert card.state.full == "Pictures may be sent to api.example.org"
    QTest.mouseClick(card._show, Qt.MouseButton.LeftButton)
    assert card.view is not None
    assert card.view.pictures == []
    assert card.view.facts["Host"].plain() == "api.example.org"


def test_folded_thinking_opens_in_an_old_thread(chat: Chat, wait_until: Wait):
    end = (RunFinished, {"answer": "Yes."})
    thread_id = recorded(chat, "q", (ReasoningDelta, {"text": "Hm."}), end)
    show(chat, wait_until, thread_id)
    thought = chat.run.thoughts[0]
    assert not thought.opened
    assert thought._time.text() == ""  # how long it took is not on record
    QTest.mouseClick(thought.button, LEFT)
    assert thought.view is not None
    assert thought.view.plain() == "Hm."


@pytest.mark.parametrize(
    ("end", "text"),
    [
        (
            (RunFailed, {"error": "The host is down.", "remedy": "Wait."}),
            "The host is down.\nWait.",
        ),
        ((RunCancelled, {}), "Stopped"),
        (
            None,
            "Sightline was closed before this was finished.\nWhat was found until then is kept.",
        ),
    ],
)
def test_a_run_that_did_not_finish_says_how_it_ended(
    chat: Chat, wait_until: Wait, end: Any, text: str
):
    events = [(TextDelta, {"text": "I was ab"}), *([end] if end else [])]
    show(chat, wait_until, recorded(chat, "the question", *events))
    assert chat.run.notice is not None
    assert chat.run.notice.view.plain() == text
    assert [item.view.plain() for item in chat.run.answers] == ["I was ab"]
    again = chat.run.notice.findChildren(QPushButton)[0]
    QTest.mouseClick(again, LEFT)
    wait_until(lambda: chat.runner.asked)
    assert chat.runner.asked[0][1].text == "the question"


def test_a_picture_outside_the_thread_is_not_read(chat: Chat, wait_until: Wait, tmp_path: Path):
    outside = picture(tmp_path / "private.png")
    thread = chat.store.new_thread()
    inside = picture(thread.files_dir() / "own.png")
    made = [{"path": str(path), "role": "image", "title": ""} for path in (outside, inside)]
    started = (ToolStarted, {"call_id": "c", "tool": "t", "arguments": {}})
    finished = (ToolFinished, {"call_id": "c", "tool": "t", "status": "ok", "summary": "s"})
    result = {"status": "ok", "summary": "s", "output": {}, "metadata": {}, "artifacts": made}
    thread.log_call("c", "t", {}, result, TIME, TIME)
    add_run(thread, "r1", "q", started, finished, (RunFinished, {"answer": "a"}))
    thread_id = thread.thread_id
    thread.close()
    show(chat, wait_until, thread_id)
    assert [item.accessibleName() for item in chat.run.cards["c"].thumbnails] == [
        f"Open picture {inside.name} beside the image"
    ]


def test_a_thread_of_many_calls_opens_without_a_stall(
    chat: Chat, wait_until: Wait, heartbeat: Heartbeat
):
    calls: list[tuple[Callable[..., RunEvent], dict[str, Any]]] = []
    for index in range(25):
        head = {"call_id": f"c{index}", "tool": "t"}
        calls.append((ToolStarted, {**head, "arguments": {"n": index}}))
        calls.append((ToolFinished, {**head, "status": "ok", "summary": "Outlined. " * 12}))
    end = (RunFinished, {"answer": "Done."})
    thread = chat.store.new_thread()
    for index in range(10):
        mine = [
            (kind, {**fields, "call_id": f"{index}-{fields['call_id']}"}) for kind, fields in calls
        ]
        add_run(thread, f"r{index}", f"q{index}", *mine, end)
    thread_id = thread.thread_id
    thread.close()
    show(chat, wait_until, thread_id)
    assert [len(run.cards) for run in chat.dock.conversation.runs] == [25] * (CARDS // 25)
    assert heartbeat.computed_ms < stall_ms()
    older = chat.dock.conversation._older
    while older.isVisible():
        QTest.mouseClick(older, LEFT)
        wait_until(chat.dock.is_idle)
    assert questions(chat) == [f"q{index}" for index in range(10)]
    chat.dock.new_thread()
    wait_until(chat.dock.is_idle)
    gc.collect()  # 250 cards: not in the middle of the next test


def test_a_long_conversation_that_is_left_is_taken_away_one_question_a_turn(
    chat: Chat, wait_until: Wait
):
    """Ten questions of 25 cards, all in one turn, held the window up for 100 ms."""
    show(chat, wait_until, past(chat.store, *(("q", "a") for _ in range(5))).thread_id)
    gone: list[int] = []
    for number, run in enumerate(chat.dock.conversation.runs):
        run.destroyed.connect(lambda _run, number=number: gone.append(number))
    chat.dock.new_thread()
    in_one_turn: list[int] = []
    while len(gone) < 5:
        before = len(gone)
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
        in_one_turn.append(len(gone) - before)
        QApplication.processEvents()
        assert len(in_one_turn) < 100
    assert max(in_one_turn) == 1


def test_a_question_asked_while_an_old_thread_fills_stands_below_it(chat: Chat, wait_until: Wait):
    thread = past(chat.store, *((f"q{index}", f"a{index}") for index in range(12)))
    thread_id = thread.thread_id
    thread.close()
    chat.dock.open_thread(thread_id)
    chat.dock.submit("new")
    wait_until(lambda: chat.runner.asked)
    chat.runner.finish("new answer")
    wait_until(chat.dock.is_idle)
    assert questions(chat) == [*(f"q{index}" for index in range(12)), "new"]
    assert [run.answers[0].view.plain() for run in chat.dock.conversation.runs][-2:] == [
        "a11", "new answer",
    ]  # fmt: skip


def test_a_new_thread_is_new_though_an_old_one_is_still_being_read(chat: Chat, wait_until: Wait):
    thread = past(chat.store, ("old", "answer"))
    chat.dock.open_thread(thread.thread_id)
    chat.dock.new_thread()
    wait_until(chat.dock.is_idle)
    assert questions(chat) == []
    assert chat.dock.thread is None


def test_a_thread_that_another_program_has_open_can_be_gone_on_with_in_a_copy(
    chat: Chat, wait_until: Wait, tmp_path: Path
):
    other = SessionStore(tmp_path / "sessions")  # another program: another store
    thread = past(other, ("q", "a"))
    chat.dock.open_thread(thread.thread_id)
    wait_until(lambda: chat.dock.conversation._notes)
    notice = chat.dock.conversation._notes[0]
    QTest.mouseClick(notice.findChildren(QPushButton)[0], LEFT)
    wait_until(lambda: questions(chat) == ["q"])
    wait_until(chat.dock.is_idle)
    assert chat.dock.thread is not None
    assert chat.dock.thread.thread_id != thread.thread_id
    thread.close()


# -- what can be done with a question


def menu_of(chat: Chat, wait_until: Wait, index: int) -> QMenu:
    """The menu that the button beside a question opens."""
    bubble = chat.dock.conversation.runs[index].bubble

    def shown() -> list[QMenu]:
        return [menu for menu in bubble.findChildren(QMenu) if menu.isVisible()]

    QTest.mouseClick(bubble.more, LEFT)
    wait_until(shown)
    return shown()[-1]


def choose(menu: QMenu, text: str) -> None:
    action = next(item for item in menu.actions() if item.text() == text)
    QTest.mouseClick(menu, LEFT, pos=menu.actionGeometry(action).center())


def test_the_menu_of_a_question_asks_again_and_copies(chat: Chat, wait_until: Wait):
    show(chat, wait_until, past(chat.store, ("What & <b>where</b>?", "There.")).thread_id)
    choose(menu_of(chat, wait_until, 0), "Copy")
    assert QGuiApplication.clipboard().text() == "What & <b>where</b>?"
    choose(menu_of(chat, wait_until, 0), "Ask again")
    wait_until(lambda: chat.runner.asked)
    assert chat.runner.asked[0][1].text == "What & <b>where</b>?"


def test_the_button_of_a_question_is_reached_with_the_keys(chat: Chat, wait_until: Wait):
    show(chat, wait_until, past(chat.store, ("q", "a")).thread_id)
    more = chat.run.bubble.more
    wait_until(more.isVisible)
    chat.dock.activateWindow()
    more.setFocus()
    wait_until(more.hasFocus)
    QTest.keyClick(more, Qt.Key.Key_Space)
    wait_until(lambda: chat.run.bubble.findChildren(QMenu))
    menu = chat.run.bubble.findChildren(QMenu)[-1]
    assert [item.text() for item in menu.actions()] == [
        "Edit and ask again…", "Ask again", "Branch from here…", "Copy",
    ]  # fmt: skip
    menu.close()


def test_the_context_menu_of_the_text_offers_the_same(chat: Chat, wait_until: Wait):
    show(chat, wait_until, past(chat.store, ("q", "a")).thread_id)
    view = chat.run.bubble.view
    at = view.viewport().rect().center()
    event = QContextMenuEvent(QContextMenuEvent.Reason.Mouse, at, view.mapToGlobal(at))
    QApplication.sendEvent(view.viewport(), event)
    wait_until(lambda: view.findChildren(QMenu))
    menu = view.findChildren(QMenu)[-1]
    texts = [item.text() for item in menu.actions() if item.text()]
    assert texts[-3:] == ["Ask again", "Branch from here…", "Copy"]
    menu.close()


def test_a_branch_opens_with_what_came_before_and_the_question_to_change(
    chat: Chat, wait_until: Wait
):
    thread = past(chat.store, ("one", "1"), ("two", "2"), ("three", "3"))
    show(chat, wait_until, thread.thread_id)
    choose(menu_of(chat, wait_until, 1), "Branch from here…")
    wait_until(lambda: questions(chat) == ["one"])
    wait_until(chat.dock.is_idle)
    assert chat.dock.thread is not None
    assert chat.dock.thread.thread_id != thread.thread_id
    assert chat.dock.composer.text == "two"
    assert [item.text for item in chat.dock.thread.history] == ["one", "1"]
    QTest.keyClicks(chat.dock.composer.edit, " instead")
    QTest.keyClick(chat.dock.composer.edit, Qt.Key.Key_Return)
    wait_until(lambda: chat.runner.asked)
    assert chat.runner.asked[0][1].text == "two instead"
    assert chat.runner.asked[0][1].thread is chat.dock.thread
    assert [run.question for run in chat.store.open(thread.thread_id).runs()] == [
        "one", "two", "three",
    ]  # fmt: skip


def test_a_branch_that_cannot_be_made_leaves_everything_as_it_is(chat: Chat, wait_until: Wait):
    thread = past(chat.store, ("one", "1"), ("two", "2"))
    show(chat, wait_until, thread.thread_id)
    assert thread.folder is not None
    thread.folder.rename(thread.folder.with_name("gone"))
    choose(menu_of(chat, wait_until, 1), "Branch from here…")
    wait_until(lambda: chat.dock.conversation._notes)
    assert questions(chat) == ["one", "two"]
    assert chat.dock.thread is not None
    assert chat.dock.thread.thread_id == thread.thread_id


def test_a_question_of_this_session_can_be_branched_from(chat: Chat, wait_until: Wait):
    for number, text in enumerate(("one", "two"), start=1):
        ask(chat, wait_until, text)
        assert chat.dock.thread is not None
        end = (RunFinished, {"answer": f"answer {number}"})
        add_run(chat.dock.thread, f"run-{number}", text, end)
        chat.runner.finish(f"answer {number}")
        wait_until(lambda: chat.run.ended)
    choose(menu_of(chat, wait_until, 1), "Branch from here…")
    wait_until(lambda: chat.dock.composer.text == "two")
    wait_until(chat.dock.is_idle)
    assert questions(chat) == ["one"]


# -- export


def test_a_thread_is_exported_after_one_warning(chat: Chat, wait_until: Wait, tmp_path: Path):
    show(chat, wait_until, past(chat.store, ("What is it?", "A lung.")).thread_id)
    for name, wanted in (("a.md", "A lung."), ("b.html", "<html"), ("c.json", '"question"')):
        QTest.mouseClick(chat.dock.header.more, LEFT)
        menu = chat.dock.header.more_menu
        wait_until(menu.isVisible)
        choose(menu, "Export…")
        if name == "a.md":
            wait_until(lambda: chat.dock.findChildren(QMessageBox))
            box = chat.dock.findChildren(QMessageBox)[0]
            assert "patient" in box.text()
            accept = next(item for item in box.buttons() if "Choose" in item.text())
            assert box.defaultButton() is not accept
            QTest.mouseClick(accept, LEFT)
        wait_until(lambda: [item for item in _dialogs(chat) if item.isVisible()])
        dialog = next(item for item in _dialogs(chat) if item.isVisible())
        suggested = Path(dialog.selectedFiles()[0]).name
        assert suggested.startswith("Sightline conversation")
        assert suggested.endswith(".md")
        kinds = dialog.findChild(QComboBox, "fileTypeCombo")
        assert isinstance(kinds, QComboBox)
        kinds.setFocus()
        for _ in range("abc".index(name[0])):
            QTest.keyClick(kinds, Qt.Key.Key_Down)
        field = dialog.findChild(QLineEdit, "fileNameEdit")
        assert isinstance(field, QLineEdit)
        field.setText(str(tmp_path / Path(name).stem))
        QTest.keyClick(field, Qt.Key.Key_Return)
        wait_until((tmp_path / name).exists)
        wait_until(chat.dock.is_idle)
        assert wanted in (tmp_path / name).read_text(encoding="utf-8")
    told = [notice.view.plain() for notice in chat.dock.findChildren(Notice)]
    assert f"Exported to {tmp_path / 'a.md'}" in told


def test_an_export_that_is_not_wanted_or_cannot_be_written(
    chat: Chat, wait_until: Wait, tmp_path: Path
):
    show(chat, wait_until, past(chat.store, ("q", "a")).thread_id)
    assert chat.dock.thread is not None
    chat.dock.header.export_wanted.emit()
    wait_until(lambda: chat.dock.findChildren(QMessageBox))
    QTest.keyClick(chat.dock.findChildren(QMessageBox)[0], Qt.Key.Key_Escape)
    wait_until(lambda: not chat.dock.findChildren(QMessageBox))
    assert _dialogs(chat) == []
    folder = tmp_path / "folder.md"
    folder.mkdir()
    chat.dock.exporter._save(chat.dock.thread, folder, "md")
    wait_until(lambda: chat.dock.conversation._notes)
    told = [notice.view.plain() for notice in chat.dock.findChildren(Notice)]
    assert any("it is a folder, which is never overwritten" in text.lower() for text in told), told


def test_without_a_question_there_is_nothing_to_export(chat: Chat):
    assert not chat.dock.header.more.isEnabled()


def _dialogs(chat: Chat) -> list[QFileDialog]:
    return chat.dock.findChildren(QFileDialog)


def listed(chat: Chat) -> list[str]:
    """The conversations in the open menu, without the field above them."""
    return [action.text().split("\t")[0] for action in chat.dock.header.menu.actions()[1:]]


def test_conversations_are_searched_in_the_list(chat: Chat, wait_until: Wait):
    past(chat.store, ("Is it big?", "The heart is wide."))
    past(chat.store, ("Segment the lungs", "Both."))
    QTest.mouseClick(chat.dock.header.history, LEFT)
    wait_until(chat.dock.header.menu.isVisible)
    assert sorted(listed(chat)) == ["Is it big?", "Segment the lungs"]
    QTest.keyClicks(chat.dock.header.finder, "heart")
    wait_until(lambda: listed(chat) == ["Is it big?", "      The heart is wide."])
    QTest.keyClicks(chat.dock.header.finder, "xyz")
    wait_until(lambda: listed(chat) == ["None with these words"])
    chat.dock.header.menu.close()
    QTest.mouseClick(chat.dock.header.history, LEFT)
    wait_until(lambda: len(listed(chat)) == 2)
    chat.dock.header.menu.close()


def test_a_conversation_is_renamed(chat: Chat, wait_until: Wait):
    thread = past(chat.store, ("hello", "Hello."))
    chat.dock.open_thread(thread.thread_id)
    wait_until(lambda: questions(chat) == ["hello"])
    chat.dock.header.rename.trigger()
    dialog = chat.dock.findChild(QInputDialog)
    assert dialog is not None
    dialog.setTextValue("Film of Tuesday")
    dialog.accept()
    wait_until(lambda: chat.store.threads()[0].title == "Film of Tuesday")


@pytest.mark.parametrize("yes", [True, False])
def test_a_conversation_is_deleted_after_a_question(chat: Chat, wait_until: Wait, yes: bool):
    thread = past(chat.store, ("Is it big?", "Yes."))
    chat.dock.open_thread(thread.thread_id)
    wait_until(lambda: questions(chat) == ["Is it big?"])
    wait_until(chat.dock.is_idle)
    chat.dock.header.delete.trigger()
    box = chat.dock.findChild(QMessageBox)
    assert box is not None
    assert thread.folder is not None
    assert thread.folder.is_dir()
    agree = next(item for item in box.buttons() if item.text() == "Delete")
    (agree if yes else box.button(QMessageBox.StandardButton.Cancel)).click()
    wait_until(lambda: thread.folder is not None and thread.folder.is_dir() is not yes)
    wait_until(chat.dock.is_idle)
    assert questions(chat) == ([] if yes else ["Is it big?"])
    assert len(chat.store.threads()) == (0 if yes else 1)


def test_what_is_being_answered_is_not_deleted(chat: Chat, wait_until: Wait):
    chat.dock.submit("first question")
    wait_until(lambda: chat.runner.asked)
    chat.dock.header.delete.trigger()
    assert chat.dock.findChild(QMessageBox) is None
    wait_until(lambda: chat.dock.conversation._notes)


def test_tables_and_plots_of_an_earlier_conversation_open_again(
    chat: Chat, wait_until: Wait, tmp_path: Path
):
    thread = chat.store.new_thread()
    folder = thread.files_dir()
    cells = table_of([{"label": 1, "area": 3.5}, {"label": 2, "area": 4.5}], {"area": "µm²"})
    links = {"": "nuclei-id"}
    table = write_table(folder / "t.csv", cells, "Nuclei", label_column="label", findings=links)
    shown = Plot(kind="histogram", title="Areas", table="t.csv", x="area")
    plot = write_plot(folder / "p.json", shown)
    stranger = write_table(tmp_path / "t.csv", cells, "Elsewhere")
    made = [plain(one) for one in (table, plot, stranger)]
    started = (ToolStarted, {"call_id": "c", "tool": "t", "arguments": {}})
    finished = (ToolFinished, {"call_id": "c", "tool": "t", "status": "ok", "summary": "s"})
    result = {"status": "ok", "summary": "s", "output": {}, "metadata": {}, "artifacts": made}
    thread.log_call("c", "t", {}, result, TIME, TIME)
    add_run(thread, "r1", "q", started, finished, (RunFinished, {"answer": "a"}))
    thread_id = thread.thread_id
    thread.close()
    show(chat, wait_until, thread_id)
    buttons = chat.run.cards["c"].results
    assert [one.accessibleName() for one in buttons] == ["Table: Nuclei (2 rows)", "Plot: Areas"]
    QTest.mouseClick(buttons[0], LEFT)
    (pane,) = chat.workspace.panes.all
    assert (pane.path, pane.role) == (table.path, "table")
    assert pane.options["findings"] == links
    assert pane.options["units"] == {"area": "µm²"}
