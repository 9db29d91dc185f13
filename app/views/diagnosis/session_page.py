"""The sessions of doctors who say what is uncertain, as their files have them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QSplitter, QWidget

from app.errors import SightlineError
from app.tools.diagnosis.session import DiagnosisSession, load_session, session_ids
from app.views.background import Background
from app.views.diagnosis.diagnosis_texts import Row, session_text
from app.views.diagnosis.lists import RowList
from app.views.layouts import column, row
from app.views.text_view import PlainTextBrowser
from app.views.translation import tr
from app.views.widgets import label, push_button
from app.views.wording import error_text


class SessionPage(QWidget):
    """Lists the session files, and shows the one that is chosen; `back` leaves the page."""

    def __init__(self, background: Background, back: Callable[[], object]) -> None:
        super().__init__()
        self._background = background
        self._wanted = ""
        self.note = label("", "muted", wrap=True)
        self.list = RowList(tr("Doctors' sessions"))
        self.list.chosen.connect(self._open)
        self.text = PlainTextBrowser()
        self.text.setAccessibleName(tr("The session"))
        parts = QSplitter(Qt.Orientation.Vertical)
        parts.setChildrenCollapsible(False)
        parts.addWidget(self.list)
        parts.addWidget(self.text)
        parts.setSizes([1, 2])
        self.copy = push_button(tr("Copy"), self.text.copy_all)
        buttons = row(self.copy, 1, push_button(tr("Back"), back))
        column(self.note, (parts, 1), buttons, parent=self)

    def start(self) -> None:
        """List the sessions there are now."""
        self.clear()
        self._background.submit(session_ids, self._list)

    def clear(self) -> None:
        """Forget what is shown."""
        self._wanted = ""
        self.list.show_rows([])
        self.text.clear()
        self.copy.setEnabled(False)

    def _list(self, ids: Sequence[str]) -> None:
        self.list.show_rows([Row(one, one) for one in ids])
        hint = tr("Choose a session: its steps, its notes and its diagnosis are shown.")
        self.note.setText(hint if ids else tr("No doctor has recorded a step yet."))

    def _open(self, name: str) -> None:
        self._wanted = name
        if name:
            take, fail = partial(self._show, name), partial(self._fail, name)
            self._background.submit(partial(_loaded, name), take, fail)

    def _show(self, name: str, session: DiagnosisSession) -> None:
        if name == self._wanted:
            self.text.setPlainText(session_text(session))
            self.copy.setEnabled(True)

    def _fail(self, name: str, error: SightlineError) -> None:
        if name == self._wanted:
            self.text.setPlainText(error_text(error))


def _loaded(name: str) -> DiagnosisSession:
    try:
        return load_session(name)
    except ValueError as error:  # a file that somebody put there
        raise SightlineError(tr("The file's name is not that of a session")) from error
