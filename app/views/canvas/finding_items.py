"""Graphics items that draw findings; `ITEMS` at the end maps each geometry to its item.

Items use image coordinates (pixel centres at integers); lines keep their width on the screen.
"""

from __future__ import annotations

import math
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from PySide6.QtCore import QLineF, QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPen, QPolygonF, QTransform
from PySide6.QtWidgets import QGraphicsItem, QStyleOptionGraphicsItem, QWidget

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
    State,
)
from app.views.canvas.finding_shapes import Shape
from app.views.theme import DARK
from app.views.theme import color as with_alpha
from app.workspace import drawing

FILL = 0.15  # opacity of a mask's fill: the lung markings must stay readable
FILL_STRONG = 0.28  # under the mouse or selected
LINE = 1.8  # px on screen
LINE_STRONG = 2.8
LINE_THIN = 1.0  # of rejected findings
FAINT = 0.5  # opacity of rejected findings and of originals
DASHES, DOTS = (5.0, 3.0), (1.0, 3.0)  # px on screen: line and gap, by turns
EDIT_MARK = 4.0  # half size of the mark of an edited finding, px on screen
TICK = 6.0  # half length of a measured line's end ticks, px on screen
HANDLE = 4.0  # radius of a point that can be moved, px on screen
HEAD = 13.0  # length of an arrow's head, px on screen
CROSS = 7.0  # half size of a point's cross, px on screen


@dataclass(frozen=True, slots=True)
class FindingStyle:
    """How to draw a finding; `color` is #RRGGBB.

    Attributes:
        strong: Whether the finding is selected or under the mouse.
        handles: Whether to draw handles at points that can be moved.
        strength: Opacity of a heatmap, 0 to 1.
        state: Proposed ones are dashed, edited ones marked, rejected ones dotted, thin and faint.
        original: Whether it is the tool's finding beside the edited one: dashed and faint.
        objects: Numbers of the objects of `Instances` that are selected or under the mouse.
    """

    color: str
    strong: bool = False
    handles: bool = False
    strength: float = 1.0
    state: State = State.ACCEPTED
    original: bool = False
    objects: tuple[int, ...] = ()

    @property
    def faint(self) -> float:
        """Factor of the opacity."""
        return FAINT if self.original or self.state is State.REJECTED else 1.0


