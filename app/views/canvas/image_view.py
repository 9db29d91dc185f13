"""A zoomable view of one image in its own pixel coordinates.

Scene of the view box: x = column, y = row, pixel centres at integers (the image layer starts at
-0.5), y downwards. So a finding's coordinates need no conversion.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyqtgraph as pg
from numpy.typing import NDArray
from PySide6.QtCore import QPointF, QRectF, Qt, Signal
from PySide6.QtGui import QMouseEvent, QResizeEvent, QWheelEvent
from PySide6.QtWidgets import QFrame, QGraphicsItem, QWidget

from app.views.canvas.image_layer import ImageLayer
from app.views.theme import THEME

MIN_PIXELS_ACROSS = 4  # closest zoom: so many image pixels across the view
MAX_SHRINK = 8.0  # farthest zoom: the image at 1/8 of the fitted size
WHEEL_STEP = 1.2  # zoom factor of one notch
DRAG_ZOOM = 0.006  # natural log of the zoom factor for one px of a zoom drag


class ImageView(pg.GraphicsView):
    """Shows an image; wheel zooms at the cursor, a drag with any button pans, double click fits."""

    view_changed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        self._fitted = False  # pyqtgraph calls resizeEvent inside its constructor
        super().__init__(parent, background=THEME.canvas)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setMinimumSize(120, 120)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMouseTracking(True)
        self.box = pg.ViewBox(border=None, enableMenu=False, enableMouse=False, defaultPadding=0)
        self.box.invertY(True)
        self.box.disableAutoRange()
        self.setCentralItem(self.box)
        self.layer = ImageLayer()
        self.box.addItem(self.layer, ignoreBounds=True)
        self._aspect = 1.0
        self._fitted = True
        self._drag_from: QPointF | None = None
        self._lock_aspect()
        self.box.sigRangeChanged.connect(lambda *_: self.view_changed.emit())

    # What is shown

    @property
    def image_size(self) -> tuple[int, int]:
        """(columns, rows) of the image, (0, 0) without one."""
        pixels = self.layer.pixels
        return (0, 0) if pixels is None else (pixels.shape[1], pixels.shape[0])

    def show_levels(
        self, levels: tuple[NDArray[np.uint8], ...], aspect: float, *, refit: bool
    ) -> None:
        """Show an image made by `image_layer.pyramid`.

        Args:
            levels: The image and its smaller copies; empty for none.
            aspect: Height of a pixel divided by its width.
            refit: Fit it to the view even if the user had zoomed.
        """
        self.layer.set_levels(levels)
        if aspect != self._aspect:
            self._aspect = aspect
            self._lock_aspect()
        if levels and (refit or self._fitted):
            self.fit()

    def _lock_aspect(self) -> None:
        # pyqtgraph's ratio is the screen length of one x unit over that of one y unit. Its
        # constructor's `lockAspect` ignores the ratio; annotated int, it takes any.
        ratio: Any = 1.0 / self._aspect
        self.box.setAspectLocked(True, ratio=ratio)

    def add_item(self, item: QGraphicsItem) -> None:
        """Put an item over the image, in pixel coordinates."""
        self.box.addItem(item, ignoreBounds=True)

    def remove_item(self, item: QGraphicsItem) -> None:
        """Take an item away."""
        self.box.removeItem(item)

    # Where things are

    def to_image(self, position: QPointF) -> QPointF:
        """Position in the widget (px) -> image (x, y), pixel centres at integers."""
        inverse, _ = self.viewportTransform().inverted()
        return QPointF(self.box.mapSceneToView(inverse.map(position)))

    def to_widget(self, x: float, y: float) -> QPointF:
        """Image (x, y) -> position in the widget, in logical px."""
        scene = self.box.mapViewToScene(QPointF(x, y))
        return QPointF(self.viewportTransform().map(scene))

    @property
    def pixel_scale(self) -> tuple[float, float]:
        """Logical px on screen of one image pixel, (horizontal, vertical)."""
        width, height = self.box.viewPixelSize()
        return (1.0 / width if width else 0.0, 1.0 / height if height else 0.0)

    @property
    def zoom(self) -> float:
        """Physical screen pixels of one image pixel (its narrower side); 1.0 is 1:1."""
        return min(self.pixel_scale) * self.devicePixelRatioF()

    # Zoom and pan

    def fit(self) -> None:
        """Show the whole image, and keep doing so when the view is resized."""
        columns, rows = self.image_size
        self._fitted = True
        if columns and rows:
            self.box.setRange(QRectF(-0.5, -0.5, columns, rows), padding=0)

    def one_to_one(self) -> None:
        """One image pixel on one physical screen pixel, about the centre of the view."""
        self.set_zoom(1.0)

    def set_zoom(self, zoom: float, at: QPointF | None = None) -> None:
        """Zoom to `zoom` (see the property), keeping the image point `at` in place."""
        if self.zoom > 0:
            self.zoom_by(zoom / self.zoom, at)

    def zoom_by(self, factor: float, at: QPointF | None = None) -> None:
        """Zoom in (above 1) or out, keeping the image point `at` (default: centre) in place."""
        columns, rows = self.image_size
        if not columns or factor <= 0:
            return
        view = self.box.viewRect()
        widest = max(columns, rows * view.width() / max(view.height(), 1e-9)) * MAX_SHRINK
        width = min(max(view.width() / factor, MIN_PIXELS_ACROSS), widest)
        factor = view.width() / width
        self._fitted = False
        center = at if at is not None else view.center()
        self.box.scaleBy((1.0 / factor, 1.0 / factor), center=center)

    def pan_by(self, dx: float, dy: float) -> None:
        """Move the image by (dx, dy) logical px on the screen."""
        across, down = self.pixel_scale
        if across and down:
            self._fitted = False
            self.box.translateBy((-dx / across, -dy / down))

    def center_on(self, x: float, y: float) -> None:
        """Bring an image point into the middle, unless all of the image is in view already."""
        if self._fitted:
            return
        middle = self.box.viewRect().center()
        self.box.translateBy((x - middle.x(), y - middle.y()))

    def close(self) -> bool:
        """Hide like any widget; pyqtgraph's own `close` takes the viewport apart and crashes."""
        return QWidget.close(self)

    # Qt events. pyqtgraph's own mouse handling is bypassed: it knows nothing of our tools.

    def resizeEvent(self, ev: QResizeEvent) -> None:
        super().resizeEvent(ev)
        if self._fitted:
            self.fit()

    def mousePressEvent(self, ev: QMouseEvent) -> None:
        self._drag_from = ev.position()
        ev.accept()

    def mouseMoveEvent(self, ev: QMouseEvent) -> None:
        if self._drag_from is not None and ev.buttons():
            step = ev.position() - self._drag_from
            self._drag_from = ev.position()
            self.pan_by(step.x(), step.y())
        ev.accept()

    def mouseReleaseEvent(self, ev: QMouseEvent) -> None:
        self._drag_from = None
        ev.accept()

    def mouseDoubleClickEvent(self, ev: QMouseEvent) -> None:
        self.fit()
        ev.accept()

    def wheelEvent(self, ev: QWheelEvent) -> None:
        self.zoom_by(WHEEL_STEP ** (ev.angleDelta().y() / 120.0), self.to_image(ev.position()))
        ev.accept()
