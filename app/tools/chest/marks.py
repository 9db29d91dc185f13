"""Where a user says that something is: a box around it, points in it and beside it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.imaging.findings import Box, Finding, Point
from app.tools.api import ToolRetry

OUTSIDE = "mark_outside"
"""`Provenance.tool` of a point that the user drew beside what is meant."""
MOST_POINTS = 50

XY = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Marks:
    """What is marked on one image, in its pixels (pixel centres are integers).

    Attributes:
        box: Outer edges (x0, y0, x1, y1), or None.
        points: (x, y) of each point.
        labels: Of each point 1 where it lies in what is meant, 0 where it lies beside it.
    """

    box: tuple[float, float, float, float] | None = None
    points: tuple[XY, ...] = ()
    labels: tuple[int, ...] = ()

    def __bool__(self) -> bool:
        """Whether it says where something is: points beside it alone do not."""
        return self.box is not None or 1 in self.labels


def given(
    box: Sequence[float] | None,
    points: Sequence[Sequence[float]] | None,
    labels: Sequence[int] | None,
    shape: tuple[int, int],
) -> Marks:
    """Marks from a tool's arguments.

    Raises:
        ToolRetry: They are no box or points on an image of that many rows and columns.
    """
    return Marks(
        None if box is None else _box(box, shape),
        tuple(_point(point, shape) for point in points or ()),
        _labels(points or (), labels),
    )


def drawn(findings: Sequence[Finding]) -> Marks:
    """The user's last box and the points drawn after it; without a box all points.

    Points drawn before the box belong to something that was marked earlier.
    """
    box: tuple[float, float, float, float] | None = None
    points: list[XY] = []
    labels: list[int] = []
    for finding in findings:
        shape = finding.geometry
        if isinstance(shape, Box):
            box = (shape.x0, shape.y0, shape.x1, shape.y1)
            points, labels = [], []
        elif isinstance(shape, Point):
            points.append((shape.x, shape.y))
            labels.append(int(finding.provenance.tool != OUTSIDE))
    return Marks(box, tuple(points[-MOST_POINTS:]), tuple(labels[-MOST_POINTS:]))


def doubts(marks: Marks, mask: NDArray[np.bool_]) -> list[str]:
    """What speaks against a mask, seen from its marks.

    Args:
        marks: What it was made from.
        mask: [rows, columns], not empty.
    """
    said: list[str] = []
    y, x = np.nonzero(mask)
    if marks.box is not None:
        x0, y0, x1, y1 = marks.box
        sides = {
            "left": x.min() - 0.5 <= x0,
            "top": y.min() - 0.5 <= y0,
            "right": x.max() + 0.5 >= x1,
            "bottom": y.max() + 0.5 >= y1,
        }
        touched = [side for side, reached in sides.items() if reached]
        if touched:
            said.append(
                f"the outline reaches the box's edge ({', '.join(touched)}): what is meant may go "
                "on outside it"
            )
        beyond = float(((x < x0) | (x > x1) | (y < y0) | (y > y1)).mean())
        if beyond > 0.05:
            said.append(f"{beyond:.0%} of the outline lies outside the box")
    missed = [
        point
        for point, label in zip(marks.points, marks.labels, strict=True)
        if bool(mask[_index(point, mask.shape)]) != bool(label)
    ]
    if missed:
        said.append(f"the outline disagrees with {len(missed)} of {len(marks.points)} points")
    rows, columns = mask.shape
    if x.min() == 0 or y.min() == 0 or x.max() == columns - 1 or y.max() == rows - 1:
        said.append("the outline reaches the image's border: what is meant may be cut off")
    return said


def _index(point: XY, shape: tuple[int, ...]) -> tuple[int, int]:
    row = min(max(round(point[1]), 0), shape[0] - 1)
    return row, min(max(round(point[0]), 0), shape[1] - 1)


def _box(box: Sequence[float], shape: tuple[int, int]) -> tuple[float, float, float, float]:
    rows, columns = shape
    if len(box) != 4 or not all(math.isfinite(value) for value in box):
        raise ToolRetry("a box is four numbers: x0, y0, x1, y1")
    x0, y0, x1, y1 = box
    inside = (max(x0, -0.5), max(y0, -0.5), min(x1, columns - 0.5), min(y1, rows - 0.5))
    if inside[2] - inside[0] < 1 or inside[3] - inside[1] < 1:
        raise ToolRetry(
            "the box lies beside the image or holds no whole pixel",
            remedy=f"x0 < x1 within 0 to {columns - 1}, y0 < y1 within 0 to {rows - 1}, in pixels "
            "of the image.",
        )
    return inside


def _point(point: Sequence[float], shape: tuple[int, int]) -> XY:
    rows, columns = shape
    if len(point) != 2 or not all(math.isfinite(value) for value in point):
        raise ToolRetry("a point is two numbers: x, y")
    x, y = point
    if not (-0.5 <= x <= columns - 0.5 and -0.5 <= y <= rows - 0.5):
        raise ToolRetry(
            "a point lies beside the image",
            remedy=f"x within 0 to {columns - 1}, y within 0 to {rows - 1}.",
        )
    return x, y


def _labels(points: Sequence[object], labels: Sequence[int] | None) -> tuple[int, ...]:
    if labels is None:
        return (1,) * len(points)
    if len(labels) != len(points) or any(label not in (0, 1) for label in labels):
        raise ToolRetry("labels has a 1 (in it) or 0 (beside it) for each point")
    return tuple(labels)
