"""What a language model wrote: whether it can be passed on, and what to say with it.

A model that has lost its way repeats itself or writes nothing; one that was stopped ends in the
middle of a sentence. Such text is said to be so, never handed on as if it were an answer.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

NOTE = "Written by a model, checked by nobody. Not for diagnosis."

MOST_REPEATS = 4
"""A phrase that follows itself so often is a loop."""
_SAME_SENTENCES = 3
_LONGEST_PHRASE = 30
_LEAST_LETTERS = 0.5
"""Share of letters and digits among what is no space, below which text is no language."""


@dataclass(frozen=True, slots=True)
class Written:
    """A text of a model, fit to be passed on.

    Attributes:
        text: What it wrote; of a loop only what came before it went round. "" for nothing usable.
        doubts: What is wrong with it, in plain words, a clause each.
    """

    text: str
    doubts: tuple[str, ...] = ()


def judged(answer: Mapping[str, Any]) -> Written:
    """The text of an entry's answer.

    Args:
        answer: "text"; "finished", whether the model ended it by itself; "most", how many tokens
            it was allowed.
    """
    text = re.sub(r"[ \t]+\n", "\n", str(answer.get("text", ""))).strip()
    if not text:
        return Written("", ("the model wrote nothing",))
    signs = re.sub(r"\s", "", text)
    if sum(sign.isalnum() for sign in signs) < _LEAST_LETTERS * len(signs):
        return Written("", ("what the model wrote is no text",))
    kept = _before_loop(text)
    if kept != text:
        return Written(kept, ("the model repeated itself; the repetition is left out",))
    if not answer.get("finished", True):
        most = answer.get("most")
        limit = f"the limit of {most} tokens" if most else "its limit"
        return Written(text, (f"the text was cut off at {limit}",))
    return Written(text)


def _before_loop(text: str) -> str:
    """The text up to the first round of a loop, or all of it."""
    return _before_same_sentences(_before_same_phrases(text))


def _before_same_phrases(text: str) -> str:
    """Cut where a phrase of words follows itself `MOST_REPEATS` times."""
    words = [(match.group().lower(), match.end()) for match in re.finditer(r"\S+", text)]
    plain = [word for word, _ in words]
    for start in range(len(plain)):
        for length in range(1, min(_LONGEST_PHRASE, (len(plain) - start) // MOST_REPEATS) + 1):
            phrase = plain[start : start + length]
            rounds = plain[start : start + length * MOST_REPEATS]
            if rounds == phrase * MOST_REPEATS:
                return text[: words[start + length - 1][1]]
    return text


def _before_same_sentences(text: str) -> str:
    """Cut where a sentence comes for the third time, also with others between."""
    seen: dict[str, int] = {}
    for match in re.finditer(r"[^.!?\n]+[.!?]*", text):
        sentence = re.sub(r"\W+", " ", match.group()).strip().lower()
        if len(sentence.split()) < _SAME_SENTENCES:
            continue
        seen[sentence] = seen.get(sentence, 0) + 1
        if seen[sentence] == _SAME_SENTENCES:
            return text[: match.start()].rstrip()
    return text
