"""The folder of the audit log: its files, their lock, and reading them."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import sys
import time
from collections.abc import Generator, Iterator
from pathlib import Path

from app.audit.lines import FILE_BYTES, Entry, decode

HEAD = "head"
_LOCK = "lock"
_SEGMENT = re.compile(r"audit-([0-9]{6,9})\.jsonl")
_BINARY = getattr(os, "O_BINARY", 0)
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)
_HELD = (errno.EACCES, errno.EAGAIN, errno.EDEADLK)
_LOCK_STEP_S = 0.002


def segment_path(folder: Path, segment: int) -> Path:
    """Where the lines of a segment are."""
    return folder / f"audit-{segment:06d}.jsonl"


def segments(folder: Path) -> list[int]:
    """The numbers of the files that are there, in order.

    Raises:
        OSError: The folder cannot be read.
    """
    try:
        names = os.listdir(folder)  # noqa: PTH208 - names alone, without a Path for each
    except FileNotFoundError:
        return []
    found = (_SEGMENT.fullmatch(name) for name in names)
    return sorted(int(match[1]) for match in found if match)


def open_head(folder: Path) -> int:
    """A handle of the head's file, made if it is not there."""
    return os.open(folder / HEAD, os.O_RDWR | os.O_CREAT | _BINARY | _NO_LINK, 0o600)


def open_segment(folder: Path, segment: int) -> int:
    """A handle of a segment's file at its end, made if it is not there."""
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | _BINARY | _NO_LINK
    return os.open(segment_path(folder, segment), flags, 0o600)


def read_head(folder: Path) -> bytes:
    """The head's file; b"" where there is none."""
    try:
        return (folder / HEAD).read_bytes()[: FILE_BYTES + 1]
    except FileNotFoundError:
        return b""


def read_at(handle: int, offset: int, count: int) -> bytes:
    """`count` bytes from `offset`, fewer at the end."""
    os.lseek(handle, offset, os.SEEK_SET)
    parts: list[bytes] = []
    while count > 0 and (part := os.read(handle, count)):
        parts.append(part)
        count -= len(part)
    return b"".join(parts)


def write_at(handle: int, offset: int, data: bytes) -> None:
    """Write `data` at `offset`."""
    os.lseek(handle, offset, os.SEEK_SET)
    write(handle, data)


def write(handle: int, data: bytes) -> None:
    """Write all of `data` where the handle stands (at the end for a segment)."""
    done = 0
    while done < len(data):
        done += os.write(handle, data[done:])


def sync_folder(folder: Path) -> None:
    """Make the names of new files safe from a power cut, where the system can."""
    if sys.platform == "win32":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextlib.contextmanager
def locked(folder: Path, wait_s: float = 5.0) -> Generator[None]:
    """Keep other programs from writing meanwhile; waits so long for one that does.

    Raises:
        OSError: It cannot be had; `TimeoutError` where another program does not let go of it.
    """
    handle = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT | _BINARY | _NO_LINK, 0o600)
    try:
        end = time.monotonic() + wait_s
        while not _lock(handle):
            if time.monotonic() > end:
                raise TimeoutError(errno.ETIMEDOUT, "another program holds the audit log")
            time.sleep(_LOCK_STEP_S)
        try:
            yield
        finally:
            _unlock(handle)
    finally:
        os.close(handle)


def _lock(handle: int) -> bool:
    try:
        if sys.platform == "win32":
            import msvcrt

            os.lseek(handle, 0, os.SEEK_SET)
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in _HELD:
            return False
        raise
    return True


def _unlock(handle: int) -> None:
    if sys.platform == "win32":
        import msvcrt

        os.lseek(handle, 0, os.SEEK_SET)
        msvcrt.locking(handle, msvcrt.LK_UNLCK, 1)
    else:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_UN)


def entries(folder: Path) -> Iterator[Entry]:
    """All that the log tells, the oldest first, unchecked; lines that are none are left out.

    Raises:
        OSError: A file cannot be read.
    """
    for segment in segments(folder):
        with segment_path(folder, segment).open("rb") as file:
            for place, line in enumerate(file, start=1):
                entry = decode(line, segment, place) if line.endswith(b"\n") else None
                if entry is not None:
                    yield entry
