"""Threshold fill with the mouse, and the strip on the image in which its range is changed."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from PySide6.QtCore import QEvent, QObject, QPointF, QSignalBlocker, Qt
from PySide6.QtGui import QMouseEvent
from PySide6.QtWidgets import QCheckBox, QFrame

from app.errors import SightlineError
from app.imaging.findings import Finding, Mask, new_id
from app.imaging.space.planes import FramePlane
from app.imaging.types import Frame
from app.views.background import Background
from app.views.canvas import finding_shapes
from app.views.canvas.annotation_layer import AnnotationLayer
from app.views.canvas.finding_shapes import Shape
from app.views.canvas.image_view import ImageView
from app.views.canvas.mouse_gestures import DRAG_THRESHOLD
from app.views.layouts import column, row
from app.views.theme import SPACE
from app.views.translation import tr
from app.views.widgets import label, number_field, plain_tip
from app.workspace import drawing, region_statistics
from app.workspace.annotations import Annotations
from app.workspace.region_statistics import Region
from app.workspace.threshold_fill import Filled, Filler

_DRAG = 1.015  # factor of the range for each px of a drag upwards
_ABOVE = 44  # px from the bottom of the image, where letters of sides and texts are
_LARGEST = 1e9


class RangeStrip(QFrame):
    """The range of values of a threshold fill, to be changed, and whether a region bounds it."""

    def __init__(self, view: ImageView, changed: Callable[[], object]) -> None:
        super().__init__(view)
        self._view = view
        self._value = 0.0
        self.setProperty("notice", True)
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.low = number_field(tr("Lowest value"))
        self.high = number_field(tr("Highest value"))
        self.units = label("", "caption")
        self.bounded = QCheckBox(tr("Only within the region"))
        tip = tr("Fill only within the box, ellipse or outline that was drawn around the pixel")
        self.bounded.setToolTip(plain_tip(tip))
        self.bounded.setChecked(True)
        self.bounded.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        for field in (self.low, self.high):
            field.setFixedWidth(88)
            field.valueChanged.connect(lambda _value: changed())
            field.lineEdit().returnPressed.connect(view.setFocus)
        self.bounded.toggled.connect(lambda _on: changed())
        parts = (label(tr("Values"), "caption"), self.low, label("–"), self.high, self.units)
        margins = (SPACE.m, SPACE.xs, SPACE.m, SPACE.xs)
        column(row(*parts), self.bounded, spacing=SPACE.xs, margins=margins, parent=self)
        self.hide()
        view.installEventFilter(self)

    def tell(self, found: Filled, *, bounded: bool) -> None:
        """Show the range of a fill; `bounded`: whether a region could bound it."""
        blocked = [QSignalBlocker(one) for one in (self.low, self.high)]
        self._value = found.value
        decimals = 0
        if not (found.whole and found.low.is_integer() and found.high.is_integer()):
            # Three digits of the range: diffusion in mm²/s is of the order of 0.001.
            decimals = min(max(2 - math.floor(math.log10(found.high - found.low or 1)), 1), 9)
        for field in (self.low, self.high):
            field.setDecimals(decimals)
            field.setSingleStep(1.0 if decimals == 0 else (found.high - found.low) / 40)
        self.low.setRange(-_LARGEST, found.value)  # the first pixel always belongs to it
        self.high.setRange(found.value, _LARGEST)
        if not self.low.hasFocus():
            self.low.setValue(found.low)
        if not self.high.hasFocus():
            self.high.setValue(found.high)
        del blocked
        self.units.setText(found.units)
        self.bounded.setVisible(bounded)
        self.show()
        self.raise_()
        self._place()

    @property
    def span(self) -> tuple[float, float]:
        """The range in the fields, which always holds the first pixel's value."""
        return min(self.low.value(), self._value), max(self.high.value(), self._value)

    def _place(self) -> None:
        room, size = self._view.rect(), self.sizeHint()
        left = max((room.width() - size.width()) // 2, 0)
        self.setGeometry(left, room.height() - _ABOVE - size.height(), size.width(), size.height())

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is self._view and event.type() == QEvent.Type.Resize and not self.isHidden():
            self._place()
        return False

    def mousePressEvent(self, event: QMouseEvent) -> None:
        event.accept()  # else it would fill what lies below


@dataclass(frozen=True, slots=True)
class _Target:
    """The mask that is being filled."""

    finding_id: str
    seed: tuple[int, int]
    region: Region | None
    start: QPointF  # where the button was pressed, px


class ThresholdFill(QObject):
    """Fills a mask around a pressed pixel, on a thread; a drag changes it, one undo all."""

    def __init__(
        self,
        view: ImageView,
        layer: AnnotationLayer,
        annotations: Annotations,
        background: Background,
        frame: Callable[[], Frame | None],
        plane: Callable[[], FramePlane | None],
    ) -> None:
        super().__init__(view)
        self._view, self._layer, self._annotations = view, layer, annotations
        self._background, self._frame, self._plane = background, frame, plane
        self._filler: Filler | None = None
        self._target: _Target | None = None
        self._held = False
        self._factor = 1.0
        self._typed: tuple[float, float, str] | None = None
        self._reach: tuple[float, str] | None = None  # of the last fill, and its units
        self._running = False
        self._again = False
        self.strip = RangeStrip(view, self._retyped)
        annotations.changed.connect(self._forget_undone)

    @property
    def active(self) -> bool:
        return self._held

    def press(self, frame: Frame, position: QPointF) -> None:
        """Begin a fill at a position in the widget (px)."""
        at = self._view.to_image(position)
        seed = round(at.x()), round(at.y())
        last = self._target
        self.cancel()
        if frame.is_color or not (0 <= seed[0] < frame.columns and 0 <= seed[1] < frame.rows):
            return
        if self._filler is None or self._filler.frame is not frame:
            self._filler = Filler(frame)
        # The second click of a double click fills the same mask again, not one more.
        again = last is not None and last.seed == seed
        finding_id = last.finding_id if last is not None and again else new_id()
        self._target = _Target(finding_id, seed, self._region_at(at), position)
        self._held, self._factor = True, 1.0
        self._request()

    def move(self, position: QPointF) -> None:
        """Change the range while the button is held: wider upwards, narrower downwards."""
        if self._target is None or not self._held:
            return
        up = self._target.start.y() - position.y()
        if abs(up) >= DRAG_THRESHOLD or self._factor != 1.0:
            self._typed = None
            self._factor = _DRAG**up
            self._request()

    def release(self) -> None:
        """Keep the mask, as soon as it has been computed."""
        self._held = False
        self._request()

    def cancel(self) -> bool:
        """Drop a mask that is not kept yet, and the strip; return whether there was one."""
        was = self._held
        self._target = None
        self._held = self._again = False
        self._layer.set_draft(None)
        self.strip.hide()
        frame = self._frame()
        if self._filler is not None and (frame is None or frame.ref != self._filler.frame.ref):
            self._filler = None  # and with it the values of an image that is not shown any more
        return was

    def put_away(self) -> None:
        self.cancel()
        self._filler = None

    def _region_at(self, at: QPointF) -> Region | None:
        """Return the smallest region drawn around a point of the image that is shown."""
        found: list[tuple[float, Region]] = []
        for item in self._layer.items:
            region, shape = region_statistics.region_of(item.finding), item.outline
            if region is None or shape is None or not drawing.is_region(item.finding):
                continue
            if shape.path.contains(at):
                size = shape.path.boundingRect().size()
                found.append((size.width() * size.height(), region))
        return min(found, key=lambda one: one[0])[1] if found else None

    def _retyped(self) -> None:
        if self._target is not None and not self._held:
            self._typed = *self.strip.span, self.strip.units.text()
            self._request()

    def _request(self) -> None:
        if self._running:
            self._again = True
            return
        target, filler = self._target, self._filler
        if target is None or filler is None:
            return
        self._running, self._again = True, False
        region = target.region if self.strip.bounded.isChecked() else None
        work = partial(_filled, filler, target, region, self._typed, self._reach, self._factor)
        self._background.submit(work, partial(self._take, target), self._fail)

    def _fail(self, _error: SightlineError) -> None:
        self._running = False
        self.cancel()

    def _take(self, target: _Target, made: _Made | None) -> None:
        self._running = False
        if target is self._target and made is not None:
            found = made.filled
            self.strip.tell(found, bounded=target.region is not None)
            if self._again or self._held:
                self._layer.set_draft(made.finding, made.shape)
            else:
                self._keep(made)
        elif target is self._target and not self._held:
            self.cancel()
        if self._again:
            self._request()

    def _keep(self, made: _Made) -> None:
        found = made.filled
        if self._typed is None:
            self._reach = (found.high - found.low) / 2, found.units
            self._factor = 1.0
        known = self._annotations.get(made.finding.id)
        finding = replace(known.finding if known else made.finding, geometry=made.finding.geometry)
        for name in ("value", "units", "description", "measurements"):
            finding = replace(finding, **{name: getattr(made.finding, name)})
        finding = replace(finding, plane=self._plane())
        self._layer.set_draft(finding, made.shape)  # what is kept goes on being seen
        self._annotations.put(finding, "Fill mask", f"fill {finding.id}")
        self._layer.set_draft(None)
        self._annotations.select(finding.id)

    def _forget_undone(self) -> None:
        """Put the strip away once its mask is gone, so that nothing brings it back."""
        target = self._target
        kept = not self._held and not self._running and not self._again
        if target is not None and kept and self._annotations.get(target.finding_id) is None:
            self.cancel()


@dataclass(frozen=True, slots=True)
class _Made:
    filled: Filled
    finding: Finding
    shape: Shape


def _filled(
    filler: Filler,
    target: _Target,
    region: Region | None,
    typed: tuple[float, float, str] | None,
    reach: tuple[float, str] | None,
    factor: float,
) -> _Made | None:
    """Return the mask, its finding and what draws it; on a thread."""
    units = filler.units
    found = filler.fill(
        target.seed,
        region,
        span=typed[:2] if typed is not None and typed[2] == units else None,
        factor=factor,
        reach=reach[0] if reach is not None and reach[1] == units else None,
    )
    if found is None:
        return None
    finding = drawing.filled_mask(filler.frame, found.mask, target.finding_id)
    assert isinstance(finding.geometry, Mask)
    return _Made(found, finding, finding_shapes.bitmap(finding.geometry))
