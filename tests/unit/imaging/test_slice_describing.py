"""Slices that are alike: described as if each had been parsed, whatever differs between them."""

from __future__ import annotations

from collections.abc import Iterator, Set
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydicom.data import get_testdata_file
from pydicom.datadict import tag_for_keyword
from pydicom.dataset import Dataset

from app.errors import FileProblem
from app.imaging.dicom.dicom_file import Header, read_header
from app.imaging.dicom.pixel_layout import complete_frames, layout_of
from app.imaging.dicom.whole_slide import slide_of
from app.imaging.files import sources
from app.imaging.processes.records import pack
from app.imaging.reading.dicom_image import frame_without_pixels
from app.imaging.reading.dicom_objects import content_of
from app.imaging.reading.slice_describing import READ, SliceDescriber, bears
from app.imaging.space.volume_store import Message
from app.imaging.types import Frame, ImageRef
from tests.unit.imaging.files import item, lut_item, make_dicom

SAMPLES = (
    *("CT_small.dcm", "MR_small.dcm", "JPEG2000.dcm", "rtdose_1frame.dcm", "SC_rgb_gdcm_KY.dcm"),
    *("examples_overlay.dcm", "examples_palette.dcm", "JPEG-LL.dcm", "liver_1frame.dcm"),
)
PER_SLICE = {0x00080018, 0x00200032, 0x00281050, 0x00281051, 0x00281052, 0x00281053}
"""SOP Instance UID, position, window and rescale, which are taken from each slice."""


class _Tags:
    """The keys of a data set, and which were asked for."""

    def __init__(self, keys: Set[Any], asked: set[int]) -> None:
        self._keys = keys
        self._asked = asked

    def __contains__(self, tag: Any) -> bool:
        self._asked.add(int(tag))
        return tag in self._keys

    def __iter__(self) -> Iterator[Any]:
        return iter(self._keys)


class Watched(Dataset):
    """A data set that remembers which of its elements were asked for."""

    asked: set[int]

    def __contains__(self, name: Any) -> bool:
        tag = tag_for_keyword(name) if isinstance(name, str) else int(name)
        self.asked.add(tag or 0)
        return super().__contains__(name)

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, int):
            self.asked.add(int(key))
        return super().__getitem__(key)

    def keys(self) -> Any:
        return _Tags(super().keys(), self.asked)


@pytest.mark.parametrize("name", SAMPLES)
def test_descriptions_rest_on_no_element_that_is_not_compared(name: str):
    """Whoever makes a frame read another element must say so in `slice_describing`."""
    header = read_header(Path(str(get_testdata_file(name))))
    dataset = Watched(dict(header.dataset.items()))
    dataset.asked = set()
    object.__setattr__(dataset, "file_meta", header.dataset.file_meta)
    watched = replace(header, dataset=dataset)
    describe(watched)
    asked = {tag for tag in dataset.asked if tag and not is_shutter(tag)}
    assert 0x00280010 in asked
    unknown = {f"{tag:08X}" for tag in asked if not bears(tag) and tag not in PER_SLICE}
    assert unknown == set()


def is_shutter(tag: int) -> bool:
    """Shutters are left out: a volume has none."""
    return 0x00181600 <= tag <= 0x0018162F or tag == 0x00189472


def describe(header: Header) -> Frame:
    content_of(header)
    layout = layout_of(header)
    complete_frames(header, layout)
    slide_of(header, layout)
    dtype = np.dtype(f"{'i' if layout.signed else 'u'}{layout.word_bytes}")
    return frame_without_pixels(header, layout, 0, layout.photometric, dtype)


def base_values() -> dict[str, Any]:
    return {
        "SOPClassUID": "1.2.840.10008.5.1.4.1.1.2",
        "SOPInstanceUID": "1.2.3.1",
        "ImageType": ["ORIGINAL", "PRIMARY"],
        "Modality": "CT",
        "StudyDate": "20200101",
        "SliceThickness": 2,
        "KVP": 120,
        "InstanceNumber": 1,
        "SliceLocation": 10,
        "FrameOfReferenceUID": "1.2.9",
        "ImageOrientationPatient": [1, 0, 0, 0, 1, 0],
        "ImagePositionPatient": [1.5, -2, 10],
        "PixelSpacing": [0.5, 0.75],
        "RescaleSlope": 2,
        "RescaleIntercept": -1024,
        "RescaleType": "HU",
        "WindowCenter": [40, 300],
        "WindowWidth": [400, 2000],
        "WindowCenterWidthExplanation": ["SOFT", "BONE"],
        "PixelPaddingValue": 3,
    }


