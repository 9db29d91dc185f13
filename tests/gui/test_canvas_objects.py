"""Numbered objects on the canvas: drawn, hit, selected, hidden, exported."""

from __future__ import annotations

import statistics
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray
from PySide6.QtCore import QPointF, Qt
from PySide6.QtGui import QColor, QImage, QPainter, QPen
from PySide6.QtTest import QTest

from app.imaging.findings import Instances, State
from app.imaging.types import Spacing, SpacingSource
from app.views.canvas import object_outlines
from app.views.canvas.annotated_render import Look, Marks, render_annotated
from app.views.canvas.finding_items import ObjectsItem
from app.workspace.annotations import Annotation
from tests.bench.bench_objects import pan_ms, scene_with_cells
from tests.gui.canvas_scene import Scene
from tests.gui.heartbeat import stall_ms
from tests.gui.viewer_support import Heartbeat, finding, frame, instance

pytestmark = pytest.mark.gui


def blocks() -> NDArray[np.uint16]:
    """Objects 7 (10 x 10 pixels at x 20, y 30) and 9 (20 x 5 at x 60, y 50)."""
    labels = np.zeros((80, 100), np.uint16)
    labels[30:40, 20:30] = 7
    labels[50:55, 60:80] = 9
    return labels


def nuclei(scene: Scene, labels: NDArray[np.uint16] | None = None) -> str:
    shape = Instances(blocks() if labels is None else labels)
    ref = scene.canvas.frame.ref
    one = finding(ref, shape, "Nuclei", value=2.0, units="objects", state=State.ACCEPTED)
    scene.workspace.annotations.add([one])
    scene.settle()
    return one.id


def test_outlines_are_drawn_by_one_item_and_the_label_counts_them(scene: Scene):
    scene.show()
    before = scene.canvas.grab().toImage()
    nuclei(scene)
    (item,) = scene.canvas.annotation_items()
    assert isinstance(item, ObjectsItem)
    after = scene.canvas.grab().toImage()
    for x, y in ((25, 29.5), (29.5, 35), (70, 49.5), (79.5, 52)):
        assert after.pixel(scene.at(x, y)) != before.pixel(scene.at(x, y)), (x, y)
    for x, y in ((25, 35), (70, 52), (45, 70)):
        assert after.pixel(scene.at(x, y)) == before.pixel(scene.at(x, y)), (x, y)
    assert [chip.text for chip in scene.canvas.overlay.chips] == ["Nuclei 2 · accepted"]


def test_a_click_selects_an_object_and_its_number_and_area_are_told(scene: Scene):
    scene.show(spacing=Spacing(0.002, 0.002, SpacingSource.CALIBRATED))
    nuclei(scene)
    told: list[tuple[str, int]] = []
    annotations = scene.workspace.annotations
    annotations.object_changed.connect(lambda one, number: told.append((one, number)))
    view = scene.canvas.viewport()
    QTest.mouseMove(view, scene.at(70, 52))
    scene.canvas._hover(QPointF(scene.at(70, 52)))
    texts = [chip.text for chip in scene.canvas.overlay.chips]
    assert any(text.startswith("Nuclei 9 · 400.0 µm²") for text in texts), texts
    assert annotations.selected == ""
    QTest.mouseClick(view, Qt.MouseButton.LeftButton, pos=scene.at(25, 35))
    assert (annotations.selected, annotations.selected_object) == ("finder-Nuclei", 7)
    texts = [chip.text for chip in scene.canvas.overlay.chips]
    assert any(text.startswith("Nuclei 7 · 400.0 µm²") for text in texts), texts
    QTest.mouseClick(view, Qt.MouseButton.LeftButton, pos=scene.at(70, 52))
    QTest.mouseClick(view, Qt.MouseButton.LeftButton, pos=scene.at(45, 10))
    assert annotations.selected == ""
    assert told == [("finder-Nuclei", 7), ("finder-Nuclei", 9), ("", 0)]


