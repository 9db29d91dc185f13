"""Real objects of very many items pass where files of nothing but items are refused."""

from __future__ import annotations

import time
import tracemalloc
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


def after_an_icon(path: Path, undefined: bool, count: int) -> Path:
    """Write an image with an icon, whose pixels precede a sequence of empty items."""
    icon = item(Rows=1, Columns=1, PixelData=b"\0\0")
    icon["PixelData"].VR = "OB"
    make_dicom(path, PixelData=None, IconImageSequence=[icon])
    empty = b"\xfe\xff\x00\xe0\0\0\0\0" * count
    length = b"\xff\xff\xff\xff" if undefined else len(empty).to_bytes(4, "little")
    end = b"\xfe\xff\xdd\xe0\0\0\0\0" if undefined else b""
    path.write_bytes(path.read_bytes() + b"\x00\x52\x30\x92SQ\0\0" + length + empty + end)
    return path


@pytest.mark.parametrize("undefined", [True, False])
def test_one_whose_items_hide_behind_an_icon_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, undefined: bool
):
    monkeypatch.setattr("app.imaging.dicom.dicom_file.MAX_ITEMS_OF_FRAMES", 30_000)
    path = after_an_icon(tmp_path / "a.dcm", undefined, 29_000)
    assert read_header(path).value("IconImageSequence")
    with pytest.raises(FileProblem, match="items: more than can be read safely"):
        read_header(after_an_icon(path, undefined, 31_000))


def test_one_of_very_many_elements_is_refused_before_it_is_parsed(tmp_path: Path):
    path = make_dicom(tmp_path / "a.dcm", PixelData=None)
    many = (b"\x01\x53" + n.to_bytes(2, "little") + b"SH\0\0" for n in range(0x1000, 0xFFFF))
    path.write_bytes(path.read_bytes() + b"".join(many))
    with pytest.raises(FileProblem, match="elements than can be read safely"):
        read_header(path)


def test_a_length_beyond_the_end_of_a_long_header_takes_no_memory(tmp_path: Path):
    path = make_dicom(tmp_path / "a.dcm", PixelData=None)
    long = b"\x01\x53\x00\x10OB\0\0" + (200_000).to_bytes(4, "little") + bytes(200_000)
    damaged = b"\x01\x53\x01\x10OB\0\0" + (0xF0000000).to_bytes(4, "little") + bytes(100)
    path.write_bytes(path.read_bytes() + long + damaged)
    tracemalloc.start()
    try:
        assert read_header(path).text("SOPInstanceUID")
        assert tracemalloc.get_traced_memory()[1] < 2**24
    finally:
        tracemalloc.stop()
