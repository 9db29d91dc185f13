"""The record of an installation: the exact files, and what the user agreed to.

The record's file is `<models>/<name>/installed.toml`, or `<models>/<file>.installed.toml` for a
model of one file. Digests of large files are also stored in the cache folder, which saves minutes.
That cache is no protection: a program that can forge a file's time can write the cache as well.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import threading
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from app import paths
from app.tools.api import CancelToken, Progress
from app.tools.models.durable_files import publish, retry_while_in_use
from app.user_files import read_regular, write_atomic

CHUNK = 1 << 20
_STORED_FROM = 1 << 23  # smaller files are read again in each program: that takes milliseconds
_MOST_STORED = 500
_FILE = "model-digests.json"


class ByteProgress:
    """Counts bytes read or written, reports the progress, and raises `Cancelled` on cancel."""

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
    """Return a file's SHA-256 in hexadecimal, from memory or cache if the file has not changed.

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
    """Return a file's SHA-256 in hexadecimal; the file is read even if its digest is stored.

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
    """Return (path, size in bytes, modification time in ns), the key of a stored digest."""
    found = path.stat()
    return (str(path), found.st_size, found.st_mtime_ns)


def remember(key: _Key, sha256: str) -> None:
    """Store a file's digest until the program ends, and that of a large file also on the disk."""
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


RECORD = "installed.toml"


@dataclass(frozen=True, slots=True)
class RecordedFile:
    """A file as it was when it was installed.

    Attributes:
        name: Path below the model's folder, with "/".
        modified: Modification time in ns; a file whose time is unchanged need not be read again.
    """

    name: str
    size: int
    sha256: str
    modified: int = 0


@dataclass(frozen=True, slots=True)
class Record:
    """The record of a model's installation; a text is "" if it is not known or was not given.

    Attributes:
        name: The card's name.
        revision: Commit in the model's repository.
        source: Origin: a pack's or folder's name, an address, or "the models folder".
        installed: Time of the installation, ISO 8601 in UTC.
        terms_sha256: Digest of the text of the accepted terms.
        terms_accepted: Time at which the terms were accepted.
        code_allowed: Time at which the user allowed the programs among the files to run.
        self_check: The outcome of its self-check; see `installation.self_check`.
    """

    name: str
    revision: str
    source: str
    installed: str
    files: tuple[RecordedFile, ...]
    terms_sha256: str = ""
    terms_accepted: str = ""
    code_allowed: str = ""
    self_check: str = ""

    def file(self, name: str) -> RecordedFile | None:
        """Return the recorded file with that name; None if there is none."""
        return next((file for file in self.files if file.name == name), None)


def recorded_file(path: Path, name: str, sha256: str) -> RecordedFile:
    """Return a record's entry for the model's file `name`, with the size and time of `path` now."""
    _, size, modified = file_key(path)
    return RecordedFile(name, size, sha256, modified)


def read_record(path: Path) -> Record | None:
    """Read a record; return None if it does not exist or cannot be read."""
    try:
        text = retry_while_in_use(lambda: read_regular(path)).decode()
        data: dict[str, Any] = tomllib.loads(text)
        return _adapter().validate_python(data)
    except (OSError, ValueError, ValidationError):
        return None


@cache
def _adapter() -> TypeAdapter[Record]:
    return TypeAdapter(Record)


def write_record(path: Path, record: Record) -> None:
    """Write a record completely or not at all, even if the power fails.

    Raises:
        OSError: The record cannot be written.
    """
    partial = path.with_name(path.name + ".part")
    try:
        partial.write_text(to_toml(asdict(record)), encoding="utf-8", newline="\n")
        publish(partial, path)
    except OSError:
        with contextlib.suppress(OSError):
            partial.unlink(missing_ok=True)
        raise


def to_toml(data: Mapping[str, Any]) -> str:
    """Return the TOML text of a dict of strings, ints, bools and lists of such dicts."""
    return "\n".join(_lines(data, ""))


def _lines(data: Mapping[str, Any], prefix: str) -> list[str]:
    tables = {k: v for k, v in data.items() if isinstance(v, list | tuple)}
    lines = [f"{key} = {_value(value)}" for key, value in data.items() if key not in tables]
    for key, rows in tables.items():
        for row in rows:
            lines += ["", f"[[{prefix}{key}]]", *_lines(row, f"{prefix}{key}.")]
    return lines if prefix else [*lines, ""]


def _value(value: Any) -> str:
    if isinstance(value, bool | int):
        return str(value).lower()
    # JSON's escapes are TOML's; JSON leaves DEL as it is, which TOML does not take.
    return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")
