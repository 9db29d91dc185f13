"""Checks a report against its findings: missing, struck, side, number, unit, change, negation.

The checks read numbers, sides and negations of single sentences. They are cautious: what they do
not mark may still be wrong, and a person decides.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import takewhile

from app.imaging.findings import Finding, Measurement
from app.imaging.reports.additions import (
    added_counts,
    added_places,
    added_sizes,
    added_things,
    tells_of_finding,
)
from app.imaging.reports.report_draft import (
    COMPARISON,
    ReportDraft,
    ReportSubject,
    Sentence,
    is_struck,
    standing,
)
from app.imaging.reports.sentences import (
    LANGUAGES,
    comparison_lines,
    date_text,
    is_measure,
    is_structure,
    label_of,
    measurements_of,
    name_in,
    ratio_of,
    statements,
    text,
)
from app.imaging.types import SpacingSource
from app.paths import shipped_table


class Fault(StrEnum):
    """The kinds of fault that a check finds in a report."""

    MISSING = "missing"  # a finding is accepted, and no sentence rests on it
    STRUCK = "struck"  # its finding is no longer accepted
    NAMED = "named"  # names a finding that was rejected
    SIDE = "side"
    NUMBER = "number"  # differs from its finding's
    UNIT = "unit"
    NEGATION = "negation"
    CHANGE = "change"  # "smaller" of what a comparison found larger
    RATIO = "ratio"  # called enlarged or normal, where the cardiothoracic ratio is not
    UNFOUNDED = "unfounded"  # a number that no finding has
    UNNAMED = "unnamed"  # tells neither the name nor a figure of its finding
    ADDED = "added"  # says more than its finding: another name, a place, a size, a number
    OPPOSITE = "opposite"  # rests on no finding, and tells another side than an accepted one's
    DENIED = "denied"  # rests on no finding, and says that an accepted one is not there
    CHANGED = "changed"  # its finding is not what it was when the report was signed
    LATER = "later"  # a finding that was accepted after the report was signed
    UNCOMPARED = "uncompared"  # an earlier study that is open and not named
    OWN = "own"  # a sentence that rests on no finding; nothing else is wrong with it


BLOCKING = frozenset(
    {Fault.STRUCK, Fault.SIDE, Fault.NUMBER, Fault.UNIT, Fault.NEGATION, Fault.CHANGE, Fault.RATIO}
)
"""What contradicts findings: such a report cannot be signed."""


SINCE = frozenset({Fault.CHANGED, Fault.LATER, Fault.STRUCK})
"""Faults that tell of a change after signing; they end the signature."""


@dataclass(frozen=True, slots=True)
class Check:
    """One thing to look at.

    Attributes:
        section: Key of the section; "" for what is about no sentence.
        place: Index of the sentence in its section; -1 for none.
        finding: Id of the finding that it is about; "" if none.
        told: What the sentence says, e.g. "left"; for a finding, its label.
        true: What the finding says, e.g. "right"; "" if nothing.
    """

    fault: Fault
    section: str = ""
    place: int = -1
    finding: str = ""
    told: str = ""
    true: str = ""


_RIGHT = re.compile(r"\b(right\b|rechts\w*|rechte[rnms]?\b|rt\b|re\.(?!\w))", re.IGNORECASE)
_LEFT = re.compile(r"\b(left\b|links\w*|linke[rnms]?\b|lt\b|li\.(?!\w))", re.IGNORECASE)
_BOTH = re.compile(
    r"\b(bilateral\w*|both|beidseit\w*|beidseits|bds|beide[rnms]?)\b"
    r"(?! (?:the |der |den |die )?(?:views?|planes?|projections?|films?|images?|studies"
    r"|radiographs?|series|readers?|ebenen|projektionen|aufnahmen|bilder\w?|studien|serien)\b)",
    re.IGNORECASE,
)
"""Words for both sides; "both views" are none."""
_BILATERAL = re.compile(
    r"\b(bilateral\w*|both (?:sides|lungs)|beidseit\w*|beide[rn]? (?:seiten|lungen))\b",
    re.IGNORECASE,
)
_SIDES = (("right", _RIGHT), ("left", _LEFT))

_BEFORE = re.compile(
    r"\b(no|not|without|negative for|free of|absence of|kein\w*|nicht|ohne|frei von)\b",
    re.IGNORECASE,
)
_AFTER = re.compile(
    r"\b(not (?:seen|present|visible|found|identified|demonstrated|detected|evident)|absent|"
    r"resolved|ruled out|excluded|unlikely|unwahrscheinlich|ausgeschlossen|"
    r"nicht (?:mehr )?(?:nachweisbar|abgrenzbar|sichtbar|vorhanden|erkennbar|zu sehen|gesehen))\b",
    re.IGNORECASE,
)
_NORMALLY = (
    r"(?:clear|free|normal|intact|unremarkable|frei|normal\w*|intakt|unauffällig\w*|regelrecht\w*)"
)
_IS_CLEAR = re.compile(
    r"\b(?:right|left|rechte|linke)(?: (?:lung|side|hemithorax|lunge|seite))"
    rf"(?: (?:is|are|remains|otherwise|ist|sonst|bleibt))* {_NORMALLY}\b",
    re.IGNORECASE,
)
_CLAUSE = re.compile(r"[;:,]|\bbut\b|\baber\b|\bsondern\b", re.IGNORECASE)

_DATE = re.compile(
    r"\b\d{4}-\d\d-\d\d\b|\b\d{1,2}[./]\d{1,2}[./](?:\d{4}|\d\d)\b|"
    r"\b(?:\d{1,2}/)?(?:19|20)\d\d\b(?![.,]\d|\s*(?:[µmc]?m|px|HU|HE|ml)[²³23]?\b)|"
    r"\b(?:\d+\s*[-–]\s*)?\d+[-\s]*(?:days?|weeks?|months?|years?|Tage?n?|Wochen?|Monate?n?|Jahre?n?)\b",
    re.IGNORECASE,
)
"""Dates, years and spans of time."""
_PLACE = re.compile(
    r"\b(series|serie|image|bild|slice|schicht|frame|number|nummer|no\.|nr\.)\s+(\d+)",
    re.IGNORECASE,
)
_NUMBER = re.compile(
    r"(?<![\w.,])[-+]?(\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:[.,]\d+)?)(?![\d])\s*"
    r"(mm²|cm²|mm2|cm2|mm³|cm³|mm3|cm3|mm|cm|µm|um|ml|mL|HU|HE|px²|px|°|degrees?|Grad|%|m/s|cm/s|ms|s)?"
    r"(?!\w)"
)
_SIZE = re.compile(
    r"(\d+(?:[.,]\d+)?)\s*[x×]\s*"
    r"(?=(?:\d+(?:[.,]\d+)?\s*[x×]\s*)*\d+(?:[.,]\d+)?\s*(mm|cm|µm|um|px)\b)"
)
"""A number of a size such as 1.2x0.9 cm, and the unit of the last."""
_UNITS = {
    "mm2": "mm²",
    "cm2": "cm²",
    "mm3": "mm³",
    "cm3": "cm³",
    "um": "µm",
    "HE": "HU",
    "mL": "ml",
    "degree": "°",
    "degrees": "°",
    "Grad": "°",
}
_SCALES = {
    "µm": ("length", 0.001),
    "mm": ("length", 1.0),
    "cm": ("length", 10.0),
    "mm²": ("area", 1.0),
    "cm²": ("area", 100.0),
    "µm²": ("area", 1e-6),
    "mm³": ("volume", 1.0),
    "cm³": ("volume", 1000.0),
    "ml": ("volume", 1000.0),
}
"""Quantity of a unit and its size in mm, mm² or mm³."""


@dataclass(frozen=True, slots=True)
class _Told:
    text: str
    value: float
    step: float  # size of the last digit shown
    units: str
    start: int  # place of number and unit in the text
    end: int


def check_report(
    draft: ReportDraft,
    subject: ReportSubject,
    accepted: Mapping[str, Finding],
    rejected: Iterable[Finding] = (),
) -> tuple[Check, ...]:
    """Return what is to be looked at, in the order of the report; missing findings come last.

    Args:
        draft: The report.
        subject: Its study.
        accepted: The findings that it may rest on, by id.
        rejected: Findings that a person rejected; a sentence must not name them.
    """
    known = {one.label.lower() for one in accepted.values()}
    gone = [one for one in rejected if one.label and one.label.lower() not in known]
    made: list[Check] = []
    for section, place, sentence in draft.told():
        if is_struck(sentence, accepted):
            key = next(one for one in sentence.findings if one not in accepted)
            made.append(Check(Fault.STRUCK, section.key, place, key))
            continue
        found = [accepted[key] for key in sentence.findings]
        before = len(made)
        made += [
            Check(fault, section.key, place, found[0].id if found else "", told, true)
            for fault, told, true in (
                *_side(sentence, found),
                *_numbers(sentence, found, accepted, subject),
                *_linked_figures(sentence, found, subject, draft.language),
                *_change(sentence, found),
                *_heart(sentence, found),
                *_negation(sentence, found, draft.language),
                *(() if found else _denial(sentence, accepted.values(), draft.language)),
                *(() if found else _opposite(sentence, accepted.values())),
                *(() if found else _swapped(sentence, accepted.values(), draft.language)),
            )
        ]
        if found and len(made) == before and not _speaks_of(sentence, found, draft.language):
            made.append(Check(Fault.UNNAMED, section.key, place, found[0].id, found[0].label))
        elif found and (more := _additions(sentence, found, accepted.values(), draft.language)):
            made.append(Check(Fault.ADDED, section.key, place, found[0].id, more))
        made += [
            Check(Fault.NAMED, section.key, place, one.id, one.label)
            for one in gone
            if _names(
                _without_longer(sentence.text, one, found, draft.language), one, draft.language
            )
            or (not found and _means(sentence.text, one, accepted.values(), draft.language))
        ]
    marked = {(one.section, one.place) for one in made}
    own = (one for one in _own(draft, subject) if one not in marked)
    made += [Check(Fault.OWN, section, place) for section, place in own]
    cited = set(standing(draft, accepted).cited())
    signed = dict(draft.signed_findings)
    for statement in statements(tuple(accepted.values())):
        missing = [key for key in statement.ids if key not in cited]
        if len(missing) == len(statement.ids) or (missing and statement.count > 1):
            later = draft.signature is not None and missing[0] not in signed
            fault = Fault.LATER if later else Fault.MISSING
            made.append(Check(fault, finding=missing[0], told=statement.label))
    if draft.signature is None:
        missing_priors = uncompared(draft, subject)
        made += [Check(Fault.UNCOMPARED, told=one) for one in missing_priors]
    changed = draft.changed_since(accepted)
    made += [Check(Fault.CHANGED, finding=key, told=accepted[key].label) for key in changed]
    return tuple(made)


def _own(draft: ReportDraft, subject: ReportSubject) -> Iterable[tuple[str, int]]:
    """Yield section and place of the sentences on findings that rest on none."""
    lines = {line for one in LANGUAGES for line in comparison_lines(subject, one)}
    lines |= {text("no_prior", one) for one in LANGUAGES}
    for section in draft.sections:
        for place, sentence in enumerate(section.sentences):
            named = sentence.text in lines or _names_a_study(sentence.text)
            told = section.tells_findings or (section.kind == COMPARISON and not named)
            if told and sentence.text.strip() and not sentence.findings:
                yield section.key, place


def _names_a_study(text: str) -> bool:
    """Return whether a sentence has a date and tells no figure, change or negation."""
    rest = _DATE.sub(" ", text)
    changes = any(pattern.search(rest) for pattern in _SAID.values())
    return rest != text and not (changes or _negations(rest) or any(_told_numbers(rest)))


def uncompared(draft: ReportDraft, subject: ReportSubject) -> list[str]:
    """Return lines for the earlier studies that are open and whose date the report does not name.

    A report without a section for comparison names none.
    """
    own = [one for one in draft.sections if one.kind == COMPARISON]
    told = " ".join(sentence.text for one in draft.sections for sentence in one.sentences)
    lines = comparison_lines(subject, draft.language)
    return [
        line
        for (_, date), line in zip(subject.priors, lines, strict=False)
        if own and date and not any(date_text(date, one) in told for one in LANGUAGES)
    ]


def sides_of(finding: Finding) -> set[str]:
    """Return the sides that a finding's label and codes name: "left", "right", both or none."""
    codes = (code.meaning for code in (finding.site, finding.code) if code)
    return _sides(" ".join((finding.label.replace("_", " "), *codes)))


