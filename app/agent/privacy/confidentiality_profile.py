"""The attributes that the Basic Application Level Confidentiality Profile removes or replaces.

DICOM PS3.15 2024b, table E.1-1, by keyword (PS3.6), with repeating groups: "OverlayData" stands
for (60xx,3000). Private attributes, which the profile removes as well, have no keyword: see
`identifiers.is_identifying`. `resources/privacy/confidentiality_profile.txt` has the keywords,
grouped by what else is done about their values.
"""

from __future__ import annotations

import re

from app.paths import resources_dir

_TABLE = (resources_dir() / "privacy" / "confidentiality_profile.txt").read_text("ascii")
_GROUPS = {
    name: frozenset(keywords.split())
    for name, keywords in re.findall(r"\[([A-Z]+)\]\n([^\[]+)", _TABLE)
}
PERSONS = _GROUPS["PERSONS"]
"""Names of people: their parts are looked for elsewhere as well."""

NUMBERS = _GROUPS["NUMBERS"]
"""Ids, numbers, places, organisations: looked for elsewhere as they stand."""

TEXTS = _GROUPS["TEXTS"]
"""Free text: looked for elsewhere whole, since its single words identify nobody."""

DATES = _GROUPS["DATES"]
"""Dates: looked for elsewhere in every notation."""

UIDS = _GROUPS["UIDS"]
"""UIDs: these are removed wherever they stand, whatever they belong to."""

REST = _GROUPS["REST"]
"""Times, codes, sequences, labels: removed under their names, but not looked for elsewhere,
since their values ("Heart", "101500", "Iodine") are ordinary words and numbers."""

PROFILE = PERSONS | NUMBERS | TEXTS | DATES | UIDS | REST
"""All of them."""
