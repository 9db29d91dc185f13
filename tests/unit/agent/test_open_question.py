"""What is abnormal, and where: measured, how sure, and what nobody looked for, each thing once."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from app.agent.loop.agent_loop import AgentLoop
from app.agent.loop.offline_model import OfflineModel
from app.imaging.demo import demo_paths
from app.tools.api import Need, ToolFailed
from app.tools.registry import load_packs
from tests.support.fake_tools import (
    DICOM_NOTE,
    FakeRegistry,
    FakeTool,
    ImageInput,
    Strict,
    collect,
    fails,
    ok,
    pack,
    request,
)
from tests.support.scripted_model import ScriptedModel, call, says

QUESTION = "What is abnormal here, and where?"
DENSENET = "densenet121-res224-all"
NOT_THERE = ToolFailed(
    "The chest classifier needs a model that is not installed: torchxrayvision DenseNet-121",
    remedy=f"Run `python -m app models get {DENSENET}` (28 MB).",
)
UNSTABLE = "unstable: the cardiothoracic ratio varies by 0.07 when the image is cropped"


class Phrase(ImageInput):
    """Arguments of a phrase grounding that was made up."""

    phrase: str


def lacking(name: str, *needs: str, run: Any = None) -> FakeTool:
    tool = FakeTool(name, ImageInput, run or fails(NOT_THERE))
    tool.spec = replace(tool.spec, needs=tuple(Need("weights", need) for need in needs))
    return tool


def without_models() -> FakeRegistry:
    """The packs' tools on a machine with the embedded network only."""
    heart = {"ratio": 0.5, "judgement": "too close to 0.5 to decide", "reliable": False}
    tools = {tool.spec.name: tool for tool in pack().all()}
    tools["chest_xray_classifier"] = lacking("chest_xray_classifier", DENSENET)
    tools["xray_phrase_grounding"] = lacking("xray_phrase_grounding", "maira-2")
    tools["chest_xray_expert"] = lacking("chest_xray_expert", "chexagent-2-3b")
    measured = ok("About 0.50.", {**heart, "warnings": [UNSTABLE, "the patient may be rotated"]})
    tools["cardiothoracic_ratio"] = FakeTool("cardiothoracic_ratio", ImageInput, measured)
    return FakeRegistry(*tools.values())


def ask(folder: Path, tools: FakeRegistry, question: str = QUESTION) -> list[Any]:
    plans = load_packs([]).plans
    asked = request(folder, question=question, models_dir=folder)
    return asyncio.run(collect(AgentLoop(OfflineModel(plans), tools, plans=plans), asked))


@pytest.mark.parametrize("question", [QUESTION, "Anything wrong, and where?"])
def test_with_no_model_it_is_told_what_was_measured_and_what_nobody_looked_for(
    tmp_path: Path, question: str
):
    events = ask(tmp_path, without_models(), question)
    answer = events[-1].answer
    heads = [line for line in answer.splitlines() if line.startswith("**")]
    assert heads[0].startswith("**I cannot say what is abnormal, or that nothing is:**")
    assert [head.strip("*") for head in heads[1:]] == [
        "Cardiothoracic ratio",
        "Chest segmentation",
        "Warnings",
        "Not looked for",
    ]
    sought = answer.partition("**Not looked for**")[2]
    assert "pneumothorax, effusion, consolidation" in sought
    assert "Tubes and lines" in sought
    assert "Nothing installed here can show where a finding is" in sought
    for once in ("DenseNet-121", "MAIRA-2", "0.50", "0.07", "may be rotated"):
        assert answer.count(once) == 1, once
    assert events[-1].missing == ["maira-2"]


def test_a_warning_that_may_be_a_finding_stands_before_the_results_and_once(tmp_path: Path):
    small = "the right lung is much smaller than the other: effusion, collapse or a wrong mask"
    bases = "the lung bases differ in height: an effusion may hide the heart's border"
    view = "the view (PA or AP) is unknown: on AP films the ratio is too large"
    heart = {"ratio": 0.41, "judgement": "below 0.5", "reliable": False}
    measured = ok("0.41.", {**heart, "warnings": [view, bases, small]}, doubts=[view, bases])
    tools = {tool.spec.name: tool for tool in without_models().all()}
    tools["cardiothoracic_ratio"] = FakeTool("cardiothoracic_ratio", ImageInput, measured)
    answer = ask(tmp_path, FakeRegistry(*tools.values()))[-1].answer
    first = answer.index("**Look at this yourself**")
    assert first < answer.index(f"- {small[0].upper()}{small[1:]} [1]") < answer.index("0.41")
    assert first < answer.index("bases differ") < answer.index("0.41")
    assert f"**Not reliable on this film:** {view} [1]" in answer
    for once in ("much smaller", "bases differ", "PA or AP"):
        assert answer.count(once) == 1, once
    assert "Above 0.5 on an upright" not in answer, "no rule for a ratio that does not count"


