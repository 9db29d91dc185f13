"""Presentation states that tests make with pydicom alone, and what dcmtk renders of them."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pydicom
import pytest
from numpy.typing import NDArray
from PIL import Image
from pydicom.dataset import FileDataset, FileMetaDataset
from pydicom.uid import ExplicitVRLittleEndian, generate_uid

from tests.unit.imaging.files import item

GREY = "1.2.840.10008.5.1.4.1.1.11.1"


def reference(image: pydicom.Dataset, *frames: int) -> pydicom.Dataset:
    """An item of a Referenced Image Sequence; frames from 1."""
    made = item(
        ReferencedSOPClassUID=image.SOPClassUID, ReferencedSOPInstanceUID=image.SOPInstanceUID
    )
    if frames:
        made.ReferencedFrameNumber = list(frames)
    return made


def area(
    image: pydicom.Dataset, corners: tuple[int, int, int, int] | None = None, **elements: Any
) -> pydicom.Dataset:
    """A displayed area of an image: (left, top, right, bottom), pixels from 1."""
    left, top, right, bottom = corners or (1, 1, image.Columns, image.Rows)
    return item(
        **{
            "DisplayedAreaTopLeftHandCorner": [left, top],
            "DisplayedAreaBottomRightHandCorner": [right, bottom],
            "PresentationSizeMode": "SCALE TO FIT",
            "PresentationPixelAspectRatio": [1, 1],
        }
        | elements
    )


def make_state(path: Path, images: list[pydicom.Dataset], **elements: Any) -> Path:
    """A grayscale softcopy presentation state; `elements` by keyword, None leaves one out."""
    first = images[0]
    meta = FileMetaDataset()
    meta.MediaStorageSOPClassUID = elements.get("SOPClassUID", GREY)
    meta.MediaStorageSOPInstanceUID = generate_uid()
    meta.TransferSyntaxUID = ExplicitVRLittleEndian
    ds = FileDataset(str(path), {}, file_meta=meta, preamble=b"\0" * 128)
    references = [reference(image) for image in images]
    values: dict[str, Any] = {
        "SOPClassUID": GREY,
        "SOPInstanceUID": meta.MediaStorageSOPInstanceUID,
        "StudyInstanceUID": first.StudyInstanceUID,
        "SeriesInstanceUID": generate_uid(),
        "StudyDate": "",
        "StudyTime": "",
        "StudyID": "",
        "AccessionNumber": "",
        "ReferringPhysicianName": "",
        "Manufacturer": "",
        "PatientName": "Doe^Jane",
        "PatientID": "P1",
        "PatientBirthDate": "",
        "PatientSex": "",
        "Modality": "PR",
        "SeriesNumber": 1,
        "InstanceNumber": 1,
        "ContentLabel": "STATE",
        "ContentDescription": "What was seen",
        "ContentCreatorName": "Reader^Ann",
        "PresentationCreationDate": "20240102",
        "PresentationCreationTime": "101500",
        "PresentationLUTShape": "IDENTITY",
        "DisplayedAreaSelectionSequence": [area(first)],
        "ReferencedSeriesSequence": [
            item(SeriesInstanceUID=first.SeriesInstanceUID, ReferencedImageSequence=references)
        ],
    }
    for keyword, value in (values | elements).items():
        if value is not None:
            setattr(ds, keyword, value)
    ds.save_as(path, enforce_file_format=True)
    return path


def add_overlay(
    path: Path,
    group: int,
    pixels: NDArray[np.bool_],
    origin: tuple[int, int] = (1, 1),
    layer: str = "",
) -> Path:
    """The file with an overlay of its own; `origin` is (row, column) from 1."""
    ds = pydicom.dcmread(path)
    packed = np.packbits(pixels.reshape(-1), bitorder="little").tobytes()
    for element, vr, value in (
        (0x0010, "US", pixels.shape[0]),
        (0x0011, "US", pixels.shape[1]),
        (0x0040, "CS", "G"),
        (0x0050, "SS", list(origin)),
        (0x0100, "US", 1),
        (0x0102, "US", 0),
        (0x3000, "OW", packed + b"\0" * (len(packed) % 2)),
    ):
        ds.add_new(group << 16 | element, vr, value)
    if layer:
        ds.add_new(group << 16 | 0x1001, "CS", layer)
    ds.save_as(path)
    return path


def dcmtk_render(image: Path, state: Path, folder: Path, frame: int = 1) -> NDArray[np.uint8]:
    """The image in the state, as dcmtk's dcmp2pgm renders it; skips where that is missing."""
    program = shutil.which("dcmp2pgm")
    if program is None:
        pytest.skip("dcmp2pgm of dcmtk is not installed")
    out = folder / f"{state.stem}-{frame}.pgm"
    run = subprocess.run(
        [program, "-q", "-f", str(frame), "-p", str(state), str(image), str(out)],
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert run.returncode == 0, run.stderr.decode()
    with Image.open(out) as opened:
        return np.asarray(opened.convert("L"))
