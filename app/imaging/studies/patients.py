"""Patient identities: telling two patients apart despite differences in formatting."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from functools import lru_cache

from app.imaging.types import Instance, Study

_MAX_COMPARED = 100
_LETTERS = str.maketrans({"ø": "o", "æ": "a", "œ": "o", "ł": "l", "đ": "d", "'": "", "’": ""})
_UMLAUT = re.compile("([aou])e|(?<=a)a")


@dataclass(frozen=True, slots=True, order=True)
class Identity:
    """A patient's identity as given in one file, normalised; "" or () for missing fields.

    Attributes:
        patient_id: PatientID, ignoring case and spaces.
        issuer: IssuerOfPatientID, ignoring case and spaces.
        birth: Digits of PatientBirthDate.
        names: The component groups of PatientName (alphabetic, ideographic, phonetic). Each is a
            sorted list of words, ignoring case, accents and punctuation. An umlaut is reduced to
            its plain vowel, even if written as two letters ("ü", "ue" and "u" are equal).
    """

    patient_id: str = ""
    issuer: str = ""
    birth: str = ""
    names: tuple[tuple[str, ...], ...] = ()

    @property
    def filled(self) -> int:
        """Number of fields that are not missing."""
        return sum(bool(part) for part in (self.patient_id, self.issuer, self.birth, self.names))

    @property
    def digest(self) -> str:
        """A hash that distinguishes identities without revealing them."""
        return hashlib.sha256(repr(self).encode("utf-8", "surrogatepass")).hexdigest()[:12]


def identity_of(instance: Instance) -> Identity:
    """Return the patient's identity as given in an instance."""
    return _identity(*_said_of_the_patient(instance))


def _said_of_the_patient(instance: Instance) -> tuple[str, str, str, str]:
    get = instance.get
    issuer = get("IssuerOfPatientID")
    return get("PatientID"), issuer, get("PatientBirthDate"), get("PatientName")


@lru_cache(maxsize=1024)
def _identity(patient_id: str, issuer: str, birth: str, name: str) -> Identity:
    groups = (_words(group) for group in name.split("="))
    return Identity(
        _plain(patient_id),
        _plain(issuer),
        "".join(char for char in birth if char.isdecimal()),
        tuple(sorted({group for group in groups if group})),
    )


def identity_of_study(study: Study) -> Identity:
    """Return a study's patient identity, from the series that gives the most fields."""
    said = {_said_of_the_patient(one.instances[0]) for one in study.series}
    identities = [_identity(*one) for one in said]
    return min(identities, key=lambda one: (-one.filled, one))


def _plain(text: str) -> str:
    return "".join(text.casefold().split())


def _words(group: str) -> tuple[str, ...]:
    spread = unicodedata.normalize("NFKD", group.casefold()).translate(_LETTERS)
    kept = "".join(
        char if char.isalnum() else " " for char in spread if not unicodedata.combining(char)
    )
    return tuple(sorted(_UMLAUT.sub(r"\1", word) for word in kept.split()))


def conflict(first: Identity, second: Identity) -> bool:
    """Return whether two identities contradict each other in some field."""
    pairs = (
        (first.patient_id, second.patient_id),
        (first.issuer, second.issuer),
        (first.birth, second.birth),
    )
    if any(a and b and a != b for a, b in pairs):
        return True
    return not _same_name(first.names, second.names)


def _same_name(first: tuple[tuple[str, ...], ...], second: tuple[tuple[str, ...], ...]) -> bool:
    """Return whether two name components are equal, or one only lacks words of the other."""
    if not first or not second:
        return True
    return any(set(a) <= set(b) or set(b) <= set(a) for a in first for b in second)


def by_patient(instances: Iterable[Instance]) -> list[list[Instance]]:
    """Group the instances of one study by patient; their order does not matter.

    Files without a patient, or with only part of an identity, are added to the one patient that
    they match; if they match several, they form a separate group. The first instance in each group
    is one with the most complete identity.
    """
    known: dict[Hashable, Identity] = {}
    members: dict[Identity, list[Instance]] = {}
    for instance in instances:
        raw = _said_of_the_patient(instance)
        identity = known.get(raw)
        if identity is None:
            identity = known[raw] = identity_of(instance)
        members.setdefault(identity, []).append(instance)
    if len(members) == 1:
        return list(members.values())
    identities = sorted(members, key=lambda one: (-one.filled, one))
    patients: list[list[Identity]] = []
    for identity in identities:
        # So many different patients in one study are an error, so stop comparing.
        fitting = [] if len(patients) > _MAX_COMPARED else _fitting(identity, patients)
        if len(fitting) == 1:
            fitting[0].append(identity)
        else:
            patients.append([identity])
    return [[one for identity in patient for one in members[identity]] for patient in patients]


def _fitting(identity: Identity, patients: list[list[Identity]]) -> list[list[Identity]]:
    return [patient for patient in patients if not any(conflict(identity, one) for one in patient)]
