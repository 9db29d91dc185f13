"""Pack a layer's shapes on a frame into a message between processes, outlines as arrays.

A slide may carry 20,000 outlines with half a million points. As JSON they would be parsed in one
call during which no other thread runs: the window stood still for 0.8 s.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from app.imaging.findings import Polygon, Polyline
from app.imaging.layers import LayerFrame, Shape
from app.imaging.processes.records import pack, unpack

_KINDS: tuple[type[Polygon] | type[Polyline], ...] = (Polygon, Polyline)
_FILLED, _BY_REFERENCE = 1, 2


class _Outlines(NamedTuple):
    """All outlines of a frame.

    Attributes:
        points: [all points, 2] x, y.
        shapes: [outlines, 5] position among the frame's shapes, item, kind, number of points, and
            the flags `_FILLED` and `_BY_REFERENCE`.
    """

    points: NDArray[np.float64]
    shapes: NDArray[np.int64]


def pack_frame(frame: LayerFrame) -> dict[str, Any]:
    """Convert a `LayerFrame` to a message of JSON values and arrays."""
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
    shapes.update(_shapes(_Outlines(message["points"], message["outlines"])))
    return LayerFrame(
        tuple(shapes[place] for place in range(len(shapes))), tuple(message["warnings"])
    )


def _shapes(outlines: _Outlines) -> Iterator[tuple[int, Shape]]:
    at = 0
    for place, item, kind, count, marks in outlines.shapes.tolist():
        # A few points at a time: one call for all of them would hold up other threads again.
        points = tuple(map(tuple, outlines.points[at : at + count].tolist()))
        at += count
        geometry = _KINDS[kind](points)
        yield place, Shape(item, geometry, bool(marks & _FILLED), bool(marks & _BY_REFERENCE))
