"""Finds the entries of a patient's record that fill the inputs of the scores.

The codes are those of `resources/tables/score_codes.toml`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from app.paths import shipped_table


@dataclass(frozen=True, slots=True)
class Measured:
    """Fills a number from the most recent measurement.

    Attributes:
        loinc: Codes of the observation, or of the component that holds the number.
        other_way: Name of the quantity measured, if it is one of the input's other ways (BUN).
        lasting: Whether it is not bound to the score's days, such as an adult's height.
    """

    loinc: tuple[str, ...]
    other_way: str = ""
    lasting: bool = False


@dataclass(frozen=True, slots=True)
class Condition:
    """Fills "yes" from a condition or procedure.

    Attributes:
        snomed: Codes with their names.
        ever: Whether a resolved condition counts as well ("in the past").
        procedures: SNOMED CT codes of procedures that say the same.
        at_least_days: Only entries that began at least so long ago: what is suspected now is no
            history of it.
        within_days: Only procedures within so many days; 0 for any time.
        count: Number of procedures needed.
        note: What the entry does not say, to be told with the result.
    """

    snomed: Mapping[str, str]
    ever: bool = False
    procedures: tuple[str, ...] = ()
    at_least_days: int = 0
    within_days: int = 0
    count: int = 1
    note: str = ""


@dataclass(frozen=True, slots=True)
class Medication:
    """Fills "yes" from an active medication with one of these ingredients.

    Attributes:
        ingredients: RxNorm codes of ingredients with their names; the name is also looked for in
            the names of products, since records code products.
        note: What the entry does not say.
    """

    ingredients: Mapping[str, str]
    note: str = ""


@dataclass(frozen=True, slots=True)
class Smoking:
    """Fills "smokes now" from the smoking status (LOINC 72166-2).

    Attributes:
        former: What a former smoker is: "no", or "open" if the score counts recent smokers.
    """

    former: Literal["no", "open"]


Fill = Measured | Condition | Medication | Smoking


def _codes(names: Sequence[str]) -> dict[str, str]:
    """Return the codes, with their names, of some lists of the table."""
    lists = shipped_table("score_codes", "codes")
    return {code: text for name in names for code, text in lists[name].items()}


def _fill(table: Mapping[str, Any]) -> Fill:
    fields: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value for key, value in table.items()
    }
    if "former" in fields:
        return Smoking(**fields)
    if "loinc" in fields:
        return Measured(**fields)
    if names := fields.pop("ingredients", ()):
        return Medication(_codes(names), **fields)
    return Condition(_codes(fields.pop("conditions", ())), **fields)


def _fills(table: Mapping[str, Any]) -> dict[str, tuple[Fill, ...]]:
    return {name: tuple(map(_fill, fills)) for name, fills in table.items()}


FILLS = _fills(shipped_table("score_codes", "fills"))
"""Ways to fill an input from a record, by the input's name; age and sex come from the patient."""

_FOR_SCORE = {
    score: _fills(table) for score, table in shipped_table("score_codes", "for_score").items()
}
"""Ways that hold for one score only, by score and input."""

MADE_FOR: Mapping[str, tuple[str, Mapping[str, str]]] = {
    score: (table["name"], _codes(table["codes"]))
    for score, table in shipped_table("score_codes", "made_for").items()
}
"""The condition that a score is made for, with its SNOMED CT codes."""

REMARKS: Mapping[str, Sequence[str]] = shipped_table("score_codes", "remarks")
"""What is to be told with a score from a record."""

SMOKING_STATUS = "72166-2"
"""LOINC code of the tobacco smoking status."""


def fills_of(score: str, name: str) -> tuple[Fill, ...]:
    """Return the ways to fill an input of a score from a record; () if there is none."""
    return _FOR_SCORE.get(score, {}).get(name) or FILLS.get(name, ())
