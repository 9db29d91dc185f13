"""Files of every form become one record; what is damaged is listed, and nothing else is lost."""

from __future__ import annotations

import copy
import gzip
import json
import os
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, cast

import pytest

from app.errors import Cancelled
from app.imaging.processes.worker_pool import WorkerPool
from app.records.fhir_reading import MAX_LINE_BYTES
from app.records.record_files import split_sources
from app.records.record_library import OpenedRecord, RecordLibrary
from app.records.types import Code, EntryKind, RecordProblem
from app.tools.api import CancelToken, ToolContext
from app.tools.record.patient_results import problems_warnings
from tests.unit.records.record_files import LOINC, SNOMED, coding, patient_bundle, write_bundles

Json = dict[str, Any]
PATIENT: Json = {
    "resourceType": "Patient",
    "id": "p1",
    "identifier": [{"system": "urn:oid:1.2.3", "value": "4711"}],
    "name": [
        {"use": "maiden", "family": "Young", "given": ["Ann"]},
        {"use": "official", "family": "Old", "given": ["Ann", "Marie"], "prefix": ["Mrs."]},
    ],
    "birthDate": "1958-03",
    "gender": "female",
}
WHO = {"reference": "Patient/p1"}


@pytest.fixture
def library(pool: WorkerPool) -> Iterator[RecordLibrary]:
    library = RecordLibrary(pool=pool)
    yield library
    library.close()


@pytest.fixture
def read(library: RecordLibrary, tmp_path: Path) -> Callable[..., OpenedRecord]:
    """Writes resources as a bundle, or bytes as they are, and opens them."""

    def write_and_open(*resources: Json | bytes, name: str = "bundle.json") -> OpenedRecord:
        path = tmp_path / name
        if len(resources) == 1 and isinstance(resources[0], bytes):
            path.write_bytes(resources[0])
        else:
            entries = [{"resource": one} for one in resources]
            bundle = {"resourceType": "Bundle", "type": "collection", "entry": entries}
            path.write_text(json.dumps(bundle), encoding="utf-8")
        return library.open([path])

    return write_and_open


def observation(number: str = "o1", **fields: Any) -> Json:
    made: Json = {
        "resourceType": "Observation",
        "id": number,
        "status": "final",
        "code": coding(LOINC, "2339-0", "Glucose"),
        "subject": WHO,
        "effectiveDateTime": "2020-05-01T10:00:00Z",
    }
    return {key: value for key, value in (made | fields).items() if value is not None}


def condition(number: str = "c1", **fields: Any) -> Json:
    made = {
        "resourceType": "Condition",
        "id": number,
        "subject": WHO,
        "code": coding(SNOMED, "38341003", "Hypertension"),
    }
    return made | fields


# Forms


def _as_bundle(resources: list[Json], folder: Path) -> list[Path]:
    path = folder / "one.json"
    entries = [{"resource": one} for one in resources]
    path.write_text(json.dumps({"resourceType": "Bundle", "type": "batch", "entry": entries}))
    return [path]


def _as_single_files(resources: list[Json], folder: Path) -> list[Path]:
    for number, one in enumerate(resources):
        (folder / f"{number}.json").write_text(json.dumps(one))
    return [folder]


def _as_bulk_export(resources: list[Json], folder: Path) -> list[Path]:
    lines: dict[str, list[str]] = {}
    for one in resources:
        lines.setdefault(one["resourceType"], []).append(json.dumps(one))
    for kind, some in lines.items():
        (folder / f"{kind}.ndjson").write_text("\n".join(some) + "\n")
    return [folder]


def _as_packed_bulk_export(resources: list[Json], folder: Path) -> list[Path]:
    for path in _as_bulk_export(resources, folder)[0].glob("*.ndjson"):
        (folder / f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes()))
        path.unlink()
    return [folder]


def _as_list_with_a_mark(resources: list[Json], folder: Path) -> list[Path]:
    path = folder / "list.json"
    path.write_bytes(json.dumps(resources).encode("utf-8-sig"))
    return [path]


