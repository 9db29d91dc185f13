"""Give a file its final name only once its content is on the disk.

File systems journal a rename, but the data written before it may still be in memory: a power cut
could leave a model with the right name and size that is full of zeros.
"""

from __future__ import annotations

import errno
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

Result = TypeVar("Result")

RETRY_PAUSES_S = (0.05, 0.1, 0.2, 0.4, 0.8)
"""Seconds to wait before each further try while another program has the file open (Windows)."""

_WINDOWS_IN_USE = (5, 32, 33)  # access denied (deleted while open), sharing and lock violation
_SYNC_UNSUPPORTED = (errno.EINVAL, errno.ENOTSUP)


def publish(partial: Path, target: Path) -> None:
    """Flush `partial` to the disk and rename it to `target`, replacing any file with that name."""
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
