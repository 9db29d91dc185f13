"""Finds values of arguments in a question by the packs' words: "collarbone", "window 40/400"."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import date, timedelta
from functools import lru_cache
from typing import Any

from app.agent.llm.base import ToolSchema
from app.agent.planning.negation import Denial
from app.agent.planning.vocabulary import (
    DETERMINERS,
    Match,
    Token,
    Vocabulary,
    longest_matches,
    tokens_of,
)
from app.paths import question_words
from app.tools.pack_plan import DateWords, TextWords, ToolRule, ValueWords

_SIDE_WORDS = {
    "Left": "left l lt linke linken linker linkes links li lings linx lincs lefft",
    "Right": "right r rt rechte rechten rechter rechtes rechts re reschts rehts recht",
}
_SIDES = {word: side for side, words in _SIDE_WORDS.items() for word in words.split()}
_WITH_SIDE = frozenset(("and", "or", "und", "oder", "sided", "seitige", "seitigen", "hand"))
# In "is the right lung smaller than the left?", the side after these words is meant as well.
_COMPARISON_WORDS = frozenset(
    ("than", "versus", "vs", "with", "to", "and", "or", "als", "mit", "und", "oder", "zum")
)
_SIDE_NOUNS = frozenset(("one", "side", "seite", "ones"))
_REACH = 12
# Words before a noun that are not part of its name, so that a text argument starts after them.
_NO_ADJECTIVES = question_words("no_adjectives")
# Words at which a text argument without its own punctuation ends.
_ENDS_PHRASE = question_words("ends_phrase")
# The contents of quoted strings are masked by NUL characters at this point.
_QUOTED = re.compile("[\"'](\x00+)[\"']")
_NUMBER = r"(-?\d+(?:\.\d+)?)"
_LINK = re.compile(r"\s*(?:=|:|of|to|auf|von|is|at)?\s*", re.IGNORECASE)
_SENTENCE_END = re.compile(r"[.?!;\n](?=\s|$)")
_LEAD = re.compile(r"^(?:(?:the|a|an|any|der|die|das|den|ein|eine|einen)\s+)+", re.IGNORECASE)
_NUMBERS = re.compile(rf"{_NUMBER}(?:\s*[/,]\s*{_NUMBER})?(?![\w])")


def find_values(
    rule: ToolRule, tokens: Sequence[Token], denied: Sequence[Denial]
) -> dict[str, list[Any]]:
    """Return the values that a question (`tokens`) gives for a tool's arguments, by argument name.

    They are found by the words in `rule`, in the order of the question, without those in `denied`.
    """
    found: dict[str, list[Any]] = {}
    for item, match in _value_matches(rule, tokens):
        if _is_excluded(match, denied):
            wanted = _other_side_value(item, match, tokens, denied)
        else:
            wanted = _values_by_side(item, match, tokens)
        if wanted:
            values = found.setdefault(item.argument, [])
            values += [value for value in wanted if value not in values]
    return found


def usual_values(
    rule: ToolRule, tokens: Sequence[Token], denied: Sequence[Denial], kinds: Collection[str]
) -> dict[str, list[Any]]:
    """Return a tool's default values for a question of `kinds`, less those that are excluded.

    "All but the heart" leaves out the heart. If no value of an argument would remain, all its
    defaults are returned.
    """
    out: set[tuple[str, Any]] = set()
    for item, match in _value_matches(rule, tokens):
        if _is_excluded(match, denied):
            out.update((item.argument, value) for value in _values_by_side(item, match, tokens))
    usual = rule.usual_values(kinds)
    left = {name: [value for value in values if (name, value) not in out] for name, values in usual}
    return {name: left[name] or list(values) for name, values in usual}


def as_argument(values: Sequence[Any], field: Mapping[str, Any]) -> Any:
    """Return `values` in the form required by an argument's schema, `field`: a list, or the first.

    If the schema requires a number, the first value is converted to float.
    """
    described = str(field)
    if "array" in described:
        return list(values)
    return float(values[0]) if "'number'" in described else values[0]


def find_numbers(rule: ToolRule, blank: str, schema: ToolSchema) -> dict[str, Any]:
    """Return the numbers that a question gives for a tool's arguments, by argument name.

    A number follows a word that `rule` declares: "window 40/400", "center 40". `blank` is the
    question with quoted contents blanked. Arguments that `schema` lacks are skipped.
    """
    known = schema.parameters.get("properties", {})
    found: dict[str, float] = {}
    for item in rule.numbers:
        words = "|".join(_word_pattern(word) for word in sorted(item.words, key=len, reverse=True))
        words = words or r"(?!)"
        for match in re.finditer(rf"(?<![\w.])(?:{words})(?![^\W\d])", blank, re.IGNORECASE):
            numbers = _numbers_after(blank, match.end(), len(item.arguments))
            for name, number in zip(item.arguments, numbers, strict=False):
                if name in known:
                    found.setdefault(name, number)
        units = "|".join(_word_pattern(word) for word in item.units)
        counted = re.search(rf"(?<![\w.])(\d{{1,7}})\s+(?:\w+\s+)?(?:{units})(?!\w)", blank, re.I)
        if units and counted and item.arguments[0] in known:
            found.setdefault(item.arguments[0], float(counted[1]))
    dates = find_dates(rule.dates, blank) if rule.dates is not None else {}
    return {name: _in_type(number, known[name]) for name, number in found.items()} | {
        name: text for name, text in dates.items() if name in known
    }


_DATE = r"((?:19|20)\d\d(?:-(?:0[1-9]|1[0-2])(?:-(?:0[1-9]|[12]\d|3[01]))?)?)(?![\w.-]*\d)"


def find_dates(words: DateWords, blank: str) -> dict[str, str]:
    """Return the first and the last date that a question names, by argument; see `DateWords`."""

    def dates_after(which: Sequence[str], count: int = 1) -> Sequence[str]:
        said = "|".join(_word_pattern(word) for word in sorted(which, key=len, reverse=True))
        more = rf"\s*(?:and|to|until|till|und|bis|-)\s*{_DATE}" * (count - 1)
        found = re.search(rf"(?<![\w.])(?:{said})\s+{_DATE}{more}", blank, re.IGNORECASE)
        return found.groups() if found else ()

    if both := dates_after((*words.between, *words.during), 2):
        return {words.first: both[0], words.last: both[1]}
    if only := dates_after(words.during):
        return {words.first: only[0], words.last: only[0]}
    found: dict[str, str] = {}
    for name, which, step in (
        (words.first, words.since, 0),
        (words.first, words.after, 1),
        (words.last, words.until, 0),
        (words.last, words.before, -1),
    ):
        if given := dates_after(which):
            found.setdefault(name, _stepped(given[0], step))
    return found


def _stepped(text: str, step: int) -> str:
    """Return the year, month or day after (`step` 1) or before (-1) a date of that precision."""
    parts = [int(part) for part in text.split("-")]
    if len(parts) == 1:
        return str(parts[0] + step)
    if len(parts) == 2:
        months = 12 * parts[0] + parts[1] - 1 + step
        return f"{months // 12}-{months % 12 + 1:02}"
    try:
        return (date(*parts) + timedelta(days=step)).isoformat()
    except ValueError:  # there is no such day
        return text


def _in_type(number: float, field: Mapping[str, Any]) -> Any:
    """Return a number as the argument's schema wants it: a year may be a text."""
    kinds = str(field)
    if "'string'" in kinds and "'number'" not in kinds:
        return f"{number:g}"
    return int(number) if "'integer'" in kinds and number.is_integer() else number


