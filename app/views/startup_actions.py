"""The actions at start-up: open files, ask a question, save a screenshot, quit."""

from __future__ import annotations

import errno
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QBuffer, QByteArray, QIODevice, QObject, QPoint, QSizeF, QTimer
from PySide6.QtGui import QImage, QImageWriter, QPainter, QRegion
from PySide6.QtWidgets import QApplication, QWidget

from app.audit import AuditLog
from app.audit.exports import record_export
from app.errors import SightlineError
from app.imaging.types import ScanResult
from app.log import get_logger
from app.user_files import write_atomic
from app.views.browser.problem_list import by_reason

if TYPE_CHECKING:
    from app.records.record_library import OpenedRecord
    from app.views.main_window import MainWindow

SHOW_TIMEOUT_S = 300.0  # a folder of 100,000 files is read to its end
RUN_TIMEOUT_S = 900.0
RATIO = 2.0  # physical pixels per logical one of a picture made without a screen
PICTURE_SIZE = (1600, 1200)  # logical pixels of such a picture: room for every part

_log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class StartupRequest:
    """What the command line asks for; `replace`: the screenshot may replace an existing file."""

    paths: Sequence[Path] = ()
    ask: str = ""  # question for the chat once the files are shown
    screenshot: Path | None = None  # saved once everything is shown; then the program quits
    replace: bool = False  # whether the screenshot may replace an existing file


class StartupActions(QObject):
    """Performs the actions of a `StartupRequest` one by one, without blocking the window."""

    def __init__(
        self,
        window: MainWindow,
        request: StartupRequest,
        report: Callable[[str], object],
    ) -> None:
        super().__init__(window)
        self._window = window
        self._request = request
        self._report = report
        self.audit: AuditLog | None = None
        self._failed = False
        self._timer: QTimer | None = None

    def start(self) -> None:
        """Start the first action and return immediately."""
        if self._request.screenshot and QApplication.platformName() == "offscreen":
            self._window.resize(*PICTURE_SIZE)
        if self._request.screenshot:
            self._window.canvas.set_density(RATIO)
        if self._request.paths:
            self._window.opening.opened.connect(self._on_opened)
            if self._window.record_opening is not None:
                self._window.record_opening.opened.connect(self._on_record)
            self._window.open_paths(self._request.paths)
        if self._request.ask or self._request.screenshot:
            self._timer = settle(
                lambda: self._window.busy, self._continue_when_shown, timeout_s=SHOW_TIMEOUT_S
            )

    def _on_opened(self, result: ScanResult) -> None:
        """Report the problems, which also make the exit code 1."""
        for reason in by_reason(result.problems):
            first = reason.problems[0]
            more = len(reason.problems) - 1
            others = f" (and {more:,} other file{'s' if more > 1 else ''})" if more else ""
            self._fail(f"{first.path}: {first.reason}{others}")
        if not result.studies and not result.problems:
            self._fail("no images were found in the given files and folders")

    def _on_record(self, found: OpenedRecord) -> None:
        for one in found.problems:
            self._fail(f"{one.path}: {one.reason}")

    def _continue_when_shown(self, idle: bool) -> None:
        viewport = self._window.workspace.viewport
        if viewport.error:
            self._fail(viewport.error)
        if not idle:
            self._fail("the image took too long to appear")
        if self._request.ask and (chat := self._window.assistant) is not None:
            chat.run_ended.connect(self._on_run_ended)
            self._window.docks["Assistant"].show()
            chat.submit(self._request.ask)
            if self._request.screenshot:
                self._timer = settle(
                    self._running, self._continue_when_answered, timeout_s=RUN_TIMEOUT_S
                )
        else:
            self._save_picture()

    def _running(self) -> bool:
        chat = self._window.assistant
        return self._window.busy or (chat is not None and not chat.is_idle())

    def _on_run_ended(self, _run_id: str, kind: str) -> None:
        if kind != "run_finished":
            self._fail("the assistant could not finish; the window says why")

    def _continue_when_answered(self, idle: bool) -> None:
        if not idle:
            self._fail("the assistant did not answer in time")
        self._save_picture()

    def _save_picture(self) -> None:
        target = self._request.screenshot
        if target is None:
            return
        try:
            workspace = self._window.workspace
            with record_export(
                self.audit,
                "screenshot",
                target,
                images=workspace.shown_images(),
                opened=[*self._request.paths, *workspace.opened_files()],
                replace=self._request.replace,
            ):
                save_window(self._window, target, RATIO)
        except SightlineError as error:
            self._fail(error.text)
        self._window.quit()
        QApplication.exit(1 if self._failed else 0)

    def _fail(self, reason: str) -> None:
        self._failed = True
        self._report(reason)


SETTLED_MS = 120  # quiet for so long counts as settled: layouts and queued paints are done


def settle(
    busy: Callable[[], bool], done: Callable[[bool], object], *, timeout_s: float = 30.0
) -> QTimer:
    """Call `done(True)` once `busy()` stays False for a while, or `done(False)` after `timeout_s`.

    Returns:
        The timer that calls `busy`; stop it to cancel the wait.
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


def window_image(window: QWidget, ratio: float = 1.0) -> QImage:
    """Return a picture of a window with `ratio` physical px per logical px."""
    QApplication.sendPostedEvents()
    size = QSizeF(window.size()) * ratio
    image = QImage(size.toSize(), QImage.Format.Format_RGB32)
    image.setDevicePixelRatio(ratio)
    painter = QPainter(image)
    window.render(painter, QPoint(), QRegion(window.rect()))
    painter.end()
    return image


def save_window(window: QWidget, path: Path, ratio: float = 1.0) -> None:
    """Save the window as a picture; the suffix selects the format, PNG if there is none.

    Raises:
        SightlineError: The file cannot be written.
    """
    target = path if path.suffix else path.with_suffix(".png")
    data = QByteArray()
    drawn = QBuffer(data)
    drawn.open(QIODevice.OpenModeFlag.WriteOnly)
    try:
        writer = QImageWriter(drawn, target.suffix[1:].encode())
        if not writer.write(window_image(window, ratio)):
            raise OSError(errno.EINVAL, "unknown picture format")
        write_atomic(target, bytes(data.data()))
    except OSError as error:
        raise SightlineError(
            f"the picture cannot be written ({error.strerror or type(error).__name__})",
            subject=str(target),
            remedy="Check the folder and its free space, and use a name that ends in .png or .jpg.",
        ) from error
