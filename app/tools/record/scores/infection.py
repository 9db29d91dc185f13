"""Scores for infection and organ failure: CURB-65, qSOFA, SOFA, Centor, McIsaac."""

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
    flag,
    step_points,
    steps,
)
from app.tools.record.scores.inputs import (
    AGE,
    BILIRUBIN,
    CREATININE,
    DIASTOLIC,
    GCS_TOTAL,
    RESPIRATORY_RATE,
    SYSTOLIC,
    TEMPERATURE,
    UREA,
    Input,
    Unit,
    number,
)

_LOW = -math.inf


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


CURB65 = Score(
    name="curb_65",
    title="CURB-65 (severity of community-acquired pneumonia)",
    other_names=("curb65 score", "curb"),
    inputs=(
        Input(
            "confusion",
            "New confusion (abbreviated mental test 8 or less, or newly disoriented in person, "
            "place or time)",
        ),
        UREA,
        RESPIRATORY_RATE,
        SYSTOLIC,
        DIASTOLIC,
        AGE,
    ),
    items=(
        flag("confusion", 1, "Confusion"),
        steps("urea", "Urea", (_LOW, 0, "7 mmol/L or less"), (above(7), 1, "above 7 mmol/L")),
        steps("respiratory_rate", "Respiratory rate", (_LOW, 0, "below 30"), (30, 1, "30 or more")),
        Item(
            "Low blood pressure",
            ("systolic_bp", "diastolic_bp"),
            _low_pressure,
            {"systolic_bp": (90,), "diastolic_bp": (above(60),)},
        ),
        steps("age", "Age", (_LOW, 0, "below 65"), (65, 1, "65 or more")),
    ),
    papers=(
        Paper(
            "Lim WS, van der Eerden MM, Laing R, et al. Defining community acquired pneumonia "
            "severity on presentation to hospital: an international derivation and validation "
            "study. Thorax 2003;58:377-82.",
            "10.1136/thorax.58.5.377",
        ),
    ),
    schemes=(
        Scheme(
            "Lim 2003",
            (
                Band(_LOW, "low", "mortality at 30 days 1.5%; likely suitable for home treatment"),
                Band(2, "intermediate", "mortality 9.2%; consider treatment in hospital"),
                Band(3, "high", "mortality 22%; severe pneumonia, treat in hospital; with 4 or 5 "
                     "points assess for intensive care"),
            ),
        ),
    ),
    limits=(
        "For immunocompetent adults with community-acquired pneumonia; not for hospital-acquired "
        "pneumonia or as the only ground for sending a patient home."
    ),
    youngest=18,
    days=1,
)  # fmt: skip


def _mentation(values: Values) -> Points | None:
    if not values.has("gcs"):
        altered = values.flag("altered_mentation")
        return Points(int(altered), f"Altered mentation: {'yes' if altered else 'no'}")
    altered = values.number("gcs") < 15
    if values.has("altered_mentation") and values.flag("altered_mentation") != altered:
        return None
    why = "below 15" if altered else "not below 15"
    return Points(int(altered), f"Glasgow Coma Scale {values.quantity('gcs')}: {why}")


QSOFA = Score(
    name="qsofa",
    title="qSOFA (quick SOFA for suspected infection)",
    other_names=("quick sofa", "qsofa score"),
    inputs=(
        RESPIRATORY_RATE,
        Input(
            "altered_mentation", "Altered mentation (Glasgow Coma Scale below 15)", instead="gcs"
        ),
        GCS_TOTAL,
        SYSTOLIC,
    ),
    items=(
        steps("respiratory_rate", "Respiratory rate", (_LOW, 0, "below 22"), (22, 1, "22 or more")),
        Item("Altered mentation", ("altered_mentation", "gcs"), _mentation),
        steps("systolic_bp", "Systolic pressure", (_LOW, 1, "100 mmHg or less"),
              (above(100), 0, "above 100 mmHg")),
    ),
    papers=(
        Paper(
            "Singer M, Deutschman CS, Seymour CW, et al. The third international consensus "
            "definitions for sepsis and septic shock (Sepsis-3). JAMA 2016;315:801-10.",
            "10.1001/jama.2016.0287",
        ),
        Paper(
            "Seymour CW, Liu VX, Iwashyna TJ, et al. Assessment of clinical criteria for sepsis. "
            "JAMA 2016;315:762-74.",
            "10.1001/jama.2016.0288",
        ),
    ),
    schemes=(
        Scheme(
            "Singer 2016",
            (
                Band(_LOW, "negative", "does not exclude sepsis"),
                Band(2, "positive", "poor outcome is more likely: look for organ dysfunction "
                     "(SOFA), consider more intensive care and monitoring"),
            ),
        ),
    ),
    limits=(
        "For adults with suspected infection outside intensive care; the Surviving Sepsis Campaign "
        "2021 advises against it as the only screening tool."
    ),
    youngest=18,
    days=1,
)  # fmt: skip


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


