"""Location of a frame's fragments in encapsulated pixel data (PS3.5 A.4).

Offset tables and the number of frames are often missing or wrong, so the fragments' own contents
decide.
"""

from __future__ import annotations

import struct
from bisect import bisect_left
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, BinaryIO

_ITEM = 0xE000FFFE
_UNDEFINED = 0xFFFFFFFF
_MANY = 50_000
_SMALLEST = 16
"""Minimum average size of a fragment where there are many; less means that there are only item
heads."""
_MAX_TABLE = 4 * 10**6
_STARTS = (
    b"\xff\xd8\xff",  # JPEG, JPEG-LS
    b"\xff\x4f\xff\x51",  # JPEG 2000
    b"\x00\x00\x00\x0cjP  ",  # its file format, which should not be here but is
    b"\xff\x0a",  # JPEG XL
    b"\x00\x00\x00\x0cJXL ",
)


@dataclass(frozen=True, slots=True)
class Fragments:
    """The positions of all fragments of a file's encapsulated pixel data.

    Attributes:
        base: Position of the first fragment's item; offsets are relative to it.
        spans: (position, length) of each fragment's data, in bytes.
        starts: For each fragment, whether a code stream begins in it.
        offsets: Values in the Basic Offset Table; empty if the table is empty.
        cut: True if the file ends before the declared end of the last fragment.
    """

    base: int
    spans: tuple[tuple[int, int], ...]
    starts: tuple[bool, ...]
    offsets: tuple[int, ...]
    cut: bool = False


def find_fragments(source: BinaryIO, position: int, length: int) -> Fragments:
    """Locate all fragments by stepping from item to item; only their first bytes are read.

    Args:
        source: The open file.
        position: Position of the pixel data element's value.
        length: Length of that value in bytes; nothing beyond it is read.
    """
    end = position + length
    spans: list[tuple[int, int]] = []
    starts: list[bool] = []
    source.seek(position)
    table, cut = _item(source, end)
    offsets: tuple[int, ...] = ()
    if table:
        data = source.read(table) if table <= _MAX_TABLE else b""
        source.seek(position + 8 + table)
        offsets = struct.unpack(f"<{len(data) // 4}L", data[: len(data) & ~3])
    base = source.tell()
    while True:
        size, shorter = _item(source, end)
        if size is None:
            break
        cut = shorter
        place = source.tell()
        spans.append((place, size))
        starts.append(source.read(min(size, 12)).startswith(_STARTS))
        source.seek(place + size)
        if len(spans) % _MANY == 0 and place + size - base < (_SMALLEST + 8) * len(spans):
            raise ValueError(f"over {len(spans)} fragments without content")
    return Fragments(base, tuple(spans), tuple(starts), offsets, cut)


def _item(source: BinaryIO, end: int) -> tuple[int | None, bool]:
    """Return the length of the next item, and whether the file ends before; None at the end."""
    start = source.read(8)
    if len(start) < 8:
        return None, False
    tag, size = struct.unpack("<LL", start)
    if tag != _ITEM:
        return None, False
    rest = max(end - source.tell(), 0)
    # The byte that pads an odd length is no loss.
    return (rest, False) if size == _UNDEFINED else (min(size, rest), size > rest + 1)


def whole_frames(fragments: Fragments, frames: int, extended: tuple[Any, Any]) -> int:
    """Return how many frames, from the first on, are complete; arguments as for `frame_spans`."""
    cut = fragments.spans[-1:] if fragments.cut else ()

    def missing(index: int) -> bool:
        spans = frame_spans(fragments, frames, index, extended)
        return not spans or spans[-1:] == cut

    return bisect_left(range(frames), True, key=missing)


def frame_spans(
    fragments: Fragments, frames: int, index: int, extended: tuple[Any, Any] = (None, None)
) -> tuple[tuple[int, int], ...]:
    """Return (position, length) in bytes of each fragment of a frame; () if the frame is missing.

    Args:
        fragments: All fragments in the pixel data.
        frames: The declared number of frames.
        index: Frame index from 0.
        extended: Values of Extended Offset Table and Extended Offset Table Lengths, or None.
    """
    spans = fragments.spans
    if not spans:
        return ()
    if frames == 1:
        return spans if index == 0 else ()
    by_table = _by_extended_table(fragments, frames, index, extended)
    if by_table:
        return by_table
    if len(spans) == frames:
        return (spans[index],)
    firsts = _firsts_by_offsets(fragments, frames)
    if firsts is None:
        firsts = [number for number, start in enumerate(fragments.starts) if start]
    if not firsts:
        firsts = list(range(len(spans)))
    if index >= len(firsts):
        return ()
    after = firsts[index + 1] if index + 1 < len(firsts) else len(spans)
    return spans[firsts[index] : after]


def _firsts_by_offsets(fragments: Fragments, frames: int) -> list[int] | None:
    """Return each frame's first fragment by the Basic Offset Table; None if it is wrong."""
    if len(fragments.offsets) != frames:
        return None
    number = {place - 8 - fragments.base: n for n, (place, _) in enumerate(fragments.spans)}
    firsts = [number.get(offset, -1) for offset in fragments.offsets]
    ordered = all(a < b for a, b in pairwise(firsts))
    return firsts if firsts[0] == 0 and ordered else None


def _by_extended_table(
    fragments: Fragments, frames: int, index: int, extended: tuple[Any, Any]
) -> tuple[tuple[int, int], ...]:
    offsets, lengths = extended
    if not (isinstance(offsets, bytes) and isinstance(lengths, bytes)):
        return ()
    if not len(offsets) == len(lengths) == 8 * frames:
        return ()
    (offset,) = struct.unpack_from("<Q", offsets, 8 * index)
    (length,) = struct.unpack_from("<Q", lengths, 8 * index)
    before = struct.unpack_from("<Q", offsets, 8 * index - 8)[0] if index else -1
    if offset <= before or (index == 0 and offset):
        return ()  # frames lie in their order, the first one first
    for place, size in fragments.spans:
        if place - 8 - fragments.base == offset:
            return ((place, length),) if 0 < length <= size else ()
    return ()
