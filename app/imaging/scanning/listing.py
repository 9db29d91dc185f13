"""Listing of the files behind opened folders, zip archives and DICOMDIRs. Runs in a worker process.

A file that is not listed becomes a `Problem` with its reason. Only files of operating systems
(`.DS_Store`, `Thumbs.db`, `__MACOSX`, hidden files) are skipped silently, and a DICOMDIR inside a
folder, whose images are listed anyway.

A folder may hold 100,000 files on a slow network drive, so it is listed in short steps, and headers
are read meanwhile.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydicom.dataset import Dataset
from pydicom.multival import MultiValue

from app.errors import FileProblem
from app.imaging import guards
from app.imaging.dicom.dicom_file import read_header, silence_pydicom, value_of
from app.imaging.files import sources
from app.imaging.files.archives import OUTSIDE, UNPACK, looks_like_archive, open_archive
from app.imaging.files.file_marks import MODULUS, file_mark
from app.imaging.files.natural_order import natural_key
from app.imaging.scanning import opened_paths
from app.imaging.scanning.opened_paths import Tasks, empty_path_problems, listing_tasks
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
        files: The named files that exist below the DICOMDIR's folder, in record order, each once.
        problems: Messages about named files that are missing or must not be read.
        too_many: Whether there are so many records that none was read.
    """

    files: tuple[Path, ...]
    problems: tuple[Problem, ...]
    too_many: bool = False