def _sides(text: str) -> set[str]:
    if _BOTH.search(text):
        return {"left", "right"}
    return {name for name, pattern in _SIDES if pattern.search(text)}


def _side(sentence: Sentence, found: Collection[Finding]) -> Iterable[tuple[Fault, str, str]]:
    true = {side for one in found for side in sides_of(one)}
    told = _sides(_IS_CLEAR.sub(" ", sentence.text))
    if true and (wrong := told - true):
        yield Fault.SIDE, " + ".join(sorted(wrong)), " + ".join(sorted(true))


def _numbers(
    sentence: Sentence,
    found: list[Finding],
    accepted: Mapping[str, Finding],
    subject: ReportSubject,
) -> Iterable[tuple[Fault, str, str]]:
    own = _values(found)
    every = own if found else _values(accepted.values())
    names = " ".join(_texts_of(found))
    text = _DATE.sub(" ", sentence.text)
    text = _LIMIT.sub(" ", text) if _heart_ratio(found) is not None else text
    places = {subject.places.get(one.image.sop_instance_uid) for one in found} - {None}
    for match in _PLACE.finditer(text):
        series = match[1].lower().startswith("seri")
        true = {pair[0 if series else 1] for pair in places if pair}
        if true and int(match[2]) not in true:
            yield Fault.NUMBER, match[0], "/".join(map(str, sorted(true)))
    text = _with_units(_PLACE.sub(" ", text))
    for told in _told_numbers(text):
        same = [one for one in every if _is_same(told, one)]
        if found and _is_true_limit(text, told, own):
            continue
        if same or re.search(rf"(?<!\d){re.escape(told.text)}(?!\d)", names):
            continue
        if not told.units and found and told.value == len(found):
            continue
        if not told.units and found and told.value == len(statements(found)):
            continue
        other = [one for one in every if abs(one.value - told.value) <= told.step / 2 + 1e-9]
        shown = f"{told.text} {told.units}".strip()
        if other and told.units:
            yield Fault.UNIT, shown, other[0].units or "-"
        elif own and found and (told.units or told.step < 1 or any(not _has_unit(v) for v in own)):
            yield Fault.NUMBER, shown, _nearest(told, own)
        else:
            yield Fault.UNFOUNDED, shown, ""


