"""Safe file names, and writing files that get their final name only when complete on the disk.

Without this, a power cut could leave a model with the right name and size that is full of zeros,
because file systems may store a file's new name before its data.
"""

from __future__ import annotations

import errno
import os
import re
import sys
import time
import unicodedata
from collections.abc import Callable, Iterable
from pathlib import Path, PurePosixPath
from typing import TypeVar

from app.errors import SightlineError, printable

Result = TypeVar("Result")

RETRY_PAUSES_S = (0.05, 0.1, 0.2, 0.4, 0.8)
"""Seconds to wait before each further try while another program has the file open (Windows)."""

_WINDOWS_IN_USE = (5, 32, 33)  # access denied (deleted while open), sharing and lock violation
_SYNC_UNSUPPORTED = (errno.EINVAL, errno.ENOTSUP)


def publish(partial: Path, target: Path) -> None:
    """Flush the file `partial` to the disk, then rename it to `target`, replacing that file."""
    sync(partial)
    rename(partial, target)
    sync_folder_entries(target.parent)


def sync(path: Path) -> None:
    """Flush a file, or a folder with all its content, to the disk."""
    if path.is_dir():
        for child in path.iterdir():
            sync(child)
        sync_folder_entries(path)
    else:
        # Windows flushes only files that are open for writing.
        _fsync(os.open(path, os.O_RDWR if sys.platform == "win32" else os.O_RDONLY))


def sync_folder_entries(folder: Path) -> None:
    """Flush the list of names in a folder to the disk; Windows does this by itself."""
    if sys.platform != "win32":
        _fsync(os.open(folder, os.O_RDONLY))


def rename(source: Path, target: Path) -> None:
    """Rename a file or folder, replacing any file that already has the new name."""
    retry_while_in_use(lambda: source.replace(target))


def retry_while_in_use(action: Callable[[], Result]) -> Result:
    """Return `action()`, repeated for a while if Windows reports that a file is open elsewhere.

    Virus scanners open new files for a moment, and another Sightline may be reading a record.
    """
    for pause in RETRY_PAUSES_S:
        try:
            return action()
        except OSError as error:
            if not is_in_use(error):
                raise
        time.sleep(pause)
    return action()


def is_in_use(error: OSError) -> bool:
    """Return True if Windows reports that another program has the file open."""
    return getattr(error, "winerror", None) in _WINDOWS_IN_USE


def _fsync(handle: int) -> None:
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in _SYNC_UNSUPPORTED:
            raise
    finally:
        os.close(handle)


MOST_FILES = 10_000
_LONGEST = 400
_LONGEST_PART = 200
_FORBIDDEN = re.compile(r'[\x00-\x1f\x7f\\:*?"<>|\ud800-\udfff]')
_SHA256 = re.compile(r"[0-9a-f]{64}")
_REVISION = re.compile(r"[0-9a-f]{40}")
# Device names that Windows opens whatever extension follows.
_RESERVED = re.compile(r"(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³]|conin\$|conout\$)(\..*)?", re.I)


class UnsafeFileError(SightlineError):
    """The error for files or names that might do harm; they are refused and nothing is written."""


def is_sha256(text: str) -> bool:
    """Return True if `text` is a SHA-256 digest in lower-case hexadecimal digits."""
    return _SHA256.fullmatch(text) is not None


def is_revision(text: str) -> bool:
    """Return True if `text` is the full id of a commit in a repository."""
    return _REVISION.fullmatch(text) is not None


def safe_name(raw: str) -> str:
    """Check that a path with "/" is valid on all operating systems; return it without "./".

    Raises:
        UnsafeFileError: The path leads out of its folder, or is not valid on some system.
    """
    name = raw.removeprefix("./")
    parts = name.split("/")
    wrong = (
        _FORBIDDEN.search(name)
        or len(name) > _LONGEST
        or any(part in ("", ".", "..") or len(part) > _LONGEST_PART for part in parts)
        or any(part.endswith((".", " ")) or _RESERVED.fullmatch(part) for part in parts)
    )
    if wrong:
        raise unsafe(f"it contains a file with an unusable name: {printable(raw[:120])!r}")
    return name


def check_names(names: Iterable[str]) -> None:
    """Check that files with these names can be in one folder on every operating system.

    Raises:
        UnsafeFileError: Two names would mean the same file on a system that does not distinguish
            case or Unicode forms, a name is used for both a file and a folder, or there are more
            than `MOST_FILES`.
    """
    seen: set[str] = set()
    folders: set[str] = set()
    for count, name in enumerate(names, 1):
        if count > MOST_FILES:
            raise unsafe(f"it contains more than {MOST_FILES:,} files")
        key = unicodedata.normalize("NFC", name).casefold()
        if key in seen:
            raise unsafe(f"it contains two files that are one on some systems: {printable(name)!r}")
        seen.add(key)
        folders.update(parent.as_posix() for parent in PurePosixPath(key).parents)
    if both := seen & folders:
        raise unsafe(f"it contains a file and a folder of the same name: {printable(min(both))!r}")


def unsafe(reason: str) -> UnsafeFileError:
    """Return the error with the message that files are refused for `reason`."""
    return UnsafeFileError(
        reason, remedy="Nothing was written. Get it again from a source that you trust."
    )
