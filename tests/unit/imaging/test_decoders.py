"""Compressed pixels: each transfer syntax, by encoders that are not ours."""

from __future__ import annotations

import shutil
import subprocess
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pydicom
import pytest
from numpy.typing import NDArray
from pydicom.encaps import encapsulate, encapsulate_extended
from pydicom.uid import UID

from app.errors import FileProblem
from app.imaging.dicom.codecs import DECODERS, syntax_name
from app.imaging.reading.image_entries import read_frame, read_instance
from tests.conformance.page import library_of
from tests.unit.imaging.files import make_dicom

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning:pydicom")

Array = NDArray[Any]

_KNOWN = {23: "1.2.840.10008.1.2.4.201", 21: "1.2.840.10008.1.2.4.50"}


def packed(path: Path, pixels: Array, syntax: str, frames: list[bytes], **more: Any) -> Path:
    """A file of `pixels`' layout with these code streams instead."""
    make_dicom(path, pixels, **more)
    ds = pydicom.dcmread(path)
    # Those that pydicom does not know yet are written under a name of the same length.
    written = syntax if UID(syntax).is_transfer_syntax else _KNOWN[len(syntax)]
    ds.file_meta.TransferSyntaxUID = UID(written)
    ds.PixelData = encapsulate(frames or [b"\0\0"])
    ds["PixelData"].VR = "OB"
    ds["PixelData"].is_undefined_length = True
    ds.save_as(path)
    padded = [uid.encode().ljust(len(syntax) + len(syntax) % 2, b"\0") for uid in (written, syntax)]
    path.write_bytes(path.read_bytes().replace(padded[0], padded[1], 1))
    return path


def noise(dtype: str, bits: int, shape: tuple[int, ...] = (9, 13)) -> Array:
    low = -(2 ** (bits - 1)) if dtype[-2] == "i" else 0
    rng = np.random.default_rng(bits)
    return rng.integers(low, low + 2**bits, shape, np.int64).astype(dtype)


def test_every_decoder_says_what_it_is_and_no_licence_forbids_a_closed_bundle():
    assert len(DECODERS) >= 20
    for uid in DECODERS:
        assert UID(uid).is_valid
        assert syntax_name(uid) != uid
        library, licence, why = library_of(uid)
        assert all((library, licence, why))
        assert "GPL" not in licence


DCMTK = [
    ("dcmcjpeg", "+el"),  # lossless, any predictor
    ("dcmcjpeg", "+e1"),  # lossless, first-order prediction
    ("dcmcjpls", "+el"),
    ("dcmcrle", ""),
]


@pytest.mark.parametrize(("tool", "option"), DCMTK)
@pytest.mark.parametrize(
    ("dtype", "bits"), [("<u1", 8), ("<u2", 10), ("<u2", 16), ("<i2", 16), ("<i2", 12)]
)
def test_dcmtks_lossless_compression_gives_the_same_values(
    tool: str, option: str, dtype: str, bits: int, tmp_path: Path
):
    if shutil.which(tool) is None:
        pytest.skip(f"dcmtk is not installed ({tool})")
    pixels = noise(dtype, bits, (2, 9, 13))
    plain = make_dicom(
        tmp_path / "a.dcm", pixels, NumberOfFrames=2, BitsStored=bits, HighBit=bits - 1
    )
    other = tmp_path / "b.dcm"
    command = [tool, *([option] if option else []), str(plain), str(other)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=30)
    if done.returncode:
        pytest.skip(f"{tool} cannot: {done.stderr[:80]}")
    for index in range(2):
        np.testing.assert_array_equal(read_frame(plain, index).stored, pixels[index])
        np.testing.assert_array_equal(read_frame(other, index).stored, pixels[index])


@pytest.mark.parametrize(("tool", "option"), DCMTK)
@pytest.mark.parametrize("planar", [0, 1])
def test_dcmtks_lossless_colour_gives_the_same_values(
    tool: str, option: str, planar: int, tmp_path: Path
):
    if shutil.which(tool) is None:
        pytest.skip(f"dcmtk is not installed ({tool})")
    image = noise("<u1", 8, (8, 10, 3))
    data = (image.transpose(2, 0, 1) if planar else image).tobytes()
    plain = make_dicom(tmp_path / "a.dcm", image, PlanarConfiguration=planar, PixelData=data)
    np.testing.assert_array_equal(read_frame(plain, 0).stored, image)
    other = tmp_path / "b.dcm"
    command = [tool, *([option] if option else []), str(plain), str(other)]
    subprocess.run(command, capture_output=True, check=True, timeout=30)
    np.testing.assert_array_equal(read_frame(other, 0).stored, image)


def jpeg_xl(pixels: Array) -> bytes:
    imagecodecs = pytest.importorskip("imagecodecs")
    return bytes(imagecodecs.jpegxl_encode(pixels, lossless=True))


