"""The findings list: filtered, renamed in place, and marks hidden as a step of undo."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLineEdit

from app.imaging.findings import Box, Code, Finding, Mask, Polyline, State
from app.views.browser.findings_list import FindingRow, GroupRow
from app.views.main_window import MainWindow
from app.workspace import drawing
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
CTRL_SHIFT = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier
SITE = Code("39607008", "SCT", "Lung")


@pytest.fixture
def listing(qapp: QApplication, wait_until: WaitUntil) -> Iterator[MainWindow]:
    """A window with a length and a box by hand, and three findings of tools on two images."""
    window = MainWindow(Workspace(), FakeDecoder())
    window.show()
    window.workspace.add(found(study(instance("1.1"), instance("1.2"))))
    wait_until(lambda: window.canvas.frame is not None and not window.busy)
    activate(window, wait_until)
    marks = window.workspace.annotations
    marks.put(drawing.draw(drawing.RULER, frame("1.1"), [(20, 40), (60, 40)]), "Measure")
    marks.put(drawing.draw(drawing.BOX, frame("1.2"), [(20, 40), (60, 60)]), "Mark")
    shape = np.zeros((80, 100), np.bool_)
    shape[10:20, 10:20] = True
    marks.add(
        [
            replace(finding(frame("1.1").ref, Mask(shape), "Area one"), site=SITE),
            finding(frame("1.1").ref, Box(1, 1, 9, 9), "Nodule"),
            finding(frame("1.2").ref, Polyline(((1, 1), (9, 9))), "Width"),
        ]
    )
    marks.decide(["finder-Nodule"], State.REJECTED)
    wait_until(lambda: window.findings_list.model.count == 5 and not window.busy)
    yield window
    window.quit()


def names(window: MainWindow) -> list[str]:
    model = window.findings_list.model
    rows = [model.row(model.index(number)) for number in range(model.rowCount())]
    return [row.title for row in rows if isinstance(row, FindingRow)]


def choose(window: MainWindow, field: str, value: object) -> None:
    window.findings_list.filter_line.choices[field, value].trigger()


def test_the_list_is_filtered_by_words_kind_state_source_and_image(listing: MainWindow):
    line = listing.findings_list.filter_line
    every = names(listing)
    assert len(every) == 5
    assert line.search.isVisible()
    assert not line.note.isVisible()
    QTest.keyClicks(line.search, "lung")
    assert names(listing) == ["Area one"]  # by its coded site
    assert line.note.text() == "1 of 5 findings are shown"
    assert line.note.isVisible()
    line.search.selectAll()
    QTest.keyClicks(line.search, "nothing like it")
    assert names(listing) == []
    assert listing.findings_list.no_match.isVisible()
    line.search.clear()
    assert names(listing) == every
    choose(listing, "source", "mine")
    assert names(listing) == ["Length", "Box"]
    choose(listing, "kind", "region")
    assert names(listing) == ["Box"]
    assert line.button.isChecked()
    choose(listing, "source", "")
    assert names(listing) == ["Box", "Nodule"]
    choose(listing, "kind", "")
    choose(listing, "state", State.REJECTED)
    assert names(listing) == ["Nodule"]
    line.clear.trigger()
    assert names(listing) == every
    assert not line.button.isChecked()
    line.here.trigger()
    assert names(listing) == ["Length", "Area one", "Nodule"]


def test_the_filter_for_the_image_follows_it_and_headings_act_on_what_is_listed(
    listing: MainWindow, wait_until: WaitUntil
):
    listed = listing.findings_list
    listed.filter_line.here.trigger()
    listing.canvas.scroller.step(1)
    wait_until(lambda: names(listing) == ["Box", "Width"])
    model = listed.model
    heading = next(
        row
        for number in range(model.rowCount())
        if isinstance(row := model.row(model.index(number)), GroupRow)
    )
    listed.toggle(list(heading.ids))
    shown = {one.finding.label: one.visible for one in listing.workspace.annotations.all()}
    assert shown["Length"]
    assert not shown["Box"]
    # What comes in new is told, even if the filter leaves it out.
    listing.workspace.annotations.add([finding(frame("1.1").ref, Box(1, 1, 5, 5), "Mass")])
    wait_until(lambda: listed.filter_line.note.text() == "2 of 6 findings are shown")


def editor(window: MainWindow) -> QLineEdit | None:
    fields = window.findings_list.view.viewport().findChildren(QLineEdit)
    return fields[0] if fields else None


def marked(window: MainWindow, label: str) -> Finding:
    every = [one.finding for one in window.workspace.annotations.all()]
    return next(one for one in every if one.label == label)


@pytest.mark.parametrize("by", ["F2", "double click", "Enter"])
def test_a_finding_is_renamed_in_place(listing: MainWindow, wait_until: WaitUntil, by: str):
    listed = listing.findings_list
    view, model = listed.view, listed.model
    made = marked(listing, "Length")
    place = view.visualRect(model.index_of(made.id)).center()
    detail = listing.canvas.detail
    QTest.mouseClick(view.viewport(), LEFT, pos=place)
    wait_until(lambda: not listing.busy)
    view.setFocus()
    if by == "double click":
        QTest.mouseDClick(view.viewport(), LEFT, pos=place)
    else:
        QTest.keyClick(view, Qt.Key.Key_F2 if by == "F2" else Qt.Key.Key_Return)
    field = editor(listing)
    assert field is not None
    assert field.text() == "Length"
    assert listing.canvas.detail == detail  # F2 did not switch the texts of the image
    # A late result does not take away what is being typed.
    QTest.keyClicks(field, "Lesion A")
    listing.workspace.annotations.add([finding(frame("1.1").ref, Box(1, 1, 5, 5), "Mass")])
    wait_until(lambda: not listing.busy)
    assert editor(listing) is field
    QTest.keyClick(field, Qt.Key.Key_Return)
    wait_until(lambda: "Mass" in names(listing) and "Lesion A" in names(listing))
    assert marked(listing, "Lesion A").id == made.id
    listing.workspace.commands.undo()
    assert marked(listing, "Length").id == made.id


def test_a_locked_finding_is_not_renamed_and_escape_leaves_the_name(
    listing: MainWindow, wait_until: WaitUntil
):
    listed, marks = listing.findings_list, listing.workspace.annotations
    made = marked(listing, "Length")
    marks.select(made.id)
    listed.view.setFocus()
    QTest.keyClick(listed.view, Qt.Key.Key_F2)
    field = editor(listing)
    assert field is not None
    QTest.keyClicks(field, "Other")
    QTest.keyClick(field, Qt.Key.Key_Escape)
    assert marked(listing, "Length").id == made.id
    marks.alter([made.id], "Lock", lambda one: replace(one, locked=True))
    wait_until(lambda: not listing.busy and editor(listing) is None)
    told: list[int] = []
    marks.refused.connect(told.append)
    for key in (Qt.Key.Key_F2, Qt.Key.Key_Return):
        QTest.keyClick(listed.view, key)
    assert editor(listing) is None
    assert told == [1, 1]


def test_marks_are_hidden_as_a_step_of_undo_also_locked_ones(listing: MainWindow):
    marks, canvas = listing.workspace.annotations, listing.canvas
    made = marked(listing, "Length")
    marks.alter([made.id], "Lock", lambda one: replace(one, locked=True))
    marks.select(made.id)
    canvas.setFocus()
    QTest.keyClick(canvas, Qt.Key.Key_H, CTRL_SHIFT)
    assert made.id not in [one.id for one in canvas.findings_layer.findings]
    listing.actions_.undo.trigger()
    assert made.id in [one.id for one in canvas.findings_layer.findings]
    listing.actions_.redo.trigger()
    QTest.keyClick(canvas, Qt.Key.Key_H, CTRL_SHIFT)
    assert made.id in [one.id for one in canvas.findings_layer.findings]


def test_rows_name_their_images_where_there_are_several(listing: MainWindow, wait_until: WaitUntil):
    model = listing.findings_list.model

    def names() -> dict[str, str]:
        rows = [model.row(model.index(number)) for number in range(model.rowCount())]
        return {row.finding.id: row.image for row in rows if isinstance(row, FindingRow)}

    images = {"1.1": names()["finder-Nodule"], "1.2": names()["finder-Width"]}
    assert images["1.1"] != images["1.2"]
    assert all(images.values())
    for item in listing.workspace.annotations.all():
        assert names()[item.finding.id] == images[item.finding.image.sop_instance_uid]
    told = model.data(model.index_of("finder-Width"), Qt.ItemDataRole.AccessibleTextRole)
    assert images["1.2"] in str(told)
    assert images["1.2"] in str(
        model.data(model.index_of("finder-Width"), Qt.ItemDataRole.ToolTipRole)
    )
    marks = listing.workspace.annotations
    gone = [one.finding.id for one in marks.all() if one.finding.image.sop_instance_uid == "1.2"]
    marks.remove(gone)
    wait_until(lambda: model.count == 3)
    assert not any(names().values()), "of a single image all are"
