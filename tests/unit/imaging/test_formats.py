"""Which reader a file needs is told from its content, never from its name."""

from __future__ import annotations

import gzip
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import SimpleITK as sitk  # noqa: N813 - as everybody calls it
import tifffile
from PIL import Image

from app.errors import FileProblem
from app.imaging.decode import Decoder
from app.imaging.reading.image_entries import read_frame, read_instance
from app.imaging.reading.sniffing import sniff
from tests.unit.imaging.files import make_dicom, png_bytes
from tests.unit.imaging.mutations import assert_refused
from tests.unit.imaging.test_documents import two_pages

GREY = np.arange(60, dtype=np.uint8).reshape(3, 4, 5)


def one_of_each(folder: Path) -> dict[str, str]:
    """File name -> the reader it needs."""
    make_dicom(folder / "a.dcm")
    (folder / "a.png").write_bytes(png_bytes(GREY[0]))
    Image.fromarray(GREY[0]).save(folder / "a.bmp")
    tifffile.imwrite(folder / "a.tif", GREY, photometric="minisblack")
    big: dict[str, Any] = {"bigtiff": True, "byteorder": ">", "photometric": "minisblack"}
    tifffile.imwrite(folder / "b.tif", GREY[::-1], **big)
    (folder / "a.pdf").write_bytes(two_pages())
    for name in ("a.nii", "a.nii.gz", "a.nrrd", "a.mha"):
        sitk.WriteImage(sitk.GetImageFromArray(GREY), str(folder / name))
    kinds = {"dcm": "dicom", "png": "picture", "bmp": "picture", "tif": "tiff", "pdf": "pdf"}
    return {one.name: kinds.get(one.suffix[1:], "volume") for one in folder.iterdir()}


def test_names_do_not_matter(tmp_path: Path):
    for name, kind in one_of_each(tmp_path).items():
        path = (tmp_path / name).rename(tmp_path / f"{name.replace('.', '-')}.txt")
        assert sniff(path) == kind


def test_a_dicom_file_that_is_a_tiff_too_is_dicom(tmp_path: Path):
    """Whole-slide scanners use the 128 bytes of preamble for it (PS3.10 7.1)."""
    path = make_dicom(tmp_path / "a.dcm")
    data = bytearray(path.read_bytes())
    data[:8] = b"II*\0\x08\0\0\0"
    path.write_bytes(bytes(data))
    assert sniff(path) == "dicom"


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (gzip.compress(b"hello" * 100, mtime=0), "gzip"),
        (b"BM is how this letter begins, and it is no picture.", "a text file"),
        (b"RIFF\0\0\0\0WAVEfmt ", "a video or a sound file"),
        (b"NRRD0009\n", "NRRD"),
        (b"\x1f\x8b\x08", "gzip"),
        (b"\0" * 4000, "not an image"),
    ],
)
def test_what_none_can_read_is_named(tmp_path: Path, data: bytes, words: str):
    path = tmp_path / "a.nii.gz"
    path.write_bytes(data)
    assert_refused(lambda: sniff(path), words)


@pytest.mark.parametrize("start", [b"II*\0", b"%PDF-", b"NRRD0004\n", b"NDims = 3\n", b"GIF89a",
                                   b"\x5c\x01\0\0" + bytes(340) + b"n+1\0"])  # fmt: skip
def test_a_start_alone_is_a_damaged_file(tmp_path: Path, start: bytes):
    path = tmp_path / "a"
    path.write_bytes(start)
    with pytest.raises(FileProblem) as caught:
        read_instance(path)
    assert caught.value.reason


def test_every_format_can_be_read_inside_a_zip(tmp_path: Path):
    folder = tmp_path / "plain"
    folder.mkdir()
    names = one_of_each(folder)
    sitk.WriteImage(sitk.GetImageFromArray(GREY), str(folder / "pair.hdr"))
    with zipfile.ZipFile(tmp_path / "a.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for file in folder.iterdir():
            archive.write(file, f"in/{file.name}")
    for name in (*names, "pair.hdr"):
        inside = read_frame(tmp_path / "a.zip" / "in" / name, 0)
        np.testing.assert_array_equal(inside.stored, read_frame(folder / name, 0).stored)


def test_every_format_comes_through_the_worker_processes(decoder: Decoder, tmp_path: Path):
    names = one_of_each(tmp_path)
    result = decoder.scan([tmp_path]).result(60)
    found = {i.path.name: i for study in result.studies for s in study.series for i in s.instances}
    assert found.keys() == names.keys()
    for name, instance in found.items():
        assert instance.kind == names[name]
        frame = decoder.frame(instance, instance.frames - 1).result(60)
        assert frame.ref.sop_instance_uid == instance.sop_instance_uid
        assert decoder.attributes(instance).result(60)
        assert max(decoder.thumbnail(instance, 32).result(60).shape) <= 32
