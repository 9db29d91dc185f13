"""Opening in the real window while mouse and wheel go on: painting never waits for a scan."""

from __future__ import annotations

import shutil
from pathlib import Path

import pydicom.data
import pytest
from PySide6.QtCore import QPoint, QPointF, Qt, QTimer
from PySide6.QtGui import QWheelEvent
from PySide6.QtWidgets import QApplication

from app.views.main_window import MainWindow
from app.wiring import Program, ViewRequest, build_window
from tests.gui.canvas_scene import move
from tests.gui.heartbeat import Heartbeat, best, stall_ms
from tests.gui.viewer_support import WaitUntil

ATTEMPTS = 5
STEP_MS = 16  # a mouse tells its place 60 times a second

pytestmark = pytest.mark.gui


class Hand:
    """Moves over the canvas, and turns the wheel at every fourth step."""

    def __init__(self, window: MainWindow) -> None:
        self._canvas = window.canvas
        self.steps = 0
        self._timer = QTimer(interval=STEP_MS)
        self._timer.timeout.connect(self._step)
        self._timer.start()

    def stop(self) -> None:
        self._timer.stop()

    def _step(self) -> None:
        self.steps += 1
        view = self._canvas.viewport()
        at = QPoint(60 + self.steps * 7 % 240, 60 + self.steps * 5 % 240)
        move(view, at, Qt.MouseButton.NoButton)
        if self.steps % 4 == 0:
            angle = QPoint(0, 120 if self.steps // 80 % 2 else -120)
            none = Qt.MouseButton.NoButton
            held, phase = Qt.KeyboardModifier.NoModifier, Qt.ScrollPhase.NoScrollPhase
            place = QPointF(at)
            event = QWheelEvent(
                place, view.mapToGlobal(place), QPoint(), angle, none, held, phase, False
            )
            QApplication.sendEvent(view, event)


def longest_stalls(source: Path, wait_until: WaitUntil, beat: Heartbeat) -> dict[str, float]:
    """Open it in a window of its own; ms at each step until all is listed and drawn."""
    longest: dict[str, float] = {}
    program = Program()
    window = build_window(program, ViewRequest())
    window.show()
    hand = Hand(window)
    try:
        # Showing a window for the first time loads fonts and lays out: before anybody works.
        wait_until(lambda: hand.steps > 20)
        beat.restart()
        window.open_paths([source])
        wait_until(lambda: window.workspace.studies.all, timeout=60)
        longest["first study"] = round(beat.longest_ms, 1)
        beat.restart()
        begun = hand.steps
        wait_until(lambda: not window.opening.busy and hand.steps > begun + 120, timeout=60)
        longest["all of them"] = round(beat.longest_ms, 1)
        assert window.canvas.picture is not None
    finally:
        hand.stop()
        wait_until(lambda: not window.busy, timeout=30)
        window.close()
        program.close()
    return longest


def check(source: Path, wait_until: WaitUntil, beat: Heartbeat) -> None:
    """Each step stays below the limit in one of a few runs: see `best`."""
    runs: list[dict[str, float]] = []
    while not runs or (max(best(runs).values()) >= stall_ms() and len(runs) < ATTEMPTS):
        runs.append(longest_stalls(source, wait_until, beat))
    print(f"longest GUI stalls while {source.name} was opened, each run: {runs} ms")  # noqa: T201
    assert max(best(runs).values()) < stall_ms()


def test_series_of_124_files_are_opened_without_a_stall(
    shared_data: Path, wait_until: WaitUntil, gui_heartbeat: Heartbeat
):
    check(shared_data / "series", wait_until, gui_heartbeat)


def test_files_of_every_kind_are_opened_without_a_stall(
    tmp_path: Path, wait_until: WaitUntil, gui_heartbeat: Heartbeat
):
    files = Path(pydicom.data.__file__).parent / "test_files"
    source = tmp_path / "every-kind"
    shutil.copytree(files, source)
    check(source, wait_until, gui_heartbeat)
