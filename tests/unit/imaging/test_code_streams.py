"""What a code stream says of itself counts, not what the header repeats of it.

Encoders: dcmtk, Pillow and OpenJPEG through imagecodecs.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from app.errors import FileProblem
from app.imaging.reading.image_entries import read_frame, read_instance
from tests.unit.imaging.files import jpeg_bytes, make_dicom
from tests.unit.imaging.test_decoders import noise, packed

imagecodecs = pytest.importorskip("imagecodecs")
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning:pydicom")

Array = NDArray[Any]
JPEG = "1.2.840.10008.1.2.4.50"
RLE = "1.2.840.10008.1.2.5"
JPEG_LS = "1.2.840.10008.1.2.4.80"
JPEG_2000 = "1.2.840.10008.1.2.4.90"
DARK = np.arange(200, dtype="<u2").reshape(10, 20)
"""Values so low that, moved to the top of a word, they still look like 12-bit numbers."""
AT_THE_TOP = {"BitsStored": 12, "HighBit": 15}


def jpeg_2000(pixels: Array, **options: Any) -> bytes:
    return bytes(
        imagecodecs.jpeg2k_encode(pixels, level=0, reversible=True, codecformat="j2k", **options)
    )


def jpeg_ls(pixels: Array) -> bytes:
    return bytes(imagecodecs.jpegls_encode(pixels))


def test_a_dark_image_with_its_value_in_the_high_bits_survives_rle(tmp_path: Path):
    if shutil.which("dcmcrle") is None:
        pytest.skip("dcmtk is not installed (dcmcrle)")
    plain = make_dicom(tmp_path / "a.dcm", DARK << 4, **AT_THE_TOP)
    other = tmp_path / "b.dcm"
    subprocess.run(["dcmcrle", str(plain), str(other)], check=True, timeout=30)
    np.testing.assert_array_equal(read_frame(plain, 0).stored, DARK)
    np.testing.assert_array_equal(read_frame(other, 0).stored, DARK)


@pytest.mark.parametrize(("syntax", "encode"), [(JPEG_2000, jpeg_2000), (JPEG_LS, jpeg_ls)])
def test_a_dark_image_with_its_value_in_the_high_bits_survives_other_codecs(
    syntax: str, encode: Any, tmp_path: Path
):
    words = DARK << 4
    path = packed(tmp_path / "a.dcm", words, syntax, [encode(words)], **AT_THE_TOP)
    np.testing.assert_array_equal(read_frame(path, 0).stored, DARK)


@pytest.mark.parametrize("signed", [False, True])
def test_a_value_that_the_compressor_moved_down_is_found_by_its_precision(
    signed: bool, tmp_path: Path
):
    values = noise("<i2" if signed else "<u2", 12, (10, 20))
    code = jpeg_2000(values.view("<u2") & 0xFFF, bitspersample=12)
    assert code[42] == 11  # 12 bits, unsigned
    path = packed(tmp_path / "a.dcm", values, JPEG_2000, [code], **AT_THE_TOP)
    np.testing.assert_array_equal(read_frame(path, 0).stored, values)


@pytest.mark.parametrize("planar", [0, 1])
@pytest.mark.parametrize("syntax", [JPEG_2000, JPEG_LS])
def test_colour_has_the_code_streams_order_whatever_planar_configuration_says(
    syntax: str, planar: int, tmp_path: Path
):
    pixels = noise("<u1", 8, (9, 13, 3))
    code = jpeg_2000(pixels, mct=True) if syntax == JPEG_2000 else jpeg_ls(pixels)
    path = packed(tmp_path / "a.dcm", pixels, syntax, [code], PlanarConfiguration=planar)
    np.testing.assert_array_equal(read_frame(path, 0).stored, pixels)


def test_an_8_bit_jpeg_under_a_header_of_16_bits_is_shown(tmp_path: Path):
    values = np.tile(np.arange(64, dtype=np.uint8), (16, 1))
    code = jpeg_bytes(values, quality=100)
    path = packed(tmp_path / "a.dcm", values.astype("<u2"), JPEG, [code], BitsStored=8, HighBit=7)
    found = read_frame(path, 0).stored
    assert np.abs(found.astype(int) - values).max() <= 1


@pytest.mark.parametrize(("declared", "coded"), [(1, 3), (3, 1)])
def test_another_number_of_samples_than_declared_is_refused(
    declared: int, coded: int, tmp_path: Path
):
    grey, colour = np.zeros((8, 8), np.uint8), np.zeros((8, 8, 3), np.uint8)
    header, stream = (grey, colour) if declared == 1 else (colour, grey)
    path = packed(tmp_path / "a.dcm", header, JPEG, [jpeg_bytes(stream)])
    with pytest.raises(FileProblem, match=f"declares {declared} samples.*holds {coded}"):
        read_frame(path, 0)


@pytest.mark.parametrize("header", ["RGB", "YBR_FULL_422"])
def test_12_bit_colour_is_in_the_model_that_its_marker_names(header: str, tmp_path: Path):
    pixels = np.empty((16, 16, 3), np.uint16)
    pixels[...] = (3000, 1200, 300)
    code = bytes(imagecodecs.jpeg8_encode(pixels, level=95, bitspersample=12))
    assert b"JFIF" in code[:20]  # so it is in YCbCr
    path = packed(
        tmp_path / "a.dcm",
        pixels,
        "1.2.840.10008.1.2.4.51",
        [code],
        BitsStored=12,
        HighBit=11,
        PhotometricInterpretation=header,
    )
    assert np.abs(read_frame(path, 0).stored.astype(int) - pixels).max() <= 2


def test_compressed_pixels_under_an_uncompressed_syntax_are_not_shown_as_noise(tmp_path: Path):
    grey = np.zeros((64, 64), np.uint8)
    code = jpeg_bytes(grey, quality=100)
    path = packed(tmp_path / "a.dcm", grey, JPEG, [code * 10])  # long enough for the raw pixels
    plain = b"1.2.840.10008.1.2.1".ljust(len(JPEG), b"\0")
    path.write_bytes(path.read_bytes().replace(JPEG.encode(), plain, 1))
    with pytest.raises(FileProblem, match="its pixels are compressed, though declared"):
        read_instance(path)


def test_a_byte_of_padding_behind_an_rle_segment_is_left_out(tmp_path: Path):
    """dcmtk and pydicom show such files; a segment that lacks a byte is refused all the same."""
    plain = np.arange(200, dtype=np.uint8).reshape(10, 20)
    data = plain.tobytes()
    segment = b"\x7f" + data[:128] + b"\x46" + data[128:199] + b"\0" + data[199:]
    assert len(segment) % 2 == 1
    head = np.array([1, 64, *[0] * 14], "<u4").tobytes()
    for end in (b"", b"\0", b"\x05", b"\x80", b"\xff"):
        path = packed(tmp_path / "a.dcm", plain, RLE, [head + segment + end])
        np.testing.assert_array_equal(read_frame(path, 0).stored, plain)
    path = packed(tmp_path / "a.dcm", plain, RLE, [head + segment[:-1]])
    with pytest.raises(FileProblem, match="damaged"):
        read_frame(path, 0)
