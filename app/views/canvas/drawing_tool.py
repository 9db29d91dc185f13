"""Drawing with the mouse: lengths, angles, boxes, points, masks, and a region for the window."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from PySide6.QtCore import QObject, QPointF, QRect, QRectF, Qt, Signal
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QWidget

from app.imaging.findings import XY, Finding, Mask
from app.imaging.types import Frame
from app.views.canvas.annotation_layer import AnnotationLayer
from app.views.canvas.image_view import ImageView
from app.views.canvas.mouse_gestures import DRAG_THRESHOLD, POINTERS
from app.views.theme import DARK, color
from app.views.translation import tr
from app.workspace import drawing
from app.workspace.annotations import Annotations

GRAB = 9.0  # px on screen within which a point can be grabbed
_BRUSH_STEP = 1.25
_BRUSHES = (0.5, 200.0)  # least and largest radius


class _Outline(QWidget):
    """The outline of a rectangle, which hides nothing of the image."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.hide()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        for inset, tint in ((0, DARK.overlay_shade), (1, DARK.accent), (2, DARK.overlay_shade)):
            painter.setPen(color(tint))
            painter.drawRect(self.rect().adjusted(inset, inset, -inset - 1, -inset - 1))
        painter.end()


class DrawingTool(QObject):
    """Lets the user draw on the canvas with the tool in hand, or move points.

    `tool` is a key of `drawing.POINTS`, `BRUSH`, `WINDOW_REGION`, or a key of `POINTERS`, which
    draw nothing.

    A length or a box takes one drag, a point one click. An angle takes three clicks, or a drag and
    a click; its second point is the vertex. Each drawing becomes a finding and can be undone. The
    user can always move points of drawings, but those of an AI tool's finding only while it is
    selected. The brush paints on the mask of the selected finding, or of the one under the cursor.
    The region for a window takes one drag, after which the tool is put away.

    Attributes:
        radius: Radius of the brush, in columns of the image.
    """

    tool_changed = Signal(str)
    region_drawn = Signal(QRectF)  # the rectangle for the window, in image coordinates

    def __init__(
        self,
        view: ImageView,
        layer: AnnotationLayer,
        annotations: Annotations,
        frame: Callable[[], Frame | None],
    ) -> None:
        super().__init__(view)
        self._view = view
        self._layer = layer
        self._annotations = annotations
        self._frame = frame
        self.tool = ""
        self._points: list[XY] = []
        self._last = QPointF()  # where the last point was set, in px of the view
        self._held: tuple[Finding, int] | None = None
        self._stroke: tuple[Finding, bool] | None = None  # the mask as painted; adding
        self.radius = 8.0
        self._moved = False
        self._corner: QPointF | None = None  # where a region for the window begins (px)
        self._band = _Outline(view.viewport())

    def set_tool(self, tool: str) -> None:
        """Take a tool in hand; "" is the one that changes the window."""
        if tool != self.tool:
            self.cancel()
            self.tool = tool
            self.tool_changed.emit(tool)

    def toggle(self, tool: str) -> None:
        """Take a tool in hand, or put it away if it is."""
        self.set_tool("" if tool == self.tool else tool)

    @property
    def draws(self) -> bool:
        """True while the tool in hand draws; False while it drags the image or its window."""
        return self.tool not in POINTERS

    @property
    def active(self) -> bool:
        """Whether something is being drawn or moved."""
        begun = (self._held, self._stroke, self._corner)
        return bool(self._points) or any(one is not None for one in begun)

    def resize_brush(self, steps: float) -> None:
        """Multiply the brush's radius by a fixed factor per step; negative: make it smaller."""
        low, high = _BRUSHES
        self.radius = min(max(self.radius * _BRUSH_STEP**steps, low), high)

    def cancel(self) -> bool:
        """Discard an unfinished drawing or moved point; return whether there was one."""
        was = self.active
        self._points.clear()
        self._held = self._stroke = self._corner = None
        self._band.hide()
        self._layer.set_draft(None)
        return was

    def over_point(self, position: QPointF) -> bool:
        """Return whether there is a movable point near a position in the widget (px)."""
        return self._point_at(position) is not None

    def press(self, position: QPointF, *, erase: bool = False) -> bool:
        """Handle a left press at a widget position (px); return whether the tool uses it.

        With `erase`, the brush removes pixels from the mask instead of adding them.
        """
        frame = self._frame()
        if frame is None:
            return False
        self._moved = False
        if self.tool == drawing.WINDOW_REGION:
            self._corner = None if frame.is_color else position
            return self._corner is not None
        if self.tool == drawing.BRUSH:
            found = self._mask_at(position)
            if found is not None:
                self._annotations.select(found.id)
                self._stroke = found, not erase
                self._last = position
                self._paint(frame, position)
            return True  # also without a mask: the drag must not change the window
        if not self._points:
            self._held = self._point_at(position)
            if self._held is not None:
                self._last = position
                return True
            if not self.draws:
                return False
            self._set_point(position)
        return True

    def move(self, position: QPointF) -> bool:
        """Handle a mouse move (position in widget px); return whether it draws or moves a point."""
        frame = self._frame()
        if frame is None or not self.active:
            return False
        self._moved = self._moved or _apart(position, self._last)
        if self._corner is not None:
            corners = self._corner.toPoint(), position.toPoint()
            self._band.setGeometry(QRect(*corners).normalized())
            self._band.show()
        elif self._stroke is not None:
            self._paint(frame, position)
        elif self._held is not None:
            finding, place = self._held
            if self._moved:
                at = self._image_point(position)
                self._layer.set_draft(drawing.move_point(finding, frame, place, at))
        else:
            at = self._image_point(position)
            points = [at] if self._single else [*self._points, at]
            self._layer.set_draft(drawing.draw(self.tool, frame, points))
        return True

    def release(self, position: QPointF) -> bool:
        """Handle a left release at a widget position (px); return whether the tool uses it."""
        frame = self._frame()
        if frame is None or not self.active:
            return False
        if self._corner is not None:
            corner = self._corner
            if not _apart(position, corner):
                self.cancel()
                return False
            self.set_tool("")
            ends = self._view.to_image(corner), self._view.to_image(position)
            self.region_drawn.emit(QRectF(*ends).normalized())
            return True
        if self._stroke is not None:
            painted = self._stroke[0]
            assert isinstance(painted.geometry, Mask)
            self._finish(frame, drawing.repainted(painted, frame, painted.geometry), tr("Change"))
            return True
        if self._held is not None:
            return self._let_go(frame, position)
        if self._single:
            self._points.clear()  # a point is set where the button is released
            self._set_point(position)
        elif _apart(position, self._last):
            self._set_point(position)
        elif self.tool in drawing.DRAGGED:
            self.cancel()
            return False
        if len(self._points) == drawing.POINTS[self.tool]:
            made = drawing.draw(self.tool, frame, self._points)
            self._finish(frame, made, drawing.verb(self.tool))
        return True

    @property
    def _single(self) -> bool:
        return drawing.POINTS[self.tool] == 1

    def _let_go(self, frame: Frame, position: QPointF) -> bool:
        assert self._held is not None
        finding, place = self._held
        if not self._moved:
            self.cancel()
            return False
        at = self._image_point(position)
        self._finish(frame, drawing.move_point(finding, frame, place, at), tr("Change"))
        return True

    def _finish(self, frame: Frame, finding: Finding, verb: str) -> None:
        self.cancel()
        finding = drawing.with_statistics(finding, frame)
        self._annotations.put(finding, f"{verb} {finding.label.lower()}")
        self._annotations.select(finding.id)

    def _mask_at(self, position: QPointF) -> Finding | None:
        """Return the finding to paint on: the selected one, else the one under the cursor."""
        hit = self._layer.hit(self._view.to_image(position))
        masks = [one for one in self._layer.findings if isinstance(one.geometry, Mask)]
        for wanted in (self._annotations.selected, hit):
            for one in masks:
                if one.id == wanted:
                    return one
        return None

    def _paint(self, frame: Frame, position: QPointF) -> None:
        """Paint from the last place to a position."""
        assert self._stroke is not None
        painted, add = self._stroke
        assert isinstance(painted.geometry, Mask)
        pixels = painted.geometry.pixels.copy()
        ends = self._image_point(self._last), self._image_point(position)
        drawing.paint(pixels, *ends, self.radius, frame.spacing.aspect, add)
        self._last = position
        self._stroke = replace(painted, geometry=Mask(pixels)), add
        self._layer.set_draft(self._stroke[0])

    def _set_point(self, position: QPointF) -> None:
        self._last = position
        self._points.append(self._image_point(position))

    def _image_point(self, position: QPointF) -> XY:
        at = self._view.to_image(position)
        return at.x(), at.y()

    def _point_at(self, position: QPointF) -> tuple[Finding, int] | None:
        """Return the nearest movable point in reach; points of the selected finding come first."""
        best: tuple[Finding, int] | None = None
        best_key = (True, math.inf)
        to_widget = self._view.to_widget
        for finding in self._layer.findings:
            if not self._layer.has_handles(finding):
                continue
            for place, (x, y) in enumerate(drawing.points_of(finding)):
                offset = to_widget(x, y) - position
                distance = math.hypot(offset.x(), offset.y())
                key = (finding.id != self._annotations.selected, distance)
                if distance <= GRAB and key < best_key:
                    best, best_key = (finding, place), key
        return best


def _apart(one: QPointF, other: QPointF) -> bool:
    return (one - other).manhattanLength() >= DRAG_THRESHOLD
