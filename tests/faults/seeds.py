"""The intact files that are damaged: small ones of every transfer syntax and kind that is read.

They come with pydicom and pydicom-data, from `../shared/data` where it is, and from encoders that
are not ours for the syntaxes of which nobody ships a file.
"""

from __future__ import annotations

import functools
import io
import itertools
import re
import shutil
import warnings
import zipfile
import zlib
from collections.abc import Generator, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from unittest import mock

import imagecodecs
import numpy as np
import pydicom
import SimpleITK
import tifffile
from numpy.typing import NDArray
from PIL import Image
from pydicom.encaps import encapsulate
from pydicom.uid import UID

from app.imaging.dicom.dicom_file import read_header, silence_pydicom
from tests.conformance import kinds
from tests.conformance.files import SHARED, data_store
from tests.unit.imaging import files, layer_files, report_files
from tests.unit.imaging.files import make_dicom
from tests.unit.imaging.layer_files import frame_group, make_seg, make_slice
from tests.unit.imaging.report_files import content, image, make_report, number

Array = NDArray[Any]

LARGEST = 72 * 1024
_LARGEST_MATRIX = 512 * 512
_OF_A_KIND = 8
_TIMELESS = re.compile(rb"D:\d{14}Z|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
"""Times and UUIDs that writers put into files."""
_UNNAMED = {
    "1.2.840.10008.1.2.1.98": "1.2.840.10008.1.2.4.50",
    "1.2.840.10008.1.2.4.110": "1.2.840.10008.1.2.4.201",
    "1.2.840.10008.1.2.4.111": "1.2.840.10008.1.2.4.201",
    "1.2.840.10008.1.2.4.112": "1.2.840.10008.1.2.4.201",
    "1.2.840.10008.1.2.8.1": "1.2.840.10008.1.2.4.50",
}
"""Syntaxes that pydicom may not know yet, written first under a name of their length, padded."""


@dataclass(frozen=True, slots=True)
class Seed:
    """An intact file.

    Attributes:
        kind: Transfer syntax, or the format: what the table counts by.
        name: What it is, for reports.
        suffix: The end of a mutant's file name; "DICOMDIR" for one that must be called so.
        data: Its bytes.
    """

    kind: str
    name: str
    suffix: str
    data: bytes


def seeds(folder: Path, *, shared: bool = True) -> dict[str, list[Seed]]:
    """Kind -> its files, always in the same order.

    Args:
        folder: Where files are made for a moment.
        shared: Whether those of `../shared/data` count; without them mutants are the same
            everywhere.
    """
    silence_pydicom()
    found: dict[str, list[Seed]] = {}
    with warnings.catch_warnings(), _same_names():
        warnings.simplefilter("ignore")
        for seed in (*_encoded(folder), *_shipped(shared), *_made(folder), *_pictures()):
            known = found.setdefault(seed.kind, [])
            if len(known) < _OF_A_KIND:
                known.append(replace(seed, data=_TIMELESS.sub(_zeros, seed.data)))
    return dict(sorted(found.items()))


@contextmanager
def _same_names() -> Generator[None]:
    """The UIDs that are made up are the same each time, so that mutants are."""
    numbers = itertools.count(1)
    with ExitStack() as stack:
        for module in (files, kinds, layer_files, report_files):
            if hasattr(module, "generate_uid"):
                made = functools.partial(_uid, numbers)
                stack.enter_context(mock.patch.object(module, "generate_uid", made))
        yield


def _uid(numbers: Iterator[int]) -> UID:
    return UID(f"1.2.826.0.1.3680043.9.{next(numbers):06d}")


def _zeros(found: re.Match[bytes]) -> bytes:
    return re.sub(rb"[0-9a-f]", b"0", found.group())


def _shipped(shared: bool) -> list[Seed]:
    roots = [Path(pydicom.__file__).parent / "data" / "test_files", data_store()]
    if shared and (SHARED / "dicom").is_dir():
        roots += [SHARED / "dicom"]
    found: list[Seed] = []
    for root in roots:
        for path in sorted(root.rglob("*")):
            if not path.is_file() or not 700 < path.stat().st_size <= LARGEST:
                continue
            seed = _dicom_seed(path)
            if seed is not None:
                found.append(seed)
    return found


def _dicom_seed(path: Path) -> Seed | None:
    try:
        header = read_header(path)
        matrix = header.count("Rows", 0) * header.count("Columns", 0)
    except Exception:
        return None
    if "DirectoryRecordSequence" in header.dataset:
        return Seed("DICOMDIR", path.name, "DICOMDIR", path.read_bytes())
    if matrix > _LARGEST_MATRIX:
        return None
    kind = str(header.syntax) if header.pixels is not None else f"object {header.text('Modality')}"
    return Seed(kind, path.name, ".dcm", path.read_bytes())


def packed(
    path: Path, pixels: Array, syntax: str, parts: list[bytes], table: bool = True, **more: Any
) -> Path:
    """A file of `pixels`' layout with these code streams instead, one a frame."""
    make_dicom(path, pixels, **({"SOPInstanceUID": f"1.2.826.7.{len(parts[0])}"} | more))
    ds = pydicom.dcmread(path)
    written = syntax if UID(syntax).is_transfer_syntax else _UNNAMED[syntax]
    ds.file_meta.TransferSyntaxUID = UID(written)
    ds.PixelData = encapsulate(parts, has_bot=table)
    ds["PixelData"].VR = "OB"
    ds["PixelData"].is_undefined_length = True
    ds.save_as(path)
    if written != syntax:
        names = [uid.encode() + b"\0" * (len(uid) % 2) for uid in (written, syntax)]
        assert len(names[0]) == len(names[1])
        path.write_bytes(path.read_bytes().replace(names[0], names[1], 1))
    return path


def a_picture(dtype: str = "<u1", samples: int = 1, side: int = 24) -> Array:
    """A ramp with some texture; smooth enough that every codec uses its usual paths."""
    y, x = np.mgrid[0:side, 0:side]
    top = 255 if dtype == "<u1" else 4000
    grey = ((x * 3 + y * 5 + (x * y) % 7) * top // (side * 9)).astype(dtype)
    return grey if samples == 1 else np.stack([grey, grey[::-1], grey.T], axis=-1).astype(dtype)


def encode(syntax: str, pixels: Array) -> bytes:
    """One frame as a code stream of a transfer syntax.

    Raises:
        KeyError: There is no encoder for it here.
    """
    codec = _ENCODERS[syntax]
    return bytes(codec(np.ascontiguousarray(pixels)))


def _jpeg(pixels: Array) -> bytes:
    return bytes(imagecodecs.jpeg8_encode(pixels, level=90))


def _jpeg_lossless(pixels: Array) -> bytes:
    return bytes(imagecodecs.jpeg8_encode(pixels, lossless=True, predictor=1))


def _deflate(pixels: Array) -> bytes:
    packer = zlib.compressobj(wbits=-15)
    data = packer.compress(pixels.tobytes()) + packer.flush()
    return data + b"\0" * (len(data) % 2)


def _rle(pixels: Array) -> bytes:
    width = pixels.dtype.itemsize
    planes = pixels.reshape(*pixels.shape[:2], -1).view(np.uint8)
    rows, columns = pixels.shape[:2]
    planes = planes.reshape(rows, columns, -1, width)
    segments: list[bytes] = []
    for sample in range(planes.shape[2]):
        for byte in reversed(range(width)):
            plane = np.ascontiguousarray(planes[:, :, sample, byte])
            data = bytes(imagecodecs.packbits_encode(plane, axis=-1))
            segments.append(data + b"\0" * (len(data) % 2))
    starts = [64]
    for segment in segments[:-1]:
        starts.append(starts[-1] + len(segment))
    head = np.zeros(16, "<u4")
    head[0], head[1 : 1 + len(starts)] = len(segments), starts
    return head.tobytes() + b"".join(segments)


_ENCODERS: dict[str, Any] = {
    "1.2.840.10008.1.2.1.98": lambda pixels: pixels.tobytes(),
    "1.2.840.10008.1.2.4.50": _jpeg,
    "1.2.840.10008.1.2.4.51": lambda p: imagecodecs.jpeg8_encode(p, level=90, bitspersample=12),
    "1.2.840.10008.1.2.4.57": _jpeg_lossless,
    "1.2.840.10008.1.2.4.70": _jpeg_lossless,
    "1.2.840.10008.1.2.4.80": imagecodecs.jpegls_encode,
    "1.2.840.10008.1.2.4.81": lambda pixels: imagecodecs.jpegls_encode(pixels, level=2),
    "1.2.840.10008.1.2.4.90": lambda p: imagecodecs.jpeg2k_encode(
        p, level=0, reversible=True, codecformat="j2k"
    ),
    "1.2.840.10008.1.2.4.91": lambda p: imagecodecs.jpeg2k_encode(p, level=60, codecformat="j2k"),
    "1.2.840.10008.1.2.4.92": lambda p: imagecodecs.jpeg2k_encode(
        p, level=0, reversible=True, codecformat="j2k"
    ),
    "1.2.840.10008.1.2.4.110": lambda pixels: imagecodecs.jpegxl_encode(pixels, lossless=True),
    "1.2.840.10008.1.2.4.112": lambda pixels: imagecodecs.jpegxl_encode(pixels, level=80),
    "1.2.840.10008.1.2.4.201": lambda p: imagecodecs.htj2k_encode(p, reversible=True),
    "1.2.840.10008.1.2.4.202": lambda p: imagecodecs.htj2k_encode(p, reversible=True),
    "1.2.840.10008.1.2.4.203": lambda p: imagecodecs.htj2k_encode(p, reversible=False),
    "1.2.840.10008.1.2.5": _rle,
    "1.2.840.10008.1.2.8.1": _deflate,
}
ENCODED = tuple(_ENCODERS)
"""Transfer syntaxes that `encode` writes."""

_WIDE_ONLY = frozenset({"1.2.840.10008.1.2.4.51"})
_NARROW_ONLY = frozenset({"1.2.840.10008.1.2.4.50"})


def _encoded(folder: Path) -> list[Seed]:
    """Grey of 8 and of 12 bits, colour, and three frames, in every compression."""
    found: list[Seed] = []
    grey, wide, colour = a_picture(), a_picture("<u2"), a_picture(samples=3)
    for syntax in _ENCODERS:
        makers: list[tuple[str, Array, int, dict[str, Any]]] = []
        if syntax not in _WIDE_ONLY:
            makers += [("grey", grey, 1, {}), ("colour", colour, 1, {})]
        if syntax not in _NARROW_ONLY:
            makers += [("wide", wide, 3, {"BitsStored": 12, "HighBit": 11, "NumberOfFrames": 3})]
        for name, pixels, count, more in makers:
            path = folder / "one.dcm"
            code = encode(syntax, pixels)
            path = packed(path, pixels, syntax, [code] * count, **more)
            found.append(Seed(syntax, f"made, {name}", ".dcm", path.read_bytes()))
    return found


def _made(folder: Path) -> list[Seed]:
    """Objects, volumes, documents and archives."""
    found: list[Seed] = []
    for make, kind, name in (
        (kinds.structure_set, "object RTSTRUCT", "structures.dcm"),
        (kinds.presentation_state, "object PR", "state.dcm"),
        (kinds.encapsulated_pdf, "object DOC", "document.dcm"),
    ):
        make(folder)
        found.append(Seed(kind, name, ".dcm", (folder / name).read_bytes()))
    keys = {"SOPClassUID": "1.2.840.10008.5.1.4.1.1.88.59", "Modality": "KO"}
    make_report(folder / "key.dcm", image("1.2.3.4", 1), **keys)
    found.append(Seed("object KO", "made KO", ".dcm", (folder / "key.dcm").read_bytes()))
    found += [Seed("object SR", "made SR", ".dcm", _report(folder)), *_segmentations(folder)]
    for suffix in (".nii", ".nii.gz", ".nrrd", ".mha"):
        k, j, i = np.mgrid[0:6, 0:20, 0:24]
        volume = SimpleITK.GetImageFromArray((i + j * 3 + k * 40).astype(np.int16))
        path = folder / f"ball{suffix}"
        SimpleITK.WriteImage(volume, str(path), suffix != ".nii")
        found.append(Seed(suffix[1:], path.name, suffix, path.read_bytes()))
    found += _documents(folder)
    return found


def _report(folder: Path) -> bytes:
    make_report(
        folder / "report.dcm",
        content("CONTAINER", "Findings", number("Diameter", "12.5", ("mm", "UCUM", "mm"))),
        content("TEXT", "Comment", TextValue="One line\nand another"),
        image("1.2.3.4", 1),
    )
    return (folder / "report.dcm").read_bytes()


def _segmentations(folder: Path) -> list[Seed]:
    sheet = make_slice(folder / "slice.dcm", SOPInstanceUID="1.2.826.7.9")
    mask = np.zeros((2, 10, 12), np.uint8)
    mask[:, 2:6, 3:8] = 255
    groups = [frame_group(n, (-30.0, 40.0, 0.0), [("1.2.826.7.9", None)]) for n in (1, 2)]
    seg = make_seg(folder / "seg.dcm", mask, groups)
    data = sheet.read_bytes()
    return [
        Seed("object SEG", "made SEG", ".dcm", seg.read_bytes()),
        Seed("1.2.840.10008.1.2.1", "made slice", ".dcm", data),
    ]


def _documents(folder: Path) -> list[Seed]:
    page = Image.new("RGB", (120, 80), "white")
    page.save(folder / "page.pdf", resolution=100)
    ct = Path(pydicom.__file__).parent / "data" / "test_files" / "MR_small_RLE.dcm"
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
        for name, source in (("IM0001", ct), ("IM0002", folder / "slice.dcm")):
            member = zipfile.ZipInfo(f"series/{name}")
            member.compress_type = zipfile.ZIP_DEFLATED
            file.writestr(member, source.read_bytes())
    return [
        Seed("pdf", "page.pdf", ".pdf", (folder / "page.pdf").read_bytes()),
        Seed("zip", "study.zip", ".zip", archive.getvalue()),
    ]


def _pictures() -> list[Seed]:
    found: list[Seed] = []
    grey, colour = a_picture(side=40), a_picture(samples=3, side=40)
    for form, suffix in (("PNG", ".png"), ("JPEG", ".jpg"), ("GIF", ".gif"), ("BMP", ".bmp")):
        found += [Seed(form, form, suffix, _saved(pixels, form)) for pixels in (grey, colour)]
    found.append(Seed("JPEG", "progressive", ".jpg", _saved(colour, "JPEG", progressive=True)))
    found.append(Seed("WebP", "WebP", ".webp", _saved(colour, "WEBP", lossless=True)))
    frames = [Image.fromarray(grey), Image.fromarray(grey[::-1].copy())]
    for form, suffix in (("GIF", ".gif"), ("WEBP", ".webp")):
        buffer = io.BytesIO()
        frames[0].save(buffer, form, save_all=True, append_images=frames[1:], duration=80)
        kind = "WebP" if form == "WEBP" else form
        found.append(Seed(kind, "animation", suffix, buffer.getvalue()))
    wide = bytes(imagecodecs.png_encode(a_picture("<u2", side=40)))
    found.append(Seed("PNG", "16 bits", ".png", wide))
    for compression in (None, "deflate", "lzw", "jpeg", "packbits", "jpeg2000"):
        buffer = io.BytesIO()
        options: dict[str, Any] = {"tile": (16, 16)} if compression in ("jpeg", "lzw") else {}
        tifffile.imwrite(buffer, colour, compression=compression, photometric="rgb", **options)
        found.append(Seed("TIFF", f"TIFF {compression}", ".tif", buffer.getvalue()))
    buffer = io.BytesIO()
    stack = np.stack([a_picture("<u2")] * 3)
    tifffile.imwrite(buffer, stack, ome=True, metadata={"axes": "ZYX"})
    found.append(Seed("TIFF", "OME-TIFF", ".ome.tif", buffer.getvalue()))
    return found


def _saved(pixels: Array, form: str, **options: Any) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, form, **options)
    return buffer.getvalue()


def put_directory(folder: Path, data: bytes) -> Path:
    """A DICOMDIR in a folder with a few of the files that pydicom's own ones name."""
    folder.mkdir(parents=True)
    path = folder / "DICOMDIR"
    path.write_bytes(data)
    source = Path(pydicom.__file__).parent / "data" / "test_files" / "dicomdirtests"
    for name in ("77654033/CR1/6154", "98892003/MR1/15820"):
        if (source / name).exists():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source / name, folder / name)
    return path
