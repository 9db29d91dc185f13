"""The attributes that the Basic Application Level Confidentiality Profile removes or replaces.

DICOM PS3.15 2024b, table E.1-1, by keyword (PS3.6), with repeating groups: "OverlayData" stands
for (60xx,3000). Private attributes, which the profile removes as well, have no keyword: see
`identifiers.is_identifying`. `resources/privacy/confidentiality_profile.txt` has the keywords,
grouped by what their values are (names of persons, dates, ...); `code_lists.txt` beside it has the
values of coded attributes that may leave this machine.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache

from app.paths import resources_dir


def word_tables(name: str) -> dict[str, str]:
    """Return the sections of a file in resources/privacy as {heading: text}, without comments."""
    text = (resources_dir() / "privacy" / name).read_text("utf-8")
    text = re.sub(r"^#[^\n]*\n", "", text, flags=re.MULTILINE)
    return dict(re.findall(r"^\[([\w ]+)\]\n([^\[]+)", text, re.MULTILINE))


GROUPS = {
    name: frozenset(keywords.split())
    for name, keywords in word_tables("confidentiality_profile.txt").items()
}
"""The groups of the profile, as follows."""

PERSONS = GROUPS["PERSONS"]
"""Names of people: their parts are looked for elsewhere as well."""

NUMBERS = GROUPS["NUMBERS"]
"""Ids, numbers, places, organisations: their words and numbers are looked for elsewhere as well."""

TEXTS = GROUPS["TEXTS"]
"""Free text: its words are looked for elsewhere, except for those that identify nobody."""

DATES = GROUPS["DATES"]
"""Dates: looked for elsewhere in every notation."""

UIDS = GROUPS["UIDS"]
"""UIDs: these are removed wherever they stand, whatever they belong to."""

REST = GROUPS["REST"]
"""Times, codes, sequences, labels: removed under their names. Their values ("Heart", "101500",
"Iodine") are ordinary words and numbers: only uncommon words are looked for elsewhere."""

PROFILE = PERSONS | NUMBERS | TEXTS | DATES | UIDS | REST
"""All of them."""

_TEXT_VRS = ("AE", "CS", "LO", "LT", "PN", "SH", "ST", "UC", "UR", "UT")


@lru_cache(maxsize=4096)
def is_coded(key: str) -> bool:
    """Return whether a value under this key may leave this machine only if a code list has it.

    True for the keyword of each attribute with a text VR, and for the keys of `code_lists`.
    """
    from pydicom.datadict import dictionary_VR, tag_for_keyword

    tag = tag_for_keyword(key) if key[:1].isupper() else None
    return key in _codes() or (tag is not None and dictionary_VR(tag) in _TEXT_VRS)


def is_code(key: str, value: str) -> bool:
    """Return whether each part of a multi-value is in `key`'s code list, whole or word by word."""
    codes = _codes().get(key, frozenset[str]())
    values = (re.findall(r"[^\W_]+", one.upper()) for one in value.split("\\"))
    return all("".join(words) in codes or codes.issuperset(words) for words in values if words)


@cache
def _codes() -> dict[str, frozenset[str]]:
    tables = word_tables("code_lists.txt")
    return {key: frozenset(tables[keys].split()) for keys in tables for key in keys.split()}
