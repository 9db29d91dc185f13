"""Marks that are saved as the user works, and come back when the study is opened again."""

from __future__ import annotations

import stat
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from threading import Event, Timer
from typing import Any

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QDialogButtonBox, QLabel, QMessageBox, QPushButton

from app.imaging.findings import Box, Instances, State
from app.imaging.types import Frame, Instance, Series, Study
from app.views.browser.findings_list import FindingRow
from app.views.main_window import MainWindow
from app.views.mark_keeping import SavedMarksDialog
from app.workspace import drawing
from app.workspace.annotations import Annotation
from app.workspace.mark_store import MarkStore
from app.workspace.workspace import Workspace
from tests.gui.viewer_support import FakeDecoder, activate, finding, found, frame, instance

pytestmark = pytest.mark.gui

LEFT = Qt.MouseButton.LeftButton
Wait = Callable[[Callable[[], object]], None]


def study(folder: str = "a", *others: str) -> Study:
    """A study of one image, and of others, opened from a folder."""
    images = tuple(
        replace(
            instance(uid, PatientName="Doe^Jane", PatientID="4711"),
            path=Path(folder) / f"{uid}.dcm",
        )
        for uid in ("1.2.3", *others)
    )
    return Study("1.2", "Chest", "Doe^Jane", "4711", "", (Series("1.2.1", "s", "CT", 1, images),))


@pytest.fixture
def opened(tmp_path: Path, wait_until: Wait) -> Iterator[Callable[..., MainWindow]]:
    windows: list[MainWindow] = []

    def make(
        folder: str = "a", decoder: FakeDecoder | None = None, others: tuple[str, ...] = ()
    ) -> MainWindow:
        window = MainWindow(
            Workspace(),
            decoder or FakeDecoder(),
            QLabel("chat"),
            layout_file=tmp_path / "window.ini",
            marks_file=tmp_path / "data" / "marks.sqlite",
        )
        windows.append(window)
        window.resize(1100, 750)
        window.show()
        activate(window, wait_until)
        window.workspace.add(found(study(folder, *others)))
        wait_until(lambda: window.canvas.picture is not None and not window.busy)
        assert window.marks is not None
        wait_until(lambda: not window.marks.loading)
        return window

    (tmp_path / "data").mkdir()
    yield make
    for window in windows:
        window.quit()
        window.deleteLater()


def draw_length(window: MainWindow) -> None:
    canvas = window.canvas
    canvas.setFocus()
    QTest.keyClick(canvas, Qt.Key.Key_L)
    view = canvas.viewport()
    start, end = (canvas.to_widget(x, y).toPoint() for x, y in ((10, 10), (40, 30)))
    QTest.mousePress(view, LEFT, pos=start)
    QTest.mouseMove(view, (start + end) / 2)
    QTest.mouseMove(view, end)
    QTest.mouseRelease(view, LEFT, pos=end)
    assert len(window.workspace.annotations) == 1


def rows(window: MainWindow) -> list[FindingRow]:
    window.findings_list.model.refresh()
    model = window.findings_list.model
    every = [model.row(model.index(number)) for number in range(model.rowCount())]
    return [row for row in every if isinstance(row, FindingRow)]


def test_a_mark_is_there_again_from_another_folder_until_it_is_looked_at(
    opened: Callable[..., MainWindow], wait_until: Wait
):
    window = opened("a")
    draw_length(window)
    (drawn,) = window.workspace.annotations.all()
    window.close()  # without a question: nothing is lost
    assert window.isHidden()
    again = opened("b")
    wait_until(lambda: len(again.workspace.annotations) == 1)
    (kept,) = again.workspace.annotations.all()
    assert kept.finding == drawn.finding
    wait_until(lambda: len(again.canvas.annotation_items()) == 1)
    (row,) = rows(again)
    assert " from " in row.title
    again.workspace.annotations.select(kept.finding.id)
    (row,) = rows(again)
    assert " from " not in row.title


