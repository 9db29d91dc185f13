"""The items of a result, which answers cite one by one: "[3.2]" is the second item of result 3.

Items are the result's findings, in their order, then the numbers of its output by name, then the
entries of patients' records that it names. Of a result on each of several images, the numbers that
each image gave come last. They are counted once, when the result arrives, and
stored with it, so that an id means the same item in the whole conversation and its exports.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from app.imaging.findings import Finding

ENTRY_ID = (
    r"(?:AdverseEvent|AllergyIntolerance|Appointment|CarePlan|CareTeam|Claim|ClinicalImpression"
    r"|Communication|Composition|Condition|Consent|Coverage|DetectedIssue|Device"
    r"|DeviceUseStatement|DiagnosticReport|DocumentReference|Encounter|EpisodeOfCare"
    r"|ExplanationOfBenefit|FamilyMemberHistory|Flag|Goal|ImagingStudy|Immunization|List|Media"
    r"|MedicationAdministration|MedicationDispense|MedicationRequest|MedicationStatement"
    r"|NutritionOrder|Observation|Patient|Procedure|Provenance|QuestionnaireResponse"
    r"|RiskAssessment|ServiceRequest|Specimen)/[A-Za-z0-9\-.]{1,64}"
)
"""Pattern of the id of a record's entry: its FHIR resource type and id; not "Mass/volume"."""

MOST = 30  # items of each of the three kinds: more are reached by the result's own number
_MOST_ROWS = 12  # images whose numbers are items: of more, an answer tells the totals alone
_DEPTH = 3
_LOOKED_AT = 5_000  # values of one result
_ENTRY = re.compile(ENTRY_ID)
_KINDS = {
    "Mask": "mask",
    "Heatmap": "heat map",
    "Instances": "objects",
    "Polyline": "line",
    "Segments": "lines",
    "Polygon": "outline",
}
_UNITS = {
    "mm": "mm",
    "cm": "cm",
    "px": "px",
    "pixels": "px",
    "mm2": "mm²",
    "cm2": "cm²",
    "ml": "ml",
    "hu": "HU",
    "percent": "%",
}
"""Endings of keys that name the unit of their number."""
_GROUPS = ("metrics", "measurements", "values", "results")
"""Keys that hold numbers and name nothing."""
_HAIR = re.compile(r"[\W_]+")


@dataclass(frozen=True, slots=True)
class Item:
    """One item of a result.

    Attributes:
        text: What it is, for models and people: "Heart, mask", "ratio 0.503".
        finding: Id of the finding that it is, or that its number belongs to; "" for none.
        others: Ids of the other findings that its number belongs to: the second line of a ratio.
        row: Index of the image that gave it, of a result on each of several; None for all or one.
        entry: Id of the record's entry that it is; "" for none.
        name: Name of its number, in words; "" if it has none.
        value: Its number, None for none.
        unit: Unit of the number, "" if there is none.
    """

    text: str
    finding: str = ""
    entry: str = ""
    name: str = ""
    value: float | None = None
    unit: str = ""
    others: tuple[str, ...] = ()
    row: int | None = None

    @property
    def findings(self) -> tuple[str, ...]:
        """Ids of all findings that it is or belongs to."""
        return (self.finding, *self.others) if self.finding else ()


def items_of(findings: Sequence[Finding], output: Mapping[str, Any]) -> list[Item]:
    """Return the items of a result, in the order in which their ids count them, from 1."""
    rows = _rows(findings, output)
    found = [_finding_item(one) for one in findings[:MOST]]
    for number, (_, own) in enumerate(rows):
        ids = {one.id for one in own}
        found = [replace(one, row=number) if one.finding in ids else one for one in found]
    values = _values(findings[:MOST], output)
    entries = dict.fromkeys(_entries(output))
    share = 2 * MOST // len(rows) if 0 < len(rows) <= _MOST_ROWS else 0
    each = [
        replace(item, row=number)
        for number, (given, own) in enumerate(rows)
        for item in _values(own, given)[:share]
    ]
    named = (Item(one, entry=one) for one in [*entries][:MOST])
    return [*found, *values, *named, *each]


