"""The audit window, which filters, verifies and saves the log; and a recorder of clipboard use."""

from __future__ import annotations

import csv
import io
import re
import time
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import lru_cache
from pathlib import Path

from PySide6.QtCore import QObject, QSignalBlocker, QSize, Qt, QTimer
from PySide6.QtGui import QColor, QGuiApplication, QKeySequence, QShortcut
from PySide6.QtWidgets import (
    QAbstractItemView,
    QApplication,
    QDialog,
    QFileDialog,
    QHeaderView,
    QPlainTextEdit,
    QPushButton,
    QStackedLayout,
    QTableView,
    QWidget,
)

from app.audit import AuditLog, Entry
from app.audit.entries import decode, read_lines, segment_path
from app.audit.entry_text import KINDS, action_text, entry_kind, object_text, outcome_text
from app.audit.verification import Report, verify
from app.errors import CancelToken, SightlineError
from app.views import icons, wording
from app.views.background import DaemonTasks
from app.views.layouts import column, icon_row, row
from app.views.results.exporting import write_result
from app.views.settings.fields import Choice
from app.views.theme import SPACE, THEME, TYPE, current_sheet, mono_font, restyle
from app.views.translation import tr, tr_n, translatable
from app.views.widgets import (
    EmptyState,
    IconLabel,
    Index,
    RowModel,
    RowTable,
    label,
    plain_tip,
    push_button,
    search_field,
)

Row = tuple[int, int, bytes]
"""A line as it is in its file: segment, line from 1, bytes."""

TIME, ACTION, WHAT, OUTCOME, LINE = range(5)
SAVE_FILTERS = {
    translatable("Table (*.csv)"): "csv",
    translatable("Log lines, unchanged (*.jsonl)"): "jsonl",
}
"""Filters of the save dialogue, and the suffix of each."""

_ACTION = re.compile(rb'\{"n":\d+,"t":"[^"]*","a":"([^"]*)"')
_UID = re.compile(r"[0-9]+(?:\.[0-9]+){3,}")
_CSV_HEAD = ("entry", "time (UTC)", "kind", "action", "what", "outcome", "file", "line")
_FORMULA_SIGNS = ("=", "+", "-", "@", "\t", "\r")


def matching_rows(
    log: AuditLog, kind: str, text: str, cancel: CancelToken
) -> tuple[list[Row], int]:
    """Read the log; return its matching rows, newest first, and the number of all rows in the log.

    Slow for a long log, so it must be called on a background thread. `kind` is a kind of log entry
    from `entry_text.KINDS`, or "" for all; `text` holds words that a row must contain, or the SOP
    Instance UID of an image.

    Raises:
        SightlineError: The log or its key cannot be read.
    """
    query = text.strip()
    if _UID.fullmatch(query):
        words = [log.name("image", query).encode()]
    else:
        words = [word.encode("ascii", "replace") for word in query.lower().split()]
    rows: list[Row] = []
    total = 0
    try:
        for row in read_lines(log.folder):
            total += 1
            if not total % 1_000:
                cancel.check()
                time.sleep(0.001)  # lets the GUI thread have the interpreter
            if kind and _kind_of_line(row[2]) != kind:
                continue
            if words:
                line = row[2].lower()
                if not all(word in line for word in words):
                    continue
            rows.append(row)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise SightlineError(
            tr("the audit log cannot be read ({reason})").format(reason=reason),
            remedy="Ask this computer's administrator for the right to read its folder.",
        ) from error
    rows.reverse()
    return rows, total


def _kind_of_line(line: bytes) -> str:
    # Not decoded: of a hundred thousand lines only those on the screen are.
    found = _ACTION.match(line)
    return _kind_of_action(found[1] if found else b"")


@lru_cache(maxsize=1_024)
def _kind_of_action(action: bytes) -> str:
    return entry_kind(Entry(0, "", action.decode("ascii", "replace"), {}))


@lru_cache(maxsize=1_024)
def _entry(row: Row) -> Entry | None:
    segment, line, data = row
    return decode(data, segment, line)


