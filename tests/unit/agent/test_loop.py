from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import BaseModel, Field

from app.agent.events import RunEvent
from app.agent.llm.base import Call as CallEvent
from app.agent.llm.base import ModelFailed, ModelInfo, Note, Plan, Reasoning, Text, Tokens
from app.agent.loop.agent_loop import AgentLoop, Limits
from app.agent.loop.transcript import INTERRUPTED_ANSWER
from app.agent.messages import Message, ToolCall
from app.agent.policy import Grants, Policy
from app.agent.policy.approvals import Gate, PolicyVerdict
from app.agent.request import Decision
from app.errors import Cancelled, FileProblem
from app.tools.api import Approval, ToolContext, ToolFailed, ToolResult, ToolRetry
from tests.support import fake_tools
from tests.support.fake_tools import (
    FakeRegistry,
    FakeTool,
    ImageInput,
    SegmentationInput,
    collect,
    fails,
    ok,
    request,
)
from tests.support.scripted_model import ScriptedModel, Turn, call, says


def play(
    tmp_path: Path, *turns: Turn, tools: FakeRegistry | None = None, **changes: Any
) -> list[Any]:
    limits = changes.pop("limits", None)
    with ScriptedModel(*turns) as model:
        loop = AgentLoop(model, tools or FakeRegistry(), limits=limits)
        return asyncio.run(collect(loop, request(tmp_path / "out", **changes)))


def finished(events: list[RunEvent]) -> list[Any]:
    return [event for event in events if event.kind == "tool_finished"]


def test_text_alone_is_the_answer(tmp_path: Path):
    events = play(tmp_path, says("all is well"))
    assert [event.kind for event in events] == ["run_started", *["text_delta"] * 3, "run_finished"]
    assert events[-1].answer == "all is well "


def test_tool_results_return_to_the_model_in_call_order(tmp_path: Path):
    slow = FakeTool("slow", ImageInput, ok("slow one"))
    quick = FakeTool("quick", ImageInput, ok("quick one", {"x": np.float32(1.5)}, bad=float("nan")))
    thread = fake_tools.Thread.in_memory()
    turn = [call("slow", image_path="image-1"), call("quick", image_path="image-1")]
    events = play(tmp_path, turn, says("done"), tools=FakeRegistry(slow, quick), thread=thread)
    assert {event.tool for event in finished(events)} == {"slow", "quick"}
    results = [item for item in thread.history if item.role == "tool"]
    assert [item.data["summary"] for item in results] == ["slow one", "quick one"]
    assert results[1].data["output"] == {"x": 1.5}
    assert results[1].data["metadata"] == {"bad": None}


def test_only_summary_output_and_metadata_reach_the_model(tmp_path: Path):
    model = ScriptedModel([call("chest_xray_segmentation", image_path="image-1")], says("done"))
    events = asyncio.run(collect(AgentLoop(model, fake_tools.pack()), request(tmp_path)))
    assert len(finished(events)[0].findings) == 3
    message = next(item for item in model.requests[1] if item.role == "tool")
    assert set(message.data) == {"summary", "output", "metadata", "items"}
    assert "provenance" not in message.text


def test_started_is_told_before_the_work_and_the_work_is_off_the_loops_thread(tmp_path: Path):
    told: list[str] = []
    gate = threading.Event()

    def run(args: Any, context: ToolContext) -> ToolResult:
        assert gate.wait(60)
        told.append("worked")
        return ToolResult("", {}, {})

    tool = FakeTool("slow", ImageInput, run)

    async def main() -> None:
        model = ScriptedModel([call("slow", image_path="a")], says("done"))
        async for event in AgentLoop(model, FakeRegistry(tool)).run(request(tmp_path)):
            told.append(event.kind)
            if event.kind == "tool_started":
                gate.set()

    asyncio.run(main())
    assert told.index("tool_started") < told.index("worked") < told.index("tool_finished")
    assert tool.threads[0] is not threading.main_thread()
    assert tool.threads[0].daemon


