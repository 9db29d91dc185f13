"""Worked examples and boundary cases of the scores, each from its paper's own table.

Totals are counted by hand from the paper (or are figures that another program publishes, where it
is named); none is taken from what this program gives.
"""

from __future__ import annotations

from typing import Any, NamedTuple


class Case(NamedTuple):
    """One example: the score, its inputs, the total or category, the band, and where it is from."""

    score: str
    inputs: dict[str, Any]
    total: float | str
    band: str | None
    source: str


def mg(value: float) -> dict[str, Any]:
    """A value in mg/dL."""
    return {"value": value, "unit": "mg/dL"}


def micro(value: float) -> dict[str, Any]:
    """A value in µmol/L."""
    return {"value": value, "unit": "umol/L"}


def none_of(*names: str) -> dict[str, Any]:
    """All of these are "no"."""
    return dict.fromkeys(names, False)


_DVT = none_of(
    *("active_cancer", "paralysis_or_plaster", "bedridden_or_surgery", "deep_vein_tenderness"),
    *("entire_leg_swollen", "calf_swelling", "pitting_edema", "collateral_veins", "previous_dvt"),
    "alternative_diagnosis",
)
_WELLS_2003 = "Wells 2003, table 1"
WELLS_DVT = [
    *(
        Case("wells_dvt", _DVT | {name: True}, 1, "DVT unlikely", f"{_WELLS_2003}: {name}")
        for name in _DVT
        if name != "alternative_diagnosis"
    ),
    Case("wells_dvt", _DVT, 0, "DVT unlikely", _WELLS_2003),
    Case("wells_dvt", _DVT | {"alternative_diagnosis": True}, -2, "DVT unlikely", "the lowest"),
    Case("wells_dvt", dict.fromkeys(_DVT, True), 7, "DVT likely", "9 criteria less 2"),
    Case("wells_dvt", dict.fromkeys(_DVT, True) | {"alternative_diagnosis": False}, 9,
         "DVT likely", "the highest"),
    Case("wells_dvt", _DVT | {"calf_swelling": True}, 1, "DVT unlikely", "below the limit of 2"),
    Case("wells_dvt", _DVT | {"calf_swelling": True, "previous_dvt": True}, 2, "DVT likely",
         "at the limit of 2"),
    Case("wells_dvt", _DVT | {"active_cancer": True, "entire_leg_swollen": True,
         "pitting_edema": True, "alternative_diagnosis": True}, 1, "DVT unlikely", _WELLS_2003),
    Case("wells_dvt", _DVT | {"paralysis_or_plaster": True, "deep_vein_tenderness": True,
         "collateral_veins": True, "bedridden_or_surgery": True}, 4, "DVT likely", _WELLS_2003),
]  # fmt: skip

_PE = none_of(
    *("dvt_signs", "pe_most_likely", "immobilization_or_surgery", "previous_dvt_or_pe"),
    *("hemoptysis", "active_cancer"),
) | {"heart_rate": 80}
WELLS_PE = [
    *(
        Case("wells_pe", _PE | {name: True}, points, "PE unlikely", f"Wells 2000, table 2: {name}")
        for name, points in (
            *(("dvt_signs", 3), ("pe_most_likely", 3), ("immobilization_or_surgery", 1.5)),
            *(("previous_dvt_or_pe", 1.5), ("hemoptysis", 1), ("active_cancer", 1)),
        )
    ),
    Case("wells_pe", _PE, 0, "PE unlikely", "Wells 2000, table 2"),
    Case("wells_pe", dict.fromkeys(_PE, True) | {"heart_rate": 101}, 12.5, "PE likely",
         "3 + 3 + 1.5 + 1.5 + 1.5 + 1 + 1"),
    Case("wells_pe", _PE | {"heart_rate": 100}, 0, "PE unlikely", "100 is not above 100"),
    Case("wells_pe", _PE | {"heart_rate": 101}, 1.5, "PE unlikely", "101 is above 100"),
    Case("wells_pe", _PE | {"pe_most_likely": True, "hemoptysis": True}, 4, "PE unlikely",
         "4 is still unlikely"),
    Case("wells_pe", _PE | {"pe_most_likely": True, "heart_rate": 120}, 4.5, "PE likely",
         "4.5 is likely"),
    Case("wells_pe", _PE | {"dvt_signs": True, "active_cancer": True,
         "previous_dvt_or_pe": True}, 5.5, "PE likely", "3 + 1 + 1.5"),
    Case("wells_pe", _PE | {"immobilization_or_surgery": True, "hemoptysis": True}, 2.5,
         "PE unlikely", "1.5 + 1"),
]  # fmt: skip

_PERC = none_of(
    *("leg_swelling", "hemoptysis", "recent_surgery_or_trauma", "previous_dvt_or_pe"),
    "estrogen_use",
) | {"age": 40, "heart_rate": 80, "spo2": 98}
PERC = [
    Case("perc", _PERC, 0, "PERC negative", "Kline 2004: all eight fulfilled"),
    Case("perc", _PERC | {"age": 49}, 0, "PERC negative", "age below 50"),
    Case("perc", _PERC | {"age": 50}, 1, "PERC positive", "age 50"),
    Case("perc", _PERC | {"heart_rate": 99}, 0, "PERC negative", "pulse below 100"),
    Case("perc", _PERC | {"heart_rate": 100}, 1, "PERC positive", "pulse 100"),
    Case("perc", _PERC | {"spo2": 95}, 0, "PERC negative", "saturation above 94%"),
    Case("perc", _PERC | {"spo2": 94}, 1, "PERC positive", "saturation 94%"),
    Case("perc", _PERC | {"estrogen_use": True}, 1, "PERC positive", "oestrogen"),
    Case("perc", dict.fromkeys(_PERC, True) | {"age": 70, "heart_rate": 130, "spo2": 80}, 8,
         "PERC positive", "none fulfilled"),
]  # fmt: skip

