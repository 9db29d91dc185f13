"""The canvas: one image with its findings, corner text and mouse tools.

Mouse: left drag = window, or what the drawing tool that is on draws; middle or space + left =
pan, right = zoom, right click = menu, double click = fit; the wheel scrolls through frames or the
series where there is something to scroll, else it zooms; Ctrl + wheel always zooms. Keys: see
`keys`.
"""

from __future__ import annotations

from PySide6.QtCore import QEvent, QPoint, QPointF, Qt, Signal
from PySide6.QtGui import QContextMenuEvent, QFocusEvent, QKeyEvent, QMouseEvent, QWheelEvent
from PySide6.QtWidgets import QWidget

from app.imaging.types import Window
from app.views.background import Background
from app.views.canvas.image_view import DRAG_ZOOM, WHEEL_STEP
from app.views.canvas.interaction import (
    DRAG_THRESHOLD,
    Drag,
    FrameScroll,
    drag_of,
    dragged_window,
)
from app.views.canvas.keys import key_actions
from app.views.canvas.picture_view import PictureView
from app.workspace.workspace import Workspace


class Canvas(PictureView):
    """The picture with mouse and keys.

    Args:
        workspace: The models.
        background: Threads for outlines and layers; closed by its owner.
        parent: Qt parent.

    Attributes:
        menu_wanted: The user asks what can be done here, at this place of the screen.
    """

    menu_wanted = Signal(QPoint)

    def __init__(
        self, workspace: Workspace, background: Background, parent: QWidget | None = None
    ) -> None:
        super().__init__(workspace, background, parent)
        self._space = False
        self._press: tuple[QPointF, Drag, Window | None] | None = None
        self._moved = False
        self._wheel = FrameScroll()
        self._keys = key_actions(self, workspace.annotations)
        self.measuring.tool_changed.connect(lambda _tool: self._show_cursor(None))
        self.setAccessibleName("Image canvas")

    def _hover(self, position: QPointF | None) -> str:
        """Update the value under the cursor; returns the finding there."""
        hit = ""
        if position is None:
            self._place = None
        else:
            self._place = self._place_at(position)
            hit = self.overlay.chip_at(position)
            hit = hit or self.findings_layer.hit(self.to_image(position))
        self.findings_layer.hover(hit)
        self.overlay.set_corners(self._corners())
        return hit

    def mousePressEvent(self, ev: QMouseEvent) -> None:
        kind = drag_of(ev.button(), space=self._space)
        free = kind is Drag.WINDOW and self._press is None
        if free and self.measuring.press(ev.position()):
            kind = None
        if kind is not None and self._press is None and self._picture is not None:
            self._press = (ev.position(), kind, self.shown_window)
            self._drag_from = ev.position()
            self._moved = False
            if kind is Drag.PAN:
                self.setCursor(Qt.CursorShape.ClosedHandCursor)
        ev.accept()

    def mouseMoveEvent(self, ev: QMouseEvent) -> None:
        ev.accept()
        if self._press is None or self._drag_from is None:
            drawing = self.measuring.move(ev.position())
            hit = self._hover(ev.position())
            self._show_cursor(self._cursor_over(ev.position(), hit) if not drawing else None)
            return
        start, kind, window = self._press
        total = ev.position() - start
        if not self._moved and total.manhattanLength() < DRAG_THRESHOLD:
            return
        self._moved = True
        step = ev.position() - self._drag_from
        self._drag_from = ev.position()
        if kind is Drag.PAN:
            self.pan_by(step.x(), step.y())
        elif kind is Drag.ZOOM:
            self.zoom_by(2.718281828 ** (-step.y() * DRAG_ZOOM), self.to_image(start))
        elif window is not None and self._picture is not None:
            low, high = self._picture.range
            self.set_window(dragged_window(window, total.x(), total.y(), high - low))

    def mouseReleaseEvent(self, ev: QMouseEvent) -> None:
        ev.accept()
        if self._press is None:
            left = ev.button() == Qt.MouseButton.LeftButton and self.measuring.active
            if left and not self.measuring.release(ev.position()):
                self._workspace.annotations.select(self._hover(ev.position()))
            return
        zooming = self._press[1] is Drag.ZOOM
        clicked = not zooming and not self._moved
        asked = zooming and not self._moved
        self._press = self._drag_from = None
        self._show_cursor(Qt.CursorShape.OpenHandCursor if self._space else None)
        if clicked and ev.button() == Qt.MouseButton.LeftButton:
            self._workspace.annotations.select(self._hover(ev.position()))
        elif asked:
            self.menu_wanted.emit(ev.globalPosition().toPoint())

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        # The mouse's comes when the right button goes down, and that may begin a zoom.
        if event.reason() != QContextMenuEvent.Reason.Mouse and self._picture is not None:
            self.menu_wanted.emit(self.viewport().mapToGlobal(self.viewport().rect().center()))
        event.accept()

    def mouseDoubleClickEvent(self, ev: QMouseEvent) -> None:
        if self.measuring.tool:
            self.mousePressEvent(ev)  # two quick clicks: the second sets a point too
        else:
            super().mouseDoubleClickEvent(ev)

    def wheelEvent(self, ev: QWheelEvent) -> None:
        ev.accept()
        control = bool(ev.modifiers() & Qt.KeyboardModifier.ControlModifier)
        if control or not self.scroller.scrollable:
            self.zoom_by(WHEEL_STEP ** (ev.angleDelta().y() / 120.0), self.to_image(ev.position()))
        else:
            self.scroller.step(self._wheel.steps(ev.angleDelta().y()))

    def leaveEvent(self, ev: QEvent) -> None:
        self._hover(None)
        super().leaveEvent(ev)

    def keyPressEvent(self, ev: QKeyEvent) -> None:
        if ev.key() == Qt.Key.Key_Space:
            if not ev.isAutoRepeat():
                self._space = True
                self._show_cursor(Qt.CursorShape.OpenHandCursor)
            return
        action = self._keys.get(Qt.Key(ev.key()))
        if action is None or ev.modifiers() & Qt.KeyboardModifier.ControlModifier:
            ev.ignore()
            return
        action()
        ev.accept()

    def keyReleaseEvent(self, ev: QKeyEvent) -> None:
        if ev.key() == Qt.Key.Key_Space and not ev.isAutoRepeat():
            self._space = False
            self._show_cursor(None)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        self._space = False
        super().focusOutEvent(event)

    def _cursor_over(self, position: QPointF, hit: str) -> Qt.CursorShape | None:
        if self.measuring.over_point(position):
            return Qt.CursorShape.SizeAllCursor
        return Qt.CursorShape.PointingHandCursor if hit else None

    def _show_cursor(self, shape: Qt.CursorShape | None) -> None:
        if shape is None and self.measuring.tool:
            self.setCursor(Qt.CursorShape.CrossCursor)
        elif shape is None:
            self.unsetCursor()
        else:
            self.setCursor(shape)
