"""What the window offers for its image: flips, measuring, windows, planes; and how it says so."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QMenu

from app.imaging.types import Lut, Plane, Spacing, SpacingSource, Voi, Window
from app.views.main_window import MainWindow
from app.workspace import drawing
from app.workspace.workspace import Workspace
from tests.gui.test_canvas_planes import SLICES, PlaneDecoder, axial
from tests.gui.viewer_support import FakeDecoder, WaitUntil, activate, found, frame, instance, study

pytestmark = pytest.mark.gui


@pytest.fixture
def decoder() -> FakeDecoder:
    return PlaneDecoder()


@pytest.fixture
def window(
    qapp: QApplication, decoder: FakeDecoder, tmp_path: Path, wait_until: WaitUntil
) -> Iterator[MainWindow]:
    made = MainWindow(Workspace(), decoder, layout_file=tmp_path / "window.ini")
    made.resize(1280, 800)
    made.show()
    wait_until(lambda: not made.busy)
    yield made
    made.close()
    made.deleteLater()


def show(window: MainWindow, decoder: FakeDecoder, wait_until: WaitUntil, **changes: Any):
    decoder.frames[("1.1", 0)] = frame(**changes)
    window.workspace.add(found(study(instance())))
    wait_until(lambda: window.canvas.picture is not None and not window.busy)


def entries(menu: QMenu) -> list[QAction]:
    menu.aboutToShow.emit()
    return [action for action in menu.actions() if not action.isSeparator()]


def test_no_two_actions_share_a_key(window: MainWindow):
    keys = [
        key.toString()
        for action in window.findChildren(QAction)
        for key in action.shortcuts()
        if key != QKeySequence()
    ]
    assert len(keys) == len(set(keys))


def test_keys_flip_rotate_and_measure(
    window: MainWindow, decoder: FakeDecoder, wait_until: WaitUntil
):
    show(window, decoder, wait_until)
    activate(window, wait_until)
    for key, mark in (
        ("H", "Flipped left-right"),
        ("]", "Flipped left-right, rotated 90° right"),
        ("Shift+R", ""),
        ("V", "Flipped top-bottom"),
        ("Shift+R", ""),
        ("[", "Rotated 90° left"),
    ):
        QTest.keySequence(window.canvas, QKeySequence(key))
        wait_until(lambda: not window.busy)
        assert window.workspace.viewport.display.turn_text == mark
    QTest.keyClicks(window.canvas, "l")
    assert window.actions_.ruler.isChecked()
    assert window.canvas.drawing_tool.tool == drawing.RULER
    shift, plain = Qt.KeyboardModifier.ShiftModifier, Qt.KeyboardModifier.NoModifier
    for held, tool in ((plain, drawing.RULER), (shift, drawing.ANGLE), (shift, drawing.ANGLE)):
        QTest.keyClick(window.canvas, Qt.Key.Key_L, held)
        assert window.canvas.drawing_tool.tool == tool
    window.actions_.angle.trigger()  # a click on its button puts it away
    assert window.canvas.drawing_tool.tool == ""
    QTest.keyClicks(window.canvas, "l")
    QTest.keyClick(window.canvas, Qt.Key.Key_Escape)
    assert not window.actions_.ruler.isChecked()


def test_tools_need_an_image(window: MainWindow, decoder: FakeDecoder, wait_until: WaitUntil):
    offered = window.actions_
    tools = (offered.flip_h, offered.flip_v, offered.turn_right, offered.ruler, offered.angle)
    assert not any(action.isEnabled() for action in tools)
    show(window, decoder, wait_until)
    assert all(action.isEnabled() for action in tools)


def test_all_windows_and_luts_of_the_file_are_offered_with_their_names(
    window: MainWindow, decoder: FakeDecoder, wait_until: WaitUntil
):
    windows = (Window(40, 80, explanation="BRAIN"), Window(500, 2000, explanation="BONE"))
    luts = tuple(Lut(0, 8, np.arange(256, dtype=np.uint16), name) for name in ("NORMAL", "HARD"))
    show(window, decoder, wait_until, voi=Voi(windows, luts))
    offered = entries(window.actions_.presets)
    texts = [action.text().split("\t")[0].split()[-1] for action in offered]
    assert texts[:5] == ["BRAIN", "BONE", "NORMAL", "HARD", "Automatic"]
    checked = [action.text() for action in offered if action.isChecked()]
    assert checked == ["&1  BRAIN\tW 80  C 40"]
    offered[3].trigger()
    wait_until(lambda: not window.busy)
    assert "VOI LUT: HARD" in window.canvas.overlay.corners.bottom_left
    checked = [action.text() for action in entries(window.actions_.presets) if action.isChecked()]
    assert checked == ["&4  HARD\tVOI LUT"]


def test_planes_are_offered_for_a_stack_only(
    window: MainWindow, decoder: FakeDecoder, wait_until: WaitUntil
):
    show(window, decoder, wait_until)
    assert not window.actions_.plane_button.isEnabled()
    images = []
    for number in range(SLICES):
        image, pixels = axial(f"5.{number}", number)
        decoder.frames[(image.sop_instance_uid, 0)] = pixels
        images.append(image)
    window.workspace.close_study("s")
    decoder.frames.pop(("1.1", 0))
    window.workspace.add(found(study(*images, uid="t")))
    wait_until(lambda: len(window.planes.possible) == len(Plane) and not window.busy)
    assert window.actions_.plane_button.isEnabled()
    width = window.actions_.plane_button.width()
    window.actions_.plane_menu.choices[Plane.CORONAL].trigger()
    assert isinstance(decoder, PlaneDecoder)
    decoder.volumes[-1].set_result(decoder.made())
    wait_until(lambda: window.planes.plane is Plane.CORONAL and not window.busy)
    assert window.actions_.plane_button.text().strip() == "Coronal"
    assert window.actions_.plane_button.width() == width
    ticked = [p for p, action in window.actions_.plane_menu.choices.items() if action.isChecked()]
    assert ticked == [Plane.CORONAL]


def test_a_refused_plane_is_told_in_the_window(
    window: MainWindow, decoder: FakeDecoder, wait_until: WaitUntil
):
    show(window, decoder, wait_until, spacing=Spacing(1, 1, SpacingSource.PATIENT))
    window.planes.failed.emit("The axial plane cannot be shown", "this series is no volume")
    (notice,) = window.notices.all()
    assert notice.title.text() == "The axial plane cannot be shown"
