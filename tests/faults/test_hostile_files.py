"""Pictures, volumes, documents and archives made to harm: a second and a gigabyte at most."""

from __future__ import annotations

import zlib
from pathlib import Path

import pytest

from app.imaging.decode import Decoder
from tests.faults import hostile_files as make
from tests.faults.bounds import assert_cheap, assert_refused
from tests.faults.hostile_dicom import zeros_deflated

SUFFIX = {"PNG": "png", "JPEG": "jpg", "BMP": "bmp", "GIF": "gif", "WEBP": "webp"}
MILLION = 1_000_000


@pytest.mark.parametrize("form", SUFFIX)
def test_a_picture_of_65535_squared(decoder: Decoder, tmp_path: Path, form: str):
    path = make.write(tmp_path / f"a.{SUFFIX[form]}", make.picture(form))
    assert_refused(decoder, path)


@pytest.mark.parametrize("form", ["PNG", "BMP", "GIF", "JPEG"])
def test_a_picture_as_large_as_is_allowed_without_its_pixels(
    decoder: Decoder, tmp_path: Path, form: str
):
    path = make.write(tmp_path / f"a.{SUFFIX[form]}", make.picture(form, 9000, 9000))
    assert_cheap(decoder, path)


def test_an_animation_that_grows(decoder: Decoder, tmp_path: Path):
    cost = assert_cheap(decoder, make.write(tmp_path / "a.gif", make.growing_animation()))
    assert cost.reasons
    assert cost.shown == 0


@pytest.mark.parametrize("kind", [b"zTXt", b"iTXt"])
@pytest.mark.parametrize(("megabytes", "count"), [(2048, 1), (1, 2000)])
def test_texts_of_a_picture_without_end(
    decoder: Decoder, tmp_path: Path, kind: bytes, megabytes: int, count: int
):
    path = make.write(tmp_path / "a.png", make.png_with_texts(kind, megabytes, count))
    assert_cheap(decoder, path)


@pytest.mark.parametrize(
    "fields",
    [
        {"ImageWidth": 65535, "ImageLength": 65535},
        {"TileWidth": 65520, "TileLength": 65520},
        {"SamplesPerPixel": 65535},
        {"ImageLength": 0},
        {"RowsPerStrip": 0},
        {"BitsPerSample": 65535},
    ],
)
def test_absurd_figures_of_a_tiff(decoder: Decoder, tmp_path: Path, fields: dict[str, int]):
    cost = assert_cheap(decoder, make.write(tmp_path / "a.tif", make.tiff(**fields)))
    assert cost.reasons or "RowsPerStrip" in fields


def test_a_tiff_in_circles(decoder: Decoder, tmp_path: Path):
    assert_cheap(decoder, make.write(tmp_path / "a.tif", make.tiff_in_circles()))


@pytest.mark.slow
def test_a_tiff_of_very_many_directories(decoder: Decoder, tmp_path: Path):
    path = make.write(tmp_path / "a.tif", make.tiff_of_directories(300_000))
    assert_refused(decoder, path)


def test_a_tiff_strip_without_end(decoder: Decoder, tmp_path: Path):
    assert_cheap(decoder, make.write(tmp_path / "a.tif", make.tiff_bomb()))


@pytest.mark.parametrize("sizes", [(32767, 32767, 32767), (32767,) * 7, (-1, 5, 5), (0, 0, 0)])
@pytest.mark.parametrize("packed", [False, True])
def test_sizes_of_a_nifti_volume(
    decoder: Decoder, tmp_path: Path, sizes: tuple[int, ...], packed: bool
):
    data = make.nifti(sizes)
    name = "a.nii.gz" if packed else "a.nii"
    data = make.gzip_without_end(data, 64) if packed else data
    assert_refused(decoder, make.write(tmp_path / name, data))


