"""Sixty questions, written without knowledge of the rules, reach the right tools offline."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from app.agent.planning import Planner, ToolPlan
from app.records.types import NoRecords, Patient
from app.tools.registry import Registry
from tests.unit.tools.record.test_questions import (
    PATIENTS,
    ThreePatients,
    registry,
    scene,
    steps_of,
)

__all__ = ["registry"]  # a fixture
ROWS: list[dict[str, Any]] = tomllib.loads(
    (Path(__file__).parent / "blind_questions.toml").read_text("utf-8")
)["question"]
FOUR = ThreePatients((*PATIENTS, Patient("pat-4", "Rickey Becker", (), "1955-05-05", "male")))


def _steps(row: dict[str, Any], registry: Registry) -> list[tuple[str, dict[str, Any]]]:
    shown = scene(registry, FOUR)
    shown = shown if row.get("film") else replace(shown, images=())
    return steps_of(Planner().interpret(row["text"], shown).plan)


@pytest.mark.parametrize("row", ROWS, ids=[row["text"] for row in ROWS])
def test_a_question_reaches_its_tools_and_no_others(registry: Registry, row: dict[str, Any]):
    steps = _steps(row, registry)
    reached = [tool for tool, _ in steps]
    for wanted in row["tools"]:
        assert set(wanted.split("|")) & set(reached), reached
    allowed = {tool for wanted in row["tools"] for tool in wanted.split("|")}
    assert set(reached) <= allowed | set(row.get("may", ())), reached
    for argument, value in row.get("arguments", {}).items():
        assert value in [arguments.get(argument) for _, arguments in steps]


def test_there_are_sixty():
    assert len({row["text"] for row in ROWS}) == 60


@pytest.mark.parametrize(
    "text",
    [
        "temp 38.5, sats dropping",
        "sats 88, bp falling",
        "crp 120 and rising",
    ],
)
def test_values_that_are_told_ask_for_nothing(registry: Registry, text: str):
    assert not _steps({"text": text}, registry)
    assert not _steps({"text": text, "film": True}, registry)


@pytest.mark.parametrize(
    ("text", "film_tool"),
    [
        ("History of hypertension. Is the heart enlarged?", "cardiothoracic_ratio"),
        ("h/o heart failure, is the heart enlarged?", "cardiothoracic_ratio"),
        ("known diabetic, any effusion?", "chest_xray_classifier"),
        ("She had a CT yesterday. Any effusion here?", "chest_xray_classifier"),
        ("does he have heart failure", "chest_xray_classifier"),
        ("pneumonia?", "chest_xray_classifier"),
    ],
)
def test_what_is_told_before_a_question_about_the_film_starts_no_tool(
    registry: Registry, text: str, film_tool: str
):
    assert [tool for tool, _ in _steps({"text": text, "film": True}, registry)] == [film_tool]


@pytest.mark.parametrize("text", ["does he have heart failure", "pneumonia?", "any old fractures?"])
def test_without_a_film_the_same_words_ask_the_record(registry: Registry, text: str):
    assert [tool for tool, _ in _steps({"text": text}, registry)] == ["get_patient_conditions"]
    nothing = replace(scene(registry, NoRecords()), images=())
    assert not steps_of(Planner().interpret(text, nothing).plan)


def test_what_needs_a_film_is_said_beside_what_the_record_answers(registry: Registry):
    text = "Is the heart enlarged? And what was the last creatinine?"
    plan = Planner().interpret(text, replace(scene(registry), images=())).plan
    assert isinstance(plan, ToolPlan)
    assert [tool for tool, _ in steps_of(plan)] == ["get_patient_labs"]
    assert any("No image is open" in note for note in plan.notes)
