"""Patients' records in the window: dropped, chosen, asked of a server; whose the shown study is."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import QMimeData, QPointF, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDropEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QFileDialog, QLabel, QPushButton, QWidget

from app.errors import Cancelled, SightlineError
from app.records.fhir_server import ServerQuery
from app.records.record_library import OpenedRecord, Progress, RecordLibrary, reading_pool
from app.secrets import Secrets
from app.tools.api import CancelToken
from app.views.main_window import MainWindow
from app.views.record.record_opening import RecordProblemsDialog
from app.views.record.source_dialog import RecordServer, RecordSourceDialog
from app.workspace.workspace import Workspace
from tests.gui.heartbeat import Heartbeat, stall_ms
from tests.gui.viewer_support import FakeDecoder, WaitUntil, activate, found, instance, study
from tests.unit.records.record_files import patient_bundle, write_bundles

pytestmark = pytest.mark.gui


@pytest.fixture(scope="module")
def library() -> Iterator[RecordLibrary]:
    pool = reading_pool(1)
    yield RecordLibrary(pool=pool)
    pool.close()


@pytest.fixture
def decoder() -> FakeDecoder:
    return FakeDecoder()


@pytest.fixture
def window(
    qapp: QApplication,
    decoder: FakeDecoder,
    library: RecordLibrary,
    tmp_path: Path,
    wait_until: WaitUntil,
) -> Iterator[MainWindow]:
    made = MainWindow(
        Workspace(),
        decoder,
        QWidget(),
        layout_file=tmp_path / "window.ini",
        record_library=library,
    )
    made.resize(1280, 800)
    made.show()
    activate(made, wait_until)
    yield made
    made.close()
    made.deleteLater()
    library.close()


def drop(window: MainWindow, *paths: Path) -> None:
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(path)) for path in paths])
    buttons, keys = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    place = window.rect().center()
    enter = QDragEnterEvent(place, Qt.DropAction.CopyAction, data, buttons, keys)
    QApplication.sendEvent(window, enter)
    event = QDropEvent(QPointF(place), Qt.DropAction.CopyAction, data, buttons, keys)
    QApplication.sendEvent(window, event)


def notices(window: MainWindow) -> str:
    return "\n".join(
        one.text() for notice in window.notices.all() for one in notice.findChildren(QLabel)
    )


def test_a_record_that_is_dropped_is_opened_and_no_image_is_missed(
    window: MainWindow, decoder: FakeDecoder, tmp_path: Path, wait_until: WaitUntil
):
    write_bundles(tmp_path / "records", 2, visits=1)
    window.recent.keep(True)
    drop(window, tmp_path / "records")
    wait_until(lambda: not window.busy)
    assert window.workspace.record.records.count() == 2
    assert window.recent.all() == [(tmp_path / "records",)]
    window.recent.keep(False)
    assert window.workspace.record.patient_id == ""  # two are open: it is not sure whose
    assert decoder.scans == []
    assert window.notices.all() == []


def test_a_folder_of_both_opens_both(
    window: MainWindow, decoder: FakeDecoder, tmp_path: Path, wait_until: WaitUntil
):
    (path,) = write_bundles(tmp_path, 1, visits=1)
    (tmp_path / "image.dcm").write_bytes(b"x")
    person = json.loads(path.read_text())["entry"][0]["resource"]
    image = instance(PatientID="MRN000000", PatientName=person["name"][0]["family"])
    decoder.result = found(study(image))
    drop(window, tmp_path)
    wait_until(lambda: not window.busy)
    assert decoder.scans == [(tmp_path,)]
    assert window.workspace.record.patient_id == person["id"]


def test_the_record_follows_the_shown_study_and_a_wrong_one_is_refused(
    window: MainWindow, decoder: FakeDecoder, tmp_path: Path, wait_until: WaitUntil
):
    write_bundles(tmp_path, 2, visits=1)
    drop(window, tmp_path)
    wait_until(lambda: not window.busy)
    record = window.workspace.record
    first = patient_bundle(0, visits=1)["entry"][0]["resource"]
    name = first["name"][0]["family"]
    own = instance("1.1", PatientID="MRN000000", PatientName=name)
    wrong = instance("1.2", PatientID="MRN000000", PatientName=name, PatientBirthDate="18000101")
    nobody = instance("1.3", PatientID="4711")
    shown = {
        own.sop_instance_uid: ("matched", first["id"]),
        wrong.sop_instance_uid: ("contradicted", ""),
        nobody.sop_instance_uid: ("none", ""),
    }
    for number, one in enumerate((own, wrong, nobody)):
        window.workspace.add(found(replace(study(one), uid=f"s{number}")), show=False)
        window.workspace.viewport.show(one)
        wait_until(lambda: not window.busy)
        assert record.match is not None
        assert (record.match.status, record.patient_id) == shown[one.sop_instance_uid]


def test_the_last_session_opens_the_record_again_and_matches_it_anew(
    window: MainWindow,
    decoder: FakeDecoder,
    library: RecordLibrary,
    tmp_path: Path,
    wait_until: WaitUntil,
):
    write_bundles(tmp_path / "records", 2, visits=1)
    (tmp_path / "image.dcm").write_bytes(b"x")
    person = patient_bundle(0, visits=1)["entry"][0]["resource"]
    linked = instance("1.1", PatientID="MRN000000", PatientName=person["name"][0]["family"])
    nobody = instance("1.2", PatientID="4711")
    decoder.result = found(study(replace(nobody, path=tmp_path / "image.dcm")))
    window.recent.keep(True)
    drop(window, tmp_path / "image.dcm")
    drop(window, tmp_path / "records")
    wait_until(lambda: not window.busy and window.workspace.record.is_open)
    window.workspace.record.choose(person["id"])
    assert window.workspace.record.is_unlinked
    window.close()
    library.close()

    again = MainWindow(
        Workspace(),
        decoder,
        QWidget(),
        layout_file=tmp_path / "window.ini",
        record_library=library,
    )
    again.show()
    activate(again, wait_until)
    again.actions_.last_session.trigger()
    wait_until(lambda: not again.busy and again.workspace.record.is_open)
    record = again.workspace.record
    assert (again.workspace.acquired or nobody).sop_instance_uid == nobody.sop_instance_uid
    assert record.records.count() == 2
    assert record.patient_id == "", "the choice for a study of nobody in the record is not kept"
    assert record.match is not None
    assert record.match.status == "none"
    again.workspace.add(found(replace(study(linked), uid="s2")), show=False)
    again.workspace.viewport.show(linked)
    wait_until(lambda: not again.busy)
    assert record.patient_id == person["id"]
    again.close_record()
    again.close()
    again.deleteLater()
    kept = again.recent.session
    again.recent.keep(False)  # other tests begin without a session
    assert kept is not None
    assert kept.records == ()


def test_identical_copies_are_told_as_a_note_and_a_zip_with_its_remedy(
    window: MainWindow, tmp_path: Path, wait_until: WaitUntil
):
    (path,) = write_bundles(tmp_path / "a", 1, visits=1)
    (tmp_path / "a" / "b.json").write_bytes(path.read_bytes())
    drop(window, tmp_path / "a")
    wait_until(lambda: not window.busy)
    assert "The record is open" in notices(window)
    assert "identical copies" in notices(window)
    assert "problem" not in notices(window)
    with zipfile.ZipFile(tmp_path / "record.zip", "w") as archive:
        archive.write(path, "patient.json")
    drop(window, tmp_path / "record.zip")
    wait_until(lambda: not window.busy)
    assert "record.zip: it is a ZIP archive: unpack it, and open the folder" in notices(window)


def test_damage_is_told_and_what_is_whole_is_open(
    window: MainWindow, tmp_path: Path, wait_until: WaitUntil
):
    write_bundles(tmp_path, 1, visits=1)
    (tmp_path / "cut.json").write_text('{"resourceType": "Bundle", "entry": [')
    drop(window, tmp_path)
    wait_until(lambda: not window.busy)
    assert window.workspace.record.records.count() == 1
    assert "1 problem in the record" in notices(window)
    assert "cut.json" in notices(window)
    assert "breaks off" in notices(window)


def test_all_of_many_problems_are_listed(window: MainWindow, tmp_path: Path, wait_until: WaitUntil):
    write_bundles(tmp_path, 1, visits=1)
    (tmp_path / "lines.ndjson").write_text("{}\n[]\n{\n<x/>\n")
    drop(window, tmp_path)
    wait_until(lambda: not window.busy)
    (notice,) = window.notices.all()
    (button,) = (one for one in notice.findChildren(QPushButton) if one.text() == "Show all")
    QTest.mouseClick(button, Qt.MouseButton.LeftButton)
    dialog = window.findChild(RecordProblemsDialog)
    assert dialog is not None
    places = [dialog.model.index(number, 1).data() for number in range(dialog.model.rowCount())]
    assert places == ["line 1", "line 2", "line 3", "line 4"]
    reasons = [dialog.model.index(number, 2).data() for number in range(4)]
    assert "resourceType" in reasons[0]
    assert "XML" in reasons[3]
    dialog.close()


def test_files_are_chosen_in_the_dialog(
    window: MainWindow, tmp_path: Path, wait_until: WaitUntil, monkeypatch: pytest.MonkeyPatch
):
    paths = write_bundles(tmp_path, 1, visits=1)
    monkeypatch.setattr(
        QFileDialog, "getOpenFileNames", lambda *_: ([str(one) for one in paths], "")
    )
    window.actions_.open_record.trigger()
    dialog = window.findChild(RecordSourceDialog)
    assert dialog is not None
    assert not dialog.ask.isVisible()
    QTest.mouseClick(dialog.files, Qt.MouseButton.LeftButton)
    wait_until(lambda: not window.busy)
    assert window.workspace.record.records.count() == 1


def test_a_server_is_asked_only_after_a_yes(window: MainWindow, wait_until: WaitUntil):
    asked: list[ServerQuery] = []

    def read(query: ServerQuery, _progress: Progress, _cancel: CancelToken) -> OpenedRecord:
        asked.append(query)
        raise SightlineError("the server asks for a valid token (401)", subject=query.host)

    window.record_server = RecordServer(Secrets(), read)
    window.actions_.open_record.trigger()
    dialog = window.findChild(RecordSourceDialog)
    assert dialog is not None
    dialog.address.setFocus()
    QTest.keyClicks(dialog.address, "https://hospital.example/fhir")
    QTest.mouseClick(dialog.ask, Qt.MouseButton.LeftButton)
    assert "names no patient" in dialog.problem.text()
    QTest.keyClicks(dialog.patient, "4711")
    for answer in ("Cancel", "Ask the server"):
        QTest.mouseClick(dialog.ask, Qt.MouseButton.LeftButton)
        box = QApplication.activeModalWidget()
        assert box is not None
        assert "hospital.example" in "".join(one.text() for one in box.findChildren(QLabel))
        assert asked == []
        (button,) = (one for one in box.findChildren(QPushButton) if one.text() == answer)
        QTest.mouseClick(button, Qt.MouseButton.LeftButton)
    wait_until(lambda: not window.busy)
    assert [(one.base, one.patient) for one in asked] == [("https://hospital.example/fhir", "4711")]
    assert "valid token" in notices(window)


def test_many_and_large_records_are_opened_without_a_stall(
    window: MainWindow, tmp_path: Path, wait_until: WaitUntil, gui_heartbeat: Heartbeat
):
    write_bundles(tmp_path, 30, visits=4)
    large = patient_bundle(99, visits=1)
    base = large["entry"][3:]
    for number in range(150):
        text = json.dumps(base)
        for one in base:
            own = one["resource"]["id"]
            text = text.replace(own, f"{number:04}{own[4:]}")
        large["entry"] += json.loads(text)
    (tmp_path / "large.json").write_text(json.dumps(large))
    gui_heartbeat.restart()
    drop(window, tmp_path)
    wait_until(lambda: not window.busy)
    assert window.workspace.record.records.count() == 31
    assert gui_heartbeat.longest_ms < stall_ms()


def test_a_record_can_be_closed(window: MainWindow, tmp_path: Path, wait_until: WaitUntil):
    action = window.actions_.close_record
    assert not action.isEnabled()
    write_bundles(tmp_path, 1, visits=1)
    drop(window, tmp_path)
    wait_until(lambda: not window.busy)
    assert action.isEnabled()
    action.trigger()
    wait_until(lambda: not window.busy)
    assert not window.workspace.record.is_open
    assert window.workspace.record.patient_id == ""
    assert not action.isEnabled()
    drop(window, tmp_path)
    wait_until(lambda: not window.busy and window.workspace.record.is_open)


def test_an_opening_can_be_stopped(window: MainWindow, wait_until: WaitUntil):
    assert window.record_opening is not None
    cancels: list[CancelToken] = []

    def slow(progress: Progress, cancel: CancelToken) -> OpenedRecord:
        cancels.append(cancel)
        progress(0.5, "Reading")
        while not cancel.cancelled:
            pass
        raise Cancelled

    window.record_opening.open_with(slow)
    wait_until(lambda: bool(cancels))
    assert window.record_opening.progress.isVisible()
    stop = window.record_opening.progress.findChildren(QWidget)[-1]
    QTest.mouseClick(stop, Qt.MouseButton.LeftButton)
    assert not window.busy
    assert cancels[0].cancelled
    assert not window.workspace.record.is_open
