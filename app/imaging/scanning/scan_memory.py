"""What one scan asks of the index, and hands to it: nothing when there is none."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from app.imaging.scanning.index import Answer, Index, Stamp, key_of

_SETTLED_NS = 3 * 10**9
"""A file that was written so shortly ago may be written again without a new time: FAT counts in
steps of 2 s."""
_STORE_FROM = 512
_STORE_AFTER_S = 2.0
_ABOUT_THE_FILE = ("path", "size_bytes", "mtime_ns")


class ScanMemory:
    """The index as one scan sees it.

    Args:
        index: Or None, to read everything and remember nothing.
    """

    def __init__(self, index: Index | None) -> None:
        self._index = index if index is not None and index.usable else None
        self._before_ns = time.time_ns() - _SETTLED_NS
        self._asked: dict[Path, tuple[Stamp, Answer]] = {}
        self._fresh: list[tuple[Path, Stamp, Answer]] = []
        self._listed: set[bytes] = set()
        self._stamps: dict[Path, Stamp] = {}
        self._stored_at = time.monotonic()

    def listed(self, path: Path) -> None:
        """A file that there is."""
        if self._index is not None:
            self._listed.add(key_of(path))

    def known(self, paths: Sequence[Path]) -> list[list[int] | None]:
        """The stamps under which files are remembered; None for those that are not."""
        if self._index is None:
            return [None] * len(paths)
        for path, known in self._index.known(paths).items():
            self._asked[path] = (known.stamp, known.answer)
        return [list(self._asked[path][0]) if path in self._asked else None for path in paths]

    def resolve(self, path: Path, answer: Answer) -> Answer:
        """A worker's answer; what is "same" is replaced by what is remembered."""
        known = self._asked.pop(path, None)
        if answer.get("same") and known is not None:
            self._stamps[path] = known[0]
            return _with_file(known[1], known[0])
        if self._index is not None:
            self._remember(path, answer, known is not None)
        return answer

    def digests(self, paths: Sequence[Path]) -> dict[Path, str]:
        """The contents' digests that are remembered of files as they are now."""
        if self._index is None:
            return {}
        found = self._index.known([_digest_of(path) for path in paths])
        digests: dict[Path, str] = {}
        for path in paths:
            known = found.get(_digest_of(path))
            if known is not None and known.stamp == self._stamps.get(path):
                digests[path] = str(known.answer.get("digest", ""))
        return digests

    def remember_digests(self, digests: Mapping[Path, str]) -> None:
        """Contents' digests, for the next scan."""
        for path, digest in digests.items():
            stamp = self._stamps.get(path)
            if self._index is not None and digest and stamp is not None:
                self._fresh.append((_digest_of(path), stamp, {"digest": digest}))

    def finish(self, roots: Sequence[Path]) -> None:
        """Everything was listed: what is remembered of other files below `roots` is outdated."""
        if self._index is None:
            return
        self._store()
        for root in roots:
            self._index.keep_only(root, self._listed)
        self._index.tidy()

    def close(self) -> None:
        """Keep what was read, also when the scan was cancelled."""
        if self._index is not None:
            self._store()
            self._index.close()

    def _remember(self, path: Path, answer: Answer, was_known: bool) -> None:
        assert self._index is not None
        stamp = answer.get("stamp")
        if stamp is None or stamp[1] >= self._before_ns or not _is_of(answer, stamp):
            if was_known:
                self._index.forget([path])
            return
        self._stamps[path] = (stamp[0], stamp[1], stamp[2])
        self._fresh.append((path, self._stamps[path], _without_file(answer)))
        late = time.monotonic() - self._stored_at > _STORE_AFTER_S
        if len(self._fresh) >= _STORE_FROM or late:
            self._store()

    def _store(self) -> None:
        if self._index is not None and self._fresh:
            self._index.store(self._fresh)
        self._fresh = []
        self._stored_at = time.monotonic()


def _digest_of(path: Path) -> Path:
    """What the index calls the digest of a file: a name that no file can have."""
    return Path(f"{path}\0digest")


def _is_of(answer: Answer, stamp: Sequence[int]) -> bool:
    """Whether its instances were read from the file as it was when its stamp was taken."""
    instances: list[dict[str, Any]] = answer.get("instances", [])
    return all([item["size_bytes"], item["mtime_ns"]] == list(stamp[:2]) for item in instances)


def _without_file(answer: Answer) -> Answer:
    """What holds for every such file: small, and never at odds with path and stamp."""
    kept = {key: value for key, value in answer.items() if key != "stamp"}
    if "instances" in kept:
        kept["instances"] = [
            {key: value for key, value in item.items() if key not in _ABOUT_THE_FILE}
            for item in kept["instances"]
        ]
    return kept


def _with_file(answer: Answer, stamp: Stamp) -> Answer:
    if "instances" not in answer:
        return answer
    about = {"size_bytes": stamp[0], "mtime_ns": stamp[1]}
    return {**answer, "instances": [{**item, **about} for item in answer["instances"]]}
