"""Scores for the heart: CHA2DS2-VASc, HAS-BLED, TIMI for unstable angina, HEART."""

from __future__ import annotations

import math

from app.tools.record.scores.engine import (
    Band,
    Item,
    Paper,
    Points,
    Scheme,
    Score,
    Values,
    above,
    any_flag,
    chosen,
    flag,
    step_points,
    steps,
)
from app.tools.record.scores.inputs import AGE, CREATININE, SEX, SYSTOLIC, Input, choice, number

_HYPERTENSION = Input("hypertension", "Hypertension (known, or treated)", other_names=("htn",))
_DIABETES = Input("diabetes", "Diabetes mellitus", other_names=("diabetes_mellitus",))
_LIPIDS = Input(
    "hypercholesterolemia",
    "Hypercholesterolaemia",
    other_names=("hypercholesterolaemia", "hyperlipidemia", "dyslipidemia"),
)
_SMOKER = Input("current_smoker", "Smokes now", other_names=("smoker", "smoking"))
_FAMILY = Input(
    "family_history_cad",
    "Family history of coronary artery disease",
    other_names=("family_history",),
)

CHA2DS2_VASC = Score(
    name="cha2ds2_vasc",
    title="CHA2DS2-VASc (stroke risk in atrial fibrillation)",
    other_names=("cha2ds2-vasc score", "chads vasc", "chadsvasc", "chads2 vasc", "cha₂ds₂-vasc"),
    inputs=(
        Input(
            "heart_failure",
            "Congestive heart failure or left ventricular dysfunction",
            other_names=("chf", "congestive_heart_failure"),
        ),
        _HYPERTENSION,
        AGE,
        _DIABETES,
        Input("stroke_or_tia", "Stroke or transient ischaemic attack in the past",
              other_names=("stroke", "stroke_tia")),
        Input("thromboembolism", "Systemic thromboembolism in the past"),
        Input("previous_mi", "Myocardial infarction in the past",
              other_names=("myocardial_infarction", "prior_mi")),
        Input("peripheral_artery_disease", "Peripheral artery disease", other_names=("pad",)),
        Input("aortic_plaque", "Complex aortic plaque"),
        SEX,
    ),
    items=(
        flag("heart_failure", 1, "Heart failure or left ventricular dysfunction"),
        flag("hypertension", 1, "Hypertension"),
        steps("age", "Age", (-math.inf, 0, "below 65"), (65, 1, "65 to 74"), (75, 2, "75 or more")),
        flag("diabetes", 1, "Diabetes mellitus"),
        any_flag(
            {"stroke_or_tia": "stroke or TIA", "thromboembolism": "systemic thromboembolism"},
            2,
            "Stroke, TIA or thromboembolism",
        ),
        any_flag(
            {
                "previous_mi": "previous myocardial infarction",
                "peripheral_artery_disease": "peripheral artery disease",
                "aortic_plaque": "aortic plaque",
            },
            1,
            "Vascular disease",
        ),
        chosen("sex", "Sex", {"male": (0, "male"), "female": (1, "female")}),
    ),
    papers=(
        Paper(
            "Lip GY, Nieuwlaat R, Pisters R, Lane DA, Crijns HJ. Refining clinical risk "
            "stratification for predicting stroke and thromboembolism in atrial fibrillation using "
            "a novel risk factor-based approach: the Euro Heart Survey on atrial fibrillation. "
            "Chest 2010;137:263-72.",
            "10.1378/chest.09-1584",
        ),
        Paper(
            "Camm AJ, Kirchhof P, Lip GY, et al. Guidelines for the management of atrial "
            "fibrillation (ESC). Eur Heart J 2010;31:2369-429.",
            "10.1093/eurheartj/ehq278",
        ),
        Paper(
            "Hindricks G, Potpara T, Dagres N, et al. 2020 ESC guidelines for the diagnosis and "
            "management of atrial fibrillation. Eur Heart J 2021;42:373-498.",
            "10.1093/eurheartj/ehaa612",
        ),
    ),
    schemes=(
        Scheme(
            "Lip 2010",
            (
                Band(-math.inf, "low", "0 points"),
                Band(1, "intermediate", "a point for female sex alone does not call for "
                     "anticoagulation (ESC 2020)"),
                Band(2, "high", "anticoagulation is recommended from 2 points in men and 3 in "
                     "women (ESC 2020)"),
            ),
        ),
    ),
    rates={
        0: "0%", 1: "1.3%", 2: "2.2%", 3: "3.2%", 4: "4.0%",
        5: "6.7%", 6: "9.8%", 7: "9.6%", 8: "6.7%", 9: "15.2%",
    },
    rates_source="adjusted rate of stroke a year without anticoagulation (ESC guidelines 2010)",
    limits=(
        "For adults with atrial fibrillation without mechanical valve or moderate to severe "
        "mitral stenosis; not validated for stroke risk without atrial fibrillation. ESC 2024 uses "
        "CHA2DS2-VA, which leaves out the point for sex."
    ),
    youngest=18,
)  # fmt: skip


