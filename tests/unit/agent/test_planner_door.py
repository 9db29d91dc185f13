"""A question is interpreted once a run, whoever answers it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from app.agent.llm.base import LanguageModel, Text
from app.agent.loop.agent_loop import AgentLoop
from app.agent.loop.offline_model import OfflineModel
from app.agent.planning import Intent, Planner, Scene
from app.tools.registry import load_packs
from tests.support.fake_tools import collect, pack, request
from tests.support.scripted_model import ScriptedModel, call

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
