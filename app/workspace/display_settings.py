"""How this computer's screens show images: smooth or sharp, and how large their pixels are."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any, cast

from app.log import get_logger
from app.settings import read_regular, write_atomic
from app.workspace.signals import Signal

PIXEL_MM = (0.02, 2.0)
"""Least and largest width in mm of a screen's pixel that can be true."""

_LOCK_S = 2.0
_LARGEST = 2**16  # bytes of the file
_MOST_SCREENS = 50

_log = get_logger(__name__)


class DisplaySettings:
    """The settings of the display, kept in a JSON file; programs that run together share it.

    Args:
        file: The file; None to keep them in memory only.

    Attributes:
        smooth: Whether enlarged pixels are interpolated.
    """

    def __init__(self, file: Path | None = None) -> None:
        self._file = file
        self.changed: Signal[()] = Signal()
        self.smooth, self._screens = self._read()

    def pixel_mm(self, screen: str) -> float | None:
        """Return the width in mm of a physical pixel of a screen; None if it is not calibrated."""
        return self._screens.get(screen)

    def set_smooth(self, smooth: bool) -> None:
        """Set whether enlarged pixels are interpolated."""
        self._keep(smooth=smooth)

    def set_pixel_mm(self, screen: str, pixel_mm: float) -> None:
        """Keep the width in mm of a physical pixel of a screen.

        Raises:
            ValueError: It is not in the range `PIXEL_MM`.
        """
        if not PIXEL_MM[0] <= pixel_mm <= PIXEL_MM[1]:
            raise ValueError("no screen has pixels of this size")
        self._keep(screen=(screen, pixel_mm))

    def _keep(self, smooth: bool | None = None, screen: tuple[str, float] | None = None) -> None:
        """Change one value, beside what another program may have changed in the file."""
        if smooth is not None:
            self.smooth = smooth
        if screen is not None:
            self._screens[screen[0]] = screen[1]
        if self._file is not None:
            self._write(self._file, smooth, screen)
        self.changed.emit()

    def _write(self, file: Path, smooth: bool | None, screen: tuple[str, float] | None) -> None:
        from filelock import FileLock, Timeout

        try:
            with FileLock(file.with_suffix(".lock"), timeout=_LOCK_S):
                kept_smooth, screens = self._read()
                if screen is not None:
                    screens.pop(screen[0], None)
                    screens[screen[0]] = screen[1]
                data: dict[str, Any] = {
                    "version": 1,
                    "smooth": kept_smooth if smooth is None else smooth,
                    "screens": dict(list(screens.items())[-_MOST_SCREENS:]),
                }
                write_atomic(file, json.dumps(data, indent=1).encode())
        except (OSError, Timeout) as error:
            _log.warning("the display settings cannot be kept: %s", type(error).__name__)

    def _read(self) -> tuple[bool, dict[str, float]]:
        """Return what the file says; a broken one is set aside and counts as empty."""
        if self._file is None:
            return True, {}
        try:
            if self._file.stat().st_size > _LARGEST:
                raise ValueError("too large")
            data: Any = json.loads(read_regular(self._file).decode("utf-8"))
            return data.get("smooth") is not False, _screens(data.get("screens", {}))
        except FileNotFoundError:
            return True, {}
        except (OSError, ValueError, AttributeError, TypeError, RecursionError) as error:
            _log.warning("the display settings are unreadable: %s", type(error).__name__)
            try:
                self._file.replace(self._file.with_name(self._file.name + ".broken"))
            except OSError:
                _log.warning("they could not be set aside")
            return True, {}


def _screens(given: Any) -> dict[str, float]:
    """Return the screens with a size of pixels that can be true; a wrong one is left out."""
    low, high = PIXEL_MM
    return {
        name: float(value)
        for name, value in cast("dict[str, Any]", given).items()
        if isinstance(value, int | float) and math.isfinite(value) and low <= value <= high
    }
