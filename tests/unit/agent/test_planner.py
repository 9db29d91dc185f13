from __future__ import annotations

from importlib.metadata import EntryPoint
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.agent.image_reference import as_value, image_arguments, made_arguments
from app.agent.llm.base import ToolSchema
from app.agent.llm.schema_calls import brief
from app.agent.planning import NoRule, Planner, Reply, Scene, ToolPlan, schema_of
from app.tools.api import RESOURCE_KEY, Resource, ToolInput, takes
from app.tools.registry import load_packs
from tests.support.fake_tools import DICOM_NOTE, PNG_NOTE, FakeRegistry, pack

PROMPT_1 = """Run tools in this order:
1) dicom_processor on the uploaded DICOM path
2) chest_xray_classifier on the converted PNG image_path
3) chest_xray_segmentation on the converted PNG for organs ["Left Lung","Right Lung","Heart"]
4) chest_xray_report_generator on the converted PNG
5) image_visualizer on segmentation_image_path with title "Segmentation Overlay"
Then summarize all outputs."""
PROMPT_1_NATURAL = (
    "In this image, what type of disease do we have, and where is it located? "
    "Use all available tools for diagnosis and localization."
)
PROMPT_2 = """Run chest_xray_expert first with:
image_paths=[<uploaded image path>]
prompt="List the top abnormalities, then explain supporting visual signs."
Then run llava_med_qa on the same image with:
question="Do you agree with that interpretation? Point out any disagreement."
Finally compare both answers."""
PROMPT_3 = """Run xray_phrase_grounding with:
phrase="left pleural effusion"
max_new_tokens=300
Then run image_visualizer on the returned visualization_path with title "Grounded Finding".
Explain the box coordinates in plain language."""
PROMPT_4 = """Run chest_xray_generator with:
prompt="PA chest X-ray showing moderate cardiomegaly and mild bilateral pleural effusions"
height=512
width=512
num_inference_steps=75
guidance_scale=4.0
Then run image_visualizer on the generated image.
Then run chest_xray_classifier, chest_xray_segmentation, and chest_xray_report_generator on that \
same generated image.
Finish with a concise synthesis."""

OPEN = DICOM_NOTE["path"]
PNG = PNG_NOTE["path"]
PLANS = load_packs([]).plans
ALL = pack(full=True)
FIRST = pack()


def plan(
    question: str, notes: Any = (DICOM_NOTE,), tools: FakeRegistry = ALL
) -> list[tuple[str, dict[str, Any]]]:
    return [
        (call.tool, call.arguments)
        for call in Planner(PLANS).planned_calls(question, notes, tools.all())
    ]


def names(question: str, notes: Any = (DICOM_NOTE,), tools: FakeRegistry = ALL) -> list[str]:
    return [tool for tool, _ in plan(question, notes, tools)]


def decision(question: str, notes: Any = (DICOM_NOTE,), tools: FakeRegistry = ALL) -> Any:
    schemas = {tool.spec.name: schema_of(tool) for tool in tools.all()}
    return Planner().interpret(question, Scene(tuple(notes), schemas, plans=PLANS)).plan


def pipeline(*, report: bool = True) -> list[tuple[str, dict[str, Any]]]:
    converted = {"image_path": "<image_path of step 1>"}
    steps: list[tuple[str, dict[str, Any]]] = [
        ("dicom_processor", {"dicom_path": OPEN}),
        ("chest_xray_classifier", converted),
        (
            "chest_xray_segmentation",
            {**converted, "organs": ["Left Lung", "Right Lung", "Heart"]},
        ),
        ("chest_xray_report_generator", converted),
        (
            "image_visualizer",
            {
                "image_path": "<segmentation_image_path of step 3>",
                "title": "Segmentation Overlay",
            },
        ),
    ]
    return steps if report else [steps[0], steps[1], steps[2], steps[4]]


