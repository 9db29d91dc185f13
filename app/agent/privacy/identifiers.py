"""Identifiers of patients: the keys they are stored under, and the ways they are written.

Every attribute that the Basic Application Level Confidentiality Profile (DICOM PS3.15, table E.1-1;
`confidentiality_profile`) removes or replaces is identifying, and so is every private attribute.
Keys that are not DICOM attributes but that tools may use ("mrn", "surname") are identifying too.
Keys are compared without case and punctuation, so "PatientName", "patient_name" and "Patient's
Name" are equal; a DICOM tag in hexadecimal digits counts as its attribute.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from itertools import permutations
from typing import NamedTuple

from app.agent.privacy import confidentiality_profile as basic_profile
from app.agent.privacy.key_words import words_of


def _table(text: str) -> tuple[str, ...]:
    return tuple(text.split())


# Not identifying although a rule below would take them.
_KEEP = _table("""
    patientorientation patientposition exposuretime repetitiontime echotime inversiontime frametime
    triggertime duration
""")
_EXACT = _table("""
    address phone telephone email station stationname studyid studydescription seriesdescription
    imagecomments occupation ethnicgroup countryofresidence regionofresidence protocolname
    devicename deviceid detectorid plateid cassetteid gantryid generatorid acquisitioncomments
    framecomments medicalalerts allergies smokingstatus pregnancystatus militaryrank branchofservice
    insuranceplanidentification requestedprocedureid requestedproceduredescription mrn dob ssn
    issuer author surname firstname lastname middlename fullname givenname familyname maidenname
    hospital doctor birth clinicaltrialsubjectid secondaryreviewername evaluatorname
    documentauthortrial
""")
_STARTS = _table("""
    patient otherpatient responsibleperson referring performing requesting institution accession
    operator physician issuerof admission admitting consulting verifying reviewer ordercallback
    orderenteredby scheduledperforming filler placer intendedrecipients nameofphysician dateof
    timeof
""")
_ENDS = _table("""
    birthdate studydate seriesdate acquisitiondate contentdate instancecreationdate birthtime
    studytime seriestime acquisitiontime contenttime instancecreationtime instanceuid classuid
    serialnumber physician physicians personname patientid patientname stationname telephonenumbers
    phonenumber emailaddress accessionnumber aetitle applicationentitytitle
""")
_PROSE = _table("description comments history protocolname reason devicename address")
_ORDINARY = frozenset(_table("Arbitrary Impressions LabelText MAC Originator TextString Time"))
"""Attributes whose names are also ordinary words: identifying only in DICOM's own spelling."""
_LAST_WORDS = frozenset(("date", "dates", "datetime", "uid", "uids"))
_TAG = re.compile(r"\s*\(?([0-9A-Fa-f]{4}),?\s?([0-9A-Fa-f]{4})\)?(?![0-9A-Fa-f])\s*")

