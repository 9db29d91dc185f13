"""How the viewer's commands are read: what "it" means, reasons, and what is not to be done."""

from __future__ import annotations

import pytest

from app.agent.messages import for_people
from app.tools.viewer.reading import read


@pytest.mark.parametrize(
    ("text", "which"),
    [
        ("I agree with the effusion, accept it", "effusion"),
        ("Der rechte Herd ist die Mamille, verwirf ihn", "rechte herd"),
        ("the effusion is not real, reject it", "effusion"),
        ("reject the nodule because it's a nipple", "nodule"),
        ("this looks like a mass, reject it", "selected"),
        ("that is no effusion, reject it", "selected"),
        ("don't reject the effusion, accept it", "selected"),
    ],
)
def test_it_is_the_finding_that_was_named_before(text: str, which: str):
    spoken = read(text)
    assert spoken is not None
    (call,) = spoken.calls
    assert call.arguments["which"] == which


def test_the_same_said_twice_is_done_once():
    spoken = read("this is too dark, brighten it up a bit")
    assert spoken is not None
    (call,) = spoken.calls
    assert call.arguments == {"change": "brighter"}
    assert spoken.rest == ""
    twice = read("brighter, brighter")
    assert twice is not None
    assert len(twice.calls) == 2


@pytest.mark.parametrize(
    "text",
    ["don't invert it", "bitte nicht zoomen", "Do not show the prior", "lösche den Herd nicht"],
)
def test_what_is_not_to_be_done_is_no_call(text: str):
    spoken = read(text)
    assert spoken is not None
    assert spoken.calls == ()


@pytest.mark.parametrize(
    "text",
    [
        "is it not inverted?",
        "why not zoom?",
        "not enlarged",
        "no effusion",
        "take me seriously",
        "what did the old film show on the right?",
        "old left rib fracture",
        "neue rechte Raumforderung",
        "zur Anamnese",
        "is there an old fracture? show it",
        "is the lung too dark?",
        "slice seven shows a nodule",
        "show both lungs",
        "the nodule is benign. remove it?",
        "should I accept the effusion?",
        "let the film speak",
        "lass die Lunge laufen",
    ],
)
def test_other_sentences_are_not_read(text: str):
    """Or only where nothing else is understood."""
    spoken = read(text)
    assert spoken is None or not spoken.sure or not spoken.calls


def test_what_is_meant_for_a_model_is_not_told_to_people():
    told = "Not allowed. Do not call it again like this. Go on without it, or say why."
    assert for_people(told) == "Not allowed."
    assert for_people("Go on without it.") == ""


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ("fünf Schichten nach kranial", {"by": 5, "towards": "head"}),
        ("3 slices caudal", {"by": 3, "towards": "feet"}),
        ("10 images towards the feet", {"by": 10, "towards": "feet"}),
        ("show only the nodule", {"action": "only", "which": "nodule"}),
        ("hide everything except the heart", {"action": "only", "which": "heart"}),
        ("close all studies", {"command": "close all studies"}),
        ("reset the view", {"command": "reset view"}),
    ],
)
def test_which_way_what_alone_and_all(text: str, arguments: dict[str, object]):
    spoken = read(text)
    assert spoken is not None
    (call,) = spoken.calls
    assert call.arguments == arguments
