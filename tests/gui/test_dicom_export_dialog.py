"""The dialog that writes DICOM objects, by mouse and keys on the real window and real files."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pydicom
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QApplication, QMessageBox

from app.imaging.decode import Decoder
from app.imaging.exports import KINDS, SC, SEG, SR
from app.imaging.findings import Finding, Mask, Polyline, Provenance, State
from app.views.dicom_export_dialog import DicomExportDialog
from app.views.main_window import MainWindow
from app.workspace.workspace import Workspace
from tests.gui.viewer_support import WaitUntil, activate
from tests.unit.imaging.export_sets import source_files

pytestmark = pytest.mark.gui


@pytest.fixture
def window(
    qapp: QApplication, tmp_path: Path, wait_until: WaitUntil, monkeypatch: pytest.MonkeyPatch
) -> Iterator[MainWindow]:
    monkeypatch.setenv("SIGHTLINE_HOME", str(tmp_path / "home"))
    decoder = Decoder()
    made = MainWindow(Workspace(), decoder, layout_file=tmp_path / "window.ini")
    made.show()
    folder = tmp_path / "in"
    folder.mkdir()
    made.open_paths(source_files(folder, "CT", 7))
    wait_until(lambda: made.canvas.picture is not None and not made.busy)
    activate(made, wait_until)
    yield made
    made.quit()
    made.deleteLater()
    decoder.close()


def click(button: QAbstractButton) -> None:
    place = QPoint(9, button.height() // 2)
    QTest.mouseClick(button, Qt.MouseButton.LeftButton, pos=place)


def dialog_of(window: MainWindow) -> DicomExportDialog:
    window.actions_.export_dicom.trigger()
    return window.findChildren(DicomExportDialog)[-1]


def marks(window: MainWindow) -> tuple[Finding, Finding]:
    """Add a mask that a tool proposes, and a line by hand."""
    frame = window.canvas.frame
    assert frame is not None
    pixels = np.zeros((frame.rows, frame.columns), bool)
    pixels[3:9, 4:12] = True
    tool = Provenance("segment", "1.0", "net", "00" * 32, "run", "call")
    mask = Finding("m", frame.ref, Mask(pixels), "Right Lung", None, "", tool)
    line = Polyline(((2.25, 3.5), (9.0, 12.75)))
    hand = Provenance("ruler", "", "", "", "", "")
    length = Finding("l", frame.ref, line, "Length", None, "mm", hand, 9.5, state=State.ACCEPTED)
    window.workspace.annotations.add([mask, length])
    return mask, length


def export(dialog: DicomExportDialog, folder: Path, wait_until: WaitUntil) -> None:
    dialog.folder.clear()
    QTest.keyClicks(dialog.folder, str(folder))
    click(dialog.export_button)
    wait_until(lambda: not dialog.running)


def test_all_objects_are_written_and_open_again(
    window: MainWindow, tmp_path: Path, wait_until: WaitUntil
) -> None:
    mask, _ = marks(window)
    dialog, out = dialog_of(window), tmp_path / "out"
    assert not dialog.export_button.isEnabled()
    for kind in KINDS:
        if not dialog.kinds[kind].isChecked():
            click(dialog.kinds[kind])
    click(dialog.proposed)
    assert not dialog.verifier.isEnabled()
    export(dialog, out, wait_until)
    files = sorted(out.iterdir())
    assert [path.name for path in files] == sorted(f"sightline-{kind}-1.dcm" for kind in KINDS)
    assert dialog.report.text().count(": written") == len(KINDS)
    report = pydicom.dcmread(out / "sightline-sr-1.dcm")
    assert report.VerificationFlag == "UNVERIFIED"
    seg = pydicom.dcmread(out / "sightline-seg-1.dcm")
    assert isinstance(mask.geometry, Mask)
    assert np.array_equal(seg.pixel_array.squeeze().astype(bool), mask.geometry.pixels)
    capture = pydicom.dcmread(out / "sightline-sc-1.dcm")
    assert (capture.BurnedInAnnotation, capture.ConversionType) == ("YES", "WSD")
    assert len(np.unique(capture.pixel_array)) > 10
    if shutil.which("dciodvfy"):
        for path in files:
            told = subprocess.run(["dciodvfy", str(path)], capture_output=True, check=False)
            assert b"Error" not in told.stdout + told.stderr, path.name
    dialog.reject()
    window.open_paths([out])
    kinds = {"SR", "SEG", "PR", "KO"}
    wait_until(
        lambda: (
            kinds
            <= {one.modality for study in window.workspace.studies.all for one in study.series}
        )
    )


def test_only_what_was_accepted_is_written_and_can_be_verified(
    window: MainWindow, tmp_path: Path, wait_until: WaitUntil
) -> None:
    mask, _ = marks(window)
    dialog, out = dialog_of(window), tmp_path / "out"
    click(dialog.kinds[SEG])
    QTest.keyClicks(dialog.verifier, "Roe^Jane")
    QTest.keyClicks(dialog.organization, "Hospital")
    export(dialog, out, wait_until)
    assert [path.name for path in out.iterdir()] == ["sightline-sr-1.dcm"]
    report = pydicom.dcmread(out / "sightline-sr-1.dcm")
    assert report.VerificationFlag == "VERIFIED"
    assert report.VerifyingObserverSequence[0].VerifyingObserverName == "Roe^Jane"
    assert "Right Lung" not in str(report)
    window.workspace.annotations.put(replace(mask, state=State.ACCEPTED), "Accept")
    click(dialog.kinds[SR])
    export(dialog, out, wait_until)
    assert (out / "sightline-seg-1.dcm").exists()


def test_no_file_is_replaced_without_a_yes(
    window: MainWindow, tmp_path: Path, wait_until: WaitUntil
) -> None:
    dialog, out = dialog_of(window), tmp_path / "out"
    out.mkdir()
    there = out / "sightline-sc-1.dcm"
    there.write_bytes(b"mine")
    click(dialog.kinds[SR])
    click(dialog.kinds[SC])
    for button, kept in ((QMessageBox.ButtonRole.RejectRole, True), (None, False)):
        export(dialog, out, wait_until)
        wait_until(lambda: bool(dialog.findChildren(QMessageBox)))
        box = dialog.findChildren(QMessageBox)[-1]
        role = button or QMessageBox.ButtonRole.AcceptRole
        [found] = [one for one in box.buttons() if box.buttonRole(one) == role]
        QTest.mouseClick(found, Qt.MouseButton.LeftButton)
        wait_until(lambda: not dialog.findChildren(QMessageBox) and not dialog.running)
        assert (there.read_bytes() == b"mine") == kept
    click(dialog.kinds[SC])
    click(dialog.kinds[SEG])
    export(dialog, out, wait_until)
    assert "nothing to write" in dialog.report.text()
