"""Reads whether a text says that a finding is present or absent, by the words for it.

A negation reaches to the end of its clause ("denies chills, fever and cough") or, for "no", "not"
and "without", over the next item only, unless the list goes on with "or"; what is said to be
positive ends it ("no fever, CRP raised"). What relatives have, and what is only to be ruled out, is
not said of the patient. English and German.

In a phrase " ... " stands for up to three words ("calf ... swollen"), and a "*" at the end of a
word for any ending ("stechend*").
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

_CLAUSES = re.compile(r"[.;!?\n]+(?=\s|$)|\b(?:but|however|although|though|yet|aber|jedoch)\b")
_TO_THE_END = ("denies", "denied", "negative for", "verneint")
_OVER_AND = ("without", "absence of", "ohne")  # "without fever and cough"
_NEXT_ONLY = (
    *("no", "not", "never", "neither", "nor", "none of", "non", "cannot", r"\w+n't"),
    *(r"kein(?:e[nmrs]?|erlei)?", "nicht", "nie", "weder"),
)
_REACH = tuple(  # up to where each negates
    (re.compile(rf"(?<!\w)(?:{'|'.join(words)})(?!\w)"), re.compile(stop))
    for words, stop in ((_TO_THE_END, "(?!)"), (_OVER_AND, ","), (_NEXT_ONLY, ",| and | und "))
)
_NEGATION = re.compile(rf"(?<!\w)(?:{'|'.join((*_NEXT_ONLY, *_OVER_AND, *_TO_THE_END))})(?!\w)")
_AFTER = re.compile(
    r"^[\s:(]*(?:is|are|was|were|ist|sind|wird|werden)?\s*"
    r"(?:absent|negative|negativ|not present|excluded|ruled out|denied|ausgeschlossen|verneint"
    r"|fehlt|fehlen|no\b|nein\b)"
)
_RELATIVES = re.compile(  # "her father had", not "her husband says that she"
    r"(?<!\w)(?:(?:(?:grand)?(?:mother|father)|mum|mom|dad|parents?|brothers?|sisters?|uncle|aunt"
    r"|cousin|son|daughter|husband|wife|family|mutter|vater|bruder|schwester|sohn|tochter|onkel"
    r"|tante|eltern)(?:'s)?(?:\s\S+){0,3}?\s(?:had|has|have|with|died|history|hat|hatten?|mit|litt"
    r"|an)|familien\w*)(?!\w)"
)
_TO_RULE_OUT = re.compile(
    r"(?<!\w)(?:rule out|r/o|to exclude|risk of|in case of|return if|zum ausschluss|ausschluss|v a"
    r"|verdacht auf|risiko für|possible|possibly|maybe|perhaps|(?:may|might) (?:be|have)"
    r"|möglicherweise|vielleicht|eventuell|fraglich\w*)(?: an?| einer?)?\s+$"
)
_ABBREVIATED = re.compile(r"(?<!\w)([a-zäöü])\.\s?([a-zäöü])\.(?!\w)")  # z. n., v. a.
_GAP = r"((?:\s+[^\s,;:]+){0,3})\s+"
_SAID_PRESENT = re.compile(
    r"(?<!\w)(?:raised|elevated|positive|present|shows?|erhöht|positiv|vorhanden|zeigt)(?!\w)"
)
_GOES_ON = re.compile(r"\b(?:or|nor|oder|noch)\b")
_NEXT = re.compile(rf"{_GOES_ON.pattern}|{_NEGATION.pattern}")


def clauses(text: str) -> list[str]:
    """Return the clauses of a text, in lower case, apostrophes made straight."""
    plain = _ABBREVIATED.sub(r"\1 \2", text.casefold().replace("\u2019", "'"))
    return [part for part in _CLAUSES.split(plain) if part and part.strip()]


def states(clause: str, words: Sequence[str], absent_words: Sequence[str] = ()) -> Iterator[bool]:
    """Yield whether a finding is present for each place in a clause that names it.

    Args:
        clause: As from `clauses`.
        words: Phrases that say that it is present, in lower case; the longest counts.
        absent_words: Phrases that say that it is absent.
    """
    taken: list[tuple[int, int]] = []
    phrases = [(phrase, False) for phrase in absent_words] + [(phrase, True) for phrase in words]
    for phrase, state in sorted(phrases, key=lambda item: -len(item[0])):
        for match in _pattern(phrase).finditer(clause):
            if any(start < match.end() and match.start() < end for start, end in taken):
                continue
            taken.append(match.span())
            before = clause[: match.start()]
            relative = _RELATIVES.search(clause, before.rfind(",") + 1, match.end())
            if (relative and relative.start() < match.start()) or _TO_RULE_OUT.search(before):
                continue
            negated = is_negated(clause, match.start(), match.end())
            negated |= any(_NEGATION.search(gap) for gap in match.groups())
            yield state and not negated


@lru_cache(maxsize=8192)
def _pattern(phrase: str) -> re.Pattern[str]:
    parts = (re.escape(part).replace(r"\*", r"\w*") for part in phrase.split(" ... "))
    return re.compile(rf"(?<![\w-]){_GAP.join(parts)}(?!\w)")


def is_negated(clause: str, start: int, end: int) -> bool:
    """Return whether what stands at [start, end) of a clause is negated."""
    before, after = clause[:start], clause[end:]
    if _AFTER.match(after):
        return True
    item_end = end + after.find(",") if "," in after else len(clause)
    for words, stop in _REACH:
        for match in words.finditer(before):
            between = before[match.end() :]
            comma = between.find(",")
            if comma >= 0 and _SAID_PRESENT.search(clause, match.end() + comma, item_end):
                continue
            following = _NEXT.search(clause, match.end())  # an "or" of the next "no" is not ours
            goes_on = following is not None and _GOES_ON.fullmatch(following[0])
            if not stop.search(between) or goes_on:
                return True
    return False
