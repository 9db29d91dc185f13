"""Decoding of one frame to stored values. Runs in a worker process, since decoders can crash.

Packed bits are read as PS3.5 8.1 and annex D say, 4:2:2 colour as PS3.3 C.7.6.3.1.2 says. A decoder
returns the samples and their colour model, a Photometric Interpretation, which is not the header's
if decoding undoes a colour transform.

`DECODERS` names the decoder of each transfer syntax; `docs/conformance.md` says which library each
uses, and why. All licences fit a closed bundle; pylibjpeg-libjpeg is GPL and must not be used.
"""

from __future__ import annotations

import io
import math
import struct
import zlib
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray
from pydicom.encaps import encapsulate
from pydicom.pixels.decoders.base import get_decoder
from pydicom.pixels.utils import as_pixel_options
from pydicom.uid import (
    UID,
    HTJ2KLossless,
    JPEG2000Lossless,
    JPEGBaseline8Bit,
    JPEGLSLossless,
)

from app.errors import FileProblem
from app.imaging import guards
from app.imaging.dicom.dicom_file import Header
from app.imaging.dicom.fragments import Fragments, find_fragments, frame_spans
from app.imaging.dicom.pixel_layout import Layout, complete_frames, truncation_problem
from app.imaging.files import sources
from app.imaging.files.code_stream_checks import CodeStreamFigures, declared_figures
from app.imaging.files.jpeg_markers import JPEG_LS, start_of_frame

Array = NDArray[Any]

Decoded = tuple[Array, str]

_LOSSLESS_JPEG = 0xC3
_END_OF_IMAGE = b"\xff\xd9"
_PLUGINS: dict[UID, str] = {
    JPEGBaseline8Bit: "pillow",
    JPEGLSLossless: "pyjpegls",
    JPEG2000Lossless: "pylibjpeg",
    HTJ2KLossless: "pylibjpeg",
}
"""The pydicom plugin to use. Left to itself pydicom prefers GDCM, which crashes more often than any
other on damaged files."""


def decode_jpeg(header: Header, layout: Layout, data: bytes) -> Decoded:
    """Decode JPEG or JPEG-LS (a marker in `data` says which) to (samples, their colour model)."""
    start = start_of_frame(data)
    if start is None:
        raise ValueError("no start of frame")
    if start.marker == JPEG_LS:
        return _decode_jpeg_ls(header, layout, data)
    narrow = start.precision == 8 and layout.word_bytes == 1
    if narrow and start.marker in (0xC0, 0xC1, 0xC2):
        # The decoder leaves colours as encoded; markers may tell which colour model that is.
        return by_pydicom(header, layout, data, JPEGBaseline8Bit)
    return _decode_jpeg_wide(layout, data, lossless=start.marker == _LOSSLESS_JPEG)


def _decode_jpeg_ls(header: Header, layout: Layout, data: bytes) -> Decoded:
    if _END_OF_IMAGE not in data:
        raise ValueError("the code stream has no end")  # CharLS would be seconds to find out
    if layout.samples > 1:
        return by_pydicom(header, layout, data, JPEGLSLossless)
    import imagecodecs  # its CharLS decodes NEMA's MR1_JLSL; that of pyjpegls does not

    return fit_words(imagecodecs.jpegls_decode(data), layout), layout.photometric


def _decode_jpeg_wide(layout: Layout, data: bytes, *, lossless: bool) -> Decoded:
    import imagecodecs

    if _END_OF_IMAGE not in data:
        raise ValueError("the code stream has no end")  # libjpeg would make the rest up
    photometric = layout.photometric
    if layout.samples == 1:
        array: Array = imagecodecs.jpeg8_decode(data)
    else:
        # Lossless JPEG has no colour transform of its own.
        coded = "RGB" if lossless or not photometric.startswith("YBR") else "YCBCR"
        if not lossless and _names_its_colours(data):
            coded = None  # the encoder's marker knows better than the header
        array = imagecodecs.jpeg8_decode(data, colorspace=coded, outcolorspace="RGB")
        photometric = photometric if lossless else "RGB"
    return fit_words(array, layout), photometric


