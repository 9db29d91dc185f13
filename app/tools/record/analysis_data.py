"""Writes what an analysis may see, before it starts: patients and entries, and the open images.

Only what the code names is written: entries of the kinds that its functions return, pixels where it
asks for pixels. The analysis reads these files and nothing else; see `analysis_primitives`.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from app.errors import FileProblem
from app.imaging.pixels.pipeline import have_values, modality_values
from app.imaging.types import Instance
from app.records.types import Component, Entry, EntryKind, Patient, StudyIdentity
from app.tools.api import ImageSnapshot, ToolContext, ToolRetry
from app.tools.record.analysis_primitives import KINDS

MOST_PATIENTS = 5_000
MOST_IMAGES = 64
MOST_BYTES = 1024**3
"""Length of all entries, and of all pixels, that an analysis is given."""

_ALL_KINDS = ("load_patient", "get_entries")
_PIXELS = ("load_image_values", "image_statistics")
_PICTURE = "load_dicom_image"
_IMAGES = (
    *("find_patient_images", "scan_dicom_directory", "get_dicom_metadata"),
    *("get_dicom_metadata_from_path", _PICTURE, *_PIXELS),
)
_LONGEST_SIDE = 1024
_METADATA = {
    "modality": "Modality",
    "body_part": "BodyPartExamined",
    "study_description": "StudyDescription",
    "series_description": "SeriesDescription",
    "study_date": "StudyDate",
    "view_position": "ViewPosition",
    "manufacturer": "Manufacturer",
    "slice_thickness": "SliceThickness",
}


@dataclass(frozen=True, slots=True)
class GivenData:
    """What an analysis was given: how many patients, entries and images, and what was left out."""

    patients: int
    entries: int
    images: int
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
    if not context.records.count() and not context.images.names():
        raise ToolRetry(
            "there is nothing to analyse", remedy="Ask the user to open a record or images."
        )
    patients, entries, notes = _write_record(
        folder / "record.sqlite", words, context, patient_limit or MOST_PATIENTS
    )
    images = list(_write_images(folder, words, context, notes))
    (folder / "images.json").write_text(json.dumps(images), "utf-8")
    return GivenData(patients, entries, len(images), tuple(notes))


def _write_record(
    path: Path, words: set[str], context: ToolContext, limit: int
) -> tuple[int, int, list[str]]:
    records, notes = context.records, list[str]()
    patients = records.patients(limit=min(limit, MOST_PATIENTS))
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
            text = json.dumps(patient_json(one))
            file.execute(
                "INSERT INTO patient(id, name, json) VALUES(?,?,?)", (one.id, one.name, text)
            )
            found = records.entries(one.id, kinds) if kinds and size < MOST_BYTES else ()
            rows = [(one.id, entry.kind.value, json.dumps(entry_json(entry))) for entry in found]
            file.executemany("INSERT INTO entry(patient, kind, json) VALUES(?,?,?)", rows)
            count += len(rows)
            size += sum(len(row[2]) for row in rows)
            if kinds and size >= MOST_BYTES and not any("entries" in note for note in notes):
                notes.append(
                    f"No entries were given of patients after {one.id}: they are too many."
                )
        file.execute("CREATE INDEX by_patient ON entry(patient, kind)")
        file.execute("COMMIT")
    return len(patients), count, notes


def _kinds(words: set[str]) -> Sequence[EntryKind]:
    if not words.isdisjoint(_ALL_KINDS):
        return tuple(EntryKind)
    named = {kind for name, kinds in KINDS.items() if name in words for kind in kinds.split("|")}
    if "find_patient_images" in words:  # whether there is an ECG
        named |= {EntryKind.OBSERVATION, EntryKind.PROCEDURE, EntryKind.REPORT}
    return [kind for kind in EntryKind if kind in named]


def patient_json(patient: Patient) -> dict[str, Any]:
    """Return a patient as analyses see it."""
    return {
        "id": patient.id,
        "name": patient.name,
        "birth_date": patient.birth_date,
        "gender": patient.gender,
        "deceased": patient.deceased,
        "identifiers": [{"system": one, "value": two} for one, two in patient.identifiers],
        "details": dict(patient.details),
    }


def entry_json(entry: Entry) -> dict[str, Any]:
    """Return an entry as analyses see it: its fields by name; see `app.records.types.Entry`."""
    return {
        **_coded(entry),
        "id": entry.id,
        "kind": entry.kind.value,
        "start": entry.start,
        "end": entry.end,
        "status": entry.status,
        "text": entry.text,
        "encounter": entry.encounter,
        "links": list(entry.links),
        "details": dict(entry.details),
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
    folder: Path, words: set[str], context: ToolContext, notes: list[str]
) -> Iterator[Mapping[str, Any]]:
    """Write the open images that the code asks for, and give what is known of each."""
    if words.isdisjoint(_IMAGES):
        return
    opened = context.images.names()
    if len(opened) > MOST_IMAGES:
        notes.append(f"Only the first {MOST_IMAGES} of {len(opened):,} open images were given.")
    size = 0
    for number, name in enumerate(opened[:MOST_IMAGES]):
        context.cancel.check()
        context.progress(0.2 * number / len(opened), "Reading images")
        try:
            image = context.images.resolve(name)
        except FileProblem:
            notes.append(f"{name} cannot be read and was not given.")
            continue
        size += image.values.nbytes
        if size > MOST_BYTES:
            notes.append(f"Images from {name} on were not given: they are too large.")
            return
        yield _write_image(folder, number, name, image, words, context)


def _write_image(
    folder: Path,
    number: int,
    name: str,
    image: ImageSnapshot,
    words: set[str],
    context: ToolContext,
) -> dict[str, Any]:
    told: dict[str, Any] = {
        "path": name,
        "patient_id": _patient_of(image.instance, context),
        "metadata": _metadata(image),
    }
    if _PICTURE in words:
        picture = Image.fromarray(image.display)
        picture.thumbnail((_LONGEST_SIDE, _LONGEST_SIDE))
        told["picture"] = f"picture-{number}.png"
        picture.save(folder / told["picture"])
    if not words.isdisjoint(_PIXELS):
        told["values"] = f"values-{number}.npy"
        np.save(folder / told["values"], _values(image), allow_pickle=False)
    return told


def _values(image: ImageSnapshot) -> NDArray[Any]:
    """Return an image's values, HU for a CT, as float32; NaN where it has none (padding)."""
    frame = image.frame
    if image.own is not None or frame.is_color:
        return image.values  # the greys of a picture made in this run are its own
    values = modality_values(frame, frame.stored).astype(np.float32)
    values[~have_values(frame, range(frame.rows), range(frame.columns))] = np.nan
    return values


