from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest

from app.agent.events import RunEvent
from app.agent.loop.agent_loop import AgentLoop
from app.agent.messages import Message
from app.agent.sessions import Thread
from app.tools.api import Approval, ToolContext, ToolFailed, ToolResult
from tests.support.fake_tools import (
    FakeRegistry,
    FakeTool,
    ImageInput,
    collect,
    fails,
    ok,
    request,
)
from tests.support.scripted_model import ScriptedModel, Turn, call, says

PATIENCE_S = 10.0


class Counter:
    """A tool's run that counts how many of it run at the same time.

    Args:
        wait_for: Go on once so many have run at the same time.
    """

    def __init__(self, wait_for: int = 1) -> None:
        self._lock = threading.Condition()
        self._now = 0
        self.most = 0
        self._wait_for = wait_for

    def __call__(self, args: Any, context: ToolContext) -> ToolResult:
        with self._lock:
            self._now += 1
            self.most = max(self.most, self._now)
            self._lock.notify_all()
            self._lock.wait_for(lambda: self.most >= self._wait_for, PATIENCE_S)
            self._lock.wait(0.01)  # lets others in, if anything lets them
            self._now -= 1
        return ToolResult(f"saw {args.image_path}", {}, {})


def play(tmp_path: Path, *turns: Turn, tools: FakeRegistry, **changes: Any) -> Any:
    thread = Thread.in_memory()
    with ScriptedModel(*turns) as model:
        loop = AgentLoop(model, tools)
        events = asyncio.run(collect(loop, request(tmp_path, thread=thread, **changes)))
    return events, thread


def results(thread: Thread) -> list[Message]:
    return [item for item in thread.history if item.role == "tool"]


def order(events: list[Any], kind: str) -> list[str]:
    return [event.tool for event in events if event.kind == kind]


def test_calls_of_one_message_run_at_the_same_time(tmp_path: Path):
    both = Counter(wait_for=2)
    tools = FakeRegistry(FakeTool("a", ImageInput, both), FakeTool("b", ImageInput, both))
    turn: Turn = [call("a", image_path="1"), call("b", image_path="2")]
    play(tmp_path, turn, says("done"), tools=tools)
    assert both.most == 2


def test_the_results_keep_the_order_of_the_calls_whichever_ends_first(tmp_path: Path):
    second_ended = threading.Event()

    def first(args: Any, context: ToolContext) -> ToolResult:
        assert second_ended.wait(PATIENCE_S)
        return ToolResult("first", {}, {})

    tools = FakeRegistry(
        FakeTool("first", ImageInput, first), FakeTool("second", ImageInput, ok("second"))
    )
    turn: Turn = [call("first", image_path="1"), call("second", image_path="2")]
    thread = Thread.in_memory()

    async def main() -> list[RunEvent]:
        events: list[RunEvent] = []
        loop = AgentLoop(ScriptedModel(turn, says("done")), tools)
        async for event in loop.run(request(tmp_path, thread=thread)):
            events.append(event)
            if event.kind == "tool_finished" and event.tool == "second":
                assert not results(thread), "a result came before that of the call before it"
                second_ended.set()
        return events

    events = asyncio.run(main())
    assert order(events, "tool_started") == ["first", "second"]
    assert order(events, "tool_finished") == ["second", "first"]
    assert [item.data["summary"] for item in results(thread)] == ["first", "second"]


def test_four_run_at_the_same_time_at_most(tmp_path: Path):
    four = Counter(wait_for=4)
    turn: Turn = [call("x", image_path=str(index)) for index in range(9)]
    tools = FakeRegistry(FakeTool("x", ImageInput, four))
    events, thread = play(tmp_path, turn, says("done"), tools=tools)
    assert four.most == 4
    summaries = [item.data["summary"] for item in results(thread)]
    assert summaries == [f"saw {index}" for index in range(9)]
    assert len(order(events, "tool_finished")) == 9


