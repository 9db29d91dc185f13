"""The user's small files: read without waiting on a pipe, written atomically, locked, set aside."""

from __future__ import annotations

import errno
import glob
import json
import logging
import os
import stat
import tempfile
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, Generic, TypeVar

_log = logging.getLogger(__name__)

LARGEST = 2**22  # bytes of a file that the user's settings are read from


def set_aside(path: Path, what: str) -> str:
    """Rename a file that cannot be used, and return a notice for the user about `what` was in it.

    Whatever is in the file's place is renamed: a folder, a pipe or a link as well.
    """
    ending = "could not be read: the defaults are used"
    for number in range(1, 10):
        aside = path.with_name(f"{path.name}.broken{'' if number == 1 else number}")
        try:
            path.replace(aside)
        except OSError:
            continue  # what is there already cannot be replaced, such as a folder
        return f"{what} {ending}. The old file is kept as {aside.name}."
    _log.warning("%s could not be moved aside", path.name)
    return f"{what} {ending}. The file {path.name} could not be moved aside."


_LOCK_S = 2.0


@contextmanager
def locked(path: Path) -> Generator[None]:
    """Keep other programs from changing a file; where a lock cannot be had, go on without."""
    from filelock import FileLock

    lock = FileLock(path.with_suffix(".lock"), timeout=_LOCK_S)
    try:
        lock.acquire()
    except OSError as error:
        _log.warning("%s is changed without a lock: %s", path.name, type(error).__name__)
    try:
        yield
    finally:
        lock.release()


Content = TypeVar("Content")


_UNUSABLE = (
    *(OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError),
    OverflowError,  # a whole number beyond every float
)


class UserFile(Generic[Content]):
    """A small JSON file of the user's, which several programs may change at the same time.

    Args:
        path: The file; None to keep the content in memory only.
        what: What is in it, to begin a sentence: "Your keyboard shortcuts".
        empty: The content if there is no file.
        parse: Returns the content from what the JSON says; raises ValueError, KeyError, TypeError
            or AttributeError if that is not what it should be.
        dump: Returns what JSON is to say of the content.

    Attributes:
        problem: A sentence for the user after a broken file was set aside; else "".
    """

    def __init__(
        self,
        path: Path | None,
        what: str,
        empty: Content,
        parse: Callable[[Any], Content],
        dump: Callable[[Content], Any],
    ) -> None:
        self.path = path
        self.problem = ""
        self._what = what
        self._empty = self._memory = empty
        self._parse = parse
        self._dump = dump

    def read(self) -> Content:
        """Return the content; a file that cannot be used is set aside and counts as missing."""
        if self.path is None:
            return self._memory
        try:
            return self._parse(json.loads(read_regular(self.path, LARGEST).decode("utf-8-sig")))
        except FileNotFoundError:
            return self._empty
        except _UNUSABLE as error:
            _log.warning("%s is unreadable: %s", self.path.name, type(error).__name__)
            self.problem = set_aside(self.path, self._what)
            return self._empty

    def change(self, change: Callable[[Content], Content]) -> Content:
        """Replace the content by what `change` returns for the present one, and return that.

        Raises:
            OSError: The file cannot be written.
        """
        if self.path is None:
            self._memory = change(self._memory)
            return self._memory
        with locked(self.path):
            content = change(self.read())
            write_atomic(self.path, json.dumps(self._dump(content), indent=1).encode("utf-8"))
        return content


def open_regular(path: Path, *, append: bool = False) -> BinaryIO:
    """Open a file for reading, or for appending; a new file is accessible to this user only.

    Raises:
        OSError: It cannot be opened, or is a pipe, where opening could wait for ever.
    """
    quick: int = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    way = os.O_WRONLY | os.O_CREAT | os.O_APPEND if append else os.O_RDONLY
    handle = os.open(path, way | quick, 0o600)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(errno.EINVAL, "it is not a regular file", str(path))
    return os.fdopen(handle, "ab" if append else "rb")


def read_regular(path: Path, most: int = -1) -> bytes:
    """Return a file's content.

    Raises:
        OSError: It cannot be read, is a pipe, or has more than `most` bytes, if that is not -1.
    """
    with open_regular(path) as stream:
        data = stream.read(most if most < 0 else most + 1)
    if 0 <= most < len(data):
        raise OSError(errno.EFBIG, "it is too large", str(path))
    return data


_LEFT_S = 60.0


def write_atomic(path: Path, data: bytes) -> None:
    """Write `data` to a temporary file and rename that to `path`, which is never half written.

    Temporary files of the same path that a kill has left, over a minute ago, are removed.
    """
    for left in path.parent.glob(f".{glob.escape(path.name)}.*"):
        with suppress(OSError):
            if time.time() - left.stat().st_mtime > _LEFT_S:
                left.unlink()
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
