"""Anatomical structures named in a question."""

from __future__ import annotations

import re

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
    r"\b(?:not|without|except|excluding|no)\s+(?:the\s+|for\s+the\s+)?(?:(?:left|right)\s+)?$",
    re.IGNORECASE,
)


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
            sided = named or ["Left", "Right"]
            found.extend((match.start(), f"{side} {name}") for side in sided)
    for name, pattern in _SINGLE:
        found.extend((match.start(), name) for match in _named(pattern, text))
    ordered = [name for _, name in sorted(found, key=lambda item: item[0])]
    return list(dict.fromkeys(ordered))


def _named(pattern: str, text: str) -> list[re.Match[str]]:
    matches = re.finditer(rf"(?<!\w)(?:{pattern})(?!\w)", text, re.IGNORECASE)
    return [match for match in matches if not _NEGATED.search(text[: match.start()])]
