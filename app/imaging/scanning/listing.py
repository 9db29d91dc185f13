"""Listing of the files behind opened folders, zip archives and DICOMDIRs. Runs in a worker process.

A file that is not listed becomes a `Problem` with its reason. Two kinds of file are skipped
silently: those of operating systems (`.DS_Store`, `Thumbs.db`, `__MACOSX`, hidden files), and a
DICOMDIR inside a folder, as the images that it names are listed anyway.

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
from app.imaging.files.archives import EMPTY, OUTSIDE, UNPACK, looks_like_archive, open_archive
from app.imaging.files.identity import MODULUS, file_hash
from app.imaging.files.natural_order import natural_key
from app.imaging.scanning import opened_paths
from app.imaging.scanning.opened_paths import Tasks
from app.imaging.types import Problem

MAX_RECORDS = 50_000
"""Limit of records, counted before they are parsed; a full disc has some ten thousand."""
MAX_BYTES = 2**27
MAX_COMPONENTS = 32
"""Limit of a file's path components; PS3.10 8.2 allows eight."""

_ITEM_SIGN = b"\xfe\xff\0\xe0"
_MOST_PROBLEMS = 100
_INCOMPLETE = "Copy the whole medium, not only its DICOMDIR"
_LINKS = ("OffsetOfTheNextDirectoryRecord", "OffsetOfReferencedLowerLevelDirectoryEntity")


def files_named_by(path: Path) -> tuple[list[Path], list[Problem]]:
    """Return the files that a DICOMDIR names, in its order, and problems for those left out.

    Raises:
        FileProblem: The DICOMDIR cannot be read, or holds more records than `MAX_RECORDS`.
    """
    silence_pydicom()
    with sources.open_file(path) as file:
        if file.read(MAX_BYTES).count(_ITEM_SIGN) > MAX_RECORDS or file.read(1):
            raise guards.problem(path, f"the DICOMDIR has more than {MAX_RECORDS:,} records")
    records: list[Dataset] = value_of(read_header(path).dataset, "DirectoryRecordSequence") or []
    folder = _Folder(path)
    files: dict[Path, None] = {}
    problems: dict[Problem, None] = {}
    for components in dict.fromkeys(map(_components, _in_use(records))):
        if not any(components):
            continue
        found = folder.find(components)
        if isinstance(found, Path):
            files[found] = None
        else:
            problems[found] = None
    told = list(problems)
    more = len(told) - _MOST_PROBLEMS
    if more > 0:
        reason = f"it names {more:,} more files that cannot be read"
        told[_MOST_PROBLEMS:] = [Problem(path, reason, _INCOMPLETE)]
    return list(files), told


def _in_use(records: Sequence[Dataset]) -> list[Dataset]:
    """Leave out the records that are not in use, and all below them (PS3.3 F.5)."""
    places: dict[Any, Dataset] = {getattr(one, "seq_item_tell", None): one for one in records}
    unused = {id(one) for one in records if value_of(one, "RecordInUseFlag") == 0}
    pending = [value_of(one, _LINKS[1]) for one in records if id(one) in unused]
    seen: set[int] = set()
    while pending:
        place = pending.pop()
        if isinstance(place, int) and place in places and place not in seen:
            seen.add(place)
            pending += [value_of(places[place], keyword) for keyword in _LINKS]
    unused |= {id(places[place]) for place in seen}
    return [one for one in records if id(one) not in unused]


def _components(record: Dataset) -> tuple[str, ...]:
    """Return the Referenced File ID; empty if there is none."""
    value = value_of(record, "ReferencedFileID")
    parts: Any = value if isinstance(value, MultiValue | list) else [value or ""]
    return tuple(part for one in parts for part in str(one).strip().split("\\"))


