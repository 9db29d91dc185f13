"""What a tool found is corrected by its handles, says so, and can be undone."""

from __future__ import annotations

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from app.imaging.findings import Box, Finding, Mask, Polygon, Polyline
from app.imaging.types import Spacing, SpacingSource
from app.views import wording
from app.workspace import drawing
from tests.gui.canvas_scene import LEFT, Scene
from tests.gui.viewer_support import finding

pytestmark = pytest.mark.gui

PATIENT = Spacing(0.5, 0.5, SpacingSource.PATIENT)


def drag_to(scene: Scene, start: tuple[float, float], end: tuple[float, float]) -> None:
    first, last = scene.at(*start), scene.at(*end)
    scene.drag(LEFT, first, ((last - first).x(), (last - first).y()))


def ratio_lines(scene: Scene) -> tuple[Finding, Finding]:
    """Two lines of one measurement, as the heart's and the thorax's."""
    ref = scene.canvas.frame.ref
    told = "cardiothoracic ratio about 0.50 (not for diagnosis)."
    lines = tuple(
        finding(
            ref,
            Polyline(((10, y), (end, y))),
            label,
            tool="ratio",
            value=(end - 10) / 2,
            units="mm (patient)",
            approximate=True,
            score=0.9,
            group="g",
            ratio="Cardiothoracic ratio" if label == "Heart width" else "",
            rests_on=("Heart", "Left Lung"),
            description=f"{label}; {told}",
        )
        for label, y, end in (("Heart width", 30, 50), ("Thorax width", 60, 90))
    )
    scene.workspace.annotations.add(lines)
    scene.settle()
    return lines[0], lines[1]


def by_label(scene: Scene) -> dict[str, Finding]:
    return {item.finding.label: item.finding for item in scene.workspace.annotations.all()}


def test_an_ai_line_is_corrected_by_its_handle_and_measured_anew(scene: Scene):
    scene.show(spacing=PATIENT)
    heart, thorax = ratio_lines(scene)
    QTest.mouseClick(scene.canvas.viewport(), LEFT, pos=scene.at(30, 30))
    assert scene.workspace.annotations.selected == heart.id
    drag_to(scene, (50, 30), (70, 30))
    made = by_label(scene)["Heart width"]
    assert scene.workspace.viewport.display.window is None  # the drag was no window drag
    assert made.id == heart.id
    assert made.value == pytest.approx(30, rel=0.02)
    assert made.units == "mm (patient)"
    assert (made.score, made.approximate) == (None, False)
    title_of = scene.workspace.title_of
    assert wording.maker_text(made, title_of) == "Ratio · net-1 · corrected by hand"
    assert wording.maker_details(made) == "ratio 1.0 · net-1"
    # The ratio is 30 to 40 mm, and the one of before is struck out.
    assert made.description == (
        "Corrected by hand: cardiothoracic ratio now 0.75. "
        f"Outdated since the outline was edited: {heart.description}"
    )
    assert by_label(scene)["Thorax width"].description == (
        "A related line was corrected by hand: cardiothoracic ratio now 0.75. "
        f"Outdated since the outline was edited: {thorax.description}"
    )
    # Still an AI result, and not drawn by hand.
    assert "AI results: not for diagnosis" in scene.canvas.overlay.corners.warning
    drag_to(scene, (70, 30), (60, 30))
    again = by_label(scene)["Heart width"].description
    assert again.startswith("Corrected by hand: cardiothoracic ratio now 0.6")
    assert again.count("Corrected") == again.count("Outdated") == 1
    scene.workspace.commands.undo()
    scene.workspace.commands.undo()
    assert by_label(scene) == {"Heart width": heart, "Thorax width": thorax}


def test_an_ai_line_that_is_not_selected_stays_and_the_drag_sets_the_window(scene: Scene):
    scene.show(spacing=PATIENT)
    heart, _thorax = ratio_lines(scene)
    drag_to(scene, (50, 30), (70, 36))
    assert by_label(scene)["Heart width"] == heart
    assert scene.workspace.viewport.display.window is not None


def test_a_correction_is_kept_when_the_tool_runs_again(scene: Scene):
    scene.show(spacing=PATIENT)
    heart, _thorax = ratio_lines(scene)
    scene.workspace.annotations.select(heart.id)
    drag_to(scene, (50, 30), (70, 30))
    again = finding(heart.image, heart.geometry, "Heart width", tool="ratio", id="again")
    scene.workspace.annotations.add([again])
    hearts = [
        item.finding
        for item in scene.workspace.annotations.all()
        if item.finding.label == "Heart width"
    ]
    assert [one.corrected for one in hearts] == [True, False]


def test_an_ai_box_and_a_contour_have_handles_too(scene: Scene):
    scene.show()
    ref = scene.canvas.frame.ref
    outline = ((10.0, 50.0), (40.0, 50.0), (40.0, 70.0))
    shapes = (Box(20.5, 10.5, 60.5, 40.5), Polygon(outline))
    box, contour = (finding(ref, shape, str(n)) for n, shape in enumerate(shapes))
    scene.workspace.annotations.add([box, contour])
    scene.settle()
    scene.workspace.annotations.select(box.id)
    drag_to(scene, (60, 40), (80, 45))
    shape = by_label(scene)["0"].geometry
    assert by_label(scene)["0"].description == "Corrected by hand."
    assert isinstance(shape, Box)
    assert (shape.x0, shape.y0) == (20.5, 10.5)
    assert (shape.x1, shape.y1) == (pytest.approx(80, abs=1), pytest.approx(45, abs=1))
    scene.workspace.annotations.select(contour.id)
    drag_to(scene, (40, 70), (30, 75))
    shape = by_label(scene)["1"].geometry
    assert isinstance(shape, Polygon)
    assert shape.points[:2] == outline[:2]
    assert shape.points[2] == (pytest.approx(30, abs=0.5), pytest.approx(75, abs=0.5))
    assert scene.workspace.viewport.display.window is None
    scene.key(Qt.Key.Key_Escape)
    assert scene.workspace.annotations.selected == ""


