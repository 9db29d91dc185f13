"""The dialog that asks where a patient's record is: files, a folder or a FHIR server."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDialog, QFileDialog, QLineEdit, QWidget

from app.errors import CancelToken, SightlineError
from app.records.fhir_server import KEY_KIND, ServerQuery, is_server, server_query
from app.records.record_files import PATTERNS
from app.records.record_library import OpenedRecord, Progress
from app.secrets import Secrets, key_name
from app.views.background import DaemonTasks
from app.views.layouts import column, row
from app.views.record.record_opening import RecordOpening
from app.views.settings.fields import KeyField
from app.views.theme import SPACE
from app.views.translation import tr
from app.views.widgets import confirm, label, push_button, rule
from app.views.wording import error_text


@dataclass(frozen=True, slots=True)
class RecordServer:
    """How a FHIR server is asked: where tokens are kept, and the function that reads a record."""

    secrets: Secrets
    read: Callable[[ServerQuery, Progress, CancelToken], OpenedRecord]


class RecordSourceDialog(QDialog):
    """Asks for files, a folder, or a server and a patient; opens the record and closes.

    Args:
        opening: Opens what was chosen.
        server: How a server is asked; None to offer files and folders only.
    """

    def __init__(
        self, opening: RecordOpening, server: RecordServer | None, parent: QWidget
    ) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(tr("Open patient record"))
        self._opening = opening
        self._server = server
        self._tasks = DaemonTasks(self)
        about = tr(
            "FHIR R4 in JSON: bundles, single resources, or a bulk export (NDJSON). "
            "Nothing is sent and nothing is changed."
        )
        self.files = push_button(tr("Choose files…"), self.choose_files, primary=True)
        self.folder = push_button(tr("Choose a folder…"), self.choose_folder)
        self.address = _field(tr("Address"), "https://host/fhir")
        self.patient = _field(tr("Patient"), tr("Id, record number or name"))
        self.key: KeyField | None = None
        self.problem = label("", "caption", wrap=True)
        self.problem.hide()
        self.ask = push_button(tr("Ask the server"), self.ask_server)
        parts: list[QWidget] = []
        if server is not None:
            self.key = KeyField(server.secrets, self._tasks, tr("Token, if the server needs one"))
            self.key.edit.setAccessibleName(tr("Token"))
            parts = [
                rule(),
                label(tr("From a FHIR server"), "heading"),
                label(tr("Records are read only; the host is asked after your yes."), "muted"),
                self.address,
                self.patient,
                self.key,
                self.problem,
            ]
            self.address.textChanged.connect(self._follow_address)
        else:
            self.ask.hide()
        column(
            label(tr("From files"), "heading"),
            label(about, "muted", wrap=True),
            row(self.files, self.folder, 1),
            *parts,
            row(1, push_button(tr("Cancel"), self.reject), self.ask),
            margins=SPACE.l,
            spacing=SPACE.m,
            parent=self,
        )
        for button in (self.files, self.folder):
            button.setAutoDefault(False)
        (self.files if server is None else self.ask).setDefault(True)  # what Enter presses
        self.finished.connect(lambda _result: self._tasks.close())
        self.resize(460, self.sizeHint().height())

    def choose_files(self) -> None:
        shown = f"{tr('Patient records')} ({' '.join(PATTERNS)});;{tr('All files')} (*)"
        names, _ = QFileDialog.getOpenFileNames(self, tr("Open patient record"), "", shown)
        if names:
            self._opening.open_paths([Path(name) for name in names])
            self.accept()

    def choose_folder(self) -> None:
        name = QFileDialog.getExistingDirectory(self, tr("Open a folder of patient records"))
        if name:
            self._opening.open_paths([Path(name)])
            self.accept()

    def _follow_address(self, text: str) -> None:
        self.problem.hide()
        if self.key is not None:
            try:
                host = server_query(text, "-").host
            except SightlineError:
                host = ""
            self.key.set_endpoint(key_name(KEY_KIND, text) if host else "", host)

    def ask_server(self) -> None:
        """Ask the user whether the host may be asked, then ask it."""
        server, key = self._server, self.key
        if server is None or key is None:
            return
        address = self.address.text().strip()
        if not is_server(address):
            address = f"https://{address}"
        try:
            query = server_query(address, self.patient.text())
        except SightlineError as error:
            self._show_problem(error_text(error))
            return
        if key.problem():
            self._show_problem(key.problem())
            return

        def ask() -> None:
            typed = key.typed
            self._opening.open_with(partial(_read, server, query, typed))
            self.accept()

        if query.is_here:
            ask()
            return
        confirm(
            self,
            tr("Ask the server"),
            tr("May Sightline ask {host} for this patient's record?").format(host=query.host),
            tr("The patient's id, number or name and the token are sent to this host only."),
            tr("Ask the server"),
            ask,
        )

    def _show_problem(self, text: str) -> None:
        self.problem.setText(text)
        self.problem.show()
        self.adjustSize()  # else the fields above give way to the text


def _read(
    server: RecordServer, query: ServerQuery, typed: str, progress: Progress, cancel: CancelToken
) -> OpenedRecord:
    """Keep a typed token, then read the record; a keyring may be slow, so not on the GUI thread."""
    if typed:
        server.secrets.set(key_name(KEY_KIND, query.base), typed)
    return server.read(query, progress, cancel)


def _field(name: str, hint: str) -> QLineEdit:
    made = QLineEdit()
    made.setAccessibleName(name)
    made.setPlaceholderText(hint)
    return made