def variants() -> list[str]:
    bulleted = PROMPT_1
    for number in range(1, 6):
        bulleted = bulleted.replace(f"{number}) ", "- ")
    return [
        PROMPT_1,
        " ".join(PROMPT_1.split()),
        PROMPT_1.replace(") ", ". "),
        PROMPT_1.replace("\n", "\r\n"),
        PROMPT_1.replace('"', "”").replace("[”", "[“"),
        PROMPT_1.replace("2) ", "4) ").replace("3) ", "7) "),
        PROMPT_1.replace("1) ", "Step 1: ").replace("2) ", "Step 2: run "),
        PROMPT_1.replace("_", "\u005f").replace("chest_xray_", "Chest_XRay_"),
        PROMPT_1.replace("chest_xray_classifier", "the chest x-ray classifier"),
        PROMPT_1.replace("\n", "\n\n   "),
        bulleted,
        PROMPT_1.replace("the converted PNG image_path", "image_path of step 1"),
        PROMPT_1.replace('organs ["Left Lung","Right Lung","Heart"]', "left and right lung, heart"),
    ]


@pytest.mark.parametrize("question", variants())
def test_the_numbered_form_in_any_dress(question: str):
    assert plan(question) == pipeline()


def test_steps_that_name_a_tool_that_is_not_there_are_left_out_with_a_reason():
    assert plan(PROMPT_1, tools=FIRST) == pipeline(report=False)
    steps = decision(PROMPT_1, tools=FIRST).steps
    assert "no such tool" in steps[3].skip


def test_on_a_picture_the_converted_png_is_the_open_image():
    called = plan(PROMPT_1, [PNG_NOTE])
    assert [tool for tool, _ in called] == [tool for tool, _ in pipeline()[1:]]
    assert called[0] == ("chest_xray_classifier", {"image_path": PNG})
    assert called[-1][1]["image_path"] == "<segmentation_image_path of step 2>"


def test_seed_prompt_2():
    assert plan(PROMPT_2, [PNG_NOTE]) == [
        (
            "chest_xray_expert",
            {
                "image_paths": [PNG],
                "prompt": "List the top abnormalities, then explain supporting visual signs.",
            },
        ),
        (
            "llava_med_qa",
            {
                "image_path": PNG,
                "question": "Do you agree with that interpretation? Point out any disagreement.",
            },
        ),
    ]


def test_seed_prompt_3():
    assert plan(PROMPT_3, [PNG_NOTE]) == [
        (
            "xray_phrase_grounding",
            {"image_path": PNG, "phrase": "left pleural effusion", "max_new_tokens": 300},
        ),
        (
            "image_visualizer",
            {"image_path": "<visualization_path of step 1>", "title": "Grounded Finding"},
        ),
    ]


def test_seed_prompt_4_needs_no_open_image():
    made = {"image_path": "<image_path of step 1>"}
    assert plan(PROMPT_4, []) == [
        (
            "chest_xray_generator",
            {
                "prompt": "PA chest X-ray showing moderate cardiomegaly and mild bilateral "
                "pleural effusions",
                "height": 512,
                "width": 512,
                "num_inference_steps": 75,
                "guidance_scale": 4.0,
            },
        ),
        ("image_visualizer", made),
        ("chest_xray_classifier", made),
        ("chest_xray_segmentation", made),
        ("chest_xray_report_generator", made),
    ]


@pytest.mark.parametrize("notes", [[], [DICOM_NOTE]])
def test_without_the_generator_nothing_stands_in_for_the_generated_image(notes: Any):
    assert plan(PROMPT_4, notes, FIRST) == []


def test_the_natural_form_of_prompt_1():
    called = plan(PROMPT_1_NATURAL)
    assert [tool for tool, _ in called] == [
        "dicom_processor",
        "chest_xray_classifier",
        "chest_xray_segmentation",
        "cardiothoracic_ratio",
        "chest_xray_report_generator",
        "image_visualizer",
    ]
    assert called[2][1]["organs"] == ["Left Lung", "Right Lung", "Heart"]
    assert called[-1][1]["image_path"] == "<segmentation_image_path of step 3>"
    assert "dicom_processor" not in names(PROMPT_1_NATURAL, [PNG_NOTE])