class AuditTableModel(RowModel):
    """The table model of the audit window, with one row per line of the log."""

    columns = (
        translatable("Time"),
        translatable("Action"),
        translatable("What"),
        translatable("Outcome"),
        translatable("Line"),
    )

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._problems: dict[tuple[int, int], str] = {}

    def mark_problems(self, problems: dict[tuple[int, int], str]) -> None:
        """Mark damaged rows; `problems` maps (log file number, line from 1) to the reason."""
        self._problems = problems
        if self.rows:
            last = self.index(len(self.rows) - 1, len(self.columns) - 1)
            self.dataChanged.emit(self.index(0, 0), last)

    def find(self, segment: int, line: int) -> int:
        """Return the row of line `line` (from 1) of log file number `segment`, or -1 if none."""
        found = (number for number, row in enumerate(self.rows) if row[:2] == (segment, line))
        return next(found, -1)

    def details(self, number: int) -> str:
        """Return all facts in the log line of row `number` (from 0), one per line of text."""
        row = self.rows[number]
        entry, problem = _entry(row), self._problem(row)
        place = tr("{file}, line {line}").format(
            file=segment_path(Path(), row[0]).name, line=row[1]
        )
        if entry is None:
            return tr("{place}: this line cannot be read.").format(place=place)
        lines = [
            tr("{action}  ·  {time}  ·  entry {number}, {place}").format(
                action=tr(action_text(entry)), time=entry.time, number=entry.number, place=place
            )
        ]
        if problem:
            lines.append(tr("NOT AS IT WAS WRITTEN: {problem}").format(problem=problem))
        lines += [
            f"{key}: {_value_text(value)}"
            for key, value in entry.facts.items()
            if value not in ("", [])
        ]
        return "\n".join(lines)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        row, column = self.rows[index.row()], index.column()
        problem = self._problem(row)
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return wording.one_line(_cell(row, column, problem))
            case Qt.ItemDataRole.ToolTipRole if problem or column == WHAT:
                return plain_tip(problem or _cell(row, column, ""))
            case Qt.ItemDataRole.DecorationRole if problem and column == TIME:
                return icons.icon("triangle-alert", THEME.error)
            case Qt.ItemDataRole.ForegroundRole:
                return _color(row, column, problem)
            case Qt.ItemDataRole.FontRole if column in (TIME, LINE):
                return mono_font(TYPE.caption)
            case _:
                return None

    def _problem(self, row: Row) -> str:
        return self._problems.get(row[:2], "")


def _cell(row: Row, column: int, problem: str) -> str:
    entry = _entry(row)
    if column == LINE:
        return f"{row[0]}:{row[1]}"
    if column == OUTCOME and problem:
        return tr("changed")
    if entry is None:
        return tr("(cannot be read)") if column == ACTION else ""
    if column == TIME:
        return local_time(entry.time)
    if column == WHAT:
        return object_text(entry)
    return tr(action_text(entry) if column == ACTION else outcome_text(entry))


def _color(row: Row, column: int, problem: str) -> QColor | None:
    if problem:
        return QColor(THEME.error)
    if column in (TIME, LINE):
        return QColor(THEME.text_muted)
    entry = _entry(row) if column == OUTCOME else None
    outcome = outcome_text(entry) if entry is not None else ""
    if outcome in ("failed", "not allowed", "damaged"):
        return QColor(THEME.warning)
    return QColor(THEME.ok) if outcome in ("done", "allowed") else None


def local_time(text: str) -> str:
    """Return an ISO 8601 time as local "2026-01-31 14:05:09"; cut other text to 19 characters."""
    try:
        return f"{datetime.fromisoformat(text).astimezone():%Y-%m-%d %H:%M:%S}"
    except ValueError:
        return text[:19]


def _value_text(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value))
    if isinstance(value, dict):
        return ", ".join(f"{name} = {item}" for name, item in value.items())
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


def save_rows(log: AuditLog, rows: Sequence[Row], path: Path, opened: Sequence[Path] = ()) -> None:
    """Write rows to a file, the oldest first: the log's own lines if it is `.jsonl`, else CSV.

    Raises:
        FileProblem: The file or the audit log cannot be written, or `path` is one of `opened`.
    """
    oldest_first = rows[::-1]
    if path.suffix.lower() == ".jsonl":
        data = b"".join(line for _segment, _line, line in oldest_first)
    else:
        data = _csv_text(oldest_first).encode("utf-8-sig")  # its mark makes spreadsheets read UTF-8
    write_result(lambda: data, path, "audit log", log, opened, lines=len(rows))


