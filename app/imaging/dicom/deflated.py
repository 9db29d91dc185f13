"""Deflated data sets (PS3.5 A.5), inflated no further than their own header says they go.

A kilobyte can become a megabyte of zeros, so what a file inflates to is bounded before it is
there: a header may take some space, and pixels as much as rows, columns and frames need.
"""

from __future__ import annotations

import io
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from app.imaging import guards

MAX_HEADER_BYTES = 2**24
MAX_BYTES = 3 * 2**27
"""Of the inflated data set: 400 million, as much as a volume of 700 slices of 512 x 512."""

_SYNTAX = b"1.2.840.10008.1.2.1.99"
_PLAIN = b"1.2.840.10008.1.2.1\0\0\0"
_ELEMENT = b"\x02\0\x10\0UI\x16\0"
_LONG_FORMS = (b"OB", b"OW", b"SQ", b"UN", b"UT", b"OF", b"OD", b"OL", b"UC", b"UR")
_START = 2**16
_CHUNK = 2**20

Extent = Callable[[BinaryIO, int], int | None]
"""(an inflated file, its bytes so far) -> where its pixels end; None while they have not begun."""


def is_deflated(start: bytes) -> bool:
    """Whether a file's first bytes name the deflated transfer syntax."""
    return _ELEMENT + _SYNTAX in start


def inflated_file(path: Path, file: BinaryIO, extent: Extent) -> bytes:
    """The file as if its data set had never been deflated, in explicit little endian.

    Args:
        path: For errors.
        file: The deflated file.
        extent: Says how far the pixels reach, once the header is there.

    Raises:
        FileProblem: It is damaged, or inflates to more than it can need.
    """
    file.seek(0)
    begin = file.read(_START)
    end = _end_of_meta(begin)
    meta = begin[:end].replace(_ELEMENT + _SYNTAX, _ELEMENT + _PLAIN, 1)
    file.seek(end)
    stream = _Stream(path, file)
    parts = [meta, stream.read(MAX_HEADER_BYTES)]
    if not stream.ended:
        known = b"".join(parts)
        needed = extent(io.BytesIO(known), len(known))
        if needed is None or needed > MAX_BYTES:
            raise guards.problem(
                path,
                "it inflates to more than an image needs, and is too large to be opened safely",
                "Ask for an export without compression",
            )
        parts.append(stream.read(max(needed - len(known), 0)))
    return b"".join(parts)


def _end_of_meta(data: bytes) -> int:
    """Where the file meta information ends: with the last element of group 2."""
    at = 132 if data[128:132] == b"DICM" else 0
    while data[at : at + 2] == b"\x02\0" and at + 8 <= len(data):
        if data[at + 4 : at + 6] in _LONG_FORMS:
            at += 12 + int.from_bytes(data[at + 8 : at + 12], "little")
        else:
            at += 8 + int.from_bytes(data[at + 6 : at + 8], "little")
    return min(at, len(data))


class _Stream:
    """The inflated bytes, as many as are asked for."""

    def __init__(self, path: Path, file: BinaryIO) -> None:
        self._path = path
        self._file = file
        self._inflater = zlib.decompressobj(-zlib.MAX_WBITS)
        self.ended = False

    def read(self, count: int) -> bytes:
        """Up to `count` bytes; fewer at the end of the stream, or of a file that is cut short."""
        parts: list[bytes] = []
        left = count
        while left > 0 and not self.ended:
            source = self._inflater.unconsumed_tail or self._file.read(_CHUNK)
            try:
                part = self._inflater.decompress(source, left)
            except zlib.error:
                raise guards.problem(
                    self._path, "its compressed data set is damaged", guards.COPY_AGAIN
                ) from None
            self.ended = self._inflater.eof or not (source or part)
            parts.append(part)
            left -= len(part)
        return b"".join(parts)