def _names_its_colours(data: bytes) -> bool:
    """Return whether a JFIF or Adobe marker names the colour model of the code stream."""
    position = 2
    while position + 4 <= len(data) and data[position] == 0xFF and data[position + 1] != 0xDA:
        if data[position + 4 : position + 9] in (b"JFIF\0", b"Adobe"):
            return True
        position += 2 + int(struct.unpack(">H", data[position + 2 : position + 4])[0])
    return False


def decode_jpeg_2000(header: Header, layout: Layout, data: bytes) -> Decoded:
    """Decode a frame of a JPEG 2000 transfer syntax to (samples, their colour model)."""
    return by_pydicom(header, layout, data, JPEG2000Lossless)


def decode_htj2k(header: Header, layout: Layout, data: bytes) -> Decoded:
    """Decode HTJ2K to (samples, colour model): grey above 16 bits by OpenJPH, else by pydicom."""
    coded = declared_figures(data)
    if coded is not None and coded.precision > 16 and layout.samples == 1:
        import imagecodecs

        return imagecodecs.htj2k_decode(data), layout.photometric
    return by_pydicom(header, layout, data, HTJ2KLossless)


def decode_jpeg_xl(header: Header, layout: Layout, data: bytes) -> Decoded:
    """Decode a JPEG XL frame to (samples, colour model); colour becomes RGB."""
    import imagecodecs

    array: Array = imagecodecs.jpegxl_decode(data)
    if layout.samples == 1 and array.ndim == 3 and array.shape[-1] == 1:
        array = array[..., 0]
    return fit_words(array, layout), "RGB" if layout.samples == 3 else layout.photometric


def decode_rle(header: Header, layout: Layout, data: bytes) -> Decoded:
    """Decode an RLE Lossless frame (PS3.5 G) to (samples, photometric interpretation)."""
    import imagecodecs

    (count,) = struct.unpack("<L", data[:4])
    width = 1 if layout.allocated == 1 else layout.allocated // 8
    if count != layout.samples * width:
        raise ValueError(f"{count} segments")
    starts = [*struct.unpack(f"<{count}L", data[4 : 4 + 4 * count]), len(data)]
    size = math.ceil(layout.pixels / 8) if layout.allocated == 1 else layout.pixels
    planes = np.empty((layout.samples, width, size), np.uint8)
    for number in range(count):
        # A run never needs more than two bytes a byte; anything longer could inflate to gigabytes.
        segment = data[starts[number] : min(starts[number + 1], starts[number] + 2 * size + 64)]
        try:
            decoded = imagecodecs.packbits_decode(segment)
        except Exception:  # a byte of padding reads as the start of a run; its size is checked
            decoded = imagecodecs.packbits_decode(segment[:-1])
        plain = np.frombuffer(bytes(decoded), np.uint8)
        if plain.size < size:
            raise ValueError(f"segment {number} holds {plain.size} of {size} bytes")
        planes[divmod(number, width)] = plain[:size]
    if layout.allocated == 1:
        return words_of(planes.tobytes(), layout), layout.photometric
    wide = np.zeros((layout.samples, size, layout.word_bytes), np.uint8)
    wide[..., :width] = planes[:, ::-1].transpose(0, 2, 1)
    words = wide.view(f"<u{layout.word_bytes}")
    image = words.reshape(layout.samples, layout.rows, layout.columns).transpose(1, 2, 0)
    return image[..., 0] if layout.samples == 1 else image, layout.photometric


def decode_deflated(header: Header, layout: Layout, data: bytes) -> Decoded:
    """Decode a frame that is a raw deflate stream (PS3.5 A.4.13) to (samples, colour model)."""
    size = math.ceil(layout.frame_bits / 8)
    plain = zlib.decompressobj(-zlib.MAX_WBITS).decompress(data, size)
    return words_of(plain, layout), layout.photometric


