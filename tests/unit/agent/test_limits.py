from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.agent.llm.base import ModelInfo, Plan, Text, Tokens
from app.agent.loop.agent_loop import AgentLoop, Limits
from app.agent.loop.limits import Meter, WallClock, action_key
from app.agent.messages import ToolCall
from app.agent.sessions import Thread
from app.tools.api import Approval, ToolContext, ToolResult
from tests.support import fake_tools
from tests.support.fake_tools import (
    FakeRegistry,
    FakeTool,
    ImageInput,
    check_promises,
    collect,
    ok,
    request,
)
from tests.support.scripted_model import ScriptedModel, Stall, Turn, call, says
from tests.support.skipping import run_skipping, skip

INFO = ModelInfo(own_tools=False)
PRICED = ModelInfo(own_tools=False, input_price=10.0, output_price=100.0)


def play(tmp_path: Path, *turns: Turn, limits: Limits, **changes: Any) -> tuple[Any, Thread]:
    thread = Thread.in_memory()
    tools = changes.pop("tools", None) or fake_tools.pack()
    with ScriptedModel(*turns, info=changes.pop("info", None)) as model:
        loop = AgentLoop(model, tools, limits=limits)
        events = asyncio.run(collect(loop, request(tmp_path, thread=thread, **changes)))
    check_transcript(thread)
    return events, thread


def check_transcript(thread: Thread) -> None:
    calls = [call.id for item in thread.history for call in item.tool_calls]
    assert calls == [item.call_id for item in thread.history if item.role == "tool"]


def ratio(image: str = "a") -> Any:
    return call("cardiothoracic_ratio", image_path=image)


def found(event: Any) -> bool:
    """Whether a run that a limit ended says what its tools found."""
    return event.kind == "run_finished" and "ratio about 0.47" in event.answer


def test_the_limits_are_those_of_the_issue():
    limits = Limits()
    assert (limits.steps, limits.tool_calls, limits.calls_per_task) == (20, 25, 5)
    assert limits.same_call == 3


def test_the_same_call_is_not_run_a_third_time(tmp_path: Path):
    tools = fake_tools.pack()
    events, thread = play(tmp_path, [ratio()], [ratio()], [ratio()], limits=Limits(), tools=tools)
    assert events[-1].stopped_by == "repeated_call"
    assert found(events[-1])
    tool: Any = tools.get("cardiothoracic_ratio")
    assert len(tool.calls) == 2
    refused = [item for item in thread.history if item.role == "tool"][-1].text
    assert "Not run: cardiothoracic_ratio was asked for 3 times" in refused
    assert thread.history[-1].role == "assistant"


def test_the_same_call_three_times_in_one_message(tmp_path: Path):
    events, _ = play(tmp_path, [ratio(), ratio(), ratio(), ratio("b")], limits=Limits())
    assert events[-1].stopped_by == "repeated_call"
    assert len([event for event in events if event.kind == "tool_finished"]) == 2


def test_a_cycle_over_the_last_four_actions_stops(tmp_path: Path):
    a, b = ratio("a"), ratio("b")
    turns: list[Turn] = [[ratio("a")], [ratio("b")], [ratio("a")], [ratio("b")]]
    assert a.call.arguments != b.call.arguments
    events, _ = play(tmp_path, *turns, limits=Limits())
    assert events[-1].stopped_by == "cycle"
    assert found(events[-1])
    assert len([event for event in events if event.kind == "tool_finished"]) == 3


def test_a_cycle_of_three_actions_stops(tmp_path: Path):
    turns: list[Turn] = [[ratio(name)] for name in "abcabc"]
    events, _ = play(tmp_path, *turns, limits=Limits())
    assert events[-1].stopped_by == "cycle"
    assert len([event for event in events if event.kind == "tool_finished"]) == 5


def test_four_different_calls_are_no_cycle(tmp_path: Path):
    turns: list[Turn] = [[ratio("a")], [ratio("b")], [ratio("a")], [ratio("c")]]
    events, _ = play(tmp_path, *turns, says("done"), limits=Limits())
    assert events[-1].stopped_by == ""


