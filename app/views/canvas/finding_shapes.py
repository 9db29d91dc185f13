"""Builds shapes from geometries, for graphics items and exports; works on any thread."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QPointF, QRectF
from PySide6.QtGui import QColor, QImage, QPainterPath, QPolygonF

from app.imaging.findings import (
    Box,
    Ellipse,
    Finding,
    Geometry,
    Heatmap,
    Instances,
    Mask,
    Point,
    Polygon,
    Polyline,
    Segments,
)
from app.views.canvas import heatmap_legend, object_outlines
from app.views.canvas.colormaps import table
from app.views.canvas.object_outlines import ObjectOutlines, indexed_image

MAX_BORDER = 60_000
"""Number of pixel edges above which a mask is drawn as a bitmap: a long outline paints slowly."""


@dataclass(frozen=True, slots=True)
class Shape:
    """A geometry ready to be drawn, in image coordinates.

    Attributes:
        path: The outline; for a mask, it passes through the midpoints of the boundary pixels'
            edges.
        ends: End points of a measured line, where ticks are drawn.
        image: A translucent overlay to be drawn in `image_rect`, or None.
        objects: What draws numbered objects, or None.
    """

    path: QPainterPath
    anchor: QPointF
    ends: tuple[QPointF, ...] = ()
    image: QImage | None = None
    image_rect: QRectF | None = None
    objects: ObjectOutlines | None = None


NOTHING = Shape(QPainterPath(), QPointF())
"""The shape used for an empty mask."""


def _point(geometry: Point) -> Shape:
    path = QPainterPath(QPointF(geometry.x, geometry.y))
    path.addRect(geometry.x - 0.5, geometry.y - 0.5, 1, 1)
    return Shape(path, QPointF(geometry.x, geometry.y))


def _polyline(geometry: Polyline) -> Shape:
    points = [QPointF(x, y) for x, y in geometry.points]
    path = QPainterPath()
    if not points:
        return Shape(path, QPointF())
    path.addPolygon(QPolygonF(points))
    return Shape(path, points[-1], ends=(points[0], points[-1]))


def _segments(geometry: Segments) -> Shape:
    path = QPainterPath()
    points = [QPointF(x, y) for x, y in geometry.points]
    for start, end in zip(points[0::2], points[1::2], strict=False):
        path.moveTo(start)
        path.lineTo(end)
    return Shape(path, points[-1] if points else QPointF())


def _ellipse(geometry: Ellipse) -> Shape:
    rect = QRectF(QPointF(geometry.x0, geometry.y0), QPointF(geometry.x1, geometry.y1))
    path = QPainterPath()
    path.addEllipse(rect)
    return Shape(path, QPointF(rect.center().x(), rect.top()))


def _polygon(geometry: Polygon) -> Shape:
    points = [QPointF(x, y) for x, y in geometry.points]
    path = QPainterPath()
    path.addPolygon(QPolygonF(points))
    path.closeSubpath()
    bounds = path.boundingRect()
    return Shape(path, QPointF(bounds.center().x(), bounds.top()))


def _box(geometry: Box) -> Shape:
    # Corners are outer pixel edges already: see findings.Box.
    rect = QRectF(QPointF(geometry.x0, geometry.y0), QPointF(geometry.x1, geometry.y1))
    path = QPainterPath()
    path.addRect(rect)
    return Shape(path, rect.topLeft())


def bitmap(geometry: Mask) -> Shape:
    """Return the shape of a mask without its outline; quick enough for each move of the mouse."""
    return _mask(geometry, outlined=False)


def _mask(geometry: Mask, *, outlined: bool = True) -> Shape:
    inside = np.flatnonzero(geometry.pixels.any(axis=1))
    if inside.size == 0:
        return NOTHING
    across = np.flatnonzero(geometry.pixels.any(axis=0))
    # Crop to the mask, since e.g. a lung fills only a sixth of a radiograph.
    left, top = int(across[0]), int(inside[0])
    part = geometry.pixels[top : inside[-1] + 1, left : across[-1] + 1]
    anchor = _inside(part) + QPointF(left, top)
    path = QPainterPath()
    if not outlined or border_length(part) > MAX_BORDER:
        rect = QRectF(left - 0.5, top - 0.5, part.shape[1], part.shape[0])
        return Shape(path, anchor, image=indexed_image(part.astype(np.uint8)), image_rect=rect)
    path = object_outlines.path_of(object_outlines.trace(part)).translated(left, top)
    return Shape(path, anchor)


def _instances(geometry: Instances) -> Shape:
    outlines = object_outlines.build(geometry.labels)
    rows, columns = geometry.labels.shape
    boxes = outlines.objects.boxes
    if not len(boxes):
        return NOTHING
    top = boxes[np.argmin(boxes[:, 1])]  # the label goes to the highest object
    return Shape(
        QPainterPath(),
        QPointF(float(top[0] + top[2]) / 2, float(top[1])),
        image_rect=QRectF(-0.5, -0.5, columns, rows),
        objects=outlines,
    )


def _inside(part: NDArray[np.bool_]) -> QPointF:
    """Return a point inside a mask: the middle of the longest run in its middle row."""
    rows = np.flatnonzero(part.any(axis=1))
    row = int(rows[rows.size // 2])
    columns = np.flatnonzero(part[row])
    runs = np.split(columns, np.flatnonzero(np.diff(columns) > 1) + 1)
    longest = max(runs, key=len)
    return QPointF(float(longest[0] + longest[-1]) / 2, float(row))


def _heatmap(geometry: Heatmap) -> Shape:
    values = np.clip(np.nan_to_num(geometry.values), 0.0, 1.0)
    # Low values stay transparent, so that the image can be read.
    opacity = np.linspace(0.0, heatmap_legend.ALPHA, 256)
    colors = [
        QColor(red, green, blue, round(alpha * 255)).rgba()
        for (red, green, blue), alpha in zip(
            table(heatmap_legend.MAP).tolist(), opacity.tolist(), strict=True
        )
    ]
    rows, columns = values.shape
    image = indexed_image((values * 255).astype(np.uint8))
    image.setColorTable(colors)
    image = image.convertToFormat(QImage.Format.Format_ARGB32_Premultiplied)
    peak = np.unravel_index(int(np.argmax(values)), values.shape)
    anchor = QPointF(float(peak[1]), float(peak[0]))
    return Shape(QPainterPath(), anchor, image=image, image_rect=QRectF(-0.5, -0.5, columns, rows))


_BUILDERS: dict[type[Geometry], Callable[..., Shape]] = {
    Point: _point,
    Polyline: _polyline,
    Segments: _segments,
    Polygon: _polygon,
    Box: _box,
    Ellipse: _ellipse,
    Mask: _mask,
    Heatmap: _heatmap,
    Instances: _instances,
}


def is_light(finding: Finding) -> bool:
    """Return whether a shape is quick to build on the GUI thread: any but an array of pixels."""
    return not isinstance(finding.geometry, Mask | Heatmap | Instances)


def build(geometry: Geometry) -> Shape:
    """Return the shape that draws a geometry; this takes tens of ms for arrays of pixels."""
    return _BUILDERS[type(geometry)](geometry)


def border_length(pixels: NDArray[np.bool_]) -> int:
    """Return the number of pixel edges between inside and outside, excluding the image's border."""
    across = int(np.count_nonzero(pixels[:, 1:] != pixels[:, :-1]))
    return across + int(np.count_nonzero(pixels[1:] != pixels[:-1]))
