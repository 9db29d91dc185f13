"""Opening files and folders without blocking the window: scan, progress, problems, drops."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from PySide6.QtCore import QEvent, QMimeData, QObject, QPoint, Qt, Signal
from PySide6.QtGui import QDragEnterEvent, QDragMoveEvent, QDropEvent
from PySide6.QtWidgets import QFrame, QWidget

from app.errors import CancelToken, SightlineError
from app.imaging.openable import CONTAINERS, OPENABLE
from app.imaging.types import Instance, ScanResult
from app.views.application import CollectionPause
from app.views.documents.document_pages import DRAWN
from app.views.layouts import column
from app.views.loader import Loader
from app.views.notices import Notices
from app.views.translation import tr, tr_n
from app.views.widgets import ProgressRow, label, tool_button
from app.workspace.viewport import Display
from app.workspace.workspace import Workspace, first_to_show

SETTLES_S = 5
"""Time after the start of a scan in which the shown image may still be replaced by the first of the
list.
"""


@dataclass(eq=False)
class _Scan:
    """A running scan."""

    paths: tuple[Path, ...]
    before: Instance | None  # that was shown when it began
    cancel: CancelToken = field(default_factory=CancelToken)
    grown: bool = False  # some of its results are in the workspace
    shown: bool = False  # one of its images was shown
    began: float = field(default_factory=time.monotonic)


class FileOpening(QObject):
    """Scans the files and folders that the user opens, and adds the results to the workspace."""

    over_images = Signal(object)  # an Instance that is drawn over images, which are open
    opened = Signal(object)  # the ScanResult, when the workspace has it
    studies_opened = Signal(object)  # the paths in which studies were found

    def __init__(self, workspace: Workspace, loader: Loader, notices: Notices) -> None:
        super().__init__(notices)
        self._workspace = workspace
        self._loader = loader
        self._notices = notices
        self._running: list[_Scan] = []
        self._collection_pause = CollectionPause()
        self._own: Instance | None = None  # what an opening chose to show, not the user
        stop = tool_button("x", tr("Stop opening"), self.stop, 12)
        self.progress = ProgressRow(stop, 140, "caption")

    @property
    def busy(self) -> bool:
        return bool(self._running)

    def open_paths(self, paths: Sequence[Path]) -> None:
        """Start to open files and folders, and return immediately."""
        if not paths:
            return
        scan = _Scan(tuple(paths), self._workspace.viewport.instance)
        self._running.append(scan)
        self._collection_pause.begin()
        name = paths[0].name or str(paths[0])
        self.progress.set_progress(
            tr("Opening {name}…").format(name=name)
            if len(paths) == 1
            else tr_n("Opening %n item…", "Opening %n items…", len(paths))
        )
        self.progress.show()
        self._loader.scan(
            paths,
            scan.cancel,
            partial(self._show_progress, scan),
            partial(self._grow, scan),
            partial(self._take, scan),
            partial(self._fail, scan),
            self._workspace.studies.instances,
        )

    def stop(self) -> None:
        kept = any(scan.grown for scan in self._running)
        self.cancel()
        if kept:
            self._notices.show_notice(
                "info",
                tr("Opening stopped"),
                tr("Images found so far stay open; the rest was not read."),
            )

    def cancel(self) -> None:
        for scan in self._running:
            scan.cancel.cancel()
        self._running.clear()
        self._end()

    def _show_progress(self, scan: _Scan, done: int, total: int) -> None:
        if scan in self._running:
            text = tr("Opening: {done:,} of {total:,} files").format(done=done, total=total)
            self.progress.set_progress(text, done, max(total, 1))

    def _grow(self, scan: _Scan, result: ScanResult) -> None:
        """Add the results so far; only the first image found is shown."""
        if scan not in self._running:
            return
        scan.grown = True
        self._add(scan, result, images_only=True)

    def _add(self, scan: _Scan, result: ScanResult, *, images_only: bool) -> None:
        shown = self._workspace.viewport.instance
        chosen = shown is not scan.before and shown is not self._own
        show = not (scan.shown or chosen)
        first = first_to_show(result, images_only) if show else None
        if first is not None and first.content in DRAWN:
            self._workspace.add(result, show=False)
            if self._workspace.image_of(first) is not None:
                self.over_images.emit(first)
            else:
                self._workspace.viewport.show(first)
        elif not self._workspace.add(result, show=show, images_only=images_only):
            return
        scan.shown = True
        self._own = self._workspace.viewport.instance

    def _begin_at_the_first(self, result: ScanResult) -> None:
        """Show the first image listed, only at the start: an image must not jump under the user."""
        viewport, shown = self._workspace.viewport, self._workspace.viewport.instance
        first = first_to_show(result, images_only=True)
        if self.untouched and first is not None and first != shown:
            viewport.show(first)
            self._own = viewport.instance

    @property
    def untouched(self) -> bool:
        """Whether an opening chose what is shown, and the user has changed nothing of it."""
        viewport = self._workspace.viewport
        shown = viewport.instance
        same = shown is not None and shown is self._own and viewport.frame_index == 0
        return same and viewport.display == Display()

    def _finished(self, scan: _Scan) -> bool:
        if scan not in self._running:
            return False  # stopped by the user while the answer was on its way
        self._running.remove(scan)
        return True

    def _end(self) -> None:
        if self._running:
            return
        self.progress.hide()
        every = (series for study in self._workspace.studies.all for series in study.series)
        self._collection_pause.end(sum(len(series.instances) for series in every))

    def _take(self, scan: _Scan, result: ScanResult) -> None:
        if not self._finished(scan):
            return
        paths = scan.paths
        try:
            self._add(scan, result, images_only=False)
        finally:
            self._end()
        if scan.shown and time.monotonic() - scan.began < SETTLES_S:
            self._begin_at_the_first(result)
        if result.problems:
            self._notices.show_problems(result.problems)
        elif not result.studies:
            name = paths[0].name or str(paths[0])
            self._notices.show_notice(
                "warning",
                tr("No images in {name}").format(name=name)
                if len(paths) == 1
                else tr("No images in {name} and {count} more").format(
                    name=name, count=len(paths) - 1
                ),
                tr("Choose {openable} files, or {containers} of them.").format(
                    openable=tr(OPENABLE), containers=tr(CONTAINERS)
                ),
            )
        if result.studies:
            self.studies_opened.emit(paths)
        self.opened.emit(result)

    def _fail(self, scan: _Scan, error: SightlineError) -> None:
        if self._finished(scan):
            self._end()
            self._notices.show_error(error)


def local_paths(data: QMimeData) -> list[Path]:
    """Return the local files and folders in dragged data."""
    return [Path(url.toLocalFile()) for url in data.urls() if url.isLocalFile()]


class FileDrops(QObject):
    """Passes dropped files to `on_image` over `middle`, where it says so, or to `opened`."""

    def __init__(
        self,
        window: QWidget,
        middle: QWidget,
        opened: Callable[[Sequence[Path]], object],
        on_image: Callable[[Sequence[Path], QPoint], object],
    ) -> None:
        super().__init__(window)
        self._window = window
        self._middle = middle
        self._opened = opened
        self._on_image = on_image
        self._mark = _DropMark(window)
        window.setAcceptDrops(True)
        for widget in (window, *window.findChildren(QWidget)):
            # A text field would insert the file's address.
            if widget.acceptDrops():
                widget.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        dropping = isinstance(event, QDropEvent) and not isinstance(event, QDragMoveEvent)
        if dropping or event.type() == QEvent.Type.DragLeave:
            self._mark.hide()
        paths = local_paths(event.mimeData()) if isinstance(event, QDropEvent) else []
        if not isinstance(event, QDropEvent) or not paths:
            return False
        event.acceptProposedAction()
        if isinstance(event, QDragEnterEvent):
            self._mark.appear(self._middle)
        elif dropping and isinstance(watched, QWidget):
            place = watched.mapTo(self._window, event.position().toPoint())
            if self._middle.geometry().contains(place):
                self._on_image(paths, watched.mapToGlobal(event.position().toPoint()))
            else:
                self._opened(paths)
        return True


class _DropMark(QFrame):
    """The mark shown while files are dragged over the window."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setProperty("drop", True)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        text = label(tr("Drop to open"), "heading")
        text.setAlignment(Qt.AlignmentFlag.AlignCenter)
        column(text, parent=self)
        self.hide()

    def appear(self, over: QWidget) -> None:
        self.setGeometry(over.geometry().adjusted(12, 12, -12, -12))
        self.show()
        self.raise_()
