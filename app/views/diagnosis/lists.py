"""Lists of the diagnosis panel: rows of a title with smaller, wrapped text below."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from PySide6.QtCore import QEvent, QModelIndex, QRect, Qt, QTimer, Signal
from PySide6.QtGui import QColor, QFontMetrics, QKeyEvent, QPainter
from PySide6.QtWidgets import (
    QHeaderView,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
)

from app.views.theme import SPACE, THEME, TYPE, ui_font
from app.views.translation import tr, translatable
from app.views.widgets import Index, RowModel, RowTable, plain_tip

_STATES: tuple[bool | None, ...] = (True, False, None)  # of the columns after the first
_HINTS = (translatable("Present"), translatable("Absent"), translatable("Unknown"))
_KEYS: dict[str, bool | None] = {"+": True, "-": False, "0": None}
_STATE_WIDTH = 30  # px
_MARGINS = (SPACE.s, 5, -SPACE.xs, -5)
_WRAP = int(Qt.TextFlag.TextWordWrap) | int(Qt.AlignmentFlag.AlignLeft)


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a list: what it is about, its title, and smaller text below.

    `present` is the state of a finding, None if it is unknown.
    """

    key: str
    title: str
    about: str = ""
    present: bool | None = None


class _Model(RowModel):
    """The rows; columns after the first are the states that a finding can have."""

    columns = (translatable("Finding"),)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        row, column = self.row(index), index.column()
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return tr(_HINTS[column - 1]) if column else self._spoken(row)
        if not column:
            return row.title if role == Qt.ItemDataRole.DisplayRole else None
        chosen = row.present is _STATES[column - 1]
        if role == Qt.ItemDataRole.DisplayRole:
            return "●" if chosen else "○"
        if role == Qt.ItemDataRole.ToolTipRole:
            return plain_tip(tr(_HINTS[column - 1]))
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return int(Qt.AlignmentFlag.AlignCenter)
        if role == Qt.ItemDataRole.ForegroundRole:
            known = chosen and row.present is not None
            return QColor(THEME.accent if known else THEME.text_faint)
        return None

    def row(self, index: Index) -> Row:
        return self.rows[index.row()]

    def _spoken(self, row: Row) -> str:
        states = [tr(_HINTS[_STATES.index(row.present)])] if len(self.columns) > 1 else []
        return ", ".join(part for part in (row.title, *states, row.about) if part)


class _StateModel(_Model):
    columns = (translatable("Finding"), "+", "−", "?")

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> object:
        if section and role in (Qt.ItemDataRole.ToolTipRole, Qt.ItemDataRole.AccessibleTextRole):
            return tr(_HINTS[section - 1])
        if section and role == Qt.ItemDataRole.TextAlignmentRole:
            return int(Qt.AlignmentFlag.AlignCenter)
        return super().headerData(section, orientation, role)


class _TwoTexts(QStyledItemDelegate):
    """Paints a row's title, and what there is to say of it below in small letters, wrapped."""

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        if option.state & QStyle.StateFlag.State_Selected:
            painter.fillRect(option.rect, QColor(THEME.selected))
        place = option.rect.adjusted(*_MARGINS)
        painter.save()
        for text, pixels, tint in self._texts(index):
            painter.setFont(ui_font(pixels))
            painter.setPen(QColor(tint))
            used = painter.fontMetrics().boundingRect(place, _WRAP, text)
            painter.drawText(place, _WRAP, text)
            place.setTop(place.top() + used.height())
        painter.restore()

    def _texts(self, index: Index) -> list[tuple[str, int, str]]:
        model = index.model()
        assert isinstance(model, _Model)
        row = model.row(index)
        title = (row.title, TYPE.label, THEME.text)
        return [title, (row.about, TYPE.caption, THEME.text_muted)] if row.about else [title]