_LESS = re.compile(
    r"\b(?:(?:smaller|less|shorter) than|below|under|kleiner als|unter)\s+$", re.IGNORECASE
)


def _is_true_limit(text: str, told: _Told, own: Sequence[Measurement]) -> bool:
    """Return whether a number is a limit that a single length is below: "smaller than 3 cm"."""
    if len(own) != 1 or own[0].date or _DATE_WORD.search(text):
        return False
    factors = [_SCALES.get(one) for one in (told.units, own[0].units)]
    there, here = factors
    if there is None or here is None or there[0] != here[0]:
        return False
    return bool(_LESS.search(text[: told.start])) and own[0].value * here[1] < told.value * there[1]


_IS = (
    r"(?:[\s:=(]|\b(?:is|was|of|about|approximately|measures|measured|at|now"
    r"|ist|war|von|etwa|circa|ca\.?|rund|beträgt|misst|jetzt)\b)+"
)
"""What may stand between a finding's name and its figure."""


def _swapped(
    sentence: Sentence, accepted: Iterable[Finding], language: str
) -> Iterable[tuple[Fault, str, str]]:
    """Yield figures of another finding that directly follow an accepted one's name."""
    every = tuple(accepted)
    text = _PLACE.sub(" ", _DATE.sub(" ", sentence.text))
    for one in every:
        own = _values([one])
        for label in {one.label, name_in(language, one.label)} if own else ():
            named = re.search(rf"(?<!\w){re.escape(label)}{_IS}(?=\d)", text, re.IGNORECASE)
            told = next(iter(_told_numbers(text[named.end() :])), None) if named else None
            if told is None or not told.units or any(_is_same(told, each) for each in own):
                continue
            if any(_is_same(told, each) for each in _values(every)):
                yield Fault.NUMBER, f"{told.text} {told.units}", _nearest(told, own)


def _linked_figures(
    sentence: Sentence, found: list[Finding], subject: ReportSubject, language: str
) -> Iterable[tuple[Fault, str, str]]:
    """Yield figures of a sentence's own findings that it tells of another date, name or plane."""
    values = _values(found)
    text = _with_units(_PLACE.sub(" ", sentence.text))
    blank = _DATE.sub(lambda match: " " * len(match[0]), text)
    own = (one for one in _told_numbers(blank) if any(_is_same(one, each) for each in values))
    told = [one for one in own if one.units]
    faults = [
        *_dated(text, told, values, subject, language),
        *_exchanged(blank, told, found, language),
        *_swapped(sentence, found, language),
        *_out_of_plane(blank, told, values, language),
    ]
    yield from dict.fromkeys(faults)


_NOTE = r"(?:\s*\([^()]*\))?\s*"  # "(detector plane)"
_ABOUT_IT = (
    r"[\s:=(,]*(?:(?:about|approximately|etwa|circa|ca\.?|of|at|it|was|measured|es|war)\b\.?\s*)*"
)
_OF_DATE = re.compile(rf"{_NOTE}(?:[(\s]|\b(?:on|in|at|of|from|dated|am|im|vom|von)\b)*")
_DATE_OF = re.compile(_ABOUT_IT)
_SINCE_IT = re.compile(
    r"\b(since|seit|with|to|than|gegenüber|zum?|als)(\s+(the|on|dem|am))?\s*$", re.IGNORECASE
)
_THEN = r"(?:before|previous(?:ly)?|prior|formerly|earlier|zuvor|vorher|vormals|früher|damals)"
_NOW = r"(?:now|currently|current|today|jetzt|nun|nunmehr|aktuell|heute)"
_BESIDE = tuple(
    (
        then,
        re.compile(rf"\b{words}\b{_ABOUT_IT}$", re.IGNORECASE),
        re.compile(rf"{_NOTE}{words}\b(?!\s*[\d(])", re.IGNORECASE),
    )
    for then, words in ((True, _THEN), (False, _NOW))
)
_DATE_WORD = re.compile(rf"\b{_THEN}\b", re.IGNORECASE)
_FROM = re.compile(r"\b(from|von)\s+$", re.IGNORECASE)
_TO = re.compile(rf"{_NOTE}(?:to|auf|→|->)\s*", re.IGNORECASE)
_COMPARES = re.compile(
    rf"\b{_THEN}\b|\b(?:from|von|vs|versus|than|als|gegenüber|was|war)\b|→|->", re.I
)


