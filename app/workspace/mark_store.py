"""The database that keeps marks between sessions: one row a mark, by image and its pixels.

It holds UIDs, no names of patients. Several programs may use it at once: each writes only the marks
that it changed, and the last one to write a mark wins.
"""

from __future__ import annotations

import base64
import json
import os
import sqlite3
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar, cast

import numpy as np

from app.errors import FileProblem
from app.imaging.processes.records import pack, unpack
from app.imaging.types import ImageRef
from app.log import get_logger
from app.workspace.annotations import Annotation

_VERSION = 1
_BUSY_S = 10.0  # for which a write waits for that of another program
_AT_ONCE = 500  # values in one statement
_ARRAY = "$array"
_KEY = "key:"  # begins the id of a row that stands for a key image

_log = get_logger(__name__)

T = TypeVar("T")

_SCHEMA = """
CREATE TABLE IF NOT EXISTS marks (
    id TEXT PRIMARY KEY,
    study TEXT NOT NULL,
    image TEXT NOT NULL,
    frame INTEGER NOT NULL,
    pixels TEXT NOT NULL,
    saved TEXT NOT NULL,
    body BLOB NOT NULL
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS marks_by_image ON marks (image);
CREATE INDEX IF NOT EXISTS marks_by_study ON marks (study);
"""


@dataclass(frozen=True, slots=True)
class KeptStudy:
    """What is kept of one study.

    Attributes:
        study: Study Instance UID.
        marks: Number of marks, key images among them.
        images: SOP Instance UIDs of the images that have marks.
        saved: When one of them was last changed (ISO 8601, UTC).
    """

    study: str
    marks: int
    images: tuple[str, ...]
    saved: str


