"""A tool asks whether an unsuitable image is to be used: no is at hand, yes takes a look first."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from app.agent.events import ApprovalRequested, ApprovalResolved, ToolStarted
from app.agent.request import Decision
from app.views.chat.approval import OverrideCard
from tests.gui.chat_support import Chat, ask, opened

pytestmark = pytest.mark.gui

Wait = Callable[..., None]
LEFT = Qt.MouseButton.LeftButton
DETAIL = "The file says that this is a head (BodyPartExamined HEAD), not a chest."


@pytest.fixture
def chat(qapp: object, tmp_path: Path) -> Iterator[Chat]:
    yield from opened(tmp_path / "sessions")


def request(chat: Chat, wait_until: Wait) -> OverrideCard:
    ask(chat, wait_until)
    tool = "chest_xray_classifier"
    chat.runner.say(ToolStarted, call_id="c1", tool=tool, arguments={"image_path": "image-1"})
    chat.runner.say(
        ApprovalRequested, approval_id="a1", title="Use this image anyway?", detail=DETAIL,
        tool=tool, call_id="c1", about="override", image="image-1",
    )  # fmt: skip
    wait_until(lambda: chat.run.approvals)
    card = chat.run.approvals["a1"]
    assert isinstance(card, OverrideCard)
    return card


def test_the_card_says_what_speaks_against_it_and_the_focus_goes_to_no(
    chat: Chat, wait_until: Wait
):
    card = request(chat, wait_until)
    assert card.title.plain() == "Use this image anyway?"
    assert card.detail.plain() == DETAIL
    assert "image-1" in card.about.full
    assert not card.allow.isEnabled()  # not before it was on the screen
    card.setFocus()
    wait_until(lambda: chat.dock.window().focusWidget() is card.deny)
    QTest.keyClick(card.deny, Qt.Key.Key_Space)
    assert chat.runner.answers == [("a1", Decision(granted=False))]


def test_yes_is_a_click_once_the_card_was_seen_and_is_given_once(chat: Chat, wait_until: Wait):
    card = request(chat, wait_until)
    wait_until(card.allow.isEnabled)
    QTest.mouseClick(card.allow, LEFT)
    QTest.mouseClick(card.allow, LEFT)
    assert chat.runner.answers == [("a1", Decision(granted=True))]
    chat.runner.say(ApprovalResolved, approval_id="a1", granted=True)
    wait_until(lambda: card.state.full)
    assert card.state.full == "Used at your request"
    assert card.deny.isHidden() or not card.deny.isVisible()


def test_enter_anywhere_on_the_card_is_no_yes(chat: Chat, wait_until: Wait):
    card = request(chat, wait_until)
    wait_until(card.allow.isEnabled)
    for part in (card.title, card.detail, card):
        QTest.keyClick(part, Qt.Key.Key_Return)
    assert chat.runner.answers == []


def test_a_run_that_ends_takes_the_question_with_it(chat: Chat, wait_until: Wait):
    card = request(chat, wait_until)
    chat.runner.finish("Done.")
    wait_until(lambda: chat.run.ended)
    assert card.state.full == "Not answered; nothing was done."
