"""Rules of the packs against a scripted model that tries to break each of them."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from app.agent.llm.anthropic_model import wire_messages
from app.agent.llm.base import ModelInfo
from app.agent.loop.agent_loop import AgentLoop, Limits
from app.agent.messages import Message, ToolCall
from app.agent.sessions import Thread
from app.tools.api import Approval
from app.tools.pack_plan import (
    Accepts,
    AllOf,
    AnyOf,
    Feed,
    PackPlan,
    Plans,
    Priority,
    Successor,
    ToolRule,
)
from tests.support import cells_pack as cells
from tests.support.cells_plan import PLAN
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

ANALYSE = "Analyse the cell states"


class Played:
    """A run that was played: what it told, and the tools that really ran."""

    def __init__(self, events: Sequence[Any], thread: Thread, model: ScriptedModel) -> None:
        self.events = events
        self.thread = thread
        self.model = model
        self.plan = [event for event in events if event.kind == "plan_updated"]

    @property
    def ran(self) -> list[str]:
        return [e.tool for e in self.events if e.kind == "tool_finished" and e.status == "ok"]

    @property
    def overrides(self) -> list[tuple[str, str, str]]:
        return [(item.rule, item.tool, item.instead) for item in self.plan[-1].overrides]

    @property
    def reasons(self) -> str:
        return " ".join(item.reason for item in self.plan[-1].overrides)

    @property
    def steps(self) -> list[tuple[str, str, str]]:
        return [(s["tool"], s["state"], s.get("by", "")) for s in self.plan[-1].steps]

    def failed(self, tool: str) -> str:
        return next(e.error for e in self.events if e.kind == "tool_finished" and e.tool == tool)

    def told(self, tool: str) -> str:
        results = (m for m in self.thread.history if m.role == "tool" and m.tool == tool)
        return next(f"{m.text} {m.advice}".strip() for m in results)


def play(
    tmp_path: Path,
    question: str,
    *turns: Turn,
    pictures: int = 1,
    plan: PackPlan = PLAN,
    notes: dict[str, Any] | None = None,
    limits: Limits | None = None,
    thread: Thread | None = None,
    rules_first: bool = False,
    remote_host: str = "",
    **changes: Any,
) -> Played:
    """Let a model play its turns over the pack of cells; all of them must be asked for."""
    shown = [
        cells.micrograph(tmp_path / f"{number}.png", seed=number) for number in range(pictures)
    ]
    out_dir = tmp_path / "out"
    images, told = cells.open_pictures(out_dir, *shown)
    if notes:
        told[0] |= notes
    registry = cells.cells_registry()
    thread = thread or Thread.in_memory()
    info = ModelInfo(own_tools=True, metered=False)
    with ScriptedModel(*turns, info=info, remote_host=remote_host) as model:
        loop = AgentLoop(
            model, registry, plans=Plans((plan,)), limits=limits, rules_first=rules_first
        )
        asked = request(out_dir, question, notes=told, thread=thread, images=images, **changes)
        events = asyncio.run(collect(loop, asked))
    assert events[-1].kind in ("run_finished", "run_cancelled"), events[-1]
    check_transcript(thread.history)
    return Played(events, thread, model)


def check_transcript(history: Sequence[Message]) -> None:
    """Endpoints take it: each message's calls have their results right behind it, once each."""
    waiting: list[ToolCall] = []
    seen: set[str] = set()
    for message in history:
        if message.role == "tool":
            assert message.call_id == waiting.pop(0).id
            continue
        assert not waiting, "a call has no result"
        waiting = list(message.tool_calls)
        ids = [item.id for item in waiting]
        assert len({*ids, *seen}) == len(ids) + len(seen)
        assert all(len(name) <= 40 for name in ids)
        seen.update(ids)
    assert not waiting
    check_anthropic(wire_messages(history, images=False))


def check_anthropic(wire: Sequence[dict[str, Any]]) -> None:
    """Roles take turns, and the message behind calls begins with their results."""
    roles = [item["role"] for item in wire]
    assert all(one != other for one, other in pairwise(roles))
    for item, after in zip(wire, [*wire[1:], {"content": []}], strict=True):
        asked = [block["id"] for block in item["content"] if block["type"] == "tool_use"]
        blocks = after["content"][: len(asked)]
        assert [block.get("tool_use_id") for block in blocks] == asked