SEGMENT, RATIO, CLASSIFY = (
    "chest_xray_segmentation",
    "cardiothoracic_ratio",
    "chest_xray_classifier",
)


@pytest.mark.parametrize(
    ("question", "tools"),
    [
        ("Where are the lungs, and is the heart enlarged?", [SEGMENT, RATIO]),
        ("what window is used", ["dicom_processor"]),
        ("What is this?", ["dicom_processor"]),
        ("show me the metadata", ["dicom_processor"]),
        ("Which pixel spacing does it have?", ["dicom_processor"]),
        ("show the image", ["image_visualizer"]),
        ("How big is the heart?", [RATIO]),
        ("CARDIOMEGALY?", [RATIO]),
        ("measure the cardiothoracic ratio", [RATIO]),
        ("pneumonia?", [CLASSIFY]),
        ("Is there a pleural effusion?", [CLASSIFY]),
        ("Is there an effusion, and where?", [CLASSIFY, SEGMENT]),
        ("segment the left lung", [SEGMENT]),
        ("outline lungs and heart", [SEGMENT]),
        ("where is the heart", [SEGMENT]),
        ("Write a report", ["chest_xray_report_generator"]),
        ("only segment, don't classify", [SEGMENT]),
        ("Segment everything", [SEGMENT]),
        ("left lower lobe collapse?", [CLASSIFY]),
        ("Run chest_xray_segmentation without chest_xray_classifier", [SEGMENT]),
        ("classify it, but do not segment", [CLASSIFY]),
        ("run the chest xray classifier please", [CLASSIFY]),
        ("use chest_xray_classifier, then chest_xray_segmentation", [CLASSIFY, SEGMENT]),
        (
            "1. convert the dicom 2. classify 3. segment lungs and heart 4. show the overlay",
            ["dicom_processor", CLASSIFY, SEGMENT, "image_visualizer"],
        ),
        ("Run every tool but skip chest_xray_classifier and chest_xray_report_generator",
         ["dicom_processor", SEGMENT, RATIO, "image_visualizer"]),
    ],
)  # fmt: skip
def test_plain_questions(question: str, tools: list[str]):
    assert names(question) == tools


@pytest.mark.parametrize(
    ("question", "organs"),
    [
        ("segment the left lung", ["Left Lung"]),
        ("segment the left and right lung but not the heart", ["Left Lung", "Right Lung"]),
        ("outline both lungs and the heart", ["Left Lung", "Right Lung", "Heart"]),
        ("segment heart, aorta and spine", ["Heart", "Aorta", "Spine"]),
        ("segment everything except the heart", ["Left Lung", "Right Lung"]),
        ("Outline everything but the lungs", ["Heart"]),
        ("Is the right lung smaller than the left?", ["Right Lung", "Left Lung"]),
        ("Leave the left lung alone and outline only the right one.", ["Right Lung"]),
        ("Skip the left clavicle, outline the right one.", ["Right Clavicle"]),
        ("Not the left lung, the right one please.", ["Right Lung"]),
        ("Outline the left lung, not the right one.", ["Left Lung"]),
        ("Where is the spine?", ["Spine"]),
        ("Is the mediastinum widened?", ["Mediastinum"]),
        ("segment everything you can, all masks", ["Left Lung", "Right Lung", "Heart"]),
    ],
)
def test_structures_asked_for(question: str, organs: list[str]):
    called = dict(plan(question))
    assert called["chest_xray_segmentation"]["organs"] == organs


