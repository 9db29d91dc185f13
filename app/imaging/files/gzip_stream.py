"""A gzip or zlib stream, inflated as far as it is read (RFC 1950, 1952).

Python's own reader takes a header's name byte by byte and a member's header field by field, so a
hostile file of some megabytes keeps it busy for minutes.
"""

from __future__ import annotations

import zlib
from typing import BinaryIO

_CHUNK = 2**18
_MAX_EMPTY = 1000


class GzipStream:
    """The content of one or more members, one after the other.

    Args:
        file: Positioned where the first begins.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._stream = zlib.decompressobj(wbits=47)
        self._left = b""
        self._gave = False
        self._empty = 0

    def read(self, size: int) -> bytes:
        """Up to `size` bytes; none at the end.

        Raises:
            EOFError: It is cut short.
            zlib.error: It is damaged.
            ValueError: It is nothing but members without content.
        """
        while True:
            source = self._stream.unconsumed_tail or self._left or self._file.read(_CHUNK)
            self._left = b""
            if not source:
                if not self._stream.eof:
                    raise EOFError("cut short")
                return b""
            if self._stream.eof and not self._next(source):
                return b""
            data = self._stream.decompress(source, size)
            self._gave = self._gave or bool(data)
            if self._stream.eof:
                self._left = self._stream.unused_data
            if data:
                return data

    def _next(self, source: bytes) -> bool:
        """Begin another member; False where what follows is padding."""
        if not source.startswith(b"\x1f\x8b"):
            return False
        self._empty = 0 if self._gave else self._empty + 1
        if self._empty > _MAX_EMPTY:
            raise ValueError("members without content")
        self._stream, self._gave = zlib.decompressobj(wbits=31), False
        return True
