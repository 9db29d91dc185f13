"""Identifiers of patients: the keys they are stored under, and the ways they are written.

Every attribute that the Basic Application Level Confidentiality Profile (DICOM PS3.15, table E.1-1;
`confidentiality_profile`) removes or replaces is identifying, and so is every private attribute.
Keys that are not DICOM attributes but that tools may use ("mrn", "surname") are identifying too.
Keys are compared without case and punctuation, so "PatientName", "patient_name" and "Patient's
Name" are equal; a DICOM tag in hexadecimal digits counts as its attribute.

Values are searched for by their words, regardless of case and accents: each word and number of a
name, a place, an id or a text is found alone and in any order. Words that identify nobody
(`resources/privacy/common_words.txt`) are found only where they are written as part of a name.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from itertools import chain, combinations, permutations
from typing import NamedTuple

from app.agent.context.model_messages import readable
from app.agent.privacy import confidentiality_profile as basic_profile
from app.agent.privacy.key_words import words_of

_KEYS = {
    name: tuple(words.split()) for name, words in basic_profile.word_tables("keys.txt").items()
}
_ORDINARY = frozenset("Arbitrary Impressions LabelText MAC Originator TextString Time".split())  # noqa: SIM905
"""Attributes whose names are also ordinary words: identifying only in DICOM's own spelling."""
_LAST_WORDS = frozenset(("date", "dates", "datetime", "uid", "uids"))
_TAG = re.compile(r"\s*\(?([0-9A-Fa-f]{4}),?\s?([0-9A-Fa-f]{4})\)?(?![0-9A-Fa-f])\s*")

_LETTERS = r"(?:[^\W\d_][\u0300-\u036f]*)+"
_TOKEN = re.compile(rf"\d+|{_LETTERS}")
_CAMEL = re.compile(r"(?<=[a-z\u00df-\u00ff])(?=[A-Z\u00c0-\u00de])")
_GAP = re.compile(r"(?!.?[?!]|.?\.\s)[\W_]{0,3}", re.DOTALL)
"""Pattern of the gap between the words of a name; it does not cross into another sentence."""
_TIGHT = re.compile(r"[-'\u2019\u2010._]?")
_BEGINS = re.compile(r"(?:^|[.?!\n])[\s\"'(\u201c\u2018*-]*$")
_PARTS = re.compile(r"[\^\s,;/()]+")
_DATE = re.compile(r"((?:18|19|20)\d\d)(\d\d)(\d\d)")
_DATE_ALONE = re.compile(rf"(?<!\d){_DATE.pattern}(?!\d)")
_SHORT_ID = re.compile(r"(?<!\d)[1-9]\d{4}(?!\d)")
_ORDINARY_NUMBER = re.compile(r"(?:19|20)\d\d|\d[05]00|1024|4096")
"""A year, a round number or the side of a matrix."""
_CALLED = re.compile(
    r"\b(?i:ext|tel|phone|pager|room|zimmer|nr|no|id|mrn|case|fall|pin|bed|bett)\W{0,3}(\d{4,5})\b"
)
"""Words before a short number in free text that make it an id or an extension."""
_LONG_NUMBER = re.compile(r"\d(?:[-\s()/]{0,3}\d){5,15}")
_NUMBERED = re.compile(
    r"\w+://\S+|[^\W_]*\d{4,}[^\W_]*[^\W\d_][^\W_]*|[^\W\d_][^\W_]*[-_. ]?\d{4,}"
    r"|\b[^\W\d_]['\u2019][^\W\d_]{3,}"
)
"""Addresses, words with long numbers, and names like O'Brien."""
_NATIONAL = re.compile(r"(?:\d\d)?(?:\d\d(?:0\d|1[0-2])[0-3]\d|[0-3]\d(?:0\d|1[0-2])\d\d)(\d{4,5})")
"""A national number that begins with the date of birth; the rest counts alone."""
_MIN_WORD = 3
_MIN_ID = 4
_MIN_JOINED = 7  # characters of a number that is found with anything between them
_MIN_TORN = 6  # letters of a word that is found with a space in it: "Ober huber", not "good man"
_WHOLE = 5  # words of a text that is found as a whole; a shorter one fits anybody
_MOST_PARTS = 8
_MOST_TOKENS = 12
_BROKEN = re.compile(r"(?<=[^\W\d_])-\r?\n[ \t]*(?=[^\W\d_])")
"""A word that is divided at the end of a line."""
_NO_SPACES = re.compile("[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_PLAIN = str.maketrans(
    {"ß": "ss", "ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe", "ı": "i"}
)
_MIN_ALIKE = 6  # letters of a name that is found with one wrong letter or another ending
_MIN_STEM = 5  # letters that it has in common with the name
_ENDINGS = re.compile(
    "[aeiouy]|[aeio]j|[ieoy]m|ego|emu|o[iuy]|o[wv][ai]|[аеиуы]|[оиы][имю]|[ое][гм][оу]"
)
"""Endings of a declined name, as `folded` writes them: pani Wójcikowa, Ивановой."""
_WRITTEN_OUT = re.compile("(?<=[aou])e|(?<=a)a")


