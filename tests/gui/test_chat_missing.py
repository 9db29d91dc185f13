"""A card whose tool lacks a model leads to it; several that lack some are told in one line."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QPushButton

from app.agent.events import RunFinished, ToolFinished, ToolProgress, ToolStarted
from app.tools.api import ToolFailed
from app.tools.models.store import ModelStore
from app.views.chat import missing_models
from app.views.chat.tool_card import ToolCard
from app.views.text_view import TextView
from tests.gui.chat_support import Chat, ask, opened
from tests.gui.models_support import CARDS, PLAIN, STRICT

pytestmark = pytest.mark.gui

Wait = Callable[..., None]


@pytest.fixture
def chat(qapp: object, tmp_path: Path) -> Iterator[Chat]:
    yield from opened(tmp_path / "sessions")


def said_of(name: str, folder: Path) -> str:
    """What the store tells of a model that is not there."""
    with pytest.raises(ToolFailed) as caught:
        ModelStore(folder, known=CARDS).require(name, "The tool")
    return caught.value.text


def call(chat: Chat, wait_until: Wait, key: str, **fields: Any) -> ToolCard:
    chat.runner.say(ToolStarted, call_id=key, tool="medgemma_qa", arguments={"question": "?"})
    given = {"status": "failed", "summary": ""} | fields
    chat.runner.say(ToolFinished, call_id=key, tool="medgemma_qa", **given)
    wait_until(lambda: key in chat.run.cards and not chat.run.cards[key].running)
    return chat.run.cards[key]


def test_a_failed_card_has_a_button_to_the_model_that_is_not_there(
    chat: Chat, wait_until: Wait, tmp_path: Path
):
    wanted: list[str] = []
    chat.dock.models_wanted.connect(wanted.append)
    ask(chat, wait_until)
    card = call(chat, wait_until, "c1", error=said_of(PLAIN.name, tmp_path))
    assert card.missing == (PLAIN.name,)
    assert card.error is not None
    assert card.error.plain() == "The tool needs a model that is not installed: Plain net."
    shown = [view.plain() for view in card.findChildren(TextView)]
    assert not [text for text in shown if "models get" in text], "the button does it"
    assert card.models_button is not None
    assert card.models_button.accessibleName() == "Open the model plain-net"
    card.models_button.setFocus()
    QTest.keyClick(card.models_button, Qt.Key.Key_Return)
    assert wanted == [PLAIN.name]
    chat.runner.finish("It is not there.")
    wait_until(lambda: chat.run.ended)
    assert chat.run.missing is None, "one card says it already"


def test_a_result_that_lacks_a_part_has_it_too_and_other_cards_have_none(
    chat: Chat, wait_until: Wait, tmp_path: Path
):
    ask(chat, wait_until)
    warned = {"warnings": [said_of(PLAIN.name, tmp_path)]}
    part = call(chat, wait_until, "c1", status="ok", summary="Half of it.", metadata=warned)
    assert part.missing == (PLAIN.name,)
    assert part.models_button is not None
    other = call(chat, wait_until, "c2", error="The image is blank.")
    assert other.missing == ()
    assert other.models_button is None


def test_several_calls_that_lack_models_are_told_in_one_line_that_names_each_once(
    chat: Chat, wait_until: Wait, tmp_path: Path
):
    ask(chat, wait_until)
    for key, name in (("c1", PLAIN.name), ("c2", STRICT.name), ("c3", PLAIN.name)):
        call(chat, wait_until, key, error=said_of(name, tmp_path))
    chat.runner.finish("Nothing could be done.")
    wait_until(lambda: chat.run.ended)
    assert chat.run.missing is not None
    said = chat.run.missing.view.plain()
    assert said.count("plain-net") == said.count("strict-net") == 1


def test_what_the_answer_names_as_missing_has_a_button_too(chat: Chat, wait_until: Wait):
    wanted: list[str] = []
    chat.dock.models_wanted.connect(wanted.append)
    ask(chat, wait_until)
    chat.runner.say(RunFinished, answer="Nothing here can locate it.", missing=[PLAIN.name])
    wait_until(lambda: chat.run.ended)
    assert chat.run.missing is not None
    button = chat.run.missing.findChild(QPushButton)
    assert button is not None
    QTest.mouseClick(button, Qt.MouseButton.LeftButton)
    assert wanted == [PLAIN.name]


def test_models_that_the_answer_names_are_not_named_again(chat: Chat, wait_until: Wait):
    wanted: list[str] = []
    chat.dock.models_wanted.connect(wanted.append)
    ask(chat, wait_until)
    chat.runner.say(RunFinished, answer="See Tools > Models.", missing=[PLAIN.name])
    wait_until(lambda: chat.run.ended)
    assert chat.run.missing is None
    (button,) = [b for b in chat.run.findChildren(QPushButton) if "Models" in b.text()]
    QTest.mouseClick(button, Qt.MouseButton.LeftButton)
    assert wanted == [PLAIN.name]


def test_names_are_those_of_cards_and_nothing_else():
    text = "Run `python -m app models get maira-2` (14000 MB). Or models accept a.b. models get"
    assert missing_models.card_names([text, text]) == ("maira-2", "a.b")
    assert missing_models.card_names("models get ../../etc") == ()


def test_a_card_says_how_long_it_takes_and_what_the_host_did_for_memory(
    chat: Chat, wait_until: Wait
):
    ask(chat, wait_until)
    chat.runner.say(ToolStarted, call_id="c1", tool="medgemma_qa", arguments={})
    text = "Loading the model (about 12 s left)"
    chat.runner.say(ToolProgress, call_id="c1", tool="medgemma_qa", fraction=0.1, text=text)
    wait_until(lambda: chat.run.cards and chat.run.cards["c1"].progress_text.full == text)
    note = "the accelerator's memory is too small: it ran on the processor, more slowly"
    chat.runner.say(
        ToolFinished, call_id="c1", tool="medgemma_qa", status="ok", summary="No.",
        metadata={"warnings": [note]},
    )  # fmt: skip
    wait_until(lambda: not chat.run.cards["c1"].running)
    warning = chat.run.cards["c1"].warning
    assert warning is not None
    assert note in warning.plain()