def _values(findings: Sequence[Finding], output: Mapping[str, Any]) -> list[Item]:
    """Return the numbers of an output, each with the finding that it belongs to."""
    values: list[Item] = []
    for path, value in itertools.islice(_numbers(output), MOST):
        name, unit = name_and_unit(path)
        text = f"{name} {value:.6g} {unit}".rstrip()
        own = _measured(name, findings)
        others = _beside(name, own, findings)
        values.append(Item(text, own, "", name, float(value), unit, others))
    return values


def _rows(
    findings: Sequence[Finding], output: Mapping[str, Any]
) -> list[tuple[Mapping[str, Any], Sequence[Finding]]]:
    """Return the output and the findings of each image; [] for a result that has no such rows."""
    results = output.get("results")
    if not output.get("tool") or not isinstance(results, list):
        return []
    rows = [cast("Mapping[str, Any]", row) for row in cast("list[Any]", results)]
    counts = [int(row.get("findings") or 0) for row in rows]
    if sum(counts) != len(findings):  # those of an image are not known
        return []
    ends = [*itertools.accumulate(counts)]
    return [
        (row.get("output") or {}, findings[end - count : end])
        for row, count, end in zip(rows, counts, ends, strict=True)
    ]


def name_and_unit(path: Sequence[str]) -> tuple[str, str]:
    """Return the name in words of a number in an output, and the unit that its key ends with."""
    named = path[1:] if len(path) > 1 and path[0].casefold() in _GROUPS else path
    words = [word for key in named for word in re.split(r"[\s_]+", key) if word]
    unit = _UNITS.get(words[-1].casefold(), "") if len(words) > 1 else ""
    return " ".join(words[:-1] if unit else words), unit


def _finding_item(finding: Finding) -> Item:
    kind = type(finding.geometry).__name__
    label = " ".join(finding.label.split())[:80] or "finding"
    text = f"{label}, {_KINDS.get(kind, kind.lower())}"
    if finding.value is not None:
        text += f", {finding.value:.6g} {finding.units}".rstrip()
    unit = finding.units.split()[0] if finding.units and finding.value is not None else ""
    return Item(text, finding.id, "", label, finding.value, unit)


def _measured(name: str, findings: Sequence[Finding]) -> str:
    """Return the finding that a number belongs to by its name; "" unless exactly one fits."""
    plain = _plain(name)
    fitting = [
        (len(label), one.id)
        for one in findings
        if (label := _plain(one.label))
        and (f" {plain} ".startswith(f" {label} ") or _is_ratio(name, one))
    ]
    longest = [key for length, key in fitting if length == max(fitting)[0]]
    return longest[0] if len(longest) == 1 else ""


def _beside(name: str, finding_id: str, findings: Sequence[Finding]) -> tuple[str, ...]:
    """Return the other findings of a ratio's group: its number belongs to both of its lines."""
    own = next((one for one in findings if one.id == finding_id), None)
    if own is None or not own.group or not _is_ratio(name, own):
        return ()
    return tuple(one.id for one in findings if one.group == own.group and one is not own)


def _is_ratio(name: str, finding: Finding) -> bool:
    """Return whether a number is the ratio of a finding's line, or about it: "ratio spread"."""
    ratio, said = _plain(finding.ratio).split(), _plain(name).split()
    return bool(ratio and said) and (ratio[-len(said) :] == said or ratio[-1] == said[0])


def _plain(text: str) -> str:
    return _HAIR.sub(" ", text).strip().casefold()


def _numbers(output: Mapping[str, Any]) -> Iterator[tuple[tuple[str, ...], float]]:
    """Yield the numbers in an output with the keys that lead to them, those at the top first."""
    left: list[tuple[tuple[str, ...], Mapping[str, Any]]] = [((), output)]
    for path, table in left:
        for key, value in table.items():
            where = (*path, str(key)[:60])
            if isinstance(value, int | float) and not isinstance(value, bool):
                yield where, value
            elif isinstance(value, Mapping) and len(where) < _DEPTH:
                left.append((where, cast("Mapping[str, Any]", value)))