_GENERIC = frozenset(
    _table("""
    unknown anonymous anonymized none n/a test patient male female other general hospital clinic
    center centre medical university institute radiology department imaging health saint regional
    city county community memorial the and for
""")
)
"""Words that identify nobody by themselves, although they occur in names."""
_SHORT = frozenset(_table("ap pa ct mr us dx cr mg nm pt xa rf ml cc mm cm st dr no in is on an"))
"""Words of two letters that are more often something else than a name."""
_MIN_IDENTIFIER = 3
_MIN_PIECE = 4
_MOST_PIECES = 8
_JOINED = re.compile(r"[-'\u2019\u2010\s^,=.]+")
_DATE = re.compile(r"((?:18|19|20)\d\d)(\d\d)(\d\d)")
_DIGITS = re.compile(r"\d{5,}")
_NUMBER = re.compile(r"\d{6,}")
_PHONE = re.compile(r"\+?[\s(]*\d(?:[-\s()/]{0,3}\d){6,15}")
_MONTHS = _table("""
    jan|ene|gen feb|f[ée]v mar|mär|maer|mrz apr|avr|abr may|mai|mag jun|jui(?=n)|giu
    jul|jui(?=l)|lug aug|ao[ûu]|ago sep|set|sett oct|okt|ott|out nov de[cz]|déc|dic
""")
"""Beginnings of months in English, German, French, Italian, Spanish and Portuguese."""
_BROKEN = re.compile(r"(?<=[^\W\d_])-\r?\n[ \t]*(?=[^\W\d_])")
"""A word that is divided at the end of a line."""
_UNSEEN = re.compile(
    "[\u00ad\u0600-\u0605\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff"
    "\ufff9-\ufffb\U000e0001-\U000e01ef]"
)
"""Characters without a visible form."""
_GAP = r"[\W_]{0,3}"
_NO_SPACES = re.compile("[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
"""Letters of scripts that write words without spaces, or put endings right after a name."""
_ALIKE = {"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss", "ø": "oe", "å": "aa", "æ": "ae"}
_WRITTEN_OUT = {"ae": "ä|æ|a\u0308", "oe": "ö|ø|o\u0308", "ue": "ü|u\u0308", "ss": "ß", "aa": "å"}


class _Form(NamedTuple):
    """One way in which a value is written.

    Attributes:
        border: What must not precede it.
        first: The characters that it may begin with, in any case; "" where not known.
        pattern: The regular expression.
    """

    border: str
    first: str
    pattern: str


@lru_cache(maxsize=8192)
def is_identifying(key: str) -> bool:
    """Return whether the value under this key identifies a patient, a person or a place."""
    if _is_private(key):
        return True
    key = _attribute(key)
    return _names_one(key) or key in _ORDINARY or _normal(key) in _profile()


@lru_cache(maxsize=8192)
def is_telling(key: str) -> bool:
    """Return whether the value under this identifying key must be removed from other texts, too.

    False if such values are ordinary words or numbers: the value of "ROIName" may be "Heart".
    """
    return (
        _is_private(key)
        or _names_one(_attribute(key))
        or _normal(_attribute(key)) in _distinctive()
    )


def _names_one(key: str) -> bool:
    name = _normal(key)
    if not name or name in _KEEP:
        return False
    if name in _EXACT or name.startswith(_STARTS) or name.endswith(_ENDS):
        return True
    # By words, since "update" ends with "date" and "fluid" with "uid".
    words = words_of(key)
    return words[-1:] != [] and (words[-1] in _LAST_WORDS or words[-2:] == ["date", "time"])


def _attribute(key: str) -> str:
    """Return the key itself; for a tag its keyword, else the name that follows it."""
    tag = _TAG.match(key)
    return _keyword(int(tag[1] + tag[2], 16)) or key[tag.end() :] if tag else key


def _is_private(key: str) -> bool:
    """Return whether a key is the tag of a private attribute: its group is odd (PS3.5 7.8)."""
    tag = _TAG.match(key)
    # Eight digits without any sign between them may be a number.
    return tag is not None and "," in tag[0] and int(tag[1], 16) % 2 == 1


@lru_cache(maxsize=8192)
def is_prose(key: str) -> bool:
    """Return whether the value under this key is text whose individual words identify nobody."""
    attribute = _attribute(key)
    name = _normal(attribute)
    if _is_private(key) or name.endswith(_PROSE):
        return True
    return name in _whole() and not _names_one(attribute)


def pattern_of(values: Iterable[str], prose: Iterable[str] = ()) -> re.Pattern[str] | None:
    """Return a pattern that finds these values in any notation, or None if there are no values.

    Args:
        values: Names, ids and dates; the parts of a name are found as well.
        prose: Texts, which are found only as a whole; the long numbers in them are found as well.
    """
    # Half-width kana of a header (ISO_IR 13) are full-width ones in a report.
    written = {unicodedata.normalize(kind, value) for value in values for kind in ("NFC", "NFKC")}
    forms = {form for value in written for form in _forms(value)}
    forms |= {form for text in prose for form in _alone(text.strip())}
    forms |= {form for text in prose for form in _numbers(text)}
    if not forms:
        return None
    # What stands before a form is tested once for all that share it, then its first letter: at
    # most places of a long text that is the end of it.
    borders = sorted({form.border for form in forms})
    return re.compile("|".join(_together(item, forms) for item in borders), re.IGNORECASE)


def smoothed(text: str) -> str:
    """Return a text as a person reads it.

    Invisible characters are removed, wide letters are replaced by normal ones, and words divided at
    the end of a line are joined.
    """
    if "-\n" in text or "-\r" in text:
        text = _BROKEN.sub("", text)
    if text.isascii():
        return text
    return _UNSEEN.sub("", unicodedata.normalize("NFKC", text))


def _together(border: str, forms: Iterable[_Form]) -> str:
    """Return one expression for all forms with that border."""
    groups: dict[str, list[_Form]] = {}
    for form in forms:
        if form.border == border:
            groups.setdefault(_base(form.first), []).append(form)
    parts: list[str] = []
    for letter, alike in sorted(groups.items()):
        # The longest first, so that no part of a name is left beside what was removed.
        ordered = sorted(alike, key=lambda form: (-len(form.pattern), form))
        starts = re.escape("".join(sorted({sign for form in alike for sign in form.first})))
        ahead = f"(?=[{starts}])" if letter else ""
        parts.append(f"{ahead}(?:{'|'.join(form.pattern for form in ordered)})")
    return f"{border}(?:{'|'.join(parts)})"


def _forms(value: str) -> Iterator[_Form]:
    """Yield expressions for a value: a name's parts, a date's notations, a number's digits."""
    value = value.strip()
    yield from _alone(value)
    date = _DATE.match(value)
    if date:
        yield from _dates(*date.groups())
    pieces = _JOINED.split(value)
    if len(pieces) <= _MOST_PIECES and not re.search(r"\d", value):
        # Of a double name; not the O of O'Brien.
        yield from (form for item in pieces if len(item) >= _MIN_PIECE for form in _alone(item))
    for group in value.split("="):
        parts = [part for part in re.split(r"[\^\s,]+", group) if part]
        if not 1 < len(parts) <= 8:
            continue
        for order in (*permutations(parts[:3]), parts, parts[::-1]):
            yield _bounded(_GAP.join(map(_loose, order)), order[0], order[-1])
        for order in permutations(parts[:2]):
            yield _bounded(_GAP.join(map(_loose, order)), order[0], order[-1])
        for part in parts:
            yield from _alone(part)
        if "^" in group:
            yield from (_exactly(part) for part in parts[:2] if _is_short_name(part))
    for digits in _DIGITS.findall(value):
        yield _bounded(digits, digits, digits)
    yield from _phones(value)


def _alone(form: str) -> Iterator[_Form]:
    least = 2 if _NO_SPACES.search(form) else _MIN_IDENTIFIER
    if len(form) >= least and form.lower() not in _GENERIC and any(map(str.isalnum, form)):
        yield _bounded(_loose(form), form, form)


def _numbers(text: str) -> Iterator[_Form]:
    """Yield the long numbers of a text: ids, phone numbers, dates without separators."""
    yield from (_bounded(digits, digits, digits) for digits in _NUMBER.findall(text))
    yield from _phones(text)


def _phones(text: str) -> Iterator[_Form]:
    """Yield the phone numbers of a text, with anything between their digits."""
    for found in _PHONE.findall(text):
        digits = [sign for sign in found if sign.isdigit()]
        yield _bounded(_GAP.join(digits), digits[0], digits[-1])


def _is_short_name(part: str) -> bool:
    return len(part) == 2 and part.isascii() and part.isalpha() and part.lower() not in _SHORT


def _exactly(part: str) -> _Form:
    """Return a name of two letters, only as names are written: "Li" and "LI", not "li"."""
    return _bounded(f"(?-i:{part.title()}|{part.upper()})", part, part)


def _bounded(form: str, first: str, last: str) -> _Form:
    """Return the form as a word; punctuation and underscores end words, letters end numbers."""
    # Of one that the other's is: "Müllers Lunge", "the Joneses".
    ending = "(?:e?s)?" if len(last) >= _MIN_PIECE and last[-4:].isalpha() else ""
    ending = "" if _NO_SPACES.search(last) else ending
    border = _border(last[-1], "")
    return _Form(_border(first[0], "<"), _starts(first), f"{form}{ending}{border}")


def _starts(text: str) -> str:
    """Return the characters that `_loose(text)` may begin with; "" if it begins with no letter."""
    sign = text[0]
    if not sign.isalpha() or _NO_SPACES.match(sign):
        return sign if sign.isdigit() else ""
    other = _ALIKE.get(sign.lower(), sign)
    written = _WRITTEN_OUT.get(text[:2].lower(), "").replace("|", "")
    return "".join({sign, unicodedata.normalize("NFD", sign)[0], other[0], *written} - {"\u0308"})


def _base(first: str) -> str:
    """Return the letter that groups forms whose first letters are variants of it."""
    bases = {unicodedata.normalize("NFD", _ALIKE.get(s, s))[0] for s in first.lower()}
    return min(bases, default="")


def _border(sign: str, side: str) -> str:
    if sign.isdigit():
        return rf"(?{side}!\d)"
    return "" if not sign.isalnum() or _NO_SPACES.match(sign) else rf"(?{side}![^\W\d_])"


def _loose(form: str) -> str:
    """Return an expression that ignores accents and separators: O'Brien, OBRIEN, Mueller."""
    made: list[str] = []
    text, at = form, 0
    while at < len(text):
        pair = _WRITTEN_OUT.get(text[at : at + 2].lower())
        if pair:
            made.append(f"(?:{text[at : at + 2]}|{pair})")
            at += 2
            continue
        sign = text[at]
        if sign.isalnum():
            made.append(_letter(sign))
        elif text[at - 1 : at].isdigit() and text[at + 1 : at + 2].isdigit():
            made.append(re.escape(sign))  # 1.2 is not 12
        elif not made or made[-1] != _GAP:
            made.append(_GAP)
        at += 1
    # Nothing at the ends: a gap there would take the space beside the name.
    while made and made[-1] == _GAP:
        made.pop()
    while made and made[0] == _GAP:
        made.pop(0)
    return "".join(made)


def _letter(sign: str) -> str:
    parts = unicodedata.normalize("NFD", sign)
    other = _ALIKE.get(sign.lower(), "")
    if (len(parts) == 1 and not other) or _NO_SPACES.match(sign):
        return re.escape(sign)
    forms = dict.fromkeys((sign, parts, parts[0], other))
    return f"(?:{'|'.join(re.escape(form) for form in forms if form)})"


def _dates(year: str, month: str, day: str) -> Iterator[_Form]:
    """Yield notations of a date, with and without zeros, with the month as a number or a word."""
    if not 1 <= int(month) <= 12:
        return
    m, d, short = f"0?{int(month)}", f"0?{int(day)}", f"(?:{year}|{year[2:]})"
    gap = r"(?:\s?[-/.]\s?|\s)"
    name = rf"(?:{_MONTHS[int(month) - 1]})[^\W\d_]*\.?"
    for form in (
        rf"{year}{month}{day}",
        rf"{year}{gap}{m}{gap}{d}",
        rf"{d}{gap}{m}{gap}{short}",
        rf"{m}{gap}{d}{gap}{short}",
        rf"{d}(?:st|nd|rd|th|er)?\.?[\s-](?:of\s|de\s)?{name}(?:,|\sde)?[\s-]{short}",
        rf"{name}\s{d}(?:st|nd|rd|th)?,?\s{short}",
        rf"{year},?[\s-]{name}[\s-]{d}",
    ):
        yield _Form(r"(?<!\d)", "", rf"{form}(?!\d)")


@lru_cache(maxsize=1024)
def _keyword(tag: int) -> str:
    from pydicom.datadict import keyword_for_tag

    return keyword_for_tag(tag) or ""


def _normal(key: str) -> str:
    return re.sub(r"'s\b|[^a-z0-9]", "", key.lower())


@cache
def _profile() -> frozenset[str]:
    """Return the names that the confidentiality profile removes. Made when first asked for."""
    return frozenset(map(_normal, basic_profile.PROFILE - _ORDINARY))


@cache
def _whole() -> frozenset[str]:
    """Return the names whose values identify only as a whole."""
    return frozenset(map(_normal, basic_profile.NUMBERS | basic_profile.TEXTS))


@cache
def _distinctive() -> frozenset[str]:
    """Return the names whose values identify wherever else they stand."""
    return _whole() | frozenset(map(_normal, basic_profile.PERSONS | basic_profile.DATES))
