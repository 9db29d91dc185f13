"""How the tools of the large models are asked for in plain words."""

from __future__ import annotations

from typing import Any

import pytest

from app.agent.planning import Planner, Scene, ToolPlan, schema_of
from app.tools.registry import load_packs
from tests.support.fake_tools import DICOM_NOTE

PACKS = load_packs([]).without(["viewer"])
TOOLS = PACKS.all()
OTHER_NOTE = {**DICOM_NOTE, "id": "image-2", "path": "/studies/DOE_JANE/RG0.dcm"}
OPEN, OTHER = str(DICOM_NOTE["path"]), str(OTHER_NOTE["path"])


def plan(question: str, notes: Any = (DICOM_NOTE,)) -> list[tuple[str, dict[str, Any]]]:
    return [
        (call.tool, call.arguments)
        for call in Planner(PACKS.plans).planned_calls(question, notes, TOOLS)
    ]


@pytest.mark.parametrize(
    ("question", "tool", "arguments"),
    [
        (
            "Show a heatmap for the effusion.",
            "chest_xray_classifier",
            {"image_path": OPEN, "labels": ["Effusion"]},
        ),
        (
            "Does this show pneumonia or a nodule?",
            "chest_xray_classifier",
            {"image_path": OPEN, "labels": ["Pneumonia", "Nodule"]},
        ),
        ("Any abnormality?", "chest_xray_classifier", {"image_path": OPEN}),
        (
            "Wärmekarte für den Pleuraerguss bitte",
            "chest_xray_classifier",
            {"image_path": OPEN, "labels": ["Effusion"]},
        ),
        (
            "Draw a box around the left pleural effusion.",
            "xray_phrase_grounding",
            {"image_path": OPEN, "phrase": "left pleural effusion"},
        ),
        (
            'Please put a bounding box around "the right apical pneumothorax".',
            "xray_phrase_grounding",
            {"image_path": OPEN, "phrase": "the right apical pneumothorax"},
        ),
        (
            "Zeichne einen Kasten um den Rundherd.",
            "xray_phrase_grounding",
            {"image_path": OPEN, "phrase": "Rundherd"},
        ),
        (
            "What does CheXagent say about the heart?",
            "chest_xray_expert",
            {"image_paths": [OPEN], "prompt": "What does CheXagent say about the heart?"},
        ),
        (
            "Ask LLaVA-Med whether the tube lies well.",
            "llava_med_qa",
            {"image_path": OPEN, "question": "Ask LLaVA-Med whether the tube lies well."},
        ),
        (
            "I would like a second opinion on this film.",
            "chest_xray_expert",
            {"image_paths": [OPEN], "prompt": "I would like a second opinion on this film."},
        ),
        (
            "Generate a chest X-ray with cardiomegaly.",
            "chest_xray_generator",
            {"prompt": "chest X-ray with cardiomegaly"},
        ),
        ("Draft a report.", "chest_xray_report_generator", {"image_path": OPEN}),
    ],
)
def test_asked_for_in_plain_words(question: str, tool: str, arguments: dict[str, Any]):
    assert plan(question) == [(tool, arguments)]


def test_a_picture_can_be_generated_with_nothing_open():
    question = "Generate a PA chest X-ray with a small left effusion."
    assert plan(question, ()) == [
        ("chest_xray_generator", {"prompt": "PA chest X-ray with a small left effusion"})
    ]


@pytest.mark.parametrize(
    "question",
    [
        "The old report says that there is an effusion. Is the heart enlarged?",
        "Im Bericht steht nichts vom Herzen. Ist das Herz vergrößert?",
    ],
)
def test_a_report_that_is_there_is_not_drafted(question: str):
    assert [tool for tool, _ in plan(question)][-1] == "cardiothoracic_ratio"
    assert "chest_xray_report_generator" not in [tool for tool, _ in plan(question)]


@pytest.mark.parametrize(
    ("notes", "planned"),
    [
        ((DICOM_NOTE, OTHER_NOTE), [{"image_path": OPEN, "prior_path": OTHER}]),
        ((DICOM_NOTE,), []),
        ((DICOM_NOTE, {**OTHER_NOTE, "patient": 2}), []),
        ((DICOM_NOTE, {**OTHER_NOTE, "modality": "US"}), []),
        (
            (DICOM_NOTE, {**OTHER_NOTE, "id": "image-3", "modality": "US"}, OTHER_NOTE),
            [{"image_path": OPEN, "prior_path": OTHER}],
        ),
        (
            (DICOM_NOTE, {**OTHER_NOTE, "id": "image-3", "patient": 2}, OTHER_NOTE),
            [{"image_path": OPEN, "prior_path": OTHER}],
        ),
        ((DICOM_NOTE, OTHER_NOTE, {**OTHER_NOTE, "id": "image-3"}), []),
        # Of several the latest earlier one in the same view, and never another patient's.
        (
            (
                DICOM_NOTE,
                {**OTHER_NOTE, "id": "image-3", "days_before_current": 400},
                {**OTHER_NOTE, "id": "image-4", "days_before_current": 2, "patient": 2},
                {**OTHER_NOTE, "id": "image-5", "days_before_current": 2, "view": "lateral"},
                {**OTHER_NOTE, "days_before_current": 30},
            ),
            [{"image_path": OPEN, "prior_path": OTHER}],
        ),
    ],
)
def test_the_earlier_film_is_the_other_one_that_is_open(notes: Any, planned: Any):
    if PACKS.get("chest_xray_compare") is None:
        pytest.skip("the comparison is not there yet")
    found = plan("Compare this with the previous film.", notes)
    assert [arguments for tool, arguments in found if tool == "chest_xray_compare"] == planned
    if not planned:
        scene = Scene(notes, {tool.spec.name: schema_of(tool) for tool in TOOLS}, (), PACKS.plans)
        steps = Planner().interpret("Compare this with the previous film.", scene).plan
        assert isinstance(steps, ToolPlan)
        several = sum(note.get("patient") is None for note in notes) > 2
        wanted = "prior_path" if several else "no prior of this patient is open"
        assert any(wanted in step.skip for step in steps.steps)


