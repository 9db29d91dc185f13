"""Reads DICOM files and ECGs of the data folders (model process only: codecs crash on bad input).

Nothing here decides what may be read: callers give paths inside the folders that the user has set,
or of files that are open.
"""

from __future__ import annotations

import base64
import binascii
import csv
import io
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from app.errors import SightlineError
from app.imaging.dicom.dicom_file import read_header, silence_pydicom
from app.imaging.objects.waveform_values import (
    physical_values,
    waveform_group,
    waveform_groups,
)
from app.imaging.objects.waveforms import group_annotations
from app.imaging.pixels import pipeline, windows
from app.imaging.reading.image_entries import read_frame, read_instances
from app.tools.record.dicom_folder import ECG_CODE, header_json
from app.tools.record.frame_values import frame_values

MOST_PICTURE_PIXELS = 50_000_000
_MOST_LINE = 64 * 1024 * 1024


def headers_entry(payload: dict[str, Any]) -> dict[str, Any]:
    """Return "headers" of a payload's "paths": attributes and size of each file, or its problem."""
    silence_pydicom()
    return {"headers": [_header(Path(path)) for path in payload["paths"]]}


def _header(path: Path) -> dict[str, Any]:
    try:
        found = read_instances(path)[0]
    except SightlineError as error:
        return {"problem": error.reason}
    except Exception as error:  # a reader's own error must not end the scan of a folder
        return {"problem": f"it cannot be read ({type(error).__name__})"}
    return header_json(found)


def picture_entry(payload: dict[str, Any]) -> dict[str, Any]:
    """Return the picture of "frame" (None for the middle one) of "path", as a viewer opens it.

    The result has "pixels" (uint8 [rows, columns] or with 3), "frame", "frames" and the header.
    """
    silence_pydicom()
    path = Path(payload["path"])
    instance = read_instances(path)[0]
    wanted = payload["frame"]
    index = instance.frames // 2 if wanted is None else int(wanted)
    frame = read_frame(path, index, instance.part)
    pixels = pipeline.render(frame, windows.default_window(frame))
    return {"pixels": pixels, "frame": index, **header_json(instance)}


def values_entry(payload: dict[str, Any]) -> dict[str, Any]:
    """Return the "values" (see `frame_values`) and "pixels" of the middle frame of "path"."""
    silence_pydicom()
    path = Path(payload["path"])
    instance = read_instances(path)[0]
    frame = read_frame(path, instance.frames // 2, instance.part)
    pixels = pipeline.render(frame, windows.default_window(frame))
    return {"values": frame_values(frame), "pixels": pixels}


def waveform_entry(payload: dict[str, Any]) -> dict[str, Any]:
    """Return the ECG of the longest group of a DICOM waveform file at "path".

    The result has "samples" (float64 [leads, samples] in mV, NaN where padded), "leads", "rate" in
    Hz, "date" (Acquisition DateTime or the study's date), "groups", "annotations" (what the file
    itself says of the ECG), "patient_id" and "study_instance_uid".

    Raises:
        SightlineError: The file is no ECG.
    """
    silence_pydicom()
    path = Path(payload["path"])
    header = read_header(path)
    groups = [waveform_group(header, n) for n in range(len(waveform_groups(header)))]
    group = max(groups, key=lambda one: one.duration_s)
    kept = [n for n, one in enumerate(group.channels) if one.units == "mV"]
    if not kept:
        raise SightlineError("its channels are not in millivolts, so that it is no ECG")
    samples = physical_values(header, group)[kept]
    taken = header.text("AcquisitionDateTime") or (
        header.text("StudyDate") + header.text("StudyTime")
    )
    return {
        "samples": samples,
        "leads": [group.channels[n].name for n in kept],
        "rate": group.rate,
        "date": taken,
        "groups": len(groups),
        "annotations": list(group_annotations(header, groups.index(group))),
        "patient_id": header.text("PatientID"),
        "study_instance_uid": header.text("StudyInstanceUID"),
    }


def waveform_picture_entry(payload: dict[str, Any]) -> dict[str, Any]:
    """Return the "pixels" of a DICOM waveform file at "path", drawn as on ECG paper."""
    silence_pydicom()
    frame = read_frame(Path(payload["path"]), 0)
    return {"pixels": np.asarray(frame.stored, np.uint8)}


def table_ecgs_entry(payload: dict[str, Any]) -> dict[str, Any]:
    """Return the ECG pictures of a patient in Synthea's observations.csv ("path", "patient").

    Rows have the columns DATE, PATIENT, CODE and VALUE, a PNG or JPEG in base64. The result has
    "pictures" (uint8 [rows, columns, 3]) and "dates", the latest first, and "problems".
    """
    pictures: list[NDArray[np.uint8]] = []
    dates: list[str] = []
    problems: list[str] = []
    rows = _table_rows(Path(payload["path"]), str(payload["patient"]))
    for row in sorted(rows, key=lambda one: one["DATE"], reverse=True):
        try:
            pictures.append(_decoded(row["VALUE"]))
        except (ValueError, OSError, binascii.Error, Image.DecompressionBombError) as error:
            problems.append(f"the picture of {row['DATE']}: {type(error).__name__}")
        else:
            dates.append(row["DATE"])
    return {"pictures": pictures, "dates": dates, "problems": problems}


def picture_text_entry(payload: dict[str, Any]) -> dict[str, Any]:
    """Return the "pixels" of a PNG or JPEG in base64 ("text"), None if it is no such picture."""
    try:
        return {"pixels": _decoded(str(payload["text"]))}
    except (ValueError, OSError, binascii.Error, Image.DecompressionBombError):
        return {"pixels": None}


def _table_rows(path: Path, patient: str) -> list[dict[str, str]]:
    """Return a patient's ECG rows; the table is read line by line, as it may have gigabytes."""
    csv.field_size_limit(_MOST_LINE)
    code, own = ECG_CODE.encode(), patient.encode()
    found: list[dict[str, str]] = []
    with path.open("rb") as file:
        names = next(csv.reader([file.readline(1 << 16).decode("utf-8-sig")]), [])
        if missing := [n for n in ("DATE", "PATIENT", "CODE", "VALUE") if n not in names]:
            raise SightlineError(f"observations.csv has no column {missing[0]}")
        while line := file.readline(_MOST_LINE):
            if code not in line[:1000] or own not in line[:1000]:
                continue
            row = dict(
                zip(names, next(csv.reader([line.decode("utf-8", "replace")])), strict=False)
            )
            if row.get("PATIENT") == patient and row.get("CODE") == ECG_CODE and row.get("VALUE"):
                found.append(row)
    return found


def _decoded(text: str) -> NDArray[np.uint8]:
    data = base64.b64decode(text.rpartition("base64,")[2], validate=False)
    with Image.open(io.BytesIO(data), formats=("PNG", "JPEG")) as picture:
        if picture.width * picture.height > MOST_PICTURE_PIXELS:
            raise ValueError("too large")
        return np.asarray(picture.convert("RGB"), np.uint8)


def measure_entry(payload: dict[str, Any]) -> dict[str, Any]:
    """Measure the ECG of "samples" ([leads, samples] in mV), "leads" and "rate".

    Returns what `ecg_measures.measure` does, with "fibrillation" and "why" if it was measured.
    """
    from app.tools.record import ecg_measures  # brings neurokit2, which takes two seconds

    samples = np.asarray(payload["samples"], np.float64)
    found = ecg_measures.measure(samples, payload["leads"], float(payload["rate"]))
    if found["measured"]:
        found["fibrillation"], found["why"] = ecg_measures.judged_fibrillation(found)
    return found
