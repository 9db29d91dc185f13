"""From files to studies: listing folders, grouping, ordering. Nothing is dropped silently.

What is not shown becomes a `Problem` with its reason; only what an operating system puts beside
files (`.DS_Store`, `Thumbs.db`, hidden files), and a DICOMDIR inside a folder whose images are
listed anyway, are passed over.
"""

from __future__ import annotations

import hashlib
import math
import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from app.errors import FileProblem
from app.imaging import guards
from app.imaging.types import Instance, Problem, ScanResult, Series, Study

MAX_FILES = 200_000
MAX_DEPTH = 64
_JUNK = frozenset({"thumbs.db", "desktop.ini", "ehthumbs.db"})


def list_entry(payload: dict[str, Any]) -> dict[str, Any]:
    """`list_files` in a worker: a network drive may block for long."""
    files, problems = list_files([Path(text) for text in payload["paths"]])
    return {
        "files": [str(path) for path in files],
        "problems": [[str(p.path), p.reason, p.remedy] for p in problems],
    }


def list_files(paths: Sequence[Path]) -> tuple[list[Path], list[Problem]]:
    """The files behind paths, folders walked to their depths in natural order.

    Links to folders are not followed: they may lead out of the folder or back into it. A DICOMDIR
    named by itself stands for its folder.
    """
    files: dict[Path, None] = {}
    problems: list[Problem] = []
    for path in paths:
        target = path.parent if path.name.upper() == "DICOMDIR" else path
        if not target.is_dir():
            files[target] = None
            continue
        found: dict[Path, None] = {}
        known = len(problems)
        _walk(target, found, problems, 0)
        if not found and len(problems) == known:
            problems.append(_without_images(target))
        files |= found
    return list(files), problems


def _walk(folder: Path, files: dict[Path, None], problems: list[Problem], depth: int) -> None:
    try:
        with os.scandir(folder) as entries:
            found = sorted(entries, key=lambda entry: natural_key(entry.name))
    except OSError as error:
        problem = guards.unreadable(folder, error)
        problems.append(Problem(folder, problem.reason, problem.remedy))
        return
    for entry in found:
        path = folder / entry.name
        if entry.name.startswith(".") or entry.name.lower() in _JUNK:
            continue
        if len(files) >= MAX_FILES or depth >= MAX_DEPTH:
            problems.append(Problem(folder, "it holds too many files", "Open a part of it"))
            return
        if entry.is_dir(follow_symlinks=False):
            _walk(path, files, problems, depth + 1)
        elif entry.is_symlink() and entry.is_dir():
            problems.append(
                Problem(path, "it is a link to a folder, which is not followed", "Open that folder")
            )
        elif entry.name.upper() != "DICOMDIR":
            files[path] = None


def natural_key(text: str) -> list[tuple[int, int, str]]:
    """A sort key that puts "2" before "10"."""
    parts = re.findall(r"\d+|\D+", text)
    return [(0, int(p), p) if p.isdecimal() else (1, 0, p.casefold()) for p in parts]


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
        collected += [_without_images(path) for path in folders]
    return ScanResult(tuple(built), tuple(collected))


def _without_images(folder: Path) -> Problem:
    return Problem(
        folder,
        "there are no images in this folder",
        "Choose a folder with DICOM, PNG or JPEG files",
    )


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
