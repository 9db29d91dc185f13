"""Messages between the app and its worker processes: JSON and raw arrays, never pickle.

A message is a mapping of JSON values and numpy arrays, nested freely. On the pipe it is one JSON
frame, then the bytes of each small array. On Linux a large array travels through shared memory
(`segments`), which the receiver maps without a copy and which is freed with the last array on it. A
hostile file may have taken the sending worker over, so nothing in a message is executed or trusted:
dtypes are plain numbers, and sizes must agree.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from multiprocessing.connection import Connection
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.imaging.processes import segments

Array = NDArray[Any]
Message = dict[str, Any]

INLINE_LIMIT = 128 * 1024
"""Array size in bytes from which shared memory is faster than the pipe."""

PIECE = 16 * 1024 * 1024
"""Bytes of an array that go through the pipe at once: Windows may refuse 32 MB and more."""

HEADER_LIMIT = 64 * 1024 * 1024
MAX_VALUES = 4_000_000
"""Limit of lists and mappings in one message; each takes over a hundred bytes here."""

ARRAY_LIMIT = 16 * 1024**3
_MARK = "__ndarray__"
_PLAIN_KINDS = "biufc"


class WireError(Exception):
    """A message violates the protocol; its sender must not be used again."""


def send(connection: Connection, message: Mapping[str, Any]) -> None:
    """Send a message of JSON values and arrays (bool, integer, float or complex; any shape).

    Raises:
        TypeError: The message contains something other than JSON values and such arrays.
        SourceTruncatedError: An array lies in a mapped file that has been truncated; nothing was
            sent.
        OSError: The other side is gone.
    """
    arrays: list[Array] = []
    body = _strip(message, arrays)
    described: list[dict[str, Any]] = []
    handles: list[int] = []
    inline: list[memoryview] = []
    try:
        for array in arrays:
            handle = segments.write(array) if array.nbytes >= INLINE_LIMIT else None
            shared = handle is not None
            described.append({"dtype": array.dtype.str, "shape": array.shape, "shm": shared})
            if handle is not None:
                handles.append(handle)
            else:
                inline.append(segments.bytes_of(array))
        connection.send_bytes(json.dumps({"body": body, "arrays": described}).encode())
        segments.send_handles(connection, handles)
        for data in inline:
            for start in range(0, max(len(data), 1), PIECE):
                connection.send_bytes(data[start : start + PIECE])
    finally:
        segments.close_handles(handles)


def receive(connection: Connection) -> Message:
    """Read one message; its arrays are read-only.

    Raises:
        EOFError, OSError: The other side is gone, or the message is longer than allowed.
        WireError: The message is malformed.
    """
    handles: list[int] = []
    try:
        text = connection.recv_bytes(HEADER_LIMIT)
        if text.count(b"[") + text.count(b"{") > MAX_VALUES:
            raise WireError("more values than any answer holds")
        header = json.loads(text)
        del text
        items = [_Item(described) for described in header["arrays"]]
        handles = segments.receive_handles(connection, sum(item.shared for item in items))
        rest = iter(handles)
        arrays = [item.take(connection, rest) for item in items]
        body = _fill(header["body"], arrays)
    except (ValueError, KeyError, TypeError, IndexError, RecursionError) as error:
        raise WireError(f"malformed message: {type(error).__name__}") from error
    except segments.SegmentRefusedError as error:
        raise WireError(str(error)) from error
    finally:
        segments.close_handles(handles)
    if not isinstance(body, dict):
        raise WireError("a message must be a mapping")
    return body


class _Item:
    """An array as a message's header describes it; raises `WireError` if that is invalid."""

    def __init__(self, described: dict[str, Any]) -> None:
        self._dtype = np.dtype(str(described["dtype"]))
        self._shape = tuple(int(length) for length in described["shape"])
        self.shared = described["shm"]
        """Whether the array comes as a descriptor."""
        if self._dtype.kind not in _PLAIN_KINDS or any(length < 0 for length in self._shape):
            raise WireError("an array of a kind that is not sent")
        self._size = math.prod(self._shape) * self._dtype.itemsize
        if self._size > ARRAY_LIMIT:
            raise WireError("an array larger than any image")
        if self.shared is not False and not (
            self.shared is True and segments.AVAILABLE and self._size
        ):
            raise WireError("an array in a place where there is none")

    def take(self, connection: Connection, handles: Iterator[int]) -> Array:
        """Return the array, from the pipe or from its segment."""
        if self.shared:
            return segments.map_handle(next(handles), self._shape, self._dtype, self._size)
        pieces: list[bytes] = []
        for start in range(0, max(self._size, 1), PIECE):
            expected = min(self._size - start, PIECE)
            pieces.append(connection.recv_bytes(max(expected, 1)))
            if len(pieces[-1]) != expected:
                raise WireError("an array's size and shape disagree")
        return np.frombuffer(b"".join(pieces), self._dtype).reshape(self._shape)


def _strip(value: Any, arrays: list[Array]) -> Any:
    """Replace arrays in a value by their index in `arrays`."""
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
    """Put arrays back into a value; the inverse of `_strip`."""
    if isinstance(value, dict):
        mapping: dict[str, Any] = value
        if _MARK in mapping:
            return arrays[mapping[_MARK]]
        return {
            key: _fill(item, arrays) if isinstance(item, dict | list) else item
            for key, item in mapping.items()
        }
    if isinstance(value, list):
        items: list[Any] = value
        return [_fill(item, arrays) if isinstance(item, dict | list) else item for item in items]
    return value
