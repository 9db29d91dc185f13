"""What scans have found before, so that a folder opens at once the second time.

A SQLite database in the user's own cache folder. It holds headers, patients' names included, never
pixels; it never leaves the machine, only this user may read it, and SIGHTLINE_NO_INDEX=1 keeps
it from being used (`app.paths.index_file`).

It is a cache: every failure is logged and the scan goes on without it; a damaged one is deleted.
Answers are kept in compressed segments, a few hundred similar headers in each.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
import sqlite3
import sys
import time
import zlib
from collections import OrderedDict
from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import metadata
from pathlib import Path
from typing import Any

from app import __version__

READER_VERSION = 1
"""Raise it when headers are read differently though no file of app/imaging has changed."""

SCHEMA_VERSION = 2
MAX_FILES = 400_000
"""Files that are remembered; the least recently used go first."""

_log = logging.getLogger(__name__)

_BUSY_S = 2.0
_ASK_AT_ONCE = 500
_SEGMENTS_KEPT = 8
_DAY_S = 86_400
_SCHEMA = """
DROP TABLE IF EXISTS files;
DROP TABLE IF EXISTS segments;
DROP TABLE IF EXISTS reader;
CREATE TABLE reader (version TEXT);
CREATE TABLE segments (id INTEGER PRIMARY KEY, answers BLOB NOT NULL);
CREATE TABLE files (
    path BLOB PRIMARY KEY, size INTEGER NOT NULL, mtime_ns INTEGER NOT NULL,
    other INTEGER NOT NULL, segment INTEGER NOT NULL, place INTEGER NOT NULL,
    used INTEGER NOT NULL
) WITHOUT ROWID;
"""

Stamp = tuple[int, int, int]
Answer = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Known:
    """What is remembered of a file.

    Attributes:
        stamp: `FileStatus.stamp` of it when it was read; the answer holds as long as that does.
        answer: JSON values as they were stored, not to be changed.
    """

    stamp: Stamp
    answer: Answer


class Index:
    """The database; to be used by one thread. Never raises for what is wrong with it.

    Args:
        file: Where it is; made if need be.
        version: Of the readers: what another version has read is forgotten.
        max_files: Files that are remembered.
        today: Day number, by which the least recently used are told.
    """

    def __init__(
        self,
        file: Path,
        version: str | None = None,
        *,
        max_files: int = MAX_FILES,
        today: Callable[[], int] = lambda: int(time.time() // _DAY_S),
    ) -> None:
        self._file = file
        self._max_files = max_files
        self._today = today
        self._segments: OrderedDict[int, list[Answer]] = OrderedDict()
        self._database: sqlite3.Connection | None = None
        with self._safely():
            self._database = _connect(file)
            _prepare(self._database, version or reader_version())

    @property
    def usable(self) -> bool:
        """Whether it works; otherwise it knows nothing and stores nothing."""
        return self._database is not None

    def known(self, paths: Sequence[Path]) -> dict[Path, Known]:
        """What is remembered of files; whether it still holds is told by the stamp."""
        found: dict[Path, Known] = {}
        database = self._database
        if database is None:
            return found
        with self._safely():
            for start in range(0, len(paths), _ASK_AT_ONCE):
                asked = {_key(path): path for path in paths[start : start + _ASK_AT_ONCE]}
                marks = ",".join("?" * len(asked))
                rows = database.execute(
                    "SELECT path, size, mtime_ns, other, segment, place, used FROM files"
                    f" WHERE path IN ({marks})",
                    list(asked),
                ).fetchall()
                for path, *stamp, segment, place, _ in rows:
                    answer = self._answer(database, segment, place)
                    if answer is not None:
                        found[asked[bytes(path)]] = Known((stamp[0], stamp[1], stamp[2]), answer)
                self._mark_used(database, rows)
        return found

    def store(self, entries: Sequence[tuple[Path, Stamp, Answer]]) -> None:
        """Remember answers, in one transaction."""
        rows = [
            (_key(path), *stamp, place, self._today())
            for place, (path, stamp, _) in enumerate(entries)
            if all(-(2**63) <= figure < 2**63 for figure in stamp)
        ]
        database = self._database
        if not rows or database is None:
            return
        blob = zlib.compress(json.dumps([answer for _, _, answer in entries]).encode(), 1)
        with self._safely(), database:
            cursor = database.execute("INSERT INTO segments (answers) VALUES (?)", (blob,))
            database.executemany(
                "INSERT OR REPLACE INTO files"
                " (path, size, mtime_ns, other, segment, place, used)"
                f" VALUES (?, ?, ?, ?, {int(cursor.lastrowid or 0)}, ?, ?)",
                rows,
            )

    def forget(self, paths: Iterable[Path]) -> None:
        """These files are gone."""
        keys = [(_key(path),) for path in paths]
        database = self._database
        if keys and database is not None:
            with self._safely(), database:
                database.executemany("DELETE FROM files WHERE path = ?", keys)

    def keep_only(self, folder: Path, listed: set[bytes]) -> None:
        """Forget all files below a folder or archive except those of which `key_of` is listed.

        What a NUL divides from a file's path (`ScanMemory.digests`) goes and stays with the file.
        """
        database = self._database
        if database is None:
            return
        with self._safely(), database:
            start = _key(folder).rstrip(os.fsencode(os.sep)) + os.fsencode(os.sep)
            rows = database.execute(
                "SELECT path FROM files WHERE path >= ? AND path < ?",
                (start, start[:-1] + bytes([start[-1] + 1])),
            )
            gone = [(path,) for (path,) in rows if bytes(path).partition(b"\0")[0] not in listed]
            database.executemany("DELETE FROM files WHERE path = ?", gone)

    def tidy(self) -> None:
        """Forget the least recently used beyond the limit, and what no file refers to."""
        database = self._database
        if database is None:
            return
        with self._safely(), database:
            (count,) = database.execute("SELECT count(*) FROM files").fetchone()
            if count > self._max_files:
                database.execute(
                    "DELETE FROM files WHERE path IN"
                    " (SELECT path FROM files ORDER BY used, path LIMIT ?)",
                    (count - self._max_files,),
                )
            database.execute("DELETE FROM segments WHERE id NOT IN (SELECT segment FROM files)")

    def close(self) -> None:
        """Idempotent."""
        database, self._database = self._database, None
        if database is not None:
            with contextlib.suppress(sqlite3.Error):
                database.close()

    def _answer(self, database: sqlite3.Connection, segment: int, place: int) -> Answer | None:
        answers = self._segments.get(segment)
        if answers is None:
            row = database.execute(
                "SELECT answers FROM segments WHERE id = ?", (segment,)
            ).fetchone()
            try:
                answers = json.loads(zlib.decompress(row[0]))
            except (TypeError, ValueError, zlib.error):
                return None
            if not isinstance(answers, list):
                return None
            self._segments[segment] = answers
            if len(self._segments) > _SEGMENTS_KEPT:
                self._segments.popitem(last=False)
        return answers[place] if 0 <= place < len(answers) else None

    def _mark_used(self, database: sqlite3.Connection, rows: Sequence[Sequence[Any]]) -> None:
        """At most once a day, since it writes."""
        today = self._today()
        old = [(today, path) for path, *_, used in rows if used < today]
        if old:
            with database:
                database.executemany("UPDATE files SET used = ? WHERE path = ?", old)

    @contextlib.contextmanager
    def _safely(self) -> Generator[None]:
        """Any failure of the database ends its use."""
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            self.close()
            # Locked, read-only or full passes; anything else means that the file is damaged.
            damaged = type(error) is sqlite3.DatabaseError or "no such" in str(error)
            _log.warning(
                "the index of opened files is %s (%s): going on without it",
                "damaged and deleted" if damaged else "not usable now",
                type(error).__name__,
            )
            if damaged:
                _delete(self._file)


@lru_cache(maxsize=1)
def reader_version() -> str:
    """Changes whenever headers may be read differently: with the app, pydicom or any reader."""
    digest = hashlib.sha256()
    sources = sorted(Path(__file__).parent.parent.rglob("*.py"))
    if not sources:  # a frozen app has no sources, and is replaced as a whole
        frozen = Path(sys.executable).stat()
        digest.update(f"{frozen.st_size} {frozen.st_mtime_ns}".encode())
    for source in sources:
        digest.update(source.read_bytes())
    with contextlib.suppress(metadata.PackageNotFoundError):
        digest.update(metadata.version("pydicom").encode())
    return f"{SCHEMA_VERSION}/{READER_VERSION}/{__version__}/{digest.hexdigest()}"


def key_of(path: Path) -> bytes:
    """A path as the index knows it: any name that a file system allows."""
    return _key(path)


def _key(path: Path) -> bytes:
    return os.fsencode(path)


def _connect(file: Path) -> sqlite3.Connection:
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    # Made before SQLite makes it, with its rights; SQLite gives its side files the same.
    os.close(os.open(file, os.O_RDWR | os.O_CREAT, 0o600))
    with contextlib.suppress(OSError):
        file.chmod(0o600)
    database = sqlite3.connect(file, timeout=_BUSY_S, check_same_thread=False)
    try:
        database.execute("PRAGMA journal_mode=WAL")
        database.execute("PRAGMA synchronous=FULL")
        database.execute("PRAGMA secure_delete=ON")
    except sqlite3.Error:
        database.close()
        raise
    return database


def _prepare(database: sqlite3.Connection, version: str) -> None:
    """Empty tables, unless they were filled by these very readers."""
    found = None
    with contextlib.suppress(sqlite3.OperationalError):
        found = database.execute("SELECT version FROM reader").fetchone()
    if found is None or found[0] != version:
        database.executescript("BEGIN IMMEDIATE;" + _SCHEMA)
        database.execute("INSERT INTO reader (version) VALUES (?)", (version,))
        database.commit()


def _delete(file: Path) -> None:
    """A damaged database, which still holds names, with its side files."""
    for suffix in ("", "-wal", "-shm"):
        with contextlib.suppress(OSError):
            file.with_name(file.name + suffix).unlink()