@pytest.mark.parametrize("syntax", ["110", "112"])
@pytest.mark.parametrize("shape", [(9, 13), (9, 13, 3)])
@pytest.mark.parametrize("dtype", ["<u1", "<u2"])
def test_jpeg_xl(syntax: str, shape: tuple[int, ...], dtype: str, tmp_path: Path):
    pixels = noise(dtype, 8 * np.dtype(dtype).itemsize, shape)
    uid = f"1.2.840.10008.1.2.4.{syntax}"
    path = packed(tmp_path / "a.dcm", pixels, uid, [jpeg_xl(pixels)])
    np.testing.assert_array_equal(read_frame(path, 0).stored, pixels)


@pytest.mark.parametrize("syntax", ["90", "91", "92", "93", "201", "203"])
@pytest.mark.parametrize(
    ("dtype", "bits"),
    [("<u1", 1), ("<u1", 8), ("<u2", 12), ("<u2", 16), ("<i2", 16), ("<u4", 24), ("<i4", 24)],
)
def test_jpeg_2000_and_its_part_2_and_htj2k(syntax: str, dtype: str, bits: int, tmp_path: Path):
    imagecodecs = pytest.importorskip("imagecodecs")
    pixels = noise(dtype, bits, (32, 40))
    if syntax.startswith("2"):
        code = imagecodecs.htj2k_encode(pixels, reversible=True)
    else:
        code = imagecodecs.jpeg2k_encode(
            pixels, codecformat="J2K", reversible=True, bitspersample=bits
        )
    path = packed(
        tmp_path / "a.dcm",
        pixels,
        f"1.2.840.10008.1.2.4.{syntax}",
        [bytes(code)],
        BitsStored=bits,
        HighBit=bits - 1,
    )
    np.testing.assert_array_equal(read_frame(path, 0).stored, pixels)


@pytest.mark.parametrize("dtype", ["<u4", "<i4"])
def test_htj2k_of_32_bits(dtype: str, tmp_path: Path):
    imagecodecs = pytest.importorskip("imagecodecs")
    pixels = noise(dtype, 32, (32, 40))
    code = bytes(imagecodecs.htj2k_encode(pixels, reversible=True))
    path = packed(tmp_path / "a.dcm", pixels, "1.2.840.10008.1.2.4.201", [code])
    np.testing.assert_array_equal(read_frame(path, 0).stored, pixels)


def test_encapsulated_uncompressed_and_deflated_frames(tmp_path: Path):
    pixels = noise("<u2", 16, (3, 8, 4))
    plain = [frame.tobytes() for frame in pixels]
    deflated = []
    for frame in plain:
        packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
        code = packer.compress(frame) + packer.flush()
        deflated.append(code + b"\0" * (len(code) % 2))
    for syntax, frames in (("1.98", plain), ("8.1", deflated)):
        uid = f"1.2.840.10008.1.2.{syntax}"
        path = packed(tmp_path / f"{syntax}.dcm", pixels, uid, frames, NumberOfFrames=3)
        for index in range(3):
            np.testing.assert_array_equal(read_frame(path, index).stored, pixels[index])


@pytest.mark.parametrize("syntax", ["51", "53", "55"])
def test_a_code_stream_is_decoded_as_what_it_is_not_as_the_syntax_says(syntax: str, tmp_path: Path):
    """Progressive 8-bit JPEG (retired syntaxes), and under a wrong name."""
    from tests.unit.imaging.files import jpeg_bytes

    smooth = np.add.outer(np.arange(16), np.arange(16)).astype(np.uint8) * 4
    code = jpeg_bytes(smooth, quality=100, progressive=True)
    assert b"\xff\xc2" in code
    path = packed(tmp_path / "a.dcm", smooth, f"1.2.840.10008.1.2.4.{syntax}", [code])
    assert np.abs(read_frame(path, 0).stored.astype(int) - smooth).max() <= 2


def test_jpeg_ls_under_the_name_of_lossless_jpeg(tmp_path: Path):
    imagecodecs = pytest.importorskip("imagecodecs")
    pixels = noise("<u2", 12)
    code = bytes(imagecodecs.jpegls_encode(pixels))
    path = packed(
        tmp_path / "a.dcm", pixels, "1.2.840.10008.1.2.4.70", [code], BitsStored=12, HighBit=11
    )
    np.testing.assert_array_equal(read_frame(path, 0).stored, pixels)


def items(*parts: bytes) -> bytes:
    return b"".join(b"\xfe\xff\x00\xe0" + len(p).to_bytes(4, "little") + p for p in parts)


END = b"\xfe\xff\xdd\xe0\0\0\0\0"


@pytest.fixture(scope="module")
def codes() -> tuple[Array, list[bytes]]:
    imagecodecs = pytest.importorskip("imagecodecs")
    pixels = noise("<u1", 8, (3, 9, 13))
    streams = [bytes(imagecodecs.jpegls_encode(frame)) for frame in pixels]
    return pixels, [code + b"\0" * (len(code) % 2) for code in streams]


def cut(code: bytes) -> list[bytes]:
    """A frame's code stream as three fragments."""
    return [code[:20], code[20:50], code[50:]]