def _as_lines_named_json(resources: list[Json], folder: Path) -> list[Path]:
    path = folder / "lines.json"
    path.write_text("\r\n".join(map(json.dumps, resources)))
    return [path]


@pytest.mark.parametrize(
    "write",
    [
        _as_bundle,
        _as_single_files,
        _as_bulk_export,
        _as_packed_bulk_export,
        _as_list_with_a_mark,
        _as_lines_named_json,
    ],
)
def test_every_form_gives_the_same_record(
    library: RecordLibrary, tmp_path: Path, write: Callable[[list[Json], Path], list[Path]]
) -> None:
    bundle = patient_bundle(3, visits=2)
    text = json.dumps([one["resource"] for one in bundle["entry"]])
    for one in bundle["entry"]:
        kind = one["resource"]["resourceType"]
        text = text.replace(one["fullUrl"], f"{kind}/{one['resource']['id']}")
    resources = json.loads(text)
    opened = library.open(write(resources, tmp_path))
    assert opened.problems == ()
    assert opened.counts == dict(Counter(one["resourceType"] for one in resources))
    (patient,) = library.patients()
    entries = library.entries(patient.id)
    assert len(entries) == len(resources) - 3  # the patient, the hospital, the doctor
    orders = library.entries(patient.id, [EntryKind.MEDICATION])
    assert {one.details["requester"] for one in orders} == {"Ann Grey"}
    reports = library.entries(patient.id, [EntryKind.REPORT])
    assert {len(one.links) for one in reports} == {3}
    assert all(one.encounter.startswith("Encounter/") for one in reports)


def test_bundles_in_bundles_are_read(read: Callable[..., OpenedRecord]) -> None:
    inner = {"resourceType": "Bundle", "type": "collection", "entry": [{"resource": PATIENT}]}
    opened = read(inner, observation())
    assert (opened.patients, opened.problems) == (1, ())


# What is kept


def test_dates_of_any_precision_are_compared_as_spans(
    read: Callable[..., OpenedRecord], library: RecordLibrary
) -> None:
    dates = ["2019", "2020-02", "2020-02-29", "2020-03-01T00:30:00+02:00", "2020-03-01T01:00:00Z"]
    read(PATIENT, *(observation(f"o{n}", effectiveDateTime=d) for n, d in enumerate(dates)))

    def found(since: str = "", until: str = "") -> list[str]:
        return [one.start for one in library.entries("p1", since=since, until=until)]

    # 00:30+02:00 is 22:30 UTC of the day before: earlier than 01:00 UTC.
    assert found()[:2] == ["2020-03-01T01:00:00Z", "2020-03-01T00:30:00+02:00"]
    assert set(found(since="2020-03")) == set(dates[3:])  # by the clock on the wall
    assert set(found(since="2020-02-29T23:00:00Z")) == {dates[4], dates[2], dates[1]}
    assert set(found(until="2020-02")) == {"2019", "2020-02", "2020-02-29"}
    assert set(found(since="2020", until="2020-02-10")) == {"2020-02"}
    assert found(since="2021") == []
    with pytest.raises(ValueError, match="no date"):
        library.entries("p1", since="last week")


def test_entries_without_a_date_are_last_and_left_out_of_a_span(
    read: Callable[..., OpenedRecord], library: RecordLibrary
) -> None:
    read(PATIENT, observation("o1", effectiveDateTime=None), observation("o2"))
    assert [one.id for one in library.entries("p1")] == ["Observation/o2", "Observation/o1"]
    assert [one.id for one in library.entries("p1", since="1900")] == ["Observation/o2"]


