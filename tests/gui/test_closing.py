"""Closing studies: one or all, what goes with them, and what is there again on opening."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path

import pytest
from PySide6.QtCore import Qt, QTimer
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel, QMenu, QMessageBox

from app.imaging.findings import Box
from app.views.main_window import MainWindow
from app.workspace import drawing
from app.workspace.workspace import Workspace
from tests.gui.hands import click
from tests.gui.viewer_support import FakeDecoder, WaitUntil, finding, found, instance, study

pytestmark = pytest.mark.gui


@pytest.fixture
def decoder() -> FakeDecoder:
    return FakeDecoder()


@pytest.fixture
def window(
    qapp: QApplication, decoder: FakeDecoder, tmp_path: Path, wait_until: WaitUntil
) -> Iterator[MainWindow]:
    made = MainWindow(Workspace(), decoder, QLabel("chat"), layout_file=tmp_path / "window.ini")
    made.resize(1280, 1000)  # every row of the study list is in view
    made.show()
    decoder.result = found(
        *(study(instance(f"{uid}.1"), uid=uid, title=f"Study {uid}") for uid in "123")
    )
    made.open_paths([Path("/images")])
    wait_until(lambda: made.canvas.picture is not None and not made.busy)
    yield made
    made.quit()
    made.deleteLater()


def test_closing_all_leaves_an_empty_window(
    window: MainWindow, decoder: FakeDecoder, wait_until: WaitUntil
):
    assert window.actions_.close_all.isEnabled()
    window.actions_.close_all.trigger()
    wait_until(lambda: not window.busy)
    assert window.workspace.studies.all == ()
    assert window.study_list.model.rowCount() == 0
    assert window.canvas.picture is None
    assert window.placeholder.isVisible()
    assert decoder.forgotten == ["1.1", "2.1", "3.1"]
    assert not window.actions_.close_all.isEnabled()
    assert not window.actions_.close_study.isEnabled()


def test_closing_all_stops_what_is_still_being_opened(
    window: MainWindow, decoder: FakeDecoder, wait_until: WaitUntil
):
    decoder.held = Future()
    window.open_paths([Path("/more")])
    assert window.opening.busy
    window.close_all()
    assert not window.opening.busy
    decoder.held.set_result(found(study(instance("4.1"), uid="4")))
    wait_until(lambda: not window.busy)
    assert window.workspace.studies.all == ()


def test_closing_one_keeps_the_others_and_their_pictures(
    window: MainWindow, decoder: FakeDecoder, wait_until: WaitUntil
):
    wait_until(lambda: len(decoder.thumbnails) == 3 and not window.busy)
    window.actions_.close_study.trigger()
    wait_until(lambda: not window.busy)
    assert [one.uid for one in window.workspace.studies.all] == ["2", "3"]
    assert decoder.forgotten == ["1.1"]
    kept = window.study_list.model._thumbnails
    assert sorted(key.split("\0")[0] for key in kept) == ["2", "3"]
    assert len(decoder.thumbnails) == 3


def test_a_finding_is_there_again_when_its_study_is(
    window: MainWindow, decoder: FakeDecoder, wait_until: WaitUntil
):
    frame = window.canvas.frame
    assert frame is not None
    window.workspace.annotations.add([finding(frame.ref, Box(10, 10, 30, 30))])
    wait_until(lambda: window.findings_list.model.count == 1)
    window.actions_.close_all.trigger()
    wait_until(lambda: window.findings_list.model.count == 0)
    window.open_paths([Path("/images")])
    wait_until(lambda: window.findings_list.model.count == 1 and not window.busy)
    assert [item.finding.label for item in window.canvas.annotation_items()] == ["Nodule"]


def test_the_lists_menu_offers_both(window: MainWindow, wait_until: WaitUntil):
    texts: list[str] = []

    def choose() -> None:
        menu = QApplication.activePopupWidget()
        assert isinstance(menu, QMenu)
        texts.extend(action.text() for action in menu.actions())
        menu.actions()[-1].trigger()
        menu.close()

    QTimer.singleShot(0, choose)
    view = window.study_list.view
    window.study_list._menu(view.visualRect(view.model().index(0, 0)).center())
    assert texts == ["Close study", "Close all studies"]
    wait_until(lambda: not window.workspace.studies.all)


def draw(window: MainWindow, tool: str, *points: tuple[float, float]) -> None:
    """Draw by hand on the shown image."""
    frame = window.canvas.frame
    assert frame is not None
    window.workspace.annotations.put(drawing.draw(tool, frame, points), "Measure")


def press(window: MainWindow, wait_until: WaitUntil, button: str) -> None:
    """Press a button of the question that is asked."""
    wait_until(lambda: window.findChildren(QMessageBox))
    (box,) = window.findChildren(QMessageBox)
    assert box.defaultButton().text().replace("&", "") == "Cancel"  # Enter loses nothing
    click(next(one for one in box.buttons() if one.text().replace("&", "") == button))
    wait_until(lambda: not window.findChildren(QMessageBox))


def test_ctrl_q_with_measurements_by_hand_asks(window: MainWindow, wait_until: WaitUntil):
    draw(window, drawing.RULER, (10, 10), (40, 10))
    draw(window, drawing.BOX, (10, 10), (40, 40))
    draw(window, drawing.POINT, (10, 10))  # a mark for a tool: no measurement
    window.activateWindow()
    wait_until(window.isActiveWindow)
    window.canvas.setFocus()
    QTest.keyClick(window.canvas, Qt.Key.Key_Q, Qt.KeyboardModifier.ControlModifier)
    wait_until(lambda: window.findChildren(QMessageBox))
    (box,) = window.findChildren(QMessageBox)
    assert box.text() == "Quit and discard 2 measurements made or corrected by hand?"
    press(window, wait_until, "Cancel")
    assert window.isVisible()
    assert len(window.workspace.annotations) == 3
    window.actions_.quit.trigger()
    press(window, wait_until, "Quit")
    assert not window.isVisible()


def test_closing_a_study_measured_by_hand_asks_whichever_way(
    window: MainWindow, wait_until: WaitUntil
):
    draw(window, drawing.RULER, (10, 10), (40, 10))
    window.activateWindow()
    control, shift = Qt.KeyboardModifier.ControlModifier, Qt.KeyboardModifier.ShiftModifier
    view = window.study_list.view
    view.setCurrentIndex(view.model().index(0, 0))
    for widget, key, held in (
        (window.canvas, Qt.Key.Key_W, control),
        (window.canvas, Qt.Key.Key_W, control | shift),
        (view, Qt.Key.Key_Delete, Qt.KeyboardModifier.NoModifier),
    ):
        window.activateWindow()
        wait_until(window.isActiveWindow)
        widget.setFocus()
        QTest.keyClick(widget, key, held)
        press(window, wait_until, "Cancel")
        assert len(window.workspace.studies.all) == 3
    window.actions_.close_study.trigger()
    press(window, wait_until, "Close")
    assert [one.uid for one in window.workspace.studies.all] == ["2", "3"]
    wait_until(lambda: not window.busy)
    window.workspace.viewport.show(window.workspace.studies.all[0].series[0].instances[0])
    window.actions_.close_study.trigger()  # nothing was measured on this one
    assert [one.uid for one in window.workspace.studies.all] == ["3"]
    made = window.workspace.annotations.all()
    window.workspace.annotations.remove([item.finding.id for item in made])
