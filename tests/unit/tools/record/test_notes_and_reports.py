"""Clinical notes, SOAP notes, discharge summaries and radiology reports: verbatim, or none."""

from __future__ import annotations

import base64

import pytest

from app.tools.api import ToolRetry
from app.tools.record.clinical_notes import soap_sections
from tests.unit.records.record_files import LOINC, coding
from tests.unit.tools.record.charts import Json, note
from tests.unit.tools.record.conftest import Opens

SOAP = """S: Cough for 3 days. Denies chest pain.
O: T 38.2, RR 22.
Crackles at the right base.
A: Pneumonia
P: Amoxicillin.
Return: if worse."""
SYNTHEA = """
2020-03-01

# Chief Complaint
- Cough

# History of Present Illness
John is a 60 year-old man.

# Medications
acetaminophen 325 mg oral tablet

# Assessment and Plan
Patient presents with pneumonia.

## Plan
The patient was prescribed amoxicillin."""
SERVICES = "http://terminology.hl7.org/CodeSystem/v2-0074"
LETTER = "Admitted with sepsis.\n\nDischarged home on day 5."


def test_notes_come_verbatim_the_latest_first_by_type_and_text(opens: Opens):
    charts = opens(
        note("n1", "11506-3", "Progress note", "Fell in the bathroom.", "2019-01-01"),
        note("n2", "11488-4", "Consult note", "No falls.", "2020-01-01"),
        note("n3", "11506-3", "Progress note", "Stable.", "2021-01-01"),
    )

    def found(**arguments: object) -> list[tuple[str, str]]:
        output = charts.run("get_clinical_notes", **arguments).output
        return [(one["entry"][-2:], one["text"]) for one in output["entries"]]

    assert [own for own, _ in found()] == ["n3", "n2", "n1"]
    assert found(note_type="consult") == [("n2", "No falls.")]
    assert [own for own, _ in found(text="FELL")] == ["n1"]
    assert [own for own, _ in found(until="2020")] == ["n2", "n1"]
    result = charts.run("get_clinical_notes", limit=1)
    assert (result.output["total"], result.output["left_out"]) == (3, 2)
    assert result.output["types"] == {"Progress note": 2, "Consult note": 1}


def test_a_long_note_is_cut_with_its_length_and_whole_by_its_id(opens: Opens):
    text = "word " * 4000 + "the end"
    charts = opens(note("n1", "11506-3", "Progress note", text, "2019-01-01"))
    one = charts.run("get_clinical_notes").output["entries"][0]
    assert len(one["text"]) + one["characters_left_out"] == len(text)
    whole = charts.run("get_clinical_notes", entry="[DocumentReference/n1]").output["entries"][0]
    assert whole["text"] == text
    with pytest.raises(ToolRetry, match="no note with that id") as caught:
        charts.run("get_clinical_notes", entry="DocumentReference/x")
    assert "DocumentReference/n1" in caught.value.remedy


def test_soap_notes_are_parted_by_their_headings(opens: Opens):
    charts = opens(
        note("n1", "11506-3", "Progress note", SOAP, "2019-01-01"),
        note("n2", "34117-2", "History and physical note", SYNTHEA, "2020-01-01"),
        note("n3", "11506-3", "Progress note", "A quiet night. Plan: none.", "2021-01-01"),
    )
    output = charts.run("get_soap_notes").output
    second, first = output["entries"]
    assert first["subjective"] == "S: Cough for 3 days. Denies chest pain."
    assert first["objective"] == "O: T 38.2, RR 22.\nCrackles at the right base."
    assert first["assessment"] == "A: Pneumonia"
    assert first["plan"] == "P: Amoxicillin.\nReturn: if worse."
    assert first["missing"] == []
    assert second["plan"] == "## Plan\nThe patient was prescribed amoxicillin."
    assert second["assessment_and_plan"].endswith("presents with pneumonia.")
    assert "John is a 60 year-old man." in second["subjective"]
    assert second["missing"] == ["objective"]
    assert output["not_soap"] == 1


@pytest.mark.parametrize("text", [SOAP, SYNTHEA, "", "no headings at all", "PLAN\nrest"])
def test_no_line_of_a_note_is_lost_or_changed(text: str):
    lines = [line for part in soap_sections(text).values() for line in part.splitlines()]
    kept = sorted(filter(None, map(str.strip, lines)))
    assert kept == sorted(filter(None, map(str.strip, text.splitlines())))


def test_the_latest_discharge_summary_is_found_by_code_or_name(opens: Opens):
    charts = opens(
        note("n1", "18842-5", "Summary", "First stay.", "2018-01-01"),
        note("n2", "99999-9", "Discharge letter", LETTER, "2020-01-01"),
        note("n3", "11506-3", "Progress note", "discharge summary to follow", "2021-01-01"),
    )
    output = charts.run("get_discharge_summary").output
    assert output["discharge_summary"]["text"] == LETTER
    assert output["discharge_summary"]["entry"] == "DocumentReference/n2"
    assert [one["entry"] for one in output["earlier"]] == ["DocumentReference/n1"]
    before = charts.run("get_discharge_summary", until="2019").output
    assert before["discharge_summary"]["text"] == "First stay."


def test_without_a_discharge_summary_that_is_the_answer(opens: Opens):
    charts = opens(note("n1", "11506-3", "Progress note", "Well.", "2018-01-01"))
    result = charts.run("get_discharge_summary")
    assert result.output["discharge_summary"] is None
    assert result.output["types"] == {"Progress note": 1}
    assert "no discharge summary" in result.summary


def report(own: str, category: str, name: str, text: str, **more: object) -> Json:
    """Return a DiagnosticReport with a text, of a category of HL7 table 0074."""
    form = {"contentType": "text/plain", "data": base64.b64encode(text.encode()).decode()}
    return {
        "resourceType": "DiagnosticReport",
        "id": own,
        "status": "final",
        "category": [
            {
                "coding": [
                    {"system": "http://terminology.hl7.org/CodeSystem/v2-0074", "code": category}
                ]
            }
        ],
        "code": coding(LOINC, "24627-2", name),
        "effectiveDateTime": "2020-05-05",
        "presentedForm": [form],
        **more,
    }


def test_radiology_reports_are_those_on_imaging_and_verbatim(opens: Opens):
    study = {"resourceType": "ImagingStudy", "id": "s1", "status": "available", "started": "2020"}
    lone = {**study, "id": "s2", "started": "2021"}
    linked = [{"reference": "ImagingStudy/s1"}]
    charts = opens(
        report("r1", "RAD", "CT chest", "No pulmonary embolism."),
        report("r2", "LAB", "CT value of the PCR", "Ct 31."),
        report("r3", "OTH", "Study", "Effusion on the left.", imagingStudy=linked),
        note("n1", "18748-4", "Diagnostic imaging study", "Clear lungs.", "2019-01-01"),
        note("n2", "11506-3", "Progress note", "CT ordered.", "2019-01-01"),
        study,
        lone,
    )
    output = charts.run("get_radiology_reports").output
    texts = {one["entry"]: one["text"] for one in output["entries"]}
    assert texts == {
        "DiagnosticReport/r1": "No pulmonary embolism.",
        "DiagnosticReport/r3": "Effusion on the left.",
        "DocumentReference/n1": "Clear lungs.",
    }
    reports = {one["entry"]: one["reports"] for one in output["imaging_studies"]}
    assert reports == {"ImagingStudy/s1": ["DiagnosticReport/r3"], "ImagingStudy/s2": []}
    one = charts.run("get_radiology_reports", text="embolism").output["entries"]
    assert [found["entry"] for found in one] == ["DiagnosticReport/r1"]
