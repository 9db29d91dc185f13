"""What a question allows and in which order binds a language model as it binds the rules."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from app.agent.events import PlanUpdated, ToolFinished
from app.agent.llm.base import ModelInfo
from app.agent.loop.agent_loop import AgentLoop
from app.agent.sessions import Thread
from app.tools.api import Need
from app.tools.registry import load_packs
from tests.support.fake_tools import (
    FakeRegistry,
    FakeTool,
    ImageInput,
    SegmentationInput,
    collect,
    ok,
    pack,
    ratio,
    request,
    segmentation,
)
from tests.support.scripted_model import ScriptedModel, Turn, call, says

PLANS = load_packs([]).plans
SEGMENT, CTR, SCORES, CONVERT = (
    "chest_xray_segmentation",
    "cardiothoracic_ratio",
    "chest_xray_classifier",
    "dicom_processor",
)


def calls(*names: str) -> Turn:
    key = {CONVERT: "dicom_path"}
    return [call(name, **{key.get(name, "image_path"): "image-1"}) for name in names]


def play(folder: Path, question: str, *turns: Turn, tools: Any = None) -> list[Any]:
    model = ScriptedModel(*turns, info=ModelInfo(own_tools=True, metered=False))
    loop = AgentLoop(model, tools or pack(), plans=PLANS)
    return asyncio.run(collect(loop, request(folder, question, thread=Thread.in_memory())))


def ran(events: list[Any]) -> list[str]:
    return [e.tool for e in events if isinstance(e, ToolFinished) and e.status == "ok"]


def goal(events: list[Any]) -> str:
    return [event.goal for event in events if isinstance(event, PlanUpdated)][-1]


@pytest.mark.parametrize(
    "question",
    ["Only segment the lungs", "Outline the lungs, nothing else.", "Nur die Lunge segmentieren"],
)
def test_only_forbids_a_model_all_other_tools(tmp_path: Path, question: str):
    asked = calls(SEGMENT, CTR, SCORES), calls("image_visualizer")
    events = play(tmp_path, question, *asked, says("Outlined [1]."))
    assert ran(events) == [SEGMENT]
    assert goal(events) == "done"


@pytest.mark.parametrize("question", ["Segment the lungs", "Is only the left lung outlined?"])
def test_without_only_other_tools_may_run(tmp_path: Path, question: str):
    assert SCORES in ran(play(tmp_path, question, calls(SEGMENT), calls(SCORES), says("Done.")))


FIRST = "First measure the heart, then segment the lungs, then convert to PNG"


@pytest.mark.parametrize(
    "turns",
    [
        [calls(CTR, SEGMENT, CONVERT)],
        [calls(CONVERT, SEGMENT, CTR)],
        [calls(CONVERT), calls(SEGMENT)],
    ],
)
def test_the_order_of_the_question_is_kept(tmp_path: Path, turns: list[Turn]):
    events = play(tmp_path, FIRST, *turns, says("Done."))
    assert list(dict.fromkeys(ran(events))) == [CTR, SEGMENT, CONVERT]
    told = [
        (event.kind, event.tool)
        for event in events
        if event.kind in ("tool_started", "tool_finished")
    ]
    assert told[:2] == [("tool_started", CTR), ("tool_finished", CTR)], "one after the other"


def test_structures_that_nobody_asked_for_are_not_missed(tmp_path: Path):
    def all_that_can_be_had(args: Any, context: Any) -> Any:
        made = segmentation(args, context)
        made.metadata["unavailable_organs"] = ["Aorta", "Spine"]
        return made

    tools = FakeRegistry(FakeTool(SEGMENT, SegmentationInput, all_that_can_be_had))
    events = play(tmp_path, "Segment the lungs", calls(SEGMENT), says("Done [1]."), tools=tools)
    assert goal(events) == "done"
    asked = play(tmp_path, "Segment the aorta", calls(SEGMENT), says("Done [1]."), tools=tools)
    assert goal(asked) == "incomplete"


def test_a_model_is_urged_to_call_only_what_it_was_offered(tmp_path: Path):
    lacking = FakeTool(CTR, ImageInput, ratio)
    object.__setattr__(lacking.spec, "needs", (Need("package", "no_such_package_of_ours"),))
    tools = FakeRegistry(lacking, FakeTool(SCORES, ImageInput, ok("Scores.")))
    events = play(tmp_path, "Is the heart enlarged?", says("I cannot tell."), tools=tools)
    assert ran(events) == []
    assert goal(events) == "incomplete"
