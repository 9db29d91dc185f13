"""A weak model is no reason to leave a question unanswered that the rules can answer."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from app.agent.events import RunFinished
from app.agent.llm.base import ModelInfo, Text
from app.agent.loop.agent_loop import AgentLoop
from app.agent.loop.offline_model import IN_PLACE
from app.tools.registry import load_packs
from tests.support.fake_tools import collect, pack, request
from tests.support.scripted_model import ScriptedModel, Turn, call, says

PLANS = load_packs([]).plans
FILM = {"id": "image-1", "path": "/a/film.dcm", "kind": "dicom", "modality": "CR", "view": "PA"}


class Asked:
    """A question to a scripted model over the chest pack's rules, and what came of it."""

    def __init__(self, folder: Path, question: str, *turns: Turn, **loop: Any) -> None:
        self.request = request(folder, question, notes=(FILM,))
        info = ModelInfo(own_tools=False, metered=False)
        with ScriptedModel(*turns, info=info) as self.model:
            agent = AgentLoop(self.model, pack(), plans=PLANS, **loop)
            self.events = asyncio.run(collect(agent, self.request))
        assert isinstance(self.events[-1], RunFinished), self.events[-1]

    @property
    def end(self) -> RunFinished:
        return self.events[-1]

    @property
    def streamed(self) -> str:
        return "".join(item.text for item in self.events if item.kind == "text_delta")

    @property
    def ran(self) -> list[str]:
        ended = (item for item in self.events if item.kind == "tool_finished")
        return [item.tool for item in ended if item.status == "ok"]

    @property
    def goal(self) -> str:
        return [item for item in self.events if item.kind == "plan_updated"][-1].goal


@pytest.mark.parametrize(
    "question",
    ["What can you do?", "which tools do you have?", "Can you help me?", "Was kannst du?", "help"],
)
@pytest.mark.parametrize("rules_first", [True, False])
def test_what_can_be_done_is_told_by_the_program_whichever_model_is_chosen(
    tmp_path: Path, question: str, rules_first: bool
):
    asked = Asked(tmp_path, question, rules_first=rules_first)
    assert asked.end.by_rules
    assert "chest_xray_segmentation" in asked.end.answer


@pytest.mark.parametrize(
    "question",
    [
        "Help me to write a letter to the referring physician.",
        "Who are you to say that the treatment failed?",
    ],
)
def test_a_question_that_only_begins_like_that_goes_to_the_model(tmp_path: Path, question: str):
    asked = Asked(tmp_path, question, says("Dear colleague."))
    assert asked.end.answer.startswith("Dear colleague.")


@pytest.mark.parametrize(
    "question", ["Segment the lungs", "only segment the lungs", "Outline the heart, please."]
)
def test_a_plain_order_to_outline_needs_no_model(tmp_path: Path, question: str):
    asked = Asked(tmp_path, question, rules_first=True)
    assert asked.ran == ["chest_xray_segmentation"]
    assert asked.end.by_rules


@pytest.mark.parametrize(
    "question",
    [
        "What about the lungs?",
        "Segment the lungs and write a haiku about them",
        "Segment whatever looks wrong in the lungs",
    ],
)
def test_where_a_word_is_not_understood_the_model_is_asked(tmp_path: Path, question: str):
    asked = Asked(tmp_path, question, says("No."), says("No."), rules_first=True)
    assert asked.model.requests


@pytest.mark.parametrize("question", ["Invert the image", "set a lung window"])
def test_what_only_the_viewer_does_is_told_with_its_key(tmp_path: Path, question: str):
    asked = Asked(tmp_path, question)
    assert "I cannot work the viewer" in asked.end.answer


def test_a_model_that_twice_calls_nothing_gets_the_rules_plan_run_for_it(tmp_path: Path):
    question = "Is the heart enlarged? Be kind."
    asked = Asked(tmp_path, question, says("The heart is huge, 0.72."), says("It is, believe me."))
    assert asked.ran == ["cardiothoracic_ratio"]
    assert len(asked.model.requests) == 2
    assert asked.end.answer.startswith(IN_PLACE)
    assert "0.5" in asked.end.answer
    assert not asked.end.by_rules, "a model was asked"
    assert asked.goal == "done"
    supported, _, marked = asked.end.answer.partition("No result supports")
    assert "huge" not in supported
    assert "huge, 0.72 [check: " in marked
    started = [item for item in asked.events if item.kind == "plan_updated"]
    assert started[-1].steps[-1]["by"] == "rules"


def test_what_a_model_says_twice_is_marked_once(tmp_path: Path):
    huge = "The heart is huge, 0.72."
    asked = Asked(tmp_path, "Is the heart enlarged? Be kind.", says(huge), says(huge))
    assert asked.end.answer.count("huge, 0.72 [check: ") == 1


def test_why_an_answer_does_not_count_is_told_without_a_made_up_call(tmp_path: Path):
    turns = (says("Huge."), [call("cardiothoracic_ratio", image_path="image-1")], says("Fine [1]."))
    asked = Asked(tmp_path, "Is the heart enlarged? Be kind.", *turns)
    first, second, third = asked.model.requests
    assert [item.role for item in second[len(first) :]] == ["assistant", "user"]
    assert second[-1].text.startswith("Sightline: The question is not answered yet.")
    assert "Call cardiothoracic_ratio" in second[-1].text
    assert not any("not answered yet" in item.text for item in third), "said once"
    history = asked.request.thread.history
    assert {one.name for item in history for one in item.tool_calls} == {"cardiothoracic_ratio"}
    assert [item.role for item in history] == ["user", "assistant", "tool", "assistant"]
    started = [item.tool for item in asked.events if item.kind == "tool_started"]
    assert started == ["cardiothoracic_ratio"]


def test_rules_do_what_a_model_left_and_use_what_it_did(tmp_path: Path):
    begun = [call("chest_xray_segmentation", image_path="image-1", organs=["Heart"])]
    question = "Outline the lungs. Is the heart enlarged? Be kind."
    asked = Asked(tmp_path, question, begun, says("Outlined."), says("Outlined, really."))
    assert asked.ran == ["chest_xray_segmentation", "cardiothoracic_ratio"]
    assert asked.end.answer.startswith(IN_PLACE)


def test_a_model_is_believed_where_rules_have_no_plan(tmp_path: Path):
    asked = Asked(tmp_path, "What is cancer?", [Text("A disease.")])
    assert asked.end.answer == "A disease."


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("Sightline: I wrote it.", "I wrote it."),
        ("**Sightline:** **It** is one.", "**It** is one."),
        (" sightline : It is one.", "It is one."),
        ("Sightline shows it: one.", "Sightline shows it: one."),
        ("Sight", "Sight"),
        ("It is Sightline: one.", "It is Sightline: one."),
    ],
)
def test_a_model_does_not_speak_as_the_program(tmp_path: Path, said: str, shown: str):
    pieces = [Text(said[at : at + 3]) for at in range(0, len(said), 3)]
    asked = Asked(tmp_path, "Write me a poem about trains.", pieces)
    assert asked.streamed.startswith(shown)
    assert asked.end.answer.startswith(shown)
    assert asked.request.thread.history[-1].text.startswith(shown)
