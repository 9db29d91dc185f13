"""Computes scores from data: points of items, or a formula, and the range over what is missing.

A score's rules read the inputs one by one. When a rule asks for an input that is not given, the
engine tries every value that could make a difference (both answers, every choice, the ends of the
plausible range and both sides of every limit), so that a missing input never counts as normal: the
result is then the range of all possible totals, and a risk band only if all of them lie in it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from app.tools.record.scores.inputs import (
    Input,
    Quantity,
    Value,
    WrongInput,
    plain_number,
    shared_inputs,
)

_LIMIT_OF_CASES = 200_000


@dataclass(frozen=True, slots=True)
class Points:
    """The points of an item and the reason, as the paper gives it."""

    points: float
    why: str


Term = tuple[tuple[str, ...], float | None, str]
"""A step of a formula: the inputs that it reads, its points or None, and the reason."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a formula or a table of categories gives.

    Attributes:
        total: The total, or None for a category.
        terms: Its steps.
        band: The category, for a score that has no total.
        meaning: What the category means, as its source says.
    """

    total: float | None
    terms: tuple[Term, ...] = ()
    band: str = ""
    meaning: str = ""


class _Missing(Exception):
    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


class Values:
    """The values of a score's inputs, given or tried; reading a missing one stops the rule."""

    def __init__(self, values: Mapping[str, Value]) -> None:
        self._values = values

    def has(self, name: str) -> bool:
        """Return whether an input is given (or tried)."""
        return name in self._values

    def __getitem__(self, name: str) -> Value:
        if name not in self._values:
            raise _Missing(name)
        return self._values[name]

    def flag(self, name: str) -> bool:
        """Return the value of a yes/no input."""
        value = self[name]
        assert isinstance(value, bool)
        return value

    def quantity(self, name: str) -> Quantity:
        """Return the value of a number input."""
        value = self[name]
        assert isinstance(value, Quantity)
        return value

    def number(self, name: str) -> float:
        """Return a number input in the unit of its `Input`."""
        return self.quantity(name).number

    def choice(self, name: str) -> str:
        """Return the value of a choice input."""
        value = self[name]
        assert isinstance(value, str)
        return value

    def true_among(self, names: Sequence[str], *, enough: int = 1) -> list[str]:
        """Return those yes/no inputs that are true, given ones first; stops at `enough`."""
        found: list[str] = []
        for name in sorted(names, key=lambda name: not self.has(name)):
            if len(found) < enough and self.flag(name):
                found.append(name)
        return found


@dataclass(frozen=True, slots=True)
class Item:
    """One item of a sum score.

    Attributes:
        title: Its name in the paper, short.
        inputs: Names of the inputs that it reads; no other item of the score reads them.
        points: Returns its points, or None if these values cannot occur together.
        cuts: Limits by input, in the input's unit, at which the points change.
    """

    title: str
    inputs: tuple[str, ...]
    points: Callable[[Values], Points | None]
    cuts: Mapping[str, tuple[float, ...]] = field(default_factory=dict[str, tuple[float, ...]])


@dataclass(frozen=True, slots=True)
class Band:
    """A risk band: totals from `at_least` up to the next band."""

    at_least: float
    name: str
    meaning: str = ""


@dataclass(frozen=True, slots=True)
class Scheme:
    """Risk bands, the lowest first, and the source that publishes them."""

    source: str
    bands: tuple[Band, ...]

    def band(self, total: float) -> Band:
        """Return the band of a total."""
        return [band for band in self.bands if band.at_least <= total][-1]


@dataclass(frozen=True, slots=True)
class Paper:
    """A publication."""

    citation: str
    doi: str = ""

    def __str__(self) -> str:
        return f"{self.citation} doi:{self.doi}" if self.doi else self.citation


@dataclass(frozen=True, slots=True)
class Score:
    """A clinical score.

    Attributes:
        name: Its name in calls: "wells_dvt".
        title: Its name for people.
        inputs: What it asks for.
        papers: The publications that define it, the first being the one that is followed.
        schemes: Ways to divide the totals into bands; the first is the main one.
        limits: For whom it was made, and for whom it was not validated.
        other_names: Further names in calls; case, spaces and signs do not count.
        items: The items of a sum score.
        rule: The formula, or the table of categories, of any other score.
        cuts: As `Item.cuts`, for `rule`.
        rates: Published rate by total.
        rates_source: What these rates are, and their source.
        unit: Unit of the total; "points" for sums.
        digits: Decimal places of the total.
        youngest: Least age in years for which it holds.
        days: Days for which a measurement in a record counts for it by default.
    """

    name: str
    title: str
    inputs: tuple[Input, ...]
    papers: tuple[Paper, ...]
    schemes: tuple[Scheme, ...]
    limits: str
    other_names: tuple[str, ...] = ()
    items: tuple[Item, ...] = ()
    rule: Callable[[Values], Verdict | None] | None = None
    cuts: Mapping[str, tuple[float, ...]] = field(default_factory=dict[str, tuple[float, ...]])
    rates: Mapping[float, str] = field(default_factory=dict[float, str])
    rates_source: str = ""
    unit: str = "points"
    digits: int = 0
    youngest: float = 0
    days: int = 365

    @property
    def accepted(self) -> tuple[Input, ...]:
        """Its inputs, and the age, by which a patient who is too young is refused."""
        known = any(one.name == "age" for one in self.inputs)
        return self.inputs if known else (*self.inputs, shared_inputs()["age"])

    def input(self, name: str) -> Input:
        """Return an input by its name."""
        return next(one for one in self.accepted if one.name == name)


