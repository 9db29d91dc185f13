"""The environment of child processes, and the confinement of decode workers on Linux.

Every child of the program gets only the environment variables that a table in `resources/privacy`
lists, and no API keys. On Linux a decode worker also gives up its rights before it reads the
first file: Landlock keeps it from writing anything and from looking into other processes; a seccomp
filter refuses sockets, programs, new processes and signals. Neither can be undone, so a worker that
a hostile file has taken over cannot get its rights back.
"""

from __future__ import annotations

import ctypes
import json
import logging
import multiprocessing.util
import os
import platform
import stat
import struct
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from contextvars import ContextVar
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any

from app.paths import resources_dir

_log = logging.getLogger(__name__)


@cache
def _tables() -> dict[str, Any]:
    file = resources_dir() / "privacy" / "child_processes.json"
    return json.loads(file.read_text(encoding="utf-8"))


def child_environment(variables: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return the environment for a child process, made from `variables`.

    No key, token or password is passed on. PYTHONPATH lists the folders in which this process finds
    modules; the current folder is not searched.
    """
    passed, never = _tables()["passed"], _tables()["never passed"]
    chosen = {
        name: value
        for name, value in variables.items()
        if any(fnmatchcase(name.upper(), one) for one in passed)
        and not any(fnmatchcase(name.upper(), one) for one in never)
    }
    # Modules come from where this program has its own, never from the current folder.
    folders = [os.path.abspath(one) for one in sys.path]  # noqa: PTH100 - "" is the current folder
    return chosen | {"PYTHONPATH": os.pathsep.join(folders), "PYTHONSAFEPATH": "1"}


ADDED = ContextVar[Mapping[str, str] | None]("added", default=None)
"""Variables for the processes that this thread starts, besides `child_environment`."""


def _start(path: Any, arguments: Sequence[Any], passed: Iterable[int]) -> int:
    """Start a process for `multiprocessing`, which has no argument for its environment."""
    variables = {**child_environment(), **(ADDED.get() or {})}
    process = subprocess.Popen(arguments, executable=path, pass_fds=tuple(passed), env=variables)
    process.returncode = 0  # `multiprocessing` waits for it, and this object must not
    return process.pid


class _WindowsStarts:
    """`_winapi` for `multiprocessing`, which has no argument for the environment there either."""

    def __init__(self, real: Any) -> None:
        self._real = real

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def CreateProcess(self, *arguments: Any) -> Any:  # noqa: N802 - the name in `_winapi`
        """Start a process; the seventh argument is its environment, or None for this one's."""
        environment = child_environment(arguments[6] or os.environ)
        return self._real.CreateProcess(*arguments[:6], environment, *arguments[7:])


if sys.platform == "win32":
    from multiprocessing import popen_spawn_win32

    popen_spawn_win32._winapi = _WindowsStarts(popen_spawn_win32._winapi)
else:
    multiprocessing.util.spawnv_passfds = _start


_LANDLOCK_CREATE, _LANDLOCK_ADD, _LANDLOCK_RESTRICT = 444, 445, 446
_READ_FILE, _READ_DIR = 1 << 2, 1 << 3
_RIGHTS = {1: 13, 2: 14, 3: 15, 5: 16}
"""Number of rights to files that a version of Landlock knows, from the lowest bit on."""
_NO_NEW_PRIVILEGES, _SET_SECCOMP, _FILTER = 38, 22, 2
_LOAD, _EQUAL, _AT_LEAST, _BITS, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _REFUSE = 0x7FFF_0000, 0x0005_0000
_NOT_PERMITTED, _NOT_KNOWN = 1, 38
_FOREIGN_CALLS = 0x4000_0000
"""From here on system calls of x86-64 are those of its 32-bit variant."""
_THREAD = 0x0001_0000
"""The flag of `clone` for a thread rather than a process."""


def landlock_version() -> int:
    """Return the version of the kernel's Landlock; 0 if it has none."""
    if sys.platform != "linux":
        return 0
    return max(_libc().syscall(_LANDLOCK_CREATE, None, 0, 1), 0)


def can_confine() -> bool:
    """Return whether this system can confine decode workers (Landlock and a known processor)."""
    return landlock_version() > 0 and platform.machine() in _tables()


@cache
def log_whether_confined() -> None:
    """Log, once, that decode workers are not confined, if this system cannot confine them."""
    if not can_confine():
        _log.info("this system cannot confine decode workers: they have all the user's rights")


def confine() -> None:
    """Give up all rights that decoding does not need, for this thread and those it starts.

    All files stay readable: files of a study refer to others, the user opens more at any time, and
    Landlock's rules can never be widened. Only /proc is closed, where API keys of other processes
    could be read.

    Raises:
        OSError: The kernel refuses; the thread may still have some of these rights.
    """
    _call(_libc().prctl(*map(ctypes.c_ulong, (_NO_NEW_PRIVILEGES, 1, 0, 0, 0))))
    version = landlock_version()
    if version:
        _leave_files([str(one) for one in Path("/").iterdir() if one.name != "proc"], version)
    if platform.machine() in _tables():
        _leave_calls(_tables()[platform.machine()])


def _leave_files(readable: Iterable[str], version: int) -> None:
    rights = (1 << max(count for known, count in _RIGHTS.items() if known <= version)) - 1
    # Then, as far as this version knows them: TCP, and sockets and signals out of this process.
    attributes = struct.pack("=QQQ", rights, 0x3, 0x3)
    size = 8 if version < 4 else 16 if version < 6 else 24
    rules = _call(_libc().syscall(_LANDLOCK_CREATE, attributes, ctypes.c_size_t(size), 0))
    try:
        for path in readable:
            with suppress(FileNotFoundError, NotADirectoryError, PermissionError):
                _add_rule(rules, path)
        _call(_libc().syscall(_LANDLOCK_RESTRICT, rules, 0))
    finally:
        os.close(rules)


def _add_rule(rules: int, path: str) -> None:
    place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        folder = stat.S_ISDIR(os.fstat(place).st_mode)
        rule = struct.pack("=Qi", _READ_FILE | _READ_DIR if folder else _READ_FILE, place)
        _call(_libc().syscall(_LANDLOCK_ADD, rules, 1, rule, 0))
    finally:
        os.close(place)


def _leave_calls(numbers: Mapping[str, Any]) -> None:
    """Refuse the system calls of a machine's table. Source: Linux, seccomp_filter.rst, bpf."""
    refuse = (_RETURN, 0, 0, _REFUSE | _NOT_PERMITTED)
    steps = [(_LOAD, 0, 0, 4), (_EQUAL, 1, 0, numbers["audit"]), refuse, (_LOAD, 0, 0, 0)]
    steps += [(_AT_LEAST, 0, 1, _FOREIGN_CALLS), refuse]
    for number in numbers["refused"].values():
        steps += [(_EQUAL, 0, 1, number), refuse]
    # Refused as unknown, so that the C library makes threads by `clone`, whose flags can be seen.
    steps += [(_EQUAL, 0, 1, numbers["clone3"]), (_RETURN, 0, 0, _REFUSE | _NOT_KNOWN)]
    only = [(numbers[name], _EQUAL, os.getpid()) for name in ("kill", "tgkill")]
    only += [(numbers["prlimit64"], _EQUAL, 0), (numbers["clone"], _BITS, _THREAD)]
    for number, test, value in only:  # by the first argument
        steps += [(_EQUAL, 0, 4, number), (_LOAD, 0, 0, 16), (test, 1, 0, value), refuse]
        steps.append((_RETURN, 0, 0, _ALLOW))
    steps.append((_RETURN, 0, 0, _ALLOW))
    code = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *step) for step in steps))
    program = struct.pack("@HP", len(steps), ctypes.addressof(code))
    _call(_libc().prctl(_SET_SECCOMP, ctypes.c_ulong(_FILTER), program))


def _call(result: int) -> int:
    if result < 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))
    return result


@cache
def _libc() -> Any:
    return ctypes.CDLL(None, use_errno=True)
