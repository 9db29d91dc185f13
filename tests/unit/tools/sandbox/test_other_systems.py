"""What is asked of macOS and Windows, as far as it can be seen without them."""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from app.tools.sandbox import backends, windows
from app.tools.sandbox.backends import Seatbelt, candidates, seatbelt_profile
from app.tools.sandbox.jobs import Limits, make_job
from app.tools.sandbox.sandbox import run_job
from app.tools.sandbox.windows import (
    AppContainer,
    JobLimits,
    ProcessInformation,
    SecurityCapabilities,
    StartupInfo,
    environment_block,
    job_limits,
)


def test_the_structures_have_the_sizes_that_windows_expects():
    """On 64 bits, as `sizeof` of a C program with Windows's own headers says."""
    assert ctypes.sizeof(ctypes.c_void_p) == 8
    sizes = [ctypes.sizeof(one) for one in (JobLimits, StartupInfo, ProcessInformation)]
    assert sizes == [144, 112, 24]
    assert ctypes.sizeof(SecurityCapabilities) == 24
    assert (StartupInfo.stdin.offset, StartupInfo.attributes.offset) == (80, 104)
    assert (JobLimits.flags.offset, JobLimits.process_memory.offset) == (16, 112)


def test_the_job_object_s_limits():
    found = job_limits(Limits(cpu_s=60, memory_bytes=2**31))
    assert found.process_time == 600_000_000  # of 100 ns
    assert (found.processes, found.process_memory) == (1, 2**31)
    # Time, active processes, memory of a process, no error dialog, ended with the app.
    assert found.flags == 0x2 | 0x8 | 0x100 | 0x400 | 0x2000


def test_the_environment_is_sorted_and_ended_twice():
    assert environment_block({"b": "2", "A": "1", "c": ""}) == "A=1\0b=2\0c=\0\0"


class Windows:
    """Notes the calls of kernel32, userenv and advapi32, and answers as if they worked."""

    def __init__(self, fail: str = "") -> None:
        self.calls: list[str] = []
        self.fail = fail
        self.started: dict[str, Any] = {}

    def __call__(self, library: str) -> Windows:
        assert library in ("kernel32", "userenv", "advapi32")
        return self

    def __getattr__(self, name: str) -> Any:
        if name not in (
            *("CreateAppContainerProfile", "DeriveAppContainerSidFromAppContainerName"),
            *("ConvertSidToStringSidW", "CreateJobObjectW", "SetInformationJobObject"),
            *("InitializeProcThreadAttributeList", "UpdateProcThreadAttribute"),
            *("CreateProcessW", "DeleteProcThreadAttributeList", "AssignProcessToJobObject"),
            *("ResumeThread", "TerminateProcess", "TerminateJobObject", "WaitForSingleObject"),
            *("CloseHandle", "GetExitCodeProcess"),
        ):
            raise AttributeError(name)
        if name not in self.__dict__:
            self.__dict__[name] = Function(self, name)
        return self.__dict__[name]


class Function:
    restype: Any = None

    def __init__(self, windows: Windows, name: str) -> None:
        self.windows, self.name = windows, name

    def __call__(self, *arguments: Any) -> int:
        self.windows.calls.append(self.name)
        match self.name:
            case "CreateAppContainerProfile":
                return -(2**31) + 0x700B7  # it is there already
            case "DeriveAppContainerSidFromAppContainerName":
                arguments[1]._obj.value = 0x51D
                return 0
            case "ConvertSidToStringSidW":
                arguments[1]._obj.value = "S-1-15-2-7"
            case "CreateProcessW":
                start = arguments[8]._obj
                self.windows.started = {
                    "program": arguments[0], "line": arguments[1].value, "inherits": arguments[4],
                    "flags": arguments[5], "environment": arguments[6][:], "folder": arguments[7],
                    "handles": (start.stdin, start.stdout, start.stderr), "size": start.size,
                }  # fmt: skip
                arguments[9]._obj.process, arguments[9]._obj.thread = 0xA, 0xB
            case "UpdateProcThreadAttribute":
                self.windows.calls[-1] += f" {arguments[2].value:#x}"
            case "WaitForSingleObject":
                return 0
            case _:
                pass
        return 0 if self.name == self.windows.fail else 1


def container(windows: Windows, granted: list[list[str]]) -> AppContainer:
    def run(command: list[str], **_: Any) -> Any:
        granted.append(command[1:])
        return SimpleNamespace(stdout="")

    return AppContainer(library=windows, handle_of=lambda descriptor: 100 + descriptor, run=run)