def segment() -> Turn:
    return [call(cells.CELLS, image_path="image-1")]


def crop(mask: str = "made-up.png") -> Turn:
    return [call(cells.CROPPER, image_path="image-1", mask_path=mask)]


def test_what_a_call_needs_runs_first_and_feeds_it(tmp_path: Path):
    played = play(tmp_path, "Crop the cells, please", crop(), says("cropped"))
    assert played.ran == [cells.CELLS, cells.CROPPER]
    assert ("dependency", cells.CROPPER, cells.CELLS) in played.overrides
    assert (cells.CELLS, "done", "enforced") in played.steps
    assert "mask_path was set from the result before it" in played.told(cells.CROPPER)
    assert "Put in by Sightline's rules" in played.told(cells.CELLS)


def test_any_one_of_the_segmenters_will_do(tmp_path: Path):
    turn: Turn = [call(cells.NUCLEI, image_path="image-1")]
    played = play(tmp_path, "Crop it", turn, [call(cells.CROPPER, image_path="image-1")], says("x"))
    assert played.ran == [cells.NUCLEI, cells.CROPPER]
    assert not played.overrides


def test_of_several_the_one_that_the_question_speaks_of_runs(tmp_path: Path):
    played = play(tmp_path, "Cut the nuclei out of the picture", crop(), says("x"))
    assert played.ran == [cells.NUCLEI, cells.CROPPER]


def test_a_whole_chain_is_put_before_its_last_link(tmp_path: Path):
    turn: Turn = [call(cells.ANALYZER, crops_path="nowhere.json")]
    played = play(tmp_path, ANALYSE, turn, says("too early"), says("two states"))
    assert played.ran == [cells.CELLS, cells.CROPPER, cells.ANALYZER, cells.VISUALIZER]
    assert [rule for rule, _, _ in played.overrides] == ["dependency", "dependency", "successor"]
    assert (played.plan[-1].goal, played.plan[-1].goal_why) == ("done", "")


def test_all_of_several_are_put_first(tmp_path: Path):
    plan = PackPlan("p", tools=(ToolRule("last", requires=(AllOf(("a", "b")),)),))
    tools = [FakeTool(name, ImageInput, ok(name)) for name in ("a", "b", "last")]
    played = play_fakes(tmp_path, plan, tools, [call("last", image_path="image-1")], says("done"))
    assert played.ran == ["a", "b", "last"]


def test_a_call_whose_need_cannot_be_run_is_refused_with_what_to_do(tmp_path: Path):
    plan = PackPlan("p", tools=(ToolRule("last", requires=(AnyOf(("gone", "blind")),)),))
    tools = [FakeTool("last", ImageInput, ok()), FakeTool("blind", ImageInput, ok())]
    turn: Turn = [call("last", image_path="x")]
    played = play_fakes(tmp_path, plan, tools, turn, says("sorry"), notes=())
    assert not played.ran
    assert "needs a result of gone or blind, and there is none" in played.failed("last")
    assert "Call blind first; it needs image_path." in played.failed("last")
    assert played.overrides == [("dependency", "last", "")]


def test_a_need_that_failed_is_not_run_again_and_the_call_is_refused(tmp_path: Path):
    plan = PackPlan("p", tools=(ToolRule("last", requires=(AnyOf(("first",)),)),))
    first = FakeTool("first", ImageInput, fails(ValueError("x")))
    tools = [first, FakeTool("last", ImageInput, ok())]
    turns: list[Turn] = [[call("last", image_path="image-1")] for _ in range(2)]
    played = play_fakes(tmp_path, plan, tools, *turns, says("sorry"), errors=True)
    assert not played.ran
    assert len(first.calls) == 1
    assert "first failed" in played.failed("last")


def test_needs_in_a_circle_end(tmp_path: Path):
    rules = (ToolRule("a", requires=(AllOf(("b",)),)), ToolRule("b", requires=(AllOf(("a",)),)))
    tools = [FakeTool(name, ImageInput, ok()) for name in "ab"]
    turn: Turn = [call("a", image_path="image-1"), call("b", image_path="image-1")]
    played = play_fakes(tmp_path, PackPlan("p", tools=rules), tools, turn, says("done"))
    assert not played.ran


