"""What code streams declare, against what their encoders were given."""

from __future__ import annotations

import imagecodecs
import numpy as np
import pytest

from app.imaging.files.code_stream_checks import declared_figures
from app.imaging.guards import is_implausibly_small

ENCODERS = {
    "JPEG": lambda p: imagecodecs.jpeg8_encode(p),
    "JPEG lossless": lambda p: imagecodecs.jpeg8_encode(p, lossless=True),
    "JPEG-LS": lambda p: imagecodecs.jpegls_encode(p),
    "JPEG 2000": lambda p: imagecodecs.jpeg2k_encode(p, level=0, codecformat="j2k"),
    "JP2 boxes": lambda p: imagecodecs.jpeg2k_encode(p, level=0, codecformat="jp2"),
    "HTJ2K": lambda p: imagecodecs.htj2k_encode(p),
    "JPEG XL": lambda p: imagecodecs.jpegxl_encode(p, lossless=True),
    "JPEG XL boxes": lambda p: imagecodecs.jpegxl_encode(p, lossless=True, usecontainer=True),
    "JPEG XL, lossy": lambda p: imagecodecs.jpegxl_encode(p, level=80),
}
SIZES = [
    (1, 1),
    (8, 8),
    (9, 13),
    (24, 32),
    (64, 48),
    (256, 256),
    (257, 300),
    (600, 1100),
    (90, 160),
]


@pytest.mark.parametrize("name", ENCODERS)
@pytest.mark.parametrize("colour", [False, True])
def test_the_declared_figures(name: str, colour: bool):
    for rows, columns in SIZES:
        pixels = np.zeros((rows, columns, 3) if colour else (rows, columns), np.uint8)
        pixels[: rows // 2] = 70
        found = declared_figures(bytes(ENCODERS[name](pixels)))
        assert found is not None
        assert (found.rows, found.columns) == (rows, columns)
        if "XL" not in name:
            assert (found.components, found.precision) == (3 if colour else 1, 8)


def test_what_is_no_code_stream_says_nothing():
    assert declared_figures(b"") is None
    assert declared_figures(b"\x01\0\0\0\x40\0\0\0") is None


@pytest.mark.parametrize("start", [b"\xff\xd8\xff\xe0", b"\xff\x4f\xff\x51\0", b"\0\0\0\x0cJXL "])
def test_one_whose_figures_are_missing_is_refused(start: bytes):
    with pytest.raises(ValueError, match=r"segment|frame|stream"):
        declared_figures(start)


def test_a_box_without_length_is_refused():
    """pydicom looks for the box behind it for ever."""
    code = bytes(imagecodecs.jpeg2k_encode(np.zeros((8, 8), np.uint8), level=0, codecformat="jp2"))
    assert declared_figures(code) is not None
    with pytest.raises(ValueError, match="stream"):
        declared_figures(code[:12] + bytes(4) + code[16:])


def test_a_second_start_of_frame_is_refused():
    code = bytes(imagecodecs.jpeg8_encode(np.zeros((8, 8), np.uint8)))
    at = code.find(b"\xff\xc0")
    segment = code[at : at + 2 + int.from_bytes(code[at + 2 : at + 4], "big")]
    with pytest.raises(ValueError, match="two starts"):
        declared_figures(code[:at] + segment + code[at:])


def test_very_large_images_in_very_few_bytes_are_refused():
    rng = np.random.default_rng(1)
    sparse = np.zeros((9000, 9000), np.uint8)
    sparse[rng.integers(0, 9000, 5000), rng.integers(0, 9000, 5000)] = 200
    assert not is_implausibly_small(sparse.size, len(imagecodecs.jpegls_encode(sparse)))
    assert not is_implausibly_small(4096 * 4096, 1)
    assert is_implausibly_small(16_000 * 16_000, 1000)
