"""Files made for each grey stage are shown as PS3.3 C.11 says, and as dcmtk shows them."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pydicom
import pytest
from PIL import Image

from app.imaging.pixels.pipeline import grey_at, render
from app.imaging.pixels.windows import auto_window, default_window, frame_presets
from app.imaging.reading.image_entries import read_frame
from app.imaging.types import VoiFunction, Window
from tests.unit.imaging import oracle
from tests.unit.imaging.files import item, lut_item, make_dicom

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning:pydicom")

RAMP = np.arange(4096, dtype=np.uint16).reshape(64, 64)
SIGNED = (np.arange(4096) - 2048).astype(np.int16).reshape(64, 64)
CURVE = [int(4095 * (k / 999) ** 2) for k in range(1000)]
BYTES = [int(255 * (k / 599) ** 0.5) for k in range(600)]


def with_type(lut: pydicom.Dataset, kind: str) -> pydicom.Dataset:
    lut.ModalityLUTType = kind
    return lut


def packed_lut(first: int, data: list[int]) -> pydicom.Dataset:
    """8-bit entries, two to a word."""
    made = item()
    made.add_new(0x00283002, "US", [len(data), first, 8])
    made.add_new(0x00283006, "OW", bytes(data))
    return made


def short_lut(first: int, data: list[int], missing: int) -> pydicom.Dataset:
    """16-bit entries, fewer than the descriptor says."""
    made = item()
    made.add_new(0x00283002, "US", [len(data) + missing, first, 12])
    made.add_new(0x00283006, "US", data)
    return made


CASES: dict[str, tuple[Any, dict[str, Any]]] = {
    "linear": (RAMP, {"WindowCenter": 1000, "WindowWidth": 700}),
    "linear of width 1": (RAMP, {"WindowCenter": 1000, "WindowWidth": 1}),
    "linear exact": (
        RAMP,
        {"WindowCenter": 1000, "WindowWidth": 700, "VOILUTFunction": "LINEAR_EXACT"},
    ),
    "sigmoid": (RAMP, {"WindowCenter": 1000, "WindowWidth": 700, "VOILUTFunction": "SIGMOID"}),
    "sigmoid, signed, rescaled": (
        SIGNED,
        {
            "WindowCenter": -300,
            "WindowWidth": 900.5,
            "VOILUTFunction": "SIGMOID",
            "RescaleSlope": 0.5,
            "RescaleIntercept": -100,
        },
    ),
    "monochrome1": (
        RAMP,
        {"WindowCenter": 2000, "WindowWidth": 3000, "PhotometricInterpretation": "MONOCHROME1"},
    ),
    "negative slope": (
        RAMP,
        {"RescaleSlope": -2, "RescaleIntercept": 50, "WindowCenter": -4000, "WindowWidth": 6000},
    ),
    "voi lut": (RAMP, {"VOILUTSequence": [lut_item(500, 12, CURVE)]}),
    "voi lut of packed bytes": (RAMP, {"VOILUTSequence": [packed_lut(500, BYTES)]}),
    "voi lut, signed": (SIGNED, {"VOILUTSequence": [lut_item(-700, 12, CURVE, signed=True)]}),
    "voi lut after rescale": (
        RAMP,
        {
            "RescaleSlope": 1,
            "RescaleIntercept": -1024,
            "VOILUTSequence": [lut_item(-500, 12, CURVE, signed=True)],
        },
    ),
    "voi lut that lacks its last entries": (RAMP, {"VOILUTSequence": [short_lut(500, CURVE, 60)]}),
    "modality lut": (
        RAMP,
        {
            "ModalityLUTSequence": [with_type(lut_item(100, 12, CURVE), "US")],
            "WindowCenter": 2000,
            "WindowWidth": 3000,
        },
    ),
    "modality lut, signed": (
        SIGNED,
        {
            "ModalityLUTSequence": [with_type(lut_item(-900, 12, CURVE, signed=True), "HU")],
            "WindowCenter": 2000,
            "WindowWidth": 3000,
        },
    ),
    "modality and voi lut": (
        RAMP,
        {
            "ModalityLUTSequence": [with_type(lut_item(100, 12, CURVE), "US")],
            "VOILUTSequence": [lut_item(1000, 12, CURVE)],
        },
    ),
    "inverse shape": (
        RAMP,
        {"WindowCenter": 2000, "WindowWidth": 3000, "PresentationLUTShape": "INVERSE"},
    ),
    "identity shape": (
        RAMP,
        {"WindowCenter": 2000, "WindowWidth": 3000, "PresentationLUTShape": "IDENTITY"},
    ),
    "presentation lut": (
        RAMP,
        {
            "WindowCenter": 2000,
            "WindowWidth": 3000,
            "PresentationLUTSequence": [lut_item(0, 12, CURVE)],
        },
    ),
    "presentation lut after voi lut": (
        RAMP,
        {
            "VOILUTSequence": [lut_item(500, 12, CURVE)],
            "PresentationLUTSequence": [lut_item(0, 12, CURVE[::-1])],
        },
    ),
}
NOT_IN_DCM2PNM = ("linear exact", "presentation lut")


def made(name: str, folder: Path) -> Path:
    pixels, elements = CASES[name]
    return make_dicom(folder / "a.dcm", pixels, **elements)


@pytest.mark.parametrize("name", CASES)
def test_a_grey_stage_follows_the_formula(name: str, tmp_path: Path):
    path = made(name, tmp_path)
    picture = render(read_frame(path, 0))
    assert len(np.unique(picture)) > (1 if "width 1" in name else 100)
    assert np.abs(picture - oracle.expected(path, 0, None)).max() <= 1


@pytest.mark.parametrize("name", [name for name in CASES if not name.startswith(NOT_IN_DCM2PNM)])
def test_dcmtk_shows_a_grey_stage_the_same(name: str, tmp_path: Path):
    if shutil.which("dcm2pnm") is None:
        pytest.skip("dcmtk is not installed (dcm2pnm)")
    path, out = made(name, tmp_path), tmp_path / "out.pnm"
    elements = CASES[name][1]
    options = ["+Wi", "1"] if "WindowCenter" in elements else ["+Wl", "1"]
    options += ["+Wfs"] if elements.get("VOILUTFunction") == "SIGMOID" else []
    command = ["dcm2pnm", "+opb", *options, str(path), str(out)]
    subprocess.run(command, check=True, capture_output=True, timeout=30)
    theirs = np.asarray(Image.open(out)).astype(int)
    assert np.abs(render(read_frame(path, 0)) - theirs).max() <= 1


@pytest.mark.parametrize("name", ["voi lut, signed", "modality lut, signed"])
def test_a_signed_first_value_is_seen_in_implicit_and_big_endian_files(name: str, tmp_path: Path):
    """Implicit files do not tell whether it is US or SS; the pixels do."""
    if shutil.which("dcmconv") is None:
        pytest.skip("dcmtk is not installed (dcmconv)")
    path = made(name, tmp_path)
    for option in ("+ti", "+tb"):
        other = tmp_path / f"{option}.dcm"
        subprocess.run(["dcmconv", option, str(path), str(other)], check=True, timeout=30)
        np.testing.assert_array_equal(render(read_frame(other, 0)), render(read_frame(path, 0)))


def test_a_first_value_with_the_wrong_vr_is_taken_as_it_can_only_be_meant(tmp_path: Path):
    wrong = lut_item(65536 - 700, 12, CURVE)  # US, though the pixels are signed
    path = make_dicom(tmp_path / "a.dcm", SIGNED, VOILUTSequence=[wrong])
    assert read_frame(path, 0).voi.luts[0].first == -700
    high = make_dicom(tmp_path / "b.dcm", SIGNED.view(np.uint16), VOILUTSequence=[wrong])
    assert read_frame(high, 0).voi.luts[0].first == 65536 - 700


def test_every_voi_lut_and_window_is_offered_and_applied(tmp_path: Path):
    second = lut_item(0, 8, list(range(256)))
    second.LUTExplanation = "HARD"
    path = make_dicom(
        tmp_path / "a.dcm",
        RAMP,
        WindowCenter=[1000, 2000],
        WindowWidth=[500, 4000],
        WindowCenterWidthExplanation=["A", "B"],
        VOILUTSequence=[lut_item(500, 12, CURVE), second],
    )
    frame = read_frame(path, 0)
    offered = frame_presets(frame, "DX")
    assert [w.explanation for w in offered] == ["A", "B", "VOI LUT", "HARD", "auto"]
    expected = np.clip(RAMP.astype(int), 0, 255)
    np.testing.assert_array_equal(render(frame, offered[3]), expected)
    table = np.array(CURVE)[np.clip(RAMP.astype(int) - 500, 0, 999)] / 4095 * 255
    assert np.abs(render(frame, offered[2]) - table).max() <= 0.51


def test_float_padding_is_kept_out_of_the_automatic_window(tmp_path: Path):
    path = make_dicom(tmp_path / "a.dcm", RAMP)
    ds = pydicom.dcmread(path)
    del ds.PixelData
    values = np.linspace(1.0, 2.0, 4096, dtype=np.float32).reshape(64, 64)
    values[:20] = -9999.0
    ds.FloatPixelData = values.tobytes()
    ds.BitsAllocated = 32
    ds.FloatPixelPaddingValue = -9999.0
    ds.save_as(path)
    frame = read_frame(path, 0)
    assert frame.padding == (-9999.0, -9999.0)
    window = auto_window(frame)
    assert 1.0 < window.center < 2.0
    assert window.width < 1.0
    assert window.function is VoiFunction.LINEAR_EXACT
    grey = grey_at(frame, 0, 0)
    assert grey is not None
    assert grey.text == "-9999, padding"


def test_padding_written_as_the_other_sign_means_the_same_bits(tmp_path: Path):
    path = make_dicom(tmp_path / "a.dcm", SIGNED)
    ds = pydicom.dcmread(path)
    ds.add_new(0x00280120, "US", 63536)
    ds.save_as(path)
    assert read_frame(path, 0).padding == (-2000, -2000)


def test_per_frame_values_hold_for_their_frames(tmp_path: Path):
    def group(slope: float, center: float) -> pydicom.Dataset:
        return item(
            PixelValueTransformationSequence=[
                item(RescaleSlope=slope, RescaleIntercept=0, RescaleType="US")
            ],
            FrameVOILUTSequence=[
                item(WindowCenter=center, WindowWidth=300, VOILUTFunction="LINEAR_EXACT")
            ],
        )

    path = make_dicom(
        tmp_path / "a.dcm",
        np.stack((RAMP, RAMP)),
        NumberOfFrames=2,
        PerFrameFunctionalGroupsSequence=[group(1, 500), group(3, 900)],
    )
    for index in range(2):
        frame = read_frame(path, index)
        assert frame.rescale.units == ""
        assert frame.voi.windows[0].function is VoiFunction.LINEAR_EXACT
        assert np.abs(render(frame) - oracle.expected(path, index, None)).max() <= 1


def test_a_value_that_is_no_number_is_black_in_every_polarity(tmp_path: Path):
    path = make_dicom(tmp_path / "a.dcm", RAMP)
    ds = pydicom.dcmread(path)
    del ds.PixelData
    ds.FloatPixelData = np.full((64, 64), np.nan, np.float32).tobytes()
    ds.BitsAllocated = 32
    ds.save_as(path)
    for photometric in ("MONOCHROME1", "MONOCHROME2"):
        ds.PhotometricInterpretation = photometric
        ds.save_as(path)
        for invert in (False, True):
            assert not render(read_frame(path, 0), Window(0, 10), invert).any()


def test_the_default_window_is_the_files_first_also_beside_a_lut(tmp_path: Path):
    path = make_dicom(
        tmp_path / "a.dcm",
        RAMP,
        WindowCenter=7,
        WindowWidth=9,
        VOILUTSequence=[lut_item(500, 12, CURVE)],
    )
    assert default_window(read_frame(path, 0)) == Window(7, 9)


@pytest.mark.parametrize("relationship", ["LIN", "LOG"])
@pytest.mark.parametrize("number", [1, 2])
def test_x_ray_angiography_is_windowed_in_stored_values_as_in_dcmtk(
    number: int, relationship: str, tmp_path: Path
):
    # Its modality LUT makes values proportional to X-ray intensity (C.8.7.1.1.2).
    if shutil.which("dcm2pnm") is None:
        pytest.skip("dcmtk is not installed (dcm2pnm)")
    path = make_dicom(
        tmp_path / "a.dcm",
        RAMP,
        SOPClassUID=f"1.2.840.10008.5.1.4.1.1.12.{number}",
        Modality="XA",
        PixelIntensityRelationship=relationship,
        ModalityLUTSequence=[with_type(lut_item(0, 12, CURVE), "US")],
        WindowCenter=2048,
        WindowWidth=4096,
    )
    out = tmp_path / "out.pnm"
    subprocess.run(["dcm2pnm", "+opb", "+Wi", "1", str(path), str(out)], check=True, timeout=30)
    picture = render(read_frame(path, 0)).astype(int)
    assert np.abs(picture - np.asarray(Image.open(out))).max() <= 1
    assert np.abs(picture - np.floor(RAMP / 4095 * 255 + 0.5)).max() <= 1
