"""The open studies as rows of a list: a heading for each study, then its series."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from PySide6.QtCore import QAbstractListModel, QModelIndex, QObject, QPersistentModelIndex, Qt
from PySide6.QtGui import QPixmap

from app.imaging.types import Instance, Series, Study
from app.views import wording
from app.views.canvas.image_layer import to_qimage
from app.views.loader import Loader, Thumbnail
from app.views.widgets import plain_tip
from app.workspace.workspace import Workspace

THUMBNAIL_PX = 112  # twice what is drawn: sharp on dense screens

Index = QModelIndex | QPersistentModelIndex


@dataclass(frozen=True, slots=True)
class StudyRow:
    """A study's heading."""

    study: Study

    @property
    def patient(self) -> str:
        """Who."""
        return wording.person_name(self.study.patient) or "Unknown patient"

    @property
    def detail(self) -> str:
        """Id and date."""
        ident = wording.one_line(self.study.patient_id)
        parts = [f"ID {ident}" if ident else "", wording.date(self.study.date)]
        return "  ·  ".join(part for part in parts if part)

    @property
    def title(self) -> str:
        """Which examination."""
        return wording.one_line(self.study.title)


@dataclass(frozen=True, slots=True)
class SeriesRow:
    """A series below its study."""

    study: Study
    series: Series

    @property
    def title(self) -> str:
        """Its description, else what is known."""
        series, first = self.series, self.first
        if series.description:
            return wording.one_line(series.description)
        keywords = ("BodyPartExamined", "ViewPosition")
        known = [wording.one_line(first.get(keyword)) for keyword in keywords] if first else []
        number = f"Series {series.number}" if series.number else "Series"
        return " ".join(part for part in known if part) or number

    @property
    def detail(self) -> str:
        """Modality and how much there is."""
        instances = self.series.instances
        count = len(instances)
        if count == 1 and instances[0].frames > 1:
            amount = f"{instances[0].frames} frames"
        else:
            amount = f"{count} image{'' if count == 1 else 's'}"
        modality = wording.one_line(self.series.modality)
        return "  ·  ".join(part for part in (modality, amount) if part)

    @property
    def first(self) -> Instance | None:
        """The image it opens with."""
        return self.series.instances[0] if self.series.instances else None


Row = StudyRow | SeriesRow
ROW = Qt.ItemDataRole.UserRole


class StudyModel(QAbstractListModel):
    """Rows of the study list; thumbnails are fetched when a row is first painted."""

    def __init__(self, workspace: Workspace, loader: Loader, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._workspace = workspace
        self._loader = loader
        self._rows: list[Row] = []
        self._thumbnails: dict[str, QPixmap | None] = {}  # None: asked for, or there is none
        self._disconnect: Callable[[], None] = workspace.studies.changed.connect(self.refresh)
        self.refresh()

    def close(self) -> None:
        """Stop listening to the workspace."""
        self._disconnect()

    def refresh(self) -> None:
        """Take the rows from the workspace."""
        self.beginResetModel()
        self._rows = []
        for study in self._workspace.studies.all:
            self._rows.append(StudyRow(study))
            self._rows.extend(SeriesRow(study, series) for series in study.series)
        self.endResetModel()

    def rowCount(self, parent: Index | None = None) -> int:
        return 0 if parent is not None and parent.isValid() else len(self._rows)

    def row(self, index: Index) -> Row:
        """The row at an index."""
        return self._rows[index.row()]

    def index_of(self, instance: Instance | None) -> QModelIndex:
        """The row of the series that holds an instance."""
        series = self._workspace.studies.series_of(instance) if instance else None
        for number, row in enumerate(self._rows):
            if isinstance(row, SeriesRow) and row.series is series:
                return self.index(number)
        return QModelIndex()

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        row = self.row(index)
        if role == ROW:
            return row
        if role == Qt.ItemDataRole.DisplayRole:
            return row.patient if isinstance(row, StudyRow) else row.title
        if role == Qt.ItemDataRole.ToolTipRole:
            lines = [row.title, row.detail]
            if isinstance(row, StudyRow):
                lines.insert(0, row.patient)
            return plain_tip("\n".join(line for line in lines if line))
        return None

    def flags(self, index: Index) -> Qt.ItemFlag:
        if isinstance(self.row(index), SeriesRow):
            return Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable
        return Qt.ItemFlag.ItemIsEnabled

    def thumbnail(self, row: SeriesRow) -> QPixmap | None:
        """The series' picture; asked for on the first call."""
        first = row.first
        key = row.series.uid
        if key not in self._thumbnails and first is not None:
            self._thumbnails[key] = None
            self._loader.thumbnail(
                first, THUMBNAIL_PX, partial(self._take, key), lambda _error: None
            )
        return self._thumbnails.get(key)

    def _take(self, key: str, pixels: Thumbnail) -> None:
        self._thumbnails[key] = QPixmap.fromImage(to_qimage(pixels))
        for number, row in enumerate(self._rows):
            if isinstance(row, SeriesRow) and row.series.uid == key:
                index = self.index(number)
                self.dataChanged.emit(index, index)
