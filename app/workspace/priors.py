"""Earlier studies of the same patient, and how long before they were made."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import Literal

from app.imaging.studies.catalogue import identity_of_study, surely_same
from app.imaging.types import Instance, Study


def is_same_person(one: Study, other: Study) -> bool:
    """Return whether two studies are surely of one patient; see `surely_same`.

    Where both give a sex, it must be the same.
    """
    sexes = {_first(study, "PatientSex") for study in (one, other)} - {""}
    if one.patient_id != other.patient_id or len(sexes) > 1:
        return False
    return surely_same(identity_of_study(one), identity_of_study(other))


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


def age_of(study: Study, current: Study) -> tuple[int, Literal["years", "months", "days"]] | None:
    """Return how long before `current` a prior was made, in a unit that fits; None if unknown."""
    when, now = _date(study), _date(current)
    if when is None or now is None or when >= now:
        return None
    months = (now.year - when.year) * 12 + now.month - when.month - (now.day < when.day)
    if months >= 12:
        return months // 12, "years"
    if months >= 2:
        return months, "months"
    return (now - when).days, "days"


def _date(study: Study) -> date | None:
    try:
        return date.fromisoformat(study.date.strip().replace(".", "")[:8])
    except ValueError:
        return None


def _first(study: Study, keyword: str) -> str:
    instances: list[Instance] = [one.instances[0] for one in study.series if one.instances]
    return instances[0].get(keyword).strip() if instances else ""
