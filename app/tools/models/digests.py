"""Digests of model files, remembered until a file's size or time changes.

Files of gigabytes take long to read, so what was read is also kept in the cache folder. Whoever can
set a file's time can write that cache too: it saves time, and guards against nothing.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from app import paths
from app.tools.api import CancelToken

Told = Callable[[int], None]
"""Told how many bytes more were read."""

CHUNK = 1 << 20
_KEPT_FROM = 1 << 23  # smaller files are read again in each program: that takes milliseconds
_KEPT = 500
_FILE = "model-digests.json"

_Key = tuple[str, int, int]
_known: dict[_Key, str] = {}
_read = False
_lock = threading.Lock()


def sha256_of(path: Path, told: Told | None = None, cancel: CancelToken | None = None) -> str:
    """Hex digest of a file.

    Raises:
        Cancelled: `cancel` was set.
        OSError: It cannot be read.
    """
    key = key_of(path)
    known = remembered(key)
    if known is None:
        known = read_sha256(path, told, cancel)
        remember(key, known)
    elif told is not None:
        told(key[1])
    return known


def read_sha256(path: Path, told: Told | None = None, cancel: CancelToken | None = None) -> str:
    """Hex digest of a file that is read now, whatever is remembered."""
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while block := stream.read(CHUNK):
            if cancel is not None:
                cancel.check()
            digest.update(block)
            if told is not None:
                told(len(block))
    return digest.hexdigest()


def list_sha256(files: Iterable[tuple[str, str]]) -> str:
    """One digest for several files: of their lines "sha256  name", sorted by name."""
    lines = (f"{sha256}  {name}\n" for name, sha256 in sorted(files))
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def key_of(path: Path) -> _Key:
    """What a digest is remembered by: the file, its size and its time."""
    found = path.stat()
    return (str(path), found.st_size, found.st_mtime_ns)


def remembered(key: _Key) -> str | None:
    """The digest, if it is known without reading the file."""
    global _read
    with _lock:
        if not _read and key[1] >= _KEPT_FROM and key not in _known:
            _read = True
            _known.update({k: v for k, v in _load().items() if k not in _known})
        return _known.get(key)


def remember(key: _Key, sha256: str) -> None:
    """Keep a digest that was read; of large files also for the next program."""
    with _lock:
        _known[key] = sha256
    if key[1] < _KEPT_FROM:
        return
    with _lock, contextlib.suppress(OSError):  # it is read again then
        kept = {**_load(), key: sha256}
        rows = [[*place, digest] for place, digest in list(kept.items())[-_KEPT:]]
        target = paths.cache_dir() / _FILE
        partial = target.with_name(f"{_FILE}.{os.getpid()}")
        partial.write_text(json.dumps(rows), encoding="utf-8")
        partial.replace(target)


def _load() -> dict[_Key, str]:
    try:
        rows: Any = json.loads((paths.cache_dir() / _FILE).read_text(encoding="utf-8"))
        return {(str(p), int(size), int(time)): str(sha) for p, size, time, sha in rows}
    except (OSError, ValueError, TypeError):
        return {}
