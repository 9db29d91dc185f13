"""A zoomable view of one image in its own pixel coordinates.

All items on the image are children of one item whose coordinates are the image's: x = column, y =
row, pixel centres at integers, y downwards. The transform of that item flips and rotates
everything; its parent's transform zooms and pans the flipped and rotated image. The scene's
coordinates are the widget's (logical px).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from PySide6.QtCore import QPointF, QRectF, QSizeF, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QDragEnterEvent,
    QKeyEvent,
    QMouseEvent,
    QResizeEvent,
    QTransform,
    QWheelEvent,
)
from PySide6.QtWidgets import (
    QFrame,
    QGraphicsItem,
    QGraphicsRectItem,
    QGraphicsScene,
    QGraphicsView,
)

from app.imaging.pixels.stored_levels import ScreenGrid, level_shapes
from app.views.canvas import orientation
from app.views.canvas.image_layer import (
    ImageLayer,
    Patch,
    ScreenPatch,
    ScreenPlace,
    View,
    area_of,
    level_of,
)
from app.views.theme import DARK
from app.workspace.viewport import Display

MIN_PIXELS_ACROSS = 4  # closest zoom: so many image pixels across the view
MAX_SHRINK = 8.0  # farthest zoom: the image at 1/8 of the fitted size
WHEEL_STEP = 1.2  # zoom factor of one notch
DRAG_ZOOM = 0.006  # natural log of the zoom factor for one px of a zoom drag


Area = tuple[float, float, float, float]

_ONE_TO_ONE = 1e-6
"""By how much a zoom may differ from one at which a pixel is one of the screen's."""

_MARGIN = 2
"""Number of level pixels drawn beyond the view's edges, because smooth drawing blends them in."""


