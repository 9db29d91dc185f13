"""The scores of `resources/tables/scores`, and finding one by the names that people use.

There, a score's file has the fields of `engine.Score` and bears its name. A limit is a number from
which on a row holds, or "> 100"; a row without one holds below all others. An item is one of:

- `flag`: a yes/no input that gives `points`;
- `any`: yes/no inputs, with words for the reason, that give `points` once;
- `steps`: a number; `rows` have limit, points and reason, `in_units` the limits in other units;
- `choice`: a choice, with points and reason for each;
- `number`: a choice whose value is its points, except "UN", untestable;
- `rule`: a function of `rules.POINT_RULES`, the `inputs` that it reads and its `cuts`.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from app.paths import resources_dir
from app.tools.record.scores.engine import (
    Band,
    Item,
    Paper,
    Scheme,
    Score,
    above,
    any_flag,
    chosen,
    flag,
    steps,
)
from app.tools.record.scores.inputs import (
    Input,
    Value,
    WrongInput,
    input_of,
    read_value,
    shared_inputs,
    unit_name,
)
from app.tools.record.scores.rules import FORMULAS, POINT_RULES


def _limit(limit: float | str) -> float:
    return above(float(limit.removeprefix("> "))) if isinstance(limit, str) else limit


def _cuts(table: Mapping[str, Any]) -> dict[str, tuple[float, ...]]:
    return {name: tuple(map(_limit, cuts)) for name, cuts in table.get("cuts", {}).items()}


def _row(row: Sequence[Any]) -> tuple[float, float, str]:
    *limit, points, why = row
    return (_limit(limit[0]) if limit else -math.inf), points, why


def _item(table: Mapping[str, Any], inputs: Mapping[str, Input]) -> Item:
    title = table["title"]
    if "flag" in table:
        return flag(table["flag"], table["points"], title)
    if "any" in table:
        return any_flag(table["any"], table["points"], title)
    if "steps" in table:
        units = {
            unit: (-math.inf, *map(_limit, limits))
            for unit, limits in table.get("in_units", {}).items()
        }
        return steps(table["steps"], title, *map(_row, table["rows"]), in_units=units)
    if "choice" in table:
        points = {value: (points, why) for value, (points, why) in table["points"].items()}
        return chosen(table["choice"], title, points)
    if "number" in table:
        untestable = (0.0, "untestable: not added, as the scale's rules say")
        choices = inputs[table["number"]].choices
        points = {
            value: untestable if value == "UN" else (float(value), label)
            for value, label in choices
        }
        return chosen(table["number"], title, points)
    return Item(title, tuple(table["inputs"]), POINT_RULES[table["rule"]], _cuts(table))


def _band(row: Sequence[Any]) -> Band:
    at_least, texts = (-math.inf, row) if isinstance(row[0], str) else (row[0], row[1:])
    return Band(at_least, *texts)


def _score(path: Path) -> Score:
    table = tomllib.loads(path.read_text("utf-8"))
    inputs = tuple(
        shared_inputs()[one] if isinstance(one, str) else input_of(one["name"], one)
        for one in table["inputs"]
    )
    by_name = {one.name: one for one in inputs}
    fields: dict[str, Any] = {
        "name": path.stem,
        **table,
        "inputs": inputs,
        "items": tuple(_item(one, by_name) for one in table.get("items", ())),
        "rule": FORMULAS[table["rule"]] if "rule" in table else None,
        "cuts": _cuts(table),
        "papers": tuple(Paper(**one) for one in table["papers"]),
        "schemes": tuple(
            Scheme(one["source"], tuple(map(_band, one["bands"]))) for one in table["schemes"]
        ),
        "rates": {float(total): rate for total, rate in table.get("rates", {}).items()},
        "other_names": tuple(table.get("other_names", ())),
    }
    return Score(**fields)


SCORES = tuple(
    _score(path)
    for path in sorted((resources_dir() / "tables" / "scores").glob("*.toml"))
    if path.stem != "inputs"
)

_SEVERAL = {
    "wells": ("wells_dvt", "wells_pe"),
    "wellscriteria": ("wells_dvt", "wells_pe"),
    "wellsscore": ("wells_dvt", "wells_pe"),
}
"""Names that stand for several scores: the caller has to say which."""


class NoSuchScore(Exception):
    """A name that is no score's, or several scores'; the text names the scores."""


def _key(name: str) -> str:
    text = name.casefold().replace("₂", "2").replace("'s", "s")
    return re.sub(r"[^a-z0-9]", "", text)


_BY_NAME = {
    _key(name): score for score in SCORES for name in (score.name, score.title, *score.other_names)
}


def find_score(name: str) -> Score:
    """Return the score with a name ("wells_dvt", "CURB-65", "Child-Pugh score").

    Raises:
        NoSuchScore: There is none, or the name stands for several.
    """
    key = _key(name)
    if several := _SEVERAL.get(key):
        raise NoSuchScore(f"{name!r} can be {' or '.join(several)}: say which")
    if score := _BY_NAME.get(key):
        return score
    near = get_close_matches(key, _BY_NAME, n=1, cutoff=0.8)
    hint = f" Did you mean {_BY_NAME[near[0]].name}?" if near else ""
    names = ", ".join(score.name for score in SCORES)
    raise NoSuchScore(f"there is no score {name!r}.{hint} Scores: {names}")


def read_inputs(score: Score, given: Mapping[str, Any]) -> dict[str, Value]:
    """Return the values of a score's inputs from a call; unknown ones are left out.

    A name may carry its unit: `weight_kg`, `creatinine_umol_l`.

    Raises:
        WrongInput: A name is none of the score's, or a value is wrong; the text names all faults.
    """
    values: dict[str, Value] = {}
    wrong: list[str] = []
    for name, raw in given.items():
        try:
            item, shown, read = _named(score, name, raw)
            value = read_value(item, read, shown)
            if value is None:
                continue
            if item.name in values:
                raise WrongInput(f"{item.name} is given twice")
            values[item.name] = value
        except WrongInput as error:
            wrong.append(str(error))
    if wrong:
        raise WrongInput("; ".join(wrong))
    return values


def _named(score: Score, name: str, raw: Any) -> tuple[Input, str, Any]:
    """Return the input that a name means, the name of the quantity given, and what to read."""
    key = _key(name)
    for item in score.accepted:
        ways = [way.name for way in item.other_ways]
        for known in (item.name, *item.other_names, *ways):
            shown = known if known in ways else ""
            if key == _key(known):
                return item, shown, raw
            unit = name.casefold().removeprefix(f"{known}_")
            if item.kind == "number" and unit != name.casefold() and not isinstance(raw, Mapping):
                spelled = unit_name(unit)
                if spelled in {one.name for one in item.all_units}:
                    return item, shown, {"value": raw, "unit": spelled}
    told = "; ".join(input_text(item) for item in score.inputs)
    raise WrongInput(f"{score.name} has no input {name!r}. Inputs: {told}")


def input_text(item: Input) -> str:
    """Return an input in one line: "creatinine (Serum creatinine, mg/dL or µmol/L)"."""
    if item.kind == "number":
        kind = " or ".join(unit.name or "no unit" for unit in item.all_units)
    elif item.kind == "choice":
        kind = ", ".join(value for value, _ in item.choices)
    else:
        kind = "yes/no"
    ways = "".join(f", or {way.name}" for way in item.other_ways)
    instead = f", or {item.instead}" if item.instead else ""
    return f"{item.name} ({item.label}: {kind}{ways}{instead})"
