"""What a volume is told of its slices does not depend on which slice was described before."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from app.errors import FileProblem
from app.imaging.processes.records import pack
from app.imaging.reading.dicom_image import read_instances
from app.imaging.reading.volume_entries import plain_entry
from app.imaging.space.volume_store import slice_answers, slice_request
from app.imaging.types import Frame, Instance
from tests.unit.imaging.files import item, lut_item, make_dicom

Message = dict[str, Any]
pytestmark = pytest.mark.filterwarnings("ignore")


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
def test_a_slice_is_described_the_same_after_another_one(tmp_path: Path, change: dict[str, Any]):
    pixels = np.arange(12, dtype=np.uint16).reshape(3, 4)
    first = make_dicom(tmp_path / "first.dcm", pixels, **base_values())
    values: dict[str, Any] = base_values() | change
    other = make_dicom(tmp_path / "other.dcm", pixels, **values)
    alone = [described(one) for one in (first, other)]
    assert described(first, other, first) == [*alone[0], *alone[1], *alone[0]]


def test_slices_that_differ_in_position_only_share_a_description(tmp_path: Path):
    first = make_dicom(tmp_path / "1.dcm", **base_values())
    own = {"ImagePositionPatient": [1.5, -2, 12], "SOPInstanceUID": "1.2.3.9", "StudyTime": None}
    second = make_dicom(tmp_path / "2.dcm", None, **(base_values() | own))
    message = plain_entry(slice_request([(one, 0) for one in instances(first, second)]))
    assert len(message["frames"]) == 1
    assert message["slices"][1]["uid"] == "1.2.3.9"
    assert message["slices"][1]["position"] == (1.5, -2.0, 12.0)


def instances(*paths: Path) -> list[Instance]:
    return [one for path in paths for one in read_instances(path)]


def described(*paths: Path) -> list[Any]:
    """What a volume is told of slices in one request, without their paths; or why it is refused."""
    try:
        slices = [(one, 0) for one in instances(*paths)]
        answers = slice_answers(slices, plain_entry(slice_request(slices)))
    except FileProblem as error:
        return [error.reason]
    return [None if one is None else (pack_of(one[0]), one[1]) for one in answers]


def pack_of(frame: Frame) -> Message:
    """All fields, comparable: arrays as lists."""

    def plain(value: Any) -> Any:
        if isinstance(value, np.ndarray):
            return [str(value.dtype), value.tolist()]
        if isinstance(value, dict):
            return {key: plain(part) for key, part in value.items()}
        return [plain(part) for part in value] if isinstance(value, list) else value

    return plain(pack(frame))
