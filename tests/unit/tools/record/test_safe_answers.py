"""Answers that a clinician acts on: allergies, values nobody judged, digits, blood pressure."""

from __future__ import annotations

import pytest

from app.agent.events import TextDelta
from app.headless.runs import _print_for_people
from app.records.types import LOINC, Code, Component, Entry, EntryKind, Patient, Value
from app.tools.record.patient_results import named, said_entry, said_value
from tests.unit.tools.record.test_patient_choice import POTASSIUM, Opens

FISH = {
    "resourceType": "AllergyIntolerance",
    "id": "a1",
    "clinicalStatus": {"coding": [{"code": "active"}]},
    "code": {"text": "Allergy to fish"},
    "patient": {"reference": "Patient/p1"},
}


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (Value(179.865070353862, "179.865070353862", "mg/dL"), "179.9 mg/dL"),
        (Value(0.0123456789, "0.0123456789", "ng/mL"), "0.01235 ng/mL"),
        (Value(12345.678, "12345.678", "U/L"), "12346 U/L"),
        (Value(12.5, "12.50", "g/dL"), "12.50 g/dL"),
        (Value(290000.0, "290000", "/uL"), "290000 /uL"),
        (Value(0.5, "0.5", "mg/dL", comparator="<"), "<0.5 mg/dL"),
        (Value(text="Never smoker"), "Never smoker"),
    ],
)
def test_a_sentence_has_four_digits(value: Value, said: str):
    assert said_value(value) == said


def test_a_blood_pressure_begins_with_the_systolic():
    parts = tuple(
        Component(name, (Code(LOINC, code),), Value(float(number), str(number), "mm[Hg]"))
        for name, code, number in (("Diastolic", "8462-4", 76), ("Systolic", "8480-6", 114))
    )
    entry = Entry("Observation/1", "p1", EntryKind.VITAL, "Blood Pressure", components=parts)
    assert "Systolic 114 mm[Hg], Diastolic 76 mm[Hg]" in said_entry(entry)


def test_a_patient_is_named_with_the_birth_date():
    assert named(Patient("7", "Anna Roth", birth_date="1950")) == "Anna Roth (born 1950)"
    assert named(Patient("7", "Anna Roth")) == "Anna Roth (7)"


def test_allergies_are_told_with_the_conditions(opens: Opens):
    told = opens(FISH).run("get_patient_conditions")
    assert "Allergies: Allergy to fish, active [AllergyIntolerance/a1]." in told.summary
    assert [one["entry"] for one in told.output["allergies"]] == ["AllergyIntolerance/a1"]


def test_without_an_entry_on_allergies_none_are_denied(opens: Opens):
    none = opens(POTASSIUM).run("get_patient_conditions")
    assert "no entry on allergies, which does not mean that there are none" in none.summary
    assert none.output["allergies"] == []


def test_values_that_nobody_could_judge_are_counted(opens: Opens):
    odd = POTASSIUM | {"id": "k9", "code": {"text": "Something"}}
    told = opens(POTASSIUM, odd).run("get_patient_labs", abnormal_only=True)
    assert told.output["not_judged"] == 1
    assert "1 value could not be judged" in told.summary


def test_a_long_id_is_shortened_for_people(capsys: pytest.CaptureFixture[str]):
    entry = "Observation/21866369-5567-4e46-a39a-b2e04ad9b61f"
    _print_for_people(
        TextDelta(run_id="r", seq=1, time="", text=f"LDL [{entry}], HDL [Observation/7] [1]."),
        False,
    )
    assert capsys.readouterr().out == "LDL [Observation/21866369…], HDL [Observation/7] [1]."
