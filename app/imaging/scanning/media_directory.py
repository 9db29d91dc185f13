"""The files that a DICOMDIR names (PS3.3 F, PS3.10 8). Runs in a worker process.

A DICOMDIR lies in the root folder of its medium and names files by components below it. Its records
form one flat sequence, linked by byte offsets. The links are used only to leave out the records
below an inactive one, so damaged links hide nothing.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydicom.dataset import Dataset
from pydicom.multival import MultiValue

from app.errors import FileProblem
from app.imaging import guards
from app.imaging.dicom.dicom_file import read_header, silence_pydicom, value_of
from app.imaging.files import sources
from app.imaging.types import Problem

MAX_RECORDS = 50_000
"""Limit of records, counted before they are parsed; a full disc has some ten thousand."""
MAX_BYTES = 2**27
MAX_COMPONENTS = 32
"""Limit of a file's path components; PS3.10 8.2 allows eight."""

_ITEM_SIGN = b"\xfe\xff\0\xe0"
_MOST_PROBLEMS = 100
_TOO_MANY = f"the DICOMDIR has more than {MAX_RECORDS:,} records, so its whole folder was searched"
_INCOMPLETE = "Copy the whole medium, not only its DICOMDIR"


class _TooManyError(Exception):
    """The DICOMDIR holds more records than `MAX_RECORDS`."""


@dataclass(frozen=True, slots=True)
class _Record:
    """The fields of a directory record that lead to files.

    Attributes:
        place: Offset of its item in the file, where that is known.
        following: Offset of the next record of the same level, 0 for none.
        lower: Offset of the first record below it, 0 for none.
        in_use: Record In-use Flag; None when absent.
        components: Referenced File ID; empty for none.
    """

    place: int | None
    following: int
    lower: int
    in_use: int | None
    components: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DirectoryListing:
    """The files that a DICOMDIR names.

    Attributes:
        files: Existing files below its folder, in the order of the records, each once.
        problems: Named files that are missing or must not be read.
        too_many: Whether it has so many records that none was read.
    """

    files: tuple[Path, ...]
    problems: tuple[Problem, ...]
    too_many: bool = False


def files_named_by(path: Path) -> DirectoryListing:
    """Return the files that a DICOMDIR names.

    Never raises: errors become problems of the result.
    """
    silence_pydicom()
    try:
        records = _records(path)
    except FileProblem as error:
        return DirectoryListing((), (Problem(path, error.reason, error.remedy),))
    except _TooManyError:
        return DirectoryListing((), (Problem(path, _TOO_MANY, guards.COPY_AGAIN),), too_many=True)
    unused = _inactive(records)
    named = (one.components for number, one in enumerate(records) if number not in unused)
    folder = _Folder(path)
    files: dict[Path, None] = {}
    problems: list[Problem] = []
    for components in dict.fromkeys(one for one in named if any(one)):
        found = folder.find(components)
        if isinstance(found, Path):
            files[found] = None
        else:
            problems.append(found)
    return DirectoryListing(tuple(files), tuple(_few(path, list(dict.fromkeys(problems)))))


def _few(path: Path, problems: list[Problem]) -> list[Problem]:
    """Limit the problems of a DICOMDIR that was copied without its files."""
    more = len(problems) - _MOST_PROBLEMS
    if more <= 0:
        return problems
    rest = Problem(path, f"it names {more:,} more files that cannot be read", _INCOMPLETE)
    return [*problems[:_MOST_PROBLEMS], rest]


def _records(path: Path) -> list[_Record]:
    """Read the records of a DICOMDIR, in the order of the file.

    Raises:
        FileProblem: It cannot be read.
        _TooManyError: It holds more records than `MAX_RECORDS`; nothing was parsed yet.
    """
    with sources.open_file(path) as file:
        if file.read(MAX_BYTES).count(_ITEM_SIGN) > MAX_RECORDS or file.read(1):
            raise _TooManyError
    items = value_of(read_header(path).dataset, "DirectoryRecordSequence") or ()
    return [_record(item) for item in items]


