"""Four linked viewports scrolled through cached slices, and the memory of 16 with a film each.

    QT_QPA_PLATFORM=offscreen python -m tests.bench.bench_viewports

The real main window opens a made CT of 500 slices of 512 x 512 (see `series_files`) in four
viewports, each in its own window, linked by position. All slices are in the cache. A step is one
slice further in the active viewport; it ends when all four canvases show that slice. The baseline
is the same window with one viewport, in the same run. The longest stall is the longest time in
which the GUI thread handled no event.

For the memory, a process of its own opens 16 films of 2048 x 2048 of 16 bits and shows one, another
shows 16 in a layout of 4 x 4 (Linux only): its resident memory may be 1.2 times that of the first,
plus the pixels of 15 films.
"""

from __future__ import annotations

import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pydicom
from pydicom.data import get_testdata_file
from pydicom.uid import ExplicitVRLittleEndian, generate_uid
from PySide6.QtCore import QEventLoop
from PySide6.QtWidgets import QApplication

from app.imaging.types import Window
from app.views.application import create_application
from app.views.main_window import MainWindow
from app.wiring.program import Program
from app.wiring.window_builder import ViewRequest, build_window
from tests.bench.series_files import ct_series
from tests.conftest import REPO
from tests.gui.heartbeat import Heartbeat

STEPS = 480
SIDE = 2048
FILMS = 16
WINDOWS = (Window(40, 400), Window(-600, 1500), Window(400, 1800), Window(50, 80))


def main() -> None:
    """Print the table."""
    print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}")
    program, application = Program(), create_application()
    window = build_window(program, ViewRequest(paths=[ct_series()]))
    window.resize(1600, 1000)
    window.show()
    wait(application, lambda: bool(window.workspace.studies.all) and not window.busy)
    series = window.workspace.studies.all[0].series[0]
    for image in series.instances:  # into the cache
        program.decoder.frame(image, 0).result()
    alone, stall = scrolled(application, window)
    print(f"one viewport       {alone:7.1f} slices/s, longest stall {stall:5.1f} ms")
    window.viewports.show_layout("2x2")
    wait(application, lambda: not window.busy)
    for number, frame in enumerate(window.viewports.frames):
        frame.viewport.show(series.instances[0])
        wait(application, lambda: not window.busy)
        frame.canvas.set_window(WINDOWS[number])
    window.links.set_link("scroll", True)
    wait(application, lambda: not window.busy)
    four, stall = scrolled(application, window)
    print(f"four, linked       {four:7.1f} slices/s, longest stall {stall:5.1f} ms (60, 50)")
    print(f"ratio              {four / alone:7.2f} of one viewport")
    window.quit()
    program.close()
    with tempfile.TemporaryDirectory() as folder:
        films(Path(folder))
        one, many = (measured(Path(folder), count) for count in (1, FILMS))
    pixels = (FILMS - 1) * SIDE * SIDE * 2 / 2**20
    print(f"one film           {one:7.1f} MiB resident")
    print(f"16 films, 4x4      {many:7.1f} MiB, {(many - pixels) / one:.2f} of one (1.2) + pixels")


def wait(application: QApplication, until: Callable[[], bool], limit_s: float = 120.0) -> None:
    """Handle events until something holds."""
    end = time.monotonic() + limit_s
    while not until():
        application.processEvents()
        time.sleep(0.001)
        if time.monotonic() > end:
            raise TimeoutError


def scrolled(application: QApplication, window: MainWindow) -> tuple[float, float]:
    """Return slices per second through the series, and the longest stall in ms."""
    canvas = window.canvas
    canvas.scroller.to(0)
    wait(application, lambda: not window.busy)
    canvases = [frame.canvas for frame in window.viewports.frames]
    beat = Heartbeat()
    beat.restart()
    took: list[float] = []
    for step in range(1, STEPS + 1):
        begin = time.perf_counter()
        canvas.scroller.step(1)
        wanted = window.workspace.studies.all[0].series[0].instances[step].sop_instance_uid
        while any(
            one.picture is None or one.picture.job.instance.sop_instance_uid != wanted
            for one in canvases
        ):
            # Not in a busy loop, which would keep Python's lock from the threads that render.
            application.processEvents(QEventLoop.ProcessEventsFlag.WaitForMoreEvents)
        application.processEvents()  # painted
        took.append(time.perf_counter() - begin)
    beat.stop()
    return 1 / statistics.median(took), beat.longest_ms


def films(folder: Path) -> None:
    """Write radiographs of different patients."""
    source = pydicom.dcmread(str(get_testdata_file("CT_small.dcm")))
    for number in range(FILMS):
        source.Modality, source.PatientID = "DX", f"p{number}"
        source.SOPInstanceUID = generate_uid()
        source.StudyInstanceUID, source.SeriesInstanceUID = generate_uid(), generate_uid()
        source.file_meta.MediaStorageSOPInstanceUID = source.SOPInstanceUID
        source.Rows = source.Columns = SIDE
        rng = np.random.default_rng(number)
        source.PixelData = rng.integers(0, 4000, (SIDE, SIDE), dtype=np.int16).tobytes()
        source.file_meta.TransferSyntaxUID = ExplicitVRLittleEndian
        source.save_as(folder / f"{number}.dcm", enforce_file_format=True)


def measured(folder: Path, count: int) -> float:
    """Return the resident memory in MiB of a window that shows so many of the films."""
    command = [sys.executable, "-m", "tests.bench.bench_viewports", str(folder), str(count)]
    environment = {**os.environ, "QT_QPA_PLATFORM": "offscreen"}
    done = subprocess.run(
        command, cwd=REPO, env=environment, stdout=subprocess.PIPE, text=True, check=True
    )
    return float(json.loads(done.stdout.splitlines()[-1]))


def show_films(folder: Path, count: int) -> None:
    """Show films in a window, and print its resident memory in MiB."""
    program, application = Program(), create_application()
    window = build_window(program, ViewRequest(paths=[folder]))
    window.resize(1600, 1000)
    window.show()
    wait(application, lambda: len(window.workspace.studies.all) == FILMS and not window.busy)
    if count > 1:
        window.viewports.show_layout("4x4")
        studies = window.workspace.studies.all
        wait(application, lambda: not window.busy)
        for frame, study in zip(window.viewports.frames, studies, strict=True):
            frame.viewport.show(study.series[0].instances[0])
    wait(application, lambda: not window.busy)
    time.sleep(1)
    pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
    print(json.dumps(pages * os.sysconf("SC_PAGE_SIZE") / 2**20))
    window.quit()
    program.close()


if __name__ == "__main__":
    if len(sys.argv) == 3:
        show_films(Path(sys.argv[1]), int(sys.argv[2]))
    else:
        main()