_GENEVA = none_of(
    *("previous_dvt_or_pe", "surgery_or_fracture", "active_malignancy", "unilateral_leg_pain"),
    *("hemoptysis", "leg_palpation_pain_and_edema"),
) | {"age": 40, "heart_rate": 70}
GENEVA = [
    *(
        Case("revised_geneva", _GENEVA | {name: True}, points, "intermediate" if points > 3 else
             "low", f"Le Gal 2006, table 3: {name}")
        for name, points in (
            *(("previous_dvt_or_pe", 3), ("surgery_or_fracture", 2), ("active_malignancy", 2)),
            *(("unilateral_leg_pain", 3), ("hemoptysis", 2), ("leg_palpation_pain_and_edema", 4)),
        )
    ),
    Case("revised_geneva", _GENEVA, 0, "low", "Le Gal 2006, table 3"),
    Case("revised_geneva", dict.fromkeys(_GENEVA, True) | {"age": 66, "heart_rate": 95}, 22,
         "high", "1 + 3 + 2 + 2 + 3 + 2 + 5 + 4"),
    Case("revised_geneva", _GENEVA | {"age": 65}, 0, "low", "65 is not above 65"),
    Case("revised_geneva", _GENEVA | {"age": 66}, 1, "low", "66 is above 65"),
    Case("revised_geneva", _GENEVA | {"heart_rate": 74}, 0, "low", "pulse below 75"),
    Case("revised_geneva", _GENEVA | {"heart_rate": 75}, 3, "low", "pulse 75 to 94; 3 is low"),
    Case("revised_geneva", _GENEVA | {"heart_rate": 94, "age": 66}, 4, "intermediate",
         "4 is intermediate"),
    Case("revised_geneva", _GENEVA | {"heart_rate": 95}, 5, "intermediate", "pulse 95"),
    Case("revised_geneva", _GENEVA | {"heart_rate": 95, "previous_dvt_or_pe": True,
         "hemoptysis": True}, 10, "intermediate", "10 is intermediate"),
    Case("revised_geneva", _GENEVA | {"heart_rate": 80, "leg_palpation_pain_and_edema": True,
         "surgery_or_fracture": True, "active_malignancy": True}, 11, "high", "11 is high"),
]  # fmt: skip

_AF = none_of(
    *("heart_failure", "hypertension", "diabetes", "stroke_or_tia", "thromboembolism"),
    *("previous_mi", "peripheral_artery_disease", "aortic_plaque"),
) | {"age": 50, "sex": "male"}
CHA2DS2_VASC = [
    *(
        Case("cha2ds2_vasc", _AF | {name: True}, points, band, f"Lip 2010, table 2: {name}")
        for name, points, band in (
            *((name, 2, "high") for name in ("stroke_or_tia", "thromboembolism")),
            *(
                (name, 1, "intermediate")
                for name in (
                    *("heart_failure", "hypertension", "diabetes", "previous_mi"),
                    *("peripheral_artery_disease", "aortic_plaque"),
                )
            ),
        )
    ),
    Case("cha2ds2_vasc", _AF, 0, "low", "Lip 2010, table 2"),
    Case("cha2ds2_vasc", dict.fromkeys(_AF, True) | {"age": 80, "sex": "female"}, 9, "high",
         "the highest: vascular disease and stroke count once each"),
    Case("cha2ds2_vasc", _AF | {"age": 64}, 0, "low", "64"),
    Case("cha2ds2_vasc", _AF | {"age": 65}, 1, "intermediate", "65 to 74"),
    Case("cha2ds2_vasc", _AF | {"age": 74}, 1, "intermediate", "74"),
    Case("cha2ds2_vasc", _AF | {"age": 75}, 2, "high", "75"),
    Case("cha2ds2_vasc", _AF | {"sex": "female"}, 1, "intermediate", "female sex"),
    Case("cha2ds2_vasc", _AF | {"previous_mi": True, "peripheral_artery_disease": True,
         "aortic_plaque": True}, 1, "intermediate", "three vascular conditions are one point"),
    Case("cha2ds2_vasc", _AF | {"stroke_or_tia": True, "thromboembolism": True}, 2, "high",
         "stroke and embolism are two points together"),
    Case("cha2ds2_vasc", _AF | {"age": 72, "sex": "female", "hypertension": True,
         "diabetes": True}, 4, "high", "1 + 1 + 1 + 1"),
]  # fmt: skip

_BLED = none_of(
    *("dialysis", "renal_transplant", "chronic_liver_disease", "liver_enzymes_raised", "stroke"),
    *("bleeding_history", "bleeding_predisposition", "labile_inr", "antiplatelets_or_nsaids"),
    "alcohol",
) | {"systolic_bp": 130, "creatinine": micro(80), "age": 60}
HAS_BLED = [
    *(
        Case("has_bled", _BLED | {name: True}, 1, "not high", f"Pisters 2010, table 3: {name}")
        for name, value in _BLED.items()
        if value is False
    ),
    Case("has_bled", _BLED, 0, "not high", "Pisters 2010, table 3"),
    Case("has_bled", dict.fromkeys(_BLED, True) | {"systolic_bp": 170, "creatinine": micro(300),
         "age": 70}, 9, "high", "the highest"),
    Case("has_bled", _BLED | {"systolic_bp": 160}, 0, "not high", "160 is not above 160"),
    Case("has_bled", _BLED | {"systolic_bp": 161}, 1, "not high", "161 is above 160"),
    Case("has_bled", _BLED | {"creatinine": micro(199)}, 0, "not high", "below 200 µmol/L"),
    Case("has_bled", _BLED | {"creatinine": micro(200)}, 1, "not high", "200 µmol/L"),
    Case("has_bled", _BLED | {"creatinine": mg(2.26)}, 0, "not high", "2.26 mg/dL is 199.8"),
    Case("has_bled", _BLED | {"creatinine": mg(2.27), "dialysis": True}, 1, "not high",
         "kidney counts once"),
    Case("has_bled", _BLED | {"age": 65}, 0, "not high", "65 is not above 65"),
    Case("has_bled", _BLED | {"age": 66, "stroke": True, "labile_inr": True}, 3, "high", "3"),
    Case("has_bled", _BLED | {"bleeding_history": True, "bleeding_predisposition": True,
         "chronic_liver_disease": True, "liver_enzymes_raised": True}, 2, "not high",
         "bleeding once, liver once"),
]  # fmt: skip