def _dated(
    text: str,
    told: Sequence[_Told],
    values: Sequence[Measurement],
    subject: ReportSubject,
    language: str,
) -> Iterable[tuple[Fault, str, str]]:
    """Yield dates that are not the other study's, and figures told of the wrong study."""
    other = [one for one in values if one.date]
    own = [one for one in values if not one.date]
    dates = [(match, _date_key(match[0])) for match in _DATE.finditer(text)]
    dates = [(match, key) for match, key in dates if key]
    known = [one.date for one in other if one.date != "unknown"]
    if not other:
        return
    named = any(date.startswith(key) for _, key in dates for date in known)
    if known and dates and not named:
        for match, key in dates:
            if not subject.date.startswith(key):
                yield Fault.NUMBER, match[0], date_text(known[0], language)
    earlier = not any(one.name.endswith("current") for one in other)
    taken: set[int] = set()
    for place, one in enumerate(told):
        after = told[place + 1].start if place + 1 < len(told) else len(text)
        before = told[place - 1].end if place else 0
        key = _date_at(text, one, (before, after), dates, taken)
        if key:
            of_other = any(date.startswith(key) for date in known)
            if not of_other and not subject.date.startswith(key):
                continue
            true = [each for each in other if each.date.startswith(key)] if of_other else own
        else:
            then = _told_then(text, told, place) if earlier else None
            if then is None and (named or dates or _COMPARES.search(text)):
                continue
            true = other if then else own
        if true and not any(_is_same(one, each) for each in true):
            yield Fault.NUMBER, f"{one.text} {one.units}", _nearest(one, true)


def _date_key(text: str) -> str:
    """Return a date as YYYYMMDD, YYYYMM or YYYY; "" for what is none, or may be read two ways."""
    if match := re.fullmatch(r"(\d{4})-(\d\d)-(\d\d)", text):
        return "".join(match.groups())
    if match := re.fullmatch(r"(\d{1,2})\.(\d{1,2})\.(\d{4})", text):
        return f"{match[3]}{match[2]:>02}{match[1]:>02}"
    if match := re.fullmatch(r"(?:(\d{1,2})/)?(\d{4})", text):
        return match[2] + (f"{match[1]:>02}" if match[1] else "")
    return ""


def _date_at(
    text: str,
    told: _Told,
    between: tuple[int, int],
    dates: Sequence[tuple[re.Match[str], str]],
    taken: set[int],
) -> str:
    """Return the date that stands directly behind a figure, or before it; "" if none does."""
    for match, key in dates:
        if told.end <= match.start() < between[1] and _OF_DATE.fullmatch(
            text, told.end, match.start()
        ):
            taken.add(match.start())
            return key
    for match, key in dates:
        if between[0] <= match.start() < told.start and match.start() not in taken:
            since = _SINCE_IT.search(text[: match.start()])
            if not since and _DATE_OF.fullmatch(text, match.end(), told.start):
                return key
    return ""


def _told_then(text: str, told: Sequence[_Told], place: int) -> bool | None:
    """Return whether words beside a figure call it the earlier one; None if none do."""
    one = told[place]
    for then, before, after in _BESIDE:
        if before.search(text[: one.start]) or after.match(text, one.end):
            return then
    for then, start, end in ((True, place, place + 1), (False, place - 1, place)):
        pair = told[start : end + 1] if start >= 0 else ()
        if len(pair) == 2 and _FROM.search(text[: pair[0].start]):
            between = text[pair[0].end : pair[1].start]
            if _TO.fullmatch(between):
                return then
    return None