@dataclass(frozen=True, slots=True)
class ScoredItem:
    """An item of a result: its points, or if inputs are missing, the least and the most."""

    title: str
    inputs: tuple[str, ...]
    points: float | None
    low: float | None
    high: float | None
    why: str


@dataclass(frozen=True, slots=True)
class Result:
    """A score's result.

    Attributes:
        total: The total; None if missing inputs leave it open, or for a category.
        low: Least possible total, None for a category.
        high: Greatest possible total, None for a category.
        items: The items, or the steps of the formula.
        missing: Names of the inputs to ask for.
        band: The band or category, None if what is missing leaves it open.
        possible_bands: All bands or categories that are possible.
        meaning: What the band means, by its source; "" if it is open.
        other_bands: Bands of the further schemes, those that are not open.
    """

    score: Score
    total: float | None
    low: float | None
    high: float | None
    items: tuple[ScoredItem, ...]
    missing: tuple[str, ...]
    band: str | None
    possible_bands: tuple[str, ...]
    meaning: str
    other_bands: tuple[str, ...]


Found = TypeVar("Found")


def evaluate(score: Score, values: Mapping[str, Value]) -> Result:
    """Return a score's result, with what is missing.

    Raises:
        WrongInput: The patient is too young for the score, or values contradict each other.
    """
    age = values.get("age")
    if isinstance(age, Quantity) and age.number < score.youngest:
        raise WrongInput(
            f"{score.title} does not hold below {plain_number(score.youngest)} years: "
            f"{score.limits}"
        )
    return _by_items(score, values) if score.rule is None else _by_rule(score, values, score.rule)


def _by_items(score: Score, values: Mapping[str, Value]) -> Result:
    scored: list[ScoredItem] = []
    missing: list[str] = []
    for item in score.items:
        found, asked = all_outcomes(item.points, score, values, item.cuts)
        low = min(one.points for one in found)
        high = max(one.points for one in found)
        if low == high:
            scored.append(ScoredItem(item.title, item.inputs, low, low, high, found[0].why))
            continue
        missing += asked
        why = f"not known: {', '.join(score.input(name).label for name in asked)}"
        scored.append(ScoredItem(item.title, item.inputs, None, low, high, why))
    lows = [one.low for one in scored if one.low is not None]
    highs = [one.high for one in scored if one.high is not None]
    low, high = round(sum(lows), 6), round(sum(highs), 6)
    return _result(score, low, high, tuple(scored), missing)


def _by_rule(
    score: Score, values: Mapping[str, Value], rule: Callable[[Values], Verdict | None]
) -> Result:
    found, asked = all_outcomes(rule, score, values, score.cuts)
    first = found[0]
    totals = [one.total for one in found if one.total is not None]
    names = sorted({one.band for one in found})
    settled = len(names) == 1 and (not totals or min(totals) == max(totals))
    if settled:
        items = tuple(_step(score, names, used, why, asked) for names, used, why in first.terms)
    else:
        items = tuple(
            ScoredItem(score.input(name).label, (name,), None, None, None, shown(value))
            for name, value in values.items()
            if any(one.name == name for one in score.inputs)
        )
    if totals:
        low, high = round(min(totals), score.digits), round(max(totals), score.digits)
        return _result(score, low, high, items, [] if settled else asked)
    band = names[0] if settled else None
    sure = settled and len({one.meaning for one in found}) == 1
    meaning = first.meaning if sure else ""
    missing = _worth_asking(score, [] if settled else asked)
    return Result(score, None, None, None, items, missing, band, tuple(names), meaning, ())


def _result(
    score: Score, low: float, high: float, items: tuple[ScoredItem, ...], missing: list[str]
) -> Result:
    main = score.schemes[0]
    between = [
        band
        for band, after in zip(main.bands, (*main.bands[1:], None), strict=True)
        if band.at_least <= high and (after is None or low < after.at_least)
    ]
    others: list[str] = []
    for scheme in score.schemes[1:]:
        if scheme.band(low) == scheme.band(high):
            band = scheme.band(low)
            text = f"{band.name}: {band.meaning}" if band.meaning else band.name
            others.append(f"{text} ({scheme.source})")
    return Result(
        score,
        low if low == high else None,
        low,
        high,
        items,
        _worth_asking(score, missing),
        between[0].name if len(between) == 1 else None,
        tuple(band.name for band in between),
        between[0].meaning if len(between) == 1 else "",
        tuple(others),
    )


