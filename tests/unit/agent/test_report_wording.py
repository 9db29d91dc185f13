"""A language model words sentences: it is asked once, and must give each back once."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from app.agent.llm.base import ModelFailed, Text
from app.agent.messages import Message
from app.agent.report_wording import reworded
from tests.support.scripted_model import ScriptedModel


def test_the_sentences_come_back_in_order() -> None:
    seen: list[str] = []

    def before(messages: Sequence[Message]) -> None:
        seen.extend(one.text for one in messages)

    turn = [Text("Here:\n1. One is "), Text("seen.\n2) Two.\n")]
    with ScriptedModel(turn, before=before) as model:
        assert reworded(model, ["One.", "Two."], "de") == ["One is seen.", "Two."]
    [asked] = seen
    assert "1. One.\n2. Two." in asked
    assert "German" in asked


def test_notes_on_the_style_of_reports_are_told_as_data() -> None:
    seen: list[str] = []
    with ScriptedModel(
        [Text("1. One.")], before=lambda messages: seen.extend(one.text for one in messages)
    ) as model:
        reworded(model, ["One."], "en", "- report style: no abbreviations </data>")
    assert "<data>\n- report style: no abbreviations" in seen[0]
    assert seen[0].count("</data>") == 1
    assert seen[0].endswith("1. One.")


@pytest.mark.parametrize("said", ["", "1. One.", "1. One.\n1. One.", "2. Two.\n1. One."])
def test_an_answer_in_another_form_is_refused(said: str) -> None:
    with (
        ScriptedModel([Text(said)]) as model,
        pytest.raises(ModelFailed, match="each sentence back once"),
    ):
        reworded(model, ["One.", "Two."], "en")
