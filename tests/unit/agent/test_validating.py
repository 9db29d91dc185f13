from __future__ import annotations

from typing import Any

import pytest

from app.agent.context.model_messages import error_message, result_message
from app.agent.enforcement.verdicts import judge_goal, judge_task
from app.agent.messages import Message
from app.agent.planning import Intent
from app.tools.pack_plan import NO_PLANS, PackPlan, Plans, Successor, ToolRule
from tests.support.cells_pack import (
    ANALYZER,
    CAPTIONER,
    CELLS,
    CHAIN,
    CROPPER,
    NUCLEI,
    PLAN,
    THRESHOLD,
    VISUALIZER,
)
from tests.support.cells_plan import COUNTING, FULL

PLANS = Plans([PLAN])
COUNT = Intent(kinds=(COUNTING,), wanted=(CELLS,), expects_data=True, left_out={})
ANALYSE = Intent(kinds=(FULL,), wanted=CHAIN[:4], expects_data=True, left_out={})
RULE = ToolRule("finder", empty=("count", "boxes"), missing=("not_found",))


def result(tool: str, /, **output: Any) -> Message:
    return result_message("c1", tool, {"summary": "", "output": output, "metadata": {}})


FOUND = {
    CELLS: result(CELLS, count=7),
    CROPPER: result(CROPPER, crops=7),
    ANALYZER: result(ANALYZER, states=2),
    VISUALIZER: result(VISUALIZER, picture_path="a.png"),
}


def test_a_call_that_failed_is_failed_with_its_reason():
    verdict = judge_task(RULE, error_message("c1", "finder", "the file is damaged"), COUNT)
    assert (verdict.state, verdict.why) == ("failed", "the file is damaged")


@pytest.mark.parametrize(
    ("output", "metadata", "state", "why"),
    [
        ({"error": "no weights"}, {}, "failed", "no weights"),
        ({"count": 3}, {"status": "Failed"}, "failed", "it says: failed"),
        ({"count": 3}, {"status": "partial"}, "incomplete", "it says: partial"),
        ({"count": 3, "error": 0.02}, {"status": "completed"}, "done", ""),
    ],
)
def test_a_tool_that_raises_nothing_is_judged_by_what_it_says_of_itself(
    output: dict[str, Any], metadata: dict[str, Any], state: str, why: str
):
    data = {"summary": "", "output": output, "metadata": metadata}
    verdict = judge_task(RULE, result_message("c1", "finder", data), COUNT)
    assert (verdict.state, verdict.why) == (state, why)


@pytest.mark.parametrize(
    "output",
    [
        {},
        {"count": 0},
        {"count": 0, "boxes": []},
        {"count": None, "boxes": [[], None]},
        {"count": {"cells": 0, "nuclei": 0}, "boxes": ""},
        {"count": float("nan"), "boxes": {}},
    ],
)
def test_nothing_where_something_was_expected_is_incomplete(output: dict[str, Any]):
    verdict = judge_task(RULE, result("finder", **output), COUNT)
    assert verdict.state == "incomplete"
    assert verdict.why == "it found nothing: no count and boxes"


@pytest.mark.parametrize(
    "output", [{"count": 1}, {"boxes": [0]}, {"count": 0, "boxes": [[1, 2]]}, {"boxes": {"a": 1}}]
)
def test_something_under_any_key_is_done(output: dict[str, Any]):
    assert judge_task(RULE, result("finder", **output), COUNT).state == "done"


def test_nothing_is_an_answer_where_none_was_expected():
    asked = Intent(expects_data=False, left_out={})
    verdict = judge_task(RULE, result("finder", count=0), asked)
    assert verdict.state == "done"
    assert "none may be the answer" in verdict.why


def test_what_was_looked_for_and_not_found_is_told_by_name():
    data = {"summary": "", "output": {"count": 1}, "metadata": {"not_found": ["Spine", "Aorta"]}}
    verdict = judge_task(RULE, result_message("c1", "finder", data), COUNT)
    assert (verdict.state, verdict.why) == ("incomplete", "no result for Spine, Aorta")


def test_a_tool_that_no_pack_speaks_of_is_done_when_it_ended_well():
    assert judge_task(ToolRule("other"), result("other"), COUNT).state == "done"


def test_a_count_is_complete_after_the_segmenter():
    verdict = judge_goal(COUNT, PLANS, [FOUND[CELLS]], [])
    assert (verdict.complete, verdict.why, verdict.missing) == (True, "", ())


def test_a_full_analysis_is_complete_without_the_recommended_caption():
    assert judge_goal(ANALYSE, PLANS, list(FOUND.values()), [CAPTIONER]).complete


def test_what_has_not_run_is_missing_in_the_order_to_run_it():
    verdict = judge_goal(ANALYSE, PLANS, [FOUND[CELLS], FOUND[CROPPER]], [])
    assert not verdict.complete
    assert verdict.missing == (ANALYZER, VISUALIZER)
    assert verdict.why == (
        f"{ANALYZER} did not run, though the question needs it; "
        f"{VISUALIZER} did not run, though the question needs it."
    )