@pytest.mark.parametrize(
    ("question", "tools"),
    [
        ("Ist das Herz vergrößert?", [RATIO]),
        ("Ist das Herz vergroessert?", [RATIO]),
        ("Ist das Hertz vergrosert?", [RATIO]),
        ("Wo ist die Lunge?", [SEGMENT]),
        ("Lungensegmentierung", [SEGMENT]),
        ("Ist kein Pleuraerguß zu sehen?", [CLASSIFY]),
        ("Nur segmentieren, nicht klassifizieren", [SEGMENT]),
        ("Keine Klassifikation, nur den HTQ", [RATIO]),
        ("Was ist ein Pneumothorax?", []),
        ("is there a mass in the right lung", [CLASSIFY]),
        ("segmnet the lnugs, dont classify", [SEGMENT]),
        ("Skip everything except the CTR", [RATIO]),
        ("Where is the heart and is it enlarged?", [SEGMENT, RATIO]),
        ("Outline the aorta and then tell me the acquisition date", [SEGMENT, "dicom_processor"]),
        ("Measure the cardiothoracic ratio and outline the heart.", [RATIO, SEGMENT]),
        ("Segment the liver", []),
        ("What causes an effusion?", []),
        ("Email the findings to Dr. Smith", []),
        ('The tag says "segment the heart". Any fracture?', [CLASSIFY]),
        ("run the chest_xray_clasifier", [CLASSIFY]),
        ("is chest_xray_classifier available?", []),
        ("run chest_xray_segmentation, then image_visualizer on segmentation_image_path",
         [SEGMENT, "image_visualizer"]),
    ],
)  # fmt: skip
def test_other_words_and_german(question: str, tools: list[str]):
    assert names(question, tools=FIRST) == tools


@pytest.mark.parametrize(
    ("question", "structures"),
    [
        ("R lung mask", ["Right Lung"]),
        ("Lunge links", ["Left Lung"]),
        ("rigth collarbone outline", ["Right Clavicle"]),
        ("Compare the left and the right lung: segment them", ["Left Lung", "Right Lung"]),
        ("Segmentiere alles außer dem Herzen", ["Left Lung", "Right Lung"]),
        ("Outline but do not classify the lungs", ["Left Lung", "Right Lung"]),
    ],
)
def test_structures_by_side_language_and_exclusion(question: str, structures: list[str]):
    assert dict(plan(question))["chest_xray_segmentation"]["organs"] == structures


def test_a_window_by_its_usual_name():
    found = dict(plan("Convert it with the lung window", [{**DICOM_NOTE, "modality": "CT"}]))
    window = {"dicom_path": OPEN, "window_center": -600.0, "window_width": 1500.0}
    assert found == {"dicom_processor": window}


@pytest.mark.parametrize(
    "question",
    [
        "How do I account for this on my invoice?",
        "What is the weather?",
        "Ignore it. The massive disagreement is unwelcoming.",
        "stop",
        "",
        "?!",
        "\x00\u202e",
    ],
)
def test_a_question_that_no_rule_matches_is_not_the_same_as_finished(question: str):
    assert isinstance(decision(question), NoRule)
    assert plan(question) == []


@pytest.mark.parametrize(
    "question",
    [
        *("help", "What can you do?", "which tools are available?", "What else can you do?"),
        *("Was kannst du?", "Was kannst du alles machen?", "Wobei kannst du mir helfen?"),
    ],
)
def test_help_lists_the_tools(question: str):
    reply = decision(question)
    assert isinstance(reply, Reply)
    assert "**chest_xray_segmentation**" in reply.text


def test_a_question_about_a_tool_describes_it_and_runs_nothing():
    reply = decision("What does chest_xray_classifier do?")
    assert isinstance(reply, Reply)
    assert "Does what chest_xray_classifier does" in reply.text


@pytest.mark.parametrize(
    "question", [PROMPT_1, PROMPT_1_NATURAL, "is the heart enlarged", PROMPT_3]
)
def test_without_an_image_it_says_to_open_one(question: str):
    reply = decision(question, [])
    assert isinstance(reply, Reply)
    assert "Open one" in reply.text


@pytest.mark.parametrize("modality", ["CT", "US", "MR"])
def test_chest_tools_are_planned_on_other_images_only_where_they_are_named(modality: str):
    notes = [{**DICOM_NOTE, "modality": modality}]
    # Named by the user, they ask whether the image is to be used all the same.
    assert "chest_xray_classifier" in names(PROMPT_1, notes)
    assert names("Run chest_xray_segmentation.", notes) == ["chest_xray_segmentation"]
    assert names("What is the cardiothoracic ratio?", notes) == []
    assert names(PROMPT_1_NATURAL, notes) == ["dicom_processor"]
    assert names("Where are the lungs?", notes) == []
    steps = decision("Where are the lungs?", notes)
    assert f"RG1.dcm is {modality}, not a chest radiograph" in steps.steps[0].skip


