"""What the seed's planner did right, on a made-up microscopy pack with real small pictures.

The pack's data are all that is known of its tools. Each behaviour is shown for rules alone, and
where a model plans, for one that tries to do otherwise.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from app.agent.llm.base import LanguageModel
from app.agent.loop.agent_loop import AgentLoop
from app.agent.loop.offline_model import OfflineModel
from tests.support.cells_pack import (
    ANALYZER,
    CAPTIONER,
    CELLS,
    CHAIN,
    CROPPER,
    GENERALIST,
    INFO,
    NUCLEI,
    ORGANOIDS,
    PREPROCESSOR,
    THRESHOLD,
    VISUALIZER,
    cells_registry,
    micrograph,
    open_pictures,
)
from tests.support.fake_tools import collect, request
from tests.support.scripted_model import ScriptedModel, call, says

IMAGE = "image-1"


@dataclass(frozen=True)
class Run:
    """What a run did."""

    events: list[Any]

    @property
    def tools(self) -> tuple[str, ...]:
        """The tools that ran well, in the order in which they ended."""
        ended = (event for event in self.events if event.kind == "tool_finished")
        return tuple(event.tool for event in ended if event.status == "ok")

    @property
    def asked(self) -> tuple[str, ...]:
        """All calls of tools that began."""
        return tuple(event.tool for event in self.events if event.kind == "tool_started")

    @property
    def plan(self) -> Any:
        """The plan as it ended."""
        return [event for event in self.events if event.kind == "plan_updated"][-1]

    @property
    def rules(self) -> list[tuple[str, str, str]]:
        """What was overridden: (rule, tool, what ran instead)."""
        return [(item.rule, item.tool, item.instead) for item in self.plan.overrides]

    @property
    def answer(self) -> str:
        """The answer."""
        assert self.events[-1].kind == "run_finished"
        return self.events[-1].answer

    def output(self, tool: str) -> dict[str, Any]:
        """What a tool gave at last."""
        ended = [e for e in self.events if e.kind == "tool_finished" and e.tool == tool]
        return ended[-1].output


class Laboratory:
    """Asks about a micrograph with six cells."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.picture = micrograph(folder / "well.png", cells=6)

    def ask(self, question: str, model: LanguageModel | None = None, **options: Any) -> Run:
        """One run; by rules alone without a model."""
        registry = cells_registry()
        images, notes = open_pictures(self.folder, self.picture)
        loop = AgentLoop(
            model or OfflineModel(registry.plans), registry, plans=registry.plans, **options
        )
        asked = request(self.folder, question, images=images, notes=notes)
        return Run(asyncio.run(collect(loop, asked)))


@pytest.fixture
def laboratory(tmp_path: Path) -> Laboratory:
    return Laboratory(tmp_path)


@pytest.mark.parametrize(
    ("question", "segmenter", "count"),
    [
        ("How many cells are there?", CELLS, 6),
        ("Count the nuclei.", NUCLEI, 6),
        ("number of organoids", ORGANOIDS, 3),
        ("Wie viele Zellkerne sind es?", NUCLEI, 6),
    ],
)
def test_a_counting_question_segments_and_stops(
    laboratory: Laboratory, question: str, segmenter: str, count: int
):
    run = laboratory.ask(question)
    assert run.asked == run.tools == (segmenter,)
    assert run.output(segmenter)["count"] == count
    assert (run.plan.goal, run.rules) == ("done", [])


def test_where_rules_are_certain_of_a_count_no_model_is_asked(laboratory: Laboratory):
    with ScriptedModel() as model:  # a script without a turn: any request fails
        run = laboratory.ask("How many cells are there?", model, rules_first=True)
    assert run.tools == (CELLS,)
    assert "6" in run.answer


def test_a_model_that_counts_is_not_made_to_crop(laboratory: Laboratory):
    with ScriptedModel([call(CELLS, image_path=IMAGE)], says("There are six cells.")) as model:
        run = laboratory.ask("How many cells are there?", model)
    assert run.tools == (CELLS,)
    assert run.rules == []


def in_their_order(tools: Sequence[str]) -> tuple[str, ...]:
    """Return the tools with the captioner last: it needs no other, so it runs beside the first."""
    assert tools.count(CAPTIONER) == 1
    return (*(one for one in tools if one != CAPTIONER), CAPTIONER)


