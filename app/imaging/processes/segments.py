"""Shared memory for large arrays, which one process fills and another maps without a copy.

A segment is an anonymous file (memfd, Linux only) whose descriptor travels through the pipe's
socket. It has no name, so nothing remains in /dev/shm however a process ends, and a small /dev/shm
of a container is no limit. The sender fills it with `write`, which is faster than mapping and backs
every byte with memory, and seals it, so that it can neither shrink nor change. The receiver checks
the seals before mapping; so even a worker that a hostile file has taken over cannot make the app
fault (SIGBUS). On Windows and macOS arrays of any size go through the pipe.
"""

from __future__ import annotations

import ctypes
import errno
import mmap
import os
import socket
import sys
import weakref
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from multiprocessing.connection import Connection
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

AVAILABLE = sys.platform == "linux"
"""Whether there are segments on this system."""

_AT_ONCE = 64
"""Descriptors per message; Linux allows 253."""


class SourceTruncatedError(Exception):
    """The array to be sent lies in a mapped file that has been truncated."""


class SegmentRefusedError(Exception):
    """A shared-memory segment is missing, or is not what its sender announced."""


def give_up_on_stalled_peers(connection: Connection, seconds: float) -> None:
    """Make reads and writes on a pipe fail if the other side stalls for `seconds` in a message."""
    if sys.platform == "win32":
        return
    seconds_and_rest = int(seconds).to_bytes(8, sys.byteorder) + bytes(8)
    with suppress(OSError), _socket(connection) as pipe:
        pipe.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, seconds_and_rest)
        pipe.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, seconds_and_rest)


def shut_down_pipe(connection: Connection) -> None:
    """Shut a pipe down immediately for both ends; does nothing on Windows."""
    with suppress(OSError, ValueError), _socket(connection) as pipe:
        pipe.shutdown(socket.SHUT_RDWR)


@contextmanager
def _socket(connection: Connection) -> Generator[socket.socket]:
    """Use the socket of a pipe."""
    pipe = socket.socket(fileno=connection.fileno())
    try:
        yield pipe
    finally:
        pipe.detach()  # the pipe goes on using it


class _Block:
    """The array interface of a memory block, kept alive as long as the array."""

    def __init__(self, address: int, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        self.__array_interface__: dict[str, Any] = {
            "data": (address, True),
            "shape": shape,
            "typestr": dtype.str,
            "version": 3,
        }


def bytes_of(array: Array) -> memoryview:
    """Return the bytes of a contiguous array without copying them."""
    return memoryview(array.reshape(-1).view(np.uint8).data)


def write(array: Array) -> int | None:
    """Copy an array into a new segment of immutable shared memory; return its file descriptor.

    Returns None if there is not enough memory; on other systems than Linux, always.

    Raises:
        SourceTruncatedError: The array cannot be read, since its file has been truncated.
    """
    if sys.platform != "linux":
        return None
    import fcntl

    try:
        handle = os.memfd_create("sightline", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    except OSError:
        return None
    try:
        rest = bytes_of(array)
        while rest:
            rest = rest[os.write(handle, rest) :]
        fcntl.fcntl(handle, fcntl.F_ADD_SEALS, _SEALS | fcntl.F_SEAL_SEAL)
    except OSError as error:
        os.close(handle)
        if error.errno == errno.EFAULT:
            raise SourceTruncatedError from None
        return None
    return handle


def send_handles(connection: Connection, handles: Sequence[int]) -> None:
    """Send file descriptors through a pipe; the sender should close its own copies afterwards.

    Raises:
        OSError: The other side is gone.
    """
    if not handles:  # always on Windows, whose pipes are no sockets
        return
    with _socket(connection) as pipe:
        for start in range(0, len(handles), _AT_ONCE):
            socket.send_fds(pipe, [b"\0"], list(handles[start : start + _AT_ONCE]))


def receive_handles(connection: Connection, count: int) -> list[int]:
    """Receive `count` file descriptors; the caller must close them.

    Raises:
        EOFError, OSError: The other side is gone.
        SegmentRefusedError: More or fewer descriptors than `count` arrived.
    """
    handles: list[int] = []
    if not count:
        return handles
    assert sys.platform == "linux"
    try:
        with _socket(connection) as pipe:
            while len(handles) < count:
                wanted = min(count - len(handles), _AT_ONCE)
                data, found, flags, _ = socket.recv_fds(pipe, 1, wanted, socket.MSG_CMSG_CLOEXEC)
                handles += found
                if not data:
                    raise EOFError
                if len(found) != wanted or flags & socket.MSG_CTRUNC:
                    raise SegmentRefusedError("segments are missing")
    except BaseException:
        close_handles(handles)
        raise
    return handles


def close_handles(handles: Sequence[int]) -> None:
    """Close file descriptors."""
    for handle in handles:
        with suppress(OSError):
            os.close(handle)


def map_handle(handle: int, shape: tuple[int, ...], dtype: np.dtype[Any], size: int) -> Array:
    """Return the array in a shared-memory segment without a copy; `handle` may then be closed.

    Raises:
        SegmentRefusedError: The segment has fewer than `size` bytes, is not backed by memory, or
            can still be changed.
    """
    assert sys.platform == "linux"
    import fcntl

    try:
        seals = fcntl.fcntl(handle, fcntl.F_GET_SEALS)
    except OSError:
        raise SegmentRefusedError("not a segment") from None
    status = os.fstat(handle)
    if seals & _SEALS != _SEALS:
        raise SegmentRefusedError("a segment is not sealed")
    if status.st_size < size or status.st_blocks * 512 < size:
        raise SegmentRefusedError("a segment is smaller than its array")
    # Private, since Linux before 6.7 refuses to share what is sealed; no page is ever written.
    address = _libc().mmap(None, size, mmap.PROT_READ, mmap.MAP_PRIVATE, handle, 0)
    if address is None or address == _FAILED:
        raise SegmentRefusedError("there is no room to map a segment")
    block = _Block(address, shape, dtype)
    # Not at exit: the system frees it then, and other objects may still use it.
    weakref.finalize(block, _libc().munmap, address, size).atexit = False
    return np.asarray(block)


_FAILED = ctypes.c_void_p(-1).value
_SEALS = 0x2 | 0x4 | 0x8  # F_SEAL_SHRINK, F_SEAL_GROW, F_SEAL_WRITE


@cache
def _libc() -> Any:
    """Return the C library; Python's mmap would keep a descriptor open for every array."""
    library = ctypes.CDLL(None, use_errno=True)
    library.mmap.restype = ctypes.c_void_p
    library.mmap.argtypes = (
        *(ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int),
        ctypes.c_long,
    )
    library.munmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t)
    return library
