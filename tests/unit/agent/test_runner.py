from __future__ import annotations

import queue
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from app.agent.events import TERMINAL, RunEvent
from app.agent.llm.base import ModelFailed, Text
from app.agent.loop.agent_loop import AgentLoop
from app.agent.loop.runner import AgentRunner
from app.agent.request import Decision, Question
from app.agent.sessions import Thread
from app.tools.api import Approval, ToolContext, ToolResult
from tests.support.fake_tools import (
    FakeRegistry,
    FakeTool,
    ImageInput,
    NoHost,
    NoImages,
    check_promises,
    ok,
)
from tests.support.hang import HANG_S
from tests.support.scripted_model import ScriptedModel, Stall, Until, call, says


class Events:
    """Collects what a runner tells, from the test's thread."""

    def __init__(self) -> None:
        self.queue: queue.Queue[RunEvent] = queue.Queue()
        self.seen: list[RunEvent] = []
        self.threads: set[str] = set()

    def __call__(self, event: RunEvent) -> None:
        self.threads.add(threading.current_thread().name)
        self.queue.put(event)

    def until(self, kind: str, run_id: str = "") -> RunEvent:
        while True:
            event = self.queue.get(timeout=60)
            self.seen.append(event)
            if event.kind == kind and run_id in ("", event.run_id):
                return event

    def of(self, run_id: str) -> list[RunEvent]:
        return [event for event in self.seen if event.run_id == run_id]


def question(tmp_path: Path, text: str, thread: Thread) -> Question:
    return Question(text, thread, NoImages(), [], tmp_path, NoHost(), tmp_path)


def test_a_question_asked_while_one_runs_is_queued(tmp_path: Path):
    gate = threading.Event()
    model = ScriptedModel([Until(gate), Text("one ")], says("two"))
    events, thread = Events(), Thread.in_memory()
    runner = AgentRunner(AgentLoop(model, FakeRegistry()), events)
    runner.start()
    runner.start()
    first = runner.ask(question(tmp_path, "q1", thread))
    events.until("run_started", first)
    second = runner.ask(question(tmp_path, "q2", thread), "my-id")
    assert runner.running == first
    assert second == "my-id"
    gate.set()
    events.until("run_finished", second)
    runner.close()
    model.assert_used_up()
    for run_id in (first, second):
        check_promises(events.of(run_id))
    order = [event.run_id for event in events.seen]
    assert order == sorted(order, key=[first, second].index)
    assert [item.text for item in thread.history] == ["q1", "one ", "q2", "two "]
    assert events.threads == {"agent"}


def test_cancel_of_the_running_and_of_a_queued_question(tmp_path: Path):
    model = ScriptedModel([Text("hm"), Stall()], says("three"))
    events, thread = Events(), Thread.in_memory()
    runner = AgentRunner(AgentLoop(model, FakeRegistry()), events)
    runner.start()
    first = runner.ask(question(tmp_path, "q1", thread))
    events.until("text_delta", first)
    second = runner.ask(question(tmp_path, "q2", thread))
    third = runner.ask(question(tmp_path, "q3", thread))
    assert runner.cancel(second)
    events.until("run_cancelled", second)
    check_promises(events.of(second))
    assert runner.running == first
    assert runner.cancel(first)
    events.until("run_cancelled", first)
    events.until("run_finished", third)
    assert not runner.cancel("unknown")
    runner.close()
    assert len(model.requests) == 2


@pytest.mark.parametrize("granted", [True, False])
def test_approvals_are_answered_from_another_thread(tmp_path: Path, granted: bool):
    model = ScriptedModel(says("hello"), remote_host="far.example")
    events = Events()
    runner = AgentRunner(AgentLoop(model, FakeRegistry()), events)
    runner.start()
    run_id = runner.ask(question(tmp_path, "q", Thread.in_memory()))
    wanted: Any = events.until("approval_requested")
    runner.resolve("unknown", True)
    runner.resolve(wanted.approval_id, granted)
    end = events.until("run_finished" if granted else "run_failed", run_id)
    runner.close()
    assert end.kind in TERMINAL
    assert len(model.requests) == int(granted)


def test_close_cancels_everything_and_ends_the_thread(tmp_path: Path):
    model = ScriptedModel([Text("hm"), Stall()])
    events = Events()
    runner = AgentRunner(AgentLoop(model, FakeRegistry()), events)
    runner.start()
    thread = Thread.in_memory()
    first = runner.ask(question(tmp_path, "q1", thread))
    second = runner.ask(question(tmp_path, "q2", thread))
    events.until("text_delta", first)
    runner.close()
    assert "agent" not in [item.name for item in threading.enumerate()]
    ended = set()
    while not events.queue.empty():
        event = events.queue.get()
        if event.kind == "run_cancelled":
            ended.add(event.run_id)
    assert ended == {first, second}
    with pytest.raises(RuntimeError, match="not running"):
        runner.ask(question(tmp_path, "q3", thread))


def test_a_callback_that_raises_stops_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    events = Events()

    def tell(event: RunEvent) -> None:
        events(event)
        raise ValueError("patient Jane")

    runner = AgentRunner(AgentLoop(ScriptedModel(says("fine")), FakeRegistry()), tell)
    runner.start()
    runner.ask(question(tmp_path, "q", Thread.in_memory()))
    events.until("run_finished")
    runner.close()
    assert "Jane" not in caplog.text


