"""Tools that a question mentions, in the order in which they appear."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from app.agent.llm.base import ToolSchema

_VERB = r"run|call|use|execute|invoke|apply|start|do"
_MARKER = r"(?:step\s*)?\d{1,2}\s*[).:\-]|[-*\u2022]"
# Words that must precede an unknown name for it to count as a tool's: any identifier would match.
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
_INSTALLED = re.compile(r"\s+(?:tool\s+)?(?:available|installed|there)\s*\?", re.IGNORECASE)
_WHAT_IS = re.compile(r"what\s+is\b", re.IGNORECASE)
_PART = re.compile(r"[.?!;\n]+|,?\s+\b(?:and|then|also)\b", re.IGNORECASE)
_IDENTIFIER = re.compile(r"(?<![\w./\\-])[A-Za-z]\w*_\w+(?![\w/\\]|-\d)")
# Identifiers that are arguments, not tools.
_PATHLIKE = re.compile(r"_paths?$|_tokens$|_scale$|_steps$|_center$|_width$", re.IGNORECASE)
# Characters before a name that are searched; the patterns' time grows with them.
_REACH = 120
_ASSIGNED = re.compile(r"\s*=")


@dataclass(frozen=True, slots=True)
class Mention:
    """A tool mentioned in a question.

    Attributes:
        name: The tool's registered name; for an unknown tool, the name as written.
        start: Offset of the mention's first character in the question.
        end: Offset after the mention's last character.
        known: Whether a tool with that name exists.
        negated: Whether the question says to leave the tool out.
        about_tool: Whether the question is about the tool itself ("what does X do").
    """

    name: str
    start: int
    end: int
    known: bool
    negated: bool = False
    about_tool: bool = False


def find_mentions(text: str, tools: Mapping[str, ToolSchema]) -> list[Mention]:
    """Return the mentions of tools by name in a text, in the order in which they appear.

    A known tool's name may be written with underscores, spaces or hyphens. An unknown name counts
    only if it is used like a call ("run X").
    """
    found = [
        _mention(text, match, name, known=True)
        for name, tool in tools.items()
        for one in (name, *tool.other_names)
        for match in _name_matches(one, text)
    ]
    found = _longest(found)
    for match in _IDENTIFIER.finditer(text):
        if any(item.start < match.end() and match.start() < item.end for item in found):
            continue
        if _PATHLIKE.search(match.group()) or _ASSIGNED.match(text, match.end()):
            continue
        before = _text_before(text, match.start())
        previous = max((item.end for item in found if item.end <= match.start()), default=-1)
        joined = previous >= 0 and _JOINED.match(text[previous : match.start()])
        if _CALLING.search(before) or joined or _NEGATED.search(before):
            found.append(_mention(text, match, match.group(), known=False))
            found.sort(key=lambda item: item.start)
    return _spread_negation(text, sorted(found, key=lambda item: item.start))


def with_phrases(
    text: str, mentions: list[Mention], tools: Mapping[str, ToolSchema]
) -> list[Mention]:
    """Return `mentions` and those of tools by a phrase (`ToolSchema.phrases`), in text order."""
    spoken = [
        Mention(name, match.start(), match.end(), known=True, negated=_is_negated(text, match))
        for name, tool in tools.items()
        for phrase in tool.phrases
        for match in _phrase_matches(phrase, text)
    ]
    found = list(mentions)
    for item in _longest(spoken):
        # A tool mentioned by name and by phrase is to run once.
        if not any(other.name == item.name or _overlap(other, item) for other in found):
            found.append(item)
    return sorted(found, key=lambda item: item.start)


def without_phrases(text: str, tools: Mapping[str, ToolSchema]) -> str | None:
    """Return the text with spaces in place of each part that contains a tool's phrase.

    Sentence ends, line breaks and the words "and", "then" and "also" separate parts. Return None if
    the text contains no tool's phrase.
    """
    said = with_phrases(text, [], tools)
    if not said:
        return None
    rest, start = "", 0
    for end in [*(match.end() for match in _PART.finditer(text)), len(text)]:
        held = any(item.start < end and start < item.end for item in said)
        rest += " " * (end - start) if held else text[start:end]
        start = end
    return rest


def _phrase_matches(phrase: str, text: str) -> list[re.Match[str]]:
    """Return a phrase's matches, ignoring case and articles between its words."""
    words = [re.escape(word) for word in re.split(r"[\s_-]+", phrase.strip()) if word]
    if not words:
        return []
    between = r"[\s_-]+(?:(?:the|a|an|all|this|these|that|those|my)\s+)*"
    return list(re.finditer(rf"(?<!\w){between.join(words)}(?!\w)", text, re.IGNORECASE))


def _spread_negation(text: str, mentions: list[Mention]) -> list[Mention]:
    """Mark mentions as negated that continue a negated list, as b in "without a and b"."""
    spread: list[Mention] = []
    for item in mentions:
        before = spread[-1] if spread else None
        if before and before.negated and _ENUMERATED.match(text[before.end : item.start]):
            item = replace(item, negated=True)
        spread.append(item)
    return spread


def grouped(text: str, mentions: list[Mention]) -> list[list[Mention]]:
    """Return the mentions in groups joined by commas or "and": "a and b on that image"."""
    groups: list[list[Mention]] = []
    for mention in mentions:
        if groups and _JOINED.match(text[groups[-1][-1].end : mention.start]):
            groups[-1].append(mention)
        else:
            groups.append([mention])
    return groups


def _name_matches(name: str, text: str) -> list[re.Match[str]]:
    """Return the places where a tool's name is written in any spelling."""
    parts = [re.escape(part) for part in re.split(r"[_-]+", name) if part]
    if len(parts) == 1:
        # A one-word name ("echo") may be an ordinary word, so it counts only after "run" etc.
        pattern = re.compile(rf"(?<![\w./\\-]){parts[0]}(?![\w/\\=-])", re.IGNORECASE)
        return [m for m in pattern.finditer(text) if _CALLING.search(_text_before(text, m.start()))]
    joined = r"[_\s-]+".join(part.replace("xray", "x-?ray") for part in parts)
    return list(re.finditer(rf"(?<![\w./\\-]){joined}(?![\w/\\=-])", text, re.IGNORECASE))


def _text_before(text: str, position: int) -> str:
    """Return the text shortly before a position; words further back have no effect."""
    return text[max(0, position - _REACH) : position]


def _mention(text: str, match: re.Match[str], name: str, *, known: bool) -> Mention:
    before = _text_before(text, match.start())
    return Mention(
        name,
        match.start(),
        match.end(),
        known,
        negated=_is_negated(text, match),
        about_tool=_asks_about_tool(before, match.group())
        or _INSTALLED.match(text, match.end()) is not None,
    )


def _asks_about_tool(before: str, written: str) -> bool:
    found = _ABOUT.search(before)
    # "What is the cell count?" asks for a result; "What is cell_count?" asks about the tool.
    of_tool = "_" in written or (found is not None and "tool" in found.group().lower())
    return found is not None and (of_tool or not _WHAT_IS.match(found.group()))


def _is_negated(text: str, match: re.Match[str]) -> bool:
    return _NEGATED.search(_text_before(text, match.start())) is not None


def _overlap(one: Mention, other: Mention) -> bool:
    return one.start < other.end and other.start < one.end


def _longest(found: list[Mention]) -> list[Mention]:
    """Return the mentions without those that overlap a longer one."""
    kept: list[Mention] = []
    for item in sorted(found, key=lambda one: one.start - one.end):
        if not any(_overlap(other, item) for other in kept):
            kept.append(item)
    return sorted(kept, key=lambda one: one.start)
