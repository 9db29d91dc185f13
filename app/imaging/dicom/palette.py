"""LUT items, recommended colours and palette colour LUTs (PS3.3 C.7.6.3.1.5-6, C.7.6.19, C.7.9.2).

Many files write LUTs in ways that the standard does not allow; they are accepted where only one
meaning is possible.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydicom.dataset import Dataset
from pydicom.sequence import Sequence as ItemSequence

from app.imaging.dicom.dicom_file import Header, value_of, value_text
from app.imaging.dicom.frame_attributes import FrameAttributes, numbers
from app.imaging.layers import RGB
from app.imaging.pixels.lut_ranges import ANY, Range, signed_first, stored_range
from app.imaging.types import Lut


def lut_of_item(item: Dataset, inputs: Range = ANY, *, little: bool = True) -> Lut | None:
    """Return the table in a LUT Sequence item, or None if it cannot be used.

    Args:
        item: Sequence item with LUT Descriptor and LUT Data.
        inputs: Lowest and highest value to look up, by which `signed_first` decides whether the
            table begins at a negative value.
        little: Whether the file is little endian.
    """
    descriptor = _descriptor(item)
    if descriptor is None:
        return None
    entries, first, bits = descriptor
    data = lut_data(value_of(item, "LUTData"), entries, bits, little=little)
    if data is None:
        return None
    used = max(int(data.max()).bit_length(), 1)
    bits = max(bits, used) if 0 < bits <= 16 else used
    explanation = value_text(value_of(item, "LUTExplanation"))
    return Lut(signed_first(first, inputs), bits, data, explanation)


def _descriptor(item: Dataset) -> tuple[int, int, int] | None:
    try:
        entries, first, bits = (int(part) for part in item["LUTDescriptor"].value)
    except Exception:
        return None  # absent, too short or not numbers
    return entries % 65536 or 65536, first, bits


def lut_data(
    value: Any, entries: int, bits: int, *, little: bool = True
) -> NDArray[np.uint16] | None:
    """Return at most `entries` 16-bit numbers of LUT data; None if half or more are missing.

    `entries` and `bits` are those of the descriptor. `value` is bytes (OW, OB) or numbers (US, SS);
    two 8-bit entries may be packed into one word.
    """
    if value is None:
        return None
    if isinstance(value, bytes):
        words = np.frombuffer(value[: len(value) & ~1], "<u2" if little else ">u2")
        words = words.astype(np.uint16)
        tail = value[len(value) & ~1 :]
    else:
        try:
            words = (np.atleast_1d(np.asarray(value)).astype(np.int64) & 0xFFFF).astype(np.uint16)
        except (TypeError, ValueError):
            return None
        tail = b""
    if words.size >= entries:
        return words[:entries]
    # Packed: the first entry in a word's low byte.
    packed = np.concatenate((words.astype("<u2").view(np.uint8), np.frombuffer(tail, np.uint8)))
    if entries <= packed.size <= entries + 1 or (bits <= 8 and packed.size >= entries):
        return packed[:entries].astype(np.uint16)
    # A truncated table continues with its last entry, as inputs beyond its end do.
    return words if 2 * words.size > entries else None


_D50 = np.array([0.96422, 1.0, 0.82521])
"""Reference white of the ICC profile connection space (ICC.1, 7.2.16)."""

_XYZ_D50_TO_LINEAR_SRGB = np.array(
    [
        [3.1338561, -1.6168667, -0.4906146],
        [-0.9787684, 1.9161415, 0.0334540],
        [0.0719453, -0.2289914, 1.4052427],
    ]
)
"""IEC 61966-2-1 primaries, adapted from D65 to D50 by the Bradford transform (B. Lindbloom)."""


def color_from_cielab(values: Sequence[float]) -> RGB | None:
    """Convert a Recommended Display CIELab Value to sRGB (PS3.3 C.10.7.1.1).

    Args:
        values: L*, a* and b* as 16-bit numbers: 0 to 65535 stands for 0 to 100 in L*, and for -128
            to 127 in a* and b* (0x8080 is 0). The white point is taken to be D50, as in ICC
            profiles. Some writers use D65, which differs by a few levels.

    Returns:
        Red, green and blue, 0 to 255, clipped to the gamut of sRGB; None if the value is invalid.
    """
    if len(values) != 3 or not all(math.isfinite(v) and 0 <= v <= 65535 for v in values):
        return None
    lightness = values[0] * 100 / 65535
    a, b = (value * 255 / 65535 - 128 for value in values[1:])
    middle = (lightness + 16) / 116
    ratios = np.array([middle + a / 500, middle, middle - b / 200])
    linear_part = 3 * (6 / 29) ** 2 * (ratios - 4 / 29)
    xyz = _D50 * np.where(ratios > 6 / 29, ratios**3, linear_part)
    linear = np.clip(_XYZ_D50_TO_LINEAR_SRGB @ xyz, 0.0, 1.0)
    encoded = np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1 / 2.4) - 0.055)
    red, green, blue = (int(part) for part in np.rint(np.clip(encoded, 0, 1) * 255))
    return red, green, blue


_DISCRETE, _LINEAR, _INDIRECT = 0, 1, 2
_COLOURS = ("Red", "Green", "Blue")
_FRAME_TYPES = ("CTImageFrameTypeSequence", "MRImageFrameTypeSequence", "PETFrameTypeSequence")


def has_palette(header: Header) -> bool:
    """Return whether the file declares a colour palette; the palette may still be damaged."""
    return header.value("RedPaletteColorLookupTableDescriptor") is not None


def is_supplemented(attributes: FrameAttributes) -> bool:
    """Return whether a palette colours some values of a grey frame (C.7.6.19).

    If Pixel Presentation is MIXED, that of the frame itself decides (C.8.13.3.1, C.8.15.3.2).
    """
    whole = attributes.text("PixelPresentation").upper()
    if whole != "MIXED":
        return whole == "COLOR"
    for keyword in _FRAME_TYPES:
        items: Any = attributes.value(keyword)
        if not isinstance(items, ItemSequence) or not len(items):
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
