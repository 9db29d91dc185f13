"""What goes on from the command before it; what decides on findings only goes on plainly."""

from __future__ import annotations

from typing import Any

import pytest

from app.tools.pack_plan import Earlier
from app.tools.viewer.follow_ups import read_on


def done(*texts: str, failed: bool = False, one_image: bool = True) -> list[dict[str, Any]] | None:
    """The arguments of the calls of the last text, said after the others; None for none."""
    *before, last = texts
    earlier = [Earlier(one, failed and one == before[-1]) for one in before]
    found = read_on(last, earlier, one_image)
    return None if found is None else [one.arguments for one in found.calls]


def shown(*names: str, hidden: bool = False) -> list[dict[str, Any]]:
    return [{"action": "hide" if hidden else "show", "which": name} for name in names]


HIDDEN = ("hide the left lung", "and the right one", "heart too")


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (HIDDEN[:2], shown("right lung", hidden=True)),
        (HIDDEN, shown("heart", hidden=True)),
        ((*HIDDEN, "ok show those three again"), shown("left lung", "right lung", "heart")),
        (("hide both lungs", "no, only the left one"),
         [*shown("both lungs"), *shown("left lung", hidden=True)]),
        (("first slice of the effusion", "and the last one"),
         [{"finding": "effusion", "place": "last"}]),
        (("zoom to the heart", "now the nodule"), [{"to": "nodule"}]),
        (("go to slice 12", "no, 14"), [{"slice": 14}]),
        (("brighter", "a bit more"), [{"change": "brighter"}]),
        (("brighter", "that's too much"), [{"change": "darker"}]),
        (("etwas heller", "noch ein bisschen"), [{"change": "brighter"}]),
        (("Seitenleisten weg", "und wieder her"), [{"command": "show panels"}]),
        (("texts off", "lung window", "texts back on"), None),  # a command of its own
        (("texts off", "lung window", "back on"), [{"command": "show image texts"}]),
        (("undo that", "one more"), [{"command": "undo"}]),
        (("undo that", "put that last one back"), [{"command": "redo"}]),
        (("abspielen", "doppelt so schnell", "nee, wieder wie vorher"),
         [{"play": True, "speed": "half"}]),
        (("go to the nodule", "back to the slice I was on"), [{"place": "back"}]),
        (("how large is the nodule?", "zoom to it"), [{"to": "nodule"}]),
        (("zoom to the heart", "lung window", "and now the nodule"), [{"to": "nodule"}]),
        (("show only the nodule", "and the heart"),
         [{"action": "only", "which": "nodule and heart"}]),
        (("hide the nodule", "next slice", "again"), [{"by": 1}]),
        (("hide the nodule", "go to slice 30", "back"), [{"place": "back"}]),
        (("lung window", "as before"), [{"command": "take back"}]),
        (("delete the nodule", "bring it back"), [{"command": "take back"}]),
        (("delete the nodule", "undo", "again"), [{"command": "undo"}]),
        (("delete the nodule", "undo", "bring it back"), None),
        (("reject all", "undo", "bring them all back"), None),
        (("accept the nodule", "undo", "back"), None),
        (("nimm den Herd an", "auch den Erguss"), [{"action": "accept", "which": "erguss"}]),
        (("accept the nodule", "the effusion too"), [{"action": "accept", "which": "effusion"}]),
    ],
)  # fmt: skip
def test_a_text_goes_on_from_the_command_before(
    texts: tuple[str, ...], expected: list[dict[str, Any]] | None
):
    assert done(*texts) == expected


@pytest.mark.parametrize(
    "text",
    [
        "and to the effusion",
        "now the effusion",
        "what about the effusion",
        "and the effusion?",
        "no, the effusion",
        "only the effusion",
        "the effusion",
        "the left one",
        "again",
        "and it",
        "and next the effusion",
        "and so the effusion",
        "and ok, the effusion",
        "and the heart...",
        "also den Erguss",
        "also, der Erguss",
        "und noch der Erguss",
        "das Herz noch",
        "and the others too",
        "and the rest",
    ],
)
def test_nothing_is_decided_by_what_may_mean_something_else(text: str):
    assert not done("accept the nodule", text)
    assert not done("reject the left effusion", text)
    assert not done("delete the nodule", text)


@pytest.mark.parametrize("text", ["and the effusion", "die linke"])
def test_nothing_is_decided_like_what_was_not_understood(text: str):
    assert not done("den übernehmen", text, failed=True)


def test_which_of_two_is_said_after_the_question_for_it():
    assert done("nimm die Lunge an", "die linke", failed=True) == [
        {"action": "accept", "which": "left lunge"}
    ]


def test_a_side_may_be_a_viewports_where_there_are_several():
    assert done("zoom to the nodule", "and the left one", one_image=False) is None
    assert done("zoom to the left lung", "and the right one", one_image=False) == [
        {"to": "right lung"}
    ]


def test_it_is_not_what_a_question_named_where_it_is_decided_on():
    assert done("how large is the nodule?", "accept it") is None
