"""Scores for suspected venous thrombosis and pulmonary embolism: Wells, PERC, revised Geneva."""

from __future__ import annotations

import math

from app.tools.record.scores.engine import Band, Paper, Scheme, Score, above, flag, steps
from app.tools.record.scores.inputs import AGE, HEART_RATE, SPO2, Input

_ADULTS = "Made for adults who are not in hospital for another reason and are not anticoagulated"
_WELLS_2003 = Paper(
    "Wells PS, Anderson DR, Rodger M, et al. Evaluation of D-dimer in the diagnosis of suspected "
    "deep-vein thrombosis. N Engl J Med 2003;349:1227-35.",
    "10.1056/NEJMoa023153",
)
_WELLS_2006 = Paper(
    "Wells PS, Owen C, Doucette S, Fergusson D, Tran H. Does this patient have deep vein "
    "thrombosis? JAMA 2006;295:199-207.",
    "10.1001/jama.295.2.199",
)

WELLS_DVT = Score(
    name="wells_dvt",
    title="Wells score for deep vein thrombosis",
    other_names=("wells dvt criteria", "wells criteria for dvt", "wells score dvt", "dvt wells"),
    inputs=(
        Input(
            "active_cancer",
            "Active cancer (treatment ongoing or within the previous 6 months, or palliative)",
        ),
        Input(
            "paralysis_or_plaster",
            "Paralysis, paresis or recent plaster immobilisation of the legs",
        ),
        Input(
            "bedridden_or_surgery",
            "Recently bedridden for 3 days or more, or major surgery under general or regional "
            "anaesthesia within the previous 12 weeks",
        ),
        Input(
            "deep_vein_tenderness",
            "Localised tenderness along the distribution of the deep veins of the leg",
        ),
        Input("entire_leg_swollen", "Entire leg swollen"),
        Input(
            "calf_swelling",
            "Calf at least 3 cm thicker than the other one, 10 cm below the tibial tuberosity",
        ),
        Input("pitting_edema", "Pitting oedema confined to the symptomatic leg"),
        Input("collateral_veins", "Collateral superficial veins (not varicose)"),
        Input("previous_dvt", "Previously documented deep vein thrombosis"),
        Input(
            "alternative_diagnosis",
            "Another diagnosis at least as likely as deep vein thrombosis",
        ),
    ),
    items=(
        flag("active_cancer", 1, "Active cancer"),
        flag("paralysis_or_plaster", 1, "Paralysis, paresis or plaster of the legs"),
        flag("bedridden_or_surgery", 1, "Bedridden 3 days or major surgery within 12 weeks"),
        flag("deep_vein_tenderness", 1, "Tenderness along the deep veins"),
        flag("entire_leg_swollen", 1, "Entire leg swollen"),
        flag("calf_swelling", 1, "Calf at least 3 cm thicker"),
        flag("pitting_edema", 1, "Pitting oedema of the symptomatic leg"),
        flag("collateral_veins", 1, "Collateral superficial veins"),
        flag("previous_dvt", 1, "Previously documented deep vein thrombosis"),
        flag("alternative_diagnosis", -2, "Another diagnosis at least as likely"),
    ),
    papers=(_WELLS_2003, _WELLS_2006),
    schemes=(
        Scheme(
            "Wells 2003, two levels",
            (
                Band(-math.inf, "DVT unlikely", "deep vein thrombosis was found in 5.5%"),
                Band(2, "DVT likely", "deep vein thrombosis was found in 27.9%"),
            ),
        ),
        Scheme(
            "Wells 2006, three levels",
            (
                Band(-math.inf, "low", "prevalence 5.0%"),
                Band(1, "moderate", "prevalence 17%"),
                Band(3, "high", "prevalence 53%"),
            ),
        ),
    ),
    limits=f"{_ADULTS}; not validated in pregnancy or for thrombosis of the arm.",
    youngest=18,
)

