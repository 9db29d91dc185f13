"""Evidence: the numbering of results, and the check of an answer's citations against them.

A successful call is a result. It gets the next number in its conversation, [1], [2], ..., in the
order in which results arrive. The number is shown on the result's card and told to the model, and
answers cite it. Numbering continues from question to question, so that each number means one result
in the whole conversation. A failed call has no number, because no statement can be based on it.
What a result holds is cited as [3.2], the second item of result 3; see `items`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from app.agent.answers.german import in_german
from app.agent.answers.items import Item, by_row, told
from app.agent.context.shortening import to_text
from app.agent.messages import Message

UNKNOWN = ": no such result"
"""Added after a number in a citation that belongs to no result."""
UNKNOWN_ITEM = ": no such item"
"""Added after the id of an item that its result does not have."""

_LOST = rf"(?:{UNKNOWN}|{UNKNOWN_ITEM})"
_ID = r"\d{1,3}(?:\.[1-9]\d{0,2}(?!\d))?"
_NUMBER = rf"{_ID}{_LOST}?"
_LIST = rf"{_NUMBER}(?:\s*[,;\u2013-]\s*{_NUMBER})*"
_PLAIN = r"(?:text|txt|plain\w*|markdown|md)?[ \t]*\n(?:(?!```).)*?\[\d{1,3}\.\d{1,3}\]"
CODE = rf"```(?!{_PLAIN}).*?(?:```|\Z)|`[^`\n]+`"
"""Pattern of code in an answer, in which nothing is a citation or a statement.

A block of plain text that cites items is none.
"""
FORMULA = (
    r"\$\$(?P<display>[^$\n]+?)\$\$"
    r"|\\\((?P<round>[^\n]+?)\\\)|\\\[(?P<square>[^\n]+?)\\\]"
    r"|(?<![\\$\w])\$(?=[^\s$\d]|\d[^$\n]*[\\^_=+*/<>])(?P<dollar>[^$\n]*?[^\s\\$])\$(?![\d\w$])"
)
"""A formula within a line; "$5 and $10" is none: the second dollar stands before a digit."""
_CITATION = re.compile(rf"(?P<code>{CODE})|\[(?P<numbers>{_LIST})\](?!\()", re.DOTALL)
_ONE = re.compile(rf"({_ID}){_LOST}?(?:\s*[-\u2013]\s*({_ID}){_LOST}?)?")
_EACH = re.compile(rf"(?P<id>(?P<number>\d{{1,3}})(?:\.(?P<item>\d{{1,3}}))?)(?P<unknown>{_LOST})?")
MARK = re.compile(r"\[(?:check|prüfen): [^\[\]\n]{1,160}\]")
"""A mark at a figure or statement that no result supports; see `claims`."""
EARLIER = re.compile(
    r"\b(?:prior|previous\w*|earlier|before(?! (?:you|i|we|he|she|they|it|\w+ing)\b)|back then"
    r"|(?:at|of) (?:that|the) time|ago|baseline|"
    r"formerly|(?<!for )comparison|vor(?:aufnahme|bild|befund|bericht)\w*|damalig\w*|used to|"
    r"old(?:er)? (?:film|image|study|radiograph|x-?ray|examination|report|reading)|"
    r"(?:alte[nrms]?|ältere\w*) (?:aufnahme|bild|untersuchung|befund|bericht)|"
    r"vorherig\w*|früher\w*|voruntersuchung\w*|vorbekannt\w*|damals)\b",
    re.IGNORECASE,
)
"""Words of sentences that speak of an earlier image."""
NOT_LOOKED_FOR = ("**Not looked for**", "**Wonach nicht gesucht wurde**")
"""The heading of the list of what no tool looked for, in which no name leads to a finding."""
_BLANK = r"[\[\]\s]+"
_LARGEST = 99  # in a list: coordinates and window limits are lists in brackets as well
_MOST_OF_NONE = 10  # "[0.1]" is an id that there is not, "[0.52]" a number
_MOST = 3  # numbers of a list that names no result at all


@dataclass(frozen=True, slots=True)
class Checked:
    """An answer whose citations were checked.

    Attributes:
        text: The answer, with a mark after each cited number that belongs to no result.
        closing: Text to add after the answer, such as a note on unknown numbers; "" for none.
        cited: Numbers of the results that the run's texts cite, in ascending order.
        unknown: What they cite and there is not: numbers of results, and ids of items as texts.
    """

    text: str
    closing: str
    cited: tuple[int, ...]
    unknown: tuple[int | str, ...]


class Evidence:
    """Numbers the results of a conversation, and checks an answer's citations of these numbers."""

    def __init__(self, history: Iterable[Message] = ()) -> None:
        self.known = known_items(history)
        """The number of items of each result, by the result's number."""
        self._last = max(self.known, default=0)
        self._reserved: dict[str, int] = {}

    def reserve(self, call_ids: Iterable[str]) -> None:
        """Give calls that run side by side their numbers in this order, whichever ends first."""
        for call_id in call_ids:
            self._last += 1
            self._reserved[call_id] = self._last

    def take(self, message: Message, items: Sequence[Item] = ()) -> Message:
        """Return a copy of a message with the next result number; a failed call is unchanged.

        The model is told the ids of the result's `items` in the data of the copy.
        """
        if not message.ok or message.role != "tool":
            return message
        number = self._reserved.pop(message.call_id, 0) or self._last + 1
        self._last = max(self._last, number)
        self.known[number] = len(items)
        changed: dict[str, object] = {"evidence": number}
        if items:
            data = {**message.data, "items": told(number, items)}
            if rows := by_row(number, items):
                data["items_of_each_image"] = rows
            changed |= {"data": data, "text": to_text(data)}
        return message.model_copy(update=changed)

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
        lost = sorted(unknown.union(*(item[2] for item in said)), key=_order)
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

    def marked(self, text: str) -> str:
        """Return a text with a mark after each id in a citation that belongs to nothing."""
        return self._look_up(text)[0]

    def _look_up(self, answer: str) -> tuple[str, set[int], set[int | str]]:
        """Return the text with its marks, the results that it cites, and what there is not."""
        cited: set[int] = set()
        unknown: set[int | str] = set()

        def mark(one: re.Match[str]) -> str:
            lost: list[int | str] = []
            for number, item in _spread(one):
                if number not in self.known:
                    lost.append(number)
                    continue
                cited.add(number)
                if item > self.known[number]:
                    lost.append(f"{number}.{item}")
            unknown.update(lost)
            plain = unmarked(one[0])
            if not lost:
                return plain
            return plain + (UNKNOWN if any(isinstance(one, int) for one in lost) else UNKNOWN_ITEM)

        parts: list[str] = []
        at = 0
        for found in citations(answer, self.known):
            parts += [answer[at : found.start()], _ONE.sub(mark, found[0])]
            at = found.end()
        return "".join([*parts, answer[at:]]), cited, unknown


