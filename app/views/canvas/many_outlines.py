"""Draws very many outlines without a stall.

Stroking one path takes time with the square of its corners: 20,000 cells of a slide as one path
took minutes. So each outline is stroked by itself, and what is not in view is left out. Where many
are in view, they are thin lines, which Qt does not stroke: 40,000 edges as one path take 5 ms.
Where there are more than can be told apart, they are dots.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPainterPath, QPen, QPolygonF, QTransform

SMOOTH_EDGES = 4_000
"""So many in view are stroked, in about 4 ms; more are thin lines. Each group of a file counts by
itself, and several are on the screen at once."""

THIN_EDGES = 40_000
"""More than these, and small on the screen, are dots."""

DOT_PX = 24.0  # size on the screen below which an outline may be a dot
_DOT = 3.0


@dataclass(frozen=True, slots=True, eq=False)
class Outlines:
    """Outlines and where they are, in image coordinates.

    Attributes:
        polygons: Each with all its corners; a closed one ends with its first.
        boxes: [n, 4] left, top, right, bottom of each.
        edges: [n] how many corners each has.
        middles: The middle of each one's box.
    """

    polygons: tuple[QPolygonF, ...]
    boxes: NDArray[np.float64]
    edges: NDArray[np.int64]
    middles: QPolygonF

    @property
    def bounds(self) -> QRectF:
        """What all of them cover."""
        if not self.polygons:
            return QRectF()
        left, top = self.boxes[:, :2].min(axis=0)
        right, bottom = self.boxes[:, 2:].max(axis=0)
        return QRectF(QPointF(left, top), QPointF(right, bottom))


def outlines_of(*paths: QPainterPath) -> Outlines:
    """The single outlines of paths."""
    polygons = [polygon for path in paths for polygon in path.toSubpathPolygons(QTransform())]
    rects = [polygon.boundingRect() for polygon in polygons]
    boxes = [(rect.left(), rect.top(), rect.right(), rect.bottom()) for rect in rects]
    edges = [polygon.count() for polygon in polygons]
    return Outlines(
        tuple(polygons),
        np.array(boxes, np.float64).reshape(-1, 4),
        np.array(edges, np.int64),
        QPolygonF([rect.center() for rect in rects]),
    )


def draw(
    painter: QPainter,
    outlines: Outlines,
    transform: QTransform,
    color: QColor,
    width: float,
    exposed: QRectF | None,
) -> None:
    """Paint them; the painter is in screen coordinates.

    Args:
        painter: On a canvas or a picture.
        outlines: In image coordinates.
        transform: Image to screen.
        color: Of the lines.
        width: Of the lines, px.
        exposed: What of the image is to be seen; None for all of it.
    """
    seen = _in_view(outlines, exposed)
    if seen.size == 0:
        return
    painter.save()
    painter.setBrush(Qt.BrushStyle.NoBrush)
    edges = int(outlines.edges[seen].sum())
    boxes = outlines.boxes[seen]
    scale = math.sqrt(abs(transform.determinant()))
    size = float(np.median((boxes[:, 2:] - boxes[:, :2]).max(axis=1))) * scale
    if edges > THIN_EDGES and size < DOT_PX:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
        painter.setPen(QPen(color, _DOT * width))
        painter.drawPoints(transform.map(outlines.middles))
        painter.restore()
        return
    stroked = edges <= SMOOTH_EDGES
    pen = QPen(color)
    pen.setWidthF(width if stroked else 0.0)
    pen.setJoinStyle(Qt.PenJoinStyle.BevelJoin)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(pen)
    if stroked:
        for number in seen.tolist():
            painter.drawPolyline(transform.map(outlines.polygons[number]))
    else:
        path = QPainterPath()
        for number in seen.tolist():
            path.addPolygon(outlines.polygons[number])
        painter.drawPath(transform.map(path))
    painter.restore()


def _in_view(outlines: Outlines, exposed: QRectF | None) -> NDArray[np.int64]:
    boxes = outlines.boxes
    if exposed is None:
        return np.arange(len(boxes))
    inside = (boxes[:, 0] <= exposed.right()) & (boxes[:, 2] >= exposed.left())
    inside &= (boxes[:, 1] <= exposed.bottom()) & (boxes[:, 3] >= exposed.top())
    return np.flatnonzero(inside)