_WELLS_2000 = Paper(
    "Wells PS, Anderson DR, Rodger M, et al. Derivation of a simple clinical model to categorize "
    "patients probability of pulmonary embolism: increasing the models utility with the "
    "SimpliRED D-dimer. Thromb Haemost 2000;83:416-20.",
    "10.1055/s-0037-1613830",
)
_CHRISTOPHER = Paper(
    "van Belle A, Buller HR, Huisman MV, et al (Christopher Study). Effectiveness of managing "
    "suspected pulmonary embolism using an algorithm combining clinical probability, D-dimer "
    "testing, and computed tomography. JAMA 2006;295:172-9.",
    "10.1001/jama.295.2.172",
)

WELLS_PE = Score(
    name="wells_pe",
    title="Wells score for pulmonary embolism",
    other_names=("wells pe criteria", "wells criteria for pe", "wells score pe", "pe wells"),
    inputs=(
        Input(
            "dvt_signs",
            "Clinical signs and symptoms of deep vein thrombosis (at least leg swelling and pain "
            "on palpation of the deep veins)",
        ),
        Input(
            "pe_most_likely",
            "Pulmonary embolism as likely as or more likely than another diagnosis",
        ),
        HEART_RATE,
        Input(
            "immobilization_or_surgery",
            "Bed rest for at least 3 days, or surgery, within the previous 4 weeks",
        ),
        Input(
            "previous_dvt_or_pe",
            "Objectively diagnosed deep vein thrombosis or pulmonary embolism in the past",
        ),
        Input("hemoptysis", "Haemoptysis", other_names=("haemoptysis",)),
        Input(
            "active_cancer",
            "Malignancy (treatment ongoing or within the previous 6 months, or palliative)",
            other_names=("malignancy",),
        ),
    ),
    items=(
        flag("dvt_signs", 3, "Signs and symptoms of deep vein thrombosis"),
        flag("pe_most_likely", 3, "Other diagnosis less likely than pulmonary embolism"),
        steps("heart_rate", "Heart rate", (-math.inf, 0, "100 or less"),
              (above(100), 1.5, "above 100")),
        flag("immobilization_or_surgery", 1.5, "Immobilised or operated on within 4 weeks"),
        flag("previous_dvt_or_pe", 1.5, "Previous deep vein thrombosis or pulmonary embolism"),
        flag("hemoptysis", 1, "Haemoptysis"),
        flag("active_cancer", 1, "Malignancy"),
    ),
    papers=(_WELLS_2000, _CHRISTOPHER),
    schemes=(
        Scheme(
            "Wells 2000 and Christopher 2006, two levels",
            (
                Band(-math.inf, "PE unlikely", "pulmonary embolism in 12.1% (Christopher)"),
                Band(4.5, "PE likely", "pulmonary embolism in 37.1% (Christopher)"),
            ),
        ),
        Scheme(
            "Wells 2000, three levels",
            (
                Band(-math.inf, "low", "pulmonary embolism in 3.6% of the derivation group"),
                Band(2, "moderate", "20.5%"),
                Band(6.5, "high", "66.7%"),
            ),
        ),
    ),
    limits=f"{_ADULTS}; not validated in pregnancy.",
    youngest=18,
    days=1,
)  # fmt: skip

