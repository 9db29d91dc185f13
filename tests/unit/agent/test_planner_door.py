"""A question is interpreted once a run, whoever answers it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from app.agent.answers.result_summaries import write_summary
from app.agent.context.model_messages import result_message
from app.agent.llm.base import LanguageModel, ModelInfo, Text
from app.agent.loop.agent_loop import AgentLoop
from app.agent.loop.offline_model import OfflineModel
from app.agent.planning import Intent, Planner, Scene, schema_of
from app.agent.privacy import send_consent
from app.agent.request import RunRequest
from app.tools.api import ViewPicture
from app.tools.registry import load_packs
from tests.support.fake_tools import collect, pack, request
from tests.support.scripted_model import ScriptedModel, call, says

QUESTION = "Where are the lungs, and is the heart enlarged?"
CERTAIN = "Is the heart enlarged?"


def runs_of(
    model: LanguageModel,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    question: str = QUESTION,
    *,
    rules_first: bool = False,
) -> tuple[list[str], list[str]]:
    """The questions that were interpreted, and the tools that ran."""
    interpreted: list[str] = []
    interpret = Planner.interpret

    def counted(self: Planner, question: str, scene: Scene) -> Intent:
        interpreted.append(question)
        return interpret(self, question, scene)

    monkeypatch.setattr(Planner, "interpret", counted)
    plans = load_packs([]).plans
    loop = AgentLoop(model, pack(), plans=plans, rules_first=rules_first)
    events = asyncio.run(collect(loop, request(tmp_path, question)))
    assert events[-1].kind == "run_finished"
    return interpreted, [event.tool for event in events if event.kind == "tool_started"]


def test_the_offline_planner_follows_one_interpretation_over_all_its_calls(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    model = OfflineModel(load_packs([]).plans)
    interpreted, tools = runs_of(model, tmp_path, monkeypatch)
    assert interpreted == [QUESTION]
    assert tools == ["chest_xray_segmentation", "cardiothoracic_ratio"]


def test_rules_that_answer_before_a_model_interpret_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    with ScriptedModel() as model:
        interpreted, tools = runs_of(model, tmp_path, monkeypatch, CERTAIN, rules_first=True)
    assert interpreted == [CERTAIN]
    assert tools == ["cardiothoracic_ratio"]


def test_with_a_language_model_goal_rules_and_footer_share_one_interpretation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    segment = call("chest_xray_segmentation", image_path="image-1")
    with ScriptedModel([segment], [Text("Outlined [1].")], [Text("Done [1].")]) as model:
        interpreted, tools = runs_of(model, tmp_path, monkeypatch)
    assert interpreted == [QUESTION]
    assert tools[0] == "chest_xray_segmentation"


def misread(monkeypatch: pytest.MonkeyPatch, **read: object) -> None:
    """The planner reads any question as this, whatever its text says."""
    interpret = Planner.interpret

    def interpreted(self: Planner, question: str, scene: Scene) -> Intent:
        return replace(interpret(self, question, scene), **read)

    monkeypatch.setattr(Planner, "interpret", interpreted)


def test_a_model_is_shown_the_images_that_the_intent_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    pictured: list[Sequence[str]] = []

    async def make(
        request: RunRequest, named: Sequence[str], *, views: Sequence[ViewPicture]
    ) -> send_consent.ShownPictures:
        pictured.append(named)
        return send_consent.ShownPictures()

    monkeypatch.setattr(send_consent, "make_pictures", make)
    misread(monkeypatch, images=("image-7",))
    with ScriptedModel(says("Seen."), info=ModelInfo(images=True)) as model:
        runs_of(model, tmp_path, monkeypatch, "Look at image 2.")
    assert pictured == [("image-7",)]


def test_a_model_is_offered_the_unready_tools_that_the_intent_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    misread(monkeypatch, named=frozenset({"llava_med_qa"}))
    with ScriptedModel(says("Nothing.")) as model:
        loop = AgentLoop(model, load_packs([]))
        asyncio.run(collect(loop, request(tmp_path, "What does medgemma_qa say?")))
    offered = {schema.name for schema in model.schemas[0]}
    assert "llava_med_qa" in offered
    assert "medgemma_qa" not in offered


@pytest.mark.parametrize(
    ("question", "answered"),
    [
        ("Is there a pleural effusion?", "**Effusion 0.70**: above 0.5"),
        ("Liegt ein Pleuraerguss vor?", "**Effusion 0.70**: above 0.5"),
        ("Is the lung collapsed?", "**Atelectasis 0.30**: below 0.5"),
        ("Which disease is it?", "**Above 0.5:** Effusion 0.70"),
        ("Is there a mass in the left lung?", "On which side or in which part"),
        ("How large is the nodule?", "Outline, size or number of a lesion"),
        ("TB?", "A finding that you named: none of the scores is for it."),
        ("covid?", "A finding that you named: none of the scores is for it."),
        ("free air under the diaphragm?", "A finding that you named: none of the scores"),
        ("What is the lung volume, and is there a mass?", "A volume: no tool here measures one"),
    ],
)
def test_the_packs_wordings_answer_what_the_intent_is_about(question: str, answered: str):
    packs = load_packs([])
    tools = {tool.spec.name: schema_of(tool) for tool in packs.all()}
    intent = Planner(packs.plans).interpret(question, Scene((), tools))
    output = {"Effusion": 0.7, "Atelectasis": 0.3, "Mass": 0.2, "Nodule": 0.1}
    scores = result_message("1", "chest_xray_classifier", {"output": output})
    text = write_summary([scores], [], [], {"disease"}, intent.targets, packs.plans)
    assert answered in text
    silent = write_summary([scores], [], [], {"disease"}, frozenset(), packs.plans)
    assert (answered in silent) == (answered == "**Above 0.5:** Effusion 0.70")
