from __future__ import annotations

import asyncio
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.agent.events import RunEvent
from app.agent.llm.base import ModelFailed, Text
from app.agent.loop.agent_loop import AgentLoop, RunRequest
from app.agent.loop.transcript import INTERRUPTED_ANSWER
from app.agent.sessions import Thread
from app.errors import FileProblem
from app.tools.api import Approval, CancelToken, ToolContext, ToolFailed, ToolResult, ToolRetry
from tests.support.fake_tools import (
    FakeRegistry,
    FakeTool,
    ImageInput,
    check_promises,
    fails,
    ok,
    request,
)
from tests.support.hang import HANG_S
from tests.support.scripted_model import ScriptedModel, Stall, Swallow, call, says
from tests.support.whole_transcript import build_messages


async def run_and_cancel(loop: AgentLoop, asked: RunRequest, kind: str) -> list[RunEvent]:
    """Cancels from another thread at the first event of `kind`; checks that it ends soon."""
    events: list[RunEvent] = []
    cancelled_at = 0.0
    async for event in loop.run(asked):
        events.append(event)
        if event.kind == kind and not cancelled_at:
            cancelled_at = time.monotonic()
            threading.Thread(target=asked.cancel.cancel).start()
    assert time.monotonic() - cancelled_at < HANG_S
    check_promises(events)
    return events


def check_transcript(thread: Thread) -> None:
    calls = [call.id for item in thread.history for call in item.tool_calls]
    assert calls == [item.call_id for item in thread.history if item.role == "tool"]


@pytest.mark.parametrize("silence", [Stall(), Swallow()], ids=["stalls", "ignores its cancel"])
def test_cancel_ends_the_run_while_the_model_is_silent(tmp_path: Path, silence: Any):
    asked = request(tmp_path)
    loop = AgentLoop(ScriptedModel([Text("wait"), silence]), FakeRegistry())
    events = asyncio.run(run_and_cancel(loop, asked, "text_delta"))
    assert events[-1].kind == "run_cancelled"


def test_cancel_ends_the_run_while_a_tool_blocks(tmp_path: Path):
    release = threading.Event()

    def run(args: Any, context: ToolContext) -> ToolResult:
        release.wait(60)  # deaf to its cancel
        return ToolResult("too late", {}, {})

    asked = request(tmp_path)
    tool = FakeTool("deaf", ImageInput, run)
    model = ScriptedModel([call("deaf", image_path="a"), call("deaf", image_path="b")])
    started = time.monotonic()
    events = asyncio.run(
        run_and_cancel(AgentLoop(model, FakeRegistry(tool)), asked, "tool_started")
    )
    assert time.monotonic() - started < HANG_S, "the end of the loop waited for the thread"
    release.set()
    ends = [event.status for event in events if event.kind == "tool_finished"]
    assert ends == ["cancelled"] * len(ends)
    assert events[-1].kind == "run_cancelled"
    check_transcript(asked.thread)
    assert len([item for item in asked.thread.history if item.role == "tool"]) == 2


def test_a_tool_that_checks_its_cancel_is_told(tmp_path: Path):
    told = threading.Event()

    def run(args: Any, context: ToolContext) -> ToolResult:
        if context.cancel.wait(60):
            told.set()
        context.cancel.check()
        raise AssertionError

    model = ScriptedModel([call("polite", image_path="a")])
    loop = AgentLoop(model, FakeRegistry(FakeTool("polite", ImageInput, run)))
    asyncio.run(run_and_cancel(loop, request(tmp_path), "tool_started"))
    assert told.wait(60)


def test_cancel_before_the_start_asks_no_model(tmp_path: Path):
    asked = request(tmp_path)
    asked.cancel.cancel()
    model = ScriptedModel()

    async def main() -> list[RunEvent]:
        return [event async for event in AgentLoop(model, FakeRegistry()).run(asked)]

    events = asyncio.run(main())
    check_promises(events)
    assert events[-1].kind == "run_cancelled"
    assert not model.requests


def test_cancel_while_the_user_is_asked(tmp_path: Path):
    async def approve(event: Any) -> bool:
        await asyncio.Event().wait()
        return True

    asked = request(tmp_path, approve=approve)
    model = ScriptedModel(remote_host="far.example")
    loop = AgentLoop(model, FakeRegistry())
    events = asyncio.run(run_and_cancel(loop, asked, "approval_requested"))
    assert events[-1].kind == "run_cancelled"
    assert not model.requests


