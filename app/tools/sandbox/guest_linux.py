"""Gives up a sandboxed process's rights on Linux, before any generated code runs in it.

Beyond the list of allowed system calls, some are judged by their arguments. Refused are files
without a name (O_TMPFILE), whose size nobody sees; O_TRUNC without writing, which Landlock knows
from version 3 on; F_SETOWN, which sends signals to other processes; commands to devices; and new
limits, which root could raise again. No allowed call makes a process or thread, and none removes or
renames a file: one that is deleted while it is open would not count as scratch.
"""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from app.imaging.processes.linux_rights import (
    ALLOW,
    EQUAL,
    LOAD,
    MAKE_DIR,
    MAKE_REG,
    MASK,
    NUMBER,
    READ_DIR,
    READ_FILE,
    REFUSE,
    RETURN,
    TRUNCATE,
    WRITE_FILE,
    Step,
    argument,
    control,
    drop_capabilities,
    forgo_privileges,
    landlock_version,
    machine_steps,
    restrict_calls,
    restrict_files,
)

RIGHTS = {
    "list": READ_DIR,
    "read": READ_DIR | READ_FILE,
    "write": READ_DIR | READ_FILE | WRITE_FILE | TRUNCATE | MAKE_DIR | MAKE_REG,
}
"""Rights to a folder and what lies below, by the word that the app uses for them."""

_DEATH_SIGNAL, _DUMPABLE, _KILLED = 1, 4, 9
_NOT_PERMITTED = 1
_ACCESS_MODE, _TRUNCATED = 0o3, 0o1000
_NAMELESS = 0o20000000
"""The bit by which O_TMPFILE differs from O_DIRECTORY; the same on x86-64 and AArch64."""
_FILE_COMMANDS = (0, 1, 2, 3, 5, 6, 7, 1030)
"""fcntl: copies, flags read or closed on exec, locks; and F_DUPFD_CLOEXEC."""
_DEVICE_COMMANDS = (0x5401, 0x5413, 0x5450, 0x5451)
"""ioctl: is it a terminal, how large, closed on exec or not."""


def confine(files: Sequence[tuple[str, str]], calls: Mapping[str, Any], landlock: bool) -> None:
    """Leave this process only the given files and system calls.

    Args:
        files: Paths and the rights to them (keys of `RIGHTS`).
        calls: The table of this machine in resources/privacy/sandbox_calls.json.
        landlock: Whether Landlock must be there; without it, something else confines files.

    Raises:
        OSError: The kernel refuses; the process must end.
    """
    if sys.platform != "linux":
        raise OSError("Landlock and seccomp are there on Linux only")
    control(_DEATH_SIGNAL, _KILLED)  # when the thread that started this process ends
    control(_DUMPABLE, 0)
    forgo_privileges()
    if landlock_version():
        restrict_files([(path, RIGHTS[right]) for path, right in files])
    elif landlock:
        raise OSError("this kernel has no Landlock")
    drop_capabilities()
    restrict_calls(filter_steps(calls[platform.machine()], os.getpid()))


def filter_steps(numbers: Mapping[str, Any], process: int) -> list[Step]:
    """Return the filter that allows the calls of a machine's table and refuses all others."""
    refuse: Step = (RETURN, 0, 0, REFUSE | _NOT_PERMITTED)
    allow: Step = (RETURN, 0, 0, ALLOW)
    steps = machine_steps(numbers)
    for number in numbers["allowed"].values():
        steps += [(EQUAL, 0, 1, number), allow]
    judged: Mapping[str, int] = numbers["judged"]
    blocks = {
        "open": _opening(1),
        "openat": _opening(2),
        "fcntl": _one_of(1, _FILE_COMMANDS),
        "ioctl": _one_of(1, _DEVICE_COMMANDS),
        "tgkill": _one_of(0, (process,)),
        "prlimit64": [  # of this process (0), and no new limit
            *(*_loaded(0), (EQUAL, 1, 0, 0), refuse),
            *(*_loaded(2), (EQUAL, 1, 0, 0), refuse),
            *((LOAD, 0, 0, argument(2, upper=True)), (EQUAL, 1, 0, 0), refuse),
            allow,
        ],
    }
    for name, number in judged.items():
        block = blocks[name]
        steps += [(LOAD, 0, 0, NUMBER), (EQUAL, 0, len(block), number), *block]
    return [*steps, refuse]


def _opening(place: int) -> list[Step]:
    refuse: Step = (RETURN, 0, 0, REFUSE | _NOT_PERMITTED)
    return [
        *(*_loaded(place), (MASK, 0, 0, _NAMELESS), (EQUAL, 1, 0, 0), refuse),
        *_loaded(place),
        (MASK, 0, 0, _ACCESS_MODE | _TRUNCATED),
        (EQUAL, 0, 1, _TRUNCATED),  # O_RDONLY is 0
        refuse,
        (RETURN, 0, 0, ALLOW),
    ]


def _one_of(place: int, values: Sequence[int]) -> list[Step]:
    steps: list[Step] = list(_loaded(place))
    for value in values:
        steps += [(EQUAL, 0, 1, value), (RETURN, 0, 0, ALLOW)]
    return [*steps, (RETURN, 0, 0, REFUSE | _NOT_PERMITTED)]


def _loaded(place: int) -> tuple[Step]:
    return ((LOAD, 0, 0, argument(place)),)
