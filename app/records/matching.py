"""Whether a record is that of an open study's patient: by identifiers, never by the name alone."""

from __future__ import annotations

import re
import unicodedata
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
    study: StudyIdentity,
    by_identifier: Sequence[Patient],
    by_study: Sequence[Patient],
    by_accession: Sequence[Patient] = (),
) -> RecordMatch:
    """Return whose record a study belongs to.

    An accession number is unique in one hospital only, and the number of a driver's licence is no
    patient ID: these alone count only if the name agrees, too, or, without one, the birth date.

    Args:
        study: What the study says.
        by_identifier: The patients with an identifier or id that equals the study's Patient ID.
        by_study: The patients whose record lists the Study Instance UID.
        by_accession: The patients whose record lists the accession number.
    """
    numbered = _of_issuer(study, by_identifier)
    wanted = study.patient_id.strip()
    weak = [one for one in numbered if one.id != wanted and wanted in one.civil]
    strong = {one.id: one for one in (*by_study, *numbered) if one not in weak}
    candidates = strong | {one.id: one for one in (*by_accession, *weak)}
    if not candidates:
        return RecordMatch("none", "", _why_none(study, by_identifier))
    if len(candidates) > 1:
        why = f"{len(candidates)} patients of the record fit: choose one."
        return RecordMatch("ambiguous", "", why)
    (patient,) = candidates.values()
    why = contradiction(study, patient)
    if why:
        return RecordMatch("contradicted", "", f"The patient ID or study agrees, but {why}.")
    if not strong and not _is_confirmed(study, patient):
        why = "Only a number agrees that others may have, too; the name does not."
        return RecordMatch("none", "", why)
    if by_study or not numbered:
        why = "The record lists this study."
    elif _births_agree(study, patient) is None and _names_agree(study, patient) is None:
        why = "The patient ID agrees; name and birth date could not be compared."
    else:
        why = "The patient ID agrees."
    return RecordMatch("matched", patient.id, why)


def contradiction(study: StudyIdentity, patient: Patient) -> str:
    """Return in what a study and a patient contradict each other, "" if in nothing.

    Names change, by marriage, and are spelt in several ways, so that they count only if no birth
    date agrees and not one word of them does.
    """
    sex = _SEXES.get(study.sex.strip().upper(), "")
    if sex and patient.gender not in _UNKNOWN and sex != patient.gender:
        return f"the sex differs ({sex} in the image, {patient.gender} in the record)"
    text = _birth_date(study)
    agrees = _births_agree(study, patient)
    if agrees is False:
        return f"the birth date differs ({text} in the image, {patient.birth_date} in the record)"
    if agrees is None and _names_agree(study, patient) is False:
        return "the name differs, and no birth date agrees"
    return ""


def _is_confirmed(study: StudyIdentity, patient: Patient) -> bool:
    names = _names_agree(study, patient)
    return names is True or (names is None and _births_agree(study, patient) is True)


def _birth_date(study: StudyIdentity) -> str:
    """Return the study's birth date as "1958-03-01", "" if it has none."""
    born = re.sub(r"[.-]", "", study.birth_date.strip())
    return f"{born[:4]}-{born[4:6]}-{born[6:8]}" if re.fullmatch(r"\d{8}", born) else ""


def _births_agree(study: StudyIdentity, patient: Patient) -> bool | None:
    """Return whether the birth dates can be of one person; None if one of them is not known."""
    first, second = date_span(_birth_date(study)), date_span(patient.birth_date)
    if first is None or second is None:
        return None
    return first.low < second.high and second.low < first.high


def _names_agree(study: StudyIdentity, patient: Patient) -> bool | None:
    """Return whether the names have a word in common; None if they cannot be compared."""
    first, second = _words([study.patient_name]), _words([patient.name, *patient.names])
    return bool(first & second) if first and second else None


def _words(names: Sequence[str]) -> set[str]:
    """Return the words of names without accents, in Latin letters; initials do not count."""
    plain = unicodedata.normalize("NFKD", " ".join(names).casefold())
    letters = "".join(one for one in plain if not unicodedata.combining(one))
    return set(re.findall(r"[a-z]{2,}", letters))


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
