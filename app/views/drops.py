"""Files that are dropped anywhere on the window are opened, also over fields that take text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from PySide6.QtCore import QEvent, QMimeData, QObject
from PySide6.QtGui import QDragEnterEvent, QDragMoveEvent, QDropEvent
from PySide6.QtWidgets import QWidget


def local_paths(data: QMimeData) -> list[Path]:
    """The files and folders of this computer that are dragged."""
    return [Path(url.toLocalFile()) for url in data.urls() if url.isLocalFile()]


class Drops(QObject):
    """Takes drops of files for a window and all that lies in it.

    Args:
        window: The window.
        opened: Given what was dropped.
        dragging: Told when files come over the window (True) and when they leave (False).
    """

    def __init__(
        self,
        window: QWidget,
        opened: Callable[[Sequence[Path]], object],
        dragging: Callable[[bool], object],
    ) -> None:
        super().__init__(window)
        self._opened = opened
        self._dragging = dragging
        window.setAcceptDrops(True)
        for widget in (window, *window.findChildren(QWidget)):
            # A text field would write the file's address into itself.
            if widget.acceptDrops():
                widget.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if isinstance(event, QDropEvent) and not isinstance(event, QDragMoveEvent):
            return self._drop(event)
        if isinstance(event, QDragMoveEvent):
            return self._drag(event)
        if event.type() == QEvent.Type.DragLeave:
            self._dragging(False)
        return False

    def _drag(self, event: QDragMoveEvent) -> bool:
        if not local_paths(event.mimeData()):
            return False
        event.acceptProposedAction()
        if isinstance(event, QDragEnterEvent):
            self._dragging(True)
        return True

    def _drop(self, event: QDropEvent) -> bool:
        dropped = local_paths(event.mimeData())
        self._dragging(False)
        if not dropped:
            return False
        event.acceptProposedAction()
        self._opened(dropped)
        return True