def _record(item: Dataset) -> _Record:
    value = value_of(item, "ReferencedFileID")
    components: tuple[str, ...] = ()
    if value is not None:
        parts: Sequence[Any] = value if isinstance(value, MultiValue | list) else [value]
        components = tuple(part for one in parts for part in str(one).strip().split("\\"))
    return _Record(
        _whole(getattr(item, "seq_item_tell", None)),
        _whole(value_of(item, "OffsetOfTheNextDirectoryRecord")) or 0,
        _whole(value_of(item, "OffsetOfReferencedLowerLevelDirectoryEntity")) or 0,
        _whole(value_of(item, "RecordInUseFlag")),
        components,
    )


def _whole(value: Any) -> int | None:
    return value if isinstance(value, int) else None


def _inactive(records: Sequence[_Record]) -> set[int]:
    """Return the numbers of the records not in use, and of all below them (PS3.3 F.5)."""
    places = {record.place: number for number, record in enumerate(records)}
    unused = {number for number, record in enumerate(records) if record.in_use == 0}
    pending = [places.get(records[number].lower) for number in unused]
    seen: set[int] = set()
    while pending:
        number = pending.pop()
        if number is None or number in seen:
            continue
        seen.add(number)
        pending += [places.get(records[number].following), places.get(records[number].lower)]
    return unused | seen


class _Folder:
    """Finds files below a DICOMDIR's folder; each folder is listed once."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._root = directory.parent
        self._real_root = self._root.resolve()
        self._names: dict[Path, dict[str, str]] = {}
        self._plain: dict[Path, frozenset[str]] = {}
        self._inside: dict[Path, bool] = {}

    def find(self, components: tuple[str, ...]) -> Path | Problem:
        """Return the file, or the reason why it is not listed."""
        if len(components) > MAX_COMPONENTS or not all(map(_is_plain, components)):
            reason = "it names a file outside of its folder, which is not opened"
            return Problem(self._directory, reason, "Open the images by themselves")
        path = self._root
        for component in components:
            path = path / self._actual(path, component)
        if path.name in self._plain[path.parent] and self._is_inside(path.parent):
            return path
        try:
            inside = path.resolve().is_relative_to(self._real_root)
            exists = inside and path.is_file()
        except (OSError, RuntimeError, ValueError):
            inside, exists = True, False
        if not inside:
            reason = "it is a link that leads out of the DICOMDIR's folder"
            return Problem(path, reason, "Open the file by itself")
        if not exists:
            return Problem(path, "the DICOMDIR names it, but there is no such file", _INCOMPLETE)
        return path

    def _is_inside(self, folder: Path) -> bool:
        """Return whether a folder, its links followed, is inside the DICOMDIR's folder."""
        known = self._inside.get(folder)
        if known is None:
            try:
                known = folder.resolve().is_relative_to(self._real_root)
            except (OSError, RuntimeError, ValueError):
                known = False
            self._inside[folder] = known
        return known

    def _actual(self, folder: Path, component: str) -> str:
        """Return the name on this disk; copies may be in lower case or end in ";1" or "."."""
        names = self._names.get(folder)
        if names is None:
            names, self._plain[folder] = _names_in(folder)
            self._names[folder] = names
        return names.get(component) or names.get(_loose(component)) or component


def _names_in(folder: Path) -> tuple[dict[str, str], frozenset[str]]:
    """Return the names in a folder by their exact and loose forms, and the set of plain files.

    Also those of them that are files, and no links.
    """
    try:
        with os.scandir(folder) as entries:
            found = {entry.name: entry.is_file(follow_symlinks=False) for entry in entries}
    except (OSError, ValueError):
        return {}, frozenset()
    names = {_loose(name): name for name in sorted(found)} | {name: name for name in found}
    return names, frozenset(name for name, is_file in found.items() if is_file)


def _loose(name: str) -> str:
    return name.casefold().partition(";")[0].rstrip(".")


def _is_plain(component: str) -> bool:
    """Return whether a component is a plain name without separators."""
    if component in ("", ".", ".."):
        return False
    return not any(sign in component for sign in ("/", "\\", ":", "\0"))


def no_files_problem(path: Path) -> Problem:
    """Return the problem of a DICOMDIR that names no existing file."""
    reason = "the DICOMDIR names no file that is there, so its whole folder was searched"
    return Problem(path, reason, guards.COPY_AGAIN)