def test_calls_of_one_message_run_in_the_order_that_they_need(tmp_path: Path):
    turn: Turn = [*crop(""), *segment()]
    played = play(tmp_path, "Outline the cells and crop them", turn, says("done"))
    assert played.ran == [cells.CELLS, cells.CROPPER]
    assert ("dependency", cells.CROPPER, cells.CELLS) in played.overrides
    assert [step for step in played.steps if step[2] == "enforced"] == []


def test_a_result_of_an_earlier_question_serves_for_the_same_image_only(tmp_path: Path):
    thread = Thread.in_memory()
    play(tmp_path, "Outline the cells", segment(), says("ok"), thread=thread)
    again = play(tmp_path, "Now crop them", crop(""), says("ok"), thread=thread)
    assert again.ran == [cells.CROPPER]
    other: Turn = [call(cells.CROPPER, image_path="image-2")]
    third = play(tmp_path, "Crop the other one", other, says("ok"), thread=thread, pictures=2)
    assert third.ran == [cells.CELLS, cells.CROPPER]


def test_after_the_cropper_of_a_full_analysis_comes_the_analyser(tmp_path: Path):
    skip: Turn = [call(cells.VISUALIZER, data_path="")]
    played = play(tmp_path, ANALYSE, segment(), crop(""), skip, says("two states"))
    assert played.ran == [cells.CELLS, cells.CROPPER, cells.ANALYZER, cells.VISUALIZER]
    assert ("successor", cells.VISUALIZER, cells.ANALYZER) in played.overrides
    assert "cropped cells say nothing of their states" in played.reasons


def test_an_answer_that_comes_too_early_waits_for_the_successors(tmp_path: Path):
    played = play(tmp_path, ANALYSE, segment(), crop(""), says("too early"), says("now"), says("!"))
    assert played.ran == [cells.CELLS, cells.CROPPER, cells.ANALYZER, cells.VISUALIZER]
    assert ("successor", "", cells.ANALYZER) in played.overrides
    assert ("successor", "", cells.VISUALIZER) in played.overrides
    assert played.events[-1].answer.startswith("!")


def test_a_counting_question_forces_no_crop_and_no_analysis(tmp_path: Path):
    played = play(tmp_path, "How many cells are there?", segment(), says("six [1]"))
    assert played.ran == [cells.CELLS]
    assert not played.overrides
    assert played.plan[-1].goal == "done"


def test_cropping_without_a_full_analysis_forces_no_analyser(tmp_path: Path):
    played = play(tmp_path, "Crop the cells", segment(), crop(""), says("six [2]"))
    assert played.ran == [cells.CELLS, cells.CROPPER]


def test_a_recommended_successor_is_shown_and_not_forced(tmp_path: Path):
    turn: Turn = [call(cells.ANALYZER, crops_path="x")]
    played = play(tmp_path, ANALYSE, turn, says("too early"), says("done"))
    assert cells.CAPTIONER not in played.ran
    assert (cells.CAPTIONER, "skipped", "rules") in played.steps
    assert "Recommended next: Image_Captioner_Tool" in played.told(cells.VISUALIZER)


def test_more_of_the_same_may_be_prepared_before_the_successor(tmp_path: Path):
    def both(tool: str, **more: str) -> Turn:
        return [call(tool, image_path=f"image-{number}", **more) for number in (1, 2)]

    turns = (both(cells.CELLS), both(cells.CROPPER)[:1], both(cells.CROPPER)[1:])
    asked = "Compare the groups: analyse the cell states"
    answers = [says(f"answer {number}") for number in range(5)]
    played = play(tmp_path, asked, *turns, *answers, pictures=2)
    assert played.ran[:4] == [cells.CELLS] * 2 + [cells.CROPPER] * 2
    assert sorted(played.ran[4:]) == sorted([cells.ANALYZER, cells.VISUALIZER] * 2)


