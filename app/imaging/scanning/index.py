"""The index of opened folders, so that a folder opens at once the second time.

A SQLite database in the user's own cache folder. It holds headers, patients' names included, never
pixels; it never leaves the machine, only this user may read it, and SIGHTLINE_NO_INDEX=1 keeps
it from being used (`app.paths.index_file`). It remembers the whole result of opening a folder
(`Snapshot`) for as long as nothing in the folder changes.

It is a cache: every failure is logged and the scan goes on without it; a damaged one is deleted.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import sqlite3
import sys
import time
from collections.abc import Callable, Generator, Sequence
from functools import lru_cache
from importlib import metadata
from pathlib import Path

from app import __version__
from app.imaging.scanning.snapshots import Snapshot

READER_VERSION = 1
"""Raise it when headers are read differently though no file of app/imaging has changed."""

SCHEMA_VERSION = 4
MAX_FILES = 400_000
"""Files of all folders that are remembered; the least recently opened folders go first."""

MAX_SNAPSHOTS = 100
"""Folders that are remembered; the least recently opened go first."""

_log = logging.getLogger(__name__)

_BUSY_S = 2.0
_DAY_S = 86_400
_SCHEMA = """
DROP TABLE IF EXISTS files;
DROP TABLE IF EXISTS segments;
DROP TABLE IF EXISTS digests;
DROP TABLE IF EXISTS snapshots;
DROP TABLE IF EXISTS reader;
CREATE TABLE reader (version TEXT);
CREATE TABLE snapshots (
    roots BLOB PRIMARY KEY, mark TEXT NOT NULL, files INTEGER NOT NULL, pages BLOB NOT NULL,
    blocks BLOB NOT NULL, uids BLOB NOT NULL, checksum BLOB NOT NULL, used INTEGER NOT NULL
);
"""


class Index:
    """The database of snapshots. Not thread-safe; a broken database never causes an error.

    Args:
        file: Path of the database, created if missing.
        version: Version of the readers; results from any other version are discarded.
        max_files: Maximum total number of files in all remembered folders.
        today: Returns the number of the current day, used to find the least recently opened
            folders.
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
        self._database: sqlite3.Connection | None = None
        with self._safely():
            self._database = _connect(file)
            _prepare(self._database, version or reader_version())

    @property
    def usable(self) -> bool:
        """Whether the database works; if not, nothing is found or stored."""
        return self._database is not None

    def snapshot(self, roots: Sequence[Path]) -> Snapshot | None:
        """Return the remembered result of opening these paths, or None if there is none.

        The result is valid only while the mark of the files behind the paths equals
        `Snapshot.mark`.
        """
        database = self._database
        if database is None:
            return None
        found: Snapshot | None = None
        with self._safely():
            row = database.execute(
                "SELECT mark, files, pages, blocks, uids, checksum, used FROM snapshots"
                " WHERE roots = ?",
                (_key(roots),),
            ).fetchone()
            if row is not None and all(isinstance(part, bytes) for part in row[2:6]):
                found = Snapshot(str(row[0]), int(row[1]), *row[2:5])
                # Blocks are unpacked on access, when a damaged one could no longer be replaced.
                if found.checksum != row[5]:
                    return None
                if row[6] < self._today():
                    with database:
                        database.execute(
                            "UPDATE snapshots SET used = ? WHERE roots = ?",
                            (self._today(), _key(roots)),
                        )
        return found

    def store(self, roots: Sequence[Path], snapshot: Snapshot | None) -> None:
        """Store the result of opening these paths, or delete it if `snapshot` is None."""
        database = self._database
        if database is None:
            return
        with self._safely(), database:
            # Also when nothing is stored: the old result no longer holds.
            database.execute("DELETE FROM snapshots WHERE roots = ?", (_key(roots),))
            if snapshot is None:
                return
            one = snapshot
            parts = (one.mark, one.files, one.pages, one.blocks, one.uids, one.checksum)
            database.execute(
                "INSERT INTO snapshots VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (_key(roots), *parts, self._today()),
            )
            database.execute(
                "DELETE FROM snapshots WHERE roots NOT IN (SELECT roots FROM ("
                " SELECT roots, row_number() OVER latest AS place, sum(files) OVER latest AS total"
                " FROM snapshots WINDOW latest AS (ORDER BY used DESC, roots = ? DESC, roots)"
                ") WHERE place <= ? AND total <= ?)",
                (_key(roots), MAX_SNAPSHOTS, self._max_files),
            )

    def close(self) -> None:
        """Close the database. Idempotent."""
        database, self._database = self._database, None
        if database is not None:
            with contextlib.suppress(sqlite3.Error):
                database.close()

    @contextlib.contextmanager
    def _safely(self) -> Generator[None]:
        """Give the database up at its first failure."""
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
    """Return a text that changes with the app, pydicom and every source file of app/imaging."""
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


def _key(roots: Sequence[Path]) -> bytes:
    return b"\0".join(map(os.fsencode, roots))


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
    """Make empty tables, unless they were filled by these very readers."""
    found = None
    with contextlib.suppress(sqlite3.OperationalError):
        found = database.execute("SELECT version FROM reader").fetchone()
    if found is None or found[0] != version:
        database.executescript("BEGIN IMMEDIATE;" + _SCHEMA)
        database.execute("INSERT INTO reader (version) VALUES (?)", (version,))
        database.commit()


def _delete(file: Path) -> None:
    """Delete a damaged database, which still holds names, with its side files."""
    for suffix in ("", "-wal", "-shm"):
        with contextlib.suppress(OSError):
            file.with_name(file.name + suffix).unlink()
