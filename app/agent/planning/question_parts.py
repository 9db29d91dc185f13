"""The parts of a question, and which of them ask for something.

"He mentions a mass, can you frame it, and then measure the heart" has three parts: a statement
and two separate requests.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from app.agent.planning.vocabulary import DETERMINERS, Token, Vocabulary
from app.paths import question_words

_THEN = question_words("then")
_ONCE = frozenset(("once", "when", "after", "sobald", "wenn", "nachdem"))
_AND = frozenset(("and", "und", "plus", "also", "sowie", "or", "oder"))
_FILLERS = DETERMINERS | _AND | question_words("fillers")
_QUESTIONS = question_words("questions")
_ORDERS = question_words("orders")
_WISHES = question_words("wishes")
_PERSONS = frozenset(("i", "we", "i'd", "we'd", "id", "ich", "wir", "mich", "uns", "i'll"))
_INFINITIVES = Vocabulary(
    ("do", entry)
    for entry in (
        *("*zeigen", "*messen", "*bestimmen", "berechnen", "*vergleichen", "*randen", "*zeichnen"),
        *("*schreiben", "*stellen", "*zaehlen", "*pruefen", "*gleichen", "*rechnen", "*tieren"),
        *("*zieren", "*isieren", "*fizieren", "*gieren", "*fassen", "*suchen", "*fragen", "machen"),
        *("*teilen", "*rahmen", "*werten", "*markieren", "*rauschen", "*geben", "*lesen"),
        *("*generieren", "*erzeugen", "*segmentieren", "*diktieren", "*faerben", "*schneiden"),
    )
)
# A participle at the end makes a request without a verb: "the right lung outlined".
_WORKED_ON = question_words("worked_on")
# After these a question word begins a relative clause: "das, was ich markiert habe".
_MEANT = frozenset(("das", "alles", "dasjenige", "den", "dem", "that", "everything", "all"))
_RELATIVE = frozenset(("was", "what", "which", "who", "welches", "welche", "where", "wo"))
_AHEAD = frozenset(("before", "vor", "zunaechst", "bevor"))
_ELSE = frozenset(("anything", "everything", "else", "allem", "alles", "other", "anderen"))
# How many words at the start of a part show whether it is a request.
_FEW = 4


@dataclass(frozen=True, slots=True)
class Parts:
    """A question divided into parts, each a statement, a question or a request.

    Attributes:
        part_numbers: For each word of the question, the number of its part, from 0.
        asks: For each part, whether it is a question or request by itself.
        follows: For each part, whether it begins with "then" or a similar word.
    """

    part_numbers: Sequence[int]
    asks: Sequence[bool]
    follows: Sequence[bool]

    def words(self, parts: Collection[int]) -> frozenset[int]:
        """Return the indices of the words in the parts with these numbers."""
        return frozenset(place for place, part in enumerate(self.part_numbers) if part in parts)


def parts_of(tokens: Sequence[Token]) -> Parts:
    """Return a question's words divided into parts."""
    of: list[int] = []
    starts: list[int] = []
    for place, token in enumerate(tokens):
        fresh = not of or token.clause != tokens[place - 1].clause
        if fresh or _starts_part(tokens, place, starts[-1]):
            starts.append(place)
        of.append(len(starts) - 1)
    ends = [*starts[1:], len(tokens)]
    spans = list(zip(starts, ends, strict=False))
    return Parts(
        of,
        [_is_request(tokens, start, end) for start, end in spans],
        [_starts_with_then(tokens[start:end]) for start, end in spans],
    )


def _starts_part(tokens: Sequence[Token], place: int, start: int) -> bool:
    """Return whether a word begins a new part within its clause: "then ...", "and measure ..."."""
    word = tokens[place].text
    if word in _THEN:
        before = tokens[place - 1].text
        return place > start and before not in _AND and word != "next"
    if word not in _AND or place + 1 >= len(tokens):
        return False
    rest = [
        token
        for token in tokens[place + 1 : place + 1 + _FEW]
        if token.clause == tokens[place].clause
    ]
    if rest and rest[0].text in _THEN:
        return True
    said = [token.text for token in rest if token.text not in _FILLERS]
    return bool(said) and (said[0] in _ORDERS or said[0] in _QUESTIONS)


def _starts_with_then(words: Sequence[Token]) -> bool:
    """Return whether a part begins with "then" or "once that is done"."""
    if any(token.text in _THEN for token in words[:2]):
        return True
    # A clause with a request after its condition: "once that is done measure the heart".
    said = [token.text for token in words]
    return said[0] in _ONCE and any(word in _ORDERS for word in said[2:])


def _is_request(tokens: Sequence[Token], start: int, end: int) -> bool:
    """Return whether the part from `start` to `end` is a question or a request."""
    words = [token.text for token in tokens[start:end]]
    if start and tokens[start - 1].text in _MEANT and words[0] in _RELATIVE:
        return False
    if words[-1] in _WORKED_ON and not any(word in _PERSONS for word in words):
        return True
    if _starts_with_then(tokens[start:end]):
        return True
    if tokens[end - 1].in_question and (
        end == len(tokens) or tokens[end].sentence != tokens[end - 1].sentence
    ):
        return True
    lead = 0
    while lead < len(words) and words[lead] in _FILLERS - {"can", "could", "would", "will"}:
        lead += 1
    # The request follows such an introduction: "before anything else window this at 40/400".
    if words[lead : lead + 1] and words[lead] in _AHEAD:
        while lead < len(words) and words[lead] in _AHEAD | _FILLERS | _ELSE:
            lead += 1
    first = words[lead : lead + 1]
    if any(word in _QUESTIONS or word in _ORDERS for word in first):
        return True
    head = words[lead : lead + _FEW]
    if any(word in _PERSONS for word in head[:2]) and (
        any(word in _WISHES for word in head) or any(word.endswith("'d") for word in head)
    ):
        return True
    return (
        bool(_INFINITIVES.word_numbers(tokens[end - 1].forms)) and not tokens[end - 1].in_question
    )