_CORONARY = none_of(
    *("family_history_cad", "hypertension", "hypercholesterolemia", "diabetes", "current_smoker"),
)
_TIMI = (
    _CORONARY
    | none_of(
        *("known_cad", "aspirin_last_7_days", "severe_angina", "st_deviation"),
        "raised_cardiac_markers",
    )
    | {"age": 50}
)
TIMI = [
    *(
        Case("timi", _TIMI | {name: True}, 1, "low", f"Antman 2000, table 2: {name}")
        for name in (
            *("known_cad", "aspirin_last_7_days", "severe_angina", "st_deviation"),
            "raised_cardiac_markers",
        )
    ),
    Case("timi", _TIMI, 0, "low", "Antman 2000, table 2"),
    Case("timi", dict.fromkeys(_TIMI, True) | {"age": 80}, 7, "high", "the highest"),
    Case("timi", _TIMI | {"age": 64}, 0, "low", "64"),
    Case("timi", _TIMI | {"age": 65}, 1, "low", "65"),
    Case("timi", _TIMI | {"diabetes": True, "hypertension": True}, 0, "low", "two risk factors"),
    Case("timi", _TIMI | {"diabetes": True, "hypertension": True, "current_smoker": True}, 1,
         "low", "three risk factors"),
    Case("timi", _TIMI | dict.fromkeys(_CORONARY, True), 1, "low", "five risk factors are 1"),
    Case("timi", _TIMI | {"known_cad": True, "aspirin_last_7_days": True, "st_deviation": True},
         3, "intermediate", "1 + 1 + 1"),
    Case("timi", _TIMI | {"known_cad": True, "aspirin_last_7_days": True, "st_deviation": True,
         "severe_angina": True, "raised_cardiac_markers": True}, 5, "high", "five"),
]  # fmt: skip

_HEART = (
    _CORONARY
    | none_of("atherosclerotic_disease", "obesity")
    | {"history": "slightly", "ecg": "normal", "age": 30, "troponin_ratio": 0.5}
)
HEART = [
    Case("heart", _HEART, 0, "low", "Six 2008, table 1"),
    Case("heart", _HEART | {"history": "highly", "ecg": "st_deviation", "age": 70,
         "atherosclerotic_disease": True, "troponin_ratio": 5}, 10, "high", "the highest"),
    Case("heart", _HEART | {"age": 44}, 0, "low", "younger than 45"),
    Case("heart", _HEART | {"age": 45}, 1, "low", "45"),
    Case("heart", _HEART | {"age": 65}, 2, "low", "65"),
    Case("heart", _HEART | {"troponin_ratio": 1}, 0, "low", "at the limit"),
    Case("heart", _HEART | {"troponin_ratio": 2.9}, 1, "low", "1 to 3 times"),
    Case("heart", _HEART | {"troponin_ratio": 3}, 2, "low", "3 times (Backus 2013)"),
    Case("heart", _HEART | {"diabetes": True, "obesity": True}, 1, "low", "1 or 2 risk factors"),
    Case("heart", _HEART | {"diabetes": True, "obesity": True, "hypertension": True,
         "history": "moderately", "ecg": "nonspecific"}, 4, "moderate", "2 + 1 + 1"),
    Case("heart", _HEART | {"history": "highly", "ecg": "st_deviation", "age": 66,
         "diabetes": True}, 7, "high", "2 + 2 + 2 + 1"),
]  # fmt: skip

_CURB = {
    "confusion": False,
    "urea": {"value": 5, "unit": "mmol/L"},
    "respiratory_rate": 18,
    "systolic_bp": 120,
    "diastolic_bp": 75,
    "age": 40,
}
CURB65 = [
    Case("curb_65", _CURB, 0, "low", "Lim 2003"),
    Case("curb_65", {"confusion": True, "urea": {"value": 9, "unit": "mmol/L"},
         "respiratory_rate": 34, "systolic_bp": 80, "diastolic_bp": 50, "age": 80}, 5, "high",
         "the highest"),
    Case("curb_65", _CURB | {"urea": {"value": 7, "unit": "mmol/L"}}, 0, "low", "not above 7"),
    Case("curb_65", _CURB | {"urea": {"value": 7.1, "unit": "mmol/L"}}, 1, "low", "above 7"),
    Case("curb_65", _CURB | {"respiratory_rate": 29}, 0, "low", "29"),
    Case("curb_65", _CURB | {"respiratory_rate": 30, "age": 65}, 2, "intermediate", "30 and 65"),
    Case("curb_65", _CURB | {"systolic_bp": 90, "diastolic_bp": 61}, 0, "low", "90 and 61"),
    Case("curb_65", _CURB | {"systolic_bp": 89}, 1, "low", "below 90"),
    Case("curb_65", _CURB | {"diastolic_bp": 60}, 1, "low", "60 or less"),
    Case("curb_65", _CURB | {"systolic_bp": 85, "diastolic_bp": 50}, 1, "low", "counts once"),
    Case("curb_65", {k: v for k, v in _CURB.items() if k != "urea"} | {"bun": mg(19)}, 0, "low",
         "BUN 19 mg/dL is 6.8 mmol/L of urea"),
    Case("curb_65", {k: v for k, v in _CURB.items() if k != "urea"} | {"bun": mg(20)}, 1, "low",
         "BUN 20 mg/dL is 7.1 mmol/L of urea (IDSA/ATS 2007: 20 or more)"),
]  # fmt: skip

