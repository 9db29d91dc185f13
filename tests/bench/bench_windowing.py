"""Window changes of a 2048 x 2048 image of 16 bits, from the event to the painted window.

    QT_QPA_PLATFORM=offscreen python -m tests.bench.bench_windowing

The real main window opens a made DICOM file. A step is a mouse move of a left drag sent to the
canvas, or `Canvas.set_window`; it ends when the event loop has painted, and handed to the screen, a
picture with exactly that window. The next step begins only then, so that nothing is dropped.

The baseline is napari, which is no dependency of ours and gets an environment of its own. It needs
OpenGL, so it runs under Xvfb with Mesa's llvmpipe (Debian: xvfb, libgl1-mesa-dri, libegl1):

    python -m venv /tmp/napari-venv && /tmp/napari-venv/bin/pip install "napari[pyqt6]"
    xvfb-run -a -s "-screen 0 1600x1200x24" env QT_QPA_PLATFORM=xcb \\
        python -m tests.bench.bench_windowing --napari /tmp/napari-venv/bin/python

It shows the same array on a canvas of the same size. Its step sets `contrast_limits` and ends when
the canvas was drawn and OpenGL has finished. Both windows are on the X server: an offscreen one of
ours would be spared the way there. Both are measured by turns, and the ratio is that of the
medians, since other work on the machine comes and goes; of the processor time, too, which other
work changes less. `--matplotlib PYTHON` takes `imshow` of matplotlib's Agg canvas for the baseline:
`set_clim`, then `draw`.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pydicom
from numpy.typing import NDArray
from pydicom.data import get_testdata_file
from pydicom.uid import ExplicitVRLittleEndian, generate_uid
from PySide6.QtCore import QEvent, QEventLoop, QPointF, Qt
from PySide6.QtGui import QMouseEvent
from PySide6.QtWidgets import QApplication

from app.imaging.types import Window
from app.views.application import create_application
from app.views.canvas.image_layer import ImageLayer
from app.views.main_window import MainWindow
from app.wiring import Program, ViewRequest, build_window

SIDE = 2048
CANVAS_PX = 1000
STEPS = 150
ROUNDS = 2
WARM_UP = 30

NAPARI = """
import json, sys, time
import numpy as np
import warnings
warnings.simplefilter("ignore")
import napari
from qtpy.QtWidgets import QApplication
from vispy import gloo
image, side, steps, warm = np.load(sys.argv[1]), *map(int, sys.argv[2:5])
viewer = napari.Viewer(show=False)
viewer.theme = "dark"
layer = viewer.add_image(image)
window = viewer.window._qt_window
window.show()
qt = viewer.window._qt_viewer
native = qt.canvas.native
native.setFixedSize(side, side)
app = QApplication.instance()
for _ in range(50):
    app.processEvents()
    time.sleep(0.01)
viewer.reset_view()
drawn = []
scene = qt.canvas._scene_canvas
scene.events.draw.connect(lambda event: drawn.append(1), position="last")
def step(number):
    layer.contrast_limits = (100 + number, 30000 + 7 * number)
    drawn.clear()
    native.update()
    while not drawn:
        app.processEvents()
    native.makeCurrent()
    gloo.gl.glFinish()
def view(zoom):
    viewer.reset_view()
    if zoom:
        viewer.camera.zoom = zoom
    for _ in range(20):
        app.processEvents()
        time.sleep(0.01)
computed = {}
def measured(name):
    times = []
    for number in range(warm + steps):
        if number == warm:
            cpu = time.process_time()
        started = time.perf_counter()
        step(number)
        times.append(time.perf_counter() - started)
    computed[name] = (time.process_time() - cpu) / steps
    return times[warm:]
result = {}
for name, zoom in (("fit", 0), ("1:1", 1.0), ("3:1", 3.0)):
    view(zoom)
    result[name] = measured(name)
native.makeCurrent()
print(json.dumps({"times": result, "computed": computed, "size": [native.width(), native.height()],
    "version": napari.__version__,
    "renderer": str(gloo.gl.glGetParameter(gloo.gl.GL_RENDERER if hasattr(gloo.gl, "GL_RENDERER")
                                           else 7937))}))
"""

MATPLOTLIB = """
import json, sys, time
import numpy as np
import matplotlib
matplotlib.use("Agg")
import matplotlib.pyplot as plt
image, side, steps, warm = np.load(sys.argv[1]), *map(int, sys.argv[2:5])
figure = plt.figure(figsize=(side / 100, side / 100), dpi=100)
axes = figure.add_axes((0, 0, 1, 1))
axes.set_axis_off()
shown = axes.imshow(image, cmap="gray")
computed = {}
def measured(name):
    times = []
    for number in range(warm + steps):
        if number == warm:
            cpu = time.process_time()
        started = time.perf_counter()
        shown.set_clim(100 + number, 30000 + 7 * number)
        figure.canvas.draw()
        times.append(time.perf_counter() - started)
    computed[name] = (time.process_time() - cpu) / steps
    return times[warm:]
