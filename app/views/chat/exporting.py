"""Saves a thread as a document: says once what it may hold, asks where to, writes off the GUI."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from PySide6.QtCore import QObject, Qt
from PySide6.QtWidgets import QFileDialog, QMessageBox, QWidget

from app.agent.sessions import Thread
from app.agent.sessions.export import Form, export
from app.audit import AuditLog
from app.audit.exports import record_export
from app.errors import SightlineError
from app.views.background import Background
from app.views.chat.message import Notice

_FILTERS: dict[str, Form] = {
    "Markdown (*.md)": "md",
    "Web page (*.html)": "html",
    "JSON (*.json)": "json",
}
_SUFFIXES: dict[str, Form] = {".md": "md", ".html": "html", ".htm": "html", ".json": "json"}
_WARNING = (
    "The document holds this conversation as it is: your questions, the answers, what the tools "
    "were given and what they found. It may name the patient. Save it only where patient data "
    "may be kept."
)


class Exporter(QObject):
    """The way from a thread to a document.

    Args:
        window: Above which the dialogs open.
        background: Writes.
        tell: Shows how it went.
    """

    def __init__(
        self, window: QWidget, background: Background, tell: Callable[[Notice], object]
    ) -> None:
        super().__init__(window)
        self._window = window
        self._background = background
        self._tell = tell
        self._warned = False
        self.audit: AuditLog | None = None
        """Is told of each document; without it nothing is saved."""

    def export(self, thread: Thread) -> None:
        """Ask where to, and save `thread` there."""
        if thread.folder is None:
            text = "This conversation is kept in memory only and cannot be exported."
            self._tell(Notice(text, "Copy what you need.", tone="warning"))
            return
        if self._warned:
            self._choose(thread)
            return
        box = QMessageBox(self._window)
        box.setWindowTitle("Export the conversation")
        box.setIcon(QMessageBox.Icon.Warning)
        box.setTextFormat(Qt.TextFormat.PlainText)
        box.setText("The document may hold patient data.")
        box.setInformativeText(_WARNING)
        go_on = box.addButton("Choose a file…", QMessageBox.ButtonRole.AcceptRole)
        box.setDefaultButton(box.addButton(QMessageBox.StandardButton.Cancel))
        box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)

        def finished() -> None:
            if box.clickedButton() is go_on:
                self._warned = True
                self._choose(thread)

        box.finished.connect(lambda _result: finished())
        box.open()

    def _choose(self, thread: Thread) -> None:
        dialog = QFileDialog(self._window, "Export the conversation")
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.setNameFilters(list(_FILTERS))
        # The question may name the patient, so the file's name does not repeat it.
        day = datetime.now(UTC).astimezone()
        dialog.selectFile(f"Sightline conversation {day:%Y-%m-%d %H%M}")
        dialog.setDefaultSuffix("md")
        dialog.filterSelected.connect(lambda name: dialog.setDefaultSuffix(_FILTERS[name]))
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)

        def accepted() -> None:
            path = Path(dialog.selectedFiles()[0])
            form = _SUFFIXES.get(path.suffix.lower(), _FILTERS[dialog.selectedNameFilter()])
            self._save(thread, path, form)

        dialog.accepted.connect(accepted)
        dialog.open()

    def _save(self, thread: Thread, path: Path, form: Form) -> None:
        def done(_none: None) -> None:
            self._tell(Notice(f"Exported to {path}", tone="done"))

        def failed(error: SightlineError) -> None:
            self._tell(Notice(error.reason, error.remedy, tone="error"))

        def work() -> None:
            with record_export(self.audit, "conversation", path, thread=thread.thread_id):
                export(thread.content, form, path)

        self._background.submit(work, done, failed)