@pytest.mark.parametrize("question", [QUESTION, "What do you see?", "Is there a bleed?"])
def test_of_an_image_that_no_tool_is_for_it_is_said_once_and_no_model_is_offered(
    tmp_path: Path, question: str
):
    plans = load_packs([]).plans
    notes = ({**DICOM_NOTE, "modality": "CT", "body_part": "HEAD"},)
    asked = request(tmp_path, question=question, models_dir=tmp_path, notes=notes)
    loop = AgentLoop(OfflineModel(plans), without_models(), plans=plans)
    ended = asyncio.run(collect(loop, asked))[-1]
    said = "**I cannot say what is abnormal, or that nothing is:** RG1.dcm is CT, not a chest"
    assert ended.answer.removeprefix("Head CT, PA\n\n").startswith(said)
    assert ended.answer.count("is CT, not") == 1
    for nothing in ("needs the model", "Tubes and lines", "18 findings", "MAIRA-2"):
        assert nothing not in ended.answer, nothing
    assert ended.missing == []


def test_a_question_back_has_no_list_of_what_was_not_looked_for(tmp_path: Path):
    plans = load_packs([]).plans
    notes = (DICOM_NOTE, {**DICOM_NOTE, "id": "image-2", "path": "/studies/prior.dcm"})
    question = "What is abnormal in both films, and where?"
    asked = request(tmp_path, question=question, models_dir=tmp_path, notes=notes)
    loop = AgentLoop(OfflineModel(plans), without_models(), plans=plans)
    answer = asyncio.run(collect(loop, asked))[-1].answer
    assert "Name the image" in answer
    assert "Not looked for" not in answer


def test_what_do_you_see_begins_with_what_is_not_known_and_ends_with_the_file(tmp_path: Path):
    answer = ask(tmp_path, without_models(), "What do you see?")[-1].answer
    head = "Radiograph, PA\n\n**I cannot say what is abnormal, or that nothing is:** the model"
    assert answer.startswith(head)
    order = [answer.index(f"**{head}**") for head in ("Cardiothoracic ratio", "File", "Display")]
    assert order == sorted(order)
    assert "- 18 findings, such as pneumothorax" in answer


@pytest.mark.parametrize(
    ("other", "told"),
    [
        ({"days_before_current": 30}, True),
        ({}, False),
        ({"days_before_current": 30, "modality": "US"}, False),
    ],
)
def test_an_earlier_film_of_the_patient_that_is_open_is_spoken_of(
    tmp_path: Path, other: dict[str, Any], told: bool
):
    plans = load_packs([]).plans
    notes = (DICOM_NOTE, {**DICOM_NOTE, "id": "image-2", "path": "/studies/prior.dcm", **other})
    asked = request(tmp_path, question=QUESTION, models_dir=tmp_path, notes=notes)
    loop = AgentLoop(OfflineModel(plans), without_models(), plans=plans)
    answer = asyncio.run(collect(loop, asked))[-1].answer
    assert ("earlier film of this patient is open (PA, 30 days before)" in answer) == told


@pytest.mark.parametrize(
    ("question", "days", "said"),
    [
        ("Is there a prior?", 30, "Yes, the latest is image 2 (CR, PA), taken 30 days before."),
        ("Any previous films?", 30, "Yes, the latest is image 2 (CR, PA), taken 30 days before."),
        ("Are there any priors?", None, "No prior of this patient is open."),
        ("Gibt es eine Voraufnahme?", 30, "Ja, die letzte ist Bild 2 (CR, PA), 30 Tage zuvor."),
        ("Gibt es Voraufnahmen?", None, "Keine Voraufnahme dieses Patienten ist geöffnet."),
    ],
)
def test_whether_there_is_a_prior_is_answered(
    tmp_path: Path, question: str, days: int | None, said: str
):
    other = {**DICOM_NOTE, "id": "image-2", "path": "/studies/prior.dcm"}
    notes = (DICOM_NOTE, other | ({"days_before_current": days} if days else {"patient": 2}))
    plans = load_packs([]).plans
    asked = request(tmp_path, question=question, models_dir=tmp_path, notes=notes)
    loop = AgentLoop(OfflineModel(plans), without_models(), plans=plans)
    events = asyncio.run(collect(loop, asked))
    assert events[-1].answer.startswith(said)
    assert not [event for event in events if event.kind == "tool_started"]