_FILLER = re.compile(
    r"(?:[\s:=(,–-]|\([^()]*\)|\b(?:is|was|of|at|about|approximately|measures|measured|measuring|now|with"
    r"|width|size|diameter|side|axis|ist|war|von|mit|etwa|circa|ca\.?|beträgt|misst|jetzt|breite"
    r"|größe|durchmesser|achse|wide)\b\.?)*",
    re.IGNORECASE,
)
"""What may stand between a name and its figure."""
_PIECE = re.compile(r"[,;.]|\b(?:and|und)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Holder:
    """What figures belong to: a finding, or one quantity of a finding (no `sides`)."""

    words: frozenset[str]
    sides: frozenset[str]
    values: tuple[Measurement, ...]
    whole: bool


def _exchanged(
    text: str, told: Sequence[_Told], found: Sequence[Finding], language: str
) -> Iterable[tuple[Fault, str, str]]:
    """Yield figures that directly follow, or precede, the name of what they do not belong to."""
    holders = _holders(found, language)
    first = bool(told) and not _named_in(text[: told[0].start], holders)[0]  # "143 mm heart width"
    for place, one in enumerate(told):
        before = text[told[place - 1].end if place else 0 : one.start]
        behind = text[one.end : told[place + 1].start if place + 1 < len(told) else len(text)]
        named, end = ([], 0) if first else _named_in(before, holders)
        if named and not _FILLER.fullmatch(before, end):
            continue
        if not named:
            named, _ = _named_in(_PIECE.split(behind)[0], holders)
        for whole in (True, False):
            same = [holder for holder in named if holder.whole is whole]
            if len(same) == 1 and not any(_is_same(one, each) for each in same[0].values):
                yield Fault.NUMBER, f"{one.text} {one.units}", _nearest(one, [*same[0].values])


def _holders(found: Sequence[Finding], language: str) -> list[_Holder]:
    """Return what the figures of findings belong to, each with the words that name only it."""
    made: list[_Holder] = []
    for one in found:
        values, label = measurements_of(one), label_of(one)
        if not values:
            continue
        words = _words_of(label, name_in(language, label))
        made.append(_Holder(words, frozenset(_sides(label)), values, whole=True))
        for each in values:
            if each.name and not each.date:
                words = _words_of(each.name, name_in(language, each.name))
                made.append(_Holder(words, frozenset(), (each,), whole=False))
    ratios = {one.ratio for one in found if one.ratio}
    general = frozenset(word for one in ratios for word in _words_of(one, name_in(language, one)))
    unique: list[_Holder] = []
    for one in made:
        others = [general, *(each.words for each in made if each is not one)]
        known = {word for words in others for word in words}
        words = frozenset(w for w in one.words if not any(w in other for other in known))
        alone = len(one.sides) == 1 and sum(one.sides == each.sides for each in made) == 1
        unique.append(_Holder(words, one.sides if alone else frozenset(), one.values, one.whole))
    return unique


def _words_of(*names: str) -> frozenset[str]:
    words = re.findall(r"[^\W\d_]{4,}", " ".join(names).lower())
    return frozenset(one for one in words if not _sides(one))


def _named_in(text: str, holders: Sequence[_Holder]) -> tuple[list[_Holder], int]:
    """Return what a text names, and where the last name ends."""
    named: list[_Holder] = []
    end = 0
    for holder in holders:
        places = [
            match.end()
            for match in re.finditer(r"[^\W\d_]+", text)
            if any(word in match[0].lower() for word in holder.words)
            or (holder.sides and frozenset(_sides(match[0])) == holder.sides)
        ]
        if places:
            named.append(holder)
            end = max(end, *places)
    return named, end


_JOINED = re.compile(r"\s*(?:x|×|and|und|to|auf|bis|→|->|/|-|–)?\s*", re.IGNORECASE)
_EACH = re.compile(r"\b(?:both|all|each|alle|beide|jeweils)\b", re.IGNORECASE)


def _out_of_plane(
    text: str, told: Sequence[_Told], values: Sequence[Measurement], language: str
) -> Iterable[tuple[Fault, str, str]]:
    """Yield lengths in the detector plane that are told as if they were in the patient."""
    plane = str(SpacingSource.DETECTOR)
    noted = re.compile("dete[ck]t", re.IGNORECASE)
    if (
        not told
        or noted.search(text[: told[0].start])
        or (_EACH.search(text) and noted.search(text))
    ):
        return
    bare: list[_Told] = []
    joined = False
    for place in reversed(range(len(told))):
        one = told[place]
        after = told[place + 1].start if place + 1 < len(told) else len(text)
        joined = joined and bool(_JOINED.fullmatch(text, one.end, after))
        joined = joined or bool(noted.search(text[one.end : after]))
        same = [each for each in values if _is_same(one, each)]
        if not joined and all(each.rests_on == plane for each in same):
            bare.append(one)
    for one in reversed(bare):
        yield Fault.UNIT, f"{one.text} {one.units}", f"{one.units} ({name_in(language, plane)})"


_STATE = re.compile(r"\((larger|smaller|unchanged|new|gone)\)$")
_CHANGES = {
    "larger": r"(?<!the )larger\b(?! side| diameter| axis)|bigger|grown|grew|growing|growth"
    r"|increas\w*(?! (?:densit|opaci|attenu|signal))|enlarging|has enlarged|progression|progressive"
    r"|größer\b|gewachsen|wachs\w*|zugenommen|(?:größen)?zunahme|vergrößert\b|progredient|progress\b",
    "smaller": r"(?<!the )smaller\b(?! side| diameter| axis)|shrunk\w*|shr[ai]nk\w*|decreas\w*"
    r"(?! (?:densit|opaci|attenu|signal))|regression|kleiner\b|geschrumpft|abgenommen"
    r"|(?:größen)?abnahme|verkleinert\b|regredient",
    "unchanged": r"unchanged|stable|constant|same size|(?:no|not|without)(?: \w+){0,2} changed?\b"
    r"|unverändert\w*|stabil|(?:größen)?konstant\w*|gleich groß"
    r"|(?:keine|ohne|nicht)(?: \w+){0,2} (?:\w*änderung|verändert|geändert)",
    "new": r"new\b|neue?[rnms]?\b|neu aufgetreten",
}
"""Words by which a sentence tells a change."""
_SAID = {name: re.compile(rf"\b(?:{words})", re.IGNORECASE) for name, words in _CHANGES.items()}
_NOT = re.compile(r"\b(?:no|not|without|never|kein\w*|nicht|ohne)\s+(?:\w+\s+)?$", re.IGNORECASE)
_ONCE = re.compile(rf"\b(?:was|were|war|waren|{_THEN})\s+(?:\w+\s+)?$", re.IGNORECASE)


def _change(sentence: Sentence, found: Iterable[Finding]) -> Iterable[tuple[Fault, str, str]]:
    """Yield the words that tell another change than the comparison found ("smaller")."""
    true: set[str] = set()
    for one in found:
        labels = (one.label, one.original.label if one.original else "")
        true |= {match[1] for label in labels if one.rests_on and (match := _STATE.search(label))}
    for name, pattern in _SAID.items() if true else ():
        for match in pattern.finditer(sentence.text):
            before = sentence.text[: match.start()]
            if _ONCE.search(before):
                continue
            if true == {name} if _NOT.search(before) else name not in true:
                yield Fault.CHANGE, match[0], sorted(true)[0]
                return


_CUTOFF, _MARGIN = 0.5, 0.02  # as the chest pack judges a ratio
UNDECIDED = f"too close to {_CUTOFF} to decide"
"""What the description of a heart's width says if its ratio decides nothing."""
_LIMIT = re.compile(
    r"(?:\b(?:(above|over|exceed\w*|(?:greater|more|larger|higher) than|über|oberhalb(?: von)?"
    r"|größer als)|below|under|(?:less|smaller|lower) than|unter|unterhalb(?: von)?|kleiner als)"
    r"|([>≥])|[<≤])\s*(?:0[.,]50?|50\s*%)(?!\d)",
    re.IGNORECASE,
)
_ENLARGED = re.compile(
    r"\b(?:enlarge[dm]\w*|cardiomegaly|kardiomegalie|vergrößer\w*|verbreiter\w*|too large|zu groß)",
    re.IGNORECASE,
)
_NORMAL = re.compile(
    r"\b(?:normal(?:ly)?[- ](?:sized?|heart|cardiac)|normal in size|within normal limits"
    r"|(?:size|silhouette|heart|ratio|Herz|Herzgröße|Quotient)(?: (?:is|ist))? normal"
    r"|normal ?(?:groß|weit)\w*|normale[rns]? (?:herz|größe)\w*)",
    re.IGNORECASE,
)
_OPEN = re.compile(
    r"\b(?:whether|borderline|\w*decid\w*|uncertain|possibl[ey]|may|ob|grenzwertig\w*|entscheid\w*"
    r"|unentschieden|fraglich\w*|möglich\w*|unklar)\b|\?",
    re.IGNORECASE,
)
_OF_HEART = re.compile(r"heart|cardi|herz|kardi", re.IGNORECASE)


def _heart_ratio(found: Iterable[Finding]) -> float | None:
    told = [*found]
    single = [one for one in told if one.units == "ratio" and _OF_HEART.search(one.label)]
    own = [one for one in told if one.group]
    groups = ([each for each in own if each.group == one.group] for one in own if one.ratio)
    ratios = (ratio_of(one) for one in groups)
    computed = [one.value for one in ratios if one and _OF_HEART.search(one.name)]
    values = [one.value for one in single if one.value is not None]
    return next(iter([*computed, *values]), None)


def _heart(sentence: Sentence, found: Sequence[Finding]) -> Iterable[tuple[Fault, str, str]]:
    """Yield the words that call the heart enlarged or not where its ratio does not say so."""
    ratio, text = _heart_ratio(found), sentence.text
    if ratio is None or _OPEN.search(text):
        return
    near = abs(ratio - _CUTOFF) < _MARGIN
    undecided = near or any(UNDECIDED in one.description for one in found)
    for pattern in (_LIMIT, _ENLARGED, _NORMAL):
        for match in pattern.finditer(text):
            before = _CLAUSE.split(text[: match.start()])[-1]
            if len(found) > 2 and not _OF_HEART.search(before + match[0]):
                continue
            above = pattern is _ENLARGED or (pattern is _LIMIT and bool(match[1] or match[2]))
            negation = _BEFORE.search(before)
            above ^= negation is not None
            if not (undecided or above or pattern is _LIMIT):
                continue  # above the cutoff on an AP film: it does not hold there
            if undecided or above != (ratio > _CUTOFF):
                start = negation.start() - len(before) if negation else 0
                told = text[match.start() + start : match.end()]
                yield Fault.RATIO, told, "" if undecided else f"{ratio:.2f}"
                return


def _has_unit(one: Measurement) -> bool:
    return one.units not in ("", "ratio", "objects")


def _values(found: Iterable[Finding]) -> list[Measurement]:
    findings = list(found)
    values = [one for finding in findings for one in measurements_of(finding)]
    groups: dict[str, list[Finding]] = {}
    for one in findings:
        if one.group:
            groups.setdefault(one.group, []).append(one)
    ratios = (ratio_of(group) for group in groups.values())
    return [*values, *(one for one in ratios if one is not None)]


def _texts_of(found: Iterable[Finding]) -> Iterable[str]:
    for one in found:
        yield one.label
        yield from (code.meaning for code in (one.site, one.code) if code)


def _told_numbers(text: str) -> Iterable[_Told]:
    for match in _NUMBER.finditer(_with_units(text)):
        digits = match[1]
        if re.fullmatch(r"\d{1,3}(,\d{3})+(\.\d+)?", digits):
            digits = digits.replace(",", "")
        digits = digits.replace(",", ".")
        decimals = len(digits.partition(".")[2])
        units = match[2] or ""
        place = match.start(1), match.end(2) if match[2] else match.end(1)
        yield _Told(match[1], float(digits), 10.0**-decimals, _UNITS.get(units, units), *place)


def _with_units(text: str) -> str:
    return _SIZE.sub(r"\1 \2 x ", text)


def _is_same(told: _Told, one: Measurement) -> bool:
    """Return whether a number is a measurement, rounded to the digits that are told."""
    units = one.units if _has_unit(one) else ""
    factor = 1.0
    if told.units and told.units != units:
        here, there = _SCALES.get(told.units), _SCALES.get(units)
        if here is None or there is None or here[0] != there[0]:
            return units == "" and one.units == "ratio" and _is_percent(told, one.value)
        factor = there[1] / here[1]
    return abs(abs(one.value) * factor - told.value) <= told.step / 2 + 1e-9


def _is_percent(told: _Told, value: float) -> bool:
    return told.units == "%" and abs(value * 100 - told.value) <= told.step / 2 + 1e-9


def _nearest(told: _Told, values: list[Measurement]) -> str:
    same = [one for one in values if one.units == told.units] or values
    best = min(same, key=lambda one: abs(one.value - told.value))
    units = best.units if _has_unit(best) else ""
    return f"{best.value:.4g} {units}".strip()


def _negation(
    sentence: Sentence, found: list[Finding], language: str
) -> Iterable[tuple[Fault, str, str]]:
    if not found:
        return
    stems = {stem for one in found for stem in _stems(one, language)}
    clauses = _CLAUSE.split(sentence.text)
    named = [one for one in clauses if _holds(one, stems)]
    for clause in named or clauses[:1]:
        first = _BEFORE.search(clause)
        after = _AFTER.search(clause)
        if first and (not named or _holds(clause[first.end() :], stems)):
            yield Fault.NEGATION, first[0], ""
        elif after:
            yield Fault.NEGATION, after[0], ""
    if named and len(clauses) > 1:  # "Nodule: not seen"
        for clause in clauses:
            if clause not in named and (match := _AFTER.match(clause.strip())):
                yield Fault.NEGATION, match[0], ""


_FURTHER = re.compile(
    r"\b(other|further|additional|new|second|more|else|weiter\w*|ander\w*|sonst\w*|neu\w*|zus\w*)\b",
    re.IGNORECASE,
)


def _denial(
    sentence: Sentence, accepted: Iterable[Finding], language: str
) -> Iterable[tuple[Fault, str, str]]:
    """Say which accepted finding a sentence of the user's own denies, on its side or any."""
    if not _negations(sentence.text) or _FURTHER.search(sentence.text):
        return
    for one in {one.label: one for one in accepted}.values():
        own, told = sides_of(one), _sides(sentence.text)
        elsewhere = own and told and not own & told
        if is_structure(one.label) or is_measure(one.label) or elsewhere:
            continue
        for clause in _CLAUSE.split(sentence.text):
            if not (_holds_all(clause, one, language) or _is_of_kind(clause, one)):
                continue
            if any(_negation(Sentence(clause), [one], language)):
                yield Fault.DENIED, one.label, ""
                return


_ASKS = re.compile(r"\?|\b(?:question of|query|frage)\b", re.IGNORECASE)
_FOR = re.compile(  # what something is done for is not said to be there
    r"(?<!suspicious )(?<!evidence )(?<!positive )(?<!concerning )(?<!indicative )(?<!typical )"
    r"\b(?:for|because of|due to|owing to|nach|wegen|aufgrund)\b"
    r"(?: (?:the|an?|any|possible|pleural|de[rsmn]|die|eine[sr]?))* \w+",
    re.IGNORECASE,
)


def _opposite(sentence: Sentence, accepted: Iterable[Finding]) -> Iterable[tuple[Fault, str, str]]:
    """Yield the side on which a sentence of the user's own has what was accepted on the other."""
    every = [one for one in accepted if not (is_structure(one.label) or is_measure(one.label))]
    if _FURTHER.search(sentence.text) or _ASKS.search(sentence.text):
        return
    for clause in _CLAUSE.split(_FOR.sub(" ", sentence.text)):
        own = [one for one in every if sides_of(one) and _is_of_kind(clause, one)]
        sides = {side for one in own for side in sides_of(one)}
        wrong = _sides(clause) - sides
        if own and wrong and not _negations(clause):
            yield Fault.OPPOSITE, " + ".join(sorted(wrong)), own[0].label
            return


def _additions(
    sentence: Sentence, found: list[Finding], accepted: Iterable[Finding], language: str
) -> str:
    """Return the words by which a sentence says more than the findings that it rests on."""
    if any(is_measure(one.label) for one in found):  # all that a ruler marks is the user's word
        return ""
    text = _LIMIT.sub(lambda match: " " * len(match[0]), sentence.text)
    known = _known_texts(found)
    enlarged = _heart_ratio(found) is not None or bool(_ENLARGED.search(known))
    known += " cardiomegaly" if enlarged else ""
    counted = (one.value for one in _values(found) if one.units in ("objects", ""))
    counts = {len(found), len(statements(found)), *counted}
    more = [*added_things(text, known), *added_counts(text, known, counts)]
    more += [one for one in added_sizes(text, known) if not _is_sized(one, text, found)]
    more = [one for one in more if not _is_denied(one, text)]
    if not any(one.date for one in _values(found)) and not _STATE.search(known):
        dated = _DATE.search(text)
        said = (one for name, one in _SAID.items() if name != "unchanged" or not dated)
        changes = (match for pattern in said for match in pattern.finditer(text))
        more += [one for one in changes if _is_change(one, text, known)]
    if not any(map(sides_of, found)):
        patterns = (_BILATERAL, _RIGHT, _LEFT)
        more += [match for pattern in patterns for match in pattern.finditer(text)]
    more = [one for one in more if not (enlarged and _ENLARGED.match(one[0]))]
    places = {one.start(): one[0] for one in more}
    labels = {one.label for one in accepted if not is_measure(one.label)}
    names = {*labels, *(name_in(language, one) for one in labels)} - {""}
    for name in sorted(names, key=len, reverse=True):
        other = re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text, re.IGNORECASE)
        if other and name.lower() not in known.lower():
            places = {
                at: one for at, one in places.items() if not other.start() <= at < other.end()
            }
            places[other.start()] = other[0]
    return ", ".join(dict.fromkeys(places[at] for at in sorted(places)))


