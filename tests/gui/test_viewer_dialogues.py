"""Commands that go on from those before: dialogues by people who knew no rules."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from app.agent.sessions import Thread
from tests.gui.test_viewer_commands import SCENES, look, wrong
from tests.gui.viewer_scenes import Room

pytestmark = [pytest.mark.gui, pytest.mark.slow]

SETS: list[list[dict[str, Any]]] = [
    tomllib.loads(path.read_text("utf-8"))["dialogue"]
    for path in sorted(Path(__file__).parent.glob("dialogues_*.toml"))
]
MISSED = frozenset(
    [
        "right, it's new. accept the effusion",  # refused
        "that's a real one. accept it and go on to the next one in the list",  # done
        "and the last one",  # the finding lies on one slice of the scene
        "lung window on the right one",  # done; the active viewport is checked
        "now lung window off, back to how it was opened",  # asks the general pack
        "einen davon wiederherstellen",  # done; the test counts all steps
        "nee, einen davon wieder her",  # done, as above
        "no, of the lungs just the right one",  # shows both
        "stimmt, den übernehmen",  # refused, as the question before was not understood
        "hm, actually leave that one open for now",  # refused
        "delete everything that's marked on this scan, findings and all",  # refused
        "just show me the current one, as big as it gets",  # alone, but not maximised
        "the effusion is new then, accept it on the current film",  # refused
        "same for that one, one to one please",  # it is said not to be understood
        "the other one's no better, same for that",  # it is said not to be understood
        "Geh mal zum Erguss",  # done; the finding lies on one slice of the scene
        "no, don't delete it, just set it to rejected",  # refused
        "the effusion is right though, accept that",  # refused
        "and hide the one I rejected",  # none is: the one before was refused
        "Zu schnell, 10 reichen",  # it is said not to be understood
        "Ach nein, stell die Messung doch wieder her",  # there is none, it is said
        "hmm no, take the key image off again",  # there is no such finding, it is said
        "Den davor auch noch",  # goes to another finding
    ]
)
"""Turns that are known not to do what is said, each without harm; at most one in eight."""


@pytest.mark.timeout(600)
@pytest.mark.parametrize("room", SCENES, indirect=True)
@pytest.mark.parametrize("dialogues", SETS)
def test_what_is_said_goes_on_from_what_was_said(dialogues: Sequence[dict[str, Any]], room: Room):
    failed: dict[str, list[str]] = {}
    room.marks_all = True
    for number, dialogue in enumerate(one for one in dialogues if one["context"] == room.scene):
        room.begin(dialogue.get("start", {}))
        room.thread = Thread(f"dialogue-{number}")
        for turn in dialogue["turn"]:
            before = look(room)
            room.ask(turn["text"])
            if problems := wrong(room, before, turn["expect"]):
                failed[turn["text"]] = [dialogue["id"], *problems]
    assert not failed.keys() - MISSED, failed


def test_most_of_the_turns_do_what_is_said():
    for dialogues in SETS:
        turns = [turn["text"] for one in dialogues for turn in one["turn"]]
        assert len(turns) >= 115
        assert sum(text in MISSED for text in turns) <= len(turns) / 8