@pytest.mark.parametrize(
    "question", ["Analyse the cell states.", "Which phenotypes are there?", "Make a UMAP."]
)
def test_a_full_analysis_goes_all_the_way_to_the_caption(laboratory: Laboratory, question: str):
    run = laboratory.ask(question)
    assert in_their_order(run.tools) == CHAIN
    assert run.output(CROPPER)["crops"] == 6
    assert run.output(ANALYZER)["states"] == 2
    assert run.plan.goal == "done"


def test_the_segmenter_of_a_full_analysis_is_the_one_that_is_spoken_of(laboratory: Laboratory):
    run = laboratory.ask("Cluster the nuclei by phenotype.")
    assert in_their_order(run.tools) == (NUCLEI, *CHAIN[1:])


def test_a_preprocessor_that_is_asked_for_feeds_the_segmenter(laboratory: Laboratory):
    run = laboratory.ask("Denoise the picture, then count the cells.")
    assert run.tools == (PREPROCESSOR, CELLS)
    made = run.output(PREPROCESSOR)["image_path"]
    started = [event for event in run.events if event.kind == "tool_started"]
    assert started[-1].arguments["image_path"] == made


def test_after_the_cropper_of_a_full_analysis_comes_the_analyser(laboratory: Laboratory):
    """The fault that the seed was mended for: its model went on to the picture at once."""
    with ScriptedModel(
        [call(CELLS, image_path=IMAGE)],
        [call(CROPPER, image_path=IMAGE)],
        [call(VISUALIZER)],
        says("Done."),
    ) as model:
        run = laboratory.ask("Analyse the cell states.", model)
    assert run.tools[:4] == CHAIN[:4]
    assert ("successor", VISUALIZER, ANALYZER) in run.rules
    (reason,) = [item.reason for item in run.plan.overrides if item.instead == ANALYZER]
    assert CROPPER in reason
    assert "say nothing of their states" in reason


def test_after_the_analyser_comes_the_visualiser_though_the_model_would_answer(
    laboratory: Laboratory,
):
    with ScriptedModel(
        [call(CELLS, image_path=IMAGE)],
        [call(CROPPER, image_path=IMAGE)],
        [call(ANALYZER)],
        says("Two states."),
        says("Two states, drawn."),
    ) as model:
        run = laboratory.ask("Analyse the cell states.", model)
    assert run.tools == CHAIN[:4]
    assert [(rule, instead) for rule, _, instead in run.rules] == [("successor", VISUALIZER)]
    assert run.plan.goal == "done"


def test_the_caption_is_recommended_not_forced(laboratory: Laboratory):
    with ScriptedModel(
        [call(CELLS, image_path=IMAGE)],
        [call(CROPPER, image_path=IMAGE)],
        [call(ANALYZER)],
        [call(VISUALIZER)],
        says("Two states."),
    ) as model:
        run = laboratory.ask("Analyse the cell states.", model)
    assert run.tools == CHAIN[:4]
    assert run.rules == []
    assert run.plan.goal == "done"


@pytest.mark.parametrize(
    "question",
    [
        "Compare the number of cells between treatment and control.",
        "How many cells differ between the two groups?",
        "Count the cells: what changes after treatment?",
    ],
)
def test_comparison_words_win_over_counting_words(laboratory: Laboratory, question: str):
    assert in_their_order(laboratory.ask(question).tools) == CHAIN


def test_segmentation_alone_forces_no_crop(laboratory: Laboratory):
    run = laboratory.ask("Segment the cells.")
    assert (run.tools, run.rules) == ((CELLS,), [])
    with ScriptedModel([call(CELLS, image_path=IMAGE)], says("Outlined.")) as model:
        run = laboratory.ask("Analyse the cell states.", model)
    # Even in a full analysis the model alone decides whether it crops; the goal says what lacks.
    assert CROPPER not in [instead for _, _, instead in run.rules]


def test_cropping_alone_forces_no_analysis(laboratory: Laboratory):
    run = laboratory.ask("Segment the cells and crop each one.")
    assert (run.tools, run.rules) == ((CELLS, CROPPER), [])


