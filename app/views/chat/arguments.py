"""The exact arguments of a call, as a list of keys and values that cannot mislead.

Control characters, characters without a glyph and those that change the direction of the text are
written as their codes, so that a name cannot read "report.txt" and be something else.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QColor, QTextBlockFormat, QTextCharFormat, QTextCursor

from app.agent.policy.approvals import hides
from app.views.chat.markdown import split
from app.views.text_view import BLOCK, PIECE, TextView
from app.views.theme import THEME

_DEEPEST = 8  # levels with lines of their own; deeper values are JSON on one line
_INLINE = 60  # characters of a flat list that stays on one line
_SLICE = 1_000  # characters of a value that are split into parts at a time
_INDENT = 16  # px a level
_HANGING = 14  # px by which wrapped text is indented, so that it cannot pass for a key
_PLACE = re.compile(
    r"""\b[A-Za-z][A-Za-z0-9+.-]{0,20}://[^\s"'<>]+   # an address
    |(?<![\w.])[A-Za-z]:[\\/][^\s"'<>|]*            # a path with a drive's letter
    |\\\\[^\s"'<>]+                                # a share
    |(?<![\w.~/])(?:~[\w.-]{0,32}|\.{1,2})?/[^\s"'<>]+  # a path
    |(?<![\w.@-])[\w.+-]{1,64}@[\w.-]{1,253}         # a mail address
    |(?<![\w.-])(?:[A-Za-z0-9-]{1,63}\.){1,8}[A-Za-z]{2,24}:\d{1,5}\b  # a host with its port
    |(?<![\w.])(?:\d{1,3}\.){3}\d{1,3}(?::\d{1,5})?(?![\w.])  # a host's number
    """,
    re.VERBOSE,
)
"""A path, host or address inside a text."""
_WHOLE = re.compile(
    r"(?:/|~|\.{1,2}/|[A-Za-z]:[\\/]|\\\\|[A-Za-z][A-Za-z0-9+.-]{0,20}://"
    r"|(?:[\w-]{1,63}\.){1,8}[A-Za-z]{2,24}$|(?:[\w .-]{1,63}/){1,20}[\w .-]{0,63}\.\w{1,8}$)"
)
"""The start of a value that is a path, host or file name as a whole, spaces included."""
_SIMPLE_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,79}")  # ASCII: no homoglyphs


@dataclass(frozen=True, slots=True)
class ArgumentPart:
    """A piece of an argument's line that is shown in one style."""

    text: str
    marked: bool = False  # the code of a character that cannot be seen
    place: bool = False  # part of a path, host or address, where data would go


@dataclass(frozen=True, slots=True)
class ArgumentLine:
    """A line in the list of a tool call's arguments."""

    level: int
    key: str  # with its colon; a dash for an item of a list, a bar for a line of a text
    value: str = ""
    quoted: bool = False  # a text, shown in quotation marks

    def parts(self) -> Iterator[ArgumentPart]:
        """Yield the text after the key, in pieces of limited length."""
        if self.quoted:
            yield ArgumentPart('"')
        whole = self.quoted and _WHOLE.match(self.value) is not None
        for at in range(0, len(self.value), _SLICE):
            piece = self.value[at : at + _SLICE]
            for text, found in split(piece, () if whole else _PLACE.finditer(piece)):
                place = whole or found is not None
                yield from (replace(part, place=place) for part in visible(text))
        if self.quoted:
            yield ArgumentPart('"')

    @property
    def text(self) -> str:
        """The whole line as it is shown."""
        value = "".join(part.text for part in self.parts())
        return f"{self.key} {value}" if value else self.key


def argument_lines(arguments: Mapping[str, Any]) -> Iterator[ArgumentLine]:
    """Yield the lines that show all arguments of a call, with nested values below their key."""
    for key, value in arguments.items():
        yield from _lines(0, f"{_key(str(key))}:", value)


def visible(text: str) -> list[ArgumentPart]:
    """Return `text` in parts, where codes replace characters that hide or reorder text."""
    if text.isascii() and text.isprintable():
        return [ArgumentPart(text)]
    return [
        ArgumentPart("".join(map(_code, some) if hidden else some), marked=hidden)
        for hidden, some in groupby(text, key=hides)
    ]


def _lines(level: int, key: str, value: Any) -> Iterator[ArgumentLine]:
    if isinstance(value, Mapping) and value and level < _DEEPEST:
        yield ArgumentLine(level, key)
        for name, item in value.items():
            yield from _lines(level + 1, f"{_key(str(name))}:", item)
    elif isinstance(value, (list, tuple)) and value and level < _DEEPEST and not _short(value):
        yield ArgumentLine(level, key)
        for item in value:
            yield from _lines(level + 1, "\u2013", item)
    elif isinstance(value, str) and "\n" in value:
        rows = value.split("\n")
        yield ArgumentLine(level, key, f"(text of {len(rows)} lines)")
        for line in rows:
            yield ArgumentLine(level + 1, "│", line)
    elif isinstance(value, str):
        yield ArgumentLine(level, key, value, quoted=True)
    else:
        yield ArgumentLine(level, key, json.dumps(value, ensure_ascii=False, default=str))


def _short(value: list[Any] | tuple[Any, ...]) -> bool:
    """Return whether a list is short and flat enough for one line."""
    flat = all(not isinstance(item, (Mapping, list, tuple)) for item in value[:_INLINE])
    return (
        flat
        and len(value) <= _INLINE
        and len(json.dumps(value, ensure_ascii=False, default=str)) <= _INLINE
    )


def _key(name: str) -> str:
    """Return an ordinary name as it is, any other key as JSON in ASCII."""
    if _SIMPLE_KEY.fullmatch(name):
        return name
    return json.dumps(name)


def _code(character: str) -> str:
    short = {"\t": "\\t", "\r": "\\r"}.get(character)
    point = ord(character)
    return short or (f"\\u{point:04x}" if point <= 0xFFFF else f"\\U{point:08x}")


_Step = tuple[int, str, ArgumentPart | None]
"""(level, key, None) begins a line; (level, "", part) continues it."""


class ArgumentsView(TextView):
    """Shows a call's arguments as a scrolling list, inserted in pieces so that nothing stalls."""

    filled = Signal()

    def __init__(self, max_height: int) -> None:
        super().__init__(max_height=max_height)
        self.setProperty("tone", "mono")
        self.setAccessibleName("Arguments")
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.hidden = False  # whether some characters are shown as their codes
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
        """Whether all arguments are shown."""
        return self._steps is None

    def show_arguments(self, arguments: Mapping[str, Any]) -> None:
        """Show all arguments: short ones at once, long ones piece by piece."""
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
                room -= len(key) + 20  # a line costs time, however short it is
            else:
                self._continue(cursor, level, part)
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

    def _continue(self, cursor: QTextCursor, level: int, part: ArgumentPart) -> None:
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
                yield line.level, "", ArgumentPart(" ")
            yield line.level, "", part


def _format(tint: str) -> QTextCharFormat:
    result = QTextCharFormat()
    result.setForeground(QColor(tint))
    return result
