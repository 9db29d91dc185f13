"""Real objects of very many items pass where files of nothing but items are refused."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pydicom
import pytest

from app.errors import FileProblem
from app.imaging.dicom.dicom_file import read_header
from tests.unit.imaging.files import item, make_dicom
from tests.unit.imaging.layer_files import contour, make_structures

FRAMES = 12_000


def smallest_group() -> pydicom.Dataset:
    """The least that a segmentation says of a frame."""
    return item(
        SegmentIdentificationSequence=[item(ReferencedSegmentNumber=1)],
        FrameContentSequence=[item(DimensionIndexValues=[1, 1])],
    )


@pytest.mark.slow
@pytest.mark.parametrize("undefined", [True, False])
def test_a_segmentation_of_twelve_thousand_frames_is_read(tmp_path: Path, undefined: bool):
    path = make_dicom(tmp_path / "a.dcm")
    dataset = pydicom.dcmread(path)
    dataset.PerFrameFunctionalGroupsSequence = [smallest_group() for _ in range(FRAMES)]
    dataset["PerFrameFunctionalGroupsSequence"].is_undefined_length = undefined
    dataset.save_as(path)
    header = read_header(path)
    assert len(header.value("PerFrameFunctionalGroupsSequence")) == FRAMES


def test_an_empty_item_for_each_of_many_frames_is_read(tmp_path: Path):
    path = make_dicom(tmp_path / "a.dcm")
    dataset = pydicom.dcmread(path)
    dataset.PerFrameFunctionalGroupsSequence = [item() for _ in range(FRAMES)]
    dataset.save_as(path)
    assert len(read_header(path).value("PerFrameFunctionalGroupsSequence")) == FRAMES


@pytest.mark.slow
def test_structures_of_many_contours_are_read(tmp_path: Path):
    points = np.array([[float(n), 0.0, 1.0] for n in range(3)])
    contours = [contour(points, names=["1.2.3.4"]) for _ in range(6000)]
    header = read_header(make_structures(tmp_path / "a.dcm", {1: contours}))
    assert len(header.value("ROIContourSequence")[0].ContourSequence) == 6000


def test_a_hostile_one_is_refused_before_it_is_parsed(tmp_path: Path):
    path = make_dicom(tmp_path / "a.dcm", PixelData=None)
    begin = b"\x00\x52\x30\x92SQ\0\0\xff\xff\xff\xff"
    path.write_bytes(path.read_bytes() + begin + b"\xfe\xff\x00\xe0\0\0\0\0" * 500_000)
    started = time.process_time()
    with pytest.raises(FileProblem, match="items: more than can be read safely"):
        read_header(path)
    assert time.process_time() - started < 1
