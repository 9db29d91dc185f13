"""How soon a large series is on the screen, and how smoothly it scrolls while it is read.

Run: `python -m tests.bench.bench_opening` (the first run makes two series of 500 slices, 0.4 GB).
A real window opens the folder through its own opening path, nothing indexed; the clock runs from
the call to the end of the paint event that shows the first image. Then the wheel turns for ten
seconds while the compressed series is still decoded and put together to a volume for sections.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import tempfile
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pydicom
import SimpleITK
from pydicom.pixels.processing import apply_modality_lut, apply_voi_lut
from PySide6.QtCore import QEvent, QObject, QPoint, QPointF, Qt, QTimer
from PySide6.QtGui import QWheelEvent
from PySide6.QtWidgets import QApplication

from app.imaging.demo import demo_paths
from app.imaging.types import Plane
from app.views.application import create_application, needs_offscreen, use_offscreen
from app.views.main_window import MainWindow
from app.wiring import Program, ViewRequest, build_window
from tests.bench.bench_imaging import best, line
from tests.bench.series_files import ct_series
from tests.gui.heartbeat import Heartbeat
from tests.gui.memory_runs import wait

RUNS = 5
SCROLL_S = 10.0
NOTCH_MS = 16
"""A fast hand on a wheel: more notches a second than frames are shown."""


class Paints(QObject):
    """Tells when a canvas has painted another picture.

    Attributes:
        times: `perf_counter` at the end of each paint event that showed other pixels.
    """

    def __init__(self, window: MainWindow) -> None:
        super().__init__(window)
        self.times: list[float] = []
        self._canvas = window.canvas
        self._new = False
        self._canvas.picture_changed.connect(self._changed)
        self._canvas.viewport().installEventFilter(self)

    def _changed(self) -> None:
        self._new = self._canvas.picture is not None

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Paint and self._new:
            self._new = False
            # Called once this event, and the flush to the screen after it, are through.
            QTimer.singleShot(0, self, lambda: self.times.append(time.perf_counter()))
        return False


@contextmanager
def a_window(*, warm: bool) -> Generator[MainWindow]:
    """A window with a profile, an index and decode workers of its own."""
    with tempfile.TemporaryDirectory() as home:
        os.environ["SIGHTLINE_HOME"] = home
        program = Program()
        window = build_window(program, ViewRequest())
        window.show()
        try:
            if warm:
                program.decoder.warm()
                demo = program.decoder.scan(demo_paths())
                wait(demo.done)
                image = demo.result().studies[0].series[0].instances[0]
                frames = [program.decoder.frame(image), program.decoder.thumbnail(image)]
                wait(lambda: all(future.done() for future in frames))
            pause(1.0)
            yield window
        finally:
            window.close()
            program.close()
            window.deleteLater()
            QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)


def pause(seconds: float) -> None:
    """Let the window be for a while."""
    until = time.perf_counter() + seconds
    wait(lambda: time.perf_counter() >= until)


def first_image(folder: Path, *, warm: bool) -> float:
    """Seconds from the call that opens it to its first image on the screen."""
    with a_window(warm=warm) as window:
        paints = Paints(window)
        started = time.perf_counter()
        window.open_paths([folder])
        wait(lambda: paints.times)
        return paints.times[0] - started


@dataclass(slots=True)
class Hand:
    """Turns the wheel over a canvas, and notes how long each picture took.

    A notch that comes while a picture is awaited is answered by the next one, as for a user, so
    what counts is the oldest notch that has no picture yet.
    """

    window: MainWindow
    paints: Paints
    notches: int = 0
    waits: list[float] = field(default_factory=list[float])
    _asked: float | None = None
    _seen: int = 0
    _down: bool = True

    def turn(self) -> None:
        """One notch, up and down the stack by turns."""
        self.look()
        view = self.window.canvas.viewport()
        at = QPointF(view.width() / 2, view.height() / 2)
        place, count = self.window.canvas.scroller.place
        if place in (0, count - 1) or self.notches == 0:
            self._down = place == 0
        angle = QPoint(0, -120 if self._down else 120)
        none, held = Qt.MouseButton.NoButton, Qt.KeyboardModifier.NoModifier
        phase = Qt.ScrollPhase.NoScrollPhase
        event = QWheelEvent(at, view.mapToGlobal(at), QPoint(), angle, none, held, phase, False)
        if self._asked is None:
            self._asked = time.perf_counter()
        self.notches += 1
        QApplication.sendEvent(view, event)

    def look(self) -> None:
        """Has a picture come since?"""
        for at in self.paints.times[self._seen :]:
            if self._asked is not None and at > self._asked:
                self.waits.append(at - self._asked)
                self._asked = None
        self._seen = len(self.paints.times)

    def tell(self, longest_ms: float) -> None:
        """Print what was measured."""
        waits = sorted(1e3 * one for one in self.waits)
        print(f"  {self.notches} notches of the wheel, {len(waits)} pictures")
        print(f"  longest stall of the GUI thread {longest_ms:9.1f} ms (promised: at most 50)")
        print(f"  notch to picture, median        {statistics.median(waits):9.1f} ms")
        print(f"  notch to picture, 95%           {waits[len(waits) * 95 // 100]:9.1f} ms")


def scrolling(folder: Path) -> None:
    """Open it and turn the wheel for ten seconds while its volume is put together."""
    with a_window(warm=True) as window:
        paints = Paints(window)
        window.open_paths([folder])
        wait(lambda: paints.times)
        beat = Heartbeat()
        hand = Hand(window, paints)
        timer = QTimer(interval=NOTCH_MS)
        timer.timeout.connect(hand.turn)
        timer.start()
        wait(lambda: not window.opening.busy and Plane.CORONAL in window.planes.possible)
        series = window.workspace.studies.all[0].series[0]
        slices = [0]
        volume = window.loader._decoder.volume(
            series, None, lambda done, _total: slices.append(done)
        )
        pause(SCROLL_S)
        timer.stop()
        hand.look()
        beat.stop()
        done = "ready" if volume.done() else f"{max(slices)} of {len(series.instances)} slices"
        print(f"scrolling {folder.name} for {SCROLL_S:.0f} s while its volume is made ({done})")
        hand.tell(beat.longest_ms)


def one_file(path: Path) -> Callable[[], object]:
    """The baseline for one image: pydicom in one process, decoded and windowed."""

    def read() -> object:
        ds = pydicom.dcmread(path)
        return apply_voi_lut(apply_modality_lut(ds.pixel_array, ds), ds)

    return read


def whole_series(folder: Path) -> Callable[[], object]:
    """The baseline for a series: SimpleITK reads all of it before anything can be shown."""

    def read() -> object:
        reader = SimpleITK.ImageSeriesReader()
        reader.SetFileNames(reader.GetGDCMSeriesFileNames(str(folder)))
        return reader.Execute()

    return read


def opening(folder: Path, runs: int) -> None:
    """First image of a folder, against what shows it by other means."""
    warm = [first_image(folder, warm=True) for _ in range(runs)]
    cold = [first_image(folder, warm=False) for _ in range(min(runs, 3))]
    print(f"first image of {folder.name}, each run: {[round(one * 1e3) for one in warm]} ms")
    one, series = best(one_file(folder / "0000.dcm"), 5), best(whole_series(folder), 1)
    line("  first image, workers started", min(warm), "pydicom, one file", one)
    line("  the same", min(warm), "SimpleITK, the series", series)
    line("  first image, as the window opens", min(cold), "SimpleITK, the series", series)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", nargs="?", choices=("opening", "scrolling"))
    parser.add_argument("--runs", type=int, default=RUNS)
    wanted = parser.parse_args()
    if needs_offscreen():
        use_offscreen()
    create_application()
    print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}")
    raw, compressed = ct_series(), ct_series(compressed=True)
    if wanted.part != "scrolling":
        opening(raw, wanted.runs)
        opening(compressed, wanted.runs)
    if wanted.part != "opening":
        scrolling(compressed)


if __name__ == "__main__":
    main()
