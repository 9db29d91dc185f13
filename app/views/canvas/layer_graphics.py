"""Draws the workspace's layers between the image and the findings.

The shapes of a layer's item (e.g. one segment) are built once, off the GUI thread, for the canvas
and for exports. The time to stroke one path grows with the square of its number of corners: 20,000
cells on a slide as one path take minutes. Each outline is therefore stroked separately, and
invisible ones are skipped. If there are many outlines, they are drawn as thin lines, which Qt does
not stroke (40,000 edges in one path take 5 ms); if even more, small ones become dots.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QLineF, QObject, QPointF, QRectF, Qt
from PySide6.QtGui import (
    QColor,
    QFont,
    QFontMetricsF,
    QImage,
    QPainter,
    QPainterPath,
    QPen,
    QPolygonF,
    QTransform,
)
from PySide6.QtWidgets import QGraphicsItem, QStyleOptionGraphicsItem, QWidget

from app.errors import SightlineError
from app.imaging.findings import Heatmap, Mask, Point
from app.imaging.layers import RGB, Label, Shape
from app.views.background import Background
from app.views.canvas import finding_shapes, object_outlines
from app.views.canvas.finding_items import CROSS, LINE, on_screen
from app.views.canvas.image_view import ImageView
from app.views.theme import DARK, TYPE, ui_font
from app.views.theme import color as with_alpha
from app.workspace.layers import Layers

MANY_POINTS = 500  # from here points are dots: that many crosses would hide the image
DOT = 1.6  # radius, px on screen
_Z = 5.0
_LEVELS = 256  # of a heat map; the picture of a mask has two


@dataclass(frozen=True, slots=True)
class Drawing:
    """The shapes of one layer item on one frame, in image coordinates.

    Attributes:
        filled: Masks and filled polygons.
        lines: All outlines, including those of the filled shapes.
        images: Heatmaps, and masks too ragged for an outline, each with its rectangle. They are
            indexed images: 0 is transparent and the highest index is the item's full colour.
        points: Single locations.
        texts: Texts and their anchors.
        bounds: The bounding rectangle, ignoring the size of texts.
    """

    filled: QPainterPath
    lines: Outlines
    images: tuple[tuple[QImage, QRectF], ...]
    points: tuple[QPointF, ...]
    texts: tuple[tuple[str, QPointF], ...]
    bounds: QRectF


def build(parts: Sequence[Shape]) -> Drawing:
    """Combine the shapes (`parts`) of a layer item; call this on a thread, since masks are slow."""
    filled, lines = QPainterPath(), QPainterPath()
    filled.setFillRule(Qt.FillRule.OddEvenFill)
    images: list[tuple[QImage, QRectF]] = []
    points: list[QPointF] = []
    texts: list[tuple[str, QPointF]] = []
    for part in parts:
        geometry = part.geometry
        if isinstance(geometry, Label):
            place = geometry.box[:2] if geometry.box else geometry.at
            texts.append((geometry.text, QPointF(*place)))
        elif isinstance(geometry, Point):
            points.append(QPointF(geometry.x, geometry.y))
        elif isinstance(geometry, Heatmap):
            images.append(_heat(geometry))
        else:
            shape = finding_shapes.build(geometry)
            if shape.image is not None and shape.image_rect is not None:
                images.append((shape.image, shape.image_rect))
            (filled if part.filled or isinstance(geometry, Mask) else lines).addPath(shape.path)
    outlines = outlines_of(filled, lines)
    places = [polygon.boundingRect() for polygon in outlines.polygons]
    places += [place for _, place in images]
    anchors = [*points, *(anchor for _, anchor in texts)]
    places += [QRectF(one.x() - 0.5, one.y() - 0.5, 1.0, 1.0) for one in anchors]
    bounds = QRectF()
    for place in places:
        bounds = bounds.united(place)
    return Drawing(filled, outlines, tuple(images), tuple(points), tuple(texts), bounds)


def _heat(geometry: Heatmap) -> tuple[QImage, QRectF]:
    """Return the part of a heatmap that is above 0."""
    values = np.clip(np.nan_to_num(geometry.values), 0.0, 1.0)
    levels = np.rint(values * 255).astype(np.uint8)
    down, across = np.flatnonzero(levels.any(axis=1)), np.flatnonzero(levels.any(axis=0))
    if down.size == 0:
        return QImage(), QRectF()
    top, left = int(down[0]), int(across[0])
    image = object_outlines.indexed_image(levels[top : down[-1] + 1, left : across[-1] + 1])
    image.setColorCount(_LEVELS)
    return image, QRectF(left - 0.5, top - 0.5, image.width(), image.height())


def _tints(color: QColor, opacity: float, levels: int) -> list[int]:
    """Return the colour table of an indexed image, from transparent to the item's colour.

    The item's colour tells apart heatmaps that meet. A probability of 1 is twice as dense as a
    mask's fill, since a heatmap has no outline.
    """
    most = min(1.0, opacity * 2) if levels > 2 else opacity
    rgb = color.rgb() & 0xFFFFFF
    return [round(255 * most * n / (levels - 1)) << 24 | rgb for n in range(levels)]


def draw(
    painter: QPainter,
    drawing: Drawing,
    rgb: RGB,
    opacity: float,
    size: float = 1.0,
    exposed: QRectF | None = None,
) -> None:
    """Paint a drawing in the colour `rgb` with a painter in image coordinates.

    `opacity` applies to fills; `size` is a factor for line widths and text: 1 on screen, more in an
    export of a large image. `exposed` is the visible part of the image; None for all of it.
    """
    color = QColor(*rgb)
    fill = with_alpha(color.name(), opacity)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    for image, place in drawing.images:
        image.setColorTable(_tints(color, opacity, max(image.colorCount(), 2)))
        painter.drawImage(place, image)
    with on_screen(painter) as transform:
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(fill)
        # Antialiasing a fill with very many corners is slow, and its outline is smooth anyway.
        smooth = drawing.filled.elementCount() <= SMOOTH_EDGES
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, smooth)
        painter.drawPath(transform.map(drawing.filled))
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        draw_outlines(painter, drawing.lines, transform, color, LINE * size, exposed)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.setPen(QPen(color, LINE * size))
        _draw_points(painter, [transform.map(p) for p in drawing.points], color, size)
        for text, anchor in drawing.texts:
            _draw_text(painter, text, transform.map(anchor), color, size)


def _draw_points(painter: QPainter, points: Sequence[QPointF], color: QColor, size: float) -> None:
    if len(points) > MANY_POINTS:
        pen = QPen(color, 2 * DOT * size)
        pen.setCapStyle(Qt.PenCapStyle.RoundCap)
        painter.setPen(pen)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, len(points) <= 10 * MANY_POINTS)
        painter.drawPoints(QPolygonF(points))
        return
    reach = CROSS * size
    for point in points:
        painter.drawLine(QLineF(point.x() - reach, point.y(), point.x() + reach, point.y()))
        painter.drawLine(QLineF(point.x(), point.y() - reach, point.x(), point.y() + reach))


def _draw_text(painter: QPainter, text: str, at: QPointF, color: QColor, size: float) -> None:
    """Draw upright text on a dark background, its top left corner at the anchor."""
    font = ui_font(TYPE.caption, QFont.Weight.Medium)
    font.setPixelSize(max(6, round(font.pixelSize() * size)))
    metrics = QFontMetricsF(font)
    lines = text.splitlines() or [""]
    width = max(metrics.horizontalAdvance(line) for line in lines)
    box = QRectF(at.x(), at.y(), width + 8 * size, metrics.lineSpacing() * len(lines) + 4 * size)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(with_alpha(DARK.overlay_shade, 0.55))
    painter.drawRoundedRect(box, 3 * size, 3 * size)
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.setFont(font)
    painter.setPen(color)
    for number, line in enumerate(lines):
        down = metrics.ascent() + 2 * size + number * metrics.lineSpacing()
        painter.drawText(QPointF(box.left() + 4 * size, box.top() + down), line)


class LayerGraphic(QGraphicsItem):
    """The graphics item on the canvas for one item of a layer, e.g. one segment."""

    def __init__(self, drawing: Drawing, rgb: RGB, opacity: float) -> None:
        super().__init__()
        self._drawing = drawing
        self._rgb = rgb
        self._opacity = opacity
        bounds = drawing.bounds
        # Pens, crosses and texts extend some screen px beyond, which is many image px zoomed out.
        margin = max(80.0, bounds.width() * 0.1, bounds.height() * 0.1)
        self._bounds = bounds.adjusted(-margin, -margin, margin * 3, margin)
        self.setZValue(_Z)
        self.setFlag(QGraphicsItem.GraphicsItemFlag.ItemUsesExtendedStyleOption)
        self.setAcceptedMouseButtons(Qt.MouseButton.NoButton)

    def boundingRect(self) -> QRectF:
        return self._bounds

    def paint(
        self,
        painter: QPainter,
        option: QStyleOptionGraphicsItem,
        widget: QWidget | None = None,
    ) -> None:
        exposed = option.exposedRect  # pyright: ignore[reportAttributeAccessIssue]
        draw(painter, self._drawing, self._rgb, self._opacity, exposed=exposed)


class LayerDrawing(QObject):
    """Draws the workspace's layers on the canvas and follows their changes.

    Attributes:
        graphics: The items that are currently drawn.
    """

    def __init__(self, view: ImageView, layers: Layers, background: Background) -> None:
        super().__init__(view)
        self._view = view
        self._layers = layers
        self._background = background
        self.graphics: list[LayerGraphic] = []
        self._place: tuple[str, int] | None = None
        self._shown: list[_Part] = []
        self._known: dict[tuple[int, ...], tuple[tuple[Shape, ...], Drawing]] = {}
        self._building = False
        layers.changed.connect(self.sync)

    @property
    def ready(self) -> bool:
        return not self._building

    def sync(self) -> None:
        if self._layers.place != self._place:
            # At once: shapes of another frame must not stay while new ones are built.
            self._place = self._layers.place
            self._clear()
            self._known.clear()
        wanted = _parts(self._layers)
        if wanted == self._shown or self._building:
            return
        missing = {part.mark: part.shapes for part in wanted if part.mark not in self._known}
        if missing:
            self._building = True
            self._background.submit(
                partial(_build_all, missing), partial(self._take, self._place), self._give_up
            )
            return
        self._clear()
        self._shown = wanted
        for part in wanted:
            graphic = LayerGraphic(self._known[part.mark][1], part.color, part.opacity)
            self.graphics.append(graphic)
            self._view.add_item(graphic)

    def _take(
        self,
        place: tuple[str, int] | None,
        built: dict[tuple[int, ...], tuple[tuple[Shape, ...], Drawing]],
    ) -> None:
        self._building = False
        if place == self._place:
            self._known |= built
        self.sync()

    def _give_up(self, _error: SightlineError) -> None:
        self._building = False
        self._clear()

    def _clear(self) -> None:
        for graphic in self.graphics:
            self._view.remove_item(graphic)
        self.graphics.clear()
        self._shown = []


@dataclass(frozen=True, slots=True)
class _Part:
    """One item of one layer to be drawn; `mark` identifies its shapes."""

    key: str
    number: int
    mark: tuple[int, ...]
    color: RGB
    opacity: float
    shapes: tuple[Shape, ...] = field(compare=False)


def _parts(layers: Layers) -> list[_Part]:
    parts: list[_Part] = []
    for entry in layers.entries:
        drawn: dict[int, list[Shape]] = {}
        for shape in entry.shapes():
            drawn.setdefault(shape.item, []).append(shape)
        for item in entry.items:
            mine = tuple(drawn.get(item.number, ()))
            if mine:
                # An item always has the same shapes on a frame, so the first and last identify all.
                mark = (id(mine[0]), id(mine[-1]), len(mine))
                opacity = layers.opacity
                parts.append(_Part(entry.key, item.number, mark, item.color, opacity, mine))
    return parts


def _build_all(
    missing: Mapping[tuple[int, ...], tuple[Shape, ...]],
) -> dict[tuple[int, ...], tuple[tuple[Shape, ...], Drawing]]:
    """Return drawings by mark, with their shapes to keep the ids in the marks unique."""
    return {mark: (parts, build(parts)) for mark, parts in missing.items()}


SMOOTH_EDGES = 4_000
"""Number of visible edges up to which outlines are stroked, which takes about 4 ms.

Above it, outlines are drawn as thin lines. The limit applies to each group in a file, and several
groups may be on the screen at once.
"""

THIN_EDGES = 40_000
"""Number of visible edges above which small outlines are drawn as dots."""

DOT_PX = 24.0  # size on the screen below which an outline may be a dot
_DOT = 3.0


@dataclass(frozen=True, slots=True, eq=False)
class Outlines:
    """Outlines and their bounding boxes, in image coordinates.

    Attributes:
        polygons: Polygons with all corners; a closed one ends with its first corner.
        boxes: [n, 4] left, top, right, bottom of each polygon.
        edges: [n] number of corners, and so about the number of edges, of each polygon.
        middles: Centre of each polygon's box.
    """

    polygons: tuple[QPolygonF, ...]
    boxes: NDArray[np.float64]
    edges: NDArray[np.int64]
    middles: QPolygonF


def outlines_of(*paths: QPainterPath) -> Outlines:
    """Split paths into single outlines."""
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


def draw_outlines(
    painter: QPainter,
    outlines: Outlines,
    transform: QTransform,
    color: QColor,
    width: float,
    exposed: QRectF | None,
) -> None:
    """Paint outlines in screen px by `transform`; only in `exposed` (None: everywhere)."""
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
