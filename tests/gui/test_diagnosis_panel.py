"""The diagnosis panel in the real window, by mouse and keys; figures against plain fractions."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import islice
from pathlib import Path

import pytest
from PySide6.QtCore import QPointF, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel

from app.imaging.findings import Box, State
from app.paths import config_dir
from app.records.types import StudyIdentity
from app.tools.diagnosis.session import (
    FinalDiagnosis,
    append_step,
    clear_session,
    close_session,
    session_file,
)
from app.tools.diagnosis.table import presentations
from app.views.chat.dock import ChatDock
from app.views.command_palette import commands_of
from app.views.diagnosis.diagnosis_panel import DiagnosisPanel
from app.views.diagnosis.lists import RowList
from app.views.main_window import MainWindow
from app.views.translation import use_language
from app.wiring import Program, ViewRequest, build_window
from app.workspace.workspace import Workspace
from tests.gui.heartbeat import Heartbeat, best, slowness, stall_ms
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
from tests.support.made_record import MadeRecords
from tests.unit.tools.diagnosis.small_table import small_toml
from tests.unit.workspace.test_diagnosis import by_fractions, table_with_links

pytestmark = pytest.mark.gui
LEFT = Qt.MouseButton.LeftButton
FINDINGS, STEPS, NEXT, SOURCES = range(4)
FLU, COLD = Fraction(1, 5), Fraction(1, 2)


@pytest.fixture
def site() -> Iterator[Path]:
    """The small table as a site's own file."""
    folder = config_dir() / "diagnosis"
    folder.mkdir(exist_ok=True)
    file = folder / "made-up.toml"
    file.write_text(small_toml(table_with_links()), "utf-8")
    yield file
    file.unlink()


class Room:
    """A window with two studies of two patients; a tool has found a nodule on the first."""

    def __init__(self, wait_until: WaitUntil, folder: Path) -> None:
        self.wait = wait_until
        layout = folder / "window.ini"
        self.window = MainWindow(Workspace(), FakeDecoder(), QLabel("chat"), layout_file=layout)
        self.window.resize(1500, 950)
        self.window.show()
        other = study(instance("2.1", PatientID="0815"), uid="t", patient="Kern^Bert")
        self.workspace = self.window.workspace
        self.workspace.add(found(study(instance("1.1")), replace(other, patient_id="0815")))
        ref = frame("1.1").ref
        nodule = finding(ref, Box(20.5, 10.5, 60.5, 40.5), "Nodule", id="nodule")
        self.workspace.annotations.add([nodule])
        self.panel = self.window.diagnosis_panel
        self.settle()
        activate(self.window, wait_until)
        QTest.keyClick(self.window.canvas, Qt.Key.Key_7, Qt.KeyboardModifier.ControlModifier)
        self.settle()

    def settle(self) -> None:
        self.wait(lambda: not self.window.busy and not self.panel.busy)

    def choose(self, text: str = "made-up") -> None:
        self.panel.search.setFocus()
        QTest.keyClicks(self.panel.search, text)
        QTest.keyClick(self.panel.search, Qt.Key.Key_Return)
        self.settle()

    def tab(self, place: int) -> None:
        bar = self.panel.page.tabs.tabBar()
        QTest.mouseClick(bar, LEFT, pos=bar.tabRect(place).center())
        self.settle()

    def click_state(self, name: str, place: int) -> None:
        """Click a finding's column: 1 present, 2 absent, 3 unknown."""
        table = self.panel.page.findings
        row = [one.title for one in table.texts.rows].index(name)
        table.scrollTo(table.texts.index(row, 0))
        spot = table.visualRect(table.texts.index(row, place)).center()
        QTest.mouseClick(table.viewport(), LEFT, pos=spot)
        self.settle()

    def click_row(self, rows: RowList, row: int) -> None:
        rows.scrollTo(rows.texts.index(row, 0))
        spot = rows.visualRect(rows.texts.index(row, 0)).center()
        QTest.mouseClick(rows.viewport(), LEFT, pos=spot)
        self.settle()

    def key_on_image(self, key: Qt.Key) -> None:
        """Click the nodule on the image and press a key."""
        canvas = self.window.canvas
        spot = canvas.to_widget(20.5, 25).toPoint()
        QTest.mouseClick(canvas.viewport(), LEFT, pos=spot)
        self.settle()
        QTest.keyClick(canvas, key)
        self.settle()

    def percent(self, name: str) -> str:
        """The probability that the bar of a disease says."""
        bar = next(one for one in self.panel.page.bars.bars if one.text().startswith(f"{name}:"))
        return bar.text().removeprefix(f"{name}: ").split()[0]


