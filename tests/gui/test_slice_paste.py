"""Marks are pasted on all slices of a series, or a range, and measured on each slice's pixels."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import SimpleITK
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from app.imaging.findings import Ellipse, Finding
from app.imaging.types import Frame, Orientation, Spacing, SpacingSource
from app.views.main_window import MainWindow
from app.views.slice_paste import SlicePasteDialog
from app.workspace import drawing
from app.workspace.workspace import Workspace
from tests.gui.hands import click, retype
from tests.gui.viewer_support import (
    FakeDecoder,
    WaitUntil,
    activate,
    found,
    frame,
    instance,
    study,
)

pytestmark = pytest.mark.gui
CTRL, SHIFT = Qt.KeyboardModifier.ControlModifier, Qt.KeyboardModifier.ShiftModifier
COUNT = 6
UIDS = [f"1.{number}" for number in range(1, COUNT + 1)]
AXIAL = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0)
SPACING = Spacing(0.8, 0.5, SpacingSource.PATIENT, 1.6)


def values(number: int) -> np.ndarray:
    return np.random.default_rng(number).integers(-200, 900, (80, 100)).astype(np.int16)


@pytest.fixture
def stacked(qapp: QApplication, wait_until: WaitUntil) -> Iterator[tuple[MainWindow, FakeDecoder]]:
    """A stack of six axial slices, the first with an ellipse that is selected and copied."""
    decoder = FakeDecoder()
    for number, uid in enumerate(UIDS):
        decoder.frames[uid, 0] = frame(
            uid,
            stored=values(number),
            spacing=SPACING,
            orientation=Orientation("L", "P", AXIAL, (0.0, 0.0, 5.0 * number)),
        )
    window = MainWindow(Workspace(), decoder)
    window.show()
    images = [instance(uid, FrameOfReferenceUID="1.9") for uid in UIDS]
    window.workspace.add(found(study(*images)))
    wait_until(lambda: window.canvas.frame is not None and not window.busy)
    activate(window, wait_until)
    canvas = window.canvas
    assert canvas.frame is not None
    mark = drawing.draw(drawing.ELLIPSE, canvas.frame, [(20.3, 30.2), (60.9, 55.1)])
    window.workspace.annotations.put(drawing.with_statistics(mark, canvas.frame), "Draw")
    window.workspace.annotations.select(mark.id)
    canvas.setFocus()
    QTest.keyClick(canvas, Qt.Key.Key_C, CTRL)
    yield window, decoder
    window.quit()


def opened(window: MainWindow) -> SlicePasteDialog:
    window.canvas.setFocus()
    window.actions_.mark_menu.paste_on_slices.trigger()
    (dialog,) = window.findChildren(SlicePasteDialog)
    return dialog


def marks(window: MainWindow) -> dict[str, Finding]:
    every = (one.finding for one in window.workspace.annotations.all())
    return {one.image.sop_instance_uid: one for one in every}


def test_all_slices_get_the_mark_in_one_step_with_their_own_values(
    stacked: tuple[MainWindow, FakeDecoder], wait_until: WaitUntil
):
    window, _decoder = stacked
    dialog = opened(window)
    assert (dialog.first.value(), dialog.last.value()) == (1, COUNT)
    QTest.keyClick(dialog.first, Qt.Key.Key_Return)
    wait_until(lambda: len(window.workspace.annotations) == COUNT)
    wait_until(lambda: not window.findChildren(SlicePasteDialog))
    made = marks(window)
    assert list(made) == UIDS
    shape = made["1.1"].geometry
    assert isinstance(shape, Ellipse)
    y, x = np.mgrid[:80, :100]
    a, b = (shape.x1 - shape.x0) / 2, (shape.y1 - shape.y0) / 2
    inside = ((x - shape.x0 - a) / a) ** 2 + ((y - shape.y0 - b) / b) ** 2 < 1
    for number, uid in enumerate(UIDS):
        statistics = SimpleITK.LabelStatisticsImageFilter()
        statistics.Execute(
            SimpleITK.GetImageFromArray(values(number).astype(float)),
            SimpleITK.GetImageFromArray(inside.astype(np.uint8)),
        )
        figures = {one.name: one.value for one in made[uid].measurements}
        assert figures["Mean"] == pytest.approx(statistics.GetMean(1))
        assert figures["Standard deviation"] == pytest.approx(statistics.GetSigma(1))
        assert made[uid].value == pytest.approx(np.pi * a * b * 0.8 * 0.5)
    assert len({one.id for one in made.values()}) == COUNT
    window.actions_.undo.trigger()
    assert list(marks(window)) == ["1.1"]
    window.actions_.redo.trigger()
    assert len(marks(window)) == COUNT


def test_a_range_of_slices_and_the_key(
    stacked: tuple[MainWindow, FakeDecoder], wait_until: WaitUntil
):
    window, _decoder = stacked
    QTest.keyClick(window.canvas, Qt.Key.Key_V, CTRL | SHIFT)
    (dialog,) = window.findChildren(SlicePasteDialog)
    retype(dialog.first.lineEdit(), "4")
    retype(dialog.last.lineEdit(), "3")
    assert not dialog.paste.isEnabled()
    retype(dialog.last.lineEdit(), "5")
    click(dialog.paste)
    wait_until(lambda: len(window.workspace.annotations) == 3)
    assert list(marks(window)) == ["1.1", "1.4", "1.5"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"orientation": Orientation("L", "F", (1, 0, 0, 0, 0, -1), (0, 0, 0))}, "another plane"),
        ({"stored": np.zeros((60, 100), np.int16)}, "another size"),
        ({"spacing": Spacing(0.9, 0.5, SpacingSource.PATIENT, 1.8)}, "another scale"),
        ({"orientation": Orientation("L", "P")}, "is not known"),
    ],
)
def test_a_slice_of_another_geometry_refuses_all_and_says_which(
    stacked: tuple[MainWindow, FakeDecoder],
    wait_until: WaitUntil,
    change: dict[str, Any],
    said: str,
):
    window, decoder = stacked
    usual: dict[str, Any] = {
        "stored": values(4),
        "spacing": SPACING,
        "orientation": Orientation("L", "P", AXIAL, (0.0, 0.0, 20.0)),
    }
    decoder.frames["1.5", 0] = frame("1.5", **(usual | change))
    dialog = opened(window)
    click(dialog.paste)
    wait_until(lambda: dialog.note.isVisible())
    assert "slice 5" in dialog.note.text()
    assert said in dialog.note.text()
    assert len(window.workspace.annotations) == 1
    retype(dialog.last.lineEdit(), "4")  # as it says
    click(dialog.paste)
    wait_until(lambda: len(window.workspace.annotations) == 4)


def test_cancelled_pasting_leaves_nothing_and_without_a_mark_it_says_so(
    stacked: tuple[MainWindow, FakeDecoder], wait_until: WaitUntil
):
    window, decoder = stacked
    decoder.prompt = False  # no slice arrives
    dialog = opened(window)
    click(dialog.paste)
    wait_until(lambda: dialog.bar.isVisible())
    QTest.keyClick(dialog, Qt.Key.Key_Escape)
    wait_until(lambda: not window.findChildren(SlicePasteDialog))
    wait_until(lambda: bool(decoder.waiting))
    while decoder.waiting:
        decoder.answer()
    assert list(marks(window)) == ["1.1"]


def test_pasted_marks_are_measured_once_and_their_slices_read_once(
    stacked: tuple[MainWindow, FakeDecoder],
    wait_until: WaitUntil,
    monkeypatch: pytest.MonkeyPatch,
):
    window, _decoder = stacked
    scales = window.workspace.scales
    dialog = opened(window)
    again: list[str] = []
    measured = drawing.remeasured

    def remeasured(finding: Finding, one: Frame) -> Finding:
        if threading.current_thread() is threading.main_thread():
            again.append(finding.id)
        return measured(finding, one)

    monkeypatch.setattr(drawing, "remeasured", remeasured)
    click(dialog.paste)
    wait_until(lambda: len(window.workspace.annotations) == COUNT)
    assert scales.next_wanted() is None
    assert all(scales.is_of(one.image) for one in marks(window).values())
    window.actions_.undo.trigger()
    window.actions_.redo.trigger()
    assert len(marks(window)) == COUNT
    assert not again

    # A line of known length still measures each of them anew.
    shown = window.canvas.frame
    assert shown is not None
    line = drawing.draw(drawing.RULER, shown, [(10, 10), (30, 10)])
    window.workspace.annotations.put(line, "Measure")
    window.workspace.calibrate(line, shown, 40.0, True)
    sizes = {one.finding.value for one in window.workspace.annotations.all()}
    pasted = [one for one in sizes if one is not None and one != pytest.approx(40.0)]
    assert len(pasted) == 1  # an ellipse on each slice, all calibrated
    assert all("by hand" in one.finding.units for one in window.workspace.annotations.all())
    window.actions_.undo.trigger()
    assert not any("by hand" in one.finding.units for one in window.workspace.annotations.all())
