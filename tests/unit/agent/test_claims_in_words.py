"""Figures in words, judgements against a clear value, and what is said of no image at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.agent.answers.evidence import MARK
from tests.support.fake_tools import FakeRegistry, FakeTool, ImageInput, ok
from tests.unit.agent.test_claims import CTR, SCORER, answer, tools

SMALL = {"ratio": 0.42, "judgement": "below 0.5", "heart_width_px": 1000.0}
LARGE = {"ratio": 0.61, "judgement": "above 0.5", "heart_width_px": 1450.0}
OPEN = "What do you make of it?"


def scored() -> FakeRegistry:
    scores = {"Effusion": 0.81, "Pneumothorax": 0.12, "Nodule": 0.52}
    return FakeRegistry(FakeTool("chest_xray_classifier", ImageInput, ok("3 scores.", scores)))


@pytest.mark.parametrize(
    ("text", "mark"),
    [
        ("There are three nodules [1].", "three [check: not in result 1]"),
        ("I see two small round nodules.", "two [check: in no result]"),
        ("It is about ten millimetres wide [1].", "ten millimetres [check: no result gives this"),
        ("Es sind zwölf Millimeter [1].", "zwölf Millimeter [check: no result gives this"),
        ("A line of twenty-five centimeters [1].", "twenty-five centimeters [check:"),
        ("It measures 12 millimetres [1].", "12 millimetres [check: no result gives this in mm]"),
        ("About ninety percent [1].", "ninety percent [check: not in result 1]"),
    ],
)
def test_numbers_in_words_are_figures(tmp_path: Path, text: str, mark: str):
    assert mark in answer(tmp_path, text, CTR, tools=tools(**SMALL), question=OPEN)


@pytest.mark.parametrize(
    "text",
    [
        "The ratio is 42 percent [1].",
        "Both lungs were looked at, in two steps.",
        "One of the tools ran.",
        "It took two tools and three minutes.",
    ],
)
def test_numbers_in_words_that_count_no_finding_have_no_mark(tmp_path: Path, text: str):
    assert not MARK.search(answer(tmp_path, text, CTR, tools=tools(**SMALL), question=OPEN))


@pytest.mark.parametrize(
    ("ratio", "text", "marked"),
    [
        (SMALL, "The heart is enlarged [1].", True),
        (SMALL, "Cardiomegaly is present.", True),
        (SMALL, "There is an enlarged heart, 0.42 [1].", True),
        (SMALL, "The heart is not enlarged [1].", False),
        (SMALL, "The ratio is 0.42, below 0.5: no cardiomegaly [1].", False),
        (LARGE, "The heart is not enlarged [1].", True),
        (LARGE, "The heart is of normal size.", True),
        (LARGE, "The heart is enlarged [1].", False),
        (LARGE, "The heart may be enlarged [1].", False),
    ],
)
def test_a_judgement_against_a_clear_value_is_marked(
    tmp_path: Path, ratio: dict[str, object], text: str, marked: bool
):
    told = answer(tmp_path, text, CTR, tools=tools(**ratio))
    assert (f"[check: result 1 says cardiothoracic ratio {ratio['ratio']}" in told) == marked
    assert bool(MARK.search(told)) == marked


@pytest.mark.parametrize(
    ("text", "marked"),
    [
        ("There is a pneumothorax [1].", True),
        ("No pleural effusion is seen [1].", True),
        ("There is a pleural effusion [1].", False),
        ("There is no pneumothorax [1].", False),
        ("There is a nodule [1].", False),
        ("The score of pneumothorax is 0.12, below 0.5 [1].", False),
        ("Pneumothorax scores 0.12 [1].", False),
    ],
)
def test_a_finding_against_its_clear_score_is_marked(tmp_path: Path, text: str, marked: bool):
    told = answer(tmp_path, text, SCORER, tools=scored(), question="Is there a pneumothorax?")
    assert bool(MARK.search(told)) == marked, told


@pytest.mark.parametrize(
    "text",
    [
        "A pneumothorax is a collection of air between lung and chest wall.",
        "Cardiomegaly means an enlargement of the heart, usually a ratio above 0.55 in adults.",
        "A nodule is usually defined as an opacity of up to 30 mm.",
        "Consolidation refers to air spaces filled with fluid or cells.",
        "Effusions are often caused by heart failure.",
    ],
)
def test_general_knowledge_is_no_statement_about_the_image(tmp_path: Path, text: str):
    assert answer(tmp_path, text, question="What does that word mean?") == text
    assert not MARK.search(answer(tmp_path, text, CTR, tools=tools(**SMALL), question=OPEN))


@pytest.mark.parametrize(
    "text",
    [
        "This is a pneumothorax, usually on the left.",
        "There is usually a pneumothorax here.",
        "The heart is usually enlarged.",
        "A pneumothorax is a possibility.",
        "Pneumonia is a likely finding in the right lung.",
        "A pneumothorax is visible.",
        "Effusions are moderate.",
        "The patient means to have a carcinoma.",
        "A nodule of 14 mm is often seen in the left upper lobe.",
    ],
)
def test_what_is_said_of_the_image_stays_marked(tmp_path: Path, text: str):
    told = answer(tmp_path, text, SCORER, tools=FakeRegistry(
        FakeTool("chest_xray_classifier", ImageInput, ok("", {"Hernia": 0.2}))
    ), question=OPEN)  # fmt: skip
    without = answer(tmp_path, text, question=OPEN)
    assert MARK.search(without), without
    assert "Hernia" not in told