def files_named_by(path: Path) -> DirectoryListing:
    """Return the files that a DICOMDIR names.

    Never raises: errors are reported in `problems` of the result.
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
    """Return the `Problem` to report for a DICOMDIR that names no existing file."""
    reason = "the DICOMDIR names no file that is there, so its whole folder was searched"
    return Problem(path, reason, guards.COPY_AGAIN)


MAX_DEPTH = 64
STEP_S = 0.1
STATE_STEP_S = 0.25
_JUNK = frozenset({"thumbs.db", "desktop.ini", "ehthumbs.db", "__macosx", "dicomdir"})
_MOST_OF_A_KIND = 3
_DIRECTORY = (
    b"\x02\0\x02\0UI\x14\0" + b"1.2.840.10008.1.3.10",
    b"\x04\0\x30\x11",
    b"\x04\0\x00\x12",
    b"\x04\0\x20\x12",
    b"\0\x04\x11\x30",
    b"\0\x04\x12\0",
    b"\0\x04\x12\x20",
)
"""Media Storage SOP Class UID (0002,0002) of a DICOMDIR as it stands in the file, and the tags that
no other object has, in either byte order: File-set ID, first record's offset, Directory Record
Sequence."""


@dataclass(slots=True)
class Listing:
    """The result of one step of listing. A root is the number of an opened path.

    Attributes:
        files: (root, folder or archive, names below it), in order.
        problems: (root, problem).
        todo: Remaining tasks.
        archives: Maps each archive to its status before it was opened.
        links: Links that were not followed.
        unsure: Whether another listing might differ even if no file changes.
    """

    files: list[tuple[int, Path, list[str]]] = field(
        default_factory=list[tuple[int, Path, list[str]]]
    )
    problems: list[tuple[int, Problem]] = field(default_factory=list[tuple[int, Problem]])
    todo: Tasks = field(default_factory=list[list[Any]])
    archives: dict[Path, os.stat_result] = field(default_factory=dict[Path, os.stat_result])
    links: list[Path] = field(default_factory=list[Path])
    unsure: bool = False


def list_entry(payload: dict[str, Any]) -> dict[str, Any]:
    """List files for about `STEP_S` seconds. Runs in a worker, as a network drive may block.

    Args:
        payload: "todo": tasks from `opened_paths.listing_tasks`.

    Returns:
        "files": list of [root, folder, names] in order. "problems": list of [root, path, reason,
        remedy]. "todo": remaining tasks. "others": see `state_entry`. "unsure": see `Listing`.
    """
    found = step(payload["todo"])
    return {
        "files": [[root, str(folder), names] for root, folder, names in found.files],
        "problems": [[root, str(p.path), p.reason, p.remedy] for root, p in found.problems],
        "todo": found.todo,
        "others": _others_mark(found),
        "unsure": found.unsure,
    }


def state_entry(payload: dict[str, Any]) -> dict[str, Any]:
    """List files as `list_entry` does, and read the size and times of each.

    Returns:
        "files": sum of the `file_mark` values of all files outside archives, in hexadecimal.
        "others": the same for archives and for links that are not followed. "count": number of
        files. "archives": list of [modification time, size, change time]. "unsure": whether
        something failed or took too long. "todo": remaining tasks.
    """
    found = step(payload["todo"], STATE_STEP_S)
    total = count = 0
    started = time.monotonic()
    for _, folder, names in found.files:
        for name in names if folder not in found.archives else ():
            path = os.path.join(folder, name)  # noqa: PTH118 - a `Path` takes as long as the mark
            try:
                status = os.stat(path)  # noqa: PTH116
            except (OSError, ValueError):
                found.unsure = True
                continue
            total += _mark(path, status)
            count += 1
            # One folder may hold all files of a slow drive.
            slow = count % 128 == 0 and opened_paths.is_slow(count, time.monotonic() - started)
            if found.unsure or slow:
                found.unsure = True
                break
    states = found.archives.values()
    return {
        "files": f"{total % MODULUS:x}",
        "others": _others_mark(found),
        "count": count,
        "archives": [[one.st_mtime_ns, one.st_size, one.st_ctime_ns] for one in states],
        "unsure": found.unsure,
        "todo": found.todo,
    }


def _mark(path: str, status: os.stat_result) -> int:
    return file_mark(path, (status.st_size, status.st_mtime_ns, status.st_ctime_ns))


def _others_mark(found: Listing) -> str:
    """Return the sum of the marks of archives, and of links wherever they lead, hexadecimal."""
    marks = [_mark(str(path), status) for path, status in found.archives.items()]
    marks += [file_mark(str(path), (0, 0, 0)) for path in found.links]
    return f"{sum(marks) % MODULUS:x}"


def step(todo: Tasks, seconds: float = STEP_S) -> Listing:
    """Continue listing for about `seconds`, with at least one folder, archive or path listed."""
    found = Listing(todo=list(todo))
    deadline = time.monotonic() + seconds
    while found.todo:
        kind, text, root, depth = found.todo.pop()
        _KINDS[kind](Path(text), root, depth, found)
        if time.monotonic() > deadline:
            break
    return found


def list_files(paths: Sequence[Path]) -> tuple[list[Path], list[Problem]]:
    """Return all files behind the paths, each once, with folders in natural order; and problems.

    Links to folders are not followed: they may lead out of the folder or back into it. For an
    opened DICOMDIR, the files that it names are returned.
    """
    todo = listing_tasks(paths)
    files: dict[Path, None] = {}
    problems: list[Problem] = []
    fruitful: set[int] = set()
    while todo:
        found = step(todo)
        todo = found.todo
        fruitful |= {root for root, *_ in (*found.files, *found.problems)}
        files |= {folder / name: None for _, folder, names in found.files for name in names}
        problems += [problem for _, problem in found.problems]
    return list(files), problems + empty_path_problems(paths, fruitful)


def _path(path: Path, root: int, depth: int, found: Listing) -> None:
    """List a path that the user opened; its content decides, not its name."""
    if path.is_dir():
        found.todo.append(["folder", str(path), root, depth])
        return
    try:
        begin = sources.read_start(path, 1024)
    except FileProblem:
        begin = b""  # reading its header will say what is wrong
    if looks_like_archive(path, begin):
        _zip(path, root, depth, found)
    elif is_directory_file(begin):
        _directory(path, root, depth, found)
    else:
        found.files.append((root, path.parent, [path.name]))


def is_directory_file(begin: bytes) -> bool:
    """Return whether a file that starts with these bytes is a DICOMDIR."""
    return begin[128:132] == b"DICM" and any(sign in begin for sign in _DIRECTORY)


def _folder(folder: Path, root: int, depth: int, found: Listing) -> None:
    try:
        with os.scandir(folder) as entries:
            inside = [entry for entry in entries if not is_junk(entry.name)]
    except OSError as error:
        found.unsure = True
        problem = guards.unreadable_file(folder, error)
        found.problems.append((root, Problem(folder, problem.reason, problem.remedy)))
        return
    inside.sort(key=lambda entry: natural_key(entry.name))
    if len(inside) > opened_paths.MAX_FILES or depth >= MAX_DEPTH:
        found.problems.append((root, opened_paths.too_many_files(folder)))
        inside = [] if depth >= MAX_DEPTH else inside[: opened_paths.MAX_FILES]
    names: list[str] = []
    later: Tasks = []
    for entry in inside:
        path = folder / entry.name
        if entry.is_dir(follow_symlinks=False):
            later.append(["folder", str(path), root, depth + 1])
        elif entry.is_symlink() and path.is_dir():  # `entry.is_dir` raises where links circle
            reason = "it is a link to a folder, which is not followed"
            found.problems.append((root, Problem(path, reason, "Open that folder")))
            found.links.append(path)
        elif entry.is_symlink() and leads_out(path, depth):
            reason = "it is a link that leads out of the folder, which is not followed"
            found.problems.append((root, Problem(path, reason, "Open the file that it names")))
            found.links.append(path)
        elif entry.name.lower().endswith(".zip"):
            later.append(["zip", str(path), root, depth + 1])
        else:
            names.append(entry.name)
    if names:
        found.files.append((root, folder, names))
    found.todo += reversed(later)


def _zip(path: Path, root: int, depth: int, found: Listing) -> None:
    del depth
    try:
        if not looks_like_archive(path, sources.read_start(path, 4)):
            found.files.append((root, path.parent, [path.name]))
            return
        # Before it is opened, so that an archive put in its place meanwhile has another mark.
        with contextlib.suppress(OSError):
            found.archives[path] = path.stat()
        archive = open_archive(path)
    except FileProblem as error:
        found.unsure |= isinstance(error, guards.Unreadable)
        found.problems.append((root, Problem(path, error.reason, error.remedy)))
        return
    names = [name for name in archive.files if not any(map(is_junk, name.split("/")))]
    if names:
        found.files.append((root, path, sorted(names, key=_by_folder)))
    refused = [(name, reason) for name, reason in archive.refused if not is_junk(name)]
    found.problems += [(root, problem) for problem in _refusals(path, refused)]
    if not names and not refused:
        reason = "there are no images in this archive"
        found.problems.append((root, Problem(path, reason, "Choose one with DICOM files")))


def _refusals(archive: Path, refused: Sequence[tuple[str, str]]) -> list[Problem]:
    """Return the problems of refused members, one for all where they are many."""
    counts = Counter(reason for _, reason in refused)
    problems = {
        reason: Problem(archive, f"{count} of its files are not read: {reason}", _remedy(reason))
        for reason, count in counts.items()
        if count > _MOST_OF_A_KIND
    }
    single = [
        Problem(archive / name, reason, UNPACK)
        if name
        else Problem(archive, f"one of its files is not read: {reason}", _remedy(reason))
        for name, reason in refused
        if reason not in problems
    ]
    return [*single, *problems.values()]


def _remedy(reason: str) -> str:
    """Return a remedy; an archive with names outside of it must not be unpacked."""
    return guards.COPY_AGAIN if reason == OUTSIDE else UNPACK


def _directory(path: Path, root: int, depth: int, found: Listing) -> None:
    """List the files of a DICOMDIR that the user named, whatever it is called."""
    found.unsure = True  # its files may lie anywhere below its folder
    listed = files_named_by(path)
    if not listed.files:
        problem = listed.problems[0] if listed.too_many else no_files_problem(path)
        found.problems.append((root, problem))
        found.todo.append(["folder", str(path.parent), root, depth])
        return
    folder = path.parent
    names = [file.relative_to(folder).as_posix() for file in listed.files]
    found.files.append((root, folder, names))
    found.problems += [(root, problem) for problem in listed.problems]


_KINDS = {"path": _path, "folder": _folder, "zip": _zip}


def leads_out(link: Path, depth: int) -> bool:
    """Return whether a link `depth` folders below the opened folder points outside that folder."""
    opened = link.parents[depth] if depth < len(link.parents) else link.parent
    try:
        return not link.resolve().is_relative_to(opened.resolve())
    except (OSError, RuntimeError, ValueError):
        return True


def is_junk(name: str) -> bool:
    """Return whether a file name is that of a hidden file or of an operating system's own file."""
    return name.startswith(".") or name.lower() in _JUNK


def _by_folder(name: str) -> list[list[tuple[int, int, str]]]:
    return [natural_key(part) for part in name.split("/")]
