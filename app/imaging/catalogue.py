"""From instances to studies and series in display order. Nothing is dropped silently."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Sequence
from pathlib import Path

from app.errors import FileProblem
from app.imaging.listing import natural_key, without_images
from app.imaging.types import Instance, Problem, ScanResult, Series, Study


def group(
    instances: Iterable[Instance], problems: Iterable[Problem], paths: Sequence[Path] = ()
) -> ScanResult:
    """Instances as studies and series in display order.

    Args:
        instances: In the order they were found.
        problems: Of the scan so far; this adds images that are there twice, studies that mix
            patients, and folders in which no image was found.
        paths: What was opened.
    """
    collected = list(problems)
    studies: dict[str, dict[str, list[Instance]]] = {}
    for instance in _unique(instances, collected):
        series = studies.setdefault(_study_uid(instance), {})
        series.setdefault(_series_uid(instance), []).append(instance)
    built = [_study(uid, series, collected) for uid, series in studies.items()]
    if not built:
        named = {problem.path for problem in collected}
        folders = (path for path in paths if path not in named and path.is_dir())
        collected += [without_images(path) for path in folders]
    return ScanResult(tuple(built), tuple(collected))


def problem_of(path: Path, error: FileProblem) -> Problem:
    """A problem from the error that reading the file raised."""
    return Problem(path, error.reason, error.remedy)


def _unique(instances: Iterable[Instance], problems: list[Problem]) -> list[Instance]:
    """Each image once; copies are reported."""
    seen: dict[str, Instance] = {}
    for instance in instances:
        first = seen.setdefault(instance.sop_instance_uid, instance)
        if first is not instance and first.path != instance.path:
            reason = f"it has the same SOP Instance UID as {first.path.name}, which is listed"
            problems.append(Problem(instance.path, reason, "Open it by itself to see it"))
    return list(seen.values())


def _study_uid(instance: Instance) -> str:
    uid = instance.get("StudyInstanceUID")
    if uid:
        return uid
    # Pictures and damaged headers belong together by their folder and patient.
    key = f"{instance.path.parent}\0{instance.get('PatientID')}\0{instance.get('StudyDate')}"
    return _made_uid(key)


def _series_uid(instance: Instance) -> str:
    uid = instance.get("SeriesInstanceUID")
    return uid or _made_uid(f"{instance.path.parent}\0{instance.kind}\0{instance.get('Modality')}")


def _made_uid(key: str) -> str:
    digest = hashlib.sha256(key.encode("utf-8", "surrogateescape")).digest()
    return f"2.25.{int.from_bytes(digest[:16], 'big')}"


def _study(uid: str, groups: dict[str, list[Instance]], problems: list[Problem]) -> Study:
    series = [_series(series_uid, instances) for series_uid, instances in groups.items()]
    series.sort(key=lambda one: (one.number, natural_key(one.description)))
    everything = [instance for one in series for instance in one.instances]
    first = everything[0]
    patients = {instance.get("PatientID") for instance in everything}
    if len(patients) > 1:
        reason = "this study holds images of more than one patient ID"
        problems.append(Problem(first.path, reason, "Check whose images these are"))
    return Study(
        uid=uid,
        title=_title(first, series),
        patient=first.get("PatientName"),
        patient_id=first.get("PatientID"),
        date=first.get("StudyDate"),
        series=tuple(series),
    )


def _title(first: Instance, series: list[Series]) -> str:
    if first.kind == "picture":
        return first.path.name if len(series[0].instances) == 1 else first.path.parent.name
    modalities = " ".join(dict.fromkeys(one.modality for one in series if one.modality))
    parts = [modalities, first.get("BodyPartExamined").capitalize()]
    return first.get("StudyDescription") or " ".join(part for part in parts if part) or "Study"


def _series(uid: str, instances: list[Instance]) -> Series:
    ordered = in_order(instances)
    first = ordered[0]
    description = first.get("SeriesDescription") or first.get("ProtocolName")
    if first.kind == "picture":
        description = first.path.name if len(ordered) == 1 else "Pictures"
    number = first.get("SeriesNumber")
    return Series(
        uid=uid,
        description=description,
        modality=first.get("Modality"),
        number=int(number) if number.lstrip("-").isdecimal() else 0,
        instances=tuple(ordered),
    )


def in_order(instances: Sequence[Instance]) -> list[Instance]:
    """By InstanceNumber where all differ, else by position along the normal, else by name."""
    numbers = {instance.number for instance in instances}
    if len(numbers) == len(instances) and len(instances) > 1:
        return sorted(instances, key=lambda instance: instance.number)
    distances = [_distance(instance) for instance in instances]
    if len(instances) > 1 and all(math.isfinite(distance) for distance in distances):
        order = sorted(range(len(instances)), key=lambda i: (distances[i], instances[i].number))
        return [instances[i] for i in order]
    return sorted(instances, key=lambda i: (i.number, natural_key(i.path.name)))


def _distance(instance: Instance) -> float:
    """Position along the normal of the image plane in mm (PS3.3 C.7.6.2.1.1); NaN if unknown."""
    try:
        position = [float(t) for t in instance.get("ImagePositionPatient").split("\\")]
        a, b, c, d, e, f = (float(t) for t in instance.get("ImageOrientationPatient").split("\\"))
    except ValueError:
        return math.nan
    if len(position) != 3:
        return math.nan
    normal = (b * f - c * e, c * d - a * f, a * e - b * d)
    return sum(p * n for p, n in zip(position, normal, strict=True))
