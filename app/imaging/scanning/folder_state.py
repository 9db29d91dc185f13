"""Detection of changes in the files behind opened paths since they were read."""

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
from app.imaging.scanning import opened_paths

_TIMEOUT_S = 60.0
_SETTLED_NS = 3 * 10**9
"""Age from which a file's time is trusted. FAT counts in steps of 2 s, so a younger file may be
written again without a new time."""


class FolderState:
    """Compares the files behind paths with those that a scan has read, or had read earlier.

    Args:
        pool: Workers that read sizes and times.
        paths: Opened paths.
        cancel: Token that ends the check.
    """

    def __init__(self, pool: WorkerPool, paths: Sequence[Path], cancel: CancelLike | None) -> None:
        self._pool = pool
        self._paths = paths
        self._cancel = cancel
        self._before_ns = time.time_ns() - _SETTLED_NS
        self._read = 0
        self._archives_read: set[tuple[int, int, int]] = set()
        self._others_listed = 0
        self._sure = True
        self._walked = False
        self._files = 0
        self._others = 0
        self._archives: set[tuple[int, int, int]] = set()

    def add_read(self, result: Mapping[str, Any]) -> None:
        """Add the files of an answer of `headers_entry`."""
        # Converted before anything is stored: a broken answer must leave no trace.
        mark, newest_ns = int(result["mark"] or "0", 16), int(result["newest_ns"])
        self._archives_read |= _archives(result["archives"])
        self._read = (self._read + mark) % MODULUS
        if not result["mark"] or newest_ns >= self._before_ns:
            self._sure = False

    def add_listed(self, result: Mapping[str, Any]) -> None:
        """Add the archives and links of an answer of `list_entry`."""
        self._others_listed = (self._others_listed + int(result["others"], 16)) % MODULUS
        self._sure = self._sure and not result["unsure"]

    def add_unknown(self) -> None:
        """Record that the state of some file is unknown."""
        self._sure = False

    def as_read(self) -> bool:
        """Return whether the files are now exactly those that were read, unchanged.

        Raises:
            Cancelled: It was cancelled.
        """
        return (
            self._sure
            and self._walk()
            and self._files == self._read
            and self._others == self._others_listed
            and self._archives_read <= self._archives
        )

    def mark(self) -> str:
        """Return a text that changes with any file; "" if it takes too long to compute.

        Raises:
            Cancelled: It was cancelled.
        """
        if not self._walked and not self._walk():
            return ""
        return f"{self._files:x}/{self._others:x}"

    def _walk(self) -> bool:
        """Ask all files for size and times."""
        self._files = self._others = count = 0
        self._archives = set()
        self._walked = False
        todo = opened_paths.listing_tasks(self._paths)
        started = time.monotonic()
        while todo:
            found = self._step(todo)
            if found is None or found["unsure"]:
                return False
            self._files = (self._files + int(found["files"], 16)) % MODULUS
            self._others = (self._others + int(found["others"], 16)) % MODULUS
            self._archives |= _archives(found["archives"])
            todo, count = found["todo"], count + found["count"]
            if todo and opened_paths.is_slow(count, time.monotonic() - started):
                return False
        self._walked = True
        return True

    def _step(self, todo: opened_paths.Tasks) -> dict[str, Any] | None:
        reply = self._pool.submit(
            "app.imaging.scanning.listing:state_entry",
            {"todo": todo},
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


def _archives(states: Sequence[Sequence[int]]) -> set[tuple[int, int, int]]:
    return {(int(time), int(size), int(changed)) for time, size, changed in states}
