"""Arguments of a call as a model wrote them: JSON, or JSON with damage that has one undoing.

Strict JSON is taken as it is. What is not strict is read by one small grammar that knows the usual
slips (a code fence, trailing commas, comments, Python's or typographic quotes, True/False/None,
bare keys, raw line ends in a string, closers left out at the very end, JSON packed into a JSON
string) and has one reading for every text; where two are thinkable, it refuses.

The packages for this (json-repair, dirtyjson, `pydantic_core.from_json(allow_partial=...)`) always
give a value: json-repair's own first example turns the cut-off `tru` into true. A guessed argument
of a medical tool is worse than none: a refused call goes back to the model with the reason.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any, Never

_QUOTES = {'"': '"', "'": "'", "\u201c": "\u201d", "\u2018": "\u2019"}
_MARKS = "".join({*_QUOTES, *_QUOTES.values()})
_LITERALS: dict[str, bool | None] = {
    "true": True,
    "True": True,
    "false": False,
    "False": False,
    "null": None,
    "None": None,
}
_FENCE = re.compile(r"```[ \t]*\w*[ \t]*\r?\n")
# A comment to the line's end counts only if the line does end: without its line break it could
# have swallowed arguments.
_GAP = re.compile(r"(?:\s|//[^\n]*\n|/\*.*?\*/)*", re.DOTALL)
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?(?![\w.+-])")
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PLAIN = re.compile(r"[^\\\x00-\x08\x0b\x0c\x0e-\x1f\"'\u2018\u2019\u201c\u201d]+")
# What JSON and Python read alike. `\x`, `\a`, `\0` and others would be read differently, or stand
# for a path such as C:\x86.
_ESCAPES = {"\\": "\\", '"': '"', "'": "'", "n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f"}
_UNICODE = re.compile(r"\\u([0-9a-fA-F]{4})")
_PACKED = 2
"""How often JSON may be packed into a JSON string."""


class _Refused(Exception):
    """Not JSON, and no damage with a single undoing."""


def parse_arguments(text: str, *, complete: bool = True) -> dict[str, Any] | None:
    """The arguments that a model wrote, or None when there is no single reading of them.

    Args:
        text: What it wrote; nothing at all stands for no arguments.
        complete: Whether its answer ended by itself. One that hit a length limit may have lost
            anything at its end, so nothing is added there.
    """
    if complete and not text.strip():
        return {}
    try:
        value = _read(text, complete, _PACKED)
    except (_Refused, ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def strict(text: str) -> Any:
    """JSON as the standard has it: no NaN, no infinity, no key twice with different values.

    Raises:
        ValueError: It is not.
        RecursionError: It is nested too deeply.
    """
    value = json.loads(
        text, object_pairs_hook=_object, parse_constant=_no_constant, parse_float=_finite
    )
    # Half of a surrogate pair is no character: it could be neither stored nor sent.
    json.dumps(value, ensure_ascii=False).encode()
    return value


def _read(text: str, complete: bool, unpack: int) -> Any:
    text = text.strip()
    fence = _FENCE.match(text)
    if fence:
        text = text[fence.end() :].removesuffix("```").strip()
    try:
        value = strict(text)
    except ValueError:
        value = _Reader(text, complete).whole()
    if isinstance(value, str) and unpack:
        return _read(value, complete, unpack - 1)
    return value


class _Reader:
    """Reads one value of the forgiving grammar."""

    def __init__(self, text: str, complete: bool) -> None:
        self._text = text
        self._at = 0
        self._complete = complete
        self._may_close = False
        """Whether what stands before is whole by itself, so that only closers can be missing."""

    def whole(self) -> Any:
        value = self._value()
        self._gap()
        if self._at < len(self._text):
            self._refuse("something follows")
        json.dumps(value, ensure_ascii=False).encode()  # see strict
        return value

    def _value(self) -> Any:
        self._gap()
        char = self._text[self._at : self._at + 1]
        if char == "{":
            return self._mapping()
        if char == "[":
            return self._list()
        if char in _QUOTES and char:
            return self._string(char)
        number = _NUMBER.match(self._text, self._at)
        if number:
            self._at, self._may_close = number.end(), False
            broken = number.group(1) or number.group(2)
            return _finite(number.group()) if broken else int(number.group())
        word = self._word()
        if word not in _LITERALS:
            self._refuse("no value")
        self._may_close = True
        return _LITERALS[word]

    def _mapping(self) -> dict[str, Any]:
        self._at += 1
        pairs: list[tuple[str, Any]] = []
        while not self._closed("}", pairs):
            key = self._key()
            self._gap()
            self._take(":")
            self._may_close = False
            pairs.append((key, self._value()))
        return _object(pairs)

    def _list(self) -> list[Any]:
        self._at += 1
        items: list[Any] = []
        while not self._closed("]", items):
            items.append(self._value())
        return items

    def _closed(self, closer: str, items: list[Any]) -> bool:
        """Whether the object or list ends here; else the separator before the next item is read."""
        self._gap()
        if self._at == len(self._text) and items and self._may_close and self._complete:
            return True
        if items and not self._text.startswith(closer, self._at):
            self._take(",")
            self._may_close = False
            self._gap()
        if self._text.startswith(closer, self._at):
            self._at += 1
            self._may_close = True
            return True
        return False

    def _key(self) -> str:
        char = self._text[self._at : self._at + 1]
        if char in _QUOTES and char:
            return self._string(char)
        word = self._word()
        if not word or word in _LITERALS:
            self._refuse("no key")
        return word

    def _string(self, opener: str) -> str:
        closer = _QUOTES[opener]
        self._at += 1
        parts: list[str] = []
        while True:
            plain = _PLAIN.match(self._text, self._at)
            if plain:
                parts.append(plain.group())
                self._at = plain.end()
            char = self._text[self._at : self._at + 1]
            if char == closer:
                self._at, self._may_close = self._at + 1, True
                return "".join(parts)
            if char == "\\":
                parts.append(self._escape(opener))
            elif char and char in _MARKS:
                parts.append(char)
                self._at += 1
            else:
                self._refuse("a string without an end, or with a control character")

    def _escape(self, opener: str) -> str:
        unicode = _UNICODE.match(self._text, self._at)
        if unicode:
            return self._unicode(unicode)
        char = self._text[self._at + 1 : self._at + 2]
        if char == "/" and opener == '"':  # Python would keep the backslash
            self._at += 2
            return "/"
        if char not in _ESCAPES:
            self._refuse("an escape that may mean two things")
        self._at += 2
        return _ESCAPES[char]

    def _unicode(self, match: re.Match[str]) -> str:
        code = int(match.group(1), 16)
        self._at = match.end()
        if 0xD800 <= code < 0xDC00:
            low = _UNICODE.match(self._text, self._at)
            if low and 0xDC00 <= int(low.group(1), 16) < 0xE000:
                self._at = low.end()
                return chr(0x10000 + ((code - 0xD800) << 10) + int(low.group(1), 16) - 0xDC00)
        return chr(code)  # half a pair is refused at the end

    def _gap(self) -> None:
        match = _GAP.match(self._text, self._at)
        self._at = match.end() if match else self._at

    def _word(self) -> str:
        match = _WORD.match(self._text, self._at)
        if match is None:
            return ""
        self._at = match.end()
        return match.group()

    def _take(self, char: str) -> None:
        if not self._text.startswith(char, self._at):
            self._refuse(f"no {char}")
        self._at += 1

    def _refuse(self, why: str) -> Never:
        raise _Refused(why)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        # Compared as JSON text: to Python 1, 1.0 and True are the same.
        if key in found and json.dumps(found[key]) != json.dumps(value):
            raise ValueError("a key twice with different values")
        found[key] = value
    return found


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError("a number that is too large")
    return value


def _no_constant(name: str) -> Never:
    raise ValueError(f"{name} is no JSON")
