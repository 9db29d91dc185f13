"""What a score asks for: inputs with their units, plausible ranges and choices, and reading them.

A number is kept in the unit of its `Input`, together with the number and unit that were given,
since some papers print their limits in two units that are not exact multiples of each other.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

from app.paths import resources_dir, shipped_table

Kind = Literal["yes/no", "number", "choice"]


class WrongInput(Exception):
    """A value that a score cannot take; the text says what is wrong and how to give it."""


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit in which a number may be given; (given - zero) * factor is in the input's unit."""

    name: str
    factor: float = 1.0
    zero: float = 0.0

    def to_input(self, given: float) -> float:
        """Return a number given in this unit in the input's own unit."""
        return (given - self.zero) * self.factor


@dataclass(frozen=True, slots=True)
class OtherWay:
    """Another quantity by which an input may be given: urea nitrogen for urea."""

    name: str
    label: str
    units: tuple[Unit, ...]


@dataclass(frozen=True, slots=True)
class Input:
    """One input of a score.

    Attributes:
        name: Its name in calls: "creatinine".
        label: What it is, in plain words, with the paper's definition where that matters.
        kind: "yes/no", "number" or "choice".
        unit: Unit of `low`, `high` and of the paper's limits; "" if it has none.
        units: Further units in which it may be given.
        low: Lowest plausible number; less is refused, since the unit is probably wrong.
        high: Highest plausible number.
        choices: (value, label) of each choice, for kind "choice".
        other_ways: Other quantities that give the same input.
        other_names: Further names in calls.
        instead: Name of an input of the same score that serves as well.
        after: Name of the input that must be known before this one is worth asking for.
    """

    name: str
    label: str
    kind: Kind = "yes/no"
    unit: str = ""
    units: tuple[Unit, ...] = ()
    low: float = 0.0
    high: float = 0.0
    choices: tuple[tuple[str, str], ...] = ()
    other_ways: tuple[OtherWay, ...] = ()
    other_names: tuple[str, ...] = ()
    instead: str = ""
    after: str = ""

    @property
    def all_units(self) -> tuple[Unit, ...]:
        """The input's own unit, then the further ones."""
        return (Unit(self.unit), *self.units)

    def describe(self) -> dict[str, Any]:
        """Return the input as JSON, for an assistant that has to ask for it."""
        told: dict[str, Any] = {"name": self.name, "label": self.label, "type": self.kind}
        if self.kind == "number":
            told["unit"] = self.unit
            told["plausible_range"] = [self.low, self.high]
            if self.units:
                told["other_units"] = [unit.name for unit in self.units]
        if self.choices:
            told["choices"] = dict(self.choices)
        if self.other_ways:
            told["or_give"] = {
                way.name: f"{way.label}, {' or '.join(unit.name for unit in way.units)}"
                for way in self.other_ways
            }
        if self.instead:
            told["or_give"] = {self.instead: "instead"}
        return told


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number in its input's unit, and as it was given."""

    number: float
    given: float
    unit: str

    def __str__(self) -> str:
        return f"{plain_number(self.given)} {self.unit}".strip()


Value = bool | Quantity | str

_UNKNOWN = frozenset(
    (
        "",
        "unknown",
        "missing",
        "not known",
        "n/a",
        "na",
        "none",
        "null",
        "not recorded",
        "?",
        "nt",
        "not testable",
    )
)
_YES = frozenset(("yes", "true", "present", "positive", "y", "1", "ja"))
_NO = frozenset(("no", "false", "absent", "negative", "n", "0", "nein"))
_SEXES = {"m": "male", "man": "male", "f": "female", "w": "female", "woman": "female"}
_NUMBER = re.compile(r"^([+-]?\d+(?:\.\d+)?(?:e[+-]?\d+)?)\s*(.*)$", re.IGNORECASE)

_THOUSANDS = re.compile(r"\d[,'’ ]\d{3}(?!\d)|\.\d{3}[.,]")

_SPELLINGS: dict[str, str] = shipped_table("units", "spellings")
_UNITS = {spelling: name for name, text in _SPELLINGS.items() for spelling in text.split()}
UNIT_NAMES = frozenset(_SPELLINGS) - {""}


def unit_name(text: str) -> str:
    """Return a unit's name as this module spells it (from UCUM or usual writing), else the text."""
    key = re.sub(r"\s+", "", text.strip().casefold()).replace("μ", "u").replace("µ", "u")
    return "" if not key else _UNITS.get(key, text.strip())


def plain_number(number: float) -> str:
    """Return a number as short text: "3", "0.21", "88.4"."""
    return str(int(number)) if float(number).is_integer() else f"{number:.6g}"


