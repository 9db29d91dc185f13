"""The files and folders that were opened last, kept in the user's settings folder."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

from app.log import get_logger
from app.settings import read_regular, write_atomic

MOST = 12
_MOST_PATHS = 50  # of one opening; more are a drop of single files, which nobody seeks again
_LOCK_S = 2.0
_LARGEST = 2**20  # bytes of the file

_log = get_logger(__name__)

Opening = tuple[Path, ...]
"""Files and folders that were opened together."""


class RecentOpenings:
    """The last openings, the latest first; programs that run beside each other share them.

    They are kept only once the user has asked for it, since folders are often named after patients.

    Args:
        file: The JSON file that keeps them, readable by this user only; None to keep none.
    """

    def __init__(self, file: Path | None) -> None:
        self._file = file

    @property
    def kept(self) -> bool:
        """Whether openings are kept on this computer."""
        return self._file is not None and self._file.exists()

    def keep(self, on: bool) -> None:
        """Keep openings from now on, or no longer, and forget those that were kept."""
        if self._file is None:
            return
        if on:
            self._change(lambda known: known)
            return
        try:
            for file in (self._file, self._file.with_name(self._file.name + ".broken")):
                file.unlink(missing_ok=True)
        except OSError as error:
            _log.warning("the recent openings cannot be removed: %s", type(error).__name__)

    def all(self) -> list[Opening]:
        """Return the openings, the latest first; what they name may be gone by now."""
        return self._read()

    def add(self, paths: Sequence[Path]) -> None:
        """Put an opening first, if they are kept; a file that cannot be written is only logged."""
        if not self.kept or not 0 < len(paths) <= _MOST_PATHS:
            return
        opened = tuple(path.absolute() for path in paths)
        self._change(lambda known: [opened, *(one for one in known if one != opened)][:MOST])

    def _change(self, change: Any) -> None:
        if self._file is None:
            return
        from filelock import FileLock, Timeout

        try:
            with FileLock(self._file.with_suffix(".lock"), timeout=_LOCK_S):
                rows = [[str(path) for path in one] for one in change(self._read())]
                write_atomic(self._file, json.dumps({"version": 1, "openings": rows}).encode())
        except (OSError, Timeout) as error:
            _log.warning("the recent openings cannot be kept: %s", type(error).__name__)

    def _read(self) -> list[Opening]:
        """Return what the file says; a broken one is set aside and counts as empty."""
        if self._file is None:
            return []
        try:
            if self._file.stat().st_size > _LARGEST:
                raise ValueError("too large")
            data: Any = json.loads(read_regular(self._file).decode("utf-8"))
            rows = cast("list[list[str]]", data["openings"])
            return [tuple(Path(path) for path in row) for row in rows if row][:MOST]
        except FileNotFoundError:
            return []
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
            _log.warning("the list of recent openings is unreadable: %s", type(error).__name__)
            try:
                self._file.replace(self._file.with_name(self._file.name + ".broken"))
                write_atomic(self._file, b'{"version": 1, "openings": []}')  # still wanted
            except OSError:
                _log.warning("it could not be set aside")
            return []


def opening_text(opening: Opening) -> str:
    """Return an opening for a menu: the name of its file or folder, and how many more."""
    first = opening[0].name or str(opening[0])
    return f"{first} and {len(opening) - 1} more" if len(opening) > 1 else first
