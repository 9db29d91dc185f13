"""Names that are given only to what is on the disk, and files that another program has open.

A rename is kept by the system's journal; what was written into the file before it may still be in
memory, and a power cut would leave a model of the right name and size that is full of zeros.
"""

from __future__ import annotations

import errno
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

Made = TypeVar("Made")

PAUSES_S = (0.05, 0.1, 0.2, 0.4, 0.8)
"""How long a file that is in use is waited for, try by try."""

_IN_USE = (5, 32, 33)  # Windows: access denied (deleted while open), sharing, lock violation
_UNKNOWN = (errno.EINVAL, errno.ENOTSUP)  # of a file system that cannot do it


def settle(path: Path) -> None:
    """Have a file, or a folder and all that lies in it, on the disk itself.

    Raises:
        OSError: The disk fails.
    """
    if path.is_dir():
        for inner in path.iterdir():
            settle(inner)
        settle_names(path)
    else:
        # Windows writes through only what may be written to.
        _sync(os.open(path, os.O_RDWR if sys.platform == "win32" else os.O_RDONLY))


def settle_names(folder: Path) -> None:
    """Have the names in a folder on the disk; Windows keeps them by itself.

    Raises:
        OSError: The disk fails.
    """
    if sys.platform == "win32":
        return
    try:
        handle = os.open(folder, os.O_RDONLY)
    except PermissionError:
        return  # names may be given in a folder that may not be listed
    _sync(handle)


def rename(source: Path, target: Path) -> None:
    """Give a file or folder another name, in place of a file that has it.

    Raises:
        OSError: It cannot be done.
    """
    patiently(lambda: source.replace(target))


def patiently(do: Callable[[], Made]) -> Made:
    """Do something with a file, again where Windows says that another program has it open.

    A virus scanner opens what is new, another Sightline reads a record: both for a moment.

    Raises:
        OSError: It cannot be done.
    """
    for pause in PAUSES_S:
        try:
            return do()
        except OSError as error:
            if not is_in_use(error):
                raise
        time.sleep(pause)
    return do()


def is_in_use(error: OSError) -> bool:
    """Whether Windows says that a program has the file open."""
    return getattr(error, "winerror", None) in _IN_USE


def _sync(handle: int) -> None:
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in _UNKNOWN:
            raise
    finally:
        os.close(handle)
