"""Follow-up of pulmonary nodules on CT: Fleischner Society 2017 and Lung-RADS v2022.

Both are tables of categories, without a total.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from app.tools.record.scores.engine import Term, Values, Verdict

NO_FOLLOW_UP = "no routine follow-up"
OUTSIDE = "guideline does not apply"
_EXCLUSIONS = {
    "known_cancer": "the patient has a known cancer",
    "immunosuppressed": "the patient is immunosuppressed",
    "screening": "the CT was made for lung cancer screening (use Lung-RADS)",
}


def fleischner(values: Values) -> Verdict:
    """Return the Fleischner Society's recommendation for an incidental nodule."""
    if values.has("age") and values.number("age") < 35:
        return _not_applicable("the patient is younger than 35", "age")
    if excluded := values.true_among(tuple(_EXCLUSIONS)):
        return _not_applicable(_EXCLUSIONS[excluded[0]], excluded[0])
    if values.number("age") < 35:
        return _not_applicable("the patient is younger than 35", "age")
    kind, size = values.choice("nodule_type"), math.floor(values.number("size") + 0.5)
    multiple = values.flag("multiple")
    table = _solid if kind == "solid" else _subsolid
    band, meaning, risk = table(values, kind, size, multiple=multiple)
    said = f"{'several nodules, the most suspicious' if multiple else 'one nodule'}: "
    said += f"{kind.replace('_', ' ')}, {values.quantity('size')}, counted as {size} mm"
    terms: list[Term] = [(("nodule_type", "multiple", "size"), None, said)]
    if risk:
        terms.append((("risk",), None, f"risk of cancer: {risk}"))
    return Verdict(None, tuple(terms), band, meaning)


def _not_applicable(why: str, name: str) -> Verdict:
    return Verdict(None, (((name,), None, why),), OUTSIDE, why)


def _solid(values: Values, kind: str, size: int, *, multiple: bool) -> tuple[str, str, str]:
    del kind
    if size > 8 and not multiple:
        return (
            "consider CT at 3 months, PET/CT or tissue sampling",
            "solid nodule above 8 mm, whatever the risk",
            "",
        )
    risk = values.choice("risk")
    number_of = "several solid nodules" if multiple else "a solid nodule"
    if size < 6:
        if risk == "low":
            return NO_FOLLOW_UP, f"{number_of} below 6 mm, low risk", risk
        return (
            "optional CT at 12 months",
            f"{number_of} below 6 mm, high risk: suspicious morphology or a place in the upper "
            "lobe may call for it",
            risk,
        )
    first = "CT at 3 to 6 months" if multiple else "CT at 6 to 12 months"
    size_text = "of 6 mm or more" if multiple else "of 6 to 8 mm"
    second = (
        "then consider CT at 18 to 24 months" if risk == "low" else "then CT at 18 to 24 months"
    )
    return f"{first}, {second}", f"{number_of} {size_text}, {risk} risk", risk


def _subsolid(values: Values, kind: str, size: int, *, multiple: bool) -> tuple[str, str, str]:
    del values
    if multiple:
        if size < 6:
            return (
                "CT at 3 to 6 months; if stable, consider CT at 2 and 4 years",
                "several subsolid nodules below 6 mm",
                "",
            )
        return (
            "CT at 3 to 6 months; then as the most suspicious nodule calls for",
            "several subsolid nodules of 6 mm or more",
            "",
        )
    name = "a ground-glass nodule" if kind == "ground_glass" else "a part-solid nodule"
    if size < 6:
        meaning = f"{name} below 6 mm; for some suspicious ones consider CT at 2 and 4 years"
        return NO_FOLLOW_UP, meaning, ""
    if kind == "ground_glass":
        return (
            "CT at 6 to 12 months to confirm that it persists, then CT every 2 years until 5 years",
            f"{name} of 6 mm or more",
            "",
        )
    return (
        "CT at 3 to 6 months to confirm that it persists; if unchanged and the solid part stays "
        "below 6 mm, CT every year for 5 years",
        f"{name} of 6 mm or more; one that persists with a solid part of 6 mm or more is highly "
        "suspicious",
        "",
    )


