"""Checks a report against its findings: missing, struck, side, number, unit, negation.

The checks read numbers, sides and negations of single sentences. They are cautious: what they do
not mark may still be wrong, and a person decides.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from app.imaging.findings import Finding, Measurement
from app.imaging.reports.report_draft import ReportDraft, ReportSubject, Sentence, is_struck
from app.imaging.reports.sentences import measurements_of, name_in, ratio_of, statements
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
    UNFOUNDED = "unfounded"  # a number that no finding has


BLOCKING = frozenset({Fault.STRUCK, Fault.SIDE, Fault.NUMBER, Fault.UNIT, Fault.NEGATION})
"""What contradicts findings: such a report cannot be signed."""


@dataclass(frozen=True, slots=True)
class Check:
    """One thing to look at.

    Attributes:
        section: Key of the section; "" for a missing finding.
        place: Index of the sentence in its section; -1 for a missing finding.
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


_RIGHT = re.compile(r"\b(right|rechts\w*|rechte[rnms]?)\b", re.IGNORECASE)
_LEFT = re.compile(r"\b(left|links\w*|linke[rnms]?)\b", re.IGNORECASE)
_BOTH = re.compile(r"\b(bilateral\w*|both|beidseit\w*|beidseits|bds|beide[rnms]?)\b", re.IGNORECASE)
_SIDES = (("right", _RIGHT), ("left", _LEFT))

_BEFORE = re.compile(
    r"\b(no|not|without|negative for|free of|absence of|kein\w*|nicht|ohne|frei von)\b",
    re.IGNORECASE,
)
_AFTER = re.compile(
    r"\b(not (?:seen|present|visible|found|identified|demonstrated|detected|evident)|absent|"
    r"resolved|ruled out|excluded|nicht (?:mehr )?(?:nachweisbar|abgrenzbar|sichtbar|vorhanden|"
    r"erkennbar|zu sehen|gesehen)|ausgeschlossen)\b",
    re.IGNORECASE,
)
_CLAUSE = re.compile(r"[;:,]|\bbut\b|\baber\b|\bsondern\b", re.IGNORECASE)

_DATE = re.compile(r"\b\d{4}-\d\d-\d\d\b|\b\d{1,2}\.\d{1,2}\.(?:\d{4}|\d\d)\b")
_PLACE = re.compile(
    r"\b(series|serie|image|bild|slice|schicht|frame|number|nummer|no\.|nr\.)\s+(\d+)",
    re.IGNORECASE,
)
_NUMBER = re.compile(
    r"(?<![\w.,])[-+]?(\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:[.,]\d+)?)(?![\d])\s*"
    r"(mm²|cm²|mm2|cm2|mm³|cm³|mm3|cm3|mm|cm|µm|um|ml|mL|HU|HE|px²|px|°|degrees?|Grad|%|m/s|cm/s|ms|s)?"
    r"(?!\w)"
)
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
        made += [
            Check(fault, section.key, place, found[0].id if found else "", told, true)
            for fault, told, true in (
                *_side(sentence, found),
                *_numbers(sentence, found, accepted, subject),
                *_negation(sentence, found, draft.language),
            )
        ]
        made += [
            Check(Fault.NAMED, section.key, place, one.id, one.label)
            for one in gone
            if _names(sentence.text, one, draft.language)
        ]
    cited = set(draft.cited())
    for statement in statements(tuple(accepted.values())):
        missing = [key for key in statement.ids if key not in cited]
        if len(missing) == len(statement.ids) or (missing and statement.count > 1):
            made.append(Check(Fault.MISSING, finding=missing[0], told=statement.label))
    return tuple(made)


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
    told = _sides(sentence.text)
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
    places = {subject.places.get(one.image.sop_instance_uid) for one in found} - {None}
    for match in _PLACE.finditer(text):
        series = match[1].lower().startswith("seri")
        true = {pair[0 if series else 1] for pair in places if pair}
        if true and int(match[2]) not in true:
            yield Fault.NUMBER, match[0], "/".join(map(str, sorted(true)))
    for told in _told_numbers(_PLACE.sub(" ", text)):
        same = [one for one in every if _is_same(told, one)]
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
        elif found and own:
            yield Fault.NUMBER, shown, _nearest(told, own)
        else:
            yield Fault.UNFOUNDED, shown, ""


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
    for match in _NUMBER.finditer(text):
        digits = match[1]
        if re.fullmatch(r"\d{1,3}(,\d{3})+(\.\d+)?", digits):
            digits = digits.replace(",", "")
        digits = digits.replace(",", ".")
        decimals = len(digits.partition(".")[2])
        units = match[2] or ""
        yield _Told(match[1], float(digits), 10.0**-decimals, _UNITS.get(units, units))


def _is_same(told: _Told, one: Measurement) -> bool:
    """Return whether a number is a measurement, rounded to the digits that are told."""
    units = "" if one.units in ("ratio", "objects") else one.units
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
    units = "" if best.units in ("ratio", "objects") else best.units
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


def _stems(finding: Finding, language: str) -> set[str]:
    """Return the beginnings of the words by which a sentence may name a finding."""
    names = [finding.label, name_in(language, finding.label)]
    names += [finding.code.meaning] if finding.code else []
    words = re.findall(r"[^\W\d_]{4,}", " ".join(names).lower())
    sides = ("left", "right", "rechts", "links", "rechte", "linke", "rechter", "linker")
    return {word[:6] for word in words if word not in sides}


def _holds(clause: str, stems: Collection[str]) -> bool:
    words = re.findall(r"[^\W\d_]+", clause.lower())
    return any(stem in word for stem in stems for word in words)


def _names(sentence: str, finding: Finding, language: str) -> bool:
    """Return whether a sentence names a finding by its whole label, and does not negate it."""
    if _BEFORE.search(sentence) or _AFTER.search(sentence):
        return False
    for label in {finding.label.lower(), name_in(language, finding.label).lower()}:
        if re.search(rf"(?<!\w){re.escape(label)}(?!\w)", sentence.lower()):
            return True
    return False


_STEM = 5  # letters by which forms of a word are known as one


def rewording_fault(before: str, after: str, language: str) -> str:
    """Return why a sentence is not the same statement in other words; "" if it is.

    Its numbers and units, sides and negations must be the same, all its words must be kept, and
    what is added must be words that tell nothing (`[rewording]` in resources/tables/report.toml).
    """
    if not after.strip():
        return "the sentence is empty"
    own, new = ([(one.value, one.units) for one in _told_numbers(text)] for text in (before, after))
    if sorted(own) != sorted(new):
        return "a number or unit differs"
    if _sides(before) != _sides(after):
        return "the side differs"
    if sorted(map(str.lower, _negations(before))) != sorted(map(str.lower, _negations(after))):
        return "it is negated otherwise"
    free = set(shipped_table("report", "rewording")[language].split())
    old, made = _words(before) - free, _words(after) - free
    stems = {one[:_STEM] for one in old}
    added = sorted(one for one in made if one[:_STEM] not in stems)
    if added:
        return f'it adds "{added[0]}"'
    kept = {one[:_STEM] for one in made}
    lost = sorted(one for one in old if one[:_STEM] not in kept)
    return f'it leaves out "{lost[0]}"' if lost else ""


def _negations(text: str) -> list[str]:
    return [match[0] for pattern in (_BEFORE, _AFTER) for match in pattern.finditer(text)]


def _words(text: str) -> set[str]:
    return set(re.findall(r"[^\W\d_]+", text.lower()))