@lru_cache(maxsize=8192)
def is_identifying(key: str) -> bool:
    """Return whether the value under this key identifies a patient, a person or a place."""
    if _is_private(key):
        return True
    key = attribute_of(key)
    return _names_one(key) or key in _ORDINARY or _normal(key) in _profile()


@lru_cache(maxsize=8192)
def is_telling(key: str) -> bool:
    """Return whether a value found under this identifying key must be removed wherever it occurs.

    False for keys whose values may be ordinary words or numbers: "ROIName" may be "Heart".
    """
    return (
        _is_private(key)
        or _names_one(attribute_of(key))
        or _normal(attribute_of(key)) in _profile("UIDS", "REST")
    )


def _names_one(key: str) -> bool:
    name = _normal(key)
    if not name or name in _KEYS["KEEP"]:
        return False
    if name in _KEYS["EXACT"] or name.startswith(_KEYS["STARTS"]) or name.endswith(_KEYS["ENDS"]):
        return True
    # By words, since "update" ends with "date" and "fluid" with "uid".
    words = words_of(key)
    return words[-1:] != [] and (words[-1] in _LAST_WORDS or words[-2:] == ["date", "time"])


def attribute_of(key: str) -> str:
    """Return the attribute that a key names: for a key that begins with a DICOM tag, its keyword.

    For an unknown tag, it is the text after the tag; for any other key, the key itself.
    """
    tag = _TAG.match(key)
    return _keyword(int(tag[1] + tag[2], 16)) or key[tag.end() :] if tag else key


def _is_private(key: str) -> bool:
    """Return whether a key is the tag of a private attribute: its group is odd (PS3.5 7.8)."""
    tag = _TAG.match(key)
    # Eight digits without any sign between them may be a number.
    return tag is not None and "," in tag[0] and int(tag[1], 16) % 2 == 1


@lru_cache(maxsize=8192)
def is_prose(key: str) -> bool:
    """Return whether the value under this key is free text, whose common words identify nobody."""
    attribute = attribute_of(key)
    name = _normal(attribute)
    if _is_private(key) or name.endswith(_KEYS["PROSE"]):
        return True
    texts = _profile("PERSONS", "NUMBERS", "DATES", "UIDS", "REST")
    return name in texts and not _names_one(attribute)


def smoothed(text: str) -> str:
    """Return a text as a person reads it.

    Invisible characters are removed, wide letters are replaced by normal ones, and words divided at
    the end of a line are joined.
    """
    if "-\n" in text or "-\r" in text:
        text = _BROKEN.sub("", text)
    return readable(text)


@lru_cache(maxsize=65_536)
def folded(word: str) -> str:
    """Return a word in small letters without accents: "Müller", "MUELLER", "Muller" are equal."""
    plain = unicodedata.normalize("NFKD", word.lower().translate(_PLAIN))
    plain = "".join(sign for sign in plain if not unicodedata.combining(sign))
    plain = re.sub("^mc(?=...)", "mac", plain.replace("ij", "y"))
    return _WRITTEN_OUT.sub("", plain) if len(plain) >= _MIN_ID else plain


def is_common(word: str) -> bool:
    """Return whether a word, in the form that `folded` returns, identifies nobody by itself."""
    words = _table("common_words.txt", "ENGLISH", "CLINICAL", "GERMAN")
    return any(form in words for form in _stems(word))


