from __future__ import annotations

import asyncio
import threading
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.agent.llm.base import ModelFailed, ModelInfo, Reasoning, Text, Tokens
from app.agent.loop.agent_loop import AgentLoop
from app.agent.loop.retry import Retry
from app.agent.sessions import Thread
from app.tools.api import ToolContext, ToolFailed, ToolResult
from tests.support.fake_tools import (
    FakeRegistry,
    FakeTool,
    ImageInput,
    collect,
    fails,
    ok,
    request,
)
from tests.support.hang import HANG_S
from tests.support.scripted_model import ScriptedModel, Turn, call, says

NOW = datetime(2026, 11, 21, 23, 50, tzinfo=UTC)


def busy(retry_after_s: float | None = None, reason: str = "far.example is busy") -> ModelFailed:
    error = ModelFailed(reason, remedy="Ask again.")
    error.retryable, error.retry_after_s = True, retry_after_s
    return error


class Waits:
    """Takes the place of sleeping."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)


def play(tmp_path: Path, *turns: Turn, tools: FakeRegistry | None = None, **changes: Any):
    waits = Waits()
    thread = Thread.in_memory()
    retry = Retry(sleep=waits, random=lambda: 1.0, now=lambda: NOW)
    with ScriptedModel(*turns, info=changes.pop("info", None)) as model:
        loop = AgentLoop(model, tools or FakeRegistry(), retry=retry)
        events = asyncio.run(collect(loop, request(tmp_path, thread=thread, **changes)))
    return events, waits.seconds, thread


def test_a_busy_endpoint_is_asked_again_and_the_half_answer_is_void(tmp_path: Path):
    half: Turn = [Reasoning("hm "), Text("half an "), busy()]
    events, waits, thread = play(tmp_path, half, says("whole answer"))
    (again,) = [event for event in events if event.kind == "model_retry"]
    assert (again.attempt, again.attempts, again.wait_s) == (2, 4, 1.0)
    assert again.withdrawn
    assert again.reason == "far.example is busy"
    assert waits == [1.0]
    assert events[-1].answer == "whole answer "
    assert [item.text for item in thread.history] == ["question", "whole answer "]


def test_nothing_is_withdrawn_where_nothing_was_streamed(tmp_path: Path):
    events, _, _ = play(tmp_path, [busy()], says("answer"))
    assert [event.withdrawn for event in events if event.kind == "model_retry"] == [False]


def test_the_text_that_a_retry_withdraws_is_not_broken_up_by_other_events(tmp_path: Path):
    from app.agent.llm.base import Note

    half: Turn = [Text("half "), Note("loading"), Tokens(10, 2), Text("more "), busy()]
    events, _, _ = play(tmp_path, half, says("answer"), info=ModelInfo(own_tools=False))
    kinds = [event.kind for event in events]
    at = kinds.index("model_retry")
    assert kinds[at - 2 : at] == ["text_delta", "text_delta"]


def test_the_waits_grow_and_the_fourth_failure_ends_the_run(tmp_path: Path):
    events, waits, thread = play(tmp_path, *[[busy()] for _ in range(4)])
    assert waits == [1.0, 2.0, 4.0]
    assert events[-1].kind == "run_failed"
    assert "(asked 4 times)" in events[-1].error
    assert events[-1].remedy == "Ask again."
    assert [item.role for item in thread.history] == ["user"]


def test_what_cannot_pass_is_not_asked_again(tmp_path: Path):
    events, waits, _ = play(tmp_path, [ModelFailed("the key is refused", remedy="Check it.")])
    assert waits == []
    assert events[-1].error == "the key is refused"


def test_retry_after_is_honoured_when_it_is_longer_than_our_own_wait(tmp_path: Path):
    _, waits, _ = play(tmp_path, [busy(37.0)], [busy(0.2)], says("answer"))
    assert waits == [37.0, 2.0]


def test_a_long_retry_after_ends_the_run_and_says_when_to_ask_again(tmp_path: Path):
    events, waits, _ = play(tmp_path, [busy(3601.0)])
    assert waits == []
    assert events[-1].kind == "run_failed"
    assert "until 2026-11-22 00:51" in events[-1].remedy


@given(
    st.integers(1, 6),
    st.floats(0, 1),
    st.none() | st.floats(allow_nan=True, allow_infinity=True),
)
def test_a_wait_is_never_shorter_than_asked_for_nor_longer_than_the_caps(
    attempt: int, luck: float, asked: float | None
):
    retry = Retry(random=lambda: luck)
    error = busy(asked)
    wait = retry.wait_s(attempt, error)
    told = retry.given_up(attempt, error)
    assert isinstance(told, ModelFailed)
    if wait is None:
        assert attempt >= retry.attempts or (asked is not None and asked > retry.patience_s)
        return
    assert 0 < wait <= max(retry.cap_s, retry.patience_s)
    assert wait >= min(retry.cap_s, retry.base_s) / 2
    if asked is not None and asked > 0:
        assert wait >= asked


def test_a_call_in_a_stream_that_broke_is_void(tmp_path: Path):
    tool = FakeTool("count", ImageInput, ok())
    turn: Turn = [call("count", image_path="a"), busy()]
    events, _, thread = play(tmp_path, turn, says("none"), tools=FakeRegistry(tool))
    assert not tool.calls
    assert "tool_started" not in [event.kind for event in events]
    assert not [item for item in thread.history if item.tool_calls]


@pytest.mark.parametrize("error", [ToolFailed("no"), TimeoutError(), ConnectionResetError()])
def test_a_tool_call_is_never_repeated(tmp_path: Path, error: Exception):
    tool = FakeTool("count", ImageInput, fails(error))
    turn: Turn = [call("count", image_path="a")]
    play(tmp_path, turn, says("it failed"), tools=FakeRegistry(tool))
    assert len(tool.calls) == 1


def test_what_tools_did_is_not_done_again_when_the_answer_after_them_breaks(tmp_path: Path):
    tool = FakeTool("count", ImageInput, ok("12 nuclei"))
    turn: Turn = [call("count", image_path="a")]
    events, _, thread = play(
        tmp_path, turn, [Text("There "), busy()], says("12 nuclei [1]"), tools=FakeRegistry(tool)
    )
    assert len(tool.calls) == 1
    assert events[-1].answer == "12 nuclei [1] "
    assert [item.role for item in thread.history] == ["user", "assistant", "tool", "assistant"]


def test_half_an_answer_counts_as_used(tmp_path: Path):
    half: Turn = [Text("half an answer "), Tokens(100, 5), busy()]
    turns: tuple[Turn, ...] = (half, [Text("all"), Tokens(100, 7)])
    events, _, _ = play(tmp_path, *turns, info=ModelInfo(own_tools=False))
    usage = [event for event in events if event.kind == "usage"]
    assert [(event.run_input_tokens, event.run_output_tokens) for event in usage] == [
        (100, 5),
        (200, 12),
    ]


def test_cancel_ends_the_wait_at_once(tmp_path: Path):
    asked = request(tmp_path)
    loop = AgentLoop(ScriptedModel([busy(50.0)]), FakeRegistry())

    async def main() -> tuple[list[Any], float]:
        events: list[Any] = []
        cancelled_at = 0.0
        async for event in loop.run(asked):
            events.append(event)
            if event.kind == "model_retry":
                cancelled_at = time.monotonic()
                threading.Thread(target=asked.cancel.cancel).start()
        return events, time.monotonic() - cancelled_at

    events, took_s = asyncio.run(main())
    assert events[-1].kind == "run_cancelled"
    assert took_s < HANG_S


def test_what_was_withdrawn_does_not_come_back_when_the_wait_is_cancelled(tmp_path: Path):
    asked = request(tmp_path)
    loop = AgentLoop(ScriptedModel([Text("half an "), busy(50.0)]), FakeRegistry())

    async def main() -> None:
        async for event in loop.run(asked):
            if event.kind == "model_retry":
                asked.cancel.cancel()

    asyncio.run(main())
    assert [item.text for item in asked.thread.history] == ["question"]


def test_stopping_after_the_tool_ends_the_wait_too(tmp_path: Path):
    asked = request(tmp_path)

    def run(args: Any, context: ToolContext) -> ToolResult:
        raise AssertionError

    model = ScriptedModel([busy(50.0)])
    loop = AgentLoop(model, FakeRegistry(FakeTool("x", ImageInput, run)))

    async def main() -> list[Any]:
        events: list[Any] = []
        async for event in loop.run(asked):
            events.append(event)
            if event.kind == "model_retry":
                asked.stop_after_tool.cancel()
        return events

    assert asyncio.run(main())[-1].kind == "run_cancelled"
