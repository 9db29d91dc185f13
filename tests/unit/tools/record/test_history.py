"""What the record says of immunizations, procedures, visits, smoking and pregnancy."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.records.record_library import RecordLibrary
from app.records.types import Entry, EntryKind
from app.tools.record.history import _said_of  # pyright: ignore[reportPrivateUsage]
from tests.unit.records.record_files import LOINC, SNOMED, coding
from tests.unit.tools.record.charts import Charts, bundles, ids, of_type
from tests.unit.tools.record.conftest import Opens

TYPES = {"immunizations": "Immunization", "procedures": "Procedure", "visits": "Encounter"}


@pytest.mark.parametrize("topic", TYPES)
def test_the_entries_are_those_of_a_walk_through_the_file(
    twelve: RecordLibrary, tmp_path: Path, topic: str
):
    charts = Charts(tmp_path, twelve)
    seen = 0
    for patient, resources in bundles():
        written = ids(of_type(resources, TYPES[topic]))
        result = charts.run(
            "get_patient_history", patient_id=patient["id"], topics=[topic], limit=1000
        )
        assert {one["entry"] for one in result.output["entries"]} == written
        assert result.output["by_topic"] == {topic: len(written)}
        seen += len(written)
    assert seen > 20


def test_smoking_is_the_status_that_the_file_gives_each_time(twelve: RecordLibrary, tmp_path: Path):
    charts = Charts(tmp_path, twelve)
    for patient, resources in bundles():
        written = {
            f"Observation/{one['id']}": one["valueCodeableConcept"]["text"]
            for one in of_type(resources, "Observation")
            if one["code"]["coding"][0]["code"] == "72166-2"
        }
        result = charts.run("get_patient_history", patient_id=patient["id"], topics=["smoking"])
        found = {one["entry"]: one.get("value") for one in result.output["entries"]}
        assert found == written
        latest = result.output["entries"][0]
        assert f"{latest['value']} ({latest['date'][:10]}) [{latest['entry']}]" in result.summary


def _coded(kind: str, code: str, name: str, **more: object) -> dict[str, object]:
    system = LOINC if kind == "Observation" else SNOMED
    return {"resourceType": kind, "id": f"{kind}{code}", "code": coding(system, code, name), **more}


def test_a_pregnancy_is_found_wherever_the_record_has_it_and_its_absence_says_nothing(opens: Opens):
    charts = opens(
        _coded("Condition", "72892002", "Normal pregnancy", onsetDateTime="2021-03-02"),
        _coded(
            "Observation",
            "82810-3",
            "Pregnancy status",
            status="final",
            effectiveDateTime="2021-04-01",
            valueCodeableConcept={"text": "Pregnant"},
        ),
        _coded("Condition", "38341003", "Hypertension", onsetDateTime="2020"),
    )
    result = charts.run("get_patient_history", topics=["pregnancy", "procedures"])
    assert [one["entry"] for one in result.output["entries"]] == [
        "Observation/Observation82810-3",
        "Condition/Condition72892002",
    ]
    assert "no entry on procedures, which does not mean that there is nothing" in result.summary
    assert "Pregnancy status Pregnant (2021-04-01)" in result.summary


def test_entries_of_one_name_are_said_once_with_their_number(opens: Opens):
    shots = [
        {
            "resourceType": "Immunization",
            "id": f"i{year}",
            "status": "completed",
            "vaccineCode": {"text": name},
            "occurrenceDateTime": f"{year}-10-01",
        }
        for year, name in ((2018, "Influenza"), (2019, "Influenza"), (2012, "Td (adult)"))
    ]
    charts = opens(*shots)
    said = charts.run("get_patient_history", topics=["immunizations"]).summary
    assert "Influenza (2019-10-01) [Immunization/i2019] and 1 earlier; Td (adult)" in said
    only = charts.run("get_patient_history", topics=["immunizations"], text="tetanus")
    assert only.output["total"] == 0
    assert 'no entry on immunizations called "tetanus"' in only.summary
    since = charts.run("get_patient_history", topics=["immunizations"], since="2019")
    assert [one["entry"] for one in since.output["entries"]] == ["Immunization/i2019"]


def test_a_shot_that_was_not_given_is_told_as_not_done():
    def shot(name: str, status: str, day: str) -> Entry:
        return Entry(name, "anna", EntryKind.IMMUNIZATION, "Measles", (), day, status=status)

    told = _said_of(
        "immunizations",
        [shot("i3", "not-done", "2026-09-01"), shot("i2", "completed", "2020-01-01")],
        "",
    )
    assert "Measles (2026-09-01, not-done) [i3]; Measles (2020-01-01) [i2]" in told
