"""The record panel in the real window: whose record it is, its entries, trends and links."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from PySide6.QtCore import QPointF, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel, QTreeWidgetItem

from app.records.types import Entry, EntryKind, NoRecords, StudyIdentity
from app.views.chat.answer import AnswerView
from app.views.chat.dock import ChatDock
from app.views.main_window import MainWindow
from app.views.record.record_sections import moment_of
from app.wiring import Program, ViewRequest, build_window
from tests.gui.viewer_support import WaitUntil, activate, found, instance, study
from tests.support.made_record import ANNA, MadeRecords, creatinine

pytestmark = pytest.mark.gui


@pytest.fixture
def program() -> Iterator[Program]:
    made = Program()
    yield made
    made.close()


@pytest.fixture
def window(qapp: QApplication, program: Program) -> Iterator[MainWindow]:
    built = build_window(program, ViewRequest())
    built.resize(1500, 900)
    built.show()
    yield built
    built.close()


def open_record(window: MainWindow, wait_until: WaitUntil, patient_id: str = "4711") -> None:
    records = MadeRecords()
    window.workspace.record.open(records)
    window.workspace.record.set_match(records.match(StudyIdentity(patient_id)))
    wait_until(lambda: not window.record_panel.busy and window.background.pending == 0)


def rows(item: QTreeWidgetItem) -> list[tuple[str, str, str]]:
    children = (item.child(place) for place in range(item.childCount()))
    return [(one.text(0), one.text(1), one.text(2)) for one in children if one is not None]


def section(window: MainWindow, title: str) -> QTreeWidgetItem:
    tree = window.record_panel.tree
    tops = (tree.topLevelItem(place) for place in range(tree.topLevelItemCount()))
    return next(one for one in tops if one is not None and one.text(0).startswith(title))


def unfold(window: MainWindow, item: QTreeWidgetItem, wait_until: WaitUntil) -> None:
    tree = window.record_panel.tree
    tree.setCurrentItem(item)
    QTest.keyClick(tree, Qt.Key.Key_Right)
    wait_until(lambda: item.childCount() > 0 and not window.record_panel.busy)


def test_the_panel_comes_with_a_record_and_goes_with_it(window: MainWindow, wait_until: WaitUntil):
    dock = window.docks["Record"]
    assert not dock.isVisible()
    open_record(window, wait_until)
    wait_until(dock.isVisible)
    assert window.record_panel.name.text() == "Anna Roth"
    assert "1950-06-15" in window.record_panel.who.text()
    window.workspace.record.open(NoRecords())
    assert not dock.isVisible()
    assert window.record_panel.contents is None, "nothing of the patient stays"


def test_a_study_of_nobody_in_the_records_leaves_the_choice_to_the_user(
    window: MainWindow, wait_until: WaitUntil
):
    open_record(window, wait_until, "9999")
    panel = window.record_panel
    assert window.workspace.record.patient_id == ""
    assert panel.pages.currentWidget() is panel.people
    assert panel.people.reason.text() == "No open record has the study's Patient ID."
    activate(window, wait_until)
    QTest.keyClicks(panel.people.search, "bert")
    wait_until(lambda: panel.people.list.topLevelItemCount() == 1)
    first = panel.people.list.topLevelItem(0)
    assert first is not None
    panel.people.list.setCurrentItem(first)
    QTest.mouseClick(panel.people.use, Qt.MouseButton.LeftButton)
    wait_until(lambda: panel.contents is not None and not panel.busy)
    assert panel.name.text() == "Bert Kern"
    assert window.workspace.record.patient_id == "bert"
    assert "not linked" in panel.belongs.text()


def test_another_patient_can_be_chosen_and_the_choice_cancelled(
    window: MainWindow, wait_until: WaitUntil
):
    open_record(window, wait_until)
    panel = window.record_panel
    QTest.mouseClick(panel.other, Qt.MouseButton.LeftButton)
    assert panel.pages.currentWidget() is panel.people
    QTest.mouseClick(panel.people.cancel, Qt.MouseButton.LeftButton)
    assert panel.pages.currentWidget() is not panel.people
    assert window.workspace.record.patient_id == "anna"


def test_each_test_is_one_row_with_its_earlier_values_below(
    window: MainWindow, wait_until: WaitUntil
):
    open_record(window, wait_until)
    labs = section(window, "Labs")
    unfold(window, labs, wait_until)
    assert rows(labs) == [("Creatinine", "1.4 mg/dL ↑", "2026-03-02")]
    test = labs.child(0)
    assert test is not None
    unfold(window, test, wait_until)
    assert rows(test) == [
        ("2026-03-02", "1.4 mg/dL ↑", ""),
        ("2025-03-02", "1.0 mg/dL", ""),
        ("2024-03-02", "0.9 mg/dL", ""),
    ]


def test_problems_that_are_active_come_first(window: MainWindow, wait_until: WaitUntil):
    open_record(window, wait_until)
    problems = section(window, "Problems")
    unfold(window, problems, wait_until)
    assert rows(problems) == [
        ("Diabetes mellitus type 2", "active", "2015-05"),
        ("Acute bronchitis", "resolved", "2024-01-10"),
    ]


def test_a_value_is_drawn_with_its_reference_range_and_a_click_on_a_point_shows_another(
    window: MainWindow, wait_until: WaitUntil
):
    open_record(window, wait_until)
    panel = window.record_panel
    panel.show_entry("Observation/creatinine-2025-03-02")
    assert panel.chart.isVisible()
    assert panel.chart.note.text() == "3 values"
    wait_until(lambda: panel.chart.plot is not None and panel.chart.plot.height() >= 100)
    plot = panel.chart.plot
    assert plot is not None
    when = moment_of("2026-03-02T08:00:00+01:00")
    assert when is not None
    place = plot.mapFromScene(plot.getPlotItem().vb.mapViewToScene(QPointF(when, 1.4)))
    QTest.mouseClick(plot.viewport(), Qt.MouseButton.LeftButton, pos=place)
    wait_until(lambda: "Value: 1.4 mg/dL" in panel.text.toPlainText())
    panel.show_entry("Observation/creatinine-2025-03-02")
    text = panel.text.toPlainText()
    assert "Value: 1.0 mg/dL" in text
    assert "Reference range: 0.5 – 1.1" in text
    assert "2025-03-02T08:00:00+01:00" in text, "the file's own time and zone"
    item = panel.tree.currentItem()
    assert item is not None
    assert item.text(0) == "2025-03-02"


def test_a_note_is_shown_whole_as_plain_text(window: MainWindow, wait_until: WaitUntil):
    open_record(window, wait_until)
    window.record_panel.show_entry("DocumentReference/note")
    assert window.record_panel.text.toPlainText().endswith("Cough for three weeks.\nNo fever.")
    assert not window.record_panel.chart.isVisible()


def test_the_search_lists_matching_entries_of_all_sections(
    window: MainWindow, wait_until: WaitUntil
):
    open_record(window, wait_until)
    panel = window.record_panel
    activate(window, wait_until)
    QTest.keyClicks(panel.search, "metformin")
    wait_until(lambda: panel.tree.topLevelItemCount() == 2 and not panel.busy)
    medications = section(window, "Medications")
    assert rows(medications) == [("Metformin 500 MG Oral Tablet", "active", "2015-06-01")]


def test_an_answer_links_to_the_entry_that_it_cites_and_back(
    window: MainWindow, wait_until: WaitUntil
):
    open_record(window, wait_until)
    wanted = window.workspace.record.entry_wanted
    answer = AnswerView(
        lambda target: wanted.emit(target.partition(":")[2] or target), lambda _target: None
    )
    answer.resize(300, 100)
    answer.show()
    answer.writer.append("Creatinine 1.4 mg/dL [Observation/creatinine-2026-03-02].")
    assert answer.view.toPlainText() == "Creatinine 1.4 mg/dL [record]."
    assert answer.text.endswith("[Observation/creatinine-2026-03-02].")
    cursor = answer.view.textCursor()
    cursor.setPosition(answer.view.toPlainText().index("record") + 2)
    place = answer.view.cursorRect(cursor).center()
    QTest.mouseClick(answer.view.viewport(), Qt.MouseButton.LeftButton, pos=place)
    shown = window.record_panel.shown
    assert shown is not None
    assert shown.id == "Observation/creatinine-2026-03-02"
    answer.close()


def test_an_imaging_entry_shows_its_study_where_it_is_open(
    window: MainWindow, wait_until: WaitUntil
):
    image = instance("7.7")
    window.workspace.add(found(study(image)), show=False)
    open_record(window, wait_until)
    imaging = section(window, "Imaging")
    unfold(window, imaging, wait_until)
    row = imaging.child(0)
    assert row is not None
    menu = window.record_panel.menu_of(row)
    assert menu is not None
    next(one for one in menu.actions() if one.text() == "Show the study").trigger()
    shown = window.workspace.viewport.instance
    assert shown is not None
    assert shown.sop_instance_uid == "7.7"


def test_a_record_of_ten_thousand_entries_is_listed_without_a_stall(
    window: MainWindow, wait_until: WaitUntil
):
    many: list[Entry] = [
        Entry(f"Procedure/{place}", ANNA.id, EntryKind.PROCEDURE, f"Procedure {place}")
        for place in range(10_000)
    ]
    window.workspace.record.open(MadeRecords([*many, creatinine("1.0", "2020-01-01")]))
    window.workspace.record.choose("anna")
    wait_until(lambda: window.record_panel.contents is not None and not window.record_panel.busy)
    procedures = section(window, "Procedures")
    assert procedures.text(0) == "Procedures  10,000"
    unfold(window, procedures, wait_until)
    assert procedures.childCount() == 2001, "the rest is found by the search"


def test_an_entry_of_a_record_that_is_not_in_use_is_shown_once_the_user_chose_it(
    window: MainWindow, wait_until: WaitUntil
):
    open_record(window, wait_until, "9999")
    panel = window.record_panel
    window.workspace.record.entry_wanted.emit("Observation/creatinine-2026-03-02")
    wait_until(lambda: panel.people.use.isEnabled())
    assert panel.people.reason.text() == "The entry is in the record of Anna Roth."
    assert window.workspace.record.patient_id == "", "nobody's record is used unasked"
    QTest.mouseClick(panel.people.use, Qt.MouseButton.LeftButton)
    wait_until(lambda: panel.shown is not None)
    assert "Value: 1.4 mg/dL" in panel.text.toPlainText()


def test_an_entry_that_no_open_record_has_changes_nothing(
    window: MainWindow, wait_until: WaitUntil
):
    open_record(window, wait_until)
    window.workspace.record.entry_wanted.emit("Observation/invented")
    panel = window.record_panel
    wait_until(lambda: panel.belongs.text() == "No open record has this entry.")
    assert panel.name.text() == "Anna Roth"


def test_the_chat_offers_to_ask_about_a_record_without_an_image(
    window: MainWindow, wait_until: WaitUntil
):
    chat = window.chat
    assert isinstance(chat, ChatDock)
    assert "Open an image, then ask" in [one.text() for one in chat.empty.findChildren(QLabel)]
    open_record(window, wait_until)
    assert "Ask about this record" in [one.text() for one in chat.empty.findChildren(QLabel)]
    window.workspace.record.open(NoRecords())
    assert "Open an image, then ask" in [one.text() for one in chat.empty.findChildren(QLabel)]
