"""Text of a question: normalised characters, masked quotations, whole words and literal values."""

from __future__ import annotations

import json
import re
import unicodedata
from typing import Any

_QUOTES = str.maketrans("“”„«»‘’‚‛`\u00a0\u2013\u2014", "\"\"\"\"\"''''' --")
_DOUBLE = re.compile(r'"(?:[^"\\]|\\.)*"')
_SINGLE = re.compile(r"(?<![^\s=(\[,:])'(?:[^'\\\n]|\\.)*'(?=[\s,.;:?!)\]]|$)")
_MASK = "\x00"
_NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")

MAX_QUESTION = 5_000
"""Maximum length of a question in characters; the time some rules take grows with its square."""


def normalised(question: str) -> str:
    """Return the first `MAX_QUESTION` characters, quotes made straight, invisible ones removed."""
    text = question[:MAX_QUESTION].replace("\r\n", "\n").replace("\r", "\n").translate(_QUOTES)
    return "".join(
        char for char in text if char in "\n\t" or unicodedata.category(char) not in ("Cc", "Cf")
    )


def masked(text: str) -> str:
    """Return `text` with the contents of quoted strings replaced by NUL characters.

    The length stays the same. Quoted text is thus never read as an instruction.
    """

    def blank(match: re.Match[str]) -> str:
        found = match.group()
        return f"{found[0]}{_MASK * (len(found) - 2)}{found[-1]}"

    return _SINGLE.sub(blank, _DOUBLE.sub(blank, text))


def read_value(text: str) -> tuple[Any, str] | None:
    """Return the value at the start of `text` as (value, its source text), or None.

    Quoted strings, [lists], (tuples), <placeholders>, numbers, true, false, null and bare words are
    recognised.
    """
    stripped = text.lstrip()
    if not stripped:
        return None
    source = _value_source(stripped)
    return (_parsed(source), source) if source else None


def _value_source(text: str) -> str:
    closing = {"[": "]", "(": ")", "<": ">", "{": "}"}.get(text[0])
    if closing:
        end = masked(text).find(closing)
        return text[: end + 1] if end > 0 else ""
    if text[0] in "\"'":
        end = text.find(text[0], 1)
        while end > 0 and text[end - 1] == "\\":
            end = text.find(text[0], end + 1)
        return text[: end + 1] if end > 0 else ""
    match = re.match(r"[^\s,;]+", text)
    return match.group().rstrip(".)") if match else ""


def _parsed(source: str) -> Any:
    if source[0] in "\"'":
        return source[1:-1].replace(f"\\{source[0]}", source[0])
    if source[0] in "[(":
        return _parsed_list(source)
    if _NUMBER.fullmatch(source):
        number = float(source)
        return int(source) if re.fullmatch(r"[-+]?\d+", source) else number
    words = {"true": True, "false": False, "null": None, "none": None}
    return words.get(source.lower(), source)


def _parsed_list(source: str) -> list[Any]:
    try:
        value: Any = json.loads(f"[{source[1:-1]}]")
    except (ValueError, RecursionError):
        pieces = [piece.strip() for piece in source[1:-1].split(",")]
        return [_parsed(piece) for piece in pieces if piece]
    return value
