"""The shortcut past the parser for plain texts gives what the parser gives, or steps aside."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pydicom.data
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydicom.dataelem import RawDataElement
from pydicom.dataset import Dataset
from pydicom.tag import BaseTag
from pydicom.uid import ExplicitVRLittleEndian

from app.errors import FileProblem
from app.imaging.dicom.dicom_file import Header, read_header, value_of, value_text
from app.imaging.dicom.instance_attributes import ATTRIBUTES, attribute_texts
from app.imaging.reading.image_entries import read_instance
from tests.unit.imaging.files import make_dicom

FIELDS = {
    "PatientAge": (0x00101010, "AS"),
    "ImageType": (0x00080008, "CS"),
    "StudyDate": (0x00080020, "DA"),
    "PixelSpacing": (0x00280030, "DS"),
    "AcquisitionNumber": (0x00200012, "IS"),
    "PatientName": (0x00100010, "PN"),
    "SeriesDescription": (0x0008103E, "LO"),
    "StudyID": (0x00200010, "SH"),
    "StudyTime": (0x00080030, "TM"),
    "StudyInstanceUID": (0x0020000D, "UI"),
}


def holding(keyword: str, raw: bytes, vr: str | None) -> Dataset:
    """A data set as the parser leaves it: values are converted when they are asked for."""
    tag = BaseTag(FIELDS[keyword][0])
    element = RawDataElement(tag, vr, len(raw), raw, 0, vr is None, True, True)
    dataset = Dataset({tag: element})
    dataset.set_original_encoding(vr is None, True, "iso8859")
    return dataset


@pytest.mark.filterwarnings("ignore")
@given(
    keyword=st.sampled_from(sorted(FIELDS)),
    explicit=st.booleans(),
    raw=st.one_of(
        st.text("0123456789", max_size=6),
        st.text("019+-. \\\0eE^AMY\x1b$B_'=", max_size=20),
        st.from_regex(r"[+-]?[0-9]{1,22}(\.[0-9]{0,22})?([eE][+-]?[0-9]{1,3})? ?", fullmatch=True),
        st.sampled_from(["1.5\\2", " 7 ", "007", "+5", "1e3", "1.0", "nan", "\\", "1\\\\2", "-0"]),
    ),
    accent=st.booleans(),
)
def test_a_plain_texts_value_is_the_parsers(keyword: str, explicit: bool, raw: str, accent: bool):
    data = raw.encode() + (b"\xe9" if accent else b"")
    vr = FIELDS[keyword][1] if explicit else None
    expected = value_text(value_of(holding(keyword, data, vr), keyword))
    header = Header(Path("a"), holding(keyword, data, vr), ExplicitVRLittleEndian, None)
    assert attribute_texts(header).get(keyword, "") == expected


@pytest.mark.filterwarnings("ignore")
def test_every_file_of_pydicom_has_the_texts_that_pydicom_reads():
    compared = 0
    for path in sorted((Path(pydicom.data.__file__).parent / "test_files").glob("*.dcm")):
        try:
            quick, slow = read_header(path), read_header(path)
        except FileProblem:
            continue
        texts = attribute_texts(quick)
        for keyword in ATTRIBUTES:
            text = slow.text(keyword)[:1024]
            if text:
                assert texts[keyword] == text, (path.name, keyword)
                compared += 1
    assert compared > 1000


def test_a_number_with_two_values_counts_as_its_first(tmp_path: Path):
    path = make_dicom(tmp_path / "two.dcm", np.zeros((4, 4), np.uint16))
    dataset = pydicom.dcmread(path)
    dataset.InstanceNumber = ["7", "8"]
    dataset.save_as(path)
    assert read_instance(path).number == 7
