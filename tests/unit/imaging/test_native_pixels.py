"""Uncompressed pixels in every shape the standard allows or once allowed."""

from __future__ import annotations

import io
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pydicom
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from app.imaging.dicom.codecs import read_words, values_of, words_of
from app.imaging.dicom.pixel_layout import Layout
from app.imaging.reading.image_entries import read_frame, read_instance
from tests.unit.imaging.files import make_dicom

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning:pydicom")

Array = NDArray[Any]


def layout(**figures: Any) -> Layout:
    values: dict[str, Any] = {
        "rows": 3,
        "columns": 4,
        "samples": 1,
        "frames": 1,
        "allocated": 16,
        "stored": 16,
        "signed": False,
        "photometric": "MONOCHROME2",
    }
    values |= figures
    values.setdefault("high", values["stored"] - 1)
    return Layout(**values)


@settings(deadline=None, max_examples=150)
@given(data=st.data())
def test_the_value_is_the_bits_below_high_bit_with_its_sign(data: st.DataObject):
    """PS3.5 8.1.1, whatever the other bits hold."""
    allocated = data.draw(st.sampled_from([8, 16, 32]))
    stored = data.draw(st.integers(1, allocated))
    high = data.draw(st.integers(stored - 1, allocated - 1))
    signed = data.draw(st.booleans())
    low = -(2 ** (stored - 1)) if signed else 0
    values = data.draw(st.lists(st.integers(low, low + 2**stored - 1), min_size=12, max_size=12))
    others = data.draw(st.integers(0, 2**allocated - 1))
    first = high - stored + 1
    mask = (2**stored - 1) << first
    words = [others & ~mask | (value << first) & mask for value in values]
    packed = b"".join(word.to_bytes(allocated // 8, "little") for word in words)
    figures = layout(allocated=allocated, stored=stored, high=high, signed=signed)
    found = values_of(words_of(packed, figures), figures)
    assert found.reshape(-1).tolist() == values


@settings(deadline=None, max_examples=60)
@given(
    allocated=st.sampled_from([1, 8, 12, 16, 24, 32]),
    index=st.integers(0, 4),
    rows=st.integers(1, 7),
    columns=st.integers(1, 7),
    seed=st.integers(0, 9),
)
def test_any_frame_of_packed_samples_is_found_without_its_neighbours(
    allocated: int, index: int, rows: int, columns: int, seed: int
):
    """PS3.5 8.1.1 and annex D: a stream of bits, the first sample in the lowest ones."""
    rng = np.random.default_rng(seed)
    values = [int(v) for v in rng.integers(0, 2**allocated, 5 * rows * columns)]
    stream = sum(value << (allocated * n) for n, value in enumerate(values))
    data = stream.to_bytes(-(-allocated * len(values) // 8), "little")
    figures = layout(rows=rows, columns=columns, frames=5, allocated=allocated, stored=allocated)
    found = read_words(io.BytesIO(data), figures, index, little=True, words_of_16=True)
    size = rows * columns
    assert found.reshape(-1).tolist() == values[index * size : (index + 1) * size]


@pytest.mark.parametrize("planar", [False, True])
def test_colour_by_pixel_and_by_plane_is_the_same_image(planar: bool):
    image = np.arange(36, dtype=np.uint8).reshape(3, 4, 3)
    data = (image.transpose(2, 0, 1) if planar else image).tobytes()
    found = words_of(data, layout(samples=3, allocated=8, stored=8, planar=planar))
    np.testing.assert_array_equal(found, image)


def test_two_pixels_share_their_chrominance_in_422():
    """PS3.3 C.7.6.3.1.2: Y1 Y2 Cb Cr."""
    figures = layout(rows=1, samples=3, allocated=8, stored=8, subsampled=True)
    found = words_of(bytes([1, 2, 80, 90, 3, 4, 81, 91]), figures)
    assert found.tolist() == [[[1, 80, 90], [2, 80, 90], [3, 81, 91], [4, 81, 91]]]


def test_a_file_that_only_kept_the_name_422_has_all_its_samples(tmp_path: Path):
    image = np.full((4, 4, 3), 128, np.uint8)
    image[..., 0] = np.arange(16).reshape(4, 4)
    kept = make_dicom(tmp_path / "a.dcm", image, PhotometricInterpretation="YBR_FULL_422")
    np.testing.assert_array_equal(read_frame(kept, 0).stored[..., 1], image[..., 0])
    half = bytes(v for y in range(0, 16, 2) for v in (y, y + 1, 128, 128))
    path = make_dicom(
        tmp_path / "b.dcm", image, PhotometricInterpretation="YBR_FULL_422", PixelData=half
    )
    np.testing.assert_array_equal(read_frame(path, 0).stored[..., 1], image[..., 0])


def test_partial_range_colour_follows_the_standards_matrix(tmp_path: Path):
    """PS3.3 C.7.6.3.1.2, YBR_PARTIAL_422: the formula forwards, then the file backwards."""
    rgb = np.random.default_rng(3).integers(20, 236, (8, 4, 3)).astype(np.float64)
    rgb[:, 1::2] = rgb[:, ::2]
    red, green, blue = rgb[..., 0], rgb[..., 1], rgb[..., 2]
    y = 0.2568 * red + 0.5041 * green + 0.0979 * blue + 16
    cb = -0.1482 * red - 0.2910 * green + 0.4392 * blue + 128
    cr = 0.4392 * red - 0.3678 * green - 0.0714 * blue + 128
    ybr = np.rint(np.stack((y, cb, cr), axis=-1)).astype(np.uint8)
    pairs = np.stack((ybr[:, ::2, 0], ybr[:, 1::2, 0], ybr[:, ::2, 1], ybr[:, ::2, 2]), axis=-1)
    path = make_dicom(
        tmp_path / "a.dcm",
        np.zeros((8, 4, 3), np.uint8),
        PhotometricInterpretation="YBR_PARTIAL_422",
        PixelData=pairs.tobytes(),
    )
    assert np.abs(read_frame(path, 0).stored.astype(float) - rgb).max() <= 2


@pytest.mark.parametrize("dtype", ["u1", "i1", "<u2", "<i2", "<u4"])
@pytest.mark.parametrize("columns", [4, 5])
def test_dcmtks_other_encodings_give_the_same_frames(dtype: str, columns: int, tmp_path: Path):
    if shutil.which("dcmconv") is None:
        pytest.skip("dcmtk is not installed (dcmconv)")
    pixels = np.random.default_rng(1).integers(0, 100, (3, 3, columns)).astype(dtype)
    plain = make_dicom(tmp_path / "a.dcm", pixels, NumberOfFrames=3)
    for option in ("+tb", "+ti", "+td"):  # big endian, implicit, deflated
        other = tmp_path / f"{option}.dcm"
        subprocess.run(["dcmconv", option, str(plain), str(other)], check=True, timeout=30)
        for index in range(3):
            np.testing.assert_array_equal(read_frame(other, index).stored, pixels[index])


def test_a_missing_number_of_frames_is_told_by_the_pixels_length(tmp_path: Path):
    pixels = np.arange(3 * 15, dtype=np.uint8).reshape(3, 3, 5)
    path = make_dicom(tmp_path / "a.dcm", pixels)
    assert "NumberOfFrames" not in pydicom.dcmread(path)
    assert read_instance(path).frames == 3
    np.testing.assert_array_equal(read_frame(path, 2).stored, pixels[2])


@pytest.mark.parametrize("model", ["ARGB", "CMYK", "HSV"])
def test_a_retired_colour_model_is_named(model: str, tmp_path: Path):
    from app.errors import FileProblem

    samples = 3 if model == "HSV" else 4
    path = make_dicom(
        tmp_path / "a.dcm",
        np.zeros((2, 2), np.uint8),
        PhotometricInterpretation=model,
        SamplesPerPixel=samples,
        PlanarConfiguration=0,
        PixelData=b"\0" * 4 * samples,
    )
    with pytest.raises(FileProblem, match=model):
        read_frame(path, 0)


@pytest.mark.parametrize(
    ("keyword", "dtype"), [("FloatPixelData", "<f4"), ("DoubleFloatPixelData", "<f8")]
)
@pytest.mark.parametrize("big", [False, True])
def test_float_pixels_keep_their_precision(keyword: str, dtype: str, big: bool, tmp_path: Path):
    values = np.linspace(-1.5, 1e-3, 24).astype(dtype).reshape(2, 3, 4)
    path = make_dicom(tmp_path / "a.dcm", np.zeros((2, 3, 4), np.uint16), NumberOfFrames=2)
    ds = pydicom.dcmread(path)
    for unwanted in ("PixelData", "BitsStored", "HighBit", "PixelRepresentation"):
        delattr(ds, unwanted)
    ds.BitsAllocated = 8 * values.dtype.itemsize
    setattr(ds, keyword, values.tobytes())
    ds.save_as(path)
    if big:
        if shutil.which("dcmconv") is None:
            pytest.skip("dcmtk is not installed (dcmconv)")
        subprocess.run(["dcmconv", "+tb", str(path), str(path)], check=True, timeout=30)
    frame = read_frame(path, 1)
    np.testing.assert_array_equal(frame.stored, values[1])
    assert frame.stored.dtype == np.dtype(dtype).newbyteorder("=")


@pytest.mark.parametrize(
    ("elements", "words"),
    [
        ({}, ""),
        ({"HighBit": None}, ""),
        ({"PixelRepresentation": None}, "whether values can be negative: all are read as positive"),
        ({"PixelRepresentation": 5}, "whether values can be negative: all are read as positive"),
        ({"BitsStored": 0}, "how many bits a value has: all 16 are used"),
        ({"BitsStored": None}, "how many bits a value has: all 16 are used"),
        ({"BitsStored": 12, "HighBit": 7}, "contradicts Bits Stored 12: bits 0 to 11 are used"),
        ({"BitsStored": 12, "HighBit": 15}, "contradicts Bits Stored 12: bits 4 to 15 are used"),
        ({"PhotometricInterpretation": "MONOCHROME3"}, "calls its greys MONOCHROME3"),
        ({"PhotometricInterpretation": None}, "names no kind of greys: low values are shown dark"),
    ],
    ids=str,
)
def test_greys_of_an_unlawful_header_are_shown_with_a_word(
    tmp_path: Path, elements: dict[str, Any], words: str
):
    path = make_dicom(tmp_path / "a.dcm", **elements)
    frame = read_frame(path, 0)
    assert words in frame.note
    assert bool(words) == bool(frame.note)
    assert frame.note.isascii()