def test_an_unknown_tool_is_answered_with_near_names_and_the_run_goes_on(tmp_path: Path):
    tool = FakeTool("chest_xray_classifier", ImageInput, ok())
    events = play(tmp_path, [call("chest_xray_clasifier")], says("sorry"), tools=FakeRegistry(tool))
    (end,) = finished(events)
    assert end.status == "failed"
    assert 'No such tool: "chest_xray_clasifier"' in end.error
    assert "Did you mean chest_xray_classifier?" in end.error
    assert events[-1].kind == "run_finished"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({}, "image_path is missing"),
        ({"image_path": "a", "organs": "Heart"}, "organs: Input should be a valid list"),
        ({"image_path": "a", "organ": ["Heart"]}, "organ is not an argument of it"),
        ({"image_path": 3}, "image_path: Input should be a valid string, got '3'"),
    ],
)
def test_wrong_arguments_are_explained_and_not_run(
    tmp_path: Path, arguments: dict[str, Any], said: str
):
    tool = FakeTool("segment", SegmentationInput, ok())
    events = play(tmp_path, [call("segment", **arguments)], says("sorry"), tools=FakeRegistry(tool))
    (end,) = finished(events)
    assert said in end.error
    assert "It takes: image_path (string, required), organs (list of string)." in end.error
    assert not tool.calls


def test_arguments_that_are_not_json_are_explained(tmp_path: Path):
    tool = FakeTool("segment", SegmentationInput, ok())
    broken = CallEvent(ToolCall(id="x", name="segment", arguments={}, raw='{"image_path": '))
    events = play(tmp_path, [broken], says("sorry"), tools=FakeRegistry(tool))
    assert "not a JSON object" in finished(events)[0].error
    assert not tool.calls


@pytest.mark.parametrize(
    ("error", "status", "said"),
    [
        (ToolFailed("weights missing", remedy="Get them."), "failed", "weights missing. Get them."),
        (ToolRetry("no such organ", remedy="Try Heart."), "failed", "Try Heart. Mend the arg"),
        (FileProblem("unreadable", subject="a.dcm"), "failed", "a.dcm: unreadable."),
        (ValueError("patient Jane"), "failed", "failed unexpectedly (ValueError)"),
        (SystemExit(3), "failed", "failed unexpectedly (SystemExit)"),
        (Cancelled(), "cancelled", "Stopped."),
    ],
)
def test_a_failing_tool_is_reported_and_the_run_goes_on(
    tmp_path: Path, error: BaseException, status: str, said: str, caplog: pytest.LogCaptureFixture
):
    tool = FakeTool("tool", ImageInput, fails(error))
    events = play(
        tmp_path, [call("tool", image_path="a")], says("it failed"), tools=FakeRegistry(tool)
    )
    (end,) = finished(events)
    assert end.status == status
    assert said in end.error
    assert events[-1].kind == "run_finished"
    assert "Jane" not in caplog.text
    assert "Jane" not in end.error


@pytest.mark.parametrize("value", [None, "text", ToolResult("", {}, {}, ("not a finding",))])  # pyright: ignore[reportArgumentType]
def test_a_tool_that_returns_rubbish_fails_alone(tmp_path: Path, value: Any):
    tool = FakeTool("tool", ImageInput, lambda args, context: value)
    events = play(
        tmp_path, [call("tool", image_path="a")], says("it failed"), tools=FakeRegistry(tool)
    )
    assert finished(events)[0].status == "failed"
    assert events[-1].kind == "run_finished"


def test_a_tool_over_its_time_is_stopped_and_its_late_result_dropped(tmp_path: Path):
    stopped = threading.Event()

    def run(args: Any, context: ToolContext) -> ToolResult:
        context.cancel.wait(60)
        stopped.set()
        return ToolResult("too late", {}, {})

    tool = FakeTool("slow", ImageInput, run, timeout_s=0.05)
    events = play(
        tmp_path, [call("slow", image_path="a")], says("too slow"), tools=FakeRegistry(tool)
    )
    assert "did not finish within 0.05 s" in finished(events)[0].error
    assert stopped.wait(60)
    assert events[-1].kind == "run_finished"


@pytest.mark.parametrize(("effect", "again"), [(Approval.COMPUTE, True), (Approval.WRITE, False)])
def test_a_tool_over_its_time_is_only_to_be_tried_again_where_that_does_nothing_twice(
    tmp_path: Path, effect: Approval, again: bool
):
    def run(args: Any, context: ToolContext) -> ToolResult:
        context.cancel.wait(60)
        return ToolResult("too late", {}, {})

    tool = FakeTool("slow", ImageInput, run, timeout_s=0.05, approval=effect)
    events = play(tmp_path, [call("slow", image_path="a")], says("ok"), tools=FakeRegistry(tool))
    assert ("Try again" in finished(events)[0].error) is again