def test_nothing_is_its_own_successor(tmp_path: Path):
    plan = PackPlan("p", successors=(Successor(("a", "b"), "b"),))
    tools = [FakeTool(name, ImageInput, ok()) for name in "ab"]
    answers = [says(f"answer {number}") for number in range(2)]
    played = play_fakes(tmp_path, plan, tools, [call("a", image_path="image-1")], *answers)
    assert played.ran == ["a", "b"]


@pytest.mark.parametrize(
    ("rule", "question"),
    [
        (ToolRule("draw", leave_out=("draw*",)), "Look at it, don't draw it"),
        (ToolRule("draw", priority=Priority.EXCLUDED), "Look at it"),
    ],
    ids=["left out", "excluded"],
)
def test_a_successor_that_may_not_run_is_not_even_tried(
    tmp_path: Path, rule: ToolRule, question: str
):
    plan = PackPlan("p", tools=(rule,), successors=(Successor(("look",), "draw"),))
    tools = [FakeTool(name, ImageInput, ok()) for name in ("look", "draw")]
    turn: Turn = [call("look", image_path="image-1")]
    played = play_fakes(tmp_path, plan, tools, turn, says("seen"), question=question)
    started = [event.tool for event in played.events if event.kind == "tool_started"]
    assert started == ["look"]
    assert not played.overrides
    assert played.plan[-1].goal == "done"


def test_what_the_question_leaves_out_is_not_recommended(tmp_path: Path):
    rule = ToolRule("draw", leave_out=("draw*",))
    after = Successor(("look",), "draw", mandatory=False)
    plan = PackPlan("p", tools=(rule,), successors=(after,))
    tools = [FakeTool(name, ImageInput, ok()) for name in ("look", "draw")]
    for asked, recommended in (("Look at it", True), ("Look at it, don't draw it", False)):
        turn: Turn = [call("look", image_path="image-1")]
        played = play_fakes(tmp_path, plan, tools, turn, says("seen"), question=asked)
        assert ("Recommended next: draw" in played.told("look")) is recommended


def test_a_call_waits_for_the_one_beside_it_that_feeds_it(tmp_path: Path):
    rule = ToolRule("show", feeds=(Feed("image_path", ("make",), "made"),))
    made = FakeTool("make", ImageInput, ok("", {"made": "image-1"}))
    show = FakeTool("show", ImageInput, ok())
    turn: Turn = [call("make", image_path="image-1"), call("show")]
    played = play_fakes(tmp_path, PackPlan("p", tools=(rule,)), [made, show], turn, says("shown"))
    assert played.ran == ["make", "show"]
    assert show.calls == [ImageInput(image_path="image-1")]


def test_an_excluded_tool_never_runs(tmp_path: Path):
    turn: Turn = [call(cells.GENERALIST, image_path="image-1")]
    played = play(tmp_path, "Describe the picture", turn, caption(), says("I see"))
    assert cells.GENERALIST not in played.ran
    assert ("excluded", cells.GENERALIST, "") in played.overrides
    assert "excluded by its pack" in played.failed(cells.GENERALIST)
    assert (cells.GENERALIST, "skipped", "enforced") in played.steps


def caption() -> Turn:
    return [call(cells.CAPTIONER, image_path="image-1")]


def test_a_tool_of_low_priority_is_replaced_by_a_better_one(tmp_path: Path):
    turn: Turn = [call(cells.THRESHOLD, image_path="image-1")]
    played = play(tmp_path, "How many cells are there?", turn, says("six"))
    assert played.ran == [cells.CELLS]
    assert ("low_priority", cells.THRESHOLD, cells.CELLS) in played.overrides
    assert "Run in place of Threshold_Segmenter_Tool" in played.told(cells.CELLS)


def test_a_tool_of_low_priority_runs_where_the_user_names_it(tmp_path: Path):
    turn: Turn = [call(cells.THRESHOLD, image_path="image-1")]
    played = play(tmp_path, "Run Threshold_Segmenter_Tool on it", turn, says("six"))
    assert played.ran == [cells.THRESHOLD]
    assert not played.overrides


