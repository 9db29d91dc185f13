"""How images are shown here: smooth or sharp, how large a screen's pixels are, snapping."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, cast

from app.log import get_logger
from app.user_files import UserFile
from app.workspace.signals import Signal

PIXEL_MM = (0.02, 2.0)
"""Least and largest width in mm of a screen's pixel that can be true."""

_MOST_SCREENS = 50

_log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class _Kept:
    smooth: bool = True
    snap: bool = False
    screens: Mapping[str, float] = field(default_factory=dict[str, float])


class DisplaySettings:
    """The settings of the display, kept in a JSON file; programs that run together share it.

    Args:
        file: The file; None to keep them in memory only.

    Attributes:
        smooth: Whether enlarged pixels are interpolated.
        snap: Whether points that are placed or dragged snap to edges.
        problem: A sentence for the user if the file could not be used; else "".
    """

    def __init__(self, file: Path | None = None) -> None:
        self._file = UserFile(file, "The settings of the display", _Kept(), _parse, _dump)
        self.changed: Signal[()] = Signal()
        found = self._file.read()
        self.smooth, self.snap, self._screens = found.smooth, found.snap, dict(found.screens)
        self.problem = self._file.problem

    def pixel_mm(self, screen: str) -> float | None:
        """Return the width in mm of a physical pixel of a screen; None if it is not calibrated."""
        return self._screens.get(screen)

    def set_smooth(self, smooth: bool) -> None:
        """Set whether enlarged pixels are interpolated."""
        self._keep(smooth=smooth)

    def set_snap(self, snap: bool) -> None:
        """Set whether points snap to edges."""
        self._keep(snap=snap)

    def set_pixel_mm(self, screen: str, pixel_mm: float) -> None:
        """Keep the width in mm of a physical pixel of a screen.

        Raises:
            ValueError: It is not in the range `PIXEL_MM`.
        """
        if not PIXEL_MM[0] <= pixel_mm <= PIXEL_MM[1]:
            raise ValueError("no screen has pixels of this size")
        self._keep(screen=(screen, pixel_mm))

    def _keep(
        self,
        smooth: bool | None = None,
        snap: bool | None = None,
        screen: tuple[str, float] | None = None,
    ) -> None:
        """Change one value, beside what another program may have changed in the file."""
        if smooth is not None:
            self.smooth = smooth
        if snap is not None:
            self.snap = snap
        if screen is not None:
            self._screens[screen[0]] = screen[1]
        try:
            self._file.change(partial(_changed, smooth=smooth, snap=snap, screen=screen))
        except OSError as error:
            _log.warning("the display settings cannot be kept: %s", type(error).__name__)
        self.changed.emit()


def _changed(
    known: _Kept, smooth: bool | None, snap: bool | None, screen: tuple[str, float] | None
) -> _Kept:
    screens = dict(known.screens)
    if screen is not None:
        screens.pop(screen[0], None)
        screens[screen[0]] = screen[1]
    smooth, snap = (
        (known.smooth if smooth is None else smooth),
        known.snap if snap is None else snap,
    )
    return _Kept(smooth, snap, screens)


def _parse(data: Any) -> _Kept:
    snap = data.get("snap") is True
    return _Kept(data.get("smooth") is not False, snap, _screens(data.get("screens", {})))


def _dump(kept: _Kept) -> Any:
    screens = dict(list(kept.screens.items())[-_MOST_SCREENS:])
    return {"version": 1, "smooth": kept.smooth, "snap": kept.snap, "screens": screens}


def _screens(given: Any) -> dict[str, float]:
    """Return the screens with a size of pixels that can be true; a wrong one is left out."""
    low, high = PIXEL_MM
    return {
        name: float(value)
        for name, value in cast("dict[str, Any]", given).items()
        if isinstance(value, int | float) and math.isfinite(value) and low <= value <= high
    }