def _renal(values: Values) -> Points:
    for name, why in (("dialysis", "dialysis"), ("renal_transplant", "renal transplant")):
        if values.has(name) and values.flag(name):
            return Points(1, f"Abnormal renal function: {why}")
    rows = ((-math.inf, 0, "below 200 µmol/L"), (_CREATININE_200, 1, "200 µmol/L or more"))
    limits = {"µmol/L": (-math.inf, 200)}
    found = step_points(values.quantity("creatinine"), "Creatinine", rows, limits)
    if found.points or not values.true_among(("dialysis", "renal_transplant")):
        return found
    return Points(1, "Abnormal renal function: dialysis or renal transplant")


_CREATININE_200 = 200 * 113.12 / 10_000
"""200 µmol/L in mg/dL (2.26)."""

HAS_BLED = Score(
    name="has_bled",
    title="HAS-BLED (bleeding risk in atrial fibrillation)",
    other_names=("hasbled score",),
    inputs=(
        SYSTOLIC,
        Input("dialysis", "Chronic dialysis"),
        Input("renal_transplant", "Renal transplantation"),
        CREATININE,
        Input("chronic_liver_disease", "Chronic hepatic disease, e.g. cirrhosis",
              other_names=("cirrhosis", "liver_disease")),
        Input(
            "liver_enzymes_raised",
            "Bilirubin above twice the upper limit together with AST, ALT or alkaline phosphatase "
            "above three times the upper limit",
        ),
        Input("stroke", "Stroke in the past"),
        Input("bleeding_history", "Major bleeding in the past"),
        Input("bleeding_predisposition", "Predisposition to bleeding, e.g. anaemia"),
        Input(
            "labile_inr",
            "Labile INR (less than 60% of time in the therapeutic range); no if the patient takes "
            "no vitamin K antagonist",
        ),
        AGE,
        Input("antiplatelets_or_nsaids", "Takes antiplatelet agents or NSAIDs",
              other_names=("drugs",)),
        Input("alcohol", "Alcohol: 8 or more drinks a week"),
    ),
    items=(
        steps("systolic_bp", "Systolic pressure", (-math.inf, 0, "160 mmHg or less"),
              (above(160), 1, "above 160 mmHg (uncontrolled hypertension)")),
        Item("Abnormal renal function", ("dialysis", "renal_transplant", "creatinine"), _renal,
             {"creatinine": (_CREATININE_200,)}),
        any_flag(
            {
                "chronic_liver_disease": "chronic hepatic disease",
                "liver_enzymes_raised": "bilirubin and enzymes raised",
            },
            1,
            "Abnormal liver function",
        ),
        flag("stroke", 1, "Stroke"),
        any_flag(
            {
                "bleeding_history": "major bleeding in the past",
                "bleeding_predisposition": "predisposition to bleeding",
            },
            1,
            "Bleeding history or predisposition",
        ),
        flag("labile_inr", 1, "Labile INR"),
        steps("age", "Age", (-math.inf, 0, "65 or less"), (above(65), 1, "above 65")),
        flag("antiplatelets_or_nsaids", 1, "Antiplatelet agents or NSAIDs"),
        flag("alcohol", 1, "Alcohol, 8 or more drinks a week"),
    ),
    papers=(
        Paper(
            "Pisters R, Lane DA, Nieuwlaat R, de Vos CB, Crijns HJ, Lip GY. A novel user-friendly "
            "score (HAS-BLED) to assess 1-year risk of major bleeding in patients with atrial "
            "fibrillation: the Euro Heart Survey. Chest 2010;138:1093-100.",
            "10.1378/chest.10-0134",
        ),
    ),
    schemes=(
        Scheme(
            "Pisters 2010",
            (
                Band(-math.inf, "not high", "below 3 points"),
                Band(3, "high", "caution and regular review of the patient; no reason by itself to "
                     "withhold anticoagulation"),
            ),
        ),
    ),
    rates={0: "1.13", 1: "1.02", 2: "1.88", 3: "3.74", 4: "8.70", 5: "12.50"},
    rates_source="major bleeds per 100 patient-years (Pisters 2010)",
    limits="For adults with atrial fibrillation, on or before anticoagulation.",
    youngest=18,
)  # fmt: skip


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


