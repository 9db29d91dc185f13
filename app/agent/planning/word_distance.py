"""Edit distances between words, and the names most similar to a written one."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def edit_distance(word: str, other: str, *, most: int | None = None) -> int:
    """Return the number of letters that are wrong, added, missing or swapped between two words.

    Args:
        word: The first word.
        other: The second word.
        most: Larger distances are returned as `most + 1`, which is faster.
    """
    from rapidfuzz.distance import OSA  # loaded on first use, to start faster

    return int(OSA.distance(word, other, score_cutoff=most))


def closest(word: str, words: Iterable[str], *, most: int = 2) -> list[tuple[str, int]]:
    """Return up to eight nearest words as (word, distance), none farther than `most`."""
    from rapidfuzz import process
    from rapidfuzz.distance import OSA

    found = process.extract(word, list(words), scorer=OSA.distance, score_cutoff=most, limit=8)
    return [(meant, int(far)) for meant, far, _ in found]


def near_names(name: str, names: list[str], likeness: float = 0.55) -> list[str]:
    """Return up to three names similar to `name`, the most similar first.

    Args:
        name: The name as written.
        names: The existing names.
        likeness: The minimum similarity, 0 to 1, as `difflib` computes it.
    """
    return difflib.get_close_matches(name.lower(), names, n=3, cutoff=likeness)
