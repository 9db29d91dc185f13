"""How far words are from each other. rapidfuzz is loaded when words are first compared."""

from __future__ import annotations

from collections.abc import Iterable


def edits(word: str, other: str, *, most: int | None = None) -> int:
    """Letters that are wrong, doubled, lost or swapped between two words.

    Args:
        word: The one.
        other: The other.
        most: Beyond this only that it is more is told, which is quicker.
    """
    from rapidfuzz.distance import OSA

    return int(OSA.distance(word, other, score_cutoff=most))


def closest(word: str, words: Iterable[str], *, most: int = 2) -> list[tuple[str, int]]:
    """The eight nearest of the words, with their distance, none farther than `most`."""
    from rapidfuzz import process
    from rapidfuzz.distance import OSA

    found = process.extract(word, list(words), scorer=OSA.distance, score_cutoff=most, limit=8)
    return [(meant, int(far)) for meant, far, _ in found]
