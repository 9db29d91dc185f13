"""The functions that generated analyses call; they run in the sandbox, on the data given to it.

The data are those that `analysis_data` wrote: an SQLite file of patients and entries, and the open
images. Each function is documented for the language model by its docstring's first lines.
"""

from __future__ import annotations

import base64
import json
import sqlite3
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

Entry = dict[str, Any]

FUNCTIONS: dict[str, Callable[..., Any]] = {}
"""The functions by name."""

pictures: dict[str, str] = {}
"""Pictures that `load_dicom_image` returned, as base64 -> the image's name."""

_folder = Path()


def names(data: str) -> dict[str, Any]:
    """Return all that generated code finds as names, with the folder of its data."""
    global _folder
    _folder = Path(data)
    import numpy as np

    return {**FUNCTIONS, "np": np}


def primitive(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add a function to those that generated code may call."""
    FUNCTIONS[function.__name__] = function
    return function


@cache
def _record() -> sqlite3.Connection:
    return sqlite3.connect(f"file:{_folder / 'record.sqlite'}?mode=ro&immutable=1", uri=True)


def _rows(query: str, *values: Any) -> list[tuple[Any, ...]]:
    return _record().execute(query, values).fetchall()


@cache
def _file(name: str) -> Any:
    return json.loads((_folder / name).read_text("utf-8"))


@primitive
def get_patients(limit: int | None = None, text: str = "") -> list[str]:
    """Ids of patients, by name; `text` is a part of a name or id."""
    found = [
        number
        for number, name in _rows("SELECT id, name FROM patient ORDER BY place")
        if text.casefold() in name.casefold() or text == number
    ]
    return found[:limit]


@primitive
def get_demographics(patient_id: str) -> dict[str, Any]:
    """id, name, birth_date, gender, deceased ("" if alive), identifiers, and details."""
    found = _rows("SELECT json FROM patient WHERE id=?", patient_id)
    if not found:
        raise KeyError(f"there is no patient {patient_id!r}; get_patients() lists them")
    return json.loads(found[0][0])


@primitive
def load_patient(patient_id: str) -> dict[str, Any]:
    """Demographics and, under "entries", all entries of a patient by kind."""
    entries: dict[str, list[Entry]] = {}
    for one in get_entries(patient_id):
        entries.setdefault(one["kind"], []).append(one)
    return {**get_demographics(patient_id), "entries": entries}


@primitive
def get_entries(
    patient_id: str,
    kind: str = "",
    text: str = "",
    code: str = "",
    since: str = "",
    until: str = "",
) -> list[Entry]:
    """Entries of a patient, the latest first; for the filters see filter_entries."""
    get_demographics(patient_id)
    kinds = kind.split("|") if kind else [row[0] for row in _rows("SELECT name FROM kind")]
    missing = [one for one in kinds if not _rows("SELECT 1 FROM kind WHERE name=?", one)]
    if missing:
        raise KeyError(f"no entries of the kind {missing[0]!r} were given to this analysis")
    marks = ",".join("?" * len(kinds))
    query = f"SELECT json FROM entry WHERE patient=? AND kind IN ({marks}) ORDER BY place"
    found = [json.loads(row[0]) for row in _rows(query, patient_id, *kinds)]
    return filter_entries(found, text, code, since, until)


@primitive
def filter_entries(
    entries: list[Entry], text: str = "", code: str = "", since: str = "", until: str = ""
) -> list[Entry]:
    """Entries whose name contains `text`, that have the code, and start between two dates."""
    return [
        one
        for one in entries
        if text.casefold() in one["name"].casefold()
        and (not code or code in _codes(one))
        and (not since or one["start"][: len(since)] >= since)
        and (not until or "" < one["start"][: len(until)] <= until)
    ]


def _codes(entry: Entry) -> set[str]:
    parts = [entry, *entry["components"]]
    return {code["code"] for part in parts for code in part["codes"]}


KINDS = {
    "get_conditions": "condition",
    "get_observations": "lab|vital|observation",
    "get_labs": "lab",
    "get_vital_signs": "vital",
    "get_medications": "medication",
    "get_procedures": "procedure",
    "get_encounters": "encounter",
    "get_allergies": "allergy",
    "get_immunizations": "immunization",
    "get_care_plans": "care_plan",
    "get_notes": "note",
    "get_reports": "report",
    "get_imaging_studies": "imaging",
}
"""Functions that return entries of some kinds (of `EntryKind`), with the filters of get_entries."""


def _of_kind(name: str, kind: str) -> None:
    def get(patient_id: str, *filters: str, **named: str) -> list[Entry]:
        return get_entries(patient_id, kind, *filters, **named)

    get.__name__ = name
    primitive(get)


for _name, _kind in KINDS.items():
    _of_kind(_name, _kind)


# -- images


def _images() -> list[dict[str, Any]]:
    return _file("images.json")["images"]


@cache
def _images_by_patient() -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for one in _images():
        found.setdefault(one["patient_id"], []).append(one)
    return found


def _image(path: str) -> dict[str, Any]:
    for one in _images():
        if one["path"] == path:
            return one
    raise KeyError(f"there is no image {path!r}; scan_dicom_directory() lists them")


def _image_of(patient_id: str, image_index: int) -> dict[str, Any] | None:
    found = _images_by_patient().get(patient_id, [])
    return found[image_index] if 0 <= image_index < len(found) else None


def _pixels(path: str, end: str) -> Path:
    file = _folder / f"{path}{end}"
    if not file.exists():
        raise KeyError(f"the pixels of {path!r} were not given to this analysis")
    return file


def _picture(file: Path, name: str) -> str:
    text = base64.b64encode(file.read_bytes()).decode()
    text = text or f"the picture of {name}, which code on behalf of a remote model is not given"
    pictures[text] = name
    return text


@primitive
def find_patient_images(patient_id: str) -> dict[str, Any]:
    """dicom_files (ids of a patient's images), dicom_count, and has_ecg (a waveform)."""
    found = [one["path"] for one in _images_by_patient().get(patient_id, [])]
    ecg = patient_id in _file("images.json")["ecg"]
    return {"dicom_files": found, "dicom_count": len(found), "has_ecg": ecg}


@primitive
def scan_dicom_directory() -> dict[str, Any]:
    """total_files, files (ids), and how often each modality, body_part, ... occurs."""
    found = _images()
    counts: dict[str, dict[str, int]] = {}
    for key in ("modality", "body_part", "study_description", "series_description"):
        counts[key] = dict(Counter(one["metadata"][key] or "Unknown" for one in found))
    return {"total_files": len(found), "files": [one["path"] for one in found], **counts}


@primitive
def get_dicom_metadata(patient_id: str, image_index: int = 0) -> dict[str, Any]:
    """modality, body_part, study_description, dimensions, ... of a patient's image, or {}."""
    found = _image_of(patient_id, image_index)
    return {} if found is None else dict(found["metadata"])


@primitive
def get_dicom_metadata_from_path(path: str) -> dict[str, Any]:
    """The same of an image by its id."""
    return dict(_image(path)["metadata"])


@primitive
def load_dicom_image(patient_id: str, image_index: int = 0) -> str | None:
    """Base64 PNG of a patient's image, at most 1024 pixels long, or None."""
    found = _image_of(patient_id, image_index)
    return None if found is None else _picture(_pixels(found["path"], ".png"), found["path"])


def _ecg(patient_id: str) -> dict[str, Any]:
    found = _file("ecgs.json")
    if patient_id not in found:
        raise KeyError(f"the ECG of {patient_id!r} was not given to this analysis")
    return found[patient_id]


@primitive
def load_ecg_image(patient_id: str) -> str | None:
    """Base64 PNG of a patient's ECG, or None."""
    name = _ecg(patient_id).get("picture")
    return _picture(_folder / name, f"ECG of {patient_id}") if name else None


@primitive
def analyze_ecg_for_rhythm(patient_id: str, clinical_context: str = "") -> dict[str, Any]:
    """What the tool of that name measures: rhythm, afib_detected, rr_intervals, p_waves, ..."""
    del clinical_context
    return {key: value for key, value in _ecg(patient_id).items() if key != "picture"}


@primitive
def load_image_values(path: str) -> Any:
    """Values of an image by its id, a numpy array [rows, columns], HU for a CT, NaN for padding."""
    import numpy as np

    _image(path)
    return np.load(_pixels(path, ".npy"))


@primitive
def image_statistics(path: str) -> dict[str, float]:
    """minimum, maximum, mean, std, median, p5 and p95 of an image's values, by its id."""
    _image(path)
    return json.loads(_pixels(path, ".json").read_text("utf-8"))
