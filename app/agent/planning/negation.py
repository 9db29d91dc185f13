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
from app.tools.pack_plan import phrases

# How many words a strong cue and a weak cue exclude at most.
_REACH = 8
_NEAR = 3

# "+" marks cues that exclude a whole list across commas ("without a, b and c"). "Nothing" and
# "nichts" also exclude the words before them: "gezählt werden muss nichts".
_BEFORE = {
    "+strong": phrases("""
        without, except, except for, excluding, apart from, other than, everything but,
        anything but, all but, alles bis auf, instead of, rather than, minus, ohne, ausser, anstatt,
        anstelle
    """),
    "strong": phrases("""
        don't, dont, do not, never, skip, omit, leave out, leave away, avoid, ignore, refrain from,
        drop, never mind, needn't, no need to, forget, forget about, leave aside, vergiss, lass weg,
        verzichte, no need for, not interested in, don't bother, stop, must not, mustn't,
        should not, shouldn't, you need not, lass, verzichte auf, ueberspringe, spare me,
        spare yourself, hold the, leave off, can do without, no use for, save yourself, save me,
        hold back on, not after, spar dir, erspar mir, verschone mich mit, lass sein, verzichten,
        ignorier*, ignoriere, kein bedarf an, won't need, will not need, not necessary to, not need
    """),
    "mild": ("exclude", "excluded"),
    "weak": phrases("""
        no, not, nor, neither, kein, keine, keinen, keinem, keiner, nicht, weder, noch, nothing,
        nichts
    """),
}
# These ask for the words after them; "everything" within them is not asked for.
_ONLY = phrases("""
    skip everything except, skip everything but, skip all except, skip all but,
    ignore everything except, ignore everything but, leave out everything except, nothing but,
    nothing except, nothing other than, nothing else than, nichts ausser, do not do anything except,
    don't do anything except, don't do anything but, lass alles weg ausser, nichts anderes als
""")
_AROUND = phrases("""
    leave .. out, leave .. away, leave .. aside, leave .. alone, lass .. weg, lasse .. weg,
    lass .. in ruhe
""")
_AFTER = phrases("""
    not needed, not now, can wait, kann warten, not this time, no need, need not be done,
    nicht machen, brauch ich nicht, brauchst du nicht, brauchts nicht, muss nicht sein,
    will be done later, isn't needed, not necessary, isn't necessary, not required, not wanted,
    unnecessary, nicht noetig, nicht notwendig, nicht erforderlich, nicht gebraucht,
    nicht gewuenscht, brauche ich nicht, brauchen wir nicht, will ich nicht, weglassen,
    ueberspringen, aussparen
""")
# Phrases that contain a cue but exclude nothing: "don't you see", "not only". "Lass" also means
# "let": "lass das Modell schauen".
_NO_CUES = phrases("""
    lass .. *eilen|*tworten|*chauen|*sehen|*reiben|*werten|*ruefen|*scheiden|*schaetzen|sagen,
    lass uns, lass mich, lass .. einfallen, lass .. laufen, don't you, could you not, can you not,
    would you not, kannst du nicht, koennen sie nicht, koenntest du nicht, willst du nicht,
    warum nicht, don't we, don't they, don't i, don't know, do not know, don't see, do not see,
    don't find, don't understand, don't remember, don't think, don't believe, don't forget,
    dont forget, dont see, dont know, do not forget, don't hesitate, do not hesitate, don't miss,
    not only, not just, not sure, no idea, no doubt, or not, why not, if not, nicht nur,
    nicht sicher, nicht vergessen, oder nicht, weiss nicht, sehe nicht, kein problem, no problem,
    no longer, sonst|weiter nichts, there is|was nothing, see|find|found|is nothing, nicht mehr,
    noch nicht, with or without, mit oder ohne
""")
_ENDS = question_words("ends")
# A new request ends an exclusion: "rather than a report give me the ratio".
_ORDERS = frozenset(("give", "tell", "show", "get", "gib", "zeig", "zeige", "sag", "nenne"))
_JOINS = frozenset(("or", "nor", "and", "oder", "und", "noch", "sowie"))
_CUES = Vocabulary(
    [
        *((strength, cue) for strength, cues in _BEFORE.items() for cue in cues),
        *(("only", cue) for cue in _ONLY),
        *(("after", cue) for cue in _AFTER),
        *(("around", cue) for cue in _AROUND),
        *(("none", cue) for cue in _NO_CUES),
    ]
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
