"""Read uncompressed slices straight from their files into the voxels of a volume.

A worker process has parsed the header and says where the pixels lie. Files are read, not mapped:
a mapped file that is truncated, or removed with its disk, would end the process.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.imaging import guards
from app.imaging.files.sources import open_file
from app.imaging.guards import COPY_AGAIN

Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class PlainLayout:
    """How the pixels of an uncompressed grey frame are stored.

    Attributes:
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
    """The position of a frame's pixels in a file that is not a member of an archive.

    Attributes:
        size_bytes: File size when it was scanned; 0 if unknown.
        mtime_ns: File modification time (ns) when it was scanned.
        offset: Offset of the frame's first byte in the file.
    """

    path: Path
    size_bytes: int
    mtime_ns: int
    offset: int
    layout: PlainLayout


def read_plain(span: PlainSpan, out: Array) -> None:
    """Read a frame's pixels into a contiguous [rows, columns] array of native byte order.

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
    with open_file(span.path) as file:
        file.seek(span.offset)
        got = file.readinto(room)  # pyright: ignore[reportAttributeAccessIssue]
        # Checked after reading, to notice a change during it too.
        status = os.fstat(file.fileno())
    if got < len(room):
        reason = f"the file is cut short: it contains {got:,} of {len(room):,} bytes of pixels"
        raise guards.problem(span.path, reason, COPY_AGAIN)
    known = (span.size_bytes, span.mtime_ns)
    if span.size_bytes and known != (status.st_size, status.st_mtime_ns):
        raise guards.changed_file(span.path)


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
