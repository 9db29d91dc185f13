"""Earlier studies of the same patient, and how long before they were made."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

from app.imaging.types import Instance, Study

_DAYS_A_MONTH, _DAYS_A_YEAR = 30.44, 365.25


def is_same_person(one: Study, other: Study) -> bool:
    """Return whether two studies are surely of one patient.

    Their Patient IDs must be equal and not empty. As hospitals give out the same IDs, the birth
    dates must be equal too, or the names where a file has no birth date.
    """
    if not one.patient_id or one.patient_id != other.patient_id:
        return False
    births = _first(one, "PatientBirthDate"), _first(other, "PatientBirthDate")
    if all(births):
        return births[0] == births[1]
    names = [study.patient.replace("^", " ").casefold().split() for study in (one, other)]
    return names[0] == names[1]


def priors_of(study: Study, studies: Sequence[Study]) -> list[Study]:
    """Return the earlier studies of a study's patient, the latest first.

    Studies without a date are left out: nothing says that they are earlier.
    """
    taken = _date(study)
    if taken is None:
        return []
    found = [
        (when, other)
        for other in studies
        if other is not study and is_same_person(study, other)
        if (when := _date(other)) is not None and when < taken
    ]
    return [other for _, other in sorted(found, key=lambda pair: pair[0], reverse=True)]


def by_patient(studies: Sequence[Study]) -> list[list[Study]]:
    """Return the studies in groups of one patient each, in each the latest first.

    Patients are in the order in which their first study comes.
    """
    groups: list[list[Study]] = []
    of_id: dict[str, list[list[Study]]] = {}
    for study in studies:
        known = of_id.setdefault(study.patient_id, [])
        group = next((one for one in known if is_same_person(one[0], study)), None)
        if group is None:
            group = []
            known.append(group)
            groups.append(group)
        group.append(study)
    for group in groups:
        group.sort(key=lambda one: _date(one) or date.min, reverse=True)
    return groups


def age_text(study: Study, current: Study) -> str:
    """Return how long before `current` a prior was made, such as "2 y before"; "" if unknown."""
    when, now = _date(study), _date(current)
    if when is None or now is None or when >= now:
        return ""
    days = (now - when).days
    if days >= _DAYS_A_YEAR:
        return f"{int(days / _DAYS_A_YEAR)} y before"
    if days >= 2 * _DAYS_A_MONTH:
        return f"{int(days / _DAYS_A_MONTH)} months before"
    return f"{days} day{'' if days == 1 else 's'} before"


def _date(study: Study) -> date | None:
    try:
        return date.fromisoformat(study.date.strip().replace(".", "")[:8])
    except ValueError:
        return None


def _first(study: Study, keyword: str) -> str:
    instances: list[Instance] = [one.instances[0] for one in study.series if one.instances]
    return instances[0].get(keyword).strip() if instances else ""
