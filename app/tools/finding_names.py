"""The words of names as people say them: "the left effusion" is "Left Pleural Effusion"."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

from app.paths import resources_dir

_WORD = re.compile(r"[^\W_]+")
_PASSED_OVER = frozenset(
    """
    a an the this that both beide beiden of in on at to my its for with and window preset structure
    finding findings
    series study image images der die das den dem des ein eine einen im am vom zum zur und von mit
    auf fenster befund befunde serie bild region area side sided seite base bases basis big large
    small one
    """.split()  # noqa: SIM905 (a list of words reads better)
)
# "Heart mask" and "Herzmaske" mean the finding "Heart".
_OUTLINE = re.compile(
    r"(?:masks?|overlays?|outlines?|contours?|segmentations?|box(?:es)?|masken?|kontur(?:en)?|umrisse?|segmentierung"
    r"|kasten|kästchen)\b"
)
_LEFT = ["left", "links", "linke", "linker", "linken", "linkes", "linksseitige", "linksseitigen"]
_RIGHT = [
    "right",
    "rechts",
    "rechte",
    "rechter",
    "rechten",
    "rechtes",
    "rechtsseitige",
    "rechtsseitigen",
]
_SIDES = {**dict.fromkeys(_LEFT, "left"), **dict.fromkeys(_RIGHT, "right")}


SELECTED = ("selected", "this", "it", "that", "dies", "dieser", "diesen", "es", "ihn", "sie")
"""Names of the finding that is selected."""
HERE = ("here", "there", "hier", "da", "dort")
"""Names of the place that the user clicked last."""


@cache
def _same() -> dict[str, str]:
    """Return {word: the word that stands for it} of `resources/words/viewer_names.txt`."""
    text = (resources_dir() / "words" / "viewer_names.txt").read_text("utf-8")
    lines = (line.partition("=") for line in text.splitlines() if "=" in line)
    return {other.strip(): head.strip() for head, _, words in lines for other in words.split(",")}


def known_words() -> frozenset[str]:
    """Return the words of names that are known, in both languages."""
    return frozenset({*_same(), *_same().values()})


def is_near(one: str, other: str) -> bool:
    """Return whether two words differ by one letter that is wrong, missing, added or swapped."""
    if abs(len(one) - len(other)) == 1:
        short, long = sorted((one, other), key=len)
        return any(short == long[:place] + long[place + 1 :] for place in range(len(long)))
    places = [n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b]
    if len(one) != len(other) or len(places) != 2:
        return len(one) == len(other) and len(places) == 1
    first, second = places
    return second == first + 1 and one[first] == other[second] and one[second] == other[first]


def words_of(name: str) -> tuple[str, ...]:
    """Return the words that tell a name from others, in one form each, without its side."""
    same = _same()
    text = name.casefold().replace("soft tissue", "softtissue")
    found: list[str] = _WORD.findall(_OUTLINE.sub(" ", text))
    kept = (word for word in found if word not in _PASSED_OVER and word not in _SIDES)
    return tuple(dict.fromkeys(same.get(word, word) for word in kept))


def side_of(name: str) -> str:
    """Return "left" or "right" if a name has one of these sides; else ""."""
    sides = {_SIDES[word] for word in _WORD.findall(name.casefold()) if word in _SIDES}
    return sides.pop() if len(sides) == 1 else ""


_NUMBERED = re.compile(r"(?P<name>.*\D) (?:#|no\.? |nr\.? |number |nummer )?(?P<number>[1-9]\d?)")


def numbered(name: str) -> tuple[str, int]:
    """Return a name and the number behind it, as in "nodule 2"; 0 for none."""
    found = _NUMBERED.fullmatch(name.strip())
    return (found["name"], int(found["number"])) if found is not None else (name, 0)


def is_called(label: str, name: str) -> bool:
    """Return whether a name means a label: it has no other words, and not the other side."""
    words, side, own = set(words_of(name)), side_of(name), side_of(label)
    if not words and not side:
        return False
    return words <= set(words_of(label)) and (not side or not own or side == own)


def as_spelt(name: str, labels: Iterable[str]) -> str:
    """Return a name with words that are off by one letter as names and labels spell them."""
    known = {*known_words(), *(word for one in labels for word in one.casefold().split())}

    def spelt(word: str) -> str:
        if len(word) < 4 or word in known:
            return word
        near = [one for one in known if is_near(word, one)]
        return near[0] if len({words_of(one) for one in near}) == 1 else word

    return " ".join(map(spelt, name.split()))
