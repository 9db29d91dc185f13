"""Reads a score's inputs from a question in words: "age 70, BP 88/50, urea 8 mmol/L, confused".

Nothing is guessed: a number needs the words of its input, and its unit where several are plausible;
what is said to be both present and absent is left out. All that was read and not used is told.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from app.paths import resources_dir
from app.tools.pack_plan import phrases
from app.tools.record.scores.engine import Score
from app.tools.record.scores.inputs import (
    UNIT_NAMES,
    Input,
    Value,
    WrongInput,
    read_value,
    unit_name,
)
from app.tools.said_findings import clauses, states

_PRESSURE = re.compile(
    r"(?<!\w)(?:bp|b/p|blood pressure|blutdruck|rr)\W{0,3}(?:of |is |was )?"
    r"(\d{2,3})\s?/\s?(\d{2,3})(?!\d)"
)
_AGE_FIRST = re.compile(
    r"(?<![\w.])(\d{1,3})[ -]?"
    r"(?:years?[ -]old|yrs?(?: old)?|y/?o|jahre alt|jährige[rn]?)(?!\w)"
)
_AGE_SEX = re.compile(  # "1,80 m" is a height, "101 F" a fever
    r"(?<![\w.,])(?!(?:9[5-9]|10[0-8]) ?f)(\d{1,3}) ?(f|m|w)(?![\w/])"
)
_FOR_YEARS = re.compile(r"(?<!\w)(?:for|since|over|past|last|seit|vor)(?: \w+)? $")
_MEASURED = r"\s*\(?(?:of |by )?[<>]?\d+(?:[.,]\d+)? ?(?:mm|cm|drinks?|units?)(?!\w)"
_PAIR = re.compile(r"(?<![\w.,/])\d+ ?/ ?\d+(?![\w/])")
_LINK = r"\s*(?:of|is|was|at|=|:|von|ist|bei|beträgt)?\s*"
_NUMBER = r"(?P<number>[<>]?\d+(?:[.,]\d+)?)"
_UNIT = r"\s*(?P<unit>[a-zµμ%°][\w%µμ°³⁹/^*]*(?:/[\w]+)*|10[³⁹^]\S+)?"
_ANY_NUMBER = re.compile(rf"(?<![\w.,/]){_NUMBER}(?!\d|[.,]\d|\s?/\s?\d){_UNIT}(?!\w)")


@cache
def _words() -> dict[str, tuple[str, ...]]:
    text = (resources_dir() / "words" / "score_inputs.txt").read_text("utf-8")
    lines = (line.partition("=") for line in text.splitlines() if not line.startswith("#"))
    return {name.strip(): phrases(words.casefold()) for name, sign, words in lines if sign}


@dataclass(slots=True)
class TypedValues:
    """Values of a score's inputs, read from a text.

    Attributes:
        values: By input.
        unused: Sentences on what was read and cannot be used.
        open: Inputs with several values, of which none counts.
    """

    values: dict[str, Value] = field(default_factory=dict[str, Value])
    unused: list[str] = field(default_factory=list[str])
    open: set[str] = field(default_factory=set[str])


def typed_values(score: Score, text: str) -> TypedValues:
    """Return the values of a score's inputs that a text gives."""
    found = TypedValues()
    plain = _without_names(score, text.casefold().replace("\u2019", "'"))
    used: list[tuple[int, int]] = []
    inputs = {item.name: item for item in score.accepted}
    _take_pairs(inputs, plain, found, used)
    for item in inputs.values():
        if item.kind == "yes/no":
            said = {s for part in clauses(plain) for s in states(part, _words_of(item))}
            if any(re.search(re.escape(word) + _MEASURED, plain) for word in _words_of(item)):
                found.unused.append(f"{item.label}: yes or no, not a number")
            elif len(said) > 1:
                found.unused.append(f"{item.label}: said to be present and absent")
            elif said:
                found.values[item.name] = said.pop()
            continue
        if item.kind == "choice":
            _take_choice(item, plain, found)
        _take_number(item, plain, found, used)
    for match in _PAIR.finditer(plain):
        if not _overlaps(match.span(), used):
            used.append(match.span())
            found.unused.append(f"the values {match[0]}")
    for match in _ANY_NUMBER.finditer(plain):
        if not _overlaps(match.span(), used) and not _take_by_unit(inputs, match, found):
            found.unused.append(f"the number {match['number']}")
    return found


