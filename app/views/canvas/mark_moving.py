"""Dragging a whole mark with the mouse."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QPointF
from PySide6.QtGui import QPainterPathStroker

from app.imaging.findings import Finding, Mask, Point
from app.imaging.types import Frame
from app.views.canvas.annotation_layer import REACH, AnnotationLayer
from app.views.canvas.image_view import ImageView
from app.views.canvas.mouse_gestures import DRAG_THRESHOLD
from app.workspace import editing
from app.workspace.annotations import Annotations

_NEAR = 5.0  # px on screen from the outline


class MarkMover:
    """Moves the selected mark by its outline, or with Ctrl any mark by what is inside it."""

    def __init__(
        self,
        view: ImageView,
        layer: AnnotationLayer,
        annotations: Annotations,
        frame: Callable[[Finding], Frame | None],
        take: Callable[[Finding], object],
    ) -> None:
        self._view, self._layer, self._annotations = view, layer, annotations
        self._frame, self._take = frame, take
        self._start: tuple[Finding, QPointF] | None = None
        self._now: Finding | None = None

    @property
    def active(self) -> bool:
        return self._start is not None

    def over(self, position: QPointF) -> str:
        """Return the id of the selected mark if a position (px of the widget) is on its outline."""
        at, scale = self._view.to_image(position), self._view.pixel_scale
        for item in self._layer.items:
            shape = item.finding.geometry
            if item.finding.id != self._annotations.selected or item.outline is None:
                continue
            if isinstance(shape, Mask):
                return ""  # a drag within a lung changes the window
            if isinstance(shape, Point):
                return item.finding.id if item.distance(at, scale) <= REACH else ""
            stroker = QPainterPathStroker()
            stroker.setWidth(2 * _NEAR / min(scale))
            on = stroker.createStroke(item.outline.path).contains(at)
            return item.finding.id if on else ""
        return ""

    def press(self, position: QPointF, *, anywhere: bool) -> bool:
        """Take the mark at a position: any if `anywhere`, else the selected one by its outline."""
        found = self._layer.hit(self._view.to_image(position)) if anywhere else self.over(position)
        for finding in self._layer.findings:
            if found and finding.id == found:
                self._start = finding, position
                return True
        return False

    def move(self, position: QPointF) -> None:
        """Move the mark that is held to a position (px)."""
        if self._start is None:
            return
        finding, start = self._start
        frame = self._frame(finding)
        if frame is None:
            return
        if self._now is None:
            if (position - start).manhattanLength() < DRAG_THRESHOLD:
                return
            if self._annotations.is_locked(finding.id):
                self.cancel()
                return
        by = self._view.to_image(position) - self._view.to_image(start)
        self._now = editing.moved(finding, frame, by.x(), by.y())
        self._layer.set_draft(self._now)

    def release(self) -> bool:
        """Let go of the mark; return whether it was moved."""
        held, now = self._start, self._now
        self.cancel()
        if held is None or now is None:
            return False
        if now is not held[0]:
            self._take(now)
        self._annotations.select(now.id)
        return True

    def cancel(self) -> bool:
        """Put the mark back; return whether one was held."""
        was, moving = self.active, self._now is not None
        self._start = self._now = None
        if moving:
            self._layer.set_draft(None)
        return was
