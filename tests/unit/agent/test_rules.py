from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from app.agent.llm.base import ToolSchema
from app.agent.loop.offline_model import Progress, next_calls
from app.agent.messages import Message
from app.agent.planning import Planner, Scene, Step, ToolPlan
from app.tools.pack_plan import (
    Accepts,
    AnyOf,
    Feed,
    NumberWords,
    PackPlan,
    Plans,
    Priority,
    QuestionKind,
    Successor,
    ToolRule,
    ValueWords,
)

NOTE = {"id": "image-1", "path": "/slides/a.png", "kind": "picture", "modality": "SM"}


def schema(name: str, **fields: str) -> ToolSchema:
    properties = {key: {"type": kind} for key, kind in fields.items()}
    return ToolSchema(name, name, {"properties": properties, "required": list(fields)[:1]})


SCHEMAS = {
    item.name: item
    for item in (
        schema("finder", image_path="string", colour="string"),
        schema("cutter", mask_path="string", margin="number"),
        schema("grouper", crops="string"),
        schema("plotter", table="string"),
        schema("teller", image_path="string"),
        schema("guesser", image_path="string"),
    )
}
PLAN = PackPlan(
    "beans",
    kinds=(
        QuestionKind("counting", ("how many", "count"), tools=("finder",), certain=True),
        QuestionKind("full", ("states", "analyse"), tools=(AnyOf(("finder",)), "cutter")),
        QuestionKind("outline", ("segment*",), tools=("finder",)),
        QuestionKind("cut", ("cut",), tools=("cutter",)),
        QuestionKind("guess", ("guess",), tools=("guesser",)),
    ),
    tools=(
        ToolRule(
            "finder",
            why="outlines each bean",
            words=("bean", "beans"),
            accepts=Accepts(modalities=("SM",), what="a picture of beans"),
            values=(ValueWords("colour", "red", ("red", "crimson")),),
            empty=("count",),
        ),
        ToolRule(
            "cutter",
            requires=(AnyOf(("finder", "teller")),),
            feeds=(Feed("mask_path", ("finder",), "mask_path"),),
            numbers=(NumberWords(("margin",), ("margin",)),),
        ),
        ToolRule("grouper", leave_out=("group*",), feeds=(Feed("crops", ("cutter",), "crops"),)),
        ToolRule("plotter", feeds=(Feed("table", ("grouper",), "table"),)),
        ToolRule("guesser", priority=Priority.EXCLUDED),
    ),
    successors=(
        Successor(("cutter",), "grouper", kinds=("full",)),
        Successor(("grouper",), "plotter"),
        Successor(("plotter",), "teller", mandatory=False, reason="says it in words"),
    ),
)
PLANS = Plans((PLAN,))


def scene(*earlier: Message, note: Any = NOTE) -> Scene:
    return Scene((note,) if note else (), SCHEMAS, earlier, PLANS)


def decided(question: str, scene: Scene, results: list[Message]) -> Step | Progress | None:
    """The first of the next calls, or how the plan ended."""
    now = next_calls(Planner().interpret(question, scene), results)
    return next(iter(now.calls.values()), now) if now is not None else None


def result(tool: str, *, ok: bool = True, **output: Any) -> Message:
    return Message(role="tool", tool=tool, ok=ok, call_id=tool, data={"output": output})


def planned(question: str) -> list[tuple[str, dict[str, Any]]]:
    schemas: Sequence[ToolSchema] = tuple(SCHEMAS.values())
    return [
        (call.tool, call.arguments)
        for call in Planner(PLANS).planned_calls(question, [NOTE], schemas)
    ]


def test_a_counting_question_finds_and_then_is_finished():
    first = decided("How many beans are there?", scene(), [])
    assert isinstance(first, Step)
    assert (first.tool, first.arguments) == ("finder", {"image_path": "/slides/a.png"})
    assert first.why == "outlines each bean"
    then = decided("How many beans are there?", scene(), [result("finder", count=7)])
    assert isinstance(then, Progress)
    plan = Planner().interpret("How many beans are there?", scene()).plan
    assert isinstance(plan, ToolPlan)
    assert plan.topics == {"counting"}


@pytest.mark.parametrize(
    "question",
    [
        "hello",
        "Analyse the states",
        "How many beans are there, and are they ripe?",
        "Segment the beans",
        "",
    ],
)
def test_finished_and_no_rule_are_different_values(question: str):
    assert decided(question, scene(), []) is None
    done = [result("finder", count=7)]
    assert decided(question, scene(), done) is None


def test_rules_leave_a_failure_to_the_model():
    question = "Count the beans"
    assert decided(question, scene(), [result("finder", ok=False)]) is None
    assert decided(question, scene(), [result("finder", count=0)]) is None
    again = [result("finder", count=0), result("finder", count=3)]
    assert isinstance(decided(question, scene(), again), Progress)


def test_rules_do_not_go_on_with_what_another_began():
    assert decided("Count the beans", scene(), [result("teller")]) is None


def test_rules_decide_nothing_without_a_suitable_image():
    assert decided("Count the beans", scene(note=None), []) is None
    film = {**NOTE, "modality": "CR"}
    assert decided("Count the beans", scene(note=film), []) is None


def test_segmenting_alone_forces_no_further_step():
    assert [tool for tool, _ in planned("Segment the beans")] == ["finder"]


def test_a_full_analysis_runs_what_follows_each_step_and_feeds_it():
    assert planned("Analyse the states of the beans with margin 3") == [
        ("finder", {"image_path": "/slides/a.png"}),
        ("cutter", {"mask_path": "<mask_path of step 1>", "margin": 3.0}),
        ("grouper", {"crops": "<crops of step 2>"}),
        ("plotter", {"table": "<table of step 3>"}),
        ("teller", {"image_path": "/slides/a.png"}),
    ]


def test_a_follower_that_is_left_out_ends_the_chain():
    assert [tool for tool, _ in planned("Analyse the states, but don't group them")] == [
        "finder",
        "cutter",
    ]


def test_what_a_tool_requires_runs_first_also_where_it_is_named():
    assert [tool for tool, _ in planned("Cut out the beans")] == ["finder", "cutter"]
    assert [tool for tool, _ in planned("Run cutter on it")] == ["finder", "cutter"]
    done = scene(result("finder", mask_path="/out/m.png"))
    plan = Planner().interpret("Cut out the beans", done).plan
    assert isinstance(plan, ToolPlan)
    assert [step.tool for step in plan.steps] == ["cutter"]


def test_values_and_numbers_come_from_the_packs_words():
    assert planned("Count the crimson beans") == [
        ("finder", {"image_path": "/slides/a.png", "colour": "red"})
    ]


def test_an_image_that_the_tool_is_not_for_is_told():
    plan = Planner().interpret("Count the beans", scene(note={**NOTE, "modality": "CR"})).plan
    assert isinstance(plan, ToolPlan)
    assert plan.steps[0].skip == "a.png is CR, not a picture of beans"


def test_an_excluded_tool_is_not_planned_even_by_its_name():
    assert planned("Guess the beans") == []
    assert planned("Run guesser") == []


def test_what_was_misspelt_is_told():
    plan = Planner().interpret("Coutn the beens", scene()).plan
    assert isinstance(plan, ToolPlan)
    assert 'I read "Coutn" as "count".' in plan.notes
