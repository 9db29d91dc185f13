"""Every kind of mark, drawn by mouse and keys: how it is begun, ended, cancelled and changed."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import SimpleITK
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from app.imaging.findings import Ellipse, Finding, Mask, Point, Polygon, Polyline, Segments, State
from app.imaging.types import Plane, Spacing, SpacingSource
from app.views import wording
from app.views.canvas.canvas import Canvas
from app.views.canvas.drawing_tool import ENDING, HINTS, TextEdit
from app.views.main_window import MainWindow
from app.views.mark_dialogs import CalibrationDialog, RegionHistogram
from app.workspace import drawing
from app.workspace.layout import grid
from app.workspace.workspace import Workspace
from tests.gui.canvas_scene import LEFT, Scene, move
from tests.gui.hands import retype
from tests.gui.test_canvas_planes import PlaneScene, stack  # noqa: F401  # pyright: ignore[reportUnusedImport]
from tests.gui.viewer_support import FakeDecoder, WaitUntil, finding, found, frame, instance, study

pytestmark = pytest.mark.gui

PATIENT = Spacing(0.5, 0.5, SpacingSource.PATIENT)


def drag(scene: Scene, start: tuple[float, float], end: tuple[float, float]) -> None:
    first, last = scene.at(*start), scene.at(*end)
    scene.drag(LEFT, first, ((last - first).x(), (last - first).y()))


def click(scene: Scene, *points: tuple[float, float]) -> None:
    for point in points:
        QTest.mouseClick(scene.canvas.viewport(), LEFT, pos=scene.at(*point))
    scene.settle()


def double_click(scene: Scene, point: tuple[float, float]) -> None:
    """Press, release, double click, release: as a mouse's two clicks arrive."""
    click(scene, point)
    QTest.mouseDClick(scene.canvas.viewport(), LEFT, pos=scene.at(*point))
    scene.settle()


def drawn(scene: Scene) -> list[Finding]:
    return [one.finding for one in scene.workspace.annotations.all()]


def take(scene: Scene, tool: str) -> None:
    scene.show(spacing=PATIENT)
    scene.canvas.drawing_tool.set_tool(tool)


def test_a_polyline_ends_with_a_double_click(scene: Scene):
    take(scene, drawing.POLYLINE)
    click(scene, (10, 10), (50, 10))
    double_click(scene, (50, 40))
    (made,) = drawn(scene)
    assert isinstance(made.geometry, Polyline)
    assert len(made.geometry.points) == 3
    assert made.value == pytest.approx(35, rel=0.03)
    assert made.state is State.ACCEPTED


@pytest.mark.parametrize("key", [Qt.Key.Key_Return, Qt.Key.Key_Enter])
def test_a_polygon_ends_with_enter(scene: Scene, key: Qt.Key):
    take(scene, drawing.POLYGON)
    click(scene, (10, 10), (50, 10), (50, 40))
    scene.key(key)
    (made,) = drawn(scene)
    assert isinstance(made.geometry, Polygon)
    assert len(made.geometry.points) == 3


def test_a_polygon_closes_at_its_first_corner(scene: Scene):
    take(scene, drawing.POLYGON)
    click(scene, (10, 10), (50, 10), (50, 40), (10, 40), (10, 10))
    (made,) = drawn(scene)
    assert isinstance(made.geometry, Polygon)
    assert len(made.geometry.points) == 4
    assert made.value == pytest.approx(20 * 15, rel=0.05)


def test_backspace_takes_the_last_point_back_and_escape_the_drawing(scene: Scene):
    take(scene, drawing.POLYLINE)
    click(scene, (10, 10), (50, 10), (50, 40), (10, 60))
    scene.key(Qt.Key.Key_Backspace)
    scene.key(Qt.Key.Key_Backspace)
    scene.key(Qt.Key.Key_Return)
    (made,) = drawn(scene)
    assert made.value == pytest.approx(20, rel=0.03)
    click(scene, (20, 60), (40, 70))
    scene.key(Qt.Key.Key_Escape)
    scene.key(Qt.Key.Key_Return)
    assert drawn(scene) == [made]
    assert scene.canvas.drawing_tool.tool == drawing.POLYLINE
    click(scene, (20, 60))
    scene.key(Qt.Key.Key_Backspace)
    assert not scene.canvas.drawing_tool.active