def test_a_tool_of_low_priority_runs_where_the_better_one_failed(tmp_path: Path):
    rules = (ToolRule("poor", priority=Priority.LOW), ToolRule("good"))
    plan = PackPlan("p", tools=rules, alternatives=(AnyOf(("poor", "good")),))
    good = FakeTool("good", ImageInput, fails(ValueError("x")))
    tools = [FakeTool("poor", ImageInput, ok()), good]
    turns: list[Turn] = [[call("poor", image_path="image-1")] for _ in range(2)]
    played = play_fakes(tmp_path, plan, tools, *turns, says("done"), errors=True)
    assert played.ran == ["poor"]


def test_what_the_question_leaves_out_does_not_run(tmp_path: Path):
    asked = "Only outline the cells, don't crop them"
    played = play(tmp_path, asked, segment(), crop(""), says("outlined"))
    assert played.ran == [cells.CELLS]
    assert ("left_out", cells.CROPPER, "") in played.overrides
    assert "The question leaves Single_Cell_Cropper_Tool out" in played.reasons


def test_what_the_question_leaves_out_is_not_put_in_either(tmp_path: Path):
    asked = "Analyse the cell states without cropping"
    turn: Turn = [call(cells.ANALYZER, crops_path="x")]
    played = play(tmp_path, asked, turn, says("I cannot"), says("I cannot"))
    assert cells.CROPPER not in played.ran
    assert "the question leaves Single_Cell_Cropper_Tool out" in played.reasons


def test_an_image_that_a_tool_is_not_for_is_refused(tmp_path: Path):
    notes = {"modality": "CT", "kind": "dicom"}
    played = play(tmp_path, "Count the cells", segment(), says("I cannot"), notes=notes)
    assert not played.ran
    assert ("unsuitable", cells.CELLS, "") in played.overrides
    assert "0.png is CT, not a micrograph (a picture, SM, GM)" in played.reasons


def test_a_picture_made_of_an_image_is_what_that_image_is(tmp_path: Path):
    rules = (ToolRule("chest", accepts=Accepts(modalities=("CR",), what="a radiograph")),)
    made = {"image_path": "/out/converted.png"}
    tools = [FakeTool("convert", ImageInput, ok("", made)), FakeTool("chest", ImageInput, ok())]
    turns: list[Turn] = [
        [call("convert", image_path="image-1")],
        [call("chest", image_path="/out/converted.png")],
    ]
    note = {"id": "image-1", "path": "/in/ct.dcm", "kind": "dicom", "modality": "CT"}
    plan = PackPlan("p", tools=rules)
    played = play_fakes(tmp_path, plan, tools, *turns, says("no"), notes=(note,))
    assert played.ran == ["convert"]
    assert ("unsuitable", "chest", "") in played.overrides


@pytest.mark.parametrize(
    "name",
    [" image-1", "IMAGE-1", "/in/ct.dcm ", "/in/../in/./ct.dcm", "ct.dcm", "../../in/ct.dcm"],
)
def test_however_an_image_is_named_it_is_what_it_is(tmp_path: Path, name: str):
    rules = (ToolRule("chest", accepts=Accepts(modalities=("CR",), what="a radiograph")),)
    notes = (
        {"id": "image-2", "path": "/in/cr.dcm", "kind": "dicom", "modality": "CR"},
        {"id": "image-1", "path": "/in/ct.dcm", "kind": "dicom", "modality": "CT"},
    )
    if name.startswith(".."):
        name = os.path.relpath("/in/ct.dcm", tmp_path)
    chest = FakeTool("chest", ImageInput, ok())
    turn: Turn = [call("chest", image_path=name)]
    played = play_fakes(
        tmp_path, PackPlan("p", tools=rules), [chest], turn, says("no"), notes=notes
    )
    assert not chest.calls
    assert ("unsuitable", "chest", "") in played.overrides


def test_what_rules_put_in_is_asked_for_like_any_other_call(tmp_path: Path):
    plan = PackPlan("p", successors=(Successor(("look",), "publish"),))
    publish = FakeTool("publish", ImageInput, ok(), approval=Approval.SEND)
    tools = [FakeTool("look", ImageInput, ok()), publish]
    asked: list[str] = []

    async def no(event: Any) -> bool:
        asked.append(event.tool)
        return False

    turn: Turn = [call("look", image_path="image-1")]
    played = play_fakes(tmp_path, plan, tools, turn, says("a"), says("b"), approve=no)
    assert asked == ["publish"]
    assert not publish.calls
    assert played.events[-1].answer.startswith("b")


