"""What scans have found before, so that a folder opens at once the second time.

A SQLite database in the user's own cache folder. It holds headers, patients' names included, never
pixels; it never leaves the machine, only this user may read it, and SIGHTLINE_NO_INDEX=1 keeps
it from being used (`app.paths.index_file`).

It is a cache: every failure is logged and the scan goes on without it; a damaged one is deleted.
Answers are kept in compressed segments, a few hundred similar headers in each; and of a folder that
was opened, as long as nothing in it changes, the whole result (`Snapshot`).
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import sqlite3
import sys
import time
from collections import OrderedDict
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import metadata
from pathlib import Path

from app import __version__
from app.imaging.studies.answers import SAME, Answers, read_answers
from app.imaging.studies.tables import MTIME_AT, SIZE_AT, TableError, TableReader

READER_VERSION = 1
"""Raise it when headers are read differently though no file of app/imaging has changed."""

SCHEMA_VERSION = 3
MAX_FILES = 400_000
"""Files that are remembered; the least recently used go first."""

MAX_SNAPSHOTS = 100
"""Folders whose whole result is remembered; the least recently used go first."""

_log = logging.getLogger(__name__)

_BUSY_S = 2.0
_ASK_AT_ONCE = 500
_SEGMENTS_KEPT = 8
_DAY_S = 86_400
_SCHEMA = """
DROP TABLE IF EXISTS files;
DROP TABLE IF EXISTS segments;
DROP TABLE IF EXISTS digests;
DROP TABLE IF EXISTS snapshots;
DROP TABLE IF EXISTS reader;
CREATE TABLE reader (version TEXT);
CREATE TABLE segments (id INTEGER PRIMARY KEY, answers BLOB NOT NULL);
CREATE TABLE files (
    path BLOB PRIMARY KEY, size INTEGER NOT NULL, mtime_ns INTEGER NOT NULL,
    other INTEGER NOT NULL, segment INTEGER NOT NULL, place INTEGER NOT NULL,
    used INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE digests (
    path BLOB PRIMARY KEY, size INTEGER NOT NULL, mtime_ns INTEGER NOT NULL,
    other INTEGER NOT NULL, digest TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE snapshots (
    roots BLOB PRIMARY KEY, mark TEXT NOT NULL, files INTEGER NOT NULL, meta BLOB NOT NULL,
    blocks BLOB NOT NULL, uids BLOB NOT NULL, checksum BLOB NOT NULL, used INTEGER NOT NULL
);
"""

Stamp = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Known:
    """What is remembered of a file.

    Attributes:
        stamp: `FileStatus.stamp` of it when it was read; the answer holds as long as that does.
        answers: What the headers of some files said.
        place: Which of them it is.
    """

    stamp: Stamp
    answers: Answers
    place: int


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What a scan of some paths found, when nothing had been opened before.

    Attributes:
        mark: Stands for all files behind the paths, as they were.
        files: How many there were.
        meta: `snapshots.pack_result`: what is made at once,
        blocks: what is made when it is asked for,
        uids: and the marks of SOP Instance UIDs.
    """

    mark: str
    files: int
    meta: bytes
    blocks: bytes
    uids: bytes

    @property
    def checksum(self) -> bytes:
        """Of the three, to tell a damaged one: it is not looked at as a whole."""
        digest = hashlib.sha256(self.meta)
        digest.update(self.blocks)
        digest.update(self.uids)
        return digest.digest()


class Index:
    """The database; to be used by one thread. Never raises for what is wrong with it.

    Args:
        file: Where it is; made if need be.
        version: Of the readers: what another version has read is forgotten.
        max_files: Files that are remembered.
        today: Day number, by which the least recently used are told.

    Attributes:
        reader: Reads its tables; whoever reads others beside them shares texts through it.
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
        self._segments: OrderedDict[int, Answers | None] = OrderedDict()
        self.reader = TableReader()
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
                    answers = self._answers(database, segment)
                    known = (stamp[0], stamp[1], stamp[2])
                    if answers is not None and _is_of(answers, place, known):
                        found[asked[bytes(path)]] = Known(known, answers, place)
                self._mark_used(database, rows)
        return found

    def store(self, segments: Sequence[tuple[bytes, Sequence[tuple[Path, Stamp, int]]]]) -> None:
        """Remember answers, in one transaction.

        Args:
            segments: Bytes of answers (`studies.answers`), and the files that they hold for: path,
                stamp, and which of the answers is the file's.
        """
        database = self._database
        if not any(rows for _, rows in segments) or database is None:
            return
        today = self._today()
        with self._safely(), database:
            for data, files in segments:
                if not files:
                    continue
                cursor = database.execute("INSERT INTO segments (answers) VALUES (?)", (data,))
                segment = int(cursor.lastrowid or 0)
                database.executemany(
                    "INSERT OR REPLACE INTO files"
                    " (path, size, mtime_ns, other, segment, place, used)"
                    " VALUES (?, ?, ?, ?, ?, ?, ?)",
                    [(_key(path), *stamp, segment, place, today) for path, stamp, place in files],
                )

    def digests(self, stamps: Mapping[Path, Stamp]) -> dict[Path, str]:
        """The contents' digests that are remembered of files as they are now."""
        found: dict[Path, str] = {}
        database = self._database
        if database is None:
            return found
        with self._safely():
            for path, stamp in stamps.items():
                row = database.execute(
                    "SELECT digest FROM digests"
                    " WHERE path = ? AND size = ? AND mtime_ns = ? AND other = ?",
                    (_key(path), *stamp),
                ).fetchone()
                if row is not None:
                    found[path] = str(row[0])
        return found

    def store_digests(self, digests: Iterable[tuple[Path, Stamp, str]]) -> None:
        """Remember contents' digests."""
        rows = [(_key(path), *stamp, digest) for path, stamp, digest in digests]
        database = self._database
        if rows and database is not None:
            with self._safely(), database:
                database.executemany("INSERT OR REPLACE INTO digests VALUES (?, ?, ?, ?, ?)", rows)

    def snapshot(self, roots: Sequence[Path]) -> Snapshot | None:
        """What is remembered of opening these paths; whether it still holds is told by the mark."""
        database = self._database
        if database is None:
            return None
        found: Snapshot | None = None
        with self._safely():
            row = database.execute(
                "SELECT mark, files, meta, blocks, uids, checksum, used FROM snapshots"
                " WHERE roots = ?",
                (_key_of_all(roots),),
            ).fetchone()
            if row is not None and all(isinstance(part, bytes) for part in row[2:6]):
                found = Snapshot(str(row[0]), int(row[1]), *row[2:5])
                if found.checksum != row[5]:
                    return None
                if row[6] < self._today():
                    with database:
                        database.execute(
                            "UPDATE snapshots SET used = ? WHERE roots = ?",
                            (self._today(), _key_of_all(roots)),
                        )
        return found

    def store_snapshot(self, roots: Sequence[Path], snapshot: Snapshot | None) -> None:
        """Remember what opening these paths gave; None to forget it."""
        database = self._database
        if database is None:
            return
        key = _key_of_all(roots)
        with self._safely(), database:
            if snapshot is None:
                database.execute("DELETE FROM snapshots WHERE roots = ?", (key,))
                return
            one = snapshot
            parts = (one.mark, one.files, one.meta, one.blocks, one.uids, one.checksum)
            database.execute(
                "INSERT OR REPLACE INTO snapshots VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (key, *parts, self._today()),
            )

    def forget(self, paths: Iterable[Path]) -> None:
        """These files are gone."""
        keys = [(_key(path),) for path in paths]
        database = self._database
        if keys and database is not None:
            with self._safely(), database:
                database.executemany("DELETE FROM files WHERE path = ?", keys)
                database.executemany("DELETE FROM digests WHERE path = ?", keys)

    def keep_only(self, folder: Path, listed: set[bytes]) -> None:
        """Forget all files below a folder or archive except those of which `key_of` is listed."""
        database = self._database
        if database is None:
            return
        with self._safely(), database:
            start = _key(folder).rstrip(os.fsencode(os.sep)) + os.fsencode(os.sep)
            end = start[:-1] + bytes([start[-1] + 1])
            for table in ("files", "digests"):
                rows = database.execute(
                    f"SELECT path FROM {table} WHERE path >= ? AND path < ?", (start, end)
                )
                gone = [(path,) for (path,) in rows if bytes(path) not in listed]
                database.executemany(f"DELETE FROM {table} WHERE path = ?", gone)

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
            database.execute("DELETE FROM digests WHERE path NOT IN (SELECT path FROM files)")
            database.execute(
                "DELETE FROM snapshots WHERE roots NOT IN (SELECT roots FROM ("
                " SELECT roots, row_number() OVER latest AS place, sum(files) OVER latest AS total"
                " FROM snapshots WINDOW latest AS (ORDER BY used DESC, roots)"
                ") WHERE place <= ? AND total <= ?)",
                (MAX_SNAPSHOTS, self._max_files),
            )

    def close(self) -> None:
        """Idempotent."""
        database, self._database = self._database, None
        if database is not None:
            with contextlib.suppress(sqlite3.Error):
                database.close()

    def _answers(self, database: sqlite3.Connection, segment: int) -> Answers | None:
        if segment in self._segments:
            return self._segments[segment]
        row = database.execute("SELECT answers FROM segments WHERE id = ?", (segment,)).fetchone()
        try:
            answers = read_answers(row[0], self.reader)
        except (TypeError, TableError):
            answers = None
        self._segments[segment] = answers
        if len(self._segments) > _SEGMENTS_KEPT:
            self._segments.popitem(last=False)
        return answers

    def _mark_used(
        self,
        database: sqlite3.Connection,
        rows: Sequence[tuple[bytes, int, int, int, int, int, int]],
    ) -> None:
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


def _key_of_all(roots: Sequence[Path]) -> bytes:
    return b"\0".join(_key(root) for root in roots)


def _is_of(answers: Answers, place: int, stamp: Stamp) -> bool:
    """Whether there is such an answer, read from a file with this stamp."""
    if not 0 <= place < len(answers.kinds) or answers.kinds[place] == SAME:
        return False
    return all(
        row[SIZE_AT] == stamp[0] and row[MTIME_AT] == stamp[1] for row in answers.rows_of(place)
    )


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