def _csv_text(rows: Sequence[Row]) -> str:
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(_CSV_HEAD)
    for segment, line, data in rows:
        entry = decode(data, segment, line)
        if entry is None:
            writer.writerow(("", "", "", "(cannot be read)", "", "", segment, line))
            continue
        texts = (entry_kind(entry), action_text(entry), object_text(entry), outcome_text(entry))
        # A spreadsheet would run a text that begins like a formula.
        cells = (f"'{cell}" if cell.startswith(_FORMULA_SIGNS) else cell for cell in texts)
        writer.writerow((entry.number, entry.time, *cells, segment, line))
    return text.getvalue()


_SIZE = QSize(920, 640)
_WIDTHS = {TIME: 176, ACTION: 140, WHAT: 340, OUTCOME: 96, LINE: 84}
_DETAILS_HEIGHT = 132
_SEARCH_DELAY_MS = 150
_SHEET = f"""
#auditWindow {{ background: {THEME.panel}; }}
#auditWindow QComboBox {{ padding-right: 26px; }}
#auditWindow QLabel[tone="muted"] {{ color: {THEME.text_muted}; }}
#auditWindow QLabel[tone="ok"] {{ color: {THEME.ok}; }}
#auditWindow QLabel[tone="warning"] {{ color: {THEME.warning}; }}
#auditWindow QLabel[tone="error"] {{ color: {THEME.error}; }}
"""


