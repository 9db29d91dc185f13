"""Whether a record is that of an open study's patient: by identifiers, never by the name alone."""

from __future__ import annotations

import re
from collections.abc import Sequence

from app.imaging.types import Instance
from app.records.fhir_dates import date_span
from app.records.types import Patient, RecordMatch, StudyIdentity

_UNKNOWN = ("", "unknown")
_SEXES = {"M": "male", "F": "female", "O": "other"}


def study_identity(instance: Instance) -> StudyIdentity:
    """Return what an image says about whose it is."""
    get = instance.get
    return StudyIdentity(
        get("PatientID"),
        get("IssuerOfPatientID"),
        get("PatientName"),
        get("PatientBirthDate"),
        get("PatientSex"),
        get("StudyInstanceUID"),
        get("AccessionNumber"),
    )


def match_study(
    study: StudyIdentity, by_identifier: Sequence[Patient], by_study: Sequence[Patient]
) -> RecordMatch:
    """Return whose record a study belongs to.

    Args:
        study: What the study says.
        by_identifier: The patients with an identifier or id that equals the study's Patient ID.
        by_study: The patients whose record lists the study (Study Instance UID or accession
            number).
    """
    candidates = {one.id: one for one in (*by_study, *_of_issuer(study, by_identifier))}
    if not candidates:
        return RecordMatch("none", "", _why_none(study, by_identifier))
    fitting = [one for one in candidates.values() if not contradiction(study, one)]
    if len(fitting) == 1 and len(candidates) == 1:
        why = "The record lists this study." if by_study else "The patient ID agrees."
        return RecordMatch("matched", fitting[0].id, why)
    if len(candidates) > 1:
        why = f"{len(candidates)} patients of the record fit: choose one."
        return RecordMatch("ambiguous", "", why)
    (patient,) = candidates.values()
    why = contradiction(study, patient)
    return RecordMatch("contradicted", "", f"The patient ID or study agrees, but {why}.")


def contradiction(study: StudyIdentity, patient: Patient) -> str:
    """Return in what a study and a patient contradict each other, "" if in nothing."""
    sex = _SEXES.get(study.sex.strip().upper(), "")
    if sex and patient.gender not in _UNKNOWN and sex != patient.gender:
        return f"the sex differs ({sex} in the image, {patient.gender} in the record)"
    born = re.sub(r"[.-]", "", study.birth_date.strip())
    text = f"{born[:4]}-{born[4:6]}-{born[6:8]}" if re.fullmatch(r"\d{8}", born) else ""
    first, second = date_span(text), date_span(patient.birth_date)
    if first and second and (first.low >= second.high or second.low >= first.high):
        return f"the birth date differs ({text} in the image, {patient.birth_date} in the record)"
    return ""


def _of_issuer(study: StudyIdentity, patients: Sequence[Patient]) -> list[Patient]:
    """Leave out patients whose identifier is of another issuer than the study's.

    An issuer is compared where both are object identifiers or addresses; a plain name such as
    "ST MARY" says nothing against a system that is an address.
    """
    issuer = _issuer_key(study.issuer)
    if not issuer:
        return list(patients)
    wanted = study.patient_id.strip()
    kept: list[Patient] = []
    for patient in patients:
        systems = [_issuer_key(system) for system, value in patient.identifiers if value == wanted]
        known = [one for one in systems if one]
        if patient.id == wanted or not known or issuer in known:
            kept.append(patient)
    return kept


def _issuer_key(text: str) -> str:
    """Return an issuer or system in one form, "" if it is no object identifier or address."""
    found = text.strip().lower().removeprefix("urn:oid:").rstrip("/")
    return found if re.fullmatch(r"[0-2](\.\d+)+|(https?://|urn:).+", found) else ""


def _why_none(study: StudyIdentity, by_identifier: Sequence[Patient]) -> str:
    if by_identifier:
        return "The patient ID agrees, but another authority has given it."
    if not study.patient_id.strip():
        return "The image has no patient ID, so its patient's record cannot be told."
    return "No patient of the record has the image's patient ID."
