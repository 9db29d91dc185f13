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
_NO_NAME = re.compile(r"\s+than\b|-(?:like|artig|ähnlich)")  # "lower than", "tumour-like"
_END = re.compile(r"[.,;:()]")
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


def added_counts(text: str, known: str, counts: Collection[float]) -> list[re.Match[str]]:
    """Return the numbers in words that are none of `counts`, as "two" and "several".

    Those that count no finding or place ("two films were read") are left out.
    """
    found: list[re.Match[str]] = []
    for match in _WORD.finditer(text):
        word, rest = match[0].lower(), _END.split(text[match.end() :])[0]
        after = next(iter(_WORD.findall(rest)), "")
        counted = not after or after in ("of", "davon") or tells_of_finding(rest, known)
        if _pattern(_table()["counted_else"]).fullmatch(after) or not counted:
            continue
        names = (number for number, one in enumerate(_table()["counts"]) if word in one.split())
        value = next(names, None)
        several = _pattern(_table()["several"]).fullmatch(word) and max(counts, default=1) < 2
        if several or (value is not None and value not in counts):
            found.append(match)
    return found


def tells_of_finding(text: str, known: str) -> bool:
    """Return whether one of the first words of a text names a finding or a place, or `known`."""
    own = {one.lower()[:5] for one in _WORD.findall(known) if len(one) > 3}
    return any(
        word[:5] in own
        or _groups("things", word)
        or _groups("places", word)
        or _pattern(_table()["findings"]).fullmatch(word)
        for word in (one.lower() for one in _WORD.findall(text)[:4])
    )


def _added(kind: str, text: str, known: str) -> list[re.Match[str]]:
    words = [match[0].lower() for match in _WORD.finditer(known)]
    own = {group for word in words for group in _groups(kind, word)}
    found: list[re.Match[str]] = []
    for match in _WORD.finditer(text):
        groups = _groups(kind, match[0].lower())
        if not groups or groups & own or _is_said_by(match[0], words):
            continue
        if not _NO_NAME.match(text, match.end()):
            found.append(match)
    return found


def _is_said_by(word: str, known: Collection[str]) -> bool:
    """Return whether a finding's words say a word as well: an effusion is an opacity."""
    pairs = (line.split("<") for line in _table()["also"].strip().splitlines())
    return any(
        _pattern(told).fullmatch(word) and any(map(_pattern(own).fullmatch, known))
        for told, own in pairs
    )


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
