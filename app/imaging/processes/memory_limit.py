"""Memory of the computer and of this process; limits on a worker's address space (POSIX only)."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress
from functools import cache
from typing import Any

_TOTAL = 960 * 2**20
"""Limit of all memory of the process while `limited_memory` is active."""
_LEAST = 256 * 2**20
"""Memory that a call gets in any case; enough for any honest page of a document."""


def limit_memory(extra: int) -> None:
    """Limit the address space of this process to its current size plus `extra` bytes.

    A hard limit that is already lower stays. macOS ignores the limit; on Windows nothing is set.
    """
    if sys.platform == "win32":
        return
    import resource

    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    limit = address_space_bytes() + extra
    if hard != resource.RLIM_INFINITY:
        limit = min(limit, hard)
    resource.setrlimit(resource.RLIMIT_AS, (limit, hard))


@contextmanager
def limited_memory(extra: int) -> Generator[None]:
    """Context manager: limit this process to `extra` more bytes of address space, on Linux only.

    It protects calls to libraries that set no limits themselves. A process that already uses a lot
    of memory gets less than `extra` (but at least 256 MB), so that it stays near 1 GB in total.
    """
    if sys.platform != "linux":
        yield
        return
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    limit = address_space_bytes() + max(_LEAST, min(extra, _TOTAL - resident_bytes()))
    if soft != resource.RLIM_INFINITY:
        limit = min(limit, soft)
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_AS, (limit, hard))
    try:
        yield
    finally:
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def memory_bytes() -> int:
    """Return the size of this computer's memory in bytes; 0 if it is unknown."""
    if sys.platform == "win32":
        return windows_memory()[0]
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError):
        return 0


def windows_memory() -> tuple[int, int]:
    """Return the total and the free memory in bytes, on Windows; (0, 0) if they are unknown."""

    class Status(ctypes.Structure):  # MEMORYSTATUSEX
        _fields_ = (
            ("length", ctypes.c_uint32),
            ("load", ctypes.c_uint32),
            *((name, ctypes.c_uint64) for name in ("total", "free", "a", "b", "c", "d", "e")),
        )

    status = Status(length=ctypes.sizeof(Status))
    windll: Any = getattr(ctypes, "windll")  # noqa: B009 - it is there on Windows only
    found = windll.kernel32.GlobalMemoryStatusEx(ctypes.byref(status))
    return (int(status.total), int(status.free)) if found else (0, 0)


def resident_bytes() -> int:
    """Return this process's resident memory in bytes (Linux), or a fixed estimate (elsewhere)."""
    return _statm(1, 128 * 1024**2)


def address_space_bytes() -> int:
    """Return this process's address space in bytes (Linux), or a fixed estimate (elsewhere)."""
    return _statm(0, 512 * 1024**2)


def _statm(column: int, otherwise: int) -> int:
    try:
        return int(os.pread(_statm_file(), 100, 0).split()[column]) * 4096
    except OSError:
        return otherwise


@cache
def _statm_file() -> int:
    """Return the open file: a confined worker may not open it any more, only read it."""
    return os.open("/proc/self/statm", os.O_RDONLY)
