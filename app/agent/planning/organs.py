"""Anatomical structures named in a question."""

from __future__ import annotations

import re
from collections.abc import Iterator

_SIDED = (
    ("lung", "Lung", r"lungs?"),
    ("clavicle", "Clavicle", r"clavicles?|collarbones?"),
    ("scapula", "Scapula", r"scapulas?|scapulae|shoulder\s+blades?"),
    ("hilum", "Hilus Pulmonis", r"hil(?:um|us|a|i)"),
)
_SINGLE = (
    ("Heart", r"heart|cardiac|cardiomediastinum|heart's"),
    ("Aorta", r"aorta"),
    ("Facies Diaphragmatica", r"diaphragms?"),
    ("Mediastinum", r"mediastinum"),
    ("Weasand", r"o?esophagus"),
    ("Spine", r"spine"),
)
LUNGS_AND_HEART = ["Left Lung", "Right Lung", "Heart"]


_NEGATED = re.compile(
    r"\b(?:not|without|except|excluding|but|no)\s+(?:for\s+)?(?:the\s+|for\s+the\s+)?(?:(?:left|right)\s+)?$",
    re.IGNORECASE,
)


# "Is the right lung smaller than the left?" is about both.
_OTHER_SIDE = re.compile(
    r"[^.?!\n]{0,60}\b(?:than|versus|vs\.?|with|to|and|or)\s+(?:the\s+|its\s+)?(left|right)"
    r"(?:\s+(?:one|side))?\s*(?:[?.!,;]|$)",
    re.IGNORECASE,
)


def without_excluded(text: str, names: list[str]) -> list[str]:
    """`names` less what `text` says to leave out ("everything except the heart")."""
    patterns = {f"{side} {name}": rule for _, name, rule in _SIDED for side in ("Left", "Right")}
    patterns |= dict(_SINGLE)
    return [name for name in names if not _excluded(patterns[name], text)]


def find_organs(text: str) -> list[str]:
    """The segmentation tool's names of what `text` asks for, in the order of the text.

    A side goes with the word after it ("left and right lung", "left lung"); no side means both.
    """
    found: list[tuple[int, str]] = []
    for _, name, pattern in _SIDED:
        for match in _named(pattern, text):
            before = text[: match.start()]
            sides = re.search(
                r"(?:\b(left|right)\s*(?:,|and|or|&|/)\s*)?\b(left|right)\s+$",
                before,
                re.IGNORECASE,
            )
            named = [side.title() for side in sides.groups() if side] if sides else []
            other = _OTHER_SIDE.match(text, match.end())
            if named and other:
                named.append(other.group(1).title())
            sided = named or ["Left", "Right"]
            found.extend((match.start(), f"{side} {name}") for side in sided)
    for name, pattern in _SINGLE:
        found.extend((match.start(), name) for match in _named(pattern, text))
    ordered = [name for _, name in sorted(found, key=lambda item: item[0])]
    return list(dict.fromkeys(ordered))


def _named(pattern: str, text: str) -> list[re.Match[str]]:
    return [match for match in _all(pattern, text) if not _NEGATED.search(text[: match.start()])]


def _excluded(pattern: str, text: str) -> bool:
    """Whether it is named, and nowhere but to be left out."""
    return any(True for _ in _all(pattern, text)) and not _named(pattern, text)


def _all(pattern: str, text: str) -> Iterator[re.Match[str]]:
    return re.finditer(rf"(?<!\w)(?:{pattern})(?!\w)", text, re.IGNORECASE)
