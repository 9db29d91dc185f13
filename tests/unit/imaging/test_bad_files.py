"""Bad and hostile files: each is refused in words for a radiologist, and the app goes on."""

from __future__ import annotations

import os
import struct
import time
from pathlib import Path
from typing import Any

import numpy as np
import pydicom
import pytest
from pydicom.encaps import encapsulate, generate_frames
from pydicom.uid import (
    UID,
    ExplicitVRBigEndian,
    JPEG2000Lossless,
    JPEGBaseline8Bit,
    JPEGLosslessSV1,
    JPEGLSLossless,
    RLELossless,
)

from app.errors import FileProblem
from app.imaging.decode import Decoder
from app.imaging.reading.image_entries import read_frame, read_instance
from app.imaging.space.reformat import available_planes
from app.imaging.types import Content, Instance, Plane, Problem
from tests.support.hang import HANG_S
from tests.unit.imaging.files import item, jpeg_bytes, make_dicom, png_bytes, png_claiming


def only_problem(decoder: Decoder, path: Path) -> Problem:
    """The problem of a scan that finds no image."""
    result = decoder.scan([path]).result(60)
    assert result.studies == ()
    assert [problem.path for problem in result.problems] == [path]
    return result.problems[0]


def only_instance(decoder: Decoder, path: Path) -> Instance:
    result = decoder.scan([path]).result(60)
    assert result.problems == ()
    return result.studies[0].series[0].instances[0]


def refused(decoder: Decoder, instance: Instance, index: int = 0) -> FileProblem:
    with pytest.raises(FileProblem) as caught:
        decoder.frame(instance, index).result(60)
    assert caught.value.subject == str(instance.path)
    assert caught.value.reason
    return caught.value


