"""A flood of events stalls nothing, and the window may close in any state of a run."""

from __future__ import annotations

import gc
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtWidgets import QApplication

from app.agent.events import (
    ApprovalRequested,
    ModelRetry,
    Noted,
    PlanUpdated,
    ReasoningDelta,
    RunEvent,
    RunFailed,
    RunFinished,
    TextDelta,
    ToolFinished,
    ToolProgress,
    ToolStarted,
)
from app.views.chat.run_view import RunView
from tests.gui.chat_support import Chat, ask, make_chat, opened
from tests.gui.heartbeat import Heartbeat, stall_ms

pytestmark = pytest.mark.gui

Wait = Callable[..., None]
SECONDS = 2
A_SECOND = 1000  # deltas
TOOLS = 10
ATTEMPTS = 4  # other programs on the machine can only lengthen a stall


@pytest.fixture
def chat(qapp: object, tmp_path: Path) -> Iterator[Chat]:
    yield from opened(tmp_path / "sessions")


def pour(chat: Chat, events: Sequence[RunEvent], per_second: int) -> threading.Thread:
    """Say events at a rate, on another thread, as a runner does."""

    def work() -> None:
        began = time.perf_counter()
        for index, event in enumerate(events):
            chat.runner.on_event(event)
            ahead = began + index / per_second - time.perf_counter()
            if ahead > 0:
                time.sleep(ahead)

    thread = threading.Thread(target=work)
    thread.start()
    return thread


def longest(chat: Chat, wait_until: Wait, beat: Heartbeat, events: Sequence[RunEvent]) -> float:
    """The longest stall while they come and are shown, ms."""
    beat.restart()
    thread = pour(chat, events, A_SECOND)
    wait_until(lambda: chat.run.ended, 60)
    beat.look()
    thread.join()
    return beat.longest_ms


def test_1000_deltas_a_second_stall_nothing(chat: Chat, wait_until: Wait, gui_heartbeat: Heartbeat):
    stalls: list[float] = []
    words = [
        f"word{index} " + ("\n- " if index % 12 == 0 else "") for index in range(SECONDS * A_SECOND)
    ]
    while len(stalls) < ATTEMPTS and (not stalls or min(stalls) >= stall_ms()):
        ask(chat, wait_until)
        make = chat.runner.make
        half = len(words) // 2
        events = [make(ReasoningDelta, text=word) for word in words[:half]]
        events += [make(TextDelta, text=word) for word in words[half:]]
        events.append(make(RunFinished, answer=""))
        stalls.append(longest(chat, wait_until, gui_heartbeat, events))
        assert chat.run.thoughts[0].text == "".join(words[:half])
        assert chat.run.answers[0].text == "".join(words[half:])
    assert min(stalls) < stall_ms()


def test_open_thinking_grows_by_1000_deltas_a_second_without_a_stall(
    chat: Chat, wait_until: Wait, gui_heartbeat: Heartbeat
):
    stalls: list[float] = []
    while len(stalls) < ATTEMPTS and (not stalls or min(stalls) >= stall_ms()):
        ask(chat, wait_until)
        chat.runner.say(ReasoningDelta, text="begin ")
        wait_until(lambda: chat.run.thoughts)
        chat.run.thoughts[0].toggle()
        make = chat.runner.make
        events = [make(ReasoningDelta, text="a thought ") for _ in range(A_SECOND)]
        events.append(make(RunFinished, answer="done"))
        stalls.append(longest(chat, wait_until, gui_heartbeat, events))
        view = chat.run.thoughts[0].view
        assert view is not None
        wait_until(lambda view=view: view.complete)
        assert view.plain().replace("\n", "").count("a thought ") == A_SECOND
    assert min(stalls) < stall_ms()


