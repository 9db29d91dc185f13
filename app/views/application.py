"""Creates the Qt application (fonts, theme, pixel density) and limits garbage collection.

A full collection checks all objects and stops all threads meanwhile: for 40 ms to check the
program's modules, and for 150 ms more with 100,000 open instances. Long-lived objects are therefore
"frozen", i.e. no longer checked, and there are no full collections while files are scanned.
Instances are not part of reference cycles, so they are freed when a study is closed.
"""

from __future__ import annotations

import gc
import os
import sys
import time
from functools import cache

from PySide6.QtCore import QCoreApplication, QObject, Qt, QTimer
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication

from app import __version__
from app.views import icons, theme
from app.views.translation import use_language

MANY = 10_000
"""Number of open instances above which a full collection takes 15 ms."""

_NEVER = 2**31 - 1

COLLECT_EVERY_MS = 100
FULL_EVERY_S = 60.0
"""Seconds between full collections; Python's own come when a quarter of all objects is new."""


@cache
def freeze_startup_objects() -> None:
    """Exclude the objects that exist now from garbage collection; later calls have no effect."""
    gc.collect()
    gc.freeze()


class WindowCollector(QObject):
    """Collects garbage on the GUI thread only, between its events, instead of wherever it is due.

    A collection on another thread may delete a widget: Qt then holds a lock and waits for the
    interpreter, while the GUI thread has the interpreter and waits for that lock. The window stops
    for good. (Seen with PySide6 6.11, while a worker thread read XML.)

    Until `stop`, Python's own collections are off.
    """

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        gc.disable()
        self._next_full = time.monotonic() + FULL_EVERY_S
        self._timer = QTimer(self, interval=COLLECT_EVERY_MS)
        self._timer.timeout.connect(self._collect)
        self._timer.start()

    def stop(self) -> None:
        """Leave it to Python again."""
        self._timer.stop()
        gc.enable()

    def _collect(self) -> None:
        gc.disable()  # whoever paused it meanwhile has let it go again
        young, middle, old = (
            count > limit for count, limit in zip(gc.get_count(), gc.get_threshold(), strict=True)
        )
        if old and time.monotonic() >= self._next_full:
            gc.collect()
            self._next_full = time.monotonic() + FULL_EVERY_S
        elif middle:
            gc.collect(1)
        elif young:
            gc.collect(0)


class CollectionPause:
    """Suspends full garbage collections, one pause at a time; `begin` always needs `end`."""

    def __init__(self) -> None:
        self._before: tuple[int, int, int] | None = None

    def begin(self) -> None:
        """Suspend full collections; has no effect if they are already suspended."""
        if self._before is None:
            young, middle, _old = self._before = gc.get_threshold()
            gc.set_threshold(young, middle, _NEVER)

    def end(self, instances: int) -> None:
        """Resume full collections; they skip all present objects if `instances` >= 10,000."""
        if self._before is None:
            return
        gc.set_threshold(*self._before)
        self._before = None
        if instances >= MANY:
            gc.collect(1)  # garbage that is young must not stay for ever
            gc.freeze()


NAME = "Sightline"

SWITCH_INTERVAL_S = 0.001
"""Longest time that another Python thread keeps the interpreter while the GUI thread waits for it.

Qt calls release the interpreter, so a paint event waits many times; with Python's default of 5 ms
these waits would add up to stalls.
"""


def needs_offscreen() -> bool:
    """Return True if, on Linux, there is no display and QT_QPA_PLATFORM is not set."""
    if not sys.platform.startswith("linux") or os.environ.get("QT_QPA_PLATFORM"):
        return False
    return not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def use_offscreen() -> None:
    """Make Qt draw into memory instead of on a display; call before `create_application`."""
    os.environ["QT_QPA_PLATFORM"] = "offscreen"


def show_theme(scheme: str) -> None:
    """Show every window in a theme: "system", "dark" or "light"."""
    application = QCoreApplication.instance()
    if isinstance(application, QApplication):
        theme.show(application, scheme)


def create_application(language: str = "en") -> QApplication:
    """Return the process's themed Qt application; `language` as in `use_language`."""
    existing = QCoreApplication.instance()
    if isinstance(existing, QApplication):
        return existing
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    # Without rounding to whole factors icons and text stay sharp at 125% and 150%.
    QGuiApplication.setHighDpiScaleFactorRoundingPolicy(
        Qt.HighDpiScaleFactorRoundingPolicy.PassThrough
    )
    application = QApplication([NAME])
    application.setApplicationName(NAME)
    application.setApplicationVersion(__version__)
    application.setDesktopFileName("sightline")
    use_language(language)
    theme.apply(application)
    application.setWindowIcon(icons.icon(icons.MARK))
    return application