_BESIDES = re.compile(
    r"\b(?:with|mit|and (?:an?|the)|und (?:ein\w*|de[rn]|die|das))\b", re.IGNORECASE
)
_DOUBT = re.compile(
    r"\b(?:(?:no|without) doubt|not (?:only|just|unlikely)|nicht (?:nur|unwahrscheinlich)"
    r"|(?:kein\w*|ohne) zweifel)\b",
    re.IGNORECASE,
)
_NORMAL_BEFORE = re.compile(
    rf"(?<!not )(?<!no )(?<!nicht )\b{_NORMALLY}(?: \w+)?\s*$", re.IGNORECASE
)
_NORMAL_AFTER = re.compile(
    r"(?: (?:and|und) \w+)?(?: (?:is|are|remains?|otherwise|appears?|ist|sind|sonst))*"
    rf" {_NORMALLY}\b",
    re.IGNORECASE,
)
_LIMITED = re.compile(r" (?:than|als) (?:\d|normal|usual|expected|üblich|die norm)", re.IGNORECASE)
_AS_NEW = re.compile(
    r"\W*(?:$|[.,;:]|(?:since|seit|compared|in|on|im|am|as|aufgetreten|entstanden|onset|appear\w*)\b)"
)


def _is_denied(match: re.Match[str], text: str) -> bool:
    """Return whether a sentence says of a name that it is not there, or that a place is normal."""
    before = _CLAUSE.split(text[: match.start()])[-1]
    after = _CLAUSE.split(text[match.end() :])[0]
    before = _BESIDES.split(before)[-1]
    if _DOUBT.search(before + match[0] + after):
        return False
    normal = _NORMAL_BEFORE.search(before) or _NORMAL_AFTER.match(after)
    if normal and added_places(match[0], ""):
        return True
    return bool(_BEFORE.search(before) or _AFTER.search(after))


