"""The model's own plan held against the packs' rules, and what the checklist makes of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from app.agent.context.model_messages import planning_text
from app.agent.enforcement.plan_checklist import (
    NOTHING_RAN,
    CallOrigin,
    PlannedStep,
    PlanState,
    check_plan,
)
from app.tools.api import ToolRetry
from app.tools.pack_plan import Plans
from tests.support import cells_pack as cells
from tests.support.cells_plan import PLAN
from tests.support.intents import intent_of
from tests.support.scripted_model import Turn, call, says
from tests.unit.agent.test_enforcing import ANALYSE, crop, play, segment

PLANS = Plans((PLAN,))
TOOLS = [tool.spec.name for tool in cells.cells_registry().all()]


def check(question: str, *steps: PlannedStep) -> tuple[list[PlannedStep], list[str], list[str]]:
    found = check_plan(steps, PLANS, intent_of(question, PLANS, TOOLS), TOOLS)
    return found.steps, found.notes, [item.rule for item in found.overrides]


def test_a_sound_plan_stays_as_it_is():
    plan = (
        PlannedStep("Outline", tools=(cells.CELLS,)),
        PlannedStep("Cut out", tools=(cells.CROPPER,), after=(1,)),
        PlannedStep("States", tools=(cells.ANALYZER, cells.VISUALIZER), after=(2,)),
    )
    assert check(ANALYSE, *plan) == (list(plan), [], [])


def test_steps_that_wait_in_a_circle_are_refused():
    plan = (
        PlannedStep("a", after=(3,)),
        PlannedStep("b", after=(1,)),
        PlannedStep("c", after=(2,)),
    )
    with pytest.raises(ToolRetry, match="Steps 1, 2, 3 wait for one another in a circle"):
        check("", *plan)


@pytest.mark.parametrize("number", [0, 1, 3, -1])
def test_a_step_waits_only_for_another_step_of_the_plan(number: int):
    with pytest.raises(ToolRetry, match=f"waits for step {number}, which is not another step"):
        check("", PlannedStep("a", after=(number,)), PlannedStep("b"))


def test_steps_are_put_in_the_order_in_which_they_wait():
    steps, _, _ = check(
        "", PlannedStep("b", after=(2,)), PlannedStep("a"), PlannedStep("c", after=(1,))
    )
    assert [(step.title, step.after) for step in steps] == [("a", ()), ("b", (1,)), ("c", (2,))]


def test_a_name_that_is_off_by_a_letter_is_mended():
    steps, _, _ = check("", PlannedStep("a", tools=("Cell_Segmentr_Tool",)))
    assert steps[0].tools == (cells.CELLS,)


def test_a_name_of_no_tool_is_refused_and_says_which_there_are():
    with pytest.raises(ToolRetry, match='names "Magic", which is not a tool') as caught:
        check("", PlannedStep("a", tools=("Magic",)))
    assert cells.CELLS in caught.value.remedy


def test_tools_that_never_run_or_that_the_question_leaves_out_are_taken_out():
    plan = (
        PlannedStep("a", tools=(cells.GENERALIST, cells.CELLS)),
        PlannedStep("b", tools=(cells.CROPPER,)),
    )
    steps, notes, rules = check("Outline the cells, but don't crop them", *plan)
    assert [step.tools for step in steps] == [(cells.CELLS,), ()]
    assert rules == ["excluded", "left_out"]
    assert len(notes) == 2


def test_what_the_question_needs_besides_is_told():
    steps, notes, _ = check(ANALYSE, PlannedStep("States", tools=(cells.ANALYZER,)))
    assert steps[0].tools == (cells.ANALYZER,)
    missing = f"{cells.CELLS}, {cells.CROPPER}, {cells.VISUALIZER}"
    assert notes == [f"The question needs {missing} as well."]


def own_plan(*steps: dict[str, Any]) -> Turn:
    return [call("update_plan", steps=list(steps))]


def test_the_checklist_follows_the_models_plan_by_its_tools(tmp_path: Path):
    def plan(first: str, second: str) -> Turn:
        return own_plan(
            {"title": "Outline", "state": first, "tools": [cells.CELLS]},
            {"title": "Cut out", "state": second, "tools": [cells.CROPPER], "after": [1]},
        )

    turns = (plan("running", "pending"), segment(), plan("done", "running"), crop(""))
    played = play(tmp_path, "Crop the cells", *turns, plan("done", "done"), says("six [2]"))
    assert played.steps == [("Outline", "done", "model"), ("Cut out", "done", "model")]
    assert played.plan[-1].steps[1]["after"] == [1]
    assert played.plan[-1].goal == "done"


def test_a_call_before_what_its_step_waits_for_is_told_so(tmp_path: Path):
    plan = own_plan(
        {"title": "Outline", "state": "pending", "tools": [cells.CELLS]},
        {"title": "Describe", "state": "pending", "tools": [cells.CAPTIONER], "after": [1]},
    )
    early: Turn = [call(cells.CAPTIONER, image_path="image-1")]
    played = play(tmp_path, "Tell me about this", plan, early, says("a dark field"))
    assert "By your plan it waits for: Outline." in played.told(cells.CAPTIONER)


def test_a_step_that_the_model_calls_done_though_nothing_ran_is_incomplete(tmp_path: Path):
    lie = own_plan({"title": "Outline", "state": "done", "tools": [cells.CELLS]})
    played = play(tmp_path, "Tell me about this", lie, says("done"))
    (step,) = played.plan[-1].steps
    assert (step["state"], step["verdict"]) == ("incomplete", NOTHING_RAN)
    assert (played.plan[-1].goal, played.plan[-1].goal_why) == (
        "incomplete",
        f"Outline: {NOTHING_RAN}.",
    )


def test_a_step_whose_tool_failed_is_not_done(tmp_path: Path):
    def plan(state: str) -> Turn:
        return own_plan({"title": "Draw", "state": state, "tools": [cells.VISUALIZER]})

    wrong: Turn = [call(cells.VISUALIZER, data_path="/etc/passwd")]
    played = play(tmp_path, "Tell me about this", plan("running"), wrong, plan("done"), says("ok"))
    assert played.plan[-1].steps[0]["state"] == "failed"
    assert played.plan[-1].steps[0]["verdict"]


def test_what_rules_put_in_stays_when_the_model_writes_its_plan_anew(tmp_path: Path):
    plan = own_plan({"title": "Cut out", "state": "running"})
    played = play(tmp_path, "Crop the cells", crop(""), plan, says("six [2]"))
    assert played.steps == [(cells.CELLS, "done", "enforced"), ("Cut out", "done", "model")]


def test_a_plan_in_a_circle_is_explained_to_the_model(tmp_path: Path):
    circle = own_plan({"title": "a", "after": [2]}, {"title": "b", "after": [1]})
    played = play(tmp_path, "Tell me about this", circle, says("sorry"))
    assert "wait for one another in a circle" in played.failed("update_plan")
    assert not played.plan


def test_a_call_in_no_plan_is_a_step(tmp_path: Path):
    played = play(tmp_path, "Outline the cells", segment(), says("six [1]"))
    first = played.plan[0].steps
    assert [(step["tool"], step["state"], step["by"]) for step in first] == [
        (cells.CELLS, "running", "model")
    ]
    assert played.steps == [(cells.CELLS, "done", "model")]


def test_calls_in_no_plan_have_each_their_own_budget():
    plan = PlanState(live=True)
    tasks = {plan.start(str(number), "look", CallOrigin()) for number in range(8)}
    assert len(tasks) == 8


def test_a_recommended_step_is_used_by_the_call_that_follows_it():
    plan = PlanState(live=True)
    plan.start("1", "draw")
    plan.finish("1", ok=True)
    assert plan.recommend("describe", "recommended")
    assert not plan.recommend("describe", "recommended")
    plan.start("2", "describe")
    plan.finish("2", ok=True)
    assert [(step["tool"], step["state"]) for step in plan.event_steps()] == [
        ("draw", "done"),
        ("describe", "done"),
    ]


def test_what_rules_put_in_stands_before_what_is_still_to_come():
    plan = PlanState(live=True)
    plan.set([("crop", "")], by="rules")
    plan.start("1", "outline", CallOrigin("enforced", "needed"))
    assert [(step["tool"], step["state"], step["by"]) for step in plan.event_steps()] == [
        ("outline", "running", "enforced"),
        ("crop", "pending", "rules"),
    ]


def test_a_model_that_plans_is_told_the_packs_chains(tmp_path: Path):
    played = play(tmp_path, "Good morning", says("hello"))
    system = played.model.requests[0][0].text
    segmenters = " or ".join(cells.SEGMENTERS)
    assert (
        f"- counting, tracing, cell segmentation, segmentation of micrographs: {segmenters}\n"
        in system
    )
    assert f"- {cells.ANALYZER} needs a result of {cells.CROPPER} first\n" in system
    assert f"- after {cells.ANALYZER} comes {cells.VISUALIZER}\n" in system
    assert f"is recommended {cells.CAPTIONER} (in: " in system
    assert f"- never: {cells.GENERALIST}" in system


def test_tools_that_are_not_there_are_not_spoken_of():
    told = planning_text(PLANS, [cells.CELLS, cells.CROPPER])
    assert cells.NUCLEI not in told
    assert cells.ANALYZER not in told
    assert planning_text(Plans(), [cells.CELLS]) == ""


def test_a_step_of_which_nothing_may_run_is_left_out_and_the_goal_does_not_wait_for_it():
    plan = (
        PlannedStep("Outline", tools=(cells.CELLS,)),
        PlannedStep("Cut out", tools=(cells.CROPPER,)),
    )
    steps, _, _ = check("Outline the cells, but don't crop them", *plan)
    assert [(step.title, step.state) for step in steps] == [
        ("Outline", "pending"),
        ("Cut out", "skipped"),
    ]
