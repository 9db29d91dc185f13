"""The settings' page of the tools, by mouse and keys: stricter rules, and answers taken back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QTreeWidget, QWidget

from app.agent.policy import Grants, Policy, Rule
from app.agent.policy.approvals import Gate
from app.agent.privacy.consents import Consents
from app.settings import (
    FolderSettings,
    HostSettings,
    PolicySettings,
    Settings,
)
from app.tools.api import Approval, ToolSpec
from app.views.settings.settings_dialog import SettingsDialog, SettingsSources
from app.views.settings.tools_page import ToolsPage
from tests.gui.hands import choose, open_page, rule_text
from tests.gui.test_settings_window import FakeProbe, Keys
from tests.support.fake_tools import FakeTool, Strict, ok

pytestmark = pytest.mark.gui

Wait = Callable[..., None]
Show = Callable[..., ToolsPage]


def spec(name: str, effect: Approval) -> ToolSpec:
    return FakeTool(name, Strict, ok(), approval=effect).spec


LOOK = spec("look_around", Approval.READ)
COUNT = spec("count_cells", Approval.COMPUTE)
SEND = spec("send_report", Approval.SEND)


class Shown:
    """A settings window on the page of the tools, and what was saved."""

    def __init__(
        self, policy: PolicySettings, tools: tuple[ToolSpec, ...], site: tuple[Policy, ...]
    ) -> None:
        self.grants = Grants()
        self.saved: list[Settings] = []
        sources = SettingsSources(
            Keys(),
            Consents(),
            self.grants,
            FakeProbe(),
            tools=tools,
            site_rules=site,
            packs=(("cells", "Microscopy"), ("chest", "Chest radiographs")),
        )
        self.dialog = SettingsDialog(
            Settings(policy=policy), sources, self.saved.append, lambda _: None
        )

    def open(self) -> ToolsPage:
        self.dialog.show()
        open_page(self.dialog, "Tools")
        return self.dialog.tools

    def save(self, wait_until: Wait) -> PolicySettings:
        press(self.dialog.save_button)
        wait_until(lambda: self.saved)
        return self.saved[0].policy


@pytest.fixture
def window(qapp: object) -> Iterator[Callable[..., Shown]]:
    made: list[Shown] = []

    def make(
        tools: tuple[ToolSpec, ...] = (LOOK, COUNT, SEND),
        site: tuple[Policy, ...] = (),
        rules: dict[str, Any] | None = None,
        **policy: Any,
    ) -> Shown:
        made.append(Shown(PolicySettings(tools=rules or {}, **policy), tools, site))
        return made[-1]

    yield make
    for item in made:
        item.dialog.close()


def press(button: QAbstractButton) -> None:
    assert button.isEnabled()
    QTest.mouseClick(button, Qt.MouseButton.LeftButton)


def click_tool(tree: QTreeWidget, title: str) -> None:
    (item,) = tree.findItems(title, Qt.MatchFlag.MatchExactly)
    at = tree.visualItemRect(item).center()
    QTest.mouseClick(tree.viewport(), Qt.MouseButton.LeftButton, pos=at)
    assert tree.currentItem() is item


def rows(tree: QTreeWidget) -> list[tuple[str, str, str]]:
    items = [tree.topLevelItem(at) for at in range(tree.topLevelItemCount())]
    return [(item.text(0), item.text(1), item.text(2)) for item in items if item is not None]


def test_every_tool_is_listed_with_what_it_does_and_its_rule(window: Callable[..., Shown]):
    page = window(effects={"read": "ask"}, rules={"count_cells": "ask", "gone": "deny"}).open()
    assert rows(page.tools.list) == [
        ("Look around", "reads", "asks (as above)"),
        ("Count cells", "computes", "asks (your rule)"),
        ("Send report", "sends", "asks"),
        ("Gone", "not installed", "refused (your rule)"),
    ]


def test_a_tool_is_made_stricter_with_the_mouse(window: Callable[..., Shown], wait_until: Wait):
    shown = window()
    page = shown.open()
    click_tool(page.tools.list, "Count cells")
    assert page.tools.choice.currentText() == "None of its own: runs freely"
    choose(page.tools.choice, "Is refused")
    assert rule_text(page.tools, "count_cells") == "refused (your rule)"
    click_tool(page.tools.list, "Send report")
    assert page.tools.choice.findData("allow") < 0, "nothing can be made freer"
    assert page.tools.choice.findData("ask") < 0, "it asks anyway"
    saved = shown.save(wait_until)
    assert saved.tools == {"count_cells": "deny"}
    assert Policy(saved).rule(COUNT) is Rule.DENY


def test_a_tool_is_made_stricter_with_the_keys(window: Callable[..., Shown], wait_until: Wait):
    shown = window()
    page = shown.open()
    shown.dialog.activateWindow()
    wait_until(shown.dialog.isActiveWindow)
    page.rules["execute"].setFocus()
    QTest.keyClick(page.rules["execute"], Qt.Key.Key_Tab)
    tree = page.tools.list
    assert tree.hasFocus(), "the list is one stop, not one a tool"
    QTest.keyClick(tree, Qt.Key.Key_Down)
    assert page.tools.choice.accessibleName() == "Rule for Count cells"
    QTest.keyClick(tree, Qt.Key.Key_Tab)
    assert page.tools.choice.hasFocus()
    QTest.keyClick(page.tools.choice, Qt.Key.Key_Down)
    assert rule_text(page.tools, "count_cells") == "asks (your rule)"
    assert shown.save(wait_until).tools == {"count_cells": "ask"}


def test_enter_on_a_tool_opens_its_rules_and_saves_nothing(
    window: Callable[..., Shown], wait_until: Wait
):
    shown = window()
    page = shown.open()
    pressed: list[str] = []
    shown.dialog.save_button.clicked.connect(lambda: pressed.append("save"))
    page.tools.list.setFocus()
    QTest.keyClick(page.tools.list, Qt.Key.Key_Return)
    wait_until(page.tools.choice.view().isVisible)
    QTest.keyClick(page.tools.choice.view(), Qt.Key.Key_Down)
    QTest.keyClick(page.tools.choice.view(), Qt.Key.Key_Return)
    assert page.tools.rules() == {"look_around": "ask"}
    assert not pressed
    assert shown.dialog.isVisible()


def test_a_rule_for_an_effect_shows_at_its_tools_at_once(window: Callable[..., Shown]):
    page = window().open()
    choose(page.rules["compute"], "Is refused")
    assert rule_text(page.tools, "count_cells") == "refused (as above)"
    click_tool(page.tools.list, "Count cells")
    assert not page.tools.choice.isEnabled(), "there is nothing stricter"
    choose(page.rules["compute"], "Runs freely")
    assert page.tools.choice.isEnabled()


def test_a_rule_of_a_tool_survives_what_hides_it(window: Callable[..., Shown], wait_until: Wait):
    shown = window(rules={"count_cells": "ask"})
    page = shown.open()
    choose(page.rules["compute"], "Is refused")
    click_tool(page.tools.list, "Count cells")
    choose(page.rules["compute"], "Runs freely")
    assert rule_text(page.tools, "count_cells") == "asks (your rule)"
    assert shown.save(wait_until).tools == {"count_cells": "ask"}


def test_rules_of_this_computer_are_shown_and_cannot_be_lifted(window: Callable[..., Shown]):
    site = Policy.from_data(
        {"effects": {"send": "deny"}, "folders": {"allow": ["/data/exports"]}, "remember": False}
    )
    page = window(site=(site,)).open()
    assert rule_text(page.tools, "send_report") == "refused (this computer's policy)"
    click_tool(page.tools.list, "Send report")
    assert not page.tools.choice.isEnabled()
    words = page.argument_rules.plain()
    assert "By this computer's administrator. Folders: tools may write only to /data/" in words
    assert "a yes counts for one call" in words


def test_rules_for_hosts_and_folders_are_shown_in_words_and_kept(
    window: Callable[..., Shown], wait_until: Wait
):
    rules: dict[str, Any] = {
        "hosts": HostSettings(allow=["*.hospital.example"], deny=["old.hospital.example"]),
        "folders": FolderSettings(deny=["/data/old"]),
    }
    shown = window(**rules)
    words = shown.open().argument_rules.plain()
    for sentence in (
        "Files: a tool is given the open images and files of the run's own folder",
        "Hosts: tools may send only to *.hospital.example.",
        "Hosts: tools may send never to old.hospital.example.",
        "Folders: tools may write never to /data/old.",
    ):
        assert sentence in words
    saved = shown.save(wait_until)
    assert saved == PolicySettings(**rules), "what the page cannot change is as it was"


def test_the_session_is_made_stricter_at_once_and_for_all_calls(window: Callable[..., Shown]):
    shown = window()
    page = shown.open()
    gate = Gate(Policy.standard(), shown.grants)
    assert not gate.needs_question(COUNT, {}, "t")
    choose(page.strict, "Every call asks, whatever was allowed")
    assert gate.needs_question(COUNT, {}, "t"), "without saving"
    choose(page.strict, "What writes, sends or runs programs is refused")
    assert gate.judge(SEND, {}, "t").rule is Rule.DENY
    shown.dialog.reject()
    assert shown.grants.strict == "deny", "the window's end changes nothing"


def test_the_window_shows_how_strict_the_session_is(window: Callable[..., Shown]):
    shown = window()
    shown.grants.strict = "ask"
    assert shown.open().strict.value == "ask"


def test_an_answer_for_the_conversation_can_be_taken_out(
    window: Callable[..., Shown], wait_until: Wait
):
    shown = window()
    page = shown.open()
    QTest.mouseClick(
        page.remember, Qt.MouseButton.LeftButton, pos=QPoint(8, page.remember.height() // 2)
    )
    saved = shown.save(wait_until)
    assert saved.remember is False
    assert not Policy(saved).remember


def test_each_answer_is_listed_and_taken_back_with_mouse_or_keys(
    window: Callable[..., Shown], wait_until: Wait
):
    shown = window()
    grants = shown.grants
    grants.grant("t1", SEND, {"to": "a"})
    grants.grant("t2", SEND, {"to": "b"})
    grants.grant("t1", COUNT, {})
    grants.refuse("t1", "save_note")
    page = shown.open()
    shown.dialog.activateWindow()
    wait_until(shown.dialog.isActiveWindow)
    buttons = page.answers.buttons
    assert [(kind, tool) for kind, tool in buttons] == [
        ("allowed", "count_cells"),
        ("allowed", "send_report"),
        ("refused", "save_note"),
    ]
    named = buttons["allowed", "send_report"].accessibleName()
    assert named == "Withdraw: send_report (allowed: 2 calls, exactly as asked)"
    press(buttons["allowed", "send_report"])
    assert [grant.tool for grant in grants.active_grants()] == ["count_cells"]
    buttons = page.answers.buttons
    last = buttons["refused", "save_note"]
    last.setFocus()
    QTest.keyClick(last, Qt.Key.Key_Space)
    assert grants.active_refusals() == ()
    assert page.answers.buttons["allowed", "count_cells"].hasFocus(), "the focus is not lost"
    press(page.answers.withdraw_button)
    assert grants.active_grants() == ()
    assert not page.answers.withdraw_button.isEnabled()


def test_names_of_tools_are_no_rich_text_and_widen_nothing(
    window: Callable[..., Shown], wait_until: Wait
):
    long = replace(COUNT, name="<b>x</b>" + "long_" * 60)
    shown = window(tools=(long, LOOK))
    shown.grants.grant("t", long, {})
    page = shown.open()
    wait_until(lambda: page.widget().width() <= page.viewport().width())
    assert rows(page.tools.list)[0][0].startswith("<b>x</b>")
    button: QWidget = page.answers.buttons["allowed", long.name]
    assert button.mapTo(shown.dialog, button.rect().topRight()).x() < shown.dialog.width()


def test_a_hundred_tools_are_shown_without_a_stall(window: Callable[..., Shown]):
    many = tuple(replace(COUNT, name=f"tool_{number}") for number in range(100))
    page = window(tools=many).open()  # the heartbeat fails a stall
    assert len(rows(page.tools.list)) == 100
    assert page.tools.list.height() < 320, "the list scrolls by itself"


def test_packs_and_a_prompt_of_ones_own_are_saved(window: Callable[..., Shown], wait_until: Wait):
    shown = window()
    page = shown.open()
    assert all(box.isChecked() for box in page.packs.values())
    page.packs["chest"].click()
    page.prompts.setText("/home/me/prompts.txt")
    page.prompt.setText(" TEACHER ")
    shown.save(wait_until)
    profile = shown.saved[0].profile
    assert profile.packs_off == ["chest"]
    assert (profile.prompt, profile.prompt_file) == ("TEACHER", "/home/me/prompts.txt")
