"""Where the chest tools' results contradict each other."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from app.tools.chest import contradictions
from app.tools.chest.contradictions import TOPICS, disagreements, read_text
from app.tools.result_wording import CallResult

FILM = frozenset({"/films/a.dcm"})
OTHER = frozenset({"/films/b.dcm"})


def given(
    tool: str, output: dict[str, Any], images: frozenset[str] = FILM, **arguments: Any
) -> CallResult:
    metadata = {"original_size": [1000, 1000]}
    return CallResult(tool, arguments, output, metadata, images)


def scores(images: frozenset[str] = FILM, **values: float) -> CallResult:
    return given("chest_xray_classifier", dict(values), images)


def report(findings: str, images: frozenset[str] = FILM) -> CallResult:
    return given("chest_xray_report_generator", {"findings": findings}, images)


def expert(text: str) -> CallResult:
    return given("chest_xray_expert", {"response": text}, prompt="List the top abnormalities.")


def llava(text: str, question: str = "Is the heart enlarged?") -> CallResult:
    return given("llava_med_qa", {"answer": text}, question=question)


def ratio(value: float, **more: Any) -> CallResult:
    return given("cardiothoracic_ratio", {"ratio": value, **more})


def boxes(phrase: str, *found: list[float]) -> CallResult:
    predictions = [{"phrase": phrase, "bounding_boxes": {"image_coordinates": list(found)}}]
    output = {"predictions": predictions if found else []}
    return given("xray_phrase_grounding", output, phrase=phrase)


def outlines(heart: int) -> CallResult:
    def organ(first: int, last: int) -> dict[str, Any]:
        return {"bbox": [0, first, 100, last]}

    middle = 500
    table = {
        "Heart": organ(middle - heart // 2, middle + heart // 2),
        "Right Lung": organ(100, 450),
        "Left Lung": organ(550, 900),
    }
    return given("chest_xray_segmentation", {"metrics": table})


def topics(*results: CallResult) -> list[str]:
    return [found.about for found in disagreements(results)]


HEART = contradictions.HEART


@pytest.mark.parametrize(
    ("results", "about"),
    [
        ((scores(Effusion=0.8), report("No pleural effusion.")), ["pleural effusion"]),
        ((scores(Effusion=0.2), report("There is a small effusion.")), ["pleural effusion"]),
        ((scores(Cardiomegaly=0.8), ratio(0.42)), [HEART]),
        ((scores(Cardiomegaly=0.2), outlines(480)), [HEART]),
        ((ratio(0.58), report("The heart size is normal.")), [HEART]),
        ((ratio(0.44), outlines(480)), [HEART]),
        ((scores(Pneumothorax=0.9), boxes("pneumothorax")), ["pneumothorax"]),
        ((boxes("nodule", [10, 10, 20, 20]), expert("No nodule is seen.")), ["a nodule"]),
        ((expert("Cardiomegaly is present."), llava("The heart is not enlarged.")), [HEART]),
        (
            (scores(Edema=0.9, Mass=0.9), report("No oedema. There is no mass.")),
            ["oedema", "a mass"],
        ),
    ],
)
def test_contradictions_are_told(results: tuple[CallResult, ...], about: list[str]):
    assert topics(*results) == about
    assert topics(*results[::-1]) == about


@pytest.mark.parametrize(
    "results",
    [
        (scores(Effusion=0.8), report("There is a right pleural effusion.")),
        (scores(Effusion=0.2), report("No pneumothorax or pleural effusion.")),
        (scores(Effusion=0.52), report("No pleural effusion.")),
        (scores(Effusion=0.8), report("A small effusion cannot be excluded.")),
        (scores(Effusion=0.2), report("Possible small effusion.")),
        (scores(Effusion=0.8), report("The bones are intact.")),
        (scores(Effusion=0.8), report("No pleural effusion.", OTHER)),
        (scores(Effusion=0.2), report("No pericardial effusion.")),
        (scores(Cardiomegaly=0.8), ratio(0.49)),
        (scores(Cardiomegaly=0.8), ratio(0.40, reliable=False)),
        (scores(Cardiomegaly=0.8), outlines(380)),
        (ratio(0.44), outlines(780)),
        (scores(Pneumothorax=0.9), boxes("left pneumothorax")),
        (scores(Effusion=0.8), scores(OTHER, Effusion=0.1)),
        (scores(Effusion=0.8),),
        (),
    ],
)
def test_agreement_doubt_and_other_images_are_no_contradiction(results: tuple[CallResult, ...]):
    assert topics(*results) == []


def test_each_side_says_who_and_what_and_no_mean_is_made():
    results = [
        scores(Effusion=0.83),
        report("No pleural effusion."),
        boxes("effusion", [1, 1, 9, 9]),
    ]
    (found,) = disagreements(results)
    assert found.sides == (
        ("chest_xray_classifier says yes (score 0.83, above the operating point 0.5)", 0),
        ("xray_phrase_grounding says yes (a box for “effusion”)", 2),
        ("chest_xray_report_generator says no (“No pleural effusion.”)", 1),
    )


def test_a_tool_that_looked_and_cannot_decide_is_told_behind_those_that_do():
    """And it alone contradicts nobody."""
    unsure = ratio(0.41, reliable=False)
    near = scores(Cardiomegaly=0.52)
    (found,) = disagreements([unsure, near, report("Cardiomegaly."), llava("The heart is normal.")])
    assert found.about == HEART
    assert [text.partition(" (")[0] for text, _ in found.sides] == [
        "chest_xray_report_generator says yes",
        "llava_med_qa says no",
        "cardiothoracic_ratio cannot decide",
        "chest_xray_classifier cannot decide",
    ]
    assert "0.41, not reliable on this film" in found.sides[2][0]
    assert "0.52, too close to the operating point 0.5" in found.sides[3][0]
    assert disagreements([unsure, near, report("Cardiomegaly.")]) == []


def test_two_results_that_put_a_finding_on_opposite_sides_are_told():
    """The patient's left is on the viewer's right."""
    right = report("There is a right pleural effusion. The heart is normal.")
    box = boxes("pleural effusion", [700, 600, 900, 900])
    third = expert("Left pleural effusion.")
    (found,) = disagreements([right, box, third])
    assert (found.about, found.label) == ("the side of pleural effusion", "Effusion")
    assert [text for text, _ in found.sides] == [
        "chest_xray_report_generator says right (“There is a right pleural effusion.”)",
        "xray_phrase_grounding says left (its box for “pleural effusion”)",
        "chest_xray_expert says left (“Left pleural effusion.”)",
    ]
    assert [at for _, at in found.sides] == [0, 1, 2]


@pytest.mark.parametrize(
    "other",
    [
        "Bilateral pleural effusions.",
        "Small right effusion and a larger left effusion.",
        "A pleural effusion.",
        "There may be a right pleural effusion.",
    ],
)
def test_a_side_that_is_not_said_or_not_the_only_one_contradicts_nothing(other: str):
    box = boxes("pleural effusion", [700, 600, 900, 900])
    assert disagreements([report(other), box]) == []


def test_of_the_same_call_the_last_result_counts():
    assert topics(scores(Effusion=0.9), scores(Effusion=0.1), report("No effusion.")) == []


def test_a_model_that_does_not_agree_with_another_is_told():
    question = "Do you agree with that interpretation? Point out any disagreement."
    first = expert("There is a mass.")
    (found,) = disagreements([first, llava("No, I do not agree. I see none.", question)])
    assert found.about == "the answer of chest_xray_expert"
    assert found.sides[0] == ("llava_med_qa says “No, I do not agree.”", 1)
    assert disagreements([first, llava("Yes, I agree.", question)]) == []
    assert disagreements([llava("No, I do not agree.", question)]) == []


def test_on_an_image_that_is_stored_mirrored_a_box_is_on_no_wrong_side():
    found = boxes("left pleural effusion", [100, 600, 300, 800])
    mirrored = {**found.metadata, "warnings": ["the image is mirrored: it was turned"]}
    assert topics(found) == ["the side"]
    assert topics(replace(found, metadata=mirrored)) == []


@pytest.mark.parametrize(
    ("phrase", "box", "wrong"),
    [
        ("left pleural effusion", [100, 600, 300, 800], True),
        ("left pleural effusion", [700, 600, 900, 800], False),
        ("Right apical pneumothorax", [700, 60, 900, 200], True),
        ("right nodule", [480, 100, 520, 140], False),
        # 4.9 % beside the middle is on no side, 5.1 % is; pixel centres are whole numbers.
        ("right nodule", [538.5, 100, 558.5, 140], False),
        ("right nodule", [541.5, 100, 561.5, 140], True),
        ("left nodule", [440.5, 100, 460.5, 140], False),
        ("left nodule", [437.5, 100, 457.5, 140], True),
        ("effusion", [100, 600, 300, 800], False),
    ],
)
def test_a_box_on_the_other_side_than_its_phrase_is_told(
    phrase: str, box: list[float], wrong: bool
):
    assert topics(boxes(phrase, box)) == (["the side"] if wrong else [])


@pytest.mark.parametrize(
    ("text", "there"),
    [
        ("There is a small left pleural effusion.", True),
        ("No pneumothorax. Small effusion.", True),
        ("No pneumothorax, small left effusion.", True),
        ("No pneumothorax, effusion or consolidation.", False),
        ("No focal consolidation, pleural effusion, or pneumothorax.", False),
        ("Pleural effusion is not seen.", False),
        ("The previously seen effusion has resolved.", False),
        ("No change in the effusion.", None),
        ("Is there an effusion?", None),
        ("An effusion may be present.", None),
        ("No left effusion; there is a right effusion.", True),
        ("Lungs are clear, without effusion.", False),
        ("No effusion on the left but a right effusion.", True),
        ("EFFUSION ON THE RIGHT", True),
        ("The fusion of the ribs is normal.", None),
        ("", None),
    ],
)
def test_a_text_is_read_by_its_sentences(text: str, there: bool | None):
    topic = next(item for item in TOPICS if item.label == "Effusion")
    found = read_text(text, topic)
    assert (None if found is None else found[0]) is there


@pytest.mark.parametrize(
    "output",
    [
        {},
        {"predictions": []},
        {"metrics": {"Left Lung": {"bbox": [1, 2, 3, 4]}}},
        {"ratio": "0.5"},
        {"findings": None, "response": 3},
        {"Effusion": "high"},
    ],
)
def test_a_broken_result_claims_nothing(output: dict[str, Any]):
    tools = [*contradictions.TEXTS, "cardiothoracic_ratio", "chest_xray_segmentation", "other"]
    results = [given(tool, output, phrase="left effusion") for tool in tools]
    assert disagreements([*results, given("chest_xray_classifier", output)]) == []
