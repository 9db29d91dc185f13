"""Where bytes come from: every reader opens files through here.

A path may name a file, or a member of a zip archive as if the archive were a folder.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from app.imaging import guards
from app.imaging.files.archives import Member, find_member

_AT_ONCE: int = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


@dataclass(frozen=True, slots=True)
class FileStatus:
    """What tells a changed file from an unchanged one.

    Attributes:
        size: Bytes.
        mtime_ns: Time of modification, ns; the archive's own for a member of one.
        archive_size: Bytes of the archive that it is a member of, else 0.
        changed_ns: When anything about it, or the archive that it is a member of, last changed,
            ns. Unlike `mtime_ns`, nothing sets it back: unpacking another export over the first
            may leave slices of equal size and time. (On Windows it is the time of creation.)
    """

    size: int
    mtime_ns: int
    archive_size: int = 0
    changed_ns: int = 0

    @property
    def stamp(self) -> list[int]:
        """What of it the index keeps: size, time, and what else tells a file from its successor."""
        return [self.size, self.mtime_ns, self.archive_size + self.changed_ns]


def status(path: Path) -> FileStatus:
    """Size and time of a regular file or a member of an archive.

    Raises:
        FileProblem: It is missing, a folder, a device, empty, or not readable.
    """
    member = None
    try:
        found = path.stat()
    except (FileNotFoundError, NotADirectoryError) as error:
        member = _member(path, error)
        if member.size == 0:
            raise guards.empty(path) from None
        archive = member.status
        return FileStatus(member.size, archive.mtime_ns, archive.size, archive.changed_ns)
    except (OSError, ValueError) as error:
        raise guards.unreadable(path, error) from None
    guards.check_regular(path, found)
    return FileStatus(found.st_size, found.st_mtime_ns, changed_ns=found.st_ctime_ns)


def open_file(path: Path) -> BinaryIO:
    """A seekable binary file, to be closed by the caller.

    Raises:
        FileProblem: It cannot be opened. Reading a member of a damaged archive raises it too.
    """
    try:
        guards.check_regular(path, path.stat())
        return _open_regular(path)
    except (FileNotFoundError, NotADirectoryError) as error:
        return _member(path, error).open()
    except (OSError, ValueError) as error:
        raise guards.unreadable(path, error) from None


def _open_regular(path: Path) -> BinaryIO:
    """The file as it is now: what took its place since it was looked at must be one too.

    To open a pipe without O_NONBLOCK would wait for its writer for ever.
    """
    handle = os.open(path, os.O_RDONLY | _AT_ONCE)
    try:
        guards.check_regular(path, os.fstat(handle))
        return os.fdopen(handle, "rb")
    except BaseException:
        os.close(handle)
        raise


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


def _member(path: Path, error: OSError) -> Member:
    member = find_member(path)
    if member is None:
        raise guards.unreadable(path, error) from None
    return member