CHANGES: list[dict[str, Any]] = [
    {"SOPInstanceUID": "1.2.3.2"},
    {"ImagePositionPatient": [1.5, -2, 12.5]},
    {"ImagePositionPatient": ["1e1", "-2.0e0", "+3.25"]},
    {"ImagePositionPatient": None},
    {"ImagePositionPatient": [1, 2]},
    {"ImagePositionPatient": [1e9, 2, 3]},
    {"ImageOrientationPatient": [0, 1, 0, 0, 0, -1]},
    {"ImageOrientationPatient": None},
    {"PixelSpacing": [0.5, 0.8]},
    {"PixelSpacing": None},
    {"RescaleSlope": 3.5, "RescaleIntercept": 7},
    {"RescaleSlope": 0},
    {"RescaleSlope": None},
    {"RescaleSlope": None, "RescaleIntercept": None},
    {"RescaleType": "OD"},
    {"WindowCenter": [50, 60], "WindowWidth": [80, 90]},
    {"WindowCenter": None},
    {"WindowWidth": [0, -5]},
    {"WindowCenterWidthExplanation": ["A", "B"]},
    {"VOILUTFunction": "SIGMOID"},
    {"VOILUTSequence": [lut_item(0, 8, [1, 2, 3])]},
    {"ModalityLUTSequence": [lut_item(0, 8, [1, 2, 3])]},
    {"PixelPaddingValue": 9},
    {"PixelPaddingRangeLimit": 5},
    {"PixelPaddingValue": None},
    {"BitsStored": 12, "HighBit": 11},
    {"HighBit": 14, "BitsStored": 15},
    {"PhotometricInterpretation": "MONOCHROME1"},
    {"PresentationLUTShape": "INVERSE"},
    {"Modality": "OT"},
    {"ImageType": ["DERIVED", "SECONDARY"]},
    {"SOPClassUID": "1.2.840.10008.5.1.4.1.1.7"},
    {"BodyPartExamined": "HEAD", "AnatomicalOrientationType": "QUADRUPED"},
    {"SpecificCharacterSet": "ISO_IR 192"},
    {"PixelSpacingCalibrationType": "FIDUCIAL"},
    {"LossyImageCompression": "01", "LossyImageCompressionRatio": 10},
    {"Units": "BQML"},
    {
        "RealWorldValueMappingSequence": [
            item(
                RealWorldValueFirstValueMapped=0,
                RealWorldValueLastValueMapped=100,
                RealWorldValueSlope=2.0,
                RealWorldValueIntercept=1.0,
            )
        ]
    },
    {"StudyDate": "20200102", "KVP": 100, "InstanceNumber": 7, "SliceLocation": 12.5},
    {"SmallestImagePixelValue": 0, "LargestImagePixelValue": 100},
]


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: "-".join(change))
def test_a_slice_is_described_as_if_it_had_been_parsed_whatever_differs(
    tmp_path: Path, change: dict[str, Any]
):
    describer = SliceDescriber()
    pixels = np.arange(12, dtype=np.uint16).reshape(3, 4)
    first = make_dicom(tmp_path / "first.dcm", pixels, **base_values())
    described(describer, first)
    values: dict[str, Any] = base_values() | change
    other = make_dicom(tmp_path / "other.dcm", pixels, **values)
    header = read_header(other)
    assert pack_of(described(describer, other)) == pack_of(describe(header))
    # And the next as if nothing had been between them.
    assert pack_of(described(describer, first)) == pack_of(describe(read_header(first)))


def test_only_place_and_uid_are_read_of_slices_that_are_alike(tmp_path: Path):
    describer = SliceDescriber()
    first = make_dicom(tmp_path / "1.dcm", **base_values())
    own = {"ImagePositionPatient": [1.5, -2, 12], "SOPInstanceUID": "1.2.3.9", "StudyTime": "1200"}
    second = make_dicom(tmp_path / "2.dcm", None, **(base_values() | own))
    one, other = found(describer, first), found(describer, second)
    assert other.frame is one.frame
    assert (other.uid, other.position) == ("1.2.3.9", (1.5, -2.0, 12.0))


def test_a_file_that_has_changed_since_it_was_scanned_is_refused(tmp_path: Path):
    describer = SliceDescriber()
    path = make_dicom(tmp_path / "1.dcm", **base_values())
    found(describer, path)
    status = sources.status(path)
    with pytest.raises(FileProblem, match="changed since it was opened"):
        describer.open(path, (status.size, status.mtime_ns - 1), 0)


def test_what_is_compared_has_a_name_and_an_element_that_is_not_is_none_of_the_pixels():
    assert all(bears(tag) for tag in READ)
    assert not bears(0x00091001)
    assert not bears(0x60003000)
    assert bears(0x00280010)
    assert bears(0x30040999)


def found(describer: SliceDescriber, path: Path) -> Any:
    status = sources.status(path)
    opened = describer.open(path, (status.size, status.mtime_ns), 0)
    assert opened is not None
    dtype = np.dtype(f"{'i' if opened.layout.signed else 'u'}{opened.layout.word_bytes}")
    return describer.describe(opened, opened.layout.photometric, dtype)


def described(describer: SliceDescriber, path: Path) -> Frame:
    one = found(describer, path)
    if one.position is None:
        return one.frame
    orientation = replace(one.frame.orientation, position=one.position)
    return replace(one.frame, ref=ImageRef(one.uid, 0, ""), orientation=orientation)


def pack_of(frame: Frame) -> Message:
    """All fields, comparable: arrays as lists."""

    def plain(value: Any) -> Any:
        if isinstance(value, np.ndarray):
            return [str(value.dtype), value.tolist()]
        if isinstance(value, dict):
            return {key: plain(part) for key, part in value.items()}
        return [plain(part) for part in value] if isinstance(value, list) else value

    return plain(pack(frame))
