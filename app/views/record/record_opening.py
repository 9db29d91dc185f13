"""Opening patients' records without blocking the window, and matching them to the shown study."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from PySide6.QtCore import QModelIndex, QObject, QPersistentModelIndex, Qt, Signal
from PySide6.QtWidgets import QDialog, QWidget

from app.errors import Cancelled, CancelToken, SightlineError
from app.imaging.types import Instance
from app.records.matching import study_identity
from app.records.record_files import split_sources
from app.records.record_library import OpenedRecord, Progress, RecordLibrary
from app.records.types import NoRecords, RecordMatch, RecordProblem, StudyIdentity
from app.views.background import Background, gui_calls
from app.views.layouts import column, row
from app.views.notices import Notices
from app.views.theme import SPACE
from app.views.translation import tr, tr_n, tr_report, translatable
from app.views.widgets import ProgressRow, RowModel, RowTable, label, push_button, tool_button
from app.workspace.workspace import Workspace

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


_STEPS = 1000
_TOLD = 3
"""Problems that the notice words; a dialog lists all."""

Opener = Callable[[Progress, CancelToken], OpenedRecord]
"""Opens a record; blocks."""


class RecordOpening(QObject):
    """Opens records and matches the study; emits `opened`, then `files_opened` with paths."""

    opened = Signal(object)
    files_opened = Signal(object)

    def __init__(
        self,
        workspace: Workspace,
        library: RecordLibrary,
        background: Background,
        notices: Notices,
    ) -> None:
        super().__init__(notices)
        self._workspace = workspace
        self._library = library
        self._background = background
        self._notices = notices
        self._running: CancelToken | None = None
        self._asked: StudyIdentity | None = None
        self.open_files: list[Path] = []
        """The files and folders of the records that are open, without those of servers."""
        self._gui = gui_calls()
        stop = tool_button("x", tr("Stop opening"), self.cancel, 12)
        self.progress = ProgressRow(stop, 140, "caption")
        workspace.image_changed.connect(self.match_shown)

    @property
    def busy(self) -> bool:
        return self._running is not None

    def split(self, paths: Sequence[Path], others: Callable[[Sequence[Path]], object]) -> None:
        """Open those paths that hold a record; call `others` with those that hold anything else."""

        def take(found: tuple[list[Path], list[Path]]) -> None:
            records, rest = found
            if rest:
                others(rest)
            if records:
                self.open_paths(records)

        self._background.submit(partial(split_sources, paths), take)

    def open_paths(self, paths: Sequence[Path]) -> None:
        """Start to open files and folders of FHIR as one record, and return immediately."""
        self.open_with(
            lambda progress, cancel: self._library.open(paths, progress, cancel), tuple(paths)
        )

    def open_with(self, opener: Opener, paths: tuple[Path, ...] = ()) -> None:
        """Start to open a record, and return immediately; an opening that runs is stopped."""
        self.cancel()
        cancel = self._running = CancelToken()
        self.progress.set_progress(tr("Opening the record…"))
        self.progress.show()

        def show(fraction: float, text: str) -> None:
            self._gui.send(lambda: self._show_progress(cancel, fraction, text))

        # Not in the window's pool, whose two threads others wait for: this may take minutes.
        def work() -> None:
            try:
                found = opener(show, cancel)
            except Cancelled:
                return
            except SightlineError as error:
                self._gui.send(partial(self._fail, cancel, error))
            except Exception as error:
                told = SightlineError(
                    "something went wrong inside Sightline",
                    remedy="Try again; the log has the details.",
                    detail=type(error).__name__,
                )
                self._gui.send(partial(self._fail, cancel, told))
            else:
                self._gui.send(partial(self._take, cancel, found, paths))

        threading.Thread(target=work, name="sightline-record", daemon=True).start()

    def cancel(self) -> None:
        """Stop the opening; what is open stays."""
        if self._running is not None:
            self._running.cancel()
            self._end()

    def close_records(self) -> None:
        """Close all records; what the window showed of them goes."""
        self.cancel()
        self._asked = None
        self.open_files.clear()
        self._workspace.record.open(NoRecords())
        # A worker that is just stopping may be waited for.
        threading.Thread(target=self._library.close, name="sightline-record", daemon=True).start()

    def _end(self) -> None:
        self._running = None
        self.progress.hide()

    def _show_progress(self, cancel: CancelToken, fraction: float, text: str) -> None:
        if cancel is self._running:
            self.progress.set_progress(tr_report(text), round(fraction * _STEPS), _STEPS)

    def _fail(self, cancel: CancelToken, error: SightlineError) -> None:
        if cancel is self._running:
            self._end()
            self._notices.show_error(error)

    def _take(self, cancel: CancelToken, found: OpenedRecord, paths: tuple[Path, ...]) -> None:
        if cancel is not self._running:
            return
        self._end()
        self._tell(found.problems)
        if found.patients:
            self._workspace.record.open(self._library)
            self._asked = None
            self.match_shown()
        elif not found.problems:
            title = tr("There is no patient's record in it")
            self._notices.show_notice("warning", title, tr("Choose FHIR R4 in JSON or NDJSON."))
        self.opened.emit(found)
        if paths and found.patients:
            self.open_files += [one for one in paths if one not in self.open_files]
            self.files_opened.emit(paths)

    def _tell(self, problems: Sequence[RecordProblem]) -> None:
        if not problems:
            return
        number = sum(not one.note for one in problems)
        title = tr_n("%n problem in the record", "%n problems in the record", number)
        if not number:
            title = tr("The record is open")
        lines = " ".join(_problem_line(one) for one in problems[:_TOLD])

        def show_all() -> None:
            RecordProblemsDialog(problems, self._notices.window()).open()

        more = (tr("Show all"), show_all) if len(problems) > _TOLD else None
        self._notices.show_notice("warning" if number else "info", title, lines, more)

    def match_shown(self) -> None:
        """Find out, in the background, whose record belongs to the shown study."""
        record = self._workspace.record
        if not record.is_open:
            return
        shown = self._workspace.acquired
        identity = study_identity(shown) if isinstance(shown, Instance) else None
        if identity is None:
            self._asked = None
            record.set_match(None)
            return
        if identity == self._asked:
            return
        self._asked = identity

        def take(match: RecordMatch) -> None:
            if identity == self._asked:
                record.set_match(match)

        # Until it is known, no record counts as that of the newly shown study.
        record.set_match(RecordMatch("none", "", tr("It is being looked up.")))
        self._background.submit(partial(self._library.match, identity), take)


def _problem_line(problem: RecordProblem) -> str:
    name = Path(problem.path).name
    where = f" ({problem.where})" if problem.where else ""
    return f"{name}{where}: {tr_report(problem.reason)}."
