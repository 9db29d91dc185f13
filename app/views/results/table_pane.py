"""A table that a tool made: sorted, filtered, exported, and linked to the objects of images."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial

from PySide6.QtCore import QModelIndex, QSignalBlocker, Qt, QTimer, Signal
from PySide6.QtGui import QGuiApplication, QKeySequence, QShortcut
from PySide6.QtWidgets import QAbstractItemView, QLineEdit, QMenu, QToolButton, QWidget
from shiboken6 import isValid

from app.errors import SightlineError
from app.tools.plot_data import text_of
from app.tools.tables import Table, Value, read_table, titled
from app.views.background import Background
from app.views.canvas.pane import PaneView
from app.views.layouts import column, row
from app.views.results.row_links import GONE, RowLinks
from app.views.theme import SPACE
from app.views.translation import tr
from app.views.widgets import Index, RowModel, RowTable, label, plain_tip, tool_button
from app.workspace.viewport import Pane
from app.workspace.workspace import Workspace

_PAUSE_MS = 200  # after a key in the filter
_HEIGHT = 24
_LEAST_WIDTH, _MOST_WIDTH = 70, 260  # px of a column at first
_SAMPLE = 200  # rows by which widths are chosen
_COMPARISON = re.compile(r"(.+?)(<=|>=|<|>|=)(.+)")
_HOLDS: dict[str, Callable[[float, float], bool]] = {
    "<": lambda one, other: one < other,
    ">": lambda one, other: one > other,
    "<=": lambda one, other: one <= other,
    ">=": lambda one, other: one >= other,
    "=": lambda one, other: one == other,
}


def matching(table: Table, text: str) -> list[int]:
    """Return the rows that a filter lets through, in the order of the table.

    Each word must be found in a cell; "area>50" compares the numbers of a column, which may be
    named by the beginning of its name.
    """
    words: list[str] = []
    compared: list[tuple[int, str, float]] = []
    for word in text.casefold().split():
        found = _COMPARISON.fullmatch(word)
        place = _column_named(table, found[1]) if found else None
        value = _number(found[3]) if found else None
        if found and place is not None and value is not None:
            compared.append((place, found[2], value))
        else:
            words.append(word)

    def passes(cells: tuple[Value, ...]) -> bool:
        for place, sign, value in compared:
            cell = cells[place]
            if not isinstance(cell, int | float) or not _HOLDS[sign](cell, value):
                return False
        return all(any(word in str(cell).casefold() for cell in cells) for word in words)

    return [number for number, cells in enumerate(table.rows) if passes(cells)]


def _number(text: str) -> float | None:
    try:
        return float(text.replace(",", "."))
    except ValueError:
        return None


def _column_named(table: Table, name: str) -> int | None:
    names = [one.casefold() for one in table.columns]
    if name in names:
        return names.index(name)
    return next((place for place, one in enumerate(names) if one.startswith(name)), None)


def arranged(table: Table, text: str, by: int, *, descending: bool) -> list[int]:
    """Return the rows that a filter lets through, sorted by a column; -1 for the table's order.

    Numbers come before words, and cells without a value last in both directions.
    """
    rows = matching(table, text)
    if by < 0:
        return rows
    with_value = [one for one in rows if table.rows[one][by] is not None]

    def key(number: int) -> tuple[bool, float, str]:
        cell = table.rows[number][by]
        words = isinstance(cell, str)
        return words, 0.0 if words else float(cell or 0), cell.casefold() if words else ""

    with_value.sort(key=key, reverse=descending)
    return with_value + [one for one in rows if table.rows[one][by] is None]


class TableModel(RowModel):
    """The model of a table: its rows in the order in which they are shown."""

    def __init__(
        self, table: Table, arrange: Callable[[int, bool], object], parent: QWidget
    ) -> None:
        super().__init__(parent)
        self.table = table
        self.columns = tuple(titled(table, name) for name in table.columns)
        self.rows: Sequence[int] = range(len(table.rows))
        self._arrange = arrange

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> object:
        if orientation != Qt.Orientation.Horizontal:
            return None
        if role == Qt.ItemDataRole.TextAlignmentRole:
            first = self.table.rows[0][section] if self.table.rows else None
            right = isinstance(first, int | float)
            side = Qt.AlignmentFlag.AlignRight if right else Qt.AlignmentFlag.AlignLeft
            return int(side | Qt.AlignmentFlag.AlignVCenter)
        # The tool's own names, and no translation of them.
        return self.columns[section] if role == Qt.ItemDataRole.DisplayRole else None

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        cell = self.table.rows[self.rows[index.row()]][index.column()]
        if role == Qt.ItemDataRole.DisplayRole:
            return text_of(cell)
        if role == Qt.ItemDataRole.ToolTipRole:
            return plain_tip("" if cell is None else str(cell))
        if role == Qt.ItemDataRole.TextAlignmentRole and isinstance(cell, int | float):
            return int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        return None

    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        self._arrange(column, order == Qt.SortOrder.DescendingOrder)


class TablePane(PaneView):
    """A pane with a table. A chosen row selects its object in the image, and the reverse.

    Attributes:
        filter: Words and comparisons that the rows shown must match.
    """

    export_wanted = Signal(bool)  # the rows shown only

    def __init__(
        self,
        pane: Pane,
        workspace: Workspace,
        background: Background,
        close: Callable[[], object],
    ) -> None:
        self._workspace, self._background = workspace, background
        self.model: TableModel | None = None
        self._links: RowLinks | None = None
        self._sorted = -1, False
        self._asked = 0  # number of the arrangement that was asked for last
        self._following = False
        self.filter = QLineEdit()
        self.filter.setPlaceholderText(tr("Filter: words, or area>50"))
        self.filter.setAccessibleName(tr("Filter the rows"))
        self.filter.setClearButtonEnabled(True)
        self._pause = QTimer(self.filter, singleShot=True, interval=_PAUSE_MS)
        self.filter.textChanged.connect(lambda _text: self._pause.start())
        self.count = label("", "caption")
        self._place = QWidget()
        self._page = column(
            row(self.filter, self.count, spacing=SPACE.s, margins=(SPACE.m, 0, SPACE.m, SPACE.s)),
            spacing=0,
            parent=self._place,
        )
        self.view: RowTable | None = None
        self.export_button = tool_button("download", tr("Export the table"), None, 14)
        menu = QMenu(self.export_button)
        self.export_all = menu.addAction(tr("All rows as CSV…"))
        self.export_shown = menu.addAction(tr("Rows shown as CSV…"))
        self.export_button.setMenu(menu)
        self.export_button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.export_button.setEnabled(False)
        super().__init__(pane, self._place, [self.export_button], close)
        self._pause.timeout.connect(self._arrange)
        self.export_all.triggered.connect(lambda: self.export_wanted.emit(False))
        self.export_shown.triggered.connect(lambda: self.export_wanted.emit(True))
        self._forget = workspace.annotations.object_changed.connect(self._follow)
        self.destroyed.connect(lambda _object=None, forget=self._forget: forget())
        background.submit(partial(_read, pane), self._take, self.fail)

    def exported(self, *, shown: bool) -> tuple[Table, list[int]] | None:
        """Return the table and which of its rows are to be exported; None until it is read."""
        if self.model is None:
            return None
        every = range(len(self.model.table.rows))
        return self.model.table, list(self.model.rows if shown else every)

    def _take(self, read: tuple[Table, RowLinks]) -> None:
        if not isValid(self):
            return  # closed meanwhile
        table, self._links = read
        self.model = TableModel(table, self._sort, self)
        view = RowTable(self.model, self.pane.title, row_height=_HEIGHT, widths=self._widths(table))
        view.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        view.horizontalHeader().setSortIndicator(-1, Qt.SortOrder.AscendingOrder)
        view.setSortingEnabled(True)
        view.selectionModel().currentRowChanged.connect(lambda now, _was: self._choose(now))
        copy = QShortcut(QKeySequence(QKeySequence.StandardKey.Copy), view)
        copy.setContext(Qt.ShortcutContext.WidgetShortcut)
        copy.activated.connect(self._copy)
        self.view = view
        self._page.addWidget(view, 1)
        self.setFocusProxy(view)
        self.export_button.setEnabled(True)
        self._tell_count()
        self.ready = True
        annotations = self._workspace.annotations
        self._follow(annotations.selected, annotations.selected_object)

    def fail(self, error: SightlineError) -> None:
        super().fail(error)
        if isValid(self):
            self.filter.setEnabled(False)

    def _widths(self, table: Table) -> dict[int, int]:
        metrics = self.fontMetrics()
        widths: dict[int, int] = {}
        for place, name in enumerate(table.columns):
            texts = [titled(table, name), *(text_of(one[place]) for one in table.rows[:_SAMPLE])]
            width = max(metrics.horizontalAdvance(text) for text in texts) + 3 * SPACE.m
            widths[place] = min(max(width, _LEAST_WIDTH), _MOST_WIDTH)
        return widths

    # Order

    def _sort(self, column: int, descending: bool) -> None:
        self._sorted = column, descending
        self._arrange()

    def _arrange(self) -> None:
        if self.model is None:
            return
        self._asked += 1
        by, descending = self._sorted
        work = partial(arranged, self.model.table, self.filter.text(), by, descending=descending)
        self._background.submit(work, partial(self._take_order, self._asked), self.fail)

    def _take_order(self, number: int, rows: list[int]) -> None:
        if not isValid(self) or number != self._asked or self.model is None:
            return
        self._following = True
        self.model.show_rows(rows)
        self._following = False
        self._tell_count()
        annotations = self._workspace.annotations
        self._follow(annotations.selected, annotations.selected_object)

    def _tell_count(self) -> None:
        assert self.model is not None
        shown, every = len(self.model.rows), len(self.model.table.rows)
        self.count.setText(
            tr("{shown} of {count} rows").format(shown=f"{shown:,}", count=f"{every:,}")
        )
        self.export_shown.setEnabled(0 < shown < every)

    # Links

    def _choose(self, index: QModelIndex) -> None:
        """Select the object that the current row is about."""
        if self._following or not index.isValid() or self.model is None or self._links is None:
            return
        there = self._links.choose(self.model.rows[index.row()], self._workspace)
        self.tell("" if there else tr(GONE))

    def _follow(self, finding_id: str, number: int) -> None:
        if not isValid(self) or self.model is None or self._links is None or self.view is None:
            return
        row_number = self._links.row_of(finding_id, number) if number else None
        if row_number is None or row_number not in self.model.rows:
            if self._links and not number:
                with QSignalBlocker(self.view.selectionModel()):
                    self.view.clearSelection()
                self.view.viewport().update()
            return
        place = list(self.model.rows).index(row_number)
        current, selection = self.view.currentIndex(), self.view.selectionModel()
        if current.row() == place and selection.isSelected(current):
            return
        self._following = True
        self.view.selectRow(place)
        self.view.scrollTo(self.model.index(place, 0))
        self._following = False

    def _copy(self) -> None:
        """Put the selected rows on the clipboard, with the columns' names."""
        if self.view is None or self.model is None:
            return
        places = sorted({index.row() for index in self.view.selectedIndexes()})
        rows = [self.model.table.rows[self.model.rows[place]] for place in places]
        lines = [
            self.model.columns,
            *(["" if one is None else str(one) for one in row] for row in rows),
        ]
        QGuiApplication.clipboard().setText("\n".join("\t".join(line) for line in lines))


def _read(pane: Pane) -> tuple[Table, RowLinks]:
    table = read_table(pane.path)
    options = pane.options
    units = options.get("units")
    if isinstance(units, dict):
        table = Table(table.columns, table.rows, {str(k): str(v) for k, v in units.items()})
    findings = options.get("findings")
    links = RowLinks(
        table,
        str(options.get("image_column") or ""),
        str(options.get("label_column") or ""),
        findings if isinstance(findings, dict) else {},
    )
    return table, links
