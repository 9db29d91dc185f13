"""Starts a job's process confined by bubblewrap, Landlock, macOS's sandbox or an AppContainer.

What each of them holds, and what it does not, is in docs/record.md, "Generated analyses".
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Protocol

from app.imaging.processes.linux_rights import landlock_version
from app.paths import resources_dir
from app.tools.sandbox.jobs import Job, Limits

ENVIRONMENT = {
    "LC_ALL": "C.UTF-8",
    "OPENBLAS_NUM_THREADS": "1",  # there are no threads in the sandbox
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
}
"""All variables that the process has."""


@dataclass(frozen=True, slots=True)
class Running:
    """A confined process.

    Attributes:
        result: What it sends as its result.
        printed: What it prints.
        wait: `wait(seconds)` returns the exit code, below 0 for a signal, or None if it still runs.
        kill: Ends it with all that it started; also after it has ended.
        excess: Returns why it uses too much of what the system itself does not limit, or "".
    """

    result: IO[bytes]
    printed: IO[bytes]
    wait: Callable[[float], int | None]
    kill: Callable[[], None]
    excess: Callable[[], str] = str


class Backend(Protocol):
    """A way to confine a process."""

    @property
    def name(self) -> str:
        """Its name for people."""
        ...

    def start(self, job: Job, limits: Limits) -> Running:
        """Start the job's process.

        Raises:
            OSError: It cannot be started.
        """
        ...


@dataclass(frozen=True, slots=True)
class Bubblewrap:
    """Namespaces of users, files, processes and networks by `bwrap`; inside it as `Landlock`."""

    program: str
    name: str = "bubblewrap"

    def start(self, job: Job, limits: Limits) -> Running:
        """Start the process in a file system that has nothing but the job's files."""
        head = [self.program, "--unshare-all", "--die-with-parent", "--cap-drop", "ALL"]
        for path, right in job.files:
            if right != "list":  # the folders above a file are there anyway, with nothing else
                head += ["--bind" if right == "write" else "--ro-bind", path, path]
        head += ["--chdir", str(job.scratch), "--"]
        return _start(job, limits, head)


@dataclass(frozen=True, slots=True)
class Landlock:
    """Landlock for files and a filter of system calls (seccomp) for all else."""

    name: str = "Landlock and seccomp"

    def start(self, job: Job, limits: Limits) -> Running:
        """Start the process, which gives up its rights before it reads the code."""
        return _start(job, limits, [], landlock=True)


@dataclass(frozen=True, slots=True)
class Seatbelt:
    """The sandbox of macOS, by `sandbox-exec`."""

    program: str
    name: str = "sandbox-exec"

    def start(self, job: Job, limits: Limits) -> Running:
        """Start the process with a profile that denies all but the job's files."""
        return _start(job, limits, [self.program, "-p", seatbelt_profile(job)])


def seatbelt_profile(job: Job) -> str:
    """Return the profile, in the language of sandbox-exec, that allows a job its files alone."""
    lines = [
        "(version 1)",
        "(deny default)",
        f"(allow process-exec (literal {json.dumps(job.python)}))",
        "(allow sysctl-read)",
        '(allow file-read-metadata (literal "/"))',
        '(allow file-read* (literal "/dev/null") (literal "/dev/urandom"))',
    ]
    for path, right in job.files:
        quoted = json.dumps(os.path.realpath(path), ensure_ascii=False)
        where = f"(subpath {quoted})" if right != "list" else f"(literal {quoted})"
        lines.append(f"(allow file-read* {where})")
        if right == "write":
            lines.append(f"(allow file-write-create file-write-data {where})")
        above = (json.dumps(str(one)) for one in Path(json.loads(quoted)).parents)
        lines += [f"(allow file-read-metadata (literal {one}))" for one in above]
    return "\n".join(dict.fromkeys(lines))


def candidates() -> Sequence[Backend]:
    """Return what this system may have, the strongest first; a self-test decides."""
    if sys.platform == "win32":
        from app.tools.sandbox.windows import AppContainer

        return (AppContainer(),)
    if sys.platform == "darwin":
        program = shutil.which("sandbox-exec", path="/usr/bin")
        # Root could raise its limits again.
        return (Seatbelt(program),) if program and os.geteuid() else ()
    if sys.platform != "linux" or platform.machine() not in _known_machines():
        return ()
    program = shutil.which("bwrap")
    found: list[Backend] = [Bubblewrap(program)] if program else []
    return (*found, Landlock()) if landlock_version() else found


def _known_machines() -> frozenset[str]:
    file = resources_dir() / "privacy" / "sandbox_calls.json"
    return frozenset(json.loads(file.read_text("utf-8"))) - {"about"}


def _start(job: Job, limits: Limits, head: Sequence[str], *, landlock: bool = False) -> Running:
    """Start a job's process by a program that confines it (`head`), or as it is."""
    reader, writer = os.pipe()
    try:
        job.write(writer, limits, landlock=landlock)
        process = subprocess.Popen(
            [*head, *job.command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            pass_fds=(writer,),
            env=ENVIRONMENT,
            cwd=job.scratch,
            start_new_session=True,
        )
    except BaseException:
        os.close(reader)
        raise
    finally:
        os.close(writer)
    assert process.stdout is not None

    def wait(seconds: float) -> int | None:
        with suppress(subprocess.TimeoutExpired):
            code = process.wait(seconds)
            return 128 - code if head and code > 128 else code  # as bubblewrap tells a signal
        return None

    def kill() -> None:
        if process.returncode is None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    excess = _mac_memory(process.pid, limits) if sys.platform == "darwin" else str
    return Running(os.fdopen(reader, "rb"), process.stdout, wait, kill, excess)


def _mac_memory(pid: int, limits: Limits) -> Callable[[], str]:
    """Return the check of a process's memory, which macOS does not limit by itself."""
    import ctypes

    library = ctypes.CDLL("/usr/lib/libproc.dylib")
    information = (ctypes.c_uint64 * 12)()  # struct proc_taskinfo: 96 bytes

    def excess() -> str:
        size = library.proc_pidinfo(pid, 4, ctypes.c_uint64(0), information, 96)
        too_much = size == 96 and information[1] > limits.memory_bytes  # resident bytes
        return "it used too much memory" if too_much else ""

    return excess
