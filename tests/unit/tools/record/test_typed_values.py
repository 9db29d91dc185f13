"""Values of a score that a question gives in words: read, never guessed."""

from __future__ import annotations

import pytest

from app.tools.record.scores.catalogue import find_score
from app.tools.record.scores.typed_values import typed_values


def read(score: str, text: str) -> dict[str, str]:
    found = typed_values(find_score(score), text).values
    return {
        name: ("yes" if value else "no") if isinstance(value, bool) else str(value)
        for name, value in found.items()
    }


CURB = {"age": "70 years", "urea": "8 mmol/L", "respiratory_rate": "32 /min"}
PRESSURE = {"systolic_bp": "88 mmHg", "diastolic_bp": "50 mmHg"}


@pytest.mark.parametrize(
    ("score", "text", "expected"),
    [
        (
            "curb65",
            "CURB-65 with urea 8 mmol/L, respiratory rate 32, BP 88/50, age 70, confused",
            {**CURB, **PRESSURE, "confusion": "yes"},
        ),
        ("curb65", "curb 65: 70 yo, RR 32, urea of 8 mmol/l", CURB),
        ("curb65", "70-year-old, RR: 32/min, urea = 8 mmol/L", CURB),
        ("curb65", "CURB65 RR 88/50", PRESSURE),
        ("curb65", "BP is 88 / 50 mmHg", PRESSURE),
        ("curb65", "not confused", {"confusion": "no"}),
        ("curb65", "possibly confused", {}),
        ("curb65", "age 70, aged 71", {}),
        ("curb65", "no confusion, age 65", {"confusion": "no", "age": "65 years"}),
        ("curb65", "BUN 22 mg/dL", {"urea": "22 mg/dL"}),
        ("curb65", "Alter 70, Atemfrequenz 32, verwirrt", {
            "age": "70 years", "respiratory_rate": "32 /min", "confusion": "yes"
        }),
        ("curb65", "keine Verwirrung", {"confusion": "no"}),
        ("curb65", "nicht verwirrt", {"confusion": "no"}),
        ("curb65", "What is the CURB-65?", {}),
        ("curb65", "CURB-65 14", {}),
        ("curb65", "urea 8", {}),
        ("curb65", "urea >8 mmol/L", {}),
        ("curb65", "confused yesterday. Today no confusion.", {}),
        ("meld", "creatinine 1.2 mg/dL, bilirubin 3 mg/dl, INR 1.8, no dialysis", {
            "creatinine": "1.2 mg/dL", "bilirubin": "3 mg/dL", "inr": "1.8",
            "dialysis_twice_last_week": "no",
        }),
        ("meld", "crea 120 µmol/l, INR 1,5", {"creatinine": "120 µmol/L", "inr": "1.5"}),
        ("meld", "creatinine 120 umol/L", {"creatinine": "120 µmol/L"}),
        ("meld", "creatinine 1.2 mmol/L", {}),
        ("meld_3", "MELD 3.0 sodium 130, female", {"sodium": "130 mmol/L", "sex": "female"}),
        ("egfr", "70 year old woman creatinine 1.1 mg/dL", {
            "age": "70 years", "sex": "female", "creatinine": "1.1 mg/dL"
        }),
        ("egfr", "eGFR 70F crea 1.1 mg/dl", {
            "age": "70 years", "sex": "female", "creatinine": "1.1 mg/dL"
        }),
        ("egfr", "62 m, creatinine 0.9 mg/dL", {
            "age": "62 years", "sex": "male", "creatinine": "0.9 mg/dL"
        }),
        ("bmi", "BMI 80 kg 180 cm", {"weight": "80 kg", "height": "180 cm"}),
        ("bmi", "weight 80 kg height 1.80 m", {"weight": "80 kg", "height": "1.8 m"}),
        ("bmi", "wiegt 80 kg, Größe 180 cm", {"weight": "80 kg", "height": "180 cm"}),
        ("bmi", "BMI 80 180", {}),
        ("wells_pe", "HR 110, hemoptysis, no history of DVT, no cancer", {
            "heart_rate": "110 /min", "hemoptysis": "yes", "previous_dvt_or_pe": "no",
            "active_cancer": "no",
        }),
        ("wells_pe", "pulse 96, denies hemoptysis or cancer", {
            "heart_rate": "96 /min", "hemoptysis": "no", "active_cancer": "no"
        }),
        ("centor", "fever, no cough, exudate, tender nodes", {
            "fever": "yes", "cough": "no", "tonsillar_exudate": "yes",
            "tender_anterior_nodes": "yes",
        }),
        ("gcs", "GCS E4 V5 M6", {"eye": "4", "verbal": "5", "motor": "6"}),
        ("gcs", "eyes 3, verbal 4, motor 6", {"eye": "3", "verbal": "4", "motor": "6"}),
        ("gcs", "E4 VT M6", {"eye": "4", "motor": "6"}),
        ("qsofa", "rr 24 sbp 95 gcs 14", {
            "respiratory_rate": "24 /min", "systolic_bp": "95 mmHg", "gcs": "14"
        }),
        ("cha2ds2_vasc", "CHA2DS2-VASc 76 yo male, hypertension, diabetes, no stroke", {
            "age": "76 years", "sex": "male", "hypertension": "yes", "diabetes": "yes",
            "stroke_or_tia": "no",
        }),
        ("fleischner", "65 yo, 7 mm solid nodule, high risk", {
            "age": "65 years", "size": "7 mm", "nodule_type": "solid", "risk": "high"
        }),
        ("child_pugh", "bilirubin 2.5 mg/dL albumin 3.1 g/dL no ascites no encephalopathy", {
            "bilirubin": "2.5 mg/dL", "albumin": "3.1 g/dL", "ascites": "none",
            "encephalopathy": "none",
        }),
        ("perc", "age 45, HR 80, sats 97%, no hemoptysis", {
            "age": "45 years", "heart_rate": "80 /min", "spo2": "97 %", "hemoptysis": "no"
        }),
        ("curb65", "", {}),
    ],
)  # fmt: skip
def test_values_in_words(score: str, text: str, expected: dict[str, str]) -> None:
    assert read(score, text) == expected


