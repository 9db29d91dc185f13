"""A call that was not let run: a quiet card that says so, and why, in the user's words."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtWidgets import QLabel

from app.agent.events import (
    Override,
    PlanUpdated,
    RunFinished,
    TextDelta,
    ToolFinished,
    ToolStarted,
)
from app.views.chat import run_wording
from app.views.chat.tool_card import ToolCard
from tests.gui.chat_support import Chat, ask, opened
from tests.gui.test_chat_threads import recorded, show

pytestmark = pytest.mark.gui

Wait = Callable[..., None]
TOOL = "chest_xray_classifier"
REASON = 'The question leaves chest_xray_classifier out ("don\'t classify").'
SHOWN = 'The question leaves Score chest findings out ("don\'t classify").'
ENDED: dict[str, Any] = {
    "call_id": "c1",
    "tool": TOOL,
    "status": "failed",
    "summary": f"Not run: {REASON}",
    "error": f"Not run: {REASON} Do not call it again.",
    "refused": REASON,
    "duration_s": 0.01,
}


@pytest.fixture
def chat(qapp: object, tmp_path: Path) -> Iterator[Chat]:
    yield from opened(tmp_path / "sessions")


def says_not_run(card: ToolCard) -> None:
    seen = [
        item.text() for item in card.findChildren(QLabel) if not item.isHidden() and item.text()
    ]
    assert "Not run" in seen
    assert "Failed" not in seen
    assert card.error is None
    assert card.reason is not None
    assert card.reason.plain() == SHOWN
    assert card.property("state") == "refused"
    assert card.accessibleName() == "Tool call: Score chest findings, Not run"
    assert not card._duration.text()


def test_a_call_that_rules_refused_is_no_failure(chat: Chat, wait_until: Wait):
    ask(chat, wait_until)
    chat.runner.say(ToolStarted, call_id="c1", tool=TOOL, arguments={})
    chat.runner.say(ToolFinished, **ENDED)
    wait_until(lambda: chat.run.cards and not chat.run.cards["c1"].running)
    wait_until(lambda: chat.run.cards["c1"].isVisible())
    says_not_run(chat.run.cards["c1"])


def test_nor_is_it_in_a_conversation_that_is_opened_again(chat: Chat, wait_until: Wait):
    started = {"call_id": "c1", "tool": TOOL, "arguments": {}}
    thread_id = recorded(
        chat, "q", (ToolStarted, started), (ToolFinished, ENDED), (RunFinished, {"answer": "No."})
    )
    show(chat, wait_until, thread_id)
    says_not_run(chat.run.cards["c1"])


def test_the_plan_names_tools_by_their_titles_and_tells_the_reason_once(
    chat: Chat, wait_until: Wait
):
    ask(chat, wait_until)
    left = {"tool": TOOL, "why": "", "state": "skipped", "verdict": f"Not run: {REASON}"}
    changed = Override(rule="left_out", tool=TOOL, reason=REASON)
    chat.runner.say(PlanUpdated, steps=[left], overrides=[changed])
    wait_until(lambda: chat.run.plan)
    assert chat.run.plan is not None
    text = chat.run.plan.steps.text
    assert text.count("don't classify") == 1
    assert SHOWN in text
    assert TOOL not in text


def test_a_plan_that_is_written_has_no_card_beside_the_checklist(chat: Chat, wait_until: Wait):
    ask(chat, wait_until)
    chat.runner.say(TextDelta, text="First.")
    for call_id, tool in (("p", "update_plan"), ("q", "check_answer")):
        chat.runner.say(ToolStarted, call_id=call_id, tool=tool, arguments={}, own=True)
        chat.runner.say(ToolFinished, call_id=call_id, tool=tool, status="ok", summary="x")
    chat.runner.say(TextDelta, text="Then.")
    chat.runner.finish("First. Then.")
    wait_until(lambda: chat.run.ended)
    assert not chat.run.cards
    assert len(chat.run.answers) == 2


def test_a_packs_tool_of_the_same_name_is_seen(chat: Chat, wait_until: Wait):
    ask(chat, wait_until)
    chat.runner.say(ToolStarted, call_id="p", tool="update_plan", arguments={})
    wait_until(lambda: "p" in chat.run.cards)


def test_an_answer_of_rules_is_not_signed_by_a_language_model(chat: Chat, wait_until: Wait):
    thread_id = recorded(
        chat,
        "q",
        (TextDelta, {"text": "Answered by rules."}),
        (RunFinished, {"answer": "Answered by rules.", "by_rules": True}),
    )
    show(chat, wait_until, thread_id)
    signed = [item.text() for item in chat.run.answers[-1].findChildren(QLabel)]
    assert any(run_wording.BY_RULES in text for text in signed)
    assert not any("gpt-x" in text for text in signed)
