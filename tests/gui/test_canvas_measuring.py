"""Lengths and angles by hand: drawn, moved, undone, named for what they rest on."""

from __future__ import annotations

import math

import pytest
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QPolygonF
from PySide6.QtTest import QTest

from app.imaging.findings import Polyline, Provenance
from app.imaging.types import Orientation, Region, Spacing, SpacingSource
from app.views import wording
from app.views.browser.findings_list import BY_HAND, FindingsModel, GroupRow
from app.workspace import drawing
from app.workspace.viewport import Display
from tests.gui.canvas_scene import LEFT, Scene, move
from tests.gui.viewer_support import finding, frame, instance

pytestmark = pytest.mark.gui

PATIENT = Spacing(0.5, 0.5, SpacingSource.PATIENT)


def drag_to(scene: Scene, start: tuple[float, float], end: tuple[float, float]) -> None:
    first, last = scene.at(*start), scene.at(*end)
    scene.drag(LEFT, first, ((last - first).x(), (last - first).y()))


def only(scene: Scene):
    (annotation,) = scene.workspace.annotations.all()
    return annotation.finding


def test_l_and_a_drag_make_a_length_that_says_what_it_rests_on(scene: Scene):
    scene.show(spacing=PATIENT)
    scene.key(Qt.Key.Key_L)
    drag_to(scene, (20, 40), (80, 40))
    made = only(scene)
    assert made.label == "Length"
    assert made.value == pytest.approx(30.0, rel=0.01)
    assert made.units == "mm (patient)"
    assert made.image == scene.canvas.frame.ref
    assert scene.workspace.annotations.selected == made.id
    chip = scene.canvas.overlay.chips[0].text
    assert chip.startswith(("30.", "29."))  # the line shows that it is a length
    assert chip.endswith(" mm (patient)")
    assert scene.workspace.viewport.display.window is None  # the drag was no window drag


def test_the_line_is_live_while_it_is_drawn(scene: Scene):
    scene.show(spacing=PATIENT)
    scene.key(Qt.Key.Key_L)
    view = scene.canvas.viewport()
    QTest.mousePress(view, LEFT, pos=scene.at(20, 40))
    texts: list[str] = []
    for x in (40, 60):
        move(view, scene.at(x, 40), LEFT)
        texts.append(scene.canvas.overlay.chips[0].text)
    assert len(scene.canvas.annotation_items()) == 1
    assert texts[0] != texts[1]
    assert all("mm (patient)" in text for text in texts)
    assert scene.workspace.annotations.all() == ()
    QTest.keyClick(scene.canvas, Qt.Key.Key_Escape)
    QTest.mouseRelease(view, LEFT, pos=scene.at(60, 40))
    scene.settle()
    assert scene.workspace.annotations.all() == ()
    assert scene.canvas.annotation_items() == []


@pytest.mark.parametrize("turn", [Display(), Display(flip_h=True, quarter_turns=1)])
@pytest.mark.parametrize(
    ("row_mm", "column_mm"), [(0.5, 0.5), (0.9, 0.3), (0.25, 1.0)], ids=["square", "tall", "wide"]
)
def test_a_length_is_right_to_a_thousandth(
    scene: Scene, turn: Display, row_mm: float, column_mm: float
):
    """Against the formula of PS3.3 10.7.1.3 at the very points the mouse was at."""
    scene.show(spacing=Spacing(row_mm, column_mm, SpacingSource.PATIENT, row_mm / column_mm))
    scene.workspace.viewport.set_display(turn)
    scene.settle()
    start, end = scene.at(15, 70), scene.at(85, 12)
    ends = [scene.canvas.to_image(QPointF(at)) for at in (start, end)]
    scene.key(Qt.Key.Key_L)
    scene.drag(LEFT, start, ((end - start).x(), (end - start).y()))
    dx, dy = ends[1].x() - ends[0].x(), ends[1].y() - ends[0].y()
    assert only(scene).value == pytest.approx(math.hypot(dx * column_mm, dy * row_mm), rel=1e-3)
    assert math.hypot(dx, dy) == pytest.approx(math.hypot(70, 58), rel=0.02)


