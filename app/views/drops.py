"""Files that are dropped anywhere on the window are opened, also over fields that take text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from PySide6.QtCore import QEvent, QMimeData, QObject, Qt
from PySide6.QtGui import QDragEnterEvent, QDragMoveEvent, QDropEvent
from PySide6.QtWidgets import QFrame, QVBoxLayout, QWidget

from app.views.widgets import label


def local_paths(data: QMimeData) -> list[Path]:
    """The files and folders of this computer that are dragged."""
    return [Path(url.toLocalFile()) for url in data.urls() if url.isLocalFile()]


class Drops(QObject):
    """Takes drops of files for a window and all that lies in it.

    Args:
        window: The window.
        middle: The part of it that a mark covers while files are dragged over the window.
        opened: Given what was dropped.
    """

    def __init__(
        self, window: QWidget, middle: QWidget, opened: Callable[[Sequence[Path]], object]
    ) -> None:
        super().__init__(window)
        self._middle = middle
        self._opened = opened
        self._mark = _DropMark(window)
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
            self._mark.hide()
        return False

    def _drag(self, event: QDragMoveEvent) -> bool:
        if not local_paths(event.mimeData()):
            return False
        event.acceptProposedAction()
        if isinstance(event, QDragEnterEvent):
            self._mark.appear(self._middle)
        return True

    def _drop(self, event: QDropEvent) -> bool:
        dropped = local_paths(event.mimeData())
        self._mark.hide()
        if not dropped:
            return False
        event.acceptProposedAction()
        self._opened(dropped)
        return True


class _DropMark(QFrame):
    """Shown while files are dragged over the window."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setProperty("drop", True)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        column = QVBoxLayout(self)
        text = label("Drop to open", "heading")
        text.setAlignment(Qt.AlignmentFlag.AlignCenter)
        column.addWidget(text)
        self.hide()

    def appear(self, over: QWidget) -> None:
        """Cover `over`."""
        self.setGeometry(over.geometry().adjusted(12, 12, -12, -12))
        self.show()
        self.raise_()
