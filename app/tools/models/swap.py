"""Putting staged models in place of what is there, and clearing up after what was killed.

What was there is moved aside into a hidden folder, and deleted once everything new is in place; so
it can be moved back, by the same program or by the next one.

At each instant a model is whole, as it was or as it will be, or it is missing while something of
it is aside: of a model of one file the record comes before its file and goes after it, and of two
files of which one is used the other one goes first. `looking` rests on that.
"""

from __future__ import annotations

import contextlib
import math
import shutil
import threading
from collections.abc import Iterable
from pathlib import Path

from app.tools.models.durable import patiently, rename, settle, settle_names
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
    staged = list(staged)
    for _, folder in staged:
        settle(folder)
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
            for models in {place.models for place in begun}:
                settle_names(models)  # before what was there is deleted
        except OSError:
            for place in begun:
                with contextlib.suppress(OSError):
                    if place in cleared:  # what is there now is new
                        delete(place)
                    _take_back(place)
            raise
        for place in begun:
            _forget(_aside(place))


def recover(places: Iterable[Place], before: float = math.inf) -> None:
    """Put back what an installation that was cut off had moved aside.

    Args:
        places: Of the models.
        before: Seconds since 1970: what was moved later may be under way in another program.
    """
    for place in places:
        with _swapping, contextlib.suppress(OSError):
            gone = not place.base.exists() if place.card.folder else bool(place.missing())
            aside = _aside(place)
            if gone and aside.is_dir() and aside.stat().st_mtime < before:
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
            patiently(path.unlink)
    elif place.base.is_symlink():
        place.base.unlink()  # what it leads to is not ours to delete
    elif place.base.exists():
        # Out of the way first: a folder that is half deleted must not look like a model.
        trash = place.models / f"{_REMOVED}{place.card.name}"
        _forget(trash)
        rename(place.base, trash)
        shutil.rmtree(trash)


def _aside(place: Place) -> Path:
    return place.models / f"{_ASIDE}{place.card.name}"


def _owned(place: Place) -> list[Path]:
    """What of the models folder is this model's, in the order in which it can go."""
    if place.card.folder:
        return [place.base] if place.base.is_symlink() or place.base.exists() else []
    names = [name for file in reversed(place.file_names) for name in (file, f"{file}.{RECORD}")]
    paths = [place.base / name for name in names]
    return [path for path in paths if path.is_symlink() or path.exists()]


def _move_aside(place: Place) -> None:
    aside = _aside(place)
    for path in _owned(place):
        aside.mkdir(exist_ok=True)
        rename(path, aside / path.name)


def _put(place: Place, folder: Path) -> None:
    if place.card.folder:
        rename(folder, place.base)
        return
    name = next(path.name for path in folder.iterdir() if path.name != RECORD)
    rename(folder / RECORD, place.base / f"{name}.{RECORD}")
    rename(folder / name, place.base / name)


def _take_back(place: Place) -> None:
    aside = _aside(place)
    if aside.is_dir():
        order = [f"{name}.{RECORD}" for name in place.file_names] + list(place.file_names)
        for path in sorted(aside.iterdir(), key=lambda path: _index(order, path.name)):
            rename(path, place.models / path.name)
        aside.rmdir()


def _forget(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)


def _index(order: list[str], name: str) -> int:
    return order.index(name) if name in order else len(order)