class RowList(RowTable):
    """Rows, of which one is current; `chosen` tells its key when the user chooses it."""

    chosen = Signal(str)

    def __init__(self, name: str, model: _Model | None = None) -> None:
        self.texts = model or _Model()
        self._quiet = False
        super().__init__(self.texts, name, row_height=26, widths={})
        self.setItemDelegateForColumn(0, _TwoTexts(self))
        header = self.horizontalHeader()
        header.setMinimumSectionSize(_STATE_WIDTH)
        header.setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        header.setVisible(len(self.texts.columns) > 1)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollMode(RowTable.ScrollMode.ScrollPerPixel)
        self._width = 0  # px, of the texts; Qt tells it before `columnWidth` does
        header.sectionResized.connect(self._take_width)
        self.selectionModel().currentRowChanged.connect(self._tell)

    def show_rows(self, rows: Sequence[Row]) -> None:
        """Show rows; the current one stays current, and the list where it is scrolled to."""
        before = self.current() if self.currentIndex().isValid() else None
        keys = [one.key for one in rows]
        if keys and [one.key for one in self.texts.rows] == keys:
            self.texts.rows = rows
            last = self.texts.index(len(rows) - 1, len(self.texts.columns) - 1)
            self.texts.dataChanged.emit(self.texts.index(0, 0), last)
            self._fit()
            return
        scrolled = self.verticalScrollBar().value()
        self._quiet = True
        self.texts.show_rows(rows)
        self._quiet = False
        self._fit()
        if before is not None:
            self.choose(before)
        self.verticalScrollBar().setValue(scrolled)

    def _take_width(self, section: int, _before: int, width: int) -> None:
        if section == 0:
            self._width = width
            self._fit()

    def _fit(self) -> None:
        """Make each row as high as its texts; Qt's own way asks for every cell, 100 ms in all."""
        small, large = (
            QFontMetrics(ui_font(pixels), self.viewport()) for pixels in (TYPE.caption, TYPE.label)
        )
        for number, row in enumerate(self.texts.rows):
            # The width anew for each, since a scroll bar may come or go meanwhile. A little
            # narrower than painted, since a painter may wrap a line earlier.
            place = QRect(0, 0, self._width - SPACE.xs, 10_000).adjusted(*_MARGINS)
            height = large.boundingRect(place, _WRAP, row.title).height()
            if row.about:
                height += small.boundingRect(place, _WRAP, row.about).height()
            height += _MARGINS[1] - _MARGINS[3]
            if height != self.rowHeight(number):
                self.setRowHeight(number, height)

    def current(self) -> str:
        """Return the key of the current row; "" if there is none."""
        place = self.currentIndex().row()
        return self.texts.rows[place].key if 0 <= place < len(self.texts.rows) else ""

    def choose(self, key: str) -> None:
        """Make the row with a key the current one and scroll to it, without telling so."""
        for place, row in enumerate(self.texts.rows):
            if row.key == key:
                self._quiet = True
                self.setCurrentIndex(self.texts.index(place, 0))
                self._quiet = False
                # Once what was just shown has its size.
                QTimer.singleShot(0, self, lambda: self.scrollTo(self.currentIndex()))

    def _tell(self) -> None:
        if not self._quiet:
            self.chosen.emit(self.current())


class FindingStates(RowList):
    """The findings; a click on a state, or a key of `_KEYS`, asks to set it (`state_wanted`)."""

    state_wanted = Signal(str, object)

    def __init__(self) -> None:
        super().__init__(tr("Findings of the presentation"), _StateModel())
        keys = tr("Keys on a row: + present, - absent, 0 unknown, Space the next of these")
        self.setToolTip(plain_tip(keys))
        for place in (1, 2, 3):
            self.horizontalHeader().setSectionResizeMode(place, QHeaderView.ResizeMode.Fixed)
            self.setColumnWidth(place, _STATE_WIDTH)
        self.clicked.connect(self._click)

    def _click(self, index: QModelIndex) -> None:
        if index.column():
            row = self.texts.row(index)
            self.state_wanted.emit(row.key, _STATES[index.column() - 1])

    def event(self, event: QEvent) -> bool:
        asked = event.type() == QEvent.Type.ShortcutOverride
        if isinstance(event, QKeyEvent) and asked and event.text() in _KEYS:
            event.accept()  # before the window's shortcuts
            return True
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        finding = self.current()
        if finding and event.text() in _KEYS:
            self.state_wanted.emit(finding, _KEYS[event.text()])
        elif finding and event.key() == Qt.Key.Key_Space:
            state = self.texts.row(self.currentIndex()).present
            place = (_STATES.index(state) + 1) % len(_STATES)
            self.state_wanted.emit(finding, _STATES[place])
        else:
            super().keyPressEvent(event)
