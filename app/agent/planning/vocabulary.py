"""Search for the packs' words in a question: whole words, stems (`segment*`), phrases and gaps.

`heart size` is a phrase: only articles and similar words may stand between its words ("size of the
heart" matches `size of heart`). `heart .. enlarg*` has a gap of up to `GAP` other words in the same
clause; `big|large heart` has alternatives for a word. Case, accents and the spelling of umlauts are
ignored: "vergrößert", "vergroessert" and "vergrossert" are the same word.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

GAP = 5
"""Maximum number of words that `..` in an entry stands for."""
# Longer runs of letters are codes, not words; comparing them would be slow.
_LONGEST = 40
# How many words' numbers a vocabulary keeps.
_KEPT = 4096
_WORD = re.compile(r"\w+(?:['’]\w+)*|#(?!\w)")
_NUMBERED = re.compile(r"([a-z]{0,2})\d+")
# Addresses, paths and file names: their letters are not words of the question.
_NO_WORDS = re.compile(
    r"\b[a-z][a-z0-9+.]{0,12}://\S+|[\w.+-]{1,64}@[\w.-]{1,200}|(?<!\w)[~.]{0,2}/[^\s,;]+|"
    r"\b[a-z]:\\\S*|\\\\\S+|[^\s/]{1,80}(?:/[^\s/]{1,80}){2,}|"
    r"(?<!\w)[\w-]{1,100}\.(?:dcm|png|jpe?g|tiff?|dicom|zip|txt|pdf|json|py)\b",
    re.IGNORECASE,
)
# A full stop that ends a sentence; not in "0.5" or after "Dr".
_STOP = (
    r"(?<!\bdr)(?<!\bmr)(?<!\bmrs)(?<!\bprof)(?<!\bca)(?<!\bbzw)(?<!\bz\.b)(?<!\bz\.n)"
    r"\.(?=[\s\"')]|$)"
)
# A comma within a list does not end a clause: "small, moderate or large".
_NO_LIST = r"(?!\s+(?!and\b|und\b|or\b|oder\b)\w+\s+(?:or|oder)\s+\w+\s*(?:[?.!,;]|$))"
_CLAUSE = re.compile(
    rf"{_STOP}|:(?=\s|$)|,{_NO_LIST}|[?!;()\[\]\n\x00\"]+|\s-+\s|\b(?:aber|sondern|jedoch|whereas|while)\b|"
    r"(?<!everything )(?<!anything )(?<!nothing )(?<!all )\bbut\b",
    re.IGNORECASE,
)
_LEAD = re.compile(r"\s*\w+\s*:\s")
_SENTENCE = re.compile(rf"[?!\n;]|{_STOP}", re.IGNORECASE)
_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue"})

_SIGNS = ("#", "nr")
_DETERMINERS = (
    "the a an all this these that those my your his her its their our any some both me us please "
    "der die das den dem des ein eine einen einem einer eines dieser diese dieses diesen diesem "
    "mein meine meinen sein seine ihr ihre alle allen mir uns bitte mal"
)
DETERMINERS = frozenset(_DETERMINERS.split())
"""Words that may stand between the words of a phrase."""


@dataclass(frozen=True, slots=True)
class Token:
    """A word in the question.

    Attributes:
        text: Its normalised form: lower case, umlauts as "ae".
        forms: Its spellings to look up, `text` first; () for a path or an identifier.
        start: Offset of its first character in the question.
        end: Offset after its last character.
        clause: Number of the clause that contains it, from 0.
        sentence: Number of the sentence that contains it, from 0.
        in_question: Whether that sentence ends with a question mark.
    """

    text: str
    forms: tuple[str, ...]
    start: int
    end: int
    clause: int
    sentence: int
    in_question: bool


@dataclass(frozen=True, slots=True)
class Match:
    """An entry of a vocabulary found in the question.

    Attributes:
        owner: The owner of the entry, such as a tool's name.
        entry: The entry as the pack wrote it.
        positions: Indices of the matched words among the question's words.
    """

    owner: str
    entry: str
    positions: frozenset[int]

    @property
    def first(self) -> int:
        """Return the index of the first matched word among the question's words."""
        return min(self.positions)


