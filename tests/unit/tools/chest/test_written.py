"""What a language model wrote: passed on, or said to be unfit."""

from __future__ import annotations

import pytest

from app.tools.chest.model_results import MOST_REPEATS, check_text


def test_a_finished_text_is_passed_on_as_it_is():
    found = check_text(
        {"text": " No pneumothorax.\n\nHeart normal. ", "finished": True, "most": 20}
    )
    assert found.text == "No pneumothorax.\n\nHeart normal."
    assert found.faults == ()


def test_a_text_that_was_cut_off_says_at_which_limit():
    found = check_text({"text": "There is a small left", "finished": False, "most": 20})
    assert found.text == "There is a small left"
    assert found.faults == ("the text was cut off at the limit of 20 tokens",)


@pytest.mark.parametrize("text", ["", "  \n ", "... --- ,,,", "<> <> ##"])
def test_what_is_no_text_is_not_passed_on(text: str):
    found = check_text({"text": text, "finished": True})
    assert found.text == ""
    assert len(found.faults) == 1


@pytest.mark.parametrize("phrase", ["effusion", "left lung", "no pneumothorax is seen ."])
def test_a_loop_is_cut_to_its_first_round_and_said(phrase: str):
    text = f"The heart is normal. {' '.join([phrase] * 30)}"
    found = check_text({"text": text, "finished": False, "most": 128})
    assert found.text == f"The heart is normal. {phrase}"
    assert found.faults == ("the model repeated itself; the repetition is left out",)


def test_a_sentence_that_keeps_coming_back_is_a_loop_too():
    text = "No effusion is seen. The heart is big. " * 3
    found = check_text({"text": text.strip(), "finished": True})
    assert (
        found.text
        == "No effusion is seen. The heart is big. No effusion is seen. The heart is big."
    )
    assert "repeated itself" in found.faults[0]


def test_what_is_said_twice_or_thrice_in_a_list_is_no_loop():
    text = "Right: normal. Left: normal. Heart: normal. 1, 2, 3 and very, very, very large."
    assert check_text({"text": text, "finished": True}).text == text
    assert MOST_REPEATS > 3
