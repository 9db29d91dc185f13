"""A server of the settings in the real window: allowed, called after a question, and told."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from PySide6.QtWidgets import QApplication, QLabel

from app.agent.events import RunEvent, ToolFinished
from app.views.chat.approval import ApprovalCard
from app.views.settings.mcp_page import McpConsentDialog
from tests.gui.hands import click, open_page, retype
from tests.gui.test_settings_in_use import Opened, Wait
from tests.gui.test_settings_in_use import home as home
from tests.gui.test_settings_in_use import opened as opened
from tests.support.mcp_addresses import streamable

pytestmark = pytest.mark.gui


@pytest.mark.slow
def test_a_server_is_allowed_in_the_settings_and_its_tool_runs_after_a_yes_in_the_chat(
    opened: Callable[[], Opened], qapp: QApplication, wait_until: Wait
):
    with streamable() as seen:
        program = opened()
        dialog = program.settings()
        open_page(dialog, "MCP servers")
        page = dialog.mcp
        click(page.add_button)
        retype(page.name, "trial")
        page.kind.setCurrentIndex(1)
        retype(page.url, seen.url)
        click(page.look_button)
        wait_until(lambda: page.findChildren(McpConsentDialog))
        (question,) = page.findChildren(McpConsentDialog)
        click(question.allow_button)
        wait_until(lambda: page.outcome.plain() != "")
        program.save(dialog)
        wait_until(lambda: program.program.registry.get("mcp_trial_add") is not None)
        before = len(seen.paths)
        program.begin("Run mcp_trial_add with: first=2 second=40")
        wait_until(lambda: program.chat.findChildren(ApprovalCard))
        (card,) = program.chat.findChildren(ApprovalCard)
        assert len(seen.paths) == before, "nothing is sent before the answer"
        told = " ".join(part.text() for part in card.findChildren(QLabel))
        assert "Sends to" in told
        assert "this computer" in told
        wait_until(card.allow.isEnabled)
        ended: list[RunEvent] = []
        program.agent.run_event.connect(ended.append)
        wait_until(lambda: clicked(card))
        wait_until(program.chat.is_idle, timeout=60)
        (finished,) = [event for event in ended if isinstance(event, ToolFinished)]
        assert (finished.status, finished.output["text"]) == ("ok", "42")


def clicked(card: ApprovalCard) -> bool:
    """Click until the card takes it: at first it takes none that was meant for something else."""
    if card.allow.isVisible() and card.allow.isEnabled():
        click(card.allow)
    return not card.allow.isEnabled() or not card.allow.isVisible()
