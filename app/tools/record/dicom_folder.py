"""The folders with a data set's images and ECGs, and which of their files are a patient's.

COHERENT_DICOM_PATH and COHERENT_CSV_PATH name them (`app.records.types.data_paths`). Only files in
them, links resolved, and open files can be read. A file is named by an id ("dicom-12") in results,
since file names hold patients' names; the name itself, or its path, is understood, too.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.errors import FileProblem
from app.imaging.types import Instance
from app.records.types import Patient, data_paths
from app.tools.api import JsonDict, ToolContext, ToolFailed, ToolRetry

ECG_CODE = "29303009"
"""SNOMED CT: electrocardiographic procedure, under which Coherent keeps pictures of ECGs."""

TABLE = "observations.csv"
MOST_FILES = 50_000
_BATCH = 200
_SUFFIXES = ("", ".dcm", ".dicom", ".ima")
_VARIABLES = {"fhir": "DATA", "dicom": "DICOM", "csv": "CSV", "dna": "DNA"}
_REMEDY = (
    "Open the images in the viewer, or set the environment variable COHERENT_DICOM_PATH to their "
    "folder before the program starts."
)


@dataclass(frozen=True, slots=True)
class KnownImage:
    """A DICOM file that is open or lies in the DICOM folder.

    Attributes:
        id: "image-1" of an open file, "dicom-12" of one in the folder.
        path: The file.
        facts: What `header_json` returns, or {"problem": reason}.
    """

    id: str
    path: Path
    facts: JsonDict

    @property
    def attributes(self) -> Mapping[str, str]:
        """The header's attributes by DICOM keyword."""
        return self.facts.get("attributes", {})

    @property
    def is_waveform(self) -> bool:
        """Whether it is a waveform, such as an ECG."""
        return self.facts.get("content") == "waveform"


def header_json(instance: Instance) -> JsonDict:
    """Return what is told of a file's header, with all of its attributes."""
    return {
        "attributes": dict(instance.attributes),
        "rows": instance.rows,
        "columns": instance.columns,
        "frames": instance.frames,
        "content": instance.content.value,
    }


