"""The tool `calculate_patient_score`, on made records and on the twelve real bundles."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from app.records.record_library import RecordLibrary
from app.records.types import (
    LOINC,
    RXNORM,
    SNOMED,
    Code,
    Entry,
    EntryKind,
    Patient,
    Records,
    Value,
)
from app.tools.api import JsonDict, ToolFailed, ToolResult, ToolRetry
from app.tools.record.patient_score import CALCULATE_PATIENT_SCORE, PatientScoreOutput
from app.tools.record.scores.catalogue import SCORES
from app.tools.record.scores.record_codes import FILLS, MADE_FOR
from tests.support.made_record import ANNA, BERT, ENTRIES, MadeRecords, creatinine, pressure
from tests.unit.records.record_files import BUNDLES
from tests.unit.tools.support import Bench


class ListedRecords(MadeRecords):
    """Anna's record, with the filters of `Records.entries` by code and last day."""

    def __init__(self, *entries: Entry, patient: Patient = ANNA) -> None:
        super().__init__(sorted(entries, key=lambda one: one.start, reverse=True))
        self._people["anna"] = patient

    def entries(
        self,
        patient_id: str,
        kinds: Sequence[EntryKind] = (),
        *,
        codes: Sequence[Code] = (),
        text: str = "",
        since: str = "",
        until: str = "",
        limit: int | None = None,
    ) -> Sequence[Entry]:
        wanted = {(one.system, one.code) for one in codes}
        return [
            one
            for one in super().entries(patient_id, kinds)
            if not wanted or wanted & _codes_of(one)
            if not until or one.start[: len(until)] <= until
        ][:limit]


def _codes_of(entry: Entry) -> set[tuple[str, str]]:
    own = {(one.system, one.code) for one in entry.codes}
    return own | {(one.system, one.code) for part in entry.components for one in part.codes}


def condition(code: str, name: str, start: str, status: str = "active", **more: Any) -> Entry:
    codes = (Code(SNOMED, code, name),)
    kind = EntryKind.CONDITION
    return Entry(f"Condition/{code}", "anna", kind, name, codes, start, status=status, **more)


def measured(code: str, name: str, value: Value, start: str) -> Entry:
    entry_id = f"Observation/{code}-{start}"
    return Entry(entry_id, "anna", EntryKind.LAB, name, (Code(LOINC, code),), start, value=value)


def medication(name: str, status: str, *codes: Code, start: str = "2025-01-01") -> Entry:
    kind = EntryKind.MEDICATION
    return Entry(f"MedicationRequest/{name}", "anna", kind, name, codes, start, status=status)


def run(folder: Path, records: Records, score: str, **more: Any) -> ToolResult:
    args = {"patient_id": "anna", "as_of": "2026-06-30", **more, "score_name": score}
    tool = CALCULATE_PATIENT_SCORE
    context = replace(Bench(folder).context(), records=records)
    result = tool.run(tool.spec.Input.model_validate(args), context)
    PatientScoreOutput.model_validate(result.output)
    return result


def why_not(result: ToolResult) -> dict[str, str]:
    return {one["input"]: one["why"] for one in result.output["not_recorded"]}


def filled(result: ToolResult) -> dict[str, JsonDict]:
    return {one["input"]: one for one in result.output["filled"]}


def test_points_are_shown_with_the_entries_that_gave_them(tmp_path: Path):
    result = run(tmp_path, ListedRecords(*ENTRIES), "CHA2DS2-VASc")
    output = result.output
    assert output["patient"] == {"id": "anna", "name": "Anna Roth"}
    # Age 76 gives 2, female sex 1, diabetes 1; heart failure, hypertension, stroke and vascular
    # disease are not recorded: 0 to 5 more.
    assert (output["total"], output["range"]) == (None, [4, 9])
    diabetes = next(one for one in output["items"] if one["input"] == "diabetes")
    assert diabetes["points"] == 1
    assert diabetes["entries"] == [
        {"entry": "Condition/diabetes", "name": "Diabetes mellitus type 2", "date": "2015-05"}
    ]
    assert "[Condition/diabetes]" in result.summary
    assert filled(result)["age"]["value"] == "76 years"


def test_what_is_not_recorded_is_not_absent(tmp_path: Path):
    result = run(tmp_path, ListedRecords(*ENTRIES), "cha2ds2_vasc")
    assert why_not(result)["hypertension"] == "not recorded, which is not the same as absent"
    assert result.output["unrecorded_means_absent"] is False
    assert result.output["assumed_absent"] == []
    assert "hypertension" in [one["name"] for one in result.output["missing"]]