@pytest.mark.parametrize("sizes", ["65535 65535 65535", "999999999999 2 2", "1 " * 16, "-1 2 3"])
def test_sizes_of_other_volumes(decoder: Decoder, tmp_path: Path, sizes: str):
    assert_refused(decoder, make.write(tmp_path / "a.nrrd", make.nrrd(sizes)))
    assert_refused(decoder, make.write(tmp_path / "a.mha", make.meta_image(sizes)))


def test_gzip_without_end(decoder: Decoder, tmp_path: Path):
    start = make.nifti((8, 8, 4)) + bytes(512)
    cost = assert_cheap(
        decoder, make.write(tmp_path / "a.nii.gz", make.gzip_without_end(start, 4096))
    )
    assert cost.shown == 1, "no more is inflated than the header declares"


def test_gzip_that_begins_far_behind(decoder: Decoder, tmp_path: Path):
    start = make.nifti((8, 8, 4), 4e9)
    path = make.write(tmp_path / "a.nii.gz", make.gzip_without_end(start, 5000))
    assert_refused(decoder, path, "far beyond")


def test_gzip_with_an_endless_name(decoder: Decoder, tmp_path: Path):
    start = make.nifti((8, 8, 4)) + bytes(512)
    assert_cheap(decoder, make.write(tmp_path / "a.nii.gz", make.gzip_with_name(start, 2**25)))


def test_gzip_of_a_million_empty_members(decoder: Decoder, tmp_path: Path):
    start = make.nifti((8, 8, 4)) + bytes(512)
    path = make.write(tmp_path / "a.nii.gz", make.gzip_of_nothing(start, MILLION))
    assert_refused(decoder, path)


def test_compressed_voxels_without_end(decoder: Decoder, tmp_path: Path):
    body = b"\x1f\x8b\x08\0\0\0\0\0\0\xff" + zeros_deflated(4096)
    assert_cheap(decoder, make.write(tmp_path / "a.nrrd", make.nrrd("8 8 4", body=body)))
    packed = b"\x78\x9c" + zeros_deflated(4096)
    assert_cheap(decoder, make.write(tmp_path / "a.mha", make.meta_image("8 8 4", packed)))


@pytest.mark.parametrize("box", ["0 0 1e9 1e9", "0 0 -5 -5", "0 0 0 0", "0 0 1 900000", "a b c d"])
def test_pages_of_absurd_size(decoder: Decoder, tmp_path: Path, box: str):
    assert_cheap(decoder, make.write(tmp_path / "a.pdf", make.pdf(box)))


def test_a_page_without_end(decoder: Decoder, tmp_path: Path):
    content = zlib.compress(b"q " * 1000)[:2] + zeros_deflated(2048)
    path = make.write(tmp_path / "a.pdf", make.pdf("0 0 100 100", content, flate=True))
    assert_cheap(decoder, path)


@pytest.mark.parametrize("declared", [None, 1000, 2**20])
def test_a_zip_member_without_end(decoder: Decoder, tmp_path: Path, declared: int | None):
    path = make.write(tmp_path / "a.zip", make.zip_bomb(4000, declared))
    assert_refused(decoder, path)


def test_zip_members_that_are_the_same_bytes(decoder: Decoder, tmp_path: Path):
    path = make.write(tmp_path / "a.zip", make.zip_overlapping(5000))
    assert_refused(decoder, path, "more than it contains")


@pytest.mark.slow
def test_a_zip_of_a_quarter_of_a_million_entries(decoder: Decoder, tmp_path: Path):
    path = make.write(tmp_path / "a.zip", make.zip_of_entries(MILLION // 4))
    assert_refused(decoder, path, "the archive contains it more than once")


def test_zips_in_zips(decoder: Decoder, tmp_path: Path):
    data = make.zip_of({"IM0001": b"x"})
    for _ in range(40):
        data = make.zip_of({"a.zip": data, "b.zip": data[:1000]})
    assert_refused(decoder, make.write(tmp_path / "a.zip", data), "zip archive")
