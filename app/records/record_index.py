"""The SQLite index of one opened record: files, resources, and whose each resource is.

A database belongs to one set of opened paths. `add_file` writes what a worker read; `resolve` then
finds the patient, encounter and links of each resource among all files; everything else reads.
One connection is for one thread.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from app import __version__
from app.records.fhir_dates import date_span
from app.records.types import RecordProblem

_TABLES = """
CREATE TABLE file(
    id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, size INTEGER, mtime INTEGER);
CREATE TABLE resource(
    id INTEGER PRIMARY KEY, file INTEGER NOT NULL, place TEXT, type TEXT, rid TEXT, url TEXT,
    role TEXT, subject TEXT, digest TEXT, updated TEXT, identifiers TEXT, fields TEXT,
    kind TEXT, name TEXT, fold TEXT, low INTEGER, high INTEGER, wall_low INTEGER,
    wall_high INTEGER, end_high INTEGER, end_wall_high INTEGER,
    patient INTEGER, entry TEXT, resolved TEXT);
CREATE TABLE code(resource INTEGER NOT NULL, file INTEGER NOT NULL, code TEXT, system TEXT);
CREATE TABLE problem(
    file INTEGER NOT NULL, place TEXT, reason TEXT, count INTEGER, late INTEGER, note INTEGER);
CREATE TABLE patient(
    resource INTEGER PRIMARY KEY, pid TEXT NOT NULL UNIQUE, name TEXT, search TEXT);