def test_too_few_points_are_nothing(scene: Scene):
    take(scene, drawing.POLYGON)
    click(scene, (10, 10), (50, 10))
    scene.key(Qt.Key.Key_Return)
    assert drawn(scene) == []
    assert not scene.canvas.drawing_tool.active


@pytest.mark.parametrize("by_clicks", [False, True])
def test_two_lines_take_two_drags_or_four_clicks(scene: Scene, by_clicks: bool):
    take(scene, drawing.COBB)
    lines = ((10, 20), (60, 20)), ((10, 60), (60, 40))
    for line in lines:
        if by_clicks:
            click(scene, *line)
        else:
            drag(scene, *line)
    (made,) = drawn(scene)
    assert isinstance(made.geometry, Segments)
    assert len(made.geometry.points) == 4
    assert made.value == pytest.approx(21.8, abs=1)
    assert scene.canvas.overlay.chips[0].text.endswith("°")


def test_the_ratio_of_heart_and_thorax_by_hand(scene: Scene):
    take(scene, drawing.CTR)
    drag(scene, (30, 30), (60, 30))
    drag(scene, (10, 50), (85, 50))
    (made,) = drawn(scene)
    assert made.value == pytest.approx(0.4, rel=0.03)
    assert scene.canvas.overlay.chips[0].text.startswith(f"{made.value:.2f} · heart 1")


def test_a_drag_makes_both_diameters_and_their_ends_can_be_dragged(scene: Scene):
    take(scene, drawing.BIDIRECTIONAL)
    drag(scene, (20, 40), (80, 40))
    (made,) = drawn(scene)
    ends = drawing.points_of(made)
    assert len(ends) == 4
    drag(scene, ends[2], (ends[2][0] + 10, ends[2][1] + 8))
    (moved,) = drawn(scene)
    a, b, c, d = drawing.points_of(moved)
    assert (b[0] - a[0]) * (d[0] - c[0]) + (b[1] - a[1]) * (d[1] - c[1]) == pytest.approx(
        0, abs=0.1
    )
    assert c[0] == pytest.approx(ends[2][0] + 10, abs=0.5)
    scene.workspace.commands.undo()
    assert drawn(scene) == [made]


def test_an_ellipse_is_measured_anew_when_a_corner_is_dragged(scene: Scene):
    take(scene, drawing.ELLIPSE)
    drag(scene, (20, 20), (60, 50))
    (made,) = drawn(scene)
    assert isinstance(made.geometry, Ellipse)
    assert "mean" in scene.canvas.overlay.chips[0].text
    drag(scene, (60, 50), (40, 50))
    (moved,) = drawn(scene)
    assert moved.value == pytest.approx(made.value / 2, rel=0.06)  # pyright: ignore[reportOptionalOperand]
    values = {one.name: one.value for one in moved.measurements}
    assert values["Mean"] == pytest.approx(303, abs=8)  # the middle of the ramp


def test_a_probe_tells_the_value_under_it(scene: Scene):
    take(scene, drawing.PROBE)
    click(scene, (30.2, 20.2))
    (made,) = drawn(scene)
    assert isinstance(made.geometry, Point)
    assert (made.value, made.units) == (2000, "HU")
    assert scene.canvas.overlay.chips[0].text.startswith("2000 HU")


def typed(scene: Scene, text: str, key: Qt.Key = Qt.Key.Key_Return) -> None:
    (field,) = scene.canvas.findChildren(TextEdit)
    assert field.isVisible()
    QTest.keyClicks(field, text)
    QTest.keyClick(field, key)
    scene.settle()