class AnnotationItem(QGraphicsItem):
    """A graphics item that draws a finding; each kind of geometry has a subclass.

    Attributes:
        outline: The shape to draw; None until it has been built.
        drafted: Whether it is drawn as an unfinished mask, whose outline has not been built.
    """

    z = 10.0

    def __init__(self, finding: Finding, style: FindingStyle) -> None:
        super().__init__()
        self.finding = finding
        self.style = style
        self.outline: Shape | None = None
        self.drafted = False
        self.setZValue(self.z)

    @property
    def ready(self) -> bool:
        return self.outline is not None

    def set_shape(self, shape: Shape) -> None:
        self.prepareGeometryChange()
        self.outline = shape
        self.update()

    def set_style(self, style: FindingStyle) -> None:
        if style != self.style:
            self.style = style
            self.setZValue(self.z + (0.5 if style.strong else 0.0))
            self.update()

    def distance(self, at: QPointF, scale: tuple[float, float]) -> float:
        """Return the distance in screen px from `at` to the shape; inf if too far for a click.

        Here: 0 inside the shape, 4 up to about 4 px away, else inf. `at` is in image coordinates;
        `scale` is screen px per image px (`ImageView.pixel_scale`).
        """
        shape = self.outline
        if shape is None:
            return math.inf
        if shape.path.contains(at):
            return 0.0
        reach = QRectF(at.x() - 4 / scale[0], at.y() - 4 / scale[1], 8 / scale[0], 8 / scale[1])
        return 4.0 if shape.path.intersects(reach) else math.inf

    def boundingRect(self) -> QRectF:
        if self.outline is None:
            return QRectF()
        bounds = self.outline.image_rect or self.outline.path.boundingRect()
        # Pens and ticks extend a few screen px beyond it, which is many image px when zoomed out.
        margin = max(60.0, bounds.width() * 0.05, bounds.height() * 0.05)
        return bounds.adjusted(-margin, -margin, margin, margin)

    def paint(
        self,
        painter: QPainter,
        option: QStyleOptionGraphicsItem,
        widget: QWidget | None = None,
    ) -> None:
        if self.outline is None:
            return
        self.draw(painter, self.outline, self.style)
        if self.style.state is State.EDITED and not self.style.original:
            self._mark_edited(painter, self.outline)
        if self.style.handles:
            with on_screen(painter) as transform:
                painter.setPen(self.pen(self.style))
                painter.setBrush(with_alpha(DARK.overlay_shade, 0.55))
                for x, y in drawing.handles_of(self.finding):
                    center = transform.map(QPointF(x, y))
                    painter.drawEllipse(center, HANDLE, HANDLE)

    def _mark_edited(self, painter: QPainter, shape: Shape) -> None:
        """Draw a small filled diamond at the label's anchor."""
        with on_screen(painter) as transform:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            center = transform.map(shape.anchor)
            painter.setPen(QPen(QColor(DARK.overlay_shade), 1.0))
            painter.setBrush(QColor(self.style.color))
            corners = ((0, -EDIT_MARK), (EDIT_MARK, 0), (0, EDIT_MARK), (-EDIT_MARK, 0))
            painter.drawPolygon([center + QPointF(x, y) for x, y in corners])

    @staticmethod
    def pen(style: FindingStyle) -> QPen:
        """Return the pen for a style; its width is in screen px, for use within `on_screen`."""
        rejected = style.state is State.REJECTED
        pen = QPen(with_alpha(style.color, style.faint) if style.faint < 1 else QColor(style.color))
        pen.setCapStyle(Qt.PenCapStyle.RoundCap)
        width = LINE_THIN if rejected else LINE
        pen.setWidthF(LINE_STRONG if style.strong else width)
        if rejected or style.original or style.state is State.PROPOSED:
            dashes = DOTS if rejected and not style.original else DASHES
            pen.setDashPattern([length / pen.widthF() for length in dashes])
            pen.setCapStyle(Qt.PenCapStyle.FlatCap)  # round ones would double the time
        # Round joins would double the time of an outline with a thousand corners.
        pen.setJoinStyle(Qt.PenJoinStyle.BevelJoin)
        return pen

    @classmethod
    def draw(cls, painter: QPainter, shape: Shape, style: FindingStyle) -> None:
        """Draw a shape; `painter` must be in image coordinates."""
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(cls.pen(style))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        with on_screen(painter) as transform:
            painter.drawPath(transform.map(shape.path))


class MaskItem(AnnotationItem):
    """Draws a mask as a translucent fill with a crisp outline."""

    @classmethod
    def draw(cls, painter: QPainter, shape: Shape, style: FindingStyle) -> None:
        fill = with_alpha(style.color, (FILL_STRONG if style.strong else FILL) * style.faint)
        if shape.image is not None and shape.image_rect is not None:
            shape.image.setColorTable([0, fill.rgba()])
            painter.drawImage(shape.image_rect, shape.image)
            return
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(cls.pen(style))
        painter.setBrush(fill)
        with on_screen(painter) as transform:
            painter.drawPath(transform.map(shape.path))


class PolygonItem(MaskItem):
    """Draws a polygon as a closed outline, filled like a mask."""

    z = 14.0


class BoxItem(AnnotationItem):
    """Draws a box without fill, so that its contents stay visible."""

    z = 16.0


def _under(pen: QPen, style: FindingStyle) -> QPen:
    """Return a pen for a dark line under a coloured one, which is readable on bright bone then."""
    pen.setStyle(Qt.PenStyle.SolidLine)
    pen.setColor(with_alpha(DARK.overlay_shade, 0.55 * style.faint))
    pen.setWidthF(pen.widthF() + 2.0)
    return pen