result = {}
middle = image.shape[0] / 2
for name, zoom in (("fit", 0), ("1:1", 1.0), ("3:1", 3.0)):
    half = side / zoom / 2 if zoom else middle
    axes.set_xlim(middle - half, middle + half)
    axes.set_ylim(middle + half, middle - half)
    result[name] = measured(name)
print(json.dumps({"times": result, "computed": computed, "size": [side, side],
    "version": matplotlib.__version__, "renderer": "Agg"}))
"""


def made_pixels(side: int = SIDE) -> NDArray[np.uint16]:
    """A radiograph's kind of values over all 16 bits: smooth shapes, edges and noise."""
    rng = np.random.default_rng(3)
    y, x = np.mgrid[-1 : 1 : side * 1j, -1 : 1 : side * 1j]
    values = 40_000 * np.exp(-(x**2 + y**2)) + 8_000 * np.sin(9 * x) * np.cos(7 * y) + 9_000
    values[(x - 0.3) ** 2 + (y / 1.5) ** 2 < 0.06] *= 0.45
    values += rng.normal(0, 600, values.shape)
    values[:2] = 65_535
    values[2:4] = 0
    return np.clip(np.rint(values), 0, 65_535).astype(np.uint16)


def write_image(path: Path, pixels: NDArray[np.uint16]) -> None:
    """The pixels as an uncompressed MONOCHROME2 DICOM file of 16 bits, in a CT's header."""
    ds = pydicom.dcmread(str(get_testdata_file("CT_small.dcm")))
    ds.Rows, ds.Columns = pixels.shape
    ds.BitsAllocated = ds.BitsStored = 16
    ds.HighBit, ds.PixelRepresentation = 15, 0
    ds.RescaleIntercept, ds.RescaleSlope = 0, 1
    ds.PixelSpacing = [0.2, 0.2]
    ds.file_meta.TransferSyntaxUID = ExplicitVRLittleEndian
    ds.SOPInstanceUID = ds.file_meta.MediaStorageSOPInstanceUID = generate_uid()
    for keyword in ("SmallestImagePixelValue", "LargestImagePixelValue", "PixelPaddingValue"):
        if keyword in ds:
            delattr(ds, keyword)
    ds.PixelData = pixels.tobytes()
    ds.save_as(path)


class Painted:
    """Knows which window the canvas last painted."""

    def __init__(self, window: MainWindow) -> None:
        self.window: Window | None = None
        layer, canvas = window.canvas.layer, window.canvas
        paint = ImageLayer.paint

        def noting(item: ImageLayer, *given: object) -> None:
            paint(item, *given)  # type: ignore[arg-type]
            if item is layer:
                self.window = canvas.picture.window if canvas.picture else None

        self.forget = lambda: setattr(ImageLayer, "paint", paint)
        setattr(ImageLayer, "paint", noting)  # noqa: B010 - a method of a Qt type


def moved(window: MainWindow, to: QPointF, kind: QEvent.Type, held: Qt.MouseButton) -> None:
    """A mouse event of the left button on the canvas."""
    view = window.canvas.viewport()
    button = Qt.MouseButton.NoButton if kind is QEvent.Type.MouseMove else Qt.MouseButton.LeftButton
    none = Qt.KeyboardModifier.NoModifier
    event = QMouseEvent(kind, to, view.mapToGlobal(to), button, held, none)
    QApplication.sendEvent(view, event)


def until(done: Callable[[], object], limit_s: float = 60.0) -> None:
    """Run the event loop; events of one turn are all handled before `done` is asked again."""
    deadline = time.perf_counter() + limit_s
    while not done():
        QApplication.processEvents(QEventLoop.ProcessEventsFlag.WaitForMoreEvents)
        if time.perf_counter() > deadline:
            raise TimeoutError("the window did not get there")


class Taken(NamedTuple):
    """Seconds of each step, and of processor time of one, all threads of the process together.

    Other programs lengthen the second much less than the first.
    """

    times: list[float]
    computed: float


def timed(step: Callable[[int], None]) -> Taken:
    """Measure steps."""
    times: list[float] = []
    cpu = 0.0
    for number in range(WARM_UP + STEPS):
        if number == WARM_UP:
            cpu = time.process_time()
        started = time.perf_counter()
        step(number)
        times.append(time.perf_counter() - started)
    return Taken(times[WARM_UP:], (time.process_time() - cpu) / STEPS)


