"""Spelling correction: finds the pack's word that a misspelt word stands for.

English words and common German words are never corrected: hear, long, massage and account stay as
they are.
"""

from __future__ import annotations

import difflib
import re
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

from app.log import get_logger
from app.paths import resources_dir


def edit_distance(word: str, other: str, *, most: int | None = None) -> int:
    """Return the number of letters that are wrong, added, missing or swapped between two words.

    A distance above `most` is returned as `most + 1`, which is faster.
    """
    from rapidfuzz.distance import OSA  # loaded on first use, to start faster

    return int(OSA.distance(word, other, score_cutoff=most))


def closest(word: str, words: Iterable[str], *, most: int = 2) -> list[tuple[str, int]]:
    """Return up to eight words within the distance `most`, as (word, distance), nearest first."""
    from rapidfuzz import process
    from rapidfuzz.distance import OSA

    found = process.extract(word, list(words), scorer=OSA.distance, score_cutoff=most, limit=8)
    return [(meant, int(far)) for meant, far, _ in found]


def near_names(name: str, names: list[str], likeness: float = 0.55) -> list[str]:
    """Return up to three names similar to `name`, the most similar first.

    `likeness` is the minimum similarity, 0 to 1, as `difflib` computes it.
    """
    return difflib.get_close_matches(name.lower(), names, n=3, cutoff=likeness)


_log = get_logger(__name__)

_SHORTEST = 3
_SAFE = 4
"""Words shorter than this are corrected only if letters are swapped."""
# From these lengths on two mistakes are allowed, in a whole word and in a part of one.
_LONG = 7
_LONG_PART = 9
_LIST = "frequency_dictionary_en_82_765.txt"


class Speller:
    """Corrects misspelt words to words that the packs declare.

    `literals` are triples: a pack's word, whether letters may precede it, and whether they may
    follow it. Of equally near words, those in `preferred` win.
    """

    def __init__(
        self, literals: Iterable[tuple[str, bool, bool]], preferred: Collection[str] = ()
    ) -> None:
        self._preferred = preferred
        self._words: set[str] = set()
        self._starts: dict[int, set[str]] = {}
        self._ends: dict[int, set[str]] = {}
        for word, before, after in literals:
            if len(word) < _SHORTEST or not word.isalpha():
                continue
            self._words.add(word)
            if after and len(word) > _SAFE:
                self._starts.setdefault(len(word), set()).add(word)
            if before and len(word) > _SAFE:
                self._ends.setdefault(len(word), set()).add(word)
        self.nearest = lru_cache(maxsize=4096)(self._nearest)

    def _nearest(self, word: str) -> str:
        """Return the intended word, "" for none; letters around a stem stay ("pneumothorax")."""
        if len(word) < _SHORTEST or not word.isalpha() or word in german():
            return ""
        found = [
            (
                distance,
                meant not in self._preferred,
                edit_distance(_pronunciation(word), _pronunciation(read)),
                abs(len(word) - len(read)),
                read,
            )
            for distance, part, meant, read in self._candidates(word)
            if 0 < distance <= 2
            and (
                distance <= _allowed_edits(meant, whole=read == meant)
                or _has_same_letters(part, meant, distance)
            )
            and _has_same_start(part, meant, distance)
        ]
        if _is_word(word):
            return ""
        heard = [one for one in _sound_alikes(word) if one in self._words]
        if not found:
            return heard[0] if heard else ""
        return _full_spelling(word, min(found)[-1], self._words)

    def _candidates(self, word: str) -> Iterator[tuple[int, str, str, str]]:
        for meant, distance in closest(word, self._words):
            yield distance, word, meant, meant
        if word.endswith("s"):
            for meant, distance in closest(word[:-1], self._words):
                yield distance, word[:-1], meant, f"{meant}s"
        for length, stems in self._starts.items():
            for end in (length - 1, length, length + 1):
                if end < len(word):
                    for meant, distance in closest(word[:end], stems):
                        yield distance, word[:end], meant, meant + word[end:]
        for length, stems in self._ends.items():
            for start in {len(word) - length + more for more in (-1, 0, 1)}:
                if start >= _SAFE:
                    for meant, distance in closest(word[start:], stems):
                        yield distance, word[start:], meant, word[:start] + meant


def _sound_alikes(word: str) -> list[str]:
    """Return spellings that sound the same: "box" for "bocks"."""
    pairs = (
        ("kw", "qu"),
        ("cks", "x"),
        ("ks", "x"),
        ("f", "ph"),
        ("f", "v"),
        ("z", "s"),
        ("k", "c"),
        ("c", "k"),
    )
    return [word.replace(said, spelt) for said, spelt in pairs if said in word]


def _pronunciation(word: str) -> str:
    """Return a word in a simplified spelling that ignores doubled letters and umlauts."""
    plain = word.replace("ae", "e").replace("oe", "o").replace("ue", "u").replace("ph", "f")
    return re.sub(r"(.)\1", r"\1", plain)


def _allowed_edits(literal: str, *, whole: bool) -> int:
    """Return how many letters may be wrong, doubled, missing or swapped in a word."""
    return 2 if len(literal) >= (_LONG if whole else _LONG_PART) else 1


def _has_same_letters(word: str, literal: str, distance: int) -> bool:
    """Return whether two words consist of the same letters, in another order or doubled."""
    same = set(word) == set(literal) and abs(len(word) - len(literal)) < 2
    return same and distance == 2 and len(literal) > _SAFE


def _has_same_start(word: str, literal: str, distance: int) -> bool:
    """Return whether a word starts like the intended one: a wrong first letter is rare."""
    if min(len(word), len(literal)) < _SAFE:
        swapped = sorted(word) == sorted(literal)
        return word[0] == literal[0] and (
            swapped or _pronunciation(word) == _pronunciation(literal)
        )
    if word[0] == literal[0] or word[:2] == literal[1::-1]:
        return True
    return distance == 1 and len(literal) >= 6


def _full_spelling(word: str, meant: str, words: Collection[str]) -> str:
    """Return a corrected word's full spelling: the nearest English word with the pack's stem."""
    if meant in words and meant in english() and len(meant) >= len(word):
        return meant
    stem = max((one for one in words if meant.startswith(one)), key=len, default="")
    ordered = _sorted_english()
    start = bisect_left(ordered, stem)
    near: list[tuple[float, str]] = []
    for position in range(start, len(ordered) if stem else start):
        other = ordered[position]
        if not other.startswith(stem):
            break
        near.append((edit_distance(word, other), other))
    distance, best = min(near, default=(99, ""))
    return best if distance <= 2 else meant


@lru_cache(maxsize=1)
def _sorted_english() -> Sequence[str]:
    return sorted(english())


def _is_word(word: str) -> bool:
    known = english()
    # Without the word list nothing is corrected, because any word might be correct.
    return not known or word in known or (word.endswith("s") and word[:-1] in known)


@lru_cache(maxsize=1)
def german() -> frozenset[str]:
    """Return common German words, which are never taken for misspellings of a pack's words."""
    return frozenset((resources_dir() / "words" / "german.txt").read_text("utf-8").split())


@lru_cache(maxsize=1)
def english() -> Collection[str]:
    """Return the list of English words, loaded on first use; empty if the file cannot be read."""
    package = find_spec("symspellpy")  # not imported: only its word list is needed
    folders = package.submodule_search_locations if package else None
    try:
        text = Path((folders or [""])[0], _LIST).read_text(encoding="utf-8-sig")
    except OSError as error:
        _log.warning("the list of English words cannot be read: %s", type(error).__name__)
        return frozenset()
    return frozenset(line.partition(" ")[0] for line in text.splitlines())