def read_value(item: Input, raw: Any, name: str = "") -> Value | None:
    """Return an input's value from what a call gives, or None if it says that it is unknown.

    Args:
        item: The input.
        raw: True or "yes"; a number, "1.2 mg/dL" or {"value": 1.2, "unit": "mg/dL"}; a choice.
        name: The name by which it was given, if it is that of one of `other_ways`.

    Raises:
        WrongInput: It is no such value, its unit is none of the accepted ones or is needed and
            missing, or the number is not plausible in that unit.
    """
    unit = ""
    if isinstance(raw, Mapping):
        fields = {str(key): value for key, value in raw.items()}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
        if not fields.keys() <= {"value", "unit"}:
            raise WrongInput(f'{item.name}: give {{"value": ..., "unit": ...}}')
        raw, unit = fields.get("value"), str(fields.get("unit") or "")
    if item.kind == "choice" and (chosen := _choice(item, raw)):  # one may be called "none"
        return chosen
    if raw is None or (isinstance(raw, str) and raw.strip().casefold() in _UNKNOWN):
        return None
    if item.kind == "choice":
        offered = "; ".join(f"{value} ({label})" for value, label in item.choices)
        raise WrongInput(f"{item.name} ({item.label}): one of {offered}; not {raw!r}")
    if item.kind == "yes/no":
        return _flag(item, raw)
    return _quantity(item, raw, unit, name)


def _flag(item: Input, raw: Any) -> bool:
    if isinstance(raw, bool):
        return raw
    text = plain_number(raw) if isinstance(raw, (int, float)) else str(raw).strip().casefold()
    if text in _YES or text in _NO:
        return text in _YES
    raise WrongInput(f"{item.name} ({item.label}): yes or no, not {raw!r}")


def _choice(item: Input, raw: Any) -> str:
    """Return the choice that a call gives, "" if it is none of them."""
    number = isinstance(raw, (int, float)) and not isinstance(raw, bool)
    text = (plain_number(raw) if number else str(raw)).strip().casefold()
    if item.name == "sex":
        text = _SEXES.get(text, text)
    for value, label in item.choices:
        if text in (value.casefold(), value.casefold().replace("_", " "), label.casefold()):
            return value
    return ""


def _quantity(item: Input, raw: Any, unit: str, name: str) -> Quantity:
    way = next((way for way in item.other_ways if way.name == name), None)
    units = way.units if way else item.all_units
    shown = name or item.name
    if isinstance(raw, str) and _THOUSANDS.search(raw):
        raise WrongInput(f"{shown}: write {raw!r} without a separator of thousands")
    if isinstance(raw, str) and (match := _NUMBER.match(raw.strip().replace(",", "."))):
        raw, unit = float(match[1]), unit or match[2]
    if isinstance(raw, bool) or not isinstance(raw, (int, float)) or not math.isfinite(raw):
        raise WrongInput(f"{shown} ({item.label}): a number in {units[0].name}, not {raw!r}")
    accepted = " or ".join(one.name or "no unit" for one in units)
    if unit.strip():
        wanted = unit_name(unit)
        chosen = next((one for one in units if one.name == wanted), None)
        if chosen is None:
            raise WrongInput(f"{shown}: the unit {unit!r} is not accepted; give it in {accepted}")
    else:
        chosen = units[0]
        if len(fitting := _plausible(item, raw, units)) > 1:
            names = " or ".join(one.name for one in fitting)
            raise WrongInput(
                f"{shown} {plain_number(raw)} could be {names}: give it with its unit, "
                f'{{"value": {plain_number(raw)}, "unit": "{fitting[0].name}"}}'
            )
    number = chosen.to_input(float(raw))
    if not item.low <= number <= item.high:
        others = [one.name for one in _plausible(item, raw, units) if one.name != chosen.name]
        hint = f" (it would fit {' or '.join(others)})" if others else ""
        raise WrongInput(
            f"{shown} {plain_number(raw)} {chosen.name} is outside the plausible range "
            f"{plain_number(item.low)} to {plain_number(item.high)} {item.unit}: "
            f"probably a wrong unit or a typing error{hint}; accepted: {accepted}"
        )
    return Quantity(number, float(raw), chosen.name)


def _plausible(item: Input, raw: float, units: tuple[Unit, ...]) -> list[Unit]:
    """Return the units in which a number is plausible; equal units count once."""
    found: dict[tuple[float, float], Unit] = {}
    for unit in units:
        if item.low <= unit.to_input(raw) <= item.high:
            found.setdefault((unit.factor, unit.zero), unit)
    return list(found.values())


def input_of(name: str, table: Mapping[str, Any]) -> Input:
    """Return the input that a table in `resources/tables/scores` describes."""
    low, high = table.get("range", (0.0, 0.0))
    return Input(
        name,
        table["label"],
        "choice" if "choices" in table else "number" if "range" in table else "yes/no",
        table.get("unit", ""),
        _units(table),
        low,
        high,
        tuple(table.get("choices", {}).items()),
        tuple(
            OtherWay(way["name"], way["label"], _units(way)) for way in table.get("other_ways", ())
        ),
        tuple(table.get("other_names", ())),
        table.get("instead", ""),
        table.get("after", ""),
    )


def _units(table: Mapping[str, Any]) -> tuple[Unit, ...]:
    return tuple(Unit(**unit) for unit in table.get("units", ()))


@cache
def shared_inputs() -> Mapping[str, Input]:
    """Return the inputs that several scores ask for, by name."""
    text = (resources_dir() / "tables" / "scores" / "inputs.toml").read_text("utf-8")
    return {name: input_of(name, table) for name, table in tomllib.loads(text).items()}
