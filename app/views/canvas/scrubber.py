"""A slim slider at the right edge of the canvas: where in the series one is, and a way to go on."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QEvent, QRectF, Qt
from PySide6.QtGui import QEnterEvent, QMouseEvent, QPainter, QPaintEvent, QWheelEvent
from PySide6.QtWidgets import QApplication, QWidget

from app.views.canvas.scrolling import Scroller
from app.views.style import color as with_alpha
from app.views.theme import THEME
from app.views.widgets import plain_tip
from app.workspace.workspace import Workspace

WIDTH = 12  # px that take the mouse
BAR = 4.0  # px that are drawn
EDGE = 8.0  # px free above and below
SHORTEST = 28.0  # px of a handle that can be grasped


class Scrubber(QWidget):
    """Seen only where there is something to scroll. Dragging it goes to that frame or image.

    Keys do the same on the canvas, so it takes no focus.

    Args:
        canvas: Its parent; the wheel over the slider counts as over the image.
        workspace: The models.
        scroller: Moves through the frames.
    """

    def __init__(self, canvas: QWidget, workspace: Workspace, scroller: Scroller) -> None:
        super().__init__(canvas)
        self._scroller = scroller
        self._place = (0, 0)
        self._grasped: float | None = None  # px from the handle's top to where it was taken
        self._over = False
        self.setCursor(Qt.CursorShape.ArrowCursor)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setAccessibleName("Position in the series")
        self.setToolTip(plain_tip("Drag to go through the series"))
        model = workspace.viewport
        self._disconnects: list[Callable[[], None]] = [
            model.requested.connect(lambda _request: self.follow()),
            model.image_changed.connect(self.follow),
            workspace.studies.changed.connect(self.follow),
        ]
        self.follow()

    def close_models(self) -> None:
        """Stop listening to the workspace."""
        for disconnect in self._disconnects:
            disconnect()
        self._disconnects.clear()

    def follow(self) -> None:
        """Show the place that the viewport is at or on its way to."""
        place = self._scroller.place
        if place != self._place:
            self._place = place
            self.update()
        self.setVisible(place[1] > 1)

    def lay_out(self, area: QRectF) -> None:
        """Stand at the right edge of `area` (px)."""
        rect = QRectF(area.right() - WIDTH, area.top(), WIDTH, area.height())
        self.setGeometry(rect.toAlignedRect())

    @property
    def handle(self) -> QRectF:
        """Where the handle is, px."""
        place, count = self._place
        length = max(SHORTEST, self._room / max(count, 1))
        top = EDGE + (self._room - length) * place / max(count - 1, 1)
        return QRectF(WIDTH - BAR - 2, top, BAR, length)

    @property
    def _room(self) -> float:
        return max(self.height() - 2 * EDGE, SHORTEST)

    def _go_to(self, top: float) -> None:
        """Go to the frame at which the handle's upper end is at `top` (px)."""
        count = self._place[1]
        way = self._room - self.handle.height()
        if way > 0 and count > 1:
            place = round((top - EDGE) / way * (count - 1))
            self._scroller.to(max(0, min(place, count - 1)))

    # Qt events

    def mousePressEvent(self, event: QMouseEvent) -> None:
        event.accept()
        if event.button() != Qt.MouseButton.LeftButton:
            return
        y, handle = event.position().y(), self.handle
        self._scroller.pause()
        if handle.top() <= y <= handle.bottom():
            self._grasped = y - handle.top()
        else:
            self._grasped = handle.height() / 2
            self._go_to(y - self._grasped)
        self.update()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        event.accept()
        if self._grasped is not None:
            self._go_to(event.position().y() - self._grasped)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        event.accept()
        self._grasped = None
        self.update()

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        self.mousePressEvent(event)  # two quick clicks go on twice; the image is not fitted

    def wheelEvent(self, event: QWheelEvent) -> None:
        canvas = self.parentWidget()
        if canvas is not None:
            QApplication.sendEvent(canvas, event)

    def enterEvent(self, event: QEnterEvent) -> None:
        super().enterEvent(event)
        self._over = True
        self.update()

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self._over = False
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        handle, active = self.handle, self._over or self._grasped is not None
        track = QRectF(handle.left(), EDGE, BAR, self._room)
        # Dark under light: it is seen on white bone and on black air.
        painter.setBrush(with_alpha(THEME.overlay_shade, 0.6))
        painter.drawRoundedRect(track.adjusted(-1, -1, 1, 1), BAR / 2 + 1, BAR / 2 + 1)
        painter.setBrush(with_alpha(THEME.overlay_text, 0.22 if active else 0.12))
        painter.drawRoundedRect(track, BAR / 2, BAR / 2)
        painter.setBrush(with_alpha(THEME.overlay_text, 0.95 if active else 0.6))
        painter.drawRoundedRect(handle, BAR / 2, BAR / 2)
        painter.end()