def test_a_german_question_is_answered_in_german(tmp_path: Path):
    events = ask(tmp_path, without_models(), "Was ist hier auffällig, und wo?")
    answer = events[-1].answer
    heads = [line.strip("*") for line in answer.splitlines() if line.startswith("**")]
    assert heads[0].startswith("Ich kann nicht sagen, was auffällig ist")
    assert heads[1:] == [
        "Herz-Thorax-Quotient",
        "Segmentierung des Thorax",
        "Warnungen",
        "Wonach nicht gesucht wurde",
    ]
    for once in ("DenseNet-121", "MAIRA-2", "0,50", "0,07"):
        assert answer.count(once) == 1, once
    streamed = "".join(one.text for one in events if one.kind == "text_delta")
    assert streamed == answer


def test_an_answer_of_a_language_model_says_so_too(tmp_path: Path):
    plans = load_packs([]).plans
    turns = [call("cardiothoracic_ratio", image_path="image-1")], says("The ratio is 0.50 [1].")
    with ScriptedModel(*turns, says("I said so.")) as model:
        loop = AgentLoop(model, without_models(), plans=plans)
        asked = request(tmp_path, question=QUESTION, models_dir=tmp_path)
        events = asyncio.run(collect(loop, asked))
    assert "**Not looked for**\n- 18 findings, such as pneumothorax" in events[-1].answer


def test_a_finding_that_is_named_is_what_was_not_looked_for(tmp_path: Path):
    answer = ask(tmp_path, without_models(), "Is there a pneumothorax?")[-1].answer
    assert answer.startswith("**I cannot say whether this image shows a pneumothorax:** the model")
    assert "- Pneumothorax: that needs the model torchxrayvision" in answer
    assert "Tubes and lines" not in answer
    assert "Cardiothoracic" not in answer


def test_with_models_flagged_labels_are_mapped_and_each_is_looked_for_on_the_image(
    tmp_path: Path,
):
    scores = {"Effusion": 0.71, "Mass": 0.53, "Nodule": 0.2}
    sure = {
        "Effusion": {"near": False, "range": [0.66, 0.74], "stable": True},
        "Mass": {"near": True, "range": [0.41, 0.55], "stable": False},
    }
    metadata = {
        "labels": ["Effusion", "Mass"],
        "above_operating_point": ["Effusion", "Mass"],
        "uncertainty": sure,
        "looked_at": {"Effusion": "on the patient's left, lower third of the film"},
    }
    boxes = {"image_coordinates": [[60.0, 70.0, 79.0, 89.0]]}

    def box(args: Phrase, _context: Any) -> Any:
        here = [{"phrase": args.phrase, "bounding_boxes": boxes}]
        found = {"predictions": here if "effusion" in args.phrase else []}
        return ok("", found, original_size=[100, 100], phrase=args.phrase)(args, _context)

    tools = {tool.spec.name: tool for tool in pack().all()}
    scored = ok("Scored.", scores, **metadata)
    tools["chest_xray_classifier"] = FakeTool("chest_xray_classifier", Labels, scored)
    tools["xray_phrase_grounding"] = FakeTool("xray_phrase_grounding", Phrase, box)
    events = ask(tmp_path, FakeRegistry(*tools.values()))
    asked = [(event.tool, event.arguments) for event in events if event.kind == "tool_started"]
    assert dict(asked)["chest_xray_classifier"]["labels"] == ["flagged"]
    sought = [given["phrase"] for tool, given in asked if tool == "xray_phrase_grounding"]
    assert sought == ["pleural effusion", "mass"], "the highest score first"
    answer = events[-1].answer
    assert answer.splitlines()[:6] == [
        *("Radiograph, PA", ""),
        "**Above 0.5:** Scores are neither probabilities nor diagnoses.",
        "- Effusion 0.71 (0.66 to 0.74 if mirrored or cropped; heat map highest on the patient's "
        "left, lower third of the film) [1.1].",
        "- Mass 0.53 (too close to 0.5 to count; 0.41 to 0.55 if mirrored or cropped, on both "
        "sides of 0.5) [1.2].",
        "- At or below 0.5: Nodule 0.20 [1.3].",
    ]
    assert "“pleural effusion”: box on the patient's left, lower third of the film" in answer
    assert "- “mass”: no box [" in answer
    assert answer.count("Where the phrase is seen") == 1, "one heading"
    assert answer.count("a box proves no finding") == 1
    assert "A box for" not in answer.partition("**Not looked for**")[2]
    assert answer.index("Where the phrase is seen") < answer.index("Cardiothoracic ratio about")