def decode_plain(header: Header, layout: Layout, data: bytes) -> Decoded:
    """Return (samples, colour model) of a fragment with one uncompressed frame (PS3.5 A.4.11)."""
    return words_of(data, layout), layout.photometric


def by_pydicom(header: Header, layout: Layout, data: bytes, syntax: UID) -> Decoded:
    """Return the samples and colour model of the frame `data`, decoded by pydicom as `syntax`."""
    options: dict[str, Any] = dict(as_pixel_options(header.dataset))
    options |= {
        "transfer_syntax_uid": syntax,
        "pixel_keyword": "PixelData",
        "rows": layout.rows,
        "columns": layout.columns,
        "samples_per_pixel": layout.samples,
        "number_of_frames": 1,
        # The decoder returns bilevel frames as bytes.
        "bits_allocated": max(8 * layout.word_bytes, 8),
        "bits_stored": layout.stored,
        "pixel_representation": int(layout.signed),
        "photometric_interpretation": layout.photometric,
        "correct_unused_bits": False,
        "decoding_plugin": _PLUGINS[syntax],
    }
    options.pop("extended_offsets", None)
    if layout.samples > 1:
        # A code stream defines its own sample order, whatever the header says (PS3.5 8.2.1-8.2.4).
        options["planar_configuration"] = 0
    source = io.BytesIO(encapsulate([data]))
    array, properties = get_decoder(syntax).as_array(source, index=0, raw=True, **options)
    return array, str(properties["photometric_interpretation"])


def fit_words(array: Array, layout: Layout) -> Array:
    """Convert a decoded frame to unsigned integers of `layout.word_bytes` bytes.

    Raises:
        ValueError: Values are not integers or too large, or the shape is not that of `layout`.
    """
    if array.dtype.kind not in "iu":
        raise ValueError(f"decoded as {array.dtype}")
    if array.dtype.itemsize > layout.word_bytes and int(array.max(initial=0)) >> (
        8 * layout.word_bytes
    ):
        raise ValueError(f"values above {layout.allocated} bits")
    array = array.astype(f"u{layout.word_bytes}", copy=False)
    return check_shape(array, layout)


def check_shape(array: Array, layout: Layout) -> Array:
    """Return the array unchanged; raise ValueError if its shape is not as declared in `layout`."""
    expected = (layout.rows, layout.columns) + ((layout.samples,) if layout.samples > 1 else ())
    if array.shape != expected:
        raise ValueError(f"decoded {array.shape} instead of {expected}")
    return array


DECODERS: dict[str, Callable[[Header, Layout, bytes], Decoded] | None] = {
    f"1.2.840.10008.1.2{tail}": decoder
    for decoder, tails in (
        (None, ("", ".1", ".1.99", ".2")),
        (decode_plain, (".1.98",)),
        (decode_jpeg, (".4.50", ".4.51", ".4.53", ".4.55", ".4.57", ".4.70", ".4.80", ".4.81")),
        (decode_jpeg_2000, (".4.90", ".4.91", ".4.92", ".4.93")),
        (decode_jpeg_xl, (".4.110", ".4.111", ".4.112")),
        (decode_htj2k, (".4.201", ".4.202", ".4.203")),
        (decode_rle, (".5",)),
        (decode_deflated, (".8.1",)),
    )
    for tail in tails
}
"""Transfer syntax UID -> its decoder, which takes the bytes of a frame and returns its words and
their photometric interpretation; None for pixels that are not encapsulated."""

_MAX_WAVELET_SAMPLES = 2**27
"""Limit of samples in a frame: OpenJPEG needs at least six bytes for each, even in an empty frame.
"""
_WAVELETS = (decode_jpeg_2000, decode_htj2k)
_NO_CODE_STREAMS = (decode_rle, decode_plain, decode_deflated)
"""Transfer syntaxes whose frames have no header of their own to be checked."""

