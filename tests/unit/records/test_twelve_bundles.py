"""The twelve bundles of `../shared/data/records`: every figure against a plain walk of the JSON."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from app.records.record_library import OpenedRecord, RecordLibrary
from app.records.types import LOINC, Code, Entry, EntryKind
from tests.unit.records.record_files import BUNDLES

pytestmark = pytest.mark.skipif(not BUNDLES.is_dir(), reason="needs ../shared/data/records")
_SHARED = ("Patient", "Organization", "Practitioner")


@pytest.fixture(scope="module")
def opened(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[RecordLibrary, OpenedRecord]]:
    library = RecordLibrary(tmp_path_factory.mktemp("index"), workers=2)
    yield library, library.open([BUNDLES])
    library.close()


@pytest.fixture
def library(opened: tuple[RecordLibrary, OpenedRecord]) -> RecordLibrary:
    return opened[0]


def _bundles() -> Iterator[tuple[str, list[dict[str, Any]]]]:
    for path in sorted(BUNDLES.glob("*.json")):
        resources = [one["resource"] for one in json.loads(path.read_text())["entry"]]
        patient = next(one for one in resources if one["resourceType"] == "Patient")
        yield patient["id"], resources


def test_nothing_is_dropped(opened: tuple[RecordLibrary, OpenedRecord]) -> None:
    library, found = opened
    types = Counter(one["resourceType"] for _, some in _bundles() for one in some)
    assert found.counts == dict(types)
    assert found.patients == library.count() == types["Patient"]
    assert list(library.problems()) == []
    for patient, resources in _bundles():
        ids = {f"{one['resourceType']}/{one['id']}" for one in resources}
        own = {one for one in ids if not one.startswith(_SHARED)}
        assert {one.id for one in library.entries(patient)} == own


def test_values_units_codes_and_dates_are_those_of_the_file(library: RecordLibrary) -> None:
    checked = 0
    for path in BUNDLES.glob("*.json"):
        # As texts, so that "178.80" stays what is written.
        bundle = json.loads(path.read_text(), parse_float=str, parse_int=str)
        resources = [one["resource"] for one in bundle["entry"]]
        patient = next(one["id"] for one in resources if one["resourceType"] == "Patient")
        for one in resources:
            if one["resourceType"] != "Observation":
                continue
            entry = library.entry(patient, f"Observation/{one['id']}")
            assert entry is not None
            assert entry.start == one["effectiveDateTime"]
            assert entry.name == one["code"]["text"]
            code = one["code"]["coding"][0]
            assert entry.codes == (Code(code["system"], code["code"], code["display"]),)
            quantities = [one.get("valueQuantity")]
            quantities += [part.get("valueQuantity") for part in one.get("component", ())]
            values = [entry.value, *(part.value for part in entry.components)]
            for quantity, value in zip(quantities, values, strict=True):
                if quantity is not None:
                    assert value is not None
                    assert (value.text, value.unit) == (quantity["value"], quantity["code"])
                    assert value.number == float(quantity["value"])
                    checked += 1
            if "valueCodeableConcept" in one:
                assert entry.value is not None
                assert entry.value.text == one["valueCodeableConcept"]["text"]
    assert checked == 418 + 86


def _started(one: dict[str, Any]) -> str:
    return one.get("onsetDateTime") or one.get("effectiveDateTime") or one.get("authoredOn") or ""


def test_labs_between_two_dates_are_counted_as_by_hand(library: RecordLibrary) -> None:
    for patient, resources in _bundles():
        expected = {
            f"Observation/{one['id']}"
            for one in resources
            if one["resourceType"] == "Observation"
            and one["category"][0]["coding"][0]["code"] == "laboratory"
            and "2014" <= one["effectiveDateTime"][:4] <= "2016"
        }
        found = library.entries(patient, [EntryKind.LAB], since="2014", until="2016")
        assert {one.id for one in found} == expected


def test_conditions_are_counted_as_by_hand(library: RecordLibrary) -> None:
    expected: Counter[str] = Counter()
    for _, resources in _bundles():
        expected.update(
            {one["code"]["text"] for one in resources if one["resourceType"] == "Condition"}
        )
    assert library.condition_counts() == (12, dict(expected))
    looked_at, counts = library.condition_counts("HYPERTENSION")
    assert (looked_at, counts) == (12, {"Hypertension": expected["Hypertension"]})


def test_a_code_is_found_in_components_too(library: RecordLibrary) -> None:
    for patient, resources in _bundles():
        expected = sum(
            any(part["code"]["coding"][0]["code"] == "8480-6" for part in one.get("component", ()))
            for one in resources
        )
        assert len(library.entries(patient, codes=[Code(LOINC, "8480-6")])) == expected
        assert len(library.entries(patient, codes=[Code("", "8480-6")])) == expected


def test_the_latest_entry_is_first(library: RecordLibrary) -> None:
    for patient, _ in _bundles():
        starts = [one.start for one in library.entries(patient) if one.start]
        assert starts == sorted(starts, reverse=True)  # all are in UTC, so their texts sort too


def test_encounters_and_results_are_linked(library: RecordLibrary) -> None:
    for patient, resources in _bundles():
        by_url = {
            f"urn:uuid:{one['id']}": f"{one['resourceType']}/{one['id']}" for one in resources
        }
        for one in resources:
            if one["resourceType"] == "DiagnosticReport":
                entry = _entry(library, patient, one)
                assert entry.encounter == by_url[one["encounter"]["reference"]]
                results = [by_url[each["reference"]] for each in one["result"]]
                assert list(entry.links) == list(dict.fromkeys(results))


def _entry(library: RecordLibrary, patient: str, resource: dict[str, Any]) -> Entry:
    entry = library.entry(patient, f"{resource['resourceType']}/{resource['id']}")
    assert entry is not None
    return entry


def test_a_second_opening_reads_no_file(
    opened: tuple[RecordLibrary, OpenedRecord], monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_pool(*_: Any, **__: Any) -> None:
        raise AssertionError("a file was read again")

    monkeypatch.setattr("app.records.record_library.WorkerPool", no_pool)
    library, first = opened
    assert library.open([BUNDLES]) == first
    assert library.count() == 12


def test_the_patients_are_sorted_by_name_and_found_by_identifier(library: RecordLibrary) -> None:
    names = [one.name for one in library.patients()]
    assert names == sorted(names)
    for patient, resources in _bundles():
        (who,) = (one for one in resources if one["resourceType"] == "Patient")
        number = who["identifier"][2]["value"]
        assert [one.id for one in library.patients(number.lower())] == [patient]


def test_only_this_user_may_read_the_index(tmp_path: Path) -> None:
    library = RecordLibrary(tmp_path, workers=1)
    library.open([next(BUNDLES.glob("*.json"))])
    files = [one for one in tmp_path.rglob("*") if one.is_file()]
    assert files
    assert {one.stat().st_mode & 0o077 for one in files} == {0}
    library.close()
