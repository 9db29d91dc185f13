"""A label volume laid over its image in the real window: opened, linked, listed, undone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QMimeData, QPointF, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDropEvent
from PySide6.QtWidgets import QApplication, QFileDialog

from app.imaging.types import Instance, Plane
from app.views.browser.findings_list import FindingRow, MakerRow, Row
from app.views.main_window import MainWindow
from app.wiring import Program, ViewRequest, build_window
from tests.gui.viewer_support import WaitUntil
from tests.unit.imaging.test_label_volumes import grey_image, labels_image, write

pytestmark = [pytest.mark.gui, pytest.mark.usefixtures("forked")]


@pytest.fixture
def program() -> Iterator[Program]:
    made = Program()
    yield made
    made.close()


@pytest.fixture
def window(
    qapp: QApplication, program: Program, tmp_path: Path, wait_until: WaitUntil
) -> Iterator[MainWindow]:
    built = build_window(program, ViewRequest())
    built.resize(1400, 900)
    built.show()
    labels = labels_image()
    write(labels, tmp_path / "lab.nrrd")
    built.open_paths([write(grey_image(labels), tmp_path / "grey.nrrd")])
    wait_until(lambda: built.canvas.picture is not None and not built.busy)
    yield built
    built.quit()


def lay(window: MainWindow, path: Path, wait_until: WaitUntil) -> None:
    window.layer_loading.lay_file(path)
    wait_until(lambda: bool(window.workspace.layers.entries) and not window.busy)


def rows(window: MainWindow) -> list[Row]:
    model = window.findings_list.model
    model.refresh()
    return [model.row(model.index(number)) for number in range(model.rowCount())]


def shapes(window: MainWindow) -> set[int]:
    (entry,) = window.workspace.layers.entries
    return {shape.item for shape in entry.shapes()}


def scroll(window: MainWindow, frame: int, wait_until: WaitUntil) -> None:
    window.workspace.viewport.scroll_to(frame)
    wait_until(
        lambda: (
            window.workspace.layers.place is not None
            and window.workspace.layers.place[1] == frame
            and not window.busy
        )
    )


def test_labels_follow_the_slices_and_the_planes(
    window: MainWindow, tmp_path: Path, wait_until: WaitUntil
):
    lay(window, tmp_path / "lab.nrrd", wait_until)
    for frame, wanted in ((0, set[int]()), (2, {1}), (5, {1, 3})):
        scroll(window, frame, wait_until)
        assert shapes(window) == wanted
    assert len(window.canvas.layer_drawing.graphics) == 2
    for plane, frame in ((Plane.CORONAL, 7), (Plane.SAGITTAL, 9), (Plane.AXIAL, 5)):
        window.planes.choose(plane)
        wait_until(lambda plane=plane: window.planes.plane is plane and not window.busy)
        scroll(window, frame, wait_until)
        assert 3 in shapes(window)
    window.planes.choose(Plane.ACQUIRED)


def test_labels_are_listed_with_their_volume_and_lead_to_their_slice(
    window: MainWindow, tmp_path: Path, wait_until: WaitUntil
):
    scroll(window, 0, wait_until)
    lay(window, tmp_path / "lab.nrrd", wait_until)
    heading, first, second = rows(window)
    assert isinstance(heading, MakerRow)
    assert isinstance(first, FindingRow)
    assert isinstance(second, FindingRow)
    assert heading.maker == "lab.nrrd"
    assert heading.note == "Labels from a file, overlaid on the image"
    assert (first.title, first.value) == ("Label 1", "0.117 ml")
    assert (second.title, second.value) == ("Label 3", "0.009 ml")
    assert first.tint != second.tint
    window.findings_list.shown.emit(second.finding.id)
    wait_until(lambda: window.workspace.viewport.frame_index == 5 and not window.busy)
    # The eye hides a label, and all of them.
    window.findings_list.toggle([second.finding.id])
    assert shapes(window) == {1}
    window.findings_list.toggle([first.finding.id, second.finding.id])
    assert shapes(window) == set()
    window.findings_list.toggle([first.finding.id, second.finding.id])
    assert shapes(window) == {1, 3}


def test_hide_all_findings_hides_laid_labels_and_show_all_shows_them_again(
    window: MainWindow, tmp_path: Path, wait_until: WaitUntil
):
    actions = window.actions_
    assert not actions.hide_findings.isEnabled()
    lay(window, tmp_path / "lab.nrrd", wait_until)
    scroll(window, 5, wait_until)
    assert actions.hide_findings.isEnabled()
    assert not actions.delete_findings.isEnabled()
    actions.hide_findings.trigger()
    wait_until(lambda: not window.busy)
    assert shapes(window) == set()
    assert len(window.canvas.layer_drawing.graphics) == 0
    first = rows(window)[1]
    assert isinstance(first, FindingRow)
    window.findings_list.toggle([first.finding.id])  # the eye of one label shows this one only
    assert shapes(window) == {1}
    actions.show_findings.trigger()
    wait_until(lambda: not window.busy)
    assert shapes(window) == {1, 3}
    assert len(window.canvas.layer_drawing.graphics) == 2


def test_laying_labels_and_removing_them_can_be_undone(
    window: MainWindow, tmp_path: Path, wait_until: WaitUntil
):
    lay(window, tmp_path / "lab.nrrd", wait_until)
    stack = window.workspace.commands
    assert stack.undo_label == "Overlay lab.nrrd"
    stack.undo()
    assert window.workspace.layers.entries == ()
    assert rows(window) == []
    stack.redo()
    wait_until(lambda: not window.busy)
    assert len(window.workspace.layers.entries) == 1
    heading = rows(window)[0]
    assert isinstance(heading, MakerRow)
    window.findings_list.remove(list(heading.ids))
    assert window.workspace.layers.entries == ()
    stack.undo()
    assert len(window.workspace.layers.entries) == 1


def test_labels_stay_with_their_image(window: MainWindow, tmp_path: Path, wait_until: WaitUntil):
    lay(window, tmp_path / "lab.nrrd", wait_until)
    first = window.workspace.viewport.instance
    other = grey_image(labels_image(origin=(0.0, 0.0, 0.0)))
    window.open_paths([write(other, tmp_path / "other.nrrd")])
    wait_until(lambda: window.workspace.viewport.instance is not first and not window.busy)
    assert window.workspace.layers.entries == ()
    assert rows(window) == []
    window.workspace.viewport.show(first)
    wait_until(lambda: bool(window.workspace.layers.entries) and not window.busy)


def drop(window: MainWindow, path: Path) -> None:
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(path))])
    middle = window.canvas.mapTo(window, window.canvas.rect().center())
    how = (Qt.DropAction.CopyAction, data, Qt.MouseButton.LeftButton)
    none = Qt.KeyboardModifier.NoModifier
    QApplication.sendEvent(window, QDragEnterEvent(middle, *how, none))
    QApplication.sendEvent(window, QDropEvent(QPointF(middle), *how, none))


def test_labels_dropped_on_the_image_are_laid_over_it_and_pictures_are_opened(
    window: MainWindow, tmp_path: Path, wait_until: WaitUntil
):
    drop(window, tmp_path / "lab.nrrd")
    wait_until(lambda: bool(window.workspace.layers.entries) and not window.busy)
    shown = window.workspace.viewport.instance
    grey = grey_image(labels_image(origin=(0.0, 0.0, 0.0)))
    drop(window, write(grey, tmp_path / "other.nrrd"))
    wait_until(lambda: window.workspace.viewport.instance is not shown and not window.busy)
    assert window.notices.all() == []


def test_labels_without_a_sure_place_are_refused_with_the_reason(
    window: MainWindow, tmp_path: Path, wait_until: WaitUntil
):
    moved = write(labels_image(origin=(-20.0, 11.0, 36.0)), tmp_path / "moved.nrrd")
    window.layer_loading.lay_file(moved)
    wait_until(window.notices.all)
    (notice,) = window.notices.all()
    assert "lies up to 6 mm away" in notice.text.text()
    assert window.workspace.layers.entries == ()


def test_a_volume_of_the_list_is_laid_over_by_its_menu(
    window: MainWindow, tmp_path: Path, wait_until: WaitUntil
):
    shown = window.workspace.viewport.instance
    assert shown is not None
    window.open_paths([tmp_path / "lab.nrrd"])
    wait_until(lambda: window.workspace.viewport.instance is not shown and not window.busy)
    labels = window.workspace.viewport.instance
    assert isinstance(labels, Instance)
    window.workspace.viewport.show(shown)
    wait_until(lambda: not window.busy)
    window.study_list.over_images.emit(labels)
    wait_until(lambda: bool(window.workspace.layers.entries) and not window.busy)
    assert window.workspace.viewport.instance is shown


def test_the_file_menu_lays_labels_over_the_image(
    window: MainWindow, tmp_path: Path, wait_until: WaitUntil, monkeypatch: pytest.MonkeyPatch
):
    chosen = (str(tmp_path / "lab.nrrd"), "")
    monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *_args: chosen)
    window.actions_.lay_labels.trigger()
    wait_until(lambda: bool(window.workspace.layers.entries) and not window.busy)
