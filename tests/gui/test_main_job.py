"""The main job in the real window: demo, question, findings on the image, a second run stopped."""

from __future__ import annotations

import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from app.imaging.findings import Mask, Polyline
from app.views.chat.dock import ChatDock
from app.views.main_window import MainWindow
from app.wiring import Program, ViewRequest, build_window
from tests.gui.heartbeat import Heartbeat, best, stall_ms
from tests.gui.viewer_support import WaitUntil

QUESTION = "Where are the lungs, and is the heart enlarged?"
ATTEMPTS = 5

pytestmark = pytest.mark.gui


@pytest.fixture
def program() -> Iterator[Program]:
    made = Program()
    yield made
    made.close()


@pytest.fixture
def window(qapp: QApplication, program: Program) -> Iterator[MainWindow]:
    built = build_window(program, ViewRequest(demo=True))
    built.show()
    yield built
    built.close()


@pytest.fixture
def other(tmp_path: Path) -> Path:
    """A picture of some size, with other pixels than the demo's."""
    path = tmp_path / "other.png"
    noise = np.random.default_rng(0).integers(0, 255, (1024, 1024), np.uint8)
    Image.fromarray(noise).save(path)
    return path


def dock(window: MainWindow) -> ChatDock:
    """The window's chat dock."""
    assert isinstance(window.chat, ChatDock)
    return window.chat


def ask(window: MainWindow, text: str) -> None:
    """Type a question and press Enter, as a user would."""
    edit = dock(window).composer.edit
    edit.setFocus()
    QTest.keyClicks(edit, text, delay=10)  # ms between keys: events are handled in between
    QTest.keyClick(edit, Qt.Key.Key_Return)


# Not imported to find out: torch must never be loaded in the window's process.
@pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed (viewer only)")
def test_the_main_job(other: Path, wait_until: WaitUntil, gui_heartbeat: Heartbeat, qapp: object):
    runs: list[dict[str, float]] = []
    while not runs or (max(best(runs).values()) >= stall_ms() and len(runs) < ATTEMPTS):
        program = Program()
        window = build_window(program, ViewRequest(demo=True))
        window.show()
        try:
            runs.append(main_job(window, other, wait_until, gui_heartbeat))
        finally:
            window.close()
            program.close()
    print(f"longest GUI stalls of the main job, each run: {runs} ms")  # noqa: T201
    assert max(best(runs).values()) < stall_ms()


def main_job(
    window: MainWindow, other: Path, wait_until: WaitUntil, gui_heartbeat: Heartbeat
) -> dict[str, float]:
    """Do it and check it; returns the longest stall of each step in ms."""
    longest: dict[str, float] = {}

    def note(step: str) -> None:
        longest[step] = round(gui_heartbeat.longest_ms, 1)
        gui_heartbeat.restart()

    wait_until(lambda: window.canvas.frame is not None and not window.busy, timeout=60)
    assert (window.canvas.frame.rows, window.canvas.frame.columns) == (1955, 1841)
    assert window.windowTitle() == "Sightline"
    # Showing the window for the first time loads fonts and lays out: that is before anybody works.
    gui_heartbeat.restart()

    ended: list[str] = []
    dock(window).run_ended.connect(lambda _run, kind: ended.append(kind))
    tools: list[str] = []
    dock(window)._agent.run_event.connect(
        lambda event: tools.append(event.tool) if event.kind == "tool_started" else None
    )
    ask(window, QUESTION)
    note("asked")
    wait_until(lambda: tools, timeout=60)
    note("begun")
    wait_until(lambda: window.canvas.annotation_items(), timeout=120)
    note("found")
    wait_until(lambda: ended, timeout=120)
    wait_until(lambda: dock(window).is_idle() and not window.busy, timeout=30)
    note("answered")
    assert ended == ["run_finished"]
    drawn = [item.finding for item in window.canvas.annotation_items()]
    lungs = [f.label for f in drawn if isinstance(f.geometry, Mask) and f.label.endswith("Lung")]
    lines = [f.label for f in drawn if isinstance(f.geometry, Polyline)]
    assert sorted(lungs) == ["Left Lung", "Right Lung"]
    assert len(lines) == 2
    assert all(finding.image == window.canvas.frame.ref for finding in drawn)
    assert all(finding.units == "px" for finding in drawn if finding.value is not None), (
        "the demo's PixelSpacing is zero: no millimetre may be shown"
    )

    # Other pixels, so that nothing comes from a cache: the network has to run, and is stopped.
    window.open_paths([other])
    wait_until(lambda: not window.busy and window.canvas.frame.ref != drawn[0].image, timeout=30)
    note("another opened")
    assert window.canvas.annotation_items() == [], "findings of one image shown on another"
    tools.clear()
    ask(window, QUESTION)
    wait_until(lambda: tools)
    note("asked again")
    started = time.perf_counter()
    QTest.keyClick(dock(window).composer.edit, Qt.Key.Key_Escape)
    wait_until(lambda: len(ended) == 2)
    stopped_s = time.perf_counter() - started
    print(f"\nstopped after {stopped_s * 1000:.0f} ms: {ended[1]}")  # noqa: T201
    assert ended[1] == "run_cancelled"
    assert stopped_s < 1
    note("stopped")
    return longest


def test_bad_files_are_told_and_the_window_stays_alive(
    window: MainWindow, wait_until: WaitUntil, tmp_path: Path
):
    wait_until(lambda: window.canvas.frame is not None and not window.busy, timeout=60)
    shown = window.canvas.frame.ref
    (tmp_path / "empty.dcm").write_bytes(b"")
    (tmp_path / "letter.dcm").write_text("Dear colleague,\n" * 100)
    (tmp_path / "folder").mkdir()
    window.open_paths(
        [
            tmp_path / "empty.dcm",
            tmp_path / "letter.dcm",
            tmp_path / "folder",
            tmp_path / "missing.dcm",
        ]
    )
    wait_until(lambda: not window.busy, timeout=30)
    named = {problem.path.name for problem in window.workspace.studies.problems}
    assert named == {"empty.dcm", "letter.dcm", "folder", "missing.dcm"}
    assert all(p.reason and p.remedy for p in window.workspace.studies.problems)
    assert window.isVisible()
    assert window.canvas.frame.ref == shown