@pytest.fixture
def room(site: Path, qapp: QApplication, wait_until: WaitUntil, tmp_path: Path) -> Iterator[Room]:
    made = Room(wait_until, tmp_path)
    yield made
    made.window.quit()


def bits(probability: float) -> float:
    """The entropy of a disease that is present or not."""
    return -sum(p * math.log2(p) for p in (probability, 1 - probability))


def shown(probability: float) -> str:
    return f"{100 * probability:.0f}%"


def about(rows: RowList) -> dict[str, str]:
    return {one.title: one.about for one in rows.texts.rows}


def test_the_panel_opens_by_its_key_and_is_a_command(room: Room):
    assert room.window.docks["Diagnosis"].isVisible()
    commands = dict(commands_of(room.window))
    assert any("Diagnosis" in name for name in commands)
    assert room.panel.pages.currentWidget() is room.panel.chooser
    assert "made-up" in [one.key for one in room.panel.presentations.texts.rows]
    QTest.keyClick(room.window, Qt.Key.Key_7, Qt.KeyboardModifier.ControlModifier)
    room.settle()
    assert not room.window.docks["Diagnosis"].isVisible()


def test_a_presentation_is_found_by_its_disease_and_chosen_by_the_mouse(room: Room):
    QTest.keyClicks(room.panel.search, "pulmonary embol")
    rows = room.panel.presentations
    titles = [one.title for one in rows.texts.rows]
    assert "Suspected pulmonary embolism" in titles
    assert "Made-up presentation" not in titles
    room.click_row(rows, titles.index("Suspected pulmonary embolism"))
    assert room.panel.title.text() == "Suspected pulmonary embolism"
    assert room.panel.pages.currentWidget() is room.panel.page
    QTest.mouseClick(room.panel.other, LEFT)
    room.settle()
    room.choose()
    assert room.panel.title.text() == "Made-up presentation"
    assert room.panel.note.isVisible()
    assert "Not for diagnosis" in room.panel.note.text()


def test_findings_are_set_by_the_mouse_and_by_keys(room: Room):
    room.choose()
    assert (room.percent("Flu"), room.percent("Cold")) == ("20%", "50%")
    room.click_state("Cough", 1)
    assert room.percent("Flu") == shown(by_fractions(FLU, Fraction(2)))
    assert room.percent("Cold") == shown(by_fractions(COLD, Fraction(4)))
    room.click_state("Cough", 2)
    assert room.percent("Flu") == shown(by_fractions(FLU, Fraction(1, 2)))
    assert room.percent("Cold") == "50%", "the source gives no ratio for its absence"
    table = room.panel.page.findings
    QTest.keyClick(table, Qt.Key.Key_0)
    room.settle()
    assert room.percent("Flu") == "20%"
    QTest.keyClick(table, Qt.Key.Key_Home)
    QTest.keyClicks(table, "+")
    room.settle()
    assert table.current() == "cough"
    assert room.percent("Flu") == shown(by_fractions(FLU, Fraction(2)))
    QTest.keyClick(table, Qt.Key.Key_Space)
    room.settle()
    assert room.percent("Flu") == shown(by_fractions(FLU, Fraction(1, 2)))
    assert about(table)["Cough"] == "set by hand"
    QTest.mouseClick(room.panel.over, LEFT)
    room.settle()
    assert room.percent("Flu") == "20%"


