"""What the images of a run are not stands behind every answer, whatever a model says."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from app.agent.loop.agent_loop import AgentLoop
from app.agent.loop.offline_model import OfflineModel
from app.agent.sessions import SessionStore, Thread
from app.tools.api import ToolResult
from app.tools.pack_plan import NO_PLANS, Plans
from app.tools.registry import load_packs
from tests.support.fake_tools import (
    DICOM_NOTE,
    FakeRegistry,
    FakeTool,
    GeneratorInput,
    ImageInput,
    LlavaInput,
    VisualizerInput,
    collect,
    ok,
    request,
)
from tests.support.scripted_model import ScriptedModel, Turn, call, says

PLANS = load_packs([]).plans
CLASSIFIER = "chest_xray_classifier"
HEAD = "Image warnings"
FILM = str(DICOM_NOTE["path"])
OTHER = {**DICOM_NOTE, "id": "image-2", "path": "/studies/other.dcm"}
OVERRULED = (
    "used at your request, although this image is CT, not a chest radiograph (CR, DX); "
    "results may be meaningless"
)
MIRRORED = "the image is stored mirrored: what the model calls left is the patient's right"
LOOKS_MIRRORED = (
    "the film looks mirrored, or the heart lies on the right (dextrocardia): left and right are "
    "those of the image as displayed. Check its side marker"
)
TWO_TURNS = ([call(CLASSIFIER, image_path=FILM)], says("There is an effusion [1]."))


def warned(*warnings: str, **metadata: Any) -> dict[str, Any]:
    return {"warnings": list(warnings), **metadata}


def tools(
    by_image: Mapping[str, dict[str, Any]], ratio: Sequence[str] = (), llava: Sequence[str] = ()
) -> FakeRegistry:
    """Tools whose results carry the metadata of the image that they are asked about."""

    def run(args: Any, _context: Any) -> ToolResult:
        return ToolResult("Done.", {"Effusion": 0.5}, by_image.get(args.image_path, {}))

    measured = {"ratio": 0.4, "warnings": list(ratio)}
    return FakeRegistry(
        FakeTool(CLASSIFIER, ImageInput, run),
        FakeTool("cardiothoracic_ratio", ImageInput, ok("Measured.", measured)),
        FakeTool("llava_med_qa", LlavaInput, ok("Answered.", {}, **warned(*llava))),
        FakeTool("image_visualizer", VisualizerInput, ok("Shown.", {"image_path": "shown.png"})),
        FakeTool(
            "chest_xray_generator",
            GeneratorInput,
            ok("Drawn.", {"image_path": "drawn.png"}, synthetic=True),
        ),
    )


def ask(
    folder: Path,
    registry: FakeRegistry,
    turns: Sequence[Turn],
    thread: Thread,
    question: str = "Go on.",
    notes: Sequence[Mapping[str, Any]] = (DICOM_NOTE,),
    plans: Plans = PLANS,
) -> Any:
    """The last event of a run of a scripted model on a conversation."""
    run_id = f"run-{sum(item.role == 'user' for item in thread.history)}"
    asked = request(folder, question=question, notes=notes, thread=thread, run_id=run_id)
    with ScriptedModel(*turns) as model:
        events = asyncio.run(collect(AgentLoop(model, registry, plans=plans), asked))
    shown = "".join(event.text for event in events if event.kind == "text_delta")
    assert events[-1].answer in shown
    return events[-1]


def answer(
    folder: Path, metadata: dict[str, Any], *, note: dict[str, Any] | None = None, **options: Any
) -> str:
    """What is given as the answer of a model that leaves every warning out."""
    registry = tools({FILM: metadata})
    turns = ([call(CLASSIFIER, image_path=FILM)], says("The patient is healthy."))
    notes = (note or DICOM_NOTE,)
    return ask(folder, registry, turns, Thread.in_memory(), notes=notes, **options).answer


def follow_up(
    folder: Path, metadata: dict[str, Any], said: str, *, turns: Sequence[Turn] = (), **options: Any
) -> str:
    """The second answer, where the first rested on a result with this metadata."""
    registry, thread = tools({FILM: metadata}), Thread.in_memory()
    ask(folder, registry, TWO_TURNS, thread)
    return ask(folder, registry, (*turns, says(said)), thread, **options).answer


def test_a_synthetic_image_is_told_though_the_model_does_not(tmp_path: Path):
    said = answer(tmp_path, {"synthetic": True})
    assert "**Image warnings:**\n- results are based on a synthetic image" in said
    assert "[1]" in said


def test_a_synthetic_image_that_is_only_looked_at_is_told_too(tmp_path: Path):
    said = answer(tmp_path, {}, note={**DICOM_NOTE, "synthetic": True})
    assert "RG1.dcm is synthetic, made by a model: it shows no patient" in said


def test_a_synthetic_image_that_is_not_shown_is_told_where_the_question_names_it(tmp_path: Path):
    notes = (DICOM_NOTE, {**OTHER, "synthetic": True})
    for question, told in (("What of image-2?", True), ("What of this one?", False)):
        turns, thread = [says("Fine.")], Thread.in_memory()
        said = ask(tmp_path, tools({}), turns, thread, question, notes).answer
        assert ("other.dcm is synthetic" in said) is told
        turns, thread = [says("Fine.")], Thread.in_memory()
        said = ask(tmp_path, tools({}), turns, thread, question, notes[::-1]).answer
        assert "other.dcm is synthetic" in said  # it is what the reader looks at


@pytest.mark.parametrize("which", ["", "image 2: "])
def test_an_image_that_only_the_users_yes_let_in_is_told(tmp_path: Path, which: str):
    said = answer(tmp_path, warned("small", which + OVERRULED))
    assert f"- Chest findings: {which}used at your request, although this image is CT" in said
    assert "small" not in said


def test_it_is_told_where_the_tool_warns_in_its_output_too(tmp_path: Path):
    turns = ([call("cardiothoracic_ratio", image_path=FILM)], says("The heart is normal [1]."))
    said = ask(tmp_path, tools({}, ratio=[OVERRULED]), turns, Thread.in_memory()).answer
    assert "- Cardiothoracic ratio: used at your request, although this image is CT" in said


def test_without_plans_of_packs_it_is_told_as_well(tmp_path: Path):
    assert HEAD in answer(tmp_path, warned(OVERRULED), plans=NO_PLANS)


def test_all_that_was_overruled_is_told(tmp_path: Path):
    reasons = "; ".join(f"the file says that this is reason {number}" for number in range(9))
    said = answer(tmp_path, warned(f"used at your request, although {reasons}"))
    assert "reason 8 [1]" in said
    # As results were worded in conversations of earlier versions.
    said = answer(tmp_path, warned(f"used although {reasons}: you said that it is to be used"))
    assert "reason 8: you said that it is to be used [1]" in said


DOUBTS = (
    "the picture looks like a lateral view, not a frontal one",
    "the picture does not look like an upright frontal chest radiograph",
    "the picture looks like a negative of a frontal chest radiograph: air is bright",
    "the file contradicts itself: its ViewPosition says PA, its view code says AP",
    "the file's description names a lateral view",
)


@pytest.mark.parametrize("how", [MIRRORED, LOOKS_MIRRORED, *DOUBTS])
def test_a_mirrored_or_doubtful_image_is_told(tmp_path: Path, how: str):
    assert f"- Chest findings: {how} [1]." in answer(tmp_path, warned("small", how))


def test_a_pack_says_it_of_its_own_tools_results(tmp_path: Path):
    pane = ok("Shown.", {}, **warned("the pane is mirrored"))
    registry = FakeRegistry(FakeTool("image_visualizer", VisualizerInput, pane))
    turns = [call("image_visualizer", image_path=FILM)], says("Shown [1].")
    assert HEAD not in ask(tmp_path, registry, turns, Thread.in_memory()).answer


def test_a_sound_image_has_no_caveat(tmp_path: Path):
    assert HEAD not in answer(tmp_path, warned("small"))


def test_what_several_results_say_of_one_image_stands_once(tmp_path: Path):
    registry = tools({FILM: warned(OVERRULED)}, ratio=[OVERRULED])
    calls = [call(CLASSIFIER, image_path=FILM), call("cardiothoracic_ratio", image_path=FILM)]
    said = ask(tmp_path, registry, (calls, says("Fine.")), Thread.in_memory()).answer
    assert "- Chest findings, Cardiothoracic ratio: used at your request, although" in said
    assert said.count("used at your request, although") == 1
    assert said.endswith("results may be meaningless [1] [2].")


def test_the_program_names_no_evidence_for_an_answer_that_cites_none(tmp_path: Path):
    registry, thread = tools({FILM: warned(OVERRULED)}), Thread.in_memory()
    turns = ([call(CLASSIFIER, image_path=FILM)], says("There is an effusion."))
    last = ask(tmp_path, registry, turns, thread)
    assert "Based on" not in last.answer
    assert last.cited == [1], "the warning cites it"


@pytest.mark.parametrize("said", ["Yes, there is an effusion [1].", "Yes, it is on the left."])
@pytest.mark.parametrize(
    ("metadata", "told"),
    [
        (warned(OVERRULED), "used at your request, although this image is CT"),
        (warned(MIRRORED), "stored mirrored"),
        (warned(LOOKS_MIRRORED), "the film looks mirrored"),
        ({"synthetic": True}, "results are based on a synthetic image"),
    ],
)
def test_a_follow_up_without_a_tool_carries_it(
    tmp_path: Path, metadata: dict[str, Any], told: str, said: str
):
    behind = follow_up(tmp_path, metadata, said, question="So is it sure?")
    assert HEAD in behind
    assert told in behind
    assert "[1]" in behind.split(HEAD)[1]


def test_a_follow_up_for_which_another_tool_runs_on_the_image_carries_it(tmp_path: Path):
    turns = [[call("cardiothoracic_ratio", image_path=FILM)]]
    said = follow_up(tmp_path, warned(OVERRULED), "The heart is fine [2].", turns=turns)
    assert "Chest findings: used at your request, although" in said


def test_a_third_question_carries_it_still(tmp_path: Path):
    registry, thread = tools({FILM: warned(OVERRULED)}), Thread.in_memory()
    ask(tmp_path, registry, TWO_TURNS, thread)
    ask(tmp_path, registry, [says("Yes.")], thread, "Sure?")
    assert HEAD in ask(tmp_path, registry, [says("Quite.")], thread, "Really?").answer


def test_it_is_carried_when_the_conversation_is_opened_another_day(tmp_path: Path):
    store = SessionStore(tmp_path / "sessions")
    registry, thread = tools({FILM: warned(OVERRULED)}), store.new_thread()
    ask(tmp_path, registry, TWO_TURNS, thread)
    thread.close()
    again = store.open(thread.thread_id)
    said = ask(tmp_path, registry, [says("Yes [1].")], again, "Sure?").answer
    again.close()
    assert "used at your request, although this image is CT" in said


def test_an_answer_that_cites_a_result_carries_it_from_another_image(tmp_path: Path):
    notes = (OTHER, DICOM_NOTE)
    said = follow_up(tmp_path, warned(OVERRULED), "As before [1].", notes=notes)
    assert "- Chest findings on RG1.dcm: used at your request, although" in said
    said = follow_up(tmp_path, warned(OVERRULED), "As before [1].", notes=(OTHER,))
    assert (
        "- Chest findings on an image that is not open now: used at your request, although" in said
    )


@pytest.mark.parametrize(
    "question",
    [
        "And what of image-1?",
        "How is it on the previous film?",
        "Compare both films.",
        "And the other film?",
        "What about both?",
        "Has it changed?",
        "Was the first image better?",
        "Und das andere Bild?",
        "Hat es sich verändert?",
    ],
)
def test_a_question_about_the_image_carries_it_though_another_is_shown(
    tmp_path: Path, question: str
):
    notes = (OTHER, DICOM_NOTE)
    said = follow_up(tmp_path, warned(OVERRULED), "It is.", question=question, notes=notes)
    assert "on RG1.dcm: used at your request, although" in said


def test_a_question_about_an_image_that_is_closed_by_now_carries_it(tmp_path: Path):
    question = "How is it on the previous film?"
    said = follow_up(tmp_path, warned(OVERRULED), "It is.", question=question, notes=(OTHER,))
    assert "on an image that is not open now: used at your request, although" in said


def test_a_question_about_another_image_does_not_carry_it(tmp_path: Path):
    notes = (OTHER, DICOM_NOTE)
    assert HEAD not in follow_up(tmp_path, warned(OVERRULED), "It is normal.", notes=notes)
    turns = [[call(CLASSIFIER, image_path=str(OTHER["path"]))]]
    said = follow_up(tmp_path, warned(OVERRULED), "Normal [2].", turns=turns, notes=notes)
    assert HEAD not in said


def test_where_nothing_is_open_any_more_it_is_carried(tmp_path: Path):
    assert HEAD in follow_up(tmp_path, warned(OVERRULED), "There was one.", notes=())


def test_a_drawn_image_is_told_of_later_and_not_of_a_patients(tmp_path: Path):
    """It was never open: what rests on it is known by its file."""
    drawn = {**DICOM_NOTE, "id": "image-2", "path": str(tmp_path / "drawn.png")}
    registry, thread = tools({"drawn.png": {"synthetic": True}}), Thread.in_memory()
    first = [call("chest_xray_generator", prompt="cardiomegaly")]
    second = [call(CLASSIFIER, image_path="drawn.png")]
    ask(tmp_path, registry, (first, second, says("Drawn [1][2].")), thread)
    of_patient = ask(tmp_path, registry, [says("It is normal.")], thread)
    assert HEAD not in of_patient.answer
    shown = (drawn, DICOM_NOTE)
    of_drawn = ask(tmp_path, registry, [says("Big.")], thread, notes=shown)
    assert "results are based on a synthetic image" in of_drawn.answer
    assert "[1] [2]" in of_drawn.answer


def test_a_picture_made_of_the_image_is_that_image(tmp_path: Path):
    registry = tools({"shown.png": warned(OVERRULED)})
    first = [call("image_visualizer", image_path=FILM)]
    second = [call(CLASSIFIER, image_path="shown.png")]
    thread = Thread.in_memory()
    ask(tmp_path, registry, (first, second, says("Seen [2].")), thread)
    assert HEAD in ask(tmp_path, registry, [says("Yes.")], thread, "Sure?").answer


def test_a_picture_made_of_the_image_that_is_opened_itself_is_that_image(tmp_path: Path):
    shown = {**DICOM_NOTE, "id": "image-2", "path": str(tmp_path / "shown.png")}
    turns = [[call("image_visualizer", image_path=FILM)]]
    registry, thread = tools({FILM: warned(OVERRULED)}), Thread.in_memory()
    ask(tmp_path, registry, (*turns, *TWO_TURNS), thread)
    assert (
        "used at your request, although"
        in ask(tmp_path, registry, [says("Yes.")], thread, notes=[shown]).answer
    )


def test_a_result_on_no_image_is_carried_only_where_it_is_cited(tmp_path: Path):
    registry, thread = tools({}, llava=[OVERRULED]), Thread.in_memory()
    turns = ([call("llava_med_qa", question="What is an effusion?")], says("Fluid [1]."))
    assert HEAD in ask(tmp_path, registry, turns, thread).answer
    assert HEAD not in ask(tmp_path, registry, [says("Normal.")], thread).answer
    assert HEAD not in ask(tmp_path, registry, [says("Normal.")], thread, notes=()).answer
    assert HEAD in ask(tmp_path, registry, [says("See [1].")], thread).answer


def test_rules_cite_what_they_rest_on_so_nothing_else_is_carried(tmp_path: Path):
    registry, thread = tools({FILM: warned(OVERRULED)}), Thread.in_memory()
    ask(tmp_path, registry, TWO_TURNS, thread)
    asked = request(tmp_path, question="What is the weather?", thread=thread, run_id="run-9")
    loop = AgentLoop(OfflineModel(PLANS), registry, plans=PLANS)
    assert HEAD not in asyncio.run(collect(loop, asked))[-1].answer