@given(st.permutations(["x", "y", "z"]), st.integers() | st.text())
def test_the_order_of_the_keys_makes_no_other_call(order: list[str], value: Any):
    one = ToolCall(id="1", name="t", arguments={"x": value, "y": 2, "z": [1]})
    other = ToolCall(id="2", name="t", arguments={key: one.arguments[key] for key in order})
    assert action_key(one) == action_key(other)
    assert action_key(one) != action_key(one.model_copy(update={"name": "u"}))
    broken = one.model_copy(update={"arguments": {}, "raw": "{"})
    assert action_key(broken) != action_key(broken.model_copy(update={"raw": "{{"}))


@given(st.lists(st.sampled_from("ABC"), max_size=12), st.sampled_from([2, 3, 100]))
def test_circles_are_told_exactly_when_they_close(actions: list[str], same_call: int):
    meter = Meter(Limits(tool_calls=100, same_call=same_call), INFO)
    for index, name in enumerate(actions):
        stop = meter.call(ToolCall(id=str(index), name=name, arguments={}))
        seen = actions[: index + 1]
        last = seen[-4:]
        three = len(seen) >= 6 and seen[-6:-3] == seen[-3:] != [name] * 3
        if seen.count(name) >= same_call:
            assert stop is not None
            assert stop.by == "repeated_call"
            return
        if three or (len(last) == 4 and last[0] == last[2] != last[1] == last[3]):
            assert stop is not None
            assert stop.by == "cycle"
            return
        assert stop is None


def test_tokens_run_out_before_the_calls_they_bought_are_made(tmp_path: Path):
    turns: list[Turn] = [
        [ratio("a"), Tokens(4_000, 50)],
        [ratio("b"), Tokens(5_900, 60)],
    ]
    events, thread = play(tmp_path, *turns, limits=Limits(tokens=10_000), info=INFO)
    assert events[-1].stopped_by == "tokens"
    assert found(events[-1])
    assert len([event for event in events if event.kind == "tool_finished"]) == 1
    assert "Not run" in [item for item in thread.history if item.role == "tool"][-1].text


def test_a_request_that_would_go_over_the_tokens_is_not_made(tmp_path: Path):
    big = FakeTool("big", ImageInput, ok("x" * 40_000))
    turn: Turn = [call("big", image_path="a"), Tokens(100, 10)]
    tools = FakeRegistry(big)
    events, _ = play(tmp_path, turn, limits=Limits(tokens=2_000), info=INFO, tools=tools)
    assert events[-1].stopped_by == "tokens"


def test_the_last_answer_is_given_even_if_it_uses_the_tokens_up(tmp_path: Path):
    turn: Turn = [Text("the answer"), Tokens(5_000, 100)]
    events, _ = play(tmp_path, turn, limits=Limits(tokens=1_000), info=INFO)
    assert (events[-1].answer, events[-1].stopped_by) == ("the answer", "")


def test_cost_is_counted_from_the_prices_and_limited(tmp_path: Path):
    turns: list[Turn] = [
        [ratio("a"), Tokens(10_000, 1_000)],
        [ratio("b"), Tokens(20_000, 2_000)],
    ]
    limits = Limits(cost=0.5, tokens=0)
    events, _ = play(tmp_path, *turns, limits=limits, info=PRICED)
    costs = [event.cost for event in events if event.kind == "usage"]
    assert costs == [pytest.approx(0.2), pytest.approx(0.6)]
    assert events[-1].stopped_by == "cost"
    assert found(events[-1])


def test_without_prices_there_is_no_cost_and_no_limit_of_it(tmp_path: Path):
    turns: list[Turn] = [[ratio("a"), Tokens(10_000_000, 1_000)], says("done")]
    events, _ = play(tmp_path, *turns, limits=Limits(cost=0.01, tokens=0), info=INFO)
    assert [event.cost for event in events if event.kind == "usage"] == [None, None]
    assert events[-1].stopped_by == ""


