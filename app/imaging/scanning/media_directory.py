"""The files that a DICOMDIR names (PS3.3 F, PS3.10 8). Runs in a worker process.

A DICOMDIR lies in the root folder of its medium and names files by components below it. All its
records stand in one flat sequence and are linked by byte offsets; the links are needed only to
leave out what hangs below an inactive record, so that damaged links hide nothing.
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
from app.imaging.dicom.dicom_file import be_quiet, read_header, value_of
from app.imaging.types import Problem

MAX_COMPONENTS = 32
"""PS3.10 8.2 allows eight; more are read, absurdly many are not."""

_INACTIVE = 0x0000
_MOST_PROBLEMS = 100
_NEXT = "OffsetOfTheNextDirectoryRecord"
_LOWER = "OffsetOfReferencedLowerLevelDirectoryEntity"
_INCOMPLETE = "Copy the whole medium, not only its DICOMDIR"


@dataclass(frozen=True, slots=True)
class Listed:
    """What a DICOMDIR names.

    Attributes:
        files: Existing files below its folder, in the order of the records, each once.
        problems: What is missing or must not be read.
    """

    files: tuple[Path, ...]
    problems: tuple[Problem, ...]


def files_named_by(path: Path) -> Listed:
    """The files that a DICOMDIR names.

    Never fails: what is wrong with it is a problem, and a DICOMDIR that names nothing has no files.
    """
    be_quiet()
    try:
        dataset = read_header(path).dataset
    except FileProblem as error:
        return Listed((), (Problem(path, error.reason, error.remedy),))
    folder = _Folder(path)
    files: dict[Path, None] = {}
    problems: list[Problem] = []
    for components in _references(dataset):
        found = folder.find(components)
        if isinstance(found, Path):
            files[found] = None
        else:
            problems.append(found)
    return Listed(tuple(files), tuple(_few(path, list(dict.fromkeys(problems)))))


def _few(path: Path, problems: list[Problem]) -> list[Problem]:
    """Not thousands of lines for a DICOMDIR that was copied without its files."""
    more = len(problems) - _MOST_PROBLEMS
    if more <= 0:
        return problems
    rest = Problem(path, f"it names {more:,} more files that cannot be read", _INCOMPLETE)
    return [*problems[:_MOST_PROBLEMS], rest]


def _references(dataset: Dataset) -> list[tuple[str, ...]]:
    """ReferencedFileID of each record that is in use."""
    items = list(value_of(dataset, "DirectoryRecordSequence") or ())
    unused = _inactive(items)
    references: list[tuple[str, ...]] = []
    for number, item in enumerate(items):
        value = None if number in unused else value_of(item, "ReferencedFileID")
        if value is None:
            continue
        parts: Sequence[Any] = value if isinstance(value, MultiValue | list) else [value]
        components = [part for one in parts for part in str(one).strip().split("\\")]
        if any(components):
            references.append(tuple(components))
    return references


def _inactive(items: Sequence[Dataset]) -> set[int]:
    """Records that are not in use, and all below them (PS3.3 F.5, Record In-use Flag)."""
    places = {_whole(getattr(item, "seq_item_tell", None)): n for n, item in enumerate(items)}
    unused: set[int] = set()
    waiting: list[int | None] = []
    for number, item in enumerate(items):
        if _whole(value_of(item, "RecordInUseFlag")) == _INACTIVE:
            unused.add(number)
            waiting.append(places.get(_whole(value_of(item, _LOWER)) or None))
    seen: set[int] = set()
    while waiting:
        number = waiting.pop()
        if number is None or number in seen:
            continue
        seen.add(number)
        unused.add(number)
        links = (_whole(value_of(items[number], keyword)) for keyword in (_NEXT, _LOWER))
        waiting += [places.get(link or None) for link in links]
    return unused


def _whole(value: Any) -> int | None:
    return value if isinstance(value, int) else None


class _Folder:
    """Finds files below a DICOMDIR's folder; each folder is listed once."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._root = directory.parent
        self._real_root = self._root.resolve()
        self._names: dict[Path, dict[str, str]] = {}

    def find(self, components: tuple[str, ...]) -> Path | Problem:
        """The file, or why it is not listed."""
        if len(components) > MAX_COMPONENTS or not all(map(_is_plain, components)):
            reason = "it names a file outside of its folder, which is not opened"
            return Problem(self._directory, reason, "Open the images by themselves")
        path = self._root
        for component in components:
            path = path / self._actual(path, component)
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

    def _actual(self, folder: Path, component: str) -> str:
        """The name as it is on this disk: media are copied to lower case, with ";1" or "."."""
        names = self._names.get(folder)
        if names is None:
            names = self._names[folder] = _names_in(folder)
        return names.get(component) or names.get(_loose(component)) or component


def _names_in(folder: Path) -> dict[str, str]:
    """What is in a folder: exact names, and their loose forms where those are not names too."""
    try:
        exact = [entry.name for entry in os.scandir(folder)]
    except (OSError, ValueError):
        return {}
    return {_loose(name): name for name in sorted(exact)} | {name: name for name in exact}


def _loose(name: str) -> str:
    return name.casefold().partition(";")[0].rstrip(".")


def _is_plain(component: str) -> bool:
    """Whether it is the name of something in a folder, and nothing else."""
    if component in ("", ".", ".."):
        return False
    return not any(sign in component for sign in ("/", "\\", ":", "\0"))


def without_files(path: Path) -> Problem:
    """The words for a DICOMDIR that names nothing that is there."""
    reason = "the DICOMDIR names no file that is there, so its whole folder was searched"
    return Problem(path, reason, guards.COPY_AGAIN)
