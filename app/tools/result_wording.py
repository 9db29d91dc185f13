"""Types by which a pack says how its tools' results are worded without a language model.

A pack's `PackPlan` has a `ResultWording` for each tool whose result needs more than its summary. A
wording describes and never judges: it gives scores and measurements with their units, and says how
they were obtained. The program adds the number of the result that a sentence cites.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Data = Mapping[str, Any]
UNCHANGED = "unchanged"
"""True in the output of a command to the window that changed nothing there."""
RULE = ("------", "---", "---", "-----")
"""The line below the head of a table of what was before, is now, and the change between them.

Its dashes give the columns' widths: figures are short, names and changes have long words.
"""


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence of an answer, or several about the same thing.

    Attributes:
        cites: True if it is based on the tool's result, whose number is then added; False for a
            general remark ("a score is no diagnosis").
        row: Index of the image that it is about, of a result on each of several; None for all.
    """

    text: str
    cites: bool = True
    row: int | None = None


@dataclass(frozen=True, slots=True)
class ResultWording:
    """The wording of one tool's results.

    Attributes:
        title: Heading above the tool's findings; "" to use the tool's name.
        lines: A function that takes (output, metadata) and returns one sentence per line; None to
            use the result's own summary.
        kinds: The kinds of question that a result answers directly; `answer` then comes first.
        subject: A function that takes the `targets` and returns what that question is about, to
            say that the result is missing: "whether the heart is enlarged"; "" to give the reason
            alone.
        lacking: The reason told if the tool's model is not installed; "" to name the model.
        answer: A function that takes a dict of output and metadata, and the `targets` as in
            `AnswerContext`. It returns the direct answer: for each line, its sentences.
        aside: Whether the result is about the file or the display, and is told last.
        each: Whether each call's result is an answer, in the order of the calls, and not only the
            last one.
    """

    tool: str
    title: str = ""
    lines: Callable[[Data, Data], Sequence[Sentence]] | None = None
    kinds: frozenset[str] = frozenset()
    subject: Callable[[frozenset[str]], str] = lambda _: ""
    lacking: str = ""
    answer: Callable[[Data, frozenset[str]], Sequence[Sequence[Sentence]]] | None = None
    aside: bool = False
    each: bool = False


@dataclass(frozen=True, slots=True)
class AnswerContext:
    """The question that an answer is written for, and the tools that ran for it.

    Attributes:
        kinds: The kinds to which the question belongs (see `QuestionKind`).
        ran: Names of the tools that returned a result.
        targets: Objects ("lesion") that the question mentions: names in `PackPlan.targets`.
        lacks: Returns whether a tool, given by name, lacks a model or package that it requires.
        results: The results of this run, where they are known.
        images: The notes on the open images, the current one first.
        known: Names of the tools that gave a result in the whole conversation, on images of the
            current image's patient.
    """

    kinds: frozenset[str]
    ran: frozenset[str]
    targets: frozenset[str]
    lacks: Callable[[str], bool] = lambda _: False
    results: Sequence[CallResult] = ()
    images: Sequence[Data] = ()
    known: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class CallResult:
    """The result of one call, to be compared with those of other calls.

    Attributes:
        images: Names of the images that the result is based on; empty if not known.
    """

    tool: str
    arguments: Data
    output: Data
    metadata: Data
    images: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Disagreement:
    """Results that contradict each other; the user is shown each of them and never an average.

    Attributes:
        about: The subject: "pleural effusion".
        sides: For each contradicting result, a clause that states it, and the result's index (from
            0) among those that were compared.
        label: Label of the findings and values on which a side rests, where a result has any so
            called; "" for the whole result.
    """

    about: str
    sides: tuple[tuple[str, int], ...]
    label: str = ""


def cited(lines: Sequence[str]) -> list[Sentence]:
    """Return each line as a `Sentence` that cites its result."""
    return [Sentence(line) for line in lines]


def one_line(text: str, limit: int = 300) -> str:
    """Return `text` on one line without control characters, cut to `limit` characters."""
    line = " ".join(re.sub(r"[\x00-\x1f\x7f]", " ", text).split())
    return line if len(line) <= limit else f"{line[: limit - 1]}…"


def number(value: Any, digits: int = 2) -> str:
    """Return a number as text: 1,234 if it is whole, otherwise with `digits` decimals."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return one_line(str(value))
    if float(value).is_integer():
        return f"{int(value):,}"
    return f"{value:,.{digits}f}"


def scores_of(output: Data) -> dict[str, float]:
    """Return the numbers in a tool's `output` by their keys; all other values are left out."""
    return {
        str(label): float(score)
        for label, score in output.items()
        if isinstance(score, (int, float)) and not isinstance(score, bool)
    }


def has_words(text: str, pattern: str) -> bool:
    """Return True if a regular expression matches whole words in `text`, in any case."""
    return re.search(rf"(?<!\w)(?:{pattern})(?!\w)", text, re.IGNORECASE) is not None
