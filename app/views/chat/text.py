"""Text that others wrote: made harmless, and read as a small Markdown subset.

What a model, a tool or a file says never becomes HTML here: it is split into spans, and a span is
written into a document with a character format. Knows no toolkit.
"""

from __future__ import annotations

import html
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum

from app.agent.answers.evidence import UNKNOWN, citations, numbers_in

# What a QTextDocument reads as structure (frames, inline objects), what ends a line elsewhere, and
# what reorders a line so that it says something else than it is (bidirectional overrides).
_LINE_ENDS = re.compile("\r\n?|[\u2028\u2029\x0b\x0c\x85]")
_HARMFUL = re.compile(
    "[\x00-\x08\x0e-\x1f\x7f\u202a-\u202e\u2066-\u2069\ufdd0-\ufdef\ufffc\ufffe\uffff\ud800-\udfff]"
)
_LONG_WORD = re.compile(r"\S{25,}")
_WORD_PART = re.compile(r"\S{0,19}[/\\_.,:;=-]+(?=\S)|\S{20}(?=\S)")
_INLINE = re.compile(r"(?P<code>`[^`\n]+`)|(?P<bold>\*\*(?=\S)[^*\n]+?(?<=\S)\*\*)")
_BULLET = re.compile(r"^(\s*)[-*•]\s+(.*)$")
_NUMBER = re.compile(r"^(\s*)(\d{1,3}[.)])\s+(.*)$")
_HEADING = re.compile(r"^#{1,6}\s+(.*)$")
_FENCE = re.compile(r"^\s*```")


class Style(Enum):
    """How a span looks."""

    PLAIN = "plain"
    BOLD = "bold"
    CODE = "code"
    LINK = "link"
    CITATION = "citation"
    UNKNOWN = "unknown"


class Kind(Enum):
    """What a line is."""

    PARAGRAPH = "paragraph"
    HEADING = "heading"
    ITEM = "item"
    CODE = "code"
    BLANK = "blank"
    FENCE = "fence"


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of a line.

    Attributes:
        text: The piece.
        style: How it looks.
        target: Of a link the finding's id, of a citation the result's number.
        tip: What a citation leads to.
    """

    text: str
    style: Style = Style.PLAIN
    target: str = ""
    tip: str = ""


@dataclass(frozen=True, slots=True)
class Line:
    """A line of Markdown: what it is, its nesting, its list marker and its text."""

    kind: Kind
    text: str = ""
    level: int = 0
    marker: str = ""


def clean(text: str) -> str:
    """`text` without characters that a document would take for structure or direction."""
    return _HARMFUL.sub("\ufffd", _LINE_ENDS.sub("\n", text))


def one_line(text: str, limit: int = 300) -> str:
    """`text` cleaned, on one line and cut at `limit` characters."""
    flat = " ".join(clean(text[: limit * 4]).split())
    return flat if len(flat) <= limit else flat[: limit - 1] + "…"


def breakable(text: str) -> str:
    """`text` whose long words (paths, file names, UIDs) may be broken, where that looks best."""
    return _LONG_WORD.sub(lambda word: _WORD_PART.sub("\\g<0>\u200b", word[0]), text)


def tooltip(text: str) -> str:
    """`text` for `setToolTip`, which guesses rich text: escaped, so that it shows literally."""
    if not text:
        return ""
    return "<qt>" + html.escape(clean(text)).replace("\n", "<br>") + "</qt>"


def menu_text(text: str) -> str:
    """`text` for an action or a button, where "&" would mark a shortcut."""
    return one_line(text).replace("&", "&&")


def read_line(raw: str, *, fenced: bool) -> Line:
    """What the line `raw` is; `fenced` inside a ``` block, where nothing is read."""
    if _FENCE.match(raw):
        return Line(Kind.FENCE)
    if fenced:
        return Line(Kind.CODE, raw)
    if not raw.strip():
        return Line(Kind.BLANK)
    if match := _HEADING.match(raw):
        return Line(Kind.HEADING, match[1])
    if match := _BULLET.match(raw):
        return Line(Kind.ITEM, match[2], _level(match[1]), "•")
    if match := _NUMBER.match(raw):
        return Line(Kind.ITEM, match[3], _level(match[1]), match[2])
    return Line(Kind.PARAGRAPH, raw.strip())


def _level(indent: str) -> int:
    return min(3, len(indent.expandtabs(4)) // 2)


class Linker:
    """Finds what text leads to: labels of findings ("the Right Lung"), numbers of results ("[1]").

    Args:
        targets: Label to finding id.
        results: Number to what the result is.
        unknown: Numbers that are cited and that no result has.
    """

    def __init__(
        self,
        targets: Mapping[str, str] | None = None,
        results: Mapping[int, str] | None = None,
        unknown: Collection[int] = (),
    ) -> None:
        self._results = dict(results or {})
        self._unknown = frozenset(unknown)
        self._targets = {label.casefold(): target for label, target in (targets or {}).items()}
        labels = sorted((key for key in self._targets if len(key) > 2), key=len, reverse=True)
        joined = "|".join(re.escape(label) for label in labels)
        self._pattern = re.compile(rf"(?<!\w)(?:{joined})(?!\w)", re.IGNORECASE) if joined else None

    def split(self, text: str, style: Style) -> Iterator[Span]:
        """`text` in spans, labels and citations as links."""
        at = 0
        for found in citations(text, self._results):
            yield from self._labels(text[at : found.start()], style)
            yield from self._cited(found[0], style)
            at = found.end()
        yield from self._labels(text[at:], style)

    def _cited(self, text: str, style: Style) -> Iterator[Span]:
        """A citation: its numbers are links, and so are the brackets around a single one."""
        found = list(numbers_in(text))
        at = 0
        for one in found:
            start, end = (0, len(text)) if len(found) == 1 else one.span()
            if start > at:
                yield Span(text[at:start], style)
            at = end
            tip = self._results.get(int(one["number"]))
            if one["unknown"]:
                yield Span(text[start:end], Style.UNKNOWN)
            elif int(one["number"]) in self._unknown:
                yield Span(
                    f"{text[start : one.end()]}{UNKNOWN}{text[one.end() : end]}", Style.UNKNOWN
                )
            elif tip is None:
                yield Span(text[start:end], style)
            else:
                yield Span(text[start:end], Style.CITATION, one["number"], tip)
        if at < len(text):
            yield Span(text[at:], style)

    def _labels(self, text: str, style: Style) -> Iterator[Span]:
        if not text:
            return
        if self._pattern is None:
            yield Span(text, style)
            return
        at = 0
        for match in self._pattern.finditer(text):
            if match.start() > at:
                yield Span(text[at : match.start()], style)
            yield Span(match[0], Style.LINK, self._targets.get(match[0].casefold(), ""))
            at = match.end()
        if at < len(text):
            yield Span(text[at:], style)


def read_spans(text: str, linker: Linker) -> Iterator[Span]:
    """The spans of a line's text: **bold**, `code`, links, and the rest as it is."""
    at = 0
    for match in _INLINE.finditer(text):
        if match.start() > at:
            yield from linker.split(text[at : match.start()], Style.PLAIN)
        if match["code"]:
            yield Span(match[0][1:-1], Style.CODE)
        else:
            yield from linker.split(match[0][2:-2], Style.BOLD)
        at = match.end()
    if at < len(text):
        yield from linker.split(text[at:], Style.PLAIN)
