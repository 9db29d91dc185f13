"""Drawing with the mouse: measurements, regions, marks, masks, and a region for the window."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from PySide6.QtCore import QObject, QPointF, QRect, QRectF, Qt, Signal
from PySide6.QtGui import QKeyEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QLineEdit, QWidget

from app.imaging.findings import XY, Finding, Mask
from app.imaging.space.planes import FramePlane
from app.imaging.types import Frame
from app.views.background import Background
from app.views.canvas.annotation_layer import AT_ONCE, AnnotationLayer
from app.views.canvas.filling import ThresholdFill
from app.views.canvas.image_view import ImageView
from app.views.canvas.mouse_gestures import DRAG_THRESHOLD, POINTERS
from app.views.theme import DARK, color
from app.views.translation import tr, translatable
from app.views.widgets import plain_tip
from app.workspace import drawing
from app.workspace.annotations import Annotations
from app.workspace.edge_snapping import nearest_edge

GRAB = 9.0  # px on screen within which a point can be grabbed
_BRUSH_STEP = 1.25
_FREEHAND_STEP = 2.0  # px on screen from one point of a freehand region to the next
_MOST_FREEHAND = 4000
_TEXT_WIDTH = 220

HINTS = {
    drawing.RULER: translatable("Drag from one end to the other"),
    drawing.POLYLINE: translatable("Click each point; double click or Enter ends the line"),
    drawing.ANGLE: translatable("Click an end, the vertex and the other end"),
    drawing.COBB: translatable("Drag a line along each of two end plates"),
    drawing.BIDIRECTIONAL: translatable("Drag the long axis, then move the ends of the short one"),
    drawing.CTR: translatable("Drag the greatest cardiac width, then the thoracic one"),
    drawing.ELLIPSE: translatable("Drag from corner to corner of the ellipse"),
    drawing.BOX: translatable("Drag from corner to corner of the box"),
    drawing.POLYGON: translatable(
        "Click each corner; double click, Enter or the first corner closes the outline"
    ),
    drawing.FREEHAND: translatable("Drag around the region"),
    drawing.PROBE: translatable("Click a pixel for its value"),
    drawing.ARROW: translatable("Drag from what the arrow points at, then type its text"),
    drawing.TEXT: translatable("Click a place, then type the text"),
    drawing.POINT: translatable("Click a point on the structure"),
    drawing.OUTSIDE: translatable("Click a point that does not belong to the structure"),
    drawing.BRUSH: translatable("Drag to paint, with Shift to erase; [ and ] change the size"),
    drawing.FILL: translatable("Click a pixel to fill from; drag up or down for the range"),
    drawing.WINDOW_REGION: translatable("Drag a rectangle whose values become the window"),
}
"""What to do with each tool, for the status line."""

ENDING = translatable("Esc cancels, Backspace takes the last point back")

SNAP = 8.0
"""Px on screen within which a point snaps to an edge."""

_UNSNAPPED = (
    *(drawing.FREEHAND, drawing.PROBE, drawing.TEXT, drawing.POINT, drawing.OUTSIDE),
    *(drawing.BRUSH, drawing.FILL, drawing.WINDOW_REGION),
)
"""Tools whose points are not those of an edge."""

_SIGN = 17  # px

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


class SnapIndicator(QWidget):
    """A ring with a dot around a point that snapped to an edge."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.resize(_SIGN, _SIGN)
        self.hide()

    def show_at(self, place: QPointF) -> None:
        """Show the sign around a place in the parent (px)."""
        self.move((place - QPointF(_SIGN, _SIGN) / 2).toPoint())
        self.show()
        self.raise_()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        middle = QPointF(_SIGN, _SIGN) / 2
        for tint, width in ((DARK.overlay_shade, 4.0), (DARK.accent, 1.8)):
            painter.setPen(QPen(color(tint), width))
            painter.drawEllipse(middle, 6.0, 6.0)
            painter.drawPoint(middle)
        painter.end()


class TextEdit(QLineEdit):
    """A field for the text of an arrow or text mark; Enter and losing focus take it, not Esc."""

    ended = Signal(bool)  # whether the text is to be taken

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setAccessibleName(tr("Text of the mark"))
        self.setPlaceholderText(tr("Text"))
        self.setToolTip(plain_tip(tr("Enter takes the text, Esc does not")))
        self.setFixedWidth(_TEXT_WIDTH)
        self.setMaxLength(200)
        self.editingFinished.connect(lambda: self.ended.emit(True))
        self.hide()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.ended.emit(False)
            return
        super().keyPressEvent(event)


