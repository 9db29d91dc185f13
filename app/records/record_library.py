"""The records that are open: reads files in workers, keeps them in an index, answers questions."""

from __future__ import annotations

import hashlib
import io
import itertools
import json
import os
import sqlite3
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, wait
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from app.errors import Cancelled, SightlineError, WorkerDied
from app.imaging.processes.worker_pool import WorkerPool
from app.imaging.processes.workers import CancelLike
from app.records import record_index as index
from app.records.fhir_dates import date_span
from app.records.fhir_server import ServerQuery, ServerReader
from app.records.matching import match_study
from app.records.record_files import record_files
from app.records.record_index import FileState
from app.records.types import (
    MAX_JSON_BYTES,
    Code,
    Component,
    Entry,
    EntryKind,
    Patient,
    RecordMatch,
    RecordProblem,
    StudyIdentity,
    Value,
)

ENTRY = "app.records.fhir_reading:read_entry"
_TIMEOUT_S = 120.0
_TIMEOUT_S_PER_BYTE = 3.0 / 2**20
"""A MiB takes 0.4 s on a quiet machine."""
_MEMORY_BYTES = 3 * 2**30
_AT_ONCE = 8
_WRITTEN = 500
"""Resources that are written at once."""
_MOST_INDEXES = 16
"""Indexes that are kept on disk; they hold patients' data."""

Progress = Callable[[float, str], None]


@dataclass(frozen=True, slots=True)
class OpenedRecord:
    """What `RecordLibrary.open` found.

    Attributes:
        patients: Number of patients.
        counts: Number of resources by type, those of no patient included.
        files: Number of files.
        problems: What could not be read.
    """

    patients: int
    counts: dict[str, int]
    files: int
    problems: tuple[RecordProblem, ...]


def reading_pool(workers: int) -> WorkerPool:
    """Return a pool of processes that read FHIR files, confined like those that read images."""
    return WorkerPool(
        workers,
        "record reading",
        memory_limit_bytes=_MEMORY_BYTES,
        preload=("app.records.fhir_reading",),
        quiet=True,
        confined=True,
    )


