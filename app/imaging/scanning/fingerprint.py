"""What tells a folder that has changed from one that has not. Runs in a worker process.

All files below it are asked for size and times, and none is opened but archives; the marks of all
are added up. The same files are listed here and by `listing`, though in another order.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from app.errors import FileProblem
from app.imaging.files import sources
from app.imaging.files.archives import looks_like_archive
from app.imaging.files.file_marks import MODULUS, file_mark
from app.imaging.scanning.listing import archive_mark, is_directory_file, is_junk, link_mark
from app.imaging.scanning.opened_paths import is_slow

STEP_S = 0.25


@dataclass(slots=True)
class _Found:
    files: int = 0
    others: int = 0
    count: int = 0
    archives: list[list[int]] = field(default_factory=list[list[int]])
    unsure: bool = False
    started: float = field(default_factory=time.monotonic)

    @property
    def is_slow(self) -> bool:
        """Looked at now and then: one folder may hold all files of a slow drive."""
        return self.count % 128 == 127 and is_slow(self.count, time.monotonic() - self.started)


def fingerprint_entry(payload: dict[str, Any]) -> dict[str, Any]:
    """A step: what is below `payload["todo"]`, for about `STEP_S`.

    Returns:
        "files": sum of the `file_mark` of plain files, hexadecimal. "others": of archives and
        links that are not followed. "count": of plain files. "archives": [time, size, time
        of change] of each.
        "unsure": whether something could not be told in a short time. "todo": what is left.
    """
    found = _Found()
    todo: list[str] = list(payload["todo"])
    if payload.get("begin"):
        todo = [text for text in todo if not _is_plain(text, found)]
    deadline = time.monotonic() + STEP_S
    while todo and not found.unsure and time.monotonic() < deadline:
        _folder(todo.pop(), todo, found)
    return {
        "files": f"{found.files % MODULUS:x}",
        "others": f"{found.others % MODULUS:x}",
        "count": found.count,
        "archives": found.archives,
        "unsure": found.unsure,
        "todo": todo,
    }


def _is_plain(text: str, found: _Found) -> bool:
    """What the user named: takes it in unless it is a folder."""
    path = Path(text)
    if path.is_dir():
        return False
    try:
        begin = sources.read_start(path, 1024)
        status = path.stat()
    except (FileProblem, OSError, ValueError):
        found.unsure = True
        return True
    if is_directory_file(begin):
        found.unsure = True  # it stands for files that may lie anywhere below its folder
    elif looks_like_archive(path, begin):
        _archive(text, status, found)
    else:
        _file(text, status, found)
    return True


def _folder(folder: str, todo: list[str], found: _Found) -> None:
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if is_junk(entry.name):
                    continue
                if found.is_slow:
                    found.unsure = True
                    return
                if entry.is_dir(follow_symlinks=False):
                    todo.append(entry.path)
                elif entry.is_symlink() and entry.is_dir():
                    found.others += link_mark(entry.path)
                elif entry.name.lower().endswith(".zip"):
                    _zip(entry, found)
                else:
                    _file(entry.path, entry.stat(), found)
    except (OSError, ValueError):
        found.unsure = True


def _zip(entry: os.DirEntry[str], found: _Found) -> None:
    path = Path(entry.path)
    try:
        is_archive = looks_like_archive(path, sources.read_start(path, 4))
    except FileProblem:
        found.unsure = True
        return
    (_archive if is_archive else _file)(entry.path, entry.stat(), found)


def _file(text: str, status: os.stat_result, found: _Found) -> None:
    found.files += file_mark(text, (status.st_size, status.st_mtime_ns, status.st_ctime_ns))
    found.count += 1


def _archive(text: str, status: os.stat_result, found: _Found) -> None:
    found.others += archive_mark(text, status)
    found.archives.append([status.st_mtime_ns, status.st_size, status.st_ctime_ns])
