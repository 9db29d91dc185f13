"""Palette colour lookup tables (PS3.3 C.7.6.3.1.5, C.7.6.3.1.6, C.7.9.2), in a worker process."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.imaging.describe import numbers
from app.imaging.dicom_file import Header

_DISCRETE, _LINEAR, _INDIRECT = 0, 1, 2


def palette_of(header: Header) -> tuple[NDArray[np.uint8], int] | None:
    """The palette as [entries, 3] 8-bit RGB and the stored value of its first entry.

    None when it is missing or damaged.
    """
    channels: list[NDArray[np.uint8]] = []
    first = 0
    for colour in ("Red", "Green", "Blue"):
        descriptor = numbers(header.value(f"{colour}PaletteColorLookupTableDescriptor"))
        if len(descriptor) != 3 or not all(math.isfinite(part) for part in descriptor):
            return None
        entries = int(descriptor[0]) % 65536 or 65536
        first = int(descriptor[1])
        channel = _channel(header, colour, entries, int(descriptor[2]))
        if channel is None:
            return None
        channels.append(channel)
    if header.value("PixelRepresentation") == 1 and first > 32767:
        first -= 65536
    return np.stack(channels, axis=1), first


def _channel(header: Header, colour: str, entries: int, bits: int) -> NDArray[np.uint8] | None:
    """One channel, reduced to 8 bits."""
    order = "<" if header.little_endian else ">"
    plain: Any = header.value(f"{colour}PaletteColorLookupTableData")
    segmented: Any = header.value(f"Segmented{colour}PaletteColorLookupTableData")
    if isinstance(plain, bytes):
        wide = len(plain) >= 2 * entries
        values = np.frombuffer(plain[: len(plain) & ~1], f"{order}u2" if wide else np.uint8)
    elif isinstance(segmented, bytes):
        words = np.frombuffer(segmented[: len(segmented) & ~1], f"{order}u2").tolist()
        values = np.asarray(expand_segments(words, entries))
    else:
        return None
    if values.size < entries:
        return None
    values = values[:entries]
    # Some writers declare 8 bits and still fill 16-bit words to their full range.
    return (values >> 8 if bits > 8 or values.max() > 255 else values).astype(np.uint8)


def expand_segments(words: list[int], entries: int) -> list[int]:
    """A segmented table as plain values, at most `entries` of them (PS3.3 C.7.9.2).

    Malformed segments end the table; the caller sees that it is too short.
    """
    values: list[int] = []
    position = 0
    while position + 2 < len(words) and len(values) < entries:
        kind, count = words[position], words[position + 1]
        if kind == _DISCRETE:
            values += words[position + 2 : position + 2 + count]
            position += 2 + count
        elif kind == _LINEAR and values:
            values += _ramp(values[-1], words[position + 2], count)
            position += 3
        elif kind == _INDIRECT and position + 3 < len(words):
            start = words[position + 2] | words[position + 3] << 16
            values += _repeat(words, start, count, values[-1] if values else 0)
            position += 4
        else:
            break
    return values[:entries]


def _ramp(start: int, end: int, count: int) -> list[int]:
    return [round(start + (end - start) * step / count) for step in range(1, count + 1)]


def _repeat(words: list[int], start: int, segments: int, last: int) -> list[int]:
    """The values of `segments` earlier discrete or linear segments from word `start`."""
    values: list[int] = []
    position = start
    for _ in range(segments):
        if position + 2 >= len(words):
            break
        kind, count = words[position], words[position + 1]
        if kind == _DISCRETE:
            values += words[position + 2 : position + 2 + count]
            position += 2 + count
        elif kind == _LINEAR:
            values += _ramp(values[-1] if values else last, words[position + 2], count)
            position += 3
        else:
            break
    return values
