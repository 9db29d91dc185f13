"""A tool on the wrong image is worse than none: which image a question is about."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from app.agent.answers.german import in_german
from app.agent.loop.offline_model import next_calls
from app.agent.messages import Message, ToolCall
from app.agent.planning import OpenImage, Planner, Reply, Scene, ToolPlan, schema_of
from app.agent.planning.image_choice import ImageChoice, image_choice, unclear_text
from app.agent.sessions import Thread
from app.tools.pack_plan import Feed, PackPlan, Plans, QuestionKind, ToolRule
from app.tools.registry import load_packs
from tests.support import cells_pack as cells
from tests.support.fake_tools import FakeTool, ImageInput, ok
from tests.support.scripted_model import call, says
from tests.unit.agent.test_enforcing import play, play_fakes

REGISTRY = load_packs(())
TOOLS = {tool.spec.name: schema_of(tool) for tool in REGISTRY.all()}


def note(number: int) -> dict[str, Any]:
    path = f"/open/{number}.dcm"
    return {"id": f"image-{number}", "path": path, "kind": "dicom", "modality": "DX"}


def scene(images: int = 2) -> Scene:
    notes = tuple(note(number) for number in range(1, images + 1))
    return Scene(notes, TOOLS, plans=REGISTRY.plans)


@pytest.mark.parametrize(
    "question",
    [
        "CTR of image-2",
        "CTR of image 2",
        "CTR of image #2",
        "Herzgröße in Bild 2",
        "Measure the heart size of 2.dcm",
        'Measure the heart size of "2.dcm"',
        "Run cardiothoracic_ratio on image 2",
        "CTR in the other image",
        "Herzgröße im anderen Bild",
    ],
)
def test_the_image_that_is_named_is_meant(question: str):
    plan = Planner().interpret(question, scene()).plan
    assert isinstance(plan, ToolPlan)
    assert [step.target for step in plan.steps] == [OpenImage("image-2")]


@pytest.mark.parametrize(
    "question",
    [
        "Is the heart enlarged in the second image?",
        "CTR of the prior",
        "Is the heart bigger than in image 2?",
    ],
)
def test_where_several_or_another_is_meant_rules_run_nothing_and_ask(question: str):
    found = Planner().interpret(question, scene()).plan
    assert isinstance(found, Reply)
    assert (
        "Name the image: open are 1.dcm (image 1, DX), 2.dcm (image 2, DX); 1.dcm is" in found.text
    )
    assert next_calls(Planner().interpret(question, scene()), ()) is None


def test_of_many_open_images_those_in_the_viewports_are_listed():
    notes = [
        {"id": f"image-{n}", "path": f"/{n}.dcm", "kind": "dicom", "modality": "CT"}
        for n in range(1, 202)
    ]
    viewports = [{"viewport": n, "image": f"image-{n}"} for n in (1, 2)]
    which = ImageChoice(unclear="the prior")
    shown = unclear_text(which, Scene(tuple(notes), {}, shown={"viewports": viewports}))
    assert "open are 1.dcm (image 1, CT), 2.dcm (image 2, CT), and 199 more; 1.dcm is" in shown
    without_window = unclear_text(which, Scene(tuple(notes), {}))
    assert "8.dcm (image 8, CT), and 193 more;" in without_window
    assert "und 193 weitere" in in_german(without_window)


@pytest.mark.parametrize(
    ("question", "tool"),
    [
        ("CTR on both images", "cardiothoracic_ratio"),
        ("heart size in images 1 and 2", "cardiothoracic_ratio"),
        ("Herzgröße auf allen Bildern", "cardiothoracic_ratio"),
        ("segment the lungs in both images", "chest_xray_segmentation"),
        ("run chest_xray_classifier on every image", "chest_xray_classifier"),
    ],
)
def test_what_is_wanted_of_each_image_is_one_call_that_repeats_the_tool(question: str, tool: str):
    found = Planner().interpret(question, scene())
    assert isinstance(found.plan, ToolPlan)
    first = found.plan.steps[0]
    assert (first.tool, first.arguments["tool"], first.skip) == ("for_each_image", tool, "")
    assert "image_path" not in first.arguments["arguments"]
    assert all(step.skip for step in found.plan.steps[1:])
    assert not found.unclear_image


@pytest.mark.parametrize(
    "question", ["CTR on both images", "CTR of several images", "CTR on two of the images"]
)
def test_both_of_three_images_is_unclear(question: str):
    assert isinstance(Planner().interpret(question, scene(3)).plan, Reply)


def test_images_that_are_named_are_those_of_the_call():
    plan = Planner().interpret("CTR of images 1 and 3", scene(3)).plan
    assert isinstance(plan, ToolPlan)
    assert plan.steps[0].arguments["images"] == [OpenImage("image-1"), OpenImage("image-3")]


def test_a_comparison_of_two_images_stays_one_call_of_the_tool_that_compares():
    plan = Planner().interpret("Compare both images", scene()).plan
    assert not isinstance(plan, ToolPlan) or all(s.tool != "for_each_image" for s in plan.steps)


@pytest.mark.parametrize(
    "question",
    ["outline both lungs", "Is there fluid on the other side?", "CTR", "Fluid in all lobes?"],
)
def test_sides_and_parts_are_no_other_images(question: str):
    plan = Planner().interpret(question, scene()).plan
    assert isinstance(plan, ToolPlan)
    assert {step.target for step in plan.steps} == {OpenImage()}


def test_another_image_where_one_is_open_is_not_that_one():
    found = Planner().interpret("CTR in the previous image", scene(1)).plan
    assert isinstance(found, Reply)
    assert "only 1.dcm is open" in found.text
    assert isinstance(Planner().interpret("CTR in all images", scene(1)).plan, ToolPlan)


def test_rules_measure_the_image_whose_file_is_named():
    now = next_calls(Planner().interpret("heart size of 2.dcm", scene()), ())
    assert now is not None
    assert now.calls[1].arguments == {"image_path": "/open/2.dcm"}


def test_two_files_of_one_name_are_not_one_image():
    notes = [note(1), {**note(2), "path": "/other/1.dcm"}]
    assert image_choice("CTR of 1.dcm", notes).ids == ("image-1", "image-2")


def test_the_number_of_the_next_item_of_a_list_is_no_image():
    asked = "In this order: 1) chest_xray_classifier on the image 2) image_visualizer on it"
    assert image_choice(asked, [note(1)]).ids == ()
    plan = Planner().interpret(asked, scene(1)).plan
    assert isinstance(plan, ToolPlan)
    assert [step.tool for step in plan.steps] == ["chest_xray_classifier", "image_visualizer"]
    assert image_choice("CTR (see image 2).", [note(1)]).ids == ("image-2",)


def test_files_without_an_ending_are_named_too():
    notes = [{**note(n), "path": f"/open/{name}"} for n, name in enumerate(("IM0001", "7"), 1)]
    assert image_choice("CTR of im0001", notes).ids == ("image-1",)
    assert image_choice("CTR of /open/7 please", notes).ids == ("image-2",)
    assert image_choice("CTR at level 7", notes).ids == ()


SHOWS = PackPlan(
    "p",
    kinds=(QuestionKind("over", words=("overlay",), tools=("cut", "show"), again=False),),
    tools=(
        ToolRule("cut", makes="made_path"),
        ToolRule("show", feeds=(Feed("image_path", ("cut",), "made_path"),)),
    ),
)


def test_what_was_made_of_another_image_is_not_shown_for_this_one():
    made = {"summary": "", "output": {"made_path": "/out/of-1.png"}, "metadata": {}}
    call_of_1 = ToolCall(id="c", name="cut", arguments={"image_path": "/open/1.dcm"})
    earlier = (
        Message(role="user", text="cut", images=[note(1)]),
        Message(role="assistant", tool_calls=[call_of_1]),
        Message(role="tool", call_id="c", tool="cut", data=made),
    )
    tools = {name: schema_of(FakeTool(name, ImageInput, ok())) for name in ("cut", "show")}

    def planned(*images: int) -> list[str]:
        notes = tuple(note(number) for number in images)
        found = Planner().interpret("overlay", Scene(notes, tools, earlier, Plans((SHOWS,)))).plan
        assert isinstance(found, ToolPlan)
        return [step.tool for step in found.steps]

    assert planned(1, 2) == ["show"]
    assert planned(2, 1) == ["cut", "show"]


def test_a_result_on_an_image_that_is_not_asked_about_does_not_reach_the_goal(tmp_path: Path):
    turns = [[call(cells.CELLS, image_path=f"image-{number}")] for number in (1, 2)]
    asked = "Count the cells in image 2"
    told = [says("six [1]"), says("four [2]")]
    played = play(tmp_path, asked, turns[0], told[0], turns[1], told[1], pictures=2)
    assert [rule for rule, _, _ in played.overrides] == ["incomplete"]
    assert "The question is about 1.png." in played.reasons
    assert played.plan[-1].goal == "done"


def test_an_earlier_result_on_another_image_does_not_reach_the_goal(tmp_path: Path):
    thread, first = Thread.in_memory(), [call(cells.CELLS, image_path="image-1")]
    play(tmp_path, "Count the cells", first, says("six [1]"), pictures=2, thread=thread)
    asked = "How many cells are in image-2?"
    again = play(tmp_path, asked, says("six"), says("!"), pictures=2, thread=thread)
    assert [rule for rule, _, _ in again.overrides] == ["incomplete"]
    assert again.ran == [cells.CELLS], "by the rules, on the image that is asked about"
    started = [event for event in again.events if event.kind == "tool_started"]
    assert started[0].arguments["image_path"].endswith("1.png")


def test_another_tool_that_was_refused_does_not_stand_for_the_one_that_is_needed(tmp_path: Path):
    asked = "Count the cells, but do not use Threshold_Segmenter_Tool"
    refused, right = ([call(name, image_path="image-1")] for name in (cells.THRESHOLD, cells.CELLS))
    played = play(tmp_path, asked, refused, says("I may not"), right, says("six"))
    assert [rule for rule, _, _ in played.overrides] == ["left_out", "incomplete"]
    assert played.plan[-1].goal == "done"


def test_a_result_on_the_image_whose_file_is_named_reaches_the_goal(tmp_path: Path):
    kind = QuestionKind("count", words=("count",), tools=("look",))
    tools = [FakeTool("look", ImageInput, ok("", {}))]
    played = play_fakes(
        tmp_path,
        PackPlan("p", kinds=(kind,), tools=(ToolRule("look"),)),
        tools,
        [call("look", image_path="image-2")],
        says("done"),
        question="count in 2.dcm",
        notes=(note(1), note(2)),
    )
    assert played.plan[-1].goal == "done"


@pytest.mark.parametrize(
    ("question", "ids"),
    [
        ("Run in this order: 1) classify the image 2) outline the image 3) measure", ()),
        ("1) classify image 1 2) outline image 2 3) measure", ("image-1", "image-2")),
        ("What is in the lungs (see image 2) and why?", ("image-2",)),
    ],
)
def test_the_number_of_a_step_is_no_image(question: str, ids: tuple[str, ...]):
    assert image_choice(question, scene().images).ids == ids


def test_tools_in_a_numbered_list_run_on_the_open_image():
    asked = "Run in this order: 1) chest_xray_classifier on the image 2) image_visualizer on it"
    plan = Planner().interpret(asked, scene(1)).plan
    assert isinstance(plan, ToolPlan)
    assert [step.tool for step in plan.steps] == ["chest_xray_classifier", "image_visualizer"]
    assert all(step.target in (OpenImage(), OpenImage("image-1")) for step in plan.steps[:1])