_QSOFA = {"respiratory_rate": 16, "altered_mentation": False, "systolic_bp": 120}
QSOFA = [
    Case("qsofa", _QSOFA, 0, "negative", "Singer 2016, box 4"),
    Case("qsofa", {"respiratory_rate": 22, "altered_mentation": True, "systolic_bp": 100}, 3,
         "positive", "the highest"),
    Case("qsofa", _QSOFA | {"respiratory_rate": 21}, 0, "negative", "21"),
    Case("qsofa", _QSOFA | {"respiratory_rate": 22}, 1, "negative", "22"),
    Case("qsofa", _QSOFA | {"systolic_bp": 101}, 0, "negative", "101"),
    Case("qsofa", _QSOFA | {"systolic_bp": 100}, 1, "negative", "100"),
    Case("qsofa", {"respiratory_rate": 16, "gcs": 15, "systolic_bp": 120}, 0, "negative", "15"),
    Case("qsofa", {"respiratory_rate": 25, "gcs": 14, "systolic_bp": 120}, 2, "positive", "14"),
]  # fmt: skip

_SOFA = {
    "pao2": {"value": 95, "unit": "mmHg"},
    "fio2": 0.21,
    "respiratory_support": False,
    "platelets": 250,
    "bilirubin": mg(0.8),
    "mean_arterial_pressure": 85,
    "vasopressors": False,
    "gcs": 15,
    "creatinine": mg(0.9),
    "urine_output": 1500,
}
_NO_DOSE = {"vasopressors": True, "dopamine": 0, "dobutamine": 0, "epinephrine": 0,
            "norepinephrine": 0}  # fmt: skip
SOFA = [
    Case("sofa", _SOFA, 0, "0 to 1", "Vincent 1996, table 3"),
    Case("sofa", {"pao2": {"value": 60, "unit": "mmHg"}, "fio2": 1.0, "respiratory_support": True,
         "platelets": 15, "bilirubin": mg(14), "mean_arterial_pressure": 50, **_NO_DOSE,
         "norepinephrine": 0.4, "gcs": 4, "creatinine": mg(6), "urine_output": 100}, 24,
         "above 11", "the highest"),
    Case("sofa", _SOFA | {"pao2": {"value": 84, "unit": "mmHg"}}, 0, "0 to 1",
         "84 / 0.21 = 400"),
    Case("sofa", _SOFA | {"pao2": {"value": 90, "unit": "mmHg"}, "fio2": {"value": 60,
         "unit": "%"}}, 2, "2 to 3", "150 without support stays 2"),
    Case("sofa", _SOFA | {"pao2": {"value": 12, "unit": "kPa"}, "fio2": 0.6,
         "respiratory_support": True}, 3, "2 to 3", "12 kPa is 90 mmHg: 150 with support"),
    Case("sofa", _SOFA | {"platelets": 149, "bilirubin": mg(1.2), "gcs": 14,
         "creatinine": mg(1.2), "mean_arterial_pressure": 69}, 5, "4 to 5", "1 for each of five"),
    Case("sofa", _SOFA | {"platelets": 99, "bilirubin": mg(2.0), "gcs": 12,
         "creatinine": mg(2.0), **_NO_DOSE, "dopamine": 5}, 10, "10 to 11", "2 for each of five"),
    Case("sofa", _SOFA | {"platelets": 49, "bilirubin": mg(6.0), "gcs": 9,
         "creatinine": mg(3.5), **_NO_DOSE, "epinephrine": 0.1}, 15, "above 11",
         "3 for each of five"),
    Case("sofa", _SOFA | {"platelets": 19, "bilirubin": mg(12), "gcs": 5,
         "creatinine": mg(5.0), **_NO_DOSE, "dopamine": 15.1}, 20, "above 11",
         "4 for each of five"),
    Case("sofa", _SOFA | {"urine_output": 499}, 3, "2 to 3", "below 500 mL"),
    Case("sofa", _SOFA | {"urine_output": 199, "creatinine": mg(2.5)}, 4, "4 to 5",
         "the worse of both"),
    Case("sofa", _SOFA | {"creatinine": micro(171), "bilirubin": micro(33)}, 4, "4 to 5",
         "table in µmol/L: 171 and 33 are 2 each"),
    Case("sofa", _SOFA | {"creatinine": micro(440), "bilirubin": micro(204)}, 6, "6 to 7",
         "table in µmol/L: 440 and 204 are 3 each"),
    Case("sofa", _SOFA | {**_NO_DOSE, "dopamine": 5.1}, 3, "2 to 3", "dopamine above 5"),
    Case("sofa", _SOFA | {**_NO_DOSE, "norepinephrine": 0.1}, 3, "2 to 3", "norepinephrine 0.1"),
    Case("sofa", _SOFA | {**_NO_DOSE, "epinephrine": 0.11}, 4, "4 to 5", "epinephrine above 0.1"),
    Case("sofa", _SOFA | {**_NO_DOSE, "dobutamine": 3}, 2, "2 to 3", "dobutamine, any dose"),
]  # fmt: skip

GCS = [
    *(
        Case("gcs", {"eye": 1, "verbal": 1, "motor": 1} | {name: level}, 2 + level, "severe",
             f"Teasdale 2014: {name} {level}")
        for name, most in (("eye", 4), ("verbal", 5), ("motor", 6))
        for level in range(2, most + 1)
    ),
    Case("gcs", {"eye": 4, "verbal": 5, "motor": 6}, 15, "mild", "Teasdale 2014: the highest"),
    Case("gcs", {"eye": 1, "verbal": 1, "motor": 1}, 3, "severe", "the lowest"),
    Case("gcs", {"eye": 3, "verbal": 4, "motor": 6}, 13, "mild", "13"),
    Case("gcs", {"eye": 3, "verbal": 4, "motor": 5}, 12, "moderate", "12"),
    Case("gcs", {"eye": 2, "verbal": 2, "motor": 5}, 9, "moderate", "9"),
    Case("gcs", {"eye": 2, "verbal": 2, "motor": 4}, 8, "severe", "8"),
    Case("gcs", {"eye": "spontaneous", "verbal": "confused", "motor": "obeys commands"}, 14,
         "mild", "4 + 4 + 6, by words"),
    Case("gcs", {"eye": "to sound", "verbal": "words", "motor": "localising"}, 11, "moderate",
         "3 + 3 + 5, by words"),
    Case("gcs", {"eye": "none", "verbal": "sounds", "motor": "extension"}, 5, "severe",
         "1 + 2 + 2, by words"),
]  # fmt: skip

