"""Presentation states: greys, polarity and rotation of the images they name (PS3.3 A.33)."""

from __future__ import annotations

import math
import shutil
import subprocess
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pydicom
import pytest

from app.imaging.pixels import presentation_pipeline
from app.imaging.pixels.pipeline import render
from app.imaging.reading.image_entries import read_frame
from tests.unit.imaging.files import item, lut_item, make_dicom
from tests.unit.imaging.presentation_files import (
    HOUNSFIELD,
    assert_as_dcmtk,
    grey_image,
    make_state,
    presented,
    read,
    reference,
    shown,
    state_of,
    voi,
)


@pytest.fixture
def image(tmp_path: Path) -> Path:
    return grey_image(tmp_path)


GREYS: dict[str, dict[str, Any]] = {
    "window": HOUNSFIELD | {"SoftcopyVOILUTSequence": voi()},
    "no modality transformation": {"SoftcopyVOILUTSequence": voi(1000, 3000)},
    "slope": {
        "RescaleSlope": 2.5,
        "RescaleIntercept": -100,
        "RescaleType": "US",
        "SoftcopyVOILUTSequence": voi(400, 900),
    },
    "no window": HOUNSFIELD,
    "nothing": {},
    "inverse": HOUNSFIELD | {"SoftcopyVOILUTSequence": voi(), "PresentationLUTShape": "INVERSE"},
    "VOI LUT": HOUNSFIELD
    | {
        "SoftcopyVOILUTSequence": [
            item(VOILUTSequence=[lut_item(-1000, 12, [i * i // 977 for i in range(2000)], True)])
        ]
    },
    "modality LUT": {
        "ModalityLUTSequence": [lut_item(0, 12, [4095 - i for i in range(4000)])],
        "SoftcopyVOILUTSequence": voi(2000, 4096),
    },
}


@pytest.mark.parametrize("name", GREYS)
def test_greys_are_those_that_dcmtk_renders(image: Path, name: str):
    assert_as_dcmtk(image, state_of(image, **GREYS[name]))


def test_presentation_lut_is_that_of_dcmtk(image: Path):
    roots = [round(math.sqrt(i / 255) * 255) for i in range(256)]
    state = state_of(
        image,
        **HOUNSFIELD,
        SoftcopyVOILUTSequence=voi(),
        PresentationLUTShape=None,
        PresentationLUTSequence=[lut_item(0, 8, roots)],
    )
    frame, _ = presented(image, state)
    assert frame.presentation_lut is not None
    assert frame.presentation_lut.data.tolist() == roots
    assert_as_dcmtk(image, state)


def test_a_presentation_lut_counts_alone_where_a_shape_contradicts_it(image: Path):
    """A state has one or the other (C.11.6); inverting what the table gives would undo it."""
    table = list(range(256))
    state = state_of(
        image,
        SoftcopyVOILUTSequence=voi(),
        PresentationLUTShape="INVERSE",
        PresentationLUTSequence=[lut_item(0, 8, table)],
    )
    frame, _ = presented(image, state)
    assert frame.presentation_lut is not None
    assert not frame.inverse


@pytest.mark.parametrize("function", ["SIGMOID", "LINEAR_EXACT"])
def test_other_window_functions_are_the_standards_formulas(image: Path, function: str):
    """C.11.2.1.3; this dcmtk knows them in images, but not in states."""
    state = state_of(
        image, **HOUNSFIELD, SoftcopyVOILUTSequence=voi(400, 800, VOILUTFunction=function)
    )
    x = pydicom.dcmread(image).pixel_array.astype(float) - 1024
    if function == "SIGMOID":
        expected = 255 / (1 + np.exp(-4 * (x - 400) / 800))
    else:
        expected = np.clip((x - 400) / 800 + 0.5, 0, 1) * 255
    assert abs(shown(image, state) - expected).max() <= 1


def test_a_modality_table_for_each_image(tmp_path: Path):
    """The Variable Modality LUT state (A.33.8)."""
    paths = [make_dicom(tmp_path / f"{name}.dcm") for name in "ab"]
    images = [pydicom.dcmread(path) for path in paths]
    state = make_state(
        tmp_path / "s.dcm",
        images,
        SOPClassUID="1.2.840.10008.5.1.4.1.1.11.12",
        VariableModalityLUTSequence=[
            item(
                ReferencedImageSequence=[reference(one)],
                RescaleSlope=slope,
                RescaleIntercept=5,
                RescaleType="US",
            )
            for one, slope in zip(images, (2, 3), strict=True)
        ],
    )
    slopes = [presented(path, state)[0].rescale.slope for path in paths]
    assert slopes == [2, 3]


@pytest.mark.parametrize("photometric", ["MONOCHROME1", "MONOCHROME2"])
@pytest.mark.parametrize("shape", ["IDENTITY", "INVERSE"])
def test_polarity_is_the_states_alone(tmp_path: Path, photometric: str, shape: str):
    image = make_dicom(
        tmp_path / "i.dcm",
        np.arange(96, dtype=np.uint16).reshape(8, 12),
        PhotometricInterpretation=photometric,
    )
    state = state_of(image, SoftcopyVOILUTSequence=voi(48, 96), PresentationLUTShape=shape)
    assert_as_dcmtk(image, state)


@pytest.mark.parametrize("degrees", [0, 90, 180, 270])
@pytest.mark.parametrize("flip", ["N", "Y"])
def test_turned_as_dcmtk_turns(image: Path, degrees: int, flip: str):
    state = state_of(
        image,
        **HOUNSFIELD,
        SoftcopyVOILUTSequence=voi(),
        ImageRotation=degrees,
        ImageHorizontalFlip=flip,
    )
    assert_as_dcmtk(image, state)


@pytest.mark.parametrize(("degrees", "flip"), list(product((0, 90, 180, 270), "NY")))
def test_turned_as_the_standards_matrices(image: Path, degrees: int, flip: str):
    """C.10.6: clockwise rotation, then flip; as matrices on (x right, y down)."""
    found = read(state_of(image, ImageRotation=degrees, ImageHorizontalFlip=flip))
    mirrored, quarters = presentation_pipeline.rotation(next(iter(found.images.values())))
    clockwise = np.array([[0, -1], [1, 0]])
    mirror = np.diag([-1, 1])
    standard = np.linalg.matrix_power(clockwise, degrees // 90)
    standard = mirror @ standard if flip == "Y" else standard
    ours = np.linalg.matrix_power(clockwise, quarters)
    ours = ours @ mirror if mirrored else ours
    assert (ours == standard).all()


REAL = (
    "dicom/wg04/CT1_UNC",
    "dicom/wg04/MR1_UNC",
    "dicom/wg04/NM1_UNC",
    "dicom/syntaxes/mlut_18.dcm",
    "dicom/syntaxes/MR-SIEMENS-DICOM-WithOverlays.dcm",
    "dicom/objects/ct_image.dcm",
)


@pytest.mark.parametrize("name", REAL)
def test_a_state_made_by_dcmtk_shows_the_image_as_dcmtk_does(
    shared_data: Path, tmp_path: Path, name: str
):
    program = shutil.which("dcmpsmk")
    if program is None:
        pytest.skip("dcmpsmk of dcmtk is not installed")
    source = tmp_path / "image.dcm"
    shutil.copyfile(shared_data / name, source)
    state = tmp_path / "state.dcm"
    run = subprocess.run([program, "-q", str(source), str(state)], timeout=60, check=False)
    assert run.returncode == 0
    assert_as_dcmtk(source, state)


def test_only_the_images_that_it_names(image: Path, tmp_path: Path):
    other = make_dicom(tmp_path / "other.dcm")
    state = read(state_of(image))
    assert state.of(str(pydicom.dcmread(image).SOPInstanceUID), 0) is not None
    assert state.of(str(pydicom.dcmread(other).SOPInstanceUID), 0) is None
    assert list(state.images) == [(str(pydicom.dcmread(image).SOPInstanceUID), -1)]


def test_frames_have_their_own_windows(tmp_path: Path):
    path = make_dicom(
        tmp_path / "m.dcm", np.arange(48, dtype=np.uint16).reshape(4, 3, 4), NumberOfFrames=4
    )
    ds = pydicom.dcmread(path)
    state = make_state(
        tmp_path / "s.dcm",
        [ds],
        SoftcopyVOILUTSequence=[
            item(WindowCenter=10, WindowWidth=20, ReferencedImageSequence=[reference(ds, 2, 3)]),
            item(WindowCenter=30, WindowWidth=60),
        ],
    )
    centers = [presented(path, state, index)[0].voi.windows[0].center for index in range(4)]
    assert centers == [30, 10, 10, 30]
    for frame in (1, 2, 3, 4):
        assert_as_dcmtk(path, state, frame)


def test_frames_that_are_not_named_are_left_alone(tmp_path: Path):
    path = make_dicom(
        tmp_path / "m.dcm", np.arange(48, dtype=np.uint16).reshape(4, 3, 4), NumberOfFrames=4
    )
    ds = pydicom.dcmread(path)
    series = item(SeriesInstanceUID="1.2", ReferencedImageSequence=[reference(ds, 2)])
    state = read(make_state(tmp_path / "s.dcm", [ds], ReferencedSeriesSequence=[series]))
    uid = str(ds.SOPInstanceUID)
    assert [state.of(uid, frame) is not None for frame in range(4)] == [False, True, False, False]


def test_a_colour_image_keeps_its_colours(tmp_path: Path):
    rgb = np.arange(72, dtype=np.uint8).reshape(4, 6, 3)
    path = make_dicom(tmp_path / "c.dcm", rgb)
    state = state_of(path, PresentationLUTShape="INVERSE", SoftcopyVOILUTSequence=voi())
    frame, _ = presented(path, state)
    assert (render(frame) == rgb).all()


def test_a_colour_state_covers_and_draws(tmp_path: Path):
    path = make_dicom(tmp_path / "c.dcm", np.full((4, 6, 3), 99, np.uint8))
    state = state_of(
        path,
        SOPClassUID="1.2.840.10008.5.1.4.1.1.11.2",
        PresentationLUTShape=None,
        ShutterShape="RECTANGULAR",
        ShutterLeftVerticalEdge=2,
        ShutterRightVerticalEdge=5,
        ShutterUpperHorizontalEdge=2,
        ShutterLowerHorizontalEdge=3,
        ShutterPresentationValue=0,
        ShutterPresentationColorCIELabValue=[0xFFFF, 0x8080, 0x8080],
    )
    frame, _ = presented(path, state)
    expected = np.full((4, 6, 3), 255)
    expected[1:3, 1:5] = 99
    assert (render(frame) == expected).all()
    assert not read(state).warnings


def test_units_of_the_image_stay_known_where_the_state_rescales_alike(image: Path):
    ds = pydicom.dcmread(image)
    ds.RescaleType = "HU"
    ds.save_as(image)
    same, _ = presented(image, state_of(image, **HOUNSFIELD | {"RescaleType": "US"}))
    other, _ = presented(image, state_of(image, **HOUNSFIELD | {"RescaleIntercept": -1000}))
    none, _ = presented(image, state_of(image))
    assert (same.rescale.units, other.rescale.units, none.rescale.units) == ("HU", "HU", "")


def test_nothing_is_written_into_the_frame(image: Path):
    frame = read_frame(image, 0)
    frame.stored.flags.writeable = False
    before = render(frame)
    state = read(state_of(image, PresentationLUTShape="INVERSE", SoftcopyVOILUTSequence=voi()))
    presentation_pipeline.apply_presentation(frame, next(iter(state.images.values())))
    assert (render(frame) == before).all()


def test_a_lut_written_without_vrs_may_start_below_zero(image: Path):
    """Implicit VR reads -1000 as 64536 (US); the image's values tell which is meant."""
    table = [i * i // 977 for i in range(2000)]
    explicit = state_of(
        image,
        **HOUNSFIELD,
        SoftcopyVOILUTSequence=[item(VOILUTSequence=[lut_item(-1000, 12, table, True)])],
    )
    wrapped = image.parent / "implicit.dcm"
    ds = pydicom.dcmread(explicit)
    lut = ds.SoftcopyVOILUTSequence[0].VOILUTSequence[0]
    del lut[0x00283002]
    lut.add_new(0x00283002, "US", [2000, 65536 - 1000, 12])
    ds.save_as(wrapped)
    assert (shown(image, wrapped) == shown(image, explicit)).all()
