"""Boxes that are blanked in de-identified copies, and bits beyond the stored ones."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pydicom
import pytest
from numpy.typing import NDArray
from pydicom.dataset import Dataset
from pydicom.encaps import encapsulate
from pydicom.uid import UID, ExplicitVRBigEndian, ExplicitVRLittleEndian, RLELossless

from app.imaging.deidentify import copying
from app.imaging.deidentify.copying import BLANKED, HIGH_BITS, Copier
from app.imaging.deidentify.options import Blank, Outcome
from tests.support.deid_canaries import image, save

BOX = (1, 2, 5, 4)
INSIDE = np.s_[2:4, 1:5]


def copied(dataset: Dataset, folder: Path, syntax: str = ExplicitVRLittleEndian) -> Outcome:
    """Copy a data set with the box blanked in its series."""
    path = save(dataset, folder / "in" / "a.dcm", UID(syntax))
    (folder / "out").mkdir(exist_ok=True)
    blank = Blank("1.2.3.4.2", dataset.Rows, dataset.Columns, BOX)
    copier = Copier(folder / "out", b"s" * 32, blanks=(blank,))
    summary = copying.deidentify([path], copier.copy)
    return summary.outcomes[0]


def made(folder: Path) -> Dataset:
    (path,) = (folder / "out").rglob("*.dcm")
    return pydicom.dcmread(path)


def colour(kind: str) -> tuple[Dataset, NDArray[np.uint8]]:
    """Return an image of two frames in RGB, and its pixels [frames, rows, columns, 3]."""
    dataset = image()
    pixels = np.random.default_rng(1).integers(1, 255, (2, 8, 8, 3)).astype(np.uint8)
    dataset.NumberOfFrames, dataset.SamplesPerPixel = 2, 3
    dataset.BitsAllocated = dataset.BitsStored = 8
    dataset.HighBit, dataset.PlanarConfiguration = 7, int(kind == "planar")
    dataset.PhotometricInterpretation = "RGB"
    stored = pixels.transpose(0, 3, 1, 2) if kind == "planar" else pixels
    dataset.PixelData = stored.tobytes()
    dataset["PixelData"].VR = "OB"
    return dataset, pixels


@pytest.mark.parametrize("kind", ["planar", "interleaved"])
def test_boxes_are_blanked_in_all_frames_and_nothing_else_changes(tmp_path: Path, kind: str):
    dataset, pixels = colour(kind)
    dataset.BurnedInAnnotation = "YES"
    outcome = copied(dataset, tmp_path)
    assert outcome.copy
    assert outcome.warnings == (BLANKED,)
    copy = made(tmp_path)
    found = copy.pixel_array.reshape(pixels.shape)
    assert (found[:, 2:4, 1:5] == 0).all()
    wanted = pixels.copy()
    wanted[:, 2:4, 1:5] = 0
    assert np.array_equal(found, wanted)
    assert copy.BurnedInAnnotation == "NO"
    assert copy.PatientIdentityRemoved == "YES"
    codes = [one.CodeValue for one in copy.DeidentificationMethodCodeSequence]
    assert codes == ["113100", "113101"]


@pytest.mark.parametrize("photometric", ["MONOCHROME1", "MONOCHROME2"])
@pytest.mark.parametrize("signed", [0, 1])
def test_a_blank_is_black_in_every_kind_of_grey(tmp_path: Path, photometric: str, signed: int):
    dataset = image()
    dataset.PhotometricInterpretation, dataset.PixelRepresentation = photometric, signed
    values = np.random.default_rng(2).integers(-500 if signed else 0, 900, (8, 8)).astype("<i2")
    dataset.PixelData = values.tobytes()
    assert copied(dataset, tmp_path).copy
    found = made(tmp_path).pixel_array
    black = values.max() if photometric == "MONOCHROME1" else values.min()
    assert (found[INSIDE] == black).all()
    outside = np.ones((8, 8), bool)
    outside[INSIDE] = False
    assert np.array_equal(found[outside], values[outside])


def test_a_compressed_image_is_stored_without_compression(tmp_path: Path):
    dataset = image()
    values = np.frombuffer(dataset.PixelData, "<u2").reshape(8, 8)
    planes = [(values >> 8).astype(np.uint8).tobytes(), (values & 255).astype(np.uint8).tobytes()]
    header = np.zeros(16, "<u4")
    coded = [bytes([63]) + plane for plane in planes]  # a literal run of 64 bytes
    coded = [one + b"\0" * (len(one) % 2) for one in coded]
    header[:3] = 2, 64, 64 + len(coded[0])
    dataset.PixelData = encapsulate([header.tobytes() + b"".join(coded)])
    dataset["PixelData"].VR = "OB"
    dataset["PixelData"].is_undefined_length = True
    assert copied(dataset, tmp_path, RLELossless).copy
    copy = made(tmp_path)
    assert copy.file_meta.TransferSyntaxUID == ExplicitVRLittleEndian
    wanted = values.copy()
    wanted[INSIDE] = values.min()
    assert np.array_equal(copy.pixel_array, wanted)


def test_what_cannot_be_blanked_is_left_out_and_named(tmp_path: Path):
    outcome = copied(image(), tmp_path, ExplicitVRBigEndian)
    assert not outcome.copy
    assert "byte order" in outcome.reason


def test_other_series_and_sizes_are_not_touched(tmp_path: Path):
    for keyword, value in (("SeriesInstanceUID", "1.2.3.4.9"), ("Rows", 4)):
        dataset = image()
        setattr(dataset, keyword, value)
        path = save(dataset, tmp_path / keyword / "a.dcm")
        out = tmp_path / f"out-{keyword}"
        out.mkdir()
        copier = Copier(out, b"s" * 32, blanks=(Blank("1.2.3.4.2", 8, 8, BOX),))
        [outcome] = copying.deidentify([path], copier.copy).outcomes
        copy = pydicom.dcmread(out / outcome.copy)
        assert copy.PixelData == dataset.PixelData[: len(copy.PixelData)]
        assert "BurnedInAnnotation" not in copy
        codes = [one.CodeValue for one in copy.DeidentificationMethodCodeSequence]
        assert codes == ["113100"]


@pytest.mark.parametrize("signed", [0, 1])
def test_bits_beyond_the_stored_ones_are_cleared_without_a_declared_overlay(
    tmp_path: Path, signed: int
):
    dataset = image()
    dataset.PixelRepresentation = signed
    values = np.random.default_rng(3).integers(-2000 if signed else 0, 2000, 64).astype("<i2")
    hidden = (values.view("<u2") & 0x0FFF) | 0x5000
    dataset.PixelData = hidden.tobytes()
    path = save(dataset, tmp_path / "in" / "a.dcm")
    (tmp_path / "out").mkdir()
    [outcome] = copying.deidentify([path], Copier(tmp_path / "out", b"s" * 32).copy).outcomes
    assert outcome.warnings == (HIGH_BITS,)
    assert np.array_equal(np.frombuffer(made(tmp_path).PixelData, "<i2"), values)
    assert made(tmp_path).PatientIdentityRemoved == "YES"
    # Whole values, with the sign as it is usual, change nothing.
    dataset.PixelData = values.tobytes()
    path = save(dataset, tmp_path / "in" / "b.dcm")
    other = tmp_path / "other"
    other.mkdir()
    [outcome] = copying.deidentify([path], Copier(other, b"s" * 32).copy).outcomes
    assert outcome.warnings == ()
    assert pydicom.dcmread(other / outcome.copy).PixelData == values.tobytes()


def test_padding_beyond_the_stored_bits_stays(tmp_path: Path):
    dataset = image()
    dataset.add_new(0x00280120, "US", 63536)
    values = np.arange(64, dtype="<u2")
    values[:8] = 63536
    dataset.PixelData = values.tobytes()
    path = save(dataset, tmp_path / "in" / "a.dcm")
    (tmp_path / "out").mkdir()
    [outcome] = copying.deidentify([path], Copier(tmp_path / "out", b"s" * 32).copy).outcomes
    assert outcome.warnings == ()
    assert made(tmp_path).PixelData == values.tobytes()
