"""The list of what could not be read of a record: file, place and reason."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, Qt
from PySide6.QtWidgets import QDialog, QWidget

from app.records.types import RecordProblem
from app.views.layouts import column, row
from app.views.theme import SPACE
from app.views.translation import tr, tr_n, tr_report, translatable
from app.views.widgets import RowModel, RowTable, label, push_button

Index = QModelIndex | QPersistentModelIndex


class _Problems(RowModel):
    columns = (translatable("File"), translatable("Place"), translatable("Reason"))

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        problem: RecordProblem = self.rows[index.row()]
        if role == Qt.ItemDataRole.ToolTipRole and index.column() == 0:
            return problem.path
        if role not in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.ToolTipRole):
            return None
        reason = tr_report(problem.reason)
        return (Path(problem.path).name, problem.where, reason)[index.column()]


class RecordProblemsDialog(QDialog):
    """Shows the problems of a record, a row each."""

    def __init__(self, problems: Sequence[RecordProblem], parent: QWidget) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(tr("Problems in the record"))
        self.model = _Problems(self)
        self.model.show_rows(problems)
        lost = sum(one.count for one in problems)
        about = tr_n(
            "%n resource or file is not shown.", "%n resources or files are not shown.", lost
        )
        name = tr("Problems in the record")
        self.table = RowTable(self.model, name, row_height=26, widths={0: 200, 1: 180})
        self.table.horizontalHeader().setStretchLastSection(True)
        column(
            label(about, "muted", wrap=True),
            (self.table, 1),
            row(1, push_button(tr("Close"), self.reject, primary=True)),
            margins=SPACE.l,
            spacing=SPACE.m,
            parent=self,
        )
        self.resize(820, 420)