def test_only_the_users_word_makes_it_absent_and_the_result_says_so(tmp_path: Path):
    result = run(tmp_path, ListedRecords(*ENTRIES), "cha2ds2_vasc", unrecorded_means_absent=True)
    assert result.output["total"] == 4
    assert result.output["band"] == "high"
    assert result.output["unrecorded_means_absent"] is True
    assert set(result.output["assumed_absent"]) == {
        *("heart_failure", "hypertension", "stroke_or_tia", "thromboembolism", "previous_mi"),
        *("peripheral_artery_disease", "aortic_plaque"),
    }
    assert "as you confirmed: heart failure" in result.summary


def test_symptoms_that_no_code_stands_for_stay_missing_all_the_same(tmp_path: Path):
    result = run(tmp_path, ListedRecords(), "wells_dvt", unrecorded_means_absent=True)
    assert result.output["total"] is None
    assert "calf_swelling" in why_not(result)
    assert result.output["assumed_absent"] == ["active_cancer", "previous_dvt"]


def test_the_most_recent_value_up_to_the_day_counts(tmp_path: Path):
    records = ListedRecords(*ENTRIES)
    now, before = run(tmp_path, records, "egfr"), None
    (tmp_path / "b").mkdir()
    before = run(tmp_path / "b", records, "egfr", as_of="2025-06-30")
    assert filled(now)["creatinine"] | {"from": ""} == {
        "input": "creatinine",
        "value": "1.4 mg/dL",
        "from": "",
        "entry": "Observation/creatinine-2026-03-02",
        "name": "Creatinine",
        "date": "2026-03-02T08:00:00+01:00",
    }
    # CKD-EPI 2021: 142 * 1.012 * (1.4 / 0.7)^-1.2 * 0.9938^76 = 39; (1.0 / 0.7), 75 years: 59.
    assert (now.output["total"], now.output["band"]) == (39, "G3b")
    assert (before.output["total"], before.output["band"]) == (59, "G3a")


def test_a_value_that_is_too_old_is_missing_with_its_date(tmp_path: Path):
    result = run(tmp_path, ListedRecords(*ENTRIES), "egfr", max_days=30)
    assert result.output["total"] is None
    assert why_not(result)["creatinine"] == (
        "Creatinine 1.4 mg/dL of 2026-03-02 is older than 30 days (max_days)"
    )


@pytest.mark.parametrize(
    ("value", "total", "why"),
    [
        (Value(106.0, "106", "umol/L"), 47, ""),
        (Value(106.0, "106", "mg/dL"), None, "it would fit µmol/L"),
        (Value(1.2, "1.2", "mmol/L"), None, "unit 'mmol/L' is not accepted"),
        (Value(12.0, "12", ""), None, "could be mg/dL or µmol/L"),
        (Value(0.2, "0.2", "mg/dL", "<"), None, "no number that can be counted"),
        (Value(None, "hemolysed"), None, "no number that can be counted"),
    ],
)
def test_the_records_unit_is_checked_and_converted(
    tmp_path: Path, value: Value, total: int | None, why: str
):
    records = ListedRecords(measured("2160-0", "Creatinine", value, "2026-06-01"))
    result = run(tmp_path, records, "egfr")
    # 106 µmol/L is 1.199 mg/dL: 142 * 1.012 * (1.199 / 0.7)^-1.2 * 0.9938^76 = 46.9.
    assert result.output["total"] == total
    assert why in why_not(result).get("creatinine", "")


def test_a_resolved_condition_counts_only_where_the_past_does(tmp_path: Path):
    records = ListedRecords(
        condition("59621000", "Essential hypertension", "2001-01-01", "resolved"),
        condition("22298006", "Myocardial infarction", "2010-02-03", "resolved"),
    )
    result = run(tmp_path, records, "cha2ds2_vasc")
    assert "recorded as resolved" in why_not(result)["hypertension"]
    assert filled(result)["previous_mi"]["value"] == "yes"
    # The infarction settles vascular disease, so that the plaque is not asked for.
    assert "aortic_plaque" not in why_not(result)


def test_a_condition_without_a_date_counts(tmp_path: Path):
    records = ListedRecords(condition("44054006", "Diabetes", ""), *ENTRIES)
    assert filled(run(tmp_path, records, "cha2ds2_vasc"))["diabetes"]["value"] == "yes"


