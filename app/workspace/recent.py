"""The files and folders that were opened last, kept in the user's settings folder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

from app.log import get_logger
from app.user_files import UserFile

MOST = 12
_MOST_PATHS = 50  # of one opening; more are a drop of single files, which nobody seeks again
_MOST_SHOWN = 64  # paths and viewports of a session

_log = get_logger(__name__)

Opening = tuple[Path, ...]
"""Files and folders that were opened together."""


@dataclass(frozen=True, slots=True)
class Session:
    """What was open when the program was closed.

    Attributes:
        paths: The files and folders, in the order in which they were opened.
        slots: Where each viewport stood: (x, y, width, height) in shares of the window.
        shown: SOP Instance UID of the image in each viewport; "" for none.
        records: The files and folders of patients' records; whose is shown is not kept.
    """

    paths: Opening = ()
    slots: tuple[tuple[float, float, float, float], ...] = ()
    shown: tuple[str, ...] = ()
    records: Opening = ()


@dataclass(frozen=True, slots=True)
class _Kept:
    openings: tuple[Opening, ...] = ()
    session: Session | None = None


class RecentOpenings:
    """The last openings, the latest first; programs that run beside each other share them.

    They are kept only once the user has asked for it, since folders are often named after patients.

    Args:
        file: The JSON file that keeps them, readable by this user only; None to keep none.
    """

    def __init__(self, file: Path | None) -> None:
        self._file = file
        self._store = UserFile(file, "The list of recent openings", _Kept(), _parse, _dump)

    @property
    def kept(self) -> bool:
        """Whether openings are kept on this computer."""
        return self._file is not None and self._file.exists()

    @property
    def problem(self) -> str:
        """A sentence for the user after a broken list was set aside; else ""."""
        return self._store.problem

    def keep(self, on: bool) -> None:
        """Keep openings from now on, or no longer, and forget those that were kept."""
        if self._file is None:
            return
        if on:
            self._change(lambda known: known)
            return
        broken = self._file.parent.glob(f"{self._file.name}.broken*")
        for file in (self._file, *broken):
            try:
                file.unlink(missing_ok=True)
            except OSError as error:
                _log.warning("the recent openings cannot be removed: %s", type(error).__name__)

    def all(self) -> list[Opening]:
        """Return the openings, the latest first; what they name may be gone by now."""
        return list(self._read().openings)

    @property
    def session(self) -> Session | None:
        """The last session, if one was kept."""
        return self._read().session

    def add(self, paths: Sequence[Path]) -> None:
        """Put an opening first, if they are kept; a file that cannot be written is only logged."""
        if not self.kept or not 0 < len(paths) <= _MOST_PATHS:
            return
        opened = tuple(path.absolute() for path in paths)

        def put(known: _Kept) -> _Kept:
            others = (one for one in known.openings if one != opened)
            return replace(known, openings=(opened, *others)[:MOST])

        self._change(put)

    def keep_session(self, session: Session) -> None:
        """Keep a session with something open, if kept; too large ones leave none."""
        places = (*session.paths, *session.records)
        if not self.kept or not places:
            return
        if len(places) > _MOST_SHOWN:
            self._change(lambda known: replace(known, session=None))
        else:
            whole = replace(
                session,
                paths=tuple(path.absolute() for path in session.paths),
                records=tuple(path.absolute() for path in session.records),
            )
            self._change(lambda known: replace(known, session=whole))

    def _change(self, change: Callable[[_Kept], _Kept]) -> None:
        if self._file is None:
            return
        try:
            self._store.change(change)
        except OSError as error:
            _log.warning("the recent openings cannot be kept: %s", type(error).__name__)

    def _read(self) -> _Kept:
        if self._file is None:
            return _Kept()
        wanted = self.kept
        self._store.problem, before = "", self._store.problem
        found = self._store.read()
        set_aside = bool(self._store.problem)
        self._store.problem = self._store.problem or before
        if set_aside and wanted:
            self._change(lambda known: known)  # they are still to be kept
        return found


def _parse(data: Any) -> _Kept:
    rows = cast("list[list[str]]", data["openings"])
    openings = tuple(tuple(Path(path) for path in row) for row in rows if row)
    said = data.get("session")
    if said is None:
        return _Kept(openings[:MOST])
    paths = tuple(Path(path) for path in said["paths"])
    slots = tuple(_slot(one) for one in said["slots"])
    shown = tuple(str(uid) for uid in said["shown"])
    records = tuple(Path(path) for path in said.get("records", ()))
    if len(slots) != len(shown) or max(len(slots), len(paths) + len(records)) > _MOST_SHOWN:
        raise ValueError("a session with as many images as viewports")
    is_open = (paths and slots) or records
    return _Kept(openings[:MOST], Session(paths, slots, shown, records) if is_open else None)


def _slot(data: Any) -> tuple[float, float, float, float]:
    x, y, width, height = (float(one) for one in data)
    inside = min(x, y) >= 0 and x + width <= 1 + 1e-6 and y + height <= 1 + 1e-6
    if not (inside and min(width, height) > 0):
        raise ValueError("a viewport lies outside the window")
    return x, y, width, height


def _dump(kept: _Kept) -> Any:
    data: dict[str, Any] = {"version": 1}
    data["openings"] = [[str(path) for path in one] for one in kept.openings]
    if kept.session is not None:
        data["session"] = {
            "paths": [str(path) for path in kept.session.paths],
            "slots": [list(one) for one in kept.session.slots],
            "shown": list(kept.session.shown),
            "records": [str(path) for path in kept.session.records],
        }
    return data