def validate_paths(variables: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return "ok" or what is wrong for each data folder: "fhir", "dicom", "csv" and "dna"."""
    paths = data_paths(variables)
    found: dict[str, str] = {}
    for kind, name in _VARIABLES.items():
        if kind not in paths:
            found[kind] = f"COHERENT_{name}_PATH is not set"
        elif not paths[kind].is_dir():
            found[kind] = f"COHERENT_{name}_PATH names no folder"
        else:
            found[kind] = "ok"
    return found


def folder_files() -> list[tuple[str, Path]]:
    """Return the id and path of each DICOM file in the DICOM folder, by name; [] without one.

    Links that lead out of the folder are left out.
    """
    folder = data_paths(os.environ).get("dicom")
    if folder is None or not folder.is_dir():
        return []
    root = folder.resolve()
    found: list[Path] = []
    for place, folders, names in os.walk(root):
        folders.sort()
        for name in names:
            path = Path(place) / name
            if name.startswith(".") or path.suffix.lower() not in _SUFFIXES:
                continue
            if path.is_symlink() and not path.resolve().is_relative_to(root):
                continue
            found.append(path)
        if len(found) > MOST_FILES:
            break
    found.sort()
    return [(f"dicom-{number}", path) for number, path in enumerate(found[:MOST_FILES], 1)]


def ecg_table() -> Path | None:
    """Return the path of observations.csv in the CSV folder; None if there is none."""
    folder = data_paths(os.environ).get("csv")
    if folder is None:
        return None
    path = folder.absolute() / TABLE
    return path if path.is_file() and path.resolve().is_relative_to(folder.resolve()) else None


def open_images(context: ToolContext) -> list[KnownImage]:
    """Return the open DICOM files."""
    return [
        KnownImage(name, instance.path, header_json(instance))
        for name, instance in context.images.instances().items()
        if instance.kind == "dicom"
    ]


def read_headers(context: ToolContext, files: Sequence[tuple[str, Path]]) -> list[KnownImage]:
    """Return files of the folder with their headers, which the model process reads."""
    found: list[KnownImage] = []
    for start in range(0, len(files), _BATCH):
        context.cancel.check()
        batch = files[start : start + _BATCH]
        context.progress(start / len(files), f"Reading {len(files)} DICOM headers")
        reply = call(context, "headers_entry", paths=[str(path) for _, path in batch])
        found += [
            KnownImage(name, path, facts)
            for (name, path), facts in zip(batch, reply["headers"], strict=True)
        ]
    return found


def all_images(context: ToolContext) -> list[KnownImage]:
    """Return all open DICOM files and those of the DICOM folder.

    Raises:
        ToolFailed: There are none.
    """
    files = folder_files()
    found = [*open_images(context), *read_headers(context, files)]
    if not found:
        raise ToolFailed("no DICOM file is open and there is no DICOM folder", remedy=_REMEDY)
    return found


def image_named(context: ToolContext, name: str) -> KnownImage:
    """Return the open file, or the file of the DICOM folder, with an id, file name or path.

    Raises:
        ToolRetry: There is no such file; whether it exists elsewhere is not looked at.
    """
    wanted = name.strip()
    for one in open_images(context):
        if wanted in (one.id, str(one.path), one.path.name):
            return one
    for one, path in folder_files():
        if wanted in (one, str(path), path.name):
            return read_headers(context, [(one, path)])[0]
    raise ToolRetry(
        "that names no open DICOM file and none of the DICOM folder",
        remedy="Use an id that scan_dicom_directory or find_patient_images lists.",
    )


def belongs(image: KnownImage, patient: Patient) -> bool:
    """Return whether a file is a patient's, by an identifier; a name alone is not enough.

    The Patient ID must be the patient's id or one of the identifiers, or the file's name holds the
    id ("First_Last_UUID[ID].dcm"); a different date of birth contradicts.
    """
    own = {patient.id, *(value for _, value in patient.identifiers)}
    born = image.attributes.get("PatientBirthDate", "")
    known = patient.birth_date.replace("-", "")
    if len(born) == len(known) == 8 and born != known:
        return False
    return image.attributes.get("PatientID", "") in own or (
        len(patient.id) >= 8 and patient.id in image.path.name
    )


def images_of(context: ToolContext, patient: Patient) -> list[KnownImage]:
    """Return the open files and the files of the DICOM folder that are a patient's."""
    found = [*open_images(context), *read_headers(context, folder_files())]
    return [one for one in found if "problem" not in one.facts and belongs(one, patient)]


def metadata(image: KnownImage) -> JsonDict:
    """Return what is told of an image; whose it is stands beside it, not in it."""
    if "problem" in image.facts:
        return {"file": image.id, "problem": image.facts["problem"]}
    keys = {
        "modality": "Modality",
        "body_part": "BodyPartExamined",
        "study_description": "StudyDescription",
        "series_description": "SeriesDescription",
        "view": "ViewPosition",
        "study_date": "StudyDate",
        "manufacturer": "Manufacturer",
        "pixel_spacing": "PixelSpacing",
        "slice_thickness": "SliceThickness",
    }
    found: JsonDict = {"file": image.id}
    found |= {key: image.attributes.get(keyword) or None for key, keyword in keys.items()}
    facts = image.facts
    found["dimensions"] = [facts["frames"], facts["rows"], facts["columns"]]
    found["content"] = facts["content"]
    return found


def call(
    context: ToolContext, function: str, *, timeout_s: float = 120, **payload: Any
) -> JsonDict:
    """Call a function of `file_readers` in the model process.

    Raises:
        ToolFailed: It failed; the message has no file name.
    """
    try:
        return context.host.call(
            f"app.tools.record.file_readers:{function}",
            {**payload, "device": "cpu"},
            cancel=context.cancel,
            timeout_s=timeout_s,
        )
    except FileProblem as error:
        raise ToolFailed(error.reason, remedy=error.remedy) from error
