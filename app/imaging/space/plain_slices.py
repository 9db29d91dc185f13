"""Read uncompressed slices straight from their files into the voxels of a volume.

A worker process has parsed the header and says where the pixels lie. Files are read, not mapped:
a mapped file that is truncated, or removed with its disk, would end the process.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from io import FileIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.imaging import guards
from app.imaging.guards import COPY_AGAIN

Array = NDArray[Any]

_FLAGS = (
    os.O_RDONLY
    | getattr(os, "O_BINARY", 0)
    # A pipe that replaced the file since the scan would block until it has a writer.
    | getattr(os, "O_NONBLOCK", 0)
)


@dataclass(frozen=True, slots=True)
class PlainLayout:
    """How the pixels of an uncompressed grey frame are stored.

    Attributes:
        rows: Number of rows.
        columns: Number of columns.
        dtype: Type of the values: "u1" to "u8", "i1" to "i8", "f4" or "f8".
        swapped: Whether the file is big endian.
        up: Number of unused bits above the value in each word.
        down: Number of unused bits above and below the value together.
    """

    rows: int
    columns: int
    dtype: str
    swapped: bool = False
    up: int = 0
    down: int = 0


@dataclass(frozen=True, slots=True)
class PlainSpan:
    """Where the pixels of a frame lie in a file.

    Attributes:
        path: The file; never a member of an archive.
        size_bytes: File size when it was scanned; 0 if unknown.
        mtime_ns: File modification time (ns) when it was scanned.
        offset: Offset of the frame's first byte in the file.
        layout: How the pixels are stored.
    """

    path: Path
    size_bytes: int
    mtime_ns: int
    offset: int
    layout: PlainLayout


def read_plain(span: PlainSpan, out: Array) -> None:
    """Read a frame's pixels into `out`.

    Args:
        span: Where the pixels lie in the file.
        out: Contiguous [rows, columns] array to fill, of the layout's type in native byte order.

    Raises:
        FileProblem: The file is missing, truncated, or has changed since it was scanned.
    """
    try:
        _read_bytes(span, out.reshape(-1).view(np.uint8).data)
    except OSError as error:
        raise guards.unreadable_file(span.path, error) from None
    layout = span.layout
    if layout.swapped:
        out.byteswap(inplace=True)
    if layout.down:
        _strip_unused_bits(out, layout)


def _read_bytes(span: PlainSpan, room: memoryview) -> None:
    handle = os.open(span.path, _FLAGS)
    try:
        guards.check_regular(span.path, os.fstat(handle))
        with os.fdopen(handle, "rb", buffering=0, closefd=False) as file:
            _read_pixels(file, span, room)
        # Checked after reading, to notice a change during it too.
        status = os.fstat(handle)
    finally:
        os.close(handle)
    known = (span.size_bytes, span.mtime_ns)
    if span.size_bytes and known != (status.st_size, status.st_mtime_ns):
        raise guards.changed_file(span.path)


def _read_pixels(file: FileIO, span: PlainSpan, room: memoryview) -> None:
    file.seek(span.offset)
    got = 0
    while got < len(room):
        count = file.readinto(room[got:])
        if not count:
            raise guards.problem(
                span.path,
                f"the file is cut short: it holds {got:,} of {len(room):,} bytes of pixels",
                COPY_AGAIN,
            )
        got += count


def _strip_unused_bits(out: Array, layout: PlainLayout) -> None:
    """Remove the bits of each word that are not the value's, in place."""
    words = out.view(f"u{out.dtype.itemsize}")
    # Without unused bits below the value a mask is enough.
    if out.dtype.kind == "u" and layout.up == layout.down:
        words &= words.dtype.type((1 << (8 * words.itemsize - layout.down)) - 1)
        return
    if layout.up:
        np.left_shift(words, layout.up, out=words)
    np.right_shift(out, layout.down, out=out)