def test_accepted_objects_are_there_again(opened: Callable[..., MainWindow], wait_until: Wait):
    labels = np.zeros((80, 100), np.uint32)
    labels[10:20, 10:30], labels[40:60, 50:60] = 3, 70_000
    window = opened("a")
    ref = window.canvas.frame.ref
    made = finding(ref, Instances(labels), "Nuclei", value=2.0, units="objects")
    window.workspace.take_results("finder", [made], [])
    window.workspace.annotations.decide([made.id], State.ACCEPTED)
    window.close()
    again = opened("b")
    wait_until(lambda: len(again.canvas.annotation_items()) == 1 and not again.canvas.busy)
    (kept,) = again.workspace.annotations.all()
    assert kept.finding.state is State.ACCEPTED
    assert isinstance(kept.finding.geometry, Instances)
    np.testing.assert_array_equal(kept.finding.geometry.labels, labels)
    at = again.canvas.to_widget(55, 50).toPoint()
    QTest.mouseClick(again.canvas.viewport(), LEFT, pos=at)
    assert again.workspace.annotations.selected_object == 70_000


def test_what_is_deleted_stays_deleted_and_undo_brings_it_back_for_good(
    opened: Callable[..., MainWindow], wait_until: Wait
):
    window = opened()
    draw_length(window)
    window.close()
    second = opened()
    wait_until(lambda: len(second.workspace.annotations) == 1)
    draw = second.workspace.annotations
    draw.remove([one.finding.id for one in draw.all()])
    wait_until(lambda: second.marks is not None and second.marks.saved)
    second.workspace.commands.undo()
    assert len(draw) == 1
    second.close()
    third = opened()
    wait_until(lambda: len(third.workspace.annotations) == 1)
    third.workspace.annotations.remove(
        [one.finding.id for one in third.workspace.annotations.all()]
    )
    third.close()
    fourth = opened()
    assert len(fourth.workspace.annotations) == 0


def test_undo_of_an_older_step_leaves_marks_that_were_brought_back(
    opened: Callable[..., MainWindow], wait_until: Wait
):
    first = opened()
    draw_length(first)
    first.close()
    again = opened()
    wait_until(lambda: len(again.workspace.annotations) == 1)
    annotations = again.workspace.annotations
    kept = annotations.all()[0].finding
    annotations.put(replace(kept, id="new"), "Measure length")
    again.workspace.commands.undo()
    assert [one.finding.id for one in annotations.all()] == [kept.id]


def test_marks_of_other_pixels_are_listed_and_not_drawn(
    opened: Callable[..., MainWindow], wait_until: Wait
):
    window = opened()
    draw_length(window)
    window.close()
    decoder = FakeDecoder()
    given = frame("1.2.3", 0)
    decoder.frames["1.2.3", 0] = replace(given, ref=replace(given.ref, pixel_sha256="other"))
    again = opened("a", decoder)
    annotations = again.workspace.annotations
    wait_until(lambda: len(annotations) == 1)
    assert again.canvas.annotation_items() == []
    (row,) = rows(again)
    assert "other image version" in row.title


class IdleDecoder(FakeDecoder):
    """Reads what is asked for while nothing else is to be done when the test says so."""

    def __init__(self) -> None:
        super().__init__()
        self.idle: list[tuple[str, int, Future[Frame]]] = []

    def frame(self, instance: Instance, index: int = 0, priority: int = 0) -> Future[Frame]:
        if priority == 0:
            return super().frame(instance, index)
        future: Future[Frame] = Future()
        self.idle.append((instance.sop_instance_uid, index, future))
        return future

    def read(self) -> None:
        while self.idle:
            uid, index, future = self.idle.pop()
            future.set_result(frame(uid, index))


