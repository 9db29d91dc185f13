"""Plain text of any length in a box of limited height: put in piece by piece, so nothing stalls."""

from __future__ import annotations

from collections import deque

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QTextCursor

from app.views.chat.text import clean
from app.views.chat.textview import TextView

PIECE = 4_000  # characters a turn of the event loop: laying them out takes a few ms
BLOCK = 8_000  # a paragraph is laid out as a whole, so a longer one is broken
NEAR_END = 24  # px


class LongText(TextView):
    """Text that scrolls by itself and is never cut; its end is followed while it is in view.

    Attributes:
        filled: All that was appended is shown.
    """

    filled = Signal()

    def __init__(self, max_height: int, tone: str = "mono") -> None:
        super().__init__(max_height=max_height)
        self.setProperty("tone", tone)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self._waiting: deque[str] = deque()
        self._timer = QTimer(self, singleShot=True, interval=0)
        self._timer.timeout.connect(self._fill)

    @property
    def complete(self) -> bool:
        """Whether everything that was appended is shown."""
        return not self._waiting

    def append_plain(self, text: str) -> None:
        """Add `text` at the end."""
        text = clean(text)
        self._waiting.extend(text[at : at + PIECE] for at in range(0, len(text), PIECE))
        if not self._timer.isActive():
            self._fill()

    def restart(self, text: str = "") -> None:
        """Show `text` instead of what is there."""
        self._waiting.clear()
        self._timer.stop()
        self.clear()
        self.append_plain(text)

    def _fill(self) -> None:
        if self._waiting:
            bar = self.verticalScrollBar()
            follow = bar.value() >= bar.maximum() - NEAR_END and bar.maximum() > 0
            self._insert(self._waiting.popleft())
            if follow:
                bar.setValue(bar.maximum())
        if self._waiting:
            self._timer.start()
        else:
            self.filled.emit()

    def _insert(self, piece: str) -> None:
        cursor = QTextCursor(self.document())
        cursor.movePosition(QTextCursor.MoveOperation.End)
        if cursor.positionInBlock() + len(piece.split("\n", 1)[0]) > BLOCK:
            cursor.insertBlock()
        cursor.insertText(piece)
        self.caret_to_start()
