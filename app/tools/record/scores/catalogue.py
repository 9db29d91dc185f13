"""The list of scores, and finding one by the names that people use."""

from __future__ import annotations

import re
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

from app.tools.record.scores import cardiac, infection, metabolic, neurology, nodules, thrombosis
from app.tools.record.scores.engine import Score
from app.tools.record.scores.inputs import Input, Value, WrongInput, read_value, unit_name

SCORES: tuple[Score, ...] = (
    *thrombosis.SCORES,
    *cardiac.SCORES,
    *infection.SCORES,
    *neurology.SCORES,
    *metabolic.SCORES,
    *nodules.SCORES,
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
