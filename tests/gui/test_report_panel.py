"""The report pane in the real window: written, checked and signed by mouse and keys."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pypdfium2
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QApplication, QFileDialog, QLabel, QMessageBox

from app.errors import SightlineError
from app.imaging.findings import (
    Box,
    ComparedRegion,
    Measurement,
    Polygon,
    Polyline,
    Provenance,
    State,
)
from app.imaging.reports.checks import Fault
from app.imaging.reports.report_draft import Sentence
from app.imaging.reports.written_report import report_text
from app.paths import data_dir
from app.views.command_palette import commands_of
from app.views.main_window import MainWindow
from app.views.report.report_pictures import pictures_of
from app.views.report.section_editor import SectionEditor
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


class Room:
    """A window with a CT of two slices: a tool has found a nodule, a mass and an effusion."""

    def __init__(self, wait_until: WaitUntil, folder: Path) -> None:
        self.wait = wait_until
        layout = folder / "window.ini"
        self.window = MainWindow(Workspace(), FakeDecoder(), QLabel("chat"), layout_file=layout)
        self.window.resize(1500, 1000)
        self.window.show()
        self.workspace = self.window.workspace
        images = (instance("1.1"), instance("1.2"))
        self.workspace.add(found(study(*images)))
        one, two = frame("1.1").ref, frame("1.2").ref
        box = Box(20.5, 10.5, 60.5, 40.5)
        common: dict[str, Any] = {"value": 12.34, "units": "mm (patient)"}
        self.annotations = self.workspace.annotations
        self.annotations.reviewer = "Dr Roe"
        self.annotations.add(
            [
                finding(one, box, "Right nodule", id="nodule", **common),
                finding(two, box, "Zebra mass", id="mass", **common),
                finding(two, Box(1.5, 1.5, 9.5, 9.5), "Effusion", id="effusion"),
            ]
        )
        self.annotations.decide(["nodule"], State.ACCEPTED)
        self.annotations.decide(["mass"], State.REJECTED)
        self.panel, self.report = self.window.report_panel, self.window.report
        self.settle()
        activate(self.window, wait_until)
        QTest.keyClick(self.window.canvas, Qt.Key.Key_8, Qt.KeyboardModifier.ControlModifier)
        self.settle()

    def settle(self) -> None:
        self.wait(lambda: not self.window.busy and not self.panel.busy)

    def editor(self, key: str) -> SectionEditor:
        return self.panel.editors[key]

    def text(self, key: str) -> str:
        return self.editor(key).toPlainText()

    def click(self, widget: QAbstractButton) -> None:
        assert widget.isVisible()
        QTest.mouseClick(widget, LEFT)
        self.settle()

    def click_line(self, key: str, line: int) -> None:
        """Click into a line of a section."""
        editor = self.editor(key)
        self.panel.scrolled.ensureWidgetVisible(editor)
        block = editor.document().findBlockByNumber(line)
        around = editor.document().documentLayout().blockBoundingRect(block)
        QTest.mouseClick(editor.viewport(), LEFT, pos=QPoint(40, round(around.center().y())))
        self.settle()

    def type_at_end(self, key: str, words: str) -> None:
        editor = self.editor(key)
        editor.setFocus()
        QTest.keyClick(editor, Qt.Key.Key_End, Qt.KeyboardModifier.ControlModifier)
        QTest.keyClicks(editor, words)
        self.settle()

    def faults(self) -> list[Fault]:
        return [one.fault for one in self.report.checks]

    def answer(self, text: str) -> None:
        """Click a button of the dialog that is open."""
        box = next(w for w in QApplication.topLevelWidgets() if isinstance(w, QMessageBox))
        button = next(one for one in box.buttons() if one.text().replace("&", "") == text)
        QTest.mouseClick(button, LEFT)
        self.settle()

    def close(self) -> None:
        self.window.quit()


@pytest.fixture
def room(wait_until: WaitUntil, tmp_path: Path):
    made = Room(wait_until, tmp_path)
    yield made
    made.close()
    shutil.rmtree(data_dir() / "reports", ignore_errors=True)


def test_the_draft_follows_what_is_accepted_until_it_is_edited(room: Room) -> None:
    assert room.window.docks["Report"].isVisible()
    names = [text for text, _ in commands_of(room.window)]
    assert any(one.endswith("Report") for one in names)
    assert room.text(section_of(room, "nodule")) == "Right nodule: 12.3 mm (series 1, image 1)."
    everything = "\n".join(room.text(key) for key in room.panel.editors)
    assert "Zebra" not in everything
    assert "Effusion" not in everything
    assert room.panel.status.text() == "Draft, not signed"
    assert len(room.panel.pictures) == 1
    room.annotations.decide(["effusion"], State.ACCEPTED)
    room.settle()
    assert "Effusion" in "\n".join(room.text(key) for key in room.panel.editors)
    assert len(room.panel.pictures) == 2
    room.annotations.decide(["effusion"], State.PROPOSED)
    room.settle()
    assert "Effusion" not in "\n".join(room.text(key) for key in room.panel.editors)


def section_of(room: Room, finding_id: str) -> str:
    """Return the section of findings whose sentence rests on a finding."""
    draft = room.report.draft
    assert draft is not None
    return next(s.key for s, _, one in draft.told() if finding_id in one.findings)


def test_a_click_on_a_sentence_shows_its_finding_and_the_finding_its_sentence(room: Room) -> None:
    room.annotations.decide(["effusion"], State.ACCEPTED)
    room.settle()
    room.workspace.show_image(frame("1.1").ref)
    room.click_line(section_of(room, "effusion"), 0)
    assert room.annotations.selected == "effusion"
    assert room.workspace.acquired.sop_instance_uid == "1.2"
    key = section_of(room, "nodule")
    assert room.editor(key).extraSelections() == []
    room.annotations.select("nodule")
    room.settle()
    assert len(room.editor(key).extraSelections()) == 1
    room.click(room.panel.pictures[1])
    assert room.annotations.selected in ("nodule", "effusion")


def test_a_compared_finding_is_pictured_now_and_before(room: Room) -> None:
    """Each film has its own region drawn, and its date beside it."""
    now, before = (frame(uid).ref for uid in ("2.1", "3.1"))
    for ref, date, uid in ((now, "20240131", "s2"), (before, "20230405", "s3")):
        image = instance(ref.sop_instance_uid, StudyDate=date)
        room.workspace.add(found(replace(study(image, uid=uid), date=date)))
    corners = (10.5, 10.5, 30.5, 30.5), (12.5, 12.5, 22.5, 22.5)
    sizes = (
        Measurement("Longer side", 20.0, "px"),
        Measurement("Longer side, prior", 10.0, "px", date="20230405"),
    )
    pair = finding(
        *(now, Polygon(((13, 13), (23, 13), (23, 23), (13, 23))), "Prior, left nodule 1 (larger)"),
        id="pair",
        measurements=sizes,
        rests_on=("Left nodule",),
        compared=(ComparedRegion(now, corners[0]), ComparedRegion(before, corners[1])),
    )
    room.annotations.add([pair])
    room.annotations.decide(["pair"], State.ACCEPTED)
    room.workspace.show_image(now)
    room.settle()
    shown = pictures_of(room.report.cited(), room.workspace.studies.with_uid)
    assert [one.title("en") for one in shown] == [
        "Left nodule, 2024-01-31",
        "Left nodule, 2023-04-05",
    ]
    drawn_on = [[one.finding.geometry for one in picture.annotations] for picture in shown]
    assert drawn_on == [[pair.geometry, Box(*corners[0])], [Box(*corners[1])]]
    names = [one.accessibleName() for one in room.panel.pictures]
    assert names == [f"Show {one.title('en')} on its image" for one in shown]
    assert room.text("impression") == "Left nodule: 20 px, 10 px on 2023-04-05."
    room.click(room.panel.pictures[1])
    assert room.workspace.acquired.sop_instance_uid == "3.1"


def test_typing_is_kept_checked_and_undone(room: Room) -> None:
    key = section_of(room, "nodule")
    before = room.text(key)
    room.type_at_end(key, " Left")
    assert room.faults() == [Fault.SIDE]
    assert "the text says left, the finding right" in room.panel.checks.texts.rows[0].title
    assert not room.panel.sign.isEnabled()
    QTest.keyClick(room.editor(key), Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
    room.settle()
    assert room.text(key) == before
    assert room.faults() == []
    QTest.keyClick(room.editor(key), Qt.Key.Key_Return)
    QTest.keyClicks(room.editor(key), "No pneumothorax.")
    room.settle()
    section = room.report.draft.section(key)
    assert section.sentences[-1] == Sentence("No pneumothorax.")
    assert section.sentences[0].findings == ("nodule",)
    room.wait(lambda: bool(list((data_dir() / "reports").glob("*.json"))))


def test_a_finding_that_is_rejected_is_struck_and_removed(room: Room) -> None:
    key = section_of(room, "nodule")
    room.type_at_end("impression", " Control.")
    room.annotations.decide(["nodule"], State.REJECTED)
    room.annotations.decide(["effusion"], State.ACCEPTED)
    room.settle()
    assert set(room.faults()) == {Fault.STRUCK, Fault.MISSING}
    selections = room.editor(key).extraSelections()
    assert [one.format.fontStrikeOut() for one in selections] == [True]
    room.click(room.panel.remove_struck)
    assert room.text(key) == ""
    room.click(room.panel.add_missing)
    assert room.faults() == []
    assert section_of(room, "effusion")
    room.window.workspace.commands.undo()
    room.window.workspace.commands.undo()
    room.settle()
    assert "Right nodule" in room.text(key)


def test_signing_makes_it_read_only_and_it_comes_back(
    room: Room, wait_until: WaitUntil, tmp_path: Path
) -> None:
    key = section_of(room, "nodule")
    room.panel.name.setText("")
    QTest.keyClicks(room.panel.name, "Dr Jane Roe")
    room.click(room.panel.sign)
    assert room.panel.status.text().startswith("Signed by Dr Jane Roe, ")
    assert room.editor(key).isReadOnly()
    before = room.text(key)
    room.type_at_end(key, "more")
    assert room.text(key) == before
    room.click(room.panel.addendum)
    assert room.panel.addendum_editor is not None
    QTest.keyClicks(room.panel.addendum_editor, "Compared with the film of May.")
    room.settle()
    room.click(room.panel.sign)
    written = room.report.written()
    assert written.status == "appended"
    assert [text for _, text in written.addenda] == ["Compared with the film of May."]
    saved = room.annotations.all()
    room.wait(lambda: not room.report._saving)
    room.close()

    other = MainWindow(Workspace(), FakeDecoder(), QLabel("chat"), layout_file=tmp_path / "b.ini")
    other.show()
    other.workspace.add(found(study(instance("1.1"), instance("1.2"))))
    other.workspace.annotations.put_all(saved, "back")
    other.docks["Report"].show()
    wait_until(lambda: not other.busy and not other.report_panel.busy)
    assert other.report.signed
    assert other.report.draft.addenda[0].text == "Compared with the film of May."
    assert other.report_panel.editors[key].toPlainText() == before
    other.quit()


def test_a_signature_is_taken_back_only_when_asked(room: Room) -> None:
    room.click(room.panel.sign)
    assert room.report.signed
    room.click(room.panel.unsign)
    room.answer("Cancel")
    assert room.report.signed
    room.click(room.panel.unsign)
    room.answer("Take back the signature")
    assert not room.report.signed


def test_a_missing_finding_must_be_confirmed_when_signing(room: Room) -> None:
    room.type_at_end("impression", " Control.")
    room.annotations.decide(["effusion"], State.ACCEPTED)
    room.settle()
    room.click(room.panel.sign)
    assert not room.report.signed
    room.answer("Sign")
    assert room.report.signed


def test_own_sentences_are_listed_in_the_note_and_asked_about_when_signing(room: Room) -> None:
    assert room.panel.checks_title.text() == "The text agrees with the findings"
    sections = room.report.draft.sections
    empty = next(one.key for one in sections if one.tells_findings and not one.sentences)
    room.type_at_end(empty, "Small left pneumothorax.")
    assert room.faults() == [Fault.OWN]
    assert room.panel.checks_title.text() == "1 thing to look at"
    [row] = room.panel.checks.texts.rows
    assert "rests on no finding" in row.title
    assert "Small left pneumothorax." in row.about
    room.click(room.panel.sign)
    box = next(w for w in QApplication.topLevelWidgets() if isinstance(w, QMessageBox))
    assert "rest on no finding:" in box.informativeText()
    assert "Small left pneumothorax." in box.informativeText()
    assert not room.report.signed
    room.answer("Sign")
    assert room.report.signed
    assert "agrees" not in room.panel.checks_title.text()


def test_a_question_about_a_report_that_is_left_meanwhile_signs_no_other(room: Room) -> None:
    room.type_at_end("impression", " Control.")
    room.annotations.decide(["effusion"], State.ACCEPTED)
    room.settle()
    room.click(room.panel.sign)
    other = instance("9.1", StudyInstanceUID="9")
    room.workspace.add(found(study(other, uid="9")))
    room.workspace.viewport.show(other)
    room.settle()
    assert room.report.key != ""
    room.answer("Sign")
    assert not room.report.signed
    assert "Another report" in room.panel.problem.text()
    room.workspace.viewport.show(instance("1.1"))
    room.settle()
    assert not room.report.signed


def test_another_template_is_chosen(room: Room) -> None:
    room.type_at_end("impression", " Control.")
    room.panel._list_templates()
    action = next(a for a in room.panel.template_menu.actions() if a.text() == "Imaging report")
    action.trigger()
    room.answer("Draft it again")
    assert list(room.panel.editors) == [
        *("clinical", "technique", "comparison", "findings", "impression"),
    ]
    room.window.workspace.commands.undo()
    room.settle()
    assert room.text("impression").endswith("Control.")


def test_the_users_own_length_is_told_and_a_guiding_box_is_not(room: Room) -> None:
    value = Measurement("Length", 23.04, "mm", "patient")
    hand = Provenance("ruler", "", "", "", "", "")
    length = finding(frame("1.1").ref, Polyline(((1.0, 2.0), (30.0, 2.0))), "Length", id="own")
    length = replace(
        length, provenance=hand, measurements=(value,), value=23.04, units="mm (patient)"
    )
    box = finding(frame("1.1").ref, Box(1.5, 1.5, 9.5, 9.5), "Box", id="box", tool="mark_box")
    box = replace(box, provenance=replace(hand, tool="mark_box"))
    room.annotations.put(length, "Draw a length")
    room.annotations.put(box, "Draw a box")
    room.settle()
    told = set(room.report.draft.cited())
    assert "own" in told
    assert "box" not in told


def test_nothing_of_another_study_is_told(room: Room) -> None:
    other = replace(study(instance("2.1", PatientID="0815"), uid="t"), patient_id="0815")
    room.workspace.add(found(other))
    room.settle()
    assert room.workspace.acquired.sop_instance_uid == "2.1"
    assert room.report.draft.cited() == []
    assert "nodule" not in "\n".join(room.text(key) for key in room.panel.editors)


def test_a_model_words_it_and_what_it_adds_is_refused(room: Room) -> None:
    assert not room.panel.word.isVisible()
    key = section_of(room, "nodule")
    before = room.text(key)
    answers = [["A nodule on the right of 12.3 mm (series 1, image 1).", "Right nodule."]]
    asked: list[list[str]] = []

    def worder(sentences: list[str], _language: str) -> list[str]:
        asked.append(sentences)
        return answers[-1]

    room.panel.set_worder(worder)
    room.settle()
    room.click(room.panel.word)
    room.wait(lambda: room.text(key) == answers[0][0])
    assert asked == [[before, "Right nodule."]]
    assert room.report.draft.section(key).sentences[0].findings == ("nodule",)
    answers.append(
        ["A malignant nodule on the right of 12.3 mm (series 1, image 1).", "Right nodule."]
    )
    room.click(room.panel.word)
    room.wait(lambda: 'adds "malignant"' in room.panel.problem.text())
    assert room.text(key) == answers[0][0]
    room.window.workspace.commands.undo()
    room.settle()
    assert room.text(key) == before


FORMS = [
    ("Text (*.txt)", "txt"),
    ("PDF (*.pdf)", "pdf"),
    ("FHIR DiagnosticReport (*.json)", "json"),
]


@pytest.mark.parametrize(("name", "ending"), FORMS)
def test_it_is_exported_from_the_menu(room: Room, tmp_path: Path, name: str, ending: str) -> None:
    room.window.actions_.export_report.trigger()
    dialog = next(w for w in QApplication.topLevelWidgets() if isinstance(w, QFileDialog))
    dialog.selectNameFilter(name)
    dialog.filterSelected.emit(name)
    assert "Doe" not in dialog.selectedFiles()[0]
    dialog.selectFile(str(tmp_path / "made"))
    dialog.accept()
    file = tmp_path / f"made.{ending}"
    room.wait(lambda: file.exists() and not room.window.busy)
    data = file.read_bytes()
    if ending != "pdf":
        told = data.decode()
    else:
        pages = pypdfium2.PdfDocument(data)
        told = "".join(page.get_textpage().get_text_range() for page in pages)
        assert pages.get_metadata_dict()["Title"] == "Report"
    assert "Right nodule: 12.3 mm" in told
    assert "Draft, not signed" in told
    assert "Zebra" not in told
    assert "Effusion" not in told


def test_no_file_name_tells_of_the_patient(room: Room) -> None:
    room.type_at_end("impression", " Control.")
    room.wait(lambda: bool(list((data_dir() / "reports").glob("*.json"))))
    [file] = (data_dir() / "reports").glob("*.json")
    assert json.loads(file.read_text())["version"] == 1
    assert len(file.stem) == 32
    assert int(file.stem, 16) >= 0


def lines_with_ids(room: Room, key: str) -> list[tuple[str, tuple[str, ...]]]:
    section = room.report.draft.section(key)
    return [(one.text, one.findings) for one in section.sentences]


def test_joined_lines_rest_on_the_findings_of_both(room: Room) -> None:
    room.annotations.decide(["effusion"], State.ACCEPTED)
    room.settle()
    lines = lines_with_ids(room, "impression")
    assert [ids for _, ids in lines] == [("nodule",), ("effusion",)]
    editor = room.editor("impression")
    editor.setFocus()
    QTest.keyClick(editor, Qt.Key.Key_End, Qt.KeyboardModifier.ControlModifier)
    QTest.keyClick(editor, Qt.Key.Key_Home)
    QTest.keyClick(editor, Qt.Key.Key_Backspace)
    room.settle()
    joined = "".join(text for text, _ in lines)
    assert lines_with_ids(room, "impression") == [(joined, ("nodule", "effusion"))]
    room.annotations.decide(["effusion"], State.REJECTED)
    room.settle()
    written = room.report.written()
    assert written is not None
    assert "Effusion" not in report_text(written)


def test_a_sentence_that_is_moved_by_cut_and_paste_keeps_its_findings(room: Room) -> None:
    room.annotations.decide(["effusion"], State.ACCEPTED)
    room.settle()
    key = section_of(room, "nodule")
    [line] = lines_with_ids(room, key)
    editor, control = room.editor(key), Qt.KeyboardModifier.ControlModifier
    editor.setFocus()
    QTest.keyClick(editor, Qt.Key.Key_A, control)
    QTest.keyClick(editor, Qt.Key.Key_X, control)
    room.settle()
    assert room.text(key) == ""
    there = room.editor("clinical")
    there.setFocus()
    QTest.keyClicks(there, "First.")
    QTest.keyClick(there, Qt.Key.Key_Return)
    QTest.keyClick(there, Qt.Key.Key_V, control)
    room.settle()
    assert lines_with_ids(room, "clinical") == [("First.", ()), line]
    room.annotations.decide(["nodule"], State.REJECTED)
    room.settle()
    written = room.report.written()
    assert written is not None
    assert "nodule" not in report_text(written).lower()
    assert "Nodule" not in written.title
    struck = room.editor("clinical").extraSelections()
    assert [one.format.fontStrikeOut() for one in struck] == [True]


def test_whose_report_it_is_can_be_read_and_no_line_passes_to_another_study(room: Room) -> None:
    assert "Doe" in room.panel.subject.text()
    old = room.editor("impression")
    other = study(instance("2.1", PatientID="0815"), uid="t", patient="Poe^Ann")
    room.workspace.add(found(replace(other, patient_id="0815")))
    room.report.follow()
    old.insertPlainText("Meant for Doe. ")  # typed before the pane has followed
    room.settle()
    assert "Poe, Ann" in room.panel.subject.text()
    assert "Meant" not in "".join(room.text(key) for key in room.panel.editors)


def test_what_is_accepted_or_changed_after_signing_is_seen(room: Room) -> None:
    room.click(room.panel.sign)
    assert not room.panel.since.isVisible()
    room.annotations.decide(["effusion"], State.ACCEPTED)
    room.settle()
    assert room.faults() == [Fault.LATER]
    assert room.panel.since.isVisible()
    assert "Accepted after the signature: Effusion" in room.panel.checks.texts.rows[0].title
    room.annotations.decide(["effusion"], State.PROPOSED)
    nodule = room.annotations.get("nodule").finding
    room.annotations.put(replace(nodule, value=15.0), "Edit")
    room.settle()
    assert Fault.CHANGED in room.faults()
    with pytest.raises(SightlineError, match="changed since"):
        room.report.written()


def test_the_login_is_no_name_to_sign_with(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    assert room.panel.name.text() == "Dr Roe"
    room.panel.name.clear()
    monkeypatch.setattr("app.workspace.review.getpass.getuser", lambda: "jroe7")
    room.annotations.reviewer = "jroe7"
    room.panel._shown = ()
    room.annotations.decide(["effusion"], State.ACCEPTED)
    room.settle()
    assert room.panel.name.text() == ""
    room.click(room.panel.sign)
    assert not room.report.signed
    assert "no name" in room.panel.problem.text()


def test_an_empty_report_does_not_claim_to_agree(room: Room) -> None:
    room.annotations.decide(["nodule"], State.PROPOSED)
    room.settle()
    assert room.panel.checks_title.text() == "Nothing is accepted or measured yet"


def test_a_report_is_not_saved_for_another_study_than_was_asked_for(
    room: Room, tmp_path: Path
) -> None:
    room.window.actions_.export_report.trigger()
    dialog = next(w for w in QApplication.topLevelWidgets() if isinstance(w, QFileDialog))
    room.workspace.add(found(study(instance("2.1", PatientID="0815"), uid="t", patient="Poe^Ann")))
    room.settle()
    dialog.selectFile(str(tmp_path / "made"))
    dialog.accept()
    room.settle()
    assert list(tmp_path.glob("made*")) == []
    told = [one.text for notice in room.window.notices.all() for one in notice.findChildren(QLabel)]
    assert any("nothing was saved" in text() for text in told)
