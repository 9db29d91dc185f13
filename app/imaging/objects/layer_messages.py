"""Pack a layer's shapes on a frame into a message between processes, outlines as arrays.

A slide may carry 20,000 outlines with half a million points. As JSON they would be parsed in one
call during which no other thread runs: the window stood still for 0.8 s.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from app.imaging.findings import Polygon, Polyline
from app.imaging.layers import LayerFrame, Shape
from app.imaging.processes.records import pack, unpack

_KINDS: tuple[type[Polygon] | type[Polyline], ...] = (Polygon, Polyline)
_FILLED, _BY_REFERENCE = 1, 2


def pack_frame(frame: LayerFrame) -> dict[str, Any]:
    """Convert a `LayerFrame` to a message of JSON values and arrays.

    "points" is an [n, 2] array (x, y) of all outlines' points. "outlines" has a row per outline:
    position in `frame.shapes`, item, index in `_KINDS`, number of points, and flags (`_FILLED`,
    `_BY_REFERENCE`). "others" are the remaining shapes with their positions.
    """
    rows: list[tuple[int, int, int, int, int]] = []
    points: list[tuple[float, float]] = []
    others: list[tuple[int, Any]] = []
    for place, shape in enumerate(frame.shapes):
        geometry = shape.geometry
        if isinstance(geometry, Polygon | Polyline):
            marks = _FILLED * shape.filled | _BY_REFERENCE * shape.by_reference
            kind = _KINDS.index(type(geometry))
            rows.append((place, shape.item, kind, len(geometry.points), marks))
            points.extend(geometry.points)
        else:
            others.append((place, pack(shape)))
    return {
        "points": np.array(points, np.float64).reshape(-1, 2),
        "outlines": np.array(rows, np.int64).reshape(-1, 5),
        "others": [list(one) for one in others],
        "warnings": list(frame.warnings),
    }


def unpack_frame(message: dict[str, Any]) -> LayerFrame:
    """Convert a message from `pack_frame` back to a `LayerFrame`."""
    shapes: dict[int, Shape] = {place: unpack(Shape, one) for place, one in message["others"]}
    at = 0
    for place, item, kind, count, marks in message["outlines"].tolist():
        # A few points at a time: one call for all of them would hold up other threads again.
        geometry = _KINDS[kind](tuple(map(tuple, message["points"][at : at + count].tolist())))
        at += count
        shapes[place] = Shape(item, geometry, bool(marks & _FILLED), bool(marks & _BY_REFERENCE))
    return LayerFrame(
        tuple(shapes[place] for place in range(len(shapes))), tuple(message["warnings"])
    )
