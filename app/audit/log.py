"""Appending to the audit log: from several programs at once, and safe from kills and full disks.

Each append takes a lock between programs, reads the signed head, and continues where the head says
that the log ends. If the log does not end there, it is not repaired: a new file is begun that says
why, so that `verify` always reports the damage.

The key is in the system keyring, else in a file that only the user can read. That file holds the
word "keyring", or the key itself: so a keyring that does not answer is not mistaken for one that
never had the key.
"""

from __future__ import annotations

import contextlib
import errno
import logging
import os
import re
import secrets
import stat
import sys
import threading
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from io import FileIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from app.audit import entries
from app.audit.entries import Facts, Head, Keys
from app.errors import SightlineError
from app.secrets import Secrets
from app.user_files import read_regular, write_atomic

if TYPE_CHECKING:
    from filelock import FileLock

_log = logging.getLogger(__name__)

SEGMENT_BYTES = 8_000_000
_LOCK_WAIT_S = 2.0
KEYRING_NAME = "audit-log"
"""The key's name in the keyring."""

_IN_KEYRING = "keyring"
_HEX = re.compile(r"[0-9a-f]{64}")


class AuditFailed(SightlineError):
    """An action could not be written into the audit log."""


class _QueuedEntry(NamedTuple):
    time: str
    action: str
    facts: Facts
    sync: bool


