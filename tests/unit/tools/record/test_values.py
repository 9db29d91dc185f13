"""Laboratory results and vital signs: critical flags, names, trends, and what is not known."""

from __future__ import annotations

import csv
import json

import pytest

from app.records.types import LOINC, Code, Entry, EntryKind, Patient, Value
from app.tools.record.critical_values import flag_of
from tests.unit.records.record_files import coding
from tests.unit.tools.record.charts import Json, lab, observation
from tests.unit.tools.record.conftest import Opens

DAY = "2020-01-02T10:00:00+01:00"


ADULT = Patient("p1", "John Okafor", birth_date="1950-06-15")


def level(loinc: str, unit: str, value: str, comparator: str = "", patient: Patient = ADULT) -> str:
    """Return the level of the flag of a value, "" for none."""
    measured = Value(float(value), value, unit, comparator)
    entry = Entry(
        "Observation/1", "p1", EntryKind.LAB, "", (Code(LOINC, loinc),), DAY, value=measured
    )
    flag = flag_of(patient, entry)
    return flag.level if flag else ""


# Kost 1990, from its abstract: mean limits of the survey.
@pytest.mark.parametrize(
    ("loinc", "unit", "value", "expected"),
    [
        ("2823-3", "mmol/L", "6.8", "critical high"),
        ("2823-3", "mmol/L", "6.2", "critical high"),
        ("2823-3", "mmol/L", "6.1", ""),
        ("2823-3", "mmol/L", "2.8", "critical low"),
        ("2823-3", "meq/L", "6.8", "critical high"),
        ("2823-3", "mg/dL", "6.8", ""),
        ("2951-2", "mmol/L", "120", "critical low"),
        ("2951-2", "mmol/L", "158", "critical high"),
        ("2951-2", "mmol/L", "121", ""),
        ("718-7", "g/dL", "6.6", "critical low"),
        ("718-7", "g/dL", "66", "critical high"),
        ("718-7", "g/L", "66", "critical low"),
        ("777-3", "10*3/uL", "36", "critical low"),
        ("6690-2", "10*3/uL", "37.0", "critical high"),
        ("17861-6", "mg/dL", "6.6", "critical low"),
        ("2000-8", "mmol/L", "3.22", "critical high"),
        ("4548-4", "%", "14", ""),
    ],
)
def test_critical_limits_are_those_of_the_paper_in_its_units(
    loinc: str, unit: str, value: str, expected: str
):
    assert level(loinc, unit, value) == expected


def test_a_critical_value_is_told_with_its_limit_and_source(opens: Opens):
    result = opens(lab("v1", "2823-3", "Potassium", "6.8", "mmol/L", DAY)).run("get_patient_labs")
    (one,) = result.output["critical"]
    assert one["flags"][0]["limit"] == "6.2 mmol/L"
    assert "JAMA 1990;263:704" in one["flags"][0]["source"]
    assert "CRITICAL: Potassium 6.8 mmol/L (2020-01-02) [Observation/v1]" in result.summary


@pytest.mark.parametrize(
    ("loinc", "unit", "value", "expected"),
    [
        ("9279-1", "/min", "25", "critical high"),
        ("9279-1", "/min", "24", ""),
        ("2708-6", "%", "91", "critical low"),
        ("2708-6", "%", "92", ""),
        ("8867-4", "/min", "131", "critical high"),
        ("8867-4", "/min", "40", "critical low"),
        ("8310-5", "Cel", "35.0", "critical low"),
    ],
)
def test_vital_signs_are_critical_where_news2_gives_three_points(
    loinc: str, unit: str, value: str, expected: str
):
    assert level(loinc, unit, value) == expected


def test_a_component_has_its_own_flag(opens: Opens):
    def part(code: str, name: str, value: float) -> Json:
        quantity = {"value": value, "code": "mm[Hg]", "system": "http://unitsofmeasure.org"}
        return {"code": coding(LOINC, code, name), "valueQuantity": quantity}

    pressure = observation("vital-signs", "bp", "85354-9", "Blood Pressure", "0", "mm[Hg]", DAY)
    del pressure["valueQuantity"]
    pressure["component"] = [part("8462-4", "Diastolic", 50), part("8480-6", "Systolic", 82)]
    output = opens(pressure).run("get_vital_signs").output
    assert [(one["of"], one["level"]) for one in output["entries"][0]["flags"]] == [
        ("Systolic", "critical low")
    ]


def test_a_child_is_not_judged_by_limits_for_adults(opens: Opens):
    charts = opens(lab("k", "2823-3", "Potassium", "6.8", "mmol/L", DAY), birthDate="2015-01-01")
    result = charts.run("get_patient_labs")
    assert result.output["critical"] == []
    assert "critical limits are for adults" in result.summary


@pytest.mark.parametrize(
    ("comparator", "value", "expected"),
    [("<", "2.0", "critical low"), (">", "2.0", ""), (">", "6.2", "critical high"), ("<", "9", "")],
)
def test_a_value_below_a_limit_of_detection_is_judged_only_where_it_is_certain(
    comparator: str, value: str, expected: str
):
    assert level("2823-3", "mmol/L", value, comparator) == expected


