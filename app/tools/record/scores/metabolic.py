"""Scores of liver and kidney, and body mass index: MELD, MELD-Na, MELD 3.0, Child-Pugh, eGFR."""

from __future__ import annotations

import math
from dataclasses import replace

from app.tools.record.scores.engine import (
    Band,
    Item,
    Paper,
    Points,
    Scheme,
    Score,
    Term,
    Values,
    Verdict,
    above,
    chosen,
    step_points,
    steps,
)
from app.tools.record.scores.inputs import (
    AGE,
    ALBUMIN,
    BILIRUBIN,
    CREATININE,
    HEIGHT,
    INR,
    SEX,
    SODIUM,
    WEIGHT,
    Input,
    choice,
    number,
    plain_number,
)

_LOW = -math.inf
_DIALYSIS = Input(
    "dialysis_twice_last_week",
    "Dialysis twice or more, or continuously for 24 hours, in the last 7 days",
    other_names=("dialysis",),
)
Terms = tuple[Term, ...]


def rounded(number: float) -> int:
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
    if values.has(_DIALYSIS.name) and values.flag(_DIALYSIS.name):
        return most, f"creatinine counted as {plain_number(most)} mg/dL because of dialysis"
    used, text = _bounded(values, "creatinine", 1, most, "mg/dL")
    if used < most and values.flag(_DIALYSIS.name):
        return most, f"creatinine counted as {plain_number(most)} mg/dL because of dialysis"
    return used, text


def _meld_sum(values: Values) -> tuple[float, Terms]:
    """Return the MELD sum before rounding (in tens of points) and its terms."""
    creatinine, creatinine_text = _creatinine(values, 4)
    bilirubin, bilirubin_text = _bounded(values, "bilirubin", 1, math.inf, "mg/dL")
    inr, inr_text = _bounded(values, "inr", 1, math.inf, "")
    parts = (
        (("creatinine", _DIALYSIS.name), 9.57 * math.log(creatinine), creatinine_text),
        (("bilirubin",), 3.78 * math.log(bilirubin), bilirubin_text),
        (("inr",), 11.20 * math.log(inr), inr_text),
        ((), 6.43, "constant"),
    )
    total = 0.957 * math.log(creatinine) + 0.378 * math.log(bilirubin)
    total += 1.120 * math.log(inr) + 0.643
    return total, tuple((names, round(points, 2), text) for names, points, text in parts)


def _capped(points: float) -> int:
    return min(max(rounded(points), 6), 40)


def _meld(values: Values) -> Verdict:
    total, terms = _meld_sum(values)
    return Verdict(_capped(total * 10), terms)


def _meld_na(values: Values) -> Verdict:
    total, terms = _meld_sum(values)
    # OPTN: rounded to one decimal place, then multiplied by 10.
    first = float(rounded(total * 10))
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
        (("creatinine", _DIALYSIS.name), 11.14 * math.log(creatinine), creatinine_text),
        (("albumin",), 1.85 * (3.5 - albumin), albumin_text),
        (
            ("albumin", "creatinine"),
            -1.83 * (3.5 - albumin) * math.log(creatinine),
            "albumin with creatinine",
        ),
        ((), 6.0, "constant"),
    )
    total = sum(points for _, points, _ in terms)
    shown: Terms = tuple((names, round(points, 2), text) for names, points, text in terms)
    if rounded(total) > 40:
        why = f"{rounded(total)} by the formula, capped at 40 as OPTN does; Kim 2021 has no cap"
        shown = (*shown, ((), None, why))
    return Verdict(_capped(total), shown)


_KAMATH = Paper(
    "Kamath PS, Wiesner RH, Malinchoc M, et al. A model to predict survival in patients with "
    "end-stage liver disease. Hepatology 2001;33:464-70.",
    "10.1053/jhep.2001.22172",
)
_WIESNER = Paper(
    "Wiesner R, Edwards E, Freeman R, et al. Model for end-stage liver disease (MELD) and "
    "allocation of donor livers. Gastroenterology 2003;124:91-6.",
    "10.1053/gast.2003.50016",
)
_AASLD = Scheme(
    "AASLD/AST practice guideline 2013 (Martin, Hepatology 2014;59:1144-65, "
    "doi:10.1002/hep.26972), stated for MELD",
    (
        Band(_LOW, "below 15"),
        Band(15, "15 or more", "evaluation for liver transplantation should be considered"),
    ),
)

