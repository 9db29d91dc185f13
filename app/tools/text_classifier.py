"""Linear classifiers of short texts in English and German, small enough to ship with the program.

They are trained by `training.text_classifier` on sentences by several writers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

_TOKEN = re.compile(r"(?:(?<![\w])[-+])?\d+(?:[.,]\d+)?|[a-z]+(?:'[a-z]+)?|[?]")
_FOLDED = str.maketrans(
    {"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss", "é": "e", "’": "'", "‘": "'", "\u2212": "-"}
)
_LETTERS = range(3, 6)
PARTS = ("known", "rarity", "weights", "scale", "bias")
"""The arrays of a classifier, by the names of its fields."""


@dataclass(frozen=True, slots=True)
class Token:
    """A word or number of a text, and where it stands there."""

    text: str
    start: int
    end: int


def folded(text: str) -> str:
    """Return a text in small letters and without umlauts, as the functions here take it."""
    return text.casefold().translate(_FOLDED)


def tokens(text: str) -> list[Token]:
    """Return the words and numbers of a folded text."""
    return [Token(one.group(), *one.span()) for one in _TOKEN.finditer(text)]


def is_number(word: str) -> bool:
    """Return whether a word is written in digits."""
    return word[-1].isdigit()


def letters(word: str) -> Iterator[str]:
    """Yield the runs of three to five letters of a word, with "#" at its ends."""
    padded = f"#{word}#"
    for length in _LETTERS:
        for start in range(len(padded) - length + 1):
            yield padded[start : start + length]


def checksum(feature: str) -> int:
    """Return the number by which a feature is known."""
    return crc32(feature.encode())


@dataclass(frozen=True)
class Classifier:
    """Multinomial logistic regression over features that are known by their checksum."""

    known: NDArray[np.uint32]
    rarity: NDArray[np.float32]
    weights: NDArray[np.int8]
    scale: NDArray[np.float32]
    bias: NDArray[np.float32]

    @cached_property
    def rarities(self) -> dict[int, float]:
        """Return the rarity of each feature, by its checksum."""
        return dict(zip(self.known.tolist(), self.rarity.tolist(), strict=True))

    def rarity_of(self, feature: str) -> float | None:
        """Return how rare a feature is among the training texts; None for an unknown one."""
        return self.rarities.get(checksum(feature))

    def probabilities(self, features: Iterable[str]) -> NDArray[np.float32]:
        """Return how likely each answer is for a text with these features."""
        # For so few, quicker than `np.unique`.
        numbers = np.array(sorted({checksum(one) for one in features}), np.uint32)
        places = np.minimum(np.searchsorted(self.known, numbers), len(self.known) - 1)
        places = places[self.known[places] == numbers]
        values = self.rarity[places]
        values = values / max(float(np.linalg.norm(values)), 1e-9)
        scores = values @ self.weights[places].astype(np.float32) * self.scale + self.bias
        raised = np.exp(scores - scores.max())
        return raised / raised.sum()


def classifier_in(stored: Mapping[str, Any], name: str) -> Classifier:
    """Return the classifier that arrays called NAME_known and so on hold."""
    return Classifier(*(stored[f"{name}_{part}"] for part in PARTS))
