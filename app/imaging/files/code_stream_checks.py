"""Check the image size and format that a code stream declares, before it is decoded.

Decoders allocate memory by the code stream's own rows, columns, tiles, components and planes,
none of which is limited by the size of the file.
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass

from app.imaging.files.jpeg_markers import has_too_many_scans, start_of_frame

_CODE_STREAM_2000 = b"\xff\x4f\xff\x51"
_BOXES_2000 = b"\x00\x00\x00\x0cjP  "
_BOXES_XL = b"\x00\x00\x00\x0cJXL "
_CODE_STREAM_XL = b"\xff\x0a"

MAX_TILES = 65_535
_MANY_TILES = 1_024
_SMALL_TILE = 64 * 64
_NARROW_TILE = 16
_XL_RATIOS = ((1, 1), (1, 1), (12, 10), (4, 3), (3, 2), (16, 9), (5, 4), (2, 1))
_XL_BITS = (9, 13, 18, 30)


@dataclass(frozen=True, slots=True)
class CodeStreamFigures:
    """Image size and sample format declared by a code stream.

    Attributes:
        rows: Number of rows; 0 if not declared.
        columns: Number of columns.
        components: Samples per pixel; 0 if not declared.
        precision: Bits per sample; 0 if not declared.
        may_transpose: Whether rows and columns may be exchanged (JPEG XL orientation).
    """

    rows: int
    columns: int
    components: int = 0
    precision: int = 0
    may_transpose: bool = False


def declared_figures(data: bytes) -> CodeStreamFigures | None:
    """Return size and format declared by a JPEG, JPEG-LS, JPEG 2000 or JPEG XL stream, else None.

    Raises:
        ValueError: The data starts like one of these formats, but its size or format is missing,
            contradictory or implausible.
    """
    if data.startswith((_CODE_STREAM_2000, _BOXES_2000)):
        return _jpeg_2000(data)
    if data.startswith((_CODE_STREAM_XL, _BOXES_XL)):
        return _jpeg_xl(data)
    if not data.startswith(b"\xff\xd8"):
        return None
    if has_too_many_scans(data):
        raise ValueError("too many scans")
    start = start_of_frame(data)
    if start is None:
        raise ValueError("no start of frame")
    return CodeStreamFigures(start.rows, start.columns, start.components, start.precision)


def _jpeg_2000(data: bytes) -> CodeStreamFigures:
    """Parse SIZ (ITU T.800 A.5.1), at the start or inside JP2 boxes."""
    at = _box(data, (b"jp2c",)) if data.startswith(_BOXES_2000) else 0
    if data[at : at + 4] != _CODE_STREAM_2000 or len(data) < at + 43:
        raise ValueError("no SIZ segment")
    x1, y1, x0, y0, tile_x, tile_y, first_x, first_y = struct.unpack(">8L", data[at + 8 : at + 40])
    components, size = struct.unpack(">HB", data[at + 40 : at + 43])
    if not (x1 > x0 and y1 > y0 and tile_x and tile_y and first_x <= x0 and first_y <= y0):
        raise ValueError("an impossible SIZ segment")
    tiles = -(-(x1 - first_x) // tile_x) * -(-(y1 - first_y) // tile_y)
    sides = min(tile_x, x1 - x0), min(tile_y, y1 - y0)
    # Thousands of tiny tiles cost more to set up than their pixels do to decode.
    small = math.prod(sides) < _SMALL_TILE or min(sides) < _NARROW_TILE
    if tiles > MAX_TILES or (tiles > _MANY_TILES and small):
        raise ValueError(f"{tiles} tiles")
    return CodeStreamFigures(y1 - y0, x1 - x0, components, (size & 0x7F) + 1)


def _jpeg_xl(data: bytes) -> CodeStreamFigures:
    """Parse SizeHeader (ISO/IEC 18181-1 D.2), at the start or in the box of the code stream."""
    at = 0
    if data.startswith(_BOXES_XL):
        at = _box(data, (b"jxlc", b"jxlp"))
        at += 4 if data[at - 4 : at] == b"jxlp" else 0
    if data[at : at + 2] != _CODE_STREAM_XL:
        raise ValueError("no code stream")
    bits = _Bits(int.from_bytes(data[at + 2 : at + 16], "little"))
    small = bits.take(1)
    rows = (bits.take(5) + 1) * 8 if small else bits.take(_XL_BITS[bits.take(2)]) + 1
    ratio = bits.take(3)
    if ratio:
        over, under = _XL_RATIOS[ratio]
        columns = rows * over // under
    else:
        columns = (bits.take(5) + 1) * 8 if small else bits.take(_XL_BITS[bits.take(2)]) + 1
    return CodeStreamFigures(rows, columns, may_transpose=True)


def _box(data: bytes, kinds: tuple[bytes, ...]) -> int:
    """Return where the content of the first box of these kinds begins (ITU T.800 I.4).

    A box of length 0 that is not the last would keep parsers busy for ever, so it is refused.
    """
    at = 0
    while at + 16 <= len(data):
        (length,) = struct.unpack(">L", data[at : at + 4])
        inside = at + 8
        if length == 1:
            (length,) = struct.unpack(">Q", data[at + 8 : at + 16])
            inside = at + 16
        if data[at + 4 : at + 8] in kinds:
            return inside
        if length < 8:
            break
        at += length
    raise ValueError("no code stream")


class _Bits:
    """Reader of bits, the lowest first."""

    def __init__(self, value: int) -> None:
        self._value = value

    def take(self, count: int) -> int:
        """Return the next bits as a number."""
        found = self._value & ((1 << count) - 1)
        self._value >>= count
        return found