@pytest.mark.parametrize(
    ("written", "number", "text"),
    [
        ("178.81252042484218", 178.81252042484218, "178.81252042484218"),
        ("178.80", 178.8, "178.80"),
        ("1.50E+2", 150.0, "1.50E+2"),
        ("7", 7.0, "7"),
        ("12345678901234567890", 12345678901234567890.0, "12345678901234567890"),
        ("0", 0.0, "0"),
        ("-3.0", -3.0, "-3.0"),
    ],
)
def test_numbers_keep_their_digits(
    read: Callable[..., OpenedRecord],
    library: RecordLibrary,
    written: str,
    number: float,
    text: str,
) -> None:
    quantity = {"value": "@", "unit": "mg/dl", "system": "http://unitsofmeasure.org"}
    quantity |= {"code": "mg/dL", "comparator": "<"}
    bundle = {
        "resourceType": "Bundle",
        "type": "collection",
        "entry": [
            {"resource": PATIENT},
            {
                "resource": observation(
                    valueQuantity=quantity,
                    referenceRange=[
                        {"low": {"value": 70, "unit": "mg/dL"}, "high": {"value": 99.0}}
                    ],
                )
            },
        ],
    }
    opened = read(json.dumps(bundle).replace('"@"', written).encode())
    assert opened.problems == ()
    entry = library.entry("p1", "Observation/o1")
    assert entry is not None
    assert entry.value is not None
    assert (entry.value.number, entry.value.text) == (number, text)
    assert (entry.value.unit, entry.value.comparator) == ("mg/dL", "<")


def test_a_value_of_any_type_is_kept(
    read: Callable[..., OpenedRecord], library: RecordLibrary
) -> None:
    values: list[tuple[str, Any, str]] = [
        ("valueString", "trace", "trace"),
        ("valueBoolean", False, "false"),
        ("valueInteger", 0, "0"),
        ("valueCodeableConcept", {"coding": [{"code": "never", "display": "Never smoker"}]}, "N"),
        ("valueRange", {"low": {"value": 1}, "high": {"value": 5}}, "1 - 5"),
        ("valueRatio", {"numerator": {"value": 1}, "denominator": {"value": 128}}, "1 / 128"),
        ("valueDateTime", "2020-01", "2020-01"),
        ("valueTime", "10:30:00", "10:30:00"),
        ("valuePeriod", {"start": "2020", "end": "2021"}, "2020 - 2021"),
    ]
    opened = read(PATIENT, *(observation(f"o{n}", **{k: v}) for n, (k, v, _) in enumerate(values)))
    assert opened.problems == ()
    for number, (_, _, text) in enumerate(values):
        entry = library.entry("p1", f"Observation/o{number}")
        assert entry is not None
        assert entry.value is not None
        assert entry.value.text.startswith(text)


def test_notes_and_reports_are_read_as_text(
    read: Callable[..., OpenedRecord], library: RecordLibrary
) -> None:
    note: Json = {
        "resourceType": "DocumentReference",
        "id": "n1",
        "status": "current",
        "subject": WHO,
        "date": "2020-05-01T10:00:00Z",
        "type": coding(LOINC, "34117-2", "History and physical note"),
        "content": [
            {"attachment": {"contentType": "text/plain; charset=utf-8", "data": "R3LDvMOfZQ=="}},
            {"attachment": {"contentType": "application/pdf", "data": "JVBERg=="}},
            {"attachment": {"contentType": "text/plain", "url": "Binary/b1"}},
        ],
    }
    binary = {"resourceType": "Binary", "id": "b1", "contentType": "text/html"}
    binary["data"] = "PHA+T25lPC9wPjxwPlR3byA8Yj5ib2xkPC9iPiB3b3JkPC9wPg=="
    report = {
        "resourceType": "DiagnosticReport",
        "id": "r1",
        "status": "final",
        "subject": WHO,
        "code": {"text": "Chest X-ray"},
        "conclusion": "No pneumothorax.",
    }
    assert read(PATIENT, note, report, binary).problems == ()
    found = library.entry("p1", "DocumentReference/n1")
    assert found is not None
    assert found.text == "Grüße\n\nOne\nTwo bold word"
    assert (
        "application/pdf" in found.details["attachment"] or "Binary" in found.details["attachment"]
    )
    read_report = library.entry("p1", "DiagnosticReport/r1")
    assert read_report is not None
    assert (read_report.text, read_report.kind) == ("No pneumothorax.", EntryKind.REPORT)


