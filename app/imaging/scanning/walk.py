"""Whether what lies behind opened paths is as it was, as the window's process asks for it."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from concurrent.futures import CancelledError
from pathlib import Path
from typing import Any

from app.errors import Cancelled, SightlineError
from app.imaging.files.file_marks import MODULUS
from app.imaging.processes.worker_pool import Priority, WorkerPool
from app.imaging.processes.workers import CancelLike
from app.imaging.scanning.opened_paths import is_slow

_TIMEOUT_S = 60.0


class Walk:
    """Compares what is behind paths with what was read, or was there before.

    Args:
        pool: Where the files are walked through.
        paths: What was opened.
        cancel: Ends it.
    """

    def __init__(self, pool: WorkerPool, paths: Sequence[Path], cancel: CancelLike | None) -> None:
        self._pool = pool
        self._paths = paths
        self._cancel = cancel
        self._read = 0
        self._archives_read: set[tuple[int, int, int]] = set()
        self._others_listed = 0
        self._sure = True
        self._walked = False
        self._files = 0
        self._others = 0
        self._archives: set[tuple[int, int, int]] = set()

    def read(self, result: Mapping[str, Any]) -> None:
        """Take in what the workers say of files that they have read."""
        if not result["mark"]:
            self._sure = False
            return
        self._read = (self._read + int(result["mark"], 16)) % MODULUS
        self._archives_read |= _archives(result["archives"])

    def listed(self, result: Mapping[str, Any]) -> None:
        """Take in what the workers say of archives and links that they have come by."""
        self._others_listed = (self._others_listed + int(result["others"], 16)) % MODULUS

    def unsure(self) -> None:
        """Of a file it is not known what it was when it was read."""
        self._sure = False

    def as_read(self) -> bool:
        """Whether all files are now as they were when they were read, and there are no others.

        Raises:
            Cancelled: It was cancelled.
        """
        return (
            self._sure
            and self._go()
            and self._files == self._read
            and self._others == self._others_listed
            and self._archives_read <= self._archives
        )

    def mark(self) -> str:
        """Stands for all files as they are now; "" where it cannot be told in a short time.

        Raises:
            Cancelled: It was cancelled.
        """
        if not self._walked and not self._go():
            return ""
        return f"{self._files:x}/{self._others:x}"

    def _go(self) -> bool:
        self._files = self._others = count = 0
        self._archives = set()
        self._walked = False
        todo = [str(path) for path in self._paths]
        begin = True
        started = time.monotonic()
        while todo or begin:
            found = self._step({"todo": todo, "begin": begin})
            begin = False
            if found is None or found["unsure"]:
                return False
            self._files = (self._files + int(found["files"], 16)) % MODULUS
            self._others = (self._others + int(found["others"], 16)) % MODULUS
            self._archives |= _archives(found["archives"])
            todo, count = found["todo"], count + found["count"]
            if todo and is_slow(count, time.monotonic() - started):
                return False
        self._walked = True
        return True

    def _step(self, payload: dict[str, Any]) -> dict[str, Any] | None:
        reply = self._pool.submit(
            "app.imaging.scanning.fingerprint:fingerprint_entry",
            payload,
            priority=Priority.THUMBNAIL,
            timeout_s=_TIMEOUT_S,
            cancel=self._cancel,
        )
        try:
            return reply.result()
        except (Cancelled, CancelledError):
            raise Cancelled from None
        except SightlineError:
            return None


def _archives(told: Sequence[Sequence[int]]) -> set[tuple[int, int, int]]:
    return {(int(time), int(size), int(changed)) for time, size, changed in told}
