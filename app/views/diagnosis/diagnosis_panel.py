"""The diagnosis panel: the shown study's differential, its presentation, doctors' sessions."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QStackedWidget, QWidget

from app.views import theme
from app.views.background import Background
from app.views.diagnosis.lists import RowList
from app.views.layouts import column, row
from app.views.plain_text import breakable
from app.views.theme import SPACE
from app.views.translation import tr
from app.views.widgets import ElidedLabel, label, search_field, tool_button
from app.views.wording import error_text
from app.workspace.diagnosis import OpenDiagnosis
from app.workspace.record import OpenRecord

if TYPE_CHECKING:
    from app.views.diagnosis.differential_page import DifferentialPage
    from app.views.diagnosis.session_page import SessionPage

_MIN_WIDTH = 320  # the tabs are all seen, in German too
_CHOOSE, _SESSIONS = "choose", "sessions"  # pages that the user asks for


class DiagnosisPanel(QWidget):
    """Shows the differential of the shown study, or lets the user choose its presentation.

    `finding_wanted` and `entry_wanted` are those of the page. Its parts are made when they are
    shown first: they would take 60 ms of each start.
    """

    finding_wanted = Signal(str)
    entry_wanted = Signal(str)

    def __init__(
        self, diagnosis: OpenDiagnosis, record: OpenRecord, background: Background
    ) -> None:
        super().__init__()
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.setProperty("surface", "panel")
        self.setMinimumWidth(_MIN_WIDTH)
        self._diagnosis, self._record = diagnosis, record
        self._background = background
        diagnosis.submit = background.submit
        self._shown: object = None  # presentation and study that are shown
        self._mode = ""
        self._soon = QTimer(self, singleShot=True, interval=0)
        self._soon.timeout.connect(self._refresh)
        diagnosis.changed.connect(self.refresh)
        theme.changes().changed.connect(self._restyle)

    # Parts

    def _build(self) -> None:
        self.title = ElidedLabel("", "title")
        self.sessions_button = tool_button("history", tr("Doctors' sessions"), self.show_sessions)
        self.over = tool_button(
            "rotate-ccw", tr("Forget what was told"), self._diagnosis.start_over
        )
        self.other = tool_button("search", tr("Choose a presentation…"), self.choose_other)
        self.problem = label("", "warning", wrap=True)
        self.pages = QStackedWidget()
        self.chooser = self._make_chooser()
        self.pages.addWidget(self.chooser)
        self.note = label(
            tr("Not for diagnosis: published averages are weighed; a physician decides."),
            "caption",
            wrap=True,
        )
        head = row((self.title, 1), self.over, self.sessions_button, self.other, spacing=SPACE.xs)
        margins = (SPACE.s, SPACE.xs, SPACE.s, SPACE.s)
        parts = (head, self.problem, (self.pages, 1), self.note)
        column(*parts, spacing=SPACE.xs, margins=margins, parent=self)

    @cached_property
    def page(self) -> DifferentialPage:
        """The page of the differential."""
        from app.views.diagnosis.differential_page import DifferentialPage

        made = DifferentialPage(self._diagnosis)
        made.finding_wanted.connect(self.finding_wanted)
        made.entry_wanted.connect(self.entry_wanted)
        self.pages.addWidget(made)
        return made

    @cached_property
    def sessions(self) -> SessionPage:
        """The page of doctors' sessions."""
        from app.views.diagnosis.session_page import SessionPage

        made = SessionPage(self._background, self.leave_sessions)
        self.pages.addWidget(made)
        return made

    def _has(self, part: str) -> bool:
        return part in vars(self)

    def _make_chooser(self) -> QWidget:
        page = QWidget()
        self.search = search_field(tr("Search complaint or disease"))
        self.search.textChanged.connect(lambda _text: self._list_presentations())
        self.search.returnPressed.connect(self._choose_first)
        self.presentations = RowList(tr("Presentations"))
        self.presentations.clicked.connect(lambda _index: self._choose())
        self.presentations.activated.connect(lambda _index: self._choose())
        self.count = label("", "caption", wrap=True)
        text = label(tr("What is the complaint, or what is suspected?"), "muted", wrap=True)
        column(text, self.search, (self.presentations, 1), self.count, parent=page)
        return page

    # What is shown

    @property
    def busy(self) -> bool:
        drawing = self._has("page") and self.page.busy
        return self._soon.isActive() or self._diagnosis.loading or drawing

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        first = not self._has("pages")
        if first:
            self._build()
        if not self._diagnosis.tables and not self._diagnosis.loading:
            self._diagnosis.load()
        if first:  # making takes 25 ms: it is filled in a turn of its own
            self._soon.start()
        else:
            self._refresh()

    def refresh(self) -> None:
        """Show what is known now, once the changes of this turn of the event loop are all in."""
        if self.isVisible():  # else when it is shown
            self._soon.start()

    def choose_other(self) -> None:
        """Let the user choose the presentation; a site's tables are read anew."""
        self._mode = _CHOOSE
        self._diagnosis.load(self.refresh)
        self._refresh()
        self.search.setFocus()
        self.search.selectAll()

    def show_sessions(self) -> None:
        """Show the doctors' sessions until the user goes back, or another study is shown."""
        self._mode = _SESSIONS
        self.sessions.start()
        self._refresh()

    def leave_sessions(self) -> None:
        """Show again what was shown before the sessions."""
        self._mode = ""
        self._refresh()

    def _refresh(self) -> None:
        self._soon.stop()
        diagnosis, table = self._diagnosis, self._diagnosis.presentation
        shown = diagnosis.place, table.id if table else ""
        if shown != self._shown:  # nothing of another patient stays
            self._shown = shown
            self._mode = ""
            self._forget()
        if table is None and not self._mode:
            self._mode = _CHOOSE
        self._show_problems()
        self.over.setVisible(table is not None and diagnosis.told)
        if self._mode == _SESSIONS:
            self.title.setText(tr("Doctors' sessions"))
            self.pages.setCurrentWidget(self.sessions)
        elif table is None or self._mode == _CHOOSE:
            self.title.setText(tr("Choose a presentation"))
            self._list_presentations()
            self.pages.setCurrentWidget(self.chooser)
        elif not self._has("page"):
            _ = self.page  # making takes long, too
            self._soon.start()
        else:
            self.title.setText(table.title)
            self.page.show_now()
            self.pages.setCurrentWidget(self.page)

    def _forget(self) -> None:
        if self._has("page"):
            self.page.forget()
        if self._has("sessions"):
            self.sessions.clear()

    def _show_problems(self) -> None:
        diagnosis, lines = self._diagnosis, list[str]()
        if diagnosis.problem is not None:
            lines += [error_text(diagnosis.problem), tr("The shipped tables are used instead.")]
        if diagnosis.error is not None:
            lines.append(error_text(diagnosis.error))
        if diagnosis.presentation is not None:
            from app.views.diagnosis.diagnosis_texts import unused_text

            lines += unused_text(diagnosis.presentation, diagnosis.unused)
        if diagnosis.record_used and self._record.is_unlinked:
            lines.append(tr("You chose this record; it is not linked to the shown study."))
        self.problem.setText(breakable("\n".join(lines)))
        self.problem.setVisible(bool(lines))

    # Choosing a presentation

    def _list_presentations(self) -> None:
        from app.views.diagnosis.diagnosis_texts import presentation_rows

        rows = presentation_rows(self._diagnosis.tables.values(), self.search.text())
        self.presentations.show_rows(rows)
        if self._diagnosis.loading:
            self.count.setText(tr("The tables are being read…"))
        elif rows:
            self.count.setText(tr("{count} presentations").format(count=len(rows)))
        else:
            self.count.setText(tr("No presentation fits."))

    def _choose_first(self) -> None:
        if self.presentations.texts.rows:
            self.presentations.choose(self.presentations.texts.rows[0].key)
            self._choose()

    def _choose(self) -> None:
        key = self.presentations.current()
        if key:
            self._mode = ""
            self.search.clear()
            self._diagnosis.choose(key)

    def _restyle(self) -> None:
        if self._has("page"):
            self.page.restyle()
        self.refresh()

    def close_models(self) -> None:
        """Delete the chart; call before the window is destroyed."""
        if self._has("page"):
            self.page.close_models()
