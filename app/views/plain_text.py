"""Makes text from models, tools and files safe to show as plain text; independent of Qt."""

from __future__ import annotations

import re

# Line ends of other systems, and characters that a QTextDocument takes for the end of a line.
_LINE_ENDS = re.compile("\r\n?|[\u2028\u2029\x0b\x0c\x85]")
# Control characters, what a QTextDocument takes for frames and inline objects, lone surrogates, and
# bidirectional overrides, which reorder a line so that it reads as something else.
_HARMFUL = re.compile(
    "[\x00-\x08\x0e-\x1f\x7f\u202a-\u202e\u2066-\u2069\ufdd0-\ufdef\ufffc\ufffe\uffff\ud800-\udfff]"
)
_LONG_WORD = re.compile(r"\S{25,}")
_WORD_PART = re.compile(r"\S{0,19}[/\\_.,:;=-]+(?=\S)|\S{20}(?=\S)")


def clean(text: str) -> str:
    """Return text with plain line breaks and U+FFFD for controls, which are structure."""
    return _HARMFUL.sub("\ufffd", _LINE_ENDS.sub("\n", text))


def one_line(text: str, limit: int = 300) -> str:
    """Return `text` cleaned by `clean`, on one line and cut to `limit` characters."""
    flat = " ".join(clean(text[: limit * 4]).split())
    return flat if len(flat) <= limit else flat[: limit - 1] + "…"


def breakable(text: str) -> str:
    """Return `text` with zero-width spaces as possible line breaks in long words, e.g. paths."""
    return _LONG_WORD.sub(lambda word: _WORD_PART.sub("\\g<0>\u200b", word[0]), text)


def menu_text(text: str) -> str:
    """Return `text` on one line with each "&" doubled, as Qt needs it for actions and buttons."""
    return one_line(text).replace("&", "&&")
