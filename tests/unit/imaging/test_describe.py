"""What a DICOM header says about its pixels ends up in the Frame."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from app.imaging.dicom.palette import expand_segments
from app.imaging.reading.image_entries import read_frame, read_instance
from app.imaging.types import Frame, SpacingSource, VoiFunction, Window
from tests.unit.imaging.files import item, lut_item, make_dicom

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning:pydicom")


@pytest.fixture
def frame(tmp_path: Path):
    def build(pixels: Any = None, index: int = 0, **elements: Any) -> Frame:
        return read_frame(make_dicom(tmp_path / "a.dcm", pixels, **elements), index)

    return build


def test_windows_keep_their_order_function_and_explanations(frame: Any):
    voi = frame(
        WindowCenter=[40, 300],
        WindowWidth=[400, 1500],
        VOILUTFunction="SIGMOID",
        WindowCenterWidthExplanation=["SOFT", "BONE"],
    ).voi
    assert voi.windows == (
        Window(40, 400, VoiFunction.SIGMOID, "SOFT"),
        Window(300, 1500, VoiFunction.SIGMOID, "BONE"),
    )


def test_impossible_windows_are_left_out(frame: Any):
    voi = frame(WindowCenter=[40, 41, 42], WindowWidth=[0, -3, 100]).voi
    assert voi.windows == (Window(42, 100),)
    assert frame(WindowCenter=40).voi.windows == ()


def test_rescale_and_its_units(frame: Any):
    ct = frame(RescaleSlope=2, RescaleIntercept=-1024, Modality="CT").rescale
    assert (ct.slope, ct.intercept, ct.units) == (2.0, -1024.0, "HU")
    assert frame(RescaleSlope=0, RescaleIntercept=5).rescale.slope == 1.0
    assert frame(Modality="CT").rescale.units == ""


def test_an_absurd_rescale_is_none(frame: Any):
    rescale = frame(RescaleSlope="1e300", RescaleIntercept="-1e99").rescale
    assert (rescale.slope, rescale.intercept) == (1.0, 0.0)


def test_a_dose_grid_is_in_gray(frame: Any):
    dose = frame(Modality="RTDOSE", DoseGridScaling=0.001, DoseUnits="GY").rescale
    assert (dose.slope, dose.units) == (0.001, "Gy")


def test_luts_keep_a_negative_first_value(frame: Any):
    pixels = np.array([[-5, 5]], np.int16)
    found = frame(
        pixels,
        ModalityLUTSequence=[lut_item(-5, 16, [1, 2, 3], signed=True)],
        VOILUTSequence=[lut_item(0, 12, [0, 4095])],
    )
    assert found.modality_lut.first == -5
    assert found.modality_lut.data.tolist() == [1, 2, 3]
    assert found.voi.luts[0].bits == 12


@pytest.mark.parametrize(
    ("declared", "data", "bits"),
    [(12, [0, 1023], 12), (8, [0, 4095], 12), (16, [0, 65535], 16), (0, [0, 1023], 10)],
)
def test_white_is_what_a_luts_bits_can_hold_not_what_its_data_do(
    declared: int, data: list[int], bits: int, frame: Any
):
    """C.11.2.1.1: a dark table stays dark; more than it declares, and none, are mistakes."""
    (lut,) = frame(VOILUTSequence=[lut_item(0, declared, data)]).voi.luts
    assert lut.bits == bits


def test_no_entries_in_a_luts_descriptor_are_65536(frame: Any):
    """C.11.1.1.1: the number does not fit into 16 bits."""
    table = lut_item(0, 16, [0])
    table.LUTDescriptor = [0, 0, 16]
    table.add_new(0x00283006, "OW", np.arange(65536, dtype="<u2").tobytes())
    (lut,) = frame(VOILUTSequence=[table]).voi.luts
    np.testing.assert_array_equal(lut.data, np.arange(65536))


def test_padding_is_a_range_in_stored_values(frame: Any):
    assert frame(PixelPaddingValue=7).padding == (7, 7)
    assert frame(PixelPaddingValue=9, PixelPaddingRangeLimit=3).padding == (3, 9)
    assert frame(np.zeros((2, 2), np.int16), PixelPaddingValue=-2000).padding == (-2000, -2000)
    assert frame().padding is None


def test_a_radiographs_zero_spacing_is_unknown(frame: Any):
    spacing = frame(PixelSpacing=[0, 0], Modality="CR").spacing
    assert not spacing.known
    assert "ignored" in spacing.note


def test_the_calibration_is_told(frame: Any):
    found = frame(
        PixelSpacing=[0.1, 0.1],
        PixelSpacingCalibrationType="FIDUCIAL",
        PixelSpacingCalibrationDescription="25 mm ball",
    )
    assert found.calibration == "FIDUCIAL 25 mm ball"
    assert found.spacing.source is SpacingSource.CALIBRATED


def test_ultrasound_regions_give_the_scale(frame: Any):
    region = item(
        RegionSpatialFormat=1,
        PhysicalUnitsXDirection=3,
        PhysicalUnitsYDirection=3,
        PhysicalDeltaX=0.02,
        PhysicalDeltaY=0.03,
    )
    spacing = frame(SequenceOfUltrasoundRegions=[region]).spacing
    assert (spacing.row_mm, spacing.column_mm) == (pytest.approx(0.3), pytest.approx(0.2))


def test_orientation_from_cosines_and_from_letters(frame: Any):
    found = frame(ImageOrientationPatient=[1, 0, 0, 0, 0, -1], ImagePositionPatient=[1, 2, 3])
    assert (found.orientation.row, found.orientation.column) == ("L", "F")
    assert found.orientation.position == (1, 2, 3)
    assert frame(PatientOrientation=["A", "F"]).orientation.row == "A"
    damaged = frame(ImageOrientationPatient=[1, 0, 0, 1, 0, 0]).orientation
    assert (damaged.row, damaged.cosines) == ("", None)


def test_an_enhanced_objects_frames_have_their_own_geometry_and_window(frame: Any):
    def group(position: float, center: float) -> Any:
        return item(
            PlanePositionSequence=[item(ImagePositionPatient=[0, 0, position])],
            FrameVOILUTSequence=[item(WindowCenter=center, WindowWidth=100)],
        )

    shared = item(
        PixelMeasuresSequence=[item(PixelSpacing=[0.5, 0.6])],
        PlaneOrientationSequence=[item(ImageOrientationPatient=[1, 0, 0, 0, 1, 0])],
        PixelValueTransformationSequence=[
            item(RescaleSlope=3, RescaleIntercept=1, RescaleType="US")
        ],
    )
    found = frame(
        np.zeros((2, 4, 4), np.uint16),
        index=1,
        NumberOfFrames=2,
        SharedFunctionalGroupsSequence=[shared],
        PerFrameFunctionalGroupsSequence=[group(1, 10), group(2, 20)],
    )
    assert found.orientation.position == (0, 0, 2)
    assert found.voi.windows[0].center == 20
    assert (found.spacing.row_mm, found.spacing.source) == (0.5, SpacingSource.PATIENT)
    assert found.rescale.slope == 3


def test_a_lossy_past_is_told_even_if_the_pixels_are_uncompressed_now(frame: Any):
    found = frame(
        LossyImageCompression="01",
        LossyImageCompressionMethod="ISO_15444_1",
        LossyImageCompressionRatio=10,
    )
    assert found.lossy == "Lossy JPEG 2000 10:1"
    assert frame().lossy == ""


def test_unused_high_bits_do_not_reach_the_stored_values(frame: Any):
    pixels = np.array([[0xF123, 0x0FFF]], np.uint16)
    found = frame(pixels, BitsStored=12, HighBit=11)
    assert found.stored.tolist() == [[0x123, 0xFFF]]
    assert found.bits == 12


def test_the_digest_is_of_the_values_not_of_their_encoding(frame: Any, tmp_path: Path):
    import pydicom

    path = tmp_path / "b.dcm"
    make_dicom(path)
    ds = pydicom.dcmread(path)
    ds.decompress() if ds.file_meta.TransferSyntaxUID.is_compressed else None
    ds.compress(pydicom.uid.RLELossless)  # pyright: ignore[reportAttributeAccessIssue]
    ds.save_as(tmp_path / "rle.dcm")
    plain, packed = read_frame(path, 0), read_frame(tmp_path / "rle.dcm", 0)
    assert plain.ref.pixel_sha256 == packed.ref.pixel_sha256
    assert len(plain.ref.pixel_sha256) == 64


def test_an_instance_has_what_lists_and_corner_texts_need(tmp_path: Path):
    path = make_dicom(
        tmp_path / "a.dcm",
        np.zeros((5, 4, 4), np.uint16),
        NumberOfFrames=5,
        InstanceNumber=7,
        FrameTime=40,
        ViewPosition="PA",
    )
    found = read_instance(path)
    assert (found.rows, found.columns, found.frames, found.number) == (4, 4, 5, 7)
    assert found.frame_time_ms == 40
    assert found.get("ViewPosition") == "PA"
    assert found.get("PatientName") == "Doe^Jane"
    assert found.get("KVP") == ""


def test_a_file_without_preamble_and_without_extension_is_read(tmp_path: Path):
    whole = make_dicom(tmp_path / "a.dcm").read_bytes()
    bare = tmp_path / "IM0001"
    bare.write_bytes(whole[132:])
    assert read_instance(bare).kind == "dicom"
    assert read_frame(bare, 0).stored.shape == (3, 4)


def test_segmented_palettes_expand_by_the_standards_example():
    # PS3.3 C.7.9.2: discrete, linear, and an indirect repetition of both.
    words = [0, 2, 10, 20, 1, 3, 50, 2, 2, 0, 0]
    assert expand_segments(words, 10) == [10, 20, 30, 40, 50, 10, 20, 30, 40, 50]
    assert expand_segments([7, 9, 9, 9], 10) == []


@pytest.mark.parametrize("offset", [4, 8])
def test_an_indirect_segment_may_count_words_or_bytes(offset: int):
    # Words as pydicom and GDCM count them; bytes as the element is written.
    words = [0, 2, 10, 20, 1, 3, 50, 0, 1, 9, 2, 1, offset, 0]
    assert expand_segments(words, 9) == [10, 20, 30, 40, 50, 9, 23, 36, 50]