@pytest.mark.parametrize(
    ("score", "text", "told"),
    [
        ("curb65", "CURB-65 14", "the number 14"),
        ("curb65", "urea 8", "could be mmol/L or mg/dL"),
        ("curb65", "urea >8 mmol/L", "leaves the value open"),
        ("curb65", "confused yesterday. Today no confusion.", "present and absent"),
        ("curb65", "age 70, aged 71", "several values"),
        ("meld", "creatinine 1.2 mmol/L", "is not accepted"),
        ("meld", "creatinine 30", "could be"),
        ("bmi", "BMI 80 180", "the number 180"),
        ("curb65", "age 700", "plausible range"),
    ],
)
def test_what_cannot_be_used_is_told(score: str, text: str, told: str) -> None:
    assert told in "; ".join(typed_values(find_score(score), text).unused)


@pytest.mark.parametrize(
    ("score", "text", "given", "told"),
    [
        (
            "wells_pe",
            "no signs of DVT, recent surgery, PE most likely, no previous DVT or PE",
            {"immobilization_or_surgery": True, "pe_most_likely": True, "dvt_signs": False},
            "",
        ),
        ("cha2ds2_vasc", "hypertension ruled out, diabetes", {"hypertension": False}, ""),
        ("curb_65", "BP 120/80 then 85/50", {}, "the values 85/50"),
        ("curb_65", "breathing 24/min", {"respiratory_rate": None}, "the number 24"),
        ("bmi", "1,80 m and 85,5 kg", {"age": None}, ""),
        ("curb_65", "temp 101 F, confused", {"age": None, "confusion": True}, "the number 101"),
        ("cha2ds2_vasc", "diabetes for 20 years", {"age": None}, "the number 20"),
        ("wells_dvt", "calf swelling 1 cm", {"calf_swelling": None}, "yes or no, not a number"),
    ],
)
def test_what_once_gave_wrong_points_or_was_swallowed(
    score: str, text: str, given: dict[str, bool | None], told: str
) -> None:
    found = typed_values(find_score(score), text)
    assert {name: found.values.get(name) for name in given} == given
    assert told in "; ".join(found.unused)
