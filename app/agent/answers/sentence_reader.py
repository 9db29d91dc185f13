"""A small learned reader of single sentences, English and German, for the check of answers.

One linear classifier says whether a sentence tells that a finding is there, that it is not, or
neither; the other whether a sentence asserts anything about the patient, or only talks. Both were
trained on sentences by writers who didn't know the check's rules (`training/sentence_reader`); how
these read a sentence is one of its features.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import pairwise
from typing import Any

import numpy as np

from app.agent.answers.facts import FINDING, read
from app.paths import resources_dir
from app.tools.finding_names import known_words
from app.tools.pack_plan import word_lists
from app.tools.text_classifier import Classifier, classifier_in, folded, is_number, letters

MEDICAL, TALK = "M", "T"

_TOKEN = re.compile(r"\d+(?:[.,]\d+)?|[a-z]+(?:'[a-z]+)?|[?|:;,.<>()%]|[\u2013-](?= )")
_ENDS = frozenset("|:;,.()?\u2013-") | {
    *("but", "although", "though", "while", "whereas", "however", "unlike", "except", "apart"),
    *("aber", "jedoch", "obwohl", "sondern", "waehrend", "doch", "hingegen", "ausser", "anders"),
}
"""Signs and words at which a clause may end."""
_IN_BRACKETS = re.compile(r"\(\s*[\d.,%\s]+\)")  # numbers
_NEAR = 4
_AND = frozenset(("and", "or", "und", "oder", "sowie"))
_LIST = _AND | {","}


@dataclass(frozen=True, slots=True)
class SentenceModel:
    """Both classifiers, and the names of their answers."""

    presence: Classifier
    asserts: Classifier
    answers: dict[str, list[str]]


def presence_features(text: str) -> Iterator[str]:
    """Yield the features of a text in which `FINDING` stands once."""
    words = _words(text)
    if not any(FINDING in word for word in words):
        return
    words = _without_list(words)
    place = next((i for i, word in enumerate(words) if FINDING in word), 0)
    first = next((i + 1 for i in range(place - 1, -1, -1) if words[i] in _ENDS), 0)
    last = next((i for i in range(place + 1, len(words)) if words[i] in _ENDS), len(words))
    yield from _text_features(words)
    for at, word in enumerate(words):
        if at == place:
            continue
        side = "<" if at < place else ">"
        yield f"{side} {word}"
        if abs(at - place) <= _NEAR:
            yield f"{at - place:+d} {word}"
        if first <= at < last:
            yield f"c{side} {word}"
            yield from (f"cc {part}" for part in letters(word))
    clause = ["^", *words[first:last], "$"]
    yield from (f"cb {one} {other}" for one, other in pairwise(clause))
    kinds = ["<name>" if word in _names() else word for word in clause]
    if "<name>" in kinds:
        yield from (f"kb {one} {other}" for one, other in pairwise(kinds))
        yield from (f"ks {one} {other}" for one, other in zip(kinds, kinds[2:], strict=False))
    for one, other, third in zip(clause, clause[1:], clause[2:], strict=False):
        yield f"ct {one} {other} {third}"
        yield f"cs {one} {third}"
    if 0 < last < len(words):
        yield f"end {words[last]}"
        yield from (f"then {word}" for word in words[last + 1 : last + 4])
        yield from (f"far> {word}" for word in words[last + 1 :])
    yield f"rule {_by_rules(text)}"
    for at, word in enumerate(words):
        if word in _denying():
            kind = "in" if first <= at < last else "out"
            between = words[min(at, place) + 1 : max(at, place)]
            named = any(one in _names() for one in between)
            yield f"no {kind} {at < place} {named} {min(abs(at - place), 6)}"
            yield f"no {kind} {at < place} {named} {word}"
    if first:
        yield f"begin {words[first - 1]}"
        yield from (f"far< {word}" for word in words[:first])


def _by_rules(text: str) -> str:
    """Return how the rules of `facts` read a text: what they say of `FINDING`."""
    for fact in read(text):
        if FINDING in fact.words:
            denied = "absent" if FINDING in fact.denied else "there"
            return f"{denied} {fact.asserts}"
    return ""


def asserts_features(text: str) -> Iterator[str]:
    """Yield the features of a sentence that may assert something."""
    yield from _text_features(_words(text))


def _without_list(words: list[str]) -> list[str]:
    """Return words without the findings that are listed with `FINDING`: what is said holds for all.

    "Of cardiomegaly, effusion and X" becomes "of X".
    """
    place = next((i for i, word in enumerate(words) if FINDING in word), 0)
    last = end = place
    while (link := _behind_numbers(words, end + 1)) + 1 < len(words):
        if words[link] not in _LIST or words[link + 1] not in _names():
            break
        end = link + 1
        while end + 1 < len(words) and words[end + 1] in _names():
            end += 1
        last = end if words[link] in _AND else last
    first = place
    while first and words[first - 1] in _names():  # "pleural X"
        first -= 1
    links = _AND if last == place else _LIST
    while first > 1 and words[first - 1] in links:
        name = first - 2
        while name > 0 and words[name] == "0":
            name -= 1
        if words[name] not in _names():
            break
        while name and words[name - 1] in _names():
            name -= 1
        first, links = name, _LIST
    return [*words[:first], words[place], *words[last + 1 :]]


def _behind_numbers(words: Sequence[str], at: int) -> int:
    while at < len(words) and words[at] == "0":
        at += 1
    return at


def _words(text: str) -> list[str]:
    text = _IN_BRACKETS.sub(" ", text)
    return ["0" if is_number(one) else one for one in _TOKEN.findall(folded(text))]


def _text_features(words: Sequence[str]) -> Iterator[str]:
    for word in words:
        yield f"w {word}"
        if len(word) > 2 and FINDING not in word:
            yield from (f"l {part}" for part in letters(word))
    framed = ["^", *words, "$"]
    yield from (f"b {one} {other}" for one, other in pairwise(framed))
    yield from (f"s {one} {other}" for one, other in zip(framed, framed[2:], strict=False))
    yield from (f"first {word}" for word in words[:2])
    yield f"long {min(len(words) // 4, 6)}"


@lru_cache(maxsize=4096)
def presence(text: str) -> Mapping[str, float]:
    """Return how likely a text says that `FINDING`, which stands in it once, is there, or not."""
    model = _model()
    chances = model.presence.probabilities(presence_features(text))
    return dict(zip(model.answers["presence"], map(float, chances), strict=True))


@lru_cache(maxsize=4096)
def asserts(text: str) -> float:
    """Return how likely a sentence asserts something medical about the patient."""
    model = _model()
    chances = model.asserts.probabilities(asserts_features(text))
    return float(chances[model.answers["asserts"].index(MEDICAL)])


@cache
def _names() -> frozenset[str]:
    return frozenset(map(folded, known_words()))


@cache
def _denying() -> frozenset[str]:
    lists = word_lists("statements")
    return frozenset(map(folded, f"{lists['NO']} {lists['NOT']}".split()))


def loaded(stored: Mapping[str, Any]) -> SentenceModel:
    """Return the model that some arrays hold."""
    return SentenceModel(
        classifier_in(stored, "presence"),
        classifier_in(stored, "asserts"),
        {name: stored[f"{name}_answers"].tolist() for name in ("presence", "asserts")},
    )


@cache
def _model() -> SentenceModel:
    with np.load(resources_dir() / "models" / "sentence_reader.npz") as file:
        return loaded(dict(file))
