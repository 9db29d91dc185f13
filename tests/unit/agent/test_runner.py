from __future__ import annotations

import queue
import threading
from pathlib import Path
from typing import Any

import pytest

from app.agent.events import TERMINAL, RunEvent
from app.agent.llm.base import Text
from app.agent.loop import AgentLoop
from app.agent.runner import AgentRunner, Question
from app.agent.sessions import Thread
from tests.support.fake_tools import FakeRegistry, NoHost, NoImages, check_promises
from tests.support.scripted_model import ScriptedModel, Stall, Until, says


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
            event = self.queue.get(timeout=5)
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
    assert runner.queued == (second,) == ("my-id",)
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