@pytest.mark.parametrize("tool", drawing.TEXTS)
def test_an_arrow_and_a_text_say_what_is_typed(scene: Scene, tool: str):
    take(scene, tool)
    if tool == drawing.TEXT:
        click(scene, (30, 30))
    else:
        drag(scene, (30, 30), (60, 50))
    typed(scene, "Old fracture")
    (made,) = drawn(scene)
    assert made.label == "Old fracture"
    assert scene.canvas.overlay.chips[0].text == "Old fracture"
    scene.workspace.annotations.select(made.id)
    scene.canvas.drawing_tool.edit_text(made)
    (field,) = scene.canvas.findChildren(TextEdit)
    assert field.text() == "Old fracture"
    field.selectAll()
    typed(scene, "New fracture")
    assert drawn(scene)[0].label == "New fracture"
    scene.workspace.commands.undo()
    assert drawn(scene) == [made]


def test_escape_leaves_no_empty_text_but_an_arrow_without_one(scene: Scene):
    take(scene, drawing.TEXT)
    click(scene, (30, 30))
    typed(scene, "never", Qt.Key.Key_Escape)
    assert drawn(scene) == []
    scene.canvas.drawing_tool.set_tool(drawing.ARROW)
    drag(scene, (30, 30), (60, 50))
    typed(scene, "never", Qt.Key.Key_Escape)
    assert [one.label for one in drawn(scene)] == ["Arrow"]


def test_a_freehand_region_follows_the_mouse(scene: Scene):
    take(scene, drawing.FREEHAND)
    view = scene.canvas.viewport()
    path = [(20, 20), (40, 18), (60, 20), (62, 40), (60, 60), (40, 62), (20, 60)]
    QTest.mousePress(view, LEFT, pos=scene.at(*path[0]))
    for point in path[1:]:
        move(view, scene.at(*point), LEFT)
    QTest.mouseRelease(view, LEFT, pos=scene.at(*path[-1]))
    scene.settle()
    (made,) = drawn(scene)
    assert isinstance(made.geometry, Polygon)
    assert len(made.geometry.points) == 7
    assert scene.workspace.viewport.display.window is None


