"""Points snap to edges: a phantom's known edge is met by mouse at every zoom and turn."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from app import paths
from app.imaging.findings import Finding, Polyline
from app.imaging.types import Spacing, SpacingSource
from app.views.canvas.drawing_tool import SNAP
from app.views.main_window import MainWindow
from app.workspace import drawing
from app.workspace.display_settings import DisplaySettings
from app.workspace.viewport import Display
from app.workspace.workspace import Workspace
from tests.gui.canvas_scene import LEFT, Scene, move
from tests.gui.viewer_support import FakeDecoder, WaitUntil, activate, found, instance, study

pytestmark = pytest.mark.gui
ROWS, COLUMNS, FINE = 240, 300, 4
MIDDLE, RADIUS = (149.3, 118.6), 60.4  # the radius in columns
TALL = 1.75  # a row is so many columns high
TURNS = [Display(flip_h=flip, quarter_turns=turns) for flip in (False, True) for turns in range(4)]
ZOOMS = (0.5, 1.0, 2.0, 4.0, 8.0)


def phantom() -> np.ndarray:
    """A bright disc, as a detector sees it: the mean over each pixel, with noise."""
    x = (np.arange(COLUMNS * FINE) + 0.5) / FINE - 0.5
    y = (np.arange(ROWS * FINE) + 0.5) / FINE - 0.5
    inside = np.hypot(x[None, :] - MIDDLE[0], (y[:, None] - MIDDLE[1]) * TALL) < RADIUS
    parts = inside.reshape(ROWS, FINE, COLUMNS, FINE).mean(axis=(1, 3))
    noise = np.random.default_rng(4).normal(0, 10, parts.shape)
    return (200 + 600 * parts + noise).astype(np.int16)


@pytest.fixture
def disc(scene: Scene) -> Scene:
    spacing = Spacing(0.7, 0.4, SpacingSource.PATIENT, TALL)
    scene.show(instance(size=(ROWS, COLUMNS)), stored=phantom(), spacing=spacing)
    scene.canvas.drawing_tool.snapping = True
    return scene


def last(scene: Scene) -> Finding:
    return scene.workspace.annotations.all()[-1].finding


def away(point: tuple[float, float]) -> float:
    """How far a point is from the disc's edge, in columns."""
    return abs(math.hypot(point[0] - MIDDLE[0], (point[1] - MIDDLE[1]) * TALL) - RADIUS)


def near_edge(scene: Scene, angle: float, off: float) -> QPoint:
    """A place `off` px of the screen outside the disc, in a direction."""
    far = RADIUS + off / scene.canvas.pixel_scale[0]
    x, y = MIDDLE[0] + far * math.cos(angle), MIDDLE[1] + far * math.sin(angle) / TALL
    return scene.canvas.to_widget(x, y).toPoint()


def look_at(scene: Scene, angle: float, zoom: float) -> None:
    """Zoom to the disc's edge in a direction."""
    canvas = scene.canvas
    canvas.set_zoom(zoom)
    scene.settle()
    there = canvas.to_widget(
        MIDDLE[0] + RADIUS * math.cos(angle), MIDDLE[1] + RADIUS * math.sin(angle) / TALL
    )
    by = QPointF(canvas.viewport().rect().center()) - there
    canvas.pan_by(by.x(), by.y())
    scene.settle()


@pytest.mark.parametrize("turn", range(8))
def test_a_known_edge_is_met_within_half_a_pixel(disc: Scene, turn: int):
    disc.workspace.viewport.set_display(TURNS[turn])
    disc.settle()
    tool, view = disc.canvas.drawing_tool, disc.canvas.viewport()
    for number, zoom in enumerate(ZOOMS):
        angle = 0.3 + 2.1 * number + 0.7 * turn
        look_at(disc, angle, zoom)
        tool.set_tool(drawing.RULER)
        start = near_edge(disc, angle, 5.0)
        QTest.mousePress(view, LEFT, pos=start)
        assert tool.sign.isVisible()
        shown = tool.sign.geometry().center()
        move(view, start + QPoint(60, 45), LEFT)
        QTest.mouseRelease(view, LEFT, pos=start + QPoint(60, 45))
        disc.settle()
        shape = last(disc).geometry
        assert isinstance(shape, Polyline)
        assert away(shape.points[0]) < 0.5
        there = disc.canvas.to_widget(*shape.points[0]) - QPointF(shown)
        assert there.manhattanLength() < 3
        disc.workspace.annotations.remove([last(disc).id])