class RecordLibrary:
    """The open records; implements `Records`.

    Args:
        folder: Folder for the indexes, for them alone; None to keep them in a temporary folder that
            is removed on `close`. They hold patients' data, and only this user can read them.
        workers: Number of worker processes, which live while a record is opened.
        pool: A pool to use instead; it is not closed.
    """

    def __init__(
        self,
        folder: Path | None = None,
        workers: int | None = None,
        pool: WorkerPool | None = None,
    ) -> None:
        self._pool = pool
        self._temporary: tempfile.TemporaryDirectory[str] | None = None
        self._folder = folder
        self._workers = workers or max(1, min(os.cpu_count() or 1, 4))
        self._lock = threading.RLock()
        self._opening = threading.Lock()
        self._closing = threading.Event()
        self._sources: tuple[Path, ...] = ()
        self._local = threading.local()
        self._numbers = itertools.count(1)
        self._servers: dict[str, Path] = {}

    # Opening

    def open(
        self,
        paths: Sequence[Path],
        progress: Progress | None = None,
        cancel: CancelLike | None = None,
    ) -> OpenedRecord:
        """Read files and folders as one record, beside those that are open; blocks.

        Files that have not changed since they were last read are not read again.

        Args:
            paths: Files of FHIR JSON or NDJSON, also with gzip, and folders of them.
            progress: Called with a fraction 0..1 and a text.
            cancel: Stops it; nothing is opened then.

        Raises:
            Cancelled: `cancel` was set.
            SightlineError: The index cannot be written.
        """
        cancel = _Stop(cancel, self._closing)
        with self._opening:
            places = [Path(os.path.abspath(path)) for path in paths]  # noqa: PTH100 - keeps links
            database = self._database(places)
            try:
                connection = index.connect(database)
                try:
                    self._update(connection, places, progress or _no_progress, cancel)
                    opened = _opened_record(connection)
                finally:
                    connection.close()
            except sqlite3.Error as error:
                raise SightlineError(
                    "the index of records cannot be written",
                    subject=str(database.parent),
                    remedy="Make room on the disk, or set SIGHTLINE_NO_INDEX=1.",
                    detail=type(error).__name__,
                ) from error
            with self._lock:
                if database not in self._sources:
                    self._sources = (*self._sources, database)
            self._forget_oldest(database)
            return opened

    def open_server(
        self,
        query: ServerQuery,
        token: str = "",
        progress: Progress | None = None,
        cancel: CancelLike | None = None,
    ) -> OpenedRecord:
        """Read a patient's record from a FHIR server, beside what is open; blocks.

        The caller has asked the user whether this host may be asked. What is read is kept until
        `close`, whatever the folder of the indexes.

        Raises:
            Cancelled: `cancel` was set.
            SightlineError: The server gives no record of one patient; the reason is in plain words.
        """
        cancel = _Stop(cancel, self._closing)
        tell = progress or _no_progress
        tell(0.0, "Asking the server")
        with self._opening, tempfile.TemporaryDirectory(prefix="sightline-server-") as pages:
            reader = ServerReader(query, token, Path(pages), cancel)
            found = list(
                reader.pages(lambda count: tell(min(count / 100, 0.8), "Reading the pages"))
            )
            # Read anew each time: a server's record changes.
            database = self._own_folder() / f"server-{next(self._numbers)}.sqlite"
            connection = index.connect(database)
            try:
                connection.execute("BEGIN IMMEDIATE")
                states: list[tuple[FileState, str]] = []
                named: dict[str, str] = {}
                for page in found:
                    size = page.path.stat().st_size
                    states.append((FileState(os.fspath(page.path), size, 0), ""))
                    named[os.fspath(page.path)] = page.url
                self._read(connection, states, tell, cancel)
                connection.executemany(
                    "UPDATE file SET path=? WHERE path=?",
                    ((url, path) for path, url in named.items()),
                )
                for url, why in reader.problems:
                    index.add_problem(connection, url, why)
                index.resolve(connection)
                connection.execute("COMMIT")
                opened = _opened_record(connection)
            finally:
                connection.close()
            with self._lock:
                before = self._servers.get(query.title)
                self._servers[query.title] = database
                kept = (one for one in self._sources if one != before)
                self._sources = (*kept, database)
            return opened

    def close(self) -> None:
        """Close all records, and stop one that is being opened.

        With a temporary folder, delete what was read.
        """
        self._closing.set()
        with self._opening, self._lock:
            self._closing.clear()
            self._sources = ()
            # Each connection closes once the thread that still reads has finished.
            self._local = threading.local()
            if self._temporary is not None:
                self._temporary.cleanup()
                self._temporary = None

    def _database(self, places: Sequence[Path]) -> Path:
        text = "\n".join(os.fspath(place) for place in places)
        key = hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:32]
        with self._lock:
            folder = self._folder
            if folder is not None:
                with suppress(OSError):
                    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            if folder is None or not os.access(folder, os.W_OK):
                folder = self._own_folder()
        return folder / f"{key}.sqlite"

    def _forget_oldest(self, used: Path) -> None:
        """Delete the indexes that have not been used for longest."""
        with suppress(OSError):
            os.utime(used)
            if self._folder is not None:
                found = sorted(self._folder.glob("*.sqlite"), key=lambda one: -one.stat().st_mtime)
                for old in found[_MOST_INDEXES:]:
                    if old not in self._sources:
                        index.remove(old)

    def _own_folder(self) -> Path:
        """Return the folder that is removed on `close`."""
        with self._lock:
            if self._temporary is None:
                self._temporary = tempfile.TemporaryDirectory(
                    prefix="sightline-records-", ignore_cleanup_errors=True
                )
            return Path(self._temporary.name)

    def _update(
        self,
        connection: sqlite3.Connection,
        places: Sequence[Path],
        progress: Progress,
        cancel: CancelLike | None,
    ) -> None:
        progress(0.0, "Looking for the files")
        found = list(record_files(places, cancel))
        stored = index.stored_files(connection)
        present = {state.path for state, _ in found}
        gone = [path for path in stored if path not in present]
        changed = [(state, why) for state, why in found if stored.get(state.path) != state]
        if not changed and not gone:
            return
        connection.execute("BEGIN IMMEDIATE")
        try:
            index.drop_files(connection, gone)
            self._read(connection, changed, progress, cancel)
            progress(0.95, "Putting the record together")
            index.resolve(connection)
            connection.execute("COMMIT")
        except BaseException:
            connection.execute("ROLLBACK")
            raise

    def _read(
        self,
        connection: sqlite3.Connection,
        files: Sequence[tuple[FileState, str]],
        progress: Progress,
        cancel: CancelLike | None,
    ) -> None:
        """Read files in workers, and write what they give into the index."""
        numbers = {state.path: index.add_file(connection, state) for state, _ in files}
        for state, why in files:
            if why:
                index.add_resources(connection, numbers[state.path], (), [("", why)])
        readable = [state for state, why in files if not why]
        if not readable:
            return
        total = sum(state.size for state in readable) or 1
        pool = self._pool or reading_pool(min(self._workers, len(readable)))
        try:
            waiting = iter(readable)
            running: dict[Future[dict[str, Any]], FileState] = {}
            done = 0

            def ask(state: FileState, skip: int = 0, line: int = 0) -> None:
                payload = {"path": state.path, "skip": skip, "line": line}
                limit_s = _TIMEOUT_S + min(state.size, MAX_JSON_BYTES) * _TIMEOUT_S_PER_BYTE
                answer = pool.submit(ENTRY, payload, timeout_s=limit_s, cancel=cancel)
                running[answer] = state

            for state in islice(waiting, self._workers * _AT_ONCE):
                ask(state)
            while running:
                finished, _ = wait(running, timeout=0.1, return_when=FIRST_COMPLETED)
                if cancel is not None and cancel.cancelled:
                    raise Cancelled
                for answer in finished:
                    state = running.pop(answer)
                    reply = _reply(answer)
                    lines = _values(reply["resources"])
                    while some := list(islice(lines, _WRITTEN)):
                        index.add_resources(connection, numbers[state.path], some, ())
                    told = _values(reply["problems"])
                    index.add_resources(connection, numbers[state.path], (), told)
                    if reply["skip"] >= 0:
                        ask(state, reply["skip"], reply["line"])
                        continue
                    done += state.size
                    progress(0.05 + 0.9 * done / total, "Reading the files")
                    following = next(waiting, None)
                    if following is not None:
                        ask(following)
        finally:
            if pool is not self._pool:
                pool.close()

    # Records

    def patients(
        self, text: str = "", *, limit: int | None = None, offset: int = 0
    ) -> Sequence[Patient]:
        """Return the patients whose name, id or identifier contains `text`, by name."""
        words = text.casefold().strip()
        found: dict[str, Patient] = {}
        connections = self._open_connections()
        # Of several records, one patient may be in two, so that more are needed of each.
        most = -1 if limit is None or len(connections) > 1 else offset + limit
        for connection in connections:
            query = (
                "SELECT p.pid, r.fields, f.path FROM patient p JOIN resource r ON r.id=p.resource "
                "JOIN file f ON f.id=r.file WHERE instr(p.search, ?) > 0 ORDER BY p.name, p.pid "
                "LIMIT ?"
            )
            for row in connection.execute(query, (words, most)):
                found.setdefault(row[0], _patient(*row))
        ordered = sorted(found.values(), key=lambda one: (one.name.casefold(), one.id))
        return ordered[offset:] if limit is None else ordered[offset : offset + limit]

    def patient(self, patient_id: str) -> Patient | None:
        """Return a patient, or None."""
        found = self._source_of(patient_id)
        if found is None:
            return None
        connection, number = found
        row = connection.execute(
            "SELECT p.pid, r.fields, f.path FROM patient p JOIN resource r ON r.id=p.resource "
            "JOIN file f ON f.id=r.file WHERE p.resource=?",
            (number,),
        ).fetchone()
        return None if row is None else _patient(*row)

    def count(self) -> int:
        """Return the number of patients."""
        connections = self._open_connections()
        if len(connections) == 1:
            return int(connections[0].execute("SELECT COUNT(*) FROM patient").fetchone()[0])
        return len(
            {pid for one in connections for (pid,) in one.execute("SELECT pid FROM patient")}
        )

    def entries(
        self,
        patient_id: str,
        kinds: Sequence[EntryKind] = (),
        *,
        codes: Sequence[Code] = (),
        text: str = "",
        since: str = "",
        until: str = "",
        limit: int | None = None,
    ) -> Sequence[Entry]:
        """Return entries of a patient, the latest first; see `Records.entries`.

        A date without a zone is compared with the entries' own clock, one with a zone with the
        moment. Entries without a date are left out where `since` or `until` is given.

        Raises:
            ValueError: `since` or `until` is no FHIR date.
        """
        found = self._source_of(patient_id)
        if found is None:
            return ()
        connection, number = found
        terms, values = ["r.patient=?"], list[Any]((number,))
        if kinds:
            terms.append(f"r.kind IN ({','.join('?' * len(kinds))})")
            values += [str(kind) for kind in kinds]
        _add_terms(terms, values, text, codes)
        if since:
            span = _asked_span(since)
            end, high = ("end_high", "high") if span.zoned else ("end_wall_high", "wall_high")
            terms.append(f"MAX(COALESCE(r.{end}, r.{high}), COALESCE(r.{high}, r.{end})) > ?")
            values.append(span.low if span.zoned else span.wall_low)
        if until:
            span = _asked_span(until)
            low = "low" if span.zoned else "wall_low"
            terms.append(f"r.{low} < ?")
            values.append(span.high if span.zoned else span.wall_high)
        query = (
            f"SELECT {_ENTRY_COLUMNS} WHERE {' AND '.join(terms)} "
            "ORDER BY r.low IS NULL, r.low DESC, r.id"
        )
        if limit is not None:
            query += " LIMIT ?"
            values.append(max(limit, 0))
        return [_entry(patient_id, row) for row in connection.execute(query, values)]

    def entry(self, patient_id: str, entry_id: str) -> Entry | None:
        """Return an entry, or None."""
        found = self._source_of(patient_id)
        if found is None:
            return None
        connection, number = found
        row = connection.execute(
            f"SELECT {_ENTRY_COLUMNS} WHERE r.patient=? AND r.entry=?", (number, entry_id)
        ).fetchone()
        return None if row is None else _entry(patient_id, row)

    def condition_counts(
        self, text: str = "", *, codes: Sequence[Code] = (), patient_limit: int | None = None
    ) -> tuple[int, dict[str, int]]:
        """Return the number of patients looked at, and of patients with each condition by name.

        Conditions that were refuted or entered in error do not count. With `patient_limit`, the
        first patients by name are looked at.
        """
        chosen: set[str] | None = None
        if patient_limit is not None:
            chosen = {one.id for one in self.patients(limit=patient_limit)}
        terms, values = ["r.kind='condition'", "r.patient IS NOT NULL"], list[Any]()
        _add_terms(terms, values, text, codes)
        # "refuted" and "entered-in-error" as codes; a display would be "Refuted".
        terms.append(
            "LOWER(COALESCE(json_extract(r.fields, '$.details.verification'), '')) NOT IN "
            "('refuted', 'entered-in-error', 'entered in error')"
        )
        query = (
            "SELECT DISTINCT p.pid, r.name FROM resource r JOIN patient p ON p.resource=r.patient "
            f"WHERE {' AND '.join(terms)}"
        )
        counts: Counter[str] = Counter()
        seen: set[str] = set()
        for connection in self._open_connections():
            here: set[str] = set()
            for pid, name in connection.execute(query, values):
                if pid not in seen and (chosen is None or pid in chosen):
                    here.add(pid)
                    counts[name] += 1
            seen |= {pid for (pid,) in connection.execute("SELECT pid FROM patient")}
        looked_at = len(seen) if chosen is None else len(chosen)
        return looked_at, dict(counts.most_common())

    def coded_terms(self, kind: EntryKind) -> Sequence[Code]:
        """Return each code, with its display, that entries of a kind have, of all patients."""
        query = (
            "SELECT DISTINCT json_extract(fields, '$.codes') FROM resource "
            "WHERE kind=? AND patient IS NOT NULL"
        )
        found: dict[Code, None] = {}
        for connection in self._open_connections():
            for (text,) in connection.execute(query, (str(kind),)):
                found.update((Code(*code), None) for code in json.loads(text or "[]"))
        return list(found)

    def problems(self) -> Sequence[RecordProblem]:
        """Return what could not be read, and patients that another open record has, too."""
        found: list[RecordProblem] = []
        seen: dict[str, str] = {}
        for connection in self._open_connections():
            found += index.read_problems(connection)
            rows = connection.execute(
                "SELECT p.pid, f.path FROM patient p JOIN resource r ON r.id=p.resource "
                "JOIN file f ON f.id=r.file"
            )
            for pid, path in rows:
                if seen.setdefault(pid, path) != path:
                    why = (
                        f"this patient is in another open record, too, which is shown: {seen[pid]}"
                    )
                    found.append(RecordProblem(path, f"Patient/{pid}", why, 0))
        return found

    def match(self, study: StudyIdentity) -> RecordMatch:
        """Return whether one of the patients is that of a study."""
        if not self._sources:
            return RecordMatch("none", "", "No record is open.")
        by_id: dict[str, Patient] = {}
        by_study: dict[str, Patient] = {}
        by_accession: dict[str, Patient] = {}
        wanted = study.patient_id.strip()
        listed = (
            "SELECT DISTINCT p.pid FROM resource r JOIN patient p ON p.resource=r.patient "
            "WHERE r.kind='imaging' AND json_extract(r.fields, '$.details.{}')=?1"
        )
        for connection in self._open_connections():
            if wanted:
                query = (
                    "SELECT pid FROM patient WHERE pid=?1 UNION SELECT p.pid FROM identifier i "
                    "JOIN patient p ON p.resource=i.patient WHERE i.value=?1"
                )
                self._collect(by_id, connection, query, wanted)
            if study.study_instance_uid:
                query = listed.format("study_instance_uid")
                self._collect(by_study, connection, query, study.study_instance_uid)
            if study.accession_number:
                query = listed.format("accession_number")
                self._collect(by_accession, connection, query, study.accession_number)
        found = (list(one.values()) for one in (by_id, by_study, by_accession))
        return match_study(study, *found)

    def _collect(
        self,
        found: dict[str, Patient],
        connection: sqlite3.Connection,
        query: str,
        value: str,
    ) -> None:
        for (pid,) in connection.execute(query, (value,)).fetchall():
            patient = self.patient(pid)
            if patient is not None:
                found[pid] = patient

    # Connections

    def _open_connections(self) -> list[sqlite3.Connection]:
        """Return this thread's connections to the open records, in the order of opening."""
        with self._lock:
            sources, local = self._sources, self._local
        mine: dict[Path, sqlite3.Connection] = local.__dict__.setdefault("connections", {})
        for path in sources:
            if path not in mine:
                mine[path] = index.connect(path)
        return [mine[path] for path in sources]

    def _source_of(self, patient_id: str) -> tuple[sqlite3.Connection, int] | None:
        """Return the first open record that has the patient, and the patient's number there."""
        for connection in self._open_connections():
            row = connection.execute(
                "SELECT resource FROM patient WHERE pid=?", (patient_id,)
            ).fetchone()
            if row is not None:
                return connection, int(row[0])
        return None


