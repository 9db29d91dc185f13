"""Packs that are switched off, prompts by name, a file of one's own, what packs add themselves."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest

from app.agent.context.model_messages import prompt_names, system_prompt, tool_texts
from app.agent.llm.base import ModelInfo
from app.agent.loop.agent_loop import AgentLoop
from app.errors import UsageError
from app.settings import ProfileSettings, Settings
from app.tools.registry import Registry, load_packs
from app.wiring import Program
from tests.support.cells_pack import PLAN, cells_registry
from tests.support.fake_tools import collect, request
from tests.support.scripted_model import ScriptedModel, says


def asked(tmp_path: Path, registry: Registry, **more: Any) -> ScriptedModel:
    info = ModelInfo(own_tools=False, metered=False)
    with ScriptedModel(says("No."), info=info) as model:
        loop = AgentLoop(model, registry, plans=registry.plans, system="Head.", **more)
        asyncio.run(collect(loop, request(tmp_path, "Hello there, what now?")))
    return model


def test_a_pack_that_is_off_has_no_tools_and_no_rules():
    whole = load_packs([])
    off = whole.without(["chest", "general"])
    assert off.get("cardiothoracic_ratio") is None
    assert "chest" not in [plan.pack for plan in off.plans.packs]
    assert off.get("dicom_processor") is not None
    assert whole.get("cardiothoracic_ratio") is not None
    assert set(whole.packs) >= {"general", "chest", "microscopy", "record"}


def test_every_built_in_plan_has_a_title_and_an_icon_that_exists(repo: Path):
    for plan in load_packs([]).plans.packs:
        assert plan.title
        assert (repo / "resources" / "icons" / f"{plan.icon}.svg").is_file()


def test_a_packs_own_prompt_is_given_where_one_of_its_tools_is(tmp_path: Path):
    from dataclasses import replace

    registry = Registry()
    for tool in cells_registry().all():
        registry.register(tool)
    registry.plan(replace(PLAN, prompt="Cells are counted whole."))
    model = asked(tmp_path, registry, tool_texts={"Image_Info_Tool": "Ask it first."})
    assert model.requests[0][0].text.startswith("Head.\n\nCells are counted whole.")
    told = {item.name: item.description for item in model.schemas[0]}
    assert told["Image_Info_Tool"].endswith("Ask it first.")


def test_prompts_are_chosen_by_name_from_a_file_of_ones_own(tmp_path: Path):
    own = tmp_path / "prompts.txt"
    own.write_text("[TEACHER]\nExplain it.\n\n[TOOL_BLUR]\nOnly gently.\n")
    assert prompt_names(own) == ["TEACHER"]
    assert prompt_names() == ["MEDICAL_ASSISTANT", "CLINICAL_CASE"]
    told = system_prompt("TEACHER", own)
    assert told.startswith("Explain it.\n\nText between <data>")
    assert tool_texts(own) == {"blur": "Only gently."}
    assert system_prompt() == system_prompt("MEDICAL_ASSISTANT")


def test_the_program_uses_the_profile(tmp_path: Path):
    own = tmp_path / "prompts.txt"
    own.write_text("[TEACHER]\nExplain it.\n")
    program = Program()
    program.use_profile(["microscopy"], "TEACHER", str(own))
    assert program.settings.profile == ProfileSettings(
        packs_off=[one for one in program.registry.packs if one != "microscopy"],
        prompt="TEACHER",
        prompt_file=str(own),
    )
    assert program.active.get("cardiothoracic_ratio") is None
    with pytest.raises(UsageError, match="there is no tool pack 'x'"):
        program.use_profile(["x"])
    with pytest.raises(UsageError, match="NOBODY") as error:
        program.use_profile((), "NOBODY")
    assert "TEACHER" in error.value.remedy
    own.unlink()
    assert "the usual one is" in program.notices()[-1]


def test_the_profile_is_read_from_the_settings_and_wrong_values_are_replaced():
    data = {"profile": {"packs_off": ["chest"], "prompt": 7}}
    read = Settings.model_validate(data, context=[])
    assert read.profile.packs_off == ["chest"]
    assert read.profile.prompt == ""


def test_the_prompt_for_clinical_cases_plans_acts_validates_and_answers():
    """Document 003's four prompts are one text that can be chosen by name."""
    assert "CLINICAL_CASE" in prompt_names()
    text = system_prompt("CLINICAL_CASE")
    parts = ("Plan\n", "Act\n", "Validate\n", "Answer\n", "Text between <data>")
    places = [text.index(part) for part in parts]
    assert places == sorted(places)
    for stated in ("patient_limit", "scan_dicom_directory", "analyze_medical_document"):
        assert stated in text
    tools = {tool.spec.name for tool in load_packs([]).all()}
    named = {word for word in re.findall(r"\w+", text) if "_" in word}
    assert named - tools <= {"patient_limit", "_truncated"}