_VIDEO = tuple(f"1.2.840.10008.1.2.4.10{number}" for number in range(9))
_JPIP = tuple(f"1.2.840.10008.1.2.4.{number}" for number in (94, 95, 204, 205))
_NAMES = {
    "1.2.840.10008.1.2.4.110": "JPEG XL Lossless",
    "1.2.840.10008.1.2.4.111": "JPEG XL JPEG Recompression",
    "1.2.840.10008.1.2.4.112": "JPEG XL",
    "1.2.840.10008.1.2.8.1": "Deflated Image Frame Compression",
}
"""Names that are missing in pydicom's dictionary."""


def syntax_name(syntax: str) -> str:
    """Return a transfer syntax's name, else its UID; "of an unknown kind" if the UID is invalid."""
    uid = UID(syntax)
    known = _NAMES.get(syntax)
    if not uid.is_valid:
        return "of an unknown kind"
    return known or (uid.name if uid.is_transfer_syntax or uid.is_private else str(uid))


def stored_values(layout: Layout, words: Array) -> Array:
    """Return `values_of(words, layout)` as a contiguous array in native byte order."""
    values = values_of(words, layout)
    return np.ascontiguousarray(values, values.dtype.newbyteorder("="))


def decode_words(header: Header, layout: Layout, index: int) -> tuple[Array, str]:
    """Decode frame `index` (from 0) to words: samples with unused bits, which may hold overlays.

    Returns:
        Words [rows, columns] or [rows, columns, samples], and their photometric interpretation,
        which may differ from the one in the header; `stored_values` removes the unused bits.

    Raises:
        FileProblem: The frame is missing, damaged, or compressed in a way that is not supported.
    """
    path = header.path
    if not 0 <= index < layout.frames:
        raise guards.problem(path, f"it has {layout.frames} frames; there is no {index + 1}th")
    if index >= complete_frames(header, layout):
        raise truncation_problem(header, layout)
    syntax = str(header.syntax)
    if syntax not in DECODERS:
        raise _not_supported(header)
    decoder = DECODERS[syntax]
    try:
        inflated = header.inflated
        with sources.open_file(path) if inflated is None else io.BytesIO(inflated) as source:
            if decoder is None:
                return _read_native(header, layout, source, index), layout.photometric
            return _read_compressed(header, decoder, layout, source, index)
    except (FileProblem, MemoryError, KeyboardInterrupt, SystemExit):
        raise
    except OSError as error:
        raise guards.unreadable_file(path, error) from None
    except BaseException as error:  # a codec written in Rust panics with no Exception
        reason = f"frame {index + 1}: " if layout.frames > 1 else ""
        raise guards.problem(
            path,
            f"{reason}its pixels are damaged and cannot be decoded ({syntax_name(header.syntax)})",
            guards.COPY_AGAIN,
            type(error).__name__,
        ) from None


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
            f"it contains no pixels, only a link to a server that has them ({name})",
            "Ask for an export with the pixels in the file",
        )
    return guards.problem(
        header.path,
        f"its compression ({name}) cannot be decoded",
        "Ask for an export without compression, or in JPEG 2000",
    )


def _read_native(header: Header, layout: Layout, source: BinaryIO, index: int) -> Array:
    span = header.pixels
    assert span is not None
    source.seek(span.offset)
    little, words_of_16 = header.little_endian, span.vr != "OB"
    return read_words(source, layout, index, little=little, words_of_16=words_of_16)


