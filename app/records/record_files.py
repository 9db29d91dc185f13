"""Which files are those of a record, by name and first bytes."""

from __future__ import annotations

import gzip
import os
import stat
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

from app.errors import Cancelled
from app.imaging.processes.workers import CancelLike
from app.records.record_index import FileState

PATTERNS = ("*.json", "*.ndjson", "*.jsonl", "*.json.gz", "*.ndjson.gz", "*.jsonl.gz")
"""Usual names of FHIR files, for dialogs."""

_ENDS = tuple(one.removeprefix("*") for one in PATTERNS)
_LINES = tuple(one for one in _ENDS if ".json" not in one or "jsonl" in one)
_XML_NAMESPACE = b"http://hl7.org/fhir"
_START_BYTES = 64 * 1024
_LOOKED_AT = 2_000
"""Files of a folder that are looked at to see whether it holds a record."""
_OPENED = 50
"""... of which so many are opened."""


def split_sources(paths: Sequence[Path]) -> tuple[list[Path], list[Path]]:
    """Return the paths that hold a record, and those that hold anything else, such as images.

    A folder may be both. Reads the first bytes of some files, so it may block.
    """
    records: list[Path] = []
    others: list[Path] = []
    for path in paths:
        if not path.is_dir():
            (records if _is_record(path) else others).append(path)
            continue
        files = list(islice(_walk(path), _LOOKED_AT))
        named = [one for one in files if one.name.lower().endswith(_ENDS)]
        if any(map(_is_record, named[:_OPENED])):
            records.append(path)
            if len(files) > len(named):
                others.append(path)
        else:
            others.append(path)
    return records, others


def _is_record(path: Path) -> bool:
    name = path.name.lower()
    if name.endswith(_LINES):
        return True
    if name.endswith(".zip"):
        return _holds_only_records(path)
    if not name.endswith(_ENDS):
        return _is_fhir_xml(path)
    return b'"resourceType"' in _first_bytes(path)


def _holds_only_records(path: Path) -> bool:
    """Return whether a ZIP archive has FHIR files only: of it people are told to unpack it."""
    try:
        with zipfile.ZipFile(path) as archive:
            names = [one.lower() for one in archive.namelist() if not one.endswith("/")]
    except (OSError, ValueError, NotImplementedError, zipfile.BadZipFile):
        return False
    return bool(names) and all(name.endswith(_ENDS) for name in names)


def _first_bytes(path: Path) -> bytes:
    try:
        if not path.is_file():
            return b""
        with (gzip.open if path.name.lower().endswith(".gz") else open)(path, "rb") as file:
            return file.read(_START_BYTES)
    except (OSError, EOFError, zlib.error):
        return b""


def record_files(
    places: Sequence[Path], cancel: CancelLike | None = None
) -> Iterator[tuple[FileState, str]]:
    """Yield the files to read, each once, with a reason where it is known not to be readable."""
    seen: set[str] = set()
    for place in places:
        folder = place.is_dir()
        for path in _walk(place) if folder else (place,):
            if cancel is not None and cancel.cancelled:
                raise Cancelled
            name = os.fspath(path)
            if name in seen:
                continue
            seen.add(name)
            state, why = _state(path)
            if folder and not name.lower().endswith(_ENDS) and not _is_fhir_xml(path):
                continue
            yield state, why


def _walk(folder: Path) -> Iterator[Path]:
    for parent, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            if not name.startswith("."):
                yield Path(parent, name)


def _state(path: Path) -> tuple[FileState, str]:
    try:
        found = path.stat()
    except OSError as error:
        why = f"it cannot be opened: {error.strerror or type(error).__name__}"
        return FileState(os.fspath(path), -1, 0), why
    state = FileState(os.fspath(path), found.st_size, found.st_mtime_ns)
    return state, "" if stat.S_ISREG(found.st_mode) else "it is no file"


def _is_fhir_xml(path: Path) -> bool:
    """Return whether a file of a folder is FHIR in XML, which must be named among the problems."""
    name = path.name.lower()
    if not name.endswith((".xml", ".xml.gz")):
        return False
    return _XML_NAMESPACE in _first_bytes(path)
