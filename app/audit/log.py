"""Writes the audit log: several programs at once, through kills, never over what was changed.

Each append takes the lock, looks at the signed head, sees that the file ends where the head says,
and goes on from there. What a kill left half written is finished. Where the log does not end as it
was left, nothing is mended over it: a new file begins that says so, and `verify` goes on telling.
"""

from __future__ import annotations

import contextlib
import logging
import os
import threading
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from app.audit import files
from app.audit.lines import (
    FILE_BYTES,
    GENESIS,
    HEAD_BYTES,
    SEGMENT,
    Facts,
    Head,
    Keys,
    decode,
    decode_head,
    decode_journal,
    encode,
    encode_head,
    encode_journal,
    is_genuine,
    mac_of,
    number_of,
    signed,
)
from app.errors import SightlineError

_log = logging.getLogger(__name__)

SEGMENT_BYTES = 8_000_000
_MOST_WAITING = 10_000
_PATIENT_S, _IMPATIENT_S = 5.0, 0.05
_TAIL = 75  # bytes of a line from its `,"mac":` on, with the newline


class AuditFailed(SightlineError):
    """An action could not be written into the audit log."""


@dataclass(frozen=True, slots=True)
class _Waiting:
    time: str
    action: str
    facts: Facts
    sync: bool


@dataclass(frozen=True, slots=True)
class _Broken:
    """The log does not end as it was left: what to go on from all the same."""

    why: str
    number: int
    last: str
    segment: int


class AuditLog:
    """Appends actions. Thread-safe; several programs may write the same log.

    Args:
        folder: Where its files are; made when the first line is written.
        secret: The key, or what gets it (once, when it is first needed; it may raise).
        segment_bytes: A file longer than this is followed by another one.
    """

    def __init__(
        self,
        folder: Path,
        secret: bytes | Callable[[], bytes],
        *,
        segment_bytes: int = SEGMENT_BYTES,
    ) -> None:
        self.folder = folder
        self._secret = secret
        self._segment_bytes = segment_bytes
        self._guard = threading.Lock()
        self._keys: Keys | None = None
        self._waiting: deque[_Waiting] = deque()
        self._dropped = 0
        self._seen = Head()
        self._error = ""
        self._patience_s = _PATIENT_S

    @property
    def problem(self) -> str:
        """Why the last actions are not in the log, for the user; "" when all are."""
        return self._error

    def record(
        self, action: str, facts: Mapping[str, Any] | None = None, *, sync: bool = False
    ) -> None:
        """Write an action; what could not be written before goes first, with its own time.

        Args:
            action: What is done, one word.
            facts: More about it. No patient data: names of images and files by `name`.
            sync: Return only once the disk has it; for what cannot be undone.

        Raises:
            AuditFailed: It is not in the log. It is kept and written with a later one.
        """
        with self._guard:
            now = datetime.now(UTC).isoformat(timespec="milliseconds")
            self._waiting.append(_Waiting(now, action, dict(facts or {}), sync))
            while len(self._waiting) > _MOST_WAITING:
                self._waiting.popleft()
                self._dropped += 1
            try:
                self._write()
            except (OSError, SightlineError) as error:
                # Who waited once for a program that hangs does not wait so long for each line.
                self._patience_s = _IMPATIENT_S if isinstance(error, TimeoutError) else _PATIENT_S
                raise self._failed(error) from error
            self._error, self._patience_s = "", _PATIENT_S

    def name(self, kind: str, value: str | bytes) -> str:
        """The keyed hash that stands for an image ("image", its UID) or a file ("file", its bytes).

        Raises:
            SightlineError: The key cannot be had.
        """
        return self.keys.name(kind, value)

    @property
    def keys(self) -> Keys:
        """What is made from the secret.

        Raises:
            SightlineError: It cannot be had.
        """
        if self._keys is None:
            self._keys = Keys(self.secret)
        return self._keys

    @property
    def secret(self) -> bytes:
        """The key that all is made from.

        Raises:
            SightlineError: It cannot be had.
        """
        if not isinstance(self._secret, bytes):
            self._secret = self._secret()
        return self._secret

    def _failed(self, error: OSError | SightlineError) -> AuditFailed:
        if isinstance(error, OSError):
            reason = error.strerror or type(error).__name__
            remedy = "Make room on the disk, or ask for the right to write into its folder."
        else:
            reason, remedy = error.reason.rstrip("."), error.remedy
        failed = AuditFailed(f"the audit log cannot be written ({reason})", remedy=remedy)
        if not self._error:
            _log.warning("The audit log cannot be written (%s)", type(error).__name__)
        self._error = failed.text
        return failed

    def _write(self) -> None:
        """Write all that waits; on the disk, if any of it has to be."""
        keys = self.keys
        sync = any(entry.sync for entry in self._waiting)
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with files.locked(self.folder, self._patience_s), _Appender(self.folder, keys) as appender:
            appender.find_end(self._seen)
            if self._dropped:
                appender.append("lost", {"count": self._dropped})
                self._dropped = 0
            while self._waiting:
                if appender.end.size > self._segment_bytes:
                    appender.begin("full")
                entry = self._waiting[0]
                appender.append(entry.action, entry.facts, entry.time)
                self._seen = appender.end
                self._waiting.popleft()
            if sync:
                appender.sync()


