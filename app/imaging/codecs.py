"""Decoding one frame to stored values. Runs in a worker process: these libraries crash.

Which decoder serves which transfer syntax, all with licences that fit a closed bundle:

| transfer syntax | decoder | why |
|---|---|---|
| uncompressed, all endian and VR forms, deflated | pydicom, numpy | no codec |
| RLE lossless | pydicom (pylibjpeg-rle if installed); 1 bit: here | pydicom refuses packed bits |
| JPEG baseline (8 bit) | pydicom with Pillow (libjpeg-turbo) | keeps YBR for our conversion |
| JPEG extended (8, 12 bit), lossless | imagecodecs (libjpeg-turbo 3) | free, 12 and 16 bit |
| JPEG-LS | pydicom with pyjpegls (CharLS) | handles interleaves and precision |
| JPEG 2000, HTJ2K | pydicom with pylibjpeg-openjpeg | handles HTJ2K and sign mismatch |
| deflated image frames | zlib | no codec |

pylibjpeg-libjpeg is GPL and must not be used.
"""

from __future__ import annotations

import io
import math
import struct
import zlib
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray
from pydicom.encaps import get_frame
from pydicom.pixels.decoders.base import get_decoder
from pydicom.pixels.utils import as_pixel_options
from pydicom.uid import (
    UID,
    JPEGExtended12Bit,
    JPEGLossless,
    JPEGLosslessSV1,
    RLELossless,
)

from app.errors import FileProblem
from app.imaging import guards, sources
from app.imaging.dicom_file import Header

Array = NDArray[Any]

DEFLATED_FRAMES = UID("1.2.840.10008.1.2.8.1")


@dataclass(frozen=True, slots=True)
class Layout:
    """The Image Pixel module's figures (PS3.3 C.7.6.3), checked."""

    rows: int
    columns: int
    samples: int
    frames: int
    allocated: int
    stored: int
    signed: bool
    photometric: str

    @property
    def pixels(self) -> int:
        """Pixels of one frame."""
        return self.rows * self.columns

    @property
    def frame_bits(self) -> int:
        """Bits of one uncompressed frame."""
        bits = self.pixels * self.samples * self.allocated
        return bits * 2 // 3 if self.photometric == "YBR_FULL_422" else bits


def layout_of(header: Header) -> Layout:
    """Read and check the figures that decoding rests on.

    Raises:
        FileProblem: There are no pixels, or figures are missing, damaged or impossible.
    """
    path = header.path
    if header.pixels is None:
        raise guards.problem(path, "it holds no pixels", guards.COPY_AGAIN)
    floating = {"FloatPixelData": 32, "DoubleFloatPixelData": 64}.get(header.pixels.keyword)
    layout = Layout(
        rows=header.count("Rows", 0),
        columns=header.count("Columns", 0),
        samples=header.count("SamplesPerPixel", 1),
        frames=header.count("NumberOfFrames", 1) or 1,
        allocated=floating or header.count("BitsAllocated", 0),
        stored=floating or header.count("BitsStored", 0) or header.count("BitsAllocated", 0),
        signed=header.count("PixelRepresentation", 0) == 1,
        photometric=header.text("PhotometricInterpretation").upper() or "MONOCHROME2",
    )
    guards.check_matrix(path, layout.rows, layout.columns, layout.samples, layout.frames)
    if layout.allocated not in (1, 8, 16, 32, 64) or not 0 < layout.stored <= layout.allocated:
        raise guards.problem(
            path,
            f"its header is damaged: {layout.stored} of {layout.allocated} bits per pixel",
            guards.COPY_AGAIN,
        )
    return layout


