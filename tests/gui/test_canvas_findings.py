"""Findings on the canvas: each geometry, selection, labels, undo, and no stall."""

from __future__ import annotations

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QPointF, QRectF, Qt
from PySide6.QtTest import QTest

from app.imaging.findings import Box, Heatmap, Mask, Point, Polygon, Polyline, State
from app.views.canvas.text_overlay import corner_blocks
from app.workspace.studies import key_of
from tests.gui.canvas_scene import LEFT, Scene
from tests.gui.heartbeat import stall_ms
from tests.gui.viewer_support import (
    Heartbeat,
    finding,
    found,
    frame,
    instance,
    study,
)

ATTEMPTS = 3

pytestmark = pytest.mark.gui


def mask(rows: int = 80, columns: int = 100) -> Mask:
    area = np.zeros((rows, columns), bool)
    area[30:60, 10:40] = True
    return Mask(area)


def test_every_geometry_is_drawn(scene: Scene):
    scene.show()
    ref = scene.canvas.frame.ref
    heat = np.zeros((80, 100), np.float32)
    heat[10:20, 60:80] = 1
    geometries = [
        mask(),
        Polyline(((10, 70), (90, 70))),
        Polygon(((60, 30), (80, 30), (70, 50))),
        Box(50, 10, 60, 20),
        Point(20, 10),
        Heatmap(heat),
    ]
    solid = State.ACCEPTED  # dashes have gaps
    made = [finding(ref, shape, f"F{n}", state=solid) for n, shape in enumerate(geometries)]
    before = scene.canvas.grab().toImage()
    scene.workspace.annotations.add(made)
    scene.settle()
    items = scene.canvas.annotation_items()
    assert [item.finding.id for item in items] == [one.id for one in made]
    after = scene.canvas.grab().toImage()
    for x, y in ((25, 45), (50, 70), (70, 38), (50, 15), (70, 15)):
        assert after.pixel(scene.at(x, y)) != before.pixel(scene.at(x, y)), (x, y)


def test_a_finding_is_drawn_on_no_other_image(scene: Scene):
    scene.show(instance(frames=3))
    ref = scene.canvas.frame.ref
    scene.workspace.annotations.add([finding(ref, mask())])
    scene.settle()
    assert len(scene.canvas.annotation_items()) == 1
    scene.key(Qt.Key.Key_Down)
    assert scene.canvas.annotation_items() == []
    assert scene.canvas.overlay.chips == ()
    assert scene.canvas.overlay.corners.warning == ()
    scene.key(Qt.Key.Key_Up)
    assert len(scene.canvas.annotation_items()) == 1


def test_ai_results_are_marked_with_their_tool(scene: Scene):
    scene.show()
    scene.workspace.annotations.add([finding(scene.canvas.frame.ref, mask())])
    scene.settle()
    assert scene.canvas.overlay.corners.warning == (
        "AI results: not for diagnosis",
        "Finder · net-1",
    )


def test_a_mask_covers_exactly_its_pixels(scene: Scene):
    scene.show()
    scene.workspace.annotations.add([finding(scene.canvas.frame.ref, mask())])
    scene.settle()
    path = scene.canvas.annotation_items()[0].outline.path
    for x, y, inside in (
        (10.0, 45, True),
        (9.4, 45, False),
        (39.0, 45, True),
        (39.6, 45, False),
        (25, 29.4, False),
        (25, 59.6, False),
        (25, 59.0, True),
    ):
        assert path.contains(QPointF(x, y)) is inside, (x, y)


def test_chips_do_not_overlap_each_other_or_the_corner_text(scene: Scene):
    scene.show()
    ref = scene.canvas.frame.ref
    scene.workspace.annotations.add(
        [
            finding(
                ref, Polyline(((20, 38 + n), (80, 38 + n))), f"Line {n}", value=60.0, units="px"
            )
            for n in range(5)
        ]
    )
    scene.settle()
    chips = [item.rect for item in scene.canvas.overlay.chips]
    assert len(chips) == 5
    overlay = scene.canvas.overlay
    blocks = corner_blocks(overlay.corners, QRectF(overlay.rect()))
    rects = chips + [block.rect for block in blocks]
    for number, rect in enumerate(rects):
        assert not any(rect.intersects(other) for other in rects[number + 1 :])