def test_of_a_cell_and_its_nucleus_the_nucleus_is_hit(scene: Scene):
    scene.show()
    cells = np.zeros((80, 100), np.uint16)
    cells[20:60, 20:60] = 1
    nuclei(scene)  # one of them in the cell
    ref = scene.canvas.frame.ref
    one = finding(ref, Instances(cells), "Cells", value=1.0, state=State.ACCEPTED)
    scene.workspace.annotations.add([one])
    scene.settle()
    annotations, view = scene.workspace.annotations, scene.canvas.viewport()
    QTest.mouseClick(view, Qt.MouseButton.LeftButton, pos=scene.at(25, 35))
    assert (annotations.selected, annotations.selected_object) == ("finder-Nuclei", 7)
    QTest.mouseClick(view, Qt.MouseButton.LeftButton, pos=scene.at(45, 45))
    assert (annotations.selected, annotations.selected_object) == (one.id, 1)


def test_a_selected_object_is_bright_and_filled(scene: Scene):
    scene.show()
    one = nuclei(scene)
    before = scene.canvas.grab().toImage()
    scene.workspace.annotations.select(one, 9)
    scene.settle()
    after = scene.canvas.grab().toImage()
    assert after.pixel(scene.at(70, 53)) != before.pixel(scene.at(70, 53))
    assert after.pixel(scene.at(25, 35)) == before.pixel(scene.at(25, 35))


def test_objects_are_hidden_rejected_and_undone_as_any_finding(scene: Scene):
    scene.show()
    one = nuclei(scene)
    annotations = scene.workspace.annotations
    annotations.set_visible([one], False)
    assert scene.canvas.annotation_items() == []
    annotations.set_visible([one], True)
    annotations.decide([one], State.REJECTED)
    assert annotations.get(one).finding.state is State.REJECTED
    scene.workspace.commands.undo()
    assert annotations.get(one).finding.state is State.ACCEPTED
    annotations.remove([one])
    assert scene.canvas.annotation_items() == []
    scene.workspace.commands.undo()
    scene.settle()
    assert len(scene.canvas.annotation_items()) == 1


def test_a_picture_with_findings_has_the_outlines(scene: Scene):
    scene.show()
    nuclei(scene)
    frame = scene.canvas.frame
    assert frame is not None
    marks = Marks(scene.workspace.annotations.all())
    plain = render_annotated(frame, instance())
    drawn = render_annotated(frame, instance(), marks=marks)
    changed = (plain != drawn).any(axis=2)
    assert changed[29:31, 20:30].any()
    assert changed[35, 29:31].any()
    assert not changed[33:37, 23:27].any()


@pytest.mark.parametrize("side", [100, 512, 1500])
def test_a_picture_of_any_size_has_all_outlines(scene: Scene, side: int):
    """Small pictures are drawn with smaller texts: more logical px than there are pixels."""
    labels = np.zeros((side, side), np.uint16)
    step = side // 10
    for number in range(100):
        row, column = divmod(number, 10)
        top, left = row * step + 2, column * step + 2
        labels[top : top + step - 4, left : left + step - 4] = number + 1
    shown = frame(stored=np.full((side, side), 500, np.int16))
    one = finding(shown.ref, Instances(labels), "", state=State.ACCEPTED)
    marks = Marks((Annotation(one, 0),))
    plain = render_annotated(shown, instance(), look=Look(detail=None))
    drawn = render_annotated(shown, instance(), marks=marks, look=Look(detail=None))
    changed = (plain != drawn).any(axis=2)
    places = [divmod(number, 10) for number in range(100)]
    assert all(
        changed[row * step : (row + 1) * step, column * step : (column + 1) * step].any()
        for row, column in places[10:90]
    )


