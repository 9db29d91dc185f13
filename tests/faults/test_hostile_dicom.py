"""DICOM files made to harm are refused within a second and a gigabyte, with a reason."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from app.imaging.decode import Decoder
from tests.faults import hostile_dicom as make
from tests.faults.bounds import assert_cheap, assert_refused
from tests.faults.seeds import ENCODED
from tests.unit.imaging.files import make_dicom

SR = "1.2.840.10008.5.1.4.1.1.88.33"
RTSTRUCT = "1.2.840.10008.5.1.4.1.1.481.3"
CONTENT, CONTOURS, FRAMES = 0x0040A730, 0x30060039, 0x52009230
PRIVATE, RECORDS = 0x00091010, 0x00041220
MILLION = 1_000_000


@pytest.mark.parametrize("syntax", [make.NATIVE, *ENCODED])
def test_65535_squared_in_the_header(decoder: Decoder, tmp_path: Path, syntax: str):
    size: dict[str, Any] = {"Rows": make.BIG, "Columns": make.BIG}
    if syntax == make.NATIVE:
        path = make_dicom(tmp_path / "a.dcm", **size)
    else:
        path = make.compressed(tmp_path / "a.dcm", syntax, make.code_of(syntax)[1], **size)
    assert_refused(decoder, path, "too large")


@pytest.mark.parametrize("syntax", make.WITH_SIZES)
def test_65535_squared_in_the_code_stream(decoder: Decoder, tmp_path: Path, syntax: str):
    code = make.claiming(syntax, make.code_of(syntax)[1], make.BIG, make.BIG)
    path = make.compressed(tmp_path / "a.dcm", syntax, code)
    assert_refused(decoder, path, "its compressed data holds 65535 x 65535")


@pytest.mark.parametrize("syntax", make.WITH_SIZES)
def test_65535_squared_in_both(decoder: Decoder, tmp_path: Path, syntax: str):
    code = make.claiming(syntax, make.code_of(syntax)[1], make.BIG, make.BIG)
    size: dict[str, Any] = {"Rows": make.BIG, "Columns": make.BIG}
    assert_refused(decoder, make.compressed(tmp_path / "a.dcm", syntax, code, **size), "too large")


@pytest.mark.parametrize("syntax", [make.NATIVE, *ENCODED])
def test_as_large_as_is_allowed_in_both_and_nothing_behind_it(
    decoder: Decoder, tmp_path: Path, syntax: str
):
    side = 16_000
    size: dict[str, Any] = {"Rows": side, "Columns": side}
    if syntax == make.NATIVE:
        path = make_dicom(tmp_path / "a.dcm", **size)
    else:
        code = make.code_of(syntax)[1]
        if syntax in make.WITH_SIZES:
            code = make.claiming(syntax, code, side, side)
        path = make.compressed(tmp_path / "a.dcm", syntax, code, **size)
    assert_refused(decoder, path)


def test_a_deflated_data_set_without_end(decoder: Decoder, tmp_path: Path):
    size: dict[str, Any] = {"Rows": 16_000, "Columns": 16_000}
    assert_refused(decoder, make.deflated_bomb(tmp_path / "a.dcm", **size), "inflates to more")


def test_a_deflated_data_set_with_more_than_its_pixels_shows_them(decoder: Decoder, tmp_path: Path):
    cost = assert_cheap(decoder, make.deflated_bomb(tmp_path / "a.dcm"))
    assert cost.shown == 1 or cost.reasons


def test_a_deflated_frame_without_end(decoder: Decoder, tmp_path: Path):
    path = tmp_path / "a.dcm"
    make.compressed(path, "1.2.840.10008.1.2.8.1", make.zeros_deflated(2048))
    cost = assert_cheap(decoder, path)
    assert cost.shown == 1, "its first bytes are the frame that the header declares"


@pytest.mark.parametrize("undefined", [True, False])
@pytest.mark.parametrize(
    ("tag", "sop_class"),
    [(PRIVATE, None), (CONTENT, SR), (CONTOURS, RTSTRUCT), (FRAMES, None), (RECORDS, None)],
)
def test_thousands_of_nested_sequences(
    decoder: Decoder, tmp_path: Path, tag: int, sop_class: str | None, undefined: bool
):
    body = make.nested(5000, tag, undefined=undefined)
    elements: dict[str, Any] = {"Rows": None, "Columns": None}
    if sop_class:
        elements["SOPClassUID"] = sop_class
    path = make.with_data_set(tmp_path / "a.dcm", body, **elements)
    cost = assert_cheap(decoder, path)
    assert cost.reasons or not undefined


@pytest.mark.parametrize("undefined", [True, False])
@pytest.mark.parametrize(
    ("tag", "sop_class"),
    [(PRIVATE, None), (CONTENT, SR), (CONTOURS, RTSTRUCT), (FRAMES, None), (RECORDS, None)],
)
def test_a_million_empty_items(
    decoder: Decoder, tmp_path: Path, tag: int, sop_class: str | None, undefined: bool
):
    body = make.empty_items(MILLION, tag, undefined=undefined)
    elements = {"SOPClassUID": sop_class} if sop_class else {}
    path = make.with_data_set(tmp_path / "a.dcm", body, **elements)
    assert_refused(decoder, path, "items: more than can be read safely")


def test_a_million_fragments(decoder: Decoder, tmp_path: Path):
    path = make.fragments(tmp_path / "a.dcm", MILLION)
    assert_refused(decoder, path, "damaged")


def test_an_offset_table_of_millions(decoder: Decoder, tmp_path: Path):
    path = make.offset_table(tmp_path / "a.dcm", 3 * MILLION)
    assert_refused(decoder, path, "frames")


def test_an_offset_table_of_as_many_frames_as_are_allowed(decoder: Decoder, tmp_path: Path):
    path = make.offset_table(tmp_path / "a.dcm", 900_000)
    assert_refused(decoder, path, "frame 900000")


@pytest.mark.parametrize("value", ["-3", "abc", "9" * 12, "1e6", "0x10", "2147483648", " "])
def test_frame_counts_that_are_none(decoder: Decoder, tmp_path: Path, value: str):
    path = make_dicom(tmp_path / "a.dcm", NumberOfFrames="1")
    data = path.read_bytes()
    text = value.encode() + b" " * (len(value) % 2)
    old = b"\x28\0\x08\0IS\x02\x001 "
    assert old in data
    new = b"\x28\0\x08\0IS" + bytes((len(text), 0)) + text
    path.write_bytes(data.replace(old, new, 1))
    assert_cheap(decoder, path)


@pytest.mark.parametrize("keyword", ["Rows", "Columns", "BitsAllocated", "SamplesPerPixel"])
@pytest.mark.parametrize("value", [b"IS\x04\0-512", b"IS\x04\0text", b"IS\x00\0", b"US\x00\0"])
def test_figures_that_are_negative_textual_or_empty(
    decoder: Decoder, tmp_path: Path, keyword: str, value: bytes
):
    tags = {"Rows": 0x10, "Columns": 0x11, "BitsAllocated": 0x100, "SamplesPerPixel": 0x02}
    path = make_dicom(tmp_path / "a.dcm", np.zeros((8, 8), np.uint8))
    data = path.read_bytes()
    at = data.find(b"\x28\0" + tags[keyword].to_bytes(2, "little") + b"US\x02\0")
    assert at > 0
    path.write_bytes(data[: at + 4] + value + data[at + 10 :])
    cost = assert_cheap(decoder, path)
    assert cost.reasons or keyword == "SamplesPerPixel"


@pytest.mark.parametrize("change", [make.tiny_tiles, make.many_components, make.absurd_coding])
def test_absurd_figures_of_a_jpeg_2000_code_stream(
    decoder: Decoder, tmp_path: Path, change: Callable[[bytearray], None]
):
    code = make.siz(change)
    size: dict[str, Any] = {"Rows": 4096, "Columns": 4096} if change is make.tiny_tiles else {}
    path = make.compressed(tmp_path / "a.dcm", "1.2.840.10008.1.2.4.90", code, **size)
    assert_refused(decoder, path)


@pytest.mark.parametrize(
    "body",
    [b"\xff\xd0" * MILLION, b"\xff\xc4\0\2" * MILLION, b"\xff\xfe\0\2" * MILLION, b"\0" * MILLION],
    ids=["restarts", "tables", "comments", "no markers"],
)
def test_a_jpeg_of_millions_of_segments(decoder: Decoder, tmp_path: Path, body: bytes):
    path = make.compressed(tmp_path / "a.dcm", "1.2.840.10008.1.2.4.50", make.jpeg_with(body))
    assert_cheap(decoder, path)


@pytest.mark.parametrize("count", [101, 5000])
def test_a_jpeg_of_very_many_scans(decoder: Decoder, tmp_path: Path, count: int):
    code = make.scans(count, 4096)
    size: dict[str, Any] = {"Rows": 4096, "Columns": 4096}
    path = make.compressed(tmp_path / "a.dcm", "1.2.840.10008.1.2.4.50", code, **size)
    assert_refused(decoder, path, "damaged")


def test_figures_behind_bytes_that_are_no_marker_are_found(decoder: Decoder, tmp_path: Path):
    syntax = "1.2.840.10008.1.2.4.50"
    code = make.claiming(syntax, make.jpeg_with(b"\0" * 40), make.BIG, make.BIG)
    path = make.compressed(tmp_path / "a.dcm", syntax, code)
    assert_refused(decoder, path, "its compressed data holds 65535 x 65535")
