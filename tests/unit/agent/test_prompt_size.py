"""What a model reads before the question is little, and lacks nothing that the question needs."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from app.agent.context.model_messages import system_prompt
from app.agent.context.shortening import schema_tokens, text_tokens
from app.agent.llm.base import ModelInfo, ToolSchema
from app.agent.loop.agent_loop import AgentLoop
from app.agent.loop.available_tools import may_need
from app.agent.planning import Planner
from tests.routing.table import SCENES, registry_of, rows, scene_of
from tests.support import four_prompts
from tests.support.fake_tools import collect, request
from tests.support.scripted_model import ScriptedModel, says

MOST = 1_750
EVERYTHING = 3_000  # "use all available tools": half of the 6,000 that it was
PROMPTS = {
    "1": four_prompts.PROMPT_1,
    "1 in plain words": four_prompts.PROMPT_1_NATURAL,
    "2": four_prompts.PROMPT_2,
    "3": four_prompts.PROMPT_3,
    "4": four_prompts.PROMPT_4,
}


def asked(folder: Path, question: str, monkeypatch: pytest.MonkeyPatch) -> ScriptedModel:
    """A model that was asked a question on a film, with every tool's model installed."""
    monkeypatch.setattr("app.agent.loop.agent_loop.missing_needs", lambda _: lambda _: False)
    registry = registry_of("chest")
    model = ScriptedModel(says("No."), says("No."), info=ModelInfo(metered=False))
    loop = AgentLoop(model, registry, plans=registry.plans, system=system_prompt())
    asyncio.run(collect(loop, request(folder, question, notes=SCENES["cxr_dicom"])))
    return model


def before_the_question(model: ScriptedModel) -> float:
    """The tokens of the system prompt and of the tools in the first request."""
    return text_tokens(model.requests[0][0].text) + sum(map(schema_tokens, model.schemas[0]))


def names(schemas: Sequence[ToolSchema]) -> set[str]:
    return {item.name for item in schemas}


@pytest.mark.parametrize("prompt", PROMPTS)
def test_the_prompt_before_the_question_is_short(
    prompt: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    model = asked(tmp_path, PROMPTS[prompt], monkeypatch)
    assert before_the_question(model) <= (MOST if prompt.isdigit() else EVERYTHING)
    number = int(prompt[0])
    if prompt.isdigit():
        assert set(four_prompts.TOOLS[number]) <= names(model.schemas[0])


def test_no_question_loses_a_tool_that_it_needs():
    lost: list[str] = []
    for row in rows():
        scene = scene_of(row)
        intent = Planner().interpret(row.text, scene)
        offered = {item.name for item in may_need(intent, list(scene.tools.values()))}
        if not any(set(answer) <= offered for answer in row.answers):
            lost.append(row.id)
    assert not lost


def test_what_rules_do_not_understand_is_offered_every_tool(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    model = asked(tmp_path, "Hmm, and now what do you make of that?", monkeypatch)
    packs = {tool.spec.name for tool in registry_of("chest").all()}
    # One image is open: nothing is to be repeated.
    assert packs - {"for_each_image"} <= names(model.schemas[0])


def test_a_schema_is_told_without_what_says_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    model = asked(tmp_path, PROMPTS["1"], monkeypatch)
    shown = next(item for item in model.schemas[0] if item.name == "image_visualizer")
    fields = shown.parameters["properties"]
    assert fields["cmap"]["type"] == "string"
    assert "description" in fields["cmap"]
    assert shown.parameters["required"] == ["image_path"]
    assert not {"anyOf", "title", "default"} & fields["cmap"].keys()
    assert fields["title"]["type"] == "string", "an argument may itself be called title"