@pytest.mark.parametrize("zoom", [0.3, 0.8, 1.0, 2.0, 6.0])
def test_a_picture_of_borders_and_lines_are_at_the_same_places(
    zoom: float, monkeypatch: pytest.MonkeyPatch
):
    """Each pixel that one way draws is at most two screen pixels from one that the other draws."""
    y, x = np.mgrid[:300, :400]
    labels = np.zeros((300, 400), np.uint16)
    for number, (cx, cy, r) in enumerate(((80, 90, 40), (250, 150, 90), (330, 60, 20)), 1):
        labels[(x - cx) ** 2 + (y - cy) ** 2 <= r * r] = number
    outlines = object_outlines.build(labels)
    ways: list[NDArray[np.bool_]] = []
    for most in (10**9, -1):
        monkeypatch.setattr(object_outlines, "MOST_LINES", most)
        image = QImage(400, 300, QImage.Format.Format_RGB32)
        image.fill(Qt.GlobalColor.black)
        painter = QPainter(image)
        painter.translate(200, 150)
        painter.scale(zoom, zoom)
        painter.translate(-170.3, -120.7)
        outlines.draw(painter, QPen(QColor("white"), 1.5))
        painter.end()
        bits = np.frombuffer(image.constBits(), np.uint8).reshape(300, 400, 4)
        ways.append(bits[..., 0] > 60)
    assert all(one.any() for one in ways)
    reach = 2 + int(zoom)  # a picture's line is a pixel of the image wide
    for one, other in (ways, ways[::-1]):
        near = np.zeros_like(other)
        for dy in range(-reach, reach + 1):
            for dx in range(-reach, reach + 1):
                near |= np.roll(other, (dy, dx), axis=(0, 1))
        inner = slice(reach, -reach)
        assert not (one & ~near)[inner, inner].any()


def test_5000_cells_pan_at_60_pictures_a_second(scene: Scene):
    scene_with_cells(scene)
    for zoom in (0.45, 1.0, 3.0):
        scene.canvas.set_zoom(zoom)
        scene.settle()
        pan_ms(scene.canvas, 2)  # colours of pictures are made once
        medians = [statistics.median(pan_ms(scene.canvas)) for _ in range(3)]
        assert min(medians) < 1000 / 60, (zoom, medians)


def test_5000_outlines_are_built_without_a_stall(scene: Scene, gui_heartbeat: Heartbeat):
    one = scene_with_cells(scene)
    annotations = scene.workspace.annotations
    (cells,) = annotations.all()
    shape = cells.finding.geometry
    assert isinstance(shape, Instances)
    stalls: list[float] = []
    # Other programs on the machine can only lengthen a stall: one quiet run of three is proof.
    while not stalls or (min(stalls) >= stall_ms() and len(stalls) < 3):
        annotations.remove([one])
        scene.settle()
        labels = Instances(shape.labels.copy())
        gui_heartbeat.restart()
        annotations.add([replace(cells.finding, geometry=labels)])
        scene.settle()
        scene.wheel(120)
        gui_heartbeat.look()
        stalls.append(gui_heartbeat.longest_ms)
    assert min(stalls) < stall_ms()


def test_the_lines_are_those_of_each_object_s_own_outline():
    random = np.random.default_rng(5)
    labels = random.integers(0, 4, (40, 60)).astype(np.uint16)
    labels[5:15, 10:50] = 9  # long straight runs

    def segments(part: NDArray[np.bool_]) -> set[tuple[float, ...]]:
        traced = object_outlines.trace(part)
        found: set[tuple[float, ...]] = set()
        for outline in np.split(traced.points, traced.starts[1:]):
            ends = np.roll(outline, -1, axis=0)
            found |= {tuple(line) for line in np.hstack([outline, ends]).tolist()}
        return found

    wanted = set[tuple[float, ...]]().union(*(segments(labels == n) for n in (1, 2, 3, 9)))
    lines = object_outlines._lines(object_outlines._steps(labels))
    assert {tuple(line) for line in lines.tolist()} == wanted
    assert len(lines) == object_outlines.build(labels).lines


def test_no_object_and_one_that_fills_the_image_are_drawn(scene: Scene):
    scene.show()
    one = nuclei(scene, np.zeros((80, 100), np.uint16))
    assert [chip.text for chip in scene.canvas.overlay.chips] == ["Nuclei 2 · accepted"]
    scene.workspace.annotations.remove([one])
    nuclei(scene, np.full((80, 100), 5, np.uint16))
    QTest.mouseClick(scene.canvas.viewport(), Qt.MouseButton.LeftButton, pos=scene.at(50, 40))
    assert scene.workspace.annotations.selected_object == 5