def test_progress_is_coalesced_and_the_last_report_always_told(tmp_path: Path):
    def run(args: Any, context: ToolContext) -> ToolResult:
        for index in range(5000):
            context.progress(index / 4999, f"row {index}")
        return ToolResult("", {}, {})

    tool = FakeTool("chatty", ImageInput, run)
    events = play(
        tmp_path, [call("chatty", image_path="a")], says("done"), tools=FakeRegistry(tool)
    )
    progress = [event for event in events if event.kind == "tool_progress"]
    assert 1 <= len(progress) <= 40
    assert progress[-1].fraction == 1.0
    assert progress[-1].text == "row 4999"


def test_progress_out_of_range_is_bounded(tmp_path: Path):
    def run(args: Any, context: ToolContext) -> ToolResult:
        context.progress(float("nan"), "")
        return ToolResult("", {}, {})

    tool = FakeTool("odd", ImageInput, run)
    events = play(tmp_path, [call("odd", image_path="a")], says("x"), tools=FakeRegistry(tool))
    assert [e.fraction for e in events if e.kind == "tool_progress"] == [0.0]


def test_the_limit_of_steps_ends_with_a_summary(tmp_path: Path):
    tools = fake_tools.pack()
    turns = [[call("cardiothoracic_ratio", image_path=f"image-{n}")] for n in range(3)]
    thread = fake_tools.Thread.in_memory()
    events = play(tmp_path, *turns, tools=tools, limits=Limits(steps=3), thread=thread)
    assert events[-1].kind == "run_finished"
    assert events[-1].stopped_by == "steps"
    assert "the limit of 3 steps is reached" in events[-1].answer
    assert "ratio about 0.47" in events[-1].answer
    assert len(finished(events)) == 3
    assert thread.history[-1].text == events[-1].answer


def test_the_limit_of_calls_keeps_what_was_found_and_answers_every_call(tmp_path: Path):
    tools = fake_tools.pack()
    turn = [call("cardiothoracic_ratio", image_path=f"image-{n}") for n in range(5)]
    thread = fake_tools.Thread.in_memory()
    events = play(tmp_path, turn, tools=tools, limits=Limits(tool_calls=2), thread=thread)
    assert len(finished(events)) == 2
    assert events[-1].stopped_by == "tool_calls"
    assert "the limit of 2 tool calls is reached" in events[-1].answer
    answered = [item.call_id for item in thread.history if item.role == "tool"]
    assert answered == [item.call.id for item in turn]


def test_an_empty_answer_after_tools_is_replaced_by_what_they_found(tmp_path: Path):
    tools = fake_tools.pack()
    events = play(tmp_path, [call("cardiothoracic_ratio", image_path="a")], [], tools=tools)
    assert "ended without an answer" in events[-1].answer
    assert "ratio about 0.47" in events[-1].answer


def test_an_empty_answer_without_tools_is_a_failure(tmp_path: Path):
    events = play(tmp_path, [Text("  ")])
    assert events[-1].kind == "run_failed"
    assert events[-1].remedy


