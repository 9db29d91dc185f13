"""Finds the tools that a question names, in the order in which it names them."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, replace

_VERB = r"run|call|use|execute|invoke|apply|start|do"
_MARKER = r"(?:step\s*)?\d{1,2}\s*[).:\-]|[-*\u2022]"
# What may stand right before an unknown name for it to count as a tool's.
_CALLING = re.compile(
    rf"(?:(?:^|[\s;.:,])(?:{_MARKER})\s*|\b(?:{_VERB}|then|first|next|afterwards)\s+)"
    rf"(?:(?:{_VERB}|then|first|next|please|also|the|tool)\s+)*(?:tool\s+)?$",
    re.IGNORECASE,
)
_JOINED = re.compile(r"^[\s,&+]*(?:and|then|also)?[\s,]*(?:the\s+)?$", re.IGNORECASE)
_ENUMERATED = re.compile(r"^[\s,]*(?:and|or|nor)?[\s,]*(?:the\s+)?$", re.IGNORECASE)
_NEGATED = re.compile(
    r"\b(?:don'?t|do\s+not|without|skip|except|excluding|omit|never|no)\s+"
    r"(?:(?:run|use|call|running|using|the|for)\s+)*$",
    re.IGNORECASE,
)
_ABOUT = re.compile(
    r"\b(?:what\s+(?:does|do|is)|how\s+does|tell\s+me\s+about|describe|explain)\s+(?:the\s+)?"
    r"(?:tool\s+)?$",
    re.IGNORECASE,
)
_IDENTIFIER = re.compile(r"(?<![\w./\\-])[A-Za-z]\w*_\w+(?![\w/\\]|-\d)")
_PATHLIKE = re.compile(r"_paths?$|_tokens$|_scale$|_steps$|_center$|_width$", re.IGNORECASE)
_REACH = 120
_ASSIGNED = re.compile(r"\s*=")


@dataclass(frozen=True, slots=True)
class Mention:
    """A tool named in a question.

    Attributes:
        name: As the registry spells it, or as the user wrote it when there is no such tool.
        start: Where it begins.
        end: Where it ends.
        known: Whether there is such a tool.
        negated: Whether it is named to be left out.
        about: Whether the question is about the tool ("what does X do").
    """

    name: str
    start: int
    end: int
    known: bool
    negated: bool = False
    about: bool = False


def find_mentions(text: str, names: Collection[str]) -> list[Mention]:
    """The tools named in `text` (quoted strings blanked), in its order.

    Known ones in any spelling with underscores, spaces or hyphens; unknown ones where they stand
    like a call.
    """
    found = [_known(text, match, name) for name in names for match in _spelled(name, text)]
    found = _longest(found)
    for match in _IDENTIFIER.finditer(text):
        if any(item.start < match.end() and match.start() < item.end for item in found):
            continue
        if _PATHLIKE.search(match.group()) or _ASSIGNED.match(text, match.end()):
            continue
        before = _before(text, match.start())
        previous = max((item.end for item in found if item.end <= match.start()), default=-1)
        joined = previous >= 0 and _JOINED.match(text[previous : match.start()])
        if _CALLING.search(before) or joined or _NEGATED.search(before):
            found.append(_mention(text, match, match.group(), known=False))
            found.sort(key=lambda item: item.start)
    return _spread_negation(text, sorted(found, key=lambda item: item.start))


def _spread_negation(text: str, mentions: list[Mention]) -> list[Mention]:
    """In "without a and b" both are left out."""
    spread: list[Mention] = []
    for item in mentions:
        before = spread[-1] if spread else None
        if before and before.negated and _ENUMERATED.match(text[before.end : item.start]):
            item = replace(item, negated=True)
        spread.append(item)
    return spread


def grouped(text: str, mentions: list[Mention]) -> list[list[Mention]]:
    """Mentions that share what follows them ("a, b, and c on that image")."""
    groups: list[list[Mention]] = []
    for mention in mentions:
        if groups and _JOINED.match(text[groups[-1][-1].end : mention.start]):
            groups[-1].append(mention)
        else:
            groups.append([mention])
    return groups


def _spelled(name: str, text: str) -> list[re.Match[str]]:
    parts = [re.escape(part) for part in name.split("_")]
    if len(parts) == 1:
        # A one-word name ("echo") is a common word: only a call counts.
        pattern = re.compile(rf"(?<![\w./\\-]){parts[0]}(?![\w/\\=-])", re.IGNORECASE)
        return [m for m in pattern.finditer(text) if _CALLING.search(_before(text, m.start()))]
    joined = r"[_\s-]+".join(part.replace("xray", "x-?ray") for part in parts)
    return list(re.finditer(rf"(?<![\w./\\-]){joined}(?![\w/\\=-])", text, re.IGNORECASE))


def _before(text: str, position: int) -> str:
    """What stands right before a position; further back nothing bears on it."""
    return text[max(0, position - _REACH) : position]


def _known(text: str, match: re.Match[str], name: str) -> Mention:
    return _mention(text, match, name, known=True)


def _mention(text: str, match: re.Match[str], name: str, *, known: bool) -> Mention:
    before = _before(text, match.start())
    return Mention(
        name,
        match.start(),
        match.end(),
        known,
        negated=_NEGATED.search(before) is not None,
        about=_ABOUT.search(before) is not None,
    )


def _longest(found: list[Mention]) -> list[Mention]:
    kept: list[Mention] = []
    for item in sorted(found, key=lambda one: one.start - one.end):
        if not any(other.start < item.end and item.start < other.end for other in kept):
            kept.append(item)
    return sorted(kept, key=lambda one: one.start)
