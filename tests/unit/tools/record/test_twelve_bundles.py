"""Each tool's figures on real bundles and on made ones, against a plain walk of their JSON."""

from __future__ import annotations

import csv
from collections import Counter
from datetime import date
from pathlib import Path

import pytest

from app.records.record_library import RecordLibrary
from tests.unit.records.record_files import BUNDLES
from tests.unit.tools.record.charts import Charts, Json, bundles, ids, of_type

ALL = 1000


@pytest.fixture(params=["twelve", "made"])
def source(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Charts, Path]:
    library: RecordLibrary = request.getfixturevalue(request.param)
    folder = BUNDLES
    if request.param == "made":
        folder = request.getfixturevalue("made_folder")
    return Charts(tmp_path, library), folder


def told(entries: list[Json]) -> set[str]:
    return {one["entry"] for one in entries}


def test_all_patients_are_listed(source: tuple[Charts, Path]):
    charts, folder = source
    result = charts.run("list_patients", limit=ALL)
    found = {(one["id"], one["birth_date"], one["gender"]) for one in result.output["patients"]}
    assert found == {(p["id"], p["birthDate"], p["gender"]) for p, _ in bundles(folder)}
    assert result.output["total"] == len(found)


@pytest.mark.parametrize(
    ("tool", "category"), [("get_patient_labs", "laboratory"), ("get_vital_signs", "vital-signs")]
)
def test_every_value_keeps_its_digits_unit_date_and_codes(
    source: tuple[Charts, Path], tool: str, category: str
):
    charts, folder = source
    checked = 0
    for patient, resources in bundles(folder):
        written = {
            f"Observation/{one['id']}": one for one in of_type(resources, "Observation", category)
        }
        result = charts.run(tool, patient_id=patient["id"], limit=ALL)
        assert result.output["patient"]["id"] == patient["id"]
        assert told(result.output["entries"]) == set(written)
        assert result.output["total"] == len(written)
        for one in result.output["entries"]:
            own = written[one["entry"]]
            assert one["date"] == own["effectiveDateTime"]
            assert one["codes"] == [f"{c['system']}|{c['code']}" for c in own["code"]["coding"]]
            parts = [(one, own)]
            parts += zip(one.get("components", ()), own.get("component", ()), strict=True)
            for shown, of_file in parts:
                if "valueQuantity" in of_file:
                    quantity = of_file["valueQuantity"]
                    assert (shown["value"], shown["unit"]) == (quantity["value"], quantity["code"])
                    checked += 1
    assert checked > 100


def test_the_table_has_a_row_for_every_value(source: tuple[Charts, Path]):
    charts, folder = source
    for patient, resources in bundles(folder):
        written = [
            quantity
            for one in of_type(resources, "Observation", "vital-signs")
            for quantity in (one, *one.get("component", ()))
            if "valueQuantity" in quantity
        ]
        result = charts.run("get_vital_signs", patient_id=patient["id"], limit=1)
        table = next(one for one in result.artifacts if one.role == "table")
        with table.path.open(newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        assert Counter(row["value"] for row in rows) == Counter(
            one["valueQuantity"]["value"] for one in written
        )
        assert result.output["left_out"] == result.output["total"] - 1 > 0
        assert "not listed" in result.summary


def test_conditions_are_active_as_their_status_says(source: tuple[Charts, Path]):
    charts, folder = source
    for patient, resources in bundles(folder):
        written = of_type(resources, "Condition")
        status = {
            f"Condition/{one['id']}": one["clinicalStatus"]["coding"][0]["code"] for one in written
        }
        output = charts.run("get_patient_conditions", patient_id=patient["id"], limit=ALL).output
        assert {one["entry"]: one["status"] for one in output["entries"]} == status
        counts = Counter(status.values())
        assert (output["active"], output["past"]) == (
            counts["active"],
            len(status) - counts["active"],
        )
        onsets = {one["entry"]: one["date"] for one in output["entries"]}
        assert onsets == {f"Condition/{one['id']}": one["onsetDateTime"] for one in written}


def test_prevalence_is_that_of_a_count_by_hand(source: tuple[Charts, Path]):
    charts, folder = source
    counts: Counter[str] = Counter()
    people = 0
    for _, resources in bundles(folder):
        people += 1
        counts.update({one["code"]["text"] for one in of_type(resources, "Condition")})
    output = charts.run("analyze_batch_conditions").output
    assert {one["name"]: one["patients"] for one in output["conditions"]} == dict(counts)
    assert output["patients_analyzed"] == people
    for one in output["conditions"]:
        assert one["prevalence"] == pytest.approx(counts[one["name"]] / people)
    holders = sum(
        any("sinusitis" in one["code"]["text"].lower() for one in of_type(resources, "Condition"))
        for _, resources in bundles(folder)
    )
    any_of = charts.run("analyze_batch_conditions", condition="sinusitis").output
    assert any_of["patients_with_any"] == holders
    wanted = next(iter(counts))[:6].lower()
    some = charts.run("analyze_batch_conditions", condition=wanted, patient_limit=5).output
    assert some["patients_analyzed"] == 5
    assert {one["name"] for one in some["conditions"]} <= {
        name for name in counts if wanted in name.lower()
    }


def test_medications_are_current_or_past_as_their_status_says(source: tuple[Charts, Path]):
    charts, folder = source
    for patient, resources in bundles(folder):
        written = of_type(resources, "MedicationRequest")
        active = [one for one in written if one["status"] == "active"]
        output = charts.run("get_medication_list", patient_id=patient["id"], limit=ALL).output
        assert told(output["current"]) == ids(active)
        assert told(output["past"]) == ids(written) - ids(active)
        assert (output["unclear"], output["total"]) == ([], len(written))


def test_imaging_studies_are_named_and_no_report_is_made_up(source: tuple[Charts, Path]):
    charts, folder = source
    for patient, resources in bundles(folder):
        result = charts.run("get_radiology_reports", patient_id=patient["id"])
        # These bundles have laboratory reports only.
        assert result.output["entries"] == []
        assert told(result.output["imaging_studies"]) == ids(of_type(resources, "ImagingStudy"))
        assert "no radiology reports" in result.summary
        found = charts.run("find_patient_images", patient_id=patient["id"]).output
        assert told(found["imaging_studies"]) == ids(of_type(resources, "ImagingStudy"))
        assert (found["dicom_count"], found["has_ecg"]) == (0, False)


def test_demographics_are_those_of_the_file(source: tuple[Charts, Path]):
    charts, folder = source
    today = date.today()  # noqa: DTZ011 - the age is one on a wall calendar
    for patient, _ in bundles(folder):
        output = charts.run("get_demographics", patient_id=patient["id"]).output
        assert (output["birth_date"], output["gender"]) == (patient["birthDate"], patient["gender"])
        values = {one["value"] for one in output["identifiers"]}
        assert values == {one["value"] for one in patient["identifier"]}
        if not patient.get("deceasedDateTime"):
            born = date.fromisoformat(patient["birthDate"])
            years = sum(
                1
                for year in range(born.year + 1, today.year + 1)
                if (year, born.month, born.day) <= (today.year, today.month, today.day)
            )
            assert output["age"] == years
