"""What a text says of a finding: present, absent, both or nothing, by the words for it.

A negation reaches to the end of its clause ("denies chills, fever and cough") or, for "no" and
"not", over the next item only, unless the list goes on with "or". What relatives have, and what is
only to be ruled out, is not said of the patient. English and German.

In a phrase " ... " stands for up to three words ("calf ... swollen"), and a "*" at the end of a
word for any ending ("stechend*").
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

_CLAUSES = re.compile(r"[.;!?\n]+(?=\s|$)|\b(?:but|however|although|though|yet|aber|jedoch)\b")
_TO_THE_END = ("denies", "denied", "negative for", "without", "absence of", "verneint", "ohne")
_NEXT_ONLY = (
    *("no", "not", "never", "neither", "nor", "none of", "non", "cannot", r"\w+n't"),
    *(r"kein(?:e[nmrs]?|erlei)?", "nicht", "nie", "weder"),
)
_NEGATION = re.compile(rf"(?<!\w)(?:{'|'.join((*_NEXT_ONLY, *_TO_THE_END))})(?!\w)")
_AFTER = re.compile(
    r"^[\s:(]*(?:is|are|was|were|ist|sind|wird|werden)?\s*"
    r"(?:absent|negative|negativ|not present|excluded|denied|ausgeschlossen|verneint|fehlt|fehlen"
    r"|no\b|nein\b)"
)
_RELATIVES = re.compile(
    r"(?<!\w)(?:(?:grand)?(?:mother|father)|mum|mom|dad|parents?|brothers?|sisters?|uncle|aunt"
    r"|cousin|son|daughter|husband|wife|family|familien\w*|mutter|vater|bruder|schwester|sohn"
    r"|tochter|onkel|tante|eltern)(?!\w)"
)
_TO_RULE_OUT = re.compile(
    r"(?<!\w)(?:rule out|r/o|to exclude|risk of|in case of|return if|zum ausschluss|ausschluss|v a"
    r"|verdacht auf|risiko für)(?: an?| einer?)?\s+$"
)
_ABBREVIATED = re.compile(r"(?<!\w)([a-zäöü])\.\s?([a-zäöü])\.(?!\w)")  # z. n., v. a.
_GAP = r"((?:\s+[^\s,;:]+){0,3})\s+"
_GOES_ON = re.compile(r"\b(?:or|nor|oder|noch)\b")


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
            since_comma = before[before.rfind(",") + 1 :]
            if _RELATIVES.search(since_comma) or _TO_RULE_OUT.search(before):
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
    if any(re.search(rf"(?<!\w){re.escape(word)}(?!\w)", before) for word in _TO_THE_END):
        return True
    for word in _NEXT_ONLY:
        for match in re.finditer(rf"(?<!\w){word}(?!\w)", before):
            between = before[match.end() :]
            if not re.search(r",| and | und ", between):
                return True
            if _GOES_ON.search(clause[match.end() :]):
                return True
    return False