_MANAGEMENT = {
    "1": "screening CT in 12 months",
    "2": "screening CT in 12 months",
    "3": "low-dose CT in 6 months",
    "4A": "low-dose CT in 3 months; PET/CT may be considered for a solid nodule or solid part of "
    "8 mm or more",
    "4B": "referral for further clinical evaluation: diagnostic chest CT with or without contrast, "
    "PET/CT for a solid nodule or solid part of 8 mm or more, tissue sampling",
    "4X": "as 4B: referral for further clinical evaluation",
}
_INCOMPLETE = {
    "prior_awaited": "compare with the earlier chest CT once it is there",
    "not_evaluable": "additional low-dose CT: part or all of the lungs cannot be evaluated",
    "inflammatory": "low-dose CT in 1 to 3 months: findings suggest infection or inflammation",
}
NOT_CLASSIFIED = "not classified"
_Category = tuple[str, tuple[str, ...], str]


def lung_rads(values: Values) -> Verdict:
    """Return the Lung-RADS category and the management that it calls for."""
    exam = values.choice("exam")
    if exam != "complete":
        return Verdict(None, ((("exam",), None, _INCOMPLETE[exam]),), "0", _INCOMPLETE[exam])
    category, names, why = _CATEGORIES[values.choice("finding")](values)
    if category == NOT_CLASSIFIED:
        return Verdict(None, ((names, None, why),), NOT_CLASSIFIED, why)
    terms: list[Term] = [(names, None, why)]
    if category in ("3", "4A", "4B") and values.flag("suspicious_features"):
        terms.append(
            (("suspicious_features",), None, "features that raise the suspicion of cancer")
        )
        category = "4X"
    return Verdict(None, tuple(terms), category, _MANAGEMENT[category])


def _millimetres(values: Values, name: str) -> float:
    """Return a diameter rounded to one decimal place, as Lung-RADS measures."""
    return math.floor(values.number(name) * 10 + 0.5) / 10


def _by_size(size: float, *limits: tuple[float, str]) -> str:
    """Return the category of the first limit that a size is below."""
    return next(category for limit, category in limits if size < limit)


def _unchanged(values: Values, what: str) -> _Category:
    """Return the category of a lesion that is stable or smaller, by its previous category."""
    previous = values.choice("previous_category")
    names = ("finding", "change", "previous_category")
    text = f"{what}, stable or smaller, category {previous} before"
    if previous in ("3", "4A") and values.flag("follow_up_reached"):
        lower = "2" if previous == "3" else "3"
        months = 6 if previous == "3" else 3
        return lower, (*names, "follow_up_reached"), f"{text}, at the follow-up of {months} months"
    if previous == "4B" and values.flag("proven_benign"):
        return "2", (*names, "proven_benign"), f"{text}, proven benign by diagnostic workup"
    return previous, names, text


def _solid_nodule(values: Values) -> _Category:
    change = values.choice("change")
    if change == "slow_growing":
        return "4B", ("finding", "change"), "solid nodule, slow growth over several screenings"
    if change == "stable":
        return _unchanged(values, "solid nodule")
    size = _millimetres(values, "size")
    limits = {
        "baseline": ((6, "2"), (8, "3"), (15, "4A"), (math.inf, "4B")),
        "new": ((4, "2"), (6, "3"), (8, "4A"), (math.inf, "4B")),
        "growing": ((8, "4A"), (math.inf, "4B")),
    }[change]
    why = f"solid nodule, {_CHANGES[change]}, {size:.1f} mm"
    return _by_size(size, *limits), ("finding", "change", "size"), why