def test_another_model_is_used_for_questions_asked_from_then_on(tmp_path: Path):
    one, two = ScriptedModel(says("one")), ScriptedModel(says("two"))
    events, thread = Events(), Thread.in_memory()
    runner = AgentRunner(AgentLoop(one, FakeRegistry()), events)
    runner.start()
    runner.ask(question(tmp_path, "q", thread), "a")
    runner.use(AgentLoop(two, FakeRegistry()))
    runner.ask(question(tmp_path, "q", thread), "b")
    events.until("run_finished", "b")
    runner.close()
    one.assert_used_up()
    two.assert_used_up()


def test_stopping_after_the_tool_lets_it_end_and_the_next_question_runs(tmp_path: Path):
    release = threading.Event()

    def run(args: Any, context: ToolContext) -> ToolResult:
        assert release.wait(60)
        return ToolResult("found", {}, {})

    model = ScriptedModel([call("slow", image_path="a"), call("slow", image_path="b")], says("two"))
    tools = FakeRegistry(FakeTool("slow", ImageInput, run, sequential=True))
    events, thread = Events(), Thread.in_memory()
    runner = AgentRunner(AgentLoop(model, tools), events)
    runner.start()
    first = runner.ask(question(tmp_path, "q1", thread))
    second = runner.ask(question(tmp_path, "q2", thread))
    events.until("tool_started", first)
    assert runner.cancel(first, after_tool=True)
    assert runner.running == first
    release.set()
    events.until("run_cancelled", first)
    events.until("run_finished", second)
    runner.close()
    check_promises(events.of(first))
    told = [item.text for item in thread.history if item.role == "tool"]
    assert "found" in told[0]
    assert "Not run" in told[1]


def test_a_waiting_question_is_taken_back_whichever_way_it_is_stopped(tmp_path: Path):
    model = ScriptedModel([Text("hm"), Stall()])
    events, thread = Events(), Thread.in_memory()
    runner = AgentRunner(AgentLoop(model, FakeRegistry()), events)
    runner.start()
    first = runner.ask(question(tmp_path, "q1", thread))
    events.until("text_delta", first)
    second = runner.ask(question(tmp_path, "q2", thread))
    assert runner.cancel(second, after_tool=True)
    events.until("run_cancelled", second)
    assert runner.running == first
    runner.close()


def test_the_reason_of_a_denial_reaches_the_model(tmp_path: Path):
    tool = FakeTool("writer", ImageInput, ok(), approval=Approval.WRITE)
    model = ScriptedModel([call("writer", image_path="a")], says("all right"))
    events, thread = Events(), Thread.in_memory()
    runner = AgentRunner(AgentLoop(model, FakeRegistry(tool)), events)
    runner.start()
    runner.ask(question(tmp_path, "q", thread))
    wanted: Any = events.until("approval_requested")
    runner.resolve(wanted.approval_id, Decision(granted=False, reason="not there"))
    runner.resolve(wanted.approval_id, True)
    events.until("run_finished")
    runner.close()
    assert not tool.calls
    assert "not there" in next(item.text for item in thread.history if item.role == "tool")


def busy() -> ModelFailed:
    error = ModelFailed("busy")
    error.retryable, error.retry_after_s = True, 50.0
    return error


@pytest.mark.parametrize(
    ("turn", "host", "kind"),
    [
        ([busy()], "", "model_retry"),
        ([], "far.example", "approval_requested"),
        ([call("writer", image_path="a")], "", "approval_requested"),
        ([call("deaf", image_path="a"), call("deaf", image_path="b")], "", "tool_started"),
        ([Text("hm"), Stall()], "", "text_delta"),
    ],
    ids=["while it waits", "consent", "approval", "tools", "model"],
)
def test_after_close_nothing_hangs(tmp_path: Path, turn: Any, host: str, kind: str):
    release = threading.Event()

    def run(args: Any, context: ToolContext) -> ToolResult:
        release.wait(60)
        return ToolResult("", {}, {})

    tools = FakeRegistry(
        FakeTool("deaf", ImageInput, run),
        FakeTool("writer", ImageInput, ok(), approval=Approval.WRITE),
    )
    events = Events()
    runner = AgentRunner(AgentLoop(ScriptedModel(turn, remote_host=host), tools), events)
    runner.start()
    run_id = runner.ask(question(tmp_path, "q", Thread.in_memory()))
    events.until(kind, run_id)
    started = time.monotonic()
    runner.close()
    took_s = time.monotonic() - started
    release.set()
    assert took_s < HANG_S
    assert "agent" not in [item.name for item in threading.enumerate()]
    events.until("run_cancelled", run_id)
    check_promises(events.of(run_id))


def test_a_loop_that_breaks_still_ends_the_run(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    class Broken(AgentLoop):
        async def run(self, request: Any) -> Any:
            async for event in super().run(request):
                yield event
                raise RuntimeError("patient Jane")

    events = Events()
    runner = AgentRunner(Broken(ScriptedModel(says("x")), FakeRegistry()), events)
    runner.start()
    run_id = runner.ask(question(tmp_path, "q", Thread.in_memory()))
    end: Any = events.until("run_failed", run_id)
    runner.close()
    assert [event.seq for event in events.of(run_id)] == [0, 1]
    assert "Jane" not in end.error + caplog.text
