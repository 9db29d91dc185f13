"""Which entries of a patient's record fill which input of the scores, as codes.

LOINC for what is measured, SNOMED CT for conditions and procedures (the descendants that occur in
records are listed, since no terminology server is asked), RxNorm ingredients for medication. An
input that is not here needs a clinician's judgement or is not recorded as such, and is asked for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal


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

_HEART_FAILURE = {
    "84114007": "heart failure",
    "42343007": "congestive heart failure",
    "88805009": "chronic congestive heart failure",
    "48447003": "chronic heart failure",
    "56675007": "acute heart failure",
    "85232009": "left heart failure",
    "417996009": "systolic heart failure",
    "418304008": "diastolic heart failure",
    "441481004": "chronic systolic heart failure",
    "441530006": "chronic diastolic heart failure",
    "446221000": "heart failure with normal ejection fraction",
    "703272007": "heart failure with reduced ejection fraction",
    "134401001": "left ventricular systolic dysfunction",
}
_HYPERTENSION = {
    "38341003": "hypertension",
    "59621000": "essential hypertension",
    "1201005": "benign essential hypertension",
    "78975002": "malignant essential hypertension",
    "70272006": "malignant hypertension",
    "10725009": "benign hypertension",
    "31992008": "secondary hypertension",
    "429457004": "systolic essential hypertension",
}
_DIABETES = {
    "73211009": "diabetes mellitus",
    "44054006": "type 2 diabetes mellitus",
    "46635009": "type 1 diabetes mellitus",
    "313436004": "type 2 diabetes mellitus without complication",
    "237599002": "insulin-treated type 2 diabetes mellitus",
    "8801005": "secondary diabetes mellitus",
    "127013003": "disorder of kidney due to diabetes mellitus",
    "422034002": "retinopathy due to type 2 diabetes mellitus",
    "368581000119106": "neuropathy due to type 2 diabetes mellitus",
    "90781000119102": "microalbuminuria due to type 2 diabetes mellitus",
    "157141000119108": "proteinuria due to type 2 diabetes mellitus",
    "1551000119108": "nonproliferative retinopathy due to type 2 diabetes mellitus",
    "1501000119109": "proliferative retinopathy due to type 2 diabetes mellitus",
    "97331000119101": "macular oedema and retinopathy due to type 2 diabetes mellitus",
    "60951000119105": "blindness due to type 2 diabetes mellitus",
}
_ISCHEMIC_STROKE = {
    "230690007": "stroke",
    "422504002": "ischaemic stroke",
    "432504007": "cerebral infarction",
    "275526006": "history of stroke",
}
_TIA = {"266257000": "transient ischaemic attack", "161511000": "history of TIA"}
_CEREBRAL_BLEEDING = {"274100004": "cerebral haemorrhage"}
_INFARCTION = {
    "22298006": "myocardial infarction",
    "57054005": "acute myocardial infarction",
    "401303003": "acute ST-elevation myocardial infarction",
    "401314000": "acute non-ST-elevation myocardial infarction",
    "399211009": "history of myocardial infarction",
    "1755008": "old myocardial infarction",
    "54329005": "acute anterior myocardial infarction",
    "73795002": "acute inferior myocardial infarction",
}
_PERIPHERAL = {
    "400047006": "peripheral vascular disease",
    "840580004": "peripheral arterial disease",
    "399957001": "peripheral arterial occlusive disease",
    "63491006": "intermittent claudication",
}
_LIPIDS = {
    "13644009": "hypercholesterolaemia",
    "55822004": "hyperlipidaemia",
    "398036000": "familial hypercholesterolaemia",
    "267432004": "pure hypercholesterolaemia",
}
_OBESITY = {
    "414916001": "obesity",
    "162864005": "body mass index 30 or more",
    "408512008": "body mass index 40 or more",
    "238136002": "morbid obesity",
}
_DVT = {
    "128053003": "deep vein thrombosis",
    "404223003": "deep vein thrombosis of the leg",
    "161508001": "history of deep vein thrombosis",
}
_EMBOLISM = {
    "59282003": "pulmonary embolism",
    "706870000": "acute pulmonary embolism",
    "161512007": "history of pulmonary embolism",
}
_CANCER = {
    "363346000": "malignant neoplastic disease",
    "254837009": "malignant neoplasm of breast",
    "254637007": "non-small cell lung cancer",
    "254632001": "small cell carcinoma of lung",
    "424132000": "non-small cell carcinoma of lung, TNM stage 1",
    "363358000": "malignant tumour of lung",
    "363406005": "malignant tumour of colon",
    "93761005": "primary malignant neoplasm of colon",
    "109838007": "overlapping malignant neoplasm of colon",
    "94260004": "secondary malignant neoplasm of colon",
    "399068003": "malignant tumour of prostate",
    "93143009": "leukaemia",
    "118600007": "malignant lymphoma",
    "109989006": "multiple myeloma",
    "372244006": "malignant melanoma",
}
_CIRRHOSIS = {
    "19943007": "cirrhosis of liver",
    "420054005": "alcoholic cirrhosis",
    "328383001": "chronic liver disease",
    "76783007": "chronic hepatitis",
    "128302006": "chronic hepatitis C",
    "61977001": "chronic hepatitis B",
}
_ANEMIA = {
    "271737000": "anaemia",
    "87522002": "iron deficiency anaemia",
    "64779008": "blood coagulation disorder",
    "90935002": "haemophilia",
    "302215000": "thrombocytopenic disorder",
}
_BLEEDING = {
    **_CEREBRAL_BLEEDING,
    "1386000": "intracranial haemorrhage",
    "74474003": "gastrointestinal haemorrhage",
}
_ASPIRIN = {"1191": "aspirin"}
_ANTIPLATELETS_NSAIDS = {
    **_ASPIRIN,
    "32968": "clopidogrel",
    "613391": "prasugrel",
    "1116632": "ticagrelor",
    "3521": "dipyridamole",
    "5640": "ibuprofen",
    "7258": "naproxen",
    "3355": "diclofenac",
    "5781": "indomethacin",
    "35827": "ketorolac",
    "41493": "meloxicam",
    "140587": "celecoxib",
    "6142": "ketoprofen",
    "8356": "piroxicam",
    "31448": "nabumetone",
    "24605": "etodolac",
}
_ESTROGENS = {"4083": "estradiol", "4124": "ethinyl estradiol", "4099": "estrogens"}

_PREVIOUS_THROMBOSIS = Condition({**_DVT, **_EMBOLISM}, ever=True, at_least_days=30)
_TREATED_CANCER = Condition(
    _CANCER, note="the record does not say whether it was treated within the last 6 months"
)
_KNOWN_STROKE = Condition({**_ISCHEMIC_STROKE, **_TIA}, ever=True)

FILLS: Mapping[str, tuple[Fill, ...]] = {
    "creatinine": (Measured(("2160-0", "38483-4", "14682-9", "77140-2")),),
    "bilirubin": (Measured(("1975-2", "42719-5", "14631-6")),),
    "inr": (Measured(("6301-6", "34714-6", "38875-1")),),
    "sodium": (Measured(("2951-2", "2947-0")),),
    "albumin": (Measured(("1751-7", "61151-7", "61152-5")),),
    "urea": (
        Measured(("22664-7", "3091-6")),
        Measured(("3094-0", "6299-2", "14937-7"), other_way="bun"),
    ),
    "platelets": (Measured(("777-3", "26515-7")),),
    "pao2": (Measured(("2703-7",)),),
    "fio2": (Measured(("3150-6", "19994-3")),),
    "urine_output": (Measured(("9192-6", "3167-4")),),
    "heart_rate": (Measured(("8867-4",)),),
    "respiratory_rate": (Measured(("9279-1",)),),
    "systolic_bp": (Measured(("8480-6",)),),
    "diastolic_bp": (Measured(("8462-4",)),),
    "mean_arterial_pressure": (Measured(("8478-0",)),),
    "temperature": (Measured(("8310-5", "8331-1", "8332-9", "8333-7")),),
    "weight": (Measured(("29463-7", "3141-9")),),
    "height": (Measured(("8302-2", "8308-9"), lasting=True),),
    "gcs": (Measured(("9269-2",)),),
    "eye": (Measured(("9267-6",)),),
    "verbal": (Measured(("9270-0",)),),
    "motor": (Measured(("9268-4",)),),
    "heart_failure": (Condition(_HEART_FAILURE, ever=True),),
    "hypertension": (Condition(_HYPERTENSION),),
    "diabetes": (Condition(_DIABETES),),
    "stroke_or_tia": (_KNOWN_STROKE,),
    "stroke": (Condition({**_ISCHEMIC_STROKE, **_CEREBRAL_BLEEDING}, ever=True),),
    "thromboembolism": (Condition({"54687002": "arterial embolism"}, ever=True),),
    "aortic_plaque": (
        Condition(
            {"81817003": "atherosclerosis of aorta"},
            ever=True,
            note="atherosclerosis of the aorta; whether it is a complex plaque is to be checked",
        ),
    ),
    "previous_mi": (Condition(_INFARCTION, ever=True),),
    "peripheral_artery_disease": (Condition(_PERIPHERAL, ever=True),),
    "atherosclerotic_disease": (
        Condition(
            {
                **_INFARCTION,
                **_ISCHEMIC_STROKE,
                **_TIA,
                **_PERIPHERAL,
                "53741008": "coronary arteriosclerosis",
                "414545008": "ischaemic heart disease",
            },
            ever=True,
            procedures=("415070008", "232717009"),
        ),
    ),
    "hypercholesterolemia": (Condition(_LIPIDS),),
    "obesity": (Condition(_OBESITY),),
    "current_smoker": (Smoking("no"),),
    "dialysis": (Condition({}, procedures=("265764009", "302497006", "71192002"), within_days=30),),
    "dialysis_twice_last_week": (
        Condition({}, procedures=("265764009", "302497006", "71192002"), within_days=7, count=2),
    ),
    "renal_transplant": (
        Condition(
            {"161665007": "history of renal transplant"}, ever=True, procedures=("70536003",)
        ),
    ),
    "chronic_liver_disease": (Condition(_CIRRHOSIS),),
    "biliary_cirrhosis": (
        Condition(
            {
                "31712002": "primary biliary cholangitis",
                "197441003": "primary sclerosing cholangitis",
            }
        ),
    ),
    "bleeding_history": (
        Condition(_BLEEDING, ever=True, note="whether the bleeding was major is to be checked"),
    ),
    "bleeding_predisposition": (Condition(_ANEMIA),),
    "antiplatelets_or_nsaids": (Medication(_ANTIPLATELETS_NSAIDS),),
    "aspirin_last_7_days": (
        Medication(_ASPIRIN, "prescribed; whether it was taken in the last 7 days is not recorded"),
    ),
    "estrogen_use": (Medication(_ESTROGENS),),
    "active_cancer": (_TREATED_CANCER,),
    "active_malignancy": (Condition(_CANCER),),
    "known_cancer": (Condition(_CANCER),),
    "immunosuppressed": (
        Condition(
            {
                "86406008": "HIV infection",
                "234532001": "immunodeficiency disorder",
            }
        ),
    ),
    "previous_dvt": (Condition(_DVT, ever=True, at_least_days=30),),
    "previous_dvt_or_pe": (_PREVIOUS_THROMBOSIS,),
}
"""Ways to fill an input from a record, by the input's name; age and sex come from the patient."""