class _Folder:
    """Finds files below a DICOMDIR's folder; each folder is listed once."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._root = directory.parent
        self._real_root = self._root.resolve()
        self._names: dict[Path, dict[str, str]] = {}

    def find(self, components: tuple[str, ...]) -> Path | Problem:
        """Return the file, or the reason why it is not listed."""
        if len(components) > MAX_COMPONENTS or not all(map(_is_plain, components)):
            reason = "it names a file outside of its folder, which is not opened"
            return Problem(self._directory, reason, "Open the images directly")
        path = self._root
        for component in components:
            if path not in self._names:
                self._names[path] = _names_in(path)
            names = self._names[path]
            # Copies may be in lower case, or end in ";1" or ".".
            path = path / (names.get(component) or names.get(_loose(component)) or component)
        try:
            inside = path.resolve().is_relative_to(self._real_root)
            exists = inside and path.is_file()
        except (OSError, RuntimeError, ValueError):
            inside, exists = True, False
        if not inside:
            reason = "it is a link that leads out of the DICOMDIR's folder"
            return Problem(path, reason, "Open the file directly")
        if not exists:
            return Problem(path, "the DICOMDIR names it, but there is no such file", _INCOMPLETE)
        return path


def _names_in(folder: Path) -> dict[str, str]:
    """Return the names in a folder by their exact and loose forms."""
    try:
        found = sorted(one.name for one in folder.iterdir())
    except (OSError, ValueError):
        return {}
    return {_loose(name): name for name in found} | {name: name for name in found}


def _loose(name: str) -> str:
    return name.casefold().partition(";")[0].rstrip(".")


def _is_plain(component: str) -> bool:
    if component in ("", ".", ".."):
        return False
    return not any(sign in component for sign in ("/", "\\", ":", "\0"))


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
    """The files found in one step of listing; a root is the index of one of the opened paths.

    Attributes:
        files: (root, folder or archive, names below it), in order.
        problems: (root, problem).
        todo: Remaining tasks: [kind, path, root, depth] of each path to be listed.
        archives: Maps each archive to its status before it was opened.
        links: Links that were not followed.
        unsure: Whether another listing may differ though no file changes, e.g. after an error.
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
        "files": list of [root, folder, names]. "problems": list of [root, path, reason, remedy].
        "todo": remaining tasks. "others": sum of the `file_hash` values of archives and of links
        that are not followed, in hexadecimal. "unsure": `Listing.unsure`.
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
        "files": sum of the `file_hash` values of all files outside archives, in hexadecimal.
        "others": the same sum for archives and links that are not followed. "count": number of
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
    return file_hash(path, (status.st_size, status.st_mtime_ns, status.st_ctime_ns))


def _others_mark(found: Listing) -> str:
    """Return the sum of the marks of archives, and of links wherever they lead, hexadecimal."""
    marks = [_mark(str(path), status) for path, status in found.archives.items()]
    marks += [file_hash(str(path), (0, 0, 0)) for path in found.links]
    return f"{sum(marks) % MODULUS:x}"


def step(todo: Tasks, seconds: float = STEP_S) -> Listing:
    """Do listing tasks of `todo` for about `seconds`, at least one; return what was found."""
    found = Listing(todo=list(todo))
    deadline = time.monotonic() + seconds
    while found.todo:
        kind, text, root, depth = found.todo.pop()
        path = Path(text)
        try:
            _KINDS[kind](path, root, depth, found)
        except Exception as error:  # whatever is wrong with one path must not cost the others
            found.unsure = True
            problem = guards.unreadable_file(path, error)
            found.problems.append((root, Problem(path, problem.reason, problem.remedy)))
        if time.monotonic() > deadline:
            break
    return found


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
        Problem(archive / name, reason, _remedy(reason))
        if name
        else Problem(archive, f"one of its files is not read: {reason}", _remedy(reason))
        for name, reason in refused
        if reason not in problems
    ]
    return [*single, *problems.values()]


def _remedy(reason: str) -> str:
    """Return a remedy; unpacking is none for empty files, and harmful for names that lead out."""
    return guards.COPY_AGAIN if reason in (EMPTY, OUTSIDE) else UNPACK


def _directory(path: Path, root: int, depth: int, found: Listing) -> None:
    """List the files of a DICOMDIR that the user named, whatever it is called."""
    found.unsure = True  # its files may lie anywhere below its folder
    reason = "the DICOMDIR names no file that is there"
    try:
        files, problems = files_named_by(path)
    except FileProblem as error:
        files, problems, reason = [], [], error.reason
    if not files:
        reason += ", so its whole folder was searched"
        found.problems.append((root, Problem(path, reason, guards.COPY_AGAIN)))
        found.todo.append(["folder", str(path.parent), root, depth])
        return
    folder = path.parent
    names = [file.relative_to(folder).as_posix() for file in files]
    found.files.append((root, folder, names))
    found.problems += [(root, problem) for problem in problems]


_KINDS = {"path": _path, "folder": _folder, "zip": _zip}


def leads_out(link: Path, depth: int) -> bool:
    """Return whether a link points outside the opened folder, which is `depth` levels above it."""
    opened = link.parents[depth] if depth < len(link.parents) else link.parent
    try:
        return not link.resolve().is_relative_to(opened.resolve())
    except (OSError, RuntimeError, ValueError):
        return True


def is_junk(name: str) -> bool:
    """Return whether a file name is hidden (starts with a dot) or that of an operating system."""
    return name.startswith(".") or name.lower() in _JUNK


def _by_folder(name: str) -> list[list[tuple[int, int, str]]]:
    return [natural_key(part) for part in name.split("/")]
