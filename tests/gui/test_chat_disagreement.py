"""Tools that disagree: a card with each side, its result's number, and what shows it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from app.agent.answers.items import items_of
from app.agent.events import RunFinished, Side, TextDelta, ToolFinished, ToolsDisagree, ToolStarted
from app.views.chat.widgets import WrappedText
from tests.gui.chat_support import Chat, ask, finding, open_image, opened

pytestmark = pytest.mark.gui

Wait = Callable[..., None]
LEFT = Qt.MouseButton.LeftButton


@pytest.fixture
def chat(qapp: object, tmp_path: Path) -> Iterator[Chat]:
    yield from opened(tmp_path / "sessions")


def test_each_side_leads_to_its_result_and_to_its_finding(chat: Chat, wait_until: Wait):
    open_image(chat.workspace)
    effusion, mass, box = finding("Effusion"), finding("Mass"), finding("pleural effusion")
    ask(chat, wait_until)
    calls = (
        (1, "chest_xray_classifier", [mass, effusion], {"Effusion": 0.9}),
        (2, "xray_phrase_grounding", [box], {}),
        (3, "chest_xray_report_generator", [], {}),
    )
    for number, tool, findings, output in calls:
        call_id = f"c{number}"
        chat.runner.say(ToolStarted, call_id=call_id, tool=tool, arguments={})
        ended = {"call_id": call_id, "tool": tool, "status": "ok", "summary": "A result."}
        items = items_of(findings, output)
        chat.runner.say(
            ToolFinished, **ended, findings=findings, evidence=number, items=items, output=output
        )
    said = "chest_xray_classifier says yes (score 0.90, above the operating point 0.5)"
    sides = [
        Side(tool="chest_xray_classifier", says=said, evidence=1, items=["1.2", "1.3"]),
        Side(tool="xray_phrase_grounding", says="xray_phrase_grounding says yes", evidence=2),
        Side(
            tool="chest_xray_report_generator",
            says="chest_xray_report_generator says no (“No effusion.”)",
            evidence=3,
        ),
    ]
    found = ToolsDisagree(about="pleural effusion", sides=sides)
    chat.runner.say(TextDelta, text="Look.")
    chat.runner.say(RunFinished, answer="Look.", cited=[1, 2, 3], disagreements=[found])
    wait_until(lambda: chat.run.ended)
    (card,) = chat.run.disagreements
    assert card.accessibleName() == "The tools disagree on pleural effusion"
    assert [button.text() for button in card.citations] == ["[1]", "[2]", "[3]"]
    assert [chip.finding.id for chip in card.chips] == [effusion.id, box.id]
    wait_until(card.chips[0].isVisible)
    QTest.mouseClick(card.chips[0], LEFT)
    assert chat.workspace.annotations.selected == effusion.id
    QTest.mouseClick(card.chips[1], LEFT)
    assert chat.workspace.annotations.selected == box.id
    report = chat.run.cards["c3"]
    QTest.mouseClick(card.citations[2], LEFT)
    assert report.property("cited") is True


def test_a_side_never_shows_another_finding_and_who_cannot_decide_is_listed(
    chat: Chat, wait_until: Wait
):
    """The classifier drew a map of Mass only; the ratio's widths are what its side rests on."""
    open_image(chat.workspace)
    mass, width = finding("Mass"), finding("Heart width")
    ask(chat, wait_until)
    for number, tool, findings, output in (
        (1, "chest_xray_classifier", [mass], {"Cardiomegaly": 0.9}),
        (2, "cardiothoracic_ratio", [width], {"ratio": 0.41}),
        (3, "llava_med_qa", [], {"answer": "The heart is normal."}),
    ):
        call_id = f"c{number}"
        chat.runner.say(ToolStarted, call_id=call_id, tool=tool, arguments={})
        ended = {"call_id": call_id, "tool": tool, "status": "ok", "summary": "A result."}
        items = items_of(findings, output)
        chat.runner.say(
            ToolFinished, **ended, findings=findings, evidence=number, items=items, output=output
        )
    sides = [
        Side(tool="chest_xray_classifier", says="chest_xray_classifier says yes (score 0.90)",
             evidence=1, items=["1.2"]),
        Side(tool="llava_med_qa", says="llava_med_qa says no (“The heart is normal.”)", evidence=3),
        Side(tool="cardiothoracic_ratio", evidence=2,
             says="cardiothoracic_ratio cannot decide (0.41, not reliable on this film)"),
    ]  # fmt: skip
    found = ToolsDisagree(about="an enlarged heart", sides=sides)
    chat.runner.say(TextDelta, text="Look.")
    chat.runner.say(RunFinished, answer="Look.", cited=[1, 2, 3], disagreements=[found])
    wait_until(lambda: chat.run.ended)
    (card,) = chat.run.disagreements
    assert [button.text() for button in card.citations] == ["[1]", "[3]", "[2]"]
    assert [chip.finding.id for chip in card.chips] == [width.id]
    told = " ".join(one.full for one in card.findChildren(WrappedText))
    assert "cannot decide (0.41, not reliable on this film)" in told
    wait_until(card.chips[0].isVisible)
    QTest.mouseClick(card.chips[0], LEFT)
    assert chat.workspace.annotations.selected == width.id


def test_where_tools_agree_there_is_no_card(chat: Chat, wait_until: Wait):
    ask(chat, wait_until)
    chat.runner.finish("All agree.")
    wait_until(lambda: chat.run.ended)
    assert chat.run.disagreements == []