def test_ten_tools_at_once_stall_nothing(chat: Chat, wait_until: Wait, gui_heartbeat: Heartbeat):
    stalls: list[float] = []
    while len(stalls) < ATTEMPTS and (not stalls or min(stalls) >= stall_ms()):
        ask(chat, wait_until)
        make = chat.runner.make
        heads = [
            {"call_id": f"{len(stalls)}-{index}", "tool": f"t{index}"} for index in range(TOOLS)
        ]
        events = [make(ToolStarted, **head, arguments={"n": 1}) for head in heads]
        for step in range(A_SECOND // TOOLS):
            for head in heads:
                text = f"row {step}"
                events.append(make(ToolProgress, **head, fraction=step / 100, text=text))
        for head in reversed(heads):
            output = {"ratio": 0.5, "width": 10.0}
            events.append(make(ToolFinished, **head, status="ok", summary="s " * 60, output=output))
        events.append(make(RunFinished, answer="done"))
        stalls.append(longest(chat, wait_until, gui_heartbeat, events))
        assert [card.status for card in chat.run.cards.values()] == ["ok"] * TOOLS
    assert min(stalls) < stall_ms()


# -- closing the window

CALL = {"call_id": "c", "tool": "t"}
STATES: dict[str, list[tuple[Callable[..., RunEvent], dict[str, Any]]]] = {
    "thinking": [(ReasoningDelta, {"text": "hm " * 3000})],
    "text": [(TextDelta, {"text": "half an answer"})],
    "loading": [(Noted, {"text": "The model is being loaded.", "passing": True})],
    "retrying": [
        (TextDelta, {"text": "half"}),
        (ModelRetry, {"attempt": 2, "attempts": 4, "wait_s": 9.0, "reason": "busy"}),
    ],
    "tool": [
        (PlanUpdated, {"steps": [{"tool": "t", "why": "w", "state": "running"}]}),
        (ToolStarted, {**CALL, "arguments": {}}),
        (ToolProgress, {**CALL, "fraction": 0.5, "text": "half"}),
    ],
    "approval": [
        (ToolStarted, {**CALL, "arguments": {}}),
        (
            ApprovalRequested,
            {"approval_id": "a", "title": "t", "detail": "", "tool": "t",
             "arguments": {"x": "y " * 50_000}},
        ),
    ],
    "finished": [(RunFinished, {"answer": "Done.", "stopped_by": "steps"})],
    "failed": [(RunFailed, {"error": "down"})],
}  # fmt: skip


@pytest.mark.parametrize("stop", ["", "after", "now"])
@pytest.mark.parametrize("state", list(STATES))
def test_the_window_may_close_in_any_state(
    qapp: QApplication, wait_until: Wait, tmp_path: Path, state: str, stop: str
):
    run = closed_in(tmp_path / "sessions", wait_until, state, stop)
    turns = time.perf_counter() + 0.1
    wait_until(lambda: time.perf_counter() > turns)
    gc.collect()
    assert run() is None


def closed_in(folder: Path, wait_until: Wait, state: str, stop: str) -> weakref.ref[RunView]:
    """A chat that was closed while its run was in that state and went on speaking."""
    chat = make_chat(folder)
    chat.runner.obeys = False
    chat.dock.show()
    ask(chat, wait_until)
    chat.dock.submit("a queued question")
    for kind, fields in STATES[state]:
        chat.runner.say(kind, **fields)
    wait_until(lambda: not chat.agent._inbox)
    shown = chat.run
    for thought in shown.thoughts:
        thought.toggle()
    if stop:
        chat.agent.stop(after_tool=stop == "after")
    speaking = chat.runner.say_elsewhere(
        [chat.runner.make(TextDelta, text="late") for _ in range(200)]
    )
    chat.dock.close_models()
    chat.dock.close()
    chat.dock.deleteLater()
    speaking.join()
    assert chat.runner.closed == 1
    return weakref.ref(shown)


def test_a_run_that_is_left_is_let_go(chat: Chat, wait_until: Wait):
    ask(chat, wait_until)
    for events in STATES.values():
        for kind, fields in events[:1]:
            chat.runner.say(kind, **fields)
    wait_until(lambda: chat.run.ended)
    run: weakref.ref[RunView] = weakref.ref(chat.run)
    chat.dock.new_thread()
    until = time.perf_counter() + 0.1
    wait_until(lambda: time.perf_counter() > until)
    gc.collect()
    assert run() is None
