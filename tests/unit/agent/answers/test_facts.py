"""What a result says against a sentence: the other side, the opposite, another count."""

from __future__ import annotations

import pytest

from app.agent.answers.facts import (
    contradiction,
    facts_of,
    findings_in,
    miscounted,
    stem,
    trend_against,
)
from app.agent.answers.figures import in_digits

DATA = {
    "summary": "Small left pleural effusion. No pneumothorax. The heart is not enlarged.",
    "output": {
        "ratio": 0.42,
        "nodule_count": 2,
        "fracture": False,
        "metrics": {"Left Lung": {"area_px": 123456}, "Right Lung": {"area_px": 123457}},
        "boxes": [{"phrase": "mass", "found": False}, {"phrase": "cyst", "found": True}],
    },
    "items": {"1.1": "Left Lung, mask", "1.2": "Right Lung, mask"},
}
FACTS = [(1, facts_of(DATA))]


@pytest.mark.parametrize(
    ("sentence", "why"),
    [
        ("There is a small right pleural effusion.", "says left"),
        ("Es besteht ein Erguss rechts.", "says left"),
        ("The left lung has 123457 px.", "says right"),
        ("There is a pneumothorax.", "No pneumothorax"),
        ("Ein Pneumothorax liegt vor.", "No pneumothorax"),
        ("No pleural effusion.", "Small left pleural effusion"),
        ("The effusion is not seen.", "Small left pleural effusion"),
        ("The heart is enlarged.", "not enlarged"),
        ("Das Herz ist vergrößert.", "not enlarged"),
        ("A fracture is present.", "fracture: no"),
        ("There is a mass.", "mass"),
        ("Kein Nachweis einer Zyste.", "cyst"),
        ("There are no nodules.", "nodule count 2"),
        ("The ratio is above 0.5.", "ratio 0.42"),
        ("Die ratio liegt über 0,5.", "ratio 0.42"),
    ],
)
def test_what_a_result_says_against_a_sentence(sentence: str, why: str):
    assert why in contradiction(sentence, FACTS, cited=True)


@pytest.mark.parametrize(
    "sentence",
    [
        "There is a small left pleural effusion.",
        "Links ein kleiner Pleuraerguss.",
        "No pneumothorax is seen.",
        "Kein Pneumothorax nachweisbar.",
        "The heart is of normal size.",
        "Das Herz ist normal groß.",
        "The left lung has 123456 px, the right lung 123457 px.",
        "A pneumothorax cannot be excluded.",
        "There may be a pneumothorax.",
        "The ratio is below 0.5.",
        "No fracture, but an effusion on the left.",
        "The spine was not looked at.",
    ],
)
def test_what_a_result_supports_or_does_not_speak_of_is_not_contradicted(sentence: str):
    assert contradiction(sentence, FACTS, cited=True) == ""


def test_counts_are_held_against_what_they_count():
    assert "nodule count 2" in miscounted(" nodules are seen", 3.0, FACTS)
    assert miscounted(" nodules are seen", 2.0, FACTS) == ""
    assert miscounted(" tools ran", 3.0, FACTS) == ""


def test_words_are_compared_without_their_endings():
    assert stem("Lungen") == stem("lungs") == "lung"
    assert stem("enlarged") == stem("enlargement")
    assert stem("pneumonia") != stem("pneumothorax")
    assert findings_in("The spleen is enlarged.")
    assert not findings_in("The spleen is on the picture.")


NOW = {"1.2": "Pleural effusion, score 0.64, flagged yes"}
BEFORE = {"6.2": "Pleural effusion, score 0.12, flagged no"}


@pytest.mark.parametrize(
    ("sentence", "wrong"),
    [
        ("The effusion has resolved since 2022.", True),
        ("Der Erguss ist seit 2022 unverändert.", True),
        ("The effusion is smaller than in 2022.", True),
        ("The score fell from 0.64 to 0.12.", True),
        ("The score rose from 0.12 to 0.64.", False),
        ("The effusion has increased.", False),
        ("Der Score ist gestiegen.", False),
        ("The effusion has not resolved.", False),
        ("The effusion hasn't resolved.", False),
    ],
)
def test_a_change_is_compared_with_what_both_images_gave(sentence: str, wrong: bool):
    assert bool(trend_against(sentence, NOW, NOW | BEFORE)) is wrong


def test_german_numbers_in_words_are_read():
    assert in_digits("etwa dreißig Millimeter", None) == "etwa      30 Millimeter"