def _read_compressed(
    header: Header,
    decoder: Callable[[Header, Layout, bytes], Decoded],
    layout: Layout,
    source: BinaryIO,
    index: int,
) -> Decoded:
    if decoder in _WAVELETS and layout.pixels * layout.samples > _MAX_WAVELET_SAMPLES:
        raise guards.too_large_image(header.path, layout.rows, layout.columns)
    data = _frame_bytes(header, layout, source, index)
    if guards.is_implausibly_small(layout.pixels * layout.samples, len(data)):
        raise ValueError(f"{layout.pixels} pixels in {len(data)} bytes")
    try:
        coded = None if decoder in _NO_CODE_STREAMS else declared_figures(data)
    except ValueError as error:
        reason = "its compressed data is damaged: its own description cannot be right"
        raise guards.problem(header.path, reason, guards.COPY_AGAIN, str(error)) from None
    if coded is not None:
        _check_code_stream(header, layout, coded)
    words, photometric = decoder(header, layout, data)
    return _as_declared(check_shape(words, layout), layout, coded), photometric


def _as_declared(words: Array, layout: Layout, coded: CodeStreamFigures | None) -> Array:
    if words.dtype.itemsize < layout.word_bytes and words.dtype.kind in "iu":
        words = words.astype(f"{words.dtype.kind}{layout.word_bytes}")
    up = layout.high - (layout.stored - 1)
    if not up or coded is None or not 0 < coded.precision <= layout.stored:
        return words
    return np.left_shift(words.view(f"u{words.dtype.itemsize}"), up)


@lru_cache(maxsize=8)
def _fragments(path: Path, status: sources.FileStatus, offset: int, length: int) -> Fragments:
    """Return the fragments of a file; cached while the frames of a cine are read one by one."""
    with sources.open_file(path) as file:
        return find_fragments(file, offset, length)


def _frame_bytes(header: Header, layout: Layout, source: BinaryIO, index: int) -> bytes:
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
    """Refuse a code stream whose size or number of samples differs from the header's."""
    size, declared = (coded.rows, coded.columns), (layout.rows, layout.columns)
    turned = coded.may_transpose and size[::-1] == declared
    if coded.rows and size != declared and not turned:
        says, holds = f"{layout.columns} x {layout.rows} pixels", f"{coded.columns} x {coded.rows}"
    elif coded.components and coded.components != layout.samples:
        says, holds = f"{layout.samples} samples a pixel", str(coded.components)
    else:
        return
    reason = f"it declares {says}, but its compressed data holds {holds}"
    raise guards.problem(header.path, reason, guards.COPY_AGAIN)


def read_words(
    source: BinaryIO, layout: Layout, index: int, *, little: bool, words_of_16: bool
) -> Array:
    """Return frame `index` of the pixels that begin at the current position of `source`.

    Args:
        source: The open file, positioned at the pixel data element's value.
        layout: Checked layout of the file's pixels.
        index: Frame index from 0. Frames of packed pixels need not begin at a whole byte.
        little: Whether the file is little endian.
        words_of_16: Whether the value is a sequence of 16-bit words (VR OW). In a big-endian file
            the bytes of each such word are exchanged, even if a sample is smaller than a word.
    """
    first_bit = index * layout.frame_bits
    begin, end = first_bit // 8, -(-(first_bit + layout.frame_bits) // 8)
    exchanged = not little and words_of_16 and layout.allocated < 16
    start = begin - begin % 2 if exchanged else begin
    stop = end + end % 2 if exchanged else end
    source.seek(source.tell() + start)
    data = source.read(stop - start)
    if exchanged:
        data = np.frombuffer(data + b"\0" * (len(data) % 2), "<u2").byteswap().tobytes()
        data = data[begin - start : end - start]
    if first_bit % 8:
        bits = np.unpackbits(np.frombuffer(data, np.uint8), bitorder="little")
        data = np.packbits(bits[first_bit % 8 :], bitorder="little").tobytes()
    words = words_of(data, layout, little=little)
    swapped = not little and words_of_16 and layout.allocated == 32 and not layout.floating
    return _in_likelier_order(words) if swapped else words


def _in_likelier_order(words: Array) -> Array:
    """Return big-endian 32-bit samples in the more plausible order of their 16-bit words.

    dcmtk swaps the bytes of each 16-bit word and writes the low word first; pydicom swaps all four
    bytes. Neighbouring samples differ less in the right order.
    """
    other = words >> 16 | words << 16
    steps = [np.abs(np.diff(order.astype(np.float64))).sum() for order in (words, other)]
    return words if steps[0] <= steps[1] else other


