"""A finding is accepted, rejected or deleted only where a text says so plainly.

`undecided.txt` has sentences that do not, by two who tried to break the rule; "\\n" ends a line.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from app.tools.viewer.reading import read

UNDECIDED = (Path(__file__).with_name("undecided.txt")).read_text("utf-8").splitlines()
DECIDING = ("accept", "reject", "delete")


def decided(text: str) -> list[tuple[str, str]]:
    spoken = read(text.replace("\\n", "\n"))
    calls = spoken.calls if spoken is not None else ()
    arguments = [call.arguments for call in calls if call.arguments.get("action") in DECIDING]
    return [(one["action"], one["which"]) for one in arguments]


def test_what_is_not_plain_decides_nothing():
    assert {text: found for text in UNDECIDED if (found := decided(text))} == {}


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("the heart is fine, accept the nodule", [("accept", "nodule")]),
        (
            "accept the heart and both lungs, reject the nodule",
            [("accept", "heart and both lungs"), ("reject", "nodule")],
        ),
        ("accept both", [("accept", "all 2")]),
        ("beide ablehnen", [("reject", "all 2")]),
        ("akzeptiere nur den Rundherd", [("accept", "rundherd")]),
        ("accept the nodule as well as the effusion", [("accept", "nodule and the effusion")]),
        ("lung window; go to the nodule; accept it", [("accept", "nodule")]),
        ("next undecided finding, accept it", [("accept", "selected")]),
        ("nodule: accept. effusion: reject", [("accept", "nodule"), ("reject", "effusion")]),
        (
            "heart is fine accept it but reject the nodule",
            [("accept", "heart"), ("reject", "nodule")],
        ),
        ("could you reject the effusion, that's just fat?", [("reject", "effusion")]),
        ("Den Rundherd kannst du verwerfen, das ist ein Gefäß", [("reject", "rundherd")]),
        ("Löschen Sie bitte den Rundherd", [("delete", "rundherd")]),
    ],
)
def test_what_is_plain_is_done(text: str, wanted: list[tuple[str, str]]):
    assert decided(text) == wanted


@pytest.mark.parametrize(
    ("text", "action", "which", "viewport"),
    [
        ("accept the nodule on the right one", "accept", "nodule", "right"),
        ("accept all findings in the prior", "accept", "all", "prior"),
        ("delete every finding on the prior", "delete", "all", "prior"),
        ("accept the effusion in the left image", "accept", "effusion", "left"),
        ("lehne den Rundherd im rechten Bild ab", "reject", "rundherd", "right"),
    ],
)
def test_a_finding_of_an_image_that_is_named_is_decided_on_there_only(
    text: str, action: str, which: str, viewport: str
):
    spoken = read(text)
    assert spoken is not None
    (call,) = spoken.calls
    assert call.arguments == {"action": action, "which": which, "viewport": viewport}


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (
            "accept the nodule on the left film, reject the one on the right",
            [("accept", "nodule", "left"), ("reject", "nodule", "right")],
        ),
        (
            "Rundherd im linken Bild bestätigen, den auf der Voraufnahme verwerfen",
            [("accept", "rundherd", "left"), ("reject", "rundherd", "prior")],
        ),
        (
            "accept the heart on the left film and reject the effusion on the prior",
            [("accept", "heart", "left"), ("reject", "effusion", "prior")],
        ),
        (
            "accept the nodule on the right one, reject the others",
            [("accept", "nodule", "right"), ("reject", "undecided except nodule", "right")],
        ),
        (
            "go to the effusion on the right film and accept it",
            [("accept", "effusion", "right")],
        ),
        (
            "Erguss im rechten Bild annehmen und den Rundherd dort verwerfen",
            [("accept", "erguss", "right"), ("reject", "rundherd", "right")],
        ),
        ("accept the hearts on both films", [("accept", "hearts", "all")]),
        ("accept the nodule from 2022", [("accept", "nodule", "2022")]),
        (
            "accept the nodule and the heart on the prior",
            [("accept", "nodule and the heart", "prior")],
        ),
        (
            "accept the nodule in viewport 2, then hide the heart in viewport 1",
            [("accept", "nodule", "2")],
        ),
    ],
)
def test_each_decision_has_its_own_image(text: str, wanted: list[tuple[str, str, str]]):
    spoken = read(text)
    assert spoken is not None
    calls = [one.arguments for one in spoken.calls if one.arguments.get("action") in DECIDING]
    assert [(one["action"], one["which"], one["viewport"]) for one in calls] == wanted
