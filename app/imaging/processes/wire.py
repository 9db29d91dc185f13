"""Messages between the app and its worker processes: JSON and raw arrays, never pickle.

A message is a mapping of JSON values and numpy arrays, nested freely. On the pipe it is one JSON
frame, then the bytes of each array, which are received straight into the new array. A hostile
file may have taken the sending worker over, so nothing in a message is executed or trusted: arrays
hold plain numbers only, and their declared sizes must agree.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from multiprocessing import BufferTooShort
from multiprocessing.connection import Connection
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Message = dict[str, Any]

PIECE = 2**20
"""Bytes of an array that go through the pipe at once: larger pieces leave the processor's cache."""

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
        OSError: The other side is gone.
    """
    arrays: list[Array] = []
    body = _strip(message, arrays)
    described = [{"dtype": array.dtype.str, "shape": array.shape} for array in arrays]
    connection.send_bytes(json.dumps({"body": body, "arrays": described}).encode())
    for array in arrays:
        data = memoryview(array.reshape(-1).view(np.uint8).data)
        for start in range(0, len(data), PIECE):
            connection.send_bytes(data[start : start + PIECE])


def receive(connection: Connection) -> Message:
    """Read one message; its arrays are read-only.

    Raises:
        EOFError, OSError: The other side is gone, or the message is longer than allowed.
        WireError: The message is malformed.
    """
    try:
        text = connection.recv_bytes(HEADER_LIMIT)
        if text.count(b"[") + text.count(b"{") > MAX_VALUES:
            raise WireError("more values than any answer holds")
        header = json.loads(text)
        del text
        arrays = [_receive_array(connection, described) for described in header["arrays"]]
        body = _fill(header["body"], arrays)
    except (ValueError, KeyError, TypeError, IndexError, RecursionError) as error:
        raise WireError(f"malformed message: {type(error).__name__}") from error
    if not isinstance(body, dict):
        raise WireError("a message must be a mapping")
    return body


def _receive_array(connection: Connection, described: dict[str, Any]) -> Array:
    """Read the array that a message's header describes; raise `WireError` if that is invalid."""
    dtype = np.dtype(str(described["dtype"]))
    shape = tuple(int(length) for length in described["shape"])
    if dtype.kind not in _PLAIN_KINDS or any(length < 0 for length in shape):
        raise WireError("an array of a kind that is not sent")
    size = math.prod(shape) * dtype.itemsize
    if size > ARRAY_LIMIT:
        raise WireError("an array larger than any image")
    flat = np.empty(size, np.uint8)
    for start in range(0, size, PIECE):
        room = flat[start : start + PIECE]
        try:
            got = connection.recv_bytes_into(room.data)
        except BufferTooShort:
            got = -1
        if got != room.size:
            raise WireError("an array's size and shape disagree")
    flat.flags.writeable = False
    return flat.view(dtype).reshape(shape)


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