def _is_sized(match: re.Match[str], text: str, found: Sequence[Finding]) -> bool:
    """Return whether the sentence tells the size, too: "small nodule of 12 mm"."""
    own = [one for one in _values(found) if _has_unit(one)]
    told = (one for one in _told_numbers(text) if one.units)
    return not _ENLARGED.match(match[0]) and any(_is_same(a, b) for a in told for b in own)


def _is_change(match: re.Match[str], text: str, known: str) -> bool:
    """Return whether a word tells a change of a finding: not "a new film", "less than 3 cm"."""
    rest = _CLAUSE.split(text[match.end() :])[0]
    if not _SAID["new"].match(match[0]):
        return not _LIMITED.match(rest) or bool(_DATE_WORD.search(rest) or _DATE.search(rest))
    if _is_denied(match, text):
        return False
    return bool(_AS_NEW.match(rest)) or tells_of_finding(rest, known)


def _known_texts(found: Iterable[Finding]) -> str:
    """Return all that findings say in words, in each language of reports."""
    texts: list[str] = []
    for one in found:
        original = one.original.label if one.original else ""
        names = [one.label.replace("_", " "), original, label_of(one), one.ratio, *one.rests_on]
        names += [each.name for each in measurements_of(one)]
        texts += [*names, one.description, *_texts_of([one])]
        texts += [name_in(language, name) for language in LANGUAGES for name in names if name]
    return " ".join(texts)


def _speaks_of(sentence: Sentence, found: list[Finding], language: str) -> bool:
    """Return whether a sentence has a word of the names of its findings, or a figure of theirs."""
    stems = {stem for one in found for stem in _stems(one, language)}
    values = _values(found)
    told = _told_numbers(_DATE.sub(" ", sentence.text))
    return (
        not stems
        or _holds(sentence.text, stems)
        or any(_is_same(number, one) for number in told for one in values)
    )


def _holds_all(clause: str, finding: Finding, language: str) -> bool:
    """Return whether a clause has each word of a finding's name, but for its side."""
    words = re.findall(r"[^\W\d_]+", clause.lower())
    for name in (finding.label, name_in(language, finding.label)):
        own = [one for one in re.findall(r"[^\W\d_]{4,}", name.lower()) if not _sides(one)]
        if own and all(any(one[:6] in word for word in words) for one in own):
            return True
    return False


def _stems(finding: Finding, language: str) -> set[str]:
    """Return the beginnings of the words by which a sentence may name a finding."""
    names = [finding.label, name_in(language, finding.label)]
    names += [finding.code.meaning] if finding.code else []
    words = re.findall(r"[^\W\d_]{4,}", " ".join(names).lower())
    return {word[:6] for word in words if not _sides(word)}


def _holds(clause: str, stems: Collection[str]) -> bool:
    words = re.findall(r"[^\W\d_]+", clause.lower())
    return any(stem in word for stem in stems for word in words)