def test_a_dependent_finding_is_marked_and_a_word_without_a_number_moves_nothing(room: Room):
    room.choose()
    room.click_state("Fever", 1)
    room.click_state("Fever above 39 °C", 1)
    assert room.percent("Flu") == shown(by_fractions(FLU, Fraction(3)))
    assert (
        "not counted, it depends on: Fever above 39 °C" in about(room.panel.page.findings)["Fever"]
    )
    room.workspace.diagnosis.set_finding("Rash", True)  # as the chat does
    room.settle()
    assert room.percent("Flu") == shown(by_fractions(FLU, Fraction(3)))
    assert "Rash: present" in room.panel.page.words.text()
    assert "moves nothing" in about(room.panel.page.findings)["Rash"]
    room.click_state("Rash", 3)
    assert "Rash" not in about(room.panel.page.findings)


def test_accepting_on_the_image_adds_evidence_and_rejecting_takes_it_out(room: Room):
    room.choose()
    assert room.percent("Flu") == "20%", "a proposed finding does not count"
    room.key_on_image(Qt.Key.Key_A)
    # Sensitivity 0.8, specificity 0.9: a ratio of 8.
    assert room.percent("Flu") == shown(by_fractions(FLU, Fraction(8)))
    assert "Nodule" in about(room.panel.page.findings)["Positive swab"]
    room.key_on_image(Qt.Key.Key_R)
    assert room.percent("Flu") == "20%"
    assert about(room.panel.page.findings)["Positive swab"] == ""


def test_evidence_leads_to_its_finding_and_what_was_set_against_it_is_told(room: Room):
    room.choose()
    room.workspace.annotations.decide(["nodule"], State.ACCEPTED)
    room.workspace.annotations.select("")
    room.settle()
    room.click_row(room.panel.page.findings, 3)
    assert room.panel.page.show_link.text() == "Show on the image"
    QTest.mouseClick(room.panel.page.show_link, LEFT)
    assert room.workspace.annotations.selected == "nodule"
    room.click_state("Positive swab", 2)
    assert "Not used, since you set it otherwise" in room.panel.problem.text()
    assert not room.panel.page.show_link.isVisible()
    QTest.mouseClick(room.panel.page.take_back, LEFT)
    room.settle()
    assert not room.panel.problem.isVisible()
    assert room.percent("Flu") == shown(by_fractions(FLU, Fraction(8)))


def test_the_record_adds_its_values_and_evidence_leads_to_the_entry(room: Room):
    room.choose()
    records = MadeRecords()
    room.workspace.record.open(records)
    room.workspace.record.set_match(records.match(StudyIdentity("4711")))
    room.settle()
    assert room.percent("Flu") == shown(by_fractions(FLU, Fraction(3, 2)))
    QTest.keyClick(room.window, Qt.Key.Key_7, Qt.KeyboardModifier.ControlModifier)
    room.settle()
    room.click_row(room.panel.page.findings, 4)
    assert room.panel.page.show_link.text() == "Show in the record"
    QTest.mouseClick(room.panel.page.show_link, LEFT)
    room.wait(lambda: room.window.record_panel.shown is not None)
    assert room.window.record_panel.shown is not None
    assert room.window.record_panel.shown.id == "Observation/creatinine-2026-03-02"
    room.workspace.record.set_match(records.match(StudyIdentity("9999")))
    room.settle()
    assert room.percent("Flu") == "20%", "nobody knows whose record that is"
    room.workspace.record.choose("anna")
    room.settle()
    assert "not linked to the shown study" in room.panel.problem.text()


def test_a_step_of_the_chart_shows_its_evidence(room: Room):
    room.choose()
    room.click_state("Cough", 1)
    room.click_state("Fever", 2)
    room.tab(STEPS)
    panel = room.panel
    assert [one.title for one in panel.page.steps.texts.rows] == [
        "Before any finding",
        "1  Cough: present",
        "2  Fever: absent",
    ]
    assert panel.page.steps.current() == "fever", "the last one first"
    room.wait(lambda: panel.page.chart.plot is not None and panel.page.chart.plot.height() >= 100)
    plot = panel.page.chart.plot
    place = plot.mapFromScene(plot.getPlotItem().vb.mapViewToScene(QPointF(1.1, 30)))
    QTest.mouseClick(plot.viewport(), LEFT, pos=place)
    room.wait(lambda: panel.page.steps.current() == "cough")
    lines = about(panel.page.steps)["1  Cough: present"].split("\n")
    assert lines[0] == "set by hand"
    after = shown(by_fractions(FLU, Fraction(2)))
    assert f"Flu: ×2, 20% → {after}" in lines
    assert f"Cold: ×4, 50% → {shown(by_fractions(COLD, Fraction(4)))}" in lines
    absent = about(panel.page.steps)["2  Fever: absent"]
    assert "Cold: no published ratio, not moved" in absent
    QTest.keyClick(panel.page.steps, Qt.Key.Key_Up)
    assert panel.page.steps.current() == ""
    assert "Flu: 20%  (10% – 30%)" in about(panel.page.steps)["Before any finding"]