def test_without_spacing_a_length_is_in_pixels(scene: Scene):
    scene.show()
    scene.key(Qt.Key.Key_L)
    drag_to(scene, (20, 40), (80, 40))
    assert only(scene).units == "px"
    assert only(scene).value == pytest.approx(60, rel=0.01)


def test_a_detector_s_length_says_so(scene: Scene):
    scene.show(spacing=Spacing(0.2, 0.2, SpacingSource.DETECTOR))
    scene.key(Qt.Key.Key_L)
    drag_to(scene, (20, 40), (80, 40))
    assert scene.canvas.overlay.chips[0].text.endswith("mm (detector plane)")


def test_in_ultrasound_the_region_s_own_scale_counts_and_across_regions_none(scene: Scene):
    regions = (
        Region(0, 0, 49, 79, 0.2, 0.2, "mm", "mm", "2D"),
        Region(50, 0, 99, 79, 0.01, 2.0, "s", "mm/s", "spectral"),
    )
    scene.show(regions=regions)
    scene.key(Qt.Key.Key_L)
    drag_to(scene, (5, 40), (45, 40))
    assert only(scene).value == pytest.approx(8.0, rel=0.02)
    assert only(scene).units == "mm (region)"
    scene.workspace.commands.undo()
    drag_to(scene, (30, 40), (80, 40))
    assert only(scene).units == "px"
    scene.workspace.commands.undo()
    drag_to(scene, (60, 20), (90, 60))
    made = only(scene)
    assert made.label == "Difference"
    assert made.value == pytest.approx(80, rel=0.03)
    assert made.units.startswith("mm/s, 0.3")
    assert made.units.endswith(" s (region)")


def test_many_lengths_stand_side_by_side(scene: Scene):
    scene.show(spacing=PATIENT)
    scene.key(Qt.Key.Key_L)
    for y in (10, 40, 70):
        drag_to(scene, (20, y), (80, y))
    assert len(scene.workspace.annotations.all()) == 3
    for left in (2, 1, 0):
        scene.workspace.commands.undo()
        assert len(scene.workspace.annotations.all()) == left
    scene.workspace.commands.redo()
    scene.settle()
    assert len(scene.canvas.annotation_items()) == 1


def test_an_end_can_be_dragged_and_that_undone(scene: Scene):
    scene.show(spacing=PATIENT)
    scene.key(Qt.Key.Key_L)
    drag_to(scene, (20, 40), (80, 40))
    scene.key(Qt.Key.Key_Escape)
    before = only(scene)
    drag_to(scene, (80, 40), (50, 40))
    after = only(scene)
    assert after.id == before.id
    assert after.value == pytest.approx(15, rel=0.02)
    assert scene.canvas.annotation_items()[0].finding is after
    assert scene.workspace.viewport.display.window is None
    scene.workspace.commands.undo()
    scene.settle()
    assert only(scene) is before
    assert scene.canvas.annotation_items()[0].finding is before
    path = scene.canvas.annotation_items()[0].outline.path
    assert path.boundingRect().width() == pytest.approx(60, abs=0.5)


def test_delete_removes_a_length_and_undo_brings_it_back(scene: Scene):
    scene.show(spacing=PATIENT)
    scene.key(Qt.Key.Key_L)
    drag_to(scene, (20, 40), (80, 40))
    scene.key(Qt.Key.Key_Delete)
    assert scene.workspace.annotations.all() == ()
    scene.workspace.commands.undo()
    assert only(scene).label == "Length"


def test_points_outside_the_image_are_moved_to_its_border(scene: Scene):
    scene.show(spacing=PATIENT)
    scene.key(Qt.Key.Key_L)
    drag_to(scene, (80, 40), (150, 40))
    shape = only(scene).geometry
    assert isinstance(shape, Polyline)
    assert shape.points[1][0] == pytest.approx(99.5)