class DrawingTool(QObject):
    """Lets the user draw on the canvas with the tool in hand, or move points.

    `tool` is a key of `drawing.POINTS`, `BRUSH`, `FILL`, `WINDOW_REGION`, or a key of `POINTERS`,
    which draw nothing.

    A length, a box and their kin take one drag, a point one click. An angle takes three clicks, or
    a drag and a click; its second point is the vertex. Two lines take two drags or four clicks. A
    polyline or polygon takes clicks until a double click, `finish` or, for a polygon, a click on
    its first corner. Each drawing becomes a finding and can be undone. The
    user can always move points of drawings, but those of an AI tool's finding only while it is
    selected. The brush paints on the mask of the selected finding, or of the one under the cursor.
    The region for a window takes one drag, after which the tool is put away.

    Attributes:
        radius: Radius of the brush, in columns of the image.
        snapping: Whether points snap to the strongest edge nearby.
        sign: Shown around a point while it does.
    """

    tool_changed = Signal(str)
    region_drawn = Signal(QRectF)  # the rectangle for the window, in image coordinates

    def __init__(
        self,
        view: ImageView,
        layer: AnnotationLayer,
        annotations: Annotations,
        background: Background,
        frame: Callable[[], Frame | None],
        plane: Callable[[], FramePlane | None] = lambda: None,
        own: Callable[[], Frame | None] | None = None,
    ) -> None:
        super().__init__(view)
        self._view = view
        self._layer = layer
        self._annotations = annotations
        self._frame = frame
        self._own = own or frame  # with the file's own scale
        self._plane = plane
        self.tool = ""
        self._points: list[XY] = []
        self._last = QPointF()  # where the last point was set, in px of the view
        self._held: tuple[Finding, int] | None = None
        self._stroke: tuple[Finding, bool] | None = None  # the mask as painted; adding
        self.radius = 8.0
        self.snapping = False
        self.sign = SnapIndicator(view.viewport())
        self._free = False
        self._moved = False
        self._corner: QPointF | None = None  # where a region for the window begins (px)
        self._band = _Outline(view.viewport())
        self._text = TextEdit(view.viewport())
        self._text.ended.connect(self._take_text)
        self._texted: tuple[Finding, bool] | None = None  # whose text is typed; new
        self.filling = ThresholdFill(view, layer, annotations, background, frame, plane)

    def frame_of(self, finding: Finding) -> Frame | None:
        """Return the image with the scale that a finding is measured with.

        A tool's finding keeps the file's own, with which the tool measured the others beside it. Of
        channels that are shown together it is the finding's own.
        """
        frame = self._frame() if drawing.by_hand(finding) else self._own()
        own = frame.of(finding.image) if frame is not None else None
        if frame is None or own is None or own is frame:
            return frame
        scale = {"spacing": frame.spacing, "regions": frame.regions}
        return replace(own, calibration=frame.calibration, **scale)

    def set_tool(self, tool: str) -> None:
        """Take a tool in hand; "" is the one that changes the window."""
        if tool != self.tool:
            self.cancel()
            self.filling.put_away()
            self.tool = tool
            self.tool_changed.emit(tool)

    def toggle(self, tool: str) -> None:
        self.set_tool("" if tool == self.tool else tool)

    @property
    def draws(self) -> bool:
        return self.tool not in POINTERS

    @property
    def active(self) -> bool:
        begun = (self._held, self._stroke, self._corner)
        drawn = bool(self._points) or any(one is not None for one in begun)
        return drawn or self.filling.active

    def resize_brush(self, steps: float) -> None:
        """Multiply the brush's radius by a fixed factor per step; negative: make it smaller."""
        low, high = _BRUSHES
        self.radius = min(max(self.radius * _BRUSH_STEP**steps, low), high)

    def cancel(self) -> bool:
        """Discard an unfinished drawing or moved point; return whether there was one."""
        was = self.active or self._texted is not None
        self.filling.cancel()
        self._texted = None
        self._text.hide()
        self._points.clear()
        self._held = self._stroke = self._corner = None
        self._band.hide()
        self.sign.hide()
        self._layer.set_draft(None)
        return was

    def set_free(self, modifiers: Qt.KeyboardModifier) -> None:
        """Suspend snapping while Alt is held."""
        self._free = bool(modifiers & Qt.KeyboardModifier.AltModifier)

    def leave(self) -> None:
        if not self.active:
            self.sign.hide()

    def over_point(self, position: QPointF) -> bool:
        return self._point_at(position) is not None

    def press(self, position: QPointF, *, erase: bool = False) -> bool:
        """Handle a left press (px), erasing pixels if `erase`; return whether the tool uses it."""
        frame = self._frame()
        if frame is None:
            return False
        self._moved = False
        if self._texted is not None:
            self._take_text(True)
        if self.tool == drawing.WINDOW_REGION:
            self._corner = None if frame.is_color else position
            return self._corner is not None
        if self.tool == drawing.BRUSH:
            found = self._mask_at(position)
            if found is None and not erase:
                found = drawing.new_mask(frame)
            if found is not None:
                self._annotations.select(found.id)
                self._stroke = found, not erase
                self._last = position
                self._paint(frame, position)
            return True  # also without a mask: the drag must not change the window
        if self.tool == drawing.FILL:
            self.filling.press(frame, position)
            return True
        if not self._points:
            self._held = self._point_at(position)
            if self._held is not None:
                self._last = position
                return True
            if not self.draws:
                return False
            self._set_point(position)
        elif self._pairs and len(self._points) % 2 == 0 and _apart(position, self._last):
            self._set_point(position)
        return True

    def finish(self) -> bool:
        """End a line or outline, dropped if it has too few points; return whether there was one."""
        frame = self._frame()
        if frame is None or not self._points or drawing.POINTS.get(self.tool) != 0:
            return False
        if len(self._points) < drawing.LEAST_POINTS[self.tool]:
            self.cancel()
            return True
        made = drawing.draw(self.tool, frame, self._points)
        self._finish(frame, made, drawing.verb(self.tool))
        return True

    def double_click(self, position: QPointF) -> bool:
        """End a line or outline at a double click; return whether there was one to end."""
        at_last = bool(self._points) and not _apart(position, self._last)
        return at_last and self.tool != drawing.FREEHAND and self.finish()

    def step_back(self) -> bool:
        """Take the last point of an unfinished drawing back; return whether there was one."""
        frame = self._frame()
        if frame is None or not self._points or self.tool == drawing.FREEHAND:
            return False
        self._points.pop()
        if not self._points:
            return self.cancel() or True
        x, y = self._points[-1]
        self._last = self._view.to_widget(x, y)
        self._layer.set_draft(drawing.draw(self.tool, frame, self._points))
        return True

    def edit_text(self, finding: Finding) -> None:
        self._ask_text(finding, new=False)

    def _ask_text(self, finding: Finding, *, new: bool) -> None:
        self._texted = finding, new
        x, y = drawing.points_of(finding)[-1]
        at = self._view.to_widget(x, y).toPoint()
        area, size = self._view.viewport().rect(), self._text.sizeHint()
        self._text.setText("" if new else finding.label)
        self._text.move(
            max(0, min(at.x(), area.width() - _TEXT_WIDTH)),
            max(0, min(at.y(), area.height() - size.height())),
        )
        self._text.show()
        self._text.raise_()
        self._text.setFocus()

    def _take_text(self, taken: bool) -> None:
        """Give the mark its text; a new text mark without one is nothing."""
        texted, typed = self._texted, self._text.text().strip()
        self._texted = None
        self._text.hide()
        self._view.setFocus()
        self._layer.set_draft(None)
        if texted is None:
            return
        finding, new = texted
        tool = finding.provenance.tool
        if (not taken and not (new and tool == drawing.ARROW)) or (
            not typed and tool == drawing.TEXT
        ):
            return
        known = self._annotations.get(finding.id)
        if known is not None:  # on an image in its plane it stays the mark of its own image
            finding = known.finding
        named = typed if taken and typed else drawing.LABELS[tool]
        self._put(replace(finding, label=named), drawing.verb(tool) if new else tr("Change"))

    def move(self, position: QPointF) -> bool:
        """Handle a mouse move (position in widget px); return whether it draws or moves a point."""
        frame = self._frame()
        if frame is None or not self.active:
            if frame is not None and self.draws and not self.over_point(position):
                self._place(position)  # shows where a press would set a point
            else:
                self.sign.hide()
            return False
        self._moved = self._moved or _apart(position, self._last)
        if self.filling.active:
            self.filling.move(position)
        elif self._corner is not None:
            corners = self._corner.toPoint(), position.toPoint()
            self._band.setGeometry(QRect(*corners).normalized())
            self._band.show()
        elif self._stroke is not None:
            self._paint(frame, position)
        elif self._held is not None:
            finding, place = self._held
            frame = self.frame_of(finding) or frame
            if self._moved:
                at = self._place(position)
                self._layer.set_draft(drawing.move_point(finding, frame, place, at))
        else:
            at = self._place(position)
            if self.tool == drawing.FREEHAND:
                way = (position - self._last).manhattanLength()
                if way >= _FREEHAND_STEP and len(self._points) < _MOST_FREEHAND:
                    self._set_point(position)
            points = [at] if self._single else [*self._points, at]
            if self.tool == drawing.BIDIRECTIONAL:
                points = [self._points[0], at]
            self._layer.set_draft(drawing.draw(self.tool, frame, points))
        return True

    def release(self, position: QPointF) -> bool:
        """Handle a left release at a widget position (px); return whether the tool uses it."""
        frame = self._frame()
        if frame is None or not self.active:
            return False
        if self.filling.active:
            self.filling.release()
            return True
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
            frame = self.frame_of(painted) or frame
            self._finish(frame, drawing.repainted(painted, frame, painted.geometry), tr("Change"))
            return True
        if self._held is not None:
            return self._let_go(frame, position)
        if self.tool == drawing.FREEHAND:
            enough = len(self._points) >= drawing.LEAST_POINTS[self.tool]
            return self.finish() and enough
        if self.tool == drawing.POLYGON and self._closes(position):
            return self.finish()
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
    def _pairs(self) -> bool:
        """Whether the tool in hand draws two lines, each by a drag or by two clicks."""
        return self.tool in (drawing.COBB, drawing.CTR)

    def _closes(self, position: QPointF) -> bool:
        """Return whether a click is on the first corner of a polygon with enough corners."""
        if len(self._points) < drawing.LEAST_POINTS[drawing.POLYGON]:
            return False
        offset = self._view.to_widget(*self._points[0]) - position
        return math.hypot(offset.x(), offset.y()) <= GRAB

    @property
    def _single(self) -> bool:
        return drawing.POINTS[self.tool] == 1

    def _let_go(self, frame: Frame, position: QPointF) -> bool:
        assert self._held is not None
        finding, place = self._held
        if not self._moved:
            self.cancel()
            return False
        at = self._place(position)
        frame = self.frame_of(finding) or frame
        self._finish(frame, drawing.move_point(finding, frame, place, at), tr("Change"))
        return True

    def _finish(self, frame: Frame, finding: Finding, verb: str) -> None:
        texts = drawing.by_hand(finding) and finding.provenance.tool in drawing.TEXTS
        new = texts and self._annotations.get(finding.id) is None
        self.cancel()
        if drawing.by_hand(finding):
            finding = replace(finding, plane=self._plane() or finding.plane)
        if new:
            self._layer.set_draft(finding)
            self._ask_text(finding, new=True)
            return
        if drawing.pixels_around(finding) <= AT_ONCE:  # else the canvas has it done on a thread
            finding = drawing.with_statistics(finding, frame)
        self._put(finding, verb)

    @property
    def held(self) -> tuple[str, int] | None:
        """The id of the finding whose point is being moved and the point's number, or None."""
        return (self._held[0].id, self._held[1]) if self._held is not None else None

    def take(self, finding: Finding, joint: str = "") -> None:
        """Keep a finding that was moved; steps with the same `joint` are undone at once."""
        frame = self.frame_of(finding)
        if frame is None:
            return
        if drawing.by_hand(finding):
            finding = replace(finding, plane=self._plane() or finding.plane)
        if drawing.pixels_around(finding) <= AT_ONCE:
            finding = drawing.with_statistics(finding, frame)
        self._annotations.put(finding, f"Move {finding.label.lower()}", joint)

    def _put(self, finding: Finding, verb: str) -> None:
        named = drawing.LABELS.get(finding.provenance.tool) if drawing.by_hand(finding) else None
        self._annotations.put(finding, f"{verb} {(named or finding.label).lower()}")
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
        self._points.append(self._place(position))

    def _place(self, position: QPointF) -> XY:
        """Return the place of a point at a position (px): on an edge nearby, if it snaps."""
        at = self._image_point(position)
        frame, tool = self._frame(), self.tool
        if self._held is not None:
            finding = self._held[0]
            tool = finding.provenance.tool if drawing.by_hand(finding) else ""
        found: XY | None = None
        if self.snapping and not self._free and frame is not None and tool not in _UNSNAPPED:
            found = nearest_edge(frame, at, self._view.pixel_scale, SNAP)
        if found is None:
            self.sign.hide()
            return at
        self.sign.show_at(self._view.to_widget(*found))
        return found

    def _image_point(self, position: QPointF) -> XY:
        at = self._view.to_image(position)
        return at.x(), at.y()

    def _point_at(self, position: QPointF) -> tuple[Finding, int] | None:
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