def test_a_medication_is_named_by_what_is_referred_to(
    read: Callable[..., OpenedRecord], library: RecordLibrary
) -> None:
    drug: Json = {"resourceType": "Medication", "code": coding("urn:rx", "1", "Aspirin 100 MG")}
    order: Json = {
        "resourceType": "MedicationRequest",
        "status": "active",
        "intent": "order",
        "subject": WHO,
        "dosageInstruction": [
            {
                "timing": {"repeat": {"frequency": 2, "period": 1, "periodUnit": "d"}},
                "doseAndRate": [{"doseQuantity": {"value": 1.0, "unit": "tablet"}}],
                "asNeededBoolean": True,
            }
        ],
    }
    outside = {**order, "id": "m1", "medicationReference": {"reference": "Medication/d1"}}
    inside: Json = {**order, "id": "m2", "medicationReference": {"reference": "#d"}}
    inside["contained"] = [{**drug, "id": "d"}]
    assert read(PATIENT, {**drug, "id": "d1"}, outside, inside).problems == ()
    for one in library.entries("p1"):
        assert one.name == "Aspirin 100 MG"
        assert one.codes == (Code("urn:rx", "1", "Aspirin 100 MG"),)
        assert one.text == "1.0 tablet, 2 times per 1 d, as needed"


def test_the_official_name_is_shown_and_all_are_known(
    read: Callable[..., OpenedRecord], library: RecordLibrary
) -> None:
    read(PATIENT | {"address": [{"line": ["1 Mill Lane"], "city": "Ely"}]})
    patient = library.patient("p1")
    assert patient is not None
    assert patient.name == "Ann Marie Old"
    assert {"Young", "Old", "Ann", "Marie"} <= set(patient.names)
    assert set(patient.private) == {"1 Mill Lane", "Ely"}
    assert library.patients("young") == library.patients("4711") == [patient]


def test_conditions_that_were_refuted_do_not_count(
    read: Callable[..., OpenedRecord], library: RecordLibrary
) -> None:
    system = "http://terminology.hl7.org/CodeSystem/condition-ver-status"
    refuted = {"coding": [{"system": system, "code": "refuted", "display": "Refuted"}]}
    read(PATIENT, condition("c1"), condition("c2", verificationStatus=refuted, code={"text": "X"}))
    assert library.condition_counts() == (1, {"Hypertension": 1})
    assert library.condition_counts(codes=[Code(SNOMED, "38341003")])[1] == {"Hypertension": 1}
    assert library.condition_counts(codes=[Code(LOINC, "38341003")])[1] == {}


# References


@pytest.mark.parametrize(
    "reference",
    [
        "Patient/p1",
        "https://server.example/fhir/Patient/p1",
        "Patient/p1/_history/2",
        "Patient?identifier=urn:oid:1.2.3|4711",
        "Patient?identifier=4711",
    ],
)
def test_references_of_every_form_are_resolved(
    read: Callable[..., OpenedRecord], library: RecordLibrary, reference: str
) -> None:
    assert read(PATIENT, observation(subject={"reference": reference})).problems == ()
    assert len(library.entries("p1")) == 1


def test_a_logical_reference_is_resolved_by_the_identifier(
    read: Callable[..., OpenedRecord], library: RecordLibrary
) -> None:
    who = {"type": "Patient", "identifier": {"system": "urn:oid:1.2.3", "value": "4711"}}
    assert read(PATIENT, observation(subject=who)).problems == ()
    assert len(library.entries("p1")) == 1


def test_what_refers_to_nobody_is_listed_with_its_number(
    read: Callable[..., OpenedRecord], library: RecordLibrary
) -> None:
    stray = [observation(f"s{n}", subject={"reference": "Patient/p9"}) for n in range(4)]
    opened = read(PATIENT, observation(), *stray)
    assert len(library.entries("p1")) == 1
    (problem,) = opened.problems
    assert (problem.count, problem.where) == (4, "entry 3 Observation and 3 more")
    assert "Patient/p9" in problem.reason


