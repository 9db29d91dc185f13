"""The magnifier: an enlarged part of the image around the mouse."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from PySide6.QtCore import QEvent, QPointF, QRect, QRectF, Qt, Signal
from PySide6.QtGui import (
    QKeyEvent,
    QKeySequence,
    QPainter,
    QPainterPath,
    QPaintEvent,
    QPen,
    QTransform,
)
from PySide6.QtWidgets import QWidget

from app.imaging.pixels import composite, pipeline
from app.imaging.pixels.stored_levels import screen_words
from app.views.canvas import colormaps
from app.views.canvas.image_layer import PIXEL_ZOOM, Area, Buffer, area_of, to_qimage
from app.views.theme import DARK, color

if TYPE_CHECKING:
    from app.views.canvas.canvas import Canvas

HOLD_KEY = "Z"

DIAMETER = 260
"""Px of the magnifier."""

FACTORS = (2.0, 3.0, 4.0)
"""Selectable magnifications, relative to the image around the magnifier.

An image shown at less than half of its size is magnified by more: no pixel is ever left out.
"""


class Magnifier(QWidget):
    """A round glass at the mouse with the real pixels of the image, in the window it is shown with.

    It ignores the mouse, and changes neither the view nor what is measured.

    Attributes:
        on: Whether it is shown while the mouse is over the image.
    """

    toggled = Signal(bool)  # switched on or off without its key being held

    def __init__(self, canvas: Canvas) -> None:
        super().__init__(canvas)
        self._canvas = canvas
        self._held = False
        self.on = False
        self.factor = FACTORS[0]
        self.key = QKeySequence(HOLD_KEY)
        self._at: QPointF | None = None
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.setFixedSize(DIAMETER, DIAMETER)
        self.hide()

    def is_key(self, event: QEvent, *, released: bool = False) -> bool:
        """Return whether a key event is of its key, with its modifiers unless it is `released`."""
        if not isinstance(event, QKeyEvent) or self.key.isEmpty():
            return False
        keys: Any = self.key  # a sequence, which its type does not say
        wanted = keys[0]
        return event.key() == wanted.key() if released else event.keyCombination() == wanted

    def hold(self, position: QPointF | None) -> None:
        """Show it at a position in the canvas (px) as long as its key is held."""
        self._held = not self.on
        self._switch(True, position)

    def release(self) -> None:
        if self._held:
            self._switch(False, None)

    def set_on(self, on: bool) -> None:
        """Show it, wherever the mouse is over the image, until it is switched off; or do that."""
        self._held = False
        if on != self.on:
            self._switch(on, None)
            self.toggled.emit(on)

    def change(self, steps: int) -> None:
        """Magnify more or less, by steps through `FACTORS`."""
        place = FACTORS.index(self.factor) + steps
        self.factor = FACTORS[min(max(place, 0), len(FACTORS) - 1)]
        self.update()

    def follow(self, position: QPointF | None) -> None:
        """Move it to a position in the canvas (px); None where the mouse is elsewhere."""
        self._at = position
        if self.on:
            self.refresh()

    def refresh(self) -> None:
        seen = self.on and self._at is not None and self._canvas.frame is not None
        if seen and self._at is not None:
            middle = self._at.toPoint()
            self.move(middle.x() - DIAMETER // 2, middle.y() - DIAMETER // 2)
            self.raise_()
            self.update()
        self.setVisible(seen)

    def _switch(self, on: bool, position: QPointF | None) -> None:
        self.on = on
        if position is not None:
            self._at = position
        self._held = self._held and on
        self.refresh()

    @property
    def scale(self) -> float:
        """The magnification relative to the image around the magnifier."""
        zoom = max(self._canvas.zoom, 1e-6)
        return self.factor * max(zoom, 1 / FACTORS[0]) / zoom

    def _transform(self, at: QPointF) -> QTransform:
        """Return the way from image coordinates to px of this widget."""
        widget = self._canvas.to_widget
        origin, right, down = widget(0, 0), widget(1, 0), widget(0, 1)
        across, along = right - origin, down - origin
        scale, half = self.scale, DIAMETER / 2
        return (
            QTransform(across.x(), across.y(), along.x(), along.y(), origin.x(), origin.y())
            * QTransform.fromTranslate(-at.x(), -at.y())
            * QTransform.fromScale(scale, scale)
            * QTransform.fromTranslate(half, half)
        )

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        glass = QRectF(self.rect()).adjusted(2, 2, -2, -2)
        path = QPainterPath()
        path.addEllipse(glass)
        painter.fillPath(path, color(DARK.canvas))
        if self._at is not None:
            painter.setClipPath(path)
            way = self._transform(self._at)
            inverse, _ = way.inverted()
            self._draw(painter, way, area_of(inverse.mapRect(glass), margin=1))
            painter.resetTransform()
            painter.setClipping(False)
        painter.setPen(QPen(color(DARK.accent), 2))
        painter.drawEllipse(glass)
        painter.end()

    def _draw(self, painter: QPainter, way: QTransform, area: Area) -> None:
        frame = self._canvas.frame
        if frame is None:
            return
        left, top = max(area[0], 0), max(area[1], 0)
        right, bottom = min(area[2], frame.columns), min(area[3], frame.rows)
        if left >= right or top >= bottom:
            return
        pixels = self._pixels(QRect(left, top, right - left, bottom - top))
        magnified = self._canvas.zoom * self.scale
        smooth = magnified < (PIXEL_ZOOM if self._canvas.layer.smooth else 1.0)
        painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform, smooth)
        painter.setTransform(way)
        place = QRectF(left - 0.5, top - 0.5, right - left, bottom - top)
        painter.drawImage(place, to_qimage(pixels))

    def _pixels(self, part: QRect) -> Buffer:
        """Return a part of the image as it is shown, from its own values."""
        canvas = self._canvas
        frame, display = canvas.frame, canvas.model.display
        assert frame is not None
        rows = range(part.top(), part.bottom() + 1)
        columns = range(part.left(), part.right() + 1)
        tints = canvas.picture.job.tints if canvas.picture is not None else ()
        if tints:
            return np.ascontiguousarray(composite.render_part(tints, rows, columns, display.invert))
        window = canvas.shown_window
        pixels = pipeline.render_part(frame, rows, columns, window, display.invert)
        colours = colormaps.screen_table(display.colormap) if canvas.colourable else None
        if colours is None:
            return np.ascontiguousarray(pixels)
        coloured = colours[pixels]
        if frame.shutter is not None:  # which keeps its grey
            aspect = frame.spacing.aspect
            hidden = pipeline.hidden_pixels(frame.shutter, rows, frame.columns, aspect)
            hidden = hidden[:, columns.start : columns.stop]
            coloured[hidden] = screen_words(pixels)[hidden]
        return coloured
