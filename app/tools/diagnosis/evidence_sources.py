"""Evidence for a differential: from words, from a patient's record, from findings on images.

Only what a person accepted on an image is evidence. Nothing that is not said is taken as absent.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from app.imaging.findings import Finding as ImageFinding
from app.imaging.findings import State
from app.records.types import LOINC, Code, Entry, EntryKind, Records
from app.tools.diagnosis.differential import Evidence, OwnRatio
from app.tools.diagnosis.table import Finding, Presentation, Ratio
from app.tools.models.cards import ModelCard
from app.tools.said_findings import clauses, states

_ALSO_CALLED = {
    "temperature": ("temp", "fever", "t", "temperatur", "fieber"),
    "pulse": ("pulse rate", "heart rate", "hr", "puls", "herzfrequenz", "hf"),
    "breathing rate": ("respiratory rate", "resp rate", "rr", "resps", "atemfrequenz"),
    "blood pressure": ("bp", "systolic", "blutdruck", "rr"),
    "c-reactive protein": ("crp",),
    "crp": ("c-reactive protein",),
    "d-dimer": ("d-dimers", "d dimer", "d-dimere"),
    "procalcitonin": ("pct",),
    "erythrocyte sedimentation rate": ("esr", "bsg"),
    "white cell count": ("wbc", "leukocytes", "leukozyten"),
    "platelet count": ("platelets", "thrombozyten"),
}
_VITAL_SIGNS = {"Cel": (25, 45), "/min": (3, 300), "mm[Hg]": (20, 300)}  # plausible; units unsaid
_NUMBER = re.compile(r"(\d+(?:[.,]\d+)*)\s*([a-zµμ%][\w/%µμ^]*(?:/[\w.]+)?)?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class TextEvidence:
    """The findings of a presentation that a text names.

    Attributes:
        evidence: Findings that are said to be present or absent, in the order of the table.
        unused: Sentences on what was read and could not be used.
    """

    evidence: tuple[Evidence, ...]
    unused: tuple[str, ...] = ()


def text_evidence(presentation: Presentation, text: str, origin: str = "said") -> TextEvidence:
    """Return the findings that a text names, by the words of the table.

    A finding that the text says to be both present and absent is left out and told.
    """
    parts = clauses(text)
    found: list[Evidence] = []
    unused: list[str] = []
    for key, finding in presentation.findings.items():
        said = {
            state for part in parts for state in states(part, finding.words, finding.absent_words)
        }
        value, problem = _typed_value(finding, text)
        if value is not None:
            said.add(value)
        if problem:
            unused.append(problem)
        if finding.either and True in said:
            said = {True}
        if len(said) > 1:
            unused.append(f"{finding.name}: said to be present and absent")
        elif said:
            found.append(Evidence(key, said.pop(), origin))
    return TextEvidence(tuple(found), tuple(unused))


_CONCENTRATION = re.compile(r"(n|u|m|p|)g/(m|d|)l")
_PREFIXES = {"p": -12, "n": -9, "u": -6, "m": -3, "d": -1, "": 0}


def _unit(text: str) -> str:
    plain = text.casefold().replace("µ", "u").replace("μ", "u").replace("mcg", "ug")
    return plain.strip(".")


def _factor(unit: str, wanted: str) -> float | None:
    """Return by what a value is multiplied to be in another unit; None if it cannot be told.

    Only masses per volume are converted: 1 ug/L is 1 ng/mL.
    """
    if _unit(unit) == _unit(wanted):
        return 1.0
    powers: list[int] = []
    for text in (unit, wanted):
        found = _CONCENTRATION.fullmatch(_unit(text))
        if found is None:
            return None
        powers.append(_PREFIXES[found[1]] - _PREFIXES[found[2]])
    return 10.0 ** (powers[0] - powers[1])


def _typed_value(finding: Finding, text: str) -> tuple[bool | None, str]:
    """Return what a value in a text says of a finding, and why one could not be used."""
    limit = finding.above if finding.above is not None else finding.below
    if limit is None or not finding.request:
        return None, ""
    request = finding.request.casefold()
    names = "|".join(map(re.escape, (request, *_ALSO_CALLED.get(request, ()))))
    link = r"\W{0,4}(?:(?:of|is|was|at|von|ist|bei)\s)?\s*"
    number, found = None, None
    for found in re.finditer(rf"(?<!\w)(?:{names}){link}", text, re.IGNORECASE):
        number = _NUMBER.match(text, found.end())
        is_pair = number and re.match(r"\s?/\s?\d", text[number.end(1) :])
        if number and bool(is_pair) <= (finding.unit == "mm[Hg]"):  # RR 120/80 is no breathing rate
            break
        number = None
    if number is None:
        return None, ""
    unit = (number[2] or "").rstrip(".")
    sign = re.search(r"[<>≤≥]", found[0]) if found else None
    values = _readings(number[1])
    if not values:
        return None, ""
    if finding.unit in _VITAL_SIGNS:
        value = values[-1]
        if finding.unit == "Cel" and value > 90:
            value = (value - 32) / 1.8  # Fahrenheit
        low, high = _VITAL_SIGNS[finding.unit]
        state = _decides(finding, value) if low <= value <= high else None
        return (None if sign and not _holds(finding, sign[0], state) else state), ""
    factor = _factor(unit, finding.unit)
    if factor is None:
        why = f"the unit {unit}" if unit else "no unit"
        return None, f"{number[0].strip()} ({finding.request}): {why}, not {finding.unit}"
    states = {_decides(finding, value * factor) for value in values}
    if len(states) > 1:
        either = " or ".join(f"{value:g}" for value in values)
        return None, f"{number[0].strip()} ({finding.request}): it may mean {either}"
    state = states.pop()
    if sign and not _holds(finding, sign[0], state):
        shown = f"{sign[0]} {number[0].strip()} ({finding.request})"
        return None, f"{shown}: it leaves open whether it is {finding.name}"
    return state, ""


def _readings(text: str) -> tuple[float, ...]:
    """Return what a number may mean: "1,200" is 1200 in English and 1.2 in German."""
    if text.count(",") + text.count(".") > 1:
        whole = re.fullmatch(r"(\d{1,3}(?:([.,])\d{3})(?:\2\d{3})*)(?:[.,](\d+))?", text)
        if whole is None:
            return ()  # a date
        return (float(f"{re.sub('[.,]', '', whole[1])}.{whole[3] or 0}"),)
    plain = float(text.replace(",", "."))
    if re.fullmatch(r"[1-9]\d{0,2}[.,]\d{3}", text):
        return float(re.sub("[.,]", "", text)), plain
    return (plain,)


def _holds(finding: Finding, sign: str, state: bool | None) -> bool:
    """Return whether a state holds for all values below or above the one that is given."""
    return state == ((finding.above is None) == (sign in "<≤"))


def _decides(finding: Finding, value: float) -> bool:
    if finding.above is not None:
        return value >= finding.above
    return finding.below is not None and value < finding.below


def record_evidence(
    presentation: Presentation, records: Records, patient_id: str
) -> tuple[Evidence, ...]:
    """Return what the latest measurements of a patient's record decide.

    A measurement in another unit than the table's, or with a comparator that leaves it open
    ("<5" for a limit of 3), decides nothing.
    """
    found: list[Evidence] = []
    for key, finding in presentation.findings.items():
        if not finding.loinc or not patient_id:
            continue
        codes = [Code(LOINC, code) for code in finding.loinc]
        kinds = (EntryKind.LAB, EntryKind.VITAL)
        for entry in records.entries(patient_id, kinds, codes=codes, limit=1):
            state = _entry_state(finding, entry)
            if state is not None:
                value = entry.value
                shown = f"{value.comparator}{value.text} {value.unit}" if value else ""
                origin = f"{entry.name} {shown} on {entry.start[:10]}"
                found.append(Evidence(key, state, origin, entry.id))
    return tuple(found)


def _entry_state(finding: Finding, entry: Entry) -> bool | None:
    value = entry.value
    factor = _factor(value.unit, finding.unit) if value is not None else None
    if value is None or value.number is None or factor is None:
        return None
    state = _decides(finding, value.number * factor)
    if value.comparator.startswith("<"):  # the true value lies below
        return state if state == (finding.below is not None) else None
    if value.comparator.startswith(">"):
        return state if state == (finding.above is not None) else None
    return state


def image_evidence(
    presentation: Presentation,
    findings: Iterable[ImageFinding],
    cards: Mapping[str, ModelCard],
) -> tuple[Evidence, ...]:
    """Return the findings on images that a person accepted or edited, as evidence.

    A finding whose model's card gives sensitivity and specificity for its label counts with these
    for the disease of that name; else it is the table's finding with that label. A label that is
    neither is evidence without a number.
    """
    by_label = {label: key for key, item in presentation.findings.items() for label in item.labels}
    diseases = {
        name.casefold(): key
        for key, item in presentation.hypotheses.items()
        for name in (item.name, *item.other_names)
    }
    found: dict[str, Evidence] = {}
    for one in findings:
        if one.state not in (State.ACCEPTED, State.EDITED):
            continue
        label = one.label.casefold()
        card = cards.get(one.provenance.model)
        point = card.operating_points.get(label) if card else None
        own: dict[str, OwnRatio] = {}
        if point is not None and label in diseases:
            figures = {"sensitivity": [point.sensitivity], "specificity": [point.specificity]}
            row = {"finding": label, "hypothesis": label, "source": point.source, **figures}
            ratio = Ratio.model_validate(row).when_present
            if ratio:
                own[diseases[label]] = OwnRatio(ratio, point.source)
        by = one.provenance.tool or "a person"
        origin = f"{one.label}, found by {by}, {one.state.value} by {one.reviewer or 'a person'}"
        key = by_label.get(label, one.label)
        found.setdefault(key, Evidence(key, True, origin, one.id, own))
    return tuple(found.values())