def test_a_bar_shows_its_sources_and_its_prior_can_be_changed(room: Room):
    room.choose()
    room.click_state("Fever", 1)
    bar = next(one for one in room.panel.page.bars.bars if one.hypothesis == "flu")
    # 2 (1 to 4) on 0.2 (0.1 to 0.3).
    low, high = by_fractions(Fraction(1, 10)), by_fractions(Fraction(3, 10), Fraction(4))
    value = by_fractions(FLU, Fraction(2))
    assert bar.text() == f"Flu: {shown(value)}  ({shown(low)} – {shown(high)})"
    assert "Below 5% one stops testing. Above 75% one treats" in bar.accessibleName()
    bar.setFocus()
    QTest.keyClick(bar, Qt.Key.Key_Space)
    room.settle()
    assert room.panel.page.tabs.currentIndex() == SOURCES
    room.tab(FINDINGS)
    QTest.mouseClick(bar, LEFT)
    room.settle()
    text = room.panel.page.sources.toPlainText()
    assert room.panel.page.tabs.currentIndex() == SOURCES
    assert text.startswith("Before any finding: 20%  (10% – 30%)\nMade up\nPopulation: nobody\n")
    assert "Fever: present  ×2 (1 – 4)\nMade up\n" in text
    assert "Below 5% one stops testing\nMade up\n" in text
    assert "Above 75% one treats\nMade up\n" in text
    assert text.count("Figure not looked up") == 4
    field = room.panel.page.prior
    field.selectAll()
    QTest.keyClicks(field, "60")
    QTest.keyClick(field, Qt.Key.Key_Return)
    room.settle()
    assert room.percent("Flu") == shown(by_fractions(Fraction(3, 5), Fraction(2)))
    assert "set by hand; the table has 20%" in room.panel.page.sources.toPlainText()
    QTest.mouseClick(room.panel.page.reset, LEFT)
    room.settle()
    assert room.percent("Flu") == shown(value)
    room.panel.page.sources.copy_all()
    assert QApplication.clipboard().text() == room.panel.page.sources.toPlainText()


def test_what_would_change_my_mind_lists_the_tests_by_gain(room: Room):
    room.choose()
    room.tab(NEXT)
    rows = room.panel.page.gains.texts.rows
    before, positive = 0.2, 0.2 * 0.8 + 0.8 * 0.1
    after = positive * bits(0.2 * 0.8 / positive) + (1 - positive) * bits(0.2 * 0.2 / 0.76)
    assert rows[0].title == f"Positive swab · {bits(before) - after:.2g} bits"
    present, absent = by_fractions(FLU, Fraction(8)), by_fractions(FLU, Fraction(2, 9))
    assert f"Flu: present {shown(present)} · absent {shown(absent)}" in rows[0].about
    assert "cost low" in rows[0].about
    assert "Swab" in rows[0].about
    gained = [float(one.title.split(" · ")[1].split()[0]) for one in rows]
    assert gained == sorted(gained, reverse=True)


def test_nothing_of_one_patient_stays_when_another_study_is_shown(room: Room):
    room.choose()
    room.click_state("Fever", 1)
    room.tab(SOURCES)
    room.workspace.viewport.show(room.workspace.studies.with_uid("2.1"))
    room.settle()
    assert room.panel.pages.currentWidget() is room.panel.chooser
    assert room.panel.page.sources.toPlainText() == ""
    assert not room.panel.over.isVisible()
    room.choose()
    assert room.percent("Flu") == "20%"
    room.panel.show_sessions()
    room.workspace.viewport.show(room.workspace.studies.with_uid("1.1"))
    room.settle()
    assert room.panel.pages.currentWidget() is room.panel.page
    assert room.percent("Flu") == shown(by_fractions(FLU, Fraction(2)))


