"""The lines of the audit log as a table: read in a thread, decoded when they come on screen."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from pathlib import Path

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, Qt
from PySide6.QtGui import QColor

from app.audit import AuditLog, Entry, files, words
from app.audit.lines import decode
from app.errors import SightlineError
from app.tools.api import CancelToken
from app.views import icons, wording
from app.views.style import mono_font
from app.views.theme import THEME, TYPE
from app.views.widgets import plain_tip

Index = QModelIndex | QPersistentModelIndex
COLUMNS = ("Time", "Action", "What", "Outcome", "Line")
TIME, ACTION, WHAT, OUTCOME, LINE = range(5)

_ACTION = re.compile(rb'\{"n":\d+,"t":"[^"]*","a":"([^"]*)"')
_UID = re.compile(r"[0-9]+(?:\.[0-9]+){3,}")
_LINES = 1 << 32  # a file has fewer: a place is segment * _LINES + line
_BREATH = 1_000  # lines after which a thread lets the window have its turn


@dataclass(frozen=True, slots=True)
class Row:
    """A line as it is in its file."""

    segment: int
    line: int
    raw: bytes


@dataclass(frozen=True, slots=True)
class Loaded:
    """The log, the newest line first.

    Only numbers and bytes: a hundred thousand objects would be gone through by the garbage
    collector while the window waits.

    Attributes:
        lines: All lines as they are.
        places: Where each is, see `row`.
        kinds: The row numbers of each kind, in order.
    """

    lines: Sequence[bytes] = ()
    places: Sequence[int] = ()
    kinds: dict[str, list[int]] = field(default_factory=dict[str, list[int]])

    def row(self, number: int) -> Row:
        """A line with its place."""
        segment, line = divmod(self.places[number], _LINES)
        return Row(segment, line, self.lines[number])


def load(folder: Path, cancel: CancelToken) -> Loaded:
    """Read the whole log; in a thread.

    Raises:
        SightlineError: It cannot be read.
    """
    lines: list[bytes] = []
    places: list[int] = []
    try:
        for segment in files.segments(folder):
            with files.segment_path(folder, segment).open("rb") as file:
                for place, raw in enumerate(file, start=1):
                    lines.append(raw)
                    places.append(segment * _LINES + place)
                    if not place % _BREATH:
                        cancel.check()
                        time.sleep(0.001)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise SightlineError(
            f"the audit log cannot be read ({reason})",
            remedy="Ask whoever looks after this computer for the right to read its folder.",
        ) from error
    lines.reverse()
    places.reverse()
    kinds: dict[str, list[int]] = {}
    for number, raw in enumerate(lines):
        kinds.setdefault(_kind(raw), []).append(number)
        if not number % _BREATH:
            cancel.check()
            time.sleep(0.001)
    return Loaded(lines, places, kinds)


def matching(log: AuditLog, loaded: Loaded, kind: str, text: str, cancel: CancelToken) -> list[int]:
    """The rows of a kind that hold every word of `text`, or that are about an image; in a thread.

    Args:
        log: Knows the keyed hash that stands for an image.
        loaded: The log.
        kind: One of `words.KINDS`, "" for all.
        text: Words, or a SOP Instance UID.
        cancel: Ends it early.

    Raises:
        SightlineError: The key cannot be had.
    """
    numbers: Iterable[int] = loaded.kinds.get(kind, []) if kind else range(len(loaded.lines))
    wanted = text.strip()
    if _UID.fullmatch(wanted):
        needles = [log.name("image", wanted).encode()]
    else:
        needles = [word.encode("ascii", "replace") for word in wanted.lower().split()]
    if not needles:
        return list(numbers)
    found: list[int] = []
    for count, number in enumerate(numbers):
        raw = loaded.lines[number].lower()
        if all(needle in raw for needle in needles):
            found.append(number)
        if not count % _BREATH:
            cancel.check()
            time.sleep(0.001)
    return found


def _kind(raw: bytes) -> str:
    found = _ACTION.match(raw)
    return _kind_of(found[1] if found else b"")


@lru_cache(maxsize=1_024)
def _kind_of(action: bytes) -> str:
    return words.kind_of(Entry(0, "", action.decode("ascii", "replace"), {}))


@lru_cache(maxsize=1_024)
def _entry(row: Row) -> Entry | None:
    return decode(row.raw, row.segment, row.line)


class AuditModel(QAbstractTableModel):
    """The rows that match; Qt asks only for those on screen."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._loaded = Loaded()
        self._shown: Sequence[int] = ()
        self._broken: dict[tuple[int, int], str] = {}

    @property
    def loaded(self) -> Loaded:
        """All of the log that was read."""
        return self._loaded

    def show(self, loaded: Loaded, numbers: Sequence[int]) -> None:
        """Show these rows of a log."""
        self.beginResetModel()
        self._loaded, self._shown = loaded, numbers
        self.endResetModel()

    def mark(self, broken: dict[tuple[int, int], str]) -> None:
        """Mark the lines (segment, line) that are not as they were written, and say why."""
        self._broken = broken
        if self._shown:
            last = self.index(len(self._shown) - 1, len(COLUMNS) - 1)
            self.dataChanged.emit(self.index(0, 0), last)

    def row(self, number: int) -> Row:
        """The line in a row of the table."""
        return self._loaded.row(self._shown[number])

    def entry(self, number: int) -> Entry | None:
        """What it says; None where it cannot be read."""
        return _entry(self.row(number))

    def problem(self, number: int) -> str:
        """What is wrong with it; "" for nothing."""
        row = self.row(number)
        return self._broken.get((row.segment, row.line), "")

    @property
    def shown(self) -> Sequence[int]:
        """The numbers of all rows of the table, in `loaded`."""
        return self._shown

    def find(self, segment: int, line: int) -> int:
        """The row of the table with that line, or -1."""
        places, wanted = self._loaded.places, segment * _LINES + line
        found = (number for number, shown in enumerate(self._shown) if places[shown] == wanted)
        return next(found, -1)

    def rowCount(self, parent: Index | None = None) -> int:
        return 0 if parent is not None and parent.isValid() else len(self._shown)

    def columnCount(self, parent: Index | None = None) -> int:
        return 0 if parent is not None and parent.isValid() else len(COLUMNS)

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> object:
        if role == Qt.ItemDataRole.DisplayRole and orientation == Qt.Orientation.Horizontal:
            return COLUMNS[section]
        return None

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        number, column = index.row(), index.column()
        problem = self.problem(number)
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return wording.one_line(self._text(number, column, problem))
            case Qt.ItemDataRole.ToolTipRole if problem or column == WHAT:
                return plain_tip(problem or self._text(number, column, ""))
            case Qt.ItemDataRole.DecorationRole if problem and column == TIME:
                return icons.icon("triangle-alert", THEME.error)
            case Qt.ItemDataRole.ForegroundRole:
                return self._color(number, column, problem)
            case Qt.ItemDataRole.FontRole if column in (TIME, LINE):
                return mono_font(TYPE.caption)
            case _:
                return None

    def _text(self, number: int, column: int, problem: str) -> str:
        entry, row = self.entry(number), self.row(number)
        if column == LINE:
            return f"{row.segment}:{row.line}"
        if column == OUTCOME and problem:
            return "changed"
        if entry is None:
            return "(cannot be read)" if column == ACTION else ""
        match column:
            case 0:
                return local_time(entry.time)
            case 1:
                return words.action_of(entry)
            case 2:
                return words.what_of(entry)
            case _:
                return words.outcome_of(entry)

    def _color(self, number: int, column: int, problem: str) -> QColor | None:
        if problem:
            return QColor(THEME.error)
        if column in (TIME, LINE):
            return QColor(THEME.text_muted)
        if column != OUTCOME:
            return None
        outcome = self._text(number, OUTCOME, "")
        if outcome in ("failed", "not allowed", "damaged"):
            return QColor(THEME.warning)
        return QColor(THEME.ok) if outcome in ("done", "allowed") else None


def local_time(text: str) -> str:
    """A line's time as the clock on the wall says it."""
    try:
        return f"{datetime.fromisoformat(text).astimezone():%Y-%m-%d %H:%M:%S}"
    except ValueError:
        return text[:19]


def details(row: Row, entry: Entry | None, problem: str) -> str:
    """All that a line says."""
    where = f"{files.segment_path(Path(), row.segment).name}, line {row.line}"
    if entry is None:
        return f"{where}: this line cannot be read."
    told = [f"{words.action_of(entry)}  ·  {entry.time}  ·  entry {entry.number}, {where}"]
    if problem:
        told.append(f"NOT AS IT WAS WRITTEN: {problem}")
    told += [
        f"{key}: {_said(value)}" for key, value in entry.facts.items() if value not in ("", [])
    ]
    return "\n".join(told)


def _said(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value))
    if isinstance(value, dict):
        return ", ".join(f"{name} = {item}" for name, item in value.items())
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)