def test_a_missing_encounter_costs_no_entry(
    read: Callable[..., OpenedRecord], library: RecordLibrary
) -> None:
    opened = read(PATIENT, observation(encounter={"reference": "Encounter/e9"}))
    assert len(library.entries("p1")) == 1
    assert [(one.count, "Encounter/e9" in one.reason) for one in opened.problems] == [(0, True)]


def test_two_people_with_one_id_are_never_mixed(library: RecordLibrary, tmp_path: Path) -> None:
    other = {**PATIENT, "name": [{"family": "Other"}], "birthDate": "1990", "identifier": []}
    for name, who, number in (("a.json", PATIENT, "o1"), ("b.json", other, "o2")):
        entries = [{"resource": who}, {"resource": observation(number)}]
        bundle = {"resourceType": "Bundle", "type": "collection", "entry": entries}
        (tmp_path / name).write_text(json.dumps(bundle))
    opened = library.open([tmp_path])
    assert [one.id for one in library.entries("p1")] == ["Observation/o1"]
    assert sum(one.count for one in opened.problems) == 2
    assert {Path(one.path).name for one in opened.problems} == {"b.json"}


def test_one_id_in_two_bundles_of_two_patients_is_two_entries(
    library: RecordLibrary, tmp_path: Path
) -> None:
    for number in (1, 2):
        who = {**PATIENT, "id": f"p{number}", "birthDate": f"195{number}"}
        entries = [
            {"resource": who},
            {"resource": observation("1", subject={"reference": f"Patient/p{number}"})},
        ]
        bundle = {"resourceType": "Bundle", "type": "collection", "entry": entries}
        (tmp_path / f"{number}.json").write_text(json.dumps(bundle))
    assert library.open([tmp_path]).problems == ()
    assert [len(library.entries(one)) for one in ("p1", "p2")] == [1, 1]


def test_of_two_versions_the_later_counts_and_the_other_is_listed(
    read: Callable[..., OpenedRecord], library: RecordLibrary
) -> None:
    old = observation(meta={"lastUpdated": "2020-01-01T00:00:00Z"}, valueInteger=1)
    new = observation(meta={"lastUpdated": "2021-01-01T00:00:00Z"}, valueInteger=2)
    opened = read(PATIENT, PATIENT, new, old, new)
    (entry,) = library.entries("p1")
    assert entry.value is not None
    assert entry.value.text == "2"
    assert [(one.count, one.note) for one in opened.problems] == [(1, False), (0, True)]
    assert opened.problems[1].reason.startswith("2 identical copies")  # told, and no loss


def test_identical_copies_are_counted_by_file_and_told_as_a_note(
    library: RecordLibrary, tmp_path: Path
) -> None:
    (path,) = write_bundles(tmp_path / "a", 1, visits=2)
    whole = json.loads(path.read_text())
    seen = [one for one in whole["entry"] if one["resource"]["resourceType"] == "Observation"]
    before = len(library.entries(library.open([path]) and library.patients()[0].id))
    path.write_text(json.dumps({**whole, "entry": [*whole["entry"], *seen[:3]]}))
    (tmp_path / "b").mkdir()
    again = tmp_path / "b" / "again.json"
    again.write_text(json.dumps({**whole, "entry": [whole["entry"][0], seen[0]]}))
    library.close()
    opened = library.open([tmp_path])
    told = [(one.path, one.count, one.note, one.reason.split()[0]) for one in opened.problems]
    assert told == [(str(path), 0, True, "3"), (str(again), 0, True, "2")]
    assert len(library.entries(library.patients()[0].id)) == before
    # Which copy is the first does not depend on which file was read first.
    os.utime(path, (1, 1))
    reread = library.open([tmp_path])
    assert [(one.path, one.reason.split()[0]) for one in reread.problems] == [
        (str(path), "3"),
        (str(again), "2"),
    ]
    # A tool's answer does not say that something is missing.
    assert problems_warnings(cast("ToolContext", ContextOf(library))) == []


class ContextOf:
    """What a tool's context has of the records."""

    def __init__(self, records: RecordLibrary) -> None:
        self.records = records