class AuditWindow(QDialog):
    """The window that lists the audit log, newest line first; a background thread reads the log."""

    def __init__(
        self,
        log: AuditLog,
        parent: QWidget | None = None,
        opened: Callable[[], Sequence[Path]] = tuple,
    ) -> None:
        super().__init__(parent)
        self._opened = opened
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setObjectName("auditWindow")
        self.setWindowTitle(tr("Audit log"))
        self.setStyleSheet(current_sheet(_SHEET))
        self._log = log
        self._tasks = DaemonTasks(self)
        self._reading: CancelToken | None = None
        self._verifying: CancelToken | None = None
        self.model = AuditTableModel(self)
        self._make_filters()
        self.table = self._make_table()
        self._make_foot()
        self._lay_out()
        self.finished.connect(self._tasks.close)
        room = self.screen().availableGeometry().size() - QSize(40, 60)
        self.resize(_SIZE.boundedTo(room))
        self.refresh()

    # Parts

    def _make_filters(self) -> None:
        self.kind = Choice((("", tr("All kinds")), *((kind, kind) for kind in KINDS)))
        self.kind.setAccessibleName(tr("Kind of action"))
        self.kind.currentIndexChanged.connect(lambda _index: self._read())
        self.search = search_field(
            tr("Search: a tool, a host, or the SOP Instance UID of an image"),
            tr("Search the audit log"),
        )
        self._typing = QTimer(self, singleShot=True, interval=_SEARCH_DELAY_MS)
        self._typing.timeout.connect(self._read)
        self.search.textChanged.connect(lambda _text: self._typing.start())
        self.refresh_button = _push_button(tr("Refresh"), self.refresh)
        QShortcut(QKeySequence(QKeySequence.StandardKey.Find), self, self.search.setFocus)
        QShortcut(QKeySequence(QKeySequence.StandardKey.Refresh), self, self.refresh)

    def _make_table(self) -> QTableView:
        name = tr("Lines of the audit log, the newest first")
        table = RowTable(self.model, name, row_height=26, widths=_WIDTHS)
        table.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        table.horizontalHeader().setSectionResizeMode(WHAT, QHeaderView.ResizeMode.Stretch)
        table.selectionModel().currentRowChanged.connect(
            lambda now, _old: self._show_details(now.row())
        )
        return table

    def _make_foot(self) -> None:
        self.empty = EmptyState("shield-check", tr("Reading the audit log"), "")
        self.details = QPlainTextEdit()
        self.details.setReadOnly(True)
        self.details.setTabChangesFocus(True)
        self.details.setFixedHeight(_DETAILS_HEIGHT)
        self.details.setAccessibleName(tr("Details of the selected line"))
        self.details.setPlaceholderText(tr("Select a line to see its details"))
        self.verdict_icon = IconLabel("shield-check")
        self.verdict = label("", wrap=True)
        self._show_verdict(
            tr("Not checked yet. Verify checks every line."), "muted", "shield-check"
        )
        self.verdict.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.count = label("", "faint")
        self.verify_button = _push_button(tr("Verify"), self.verify, primary=True)
        self.verify_button.setToolTip(tr("Check every line against the log's key"))
        self.export_button = _push_button(tr("Export…"), self.export)
        self.close_button = _push_button(tr("Close"), self.reject)

    def _lay_out(self) -> None:
        self._stack = QStackedLayout()
        self._stack.addWidget(self.empty)
        self._stack.addWidget(self.table)
        buttons = (self.verify_button, self.export_button, self.close_button)
        column(
            row(self.kind, (self.search, 1), self.refresh_button),
            (self._stack, 1),
            self.details,
            icon_row(self.verdict_icon, self.verdict, SPACE.s),
            row((self.count, 1), *buttons),
            spacing=SPACE.m,
            margins=SPACE.l,
            parent=self,
        )
        self.search.setFocus()

    # Reading

    def refresh(self) -> None:
        self.count.setText(tr("Reading…"))
        self._read()

    def _read(self, report: Report | None = None) -> None:
        """Read and list what matches the filters, dropping a search that still runs."""
        self._typing.stop()
        if self._reading is not None:
            self._reading.cancel()
        log, kind, text = self._log, self.kind.value, self.search.text()
        self._reading = self._tasks.run(
            lambda cancel: matching_rows(log, kind, text, cancel),
            lambda found: self._show_rows(found[0], found[1], report),
            lambda reason: self._show_unreadable(reason, report),
        )

    def _show_unreadable(self, reason: str, report: Report | None) -> None:
        if report is not None:
            self._select_problem(report)  # the lines that were listed before stay
            return
        self.count.setText("")
        self._show_empty(tr("The audit log cannot be read"), reason)

    def _show_rows(self, rows: list[Row], total: int, report: Report | None) -> None:
        self.model.show_rows(rows)
        self._show_details(-1)
        self.count.setText(
            tr("{count:,} of {total:,} lines").format(count=len(rows), total=total)
            if len(rows) != total
            else tr_n("%n line", "%n lines", total)
        )
        self.export_button.setEnabled(bool(rows))
        if rows:
            self._stack.setCurrentIndex(1)
        elif total:
            self._show_empty(
                tr("No line matches"), tr("Choose another kind, or search for another word.")
            )
        else:
            hint = tr("Tool calls and everything sent are listed here.")
            self._show_empty(tr("The audit log is empty"), hint)
        if report is not None and not self._select_problem(report) and len(rows) != total:
            # The filters hide the damaged line.
            with QSignalBlocker(self.search), QSignalBlocker(self.kind):
                self.search.clear()
                self.kind.setCurrentIndex(0)
            self._read(report)

    def _show_empty(self, title: str, text: str) -> None:
        self.empty.title.setText(title)
        self.empty.text.setText(text)
        self._stack.setCurrentIndex(0)

    def _show_details(self, number: int) -> None:
        self.details.setPlainText(self.model.details(number) if number >= 0 else "")

    # Verifying

    def verify(self) -> None:
        """Verify the log on disk, show the result and mark damaged lines."""
        log = self._log
        if self._verifying is not None:
            self._verifying.cancel()
        self._show_verdict(tr("Checking every line…"), "muted", "shield-check")

        def work(_cancel: CancelToken) -> Report:
            try:
                return verify(log.folder, log.secret)
            except OSError as error:
                reason = error.strerror or type(error).__name__
                raise SightlineError(
                    tr("the audit log cannot be read ({reason})").format(reason=reason)
                ) from error

        self._verifying = self._tasks.run(work, self._show_report, self._show_unverified)

    def _show_report(self, report: Report) -> None:
        problems = report.problems
        self.model.mark_problems({(item.segment, item.line): item.why for item in problems})
        if report.ok:
            self._show_verdict(_success_text(report), "ok", "circle-check")
            return
        more = len(problems) - 1
        lines = [
            tr("The log is NOT as it was written. {problem}.").format(problem=problems[0].text)
        ]
        if more:
            lines.append(tr_n("%n more below it is marked.", "%n more below it are marked.", more))
        lines.append(tr("Keep a copy of its folder and tell this computer's administrator."))
        self._show_verdict(
            " ".join(lines),
            "error",
            "circle-alert",
        )
        self._read(report)  # what is listed may be older than the change

    def _show_unverified(self, reason: str) -> None:
        self._show_verdict(
            tr("Not checked: {reason}").format(reason=reason), "warning", "triangle-alert"
        )

    def _select_problem(self, report: Report) -> bool:
        """Select the first damaged line that is listed; return False if none is."""
        for problem in report.problems:
            number = self.model.find(problem.segment, problem.line)
            if number >= 0:
                index = self.model.index(number, 0)
                self.table.selectRow(number)
                self.table.scrollTo(index, QAbstractItemView.ScrollHint.PositionAtCenter)
                return True
        return False

    def _show_verdict(self, text: str, tone: str, icon: str) -> None:
        self.verdict.setProperty("tone", tone)
        self.verdict.setText(text)
        self.verdict.setAccessibleName(text)
        restyle(self.verdict)
        tints = {"ok": THEME.ok, "warning": THEME.warning, "error": THEME.error}
        tint = tints.get(tone, THEME.text_muted)
        self.verdict_icon.set_icon(icon, tint)

    # Saving

    def export(self) -> None:
        dialog = QFileDialog(self, tr("Export the audit log"))
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        filters = {tr(name): suffix for name, suffix in SAVE_FILTERS.items()}
        dialog.setNameFilters(list(filters))
        dialog.setDefaultSuffix("csv")
        dialog.filterSelected.connect(lambda name: dialog.setDefaultSuffix(filters[name]))
        dialog.selectFile(tr("Sightline audit log"))
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.accepted.connect(lambda: self.save(Path(dialog.selectedFiles()[0])))
        dialog.open()

    def save(self, path: Path) -> None:
        """Save the listed lines to a file, whose suffix determines the format."""
        log, rows = self._log, self.model.rows
        opened = self._opened()
        done = tr_n("Saved %n line to {path}.", "Saved %n lines to {path}.", len(rows)).format(
            path=path
        )
        self._tasks.run(
            lambda _cancel: save_rows(log, rows, path, opened),
            lambda _none: self._show_verdict(done, "ok", "circle-check"),
            lambda reason: self._show_verdict(reason, "warning", "triangle-alert"),
        )


