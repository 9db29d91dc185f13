"""What a layer draws comes through a message between processes as it was."""

from __future__ import annotations

import json

import numpy as np

from app.imaging.findings import Heatmap, Mask, Point, Polygon, Polyline
from app.imaging.layers import Label, LayerFrame, Shape, pack_frame, unpack_frame

TRIANGLE = ((0.25, -1.5), (2.0, 0.1), (1e-7, 3.0))


def test_shapes_of_every_kind_in_their_order():
    mask = np.eye(3, dtype=np.bool_)
    frame = LayerFrame(
        (
            Shape(1, Polygon(TRIANGLE), filled=True),
            Shape(2, Mask(mask)),
            Shape(3, Polyline(TRIANGLE[:2]), by_reference=False),
            Shape(1, Point(1.5, 2.5)),
            Shape(4, Label("two\nlines", (1.0, 2.0))),
            Shape(5, Heatmap(np.full((3, 3), 0.5, np.float32))),
            Shape(6, Polygon(())),
            Shape(1, Polygon(TRIANGLE[::-1]), filled=True, by_reference=False),
        ),
        ("a warning",),
    )
    back = unpack_frame(pack_frame(frame))
    assert back.warnings == frame.warnings
    for before, after in zip(frame.shapes, back.shapes, strict=True):
        assert type(after.geometry) is type(before.geometry)
        assert (after.item, after.filled) == (before.item, before.filled)
        assert after.by_reference is before.by_reference
        if isinstance(before.geometry, Polygon | Polyline | Point | Label):
            assert after.geometry == before.geometry
    second, first = back.shapes[1].geometry, back.shapes[0].geometry
    assert isinstance(second, Mask)
    assert isinstance(first, Polygon)
    assert np.array_equal(second.pixels, mask)
    points = first.points
    assert {type(part) for point in points for part in point} == {float}
    assert {type(point) for point in points} == {tuple}


def test_nothing_drawn():
    assert unpack_frame(pack_frame(LayerFrame())) == LayerFrame()


def test_outlines_are_no_json():
    frame = LayerFrame(tuple(Shape(1, Polygon(TRIANGLE * 10)) for _ in range(1000)))
    message = pack_frame(frame)
    assert message.pop("points").shape == (30_000, 2)
    assert message.pop("outlines").shape == (1000, 5)
    assert len(json.dumps(message)) < 100
