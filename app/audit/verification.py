"""Verification of the audit log against its chain of MACs and its signed head.

It finds every changed byte, every line that was removed, inserted, duplicated or moved, lines cut
off the end, a missing file, and a log that was written without the key. It cannot find changes by
somebody who has the key. If an older copy of the whole folder was put back while no program was
running, it finds this only if the log's end was noted before (`anchor`).
"""

from __future__ import annotations

import contextlib
import io
import re
from dataclasses import dataclass, field
from pathlib import Path

from app.audit import entries
from app.audit.entries import Head, Keys
from app.audit.log import folder_lock
from app.user_files import open_regular

MAX_PROBLEMS = 50

_WHY = {
    "changed": "the log did not end as it was left when the program went on writing",
    "head lost": "the signed head was gone when the program went on writing: lines before may be "
    "missing",
    "another key": "from here on another key signs; the key of the lines before is not at hand",
    "put back": "an older copy of the log had been put in its place while the program ran",
}
_ANCHOR = re.compile(r"\b[0-9]{1,15}:[0-9a-f]{64}\b")


@dataclass(frozen=True, slots=True)
class Problem:
    """A place where the log is not as it was written.

    `segment` is the number of the file, 0 for the head's; `line` is 0 for the whole file.
    """

    segment: int
    line: int
    why: str

    @property
    def text(self) -> str:
        """The place and the reason, in one line."""
        name = (
            entries.segment_path(Path(), self.segment).name if self.segment else entries.HEAD_NAME
        )
        return f"{name}, line {self.line}: {self.why}" if self.line else f"{name}: {self.why}"


@dataclass(slots=True)
class Report:
    """The result of a verification.

    Attributes:
        lines: Number of lines in the log.
        problems: The problems in the order of the log; at most 50.
        notes: Facts worth knowing that are not problems.
        first: Time of the first line; "" if there is no log, also for `last` and `anchor`.
        last: Time of the last line.
        anchor: The end of the log, to be noted elsewhere. Given to a later `verify`, it reveals
            whether the log was replaced by an older copy.
    """

    lines: int = 0
    problems: list[Problem] = field(default_factory=list[Problem])
    notes: list[str] = field(default_factory=list[str])
    first: str = ""
    last: str = ""
    anchor: str = ""

    @property
    def ok(self) -> bool:
        """Whether the log is as it was written."""
        return not self.problems

    def add(self, segment: int, line: int, why: str) -> None:
        """Add a problem, unless there are already 50."""
        if len(self.problems) < MAX_PROBLEMS:
            self.problems.append(Problem(segment, line, why))


def verify(folder: Path, secret: bytes, *, anchor: str = "") -> Report:
    """Check every line of the log, and return a report.

    Args:
        folder: The log's folder.
        secret: The log's key.
        anchor: A text with a `Report.anchor` noted earlier, whose line must still exist; "" for
            none.

    Raises:
        OSError: The log cannot be read.
        ValueError: `anchor` is malformed.
    """
    if anchor:
        noted = _ANCHOR.search(anchor)
        if noted is None:
            raise ValueError("an anchor is a number, a colon and 64 hexadecimal digits")
        anchor = noted[0]
    report, keys = Report(), Keys(secret)
    data, sizes = _snapshot(folder)
    if not data and not sizes:
        if anchor:
            report.add(0, 0, "there is no log, but an end of one was noted")
        return report
    head, key = entries.decode_head(keys, data)
    if head is None:
        report.add(0, 0, _head_problem(data, key, keys))
    chain = _Chain(keys, report, anchor)
    for segment in range(1, max(head.segment if head else 0, *sizes, 0) + 1):
        if segment in sizes:
            with open_regular(entries.segment_path(folder, segment)) as file:
                _check_segment(chain, head, segment, file.read(sizes[segment]))
        else:
            report.add(segment, 0, "the file is missing")
    chain.check_end(head)
    return report


def _snapshot(folder: Path) -> tuple[bytes, dict[int, int]]:
    """Return the head's bytes and the size of each segment at one moment: others may be writing."""
    with contextlib.ExitStack() as stack:
        # A copy on a read-only disk cannot be locked, and has no other writers.
        with contextlib.suppress(OSError):
            if folder.is_dir():
                stack.enter_context(folder_lock(folder))
        sizes = {
            each: entries.segment_path(folder, each).stat().st_size
            for each in entries.segments(folder)
        }
        path = folder / entries.HEAD_NAME
        return path.read_bytes() if path.is_file() else b"", sizes