class MarkStore:
    """A SQLite database of annotations (WAL, synchronous=FULL); use it on one thread at a time.

    The file is made with the first mark. Each method raises `FileProblem` if the database cannot be
    used; nothing is changed then.

    Attributes:
        problem: A sentence for the user after a broken database was set aside; else "".
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.problem = ""

    def images(self) -> dict[str, str]:
        """Return the Study Instance UID of each image that has kept marks, by SOP Instance UID."""
        return dict(self._read("SELECT DISTINCT image, study FROM marks"))

    def studies(self) -> list[KeptStudy]:
        """Return what is kept of each study, the latest change first."""
        kept: dict[str, KeptStudy] = {}
        query = "SELECT study, image, COUNT(*), MAX(saved) FROM marks GROUP BY study, image"
        for study, image, count, saved in self._read(query):
            known = kept.get(study, KeptStudy(study, 0, (), ""))
            kept[study] = KeptStudy(
                study, known.marks + count, (*known.images, image), max(known.saved, saved)
            )
        return sorted(kept.values(), key=lambda one: one.saved, reverse=True)

    def load(self, images: Iterable[str]) -> tuple[list[Annotation], int]:
        """Return the marks on images, by SOP Instance UID, and how many cannot be read.

        They are in the order in which they were made. `Annotation.kept` is the time at which each
        was last changed. What cannot be read, such as marks of a newer version of the program,
        stays in the database.
        """
        found: list[Annotation] = []
        unreadable = 0
        wanted = list(images)
        for first in range(0, len(wanted), _AT_ONCE):
            part = wanted[first : first + _AT_ONCE]
            marks = ", ".join("?" * len(part))
            query = (
                f"SELECT saved, body FROM marks WHERE image IN ({marks}) "
                f"AND id NOT LIKE '{_KEY}%' ORDER BY saved, id"
            )
            for saved, body in self._read(query, part):
                try:
                    found.append(replace(_read_mark(body), kept=saved))
                except Exception as error:  # whatever is in a damaged row, the others are shown
                    _log.warning("a kept mark cannot be read: %s", type(error).__name__)
                    unreadable += 1
        found.sort(key=lambda one: (one.finding.provenance.created, one.kept))
        return found, unreadable

    def load_keys(self, images: Iterable[str]) -> list[ImageRef]:
        """Return which frames of images, by SOP Instance UID, are marked as key images."""
        wanted = set(images)
        query = f"SELECT image, frame, pixels FROM marks WHERE id LIKE '{_KEY}%' ORDER BY saved, id"
        return [ImageRef(*row) for row in self._read(query) if row[0] in wanted]

    def save(
        self,
        changed: Mapping[str, Sequence[Annotation]],
        removed: Iterable[str],
        keys: Mapping[str, Sequence[ImageRef]] = MappingProxyType({}),
    ) -> None:
        """Keep marks and key images, by Study Instance UID, and remove others by id, at once.

        The id of a key image is given by `key_id`.
        """
        moment = datetime.now(UTC)

        def now() -> str:
            nonlocal moment
            moment += timedelta(microseconds=1)  # so that their order is kept
            return moment.isoformat(timespec="microseconds")

        rows: list[tuple[str, str, str, int, str, str, bytes]] = []
        for study, marks in changed.items():
            for one in marks:
                ref = one.finding.image
                place = (study, ref.sop_instance_uid, ref.frame, ref.pixel_sha256)
                rows.append((one.finding.id, *place, now(), _written_mark(one)))
        for study, refs in keys.items():
            for ref in refs:
                place = (study, ref.sop_instance_uid, ref.frame, ref.pixel_sha256)
                rows.append((key_id(ref), *place, now(), b""))
        gone = [(one,) for one in removed]

        def write(database: sqlite3.Connection) -> None:
            database.executemany("INSERT OR REPLACE INTO marks VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
            database.executemany("DELETE FROM marks WHERE id = ?", gone)

        self._write(write)

    def purge(self, studies: Iterable[str], images: Iterable[str] = ()) -> None:
        """Remove all marks of studies, by Study Instance UID; their bytes are overwritten.

        Marks that were saved without their study are removed by their `images`.
        """
        gone = [(one,) for one in studies]
        nowhere = [(one,) for one in images]

        def write(database: sqlite3.Connection) -> None:
            database.executemany("DELETE FROM marks WHERE study = ?", gone)
            database.executemany("DELETE FROM marks WHERE study = '' AND image = ?", nowhere)

        self._write(write)
        self._read("PRAGMA wal_checkpoint(TRUNCATE)")

    def _read(self, query: str, values: Sequence[str] = ()) -> list[Any]:
        if not self.path.exists():
            return []
        try:
            return self._used(lambda database: database.execute(query, values).fetchall(), "read")
        except FileProblem:
            found = self._read_as_it_is(query, values)
            if found is None:
                raise
            return found

    def _read_as_it_is(self, query: str, values: Sequence[str]) -> list[Any] | None:
        """Return what a database in a read-only folder holds; None if that is not certain.

        SQLite cannot lock it there. With a log beside it, the last changes would be missing.
        """
        log = self.path.with_name(f"{self.path.name}-wal")
        try:
            if log.exists() and log.stat().st_size:
                return None
            uri = f"{self.path.absolute().as_uri()}?mode=ro&immutable=1"
            with closing(sqlite3.connect(uri, uri=True)) as database:
                if database.execute("PRAGMA user_version").fetchone()[0] != _VERSION:
                    return None
                return database.execute(query, values).fetchall()
        except (sqlite3.Error, OSError):
            return None

    def _write(self, write: Callable[[sqlite3.Connection], None]) -> None:
        def work(database: sqlite3.Connection) -> None:
            with database:
                database.execute("BEGIN IMMEDIATE")
                write(database)

        self._used(work, "written")

    def _used(self, work: Callable[[sqlite3.Connection], T], what: str) -> T:
        """Return what `work` does with the database; one that is damaged is set aside first."""
        try:
            try:
                with closing(self._connected()) as database:
                    return work(database)
            except sqlite3.DatabaseError as error:
                if type(error) is not sqlite3.DatabaseError:  # its subclasses are no damage
                    raise
                _log.warning("the saved marks cannot be read: %s", error)
                self._set_aside()
                with closing(self._connected()) as database:
                    return work(database)
        except (sqlite3.Error, OSError) as error:
            raise self._told(error, what) from error

    def _set_aside(self) -> None:
        """Rename the database and the files beside it; earlier ones set aside stay."""
        number = 1
        while (aside := self.path.with_name(f"{self.path.name}.broken{number}")).exists():
            number += 1
        self.path.rename(aside)
        for ending in ("-wal", "-shm"):
            with suppress(FileNotFoundError):
                self.path.with_name(self.path.name + ending).rename(f"{aside}{ending}")
        self.problem = (
            "The file of saved marks could not be read: a new one was begun. "
            f"The old file is kept as {aside.name}."
        )

    def _connected(self) -> sqlite3.Connection:
        if not self.path.exists():
            # Readable by this user alone; SQLite gives its other files the same mode.
            with suppress(OSError):
                os.close(os.open(self.path, os.O_CREAT | os.O_RDWR, 0o600))
        database = sqlite3.connect(self.path, timeout=_BUSY_S, isolation_level=None)
        try:
            if database.execute("PRAGMA user_version").fetchone()[0] > _VERSION:
                raise sqlite3.OperationalError("made by a newer version of Sightline")
            database.execute("PRAGMA journal_mode=WAL")
            database.execute("PRAGMA synchronous=FULL")
            database.execute("PRAGMA secure_delete=ON")
            if database.execute("PRAGMA user_version").fetchone()[0] < _VERSION:
                database.executescript(f"{_SCHEMA} PRAGMA user_version = {_VERSION};")
        except BaseException:
            database.close()
            raise
        return database

    def _told(self, error: Exception, what: str) -> FileProblem:
        text = str(error).lower()
        reason = f"the saved marks cannot be {what}"
        remedy = "Check the folder; marks stay in this window, and saving is tried again."
        if "full" in text or "disk i/o" in text:
            reason, remedy = f"{reason}: the disk is full or fails", "Make room on it."
        elif "readonly" in text or "read-only" in text or "unable to open" in text:
            reason = f"{reason}: the folder may not be written to"
        elif "locked" in text:
            reason = f"{reason}: another program holds them"
        elif "newer version" in text:
            reason = f"{reason}: a newer version of Sightline made them"
            remedy = "Use that version, or move the file away."
        _log.warning("%s (%s)", reason, type(error).__name__)
        return FileProblem(reason, subject=str(self.path), remedy=remedy, detail=str(error))


def key_id(ref: ImageRef) -> str:
    """Return the id under which a key image is kept."""
    return f"{_KEY}{ref.sop_instance_uid}:{ref.frame}:{ref.pixel_sha256}"


def _written_mark(mark: Annotation) -> bytes:
    message = pack(replace(mark, kept=""))
    return zlib.compress(json.dumps(message, default=_array, separators=(",", ":")).encode())


def _read_mark(body: bytes) -> Annotation:
    mark = unpack(Annotation, json.loads(zlib.decompress(body), object_hook=_with_array))
    if mark.finding.geometry is None:  # pyright: ignore[reportUnnecessaryComparison]
        raise ValueError("no geometry")
    return mark


def _array(value: Any) -> dict[str, Any]:
    """Return the JSON form of an array; eight pixels of a mask are one byte.

    Numbers of objects are compressed at once: as text they would be many times as long.
    """
    if isinstance(value, np.generic):
        return value.item()
    array = cast("np.ndarray[Any, Any]", value)
    bits = array.dtype == np.bool_
    data = (np.packbits(array) if bits else np.ascontiguousarray(array)).tobytes()
    form = {"type": array.dtype.str, "shape": list(array.shape)}
    if array.dtype.kind == "u":
        data, form = zlib.compress(data, 1), {**form, "packed": True}
    return {_ARRAY: base64.b64encode(data).decode(), **form}


def _with_array(given: dict[str, Any]) -> Any:
    if _ARRAY not in given:
        return given
    data, shape = base64.b64decode(given[_ARRAY]), tuple(given["shape"])
    if given.get("packed"):
        data = zlib.decompress(data)
    if given["type"] == np.dtype(np.bool_).str:
        flat = np.unpackbits(np.frombuffer(data, np.uint8), count=int(np.prod(shape)))
        return flat.astype(np.bool_).reshape(shape)
    return np.frombuffer(data, given["type"]).reshape(shape)