def test_evidence_that_cannot_be_is_told_and_the_window_goes_on(room: Room, site: Path):
    table = table_with_links()
    table["ratios"][4] |= {"specificity": [1]}
    table["ratios"][3] |= {"hypothesis": "flu", "finding": "crp", "positive": [0]}
    del table["ratios"][5]
    site.write_text(small_toml(table), "utf-8")
    QTest.mouseClick(room.panel.other, LEFT)
    room.settle()
    room.choose()
    room.click_state("Positive swab", 1)
    assert room.percent("Flu") == "100%"
    room.click_state("CRP 10 mg/L or more", 1)
    assert "both proves the disease and excludes it" in room.panel.problem.text()
    assert room.panel.page.bars.bars == []
    for place in (STEPS, NEXT, SOURCES, FINDINGS):
        room.tab(place)
    room.click_state("Positive swab", 3)
    assert not room.panel.problem.isVisible()
    assert room.percent("Flu") == "0%"


def test_a_wrong_table_of_the_site_is_told_and_the_shipped_ones_serve(room: Room, site: Path):
    site.write_text('title = "Broken"\n', "utf-8")
    QTest.mouseClick(room.panel.other, LEFT)
    room.settle()
    assert str(site) in room.panel.problem.text().replace("\u200b", "")
    assert "shipped tables" in room.panel.problem.text()
    room.choose("suspected pulmonary")
    assert room.panel.title.text() == "Suspected pulmonary embolism"


def test_the_doctor_s_sessions_are_listed_and_shown(room: Room):
    name = "panel-test"
    append_step(name, "Chest pain", ["MI", "costochondritis"], "REQUEST TEST: ECG")
    append_step(name, "ECG normal", ["costochondritis", "strain"], "DIAGNOSIS READY")
    close_session(name, FinalDiagnosis(reason_ready="enough", diagnosis="Costochondritis"))
    broken = session_file("broken")
    broken.write_text("{", "utf-8")
    try:
        QTest.mouseClick(room.panel.sessions_button, LEFT)
        room.settle()
        page = room.panel.sessions
        keys = [one.key for one in page.list.texts.rows]
        room.click_row(page.list, keys.index(name))
        text = page.text.toPlainText()
        assert "Step 1\nLearned: Chest pain\nUncertain: MI, costochondritis" in text
        assert "Next: DIAGNOSIS READY" in text
        assert "Final diagnosis: Costochondritis\nReason: enough" in text
        assert "[Step 2]\nNew Info: ECG normal" in text
        room.click_row(page.list, keys.index("broken"))
        assert "not the file of a diagnosis session" in page.text.toPlainText()
    finally:
        clear_session(name)
        broken.unlink()


def test_the_chat_fills_the_panel(site: Path, qapp: QApplication, wait_until: WaitUntil):
    program = Program()
    window = build_window(program, ViewRequest())
    try:
        window.resize(1500, 950)
        window.show()
        chat = window.findChild(ChatDock)
        assert chat is not None
        chat.submit("How likely is flu with made-up pain, fever and no cough?")
        panel = window.diagnosis_panel
        wait_until(lambda: chat.is_idle() and not window.busy and not panel.busy)
        assert window.docks["Diagnosis"].isVisible()
        assert panel.title.text() == "Made-up presentation"
        known = about(panel.page.findings)
        assert (known["Fever"], known["Cough"]) == ("said in the chat", "said in the chat")
        flu = next(one for one in panel.page.bars.bars if one.hypothesis == "flu")
        expected = by_fractions(FLU, Fraction(2), Fraction(1, 2))
        assert flu.text().startswith(f"Flu: {shown(expected)}")
    finally:
        window.quit()
        program.close()


def test_a_narrow_window_marks_the_rail_and_keeps_the_chat(room: Room):
    room.window.resize(1000, 700)
    room.settle()
    room.window.docks["Findings"].show()
    room.settle()
    room.workspace.diagnosis.filled.emit()
    assert not room.window.docks["Diagnosis"].isVisible()
    assert room.window.arrangement.rail.buttons["Diagnosis"].count == 1
    QTest.keyClick(room.window, Qt.Key.Key_7, Qt.KeyboardModifier.ControlModifier)
    room.settle()
    assert room.window.docks["Diagnosis"].isVisible()
    assert room.window.arrangement.rail.buttons["Diagnosis"].count == 0


