"""Boxes and points that the user marks for a tool: by mouse and keys, moved, undone, listed."""

from __future__ import annotations

import numpy as np
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QContextMenuEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from app.imaging.findings import Box, Finding, Point
from app.imaging.types import Region, Rescale, Spacing, SpacingSource
from app.views.browser.findings_list import BY_HAND, FindingsModel, GroupRow
from app.workspace import drawing
from app.workspace.viewport import Display
from tests.gui.canvas_scene import LEFT, RIGHT, Scene

pytestmark = pytest.mark.gui


def drag_to(scene: Scene, start: tuple[float, float], end: tuple[float, float]) -> None:
    first, last = scene.at(*start), scene.at(*end)
    scene.drag(LEFT, first, ((last - first).x(), (last - first).y()))


def only(scene: Scene) -> Finding:
    (annotation,) = scene.workspace.annotations.all()
    return annotation.finding


@pytest.mark.parametrize("turn", [Display(), Display(flip_h=True, quarter_turns=1)])
def test_b_and_a_drag_mark_a_box_in_the_image_s_own_pixels(scene: Scene, turn: Display):
    scene.show()
    scene.workspace.viewport.set_display(turn)
    scene.settle()
    scene.key(Qt.Key.Key_B)
    drag_to(scene, (20, 10), (60, 50))
    shape = only(scene).geometry
    assert isinstance(shape, Box)
    for side, wanted in zip(
        (shape.x0, shape.y0, shape.x1, shape.y1), (20, 10, 60, 50), strict=True
    ):
        assert side == pytest.approx(wanted, abs=1)
        assert side % 1 == 0.5
    assert only(scene).image == scene.canvas.frame.ref
    assert scene.workspace.shown_marks() == (only(scene),)
    assert scene.workspace.viewport.display.window is None  # the drag was no window drag


def test_m_and_a_click_mark_a_point_and_shift_m_s_tool_one_outside(scene: Scene):
    scene.show()
    scene.key(Qt.Key.Key_M)
    QTest.mouseClick(scene.canvas.viewport(), LEFT, pos=scene.at(30, 20))
    scene.canvas.drawing_tool.set_tool(drawing.OUTSIDE)
    QTest.mouseClick(scene.canvas.viewport(), LEFT, pos=scene.at(70, 60))
    inside, outside = (item.finding for item in scene.workspace.annotations.all())
    assert isinstance(inside.geometry, Point)
    assert inside.geometry.x == pytest.approx(30, abs=0.5)
    assert inside.geometry.y == pytest.approx(20, abs=0.5)
    assert (inside.label, outside.label) == ("Point", "Point outside")
    assert [item.finding.provenance.tool for item in scene.workspace.annotations.all()] == [
        drawing.POINT,
        drawing.OUTSIDE,
    ]


def test_a_point_lies_where_the_button_was_let_go(scene: Scene):
    scene.show()
    scene.key(Qt.Key.Key_M)
    drag_to(scene, (20, 20), (60, 40))
    shape = only(scene).geometry
    assert isinstance(shape, Point)
    assert (shape.x, shape.y) == (pytest.approx(60, abs=0.5), pytest.approx(40, abs=0.5))


def test_a_corner_can_be_moved_and_each_step_undone(scene: Scene):
    scene.show()
    scene.key(Qt.Key.Key_B)
    drag_to(scene, (20, 10), (60, 50))
    drawn = only(scene)
    drag_to(scene, (60, 50), (80, 70))
    shape = only(scene).geometry
    assert isinstance(shape, Box)
    assert (shape.x1, shape.y1) == (pytest.approx(80, abs=1), pytest.approx(70, abs=1))
    assert only(scene).id == drawn.id
    scene.workspace.commands.undo()
    assert only(scene) == drawn
    scene.workspace.commands.undo()
    assert scene.workspace.annotations.all() == ()
    scene.workspace.commands.redo()
    assert only(scene) == drawn


def test_a_click_with_the_box_draws_nothing_and_escape_puts_it_away(scene: Scene):
    scene.show()
    scene.key(Qt.Key.Key_B)
    QTest.mouseClick(scene.canvas.viewport(), LEFT, pos=scene.at(30, 20))
    assert scene.workspace.annotations.all() == ()
    scene.key(Qt.Key.Key_Escape)
    assert scene.canvas.drawing_tool.tool == ""