def test_a_consumer_that_leaves_early_stops_the_run(tmp_path: Path):
    asked = request(tmp_path)

    async def main() -> None:
        stream = AgentLoop(ScriptedModel([Text("a"), Stall()]), FakeRegistry()).run(asked)
        async for event in stream:
            if event.kind == "text_delta":
                break
        await stream.aclose()  # pyright: ignore[reportAttributeAccessIssue]
        others = asyncio.all_tasks() - {asyncio.current_task()}
        assert not others

    asyncio.run(main())
    assert asked.cancel.cancelled


def test_the_token_of_an_ended_call_stays_untouched_by_a_later_cancel(tmp_path: Path):
    tokens: list[CancelToken] = []

    def run(args: Any, context: ToolContext) -> ToolResult:
        tokens.append(context.cancel)
        return ToolResult("", {}, {})

    model = ScriptedModel([call("quick", image_path="a")], [Text("x"), Stall()])
    loop = AgentLoop(model, FakeRegistry(FakeTool("quick", ImageInput, run)))
    asyncio.run(run_and_cancel(loop, request(tmp_path), "text_delta"))
    assert not tokens[0].cancelled


def test_partial_text_is_kept_and_the_thread_goes_on(tmp_path: Path):
    asked = request(tmp_path)
    loop = AgentLoop(ScriptedModel([Text("half an "), Stall()]), FakeRegistry())
    asyncio.run(run_and_cancel(loop, asked, "text_delta"))
    assert asked.thread.history[-1].text == f"half an\n\n{INTERRUPTED_ANSWER}"
    build_messages("", asked.thread.history)


@pytest.mark.parametrize("ends", [Stall(), ModelFailed("the line is dead")], ids=["stop", "fail"])
def test_half_an_answer_that_was_read_has_its_caveats_behind_it(tmp_path: Path, ends: Any):
    tool = FakeTool("look", ImageInput, ok("Seen.", {}, synthetic=True))
    turns = [call("look", image_path="a")], [Text("See. It is big [1]"), ends]
    loop, asked = AgentLoop(ScriptedModel(*turns), FakeRegistry(tool)), request(tmp_path)
    events = asyncio.run(run_and_cancel(loop, asked, "text_delta"))
    assert events[-1].kind in ("run_cancelled", "run_failed")
    said = "".join(event.text for event in events if event.kind == "text_delta")
    assert "It is big [1]" in said
    assert (
        "**Image warnings:**\n- results are based on a synthetic image" in said.split("[1]", 1)[1]
    )
    assert asked.thread.history[-1].text == f"See. It is big [1]\n\n{INTERRUPTED_ANSWER}"


class Held:
    """A tool that works until the test lets it end; deaf to its cancel."""

    def __init__(self, name: str = "held") -> None:
        self.release = threading.Event()
        self.tool = FakeTool(name, ImageInput, self.run)

    def run(self, args: Any, context: ToolContext) -> ToolResult:
        assert self.release.wait(60)
        return ToolResult(f"found in {args.image_path}", {}, {})


def tool_results(thread: Thread) -> list[str]:
    return [item.text for item in thread.history if item.role == "tool"]


def test_cancel_ends_the_run_while_tools_run_side_by_side(tmp_path: Path):
    held, asked = Held(), request(tmp_path)
    turn = [call("held", image_path=str(index)) for index in range(6)]
    loop = AgentLoop(ScriptedModel(turn), FakeRegistry(held.tool))
    events = asyncio.run(run_and_cancel(loop, asked, "tool_started"))
    held.release.set()
    assert events[-1].kind == "run_cancelled"
    check_transcript(asked.thread)
    assert len(tool_results(asked.thread)) == 6
    assert all("Stopped" in text or "Not run" in text for text in tool_results(asked.thread))


def test_a_call_that_ended_before_the_cancel_keeps_its_result(tmp_path: Path):
    held, asked = Held(), request(tmp_path)
    quick = FakeTool("quick", ImageInput, ok("quick one"))
    turn = [call("held", image_path="a"), call("quick", image_path="b")]
    loop = AgentLoop(ScriptedModel(turn), FakeRegistry(held.tool, quick))
    events = asyncio.run(run_and_cancel(loop, asked, "tool_finished"))
    held.release.set()
    first, second = tool_results(asked.thread)
    assert "Stopped before it finished" in first
    assert "quick one" in second
    assert events[-1].kind == "run_cancelled"


def test_cancel_while_a_tool_asks(tmp_path: Path):
    async def approve(event: Any) -> bool:
        await asyncio.Event().wait()
        return True

    tool = FakeTool("writer", ImageInput, ok(), approval=Approval.WRITE)
    asked = request(tmp_path, approve=approve)
    loop = AgentLoop(ScriptedModel([call("writer", image_path="a")]), FakeRegistry(tool))
    events = asyncio.run(run_and_cancel(loop, asked, "approval_requested"))
    assert events[-1].kind == "run_cancelled"
    assert not tool.calls
    check_transcript(asked.thread)
    assert "part of its work" not in asked.thread.history[-1].text