def test_three_clicks_make_an_angle_of_the_true_shape(scene: Scene):
    scene.show(spacing=Spacing(1.0, 0.5, SpacingSource.PATIENT, 2.0))
    scene.canvas.drawing_tool.set_tool(drawing.ANGLE)
    view = scene.canvas.viewport()
    for at in ((60, 40), (20, 40), (40, 50)):  # 10 mm across, 10 mm down: 45 degrees
        QTest.mouseMove(view, scene.at(*at))
        move(view, scene.at(*at), Qt.MouseButton.NoButton)
        QTest.mouseClick(view, LEFT, pos=scene.at(*at))
    made = only(scene)
    assert made.label == "Angle"
    assert made.value == pytest.approx(45, abs=1)
    assert scene.canvas.overlay.chips[0].text.endswith("°")


def test_a_measurement_by_hand_is_never_called_an_ai_s(scene: Scene):
    scene.show(spacing=PATIENT)
    scene.key(Qt.Key.Key_L)
    drag_to(scene, (20, 40), (80, 40))
    assert scene.canvas.overlay.corners.warning == ()
    made = only(scene)
    assert wording.maker_text(made, str) == "Measured by hand"
    rows = FindingsModel(scene.workspace)
    head = rows.row(rows.index(0))
    assert isinstance(head, GroupRow)
    assert (head.title, head.note) == (BY_HAND, "")
    assert "AI" not in str(rows.data(rows.index(0), Qt.ItemDataRole.ToolTipRole))
    rows.close()
    scene.workspace.annotations.add([finding(scene.canvas.frame.ref, Polyline(((1, 1), (9, 9))))])
    scene.settle()
    assert scene.canvas.overlay.corners.warning == (
        "AI results: not for diagnosis",
        "Finder · net-1",
    )


def test_what_a_run_made_is_not_by_hand_whatever_its_tool_is_called():
    made = drawing.draw(drawing.RULER, frame(), [(1, 1), (9, 9)])
    assert drawing.by_hand(made)
    run = finding(made.image, made.geometry, tool=drawing.RULER)
    assert not drawing.by_hand(run)
    assert isinstance(run.provenance, Provenance)
    moved = drawing.move_point(run, frame(), 1, (9, 1))
    assert moved.corrected
    assert not drawing.by_hand(moved)
    assert (moved.id, moved.provenance) == (run.id, run.provenance)


def test_a_click_with_the_tool_on_selects_and_draws_nothing(scene: Scene):
    scene.show(spacing=PATIENT)
    scene.key(Qt.Key.Key_L)
    drag_to(scene, (20, 40), (80, 40))
    scene.workspace.annotations.select("")
    QTest.mouseClick(scene.canvas.viewport(), LEFT, pos=scene.at(50, 40))
    assert scene.workspace.annotations.selected == only(scene).id
    QTest.mouseClick(scene.canvas.viewport(), LEFT, pos=scene.at(50, 70))
    assert scene.workspace.annotations.selected == ""
    scene.key(Qt.Key.Key_Escape)
    assert scene.canvas.drawing_tool.tool == ""


def test_another_image_drops_what_is_being_drawn(scene: Scene):
    scene.show(instance(frames=3), spacing=PATIENT)
    scene.key(Qt.Key.Key_L)
    QTest.mousePress(scene.canvas.viewport(), LEFT, pos=scene.at(20, 40))
    move(scene.canvas.viewport(), scene.at(60, 40), LEFT)
    scene.key(Qt.Key.Key_Down)
    assert not scene.canvas.drawing_tool.active
    QTest.mouseRelease(scene.canvas.viewport(), LEFT, pos=scene.at(60, 40))
    assert scene.workspace.annotations.all() == ()


