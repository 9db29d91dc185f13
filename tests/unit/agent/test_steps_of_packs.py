"""Commands to the viewer and what other packs do, in one question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache, partial
from typing import Any

import pytest

from app.agent.messages import Message
from app.agent.planning import Planner, Scene, ToolPlan, schema_of
from app.agent.planning.plan import Decision, OpenImage, Output, Reply, Step
from app.tools import chest, general, viewer
from app.tools.registry import Registry

OUTLINE, RATIO, COMPARE = "chest_xray_segmentation", "cardiothoracic_ratio", "chest_xray_compare"
LUNGS = ["Left Lung", "Right Lung"]


@cache
def registry() -> Registry:
    """The packs that a radiograph is asked about."""
    made = Registry()
    for pack in (general, viewer, chest):
        pack.register(made)
    return made


def film(number: int, date: str) -> Mapping[str, Any]:
    """The note on an open radiograph."""
    return {
        "id": f"image-{number}",
        "path": f"/open/{number}.dcm",
        "kind": "dicom",
        "content": "image",
        "modality": "DX",
        "view": "PA",
        "rows": 1024,
        "columns": 1024,
        "frames": 1,
        "study_date": date,
    }


def decided(
    text: str, *findings: str, of_prior: Sequence[str] = (), before: Sequence[str] = ()
) -> Decision:
    """The plan for a question with two radiographs open, or the reply.

    `before` are the questions before it in the conversation, and answers, which begin with "-".
    """
    scene = Scene(
        (film(1, "2024-03-01"), film(2, "2022-03-01")),
        {tool.spec.name: schema_of(tool) for tool in registry().all()},
        shown={
            "viewports": [
                {"viewport": 1, "place": "left", "image": "image-1", "study": "current"},
                {
                    "viewport": 2,
                    "place": "right",
                    "image": "image-2",
                    "study": "prior",
                    "labels": of_prior,
                },
            ],
            "findings": [{"label": one} for one in findings],
        },
        earlier=tuple(
            Message(role="assistant" if one.startswith("-") else "user", text=one) for one in before
        ),
    )
    return Planner(registry().plans).interpret(text, scene).plan


def planned(text: str, *findings: str) -> list[tuple[str, dict[str, Any]]]:
    """The tools that run for a question, and their arguments but the images."""
    plan = decided(text, *findings)
    assert isinstance(plan, ToolPlan), plan
    assert not plan.notes
    return [
        (
            step.tool,
            {
                name: value
                for name, value in step.arguments.items()
                if not isinstance(value, OpenImage)
            },
        )
        for step in plan.steps
    ]


def heart_zoom() -> list[tuple[str, dict[str, Any]]]:
    """The steps that outline the heart and zoom to it."""
    return [(OUTLINE, {"organs": ["Heart"]}), ("viewer_zoom", {"to": "heart"})]


@pytest.mark.parametrize(
    "text",
    [
        "measure the heart, then zoom to it",
        "is the heart enlarged? zoom to it",
        "measure the cardiothoracic ratio, then zoom to the heart",
    ],
)
def test_what_is_measured_is_outlined_to_zoom_to_it(text: str) -> None:
    assert planned(text) == [(RATIO, {}), *heart_zoom()]


def test_a_finding_that_is_there_is_not_outlined_again() -> None:
    assert planned("measure the heart, then zoom to it", "Heart") == [(RATIO, {}), heart_zoom()[1]]


def test_german_verbs_before_dann_are_read() -> None:
    steps = planned("miss das Herz und zoome dann darauf")
    assert steps == [(RATIO, {}), heart_zoom()[0], ("viewer_zoom", {"to": "herz"})]


def test_all_steps_of_a_long_plan_are_kept() -> None:
    assert planned("outline the lungs, then go to 2x2, then invert and hide the lungs") == [
        (OUTLINE, {"organs": LUNGS}),
        ("viewer_layout", {"layout": "2x2"}),
        ("viewer_command", {"command": "invert"}),
        ("viewer_findings", {"action": "hide", "which": "lungs"}),
    ]


def test_it_is_what_was_outlined() -> None:
    assert planned("outline the heart, then hide it") == [
        (OUTLINE, {"organs": ["Heart"]}),
        ("viewer_findings", {"action": "hide", "which": "heart"}),
    ]


@pytest.mark.parametrize(
    ("text", "which"),
    [
        ("outline both lungs, hide the right one", "right lung"),
        ("outline the lungs and hide the left one", "left lung"),
        ("segmentiere die Lungen und blende die rechte aus", "rechte lunge"),
    ],
)
def test_the_right_one_is_one_of_the_pair_that_was_outlined(text: str, which: str) -> None:
    assert planned(text) == [
        (OUTLINE, {"organs": LUNGS}),
        ("viewer_findings", {"action": "hide", "which": which}),
    ]


def test_what_is_outlined_already_is_not_outlined_twice() -> None:
    assert planned("outline the lungs, zoom to the left lung and invert") == [
        (OUTLINE, {"organs": LUNGS}),
        ("viewer_zoom", {"to": "left lung"}),
        ("viewer_command", {"command": "invert"}),
    ]


def test_each_step_keeps_its_side() -> None:
    assert planned("outline the right lung and zoom to the left lung") == [
        (OUTLINE, {"organs": ["Right Lung"]}),
        (OUTLINE, {"organs": ["Left Lung"]}),
        ("viewer_zoom", {"to": "left lung"}),
    ]


def test_it_is_what_was_named_last() -> None:
    steps = planned("outline the right lung and zoom to the left lung, then hide it")
    assert steps[-1] == ("viewer_findings", {"action": "hide", "which": "left lung"})
    steps = planned("zoom to the left lung, outline the heart, then hide it", "Left Lung")
    assert steps[-1] == ("viewer_findings", {"action": "hide", "which": "heart"})


def on_images(plan: Decision) -> list[tuple[str, str]]:
    """The tools of a plan and the images on which they run; "" for none or the current one."""
    assert isinstance(plan, ToolPlan), plan
    return [
        (step.tool, next((one.id for one in step.sources() if isinstance(one, OpenImage)), ""))
        for step in plan.steps
    ]


@pytest.mark.parametrize(
    "text",
    [
        "measure the heart on the right one",
        "miss das Herz auf der rechten Aufnahme",
        "measure the heart in viewport 2",
        "in viewport 2, measure the heart",
        "was the heart enlarged in 2022?",
        "measure the heart on the film of 2022",
        "on the 2022 film, measure the heart",
        "measure the heart on the prior",
        "Miss das Herz auf der Voraufnahme",
        "measure the heart on the other one",
        "is the heart on the old film enlarged?",
        "measure the heart on the right",
        "miss das Herz rechts",
    ],
)
def test_an_image_is_named_by_its_viewport_its_year_or_its_age(text: str) -> None:
    assert on_images(decided(text)) == [(RATIO, "image-2")]


@pytest.mark.parametrize(
    "text",
    [
        "is the heart enlarged? and on the prior?",
        "ist das Herz vergrößert? und auf der Voraufnahme?",
        "measure the heart here and on the prior",
        "measure the heart on the film of 2022 and on the other",
        "measure the heart left and right",
        "measure the heart on the left one, then the same on the other",
    ],
)
def test_the_same_is_done_on_both_films(text: str) -> None:
    assert planned(text) == [("for_each_image", {"tool": RATIO, "arguments": {}})]


@pytest.mark.parametrize(
    ("before", "text", "step"),
    [
        (["measure the heart"], "and on the prior?", (RATIO, "image-2")),
        (["measure the heart on the prior"], "the same on the other", (RATIO, "image-1")),
        (["miss das Herz"], "dasselbe auf dem anderen", (RATIO, "image-2")),
        (["outline the lungs"], "und auf der Voraufnahme?", (OUTLINE, "image-2")),
        (["is the heart enlarged?"], "what about the prior?", (RATIO, "image-2")),
        (["is the heart enlarged?"], "and in 2022?", (RATIO, "image-2")),
        (["is the heart enlarged?"], "the same on the right", (RATIO, "image-2")),
        (["miss das Herz"], "rechts auch", (RATIO, "image-2")),
        (
            ["is the heart enlarged on the left one?", "and on the right one?"],
            "and on the left one?",
            (RATIO, "image-1"),
        ),
        (["measure the heart", "invert"], "and the right one", ("viewer_command", "")),
        (["run chest xray segmentation"], "and on the prior?", (OUTLINE, "image-2")),
        (["invert the prior"], "current one too", ("viewer_command", "")),
        (["aktuelle Aufnahme invertieren"], "die andere auch", ("viewer_command", "")),
    ],
)
def test_the_question_before_is_asked_of_another_film(
    before: list[str], text: str, step: tuple[str, str]
) -> None:
    assert on_images(decided(text, before=before)) == [step]


def test_the_patients_side_in_a_follow_up_is_not_a_film() -> None:
    for text in ("and on the right?", "und rechts?"):
        plan = decided(text, before=["is there an effusion on the left?"])
        assert not isinstance(plan, ToolPlan)


@pytest.mark.parametrize("before", [["accept the heart"], ["2x2"], []])
@pytest.mark.parametrize("text", ["and on the other one?", "the left one too", "und rechts auch"])
def test_a_decision_or_layout_is_not_repeated_on_another_film(before: list[str], text: str) -> None:
    assert isinstance(decided(text, "Heart", before=before), Reply)


def test_it_is_not_decided_on_after_what_was_not_understood() -> None:
    scene_of = partial(decided, "accept it", "Heart")
    assert isinstance(scene_of(), ToolPlan)
    assert isinstance(scene_of(before=["what is the weather", "-I do not understand."]), Reply)
    assert isinstance(decided("the heart there is fine, accept it", "Heart"), Reply)


@pytest.mark.parametrize(
    ("text", "image"),
    [
        ("measure the heart top right", "image-2"),
        ("miss das Herz unten links", "image-1"),
        ("outline the heart in the bottom left viewport", "image-1"),
    ],
)
def test_a_corner_of_four_viewports_names_an_image(text: str, image: str) -> None:
    places = ("top left", "image-1"), ("top right", "image-2"), ("bottom left", "image-1")
    viewports = [
        {"viewport": number, "place": place, "image": shown}
        for number, (place, shown) in enumerate((*places, ("bottom right", "image-2")), 1)
    ]
    scene = Scene(
        (film(2, "2022-03-01"), film(1, "2024-03-01")),
        {tool.spec.name: schema_of(tool) for tool in registry().all()},
        shown={"viewports": viewports, "findings": []},
    )
    plan = Planner(registry().plans).interpret(text, scene).plan
    wanted = "" if image == "image-2" else image  # the current one
    assert [one for _, one in on_images(plan)] == [wanted]


def test_the_patients_side_is_not_that_of_a_film() -> None:
    assert on_images(decided("is there an effusion on the right?"))[0][1] == ""
    assert planned("outline the heart and both lungs") == [(OUTLINE, {"organs": ["Heart", *LUNGS]})]


def test_the_side_of_an_image_is_not_that_of_an_organ() -> None:
    plan = decided("outline the left lung on the right film")
    assert isinstance(plan, ToolPlan)
    (step,) = plan.steps
    assert step.arguments == {"image_path": OpenImage("image-2"), "organs": ["Left Lung"]}


@pytest.mark.parametrize(
    "text",
    [
        "measure the heart in viewport 3",
        "measure the heart on the film of 2019",
        "outline the heart on the left film and the lungs on the right film",
        "is the nodule larger than on the right one?",
        "are there new findings on the right one?",
        "measure the heart on the prior and outline the lungs here",
        "Herz rechts messen, links die Lungen umranden",
    ],
)
def test_where_the_image_is_not_clear_nothing_runs(text: str) -> None:
    assert isinstance(decided(text), Reply)


@pytest.mark.parametrize(
    "text", ["measure the heart in viewport 2", "was the heart enlarged in 2022?"]
)
def test_an_image_that_is_not_open_is_not_taken_for_the_one_that_is(text: str) -> None:
    scene = Scene(
        (film(1, "2024-03-01"),),
        {tool.spec.name: schema_of(tool) for tool in registry().all()},
        shown={"viewports": [{"viewport": 1, "image": "image-1"}], "findings": []},
    )
    assert isinstance(Planner(registry().plans).interpret(text, scene).plan, Reply)


def test_it_is_on_the_image_that_was_named() -> None:
    zoom = "measure the heart on the right one, then zoom to it"
    assert on_images(decided(zoom)) == [
        (RATIO, "image-2"),
        (OUTLINE, "image-2"),
        ("viewer_zoom", ""),
    ]
    assert planned(zoom)[-1] == ("viewer_zoom", {"to": "heart", "viewport": "2"})
    steps = planned("outline the lungs on the right film, then hide the left lung")
    hide = {"action": "hide", "which": "left lung", "viewport": "2"}
    assert steps[-1] == ("viewer_findings", hide)
    steps = planned("measure the heart on the old one and invert it")
    assert steps[-1] == ("viewer_command", {"command": "invert", "viewport": "2"})


def test_what_is_zoomed_to_is_outlined_on_the_image_that_is_named() -> None:
    """Though the current image has one."""
    plan = decided("zoom to the heart on the right one", "Heart")
    assert on_images(plan) == [(OUTLINE, "image-2"), ("viewer_zoom", "")]


def test_what_is_measured_on_an_image_that_was_changed_is_measured_there() -> None:
    for asked in ("measure the heart on it", "get the cardiothoracic ratio there"):
        plan = decided(f"invert the right one and {asked}")
        assert on_images(plan) == [(RATIO, "image-2"), ("viewer_command", "")]


@pytest.mark.parametrize(
    "text",
    [
        "compare with the prior, invert the right one and measure the heart on it",
        "show the prior on the right and outline its lungs",
        "go to 2x2 and measure the heart on the right one",
    ],
)
def test_what_is_to_be_done_on_an_image_that_is_not_clear_is_told_and_not_done(text: str) -> None:
    plan = decided(text)
    assert isinstance(plan, ToolPlan)
    assert {step.tool.partition("_")[0] for step in plan.steps} == {"viewer"}
    assert plan.notes


@pytest.mark.parametrize(
    "text",
    [
        "outline the heart and reject it",
        "outline both lungs, then accept the left one",
        "den Rundherd vermessen und annehmen",
    ],
)
def test_what_is_not_there_yet_is_not_decided_on(text: str) -> None:
    plan = decided(text, "Heart", "Left Lung", "Rundherd")
    assert isinstance(plan, Reply)
    assert plan.text.startswith("Nothing was changed")


def test_a_comparison_goes_with_other_steps() -> None:
    assert planned(
        "compare with the prior, invert the right one, zoom to the heart in the left one and "
        "measure the cardiothoracic ratio"
    ) == [
        (COMPARE, {}),
        (RATIO, {}),
        (OUTLINE, {"organs": ["Heart"]}),
        ("viewer_layout", {"layout": "prior"}),
        ("viewer_command", {"command": "invert", "viewport": "right"}),
        ("viewer_zoom", {"to": "heart", "viewport": "left"}),
    ]


def test_on_both_means_both_images() -> None:
    assert planned("show the prior beside and outline the heart on both") == [
        ("for_each_image", {"tool": OUTLINE, "arguments": {"organs": ["Heart"]}}),
        ("viewer_layout", {"layout": "prior"}),
    ]


@pytest.mark.parametrize(
    "text",
    ["accept the heart and measure the cardiothoracic ratio", "accept the heart, zoom to it"],
)
def test_nothing_is_drawn_before_it_is_accepted(text: str) -> None:
    """What is accepted was seen before; where it isn't there, the viewer says so."""
    first, *_ = planned(text)
    assert first == ("viewer_findings", {"action": "accept", "which": "heart"})
    assert OUTLINE not in [tool for tool, _ in planned(text)]


def test_a_step_takes_the_output_of_the_same_step_when_others_come_before() -> None:
    step = Step(
        "b", {"path": Output(1, "made"), "more": [Output(2, "made"), 3]}, target=Output(1, "x")
    )
    assert step.behind(2).after() == (3, 4)
    assert step.behind(2).target == Output(3, "x")
    assert step.behind(0) == step