@lru_cache(maxsize=4096)
def folded(word: str) -> tuple[str, ...]:
    """Return a word's spellings in lower case, without accents: "ä" as "ae" and also as "a"."""
    small = unicodedata.normalize("NFC", word.casefold())
    if small in _SIGNS:
        return ("number",)
    if small.isascii():
        return (small,)
    plain = unicodedata.normalize("NFD", small)
    bare = "".join(char for char in plain if not unicodedata.combining(char))
    spelt = unicodedata.normalize("NFD", small.translate(_UMLAUTS))
    spelt = "".join(char for char in spelt if not unicodedata.combining(char))
    return tuple(dict.fromkeys((spelt, bare)))


def tokens_of(blank: str) -> list[Token]:
    """Return the words of `blank`, a question in which quoted strings have been blanked."""
    hidden = [(match.start(), match.end()) for match in _NO_WORDS.finditer(blank)]
    # A colon after the first word does not end a clause: "generate: a normal chest".
    lead = _LEAD.match(blank)
    after = lead.end() if lead else 0
    clauses = [match.start() for match in _CLAUSE.finditer(blank, after)]
    breaks = [match.start() for match in _SENTENCE.finditer(blank)]
    tokens: list[Token] = []
    clause = sentence = covered = 0
    for match in _WORD.finditer(blank):
        start, end = match.span()
        while covered < len(hidden) and hidden[covered][1] <= start:
            covered += 1
        while clause < len(clauses) and clauses[clause] < start:
            clause += 1
        while sentence < len(breaks) and breaks[sentence] < start:
            sentence += 1
        inside = covered < len(hidden) and hidden[covered][0] <= start
        no_word = inside or "_" in match.group() or end - start > _LONGEST
        asked = sentence < len(breaks) and blank[breaks[sentence]] == "?"
        forms = folded(match.group())
        tokens.append(
            Token(
                forms[0],
                () if no_word else forms_of(forms),
                start,
                end,
                clause,
                sentence,
                asked,
            )
        )
    return tokens


def forms_of(forms: Sequence[str]) -> tuple[str, ...]:
    """Return the given word forms together with their variants.

    Variants are the singular, the form without genitive s or apostrophes, and the form with its
    number replaced by 0 ("w0" for "w3").
    """
    found = list(forms)
    for form in forms:
        bare = re.sub(r"['’]s$", "", form)
        if bare != form:
            found.append(bare)
        elif len(form) > 4 and form.endswith("s") and not form.endswith(("ss", "us", "is")):
            found.append(form[:-1])
        numbered = _NUMBERED.fullmatch(form)
        if numbered:
            found.append(f"{numbered.group(1)}0")
        if "'" in form or "’" in form:
            found.append(re.sub(r"['’]", "", form))
    return tuple(dict.fromkeys(found))


