"""Opening files and folders without stopping the window: scan, progress, problems."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QHBoxLayout, QProgressBar, QWidget

from app.errors import SightlineError
from app.imaging.types import ScanResult
from app.tools.api import CancelToken
from app.views.loader import Loader
from app.views.notices import Notices
from app.views.theme import SPACE
from app.views.widgets import label, tool_button
from app.workspace.workspace import Workspace


class Opening(QObject):
    """Scans what the user opens and hands it to the workspace.

    Args:
        workspace: Where it goes.
        loader: Scans.
        notices: Where problems are told.
    """

    opened = Signal(object)  # the ScanResult, when the workspace has it

    def __init__(self, workspace: Workspace, loader: Loader, notices: Notices) -> None:
        super().__init__(notices)
        self._workspace = workspace
        self._loader = loader
        self._notices = notices
        self._running: list[CancelToken] = []
        self.progress = _Progress(self.cancel)

    @property
    def busy(self) -> bool:
        """Whether a scan runs."""
        return bool(self._running)

    def open_paths(self, paths: Sequence[Path]) -> None:
        """Open files and folders; returns at once."""
        if not paths:
            return
        cancel = CancelToken()
        self._running.append(cancel)
        self.progress.begin(paths)
        self._loader.scan(
            paths,
            cancel,
            self.progress.show_progress,
            partial(self._take, paths, cancel),
            partial(self._fail, cancel),
        )

    def cancel(self) -> None:
        """Stop all scans; what they found is dropped."""
        for token in self._running:
            token.cancel()
        self._running.clear()
        self.progress.end()

    def _finished(self, cancel: CancelToken) -> bool:
        if cancel not in self._running:
            return False  # cancelled by the user while the answer was on its way
        self._running.remove(cancel)
        if not self._running:
            self.progress.end()
        return True

    def _take(self, paths: Sequence[Path], cancel: CancelToken, result: ScanResult) -> None:
        if not self._finished(cancel):
            return
        self._workspace.add(result)
        if result.problems:
            self._notices.show_problems(result.problems)
        elif not result.studies:
            name = paths[0].name or str(paths[0])
            more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
            self._notices.show_notice(
                "warning",
                f"No images in {name}{more}",
                "Choose a folder with DICOM files, or PNG or JPEG pictures.",
            )
        self.opened.emit(result)

    def _fail(self, cancel: CancelToken, error: SightlineError) -> None:
        if self._finished(cancel):
            self._notices.show_error(error)


class _Progress(QWidget):
    """In the status bar: what is being opened, how far, and a way to stop it."""

    def __init__(self, cancel: Callable[[], object]) -> None:
        super().__init__()
        self._text = label("", "caption")
        self._bar = QProgressBar()
        self._bar.setTextVisible(False)
        self._bar.setFixedWidth(140)
        row = QHBoxLayout(self)
        row.setContentsMargins(SPACE.s, 0, SPACE.s, 0)
        row.setSpacing(SPACE.s)
        row.addWidget(self._text)
        row.addWidget(self._bar)
        row.addWidget(tool_button("x", "Stop opening", cancel, 12))
        self.hide()

    def begin(self, paths: Sequence[Path]) -> None:
        """A scan began."""
        name = paths[0].name or str(paths[0])
        what = name if len(paths) == 1 else f"{len(paths)} items"
        self._text.setText(f"Opening {what}…")
        self._bar.setRange(0, 0)
        self.show()

    def show_progress(self, done: int, total: int) -> None:
        """So many files of so many."""
        self._bar.setRange(0, max(total, 1))
        self._bar.setValue(done)
        self._text.setText(f"Opening: {done} of {total} files")

    def end(self) -> None:
        """Nothing is being opened."""
        self.hide()