@pytest.mark.parametrize(
    ("effect", "doubt"), [(Approval.WRITE, True), (Approval.SEND, True), (Approval.COMPUTE, False)]
)
def test_a_stopped_call_that_may_have_done_half_of_its_work_says_so(
    tmp_path: Path, effect: Approval, doubt: bool
):
    release = threading.Event()

    def run(args: Any, context: ToolContext) -> ToolResult:
        context.progress(0.5, "half of it is written")
        release.wait(60)
        return ToolResult("written", {}, {})

    asked = request(tmp_path)
    tool = FakeTool("writer", ImageInput, run, approval=effect)
    loop = AgentLoop(ScriptedModel([call("writer", image_path="a")]), FakeRegistry(tool))
    asyncio.run(run_and_cancel(loop, asked, "tool_progress"))
    release.set()
    assert ("It may have done part of its work" in asked.thread.history[-1].text) is doubt


async def run_and_stop(
    loop: AgentLoop, asked: RunRequest, kind: str, number: int, then: Any = None
) -> list[RunEvent]:
    """Asks to stop after the tool at the `number`-th event of `kind`."""
    events: list[RunEvent] = []
    async for event in loop.run(asked):
        events.append(event)
        if event.kind == kind and [item.kind for item in events].count(kind) == number:
            asked.stop_after_tool.cancel()
            if then is not None:
                # Not before the loop has heard of it: that is what is tested.
                asyncio.get_running_loop().call_soon(then)
    check_promises(events)
    check_transcript(asked.thread)
    return events


def test_stopping_after_the_tool_keeps_what_runs_and_starts_nothing_more(tmp_path: Path):
    held, asked = Held(), request(tmp_path)
    turn = [call("held", image_path=str(index)) for index in range(6)]
    loop = AgentLoop(ScriptedModel(turn), FakeRegistry(held.tool))
    events = asyncio.run(run_and_stop(loop, asked, "tool_started", 4, held.release.set))
    assert [event.status for event in events if event.kind == "tool_finished"] == ["ok"] * 4
    assert events[-1].kind == "run_cancelled"
    texts = tool_results(asked.thread)
    assert [f"found in {index}" in text for index, text in enumerate(texts)] == [True] * 4 + [
        False
    ] * 2
    assert all("Not run" in text for text in texts[4:])


def test_stopping_after_the_tool_ends_a_silent_model_at_once(tmp_path: Path):
    asked = request(tmp_path)
    loop = AgentLoop(ScriptedModel([Text("half an "), Stall()]), FakeRegistry())
    events = asyncio.run(run_and_stop(loop, asked, "text_delta", 1))
    assert events[-1].kind == "run_cancelled"
    assert asked.thread.history[-1].text == f"half an\n\n{INTERRUPTED_ANSWER}"


def test_stopping_after_the_tool_does_not_wait_for_the_users_answer(tmp_path: Path):
    async def approve(event: Any) -> bool:
        await asyncio.Event().wait()
        return True

    tool = FakeTool("writer", ImageInput, ok(), approval=Approval.WRITE)
    asked = request(tmp_path, approve=approve)
    turn = [call("writer", image_path="a"), call("writer", image_path="b")]
    loop = AgentLoop(ScriptedModel(turn), FakeRegistry(tool))
    events = asyncio.run(run_and_stop(loop, asked, "approval_requested", 1))
    assert events[-1].kind == "run_cancelled"
    assert not tool.calls
    assert len(tool_results(asked.thread)) == 2


def test_stopping_after_the_tool_and_then_at_once(tmp_path: Path):
    held, asked = Held(), request(tmp_path)
    loop = AgentLoop(ScriptedModel([call("held", image_path="a")]), FakeRegistry(held.tool))
    events = asyncio.run(run_and_stop(loop, asked, "tool_started", 1, asked.cancel.cancel))
    held.release.set()
    assert [event.status for event in events if event.kind == "tool_finished"] == ["cancelled"]


