"""Moving, copying and pasting marks."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from app.imaging.findings import Box, Ellipse, Geometry, Mask, Point, Polyline, State
from app.imaging.space.planes import FramePlane
from app.imaging.types import Spacing, SpacingSource
from app.workspace import drawing, editing
from app.workspace.annotations import Annotation, Annotations, CommandStack
from tests.gui.viewer_support import finding, frame

MM = Spacing(0.5, 0.5, SpacingSource.PATIENT)
AXIAL = FramePlane((0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.5, 0.5), "1.2.3")


def test_a_mark_moves_as_a_whole_and_not_out_of_the_image() -> None:
    image = frame(spacing=MM)
    line = drawing.draw(drawing.RULER, image, [(10, 10), (20, 10)])
    there = editing.moved(line, image, 5.5, -3)
    assert there.geometry == Polyline(((15.5, 7.0), (25.5, 7.0)))
    assert there.value == pytest.approx(5.0)
    assert there.id == line.id
    far = editing.moved(line, image, 1000, -1000)
    assert far.geometry == Polyline(((89.5, -0.5), (99.5, -0.5)))


def test_boxes_and_masks_stay_on_the_pixel_grid() -> None:
    image = frame(spacing=MM)
    box = drawing.draw(drawing.BOX, image, [(10, 10), (20, 20)])
    was = box.geometry
    assert isinstance(was, Box)
    now = editing.moved(box, image, 2.4, 0.4).geometry
    assert now == Box(was.x0 + 2, was.y0, was.x1 + 2, was.y1)
    pixels = np.zeros((80, 100), bool)
    pixels[0:5, 90:100] = True
    mask = finding(image.ref, Mask(pixels))
    moved = editing.moved(mask, image, 7, 3)
    assert isinstance(moved.geometry, Mask)
    assert moved.geometry.pixels[3:8, 90:100].all()
    assert moved.geometry.pixels.sum() == 50
    assert moved.state is State.EDITED
    assert moved.original == mask


def test_a_copy_keeps_its_place_in_the_patient() -> None:
    image, other = frame(spacing=MM), frame("2.2", spacing=Spacing(1.0, 1.0, SpacingSource.PATIENT))
    plane = replace(AXIAL, origin=(5.0, 2.0, 30.0), spacing=(1.0, 1.0))
    line = drawing.draw(drawing.RULER, image, [(30, 20), (50, 20)])
    kept = editing.copied([Annotation(line, 3, tint="#112233")], image, AXIAL)
    (copy,), why = editing.pasted(kept, other, plane)
    assert not why
    assert copy.finding.geometry == Polyline(((10.0, 8.0), (20.0, 8.0)))  # mm 15, 10 and 25, 10
    assert copy.finding.value == pytest.approx(10.0)
    assert copy.finding.id != line.id
    assert copy.finding.image == other.ref
    assert copy.tint == "#112233"


def test_a_copy_belongs_to_the_plane_of_a_section_but_to_an_acquired_image_alone() -> None:
    image = frame(spacing=MM)
    line = replace(drawing.draw(drawing.RULER, image, [(30, 20), (50, 20)]), plane=AXIAL)
    kept = editing.copied([Annotation(line, 0)], image, AXIAL)
    (copy,), _ = editing.pasted(kept, frame("2.2", spacing=MM), AXIAL)
    assert copy.finding.plane is None
    plain = editing.copied([Annotation(replace(line, plane=None), 0)], image, AXIAL)
    (copy,), _ = editing.pasted(plain, frame("2.2", spacing=MM), AXIAL, section=True)
    assert copy.finding.plane == AXIAL


def test_without_a_common_space_pixels_count_if_sizes_agree() -> None:
    image, other = frame(), frame("2.2")
    ellipse = drawing.draw(drawing.ELLIPSE, image, [(10, 10), (30, 20)])
    kept = editing.copied([Annotation(ellipse, 0)], image, None)
    (copy,), _ = editing.pasted(kept, other, None)
    assert copy.finding.geometry == Ellipse(10, 10, 30, 20)
    small = frame("3.3", stored=np.zeros((20, 20), np.int16))
    copies, why = editing.pasted(kept, small, None)
    assert not copies
    assert "differ in size" in why


def test_what_lies_outside_of_the_other_image_is_not_pasted() -> None:
    image = frame(spacing=MM)
    point = drawing.draw(drawing.POINT, image, [(30, 20)])
    kept = editing.copied([Annotation(point, 0)], image, AXIAL)
    copies, why = editing.pasted(kept, image, replace(AXIAL, origin=(500.0, 0.0, 0.0)))
    assert not copies
    assert "outside" in why


def test_a_tools_finding_becomes_a_mark_by_hand_that_says_so() -> None:
    image, other = frame(), frame("2.2")
    found = finding(image.ref, Point(5, 5), score=0.9)
    (copy,), _ = editing.pasted(editing.copied([Annotation(found, 0)], image, None), other, None)
    assert drawing.by_hand(copy.finding)
    assert copy.finding.state is State.ACCEPTED
    assert copy.finding.score is None
    assert "copied from a finding of finder" in (copy.finding.description)


def test_locked_marks_are_neither_changed_nor_removed() -> None:
    marks = Annotations(CommandStack())
    refused: list[int] = []
    marks.refused.connect(refused.append)
    image = frame()
    line = drawing.draw(drawing.RULER, image, [(10, 10), (20, 10)])
    marks.put(line, "Measure")
    marks.alter([line.id], "Lock", lambda item: replace(item, locked=True))
    marks.put(editing.moved(line, image, 5, 5), "Move")
    assert marks.remove([line.id]) == 0
    marks.alter([line.id], "Colour", lambda item: replace(item, tint="#ff0000"))
    assert refused == [1, 1, 1]
    assert marks.all()[0].finding.geometry == line.geometry
    assert not marks.all()[0].tint
    marks.alter([line.id], "Unlock", lambda item: replace(item, locked=False))
    assert marks.remove([line.id]) == 1


def test_steps_of_a_held_key_are_undone_at_once() -> None:
    stack = CommandStack()
    marks = Annotations(stack)
    image = frame()
    line = drawing.draw(drawing.RULER, image, [(10, 10), (20, 10)])
    marks.put(line, "Measure")
    for step in range(1, 4):
        marks.put(editing.moved(line, image, step, 0), "Move", "key 1")
    stack.undo()
    assert marks.all()[0].finding.geometry == line.geometry
    stack.redo()
    assert marks.all()[0].finding.geometry == Polyline(((13, 10), (23, 10)))
    assert math.isclose(marks.all()[0].finding.value or 0, line.value or 0)


@pytest.mark.parametrize("shape", [Ellipse(5, 5, 20, 15), Point(5, 5), Mask(np.eye(80, 100) > 0)])
def test_a_copy_of_a_tools_finding_says_so_however_often_it_is_measured(shape: Geometry) -> None:
    image, other = frame(spacing=MM), frame("2.2", spacing=MM)
    found = finding(image.ref, shape)
    (copy,), _ = editing.pasted(editing.copied([Annotation(found, 0)], image, None), other, None)
    again = drawing.remeasured(copy.finding, other)
    again = drawing.with_statistics(editing.moved(again, other, 3, 3), other)
    assert again.description.count("copied from a finding of finder") == 1
    assert drawing.remeasured(again, other) == again


def test_what_was_deleted_before_a_purge_is_not_brought_back() -> None:
    marks = Annotations(CommandStack())
    line = drawing.draw(drawing.RULER, frame(), [(10, 10), (20, 10)])
    marks.put(line, "Measure")
    marks.remove([line.id])
    marks.forget([])  # of the purged study nothing is left
    marks.commands.undo()
    assert not marks.all()
