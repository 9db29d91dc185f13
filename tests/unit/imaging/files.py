"""DICOM and picture files that tests make themselves."""

from __future__ import annotations

import io
import struct
import warnings
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pydicom
from numpy.typing import NDArray
from PIL import Image
from pydicom.dataset import FileDataset, FileMetaDataset
from pydicom.uid import ExplicitVRLittleEndian, SecondaryCaptureImageStorage, generate_uid

from app.imaging.scanning import listing
from app.imaging.scanning.opened_paths import empty_path_problems, listing_tasks
from app.imaging.types import Problem

Array = NDArray[Any]


def save_dicom(path: Path, values: Mapping[str, Any]) -> Path:
    """A DICOM file of elements by keyword, whatever they are; None leaves one out."""
    meta = FileMetaDataset()
    meta.MediaStorageSOPClassUID = values.get("SOPClassUID") or SecondaryCaptureImageStorage
    meta.MediaStorageSOPInstanceUID = values.get("SOPInstanceUID") or generate_uid()
    meta.TransferSyntaxUID = ExplicitVRLittleEndian
    ds = FileDataset(str(path), {}, file_meta=meta, preamble=b"\0" * 128)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for keyword, value in values.items():
            if value is not None:
                setattr(ds, keyword, value)
        ds.save_as(path, enforce_file_format=True)
    return path


def make_dicom(path: Path, pixels: Array | None = None, **elements: Any) -> Path:
    """An uncompressed DICOM file; `elements` by keyword, None leaves one out."""
    array = np.arange(12, dtype=np.uint16).reshape(3, 4) if pixels is None else pixels
    colour = array.ndim == 3 and array.shape[-1] == 3
    rows, columns = array.shape[:2] if colour else array.shape[-2:]
    values: dict[str, Any] = {
        "SOPClassUID": SecondaryCaptureImageStorage,
        "SOPInstanceUID": generate_uid(),
        "StudyInstanceUID": "1.2.3",
        "SeriesInstanceUID": "1.2.3.4",
        "PatientName": "Doe^Jane",
        "PatientID": "P1",
        "Modality": "OT",
        "Rows": rows,
        "Columns": columns,
        "SamplesPerPixel": 3 if colour else 1,
        "PlanarConfiguration": 0 if colour else None,
        "PhotometricInterpretation": "RGB" if colour else "MONOCHROME2",
        "BitsAllocated": 8 * array.dtype.itemsize,
        "BitsStored": 8 * array.dtype.itemsize,
        "HighBit": 8 * array.dtype.itemsize - 1,
        "PixelRepresentation": int(array.dtype.kind == "i"),
        "PixelData": array.tobytes() + b"\0" * (array.nbytes % 2),
    }
    return save_dicom(path, values | elements)


def item(**elements: Any) -> pydicom.Dataset:
    """A sequence item."""
    ds = pydicom.Dataset()
    for keyword, value in elements.items():
        setattr(ds, keyword, value)
    return ds


def lut_item(first: int, bits: int, data: list[int], signed: bool = False) -> pydicom.Dataset:
    """An item of a Modality or VOI LUT Sequence."""
    ds = pydicom.Dataset()
    ds.add_new(0x00283002, "SS" if signed else "US", [len(data), first, bits])
    ds.add_new(0x00283006, "US", data)
    return ds


def png_bytes(pixels: Array, **options: Any) -> bytes:
    """A PNG made by Pillow: 8-bit or 16-bit grey, or 8-bit colour with or without alpha."""
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, "PNG", **options)
    return buffer.getvalue()


def jpeg_bytes(pixels: Array, **options: Any) -> bytes:
    """A JPEG made by Pillow."""
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, "JPEG", **options)
    return buffer.getvalue()


def png_claiming(columns: int, rows: int) -> bytes:
    """A PNG whose header declares a size that its few bytes of data cannot fill."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        body = kind + data
        return struct.pack(">L", len(data)) + body + struct.pack(">L", zlib.crc32(body))

    header = struct.pack(">LLBBBBB", columns, rows, 8, 0, 0, 0, 0)
    data = zlib.compress(b"\0" * 1000)
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", data) + chunk(b"IEND", b"")
    )


def list_files(paths: list[Path]) -> tuple[list[Path], list[Problem]]:
    """All files behind the paths and the problems, as the steps of a scan find them."""
    todo = listing_tasks(paths)
    files: dict[Path, None] = {}
    problems: list[Problem] = []
    fruitful: set[int] = set()
    while todo:
        found = listing.step(todo)
        todo = found.todo
        fruitful |= {root for root, *_ in (*found.files, *found.problems)}
        files |= {folder / name: None for _, folder, names in found.files for name in names}
        problems += [problem for _, problem in found.problems]
    return list(files), problems + empty_path_problems(paths, fruitful)
