"""A language model is offered the tools that can do something here, and told of the others."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from app.agent.llm.base import ModelInfo
from app.agent.loop.agent_loop import AgentLoop
from app.agent.loop.available_tools import AvailableTools, missing_needs
from app.tools.api import Need
from app.tools.chest.report import IMPRESSION
from app.tools.models.cards import card
from app.tools.registry import load_packs
from tests.support.fake_tools import FakeRegistry, FakeTool, Strict, collect, ok, request
from tests.support.scripted_model import ScriptedModel, call, says

EXPERT = "chest_xray_expert"
CLASSIFIER = "chest_xray_classifier"


def names(ready: AvailableTools) -> set[str]:
    return {tool.spec.name for tool in ready.all()}


def test_tools_without_their_model_are_named_and_not_described(tmp_path: Path):
    ready = AvailableTools(load_packs([]), (), missing_needs(tmp_path))
    assert {"dicom_processor", "chest_xray_segmentation"} <= names(ready)
    assert not {EXPERT, CLASSIFIER, "llava_med_qa"} & names(ready)
    assert EXPERT in ready.told_after("")
    assert "chest_xray_segmentation" not in ready.told_after("")


def test_a_tool_is_offered_once_its_model_is_there(tmp_path: Path):
    file = card("densenet121-res224-all").files[0].name
    (tmp_path / file).write_bytes(b"weights")
    ready = AvailableTools(load_packs([]), (), missing_needs(tmp_path))
    assert CLASSIFIER in names(ready)
    assert CLASSIFIER not in ready.told_after("")


def test_a_tool_that_needs_one_of_several_models_is_offered_with_any_and_not_with_none(
    tmp_path: Path,
):
    report = "chest_xray_report_generator"
    without = AvailableTools(load_packs([]), (), missing_needs(tmp_path))
    assert report not in names(without)
    assert report in without.told_after("")
    impression = tmp_path / card(IMPRESSION).name
    impression.mkdir()
    for file in card(IMPRESSION).files:
        (impression / file.name.replace("*", "x")).write_bytes(b"x")
    assert report in names(AvailableTools(load_packs([]), (), missing_needs(tmp_path)))


def test_the_error_for_an_unknown_tool_lists_only_tools_that_are_offered(tmp_path: Path):
    with ScriptedModel([call("chest_xray_expart")], says("Then not.")) as model:
        asyncio.run(collect(AgentLoop(model, load_packs([])), request(tmp_path, "What is it?")))
    error = model.requests[1][-1].text
    assert "No such tool" in error
    assert "chest_xray_segmentation" in error
    assert EXPERT not in error
    assert "llava_med_qa" not in error


def test_either_layout_of_a_model_will_do(tmp_path: Path):
    other = tmp_path / "llava-med-v1.5-mistral-7b-hf"
    other.mkdir()
    for file in card(other.name).files:
        (other / file.name.replace("*", "-00001-of-00001")).write_bytes(b"x")
    assert "llava_med_qa" in names(AvailableTools(load_packs([]), (), missing_needs(tmp_path)))


def test_models_of_other_packs_are_not_judged(tmp_path: Path):
    tool = FakeTool("counts", Strict, ok())
    tool.spec = replace(tool.spec, needs=(Need("weights", "their-own-model"),))
    assert names(AvailableTools(FakeRegistry(tool), (), missing_needs(tmp_path))) == {"counts"}


def test_a_tool_that_the_user_names_is_offered_so_that_it_says_what_is_missing(tmp_path: Path):
    ready = AvailableTools(load_packs([]), {EXPERT}, missing_needs(tmp_path))
    assert EXPERT in names(ready)
    assert CLASSIFIER not in names(ready)


@pytest.mark.parametrize("rules", [False, True])
def test_the_rule_planner_knows_all_tools_and_a_language_model_those_that_work(
    rules: bool, tmp_path: Path
):
    info = ModelInfo(own_tools=False, metered=False, rules=rules)
    with ScriptedModel(says("Nothing was asked."), info=info) as model:
        loop = AgentLoop(model, load_packs([]))
        asyncio.run(collect(loop, request(tmp_path, "Good morning")))
    assert (EXPERT in {schema.name for schema in model.schemas[0]}) == rules
    told = "".join(message.model_dump_json() for message in model.requests[0])
    assert ("not offered" in told) == (not rules)