def _patient_of(instance: Instance, context: ToolContext) -> str:
    """Return the id of the record's patient whose image it is, or the image's own patient ID.

    Where an image's ID is that of a record and something else contradicts it, it is nobody's.
    """
    own = instance.get("PatientID")
    matched = context.records.match(study_identity(instance))
    if matched.status in ("matched", "chosen"):
        return matched.patient_id
    return own if context.records.patient(own) is None else ""


def study_identity(instance: Instance) -> StudyIdentity:
    """Return what an image says about whose it is."""
    return StudyIdentity(
        patient_id=instance.get("PatientID"),
        issuer=instance.get("IssuerOfPatientID"),
        patient_name=instance.get("PatientName"),
        birth_date=instance.get("PatientBirthDate"),
        sex=instance.get("PatientSex"),
        study_instance_uid=instance.get("StudyInstanceUID"),
        accession_number=instance.get("AccessionNumber"),
    )


def _metadata(image: ImageSnapshot) -> dict[str, Any]:
    instance, spacing = image.instance, image.frame.spacing
    told: dict[str, Any] = {key: instance.get(keyword) for key, keyword in _METADATA.items()}
    return {
        **told,
        "dimensions": [image.frame.rows, image.frame.columns],
        "frames": instance.frames,
        "pixel_spacing_mm": [spacing.row_mm, spacing.column_mm] if spacing.known else None,
    }