def _part_solid(values: Values) -> _Category:
    change = values.choice("change")
    if change == "slow_growing":
        return "4B", ("finding", "change"), "part-solid nodule, slow growth over several screenings"
    if change == "stable":
        return _unchanged(values, "part-solid nodule")
    names = ("finding", "change", "size", "solid_component")
    if change == "growing":
        solid = _millimetres(values, "solid_component")
        why = f"part-solid nodule, new or growing solid part of {solid:.1f} mm"
        return _by_size(solid, (4, "4A"), (math.inf, "4B")), names, why
    size = _millimetres(values, "size")
    why = f"part-solid nodule, {_CHANGES[change]}, {size:.1f} mm"
    if change == "baseline" and size < 6:
        return "2", ("finding", "change", "size"), why
    solid = _millimetres(values, "solid_component")
    why += f", solid part {solid:.1f} mm"
    if change == "baseline":
        return _by_size(solid, (6, "3"), (8, "4A"), (math.inf, "4B")), names, why
    return _by_size(solid, (4, "3" if size < 6 else "4A"), (math.inf, "4B")), names, why


def _ground_glass(values: Values) -> _Category:
    change = values.choice("change")
    if change in ("stable", "slow_growing"):
        return "2", ("finding", "change"), "ground-glass nodule, stable or slowly growing"
    size = _millimetres(values, "size")
    why = f"ground-glass nodule, {_CHANGES[change]}, {size:.1f} mm"
    return _by_size(size, (30, "2"), (math.inf, "3")), ("finding", "change", "size"), why


def _juxtapleural(values: Values) -> _Category:
    change = values.choice("change")
    if change in ("baseline", "new", "stable"):
        size = _millimetres(values, "size")
        if size < 10:
            why = f"juxtapleural nodule, solid and smooth, {size:.1f} mm, {_CHANGES[change]}"
            return "2", ("finding", "change", "size"), why
    return _solid_nodule(values)


def _airway_subsegmental(values: Values) -> _Category:
    names = ("finding", "change")
    if values.choice("change") in ("baseline", "new", "stable"):
        return "2", names, "subsegmental airway nodule, at baseline, new or stable"
    return NOT_CLASSIFIED, names, "the table has no entry for a growing subsegmental airway nodule"


def _airway_proximal(values: Values) -> _Category:
    change = values.choice("change")
    why = f"airway nodule, segmental or more proximal, {_CHANGES[change]}"
    return "4A" if change in ("baseline", "new") else "4B", ("finding", "change"), why


def _cyst(what: str, growing: str) -> Callable[[Values], _Category]:
    def category(values: Values) -> _Category:
        change = values.choice("change")
        if change in ("baseline", "new"):
            return "4A", ("finding", "change"), f"{what}, {_CHANGES[change]}"
        if change == "stable":
            return _unchanged(values, what)
        if growing == NOT_CLASSIFIED:
            why = f"{what}, growing: say whether its cystic part or its wall grows (finding)"
            return NOT_CLASSIFIED, ("finding", "change"), why
        return growing, ("finding", "change"), f"{what}, growing"

    return category


def _fixed(category: str, why: str) -> Callable[[Values], _Category]:
    def result(values: Values) -> _Category:
        del values
        return category, ("finding",), why

    return result


_CHANGES = {
    "baseline": "at baseline",
    "new": "new",
    "growing": "growing",
    "slow_growing": "slowly growing",
    "stable": "stable or smaller",
}
_CATEGORIES: dict[str, Callable[[Values], _Category]] = {
    "none": _fixed("1", "no lung nodules"),
    "benign_features": _fixed("1", "nodule with benign calcification or fat"),
    "solid": _solid_nodule,
    "part_solid": _part_solid,
    "ground_glass": _ground_glass,
    "juxtapleural": _juxtapleural,
    "airway_subsegmental": _airway_subsegmental,
    "airway_proximal": _airway_proximal,
    "cyst_thin_walled": _fixed(NOT_CLASSIFIED, "a thin-walled unilocular cyst is benign"),
    "cyst_thick_walled": _cyst("thick-walled cyst", NOT_CLASSIFIED),
    "cyst_thick_cystic_growth": _fixed("3", "thick-walled cyst whose cystic part grows"),
    "cyst_thick_wall_growth": _fixed(
        "4B", "thick-walled cyst with growing wall thickness or nodularity"
    ),
    "cyst_multilocular": _cyst("multilocular cyst", "4B"),
    "cyst_multilocular_worse": _fixed(
        "4B", "multilocular cyst with more loculation or new or increased opacity"
    ),
}