CREATE INDEX by_name ON patient(name, pid);
CREATE TABLE identifier(patient INTEGER NOT NULL, system TEXT, value TEXT);
CREATE INDEX by_file ON resource(file);
CREATE INDEX by_patient ON resource(patient, kind, low);
CREATE INDEX by_entry ON resource(patient, entry);
CREATE INDEX by_kind ON resource(kind, name, patient);
CREATE INDEX by_code ON code(code, resource);
CREATE INDEX code_file ON code(file);
CREATE INDEX code_resource ON code(resource);
CREATE INDEX by_value ON identifier(value);
"""


@cache
def reader_version() -> int:
    """Return a number that changes with the app version, the code in app/records or fhir.resources.

    An index of another version is read anew.
    """
    digest = hashlib.sha256(__version__.encode())
    for source in sorted(Path(__file__).parent.glob("*.py")):  # none in a frozen app
        digest.update(source.read_bytes())
    with suppress(metadata.PackageNotFoundError):
        digest.update(metadata.version("fhir.resources").encode())
    return int.from_bytes(digest.digest()[:4], "big") >> 1 or 1


def connect(path: Path) -> sqlite3.Connection:
    """Return a connection to the database at `path`, which is made if need be.

    A database of another version, or a damaged one, is replaced by an empty one.
    """
    existed = path.exists()
    if not existed:
        # Made first, so that nobody else can ever read it.
        with suppress(FileExistsError):
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    try:
        return _open(path)
    except sqlite3.DatabaseError:
        remove(path)
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
        return _open(path)


def _open(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=60.0, check_same_thread=False, isolation_level=None)
    try:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=FULL")
        connection.execute("PRAGMA cache_size=-32768")
        connection.execute("PRAGMA trusted_schema=OFF")
        connection.execute("PRAGMA secure_delete=ON")
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        if version == 0:
            connection.executescript(
                f"BEGIN IMMEDIATE;{_TABLES}PRAGMA user_version={reader_version()};COMMIT;"
            )
        elif version != reader_version():
            raise sqlite3.DatabaseError("another version")
    except BaseException:
        connection.close()
        raise
    return connection


def remove(path: Path) -> None:
    """Delete a database with its journal."""
    for end in ("", "-wal", "-shm"):
        with suppress(OSError):
            Path(f"{path}{end}").unlink(missing_ok=True)


@dataclass(frozen=True, slots=True)
class FileState:
    """A file to be indexed: its path and, to see whether it has changed, size and time (ns)."""

    path: str
    size: int
    mtime: int


def stored_files(connection: sqlite3.Connection) -> dict[str, FileState]:
    """Return the files in the index by their path."""
    rows = connection.execute("SELECT path, size, mtime FROM file")
    return {path: FileState(path, size, mtime) for path, size, mtime in rows}


def drop_files(connection: sqlite3.Connection, paths: Iterable[str]) -> None:
    """Remove files with all that was read from them."""
    for path in paths:
        row = connection.execute("SELECT id FROM file WHERE path=?", (path,)).fetchone()
        if row is not None:
            for table in ("resource", "code", "problem"):
                connection.execute(f"DELETE FROM {table} WHERE file=?", row)
            connection.execute("DELETE FROM file WHERE id=?", row)


def add_file(connection: sqlite3.Connection, state: FileState) -> int:
    """Add a file and return its number; what was read of it before is removed."""
    drop_files(connection, [state.path])
    done = connection.execute(
        "INSERT INTO file(path, size, mtime) VALUES(?,?,?)", (state.path, state.size, state.mtime)
    )
    return int(done.lastrowid or 0)


def add_problem(connection: sqlite3.Connection, path: str, why: str) -> None:
    """Add a problem of a file, which is added if it is not there."""
    row = connection.execute("SELECT id FROM file WHERE path=?", (path,)).fetchone()
    number = row[0] if row is not None else add_file(connection, FileState(path, 0, 0))
    connection.execute("INSERT INTO problem VALUES(?,'',?,1,0,0)", (number, why))


def add_resources(
    connection: sqlite3.Connection,
    file: int,
    resources: Sequence[dict[str, Any]],
    problems: Iterable[tuple[str, str]],
) -> None:
    """Add what a worker read of a file (see `fhir_reading.read_entry`)."""
    connection.executemany(
        "INSERT INTO problem VALUES(?,?,?,1,0,0)", ((file, place, why) for place, why in problems)
    )
    number = connection.execute("SELECT COALESCE(MAX(id),0) FROM resource").fetchone()[0]
    rows: list[tuple[Any, ...]] = []
    codes: list[tuple[int, int, str, str]] = []
    for one in resources:
        number += 1
        fields = one["fields"]
        start, end = date_span(fields.get("start", "")), date_span(fields.get("end", ""))
        name = str(fields.get("name", ""))
        rows.append(
            (
                number,
                file,
                one["place"],
                one["type"],
                one["id"],
                one["url"],
                one["role"],
                one["subject"],
                one["digest"],
                one["updated"],
                json.dumps(one["identifiers"]),
                json.dumps(fields),
                fields.get("kind"),
                name,
                name.casefold(),
                *(
                    (start.low, start.high, start.wall_low, start.wall_high)
                    if start
                    else [None] * 4
                ),
                *((end.high, end.wall_high) if end else (None, None)),
            )
        )
        if one["role"] == "entry":
            codes += _codes_of(number, file, fields)
    connection.executemany(
        "INSERT INTO resource(id, file, place, type, rid, url, role, subject, digest, updated, "
        "identifiers, fields, kind, name, fold, low, high, wall_low, wall_high, end_high, "
        f"end_wall_high) VALUES({','.join('?' * 21)})",
        rows,
    )
    connection.executemany("INSERT INTO code VALUES(?,?,?,?)", codes)


def _codes_of(number: int, file: int, fields: dict[str, Any]) -> list[tuple[int, int, str, str]]:
    found = {(code, system) for system, code, _ in fields["codes"]}
    for part in fields["components"]:
        found |= {(code, system) for system, code, _ in part["codes"]}
    return [(number, file, code, system) for code, system in found if code]


# Whose each resource is


@dataclass(frozen=True, slots=True)
class _Row:
    """A resource as resolving needs it; `entry` is its type and id, as the entry's id.

    `withdrawn` says that the record itself calls it entered in error.
    """

    number: int
    file: int
    place: str
    role: str
    entry: str
    subject: str
    digest: str
    updated: str
    url: str
    withdrawn: bool = False


@dataclass(slots=True)
class _Known:
    """Where resources are, to resolve references: by `fullUrl`, by type and id, by identifier."""

    in_file: dict[tuple[int, str], list[int]] = field(default_factory=lambda: defaultdict(list))
    anywhere: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    identifiers: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    same: dict[int, int] = field(default_factory=dict[int, int])
    """Of a resource that is there more than once: the one that counts."""
    servers: dict[int, str] = field(default_factory=dict[int, str])
    """The address of the server that a resource is from, if its `fullUrl` says so."""
    people: set[int] = field(default_factory=set[int])
    """The Patient resources."""

    def find(self, file: int, reference: str, server: str = "") -> int | None:
        """Return the resource that a reference in `file` means; None if none or several fit.

        "Patient/1" is another person on another server: a resource whose `fullUrl` names another
        server than the reference, or than `server` for a relative one, is not meant.
        """
        reference = reference.partition("/_history/")[0]
        local = "/".join(reference.split("/")[-2:])
        server = server_of(reference) or server
        for name in dict.fromkeys((reference, local)):
            found = self._from(server, self.in_file.get((file, name), ()))
            if found:
                # Of things, the first will do; of people never.
                first = self.same.get(found[0], found[0])
                return self._only(found) if self.people.intersection(found) else first
        for name in dict.fromkeys((reference, local)):
            found = self._from(server, self.anywhere.get(name, ()))
            if found:
                return self._only(found)
        return self._only(self._by_identifier(reference)) if "?" in reference else None

    def _from(self, server: str, candidates: Iterable[int]) -> list[int]:
        """Return the candidates without those of another server."""
        return [one for one in candidates if not server or self.servers.get(one, server) == server]

    def _only(self, candidates: Iterable[int]) -> int | None:
        different = {self.same.get(one, one) for one in candidates}
        return different.pop() if len(different) == 1 else None

    def _by_identifier(self, reference: str) -> Iterable[int]:
        """Return what a conditional reference ("Patient?identifier=system|value") may mean."""
        kind, _, query = reference.partition("?")
        if kind and not query.startswith("identifier="):
            return ()
        system, _, value = query.removeprefix("identifier=").rpartition("|")
        return self.identifiers.get(f"{kind or 'Patient'}|{system}|{unquote(value)}", ())


def server_of(url: str) -> str:
    """Return "host/fhir" of "https://host/fhir/Patient/1"; "" if no web address is given."""
    scheme, sign, rest = url.casefold().partition("://")
    return rest.rsplit("/", 2)[0] if sign and scheme in ("http", "https") else ""


def resolve(connection: sqlite3.Connection) -> None:
    """Find anew the patient, encounter and links of all resources; list those that have none."""
    connection.execute("DELETE FROM problem WHERE late=1")
    connection.execute("DELETE FROM patient")
    connection.execute("DELETE FROM identifier")
    known, rows = _known_resources(connection)
    problems: list[_Problem] = []
    copies: list[_Row] = []
    withdrawn = [row for row in rows if row.withdrawn and row.role == "entry"]
    patients = _patients(connection, known, rows, problems, copies)
    owners = _owners(known, rows, patients, problems, copies)
    for row in withdrawn:
        owners.pop(row.number, None)
    entries = {row.number: row.entry for row in rows if row.role != "entry"}
    entries |= {row.number: row.entry for row in rows if row.number in owners}
    labels = {
        number: json.loads(text)
        for number, text in connection.execute(
            "SELECT id, fields FROM resource WHERE role='shared'"
        )
    }
    connection.execute(
        "UPDATE resource SET patient=NULL, entry=NULL, resolved=NULL WHERE patient IS NOT NULL"
    )
    texts = connection.cursor().execute("SELECT id, fields FROM resource WHERE role='entry'")
    by_number = {row.number: row for row in rows}
    missing: dict[tuple[int, str], list[_Row]] = defaultdict(list)
    for some in iter(lambda: texts.fetchmany(2_000), []):
        changes: list[tuple[Any, ...]] = []
        for number, text in some:
            if number not in owners:
                continue
            row = by_number[number]
            made, name = _resolved(known, entries, labels, row.file, json.loads(text))
            for reference in dict.fromkeys(made.pop("unresolved")):
                missing[row.file, reference].append(row)
            changes.append(
                (owners[number], row.entry, json.dumps(made), name, name.casefold(), number)
            )
        connection.executemany(
            "UPDATE resource SET patient=?, entry=?, resolved=?, name=?, fold=? WHERE id=?", changes
        )
    for (file, reference), some in missing.items():
        why = f"it refers to what is not there: {reference}"
        problems.append((file, _where_of(some), why, 0))
    connection.executemany("INSERT INTO problem VALUES(?,?,?,?,1,0)", problems)
    notes = [
        *_notes_of(
            copies,
            lambda count: f"{count} identical copies of what is there already, which is shown once",
            "an identical copy of what is there already, which is shown once",
        ),
        *_notes_of(
            withdrawn,
            lambda count: (
                f"{count} entries that the record itself marks as entered in error are left out"
            ),
            "an entry that the record itself marks as entered in error is left out",
        ),
    ]
    connection.executemany("INSERT INTO problem VALUES(?,?,?,0,1,1)", notes)


_Problem = tuple[int, str, str, int]
"""File, place, reason and count."""


def _notes_of(
    rows: Sequence[_Row], several: Callable[[int], str], one: str
) -> Iterator[tuple[int, str, str]]:
    """Yield a note for each file with some of the rows: file, place, reason."""
    by_file: dict[int, list[_Row]] = defaultdict(list)
    for row in rows:
        by_file[row.file].append(row)
    for file, some in by_file.items():
        yield file, _where_of(some), several(len(some)) if len(some) > 1 else one


def _where(row: _Row) -> str:
    return f"{row.place} {row.entry.partition('/')[0]}".strip()


def _where_of(rows: Sequence[_Row]) -> str:
    """Return where the first of some resources is, and how many others there are."""
    others = len(rows) - 1
    return _where(rows[0]) + (f" and {others} more" if others else "")


_IN_ERROR = "('entered-in-error', 'entered in error')"
_WITHDRAWN = (
    "instr(LOWER(r.fields), 'in error') + instr(LOWER(r.fields), 'in-error') > 0 AND ("
    f"LOWER(COALESCE(json_extract(r.fields, '$.status'), '')) IN {_IN_ERROR} OR "
    f"LOWER(COALESCE(json_extract(r.fields, '$.details.verification'), '')) IN {_IN_ERROR})"
)


def _known_resources(connection: sqlite3.Connection) -> tuple[_Known, list[_Row]]:
    """Return where resources are, and all resources in the order of paths and places."""
    known = _Known()
    rows: list[_Row] = []
    shared: dict[tuple[str, str], int] = {}
    query = (
        "SELECT r.id, r.file, r.place, r.role, r.type, r.rid, r.url, r.subject, r.digest, "
        f"r.updated, r.identifiers, {_WITHDRAWN} "
        "FROM resource r JOIN file f ON f.id=r.file ORDER BY f.path, r.id"
    )
    for (
        number,
        file,
        place,
        role,
        kind,
        rid,
        url,
        subject,
        digest,
        updated,
        ids,
        withdrawn,
    ) in connection.execute(query):
        own = rid or url.removeprefix("urn:uuid:").rpartition("/")[2] or f"unnamed-{number}"
        entry = f"{kind}/{own}"
        row = _Row(number, file, place, role, entry, subject, digest, updated, url, bool(withdrawn))
        rows.append(row)
        for name in filter(None, (url, f"{kind}/{rid}" if rid else "")):
            known.in_file[file, name].append(number)
            known.anywhere[name].append(number)
        if server_of(url):
            known.servers[number] = server_of(url)
        if role == "patient":
            known.people.add(number)
        for system, value in json.loads(ids):
            known.identifiers[f"{kind}|{system}|{value}"].append(number)
            known.identifiers[f"{kind}||{value}"].append(number)
        if role == "shared":
            first = shared.setdefault((row.entry, digest), number)
            if first != number:
                known.same[number] = first
    return known, rows


def _patients(
    connection: sqlite3.Connection,
    known: _Known,
    rows: Sequence[_Row],
    problems: list[_Problem],
    same: list[_Row],
) -> set[int]:
    """Write the table of patients and return their numbers.

    Of two people with one id only the first counts: the entries of one must never go to the other,
    so those that refer to the second have no patient and are listed.
    """
    fields = {
        number: json.loads(text)
        for number, text in connection.execute(
            "SELECT id, fields FROM resource WHERE role='patient'"
        )
    }
    groups: dict[str, list[_Row]] = defaultdict(list)
    for row in rows:
        if row.role == "patient":
            groups[row.entry].append(row)
    chosen: set[int] = set()
    for entry, copies in groups.items():
        own = [one for one in copies if _same_person(fields[copies[0].number], fields[one.number])]
        best = max(own, key=lambda one: _updated(one.updated))
        for one in copies:
            if one not in own:
                why = f"another patient has the same id ({entry}); only the first is shown"
                problems.append((one.file, _where(one), why, 1))
        _keep_best(known, best, own, problems, same)
        chosen.add(best.number)
        _write_patient(connection, best, fields[best.number])
    return chosen


def _same_person(first: dict[str, Any], second: dict[str, Any]) -> bool:
    if any(first[name] != second[name] for name in ("birth_date", "gender")):
        return False
    shared = {tuple(one) for one in first["identifiers"]} & {
        tuple(one) for one in second["identifiers"]
    }
    return bool(shared) or first["name"].casefold() == second["name"].casefold()


def _version(entry: str) -> str:
    return f"another version of {entry}, which is there more than once; only one is shown"


def _write_patient(connection: sqlite3.Connection, row: _Row, fields: dict[str, Any]) -> None:
    pid = row.entry.partition("/")[2]
    values = [value for _, value in fields["identifiers"]]
    search = "\n".join([pid, fields["name"], *fields["names"], *values])
    connection.execute(
        "INSERT INTO patient VALUES(?,?,?,?)",
        (row.number, pid, fields["name"].casefold(), search.casefold()),
    )
    connection.executemany(
        "INSERT INTO identifier VALUES(?,?,?)",
        ((row.number, system, value) for system, value in fields["identifiers"]),
    )


def _owners(
    known: _Known,
    rows: Sequence[_Row],
    patients: set[int],
    problems: list[_Problem],
    same: list[_Row],
) -> dict[int, int]:
    """Return the patient of each entry that counts.

    Of several resources of a patient with the same type and id one counts: equal ones are one, and
    of different ones it is that which was updated last, else the first by path and place. Others
    that equal it are added to `same`.
    """
    groups: dict[tuple[int, str], list[_Row]] = defaultdict(list)
    lost: dict[tuple[int, str], list[_Row]] = defaultdict(list)
    for row in rows:
        if row.role != "entry":
            continue
        patient = known.find(row.file, row.subject, server_of(row.url))
        if patient is None or patient not in patients:
            lost[row.file, row.subject[:80]].append(row)
        else:
            groups[patient, row.entry].append(row)
    for (file, subject), some in lost.items():
        why = f"it is of a patient who is not there, or not the only one meant: {subject}"
        problems.append((file, _where_of(some), why, len(some)))
    owners: dict[int, int] = {}
    for (patient, _entry), copies in groups.items():
        best = max(copies, key=lambda one: _updated(one.updated))
        owners[best.number] = patient
        _keep_best(known, best, copies, problems, same)
    return owners


def _keep_best(
    known: _Known,
    best: _Row,
    copies: Sequence[_Row],
    problems: list[_Problem],
    same: list[_Row],
) -> None:
    """Add copies of a resource that equal the best one to `same`; list the others."""
    for one in copies:
        if one is best:
            continue
        known.same[one.number] = best.number
        if one.digest == best.digest:
            same.append(one)
        else:
            problems.append((one.file, _where(one), _version(best.entry), 1))


def _updated(text: str) -> int:
    span = date_span(text)
    return span.low if span else 0


def _resolved(
    known: _Known,
    entries: dict[int, str],
    labels: dict[int, dict[str, Any]],
    file: int,
    fields: dict[str, Any],
) -> tuple[dict[str, Any], str]:
    """Return what an entry's references mean as JSON values, and the entry's name."""
    unresolved: list[str] = []

    def find(reference: str) -> int | None:
        if not reference or reference.startswith("#"):
            return None
        found = known.find(file, reference)
        if found is None or found not in entries:
            unresolved.append(reference[:80])
            return None
        return found

    name = fields["name"]
    made: dict[str, Any] = {"encounter": "", "links": [], "details": {}}
    encounter = find(fields["encounter"])
    made["encounter"] = entries[encounter] if encounter else ""
    for reference in fields["links"]:
        found = find(reference)
        if found is not None:
            made["links"].append(entries[found])
    medication = find(fields.get("medication", ""))
    if medication is not None:
        label = labels.get(medication, {})
        name = label.get("label") or name
        made["codes"] = label.get("codes", [])
    for role, reference, display in fields["actors"]:
        # Who it was is often only in files that are not given; a name that is given will do.
        found = find(reference) if not display else None
        label = display or (labels.get(found, {}).get("label", "") if found else "")
        if label:
            others = made["details"].get(role)
            made["details"][role] = f"{others}, {label}" if others else label
    texts: list[str | None] = []
    for url in fields.get("binaries", ()):
        number = known.find(file, url)
        if number in labels:
            texts.append(labels[number].get("text"))
    made["text"] = "\n\n".join(filter(None, texts))
    made["unresolved"] = unresolved
    return made, name


def read_problems(connection: sqlite3.Connection) -> list[RecordProblem]:
    """Return what could not be read, by file."""
    rows = connection.execute(
        "SELECT f.path, p.place, p.reason, p.count, p.note FROM problem p "
        "JOIN file f ON f.id=p.file ORDER BY p.note, f.path, p.rowid"
    )
    return [RecordProblem(*row[:4], note=bool(row[4])) for row in rows]