class Identifiers:
    """The identifiers of patients, to be found in texts in any notation.

    Args:
        values: Names, places, ids and dates.
        prose: Free texts. Of these, uncommon words, long numbers and names of persons are removed.

    Attributes:
        pattern: Finds dates, and words of scripts without spaces; None if there are none.
    """

    def __init__(self, values: Iterable[str], prose: Iterable[str] = ()) -> None:
        self._owners: dict[str, set[int]] = {}
        self._weak: set[str] = set()
        self._joined: set[str] = set()
        self._initials: dict[int, str] = {}
        self._patterns: set[str] = set()
        # Half-width kana of a header (ISO_IR 13) are full-width ones in a report.
        known = {unicodedata.normalize(form, one) for one in values for form in ("NFC", "NFKC")}
        for owner, value in enumerate(sorted(known)):
            self._take_value(value.strip(), owner)
        for owner, text in enumerate(sorted(set(prose)), start=len(known)):
            self._take_prose(text, owner)
        self._alike: dict[str, set[str]] = {}
        for key in self._owners:
            if len(key) >= _MIN_ALIKE and key.isalpha() and not is_common(key):
                for form in {*_shortened(key), key[:-1], key[:-2]}:
                    self._alike.setdefault(form, set()).add(key)
        self._starts = {key[:length] for key in self._owners for length in (1, 2, 3)}
        # The longest first, so that no part of a name is left beside what was removed.
        ordered = sorted(self._patterns, key=lambda item: (-len(item), item))
        self.pattern = re.compile("|".join(ordered), re.IGNORECASE) if ordered else None

    def knows(self, number: int) -> bool:
        """Return whether a number is an id, with or without leading zeros; False below 10,000."""
        return number > 9_999 and str(number) in self._owners

    def without(self, text: str, mark: str) -> str:
        """Return a text with `mark` in place of each identifier."""
        made: list[str] = []
        copied = 0
        for start, end in self._places(text, list(_tokens(text))) if self._owners else ():
            made += (text[copied:start], mark)
            copied = end
        return "".join([*made, text[copied:]])

    def _take_value(self, value: str, owner: int) -> None:
        date = _DATE.match(value)
        if date:
            self._patterns.update(_dates(*date.groups()))
        for group in value.split("="):
            if _NO_SPACES.search(group):
                parts = [re.escape(part) for part in _PARTS.split(group) if part]
                joined = (r"[\W_]{0,3}".join(order) for order in (parts, parts[::-1]))
                self._patterns.update(joined, (part for part in parts if len(part) > 1))
            self._take_name(group, owner)
        self._take_ids(value, owner)

    def _take_name(self, name: str, owner: int) -> None:
        parts = [part for part in map(_letters, _PARTS.split(name)) if part]
        for part in parts:
            self._add("".join(part), owner, joined=False)
            for word in part:
                if len(word) >= _MIN_WORD or len(parts) > 1:
                    self._add(word, owner)
                    self._add(word.replace("strasse", "str"), owner)
                self._initials[owner] = self._initials.get(owner, "") + word[0].upper()
        words = list(chain.from_iterable(parts))[:_MOST_PARTS]
        runs = [*permutations(words, 2), *combinations(words, 3)]  # "doejane", "vandenberg"
        for run in runs:
            if any(len(word) >= _MIN_WORD and not _is_plain(word) for word in run):
                self._add("".join(run), owner, joined=False)
        whole = ["".join(part) for part in parts]
        if 1 < len(whole) <= _MOST_PARTS and not all(map(_is_generic, whole)):
            for order in (
                *permutations(whole[:3]),
                *permutations(whole[:3], 2),
                whole,
                whole[::-1],
            ):
                self._add("".join(order), owner, joined=True)

    def _take_prose(self, text: str, owner: int) -> None:
        words = [word for _, _, word in _tokens(text) if len(word) >= _MIN_WORD and word.isalpha()]
        rare = [word for word in words if not _is_plain(word)]
        # In one piece too: "LaShonda".
        rare += [word for word in _letters(text) if len(word) >= _MIN_WORD and not _is_plain(word)]
        for word in rare:
            self._add(word, owner)
        if rare or len(words) >= _WHOLE:
            self._add(_squashed(text), owner, joined=True)
        for item in chain(*(found.findall(text) for found in (_CALLED, _LONG_NUMBER, _NUMBERED))):
            key = _squashed(item)
            self._add(key, owner, joined=len(key) >= _MIN_JOINED or not key.isdigit())
        for date in _DATE_ALONE.findall(text):
            self._patterns.update(_dates(*date))
        for number in _SHORT_ID.findall(text):
            self._add(number, owner, joined=False)
        for number in _LONG_NUMBER.findall(text):
            runs = re.findall(r"\d+", number)
            for key in ("".join(runs[first:]).lstrip("0") for first in range(len(runs))):
                if len(key) >= _MIN_JOINED:  # a phone number without its area
                    self._add(key, owner, joined=True)
        for name in chain.from_iterable(name_pattern().findall(text)):
            self._take_name(name, owner)

    def _take_ids(self, value: str, owner: int) -> None:
        """Take what has digits in it: as a whole, in parts, its numbers with and without zeros."""
        chunks = [_squashed(chunk) for chunk in re.findall(r"[^\W_]+", value)][:_MOST_PARTS]
        runs = re.findall(r"\d+", value)
        whole = "".join(chunks)
        if runs and len(whole) >= _MIN_ID and not whole.isdigit():
            self._add(whole, owner, joined=True)
        joins = ["".join(chunks[a:b]) for a, b in combinations(range(len(chunks) + 1), 2)]
        if value.startswith(("+", "00")):  # a telephone number: without its country and trunk code
            number = "".join(re.findall(r"\d+", value.replace("(0)", ""))).lstrip("0")
            runs += [number[skip:] for skip in range(4) if len(number) - skip > _MIN_JOINED]
        rests = (found[1] for run in runs if (found := _NATIONAL.fullmatch(run)))
        forms = [*joins, *runs, "".join(runs), *rests]
        for key in chain(forms, (form.lstrip("0") for form in forms)):
            # "123A" and the postcode NG7 2UH count, 123 and T12 do not.
            mixed = len(key) > _MIN_ID and not key.isdigit()
            enough = len(key) >= _MIN_ID and sum(map(str.isdigit, key)) > (1 if mixed else 2)
            if enough and not _ORDINARY_NUMBER.fullmatch(key):
                self._add(key, owner, joined=len(key) >= _MIN_JOINED or mixed)

    def _add(self, key: str, owner: int, *, joined: bool | None = None) -> None:
        """Add a key. `joined`: whether it is found also with spaces in it; None for a word."""
        key = folded(key)
        if len(key) < (2 if joined is None else _MIN_WORD):
            return
        if not joined and key.isalpha():
            if _is_generic(key):
                return
            if len(key) < _MIN_WORD or is_common(key):
                self._weak.add(key)
        self._owners.setdefault(key, set()).add(owner)
        if joined:
            self._joined.add(key)

    def _places(self, text: str, tokens: list[_Token]) -> Iterator[tuple[int, int]]:
        """Yield where identifiers stand, those of one value side by side as one."""
        groups: list[list[_Hit]] = []
        at = 0
        while at < len(tokens):
            word = tokens[at][2]
            near = word[:3] in self._starts or word.isdigit()
            hit = self._longest_at(text, tokens, at) if near else None
            if hit is None and (alike := self._resembling(word)):
                hit = _Hit(at, at, alike)
            at = hit.last + 1 if hit else at + 1
            if hit is None:
                continue
            before = groups[-1][-1] if groups else hit
            gap = text[tokens[before.last][1] : tokens[hit.first][0]]
            beside = before is not hit and _GAP.fullmatch(gap)
            if beside and not self._owners[before.key].isdisjoint(self._owners[hit.key]):
                groups[-1].append(hit)  # of one value, side by side
            else:
                groups.append([hit])
        for group in groups:
            if len(group) > 1 or self._is_name(text, tokens, group[0]):
                start, end = tokens[group[0].first][0], tokens[group[-1].last][1]
                owners = set.union(*(self._owners[hit.key] for hit in group))
                letters = "".join(self._initials.get(owner, "") for owner in owners)
                yield _with_initials(text, start, end, letters) if letters else (start, end)

    def _longest_at(self, text: str, tokens: list[_Token], at: int) -> _Hit | None:
        joined, wide, found = "", False, None
        for last in range(at, min(at + _MOST_TOKENS, len(tokens))):
            start, _, word = tokens[last]
            if last > at:
                gap = text[tokens[last - 1][1] : start]
                ending = gap in ("'", "\u2019") and word in ("s", "es")
                if ending or not _GAP.fullmatch(gap):
                    break
                wide = wide or not _TIGHT.fullmatch(gap)
            joined = folded(joined + word)
            if joined[:3] not in self._starts and not joined.isdigit():
                break
            key = next((form for form in _stems(joined, _MIN_ID) if form in self._owners), "")
            pieces = (piece for _, _, piece in tokens[at : last + 1])
            near = not wide or (len(key) >= _MIN_TORN and not all(map(_is_plain, pieces)))
            if key and (last == at or key in self._joined or (near and not key.isdigit())):
                found = _Hit(at, last, key)
        return found

    def _resembling(self, word: str) -> str:
        """Return the name that a word is with one wrong letter or another ending; "" for none."""
        if len(word) < _MIN_ALIKE - 1 or not word.isalpha() or is_common(word):
            return ""
        stems = {word[:end] for end in range(max(_MIN_STEM, len(word) - 3), len(word))}
        found = (self._alike.get(form, set[str]()) for form in {*_shortened(word), *stems})
        return next((key for key in chain.from_iterable(found) if _is_alike(key, word)), "")

    def _is_name(self, text: str, tokens: list[_Token], hit: _Hit) -> bool:
        """Return whether a word stands as a name does: "Mrs. White", "Does White have".

        One that is not common always does. A capital at the beginning of a sentence says so only
        before a comma, a verb and the like.
        """
        start, end = tokens[hit.first][0], tokens[hit.last][1]
        if hit.key.isdigit() and len(hit.key) < _MIN_JOINED:
            return not re.search(r"\d\.$", text[max(0, start - 2) : start])  # of 0.4711
        if hit.key not in self._weak:
            return True
        written = text[start:end]
        if len(hit.key) < _MIN_WORD and hit.key not in _table("names.txt", "OPENING"):
            return written.istitle() or written.isupper()
        before = re.search(rf"({_LETTERS})\.?\s?$", text[max(0, start - 12) : start])
        title = before[1] if before and not before[1].isupper() else ""
        after = text[end : end + 2].lower()
        if folded(title) in _table("names.txt", "TITLES") or after in ("'s", "\u2019s"):
            return True
        if not written[0].isupper() or not _BEGINS.search(text[max(0, start - 8) : start]):
            return written[0].isupper()
        following = tokens[hit.last + 1][2] if hit.last + 1 < len(tokens) else ""
        return after[:1] in ("", *",:;^?!") or following in _table("names.txt", "VERBS")


