"""Choice of the module that reads a file, by the file's content. Runs in a worker process.

A reader is a module with `read_instances(path)`, `read_frame(path, part, index)` and
`read_rows(path)` (for the attributes' panel). `READERS` names the reader of each kind of file.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

from app.errors import FileProblem
from app.imaging import guards
from app.imaging.dicom.dicom_file import looks_like_dicom
from app.imaging.files import sources
from app.imaging.formats.picture_file import other_format, picture_format
from app.imaging.formats.volume_header import volume_format
from app.imaging.openable import REMEDY
from app.imaging.types import Instance

READERS = {
    "dicom": "app.imaging.reading.dicom_image",
    "picture": "app.imaging.formats.picture_file",
    "tiff": "app.imaging.formats.tiff_file",
    "volume": "app.imaging.formats.volume_file",
    "pdf": "app.imaging.formats.pdf_file",
}
"""Kind of file -> module that reads it, imported on demand."""

_START = 2048
_TIFF = (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+")
_HEADERS_OF = {".img": (".hdr",), ".raw": (".mhd", ".nhdr"), ".zraw": (".mhd",)}
"""Suffix of files that hold only pixels -> suffixes of the headers that may describe them."""


def reader_of(path: Path) -> ModuleType:
    """Return the module of `READERS` that reads a file; raise FileProblem if there is none."""
    return importlib.import_module(READERS[sniff(path)])


def sniff(path: Path) -> str:
    """Return the kind of a file (a key of `READERS`), judged by its content.

    Raises:
        FileProblem: No reader supports the file; the error says what the file is, if known.
    """
    start = sources.read_start(path, _START)
    # DICOM first: its preamble may hold the start of a TIFF, for readers of either (PS3.10 7.1).
    if start[128:132] == b"DICM":
        return "dicom"
    if picture_format(start):
        return "picture"
    if start.startswith(_TIFF):
        return "tiff"
    if volume_format(start):
        return "volume"
    if b"%PDF-" in start[:1024]:
        return "pdf"
    if looks_like_dicom(start):
        return "dicom"
    other = other_format(start)
    owner = _header_of(path)
    if owner is not None:
        reason = f"it contains the pixels of {owner.name} and nothing that describes them"
        raise guards.problem(path, reason, f"Open {owner.name}")
    remedy = "Unpack it first" if "zip" in other else REMEDY
    reason = f"it is {other}, not an image that can be shown" if other else "it is not an image"
    raise guards.problem(path, reason, remedy)


def depends_on_other_file(path: Path, found: Sequence[Instance]) -> bool:
    """Return whether what is read from a file depends on a second file: its header or its voxels.

    `found` are the instances read from `path`; empty if the file was refused.
    """
    if found:
        return found[0].kind == "volume" and reader_of(path).has_separate_voxels(path)
    try:
        return sniff(path) == "volume"  # its voxels may only be missing
    except FileProblem:
        return _base(path).suffix.lower() in _HEADERS_OF


def _base(path: Path) -> Path:
    return path.with_suffix("") if path.suffix.lower() == ".gz" else path


def _header_of(path: Path) -> Path | None:
    """Return the header file beside a file that holds only pixels, or None."""
    base = _base(path)
    suffixes = _HEADERS_OF.get(base.suffix.lower(), ())
    candidates = (base.with_suffix(f"{one}{end}") for one in suffixes for end in ("", ".gz"))
    return next((candidate for candidate in candidates if candidate.is_file()), None)
