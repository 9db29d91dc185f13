"""Finds the tools that a question names, in the order in which it names them."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from app.agent.llm.base import ToolSchema

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
    r"\b(?:don'?t|do\s+not|without|skip|except|excluding|omit|never|no|not|instead\s+of|ohne|nicht|"
    r"kein\w*|au(?:\xdf|ss)er|statt)\s+"
    r"(?:(?:run|use|call|running|using|the|for|das|den|die|mit|by|with)\s+)*$",
    re.IGNORECASE,
)
_ABOUT = re.compile(
    r"\b(?:what\s+(?:does|do|is)|(?:what|which)\s+(?:arguments|parameters|options|inputs?)\s+"
    r"(?:does|do|has)|how\s+do\s+i\s+use|how\s+does|tell\s+me\s+about|describe|explain|"
    r"was\s+(?:macht|tut|ist)|wie\s+(?:funktioniert|arbeitet)|erkl(?:\xe4|ae)re?)\s+"
    r"(?:(?:to\s+me|how|what|mir|wie|was)\s+)*(?:(?:the|das|der|die)\s+)?(?:tool\s+|werkzeug\s+)?$",
    re.IGNORECASE,
)
_THERE = re.compile(r"\s+(?:tool\s+)?(?:available|installed|there)\s*\?", re.IGNORECASE)
_WHAT_IS = re.compile(r"what\s+is\b", re.IGNORECASE)
_PART = re.compile(r"[.?!;\n]+|,?\s+\b(?:and|then|also)\b", re.IGNORECASE)
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


def with_phrases(
    text: str, mentions: list[Mention], tools: Mapping[str, ToolSchema]
) -> list[Mention]:
    """The mentions, and where `text` says one of the tools' own phrases instead of the name."""
    spoken = [
        Mention(name, match.start(), match.end(), known=True, negated=_is_negated(text, match))
        for name, tool in tools.items()
        for phrase in tool.phrases
        for match in _said(phrase, text)
    ]
    found = list(mentions)
    for item in _longest(spoken):
        # Said twice, meant once.
        if not any(other.name == item.name or _overlap(other, item) for other in found):
            found.append(item)
    return sorted(found, key=lambda item: item.start)


def without_phrases(text: str, tools: Mapping[str, ToolSchema]) -> str | None:
    """`text` with the parts blanked that say a tool's phrase; None when none does."""
    said = with_phrases(text, [], tools)
    if not said:
        return None
    rest, start = "", 0
    for end in [*(match.end() for match in _PART.finditer(text)), len(text)]:
        held = any(item.start < end and start < item.end for item in said)
        rest += " " * (end - start) if held else text[start:end]
        start = end
    return rest


def _said(phrase: str, text: str) -> list[re.Match[str]]:
    """Where a phrase stands, in any case, with or without articles between its words."""
    words = [re.escape(word) for word in re.split(r"[\s_-]+", phrase.strip()) if word]
    if not words:
        return []
    between = r"[\s_-]+(?:(?:the|a|an|all|this|these|that|those|my)\s+)*"
    return list(re.finditer(rf"(?<!\w){between.join(words)}(?!\w)", text, re.IGNORECASE))


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
    parts = [re.escape(part) for part in re.split(r"[_-]+", name) if part]
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
        negated=_is_negated(text, match),
        about=_is_about(before, match.group()) or _asks_if_there(text, match),
    )


def _is_about(before: str, written: str) -> bool:
    found = _ABOUT.search(before)
    # "What is the cell count?" wants it counted; "What is cell_count?" asks about the tool.
    of_tool = "_" in written or (found is not None and "tool" in found.group().lower())
    return found is not None and (of_tool or not _WHAT_IS.match(found.group()))


def _asks_if_there(text: str, match: re.Match[str]) -> bool:
    return _THERE.match(text, match.end()) is not None


def _is_negated(text: str, match: re.Match[str]) -> bool:
    return _NEGATED.search(_before(text, match.start())) is not None


def _overlap(one: Mention, other: Mention) -> bool:
    return one.start < other.end and other.start < one.end


def _longest(found: list[Mention]) -> list[Mention]:
    kept: list[Mention] = []
    for item in sorted(found, key=lambda one: one.start - one.end):
        if not any(_overlap(other, item) for other in kept):
            kept.append(item)
    return sorted(kept, key=lambda one: one.start)