def test_a_dragged_point_snaps_and_alt_or_the_option_leave_it_where_it_is(disc: Scene):
    tool, view = disc.canvas.drawing_tool, disc.canvas.viewport()
    assert disc.canvas.frame is not None
    line = drawing.draw(drawing.RULER, disc.canvas.frame, [(149.0, 119.0), (160.0, 119.0)])
    disc.workspace.annotations.put(line, "Measure")
    disc.workspace.annotations.select(line.id)

    def dragged(held: Qt.KeyboardModifier) -> tuple[float, float]:
        shape = last(disc).geometry
        assert isinstance(shape, Polyline)
        start, end = disc.canvas.to_widget(*shape.points[1]).toPoint(), near_edge(disc, 0.6, 6.0)
        QTest.mousePress(view, LEFT, held, start)
        for to in (start + (end - start) / 2, end):
            move(view, to, LEFT)
        QTest.mouseRelease(view, LEFT, held, end)
        disc.settle()
        shape = last(disc).geometry
        assert isinstance(shape, Polyline)
        return shape.points[1]

    assert away(dragged(Qt.KeyboardModifier.NoModifier)) < 0.5
    assert not tool.sign.isVisible()
    disc.workspace.commands.undo()
    assert away(dragged(Qt.KeyboardModifier.AltModifier)) > 1
    disc.workspace.commands.undo()
    tool.snapping = False
    assert away(dragged(Qt.KeyboardModifier.NoModifier)) > 1


def test_the_sign_is_seen_before_a_point_is_set_and_brushes_have_none(disc: Scene):
    tool, view = disc.canvas.drawing_tool, disc.canvas.viewport()
    tool.set_tool(drawing.POLYGON)
    move(view, near_edge(disc, 1.0, 4.0), Qt.MouseButton.NoButton)
    assert tool.sign.isVisible()
    move(view, disc.canvas.to_widget(*MIDDLE).toPoint(), Qt.MouseButton.NoButton)
    assert not tool.sign.isVisible()
    move(view, near_edge(disc, 1.0, SNAP * 2.5), Qt.MouseButton.NoButton)
    assert not tool.sign.isVisible()
    for other in (drawing.BRUSH, drawing.PROBE, drawing.FILL):
        tool.set_tool(other)
        move(view, near_edge(disc, 1.0, 4.0), Qt.MouseButton.NoButton)
        assert not tool.sign.isVisible()


@pytest.fixture
def window(
    qapp: QApplication, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[MainWindow]:
    monkeypatch.setenv("SIGHTLINE_HOME", str(tmp_path))
    made = MainWindow(Workspace(), FakeDecoder(), layout_file=tmp_path / "window.ini")
    made.show()
    yield made
    made.quit()


def test_the_option_is_off_at_first_and_remembered(window: MainWindow, wait_until: WaitUntil):
    window.workspace.add(found(study(instance())))
    wait_until(lambda: window.canvas.frame is not None and not window.busy)
    activate(window, wait_until)
    assert not window.canvas.drawing_tool.snapping
    assert not window.actions_.snap.isChecked()
    QTest.keyClick(window.canvas, Qt.Key.Key_Y, Qt.KeyboardModifier.ShiftModifier)
    assert window.actions_.snap.isChecked()
    assert window.canvas.drawing_tool.snapping
    assert DisplaySettings(paths.config_dir() / "display.json").snap
