"""A citation in an answer leads to the card of its result and to what the tool found."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import QEvent, QPoint, Qt
from PySide6.QtGui import QHelpEvent, QTextCursor
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QToolTip

from app.agent.answers.items import items_of
from app.agent.events import RunFinished, TextDelta, ToolFinished, ToolStarted
from app.imaging.findings import Finding
from app.views.chat.tool_card import ToolCard
from app.views.text_view import TextView
from app.views.theme import THEME
from tests.gui.chat_support import Chat, ask, finding, open_image, opened
from tests.gui.test_chat_links import click_link
from tests.gui.test_chat_threads import recorded

pytestmark = pytest.mark.gui

Wait = Callable[..., None]


@pytest.fixture
def chat(qapp: object, tmp_path: Path) -> Iterator[Chat]:
    yield from opened(tmp_path / "sessions")


def tool(chat: Chat, number: int, findings: list[Finding] | None = None, **fields: str) -> None:
    """A call that ended with the result of that number; 0 for one that failed."""
    call_id, name = f"c{number}-{len(chat.run.cards)}", fields.pop("name", "chest_xray_classifier")
    arguments = {"image_path": "/studies/x/image-1.png"}
    chat.runner.say(ToolStarted, call_id=call_id, tool=name, arguments=arguments)
    status = "ok" if number else "failed"
    chat.runner.say(
        ToolFinished,
        call_id=call_id,
        tool=name,
        status=status,
        summary="A result.\n" * 6,
        findings=findings or [],
        evidence=number,
    )


def answer(chat: Chat, wait_until: Wait, text: str, *cited: int, streamed: str = "") -> TextView:
    chat.runner.say(TextDelta, text=streamed or text)
    chat.runner.say(RunFinished, answer=text, cited=list(cited))
    wait_until(lambda: chat.run.ended)
    column = chat.dock.conversation.viewport()
    view = chat.run.answers[-1].view
    wait_until(lambda: view.width() > column.width() - 60)  # laid out
    return view


def card(chat: Chat, number: int) -> ToolCard:
    cards = [item for run in chat.dock.conversation.runs for item in run.cards.values()]
    return next(item for item in cards if item.evidence == number)


def in_view(chat: Chat, part: ToolCard) -> bool:
    """Whether the head of a card is seen."""
    column = chat.dock.conversation.viewport()
    return column.rect().contains(part.mapTo(column, QPoint(20, 20)))


def focused_in(part: ToolCard) -> bool:
    focused = part.window().focusWidget()
    return focused is not None and part.isAncestorOf(focused)


def test_cards_show_their_numbers_and_a_failed_call_has_none(chat: Chat, wait_until: Wait):
    ask(chat, wait_until)
    for number in (1, 0, 2):
        tool(chat, number)
    wait_until(lambda: [item.evidence for item in chat.run.cards.values()] == [1, 0, 2])
    cards = list(chat.run.cards.values())
    wait_until(lambda: all(item.isVisible() for item in cards))
    assert [item._number.isVisible() for item in cards] == [True, False, True]
    assert [item._number.text() for item in cards if item.evidence] == ["[1]", "[2]"]
    assert cards[2].accessibleName() == "Tool call: Score chest findings, Done, result 2"
    assert cards[1].accessibleName() == "Tool call: Score chest findings, Failed"


def test_a_click_leads_to_the_card_and_selects_what_the_tool_found(chat: Chat, wait_until: Wait):
    image, lung, heart = open_image(chat.workspace), finding("Right Lung"), finding("Heart")
    chat.dock.resize(420, 460)
    ask(chat, wait_until)
    tool(chat, 1)
    tool(chat, 2, [lung, heart])
    for _ in range(6):
        tool(chat, 0)
    view = answer(chat, wait_until, "It is clear [1]. It is large [2].", 1, 2)
    chat.workspace.viewport.show(None)
    chat.dock.conversation.to_end()
    wait_until(lambda: not in_view(chat, card(chat, 2)))
    click_link(view, wait_until, "[2]")
    assert chat.workspace.annotations.selected == lung.id
    assert chat.workspace.viewport.instance is image
    wait_until(lambda: in_view(chat, card(chat, 2)))
    assert focused_in(card(chat, 2))
    assert card(chat, 2).property("cited") is True
    assert not card(chat, 1).property("cited")
    wait_until(lambda: not card(chat, 2).property("cited"))
    click_link(view, wait_until, "[2]")
    assert chat.workspace.annotations.selected == heart.id, "the next of its findings"
    click_link(view, wait_until, "[2]")
    assert chat.workspace.annotations.selected == lung.id
    click_link(view, wait_until, "[1]")
    assert chat.workspace.annotations.selected == lung.id, "a result without findings selects none"
    assert focused_in(card(chat, 1))


def test_a_ratio_leads_to_both_of_its_lines(chat: Chat, wait_until: Wait):
    open_image(chat.workspace)
    heart = replace(finding("Heart width"), group="g", ratio="Cardiothoracic ratio")
    thorax = replace(finding("Thorax width"), group="g")
    lines = [heart, thorax]
    ask(chat, wait_until)
    chat.runner.say(ToolStarted, call_id="c1", tool="cardiothoracic_ratio", arguments={})
    chat.runner.say(
        ToolFinished,
        call_id="c1",
        tool="cardiothoracic_ratio",
        status="ok",
        summary="s",
        findings=lines,
        evidence=1,
        items=items_of(lines, {"ratio": 0.5}),
    )
    view = answer(chat, wait_until, "The ratio is 0.50 [1.3].", 1)
    assert chat.dock.leads_to("result:1.3", heart.id)
    assert chat.dock.leads_to("result:1.3", thorax.id)
    assert not chat.dock.leads_to("result:1.1", thorax.id)
    for one in (heart, thorax, heart):
        click_link(view, wait_until, "1.3")
        wait_until(lambda key=one.id: chat.workspace.annotations.selected == key)


def test_a_citation_is_reached_by_tab_and_followed_by_enter(chat: Chat, wait_until: Wait):
    heart = finding("Heart width", value=843, units="px")
    ask(chat, wait_until)
    tool(chat, 1, [heart])
    view = answer(chat, wait_until, "It is large [1]. It is clear [1].", 1)
    chat.dock.activateWindow()
    view.setFocus(Qt.FocusReason.TabFocusReason)
    wait_until(view.hasFocus)
    assert view.focused_link().isEmpty()
    QTest.keyClick(view, Qt.Key.Key_Tab)
    assert view.textCursor().selectedText() == "[1]"
    wait_until(lambda: not view.focused_link().isEmpty())
    frame = view.viewport().grab(view.focused_link()).toImage()
    edge = frame.pixelColor(frame.width() // 2, 0)
    assert edge.blue() > edge.red() + 40, "the citation that Enter would follow is seen"
    QTest.keyClick(view, Qt.Key.Key_Return)
    assert chat.workspace.annotations.selected == heart.id
    assert focused_in(card(chat, 1))
    # From the card the keys lead on, to what stands below it.
    chip = chat.dock.window().focusWidget()
    assert chip is not None
    QTest.keyClick(chip, Qt.Key.Key_Tab)
    assert chat.dock.window().focusWidget() is card(chat, 1)._details.button("Details")


def test_the_tooltip_says_tool_and_image(chat: Chat, wait_until: Wait):
    ask(chat, wait_until)
    tool(chat, 1)
    view = answer(chat, wait_until, "It is clear [1].", 1)
    found = view.document().find("[1]")
    middle = QTextCursor(view.document())
    middle.setPosition(found.selectionStart() + 1)
    place = view.cursorRect(middle).center() + QPoint(1, 0)
    event = QHelpEvent(QEvent.Type.ToolTip, place, view.viewport().mapToGlobal(place))
    QApplication.sendEvent(view.viewport(), event)
    shown = QToolTip.text()
    QToolTip.hideText()
    wait_until(lambda: not QToolTip.isVisible())
    assert "Result 1: Score chest findings (chest_xray_classifier)" in shown
    assert "Image: image-1.png" in shown
    assert "/studies" not in shown


def test_of_a_list_each_number_leads_to_its_own_card(chat: Chat, wait_until: Wait):
    first, second = finding("Right Lung"), finding("Heart")
    ask(chat, wait_until)
    tool(chat, 1, [first])
    tool(chat, 2, [second])
    view = answer(chat, wait_until, "Both are there [1, 2].", 1, 2)
    click_link(view, wait_until, "2")
    assert chat.workspace.annotations.selected == second.id
    click_link(view, wait_until, "1")
    assert chat.workspace.annotations.selected == first.id


def test_a_citation_of_nothing_is_told_apart_and_leads_nowhere(chat: Chat, wait_until: Wait):
    ask(chat, wait_until)
    tool(chat, 1, [finding("Heart")])
    said = "It is large [1]. A mass is there [7]."
    view = answer(chat, wait_until, said.replace("7", "7: no such result"), 1, streamed=said)
    assert view.plain() == "It is large [1]. A mass is there [7: no such result]."
    marked = view.document().find("no such result")
    assert marked.charFormat().foreground().color().name() == THEME.warning
    assert not marked.charFormat().isAnchor()
    click_link(view, wait_until, "[7")
    assert chat.workspace.annotations.selected == ""


def test_a_mark_at_what_no_result_supports_is_told_apart(chat: Chat, wait_until: Wait):
    ask(chat, wait_until)
    tool(chat, 1)
    said = "**Ratio 0.72** [1]."
    marked = said.replace("0.72", "0.72 [check: result 1 says 0.5]")
    view = answer(chat, wait_until, marked, 1, streamed=said)
    assert view.plain() == "Ratio 0.72 [check: result 1 says 0.5] [1]."
    for word, color in (("check: result", THEME.warning), ("Ratio", None)):
        shown = view.document().find(word).charFormat().foreground().color().name()
        assert (shown == THEME.warning) == (color is not None), word
    assert view.document().find("[1]").charFormat().isAnchor()


def test_a_citation_of_nothing_on_the_way_to_the_answer_is_marked(chat: Chat, wait_until: Wait):
    ask(chat, wait_until)
    chat.runner.say(TextDelta, text="I saw it [7] and [8, 1].")
    tool(chat, 1)
    chat.runner.say(TextDelta, text="It is large [1].")
    chat.runner.say(RunFinished, answer="It is large [1].", cited=[1], unknown=[7, 8])
    wait_until(lambda: chat.run.ended)
    first, last = chat.run.answers
    assert first.view.plain() == "I saw it [7: no such result] and [8: no such result, 1]."
    assert last.view.plain() == "It is large [1]."
    assert first.text == "I saw it [7] and [8, 1].", "what it wrote is kept"


def test_positions_code_and_strange_numbers_are_no_links(chat: Chat, wait_until: Wait):
    ask(chat, wait_until)
    tool(chat, 1, [finding("Heart")])
    view = answer(chat, wait_until, "At [1, 512] and [3]; `x[1]` is code.")
    for text in ("[1, 512]", "[3]", "x[1]"):
        assert not view.document().find(text).charFormat().isAnchor(), text


def test_a_result_of_an_earlier_question_is_found(chat: Chat, wait_until: Wait):
    heart = finding("Heart")
    ask(chat, wait_until)
    tool(chat, 1, [heart])
    answer(chat, wait_until, "It is large [1].", 1)
    ask(chat, wait_until, "Are you sure?")
    view = answer(chat, wait_until, "Yes, as I said [1].", 1)
    click_link(view, wait_until, "[1]")
    assert chat.workspace.annotations.selected == heart.id
    assert focused_in(card(chat, 1))


def test_links_are_there_while_the_answer_is_written(chat: Chat, wait_until: Wait):
    heart = finding("Heart")
    ask(chat, wait_until)
    tool(chat, 1, [heart])
    chat.runner.say(TextDelta, text="It is large [1].\nAnd")
    wait_until(lambda: chat.run.answers and chat.run.answers[0].text.endswith("And"))
    assert chat.run.answers[0].view.document().find("[1]").charFormat().isAnchor()
    chat.runner.finish("It is large [1].\nAnd")
    wait_until(lambda: chat.run.ended)


def test_a_reopened_conversation_keeps_its_citations(chat: Chat, wait_until: Wait):
    call = {"call_id": "c1", "tool": "chest_xray_classifier"}
    done = {**call, "status": "ok", "summary": "A result.", "evidence": 1}
    said = "It is large [1]. A mass is there [7]."
    thread_id = recorded(
        chat,
        "q",
        (ToolStarted, {**call, "arguments": {}}),
        (ToolFinished, done),
        (TextDelta, {"text": said}),
        (RunFinished, {"answer": said.replace("7", "7: no such result"), "cited": [1]}),
    )
    chat.dock.open_thread(thread_id)
    wait_until(lambda: chat.dock.conversation.runs and chat.run.ended)
    view = chat.run.answers[-1].view
    assert view.plain() == "It is large [1]. A mass is there [7: no such result]."
    click_link(view, wait_until, "[1]")
    assert focused_in(card(chat, 1))
