"""The findings as rows of a list: a heading for each tool and model, then what it found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from PySide6.QtCore import (
    QAbstractListModel,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    Qt,
    QTimer,
)

from app.imaging.findings import Finding
from app.imaging.types import ImageRef
from app.views import wording
from app.views.widgets import plain_tip
from app.workspace import drawing
from app.workspace.annotations import Annotation
from app.workspace.workspace import Workspace

Index = QModelIndex | QPersistentModelIndex
ROW = Qt.ItemDataRole.UserRole


@dataclass(frozen=True, slots=True)
class MakerRow:
    """Who made the findings below it."""

    maker: str
    ids: tuple[str, ...]
    visible: bool
    by_hand: bool = False  # the user drew them


@dataclass(frozen=True, slots=True)
class FindingRow:
    """One finding."""

    annotation: Annotation
    here: bool  # it belongs to the image that is shown
    frame: int = 0  # counted from 1: where the shown image has it; 0 where it does not

    @property
    def finding(self) -> Finding:
        """The finding."""
        return self.annotation.finding

    @property
    def title(self) -> str:
        """Its label."""
        return wording.one_line(self.finding.label)

    @property
    def value(self) -> str:
        """Its measurement, else its score."""
        measured = wording.value_text(self.finding)
        if measured:
            return measured
        score = self.finding.score
        return "" if score is None else f"score {score:.2f}"

    @property
    def detail(self) -> str:
        """What value and score mean."""
        finding = self.finding
        # "Left Lung: 31%" below "Left Lung" would say it twice.
        parts = [wording.one_line(finding.description).removeprefix(f"{self.title}:").strip()]
        if finding.value is not None and finding.score is not None:
            parts.append(f"score {finding.score:.2f}")
        if not self.here:
            # First: the end is cut off in a narrow list.
            parts.insert(0, f"on frame {self.frame}" if self.frame else "on another image")
        return "  ·  ".join(part for part in parts if part)


Row = MakerRow | FindingRow


class FindingsModel(QAbstractListModel):
    """Rows of the findings list, in order of arrival within each maker."""

    def __init__(self, workspace: Workspace, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._workspace = workspace
        self._rows: list[Row] = []
        # In the next turn of the event loop: a tool's results come together with its chat card and
        # the canvas's items, and all at once would be a stall.
        self._soon = QTimer(self, singleShot=True, interval=0)
        self._soon.timeout.connect(self.refresh)
        self._disconnects: list[Callable[[], None]] = [
            workspace.annotations.changed.connect(self._soon.start),
            workspace.viewport.frame_changed.connect(self._soon.start),
            workspace.studies.changed.connect(self._soon.start),
        ]
        self.refresh()

    def close(self) -> None:
        """Stop listening to the workspace."""
        self._soon.stop()
        for disconnect in self._disconnects:
            disconnect()
        self._disconnects.clear()

    def refresh(self) -> None:
        """Take the rows from the workspace."""
        rows = self._made_rows()
        if rows != self._rows:
            self.beginResetModel()
            self._rows = rows
            self.endResetModel()

    def _made_rows(self) -> list[Row]:
        frame = self._workspace.viewport.frame
        shown: ImageRef | None = frame.ref if frame else None
        groups: dict[str, list[Annotation]] = {}
        is_open, instance = self._workspace.studies.has_image, self._workspace.viewport.instance
        on_screen = instance.sop_instance_uid if instance else ""  # a reformat is in no study
        for annotation in self._workspace.annotations.all():
            # Those of a closed study are kept: they are there again when it is opened again.
            uid = annotation.finding.image.sop_instance_uid
            if uid != on_screen and not is_open(uid):
                continue
            groups.setdefault(wording.maker_text(annotation.finding), []).append(annotation)
        rows: list[Row] = []
        for maker, members in groups.items():
            ids = tuple(item.finding.id for item in members)
            by_hand = drawing.by_hand(members[0].finding)
            rows.append(MakerRow(maker, ids, any(item.visible for item in members), by_hand))
            rows.extend(_row(item, shown) for item in members)
        return rows

    @property
    def count(self) -> int:
        """How many findings are listed."""
        return sum(isinstance(row, FindingRow) for row in self._rows)

    @property
    def finding_ids(self) -> dict[int, str]:
        """Row number to finding id, of the rows that are findings."""
        return {
            number: row.finding.id
            for number, row in enumerate(self._rows)
            if isinstance(row, FindingRow)
        }

    def rowCount(self, parent: Index | None = None) -> int:
        return 0 if parent is not None and parent.isValid() else len(self._rows)

    def row(self, index: Index) -> Row:
        """The row at an index."""
        return self._rows[index.row()]

    def index_of(self, finding_id: str) -> QModelIndex:
        """The row of a finding."""
        for number, row in enumerate(self._rows):
            if isinstance(row, FindingRow) and row.finding.id == finding_id:
                return self.index(number)
        return QModelIndex()

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        row = self.row(index)
        if role == ROW:
            return row
        if role == Qt.ItemDataRole.DisplayRole:
            return row.maker if isinstance(row, MakerRow) else row.title
        if role == Qt.ItemDataRole.ToolTipRole:
            return plain_tip(_tip(row))
        return None

    def flags(self, index: Index) -> Qt.ItemFlag:
        if isinstance(self.row(index), FindingRow):
            return Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable
        return Qt.ItemFlag.ItemIsEnabled


def _row(annotation: Annotation, shown: ImageRef | None) -> FindingRow:
    image = annotation.finding.image
    same = shown is not None and image.sop_instance_uid == shown.sop_instance_uid
    return FindingRow(annotation, image == shown, image.frame + 1 if same else 0)


def _tip(row: Row) -> str:
    if isinstance(row, MakerRow):
        return row.maker if row.by_hand else f"{row.maker}\n{wording.NOT_FOR_DIAGNOSIS}"
    lines = [f"{row.title}  {row.value}".strip(), row.detail, wording.maker_text(row.finding)]
    return "\n".join(line for line in lines if line)