TIMI = Score(
    name="timi",
    title="TIMI risk score for unstable angina and NSTEMI",
    other_names=("timi ua/nstemi", "timi nstemi", "timi score", "timi risk score"),
    inputs=(
        AGE,
        _FAMILY,
        _HYPERTENSION,
        _LIPIDS,
        _DIABETES,
        _SMOKER,
        Input("known_cad", "Known coronary artery stenosis of 50% or more"),
        Input("aspirin_last_7_days", "Took aspirin in the last 7 days", other_names=("aspirin",)),
        Input("severe_angina", "Severe angina: 2 or more episodes in the last 24 hours"),
        Input("st_deviation", "ST deviation of 0.5 mm or more on the ECG"),
        Input("raised_cardiac_markers", "Raised cardiac markers (troponin or CK-MB)",
              other_names=("elevated_cardiac_markers", "elevated_troponin")),
    ),
    items=(
        steps("age", "Age", (-math.inf, 0, "below 65"), (65, 1, "65 or more")),
        Item("Three risk factors for coronary disease", tuple(_RISKS), _timi_risks),
        flag("known_cad", 1, "Known coronary stenosis of 50% or more"),
        flag("aspirin_last_7_days", 1, "Aspirin in the last 7 days"),
        flag("severe_angina", 1, "Two or more episodes of angina in 24 hours"),
        flag("st_deviation", 1, "ST deviation of 0.5 mm or more"),
        flag("raised_cardiac_markers", 1, "Raised cardiac markers"),
    ),
    papers=(
        Paper(
            "Antman EM, Cohen M, Bernink PJ, et al. The TIMI risk score for unstable "
            "angina/non-ST elevation MI: a method for prognostication and therapeutic decision "
            "making. JAMA 2000;284:835-42.",
            "10.1001/jama.284.7.835",
        ),
    ),
    schemes=(
        Scheme(
            "usual grouping (ACC/AHA 2007)",
            (Band(-math.inf, "low"), Band(3, "intermediate"), Band(5, "high")),
        ),
    ),
    rates={
        0: "4.7%", 1: "4.7%", 2: "8.3%", 3: "13.2%", 4: "19.9%", 5: "26.2%", 6: "40.9%", 7: "40.9%"
    },
    rates_source=(
        "death, myocardial infarction or severe recurrent ischaemia needing urgent "
        "revascularisation within 14 days (Antman 2000)"
    ),
    limits=(
        "For adults with unstable angina or NSTEMI; not for ST-elevation infarction (another TIMI "
        "score) nor validated for unselected chest pain."
    ),
    youngest=18,
)  # fmt: skip

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


HEART = Score(
    name="heart",
    title="HEART score for chest pain",
    other_names=("heart score",),
    inputs=(
        choice(
            "history",
            "Suspicion by history",
            slightly="slightly suspicious",
            moderately="moderately suspicious",
            highly="highly suspicious",
        ),
        choice(
            "ecg",
            "ECG",
            normal="normal",
            nonspecific="non-specific repolarisation disturbance, left bundle branch block, left "
            "ventricular hypertrophy, paced rhythm or repolarisation changes by digoxin",
            st_deviation="significant ST deviation not due to these",
        ),
        AGE,
        Input("atherosclerotic_disease", "History of atherosclerotic disease (infarction, PCI, "
              "CABG, stroke or TIA, peripheral artery disease)"),
        _DIABETES,
        Input("current_smoker", "Smokes, or stopped within the last 90 days",
              other_names=("smoker", "smoking")),
        _HYPERTENSION,
        _LIPIDS,
        _FAMILY,
        Input("obesity", "Obesity (body mass index above 30 kg/m²)"),
        number("troponin_ratio", "Troponin divided by its upper reference limit", "", 0, 200_000,
               other_names=("troponin",)),
    ),
    items=(
        chosen("history", "History", {
            "slightly": (0, "slightly suspicious"),
            "moderately": (1, "moderately suspicious"),
            "highly": (2, "highly suspicious"),
        }),
        chosen("ecg", "ECG", {
            "normal": (0, "normal"),
            "nonspecific": (1, "non-specific repolarisation disturbance"),
            "st_deviation": (2, "significant ST deviation"),
        }),
        steps("age", "Age", (-math.inf, 0, "below 45"), (45, 1, "45 to 64"), (65, 2, "65 or more")),
        Item("Risk factors", ("atherosclerotic_disease", *_HEART_RISKS), _heart_risks),
        steps("troponin_ratio", "Troponin, times the upper limit",
              (-math.inf, 0, "not above the limit"), (above(1), 1, "above 1 and below 3 times"),
              (3, 2, "3 times or more")),
    ),
    papers=(
        Paper(
            "Six AJ, Backus BE, Kelder JC. Chest pain in the emergency room: value of the HEART "
            "score. Neth Heart J 2008;16:191-6.",
            "10.1007/BF03086144",
        ),
        Paper(
            "Backus BE, Six AJ, Kelder JC, et al. A prospective validation of the HEART score for "
            "chest pain patients at the emergency department. Int J Cardiol 2013;168:2153-8.",
            "10.1016/j.ijcard.2013.01.255",
        ),
    ),
    schemes=(
        Scheme(
            "Backus 2013",
            (
                Band(-math.inf, "low", "major adverse cardiac events within 6 weeks in 1.7%"),
                Band(4, "moderate", "major adverse cardiac events within 6 weeks in 16.6%"),
                Band(7, "high", "major adverse cardiac events within 6 weeks in 50.1%"),
            ),
        ),
    ),
    limits=(
        "For adults with chest pain in an emergency department; not for ST-elevation infarction, "
        "unstable patients or chest pain of known other cause."
    ),
    youngest=18,
    days=1,
)  # fmt: skip

SCORES = (CHA2DS2_VASC, HAS_BLED, TIMI, HEART)