def test_the_panel_is_german(
    site: Path,
    qapp: QApplication,
    wait_until: WaitUntil,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
):
    monkeypatch.setenv("SIGHTLINE_LANGUAGE", "de")
    use_language("en")
    room = Room(wait_until, tmp_path)
    try:
        room.choose()
        room.click_state("Fever", 1)
        tabs = room.panel.page.tabs
        assert [tabs.tabText(place) for place in range(4)] == [
            "Befunde",
            "Schritte",
            "Als Nächstes",
            "Quellen",
        ]
        room.window.resize(900, 700)
        room.settle()
        bar = tabs.tabBar()
        room.wait(lambda: bar.tabRect(3).right() <= bar.width())
        assert about(room.panel.page.findings)["Fever"] == "von Hand gesetzt"
        room.tab(SOURCES)
        assert "Zahl nicht nachgeschlagen" in room.panel.page.sources.toPlainText()
    finally:
        room.window.quit()
        monkeypatch.setenv("SIGHTLINE_LANGUAGE", "en")
        use_language("en")


def test_each_row_is_as_high_as_its_texts_once_the_list_has_its_width(room: Room):
    room.workspace.diagnosis.load()
    room.workspace.diagnosis.choose("acute-chest-pain-emergency")
    room.settle()
    table = room.panel.page.findings
    room.wait(lambda: table.columnWidth(0) > 200)
    line = table.fontMetrics().height()
    for place, row in enumerate(table.texts.rows):
        if len(row.title) < 30:
            assert table.rowHeight(place) < 2 * line, row.title


def _costs_of_showing_first(room: Room) -> dict[str, float]:
    """Show a new panel and each of its tabs; return the most computed at a stretch of each, ms."""
    diagnosis = room.workspace.diagnosis
    panel = DiagnosisPanel(diagnosis, room.workspace.record, room.window.background)
    panel.resize(420, 900)
    steps: dict[str, Callable[[], object]] = {
        "open": panel.show,
        "choose": lambda: diagnosis.choose("acute-chest-pain-emergency"),
        "steps": lambda: panel.page.tabs.setCurrentIndex(STEPS),
        "next": lambda: panel.page.tabs.setCurrentIndex(NEXT),
        "sources": lambda: panel.page.tabs.setCurrentIndex(SOURCES),
    }
    costs: dict[str, float] = {}
    for name, act in steps.items():
        beat = Heartbeat()
        with beat.loop():
            act()
            room.wait(lambda: not panel.busy)
            QApplication.processEvents()  # paints it
        beat.stop()
        costs[name] = beat.computed_ms
    panel.hide()
    panel.close_models()
    diagnosis.close([diagnosis.place])
    return costs


@pytest.mark.timed
def test_no_part_holds_the_window_up_when_it_is_shown_first(room: Room):
    room.window.docks["Diagnosis"].hide()
    costs = best([_costs_of_showing_first(room) for _ in range(3)])
    assert max(costs.values()) < stall_ms(), costs


@pytest.mark.timed
def test_a_change_of_the_largest_table_costs_less_than_a_stall(room: Room):
    largest = max(presentations().values(), key=lambda one: len(one.ratios))
    diagnosis = room.workspace.diagnosis
    diagnosis.choose(largest.id)
    room.settle()
    for place in (SOURCES, NEXT, STEPS, FINDINGS):  # their first time
        room.tab(place)
    findings = iter(largest.findings)
    for place in (FINDINGS, STEPS, NEXT, SOURCES):
        room.tab(place)
        for key in islice(findings, 3):
            start = time.thread_time()
            diagnosis.set_finding(key, True)
            while room.panel.busy:
                QApplication.processEvents()
            QApplication.processEvents()  # paints it
            cost = 1000 * (time.thread_time() - start)
            assert cost < 50 * slowness(), f"tab {place}: {cost:.0f} ms of the GUI thread"
    room.tab(STEPS)
    assert len(room.panel.page.steps.texts.rows) == 13