def find_texts(
    rule: ToolRule, blank: str, text: str, tokens: Sequence[Token] = ()
) -> dict[str, str]:
    """Return the texts that a question gives for a tool's arguments, by argument name.

    `text` is the question or a part of it, `blank` a copy of the same length with the contents of
    quoted strings blanked, and `tokens` its words; if (), they are found in `blank`.
    """
    found: dict[str, str] = {}
    for item in rule.texts:
        span = _text_span(item, blank, tokens)
        if span is None:
            continue
        said = text[span[0] : span[1]].strip()
        if not blank[: span[0]].endswith(('"', "'")):  # quoted text is passed on unchanged
            said = _LEAD.sub("", said)
        if said.strip(" ?.!\"'"):
            found.setdefault(item.argument, said.strip(" .!\"'") if item.after else said)
    return found


def _text_span(item: TextWords, blank: str, tokens: Sequence[Token]) -> tuple[int, int] | None:
    quoted = list(_QUOTED.finditer(blank)) if item.quoted else []
    if len(quoted) == 1:
        return quoted[0].span(1)
    if not item.after:
        return 0, len(blank)
    words = "|".join(_word_pattern(word) for word in sorted(item.after, key=len, reverse=True))
    match = re.search(rf"(?<!\w)(?:{words})(?!\w)\s*:?", blank, re.IGNORECASE)
    if match is not None and blank[match.end() :].strip(" ?.!"):
        end = _SENTENCE_END.search(blank, match.end())
        return match.end(), end.start() if end else len(blank)
    if item.about:
        return _phrase_span(item.about, tokens or tokens_of(blank))
    return (0, len(blank)) if item.all_addressed else None


def _phrase_span(words: tuple[str, ...], tokens: Sequence[Token]) -> tuple[int, int] | None:
    """Return the start and end of the phrase around the first of `words`, or None."""
    first = min((match.first for match in _phrase_vocabulary(words).find(tokens)), default=None)
    if first is None:
        return None
    start = first
    while start and tokens[start - 1].clause == tokens[first].clause:
        if tokens[start - 1].text in DETERMINERS | _NO_ADJECTIVES:
            break
        start -= 1
    last = first
    while last + 1 < len(tokens) and tokens[last + 1].clause == tokens[first].clause:
        if tokens[last + 1].text in _ENDS_PHRASE:
            break
        last += 1
    return tokens[start].start, tokens[last].end


