"""The microscopy pack's plan: each question of document 002 of the seeds, and its chain."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tifffile

from app.agent.llm.base import ModelFailed
from app.agent.planning import Intent, MissingValue, Planner, Scene, ToolPlan, schema_of
from app.agent.planning.plan import OpenImage, Output, Step
from app.tools.microscopy import names
from app.tools.microscopy.plan import PLAN as OWN
from app.tools.microscopy.plan import PLAN as REAL_PLAN
from app.tools.pack_plan import Plans
from app.tools.registry import load_packs
from tests.routing.table import registry_of
from tests.support import cells_pack as cells
from tests.support.cells_plan import COUNTING, FULL, PLAN
from tests.support.scripted_model import call as scripted
from tests.support.scripted_model import says
from tests.unit.agent.test_enforcing import play
from tests.unit.tools.support import Bench

TIFF = {"id": "image-1", "path": "/open/1.tif", "kind": "tiff", "content": "image"}
PNG = {"id": "image-1", "path": "/open/1.png", "kind": "picture", "content": "image"}
FILM = {"id": "image-1", "path": "/open/1.dcm", "kind": "dicom", "content": "image",
        "modality": "DX"}  # fmt: skip
DEEP = cells.CHAIN
COUNT = (cells.CELLS,)


def intent(question: str, note: dict[str, Any]) -> Intent:
    tools = {tool.spec.name: schema_of(tool) for tool in cells.cells_registry().all()}
    return Planner().interpret(question, Scene((note,), tools, plans=Plans((PLAN,))))


def chain(question: str, note: dict[str, Any] = TIFF) -> tuple[str, ...]:
    plan = intent(question, note).plan
    ran: dict[int, str] = {}
    for number, step in enumerate(plan.steps if isinstance(plan, ToolPlan) else (), start=1):
        sources = list(step.sources())
        fed = all(item.step in ran for item in sources if isinstance(item, Output))
        if not step.skip and fed and not any(isinstance(item, MissingValue) for item in sources):
            ran[number] = step.tool
    return tuple(ran.values())


# Sections 2.1, 2.2, 4.1, 7 and 9 of the document.
STATED = [
    ("how many cells", COUNT),
    ("count organoids", (cells.ORGANOIDS,)),
    ("number of cells", COUNT),
    ("how many nuclei are there?", (cells.NUCLEI,)),
    ("quantity of cells", COUNT),
    ("total cells", COUNT),
    ("what cell states", DEEP),
    ("analyze cell states", DEEP),
    ("compare groups", DEEP),
    ("what changes", DEEP),
    ("Which cell states differ between treatment and control?", DEEP),
]


@pytest.mark.parametrize(("question", "tools"), STATED)
def test_a_question_of_the_document_gets_its_chain(question: str, tools: tuple[str, ...]):
    assert chain(question) == tools


# `_requires_full_cell_state_analysis`, section 2.2: each keyword by itself.
FULL_WORDS = """
    cell state, cell states, cluster, clustering, umap, embedding, compare, comparison, difference,
    change, group, treatment, control, phenotype, morphological state