def test_a_large_region_is_counted_on_a_thread(scene: Scene, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("app.views.canvas.drawing_tool.AT_ONCE", 100)
    monkeypatch.setattr("app.views.canvas.canvas.AT_ONCE", 100)
    take(scene, drawing.ELLIPSE)
    drag(scene, (20, 20), (60, 50))
    scene.settle()
    (made,) = drawn(scene)
    assert any(one.name == "Mean" for one in made.measurements)
    scene.workspace.commands.undo()
    scene.workspace.commands.redo()
    scene.settle()
    assert any(one.name == "Mean" for one in drawn(scene)[0].measurements)


def test_a_mark_on_a_section_is_on_the_acquired_image_in_its_plane(stack: PlaneScene):  # noqa: F811
    """Both in the plane at 14 mm; the other slices are 4 mm away."""
    stack.choose(Plane.AXIAL)
    stack.canvas.scroller.to(1)
    stack.settle()
    stack.canvas.drawing_tool.set_tool(drawing.ELLIPSE)
    drag(stack, (20, 20), (60, 50))
    (made,) = drawn(stack)
    assert made.plane is not None
    assert made.plane.origin[2] == pytest.approx(14)
    stack.choose(Plane.ACQUIRED)
    stack.canvas.drawing_tool.set_tool("")
    shown: dict[int, int] = {}
    for number in range(6):
        stack.canvas.scroller.to(number)
        stack.settle()
        shown[number] = len(stack.canvas.annotation_items())
    assert shown == {0: 0, 1: 1, 2: 0, 3: 0, 4: 0, 5: 0}
    stack.canvas.scroller.to(1)
    stack.settle()
    (there,) = stack.canvas.findings_layer.findings
    assert isinstance(there.geometry, Ellipse)
    assert isinstance(made.geometry, Ellipse)
    # The acquired axial slices lie as the sections do.
    assert there.geometry.x0 == pytest.approx(made.geometry.x0)
    assert there.geometry.y1 == pytest.approx(made.geometry.y1)
    stack.choose(Plane.CORONAL)
    assert stack.canvas.annotation_items() == []


def test_a_section_s_mark_that_is_moved_on_the_slice_stays_in_the_plane(stack: PlaneScene):  # noqa: F811
    stack.choose(Plane.AXIAL)
    stack.canvas.scroller.to(1)
    stack.settle()
    stack.canvas.drawing_tool.set_tool(drawing.RULER)
    drag(stack, (20, 20), (60, 20))
    (made,) = drawn(stack)
    stack.canvas.drawing_tool.set_tool("")
    stack.choose(Plane.ACQUIRED)
    stack.canvas.scroller.to(1)
    stack.settle()
    drag(stack, (60, 20), (70, 30))
    (moved,) = drawn(stack)
    assert moved.image == stack.canvas.frame.ref  # pyright: ignore[reportOptionalMemberAccess]
    assert moved.value == pytest.approx(math.hypot(50, 10) * 0.5, rel=0.03)
    stack.choose(Plane.AXIAL)
    stack.canvas.scroller.to(1)
    stack.settle()
    (there,) = stack.canvas.findings_layer.findings
    assert there.id == made.id
    assert there.value == pytest.approx(moved.value)
    stack.workspace.commands.undo()
    assert drawn(stack) == [made]
    assert stack.canvas.findings_layer.findings == (made,)


def test_a_text_that_is_renamed_on_the_slice_stays_the_section_s(stack: PlaneScene):  # noqa: F811
    stack.choose(Plane.AXIAL)
    stack.canvas.scroller.to(1)
    stack.settle()
    stack.canvas.drawing_tool.set_tool(drawing.TEXT)
    click(stack, (30, 30))
    typed(stack, "before")
    (made,) = drawn(stack)
    stack.choose(Plane.ACQUIRED)
    stack.canvas.scroller.to(1)
    stack.settle()
    (there,) = stack.canvas.findings_layer.findings
    stack.canvas.drawing_tool.edit_text(there)
    typed(stack, "after")
    (renamed,) = drawn(stack)
    assert renamed == replace(made, label="beforeafter", reviewed=renamed.reviewed)


def test_a_line_on_one_frame_calibrates_all_frames_of_a_cine(scene: Scene):
    cine = instance("1.1", frames=3)
    scene.workspace.add(found(study(cine)))
    scene.settle()
    scene.canvas.drawing_tool.set_tool(drawing.RULER)
    drag(scene, (20, 20), (60, 20))
    scene.canvas.scroller.to(2)
    scene.settle()
    drag(scene, (20, 30), (60, 30))
    line, other = drawn(scene)
    assert (line.image.frame, other.image.frame) == (0, 2)
    scene.workspace.calibrate(line, frame("1.1", 0), 20.0, series=True)
    assert drawn(scene)[1].value == pytest.approx(20, rel=0.03)
    scene.workspace.annotations.remove([line.id])
    assert drawn(scene) == [other]


def test_a_mark_on_an_acquired_image_is_on_that_alone(stack: PlaneScene):  # noqa: F811
    stack.canvas.drawing_tool.set_tool(drawing.ELLIPSE)
    drag(stack, (20, 20), (60, 50))
    (made,) = drawn(stack)
    assert made.plane is None
    for plane in (Plane.AXIAL, Plane.CORONAL):
        stack.choose(plane)
        assert stack.canvas.annotation_items() == []


def test_a_known_length_calibrates_the_image_and_can_be_undone(scene: Scene):
    scene.show()
    workspace = scene.workspace
    for tool, line in (
        (drawing.RULER, ((20, 20), (60, 20))),
        (drawing.ELLIPSE, ((20, 30), (60, 60))),
    ):
        scene.canvas.drawing_tool.set_tool(tool)
        drag(scene, *line)
    ruler, ellipse = drawn(scene)
    assert (ruler.units, ellipse.units) == ("px", "px²")
    workspace.calibrate(ruler, scene.canvas.frame, 80.0)  # pyright: ignore[reportArgumentType]
    scene.settle()
    ruler, ellipse = drawn(scene)
    assert ruler.value == pytest.approx(80)
    assert ellipse.units == "mm² (calibrated by hand)"
    assert ellipse.value == pytest.approx(3.1416 / 4 * 80 * 60, rel=0.03)
    corners = scene.canvas.overlay.corners
    assert any("calibrated by hand" in line for line in (*corners.bottom_right, *corners.scale))
    # A new mark too, and moving the line scales them all.
    drag(scene, (10, 65), (40, 75))
    assert drawn(scene)[-1].units == "mm² (calibrated by hand)"
    scene.canvas.drawing_tool.set_tool("")
    drag(scene, (60, 20), (40, 20))
    scene.settle()
    assert drawn(scene)[0].value == pytest.approx(80)
    assert drawn(scene)[1].value == pytest.approx(4 * ellipse.value, rel=0.08)  # pyright: ignore[reportOperatorIssue]
    workspace.annotations.remove([ruler.id])
    scene.settle()
    assert drawn(scene)[0].units == "px²"
    while workspace.commands.undo_label != "Calibrate by a length":
        workspace.commands.undo()
    workspace.commands.undo()
    scene.settle()
    assert [one.units for one in drawn(scene)] == ["px", "px²"]


def test_a_known_length_for_the_series_scales_its_other_images(scene: Scene):
    first, second = instance("1.1"), instance("1.2")
    for one in (first, second):
        scene.decoder.frames[(one.sop_instance_uid, 0)] = frame(one.sop_instance_uid)
    scene.workspace.add(found(study(first, second)))
    scene.settle()
    scene.canvas.drawing_tool.set_tool(drawing.RULER)
    drag(scene, (20, 20), (60, 20))
    scene.canvas.scroller.to(1)
    scene.settle()
    drag(scene, (20, 20), (70, 20))
    line, other = drawn(scene)
    assert other.units == "px"
    scene.canvas.scroller.to(0)
    scene.settle()
    scene.workspace.calibrate(line, scene.canvas.frame, 20.0, series=True)  # pyright: ignore[reportArgumentType]
    assert drawn(scene)[1].units == "mm (calibrated by hand)"  # at once, though not shown
    assert drawn(scene)[1].value == pytest.approx(25, rel=0.03)
    scene.canvas.scroller.to(1)
    scene.settle()
    drag(scene, (20, 40), (40, 40))
    assert drawn(scene)[2].value == pytest.approx(10, rel=0.05)


@pytest.mark.parametrize("way", ["removed", "undone", "ended"])
def test_other_images_have_their_own_scale_back_without_being_shown(scene: Scene, way: str):
    first, second = instance("1.1"), instance("1.2")
    own = Spacing(0.5, 0.5, SpacingSource.PATIENT), Spacing(0.25, 0.25, SpacingSource.DETECTOR)
    for one, spacing in zip((first, second), own, strict=True):
        uid = one.sop_instance_uid
        scene.decoder.frames[(uid, 0)] = frame(uid, spacing=spacing)
    workspace = scene.workspace
    workspace.add(found(study(first, second)))
    scene.settle()
    scene.canvas.scroller.to(1)
    scene.settle()
    scene.canvas.drawing_tool.set_tool(drawing.RULER)
    drag(scene, (20, 20), (70, 20))
    scene.canvas.scroller.to(0)
    scene.settle()
    drag(scene, (20, 20), (60, 20))
    before, line = drawn(scene)
    assert before.units == "mm (detector plane)"
    workspace.calibrate(line, scene.canvas.frame, 20.0, series=True)  # pyright: ignore[reportArgumentType]
    assert drawn(scene)[0].units == "mm (calibrated by hand)"
    if way == "removed":
        workspace.annotations.select(line.id)
        scene.key(Qt.Key.Key_Delete)
    elif way == "undone":
        workspace.commands.undo()
    else:
        workspace.calibrate(drawn(scene)[1], scene.canvas.frame, None)  # pyright: ignore[reportArgumentType]
    assert drawn(scene)[0] == before


def test_a_line_that_is_dragged_is_measured_by_hand_meanwhile(scene: Scene):
    take(scene, drawing.RULER)
    drag(scene, (20, 20), (60, 20))
    (line,) = drawn(scene)
    scene.workspace.calibrate(line, scene.canvas.frame, 80.0)  # pyright: ignore[reportArgumentType]
    scene.canvas.drawing_tool.set_tool("")
    view, start = scene.canvas.viewport(), scene.at(40, 20)
    QTest.mousePress(view, LEFT, pos=start)
    for y in (30, 40):
        move(view, scene.at(40, y), LEFT)
    (shown,) = scene.canvas.findings_layer.findings
    assert (shown.value, shown.units) == (pytest.approx(80), "mm (calibrated by hand)")
    QTest.mouseRelease(view, LEFT, pos=scene.at(40, 40))
    assert drawn(scene)[0].value == pytest.approx(80)


def test_a_section_s_mark_is_at_once_in_another_pane_of_its_plane(stack: PlaneScene):  # noqa: F811
    """The other pane shows the acquired slice at 14 mm, where the section lies, and never moves."""
    workspace = stack.workspace
    workspace.layout.arrange(grid(1, 2))
    beside = workspace.layout.viewports[1]
    stack.loader.load_frames_of(beside)
    canvas = Canvas(workspace, stack.background, beside)
    canvas.resize(500, 400)
    canvas.show()
    try:
        beside.show(stack.images[1])
        stack.wait_until(lambda: canvas.picture is not None and not canvas.busy)
        stack.choose(Plane.AXIAL)
        stack.canvas.scroller.to(1)
        stack.settle()
        assert canvas.annotation_items() == []
        stack.canvas.drawing_tool.set_tool(drawing.ELLIPSE)
        drag(stack, (20, 20), (60, 50))
        (made,) = drawn(stack)
        assert made.plane is not None
        (there,) = canvas.findings_layer.findings
        frame_there = canvas.frame
        assert frame_there is not None
        assert there.image == frame_there.ref
        workspace.annotations.remove([made.id])
        assert canvas.annotation_items() == []
    finally:
        canvas.close_models()
        canvas.close()
        canvas.deleteLater()


def on(window: MainWindow, x: float, y: float):
    return window.canvas.to_widget(x, y).toPoint()


def drag_on(window: MainWindow, start: tuple[float, float], end: tuple[float, float]) -> None:
    view = window.canvas.viewport()
    QTest.mousePress(view, LEFT, pos=on(window, *start))
    for share in (0.5, 1.0):
        there = [a + (b - a) * share for a, b in zip(start, end, strict=True)]
        move(view, on(window, *there), LEFT)
    QTest.mouseRelease(view, LEFT, pos=on(window, *end))


@pytest.fixture
def marked(qapp: QApplication, tmp_path: Path, wait_until: WaitUntil) -> Iterator[MainWindow]:
    """A window with a series of two images of 80 rows and 100 columns."""
    window = MainWindow(Workspace(), FakeDecoder(), layout_file=tmp_path / "window.ini")
    window.resize(1300, 900)
    window.show()
    window.workspace.add(found(study(instance(), instance("1.2"))))
    wait_until(lambda: window.canvas.picture is not None and not window.busy)
    yield window
    marks = [one.finding.id for one in window.workspace.annotations.all()]
    window.workspace.annotations.remove(marks)  # or closing would ask whether to lose them
    window.close()
    window.deleteLater()


def test_every_tool_has_a_hint_and_its_key_takes_it_in_hand(marked: MainWindow):
    actions = marked.actions_.drawing_tools
    for tool in drawing.POINTS:
        assert tool in HINTS
        actions[tool].trigger()
        assert marked.canvas.drawing_tool.tool == tool
        assert actions[tool].isChecked()
        assert marked.tool_hint.text().startswith(HINTS[tool])
        assert marked.tool_hint.text().endswith(ENDING) == (drawing.POINTS[tool] != 1)
    actions[""].trigger()
    assert marked.tool_hint.text() == ""


def test_a_line_is_calibrated_from_the_menu(marked: MainWindow, wait_until: WaitUntil):
    window = marked
    menu = window.actions_
    assert not menu.calibrate_length.isEnabled()
    window.canvas.drawing_tool.set_tool(drawing.RULER)
    drag_on(window, (20, 20), (60, 20))
    assert menu.calibrate_length.isEnabled()
    menu.calibrate_length.trigger()
    (dialog,) = window.findChildren(CalibrationDialog)
    assert dialog.series.isVisible()
    retype(dialog.field.lineEdit(), "50")
    QTest.mouseClick(dialog.apply, LEFT)
    wait_until(lambda: not window.findChildren(CalibrationDialog))
    (made,) = [one.finding for one in window.workspace.annotations.all()]
    assert (made.value, made.units) == (pytest.approx(50), "mm (calibrated by hand)")
    menu.calibrate_length.trigger()
    (dialog,) = window.findChildren(CalibrationDialog)
    QTest.mouseClick(dialog.end, LEFT)
    (made,) = [one.finding for one in window.workspace.annotations.all()]
    assert made.units == "px"
    window.workspace.commands.undo()
    assert window.workspace.annotations.all()[0].finding.value == pytest.approx(50)


def test_the_histogram_of_a_region_counts_its_pixels(marked: MainWindow, wait_until: WaitUntil):
    window = marked
    window.canvas.drawing_tool.set_tool(drawing.BOX)
    drag_on(window, (20.2, 20.2), (60.2, 40.2))
    (made,) = [one.finding for one in window.workspace.annotations.all()]
    values = {one.name: one.value for one in made.measurements}
    window.actions_.region_histogram.trigger()
    (dialog,) = window.findChildren(RegionHistogram)
    wait_until(lambda: dialog.ready)
    assert dialog.figures.text().startswith(f"{values['Pixels']:.0f} pixels")
    (curve,) = dialog.plot.listDataItems()
    assert curve.getData()[1].sum() == values["Pixels"]
    dialog.close()


def test_the_histogram_of_a_tool_s_mask_leaves_it_as_it_is(
    marked: MainWindow, wait_until: WaitUntil
):
    window = marked
    assert window.canvas.frame is not None
    chosen = np.zeros((80, 100), np.bool_)
    chosen[20:40, 20:51] = True
    made = finding(window.canvas.frame.ref, Mask(chosen))
    window.workspace.annotations.add([made])
    window.workspace.annotations.select(made.id)
    wait_until(lambda: not window.busy)
    window.actions_.region_histogram.trigger()
    dialog = window.findChildren(RegionHistogram)[-1]
    wait_until(lambda: dialog.ready)
    inside = SimpleITK.LabelStatisticsImageFilter()
    inside.Execute(
        SimpleITK.GetImageFromArray(window.canvas.frame.stored.astype(float)),
        SimpleITK.GetImageFromArray(chosen.astype(np.uint8)),
    )
    mean, deviation = wording.number(inside.GetMean(1)), wording.number(inside.GetSigma(1))
    assert f"Mean {mean}, SD {deviation}" in dialog.figures.text()
    assert dialog.figures.text().startswith("620 pixels")
    assert window.workspace.annotations.all()[0].finding is made
    dialog.close()