def complete_frames(header: Header, layout: Layout) -> int:
    """How many frames the file really holds; the declared number for compressed pixels."""
    span = header.pixels
    if span is None or span.length == 0:
        return 0
    if header.encapsulated:
        return layout.frames
    return min(layout.frames, span.length * 8 // layout.frame_bits)


def cut_short(header: Header, layout: Layout) -> FileProblem:
    """The words for uncompressed pixels of which some are missing."""
    length = header.pixels.length if header.pixels else 0
    expected = math.ceil(layout.frame_bits * layout.frames / 8)
    return guards.problem(
        header.path,
        f"the file is cut short: it holds {length:,} of {expected:,} bytes of pixels",
        guards.COPY_AGAIN,
    )


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
    path = header.path
    if not 0 <= index < layout.frames:
        raise guards.problem(path, f"it has {layout.frames} frames; there is no {index + 1}th")
    if index >= complete_frames(header, layout):
        raise cut_short(header, layout)
    try:
        with ExitStack() as stack:
            if header.inflated is not None:
                source: BinaryIO = io.BytesIO(header.inflated)
            else:
                source = stack.enter_context(sources.open_file(path))
            source.seek(header.pixels.offset if header.pixels else 0)
            array, photometric = _decoder(header)(header, layout, source, index)
    except (FileProblem, MemoryError, KeyboardInterrupt, SystemExit):
        raise
    except OSError as error:
        raise guards.unreadable(path, error) from None
    except BaseException as error:  # a codec written in Rust panics with no Exception
        reason = f"frame {index + 1}: " if layout.frames > 1 else ""
        raise guards.problem(
            path,
            f"{reason}its pixels are damaged and cannot be decoded ({_name(header.syntax)})",
            guards.COPY_AGAIN,
            f"{type(error).__name__}: {error}"[:500],
        ) from None
    return np.ascontiguousarray(array, array.dtype.newbyteorder("=")), photometric


def _decoder(header: Header) -> Callable[[Header, Layout, BinaryIO, int], tuple[Array, str]]:
    syntax = header.syntax
    if syntax in (JPEGExtended12Bit, JPEGLossless, JPEGLosslessSV1):
        return _decode_jpeg
    if syntax == DEFLATED_FRAMES:
        return _decode_deflated
    if syntax == RLELossless and header.count("BitsAllocated", 0) == 1:
        return _decode_rle_bits
    try:
        get_decoder(syntax)
    except NotImplementedError:
        raise guards.problem(
            header.path,
            f"its compression ({_name(syntax)}) cannot be decoded",
            "Ask for an export without compression, or in JPEG 2000",
        ) from None
    return _decode_pydicom


def _name(syntax: UID) -> str:
    return syntax.name if syntax.is_transfer_syntax or syntax.is_private else str(syntax)


def _decode_pydicom(
    header: Header, layout: Layout, source: BinaryIO, index: int
) -> tuple[Array, str]:
    span = header.pixels
    assert span is not None
    options: dict[str, Any] = dict(as_pixel_options(header.dataset))
    options |= {
        "transfer_syntax_uid": header.syntax,
        "pixel_keyword": span.keyword,
        "rows": layout.rows,
        "columns": layout.columns,
        "samples_per_pixel": layout.samples,
        "number_of_frames": layout.frames,
        "bits_allocated": layout.allocated,
        "photometric_interpretation": layout.photometric,
    }
    if span.keyword == "PixelData":
        options |= {"bits_stored": layout.stored, "pixel_representation": int(layout.signed)}
    if layout.samples > 1:
        options.setdefault("planar_configuration", 0)
    if span.vr:
        options["pixel_vr"] = span.vr
    if header.encapsulated:
        _check_code_stream(header, layout, _frame_bytes(header, layout, source, index))
    decoder = get_decoder(header.syntax)
    array, properties = decoder.as_array(source, index=index, raw=True, **options)
    return array, str(properties["photometric_interpretation"])


def _decode_jpeg(header: Header, layout: Layout, source: BinaryIO, index: int) -> tuple[Array, str]:
    import imagecodecs

    data = _frame_bytes(header, layout, source, index)
    _check_code_stream(header, layout, data)
    space = "YCBCR" if layout.photometric.startswith("YBR") else "RGB"
    if layout.samples == 3:
        array: Array = imagecodecs.jpeg8_decode(data, colorspace=space, outcolorspace="RGB")
    else:
        array = imagecodecs.jpeg8_decode(data)
    expected = (layout.rows, layout.columns) + ((layout.samples,) if layout.samples > 1 else ())
    if array.shape != expected:
        raise ValueError(f"decoded {array.shape} instead of {expected}")
    array = array.astype(f"u{layout.allocated // 8}", copy=False)
    if layout.signed:
        shift = layout.allocated - layout.stored
        array = (array << shift).view(f"i{layout.allocated // 8}") >> shift
    return array, "RGB" if layout.samples == 3 else layout.photometric


def _decode_deflated(
    header: Header, layout: Layout, source: BinaryIO, index: int
) -> tuple[Array, str]:
    """PS3.5 A.4.13: each frame is a raw deflate stream of the native encoding."""
    size = math.ceil(layout.frame_bits / 8)
    data = _frame_bytes(header, layout, source, index)
    plain = zlib.decompressobj(-zlib.MAX_WBITS).decompress(data, size)
    if layout.allocated == 1:
        return _unpack_bits(plain, layout), layout.photometric
    kind = "i" if layout.signed else "u"
    array = np.frombuffer(plain, f"<{kind}{layout.allocated // 8}")
    if layout.samples > 1 and header.count("PlanarConfiguration", 0) == 1:
        planes = array.reshape(layout.samples, layout.rows, layout.columns)
        return planes.transpose(1, 2, 0), layout.photometric
    shape = (layout.rows, layout.columns, layout.samples)
    return array.reshape(shape[: 3 if layout.samples > 1 else 2]), layout.photometric


def _decode_rle_bits(
    header: Header, layout: Layout, source: BinaryIO, index: int
) -> tuple[Array, str]:
    """PS3.5 annex G on packed bits: one segment of ceil(pixels / 8) bytes."""
    import imagecodecs

    data = _frame_bytes(header, layout, source, index)
    segments, first = struct.unpack("<LL", data[:8])
    if segments != 1:
        raise ValueError(f"{segments} segments")
    plain = bytes(imagecodecs.packbits_decode(data[first:]))
    return _unpack_bits(plain, layout), layout.photometric


def _unpack_bits(plain: bytes, layout: Layout) -> Array:
    bits = np.unpackbits(np.frombuffer(plain, np.uint8), bitorder="little", count=layout.pixels)
    return bits.reshape(layout.rows, layout.columns)


def _frame_bytes(header: Header, layout: Layout, source: BinaryIO, index: int) -> bytes:
    """One frame's code stream; leaves `source` where it was."""
    start = source.tell()
    offsets = header.value("ExtendedOffsetTable"), header.value("ExtendedOffsetTableLengths")
    data = get_frame(
        source,  # pyright: ignore[reportArgumentType] - a binary file is what it asks for
        index,
        number_of_frames=layout.frames,
        extended_offsets=offsets if all(offsets) else None,
    )
    source.seek(start)
    return bytes(data)


def _check_code_stream(header: Header, layout: Layout, data: bytes) -> None:
    """Refuse a code stream whose own size is not the declared one, before it is decoded."""
    size = code_stream_size(data)
    if size is not None and size != (layout.rows, layout.columns):
        raise guards.problem(
            header.path,
            f"it declares {layout.columns} x {layout.rows} pixels, but its compressed data holds "
            f"{size[1]} x {size[0]}",
            guards.COPY_AGAIN,
        )


def code_stream_size(data: bytes) -> tuple[int, int] | None:
    """(rows, columns) that a JPEG, JPEG-LS or JPEG 2000 code stream declares, or None."""
    if data[:4] == b"\xff\x4f\xff\x51" and len(data) >= 24:
        x1, y1, x0, y0 = struct.unpack(">LLLL", data[8:24])
        return y1 - y0, x1 - x0
    if data[:2] != b"\xff\xd8":
        return None
    position = 2
    while position + 9 <= len(data) and data[position] == 0xFF:
        marker = data[position + 1]
        if marker == 0xFF:
            position += 1
            continue
        is_start_of_frame = 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC)
        if is_start_of_frame or marker == 0xF7:
            rows, columns = struct.unpack(">HH", data[position + 5 : position + 9])
            return (rows, columns) if rows else None
        position += 2 + int(struct.unpack(">H", data[position + 2 : position + 4])[0])
    return None
