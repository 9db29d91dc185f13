"""Decoding one compressed frame. Runs in a worker process: these libraries crash.

What a frame really is, its code stream says; the transfer syntax only says what family it is of.
Each decoder takes a frame's bytes and gives (words, photometric interpretation of them).
"""

from __future__ import annotations

import io
import math
import struct
import zlib
from typing import Any

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

from app.imaging.dicom.dicom_file import Header
from app.imaging.dicom.native_pixels import words_of
from app.imaging.dicom.pixel_layout import Layout
from app.imaging.files.code_stream_checks import declared_figures
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
"""Which of pydicom's plugins decodes: else it takes whichever happens to be installed, GDCM first,
which ends the process more often than any other on damaged files."""


def decode_jpeg(header: Header, layout: Layout, data: bytes) -> Decoded:
    """Any of the JPEG and JPEG-LS processes, by the code stream's own start of frame."""
    start = start_of_frame(data)
    if start is None:
        raise ValueError("no start of frame")
    if start.marker == JPEG_LS:
        return _decode_jpeg_ls(header, layout, data)
    narrow = start.precision == 8 and layout.word_bytes == 1
    if narrow and start.marker in (0xC0, 0xC1, 0xC2):
        # It leaves the colours as they are encoded; which those are, markers may tell.
        return by_pydicom(header, layout, data, JPEGBaseline8Bit)
    return _decode_jpeg_wide(layout, data, lossless=start.marker == _LOSSLESS_JPEG)


def _decode_jpeg_ls(header: Header, layout: Layout, data: bytes) -> Decoded:
    if _END_OF_IMAGE not in data:
        raise ValueError("the code stream has no end")  # CharLS would be seconds to find out
    if layout.samples > 1:
        return by_pydicom(header, layout, data, JPEGLSLossless)
    import imagecodecs  # its CharLS decodes NEMA's MR1_JLSL; that of pyjpegls does not

    return fitted(imagecodecs.jpegls_decode(data), layout), layout.photometric


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
    return fitted(array, layout), photometric


def _names_its_colours(data: bytes) -> bool:
    """Whether a JFIF or Adobe marker says which colour model the code stream is in."""
    position = 2
    while position + 4 <= len(data) and data[position] == 0xFF and data[position + 1] != 0xDA:
        if data[position + 4 : position + 9] in (b"JFIF\0", b"Adobe"):
            return True
        position += 2 + int(struct.unpack(">H", data[position + 2 : position + 4])[0])
    return False


def decode_jpeg_2000(header: Header, layout: Layout, data: bytes) -> Decoded:
    """JPEG 2000 and HTJ2K; the library undoes the colour transforms."""
    return by_pydicom(header, layout, data, JPEG2000Lossless)


def decode_htj2k(header: Header, layout: Layout, data: bytes) -> Decoded:
    """High-throughput JPEG 2000; of wide samples OpenJPEG refuses the blocks, OpenJPH does not."""
    coded = declared_figures(data)
    if coded is not None and coded.precision > 16 and layout.samples == 1:
        import imagecodecs

        return imagecodecs.htj2k_decode(data), layout.photometric
    return by_pydicom(header, layout, data, HTJ2KLossless)


def decode_jpeg_xl(header: Header, layout: Layout, data: bytes) -> Decoded:
    """JPEG XL, also recompressed JPEG; colour comes out as RGB."""
    import imagecodecs

    array: Array = imagecodecs.jpegxl_decode(data)
    if layout.samples == 1 and array.ndim == 3 and array.shape[-1] == 1:
        array = array[..., 0]
    return fitted(array, layout), "RGB" if layout.samples == 3 else layout.photometric


def decode_rle(header: Header, layout: Layout, data: bytes) -> Decoded:
    """PS3.5 annex G: the bytes of each sample, the highest first, as segments of packed runs."""
    import imagecodecs

    (count,) = struct.unpack("<L", data[:4])
    width = 1 if layout.allocated == 1 else layout.allocated // 8
    if count != layout.samples * width:
        raise ValueError(f"{count} segments")
    starts = [*struct.unpack(f"<{count}L", data[4 : 4 + 4 * count]), len(data)]
    size = math.ceil(layout.pixels / 8) if layout.allocated == 1 else layout.pixels
    planes = np.empty((layout.samples, width, size), np.uint8)
    for number in range(count):
        # No run needs more than two bytes a byte; what goes on behind that could be gigabytes.
        segment = data[starts[number] : min(starts[number + 1], starts[number] + 2 * size + 64)]
        plain = np.frombuffer(bytes(imagecodecs.packbits_decode(segment)), np.uint8)
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
    """PS3.5 A.4.13: a raw deflate stream of the native encoding."""
    size = math.ceil(layout.frame_bits / 8)
    plain = zlib.decompressobj(-zlib.MAX_WBITS).decompress(data, size)
    return words_of(plain, layout), layout.photometric


def decode_plain(header: Header, layout: Layout, data: bytes) -> Decoded:
    """PS3.5 A.4.11: each fragment is a frame in the native encoding."""
    return words_of(data, layout), layout.photometric


def by_pydicom(header: Header, layout: Layout, data: bytes, syntax: UID) -> Decoded:
    """One of pydicom's decoders, on this frame alone."""
    options: dict[str, Any] = dict(as_pixel_options(header.dataset))
    options |= {
        "transfer_syntax_uid": syntax,
        "pixel_keyword": "PixelData",
        "rows": layout.rows,
        "columns": layout.columns,
        "samples_per_pixel": layout.samples,
        "number_of_frames": 1,
        # Two-valued frames come as bytes.
        "bits_allocated": max(8 * layout.word_bytes, 8),
        "bits_stored": layout.stored,
        "pixel_representation": int(layout.signed),
        "photometric_interpretation": layout.photometric,
        "correct_unused_bits": False,
        "decoding_plugin": _PLUGINS[syntax],
    }
    options.pop("extended_offsets", None)
    if layout.samples > 1:
        # Code streams have an order of their own, whatever the header says (PS3.5 8.2.1 to 8.2.4).
        options["planar_configuration"] = 0
    source = io.BytesIO(encapsulate([data]))
    array, properties = get_decoder(syntax).as_array(source, index=0, raw=True, **options)
    return array, str(properties["photometric_interpretation"])


def fitted(array: Array, layout: Layout) -> Array:
    """A decoder's result as unsigned words of the declared size.

    Raises:
        ValueError: It has another shape, or values too large for the declared size.
    """
    if array.dtype.kind not in "iu":
        raise ValueError(f"decoded as {array.dtype}")
    if array.dtype.itemsize > layout.word_bytes and int(array.max(initial=0)) >> (
        8 * layout.word_bytes
    ):
        raise ValueError(f"values above {layout.allocated} bits")
    array = array.astype(f"u{layout.word_bytes}", copy=False)
    return shaped_like(array, layout)


def shaped_like(array: Array, layout: Layout) -> Array:
    """The array itself when it is [rows, columns(, samples)].

    Raises:
        ValueError: It is not.
    """
    expected = (layout.rows, layout.columns) + ((layout.samples,) if layout.samples > 1 else ())
    if array.shape != expected:
        raise ValueError(f"decoded {array.shape} instead of {expected}")
    return array
