"""The lines of the audit log as a table, as details, and as a file that the user saves."""

from __future__ import annotations

import csv
import io
import re
import time
from collections.abc import Sequence
from datetime import datetime
from functools import lru_cache
from pathlib import Path

from PySide6.QtCore import QObject, Qt
from PySide6.QtGui import QColor

from app import settings
from app.audit import AuditLog, Entry
from app.audit.entries import decode, read_lines, segment_path
from app.audit.entry_text import action_text, entry_kind, object_text, outcome_text
from app.audit.exports import record_export
from app.errors import FileProblem, SightlineError
from app.tools.api import CancelToken
from app.views import icons, wording
from app.views.style import mono_font
from app.views.theme import THEME, TYPE
from app.views.widgets import Index, RowModel, plain_tip

Row = tuple[int, int, bytes]
"""A line as it is in its file: segment, line from 1, bytes."""

TIME, ACTION, WHAT, OUTCOME, LINE = range(5)
SAVE_FILTERS = {"Table (*.csv)": "csv", "Lines as they are (*.jsonl)": "jsonl"}
"""Filters of the save dialogue, and the suffix of each."""

_ACTION = re.compile(rb'\{"n":\d+,"t":"[^"]*","a":"([^"]*)"')
_UID = re.compile(r"[0-9]+(?:\.[0-9]+){3,}")
_CSV_HEAD = ("entry", "time (UTC)", "kind", "action", "what", "outcome", "file", "line")
_FORMULA_SIGNS = ("=", "+", "-", "@", "\t", "\r")


def matching_rows(
    log: AuditLog, kind: str, text: str, cancel: CancelToken
) -> tuple[list[Row], int]:
    """Read the log; return its matching rows, the newest first, and the total number of rows.

    Slow for a long log, so it must be called on a background thread. `kind` is one of
    `entry_text.KINDS`, or "" for all; `text` holds words that a row must contain, or the SOP
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
            f"the audit log cannot be read ({reason})",
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
    """The rows of the audit table."""

    columns = ("Time", "Action", "What", "Outcome", "Line")

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._problems: dict[tuple[int, int], str] = {}

    def mark_problems(self, problems: dict[tuple[int, int], str]) -> None:
        """Mark damaged rows; `problems` maps (segment, line) to the reason."""
        self._problems = problems
        if self.rows:
            last = self.index(len(self.rows) - 1, len(self.columns) - 1)
            self.dataChanged.emit(self.index(0, 0), last)

    def find(self, segment: int, line: int) -> int:
        """Return the row that shows a line of the log, or -1 if none does."""
        found = (number for number, row in enumerate(self.rows) if row[:2] == (segment, line))
        return next(found, -1)

    def details(self, number: int) -> str:
        """Return everything recorded in a row's line of the log, one fact per line."""
        row = self.rows[number]
        entry, problem = _entry(row), self._problem(row)
        place = f"{segment_path(Path(), row[0]).name}, line {row[1]}"
        if entry is None:
            return f"{place}: this line cannot be read."
        lines = [f"{action_text(entry)}  ·  {entry.time}  ·  entry {entry.number}, {place}"]
        if problem:
            lines.append(f"NOT AS IT WAS WRITTEN: {problem}")
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
        return "changed"
    if entry is None:
        return "(cannot be read)" if column == ACTION else ""
    if column == TIME:
        return local_time(entry.time)
    return {ACTION: action_text, WHAT: object_text, OUTCOME: outcome_text}[column](entry)


def _color(row: Row, column: int, problem: str) -> QColor | None:
    if problem:
        return QColor(THEME.error)
    if column in (TIME, LINE):
        return QColor(THEME.text_muted)
    outcome = _cell(row, OUTCOME, "") if column == OUTCOME else ""
    if outcome in ("failed", "not allowed", "damaged"):
        return QColor(THEME.warning)
    return QColor(THEME.ok) if outcome in ("done", "allowed") else None


def local_time(text: str) -> str:
    """Return an entry's time in the local time zone, e.g. "2026-01-31 14:05:09"."""
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


def save_rows(log: AuditLog, rows: Sequence[Row], path: Path) -> None:
    """Write rows to a file, the oldest first: `.jsonl` unchanged, any other suffix as CSV.

    Raises:
        FileProblem: The file or the audit log cannot be written.
    """
    oldest_first = rows[::-1]
    if path.suffix.lower() == ".jsonl":
        data = b"".join(line for _segment, _line, line in oldest_first)
    else:
        data = _csv_text(oldest_first).encode("utf-8-sig")  # its mark makes spreadsheets read UTF-8
    with record_export(log, "audit log", path, lines=len(rows)):
        try:
            settings.write_atomic(path, data)
        except OSError as error:
            raise FileProblem(
                f"it cannot be written ({error.strerror or type(error).__name__})",
                subject=str(path),
                remedy="Choose a folder with free space that you may write to.",
            ) from error


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
