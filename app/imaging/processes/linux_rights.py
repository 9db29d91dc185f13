"""Landlock and seccomp: how a process on Linux gives up rights for good.

Only the standard library is imported: the sandbox for generated code runs a copy of this file in a
process that has nothing else of the program.
"""

from __future__ import annotations

import ctypes
import os
import stat
import struct
import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import cache
from typing import Any

Step = tuple[int, int, int, int]
"""An instruction of a filter: code, jump if true, jump if false, operand (`sock_filter`)."""

LOAD, EQUAL, AT_LEAST, BITS, MASK, RETURN = 0x20, 0x15, 0x35, 0x45, 0x54, 0x06
ALLOW, REFUSE = 0x7FFF_0000, 0x0005_0000
"""Values for RETURN; the number of an error is added to REFUSE."""
NUMBER, MACHINE = 0, 4
"""Where LOAD finds the number of the system call and the machine's code."""

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
MAKE_DIR, MAKE_REG, TRUNCATE = 1 << 7, 1 << 8, 1 << 14

_LANDLOCK_CREATE, _LANDLOCK_ADD, _LANDLOCK_RESTRICT = 444, 445, 446
_RIGHTS = {1: 13, 2: 14, 3: 15, 5: 16}
"""Number of rights to files that a version of Landlock knows, from the lowest bit on."""
_NO_NEW_PRIVILEGES, _SET_SECCOMP, _FILTER = 38, 22, 2


def argument(number: int, *, upper: bool = False) -> int:
    """Return where LOAD finds the lower or upper half of a system call's argument, from 0."""
    return 16 + 8 * number + 4 * upper  # on a little-endian machine


def landlock_version() -> int:
    """Return the version of the kernel's Landlock; 0 if it has none."""
    if sys.platform != "linux":
        return 0
    return max(_libc().syscall(_LANDLOCK_CREATE, None, 0, 1), 0)


def forgo_privileges() -> None:
    """Make sure that no program started from here on gets more rights than this process has."""
    control(_NO_NEW_PRIVILEGES, 1)


def restrict_files(rules: Iterable[tuple[str, int]]) -> None:
    """Leave this thread, and those that it starts, only some rights to files.

    Args:
        rules: Paths and the rights to each of them and to what lies below; a right that this
            kernel does not know is left out, and so is a path that there is not.

    Raises:
        OSError: The kernel refuses.
    """
    version = landlock_version()
    known = (1 << max(count for since, count in _RIGHTS.items() if since <= version)) - 1
    # Then, as far as this version knows them: TCP, and sockets and signals out of this process.
    attributes = struct.pack("=QQQ", known, 0x3, 0x3)
    size = 8 if version < 4 else 16 if version < 6 else 24
    ruleset = _call(_libc().syscall(_LANDLOCK_CREATE, attributes, ctypes.c_size_t(size), 0))
    try:
        for path, rights in rules:
            with suppress(FileNotFoundError, NotADirectoryError, PermissionError):
                _add_rule(ruleset, path, rights & known)
        _call(_libc().syscall(_LANDLOCK_RESTRICT, ruleset, 0))
    finally:
        os.close(ruleset)


def _add_rule(ruleset: int, path: str, rights: int) -> None:
    place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        if not stat.S_ISDIR(os.fstat(place).st_mode):
            rights &= EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE
        rule = struct.pack("=Qi", rights, place)
        _call(_libc().syscall(_LANDLOCK_ADD, ruleset, 1, rule, 0))
    finally:
        os.close(place)


def restrict_calls(steps: Iterable[Step]) -> None:
    """Install a filter of system calls; it cannot be removed. Source: Linux, seccomp_filter.rst.

    Raises:
        OSError: The kernel refuses.
    """
    packed = [struct.pack("=HBBI", *step) for step in steps]
    code = ctypes.create_string_buffer(b"".join(packed))
    program = struct.pack("@HP", len(packed), ctypes.addressof(code))
    _call(_libc().prctl(_SET_SECCOMP, ctypes.c_ulong(_FILTER), program))


def machine_steps(numbers: Mapping[str, Any]) -> list[Step]:
    """Return the filter's beginning: calls of another machine or of x32 are refused.

    `numbers` is a machine's table, with its code under "audit". The number of the call is loaded
    at the end.
    """
    refuse = (RETURN, 0, 0, REFUSE | 1)
    foreign = 0x4000_0000  # from here on system calls of x86-64 are those of its 32-bit variant
    start: list[Step] = [(LOAD, 0, 0, MACHINE), (EQUAL, 1, 0, numbers["audit"]), refuse]
    return [*start, (LOAD, 0, 0, NUMBER), (AT_LEAST, 0, 1, foreign), refuse]


def control(option: int, value: int) -> None:
    """Call prctl(2) with one value.

    Raises:
        OSError: The kernel refuses.
    """
    _call(_libc().prctl(*map(ctypes.c_ulong, (option, value, 0, 0, 0))))


def drop_capabilities() -> None:
    """Give up all capabilities of root in this thread.

    Raises:
        OSError: The kernel refuses.
    """
    header = struct.pack("=Ii", 0x2008_0522, 0)  # version 3, this thread
    _call(_libc().capset(header, bytes(24)))


def _call(result: int) -> int:
    if result < 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))
    return result


@cache
def _libc() -> Any:
    return ctypes.CDLL(None, use_errno=True)
