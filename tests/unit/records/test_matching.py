"""Whose record a study belongs to: identifiers decide, contradictions refuse, names never match."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from app.imaging.processes.worker_pool import WorkerPool
from app.imaging.types import Instance
from app.records.fhir_dates import date_span
from app.records.matching import study_identity
from app.records.record_library import RecordLibrary
from app.records.types import StudyIdentity

UID = "1.2.840.99.7"


def _patient(number: int, **fields: Any) -> dict[str, Any]:
    return {
        "resourceType": "Patient",
        "id": f"p{number}",
        "identifier": [{"system": "urn:oid:1.2.3", "value": f"MRN{number}"}],
        "name": [{"family": "Miller", "given": ["Pat"]}],
        "birthDate": "1958-03-01",
        "gender": "female",
        **fields,
    }


_STUDY = {
    "resourceType": "ImagingStudy",
    "id": "s1",
    "status": "available",
    "subject": {"reference": "Patient/p1"},
    "identifier": [
        {"system": "urn:dicom:uid", "value": f"urn:oid:{UID}"},
        {"type": {"coding": [{"code": "ACSN"}]}, "value": "ACC-9"},
    ],
}


@pytest.fixture(scope="module")
def library(pool: WorkerPool, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RecordLibrary]:
    shared = [{"system": "http://other.example", "value": "SHARED"}]
    people = [
        _patient(1),
        _patient(2, birthDate="1958-03", gender="unknown"),
        _patient(3, identifier=shared),
        _patient(4, identifier=shared),
        _patient(5, birthDate="1958"),
        _patient(6, identifier=[{"type": {"coding": [{"code": "DL"}]}, "value": "S9991"}]),
    ]
    folder = tmp_path_factory.mktemp("records")
    for number, one in enumerate([*people, _STUDY]):
        (folder / f"{number}.json").write_text(json.dumps(one))
    library = RecordLibrary(pool=pool)
    assert library.open([folder]).problems == ()
    yield library
    library.close()


def _study(patient_id: str = "", **fields: str) -> StudyIdentity:
    return StudyIdentity(patient_id, **fields)


@pytest.mark.parametrize(
    ("study", "status", "patient"),
    [
        (_study("MRN1"), "matched", "p1"),
        (_study(" MRN1 "), "matched", "p1"),
        (_study("p1"), "matched", "p1"),
        (_study("MRN1", birth_date="19580301", sex="F"), "matched", "p1"),
        (_study("MRN1", issuer="1.2.3"), "matched", "p1"),
        (_study("MRN1", issuer="ST MARY"), "matched", "p1"),
        (_study("MRN1", issuer="1.2.4"), "none", ""),
        (_study("MRN1", birth_date="19580302"), "contradicted", ""),
        (_study("MRN1", birth_date="1958.03.01"), "matched", "p1"),
        (_study("MRN1", sex="M"), "contradicted", ""),
        (_study("MRN2", sex="M", birth_date="19580315"), "matched", "p2"),
        (_study("MRN2", birth_date="19580401"), "contradicted", ""),
        (_study("MRN5", birth_date="19581231"), "matched", "p5"),
        (_study("SHARED"), "ambiguous", ""),
        (_study("", study_instance_uid=UID), "matched", "p1"),
        (_study("", accession_number="ACC-9"), "none", ""),
        (_study("", accession_number="ACC-9", patient_name="Miller^Pat"), "matched", "p1"),
        (_study("", accession_number="ACC-9", birth_date="19580301"), "matched", "p1"),
        (_study("7", accession_number="ACC-9", birth_date="19580301"), "matched", "p1"),
        (
            _study("7", accession_number="ACC-9", birth_date="19580301", patient_name="Roth^Eva"),
            "none",
            "",
        ),
        (_study("MRN1", patient_name="Roth^Eva"), "contradicted", ""),
        (_study("MRN1", patient_name="MÍLLER^P"), "matched", "p1"),
        (_study("MRN1", patient_name="Roth^Pat", birth_date="19580301"), "matched", "p1"),
        (_study("MRN1", patient_name="Roth^Eva", birth_date="19580301"), "matched", "p1"),
        (_study("MRN1", patient_name="山田^太郎"), "matched", "p1"),
        (_study("p1", patient_name="Roth^Eva"), "contradicted", ""),
        (_study("S9991"), "none", ""),
        (_study("S9991", patient_name="Roth^Eva"), "contradicted", ""),
        (_study("S9991", patient_name="Miller^Pat"), "matched", "p6"),
        (_study("MRN2", study_instance_uid=UID), "ambiguous", ""),
        (_study("", study_instance_uid=UID, sex="M"), "contradicted", ""),
        (_study("MRN"), "none", ""),
        (_study("mrn1"), "none", ""),
        (_study(""), "none", ""),
        (_study("", patient_name="Miller^Pat", birth_date="19580301", sex="F"), "none", ""),
        (_study("4711", patient_name="Miller^Pat"), "none", ""),
        (_study("%"), "none", ""),
        (_study("' OR 1=1 --"), "none", ""),
    ],
)
def test_a_study_is_matched_by_identifiers_only(
    library: RecordLibrary, study: StudyIdentity, status: str, patient: str
) -> None:
    match = library.match(study)
    assert (match.status, match.patient_id) == (status, patient)
    assert match.reason.endswith(".")


@pytest.mark.parametrize(
    ("study", "reason"),
    [
        (_study("MRN1"), "The patient ID agrees; name and birth date could not be compared."),
        (_study("MRN1", patient_name="Miller^Pat"), "The patient ID agrees."),
        (_study("MRN1", birth_date="19580301"), "The patient ID agrees."),
        (_study("MRN1", study_instance_uid=UID), "The record lists this study."),
    ],
)
def test_a_match_says_if_only_the_patient_id_could_be_compared(
    library: RecordLibrary, study: StudyIdentity, reason: str
) -> None:
    assert library.match(study).reason == reason


def test_without_a_record_nothing_matches() -> None:
    assert RecordLibrary().match(_study("MRN1")).status == "none"


def test_the_identity_is_that_of_the_header() -> None:
    attributes = {
        "PatientID": "MRN1",
        "IssuerOfPatientID": "1.2.3",
        "PatientName": "Miller^Pat",
        "PatientBirthDate": "19580301",
        "PatientSex": "F",
        "StudyInstanceUID": UID,
        "AccessionNumber": "ACC-9",
    }
    image = Instance(Path("/a.dcm"), "1.1", "dicom", 1, 1, attributes=attributes)
    assert study_identity(image) == StudyIdentity(*attributes.values())


@pytest.mark.parametrize(
    "text",
    [
        "",
        "2020-13",
        "2020-02-30",
        "20-01-01",
        "2020-01-01T25:00:00Z",
        "2020-01-01T10:61:00Z",
        "x",
        "2020-01-01T10:00:00+15:00",
        "0000",
        "2020-01-01 10:00",
    ],
)
def test_what_is_no_date_has_no_span(text: str) -> None:
    assert date_span(text) is None


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("2019", 365 * 86400),
        ("2020", 366 * 86400),
        ("2020-02", 29 * 86400),
        ("2020-12", 31 * 86400),
        ("9999-12", 31 * 86400),
        ("9999", 365 * 86400),
        ("2020-02-29", 86400),
        ("2020-02-29T23:59", 60),
        ("2020-02-29T23:59:59Z", 1),
        ("2016-12-31T23:59:60Z", 1),
        ("2020-02-29T23:59:59.5Z", 0.1),
        ("2020-02-29T23:59:59.123456789Z", 1e-6),
    ],
)
def test_a_date_is_as_long_as_it_is_precise(text: str, seconds: float) -> None:
    span = date_span(text)
    assert span is not None
    assert span.high - span.low == round(seconds * 1e6)


def test_zones_count_for_the_moment_and_not_for_the_wall() -> None:
    east, west = date_span("2020-03-01T00:30:00+02:00"), date_span("2020-02-29T22:30:00Z")
    assert east is not None
    assert west is not None
    assert (east.low, east.high) == (west.low, west.high)
    assert east.wall_low - west.wall_low == 2 * 3600 * 10**6
