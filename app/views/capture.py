"""Pictures of the window, e.g. for `--screenshot`; they need no display."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QEventLoop, QPoint, QTimer
from PySide6.QtGui import QImage, QPainter, QRegion
from PySide6.QtWidgets import QApplication, QWidget

from app.errors import SightlineError

SETTLED_MS = 120  # quiet for so long counts as settled: layouts and queued paints are done


def settle(
    busy: Callable[[], bool], done: Callable[[bool], object], *, timeout_s: float = 30.0
) -> QTimer:
    """Call `done(True)` once nothing is pending any more, or `done(False)` after `timeout_s`.

    Args:
        busy: Whether something is still to come, e.g. `MainWindow.busy`.
        done: Called on the GUI thread.
        timeout_s: How long to wait at most.

    Returns:
        The timer that looks; stop it to give up.
    """
    step = 20
    timer = QTimer()
    left = [round(timeout_s * 1000 / step), SETTLED_MS // step]

    def look() -> None:
        left[0] -= 1
        left[1] = SETTLED_MS // step if busy() else left[1] - 1
        if left[1] <= 0 or left[0] <= 0:
            timer.stop()
            done(left[1] <= 0)

    timer.timeout.connect(look)
    timer.start(step)
    return timer


def settled(busy: Callable[[], bool], *, timeout_s: float = 30.0) -> bool:
    """Run a local event loop until nothing is pending; returns whether it came to rest."""
    loop = QEventLoop()
    answer: list[bool] = []

    def finish(quiet: bool) -> None:
        answer.append(quiet)
        loop.quit()

    timer = settle(busy, finish, timeout_s=timeout_s)
    if not answer:
        loop.exec()
    timer.stop()
    return answer[0]


def window_image(window: QWidget, ratio: float | None = None) -> QImage:
    """The window's contents as an image.

    Args:
        window: A shown window.
        ratio: Physical pixels per logical one; None for the screen's own.
    """
    QApplication.sendPostedEvents()
    scale = window.devicePixelRatioF() if ratio is None else ratio
    size = window.size()
    image = QImage(
        round(size.width() * scale), round(size.height() * scale), QImage.Format.Format_RGB32
    )
    image.setDevicePixelRatio(scale)
    painter = QPainter(image)
    window.render(painter, QPoint(), QRegion(window.rect()))
    painter.end()
    return image


def save_window(window: QWidget, path: Path, ratio: float | None = None) -> None:
    """Save the window as a picture; the format follows the file's name, PNG without one.

    Raises:
        SightlineError: It cannot be written.
    """
    target = path if path.suffix else path.with_suffix(".png")
    if not window_image(window, ratio).save(str(target)):
        raise SightlineError(
            "the picture cannot be written",
            subject=str(target),
            remedy="Check the folder and use a name that ends in .png or .jpg.",
        )