_Token = tuple[int, int, str]
"""Start and end of a word, and the word as `folded` writes it."""


class _Hit(NamedTuple):
    first: int
    last: int
    key: str


def _tokens(text: str) -> Iterator[_Token]:
    """Yield the words and numbers of a text; "DoeJohn" and "X17" are two."""
    for found in _TOKEN.finditer(text):
        word, at = found[0], found.start()
        simple = word.islower() or word.isdigit() or word.isupper()
        for piece in (word,) if simple else _CAMEL.split(word):
            yield at, at + len(piece), folded(piece)
            at += len(piece)


@cache
def _table(file: str, *sections: str) -> frozenset[str]:
    tables = basic_profile.word_tables(file)
    return frozenset(folded(word) for name in sections for word in tables[name].split())


def _stems(word: str, least: int = _MIN_WORD) -> tuple[str, ...]:
    """Return a word, and it without an ending: "Müllers Lunge", "the Joneses"; 0815 and 815."""
    if not word.endswith("s") or len(word) <= least or word[-2:-1].isdigit():
        return (word, word.lstrip("0")) if word.isdigit() else (word,)
    long = word.endswith("es") and len(word) > least + 2
    return (word, word[:-1], word[:-2]) if long else (word, word[:-1])


def _shortened(word: str) -> set[str]:
    """Return a word, and all that it is without one letter."""
    return {word, *(word[:at] + word[at + 1 :] for at in range(len(word)))}


