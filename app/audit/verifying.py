"""Checks the audit log, line by line, against its chain and its signed head.

What it finds: any change of any byte, a line taken out, put in, doubled or moved, lines cut off the
end, a file that is missing, a chain that was made anew without the key. What it cannot find: an
older copy of the whole folder put back while no program ran, unless somebody noted the end before
(`anchor`); and work of whoever has the key, since then he writes genuine lines.
"""

from __future__ import annotations

import contextlib
import io
import re
from dataclasses import dataclass, field
from pathlib import Path

from app.audit import files
from app.audit.lines import (
    FILE_BYTES,
    GENESIS,
    SEGMENT,
    Head,
    Keys,
    decode,
    decode_head,
    decode_journal,
    is_genuine,
    mac_of,
    number_of,
)

MOST = 50
"""Problems that are told; more say no more."""

_WHY = {
    "changed": "the log did not end as it was left when the program went on writing",
    "head lost": "the signed head was gone when the program went on writing: lines before may be "
    "missing",
    "another key": "from here on another key signs; the key of the lines before is not at hand",
    "put back": "an older copy of the log had been put in its place while the program ran",
}
_ANCHOR = re.compile(r"([0-9]{1,15}):([0-9a-f]{64})")


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that is not as it was written.

    Attributes:
        segment: Number of the file; 0 for the head.
        line: Line in it, from 1; 0 for the whole file.
        why: In words.
    """

    segment: int
    line: int
    why: str

    @property
    def text(self) -> str:
        """Where and what, in one line."""
        name = files.segment_path(Path(), self.segment).name if self.segment else files.HEAD
        return f"{name}, line {self.line}: {self.why}" if self.line else f"{name}: {self.why}"


@dataclass(slots=True)
class Report:
    """What `verify` found.

    Attributes:
        lines: How many there are.
        problems: What is wrong, in order; 50 at most.
        notes: What is not wrong but worth knowing.
        first: Time of the first line.
        last: Time of the last.
        anchor: The end, to be noted elsewhere: a later `verify` that is given it finds an older
            copy of the whole log.
    """

    lines: int = 0
    problems: list[Problem] = field(default_factory=list[Problem])
    notes: list[str] = field(default_factory=list[str])
    first: str = ""
    last: str = ""
    anchor: str = ""

    @property
    def ok(self) -> bool:
        """Whether everything is as it was written."""
        return not self.problems

    def add(self, segment: int, line: int, why: str) -> None:
        """Note a problem."""
        if len(self.problems) < MOST:
            self.problems.append(Problem(segment, line, why))


@dataclass(frozen=True, slots=True)
class _Snapshot:
    """What was there at one moment: others may go on writing."""

    head: bytes
    sizes: dict[int, int]


def verify(folder: Path, secret: bytes, *, anchor: str = "") -> Report:
    """Check all of the log.

    Args:
        folder: Where it is.
        secret: The key.
        anchor: An end noted earlier (`Report.anchor`): that line must still be there.

    Raises:
        OSError: It cannot be read.
        ValueError: `anchor` is none.
    """
    if anchor and not _ANCHOR.fullmatch(anchor):
        raise ValueError("an anchor is a number, a colon and 64 hexadecimal digits")
    report = Report()
    snapshot = _snapshot(folder)
    if not snapshot.sizes and not snapshot.head:
        if anchor:
            report.add(0, 0, "there is no log, but an end of one was noted")
        return report
    _Check(folder, Keys(secret), snapshot, report, anchor).run()
    return report


def _snapshot(folder: Path) -> _Snapshot:
    with contextlib.ExitStack() as stack:
        # A copy on a read-only disk has no other writers.
        with contextlib.suppress(OSError):
            if folder.is_dir():
                stack.enter_context(files.locked(folder))
        sizes = {
            segment: files.segment_path(folder, segment).stat().st_size
            for segment in files.segments(folder)
        }
        return _Snapshot(files.read_head(folder), sizes)


class _Check:
    def __init__(
        self, folder: Path, keys: Keys, snapshot: _Snapshot, report: Report, anchor: str
    ) -> None:
        self._folder = folder
        self._keys = keys
        self._snapshot = snapshot
        self._report = report
        self._anchor = anchor
        self._anchored = False
        self._number = 0
        self._last = GENESIS
        self._end = (0, 0)  # segment and line
        self._last_line = b""
        self._head = decode_head(keys, snapshot.head)
        self._journal = decode_journal(snapshot.head)

    def run(self) -> None:
        head, sizes = self._head, self._snapshot.sizes
        if head is None:
            self._report.add(0, 0, self._bad_head())
        elif len(self._snapshot.head) != FILE_BYTES:
            self._report.add(0, 0, "it has not the length that it was written with")
        final = head.segment if head else max(sizes, default=0)
        for segment in range(1, max(final, *sizes, 0) + 1):
            if segment not in sizes:
                self._report.add(segment, 0, "the file is missing")
            elif segment > final and not self._is_next_file(segment):
                self._report.add(segment, 0, "this file is not part of the log")
            elif segment <= final:
                self._segment(segment, is_last=segment == final)
        if head is not None:
            self._check_end(head)
        self._report.last = _time(self._last_line)
        self._report.anchor = f"{self._number}:{self._last}"
        if self._anchor and not self._anchored:
            number = self._anchor.partition(":")[0]
            why = f"line {number}, whose end was noted, is not in the log: an older copy was put"
            self._report.add(0, 0, f"{why} in its place, or it was made anew")

    def _bad_head(self) -> str:
        stranger = decode_head(None, self._snapshot.head)
        if not self._snapshot.head:
            return "the signed head is missing: lines may have been cut off the end"
        if stranger is not None and stranger.key != self._keys.id:
            return "it was signed with another key than the one at hand"
        return "the signed head was changed"

    def _segment(self, segment: int, *, is_last: bool) -> None:
        """Check the lines of one file."""
        with files.segment_path(self._folder, segment).open("rb") as file:
            data = file.read(self._snapshot.sizes[segment])
        if is_last and self._head is not None:
            extra = data[self._head.size :]
            data = data[: self._head.size]
            if extra:
                self._beyond(segment, data.count(b"\n") + 1, extra)
        if not data:
            self._report.add(segment, 0, "the file is empty")
        # Line by line: splitting a large file at once would hold up every other thread.
        for place, line in enumerate(io.BytesIO(data), start=1):
            if line.endswith(b"\n"):
                self._line(segment, place, line[:-1])
            else:
                self._report.add(segment, place, "the line is cut off")

    def _line(self, segment: int, place: int, line: bytes) -> None:
        number, mac = number_of(line), mac_of(line)
        if not self._report.lines:
            self._report.first = _time(line)
        if place == 1:
            self._first_line(segment, line)
        if not is_genuine(self._keys, self._last, line):
            self._report.add(segment, place, "the line was changed, or one before it is missing")
        elif number != self._number + 1:
            self._report.add(segment, place, f"line {self._number + 1} is missing before it")
        self._report.lines += 1
        self._last = mac or self._last
        self._number = number if number >= 0 else self._number
        self._end = (segment, place)
        self._last_line = line
        self._anchored = self._anchored or f"{number}:{mac}" == self._anchor

    def _first_line(self, segment: int, line: bytes) -> None:
        """The first line of a file says behind which line it stands, and why it was begun."""
        entry = decode(line)
        if entry is None or entry.action != SEGMENT or entry.facts.get("segment") != segment:
            self._report.add(segment, 1, "the file does not begin as its number says")
            return
        why = str(entry.facts.get("why"))
        if why != ("begun" if segment == 1 else "full"):
            self._report.add(segment, 1, _WHY.get(why, "the file was begun for no known reason"))
            after = str(entry.facts.get("after"))
            if mac_of(b',"mac":"' + after.encode("ascii", "replace") + b'"}') == after:
                # Where it broke is told above; from here on the chain is checked anew.
                self._last, self._number = after, entry.number - 1

    def _total(self) -> int:
        return self._head.number if self._head is not None else 0

    def _check_end(self, head: Head) -> None:
        segment, place = self._end
        if self._number < head.number:
            missing = f"{self._number + 1} to {head.number}"
            self._report.add(segment, place, f"lines are missing behind it: {missing}")
        elif (self._number, self._last) != (head.number, head.last):
            self._report.add(segment, place, "the log does not end as its signed head says")
        journal = self._journal
        written = journal == self._last_line + b"\n" if self._last_line else journal == b""
        if not written and not self._is_next_line():
            self._report.add(0, 0, "what stands behind the signed head was changed")

    def _is_next_line(self) -> bool:
        head, line = self._head, self._journal
        return bool(
            head is not None
            and line
            and number_of(line) == head.number + 1
            and is_genuine(self._keys, head.last, line[:-1])
        )

    def _beyond(self, segment: int, place: int, extra: bytes) -> None:
        """What stands behind the end that the head says: a kill in the middle, or an edit."""
        journal = self._journal or b""
        if self._is_next_line() and journal.startswith(extra):
            self._note_unfinished()
        else:
            self._report.add(segment, place, "something was added behind the end of the log")

    def _is_next_file(self, segment: int) -> bool:
        """Whether a file is the one that was just being begun when its program was killed."""
        entry = decode(self._journal or b"")
        if entry is None or entry.action != SEGMENT or entry.facts.get("segment") != segment:
            return False
        data = files.segment_path(self._folder, segment).read_bytes()
        if self._is_next_line() and (self._journal or b"").startswith(data):
            self._note_unfinished()
            return True
        return False

    def _note_unfinished(self) -> None:
        self._report.notes.append(
            f"A program was ended while it wrote line {self._total() + 1}; nothing is lost, the "
            "next one that writes finishes it."
        )


def _time(line: bytes) -> str:
    entry = decode(line)
    return entry.time if entry is not None else ""
