"""Messages between the app and its worker processes: JSON and raw arrays, never pickle.

A message is a mapping of JSON values and numpy arrays, nested freely. On the pipe it is one JSON
frame, then the bytes of each small array; a large array travels through shared memory. What a
worker sends may come from a process that a hostile file has taken over, so nothing in it is
executed or trusted: dtypes are plain numbers, and sizes must agree.

The sender keeps its segments open until the receiver has answered (Windows frees a segment with
its last handle); the receiver copies the data out and removes the segment's name at once.
"""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection
from multiprocessing.shared_memory import SharedMemory
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Message = dict[str, Any]

INLINE_LIMIT = 256 * 1024
"""Bytes from which an array goes through shared memory: below, the pipe is as fast."""

HEADER_LIMIT = 256 * 1024 * 1024
ARRAY_LIMIT = 16 * 1024**3
_MARK = "__ndarray__"
_PLAIN_KINDS = "biufc"


class WireError(Exception):
    """A message breaks the protocol; the process that sent it is not to be used again."""


def send(connection: Connection, message: Mapping[str, Any], prefix: str) -> list[SharedMemory]:
    """Send a message.

    Args:
        connection: The pipe.
        message: JSON values and arrays (bool, integer, float or complex; any shape).
        prefix: Shared memory is named prefix + "0", prefix + "1", ... so that the other side can
            remove what a dead sender left (`discard`).

    Returns:
        The segments to close (`release`) when the other side has the message.

    Raises:
        TypeError: The message holds something else.
        OSError: The other side is gone.
    """
    arrays: list[Array] = []
    body = _strip(message, arrays)
    segments: list[SharedMemory] = []
    described: list[dict[str, Any]] = []
    inline: list[Array] = []
    for array in arrays:
        name = _share(array, f"{prefix}{len(segments)}", segments)
        described.append({"dtype": array.dtype.str, "shape": list(array.shape), "shm": name})
        if name is None:
            inline.append(array)
    try:
        connection.send_bytes(json.dumps({"body": body, "arrays": described}).encode())
        for array in inline:
            connection.send_bytes(array.reshape(-1).view(np.uint8).data)
    except OSError:
        release(segments)
        discard(prefix)
        raise
    return segments


def receive(connection: Connection) -> Message:
    """Read one message; arrays are copies that belong to the caller.

    Raises:
        EOFError: The other side is gone.
        OSError: The other side is gone, or a frame exceeds its limit.
        WireError: The message is malformed.
    """
    try:
        header = json.loads(connection.recv_bytes(HEADER_LIMIT))
        described: list[dict[str, Any]] = header["arrays"]
        arrays = [_take(connection, item) for item in described]
        body = _fill(header["body"], arrays)
    except (ValueError, KeyError, TypeError, IndexError, RecursionError) as error:
        raise WireError(f"malformed message: {type(error).__name__}") from error
    if not isinstance(body, dict):
        raise WireError("a message must be a mapping")
    return body


def release(segments: list[SharedMemory]) -> None:
    """Close the sender's handles and forget them."""
    for segment in segments:
        segment.close()
    segments.clear()


def discard(prefix: str) -> int:
    """Remove segments that nobody took over, e.g. because their sender was killed.

    Returns:
        How many there were.
    """
    count = 0
    while True:
        try:
            segment = SharedMemory(f"{prefix}{count}")
        except (OSError, ValueError):
            return count
        segment.close()
        with suppress(OSError):
            segment.unlink()
        count += 1


def _strip(value: Any, arrays: list[Array]) -> Any:
    """The value with arrays replaced by their index in `arrays`."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.ndarray):
        if value.dtype.kind not in _PLAIN_KINDS:
            raise TypeError(f"an array of {value.dtype} cannot be sent")
        arrays.append(np.ascontiguousarray(value).reshape(value.shape))
        return {_MARK: len(arrays) - 1}
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, Mapping):
        mapping: Mapping[Any, Any] = value
        if _MARK in mapping or not all(isinstance(key, str) for key in mapping):
            raise TypeError("a mapping's keys must be text")
        return {key: _strip(item, arrays) for key, item in mapping.items()}
    if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray | memoryview):
        sequence: Sequence[Any] = value
        return [_strip(item, arrays) for item in sequence]
    raise TypeError(f"a {type(value).__name__} cannot be sent")


def _fill(value: Any, arrays: list[Array]) -> Any:
    """The inverse of `_strip`."""
    if isinstance(value, dict):
        mapping: dict[str, Any] = value
        if _MARK in mapping:
            return arrays[mapping[_MARK]]
        return {key: _fill(item, arrays) for key, item in mapping.items()}
    if isinstance(value, list):
        items: list[Any] = value
        return [_fill(item, arrays) for item in items]
    return value


def _share(array: Array, name: str, segments: list[SharedMemory]) -> str | None:
    """Put a large array into shared memory; None when it goes through the pipe instead."""
    if array.nbytes < INLINE_LIMIT:
        return None
    try:
        segment = SharedMemory(name, create=True, size=array.nbytes)
    except FileExistsError:
        discard(name)
        return None
    except OSError:
        return None
    if not _backed(name, array.nbytes):
        segment.close()
        segment.unlink()
        return None
    np.copyto(np.ndarray(array.shape, array.dtype, segment.buf), array)
    segments.append(segment)
    return segment.name


def _backed(name: str, size: int) -> bool:
    """Reserve the segment's memory.

    Linux promises shared memory that it may not have (containers often allow 64 MB), and kills
    the process with SIGBUS on first use.
    """
    if not sys.platform.startswith("linux"):
        return True
    try:
        handle = os.open(f"/dev/shm/{name}", os.O_RDWR)
    except OSError:
        return True
    try:
        os.posix_fallocate(handle, 0, size)
    except OSError:
        return False
    finally:
        os.close(handle)
    return True


def _take(connection: Connection, item: dict[str, Any]) -> Array:
    """The array that a header's item describes."""
    dtype = np.dtype(item["dtype"])
    shape = tuple(int(length) for length in item["shape"])
    if dtype.kind not in _PLAIN_KINDS or any(length < 0 for length in shape):
        raise WireError("an array of a kind that is not sent")
    size = math.prod(shape) * dtype.itemsize
    if size > ARRAY_LIMIT:
        raise WireError("an array larger than any image")
    name = item["shm"]
    if name is None:
        data = connection.recv_bytes(max(size, 1))
        if len(data) != size:
            raise WireError("an array's size and shape disagree")
        return np.frombuffer(bytearray(data), dtype).reshape(shape)
    segment = SharedMemory(str(name))
    try:
        if segment.size < size:
            raise WireError("an array's size and shape disagree")
        return np.ndarray(shape, dtype, segment.buf).copy()
    finally:
        segment.close()
        with suppress(OSError):
            segment.unlink()
