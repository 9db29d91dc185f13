"""Phantoms of known truth, measured by mouse on the real canvas: every zoom, turn and spacing.

The truth is computed here in mm from where the mouse was, by other formulas than the program's;
beside it stands the truth of the phantom, which a mouse on whole pixels meets within half of one.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
import SimpleITK
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtTest import QTest

from app.imaging.findings import Ellipse, Finding, Polygon
from app.imaging.types import ImageRef, Orientation, Spacing, SpacingSource
from app.workspace import drawing
from app.workspace.viewport import Display
from tests.gui.canvas_scene import LEFT, Scene, move
from tests.gui.viewer_support import instance

pytestmark = pytest.mark.gui

ROWS, COLUMNS = 640, 800
ROW_MM, COLUMN_MM = 0.7, 0.4  # as tall as 1.75 times their width
ZOOMS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
TURNS = [Display(flip_h=flip, quarter_turns=turns) for flip in (False, True) for turns in range(4)]
REACH = 60  # px on screen from the middle of the view
EXACT = 1e-3

ALL = [(zoom, turn) for turn in range(8) for zoom in ZOOMS]
NORMAL = [(ZOOMS[turn % 7], turn) for turn in range(8)]
CASES = [pytest.param(*case, marks=[] if case in NORMAL else [pytest.mark.slow]) for case in ALL]


def values() -> np.ndarray:
    """Values that no two pixels around share by chance: a plane and a wave."""
    y, x = np.mgrid[:ROWS, :COLUMNS]
    return (500 + x // 2 - y // 3 + 40 * np.sin(x / 9.0) * np.cos(y / 7.0)).astype(np.int16)


def laid_out(scene: Scene, zoom: float, turn: int) -> None:
    spacing = Spacing(ROW_MM, COLUMN_MM, SpacingSource.PATIENT, ROW_MM / COLUMN_MM)
    image = instance(size=(ROWS, COLUMNS))
    scene.show(image, stored=values(), spacing=spacing)
    scene.workspace.viewport.set_display(TURNS[turn])
    scene.settle()
    scene.canvas.set_zoom(zoom)
    scene.settle()


def mm(scene: Scene, at: QPoint) -> np.ndarray:
    """The place in mm of the image under a mouse position."""
    there = scene.canvas.to_image(QPointF(at))
    return np.array((there.x() * COLUMN_MM, there.y() * ROW_MM))


def spot(scene: Scene, x: int, y: int) -> QPoint:
    return scene.canvas.viewport().rect().center() + QPoint(x, y)


def drag(scene: Scene, start: QPoint, end: QPoint) -> None:
    scene.drag(LEFT, start, ((end - start).x(), (end - start).y()))


def last(scene: Scene) -> Finding:
    return scene.workspace.annotations.all()[-1].finding


def figures(finding: Finding) -> dict[str, float]:
    return {one.name: one.value for one in finding.measurements}


def angle(one: np.ndarray, other: np.ndarray) -> float:
    cosine = float(one @ other / np.linalg.norm(one) / np.linalg.norm(other))
    return math.degrees(math.acos(cosine))


@pytest.mark.parametrize(("zoom", "turn"), CASES)
def test_what_is_drawn_has_its_true_size(scene: Scene, zoom: float, turn: int):
    laid_out(scene, zoom, turn)
    tool = scene.canvas.drawing_tool

    a, b, c = spot(scene, -REACH, -20), spot(scene, REACH, 35), spot(scene, -31, REACH)
    tool.set_tool(drawing.RULER)
    drag(scene, a, b)
    assert last(scene).value == pytest.approx(
        np.linalg.norm(mm(scene, a) - mm(scene, b)), rel=EXACT
    )

    scene.workspace.annotations.remove([last(scene).id])  # its handles would be grabbed

    tool.set_tool(drawing.ANGLE)
    for at in (a, b, c):
        QTest.mouseClick(scene.canvas.viewport(), LEFT, pos=at)
    places = [mm(scene, at) for at in (a, b, c)]
    assert last(scene).value == pytest.approx(
        angle(places[0] - places[1], places[2] - places[1]), rel=EXACT
    )
    scene.workspace.annotations.remove([last(scene).id])

    tool.set_tool(drawing.COBB)
    ends = [spot(scene, *at) for at in ((-60, -50), (60, -38), (-55, 40), (58, 11))]
    drag(scene, *ends[:2])
    drag(scene, *ends[2:])
    places = [mm(scene, at) for at in ends]
    between = angle(places[1] - places[0], places[3] - places[2])
    assert last(scene).value == pytest.approx(min(between, 180 - between), rel=EXACT)
    scene.workspace.annotations.remove([last(scene).id])

    tool.set_tool(drawing.ELLIPSE)
    start, end = spot(scene, -REACH, -41), spot(scene, REACH, 47)
    drag(scene, start, end)
    made = last(scene)
    wide, high = np.abs(mm(scene, start) - mm(scene, end))
    assert made.value == pytest.approx(math.pi / 4 * wide * high, rel=EXACT)
    assert made.units == "mm² (patient)"
    assert isinstance(made.geometry, Ellipse)
    _agrees_with_simpleitk(made, inside_ellipse(made.geometry))
    scene.workspace.annotations.remove([made.id])

    tool.set_tool(drawing.POLYGON)
    corners = [spot(scene, *at) for at in ((-60, -40), (50, -60), (61, 44), (-20, 58))]
    for at in corners:
        QTest.mouseClick(scene.canvas.viewport(), LEFT, pos=at)
    QTest.keyClick(scene.canvas, Qt.Key.Key_Return)
    scene.settle()
    made = last(scene)
    p, q, r, s = (mm(scene, at) for at in corners)
    # Half the cross product of the diagonals of a convex quadrilateral.
    area = abs(float((r - p)[0] * (s - q)[1] - (r - p)[1] * (s - q)[0])) / 2
    assert made.value == pytest.approx(area, rel=EXACT)
    around = sum(np.linalg.norm(one - other) for one, other in ((p, q), (q, r), (r, s), (s, p)))
    assert figures(made)["Perimeter"] == pytest.approx(float(around), rel=EXACT)
    assert isinstance(made.geometry, Polygon)
    _agrees_with_simpleitk(made, inside_convex(made.geometry))


def inside_ellipse(shape: Ellipse) -> np.ndarray:
    y, x = np.mgrid[:ROWS, :COLUMNS]
    a, b = (shape.x1 - shape.x0) / 2, (shape.y1 - shape.y0) / 2
    return ((x - shape.x0 - a) / a) ** 2 + ((y - shape.y0 - b) / b) ** 2 < 1


def inside_convex(shape: Polygon) -> np.ndarray:
    """On the same side of all edges; a centre on one counts as a little to the right and below."""
    y, x = np.mgrid[:ROWS, :COLUMNS] + np.array((1e-9, 1e-6))[:, None, None]
    corners = np.array(shape.points)
    sides: list[np.ndarray] = []
    for (x0, y0), (x1, y1) in zip(corners, np.roll(corners, -1, axis=0), strict=True):
        sides.append((x1 - x0) * (y - y0) - (y1 - y0) * (x - x0) > 0)
    return np.logical_and.reduce(sides) | ~np.logical_or.reduce(sides)


def _agrees_with_simpleitk(made: Finding, mask: np.ndarray) -> None:
    shown = figures(made)
    label = SimpleITK.GetImageFromArray(mask.astype(np.uint8))
    found = SimpleITK.LabelStatisticsImageFilter()
    found.Execute(SimpleITK.GetImageFromArray(values().astype(np.float64)), label)
    assert shown["Pixels"] == found.GetCount(1)
    assert shown["Mean"] == pytest.approx(found.GetMean(1), rel=1e-9)
    assert shown["Standard deviation"] == pytest.approx(found.GetSigma(1), rel=1e-9)
    assert shown["Minimum"] == found.GetMinimum(1)
    assert shown["Maximum"] == found.GetMaximum(1)


@pytest.mark.parametrize("zoom", ZOOMS)
def test_a_phantom_is_measured_within_half_a_pixel_of_its_truth(scene: Scene, zoom: float):
    """A disc: the mouse clicks its edges, as near as whole px of the screen allow."""
    laid_out(scene, zoom, ZOOMS.index(zoom))
    reach = 40 / zoom  # columns
    middle = scene.canvas.to_image(QPointF(scene.canvas.viewport().rect().center()))
    ends = [(middle.x() - reach + 0.13, middle.y()), (middle.x() + reach + 0.37, middle.y())]
    places = [scene.canvas.to_widget(*end).toPoint() for end in ends]
    scene.canvas.drawing_tool.set_tool(drawing.RULER)
    drag(scene, *places)
    truth = (2 * reach + 0.24) * COLUMN_MM
    half = 0.5 / zoom * COLUMN_MM * ROW_MM / COLUMN_MM  # of the screen, along the taller side
    assert last(scene).value == pytest.approx(truth, rel=EXACT, abs=2 * half)


@pytest.mark.parametrize("turn", [0, 5])
def test_a_length_on_an_oblique_section_is_the_distance_in_the_patient(scene: Scene, turn: int):
    """Against the distance of two points by equation C.7.6.2.1-1."""
    row = np.array((math.cos(0.4), math.sin(0.4), 0.0))
    column = np.array(
        (-math.sin(0.4) * math.cos(0.7), math.cos(0.4) * math.cos(0.7), math.sin(0.7))
    )
    where = np.array((-31.0, 17.5, 402.25))
    cosines = (*(float(part) for part in (*row, *column)),)
    scene.show(
        instance(FrameOfReferenceUID="1.9"),
        ref=ImageRef("1.1", 0, "oblique"),
        spacing=Spacing(3.0, 0.8, SpacingSource.PATIENT, 3.75),
        orientation=Orientation("", "", cosines, (-31.0, 17.5, 402.25)),  # pyright: ignore[reportArgumentType]
    )
    scene.workspace.viewport.set_display(TURNS[turn])
    scene.settle()
    ends = spot(scene, -40, -60), spot(scene, 35, 55)
    scene.canvas.drawing_tool.set_tool(drawing.RULER)
    drag(scene, *ends)
    points = [scene.canvas.to_image(QPointF(at)) for at in ends]
    there = [where + row * at.x() * 0.8 + column * at.y() * 3.0 for at in points]
    assert last(scene).value == pytest.approx(float(np.linalg.norm(there[1] - there[0])), rel=EXACT)


def test_a_freehand_circle_has_the_circle_s_area(scene: Scene):
    laid_out(scene, 2.0, 0)
    scene.canvas.drawing_tool.set_tool(drawing.FREEHAND)
    view = scene.canvas.viewport()
    turn = np.linspace(0, 2 * math.pi, 181)[:-1]
    path = [spot(scene, round(90 * math.cos(at)), round(90 * math.sin(at))) for at in turn]
    QTest.mousePress(view, LEFT, pos=path[0])
    for at in path[1:]:
        move(view, at, LEFT)
    QTest.mouseRelease(view, LEFT, pos=path[-1])
    scene.settle()
    made = last(scene)
    ends = mm(scene, spot(scene, -90, 0)), mm(scene, spot(scene, 90, 0))
    across = abs(ends[1] - ends[0])[0]
    assert made.label == "Freehand region"
    assert made.value == pytest.approx(math.pi / 4 * across**2, rel=5e-3)