def _without_longer(text: str, finding: Finding, found: Collection[Finding], language: str) -> str:
    """Return a sentence without names of its own findings in which that of another stands.

    "Heart width" does not name the heart.
    """
    own = finding.label.lower(), name_in(language, finding.label).lower()
    text = text.lower()
    for one in found:
        for name in (one.label.lower(), name_in(language, one.label).lower()):
            if name not in own and any(label in name for label in own):
                text = text.replace(name, " ")
    return text


def _names(sentence: str, finding: Finding, language: str) -> bool:
    """Return whether a sentence names a finding by its whole label, and does not negate it."""
    if _BEFORE.search(sentence) or _AFTER.search(sentence):
        return False
    for label in {finding.label.lower(), name_in(language, finding.label).lower()}:
        if re.search(rf"(?<!\w){re.escape(label)}(?!\w)", sentence.lower()):
            return True
    return False


def _means(sentence: str, finding: Finding, accepted: Iterable[Finding], language: str) -> bool:
    """Return whether a sentence says that there is what a finding is called: "left effusion".

    What an accepted finding on that side is called as well is that one.
    """
    if _BEFORE.search(sentence) or _AFTER.search(sentence):
        return False
    return _is_called(sentence, finding, language) and not any(
        _is_called(sentence, one, language) for one in accepted
    )


def _is_called(sentence: str, finding: Finding, language: str) -> bool:
    """Return whether a sentence has the noun of a finding's name, and no other side."""
    own, told = sides_of(finding), _sides(sentence)
    if own and told and not own & told:
        return False
    return _has_noun(sentence, finding, language)


def _is_of_kind(clause: str, finding: Finding) -> bool:
    """Return whether a clause has a finding's noun in any language, and no other place.

    A pericardial effusion is no pleural one.
    """
    named = any(_has_noun(clause, finding, one) for one in LANGUAGES)
    return named and not added_places(clause, _known_texts([finding]))


def _has_noun(sentence: str, finding: Finding, language: str) -> bool:
    said = [one for one in re.findall(r"[^\W\d_]{5,}", sentence.lower()) if not _sides(one)]
    for name in (finding.label, name_in(language, finding.label)):
        words = [one for one in re.findall(r"[^\W\d_]{5,}", name.lower()) if not _sides(one)]
        noun = words[-1] if words else ""
        if noun and any(
            one.startswith(noun) or one.endswith(noun) or noun.endswith(one) for one in said
        ):
            return True
    return False


_STEM, _SHARE = 5, 0.7
"""Least letters, and least share of them, in which forms of a word agree."""
_ADDS, _LEAVES_OUT = 'it adds "{0}"', 'it leaves out "{0}"'
_DIFFERS = 'it differs in "{0}"'
CONTRADICTS = "it contradicts a finding"
_SIGNS = re.compile(r"[<>≤≥±~?+]")
_ABOUT = re.compile(r"\b(about|approximately|etwa|circa|ca)\b|≈", re.IGNORECASE)


def rewording_fault(before: str, after: str, language: str) -> str:
    """Return why a sentence is not the same statement in other words; "" if it is.

    Its numbers and units, sides, negations and signs must be the same, all its words must be kept,
    and what is added must be words that tell nothing (`[rewording]` in
    resources/tables/report.toml). What has several numbers or sides, or negates, must keep the
    order of all that it tells: else a figure could pass to another finding.
    """
    if not after.strip():
        return "the sentence is empty"
    old, new = _Content.of(before, language), _Content.of(after, language)
    if sorted(old.places) != sorted(new.places):
        return "the series or image differs"
    if sorted(old.numbers) != sorted(new.numbers):
        return "a number or unit differs"
    if _sides(before) != _sides(after):
        return "the side differs"
    if sorted(map(str.lower, _negations(before))) != sorted(map(str.lower, _negations(after))):
        return "it is negated otherwise"
    if len(_ABOUT.findall(before)) != len(_ABOUT.findall(after)):
        return "it is not as exact as before"
    if word := _lacking(new.words, old.words):
        return _ADDS.format(word)
    if word := _lacking(old.words, new.words):
        return _LEAVES_OUT.format(word)
    signs = [Counter(_SIGNS.findall(text)) for text in (before, after)]
    for sign in signs[0] - signs[1] or signs[1] - signs[0]:
        return _DIFFERS.format(sign)
    for code in old.codes - new.codes or new.codes - old.codes:
        return _DIFFERS.format(code)
    several = len(old.numbers) > 1 or len(_sides(before)) > 1 or _negations(before)
    if several and not _same_order(old.order, new.order):
        return "it tells things in another order, so a figure may have passed to another"
    return ""


@dataclass(frozen=True, slots=True)
class _Content:
    """The facts that are read off a sentence.

    Attributes:
        places: (series or image, number) in it.
        numbers: (value, unit).
        codes: Words with a digit, such as "t12".
        words: Words without those that tell nothing, and without sides.
        order: Numbers, words, sides and negations, in order.
    """

    places: tuple[tuple[str, str], ...]
    numbers: tuple[tuple[float, str], ...]
    codes: Counter[str]
    words: frozenset[str]
    order: tuple[str, ...]

    @classmethod
    def of(cls, text: str, language: str) -> _Content:
        """Read a sentence."""
        free = set(shipped_table("report", "rewording")[language].split())
        places = tuple((one[1].lower()[:4], one[2]) for one in _PLACE.finditer(text))
        rest = _PLACE.sub(" ", text)
        numbers = tuple((one.value, one.units) for one in _told_numbers(rest))
        codes = re.findall(r"\w*\d\w*", _NUMBER.sub(" ", rest).lower())
        order = [
            "".join(match[0].lower().split())
            for match in re.finditer(rf"{_NUMBER.pattern}|[^\W\d_]+", rest)
            if match[0].lower() not in free
        ]
        words = frozenset(one for one in order if one.isalpha() and not _sides(one))
        return cls(places, numbers, Counter(codes), words, tuple(order))


def _lacking(words: Iterable[str], known: Collection[str]) -> str:
    """Return the first word of which no form is known; "" if there is none."""
    return next((w for w in sorted(words) if not any(_same_word(w, k) for k in known)), "")


def _same_word(one: str, other: str) -> bool:
    """Return whether two words are forms of one, e.g. "nodule" and "nodules"."""
    shared = sum(
        1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False))
    )
    return one == other or (shared >= _STEM and shared >= _SHARE * max(len(one), len(other)))


def _same_order(one: Sequence[str], other: Sequence[str]) -> bool:
    return len(one) == len(other) and all(map(_same_word, one, other))


def _negations(text: str) -> list[str]:
    return [match[0] for pattern in (_BEFORE, _AFTER) for match in pattern.finditer(text)]
