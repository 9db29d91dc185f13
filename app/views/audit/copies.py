"""Tells the audit log when something was copied from the window: it may be patient data."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject
from PySide6.QtGui import QGuiApplication


class CopyWatch(QObject):
    """Watches the clipboard for what this program puts there, wherever in it that happens.

    Args:
        note: Takes "copied" and facts; must return at once.
        parent: Qt parent.
    """

    def __init__(self, note: Callable[..., object], parent: QObject) -> None:
        super().__init__(parent)
        self._note = note
        QGuiApplication.clipboard().dataChanged.connect(self._changed)

    def _changed(self) -> None:
        clipboard = QGuiApplication.clipboard()
        # Without a screen nobody else has this clipboard, and Qt says that nobody owns it.
        alone = QGuiApplication.platformName() == "offscreen"
        if not (alone or clipboard.ownsClipboard()):
            return
        data = clipboard.mimeData()
        if data is None:
            return
        if data.hasImage():
            self._note("copied", what="a picture")
        elif data.hasText() and data.text():
            self._note("copied", what="text", characters=len(data.text()))
