"""The histogram of the shown frame, with the limits of its window to drag."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import QPoint, QSignalBlocker, Qt
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QDialog, QDoubleSpinBox

from app.imaging.pixels.windows import (
    Histogram,
    grey_limits,
    value_histogram,
    window_between,
)
from app.imaging.types import Frame, VoiFunction, Window
from app.views.layouts import column, row
from app.views.theme import SPACE, THEME, TYPE, changes, color, ui_font
from app.views.translation import tr, translatable
from app.views.widgets import label, number_field

if TYPE_CHECKING:
    from app.views.main_window import MainWindow

_LEAST_SHARE = 1e-4  # width of a window of fractional values, as a share of all values
_FAR = 1e12
_MOST_DECIMALS = 15
_NO_WINDOW = translatable("This image has colours of its own, and no window")
_NO_IMAGE = translatable("No image is shown")


def _decimals(width: float) -> int:
    """Return with how many decimals limits that are less than 1 apart can be told and typed."""
    return 5 if width <= 0 else min(max(5, 3 - math.floor(math.log10(width))), _MOST_DECIMALS)


class HistogramPanel(QDialog):
    """A small window on the active viewport, whose limits (`windows.grey_limits`) are dragged."""

    def __init__(self, window: MainWindow) -> None:
        super().__init__(window, Qt.WindowType.Tool)
        self.setWindowTitle(tr("Histogram"))
        self.resize(460, 280)
        # At the corner of the images, and the keys stay theirs.
        self.setAttribute(Qt.WidgetAttribute.WA_ShowWithoutActivating)
        area = window.viewports
        corner = area.mapToGlobal(area.rect().bottomRight())
        self.move(corner - QPoint(self.width() + SPACE.l, self.height() + 2 * SPACE.xl))
        self._window = window
        self._frame: Frame | None = None  # whose histogram is shown
        self._counting: Frame | None = None
        self._following = False  # whether the limits are moved from here, not by the user
        self.histogram: Histogram | None = None
        self.plot = pg.PlotWidget(background=THEME.panel)
        self.plot.setMinimumHeight(140)
        self.plot.setMouseEnabled(False, False)
        self.plot.setMenuEnabled(False)
        self.plot.hideButtons()
        self.plot.setAccessibleName(tr("Histogram"))
        for name in ("left", "bottom"):
            axis = self.plot.getAxis(name)
            axis.setStyle(tickFont=ui_font(TYPE.caption))
        self.plot.getAxis("left").setLabel(tr("Pixels (log scale)"))
        self.plot.getAxis("left").setStyle(showValues=False)
        self._curve = self.plot.plot(fillLevel=0)
        self.limits = pg.LinearRegionItem(swapMode="block")
        self._tint()
        changes().changed.connect(self._tint)
        self.limits.sigRegionChanged.connect(self._dragged)
        self._item: Any = self.plot.getPlotItem()
        self._item.addItem(self.limits, ignoreBounds=True)
        self.low_field = self._field(tr("Lower limit of the window"))
        self.high_field = self._field(tr("Upper limit of the window"))
        self.message = label("", "muted", wrap=True)
        fields = row(
            label(tr("Lower limit")), self.low_field, 1, label(tr("Upper limit")), self.high_field
        )
        column(self.message, (self.plot, 1), fields, spacing=SPACE.s, margins=SPACE.m, parent=self)
        window.viewports.picture_changed.connect(self.refresh)
        window.workspace.display_changed.connect(self.refresh)
        window.closing.connect(self.close)

    def _tint(self) -> None:
        """Draw in the colours of the shown theme."""
        self.plot.setBackground(THEME.panel)
        for name in ("left", "bottom"):
            axis = self.plot.getAxis(name)
            axis.setPen(THEME.border)
            axis.setTextPen(THEME.text_muted)
        self._curve.setPen(pg.mkPen(THEME.text_muted))
        self._curve.setBrush(color(THEME.text_muted, 0.45))
        self.limits.setBrush(color(THEME.accent, 0.15))
        self.limits.setHoverBrush(color(THEME.accent, 0.25))
        for line in self.limits.lines:
            line.setPen(pg.mkPen(THEME.accent, width=2))
            line.setHoverPen(pg.mkPen(THEME.accent_hover, width=3))

    def _field(self, name: str) -> QDoubleSpinBox:
        field = number_field(name)
        field.setToolTip(name)
        field.setRange(-_FAR, _FAR)
        field.setKeyboardTracking(False)  # a number is used once it is complete
        field.setMinimumWidth(110)
        field.valueChanged.connect(self._typed)
        return field

    @property
    def busy(self) -> bool:
        return self._counting is not None

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.refresh()

    def refresh(self) -> None:
        if not self.isVisible():
            return
        canvas = self._window.canvas
        frame, shown = canvas.frame, canvas.shown_window
        self.message.setText(tr(_NO_IMAGE if frame is None else _NO_WINDOW))
        self.message.setVisible(shown is None)
        for field in (self.low_field, self.high_field):
            field.setEnabled(shown is not None)
        self.limits.setVisible(shown is not None)
        if frame is None or shown is None:
            self._show(None, None)
            return
        if frame is not self._frame:
            self._count(frame)
        self._follow(shown)

    # Counting

    def _count(self, frame: Frame) -> None:
        """Count a frame's values on a thread; the newest frame follows when that is done."""
        if self._counting is None:
            self._counting = frame
            work = partial(value_histogram, frame)
            self._window.background.submit(work, partial(self._take, frame), self._failed)

    def _failed(self, _error: object) -> None:
        self._counting = None

    def _take(self, frame: Frame, histogram: Histogram | None) -> None:
        self._counting = None
        if frame is self._window.canvas.frame:
            self._show(frame, histogram)
        self.refresh()

    def _show(self, frame: Frame | None, histogram: Histogram | None) -> None:
        self._frame, self.histogram = frame, histogram
        if frame is None or histogram is None:
            self._curve.setData([], [])
            return
        self._curve.setData(histogram.edges, np.log10(histogram.counts + 1.0), stepMode="center")
        self.plot.getAxis("bottom").setLabel(frame.rescale.units or tr("Value"))
        self._item.setYRange(0, float(np.log10(histogram.counts.max() + 1.0)), padding=0.05)

    # Limits

    def _follow(self, window: Window) -> None:
        """Show the limits of a window that was set elsewhere, or here."""
        low, high = grey_limits(window)
        decimals = 0 if self._whole and low.is_integer() and high.is_integer() else 2
        blockers = [QSignalBlocker(field) for field in (self.low_field, self.high_field)]
        for field, value in ((self.low_field, low), (self.high_field, high)):
            field.setDecimals(decimals if high - low >= 1 else _decimals(high - low))
            field.setValue(value)
        del blockers
        if self._following:
            return
        self._following = True
        self.limits.setRegion((low, high))
        self._following = False
        if self.histogram is not None:
            edges = self.histogram.edges
            ends = min(low, float(edges[0])), max(high, float(edges[-1]))
            self._item.setXRange(*ends, padding=0.02)

    @property
    def _whole(self) -> bool:
        frame = self._window.canvas.frame
        return frame is not None and frame.stored.dtype.kind in "iu"

    def _dragged(self, *_args: Any) -> None:
        if not self._following:
            limits: Any = self.limits.getRegion()
            low, high = limits
            self._set(float(low), float(high))

    def _typed(self, _value: float) -> None:
        self._set(self.low_field.value(), self.high_field.value())
        self.refresh()  # also where the limits were refused

    def _set(self, low: float, high: float) -> None:
        """Set the window by its limits; the display's own signal brings the fields up to date."""
        shown = self._window.canvas.shown_window
        if shown is None or high < low:
            return
        function = shown.function
        if function is VoiFunction.LINEAR and not self._whole and high - low < 1:
            function = VoiFunction.LINEAR_EXACT  # LINEAR is never narrower than 1
        if function is not VoiFunction.LINEAR and self.histogram is not None:
            edges = self.histogram.edges
            high = max(high, low + _LEAST_SHARE * float(edges[-1] - edges[0]))
        self._following = True
        try:
            self._window.canvas.set_window(window_between(low, high, function))
        finally:
            self._following = False
