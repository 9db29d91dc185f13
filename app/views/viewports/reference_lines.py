"""The line in which the plane of another viewport cuts an image, and the point shown in all."""

from __future__ import annotations

from PySide6.QtCore import QLineF, QPointF, QRectF, Qt
from PySide6.QtGui import QPainter, QPen
from PySide6.QtWidgets import QGraphicsItem, QStyleOptionGraphicsItem, QWidget

from app.imaging.space.planes import FramePlane
from app.views.canvas.image_view import ImageView
from app.views.theme import DARK, color

_SAME_PLANE = 0.087
"""Sine of the angle (5 degrees) below which two planes have no line in common worth drawing."""

_CROSS = 9.0  # px on the screen from the middle of the cursor to its ends
_Z = 20.0


def common_line(
    plane: FramePlane, size: tuple[int, int], onto: FramePlane, onto_size: tuple[int, int]
) -> QLineF | None:
    """Return where an image cuts another one, in pixels of that other one.

    Args:
        plane: Plane of the image.
        size: Its (columns, rows), by which the line ends.
        onto: Plane of the image on which the line is drawn.
        onto_size: Its (columns, rows), outside of which there is no line.

    Returns:
        None if the planes are nearly parallel or the images do not meet.
    """
    cosine = sum(a * b for a, b in zip(plane.normal, onto.normal, strict=True))
    if 1 - cosine * cosine < _SAME_PLANE**2:
        return None
    # The corners of the image on either side of the other plane: the line joins the points in
    # which its edges pass through that plane.
    columns, rows = size
    edges = ((-0.5, -0.5), (columns - 0.5, -0.5), (columns - 0.5, rows - 0.5), (-0.5, rows - 0.5))
    corners = [onto.pixel(plane.point(x, y)) for x, y in edges]
    ends: list[QPointF] = []
    for (x0, y0, d0), (x1, y1, d1) in zip(corners, (*corners[1:], corners[0]), strict=True):
        if (d0 < 0) != (d1 < 0):
            share = d0 / (d0 - d1)
            ends.append(QPointF(x0 + share * (x1 - x0), y0 + share * (y1 - y0)))
    if len(ends) < 2:
        return None
    return _clipped(QLineF(ends[0], ends[1]), onto_size)


def _clipped(line: QLineF, size: tuple[int, int]) -> QLineF | None:
    """Return the part of a line inside an image of (columns, rows) (Liang and Barsky 1984)."""
    low, high = 0.0, 1.0
    for start, step, last in (
        (line.x1(), line.dx(), size[0] - 0.5),
        (line.y1(), line.dy(), size[1] - 0.5),
    ):
        if abs(step) < 1e-12:
            if not -0.5 <= start <= last:
                return None
            continue
        first, second = sorted(((-0.5 - start) / step, (last - start) / step))
        low, high = max(low, first), min(high, second)
    if low >= high:
        return None
    return QLineF(line.pointAt(low), line.pointAt(high))


class PlaneMarks(QGraphicsItem):
    """Draws a reference line and the 3-D cursor over an image."""

    def __init__(self, view: ImageView) -> None:
        super().__init__()
        self._view = view
        self.line: QLineF | None = None
        self.point: QPointF | None = None
        self.setZValue(_Z)
        self.hide()
        view.add_item(self)

    def show(self, line: QLineF | None, point: QPointF | None) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Draw a line and a point given in image pixels; None for none."""
        if (line, point) == (self.line, self.point):
            return
        self.prepareGeometryChange()
        self.line, self.point = line, point
        self.setVisible(line is not None or point is not None)
        self.update()

    def boundingRect(self) -> QRectF:
        across, down = self._view.pixel_scale
        margin = 2 * _CROSS / max(min(across, down), 1e-6)
        found = QRectF()
        if self.line is not None:
            found = QRectF(self.line.p1(), self.line.p2()).normalized()
        if self.point is not None:
            place = QRectF(self.point.x(), self.point.y(), 1e-3, 1e-3)
            found = place if found.isNull() else found.united(place)
        return found.adjusted(-margin, -margin, margin, margin)

    def paint(
        self,
        painter: QPainter,
        option: QStyleOptionGraphicsItem,
        widget: QWidget | None = None,
    ) -> None:
        pen = QPen(color(DARK.warning, 0.8), 1.0)
        pen.setCosmetic(True)
        if self.line is not None:
            pen.setStyle(Qt.PenStyle.DashLine)
            painter.setPen(pen)
            painter.drawLine(self.line)
        if self.point is not None:
            pen.setStyle(Qt.PenStyle.SolidLine)
            pen.setWidthF(1.5)
            painter.setPen(pen)
            across, down = self._view.pixel_scale
            x, y = self.point.x(), self.point.y()
            wide, high = _CROSS / max(across, 1e-6), _CROSS / max(down, 1e-6)
            for lines in (
                QLineF(x - wide, y, x - wide / 3, y),
                QLineF(x + wide / 3, y, x + wide, y),
                QLineF(x, y - high, x, y - high / 3),
                QLineF(x, y + high / 3, x, y + high),
            ):
                painter.drawLine(lines)
