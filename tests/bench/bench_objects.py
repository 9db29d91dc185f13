"""Panning an image of 2000 x 2000 with the outlines of 5,000 cells, against the same without.

    QT_QPA_PLATFORM=offscreen python -m tests.bench.bench_objects

A step pans the canvas (1200 x 900) by three pixels and draws it at once; its time is that of the
GUI thread's processor, so that other work on the machine does not count. The baseline is the same
canvas with the finding hidden, in the same run, by turns. 60 pictures a second leave 16.7 ms.
"""

from __future__ import annotations

import statistics
import time

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QEventLoop
from PySide6.QtWidgets import QApplication

from app.imaging.findings import Instances, State
from app.views.application import create_application
from app.views.canvas.canvas import Canvas
from tests.gui.canvas_scene import Scene
from tests.gui.viewer_support import finding, instance

SIDE, CELLS = 2000, 5000
ZOOMS = (0.45, 1.0, 2.0, 3.0, 8.0)
STEPS = 40


def cells() -> NDArray[np.uint16]:
    """Numbered ellipses that fill an image, from 16 to 28 pixels wide."""
    random = np.random.default_rng(0)
    labels = np.zeros((SIDE, SIDE), np.uint16)
    y, x = np.mgrid[-13:14, -13:14]
    across = SIDE // 28
    for number in range(CELLS):
        row, column = divmod(number, across)
        radius, shape = random.uniform(8, 12), random.uniform(0.8, 1.2)
        inside = (y * shape) ** 2 + (x / shape) ** 2 <= radius**2
        top, left = 28 * row, 28 * column
        labels[top : top + 27, left : left + 27][inside] = number + 1
    return labels


def scene_with_cells(scene: Scene) -> str:
    """Show an image with its cells on a scene's canvas; return the finding's id."""
    labels = cells()
    random = np.random.default_rng(1)
    stored = np.where(labels > 0, 600, 100) + random.normal(0, 40, labels.shape)
    scene.canvas.resize(1200, 900)
    image = instance(size=(SIDE, SIDE))
    scene.show(image, stored=stored.astype(np.int16))
    frame = scene.canvas.frame
    assert frame is not None
    one = finding(frame.ref, Instances(labels), "Nuclei", value=float(CELLS), state=State.ACCEPTED)
    scene.workspace.annotations.add([one])
    scene.settle()
    return one.id


def pan_ms(canvas: Canvas, steps: int = STEPS) -> list[float]:
    """Return the milliseconds that each step of a pan takes the GUI thread's processor."""
    taken: list[float] = []
    for number in range(steps):
        way = 3 if number < steps / 2 else -3
        start = time.thread_time()
        canvas.pan_by(way, way)
        canvas.viewport().repaint()
        taken.append((time.thread_time() - start) * 1e3)
    return taken


def main() -> None:
    """Print the table."""
    application = create_application()
    scene = Scene(lambda done: _wait(application, done))
    one = scene_with_cells(scene)
    annotations = scene.workspace.annotations
    print(f"{'zoom':>6} {'with, ms':>10} {'worst':>8} {'without':>9} {'ratio':>7}")
    for zoom in ZOOMS:
        scene.canvas.set_zoom(zoom)
        scene.settle()
        drawn: list[float] = []
        bare: list[float] = []
        for _turn in range(3):
            for shown, times in ((True, drawn), (False, bare)):
                annotations.set_visible([one], shown)
                scene.settle()
                pan_ms(scene.canvas, 2)  # colours of pictures are made once
                times += pan_ms(scene.canvas)
        median, baseline = statistics.median(drawn), statistics.median(bare)
        print(
            f"{zoom:6.2f} {median:10.2f} {max(drawn):8.2f} {baseline:9.2f} {median / baseline:7.2f}"
        )
    scene.close()


def _wait(application: QApplication, done: object) -> None:
    assert callable(done)
    while not done():
        application.processEvents(QEventLoop.ProcessEventsFlag.WaitForMoreEvents, 20)


if __name__ == "__main__":
    main()
