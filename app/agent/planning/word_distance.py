"""Distances between words, and the names that are nearest to what was written."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def edits(word: str, other: str, *, most: int | None = None) -> int:
    """Return how many letters are wrong, doubled, lost or swapped between two words.

    Args:
        word: The one.
        other: The other.
        most: Larger distances are returned as `most + 1`, which is quicker.
    """
    from rapidfuzz.distance import OSA  # loaded when words are first compared

    return int(OSA.distance(word, other, score_cutoff=most))


def closest(word: str, words: Iterable[str], *, most: int = 2) -> list[tuple[str, int]]:
    """Return the eight nearest of the words with their distances, none farther than `most`."""
    from rapidfuzz import process
    from rapidfuzz.distance import OSA

    found = process.extract(word, list(words), scorer=OSA.distance, score_cutoff=most, limit=8)
    return [(meant, int(far)) for meant, far, _ in found]


def near_names(name: str, names: list[str], likeness: float = 0.55) -> list[str]:
    """Return up to three names that look like `name`, the nearest first.

    Args:
        name: As it was written.
        names: Those that exist.
        likeness: The least similarity, 0 to 1, as `difflib` counts it.
    """
    return difflib.get_close_matches(name.lower(), names, n=3, cutoff=likeness)