def test_an_archive_of_records_alone_is_taken_for_a_record(tmp_path: Path) -> None:
    """So that people read that it must be unpacked, not that it holds no image."""
    for name, inside in (("a.zip", ["x/b.json", "c.ndjson"]), ("b.zip", ["b.json", "1.dcm"])):
        with zipfile.ZipFile(tmp_path / name, "w") as archive:
            for one in inside:
                archive.writestr(one, "{}")
    (tmp_path / "c.zip").write_bytes(b"PK\x03\x04 cut")
    places = [tmp_path / name for name in ("a.zip", "b.zip", "c.zip")]
    assert split_sources(places) == (places[:1], places[1:])


# Damage


def _texts(problems: tuple[RecordProblem, ...]) -> str:
    return "\n".join(f"{one.where}: {one.reason}" for one in problems)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "empty"),
        (b"   \n", "empty"),
        (b"[]", "empty list"),
        (b"null", "no JSON object"),
        (b'{"a": 1}', "no resourceType"),
        (b'{"resourceType": "Bundle", "type": "collection", "entry": [{"resou', "breaks off"),
        (b'{"resourceType": "Patient",, }', "no valid JSON"),
        (b"\xff\xff{", "UTF-8"),
        (b'{"resourceType": "Patient", "id": "\xe9"}', "UTF-8"),
        (b'{"resourceType": "Patient", "name": ' + b"[" * 100_000, "nested too deeply"),
        (b'<Patient xmlns="http://hl7.org/fhir"/>', "XML"),
        (b"PK\x03\x04\x14\x00record.json", "unpack it"),
        (b'{"resourceType": "Patience", "id": "1"}', "no such resource type"),
        (b'{"resourceType": "Bundle", "type": "collection", "entry": 7}', "no list"),
        (b'{"resourceType": "Bundle", "type": "collection", "entry": [7]}', "no JSON object"),
        (b'{"resourceType": "Bundle", "type": "x", "type": "collection"}', "twice"),
        (b'{"resourceType": "Patient", "birthDate": "2020-02-30"}', "rules of FHIR"),
        (b'{"resourceType": "Patient", "multipleBirthInteger": NaN}', "rules of FHIR"),
        (b'{"resourceType": "Patient", "gender": "male", "gender": "female"}', "twice"),
        (b'{"resourceType": "Patient", "id": "\\ud800"}', "rules of FHIR"),
        (
            b'{"resourceType": "Bundle", "type": "collection", "entry": '
            b'[{"fullUrl": "\\ud800", "resource": {"resourceType": "Patient"}}]}',
            "halves of characters",
        ),
        (b'{"resourceType": "Patient", "\\ud800": 1}', "rules of FHIR"),
        (b'{"resourceType": "Patient", "multipleBirthInteger": 1e999999999}', "rules of FHIR"),
        (b'{"resourceType": 7}', "no resourceType"),
        (b'{"resourceType": "Patient", "extra": 1}', "rules of FHIR"),
    ],
)
def test_a_damaged_file_is_listed_with_its_reason(
    read: Callable[..., OpenedRecord], data: bytes, words: str
) -> None:
    opened = read(data, name="damaged.json")
    assert opened.patients == 0
    assert opened.problems
    assert words in _texts(opened.problems)
    assert all(one.path.endswith("damaged.json") for one in opened.problems)


def test_a_damaged_resource_costs_only_itself(
    read: Callable[..., OpenedRecord], library: RecordLibrary
) -> None:
    broken = [
        observation("b1", status=7),
        observation("b2", valueQuantity={"value": "many"}),
        {"resourceType": "Observation", "id": "b3"},
        {"resourceType": "Nothing", "id": "b4"},
        observation("b5", effectiveDateTime="yesterday"),
    ]
    opened = read(PATIENT, *broken, observation("o1"))
    assert [one.id for one in library.entries("p1")] == ["Observation/o1"]
    assert [one.where.split()[1] for one in opened.problems] == ["2", "3", "4", "5", "6"]
    assert sum(one.count for one in opened.problems) == len(broken)


