"""The answer of a run that ended early reads well for every tool, known or not."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from app.agent.context import error_message, result_message
from app.agent.llm.base import Plan
from app.agent.llm.offline import OfflineModel
from app.agent.loop import AgentLoop, Limits
from app.agent.messages import Message
from app.agent.summary import DISCLAIMER, summarise
from app.tools.registry import load_packs
from tests.support.fake_tools import collect, pack, request
from tests.support.scripted_model import ScriptedModel, call


def result(tool: str, output: dict[str, Any], summary: str = "", **metadata: Any) -> Message:
    return result_message("1", tool, {"summary": summary, "output": output, "metadata": metadata})


def test_results_failures_warnings_and_what_was_left():
    text = summarise(
        [
            result("cardiothoracic_ratio", {"ratio": 0.47, "warnings": ["the patient is rotated"]}),
            error_message("2", "chest_xray_classifier", "weights missing", "Install them."),
            error_message("3", "cell_counter", "Stopped before it finished."),
            result("cell_counter", {}, "Found 12 cells."),
        ],
        ["chest_xray_segmentation", "Compare with\nthe prior film", "chest_xray_segmentation"],
    )
    blocks = text.split("\n\n")
    assert blocks == [
        "**Heart and thorax** (cardiothoracic_ratio)\n"
        "- Cardiothoracic ratio about 0.47 (approximate).",
        "**cell_counter**\n- Found 12 cells.",
        "**Not done**\n- **chest_xray_classifier** failed: weights missing. Install them.\n"
        "- **cell_counter**: Stopped before it finished.",
        "**Warnings**\n- cardiothoracic_ratio: the patient is rotated",
        "**Not run any more**\n- chest_xray_segmentation\n- Compare with the prior film",
        DISCLAIMER,
    ]


def test_a_tool_that_says_nothing_is_told_by_its_figures():
    output = {
        "cell_count": 12345,
        "mean_area_um2": 81.23456,
        "inverted": False,
        "stain": "H&E\nred",
        "cells": [{"x": 1}, {"x": 2}],
        "per_class": {"tumour": 3},
        "overlay_path": "/out/DOE_JANE/overlay.png",
        "PatientName": "DOE^JANE",
        "nothing": None,
    }
    assert summarise([result("cell_counter", output)]).split("\n\n")[0].splitlines() == [
        "**cell_counter**",
        "- cell count: 12,345",
        "- mean area um2: 81.2346",
        "- inverted: no",
        "- stain: H&E red",
        "- cells: 2 entries",
        "- per class: 1 entry",
        "- overlay path: a file was made",
    ]


def test_many_figures_are_counted():
    lines = summarise([result("x", {f"value_{n}": n for n in range(40)})]).splitlines()
    assert len([line for line in lines if line.startswith("- ")]) == 13
    assert "- and 28 more values" in lines


@pytest.mark.parametrize("tool", [tool.spec.name for tool in load_packs([]).all()])
@pytest.mark.parametrize(
    "output", [{}, {"ratio": None}, {"metrics": None}, {"predictions": None}, {"a": float("nan")}]
)
def test_an_odd_result_of_any_tool_still_reads(tool: str, output: dict[str, Any]):
    text = summarise([result(tool, output)])
    assert f"({tool})" in text or f"**{tool}**" in text
    assert text.endswith(DISCLAIMER)


def test_nothing_at_all_is_no_empty_list():
    assert summarise([]) == DISCLAIMER


def test_a_run_at_its_limit_names_what_it_did_not_run(tmp_path: Path):
    steps = ("cardiothoracic_ratio", "chest_xray_classifier", "image_visualizer")
    calls = [call(name, image_path="a") for name in steps[:2]]
    with ScriptedModel([Plan(tuple((name, "") for name in steps)), *calls]) as model:
        loop = AgentLoop(model, pack(), limits=Limits(tool_calls=1))
        events = asyncio.run(collect(loop, request(tmp_path)))
    assert events[-1].stopped_by == "tool_calls"
    assert "Cardiothoracic ratio about 0.47" in events[-1].answer
    left = "**Not run any more**\n- chest_xray_classifier\n- image_visualizer\n\n"
    assert left in events[-1].answer


def test_the_offline_planner_at_its_limit_does_so_too(tmp_path: Path):
    question = "Where are the lungs, and is the heart enlarged?"
    loop = AgentLoop(OfflineModel(load_packs([]).plans), pack(), limits=Limits(tool_calls=1))
    events = asyncio.run(collect(loop, request(tmp_path, question)))
    assert "**Left Lung:** outlined" in events[-1].answer
    assert "**Not run any more**\n- cardiothoracic_ratio\n\n" in events[-1].answer
