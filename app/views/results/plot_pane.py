"""A plot that a tool made, drawn by pyqtgraph; a point selects its object and the reverse."""

from __future__ import annotations

import html
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyqtgraph as pg
from numpy.typing import NDArray
from PySide6.QtCore import QPointF, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QIcon, QImage, QPixmap
from PySide6.QtWidgets import QAbstractItemView, QListWidget, QListWidgetItem, QStackedWidget
from shiboken6 import isValid

from app.errors import SightlineError
from app.tools import plot_data
from app.tools.plot_data import Bars, Distribution, Drawn, Floats, Gallery, Histogram, Points
from app.tools.plots import Plot, pictures_of, read_plot
from app.tools.tables import read_table
from app.views.background import Background
from app.views.canvas.pane import PaneView
from app.views.chat import thumbnails
from app.views.results.row_links import GONE, RowLinks
from app.views.theme import THEME, TYPE, changes, color, ui_font
from app.views.translation import tr
from app.views.widgets import tool_button
from app.workspace.viewport import Pane
from app.workspace.workspace import Workspace

_POINT, _RING = 6, 15  # px
_BAR = 0.7  # width of bars and boxes, in places of categories
_HALF_BOX, _HALF_VIOLIN, _JITTER = 0.3, 0.4, 0.12
_MOST_POINTS = 25_000  # that are drawn: in 50 ms
_POINTS_AT_ONCE = 4000  # in one turn of the event loop
_SHADES = 32
_WIDEST = 30  # letters of all names below an axis that fit beside each other
_MOST_DOTS = 2000  # values that are all drawn over boxes and violins; else outliers only
_MOST_PICTURES = 500
_PICTURES_AT_ONCE = 16
_MAP = "viridis"


