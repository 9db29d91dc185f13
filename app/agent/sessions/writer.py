"""Writes a session file: appends lines, keeps them while the disk is full, locks the thread."""

from __future__ import annotations

import errno
import logging
import os
import threading
import time
import weakref
from pathlib import Path

from filelock import FileLock, Timeout

from app.agent.sessions.session_file import complete_size
from app.errors import FileProblem

_FLAGS = os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0)
_LOCK = "thread.lock"
_FULL = (errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC))
_SYNC_APART_S = 0.05
_MOST_UNWRITTEN = 64 * 1024**2

_log = logging.getLogger(__name__)


class ThreadInUse(FileProblem):
    """Another program has the conversation open for writing."""


class LineWriter:
    """Appends lines to a file without ever raising: a run continues if its file cannot be written.

    Lines that cannot be written are kept, and written in order before the next one.

    Attributes:
        error: The error that keeps lines from the disk; None if none are missing there.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.error: OSError | None = None
        self._guard = threading.Lock()
        self._unwritten = bytearray()
        self._sent = 0  # bytes of it
        self._handle = -1
        self._synced = float("-inf")  # time of the last sync
        self._lost = False  # lines were dropped or the file deleted
        self._warned = False
        self._close = weakref.finalize(self, lambda: None)

    def put(self, line: bytes, *, sync: bool = False) -> None:
        """Write a line; with `sync`, force that line and all lines before it to the disk."""
        with self._guard:
            self._unwritten += line
            self._try(sync=sync)

    def _try(self, *, sync: bool) -> None:
        try:
            self._write()
            if sync:
                os.fsync(self._handle)
                self._synced = time.monotonic()
                self._check_there()
        except OSError as error:
            self._failed(error)
        else:
            if not self._lost:
                self.error = None

    @property
    def due(self) -> bool:
        """True if the last sync was at least 50 ms ago, so that another one may follow."""
        return time.monotonic() - self._synced >= _SYNC_APART_S

    def close(self) -> None:
        """Write the lines that are still missing, and close the file.

        The next `put` opens it again.
        """
        with self._guard:
            if self._unwritten:
                self._try(sync=True)
            self._handle = -1
            self._close()

    def _write(self) -> None:
        if self._handle < 0:
            self._open()
        while self._sent < len(self._unwritten):
            self._sent += os.write(self._handle, bytes(self._unwritten[self._sent :]))
        self._unwritten.clear()
        self._sent = 0

    def _open(self) -> None:
        handle = os.open(self.path, _FLAGS, 0o600)
        self._close = weakref.finalize(self, os.close, handle)
        self._handle = handle
        # A half-written line is written again as a whole: its half is cut off below.
        self._sent = self._unwritten.rfind(b"\n", 0, self._sent) + 1
        size = os.fstat(handle).st_size
        os.lseek(handle, max(size - 1, 0), os.SEEK_SET)
        if os.read(handle, 1) in (b"", b"\n"):
            return
        whole = complete_size(self.path.read_bytes())
        if whole == size:
            self._unwritten[:0] = b"\n"
        else:
            os.ftruncate(handle, whole)  # cut off by a crash, and never shown

    def _check_there(self) -> None:
        # Writing to a deleted file raises no error, but its lines are lost.
        if not os.fstat(self._handle).st_nlink:
            self._lost = True
            raise FileNotFoundError(errno.ENOENT, "its file was deleted")

    def _failed(self, error: OSError) -> None:
        if len(self._unwritten) > _MOST_UNWRITTEN:
            self._unwritten[:] = b"\n"
            self._sent = 0
            self._lost = True
        self.error = self.error or error
        if not self._warned:
            self._warned = True
            _log.warning("The session file cannot be written (%s)", type(error).__name__)

    @property
    def problem(self) -> str:
        """Why lines are missing in the file, for the user; "" if none are missing."""
        if self.error is None:
            return ""
        reason = self.error.strerror or type(self.error).__name__
        remedy = "Copy what you need before you close Sightline."
        if self.error.errno in _FULL:
            remedy = "Free space on the disk, or copy what you need before you close Sightline."
        return (
            f"This conversation cannot be saved ({reason}). "
            f"It goes on and is kept in memory. {remedy}"
        )


class ThreadLock:
    """Lets only this program write a conversation, until `release` or until the program ends.

    Raises:
        ThreadInUse: Another program holds the lock.
    """

    def __init__(self, folder: Path) -> None:
        self._lock = FileLock(folder / _LOCK, mode=0o600, blocking=False, thread_local=False)
        try:
            self._lock.acquire()
        except Timeout as error:
            raise ThreadInUse(
                "another Sightline program has this conversation open",
                subject=folder.name,
                remedy="Close it there, or branch the conversation to go on in a copy.",
            ) from error
        except (OSError, NotImplementedError) as error:
            # A read-only folder needs no lock; of network folders, some know none.
            _log.warning("A conversation cannot be locked (%s)", type(error).__name__)

    def release(self) -> None:
        """Release the lock."""
        self._lock.release()


def in_use(folder: Path) -> bool:
    """Return whether any program, including this one, has the thread open for writing."""
    if not (folder / _LOCK).exists():
        return False
    try:
        ThreadLock(folder).release()
    except ThreadInUse:
        return True
    return False
