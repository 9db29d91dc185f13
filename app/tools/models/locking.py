"""One change of the models folder at a time, whichever program makes it."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
import threading
import time
from collections.abc import Generator
from pathlib import Path

from app.errors import SightlineError

LOCK = ".changing"
_PAUSES_S = (0.02, 0.05)  # who only puts back what was left behind holds it for an instant
_HELD = (errno.EACCES, errno.EAGAIN, errno.EDEADLK)


class ChangeLock:
    """Held while models of a folder are gathered, put in place, noted, packed or deleted.

    Two programs that replace one model at once would take what the other has moved aside for left
    behind. The lock is the system's: it goes with the program that held it, also by kill -9. Where
    a folder cannot be written or knows no locks, there is none: what is done there then fails, or
    is as safe as it can be.

    Args:
        models: The folder.
    """

    def __init__(self, models: Path) -> None:
        self._path = models / LOCK
        self._thread = threading.RLock()
        self._depth = 0
        self._handle: int | None = None

    @property
    def sure(self) -> bool:
        """Whether, while it is held, nobody else can be at work: the folder knows locks."""
        return self._handle is not None

    @contextlib.contextmanager
    def held(self) -> Generator[bool]:
        """Hold it; another thread of this program is waited for.

        Yields:
            Whether nobody else can be at work: False where the folder knows no locks.

        Raises:
            SightlineError: Another program holds it.
        """
        with self._thread:
            if not self._entered_soon():
                raise SightlineError(
                    "another Sightline is installing, fetching, packing or removing a model",
                    subject=str(self._path.parent),
                    remedy="Wait until it is done there, or cancel it; then try again.",
                )
            try:
                yield self.sure
            finally:
                self._leave()

    @contextlib.contextmanager
    def held_if_free(self) -> Generator[bool]:
        """Hold it where nobody else does; says whether it is held."""
        if not self._thread.acquire(blocking=False):
            yield False
            return
        try:
            free = self._enter()
            try:
                yield free
            finally:
                if free:
                    self._leave()
        finally:
            self._thread.release()

    def _entered_soon(self) -> bool:
        for pause in _PAUSES_S:
            if self._enter():
                return True
            time.sleep(pause)
        return self._enter()

    def _enter(self) -> bool:
        if self._depth == 0 and not self._take():
            return False
        self._depth += 1
        return True

    def _leave(self) -> None:
        self._depth -= 1
        if self._depth or self._handle is None:
            return
        with contextlib.suppress(OSError):
            if sys.platform != "win32":  # there an open file cannot be deleted
                self._path.unlink()
        os.close(self._handle)
        self._handle = None

    def _take(self) -> bool:
        while True:
            try:
                self._path.parent.mkdir(parents=True, exist_ok=True)
                handle = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o644)
            except OSError:
                return True
            try:
                _lock(handle)
            except OSError as error:
                os.close(handle)
                return error.errno not in _HELD
            if self._is_still(handle):
                self._handle = handle
                return True
            os.close(handle)  # its holder has deleted it meanwhile

    def _is_still(self, handle: int) -> bool:
        try:
            return sys.platform == "win32" or os.path.samestat(os.fstat(handle), self._path.stat())
        except OSError:
            return False


def _lock(handle: int) -> None:
    if sys.platform == "win32":
        import msvcrt

        msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
    else:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