def test_a_sequential_tool_runs_alone(tmp_path: Path):
    one = Counter()
    tools = FakeRegistry(
        FakeTool("alone", ImageInput, one, sequential=True), FakeTool("free", ImageInput, one)
    )
    turn: Turn = [
        call("free", image_path="1"),
        call("alone", image_path="2"),
        call("alone", image_path="3"),
        call("free", image_path="4"),
    ]
    events, _ = play(tmp_path, turn, says("done"), tools=tools)
    assert one.most == 1
    assert order(events, "tool_finished") == ["free", "alone", "alone", "free"]


@pytest.mark.parametrize("effect", [Approval.WRITE, Approval.SEND, Approval.EXECUTE])
def test_a_tool_that_asks_runs_alone_and_after_those_before_it(tmp_path: Path, effect: Approval):
    one = Counter()
    tools = FakeRegistry(
        FakeTool("acts", ImageInput, one, approval=effect), FakeTool("free", ImageInput, one)
    )
    turn: Turn = [
        call("free", image_path="1"),
        call("acts", image_path="2"),
        call("free", image_path="3"),
    ]
    events, _ = play(tmp_path, turn, says("done"), tools=tools)
    kinds = [event.kind for event in events if event.kind.startswith(("tool", "approval"))]
    assert one.most == 1
    assert kinds[:4] == ["tool_started", "tool_finished", "tool_started", "approval_requested"]


def test_a_failing_call_takes_no_other_with_it(tmp_path: Path):
    failed = threading.Event()

    def fail(args: Any, context: ToolContext) -> ToolResult:
        failed.set()
        raise ToolFailed("broken")

    def work(args: Any, context: ToolContext) -> ToolResult:
        assert failed.wait(PATIENCE_S)
        context.cancel.check()
        return ToolResult("found", {}, {})

    tools = FakeRegistry(
        FakeTool("works", ImageInput, work),
        FakeTool("fails", ImageInput, fail),
        FakeTool("crashes", ImageInput, fails(SystemExit(1))),
    )
    turn: Turn = [
        call("works", image_path="1"),
        call("fails", image_path="2"),
        call("crashes", image_path="3"),
        call("unknown"),
        call("works"),
    ]
    events, thread = play(tmp_path, turn, says("done"), tools=tools)
    assert [item.ok for item in results(thread)] == [True, False, False, False, False]
    assert events[-1].kind == "run_finished"


def test_calls_that_take_turns_in_the_model_process_do_not_run_out_of_time(tmp_path: Path):
    turns = threading.Lock()

    def run(args: Any, context: ToolContext) -> ToolResult:
        with turns:
            threading.Event().wait(0.3)
        return ToolResult("done", {}, {})

    tool = FakeTool("heavy", ImageInput, run, timeout_s=0.5)
    turn: Turn = [call("heavy", image_path=str(index)) for index in range(3)]
    events, _ = play(tmp_path, turn, says("done"), tools=FakeRegistry(tool))
    ends = [event.status for event in events if event.kind == "tool_finished"]
    assert ends == ["ok", "ok", "ok"]


def test_two_calls_of_the_same_tool_are_two_steps_of_the_plan(tmp_path: Path):
    from app.agent.llm.base import Plan

    first_may_end = threading.Event()

    def run(args: Any, context: ToolContext) -> ToolResult:
        if args.image_path == "2":
            raise ToolFailed("broken")
        assert first_may_end.wait(PATIENCE_S)
        return ToolResult("done", {}, {})

    turn: Turn = [
        Plan((("look", "left"), ("look", "right"))),
        call("look", image_path="1"),
        call("look", image_path="2"),
    ]
    plans: list[list[str]] = []

    async def main() -> None:
        model = ScriptedModel(turn, says("done"))
        loop = AgentLoop(model, FakeRegistry(FakeTool("look", ImageInput, run)))
        async for event in loop.run(request(tmp_path)):
            if event.kind == "plan_updated":
                plans.append([step["state"] for step in event.steps])
            if event.kind == "tool_finished":
                first_may_end.set()

    asyncio.run(main())
    assert ["running", "failed"] in plans
    assert plans[-1] == ["done", "failed"]