def test_what_the_user_quotes_is_no_instruction():
    question = 'Run image_visualizer on the image with title "then run chest_xray_classifier 1) x"'
    assert plan(question) == [
        (
            "image_visualizer",
            {"image_path": OPEN, "title": "then run chest_xray_classifier 1) x"},
        )
    ]


def test_arguments_in_words_and_as_assignments():
    called = plan(
        "Run dicom_processor with window_center=40 and window_width: 400.5, then image_visualizer "
        "with title 'A b', cmap=\"gray\", figsize=(8, 6)"
    )
    assert called == [
        ("dicom_processor", {"dicom_path": OPEN, "window_center": 40, "window_width": 400.5}),
        (
            "image_visualizer",
            {
                "image_path": "<image_path of step 1>",
                "title": "A b",
                "cmap": "gray",
                "figsize": [8, 6],
            },
        ),
    ]


def test_an_argument_that_the_tool_does_not_have_is_left_out_and_said():
    steps = decision("Run chest_xray_classifier with threshold=0.3")
    assert isinstance(steps, ToolPlan)
    assert "threshold" not in steps.steps[0].arguments
    assert "chest_xray_classifier has no argument threshold" in steps.notes[0]


def test_a_misspelt_tool_is_named_with_the_near_one():
    steps = decision("1) chest_xray_clasifier on the image\n2) frobnicate the image")
    assert "chest_xray_classifier" in steps.steps[0].skip
    assert 'Step 2 "frobnicate the image" names no tool' in steps.notes[0]


def test_what_follows_then_is_a_step_of_its_own():
    question = "Run chest_xray_classifier, then segment the heart, then make coffee"
    assert plan(question) == [
        ("chest_xray_classifier", {"image_path": OPEN}),
        ("chest_xray_segmentation", {"image_path": OPEN, "organs": ["Heart"]}),
    ]
    assert '"make coffee" names no tool' in decision(question).notes[0]


def test_a_path_that_is_not_open_is_handed_on_to_be_refused():
    assert plan("use chest_xray_segmentation on /etc/passwd") == [
        ("chest_xray_segmentation", {"image_path": "/etc/passwd"})
    ]


def test_a_window_in_words():
    window = {"dicom_path": OPEN, "window_center": 40.0, "window_width": 400.0}
    for question in ("convert it with window 40/400", "window center 40 and width of 400 please"):
        assert plan(question) == [("dicom_processor", window)]


_WORDS = [
    *PROMPT_1.split(),
    *PROMPT_2.split(),
    *PROMPT_4.split(),
    "don't",
    "on",
    "image-1",
    "=",
    "(",
]


@settings(max_examples=60, deadline=None)
@given(
    st.one_of(
        st.text(max_size=200),
        st.lists(st.sampled_from(_WORDS), max_size=40).map(" ".join),
        st.lists(st.sampled_from(_WORDS), max_size=40).map("\n".join),
    ),
    st.sampled_from([(), (DICOM_NOTE,), (PNG_NOTE,), ({**DICOM_NOTE, "modality": "CT"},)]),
)
def test_no_question_breaks_the_planner(question: str, notes: Any):
    for name, arguments in plan(question, notes):
        assert ALL.get(name) is not None
        assert None not in arguments.values() or "null" in question or "none" in question.lower()


def test_another_open_image_can_be_named():
    notes = [DICOM_NOTE, {**PNG_NOTE, "id": "image-2"}]
    assert plan("Run chest_xray_classifier on image-2", notes) == [
        ("chest_xray_classifier", {"image_path": PNG})
    ]
    assert plan("Run chest_xray_classifier on image-7", notes) == []


def test_steps_are_never_more_than_asked_for():
    assert names("Run chest_xray_classifier on the image. Then summarize all outputs.") == [
        "chest_xray_classifier"
    ]