def _head_problem(data: bytes, key: str, keys: Keys) -> str:
    if not data:
        return "the signed head is missing: lines may have been cut off the end"
    if key not in ("", keys.id):
        return "it was signed with another key than the one at hand"
    return "the signed head was changed"


def _check_segment(chain: _Chain, head: Head | None, segment: int, data: bytes) -> None:
    """Check one file: its lines, and that nothing follows the end that the head gives."""
    report = chain.report
    size, is_pending = len(data), False
    if head is not None and segment >= head.segment:
        size = head.size if segment == head.segment else 0
        extra = data[size:]
        is_pending = (segment, size) == head.pending_place and head.pending.startswith(extra)
        if extra and is_pending:
            report.notes.append(
                f"A program was ended while it wrote line {head.number + 1}; nothing is lost, the "
                "next one that writes finishes it."
            )
        elif segment > head.segment and not is_pending:
            report.add(segment, 0, "this file is not part of the log")
        elif extra:
            place = data.count(b"\n", 0, size) + 1
            report.add(segment, place, "something was added after the end of the log")
    if not data and not is_pending:
        report.add(segment, 0, "the file is empty")
    # Line by line: splitting a large file at once would hold up every other thread.
    for place, line in enumerate(io.BytesIO(data[:size]), start=1):
        if line.endswith(b"\n"):
            chain.check_line(segment, place, line[:-1])
        else:
            report.add(segment, place, "the line is cut off")


class _Chain:
    """The state of a walk along the lines."""

    def __init__(self, keys: Keys, report: Report, anchor: str) -> None:
        self.report = report
        self._keys = keys
        self._anchor = anchor
        self._anchor_seen = not anchor
        self._number = 0
        self._mac = entries.GENESIS
        self._place = (0, 0)  # segment and line
        self._line = b""

    def check_line(self, segment: int, place: int, line: bytes) -> None:
        """Check that a line (without newline) follows the one before it."""
        number, mac = entries.number_of(line), entries.mac_of(line)
        if not self.report.lines:
            self.report.first = _time(line)
        if place == 1:
            self._check_first_line(segment, line)
        if not entries.is_genuine(self._keys, self._mac, line):
            self.report.add(segment, place, "the line was changed, or one before it is missing")
        elif number != self._number + 1:
            self.report.add(segment, place, f"line {self._number + 1} is missing before it")
        self.report.lines += 1
        self._mac = mac or self._mac
        self._number = number if number >= 0 else self._number
        self._place, self._line = (segment, place), line
        self._anchor_seen = self._anchor_seen or f"{number}:{mac}" == self._anchor

    def check_end(self, head: Head | None) -> None:
        """Check that the log ends as its head says, and complete the report."""
        report, (segment, place) = self.report, self._place
        if head is not None and self._number < head.number:
            missing = f"{self._number + 1} to {head.number}"
            report.add(segment, place, f"lines are missing after it: {missing}")
        elif head is not None and (self._number, self._mac) != (head.number, head.last):
            report.add(segment, place, "the log does not end as its signed head says")
        report.last = _time(self._line)
        report.anchor = f"{self._number}:{self._mac}"
        if not self._anchor_seen:
            number = self._anchor.partition(":")[0]
            why = f"line {number}, whose end was noted, is not in the log: an older copy was put"
            report.add(0, 0, f"{why} in its place, or it was made anew")

    def _check_first_line(self, segment: int, line: bytes) -> None:
        """Check the first line of a file, which says what it follows and why it was begun."""
        entry = entries.decode(line)
        if (
            entry is None
            or entry.action != entries.SEGMENT
            or entry.facts.get("segment") != segment
        ):
            self.report.add(segment, 1, "the file does not begin as its number says")
            return
        why = str(entry.facts.get("why"))
        if why != ("begun" if segment == 1 else "full"):
            self.report.add(segment, 1, _WHY.get(why, "the file was started for no known reason"))
            after = str(entry.facts.get("after"))
            if re.fullmatch("[0-9a-f]{64}", after):
                # The break is reported above; from here on the chain is checked anew.
                self._mac, self._number = after, entry.number - 1


def _time(line: bytes) -> str:
    entry = entries.decode(line)
    return entry.time if entry is not None else ""
