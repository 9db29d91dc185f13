"""Changes the models folder: by one program at a time, and each model replaced as a whole.

A model's old files are first moved into a hidden folder, then the new files get the old ones'
place, and only then are the old ones deleted. If the program is killed in between, `recover` moves
them back. Readers take no lock: the model process compares files before and after loading instead.
"""

from __future__ import annotations

import contextlib
import shutil
import threading
from collections.abc import Generator, Iterable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from app.errors import SightlineError
from app.tools.models.durable_files import rename, retry_while_in_use, sync, sync_folder_entries
from app.tools.models.places import ModelPaths
from app.tools.models.records import RECORD

if TYPE_CHECKING:
    from filelock import BaseFileLock

LOCK = ".changing"
STAGING = ".incoming-"
_ASIDE = ".replaced-"
_REMOVED = ".removed-"
_LOCK_TIMEOUT_S = 0.2  # `recover` holds the lock for an instant only


class ChangeLock:
    """A lock on a models folder: only the program and thread that hold it may change the folder.

    The operating system releases the lock when the program that holds it ends in any way.
    """

    def __init__(self, models: Path) -> None:
        self._models = models
        self._threads = threading.RLock()

    @cached_property
    def _programs(self) -> BaseFileLock:
        from filelock import FileLock  # at the first change: its import takes 30 ms

        return FileLock(self._models / LOCK, thread_local=False)

    @contextlib.contextmanager
    def held(self) -> Generator[None]:
        """Hold the lock during the `with` block; wait if another thread of this program has it.

        Raises:
            SightlineError: Another program holds the lock.
        """
        with self._threads:
            if not self._acquire(_LOCK_TIMEOUT_S):
                raise SightlineError(
                    "another Sightline is installing, fetching, packing or removing a model",
                    subject=str(self._models),
                    remedy="Wait until it is done there, or cancel it; then try again.",
                )
            try:
                yield
            finally:
                self._release()

    @contextlib.contextmanager
    def held_if_free(self) -> Generator[bool]:
        """Take the lock for the `with` block if it is free; yield True if it was taken."""
        if not self._threads.acquire(blocking=False):
            yield False
            return
        try:
            held = self._acquire(0.0)
            try:
                yield held
            finally:
                if held:
                    self._release()
        finally:
            self._threads.release()

    def _acquire(self, timeout_s: float) -> bool:
        try:
            self._models.mkdir(parents=True, exist_ok=True)
            self._programs.acquire(timeout=timeout_s, poll_interval=0.02)
        except TimeoutError:  # filelock's Timeout is one
            return False
        except (OSError, NotImplementedError):
            pass  # a folder that takes no lock: the change itself reports why it fails
        return True

    def _release(self) -> None:
        if self._programs.lock_counter == 1:
            with contextlib.suppress(OSError):  # Windows deletes it when it is closed
                (self._models / LOCK).unlink()  # a waiting program sees that it is gone
        self._programs.release()


def swap(staged: Iterable[tuple[ModelPaths, Path]]) -> None:
    """Replace installed models by new ones, in pairs (place, new folder): all of them, or none.

    Raises:
        OSError: A file cannot be moved; the models installed before are in place again.
    """
    staged = list(staged)
    for place, folder in staged:
        _share(folder, place.models)
        sync(folder)
    begun: list[ModelPaths] = []
    cleared: list[ModelPaths] = []
    try:
        for place, folder in staged:
            shutil.rmtree(_aside(place), ignore_errors=True)
            begun.append(place)
            _move_aside(place)
            cleared.append(place)
            _move_in(place, folder)
        for models in {place.models for place in begun}:
            sync_folder_entries(models)  # before the replaced files are deleted
    except OSError:
        for place in begun:
            with contextlib.suppress(OSError):
                if place in cleared:  # what has its name now is new
                    delete(place)
                _move_back(place)
        raise
    for place in begun:
        shutil.rmtree(_aside(place), ignore_errors=True)


def _share(folder: Path, models: Path) -> None:
    """Give staged files to those who may read the models folder: several users may share it."""
    others = models.stat().st_mode & 0o055
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o700 | others if path.is_dir() else 0o600 | (others & 0o044))


def recover(place: ModelPaths) -> None:
    """Restore a model's files if replacing them was interrupted. Call with the lock held."""
    gone = not place.base.exists() if place.card.folder else bool(place.missing())
    if gone:
        with contextlib.suppress(OSError):
            _move_back(place)


def is_aside(place: ModelPaths) -> bool:
    """Return True if old files of a model are in the hidden folder that `swap` moves them to."""
    return _aside(place).is_dir()


def sweep(models: Path, places: Iterable[ModelPaths]) -> None:
    """Undo what killed installations left in the folder `models`. Call with the lock held."""
    for pattern in (f"{STAGING}*", f"{_REMOVED}*"):
        for folder in models.glob(pattern):
            shutil.rmtree(folder, ignore_errors=True)
    for place in places:
        recover(place)
        if not place.missing():
            shutil.rmtree(_aside(place), ignore_errors=True)


def delete(place: ModelPaths) -> None:
    """Delete a model's files and its record; if its folder is a symbolic link, only the link."""
    if not place.card.folder:
        for path in _owned_paths(place):
            retry_while_in_use(path.unlink)
    elif place.base.is_symlink():
        place.base.unlink()  # the folder that it links to was not made by Sightline
    elif place.base.exists():
        # Renamed first: a half-deleted folder must not look like a model.
        trash = place.models / f"{_REMOVED}{place.card.name}"
        shutil.rmtree(trash, ignore_errors=True)
        rename(place.base, trash)
        shutil.rmtree(trash)


def _aside(place: ModelPaths) -> Path:
    return place.models / f"{_ASIDE}{place.card.name}"


def _owned_paths(place: ModelPaths) -> list[Path]:
    """Return the model's paths, the conversion first: it must not outlive the published file."""
    if place.card.folder:
        names = [place.card.name]
    else:
        names = [name for file in reversed(place.file_names) for name in (file, f"{file}.{RECORD}")]
    paths = [place.models / name for name in names]
    return [path for path in paths if path.is_symlink() or path.exists()]


def _move_aside(place: ModelPaths) -> None:
    aside = _aside(place)
    for path in _owned_paths(place):
        aside.mkdir(exist_ok=True)
        rename(path, aside / path.name)


def _move_in(place: ModelPaths, folder: Path) -> None:
    if place.card.folder:
        rename(folder, place.base)
        return
    name = next(path.name for path in folder.iterdir() if path.name != RECORD)
    rename(folder / RECORD, place.base / f"{name}.{RECORD}")
    rename(folder / name, place.base / name)


def _move_back(place: ModelPaths) -> None:
    """Move back what was moved aside, records first: a model is seen again with its file."""
    aside = _aside(place)
    if aside.is_dir():
        for path in sorted(aside.iterdir(), key=lambda path: not path.name.endswith(RECORD)):
            rename(path, place.models / path.name)
        aside.rmdir()