def test_a_number_that_no_computer_holds_costs_only_its_entry_at_most(
    read: Callable[..., OpenedRecord], library: RecordLibrary
) -> None:
    bundle = {
        "resourceType": "Bundle",
        "type": "collection",
        "entry": [
            {"resource": PATIENT},
            {"resource": observation("o1", valueQuantity={"value": "@"})},
            {"resource": observation("o2")},
        ],
    }
    for written in ("1e999999999999", "9" * 100_000, "1e400", "-1e-999999999"):
        opened = read(json.dumps(bundle).replace('"@"', written).encode())
        found = {one.id for one in library.entries("p1")}
        assert "Observation/o2" in found
        lost = sum(one.count for one in opened.problems)
        assert len(found) + lost == 2


def test_damaged_lines_cost_only_themselves(
    read: Callable[..., OpenedRecord], library: RecordLibrary
) -> None:
    lines = [
        json.dumps(PATIENT).encode(),
        b'{"resourceType": "Observation", ',
        b"",
        b"\xff\xff",
        b"<xml/>",
        json.dumps(observation()).encode(),
    ]
    opened = read(b"\n".join(lines), name="all.ndjson")
    assert len(library.entries("p1")) == 1
    assert [one.where for one in opened.problems] == ["line 2", "line 4", "line 5"]


def test_packed_bombs_and_broken_packs_are_listed(library: RecordLibrary, tmp_path: Path) -> None:
    bomb = gzip.compress(b" " * (MAX_LINE_BYTES + 2), 1)
    (tmp_path / "bomb.ndjson.gz").write_bytes(bomb)
    (tmp_path / "cut.json.gz").write_bytes(gzip.compress(json.dumps(PATIENT).encode())[:-12])
    (tmp_path / "no.json.gz").write_bytes(b"no gzip at all")
    (tmp_path / "p.json").write_text(json.dumps(PATIENT))
    opened = library.open([tmp_path])
    assert opened.patients == 1
    reasons = {Path(one.path).name: one.reason for one in opened.problems}
    assert set(reasons) == {"bomb.ndjson.gz", "cut.json.gz", "no.json.gz"}
    assert "64 MiB" in reasons["bomb.ndjson.gz"]


@pytest.mark.slow
def test_a_file_of_one_gigabyte_is_refused_and_the_rest_read(
    library: RecordLibrary, tmp_path: Path
) -> None:
    with (tmp_path / "large.json").open("wb") as file:
        file.write(b'{"resourceType": "Bundle", "type": "collection", "entry": [')
        file.truncate(2**30)
    (tmp_path / "p.json").write_text(json.dumps(PATIENT))
    opened = library.open([tmp_path])
    assert opened.patients == 1
    assert ["256 MiB" in one.reason for one in opened.problems] == [True]


