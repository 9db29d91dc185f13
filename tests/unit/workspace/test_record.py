"""Whose record is in use: the user's choice, then the shown study's patient, then the only one."""

from __future__ import annotations

from collections.abc import Sequence

from app.records.types import NoRecords, Patient, RecordMatch
from app.workspace.record import OpenRecord

MATCHED = RecordMatch("matched", "2", "The Patient ID agrees.")


class People(NoRecords):
    def __init__(self, *ids: str) -> None:
        self._people = [Patient(one, f"Patient {one}") for one in ids]

    def patients(
        self, text: str = "", *, limit: int | None = None, offset: int = 0
    ) -> Sequence[Patient]:
        return self._people[offset:][:limit]

    def patient(self, patient_id: str) -> Patient | None:
        return next((one for one in self._people if one.id == patient_id), None)

    def count(self) -> int:
        return len(self._people)


def test_without_records_nobody_is_in_use():
    record = OpenRecord()
    assert (record.is_open, record.patient_id, record.patient) == (False, "", None)


def test_the_only_patient_is_in_use_and_of_several_none():
    record = OpenRecord()
    record.open(People("1"))
    assert record.patient_id == "1"
    record.open(People("1", "2"))
    assert record.patient_id == ""


def test_the_shown_study_decides_between_several_and_the_user_over_it():
    record = OpenRecord()
    seen: list[str] = []
    record.changed.connect(lambda: seen.append(record.patient_id))
    record.open(People("1", "2"))
    record.set_match(MATCHED)
    record.choose("1")
    assert record.match == RecordMatch("chosen", "1", "The Patient ID agrees.")
    assert record.is_unlinked
    record.choose("2")
    assert not record.is_unlinked
    record.choose("")
    assert record.match == MATCHED
    assert seen == ["", "2", "1", "2", "2"]


def test_what_contradicts_gives_no_patient():
    record = OpenRecord()
    record.open(People("1", "2"))
    record.set_match(RecordMatch("contradicted", "", "The birth dates differ."))
    assert record.patient_id == ""


def test_the_only_record_is_not_used_for_a_study_of_somebody_else():
    record = OpenRecord()
    record.open(People("1"))
    record.set_match(RecordMatch("none", "", "No record has this Patient ID."))
    assert record.patient_id == ""
    record.choose("1")
    assert record.patient_id == "1"


def test_other_records_forget_the_choice():
    record = OpenRecord()
    record.open(People("1", "2"))
    record.choose("1")
    record.open(People("1", "2"))
    assert record.patient_id == ""
