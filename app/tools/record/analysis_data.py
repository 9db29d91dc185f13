"""Writes what an analysis may see, before it starts: patients and entries, and the open images.

Only what the code names is written: entries of the kinds that its functions return, pixels where it
asks for pixels. The analysis reads these files and nothing else; see `analysis_primitives`.

What code returns is sent to the model that wrote it, and code can write a name as numbers, in which
no cleaning finds it. So for a model on another machine nothing is written that must not leave.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from app.errors import SightlineError
from app.records.types import Component, Entry, EntryKind, Patient
from app.tools.api import ToolContext, ToolRetry
from app.tools.record import ecg
from app.tools.record.analysis_primitives import KINDS
from app.tools.record.dicom_folder import (
    KnownImage,
    belongs,
    call,
    folder_files,
    header_json,
    metadata,
    read_headers,
)
from app.tools.record.frame_values import frame_values

MOST_PATIENTS = 5_000
MOST_IMAGES = 64
"""Images whose pixels an analysis is given."""
MOST_ECGS = 20
MOST_BYTES = 1024**3
"""Length of all entries, and of all pixels, that an analysis is given."""

_ALL_KINDS = ("load_patient", "get_entries")
_VALUES, _STATISTICS, _PICTURE = "load_image_values", "image_statistics", "load_dicom_image"
_ECGS = ("load_ecg_image", "analyze_ecg_for_rhythm")
_IMAGES = (
    *("find_patient_images", "scan_dicom_directory", "get_dicom_metadata"),
    *("get_dicom_metadata_from_path", _PICTURE, _VALUES, _STATISTICS),
)
_LONGEST_SIDE = 1024
_DETAILS = ("category", "verification", "interpretation", "class", "criticality", "modality")
"""Details of entries that are codes."""
_WITHHELD = (
    "The model runs on another machine, so the code was not given names, numbers and addresses of "
    "patients, days of birth and death, free text, pictures and pixels."
)


@dataclass(frozen=True, slots=True)
class GivenData:
    """What an analysis was given: how many patients and entries, and what was left out."""

    patients: int
    entries: int
    notes: tuple[str, ...] = ()


def write_data(
    folder: Path, code: str, context: ToolContext, patient_limit: int | None = None
) -> GivenData:
    """Write what the code may see, of the first patients by name, into an empty folder.

    Raises:
        ToolRetry: No record and no image is open.
        Cancelled: The call was cancelled.
    """
    words = set(re.findall(r"\w+", code))
    if not (context.records.count() or context.images.instances() or folder_files()):
        raise ToolRetry(
            "there is nothing to analyse", remedy="Ask the user to open a record or images."
        )
    remote = context.model is not None and context.model.remote
    limit = min(patient_limit or MOST_PATIENTS, MOST_PATIENTS)
    patients = context.records.patients(limit=limit)
    entries, notes = _write_record(folder / "record.sqlite", words, patients, context, remote)
    if not words.isdisjoint(_IMAGES):
        notes += _write_images(folder, words, patients, context, remote)
    notes += _write_ecgs(folder, words, patients, context, remote)
    return GivenData(len(patients), entries, (*notes, *((_WITHHELD,) if remote else ())))


def _write_record(
    path: Path, words: set[str], patients: Sequence[Patient], context: ToolContext, remote: bool
) -> tuple[int, list[str]]:
    records, notes = context.records, list[str]()
    if records.count() > len(patients):
        notes.append(
            f"Only the first {len(patients):,} of {records.count():,} patients were given."
        )
    kinds = _kinds(words)
    count = size = 0
    with closing(sqlite3.connect(path, isolation_level=None)) as file:
        file.executescript(
            "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF;"
            "CREATE TABLE kind(name TEXT);"
            "CREATE TABLE patient(place INTEGER PRIMARY KEY, id TEXT UNIQUE, name TEXT, json TEXT);"
            "CREATE TABLE entry(place INTEGER PRIMARY KEY, patient TEXT, kind TEXT, json TEXT);"
        )
        file.execute("BEGIN")
        file.executemany("INSERT INTO kind VALUES(?)", [(kind.value,) for kind in kinds])
        for one in patients:
            context.cancel.check()
            told = patient_json(one, remote)
            file.execute(
                "INSERT INTO patient(id, name, json) VALUES(?,?,?)",
                (one.id, told["name"], json.dumps(told)),
            )
            found = records.entries(one.id, kinds) if kinds and size < MOST_BYTES else ()
            rows = [
                (one.id, entry.kind.value, json.dumps(entry_json(entry, remote))) for entry in found
            ]
            file.executemany("INSERT INTO entry(patient, kind, json) VALUES(?,?,?)", rows)
            count += len(rows)
            size += sum(len(row[2]) for row in rows)
            if kinds and size >= MOST_BYTES and not any("entries" in note for note in notes):
                notes.append(
                    f"No entries were given of patients after {one.id}: they are too many."
                )
        file.execute("CREATE INDEX by_patient ON entry(patient, kind)")
        file.execute("COMMIT")
    return count, notes


def _kinds(words: set[str]) -> Sequence[EntryKind]:
    if not words.isdisjoint(_ALL_KINDS):
        return tuple(EntryKind)
    named = {kind for name, kinds in KINDS.items() if name in words for kind in kinds.split("|")}
    return [kind for kind in EntryKind if kind in named]


def patient_json(patient: Patient, remote: bool = False) -> dict[str, Any]:
    """Return a patient as analyses see it; for a remote model, without what identifies it."""
    told: dict[str, Any] = {
        "id": patient.id,
        "name": patient.name,
        "birth_date": patient.birth_date,
        "gender": patient.gender,
        "deceased": patient.deceased,
        "identifiers": [{"system": one, "value": two} for one, two in patient.identifiers],
        "details": dict(patient.details),
    }
    if remote:
        told |= {"name": "", "identifiers": [], "details": {}}
        told |= {"birth_date": patient.birth_date[:4], "deceased": patient.deceased[:4]}
    return told


def entry_json(entry: Entry, remote: bool = False) -> dict[str, Any]:
    """Return an entry as analyses see it: its fields by name; see `app.records.types.Entry`.

    For a remote model, without free text.
    """
    details = dict(entry.details)
    if remote:
        details = {key: text for key, text in details.items() if key in _DETAILS}
    return {
        **_coded(entry),
        "id": entry.id,
        "kind": entry.kind.value,
        "start": entry.start,
        "end": entry.end,
        "status": entry.status,
        "text": "" if remote else entry.text,
        "encounter": entry.encounter,
        "links": list(entry.links),
        "details": details,
        "components": [_coded(one) for one in entry.components],
    }


def _coded(one: Entry | Component) -> dict[str, Any]:
    value = one.value
    return {
        "name": one.name,
        "codes": [{"system": c.system, "code": c.code, "display": c.display} for c in one.codes],
        "value": None
        if value is None
        else {
            "number": value.number,
            "text": value.text,
            "unit": value.unit,
            "comparator": value.comparator,
            "low": value.low,
            "high": value.high,
        },
    }


def _write_images(
    folder: Path, words: set[str], patients: Sequence[Patient], context: ToolContext, remote: bool
) -> list[str]:
    """Write the images that the code asks for; return what was left out."""
    known = [
        KnownImage(name, instance.path, header_json(instance))
        for name, instance in context.images.instances().items()
    ]
    known += read_headers(context, folder_files())
    owners = _owners(known, patients)
    told: list[dict[str, Any]] = []
    ecgs = {owners[one.id] for one in known if one.is_waveform}
    found = [one for one in known if not one.is_waveform and "problem" not in one.facts]
    left_out = [one.id for one in known if "problem" in one.facts]
    notes = [f"{len(left_out)} DICOM files cannot be read."] if left_out else []
    size = given = 0
    wanted = words & {_PICTURE, _VALUES, _STATISTICS}
    for one in sorted(found, key=lambda one: not owners[one.id]):  # those of a patient first
        context.cancel.check()
        about = {"path": one.id, "patient_id": owners[one.id], "metadata": metadata(one)}
        told.append(about)
        if wanted and given < MOST_IMAGES and size < MOST_BYTES:
            context.progress(0.2, "Reading images")
            try:
                display, values = _pixels(one, context)
            except SightlineError as error:
                notes.append(f"{one.id} cannot be read: {error.reason}.")
                continue
            given += 1
            size += values.nbytes + display.nbytes
            if _PICTURE in words:
                _save_picture(display, folder / f"{one.id}.png", remote)
            if _STATISTICS in words:
                (folder / f"{one.id}.json").write_text(json.dumps(_statistics(values)), "utf-8")
            if _VALUES in words and not remote:
                np.save(folder / f"{one.id}.npy", values, allow_pickle=False)
    if wanted and given < len(found):
        notes.append(f"The pixels of {given} of {len(found):,} images were given.")
    (folder / "images.json").write_text(json.dumps({"images": told, "ecg": sorted(ecgs)}), "utf-8")
    return notes


def _owners(images: Sequence[KnownImage], patients: Sequence[Patient]) -> dict[str, str]:
    by_name: dict[str, list[Patient]] = {}
    for patient in patients:
        for name in {patient.id, *(value for _, value in patient.identifiers)}:
            by_name.setdefault(name, []).append(patient)
    found: dict[str, str] = {}
    for one in images:
        words = [one.attributes.get("PatientID", ""), *re.findall(r"[\w-]+", one.path.name)]
        words += [word.rpartition("_")[2] for word in words]
        likely = {patient.id: patient for word in words for patient in by_name.get(word, ())}
        own = [number for number, patient in likely.items() if belongs(one, patient)]
        found[one.id] = own[0] if len(own) == 1 else ""
    return found


def _pixels(one: KnownImage, context: ToolContext) -> tuple[NDArray[np.uint8], NDArray[Any]]:
    """Return an image as shown, and its values: HU for a CT, NaN where it has none (padding)."""
    if one.id not in context.images.instances():
        reply = call(context, "values_entry", path=str(one.path))
        return reply["pixels"], reply["values"]
    image = context.images.resolve(one.id)
    return image.display, frame_values(image.frame)


def _statistics(values: NDArray[Any]) -> dict[str, float]:
    kept = values[np.isfinite(values)].astype(np.float64)
    if not kept.size:
        return {}
    low, middle, high = np.percentile(kept, (5, 50, 95))
    found = (kept.min(), kept.max(), kept.mean(), kept.std(), middle, low, high)
    names = ("minimum", "maximum", "mean", "std", "median", "p5", "p95")
    return dict(zip(names, map(float, found), strict=True))


def _save_picture(display: NDArray[np.uint8], path: Path, remote: bool) -> None:
    """Save what the code gets as a picture; for a remote model, an empty file in its place."""
    if remote:
        path.touch()
        return
    picture = Image.fromarray(display)
    picture.thumbnail((_LONGEST_SIDE, _LONGEST_SIDE))
    picture.save(path)


def _write_ecgs(
    folder: Path, words: set[str], patients: Sequence[Patient], context: ToolContext, remote: bool
) -> list[str]:
    """Write what the ECG tools say of each patient, with the picture; return what was left out."""
    if words.isdisjoint(_ECGS):
        return []
    tools = {tool.spec.name: tool for tool in ecg.TOOLS}
    quiet = replace(context, model=None)  # nothing is sent because code asks for it
    found: dict[str, Any] = {}
    for patient in patients[:MOST_ECGS]:
        context.cancel.check()
        args = ecg.EcgInput(patient_id=patient.id)
        found[patient.id] = dict(tools["analyze_ecg_for_rhythm"].run(args, quiet).output)
        if remote:  # texts of the file
            found[patient.id]["raw_analysis"] = {}
        if "load_ecg_image" in words:
            shown = tools["load_ecg"].run(ecg.LoadEcgInput(patient_id=patient.id), quiet).output
            if shown["image_path"]:
                pixels = np.asarray(Image.open(shown["image_path"]))
                _save_picture(pixels, folder / f"ecg-{len(found)}.png", remote)
                found[patient.id] |= {"picture": f"ecg-{len(found)}.png"}
    (folder / "ecgs.json").write_text(json.dumps(found), "utf-8")
    if len(patients) > MOST_ECGS:
        return [f"ECGs of the first {MOST_ECGS} patients were given."]
    return []