FOREIGN = FakeRegistry(
    *load_packs(
        [EntryPoint("foreign", "tests.support.foreign_pack:register", "sightline.tool_packs")]
    ).all()
)
TWO = (DICOM_NOTE, {**PNG_NOTE, "id": "image-2"})


@pytest.mark.parametrize(
    ("question", "tool", "arguments"),
    [
        ("Count the cells", "cell_counter", {"image_path": OPEN}),
        ("What is the cell count?", "cell_counter", {"image_path": OPEN}),
        ("count all these cells, please", "cell_counter", {"image_path": OPEN}),
        ("cell counter on image-2, far red channel, without overlay", "cell_counter",
         {"image_path": PNG, "channel": "far red", "overlay": False}),
        ("In the red channel, count the cells with overlay and threshold 0.3", "cell_counter",
         {"image_path": OPEN, "channel": "red", "threshold": 0.3, "overlay": True}),
        ("Run cell_counter with: channel=green overlay=true", "cell_counter",
         {"image_path": OPEN, "channel": "green", "overlay": True}),
        ("blur the image with 3", "blur", {"image": OPEN, "radius": 3}),
        ("blur it, radius 4", "blur", {"image": OPEN, "radius": 4}),
        ("Run blur on image-2 with radius=2", "blur", {"image": PNG, "radius": 2}),
        ('Ask slide question "how many mitoses?"', "slide_question",
         {"image_path": OPEN, "question": "how many mitoses?"}),
        ("align images image-2 and image-1, affine", "align-images",
         {"fixed_path": PNG, "moving_path": OPEN, "mode": "affine"}),
        ("Run align-images on image-1 with moving_path=image-2 mode=rigid", "align-images",
         {"fixed_path": OPEN, "moving_path": PNG, "mode": "rigid"}),
        ("write the log", "audit_log", {}),
        ("use the audit log with high level for Ki-67 and H&E", "audit_log",
         {"level": "high", "stains": ["Ki-67", "H&E"]}),
    ],
)  # fmt: skip
def test_a_tool_that_no_rule_knows_is_reached(question: str, tool: str, arguments: dict[str, Any]):
    assert plan(question, TWO, FOREIGN) == [(tool, arguments)]


def test_a_tool_without_an_image_needs_none_open():
    assert plan("write the log", (), FOREIGN) == [("audit_log", {})]
    assert "Open one" in decision("count the cells", (), FOREIGN).text


def test_an_output_of_a_foreign_tool_feeds_the_next():
    assert plan("Run cell_counter on image-2, then grow_mask on image-2", TWO, FOREIGN) == [
        ("cell_counter", {"image_path": PNG}),
        ("grow_mask", {"image_path": PNG, "cells_path": "<cells_path of step 1>"}),
    ]


def test_a_phrase_beside_a_question_for_the_rules():
    assert plan("Is the heart enlarged? And count the cells on image-2", TWO, FOREIGN) == [
        (RATIO, {"image_path": OPEN}),
        ("cell_counter", {"image_path": PNG}),
    ]
    assert names("segment the lungs but don't count the cells", TWO, FOREIGN) == [SEGMENT]
    assert isinstance(decision("don't count the cells", TWO, FOREIGN), NoRule)


@pytest.mark.parametrize(
    ("question", "lacks", "write"),
    [
        ("blur it", "**radius** (In pixels)", "Run blur with: radius=1"),
        ("Run slide_question", "**question** (What to look for)", 'with: question="..."'),
        ("align the images", None, None),
        ("Run align-images", "**moving_path**; **mode** (one of rigid, affine)",
         'Run align-images with: moving_path=image-2, mode="rigid"'),
        ("Run grow_mask", "**cells_path** (a mask; an earlier tool makes one)", ""),
    ],
)  # fmt: skip
def test_a_missing_argument_is_named_with_the_way_to_write_it(
    question: str, lacks: str | None, write: str | None
):
    found = decision(question, TWO, FOREIGN)
    if lacks is None or write is None:
        assert isinstance(found, NoRule)
        return
    assert isinstance(found, Reply)
    assert f"it still needs {lacks}{'. Write for example: ' if write else ''}" in found.text
    assert write in found.text