PERC = Score(
    name="perc",
    title="PERC rule (pulmonary embolism rule-out criteria)",
    other_names=("perc rule", "pulmonary embolism rule-out criteria"),
    inputs=(
        AGE,
        HEART_RATE,
        SPO2,
        Input("leg_swelling", "Unilateral leg swelling"),
        Input("hemoptysis", "Haemoptysis", other_names=("haemoptysis",)),
        Input(
            "recent_surgery_or_trauma",
            "Surgery or trauma that needed admission to hospital or intubation, within 4 weeks",
        ),
        Input("previous_dvt_or_pe", "Deep vein thrombosis or pulmonary embolism in the past"),
        Input("estrogen_use", "Takes oestrogen (oral contraceptive, hormone replacement)"),
    ),
    items=(
        steps("age", "Age", (-math.inf, 0, "below 50"), (50, 1, "50 or more")),
        steps("heart_rate", "Heart rate", (-math.inf, 0, "below 100"), (100, 1, "100 or more")),
        steps("spo2", "Oxygen saturation", (-math.inf, 1, "below 95%"), (95, 0, "95% or more")),
        flag("leg_swelling", 1, "Unilateral leg swelling"),
        flag("hemoptysis", 1, "Haemoptysis"),
        flag("recent_surgery_or_trauma", 1, "Surgery or trauma within 4 weeks"),
        flag("previous_dvt_or_pe", 1, "Previous deep vein thrombosis or pulmonary embolism"),
        flag("estrogen_use", 1, "Oestrogen"),
    ),
    papers=(
        Paper(
            "Kline JA, Mitchell AM, Kabrhel C, Richman PB, Courtney DM. Clinical criteria to "
            "prevent unnecessary diagnostic testing in emergency department patients with "
            "suspected pulmonary embolism. J Thromb Haemost 2004;2:1247-55.",
            "10.1111/j.1538-7836.2004.00790.x",
        ),
    ),
    schemes=(
        Scheme(
            "Kline 2004",
            (
                Band(
                    -math.inf,
                    "PERC negative",
                    "no criterion is met: where the clinician already judges the probability as "
                    "low (below 15%), no further test for pulmonary embolism is needed",
                ),
                Band(
                    1,
                    "PERC positive",
                    "at least one criterion is met: the rule cannot exclude pulmonary embolism, "
                    "which says nothing about how likely it is",
                ),
            ),
        ),
    ),
    limits=(
        "Only where the clinician's own judgement is a low probability (below 15%); not for "
        "higher probabilities, pregnancy, or where oxygen saturation on room air is unknown."
    ),
    unit="criteria met",
    youngest=18,
    days=1,
)

GENEVA = Score(
    name="revised_geneva",
    title="Revised Geneva score for pulmonary embolism",
    other_names=("geneva", "geneva score", "geneva revised", "revised geneva score"),
    inputs=(
        AGE,
        Input("previous_dvt_or_pe", "Deep vein thrombosis or pulmonary embolism in the past"),
        Input(
            "surgery_or_fracture",
            "Surgery under general anaesthesia or fracture of a leg within 1 month",
        ),
        Input(
            "active_malignancy",
            "Active malignancy (solid or haematological, active or considered cured for less than "
            "1 year)",
        ),
        Input("unilateral_leg_pain", "Unilateral leg pain"),
        Input("hemoptysis", "Haemoptysis", other_names=("haemoptysis",)),
        HEART_RATE,
        Input(
            "leg_palpation_pain_and_edema",
            "Pain on palpation of the deep veins of a leg, and oedema of that leg alone",
        ),
    ),
    items=(
        steps("age", "Age", (-math.inf, 0, "65 or less"), (above(65), 1, "above 65")),
        flag("previous_dvt_or_pe", 3, "Previous deep vein thrombosis or pulmonary embolism"),
        flag("surgery_or_fracture", 2, "Surgery or fracture within 1 month"),
        flag("active_malignancy", 2, "Active malignancy"),
        flag("unilateral_leg_pain", 3, "Unilateral leg pain"),
        flag("hemoptysis", 2, "Haemoptysis"),
        steps(
            "heart_rate",
            "Heart rate",
            (-math.inf, 0, "below 75"),
            (75, 3, "75 to 94"),
            (95, 5, "95 or more"),
        ),
        flag("leg_palpation_pain_and_edema", 4, "Pain on deep palpation and unilateral oedema"),
    ),
    papers=(
        Paper(
            "Le Gal G, Righini M, Roy PM, et al. Prediction of pulmonary embolism in the "
            "emergency department: the revised Geneva score. Ann Intern Med 2006;144:165-71.",
            "10.7326/0003-4819-144-3-200602070-00004",
        ),
    ),
    schemes=(
        Scheme(
            "Le Gal 2006, validation group",
            (
                Band(-math.inf, "low", "pulmonary embolism was found in 7.9%"),
                Band(4, "intermediate", "pulmonary embolism was found in 28.5%"),
                Band(11, "high", "pulmonary embolism was found in 73.7%"),
            ),
        ),
    ),
    limits="Made for adult outpatients in emergency departments; not for pregnancy or inpatients.",
    youngest=18,
    days=1,
)

SCORES = (WELLS_DVT, WELLS_PE, PERC, GENEVA)