def test_the_place_in_the_patient_is_shown_beside_the_value(scene: Scene):
    """Equation C.7.6.2.1-1: position + x * column spacing * row direction + y * ..."""
    lies = Orientation("L", "P", (1, 0, 0, 0, 1, 0), (-20.0, 12.0, -102.0))
    scene.show(spacing=Spacing(0.4, 0.5, SpacingSource.PATIENT, 0.8), orientation=lies)
    move(scene.canvas.viewport(), scene.at(30, 20), Qt.MouseButton.NoButton)
    assert scene.canvas.overlay.corners.bottom_left[:2] == (
        "x 30  y 20   2000 HU",
        "R 5.0  P 20.0  F 102.0 mm",
    )
    assert "Slice F 102.0 mm" in " ".join(scene.canvas.overlay.corners.top_right)


def test_l_pressed_again_keeps_the_tool_and_the_next_drag_measures(scene: Scene):
    scene.show(spacing=PATIENT)
    for key, tool in (
        (Qt.Key.Key_B, drawing.BOX),
        (Qt.Key.Key_M, drawing.POINT),
        (Qt.Key.Key_L, drawing.RULER),
    ):
        scene.key(key)
        scene.key(key)
        assert scene.canvas.drawing_tool.tool == tool
    drag_to(scene, (20, 40), (80, 40))
    assert only(scene).label == "Length"
    assert scene.workspace.viewport.display.window is None


@pytest.mark.parametrize(("start", "end"), [((40, 40), (60, 40)), ((50, 30), (50, 70))])
def test_the_text_stands_beside_the_line_s_end_and_off_the_line(
    scene: Scene, start: tuple[float, float], end: tuple[float, float]
):
    scene.show(spacing=PATIENT)
    scene.key(Qt.Key.Key_L)
    drag_to(scene, start, end)
    (chip,) = scene.canvas.overlay.chips
    first, last = (scene.canvas.to_widget(*point) for point in (start, end))
    line = QRectF(first, last).normalized().adjusted(-5, -5, 5, 5)
    assert not chip.rect.intersects(line)
    beside = chip.rect.adjusted(-20, -20, 20, 20)
    assert beside.contains(QPointF(last))
    assert chip.rect.height() < 18  # small


def test_an_angle_s_text_is_off_its_vertex_and_its_rays(scene: Scene):
    scene.show(spacing=PATIENT)
    scene.canvas.drawing_tool.set_tool(drawing.ANGLE)
    points = ((60, 40), (30, 40), (30, 10))
    for at in points:
        QTest.mouseClick(scene.canvas.viewport(), LEFT, pos=scene.at(*at))
    (chip,) = scene.canvas.overlay.chips
    shown = QPolygonF([scene.canvas.to_widget(*point) for point in points])
    assert not shown.intersects(QPolygonF(chip.rect))


def test_a_text_can_be_dragged_away_and_a_leader_leads_back(scene: Scene):
    scene.show(spacing=PATIENT)
    scene.key(Qt.Key.Key_L)
    drag_to(scene, (40, 40), (60, 40))
    before = scene.canvas.overlay.chips[0]
    assert before.leader is None
    scene.drag(LEFT, before.rect.center().toPoint(), (-60, 90))  # the tool still on
    moved = scene.canvas.overlay.chips[0]
    assert moved.rect.center().x() == pytest.approx(before.rect.center().x() - 60, abs=2)
    assert moved.rect.center().y() == pytest.approx(before.rect.center().y() + 90, abs=2)
    assert moved.leader is not None
    assert moved.leader.p1() == moved.chip.anchor
    made = only(scene)  # nothing else was drawn
    assert scene.workspace.viewport.display.window is None
    scene.canvas.pan_by(10, 0)  # the text goes with its line
    assert scene.canvas.overlay.chips[0].rect.x() == pytest.approx(moved.rect.x() + 10, abs=1)
    scene.workspace.annotations.select("")
    QTest.mouseClick(
        scene.canvas.viewport(), LEFT, pos=scene.canvas.overlay.chips[0].rect.center().toPoint()
    )
    assert scene.workspace.annotations.selected == made.id