_MOST = {
    "consciousness": 3, "loc_questions": 2, "loc_commands": 2, "gaze": 2, "visual": 3,
    "facial_palsy": 3, "left_arm": 4, "right_arm": 4, "left_leg": 4, "right_leg": 4, "ataxia": 2,
    "sensory": 2, "language": 3, "dysarthria": 2, "neglect": 2,
}  # fmt: skip
_NONE = dict.fromkeys(_MOST, 0)
NIHSS = [
    *(
        Case("nihss", _NONE | {name: level}, level, "minor stroke", f"NINDS form: {name} {level}")
        for name, most in _MOST.items()
        for level in range(1, most + 1)
    ),
    Case("nihss", _NONE, 0, "no stroke symptoms", "NINDS form"),
    Case("nihss", _MOST, 42, "severe stroke", "the highest of the NINDS form"),
    Case("nihss", _NONE | {"facial_palsy": 1}, 1, "minor stroke", "1"),
    Case("nihss", _NONE | {"right_arm": 4}, 4, "minor stroke", "4"),
    Case("nihss", _NONE | {"right_arm": 4, "language": 1}, 5, "moderate stroke", "5"),
    Case("nihss", _NONE | {"left_arm": 4, "left_leg": 4, "facial_palsy": 2, "gaze": 2,
         "sensory": 2, "neglect": 1}, 15, "moderate stroke", "15"),
    Case("nihss", _NONE | {"left_arm": 4, "left_leg": 4, "facial_palsy": 2, "gaze": 2,
         "sensory": 2, "neglect": 2}, 16, "moderate to severe stroke", "16"),
    Case("nihss", _NONE | {"right_arm": 4, "right_leg": 4, "facial_palsy": 3, "gaze": 2,
         "sensory": 2, "language": 3, "visual": 2, "loc_questions": 1}, 21, "severe stroke", "21"),
    Case("nihss", _NONE | {"left_leg": "UN", "ataxia": "UN", "dysarthria": "UN", "visual": 2}, 2,
         "minor stroke", "what cannot be tested is not added (NINDS)"),
]  # fmt: skip

_THROAT = {"tonsillar_exudate": False, "tender_anterior_nodes": False, "cough": True}
_CENTOR = _THROAT | {"fever": False}
CENTOR = [
    Case("centor", _CENTOR, 0, "0 to 2", "Centor 1981"),
    Case("centor", {"tonsillar_exudate": True, "tender_anterior_nodes": True, "cough": False,
         "fever": True}, 4, "3 to 4", "the highest"),
    Case("centor", _CENTOR | {"cough": False}, 1, "0 to 2", "absence of cough"),
    Case("centor", _CENTOR | {"fever": True}, 1, "0 to 2", "fever"),
    Case("centor", _CENTOR | {"tonsillar_exudate": True}, 1, "0 to 2", "exudate"),
    Case("centor", _CENTOR | {"tender_anterior_nodes": True}, 1, "0 to 2", "nodes"),
    Case("centor", _CENTOR | {"cough": False, "fever": True}, 2, "0 to 2", "2"),
    Case("centor", _CENTOR | {"cough": False, "fever": True, "tonsillar_exudate": True}, 3,
         "3 to 4", "3"),
]  # fmt: skip
_MCISAAC = _THROAT | {"temperature": 37.0, "age": 30}
MCISAAC = [
    Case("mcisaac", _MCISAAC, 0, "1 or less", "McIsaac 1998, table 3"),
    Case("mcisaac", {"tonsillar_exudate": True, "tender_anterior_nodes": True, "cough": False,
         "temperature": 39, "age": 10}, 5, "4 or more", "the highest"),
    Case("mcisaac", _MCISAAC | {"age": 60}, -1, "1 or less", "the lowest"),
    Case("mcisaac", _MCISAAC | {"age": 14}, 1, "1 or less", "14"),
    Case("mcisaac", _MCISAAC | {"age": 15}, 0, "1 or less", "15"),
    Case("mcisaac", _MCISAAC | {"age": 44}, 0, "1 or less", "44"),
    Case("mcisaac", _MCISAAC | {"age": 45}, -1, "1 or less", "45"),
    Case("mcisaac", _MCISAAC | {"temperature": 38.0}, 0, "1 or less", "38 is not above 38"),
    Case("mcisaac", _MCISAAC | {"temperature": {"value": 101.3, "unit": "degF"}, "cough": False},
         2, "2 to 3", "101.3 °F is 38.5 °C"),
    Case("mcisaac", _MCISAAC | {"temperature": 38.5, "cough": False, "tonsillar_exudate": True,
         "tender_anterior_nodes": True}, 4, "4 or more", "4"),
]  # fmt: skip


def liver(creatinine: float, bilirubin: float, inr: float, **more: Any) -> dict[str, Any]:
    """The inputs of MELD, with creatinine and bilirubin in mg/dL."""
    base = {"creatinine": mg(creatinine), "bilirubin": mg(bilirubin), "inr": inr}
    return base | {"dialysis_twice_last_week": False} | more


