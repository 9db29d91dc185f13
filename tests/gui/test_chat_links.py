"""Findings and the chat point at each other: chips, sentences and the canvas's selection."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QGuiApplication, QTextCursor
from PySide6.QtTest import QTest

from app.agent.events import TextDelta, ToolFinished, ToolStarted
from app.imaging.findings import Finding
from app.views.chat.finding_links import FindingChip
from app.views.text_view import TextView
from app.views.theme import THEME
from tests.gui.chat_support import Chat, finding, open_image, opened

pytestmark = pytest.mark.gui

Wait = Callable[..., None]
LEFT = Qt.MouseButton.LeftButton


@pytest.fixture
def chat(qapp: object, tmp_path: Path) -> Iterator[Chat]:
    yield from opened(tmp_path / "sessions")


def run_with(
    chat: Chat, wait_until: Wait, findings: list[Finding], answer: str
) -> list[FindingChip]:
    """A run whose one call brings `findings`; its chips."""
    chat.dock.submit("q")
    wait_until(lambda: chat.runner.asked)
    chat.runner.say(ToolStarted, call_id="c1", tool="t", arguments={})
    chat.runner.say(
        ToolFinished, call_id="c1", tool="t", status="ok", summary="", findings=findings
    )
    chat.runner.say(TextDelta, text=answer)
    chat.runner.finish(answer)
    wait_until(lambda: chat.run.ended)
    column = chat.dock.conversation.viewport()
    wait_until(lambda: chat.run.answers[-1].view.width() > column.width() - 60)  # laid out
    return chat.run.cards["c1"].chips


def click_link(view: TextView, wait_until: Wait, text: str) -> None:
    """Click the word where it stands, once the answer has grown to its text."""
    found = view.document().find(text)
    assert not found.isNull(), f"no {text!r} in the answer"
    middle = QTextCursor(view.document())
    middle.setPosition((found.selectionStart() + found.selectionEnd()) // 2)

    def place() -> QPoint:
        return view.cursorRect(middle).center() + QPoint(1, 0)

    wait_until(lambda: view.viewport().rect().contains(place()))
    QTest.mouseClick(view.viewport(), LEFT, pos=place())


def test_a_chip_selects_its_finding_and_a_second_click_nothing(chat: Chat, wait_until: Wait):
    lung, heart = finding("Right Lung"), finding("Heart")
    chips = run_with(chat, wait_until, [lung, heart], "Both are there.")
    assert [chip.text() for chip in chips] == ["Right Lung", "Heart"]
    QTest.mouseClick(chips[1], LEFT)
    assert chat.workspace.annotations.selected == heart.id
    assert [chip.isChecked() for chip in chips] == [False, True]
    QTest.mouseClick(chips[1], LEFT)
    assert chat.workspace.annotations.selected == ""
    assert not chips[1].isChecked()


def test_a_selection_on_the_canvas_lights_up_the_chip(chat: Chat, wait_until: Wait):
    lung, heart = finding("Right Lung"), finding("Heart")
    chips = run_with(chat, wait_until, [lung, heart], "Both are there.")
    chat.workspace.annotations.select(lung.id)
    assert [chip.isChecked() for chip in chips] == [True, False]
    chat.workspace.annotations.select("")
    assert [chip.isChecked() for chip in chips] == [False, False]


def test_chips_have_the_colours_of_the_canvas(chat: Chat, wait_until: Wait):
    chips = run_with(chat, wait_until, [finding("Right Lung"), finding("Heart")], "x")
    dots = [chip.icon().pixmap(8, 8).toImage().pixelColor(4, 4).name() for chip in chips]
    assert dots == [THEME.annotation[0], THEME.annotation[2]]


def test_the_sentence_that_names_a_finding_leads_to_it(chat: Chat, wait_until: Wait):
    width = finding("Heart width", value=843, units="px")
    lung = finding("Right Lung")
    run_with(chat, wait_until, [width, lung], "The right lung is clear.\n- **Heart width**: 843 px")
    view = chat.run.answers[0].view
    click_link(view, wait_until, "right lung")
    assert chat.workspace.annotations.selected == lung.id
    click_link(view, wait_until, "Heart width")
    assert chat.workspace.annotations.selected == width.id


def test_a_word_that_only_contains_a_label_is_no_link(chat: Chat, wait_until: Wait):
    heart = finding("Heart")
    run_with(chat, wait_until, [heart], "The Hearth burns and `Heart` is code.")
    view = chat.run.answers[0].view
    click_link(view, wait_until, "Hearth")
    click_link(view, wait_until, "Heart is")
    assert chat.workspace.annotations.selected == ""


def test_a_link_leads_to_the_image_that_holds_the_finding(chat: Chat, wait_until: Wait):
    image = open_image(chat.workspace)
    chips = run_with(chat, wait_until, [finding("Heart")], "x")
    chat.workspace.viewport.show(None)
    QTest.mouseClick(chips[0], LEFT)
    assert chat.workspace.viewport.instance is image


def test_an_answer_about_one_image_has_no_link_to_a_finding_on_another(
    chat: Chat, wait_until: Wait
):
    earlier = finding("Effusion")  # somebody else's
    chat.workspace.annotations.add([earlier])
    other = replace(open_image(chat.workspace), sop_instance_uid="9.9")
    chat.workspace.viewport.show(other)
    run_with(chat, wait_until, [], "Effusion 0.64")
    click_link(chat.run.answers[0].view, wait_until, "Effusion")
    assert chat.workspace.annotations.selected == ""
    assert chat.workspace.viewport.instance is other


def test_an_answer_links_what_was_found_before_on_the_image_that_it_is_about(
    chat: Chat, wait_until: Wait
):
    earlier = finding("Effusion")
    chat.workspace.annotations.add([earlier])
    open_image(chat.workspace)
    run_with(chat, wait_until, [], "The Effusion is small.")
    click_link(chat.run.answers[0].view, wait_until, "Effusion")
    assert chat.workspace.annotations.selected == earlier.id


def test_of_two_findings_of_one_name_the_one_on_the_image_asked_about_is_linked(
    chat: Chat, wait_until: Wait
):
    open_image(chat.workspace)
    here = finding("Effusion")
    there = replace(finding("Effusion"), image=replace(here.image, sop_instance_uid="9.9"))
    run_with(chat, wait_until, [here, there], "The Effusion is small.")
    click_link(chat.run.answers[0].view, wait_until, "Effusion")
    assert chat.workspace.annotations.selected == here.id


def test_a_removed_finding_greys_its_chip_and_undo_brings_it_back(chat: Chat, wait_until: Wait):
    heart = finding("Heart")
    chips = run_with(chat, wait_until, [heart], "The Heart.")
    chat.workspace.annotations.remove([heart.id])
    assert not chips[0].isEnabled()
    chat.workspace.commands.undo()
    assert chips[0].isEnabled()


def test_after_the_tool_ran_again_old_links_lead_to_the_new_finding(chat: Chat, wait_until: Wait):
    old, new = finding("Heart"), finding("Heart", call_id="c2")
    chips = run_with(chat, wait_until, [old], "The Heart.")
    chat.workspace.annotations.add([new])
    assert chips[0].isEnabled()
    QTest.mouseClick(chips[0], LEFT)
    assert chat.workspace.annotations.selected == new.id
    assert chips[0].isChecked()


def test_a_closed_dock_listens_no_more(chat: Chat, wait_until: Wait):
    heart = finding("Heart")
    chips = run_with(chat, wait_until, [heart], "x")
    chat.dock.close_models()
    chat.dock.close_models()
    chat.workspace.annotations.select(heart.id)
    assert not chips[0].isChecked()


def test_a_name_is_a_link_only_while_its_finding_exists(chat: Chat, wait_until: Wait):
    lung, heart = finding("Right Lung"), finding("Heart")
    run_with(chat, wait_until, [lung, heart], "The Heart and the Right Lung.")
    view = chat.run.answers[-1].view

    def linked(text: str) -> bool:
        return view.document().find(text).charFormat().isAnchor()

    assert linked("Heart")
    assert linked("Right Lung")
    chat.workspace.annotations.remove([heart.id])
    assert not linked("Heart")
    assert linked("Right Lung")
    chat.workspace.commands.undo()
    assert linked("Heart")
    click_link(view, wait_until, "Heart")
    assert chat.workspace.annotations.selected == heart.id


def test_figures_of_an_outline_that_was_changed_are_outdated(chat: Chat, wait_until: Wait):
    lung, heart = finding("Right Lung"), finding("Heart")
    chips = run_with(chat, wait_until, [lung, heart], "The heart measures 12 cm.")
    view, card = chat.run.answers[-1], chat.run.cards["c1"]
    assert (view.outdated.text(), card.outdated.text()) == ("", "")
    changed = replace(heart, value=140.0, units="mm (patient)", original=heart)
    chat.workspace.annotations.put(changed, "Change heart")
    told = (
        "Outdated: an outline was changed by hand (Heart). Figures from it no longer hold; the "
        "findings list has those of now."
    )
    assert (view.outdated.text(), card.outdated.text()) == (told, told)
    assert not view.outdated.isHidden()
    assert [chip.text() for chip in chips] == ["Right Lung", "Heart ≈ 140 mm (patient)"]
    chat.workspace.commands.undo()
    assert (view.outdated.text(), card.outdated.text()) == ("", "")
    assert view.outdated.isHidden()


def test_a_table_is_copied_with_its_bars(chat: Chat, wait_until: Wait):
    text = "Areas:\n\n| Organ | cm² |\n| --- | --- |\n| Heart | 120 |"
    run_with(chat, wait_until, [finding("Heart")], text)
    chat.run.answers[-1].view.copy_all()
    assert QGuiApplication.clipboard().text() == text