def test_a_mandatory_successor_is_missing_though_the_question_did_not_ask_for_it():
    asked = Intent(kinds=(FULL,), wanted=(CELLS, CROPPER), expects_data=True, left_out={})
    verdict = judge_goal(asked, PLANS, [FOUND[CELLS], FOUND[CROPPER]], [])
    assert verdict.missing == (ANALYZER, VISUALIZER)
    assert "say nothing of their states" in verdict.why


def test_cropping_alone_needs_no_analysis():
    asked = Intent(kinds=("cropping",), wanted=(CELLS, CROPPER), expects_data=True, left_out={})
    assert judge_goal(asked, PLANS, [FOUND[CELLS], FOUND[CROPPER]], []).complete


def test_a_successor_that_is_left_out_or_not_installed_is_not_missed():
    asked = Intent(kinds=(FULL,), wanted=(ANALYZER,), left_out={VISUALIZER: "don't draw"})
    assert judge_goal(asked, PLANS, [FOUND[ANALYZER]], []).complete
    asked = Intent(kinds=(FULL,), wanted=(ANALYZER,), left_out={})
    assert judge_goal(asked, PLANS, [FOUND[ANALYZER]], [], tools={ANALYZER}).complete
    assert not judge_goal(asked, PLANS, [FOUND[ANALYZER]], [], tools=set(CHAIN)).complete


def test_an_empty_result_keeps_the_goal_from_being_reached_but_is_not_missing():
    verdict = judge_goal(COUNT, PLANS, [result(CELLS, count=0)], [])
    assert not verdict.complete
    assert verdict.missing == ()
    assert verdict.why == f"{CELLS}: it found nothing: no count."


def test_a_retry_that_found_something_makes_up_for_the_empty_call():
    assert judge_goal(COUNT, PLANS, [result(CELLS, count=0), FOUND[CELLS]], []).complete
    assert judge_goal(COUNT, PLANS, [FOUND[CELLS], result(CELLS, count=0)], []).complete


def test_an_earlier_questions_result_serves_this_one_and_brings_nothing_behind_it():
    assert judge_goal(COUNT, PLANS, [], [], earlier=[FOUND[CELLS]]).complete
    asked = Intent(left_out={})
    assert judge_goal(asked, PLANS, [], [], earlier=[FOUND[ANALYZER]]).complete
    assert judge_goal(asked, PLANS, [FOUND[ANALYZER]], []).missing == (VISUALIZER,)


def test_another_tool_that_does_the_same_work_answers_unless_the_user_names_one():
    assert judge_goal(COUNT, PLANS, [result(THRESHOLD, count=3)], []).complete
    named = Intent(wanted=(NUCLEI,), named=frozenset((NUCLEI,)), left_out={})
    assert judge_goal(named, PLANS, [result(THRESHOLD, count=3)], []).missing == (NUCLEI,)


def test_what_is_not_installed_is_told():
    asked = Intent(kinds=(COUNTING,), absent=(CELLS,), left_out={})
    verdict = judge_goal(asked, PLANS, [], [])
    assert verdict.why == f"{CELLS} is needed and is not installed."


def test_what_cannot_run_here_is_told_and_not_missing():
    barred = {CELLS: f"{CELLS} is for micrographs, and this is CT"}
    verdict = judge_goal(COUNT, PLANS, [], [], barred=lambda tool: barred.get(tool, ""))
    assert verdict.missing == ()
    assert verdict.why == f"{CELLS} is for micrographs, and this is CT."


def test_an_open_step_of_the_models_own_is_told():
    verdict = judge_goal(COUNT, PLANS, [FOUND[CELLS]], ["Compare with last year"])
    assert verdict.why == "Still open in the plan: Compare with last year."


def test_a_question_that_needs_no_tool_is_complete():
    assert judge_goal(Intent(left_out={}), NO_PLANS, [], []).complete


def test_a_run_of_which_every_call_failed_reached_nothing():
    failed = [error_message("c1", "other", "no"), error_message("c2", "other", "no")]
    verdict = judge_goal(Intent(left_out={}), NO_PLANS, failed, [])
    assert (verdict.complete, verdict.why) == (False, "None of the calls gave a result.")


def test_successors_in_a_circle_end():
    around = PackPlan("around", successors=(Successor(("a",), "b"), Successor(("b",), "a")))
    verdict = judge_goal(Intent(left_out={}), Plans([around]), [result("a")], [])
    assert verdict.missing == ("b",)


def test_a_tool_that_was_named_and_failed_keeps_the_goal_from_being_reached():
    asked = Intent(wanted=(CELLS,), named=frozenset((CELLS, CROPPER, ANALYZER)), left_out={})
    failed = [error_message("c2", tool, "no weights") for tool in (CROPPER, ANALYZER)]
    verdict = judge_goal(asked, PLANS, [FOUND[CELLS], *failed], [])
    assert not verdict.complete
    assert all(f"{tool}: no weights" in verdict.why for tool in (CROPPER, ANALYZER))
    assert not verdict.missing
