"""SHA-256 digests of model files, remembered until a file's size or modification time changes.

Reading gigabytes takes minutes on a slow disk, so digests of large files are also kept in the cache
folder. This saves time and is no protection: a program that can set a file's time can also write
that cache.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import threading
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

from app import paths
from app.settings import read_regular, write_atomic
from app.tools.api import CancelToken, Progress

CHUNK = 1 << 20
_STORED_FROM = 1 << 23  # smaller files are read again in each program: that takes milliseconds
_MOST_STORED = 500
_FILE = "model-digests.json"


class ByteProgress:
    """Counts bytes that are read or written, reports the progress and raises on a cancel."""

    def __init__(
        self, total: int, progress: Progress | None = None, cancel: CancelToken | None = None
    ) -> None:
        self._total = max(1, total)
        self._done = 0
        self._progress = progress
        self._cancel = cancel

    def __call__(self, count: int) -> None:
        """Add `count` bytes; raise `Cancelled` if the token was cancelled."""
        if self._cancel is not None:
            self._cancel.check()
        self._done += count
        if self._progress is not None:
            text = f"{self._done / 1e6:.0f} of {self._total / 1e6:.0f} MB"
            self._progress(min(1.0, self._done / self._total), text)


_Key = tuple[str, int, int]
_lock = threading.Lock()


def sha256_of(path: Path, cancel: CancelToken | None = None) -> str:
    """Return a file's SHA-256 in hexadecimal; a remembered one if the file has not changed.

    Raises:
        OSError: The file cannot be read.
        Cancelled: `cancel` was set.
    """
    key = file_key(path)
    with _lock:
        known = _digests().get(key)
    if known is None:
        known = read_sha256(path, cancel=cancel)
        remember(key, known)
    return known


def read_sha256(
    path: Path, counter: ByteProgress | None = None, cancel: CancelToken | None = None
) -> str:
    """Return a file's SHA-256 in hexadecimal, reading the file even if a digest is remembered.

    Raises:
        OSError: The file cannot be read.
        Cancelled: `cancel` was set.
    """
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while block := stream.read(CHUNK):
            if cancel is not None:
                cancel.check()
            digest.update(block)
            if counter is not None:
                counter(len(block))
    return digest.hexdigest()


def combined_sha256(files: Iterable[tuple[str, str]]) -> str:
    """Return one digest for several (name, sha256) pairs; their order makes no difference."""
    lines = (f"{sha256}  {name}\n" for name, sha256 in sorted(files))
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def file_key(path: Path) -> _Key:
    """Return (path, size in bytes, modification time in ns), the key of a remembered digest."""
    found = path.stat()
    return (str(path), found.st_size, found.st_mtime_ns)


def remember(key: _Key, sha256: str) -> None:
    """Remember a file's digest until the program ends, and for a large file also on the disk."""
    with _lock:
        _digests()[key] = sha256
        if key[1] < _STORED_FROM:
            return
        large = [[*key, digest] for key, digest in _digests().items() if key[1] >= _STORED_FROM]
        with contextlib.suppress(OSError):  # the next program reads the file again then
            rows = json.dumps(large[-_MOST_STORED:]).encode()
            write_atomic(paths.cache_dir() / _FILE, rows)


@cache
def _digests() -> dict[_Key, str]:
    """Return the remembered digests, at first those that earlier programs stored."""
    try:
        rows: Any = json.loads(read_regular(paths.cache_dir() / _FILE))
        return {(str(p), int(size), int(time)): str(sha) for p, size, time, sha in rows}
    except Exception:  # whatever is wrong with it, it is only a cache
        return {}