def show_audit(
    log: AuditLog, window: QWidget, opened: Callable[[], Sequence[Path]] = tuple
) -> AuditWindow:
    """Open and return the audit window over `window`; exports never replace files in `opened()`."""
    dialog = AuditWindow(log, QApplication.activeModalWidget() or window, opened)
    dialog.show()
    return dialog


def _success_text(report: Report) -> str:
    if not report.lines:
        return tr("There is nothing in the log yet, so there is nothing to check.")
    notes = " ".join(report.notes)
    first, last = local_time(report.first), local_time(report.last)
    return (
        tr("All {lines:,} lines are as they were written, from {first} to {last}.").format(
            lines=report.lines, first=first, last=last
        )
        + f" {notes}"
    ).rstrip()


def _push_button(text: str, clicked: Callable[[], object], *, primary: bool = False) -> QPushButton:
    button = push_button(text, clicked, primary=primary)
    button.setAutoDefault(False)  # Enter in the search field must not click it
    return button


class CopyRecorder(QObject):
    """Calls `note` to log each copy from the program to the clipboard; `note` must not block."""

    def __init__(self, note: Callable[..., object], parent: QObject) -> None:
        super().__init__(parent)
        self._note = note
        QGuiApplication.clipboard().dataChanged.connect(self._record)

    def _record(self) -> None:
        clipboard = QGuiApplication.clipboard()
        # Offscreen, no other program shares the clipboard, and Qt reports that it has no owner.
        alone = QGuiApplication.platformName() == "offscreen"
        if not (alone or clipboard.ownsClipboard()):
            return
        data = clipboard.mimeData()
        if data is None:
            return
        if data.hasImage():
            self._note("copied", what="a picture")
        elif data.hasText() and data.text():
            self._note("copied", what="text", characters=len(data.text()))
