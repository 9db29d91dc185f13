"""What is asked in one breath, and whose words are whose."""

from __future__ import annotations

from typing import Any

import pytest

from app.agent.planning import Planner
from app.agent.planning.question_parts import parts_of
from app.agent.planning.vocabulary import tokens_of
from app.tools.pack_plan import PackPlan, QuestionKind, any_of, phrases
from app.tools.registry import limited_plan, load_packs
from tests.support.fake_tools import DICOM_NOTE

PACKS = load_packs([]).without(["viewer"])
OTHER_NOTE = {**DICOM_NOTE, "id": "image-2", "path": "/studies/DOE_JANE/RG0.dcm"}
CLASSIFY, RATIO = "chest_xray_classifier", "cardiothoracic_ratio"
GROUND, COMPARE = "xray_phrase_grounding", "chest_xray_compare"


def planned(question: str, *notes: Any) -> list[str]:
    calls = Planner(PACKS.plans).planned_calls(question, notes or (DICOM_NOTE,), PACKS.all())
    return [call.tool for call in calls]


@pytest.mark.parametrize(
    ("question", "asks"),
    [
        ("He mentions a mass, can you frame it, and then measure it", [False, True, True]),
        ("Outline the lungs and heart and measure the ratio", [True, True]),
        ("Ist ein Erguss da, und was meint der Chef?", [True, True]),
        ("Erst vergleichen und danach einen Befund schreiben", [True, True]),
        ("72 year old, fever. Pneumonia?", [False, False, True]),
    ],
)
def test_a_question_has_parts_and_some_only_tell(question: str, asks: list[bool]):
    assert list(parts_of(tokens_of(question)).asks) == asks


@pytest.mark.parametrize(
    ("question", "tools"),
    [
        ("The doctor mentions a mass up there, can you frame it for me?", [GROUND]),
        ("Is there an effusion, and what does MedGemma make of it?", [CLASSIFY, "medgemma_qa"]),
        ("MedGemma, is the heart enlarged?", ["medgemma_qa"]),
        ("Ask LLaVA-Med about the effusion, then measure the CTR", ["llava_med_qa", RATIO]),
        ("I clicked on the mass, could you get me its outline?", ["medsam2_segment"]),
    ],
)
def test_what_is_said_to_one_tool_is_not_asked_of_another(question: str, tools: list[str]):
    assert planned(question) == tools


@pytest.mark.parametrize(
    "question", ["Is the effusion smaller than on the prior film?", "Vergleich zur Voraufnahme"]
)
def test_a_comparison_takes_both_films_and_runs_on_no_one_alone(question: str):
    assert planned(question, DICOM_NOTE, OTHER_NOTE) == [COMPARE]
    assert planned(question) == []


def test_a_box_is_drawn_around_what_was_spoken_of():
    asked = "RLL consolidation, box"
    (call,) = Planner(PACKS.plans).planned_calls(asked, (DICOM_NOTE,), PACKS.all())
    assert call.arguments["phrase"] == "RLL consolidation"


def test_alternatives_are_single_words():
    assert any_of("big", "large") == "big|large"
    with pytest.raises(ValueError, match="chest drain"):
        any_of("drain", "chest drain")


def test_a_pack_from_elsewhere_takes_no_words_from_others():
    kind = QuestionKind("all mine", ("effusion*",), greedy=True, addressed=True)
    (found,) = limited_plan(PackPlan("elsewhere", kinds=(kind,)), ()).kinds
    assert not found.greedy
    assert not found.addressed


def test_phrases_are_divided_by_commas_wherever_the_lines_break():
    assert phrases("""
        how  many, draw ..
        around, zähl*,
    """) == ("how many", "draw .. around", "zähl*")
    assert phrases("") == ()
