"""Key images: marked by key, shown on the image and in the list, kept, written and read again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pydicom
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from app.imaging.decode import Decoder
from app.imaging.exports import KO, SR
from app.views.browser.study_rows import KEYS, SeriesRow
from app.views.dicom_export_dialog import DicomExportDialog
from app.views.main_window import MainWindow
from app.workspace.workspace import Workspace
from tests.gui.viewer_support import WaitUntil, activate
from tests.unit.imaging.export_sets import source_files

pytestmark = pytest.mark.gui
Open = Callable[[str], MainWindow]


@pytest.fixture
def open_window(
    qapp: QApplication,
    real_decoder: Decoder,
    tmp_path: Path,
    wait_until: WaitUntil,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Open]:
    monkeypatch.setenv("SIGHTLINE_HOME", str(tmp_path / "home"))
    made: list[MainWindow] = []

    def run(kind: str) -> MainWindow:
        folder = tmp_path / kind
        if not folder.exists():
            folder.mkdir()
            source_files(folder, kind, 7)
        window = MainWindow(
            Workspace(),
            real_decoder,
            layout_file=tmp_path / "window.ini",
            marks_file=tmp_path / "marks.sqlite",
        )
        made.append(window)
        window.show()
        window.open_paths([folder])
        wait_until(lambda: window.canvas.picture is not None and not window.busy)
        activate(window, wait_until)
        return window

    yield run
    for window in made:
        window.quit()
        window.deleteLater()


def signs(window: MainWindow) -> list[str]:
    return [line for line in window.canvas._corners().state if "Key image" in line]


def counts(window: MainWindow) -> list[int]:
    model = window.study_list.model
    indices = [model.index(number) for number in range(model.rowCount())]
    return [one.data(KEYS) for one in indices if isinstance(model.row(one), SeriesRow)]


def export_keys(window: MainWindow, out: Path, wait_until: WaitUntil) -> pydicom.Dataset:
    window.actions_.export_dicom.trigger()
    dialog = window.findChildren(DicomExportDialog)[-1]
    for kind in (SR, KO):
        QTest.mouseClick(dialog.kinds[kind], Qt.MouseButton.LeftButton)
        dialog.kinds[kind].setChecked(kind == KO)
    QTest.keyClicks(dialog.folder, str(out))
    QTest.mouseClick(dialog.export_button, Qt.MouseButton.LeftButton)
    wait_until(lambda: not dialog.running and (out / "sightline-ko-1.dcm").exists())
    dialog.reject()
    return pydicom.dcmread(out / "sightline-ko-1.dcm")


def referred(made: pydicom.Dataset) -> list[tuple[str, list[int]]]:
    found: list[tuple[str, list[int]]] = []
    for item in made.ContentSequence:
        for one in item.get("ReferencedSOPSequence", ()):
            frames = one.get("ReferencedFrameNumber") or []
            listed = frames if isinstance(frames, Sequence) else [frames]
            found.append((one.ReferencedSOPInstanceUID, [int(part) for part in listed]))
    return found


def test_a_key_image_is_marked_shown_kept_and_written(
    open_window: Open, tmp_path: Path, wait_until: WaitUntil
) -> None:
    window = open_window("CT")
    assert (signs(window), counts(window)) == ([], [0])
    window.canvas.setFocus()
    QTest.keyClick(window.canvas, Qt.Key.Key_Down)
    wait_until(lambda: window.canvas.scroller.place[0] == 1 and not window.busy)
    shown = window.workspace.viewport.instance
    assert shown is not None
    QTest.keyClick(window.canvas, Qt.Key.Key_K, Qt.KeyboardModifier.ControlModifier)
    assert signs(window) == ["★ Key image"]
    assert window.actions_.key_image.isChecked()
    assert counts(window) == [1]
    row = window.study_list.model.index(1)
    assert "1 key image" in row.data(Qt.ItemDataRole.ToolTipRole)
    window.workspace.commands.undo()
    assert (signs(window), counts(window)) == ([], [0])
    window.workspace.commands.redo()
    QTest.keyClick(window.canvas, Qt.Key.Key_Up)
    wait_until(lambda: window.canvas.scroller.place[0] == 0 and not window.busy)
    assert signs(window) == []
    window.actions_.next_key.trigger()
    wait_until(lambda: window.workspace.viewport.instance is shown and not window.busy)
    assert signs(window) == ["★ Key image"]
    made = export_keys(window, tmp_path / "out", wait_until)
    assert referred(made) == [(shown.sop_instance_uid, [])]
    assert window.marks is not None
    wait_until(lambda: window.marks is not None and window.marks.saved and not window.marks.loading)
    window.quit()
    # There again in another session, and gone from the database with its study.
    again = open_window("CT")
    wait_until(lambda: counts(again) == [1])
    assert [one.sop_instance_uid for one in again.workspace.key_marks.own] == [
        shown.sop_instance_uid
    ]
    keeping = again.marks
    assert keeping is not None
    [kept] = keeping._store.studies()
    assert kept.marks == 1
    keeping.purge([kept], lambda: None)
    wait_until(lambda: counts(again) == [0])
    assert keeping._store.studies() == []
    assert keeping.saved


def test_a_key_object_that_is_opened_shows_the_same_sign_on_its_frames(
    open_window: Open, tmp_path: Path, wait_until: WaitUntil
) -> None:
    window = open_window("multi")
    shown = window.workspace.viewport.instance
    assert shown is not None
    assert shown.frames == 5
    window.workspace.viewport.scroll_to(3)
    wait_until(lambda: window.workspace.viewport.frame_index == 3 and not window.busy)
    window.actions_.key_image.trigger()
    wait_until(lambda: signs(window) != [])
    made = export_keys(window, tmp_path / "out", wait_until)
    assert referred(made) == [(shown.sop_instance_uid, [4])]
    window.actions_.key_image.trigger()
    wait_until(lambda: signs(window) == [] and counts(window) == [0])
    window.open_paths([tmp_path / "out"])
    wait_until(lambda: sum(counts(window)) == 1 and not window.busy)
    window.workspace.viewport.show(shown, 3)
    wait_until(lambda: not window.busy and window.canvas.picture is not None)
    wait_until(lambda: signs(window) == ["★ Key image"])
    window.workspace.viewport.scroll_to(2)
    wait_until(lambda: window.workspace.viewport.frame_index == 2 and not window.busy)
    wait_until(lambda: signs(window) == [])
