"""Lossless syntaxes give the very pixels of their uncompressed originals."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from app.imaging.files.code_stream_checks import declared_figures
from app.imaging.reading.image_entries import read_frame
from tests.unit.imaging.files import jpeg_bytes

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning:pydicom")

PAIRS = [
    ("RG1_J2KR.dcm", "RG1_UNCR.dcm"),
    ("RG3_J2KR.dcm", "RG3_UNCR.dcm"),
    ("MR2_J2KR.dcm", "MR2_UNCR.dcm"),
    ("693_J2KR.dcm", "693_UNCR.dcm"),
    ("US1_J2KR.dcm", "US1_UNCR.dcm"),
    ("OBXXXX1A_rle.dcm", "OBXXXX1A.dcm"),
    ("OBXXXX1A_expb.dcm", "OBXXXX1A.dcm"),
    ("emri_small_RLE.dcm", "emri_small.dcm"),
    ("emri_small_big_endian.dcm", "emri_small.dcm"),
    ("emri_small_jpeg_ls_lossless.dcm", "emri_small.dcm"),
    ("emri_small_jpeg_2k_lossless.dcm", "emri_small.dcm"),
    ("emri_small_jpeg_2k_lossless_too_short.dcm", "emri_small.dcm"),
    ("SC_rgb_expb_16bit.dcm", "SC_rgb_16bit.dcm"),
    ("color-pl.dcm", "color-px.dcm"),
    ("liver_expb.dcm", "liver.dcm"),
    ("gdcm-US-ALOKA-16_big.dcm", "gdcm-US-ALOKA-16.dcm"),
]


@pytest.mark.parametrize(("packed", "plain"), PAIRS)
def test_a_lossless_file_equals_its_uncompressed_pair(packed: str, plain: str):
    spec = find_spec("data_store")
    assert spec is not None
    assert spec.submodule_search_locations
    folder = Path(spec.submodule_search_locations[0]) / "data"
    for index in (0, 1) if "emri" in packed or "liver" in packed else (0,):
        first, second = (read_frame(folder / name, index) for name in (packed, plain))
        np.testing.assert_array_equal(first.stored, second.stored)
        assert first.ref.pixel_sha256 == second.ref.pixel_sha256


@pytest.mark.parametrize(
    ("packed", "plain"),
    [
        ("wg04/CT1_JLSL", "wg04/CT1_UNC"),
        ("wg04/CT1_JPLL", "wg04/CT1_UNC"),
        ("wg04/CT1_RLE", "wg04/CT1_UNC"),
        ("wg04/MR1_RLE", "wg04/MR1_UNC"),
        ("wg04/MR1_JLSL", "wg04/MR1_UNC"),
        ("wg04/NM1_JPLL", "wg04/NM1_UNC"),
        ("syntaxes/liver_rle.dcm", "syntaxes/liver.dcm"),
        ("syntaxes/liver_j2k.dcm", "syntaxes/liver.dcm"),
        ("syntaxes/liver_deflate.dcm", "syntaxes/liver.dcm"),
        ("syntaxes/liver_nonbyte_aligned_rle.dcm", "syntaxes/liver_nonbyte_aligned.dcm"),
        ("syntaxes/liver_nonbyte_aligned_deflate.dcm", "syntaxes/liver_nonbyte_aligned.dcm"),
    ],
)
def test_nemas_and_other_samples_equal_their_references(packed: str, plain: str, shared_data: Path):
    frames = 3 if "liver" in packed else 1
    for index in range(frames):
        first, second = (read_frame(shared_data / "dicom" / p, index) for p in (packed, plain))
        np.testing.assert_array_equal(first.stored, second.stored)


def test_12_bit_lossy_jpeg_is_near_its_reference(shared_data: Path):
    folder = shared_data / "dicom" / "wg04"
    lossy = read_frame(folder / "MR1_JPLY", 0).stored.astype(int)
    plain = read_frame(folder / "MR1_UNC", 0).stored.astype(int)
    assert lossy.max() > 255
    assert np.abs(lossy - plain).mean() < 0.01 * 4096


def test_the_size_in_a_code_stream_is_read_without_decoding_it():
    coded = declared_figures(jpeg_bytes(np.zeros((11, 13), np.uint8)))
    assert coded is not None
    assert (coded.rows, coded.columns, coded.components, coded.precision) == (11, 13, 1, 8)
    with pytest.raises(ValueError, match="start of frame"):
        declared_figures(b"\xff\xd8\xff\xe0\x00\x02")
    assert declared_figures(b"") is None
    assert declared_figures(b"RLE data") is None
