"""Uncompressed pixels: bytes to words, and words to stored values.

Large frames are memory-mapped, so that the only copy is the one into shared memory. This must run
in a worker process: a file that is truncated while it is mapped, or a medium that is removed, ends
the process that reads it (SIGBUS).

PS3.5 8.1 and annex D (bit order), PS3.3 C.7.6.3.1.2 (4:2:2).
"""

from __future__ import annotations

import io
import mmap
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from app.imaging.dicom.pixel_layout import Layout

Array = NDArray[Any]

_MAPPED_FROM = 64 * 1024
"""Frame size in bytes from which mapping is cheaper than reading."""


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
    place = source.tell()
    whole = not exchanged and not first_bit % 8 and layout.allocated in (8, 16, 32, 64)
    data = _mapped(source, place + start, stop - start) if whole else None
    if data is None:
        source.seek(place + start)
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


def _mapped(source: BinaryIO, place: int, size: int) -> memoryview | None:
    """Map a file's bytes; None where mapping gains nothing or fails."""
    raw = getattr(source, "raw", None)
    if size < _MAPPED_FROM or not isinstance(raw, io.FileIO):
        return None
    begin = place - place % mmap.ALLOCATIONGRANULARITY
    try:
        mapped = mmap.mmap(
            raw.fileno(), place + size - begin, access=mmap.ACCESS_READ, offset=begin
        )
    except (OSError, ValueError):  # it is shorter, or lies on a drive that cannot be mapped
        return None
    return memoryview(mapped)[place - begin :]


def _in_likelier_order(words: Array) -> Array:
    """Return big-endian 32-bit samples in the more plausible order of their 16-bit words.

    dcmtk swaps the bytes of each 16-bit word and writes the low word first; pydicom swaps all four
    bytes. Neighbouring samples differ less in the right order.
    """
    other = words >> 16 | words << 16
    steps = [np.abs(np.diff(order.astype(np.float64))).sum() for order in (words, other)]
    return words if steps[0] <= steps[1] else other


def words_of(data: bytes | memoryview, layout: Layout, *, little: bool = True) -> Array:
    """Return the bytes of one frame as an array of samples.

    Returns:
        [rows, columns] or [rows, columns, samples], as unsigned words with all their bits or as
        floats.

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
        flat = _unpack_12(bytes(data), count)
    elif layout.allocated == 24:
        flat = _unpack_24(bytes(data), count, little=little)
    else:
        flat = np.frombuffer(data, f"{order}u{layout.allocated // 8}", count)
    flat = flat.astype(flat.dtype.newbyteorder("="), copy=False)
    return to_image(full_chroma(flat, layout) if layout.subsampled else flat, layout)


def to_image(flat: Array, layout: Layout) -> Array:
    """Return a flat array of samples as an image; colour samples are interleaved by pixel."""
    rows, columns, samples = layout.rows, layout.columns, layout.samples
    if flat.size != rows * columns * samples:
        raise ValueError(f"{flat.size} samples for {columns} x {rows} x {samples}")
    if samples == 1:
        return flat.reshape(rows, columns)
    if layout.planar and not layout.subsampled:
        return flat.reshape(samples, rows, columns).transpose(1, 2, 0)
    return flat.reshape(rows, columns, samples)


def full_chroma(flat: Array, layout: Layout) -> Array:
    """Expand 4:2:2 data, in which two luminances share Cb and Cr, to three samples per pixel."""
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
    """Keep only the bits of `words_of` that form the value, sign-extended for signed pixels."""
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
