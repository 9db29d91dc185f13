"""Which values of a record are critical, or outside the reference range that the record gives.

Critical limits are those of `resources/tables/critical_values.toml`, for adults, and only in the
units that it lists. Everything else is "not judged": it is never called normal.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

from app.paths import shipped_table
from app.records.types import LOINC, Code, Component, Entry, Patient, Value
from app.tools.record.patient_results import age_at_entry

ADULT = 18
_HIGH = frozenset(("H", "HH", "HU", "high", "critical high", "High", "Critical high"))
_LOW = frozenset(("L", "LL", "LU", "low", "critical low", "Low", "Critical low"))


@dataclass(frozen=True, slots=True)
class Flag:
    """What is notable of a value.

    Attributes:
        level: "critical low", "critical high", "low" or "high".
        limit: The limit that is reached, as a text with its unit; "" if the record itself says so.
        source: Where the limit comes from.
    """

    level: str
    limit: str
    source: str


@cache
def _limits() -> dict[str, tuple[dict[str, Any], ...]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for name in ("laboratory", "vital_signs"):
        table = shipped_table("critical_values", name)
        for row in table["limits"]:
            for code in row["loinc"]:
                found.setdefault(code, []).append({**row, "source": table["source"]})
    return {code: tuple(rows) for code, rows in found.items()}


def flag_of(patient: Patient, entry: Entry, part: Component | None = None) -> Flag | None:
    """Return what is notable of an entry's value, or of one of its components; None for nothing."""
    value = entry.value if part is None else part.value
    if value is None or value.number is None:
        return None
    age = age_at_entry(patient, entry)
    if age is None or age >= ADULT:
        critical = _critical(value, entry.codes if part is None else part.codes)
        if critical is not None:
            return critical
    return _outside(value) or (_interpreted(entry) if part is None else None)


def is_judged(entry: Entry) -> bool:
    """Return whether the table has critical limits for a value of an entry, in its unit."""
    parts = [(entry.codes, entry.value), *((one.codes, one.value) for one in entry.components)]
    return any(
        value is not None and any(_fits(row, value) for row in _rows(codes))
        for codes, value in parts
    )


def _rows(codes: tuple[Code, ...]) -> list[dict[str, Any]]:
    return [row for code in codes if code.system == LOINC for row in _limits().get(code.code, ())]


def _fits(row: dict[str, Any], value: Value) -> bool:
    return value.unit.casefold() in {unit.casefold() for unit in row["units"]}


def _critical(value: Value, codes: tuple[Code, ...]) -> Flag | None:
    number = value.number
    for row in _rows(codes):
        if number is None or not _fits(row, value):
            continue
        low, high = row.get("low"), row.get("high")
        # "<7" may be anything below 7, so that it is not known to be above a limit.
        if low is not None and number <= low and not value.comparator.startswith(">"):
            return Flag("critical low", f"{low:g} {value.unit}".strip(), row["source"])
        if high is not None and number >= high and not value.comparator.startswith("<"):
            return Flag("critical high", f"{high:g} {value.unit}".strip(), row["source"])
    return None


def _outside(value: Value) -> Flag | None:
    number = value.number
    if number is None:
        return None
    source = "reference range in the record"
    if value.low is not None and number < value.low and not value.comparator.startswith(">"):
        return Flag("low", f"{value.low:g} {value.unit}".strip(), source)
    if value.high is not None and number > value.high and not value.comparator.startswith("<"):
        return Flag("high", f"{value.high:g} {value.unit}".strip(), source)
    return None


def _interpreted(entry: Entry) -> Flag | None:
    said = {word.strip() for word in entry.details.get("interpretation", "").split(",")}
    for level, words in (("high", _HIGH), ("low", _LOW)):
        if said & words:
            return Flag(level, "", "interpretation in the record")
    return None


def codes_named(text: str) -> tuple[Code, ...]:
    """Return the LOINC codes that a word for a test or vital sign means; () if it is not known.

    A LOINC code itself ("2160-0") means itself.
    """
    word = " ".join(text.casefold().split())
    head, dash, check = word.partition("-")
    if dash and head.isdecimal() and len(check) == 1 and check.isdecimal():
        return (Code("", word),)
    names: dict[str, list[str]] = shipped_table("critical_values", "names")
    found = names.get(word) or names.get(word.removesuffix("s")) or ()
    return tuple(Code(LOINC, code) for code in found)
