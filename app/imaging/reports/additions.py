"""Finds the words of a sentence that say more than the finding that it rests on.

They are those of the table `[additions]` in resources/tables/report.toml: names of findings and
diseases, places, sizes and numbers in words. What the table does not have is not found.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import cache
from typing import Any

from app.paths import shipped_table

_WORD = re.compile(r"[^\W\d_]+")
_LEVEL = re.compile(r"\b(?:[CLS]\d{1,2}|T(?:[3-9]|1[0-2])|[BHL]WK\s?\d{1,2})\b")
"""A vertebra or a segment, such as T12; T1 and T2 are also kinds of MR images."""
_THAN = re.compile(r"\s+than\b")  # "lower than"
_MEASURED = re.compile(r"\d\s*(?:[mc]m|µm|px)\s*$")


def added_things(text: str, known: str) -> list[re.Match[str]]:
    """Return the names of findings, diseases and places in a text that `known` does not have."""
    return [*_added("things", text, known), *added_places(text, known)]


def added_places(text: str, known: str) -> list[re.Match[str]]:
    """Return the words for places in a text that `known`, the texts of a finding, does not have."""
    levels = {one.casefold() for one in _LEVEL.findall(known)}
    told = (match for match in _LEVEL.finditer(text) if match[0].casefold() not in levels)
    return [*_added("places", text, known), *told]


def added_sizes(text: str, known: str) -> list[re.Match[str]]:
    """Return the words for sizes, as "small", but not "large" in "12 mm large"."""
    own = {match[0].lower() for match in _WORD.finditer(known)}
    return [
        match
        for match in _WORD.finditer(text)
        if _pattern(_table()["sizes"]).fullmatch(match[0])
        and match[0].lower() not in own
        and not _MEASURED.search(text[: match.start()])
    ]


def added_counts(text: str, counts: Collection[float]) -> list[re.Match[str]]:
    """Return the numbers in words that are none of `counts`, as "two" and "several"."""
    found: list[re.Match[str]] = []
    words = [*_WORD.finditer(text)]
    for place, match in enumerate(words):
        word, after = match[0].lower(), words[place + 1][0] if place + 1 < len(words) else ""
        if _pattern(_table()["counted_else"]).fullmatch(after):
            continue
        names = (number for number, one in enumerate(_table()["counts"]) if word in one.split())
        value = next(names, None)
        several = _pattern(_table()["several"]).fullmatch(word) and max(counts, default=1) < 2
        if several or (value is not None and value not in counts):
            found.append(match)
    return found


def _added(kind: str, text: str, known: str) -> list[re.Match[str]]:
    own = {group for match in _WORD.finditer(known) for group in _groups(kind, match[0].lower())}
    found: list[re.Match[str]] = []
    for match in _WORD.finditer(text):
        groups = _groups(kind, match[0].lower())
        if groups and not groups & own and not _THAN.match(text, match.end()):
            found.append(match)
    return found


@cache
def _groups(kind: str, word: str) -> frozenset[int]:
    """Return the lines of a table that have a word."""
    lines: list[str] = _table()[kind].strip().splitlines()
    return frozenset(at for at, line in enumerate(lines) if _pattern(line).fullmatch(word))


@cache
def _pattern(words: str) -> re.Pattern[str]:
    escaped = (re.escape(one).replace(r"\*", r"\w*") for one in words.split())
    return re.compile("|".join(escaped), re.IGNORECASE)


def _table() -> Any:
    return shipped_table("report", "additions")