def test_a_diagnosis_in_another_code_is_neither_yes_nor_absent(tmp_path: Path):
    codes = (Code("http://hl7.org/fhir/sid/icd-10", "I10", "Essential (primary) hypertension"),)
    name = "Essential (primary) hypertension"
    entry = Entry(
        "Condition/i10", "anna", EntryKind.CONDITION, name, codes, "2020", status="active"
    )
    result = run(tmp_path, ListedRecords(entry), "cha2ds2_vasc", unrecorded_means_absent=True)
    assert "may be it" in why_not(result)["hypertension"]
    assert "hypertension" not in result.output["assumed_absent"]


@pytest.mark.parametrize("verification", ["refuted", "entered-in-error"])
def test_a_refuted_diagnosis_gives_no_point(tmp_path: Path, verification: str):
    details = {"verification": verification}
    records = ListedRecords(condition("44054006", "Diabetes", "2020", details=details))
    assert "diabetes" in why_not(run(tmp_path, records, "cha2ds2_vasc"))


def test_a_suspected_diagnosis_is_neither_yes_nor_absent(tmp_path: Path):
    details = {"verification": "provisional"}
    records = ListedRecords(condition("44054006", "Diabetes", "2020", details=details))
    result = run(tmp_path, records, "cha2ds2_vasc", unrecorded_means_absent=True)
    assert "only suspected" in why_not(result)["diabetes"]


def test_what_began_just_now_is_no_history(tmp_path: Path):
    records = ListedRecords(condition("128053003", "Deep vein thrombosis", "2026-06-25"))
    result = run(tmp_path, records, "wells_pe", unrecorded_means_absent=True)
    assert "at least 30 days ago" in why_not(result)["previous_dvt_or_pe"]
    (tmp_path / "b").mkdir()
    old = ListedRecords(condition("128053003", "Deep vein thrombosis", "2026-01-25", "resolved"))
    assert filled(run(tmp_path / "b", old, "wells_pe"))["previous_dvt_or_pe"]["value"] == "yes"


@pytest.mark.parametrize(
    ("entry", "counts"),
    [
        (medication("Aspirin 81 MG Oral Tablet", "active"), True),
        (medication("Bayer low dose", "active", Code(RXNORM, "1191", "Aspirin")), True),
        (medication("Aspirin 81 MG Oral Tablet", "stopped"), False),
        (medication("Aspirin 81 MG Oral Tablet", "active", start="2026-12-01"), False),
        (medication("Acetaminophen 325 MG Oral Tablet", "active"), False),
    ],
)
def test_a_current_medication_with_the_ingredient_counts(
    tmp_path: Path, entry: Entry, counts: bool
):
    result = run(tmp_path, ListedRecords(entry), "timi")
    assert ("aspirin_last_7_days" in filled(result)) is counts
    assert ("aspirin_last_7_days" in why_not(result)) is not counts
    assert any("was taken" in one for one in result.output["remarks"]) is counts


@pytest.mark.parametrize(
    ("text", "timi", "heart"),
    [
        ("Never smoker", "no", "no"),
        ("Former smoker", "no", None),
        ("Current every day smoker", "yes", "yes"),
        ("Unknown if ever smoked", None, None),
    ],
)
def test_the_smoking_status_is_read_as_each_score_means_it(
    tmp_path: Path, text: str, timi: str | None, heart: str | None
):
    records = ListedRecords(measured("72166-2", "Smoking", Value(None, text), "2026-06-20"))
    for name, expected in (("timi", timi), ("heart", heart)):
        (tmp_path / name).mkdir()
        found = filled(run(tmp_path / name, records, name)).get("current_smoker", {})
        assert found.get("value") == expected


def test_blood_pressure_is_read_from_its_components(tmp_path: Path):
    result = run(tmp_path, ListedRecords(pressure(84, 58, "2026-06-30")), "curb_65")
    item = next(one for one in result.output["items"] if one["item"] == "Low blood pressure")
    assert item["points"] == 1
    assert item["why"] == "Systolic pressure 84 mmHg: below 90"


def test_urea_nitrogen_is_urea(tmp_path: Path):
    value = Value(28.0, "28", "mg/dL")
    records = ListedRecords(measured("3094-0", "Urea nitrogen", value, "2026-06-30"))
    item = run(tmp_path, records, "curb_65").output["items"][1]
    assert (item["points"], item["value"], item["unit"]) == (1, 28, "mg/dL")


