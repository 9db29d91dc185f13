"""Read the markers of a JPEG or JPEG-LS code stream (ITU T.81 B), as tolerantly as decoders."""

from __future__ import annotations

import struct
from dataclasses import dataclass

JPEG_LS = 0xF7
MAX_SEGMENTS = 20_000
MAX_SCANS = 100
"""Progressive encoders write about ten scans; each costs a pass over the whole image."""

_ALONE = frozenset({0x01, *range(0xD0, 0xD9)})
_PRESET_OF_LS = 0xF8
_OVERSIZE = 4
"""LSE of JPEG-LS that declares other rows and columns, up to 2^32 (ITU T.87 C.2.4.1.4): no DICOM
image needs it, and decoders allocate memory by it."""
_START_OF_SCAN = 0xDA
_END_OF_IMAGE = 0xD9


@dataclass(frozen=True, slots=True)
class StartOfFrame:
    """The content of a start-of-frame segment: kind of JPEG (marker), image size and format."""

    marker: int
    precision: int
    rows: int
    columns: int
    components: int


def start_of_frame(data: bytes) -> StartOfFrame | None:
    """Return the start-of-frame segment, or None if there is none before the first scan.

    Bytes that are not markers are skipped, as decoders do, so that no segment can be hidden.

    Raises:
        ValueError: There are several such segments (which could disagree), a size is declared
            elsewhere as well, or there are implausibly many segments.
    """
    if data[:2] != b"\xff\xd8":
        return None
    found: StartOfFrame | None = None
    position = 2
    for _ in range(MAX_SEGMENTS):
        position = data.find(b"\xff", position)
        if position < 0 or position + 5 > len(data):
            return found
        marker = data[position + 1]
        # A stuffed byte or padding, no marker.
        if marker in (0x00, 0xFF):
            position += 1
            continue
        if marker in _ALONE:
            position += 2
            continue
        if marker in (_START_OF_SCAN, _END_OF_IMAGE):
            return found
        if marker == _PRESET_OF_LS and data[position + 4] == _OVERSIZE:
            raise ValueError("a size beside the start of frame")
        if _is_start_of_frame(marker) and position + 10 <= len(data):
            if found is not None:
                raise ValueError("two starts of frame")
            figures = struct.unpack(">BHHB", data[position + 4 : position + 10])
            found = StartOfFrame(marker, *figures)
        position += 2 + max(int(struct.unpack(">H", data[position + 2 : position + 4])[0]), 2)
    raise ValueError("too many segments")


def _is_start_of_frame(marker: int) -> bool:
    return (0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC)) or marker == JPEG_LS


def has_too_many_scans(data: bytes) -> bool:
    """Return whether a JPEG has so many scans that decoding would take implausibly long."""
    return data.count(b"\xff\xda") > MAX_SCANS
