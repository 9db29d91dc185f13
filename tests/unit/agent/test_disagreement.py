"""Contradictions between tools stand behind every answer, whoever gives it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from app.agent.llm.base import LanguageModel
from app.agent.loop.agent_loop import AgentLoop
from app.agent.loop.offline_model import OfflineModel
from app.agent.sessions import Thread
from app.tools.pack_plan import PackPlan, Plans
from app.tools.registry import load_packs
from tests.support.fake_tools import (
    DICOM_NOTE,
    FakeRegistry,
    FakeTool,
    ImageInput,
    LlavaInput,
    collect,
    ok,
    request,
)
from tests.support.scripted_model import ScriptedModel, call, says

PLANS = load_packs([]).plans
OPEN = str(DICOM_NOTE["path"])
OTHER = {**DICOM_NOTE, "id": "image-2", "path": "/studies/other.dcm"}


def tools(score: float = 0.9, finding: str = "No pleural effusion.") -> FakeRegistry:
    return FakeRegistry(
        FakeTool("chest_xray_classifier", ImageInput, ok("18 scores.", {"Effusion": score})),
        FakeTool("chest_xray_report_generator", ImageInput, ok("Report.", {"findings": finding})),
        FakeTool("llava_med_qa", LlavaInput, ok("Answered.", {"response": "Yes."})),
    )


def play(
    folder: Path,
    model: LanguageModel,
    registry: FakeRegistry,
    question: str,
    plans: Plans = PLANS,
    **changes: Any,
) -> list[Any]:
    loop = AgentLoop(model, registry, plans=plans)
    facts: dict[str, Any] = {"notes": (DICOM_NOTE, OTHER), **changes}
    asked = request(folder, question=question, **facts)
    return asyncio.run(collect(loop, asked))


def both(first: str = OPEN, second: str = OPEN) -> list[Any]:
    return [
        call("chest_xray_classifier", image_path=first),
        call("chest_xray_report_generator", image_path=second),
    ]


def scripted(folder: Path, turn: list[Any], registry: FakeRegistry, plans: Plans = PLANS) -> Any:
    with ScriptedModel(turn, says("All agree that it is normal.")) as model:
        return play(folder, model, registry, "Is there an effusion? Draft a report.", plans)


def test_it_is_told_behind_a_models_answer_with_the_numbers_of_the_results(tmp_path: Path):
    events = scripted(tmp_path, both(), tools())
    answer = events[-1].answer
    assert answer.startswith("All agree that it is normal.")
    assert "**The tools disagree:**\n- on pleural effusion: Chest findings says yes" in answer
    # Results are numbered as they arrive, and the two calls run together.
    number = {one.tool: one.evidence for one in events if one.kind == "tool_finished"}
    first, second = number["chest_xray_classifier"], number["chest_xray_report_generator"]
    assert f"0.5) [{first}]; Draft report says no (“No pleural effusion.”) [{second}]" in answer
    assert sorted(events[-1].cited) == [1, 2]
    shown = "".join(event.text for event in events if event.kind == "text_delta")
    assert "The tools disagree" in shown


def test_it_is_an_object_of_the_event_with_each_side_and_what_it_rests_on(tmp_path: Path):
    ended = scripted(tmp_path, both(), tools())[-1]
    (found,) = ended.disagreements
    assert (found.about, found.image) == ("pleural effusion", "")
    scores, report = found.sides
    assert (scores.tool, scores.evidence) == ("chest_xray_classifier", 1)
    assert scores.items == ["1.1"], "the score of that very label"
    assert (report.tool, report.evidence, report.items) == ("chest_xray_report_generator", 2, [])
    assert "“No pleural effusion.”" in report.says
    assert type(ended).model_validate_json(ended.model_dump_json()) == ended
    assert scripted(tmp_path, both(), tools(0.1))[-1].disagreements == []


def test_the_offline_planner_tells_it_too(tmp_path: Path):
    question = "Run chest_xray_classifier, then chest_xray_report_generator on the same image."
    events = play(tmp_path, OfflineModel(PLANS), tools(), question)
    assert "- on pleural effusion: Chest findings says yes" in events[-1].answer


def test_where_they_agree_or_speak_of_other_images_nothing_is_said(tmp_path: Path):
    for turn, registry in (
        (both(), tools(0.1)),
        (both(), tools(finding="A right pleural effusion.")),
        (both(OPEN, "image-2"), tools()),
    ):
        events = scripted(tmp_path, turn, registry)
        assert "disagree" not in events[-1].answer


def test_a_picture_made_of_an_image_is_that_image_and_one_made_from_nothing_is_its_own(
    tmp_path: Path,
):
    assert "on pleural effusion" in scripted(tmp_path, both("g.png", "g.png"), tools())[-1].answer
    assert "disagree" not in scripted(tmp_path, both("g.png", "h.png"), tools())[-1].answer
    assert "on pleural effusion" in scripted(tmp_path, both("image-1"), tools())[-1].answer


def test_a_pack_that_breaks_spoils_no_answer(tmp_path: Path, caplog: Any):
    def broken(_given: Any) -> Any:
        raise KeyError("x")

    plans = Plans((PackPlan("other", disagreements=broken), *PLANS.packs))
    assert "on pleural effusion" in scripted(tmp_path, both(), tools(), plans)[-1].answer
    assert "could not compare" in caplog.text
    caplog.clear()


def later(
    folder: Path,
    *runs: tuple[list[Any], str],
    registry: FakeRegistry | None = None,
    notes: Sequence[Mapping[str, Any]] = (DICOM_NOTE, OTHER),
) -> str:
    """The last of the answers of one conversation; each question runs a turn of tools, or none."""
    thread, events = Thread.in_memory(), list[Any]()
    for number, (turn, said) in enumerate(runs):
        turns = (turn, says(said)) if turn else (says(said),)
        changes: dict[str, Any] = {"thread": thread, "run_id": f"run-{number}"}
        changes |= {"notes": notes} if number == len(runs) - 1 else {}
        with ScriptedModel(*turns) as model:
            events = play(folder, model, registry or tools(), "Go on.", **changes)
    return events[-1].answer


CLASSIFY = [call("chest_xray_classifier", image_path=OPEN)]
REPORT = [call("chest_xray_report_generator", image_path=OPEN)]
ASKED = (CLASSIFY, "An effusion [1]."), (REPORT, "No effusion [2].")


def test_what_an_earlier_question_found_is_held_against_what_a_later_one_finds(tmp_path: Path):
    said = later(tmp_path, *ASKED)
    assert "**The tools disagree:**\n- on pleural effusion: Chest findings" in said
    assert "0.5) [1]; Draft report says no (“No pleural effusion.”) [2]" in said


@pytest.mark.parametrize("said", ["Yes, an effusion [1].", "No, as the report says [2].", "Yes."])
def test_a_follow_up_that_rests_on_one_side_is_told_the_other(tmp_path: Path, said: str):
    assert "on pleural effusion" in later(tmp_path, *ASKED, ([], said))


def test_a_follow_up_that_rests_on_something_else_is_not_told_again(tmp_path: Path):
    asked = [call("llava_med_qa", question="Where is the heart?", image_path=OPEN)]
    assert "disagree" not in later(tmp_path, *ASKED, (asked, "In the middle [3]."))


def test_what_was_found_on_another_image_contradicts_nothing(tmp_path: Path):
    other = [call("chest_xray_report_generator", image_path="image-2")]
    assert "disagree" not in later(tmp_path, ASKED[0], (other, "No effusion [2]."))
    assert "disagree" not in later(tmp_path, *ASKED, ([], "Normal."), notes=(OTHER,))


def test_on_which_image_they_disagree_is_told_where_another_is_shown(tmp_path: Path):
    said = later(tmp_path, *ASKED, ([], "An effusion [1]."), notes=(OTHER, DICOM_NOTE))
    assert "- on pleural effusion in RG1.dcm: Chest findings says yes" in said


def test_what_an_earlier_answer_said_of_no_image_is_no_side(tmp_path: Path):
    registry = FakeRegistry(
        FakeTool("chest_xray_classifier", ImageInput, ok("18 scores.", {"Effusion": 0.9})),
        FakeTool("llava_med_qa", LlavaInput, ok("Told.", {"response": "No pleural effusion."})),
    )
    asked = [call("llava_med_qa", question="How is normal described?")]
    runs = (asked, "So [1]."), (CLASSIFY, "An effusion [2].")
    assert "disagree" not in later(tmp_path, *runs, registry=registry)