MELD = Score(
    name="meld",
    title="MELD (model for end-stage liver disease), original",
    other_names=("meld score", "meld original", "meld classic"),
    inputs=(_DIALYSIS, CREATININE, BILIRUBIN, INR),
    rule=_meld,
    papers=(_KAMATH, _WIESNER),
    schemes=(
        Scheme(
            "Wiesner 2003, patients on the waiting list",
            (
                Band(_LOW, "9 or less", "mortality within 3 months 1.9%"),
                Band(10, "10 to 19", "mortality within 3 months 6.0%"),
                Band(20, "20 to 29", "mortality within 3 months 19.6%"),
                Band(30, "30 to 39", "mortality within 3 months 52.6%"),
                Band(40, "40", "mortality within 3 months 71.3%"),
            ),
        ),
        _AASLD,
    ),
    limits=(
        "From 12 years (younger: PELD). Allocation in the United States used MELD-Na from 2016 and "
        "uses MELD 3.0 since July 2023. Anticoagulation with a vitamin K antagonist raises the INR."
    ),
    youngest=12,
    days=30,
)

MELD_NA = Score(
    name="meld_na",
    title="MELD-Na (OPTN/UNOS 2016)",
    other_names=("meldna", "meld sodium", "meld-na score"),
    inputs=(_DIALYSIS, CREATININE, BILIRUBIN, INR, SODIUM),
    rule=_meld_na,
    papers=(
        Paper(
            "OPTN/UNOS Policy 9.1, MELD score with serum sodium, in effect from 11 January 2016 "
            "to July 2023."
        ),
        Paper(
            "Kim WR, Biggins SW, Kremers WK, et al. Hyponatremia and mortality among patients on "
            "the liver-transplant waiting list. N Engl J Med 2008;359:1018-26 (the basis; its own "
            "formula has other coefficients).",
            "10.1056/NEJMoa0801209",
        ),
    ),
    schemes=(_AASLD,),
    limits=(
        "From 12 years (younger: PELD). Replaced for allocation in the United States by MELD 3.0 "
        "in July 2023."
    ),
    youngest=12,
    days=30,
)

MELD_3 = Score(
    name="meld_3",
    title="MELD 3.0",
    other_names=("meld 3.0", "meld3.0", "meld30", "meld 3.0 score"),
    inputs=(SEX, _DIALYSIS, CREATININE, BILIRUBIN, INR, SODIUM, ALBUMIN),
    rule=_meld_3,
    papers=(
        Paper(
            "Kim WR, Mannalithara A, Heimbach JK, et al. MELD 3.0: the model for end-stage liver "
            "disease updated for the modern era. Gastroenterology 2021;161:1887-95.",
            "10.1053/j.gastro.2021.08.050",
        ),
        Paper(
            "OPTN Policy 9.1.D, MELD score, in effect from 13 July 2023 (6 to 40, whole numbers)."
        ),
    ),
    schemes=(_AASLD,),
    limits=(
        "For adults; OPTN gives candidates of 12 to 17 years of either sex the 1.33 points, which "
        "is not computed here."
    ),
    youngest=18,
    days=30,
)


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


CHILD_PUGH = Score(
    name="child_pugh",
    title="Child-Pugh score (cirrhosis)",
    other_names=("child turcotte pugh", "child-pugh score", "ctp", "child pugh class"),
    inputs=(
        BILIRUBIN,
        Input(
            "biliary_cirrhosis",
            "Primary biliary cholangitis or sclerosing cholangitis (other limits for bilirubin)",
            after="bilirubin",
        ),
        ALBUMIN,
        Input("inr", INR.label, "number", "", (), INR.low, INR.high, instead="pt_prolongation"),
        number("pt_prolongation", "Prothrombin time prolonged beyond the control", "s", 0, 120),
        choice("ascites", "Ascites", none="none", slight="slight, or controlled by diuretics",
               moderate="moderate to severe, or refractory"),
        choice("encephalopathy", "Hepatic encephalopathy", none="none",
               mild="grade 1 to 2, or suppressed by treatment",
               severe="grade 3 to 4, or refractory"),
    ),
    items=(
        Item("Bilirubin", ("bilirubin", "biliary_cirrhosis"), _bilirubin_points,
             {"bilirubin": (2, above(3), 4, above(10))}),
        steps("albumin", "Albumin", (_LOW, 3, "below 2.8 g/dL"), (2.8, 2, "2.8 to 3.5 g/dL"),
              (above(3.5), 1, "above 3.5 g/dL"), in_units={"g/L": (_LOW, 28, above(35))}),
        Item("Prothrombin time or INR", ("inr", "pt_prolongation"), _coagulation,
             {"inr": (1.7, above(2.3))}),
        chosen("ascites", "Ascites", {
            "none": (1, "none"),
            "slight": (2, "slight"),
            "moderate": (3, "moderate to severe"),
        }),
        chosen("encephalopathy", "Encephalopathy", {
            "none": (1, "none"),
            "mild": (2, "grade 1 to 2"),
            "severe": (3, "grade 3 to 4"),
        }),
    ),
    papers=(
        Paper(
            "Pugh RN, Murray-Lyon IM, Dawson JL, Pietroni MC, Williams R. Transection of the "
            "oesophagus for bleeding oesophageal varices. Br J Surg 1973;60:646-9.",
            "10.1002/bjs.1800600817",
        ),
        Paper(
            "European Association for the Study of the Liver. EASL clinical practice guidelines "
            "for the management of patients with decompensated cirrhosis. J Hepatol "
            "2018;69:406-60 (INR in place of the prothrombin time).",
            "10.1016/j.jhep.2018.03.024",
        ),
    ),
    schemes=(
        Scheme(
            "Pugh 1973",
            (
                Band(_LOW, "A", "class A, 5 to 6 points: least severe"),
                Band(7, "B", "class B, 7 to 9 points: moderately severe"),
                Band(10, "C", "class C, 10 to 15 points: most severe"),
            ),
        ),
    ),
    limits=(
        "For patients with cirrhosis. Ascites and encephalopathy are judged by the clinician; "
        "treatment changes them, and vitamin K antagonists change the INR."
    ),
    days=30,
)  # fmt: skip


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
    return Verdict(rounded(total), terms)