def test_what_the_reply_says_to_write_is_understood():
    assert plan("Run blur with: radius=1", TWO, FOREIGN) == [("blur", {"image": OPEN, "radius": 1})]
    assert plan('Run align-images with: moving_path=image-2, mode="rigid"', TWO, FOREIGN) == [
        ("align-images", {"fixed_path": OPEN, "moving_path": PNG, "mode": "rigid"})
    ]


def test_a_step_that_lacks_an_argument_does_not_stop_the_others():
    steps = decision("Run cell_counter, then run blur", TWO, FOREIGN).steps
    assert [step.skip.partition("**")[0] for step in steps] == ["", "it still needs "]


def test_what_may_mean_two_things_is_left_out_and_said():
    found = decision("Run cell_counter with channel red or green", TWO, FOREIGN)
    assert "channel" not in found.steps[0].arguments
    assert found.notes == ("cell_counter: channel may be red or green, so I left it out.",)
    found = decision("Run blur on 3 or 4", TWO, FOREIGN)
    assert isinstance(found, Reply)


def test_what_a_name_in_a_sentence_is_about():
    for question in ("What is cell_counter?", "what does the cell counter do?"):
        assert "Works cell_counter" in decision(question, TWO, FOREIGN).text
    assert names("What is the cardiothoracic ratio?") == [RATIO]


def test_an_argument_with_the_name_of_an_image_but_of_another_type_takes_none():
    fields = {"image": {"type": "boolean"}, "image_id": {"type": "integer"}, "x_path": {}}
    assert image_arguments(ToolSchema("t", "", {"properties": fields})) == []
    files = {"output_path": {"type": "string"}, "weights_path": {"type": "string"}}
    assert image_arguments(ToolSchema("t", "", {"properties": files})) == []


class _Declared(ToolInput):
    left: str = takes(Resource.IMAGE)
    image_path: str = takes(Resource.MASK)
    several: list[str] | None = takes(Resource.IMAGES, default=None)
    table: str | None = takes(Resource.TABLE, default=None)
    image: str
    where_path: str


def test_what_an_argument_takes_is_what_its_type_declares_whatever_its_name():
    schema = ToolSchema("t", "", _Declared.model_json_schema())
    assert image_arguments(schema) == ["image", "left", "several"]
    assert made_arguments(schema) == {"image_path": Resource.MASK, "table": Resource.TABLE}
    assert as_value(schema, "several", "image-1") == ["image-1"]
    assert as_value(schema, "left", "image-1") == "image-1"


def test_a_provider_is_told_the_kind_and_sees_no_key_of_ours():
    told = brief(_Declared.model_json_schema())
    assert RESOURCE_KEY not in str(told)
    masked = brief(_Masked.model_json_schema())["properties"]["mask_path"]["description"]
    assert masked == "Its cells. (a mask made by another tool)"


class _Masked(ToolInput):
    mask_path: str = takes(Resource.MASK, "Its cells.")


@pytest.mark.parametrize(
    ("question", "outlined"),
    [
        ("outline the lungs, zoom to the left lung and invert", [["Left Lung", "Right Lung"]]),
        ("zoom to the left lung and outline the heart", [["Heart"], ["Left Lung"]]),
    ],
)
def test_what_is_to_be_zoomed_to_is_not_outlined_twice(question: str, outlined: list[list[str]]):
    packs = load_packs([])
    tools = {tool.spec.name: schema_of(tool) for tool in packs.all()}
    shown = {"viewports": [{"image": "image-1"}], "findings": []}
    scene = Scene((DICOM_NOTE,), tools, plans=packs.plans, shown=shown)
    found = Planner(packs.plans).interpret(question, scene).plan
    assert isinstance(found, ToolPlan)
    steps = [one for one in found.steps if one.tool == "chest_xray_segmentation"]
    assert [one.arguments["organs"] for one in steps] == outlined
    assert "viewer_zoom" in [one.tool for one in found.steps]
