"""The index of opened folders, so that a folder opens at once the second time.

A folder in the user's own cache with one file for each set of opened paths: the whole result of
opening them (`Snapshot`), for as long as nothing behind them changes. It holds headers, patients'
names included, never pixels; it never leaves the machine, only this user may read it, and
SIGHTLINE_NO_INDEX=1 keeps it from being used (`app.paths.index_folder`).

It is a cache: every failure is logged and the scan goes on without it; a damaged file is deleted.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import shutil
import sys
from collections.abc import Generator, Sequence
from functools import lru_cache
from importlib import metadata
from pathlib import Path

from app import __version__
from app.imaging.scanning.snapshots import Snapshot
from app.imaging.studies.instance_table import TableError
from app.settings import write_atomic

READER_VERSION = 1
"""Raise it when headers are read differently though no file of app/imaging has changed."""

MAX_SNAPSHOTS = 100
"""Results that are remembered; the least recently opened go first."""
MAX_BYTES = 2**28
"""Bytes of all that is remembered, about ten million images."""

_log = logging.getLogger(__name__)


class Index:
    """The remembered results. Not thread-safe; a broken index never causes an error.

    Results that another version of the readers has stored are deleted.
    """

    def __init__(self, folder: Path, version: str | None = None) -> None:
        self._folder = folder / _digest(version or reader_version())
        with _logged():
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            for other in folder.iterdir():
                if other != self._folder:
                    shutil.rmtree(other, ignore_errors=True)

    def snapshot(self, roots: Sequence[Path]) -> Snapshot | None:
        """Return the remembered result of opening these paths, or None.

        It is valid only while the mark of the files behind the paths equals `Snapshot.mark`.
        """
        file = self._file(roots)
        with _logged(), contextlib.suppress(FileNotFoundError):
            try:
                found = Snapshot.from_bytes(file.read_bytes())
                os.utime(file)
                return found
            except TableError:
                _log.warning("a damaged file of the index of opened files is deleted")
                file.unlink()
        return None

    def store(self, roots: Sequence[Path], snapshot: Snapshot | None) -> None:
        """Store the result of opening these paths, or delete it if `snapshot` is None."""
        file = self._file(roots)
        with _logged():
            file.unlink(missing_ok=True)  # also if nothing is stored: it no longer holds
            if snapshot is not None:
                write_atomic(file, snapshot.to_bytes())
                self._forget_oldest()

    def _file(self, roots: Sequence[Path]) -> Path:
        return self._folder / _digest("\0".join(map(str, roots)))

    def _forget_oldest(self) -> None:
        states = {file: file.stat() for file in self._folder.iterdir()}
        total = 0
        newest = sorted(states, key=lambda file: states[file].st_mtime_ns, reverse=True)
        for place, file in enumerate(newest):
            total += states[file].st_size
            if place >= MAX_SNAPSHOTS or (place and total > MAX_BYTES):
                file.unlink(missing_ok=True)


@contextlib.contextmanager
def _logged() -> Generator[None]:
    try:
        yield
    except OSError as error:
        what = type(error).__name__
        _log.warning("the index of opened files is not usable (%s): going on without it", what)


@lru_cache(maxsize=1)
def reader_version() -> str:
    """Return a text that changes with the app, pydicom and every source file of app/imaging."""
    digest = hashlib.sha256()
    sources = sorted(Path(__file__).parent.parent.rglob("*.py"))
    if not sources:  # a frozen app has no sources, and is replaced as a whole
        frozen = Path(sys.executable).stat()
        digest.update(f"{frozen.st_size} {frozen.st_mtime_ns}".encode())
    for source in sources:
        digest.update(source.read_bytes())
    with contextlib.suppress(metadata.PackageNotFoundError):
        digest.update(metadata.version("pydicom").encode())
    return f"{READER_VERSION}/{__version__}/{digest.hexdigest()}"


def _digest(text: str) -> str:
    return hashlib.sha256(os.fsencode(text)).hexdigest()
