"""The values of a test over time, with its reference range."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QWidget

from app.views.layouts import column
from app.views.theme import SPACE, THEME, TYPE, ui_font
from app.views.translation import tr
from app.views.widgets import label

TrendPoint = tuple[float, float, str, str]
"""POSIX time, value, id of the entry, and name of the line ("" for the only one)."""

_LEAST_HEIGHT = 100
_DOT, _RING = 7, 14  # px


class TrendChart(QWidget):
    """A chart of values over time; a click on one tells the id of its entry.

    Attributes:
        plot: The pyqtgraph widget; None until values are shown.
    """

    entry_clicked = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self.plot: Any = None  # made when it is needed first: pyqtgraph's take a while
        self._drawn: tuple[Sequence[TrendPoint], str, Sequence[float], str] | None = None
        self.note = label("", "caption", wrap=True)
        self._layout = column(self.note, spacing=SPACE.xs, parent=self)

    def show_points(
        self, points: Sequence[TrendPoint], unit: str, limits: Sequence[float], chosen: str
    ) -> None:
        import pyqtgraph as pg

        self._drawn = points, unit, limits, chosen
        if self.plot is None:
            self.plot = _make_plot()
            self._layout.insertWidget(0, self.plot, 1)
        plot, item = self.plot, self.plot.getPlotItem()
        plot.clear()
        plot.setBackground(THEME.panel)
        for name in ("left", "bottom"):
            plot.getAxis(name).setPen(THEME.border)
            plot.getAxis(name).setTextPen(THEME.text_muted)
        # pyqtgraph takes it for HTML.
        plot.getAxis("left").setLabel(unit.replace("&", "&amp;").replace("<", "&lt;"))
        for limit in limits:
            pen = pg.mkPen(THEME.ok, style=Qt.PenStyle.DashLine)
            item.addItem(pg.InfiniteLine(limit, angle=0, pen=pen))
        names = list(dict.fromkeys(point[3] for point in points))
        for place, name in enumerate(names):
            own = [point for point in points if point[3] == name]
            x, y = np.array([point[0] for point in own]), np.array([point[1] for point in own])
            tint = THEME.annotation_color(place)
            item.addItem(pg.PlotCurveItem(x, y, pen=pg.mkPen(tint, width=2)))
            if len(names) > 1:
                text = pg.TextItem(name, color=tint, anchor=(1, 1.1))
                text.setFont(ui_font(TYPE.caption))
                text.setPos(x[-1], y[-1])
                item.addItem(text, ignoreBounds=True)
            ids = [point[2] for point in own]
            dots = pg.ScatterPlotItem(x=x, y=y, data=ids, size=_DOT, pen=None, brush=tint)
            dots.sigClicked.connect(self._clicked)
            item.addItem(dots)
        here = np.array([point[:2] for point in points if point[2] == chosen]).reshape(-1, 2)
        pen = pg.mkPen(THEME.accent, width=2)
        item.addItem(pg.ScatterPlotItem(pos=here, size=_RING, brush=None, pen=pen))
        item.autoRange(padding=0.25 if len(names) > 1 else None)  # names are above the lines
        self.note.setText(tr("{count} values").format(count=len({point[2] for point in points})))

    def restyle(self) -> None:
        if self._drawn is not None:
            self.show_points(*self._drawn)

    def clear(self) -> None:
        """Forget the values that are shown."""
        self._drawn = None
        if self.plot is not None:
            self.plot.clear()

    def close_models(self) -> None:
        """Delete the chart; pyqtgraph's items crash when Qt deletes them with the window."""
        plot, self.plot, self._drawn = self.plot, None, None
        if plot is not None:
            plot.close()
            plot.deleteLater()

    def _clicked(self, _dots: object, points: Any, _event: object) -> None:
        if len(points):
            self.entry_clicked.emit(str(points[0].data()))


def _make_plot() -> Any:
    import pyqtgraph as pg

    axes = {"bottom": pg.DateAxisItem(utcOffset=0)}
    plot = pg.PlotWidget(background=THEME.panel, axisItems=axes)
    plot.setAccessibleName(tr("Values over time"))
    plot.setMinimumHeight(_LEAST_HEIGHT)
    plot.setMouseEnabled(False, False)
    plot.setMenuEnabled(False)
    plot.hideButtons()
    for name in ("left", "bottom"):
        plot.getAxis(name).setStyle(tickFont=ui_font(TYPE.caption))
    return plot