def test_what_the_endpoint_does_not_count_is_estimated(tmp_path: Path):
    events, _ = play(tmp_path, says("some words of an answer"), limits=Limits(), info=INFO)
    (usage,) = [event for event in events if event.kind == "usage"]
    assert usage.estimated
    assert usage.input_tokens > 0
    assert 3 <= usage.output_tokens <= 20


def test_a_step_of_the_plan_has_five_calls_and_the_run_goes_on(tmp_path: Path):
    tools = fake_tools.pack()
    plan = Plan((("cardiothoracic_ratio", "measure"), ("chest_xray_classifier", "score")))
    turn: Turn = [plan, *(ratio(name) for name in "abcdefg")]
    then: Turn = [call("chest_xray_classifier", image_path="a")]
    events, thread = play(tmp_path, turn, then, says("done [1]"), limits=Limits(), tools=tools)
    tool: Any = tools.get("cardiothoracic_ratio")
    assert len(tool.calls) == 5
    refused = [item for item in thread.history if "has used its 5 calls" in item.text]
    assert len(refused) == 2
    assert "Go on with the next step" in refused[0].text
    ends = [event for event in events if event.kind == "tool_finished"]
    assert (ends[-1].tool, ends[-1].status) == ("chest_xray_classifier", "ok")
    assert (events[-1].answer, events[-1].stopped_by) == ("done [1] ", "")


def test_without_a_plan_there_is_no_limit_of_a_task(tmp_path: Path):
    turn: Turn = [ratio(name) for name in "abcdefgh"]
    events, _ = play(tmp_path, turn, says("done"), limits=Limits())
    ends = [event.status for event in events if event.kind == "tool_finished"]
    assert ends == ["ok"] * 8


async def skipping_at(loop: AgentLoop, asked: Any, kind: str) -> list[Any]:
    """Puts the clock an hour forward at the first event of `kind`."""
    events: list[Any] = []
    async for event in loop.run(asked):
        if event.kind == kind and kind not in [item.kind for item in events]:
            skip(3_600)
        events.append(event)
    check_promises(events)
    check_transcript(asked.thread)
    return events


def test_a_model_that_goes_on_too_long_is_cut_and_its_text_kept(tmp_path: Path):
    asked = request(tmp_path)
    model = ScriptedModel([ratio()], [Text("The heart "), Stall()])
    loop = AgentLoop(model, fake_tools.pack(), limits=Limits(wall_s=900))
    events = run_skipping(skipping_at(loop, asked, "text_delta"))
    assert events[-1].stopped_by == "wall_time"
    assert events[-1].answer.startswith("The heart ")
    assert "the limit of 900 seconds is reached" in events[-1].answer
    assert found(events[-1])
    assert asked.thread.history[-1].text == events[-1].answer
    shown = "".join(event.text for event in events if event.kind == "text_delta")
    assert shown == events[-1].answer


def test_a_tool_that_runs_too_long_is_cut_and_its_siblings_result_kept(tmp_path: Path):
    told = threading.Event()

    def run(args: Any, context: ToolContext) -> ToolResult:
        if context.cancel.wait(60):
            told.set()
        return ToolResult("too late", {}, {})

    tools = FakeRegistry(
        FakeTool("slow", ImageInput, run, timeout_s=36_000),
        FakeTool("cardiothoracic_ratio", ImageInput, fake_tools.ratio),
    )
    asked = request(tmp_path)
    turn: Turn = [call("slow", image_path="a"), ratio(), *(ratio(name) for name in "bc")]
    turn = [*turn, *(call("slow", image_path=name) for name in "defghi")]
    loop = AgentLoop(ScriptedModel(turn), tools, limits=Limits(wall_s=900))
    events = run_skipping(skipping_at(loop, asked, "tool_finished"))
    assert told.wait(60)
    ends = [event for event in events if event.kind == "tool_finished"]
    slow = [event for event in ends if event.tool == "slow"]
    assert 1 <= len(slow) <= 4, "not all of them were begun"
    assert {event.status for event in slow} == {"cancelled"}
    assert all("the limit of 900 seconds" in event.error for event in slow)
    assert events[-1].stopped_by == "wall_time"
    assert found(events[-1])