@lru_cache(maxsize=16)
def _phrase_vocabulary(words: tuple[str, ...]) -> Vocabulary:
    return Vocabulary(("", word) for word in words)


def _numbers_after(blank: str, position: int, count: int) -> list[float]:
    """Return the `count` numbers that start at a position, or []."""
    link = _LINK.match(blank, position)
    match = _NUMBERS.match(blank, link.end() if link else position)
    given = [float(part) for part in match.groups() if part] if match else []
    return given if len(given) >= count else []


def _word_pattern(word: str) -> str:
    return r"[\s-]+".join(re.escape(part).replace(r"\*", r"\w*") for part in word.split())


def _value_matches(rule: ToolRule, tokens: Sequence[Token]) -> Iterator[tuple[ValueWords, Match]]:
    """Yield the values whose words occur in the question, in its order."""
    vocabulary = _value_vocabulary(rule.values)
    matches = longest_matches(vocabulary.find(tokens))
    for match in sorted(matches, key=lambda one: one.first):
        yield rule.values[int(match.owner)], match


@lru_cache(maxsize=64)
def _value_vocabulary(values: tuple[ValueWords, ...]) -> Vocabulary:
    return Vocabulary(
        (str(number), word) for number, item in enumerate(values) for word in item.words
    )


def _is_excluded(match: Match, denied: Sequence[Denial]) -> bool:
    return any(match.positions <= denial.positions for denial in denied)


def _values_by_side(item: ValueWords, match: Match, tokens: Sequence[Token]) -> list[Any]:
    """Return the value for each side that is named, or for both sides if none is."""
    if not item.sided:
        return [item.value]
    sides = _sides_before(match, tokens) or _sides_after(match, tokens)
    if sides:
        other = _compared_side(match, tokens)
        sides += [other] if other and other not in sides else []
    return [item.value.format(side=side) for side in sides or ("Left", "Right")]


def _other_side_value(
    item: ValueWords, match: Match, tokens: Sequence[Token], denied: Sequence[Denial]
) -> list[Any]:
    """Return the value for the other side: "don't outline the left lung, only the right one"."""
    if not item.sided:
        return []
    for position, side in _later_sides(match, tokens):
        if position + 1 < len(tokens) and tokens[position + 1].text in _SIDE_NOUNS:
            value = item.value.format(side=side)
            out = any(position in denial.positions for denial in denied)
            return [] if out or value in _values_by_side(item, match, tokens) else [value]
    return []


def _sides_before(match: Match, tokens: Sequence[Token]) -> list[str]:
    """Return the sides named before a word: "left and right lung"."""
    sides: list[str] = []
    for position in range(match.first - 1, max(-1, match.first - 6), -1):
        token = tokens[position]
        side = _SIDES.get(token.text)
        if side:
            sides.insert(0, side)
        elif token.text not in (
            DETERMINERS | _WITH_SIDE if sides else DETERMINERS | {"sided", "hand"}
        ):
            break
    return list(dict.fromkeys(sides))


def _sides_after(match: Match, tokens: Sequence[Token]) -> list[str]:
    """Return the side named after a word: "lung, left", "Lunge links", "the lung on the left"."""
    for token in tokens[max(match.positions) + 1 : max(match.positions) + 5]:
        if token.text in _SIDES:
            return [_SIDES[token.text]]
        if token.text not in DETERMINERS | {"on", "auf"}:
            break
    return []


def _compared_side(match: Match, tokens: Sequence[Token]) -> str:
    """Return the second side of a comparison, or "": "is the right larger than the left?"."""
    for position, side in _later_sides(match, tokens):
        if _ends_clause(tokens, position) and _is_joined(tokens, position):
            return side
    return ""


def _later_sides(match: Match, tokens: Sequence[Token]) -> Iterator[tuple[int, str]]:
    """Yield the sides named after a match in its sentence, as (position, side)."""
    start = max(match.positions) + 1
    for position in range(start, min(len(tokens), start + _REACH)):
        if tokens[position].sentence != tokens[match.first].sentence:
            return
        side = _SIDES.get(tokens[position].text)
        if side:
            yield position, side


def _ends_clause(tokens: Sequence[Token], position: int) -> bool:
    """Return whether a side ends its clause, alone or with "one" or "side"."""
    after = position + 1
    if after < len(tokens) and tokens[after].text in _SIDE_NOUNS:
        after += 1
    return after >= len(tokens) or tokens[after].clause != tokens[position].clause


def _is_joined(tokens: Sequence[Token], position: int) -> bool:
    """Return whether a word follows "than", "and" or a similar word."""
    before = position - 1
    while before >= 0 and tokens[before].text in DETERMINERS:
        before -= 1
    return before >= 0 and tokens[before].text in _COMPARISON_WORDS