def test_the_process_is_in_its_job_object_before_it_runs(tmp_path: Path):
    system, granted = Windows(), list[list[str]]()
    job = make_job(tmp_path, "def analyze(): return {}")
    running = container(system, granted).start(job, Limits())
    running.kill()
    running.result.close()
    running.printed.close()
    made = system.calls.index("CreateProcessW")
    joined = system.calls.index("AssignProcessToJobObject")
    assert made < joined < system.calls.index("ResumeThread")
    # Suspended, variables in Unicode, with attributes, without a window.
    assert system.started["flags"] == 0x4 | 0x400 | 0x80000 | 0x0800_0000
    assert [one for one in system.calls if one.startswith("Update")] == [
        "UpdateProcThreadAttribute 0x20009",  # PROC_THREAD_ATTRIBUTE_SECURITY_CAPABILITIES
        "UpdateProcThreadAttribute 0x2000e",  # PROC_THREAD_ATTRIBUTE_CHILD_PROCESS_POLICY
        "UpdateProcThreadAttribute 0x20002",  # PROC_THREAD_ATTRIBUTE_HANDLE_LIST
    ]
    assert system.started["size"] == 112
    variables = system.started["environment"].split("\0")
    assert {one.partition("=")[0] for one in variables if one} == {
        *("LC_ALL", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "SYSTEMROOT")
    }
    assert system.started["folder"] == str(job.scratch)
    assert system.calls[-5:-3] == ["TerminateJobObject", "WaitForSingleObject"]


def test_the_container_is_granted_the_job_s_files_alone(tmp_path: Path):
    granted: list[list[str]] = []
    job = make_job(tmp_path, "")
    running = container(Windows(), granted).start(job, Limits())
    running.result.close()
    running.printed.close()
    grants = {one[0]: one[2] for one in granted if len(one) > 1}
    assert set(grants) == {path for path, _ in job.files}
    assert grants[str(job.scratch)] == "*S-1-15-2-7:(OI)(CI)(M)"
    assert grants[str(job.input)] == "*S-1-15-2-7:(OI)(CI)(RX)"
    assert [path for path, text in grants.items() if text.endswith("(M)")] == [str(job.scratch)]


@pytest.mark.parametrize(
    "fail",
    [
        *("ConvertSidToStringSidW", "CreateJobObjectW", "SetInformationJobObject"),
        *("UpdateProcThreadAttribute", "CreateProcessW", "AssignProcessToJobObject"),
    ],
)
def test_a_step_that_fails_starts_nothing(tmp_path: Path, fail: str):
    system = Windows(fail)
    with pytest.raises(OSError, match=r"error 0|error \d+"):
        run_job(container(system, []), make_job(tmp_path, ""), Limits())
    assert "ResumeThread" not in system.calls
    if fail == "AssignProcessToJobObject":
        assert "TerminateProcess" in system.calls


def test_a_profile_of_macos_denies_all_but_the_job_s_files(tmp_path: Path):
    job = make_job(tmp_path, "")
    lines = seatbelt_profile(job).splitlines()
    assert lines[:2] == ["(version 1)", "(deny default)"]
    writes = [one for one in lines if "file-write" in one]
    assert writes == [
        f'(allow file-write-create file-write-data (subpath "{job.scratch.resolve()}"))'
    ]
    allowed = {one.split()[1].rstrip(")") for one in lines[2:]}
    assert allowed == {
        *("process-exec", "sysctl-read", "file-read-metadata", "file-read*", "file-write-create"),
    }
    assert [one for one in lines if "process-exec" in one] == [
        f'(allow process-exec (literal "{job.python}"))'
    ]
    read = {one.rpartition(' "')[2].rstrip('")') for one in lines if "file-read*" in one}
    assert "/" not in read
    assert str(Path.home()) not in read


def test_a_path_cannot_end_its_place_in_the_profile(tmp_path: Path):
    folder = tmp_path / '")) (allow default) ((subpath "'
    folder.mkdir()
    profile = seatbelt_profile(make_job(folder, ""))
    assert r"\")) (allow default) ((subpath \"" in profile
    assert '"))  (allow default)' not in profile.replace(r"\"", "")


def test_each_system_has_its_own(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(backends.shutil, "which", lambda *_, **__: "/usr/bin/sandbox-exec")
    monkeypatch.setattr(os, "geteuid", lambda: 501)
    monkeypatch.setattr(sys, "platform", "darwin")
    assert candidates() == (Seatbelt("/usr/bin/sandbox-exec"),)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert candidates() == ()  # root could raise its limits
    monkeypatch.setattr(sys, "platform", "win32")
    assert candidates() == (AppContainer(),)
    monkeypatch.setattr(sys, "platform", "freebsd14")
    assert candidates() == ()
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(backends.platform, "machine", lambda: "riscv64")
    assert candidates() == ()


def test_the_errors_of_windows_are_told_with_their_number(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(ctypes, "get_last_error", lambda: 5, raising=False)
    assert str(windows._last_error("it failed")) == "it failed (error 5)"