class AuditLog:
    """Appends actions to the log. Thread-safe; several programs may write the same log.

    Args:
        folder: Folder for the log's files; created when the first line is written.
        secret: The key, or a function that returns it; the function is called once, when the key is
            first needed, and may raise SightlineError.
        segment_bytes: Size above which a new file is begun.
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
        self._thread_lock = threading.Lock()
        self._keys: Keys | None = None
        self._queue: deque[_QueuedEntry] = deque()
        self._last_head = Head()
        self._problem = ""

    @property
    def problem(self) -> str:
        """The reason, for the user, why the latest actions are not in the log; "" if they are."""
        return self._problem

    def record(
        self, action: str, facts: Mapping[str, Any] | None = None, *, sync: bool = False
    ) -> None:
        """Write an action; before it, write earlier actions that failed, each with its own time.

        Args:
            action: The kind of action, one word.
            facts: Details without patient data; images and files only as hashes from `name`.
            sync: Whether to return only once the line is on the disk; for actions that cannot be
                undone.

        Raises:
            AuditFailed: The action could not be written; it is kept for the next attempt.
        """
        with self._thread_lock:
            self._queue.append(_QueuedEntry(_now(), action, dict(facts or {}), sync))
            try:
                self._write_queue()
            except (OSError, SightlineError) as error:
                raise self._failed(error) from error
            self._problem = ""

    def note(self, action: str, facts: Mapping[str, Any]) -> None:
        """Record an action like `record`, but raise no error if the log cannot be written now."""
        with contextlib.suppress(AuditFailed):
            self.record(action, facts)

    def name(self, kind: str, value: str | bytes) -> str:
        """Return the keyed hash of a value and its kind, e.g. a UID and "image" (`Keys.name`)."""
        return self.keys.name(kind, value)

    @property
    def keys(self) -> Keys:
        """The `Keys` that are derived from the secret."""
        if self._keys is None:
            self._keys = Keys(self.secret)
        return self._keys

    @property
    def secret(self) -> bytes:
        """The secret that all keys are derived from.

        Raises:
            SightlineError: The secret is not available.
        """
        if not isinstance(self._secret, bytes):
            self._secret = self._secret()
        return self._secret

    def _failed(self, error: OSError | SightlineError) -> AuditFailed:
        if isinstance(error, SightlineError):
            reason, remedy = error.reason.rstrip("."), error.remedy
        else:
            reason = error.strerror or type(error).__name__
            if isinstance(error, TimeoutError):
                reason = "another program has the audit log open"
            remedy = "Make room on the disk, or ask for permission to write to its folder."
        failed = AuditFailed(f"the audit log cannot be written ({reason})", remedy=remedy)
        if not self._problem:
            _log.warning("The audit log cannot be written (%s)", type(error).__name__)
        self._problem = failed.text
        return failed

    def _write_queue(self) -> None:
        keys = self.keys
        sync = any(entry.sync for entry in self._queue)
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with folder_lock(self.folder), _Writer(self.folder, keys) as writer:
            writer.find_end(self._last_head)
            while self._queue:
                if writer.head.size > self._segment_bytes:
                    writer.begin_segment("full")
                entry = self._queue[0]
                writer.append(entry.action, entry.facts, entry.time)
                self._last_head = writer.head
                self._queue.popleft()
            if sync:
                writer.sync()


def folder_lock(folder: Path) -> FileLock:
    """Return a lock that, while held, keeps other programs from writing to a folder.

    Entering it raises `filelock.Timeout`, a TimeoutError, if another program holds it for 2 s.
    """
    from filelock import FileLock  # takes 30 ms, which a command that records nothing saves

    return FileLock(folder / "lock", timeout=_LOCK_WAIT_S, mode=0o600, poll_interval=0.002)


class _Writer:
    """Appends lines at `head`, the end of the log, while the caller holds the folder's lock."""

    def __init__(self, folder: Path, keys: Keys) -> None:
        self._folder = folder
        self._keys = keys
        self._open = contextlib.ExitStack()
        self._head_file = self._opened(folder / entries.HEAD_NAME)
        self._file: FileIO | None = None
        self._new_files = False
        self.head = Head()

    def __enter__(self) -> _Writer:
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def find_end(self, last_head: Head) -> None:
        """Find where to go on, and begin a new segment if the log is not as it was left.

        An end on the disk that is older than `last_head`, the last that this process wrote, means
        that an older copy of the log was put in its place.
        """
        data = self._head_file.read()
        head, key = entries.decode_head(self._keys, data)
        why = ""
        if head is not None:
            self.head = replace(head, pending=b"")
            if head.number <= last_head.number and self.head != last_head:
                why, self.head = "put back", last_head
            elif not self._continue(head):
                why = "changed"
        elif data or entries.segments(self._folder):
            why = "another key" if key not in ("", self._keys.id) else "head lost"
            self.head = _last_line(self._folder)
        else:
            why, self.head = ("put back" if last_head.number else "begun"), last_head
        if why:
            self._head_file.truncate(min(len(data), entries.HEAD_BYTES))
            self.begin_segment(why)

    def append(self, action: str, facts: Facts, time: str = "") -> None:
        """Write a line at the end of the log; after an OSError the log is as it was before."""
        head, file = self.head, self._file
        text = entries.encode(head.number + 1, time or _now(), action, facts)
        line = entries.signed(text, self._keys.line_mac(head.last, text))
        pending = replace(head, pending=line)
        try:
            self._put_head(pending)
            self._write_pending(pending, 0)
        except OSError:
            with contextlib.suppress(OSError):
                self._undo(pending)
            self.head, self._file = head, file
            raise

    def begin_segment(self, why: str) -> None:
        """Begin a new file; `why` is "begun", "full", or what is wrong with the file before."""
        segment = max(self.head.segment, *entries.segments(self._folder), 0) + 1
        facts = {"segment": segment, "after": self.head.last, "why": why, "key": self._keys.id}
        self.append(entries.SEGMENT, facts)

    def sync(self) -> None:
        """Wait until the disk has all lines."""
        for file in (self._file, self._head_file):
            if file is not None:
                os.fsync(file)
        if self._new_files and sys.platform != "win32":
            # The names of new files are safe from a power cut once their folder is on the disk.
            handle = os.open(self._folder, os.O_RDONLY)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)

    def _continue(self, head: Head) -> bool:
        """Open the file that the head names and complete a pending line; report if it fits."""
        size = 0
        if head.number:
            path = entries.segment_path(self._folder, head.segment)
            if not path.is_file():
                return False
            self._file = self._opened(path)
            size = self._file.seek(0, os.SEEK_END)
            if size < head.size or _read_at(self._file, head.size - 1, 1) != b"\n":
                return False
        if not head.pending:
            return size == head.size
        segment, offset = head.pending_place
        path = entries.segment_path(self._folder, segment)
        written = b""
        if path.is_file():
            written = _read_at(self._opened(path), offset, len(head.pending) + 1)
        if not head.pending.startswith(written):
            return False
        self._write_pending(head, len(written))
        missing = len(head.pending) - len(written)
        self.append("mended", {"line": self.head.number, "missing": missing})
        return True

    def _write_pending(self, head: Head, written: int) -> None:
        """Write the rest of the pending line, of which `written` bytes are there, and the head."""
        segment, offset = head.pending_place
        if self._file is None or segment != self.head.segment:
            self._file = self._opened(entries.segment_path(self._folder, segment))
            self._new_files = True
        self._file.seek(offset + written)
        _write_all(self._file, head.pending[written:])
        line = head.pending[:-1]
        size = offset + len(head.pending)
        self._put_head(Head(entries.number_of(line), segment, size, entries.mac_of(line)))

    def _undo(self, head: Head) -> None:
        """Take a line back that the disk did not take whole: it is written again later."""
        segment, offset = head.pending_place
        path = entries.segment_path(self._folder, segment)
        if not offset:
            path.unlink(missing_ok=True)
        elif path.is_file():
            os.truncate(path, offset)
        self._put_head(replace(head, pending=b""))

    def _put_head(self, head: Head) -> None:
        self._head_file.seek(0)
        _write_all(self._head_file, entries.encode_head(self._keys, head))
        self.head = replace(head, pending=b"")

    def _opened(self, path: Path) -> FileIO:
        """Open a file of the log for reading and writing; create it if there is none."""

        def opener(name: str, flags: int) -> int:
            handle = os.open(name, flags | os.O_CREAT | getattr(os, "O_NONBLOCK", 0), 0o600)
            if stat.S_ISREG(os.fstat(handle).st_mode):
                return handle
            os.close(handle)
            raise OSError(errno.EINVAL, "it is not a regular file", name)

        return self._open.enter_context(FileIO(path, "r+", opener=opener))