def test_what_the_call_gives_goes_before_the_record(tmp_path: Path):
    given = {"creatinine": {"value": 2.0, "unit": "mg/dL"}}
    result = run(tmp_path, ListedRecords(creatinine("1.0", "2026-06-01")), "egfr", inputs=given)
    assert filled(result)["creatinine"] == {
        "input": "creatinine",
        "value": "2 mg/dL",
        "from": "given in the call",
    }
    assert result.output["total"] == 25  # 142 * 1.012 * (2 / 0.7)^-1.2 * 0.9938^76 = 25.4


def test_a_dead_patients_score_is_that_of_the_day_of_death(tmp_path: Path):
    records = ListedRecords(*ENTRIES, patient=replace(ANNA, deceased="2025-07-01T10:00:00Z"))
    result = run(tmp_path, records, "egfr", as_of=None)
    assert result.output["as_of"] == "2025-07-01"
    assert filled(result)["creatinine"]["value"] == "1 mg/dL"


def test_a_partial_birth_date_gives_no_age(tmp_path: Path):
    patient = replace(ANNA, birth_date="1950", gender="")
    result = run(tmp_path, ListedRecords(*ENTRIES, patient=patient), "egfr")
    assert why_not(result)["age"] == "the record has no full birth date"
    assert "sex" in why_not(result)


def test_a_score_for_patients_with_a_condition_says_if_it_is_not_recorded(tmp_path: Path):
    told = "made for patients with atrial fibrillation, which is not recorded"
    assert told in run(tmp_path, ListedRecords(*ENTRIES), "has_bled").summary
    (tmp_path / "b").mkdir()
    records = ListedRecords(condition("49436004", "Atrial fibrillation", "2020-01-01"))
    assert told not in run(tmp_path / "b", records, "has_bled").summary


def test_a_child_is_refused_where_the_score_is_for_adults(tmp_path: Path):
    records = ListedRecords(patient=replace(ANNA, birth_date="2015-01-01"))
    with pytest.raises(ToolRetry, match="does not hold below 18"):
        run(tmp_path, records, "wells_dvt")


def test_another_patients_entries_do_not_count(tmp_path: Path):
    records = ListedRecords(*ENTRIES)
    result = run(tmp_path, records, "cha2ds2_vasc", patient_id=BERT.id)
    assert result.output["patient"]["id"] == "bert"
    assert result.output["filled"] == []


def test_without_a_record_or_a_patient_it_says_what_to_do(tmp_path: Path):
    tool, bench = CALCULATE_PATIENT_SCORE, Bench(tmp_path)
    args = tool.spec.Input.model_validate({"score_name": "egfr"})
    with pytest.raises(ToolFailed, match="no patient's record is open"):
        tool.run(args, bench.context())
    with pytest.raises(ToolRetry, match="not clear whose"):
        tool.run(args, replace(bench.context(), records=ListedRecords()))


def test_every_way_to_fill_an_input_is_that_of_an_input(tmp_path: Path):
    names = {one.name for score in SCORES for one in score.inputs}
    assert set(FILLS) <= names
    assert set(MADE_FOR) <= {score.name for score in SCORES}


@pytest.mark.skipif(not BUNDLES.is_dir(), reason="../shared/data/records is not there")
def test_the_body_mass_index_of_the_real_bundles_is_the_one_that_they_record(tmp_path: Path):
    library = RecordLibrary(tmp_path / "index", workers=2)
    paths = sorted(BUNDLES.glob("*.json"))[:5]
    try:
        library.open(paths)
        compared = 0
        for number, path in enumerate(paths):
            bundle = json.loads(path.read_text("utf-8"))
            resources = [one["resource"] for one in bundle["entry"]]
            patient = next(one for one in resources if one["resourceType"] == "Patient")
            recorded = _latest(resources, "39156-5")
            if recorded is None or _latest(resources, "29463-7")[0] != recorded[0]:
                continue
            folder = tmp_path / str(number)
            folder.mkdir()
            result = run(folder, library, "bmi", patient_id=patient["id"], as_of=recorded[0][:10])
            assert result.output["total"] == pytest.approx(recorded[1], abs=0.011)
            assert {one["date"] for one in result.output["filled"]} == {recorded[0]}
            compared += 1
        assert compared >= 4
    finally:
        library.close()


def _latest(resources: Sequence[JsonDict], code: str) -> Any:
    """Return (date, number) of the latest observation with a code, by a plain walk."""
    found = [
        (one["effectiveDateTime"], one["valueQuantity"]["value"])
        for one in resources
        if one["resourceType"] == "Observation" and one["code"]["coding"][0]["code"] == code
    ]
    return max(found, default=None)