def test_a_kept_mark_is_measured_again_before_it_is_told(
    opened: Callable[..., MainWindow], wait_until: Wait, tmp_path: Path
):
    """Its image is not the shown one, and the line that calibrated the series is gone."""
    mark = drawing.draw(drawing.RULER, frame("1.2.4"), [(10, 10), (40, 10)])
    mark = replace(mark, value=99.0, units="mm (calibrated by hand)")
    store = MarkStore(tmp_path / "data" / "marks.sqlite")
    store.save({"1.2": [Annotation(mark, 0)]}, ())
    decoder = IdleDecoder()
    window = opened("a", decoder, others=("1.2.4",))
    annotations = window.workspace.annotations
    wait_until(lambda: len(annotations) == 1)
    assert annotations.all()[0].finding.value is None
    (row,) = rows(window)
    assert row.value == "being measured again"
    decoder.read()
    wait_until(lambda: annotations.all()[0].finding.value is not None)
    now = annotations.all()[0].finding
    assert (now.value, now.units) == (30.0, "px")
    wait_until(lambda: window.marks is not None and window.marks.saved)
    assert store.load(["1.2.4"])[0][0].finding.units == "px"


def test_marks_that_are_loaded_during_a_purge_stay_away(
    opened: Callable[..., MainWindow], wait_until: Wait, tmp_path: Path
):
    window = opened()
    draw_length(window)
    assert window.marks is not None
    wait_until(lambda: window.marks is not None and window.marks.saved)
    (kept,) = MarkStore(tmp_path / "data" / "marks.sqlite").studies()
    # Loaded before it is purged, and drawn while it is: nothing of it may come back.
    loaded = MarkStore(tmp_path / "data" / "marks.sqlite").load(kept.images)
    mine = window.workspace.annotations.all()[0].finding
    other = replace(loaded[0][0], finding=replace(mine, id="late"))
    done: list[int] = []
    window.marks.purge([kept], lambda: done.append(1))
    window.marks._take(([other], 0))
    window.workspace.annotations.put(replace(mine, id="drawn"), "Measure length")
    window.marks._save()
    wait_until(lambda: done)
    assert window.workspace.annotations.all() == ()
    wait_until(lambda: window.marks is not None and window.marks.saved)
    assert MarkStore(tmp_path / "data" / "marks.sqlite").studies() == []


def test_a_mark_keeps_its_study_though_that_is_closed_at_once(
    opened: Callable[..., MainWindow], wait_until: Wait, tmp_path: Path
):
    window = opened()
    draw_length(window)
    window.workspace.close_all()
    wait_until(lambda: window.marks is not None and window.marks.saved)
    (kept,) = MarkStore(tmp_path / "data" / "marks.sqlite").studies()
    assert kept.study == "1.2"


def test_a_deleted_mark_does_not_come_back_as_more_is_opened(
    opened: Callable[..., MainWindow], wait_until: Wait
):
    """What is saved is asked for with every study that is opened, before deleting is written."""
    window = opened()
    draw_length(window)
    wait_until(lambda: window.marks is not None and window.marks.saved)
    annotations = window.workspace.annotations
    annotations.remove([one.finding.id for one in annotations.all()])
    other = replace(study("b"), uid="7", series=())
    window.workspace.add(found(other))
    assert window.marks is not None
    wait_until(lambda: window.marks is not None and not window.marks.loading)
    assert annotations.all() == ()


@pytest.mark.parametrize("change", ["undo", "delete", "undo of deleting"])
def test_what_changes_while_it_is_written_is_kept_as_it_is_when_the_window_closes(
    opened: Callable[..., MainWindow],
    wait_until: Wait,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    change: str,
):
    window = opened()
    annotations = window.workspace.annotations
    draw_length(window)
    mark = annotations.all()[0]
    key = mark.finding.id
    if change != "delete":
        wait_until(lambda: window.marks is not None and window.marks.saved)
    begun, go_on, save = Event(), Event(), MarkStore.save

    def slow(self: MarkStore, *given: Any) -> None:
        begun.set()
        go_on.wait(2)
        save(self, *given)

    monkeypatch.setattr(MarkStore, "save", slow)
    if change == "undo":
        annotations.alter([key], "Group marks", lambda one: replace(one, folder="group"))
    elif change == "undo of deleting":
        annotations.remove([key])
    wait_until(begun.is_set)
    Timer(0.05, go_on.set).start()
    if change == "delete":
        annotations.remove([key])
    else:
        window.workspace.commands.undo()
    wanted = [one.finding for one in annotations.all()]
    window.close()
    kept, _ = MarkStore(tmp_path / "data" / "marks.sqlite").load(["1.2.3"])
    assert [one.finding for one in kept] == wanted
    assert all(one.folder == "" for one in kept)


