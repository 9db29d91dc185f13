"""What one scan asks of the index, and hands to it: nothing when there is none."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.imaging.scanning.index import Index, Known, Snapshot, Stamp, key_of
from app.imaging.studies.answers import SAME, Answers, read_answers
from app.imaging.studies.tables import TableError, TableReader

_SETTLED_NS = 3 * 10**9
"""A file that was written so shortly ago may be written again without a new time: FAT counts in
steps of 2 s."""
_STORE_FROM = 512
_STORE_AFTER_S = 2.0

Stamps = NDArray[np.int64]


class ScanMemory:
    """The index as one scan sees it.

    Args:
        index: Or None, to read everything and remember nothing.

    Attributes:
        settled: Whether all files that were read so far were written some time ago.
    """

    def __init__(self, index: Index | None) -> None:
        self._index = index if index is not None and index.usable else None
        self._reader = index.reader if index is not None else TableReader()
        self._before_ns = time.time_ns() - _SETTLED_NS
        self._asked: dict[Path, Known] = {}
        self._fresh: list[tuple[bytes, list[tuple[Path, Stamp, int]]]] = []
        self._waiting = 0
        self._listed: set[bytes] = set()
        self._stamps: list[tuple[Sequence[Path], Stamps]] = []
        self._stored_at = time.monotonic()
        self.settled = True

    @property
    def usable(self) -> bool:
        """Whether anything is remembered at all."""
        return self._index is not None and self._index.usable

    def listed(self, paths: Sequence[Path]) -> None:
        """Files that there are."""
        if self._index is not None:
            self._listed.update(map(key_of, paths))

    def known(self, paths: Sequence[Path]) -> Stamps:
        """[paths, 3] the stamps under which files are remembered; -1 for those that are not."""
        stamps = np.full((len(paths), 3), -1, np.int64)
        found = self._index.known(paths) if self._index is not None else {}
        if found:
            self._asked.update(found)
            for place, path in enumerate(paths):
                if path in found:
                    stamps[place] = found[path].stamp
        return stamps

    def take(self, paths: Sequence[Path], result: Mapping[str, Any]) -> list[tuple[Answers, int]]:
        """A worker's answers about files; for what is the same stands what is remembered.

        Returns:
            For each file the answers among which its own is, and its place there.

        Raises:
            TableError: They are none.
        """
        data = result["answers"].tobytes()
        answers = read_answers(data, self._reader)
        stamps: Stamps = result["stamps"]
        if stamps.shape != (len(paths), 3) or len(answers.kinds) != len(paths):
            raise TableError("not as many answers as files")
        if any(kind == SAME and path not in self._asked for path, kind in _pairs(paths, answers)):
            raise TableError("a file that is not known is said to be the same")
        if self._index is not None:
            self._stamps.append((paths, stamps))
        resolved: list[tuple[Answers, int]] = []
        fresh: list[tuple[Path, Stamp, int]] = []
        forgotten: list[Path] = []
        for place, (path, stamp) in enumerate(zip(paths, stamps.tolist(), strict=True)):
            known = self._asked.pop(path, None) if self._asked else None
            if answers.kinds[place] == SAME and known is not None:
                resolved.append((known.answers, known.place))
                continue
            resolved.append((answers, place))
            if stamp[0] >= 0 and stamp[1] < self._before_ns:
                fresh.append((path, (stamp[0], stamp[1], stamp[2]), place))
                continue
            self.settled = False
            if known is not None:
                forgotten.append(path)
        if self._index is not None:
            self._index.forget(forgotten)
            self._remember(data, fresh)
        return resolved

    def digests(self, paths: Sequence[Path]) -> dict[Path, str]:
        """The contents' digests that are remembered of files as they are now."""
        return self._index.digests(self._stamps_of(paths)) if self._index is not None else {}

    def remember_digests(self, digests: Mapping[Path, str]) -> None:
        """Contents' digests, for the next scan."""
        if self._index is None or not digests:
            return
        stamps = self._stamps_of(digests)
        self._index.store_digests(
            (path, stamps[path], digest)
            for path, digest in digests.items()
            if digest and path in stamps
        )

    def finish(self, roots: Sequence[Path]) -> None:
        """Everything was listed: what is remembered of other files below `roots` is outdated."""
        if self._index is None:
            return
        self._store()
        for root in roots:
            self._index.keep_only(root, self._listed)
        self._index.tidy()

    def snapshot(self, roots: Sequence[Path]) -> Snapshot | None:
        """What opening these paths gave before."""
        return self._index.snapshot(roots) if self._index is not None else None

    def keep(self, roots: Sequence[Path], snapshot: Snapshot | None) -> None:
        """What opening these paths gave; None where it may give something else the next time."""
        if self._index is not None:
            self._index.store_snapshot(roots, snapshot)

    def close(self) -> None:
        """Keep what was read, also when the scan was cancelled."""
        if self._index is not None:
            self._store()
            self._index.close()

    def _stamps_of(self, paths: Sequence[Path] | Mapping[Path, Any]) -> dict[Path, Stamp]:
        """Of those that had settled when they were read."""
        wanted = set(paths)
        found: dict[Path, Stamp] = {}
        for read, stamps in self._stamps:
            for path, stamp in zip(read, stamps.tolist(), strict=True):
                if path in wanted and stamp[0] >= 0 and stamp[1] < self._before_ns:
                    found[path] = (stamp[0], stamp[1], stamp[2])
        return found

    def _remember(self, data: bytes, fresh: list[tuple[Path, Stamp, int]]) -> None:
        if fresh:
            self._fresh.append((data, fresh))
            self._waiting += len(fresh)
        late = time.monotonic() - self._stored_at > _STORE_AFTER_S
        if self._waiting >= _STORE_FROM or late:
            self._store()

    def _store(self) -> None:
        if self._index is not None and self._fresh:
            self._index.store(self._fresh)
        self._fresh = []
        self._waiting = 0
        self._stored_at = time.monotonic()


def _pairs(paths: Sequence[Path], answers: Answers) -> Iterator[tuple[Path, int]]:
    return zip(paths, answers.kinds, strict=True)
