"""Words that a question leaves out: "don't classify", "without a report", "ohne Segmentierung".

A question about something that may be absent leaves nothing out ("is there no effusion?"), so there
are cues of two strengths. A *strong* cue ("don't", "without", "skip") excludes whatever follows it;
a *weak* one ("no", "not", "kein") only excludes a tool's action ("no report"), never a finding.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from app.agent.planning.vocabulary import DETERMINERS, Token, Vocabulary
from app.paths import question_words
from app.tools.pack_plan import phrases, word_lists

# How many words a strong cue and a weak cue exclude at most.
_REACH = 8
_NEAR = 3

_ENDS = question_words("ends")
# A new request ends an exclusion: "rather than a report give me the ratio".
_ORDERS = frozenset(("give", "tell", "show", "get", "gib", "zeig", "zeige", "sag", "nenne"))
_JOINS = frozenset(("or", "nor", "and", "oder", "und", "noch", "sowie"))
_OWNERS = {
    "STRONG_LIST": "+strong",
    "STRONG": "strong",
    "MILD": "mild",
    "WEAK": "weak",
    "ONLY": "only",
    "AFTER": "after",
    "AROUND": "around",
    "NO_CUES": "none",
}
"""Kinds of cues by their section; "+" marks those that exclude a whole list across commas."""
_CUES = Vocabulary(
    (_OWNERS[section], cue)
    for section, cues in word_lists("negation").items()
    for cue in phrases(cues)
)


@dataclass(frozen=True, slots=True)
class Denial:
    """An exclusion in a question: a cue, such as "don't" or "without", and the words it excludes.

    Attributes:
        strong: Whether findings and structures are excluded as well, not only a tool's action.
        positions: Indices of the excluded words among the question's words.
        cue: Index of the cue's first word.
        last: Index of the cue's last word.
        mild: Whether the cue may also be a request ("exclude a fracture" asks about the fracture).
    """

    strong: bool
    positions: frozenset[int]
    cue: int
    last: int
    mild: bool = False


def denials(tokens: Sequence[Token]) -> list[Denial]:
    """Return the exclusions in a question, one for each cue such as "don't" or "without"."""
    found = _CUES.find(tokens)
    harmless = {
        position for match in found if match.owner == "none" for position in match.positions
    }
    cues = [match for match in found if match.owner != "none" and not match.positions & harmless]
    longest = [cue for cue in cues if not any(cue.positions < other.positions for other in cues)]
    starts = {min(cue.positions) for cue in longest}
    denied: list[Denial] = []
    for cue in longest:
        first, last = min(cue.positions), max(cue.positions)
        if cue.owner == "after":
            denied.append(Denial(True, _words_before(tokens, first), first, last))
            continue
        if cue.owner in ("around", "only"):
            at = range(first + 1, last) if cue.owner == "around" else range(first, last + 1)
            denied.append(Denial(True, frozenset(at), first, last))
            continue
        strong = "strong" in cue.owner
        listed = cue.owner.startswith("+") or cue.entry in ("no", "kein", "keine", "keinen", "nor")
        at = _words_after(tokens, last, starts, listed=listed, reach=_REACH if strong else _NEAR)
        behind = cue.entry in ("nicht", "nothing", "nichts")
        if not strong and behind and not tokens[first].in_question:
            at |= _words_before(tokens, first)  # "klassifiziere nicht", "einen Bericht bitte nicht"
        denied.append(Denial(strong, at, first, last, mild=cue.owner == "mild"))
    return denied


def is_cue_word(token: Token) -> bool:
    """Return whether a word is part of an exclusion cue ("without"), which is never corrected."""
    return bool(_CUES.word_numbers(token.forms))


def _words_before(tokens: Sequence[Token], first: int) -> frozenset[int]:
    """Return the positions in the clause before a cue, back to the last "and", "but" or "only"."""
    found: set[int] = set()
    for position in range(first - 1, max(-1, first - 1 - _REACH), -1):
        token = tokens[position]
        if token.clause != tokens[first].clause or token.text in _ENDS | {"and", "und"}:
            break
        found.add(position)
    return frozenset(found)


def _words_after(
    tokens: Sequence[Token], last: int, starts: set[int], *, listed: bool, reach: int
) -> frozenset[int]:
    """Return the positions excluded after a cue, up to the end of its clause, list or reach."""
    found: set[int] = set()
    clause = tokens[last].clause
    left = reach
    for position in range(last + 1, len(tokens)):
        token = tokens[position]
        if token.sentence != tokens[last].sentence or position in starts or token.text in _ENDS:
            break
        if token.clause != clause:
            if not listed or not _continues_list(tokens, position):
                break
            clause = token.clause
            left = max(left, _NEAR)
        if token.text in _JOINS:
            if not _extends_denial(tokens, position, listed=listed):
                break
            left = max(left, _NEAR)
            continue
        if token.text in DETERMINERS:
            continue
        if found and token.text in _ORDERS:
            break
        if left == 0:
            break
        left -= 1
        found.add(position)
    return frozenset(found)


def _continues_list(tokens: Sequence[Token], start: int) -> bool:
    """Return whether a clause continues a list: one item, or "and" with the last item."""
    words = [token for token in tokens[start : start + 8] if token.clause == tokens[start].clause]
    said = [token for token in words if token.text not in DETERMINERS]
    if not said or said[0].text in _ENDS:
        return False
    joined = [position for position, token in enumerate(said) if token.text in _JOINS]
    return joined in ([0], [1]) and len(said) <= joined[0] + 2


def _extends_denial(tokens: Sequence[Token], position: int, *, listed: bool) -> bool:
    """Return whether the words after an "and" are excluded too; not if they are a new request."""
    token = tokens[position]
    if token.text in ("or", "nor", "oder", "noch"):
        return True
    rest = [
        other
        for other in tokens[position + 1 : position + 8]
        if other.clause == token.clause and other.text not in DETERMINERS
    ]
    return bool(rest) and rest[0].text not in _ENDS and len(rest) <= (3 if listed else 1)