class Vocabulary:
    """Finds words and phrases in a question. Each belongs to an owner, such as a tool.

    Made from (owner, word or phrase) pairs; their number does not affect the search time.

    Attributes:
        alone: The words that are entries by themselves, not just parts of a phrase.
    """

    def __init__(self, entries: Iterable[tuple[str, str]]) -> None:
        self._exact: dict[str, set[int]] = {}
        self._starts: dict[str, set[int]] = {}
        self._ends: dict[str, set[int]] = {}
        self._within: dict[str, set[int]] = {}
        # Entries by the number of their first word: (owner, entry, numbers of the other words).
        self._by_first: dict[int, list[tuple[str, str, tuple[int | None, ...]]]] = {}
        self.alone: set[str] = set()
        # What words of questions were found to be: most come again, in one question and the next.
        self._known: dict[tuple[str, ...], frozenset[int]] = {}
        tables = {
            (False, False): self._exact,
            (False, True): self._starts,
            (True, False): self._ends,
            (True, True): self._within,
        }
        numbers: dict[str, int] = {}
        # One loop without helper functions, because it compiles about ten thousand words at start.
        for owner, entry in dict.fromkeys(entries):
            written = entry.replace("-", " ").split()
            parts: list[int | None] = []
            for part in written:
                if part == "..":
                    parts.append(None)
                    continue
                number = numbers.get(part)
                if number is None:
                    number = numbers[part] = len(numbers)
                    for word in part.split("|"):
                        table = tables[word.startswith("*"), word.endswith("*")]
                        bare = word.strip("*")
                        plain = bare.isascii() and bare not in _SIGNS
                        for form in (bare.casefold(),) if plain else folded(bare):
                            if form:
                                table.setdefault(form, set()).add(number)
                            if len(written) == 1:
                                self.alone.add(form)
                elif len(written) == 1:
                    for word in part.split("|"):
                        self.alone.update(folded(word.strip("*")))
                parts.append(number)
            if parts and parts[0] is not None:
                self._by_first.setdefault(parts[0], []).append((owner, entry, tuple(parts[1:])))

    def literals(self) -> list[tuple[str, bool, bool]]:
        """Return each word as (word, may letters precede it, may letters follow it)."""
        return [
            *[(word, False, False) for word in self._exact],
            *[(word, False, True) for word in self._starts],
            *[(word, True, False) for word in self._ends],
            *[(word, True, True) for word in self._within],
        ]

    def word_numbers(self, forms: Sequence[str]) -> frozenset[int]:
        """Return internal numbers of the vocabulary's words that match a form; empty if none do."""
        key = tuple(forms)
        if (known := self._known.get(key)) is not None:
            return known
        found: set[int] = set()
        for form in forms:
            found.update(self._exact.get(form, ()))
            for length in range(1, len(form) + 1):
                found.update(self._starts.get(form[:length], ()))
                found.update(self._ends.get(form[-length:], ()))
            for piece, numbers in self._within.items():
                if piece in form:
                    found |= numbers
        if len(self._known) >= _KEPT:
            self._known.clear()
        numbers_of = self._known[key] = frozenset(found)
        return numbers_of

    def find(self, tokens: Sequence[Token]) -> list[Match]:
        """Return all matches in the question, including overlapping ones."""
        seen = {token.forms: self.word_numbers(token.forms) for token in tokens}
        known = [seen[token.forms] for token in tokens]
        found: dict[Match, None] = {}
        for start, numbers in enumerate(known):
            for number in sorted(numbers):
                for owner, entry, rest in self._by_first.get(number, ()):
                    at = _match_rest(rest, start, tokens, known)
                    if at is not None:
                        found[Match(owner, entry, frozenset(at))] = None
        return list(found)


def _match_rest(
    rest: Sequence[int | None], start: int, tokens: Sequence[Token], known: Sequence[frozenset[int]]
) -> list[int] | None:
    """Return the positions that a whole entry takes if its first word is at `start`, or None."""
    at = [start]
    reach = 0
    for number in rest:
        if number is None:
            reach = GAP
            continue
        position = _next_position(number, at[-1], reach, tokens, known)
        if position is None:
            return None
        at.append(position)
        reach = 0
    return at


def _next_position(
    number: int, after: int, reach: int, tokens: Sequence[Token], known: Sequence[frozenset[int]]
) -> int | None:
    """Return the position of the entry's next word, at most `reach` words on, or None."""
    skipped = 0
    for position in range(after + 1, min(len(tokens), after + 2 + GAP + reach)):
        token = tokens[position]
        if token.clause != tokens[after].clause:
            return None
        if number in known[position]:
            return position
        if token.text not in DETERMINERS:
            skipped += 1
        if skipped > reach:
            return None
    return None


def longest_matches(matches: Sequence[Match]) -> list[Match]:
    """Return the matches without those that are only part of a longer one.

    "heart" in "heart size" does not ask for the heart itself.
    """
    held: dict[int, list[Match]] = {}
    for match in matches:
        if len(match.positions) > 1:
            for position in match.positions:
                held.setdefault(position, []).append(match)
    return [
        match
        for match in matches
        if not any(match.positions < other.positions for other in held.get(match.first, ()))
    ]


_DIALECT = {"net": "nicht", "ned": "nicht", "nit": "nicht", "san": "sind", "bloss": "nur"}
_GERMAN_MARKERS = frozenset(
    ("die", "der", "das", "den", "ich", "bitte", "ist", "und", "mir", "wie")
)


def in_standard_german(tokens: Sequence[Token]) -> list[Token]:
    """Return a German question's words with dialect replaced by standard German ("net" is "nicht").

    English questions are returned unchanged: there, "net" is a neural network.
    """
    if not any(token.text in _GERMAN_MARKERS for token in tokens):
        return list(tokens)
    return [
        replace(token, text=meant, forms=(meant,))
        if token.forms and (meant := _DIALECT.get(token.text))
        else token
        for token in tokens
    ]