def test_the_bound_of_what_is_looked_for_is_said(tmp_path: Path):
    """Eight labels above 0.5: six heat maps as the tool draws them, boxes for the four highest."""
    names = ["Effusion", "Mass", "Nodule", "Edema", "Atelectasis", "Fibrosis", "Hernia", "Fracture"]
    scores = {name: 0.95 - number / 20 for number, name in enumerate(names)}
    tools = {tool.spec.name: tool for tool in pack().all()}
    metadata = {"labels": names[:6], "above_operating_point": names}
    scored = ok("Scored.", scores, **metadata)
    none = ok("", {"predictions": []}, phrase="x")
    tools["chest_xray_classifier"] = FakeTool("chest_xray_classifier", Labels, scored)
    tools["xray_phrase_grounding"] = FakeTool("xray_phrase_grounding", Phrase, none)
    events = ask(tmp_path, FakeRegistry(*tools.values()))
    started = [one for one in events if one.kind == "tool_started"]
    sought = [one.arguments["phrase"] for one in started if "grounding" in one.tool]
    assert sought == ["pleural effusion", "mass", "nodule", "pulmonary edema"]
    left = events[-1].answer.partition("**Not looked for**")[2]
    assert (
        "- A box for Atelectasis, Fibrosis, Hernia, Fracture: only the 4 highest scores were "
        "looked for.\n- A heat map for Hernia, Fracture: one is drawn for 6 labels at most."
    ) in left


def test_a_model_that_fails_is_not_asked_for_the_next_finding(tmp_path: Path):
    tools = {tool.spec.name: tool for tool in pack().all()}
    scored = ok("Scored.", {"Effusion": 0.7, "Mass": 0.6}, labels=["Effusion", "Mass"])
    broken = fails(ToolFailed("the model ran out of memory"))
    tools["chest_xray_classifier"] = FakeTool("chest_xray_classifier", Labels, scored)
    tools["xray_phrase_grounding"] = FakeTool("xray_phrase_grounding", Phrase, broken)
    events = ask(tmp_path, FakeRegistry(*tools.values()))
    assert [one.tool for one in events if one.kind == "tool_started"].count(
        "xray_phrase_grounding"
    ) == 1
    assert events[-1].answer.count("ran out of memory") == 1


class Labels(Strict):
    """Arguments of a classifier that was made up."""

    image_path: str
    labels: list[str] | None = None


@pytest.mark.slow
def test_the_demo_film_on_a_fresh_machine(tmp_path: Path, monkeypatch: Any, capsys: Any):
    """All of it as shipped: the embedded network, the demo study, no model."""
    pytest.importorskip("torch")
    from app.headless import runs

    monkeypatch.setenv("SIGHTLINE_HOME", str(tmp_path / "home"))
    assert runs.ask(QUESTION, [demo_paths()[0]], "offline", tmp_path / "out") == 0
    answer = capsys.readouterr().out
    head = (
        "Chest radiograph, PA, 2004-08-26\n\n**I cannot say what is abnormal, or that nothing is:**"
    )
    assert answer.startswith(head)
    assert "PA film" in answer
    assert answer.count("varies by") == 1
    assert answer.count("PixelSpacing") == 1
    assert answer.count("synthetic films") == 1
    assert answer.index("Cardiothoracic ratio about") < answer.index("Left lung") < len(answer)
    assert answer.index("Left lung") < answer.index("Not looked for")
