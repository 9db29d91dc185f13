"""What a text says of a finding: present, absent, both or nothing, by the words for it.

A negation reaches to the end of its clause ("denies chills, fever and cough") or, for "no" and
"not", over the next item only, unless the list goes on with "or". English and German.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

_CLAUSES = re.compile(r"[.;!?\n]+(?=\s|$)|\b(?:but|however|although|though|yet|aber|jedoch)\b")
_TO_THE_END = ("denies", "denied", "negative for", "without", "absence of", "verneint", "ohne")
_NEXT_ONLY = (
    *("no", "not", "never", "neither", "nor", "none of", "isn't", "non"),
    *("kein", "keine", "keinen", "keinerlei", "nicht", "nie"),
)
_AFTER = re.compile(
    r"^[\s:(]*(?:is|are|was|were|ist|sind)?\s*"
    r"(?:absent|negative|negativ|not present|excluded|ausgeschlossen|no\b|nein\b)"
)
_GOES_ON = re.compile(r"\b(?:or|nor|oder|noch)\b")


def clauses(text: str) -> list[str]:
    """Return the clauses of a text, in lower case, apostrophes made straight."""
    plain = text.casefold().replace("\u2019", "'")
    return [part for part in _CLAUSES.split(plain) if part and part.strip()]


def states(clause: str, words: Sequence[str], absent_words: Sequence[str] = ()) -> Iterator[bool]:
    """Yield whether a finding is present for each place in a clause that names it.

    Args:
        clause: As from `clauses`.
        words: Phrases that say that it is present, in lower case; the longest counts.
        absent_words: Phrases that say that it is absent.
    """
    taken: list[tuple[int, int]] = []
    for phrases, state in ((absent_words, False), (words, True)):
        for phrase in sorted(phrases, key=len, reverse=True):
            for match in re.finditer(rf"(?<![\w-]){re.escape(phrase)}(?!\w)", clause):
                if any(start < match.end() and match.start() < end for start, end in taken):
                    continue
                taken.append(match.span())
                yield state and not is_negated(clause, match.start(), match.end())


def is_negated(clause: str, start: int, end: int) -> bool:
    """Return whether what stands at [start, end) of a clause is negated."""
    before, after = clause[:start], clause[end:]
    if _AFTER.match(after):
        return True
    if any(re.search(rf"(?<!\w){re.escape(word)}(?!\w)", before) for word in _TO_THE_END):
        return True
    for word in _NEXT_ONLY:
        for match in re.finditer(rf"(?<!\w){re.escape(word)}(?!\w)", before):
            between = before[match.end() :]
            if not re.search(r",| and | und ", between):
                return True
            if _GOES_ON.search(clause[match.end() :]):
                return True
    return False
