"""Read a gzip or zlib stream, inflated only as far as it is read (RFC 1950, 1952).

Python's gzip module parses a header's name byte by byte and each member's header field by field,
so that a hostile file of some megabytes would keep it busy for minutes.
"""

from __future__ import annotations

import zlib
from typing import BinaryIO

_CHUNK = 2**18
_MAX_EMPTY = 1000


class GzipStream:
    """Reads the decompressed content of a gzip or zlib stream, from a file's current position."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._stream = zlib.decompressobj(wbits=47)
        self._left = b""
        self._gave = False
        self._empty = 0

    def read(self, size: int) -> bytes:
        """Return up to `size` bytes; b"" at the end.

        Raises:
            EOFError: The stream is truncated.
            zlib.error: The stream is damaged.
            ValueError: There are more than a thousand empty members in a row.
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
        """Begin another member; return False if only padding follows."""
        if not source.startswith(b"\x1f\x8b"):
            return False
        self._empty = 0 if self._gave else self._empty + 1
        if self._empty > _MAX_EMPTY:
            raise ValueError("members without content")
        self._stream, self._gave = zlib.decompressobj(wbits=31), False
        return True
