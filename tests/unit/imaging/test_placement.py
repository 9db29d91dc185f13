"""Whatever a header holds in its geometric attributes: a place, or unknown; never an error."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydicom.datadict import dictionary_VR, tag_for_keyword
from pydicom.dataelem import RawDataElement
from pydicom.dataset import Dataset
from pydicom.tag import Tag
from pydicom.uid import (
    BreastTomosynthesisImageStorage,
    CTImageStorage,
    EnhancedUSVolumeStorage,
    ExplicitVRLittleEndian,
    RTImageStorage,
)

from app.imaging.dicom.dicom_file import Header
from app.imaging.dicom.frame_attributes import FrameAttributes
from app.imaging.dicom.instance_attributes import b_value, frames_geometry
from app.imaging.dicom.placement import frame_regions, orientation_of, spacing_and_calibration
from app.imaging.studies.catalogue import series_of
from app.imaging.types import Instance, Spacing, SpacingSource
from tests.unit.imaging.files import item

TEXTS = "0,-1,1,0.5,1e-9,1e300,-1e300,nan,inf,abc,0x10,1.0.0,, ,\xff," + "9" * 40
NUMBERS = st.sampled_from(TEXTS.split(","))
LISTS = st.lists(NUMBERS, max_size=7).map("\\".join)
KEYWORDS = (
    "PixelSpacing",
    "ImagerPixelSpacing",
    "NominalScannedPixelSpacing",
    "EstimatedRadiographicMagnificationFactor",
    "PixelAspectRatio",
    "ImageOrientationPatient",
    "ImagePositionPatient",
    "PatientOrientation",
    "GridFrameOffsetVector",
    "SpacingBetweenSlices",
    "NumberOfFrames",
    "Modality",
    "ImageType",
)


def header_with(texts: dict[str, str], **elements: Any) -> Header:
    """A header with the raw text of a file in its elements, valid or not."""
    dataset = item(**elements)
    for keyword, text in texts.items():
        tag = Tag(tag_for_keyword(keyword) or 0)
        raw = text.encode("latin-1")
        dataset._dict[tag] = RawDataElement(tag, dictionary_VR(tag), len(raw), raw, 0, False, True)
    return Header(Path("a.dcm"), dataset, ExplicitVRLittleEndian, None)


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(
    texts=st.fixed_dictionaries({}, optional=dict.fromkeys(KEYWORDS, LISTS)),
    index=st.integers(0, 3),
)
def test_any_text_gives_a_place_and_a_scale_or_none(texts: dict[str, str], index: int):
    attributes = FrameAttributes(header_with(texts), index)
    spacing, _ = spacing_and_calibration(attributes)
    for value in (spacing.row_mm, spacing.column_mm):
        assert value is None or 0 < value <= 100
    assert spacing.known == (spacing.source is not SpacingSource.NONE)
    assert 0 < spacing.aspect < math.inf
    orientation = orientation_of(attributes)
    for part in (*(orientation.cosines or ()), *(orientation.position or ())):
        assert math.isfinite(part)
    frames_geometry(attributes.header)
    b_value(attributes.header)


REGION = (
    "RegionSpatialFormat",
    "RegionFlags",
    "RegionLocationMinX0",
    "RegionLocationMinY0",
    "RegionLocationMaxX1",
    "RegionLocationMaxY1",
    "PhysicalUnitsXDirection",
    "PhysicalUnitsYDirection",
)


@given(
    whole=st.fixed_dictionaries(
        {}, optional=dict.fromkeys(REGION, st.sampled_from([0, 1, 3, 12, 13, 639, 65535, 2**31]))
    ),
    delta=st.sampled_from([0.0, -0.1, 0.1, 1e-300, 1e300, math.nan, math.inf]),
)
def test_any_ultrasound_region_has_a_usable_scale_or_no_units(whole: dict[str, int], delta: float):
    region = Dataset()
    for keyword, value in whole.items():
        narrow = dictionary_VR(tag_for_keyword(keyword) or 0) == "US"
        setattr(region, keyword, min(value, 65535) if narrow else value)
    region.PhysicalDeltaX = delta
    region.PhysicalDeltaY = delta
    header = header_with({}, SequenceOfUltrasoundRegions=[region], Rows=480, Columns=640)
    for found in frame_regions(FrameAttributes(header, 0)):
        assert found.dx != 0
        assert math.isfinite(found.dx)
        assert 0 <= found.x0 <= found.x1 < 640
        assert 0 <= found.y0 <= found.y1 < 480


@settings(deadline=None)
@given(
    st.lists(
        st.fixed_dictionaries(
            {},
            optional={
                "ImageOrientationPatient": st.one_of(LISTS, st.just("1\\0\\0\\0\\1\\0")),
                "ImagePositionPatient": st.one_of(LISTS, st.just("0\\0\\0"), st.just("0\\0\\1")),
                "PixelSpacing": st.one_of(LISTS, st.just("1\\1")),
                "TriggerTime": LISTS,
                "AcquisitionTime": LISTS,
                "SliceThickness": LISTS,
                "ImageType": LISTS,
                "Modality": st.sampled_from(["CT", "US"]),
            },
        ),
        min_size=1,
        max_size=8,
    )
)
def test_any_attributes_can_be_grouped_and_nothing_is_lost(attributes: list[dict[str, str]]):
    instances = [
        Instance(Path(f"{n}"), f"1.{n}", "dicom", 4, 4, attributes=own)
        for n, own in enumerate(attributes)
    ]
    found = series_of("1", instances)
    names = sorted(one.path.name for series in found for one in series.instances)
    assert names == sorted(one.path.name for one in instances)
    assert series_of("1", instances[::-1]) == found


@pytest.mark.parametrize(
    ("group", "creator", "element", "vr", "value", "expected"),
    [
        (0x0019, "SIEMENS MR HEADER", 0x0C, "IS", "1000", "1000"),
        (0x0019, "SIEMENS MR HEADER", 0x0C, "UN", b"800 ", "800"),
        (0x0043, "GEMS_PARM_01", 0x39, "IS", ["1000000800", "8", "0", "0"], "800"),
        (0x0043, "GEMS_PARM_01", 0x39, "UN", b"1000\\8\\0\\0", "1000"),
        (0x2001, "Philips Imaging DD 001", 0x03, "FL", 500.0, "500"),
        (0x0019, "SIEMENS MR HEADER", 0x0C, "UN", b"\x01\x02", ""),
        (0x0019, "SIEMENS CT", 0x0C, "IS", "1000", ""),
    ],
)
def test_b_values_are_found_where_makers_put_them(
    group: int, creator: str, element: int, vr: str, value: Any, expected: str
):
    dataset = Dataset()
    dataset.Modality = "MR"
    dataset.private_block(group, creator, create=True).add_new(element, vr, value)
    header = Header(Path("a.dcm"), dataset, ExplicitVRLittleEndian, None)
    assert b_value(header) == expected


def scale(**elements: Any) -> Spacing:
    header = header_with({}, Rows=100, Columns=100, **elements)
    return spacing_and_calibration(FrameAttributes(header, 0))[0]


def test_a_radiograph_is_measured_on_its_detector_even_where_it_has_a_direction():
    """PS3.3 10.7.1.3: ImagerPixelSpacing is at the detector; a direction does not change that."""
    pixels = {"PixelSpacing": [0.14, 0.14], "ImageOrientationPatient": [1, 0, 0, 0, 0, -1]}
    for sop_class in ("1", "1.1", "1.2"):
        found = scale(
            SOPClassUID=f"1.2.840.10008.5.1.4.1.1.{sop_class}",
            ImagerPixelSpacing=[0.14, 0.14],
            ImagePositionPatient=[0, 0, 0],
            **pixels,
        )
        assert found.source is SpacingSource.DETECTOR
    assert scale(SOPClassUID=CTImageStorage, **pixels).source is SpacingSource.PATIENT


def test_an_rt_image_is_measured_in_its_own_plane():
    """PS3.3 C.8.8.2: Image Plane Pixel Spacing holds at the RT Image SID."""
    found = scale(SOPClassUID=RTImageStorage, ImagePlanePixelSpacing=[0.4, 0.5], RTImageSID=1500)
    assert (found.row_mm, found.column_mm) == (0.4, 0.5)
    assert found.source is SpacingSource.DETECTOR
    assert found.note
    assert not scale(SOPClassUID=RTImageStorage, ImagePlanePixelSpacing=[0, 0.5]).known


def region(box: tuple[int, int, int, int], cm: float, units: int = 3) -> Dataset:
    x0, y0, x1, y1 = box
    return item(
        RegionSpatialFormat=1,
        RegionLocationMinX0=x0,
        RegionLocationMinY0=y0,
        RegionLocationMaxX1=x1,
        RegionLocationMaxY1=y1,
        PhysicalUnitsXDirection=units,
        PhysicalUnitsYDirection=units,
        PhysicalDeltaX=cm,
        PhysicalDeltaY=cm,
    )


def test_ultrasound_regions_go_before_a_pixel_spacing_that_does_not_say_where_it_holds():
    own = {"Modality": "US", "PixelSpacing": [0.3, 0.3]}
    fits = scale(SequenceOfUltrasoundRegions=[region((0, 0, 90, 90), 0.02)], **own)
    assert fits.source is SpacingSource.REGION
    assert fits.row_mm == pytest.approx(0.2)
    scaled = scale(SequenceOfUltrasoundRegions=[region((0, 0, 190, 190), 0.02)], **own)
    assert not scaled.known
    assert "scaled" in scaled.note
    assert scale(**own).source is SpacingSource.DETECTOR


@pytest.mark.parametrize("sop_class", [EnhancedUSVolumeStorage, BreastTomosynthesisImageStorage])
def test_the_pixels_of_a_volume_are_measured_in_the_patient(sop_class: str):
    measures = item(PixelMeasuresSequence=[item(PixelSpacing=[0.3, 0.2])])
    found = scale(SOPClassUID=sop_class, SharedFunctionalGroupsSequence=[measures])
    assert (found.row_mm, found.column_mm) == (0.3, 0.2)
    assert found.source is SpacingSource.PATIENT
