"""How far a kind of question reaches: the words of the question that are said to its tools."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TypeVar

from app.agent.planning.parts import Parts
from app.agent.planning.scope import said_nothing
from app.agent.planning.words import Match, Token

_K = TypeVar("_K")
_IT_TEXT = (
    "one eins "
    "it its that them this these those inside there darin drin es ihn sie das dies davon diesen "
    "darum drum dessen deren dort"
)
_IT = frozenset(_IT_TEXT.split())
_PREDICATES = frozenset(("soll", "sollte", "sollen", "muss", "should", "must", "needs"))
_ADDRESSING_TEXT = (
    "ask asks let have use run query frag frage lass opinion meinung view according to "
    "says say past by put question "
    "forward pass hand on over think thinks sagt meint laut hey dear consult"
)
_ADDRESSING = frozenset(_ADDRESSING_TEXT.split())


# "Please ask it, as you did before, whether ...": what it is asked.
_WHETHER_TEXT = "ob whether if wether weather was wie how what which wo where welche"
_WHETHER = frozenset(_WHETHER_TEXT.split())
_ANSWERING_TEXT = (
    "fragen gefragt sagen gesagt beurteilen beurteile beurteilt einschaetzen wissen hoeren judge "
    "decide tell answer asking comment assess hear know check look schauen pruefen"
)
_ANSWERING = frozenset(_ANSWERING_TEXT.split())


def reaches(
    kinds: Mapping[_K, Sequence[Match]],
    whole: Collection[_K],
    named: Collection[_K],
    tokens: Sequence[Token],
    parts: Parts,
) -> dict[_K, frozenset[int]]:
    """By kind, the numbers of the words that it has.

    These are the parts in which its own words stand, and what is told beside them: "he mentions a
    mass, can you frame it". Another request is none of it: "frame it, and measure the heart".

    Args:
        kinds: The kinds, with the words that make the question one.
        whole: Those of them that have whole parts.
        named: Those of them whose words name somebody who is asked.
        tokens: The question's words.
        parts: The question's parts.
    """
    at = {key: {parts.of[place] for match in found for place in match.at}
          for key, found in kinds.items()}  # fmt: skip
    found: dict[_K, frozenset[int]] = {}
    for key, own in at.items():
        others = set[int]().union(*(at[other] for other in whole if other != key)) - own
        reach = set(own)
        for part in own:
            reach |= _told(part, -1, parts, own | others)
            reach |= _told(part, 1, parts, own | others)
            if key in whole:
                reach |= _spoken_of(part, tokens, parts) - others
            if key in named and _addressed(part, kinds[key], tokens, parts):
                reach |= {part + 1} - others
        found[key] = parts.words(reach)
    return found


def _told(part: int, step: int, parts: Parts, taken: Collection[int]) -> set[int]:
    """The parts next to one that ask for nothing by themselves."""
    found: set[int] = set()
    part += step
    while 0 <= part < len(parts.asks) and part not in taken and not parts.asks[part]:
        found.add(part)
        part += step
    return found


def _spoken_of(part: int, tokens: Sequence[Token], parts: Parts) -> set[int]:
    """The request after a part that only tells, if it is about what that told: "outline it"."""
    if parts.asks[part]:
        return set()
    if _is_subject(part, tokens, parts):
        return {part + 1}
    after = [
        number
        for number in range(part + 1, min(part + 3, len(parts.asks)))
        if not parts.follows[number]
    ]
    for number in after:
        if any(tokens[place].text in _IT for place in parts.words((number,))):
            return set(range(part + 1, number + 1))
    return set()


def _is_subject(part: int, tokens: Sequence[Token], parts: Parts) -> bool:
    """Whether the next part only says what is done to this one: "what I marked, should be ..."."""
    after = part + 1
    if after >= len(parts.asks) or parts.follows[after]:
        return False
    following = parts.of.index(after)
    same = tokens[following - 1].sentence == tokens[following].sentence
    return same and tokens[following].text in _PREDICATES


def _addressed(part: int, matches: Sequence[Match], tokens: Sequence[Token], parts: Parts) -> bool:
    """Whether a part does no more than name whom the next one is for: "MedGemma: lines ok?"."""
    after = part + 1
    if after >= len(parts.asks) or parts.follows[after]:
        return False
    named = frozenset(place for match in matches for place in match.at)
    words = [place for place, number in enumerate(parts.of) if number == part]
    following = parts.of.index(after)
    said = [tokens[place].text for place in words]
    if tokens[following].text in _WHETHER and any(
        word in _ADDRESSING or word in _ANSWERING for word in said
    ):
        return True
    if tokens[words[-1]].sentence != tokens[following].sentence:
        return False
    return all(
        place in named or said_nothing(tokens[place]) or tokens[place].text in _ADDRESSING
        for place in words
    )
