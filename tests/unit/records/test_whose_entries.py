"""Whose an entry is: where two people can be meant, it is listed and goes to neither."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from app.imaging.processes.worker_pool import WorkerPool
from app.records.record_library import RecordLibrary

Json = dict[str, Any]


def _patient(name: str, born: str) -> Json:
    return {"resourceType": "Patient", "id": "1", "name": [{"family": name}], "birthDate": born}


def _observation(name: str, subject: str) -> Json:
    return {
        "resourceType": "Observation",
        "id": name,
        "status": "final",
        "code": {"text": "Creatinine"},
        "subject": {"reference": subject},
    }


ROTH, KERN = _patient("Roth", "1950-06-15"), _patient("Kern", "1961-01-02")


@pytest.mark.parametrize(
    ("entries", "of_roth", "lost"),
    [
        # Two people with one id in one file: "Patient/1" is neither.
        ([("", ROTH), ("", _observation("a", "Patient/1")), ("", KERN)], [], 1),
        # ... unless the address says who.
        (
            [
                ("https://a/fhir/Patient/1", ROTH),
                ("https://b/fhir/Patient/1", KERN),
                ("https://a/fhir/Observation/a", _observation("a", "Patient/1")),
                ("https://b/fhir/Observation/b", _observation("b", "Patient/1")),
                ("", _observation("c", "https://a/fhir/Patient/1")),
                ("", _observation("d", "https://b/fhir/Patient/1/_history/2")),
                ("", _observation("e", "Patient/1")),
            ],
            ["a", "c"],
            3,
        ),
        # The patient 1 of another server is somebody else.
        (
            [
                ("https://a/fhir/Patient/1", ROTH),
                ("", _observation("a", "https://b/fhir/Patient/1")),
                ("https://b/fhir/Observation/b", _observation("b", "Patient/1")),
                ("http://a/fhir/Observation/c", _observation("c", "http://a/fhir/Patient/1")),
                ("", _observation("d", "Patient/1")),
            ],
            ["c", "d"],
            2,
        ),
        # Two people with one `fullUrl`.
        (
            [
                ("urn:uuid:5", ROTH),
                ("urn:uuid:5", KERN | {"id": "2"}),
                ("", _observation("a", "urn:uuid:5")),
                ("", _observation("b", "Patient/1")),
            ],
            ["b"],
            1,
        ),
        # Two versions of one person are one.
        (
            [("", ROTH), ("", ROTH | {"active": True}), ("", _observation("a", "Patient/1"))],
            ["a"],
            0,
        ),
    ],
)
def test_an_entry_that_two_people_could_own_goes_to_neither(
    pool: WorkerPool,
    tmp_path: Path,
    entries: list[tuple[str, Json]],
    of_roth: list[str],
    lost: int,
) -> None:
    rows = [{**({"fullUrl": url} if url else {}), "resource": one} for url, one in entries]
    bundle = {"resourceType": "Bundle", "type": "collection", "entry": rows}
    (tmp_path / "a.json").write_text(json.dumps(bundle))
    library = RecordLibrary(pool=pool)
    problems = library.open([tmp_path]).problems
    found = {entry.id for entry in library.entries("1")}
    library.close()
    assert found == {f"Observation/{name}" for name in of_roth}
    told = [one for one in problems if "of a patient who is not there" in one.reason]
    assert sum(one.count for one in told) == lost


def test_what_is_entered_in_error_is_left_out_and_told(tmp_path: Path) -> None:
    patient = {"resourceType": "Patient", "id": "p1", "birthDate": "1960-05-05"}
    about: dict[str, Any] = {"subject": {"reference": "Patient/p1"}}
    code = {"text": "Creatinine"}
    values = [("a", "final", 1.0), ("b", "entered-in-error", 7.0), ("c", "amended", 1.1)]
    resources: list[dict[str, Any]] = [
        patient,
        *(
            {
                "resourceType": "Observation",
                "id": name,
                "status": status,
                "code": code,
                "effectiveDateTime": "2020-01-01",
                "valueQuantity": {"value": value, "unit": "mg/dL"},
                **about,
            }
            for name, status, value in values
        ),
        {
            "resourceType": "Condition",
            "id": "d",
            "verificationStatus": {"coding": [{"code": "entered-in-error"}]},
            "code": {"text": "Stroke"},
            **about,
        },
        {
            "resourceType": "Condition",
            "id": "e",
            "code": {"text": "The words in error, entered by hand"},
            **about,
        },
    ]
    path = tmp_path / "b.json"
    entries = [{"resource": one} for one in resources]
    bundle = {"resourceType": "Bundle", "type": "collection", "entry": entries}
    path.write_text(json.dumps(bundle), "utf-8")
    library = RecordLibrary(workers=1)
    opened = library.open([path])
    shown = {one.id for one in library.entries("p1")}
    assert shown == {"Observation/a", "Observation/c", "Condition/e"}
    (note,) = opened.problems
    assert note.note
    assert "2 entries that the record itself marks as entered in error" in note.reason
    library.close()
