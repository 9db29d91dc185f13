"""The rules of de-identification: DICOM PS3.15 table E.1-1 and the options that change it.

`resources/tables/deidentify.toml` has the table with its source and edition, the text attributes
that stay, the safe private attributes, and the words that codes (CS) are made of.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from functools import cache

from pydicom.datadict import tag_for_keyword

from app.imaging.deidentify.options import Option
from app.paths import resources_dir, shipped_table


@dataclass(frozen=True, slots=True)
class OptionFacts:
    """What an option is in the standard: column of the table, code (CID 7050) and its meaning."""

    column: str
    code: str
    meaning: str


FACTS = {
    Option.UIDS: OptionFacts("uids", "113110", "Retain UIDs Option"),
    Option.SAFE_PRIVATE: OptionFacts("", "113111", "Retain Safe Private Option"),
    Option.DEVICE: OptionFacts("device", "113109", "Retain Device Identity Option"),
    Option.INSTITUTION: OptionFacts("institution", "113112", "Retain Institution Identity Option"),
    Option.PATIENT: OptionFacts("patient", "113108", "Retain Patient Characteristics Option"),
    Option.FULL_DATES: OptionFacts(
        "full-dates",
        "113106",
        "Retain Longitudinal Temporal Information Full Dates Option",
    ),
    Option.MODIFIED_DATES: OptionFacts(
        "modified-dates",
        "113107",
        "Retain Longitudinal Temporal Information Modified Dates Option",
    ),
    Option.DESCRIPTORS: OptionFacts("descriptors", "113105", "Clean Descriptors Option"),
    Option.STRUCTURED: OptionFacts("structured", "113104", "Clean Structured Content Option"),
    Option.GRAPHICS: OptionFacts("graphics", "113103", "Clean Graphics Option"),
}
BASIC_CODE = ("113100", "Basic Application Confidentiality Profile")
# What is kept goes before what is cleaned, and full dates cannot stand with modified ones.
_ORDER = (
    *(Option.UIDS, Option.DEVICE, Option.INSTITUTION, Option.PATIENT, Option.FULL_DATES),
    *(Option.MODIFIED_DATES, Option.DESCRIPTORS, Option.STRUCTURED, Option.GRAPHICS),
)


@cache
def _profile() -> dict[int, tuple[str, dict[str, str]]]:
    rows = {
        **shipped_table("deidentify", "profile_added"),
        **shipped_table("deidentify", "profile"),
    }
    found: dict[int, tuple[str, dict[str, str]]] = {}
    for tag, text in rows.items():
        basic, *changed = text.split()
        found[int(tag, 16)] = basic, dict(one.split("=") for one in changed)
    return found


def action(tag: int, options: Collection[Option]) -> str:
    """Return what the table says of an attribute under these options; "" if it is not named.

    Of choices such as X/Z/D the last is returned: what keeps every object valid.
    """
    row = _profile().get(tag)
    if row is None:
        return ""
    basic, changed = row
    actions = [
        (one, changed[FACTS[one].column])
        for one in _ORDER
        if one in options and FACTS[one].column in changed
    ]
    if any(kept == "K" for _, kept in actions):
        return "K"
    if actions and actions[0][0] is not Option.DEVICE:  # AE titles cannot be cleaned: they go
        return "shift" if actions[0][0] is Option.MODIFIED_DATES else "C"
    return basic.rpartition("/")[2]


@cache
def technical_tags() -> frozenset[int]:
    """Return the tags of text attributes that stay though the table does not name them."""
    names = shipped_table("deidentify", "technical")["keywords"].split()
    return frozenset(tag for name in names if (tag := tag_for_keyword(name)) is not None)


@cache
def safe_private() -> frozenset[tuple[str, int, int]]:
    """Return (private creator, group, element in its block) of what the option may keep."""
    return frozenset(
        (creator, int(group, 16), int(element, 16))
        for creator, text in shipped_table("deidentify", "safe_private").items()
        for group, *elements in [text.split()]
        for element in elements
    )


@cache
def code_words() -> frozenset[str]:
    """Return the words that codes (VR CS) of the standard are made of, in capitals."""
    return frozenset(shipped_table("deidentify", "codes")["words"].split())


@cache
def common_words() -> frozenset[str]:
    """Return the English, German and clinical words that identify nobody, in small letters."""
    text = (resources_dir() / "privacy" / "common_words.txt").read_text("utf-8")
    text = re.sub(r"^#[^\n]*\n|^\[\w+\]\n", "", text, flags=re.MULTILINE)
    return frozenset(text.casefold().split())