def write(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


def test_an_empty_file(decoder: Decoder, tmp_path: Path):
    problem = only_problem(decoder, write(tmp_path / "a.dcm", b""))
    assert problem.reason == "the file is empty"
    assert "Copy it again" in problem.remedy


def test_a_text_file_named_dcm(decoder: Decoder, tmp_path: Path):
    problem = only_problem(decoder, write(tmp_path / "a.dcm", b"Dear colleague,\nno image here.\n"))
    assert "a text file" in problem.reason


def test_a_file_that_does_not_exist(decoder: Decoder, tmp_path: Path):
    assert "no such file" in only_problem(decoder, tmp_path / "a.dcm").reason


@pytest.mark.skipif(os.name == "nt", reason="uses POSIX permissions")
def test_an_unreadable_file(decoder: Decoder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = make_dicom(tmp_path / "a.dcm")
    path.chmod(0)
    if os.geteuid() == 0:
        pytest.skip("root may read everything")
    assert "permission denied" in only_problem(decoder, path).reason


def test_a_refused_permission_also_where_root_runs_the_tests(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    path = make_dicom(tmp_path / "a.dcm")

    def refuse(*args: Any, **options: Any) -> Any:
        raise PermissionError(13, "Permission denied")

    read_instance(make_dicom(tmp_path / "b.dcm"))  # imports what it needs
    monkeypatch.setattr(Path, "open", refuse)
    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(FileProblem, match="permission denied") as caught:
        read_instance(path)
    assert caught.value.subject == str(path)
    assert "Ask for access" in caught.value.remedy


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_named_pipe_is_refused_at_once(decoder: Decoder, tmp_path: Path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    assert "device or a pipe" in only_problem(decoder, path).reason


def test_a_folder_without_images(decoder: Decoder, tmp_path: Path):
    problem = only_problem(decoder, tmp_path)
    assert problem.reason == "there are no images in this folder"
    assert "DICOM" in problem.remedy


def test_a_folder_with_only_other_files_names_each_of_them(decoder: Decoder, tmp_path: Path):
    write(tmp_path / "notes.txt", b"hello")
    write(tmp_path / "images.zip", b"PK\x03\x04rest")
    problems = decoder.scan([tmp_path]).result(60).problems
    assert {p.path.name for p in problems} == {"notes.txt", "images.zip", tmp_path.name}


@pytest.mark.parametrize("big", [False, True])
@pytest.mark.parametrize("kind", ["bytes", "words", "colour"])
@pytest.mark.parametrize("rows", [1, 40, 63])
def test_of_an_image_that_is_cut_short_the_whole_rows_are_shown_and_it_says_so(
    decoder: Decoder, tmp_path: Path, big: bool, kind: str, rows: int
):
    shape = (64, 50, 3) if kind == "colour" else (64, 50)
    dtype = np.uint8 if kind in ("colour", "bytes") else np.int16
    pixels = np.random.default_rng(1).integers(0, 99, shape).astype(dtype)
    path = make_dicom(tmp_path / "a.dcm", pixels)
    dataset = pydicom.dcmread(path)
    if big:
        dataset.PixelData = pixels.astype(pixels.dtype.newbyteorder(">")).tobytes()
        dataset["PixelData"].VR = "OW" if kind == "words" else "OB"
        dataset.file_meta.TransferSyntaxUID = ExplicitVRBigEndian
        pydicom.dcmwrite(path, dataset, little_endian=False, implicit_vr=False)
    row = pixels[0].nbytes
    write(path, path.read_bytes()[: -(64 - rows) * row + row // 2])
    instance = only_instance(decoder, path)
    assert (instance.rows, instance.frames) == (rows, 1)
    note = f"the file is cut short: only the upper {rows} of its 64 rows are in it"
    assert instance.note == note
    np.testing.assert_array_equal(decoder.frame(instance).result(60).stored, pixels[:rows])


@pytest.mark.parametrize(
    "elements",
    [
        {"PlanarConfiguration": 1},
        {"PhotometricInterpretation": "YBR_FULL_422"},
        {"SegmentSequence": [item(SegmentNumber=1)]},
        {"TotalPixelMatrixRows": 64, "TotalPixelMatrixColumns": 50},
    ],
    ids=lambda one: next(iter(one)),
)
def test_what_cannot_be_shown_in_part_is_refused(
    decoder: Decoder, tmp_path: Path, elements: dict[str, Any]
):
    path = make_dicom(tmp_path / "a.dcm", np.zeros((64, 50, 3), np.uint8), **elements)
    write(path, path.read_bytes()[:-5000])
    assert "the file is cut short: it contains 4,600 of" in only_problem(decoder, path).reason


def test_a_slice_that_is_cut_short_is_missing_in_its_volume(decoder: Decoder, tmp_path: Path):
    for z in range(6):
        path = make_dicom(
            tmp_path / f"{z}.dcm",
            np.full((8, 8), z, np.uint16),
            Modality="CT",
            InstanceNumber=z + 1,
            ImagePositionPatient=[0, 0, z],
            ImageOrientationPatient=[1, 0, 0, 0, 1, 0],
            PixelSpacing=[1, 1],
            FrameOfReferenceUID="1.2.9",
        )
    path = tmp_path / "3.dcm"
    write(path, path.read_bytes()[:-32])
    (whole, part) = decoder.scan([tmp_path]).result(60).studies[0].series
    assert [one.path.stem for one in whole.instances] == ["0", "1", "2", "4", "5"]
    assert any("1 slice is missing after slice 3" in text for text in whole.warnings)
    assert [one.path.stem for one in part.instances] == ["3"]


def test_a_truncated_multi_frame_shows_its_complete_frames(decoder: Decoder, tmp_path: Path):
    pixels = np.arange(3 * 64, dtype=np.uint16).reshape(3, 8, 8)
    path = make_dicom(tmp_path / "a.dcm", pixels, NumberOfFrames=3)
    write(path, path.read_bytes()[:-10])
    instance = only_instance(decoder, path)
    assert instance.frames == 2
    assert instance.note == "the file is cut short: only 2 of its 3 frames are in it"
    np.testing.assert_array_equal(decoder.frame(instance, 1).result(60).stored, pixels[1])
    assert "cut short" in refused(decoder, instance, 2).reason
    write(path, path.read_bytes()[:-128])
    problem = only_problem(decoder, path)
    assert problem.reason == "the file is cut short: it contains 246 of 384 bytes of pixels"


@pytest.mark.parametrize(
    "syntax",
    [RLELossless, JPEG2000Lossless, JPEGLSLossless, JPEGBaseline8Bit],
    ids=lambda s: s.name,
)
@pytest.mark.parametrize("table", [True, False])
@pytest.mark.parametrize("lost", [30, 3000])
def test_of_compressed_frames_those_are_shown_that_are_whole(
    decoder: Decoder, tmp_path: Path, syntax: UID, table: bool, lost: int
):
    pixels = np.random.default_rng(3).integers(0, 255, (6, 40, 50), np.uint8)
    whole = make_dicom(tmp_path / "whole.dcm", pixels, NumberOfFrames=6)
    dataset = pydicom.dcmread(whole)
    if syntax == JPEGBaseline8Bit:
        codes = [jpeg_bytes(frame) for frame in pixels]
        dataset.file_meta.TransferSyntaxUID = syntax
    else:
        dataset.compress(syntax)
        codes = list(generate_frames(dataset.PixelData, number_of_frames=6))
    dataset.PixelData = encapsulate(codes, has_bot=table)
    dataset["PixelData"].VR = "OB"
    dataset["PixelData"].is_undefined_length = True
    dataset.save_as(whole)
    data = whole.read_bytes()
    assert only_instance(decoder, whole).note == ""
    cut = write(tmp_path / "cut.dcm", data[:-lost])
    # From the end: the delimiter's 8 bytes, and each code with the 8 bytes of its item.
    missing, left = 0, lost - 8
    while left > 0:
        left -= 8 + len(codes[-1 - missing]) + len(codes[-1 - missing]) % 2
        missing += 1
    instance = only_instance(decoder, cut)
    assert instance.frames == 6 - missing
    assert instance.note == (f"the file is cut short: only {6 - missing} of its 6 frames are in it")
    frames = pydicom.dcmread(whole).pixel_array
    for index in range(instance.frames):
        shown = decoder.frame(instance, index).result(60).stored
        assert np.abs(shown.astype(int) - frames[index]).max() <= 1
    assert "cut short" in refused(decoder, instance, instance.frames).reason


def test_elements_behind_compressed_frames_are_no_sign_of_a_cut(decoder: Decoder, tmp_path: Path):
    path = make_dicom(tmp_path / "a.dcm", np.zeros((3, 8, 8), np.uint8), NumberOfFrames=3)
    dataset = pydicom.dcmread(path)
    dataset.compress(RLELossless)
    dataset.add_new(0xFFFCFFFC, "OB", bytes(20))
    dataset.save_as(path)
    instance = only_instance(decoder, path)
    assert (instance.frames, instance.note) == (3, "")


def test_frames_that_are_cut_short_are_no_volume(decoder: Decoder, tmp_path: Path):
    pixels = np.arange(6 * 64, dtype=np.uint16).reshape(6, 8, 8)
    groups = [item(PlanePositionSequence=[item(ImagePositionPatient=[0, 0, z])]) for z in range(6)]
    shared = item(
        PlaneOrientationSequence=[item(ImageOrientationPatient=[1, 0, 0, 0, 1, 0])],
        PixelMeasuresSequence=[item(PixelSpacing=[1, 1], SliceThickness=1)],
    )
    path = make_dicom(
        tmp_path / "a.dcm",
        pixels,
        NumberOfFrames=6,
        FrameOfReferenceUID="1.2.9",
        PerFrameFunctionalGroupsSequence=groups,
        SharedFunctionalGroupsSequence=[shared],
    )
    assert Plane.CORONAL in available_planes(only_instance(decoder, path))
    write(path, path.read_bytes()[:-130])
    instance = only_instance(decoder, path)
    assert (instance.frames, available_planes(instance)) == (4, (Plane.ACQUIRED,))


def test_truncated_compressed_pixels(decoder: Decoder, tmp_path: Path):
    grey = np.random.default_rng(0).integers(0, 255, (64, 64), np.uint8)
    code = jpeg_bytes(grey)
    for cut in (len(code) // 2, 30, 4):
        path = compressed(tmp_path / f"{cut}.dcm", code[:cut], JPEGBaseline8Bit, 64, 64)
        assert "damaged" in refused(decoder, only_instance(decoder, path)).reason


@pytest.mark.parametrize(("rows", "columns"), [(0, 0), (0, 5), (5, 0)])
def test_an_image_without_pixels(decoder: Decoder, tmp_path: Path, rows: int, columns: int):
    path = make_dicom(tmp_path / "a.dcm", Rows=rows, Columns=columns)
    assert "the image has no pixels" in only_problem(decoder, path).reason


def compressed(path: Path, code: bytes, syntax: str, rows: int, columns: int) -> Path:
    """A DICOM file of one compressed 8-bit grey frame."""
    make_dicom(path, np.zeros((1, 1), np.uint8), Rows=rows, Columns=columns)
    ds = pydicom.dcmread(path)
    ds.file_meta.TransferSyntaxUID = UID(syntax)
    ds.PixelData = encapsulate([code])
    ds["PixelData"].VR = "OB"
    ds["PixelData"].is_undefined_length = True
    ds.save_as(path)
    return path


PYDICOM_FILES = Path(pydicom.__file__).parent / "data" / "test_files"
SYNTAXES = [JPEGBaseline8Bit, JPEGLosslessSV1, JPEG2000Lossless, RLELossless]


@pytest.mark.parametrize("syntax", ["uncompressed", *SYNTAXES])
def test_a_declared_size_of_65535_squared_is_refused_at_once(
    decoder: Decoder, tmp_path: Path, syntax: str
):
    path = tmp_path / "a.dcm"
    if syntax == "uncompressed":
        make_dicom(path, Rows=65535, Columns=65535)
    else:
        compressed(path, jpeg_bytes(np.zeros((8, 8), np.uint8)), syntax, 65535, 65535)
    only_problem(decoder, path)
    started = time.monotonic()
    assert "too large" in only_problem(decoder, path).reason
    assert time.monotonic() - started < HANG_S


def test_a_code_stream_larger_than_declared_is_refused_before_it_is_decoded(
    decoder: Decoder, tmp_path: Path
):
    code = bytearray(jpeg_bytes(np.zeros((8, 8), np.uint8)))
    start = code.index(b"\xff\xc0")
    code[start + 5 : start + 9] = b"\xff\xff\xff\xff"
    path = compressed(tmp_path / "a.dcm", bytes(code), JPEGBaseline8Bit, 8, 8)
    assert "65535 x 65535" in refused(decoder, only_instance(decoder, path)).reason


@pytest.mark.parametrize(
    "elements",
    [
        {"NumberOfFrames": 2_000_000_000},
        {"NumberOfFrames": -3},
        {"BitsAllocated": 12},
        {"BitsAllocated": 16, "BitsStored": 17},
        {"SamplesPerPixel": 7},
        {"PixelData": None},
    ],
)
def test_impossible_figures_in_the_header(
    decoder: Decoder, tmp_path: Path, elements: dict[str, Any]
):
    assert only_problem(decoder, make_dicom(tmp_path / "a.dcm", **elements)).reason


def test_an_unknown_compression_is_named(decoder: Decoder, tmp_path: Path):
    mpeg = "1.2.840.10008.1.2.4.102"
    path = compressed(tmp_path / "a.dcm", b"\0" * 100, mpeg, 8, 8)
    problem = refused(decoder, only_instance(decoder, path))
    assert "MPEG-4" in problem.reason
    assert "without compression" in problem.remedy


def test_a_structured_report_is_named_and_not_dropped(decoder: Decoder, tmp_path: Path):
    path = make_dicom(
        tmp_path / "a.dcm",
        SOPClassUID="1.2.840.10008.5.1.4.1.1.88.11",
        Rows=None,
        Columns=None,
        PixelData=None,
        Modality="SR",
    )
    instance = only_instance(decoder, path)
    assert instance.content is Content.REPORT
    assert instance.get("SeriesDescription") == "Basic Text SR"
    assert not instance.has_frames


def test_an_image_of_which_only_the_header_is_left(decoder: Decoder, tmp_path: Path):
    path = make_dicom(tmp_path / "a.dcm", PixelData=None)
    assert only_problem(decoder, path).reason == "it contains no pixels, only a header"


def test_a_picture_bomb_is_refused_at_once(decoder: Decoder, tmp_path: Path):
    path = write(tmp_path / "a.png", png_claiming(100_000, 100_000))
    assert "too large" in only_problem(decoder, path).reason


def test_a_picture_of_no_size(decoder: Decoder, tmp_path: Path):
    path = write(tmp_path / "a.png", png_claiming(0, 0))
    assert only_problem(decoder, path).reason


@pytest.mark.parametrize("kind", ["png", "jpeg"])
def test_a_truncated_picture(decoder: Decoder, tmp_path: Path, kind: str):
    pixels = np.random.default_rng(0).integers(0, 255, (200, 200), np.uint8)
    data = png_bytes(pixels) if kind == "png" else jpeg_bytes(pixels)
    path = write(tmp_path / f"a.{kind}", data[: len(data) // 2])
    reason = refused(decoder, only_instance(decoder, path)).reason
    assert "cut short" in reason or "damaged" in reason


def test_a_file_that_changed_since_it_was_opened_is_not_decoded(decoder: Decoder, tmp_path: Path):
    path = make_dicom(tmp_path / "a.dcm")
    instance = only_instance(decoder, path)
    make_dicom(path, np.zeros((9, 9), np.uint16))
    assert "has changed" in refused(decoder, instance).reason


def test_a_frame_that_is_not_there(decoder: Decoder, tmp_path: Path):
    instance = only_instance(decoder, make_dicom(tmp_path / "a.dcm"))
    assert "1 frames" in refused(decoder, instance, 7).reason


def test_a_good_image_is_shown_after_all_that(decoder: Decoder, tmp_path: Path):
    instance = only_instance(decoder, make_dicom(tmp_path / "a.dcm"))
    assert decoder.frame(instance).result(60).stored.shape == (3, 4)


REAL = [
    "MR_small.dcm",
    "MR_small_RLE.dcm",
    "MR_small_jp2klossless.dcm",
    "MR_small_jpeg_ls_lossless.dcm",
    "SC_rgb_jpeg_dcmtk.dcm",
    "SC_rgb_jpeg_gdcm.dcm",
]


@pytest.mark.parametrize("name", REAL)
def test_random_damage_never_gives_anything_but_a_named_problem(
    decoder: Decoder, tmp_path: Path, name: str
):
    """Codecs panic, crash and ask for gigabytes on these; the full count is another suite's."""
    rng = np.random.default_rng(4)
    source = (PYDICOM_FILES / name).read_bytes()
    for number in range(40):
        data = bytearray(source)
        for position in rng.integers(132, len(data), rng.integers(1, 30)):
            data[position] = rng.integers(0, 256)
        write(tmp_path / f"{number}.dcm", bytes(data))
    result = decoder.scan([tmp_path]).result(120)
    instances = [i for study in result.studies for one in study.series for i in one.instances]
    # Many still say that they are the same image: a remark, beside their own lines.
    named = {problem.path for problem in result.problems if not problem.remark}
    assert {i.path for i in instances} | named == set(tmp_path.iterdir())
    for instance in instances:
        error = decoder.frame(instance).exception(60)
        assert error is None or isinstance(error, FileProblem)
        assert error is None or "unexpected" not in error.reason


@pytest.mark.parametrize("vr", [b"\xd5I", b"VI", b"U\0", b"\0\0", b"UN", b"OB"])
def test_a_damaged_vr_in_the_meta_information_costs_no_image(tmp_path: Path, vr: bytes):
    """dcmtk shows most of them; the figures are the same, and a word says what is damaged."""
    path = make_dicom(tmp_path / "a.dcm")
    data, stored = path.read_bytes(), read_frame(path, 0).stored
    assert read_frame(path, 0).note == ""
    for number in (0x00, 0x02, 0x03, 0x10, 0x12, 0x13):
        at = data.index(bytes((2, 0, number, 0)), 132)
        (tmp_path / "b.dcm").write_bytes(data[: at + 4] + vr + data[at + 6 :])
        frame = read_frame(tmp_path / "b.dcm", 0)
        np.testing.assert_array_equal(frame.stored, stored)
        assert "meta information is damaged" in frame.note


def test_a_header_with_very_many_character_sets_is_refused(tmp_path: Path):
    path = make_dicom(tmp_path / "a.dcm")
    data = path.read_bytes()
    at = data.index(b"\x08\0\x16\0UI", 300)
    value = b"ISO_IR 100\\" * 20_000
    added = b"\x08\0\x05\0UN\0\0" + struct.pack("<L", len(value)) + value
    path.write_bytes(data[:at] + added + data[at:])
    with pytest.raises(FileProblem, match="very many character sets"):
        read_instance(path)