@pytest.mark.parametrize(
    ("question", "other", "exchanged"),
    [
        ("Compare with the prior.", {"later_than_current": True}, True),
        ("Has the nodule grown?", {"later_than_current": True}, True),
        ("Compare with the prior.", {"days_before_current": 30}, False),
        ("What has changed since image-2?", {"days_before_current": 30}, False),
        # Whoever names the prior is told where that film is the newer one.
        ("Compare with image-2 as the prior.", {"later_than_current": True}, False),
        ("Compare with image-2 as the prior.", {"days_before_current": 30}, False),
        ("Vergleiche mit Bild 2 als Voraufnahme.", {"later_than_current": True}, False),
    ],
)
def test_films_are_in_the_order_of_their_dates_unless_the_question_names_the_prior(
    question: str, other: dict[str, Any], exchanged: bool
):
    found = dict(plan(question, (DICOM_NOTE, {**OTHER_NOTE, **other})))["chest_xray_compare"]
    pair = (OTHER, OPEN) if exchanged else (OPEN, OTHER)
    assert (found["image_path"], found["prior_path"]) == pair


@pytest.mark.parametrize("tool", ["llava_med_qa", "medgemma_qa"])
def test_a_question_that_needs_no_image_needs_none_open(tool: str):
    asked = f'Run {tool} with: question="What does Kerley B mean?"'
    assert plan(asked, ()) == [(tool, {"question": "What does Kerley B mean?"})]
    ((_, arguments),) = plan(asked)
    assert OPEN in str(arguments)
    words = {"llava_med_qa": "LLaVA-Med", "medgemma_qa": "MedGemma"}[tool]
    text = f"Ask {words} what Kerley lines are."
    assert plan(text, ()) == [(tool, {"question": text})]


@pytest.mark.parametrize(
    ("question", "arguments"),
    [
        (
            "Ask CheXagent to locate the left pleural effusion.",
            {"task": "locate", "prompt": "left pleural effusion"},
        ),
        (
            "CheXagent: locate any rib fracture",
            {"task": "locate", "prompt": "rib fracture"},
        ),
        (
            "Ask CheXagent for the progression of the effusion.",
            {"task": "progression", "prompt": "effusion"},
        ),
        (
            "Ask CheXagent whether there is an effusion, and if so, locate it.",
            {"prompt": "Ask CheXagent whether there is an effusion, and if so, locate it."},
        ),
    ],
)
def test_chexagent_is_asked_as_one_of_its_tasks_where_the_words_say_so(
    question: str, arguments: dict[str, Any]
):
    ((tool, found),) = plan(question)
    assert tool == "chest_xray_expert"
    assert found == {"image_paths": [OPEN], **arguments}


def test_a_free_question_on_a_slice_goes_to_a_model_that_takes_any_image():
    slice_note = {**DICOM_NOTE, "modality": "CT", "body_part": ""}
    question = "How severe is the emphysema?"
    assert [tool for tool, _ in plan(question)] == ["chest_xray_expert"]
    assert [tool for tool, _ in plan(question, (slice_note,))] == ["llava_med_qa"]
    # Whoever is asked by name is not replaced: the tool itself refuses, or asks.
    named = plan("Ask CheXagent how severe the emphysema is.", (slice_note,))
    assert "llava_med_qa" not in [tool for tool, _ in named]


@pytest.mark.parametrize(
    ("question", "tools"),
    [
        ("From the two points I clicked, compute a mask.", ["medsam2_segment"]),
        ("The thing under my click: outline it.", ["medsam2_segment"]),
        (
            "Segment what I marked and outline the heart.",
            ["medsam2_segment", "chest_xray_segmentation"],
        ),
    ],
)
def test_to_outline_what_is_marked_outlines_no_organ_that_nobody_names(
    question: str, tools: list[str]
):
    assert [tool for tool, _ in plan(question)] == tools


def test_what_is_quoted_is_what_a_box_is_drawn_round():
    question = "Localise 'blunting of the left costophrenic angle' with a bounding box."
    ((tool, arguments),) = plan(question)
    assert tool == "xray_phrase_grounding"
    assert arguments["phrase"] == "blunting of the left costophrenic angle"


@pytest.mark.parametrize("question", ["W350 L50", "ww 350 wl 50", "L50 W350", "W 350 L 50"])
def test_a_window_may_be_given_by_letters(question: str):
    ((tool, arguments),) = plan(question)
    assert tool == "dicom_processor"
    assert (arguments["window_center"], arguments["window_width"]) == (50, 350)


def test_organs_of_another_request_are_not_outlined():
    calls = dict(plan("Is the heart enlarged? Also outline the lungs."))
    assert calls["chest_xray_segmentation"]["organs"] == ["Left Lung", "Right Lung"]
    alone = dict(plan("Measure the heart. Then outline it."))
    assert "Heart" in alone["chest_xray_segmentation"]["organs"]