_AMELD = "R package ameld, its tests (Leipzig)"
_TRANSPLANTR = "R package transplantr, its tests"
MELD = [
    Case("meld", liver(1.9, 4.2, 1.2), 20, "20 to 29", f"{_AMELD}: 20.039"),
    Case("meld", {"inr": 2.0, "bilirubin": micro(54), "creatinine": micro(170),
         "dialysis_twice_last_week": False}, 25, "20 to 29", f"{_TRANSPLANTR}: 24.798"),
    Case("meld", liver(1, 1, 1), 6, "9 or less", "the lowest: 6.43"),
    Case("meld", liver(0.5, 0.3, 0.8), 6, "9 or less", "below 1 counts as 1 (UNOS)"),
    Case("meld", liver(4, 1, 1), 20, "20 to 29", "9.57 ln 4 + 6.43 = 19.70"),
    Case("meld", liver(9, 1, 1), 20, "20 to 29", "creatinine above 4 counts as 4 (UNOS)"),
    Case("meld", liver(1, 1, 1, dialysis_twice_last_week=True), 20, "20 to 29",
         "dialysis counts as creatinine 4 (UNOS)"),
    Case("meld", liver(4, 40, 6), 40, "40", "13.27 + 13.94 + 20.07 + 6.43 = 53.7, capped at 40"),
    Case("meld", liver(1, 2.57, 1), 10, "10 to 19", "3.78 ln 2.57 + 6.43 = 10.00"),
]  # fmt: skip
MELD_NA = [
    Case("meld_na", liver(1.9, 4.2, 1.2, sodium=125), 28, "15 or more", f"{_AMELD}: 28"),
    Case("meld_na", liver(1.9, 4.2, 1.2, sodium=118), 28, "15 or more", "below 125 is 125"),
    Case("meld_na", liver(1.9, 4.2, 1.2, sodium=137), 20, "15 or more", "137: no change"),
    Case("meld_na", liver(1.9, 4.2, 1.2, sodium=145), 20, "15 or more", "above 137 is 137"),
    Case("meld_na", liver(2, 2, 1.8, sodium=131), 26, "15 or more", f"{_TRANSPLANTR}: 26.257"),
    Case("meld_na", liver(1, 1, 1, sodium=125), 6, "below 15", f"{_AMELD}: below 11, no sodium"),
    Case("meld_na", liver(1, 1, 1.5, sodium=125), 11, "below 15",
         "6.43 + 4.54 = 10.97, 11: not above 11 (OPTN)"),
    Case("meld_na", liver(1, 1, 1.65, sodium=125), 23, "15 or more",
         "6.43 + 5.61 = 12; 12 + 15.84 - 4.75 = 23.09 (OPTN)"),
    Case("meld_na", liver(4, 40, 6, sodium=130), 40, "15 or more", "capped at 40"),
]  # fmt: skip


def meld3(sex: str, sodium: float, albumin: float, **values: float) -> dict[str, Any]:
    """The inputs of MELD 3.0, with 1 where a value is not given."""
    base = {name: values.get(name, 1.0) for name in ("creatinine", "bilirubin", "inr")}
    return liver(**base) | {
        "sex": sex,
        "sodium": sodium,
        "albumin": {"value": albumin, "unit": "g/dL"},
    }


MELD_3 = [
    Case("meld_3", meld3("male", 137, 3.5), 6, "below 15", "Kim 2021: the constant, 6"),
    Case("meld_3", meld3("female", 137, 3.5), 7, "below 15", "Kim 2021: 6 + 1.33"),
    Case("meld_3", meld3("male", 125, 3.5), 16, "15 or more", "6 + 0.82 * 12 = 15.84"),
    Case("meld_3", meld3("male", 110, 3.5), 16, "15 or more", "sodium below 125 is 125"),
    Case("meld_3", meld3("male", 137, 1.5), 10, "below 15", "6 + 1.85 * 2 = 9.7"),
    Case("meld_3", meld3("male", 137, 1.0), 10, "below 15", "albumin below 1.5 is 1.5"),
    Case("meld_3", meld3("male", 137, 3.5, creatinine=3), 18, "15 or more",
         "6 + 11.14 ln 3 = 18.24"),
    Case("meld_3", meld3("male", 137, 3.5, creatinine=7), 18, "15 or more",
         "creatinine above 3 is 3"),
    Case("meld_3", meld3("male", 137, 3.5, creatinine=1) | {"dialysis_twice_last_week": True}, 18,
         "15 or more", "dialysis is creatinine 3"),
    Case("meld_3", meld3("male", 137, 1.5, creatinine=3), 18, "15 or more",
         "6 + 12.238 + 3.7 - 1.83 * 2 * 1.0986 = 17.92"),
    Case("meld_3", meld3("male", 125, 3.5, bilirubin=10), 20, "15 or more",
         "6 + 10.500 + 9.84 - 0.24 * 12 * 2.3026 = 19.71"),
    Case("meld_3", meld3("female", 130, 2.5, creatinine=2, bilirubin=4, inr=2), 32, "15 or more",
         "1.33 + 6.321 + 5.74 - 2.329 + 6.301 + 7.722 + 1.85 - 1.268 + 6 = 31.67"),
]  # fmt: skip

_CHILD = {
    "bilirubin": mg(1),
    "biliary_cirrhosis": False,
    "albumin": {"value": 4, "unit": "g/dL"},
    "inr": 1.1,
    "ascites": "none",
    "encephalopathy": "none",
}
CHILD_PUGH = [
    Case("child_pugh", _CHILD, 5, "A", "Pugh 1973, table: the lowest"),
    Case("child_pugh", _CHILD | {"bilirubin": mg(4), "albumin": {"value": 2, "unit": "g/dL"},
         "inr": 2.5, "ascites": "moderate", "encephalopathy": "severe"}, 15, "C", "the highest"),
    Case("child_pugh", _CHILD | {"bilirubin": mg(2)}, 6, "A", "2 mg/dL is 2 points"),
    Case("child_pugh", _CHILD | {"bilirubin": mg(3), "inr": 2.3, "albumin": {"value": 3.5,
         "unit": "g/dL"}}, 8, "B", "3, 2.3 and 3.5 are 2 points each"),
    Case("child_pugh", _CHILD | {"bilirubin": mg(3.1), "inr": 2.4, "albumin": {"value": 2.7,
         "unit": "g/dL"}}, 11, "C", "3 points each"),
    Case("child_pugh", _CHILD | {"ascites": "slight", "encephalopathy": "mild"}, 7, "B", "7 is B"),
    Case("child_pugh", _CHILD | {"ascites": "moderate", "encephalopathy": "severe"}, 9, "B",
         "9 is B"),
    Case("child_pugh", _CHILD | {"ascites": "moderate", "encephalopathy": "severe",
         "bilirubin": mg(2.5)}, 10, "C", "10 is C"),
    Case("child_pugh", _CHILD | {"bilirubin": mg(3.9), "biliary_cirrhosis": True}, 5, "A",
         "in biliary cirrhosis below 4 is 1 point"),
    Case("child_pugh", _CHILD | {"bilirubin": mg(10), "biliary_cirrhosis": True}, 6, "A",
         "in biliary cirrhosis 4 to 10 is 2 points"),
    Case("child_pugh", {k: v for k, v in _CHILD.items() if k != "inr"} | {"pt_prolongation": 6},
         6, "A", "4 to 6 s is 2 points"),
    Case("child_pugh", _CHILD | {"bilirubin": micro(34), "albumin": {"value": 28, "unit": "g/L"}},
         7, "B", "34 µmol/L and 28 g/L are 2 points each"),
    Case("child_pugh", _CHILD | {"bilirubin": micro(51)}, 6, "A", "51 µmol/L is 2 points"),
    Case("child_pugh", _CHILD | {"bilirubin": micro(52)}, 7, "B", "52 µmol/L is 3 points"),
]  # fmt: skip


