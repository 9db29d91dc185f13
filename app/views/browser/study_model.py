"""The open studies as rows of a list; a growing study changes only the rows that differ."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from itertools import chain

from PySide6.QtCore import (
    QAbstractListModel,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    Qt,
    Signal,
)
from PySide6.QtGui import QPixmap

from app.imaging.types import Instance
from app.views.browser.study_rows import Row, SeriesRow, StudyRow, WarningRow, rows_of
from app.views.canvas.image_layer import to_qimage
from app.views.loader import Loader, Thumbnail
from app.views.widgets import plain_tip
from app.workspace.studies import key_of
from app.workspace.workspace import Workspace

THUMBNAIL_PX = 112  # twice what is drawn: sharp on dense screens
KEPT = 400  # thumbnails in memory, 20 MB
AWAITED = 40  # thumbnails asked for at once; rows that were scrolled past make way
MOST_RUNS = 50  # places where rows are put in one by one; beyond, the list is made anew

Index = QModelIndex | QPersistentModelIndex
ROW = Qt.ItemDataRole.UserRole


class StudyModel(QAbstractListModel):
    """Rows of the study list; thumbnails are fetched when a row is first painted."""

    about_to_change = Signal()  # rows will come, go or move
    changed = Signal()  # they have

    def __init__(self, workspace: Workspace, loader: Loader, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._workspace = workspace
        self._loader = loader
        self._rows: list[Row] = []
        self._places: dict[str, int] = {}
        self._blocks: dict[str, list[Row]] = {}
        self._thumbnails: OrderedDict[str, QPixmap | None] = OrderedDict()  # None: there is none
        self._pictured: dict[str, Instance] = {}  # of what a thumbnail is, or will be
        self._awaited: OrderedDict[str, Future[Thumbnail]] = OrderedDict()
        self._disconnect: Callable[[], None] = workspace.studies.changed.connect(self.refresh)
        self.refresh()

    def close(self) -> None:
        """Stop listening to the workspace."""
        self._disconnect()
        for future in self._awaited.values():
            future.cancel()

    # Rows

    def refresh(self) -> None:
        """Follow the workspace."""
        blocks: dict[str, list[Row]] = {}
        for study in self._workspace.studies.all:
            known = self._blocks.get(key_of(study))
            same = known is not None and known[0].study is study
            blocks[key_of(study)] = known if known is not None and same else rows_of(study)
        if self._blocks.keys() - blocks.keys():
            self._forget_pictures({row.key for rows in blocks.values() for row in rows})
        self._blocks = blocks
        rows = list(chain.from_iterable(blocks.values()))
        if [row.key for row in rows] == [row.key for row in self._rows]:
            self._replace(rows)
            return
        self.about_to_change.emit()
        if not self._insert_and_remove(rows):
            self.beginResetModel()
            self._rows = rows
            self._places = _places(rows)
            self.endResetModel()
        self.changed.emit()

    def _replace(self, rows: list[Row]) -> None:
        """Take rows that stand in the places of their predecessors."""
        old, self._rows = self._rows, rows
        self._places = _places(rows)
        differing = [n for n, (a, b) in enumerate(zip(old, rows, strict=True)) if a is not b]
        if differing:
            self.dataChanged.emit(self.index(differing[0]), self.index(differing[-1]))

    def _insert_and_remove(self, rows: list[Row]) -> bool:
        """Change only what differs; False when rows would have to move, or in too many places."""
        wanted, known = _places(rows), self._places
        kept = [row for row in self._rows if row.key in wanted]
        if [row.key for row in kept] != [row.key for row in rows if row.key in known]:
            return False
        gone = _runs([number for number, row in enumerate(self._rows) if row.key not in wanted])
        come = _runs([number for number, row in enumerate(rows) if row.key not in known])
        if len(gone) + len(come) > MOST_RUNS:
            return False
        for first, last in reversed(gone):
            self.beginRemoveRows(QModelIndex(), first, last)
            del self._rows[first : last + 1]
            self.endRemoveRows()
        for first, last in come:
            self.beginInsertRows(QModelIndex(), first, last)
            self._rows[first:first] = rows[first : last + 1]
            self.endInsertRows()
        self._replace(rows)
        return True

    def row(self, index: Index) -> Row:
        """The row at an index."""
        return self._rows[index.row()]

    def place_of(self, key: str) -> QModelIndex:
        """The index of a row by its key; invalid when it is gone."""
        number = self._places.get(key)
        return QModelIndex() if number is None else self.index(number)

    def index_of(self, instance: Instance | None) -> QModelIndex:
        """The row of the series that holds an instance."""
        studies = self._workspace.studies
        series = studies.series_of(instance) if instance else None
        study = studies.study_of(instance) if instance and series else None
        if study is None or series is None:
            return QModelIndex()
        return self.place_of(f"{key_of(study)}\0{series.key}")

    def rowCount(self, parent: Index | None = None) -> int:
        return 0 if parent is not None and parent.isValid() else len(self._rows)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if not index.isValid():
            return None
        row = self.row(index)
        if role == ROW:
            return row
        if role == Qt.ItemDataRole.DisplayRole:
            if isinstance(row, WarningRow):
                return row.text
            return row.patient if isinstance(row, StudyRow) else row.title
        if role == Qt.ItemDataRole.ToolTipRole:
            return plain_tip(row.tip)
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return row.tip.replace("\n", ", ")
        return None

    def flags(self, index: Index) -> Qt.ItemFlag:
        if not index.isValid():
            return Qt.ItemFlag.NoItemFlags
        if isinstance(self.row(index), SeriesRow):
            return Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable
        return Qt.ItemFlag.ItemIsEnabled

    # Thumbnails

    def thumbnail(self, row: SeriesRow) -> QPixmap | None:
        """The series' picture; asked for on the first call, None until it is there."""
        key, source = row.key, row.middle
        if key in self._thumbnails:
            self._thumbnails.move_to_end(key)
        if self._is_wanted(key, source) and source is not None and row.look.thumbnail:
            while len(self._awaited) >= AWAITED:
                self._awaited.popitem(last=False)[1].cancel()
            self._pictured[key] = source
            self._awaited[key] = self._loader.thumbnail(
                source, THUMBNAIL_PX, partial(self._take, key), lambda _error: self._put(key, None)
            )
        return self._thumbnails.get(key)

    def _is_wanted(self, key: str, source: Instance | None) -> bool:
        """Whether there is no picture yet, or one from when less of the series was known."""
        if key in self._awaited or source is None:
            return False
        known = self._pictured.get(key)
        same = known is not None and (known.path, known.part) == (source.path, source.part)
        return key not in self._thumbnails or not same

    def _take(self, key: str, pixels: Thumbnail) -> None:
        self._put(key, QPixmap.fromImage(to_qimage(pixels)))
        index = self.place_of(key)
        self.dataChanged.emit(index, index)

    def _forget_pictures(self, listed: set[str]) -> None:
        """Studies were closed: drop the pictures of their rows, and stop waiting for any."""
        for key in self._awaited.keys() - listed:
            self._awaited.pop(key).cancel()
        for known in (self._thumbnails, self._pictured):
            for key in known.keys() - listed:
                del known[key]

    def _put(self, key: str, picture: QPixmap | None) -> None:
        self._awaited.pop(key, None)
        self._thumbnails[key] = picture
        while len(self._thumbnails) > KEPT:
            self._pictured.pop(self._thumbnails.popitem(last=False)[0], None)


def _places(rows: list[Row]) -> dict[str, int]:
    return {row.key: number for number, row in enumerate(rows)}


def _runs(numbers: list[int]) -> list[tuple[int, int]]:
    """Ascending numbers as (first, last) of their unbroken runs."""
    runs: list[tuple[int, int]] = []
    for number in numbers:
        if runs and runs[-1][1] == number - 1:
            runs[-1] = (runs[-1][0], number)
        else:
            runs.append((number, number))
    return runs
