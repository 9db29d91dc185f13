"""The environment of child processes, and the confinement of decode workers on Linux.

Every child of the program gets only the environment variables that a table in `resources/privacy`
lists, and no API keys. On Linux a decode worker also gives up its rights before it reads the
first file: Landlock keeps it from writing anything and from looking into other processes; a seccomp
filter refuses sockets, programs, new processes and signals. Neither can be undone, so a worker that
a hostile file has taken over cannot get its rights back.
"""

from __future__ import annotations

import json
import logging
import multiprocessing.util
import os
import platform
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextvars import ContextVar
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any

from app.imaging.processes.linux_rights import (
    ALLOW,
    BITS,
    EQUAL,
    LOAD,
    READ_DIR,
    READ_FILE,
    REFUSE,
    RETURN,
    Step,
    argument,
    forgo_privileges,
    landlock_version,
    machine_steps,
    restrict_calls,
    restrict_files,
)
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


_NOT_PERMITTED, _NOT_KNOWN = 1, 38
_THREAD = 0x0001_0000
"""The flag of `clone` for a thread rather than a process."""


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
    forgo_privileges()
    if landlock_version():
        readable = (str(one) for one in Path("/").iterdir() if one.name != "proc")
        restrict_files((path, READ_FILE | READ_DIR) for path in readable)
    if platform.machine() in _tables():
        restrict_calls(_filter(_tables()[platform.machine()]))


def _filter(numbers: Mapping[str, Any]) -> list[Step]:
    """Return the filter that refuses the system calls of a machine's table."""
    refuse = (RETURN, 0, 0, REFUSE | _NOT_PERMITTED)
    steps = machine_steps(numbers)
    for number in numbers["refused"].values():
        steps += [(EQUAL, 0, 1, number), refuse]
    # Refused as unknown, so that the C library makes threads by `clone`, whose flags can be seen.
    steps += [(EQUAL, 0, 1, numbers["clone3"]), (RETURN, 0, 0, REFUSE | _NOT_KNOWN)]
    only = [(numbers[name], EQUAL, os.getpid()) for name in ("kill", "tgkill")]
    only += [(numbers["prlimit64"], EQUAL, 0), (numbers["clone"], BITS, _THREAD)]
    for number, test, value in only:  # by the first argument
        steps += [(EQUAL, 0, 4, number), (LOAD, 0, 0, argument(0)), (test, 1, 0, value), refuse]
        steps.append((RETURN, 0, 0, ALLOW))
    steps.append((RETURN, 0, 0, ALLOW))
    return steps
