"""What a tool found is corrected by its handles, says so, and can be undone."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from app.imaging.findings import Box, Finding, Polygon, Polyline
from app.imaging.types import Spacing, SpacingSource
from app.views import wording
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
    assert wording.maker_text(made) == "ratio 1.0 · net-1 · corrected by hand"
    assert made.description == f"Corrected by hand. Before: {heart.description}"
    assert by_label(scene)["Thorax width"].description == (
        f"A line beside it was corrected by hand. Before: {thorax.description}"
    )
    # Still an AI result, and not drawn by hand.
    assert "AI results: not for diagnosis" in scene.canvas.overlay.corners.warning
    drag_to(scene, (70, 30), (60, 30))
    assert by_label(scene)["Heart width"].description.count("Corrected") == 1
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