def _is_alike(name: str, word: str) -> bool:
    """Return whether a word is a name with one letter wrong, missing or too many, or declined."""
    ahead = _common(name, word)
    behind = _common(name[ahead:][::-1], word[ahead:][::-1])
    declined = (
        ahead >= max(_MIN_STEM, len(name) - 2) and _ENDINGS.fullmatch(word[ahead:]) is not None
    )
    return declined or max(len(name), len(word)) - ahead - behind <= 1


def _common(one: str, other: str) -> int:
    """Return how many letters two words have in common at their beginning."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))


def _is_generic(word: str) -> bool:
    return word in _table("names.txt", "TITLES", "PARTICLES", "GENERIC", "SHORT")


def _is_plain(word: str) -> bool:
    return is_common(word) or _is_generic(word)


def _with_initials(text: str, start: int, end: int, letters: str) -> tuple[int, int]:
    """Return where a name begins and ends with the initials beside it: "F. X. Doe", "Doe, J."."""
    ahead = re.search(rf"(?:\b[{letters}]\.?[\s-]?)+$", text[max(0, start - 12) : start])
    behind = re.match(rf"(?:[\s,]{{1,2}}[{letters}]\b\.?)+", text[end : end + 12])
    return start - len(ahead[0] if ahead else ""), end + len(behind[0] if behind else "")


def _letters(part: str) -> list[str]:
    return [folded(word) for word in re.findall(_LETTERS, part)]


def _squashed(text: str) -> str:
    return "".join(word for _, _, word in _tokens(text))


@cache
def name_pattern() -> re.Pattern[str]:
    """Return what finds the people and places in a text: "Dr. Bell", "Mother: Grace Stone"."""
    tables = basic_profile.word_tables("names.txt")
    called = "|".join((tables["TITLES"] + tables["RELATIVES"]).split())
    places = "|".join(tables["PLACES"].split())
    names = r"((?:[A-Z\u00c0-\u00de][\w'\u2019.-]*\s?){1,3})"
    return re.compile(rf"\b(?i:{called})\b[.:,\s]{{1,3}}{names}|{names}(?<=\s)(?i:{places})\b")


def _dates(year: str, month: str, day: str) -> Iterator[str]:
    """Yield notations of a date, with and without zeros, with the month as a number or a word."""
    if not 1 <= int(month) <= 12:
        return
    tables = basic_profile.word_tables("names.txt")
    months = tables["MONTHS"].splitlines()[int(month) - 1].split()
    m, d, short = f"0?{int(month)}", f"0?{int(day)}", f"['\u2019]?(?:{year}|{year[2:]})"
    gap = r"(?:\s?[-/.]\s?|\s)"
    name = rf"(?:{months[0]})[^\W\d_]*\.?"
    for form in (
        rf"{short}{month}{day}",
        rf"{day}{month}{short}",
        rf"{month}{day}{short}",
        rf"{short}{gap}{m}{gap}{d}",
        rf"{year}\s?[年년]\s?{m}\s?[月월]\s?{d}",
        rf"{d}{gap}{m}{gap}{short}",
        rf"{m}{gap}{d}{gap}{short}",
        rf"{d}(?:st|nd|rd|th|er)?\.?[\s-](?:of\s|de\s)?{name}(?:,|\sde)?[\s-]{short}",
        rf"{name}\s{d}(?:st|nd|rd|th)?,?\s{short}",
        rf"{year},?[\s-]{name}[\s-]{d}",
    ):
        yield rf"(?<!\d){form}(?!\d)"
    named = rf"(?:{'|'.join(chain(months[1:], (item[:3] for item in months[1:])))})"
    yield rf"(?<!\d){d}(?:st|nd|rd|th)?\.?\s(?:of\s)?{named}\b"
    yield rf"\b{named}\.?\s{d}(?:st|nd|rd|th)?(?![\d.])"


@lru_cache(maxsize=1024)
def _keyword(tag: int) -> str:
    from pydicom.datadict import keyword_for_tag

    return keyword_for_tag(tag) or ""


def _normal(key: str) -> str:
    return re.sub(r"'s\b|[^a-z0-9]", "", key.lower())


@cache
def _profile(*without: str) -> frozenset[str]:
    """Return the names that the confidentiality profile removes, but for groups of them."""
    left_out = frozenset(_ORDINARY).union(*(basic_profile.GROUPS[name] for name in without))
    return frozenset(map(_normal, basic_profile.PROFILE - left_out))
