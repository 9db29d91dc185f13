"""Masks: threshold fill by mouse and keys against SimpleITK, and the statistics of any mask."""

from __future__ import annotations

import numpy as np
import pytest
import SimpleITK
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest

from app.imaging.findings import Finding, Mask
from app.imaging.types import RealWorldMap, Rescale, Voi, Window
from app.workspace import drawing
from tests.gui.canvas_scene import LEFT, Scene, move
from tests.gui.heartbeat import Heartbeat
from tests.gui.viewer_support import instance

pytestmark = pytest.mark.gui
ROWS, COLUMNS = 80, 100


def stored() -> np.ndarray:
    """A ramp to the right with a bright disc, a dark hole in it, and a second disc apart."""
    y, x = np.mgrid[:ROWS, :COLUMNS]
    made = 1000 + 2 * x
    made[np.hypot(x - 35, y - 40) < 18] += 900
    made[np.hypot(x - 35, y - 40) < 5] -= 900
    made[np.hypot(x - 80, y - 40) < 10] += 900
    return made.astype(np.int16)


@pytest.fixture
def filled(scene: Scene) -> Scene:
    scene.show(instance(), stored=stored(), rescale=Rescale(1.0, -1000.0, units="HU"))
    scene.canvas.drawing_tool.set_tool(drawing.FILL)
    return scene


def click(scene: Scene, x: float, y: float) -> None:
    QTest.mouseClick(scene.canvas.viewport(), LEFT, pos=scene.at(x, y))
    scene.settle()


def masks(scene: Scene) -> list[Finding]:
    made = [one.finding for one in scene.workspace.annotations.all()]
    return [one for one in made if isinstance(one.geometry, Mask)]


def pixels(scene: Scene) -> np.ndarray:
    shape = masks(scene)[-1].geometry
    assert isinstance(shape, Mask)
    return shape.pixels


def expected(seed: tuple[int, int], low: float, high: float) -> np.ndarray:
    image = SimpleITK.GetImageFromArray(stored().astype(np.float64) - 1000)
    found = SimpleITK.ConnectedThreshold(image, [seed], low, high)
    return SimpleITK.GetArrayFromImage(found) > 0


def test_a_click_fills_what_is_connected_and_the_fields_change_it_in_one_step(filled: Scene):
    click(filled, 50, 40)
    strip = filled.canvas.drawing_tool.filling.strip
    assert strip.isVisible()
    assert strip.units.text() == "HU"
    low, high = strip.low.value(), strip.high.value()
    assert low < 1000 < high
    assert np.array_equal(pixels(filled), expected((50, 40), low, high))
    assert not pixels(filled)[40, 35]  # the hole
    assert not pixels(filled)[40, 80]  # apart
    # A range that holds all of it.
    strip.low.setFocus()
    strip.low.selectAll()
    QTest.keyClicks(strip.low, "-50")
    QTest.keyClick(strip.low, Qt.Key.Key_Return)
    filled.settle()
    assert np.array_equal(pixels(filled), expected((50, 40), -50, high))
    assert pixels(filled)[40, 35]
    (made,) = masks(filled)
    assert made.id == filled.workspace.annotations.selected
    assert made.description.split(" · ")[1].startswith("mean ")
    filled.workspace.commands.undo()
    assert masks(filled) == []
    assert not strip.isVisible()
    filled.workspace.commands.redo()
    assert len(masks(filled)) == 1


def test_a_drag_widens_the_range_and_is_seen_at_once(filled: Scene):
    view, start = filled.canvas.viewport(), filled.at(10, 70)
    QTest.mousePress(view, LEFT, pos=start)
    filled.settle()
    strip = filled.canvas.drawing_tool.filling.strip
    narrow = strip.high.value() - strip.low.value()
    assert masks(filled) == []  # not kept yet
    move(view, start - QPoint(0, 60), LEFT)
    filled.settle()
    (item,) = filled.canvas.annotation_items()
    seen = item.finding.geometry
    assert strip.high.value() - strip.low.value() > 1.5 * narrow
    QTest.mouseRelease(view, LEFT, pos=start - QPoint(0, 60))
    filled.settle()
    assert isinstance(seen, Mask)
    assert np.array_equal(pixels(filled), seen.pixels)
    seed = (10, 70)
    assert np.array_equal(seen.pixels, expected(seed, strip.low.value(), strip.high.value()))
    filled.workspace.commands.undo()
    assert masks(filled) == []
    # The next click reaches as far as the last one.
    wide = strip.high.value() - strip.low.value()
    click(filled, 10, 70)
    assert strip.high.value() - strip.low.value() == pytest.approx(wide, abs=0.01)
    # Esc drops what is not kept.
    QTest.mousePress(view, LEFT, pos=filled.at(80, 40))
    filled.key(Qt.Key.Key_Escape)
    QTest.mouseRelease(view, LEFT, pos=filled.at(80, 40))
    filled.settle()
    assert len(masks(filled)) == 1