def test_limits_hold_for_what_rules_put_in(tmp_path: Path):
    turn: Turn = [call(cells.ANALYZER, crops_path="x")]
    played = play(tmp_path, ANALYSE, turn, limits=Limits(tool_calls=2))
    assert played.ran == [cells.CELLS, cells.CROPPER]
    assert played.events[-1].stopped_by == "tool_calls"
    assert (played.plan[-1].goal, "limit of 2 tool calls" in played.plan[-1].goal_why) == (
        "incomplete",
        True,
    )


def test_successors_in_a_circle_end(tmp_path: Path):
    plan = PackPlan("p", successors=(Successor(("a",), "b"), Successor(("b",), "a")))
    tools = [FakeTool(name, ImageInput, ok()) for name in "ab"]
    answers = [says(f"answer {number}") for number in range(3)]
    played = play_fakes(tmp_path, plan, tools, [call("a", image_path="image-1")], *answers)
    assert played.ran == ["a", "b", "a"]


def test_a_model_that_repeats_a_refused_call_is_stopped_by_the_limits(tmp_path: Path):
    turns: list[Turn] = [[call(cells.GENERALIST, image_path="image-1")] for _ in range(3)]
    played = play(tmp_path, "Tell me something", *turns)
    assert played.events[-1].stopped_by == "repeated_call"
    assert played.overrides == [("excluded", cells.GENERALIST, "")]


def test_each_override_is_logged_without_anything_of_the_patient(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    caplog.set_level(logging.INFO, logger="app.agent.enforcement.director")
    play(tmp_path, "Crop DOE^JANE", crop("/home/doe/jane.png"), says("done"))
    lines = [record.getMessage() for record in caplog.records if "Override" in record.message]
    assert lines == [
        f"Override (dependency): {cells.CROPPER} -> {cells.CELLS}. {cells.CROPPER} needs a result "
        f"of {' or '.join((*cells.SEGMENTERS, cells.THRESHOLD))}, so {cells.CELLS} runs first. "
        "Sub-goal: outlines each cell. Context: no results so far."
    ]


def test_a_model_that_answers_without_what_the_question_needs_is_asked_once_more(tmp_path: Path):
    played = play(tmp_path, "How many cells?", says("six"), segment(), says("six [1]"))
    assert played.ran == [cells.CELLS]
    assert [rule for rule, _, _ in played.overrides] == ["incomplete"]
    assert played.plan[-1].goal == "done"


def test_a_model_that_insists_is_believed_where_rules_cannot_do_it_either(tmp_path: Path):
    asked = "How many cells are in another image?"
    played = play(tmp_path, asked, says("six"), says("six, I said"), pictures=3)
    assert played.events[-1].answer.startswith("six, I said")
    assert played.plan[-1].goal == "incomplete"
    assert cells.CELLS in played.plan[-1].goal_why


def test_without_plans_nothing_is_changed(tmp_path: Path):
    played = play(
        tmp_path,
        ANALYSE,
        crop(""),
        says("done"),
        plan=replace(PLAN, tools=(), kinds=(), successors=(), alternatives=()),
    )
    assert not played.ran
    assert not played.overrides


def play_fakes(
    tmp_path: Path,
    plan: PackPlan,
    tools: Sequence[FakeTool],
    *turns: Turn,
    errors: bool = False,
    ends: str = "run_finished",
    question: str = "question",
    loops: Mapping[str, Any] | None = None,
    remote_host: str = "",
    **changes: Any,
) -> Played:
    """The same with made-up tools."""
    thread = Thread.in_memory()
    if errors:
        logging.getLogger("app.agent.loop.tool_execution").disabled = True
    try:
        with ScriptedModel(*turns, remote_host=remote_host) as model:
            loop = AgentLoop(model, FakeRegistry(*tools), plans=Plans((plan,)), **(loops or {}))
            asked = request(tmp_path, question, thread=thread, **changes)
            events = asyncio.run(collect(loop, asked))
    finally:
        logging.getLogger("app.agent.loop.tool_execution").disabled = False
    assert events[-1].kind == ends, events[-1]
    check_transcript(thread.history)
    return Played(events, thread, model)
