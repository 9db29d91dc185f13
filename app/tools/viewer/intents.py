"""A small learned reader of commands to the viewer, for what no pattern of `reading` fits.

Two linear classifiers over words and letters, English and German: one says which command a text
gives (or none), the other which of its words are a number, a name, a preset, a viewport. They were
trained on sentences that people wrote (`training/viewer_commands`), not on the patterns.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from app.paths import resources_dir
from app.tools.finding_names import known_words
from app.tools.text_classifier import (
    Classifier,
    Token,
    classifier_in,
    folded,
    is_number,
    letters,
    tokens,
)

NONE = "none"
"""The intent of a text that gives no command."""

_NEGATION = re.compile(r"(?:don't|dont|not|no|never|without|nicht|keine?[nrms]?|ohne|nie|statt)$")
_GAP = 2
_SHORTEST = 4
"""Letters of a word that may be misspelt."""


@dataclass(frozen=True, slots=True)
class Guess:
    """The command that a text most likely gives.

    Attributes:
        intent: One of the intents of `training/viewer_commands/intents.txt`, or `NONE`.
        probability: How likely it is, from 0 to 1.
        slots: The words of the folded text for each slot of the intent.
        familiar: Whether no word of the text but those of slots is new to the reader.
    """

    intent: str
    probability: float
    slots: dict[str, str]
    familiar: bool = True


def text_features(words: Sequence[str]) -> Iterator[str]:
    """Yield the features of a text: its words, pairs of words, and the letters of each word."""
    plain = ["0" if is_number(word) else word for word in words]
    kinds = ["<name>" if word in _names() else word for word in plain]
    denied = False
    for place, word in enumerate(plain):
        yield f"w {word}"
        if denied:
            yield f"n {word}"
        denied = denied or _NEGATION.match(word) is not None
        for other in plain[place + 1 : place + 2]:
            yield f"b {word} {other}"
        for other in plain[place + 2 : place + 4]:
            yield f"s {word} {other}"
        if len(word) > 2:
            yield from (f"c {part}" for part in letters(word))
    for one, other in zip(["^", *kinds], [*kinds, "$"], strict=True):
        yield f"k {one} {other}"


def word_features(words: Sequence[str], place: int, intent: str) -> Iterator[str]:
    """Yield the features of one word of a text whose intent is known."""

    def at(offset: int) -> str:
        where = place + offset
        if not 0 <= where < len(words):
            return "^" if where < 0 else "$"
        return "0" if is_number(words[where]) else words[where]

    word = at(0)
    kind = "0" if word == "0" else "<name>" if word in _names() else "word"
    yield f"w {word}"
    yield f"k {kind}"
    yield f"i {intent}"
    yield f"iw {intent} {word}"
    yield f"ik {intent} {kind}"
    for offset in (-3, -2, -1, 1, 2, 3):
        yield f"{offset} {at(offset)}"
        yield f"i{offset} {intent} {at(offset)}"
        yield f"k{offset} {at(offset)} {kind}"
    yield f"< {at(-1)} {word}"
    yield f"> {word} {at(1)}"
    yield f"<< {at(-2)} {at(-1)}"
    yield f">> {at(1)} {at(2)}"
    yield f"suffix {word[-3:]}"
    yield f"prefix {word[:4]}"


def guess(text: str, model: Model | None = None) -> Guess:
    """Return the most likely intent of a text, with its slots; by default, by the stored model."""
    model, text = model or _model(), folded(text)
    found = [replace(one, text=model.spelt(one.text)) for one in tokens(text)]
    chances = model.texts.probabilities(text_features([one.text for one in found]))
    best = int(np.argmax(chances))
    intent = model.intents[best]
    slots = _slots(text, found, intent, model)
    said = {word for value in slots.values() for word in value.split()}
    familiar = all(
        len(one.text) < _SHORTEST - 1
        or is_number(one.text)
        or one.text in said
        or model.texts.rarity_of(f"w {one.text}") is not None
        for one in tokens(text)
    )
    return Guess(intent, float(chances[best]), slots, familiar)


def spelt(word: str) -> str:
    """Return a folded word as `Model.spelt` of the stored model has it."""
    return _model().spelt(word)


def _slots(text: str, found: Sequence[Token], intent: str, model: Model) -> dict[str, str]:
    allowed = model.slots_of.get(intent, ())
    if not allowed:
        return {}
    words = [one.text for one in found]
    columns = [model.labels.index(label) for label in ("", *allowed)]
    said: dict[str, list[int]] = {}
    for place in range(len(found)):
        chances = model.words.probabilities(word_features(words, place, intent))
        label = ("", *allowed)[int(np.argmax(chances[columns]))]
        if label:
            said.setdefault(label, []).append(place)
    return {
        label: text[found[part[0]].start : found[part[-1]].end]
        for label, places in said.items()
        for part in [_longest_run(places)]
    }


def _longest_run(places: Sequence[int]) -> list[int]:
    """Return the longest part of ascending numbers with no gap of more than one between them."""
    runs = [[places[0]]]
    for place in places[1:]:
        if place - runs[-1][-1] > _GAP:
            runs.append([])
        runs[-1].append(place)
    return max(runs, key=len)


@dataclass(frozen=True, slots=True)
class Model:
    """The trained model: both classifiers, and the names of commands and slots."""

    texts: Classifier
    words: Classifier
    intents: list[str]
    labels: list[str]
    slots_of: dict[str, tuple[str, ...]]

    def spelt(self, word: str) -> str:
        """Return a word as the sentences spell it that the model was trained on, if one letter off.

        The commonest counts; a word without any that is near stays as it is.
        """
        if (
            len(word) < _SHORTEST
            or is_number(word)
            or self.texts.rarity_of(f"w {word}") is not None
        ):
            return word
        near = ((self.texts.rarity_of(f"w {one}"), one) for one in _one_letter_off(word))
        return min(
            ((rarity, one) for rarity, one in near if rarity is not None), default=(0, word)
        )[1]


def _one_letter_off(word: str) -> Iterator[str]:
    for place in range(len(word) + 1):
        head, tail = word[:place], word[place:]
        if tail:
            yield head + tail[1:]
        if len(tail) > 1:
            yield head + tail[1] + tail[0] + tail[2:]
        for letter in "abcdefghijklmnopqrstuvwxyz":
            yield head + letter + tail
            if tail:
                yield head + letter + tail[1:]


@cache
def _model() -> Model:
    with np.load(resources_dir() / "models" / "viewer_commands.npz") as file:
        return loaded(dict(file))


def loaded(stored: Mapping[str, Any]) -> Model:
    """Return the model that some arrays hold."""
    intents, slots = stored["intents"].tolist(), stored["slots"].tolist()
    slots_of = {one: tuple(said.split()) for one, said in zip(intents, slots, strict=True)}
    return Model(
        classifier_in(stored, "text"),
        classifier_in(stored, "word"),
        intents,
        stored["labels"].tolist(),
        slots_of,
    )


@cache
def _names() -> frozenset[str]:
    return frozenset(map(folded, known_words()))
