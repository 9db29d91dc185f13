"""Evidence: the numbering of results, and the check of an answer's citations against them.

A successful call is a result. It gets the next number in its conversation, [1], [2], ..., in the
order in which results arrive. The number is shown on the result's card and told to the model, and
answers cite it. Numbering continues from question to question, so that each number means one result
in the whole conversation. A failed call has no number, because no statement can be based on it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from app.agent.messages import Message

UNKNOWN = ": no such result"
"""Added after a number in a citation that belongs to no result."""

_NUMBER = rf"\d{{1,3}}(?:{UNKNOWN})?"
_LIST = rf"{_NUMBER}(?:\s*[,;\u2013-]\s*{_NUMBER})*"
CODE = r"```.*?(?:```|\Z)|`[^`\n]+`"
"""Pattern of code in an answer, in which nothing is a citation or a statement."""
_CITATION = re.compile(rf"(?P<code>{CODE})|\[(?P<numbers>{_LIST})\](?!\()", re.DOTALL)
_ONE = re.compile(rf"(\d{{1,3}})(?:{UNKNOWN})?(?:\s*[-\u2013]\s*(\d{{1,3}})(?:{UNKNOWN})?)?")
_EACH = re.compile(rf"(?P<number>\d{{1,3}})(?P<unknown>{UNKNOWN})?")
MARK = re.compile(r"\[check: [^\[\]\n]{1,160}\]")
"""A mark at a figure or statement that no result supports; see `claims`."""
_BLANK = r"[\[\]\s]+"
_LARGEST = 99  # in a list: coordinates and window limits are lists in brackets as well
_MOST = 3  # numbers of a list that names no result at all


@dataclass(frozen=True, slots=True)
class Checked:
    """An answer whose citations were checked.

    Attributes:
        text: The answer, with a mark after each cited number that belongs to no result.
        closing: Text to add after the answer, such as a note on unknown numbers; "" for none.
        cited: Numbers of the results that the run's texts cite, in ascending order.
        unknown: Cited numbers that belong to no result.
    """

    text: str
    closing: str
    cited: tuple[int, ...]
    unknown: tuple[int, ...]


class Evidence:
    """Numbers the results of a conversation, and checks an answer's citations of these numbers."""

    def __init__(self, history: Iterable[Message] = ()) -> None:
        self._known = {item.evidence: item.tool for item in history if item.evidence}
        self._last = max(self._known, default=0)

    def take(self, message: Message) -> Message:
        """Return a copy of a message with the next result number; a failed call is unchanged."""
        if not message.ok or message.role != "tool":
            return message
        self._last += 1
        self._known[self._last] = message.tool
        return message.model_copy(update={"evidence": self._last})

    def check(
        self,
        answer: str,
        before: Iterable[str] = (),
        behind: Callable[[frozenset[int]], str] = lambda _: "",
    ) -> Checked:
        """Check the citations in an answer, and return the answer with its closing text.

        `before` are the model's other texts in this run, which are checked but not changed.
        `behind` is called with all cited numbers; its text becomes part of the closing text.
        """
        said = [self._look_up(text) for text in before]
        text, cited, unknown = self._look_up(answer)
        every = frozenset(cited.union(*(item[1] for item in said)))
        lost = sorted(unknown.union(*(item[2] for item in said)))
        told = behind(every)
        return Checked(
            text,
            (f"\n\n{_no_evidence(lost)}" if lost else "") + told,
            tuple(sorted(every | self._look_up(told)[1])),
            tuple(lost),
        )

    def cites(self, answer: str) -> bool:
        """Return whether an answer cites a result of this conversation."""
        return bool(self._look_up(answer)[1])

    def _look_up(self, answer: str) -> tuple[str, set[int], set[int]]:
        """Return the text with its marks, the numbers that are results, and those that are not."""
        cited: set[int] = set()
        unknown: set[int] = set()

        def mark(one: re.Match[str]) -> str:
            numbers = tuple(_spread(one))
            lost = [number for number in numbers if number not in self._known]
            cited.update(number for number in numbers if number in self._known)
            unknown.update(lost)
            return f"{unmarked(one[0])}{UNKNOWN}" if lost else unmarked(one[0])

        parts: list[str] = []
        at = 0
        for found in citations(answer, self._known):
            parts += [answer[at : found.start()], _ONE.sub(mark, found[0])]
            at = found.end()
        return "".join([*parts, answer[at:]]), cited, unknown


def citations(text: str, known: Collection[int]) -> Iterator[re.Match[str]]:
    """Yield the citations in a text, such as "[1]", "[1, 2]" and "[1-3]", except in Markdown code.

    `known` are the numbers of existing results. A list of more than three numbers is a citation
    only if at least one of them is known.
    """
    for found in _CITATION.finditer(text):
        if found["numbers"] is not None:
            numbers = [number for one in _ONE.finditer(found[0]) for number in _spread(one)]
            if _meant(numbers, known):
                yield found


def texts_beside_calls(history: Sequence[Message]) -> list[str]:
    """Return the texts that the model wrote beside its tool calls since the last question."""
    texts: list[str] = []
    for message in reversed(history):
        if message.role == "user":
            break
        if message.role == "assistant" and message.tool_calls and message.text:
            texts.append(message.text)
    return texts[::-1]


def numbers_in(text: str) -> Iterator[re.Match[str]]:
    """Yield a match for each number in a citation; a ": no such result" after it is included."""
    return _EACH.finditer(text)


def cite(line: str, number: int) -> str:
    """Return a line with "[number]" before its final full stop or colon; if 0, unchanged."""
    if not number:
        return line
    mark = f"[{number}]"
    if line.endswith((".", ":")) and not line.endswith(".."):
        return f"{line[:-1]} {mark}{line[-1]}"
    return f"{line} {mark}"


def number_line(message: Message) -> str:
    """Return the line that tells the model a result's number; "" if the message has no number."""
    return f"Cite this result as [{message.evidence}]." if message.evidence else ""


def unmarked(text: str) -> str:
    """Return an answer without the "[check: ...]" and ": no such result" that the program added."""
    return re.sub(rf" ?{MARK.pattern}", "", text.replace(UNKNOWN, ""))


def mark(why: str) -> str:
    """Return "[check: WHY]", the mark for a part of an answer that the reader should check."""
    return f"[check: {' '.join(re.split(_BLANK, why))[:160]}]"


def _meant(numbers: Sequence[int], known: Collection[int]) -> bool:
    """Return whether numbers in brackets are a citation, rather than a position or a range."""
    if len(numbers) == 1:
        return True
    if len(set(numbers)) < len(numbers) or not all(1 <= item <= _LARGEST for item in numbers):
        return False
    return len(numbers) <= _MOST or any(number in known for number in numbers)


def _spread(one: re.Match[str]) -> Iterator[int]:
    first, last = int(one[1]), int(one[2] or one[1])
    # A range that runs backwards is none; its ends are looked up as they stand.
    yield from range(first, last + 1) if first <= last else (first, last)


def _no_evidence(unknown: Sequence[int]) -> str:
    names = ", ".join(str(number) for number in unknown)
    several = len(unknown) > 1
    cited = f"results {names}" if several else f"result {names}"
    none = "are none of these numbers" if several else "is none of that number"
    rest = f"What it says with {'them' if several else 'it'} rests on no tool."
    return f"No evidence: the answer cites {cited}, and there {none}. {rest}"