def test_a_region_bounds_the_fill_unless_it_is_not_wanted(filled: Scene):
    assert filled.canvas.frame is not None
    box = drawing.draw(drawing.BOX, filled.canvas.frame, [(25, 30), (60, 45)])
    filled.workspace.annotations.put(box, "Mark box")
    filled.settle()
    click(filled, 50, 40)
    strip = filled.canvas.drawing_tool.filling.strip
    span = strip.low.value(), strip.high.value()
    whole = expected((50, 40), *span)
    rows, columns = np.nonzero(pixels(filled))
    assert rows.min() >= 30
    assert rows.max() <= 45
    assert columns.min() >= 25
    assert pixels(filled).sum() < whole.sum()
    assert not (pixels(filled) & ~whole).any()
    QTest.mouseClick(strip.bounded, LEFT, pos=QPoint(8, strip.bounded.height() // 2))
    filled.settle()
    assert np.array_equal(pixels(filled), whole)
    assert len(masks(filled)) == 1


def test_what_was_filled_is_painted_and_erased(filled: Scene):
    click(filled, 50, 40)
    made, before = masks(filled)[0], pixels(filled)
    filled.canvas.drawing_tool.set_tool(drawing.BRUSH)
    filled.canvas.drawing_tool.radius = 3
    filled.drag(LEFT, filled.at(35, 40), (2, 2))
    assert pixels(filled)[40, 35]
    assert not before[40, 35]
    view = filled.canvas.viewport()
    QTest.mouseClick(view, LEFT, Qt.KeyboardModifier.ShiftModifier, filled.at(48, 40))
    filled.settle()
    assert before[40, 48]
    assert not pixels(filled)[40, 48]
    assert [one.id for one in masks(filled)] == [made.id]


def test_the_range_is_in_the_units_that_the_file_declares(scene: Scene):
    suv = RealWorldMap(0, 4000, 0.001, 0.0, units="{SUVbw}g/ml")
    scene.show(instance(), stored=stored(), real_world=(suv,), padding=(1000, 1000))
    scene.canvas.drawing_tool.set_tool(drawing.FILL)
    click(scene, 50, 40)
    strip = scene.canvas.drawing_tool.filling.strip
    assert strip.units.text() == "SUVbw"
    assert strip.low.value() < 2.0 < strip.high.value()
    click(scene, 0, 10)  # padding: no value, so nothing
    assert len(masks(scene)) == 1
    assert not strip.isVisible()


@pytest.mark.stall_limit(50)
def test_a_large_radiograph_is_filled_without_a_stall(scene: Scene, gui_heartbeat: Heartbeat):
    rng = np.random.default_rng(1)
    rough = rng.normal(0, 60, (150, 130)).repeat(20, axis=0).repeat(20, axis=1)
    values = (2000 + rough + rng.normal(0, 20, rough.shape)).astype(np.int16)
    voi = Voi((Window(2000, 800, explanation="X"),))
    scene.show(instance(size=(3000, 2600)), stored=values, voi=voi, rescale=Rescale())
    scene.canvas.drawing_tool.set_tool(drawing.FILL)
    view, start = scene.canvas.viewport(), scene.at(1300, 1500)
    QTest.mousePress(view, LEFT, pos=start)
    for step in range(1, 13):
        move(view, start - QPoint(0, 6 * step), LEFT)
        scene.wait_until(lambda: True)
    QTest.mouseRelease(view, LEFT, pos=start - QPoint(0, 72))
    scene.settle()
    assert pixels(scene).sum() > 1000


def test_a_double_click_fills_one_mask(filled: Scene):
    view, at = filled.canvas.viewport(), filled.at(50, 40)
    for wait in (False, True):
        QTest.mouseClick(view, LEFT, pos=at)
        if wait:
            filled.settle()
        QTest.mouseDClick(view, LEFT, pos=at)
        QTest.mouseRelease(view, LEFT, pos=at)
        filled.settle()
        assert len(masks(filled)) == 1
        filled.workspace.commands.undo()
        assert masks(filled) == []


def test_small_values_have_digits_enough_and_the_pixel_stays_inside(scene: Scene):
    """Diffusion in mm²/s."""
    adc = RealWorldMap(0, 4000, 1.0007e-6, 0.0, units="mm2/s")
    scene.show(instance(), stored=stored(), real_world=(adc,))
    scene.canvas.drawing_tool.set_tool(drawing.FILL)
    click(scene, 50, 40)
    strip = scene.canvas.drawing_tool.filling.strip
    assert strip.low.decimals() >= 5
    strip.low.setValue(1.0)  # above the pixel: as far as it may
    scene.settle()
    assert pixels(scene)[40, 50]
    assert len(masks(scene)) == 1
    assert strip.low.value() == pytest.approx(2000 * 1.0007e-6, abs=1e-5)


def test_the_values_of_an_image_are_dropped_with_it(filled: Scene):
    click(filled, 50, 40)
    filling = filled.canvas.drawing_tool.filling
    assert filling._filler is not None
    filled.show(instance("1.2"))
    filled.workspace.viewport.show(instance("1.2"))
    filled.settle()
    assert filling._filler is None
    assert not filling.strip.isVisible()
