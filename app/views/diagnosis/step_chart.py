"""The probabilities step by step: one line a disease, its range as a band."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyqtgraph as pg
from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtWidgets import QWidget

from app.tools.diagnosis.differential import Differential
from app.views.layouts import column
from app.views.theme import THEME, TYPE, color, ui_font
from app.views.translation import tr

_LEAST_HEIGHT = 130
_DOT = 8  # px


class StepChart(QWidget):
    """A chart of a differential's prefixes; a click tells the nearest step, from 0.

    Attributes:
        plot: The pyqtgraph widget; None until steps are shown.
    """

    step_clicked = Signal(int)

    def __init__(self) -> None:
        super().__init__()
        self.plot: Any = None  # made when it is needed first: pyqtgraph's take a while
        self._drawn: tuple[Sequence[Differential], int] | None = None
        self._layout = column(parent=self)
        self.setMinimumHeight(_LEAST_HEIGHT)
        self._soon = QTimer(self, singleShot=True, interval=0)
        self._soon.timeout.connect(self._make)

    @property
    def busy(self) -> bool:
        return self._soon.isActive()

    def show_steps(self, prefixes: Sequence[Differential], chosen: int) -> None:
        self._drawn = prefixes, chosen
        if self.plot is None:
            self._soon.start()  # 35 ms, in a turn of the event loop of its own
        else:
            self._draw(prefixes, chosen)

    def _make(self) -> None:
        if self.plot is None:
            self.plot = _make_plot()
            self.plot.scene().sigMouseClicked.connect(self._clicked)
            self._layout.addWidget(self.plot)
            self._soon.start()
        else:
            self.restyle()

    def _draw(self, prefixes: Sequence[Differential], chosen: int) -> None:
        plot, item = self.plot, self.plot.getPlotItem()
        plot.clear()
        plot.setBackground(THEME.panel)
        for name in ("left", "bottom"):
            plot.getAxis(name).setPen(THEME.border)
            plot.getAxis(name).setTextPen(THEME.text_muted)
        steps = list(range(len(prefixes)))
        every = max(1, len(steps) // 10)
        ticks = [(step, str(step)) for step in steps[::every]]
        plot.getAxis("bottom").setTicks([ticks])
        for place, key in enumerate(prefixes[0].presentation.hypotheses):
            tint = THEME.annotation_color(place)
            own = [prefix.probability(key) for prefix in prefixes]
            low = pg.PlotCurveItem(steps, [100 * one.low for one in own], pen=None)
            high = pg.PlotCurveItem(steps, [100 * one.high for one in own], pen=None)
            for one in (low, high, pg.FillBetweenItem(low, high, brush=color(tint, 0.18))):
                item.addItem(one)
            values = [100 * one.value for one in own]
            item.addItem(pg.PlotCurveItem(steps, values, pen=pg.mkPen(tint, width=2)))
            item.addItem(pg.ScatterPlotItem(x=steps, y=values, size=_DOT, pen=None, brush=tint))
        pen = pg.mkPen(THEME.accent, style=Qt.PenStyle.DashLine)
        item.addItem(pg.InfiniteLine(chosen, angle=90, pen=pen))
        plot.setXRange(-0.3, max(steps[-1], 1) + 0.3, padding=0)
        plot.setYRange(0, 100, padding=0.04)

    def restyle(self) -> None:
        if self._drawn is not None and self.plot is not None:
            self._draw(*self._drawn)

    def clear(self) -> None:
        """Forget the steps that are shown."""
        self._drawn = None
        if self.plot is not None:
            self.plot.clear()

    def close_models(self) -> None:
        """Delete the chart; pyqtgraph's items crash when Qt deletes them with the window."""
        self._soon.stop()
        plot, self.plot, self._drawn = self.plot, None, None
        if plot is not None:
            plot.close()
            plot.deleteLater()

    def _clicked(self, event: Any) -> None:
        if self._drawn is not None and self.plot is not None:
            at = self.plot.getPlotItem().vb.mapSceneToView(event.scenePos())
            step = min(max(round(at.x()), 0), len(self._drawn[0]) - 1)
            self.step_clicked.emit(step)


def _make_plot() -> Any:
    plot = pg.PlotWidget(background=THEME.panel)
    plot.setAccessibleName(tr("Probabilities step by step"))
    plot.setMouseEnabled(False, False)
    plot.setMenuEnabled(False)
    plot.hideButtons()
    plot.getAxis("left").setTicks([[(value, f"{value}%") for value in (0, 25, 50, 75, 100)]])
    for name in ("left", "bottom"):
        plot.getAxis(name).setStyle(tickFont=ui_font(TYPE.caption))
    return plot
