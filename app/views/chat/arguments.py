"""The exact arguments of a call as lines that a person can read, and that cannot lie.

A line is a key and its value. What could make a line say something else than it is (control
characters, characters that change the direction or show nothing) is written as its code, so that a
name cannot read "report.txt" and be something else. Knows no toolkit.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

from app.agent.approvals import hides

_DEEP = 8  # levels that get lines of their own; what lies deeper is JSON on one line
_INLINE = 60  # characters of a list of numbers or words that stays on one line
_SLICE = 1_000  # characters looked at in one go
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
"""Where something would be read, written or sent to, as it stands in a text."""
_WHOLE = re.compile(
    r"(?:/|~|\.{1,2}/|[A-Za-z]:[\\/]|\\\\|[A-Za-z][A-Za-z0-9+.-]{0,20}://"
    r"|(?:[\w-]{1,63}\.){1,8}[A-Za-z]{2,24}$|(?:[\w .-]{1,63}/){1,20}[\w .-]{0,63}\.\w{1,8}$)"
)
"""The beginning of a value that is a path, a host or a file's name as a whole, spaces and all."""
_SIMPLE_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,79}")  # homoglyphs are not simple


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of a line.

    Attributes:
        text: What is written.
        marked: It is a character that is shown as its code.
        place: It is a path, a host or an address, or a piece of one: where data would go.
    """

    text: str
    marked: bool = False
    place: bool = False


@dataclass(frozen=True, slots=True)
class ArgumentLine:
    """A line of the list.

    Attributes:
        level: Nesting, from 0.
        key: What comes before the value: a name with its colon, a dash in a list, a bar in a text.
        value: The value as it came.
        quoted: Whether it is a text, shown in quotation marks.
    """

    level: int
    key: str
    value: str = ""
    quoted: bool = False

    def parts(self) -> Iterator[Part]:
        """What is written after the key, a bounded piece at a time."""
        if self.quoted:
            yield Part('"')
        whole = self.quoted and _WHOLE.match(self.value) is not None
        for at in range(0, len(self.value), _SLICE):
            piece = self.value[at : at + _SLICE]
            for text, place in [(piece, True)] if whole else _places(piece):
                yield from (replace(part, place=place) for part in visible(text))
        if self.quoted:
            yield Part('"')

    @property
    def text(self) -> str:
        """The line as it is read."""
        value = "".join(part.text for part in self.parts())
        return f"{self.key} {value}" if value else self.key


def argument_lines(arguments: Mapping[str, Any]) -> Iterator[ArgumentLine]:
    """A line a value, nested ones below their key; nothing is left out."""
    for key, value in arguments.items():
        yield from _lines(0, f"{_key(str(key))}:", value)


def visible(text: str) -> list[Part]:
    """`text` in parts, what could not be seen or reorders the line written as its code."""
    if text.isascii() and text.isprintable():
        return [Part(text)]
    return [
        Part("".join(map(_code, some)), marked=True) if hidden else Part("".join(some))
        for hidden, some in groupby(text, key=hides)
    ]


def _places(text: str) -> Iterator[tuple[str, bool]]:
    """`text` in pieces, and for each whether it is a path, a host or an address."""
    end = 0
    for match in _PLACE.finditer(text):
        if match.start() > end:
            yield text[end : match.start()], False
        yield match[0], True
        end = match.end()
    if end < len(text):
        yield text[end:], False


def _lines(level: int, key: str, value: Any) -> Iterator[ArgumentLine]:
    if isinstance(value, Mapping) and value and level < _DEEP:
        yield ArgumentLine(level, key)
        for name, item in value.items():
            yield from _lines(level + 1, f"{_key(str(name))}:", item)
    elif isinstance(value, (list, tuple)) and value and level < _DEEP and not _short(value):
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
    """Whether a list is short and flat enough for one line."""
    flat = all(not isinstance(item, (Mapping, list, tuple)) for item in value[:_INLINE])
    return (
        flat
        and len(value) <= _INLINE
        and len(json.dumps(value, ensure_ascii=False, default=str)) <= _INLINE
    )


def _key(name: str) -> str:
    """A name as it is, anything else in quotation marks with every odd character as its code."""
    if _SIMPLE_KEY.fullmatch(name):
        return name
    return json.dumps(name)


def _code(character: str) -> str:
    short = {"\t": "\\t", "\r": "\\r"}.get(character)
    point = ord(character)
    return short or (f"\\u{point:04x}" if point <= 0xFFFF else f"\\U{point:08x}")