def _entries(output: Any) -> Iterator[str]:
    left: list[Any] = [output]
    for _ in range(_LOOKED_AT):
        if not left:
            return
        match left.pop(0):
            case str() as text if _ENTRY.fullmatch(text):
                yield text
            case dict() as table:
                left.extend(cast("dict[str, Any]", table).values())
            case list() | tuple() as items:
                left.extend(cast("Sequence[Any]", items))
            case _:
                pass


def told(number: int, items: Iterable[Item]) -> dict[str, str]:
    """Return the items of result `number` by their ids, as a model is told them."""
    return {f"{number}.{place}": item.text for place, item in enumerate(items, start=1)}


def by_row(number: int, items: Sequence[Item]) -> list[list[str]]:
    """Return the ids of each image's items of result `number`; [] if it is not on several."""
    rows: dict[int, list[str]] = {}
    for place, item in enumerate(items, start=1):
        if item.row is not None:
            rows.setdefault(item.row, []).append(f"{number}.{place}")
    return [rows.get(row, []) for row in range(max(rows, default=-1) + 1)]


def cited_ids(sentence: str, message_items: Mapping[str, str], most: int = 4) -> str:
    """Return the ids of the items that a sentence tells, as in "3.1, 3.2"; "" for none or many.

    An item is told if its number stands in the sentence, as it is or rounded, with a word of its
    name: of several, the one of whose name most words stand there, and none of the other side.
    Where no number is told, an item without one is told if its label stands there.
    """
    low = sentence.casefold()
    said = _words(low)
    figures = {(float(digits), len(digits.partition(".")[2])) for digits in _figures(low)}
    ids: dict[tuple[float, int], str] = {}
    shared: dict[tuple[float, int], int] = {}
    labels: dict[str, str] = {}
    for key, text in message_items.items():
        name, value = _parted(text)
        if value is None:
            label = name.rpartition(", ")[0] or name
            if re.search(rf"(?<!\w){re.escape(label.casefold())}(?!\w)", low):
                labels.setdefault(label, key)
            continue
        words = _words(name.casefold())
        if (words ^ said) >= _SIDES:
            continue
        for figure, decimals in figures:
            near = _is_near(value, figure, decimals)
            if near and len(words & said) > shared.get((figure, decimals), 0):
                ids[figure, decimals], shared[figure, decimals] = key, len(words & said)
    found = sorted(set((ids or labels).values()), key=lambda one: int(one.partition(".")[2]))
    return ", ".join(found) if len(found) <= most else ""


def untold(sentence: str, texts: Iterable[str]) -> list[str]:
    """Return the numbers of a sentence that stand in none of the items' texts."""
    values = [value for text in texts if (value := _parted(text)[1]) is not None]
    return [
        digits
        for digits in _figures(sentence)
        if not any(_is_near(v, float(digits), len(digits.partition(".")[2])) for v in values)
    ]


def _is_near(value: float, figure: float, decimals: int) -> bool:
    """Return whether a number, with its decimals, is a value or its rounding; signs aside."""
    return abs(abs(value) - figure) <= 0.5 * 10.0**-decimals * 1.0001


_SIDES = {"left", "right"}
_TEXT = re.compile(r"(?P<name>.*?),? (?P<value>-?\d[\d.]*(?:e[+-]?\d+)?)(?: [^\s\d][^\d]*)?")


def _parted(text: str) -> tuple[str, float | None]:
    """Return the name and the number in an item's text."""
    found = _TEXT.fullmatch(text)
    return (found["name"], float(found["value"])) if found else (text, None)


def _figures(text: str) -> list[str]:
    plain = re.sub(r"(?<=\d),(?=\d{3}(?!\d))", "", text)
    return re.findall(r"(?<![\w.,])\d+(?:\.\d+)?(?![\w.]*\d)", plain)


def _words(text: str) -> set[str]:
    return set(re.findall(r"[^\W\d_]{3,}", text))