def _dose(name: str, *other_names: str) -> Input:
    return number(
        name, f"{name.capitalize()} dose, given for at least 1 hour (0 if none)", "µg/kg/min", 0,
        {"dopamine": 60, "dobutamine": 60}.get(name, 15), other_names=other_names,
        after="vasopressors",
    )  # fmt: skip


SOFA = Score(
    name="sofa",
    title="SOFA (sequential organ failure assessment)",
    other_names=("sofa score", "sequential organ failure assessment"),
    inputs=(
        number("pao2", "Arterial oxygen tension (PaO2)", "mmHg", 15, 700, Unit("kPa", 7.50062)),
        number("fio2", "Inspired oxygen fraction (FiO2)", "fraction", 0.21, 1, Unit("%", 0.01)),
        Input("respiratory_support", "Respiratory support (mechanical ventilation or CPAP)",
              other_names=("mechanical_ventilation", "ventilated")),
        number("platelets", "Platelets", "10³/µL", 1, 3000, Unit("10⁹/L"), Unit("/µL", 0.001)),
        BILIRUBIN,
        number("mean_arterial_pressure", "Mean arterial pressure", "mmHg", 15, 220,
               other_names=("map",)),
        Input("vasopressors", "Any of dopamine, dobutamine, epinephrine, norepinephrine is given"),
        _dose("dopamine"),
        _dose("dobutamine"),
        _dose("epinephrine", "adrenaline"),
        _dose("norepinephrine", "noradrenaline"),
        GCS_TOTAL,
        CREATININE,
        number("urine_output", "Urine output", "mL/day", 0, 20_000, Unit("L/day", 1000)),
    ),
    items=(
        Item("Respiration", ("pao2", "fio2", "respiratory_support"), _oxygenation),
        steps("platelets", "Platelets", (_LOW, 4, "below 20"), (20, 3, "below 50"),
              (50, 2, "below 100"), (100, 1, "below 150"), (150, 0, "150 or more")),
        steps(
            "bilirubin", "Bilirubin", (_LOW, 0, "below 1.2 mg/dL"), (1.2, 1, "1.2 to 1.9 mg/dL"),
            (2.0, 2, "2.0 to 5.9 mg/dL"), (6.0, 3, "6.0 to 11.9 mg/dL"),
            (12.0, 4, "12.0 mg/dL or more"),
            in_units={"µmol/L": (_LOW, 20, 33, 102, above(204))},
        ),
        Item("Circulation", ("mean_arterial_pressure", "vasopressors", *_PRESSORS), _circulation,
             {"mean_arterial_pressure": (70,), "dopamine": (5, 15), "dobutamine": (0,),
              "epinephrine": (0, 0.1), "norepinephrine": (0, 0.1)}),
        steps("gcs", "Glasgow Coma Scale", (_LOW, 4, "below 6"), (6, 3, "6 to 9"),
              (10, 2, "10 to 12"), (13, 1, "13 to 14"), (15, 0, "15")),
        Item("Kidney", ("creatinine", "urine_output"), _kidney,
             {"creatinine": (1.2, 2.0, 3.5, 5.0), "urine_output": (200, 500)}),
    ),
    papers=(
        Paper(
            "Vincent JL, Moreno R, Takala J, et al. The SOFA (sepsis-related organ failure "
            "assessment) score to describe organ dysfunction/failure. Intensive Care Med "
            "1996;22:707-10.",
            "10.1007/BF01709751",
        ),
        Paper(
            "Singer M, Deutschman CS, Seymour CW, et al. The third international consensus "
            "definitions for sepsis and septic shock (Sepsis-3). JAMA 2016;315:801-10.",
            "10.1001/jama.2016.0287",
        ),
        Paper(
            "Ferreira FL, Bota DP, Bross A, Mélot C, Vincent JL. Serial evaluation of the SOFA "
            "score to predict outcome in critically ill patients. JAMA 2001;286:1754-8.",
            "10.1001/jama.286.14.1754",
        ),
    ),
    schemes=(
        Scheme(
            "Ferreira 2001, first SOFA in intensive care",
            (
                Band(_LOW, "0 to 1", "mortality 0%"),
                Band(2, "2 to 3", "mortality 6.4%"),
                Band(4, "4 to 5", "mortality 20.2%"),
                Band(6, "6 to 7", "mortality 21.5%"),
                Band(8, "8 to 9", "mortality 33.3%"),
                Band(10, "10 to 11", "mortality 50.0%"),
                Band(12, "above 11", "mortality 95.2%"),
            ),
        ),
    ),
    limits=(
        "For adults; worst values of one 24-hour period. In suspected infection a rise of 2 points "
        "or more above the patient's own baseline means sepsis (Sepsis-3); one score alone does "
        "not."
    ),
    youngest=18,
    days=1,
)  # fmt: skip


