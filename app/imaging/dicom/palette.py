"""Palette colour LUTs (PS3.3 C.7.6.3.1.5, C.7.6.3.1.6, C.7.6.19, C.7.9.2)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydicom.sequence import Sequence

from app.imaging.dicom.dicom_file import Header, value_of, value_text
from app.imaging.dicom.frame_attributes import FrameAttributes, numbers
from app.imaging.dicom.luts import lut_data
from app.imaging.pixels.lut_ranges import signed_first, stored_range

_DISCRETE, _LINEAR, _INDIRECT = 0, 1, 2
_COLOURS = ("Red", "Green", "Blue")
_FRAME_TYPES = ("CTImageFrameTypeSequence", "MRImageFrameTypeSequence", "PETFrameTypeSequence")


def has_palette(header: Header) -> bool:
    """Return whether the file has a palette."""
    return header.value("RedPaletteColorLookupTableDescriptor") is not None


def is_supplemented(attributes: FrameAttributes) -> bool:
    """Return whether a palette colours some values of a grey frame (C.7.6.19).

    If frames differ, the frame's own Pixel Presentation decides (C.8.13.3.1, C.8.15.3.2).
    """
    whole = attributes.text("PixelPresentation").upper()
    if whole != "MIXED":
        return whole == "COLOR"
    for keyword in _FRAME_TYPES:
        items: Any = attributes.value(keyword)
        if not isinstance(items, Sequence) or not len(items):
            continue
        own = value_text(value_of(items[0], "PixelPresentation")).upper()
        if own:
            return own == "COLOR"
    return True


def palette_of(header: Header) -> tuple[NDArray[np.uint8], int] | None:
    """Return the palette as 8-bit RGB [entries, 3] and the stored value that maps to its entry 0.

    The result is None if the palette is missing or damaged.
    """
    channels: list[NDArray[np.uint16]] = []
    declared = 8
    first = 0
    for colour in _COLOURS:
        descriptor = numbers(header.value(f"{colour}PaletteColorLookupTableDescriptor"))
        if len(descriptor) != 3 or not all(math.isfinite(part) for part in descriptor):
            return None
        entries = int(descriptor[0]) % 65536 or 65536
        first, declared = int(descriptor[1]), int(descriptor[2])
        channel = _channel(header, colour, entries, declared)
        if channel is None:
            return None
        channels.append(channel)
    if len({channel.size for channel in channels}) != 1:
        return None
    table = np.stack(channels, axis=1)
    # The data decides: some files declare 8 bits and fill 16, others the reverse.
    wide = int(table.max()) > 255
    signed = header.value("PixelRepresentation") == 1
    bits = numbers(header.value("BitsStored"))[:1] or (16.0,)
    inputs = stored_range(int(bits[0]) if 0 < bits[0] <= 64 else 16, signed=signed)
    return (table >> 8 if wide else table).astype(np.uint8), signed_first(first, inputs)


def _channel(header: Header, colour: str, entries: int, bits: int) -> NDArray[np.uint16] | None:
    """Return one colour channel as it is written in the file."""
    little = header.little_endian
    plain: Any = header.value(f"{colour}PaletteColorLookupTableData")
    if plain is not None:
        return lut_data(plain, entries, bits, little=little)
    segmented: Any = header.value(f"Segmented{colour}PaletteColorLookupTableData")
    if not isinstance(segmented, bytes):
        return None
    order = "<" if little else ">"
    data = np.frombuffer(segmented[: len(segmented) & ~1], f"{order}u2")
    if bits <= 8:  # segments of bytes, in words
        data = data.astype("<u2").view(np.uint8)
    values = expand_segments(data.tolist(), entries, small=bits <= 8)
    return np.asarray(values, np.uint16) if len(values) == entries else None


def expand_segments(words: list[int], entries: int, *, small: bool = False) -> list[int]:
    """Expand a segmented table to at most `entries` plain values (PS3.3 C.7.9.2).

    A malformed segment ends the table, so the result may have fewer values.

    Args:
        words: Segmented data as 16-bit words or bytes.
        entries: Number of values in the full table.
        small: Whether `words` are bytes; the offset in an indirect segment then takes four of them.
    """
    values: list[int] = []
    begins: set[int] = set()
    position = 0
    left = 2 * entries  # segments may hold nothing, and an indirect one repeats thousands of them
    while position + 2 < len(words) and len(values) < entries and left > 0:
        left -= 1
        begins.add(position)
        kind, count = words[position], words[position + 1]
        if kind == _INDIRECT:
            parts = words[position + 2 : position + (6 if small else 4)]
            if len(parts) != (4 if small else 2):
                break
            start = sum(part << (8 if small else 16) * n for n, part in enumerate(parts))
            if start not in begins and start % 2 == 0 and start // 2 in begins:
                start //= 2  # some count bytes, others the table's own words
            count = min(count, left)
            left -= count
            values += _repeat(words, start, count, values[-1] if values else None, entries)
            position += 2 + len(parts)
            continue
        segment = _segment(words, position, values[-1] if values else None)
        if segment is None:
            break
        values += segment[0]
        position = segment[1]
    return values[:entries]


def _segment(words: list[int], position: int, last: int | None) -> tuple[list[int], int] | None:
    """Return the values of a discrete or linear segment and the position of the next, or None."""
    kind, count = words[position], words[position + 1]
    if kind == _DISCRETE:
        return words[position + 2 : position + 2 + count], position + 2 + count
    if kind == _LINEAR and last is not None and count:
        return _ramp(last, words[position + 2], count), position + 3
    return None


def _ramp(start: int, end: int, count: int) -> list[int]:
    return [round(start + (end - start) * step / count) for step in range(1, count + 1)]


def _repeat(
    words: list[int], start: int, segments: int, last: int | None, entries: int
) -> list[int]:
    """Return the values of `segments` earlier discrete or linear segments from `start` on."""
    values: list[int] = []
    position = start
    for _ in range(segments):
        if position + 2 >= len(words) or len(values) >= entries:
            break
        segment = _segment(words, position, values[-1] if values else last)
        if segment is None:
            break
        values += segment[0]
        position = segment[1]
    return values