def test_a_mark_is_listed_as_the_user_s_own_and_puts_no_ai_mark_on_the_image(scene: Scene):
    scene.show()
    scene.key(Qt.Key.Key_B)
    drag_to(scene, (20, 10), (60, 50))
    model = FindingsModel(scene.workspace)
    head = model.row(model.index(0))
    assert isinstance(head, GroupRow)
    assert (head.title, head.note) == (BY_HAND, "")
    model.close()
    assert scene.canvas.overlay.corners.warning == ()
    assert [chip.text for chip in scene.canvas.overlay.chips] == [
        only(scene).description.split(";")[0]
    ]


def test_a_right_click_or_the_menu_key_asks_what_can_be_done_and_a_right_drag_zooms(scene: Scene):
    scene.show()
    asked: list[QPoint] = []
    scene.canvas.menu_wanted.connect(asked.append)
    scene.drag(RIGHT, scene.at(30, 30), (0, -40))
    assert asked == []
    view = scene.canvas.viewport()
    QTest.mouseClick(view, RIGHT, pos=scene.at(30, 30))
    assert asked == [view.mapToGlobal(scene.at(30, 30))]
    menu_key = QContextMenuEvent(QContextMenuEvent.Reason.Keyboard, QPoint(1, 1), QPoint(1, 1))
    QApplication.sendEvent(view, menu_key)
    assert len(asked) == 2


def test_a_box_says_its_size_in_mm_and_what_is_in_it(scene: Scene):
    """The ramp has 0 to 1000 HU in 100 columns, the same in each row."""
    scene.show(spacing=Spacing(0.5, 0.25, SpacingSource.PATIENT, 2.0), padding=(606, 606))
    scene.key(Qt.Key.Key_B)
    drag_to(scene, (60, 30), (70, 50))
    made = only(scene)
    box = made.geometry
    assert isinstance(box, Box)
    width, height = (box.x1 - box.x0) * 0.25, (box.y1 - box.y0) * 0.5
    ramp = np.linspace(0, 1000, 100, dtype=np.int16)[int(box.x0 + 0.5) : int(box.x1 + 0.5)]
    assert 606 in ramp
    # Padding is no tissue; the deviation is that of a sample.
    kept = np.tile(ramp[ramp != 606], round(box.y1 - box.y0))
    size = f"{width:.1f} × {height:.1f} mm (patient)"
    mean = f"mean {kept.mean():.1f}, SD {kept.std(ddof=1):.1f} HU"
    assert scene.canvas.overlay.chips[0].chip.text == f"{size} · {mean}"
    assert made.description.startswith(
        f"{size} · {mean}; {kept.min():.1f} to {kept.max():.1f} HU, without padding or shutter; "
        f"area {width * height:.1f} mm²; "
    )
    assert " px from x " in made.description


def test_a_region_s_text_says_its_units_to_the_end(scene: Scene):
    scene.show(spacing=Spacing(100.0, 100.0, SpacingSource.MANUAL), rescale=Rescale(1.0, 10_000.0))
    scene.canvas.resize(900, 400)
    scene.settle()
    scene.canvas.drawing_tool.set_tool(drawing.ELLIPSE)
    drag_to(scene, (20, 20), (70, 50))
    placed = scene.canvas.overlay.chips[0]
    assert "(calibrated by hand)" in placed.text
    assert placed.text.endswith("rescaled value")
    scene.canvas.resize(240, 300)
    scene.settle()
    area = scene.canvas.viewport().rect()
    for one in scene.canvas.overlay.chips:
        assert area.contains(one.rect.toAlignedRect()), (area, one.rect, one.text)


def test_a_box_without_spacing_stays_in_pixels_and_one_in_colour_has_no_statistics(scene: Scene):
    scene.show(stored=np.zeros((80, 100, 3), np.uint8), bits=8)
    scene.key(Qt.Key.Key_B)
    drag_to(scene, (20, 10), (60, 50))
    assert "mm" not in only(scene).description
    assert "mean" not in only(scene).description
    assert scene.canvas.overlay.chips[0].chip.text.endswith(" px")


def test_a_box_in_ultrasound_is_in_mm_inside_one_region_only(scene: Scene):
    scene.show(
        regions=(
            Region(0, 0, 49, 79, 0.2, 0.2, "mm", "mm", "2D"),
            Region(50, 0, 99, 79, 0.01, 2.0, "s", "mm/s", "spectral"),
        )
    )
    scene.key(Qt.Key.Key_B)
    drag_to(scene, (10, 10), (30, 30))
    assert only(scene).description.startswith("4.")
    assert " mm (region)" in only(scene).description
    for start, end in (((30, 10), (80, 30)), ((60, 10), (80, 30))):
        scene.workspace.commands.undo()
        drag_to(scene, start, end)
        assert "mm" not in only(scene).description.replace("mm/s", "")