def _read_at(file: FileIO, offset: int, count: int) -> bytes:
    file.seek(offset)
    return file.read(count)


def _write_all(file: FileIO, data: bytes) -> None:
    done = 0
    while done < len(data):
        done += file.write(data[done:])


def _last_line(folder: Path) -> Head:
    """Return the place of the last line that looks like one, unchecked; for a lost head."""
    for segment in reversed(entries.segments(folder)):
        for line in reversed(read_regular(entries.segment_path(folder, segment)).split(b"\n")):
            if entries.mac_of(line) and entries.number_of(line) >= 0:
                return Head(entries.number_of(line), segment, 0, entries.mac_of(line))
    return Head(0, 0, 0, entries.GENESIS)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def audit_key(file: Path, keyring: Secrets) -> bytes:
    """Return the log's 32-byte key, kept in `file` or in the keyring; create it if there is none.

    A slow keyring may take seconds.

    Raises:
        SightlineError: The key exists but cannot be read, or a new key cannot be stored.
    """
    try:
        found = _stored_key(file, keyring)
        if found is None:
            file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with folder_lock(file.parent):
                found = _stored_key(file, keyring) or _new_key(file, keyring)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise SightlineError(
            f"its key cannot be read or kept ({reason})",
            remedy="Ask this computer's administrator for access to the settings folder.",
        ) from error
    return found


def _stored_key(file: Path, keyring: Secrets) -> bytes | None:
    try:
        text = read_regular(file).decode("ascii", "replace").strip()
    except FileNotFoundError:
        return None
    value = keyring.get(KEYRING_NAME) if text == _IN_KEYRING else text
    if _HEX.fullmatch(value):
        return bytes.fromhex(value)
    if text == _IN_KEYRING:
        raise SightlineError(
            "its key is in the system keyring, which does not give it out",
            remedy="Unlock the keyring and start Sightline again.",
        )
    raise SightlineError(
        "the file of its key is damaged",
        remedy="Put the file audit.key back from a backup. Without it a new log must be started: "
        "move the folder of the audit log and that file away.",
    )


def _new_key(file: Path, keyring: Secrets) -> bytes:
    """Store a new key, or note one that the keyring still has after the file was lost."""
    value = keyring.get(KEYRING_NAME) if keyring.has_keyring else ""
    if not _HEX.fullmatch(value):
        value = secrets.token_hex(32)
        if keyring.has_keyring:
            keyring.set(KEYRING_NAME, value)
    in_keyring = keyring.has_keyring and "keyring" in keyring.where(KEYRING_NAME)
    write_atomic(file, f"{_IN_KEYRING if in_keyring else value}\n".encode("ascii"))
    return bytes.fromhex(value)
