"""The samples of a volume file, uncompressed. Runs in a worker process.

One file's samples are kept between calls, since frames are asked for one by one.
"""

from __future__ import annotations

import bz2
import re
import warnings
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from app.errors import FileProblem
from app.imaging import guards
from app.imaging.files import sources
from app.imaging.files.gzip_stream import GzipStream
from app.imaging.files.one_entry_cache import OneEntryCache
from app.imaging.formats.volume_header import MAX_VOLUME_BYTES, VolumeHeader, cut_short

Array = NDArray[Any]

_CHUNK = 2**22
_TEXT_BYTES_A_SAMPLE = 32
_MAX_TEXT_BYTES = 2**28


_samples = OneEntryCache()


def part_samples(header: VolumeHeader, path: Path, part: int) -> Array:
    """One volume of a file.

    Args:
        header: As read from the file.
        path: The file that was opened, for errors.
        part: Which of its volumes, from 0.

    Returns:
        [k, j, i] or [k, j, i, colour], in the file's byte order; read-only.

    Raises:
        FileProblem: The file is damaged or cut short.
    """
    axes = len(header.sizes)
    slowest = header.part_axes == tuple(range(axes - len(header.part_axes), axes))
    if header.total_bytes <= MAX_VOLUME_BYTES or not slowest:
        if header.total_bytes > MAX_VOLUME_BYTES:
            reason = "its interleaved volumes are too large to be opened safely"
            raise guards.problem(path, reason, "Export them one by one")
        key = (path, header.data, sources.status(path), sources.status(header.data))
        whole = _samples.get(key, lambda: _read(header, path, 0, header.total_bytes))
        array = whole.reshape(header.sizes[::-1])
    else:
        sizes = [size for n, size in enumerate(header.sizes) if n not in header.part_axes]
        flat = _read(header, path, part * header.part_bytes, header.part_bytes)
        return _in_order(flat.reshape(sizes[::-1]), header)
    counts = [header.sizes[axis] for axis in header.part_axes]
    # The fastest of these axes counts first, so that time points follow each other in the file.
    place = np.unravel_index(part, counts, order="F") if counts else ()
    index: list[Any] = [slice(None)] * axes
    for axis, position in zip(header.part_axes, place, strict=True):
        index[axes - 1 - axis] = int(position)
    return _in_order(array[tuple(index)], header)


def _in_order(array: Array, header: VolumeHeader) -> Array:
    """[k, j, i(, colour)] from an array whose axes are those of one volume, slowest first."""
    kept = [n for n in range(len(header.sizes)) if n not in header.part_axes]
    where = {axis: len(kept) - 1 - place for place, axis in enumerate(kept)}
    order = [where[axis] for axis in reversed(header.space_axes)]
    if header.colour_axis is not None:
        order.append(where[header.colour_axis])
    array = array.transpose(order)
    missing = 3 - len(header.space_axes)
    return array.reshape((1,) * missing + array.shape) if missing else array


def _read(header: VolumeHeader, path: Path, skip: int, count: int) -> Array:
    """`count` bytes of samples from `skip` on."""
    try:
        with sources.open_file(header.data) as file:
            if header.encoding in ("text", "hex"):
                return _read_text(header, file, path)[skip // header.dtype.itemsize :]
            read = _reader(header, file, skip)
            buffer = bytearray(count)
            filled = _fill(read, memoryview(buffer))
    except FileProblem:
        raise
    except (OSError, EOFError, ValueError, zlib.error) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise guards.unreadable(header.data, error) from None
        raise guards.problem(
            path, "its compressed voxels are damaged", guards.COPY_AGAIN, type(error).__name__
        ) from None
    if filled < count:
        raise cut_short(path, filled, count)
    return np.frombuffer(buffer, header.dtype)


def _reader(header: VolumeHeader, file: BinaryIO, skip: int) -> Callable[[int], bytes]:
    """What gives the samples' bytes, the first `skip` of them already passed over."""
    if header.encoding == "raw" and not header.packed:
        file.seek(header.offset + skip)
        return file.read
    if header.packed:
        read = GzipStream(file).read
        skip += header.offset
    else:
        file.seek(header.offset)
        if header.encoding == "bzip2":
            read = bz2.BZ2File(file).read
        else:
            read = GzipStream(file).read
    while skip > 0:
        passed = len(read(min(skip, _CHUNK)))
        if not passed:
            break
        skip -= passed
    return read


def _fill(read: Callable[[int], bytes], target: memoryview) -> int:
    filled = 0
    while filled < len(target):
        data = read(min(_CHUNK, len(target) - filled))
        if not data:
            break
        target[filled : filled + len(data)] = data
        filled += len(data)
    return filled


def _read_text(header: VolumeHeader, file: BinaryIO, path: Path) -> Array:
    """All samples of a file that writes them as text."""
    count = header.total_bytes // header.dtype.itemsize
    limit = min(count * _TEXT_BYTES_A_SAMPLE, _MAX_TEXT_BYTES)
    file.seek(header.offset)
    text = file.read(limit + 1)
    if len(text) > limit:
        raise guards.problem(path, "its voxels are written as text, too long to be read safely")
    if header.encoding == "hex":
        data = bytes.fromhex(re.sub(rb"\s", b"", text).decode("ascii"))
        values: Array = np.frombuffer(
            data, header.dtype, min(count, len(data) // header.dtype.itemsize)
        )
    else:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            try:
                values = np.fromstring(
                    text.decode("ascii"), header.dtype.newbyteorder("="), sep=" "
                )
            except DeprecationWarning:
                raise guards.problem(path, "its voxels are no numbers", guards.COPY_AGAIN) from None
    if values.size < count:
        size = header.dtype.itemsize
        raise cut_short(path, values.size * size, header.total_bytes)
    return values[:count]
