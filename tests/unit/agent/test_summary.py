"""The answer of a run that ended early reads well for every tool, known or not."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from app.agent.answers.result_summaries import name_of_tool, summarise, write_summary
from app.agent.context.model_messages import error_message, result_message
from app.agent.llm.base import Plan
from app.agent.loop.agent_loop import AgentLoop, Limits
from app.agent.loop.offline_model import OfflineModel
from app.agent.messages import MEND, Message
from app.tools.pack_plan import PackPlan, Plans
from app.tools.registry import load_packs
from app.tools.result_wording import AnswerContext, ResultWording, Sentence
from tests.support.fake_tools import collect, pack, request
from tests.support.scripted_model import ScriptedModel, call


def result(tool: str, output: dict[str, Any], summary: str = "", **metadata: Any) -> Message:
    return result_message("1", tool, {"summary": summary, "output": output, "metadata": metadata})


PLANS = load_packs([]).plans


def test_results_failures_warnings_and_what_was_left():
    text = summarise(
        [
            result("cardiothoracic_ratio", {"ratio": 0.47, "warnings": ["the patient is rotated"]}),
            error_message("2", "chest_xray_classifier", "weights missing", "Install them."),
            error_message("3", "cell_counter", "Stopped before it finished."),
            result("cell_counter", {}, "Found 12 cells."),
        ],
        ["chest_xray_segmentation", "Compare with\nthe prior film", "chest_xray_segmentation"],
        PLANS,
    )
    blocks = text.split("\n\n")
    assert blocks == [
        "**Cardiothoracic ratio**\n- **Cardiothoracic ratio about 0.47**: below 0.5.\n- Above 0.5 "
        "on an upright PA film an adult's heart is commonly read as enlarged.",
        "**Cell counter**\n- Found 12 cells.",
        "**Not done**\n- **Chest findings:** Weights missing. Install them.\n"
        "- **Cell counter:** Stopped before it finished.",
        "**Warnings**\n- Cardiothoracic ratio: the patient is rotated",
        "**Not run**\n- Chest segmentation\n- Compare with the prior film",
    ]


def test_a_person_is_not_told_how_a_language_model_may_mend_a_call():
    remedy = f"Draw a box. {MEND} It takes: box (list of number)."
    text = summarise(
        [error_message("1", "medsam2_segment", "nothing is marked", remedy)], [], PLANS
    )
    assert "- **Outline of what you marked:** Nothing is marked. Draw a box.\n" in f"{text}\n"
    assert "It takes" not in text


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
        "**Cell counter**",
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
    text = summarise([result(tool, output)], (), PLANS)
    assert text.startswith(f"**{name_of_tool(tool, PLANS)}**")
    assert tool not in text, "code names are for the card's details"
    assert "not for diagnosis" not in text.lower(), "the status bar says it"


def test_nothing_at_all_is_no_empty_list():
    assert summarise([]) == ""


def test_a_run_at_its_limit_names_what_it_did_not_run(tmp_path: Path):
    steps = ("cardiothoracic_ratio", "chest_xray_classifier", "image_visualizer")
    calls = [call(name, image_path="a") for name in steps[:2]]
    with ScriptedModel([Plan(tuple((name, "") for name in steps)), *calls]) as model:
        loop = AgentLoop(model, pack(), limits=Limits(tool_calls=1), plans=PLANS)
        events = asyncio.run(collect(loop, request(tmp_path)))
    assert events[-1].stopped_by == "tool_calls"
    assert "Cardiothoracic ratio about 0.47" in events[-1].answer
    assert "**Not run**\n- Chest findings\n- Display" in events[-1].answer


def test_the_offline_planner_at_its_limit_does_so_too(tmp_path: Path):
    question = "Where are the lungs, and is the heart enlarged?"
    limits = Limits(tool_calls=1)
    loop = AgentLoop(OfflineModel(PLANS), pack(), limits=limits, plans=PLANS)
    events = asyncio.run(collect(loop, request(tmp_path, question)))
    assert "**Left lung:** area" in events[-1].answer
    assert "**Not run**\n- Cardiothoracic ratio" in events[-1].answer


def cited(tool: str, number: int, output: dict[str, Any], **metadata: Any) -> Message:
    return result(tool, output, **metadata).model_copy(update={"evidence": number})


def test_every_sentence_about_a_result_cites_it_and_what_is_always_so_does_not():
    heart = cited("cardiothoracic_ratio", 3, {"ratio": 0.61, "warnings": ["rotated"]})
    output = {"Effusion": 0.7, "Mass": 0.2}
    scores = cited("chest_xray_classifier", 4, output, operating_point=0.5)
    topics = {"heart_size", "disease"}
    text = write_summary([heart, scores], [], [], topics, frozenset({"Effusion"}), PLANS)
    assert text.split("\n\n") == [
        "**Cardiothoracic ratio about 0.61**: above 0.5 [3]. Above 0.5 on an upright PA film an "
        "adult's heart is commonly read as enlarged.",
        "**Effusion 0.70**: above 0.5 [4]. Scores are neither probabilities nor diagnoses.\n"
        "At or below 0.5: Mass 0.20 [4].",
        "**Warnings**\n- Cardiothoracic ratio: rotated [3]",
        "**What this does not answer**\n- Which disease it is: scores and outlines do not decide "
        "that.",
    ]


def test_each_figure_and_each_warning_is_told_once():
    unstable = "unstable: the cardiothoracic ratio varies by 0.07 when the image is cropped"
    output = {"ratio": 0.5, "judgement": "too close to 0.5 to decide", "reliable": False}
    heart = cited("cardiothoracic_ratio", 1, {**output, "warnings": [unstable, "rotated"]})
    again = cited("chest_xray_segmentation", 2, {"metrics": {}}, warnings=["rotated"])
    text = write_summary([heart, again], [], [], {"heart_size"}, frozenset(), PLANS)
    assert text.startswith(
        "**Cardiothoracic ratio about 0.50**, varies by 0.07 when the image is cropped: too close "
        "to 0.5 to decide [1]."
    )
    assert text.count("0.50") == text.count("0.07") == text.count("rotated") == 1
    assert "- Cardiothoracic ratio, Chest segmentation: rotated [1] [2]" in text


def test_missing_models_are_told_once_without_commands():
    remedy = "Run `python -m app models get maira-2` (14000 MB)."
    needed = "X needs a model that is not installed: "
    failed = [
        error_message("1", "xray_phrase_grounding", f"{needed}MAIRA-2", remedy),
        error_message("2", "chest_xray_expert", f"{needed}CheXagent (a-b.pt)", remedy),
    ]
    text = write_summary(failed, [], [], (), frozenset(), PLANS)
    assert "`" not in text
    assert ".pt" not in text
    assert "**Models not installed** (Tools > Models)\n- MAIRA-2, for Where" in text
    assert text.count("MAIRA-2") == text.count("CheXagent,") == 1


def test_a_direct_answer_needs_its_result():
    failed = error_message("1", "cardiothoracic_ratio", "no weights")
    text = write_summary([failed], [], [], {"heart_size"}, frozenset(), PLANS)
    assert text == "**I cannot say whether the heart is enlarged:** No weights."


def test_a_pack_tells_its_own_results(caplog: pytest.LogCaptureFixture):
    def lines(output: Any, metadata: Any) -> list[Sentence]:
        return [Sentence(f"{output['count']} cells."), Sentence("Clumps count once.", cites=False)]

    def unanswered(told: AnswerContext) -> list[str]:
        return [f"{', '.join(sorted(told.ran))} does not say which cells."]

    wording = ResultWording("cell_counter", "Cells", lines)
    plans = Plans([PackPlan("cells", wordings=(wording,), unanswered=unanswered)])
    text = write_summary([cited("cell_counter", 1, {"count": 12})], [], [], (), frozenset(), plans)
    assert "**Cells**\n- 12 cells [1].\n- Clumps count once.\n" in text
    assert "**What this does not answer**\n- cell_counter does not say which cells." in text
    assert "12" in summarise([cited("cell_counter", 1, {"count": 12})], (), plans)
    # What a pack cannot tell is told as that of any other tool.
    odd = summarise([cited("cell_counter", 1, {"cells": 12})], (), plans)
    assert "**Cells**\n- cells: 12 [1]" in odd
    assert "A pack could not tell a result of cell_counter" in caplog.text
    caplog.clear()


def test_a_step_that_changed_nothing_in_the_view_is_not_told_beside_what_else_ran():
    kinds = {"viewer command"}
    hung = result("viewer_layout", {"said": "Nothing changed in the view.", "unchanged": True})
    other = result("cell_counter", {"count": 3}, "Found 3 cells.")
    assert "Nothing changed" not in write_summary([other, hung], (), (), kinds, plans=PLANS)
    assert "Nothing changed" in write_summary([hung], (), (), kinds, plans=PLANS)
