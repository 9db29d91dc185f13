"""A real study with planted instructions: DICOM images, a report, an encapsulated document."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from pydicom import config
from pydicom.dataset import Dataset, FileMetaDataset
from pydicom.uid import ExplicitVRLittleEndian

from tests.support.burnt_in import burn
from tests.support.planted import Planted

_ROOT = "1.2.826.0.1.3680043.8.498.77"
_SECONDARY = "1.2.840.10008.5.1.4.1.1.7"
_TEXT_SR = "1.2.840.10008.5.1.4.1.1.88.11"
_CDA = "1.2.840.10008.5.1.4.1.1.104.2"


def _of(texts: Sequence[Planted], carrier: str) -> list[str]:
    return [item.text for item in texts if item.carrier == carrier]


def plant(folder: Path, texts: Sequence[Planted]) -> tuple[list[Path], list[Path]]:
    """Write the study.

    Args:
        folder: Where; it exists.
        texts: What is planted; those of carriers that are no files are left out.

    Returns:
        The images, one for each text of a carrier, and the other objects.
    """
    # Whoever plants something keeps to no length of a value.
    with config.disable_value_validation():
        return _images(folder, texts), [_report(folder, texts), _document(folder, texts)]


def _images(folder: Path, texts: Sequence[Planted]) -> list[Path]:
    names, folders = _of(texts, "file name"), _of(texts, "folder name")
    images: list[Path] = []
    for number, name in enumerate(names):
        path = folder / folders[number] / f"{name}.dcm"
        path.parent.mkdir(parents=True)
        dataset = _object(_SECONDARY, f"{_ROOT}.1.{number}", "OT")
        for carrier, keyword in _KEYWORDS.items():
            setattr(dataset, keyword, _of(texts, carrier)[number])
        block = dataset.private_block(0x0009, "PLANTED", create=True)
        block.add_new(0x01, "LT", _of(texts, "private attribute")[number])
        _give_pixels(dataset, burn(_of(texts, "burnt-in text")[number]))
        _save(dataset, path)
        images.append(path)
    return images


def other_study(path: Path) -> Path:
    """Write an image of another patient, which is not open."""
    dataset = _object(_SECONDARY, f"{_ROOT}.9", "OT")
    dataset.PatientName, dataset.StudyInstanceUID = "Somebody^Else", f"{_ROOT}.99"
    _give_pixels(dataset, np.zeros((16, 16), np.uint8))
    _save(dataset, path)
    return path


_KEYWORDS = {
    "patient name": "PatientName",
    "study description": "StudyDescription",
    "image comments": "ImageComments",
}


def _object(sop_class: str, uid: str, modality: str) -> Dataset:
    dataset = Dataset()
    dataset.file_meta = FileMetaDataset()
    dataset.file_meta.TransferSyntaxUID = ExplicitVRLittleEndian
    dataset.SpecificCharacterSet = "ISO_IR 192"
    dataset.SOPClassUID, dataset.SOPInstanceUID = sop_class, uid
    dataset.StudyInstanceUID = f"{_ROOT}.0"
    dataset.SeriesInstanceUID = f"{_ROOT}.0.{sum(map(ord, modality))}"
    dataset.PatientID, dataset.Modality, dataset.InstanceNumber = "P1", modality, 1
    return dataset


def _give_pixels(dataset: Dataset, pixels: NDArray[np.uint8]) -> None:
    dataset.Rows, dataset.Columns = pixels.shape
    dataset.SamplesPerPixel, dataset.PhotometricInterpretation = 1, "MONOCHROME2"
    dataset.BitsAllocated = dataset.BitsStored = 8
    dataset.HighBit, dataset.PixelRepresentation = 7, 0
    dataset.WindowCenter, dataset.WindowWidth = 128, 256
    data = pixels.tobytes()
    dataset.PixelData = data + b"\0" * (len(data) % 2)


def _report(folder: Path, texts: Sequence[Planted]) -> Path:
    dataset = _object(_TEXT_SR, f"{_ROOT}.2", "SR")
    dataset.CompletionFlag, dataset.VerificationFlag = "COMPLETE", "UNVERIFIED"
    dataset.ValueType, dataset.ContinuityOfContent = "CONTAINER", "SEPARATE"
    items: list[Dataset] = []
    for text in _of(texts, "report text"):
        item = Dataset()
        item.RelationshipType, item.ValueType, item.TextValue = "CONTAINS", "TEXT", text
        items.append(item)
    dataset.ContentSequence = items
    path = folder / "report.dcm"
    _save(dataset, path)
    return path


def _document(folder: Path, texts: Sequence[Planted]) -> Path:
    dataset = _object(_CDA, f"{_ROOT}.3", "DOC")
    dataset.MIMETypeOfEncapsulatedDocument = "text/XML"
    lines = "".join(f"<text>{text}</text>" for text in _of(texts, "encapsulated document"))
    data = f"<ClinicalDocument>{lines}</ClinicalDocument>".encode()
    dataset.EncapsulatedDocument = data + b" " * (len(data) % 2)
    path = folder / "letter.dcm"
    _save(dataset, path)
    return path


def _save(dataset: Dataset, path: Path) -> None:
    dataset.save_as(path, enforce_file_format=True)
