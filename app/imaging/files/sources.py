"""Open files and members of zip archives; every reader of files uses this module.

A path may name a file, or a member of a zip archive as if the archive were a folder.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from app.imaging import guards
from app.imaging.files.archives import Member, find_member

_AT_ONCE: int = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


@dataclass(frozen=True, slots=True)
class FileStatus:
    """State of a file, used to notice that the file has changed.

    Attributes:
        mtime_ns: Modification time in ns; for a member of an archive, that of the archive.
        archive_size: Size in bytes of the archive if the file is a member of one, else 0.
        changed_ns: Time of the last change to content or metadata (ctime) in ns; for a member, that
            of the archive. Unlike `mtime_ns`, it cannot be set back, so it changes even if a file
            is replaced by one of equal size and modification time, as by unpacking a second export
            over the first. (On Windows, this is the creation time.)
    """

    size: int
    mtime_ns: int
    archive_size: int = 0
    changed_ns: int = 0

    @property
    def stamp(self) -> list[int]:
        """[size, `mtime_ns`, `archive_size` + `changed_ns`], which the scan index compares."""
        return [self.size, self.mtime_ns, self.archive_size + self.changed_ns]


def status(path: Path) -> FileStatus:
    """Return the state of a regular file or a member of an archive.

    Raises:
        FileProblem: The file is missing, empty, not readable, or a folder or device.
    """
    member = None
    try:
        found = path.stat()
    # A path into an archive: its parent is a file, not a folder.
    except (FileNotFoundError, NotADirectoryError) as error:
        member = _member(path, error)
        if member.size == 0:
            raise guards.empty_file(path) from None
        archive = member.status
        return FileStatus(member.size, archive.mtime_ns, archive.size, archive.changed_ns)
    except (OSError, ValueError) as error:
        raise guards.unreadable_file(path, error) from None
    guards.check_regular(path, found)
    return FileStatus(found.st_size, found.st_mtime_ns, changed_ns=found.st_ctime_ns)


def open_file(path: Path) -> BinaryIO:
    """Open a file or archive member as a seekable binary file, to be closed by the caller.

    Raises:
        FileProblem: The file cannot be opened. Reading from a member of a damaged archive also
            raises this.
    """
    try:
        guards.check_regular(path, path.stat())
        return _open_regular(path)
    except (FileNotFoundError, NotADirectoryError) as error:
        return _member(path, error).open()
    except (OSError, ValueError) as error:
        raise guards.unreadable_file(path, error) from None


def _open_regular(path: Path) -> BinaryIO:
    """Open a file and check it again for a swap; without O_NONBLOCK a pipe would block."""
    handle = os.open(path, os.O_RDONLY | _AT_ONCE)
    try:
        guards.check_regular(path, os.fstat(handle))
        return os.fdopen(handle, "rb")
    except BaseException:
        os.close(handle)
        raise


def read_start(path: Path, size: int = 512) -> bytes:
    """Return the first `size` bytes of a file, which show its format, or raise FileProblem."""
    with open_file(path) as file:
        try:
            return file.read(size)
        except OSError as error:
            raise guards.unreadable_file(path, error) from None


def _member(path: Path, error: OSError) -> Member:
    member = find_member(path)
    if member is None:
        raise guards.unreadable_file(path, error) from None
    return member


class OneEntryCache:
    """Cache of one value, which is dropped before the next one is made, to save memory.

    Not thread-safe: a worker process runs one call at a time.
    """

    def __init__(self) -> None:
        self._key: object = None
        self._value: Any = None

    def get(self, key: object, make: Callable[[], Any]) -> Any:
        """Return the cached value if its key is `key`; otherwise cache and return `make()`."""
        if key != self._key:
            self.clear()
            self._value = make()
            self._key = key
        return self._value

    def clear(self) -> None:
        """Drop the cached value."""
        self._key = self._value = None
