"""Findings are accepted, edited and rejected by keys and mouse, from the canvas and the list."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel, QMenu

from app.imaging.findings import Box, Finding, Mask, State
from app.views.canvas.annotation_layer import AnnotationLayer
from app.views.main_window import MainWindow
from app.views.settings.settings_dialog import AppearancePage
from app.workspace import drawing, review
from app.workspace.workspace import Workspace
from tests.gui.viewer_support import (
    FakeDecoder,
    WaitUntil,
    activate,
    finding,
    found,
    frame,
    instance,
    study,
)

pytestmark = pytest.mark.gui
LEFT = Qt.MouseButton.LeftButton
PLACE = Box(20.5, 10.5, 60.5, 40.5)


class Room:
    """A window with an image, on which a tool has found a box and a mask in one call."""

    def __init__(self, folder: Path, wait_until: WaitUntil) -> None:
        self.decoder = FakeDecoder()
        self.window = MainWindow(
            Workspace(), self.decoder, QLabel("chat"), layout_file=folder / "window.ini"
        )
        self.window.resize(1300, 800)
        self.window.show()
        self.wait = wait_until
        self.decoder.frames[("1.1", 0)] = frame()
        self.window.workspace.add(found(study(instance())))
        self.settle()
        activate(self.window, wait_until)
        pixels = np.zeros((80, 100), np.bool_)
        pixels[50:70, 70:90] = True
        ref = frame().ref
        self.box = finding(ref, PLACE, "Nodule", score=0.8)
        self.mask = finding(ref, Mask(pixels), "Heart")
        self.annotations = self.window.workspace.annotations
        self.annotations.reviewer = "Dr Roe"
        self.annotations.add([self.box, self.mask])
        self.settle()

    def settle(self) -> None:
        self.wait(lambda: not self.window.busy and not self.window.background.pending)
        self.wait(lambda: self.layer.ready)

    @property
    def layer(self) -> AnnotationLayer:
        return self.window.canvas.findings_layer

    def key(self, key: Qt.Key, modifiers: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier):
        QTest.keyClick(QApplication.focusWidget() or self.window.canvas, key, modifiers)
        self.settle()

    def click(self, x: float, y: float) -> None:
        point = self.window.canvas.to_widget(x, y).toPoint()
        QTest.mouseClick(self.window.canvas.viewport(), LEFT, pos=point)
        self.settle()

    def now(self, one: Finding) -> Finding:
        item = self.annotations.get(one.id)
        assert item is not None
        return item.finding

    def states(self) -> list[State]:
        return [item.finding.state for item in self.annotations.all()]

    def style(self, one: Finding):
        return next(item.style for item in self.layer.items if item.finding.id == one.id)


@pytest.fixture
def room(qapp: QApplication, wait_until: WaitUntil, tmp_path: Path) -> Iterator[Room]:
    made = Room(tmp_path, wait_until)
    made.window.canvas.setFocus()
    yield made
    made.window.quit()


def test_keys_accept_and_reject_what_was_clicked_on_the_image(room: Room):
    corners = room.window.canvas.overlay.corners
    assert "AI results: not for diagnosis" in corners.warning
    room.click(20.5, 25)
    assert room.annotations.selected == room.box.id
    room.key(Qt.Key.Key_A)
    accepted = room.now(room.box)
    assert (accepted.state, accepted.reviewer) == (State.ACCEPTED, "Dr Roe")
    assert room.now(room.mask).state is State.PROPOSED
    assert "AI results: not for diagnosis" in room.window.canvas.overlay.corners.warning
    room.key(Qt.Key.Key_R)
    assert room.now(room.box).state is State.REJECTED
    room.key(Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
    assert room.now(room.box) == accepted
    room.click(80, 60)
    room.key(Qt.Key.Key_A)
    assert room.states() == [State.ACCEPTED, State.ACCEPTED]
    assert room.window.canvas.overlay.corners.warning == ()


def test_without_a_selected_finding_the_keys_do_nothing(room: Room):
    shown = room.window.workspace.viewport.display
    for key in (Qt.Key.Key_A, Qt.Key.Key_R):
        room.key(key)
    assert room.states() == [State.PROPOSED] * 2
    assert room.window.workspace.viewport.display == shown


def test_the_keys_work_in_the_list_and_a_row_says_its_state(room: Room):
    panel = room.window.findings_list
    index = panel.model.index_of(room.box.id)
    QTest.mouseClick(panel.view.viewport(), LEFT, pos=panel.view.visualRect(index).center())
    panel.view.setFocus()
    accessible = Qt.ItemDataRole.AccessibleTextRole
    assert index.data(accessible) == "Nodule, score 0.80, proposed"
    room.key(Qt.Key.Key_R)
    room.wait(
        lambda: panel.model.index_of(room.box.id).data(accessible) == "Nodule, score 0.80, rejected"
    )
    tip = panel.model.index_of(room.box.id).data(Qt.ItemDataRole.ToolTipRole)
    assert "Rejected by Dr Roe on 20" in tip
    assert " UTC" in tip


def test_e_takes_the_brush_for_a_mask_and_a_stroke_edits_it(room: Room):
    room.click(80, 60)
    room.key(Qt.Key.Key_E)
    assert room.window.canvas.drawing_tool.tool == drawing.BRUSH
    room.click(66, 60)
    edited = room.now(room.mask)
    assert edited.state is State.EDITED
    assert edited.original == room.mask
    room.annotations.select(room.box.id)
    room.key(Qt.Key.Key_E)
    assert room.window.canvas.drawing_tool.tool == ""
    assert room.style(room.box).handles


def test_the_original_is_drawn_beside_the_edited_one_and_restored(room: Room):
    moved = drawing.move_point(room.box, frame(), 0, (30, 20))
    room.annotations.put(moved, "Change nodule")
    room.annotations.select(room.box.id)
    menu = room.window.actions_.review
    menu.originals.trigger()
    (beside,) = room.layer.originals
    assert beside.finding == room.box
    assert beside.style.original
    assert beside.pen(beside.style).style() == Qt.PenStyle.CustomDashLine
    assert beside.pen(beside.style).color().alpha() < 255
    assert beside.finding not in room.layer.findings
    room.window.actions_.mark_menu.lock.trigger()
    menu.restore.trigger()
    assert room.now(room.box).state is State.EDITED  # it is locked
    room.window.actions_.mark_menu.lock.trigger()
    menu.restore.trigger()
    assert room.now(room.box) == room.box
    assert room.layer.originals == ()
    assert not menu.restore.isEnabled()


def test_lines_and_names_on_the_image_say_the_state(room: Room):
    def seen() -> tuple[Qt.PenStyle, float, str]:
        item = next(one for one in room.layer.items if one.finding.id == room.box.id)
        chip = next(one for one in room.layer.chips() if one.id == room.box.id)
        return item.pen(item.style).style(), item.pen(item.style).widthF(), chip.text + chip.ending

    dashed, solid = Qt.PenStyle.CustomDashLine, Qt.PenStyle.SolidLine
    assert seen() == (dashed, 1.8, "Nodule · proposed")
    room.annotations.decide([room.box.id], State.ACCEPTED)
    assert seen() == (solid, 1.8, "Nodule · accepted")
    room.annotations.decide([room.box.id], State.REJECTED)
    assert seen() == (dashed, 1.0, "Nodule · rejected")
    room.window.actions_.review.rejected.trigger()
    assert [one.label for one in room.layer.findings] == ["Heart"]
    room.window.actions_.review.rejected.trigger()
    room.annotations.put(drawing.move_point(room.now(room.box), frame(), 0, (30, 20)), "Change")
    assert seen() == (solid, 1.8, "Nodule · edited")


def test_keys_accept_and_reject_all_that_a_call_found(room: Room):
    both = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier
    room.click(20.5, 25)
    room.key(Qt.Key.Key_R, both)
    assert room.states() == [State.REJECTED, State.REJECTED]
    room.window.workspace.commands.undo()
    assert room.states() == [State.PROPOSED, State.PROPOSED]
    room.key(Qt.Key.Key_A, both)
    assert room.states() == [State.ACCEPTED, State.ACCEPTED]


def test_a_key_hides_and_shows_the_chosen_mark(room: Room):
    both = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier
    room.click(20.5, 25)
    room.key(Qt.Key.Key_H, both)
    assert [one.label for one in room.layer.findings] == ["Heart"]
    room.window.workspace.commands.undo()
    assert sorted(one.label for one in room.layer.findings) == ["Heart", "Nodule"]


def test_a_call_is_accepted_at_once_from_the_menu_and_from_the_heading(room: Room):
    room.annotations.decide([room.mask.id], State.REJECTED)
    room.click(20.5, 25)
    room.window.actions_.review.accept_call.trigger()
    assert room.states() == [State.ACCEPTED, State.REJECTED]  # what was decided stays
    room.window.workspace.commands.undo()
    panel = room.window.findings_list
    heading = panel.view.visualRect(panel.model.index(1)).center()
    panel.view.customContextMenuRequested.emit(heading)
    menu = shown_menu(room)
    texts = [action.text() for action in menu.actions() if action.isEnabled()]
    assert texts == [
        "Accept all of this result",
        "Reject all of this result",
        "Set all back to proposed",
    ]
    QTest.keyClick(menu, Qt.Key.Key_Down)
    QTest.keyClick(menu, Qt.Key.Key_Down)
    QTest.keyClick(menu, Qt.Key.Key_Return)
    assert room.states() == [State.REJECTED] * 2
    room.window.workspace.commands.undo()
    assert room.states() == [State.PROPOSED, State.REJECTED]


def shown_menu(room: Room) -> QMenu:
    menu: list[QMenu] = []

    def there() -> bool:
        widget = QApplication.activePopupWidget()
        menu[:] = [widget] if isinstance(widget, QMenu) else []
        return bool(menu)

    room.wait(there)
    return menu[0]


def test_a_result_found_again_is_told(room: Room):
    room.annotations.decide([room.box.id], State.REJECTED)
    told: list[Any] = []
    show: Callable[..., object] = room.window.notices.show_notice

    def hear(*texts: Any, **more: object) -> object:
        told.extend(texts)
        return show(*texts, **more)

    room.window.notices.show_notice = hear  # pyright: ignore[reportAttributeAccessIssue]
    room.annotations.add([finding(frame().ref, PLACE, "Nodule", score=0.8, id="again")])
    assert "Nodule (rejected)" in told[2]
    assert room.annotations.get("again") is None


def test_the_name_for_reports_is_a_setting(qapp: QApplication):
    page = AppearancePage("dark", "Dr Roe")
    page.reviewer.clear()
    QTest.keyClicks(page.reviewer, "Dr Who")
    assert page.reviewer.text() == "Dr Who"
    assert page.reviewer.placeholderText() == review.login()
    page.deleteLater()