def known_items(history: Iterable[Message]) -> dict[int, int]:
    """Return the number of items of each result in a conversation, by the result's number."""
    return {one.evidence: len(one.data.get("items") or ()) for one in history if one.evidence}


def citations(text: str, known: Mapping[int, int]) -> Iterator[re.Match[str]]:
    """Yield the citations in a text, such as "[1]", "[1.2, 2]" and "[1-3]"; not in Markdown code.

    `known` has the number of items of each result. A list of more than three numbers is a citation
    only if at least one of them is known. While no result has items, "[1.5]" is a plain number.
    """
    itemised = any(known.values())
    for found in _CITATION.finditer(text):
        if found["numbers"] is not None:
            ones = [*_ONE.finditer(found[0])]
            ids = [each for one in ones for each in _spread(one)]
            if any(item for _, item in ids):
                if itemised and _meant_items(ones, ids, known):
                    yield found
            elif _meant([number for number, _ in ids], known):
                yield found


_ABBREVIATION = re.compile(
    r"(?:\b(?:ca|Dr|z\.\s?B|e\.g|i\.e|vs|bzw|approx|re|li))\.$"
    r"|\b(?:der|die|das|dem|den|des|am|vom|bis) \d{1,2}\.$"
)
"""Text before a full stop that does not end a sentence: "e.g.", German ordinals ("der 7. Tag")."""
_SENTENCE = re.compile(
    r"(?<=[.!?])(?!(?<=\d\.)\*\*\d)(?P<cited>(?:\s?\[\d[^\[\]\n]{0,60}\])*)(?:[*_)\"”]*\s+[*_]*|[*_)\"”]+)(?=[^\s\[a-z]|\[[A-ZÄÖÜ])|\n+(?=\s*\S)"
)
_WRAPPED = re.compile(
    r"[^\n#|>][^\n|]{39,}(?<![.!?:;\s])[ \t]*\n[ \t]*(?:[a-zäöüß(]|\[\d|\d+(?![\d.)]))"
)
"""A long line without an end, and the beginning of the next, in which its sentence goes on."""


