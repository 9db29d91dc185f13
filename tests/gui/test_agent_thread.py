"""Events cross to the GUI thread in order, none lost, and a flood of them stalls nothing."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QThread
from shiboken6 import delete, isValid

from app.agent.events import (
    ModelRetry,
    ReasoningDelta,
    RunEvent,
    RunFinished,
    TextDelta,
    ToolFinished,
    ToolProgress,
    ToolStarted,
)
from app.agent.llm.base import Text
from app.agent.loop.agent_loop import AgentLoop
from app.agent.loop.runner import AgentRunner
from app.agent.request import Question
from app.agent.sessions import Thread
from app.errors import FileProblem
from app.tools.api import Artifact
from app.views.agent_thread import AgentThread
from app.workspace.workspace import Workspace
from tests.gui.chat_support import FakeRunner, finding
from tests.gui.heartbeat import stall_ms
from tests.gui.viewer_support import found as found_in
from tests.gui.viewer_support import instance, study
from tests.support.fake_tools import FakeRegistry, NoHost, NoImages, pack
from tests.support.scripted_model import ScriptedModel, Stall, call, says

pytestmark = pytest.mark.gui

Wait = Callable[..., None]


class Rig:
    """An agent thread with a fake runner, and all it told."""

    def __init__(self, make_request: Callable[[str, Any], Any] | None = None) -> None:
        self.workspace = Workspace()
        self.frozen = 0
        self.runner: FakeRunner
        self.agent = AgentThread(self._runner, make_request or self._request, self.workspace)
        self.events: list[RunEvent] = []
        self.ended: list[tuple[str, str]] = []
        self.agent.run_event.connect(self.events.append)
        self.agent.run_ended.connect(lambda run, kind: self.ended.append((run, kind)))
        self.thread = Thread.in_memory()

    def _runner(self, on_event: Callable[[RunEvent], None]) -> FakeRunner:
        self.runner = FakeRunner(on_event)
        return self.runner

    def _request(self, text: str, thread: Thread) -> Question:
        self.frozen += 1
        return Question(text, thread, NoImages(), [], Path(), NoHost(), Path())

    @property
    def asked(self) -> list[str]:
        return [question.text for _, question in self.runner.asked]

    @property
    def text(self) -> str:
        return "".join(event.text for event in self.events if isinstance(event, TextDelta))


@pytest.fixture
def rig(qapp: object) -> Iterator[Rig]:
    made = Rig()
    yield made
    if isValid(made.agent):
        made.agent.close()


def test_text_comes_joined_but_whole_and_in_order(rig: Rig, wait_until: Wait):
    rig.agent.ask("q", rig.thread)
    pieces = [f"{index} " for index in range(500)]
    events = [rig.runner.make(TextDelta, text=piece) for piece in pieces]
    events.append(rig.runner.make(RunFinished, answer="".join(pieces)))
    rig.runner.say_elsewhere(events).join()
    wait_until(lambda: rig.ended)
    assert rig.text == "".join(pieces)
    numbers = [event.seq for event in rig.events]
    assert numbers == sorted(set(numbers))
    assert len(rig.events) < 50
    assert [event.kind for event in rig.events][-1] == "run_finished"


def test_text_is_never_joined_across_another_event(rig: Rig, wait_until: Wait):
    rig.agent.ask("q", rig.thread)
    rig.runner.say(TextDelta, text="before ")
    rig.runner.say(TextDelta, text="it")
    rig.runner.say(ToolStarted, call_id="c", tool="t", arguments={})
    for step in range(5):
        rig.runner.say(ToolProgress, call_id="c", tool="t", fraction=step / 4, text=str(step))
    rig.runner.say(ToolProgress, call_id="d", tool="t", fraction=0.5, text="another call")
    rig.runner.say(TextDelta, text="after")
    rig.runner.finish()
    wait_until(lambda: rig.ended)
    told = [
        event.text if isinstance(event, (TextDelta, ToolProgress)) else event.kind
        for event in rig.events
    ]
    assert told == [
        "run_started", "before it", "tool_started", "4", "another call", "after", "run_finished"
    ]  # fmt: skip


def test_reasoning_is_joined_like_text_and_neither_across_a_retry(rig: Rig, wait_until: Wait):
    rig.agent.ask("q", rig.thread)
    for piece in ("I ", "think "):
        rig.runner.say(ReasoningDelta, text=piece)
    for piece in ("half ", "an answer"):
        rig.runner.say(TextDelta, text=piece)
    rig.runner.say(ModelRetry, attempt=2, attempts=4, wait_s=0, reason="reset", withdrawn=True)
    for piece in ("the ", "whole"):
        rig.runner.say(TextDelta, text=piece)
    rig.runner.finish()
    wait_until(lambda: rig.ended)
    told = [
        event.text if isinstance(event, (TextDelta, ReasoningDelta)) else event.kind
        for event in rig.events
    ]
    assert told == [
        "run_started", "I think ", "half an answer", "model_retry", "the whole", "run_finished"
    ]  # fmt: skip


def test_reports_of_calls_side_by_side_overtake_their_own_only(rig: Rig, wait_until: Wait):
    rig.agent.ask("q", rig.thread)
    for step in range(4):
        for key in "abc":
            rig.runner.say(ToolProgress, call_id=key, tool="t", fraction=step / 4, text=str(step))
    rig.runner.say(ToolFinished, call_id="a", tool="t", status="ok", summary="")
    rig.runner.say(ToolProgress, call_id="b", tool="t", fraction=1, text="last")
    rig.runner.finish()
    wait_until(lambda: rig.ended)
    told = [(e.call_id, e.text) for e in rig.events if isinstance(e, ToolProgress)]
    assert told == [("a", "3"), ("b", "3"), ("c", "3"), ("b", "last")]
    kinds = [event.kind for event in rig.events]
    assert kinds.index("tool_finished") == 4


def test_events_and_results_arrive_on_the_gui_thread(rig: Rig, wait_until: Wait):
    seen: list[tuple[str, bool]] = []
    main = QThread.currentThread()
    rig.agent.run_event.connect(
        lambda event: seen.append((event.kind, QThread.currentThread() is main))
    )
    rig.workspace.annotations.changed.connect(
        lambda: seen.append(("findings", QThread.currentThread() is main))
    )
    rig.agent.ask("q", rig.thread)
    found = finding("Right Lung")
    made = rig.runner.make(
        ToolFinished, call_id="c", tool="t", status="ok", summary="", findings=[found]
    )
    rig.runner.say_elsewhere([made]).join()
    wait_until(lambda: ("tool_finished", True) in seen)
    assert seen == [("run_started", True), ("findings", True), ("tool_finished", True)]
    assert rig.workspace.annotations.get(found.id) is not None


def test_a_picture_without_a_source_stays_beside_the_image_of_its_question(
    rig: Rig, tmp_path: Path, wait_until: Wait
):
    first, other = instance("a"), instance("b")
    rig.workspace.add(found_in(study(first, uid="1")))
    rig.workspace.studies.add(found_in(study(other, uid="2")))
    rig.agent.ask("q", rig.thread)
    rig.workspace.viewport.show(other)  # another patient, before the tool has finished
    shown = Artifact(tmp_path / "made.png", "show")
    made = rig.runner.make(
        ToolFinished, call_id="c", tool="t", status="ok", summary="", artifacts=[shown]
    )
    rig.runner.say_elsewhere([made]).join()
    wait_until(lambda: rig.events and rig.events[-1].kind == "tool_finished")
    assert rig.workspace.panes.all == (), "another patient's picture beside this one"
    rig.workspace.viewport.show(first)
    assert [pane.path for pane in rig.workspace.panes.all] == [shown.path]


def test_questions_wait_and_start_in_order(rig: Rig, wait_until: Wait):
    for text in ("one", "two", "three"):
        rig.agent.ask(text, rig.thread)
    assert rig.frozen == 3  # what was open is frozen when it is asked, not when it starts
    assert rig.asked == ["one"]
    assert [item.text for item in rig.agent.pending] == ["two", "three"]
    for number in (1, 2, 3):
        rig.runner.finish()
        wait_until(lambda number=number: len(rig.ended) == number)
    assert rig.asked == ["one", "two", "three"]
    assert rig.agent.is_idle()


def test_a_waiting_question_can_be_taken_back(rig: Rig, wait_until: Wait):
    rig.agent.ask("one", rig.thread)
    second = rig.agent.ask("two", rig.thread)
    rig.agent.ask("three", rig.thread)
    rig.agent.remove(second.number)
    rig.runner.finish()
    wait_until(lambda: len(rig.asked) == 2)
    assert rig.asked == ["one", "three"]


def test_stop_reaches_the_runner_at_once_and_only_once(rig: Rig, wait_until: Wait):
    rig.runner.obeys = False
    rig.agent.ask("one", rig.thread)
    rig.agent.ask("two", rig.thread)
    rig.agent.stop()
    rig.agent.stop()
    assert rig.runner.cancelled == ["run-1"]
    assert rig.agent.stopping
    assert rig.agent.busy
    rig.runner.obeys = True
    rig.runner.cancel("run-1")
    wait_until(lambda: rig.ended)
    assert rig.ended == [("run-1", "run_cancelled")]
    assert rig.asked == ["one", "two"]
    assert not rig.agent.stopping


def test_stop_after_the_tool_may_become_a_stop_at_once_but_not_the_other_way(
    rig: Rig, wait_until: Wait
):
    rig.runner.obeys = False
    rig.agent.stop(after_tool=True)
    rig.agent.ask("one", rig.thread)
    for after_tool in (True, True, False, True):
        rig.agent.stop(after_tool=after_tool)
    assert rig.runner.cancelled == ["run-1 after tool", "run-1"]
    assert rig.agent.stopping == "now"


def test_a_question_that_cannot_be_frozen_fails_in_words(qapp: object, wait_until: Wait):
    def broken(text: str, thread: Any) -> Any:
        if text == "bad":
            raise FileProblem("the folder cannot be made", remedy="Free some space.")
        return Question(text, thread, NoImages(), [], Path(), NoHost(), Path())

    rig = Rig(broken)
    rig.agent.ask("bad", rig.thread)
    rig.agent.ask("good", rig.thread)
    wait_until(lambda: rig.ended)
    failed: Any = rig.events[0]
    assert (failed.kind, failed.error) == ("run_failed", "the folder cannot be made")
    assert failed.remedy == "Free some space."
    wait_until(lambda: rig.asked == ["good"])
    rig.agent.close()


def test_a_result_that_cannot_be_shown_ends_nothing(
    rig: Rig, wait_until: Wait, monkeypatch: pytest.MonkeyPatch
):
    def broken(*_: object) -> None:
        raise ValueError("no room")

    monkeypatch.setattr(rig.workspace, "take_results", broken)
    rig.agent.ask("q", rig.thread)
    rig.runner.say(ToolFinished, call_id="c", tool="t", status="ok", summary="")
    rig.runner.finish()
    wait_until(lambda: rig.ended)
    assert [event.kind for event in rig.events][1:] == ["tool_finished", "run_finished"]


def test_nothing_comes_out_after_close(rig: Rig, wait_until: Wait):
    rig.agent.ask("q", rig.thread)
    wait_until(lambda: rig.events)
    before = len(rig.events)
    rig.runner.say(TextDelta, text="late")
    rig.agent.close()
    rig.runner.say(TextDelta, text="later")
    rig.agent.close()
    _turns(wait_until)
    assert len(rig.events) == before
    assert rig.runner.closed == 1


def test_a_deleted_agent_thread_gets_no_event(rig: Rig, wait_until: Wait):
    rig.agent.ask("q", rig.thread)
    runner, told = rig.runner, rig.events
    events = [runner.make(TextDelta, text="x") for _ in range(3000)]
    thread = runner.say_elsewhere(events)
    delete(rig.agent)
    thread.join()
    before = len(told)
    _turns(wait_until)
    assert len(told) == before


def test_a_flood_of_events_does_not_stall_the_window(
    rig: Rig, wait_until: Wait, gui_heartbeat: Any
):
    rig.agent.ask("q", rig.thread)
    events = [rig.runner.make(TextDelta, text="word ") for _ in range(20_000)]
    events.append(rig.runner.make(RunFinished, answer=""))
    gui_heartbeat.restart()
    rig.runner.say_elsewhere(events)
    wait_until(lambda: rig.ended)
    assert rig.text == "word " * 20_000
    assert gui_heartbeat.longest_ms < stall_ms()


class RealRig:
    """An agent thread around the real runner and loop, with a scripted model."""

    def __init__(self, folder: Path, model: ScriptedModel, tools: FakeRegistry) -> None:
        def make_request(text: str, thread: Thread) -> Question:
            return Question(text, thread, NoImages(), [], folder, NoHost(), folder)

        loop = AgentLoop(model, tools)
        self.workspace = Workspace()
        self.agent = AgentThread(
            lambda on_event: AgentRunner(loop, on_event), make_request, self.workspace
        )
        self.kinds: list[str] = []
        self.ended: list[str] = []
        self.agent.run_event.connect(lambda event: self.kinds.append(event.kind))
        self.agent.run_ended.connect(lambda _run, kind: self.ended.append(kind))


def test_a_real_run_brings_its_findings(qapp: object, tmp_path: Path, wait_until: Wait):
    turn = [Text("Looking. "), call("chest_xray_segmentation", image_path="image-1")]
    with ScriptedModel(turn, says("Both lungs are there.")) as model:
        rig = RealRig(tmp_path, model, pack())
        rig.agent.ask("Where are the lungs?", Thread.in_memory())
        wait_until(lambda: rig.ended)
        rig.agent.close()
    assert rig.ended == ["run_finished"]
    assert rig.kinds[0] == "run_started"
    assert {item.finding.label for item in rig.workspace.annotations.all()} == {
        "Left Lung", "Right Lung", "Heart"
    }  # fmt: skip


@pytest.mark.timed
def test_a_real_run_stops_within_a_second(qapp: object, tmp_path: Path, wait_until: Wait):
    with ScriptedModel([Text("hm "), Stall()], says("next")) as model:
        rig = RealRig(tmp_path, model, FakeRegistry())
        thread = Thread.in_memory()
        rig.agent.ask("one", thread)
        rig.agent.ask("two", thread)
        wait_until(lambda: "text_delta" in rig.kinds)
        began = time.perf_counter()
        rig.agent.stop()
        wait_until(lambda: rig.ended)
        took = time.perf_counter() - began
        wait_until(lambda: len(rig.ended) == 2)
        rig.agent.close()
    assert rig.ended == ["run_cancelled", "run_finished"]
    assert took < 1.0


def test_close_ends_the_worker_thread(qapp: object, tmp_path: Path, wait_until: Wait):
    rig = RealRig(tmp_path, ScriptedModel([Text("hm "), Stall()]), FakeRegistry())
    rig.agent.ask("one", Thread.in_memory())
    wait_until(lambda: "text_delta" in rig.kinds)
    assert any(thread.name == "agent" for thread in threading.enumerate())
    rig.agent.close()
    assert not any(thread.name == "agent" for thread in threading.enumerate())


def _turns(wait_until: Wait) -> None:
    """A few batches' worth of the event loop."""
    until = time.perf_counter() + 0.15
    wait_until(lambda: time.perf_counter() > until)
