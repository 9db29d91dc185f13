"""An AppContainer in a job object: how a process is confined on Windows.

The process has an identity of its own, without capabilities: no network, and no file but those that
grant it access. The job object ends it with the app and limits its memory, time and processes. A
container reads what the system shares with all of them, and the job's own files: access to these is
granted to its identity, by `icacls`, which adds an entry to the lists of Python's folders.

Written from Microsoft's documentation (CreateProcess, UpdateProcThreadAttribute, "AppContainer for
legacy applications", JOBOBJECT_EXTENDED_LIMIT_INFORMATION); nobody has run it on Windows yet. The
self-test decides there whether it holds.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from app.tools.sandbox.backends import ENVIRONMENT, Running
from app.tools.sandbox.jobs import Job, Limits

CONTAINER = "Sightline.GeneratedAnalysis"

_SUSPENDED, _UNICODE, _EXTENDED, _NO_WINDOW = 0x4, 0x400, 0x80000, 0x0800_0000
_USE_HANDLES = 0x100
_HANDLES, _CAPABILITIES, _CHILDREN = 0x20002, 0x20009, 0x2000E
"""PROC_THREAD_ATTRIBUTE_HANDLE_LIST, _SECURITY_CAPABILITIES and _CHILD_PROCESS_POLICY."""
_NO_CHILDREN = 1
_LIMITS, _SURFACES = 9, 4
"""JobObjectExtendedLimitInformation and JobObjectBasicUIRestrictions."""
_TIME, _PROCESSES, _MEMORY, _NO_DIALOG, _WITH_APP = 0x2, 0x8, 0x100, 0x400, 0x2000
_EXISTS = 0x800700B7 - 2**32
_WAITING = 0x102
_TICKS = 10_000_000  # of 100 ns in a second


class StartupInfo(ctypes.Structure):
    """STARTUPINFOEXW."""

    _fields_ = (
        ("size", ctypes.c_uint32),
        ("reserved", ctypes.c_void_p),
        ("desktop", ctypes.c_void_p),
        ("title", ctypes.c_void_p),
        ("place", ctypes.c_uint32 * 7),
        ("flags", ctypes.c_uint32),
        ("show", ctypes.c_uint16),
        ("more", ctypes.c_uint16),
        ("more_bytes", ctypes.c_void_p),
        ("stdin", ctypes.c_void_p),
        ("stdout", ctypes.c_void_p),
        ("stderr", ctypes.c_void_p),
        ("attributes", ctypes.c_void_p),
    )


class ProcessInformation(ctypes.Structure):
    """PROCESS_INFORMATION."""

    _fields_ = (
        ("process", ctypes.c_void_p),
        ("thread", ctypes.c_void_p),
        ("process_id", ctypes.c_uint32),
        ("thread_id", ctypes.c_uint32),
    )


class SecurityCapabilities(ctypes.Structure):
    """SECURITY_CAPABILITIES."""

    _fields_ = (
        ("container", ctypes.c_void_p),
        ("capabilities", ctypes.c_void_p),
        ("count", ctypes.c_uint32),
        ("reserved", ctypes.c_uint32),
    )


class JobLimits(ctypes.Structure):
    """JOBOBJECT_EXTENDED_LIMIT_INFORMATION."""

    _fields_ = (
        ("process_time", ctypes.c_int64),
        ("job_time", ctypes.c_int64),
        ("flags", ctypes.c_uint32),
        ("least_working_set", ctypes.c_size_t),
        ("most_working_set", ctypes.c_size_t),
        ("processes", ctypes.c_uint32),
        ("affinity", ctypes.c_size_t),
        ("priority", ctypes.c_uint32),
        ("scheduling", ctypes.c_uint32),
        ("counters", ctypes.c_uint64 * 6),
        ("process_memory", ctypes.c_size_t),
        ("job_memory", ctypes.c_size_t),
        ("peak_process_memory", ctypes.c_size_t),
        ("peak_job_memory", ctypes.c_size_t),
    )


def job_limits(limits: Limits) -> JobLimits:
    """Return the limits of a job object: one process, its memory and time."""
    return JobLimits(
        process_time=limits.cpu_s * _TICKS,
        flags=_TIME | _PROCESSES | _MEMORY | _NO_DIALOG | _WITH_APP,
        processes=1,
        process_memory=limits.memory_bytes,
    )


def environment_block(variables: Mapping[str, str]) -> str:
    """Return variables as CreateProcess takes them: sorted, each ended by a NUL, and one more."""
    lines = sorted((f"{name}={value}" for name, value in variables.items()), key=str.upper)
    return "".join(f"{line}\0" for line in lines) + "\0"


def _library(name: str) -> Any:
    loader: Any = getattr(ctypes, "WinDLL")  # noqa: B009 - it is there on Windows only
    return loader(name, use_last_error=True)


def _handle_of(descriptor: int) -> int:
    import msvcrt

    get: Callable[[int], int] = getattr(msvcrt, "get_osfhandle")  # noqa: B009 - as above
    inherit: Callable[[int, bool], None] = getattr(os, "set_handle_inheritable")  # noqa: B009
    handle = get(descriptor)
    inherit(handle, True)
    return handle


@dataclass(frozen=True, slots=True)
class AppContainer:
    """The sandbox of Windows; `library`, `handle_of` and `run` are replaced in tests elsewhere."""

    name: str = "AppContainer"
    library: Callable[[str], Any] = field(default=_library, repr=False)
    handle_of: Callable[[int], int] = field(default=_handle_of, repr=False)
    run: Callable[..., Any] = field(default=subprocess.run, repr=False)

    def start(self, job: Job, limits: Limits) -> Running:
        """Start the process suspended, put it into the job object, and let it go."""
        kernel = self.library("kernel32")
        container = self._container()
        self._grant(job, container)
        result, result_end = os.pipe()
        printed, printed_end = os.pipe()
        nothing = os.open(os.devnull, os.O_RDONLY)
        try:
            handles = [self.handle_of(one) for one in (nothing, printed_end, result_end)]
            job.write(handles[2], limits)
            holder = self._job_object(kernel, limits)
            started = self._create(kernel, job, container, handles)
            if not kernel.AssignProcessToJobObject(holder, ctypes.c_void_p(started.process)):
                kernel.TerminateProcess(ctypes.c_void_p(started.process), 1)
                raise _last_error("the process could not be put into its job object")
            kernel.ResumeThread(ctypes.c_void_p(started.thread))
        except BaseException:
            os.close(result)
            os.close(printed)
            raise
        finally:
            for one in (nothing, printed_end, result_end):
                os.close(one)
        return _running(kernel, started, holder, result, printed)

    def _container(self) -> ctypes.c_void_p:
        """Return the SID of the container, which is made at first use."""
        userenv = self.library("userenv")
        sid = ctypes.c_void_p()
        made = userenv.CreateAppContainerProfile(
            CONTAINER, "Sightline", "Generated analyses", None, 0, ctypes.byref(sid)
        )
        if ctypes.c_int32(made).value == _EXISTS:
            made = userenv.DeriveAppContainerSidFromAppContainerName(CONTAINER, ctypes.byref(sid))
        if made:
            raise OSError(f"no AppContainer could be made ({made & 0xFFFFFFFF:#x})")
        return sid

    def _grant(self, job: Job, container: ctypes.c_void_p) -> None:
        """Let the container reach the job's files; what may not be granted the self-test finds."""
        text = ctypes.c_wchar_p()
        if not self.library("advapi32").ConvertSidToStringSidW(container, ctypes.byref(text)):
            raise _last_error("the AppContainer has no identity")
        program = str(Path(os.environ.get("SYSTEMROOT", r"C:\Windows"), "System32", "icacls.exe"))
        rights = {"read": "(RX)", "list": "(RD,RA)", "write": "(M)"}
        for path, right in job.files:
            told = self.run([program, path], capture_output=True, text=True, check=False)
            if str(text.value) in told.stdout and right != "write":
                continue  # of an earlier job: it would take seconds for each
            below = "(OI)(CI)" if right != "list" and Path(path).is_dir() else ""
            grant = f"*{text.value}:{below}{rights[right]}"
            self.run([program, path, "/grant", grant], capture_output=True, check=False)

    def _job_object(self, kernel: Any, limits: Limits) -> ctypes.c_void_p:
        kernel.CreateJobObjectW.restype = ctypes.c_void_p
        holder = ctypes.c_void_p(kernel.CreateJobObjectW(None, None))
        wanted = job_limits(limits)
        surfaces = ctypes.c_uint32(0xFF)  # clipboard, desktops, shutdown, ...
        size = ctypes.sizeof
        if not (
            holder
            and kernel.SetInformationJobObject(holder, _LIMITS, ctypes.byref(wanted), size(wanted))
            and kernel.SetInformationJobObject(
                holder, _SURFACES, ctypes.byref(surfaces), size(surfaces)
            )
        ):
            raise _last_error("no job object could be made")
        return holder

    def _create(
        self, kernel: Any, job: Job, container: ctypes.c_void_p, handles: list[int]
    ) -> ProcessInformation:
        size = ctypes.c_size_t()
        kernel.InitializeProcThreadAttributeList(None, 3, 0, ctypes.byref(size))
        attributes = ctypes.create_string_buffer(max(size.value, 1))
        given = SecurityCapabilities(container=container.value)
        policy = ctypes.c_uint32(_NO_CHILDREN)
        listed = (ctypes.c_void_p * len(handles))(*handles)
        values = ((_CAPABILITIES, given), (_CHILDREN, policy), (_HANDLES, listed))
        done = kernel.InitializeProcThreadAttributeList(attributes, 3, 0, ctypes.byref(size))
        for key, value in values:
            done = done and kernel.UpdateProcThreadAttribute(
                attributes,
                0,
                ctypes.c_size_t(key),
                ctypes.byref(value),
                ctypes.c_size_t(ctypes.sizeof(value)),
                None,
                None,
            )
        if not done:
            raise _last_error("the process's attributes could not be set")
        start = StartupInfo(
            size=ctypes.sizeof(StartupInfo),
            flags=_USE_HANDLES,
            stdin=handles[0],
            stdout=handles[1],
            stderr=handles[1],
            attributes=ctypes.addressof(attributes),
        )
        variables = {**ENVIRONMENT, "SYSTEMROOT": os.environ.get("SYSTEMROOT", r"C:\Windows")}
        started = ProcessInformation()
        done = kernel.CreateProcessW(
            job.python,
            ctypes.create_unicode_buffer(subprocess.list2cmdline(job.command)),
            None,
            None,
            True,
            _SUSPENDED | _UNICODE | _EXTENDED | _NO_WINDOW,
            ctypes.create_unicode_buffer(environment_block(variables)),
            str(job.scratch),
            ctypes.byref(start),
            ctypes.byref(started),
        )
        kernel.DeleteProcThreadAttributeList(attributes)
        if not done:
            raise _last_error("the process could not be started")
        return started


def _running(
    kernel: Any, started: ProcessInformation, holder: ctypes.c_void_p, result: int, printed: int
) -> Running:
    process, thread = ctypes.c_void_p(started.process), ctypes.c_void_p(started.thread)
    closed: list[bool] = []

    def wait(seconds: float) -> int | None:
        if kernel.WaitForSingleObject(process, int(seconds * 1000)) == _WAITING:
            return None
        code = ctypes.c_uint32()
        kernel.GetExitCodeProcess(process, ctypes.byref(code))
        return code.value

    def kill() -> None:
        if not closed:
            closed.append(True)
            kernel.TerminateJobObject(holder, 1)
            kernel.WaitForSingleObject(process, 5_000)
            for one in (thread, process, holder):
                kernel.CloseHandle(one)

    return Running(os.fdopen(result, "rb"), os.fdopen(printed, "rb"), wait, kill)


def _last_error(what: str) -> OSError:
    code: Callable[[], int] = getattr(ctypes, "get_last_error", int)
    return OSError(f"{what} (error {code()})")
