"""What the user marks for a tool: on the edges of pixels, inside the image, in its own pixels."""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from app.imaging.findings import Box, Point
from app.imaging.types import Frame, ImageRef, Instance, ScanResult, Series, Study, Voi, Window
from app.tools.images import RunImages
from app.workspace import drawing
from app.workspace.workspace import Workspace

FRAME = Frame(
    stored=np.zeros((80, 100), np.uint8),
    ref=ImageRef("1.2", 0, "sha"),
    voi=Voi((Window(128, 256),)),
)


def box(*points: tuple[float, float]) -> Box:
    shape = drawing.draw(drawing.BOX, FRAME, points).geometry
    assert isinstance(shape, Box)
    return shape


def test_a_box_s_sides_lie_on_the_edges_of_pixels_whichever_corner_came_first():
    for start, end in (((10.2, 20.1), (30.9, 40.8)), ((30.9, 40.8), (10.2, 20.1))):
        assert box(start, end) == Box(10.5, 20.5, 30.5, 40.5)


@pytest.mark.parametrize("at", [(10.2, 20.1), (-9.0, -9.0), (500.0, 500.0), (99.4, 0.0)])
def test_a_box_without_extent_holds_one_pixel_of_the_image(at: tuple[float, float]):
    shape = box(at, at)
    assert (shape.x1 - shape.x0, shape.y1 - shape.y0) == (1, 1)
    assert shape.x0 >= -0.5
    assert shape.x1 <= 99.5
    assert shape.y0 >= -0.5
    assert shape.y1 <= 79.5


def test_what_is_drawn_beyond_the_image_ends_at_its_border():
    assert box((-50, -50), (900, 900)) == Box(-0.5, -0.5, 99.5, 79.5)
    assert drawing.draw(drawing.POINT, FRAME, [(900, -3)]).geometry == Point(99.5, -0.5)


def test_a_corner_that_is_moved_leaves_the_opposite_one_where_it_is():
    made = drawing.draw(drawing.BOX, FRAME, ((10, 20), (30, 40)))
    for place, corner in enumerate(drawing.points_of(made)):
        opposite = drawing.points_of(made)[(place + 2) % 4]
        after = drawing.move_point(made, FRAME, place, (corner[0] + 3, corner[1] - 5))
        assert opposite in drawing.points_of(after)
        assert (corner[0] + 3, corner[1] - 5) in drawing.points_of(after)
        assert after.id == made.id


def test_what_a_tool_made_is_no_mark_though_it_has_the_same_name():
    made = drawing.draw(drawing.POINT, FRAME, [(3, 4)])
    by_tool = replace(made, provenance=replace(made.provenance, run_id="run"))
    assert drawing.is_mark(made)
    assert drawing.by_hand(made)
    assert not drawing.by_hand(by_tool)
    moved = drawing.move_point(by_tool, FRAME, 0, (5, 6))
    assert moved.corrected  # and stays the tool's
    assert not drawing.by_hand(moved)


class _Decoder:
    def frame(self, instance: Instance, index: int) -> Future[Frame]:
        done: Future[Frame] = Future()
        done.set_result(replace(FRAME, ref=ImageRef(instance.sop_instance_uid, index, "sha")))
        return done


def _opened() -> Workspace:
    workspace = Workspace()
    images = tuple(
        Instance(Path(f"/{uid}.dcm"), uid, "dicom", 80, 100, frames=2) for uid in ("1.2", "1.3")
    )
    series = Series("s.1", "", "CT", 1, images)
    workspace.add(ScanResult((Study("s", "", "", "", "", (series,)),), ()))
    return workspace


def test_a_run_is_given_what_is_marked_on_each_frame_the_latest_last(tmp_path: Path):
    workspace = _opened()
    other = replace(FRAME, ref=ImageRef("1.2", 1, "sha"))
    first = drawing.draw(drawing.BOX, FRAME, ((1, 1), (5, 5)))
    second = drawing.draw(drawing.POINT, FRAME, [(3, 3)])
    elsewhere = drawing.draw(drawing.POINT, other, [(9, 9)])
    hidden = drawing.draw(drawing.OUTSIDE, FRAME, [(7, 7)])
    for shown in (FRAME, other):
        workspace.scales.learn(shown)
    for made in (first, second, elsewhere, hidden):
        workspace.annotations.put(made, "Mark")
    workspace.annotations.set_visible([hidden.id], False)
    images = RunImages(workspace.open_images(), tmp_path, _Decoder())
    given = [[one.id for one in images.resolve("image-1", frame).drawn] for frame in (0, 1)]
    assert given == [[first.id, second.id], [elsewhere.id]]
    assert images.resolve("image-2", 0).drawn == ()


def test_a_picture_made_of_a_marked_image_is_marked_alike(tmp_path: Path):
    workspace = _opened()
    workspace.scales.learn(FRAME)
    made = drawing.draw(drawing.BOX, FRAME, ((1, 1), (5, 5)))
    workspace.annotations.put(made, "Mark")
    images = RunImages(workspace.open_images(), tmp_path, _Decoder())
    picture = tmp_path / "made.png"
    picture.write_bytes(b"")
    images.add_derived(picture, images.resolve("image-1", 0))
    assert [one.id for one in images.resolve(str(picture)).drawn] == [made.id]