def words_of(data: bytes, layout: Layout, *, little: bool = True) -> Array:
    """Return the uncompressed bytes of one frame, little or big endian, as an array of samples.

    Returns:
        [rows, columns] or [rows, columns, samples]: floats for float pixels; else unsigned integers
        whose unused bits are as in the file.

    Raises:
        ValueError: There are too few bytes.
    """
    count = layout.frame_bits // layout.allocated
    order = "<" if little else ">"
    if layout.floating:
        flat: Array = np.frombuffer(data, f"{order}f{layout.allocated // 8}", count)
    elif layout.allocated == 1:
        flat = np.unpackbits(np.frombuffer(data, np.uint8), bitorder="little")[:count]
    elif layout.allocated == 12:
        flat = _unpack_12(data, count)
    elif layout.allocated == 24:
        flat = _unpack_24(data, count, little=little)
    else:
        flat = np.frombuffer(data, f"{order}u{layout.allocated // 8}", count)
    flat = flat.astype(flat.dtype.newbyteorder("="), copy=False)
    return to_image(full_chroma(flat, layout) if layout.subsampled else flat, layout)


def to_image(flat: Array, layout: Layout) -> Array:
    """Return flat samples reshaped to [rows, columns] or, for colour, [rows, columns, samples]."""
    rows, columns, samples = layout.rows, layout.columns, layout.samples
    if flat.size != rows * columns * samples:
        raise ValueError(f"{flat.size} samples for {columns} x {rows} x {samples}")
    if samples == 1:
        return flat.reshape(rows, columns)
    if layout.planar and not layout.subsampled:
        return flat.reshape(samples, rows, columns).transpose(1, 2, 0)
    return flat.reshape(rows, columns, samples)


def full_chroma(flat: Array, layout: Layout) -> Array:
    """Return flat 4:2:2 data (two pixels share Cb and Cr) with three samples for every pixel."""
    if layout.columns % 2:
        raise ValueError("4:2:2 with an odd number of columns")
    pairs = flat.reshape(-1, 4)
    full = np.empty((len(pairs), 2, 3), flat.dtype)
    full[:, :, 0] = pairs[:, :2]
    full[:, :, 1:] = pairs[:, None, 2:]
    return full.reshape(-1)


def _unpack_12(data: bytes, count: int) -> Array:
    """Unpack 12-bit samples, two in three bytes, the first in the lower bits (retired, PS3.5 D)."""
    packed = np.frombuffer(data + b"\0" * (-len(data) % 3), np.uint8).reshape(-1, 3)
    low, middle, high = (packed[:, part].astype(np.uint16) for part in range(3))
    pairs = np.stack((low | (middle & 0xF) << 8, middle >> 4 | high << 4), axis=1)
    return pairs.reshape(-1)[:count]


def _unpack_24(data: bytes, count: int, *, little: bool) -> Array:
    packed = np.frombuffer(data, np.uint8, count * 3).reshape(-1, 3)
    wide = np.zeros((count, 4), np.uint8)
    wide[:, :3] = packed if little else packed[:, ::-1]
    return wide.view("<u4").reshape(-1)


def values_of(words: Array, layout: Layout) -> Array:
    """Return words (see `decode_words`) as pixel values: unused bits removed, sign extended."""
    if layout.floating or layout.allocated == 1:
        return words
    bits = 8 * words.dtype.itemsize
    unsigned = words.view(f"u{words.dtype.itemsize}")
    up = bits - 1 - layout.high
    down = bits - layout.stored
    lifted = np.left_shift(unsigned, up) if up else unsigned
    if layout.signed:
        lifted = lifted.view(f"i{words.dtype.itemsize}")
    return np.right_shift(lifted, down) if down else lifted