class PolylineItem(AnnotationItem):
    """Draws a line; it has ticks at its ends if it is a single segment without handles."""

    z = 18.0

    def distance(self, at: QPointF, scale: tuple[float, float]) -> float:
        if self.outline is None or not self.outline.ends:
            return math.inf
        polygon = self.outline.path.toFillPolygon()
        best = math.inf
        for index in range(polygon.size() - 1):
            best = min(best, _to_segment(at, polygon.at(index), polygon.at(index + 1), scale))
        return best

    @classmethod
    def draw(cls, painter: QPainter, shape: Shape, style: FindingStyle) -> None:
        if not shape.ends:
            return
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        under = _under(cls.pen(style), style)
        with on_screen(painter) as transform:
            line = transform.map(shape.path)
            # Ticks would be askew on a line with several segments.
            ends = shape.ends if line.elementCount() == 2 and not style.handles else ()
            ticks = _ticks(transform, ends)
            for pen in (under, cls.pen(style)):
                painter.setPen(pen)
                painter.drawPath(line)
                painter.drawLines(ticks)


class ArrowItem(PolylineItem):
    """Draws an arrow whose head is at the first point."""

    @classmethod
    def draw(cls, painter: QPainter, shape: Shape, style: FindingStyle) -> None:
        super().draw(painter, replace(shape, ends=shape.ends[:1] * 2), style)
        if not shape.ends:
            return
        with on_screen(painter) as transform:
            tip, end = transform.map(shape.ends[0]), transform.map(shape.ends[-1])
            line = QLineF(tip, end)
            if line.length() == 0:
                return
            way = QPointF(line.dx(), line.dy()) / line.length() * HEAD
            across = QPointF(-way.y(), way.x()) * 0.42
            painter.setPen(cls.pen(style))
            painter.setBrush(QColor(style.color))
            painter.drawPolygon(QPolygonF([tip, tip + way + across, tip + way - across]))


class SegmentsItem(AnnotationItem):
    """Draws separate lines over a dark one, so that they stay readable on bright bone."""

    z = 18.0

    def distance(self, at: QPointF, scale: tuple[float, float]) -> float:
        if self.outline is None:
            return math.inf
        path, best = self.outline.path, math.inf
        for place in range(0, path.elementCount() - 1, 2):
            start, end = path.elementAt(place), path.elementAt(place + 1)
            ends = QPointF(start.x, start.y), QPointF(end.x, end.y)
            best = min(best, _to_segment(at, *ends, scale))
        return best

    @classmethod
    def draw(cls, painter: QPainter, shape: Shape, style: FindingStyle) -> None:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        with on_screen(painter) as transform:
            for pen in (_under(cls.pen(style), style), cls.pen(style)):
                painter.setPen(pen)
                painter.drawPath(transform.map(shape.path))


class PointItem(AnnotationItem):
    """Draws a point as a cross."""

    z = 20.0

    @classmethod
    def draw(cls, painter: QPainter, shape: Shape, style: FindingStyle) -> None:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        with on_screen(painter) as transform:
            center = transform.map(shape.anchor)
            painter.setPen(cls.pen(style))
            for dx, dy in ((CROSS, 0.0), (0.0, CROSS)):
                offset = QPointF(dx, dy)
                painter.drawLine(QLineF(center - offset, center - offset * 0.35))
                painter.drawLine(QLineF(center + offset * 0.35, center + offset))


class TextItem(PointItem):
    """Draws the place of a text as a dot; the text itself is a label."""

    @classmethod
    def draw(cls, painter: QPainter, shape: Shape, style: FindingStyle) -> None:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        with on_screen(painter) as transform:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(style.color))
            painter.drawEllipse(transform.map(shape.anchor), 2.5, 2.5)


class HeatmapItem(AnnotationItem):
    """Draws a heatmap as colours over the image, transparent where the values are low."""

    z = 5.0

    def distance(self, at: QPointF, scale: tuple[float, float]) -> float:
        return math.inf  # it covers the whole image: chosen in the list, not with the mouse

    @classmethod
    def draw(cls, painter: QPainter, shape: Shape, style: FindingStyle) -> None:
        if shape.image is not None and shape.image_rect is not None and style.strength > 0:
            painter.save()
            painter.setOpacity(painter.opacity() * style.strength * style.faint)
            painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
            painter.drawImage(shape.image_rect, shape.image)
            painter.restore()


