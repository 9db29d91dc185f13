"""Real-world values under the cursor, supplemental palettes, cine times, colour notes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pydicom
import pytest

from app.imaging.dicom.palette import expand_segments
from app.imaging.pixels.pipeline import Grey, grey_at, render
from app.imaging.reading.image_entries import read_frame, read_instance
from app.imaging.types import Frame
from tests.unit.imaging.files import item, make_dicom

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning:pydicom")

PIXELS = np.arange(12, dtype=np.uint16).reshape(3, 4)


def at(frame: Frame, x: float, y: float) -> Grey:
    found = grey_at(frame, x, y)
    assert found is not None
    return found


def mapping(first: int, last: int, units: str, label: str, **more: Any) -> pydicom.Dataset:
    made = item(
        MeasurementUnitsCodeSequence=[
            item(CodeValue=units, CodingSchemeDesignator="UCUM", CodeMeaning=units)
        ],
        LUTLabel=label,
        LUTExplanation=label,
    )
    made.add_new(0x00409216, "US", first)
    made.add_new(0x00409211, "US", last)
    for keyword, value in more.items():
        setattr(made, keyword, value)
    return made


def test_linear_and_table_maps_hold_in_their_own_ranges(tmp_path: Path):
    linear = mapping(0, 5, "mm2/s", "ADC", RealWorldValueSlope=0.001, RealWorldValueIntercept=0.5)
    table = mapping(6, 8, "1", "T", RealWorldValueLUTData=[10.0, 20.5, 40.0])
    frame = read_frame(
        make_dicom(
            tmp_path / "a.dcm",
            PIXELS,
            RescaleSlope=2,
            RescaleIntercept=0,
            RealWorldValueMappingSequence=[linear, table],
        ),
        0,
    )
    assert at(frame, 1, 1) == Grey((5.0,), 10.0, "", "10 (0.505 mm2/s ADC)", 0.505, "mm2/s")
    assert at(frame, 3, 1).text == "14 (20.5 T)"
    assert at(frame, 3, 2) == Grey((11.0,), 22.0, "", "22")


def test_the_frames_own_map_counts_before_the_shared_one(tmp_path: Path):
    def maps(slope: float) -> pydicom.Dataset:
        one = mapping(0, 99, "s", "t", RealWorldValueSlope=slope, RealWorldValueIntercept=0.0)
        return item(RealWorldValueMappingSequence=[one])

    path = make_dicom(
        tmp_path / "a.dcm",
        np.stack((PIXELS, PIXELS)),
        NumberOfFrames=2,
        SharedFunctionalGroupsSequence=[maps(0.5)],
        PerFrameFunctionalGroupsSequence=[item(), maps(0.25)],
    )
    assert at(read_frame(path, 0), 0, 1).real == 2.0
    assert at(read_frame(path, 1), 0, 1).real == 1.0


@pytest.mark.parametrize(
    "broken",
    [
        {"RealWorldValueSlope": 0.0, "RealWorldValueIntercept": 1.0},
        {"RealWorldValueSlope": float("nan"), "RealWorldValueIntercept": 1.0},
        {"RealWorldValueIntercept": 1.0},
        {"RealWorldValueLUTData": [1.0, 2.0]},
    ],
)
def test_a_damaged_map_is_no_map(broken: dict[str, Any], tmp_path: Path):
    path = make_dicom(
        tmp_path / "a.dcm",
        PIXELS,
        RealWorldValueMappingSequence=[mapping(0, 9, "s", "t", **broken)],
    )
    assert read_frame(path, 0).real_world == ()


def test_suv_is_never_made_up(tmp_path: Path):
    path = make_dicom(tmp_path / "a.dcm", PIXELS, Modality="PT", RescaleSlope=2, Units="BQML")
    assert at(read_frame(path, 0), 3, 0).text == "6 Bq/ml"


def test_the_supplemental_palette_colours_only_values_from_its_first_on(shared_data: Path):
    path = shared_data / "dicom" / "syntaxes" / "eCT_Supplemental.dcm"
    frame = read_frame(path, 0)
    assert frame.supplemental
    assert not frame.is_color
    picture = render(frame)
    grey = frame.stored.astype(int) < 1024
    assert (picture[grey].min(axis=-1) == picture[grey].max(axis=-1)).all()
    inside = tuple(np.argwhere(~grey)[1000])
    found = at(frame, inside[1], inside[0])
    assert found.value is None
    assert found.text.endswith("ml/100ml/s RCBF")
    assert found.real == float(frame.stored[inside]) - 1024


def test_of_mixed_frames_only_those_of_colour_have_the_supplemental_palette(tmp_path: Path):
    """PS3.3 C.7.6.19, C.8.13.3.1: the frame type says which frame is of which kind."""
    elements: dict[str, Any] = {"PixelPresentation": "MIXED", "NumberOfFrames": 3}
    for number, colour in enumerate(("Red", "Green", "Blue")):
        elements[f"{colour}PaletteColorLookupTableDescriptor"] = [2, 10, 8]
        elements[f"{colour}PaletteColorLookupTableData"] = bytes([50 * number, 255])
    kinds = [item(PixelPresentation=kind) for kind in ("MONOCHROME", "COLOR")]
    groups = [item(MRImageFrameTypeSequence=[kind]) for kind in kinds]
    pixels = np.tile(np.arange(12, dtype=np.uint8).reshape(3, 4), (3, 1, 1))
    path = make_dicom(
        tmp_path / "a.dcm", pixels, **elements, PerFrameFunctionalGroupsSequence=[*groups, item()]
    )
    assert [read_frame(path, index).supplemental for index in range(3)] == [False, True, True]
    assert render(read_frame(path, 0)).ndim == 2
    assert render(read_frame(path, 1))[2, 2].tolist() == [0, 50, 100]


def test_palettes_of_8_bits_and_segments_of_bytes(tmp_path: Path):
    """PS3.3 C.7.9.2: with 8-bit entries the segments are bytes too, two to a word."""
    segments = bytes([0, 2, 10, 20, 1, 3, 50, 2, 2, 0, 0, 0, 0, 0])
    expected = [10, 20, 30, 40, 50, 10, 20, 30, 40, 50]
    assert expand_segments(list(segments), 10, small=True) == expected
    descriptor = [10, 2, 8]
    elements: dict[str, Any] = {"PhotometricInterpretation": "PALETTE COLOR"}
    for colour in ("Red", "Green", "Blue"):
        elements[f"{colour}PaletteColorLookupTableDescriptor"] = descriptor
        elements[f"Segmented{colour}PaletteColorLookupTableData"] = segments
    frame = read_frame(make_dicom(tmp_path / "a.dcm", PIXELS.astype(np.uint8), **elements), 0)
    assert frame.palette_first == 2
    shown = [expected[min(max(v - 2, 0), 9)] for v in range(12)]
    assert render(frame)[..., 0].reshape(-1).tolist() == shown


def test_a_16_bit_palette_that_only_fills_8_is_not_shown_black(tmp_path: Path):
    elements: dict[str, Any] = {"PhotometricInterpretation": "PALETTE COLOR"}
    for colour, top in (("Red", 240), ("Green", 120), ("Blue", 0)):
        elements[f"{colour}PaletteColorLookupTableDescriptor"] = [12, 0, 16]
        table = np.linspace(0, top, 12).astype("<u2")
        elements[f"{colour}PaletteColorLookupTableData"] = table.tobytes()
    path = make_dicom(tmp_path / "a.dcm", PIXELS.astype(np.uint8), **elements)
    assert render(read_frame(path, 0))[2, 3].tolist() == [240, 120, 0]


def test_each_frame_of_a_cine_knows_its_time(tmp_path: Path):
    pixels = np.stack([PIXELS] * 4)
    even = make_dicom(tmp_path / "a.dcm", pixels, NumberOfFrames=4, FrameTime=40)
    assert [read_frame(even, n).time_ms for n in range(4)] == [0, 40, 80, 120]
    uneven = make_dicom(
        tmp_path / "b.dcm", pixels, NumberOfFrames=4, FrameTimeVector=[0, 10, 20, 5]
    )
    assert [read_frame(uneven, n).time_ms for n in range(4)] == [0, 10, 30, 35]
    groups = [
        item(FrameContentSequence=[item(FrameReferenceDateTime=f"20240229235959.{n}00000")])
        for n in range(4)
    ]
    enhanced = make_dicom(
        tmp_path / "c.dcm", pixels, NumberOfFrames=4, PerFrameFunctionalGroupsSequence=groups
    )
    assert [read_frame(enhanced, n).time_ms for n in range(4)] == [0, 100, 200, 300]
    assert read_frame(make_dicom(tmp_path / "d.dcm", PIXELS, FrameTime=40), 0).time_ms is None


@pytest.mark.parametrize("time", [0, -5, 1e9])
def test_an_absurd_frame_time_is_unknown(time: float, tmp_path: Path):
    path = make_dicom(tmp_path / "a.dcm", np.stack([PIXELS] * 2), NumberOfFrames=2, FrameTime=time)
    assert read_frame(path, 1).time_ms is None
    assert read_instance(path).frame_time_ms is None


def test_a_frame_of_nuclear_medicine_says_which_detector_and_phase_it_is_of(tmp_path: Path):
    path = make_dicom(
        tmp_path / "a.dcm",
        np.stack([PIXELS] * 4),
        NumberOfFrames=4,
        FrameIncrementPointer=[0x00540010, 0x00540020],
        EnergyWindowVector=[1, 1, 1, 1],
        DetectorVector=[1, 2, 1, 2],
    )
    assert [read_frame(path, n).note for n in range(2)] == ["detector 1", "detector 2"]


def test_a_foreign_colour_space_is_noted_and_srgb_is_not(tmp_path: Path):
    from PIL import ImageCms

    image = np.zeros((4, 4, 3), np.uint8)
    srgb = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    assert read_frame(make_dicom(tmp_path / "a.dcm", image, ICCProfile=srgb), 0).note == ""
    crayons = Path(pydicom.__file__).parent / "data" / "test_files" / "crayons.icc"
    other = make_dicom(tmp_path / "b.dcm", image, ICCProfile=crayons.read_bytes())
    assert "ICC profile" in read_frame(other, 0).note
    broken = make_dicom(tmp_path / "c.dcm", image, ICCProfile=b"\xff" * 200)
    assert "ICC profile" in read_frame(broken, 0).note
