"""A made patient's record as plain lists, for tests of what uses an open record."""

from __future__ import annotations

from collections.abc import Sequence

from app.records.types import (
    LOINC,
    SNOMED,
    Code,
    Component,
    Entry,
    EntryKind,
    NoRecords,
    Patient,
    RecordMatch,
    StudyIdentity,
    Value,
)

ANNA = Patient(
    "anna",
    "Anna Roth",
    identifiers=(("urn:oid:1.2.3", "4711"),),
    birth_date="1950-06-15",
    gender="female",
    names=("Anna", "Roth"),
    private=("Lindenweg 4, 8000 Zürich",),
)
BERT = Patient("bert", "Bert Kern", identifiers=(("urn:oid:1.2.3", "0815"),), birth_date="1961")


def creatinine(number: str, day: str, patient: str = "anna") -> Entry:
    """A creatinine in mg/dL with the reference range 0.5 to 1.1."""
    value = Value(float(number), number, "mg/dL", low=0.5, high=1.1)
    codes = (Code(LOINC, "2160-0", "Creatinine [Mass/volume] in Serum or Plasma"),)
    entry_id = f"Observation/creatinine-{day}"
    return Entry(
        entry_id, patient, EntryKind.LAB, "Creatinine", codes, f"{day}T08:00:00+01:00", value=value
    )


def pressure(systolic: int, diastolic: int, day: str, patient: str = "anna") -> Entry:
    """A blood pressure with its two components in mm[Hg]."""
    parts = tuple(
        Component(name, (Code(LOINC, code),), Value(float(number), str(number), "mm[Hg]"))
        for name, code, number in (
            ("Systolic blood pressure", "8480-6", systolic),
            ("Diastolic blood pressure", "8462-4", diastolic),
        )
    )
    codes = (Code(LOINC, "85354-9"),)
    entry_id = f"Observation/pressure-{day}"
    return Entry(entry_id, patient, EntryKind.VITAL, "Blood pressure", codes, day, components=parts)


ENTRIES = (
    creatinine("1.4", "2026-03-02"),
    Entry(
        "ImagingStudy/chest",
        "anna",
        EntryKind.IMAGING,
        "Chest radiograph",
        start="2026-03-01",
        details={"study_instance_uid": "s", "modality": "DX"},
    ),
    Entry(
        "DocumentReference/note",
        "anna",
        EntryKind.NOTE,
        "Progress note",
        start="2026-03-01",
        text="Cough for three weeks.\nNo fever.",
    ),
    pressure(151, 92, "2026-02-01"),
    creatinine("1.0", "2025-03-02"),
    pressure(132, 81, "2025-02-01"),
    creatinine("0.9", "2024-03-02"),
    Entry(
        "Condition/bronchitis",
        "anna",
        EntryKind.CONDITION,
        "Acute bronchitis",
        (Code(SNOMED, "10509002", "Acute bronchitis (disorder)"),),
        "2024-01-10",
        "2024-01-20",
        "resolved",
    ),
    Entry(
        "Condition/diabetes",
        "anna",
        EntryKind.CONDITION,
        "Diabetes mellitus type 2",
        (Code(SNOMED, "44054006", "Diabetes mellitus type 2 (disorder)"),),
        "2015-05",
        "",
        "active",
    ),
    Entry(
        "MedicationRequest/metformin",
        "anna",
        EntryKind.MEDICATION,
        "Metformin 500 MG Oral Tablet",
        start="2015-06-01",
        status="active",
        details={"dosage": "1 tablet twice a day"},
    ),
)


class MadeRecords(NoRecords):
    """Anna's record with `ENTRIES`, and Bert's, which is empty; the PatientID decides."""

    def __init__(self, entries: Sequence[Entry] = ENTRIES) -> None:
        self._people = {one.id: one for one in (ANNA, BERT)}
        self._entries = tuple(entries)

    def patients(
        self, text: str = "", *, limit: int | None = None, offset: int = 0
    ) -> Sequence[Patient]:
        """Return the patients whose name contains `text`."""
        found = [one for one in self._people.values() if text.casefold() in one.name.casefold()]
        return found[offset:][:limit]

    def patient(self, patient_id: str) -> Patient | None:
        """Return a patient, or None."""
        return self._people.get(patient_id)

    def count(self) -> int:
        """Return 2."""
        return len(self._people)

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
        """Return the entries of a patient by kind; the other filters are not made here."""
        del codes, text, since, until
        own = [one for one in self._entries if one.patient_id == patient_id]
        return [one for one in own if not kinds or one.kind in kinds][:limit]

    def entry(self, patient_id: str, entry_id: str) -> Entry | None:
        """Return an entry, or None."""
        return next((one for one in self.entries(patient_id) if one.id == entry_id), None)

    def match(self, study: StudyIdentity) -> RecordMatch:
        """Return the patient with the study's PatientID as an identifier."""
        for patient in self._people.values():
            if study.patient_id in dict(patient.identifiers).values():
                return RecordMatch("matched", patient.id, "The Patient ID agrees.")
        return RecordMatch("none", "", "No open record has the study's Patient ID.")
