"""The dialog for de-identified copies, by mouse and keys on the real window and real files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pydicom
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QApplication

from app.imaging.decode import Decoder
from app.imaging.deidentify.options import BURNT_IN, Option, Outcome, Summary
from app.imaging.findings import Box
from app.views.deidentify_dialog import DeidentifyDialog, summary_lines
from app.views.main_window import MainWindow
from app.workspace import drawing
from app.workspace.workspace import Workspace
from tests.gui.viewer_support import WaitUntil, activate
from tests.support.deid_canaries import image, leaks, save

pytestmark = [pytest.mark.gui, pytest.mark.usefixtures("forked")]
LEFT = Qt.MouseButton.LeftButton


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
    yield made
    made.close()
    made.deleteLater()


def click(button: QAbstractButton) -> None:
    QTest.mouseClick(button, LEFT, pos=button.rect().center() - button.rect().center() / 2)


def opened(window: MainWindow, folder: Path, wait_until: WaitUntil) -> DeidentifyDialog:
    window.open_paths([folder])
    wait_until(lambda: window.canvas.picture is not None and not window.busy)
    activate(window, wait_until)
    window.actions_.deidentify.trigger()
    (dialog,) = window.findChildren(DeidentifyDialog)
    return dialog


def test_a_study_is_copied_with_the_ticked_options(
    window: MainWindow, tmp_path: Path, wait_until: WaitUntil
):
    source, out = tmp_path / "in", tmp_path / "out"
    declared = image(2)
    declared.BurnedInAnnotation = "YES"
    save(image(1), source / "a.dcm")
    save(declared, source / "b.dcm")
    dialog = opened(window, source, wait_until)
    assert not dialog.copy_button.isEnabled()
    click(dialog.options[Option.FULL_DATES])
    click(dialog.options[Option.MODIFIED_DATES])
    assert not dialog.options[Option.FULL_DATES].isChecked()  # they exclude each other
    QTest.keyClicks(dialog.folder, str(out))
    click(dialog.copy_button)
    assert dialog.running
    wait_until(lambda: not dialog.running)
    said = dialog.report.toPlainText()
    assert "1 file copied." in said
    assert BURNT_IN in said
    assert "b.dcm" in said
    (copy,) = out.rglob("*.dcm")
    made = pydicom.dcmread(copy)
    assert made.LongitudinalTemporalInformationModified == "MODIFIED"
    assert leaks(out, ["Doe", "DOE", "4711"]) == []
    click(dialog.burnt_in)
    click(dialog.copy_button)
    wait_until(lambda: not dialog.running)
    assert "2 files copied." in dialog.report.toPlainText()
    click(dialog.close_button)


def test_a_folder_among_the_originals_is_refused(
    window: MainWindow, tmp_path: Path, wait_until: WaitUntil
):
    source = tmp_path / "in"
    save(image(1), source / "a.dcm")
    dialog = opened(window, source, wait_until)
    QTest.keyClicks(dialog.folder, str(source / "out"))
    click(dialog.copy_button)
    wait_until(lambda: not dialog.running)
    assert "among the originals" in dialog.report.toPlainText()
    assert sorted(source.iterdir()) == [source / "a.dcm"]


def test_stop_keeps_what_was_copied_and_closing_leaves_nothing_running(
    window: MainWindow, tmp_path: Path, wait_until: WaitUntil
):
    source = tmp_path / "in"
    for number in range(1, 60):
        save(image(number), source / f"{number:02d}.dcm")
    dialog = opened(window, source, wait_until)
    QTest.keyClicks(dialog.folder, str(tmp_path / "out"))
    click(dialog.copy_button)
    click(dialog.stop_button)
    wait_until(lambda: not dialog.running)
    assert "Stopped" in dialog.report.toPlainText()
    click(dialog.copy_button)
    dialog.reject()


def test_the_summary_names_what_was_left_out_and_what_to_look_at():
    summary = Summary(
        [
            Outcome(Path("a.dcm"), copy="x/a.dcm", warnings=("look at it",)),
            Outcome(Path("b.dcm"), reason="it is cut off", remedy="Copy it again"),
        ]
    )
    assert summary_lines(summary) == [
        "1 file copied.",
        "1 copy: look at it.",
        "1 file left out:",
        "1 file: it is cut off. Copy it again.",
        "  b.dcm: it is cut off",
    ]


def test_what_lies_in_marked_boxes_is_blanked_in_the_copies(
    window: MainWindow, tmp_path: Path, wait_until: WaitUntil
):
    source, out = tmp_path / "in", tmp_path / "out"
    for number in (1, 2):
        made = image(number)
        made.BurnedInAnnotation = "YES"
        save(made, source / f"{number}.dcm")
    dialog = opened(window, source, wait_until)
    assert not dialog.blank.isEnabled()
    dialog.reject()
    frame = window.canvas.frame
    assert frame is not None
    box = drawing.draw(drawing.BOX, frame, [(1.0, 2.0), (4.0, 3.0)])
    window.workspace.annotations.put(box, "Mark")
    wait_until(lambda: window.workspace.scales.is_of(frame.ref) is True)
    window.actions_.deidentify.trigger()
    dialog = window.findChildren(DeidentifyDialog)[-1]
    assert dialog.blank.isEnabled()
    assert "1 marked box" in dialog.blank.text()
    click(dialog.blank)
    QTest.keyClicks(dialog.folder, str(out))
    click(dialog.copy_button)
    wait_until(lambda: not dialog.running)
    assert "2 files copied." in dialog.report.toPlainText()
    copies = [pydicom.dcmread(path) for path in out.rglob("*.dcm")]
    assert isinstance(box.geometry, Box)
    shape = box.geometry
    rows = slice(round(shape.y0 + 0.5), round(shape.y1 + 0.5))
    columns = slice(round(shape.x0 + 0.5), round(shape.x1 + 0.5))
    for copy in copies:
        pixels = np.arange(64).reshape(8, 8)
        pixels[rows, columns] = 0
        assert np.array_equal(copy.pixel_array, pixels)
        assert (copy.BurnedInAnnotation, copy.PatientIdentityRemoved) == ("NO", "YES")
    dialog.reject()
    window.workspace.annotations.remove([box.id])  # or closing would ask