def _add_terms(terms: list[str], values: list[Any], text: str, codes: Sequence[Code]) -> None:
    """Add what finds resources `r` whose name contains a text and that have one of some codes."""
    if text:
        terms.append("instr(r.fold, ?) > 0")
        values.append(text.casefold())
    if codes:
        any_of: list[str] = []
        for code in codes:
            any_of.append("(c.code=? AND c.system=?)" if code.system else "c.code=?")
            values += [code.code, code.system] if code.system else [code.code]
        terms.append(
            f"EXISTS(SELECT 1 FROM code c WHERE c.resource=r.id AND ({' OR '.join(any_of)}))"
        )


class _Stop:
    """A cancel token that the closing of the library sets, too."""

    def __init__(self, cancel: CancelLike | None, closing: threading.Event) -> None:
        self._cancel = cancel
        self._closing = closing

    @property
    def cancelled(self) -> bool:
        """Whether the work must stop."""
        return self._closing.is_set() or (self._cancel is not None and self._cancel.cancelled)

    def on_cancel(self, callback: Callable[[], None]) -> None:
        """Call `callback` once the given token is cancelled."""
        if self._cancel is not None:
            self._cancel.on_cancel(callback)


def _no_progress(fraction: float, text: str) -> None:
    del fraction, text


def _reply(answer: Future[dict[str, Any]]) -> dict[str, Any]:
    """Return a worker's reply; if the worker died over the file, that is the file's problem."""
    try:
        return answer.result()
    except (Cancelled, CancelledError):
        raise Cancelled from None
    except WorkerDied as error:
        why = f"it cannot be read: {error.reason}"
    except SightlineError as error:
        why = f"it cannot be read: {error.reason or 'an unexpected error'}"
    return {"resources": b"", "problems": json.dumps(["", why]).encode(), "skip": -1, "line": 0}


