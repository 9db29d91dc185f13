"""Size and storage of a file's pixels (Image Pixel, PS3.3 C.7.6.3), checked before decoding."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from app.errors import FileProblem
from app.imaging import guards
from app.imaging.dicom.dicom_file import UNDEFINED_LENGTH, Header, PixelSpan
from app.imaging.dicom.fragments import find_fragments, whole_frames
from app.imaging.files import sources
from app.imaging.files.sources import FileStatus

_ALLOCATED = (1, 8, 12, 16, 24, 32, 64)
_MULTI_FRAME = ("Multi-frame", "Enhanced", "Nuclear Medicine", "Angiographic", "Radiofluoroscopic")
_SUBSAMPLED = ("YBR_FULL_422", "YBR_PARTIAL_422")
_DELIMITER = b"\xfe\xff\xdd\xe0\0\0\0\0"
"""Sequence Delimitation Item, with which compressed pixels end (PS3.5 A.4)."""
_GREY = ("MONOCHROME1", "MONOCHROME2", "PALETTE COLOR")
_COLOUR = ("RGB", "YBR_FULL", "YBR_RCT", "YBR_ICT", "YBR_PARTIAL_420", *_SUBSAMPLED)


@dataclass(frozen=True, slots=True)
class Layout:
    """The checked layout of the pixel data in one file.

    Attributes:
        rows: Rows that can be shown; fewer than declared if the file is cut short.
        allocated: Bits that a sample takes in the file: 1, 8, 12 (packed), 16, 24, 32 or 64.
        stored: How many of these bits form the value.
        signed: Whether the value is a two's complement number.
        photometric: Photometric Interpretation in upper case.
        high: Position of the value's most significant bit.
        planar: Whether colour is stored plane by plane (Planar Configuration 1).
        subsampled: Whether two pixels share their chrominance (uncompressed YBR_xxx_422).
        floating: Whether the pixels are Float or Double Float Pixel Data.
        missing_rows: Number of declared rows, at the bottom of the image, that are not in the file.
    """

    rows: int
    columns: int
    samples: int
    frames: int
    allocated: int
    stored: int
    signed: bool
    photometric: str
    high: int = -1
    planar: bool = False
    subsampled: bool = False
    floating: bool = False
    missing_rows: int = 0

    @property
    def pixels(self) -> int:
        """Number of pixels in one frame."""
        return self.rows * self.columns

    @property
    def frame_bits(self) -> int:
        """Number of bits that one uncompressed frame takes in the file."""
        bits = self.pixels * self.samples * self.allocated
        return bits * 2 // 3 if self.subsampled else bits

    @property
    def word_bytes(self) -> int:
        """Number of bytes per sample in the decoded array; 12-bit samples take 2, for example."""
        return {1: 1, 8: 1, 12: 2, 16: 2, 24: 4, 32: 4}.get(self.allocated, 8)


def layout_of(header: Header) -> Layout:
    """Return the layout of a file's pixels, checked against impossible values.

    Raises:
        FileProblem: There are no pixels, or an element is missing, damaged or impossible.
    """
    path = header.path
    if header.pixels is None:
        raise guards.problem(path, "it contains no pixels, only a header", guards.COPY_AGAIN)
    if header.pixels.declared == UNDEFINED_LENGTH and not header.encapsulated:
        raise guards.problem(
            path,
            f"its pixels are compressed, though declared uncompressed ({header.syntax.name})",
            "Ask for a new export",
        )
    floating = {"FloatPixelData": 32, "DoubleFloatPixelData": 64}.get(header.pixels.keyword)
    rows, columns = header.count("Rows", 0), header.count("Columns", 0)
    photometric = header.text("PhotometricInterpretation").upper() or "MONOCHROME2"
    samples = header.count("SamplesPerPixel", 3 if photometric in _COLOUR else 1)
    allocated = floating or header.count("BitsAllocated", 0)
    stored = floating or header.count("BitsStored", 0) or allocated
    if allocated not in _ALLOCATED or not 0 < stored <= allocated:
        raise guards.problem(
            path,
            f"its header is damaged: {stored} of {allocated} bits per pixel",
            guards.COPY_AGAIN,
        )
    frames = _frames(header, rows * columns * samples * allocated)
    guards.check_matrix(path, rows, columns, samples, frames)
    high = header.count("HighBit", stored - 1)
    layout = Layout(
        rows=rows,
        columns=columns,
        samples=samples,
        frames=frames,
        allocated=allocated,
        stored=stored,
        signed=header.count("PixelRepresentation", 0) == 1,
        photometric=photometric,
        high=high if stored - 1 <= high < allocated and not floating else stored - 1,
        planar=samples > 1 and header.count("PlanarConfiguration", 0) == 1,
        subsampled=_is_subsampled(header, photometric, rows * columns * allocated * frames),
        floating=floating is not None,
    )
    return _without_missing_rows(header, layout)


def _without_missing_rows(header: Header, layout: Layout) -> Layout:
    """Return the layout of the whole rows that a single image which is cut short holds.

    Only for plain images stored row by row: a mask without its lower part would tell of nothing
    there, a slide's part would be placed in the slide, and 4:2:2 is told by the length.
    """
    placed = any(name in header.dataset for name in ("SegmentSequence", "TotalPixelMatrixRows"))
    split = layout.planar or layout.photometric in _SUBSAMPLED
    if header.pixels is None or header.encapsulated or layout.frames > 1 or placed or split:
        return layout
    row_bits = layout.columns * layout.samples * layout.allocated
    there = header.pixels.length * 8 // row_bits
    if not 0 < there < layout.rows:
        return layout
    return replace(layout, rows=there, missing_rows=layout.rows - there)


def pixel_header_notes(header: Header, layout: Layout) -> tuple[str, ...]:
    """Return notes for the user on how pixels are read if their description is incomplete or wrong.

    Empty if the header obeys PS3.3 C.7.6.3 and PS3.5 8.1.1 (High Bit is Bits Stored - 1).
    """
    notes: list[str] = []
    photometric = header.text("PhotometricInterpretation").upper()
    if layout.samples == 1 and photometric not in _GREY:
        wrong = f"calls its greys {photometric[:16]}" if photometric else "names no kind of greys"
        notes.append(f"the header {wrong}: low values are shown dark")
    if layout.floating or layout.allocated == 1:
        return tuple(notes)
    stored, high = layout.stored, header.count("HighBit", layout.stored - 1)
    if not header.count("BitsStored", 0):
        notes.append(f"the header does not say how many bits a value has: all {stored} are used")
    if high != stored - 1:
        used = f"{layout.high - stored + 1} to {layout.high}"
        notes.append(f"High Bit {high} contradicts Bits Stored {stored}: bits {used} are used")
    signed = header.text("PixelRepresentation") in ("0", "1") or photometric == "PALETTE COLOR"
    if layout.samples == 1 and not signed:
        notes.append(
            "the header does not say whether values can be negative: all are read as positive"
        )
    return tuple(notes)


def _frames(header: Header, frame_bits: int) -> int:
    """Return NumberOfFrames, else the number of frames that the pixel data holds."""
    text = header.text("NumberOfFrames")
    if text.lstrip("-").isdecimal():
        return int(text) or 1
    span = header.pixels
    if span is None or frame_bits <= 0:
        return 1
    if header.encapsulated:
        return _encapsulated_frames(header, span) if text or is_multi_frame_class(header) else 1
    frames, rest = divmod(span.length * 8, frame_bits)
    # A value of odd length is followed by one byte of padding.
    return frames if 1 < frames <= guards.MAX_FRAMES and rest <= 8 else 1


def is_multi_frame_class(header: Header) -> bool:
    """Return whether the file's SOP Class is one of the multi-frame classes."""
    uid = header.value("SOPClassUID")
    name = str(getattr(uid, "name", ""))
    return any(word in name for word in _MULTI_FRAME)