def test_an_approximate_measurement_says_so(scene: Scene):
    scene.show()
    scene.workspace.annotations.add(
        [
            finding(
                scene.canvas.frame.ref,
                Polyline(((20, 40), (80, 40))),
                "Heart width",
                value=812.4,
                units="px",
                approximate=True,
            )
        ]
    )
    scene.settle()
    assert scene.canvas.overlay.chips[0].text == "Heart width ≈ 812 px · proposed"


def test_a_click_selects_the_line_over_the_mask_and_beside_it_nothing(scene: Scene):
    scene.show()
    ref = scene.canvas.frame.ref
    line = finding(ref, Polyline(((5, 50), (60, 50))), "Width")
    scene.workspace.annotations.add([finding(ref, mask(), "Lung"), line])
    scene.settle()
    for at, expected in (
        ((15, 50), "finder-Width"),
        ((20, 34), "finder-Lung"),
        ((90, 10), ""),
    ):
        QTest.mouseClick(scene.canvas.viewport(), LEFT, pos=scene.at(*at))
        assert scene.workspace.annotations.selected == expected
    scene.workspace.annotations.select("finder-Lung")
    strong = {item.finding.id: item.style.strong for item in scene.canvas.annotation_items()}
    assert strong == {"finder-Lung": True, "finder-Width": False}


def test_delete_removes_the_selected_finding_and_undo_brings_it_back(scene: Scene):
    scene.show()
    scene.workspace.annotations.add([finding(scene.canvas.frame.ref, mask())])
    scene.settle()
    scene.workspace.annotations.select("finder-Nodule")
    scene.key(Qt.Key.Key_Delete)
    assert scene.canvas.annotation_items() == []
    scene.workspace.commands.undo()
    scene.settle()
    assert len(scene.canvas.annotation_items()) == 1
    assert scene.canvas.annotation_items()[0].ready


def test_a_hidden_finding_is_not_drawn(scene: Scene):
    scene.show()
    scene.workspace.annotations.add([finding(scene.canvas.frame.ref, mask())])
    scene.workspace.annotations.set_visible(["finder-Nodule"], False)
    scene.settle()
    assert scene.canvas.annotation_items() == []


def test_a_radiograph_with_masks_never_stalls_the_window(scene: Scene, gui_heartbeat: Heartbeat):
    """The size of the demo's radiograph: opened, windowed, and three masks laid over it."""
    rows, columns = 1955, 1841
    y, x = np.mgrid[:rows, :columns]
    stored = ((x * 7 + y * 11) % 32768).astype(np.uint16)
    areas = [((x - cx) / 330) ** 2 + ((y - 800) / 600) ** 2 < 1 for cx in (500, 1350, 900)]
    big = instance(size=(rows, columns))
    big_frame = frame(stored=stored, bits=15)
    scene.decoder.frames[("1.1", 0)] = big_frame
    scene.canvas.resize(1000, 800)
    scene.settle()
    opened = study(big)
    stalls: list[float] = []
    # Other programs on the machine can only lengthen a stall: one quiet run of three is proof.
    while not stalls or (min(stalls) >= stall_ms() and len(stalls) < ATTEMPTS):
        scene.workspace.close_study(key_of(opened))
        scene.settle()
        gui_heartbeat.restart()
        scene.workspace.add(found(opened))
        scene.settle()
        scene.workspace.annotations.add(
            [finding(big_frame.ref, Mask(area), f"M{n}") for n, area in enumerate(areas)]
        )
        scene.settle()
        scene.drag(LEFT, QPoint(300, 300), (90, 30))
        scene.wheel(120)
        gui_heartbeat.stop()
        stalls.append(gui_heartbeat.longest_ms)
    assert min(stalls) < stall_ms()