def test_the_records_own_reference_range_and_interpretation_are_used(opens: Opens):
    ranged = lab("a", "2160-0", "Creatinine", "1.9", "mg/dL", DAY)
    ranged["referenceRange"] = [
        {"low": {"value": 0.6, "unit": "mg/dL"}, "high": {"value": 1.3, "unit": "mg/dL"}}
    ]
    said = lab("b", "1751-7", "Albumin", "2.1", "g/dL", DAY)
    said["interpretation"] = [{"coding": [{"code": "L"}]}]
    plain = lab("c", "3016-3", "TSH", "2", "m[IU]/L", DAY)
    result = opens(ranged, said, plain).run("get_patient_labs")
    output = result.output
    levels = {one["entry"][-1]: one.get("flags", [{}])[0].get("level") for one in output["entries"]}
    assert levels == {"a": "high", "b": "low", "c": None}
    assert "Creatinine 1.9 mg/dL (2020-01-02) [Observation/a] (high)" in result.summary
    assert output["not_judged"] == 1
    only = opens(ranged, said, plain, own="p2").run("get_patient_labs", abnormal_only=True).output
    assert {one["entry"][-1] for one in only["entries"]} == {"a", "b"}


def test_a_test_is_found_by_what_people_call_it(opens: Opens):
    charts = opens(
        lab("a1c", "4548-4", "Hemoglobin A1c/Hemoglobin.total in Blood", "7.1", "%", DAY),
        lab("hb", "718-7", "Hemoglobin [Mass/volume] in Blood", "13", "g/dL", DAY),
        lab("wbc", "6690-2", "Leukocytes [#/volume] in Blood", "8", "10*3/uL", DAY),
        lab("own", "99999-9", "Fancy marker", "1", "U/L", DAY),
    )

    def found(*tests: str) -> set[str]:
        output = charts.run("get_patient_labs", tests=list(tests)).output
        return {one["entry"].partition("/")[2] for one in output["entries"]}

    assert found("HbA1c") == {"a1c"}
    assert found("haemoglobin") == {"hb"}
    assert found("white count", "hba1c") == {"wbc", "a1c"}
    assert found("6690-2") == {"wbc"}
    assert found("fancy") == {"own"}


def test_what_was_not_measured_is_said_and_what_there_is_is_listed(opens: Opens):
    charts = opens(lab("hb", "718-7", "Hemoglobin", "13", "g/dL", DAY))
    result = charts.run("get_patient_labs", tests=["potassium"])
    assert result.output["not_found"] == ["potassium"]
    assert result.output["entries"] == []
    assert result.output["recorded"] == {"Hemoglobin": 1}
    assert "no value of: potassium" in result.summary


def test_a_test_without_a_category_is_found_by_name(opens: Opens):
    one = lab("k", "2823-3", "Potassium", "4", "mmol/L", DAY)
    del one["category"]
    assert opens(one).run("get_patient_labs", tests=["potassium"]).output["total"] == 1


def test_a_trend_has_the_values_in_time_with_the_reference_limits(opens: Opens):
    days = ["2018-07-02", "2019-01-01", "2020-01-01T12:00:00Z", "2020-06"]
    found: list[Json] = []
    for number, day in enumerate(days):
        one = lab(f"c{number}", "2160-0", "Creatinine", f"1.{number}", "mg/dL", day)
        one["referenceRange"] = [{"high": {"value": 1.3, "unit": "mg/dL"}}]
        found.append(one)
    result = opens(*found).run("get_patient_labs")
    plots = [one for one in result.artifacts if one.role == "plot"]
    plot = json.loads(plots[0].path.read_text())
    assert (len(plots), plot["y_title"]) == (1, "Creatinine (mg/dL)")
    assert "John Okafor" in plot["note"]
    with (plots[0].path.parent / plot["table"]).open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    measured = [row for row in rows if row["line"] == "measured"]
    assert [row["Creatinine (mg/dL)"] for row in measured] == ["1.0", "1.1", "1.2", "1.3"]
    years = [float(row["year"]) for row in measured]
    assert years == sorted(years)
    # 2 July is day 182 of 365 (from 0), 1 June day 152 of a leap year.
    assert years == pytest.approx(
        [2018 + 182 / 365, 2019.0, 2020 + 0.5 / 366, 2020 + 152 / 366], abs=1e-2
    )
    assert {
        row["Creatinine (mg/dL)"] for row in rows if row["line"] == "upper reference limit"
    } == {"1.3"}
    assert not [row for row in rows if row["line"] == "lower reference limit"]


def test_values_in_two_units_are_never_one_line(opens: Opens):
    result = opens(
        lab("a", "2345-7", "Glucose", "90", "mg/dL", "2019"),
        lab("b", "2345-7", "Glucose", "5", "mmol/L", "2020"),
    ).run("get_patient_labs")
    assert [one.role for one in result.artifacts] == ["table"]


def test_latest_only_gives_one_value_of_each(opens: Opens):
    days = ["2019-03-01T23:30:00-05:00", "2019-03-02T01:00:00+00:00"]
    charts = opens(
        *(
            lab(f"k{n}", "2823-3", "Potassium", f"4.{n}", "mmol/L", day)
            for n, day in enumerate(days)
        )
    )
    output = charts.run("get_patient_labs", latest_only=True).output
    # 23:30 at five hours behind UTC is 04:30 of the next day.
    assert [one["entry"] for one in output["entries"]] == ["Observation/k0"]