_NODES = Input(
    "tender_anterior_nodes",
    "Tender or swollen anterior cervical lymph nodes",
    other_names=("tender_nodes", "lymphadenopathy", "anterior_cervical_nodes"),
)
_EXUDATE = Input(
    "tonsillar_exudate",
    "Tonsillar swelling or exudate",
    other_names=("tonsillar_exudates", "exudate"),
)
_COUGH = Input("cough", "Cough (its absence gives the point)")


def _no_cough(values: Values) -> Points:
    return Points(0, "Cough: yes") if values.flag("cough") else Points(1, "Absence of cough")


CENTOR = Score(
    name="centor",
    title="Centor score (streptococcal pharyngitis)",
    other_names=("centor criteria", "centor score"),
    inputs=(
        Input("tonsillar_exudate", "Tonsillar exudate", other_names=("exudate",)),
        _NODES,
        _COUGH,
        Input("fever", "History of fever (above 38 °C)"),
    ),
    items=(
        flag("tonsillar_exudate", 1, "Tonsillar exudate"),
        flag("tender_anterior_nodes", 1, "Tender or swollen anterior cervical nodes"),
        Item("Absence of cough", ("cough",), _no_cough),
        flag("fever", 1, "History of fever"),
    ),
    papers=(
        Paper(
            "Centor RM, Witherspoon JM, Dalton HP, Brody CE, Link K. The diagnosis of strep throat "
            "in adults in the emergency room. Med Decis Making 1981;1:239-46.",
            "10.1177/0272989X8100100304",
        ),
    ),
    schemes=(
        Scheme(
            "usual grouping (IDSA 2012, NICE NG84)",
            (
                Band(_LOW, "0 to 2", "streptococci unlikely"),
                Band(3, "3 to 4", "streptococci more likely: test, or treat by local guideline"),
            ),
        ),
    ),
    rates={0: "2.5%", 1: "6.5%", 2: "15%", 3: "32%", 4: "56%"},
    rates_source="probability of a positive culture for group A streptococci (Centor 1981)",
    limits="For adults and adolescents from 15 years; for others the McIsaac score has the age in.",
    youngest=15,
    days=3,
)

MCISAAC = Score(
    name="mcisaac",
    title="McIsaac score (modified Centor score)",
    other_names=("modified centor", "centor mcisaac", "mcisaac score", "modified centor score"),
    inputs=(TEMPERATURE, _COUGH, _NODES, _EXUDATE, AGE),
    items=(
        steps("temperature", "Temperature", (_LOW, 0, "38 °C or less"),
              (above(38), 1, "above 38 °C")),
        Item("Absence of cough", ("cough",), _no_cough),
        flag("tender_anterior_nodes", 1, "Tender anterior cervical nodes"),
        flag("tonsillar_exudate", 1, "Tonsillar swelling or exudate"),
        steps("age", "Age", (_LOW, 1, "3 to 14"), (15, 0, "15 to 44"), (45, -1, "45 or more")),
    ),
    papers=(
        Paper(
            "McIsaac WJ, White D, Tannenbaum D, Low DE. A clinical score to reduce unnecessary "
            "antibiotic use in patients with sore throat. CMAJ 1998;158:75-83.",
        ),
        Paper(
            "McIsaac WJ, Kellner JD, Aufricht P, Vanjaka A, Low DE. Empirical validation of "
            "guidelines for the management of pharyngitis in children and adults. JAMA "
            "2004;291:1587-95.",
            "10.1001/jama.291.13.1587",
        ),
    ),
    schemes=(
        Scheme(
            "McIsaac 1998 and 2004",
            (
                Band(_LOW, "1 or less", "no culture or antibiotic required"),
                Band(2, "2 to 3", "culture; antibiotic only if it is positive"),
                Band(4, "4 or more", "culture, or antibiotic on clinical grounds"),
            ),
        ),
    ),
    rates={
        -1: "1 to 2.5%",
        0: "1 to 2.5%",
        1: "5 to 10%",
        2: "11 to 17%",
        3: "28 to 35%",
        4: "51 to 53%",
        5: "51 to 53%",
    },
    rates_source="probability of group A streptococci (Choby, Am Fam Physician 2009;79:383-90)",
    limits="From 3 years; not validated in epidemics or immunosuppression.",
    youngest=3,
    days=3,
)  # fmt: skip

SCORES = (CURB65, QSOFA, SOFA, CENTOR, MCISAAC)
