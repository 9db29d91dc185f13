"""The panel with a searchable table of the shown file's attributes, as plain text."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import QObject, Qt, QTimer
from PySide6.QtGui import QColor, QGuiApplication, QKeySequence, QShortcut
from PySide6.QtWidgets import QStackedLayout, QTableView, QWidget

from app.errors import SightlineError
from app.imaging.attributes import AttributeRow
from app.imaging.types import Instance
from app.views import wording
from app.views.layouts import column
from app.views.loader import Loader
from app.views.theme import SPACE, THEME, TYPE, mono_font
from app.views.translation import tr, tr_n, translatable
from app.views.widgets import EmptyState, Index, RowModel, RowTable, label, plain_tip, search_field
from app.views.wording import error_text
from app.workspace.workspace import Workspace

SEARCH_DELAY_MS = 120
MIN_WIDTH = 260
NAME, VALUE, TAG, VR = range(4)
_INDENT = "    "


class AttributeModel(RowModel):
    """The table model of the shown file's attributes that match the search."""

    columns = (
        translatable("Name"),
        translatable("Value"),
        translatable("Tag"),
        "VR",
    )  # what people read first, first

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._all: list[tuple[str, AttributeRow]] = []  # what is searched, the attribute
        self._words: list[str] = []

    @property
    def total(self) -> int:
        """Number of attributes in the file, whether or not they match the search."""
        return len(self._all)

    def set_rows(self, rows: Sequence[AttributeRow]) -> None:
        self._all = [(f"{one.tag} {one.keyword} {one.value}".casefold(), one) for one in rows]
        self._list()

    def search(self, text: str) -> None:
        """Keep the rows that contain every word in `text` in their tag, keyword or value."""
        self._words = text.casefold().split()
        self._list()

    def _list(self) -> None:
        words = self._words
        self.show_rows([row for text, row in self._all if all(word in text for word in words)])

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        row, column = self.rows[index.row()], index.column()
        if role == Qt.ItemDataRole.DisplayRole:
            name = _INDENT * row.depth + row.keyword
            # Direction marks in a value would show the digits of an ID in another order.
            return (name, wording.one_line(row.value), row.tag, row.vr)[column]
        if role == Qt.ItemDataRole.ToolTipRole and column in (NAME, VALUE):
            return plain_tip(row.keyword if column == NAME else row.value)
        if role == Qt.ItemDataRole.FontRole and column in (TAG, VR):
            return mono_font(TYPE.caption)
        if role == Qt.ItemDataRole.ForegroundRole and column in (TAG, VR):
            return QColor(THEME.text_muted)
        return None


class AttributesPanel(QWidget):
    """A panel that lists the shown file's attributes; it reads the file only while visible."""

    def __init__(self, workspace: Workspace, loader: Loader) -> None:
        super().__init__()
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.setProperty("surface", "panel")
        self.setMinimumWidth(MIN_WIDTH)
        self._workspace = workspace
        self._loader = loader
        self._shown: Instance | None = None
        self.model = AttributeModel(self)
        self.search = search_field(
            tr("Search tag, name or value"),
            tr("Search the attributes"),
            tr("List the attributes that contain all words"),
        )
        self.search.textChanged.connect(lambda _text: self._timer.start())
        self._timer = QTimer(self, singleShot=True, interval=SEARCH_DELAY_MS)
        self._timer.timeout.connect(self._apply_search)
        self.table = self._make_table()
        self.empty = EmptyState("table-properties", tr("No attributes"), tr("Open an image first."))
        self.summary = label("", "faint")
        self._stack = QStackedLayout()
        self._stack.addWidget(self.empty)
        self._stack.addWidget(self.table)
        margins = (SPACE.s, SPACE.xs, SPACE.s, SPACE.s)
        column(self.search, (self._stack, 1), self.summary, margins=margins, parent=self)
        workspace.image_changed.connect(self.refresh)

    def _make_table(self) -> QTableView:
        widths = {NAME: 130, VALUE: 170, TAG: 92}
        table = RowTable(self.model, tr("DICOM attributes"), row_height=25, widths=widths)
        table.setTextElideMode(Qt.TextElideMode.ElideRight)
        table.horizontalHeader().setStretchLastSection(True)
        copy = QShortcut(QKeySequence.StandardKey.Copy, table)
        copy.setContext(Qt.ShortcutContext.WidgetShortcut)
        copy.activated.connect(self._copy)
        return table

    def close_models(self) -> None:
        """Stop the search timer, so that it does not fire after the window has closed."""
        self._timer.stop()

    def showEvent(self, event: object) -> None:
        self.refresh()

    def refresh(self) -> None:
        """Read the attributes of the shown image, unless the panel is hidden or up to date."""
        instance = self._workspace.acquired
        if not self.isVisible() or (instance is self._shown and instance is not None):
            return
        self._shown = instance
        self.model.set_rows(())
        if instance is None:
            self._say(tr("No attributes"), tr("Open an image first."))
            return
        self._say(tr("Reading the attributes…"), "")
        self._loader.attributes(
            instance, partial(self._take, instance), partial(self._fail, instance)
        )

    def _take(self, instance: Instance, rows: Sequence[AttributeRow]) -> None:
        if instance is not self._shown:
            return
        self.model.set_rows(rows)
        self._stack.setCurrentIndex(1)
        self._summarise()

    def _fail(self, instance: Instance, error: SightlineError) -> None:
        if instance is self._shown:
            self._say(tr("The attributes cannot be read"), error_text(error))

    def _say(self, title: str, text: str) -> None:
        self.empty.title.setText(title)
        self.empty.text.setText(text)
        self._stack.setCurrentIndex(0)
        self.summary.setText("")

    def _apply_search(self) -> None:
        self.model.search(self.search.text())
        self._summarise()

    def _summarise(self) -> None:
        count, total = self.model.rowCount(), self.model.total
        self.summary.setText(
            tr("{count} of {total} attributes").format(count=count, total=total)
            if count != total
            else tr_n("%n attribute", "%n attributes", total)
        )

    def _copy(self) -> None:
        numbers = sorted({index.row() for index in self.table.selectedIndexes()})
        rows = [self.model.rows[number] for number in numbers]
        lines = ["\t".join((row.tag, row.keyword, row.vr, row.value)) for row in rows]
        QGuiApplication.clipboard().setText("\n".join(lines))