def offsets(*values: int) -> bytes:
    return b"".join(value.to_bytes(4, "little") for value in values)


@pytest.mark.parametrize(
    "shape",
    ["no table", "table", "wrong table", "short table", "no end"],
)
def test_frames_of_several_fragments_are_put_together(
    shape: str, codes: tuple[Array, list[bytes]], tmp_path: Path
):
    pixels, streams = codes
    parts = [part for code in streams for part in cut(code)]
    starts = [sum(len(p) + 8 for p in parts[: 3 * n]) for n in range(3)]
    table = {
        "table": offsets(*starts),
        "wrong table": offsets(0, 6, 9999),
        "short table": offsets(0),
    }.get(shape, b"")
    raw = items(table, *parts) + (b"" if shape == "no end" else END)
    path = packed(tmp_path / "a.dcm", pixels, "1.2.840.10008.1.2.4.80", [], NumberOfFrames=3)
    whole = path.read_bytes()
    start = whole.index(b"\xe0\x7f\x10\x00OB") + 12
    path.write_bytes(whole[:start] + raw)
    for index in range(3):
        np.testing.assert_array_equal(read_frame(path, index).stored, pixels[index])


@pytest.mark.parametrize("table", [True, False])
def test_a_missing_number_of_compressed_frames_is_told_by_the_code_streams(
    table: bool, codes: tuple[Array, list[bytes]], tmp_path: Path
):
    pixels, streams = codes
    multi_frame = "1.2.840.10008.5.1.4.1.1.7.2"
    path = packed(
        tmp_path / "a.dcm", pixels, "1.2.840.10008.1.2.4.80", streams, SOPClassUID=multi_frame
    )
    ds = pydicom.dcmread(path)
    assert "NumberOfFrames" not in ds
    ds.PixelData = encapsulate(streams, has_bot=table)
    ds.save_as(path)
    assert read_instance(path).frames == 3
    np.testing.assert_array_equal(read_frame(path, 2).stored, pixels[2])


def test_an_extended_offset_table_finds_the_frames(
    codes: tuple[Array, list[bytes]], tmp_path: Path
):
    pixels, streams = codes
    data, table, lengths = encapsulate_extended(streams)
    path = packed(
        tmp_path / "a.dcm",
        pixels,
        "1.2.840.10008.1.2.4.80",
        streams,
        NumberOfFrames=3,
        ExtendedOffsetTable=table,
        ExtendedOffsetTableLengths=lengths,
    )
    ds = pydicom.dcmread(path)
    ds.PixelData = data
    ds.save_as(path)
    for index in range(3):
        np.testing.assert_array_equal(read_frame(path, index).stored, pixels[index])


@pytest.mark.parametrize("damage", ["no lengths", "too long", "out of order", "elsewhere"])
def test_a_wrong_extended_offset_table_shows_no_other_frame(
    damage: str, codes: tuple[Array, list[bytes]], tmp_path: Path
):
    pixels, streams = codes
    _, table, lengths = encapsulate_extended(streams)
    if damage == "no lengths":
        lengths = bytes(24)
    elif damage == "too long":
        lengths = b"\xff" * 24
    else:
        first, second, third = table[:8], table[8:16], table[16:]
        table = second + first + third if damage == "out of order" else b"\5" * 24
    path = packed(
        tmp_path / "a.dcm",
        pixels,
        "1.2.840.10008.1.2.4.80",
        streams,
        NumberOfFrames=3,
        ExtendedOffsetTable=table,
        ExtendedOffsetTableLengths=lengths,
    )
    for index in range(3):
        np.testing.assert_array_equal(read_frame(path, index).stored, pixels[index])


def test_a_frame_that_is_not_in_the_file_is_named(codes: tuple[Array, list[bytes]], tmp_path: Path):
    pixels, streams = codes
    path = packed(
        tmp_path / "a.dcm", pixels, "1.2.840.10008.1.2.4.80", streams[:2], NumberOfFrames=3
    )
    np.testing.assert_array_equal(read_frame(path, 1).stored, pixels[1])
    with pytest.raises(FileProblem, match="frame 3 of 3 is not in the file"):
        read_frame(path, 2)


@pytest.mark.parametrize("syntax", ["100", "101", "102.1", "104", "107"])
def test_a_video_says_what_to_do(syntax: str, tmp_path: Path):
    pixels = np.zeros((4, 4), np.uint8)
    path = packed(tmp_path / "a.dcm", pixels, f"1.2.840.10008.1.2.4.{syntax}", [b"\0" * 100])
    assert read_instance(path).frames == 1
    with pytest.raises(FileProblem, match="it is a video") as caught:
        read_frame(path, 0)
    assert "video player" in caught.value.remedy


def test_a_link_to_a_server_is_no_image(tmp_path: Path):
    path = packed(tmp_path / "a.dcm", np.zeros((4, 4), np.uint8), "1.2.840.10008.1.2.4.94", [b"12"])
    with pytest.raises(FileProblem, match="a link to a server"):
        read_frame(path, 0)
