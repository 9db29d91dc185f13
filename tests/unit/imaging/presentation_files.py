"""Presentation states that tests make with pydicom alone, and what dcmtk renders of them."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pydicom
import pytest
from numpy.typing import NDArray
from PIL import Image
from pydicom.uid import generate_uid

from app.imaging.objects.presentation_states import read_presentation
from app.imaging.pixels import presentation_pipeline
from app.imaging.pixels.pipeline import render
from app.imaging.presentation import ImagePresentation, PresentationState
from app.imaging.reading.image_entries import read_frame, read_instance
from app.imaging.types import Frame
from tests.unit.imaging.files import item, make_dicom, save_dicom

GREY = "1.2.840.10008.5.1.4.1.1.11.1"
HOUNSFIELD = {"RescaleSlope": 1, "RescaleIntercept": -1024, "RescaleType": "HU"}

Bytes = NDArray[np.uint8]


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


def make_state(path: Path, images: Sequence[pydicom.Dataset], **elements: Any) -> Path:
    """A grayscale softcopy presentation state; `elements` by keyword, None leaves one out."""
    first = images[0]
    references = [reference(image) for image in images]
    values: dict[str, Any] = {
        "SOPClassUID": GREY,
        "SOPInstanceUID": generate_uid(),
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
    return save_dicom(path, values | elements)


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


def voi(center: float = 0, width: float = 1000, **elements: Any) -> list[pydicom.Dataset]:
    return [item(WindowCenter=center, WindowWidth=width, **elements)]


def read(path: Path) -> PresentationState:
    return read_presentation(read_instance(path))


def state_of(image: Path, **elements: Any) -> Path:
    return make_state(image.parent / "state.dcm", [pydicom.dcmread(image)], **elements)


def presented(image: Path, state: Path, index: int = 0) -> tuple[Frame, ImagePresentation]:
    frame = read_frame(image, index)
    found = read(state).of(frame.ref.sop_instance_uid, index)
    assert found is not None
    return presentation_pipeline.apply_presentation(frame, found), found


def turned(pixels: Bytes, flip: bool, quarters: int) -> Bytes:
    """Our convention, by numpy: flip first, then clockwise quarter turns."""
    return np.rot90(pixels[:, ::-1] if flip else pixels, -quarters)


def shown(image: Path, state: Path, index: int = 0) -> Bytes:
    frame, presentation = presented(image, state, index)
    return turned(render(frame), *presentation_pipeline.rotation(presentation))


def assert_as_dcmtk(image: Path, state: Path, frame: int = 1) -> None:
    ours = shown(image, state, frame - 1).astype(int)
    theirs = dcmtk_render(image, state, image.parent, frame).astype(int)
    assert ours.shape == theirs.shape
    assert abs(ours - theirs).max() <= 1


def annotation(*objects: pydicom.Dataset, **elements: Any) -> pydicom.Dataset:
    return item(GraphicLayer="L1", GraphicObjectSequence=list(objects), **elements)


def graphic(kind: str, *data: float, units: str = "PIXEL", filled: str = "N") -> pydicom.Dataset:
    return item(
        GraphicAnnotationUnits=units,
        GraphicDimensions=2,
        NumberOfGraphicPoints=len(data) // 2,
        GraphicData=list(data),
        GraphicType=kind,
        GraphicFilled=filled,
    )


def grey_image(folder: Path) -> Path:
    """8 rows, 12 columns, every pixel another value; its own window is not the states'."""
    pixels = np.arange(96, dtype=np.int16).reshape(8, 12) * 40
    return make_dicom(
        folder / "image.dcm",
        pixels,
        RescaleSlope=1,
        RescaleIntercept=-1024,
        WindowCenter=300,
        WindowWidth=50,
    )
