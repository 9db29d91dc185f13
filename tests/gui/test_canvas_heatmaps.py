"""A heatmap has a legend, lets the image through, and is one at a time."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from PySide6.QtCore import QRectF
from PySide6.QtGui import QColor

from app.imaging.findings import Finding, Heatmap
from app.imaging.types import ImageRef
from app.views.canvas import heatmap_legend
from tests.gui.canvas_scene import Scene
from tests.gui.viewer_support import finding

pytestmark = pytest.mark.gui


def heat(ref: ImageRef, label: str) -> Finding:
    values = np.zeros((80, 100), np.float32)
    values[10:30, 50:90] = 1
    return finding(ref, Heatmap(values), label)


def greys(scene: Scene) -> list[QColor]:
    """Two neighbouring columns under the heatmap, whose greys differ by a tenth."""
    picture = scene.canvas.grab().toImage()
    return [QColor(picture.pixel(scene.at(x, 25))) for x in (60, 70)]


def test_the_image_is_seen_through_the_highest_value_at_every_strength(scene: Scene):
    scene.show()
    scene.workspace.annotations.add([heat(scene.canvas.frame.ref, "Effusion")])
    scene.settle()
    for strength in heatmap_legend.STRENGTHS.values():
        scene.canvas.findings_layer.set_heat_strength(strength)
        left, right = greys(scene)
        assert right.green() - left.green() > 5, strength


def test_a_legend_names_the_map_and_goes_with_it(scene: Scene):
    scene.show()
    made = replace(heat(scene.canvas.frame.ref, "Effusion"), score=0.613)
    plain = greys(scene)
    scene.workspace.annotations.add([made])
    scene.settle()
    legend = scene.canvas.overlay.legend
    assert legend == heatmap_legend.Legend("Heatmap: Effusion, score 0.61")
    shown = greys(scene)
    assert shown != plain
    scene.canvas.findings_layer.toggle_heat()
    assert scene.canvas.overlay.legend is None
    assert scene.canvas.overlay.chips == ()
    assert greys(scene) == plain
    scene.canvas.findings_layer.toggle_heat()
    assert greys(scene) == shown
    scene.workspace.annotations.set_visible([made.id], False)
    scene.settle()
    assert scene.canvas.overlay.legend is None


def test_of_several_maps_the_selected_one_is_seen_and_the_legend_says_which(scene: Scene):
    scene.show()
    ref = scene.canvas.frame.ref
    first, second = heat(ref, "Effusion"), heat(ref, "Mass")
    scene.workspace.annotations.add([first, second])
    scene.settle()
    seen = [item.finding.label for item in scene.canvas.annotation_items() if item.style.strength]
    assert seen == ["Mass"]
    scene.workspace.annotations.select(first.id)
    scene.settle()
    seen = [item.finding.label for item in scene.canvas.annotation_items() if item.style.strength]
    assert seen == ["Effusion"]
    legend = scene.canvas.overlay.legend
    assert legend is not None
    assert legend.title == "Heatmap: Effusion"
    assert legend.note.startswith("1 of 2")


def test_the_legend_keeps_clear_of_corner_text_in_a_narrow_view(scene: Scene):
    scene.canvas.resize(320, 400)
    scene.show()
    scene.workspace.annotations.add([heat(scene.canvas.frame.ref, "Effusion")])
    scene.settle()
    overlay = scene.canvas.overlay
    taken = [block.rect for block in overlay._laid_out()]
    place = heatmap_legend.rect_of(overlay.legend, overlay._area(), taken=taken)
    assert taken
    assert place.height() > 30
    assert overlay._area().contains(place)
    assert not any(place.intersects(other) for other in taken)


def test_the_legend_goes_beside_the_text_at_the_right_rather_than_up_over_the_image():
    area, legend = QRectF(0, 0, 500, 600), heatmap_legend.Legend("Heatmap: Effusion")
    left, right = QRectF(12, 560, 100, 28), QRectF(250, 400, 238, 188)
    place = heatmap_legend.rect_of(legend, area, taken=[left, right])
    assert place.center().y() > right.top(), "not lifted above the high corner"
    assert not any(place.intersects(other) for other in (left, right))
    alone = heatmap_legend.rect_of(legend, area, taken=[left])
    assert alone.center().x() == pytest.approx(area.center().x()), "else in the middle"