def test_the_next_question_builds_on_a_run_that_was_stopped(tmp_path: Path):
    held, asked = Held(), request(tmp_path, "How many?")
    turn = [call("held", image_path="a"), call("unknown")]
    loop = AgentLoop(ScriptedModel(turn), FakeRegistry(held.tool))
    asyncio.run(run_and_stop(loop, asked, "tool_started", 1, held.release.set))
    model = ScriptedModel(says("two"))
    following = request(tmp_path, "And now?", thread=asked.thread)
    events = asyncio.run(run_and_stop(AgentLoop(model, FakeRegistry()), following, "none", 1))
    assert events[-1].kind == "run_finished"
    (read,) = model.requests
    assert [item.role for item in read if "image_path:" not in item.text] == [
        "system", "user", "assistant", "tool", "tool", "user",
    ]  # fmt: skip
    assert "found in a" in next(item.text for item in read if item.role == "tool")


@pytest.mark.parametrize("deaf", ["tool", "model"])
def test_nothing_comes_behind_the_end_of_a_run(tmp_path: Path, deaf: str):
    held, asked = Held(), request(tmp_path)
    turn = (
        [call("held", image_path="a")]
        if deaf == "tool"
        else [Text("x"), Swallow(), Text("y"), Swallow()]
    )
    seen: list[RunEvent] = []

    async def main() -> None:
        loop = AgentLoop(ScriptedModel(turn), FakeRegistry(held.tool))
        async for event in loop.run(asked):
            seen.append(event)
            if event.kind in ("text_delta", "tool_started"):
                asked.cancel.cancel()
        before = asked.thread.history
        held.release.set()
        for thread in held.tool.threads:
            thread.join(60)
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()
            await asyncio.wait({task}, timeout=1)
            assert task.done(), "a model that was left behind must stop when it speaks again"
        assert asked.thread.history == before

    asyncio.run(main())
    check_promises(seen)
    assert seen[-1].kind == "run_cancelled"


def test_a_consumer_that_leaves_while_tools_run_stops_them(tmp_path: Path):
    told = threading.Event()

    def run(args: Any, context: ToolContext) -> ToolResult:
        if context.cancel.wait(60):
            told.set()
        return ToolResult("", {}, {})

    asked = request(tmp_path)
    turn = [call("slow", image_path="a"), call("slow", image_path="b")]
    loop = AgentLoop(ScriptedModel(turn), FakeRegistry(FakeTool("slow", ImageInput, run)))

    async def main() -> None:
        stream = loop.run(asked)
        async for event in stream:
            if event.kind == "tool_started":
                break
        await stream.aclose()  # pyright: ignore[reportAttributeAccessIssue]
        assert not asyncio.all_tasks() - {asyncio.current_task()}

    asyncio.run(main())
    assert told.wait(60)
    check_transcript(asked.thread)


_tools = FakeRegistry(
    FakeTool("good", ImageInput, ok("good")),
    FakeTool("failing", ImageInput, fails(ToolFailed("no"))),
    FakeTool("retrying", ImageInput, fails(ToolRetry("mend"))),
    FakeTool("crashing", ImageInput, fails(ZeroDivisionError())),
    FakeTool("unreadable", ImageInput, fails(FileProblem("no"))),
    FakeTool("slow", ImageInput, lambda args, context: context.cancel.wait(60), timeout_s=0.01),  # pyright: ignore[reportArgumentType]
    FakeTool("rubbish", ImageInput, lambda args, context: 7),  # pyright: ignore[reportArgumentType]
)
_names = st.sampled_from(
    ["good", "failing", "retrying", "crashing", "unreadable", "slow", "rubbish", "unknown"]
)
_arguments = st.sampled_from([{"image_path": "a"}, {}, {"image_path": 1}, {"other": "x"}])
_pieces = st.one_of(
    st.builds(lambda name, arguments: call(name, **arguments), _names, _arguments),
    st.builds(Text, st.sampled_from(["", "word ", "\n"])),
)
_ends = st.sampled_from(["", "", "", "ModelFailed", "OSError", "cancel"])


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.lists(_pieces, max_size=3), _ends), min_size=1, max_size=4))
def test_every_path_keeps_the_promises_of_events(
    tmp_path_factory: pytest.TempPathFactory, turns: list[Any]
):
    asked = request(tmp_path_factory.mktemp("run"))

    def played(pieces: list[Any], end: str) -> list[Any]:
        errors = {"ModelFailed": ModelFailed("down", remedy="wait"), "OSError": OSError("x")}
        return [*pieces, errors[end]] if end in errors else pieces

    script = [played(pieces, end) for pieces, end in turns]
    cancels = [end == "cancel" for _, end in turns]

    def before(messages: Any) -> None:
        if cancels and cancels.pop(0):
            asked.cancel.cancel()

    model = ScriptedModel(*script, says("the end"), before=before)

    async def main() -> list[RunEvent]:
        return [event async for event in AgentLoop(model, _tools).run(asked)]

    check_promises(asyncio.run(main()))
    check_transcript(asked.thread)