def by_drag(window: MainWindow, painted: Painted) -> Taken:
    """Mouse moves of one long left drag."""
    canvas = window.canvas
    middle = QPointF(canvas.viewport().rect().center())
    left, nothing = Qt.MouseButton.LeftButton, Qt.MouseButton.NoButton
    moved(window, middle, QEvent.Type.MouseButtonPress, left)

    def step(number: int) -> None:
        to = middle + QPointF(6 + number % 200, 6 + (number * 3) % 170)
        moved(window, to, QEvent.Type.MouseMove, left)
        wanted = canvas.shown_window
        until(lambda: painted.window == wanted)

    taken = timed(step)
    moved(window, middle, QEvent.Type.MouseButtonRelease, nothing)
    return taken


def by_call(window: MainWindow, painted: Painted) -> Taken:
    """Windows set by `Canvas.set_window`, as the presets and the toolbar do."""

    def step(number: int) -> None:
        wanted = Window(20_000 + 10 * number, 30_000 + 7 * number)
        window.canvas.set_window(wanted)
        until(lambda: painted.window == wanted)

    return timed(step)


def ours(file: Path) -> tuple[dict[str, Taken], str]:
    """Times of our window, and the size of its canvas."""
    application = create_application()
    program = Program()
    window = build_window(program, ViewRequest(paths=(file,)))
    painted = Painted(window)
    try:
        window.canvas.setFixedSize(CANVAS_PX, CANVAS_PX)
        window.show()
        until(lambda: window.canvas.picture is not None and not window.busy)
        gc.collect()
        times: dict[str, Taken] = {}
        for name, zoom in (("fit", 0.0), ("1:1", 1.0), ("3:1", 3.0)):
            window.canvas.fit()
            if zoom:
                window.canvas.set_zoom(zoom)
            until(lambda: not window.busy)
            times[f"{name}, mouse drag"] = by_drag(window, painted)
            times[f"{name}, set_window"] = by_call(window, painted)
        view = window.canvas.viewport()
        size = f"{view.width()} x {view.height()}, {application.platformName()}"
    finally:
        window.close()
        program.close()
        painted.forget()
    return times, size


def baseline(python: str, code: str, array: Path) -> dict[str, Any]:
    """What the baseline's own process measured."""
    sizes = [str(number) for number in (CANVAS_PX, STEPS, WARM_UP)]
    done = subprocess.run(
        [python, "-c", code, str(array), *sizes],
        env={**os.environ, "QT_QPA_PLATFORM": "xcb"},
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    return json.loads(done.stdout.splitlines()[-1])


def told(name: str, runs: list[Taken]) -> tuple[float, float]:
    """Print one line; returns the median and what was computed, in seconds."""
    times = [one for run in runs for one in run.times]
    median = statistics.median(times)
    computed = statistics.mean(run.computed for run in runs)
    print(
        f"{name:<28} {len(times) / sum(times):6.0f} /s   median {median * 1e3:6.2f} ms"
        f" = {1 / median:4.0f} /s   worst {max(times) * 1e3:6.2f} ms"
        f"   computed {computed * 1e3:6.2f} ms"
    )
    return median, computed


def measure(file: Path, array: Path, title: str, python: str, code: str) -> None:
    """Print the tables and their ratios, both sides measured by turns."""
    own: dict[str, list[Taken]] = {}
    theirs: dict[str, list[Taken]] = {}
    size, about = "", ""
    for _ in range(ROUNDS):
        taken, size = ours(file)
        for name, one in taken.items():
            own.setdefault(name, []).append(one)
        if python:
            answer: dict[str, Any] = baseline(python, code, array)
            about = f"{title} {answer['version']}, canvas {answer['size']}, {answer['renderer']}"
            for name, times in answer["times"].items():
                theirs.setdefault(name, []).append(Taken(times, answer["computed"][name]))
    print(f"Sightline, canvas {size}, {SIDE} x {SIDE} of 16 bits, {ROUNDS} x {STEPS} changes each")
    mine = {name: told(name, runs) for name, runs in own.items()}
    if theirs:
        print(about)
    for name, runs in theirs.items():
        median, computed = told(name, runs)
        own_median, own_computed = mine[f"{name}, mouse drag"]
        print(
            f"{'':<28} Sightline's drag is {median / own_median:.1f} times as fast,"
            f" and computes {computed / own_computed:.1f} times less"
        )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--napari", metavar="PYTHON", help="interpreter that has napari")
    parser.add_argument("--matplotlib", metavar="PYTHON", help="interpreter that has matplotlib")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ.setdefault("SIGHTLINE_HOME", folder)
        pixels = made_pixels()
        file, array = Path(folder) / "image.dcm", Path(folder) / "image.npy"
        write_image(file, pixels)
        np.save(array, pixels)
        if given.matplotlib:
            measure(file, array, "matplotlib", given.matplotlib, MATPLOTLIB)
        else:
            measure(file, array, "napari", given.napari or "", NAPARI)


if __name__ == "__main__":
    main()
