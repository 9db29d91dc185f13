"""How results are told without a language model: what a pack says of its own tools' outputs.

A pack names a `Teller` for each tool whose result needs more than its summary, in its `PackPlan`.
Whatever a teller says is described, never judged: scores and measurements with their units, and
what they rest on. The number by which a sentence cites its result is put in by who writes the
answer.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Data = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Said:
    """A sentence, or several about the same.

    Attributes:
        text: The sentence.
        cites: It rests on the result. What is always so ("a score is no diagnosis") does not.
    """

    text: str
    cites: bool = True


@dataclass(frozen=True, slots=True)
class Teller:
    """How the results of one tool are told.

    Attributes:
        tool: Its name.
        title: Heading of what it found, "" for its name.
        lines: A line each, of `output` and `metadata`; none for what the result says itself.
        kind: The kind of question that a result answers directly, above all else.
        subject: What cannot be said where there is no result: "whether the heart is enlarged".
        answer: That answer, of `output` and the question; a line for each inner sequence.
    """

    tool: str
    title: str = ""
    lines: Callable[[Data, Data], Sequence[Said]] | None = None
    kind: str = ""
    subject: str = ""
    answer: Callable[[Data, str], Sequence[Sequence[Said]]] | None = None


@dataclass(frozen=True, slots=True)
class Told:
    """What an answer rests on.

    Attributes:
        kinds: Of the question.
        ran: Tools that gave a result.
        question: The user's text.
    """

    kinds: frozenset[str]
    ran: frozenset[str]
    question: str


@dataclass(frozen=True, slots=True)
class Given:
    """What a call gave, to be held against what others gave.

    Attributes:
        tool: Its name.
        arguments: What it was asked.
        output: Its output.
        metadata: Its metadata.
        images: The images that it rests on, by what names them; empty when that is not known.
    """

    tool: str
    arguments: Data
    output: Data
    metadata: Data
    images: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Disagreement:
    """Results that contradict each other; shown as they are, never averaged.

    Attributes:
        about: On what: "pleural effusion".
        sides: A sentence part each, with the place in the given sequence of what says so.
    """

    about: str
    sides: tuple[tuple[str, int], ...]


def said(lines: Sequence[str]) -> list[Said]:
    """Sentences that rest on the result."""
    return [Said(line) for line in lines]


def one_line(text: str, limit: int = 300) -> str:
    """`text` on one line without control characters, cut at `limit`."""
    line = " ".join(re.sub(r"[\x00-\x1f\x7f]", " ", text).split())
    return line if len(line) <= limit else f"{line[: limit - 1]}…"


def number(value: Any, digits: int = 2) -> str:
    """A number for reading: thousands separated, `digits` decimals, none for whole ones."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return one_line(str(value))
    if float(value).is_integer():
        return f"{int(value):,}"
    return f"{value:,.{digits}f}"


def scores_of(output: Data) -> dict[str, float]:
    """The numbers of a flat output, by name."""
    return {
        str(label): float(score)
        for label, score in output.items()
        if isinstance(score, (int, float)) and not isinstance(score, bool)
    }


def has_words(text: str, pattern: str) -> bool:
    """Whether `pattern` occurs in `text` as whole words ("count" is not in "account")."""
    return re.search(rf"(?<!\w)(?:{pattern})(?!\w)", text, re.IGNORECASE) is not None
