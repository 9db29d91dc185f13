"""Study list, findings list and attributes, with real widgets and events."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PySide6.QtCore import QModelIndex, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel

from app.imaging.attributes import AttributeRow
from app.imaging.findings import Mask, Point, Polyline, Provenance
from app.imaging.types import Problem
from app.views.background import Background
from app.views.browser.attributes import NAME, VALUE, AttributesPanel
from app.views.browser.findings_list import (
    BY_AI,
    BY_HAND,
    ROW,
    FindingRow,
    FindingsList,
    GroupRow,
    MakerRow,
    button_rects,
    value_beside,
)
from app.views.browser.study_list import StudyList
from app.views.browser.study_rows import SeriesRow, StudyRow
from app.views.loader import Loader
from app.views.theme import TYPE, ui_font
from app.views.widgets import ElidedLabel, plain_tip
from app.workspace import drawing
from app.workspace.workspace import Workspace
from tests.gui.viewer_support import (
    FakeDecoder,
    Heartbeat,
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


class Desk:
    """Models, a loader, and the panels that a test makes."""

    def __init__(self, wait_until: WaitUntil) -> None:
        self.wait_until = wait_until
        self.workspace = Workspace()
        self.decoder = FakeDecoder()
        self.background = Background()
        self.loader = Loader(self.workspace.viewport, self.decoder, self.background)
        self._panels: list[Any] = []

    def add(self, panel: Any, size: tuple[int, int] = (320, 500)) -> Any:
        panel.resize(*size)
        panel.show()
        self._panels.append(panel)
        return panel

    def settle(self) -> None:
        self.wait_until(lambda: not self.background.pending)

    def close(self) -> None:
        self.loader.close()
        for panel in self._panels:
            panel.close_models()
            panel.close()
            panel.deleteLater()
        self.background.close()


@pytest.fixture
def desk(qapp: QApplication, wait_until: WaitUntil) -> Iterator[Desk]:
    made = Desk(wait_until)
    yield made
    made.close()


def click(panel: StudyList | FindingsList, index: QModelIndex) -> None:
    QTest.mouseClick(panel.view.viewport(), LEFT, pos=panel.view.visualRect(index).center())


# Studies


def test_a_click_on_a_series_shows_its_first_image(desk: Desk):
    panel = desk.add(StudyList(desk.workspace, desk.loader))
    first, second = instance("1.1"), instance("2.1")
    desk.workspace.add(found(study(first), study(second, uid="t", patient="Roe^Rick")))
    rows = [panel.model.row(panel.model.index(n)) for n in range(panel.model.rowCount())]
    assert [type(row) for row in rows] == [StudyRow, SeriesRow, StudyRow, SeriesRow]
    assert [rows[0].patient, rows[2].patient] == ["Doe, Jane", "Roe, Rick"]
    assert rows[0].detail == "ID 4711  ·  2024-01-31"
    assert desk.workspace.viewport.instance is first
    assert panel.view.currentIndex() == panel.model.index(1)
    click(panel, panel.model.index(3))
    assert desk.workspace.viewport.instance is second
    assert panel.view.currentIndex() == panel.model.index(3)
    desk.settle()


def test_thumbnails_arrive(desk: Desk):
    panel = desk.add(StudyList(desk.workspace, desk.loader))
    desk.workspace.add(found(study(instance())))
    panel.view.viewport().repaint()
    row = panel.model.row(panel.model.index(1))
    desk.wait_until(lambda: panel.model.thumbnail(row) is not None)
    desk.settle()


def test_delete_closes_the_study(desk: Desk):
    panel = desk.add(StudyList(desk.workspace, desk.loader))
    desk.workspace.add(found(study(instance())))
    activate(panel, desk.wait_until)
    panel.view.setFocus()
    QTest.keyClick(panel.view, Qt.Key.Key_Delete)
    assert desk.workspace.studies.all == ()
    assert desk.workspace.viewport.instance is None
    assert panel.empty.isVisible()
    desk.settle()


def test_problems_are_listed_as_plain_text_with_reason_and_remedy(desk: Desk):
    panel = desk.add(StudyList(desk.workspace, desk.loader))
    assert not panel.problems.isVisible()
    bad = Problem(Path("/images/<b>bad.dcm"), "the file is <i>empty</i>", "Export it again")
    desk.workspace.add(found(problems=[bad]))
    assert panel.problems.isVisible()
    labels = panel.problems.findChildren(QLabel)
    texts = [label.text() for label in labels]
    assert {"<b>bad.dcm", "the file is <i>empty</i>", "Export it again"} <= set(texts)
    assert all(label.textFormat() == Qt.TextFormat.PlainText for label in labels if label.text())
    desk.workspace.studies.clear_problems()
    assert not panel.problems.isVisible()


def test_a_long_name_ends_in_an_ellipsis_and_is_whole_in_the_tooltip(qapp: QApplication):
    text = "Extraordinarily-long-hyphenated-family-name, Given <b>Middle</b>"
    label = ElidedLabel(text)
    label.resize(120, 20)
    assert label.shown_text().endswith("…")
    assert label.text() == text
    assert "&lt;b&gt;" in label.toolTip()
    assert label.minimumSizeHint().width() < 120


def test_tooltips_show_tags_as_text():
    assert "<img" not in plain_tip("<img src='x'>")


# Findings


def mask() -> Mask:
    area = np.zeros((80, 100), bool)
    area[30:60, 10:40] = True
    return Mask(area)


def shown_finding_list(desk: Desk) -> FindingsList:
    panel = desk.add(FindingsList(desk.workspace))
    image = instance()
    desk.workspace.add(found(study(image)))
    desk.wait_until(lambda: desk.workspace.viewport.frame is not None)
    ref = desk.workspace.viewport.frame.ref
    desk.workspace.annotations.add(
        [
            finding(ref, mask(), "Right Lung", description="31% of the image"),
            finding(ref, mask(), "Left Lung", score=0.91),
        ]
    )
    desk.workspace.annotations.add(
        [
            finding(
                ref,
                Polyline(((1, 1), (9, 1))),
                "Heart width",
                tool="ratio",
                value=812.0,
                units="px",
                approximate=True,
            )
        ]
    )
    desk.wait_until(lambda: panel.model.count == 3)
    return panel


def test_findings_are_grouped_by_who_made_them(desk: Desk):
    panel = shown_finding_list(desk)
    rows: list[Any] = [panel.model.row(panel.model.index(n)) for n in range(panel.model.rowCount())]
    group, *rows = rows
    assert isinstance(group, GroupRow)
    assert (group.title, group.count, group.note) == (BY_AI, 3, "not for diagnosis")
    assert [type(row) for row in rows] == [MakerRow, FindingRow, FindingRow, MakerRow, FindingRow]
    assert rows[0].maker == "Finder · net-1"
    assert rows[0].details == "finder 1.0 · net-1"
    tip = panel.model.index(1).data(Qt.ItemDataRole.ToolTipRole)
    assert "finder 1.0 · net-1" in tip
    assert [row.title for row in rows if isinstance(row, FindingRow)] == [
        "Right Lung",
        "Left Lung",
        "Heart width",
    ]
    assert rows[1].detail == "31% of the image"
    assert rows[2].value == "score 0.91"
    assert rows[4].value == "≈ 812 px"


def test_choosing_in_the_list_selects_and_the_other_way_round(desk: Desk):
    panel = shown_finding_list(desk)
    asked: list[str] = []
    panel.shown.connect(asked.append)
    click(panel, panel.model.index_of("finder-Left Lung"))
    assert desk.workspace.annotations.selected == "finder-Left Lung"
    assert asked[-1] == "finder-Left Lung"
    desk.workspace.annotations.select("ratio-Heart width")
    assert panel.view.currentIndex() == panel.model.index_of("ratio-Heart width")
    QTest.keyClick(panel.view, Qt.Key.Key_Up)
    QTest.keyClick(panel.view, Qt.Key.Key_Up)
    assert desk.workspace.annotations.selected == "finder-Left Lung"


def press_button(panel: FindingsList, finding_id: str, name: str) -> None:
    rect = panel.view.visualRect(panel.model.index_of(finding_id))
    place = button_rects(rect)[("eye", "delete").index(name)].center()
    QTest.mouseClick(panel.view.viewport(), LEFT, pos=place)


def test_the_eye_hides_and_shows(desk: Desk):
    panel = shown_finding_list(desk)
    annotations = desk.workspace.annotations
    press_button(panel, "finder-Left Lung", "eye")
    assert not annotations.get("finder-Left Lung").visible
    desk.settle()
    press_button(panel, "finder-Left Lung", "eye")
    assert annotations.get("finder-Left Lung").visible


def test_a_makers_eye_hides_all_that_it_made(desk: Desk):
    panel = shown_finding_list(desk)
    rect = panel.view.visualRect(panel.model.index(1))
    QTest.mouseClick(panel.view.viewport(), LEFT, pos=button_rects(rect)[0].center())
    visible = {item.finding.label: item.visible for item in desk.workspace.annotations.all()}
    assert visible == {"Right Lung": False, "Left Lung": False, "Heart width": True}


def test_a_deleted_finding_comes_back_with_undo(desk: Desk):
    panel = shown_finding_list(desk)
    removed: list[int] = []
    panel.removed.connect(removed.append)
    press_button(panel, "finder-Left Lung", "delete")
    assert removed == [1]
    desk.wait_until(lambda: panel.model.count == 2)
    desk.workspace.commands.undo()
    desk.wait_until(lambda: panel.model.count == 3)
    assert panel.model.index_of("finder-Left Lung").isValid()


def test_findings_on_another_image_say_so(desk: Desk):
    panel = shown_finding_list(desk)
    desk.workspace.viewport.show(instance("7.7"))
    desk.wait_until(lambda: desk.workspace.viewport.frame is not None)
    desk.settle()
    desk.wait_until(
        lambda: not panel.model.row(panel.model.index_of("finder-Left Lung")).here  # type: ignore
    )
    row: Any = panel.model.row(panel.model.index_of("finder-Left Lung"))
    assert not row.here
    assert "on another image" in row.detail


def test_without_findings_the_list_says_how_to_get_some(desk: Desk):
    panel = desk.add(FindingsList(desk.workspace))
    assert panel.empty.isVisible()
    counts: list[int] = []
    panel.count_changed.connect(counts.append)
    image = instance()
    desk.workspace.add(found(study(image)))
    desk.wait_until(lambda: desk.workspace.viewport.frame is not None)
    ref = desk.workspace.viewport.frame.ref
    desk.workspace.annotations.add([finding(ref, Point(3, 4))])
    desk.wait_until(lambda: counts[-1:] == [1])
    assert not panel.empty.isVisible()


# Attributes


ROWS = [
    AttributeRow("(0008,0060)", "Modality", "CS", "CT"),
    AttributeRow("(0010,0010)", "PatientName", "PN", "<b>Doe</b>^Jane"),
    AttributeRow("(0008,1140)", "ReferencedImageSequence", "SQ", "1 item"),
    AttributeRow("(0008,1155)", "ReferencedSOPInstanceUID", "UI", "1.2.840.1", 1),
]


def attribute_panel(desk: Desk) -> AttributesPanel:
    desk.decoder.rows = ROWS
    panel = desk.add(AttributesPanel(desk.workspace, desk.loader), (420, 400))
    desk.workspace.add(found(study(instance())))
    desk.wait_until(lambda: panel.model.total == len(ROWS))
    return panel


def test_all_attributes_are_listed_as_plain_text(desk: Desk):
    panel = attribute_panel(desk)
    texts = [panel.model.index(row, VALUE).data() for row in range(panel.model.rowCount())]
    assert texts == ["CT", "<b>Doe</b>^Jane", "1 item", "1.2.840.1"]
    assert panel.model.index(3, NAME).data() == "    ReferencedSOPInstanceUID"
    tip = panel.model.index(1, VALUE).data(Qt.ItemDataRole.ToolTipRole)
    assert "<b>" not in tip
    assert panel.summary.text() == "4 attributes"


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("patient", ["PatientName"]),
        ("doe jane", ["PatientName"]),
        ("0008,11", ["ReferencedImageSequence", "    ReferencedSOPInstanceUID"]),
        ("nowhere", []),
    ],
)
def test_attributes_are_found_by_tag_name_and_value(desk: Desk, text: str, names: list[str]):
    panel = attribute_panel(desk)
    QTest.keyClicks(panel.search, text)
    desk.wait_until(lambda: panel.summary.text().startswith(f"{len(names)} of"))
    found_names = [panel.model.index(row, NAME).data() for row in range(panel.model.rowCount())]
    assert found_names == names


def test_a_value_cannot_turn_its_own_reading_direction(desk: Desk):
    desk.decoder.rows = [AttributeRow("(0010,0020)", "PatientID", "LO", "\u202e4711\u2066\x07", 0)]
    panel = desk.add(AttributesPanel(desk.workspace, desk.loader), (420, 400))
    desk.workspace.add(found(study(instance())))
    desk.wait_until(lambda: panel.model.total == 1)
    assert panel.model.index(0, VALUE).data() == "4711"


def test_tab_leaves_the_table_of_attributes(desk: Desk):
    panel = attribute_panel(desk)
    panel.activateWindow()
    panel.table.setFocus()
    desk.wait_until(panel.table.hasFocus)
    QTest.keyClick(panel.table, Qt.Key.Key_Tab)
    assert not panel.table.hasFocus()


def test_a_hidden_panel_reads_nothing(desk: Desk):
    panel = AttributesPanel(desk.workspace, desk.loader)
    desk.decoder.rows = ROWS
    desk.workspace.add(found(study(instance())))
    desk.settle()
    assert panel.model.total == 0
    desk.add(panel)
    desk.wait_until(lambda: panel.model.total == len(ROWS))


def test_fifty_thousand_attributes_are_searched_without_a_stall(
    desk: Desk, gui_heartbeat: Heartbeat
):
    panel = attribute_panel(desk)
    many = [
        AttributeRow("(0009,1001)", f"Private {number}", "LO", f"value {number}" * 8)
        for number in range(50_000)
    ]
    panel.model.set_rows(many)
    stalls: list[float] = []
    for _ in range(3):  # other programs can only lengthen a stall: one quiet time is proof
        gui_heartbeat.restart()
        QTest.keyClicks(panel.search, "value 4999")
        desk.wait_until(lambda: panel.model.rowCount() < 50_000)
        gui_heartbeat.look()
        stalls.append(gui_heartbeat.longest_ms)
        assert panel.model.rowCount() == 15
        panel.search.clear()
        desk.wait_until(lambda: panel.model.rowCount() == 50_000)
    assert min(stalls) < 100  # the search itself runs once, 120 ms after typing


def test_a_finding_of_another_image_says_so_first(desk: Desk):
    desk.workspace.add(found(study(instance("1.1")), study(instance("1.9"), uid="other")))
    image = frame("1.9").ref
    desk.workspace.annotations.add(
        [finding(image, Point(1, 2), "Heart width", value=8.0, units="px", description="long")]
    )
    panel = desk.add(FindingsList(desk.workspace))
    rows = [panel.model.index(row).data(ROW) for row in range(panel.model.rowCount())]
    (row,) = [row for row in rows if isinstance(row, FindingRow)]
    assert row.detail.startswith("on another image")


def test_a_finding_on_another_frame_of_the_shown_image_says_on_which(desk: Desk):
    panel = desk.add(FindingsList(desk.workspace))
    desk.workspace.add(found(study(instance("1.1", frames=9))))
    desk.wait_until(lambda: desk.workspace.viewport.frame is not None)
    desk.workspace.annotations.add([finding(frame("1.1", 4).ref, Point(1, 2), "Valve")])
    desk.wait_until(lambda: panel.model.count == 1)
    row: Any = panel.model.row(panel.model.index_of("finder-Valve"))
    assert row.detail == "on frame 5", "as the corner of the image counts"


def test_what_is_found_is_seen_in_a_long_list_and_another_frame_does_not_move_it(desk: Desk):
    panel = desk.add(FindingsList(desk.workspace), size=(320, 200))
    desk.workspace.add(found(study(instance("1.1", frames=9))))
    desk.wait_until(lambda: desk.workspace.viewport.frame is not None)
    ref, notes = desk.workspace.viewport.frame.ref, desk.workspace.annotations
    notes.add([finding(ref, Point(1, 2), f"A{number}") for number in range(20)])
    desk.wait_until(lambda: panel.model.count == 20)
    notes.select("finder-A0")
    notes.add([finding(ref, Point(1, 2), "New", tool="other")])
    desk.wait_until(lambda: panel.model.count == 21)
    view = panel.view
    row = panel.model.index_of("other-New")
    desk.wait_until(lambda: view.viewport().rect().contains(view.visualRect(row)))
    scrolled = view.verticalScrollBar().value()
    assert scrolled > 0
    desk.workspace.viewport.scroll_to(3)
    desk.wait_until(lambda: not panel.model.row(panel.model.index_of("finder-A0")).here)
    desk.wait_until(lambda: view.verticalScrollBar().value() == scrolled)


def test_findings_of_a_closed_study_are_not_listed_and_come_back_with_it(desk: Desk):
    opened = found(study(instance("1.1")), study(instance("1.9"), uid="other"))
    desk.workspace.add(opened)
    desk.workspace.annotations.add([finding(frame("1.9").ref, Point(1, 2), "Heart width")])
    panel = desk.add(FindingsList(desk.workspace))
    assert panel.model.count == 1
    desk.workspace.close_study("other")
    desk.wait_until(lambda: panel.model.count == 0)
    desk.workspace.add(opened)
    desk.wait_until(lambda: panel.model.count == 1)


def test_a_narrow_list_keeps_the_name_and_never_half_a_number(desk: Desk):
    made = finding(frame().ref, Point(1, 2), "Thorax width", value=1587.0, units="px")
    desk.workspace.annotations.add([made])
    (annotation,) = desk.workspace.annotations.on_image(made.image)
    row = FindingRow(annotation, here=True)
    font = ui_font(TYPE.body)
    assert value_beside(row, 400, font) == row.value
    assert value_beside(row, 130, font) == row.value  # the name is shortened
    assert value_beside(row, 60, font) == ""
    for units, shown in (("mm (patient)", "1587 mm"), ("mm (detector)", "")):
        length = FindingRow(replace(annotation, finding=replace(made, units=units)), here=True)
        assert value_beside(length, 140, font) == shown, "only what is certain goes without saying"
    by_hand = replace(made, units="mm (calibrated by hand)")
    length = FindingRow(replace(annotation, finding=by_hand), here=True)
    assert value_beside(length, 190, font) == "1587 mm (by hand)"
    pet = replace(
        made,
        value=3.216,
        units="SUVbw",
        provenance=Provenance("probe", "", "", "", "", ""),
        description="11010 Bq/ml (3.216 SUVbw); x 4, y 5 px",
    )
    probe = FindingRow(replace(annotation, finding=pet), here=True)
    assert value_beside(probe, 400, font) == "11010 Bq/ml (3.216 SUVbw)"
    assert value_beside(probe, 160, font) == "3.22 SUVbw"


def test_what_was_made_by_hand_stands_apart_from_what_ai_found(desk: Desk):
    panel = shown_finding_list(desk)
    desk.workspace.annotations.add([drawing.draw(drawing.RULER, frame(), [(1.0, 1.0), (9.0, 1.0)])])
    desk.wait_until(lambda: panel.model.count == 4)
    rows: list[Any] = [panel.model.index(n).data(ROW) for n in range(panel.model.rowCount())]
    assert [type(row) for row in rows[:3]] == [GroupRow, FindingRow, GroupRow]
    assert [(row.title, row.count) for row in rows if isinstance(row, GroupRow)] == [
        (BY_HAND, 1),
        (BY_AI, 3),
    ]
    heights = {panel.view.visualRect(panel.model.index(n)).height() for n in (1, 4, 5, 7)}
    assert len(heights) == 1, "each on one line"


def test_a_group_is_folded_by_mouse_and_by_key(desk: Desk):
    panel = shown_finding_list(desk)
    view, model = panel.view, panel.model
    at = view.visualRect(model.index(0)).center()
    for rows in (1, 6):
        QTest.mouseClick(view.viewport(), LEFT, pos=at)
        assert model.rowCount() == rows
        assert model.count == 3, "what is folded away still counts"
    view.setCurrentIndex(model.index_of("ratio-Heart width"))
    activate(panel, desk.wait_until)
    view.setFocus()
    for key, rows in ((Qt.Key.Key_Left, 1), (Qt.Key.Key_Left, 1), (Qt.Key.Key_Right, 6)):
        QTest.keyClick(view, key)
        assert model.rowCount() == rows
    desk.workspace.annotations.add([finding(frame().ref, Point(3, 4), "New")])
    desk.wait_until(lambda: model.count == 4)
    assert model.rowCount() == 7


def test_keys_hide_and_delete_the_selected_finding(desk: Desk):
    panel = desk.add(FindingsList(desk.workspace))
    desk.workspace.add(found(study(instance())))
    desk.settle()
    one = finding(desk.workspace.viewport.frame.ref, Point(3, 4))
    desk.workspace.annotations.add([one])
    desk.workspace.annotations.select(one.id)
    activate(panel, desk.wait_until)
    desk.wait_until(panel.view.isVisible)
    panel.view.setFocus()
    QTest.keyClick(panel.view, Qt.Key.Key_Space)
    assert not desk.workspace.annotations.get(one.id).visible
    QTest.keyClick(panel.view, Qt.Key.Key_Delete)
    assert desk.workspace.annotations.get(one.id) is None