def _values(lines: Any) -> Iterator[Any]:
    """Yield the values of lines of JSON, given as bytes or an array of bytes."""
    return map(json.loads, io.BytesIO(memoryview(lines)))


def _opened_record(connection: sqlite3.Connection) -> OpenedRecord:
    counts = connection.execute(
        "SELECT type, COUNT(*) FROM resource GROUP BY type ORDER BY COUNT(*) DESC, type"
    )
    return OpenedRecord(
        int(connection.execute("SELECT COUNT(*) FROM patient").fetchone()[0]),
        dict(counts.fetchall()),
        int(connection.execute("SELECT COUNT(*) FROM file").fetchone()[0]),
        tuple(index.read_problems(connection)),
    )


def _asked_span(text: str) -> Any:
    span = date_span(text)
    if span is None:
        raise ValueError(f"{text!r} is no date: write it as 2024-05-31, 2024-05 or 2024")
    return span


_ENTRY_COLUMNS = (
    "r.entry, r.kind, r.name, r.fields, r.resolved, f.path "
    "FROM resource r JOIN file f ON f.id=r.file"
)


def _entry(patient_id: str, row: tuple[Any, ...]) -> Entry:
    entry_id, kind, name, text, found, path = row
    fields, resolved = json.loads(text), json.loads(found)
    texts = filter(None, (fields["text"], resolved.get("text", "")))
    return Entry(
        id=entry_id,
        patient_id=patient_id,
        kind=EntryKind(kind),
        name=name,
        codes=_codes(resolved.get("codes") or fields["codes"]),
        start=fields["start"],
        end=fields["end"],
        status=fields["status"],
        value=_value(fields["value"]),
        components=tuple(
            Component(one["name"], _codes(one["codes"]), Value(*one["value"]))
            for one in fields["components"]
        ),
        text="\n\n".join(texts),
        encounter=resolved["encounter"],
        links=tuple(resolved["links"]),
        details=fields["details"] | resolved["details"],
        source=path,
    )


def _codes(found: Sequence[Sequence[str]]) -> tuple[Code, ...]:
    return tuple(Code(*one) for one in found)


def _value(found: Sequence[Any] | None) -> Value | None:
    return None if found is None else Value(*found)


def _patient(pid: str, text: str, path: str) -> Patient:
    fields = json.loads(text)
    return Patient(
        id=pid,
        name=fields["name"],
        identifiers=tuple((system, value) for system, value in fields["identifiers"]),
        birth_date=fields["birth_date"],
        gender=fields["gender"],
        deceased=fields["deceased"],
        names=tuple(fields["names"]),
        private=tuple(fields["private"]),
        details=fields["details"],
        source=path,
        civil=tuple(fields["civil"]),
    )
