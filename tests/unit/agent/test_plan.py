"""The plan as a live checklist: a planner's, whose steps are calls, and a model's own."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from app.agent.enforcement.plan_checklist import PlanState
from app.agent.llm.base import ModelFailed, ModelInfo, Plan, Text
from app.agent.loop.agent_loop import AgentLoop, Limits
from app.agent.loop.retry import Retry
from app.agent.sessions import Thread
from tests.support import fake_tools
from tests.support.fake_tools import FakeRegistry, collect, request
from tests.support.scripted_model import ScriptedModel, Stall, Turn, call, says

OWN = ModelInfo(own_tools=True, metered=False)


def play(tmp_path: Path, *turns: Turn, **changes: Any) -> tuple[Any, Thread, ScriptedModel]:
    thread = Thread.in_memory()
    limits = changes.pop("limits", None)
    with ScriptedModel(*turns, info=OWN) as model:
        loop = AgentLoop(model, fake_tools.pack(), limits=limits)
        events = asyncio.run(collect(loop, request(tmp_path, thread=thread, **changes)))
    return events, thread, model


def steps(*pairs: tuple[str, str]) -> dict[str, Any]:
    return {"steps": [{"title": title, "state": state} for title, state in pairs]}


def states(events: Any) -> list[list[tuple[str, str]]]:
    return [
        [(step["tool"], step["state"]) for step in event.steps]
        for event in events
        if event.kind == "plan_updated"
    ]


def test_a_model_tells_its_plan_and_what_becomes_of_it(tmp_path: Path):
    turns: list[Turn] = [
        [call("update_plan", **steps(("Heart size", "running"), ("Disease", "pending")))],
        [call("cardiothoracic_ratio", image_path="a")],
        [call("update_plan", **steps(("Heart size", "done"), ("Disease", "running")))],
    ]
    events, thread, _ = play(tmp_path, *turns, says("done"))
    assert states(events) == [
        [("Heart size", "running"), ("Disease", "pending")],
        [("Heart size", "done"), ("Disease", "running")],
        [("Heart size", "done"), ("Disease", "done")],
    ]
    assert [item.ok for item in thread.history if item.role == "tool"] == [True, True, True]


def test_a_plan_that_was_cut_says_what_was_not_done(tmp_path: Path):
    turn: Turn = [call("update_plan", **steps(("Heart size", "running"), ("Disease", "pending")))]
    asked = request(tmp_path)

    async def main() -> list[Any]:
        events: list[Any] = []
        loop = AgentLoop(ScriptedModel(turn, [Text("x"), Stall()], info=OWN), FakeRegistry())
        async for event in loop.run(asked):
            events.append(event)
            if event.kind == "text_delta":
                asked.cancel.cancel()
        return events

    events = asyncio.run(main())
    assert events[-1].kind == "run_cancelled"
    assert states(events)[-1] == [("Heart size", "skipped"), ("Disease", "skipped")]


def test_only_a_model_that_can_use_them_is_offered_the_loops_own_tools(tmp_path: Path):
    for info, offered in ((OWN, True), (ModelInfo(own_tools=False), False)):
        model = ScriptedModel(says("hello"), info=info)
        asyncio.run(collect(AgentLoop(model, fake_tools.pack()), request(tmp_path)))
        assert ("update_plan" in [tool.name for tool in model.schemas[0]]) is offered


def test_own_tools_do_not_count_as_calls_of_tools(tmp_path: Path):
    turns: list[Turn] = [
        [
            call("update_plan", **steps((f"Step {index}", "running"))),
            call("cardiothoracic_ratio", image_path=str(index)),
        ]
        for index in range(3)
    ]
    events, _, _ = play(tmp_path, *turns, says("done [1]"), limits=Limits(tool_calls=3))
    assert (events[-1].answer, events[-1].stopped_by) == ("done [1] ", "")


def test_own_tools_count_as_repeated_calls(tmp_path: Path):
    turns: list[Turn] = [[call("update_plan", **steps(("Look", "running")))] for _ in range(3)]
    events, _, _ = play(tmp_path, *turns)
    assert events[-1].stopped_by == "repeated_call"
    assert "Nothing was found so far." in events[-1].answer


def test_the_calls_of_each_step_of_the_models_plan_are_counted_apart(tmp_path: Path):
    def looks(names: str) -> list[Any]:
        return [call("cardiothoracic_ratio", image_path=name) for name in names]

    first: Turn = [
        call("update_plan", **steps(("One", "running"), ("Two", "pending"))),
        *looks("abc"),
        call("update_plan", **steps(("One", "done"), ("Two", "running"))),
        *looks("de"),
    ]
    limits = Limits(calls_per_task=2)
    events, thread, _ = play(tmp_path, first, says("done [1]"), limits=limits)
    told = [item.ok for item in thread.history if item.role == "tool"]
    assert told == [True, True, True, False, True, True, True]
    assert events[-1].answer == "done [1] "


def test_a_plan_of_which_nothing_runs_is_at_its_first_open_step(tmp_path: Path):
    first: Turn = [
        call("update_plan", **steps(("One", "done"), ("Two", "pending"))),
        *(call("cardiothoracic_ratio", image_path=name) for name in "abc"),
    ]
    _, thread, _ = play(tmp_path, first, says("done"), limits=Limits(calls_per_task=2))
    told = [item.ok for item in thread.history if item.role == "tool"]
    assert told == [True, True, True, False]


def test_a_plan_with_wrong_states_is_explained_to_the_model(tmp_path: Path):
    turn: Turn = [call("update_plan", steps=[{"title": "Look", "state": "begun"}])]
    events, thread, _ = play(tmp_path, turn, says("sorry"))
    assert not states(events)
    (result,) = [item for item in thread.history if item.role == "tool"]
    assert "steps.0.state" in result.text


def test_a_plan_of_a_stream_that_broke_is_not_shown(tmp_path: Path):
    busy = ModelFailed("busy")
    busy.retryable = True
    model = ScriptedModel([Plan((("a", "b"),)), busy], says("done"))
    loop = AgentLoop(model, FakeRegistry(), retry=Retry(base_s=0))
    events = asyncio.run(collect(loop, request(tmp_path)))
    assert not states(events)


def test_a_new_plan_keeps_what_was_done_and_finds_the_call_that_runs():
    plan = PlanState()
    plan.set([("a", ""), ("b", ""), ("c", "")])
    plan.start("1", "a")
    plan.finish("1", ok=True)
    plan.start("2", "b")
    plan.set([("a", ""), ("b", ""), ("d", "")])
    assert [step["state"] for step in plan.event_steps()] == ["done", "running", "pending"]
    plan.finish("2", ok=False)
    assert [step["state"] for step in plan.event_steps()] == ["done", "failed", "pending"]


def test_calls_are_matched_by_their_id():
    plan = PlanState()
    plan.set([("a", "first"), ("a", "second")])
    assert plan.start("1", "a") != plan.start("2", "a")
    plan.finish("2", ok=True)
    assert [step["state"] for step in plan.event_steps()] == ["running", "done"]
    plan.finish("unknown", ok=False)
    assert not plan.changed