class _Appender:
    """One turn of writing, under the lock."""

    def __init__(self, folder: Path, keys: Keys) -> None:
        self._folder = folder
        self._keys = keys
        self._open = contextlib.ExitStack()
        self._head = -1
        self._file = -1
        self._new_names = False
        self.end = Head()

    def __enter__(self) -> _Appender:
        self._head = files.open_head(self._folder)
        self._open.callback(os.close, self._head)
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def find_end(self, seen: Head) -> None:
        """Find where to go on; a new file where the log does not end as it was left.

        Args:
            seen: The end that this program wrote last: an older one is a log that was put back.
        """
        data = files.read_at(self._head, 0, FILE_BYTES + 1)
        head = decode_head(self._keys, data)
        if head is None:
            self._without_head(data, seen)
            return
        broken = self._look(head, data)
        if broken is None and _went_back(self.end, seen):
            broken = _Broken("put back", seen.number, seen.last, max(seen.segment, head.segment))
        if broken is not None:
            self._begin_again(broken)

    def append(self, action: str, facts: Facts, time: str = "") -> None:
        """Write a line behind the end."""
        number = self.end.number + 1
        text = encode(number, time or _now(), action, facts)
        line = signed(text, self._keys.line(self.end.last, text))
        end, journal = self.end, files.read_at(self._head, HEAD_BYTES, FILE_BYTES)
        try:
            self._journal(line)
            if action == SEGMENT:
                self._to_segment(int(facts["segment"]))
            files.write(self._file, line)
            self._put_head(line)
        except OSError:
            self._undo(end, journal)
            raise

    def _undo(self, end: Head, journal: bytes) -> None:
        """Take back a line that the disk did not take: it is written again later, as another."""
        with contextlib.suppress(OSError):
            if self.end.segment != end.segment:
                files.segment_path(self._folder, self.end.segment).unlink(missing_ok=True)
            elif self._file >= 0:
                os.ftruncate(self._file, end.size)
            files.write_at(self._head, HEAD_BYTES, journal)
            files.write_at(self._head, 0, encode_head(self._keys, end))

    def begin(self, why: str) -> None:
        """Begin a new file; `why` is "begun", "full", or what is wrong with the one before."""
        there = files.segments(self._folder)
        segment = max(self.end.segment, *there, 0) + 1
        facts = {"segment": segment, "after": self.end.last, "why": why, "key": self._keys.id}
        self._new_names = True
        self.append(SEGMENT, facts)

    def sync(self) -> None:
        """Wait until the disk has all of it."""
        os.fsync(self._file)
        os.fsync(self._head)
        if self._new_names:
            files.sync_folder(self._folder)

    def _look(self, head: Head, data: bytes) -> _Broken | None:
        """Whether the file ends where the head says; finishes a line that a kill cut off."""
        self.end = head
        if not head.number:
            if not self._finish(head, data):
                self.begin("begun" if decode_journal(data) == b"" else "changed")
            return None
        broken = _Broken("changed", head.number, head.last, head.segment)
        path = files.segment_path(self._folder, head.segment)
        if not path.is_file() or path.is_symlink():
            return broken
        self._to_segment(head.segment)
        size = os.fstat(self._file).st_size
        tail = files.read_at(self._file, max(head.size - _TAIL, 0), min(_TAIL, head.size))
        if size < head.size or mac_of(tail[:-1]) != head.last or tail[-1:] != b"\n":
            return broken
        if self._finish(head, data):
            return None
        # What stands behind the head is the last line, or else somebody was there.
        line = decode_journal(data) or b""
        is_last = line == files.read_at(self._file, max(size - len(line), 0), len(line)) != b""
        return None if size == head.size and is_last else broken

    def _finish(self, head: Head, data: bytes) -> bool:
        """Finish the line that was being written; False where none was, or it is not that one."""
        line = decode_journal(data)
        if not line or number_of(line) != head.number + 1:
            return False
        if not is_genuine(self._keys, head.last, line[:-1]):
            return False
        entry = decode(line)
        offset = head.size
        if entry is not None and entry.action == SEGMENT:
            self._new_names = True
            self._to_segment(int(entry.facts["segment"]))
            offset = 0
        size = os.fstat(self._file).st_size
        there = files.read_at(self._file, offset, len(line) + 1)
        if size < offset or not line.startswith(there):
            return False
        files.write(self._file, line[len(there) :])
        self._put_head(line)
        self.append("mended", {"line": self.end.number, "missing": len(line) - len(there)})
        return True

    def _without_head(self, data: bytes, seen: Head) -> None:
        """Begin the log, or go on with one whose head was lost or signed by another key."""
        last = _last_line(self._folder)
        if last is None and not data.strip(b"\0 "):
            gone = _Broken("put back", seen.number, seen.last, seen.segment)
            self._begin_again(gone if seen.number else _Broken("begun", 0, GENESIS, 0))
            return
        stranger = decode_head(None, data)
        other = stranger is not None and stranger.key != self._keys.id
        number, mac = last or (0, GENESIS)
        self._begin_again(_Broken("another key" if other else "head lost", number, mac, 0))

    def _begin_again(self, broken: _Broken) -> None:
        self.end = Head(broken.number, broken.segment, 0, broken.last)
        if broken.number == 0 and broken.why == "begun":
            # A head before the first line: one that is missing later was taken away.
            blank = encode_head(self._keys, self.end).ljust(FILE_BYTES)
            files.write_at(self._head, 0, blank)
        else:
            os.ftruncate(self._head, FILE_BYTES)  # what was put behind it is told of once
        self.begin(broken.why)

    def _journal(self, line: bytes) -> None:
        files.write_at(self._head, HEAD_BYTES, encode_journal(line))

    def _to_segment(self, segment: int) -> None:
        self._file = files.open_segment(self._folder, segment)
        self._open.callback(os.close, self._file)
        self.end = Head(self.end.number, segment, self.end.size, self.end.last)

    def _put_head(self, line: bytes) -> None:
        size = os.fstat(self._file).st_size
        self.end = Head(number_of(line), self.end.segment, size, mac_of(line[:-1]), self._keys.id)
        files.write_at(self._head, 0, encode_head(self._keys, self.end))


def _went_back(end: Head, seen: Head) -> bool:
    return (end.number, end.last) != (seen.number, seen.last) and end.number <= seen.number


def _last_line(folder: Path) -> tuple[int, str] | None:
    """Number and MAC of the last line that looks like one, unchecked; None without any file."""
    there = files.segments(folder)
    for segment in reversed(there):
        for line in reversed(files.segment_path(folder, segment).read_bytes().split(b"\n")):
            if mac_of(line) and number_of(line) >= 0:
                return number_of(line), mac_of(line)
    return (0, GENESIS) if there else None


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def note(log: AuditLog, action: str, facts: Mapping[str, Any]) -> None:
    """Record what does not wait for the log: what cannot be written now is written later."""
    with contextlib.suppress(AuditFailed):
        log.record(action, facts)
