"""Marks are dragged as a whole and moved by arrow keys."""

from __future__ import annotations

from dataclasses import replace

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from app.imaging.findings import Mask, Polyline
from app.workspace import drawing
from tests.gui.canvas_scene import LEFT, Scene
from tests.gui.viewer_support import instance


@pytest.fixture(autouse=True)
def _shown(scene: Scene) -> None:
    scene.show()


def _line(scene: Scene) -> str:
    assert scene.canvas.frame is not None
    line = drawing.draw(drawing.RULER, scene.canvas.frame, [(20, 40), (60, 40)])
    scene.workspace.annotations.put(line, "Measure length")
    return line.id


def _points(scene: Scene, finding_id: str) -> tuple[tuple[float, float], ...]:
    item = scene.workspace.annotations.get(finding_id)
    assert item is not None
    assert isinstance(item.finding.geometry, Polyline)
    return item.finding.geometry.points


def test_the_selected_mark_is_dragged_by_its_line(scene: Scene) -> None:
    line = _line(scene)
    window = scene.canvas.shown_window
    by = scene.at(30, 50) - scene.at(30, 40)
    scene.drag(LEFT, scene.at(30, 40), (by.x(), by.y()))
    assert _points(scene, line) == ((20, 40), (60, 40))  # not selected: the window's drag
    assert scene.canvas.shown_window != window
    scene.workspace.annotations.select(line)
    window = scene.canvas.shown_window
    scene.drag(LEFT, scene.at(30, 40), (by.x(), by.y()))
    (x0, y0), (x1, y1) = _points(scene, line)
    assert (x0, x1 - x0) == (pytest.approx(20, abs=0.5), pytest.approx(40))
    assert y0 == y1 == pytest.approx(50, abs=0.5)
    assert scene.canvas.shown_window == window
    scene.workspace.commands.undo()
    assert _points(scene, line) == ((20, 40), (60, 40))


def test_arrow_keys_move_the_selected_mark_and_scroll_without_one(scene: Scene) -> None:
    line = _line(scene)
    scene.key(Qt.Key.Key_Right)
    assert _points(scene, line) == ((20, 40), (60, 40))
    scene.workspace.annotations.select(line)
    scene.key(Qt.Key.Key_Right)
    QTest.keyClick(scene.canvas, Qt.Key.Key_Down, Qt.KeyboardModifier.ShiftModifier)
    assert _points(scene, line) == ((21, 50), (61, 50))
    scene.canvas.flip(across=True)
    scene.settle()
    scene.key(Qt.Key.Key_Right)  # to the right on the screen
    assert _points(scene, line) == ((20, 50), (60, 50))
    scene.workspace.commands.undo()
    assert _points(scene, line) == ((21, 50), (61, 50))


def test_the_point_grabbed_last_moves_alone(scene: Scene) -> None:
    line = _line(scene)
    scene.workspace.annotations.select(line)
    QTest.mouseClick(scene.canvas.viewport(), LEFT, pos=scene.at(60, 40))
    scene.key(Qt.Key.Key_Up)
    assert _points(scene, line) == ((20, 40), (60, 39))


def test_a_locked_mark_stays_and_it_is_told(scene: Scene) -> None:
    line = _line(scene)
    annotations = scene.workspace.annotations
    annotations.alter([line], "Lock", lambda item: replace(item, locked=True))
    annotations.select(line)
    told: list[int] = []
    annotations.refused.connect(told.append)
    by = scene.at(30, 50) - scene.at(30, 40)
    scene.drag(LEFT, scene.at(30, 40), (by.x(), by.y()))
    scene.key(Qt.Key.Key_Right)
    scene.key(Qt.Key.Key_Delete)
    assert told == [1, 1, 1]
    assert _points(scene, line) == ((20, 40), (60, 40))


def test_the_brush_starts_a_mask_where_there_is_none(scene: Scene) -> None:
    scene.canvas.drawing_tool.set_tool(drawing.BRUSH)
    scene.drag(LEFT, scene.at(30, 40), (40, 0))
    (item,) = scene.workspace.annotations.all()
    assert isinstance(item.finding.geometry, Mask)
    assert drawing.by_hand(item.finding)
    assert item.finding.geometry.pixels[40, 30]
    assert not item.finding.geometry.pixels[70, 90]
    assert "px² · mean " in item.finding.description
    assert instance().rows == item.finding.geometry.pixels.shape[0]