def test_two_records_are_open_beside_each_other(library: RecordLibrary, tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    write_bundles(first, 2, visits=1)
    write_bundles(second, 3, visits=1)  # the same two, and one more
    library.open([first])
    library.open([second])
    names = [one.name.casefold() for one in library.patients()]
    assert names == sorted(names)
    assert library.count() == len(names) == 3
    everybody = [one.id for one in library.patients()]
    assert [one.id for one in library.patients(limit=2, offset=1)] == everybody[1:3]
    twice = [one for one in library.problems() if "another open record" in one.reason]
    assert [(Path(one.path).parent, one.count) for one in twice] == [(second, 0)] * 2
    assert {Path(one.source).parent for one in library.patients()} == {first, second}
    looked_at, counts = library.condition_counts()
    assert (looked_at, sum(counts.values())) == (3, 3)  # each has one


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_what_is_no_file_is_listed(library: RecordLibrary, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.json")
    (tmp_path / "gone.json").symlink_to(tmp_path / "nowhere")
    opened = library.open([tmp_path, tmp_path / "missing.json"])
    assert len(opened.problems) == 3


def test_a_worker_that_dies_over_a_file_costs_only_that_file(
    library: RecordLibrary, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "app.records.record_library.ENTRY", "tests.unit.records.dying_worker:read_entry"
    )
    (tmp_path / "a-crash.json").write_text(json.dumps(observation()))
    (tmp_path / "b.json").write_text(json.dumps(PATIENT))
    opened = library.open([tmp_path])
    assert opened.patients == 1
    assert [Path(one.path).name for one in opened.problems] == ["a-crash.json"]


# The index


def test_only_what_has_changed_is_read_again(pool: WorkerPool, tmp_path: Path) -> None:
    folder = tmp_path / "records"
    paths = write_bundles(folder, 3, visits=1)
    library = RecordLibrary(tmp_path / "index", pool=pool)
    assert library.open([folder]).patients == 3
    library.close()
    paths[0].unlink()
    changed = copy.deepcopy(patient_bundle(1, visits=1))
    changed["entry"][0]["resource"]["name"] = [{"family": "Changed"}]
    paths[1].write_text(json.dumps(changed))
    library = RecordLibrary(tmp_path / "index", pool=pool)
    opened = library.open([folder])
    assert (opened.patients, opened.files) == (2, 2)
    assert len(library.patients("changed")) == 1
    library.close()


def test_a_damaged_index_is_made_anew(pool: WorkerPool, tmp_path: Path) -> None:
    folder = tmp_path / "records"
    write_bundles(folder, 1, visits=1)
    library = RecordLibrary(tmp_path / "index", pool=pool)
    library.open([folder])
    library.close()
    (database,) = (tmp_path / "index").glob("*.sqlite")
    database.write_bytes(b"this is no database" * 1000)
    library = RecordLibrary(tmp_path / "index", pool=pool)
    assert library.open([folder]).patients == 1
    library.close()


def test_old_indexes_are_deleted(
    pool: WorkerPool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.records.record_library._MOST_INDEXES", 2)
    library = RecordLibrary(tmp_path / "index", pool=pool)
    for number in range(4):
        write_bundles(tmp_path / str(number), 1, visits=1)
        library.open([tmp_path / str(number)])
        if number == 1:
            library.close()
    assert len(list((tmp_path / "index").glob("*.sqlite"))) == 2
    assert library.count() == 1  # both hold the same patient
    library.close()


def test_many_threads_read_at_once_while_another_opens(
    library: RecordLibrary, tmp_path: Path
) -> None:
    write_bundles(tmp_path, 3, visits=2)
    library.open([tmp_path])
    people = [one.id for one in library.patients()]
    counts = [len(library.entries(one)) for one in people]

    def read(_: int) -> list[int]:
        return [len(library.entries(one)) for one in people]

    with ThreadPoolExecutor(8) as threads:
        write_bundles(tmp_path, 6, visits=2)
        opening = threads.submit(library.open, [tmp_path])
        assert all(found == counts for found in threads.map(read, range(40)))
        assert opening.result().patients == 6


def test_a_stopped_opening_leaves_what_was_open(library: RecordLibrary, tmp_path: Path) -> None:
    write_bundles(tmp_path, 2, visits=1)
    library.open([tmp_path])
    write_bundles(tmp_path, 4, visits=1)
    cancel = CancelToken()
    cancel.cancel()
    with pytest.raises(Cancelled):
        library.open([tmp_path], None, cancel)
    assert library.count() == 2


def test_without_an_index_nothing_stays_on_disk(pool: WorkerPool, tmp_path: Path) -> None:
    write_bundles(tmp_path, 1, visits=1)
    library = RecordLibrary(None, pool=pool)
    library.open([tmp_path])
    (connection,) = library._open_connections()
    database = Path(connection.execute("PRAGMA database_list").fetchone()[2])
    assert database.exists()
    library.close()
    assert not database.parent.exists()


def test_records_and_images_of_a_folder_are_told_apart(tmp_path: Path) -> None:
    both, only = tmp_path / "both", tmp_path / "only"
    write_bundles(both / "fhir", 1, visits=1)
    (both / "image.dcm").write_bytes(b"x")
    write_bundles(only, 1, visits=1)
    other = tmp_path / "settings.json"
    other.write_text('{"a": 1}')
    assert split_sources([both, only, other]) == ([both, only], [both, other])