class ImageView(QGraphicsView):
    """A view of an image; the wheel zooms, a double click fits the image.

    Attributes:
        turn: Flips and rotation on the screen.
        view_rect: The visible area, in pixels of the flipped and rotated image.
    """

    view_changed = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.setScene(QGraphicsScene(self))
        self.setBackgroundBrush(QColor(DARK.canvas))
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setTransformationAnchor(QGraphicsView.ViewportAnchor.NoAnchor)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setMinimumSize(120, 120)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMouseTracking(True)
        # The view paints all of its area, so filling a background would be wasted.
        self.viewport().setAutoFillBackground(False)
        self.viewport().setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self._turned = _group()  # in the coordinates of the flipped and rotated image
        self.scene().addItem(self._turned)
        self._content = _group()  # carries image and findings
        self._content.setParentItem(self._turned)
        self._aim = QRectF(0, 0, 1, 1)  # the area to be seen, in `_turned`
        self._ratio = 1.0  # of the screen lengths of one x and one y unit in `_turned`
        self.view_rect = QRectF(self._aim)
        self.layer = ImageLayer()
        self.layer.setParentItem(self._content)
        self._aspect = 1.0
        self._density: float | None = None
        self._seen: tuple[tuple[object, ...], View] | None = None  # the last view, and its reasons
        self.turn = orientation.UPRIGHT
        self._area: Area | None = None
        self._fitted = True
        self._drag_from: QPointF | None = None
        self._lock_aspect()

    @property
    def fitted(self) -> bool:
        """Whether the whole image is fitted to the view, and stays so when that is resized."""
        return self._fitted

    # Image

    @property
    def image_size(self) -> tuple[int, int]:
        """(columns, rows) of the image; (0, 0) if there is no image."""
        return self.layer.size

    def set_turn(self, display: Display) -> None:
        turn = replace(display, window=None, invert=False, colormap="")
        if turn == self.turn:
            return
        middle = self.to_image(QPointF(self.viewport().rect().center()))
        self.turn = turn
        self._place_content()
        self._lock_aspect()
        if self._fitted:
            self.fit()
        else:
            self._center(middle)
        self.view_changed.emit()

    def _place_content(self) -> None:
        self._content.setTransform(orientation.transform(self.image_size, self.turn))

    def show_patches(
        self,
        patches: Sequence[Patch],
        size: tuple[int, int],
        aspect: float,
        *,
        refit: bool,
        on_screen: ScreenPatch | None = None,
    ) -> None:
        """Show an image of `size` (columns, rows) from patches, as `ImageLayer.set_patches` does.

        `aspect` is the height of a pixel divided by its width. With `refit`, the image is fitted to
        the view even if the user has zoomed.
        """
        before = self.layer.size
        self.layer.set_patches(patches, size, on_screen)
        # At once, not when the scene tells: so that image and texts over it are painted together,
        # and all viewports that show something new in one paint of the window.
        self.viewport().update()
        if before != self.layer.size:
            self._place_content()
        other_shape = before != self.layer.size
        if aspect != self._aspect:
            self._aspect = aspect
            self._lock_aspect()
            other_shape = True
        if patches and (refit or (self._fitted and other_shape)):
            self.fit()

    def _lock_aspect(self) -> None:
        on_its_side = self.turn.quarter_turns % 2
        self._ratio = self._aspect if on_its_side else 1.0 / self._aspect
        self._place()

    def _show_area(self, area: QRectF) -> None:
        """Show an area of the flipped and rotated image as large as fits."""
        self._aim = area
        self._place()

    def _place(self) -> None:
        """Show the wanted area, and what fits the widget around it."""
        size, shown = self.size(), QRectF(self._aim)
        if size.isEmpty() or shown.isEmpty():
            return
        shape = size.width() / size.height() / self._ratio  # width / height of what is shown
        across, down = shown.width(), shown.height()
        if across / down > shape:
            down = across / shape
        else:
            across = down * shape
        shown = QRectF(QPointF(), QSizeF(across, down))
        shown.moveCenter(self._aim.center())
        transform = QTransform.fromTranslate(size.width() / 2, size.height() / 2)
        transform.scale(size.width() / across, size.height() / down)
        transform.translate(-shown.center().x(), -shown.center().y())
        self._turned.setTransform(transform)
        if shown != self.view_rect:
            self.view_rect = shown
            self.view_changed.emit()

    def add_item(self, item: QGraphicsItem) -> None:
        item.setParentItem(self._content)

    def remove_item(self, item: QGraphicsItem) -> None:
        self.scene().removeItem(item)

    # Coordinates

    def to_image(self, position: QPointF) -> QPointF:
        """Convert a position in the widget (px) to image (x, y), pixel centres at integers."""
        inverse, _ = self.viewportTransform().inverted()
        return self._content.mapFromScene(inverse.map(position))

    def to_widget(self, x: float, y: float) -> QPointF:
        """Convert image (x, y) to a position in the widget (logical px)."""
        return QPointF(self.viewportTransform().map(self._content.mapToScene(QPointF(x, y))))

    @property
    def pixel_scale(self) -> tuple[float, float]:
        """Logical screen px per image pixel, along the image's (x, y) axes."""
        across, down = self._screen_scale()
        return (down, across) if self.turn.quarter_turns % 2 else (across, down)

    def _screen_scale(self) -> tuple[float, float]:
        """Return logical screen px per image pixel, (horizontal, vertical) on the screen."""
        return self.width() / self.view_rect.width(), self.height() / self.view_rect.height()

    @property
    def zoom(self) -> float:
        """Physical screen pixels per image pixel, along the pixel's narrower side; 1.0 is 1:1."""
        return min(self.pixel_scale) * self.devicePixelRatioF()

    def set_density(self, density: float | None) -> None:
        """Set the number of physical pixels per logical pixel; None for the screen's own number."""
        self._density = density
        self.view_changed.emit()

    def view_of(self) -> View | None:
        """Return the visible part of the image and the `Patch.level` to draw; None if no image."""
        columns, rows = self.image_size
        if not columns or not rows:
            return None
        transform = self.layer.deviceTransform(self.viewportTransform())
        # The next slice is asked for, and shown, where the last one was.
        seen = (
            *(transform, self.viewport().rect(), columns, rows),
            *(self.layer.smooth, self.devicePixelRatioF(), self._density),
        )
        if self._seen is None or self._seen[0] != seen:
            self._seen = seen, self._view(transform)
        return self._seen[1]

    def _view(self, transform: QTransform) -> View:
        columns, rows = self.image_size
        inverse, _ = transform.inverted()
        scales = (
            math.hypot(inverse.m11(), inverse.m12()),
            math.hypot(inverse.m21(), inverse.m22()),
        )
        zoom = (self._density or self.devicePixelRatioF()) / max(min(scales), 1e-9)
        level = level_of(zoom, len(level_shapes(rows, columns)))
        part = inverse.mapRect(QRectF(self.viewport().rect()))
        left, top, right, bottom = area_of(part, _MARGIN * 2**level)
        area = (max(left, 0), max(top, 0), min(right, columns), min(bottom, rows))
        return View(level, area, self._screen_place(transform, level))

    def _screen_place(self, transform: QTransform, level: int) -> ScreenPlace | None:
        """Return where the image lies on the screen, if it is drawn smooth along its axes."""
        density = round(self.devicePixelRatioF())
        if density != self.devicePixelRatioF() or self._density not in (None, density):
            return None
        turned = abs(transform.m12()) > abs(transform.m11())
        steps = (transform.m12(), transform.m21()) if turned else (transform.m11(), transform.m22())
        off = (transform.m11(), transform.m22()) if turned else (transform.m12(), transform.m21())
        zooms = [abs(step) * density for step in steps]
        if not all(zooms) or any(map(abs, off)):
            return None
        if not self.layer.is_smooth(min(zooms)):
            return None
        shown = transform.mapRect(self.layer.boundingRect())
        shown = shown.intersected(QRectF(self.viewport().rect()))
        # The screen's pixels whose centres the image covers, as Qt fills a rectangle.
        left, top = (math.ceil(edge * density - 0.5) for edge in (shown.left(), shown.top()))
        right, bottom = (
            math.ceil(edge * density - 0.5) for edge in (shown.right(), shown.bottom())
        )
        if left >= right or top >= bottom:
            return None
        inverse, _ = transform.inverted()
        first = inverse.map(QPointF(left + 0.5, top + 0.5) / density)
        x, y = first.x(), first.y()
        dx, dy = (1 / (step * density) for step in steps)
        size = 2**level
        if all(abs(zoom * size - 1) <= _ONE_TO_ONE for zoom in zooms):
            # Nothing is interpolated: each pixel of the level is one of the screen.
            x, y = (round((one + 0.5) / size - 0.5) * size + (size - 1) / 2 for one in (x, y))
            dx, dy = (math.copysign(size, one) for one in (dx, dy))
        grid = ScreenGrid(x, y, dx, dy, right - left, bottom - top, turned)
        numbers = (
            *(transform.m11(), transform.m12(), transform.m21(), transform.m22()),
            *(transform.dx(), transform.dy()),
        )
        return ScreenPlace(grid, left, top, numbers, density)

    # Zoom and pan

    def fit(self) -> None:
        """Show the whole image, or the area from `set_area`, and keep it fitted on resizing."""
        columns, rows = self.image_size
        self._fitted = True
        if columns and rows:
            whole = QRectF(-0.5, -0.5, columns, rows)
            part = whole
            if self._area is not None:
                x0, y0, x1, y1 = self._area
                part = QRectF(x0, y0, x1 - x0, y1 - y0)
            # Ignore an area that would show almost nothing of the image.
            seen = part.intersected(whole)
            if min(seen.width(), seen.height()) < 1 or part.width() > MAX_SHRINK * columns:
                part = whole
            turned = orientation.transform(self.image_size, self.turn)
            self._show_area(turned.mapRect(part))

    def set_area(self, area: Area | None) -> bool:
        """Set the edges (x0, y0, x1, y1) that `fit` shows, or None; return if that changed."""
        other, self._area = area != self._area, area
        return other

    def one_to_one(self) -> None:
        self.set_zoom(1.0)

    def set_zoom(self, zoom: float, at: QPointF | None = None) -> None:
        """Set the zoom (see `zoom`); image point `at` (default: view's centre) stays in place."""
        if self.zoom > 0:
            self.zoom_by(zoom / self.zoom, at)

    def zoom_by(self, factor: float, at: QPointF | None = None) -> None:
        """Zoom by a factor (above 1: in); image point `at` (default: view's centre) stays put."""
        columns, rows = orientation.shown_size(self.image_size, self.turn)
        if not columns or factor <= 0:
            return
        view = self.view_rect
        widest = max(columns, rows * view.width() / max(view.height(), 1e-9)) * MAX_SHRINK
        width = min(max(view.width() / factor, MIN_PIXELS_ACROSS), widest)
        factor = view.width() / width
        self._fitted = False
        center = self._content.mapToParent(at) if at is not None else view.center()
        scale = QTransform.fromTranslate(center.x(), center.y()).scale(1 / factor, 1 / factor)
        scale.translate(-center.x(), -center.y())
        self._show_area(scale.mapRect(self._aim))

    def zoom_to(self, area: Area, margin: float = 0.0) -> None:
        """Show an area, as image (x0, y0, x1, y1), as large as fits.

        `margin` is what is shown around it, as a fraction of its size; around a tiny area more, and
        none beyond the size of the image, so that a large area is not shown smaller than it fits.
        """
        x0, y0, x1, y1 = area
        sides = ((x1 - x0, self.image_size[0]), (y1 - y0, self.image_size[1]))
        across, down = (
            max(side, min((1 + 2 * margin) * max(side, MIN_PIXELS_ACROSS), whole))
            for side, whole in sides
        )
        whole = QRectF((x0 + x1 - across) / 2, (y0 + y1 - down) / 2, across, down)
        self._fitted = False
        turned = orientation.transform(self.image_size, self.turn)
        self._show_area(turned.mapRect(whole))

    @property
    def view_area(self) -> Area | None:
        """The area that is in view, as image (x0, y0, x1, y1); None while the image is fitted."""
        if self._fitted:
            return None
        turned = orientation.transform(self.image_size, self.turn)
        inverse, _ = turned.inverted()
        shown = inverse.mapRect(self.view_rect)
        return shown.left(), shown.top(), shown.right(), shown.bottom()

    def pan_by(self, dx: float, dy: float) -> None:
        """Move the image by (dx, dy) logical px on the screen."""
        across, down = self._screen_scale()
        if across and down:
            self._fitted = False
            self._show_area(self._aim.translated(-dx / across, -dy / down))

    def center_on(self, x: float, y: float) -> None:
        """Move an image point to the middle of the view, unless the image is fitted to the view."""
        if not self._fitted:
            self._center(QPointF(x, y))

    def _center(self, point: QPointF) -> None:
        offset = self._content.mapToParent(point) - self.view_rect.center()
        self._show_area(self._aim.translated(offset))

    # Qt events

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Leave keys to the window: Qt's view would take the arrows to scroll."""
        event.ignore()

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        """Leave what is dropped to the window."""
        event.ignore()

    def resizeEvent(self, ev: QResizeEvent) -> None:
        super().resizeEvent(ev)
        self.setSceneRect(QRectF(self.rect()))
        self._place()
        if self._fitted:
            self.fit()

    def mouseDoubleClickEvent(self, ev: QMouseEvent) -> None:
        self.fit()
        ev.accept()

    def wheelEvent(self, ev: QWheelEvent) -> None:
        self.zoom_by(WHEEL_STEP ** (ev.angleDelta().y() / 120.0), self.to_image(ev.position()))
        ev.accept()


def _group() -> QGraphicsItem:
    """Return an item that only carries others."""
    item = QGraphicsRectItem()
    item.setFlag(QGraphicsItem.GraphicsItemFlag.ItemHasNoContents)
    return item
