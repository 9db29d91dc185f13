"""An approval card shows exactly what would be done, and no key or slip of the mouse allows it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QFont
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel, QWidget

from app.agent.events import ApprovalRequested, ApprovalResolved, RunCancelled, ToolStarted
from app.agent.request import Decision
from app.views.chat.approval import _CODES, _SCROLL, ApprovalCard, _argument_text
from tests.gui.chat_support import Chat, ask, opened
from tests.gui.heartbeat import Heartbeat, stall_ms

pytestmark = pytest.mark.gui

Wait = Callable[..., None]
LEFT = Qt.MouseButton.LeftButton
Key = Qt.Key
ARGUMENTS: dict[str, Any] = {
    "path": "C:\\reports\\lungs.pdf",
    "pages": [1, 2],
    "options": {"dpi": 300, "colour": False, "title": None},
    "text": "Both lungs are clear.\npath: elsewhere",
}


@pytest.fixture
def chat(qapp: object, tmp_path: Path) -> Iterator[Chat]:
    yield from opened(tmp_path / "sessions")


def request(chat: Chat, wait_until: Wait, **fields: Any) -> ApprovalCard:
    """Ask for a call of `export_report`, and wait until its card can be answered."""
    ask(chat, wait_until)
    given = {
        "title": "Allow export_report?", "detail": "", "tool": "export_report",
        "arguments": ARGUMENTS, "effect": "write", "scopes": ["once", "session"],
    } | fields  # fmt: skip
    chat.runner.say(ApprovalRequested, approval_id="a1", **given)
    wait_until(lambda: chat.run.approvals)
    card = approval(chat)
    wait_until(card.allow.isEnabled)
    return card


def approval(chat: Chat, key: str = "a1") -> ApprovalCard:
    card = chat.run.approvals[key]
    assert isinstance(card, ApprovalCard)
    return card


def says(card: ApprovalCard, text: str) -> bool:
    return text in [part.text() for part in card.findChildren(QLabel) if part.isVisible()]


def shown(arguments: dict[str, Any]) -> str:
    return _argument_text(arguments)[0]


# -- what is shown


def test_the_exact_arguments_are_a_list_of_keys_and_values(chat: Chat, wait_until: Wait):
    card = request(chat, wait_until)
    assert card.effect.text() == "It writes files outside this conversation's own folder."
    assert card.tool.full == "Export report · export_report"
    assert card.arguments is not None
    assert card.arguments.plain().splitlines() == [
        "{",
        '  "path": "C:\\\\reports\\\\lungs.pdf",',
        '  "pages": [',
        "    1,",
        "    2",
        "  ],",
        '  "options": {',
        '    "dpi": 300,',
        '    "colour": false,',
        '    "title": null',
        "  },",
        '  "text": "Both lungs are clear.\\npath: elsewhere"',
        "}",
    ]
    assert json.loads(card.arguments.plain()) == ARGUMENTS
    assert not says(card, _CODES)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("report\u202efdp.exe", r'"report\u202efdp.exe"'),
        ("a\u2066b\u2069", r'"a\u2066b\u2069"'),
        ("a\u200bb\ufeff", r'"a\u200bb\ufeff"'),
        ("a\tb\rc\x1b[0m", r'"a\tb\rc\u001b[0m"'),
        ("a\u00a0b\u3164", r'"a\u00a0b\u3164"'),
        ("pay\ufe0f\u034f\u17b4\ufffc", r'"pay\ufe0f\u034f\u17b4\ufffc"'),
        ("\ud800", r'"\ud800"'),
        ("\U000e0041", r'"\udb40\udc41"'),
        ("<b>bold</b>&amp;", '"<b>bold</b>&amp;"'),
        ("one\n\u2028two", r'"one\n\u2028two"'),
    ],
)
def test_what_cannot_be_seen_is_written_as_its_code(value: Any, text: str):
    assert shown({"v": value}) == f'{{\n  "v": {text}\n}}'
    assert json.loads(shown({"v": value})) == {"v": value}


def test_a_key_cannot_pass_for_another():
    lines = shown({"path": 1, "p\u0430th": 2, "path\u200b": 3, 'x": 4\n"y': {"\u0430": "\u0430"}})
    assert [line.strip() for line in lines.splitlines()][1:-2] == [
        '"path": 1,', r'"p\u0430th": 2,', r'"path\u200b": 3,', r'"x\": 4\n\"y": {',
        '"\\u0430": "\u0430"',
    ]  # fmt: skip


def test_deep_and_large_arguments_are_whole():
    deep: Any = "end"
    for _ in range(60):
        deep = {"k": [deep]}
    many = {"v": deep} | {f"k{index}": list(range(50)) for index in range(40)}
    assert json.loads(shown(many)) == many


def test_hidden_characters_are_told_of(chat: Chat, wait_until: Wait):
    card = request(chat, wait_until, arguments={"path": "x\u202ey"})
    assert card.arguments is not None
    assert r'"path": "x\u202ey"' in card.arguments.plain()
    assert says(card, _CODES)
    chat.runner.finish()
    wait_until(chat.dock.is_idle)
    assert not says(request(chat, wait_until, arguments={"path": "xy"}), _CODES)


def test_a_megabyte_is_shown_whole_before_it_can_be_allowed(
    chat: Chat, wait_until: Wait, heartbeat: Heartbeat
):
    arguments = {"text": "x y" * 100_000, "lines": "line\n" * 3_000, "odd": "\u202e" * 3_000}
    ask(chat, wait_until)
    chat.runner.say(
        ApprovalRequested,
        approval_id="a1", title="t", detail="", tool="t", arguments=arguments, effect="send",
    )  # fmt: skip
    wait_until(lambda: chat.run.approvals)
    card = approval(chat)
    view = card.arguments
    assert view is not None
    QTest.mouseClick(card.allow, LEFT)
    assert chat.runner.answers == []
    wait_until(lambda: view.complete, 60)
    assert heartbeat.computed_ms < stall_ms()
    flat = view.plain().replace("\n", "")
    assert "x y" * 100_000 in flat
    assert flat.count(r"line\n") == 3_000
    assert flat.count(r"\u202e") == 3_000
    assert view.height() <= 240
    assert view.verticalScrollBar().maximum() > 0
    assert view.verticalScrollBar().value() == 0
    wait_until(card.allow.isEnabled)


def test_html_in_a_request_shows_literally(chat: Chat, wait_until: Wait):
    evil = "<h1>Big</h1><img src='file:///etc/hostname'>"
    card = request(
        chat, wait_until,
        title=evil, tool=evil, effect=evil, arguments={evil: evil}, scopes=["once"],
    )  # fmt: skip
    assert card.title.plain() == evil
    assert card.effect.text() == evil
    assert card.tool.full.endswith(evil)
    assert card.arguments is not None
    assert f'"{evil}": "{evil}"' in card.arguments.plain()


def test_a_program_is_shown_line_by_line_before_it_can_be_allowed(chat: Chat, wait_until: Wait):
    code = 'def analyze():\n    text = "a\\nb"\n    return {"x": text}  # caf\u00e9\n'
    card = request(
        chat, wait_until,
        arguments={"code": code, "description": "Counts."}, effect="execute", tool="run_code",
    )  # fmt: skip
    (program,) = card.programs
    assert program.plain() == code
    assert program.font().featureValue(QFont.Tag("calt")) == 0  # ">=" is two signs
    assert json.loads(card.arguments.plain()) == {"description": "Counts."}
    assert says(card, '"code", 3 lines:')
    assert not says(card, _CODES)
    QTest.mouseClick(card.allow, LEFT)
    assert [one.granted for _, one in chat.runner.answers] == [True]


def test_what_a_program_hides_is_told_of(chat: Chat, wait_until: Wait):
    code = "def analyze():\n    return {}  # \u202e x\u200b\n"
    card = request(chat, wait_until, arguments={"code": code}, effect="execute")
    assert card.programs[0].plain() == code.replace("\u202e", r"\u202e").replace(
        "\u200b", r"\u200b"
    )
    assert says(card, _CODES)
    assert not card.arguments.isVisible()


def test_the_longest_program_is_whole_before_it_can_be_allowed(chat: Chat, wait_until: Wait):
    ask(chat, wait_until)
    code = "".join(f"x{number} = {number}\n" for number in range(3_000))
    chat.runner.say(
        ApprovalRequested,
        approval_id="a1", title="t", detail="", tool="t", arguments={"code": code},
        effect="execute",
    )  # fmt: skip
    wait_until(lambda: chat.run.approvals)
    card = approval(chat)
    assert not card.allow.isEnabled()
    wait_until(card.allow.isEnabled)
    assert card.programs[0].plain() == code


def test_a_tool_that_only_sends_has_its_text_as_an_argument(chat: Chat, wait_until: Wait):
    card = request(chat, wait_until, arguments={"code": "a\nb"}, effect="send")
    assert not card.programs
    assert json.loads(card.arguments.plain()) == {"code": "a\nb"}


def test_what_a_call_would_really_reach_stands_out(chat: Chat, wait_until: Wait):
    touches = [
        {
            "what": "writes",
            "argument": "path",
            "shown": "/srv/out/a\\u202eb.pdf",
            "note": "A link.",
        },
        {"what": "sends to", "argument": "url", "shown": "10.0.0.7:80", "note": ""},
    ]
    card = request(chat, wait_until, touches=touches)
    first, second = card.touched
    assert first.place.plain() == "/srv/out/a\\u202eb.pdf"
    assert second.place.plain() == "10.0.0.7:80"
    for text in ("Writes (path)", "Sends to (url)", "A link."):
        assert says(card, text)


# -- answers


@pytest.mark.parametrize(
    ("button", "decision", "state"),
    [
        ("allow", Decision(granted=True), "Allowed once"),
        ("allow_session", Decision(granted=True, scope="session"), "Allowed in this conversation"),
        ("deny", Decision(granted=False), "Not allowed"),
        (
            "deny_session",
            Decision(granted=False, scope="session"),
            "Not allowed in this conversation",
        ),
    ],
)
def test_an_answer_reaches_the_runner_once_and_the_card_says_which(
    chat: Chat, wait_until: Wait, button: str, decision: Decision, state: str
):
    card = request(chat, wait_until)
    QTest.mouseClick(getattr(card, button), LEFT)
    for other in (card.allow, card.allow_session, card.deny, card.deny_session):
        QTest.mouseClick(other, LEFT)
    assert chat.runner.answers == [("a1", decision)]
    chat.runner.say(
        ApprovalResolved, approval_id="a1", granted=decision.granted, scope=decision.scope
    )
    wait_until(card.state.isVisible)
    assert card.state.full == state
    assert not card.allow.isVisible()
    assert not card.what.isVisible()
    QTest.mouseClick(card._show, LEFT)
    assert card.arguments is not None
    assert card.arguments.isVisible()


def test_enter_in_the_reason_denies_with_the_reason(chat: Chat, wait_until: Wait):
    card = request(chat, wait_until)
    QTest.keyClicks(card.reason, "  wrong   folder ")
    QTest.keyClick(card.reason, Key.Key_Return)
    assert chat.runner.answers == [("a1", Decision(granted=False, reason="wrong folder"))]
    chat.runner.say(ApprovalResolved, approval_id="a1", granted=False, reason="wrong folder")
    wait_until(lambda: card.state.full == "Not allowed: wrong folder")


def test_a_reason_is_no_part_of_a_yes(chat: Chat, wait_until: Wait):
    card = request(chat, wait_until)
    QTest.keyClicks(card.reason, "hm")
    QTest.mouseClick(card.allow, LEFT)
    assert chat.runner.answers == [("a1", Decision(granted=True))]


def test_once_is_all_that_is_offered_when_only_once_may_be(chat: Chat, wait_until: Wait):
    card = request(chat, wait_until, scopes=["once"])
    assert not card.allow_session.isVisible()
    assert card.allow.text() == "Allow once"


def test_the_focus_never_lands_on_an_allow_button(chat: Chat, wait_until: Wait):
    chat.dock.activateWindow()
    chat.dock.focus_composer()
    wait_until(chat.dock.composer.edit.hasFocus)
    card = request(chat, wait_until)
    assert chat.dock.focusWidget() is chat.dock.composer.edit
    QTest.keyClick(chat.dock.composer.edit, Key.Key_Return)
    QTest.keyClick(chat.dock.composer.edit, Key.Key_Space)
    assert chat.runner.answers == []
    card.setFocus()
    assert chat.dock.focusWidget() is card.reason
    QTest.keyClick(card.reason, Key.Key_Tab)
    assert chat.dock.focusWidget() is card.deny
    QTest.keyClick(card.deny, Key.Key_Tab)
    assert chat.dock.focusWidget() is card.allow
    QTest.keyClick(card.allow, Key.Key_Space)
    assert chat.runner.answers == [("a1", Decision(granted=True))]


def test_a_click_meant_for_what_was_there_before_allows_nothing(chat: Chat, wait_until: Wait):
    ask(chat, wait_until)
    chat.runner.say(ApprovalRequested, approval_id="a1", title="May I?", detail="")
    wait_until(lambda: chat.run.approvals)
    card = approval(chat)
    assert not card.allow.isEnabled()
    assert card.deny.isEnabled()
    QTest.mouseClick(card.allow, LEFT)
    assert chat.runner.answers == []
    wait_until(card.allow.isEnabled)


def test_the_card_of_the_call_waits_with_its_question(chat: Chat, wait_until: Wait):
    ask(chat, wait_until)
    chat.runner.say(ToolStarted, call_id="c", tool="t", arguments={})
    chat.runner.say(
        ApprovalRequested, approval_id="a1", title="May I?", detail="", call_id="c", tool="t"
    )
    wait_until(lambda: chat.run.approvals)
    assert chat.run.cards["c"]._word.text() == "Waiting"
    chat.runner.say(ApprovalResolved, approval_id="a1", granted=True)
    wait_until(lambda: chat.run.cards["c"]._word.text() == "Running")


def test_two_requests_are_answered_each_by_its_own_card(chat: Chat, wait_until: Wait):
    first = request(chat, wait_until)
    chat.runner.say(ApprovalRequested, approval_id="a2", title="And this?", detail="")
    wait_until(lambda: len(chat.run.approvals) == 2)
    second = approval(chat, "a2")
    QTest.mouseClick(second.deny, LEFT)
    QTest.mouseClick(first.allow, LEFT)
    assert chat.runner.answers == [("a2", Decision(False)), ("a1", Decision(True))]


def test_tab_goes_from_the_question_to_the_field_and_back_in_the_order_on_the_screen(
    chat: Chat, wait_until: Wait
):
    card = request(chat, wait_until)
    chat.dock.focus_composer()
    back: list[QWidget | None] = []
    while card.reason not in back and len(back) < 12:
        QTest.keyClick(chat.dock.focusWidget(), Qt.Key.Key_Backtab)
        back.append(chat.dock.focusWidget())
    at = [back.index(field) for field in (card.allow, card.deny, card.reason)]
    assert at == sorted(at)
    assert all(chat.dock.conversation.isAncestorOf(field) for field in back if field is not None)
    for _ in back:
        QTest.keyClick(chat.dock.focusWidget(), Qt.Key.Key_Tab)
    assert chat.dock.focusWidget() is chat.dock.composer.edit


@pytest.mark.parametrize("how", ["allow", "deny", "stop"])
def test_the_focus_stays_with_a_card_that_was_answered(chat: Chat, wait_until: Wait, how: str):
    card = request(chat, wait_until)
    button = card.allow if how == "allow" else card.deny
    button.setFocus()
    if how == "stop":
        chat.runner.say(RunCancelled)
    else:
        QTest.keyClick(button, Key.Key_Space)
        assert card.isAncestorOf(chat.dock.focusWidget())
        chat.runner.say(ApprovalResolved, approval_id="a1", granted=how == "allow")
    wait_until(lambda: card.state.full)
    focused = chat.dock.focusWidget()
    assert card.isAncestorOf(focused)
    assert focused.isVisible()
    if how != "stop":
        chat.runner.finish("Done.")
    wait_until(lambda: chat.run.ended)


def test_what_was_not_scrolled_into_view_cannot_be_allowed(chat: Chat, wait_until: Wait):
    chat.dock.resize(420, 420)
    touches = [{"what": "writes", "argument": "path", "shown": "/archive/a.pdf", "note": ""}]
    ask(chat, wait_until)
    long = {"path": "a.pdf", "text": "A long line of the report. " * 90}
    chat.runner.say(
        ApprovalRequested, approval_id="a1", title="Allow export_report?", detail="",
        tool="export_report", arguments=long, effect="write", scopes=["once"], touches=touches,
    )  # fmt: skip
    wait_until(lambda: chat.run.approvals)
    card = approval(chat)
    bar = chat.dock.conversation.verticalScrollBar()
    wait_until(lambda: card._waits.text().startswith("Scroll up"))
    assert bar.value() == bar.maximum()
    assert card.touched[0].visibleRegion().isEmpty()
    assert not card.allow.isEnabled()
    assert card.deny.isEnabled()
    chat.dock.conversation.ensureWidgetVisible(card.title)
    wait_until(lambda: card.title not in card._unseen)
    chat.dock.conversation.ensureWidgetVisible(card.touched[0])
    wait_until(card.allow.isEnabled)
    assert card._waits.text() == "The assistant is waiting for your answer."


# -- a plan's calls, asked about together


def plan_request(chat: Chat, wait_until: Wait) -> ApprovalCard:
    ask(chat, wait_until)
    calls = [
        {"call_id": "c1", "tool": "export_report", "arguments": ARGUMENTS, "effect": "write",
         "touches": [{"what": "writes", "argument": "path", "shown": "/r/lungs.pdf", "note": ""}]},
        {"call_id": "c2", "tool": "send_mail", "arguments": {"to": "a@b.c"}, "effect": "send",
         "touches": [{"what": "sends to", "argument": "to", "shown": "b.c", "note": ""}]},
    ]  # fmt: skip
    title, scopes = "Allow these 2 calls?", ["once", "each"]
    fields = {"title": title, "detail": "", "about": "plan", "calls": calls, "scopes": scopes}
    chat.runner.say(ApprovalRequested, approval_id="a1", **fields)
    wait_until(lambda: chat.run.approvals)
    card = approval(chat)
    bar = chat.dock.conversation.verticalScrollBar()
    wait_until(lambda: bar.maximum() > 0 or card.allow.isEnabled())

    def scrolled() -> bool:  # as a reader does, until the end
        bar.setValue((bar.value() + 120) % (bar.maximum() + 120))
        return card.allow.isEnabled()

    wait_until(scrolled)
    return card


@pytest.mark.parametrize(
    ("button", "decision", "said"),
    [
        ("allow", Decision(granted=True), "All 2 allowed"),
        ("deny", Decision(granted=False), "None of them allowed"),
        ("each", Decision(granted=False, scope="each"), "Asked one by one"),
    ],
)
def test_a_plans_calls_are_answered_as_a_whole(
    chat: Chat, wait_until: Wait, button: str, decision: Decision, said: str
):
    card = plan_request(chat, wait_until)
    whole = [json.loads(one.plain()) for one in card.texts]
    assert whole == [ARGUMENTS, {"to": "a@b.c"}]
    assert [one.place.plain() for one in card.touched] == ["/r/lungs.pdf", "b.c"]
    assert says(card, "It writes files outside this conversation's own folder.")
    assert says(card, "It sends data to another machine.")
    assert (card.allow.text(), card.deny.text()) == ("Allow all 2", "Allow none")
    assert not card.allow_session.isVisible()
    wanted = getattr(card, button)
    chat.dock.conversation.ensureWidgetVisible(wanted)
    QTest.mouseClick(wanted, LEFT)
    assert chat.runner.answers == [("a1", decision)]
    fields = {"granted": decision.granted, "scope": decision.scope}
    chat.runner.say(ApprovalResolved, approval_id="a1", **fields)
    wait_until(lambda: card.state.full == said)


def test_a_plan_cannot_be_allowed_before_its_last_call_was_seen(chat: Chat, wait_until: Wait):
    chat.dock.resize(420, 420)
    ask(chat, wait_until)
    calls = [
        {"call_id": f"c{n}", "tool": "export_report", "arguments": {"path": f"/r/{n}"},
         "effect": "write", "touches": []}
        for n in range(9)
    ]  # fmt: skip
    fields = {"title": "Allow these 9 calls?", "detail": "", "about": "plan", "calls": calls}
    chat.runner.say(ApprovalRequested, approval_id="a1", scopes=["once", "each"], **fields)
    wait_until(lambda: chat.run.approvals)
    card = approval(chat)
    wait_until(lambda: card._waits.text() == _SCROLL)
    assert not card.allow.isEnabled()
    assert card.deny.isEnabled()
