"""The table of AI models in the models window: installed models first, with their state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from PySide6.QtCore import QObject, Qt
from PySide6.QtGui import QColor, QResizeEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHeaderView,
    QStyledItemDelegate,
    QStyleOptionViewItem,
)

from app.tools.hosting.states import ModelState
from app.tools.models.status import ModelStatus
from app.views import icons, wording
from app.views.models import model_wording
from app.views.theme import THEME, current
from app.views.translation import tr, translatable
from app.views.widgets import Index, RowModel, RowTable, plain_tip
from app.views.wording import PackTexts

COLUMNS = (
    translatable("Model"),
    translatable("State"),
    translatable("Size"),
    translatable("Licence"),
    translatable("Used by"),
)
TITLE, STATE, SIZE, LICENCE, TOOLS = range(5)
_WIDTHS = {TITLE: 220, STATE: 190, SIZE: 74, LICENCE: 100, TOOLS: 90}
_LEAST_TITLE = 200

TONES = {
    "ok": THEME.ok,
    "busy": THEME.accent,
    "faint": THEME.text_faint,
    "warning": THEME.warning,
    "error": THEME.error,
}


class TitleDelegate(QStyledItemDelegate):
    """Elides long titles in the middle, since two titles may differ only in their last word."""

    def initStyleOption(self, option: QStyleOptionViewItem, index: Index) -> None:
        super().initStyleOption(option, index)
        option.textElideMode = Qt.TextElideMode.ElideMiddle


class ModelsModel(RowModel):
    """A table model with a row per AI model: first those installed; each group sorted by title."""

    columns = COLUMNS

    def __init__(self, texts: PackTexts, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._texts = texts
        self.rows: list[ModelStatus] = []
        self._live: dict[str, ModelState] = {}

    def show(self, statuses: Sequence[ModelStatus]) -> None:
        ordered = sorted(statuses, key=lambda one: (not one.usable, one.card.title.casefold()))
        known = [one.card.name for one in self.rows]
        found = {one.card.name: one for one in statuses}
        if set(known) == set(found):
            self.rows = [found[name] for name in known]
            self._changed(range(len(known)))
            return
        self.show_rows(ordered)

    def put(self, status: ModelStatus) -> None:
        number = self.find(status.card.name)
        if number >= 0:
            self.rows[number] = status
            self._changed([number])

    def update_live(self, live: Mapping[str, ModelState]) -> list[str]:
        news = [name for name in {*live, *self._live} if live.get(name) != self._live.get(name)]
        self._live = dict(live)
        self._changed([n for name in news if (n := self.find(name)) >= 0])
        return news

    def find(self, name: str) -> int:
        """Return the row of the model with this name on its card, or -1 if there is none."""
        return next((n for n, one in enumerate(self.rows) if one.card.name == name), -1)

    def status(self, number: int) -> ModelStatus:
        return self.rows[number]

    def live(self, name: str) -> ModelState | None:
        """Return a model's state in the process that runs it; None if no process has loaded it."""
        return self._live.get(name)

    def state_text(self, number: int) -> model_wording.StateText:
        status = self.rows[number]
        return model_wording.state_text(status, self._live.get(status.card.name))

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        column, state = index.column(), self.state_text(index.row())
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.ToolTipRole):
            text = self._text(index.row(), column)
            if role == Qt.ItemDataRole.DisplayRole:
                return text
            return plain_tip(f"{text}\n{state.more}".strip() if column == STATE else text)
        if role == Qt.ItemDataRole.ForegroundRole:
            if column == STATE:
                return QColor(current(TONES[state.tone]))
            return QColor(THEME.text if column == TITLE else THEME.text_muted)
        if role == Qt.ItemDataRole.DecorationRole and column == STATE:
            return icons.icon(state.icon, TONES[state.tone])
        if role == Qt.ItemDataRole.AccessibleTextRole:
            status = self.rows[index.row()]
            return f"{COLUMNS[column]}: {self._text(index.row(), column)}, {status.card.title}"
        return None

    def _text(self, number: int, column: int) -> str:
        status = self.rows[number]
        if column == TITLE:
            return wording.one_line(status.card.title)
        if column == STATE:
            return self.state_text(number).text
        if column == SIZE:
            return model_wording.size(status.bytes) if status.bytes else "–"
        if column == LICENCE:
            return wording.one_line(status.card.licence)
        return ", ".join(self._texts.title(tool) for tool in status.card.tools)

    def _changed(self, numbers: Sequence[int]) -> None:
        for number in numbers:
            self.dataChanged.emit(self.index(number, 0), self.index(number, len(COLUMNS) - 1))


class ModelsTable(RowTable):
    """The table of models; its last columns are hidden if there is no room for them."""

    def __init__(self, model: ModelsModel) -> None:
        super().__init__(model, tr("Models"), row_height=30, widths=_WIDTHS)
        self._models = model
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setTextElideMode(Qt.TextElideMode.ElideRight)
        self.setItemDelegateForColumn(TITLE, TitleDelegate(self))
        header = self.horizontalHeader()
        header.setStretchLastSection(False)
        header.setSectionResizeMode(TITLE, QHeaderView.ResizeMode.Stretch)
        header.setMinimumSectionSize(64)

    @property
    def chosen(self) -> int:
        return self.currentIndex().row()

    def choose(self, number: int) -> None:
        self.selectRow(number)
        self.scrollTo(self._models.index(number, 0))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        left = self.viewport().width() - _LEAST_TITLE - _WIDTHS[STATE]
        for column in (SIZE, LICENCE, TOOLS):
            left -= _WIDTHS[column]
            self.setColumnHidden(column, left < 0)
