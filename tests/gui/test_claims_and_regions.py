"""Answers point at pixels: a click, a hover, and back from a region to its claims, by mouse."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QTextCursor
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QMenu, QPushButton

from app.agent.answers.items import items_of
from app.agent.events import RunFinished, RunStarted, TextDelta, ToolFinished, ToolStarted
from app.agent.messages import Message
from app.imaging.findings import Box, Finding, Mask, Provenance, State
from app.imaging.types import ImageRef, ScanResult, Series, Study
from app.views.chat.message import Notice
from app.views.chat.threads import BATCH
from app.views.main_window import MainWindow
from app.views.text_view import TextView
from app.workspace.studies import key_of
from tests.gui.chat_support import Chat, make_chat
from tests.gui.test_chat_links import click_link
from tests.gui.test_chat_threads import add_answer, add_run
from tests.gui.viewer_support import FakeDecoder, activate, instance

pytestmark = pytest.mark.gui

Wait = Callable[..., None]
LEFT = Qt.MouseButton.LeftButton
WEIGHTS = "5e" * 32


class Desk:
    """A window with a scan and its prior beside each other, and a chat with a scripted runner."""

    def __init__(self, folder: Path, wait_until: Wait) -> None:
        self.wait_until = wait_until
        decoder = FakeDecoder()
        series = [
            Series(f"s.{name}", name, "CT", number, tuple(instance(f"{name}{n}") for n in range(4)))
            for number, name in enumerate(("now", "before"), 1)
        ]
        study = Study("s", "CT head", "Doe^Jane", "4711", "20240131", tuple(series))
        self.chat: Chat = make_chat(folder / "sessions")
        self.window = MainWindow(
            self.chat.workspace, decoder, self.chat.dock, layout_file=folder / "window.ini"
        )
        self.window.resize(1500, 900)
        self.window.show()
        self.workspace = self.chat.workspace
        self.workspace.add(ScanResult((study,), ()))
        self.window.actions_.layout_menu.choices["1x2"].trigger()
        self.workspace.layout.viewports[0].show(series[0].instances[0])
        self.workspace.layout.viewports[1].show(series[1].instances[0])
        self.settle()
        activate(self.window, wait_until)

    def settle(self) -> None:
        self.wait_until(lambda: all(f.canvas.picture is not None for f in self.frames[:2]))

    @property
    def frames(self) -> list:
        return list(self.window.viewports.frames)

    @property
    def shown(self) -> list[str]:
        views = self.workspace.layout.viewports
        return [one.instance.sop_instance_uid if one.instance else "" for one in views]

    def answer(self, text: str, *findings: Finding) -> TextView:
        """A run whose result 1 has these findings, and whose answer is `text`."""
        chat = self.chat
        chat.dock.submit("q")
        self.wait_until(lambda: chat.runner.asked)
        output = {"nodule_width_mm": 12.0}
        chat.runner.say(
            ToolStarted, call_id="call", tool="finder", arguments={"image_path": "image-7"}
        )
        chat.runner.say(
            ToolFinished,
            call_id="call",
            tool="finder",
            status="ok",
            summary="Found.",
            output=output,
            findings=list(findings),
            items=items_of(findings, output),
            evidence=1,
        )
        chat.runner.say(TextDelta, text=text)
        chat.runner.say(RunFinished, answer=text, cited=[1])
        self.wait_until(lambda: chat.run.ended)
        column = chat.dock.conversation.viewport()
        view = chat.run.answers[-1].view
        self.wait_until(lambda: view.width() > column.width() - 60)
        return view


@pytest.fixture
def desk(qapp: object, tmp_path: Path, wait_until: Wait) -> Iterator[Desk]:
    made = Desk(tmp_path, wait_until)
    yield made
    made.window.quit()
    made.window.deleteLater()


def nodule(uid: str, label: str = "Nodule", box: tuple[int, int, int, int] = (60, 50, 72, 62)):
    made = Provenance("finder", "1.4", "net-1", WEIGHTS, "run-1", "call")
    shape = Box(*map(float, box))
    return Finding(f"{uid}-{label}", ImageRef(uid, 0, f"sha-{uid}-0"), shape, label, None, "", made)


def mask(uid: str) -> Finding:
    pixels = np.zeros((80, 100), bool)
    pixels[20:40, 10:40] = True
    return replace(nodule(uid, "Liver"), geometry=Mask(pixels))


def place_of(view: TextView, text: str) -> QPoint:
    found = view.document().find(text)
    assert not found.isNull(), text
    middle = QTextCursor(view.document())
    middle.setPosition((found.selectionStart() + found.selectionEnd()) // 2)
    return view.cursorRect(middle).center() + QPoint(1, 0)


def strong(desk: Desk) -> list[set[str]]:
    """The findings that each viewport draws highlighted."""
    layers = [one.canvas.findings_layer for one in desk.frames[:2]]
    return [{item.finding.id for item in layer.items if item.style.strong} for layer in layers]


def test_a_click_on_an_item_shows_viewport_frame_and_region(desk: Desk):
    here, there = nodule("now2"), nodule("before3")
    desk.workspace.annotations.add([here, there])
    view = desk.answer("The nodule is 12 mm wide [1.3]. It was there before [1.2].", here, there)
    desk.workspace.layout.activate(desk.workspace.layout.viewports[0])
    for one in desk.frames[:2]:
        one.canvas.set_zoom(20.0)  # then a fraction of the image is seen
        one.canvas.center_on(5, 5)
    click_link(view, desk.wait_until, "[1.2]")
    desk.settle()
    assert desk.shown == ["now0", "before3"], "the viewport of the finding's series, and its slice"
    assert desk.workspace.viewport is desk.workspace.layout.viewports[1]
    assert desk.workspace.annotations.selected == there.id
    canvas = desk.frames[1].canvas
    desk.wait_until(lambda: canvas.findings_layer.has(there.id))

    def off_centre() -> float:
        return (canvas.to_widget(66, 56) - canvas.rect().center().toPointF()).manhattanLength()

    desk.wait_until(lambda: off_centre() < 60)  # three of its pixels
    click_link(view, desk.wait_until, "[1.3]")  # a number without a finding: the tool's card
    assert desk.workspace.annotations.selected == there.id
    assert desk.chat.run.cards["call"].property("cited") is True


def test_a_name_in_a_sentence_leads_to_the_finding_of_what_the_sentence_cites(desk: Desk):
    here, there = nodule("now2"), nodule("before3")
    desk.workspace.annotations.add([here, there])
    view = desk.answer("Of two Nodules. A Nodule [1]. Now a Nodule was [1.2].", here, there)
    first = view.document().find("A Nodule")
    assert not first.charFormat().isAnchor(), "result 1 has one on either image"
    click_link(view, desk.wait_until, "Nodule was")
    desk.settle()
    assert desk.shown[1] == "before3"
    assert desk.workspace.annotations.selected == there.id
    only = desk.answer("The Nodule is small.", here)
    click_link(only, desk.wait_until, "Nodule")
    desk.settle()
    assert desk.shown[0] == "now2"
    assert desk.workspace.annotations.selected == here.id


def test_a_name_on_an_earlier_image_is_no_link_without_its_id(desk: Desk):
    here, there = nodule("now2"), nodule("before3")
    desk.workspace.annotations.add([here, there])
    text = (
        "The Nodule is small. On the earlier image the Nodule was smaller. So was a Nodule [1.2]."
    )
    view = desk.answer(text, here, there)
    assert linked(view, "Nodule is")
    assert not linked(view, "Nodule was")
    assert linked(view, "Nodule [")


def test_the_pointer_on_a_link_highlights_the_region_and_nothing_else(desk: Desk):
    here, liver = nodule("now0"), mask("now0")
    desk.workspace.annotations.add([here, liver])
    view = desk.answer("A nodule [1.1] beside the Liver.", here, liver)
    desk.wait_until(lambda: desk.frames[0].canvas.findings_layer.ready)
    before = desk.shown, desk.workspace.annotations.selected, desk.workspace.commands.undo_label
    QTest.mouseMove(view.viewport(), place_of(view, "beside"))
    QTest.mouseMove(view.viewport(), place_of(view, "[1.1]"))
    desk.wait_until(lambda: strong(desk)[0] == {here.id})
    QTest.mouseMove(view.viewport(), place_of(view, "Liver"))
    desk.wait_until(lambda: strong(desk)[0] == {liver.id})
    QTest.mouseMove(view.viewport(), place_of(view, "beside"))
    desk.wait_until(lambda: strong(desk)[0] == set())
    QTest.mouseMove(view.viewport(), place_of(view, "[1.1]"))
    desk.wait_until(lambda: strong(desk)[0] == {here.id})
    QTest.mouseMove(desk.chat.dock.header, QPoint(4, 4))
    desk.wait_until(lambda: strong(desk)[0] == set())
    now = desk.shown, desk.workspace.annotations.selected, desk.workspace.commands.undo_label
    assert now == before


def test_from_a_mask_one_gets_to_its_claims_and_to_its_tool(desk: Desk):
    here, liver = nodule("now0"), mask("now0")
    desk.workspace.annotations.add([here, liver])
    text = "There is a nodule [1.1].\n\nThe liver is large [1.2]. It may rain.\n\nThe Liver again."
    desk.answer(text, here, liver)
    canvas = desk.frames[0].canvas
    desk.wait_until(lambda: canvas.findings_layer.ready)
    at = canvas.to_widget(25, 20).toPoint()  # on the mask's outline
    QTest.mouseClick(canvas.viewport(), LEFT, pos=at)
    assert desk.workspace.annotations.selected == liver.id
    menu = claims(desk)
    texts = [action.text() for action in menu.actions() if not action.isSeparator()]
    assert texts[:2] == ["The Liver again.", "The liver is large [1.2]."]
    assert "There is a nodule" not in " ".join(texts)
    click(menu, 1)
    view = desk.chat.run.answers[-1].view
    assert view.textCursor().selectedText() == "The liver is large [1.2]."
    click(claims(desk), 2)
    card = desk.chat.run.cards["call"]
    details = card._details.view("Details")
    assert details is not None
    assert details.isVisible()
    for part in ("finder 1.4", '"image_path": "image-7"', "net-1", WEIGHTS):
        assert part in details.plain()


def test_a_mask_of_another_conversation_leads_to_its_call_there(desk: Desk):
    liver = mask("now0")
    stored = desk.chat.store.new_thread()
    begun = RunStarted(
        run_id="run-1", seq=1, time="", thread_id=stored.thread_id, question="q", model="offline"
    )
    stored.record(begun)
    stored.append(Message(role="user", text="How big is the liver?"))
    stored.log_call("call", "finder", {"image_path": "image-7"}, {"status": "ok"}, "", "")
    stored.close()
    desk.workspace.annotations.add([liver])
    desk.workspace.annotations.select(liver.id)
    menu = claims(desk)
    texts = [one.text() for one in menu.actions() if not one.isSeparator()]
    assert texts[0] == "No sentence that is shown cites it"
    click(menu, 1)
    notice = only_notice(desk)
    for part in ("finder 1.4", '"image_path": "image-7"', "net-1", WEIGHTS, "isn't open"):
        assert part in notice.view.plain()
    [button] = notice.findChildren(QPushButton)
    QTest.mouseClick(button, LEFT)
    threads = desk.chat.dock
    desk.wait_until(lambda: threads.thread and threads.thread.thread_id == stored.thread_id)


def test_a_mask_whose_conversation_was_deleted_still_tells_tool_model_and_weights(desk: Desk):
    liver = mask("now0")
    desk.workspace.annotations.add([liver])
    desk.workspace.annotations.select(liver.id)
    click(claims(desk), 1)
    told = only_notice(desk).view.plain()
    for part in ("finder 1.4", "net-1", WEIGHTS, "isn't kept"):
        assert part in told


def only_notice(desk: Desk) -> Notice:
    desk.wait_until(lambda: desk.chat.dock.findChildren(Notice))
    [notice] = desk.chat.dock.findChildren(Notice)
    return notice


def claims(desk: Desk) -> QMenu:
    """Press the key of the command, and return the menu that opens."""
    activate(desk.window, desk.wait_until)
    QTest.keyClick(desk.window, Qt.Key.Key_J)
    title = "Claims about this"
    menus = [one for one in desk.window.findChildren(QMenu) if one.title() == title]
    desk.wait_until(lambda: menus[-1].isVisible())
    return menus[-1]


def click(menu: QMenu, place: int) -> None:
    action = [one for one in menu.actions() if not one.isSeparator()][place]
    QTest.mouseClick(menu, LEFT, pos=menu.actionGeometry(action).center())


def linked(view: TextView, text: str) -> str:
    """What the link at a text leads to; "" for no link."""
    found = view.document().find(text)
    assert not found.isNull(), text
    first = QTextCursor(view.document())
    first.setPosition(found.selectionStart() + 1)  # the format is that of the sign before
    return first.charFormat().anchorHref()


def press_delete(desk: Desk, finding: Finding) -> None:
    desk.workspace.annotations.select(finding.id)
    activate(desk.window, desk.wait_until)
    desk.frames[0].canvas.setFocus()
    QTest.keyClick(desk.frames[0].canvas, Qt.Key.Key_Delete)
    desk.wait_until(lambda: desk.workspace.annotations.get(finding.id) is None)


def test_a_link_to_a_deleted_finding_leads_to_no_other_one_of_its_name(desk: Desk):
    one, two = nodule("now0"), replace(nodule("now0", box=(5, 5, 15, 15)), id="two")
    desk.workspace.annotations.add([one, two])
    view = desk.answer("A nodule [1.1] and a nodule [1.2].", one, two)
    press_delete(desk, one)
    click_link(view, desk.wait_until, "[1.1]")
    assert desk.workspace.annotations.selected == ""
    assert desk.chat.run.cards["call"].property("cited") is True, "the tool's card instead"
    QTest.mouseMove(view.viewport(), place_of(view, "and a"))
    QTest.mouseMove(view.viewport(), place_of(view, "[1.1]"))
    assert strong(desk) == [set(), set()]
    click_link(view, desk.wait_until, "[1.2]")
    assert desk.workspace.annotations.selected == "two"


def test_a_finding_that_its_tool_makes_anew_takes_over_the_links(desk: Desk):
    one = nodule("now2")
    desk.workspace.annotations.add([one])
    view = desk.answer("A nodule [1.1].", one)
    again = replace(one, id="again", provenance=replace(one.provenance, run_id="run-2"))
    desk.workspace.annotations.add([again])
    assert desk.workspace.annotations.get(one.id) is None
    click_link(view, desk.wait_until, "[1.1]")
    assert desk.workspace.annotations.selected == "again"


@pytest.mark.parametrize("state", [State.REJECTED, State.ACCEPTED])
def test_a_hidden_or_judged_finding_is_shown_by_its_link(desk: Desk, state: State):
    one = nodule("now2")
    desk.workspace.annotations.add([one])
    view = desk.answer("A nodule [1.1].", one)
    desk.workspace.annotations.decide([one.id], state)
    desk.workspace.annotations.set_visible([one.id], False)
    click_link(view, desk.wait_until, "[1.1]")
    desk.settle()
    assert desk.shown[0] == "now2"
    item = desk.workspace.annotations.get(one.id)
    assert item is not None
    assert (item.visible, item.finding.state) == (True, state)
    assert desk.workspace.annotations.selected == one.id


def test_a_link_to_a_closed_image_says_so_and_shows_no_other(desk: Desk):
    other = Series("o.1", "other", "CT", 1, (instance("other0"),))
    study = Study("o", "CT chest", "Roe^Richard", "1", "20230101", (other,))
    desk.workspace.add(ScanResult((study,), ()))
    one = nodule("other0")
    desk.workspace.annotations.add([one])
    view = desk.answer("A nodule [1.1].", one)
    desk.workspace.close_study(key_of(study))
    before = desk.shown
    click_link(view, desk.wait_until, "[1.1]")
    assert desk.shown == before
    titles = [notice.title.text() for notice in desk.window.notices.all()]
    assert "The image of this finding is closed" in titles
    drawn = [
        [item.finding.id for item in one.canvas.findings_layer.items] for one in desk.frames[:2]
    ]
    assert drawn == [[], []]


@pytest.mark.parametrize("layout", ["1x1", "1x2", "2x2"])
def test_a_link_leads_to_the_image_of_its_finding_in_any_layout(desk: Desk, layout: str):
    other = Series("o.1", "other", "CT", 1, tuple(instance(f"other{n}") for n in range(4)))
    study = Study("o", "CT chest", "Roe^Richard", "1", "20230101", (other,))
    desk.workspace.add(ScanResult((study,), ()))
    desk.window.actions_.layout_menu.choices[layout].trigger()
    views = list(desk.workspace.layout.viewports)
    views[0].show(desk.workspace.studies.all[0].series[0].instances[0])  # the new study was shown
    if len(views) > 2:
        views[2].show(other.instances[0])
    desk.workspace.layout.activate(views[0])
    here, earlier, there = nodule("now3"), nodule("before1"), nodule("other2")
    desk.workspace.annotations.add([here, earlier, there])
    view = desk.answer("Now [1.1], before [1.2], and elsewhere [1.3].", here, earlier, there)
    for text, finding in (("[1.3]", there), ("[1.2]", earlier), ("[1.1]", here), ("[1.3]", there)):
        click_link(view, desk.wait_until, text)
        uid = finding.image.sop_instance_uid
        assert desk.workspace.viewport.instance is not None
        assert desk.workspace.viewport.instance.sop_instance_uid == uid
        assert desk.workspace.annotations.selected == finding.id
        active = next(f for f in desk.frames if f.canvas.model is desk.workspace.viewport)
        desk.wait_until(lambda f=active, key=finding.id: f.canvas.findings_layer.has(key))
        for frame in desk.frames:  # each viewport draws the findings of its own image only
            shown, items = frame.canvas.model.instance, frame.canvas.findings_layer.items
            drawn = {item.finding.image.sop_instance_uid for item in items}
            assert drawn <= {shown.sop_instance_uid if shown else ""}
    if layout == "2x2":
        assert desk.shown == ["now3", "before1", "other2", ""]


def test_no_name_in_a_compound_or_in_the_list_of_what_was_not_looked_for_is_a_link(desk: Desk):
    heart = replace(nodule("now0"), label="Herz")
    desk.workspace.annotations.add([heart])
    text = (
        "Der Herz-Thorax-Quotient ist groß, das Herz auch.\n\n"
        "**Wonach nicht gesucht wurde**\n- Herz-Stents: nirgends.\n- Das Herz selbst.\n\n"
        "Das Herz wieder."
    )
    view = desk.answer(text, heart)
    assert linked(view, "Herz-Thorax") == ""
    assert linked(view, "Herz auch")
    assert linked(view, "Herz-Stents") == ""
    assert linked(view, "Herz selbst") == ""
    assert linked(view, "Herz wieder")


def test_a_sentence_over_two_lines_is_linked_by_what_it_cites(desk: Desk):
    here, there = nodule("now2"), nodule("before3")
    desk.workspace.annotations.add([here, there])
    text = "On the earlier image there is a small round Nodule\nin the middle of the picture [1.2]."
    view = desk.answer(text, here, there)
    click_link(view, desk.wait_until, "Nodule")
    assert desk.workspace.annotations.selected == there.id


def test_an_item_of_a_run_that_is_not_shown_is_found_by_its_link(desk: Desk):
    one = nodule("now2")
    desk.workspace.annotations.add([one])
    thread = desk.chat.store.new_thread()
    call = {"call_id": "call", "tool": "finder"}
    done = {"status": "ok", "summary": "Found.", "findings": [one], "evidence": 1}
    done |= {"items": items_of([one], {}), "output": {}}
    add_run(
        thread,
        "run-1",
        "q",
        (ToolStarted, call | {"arguments": {}}),
        (ToolFinished, call | done),
        (RunFinished, {"answer": "Found."}),
    )
    for number in range(BATCH + 5):
        add_answer(thread, f"r{number}", "q", "a")
    text = "As said, there is a Nodule [1.1]."
    said = (TextDelta, {"text": text})
    add_run(thread, "last", "q", said, (RunFinished, {"answer": text, "cited": [1]}))
    desk.chat.dock.open_thread(thread.thread_id)
    conversation = desk.chat.dock.conversation
    desk.wait_until(lambda: len(conversation.runs) == BATCH)
    desk.wait_until(desk.chat.dock.is_idle)
    view = conversation.runs[-1].answers[-1].view
    desk.wait_until(lambda: view.width() > conversation.viewport().width() - 60)
    assert not linked(view, "Nodule"), "what it is of is not known yet"
    click_link(view, desk.wait_until, "[1.1]")
    desk.wait_until(lambda: desk.workspace.annotations.selected == one.id)
    assert desk.shown[0] == "now2"