def _take_by_unit(inputs: dict[str, Input], match: re.Match[str], found: TypedValues) -> bool:
    """Take a number without words whose unit only one input has: "180 cm" is the height."""
    unit = _read_unit(match["unit"])
    if unit == "years" and _FOR_YEARS.search(match.string[: match.start()]):
        return False  # how long something has lasted is no age
    fitting = [
        item
        for item in inputs.values()
        if unit and item.kind == "number" and unit in {one.name for one in item.all_units}
    ]
    if len(fitting) != 1 or fitting[0].name in found.values:
        return False
    number = float(match["number"].replace(",", "."))
    _set(fitting[0], {"value": number, "unit": unit}, found)
    return True


def _read_unit(text: str | None) -> str:
    """Return the unit that a word is, "" if it is another word of the sentence."""
    name = unit_name(text or "")
    return name if name in UNIT_NAMES or re.search(r"[/%°^\d]", name) else ""


def _without_names(score: Score, text: str) -> str:
    """Return a text with the score's own names blanked: the 65 of CURB-65 is no age."""
    names = {score.name, score.title, *score.other_names}
    names |= {re.sub(r"\s*\(.*", "", name) for name in names}
    for name in sorted(names, key=len, reverse=True):
        parts = re.findall(r"[a-z]+|\d+(?:\.\d+)?", name.casefold().replace("₂", "2"))
        pattern = r"[\s_\-]*".join(map(re.escape, parts))
        if parts:
            text = re.sub(rf"(?<!\w){pattern}(?!\w)", lambda m: " " * len(m[0]), text)
    return text


def _words_of(item: Input) -> tuple[str, ...]:
    names = (item.name, *item.other_names, *(way.name for way in item.other_ways))
    own = (name.replace("_", " ") for name in names)
    return tuple(dict.fromkeys([*own, *_words().get(item.name, ())]))


def _overlaps(span: tuple[int, int], used: list[tuple[int, int]]) -> bool:
    return any(start < span[1] and span[0] < end for start, end in used)


def _set(item: Input, raw: Any, found: TypedValues, name: str = "") -> None:
    try:
        value = read_value(item, raw, name)
    except WrongInput as error:
        found.unused.append(str(error))
        return
    if value is None:
        return
    if item.name in found.open:
        return
    if found.values.setdefault(item.name, value) != value:
        del found.values[item.name]
        found.open.add(item.name)
        found.unused.append(f"{item.label}: several values")


def _take_pairs(
    inputs: dict[str, Input], text: str, found: TypedValues, used: list[tuple[int, int]]
) -> None:
    for match in _PRESSURE.finditer(text):
        used.append(match.span())
        for name, number in zip(("systolic_bp", "diastolic_bp"), match.groups(), strict=True):
            if name in inputs:
                _set(inputs[name], {"value": float(number), "unit": "mmHg"}, found)
    for match in (*_AGE_FIRST.finditer(text), *_AGE_SEX.finditer(text)):
        if _overlaps(match.span(), used):
            continue
        used.append(match.span())
        if "age" in inputs:
            _set(inputs["age"], {"value": float(match[1]), "unit": "years"}, found)
        if match.re is _AGE_SEX and "sex" in inputs:
            _set(inputs["sex"], match[2], found)


def _take_choice(item: Input, text: str, found: TypedValues) -> None:
    chosen = [
        value
        for value, _ in item.choices
        for word in _words().get(f"{item.name}:{value}", ())
        if re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text)
    ]
    for value in dict.fromkeys(chosen):
        _set(item, value, found)
    if len(set(chosen)) > 1 and item.name in found.values:
        del found.values[item.name]


def _take_number(item: Input, text: str, found: TypedValues, used: list[tuple[int, int]]) -> None:
    digits = item.kind == "choice" and all(value.isdigit() for value, _ in item.choices[:2])
    if item.kind != "number" and not digits:
        return
    ways = {word: way.name for way in item.other_ways for word in _words().get(way.name, ())}
    words = (*_words_of(item), *ways)
    for word in sorted(words, key=len, reverse=True):
        gap = r"\s*" if digits and len(word) == 1 else _LINK
        pattern = rf"(?<!\w){re.escape(word)}{gap}{_NUMBER}{_UNIT}"
        for match in re.finditer(pattern, text):
            if _overlaps(match.span("number"), used):
                continue
            used.append(match.span("number"))
            number = match["number"].replace(",", ".")
            if number[0] in "<>":
                found.unused.append(f"{item.label}: {number} leaves the value open")
            elif digits:
                _set(item, number, found)
            else:
                raw = {"value": float(number), "unit": _read_unit(match["unit"])}
                _set(item, raw, found, ways.get(word, ""))
