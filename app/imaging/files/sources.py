"""Where bytes come from: every reader opens files through here.

A path may name a file, or a member of a zip archive as if the archive were a folder.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import tempfile
import time
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from app.imaging import guards
from app.imaging.files.archives import Member, find_member

_COPY_PREFIX = "sightline-member-"
_STALE_S = 24 * 3600
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
        return _opened(path)
    except (FileNotFoundError, NotADirectoryError) as error:
        return _member(path, error).open()
    except (OSError, ValueError) as error:
        raise guards.unreadable(path, error) from None


def _opened(path: Path) -> BinaryIO:
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


@contextlib.contextmanager
def local_file(path: Path) -> Generator[Path]:
    """A file that a library can open by its name: `path` itself, or a copy of an archive's member.

    The copy lies in a folder that only this user may read, and is removed at the end. What a killed
    process left behind is removed when the next copy is made a day later.

    Raises:
        FileProblem: It cannot be read, or there is no room for the copy.
    """
    if status(path).archive_size == 0:
        yield path
        return
    _remove_stale()
    try:
        folder = Path(tempfile.mkdtemp(prefix=_COPY_PREFIX))
    except OSError as error:
        raise guards.unreadable(path, error) from None
    try:
        # Libraries tell formats by the name's end, of which ".nii.gz" has two parts.
        ending = re.sub(r"[^A-Za-z0-9.]", "", "".join(path.suffixes[-2:]))[-32:]
        copy = folder / f"member{ending}"
        try:
            with open_file(path) as source, copy.open("xb") as target:
                shutil.copyfileobj(source, target)
        except OSError as error:
            raise guards.unreadable(path, error) from None
        yield copy
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _remove_stale() -> None:
    with contextlib.suppress(OSError):
        for folder in Path(tempfile.gettempdir()).glob(f"{_COPY_PREFIX}*"):
            with contextlib.suppress(OSError):
                if time.time() - folder.lstat().st_mtime > _STALE_S:
                    shutil.rmtree(folder, ignore_errors=True)


def _member(path: Path, error: OSError) -> Member:
    member = find_member(path)
    if member is None:
        raise guards.unreadable(path, error) from None
    return member
