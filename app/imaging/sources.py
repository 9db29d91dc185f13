"""Where bytes come from: every reader opens files through here.

A path may name a file, or a member of a zip archive as if the archive were a folder.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from app.imaging import guards


@dataclass(frozen=True, slots=True)
class FileStatus:
    """What tells a changed file from an unchanged one.

    Attributes:
        size: Bytes.
        mtime_ns: Time of modification, ns; the archive's own for a member of one.
    """

    size: int
    mtime_ns: int


def status(path: Path) -> FileStatus:
    """Size and time of a regular file.

    Raises:
        FileProblem: It is missing, a folder, a device, empty, or not readable.
    """
    guards.check_regular(path)
    try:
        found = path.stat()
    except OSError as error:
        raise guards.unreadable(path, error) from None
    return FileStatus(found.st_size, found.st_mtime_ns)


def open_file(path: Path) -> BinaryIO:
    """A seekable binary file, to be closed by the caller.

    Raises:
        FileProblem: It cannot be opened.
    """
    guards.check_regular(path)
    try:
        return path.open("rb")
    except OSError as error:
        raise guards.unreadable(path, error) from None


def read_start(path: Path, size: int = 512) -> bytes:
    """The first bytes, to tell the format.

    Raises:
        FileProblem: It cannot be read.
    """
    with open_file(path) as file:
        try:
            return file.read(size)
        except OSError as error:
            raise guards.unreadable(path, error) from None
