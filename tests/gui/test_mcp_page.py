"""The settings page of MCP servers, used by mouse and keys; one server is a real one."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QWidget
from shiboken6 import isValid

from app.agent.policy import Grants
from app.agent.privacy.consents import Consents
from app.settings import McpServer, Settings
from app.tools.api import ToolFailed
from app.tools.mcp.offers import Listing, OfferedTool
from app.tools.mcp.servers import McpServers
from app.views.background import DaemonTasks
from app.views.settings.mcp_page import McpConsentDialog, McpPage, offer_text
from app.views.settings.settings_dialog import SettingsDialog, SettingsSources
from tests.gui.hands import click, retype
from tests.gui.test_settings_window import FakeProbe, Keys
from tests.support.mcp_addresses import streamable
from tests.support.mcp_hostile import ORDERS

Wait = Callable[..., None]
REPO = Path(__file__).parents[2]
LAB = McpServer(name="lab", kind="stdio", command="/opt/lab server", args=["--quick", "a b"])
CLINIC = McpServer(name="clinic", kind="http", url="https://mcp.example.org/mcp")
ECHO = OfferedTool("echo", f"Echoes.\u202e {ORDERS}", {"type": "object", "properties": {}})


class Rig:
    """A settings window whose servers and what came of it are at hand."""

    def __init__(self, *entries: McpServer) -> None:
        self.saved = Settings(mcp_servers=list(entries))
        self.keys = Keys()
        self.asked: list[tuple[McpServer, Any]] = []
        self.threads: set[threading.Thread] = set()
        self.servers = McpServers(lambda: self.saved.mcp_servers, self.keys.get)
        self.dialog: SettingsDialog | None = None
        self.done: list[Any] = []

    def offers(self, listing: Listing | ToolFailed) -> None:
        """Have servers offer this without being contacted."""

        def answer(server: McpServer, _cancel: Any, key: Any = None) -> Listing:
            self.asked.append((server, key))
            self.threads.add(threading.current_thread())
            if isinstance(listing, ToolFailed):
                raise listing
            return listing

        self.servers.listing = answer  # type: ignore[method-assign]

    def open(self) -> McpPage:
        sources = SettingsSources(self.keys, Consents(), Grants(), FakeProbe(), mcp=self.servers)
        self.dialog = SettingsDialog(self.saved, sources, self._apply, self.done.append)
        self.dialog.show()
        self.dialog.show_page("mcp")
        return self.dialog.mcp

    def _apply(self, changed: Settings) -> str:
        self.saved = changed
        return "applied"


@pytest.fixture
def rig(qapp: object) -> Iterator[Callable[..., Rig]]:
    made: list[Rig] = []

    def make(*entries: McpServer) -> Rig:
        made.append(Rig(*entries))
        return made[-1]

    yield make
    for item in made:
        if item.dialog is not None and isValid(item.dialog):
            item.dialog.close()


def consent(page: QWidget) -> McpConsentDialog | None:
    found = [one for one in page.findChildren(McpConsentDialog) if one.isVisible()]
    return found[0] if found else None


def states(page: McpPage) -> list[str]:
    items = [page.list.topLevelItem(n) for n in range(page.list.topLevelItemCount())]
    return [item.text(2) for item in items if item is not None]


def test_a_server_is_added_looked_at_allowed_and_saved(rig: Callable[..., Rig], wait_until: Wait):
    with streamable("sesame") as seen:
        made = rig()
        page = made.open()
        assert made.dialog is not None
        click(page.add_button)
        assert not made.dialog.save_button.isEnabled(), "it has no command yet"
        retype(page.name, "Trial")
        page.kind.setCurrentIndex(1)
        retype(page.url, seen.url)
        assert page.where.text() == "It is on this computer."
        QTest.keyClicks(page.key.edit, "sesame")
        assert made.dialog.save_button.isEnabled()
        click(page.look_button)
        wait_until(lambda: consent(page) is not None)
        dialog = consent(page)
        assert dialog is not None
        assert dialog.place.text() == seen.url
        offered = dialog.offer.toPlainText()
        assert offered.startswith("add\nAdd two whole numbers.\n{")
        assert '"first"' in offered
        assert dialog.no_button.isDefault()
        assert QApplication.focusWidget() in (dialog.no_button, None)
        click(dialog.allow_button)
        wait_until(lambda: "Its tools can be used once" in page.outcome.plain())
        click(made.dialog.save_button)
        wait_until(lambda: made.done)
    (saved,) = made.saved.mcp_servers
    assert (saved.name, saved.kind, saved.url) == ("trial", "http", seen.url)
    assert list(made.keys.kept.values()) == ["sesame"]
    assert "sesame" not in made.saved.model_dump_json()
    assert "analyze_medical_document" in [t.name for t in made.servers.consents()["trial"].tools]


def test_escape_and_enter_in_the_question_mean_no(rig: Callable[..., Rig], wait_until: Wait):
    made = rig(CLINIC)
    made.offers(Listing((ECHO,), ("big: its description is too long",), "d"))
    page = made.open()
    for key in (Qt.Key.Key_Escape, Qt.Key.Key_Return):
        click(page.look_button)
        wait_until(lambda: consent(page) is not None)
        dialog = consent(page)
        assert dialog is not None
        text = dialog.offer.toPlainText()
        assert ORDERS in text
        assert "\\u202e" in text, "what is invisible is written out"
        assert "Not used: big: its description is too long" in text
        QTest.keyClick(dialog, key)
        wait_until(lambda: consent(page) is None)
    assert made.servers.consents() == {}
    assert threading.main_thread() not in made.threads


def test_what_has_changed_since_the_consent_is_marked(rig: Callable[..., Rig], wait_until: Wait):
    made = rig(CLINIC)
    made.servers.allow(CLINIC, Listing((ECHO,), (), "old"))
    changed = OfferedTool("echo", "Sends all files.", ECHO.schema)
    new = OfferedTool("more", "", ECHO.schema)
    made.offers(Listing((changed, new), (), "new"))
    page = made.open()
    assert states(page) == ["1 tool allowed"]
    made.servers._void("clinic")
    page = (made.dialog.close() if made.dialog is not None else None, made.open())[1]
    assert states(page) == ["has changed: look at its tools"]
    click(page.look_button)
    wait_until(lambda: consent(page) is not None)
    dialog = consent(page)
    assert dialog is not None
    assert "echo  (changed)\nSends all files." in dialog.offer.toPlainText()
    assert "more  (new)\n(no description)" in dialog.offer.toPlainText()
    click(dialog.allow_button)
    wait_until(lambda: states(page) == ["2 tools allowed"])
    click(page.withdraw_button)
    wait_until(lambda: states(page) == ["not allowed yet"])
    assert made.servers.consents() == {}
    gone = offer_text(Listing((), (), "x"), Listing((ECHO,), (), "old"))
    assert "echo  (gone)" in gone


def test_a_server_that_fails_is_told_and_the_window_goes_on(
    rig: Callable[..., Rig], wait_until: Wait
):
    made = rig(LAB)
    made.offers(ToolFailed("lab ended before it answered", remedy="Ask whoever runs the server."))
    page = made.open()
    assert page.command.text() == "'/opt/lab server' --quick 'a b'"
    click(page.look_button)
    wait_until(lambda: "ended before it answered" in page.outcome.plain().lower())
    assert page.look_button.isEnabled()
    assert made.asked == [(LAB, None)]


def test_entries_that_cannot_be_used_are_not_saved(rig: Callable[..., Rig]):
    made = rig(LAB, CLINIC)
    page = made.open()
    assert made.dialog is not None
    retype(page.command, '/opt/lab "open')
    assert page.problem() == "lab has no command."
    assert not made.dialog.save_button.isEnabled()
    retype(page.command, "/opt/lab --other")
    retype(page.variables, "LAB_HOME LAB_TOKEN")
    assert page.servers()[0] == LAB.model_copy(
        update={"command": "/opt/lab", "args": ["--other"], "env": ["LAB_HOME", "LAB_TOKEN"]}
    )
    retype(page.name, "clinic")
    assert page.problem() == "Two servers have the name clinic."
    retype(page.name, "9 lives")
    assert "begins with a letter" in page.problem()
    retype(page.name, "lab")
    item = page.list.topLevelItem(1)
    assert item is not None
    page.list.setCurrentItem(item)
    assert page.url.text() == CLINIC.url
    assert page.where.text() == "What is sent to it leaves this computer for mcp.example.org."
    retype(page.url, "http://user:pass@mcp.example.org")
    assert page.problem() == "clinic has no address such as https://name/mcp."
    click(page.remove_button)
    assert [one.name for one in page.servers()] == ["lab"]
    assert made.dialog.save_button.isEnabled()


def test_the_server_of_the_environment_is_shown_but_not_edited(
    rig: Callable[..., Rig], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("MCP_SERVER_URL", "http://localhost:8000")
    made = rig()
    page = made.open()
    assert page.name.text() == "environment"
    assert page.where.text() == "Set by the environment variable MCP_SERVER_URL."
    for field in (page.name, page.url, page.kind, page.remove_button):
        assert not field.isEnabled()
    assert page.look_button.isEnabled()
    assert page.servers() == []


@pytest.mark.slow
def test_a_program_that_sends_a_hundred_megabytes_does_not_hold_up_the_window(
    rig: Callable[..., Rig], wait_until: Wait, tmp_path: Path
):
    """The heartbeat fails a stall."""
    code = f"import runpy, sys; sys.path.insert(0, {str(REPO)!r}); "
    code += "runpy.run_module('tests.support.mcp_hostile', run_name='__main__')"
    server = McpServer(name="lab", command=sys.executable, args=["-c", code, "huge", str(tmp_path)])
    made = rig(server)
    page = made.open()
    click(page.look_button)
    wait_until(lambda: consent(page) is not None)
    dialog = consent(page)
    assert dialog is not None
    assert ORDERS in dialog.offer.toPlainText()
    click(dialog.allow_button)
    wait_until(lambda: states(page) == ["1 tool allowed"])
    told: list[str] = []
    tasks = DaemonTasks(page)
    tasks.run(
        lambda cancel: made.servers.call(server, "act", {}, cancel, tmp_path),
        lambda _answer: told.append("an answer"),
        told.append,
    )
    wait_until(lambda: told)
    assert "sent more than 16 MB; its answer was dropped" in told[0]