def test_an_unexpected_exception_is_reported_without_its_text(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    events = play(tmp_path, [Text("hm"), RuntimeError("patient Jane")])
    assert events[-1].kind == "run_failed"
    assert "RuntimeError" in events[-1].error
    assert "Jane" not in caplog.text + events[-1].error
    assert "test_loop" not in caplog.text
    assert "scripted_model.py" in caplog.text


def test_an_output_folder_that_cannot_be_made_fails_with_a_remedy(tmp_path: Path):
    (tmp_path / "out").write_text("a file")
    events = asyncio.run(
        collect(AgentLoop(ScriptedModel(), FakeRegistry()), request(tmp_path / "out" / "x"))
    )
    assert events[-1].kind == "run_failed"
    assert "output folder" in events[-1].error
    assert events[-1].remedy


def test_plan_and_usage_are_told(tmp_path: Path):
    tools = fake_tools.pack()
    turn = [
        Plan((("dicom_processor", "read"), ("cardiothoracic_ratio", "measure"), ("x", "never"))),
        Tokens(12, 4),
        call("cardiothoracic_ratio", image_path="a"),
    ]
    events = play(tmp_path, turn, says("done"), tools=tools)
    plans = [[s["state"] for s in e.steps] for e in events if e.kind == "plan_updated"]
    assert plans == [
        ["pending", "pending", "pending"],
        ["skipped", "running", "pending"],
        ["skipped", "done", "pending"],
        ["skipped", "done", "skipped"],
    ]
    assert [e.input_tokens for e in events if e.kind == "usage"] == [12]


@pytest.mark.parametrize("granted", [True, False])
def test_a_tool_that_writes_asks_first(tmp_path: Path, granted: bool):
    tool = FakeTool("writer", ImageInput, ok("written"), approval=Approval.WRITE)
    asked: list[Any] = []

    async def approve(event: Any) -> bool:
        asked.append(event)
        return granted

    events = play(
        tmp_path,
        [call("writer", image_path="secret.png")],
        says("done"),
        tools=FakeRegistry(tool),
        approve=approve,
    )
    kinds = [event.kind for event in events]
    assert kinds.index("approval_requested") < kinds.index("approval_resolved")
    assert '"image_path": "secret.png"' in asked[0].detail
    assert bool(tool.calls) is granted
    assert finished(events)[0].status == ("ok" if granted else "failed")


def test_an_approval_that_cannot_be_asked_counts_as_no(tmp_path: Path):
    tool = FakeTool("writer", ImageInput, ok("written"), approval=Approval.EXECUTE)

    async def approve(event: Any) -> bool:
        raise RuntimeError

    events = play(
        tmp_path,
        [call("writer", image_path="a")],
        says("done"),
        tools=FakeRegistry(tool),
        approve=approve,
    )
    assert not tool.calls
    assert events[-1].kind == "run_finished"


def test_a_call_id_that_was_used_before_is_replaced(tmp_path: Path):
    tools = fake_tools.pack()
    one, two, three = (
        CallEvent(ToolCall(id="1", name="cardiothoracic_ratio", arguments={"image_path": name}))
        for name in "abc"
    )
    thread = fake_tools.Thread.in_memory()
    events = play(tmp_path, [one, two], [three], says("done"), tools=tools, thread=thread)
    assert len(finished(events)) == 3
    calls = [call.id for item in thread.history for call in item.tool_calls]
    results = [item.call_id for item in thread.history if item.role == "tool"]
    assert calls == results
    assert len(set(calls)) == 3


def test_the_next_question_builds_on_the_thread(tmp_path: Path):
    thread = fake_tools.Thread.in_memory()
    play(tmp_path, says("first answer"), thread=thread, question="one")
    model = ScriptedModel(says("second"))
    asyncio.run(collect(AgentLoop(model, FakeRegistry()), request(tmp_path, "two", thread=thread)))
    roles = [(item.role, item.text) for item in model.requests[0] if item.role != "system"]
    assert [text for _, text in roles if "image_path:" not in text] == [
        "one",
        "first answer ",
        "two",
    ]


class Recording(fake_tools.Thread):
    """A thread that notes in which order things come to it."""

    def __init__(self, order: list[str]) -> None:
        super().__init__("recording")
        self._order = order
        self.runs_noted: list[dict[str, Any]] = []

    def record(self, event: RunEvent) -> None:
        self._order.append(f"recorded {event.seq}")

    def note_run(self, run_id: str, facts: Any, images: object = None) -> None:
        self.runs_noted.append({"run_id": run_id, **facts})

    def log_call(self, call_id: str, *_: Any) -> None:
        self._order.append("call logged")


def test_every_event_is_recorded_before_anybody_sees_it(tmp_path: Path):
    order: list[str] = []
    thread = Recording(order)
    model = ScriptedModel([call("cardiothoracic_ratio", image_path="a")], says("a b c"))

    async def main() -> list[RunEvent]:
        events: list[RunEvent] = []
        loop = AgentLoop(model, fake_tools.pack())
        async for event in loop.run(request(tmp_path, thread=thread)):
            order.append(f"seen {event.seq}")
            events.append(event)
        return events

    events = asyncio.run(main())
    for event in events:
        assert order.index(f"recorded {event.seq}") < order.index(f"seen {event.seq}")
    assert len([item for item in order if item.startswith("recorded")]) == len(events)
    end = finished(events)[0]
    assert order.index("call logged") < order.index(f"recorded {end.seq}")


def test_what_a_run_rests_on_is_noted_when_it_starts(tmp_path: Path):
    thread = Recording([])
    play(tmp_path, says("hello"), thread=thread)
    (noted,) = thread.runs_noted
    assert (noted["run_id"], noted["model"], noted["images"]) == ("run-1", "scripted", ["image-1"])
    assert noted["version"]


def test_reasoning_is_told_and_is_no_part_of_the_answer(tmp_path: Path):
    thread = fake_tools.Thread.in_memory()
    turn = [Reasoning("let me "), Reasoning("see"), Reasoning(""), Text("It is fine.")]
    events = play(tmp_path, turn, thread=thread)
    assert [event.text for event in events if event.kind == "reasoning_delta"] == ["let me ", "see"]
    assert events[-1].answer == "It is fine."
    assert [item.text for item in thread.history] == ["question", "It is fine."]


def test_what_the_model_notes_is_told(tmp_path: Path):
    loads = Note("The model is being loaded.", passing=True)
    late = (Note("Still loading.", passing=True), Note("The template is broken."))
    events = play(tmp_path, [loads, Text("Hello."), *late])
    kinds = [event.kind for event in events]
    assert kinds == ["run_started", "notice", "text_delta", "notice", "run_finished"]
    assert (events[1].text, events[1].passing) == ("The model is being loaded.", True)
    assert (events[3].text, events[3].passing) == ("The template is broken.", False)


def test_a_shortened_context_is_noted_once(tmp_path: Path):
    thread = fake_tools.Thread.in_memory()
    for index in range(30):
        thread.append(Message(role="user", text=f"question {index} " + "word " * 200))
        thread.append(Message(role="assistant", text="answer " * 200))
    info = ModelInfo(context_tokens=4_000, output_tokens=500, own_tools=False, metered=False)
    model = ScriptedModel(
        [call("cardiothoracic_ratio", image_path="a")],
        [call("cardiothoracic_ratio", image_path="b")],
        says("done"),
        info=info,
    )
    loop = AgentLoop(model, fake_tools.pack())
    events = asyncio.run(collect(loop, request(tmp_path, thread=thread)))
    assert len([event for event in events if event.kind == "notice"]) == 1
    assert len(thread.history) == 60 + 6


def test_the_endpoints_own_count_corrects_the_estimate(tmp_path: Path):
    info = ModelInfo(own_tools=False)
    words = "word " * 1_000
    model = ScriptedModel([Text("a"), Tokens(2_400, 1)], [Text("b")], info=info)
    loop = AgentLoop(model, FakeRegistry(), system=words)
    usage: list[Any] = []
    for _ in range(2):
        events = asyncio.run(collect(loop, request(tmp_path)))
        usage += [event for event in events if event.kind == "usage"]
    assert (usage[0].input_tokens, usage[0].estimated) == (2_400, False)
    assert usage[1].estimated
    assert 2_300 < usage[1].input_tokens < 2_500


def test_a_tool_that_wants_a_retry_says_what_its_schema_expects(tmp_path: Path):
    tool = FakeTool("segment", SegmentationInput, fails(ToolRetry("there is no such organ")))
    turns = [call("segment", image_path="a")], [call("segment", image_path="a", organs=["Heart"])]
    thread = fake_tools.Thread.in_memory()
    play(tmp_path, *turns, says("sorry"), tools=FakeRegistry(tool), thread=thread)
    first = next(item for item in thread.history if item.role == "tool")
    assert "there is no such organ" in first.text
    assert "It takes: image_path (string, required), organs (list of string)." in first.text
    assert len(tool.calls) == 2


def test_a_denial_goes_to_the_model_with_its_reason(tmp_path: Path):
    tool = FakeTool("writer", ImageInput, ok("written"), approval=Approval.WRITE)
    thread = fake_tools.Thread.in_memory()

    async def approve(event: Any) -> Decision:
        return Decision(granted=False, reason="not that folder")

    play(
        tmp_path,
        [call("writer", image_path="a")],
        says("all right"),
        tools=FakeRegistry(tool),
        approve=approve,
        thread=thread,
    )
    (result,) = [item for item in thread.history if item.role == "tool"]
    assert "not that folder" in result.text
    assert not tool.calls


def test_a_yes_for_the_session_is_for_these_arguments_in_this_thread(tmp_path: Path):
    tool = FakeTool("writer", ImageInput, ok("written"), approval=Approval.WRITE)
    asked: list[dict[str, Any]] = []

    async def approve(event: Any) -> Decision:
        asked.append(event.arguments)
        return Decision(granted=True, scope="session")

    model = ScriptedModel(
        [call("writer", image_path="a")],
        [call("writer", image_path="a"), call("writer", image_path="b")],
        says("done"),
    )
    loop = AgentLoop(model, FakeRegistry(tool))
    asyncio.run(collect(loop, request(tmp_path, approve=approve)))
    assert asked == [{"image_path": "a"}, {"image_path": "b"}]
    assert len(tool.calls) == 3


def test_arguments_that_change_after_the_question_void_the_yes(tmp_path: Path):
    class Listed(fake_tools.Strict):
        paths: list[str]

    tool = FakeTool("writer", Listed, ok("written"), approval=Approval.WRITE)
    held: list[Any] = []

    class Spying(Gate):
        async def admit(self, spec: Any, call: Any, arguments: Any, **others: Any) -> PolicyVerdict:
            held.append(arguments)
            return await super().admit(spec, call, arguments, **others)

    async def approve(event: Any) -> bool:
        held[0].paths.append("/somewhere/else")
        return True

    model = ScriptedModel([call("writer", paths=["a"])], says("sorry"))
    gate = Spying(Policy.standard(), Grants())
    loop = AgentLoop(model, FakeRegistry(tool), approvals=gate)
    events = asyncio.run(collect(loop, request(tmp_path, approve=approve)))
    assert not tool.calls
    assert "changed after the user was asked" in finished(events)[0].error


def test_a_failure_after_results_keeps_them_in_the_conversation(tmp_path: Path):
    thread = fake_tools.Thread.in_memory()
    turns: list[Turn] = [
        [call("cardiothoracic_ratio", image_path="a")],
        [Text("The heart "), ModelFailed("the key is refused", remedy="Check it.")],
    ]
    events = play(tmp_path, *turns, tools=fake_tools.pack(), thread=thread)
    assert events[-1].kind == "run_failed"
    assert [item.role for item in thread.history] == ["user", "assistant", "tool", "assistant"]
    assert thread.history[-1].text == f"The heart\n\n{INTERRUPTED_ANSWER}"


def test_a_model_that_breaks_off_by_itself_is_a_failure_and_no_cancel(tmp_path: Path):
    events = play(tmp_path, [Text("x"), asyncio.CancelledError()])
    assert events[-1].kind == "run_failed"
    assert "broke off" in events[-1].error


def test_what_a_model_says_of_itself_may_change_once_it_is_loaded(tmp_path: Path):
    thread = fake_tools.Thread.in_memory()
    for _ in range(10):
        thread.append(Message(role="user", text="word " * 300))
        thread.append(Message(role="assistant", text="word " * 300))
    model = ScriptedModel(says("a"), says("b"))
    loop = AgentLoop(model, FakeRegistry())
    notices: list[int] = []
    for context_tokens in (100_000, 2_000):
        model.info = ModelInfo(context_tokens, output_tokens=200, own_tools=False, metered=False)
        events = asyncio.run(collect(loop, request(tmp_path, thread=thread)))
        notices.append(len([event for event in events if event.kind == "notice"]))
    assert notices == [0, 1]


class Defaults(BaseModel):
    folder: str = Field("/home/annegret/exports", description="For example /data/ward 7/x.dcm")
    title: str = Field("Overlay", description="What stands above it; Patient may be named.")


@pytest.mark.parametrize("host", ["", "cloud.example"])
def test_a_remote_model_is_told_no_path_of_this_computer_by_a_tools_schema(
    tmp_path: Path, host: str
):
    tool = FakeTool("save", Defaults, ok(), approval=Approval.WRITE)
    with ScriptedModel(says("No."), remote_host=host) as model:
        asked = request(tmp_path, "save it?", approve=_yes)
        asyncio.run(collect(AgentLoop(model, FakeRegistry(tool)), asked))
    (told,) = model.schemas[0]
    assert "annegret" not in str(told.parameters), "a default is told to no model"
    assert ("ward 7" in str(told.parameters)) is not bool(host)
    assert "Patient may be named" in told.parameters["properties"]["title"]["description"]


async def _yes(_: object) -> bool:
    return True