def kidney(creatinine: dict[str, Any], age: float, sex: str) -> dict[str, Any]:
    """The inputs of the estimated GFR."""
    return {"creatinine": creatinine, "age": age, "sex": sex}


_PUBLIC = "reference value in another program's tests"
EGFR = [
    Case("egfr", kidney(mg(1.14), 34, "male"), 87, "G2", f"{_PUBLIC}: 86.5"),
    Case("egfr", kidney(mg(0.8), 60, "female"), 84, "G2", f"{_PUBLIC}: 84.3"),
    Case("egfr", kidney(mg(0.9), 40, "male"), 111, "G1", f"{_PUBLIC}: 110.7"),
    Case("egfr", kidney(mg(1.1), 50, "male"), 82, "G2", f"{_PUBLIC}: 82"),
    Case("egfr", kidney(mg(1.8), 55, "male"), 44, "G3b", f"{_PUBLIC}: 43.9"),
    Case("egfr", kidney(mg(1.8), 55, "female"), 33, "G3b", f"{_PUBLIC}: 32.9"),
    Case("egfr", kidney(mg(0.7), 55, "female"), 102, "G1", "142 * 1.012 * 0.9938^55 = 102.1"),
    Case("egfr", kidney(micro(159.13), 55, "male"), 44, "G3b", "1.8 mg/dL in µmol/L"),
    Case("egfr", kidney(mg(9), 60, "male"), 6, "G5", "142 * 10^-1.2 * 0.9938^60 = 6.17"),
    Case("egfr", kidney(mg(0.45), 20, "male"), 155, "G1",
         "142 * 0.5^-0.302 * 0.9938^20 = 154.6"),
]  # fmt: skip


def body(kg: float, cm: float) -> dict[str, Any]:
    """The inputs of the body mass index."""
    return {"weight": {"value": kg, "unit": "kg"}, "height": {"value": cm, "unit": "cm"}}


BMI = [
    Case("bmi", body(73.96, 200), 18.49, "underweight", "WHO: below 18.5"),
    Case("bmi", body(74, 200), 18.5, "normal weight", "WHO: 18.5"),
    Case("bmi", body(99.96, 200), 24.99, "normal weight", "WHO: below 25"),
    Case("bmi", body(100, 200), 25, "overweight (pre-obese)", "WHO: 25"),
    Case("bmi", body(120, 200), 30, "obesity class I", "WHO: 30"),
    Case("bmi", body(140, 200), 35, "obesity class II", "WHO: 35"),
    Case("bmi", body(160, 200), 40, "obesity class III", "WHO: 40"),
    Case("bmi", {"weight": {"value": 154, "unit": "lb"}, "height": {"value": 70, "unit": "in"}},
         22.1, "normal weight", "CDC: 154 lb and 70 in are 22.1"),
    Case("bmi", body(68, 165), 24.98, "normal weight", "CDC: 68 kg and 165 cm are 24.98"),
]  # fmt: skip

_NODULE = {
    "age": 60, "known_cancer": False, "immunosuppressed": False, "screening": False,
    "multiple": False, "risk": "low",
}  # fmt: skip


def nodule(kind: str, size: float, **more: Any) -> dict[str, Any]:
    """The inputs of Fleischner 2017: one nodule, low risk unless `more` says otherwise."""
    return _NODULE | {"nodule_type": kind, "size": {"value": size, "unit": "mm"}} | more


_MACMAHON = "MacMahon 2017, table 1"
FLEISCHNER = [
    Case("fleischner", nodule("solid", 5), "no routine follow-up", None, _MACMAHON),
    Case("fleischner", nodule("solid", 5, risk="high"), "optional CT at 12 months", None,
         _MACMAHON),
    Case("fleischner", nodule("solid", 6),
         "CT at 6 to 12 months, then consider CT at 18 to 24 months", None, _MACMAHON),
    Case("fleischner", nodule("solid", 8, risk="high"),
         "CT at 6 to 12 months, then CT at 18 to 24 months", None, _MACMAHON),
    Case("fleischner", nodule("solid", 9), "consider CT at 3 months, PET/CT or tissue sampling",
         None, _MACMAHON),
    Case("fleischner", nodule("solid", 5.4), "no routine follow-up", None,
         "5.4 mm is rounded to 5"),
    Case("fleischner", nodule("solid", 5.5, risk="high"),
         "CT at 6 to 12 months, then CT at 18 to 24 months", None, "5.5 mm is rounded to 6"),
    Case("fleischner", nodule("solid", 4, multiple=True), "no routine follow-up", None, _MACMAHON),
    Case("fleischner", nodule("solid", 12, multiple=True),
         "CT at 3 to 6 months, then consider CT at 18 to 24 months", None, _MACMAHON),
    Case("fleischner", nodule("solid", 7, multiple=True, risk="high"),
         "CT at 3 to 6 months, then CT at 18 to 24 months", None, _MACMAHON),
    Case("fleischner", nodule("ground_glass", 5, risk="high"), "no routine follow-up", None,
         _MACMAHON),
    Case("fleischner", nodule("ground_glass", 6),
         "CT at 6 to 12 months to confirm that it persists, then CT every 2 years until 5 years",
         None, _MACMAHON),
    Case("fleischner", nodule("part_solid", 5), "no routine follow-up", None, _MACMAHON),
    Case("fleischner", nodule("part_solid", 8),
         "CT at 3 to 6 months to confirm that it persists; if unchanged and the solid part stays "
         "below 6 mm, CT every year for 5 years", None, _MACMAHON),
    Case("fleischner", nodule("ground_glass", 5, multiple=True),
         "CT at 3 to 6 months; if stable, consider CT at 2 and 4 years", None, _MACMAHON),
    Case("fleischner", nodule("part_solid", 9, multiple=True),
         "CT at 3 to 6 months; then as the most suspicious nodule calls for", None, _MACMAHON),
    Case("fleischner", nodule("solid", 9, age=34), "guideline does not apply", None,
         "younger than 35"),
    Case("fleischner", nodule("solid", 9, known_cancer=True), "guideline does not apply", None,
         "known cancer"),
    Case("fleischner", nodule("solid", 9, immunosuppressed=True), "guideline does not apply", None,
         "immunosuppressed"),
]  # fmt: skip


