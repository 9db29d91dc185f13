"""Decoding one frame to stored values. Runs in a worker process: these libraries crash.

`DECODERS` says which decoder serves which transfer syntax, and why; all have licences that fit a
closed bundle. pylibjpeg-libjpeg is GPL and must not be used.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray
from pydicom.uid import UID

from app.errors import FileProblem
from app.imaging import guards
from app.imaging.dicom import code_streams
from app.imaging.dicom.code_streams import Decoded
from app.imaging.dicom.dicom_file import Header
from app.imaging.dicom.fragments import Fragments, find_fragments, frame_spans
from app.imaging.dicom.native_pixels import read_words, values_of
from app.imaging.dicom.pixel_layout import Layout, complete_frames, cut_short, layout_of
from app.imaging.files import sources
from app.imaging.files.code_stream_checks import CodeStreamFigures, declared_figures

__all__ = [
    "DECODERS",
    "Decoder",
    "Layout",
    "complete_frames",
    "cut_short",
    "decode",
    "decode_words",
    "layout_of",
]

Array = NDArray[Any]

_DEFLATED = "1.2.840.10008.1.2.1.99"


@dataclass(frozen=True, slots=True)
class Decoder:
    """What decodes a transfer syntax.

    Attributes:
        library: The package that does it, with the C library beneath.
        licence: Of that library.
        why: Why this one.
        decode: (header, layout, a frame's bytes) -> words and their photometric interpretation;
            None for uncompressed pixels.
    """

    library: str
    licence: str
    why: str
    decode: Callable[[Header, Layout, bytes], Decoded] | None = None


_NATIVE = Decoder("numpy", "BSD-3-Clause", "no codec: the bytes are the pixels")
_RLE = Decoder(
    "imagecodecs (own C)",
    "BSD-3-Clause",
    "packed runs only; takes packed bits and keeps bits outside the value, as others do not",
    code_streams.decode_rle,
)
_JPEG = Decoder(
    "Pillow (libjpeg-turbo) for 8 bits lossy, imagecodecs (libjpeg-turbo 3) for the rest",
    "MIT-CMU, BSD-3-Clause, IJG",
    "free, 8, 12 and 16 bits, lossy and lossless; keeps YBR for our own conversion",
    code_streams.decode_jpeg,
)
_JPEG_LS = Decoder(
    "imagecodecs (CharLS) for greys, pyjpegls (CharLS) for colour",
    "BSD-3-Clause, MIT",
    "all interleaves and precisions",
    code_streams.decode_jpeg,
)
_JPEG_2000 = Decoder(
    "pylibjpeg-openjpeg (OpenJPEG)",
    "MIT, BSD-2-Clause",
    "signed and unsigned, tested from 1 to 24 bits; mends a sign that differs from the header's",
    code_streams.decode_jpeg_2000,
)
_HTJ2K = Decoder(
    "pylibjpeg-openjpeg (OpenJPEG); imagecodecs (OpenJPH) above 16 bits",
    "MIT, BSD-2-Clause; BSD-3-Clause, BSD-2-Clause",
    "the library of JPEG 2000 decodes the high-throughput coding too, up to 16 bits",
    code_streams.decode_htj2k,
)
_JPEG_XL = Decoder(
    "imagecodecs (libjxl)", "BSD-3-Clause", "the reference decoder", code_streams.decode_jpeg_xl
)
_PLAIN = Decoder(
    "numpy", "BSD-3-Clause", "no codec: frames in fragments", code_streams.decode_plain
)
_DEFLATE = Decoder("zlib", "Zlib", "in Python itself", code_streams.decode_deflated)

DECODERS: dict[str, Decoder] = {
    "1.2.840.10008.1.2": _NATIVE,
    "1.2.840.10008.1.2.1": _NATIVE,
    "1.2.840.10008.1.2.1.98": _PLAIN,
    _DEFLATED: Decoder("zlib, numpy", "Zlib", "the whole data set is inflated in memory"),
    "1.2.840.10008.1.2.2": _NATIVE,
    "1.2.840.10008.1.2.4.50": _JPEG,
    "1.2.840.10008.1.2.4.51": _JPEG,
    "1.2.840.10008.1.2.4.53": _JPEG,
    "1.2.840.10008.1.2.4.55": _JPEG,
    "1.2.840.10008.1.2.4.57": _JPEG,
    "1.2.840.10008.1.2.4.70": _JPEG,
    "1.2.840.10008.1.2.4.80": _JPEG_LS,
    "1.2.840.10008.1.2.4.81": _JPEG_LS,
    "1.2.840.10008.1.2.4.90": _JPEG_2000,
    "1.2.840.10008.1.2.4.91": _JPEG_2000,
    "1.2.840.10008.1.2.4.92": _JPEG_2000,
    "1.2.840.10008.1.2.4.93": _JPEG_2000,
    "1.2.840.10008.1.2.4.110": _JPEG_XL,
    "1.2.840.10008.1.2.4.111": _JPEG_XL,
    "1.2.840.10008.1.2.4.112": _JPEG_XL,
    "1.2.840.10008.1.2.4.201": _HTJ2K,
    "1.2.840.10008.1.2.4.202": _HTJ2K,
    "1.2.840.10008.1.2.4.203": _HTJ2K,
    "1.2.840.10008.1.2.5": _RLE,
    "1.2.840.10008.1.2.8.1": _DEFLATE,
}
"""Transfer syntax UID -> its decoder."""

_MAX_WAVELET_SAMPLES = 2**27
"""OpenJPEG takes six bytes a sample and more, of a frame with nothing in it too."""
_WAVELETS = (code_streams.decode_jpeg_2000, code_streams.decode_htj2k)
_NO_CODE_STREAMS = (
    code_streams.decode_rle,
    code_streams.decode_plain,
    code_streams.decode_deflated,
)
"""Frames that say nothing of themselves, and may begin with any bytes."""

_VIDEO = tuple(f"1.2.840.10008.1.2.4.10{number}" for number in range(9))
_JPIP = tuple(f"1.2.840.10008.1.2.4.{number}" for number in (94, 95, 204, 205))
_NAMES = {
    "1.2.840.10008.1.2.4.110": "JPEG XL Lossless",
    "1.2.840.10008.1.2.4.111": "JPEG XL JPEG Recompression",
    "1.2.840.10008.1.2.4.112": "JPEG XL",
    "1.2.840.10008.1.2.8.1": "Deflated Image Frame Compression",
}
"""Names that pydicom's dictionary does not have yet."""


def syntax_name(syntax: str) -> str:
    """The transfer syntax's name in PS3.6, its UID, or words for what is none."""
    uid = UID(syntax)
    known = _NAMES.get(syntax)
    if not uid.is_valid:
        return "of an unknown kind"
    return known or (uid.name if uid.is_transfer_syntax or uid.is_private else str(uid))


def decode(header: Header, layout: Layout, index: int) -> tuple[Array, str]:
    """Decode one frame.

    Args:
        header: The file.
        layout: Its checked figures.
        index: Frame from 0.

    Returns:
        Stored values [rows, columns] or [rows, columns, samples] in native byte order, and the
        photometric interpretation that they are in (the code stream may differ from the header).

    Raises:
        FileProblem: The frame is missing, damaged, or compressed in a way that is not supported.
    """
    words, photometric = decode_words(header, layout, index)
    return stored_values(header, layout, words), photometric


def stored_values(header: Header, layout: Layout, words: Array) -> Array:
    """What `decode_words` gave, without the bits that are not the value's."""
    values = values_of(words, layout)
    return np.ascontiguousarray(values, values.dtype.newbyteorder("="))


def decode_words(header: Header, layout: Layout, index: int) -> tuple[Array, str]:
    """As `decode`, but with all bits of each word: some files keep overlays in the others."""
    path = header.path
    if not 0 <= index < layout.frames:
        raise guards.problem(path, f"it has {layout.frames} frames; there is no {index + 1}th")
    if index >= complete_frames(header, layout):
        raise cut_short(header, layout)
    reader = _reader(header)
    try:
        with ExitStack() as stack:
            if header.inflated is not None:
                source: BinaryIO = io.BytesIO(header.inflated)
            else:
                source = stack.enter_context(sources.open_file(path))
            return reader(layout, source, index)
    except (FileProblem, MemoryError, KeyboardInterrupt, SystemExit):
        raise
    except OSError as error:
        raise guards.unreadable(path, error) from None
    except BaseException as error:  # a codec written in Rust panics with no Exception
        reason = f"frame {index + 1}: " if layout.frames > 1 else ""
        raise guards.problem(
            path,
            f"{reason}its pixels are damaged and cannot be decoded ({syntax_name(header.syntax)})",
            guards.COPY_AGAIN,
            type(error).__name__,
        ) from None


def _reader(header: Header) -> Callable[[Layout, BinaryIO, int], Decoded]:
    decoder = DECODERS.get(str(header.syntax))
    if decoder is None:
        raise _not_supported(header)
    if decoder.decode is None:
        return partial(_read_native, header)
    return partial(_read_compressed, header, decoder.decode)


def _not_supported(header: Header) -> FileProblem:
    name = syntax_name(header.syntax)
    if str(header.syntax).startswith(_VIDEO):
        return guards.problem(
            header.path,
            f"it is a video ({name}), which cannot be shown here",
            "Play it in a video player, or ask for an export as single images without compression",
        )
    if str(header.syntax) in _JPIP:
        return guards.problem(
            header.path,
            f"it holds no pixels, only a link to a server that has them ({name})",
            "Ask for an export with the pixels in the file",
        )
    return guards.problem(
        header.path,
        f"its compression ({name}) cannot be decoded",
        "Ask for an export without compression, or in JPEG 2000",
    )


def _read_native(header: Header, layout: Layout, source: BinaryIO, index: int) -> Decoded:
    span = header.pixels
    assert span is not None
    source.seek(span.offset)
    words = read_words(
        source,
        layout,
        index,
        little=header.little_endian,
        words_of_16=span.vr != "OB",
    )
    return words, layout.photometric


def _read_compressed(
    header: Header,
    decoder: Callable[[Header, Layout, bytes], Decoded],
    layout: Layout,
    source: BinaryIO,
    index: int,
) -> Decoded:
    if decoder in _WAVELETS and layout.pixels * layout.samples > _MAX_WAVELET_SAMPLES:
        raise guards.too_large(header.path, layout.rows, layout.columns)
    data = _frame_bytes(header, layout, source, index)
    if guards.holds_too_little(layout.pixels * layout.samples, len(data)):
        raise ValueError(f"{layout.pixels} pixels in {len(data)} bytes")
    try:
        coded = None if decoder in _NO_CODE_STREAMS else declared_figures(data)
    except ValueError as error:
        reason = "its compressed data is damaged: what it says of itself cannot be right"
        raise guards.problem(header.path, reason, guards.COPY_AGAIN, str(error)) from None
    if coded is not None:
        _check_code_stream(header, layout, coded)
    words, photometric = decoder(header, layout, data)
    return _as_declared(code_streams.shaped_like(words, layout), layout, coded), photometric


def _as_declared(words: Array, layout: Layout, coded: CodeStreamFigures | None) -> Array:
    """Words of the declared size with the value where High Bit says.

    Decoders give fewer bytes where the code stream needs no more, and compressors often move the
    value to the lowest bits.
    """
    if words.dtype.itemsize < layout.word_bytes and words.dtype.kind in "iu":
        words = words.astype(f"{words.dtype.kind}{layout.word_bytes}")
    up = layout.high - (layout.stored - 1)
    if not up or coded is None or not 0 < coded.precision <= layout.stored:
        return words
    return np.left_shift(words.view(f"u{words.dtype.itemsize}"), up)


@lru_cache(maxsize=8)
def _fragments(path: Path, status: sources.FileStatus, offset: int, length: int) -> Fragments:
    """Kept while the frames of a cine are asked for one by one."""
    with sources.open_file(path) as file:
        return find_fragments(file, offset, length)


def _frame_bytes(header: Header, layout: Layout, source: BinaryIO, index: int) -> bytes:
    """One frame's code stream."""
    span = header.pixels
    assert span is not None
    fragments = _fragments(header.path, sources.status(header.path), span.offset, span.length)
    extended = header.value("ExtendedOffsetTable"), header.value("ExtendedOffsetTableLengths")
    found = frame_spans(fragments, layout.frames, index, extended)
    if not found:
        raise guards.problem(
            header.path,
            f"frame {index + 1} of {layout.frames} is not in the file: it holds "
            f"{len(fragments.spans)} compressed parts",
            guards.COPY_AGAIN,
        )
    parts: list[bytes] = []
    for place, size in found:
        source.seek(place)
        parts.append(source.read(size))
    return b"".join(parts)


def _check_code_stream(header: Header, layout: Layout, coded: CodeStreamFigures) -> None:
    """Refuse a code stream of another size or number of samples, before it is decoded."""
    size, declared = (coded.rows, coded.columns), (layout.rows, layout.columns)
    turned = coded.turned and size[::-1] == declared
    if coded.rows and size != declared and not turned:
        raise guards.problem(
            header.path,
            f"it declares {layout.columns} x {layout.rows} pixels, but its compressed data holds "
            f"{coded.columns} x {coded.rows}",
            guards.COPY_AGAIN,
        )
    if coded.components and coded.components != layout.samples:
        raise guards.problem(
            header.path,
            f"it declares {layout.samples} samples a pixel, but its compressed data holds "
            f"{coded.components}",
            guards.COPY_AGAIN,
        )