def test_any_one_segmenter_suffices_for_the_cropper(laboratory: Laboratory):
    with ScriptedModel(
        [call(NUCLEI, image_path=IMAGE)], [call(CROPPER, image_path=IMAGE)], says("Cropped.")
    ) as model:
        run = laboratory.ask("Please crop the nuclei.", model)
    assert (run.tools, run.rules) == ((NUCLEI, CROPPER), [])


def test_a_cropper_without_a_segmenter_gets_one_first(laboratory: Laboratory):
    with ScriptedModel([call(CROPPER, image_path=IMAGE)], says("Cropped.")) as model:
        run = laboratory.ask("Please crop the nuclei.", model)
    assert run.tools == (NUCLEI, CROPPER)
    assert run.rules == [("dependency", CROPPER, NUCLEI)]


def test_the_excluded_tool_never_runs_not_even_by_name(laboratory: Laboratory):
    assert laboratory.ask(f"Run {GENERALIST}.").tools == ()
    with ScriptedModel([call(GENERALIST, image_path=IMAGE)], says("I can't.")) as model:
        run = laboratory.ask(f"Run {GENERALIST}.", model)
    assert run.tools == ()
    assert [(rule, tool) for rule, tool, _ in run.rules] == [("excluded", GENERALIST)]


def test_the_low_tool_gives_way_unless_it_is_named(laboratory: Laboratory):
    with ScriptedModel([call(THRESHOLD, image_path=IMAGE)], says("Outlined.")) as model:
        run = laboratory.ask("Segment the cells.", model)
    assert run.tools == (CELLS,)
    assert run.rules == [("low_priority", THRESHOLD, CELLS)]
    assert laboratory.ask(f"Use {THRESHOLD}.").tools == (THRESHOLD,)


def test_what_the_question_leaves_out_does_not_run(laboratory: Laboratory):
    run = laboratory.ask("Analyse the cell states, but no caption.")
    assert run.tools == CHAIN[:4]
    with ScriptedModel(
        [call(CELLS, image_path=IMAGE)],
        [call(CROPPER, image_path=IMAGE)],
        says("Six cells."),
    ) as model:
        run = laboratory.ask("Only segment the cells, don't crop them.", model)
    assert run.tools == (CELLS,)
    assert ("left_out", CROPPER, "") in run.rules


def test_an_empty_count_leads_to_a_look_and_one_retry(laboratory: Laboratory):
    with ScriptedModel(
        [call(NUCLEI, image_path=IMAGE, channel="Hoechts")], says("Six nuclei.")
    ) as model:
        run = laboratory.ask("How many nuclei are there?", model)
    assert run.tools == (NUCLEI, INFO, NUCLEI)
    assert run.output(NUCLEI)["count"] == 6
    states = [(step["tool"], step["state"]) for step in run.plan.steps]
    assert states == [(NUCLEI, "incomplete"), (INFO, "done"), (NUCLEI, "done")]
    assert run.plan.goal == "done"


def test_where_nothing_is_near_the_goal_is_incomplete_and_says_what_there_is(
    laboratory: Laboratory,
):
    with ScriptedModel([call(NUCLEI, image_path=IMAGE, channel="DAPI")], says("None.")) as model:
        run = laboratory.ask("How many nuclei are there?", model)
    assert run.tools == (NUCLEI, INFO)
    assert run.plan.goal == "incomplete"
    verdicts = " ".join(step.get("verdict", "") for step in run.plan.steps)
    assert "Hoechst" in verdicts + run.plan.goal_why


@pytest.mark.parametrize("question", ["I discount that; ask the accountant.", "Good morning"])
def test_no_rule_and_nothing_left_to_do_are_different_answers(
    laboratory: Laboratory, question: str
):
    run = laboratory.ask(question)
    assert run.asked == ()
    counted = laboratory.ask("How many cells are there?")
    assert counted.asked == (CELLS,)
    assert run.answer != counted.answer
    # What no rule knows goes to the model, also where rules come first.
    with ScriptedModel(says("Good morning to you.")) as model:
        assert "morning" in laboratory.ask(question, model, rules_first=True).answer


def test_a_caption_can_be_asked_for_by_itself(laboratory: Laboratory):
    assert laboratory.ask("Describe the picture.").tools == (CAPTIONER,)