def test_a_long_outline_is_pulled_by_its_nearest_stretch(scene: Scene):
    scene.show(spacing=PATIENT)
    angles = np.linspace(0, 2 * np.pi, 400, endpoint=False)
    ring = tuple((50 + 25 * float(np.cos(a)), 40 + 25 * float(np.sin(a))) for a in angles)
    outline = finding(scene.canvas.frame.ref, Polygon(ring), "Organ", description="Area 4.9 cm2.")
    scene.workspace.annotations.add([outline])
    scene.settle()
    scene.workspace.annotations.select(outline.id)
    drag_to(scene, (75, 40), (85, 40))
    made = by_label(scene)["Organ"]
    assert isinstance(made.geometry, Polygon)
    assert scene.workspace.viewport.display.window is None
    before, after = np.array(ring), np.array(made.geometry.points)
    moved = np.linalg.norm(after - before, axis=1)
    assert after[:, 0].max() == pytest.approx(85, abs=0.7)
    assert moved[0] == pytest.approx(10, abs=0.7)
    assert 0 < moved[15] < moved[5] < moved[0]  # ever less along the line
    assert moved[100:300].max() == 0  # and nothing far away
    assert made.corrected
    x, y = after.T
    area = abs(float(x @ np.roll(y, -1) - y @ np.roll(x, -1))) / 2 * 0.25 / 100
    assert made.description.startswith(f"Corrected by hand: area {area:.1f} cm² (patient)")
    assert made.description.endswith("Outdated since the outline was edited: Area 4.9 cm2.")
    scene.workspace.commands.undo()
    assert by_label(scene)["Organ"] == outline


def masked(scene: Scene) -> Finding:
    pixels = np.zeros((80, 100), np.bool_)
    pixels[30:50, 40:60] = True
    heart = finding(
        scene.canvas.frame.ref, Mask(pixels), "Heart", description="Heart: 1.0 cm² (400 px)."
    )
    scene.workspace.annotations.add([heart])
    scene.settle()
    scene.workspace.annotations.select(heart.id)
    return heart


def test_a_mask_is_painted_and_erased_with_the_brush(scene: Scene):
    scene.show(spacing=PATIENT)
    _lines = ratio_lines(scene)
    heart = masked(scene)
    tool = scene.canvas.drawing_tool
    scene.key(Qt.Key.Key_E)
    assert tool.tool == drawing.BRUSH
    radius = tool.radius
    drag_to(scene, (60, 40), (75, 40))
    made = by_label(scene)["Heart"]
    assert isinstance(made.geometry, Mask)
    pixels = made.geometry.pixels
    rows, columns = np.nonzero(pixels)
    assert columns.max() == pytest.approx(75 + radius, abs=1.5)
    assert (np.abs(rows[columns > 62] - 40) <= radius + 1).all()
    assert pixels[30:50, 40:60].all()
    assert made.id == heart.id
    assert made.corrected
    count = int(pixels.sum())
    assert made.description == (
        f"Corrected by hand: area {count * 0.25 / 100:.1f} cm² (patient), {count:,} px. "
        "Outdated since the outline was edited: Heart: 1.0 cm² (400 px)."
    )
    assert scene.workspace.viewport.display.window is None
    # What was computed from the heart's outline is of before.
    assert by_label(scene)["Heart width"].description.startswith(
        "Heart was corrected by hand. Outdated since the outline was edited: "
    )
    # Shift erases.
    view = scene.canvas.viewport()
    QTest.mousePress(view, LEFT, Qt.KeyboardModifier.ShiftModifier, scene.at(45, 35))
    QTest.mouseRelease(view, LEFT, Qt.KeyboardModifier.ShiftModifier, scene.at(45, 35))
    scene.settle()
    shape = by_label(scene)["Heart"].geometry
    assert isinstance(shape, Mask)
    assert not shape.pixels[35, 45]
    assert not shape.pixels[35 + int(radius) - 1, 45]
    assert shape.pixels[35 + int(radius) + 2, 45]
    scene.workspace.commands.undo()
    scene.workspace.commands.undo()
    scene.settle()
    assert by_label(scene)["Heart"] is heart
    assert by_label(scene)["Heart width"].description.startswith("Heart width; ")
    (item,) = [one for one in scene.canvas.annotation_items() if one.finding.label == "Heart"]
    assert item.outline is not None
    assert item.outline.path.boundingRect().right() == pytest.approx(59.5)  # drawn as before


def test_the_brush_has_a_size_and_leaves_the_rest_alone(scene: Scene):
    scene.show()
    heart = masked(scene)
    tool = scene.canvas.drawing_tool
    scene.key(Qt.Key.Key_E)
    before = tool.radius
    scene.key(Qt.Key.Key_BracketRight)
    assert tool.radius > before
    scene.key(Qt.Key.Key_BracketLeft)
    assert tool.radius == pytest.approx(before)
    scene.wheel(120, Qt.KeyboardModifier.ShiftModifier)
    assert tool.radius > before
    assert scene.workspace.viewport.display.quarter_turns == 0  # brackets did not rotate
    scene.workspace.annotations.select("")
    drag_to(scene, (10, 10), (20, 20))  # no mask there: nothing happens
    assert by_label(scene)["Heart"] is heart
    assert scene.workspace.viewport.display.window is None
    scene.key(Qt.Key.Key_Escape)
    assert tool.tool == ""