def _step(
    score: Score, names: tuple[str, ...], used: float | None, why: str, asked: Sequence[str]
) -> ScoredItem:
    """Return a step of a formula; a missing input makes no difference, if the total is settled."""
    if missing := [name for name in names if name in asked]:
        labels = ", ".join(score.input(name).label for name in missing)
        return ScoredItem(
            labels, names, None, None, None, f"not known, makes no difference: {labels}"
        )
    title = ", ".join(score.input(name).label for name in names) or "Formula"
    return ScoredItem(title, names, used, used, used, why)


def _worth_asking(score: Score, names: Sequence[str]) -> tuple[str, ...]:
    """Return missing inputs in the score's order, without those whose `after` is missing too."""
    wanted = set(names)
    return tuple(one.name for one in score.inputs if one.name in wanted and one.after not in wanted)


def shown(value: Value) -> str:
    """Return a value for people: "yes", "1.2 mg/dL"."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)


def all_outcomes(
    rule: Callable[[Values], Found | None],
    score: Score,
    given: Mapping[str, Value],
    cuts: Mapping[str, tuple[float, ...]],
) -> tuple[list[Found], list[str]]:
    """Return every outcome that the missing inputs allow, and the inputs that were missing.

    The first outcome is that of "no" and of the lowest numbers, so that its reason names no
    condition that is not given.
    """
    found: list[Found] = []
    asked: dict[str, None] = {}
    waiting: list[dict[str, Value]] = [dict(given)]
    cases = 0
    while waiting:
        values = waiting.pop()
        cases += 1
        if cases > _LIMIT_OF_CASES:
            raise AssertionError(f"{score.name}: too many cases of missing inputs")
        try:
            outcome = rule(Values(values))
        except _Missing as missing:
            asked[missing.name] = None
            tried = _values_to_try(score, missing.name, cuts.get(missing.name, ()))
            waiting += [{**values, missing.name: value} for value in reversed(tried)]
        else:
            if outcome is not None:
                found.append(outcome)
    if not found:
        raise WrongInput(f"the inputs of {score.title} contradict each other: check them")
    return found, list(asked)


def _values_to_try(score: Score, name: str, cuts: Sequence[float]) -> list[Value]:
    item = score.input(name)
    if item.kind == "yes/no":
        return [False, True]
    if item.kind == "choice":
        return [value for value, _ in item.choices]
    low = max(item.low, score.youngest) if name == "age" else item.low
    numbers = {low, item.high}
    for cut in cuts:
        numbers |= {math.nextafter(cut, -math.inf), cut, math.nextafter(cut, math.inf)}
    inside = sorted(number for number in numbers if low <= number <= item.high)
    return [Quantity(number, number, item.unit) for number in inside]


def above(limit: float) -> float:
    """Return the least number greater than a limit, for "> limit" in a table of "at least"."""
    return math.nextafter(limit, math.inf)


def flag(name: str, points: float, title: str) -> Item:
    """Return an item that gives points if a yes/no input is true."""

    def score(values: Values) -> Points:
        return Points(points, f"{title}: yes") if values.flag(name) else Points(0, f"{title}: no")

    return Item(title, (name,), score)


def any_flag(names: Mapping[str, str], points: float, title: str) -> Item:
    """Return an item that gives its points once if any of several yes/no inputs is true.

    Args:
        names: Input names, each with the words for the reason.
        points: The points, once, however many are true.
        title: The item's name in the paper.
    """

    def score(values: Values) -> Points:
        found = values.true_among(tuple(names))
        if not found:
            return Points(0, f"{title}: none")
        given = [names[name] for name in names if values.has(name) and values.flag(name)]
        more = " (counted once)" if len(given) > 1 else ""
        return Points(points, f"{title}: {', '.join(given)}{more}")

    return Item(title, tuple(names), score)


def steps(
    name: str,
    title: str,
    *rows: tuple[float, float, str],
    in_units: Mapping[str, Sequence[float]] | None = None,
) -> Item:
    """Return an item that gives points by the size of a number.

    Args:
        name: The input.
        title: The item's name in the paper.
        rows: (at least, points, reason) with rising limits, the first from -inf.
        in_units: The limits that the paper prints for another unit, if they are not exact
            multiples, by the unit's name.
    """

    def score(values: Values) -> Points:
        return step_points(values.quantity(name), title, rows, in_units or {})

    return Item(title, (name,), score, {name: tuple(row[0] for row in rows[1:])})


def step_points(
    quantity: Quantity,
    title: str,
    rows: Sequence[tuple[float, float, str]],
    in_units: Mapping[str, Sequence[float]],
) -> Points:
    """Return the points of a number by rows of (at least, points, reason); see `steps`."""
    limits = in_units.get(quantity.unit)
    size = quantity.number if limits is None else quantity.given
    if limits is None:
        limits = [row[0] for row in rows]
    row = [row for row, limit in zip(rows, limits, strict=True) if size >= limit][-1]
    return Points(row[1], f"{title} {quantity}: {row[2]}")


def chosen(name: str, title: str, points: Mapping[str, tuple[float, str]]) -> Item:
    """Return an item that gives points by a choice: value -> (points, reason)."""

    def score(values: Values) -> Points:
        got, why = points[values.choice(name)]
        return Points(got, f"{title}: {why}")

    return Item(title, (name,), score)
