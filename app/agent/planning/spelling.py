"""Misspelt words: which word of the packs was meant, if any.

A word that is one in English or is common in German is never "corrected": hear, long, massage and
account stay what they are.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

from app.agent.planning.german import GERMAN
from app.agent.planning.word_distance import closest, edits
from app.log import get_logger

_log = get_logger(__name__)

_SHORTEST = 3
_SAFE = 4
"""A shorter word is only put right where its letters are swapped."""
_LONG = 7
_LONG_PART = 9
_LIST = "frequency_dictionary_en_82_765.txt"


class Speller:
    """What misspelt words may have meant.

    Args:
        literals: The packs' words, and whether letters may stand before and after them.
        telling: Those of them that ask for something by themselves: they are likelier meant.
    """

    def __init__(
        self, literals: Iterable[tuple[str, bool, bool]], telling: Collection[str] = ()
    ) -> None:
        self._telling = telling
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
        """What `word` misspells, "" where that is nothing or it is a word itself.

        What stands around a pack's stem is kept: "pneumotorax" is read as "pneumothorax".

        Args:
            word: In small letters, umlauts as "ae".
        """
        if len(word) < _SHORTEST or not word.isalpha() or word in GERMAN:
            return ""
        found = [
            (
                distance,
                meant not in self._telling,
                edits(_sound(word), _sound(read)),
                abs(len(word) - len(read)),
                read,
            )
            for distance, part, meant, read in self._near(word)
            if 0 < distance <= 2
            and (
                distance <= _allowed(meant, whole=read == meant) or _swapped(part, meant, distance)
            )
            and _begins_alike(part, meant, distance)
        ]
        if _is_word(word):
            return ""
        heard = [one for one in _heard(word) if one in self._words]
        if not found:
            return heard[0] if heard else ""
        return _written(word, min(found)[-1], self._words)

    def _near(self, word: str) -> Iterator[tuple[int, str, str, str]]:
        """Distance, the part of the word that is compared, the pack's word, and the whole as meant.

        A part at the word's end is compared only behind at least `_SAFE` letters.
        """
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


def _heard(word: str) -> list[str]:
    """What sounds like a word: "bocks" and "box"."""
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


def _sound(word: str) -> str:
    """A word without what is seldom heard: doubled letters, umlauts, h behind a vowel."""
    plain = word.replace("ae", "e").replace("oe", "o").replace("ue", "u").replace("ph", "f")
    return re.sub(r"(.)\1", r"\1", plain)


def _allowed(literal: str, *, whole: bool) -> int:
    """How many letters of a word, or of a part of one, may be wrong, doubled, lost or swapped."""
    return 2 if len(literal) >= (_LONG if whole else _LONG_PART) else 1


def _swapped(word: str, literal: str, distance: int) -> bool:
    """Whether a word has no other letters than what was meant, in another order or doubled."""
    same = set(word) == set(literal) and abs(len(word) - len(literal)) < 2
    return same and distance == 2 and len(literal) > _SAFE


def _begins_alike(word: str, literal: str, distance: int) -> bool:
    """Whoever misspells a word seldom gets its first letter wrong; in a short one it is another."""
    if min(len(word), len(literal)) < _SAFE:
        swapped = sorted(word) == sorted(literal)
        return word[0] == literal[0] and (swapped or _sound(word) == _sound(literal))
    if word[0] == literal[0] or word[:2] == literal[1::-1]:
        return True
    return distance == 1 and len(literal) >= 6


def _written(word: str, meant: str, words: Collection[str]) -> str:
    """How what was meant is written: for a pack's stem the English word that is nearest."""
    if meant in words and meant in english() and len(meant) >= len(word):
        return meant
    stem = max((one for one in words if meant.startswith(one)), key=len, default="")
    ordered = _ordered()
    start = bisect_left(ordered, stem)
    near: list[tuple[float, str]] = []
    for position in range(start, len(ordered) if stem else start):
        other = ordered[position]
        if not other.startswith(stem):
            break
        near.append((edits(word, other), other))
    distance, best = min(near, default=(99, ""))
    return best if distance <= 2 else meant


@lru_cache(maxsize=1)
def _ordered() -> Sequence[str]:
    return sorted(english())


def _is_word(word: str) -> bool:
    known = english()
    # Without the list nothing is corrected: any word might be one.
    return not known or word in known or (word.endswith("s") and word[:-1] in known)


@lru_cache(maxsize=1)
def english() -> Collection[str]:
    """English words, read when the first doubtful one comes up; none where there is no list."""
    package = find_spec("symspellpy")  # found, not imported: only its list is wanted
    folders = package.submodule_search_locations if package else None
    try:
        text = Path((folders or [""])[0], _LIST).read_text(encoding="utf-8-sig")
    except OSError as error:
        _log.warning("the list of English words cannot be read: %s", type(error).__name__)
        return frozenset()
    return frozenset(line.partition(" ")[0] for line in text.splitlines())
