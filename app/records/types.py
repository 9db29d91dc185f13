"""Central types of the record: patients, entries and how a record belongs to an open study.

An entry is one FHIR resource of a patient, in the terms that people and tools use. Texts, codes,
dates and units are the file's own; nothing is converted or rounded.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Protocol

LOINC = "http://loinc.org"
SNOMED = "http://snomed.info/sct"
RXNORM = "http://www.nlm.nih.gov/research/umls/rxnorm"
UCUM = "http://unitsofmeasure.org"

MAX_JSON_BYTES = 256 * 2**20
"""Largest file of one JSON value that is read; larger exports come as NDJSON."""


class EntryKind(StrEnum):
    """What an entry is, by its FHIR resource type and, for an Observation, its category.

    LAB and VITAL are Observations of the categories "laboratory" and "vital-signs"; OBSERVATION is
    any other one (survey, social history, imaging). NOTE is a DocumentReference or a
    ClinicalImpression, REPORT a DiagnosticReport, IMAGING an ImagingStudy, OTHER any other resource
    of a patient (claims, care teams, ...).
    """

    CONDITION = "condition"
    ALLERGY = "allergy"
    LAB = "lab"
    VITAL = "vital"
    OBSERVATION = "observation"
    MEDICATION = "medication"
    PROCEDURE = "procedure"
    IMMUNIZATION = "immunization"
    ENCOUNTER = "encounter"
    CARE_PLAN = "care_plan"
    NOTE = "note"
    REPORT = "report"
    IMAGING = "imaging"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Code:
    """A code of a FHIR CodeableConcept: system (a URI), code and display, "" where missing."""

    system: str
    code: str
    display: str = ""


@dataclass(frozen=True, slots=True)
class Value:
    """What was measured or found.

    Attributes:
        number: The number, or None for a text or a code.
        text: The value as the file writes it: "178.81252042484218", "Never smoker".
        unit: The unit's UCUM code where the file gives one, else its text; "" for none.
        comparator: "<", "<=", ">=", ">" or "".
        low: Lower limit of the reference range in the same unit, or None.
        high: Upper limit, or None.
    """

    number: float | None = None
    text: str = ""
    unit: str = ""
    comparator: str = ""
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class Component:
    """A part of an Observation that has its own value, such as the systolic pressure."""

    name: str
    codes: tuple[Code, ...]
    value: Value


@dataclass(frozen=True, slots=True)
class Entry:
    """One FHIR resource of a patient.

    Attributes:
        id: "Observation/18c2423f-...": resource type and id, unique within a patient's record.
        patient_id: The id of its Patient resource.
        kind: See `EntryKind`.
        name: What it is, as people read it: `code.text`, else the first display, else the code.
        codes: All codes of it.
        start: FHIR dateTime with the file's own precision and zone ("2012-02", "2012-02-09T16:24:37
            +00:00"); "" if unknown. Onset of a condition, effective time of an observation, ...
        end: Abatement, end of the period; "" if none.
        status: The resource's status, of a condition its clinical status ("active", "resolved").
        value: The value of an Observation, or None.
        components: Further values of an Observation.
        text: The whole text of a note or report, dosage instructions of a medication; "" for none.
        encounter: The id of the entry of its encounter, "" if none.
        links: Ids of entries that it refers to, such as the results of a report.
        details: Further fields by kind, such as "study_instance_uid", "modality", "category",
            "verification", "interpretation", "dosage", "reason".
        source: The file or server from which it was read.
    """

    id: str
    patient_id: str
    kind: EntryKind
    name: str
    codes: tuple[Code, ...] = ()
    start: str = ""
    end: str = ""
    status: str = ""
    value: Value | None = None
    components: tuple[Component, ...] = ()
    text: str = ""
    encounter: str = ""
    links: tuple[str, ...] = ()
    details: Mapping[str, str] = field(default_factory=dict[str, str])
    source: str = ""


def as_read(components: Iterable[Component]) -> list[Component]:
    """Return components in the order in which people read them: systolic before diastolic."""
    diastolic = {"8462-4"}
    return sorted(components, key=lambda one: any(code.code in diastolic for code in one.codes))


@dataclass(frozen=True, slots=True)
class Patient:
    """A patient of a record.

    Attributes:
        id: The id of the Patient resource.
        name: Name as people read it ("Louis Erdman").
        identifiers: (system, value) of each identifier; of a medical record number the system is
            the one that the file gives.
        birth_date: FHIR date ("1958-03-01", "1958"), "" if unknown.
        gender: "male", "female", "other", "unknown" or "".
        deceased: FHIR dateTime, "true", or "" if not recorded.
        names: All names and parts of names; with identifiers, addresses and phones these are what
            is removed before anything reaches a remote model.
        private: Further texts that identify the patient: addresses, phones, e-mail, relatives.
        details: Race, marital status, language and the like, as the file says.
        civil: Values of identifiers that no hospital gave: of a driver's licence, a passport.
    """

    id: str
    name: str
    identifiers: tuple[tuple[str, str], ...] = ()
    birth_date: str = ""
    gender: str = ""
    deceased: str = ""
    names: tuple[str, ...] = ()
    private: tuple[str, ...] = ()
    details: Mapping[str, str] = field(default_factory=dict[str, str])
    source: str = ""
    civil: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RecordProblem:
    """Something that was not read: the file, where in it, and the reason, for people.

    Attributes:
        count: The number of resources that are not among the entries for it; 0 if the entry is
            there and only something that it refers to is missing. A file that cannot be read at
            all counts as 1.
        note: Whether nothing is missing and people are only told, as of identical copies.
    """

    path: str
    where: str
    reason: str
    count: int = 1
    note: bool = False


@dataclass(frozen=True, slots=True)
class StudyIdentity:
    """What an open DICOM study says about whose it is."""

    patient_id: str
    issuer: str = ""
    patient_name: str = ""
    birth_date: str = ""
    sex: str = ""
    study_instance_uid: str = ""
    accession_number: str = ""


@dataclass(frozen=True, slots=True)
class RecordMatch:
    """Whether a record is that of an open study's patient.

    Attributes:
        status: "matched" (an identifier or a Study Instance UID agrees and nothing contradicts),
            "chosen" (the user said so), "ambiguous" (several patients fit), "contradicted" (an
            identifier agrees, but birth date, name or sex differs) or "none".
        patient_id: The record's patient if matched or chosen, else "".
        reason: One sentence for the user.
    """

    status: str
    patient_id: str
    reason: str


class Records(Protocol):
    """The records that are open, read only; safe for threads."""

    def patients(
        self, text: str = "", *, limit: int | None = None, offset: int = 0
    ) -> Sequence[Patient]:
        """Return the patients whose name, id or identifier contains `text`, by name."""
        ...

    def patient(self, patient_id: str) -> Patient | None:
        """Return a patient, or None."""
        ...

    def count(self) -> int:
        """Return the number of patients."""
        ...

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
        """Return entries of a patient, the latest first.

        Args:
            patient_id: The patient.
            kinds: Only these kinds; all if empty.
            codes: Only entries with one of these codes (system and code; a Code with system ""
                matches any system), also in a component.
            text: Only entries whose name contains this text, whatever its case.
            since: FHIR date; only entries that start or end on or after it.
            until: FHIR date; only entries that start on or before it (a partial date includes its
                whole month or year).
            limit: At most so many.
        """
        ...

    def entry(self, patient_id: str, entry_id: str) -> Entry | None:
        """Return an entry, or None."""
        ...

    def condition_counts(
        self, text: str = "", *, codes: Sequence[Code] = (), patient_limit: int | None = None
    ) -> tuple[int, dict[str, int]]:
        """Return the number of patients looked at, and of patients with each condition by name."""
        ...

    def coded_terms(self, kind: EntryKind) -> Sequence[Code]:
        """Return each code, with its display, that entries of a kind have, of all patients."""
        ...

    def problems(self) -> Sequence[RecordProblem]:
        """Return what could not be read."""
        ...

    def match(self, study: StudyIdentity) -> RecordMatch:
        """Return whether one of the patients is that of a study."""
        ...


class NoRecords:
    """No record is open; implements `Records`."""

    def patients(
        self, text: str = "", *, limit: int | None = None, offset: int = 0
    ) -> Sequence[Patient]:
        """Return no patients."""
        del text, limit, offset
        return ()

    def patient(self, patient_id: str) -> Patient | None:
        """Return None."""
        del patient_id

    def count(self) -> int:
        """Return 0."""
        return 0

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
        """Return no entries."""
        del patient_id, kinds, codes, text, since, until, limit
        return ()

    def entry(self, patient_id: str, entry_id: str) -> Entry | None:
        """Return None."""
        del patient_id, entry_id

    def condition_counts(
        self, text: str = "", *, codes: Sequence[Code] = (), patient_limit: int | None = None
    ) -> tuple[int, dict[str, int]]:
        """Return no patients and no conditions."""
        del text, codes, patient_limit
        return 0, {}

    def coded_terms(self, kind: EntryKind) -> Sequence[Code]:
        """Return no codes."""
        del kind
        return ()

    def problems(self) -> Sequence[RecordProblem]:
        """Return no problems."""
        return ()

    def match(self, study: StudyIdentity) -> RecordMatch:
        """Return that no record is open."""
        del study
        return RecordMatch("none", "", "No record is open.")


def data_paths(variables: Mapping[str, str]) -> dict[str, Path]:
    """Return the folders that the environment names, by "fhir", "dicom", "csv" and "dna".

    They come from COHERENT_DATA_PATH, COHERENT_DICOM_PATH, COHERENT_CSV_PATH and COHERENT_DNA_PATH;
    a missing or empty variable is left out. Whether a folder exists is not looked at.
    """
    names = {"fhir": "DATA", "dicom": "DICOM", "csv": "CSV", "dna": "DNA"}
    return {
        kind: Path(variables[f"COHERENT_{name}_PATH"])
        for kind, name in names.items()
        if variables.get(f"COHERENT_{name}_PATH")
    }
