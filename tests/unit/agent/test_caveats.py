"""What the images of a run are not stands behind every answer, whatever a model says."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from app.agent.loop import AgentLoop
from app.tools.api import ToolResult
from app.tools.registry import load_packs
from tests.support.fake_tools import (
    DICOM_NOTE,
    FakeRegistry,
    FakeTool,
    ImageInput,
    collect,
    request,
)
from tests.support.scripted_model import ScriptedModel, call, says

PLANS = load_packs([]).plans
OVERRULED = (
    "used although this image is CT, not a chest radiograph (CR, DX): you said that it is to be "
    "used; results may mean nothing"
)


def answer(folder: Path, metadata: dict[str, Any], *, note: dict[str, Any] | None = None) -> str:
    """What is given as the answer of a model that leaves every warning out."""

    def run(*_: Any) -> ToolResult:
        return ToolResult("Done.", {"Effusion": 0.5}, metadata)

    registry = FakeRegistry(FakeTool("chest_xray_classifier", ImageInput, run))
    turn = [call("chest_xray_classifier", image_path=str(DICOM_NOTE["path"]))]
    asked = request(folder, question="Is it normal?", notes=(note or DICOM_NOTE,))
    with ScriptedModel(turn, says("The patient is healthy.")) as model:
        events = asyncio.run(collect(AgentLoop(model, registry, plans=PLANS), asked))
    shown = "".join(event.text for event in events if event.kind == "text_delta")
    assert events[-1].answer in shown or shown.endswith(events[-1].answer)
    return events[-1].answer


def test_a_synthetic_image_is_told_though_the_model_does_not(tmp_path: Path):
    said = answer(tmp_path, {"synthetic": True})
    assert "**Mind the images:**\n- results rest on a synthetic image" in said
    assert "[1]" in said


def test_a_synthetic_image_that_is_only_looked_at_is_told_too(tmp_path: Path):
    said = answer(tmp_path, {}, note={**DICOM_NOTE, "synthetic": True})
    assert "image-1 is synthetic, made by a model: it shows no patient" in said


@pytest.mark.parametrize("which", ["", "image 2: "])
def test_an_image_that_only_the_users_yes_let_in_is_told(tmp_path: Path, which: str):
    said = answer(tmp_path, {"warnings": ["small", which + OVERRULED]})
    assert f"- chest_xray_classifier: {which}used although this image is CT" in said
    assert "small" not in said


def test_a_sound_image_has_no_caveat(tmp_path: Path):
    assert "Mind the images" not in answer(tmp_path, {"warnings": ["small"]})
