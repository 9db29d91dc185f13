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
from app.imaging.exports import GSPS, KINDS, SC, SEG, SR
from app.imaging.findings import Code, Ellipse, Finding, Mask, Polyline, Provenance, State
from app.imaging.types import Content, Instance, Window
from app.views.dicom_export_dialog import DicomExportDialog
from app.views.main_window import MainWindow
from app.workspace import drawing
from app.workspace.annotations import Annotation
from app.workspace.workspace import Workspace
from tests.gui.viewer_support import WaitUntil, activate
from tests.unit.imaging.export_sets import source_files

pytestmark = pytest.mark.gui


@pytest.fixture
def window(
    qapp: QApplication,
    real_decoder: Decoder,
    tmp_path: Path,
    wait_until: WaitUntil,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[MainWindow]:
    monkeypatch.setenv("SIGHTLINE_HOME", str(tmp_path / "home"))
    made = MainWindow(Workspace(), real_decoder, layout_file=tmp_path / "window.ini")
    made.show()
    folder = tmp_path / "in"
    folder.mkdir()
    made.open_paths(source_files(folder, "CT", 7))
    wait_until(lambda: made.canvas.picture is not None and not made.busy)
    activate(made, wait_until)
    yield made
    made.quit()
    made.deleteLater()


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
    assert "Segmentations: masks: there is nothing to write" in dialog.report.text()
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


def test_a_report_s_marks_are_put_on_the_images_again(
    window: MainWindow, tmp_path: Path, wait_until: WaitUntil
) -> None:
    frame = window.canvas.frame
    assert frame is not None
    ellipse = drawing.draw(drawing.ELLIPSE, frame, [(3.0, 4.0), (15.5, 20.25)])
    ellipse = replace(ellipse, label="Zyste", code=Code("27550009", "SCT", "Vascular lesion"))
    window.workspace.annotations.put(ellipse, "Draw")
    [item] = window.workspace.annotations.all()
    dialog, out = dialog_of(window), tmp_path / "out"
    export(dialog, out, wait_until)
    dialog.reject()
    window.workspace.annotations.remove([ellipse.id])
    window.open_paths([out])
    wait_until(lambda: "SR" in modalities(window) and not window.busy)
    [report] = [
        one
        for study in window.workspace.studies.all
        for series in study.series
        for one in series.instances
        if one.content is Content.REPORT
    ]
    window.workspace.viewport.show(report)
    page = window.documents.report
    wait_until(lambda: page.take_marks.isVisible())
    assert window.actions_.report_marks.isEnabled()
    QTest.mouseClick(page.take_marks, Qt.MouseButton.LeftButton)
    wait_until(lambda: len(window.workspace.annotations.all()) == 1)
    [again] = window.workspace.annotations.all()
    assert again.finding.image == frame.ref
    assert isinstance(again.finding.geometry, Ellipse)
    known = item.finding
    assert (again.finding.id, again.finding.code) == (known.id, known.code)
    assert again.finding.description == known.description
    assert [one.value for one in again.finding.measurements] == [
        one.value for one in known.measurements
    ]
    wait_until(lambda: window.canvas.frame is not None and window.canvas.isVisible())
    wait_until(lambda: len(window.canvas.annotation_items()) == 1)
    # Again: it is there already, and nothing is doubled.
    window.workspace.viewport.show(report)
    wait_until(lambda: page.take_marks.isVisible())
    QTest.mouseClick(page.take_marks, Qt.MouseButton.LeftButton)
    wait_until(lambda: window.workspace.viewport.instance is not report)
    assert len(window.workspace.annotations.all()) == 1


def states_of(window: MainWindow) -> list[Instance]:
    return [
        one
        for study in window.workspace.studies.all
        for series in study.series
        if series.content is Content.PRESENTATION
        for one in series.instances
    ]


def modalities(window: MainWindow) -> set[str]:
    return {one.modality for study in window.workspace.studies.all for one in study.series}


def test_a_stale_mark_does_not_block_the_others(
    window: MainWindow, tmp_path: Path, wait_until: WaitUntil
) -> None:
    _, line = marks(window)
    stale = replace(
        line, id="stale", label="Old length", image=replace(line.image, pixel_sha256="0" * 64)
    )
    window.workspace.annotations.add([stale])
    dialog, out = dialog_of(window), tmp_path / "out"
    export(dialog, out, wait_until)
    assert (out / "sightline-sr-1.dcm").exists()
    text = dialog.report.text()
    assert "Old length: it was made on another version of the image" in text
    window.workspace.annotations.remove([line.id])
    (out / "sightline-sr-1.dcm").unlink()
    export(dialog, out, wait_until)
    assert "not written" in dialog.report.text()
    assert "none of the marks can be written" in dialog.report.text()
    assert not list(out.iterdir())


def test_each_pane_has_a_presentation_state_that_shows_it_again(
    window: MainWindow, tmp_path: Path, wait_until: WaitUntil
) -> None:
    folder = tmp_path / "second"
    folder.mkdir()
    for path in source_files(folder, "MR", 8):
        made = pydicom.dcmread(path)
        source = pydicom.dcmread(tmp_path / "in" / "CT-0.dcm")
        made.StudyInstanceUID, made.SeriesNumber = source.StudyInstanceUID, 4
        made.save_as(path)
    window.open_paths([folder])
    wait_until(lambda: "MR" in modalities(window) and not window.busy)
    window.actions_.layout_menu.choices["1x2"].trigger()
    wait_until(lambda: len(window.workspace.layout.visible) == 2 and not window.busy)
    views = window.workspace.layout.visible
    wait_until(lambda: all(one.frame is not None for one in views))
    displays = [
        replace(views[0].display, window=Window(111.0, 222.0), flip_h=True, quarter_turns=1),
        replace(views[1].display, window=Window(33.0, 44.0), flip_v=True, invert=True),
    ]
    for viewport, display in zip(views, displays, strict=True):
        viewport.set_display(display)
    wait_until(lambda: not window.busy)
    dialog, out = dialog_of(window), tmp_path / "out"
    click(dialog.kinds[SR])
    click(dialog.kinds[GSPS])
    export(dialog, out, wait_until)
    files = sorted(out.iterdir())
    assert [path.name for path in files] == ["sightline-gsps-1.dcm", "sightline-gsps-2.dcm"]
    for path, viewport, (center, width), turned in zip(
        files, views, ((111, 222), (33, 44)), (("Y", 270), ("Y", 180)), strict=True
    ):
        made = pydicom.dcmread(path)
        assert viewport.acquired is not None
        referred = {
            one.ReferencedSOPInstanceUID
            for one in made.ReferencedSeriesSequence[0].ReferencedImageSequence
        }
        assert len(referred) == 3
        assert viewport.acquired.sop_instance_uid in referred
        voi = made.SoftcopyVOILUTSequence[0]
        assert (voi.WindowCenter, voi.WindowWidth) == (center, width)
        assert (made.ImageHorizontalFlip, made.ImageRotation) == turned
    dialog.reject()
    # Opened again, both panes show what they showed.
    for viewport in views:
        viewport.reset_display()
    images = [one.acquired for one in views]
    window.open_paths([out])
    wait_until(lambda: len(states_of(window)) == 2 and not window.busy)
    assert views[0].presentation is not None  # one was applied to its open image
    for viewport, display, image in zip(views, displays, images, strict=True):
        if viewport.acquired is not image:  # the other state came first: its UID is random
            viewport.show(image)
            wait_until(lambda one=viewport: one.frame is not None and not window.busy)
        assert viewport.acquired is not None
        uid = viewport.acquired.sop_instance_uid
        [state] = [one for one in states_of(window) if uid in one.references]
        frame = window.viewports.frame_of(viewport)
        frame.layer_loading.apply(state)
        wait_until(lambda one=viewport: one.presentation is not None and not window.busy)
        found = frame.canvas.shown_window
        assert found is not None
        assert display.window is not None
        assert (found.center, found.width) == (display.window.center, display.window.width)
        flips = viewport.display.flip_h != viewport.display.flip_v
        assert flips == (display.flip_h != display.flip_v)


def test_what_was_made_on_other_pixels_is_told_and_not_written(
    window: MainWindow, tmp_path: Path, wait_until: WaitUntil
) -> None:
    _, length = marks(window)
    other = replace(length, id="o", image=replace(length.image, pixel_sha256="0" * 64))
    window.workspace.annotations.put(replace(other, label="Other one"), "Measure length")
    dialog, out = dialog_of(window), tmp_path / "out"
    export(dialog, out, wait_until)
    assert "sightline-sr-1.dcm: written" in dialog.report.text()
    assert "left out: Other one: it was made on another version" in dialog.report.text()
    assert "Other one" not in str(pydicom.dcmread(out / "sightline-sr-1.dcm"))


def test_nothing_is_written_while_a_mark_is_measured_again(
    window: MainWindow, tmp_path: Path, wait_until: WaitUntil
) -> None:
    marks(window)
    workspace, shown = window.workspace, window.canvas.frame
    assert shown is not None
    series = workspace.studies.all[0].series[0]
    beside = next(
        one for one in series.instances if one.sop_instance_uid != shown.ref.sop_instance_uid
    )
    workspace.scales.wanted.clear()  # nobody reads: as if the workers had much else to do
    ref = replace(shown.ref, sop_instance_uid=beside.sop_instance_uid, pixel_sha256="kept")
    workspace.scales._own.clear()
    workspace.scales._read.discard((beside.sop_instance_uid, 0))
    kept = drawing.draw(drawing.RULER, replace(shown, ref=ref), [(1, 1), (9, 9)])
    kept = replace(kept, units="mm (calibrated by hand)")
    workspace.annotations.bring_back([Annotation(kept, 0)])
    dialog, out = dialog_of(window), tmp_path / "out"
    export(dialog, out, wait_until)
    assert "being measured again" in dialog.report.text()
    assert not out.exists()
