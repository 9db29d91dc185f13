"""Every kind of mark, by hand and by tools, follows keys and mouse at every flip and rotation."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtTest import QTest

from app.imaging.findings import (
    Box,
    Ellipse,
    Finding,
    Mask,
    Point,
    Polygon,
    Polyline,
    Segments,
    State,
)
from app.imaging.types import Frame, Spacing, SpacingSource
from app.workspace import drawing, editing
from app.workspace.viewport import Display
from tests.gui.canvas_scene import LEFT, Scene, move
from tests.gui.viewer_support import finding

pytestmark = pytest.mark.gui
TURNS = [Display(flip_h=flip, quarter_turns=turns) for flip in (False, True) for turns in range(4)]
OUTLINE = [(30, 20), (66, 24), (70, 50), (40, 58), (24, 41)]
DRAWN = {
    drawing.RULER: [(30, 20), (66, 50)],
    drawing.POLYLINE: [(30, 20), (66, 24), (50, 50)],
    drawing.ANGLE: [(30, 20), (66, 24), (50, 50)],
    drawing.COBB: [(30, 20), (66, 24), (30, 45), (60, 55)],
    drawing.BIDIRECTIONAL: [(30, 30), (66, 45)],
    drawing.CTR: [(30, 20), (60, 20), (24, 45), (70, 45)],
    drawing.BOX: [(30.5, 20.5), (66.5, 50.5)],
    drawing.ELLIPSE: [(30, 20), (66, 50)],
    drawing.POLYGON: OUTLINE,
    drawing.FREEHAND: OUTLINE,
    drawing.PROBE: [(50, 40)],
    drawing.ARROW: [(30, 20), (66, 50)],
    drawing.TEXT: [(50, 40)],
    drawing.POINT: [(50, 40)],
    drawing.OUTSIDE: [(50, 40)],
}


def square() -> Mask:
    pixels = np.zeros((80, 100), np.bool_)
    pixels[30:45, 40:60] = True
    return Mask(pixels)


def of_tool(shape: object) -> Callable[[Frame], Finding]:
    return lambda frame: finding(frame.ref, shape)  # pyright: ignore[reportArgumentType]


MADE: dict[str, Callable[[Frame], Finding]] = {
    tool: lambda frame, tool=tool, points=points: drawing.draw(tool, frame, points)
    for tool, points in DRAWN.items()
} | {
    "mask by hand": lambda frame: drawing.filled_mask(frame, square(), "by hand"),
    "box of a tool": of_tool(Box(30.5, 20.5, 66.5, 50.5)),
    "ellipse of a tool": of_tool(Ellipse(30, 20, 66, 50)),
    "outline of a tool": of_tool(Polygon(tuple(OUTLINE))),
    "line of a tool": of_tool(Polyline(((30, 20), (66, 50)))),
    "segments of a tool": of_tool(Segments(((30, 20), (66, 24), (30, 45), (60, 55)))),
    "point of a tool": of_tool(Point(50, 40)),
    "mask of a tool": of_tool(square()),
}


def now(scene: Scene) -> Finding:
    (item,) = scene.workspace.annotations.all()
    return item.finding


def on_screen(scene: Scene, x: float, y: float) -> np.ndarray:
    there = scene.canvas.to_widget(x, y)
    return np.array((there.x(), there.y()))


def middle(scene: Scene) -> np.ndarray:
    """The middle of the mark on the screen."""
    bounds = editing.bounds_of(now(scene))
    assert bounds is not None
    x0, y0, x1, y1 = bounds
    return on_screen(scene, (x0 + x1) / 2, (y0 + y1) / 2)


NONE = Qt.KeyboardModifier.NoModifier


def drag(scene: Scene, start: np.ndarray, by: tuple[int, int], held: Qt.KeyboardModifier = NONE):
    view = scene.canvas.viewport()
    first = QPointF(*start).toPoint()
    QTest.mousePress(view, LEFT, held, first)
    for share in (0.5, 1.0):
        move(view, first + QPoint(round(by[0] * share), round(by[1] * share)), LEFT)
    QTest.mouseRelease(view, LEFT, held, first + QPoint(*by))
    scene.settle()


def on_outline(scene: Scene) -> tuple[float, float] | None:
    """A point on the line of a mark, apart from handles and labels; None for a mask."""
    made = now(scene)
    shape, points = made.geometry, drawing.points_of(made)
    if isinstance(shape, Mask):
        return None
    if isinstance(shape, Ellipse):
        return (shape.x0 + shape.x1) / 2, shape.y0
    if isinstance(shape, Point):
        return shape.x, shape.y
    sides = list(pairwise(points))[:: 2 if isinstance(shape, Segments) else 1]
    spots = [(ax + 0.7 * (bx - ax), ay + 0.7 * (by - ay)) for (ax, ay), (bx, by) in sides]
    free = [one for one in spots if not scene.canvas.overlay.chip_at(scene.canvas.to_widget(*one))]
    return free[0]


CASES = [(kind, (TURNS[number % 8],)) for number, kind in enumerate(MADE)]
ALL = [pytest.param(kind, tuple(TURNS), marks=pytest.mark.slow) for kind in MADE]


@pytest.mark.parametrize(("kind", "turns"), [*CASES, *ALL])
def test_a_mark_follows_keys_and_mouse_however_the_image_is_turned(
    scene: Scene, kind: str, turns: tuple[Display, ...]
):
    scene.show(spacing=Spacing(0.7, 0.5, SpacingSource.PATIENT, 1.4))
    annotations, canvas = scene.workspace.annotations, scene.canvas
    assert canvas.frame is not None
    made = MADE[kind](canvas.frame)
    if drawing.by_hand(made):
        annotations.put(made, "Draw")
    else:
        annotations.add([made])
    first = now(scene)
    annotations.select(first.id)
    keys = {
        Qt.Key.Key_Right: (1, 0),
        Qt.Key.Key_Left: (-1, 0),
        Qt.Key.Key_Up: (0, -1),
        Qt.Key.Key_Down: (0, 1),
    }
    for turn in turns:
        scene.workspace.viewport.set_display(turn)
        scene.settle()
        canvas.setFocus()
        # Keys move it by a pixel of the image, along the screen's axes.
        across, down = canvas.pixel_scale
        step = (down, across) if turn.quarter_turns % 2 else (across, down)
        for key, (dx, dy) in keys.items():
            before = middle(scene)
            QTest.keyClick(canvas, key)
            assert middle(scene) - before == pytest.approx((dx * step[0], dy * step[1]), abs=0.01)
            scene.workspace.commands.undo()
        # The mouse moves each of its points.
        for place, point in enumerate(drawing.points_of(first)):
            start = on_screen(scene, *point)
            drag(scene, start, (13, 9))
            moved = drawing.points_of(now(scene))
            # A box is turned over when a corner passes the opposite one; here none does.
            off = on_screen(scene, *moved[place]) - np.floor(start) - (13, 9)
            near = max(step) if isinstance(first.geometry, Box) else 1.5
            assert np.abs(off).max() <= near, (turn, place)
            scene.workspace.commands.undo()
            assert now(scene).geometry == first.geometry
        # And the whole of it: by its line, a mask with Ctrl held.
        before, spot = middle(scene), on_outline(scene)
        if spot is None:
            drag(scene, before, (21, -14), Qt.KeyboardModifier.ControlModifier)
        elif not isinstance(first.geometry, Point):
            drag(scene, on_screen(scene, *spot), (21, -14))
        if not isinstance(first.geometry, Point):
            near = max(step) if isinstance(first.geometry, Box | Mask) else 1.5
            assert np.abs(middle(scene) - before - (21, -14)).max() <= near, turn
            assert now(scene).state is (State.ACCEPTED if drawing.by_hand(first) else State.EDITED)
            scene.workspace.commands.undo()
        assert now(scene) is first or now(scene) == first