"""


@pytest.mark.parametrize("word", [" ".join(w.split()) for w in FULL_WORDS.split(",")])
def test_each_keyword_of_full_analysis_asks_for_all_of_it(word: str):
    assert chain(f"Tell me about the {word} here") == DEEP


@pytest.mark.parametrize("word", ["analyze", "analyse"])
def test_an_analysis_of_cells_is_a_full_one(word: str):
    assert chain(f"{word} the cells") == DEEP


@pytest.mark.parametrize("word", ["how many", "count the", "number of", "quantity of", "total"])
def test_each_keyword_of_counting_asks_for_a_segmenter_alone(word: str):
    assert chain(f"{word} cells") == COUNT


def test_comparison_wins_over_counting_and_counting_over_states():
    assert chain("how many cells in treatment and control?") == DEEP
    assert chain("count the cells and compare the groups") == DEEP
    counted = intent("how many cells for the analysis of cells?", TIFF)
    assert COUNTING in counted.kinds
    assert FULL not in counted.kinds
    assert counted.wanted == COUNT


def test_states_are_not_counted_by_a_segmenter():
    assert chain("how many cell states are there?") == DEEP
    assert chain("how many clusters do the cells form?") == DEEP


@pytest.mark.parametrize(
    "question",
    [
        "account for the background",
        "On what account was this taken?",
        "The discount applies to all cells of the table",
        "What should I do with these data?",
    ],
)
def test_what_only_contains_a_keyword_counts_nothing(question: str):
    assert not set(cells.SEGMENTERS) & set(chain(question))


def test_measures_of_form_need_a_segmenter_and_a_plot():
    assert chain("What is the size distribution of the nuclei?") == (
        cells.NUCLEI,
        cells.VISUALIZER,
    )


def test_segmentation_and_a_count_force_no_crop():
    for question in ("segment the cells", "outline the nuclei", "how many cells?"):
        assert cells.CROPPER not in chain(question)


def test_a_radiograph_gets_none_of_it():
    for question, _ in STATED:
        assert chain(question, FILM) == ()


def test_words_of_other_packs_count_on_micrographs_only():
    for question in ("what changes", "compare", "segment this"):
        assert chain(question, TIFF)
        assert chain(question, PNG) == ()


def test_the_plan_names_no_tool_that_the_pack_does_not_have():
    known = set(names.OTHER_NAMES)
    assert {rule.tool for rule in OWN.tools} == known
    assert all(re.fullmatch(r"[A-Z]\w+_Tool", one[0]) for one in names.OTHER_NAMES.values())


STRANGERS = [
    row
    for name in ("strangers.toml", "strangers_again.toml")
    for row in tomllib.loads((Path(__file__).parent / name).read_text("utf-8"))["rows"]
]


@pytest.mark.parametrize("row", STRANGERS, ids=[row["id"] for row in STRANGERS])
def test_a_phrasing_of_somebody_who_knew_no_rule_gets_its_chain(row: dict[str, Any]):
    """Of these 40, the rules as they stood got 34; what was missing was mended by kinds."""
    seed = {name: others[0] for name, others in names.OTHER_NAMES.items()}
    right = [tuple(seed[tool] for tool in one) for one in (row["tools"], *row.get("or", ()))]
    assert chain(row["text"], TIFF if row["scene"] == "cells_tiff" else PNG) in right


@pytest.mark.parametrize(
    ("question", "depth"),
    [
        ("count the nuclei in all slices", "all"),
        ("how many cells at each depth of the stack?", "all"),
        ("count nuclei in every z plane", "all"),
        ("Zähle die Zellkerne in allen Schichten", "all"),
        ("how many cells are there at each time point?", "all"),
        ("count the cells on the maximum projection", "maximum"),
        ("MIP, then count nuclei", "maximum"),
        ("Zellkerne in der Maximumprojektion zählen", "maximum"),
        ("how many nuclei are there?", None),
    ],
)
def test_words_for_the_depths_of_a_stack(question: str, depth: str | None):
    packs = load_packs()
    tools = {tool.spec.name: schema_of(tool) for tool in packs.all()}
    read = Planner().interpret(question, Scene(({**TIFF, "depths": 9},), tools, plans=packs.plans))
    assert isinstance(read.plan, ToolPlan)
    (step,) = read.plan.steps
    assert step.tool in names.SEGMENTERS
    assert step.arguments.get("depth") == depth


def test_the_caption_comes_before_any_other_tool_that_a_model_calls_next(tmp_path: Path):
    """Enforcement 3 of the document: a recommendation that overrides another choice."""
    played = play(
        tmp_path,
        "Analyse the cell states",
        [scripted(cells.CELLS, image_path="image-1")],
        [scripted(cells.CROPPER, image_path="image-1")],
        [scripted(cells.INFO, image_path="image-1")],
        says("done"),
    )
    # By their starts: the last two need nothing of each other and run side by side.
    started = [event.tool for event in played.events if event.kind == "tool_started"]
    assert started == [*DEEP, cells.INFO]
    rules = played.overrides
    assert ("successor", cells.INFO, cells.ANALYZER) in rules
    assert ("successor", cells.INFO, cells.CAPTIONER) in rules


def test_the_caption_is_not_forced_on_a_model_that_answers(tmp_path: Path):
    played = play(
        tmp_path,
        "Analyse the cell states",
        [scripted(cells.CELLS, image_path="image-1")],
        [scripted(cells.CROPPER, image_path="image-1")],
        says("done"),
        says("done"),
        says("done"),
    )
    assert played.ran == list(DEEP[:-1])


def test_an_override_says_what_for_and_after_what(tmp_path: Path):
    played = play(
        tmp_path,
        "Analyse the cell states",
        [scripted(cells.CELLS, image_path="image-1")],
        [scripted(cells.CROPPER, image_path="image-1")],
        [scripted(cells.VISUALIZER, data_path="")],
        says("done"),
    )
    item = next(one for one in played.plan[-1].overrides if one.instead == cells.ANALYZER)
    assert item.reason.startswith(f"After {cells.CROPPER} comes {cells.ANALYZER}")
    assert item.sub_goal == "finds the states of the cells"
    assert item.context == f"results so far: {cells.CELLS}, {cells.CROPPER}"


def test_rules_answer_where_the_model_fails(tmp_path: Path):
    played = play(tmp_path, "How many cells?", [ModelFailed("it broke", remedy="Ask again.")])
    assert played.ran == [cells.CELLS]
    assert played.events[-1].kind == "run_finished"
    assert played.events[-1].by_rules
    assert "The language model failed, so rules answered in its place. it broke." in (
        played.events[-1].answer
    )


def test_rules_go_on_where_the_model_fails_after_a_call(tmp_path: Path):
    played = play(
        tmp_path,
        "Which cell states are there?",
        [scripted(cells.CELLS, image_path="image-1")],
        [ModelFailed("it broke", remedy="Ask again.")],
    )
    assert played.ran == list(DEEP)


def both(question: str, note: dict[str, Any]) -> tuple[str, ...]:
    """Return what would run with the chest pack installed as well."""
    registry = registry_of("all")
    tools = {tool.spec.name: schema_of(tool) for tool in registry.all()}
    plan = Planner().interpret(question, Scene((note,), tools, plans=registry.plans)).plan
    steps = plan.steps if isinstance(plan, ToolPlan) else ()
    return tuple(step.tool for step in steps if not step.skip)


@pytest.mark.parametrize("question", ["segment this", "segment the image"])
def test_words_that_two_packs_use_mean_the_pack_whose_image_is_shown(question: str):
    assert both(question, TIFF) == COUNT
    assert both(question, PNG) == both(question, FILM) == ("chest_xray_segmentation",)


def test_what_only_another_pack_works_on_asks_for_that_pack():
    assert both("segment the lungs", TIFF) == ("chest_xray_segmentation",)
    assert both("segment the nuclei", TIFF) == (cells.NUCLEI,)


def test_on_a_micrograph_to_look_is_to_describe_it():
    assert both("What do you see?", TIFF) == (cells.CAPTIONER,)
    assert cells.CAPTIONER not in both("What do you see?", FILM)


def grouped(folder: Path) -> Bench:
    """Return a bench with two open images of each of two groups."""
    bench = Bench(folder)
    for name in ("control_1", "control_2", "drug_1", "drug_2"):
        tifffile.imwrite(folder / f"{name}.tif", np.zeros((8, 8), np.uint16))
        bench.open(folder / f"{name}.tif")
    return bench


def planned(question: str, bench: Bench) -> list[Step]:
    registry = load_packs(())
    tools = {tool.spec.name: schema_of(tool) for tool in registry.all()}
    notes = tuple(bench.images.notes(remote=False))
    plan = Planner().interpret(question, Scene(notes, tools, plans=registry.plans)).plan
    assert isinstance(plan, ToolPlan)
    return list(plan.steps)


@pytest.mark.parametrize(
    "question",
    [
        "Which cell states differ between treatment and control?",
        "compare the groups",
        "What changes against the control?",
        "Welche Zellzustände unterscheiden sich zwischen den Gruppen?",
    ],
)
def test_a_comparison_is_about_the_images_of_all_groups(question: str, tmp_path: Path):
    steps = planned(question, grouped(tmp_path))
    assert [step.tool for step in steps] == [
        "for_each_image",
        *(names.CROPPER, names.ANALYZER, names.VISUALIZER, names.CAPTIONER),
    ]
    assert steps[0].arguments["tool"] == names.CELLS
    assert steps[1].arguments["image_paths"] == [OpenImage(f"image-{n}") for n in range(1, 5)]
    assert not any(step.skip for step in steps)


def test_a_comparison_that_names_an_image_is_about_that_one(tmp_path: Path):
    steps = planned("Which cell states are in image-2, treatment or control?", grouped(tmp_path))
    assert steps[0].tool == names.CELLS


def test_a_count_is_about_the_shown_image_whatever_groups_are_open(tmp_path: Path):
    bench = grouped(tmp_path)
    assert [step.tool for step in planned("How many cells?", bench)] == [names.CELLS]
    each = planned("How many cells in each image?", bench)
    assert [step.tool for step in each] == ["for_each_image"]


def test_a_question_may_call_tools_by_the_names_of_the_document(tmp_path: Path):
    bench = grouped(tmp_path)
    asked = "Run Nuclei_Segmenter_Tool, then Single_Cell_Cropper_Tool"
    assert [step.tool for step in planned(asked, bench)] == [names.NUCLEI, names.CROPPER]
    left_out = planned("Cell states of image-1, without Image_Captioner_Tool", bench)
    assert left_out[-1].tool == names.VISUALIZER


@pytest.mark.parametrize(
    ("question", "channel"),
    [
        ("how many nuclei are in the GFP channel?", "GFP"),
        ("Wie viele Zellkerne sind im DAPI-Kanal?", "DAPI"),
        ("Wie viele Zellkerne sind im grünen Kanal?", "green"),
        ("count the nuclei in the second channel", "2"),
        ("count the nuclei in channel 3", "3"),
        ("how many nuclei are there?", None),
    ],
)
def test_a_channel_that_a_question_names_is_the_one_segmented(question: str, channel: str | None):
    tools = {tool.spec.name: schema_of(tool) for tool in load_packs().all()}
    plan = Planner().interpret(question, Scene((TIFF,), tools, plans=Plans((REAL_PLAN,)))).plan
    assert isinstance(plan, ToolPlan)
    assert plan.steps[0].tool == "nuclei_segmenter"
    assert plan.steps[0].arguments.get("channel") == channel