def lung(finding: str, change: str = "", size: float = 0, **more: Any) -> dict[str, Any]:
    """The inputs of Lung-RADS: a complete examination without suspicious features."""
    given: dict[str, Any] = {"exam": "complete", "finding": finding, "suspicious_features": False}
    if change:
        given["change"] = change
    if size:
        given["size"] = size
    return given | more


_ACR = "Lung-RADS v2022, table"
LUNG_RADS = [
    Case("lung_rads", {"exam": "prior_awaited"}, "0", None, _ACR),
    Case("lung_rads", {"exam": "inflammatory"}, "0", None, _ACR),
    Case("lung_rads", lung("none"), "1", None, _ACR),
    Case("lung_rads", lung("benign_features"), "1", None, _ACR),
    Case("lung_rads", lung("solid", "baseline", 5.9), "2", None, _ACR),
    Case("lung_rads", lung("solid", "baseline", 6), "3", None, _ACR),
    Case("lung_rads", lung("solid", "baseline", 8), "4A", None, _ACR),
    Case("lung_rads", lung("solid", "baseline", 14.9), "4A", None, _ACR),
    Case("lung_rads", lung("solid", "baseline", 15), "4B", None, _ACR),
    Case("lung_rads", lung("solid", "new", 3.9), "2", None, _ACR),
    Case("lung_rads", lung("solid", "new", 4), "3", None, _ACR),
    Case("lung_rads", lung("solid", "new", 6), "4A", None, _ACR),
    Case("lung_rads", lung("solid", "new", 8), "4B", None, _ACR),
    Case("lung_rads", lung("solid", "growing", 7.9), "4A", None, _ACR),
    Case("lung_rads", lung("solid", "growing", 8), "4B", None, _ACR),
    Case("lung_rads", lung("solid", "slow_growing", 5), "4B", None, f"{_ACR}, note on growth"),
    Case("lung_rads", lung("part_solid", "baseline", 5.9), "2", None, _ACR),
    Case("lung_rads", lung("part_solid", "baseline", 9, solid_component=5.9), "3", None, _ACR),
    Case("lung_rads", lung("part_solid", "baseline", 9, solid_component=6), "4A", None, _ACR),
    Case("lung_rads", lung("part_solid", "baseline", 12, solid_component=8), "4B", None, _ACR),
    Case("lung_rads", lung("part_solid", "new", 5, solid_component=2), "3", None, _ACR),
    Case("lung_rads", lung("part_solid", "new", 8, solid_component=3), "4A", None, _ACR),
    Case("lung_rads", lung("part_solid", "growing", 8, solid_component=4), "4B", None, _ACR),
    Case("lung_rads", lung("ground_glass", "baseline", 29.9), "2", None, _ACR),
    Case("lung_rads", lung("ground_glass", "new", 30), "3", None, _ACR),
    Case("lung_rads", lung("ground_glass", "slow_growing", 35), "2", None, _ACR),
    Case("lung_rads", lung("juxtapleural", "baseline", 9.9), "2", None, _ACR),
    Case("lung_rads", lung("juxtapleural", "baseline", 10), "4A", None, "as a solid nodule"),
    Case("lung_rads", lung("airway_subsegmental", "new"), "2", None, _ACR),
    Case("lung_rads", lung("airway_proximal", "baseline"), "4A", None, _ACR),
    Case("lung_rads", lung("airway_proximal", "stable"), "4B", None, _ACR),
    Case("lung_rads", lung("cyst_thick_walled", "baseline"), "4A", None, _ACR),
    Case("lung_rads", lung("cyst_thick_cystic_growth"), "3", None, _ACR),
    Case("lung_rads", lung("cyst_multilocular", "growing"), "4B", None, _ACR),
    Case("lung_rads", lung("solid", "stable", previous_category="3", follow_up_reached=True), "2",
         None, f"{_ACR}: category 3, stable at 6 months"),
    Case("lung_rads", lung("solid", "stable", previous_category="4A", follow_up_reached=True), "3",
         None, f"{_ACR}: category 4A, stable at 3 months"),
    Case("lung_rads", lung("solid", "stable", previous_category="4B", proven_benign=True), "2",
         None, f"{_ACR}: 4B proven benign"),
    Case("lung_rads", lung("solid", "baseline", 7) | {"suspicious_features": True}, "4X", None,
         f"{_ACR}: category 3 with further features"),
    Case("lung_rads", lung("solid", "baseline", 4) | {"suspicious_features": True}, "2", None,
         "4X is for categories 3 and 4"),
]  # fmt: skip

CASES = [
    *(*WELLS_DVT, *WELLS_PE, *PERC, *GENEVA, *CHA2DS2_VASC, *HAS_BLED, *TIMI, *HEART),
    *(*CURB65, *QSOFA, *SOFA, *GCS, *NIHSS, *CENTOR, *MCISAAC),
    *(*MELD, *MELD_NA, *MELD_3, *CHILD_PUGH, *EGFR, *BMI, *FLEISCHNER, *LUNG_RADS),
]