def test_a_result_that_comes_after_its_study_was_closed_is_kept_for_the_study(
    opened: Callable[..., MainWindow], wait_until: Wait, tmp_path: Path
):
    window = opened()
    image = window.canvas.frame
    assert image is not None
    window.workspace.close_all()
    wait_until(lambda: window.marks is not None and not window.marks.loading)
    window.workspace.take_results("finder", [finding(image.ref, Box(1, 1, 5, 5))], ())
    wait_until(lambda: window.marks is not None and window.marks.saved)
    (kept,) = MarkStore(tmp_path / "data" / "marks.sqlite").studies()
    assert kept.study == "1.2"


def test_a_section_s_mark_that_is_renamed_in_the_list_stays_with_its_study(
    opened: Callable[..., MainWindow], wait_until: Wait, tmp_path: Path
):
    """The section itself is not shown in this session."""
    store = MarkStore(tmp_path / "data" / "marks.sqlite")
    mark = drawing.draw(drawing.RULER, frame("2.25.7"), [(10, 10), (40, 10)])
    store.save({"1.2": [Annotation(mark, 0)]}, ())
    window = opened()
    annotations = window.workspace.annotations
    wait_until(lambda: len(annotations) == 1)
    annotations.put(replace(annotations.all()[0].finding, label="Renamed"), "Rename mark")
    wait_until(lambda: window.marks is not None and window.marks.saved)
    assert store.images() == {"2.25.7": "1.2"}
    assert [one.finding.label for one in store.load(["2.25.7"])[0]] == ["Renamed"]


def test_a_folder_that_cannot_be_written_to_is_told_and_saving_goes_on_later(
    opened: Callable[..., MainWindow], wait_until: Wait, tmp_path: Path
):
    window = opened()
    assert window.marks is not None
    data = tmp_path / "data"
    moved = tmp_path / "moved"
    data.rename(moved)  # root may write to read-only folders
    draw_length(window)
    wait_until(lambda: window.marks is not None and window.marks.failing)
    assert any(
        "saved marks" in one.text() for one in window.findChildren(QLabel) if one.isVisible()
    )
    window.close()
    box = window.findChild(QMessageBox)
    assert box is not None, "closing would lose the mark"
    box.reject()
    moved.rename(data)
    window.marks._save()  # what the timer does after five seconds
    wait_until(lambda: window.marks is not None and window.marks.saved)
    assert len(MarkStore(data / "marks.sqlite").load(["1.2.3"])[0]) == 1
    assert stat.S_ISDIR(data.stat().st_mode)


def test_the_saved_marks_of_a_study_are_deleted_from_the_dialog(
    opened: Callable[..., MainWindow], wait_until: Wait, tmp_path: Path
):
    window = opened()
    draw_length(window)
    wait_until(lambda: window.marks is not None and window.marks.saved)
    window.actions_.saved_marks.trigger()
    dialog = window.findChild(SavedMarksDialog)
    assert dialog is not None
    wait_until(lambda: dialog.table.rowCount() == 1)
    assert "Chest" in dialog.table.item(0, 0).text()
    QTest.mouseClick(
        dialog.table.viewport(),
        LEFT,
        pos=dialog.table.visualRect(dialog.table.model().index(0, 1)).center(),
    )
    QTest.mouseClick(dialog.delete, LEFT)
    box = dialog.findChild(QMessageBox)
    assert box is not None
    yes = next(one for one in box.findChildren(QPushButton) if one.text() == "Delete")
    QTest.mouseClick(yes, LEFT)
    wait_until(lambda: dialog.table.rowCount() == 0)
    assert len(window.workspace.annotations) == 0
    assert window.workspace.commands.undo_label == ""
    assert MarkStore(tmp_path / "data" / "marks.sqlite").studies() == []
    dialog.findChild(QDialogButtonBox).button(QDialogButtonBox.StandardButton.Close).click()
    QApplication.processEvents()
