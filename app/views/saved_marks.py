"""The dialog that lists the studies whose marks are kept, and deletes them."""

from __future__ import annotations

from PySide6.QtWidgets import (
    QAbstractItemView,
    QDialog,
    QDialogButtonBox,
    QHeaderView,
    QTableWidget,
    QTableWidgetItem,
    QVBoxLayout,
    QWidget,
)

from app.views.mark_keeping import MarkKeeping
from app.views.translation import tr, tr_n
from app.views.widgets import confirm, label
from app.views.wording import day_text
from app.workspace.mark_store import KeptStudy
from app.workspace.workspace import Workspace


class SavedMarksDialog(QDialog):
    """Lists studies with kept marks; those that are not open are known by their UID only."""

    def __init__(self, marks: MarkKeeping, workspace: Workspace, parent: QWidget) -> None:
        super().__init__(parent)
        self.setWindowTitle(tr("Saved marks"))
        self.resize(760, 420)
        self._marks = marks
        self._workspace = workspace
        self._kept: list[KeptStudy] = []
        self.table = QTableWidget(0, 3, self)
        self.table.setHorizontalHeaderLabels([tr("Study"), tr("Marks"), tr("Last changed")])
        self.table.setAccessibleName(tr("Studies with saved marks"))
        self.table.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.table.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.table.verticalHeader().hide()
        header = self.table.horizontalHeader()
        header.setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        header.setSectionResizeMode(2, QHeaderView.ResizeMode.ResizeToContents)
        self.table.itemSelectionChanged.connect(self._follow)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close, parent=self)
        action = QDialogButtonBox.ButtonRole.ActionRole
        self.delete = buttons.addButton(tr("Delete the marks of the selected…"), action)
        self.delete.clicked.connect(self._ask)
        buttons.rejected.connect(self.reject)
        layout = QVBoxLayout(self)
        text = tr(
            "Marks are saved on this computer as you work. The file holds the numbers of studies "
            "and images, and no names of patients."
        )
        layout.addWidget(label(text, wrap=True))
        layout.addWidget(self.table, 1)
        layout.addWidget(buttons)
        self._follow()
        self.refresh()

    def refresh(self) -> None:
        self._marks.list_studies(self._show)

    def _show(self, kept: list[KeptStudy]) -> None:
        self._kept = kept
        titles = {study.uid: study.title for study in self._workspace.studies.all}
        self.table.setRowCount(len(kept))
        for row, one in enumerate(kept):
            title = titles.get(one.study)
            name = tr("{title} (open)").format(title=title) if title else one.study or tr("Unknown")
            for column, text in enumerate((name, str(one.marks), day_text(one.saved))):
                self.table.setItem(row, column, QTableWidgetItem(text))
        self._follow()

    def _chosen(self) -> list[KeptStudy]:
        rows = {index.row() for index in self.table.selectedIndexes()}
        return [self._kept[row] for row in sorted(rows) if row < len(self._kept)]

    def _follow(self) -> None:
        self.delete.setEnabled(bool(self._chosen()))

    def _ask(self) -> None:
        chosen = self._chosen()
        count = sum(one.marks for one in chosen)
        confirm(
            self,
            tr("Delete saved marks"),
            tr_n("Delete %n mark for good?", "Delete %n marks for good?", count),
            tr("They cannot be brought back, and what was done before cannot be undone any more."),
            tr("Delete"),
            lambda: self._marks.purge(chosen, self.refresh),
        )
