"""Points and formulas that are no plain table: what `rule` names in `resources/tables/scores`."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from app.tools.record.scores.engine import Points, Term, Values, Verdict, above, step_points
from app.tools.record.scores.inputs import plain_number
from app.tools.record.scores.nodules import fleischner, lung_rads

_LOW = -math.inf
_DIALYSIS = "dialysis_twice_last_week"
_Terms = tuple[Term, ...]


def _renal(values: Values) -> Points:
    for name, why in (("dialysis", "dialysis"), ("renal_transplant", "renal transplant")):
        if values.has(name) and values.flag(name):
            return Points(1, f"Abnormal renal function: {why}")
    rows = ((_LOW, 0, "below 200 µmol/L"), (_CREATININE_200, 1, "200 µmol/L or more"))
    limits = {"µmol/L": (_LOW, 200)}
    found = step_points(values.quantity("creatinine"), "Creatinine", rows, limits)
    if found.points or not values.true_among(("dialysis", "renal_transplant")):
        return found
    return Points(1, "Abnormal renal function: dialysis or renal transplant")


_CREATININE_200 = 200 * 113.12 / 10_000
"""200 µmol/L in mg/dL (2.26)."""


def _counted(
    values: Values, names: tuple[str, ...], enough: int, words: dict[str, str]
) -> list[str]:
    return [words[name] for name in values.true_among(names, enough=enough)]


_RISKS = {
    "family_history_cad": "family history",
    "hypertension": "hypertension",
    "hypercholesterolemia": "hypercholesterolaemia",
    "diabetes": "diabetes",
    "current_smoker": "smoking",
}


def _timi_risks(values: Values) -> Points:
    found = _counted(values, tuple(_RISKS), 3, _RISKS)
    if len(found) >= 3:
        return Points(1, f"At least 3 risk factors for coronary disease: {', '.join(found)}")
    return Points(0, "Fewer than 3 risk factors for coronary disease")


_HEART_RISKS = {**_RISKS, "obesity": "obesity"}


def _heart_risks(values: Values) -> Points:
    title = "Risk factors"
    if values.has("atherosclerotic_disease") and values.flag("atherosclerotic_disease"):
        return Points(2, f"{title}: history of atherosclerotic disease")
    found = _counted(values, tuple(_HEART_RISKS), 3, _HEART_RISKS)
    if len(found) >= 3:
        return Points(2, f"{title}: 3 or more ({', '.join(found)})")
    if values.flag("atherosclerotic_disease"):
        return Points(2, f"{title}: history of atherosclerotic disease")
    return Points(1, f"{title}: {', '.join(found)}") if found else Points(0, f"{title}: none")


def _low_pressure(values: Values) -> Points:
    for name, limit in (("systolic_bp", 90.0), ("diastolic_bp", above(60))):
        if values.has(name) and values.number(name) < limit:
            return _pressure_point(values, name)
    for name, limit in (("systolic_bp", 90.0), ("diastolic_bp", above(60))):
        if values.number(name) < limit:
            return _pressure_point(values, name)
    return Points(0, "Blood pressure: systolic 90 or more and diastolic above 60 mmHg")


def _pressure_point(values: Values, name: str) -> Points:
    quantity = values.quantity(name)
    if name == "systolic_bp":
        return Points(1, f"Systolic pressure {quantity}: below 90")
    return Points(1, f"Diastolic pressure {quantity}: 60 or less")


def _mentation(values: Values) -> Points | None:
    if not values.has("gcs"):
        altered = values.flag("altered_mentation")
        return Points(int(altered), f"Altered mentation: {'yes' if altered else 'no'}")
    altered = values.number("gcs") < 15
    if values.has("altered_mentation") and values.flag("altered_mentation") != altered:
        return None
    why = "below 15" if altered else "not below 15"
    return Points(int(altered), f"Glasgow Coma Scale {values.quantity('gcs')}: {why}")


def _oxygenation(values: Values) -> Points:
    ratio = values.number("pao2") / values.number("fio2")
    text = f"PaO2/FiO2 {ratio:.0f} mmHg"
    if ratio >= 400:
        return Points(0, f"{text}: 400 or more")
    if ratio >= 300:
        return Points(1, f"{text}: below 400")
    if ratio >= 200 or not values.flag("respiratory_support"):
        more = ", without respiratory support" if ratio < 200 else ""
        return Points(2, f"{text}: below 300{more}")
    if ratio >= 100:
        return Points(3, f"{text}: below 200 with respiratory support")
    return Points(4, f"{text}: below 100 with respiratory support")


_PRESSORS = ("dopamine", "dobutamine", "epinephrine", "norepinephrine")


def _circulation(values: Values) -> Points | None:
    doses = {name: values.number(name) for name in _PRESSORS if values.has(name)}
    if any(doses.values()) and values.has("vasopressors") and not values.flag("vasopressors"):
        return None
    if (found := _pressor_points(doses)) and found.points == 4:
        return found
    if not any(doses.values()) and not values.flag("vasopressors"):
        if values.number("mean_arterial_pressure") < 70:
            return Points(
                1,
                f"Mean arterial pressure {values.quantity('mean_arterial_pressure')}: "
                "below 70, no vasopressor",
            )
        return Points(0, "Mean arterial pressure 70 mmHg or more, no vasopressor")
    doses = {name: values.number(name) for name in _PRESSORS}
    return _pressor_points(doses)  # fmt: skip


def _pressor_points(doses: dict[str, float]) -> Points | None:
    """Return the points of doses in µg/kg/min, or None if all are 0."""
    dopamine = doses.get("dopamine", 0)
    for name in ("epinephrine", "norepinephrine"):
        if doses.get(name, 0) > 0.1:
            return Points(4, f"{name.capitalize()} above 0.1 µg/kg/min")
    if dopamine > 15:
        return Points(4, "Dopamine above 15 µg/kg/min")
    for name in ("epinephrine", "norepinephrine"):
        if doses.get(name, 0) > 0:
            return Points(3, f"{name.capitalize()} up to 0.1 µg/kg/min")
    if dopamine > 5:
        return Points(3, "Dopamine above 5 µg/kg/min")
    if dopamine > 0:
        return Points(2, "Dopamine up to 5 µg/kg/min")
    return Points(2, "Dobutamine") if doses.get("dobutamine", 0) > 0 else None


_CREATININE_ROWS = (
    (_LOW, 0, "below 1.2 mg/dL"),
    (1.2, 1, "1.2 to 1.9 mg/dL"),
    (2.0, 2, "2.0 to 3.4 mg/dL"),
    (3.5, 3, "3.5 to 4.9 mg/dL"),
    (5.0, 4, "5.0 mg/dL or more"),
)
_CREATININE_SI = {"µmol/L": (_LOW, 110, 171, 300, above(440))}
_URINE_ROWS = (
    (_LOW, 4, "below 200 mL a day"),
    (200, 3, "below 500 mL a day"),
    (500, 0, "500 mL a day or more"),
)


def _kidney(values: Values) -> Points:
    found = [
        step_points(values.quantity(name), title, rows, units)
        for name, title, rows, units in (
            ("creatinine", "Creatinine", _CREATININE_ROWS, _CREATININE_SI),
            ("urine_output", "Urine output", _URINE_ROWS, {}),
        )
        if values.has(name)
    ]
    if not any(one.points == 4 for one in found):
        for name in ("creatinine", "urine_output"):  # both count, the worse one decides
            values.quantity(name)
    return max(found, key=lambda one: one.points)


def _no_cough(values: Values) -> Points:
    return Points(0, "Cough: yes") if values.flag("cough") else Points(1, "Absence of cough")


def _rounded(number: float) -> int:
    """Return the nearest integer, halves upward, as the papers round."""
    return math.floor(number + 0.5)


def _bounded(values: Values, name: str, low: float, high: float, unit: str) -> tuple[float, str]:
    """Return a value within limits, and words that say so where it was changed."""
    number = values.number(name)
    used = min(max(number, low), high)
    text = f"{name} {values.quantity(name)}"
    if used != number:
        text += f", counted as {plain_number(used)} {unit}".rstrip()
    return used, text


def _creatinine(values: Values, most: float) -> tuple[float, str]:
    if values.has(_DIALYSIS) and values.flag(_DIALYSIS):
        return most, f"creatinine counted as {plain_number(most)} mg/dL because of dialysis"
    used, text = _bounded(values, "creatinine", 1, most, "mg/dL")
    if used < most and values.flag(_DIALYSIS):
        return most, f"creatinine counted as {plain_number(most)} mg/dL because of dialysis"
    return used, text


def _meld_sum(values: Values) -> tuple[float, _Terms]:
    """Return the MELD sum before rounding (in tens of points) and its terms."""
    creatinine, creatinine_text = _creatinine(values, 4)
    bilirubin, bilirubin_text = _bounded(values, "bilirubin", 1, math.inf, "mg/dL")
    inr, inr_text = _bounded(values, "inr", 1, math.inf, "")
    parts = (
        (("creatinine", _DIALYSIS), 9.57 * math.log(creatinine), creatinine_text),
        (("bilirubin",), 3.78 * math.log(bilirubin), bilirubin_text),
        (("inr",), 11.20 * math.log(inr), inr_text),
        ((), 6.43, "constant"),
    )
    total = 0.957 * math.log(creatinine) + 0.378 * math.log(bilirubin)
    total += 1.120 * math.log(inr) + 0.643
    return total, tuple((names, round(points, 2), text) for names, points, text in parts)


def _capped(points: float) -> int:
    return min(max(_rounded(points), 6), 40)


def _meld(values: Values) -> Verdict:
    total, terms = _meld_sum(values)
    return Verdict(_capped(total * 10), terms)


def _meld_na(values: Values) -> Verdict:
    total, terms = _meld_sum(values)
    # OPTN: rounded to one decimal place, then multiplied by 10.
    first = float(_rounded(total * 10))
    if first <= 11:
        why = f"initial MELD {first:.0f} is not above 11: sodium does not count"
        return Verdict(_capped(first), (*terms, ((), None, why)))
    sodium, text = _bounded(values, "sodium", 125, 137, "mmol/L")
    change = 1.32 * (137 - sodium) - 0.033 * first * (137 - sodium)
    why = f"{text}; initial MELD {first:.0f}"
    return Verdict(_capped(first + change), (*terms, (("sodium",), round(change, 2), why)))


def _meld_3(values: Values) -> Verdict:
    female = 1.33 if values.choice("sex") == "female" else 0.0
    bilirubin, bilirubin_text = _bounded(values, "bilirubin", 1, math.inf, "mg/dL")
    sodium, sodium_text = _bounded(values, "sodium", 125, 137, "mmol/L")
    inr, inr_text = _bounded(values, "inr", 1, math.inf, "")
    creatinine, creatinine_text = _creatinine(values, 3)
    albumin, albumin_text = _bounded(values, "albumin", 1.5, 3.5, "g/dL")
    terms = (
        (("sex",), female, f"sex {values.choice('sex')}"),
        (("bilirubin",), 4.56 * math.log(bilirubin), bilirubin_text),
        (("sodium",), 0.82 * (137 - sodium), sodium_text),
        (
            ("sodium", "bilirubin"),
            -0.24 * (137 - sodium) * math.log(bilirubin),
            "sodium with bilirubin",
        ),
        (("inr",), 9.09 * math.log(inr), inr_text),
        (("creatinine", _DIALYSIS), 11.14 * math.log(creatinine), creatinine_text),
        (("albumin",), 1.85 * (3.5 - albumin), albumin_text),
        (
            ("albumin", "creatinine"),
            -1.83 * (3.5 - albumin) * math.log(creatinine),
            "albumin with creatinine",
        ),
        ((), 6.0, "constant"),
    )
    total = sum(points for _, points, _ in terms)
    shown: _Terms = tuple((names, round(points, 2), text) for names, points, text in terms)
    if _rounded(total) > 40:
        why = f"{_rounded(total)} by the formula, capped at 40 as OPTN does; Kim 2021 has no cap"
        shown = (*shown, ((), None, why))
    return Verdict(_capped(total), shown)


def _bilirubin_points(values: Values) -> Points:
    quantity = values.quantity("bilirubin")
    plain = step_points(
        quantity,
        "Bilirubin",
        ((_LOW, 1, "below 2 mg/dL"), (2, 2, "2 to 3 mg/dL"), (above(3), 3, "above 3 mg/dL")),
        {"µmol/L": (_LOW, 34, above(51))},
    )
    cholestatic = step_points(
        quantity,
        "Bilirubin",
        (
            (_LOW, 1, "below 4 mg/dL, in biliary cirrhosis"),
            (4, 2, "4 to 10 mg/dL, in biliary cirrhosis"),
            (above(10), 3, "above 10 mg/dL, in biliary cirrhosis"),
        ),
        {"µmol/L": (_LOW, 68, above(171))},
    )
    if plain.points == cholestatic.points:
        return plain
    return cholestatic if values.flag("biliary_cirrhosis") else plain


_INR_ROWS = ((_LOW, 1, "below 1.7"), (1.7, 2, "1.7 to 2.3"), (above(2.3), 3, "above 2.3"))
_PT_ROWS = ((_LOW, 1, "below 4 s"), (4, 2, "4 to 6 s"), (above(6), 3, "above 6 s"))


def _coagulation(values: Values) -> Points:
    if values.has("pt_prolongation") and not values.has("inr"):
        return step_points(
            values.quantity("pt_prolongation"), "Prothrombin time prolonged by", _PT_ROWS, {}
        )
    return step_points(values.quantity("inr"), "INR", _INR_ROWS, {})


def _egfr(values: Values) -> Verdict:
    female = values.choice("sex") == "female"
    kappa, alpha = (0.7, -0.241) if female else (0.9, -0.302)
    ratio = values.number("creatinine") / kappa
    age = values.number("age")
    total = 142 * min(ratio, 1) ** alpha * max(ratio, 1) ** -1.200 * 0.9938**age
    total *= 1.012 if female else 1.0
    terms = (
        (("creatinine",), None, f"creatinine {values.quantity('creatinine')}, "
         f"{plain_number(round(ratio, 3))} times {kappa} mg/dL"),
        (("age",), None, f"age {values.quantity('age')}: factor {0.9938**age:.4f}"),
        (("sex",), None, f"sex {values.choice('sex')}: factor {1.012 if female else 1:g}"),
    )  # fmt: skip
    return Verdict(_rounded(total), terms)


def _bmi(values: Values) -> Verdict:
    weight, height = values.number("weight"), values.number("height") / 100
    why = f"weight {values.quantity('weight')} / (height {values.quantity('height')})²"
    return Verdict(round(weight / height**2, 2), ((("weight", "height"), None, why),))


POINT_RULES: Mapping[str, Callable[[Values], Points | None]] = {
    "bilirubin_points": _bilirubin_points,
    "circulation": _circulation,
    "coagulation": _coagulation,
    "heart_risks": _heart_risks,
    "kidney": _kidney,
    "low_pressure": _low_pressure,
    "mentation": _mentation,
    "no_cough": _no_cough,
    "oxygenation": _oxygenation,
    "renal": _renal,
    "timi_risks": _timi_risks,
}
FORMULAS: Mapping[str, Callable[[Values], Verdict | None]] = {
    "bmi": _bmi,
    "egfr": _egfr,
    "fleischner": fleischner,
    "lung_rads": lung_rads,
    "meld": _meld,
    "meld_3": _meld_3,
    "meld_na": _meld_na,
}
