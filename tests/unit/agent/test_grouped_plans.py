"""Plans over groups of images: each image is worked on, and what joins them gets them all."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from app.agent.messages import Message
from app.agent.planning import (
    OpenImage,
    Output,
    Planner,
    Scene,
    Step,
    ToolPlan,
    resolve,
    schema_of,
)
from app.tools.api import REPEATING_TOOL, Resource, ToolInput, takes
from app.tools.general.for_each_image import ForEachImage
from app.tools.pack_plan import Feed, PackPlan, Plans, QuestionKind, ToolRule
from tests.support.fake_tools import FakeTool, ImageInput, ok


class CutInput(ToolInput):
    image_paths: list[str] = takes(Resource.IMAGES)
    mask_paths: list[str] = takes(Resource.MASK)


class JoinInput(ToolInput):
    table_paths: list[str] = takes(Resource.TABLE)
    group: str | None = takes(Resource.GROUP, default=None)


PLAN = PackPlan(
    "p",
    kinds=(
        QuestionKind("counting", ("how many",), tools=("outline",)),
        QuestionKind("states", ("states",), tools=("outline", "cut", "join")),
        QuestionKind("joining", ("join",), tools=("join",)),
    ),
    tools=(
        ToolRule("outline"),
        ToolRule("cut", feeds=(Feed("mask_paths", ("outline",), "mask_path"),)),
        ToolRule("join", feeds=(Feed("table_paths", ("cut",), "table_path"),)),
    ),
)
TOOLS = {
    tool.spec.name: schema_of(tool)
    for tool in (
        FakeTool("outline", ImageInput, ok()),
        FakeTool("cut", CutInput, ok()),
        FakeTool("join", JoinInput, ok()),
        ForEachImage(),
    )
}


def scene(groups: tuple[str, ...] = ("ctrl", "ctrl", "drug", "drug")) -> Scene:
    notes = tuple(
        {"id": f"image-{place}", "path": f"/d/{place}.tif", "kind": "picture", "group": group}
        for place, group in enumerate(groups, start=1)
    )
    return Scene(notes, TOOLS, plans=Plans((PLAN,)))


def steps(question: str, groups: tuple[str, ...] = ("ctrl", "ctrl", "drug", "drug")) -> list[Step]:
    plan = Planner().interpret(question, scene(groups)).plan
    assert isinstance(plan, ToolPlan)
    return list(plan.steps)


@pytest.mark.parametrize(
    "question",
    [
        "Which states differ between ctrl and drug?",
        "Compare the states of both groups",
        "states in each image",
    ],
)
def test_a_question_about_groups_works_on_each_image_and_joins_all(question: str):
    first, cut, join = steps(question)
    assert (first.tool, first.arguments["tool"]) == (REPEATING_TOOL, "outline")
    assert cut.arguments["image_paths"] == [OpenImage(f"image-{n}") for n in (1, 2, 3, 4)]
    assert cut.arguments["mask_paths"] == [Output(1, "mask_path")]
    assert join.arguments == {"table_paths": [Output(2, "table_path")]}


def test_without_groups_the_shown_image_is_meant():
    first, cut, _ = steps("Which states differ?", ("", "", "", ""))
    assert first.tool == "outline"
    assert cut.arguments["image_paths"] == [OpenImage()]


def test_a_tool_that_takes_a_group_is_given_the_one_that_is_named():
    found = steps("states of the drug group")
    assert found[0].arguments["group"] == "drug"
    assert found[2].arguments["group"] == "drug"


def test_the_name_of_the_group_is_no_word_of_the_question():
    kinds = replace(PLAN, kinds=(QuestionKind("compared", ("ctrl",), tools=("join",)), *PLAN.kinds))
    asked = replace(scene(), plans=Plans((kinds,)))
    plan = Planner().interpret("How many in the ctrl group?", asked).plan
    assert isinstance(plan, ToolPlan)
    assert [step.arguments["tool"] for step in plan.steps] == ["outline"]


def test_an_image_that_failed_is_left_out_of_what_joins_the_images():
    rows: list[dict[str, Any]] = [
        {"image": "/d/1.tif", "output": {"mask_path": "/o/1"}},
        {"image": "/d/2.tif", "error": "it is empty"},
        {"image": "/d/3.tif", "output": {"mask_path": "/o/3"}},
        {"image": "/d/4.tif", "output": {"mask_path": "/o/4"}},
    ]
    output = {"tool": "outline", "results": rows}
    message = Message(role="tool", tool=REPEATING_TOOL, data={"output": output})
    plan = steps("Which states differ between ctrl and drug?")
    ready = resolve(plan[1], plan, {1: message}, scene())
    assert getattr(ready, "arguments", None) == {
        "image_paths": ["/d/1.tif", "/d/3.tif", "/d/4.tif"],
        "mask_paths": ["/o/1", "/o/3", "/o/4"],
    }