def test_the_time_in_which_the_user_is_asked_does_not_count(tmp_path: Path):
    tool = FakeTool("writer", ImageInput, ok("written"), approval=Approval.WRITE)

    async def approve(event: Any) -> bool:
        skip(100_000)
        await asyncio.sleep(0)
        return True

    asked = request(tmp_path, approve=approve)
    turn: Turn = [call("writer", image_path="a")]
    model = ScriptedModel(turn, says("done [1]"), remote_host="far.example")
    loop = AgentLoop(model, FakeRegistry(tool), limits=Limits(wall_s=900))
    events = run_skipping(collect(loop, asked))
    assert len([event for event in events if event.kind == "approval_requested"]) == 2
    assert (events[-1].answer, events[-1].stopped_by) == ("done [1] ", "")


def test_after_the_user_was_asked_the_time_goes_on(tmp_path: Path):
    async def approve(event: Any) -> bool:
        return True

    asked = request(tmp_path, approve=approve)
    model = ScriptedModel([Text("well "), Stall()], remote_host="far.example")
    loop = AgentLoop(model, FakeRegistry(), limits=Limits(wall_s=900))
    events = run_skipping(skipping_at(loop, asked, "text_delta"))
    assert events[-1].stopped_by == "wall_time"
    assert "Nothing was found so far." in events[-1].answer


def test_after_the_user_was_asked_only_what_was_left_of_the_time_is(tmp_path: Path):
    tool = FakeTool("writer", ImageInput, ok("written"), approval=Approval.WRITE)

    async def approve(event: Any) -> bool:
        skip(5_000)
        return True

    turns: list[Turn] = [[Text("a "), call("writer", image_path="a")], [Text("b "), Stall()]]
    asked = request(tmp_path, approve=approve)
    loop = AgentLoop(ScriptedModel(*turns), FakeRegistry(tool), limits=Limits(wall_s=900))

    async def main() -> list[Any]:
        events: list[Any] = []
        async for event in loop.run(asked):
            events.append(event)
            if event.kind == "text_delta" and event.text in ("a ", "b "):
                skip(600)
        return events

    assert run_skipping(main())[-1].stopped_by == "wall_time"


def test_a_call_that_begins_at_the_very_end_of_the_time_breaks_nothing():
    """The time is over, and the run is told in the next round of its loop only."""
    clock = WallClock(0.001)
    late: list[bool] = []

    async def call() -> None:
        for _ in iter(lambda: clock.over, True):
            await asyncio.sleep(0)
        with clock.paused():
            late.append(True)

    async def main() -> None:
        async with clock.running():
            tasks = [asyncio.create_task(call())]
            try:
                await asyncio.wait(tasks)
                await asyncio.Event().wait()
            finally:
                await asyncio.gather(*tasks)

    with pytest.raises(TimeoutError):
        asyncio.run(main())
    assert late


def test_the_end_of_another_wait_is_not_taken_for_the_end_of_the_time(tmp_path: Path):
    events, _ = play(tmp_path, [Text("x"), TimeoutError()], limits=Limits(wall_s=900))
    assert events[-1].kind == "run_failed"


@pytest.mark.parametrize("limits", [Limits(tokens=0, cost=0, wall_s=0)])
def test_a_limit_of_nothing_is_no_limit(tmp_path: Path, limits: Limits):
    turns: list[Turn] = [[ratio("a"), Tokens(10**9, 10**9)], says("done")]
    events, _ = play(tmp_path, *turns, limits=limits, info=PRICED)
    assert events[-1].stopped_by == ""


def test_a_limit_of_one_is_told_in_the_singular(tmp_path: Path):
    events, _ = play(tmp_path, [ratio("a")], [ratio("b")], limits=Limits(tool_calls=1))
    assert "the limit of 1 tool call is reached" in events[-1].answer
    events, _ = play(tmp_path, [ratio("a")], limits=Limits(steps=1))
    assert "the limit of 1 step is reached" in events[-1].answer