EGFR = Score(
    name="egfr",
    title="Estimated GFR (CKD-EPI 2021, creatinine, without race)",
    other_names=(
        "ckd-epi",
        "ckd-epi 2021",
        "egfr ckd-epi 2021",
        "gfr",
        "egfr_ckd_epi",
        "ckdepi2021",
    ),
    inputs=(CREATININE, AGE, SEX),
    rule=_egfr,
    papers=(
        Paper(
            "Inker LA, Eneanya ND, Coresh J, et al. New creatinine- and cystatin C-based equations "
            "to estimate GFR without race. N Engl J Med 2021;385:1737-49.",
            "10.1056/NEJMoa2102953",
        ),
        Paper(
            "KDIGO 2024 clinical practice guideline for the evaluation and management of chronic "
            "kidney disease. Kidney Int 2024;105(4S):S117-S314.",
            "10.1016/j.kint.2023.10.018",
        ),
    ),
    schemes=(
        Scheme(
            "KDIGO 2024",
            (
                Band(_LOW, "G5", "kidney failure (below 15)"),
                Band(15, "G4", "severely decreased (15 to 29)"),
                Band(30, "G3b", "moderately to severely decreased (30 to 44)"),
                Band(45, "G3a", "mildly to moderately decreased (45 to 59)"),
                Band(60, "G2", "mildly decreased (60 to 89); no kidney disease by itself"),
                Band(90, "G1", "normal or high (90 or more); no kidney disease by itself"),
            ),
        ),
    ),
    limits=(
        "For adults with stable creatinine by an IDMS-traceable assay; not in acute kidney injury, "
        "pregnancy, dialysis or unusual muscle mass. Chronic kidney disease needs 3 months."
    ),
    unit="mL/min/1.73 m²",
    youngest=18,
)


def _bmi(values: Values) -> Verdict:
    weight, height = values.number("weight"), values.number("height") / 100
    why = f"weight {values.quantity('weight')} / (height {values.quantity('height')})²"
    return Verdict(round(weight / height**2, 2), ((("weight", "height"), None, why),))


BMI = Score(
    name="bmi",
    title="Body mass index",
    other_names=("body mass index",),
    inputs=(replace(WEIGHT, low=20), replace(HEIGHT, low=80)),
    rule=_bmi,
    papers=(
        Paper(
            "Keys A, Fidanza F, Karvonen MJ, Kimura N, Taylor HL. Indices of relative weight and "
            "obesity. J Chronic Dis 1972;25:329-43.",
            "10.1016/0021-9681(72)90027-6",
        ),
        Paper(
            "Obesity: preventing and managing the global epidemic. WHO Technical Report Series "
            "894. Geneva: World Health Organization; 2000."
        ),
    ),
    schemes=(
        Scheme(
            "WHO, adults",
            (
                Band(_LOW, "underweight", "below 18.5"),
                Band(18.5, "normal weight", "18.5 to 24.99"),
                Band(25, "overweight (pre-obese)", "25 to 29.99"),
                Band(30, "obesity class I", "30 to 34.99"),
                Band(35, "obesity class II", "35 to 39.99"),
                Band(40, "obesity class III", "40 or more"),
            ),
        ),
    ),
    limits=(
        "The classes hold for adults of 20 years and more; children need percentiles by age. "
        "Not for pregnancy, oedema or ascites; in Asian populations risk rises from 23 kg/m²."
    ),
    unit="kg/m²",
    digits=2,
    youngest=20,
)

SCORES = (MELD, MELD_NA, MELD_3, CHILD_PUGH, EGFR, BMI)
