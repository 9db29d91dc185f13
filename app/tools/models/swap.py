"""Putting staged models in place of what is there, and clearing up after what was killed.

What was there is moved aside into a hidden folder, and deleted once everything new is in place; so
it can be moved back, by the same program or by the next one.
"""

from __future__ import annotations

import contextlib
import shutil
import threading
from collections.abc import Iterable
from pathlib import Path

from app.tools.models.places import Place
from app.tools.models.records import RECORD

STAGING = ".incoming-"
_ASIDE = ".replaced-"
_REMOVED = ".removed-"
_swapping = threading.Lock()  # what is moved aside for a moment must not be taken for left behind


def swap(staged: Iterable[tuple[Place, Path]]) -> None:
    """Put staged models in place of what is there: all, or none.

    Args:
        staged: Each model's place, and the folder with its files and record.

    Raises:
        OSError: It cannot be done; what was there is in place again.
    """
    with _swapping:
        begun: list[Place] = []
        cleared: list[Place] = []
        try:
            for place, folder in staged:
                _forget(_aside(place))
                begun.append(place)
                _move_aside(place)
                cleared.append(place)
                _put(place, folder)
        except OSError:
            for place in begun:
                with contextlib.suppress(OSError):
                    if place in cleared:  # what is there now is new
                        _delete(place)
                    _take_back(place)
            raise
        for place in begun:
            _forget(_aside(place))


def recover(places: Iterable[Place]) -> None:
    """Put back what an installation that was cut off had moved aside."""
    for place in places:
        with _swapping, contextlib.suppress(OSError):
            gone = not place.base.exists() if place.card.folder else bool(place.missing())
            if gone and _aside(place).is_dir():
                _take_back(place)


def is_aside(place: Place) -> bool:
    """Whether something of a model was moved aside, and has not come back yet."""
    return _aside(place).is_dir()


def forget_aside(place: Place) -> None:
    """Delete what was moved aside for a model that is in place."""
    with _swapping:
        if is_aside(place) and not place.missing():
            _forget(_aside(place))


def sweep(models: Path, before: float) -> None:
    """Delete what installations left behind that were killed.

    Args:
        models: The models folder.
        before: Seconds since 1970: what was begun later may be under way in another program.
    """
    for pattern in (f"{STAGING}*", f"{_REMOVED}*"):
        for folder in models.glob(pattern):
            with contextlib.suppress(OSError):
                if folder.stat().st_mtime < before:
                    shutil.rmtree(folder, ignore_errors=True)


def delete(place: Place) -> None:
    """Delete a model's files.

    Raises:
        OSError: Something stays.
    """
    if not place.card.folder:
        for path in _owned(place):
            path.unlink()
    elif place.base.is_symlink():
        place.base.unlink()  # what it leads to is not ours to delete
    elif place.base.exists():
        # Out of the way first: a folder that is half deleted must not look like a model.
        trash = place.models / f"{_REMOVED}{place.card.name}"
        _forget(trash)
        place.base.rename(trash)
        shutil.rmtree(trash)


def _aside(place: Place) -> Path:
    return place.models / f"{_ASIDE}{place.card.name}"


def _owned(place: Place) -> list[Path]:
    """What of the models folder is this model's."""
    if place.card.folder:
        return [place.base] if place.base.is_symlink() or place.base.exists() else []
    names = [name for file in place.file_names for name in (file, f"{file}.{RECORD}")]
    paths = [place.base / name for name in names]
    return [path for path in paths if path.is_symlink() or path.exists()]


def _move_aside(place: Place) -> None:
    aside = _aside(place)
    for path in _owned(place):
        aside.mkdir(exist_ok=True)
        path.rename(aside / path.name)


def _put(place: Place, folder: Path) -> None:
    if place.card.folder:
        folder.rename(place.base)
        return
    name = next(path.name for path in folder.iterdir() if path.name != RECORD)
    (folder / name).rename(place.base / name)
    (folder / RECORD).rename(place.base / f"{name}.{RECORD}")


def _delete(place: Place) -> None:
    for path in _owned(place):
        if place.card.folder and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()


def _take_back(place: Place) -> None:
    aside = _aside(place)
    if aside.is_dir():
        for path in list(aside.iterdir()):
            path.rename(place.models / path.name)
        aside.rmdir()


def _forget(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
