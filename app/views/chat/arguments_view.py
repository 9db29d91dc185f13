"""Shows the exact arguments of a call: all of them, piece by piece, so that nothing stalls."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QColor, QTextBlockFormat, QTextCharFormat, QTextCursor

from app.views.chat.arguments import Part, argument_lines
from app.views.chat.longtext import BLOCK, PIECE
from app.views.chat.textview import TextView
from app.views.theme import THEME

_INDENT = 16  # px a level
_HANGING = 14  # px by which what did not fit on a line is moved in: it cannot pass for a key

_Step = tuple[int, str, Part | None]
"""(level, key, None) begins a line; (level, "", part) goes on with it."""


class ArgumentsView(TextView):
    """A key/value list in fixed width that scrolls.

    Attributes:
        filled: Everything is shown.
        hidden: Whether there were characters that are shown as their codes.
    """

    filled = Signal()

    def __init__(self, max_height: int) -> None:
        super().__init__(max_height=max_height)
        self.setProperty("tone", "mono")
        self.setAccessibleName("Arguments")
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.hidden = False
        self._steps: Iterator[_Step] | None = None
        self._fresh = True
        self._key = _format(THEME.text_muted)
        self._value = _format(THEME.text)
        self._place = _format(THEME.accent)
        self._code = _format(THEME.warning)
        self._code.setBackground(QColor(THEME.hover))
        self._timer = QTimer(self, singleShot=True, interval=0)
        self._timer.timeout.connect(self._fill)

    @property
    def complete(self) -> bool:
        """Whether everything is shown."""
        return self._steps is None

    def show_arguments(self, arguments: Mapping[str, Any]) -> None:
        """Show these; at once where they are short."""
        if not arguments:
            self.set_plain("No arguments.")
            return
        self._steps = _steps(arguments)
        self._fill()

    def _fill(self) -> None:
        cursor = QTextCursor(self.document())
        cursor.movePosition(QTextCursor.MoveOperation.End)
        cursor.beginEditBlock()
        room = PIECE
        for level, key, part in self._steps or ():
            if part is None:
                self._begin(cursor, level, key)
                room -= len(key) + 20  # a line has its price, however short
            else:
                self._go_on(cursor, level, part)
                room -= len(part.text)
            if room <= 0:
                break
        else:
            self._steps = None
        cursor.endEditBlock()
        self.caret_to_start()
        if self._steps is not None:
            self._timer.start()
        else:
            self.filled.emit()

    def _begin(self, cursor: QTextCursor, level: int, key: str) -> None:
        block = QTextBlockFormat()
        block.setLeftMargin(level * _INDENT + _HANGING)
        block.setTextIndent(-_HANGING)
        if self._fresh:
            cursor.setBlockFormat(block)
            self._fresh = False
        else:
            cursor.insertBlock(block)
        cursor.insertText(key, self._key)

    def _go_on(self, cursor: QTextCursor, level: int, part: Part) -> None:
        if cursor.positionInBlock() + len(part.text) > BLOCK:
            block = QTextBlockFormat()
            block.setLeftMargin(level * _INDENT + _HANGING)
            cursor.insertBlock(block)
        self.hidden = self.hidden or part.marked
        form = self._code if part.marked else self._place if part.place else self._value
        cursor.insertText(part.text, form)


def _steps(arguments: Mapping[str, Any]) -> Iterator[_Step]:
    for line in argument_lines(arguments):
        yield line.level, line.key, None
        for index, part in enumerate(line.parts()):
            if not index:
                yield line.level, "", Part(" ")
            yield line.level, "", part


def _format(tint: str) -> QTextCharFormat:
    result = QTextCharFormat()
    result.setForeground(QColor(tint))
    return result