def _encapsulated_frames(header: Header, span: PixelSpan) -> int:
    """Return the number of frames by the offset table, else by the code streams found."""
    try:
        with sources.open_file(header.path) as file:
            fragments = find_fragments(file, span.offset, span.length)
    except ValueError as error:
        reason = "its compressed pixels are damaged"
        raise guards.problem(header.path, reason, guards.COPY_AGAIN, str(error)) from None
    found = len(fragments.offsets) or sum(fragments.starts) or len(fragments.spans)
    return min(max(found, 1), guards.MAX_FRAMES)


def _is_subsampled(header: Header, photometric: str, plane_bits: int) -> bool:
    """Return whether pixels really are 4:2:2: decompressed files often keep the name."""
    if header.encapsulated or photometric not in _SUBSAMPLED or header.pixels is None:
        return False
    return header.pixels.length * 8 < plane_bits * 3


def complete_frames(header: Header, layout: Layout) -> int:
    """Return the number of complete frames from the first on; below `layout.frames` if cut short.

    A single compressed frame counts as complete: only decoding shows whether it is.
    """
    span = header.pixels
    if span is None or span.length == 0:
        return 0
    if not header.encapsulated:
        return min(layout.frames, span.length * 8 // layout.frame_bits)
    if layout.frames == 1:
        return 1
    extended = header.value("ExtendedOffsetTable"), header.value("ExtendedOffsetTableLengths")
    status = sources.status(header.path)
    return _whole_compressed_frames(header.path, status, span, layout.frames, extended)


@lru_cache(maxsize=8)
def _whole_compressed_frames(
    path: Path, status: FileStatus, span: PixelSpan, frames: int, extended: tuple[Any, Any]
) -> int:
    """Return `complete_frames` of compressed pixels, cached while a cine is read."""
    with sources.open_file(path) as file:
        file.seek(max(span.offset, span.offset + span.length - len(_DELIMITER)))
        if file.read() == _DELIMITER:
            return frames
        try:
            fragments = find_fragments(file, span.offset, span.length)
        except ValueError:
            return frames  # decoding will tell what is wrong
    return whole_frames(fragments, frames, extended)


def cut_short_note(header: Header, layout: Layout) -> str:
    """Return a note if some of the declared rows or frames are not in the file; else ""."""
    if layout.missing_rows:
        rows = layout.rows + layout.missing_rows
        return f"the file is cut short: only the upper {layout.rows} of its {rows} rows are in it"
    whole = complete_frames(header, layout)
    if whole == layout.frames:
        return ""
    return f"the file is cut short: only {whole} of its {layout.frames} frames are in it"


def truncation_problem(header: Header, layout: Layout) -> FileProblem:
    """Return the error to raise for a file that contains less pixel data than it declares."""
    if header.encapsulated:
        return guards.problem(header.path, cut_short_note(header, layout), guards.COPY_AGAIN)
    length = header.pixels.length if header.pixels else 0
    expected = math.ceil(layout.frame_bits * layout.frames / 8)
    return guards.problem(
        header.path,
        f"the file is cut short: it contains {length:,} of {expected:,} bytes of pixels",
        guards.COPY_AGAIN,
    )
