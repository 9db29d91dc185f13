"""Questions that no tool answers are answered by what is so, and start nothing."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from app.agent.answers.result_summaries import direct_answer
from app.agent.loop.agent_loop import AgentLoop
from app.agent.loop.offline_model import OfflineModel
from app.agent.messages import Message
from app.agent.planning import (
    Intent,
    NoRule,
    OpenImage,
    Output,
    Planner,
    Reply,
    Scene,
    ToolPlan,
    schema_of,
)
from app.agent.sessions import Thread
from app.tools.general.general_plan import PLAN, WORDINGS
from tests.routing.table import SCENES, registry_of
from tests.support.fake_tools import (
    FakeRegistry,
    FakeTool,
    ImageInput,
    collect,
    fails,
    ok,
    pack,
    request,
)


def read(question: str, scene: str = "cxr_dicom", **changes: Any) -> Intent:
    registry = registry_of("chest")
    return Planner(registry.plans).interpret(
        question, Scene(SCENES[scene], schemas(), plans=registry.plans, **changes)
    )


def schemas() -> Any:
    return {tool.spec.name: schema_of(tool) for tool in registry_of("chest").all()}


def ask(folder: Path, question: str, tools: FakeRegistry | None = None, **changes: Any) -> Any:
    plans = registry_of("chest").plans
    loop = AgentLoop(OfflineModel(plans), tools or pack(), plans=plans)
    return asyncio.run(collect(loop, request(folder, question, **changes)))


@pytest.mark.parametrize("scene", ["cxr_dicom", "ct_dicom", "cxr_png"])
@pytest.mark.parametrize(
    ("question", "key"),
    [
        ("set a lung window", "**Window**"),
        ("Set the window to 40/400", "**Window**"),
        ("make it brighter", "**Window**"),
        ("Stelle ein Lungenfenster ein", "**Window**"),
        ("invert the image", "**I**"),
        ("hide the heart", "**Hide all findings**"),
        ("Can you please hide the overlay?", "**Hide all findings**"),
        ("Herz ausblenden", "**Hide all findings**"),
        ("zoom to the left lung", "**+**"),
        ("rotate the image", "**[**"),
        ("flip it", "**H**"),
        ("make the heart bigger", "**+**"),
        ("is the image inverted?", "**I**"),
        ("scroll to the last image", "**Page Down**"),
        ("go to slice 20", "**Page Down**"),
        ("show the coronal view", "**C**"),
        ("reset the view", "**R**"),
        ("measure the distance", "**L**"),
        ("which key inverts the image?", "**F1**"),
        ("show lung window", "**Window**"),
        ("show me the bone window", "**Window**"),
        ("remove the lungs", "cropped or cut"),
        ("crop to the heart", "**+**"),
        ("crop the image", "**+**"),
        ("get rid of the ribs", "cropped or cut"),
        ("brain window", "**Window**"),
        ("bone window please", "**Window**"),
        ("Use the lung window", "**Window**"),
        ("Bitte ein Knochenfenster", "**Window**"),
        ("reformat to coronal", "**C**"),
        ("remove the left lung outline", "**Hide all findings**"),
        ("save the outlines", "**Export…**"),
        ("export this as a report to PACS", "**Export…**"),
    ],
)
def test_the_assistant_says_that_it_cannot_work_the_viewer_and_names_the_key(
    question: str, key: str, scene: str
):
    intent = read(question, scene)
    assert intent.wanted == ()
    assert isinstance(intent.plan, Reply)
    assert intent.plan.text.startswith("I cannot work the viewer. ")
    assert key in intent.plan.text
    assert "\n" not in intent.plan.text


def test_no_goal_is_reached_where_nothing_was_hidden(tmp_path: Path):
    events = ask(tmp_path, "hide the heart")
    assert not [event for event in events if event.kind in ("tool_started", "plan_updated")]
    both = ask(tmp_path, "segment the lungs and hide the heart")
    assert [event.tool for event in both if event.kind == "tool_started"]
    goals = [event for event in both if event.kind == "plan_updated" and event.goal]
    assert [(event.goal, event.goal_why[:24]) for event in goals] == [
        ("incomplete", "I cannot work the viewer")
    ]
    assert "**Hide all findings**" in both[-1].answer


@pytest.mark.parametrize(
    "question",
    [
        "could a nodule hide behind the heart?",
        "does the heart make the mediastinum larger",
        "compare with the prior film and with the old report",
        "score the findings, then turn it into a report",
        "convert it with window center 50 and width 350",
        "set the window to 40/400 and export it as png",
        "is the patient rotated? is the heart enlarged?",
        "Could I see this with a bone window, level 500 and width 2000?",
        "convert it with the bone window",
        "what is the flip angle?",
        "export as png and score findings on that png",
    ],
)
def test_a_question_about_the_image_is_not_taken_for_one_about_the_viewer(question: str):
    intent = read(question)
    assert isinstance(intent.plan, ToolPlan)
    assert intent.viewer == ""
    assert intent.wanted


def test_what_is_asked_beside_a_request_to_the_viewer_is_not_passed_over_in_silence():
    more = "If you asked for more, ask for it on its own."
    both = read("hide the heart and segment the lungs").plan
    assert isinstance(both, Reply)
    assert both.text.endswith(more)
    alone = read("hide the heart").plan
    assert isinstance(alone, Reply)
    assert more not in alone.text


@pytest.mark.parametrize(
    "question",
    [
        "CURB-65 score",
        "What is his CURB-65 score?",
        "CHA2DS2-VASc",
        "Wells score?",
        "What's the ASPECTS score?",
        "Brixia score?",
        "Lung-RADS?",
        "which test next?",
        "Which imaging should I order next?",
        "what are the radiology reports of this patient?",
        "Show me the old reports of this patient",
        "What does the last report say?",
        "Is there a report already?",
    ],
)
def test_what_needs_more_than_the_image_starts_no_tool(question: str):
    intent = read(question)
    assert intent.wanted == ()
    assert not isinstance(intent.plan, ToolPlan)


@pytest.mark.parametrize("question", ["write the report", "What is the score for pneumonia?"])
def test_a_report_and_a_score_of_this_image_are_still_made(question: str):
    assert read(question).wanted


@pytest.mark.parametrize("question", ["hello", "Hi there!", "Guten Morgen", "thank you very much"])
def test_a_greeting_is_answered_by_a_greeting(question: str):
    plan = read(question).plan
    assert isinstance(plan, Reply)
    assert "rule" not in plan.text
    assert len(plan.text) < 80


def test_a_question_that_no_rule_matches_gets_no_list_of_code_names():
    plan = read("what should I cook tonight?").plan
    assert isinstance(plan, NoRule)
    text = plan.text
    assert "I do not understand this question" in text
    assert "_" not in text


def test_why_it_is_not_reliable_is_answered_by_the_warnings(tmp_path: Path):
    measured = ok("Measured.", {"ratio": 0.5, "warnings": ["the film is rotated"]})
    tools = FakeRegistry(FakeTool("cardiothoracic_ratio", ImageInput, measured))
    thread = Thread.in_memory()
    ask(tmp_path, "Is the heart enlarged?", tools, thread=thread)
    events = ask(tmp_path, "why is it not reliable?", tools, thread=thread)
    assert not [event for event in events if event.kind == "tool_started"]
    assert "The film is rotated [1]" in events[-1].answer
    assert "Heart size" not in events[-1].answer
    again = ask(tmp_path, "can I trust this?", tools, thread=thread)[-1].answer
    assert "The film is rotated [1]" in again
    fresh = ask(tmp_path, "why is it not reliable?", tools)[-1].answer
    assert "No tool has run in this conversation" in fresh


def test_what_it_can_do_names_tools_by_title_and_says_which_lack_a_model():
    plan = read("what can you do?", lacks=lambda name: name == "chest_xray_expert").plan
    assert isinstance(plan, Reply)
    text = plan.text
    assert "chest_xray" not in "".join(line.split(":")[0] for line in text.splitlines())
    ready, missing = text.split("Not ready, as a model is not installed (Tools > Models):")
    tools = {tool.spec.name: tool.spec.title for tool in registry_of("chest").all()}
    assert f"**{tools['cardiothoracic_ratio']}**" in ready
    assert "chest_xray_expert" in tools
    assert f"**{tools['chest_xray_expert']}**" in missing
    assert missing.count("**") == 2


HEADER = {
    "PatientAge": "063Y",
    "PatientSex": "F",
    "StudyDate": "20240517",
    "Modality": "CT",
    "SliceThickness": "5.0",
    "PixelSpacing": [0.5, 0.5],
    "Rows": 512,
    "Columns": 256,
    "NumberOfFrames": 1,
    "ViewPosition": None,
    "WindowCenter": 40.0,
    "WindowWidth": 400.0,
    "EchoTime": "90",
    "RepetitionTime": "4000",
    "MagneticFieldStrength": "3",
    "ScanningSequence": "SE\\IR",
    "SeriesDescription": "t2_tse_tra",
    "CTDIvol": "12.5",
    "KVP": "120",
    "XRayTubeCurrent": "160",
    "ExposureTime": "2000",
    "ConvolutionKernel": "STD+",
    "GantryDetectorTilt": "+18.5",
    "SpacingBetweenSlices": "0.666666686534882",
    "ImageOrientation": [1.0, 0.0, 0.0, 0.0, 0.9483237, -0.3173047],
    "Manufacturer": "Sightline",
    "ManufacturerModelName": "Phantom",
}


def facts(question: str) -> list[str]:
    """Return the direct answers to a question about the header, a line each."""
    intent = read(question)
    assert "dicom_processor" in intent.wanted
    message = Message(
        role="tool",
        tool="dicom_processor",
        ok=True,
        data={"output": {"image_path": "a.png"}, "metadata": HEADER},
        evidence=1,
    )
    return [
        line
        for wording in WORDINGS
        if wording.kinds & frozenset(intent.kinds)
        for line in direct_answer(wording, message, intent.targets, set())
    ]


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("what is the slice thickness?", "**Slice thickness:** 5.0 mm."),
        ("how thick are these slices?", "**Slice thickness:** 5.0 mm."),
        ("Wie dick sind die Schichten?", "**Slice thickness:** 5.0 mm."),
        ("how old is the patient?", "**Age of the patient:** 63 years, at the time of the study."),
        ("Wie alt ist der Patient?", "**Age of the patient:** 63 years"),
        ("is it a man or a woman?", "**Sex of the patient:** F."),
        ("when was it taken?", "**Study date:** 2024-05-17."),
        ("how old is this film?", "**Study date:** 2024-05-17."),
        ("what is the pixel spacing?", "**Pixel spacing:** 0.5 x 0.5 mm (rows x columns)"),
        ("what is the matrix size?", "**Matrix:** 256 x 512 pixels"),
        ("what modality is this?", "**Modality:** CT."),
        (
            "which view is this?",
            "**View:** not in the part of the header that I read; see Attributes (Ctrl+2).",
        ),
        (
            "is this PA or AP?",
            "**View:** not in the part of the header that I read; see Attributes (Ctrl+2).",
        ),
        ("what is the window level?", "**Window:** centre 40, width 400."),
        ("TE?", "**Echo time:** 90 ms."),
        ("What is the TR?", "**Repetition time:** 4000 ms."),
        ("What field strength?", "**Field strength:** 3 T."),
        ("Was a contrast agent used?", "**Contrast agent:** not in the part"),
        ("with or without contrast?", "**Contrast agent:** not in the part"),
        ("Mit oder ohne Kontrast?", "**Contrast agent:** not in the part"),
        ("What is the CTDIvol?", "**Dose (CTDIvol):** 12.5 mGy."),
        ("radiation dose?", "**Dose (CTDIvol):** 12.5 mGy."),
        ("What was the radiation dose?", "**Dose (CTDIvol):** 12.5 mGy."),
        ("what was the gantry tilt?", "**Gantry tilt:** +18.5 degrees."),
        ("Which reconstruction kernel?", "**Reconstruction kernel:** STD+."),
        ("what plane is this acquired in", "**Plane:** axial, tilted by 18 degrees."),
        ("What is the slice gap?", "**Spacing between slices:** 0.66667 mm."),
        ("is the window right for stroke?", "**Window:** centre 40, width 400."),
        ("which manufacturer?", "**Manufacturer:** Sightline Phantom."),
    ],
)
def test_facts_of_the_header_are_answered_first(question: str, said: str):
    lines = facts(question)
    assert [line.replace(" [1]", "")[: len(said)] for line in lines] == [said]
    assert all(" [1]" in line for line in lines if line.startswith("**"))


@pytest.mark.parametrize(
    ("question", "said"),
    [
        (
            "What is the voxel size?",
            ["**Slice thickness:** 5.0 mm.", "**Pixel spacing:** 0.5 x 0.5 mm (rows x columns)."],
        ),
        (
            "in plane resolution?",
            [
                "**Pixel spacing:** 0.5 x 0.5 mm (rows x columns).",
                "**Matrix:** 256 x 512 pixels (columns x rows).",
            ],
        ),
        (
            "kVp and mAs?",
            [
                "**Tube voltage:** 120 kV.",
                "**Tube current:** 160 mA.",
                "**Exposure time:** 2000 ms.",
                "**Exposure:** not in the part of the header that I read; see Attributes (Ctrl+2).",
            ],
        ),
        ("What is TE and TR?", ["**Echo time:** 90 ms.", "**Repetition time:** 4000 ms."]),
        (
            "What sequence is this?",
            [
                "**Sequence:** spin echo + inversion recovery.",
                "**Series description:** t2_tse_tra.",
            ],
        ),
        (
            "Is this a T2?",
            [
                "**Sequence:** spin echo + inversion recovery.",
                "**Series description:** t2_tse_tra.",
            ],
        ),
    ],
)
def test_facts_of_how_the_image_was_made_are_answered(question: str, said: list[str]):
    assert [line.replace(" [1]", "") for line in facts(question)] == said


@pytest.mark.parametrize(
    "question",
    ["what is the field of view?", "which hospital?", "what is the study description?"],
)
def test_a_fact_that_is_not_read_is_said_not_to_be_read_and_no_other_fact_is_told(question: str):
    assert facts(question) == [
        "I do not read this from the file. All that it says is under Attributes (Ctrl+2)."
    ]


@pytest.mark.parametrize(
    ("question", "goal"),
    [("what is the field of view?", "incomplete"), ("list the attributes", "done")],
)
def test_the_goal_is_not_reached_where_the_answer_tells_nothing_of_the_file(
    tmp_path: Path, question: str, goal: str
):
    events = ask(tmp_path, question)
    assert [event.goal for event in events if event.kind == "plan_updated" and event.goal] == [goal]


@pytest.mark.parametrize(
    "question", ["list the attributes", "show the DICOM header", "how many bits?"]
)
def test_a_question_for_all_attributes_gets_them_all(question: str):
    assert facts(question) == []


@pytest.mark.parametrize(
    ("cosines", "said"),
    [
        ([1, 0, 0, 0, 1, 0], "axial"),
        ([1, 0, 0, 0, 0, -1], "coronal"),
        ([0, 1, 0, 0, 0, -1], "sagittal"),
        (None, "not in the part of the header that I read; see Attributes (Ctrl+2)"),
    ],
)
def test_the_plane_is_told_from_the_direction_cosines(cosines: list[float] | None, said: str):
    wording = next(item for item in PLAN.wordings if "metadata" in item.kinds)
    assert wording.answer is not None
    ((line,),) = wording.answer({"ImageOrientation": cosines}, frozenset(("ImageOrientation",)))
    assert line.text == f"**Plane:** {said}."


def test_a_window_asked_for_makes_a_picture_and_no_list_of_attributes():
    wording = next(item for item in PLAN.wordings if "metadata" in item.kinds)
    assert wording.answer is not None
    ((line,),) = wording.answer({**HEADER, "WindowAsked": True}, frozenset(("WindowCenter",)))
    assert line.text.startswith("A PNG with centre 40, width 400 was made. The image in the viewer")


def test_a_question_about_a_spot_is_not_answered_by_what_the_file_says():
    assert read("what is this?", "ct_dicom").wanted == ("dicom_processor",)
    assert read("what's this bright spot", "ct_dicom").wanted == ()


def test_a_fact_of_the_viewer_beside_a_fact_of_the_header_leaves_no_goal_open():
    intent = read("What is the reconstruction kernel, and how many slices are there?", "ct_dicom")
    assert isinstance(intent.plan, ToolPlan)
    assert "top right of the image" in intent.plan.notes[0]
    assert intent.viewer == ""


def test_a_slice_named_by_its_number_is_told_not_to_have_been_used(tmp_path: Path):
    made = ok("Converted.", {"image_path": "a.png"})
    tools = FakeRegistry(FakeTool("dicom_processor", ImageInput, made))
    answer = ask(tmp_path, "export slice 40 as PNG", tools)[-1].answer
    assert "A slice by its number: the shown one was used." in answer
    assert "A slice by" not in ask(tmp_path, "export this slice as PNG", tools)[-1].answer


def test_an_answer_without_any_result_says_so_first(tmp_path: Path):
    failing = FakeTool("chest_xray_expert", ImageInput, fails(RuntimeError("broken")))
    answer = ask(tmp_path, "Is the ET tube in the right place?", FakeRegistry(failing))[-1].answer
    assert answer.startswith("No result.")


def test_a_window_asked_for_is_not_claimed_to_be_set_in_the_viewer(tmp_path: Path):
    wording = next(item for item in PLAN.wordings if item.tool == "dicom_processor")
    assert wording.lines is not None
    lines = wording.lines({"image_path": "a.png"}, {**HEADER, "WindowAsked": True})
    text = " ".join(line.text for line in lines)
    assert "The image in the viewer keeps its own" in text
    assert "what the viewer shows" not in text


@pytest.mark.parametrize(
    "question",
    [
        "Convert the DICOM to PNG, then classify the PNG and outline the lungs.",
        "Convert it to a PNG. Then score the findings on the converted image.",
        "export as png and score findings on that png",
    ],
)
def test_tools_get_the_converted_picture_where_the_question_says_so(question: str):
    plan = read(question).plan
    assert isinstance(plan, ToolPlan)
    assert plan.steps[0].tool == "dicom_processor"
    for step in plan.steps[1:]:
        assert step.arguments["image_path"] == Output(1, "image_path", fallback=True), step


def test_tools_get_the_open_image_where_the_question_only_converts_it_as_well():
    plan = read("Convert the DICOM to PNG and score the findings").plan
    assert isinstance(plan, ToolPlan)
    assert plan.steps[1].arguments["image_path"] == OpenImage()


@pytest.mark.parametrize(
    ("question", "told"),
    [
        ("what is the patient's name?", "at the top left of the image"),
        ("who is this patient?", "**Ctrl+2**"),
        ("patient id?", "**Ctrl+2**"),
        ("when was the patient born?", "**Ctrl+2**"),
        ("how many slices?", "at the top right of the image"),
        ("which slice am I on?", "at the top right of the image"),
        ("save as dicom", "as PNG only"),
        ("export it as JPEG please", "as PNG only"),
        ("which slice is this?", "at the top right of the image"),
    ],
)
def test_what_the_viewer_shows_and_the_assistant_is_not_given_is_said_where_it_stands(
    question: str, told: str
):
    intent = read(question, "ct_dicom")
    assert intent.wanted == ()
    assert isinstance(intent.plan, Reply)
    assert told in intent.plan.text
    assert "cannot work" not in intent.plan.text
    assert "\n" not in intent.plan.text


def test_the_number_of_slices_is_answered_where_the_note_on_the_image_has_it():
    registry = registry_of("chest")
    note = {**SCENES["ct_dicom"][0], "image_number": 16, "images_in_series": 34}
    scene = Scene((note,), schemas(), plans=registry.plans)
    plan = Planner(registry.plans).interpret("how many slices are there?", scene).plan
    assert plan == Reply("This is image 16 of 34 in its series.", certain=True)


@pytest.mark.parametrize("question", ["show lung window", "show the lung window please"])
def test_a_window_of_the_lungs_outlines_no_lungs(question: str):
    assert "chest_xray_segmentation" not in read(question).wanted