class PlotPane(PaneView):
    """A pane with a plot.

    Attributes:
        chart: The axes; not seen for a gallery.
        gallery: The pictures of a gallery.
        data: What is drawn; None until it has been read.
    """

    export_wanted = Signal(bool)

    def __init__(
        self,
        pane: Pane,
        workspace: Workspace,
        background: Background,
        close: Callable[[], object],
    ) -> None:
        self._workspace, self._background = workspace, background
        self.plot: Plot | None = None
        self.data: Drawn | None = None
        self._links: RowLinks | None = None
        self._dots: dict[int, tuple[float, float]] = {}  # where a row's point is
        self._parts: deque[Callable[[], None]] = deque()  # points to be drawn
        self._soon = QTimer(singleShot=True, interval=0)
        self._inks: list[Any] = []  # lines and error bars in the text's colour
        self.chart = pg.PlotWidget(background=THEME.panel)
        self.chart.setAccessibleName(pane.title)
        self.chart.hideButtons()
        self.chart.setMenuEnabled(False)
        self._legend: Any = None
        self._ring = pg.ScatterPlotItem(size=_RING, brush=None)
        self._ring.setZValue(100)
        self.gallery = QListWidget()
        self.gallery.setViewMode(QListWidget.ViewMode.IconMode)
        self.gallery.setResizeMode(QListWidget.ResizeMode.Adjust)
        self.gallery.setMovement(QListWidget.Movement.Static)
        self.gallery.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.gallery.setIconSize(QSize(thumbnails.SIDE, thumbnails.SIDE))
        self.gallery.setUniformItemSizes(True)
        self.gallery.setAccessibleName(pane.title)
        self.gallery.currentItemChanged.connect(self._choose_picture)
        pages = QStackedWidget()
        pages.addWidget(self.chart)
        pages.addWidget(self.gallery)
        self._pages = pages
        self.export_button = tool_button(
            "download", tr("Export the plot…"), lambda: self.export_wanted.emit(False), 14
        )
        self.export_button.setEnabled(False)
        self._item: Any = self.chart.getPlotItem()
        fit = tool_button("maximize", tr("Fit"), self._item.autoRange, 14)
        super().__init__(pane, pages, [fit, self.export_button], close)
        self._soon.setParent(self)
        self._soon.timeout.connect(self._draw_next)
        for name in ("left", "bottom"):
            self.chart.getAxis(name).setStyle(tickFont=ui_font(TYPE.caption))
        self._forget = workspace.annotations.object_changed.connect(self._follow)
        self.destroyed.connect(lambda _object=None, forget=self._forget: forget())
        changes().changed.connect(self._tint)
        self._tint()
        background.submit(partial(_read, pane.path), self._take, self.fail)

    def _take(self, read: tuple[Plot, Drawn, tuple[str, str], RowLinks]) -> None:
        if not isValid(self):
            return  # closed meanwhile
        self.plot, self.data, titles, self._links = read
        if self.plot.note:
            self.description.setText(self.plot.note)
            self.description.show()
        if isinstance(self.data, Gallery):
            self._show_gallery(self.data)
        else:
            self._draw(self.plot, self.data, titles)
        self._draw_next()

    def _draw_next(self) -> None:
        if self._parts:
            self._parts.popleft()()
        if self._parts:
            self._soon.start()
            return
        self._item.addItem(self._ring)
        self._item.autoRange()
        self._tint()
        self.export_button.setEnabled(True)
        self.ready = True
        annotations = self._workspace.annotations
        self._follow(annotations.selected, annotations.selected_object)

    # Drawing

    def _draw(self, plot: Plot, data: Drawn, titles: tuple[str, str]) -> None:
        x_title, y_title = titles
        match data:
            case Points():
                self._draw_points(plot, data)
            case Bars():
                self._draw_bars(plot, data)
            case Histogram():
                heights = data.counts.astype(np.float64)
                self._add(
                    pg.BarGraphItem(
                        x0=data.edges[:-1],
                        x1=data.edges[1:],
                        y0=np.zeros(len(heights)),
                        height=heights,
                        brush=plot_data.PALETTE[0],
                        pen=None,
                    )
                )
                y_title = y_title or tr("Count")
            case Gallery():
                pass
            case _:
                self._draw_distributions(data, violins=plot.kind == "violin")
        if self._legend is not None:  # before the layout stretches it
            size = self._legend.geometry().size()  # its own `size` is none
            self._legend.setMinimumSize(size)
            self._legend.setMaximumSize(size)
        for name, title in (("bottom", x_title), ("left", y_title)):
            # pyqtgraph takes it for HTML.
            self.chart.getAxis(name).setLabel(html.escape(title))

    def _add(self, item: Any, *, ink: bool = False) -> None:
        self.chart.addItem(item)
        if ink:
            self._inks.append(item)

    def _name_groups(self, several: bool) -> None:
        """Have what is added from now on named in a legend."""
        if several:
            self._legend = pg.LegendItem(labelTextSize=f"{TYPE.caption}px", verSpacing=-4)
            self._item.legend = self._legend
            # Beside the axes, where it covers nothing.
            self._item.layout.addItem(self._legend, 2, 5)
            self._item.layout.setAlignment(self._legend, Qt.AlignmentFlag.AlignTop)

    def _draw_points(self, plot: Plot, data: Points) -> None:
        self._name_groups(len(data.groups) > 1)
        drawn = sum(len(group.rows) for group in data.groups)
        if drawn > _MOST_POINTS:
            text = tr("{shown} of {count} points are drawn; the table and the file have all.")
            self.tell(text.format(shown=f"{_MOST_POINTS:,}", count=f"{drawn:,}"))
        share = min(_MOST_POINTS / max(drawn, 1), 1.0)
        for group in data.groups:
            if plot.kind == "line":
                pen, name = pg.mkPen(group.color, width=2), _legend_text(plot, group.name)
                self._add(pg.PlotCurveItem(group.x, group.y, pen=pen, name=name))
            if group.error is not None:
                bars = pg.ErrorBarItem(x=group.x, y=group.y, height=2 * group.error, beam=0.1)
                self._add(bars, ink=True)
            if data.shade is not None:
                for tint, chosen in self._shaded(data.shade, group.rows, plot.color):
                    rows, x, y = group.rows[chosen], group.x[chosen], group.y[chosen]
                    self._scatter(x, y, rows, tint, share)
                continue
            if plot.kind == "scatter" and self._legend is not None:
                # Named at once: the points come in turns.
                name = _legend_text(plot, group.name)
                self._add(pg.ScatterPlotItem(size=_POINT, pen=None, brush=group.color, name=name))
            self._scatter(group.x, group.y, group.rows, group.color, share)
        for axis, names in (("bottom", data.x_names), ("left", data.y_names)):
            if names:
                self._name_places(axis, names)

    def _shaded(
        self, values: Floats, rows: NDArray[np.int64], title: str
    ) -> list[tuple[Any, NDArray[np.bool_]]]:
        """Return colours by the rows' values, each with its rows, and show their scale."""
        known = values[np.isfinite(values)]
        low, high = float(known.min()), float(known.max())
        colors: Any = pg.colormap.get(_MAP)
        share = np.nan_to_num((values[rows] - low) / ((high - low) or 1.0))
        level = np.clip(share * _SHADES, 0, _SHADES - 1).astype(int)
        bar: Any = pg.ColorBarItem(values=(low, high), colorMap=colors, interactive=False, width=12)
        bar.setLabel("right", title)
        self._item.layout.addItem(bar, 2, 5)
        self._inks.append(bar)
        shades = colors.map((np.arange(_SHADES) + 0.5) / _SHADES, mode="qcolor")
        return [(shades[one], level == one) for one in np.unique(level).tolist()]

    def _scatter(
        self,
        x: Floats,
        y: Floats,
        rows: NDArray[np.int64],
        tint: Any,
        share: float = 1.0,
    ) -> None:
        """Have points drawn that select objects; `share` below 1: a fixed random choice."""
        self._dots.update(zip(rows.tolist(), zip(x.tolist(), y.tolist(), strict=True), strict=True))
        if share < 1:
            chosen = np.random.default_rng(0).permutation(len(rows))[: round(share * len(rows))]
            x, y, rows = x[chosen], y[chosen], rows[chosen]
        for start in range(0, len(rows), _POINTS_AT_ONCE):
            part = slice(start, start + _POINTS_AT_ONCE)
            self._parts.append(partial(self._add_dots, x[part], y[part], rows[part], tint))

    def _add_dots(self, x: Floats, y: Floats, rows: NDArray[np.int64], tint: Any) -> None:
        dots = pg.ScatterPlotItem(x=x, y=y, data=rows.tolist(), size=_POINT, pen=None, brush=tint)
        dots.sigClicked.connect(self._clicked)
        self._add(dots)

    def _draw_bars(self, plot: Plot, data: Bars) -> None:
        self._name_groups(len(data.parts) > 1)
        places = np.arange(len(data.names), dtype=np.float64)
        below = np.zeros(len(data.names))
        for name, tint, heights in data.parts:
            self._add(
                pg.BarGraphItem(
                    x=places,
                    y0=below.copy(),
                    height=heights,
                    width=_BAR,
                    brush=tint,
                    pen=pg.mkPen(tint),
                    name=_legend_text(plot, name),
                )
            )
            below += heights
        if data.errors is not None:
            bars = pg.ErrorBarItem(x=places, y=below, height=2 * data.errors, beam=0.15)
            self._add(bars, ink=True)
        self._name_places("bottom", data.names)

    def _draw_distributions(self, data: Sequence[Distribution], *, violins: bool) -> None:
        every = sum(len(one.values) for one in data) <= _MOST_DOTS
        for place, one in enumerate(data):
            (self._draw_violin if violins else self._draw_box)(place, one)
            chosen = np.ones(len(one.values), bool) if every else one.outliers
            # Beside each other by a fixed pattern, so that the plot looks the same each time.
            aside: Any = (np.arange(len(one.values)) * 0.618 % 1 - 0.5) * 2 * _JITTER
            x: Any = (place + (aside if every else 0 * aside))[chosen]
            self._scatter(x, one.values[chosen], one.rows[chosen], color(THEME.text_muted, 0.75))
        self._name_places("bottom", [one.name for one in data])

    def _draw_box(self, place: int, one: Distribution) -> None:
        low, middle, high = one.quartiles
        left, right = place - _HALF_BOX, place + _HALF_BOX
        self._add(
            pg.BarGraphItem(
                x0=[left], x1=[right], y0=[low], y1=[high], brush=color(one.color, 0.55), pen=None
            )
        )
        (least, most), cap = one.whiskers, _HALF_BOX / 2
        lines = (
            *(((left, low), (right, low)), ((left, high), (right, high))),
            *(((left, low), (left, high)), ((right, low), (right, high))),
            *(((place, low), (place, least)), ((place, high), (place, most))),
            *(
                ((place - cap, least), (place + cap, least)),
                ((place - cap, most), (place + cap, most)),
            ),
        )
        self._lines(lines, 1)
        self._lines((((left, middle), (right, middle)),), 3)

    def _draw_violin(self, place: int, one: Distribution) -> None:
        if len(one.grid):
            width = _HALF_VIOLIN * one.density
            sides = [
                pg.PlotCurveItem(place + side * width, one.grid, pen=one.color) for side in (-1, 1)
            ]
            for side in sides:
                self._add(side)
            self._add(pg.FillBetweenItem(*sides, brush=color(one.color, 0.45)))
        low, middle, high = one.quartiles
        self._lines((((place, low), (place, high)),), 4)
        self._lines((((place - _JITTER, middle), (place + _JITTER, middle)),), 3)

    def _lines(self, lines: Any, width: int) -> None:
        points = np.array(lines, np.float64).reshape(-1, 2)
        curve = pg.PlotCurveItem(points[:, 0], points[:, 1], connect="pairs")
        curve.line_width = width  # type: ignore[attr-defined]
        self._add(curve, ink=True)

    def _name_places(self, axis: str, names: Sequence[str]) -> None:
        item = self.chart.getAxis(axis)
        if axis == "bottom" and sum(map(len, names)) > _WIDEST:
            names = [name.replace(" ", "\n") for name in names]
            lines = max(name.count("\n") for name in names) + 1
            if len(names) * max(len(line) for name in names for line in name.split("\n")) > _WIDEST:
                # Every second one lower, so that neighbours do not cover each other.
                names = [place % 2 * lines * "\n" + name for place, name in enumerate(names)]
                lines *= 2
            item.setStyle(tickTextHeight=18 * lines)
        item.setStyle(hideOverlappingLabels=False)  # the last one would be missing
        item.setTicks([list(enumerate(names))])

    def _tint(self) -> None:
        if not isValid(self.chart):
            return
        self.chart.setBackground(THEME.panel)
        for name in ("left", "bottom"):
            axis = self.chart.getAxis(name)
            axis.setPen(THEME.border)
            axis.setTextPen(THEME.text_muted)
        for item in self._inks:
            if isinstance(item, pg.ErrorBarItem):
                item.setData(pen=pg.mkPen(THEME.text_muted))
            elif isinstance(item, pg.PlotCurveItem):
                item.setPen(pg.mkPen(THEME.text, width=getattr(item, "line_width", 1)))
            else:
                item.axis.setPen(THEME.border)
                item.axis.setTextPen(THEME.text_muted)
        self._ring.setPen(pg.mkPen(THEME.accent, width=3))
        if self._legend is not None:
            self._legend.setLabelTextColor(THEME.text)
            for _sample, text in self._legend.items:
                text.setText(text.text, color=THEME.text)

    # Gallery

    def _show_gallery(self, data: Gallery) -> None:
        self._pages.setCurrentWidget(self.gallery)
        found = pictures_of(self.pane.path, data.pictures)
        for row, _file, caption in found[:_MOST_PICTURES]:
            item = QListWidgetItem(caption)
            item.setData(Qt.ItemDataRole.UserRole, row)
            self.gallery.addItem(item)
        if len(found) > _MOST_PICTURES:
            text = tr("The first {shown} of {count} pictures are shown.")
            self.tell(text.format(shown=_MOST_PICTURES, count=f"{len(found):,}"))
        self._load([file for _row, file, _caption in found[:_MOST_PICTURES]], 0)

    def _load(self, files: Sequence[Path | None], start: int) -> None:
        """Read the pictures of a gallery from one on, some at a time."""
        if start < len(files):
            part = files[start : start + _PICTURES_AT_ONCE]
            self._background.submit(
                partial(_thumbnails, part), partial(self._take_pictures, files, start)
            )

    def _take_pictures(
        self, files: Sequence[Path | None], start: int, pictures: Sequence[QImage | None]
    ) -> None:
        if not isValid(self):
            return
        for number, picture in enumerate(pictures, start):
            if picture is not None:
                self.gallery.item(number).setIcon(QIcon(QPixmap.fromImage(picture)))
        self._load(files, start + len(pictures))

    # Links

    def _clicked(self, dots: Any, points: Any, event: Any) -> None:
        """Select the object of the point nearest to a click."""
        if not len(points):
            return
        at: QPointF = event.pos()
        sizes: Any = dots.pixelSize() if hasattr(dots, "pixelSize") else (1.0, 1.0)

        def away(point: Any) -> float:
            step = point.pos() - at
            return float(np.hypot(step.x() / (sizes[0] or 1), step.y() / (sizes[1] or 1)))

        self._choose(int(min(points, key=away).data()))

    def _choose_picture(self, item: QListWidgetItem | None, _before: object = None) -> None:
        if item is not None:
            self._choose(int(item.data(Qt.ItemDataRole.UserRole)))

    def _choose(self, row: int) -> None:
        if self._links is not None:
            there = self._links.choose(row, self._workspace)
            self.tell("" if there else tr(GONE))
            if not self._links and row in self._dots:
                self._mark(row)  # a point about no object is marked all the same

    def _mark(self, row: int | None) -> None:
        spot = self._dots.get(row) if row is not None else None
        self._ring.setData([spot[0]] if spot else [], [spot[1]] if spot else [])

    @property
    def marked(self) -> tuple[float, float] | None:
        """Where the marked point is; None without one."""
        x, y = self._ring.getData()
        return (float(x[0]), float(y[0])) if len(x) else None

    def _follow(self, finding_id: str, number: int) -> None:
        """Mark the point or picture of the object that is selected in the image."""
        if not isValid(self) or self._links is None:
            return
        row = self._links.row_of(finding_id, number) if number else None
        self._mark(row)
        if isinstance(self.data, Gallery):
            rows = [
                self.gallery.item(n).data(Qt.ItemDataRole.UserRole)
                for n in range(self.gallery.count())
            ]
            blocked = self.gallery.blockSignals(True)
            self.gallery.setCurrentRow(rows.index(row) if row in rows else -1)
            self.gallery.blockSignals(blocked)


def _read(path: Path) -> tuple[Plot, Drawn, tuple[str, str], RowLinks]:
    plot = read_plot(path)
    table = read_table(path.with_name(plot.table))
    data = plot_data.data_of(plot, table)
    links = RowLinks(table, plot.image_column, plot.label_column, plot.findings)
    return plot, data, plot_data.titles_of(plot, table), links


def _thumbnails(files: Sequence[Path | None]) -> list[QImage | None]:
    """Return small pictures; None where a file is no picture or not the plot's."""
    found: list[QImage | None] = []
    for file in files:
        try:
            found.append(thumbnails.read(file) if file is not None else None)
        except SightlineError:
            found.append(None)
    return found


def _legend_text(plot: Plot, name: str) -> str:
    """Return a group's name for a legend without a title: "cluster 2" for a number."""
    text = f"{plot.color} {name}" if name.isdecimal() and plot.color else name
    return html.escape(text)