class ObjectsItem(AnnotationItem):
    """Draws numbered objects' outlines, chosen ones bright; not dashed, which is far slower."""

    z = 8.0

    def distance(self, at: QPointF, scale: tuple[float, float]) -> float:
        """Return a part of a pixel within an object, less in a smaller one, else inf.

        Of a cell and its nucleus, the nucleus is hit.
        """
        number, shape = self.object_at(at), self.outline
        if not number or shape is None or shape.objects is None:
            return math.inf
        objects = shape.objects.objects
        place = objects.place_of(number)
        area = int(objects.areas[place]) if place is not None else 0
        return area / shape.objects.labels.size

    def object_at(self, at: QPointF) -> int:
        """Return the number of the object at a point in image coordinates; 0 for none."""
        shape = self.finding.geometry
        column, row = math.floor(at.x() + 0.5), math.floor(at.y() + 0.5)
        if not isinstance(shape, Instances) or self.outline is None:
            return 0
        rows, columns = shape.labels.shape
        within = 0 <= row < rows and 0 <= column < columns
        return int(shape.labels[row, column]) if within else 0

    @classmethod
    def draw(cls, painter: QPainter, shape: Shape, style: FindingStyle) -> None:
        if shape.objects is None:
            return
        pen = cls.pen(replace(style, state=State.ACCEPTED, original=False))
        faint = style.state is State.REJECTED or style.original
        pen.setColor(with_alpha(style.color, FAINT if faint else 1.0))
        pen.setCapStyle(Qt.PenCapStyle.FlatCap)  # round ones would take eight times as long
        shape.objects.draw(painter, pen)
        bright = QColor(style.color).lighter(150)
        for number in style.objects:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setBrush(with_alpha(bright.name(), FILL_STRONG))
            with on_screen(painter) as transform:
                path = transform.map(shape.objects.path(number))
                for color, width in (
                    (QColor(DARK.overlay_shade), LINE_STRONG + 2),
                    (bright, LINE_STRONG),
                ):
                    painter.setPen(QPen(color, width, j=Qt.PenJoinStyle.BevelJoin))
                    painter.drawPath(path)
                    painter.setBrush(Qt.BrushStyle.NoBrush)


@contextmanager
def on_screen(painter: QPainter) -> Generator[QTransform]:
    """Switch a painter to logical screen px; yield the transform from image to screen px.

    Lines drawn this way keep their width at every zoom. A cosmetic pen counts physical pixels: its
    lines would be half as wide on a high-density screen.
    """
    transform = painter.worldTransform()
    painter.save()
    painter.setWorldTransform(QTransform())
    yield transform
    painter.restore()


def _ticks(transform: QTransform, ends: tuple[QPointF, ...]) -> list[QLineF]:
    if not ends:
        return []
    first, last = transform.map(ends[0]), transform.map(ends[-1])
    line = QLineF(first, last)
    if line.length() == 0:
        return []
    across = QPointF(-line.dy(), line.dx()) / line.length() * TICK
    return [QLineF(end - across, end + across) for end in (first, last)]


def _to_segment(at: QPointF, start: QPointF, end: QPointF, scale: tuple[float, float]) -> float:
    ax, ay = (end.x() - start.x()) * scale[0], (end.y() - start.y()) * scale[1]
    bx, by = (at.x() - start.x()) * scale[0], (at.y() - start.y()) * scale[1]
    length = ax * ax + ay * ay
    along = 0.0 if length == 0 else max(0.0, min(1.0, (ax * bx + ay * by) / length))
    return math.hypot(bx - along * ax, by - along * ay)


ITEMS: dict[type[Geometry], type[AnnotationItem]] = {
    Mask: MaskItem,
    Polygon: PolygonItem,
    Ellipse: BoxItem,
    Segments: SegmentsItem,
    Box: BoxItem,
    Polyline: PolylineItem,
    Point: PointItem,
    Heatmap: HeatmapItem,
    Instances: ObjectsItem,
}


def item_kind(finding: Finding) -> type[AnnotationItem]:
    """Return the kind of item that draws a finding."""
    if drawing.is_arrow(finding):
        return ArrowItem
    if drawing.by_hand(finding) and finding.provenance.tool == drawing.TEXT:
        return TextItem
    return ITEMS[type(finding.geometry)]