FOR_SCORE: Mapping[tuple[str, str], tuple[Fill, ...]] = {
    # HEART counts smokers who stopped within 90 days.
    ("heart", "current_smoker"): (Smoking("open"),),
}
"""Ways that hold for one score only, by score and input."""

ATRIAL_FIBRILLATION = {
    "49436004": "atrial fibrillation",
    "282825002": "paroxysmal atrial fibrillation",
    "426749004": "chronic atrial fibrillation",
    "440059007": "persistent atrial fibrillation",
    "440028005": "permanent atrial fibrillation",
}
MADE_FOR: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "cha2ds2_vasc": ("atrial fibrillation", ATRIAL_FIBRILLATION),
    "has_bled": ("atrial fibrillation", ATRIAL_FIBRILLATION),
    "child_pugh": (
        "cirrhosis",
        {
            "19943007": "cirrhosis of liver",
            "420054005": "alcoholic cirrhosis",
            "31712002": "primary biliary cholangitis",
        },
    ),
}
"""The condition that a score is made for, with its SNOMED CT codes."""

REMARKS: Mapping[str, tuple[str, ...]] = {
    "sofa": ("the most recent values are used; SOFA wants the worst of 24 hours",),
}
"""What is to be told with a score from a record."""

SMOKING_STATUS = "72166-2"
"""LOINC code of the tobacco smoking status."""


def fills_of(score: str, name: str) -> tuple[Fill, ...]:
    """Return the ways to fill an input of a score from a record; () if there is none."""
    return FOR_SCORE.get((score, name)) or FILLS.get(name, ())