def sentences(text: str) -> Iterator[tuple[int, int]]:
    """Yield where each sentence of a text begins and ends; each line is one, or several.

    A sentence that goes on in the next line is one; see `wrapped`.
    """
    at = 0
    for found in _SENTENCE.finditer(text):
        if _ABBREVIATION.search(text, max(at, found.start() - 12), found.start()):
            continue
        if found[0] == "\n" and wrapped(text, found.start()):
            continue
        yield at, found.end("cited") if found["cited"] else found.start()
        at = found.end()
    yield at, len(text)


def wrapped(text: str, line_end: int) -> bool:
    """Return whether the sentence before a line's end goes on in the next line."""
    start = text.rfind("\n", 0, line_end) + 1
    return _WRAPPED.match(text, start, line_end + 40) is not None


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
    """Yield a match for each id in a citation; a mark after it (": no such result") is included."""
    return _EACH.finditer(text)


def cite(line: str, what: int | str) -> str:
    """Return a line with "[what]" before its final full stop or colon; if 0 or "", unchanged.

    `what` is the number of a result, or ids of items as in "3.1, 3.2".
    """
    if not what:
        return line
    mark = f"[{what}]"
    if line.endswith((".", ":")) and not line.endswith(".."):
        return f"{line[:-1]} {mark}{line[-1]}"
    return f"{line} {mark}"


def number_line(message: Message) -> str:
    """Return the line that tells the model a result's number; "" if the message has no number."""
    if not message.evidence:
        return ""
    line = f"Cite this result as [{message.evidence}]."
    if not message.data.get("items"):
        return line
    return f"{line[:-1]}, what rests on one of its items as [{message.evidence}.1] and so on."


def unmarked(text: str) -> str:
    """Return an answer without the "[check: ...]" and ": no such result" that the program added."""
    return re.sub(rf" ?{MARK.pattern}|{_LOST}", "", text)


def mark(why: str, *, german: bool = False) -> str:
    """Return "[check: WHY]", the mark for a part of an answer that the reader should check."""
    told = " ".join(re.split(_BLANK, in_german(why) if german else why))[:160]
    return f"[{'prüfen' if german else 'check'}: {told}]"


def _meant(numbers: Sequence[int], known: Mapping[int, int]) -> bool:
    """Return whether numbers in brackets are a citation, rather than a position or a range."""
    if len(numbers) == 1:
        return True
    if len(set(numbers)) < len(numbers) or not all(1 <= item <= _LARGEST for item in numbers):
        return False
    return len(numbers) <= _MOST or any(number in known for number in numbers)


def _meant_items(
    ones: Sequence[re.Match[str]], ids: Sequence[tuple[int, int]], known: Mapping[int, int]
) -> bool:
    """Return whether brackets with decimals are a citation, rather than numbers or an interval."""
    if len(ids) == 1:
        return ids[0][0] > 0 or ids[0][1] < _MOST_OF_NONE
    ranges = [(_pair(one[1]), _pair(one[2])) for one in ones if one[2]]
    in_one = all(first[0] == last[0] and first[1] and last[1] for first, last in ranges)
    return in_one and len(set(ids)) == len(ids) and any(number in known for number, _ in ids)


def _spread(one: re.Match[str]) -> Iterator[tuple[int, int]]:
    """Yield the ids of a number or range as (result, item); item 0 for the result itself."""
    first, last = _pair(one[1]), _pair(one[2] or one[1])
    # A range that runs backwards or mixes the two is none; its ends are looked up as they stand.
    if not (first[1] or last[1]) and first <= last:
        yield from ((number, 0) for number in range(first[0], last[0] + 1))
    elif first[0] == last[0] and 0 < first[1] <= last[1]:
        yield from ((first[0], item) for item in range(first[1], last[1] + 1))
    else:
        yield from (first, last)


def _pair(text: str) -> tuple[int, int]:
    number, _, item = text.partition(".")
    return int(number), int(item or 0)


def _order(lost: int | str) -> tuple[int, int]:
    return _pair(str(lost))


def _no_evidence(unknown: Sequence[int | str]) -> str:
    names = ", ".join(str(number) for number in unknown)
    several = len(unknown) > 1
    if any(isinstance(number, str) for number in unknown):
        none = "there are no such items" if several else "there is no such item"
        return f"No evidence: the answer cites {names}, and {none}."
    cited = f"results {names}" if several else f"result {names}"
    none = "are none of these numbers" if several else "is none of that number"
    rest = f"What it says with {'them' if several else 'it'} rests on no tool."
    return f"No evidence: the answer cites {cited}, and there {none}. {rest}"
