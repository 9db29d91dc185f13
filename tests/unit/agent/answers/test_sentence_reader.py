"""The learned reader of sentences, on sentences by a writer of none of those it was trained on.

At the first try 139 of 150 sentences about a finding, and 87 of 90 others, were read rightly.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from app.agent.answers.facts import ABSENT, FINDING, PRESENT, contradiction, facts_of
from app.agent.answers.sentence_reader import MEDICAL, TALK, asserts, presence
from tests.unit.agent.answers.test_blind_answers import checked

ROWS = [
    line.split("\t")
    for line in Path(__file__).with_name("blind_sentences_read.tsv").read_text("utf-8").splitlines()
]
ITEM = {"items": {"1.1": "Pneumothorax, score 0.04, flagged no"}}


def read(answer: str, text: str) -> str:
    if answer in (MEDICAL, TALK):
        return MEDICAL if asserts(text) >= 0.5 else TALK
    chances = presence(text.replace("{X}", FINDING))
    return max(chances, key=lambda one: chances[one])


def test_at_least_nine_of_ten_sentences_about_a_finding_are_read_rightly():
    about = [(answer, text) for answer, _, text in ROWS if answer not in (MEDICAL, TALK)]
    assert len(about) == 150
    assert sum(read(*row) == row[0] for row in about) >= 135


def test_what_is_there_is_seldom_taken_for_what_is_not():
    about = [(answer, text) for answer, _, text in ROWS if answer in (PRESENT, ABSENT)]
    opposite = {PRESENT: ABSENT, ABSENT: PRESENT}
    sure = [
        (answer, text)
        for answer, text in about
        if presence(text.replace("{X}", FINDING))[opposite[answer]] >= 0.7
    ]
    assert len(sure) <= 3, sure


def test_claims_are_told_from_talk():
    others = [(answer, text) for answer, _, text in ROWS if answer in (MEDICAL, TALK)]
    assert len(others) == 90
    assert sum(read(*row) == row[0] for row in others) >= 85


@pytest.mark.parametrize(
    ("sentence", "contradicts"),
    [
        ("The search for a pneumothorax came back empty.", False),
        ("Ein Pneumothorax wurde mit 0,04 nicht als auffällig gewertet.", False),
        ("The pneumothorax is plain to see.", True),
        ("Der Pneumothorax ist nicht zu übersehen.", True),
        ("Whether there is a pneumothorax was asked.", False),
    ],
)
def test_what_a_sentence_says_is_compared_with_what_the_result_says(
    sentence: str, contradicts: bool
):
    told = contradiction(sentence, [(1, facts_of(ITEM))], cited=True, presence=presence)
    assert bool(told) is contradicts


@pytest.mark.parametrize(
    "text",
    [
        "At the 0th percentile there is a pneumonia [1].",
        "Am 0. postoperativen Tag zeigt sich ein Pneumothorax [1.3].",
        "About 5 m\u0131llion cells.",
        "A f\u0131fth rib fracture [8.3].",
        "[^pneumonia] [^pneumonia]",
        "xfindingx, a pneumothorax [1.3] and xfindingx",
    ],
)
def test_odd_texts_are_checked(text: str):
    assert checked("blind_answers", text).startswith(text[:4])


@pytest.mark.parametrize("text", ["", "!!", "\u65e5\u672c\u8a9e"])
def test_what_names_no_finding_says_nothing_of_one(text: str):
    assert max(presence(text).values()) < 0.7


def test_ribs_are_told_apart_by_their_numbers():
    said = "In 2022 an old fracture of the left {} rib was described [8.3]."
    assert "number 7" in checked("blind_answers", said.format("ninth"))
    for right in ("seventh", "7th"):
        assert checked("blind_answers", said.format(right)) == said.format(right)
    both = "In 2022 the left 7th and 9th ribs were looked at [8.3]."
    assert "number" not in checked("blind_answers", both)


@pytest.mark.parametrize(
    "text",
    [
        "She takes penicillin [7.7].",
        "Das Kalium ist erhöht [7.4].",
        "An acute fracture of the left seventh rib was seen in 2022 [8.3].",
        "No acute disease.",
        "Unauffälliger Befund.",
    ],
)
def test_what_contradicts_a_result_in_other_words_is_marked(text: str):
    assert "says: " in checked("blind_answers", text)


@pytest.mark.parametrize(
    "text",
    [
        "She is allergic to penicillin [7.7].",
        "Das Kalium ist normal [7.4].",
        "An old, healed fracture of the left seventh rib was seen in 2022 [8.3].",
        "There are no acute findings that the tools did not look for.",
    ],
)
def test_what_says_the_same_in_other_words_is_not(text: str):
    assert "says: " not in checked("blind_answers", text)
