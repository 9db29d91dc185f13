"""The filter of system calls, stepped through for both kinds of processor."""

from __future__ import annotations

import errno
import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from app.paths import resources_dir
from app.tools.sandbox.guest_linux import filter_steps

TABLES: dict[str, Any] = json.loads(
    (resources_dir() / "privacy" / "sandbox_calls.json").read_text("utf-8")
)
MACHINES = ("x86_64", "aarch64")
PROCESS = 4321
ALLOWED, REFUSED = 0x7FFF0000, 0x00050000 | errno.EPERM


def verdict(machine: str, number: int, *arguments: int, code: int | None = None) -> int:
    """What the kernel would do: classic BPF as in Documentation/networking/filter.rst."""
    table = TABLES[machine]
    steps = filter_steps(table, PROCESS)
    assert len(steps) <= 4096  # BPF_MAXINSNS
    data = {0: number & 0xFFFFFFFF, 4: table["audit"] if code is None else code}
    for place, value in enumerate([*arguments, *[0] * (6 - len(arguments))]):
        data[16 + 8 * place] = value & 0xFFFFFFFF
        data[20 + 8 * place] = value >> 32 & 0xFFFFFFFF
    at = accumulator = 0
    while True:
        operation, if_true, if_false, operand = steps[at]
        assert 0 <= if_true < 256
        assert 0 <= if_false < 256
        at += 1
        match operation:
            case 0x20:  # LD W ABS
                accumulator = data[operand]
            case 0x54:  # ALU AND K
                accumulator &= operand
            case 0x15:  # JMP JEQ K
                at += if_true if accumulator == operand else if_false
            case 0x35:  # JMP JGE K
                at += if_true if accumulator >= operand else if_false
            case 0x06:  # RET K
                return operand
            case _:
                raise AssertionError(f"{operation:#x} is not used")


def number(machine: str, name: str) -> int:
    table = TABLES[machine]
    return table["allowed"].get(name) or table["judged"][name]


@pytest.mark.parametrize("machine", MACHINES)
def test_calls_of_the_table_are_allowed_and_all_others_refused(machine: str):
    allowed = set(TABLES[machine]["allowed"].values())
    judged = set(TABLES[machine]["judged"].values())
    assert not allowed & judged
    for one in range(600):
        if one not in judged:
            assert verdict(machine, one) == (ALLOWED if one in allowed else REFUSED), one
    # The calls of another machine, and of the 32-bit variant of x86-64.
    assert verdict(machine, min(allowed), code=0x40000003) == REFUSED
    assert verdict(machine, 0x40000000 + min(allowed)) == REFUSED
    assert verdict(machine, -1) == REFUSED


@pytest.mark.parametrize("machine", MACHINES)
def test_no_call_of_the_table_does_what_must_not_be_done(machine: str):
    words = (
        *("socket", "connect", "bind", "send", "recv", "fork", "clone", "exec", "ptrace", "kill"),
        *("process_vm", "pidfd", "mount", "chroot", "unshare", "setns", "unlink", "rename", "link"),
        *(
            "chmod",
            "chown",
            "utime",
            "xattr",
            "io_uring",
            "bpf",
            "key",
            "memfd",
            "shm",
            "setrlimit",
        ),
        *("setuid", "setgid", "capset", "prctl", "splice", "openat2", "handle", "inotify", "timer"),
    )
    names = {*TABLES[machine]["allowed"], *TABLES[machine]["judged"]}
    names -= {"tgkill", "readlink", "readlinkat"}
    assert not [name for name in names if any(word in name for word in words)]


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize(
    ("flags", "allowed"),
    [
        (os.O_RDONLY | os.O_CLOEXEC, True),
        (os.O_WRONLY | os.O_CREAT | os.O_TRUNC, True),
        (os.O_RDWR | os.O_TRUNC, True),
        (os.O_RDONLY | os.O_TRUNC, False),
        (os.O_TMPFILE | os.O_RDWR, False),
        (os.O_RDONLY | os.O_DIRECTORY, True),
    ],
)
def test_files_are_opened_but_not_emptied_by_reading_nor_without_a_name(
    machine: str, flags: int, allowed: bool
):
    expected = ALLOWED if allowed else REFUSED
    assert verdict(machine, number(machine, "openat"), -100, 0x7F0000001000, flags) == expected
    if machine == "x86_64":
        assert verdict(machine, number(machine, "open"), 0x7F0000001000, flags) == expected


@pytest.mark.parametrize("machine", MACHINES)
def test_arguments_that_reach_others_are_refused(machine: str):
    def judged(name: str, *arguments: int) -> bool:
        return verdict(machine, number(machine, name), *arguments) == ALLOWED

    assert judged("tgkill", PROCESS, PROCESS, 6)
    assert not judged("tgkill", PROCESS + 1, PROCESS + 1, 6)
    assert judged("prlimit64", 0, 9, 0, 0x7F0000001000)  # to read its own
    assert not judged("prlimit64", 0, 9, 0x7F0000001000)
    assert not judged("prlimit64", 0, 9, 0x7F << 32)  # an address whose lower half is 0
    assert not judged("prlimit64", PROCESS - 1, 9, 0)
    assert [one for one in range(2000) if judged("fcntl", 1, one)] == [0, 1, 2, 3, 5, 6, 7, 1030]
    assert judged("ioctl", 1, 0x5401)  # TCGETS: isatty()
    assert not judged("ioctl", 1, 0x5412)  # TIOCSTI


@pytest.mark.parametrize(
    ("machine", "header", "prefix"),
    [
        ("x86_64", "/usr/include/x86_64-linux-gnu/asm/unistd_64.h", "__NR_"),
        ("aarch64", "/usr/include/asm-generic/unistd.h", "(?:__NR|__NR3264)_"),
    ],
)
def test_the_numbers_are_the_kernel_s(machine: str, header: str, prefix: str):
    if not Path(header).is_file():
        pytest.skip(f"no {header} here")
    text = Path(header).read_text("utf-8")
    found = {name: int(one) for name, one in re.findall(rf"#define {prefix}(\w+)\s+(\d+)", text)}
    table: dict[str, int] = {**TABLES[machine]["allowed"], **TABLES[machine]["judged"]}
    # The generic header has these under the names of their older forms.
    other = {"newfstatat": "fstatat", "getrlimit": "getrlimit", "fadvise64": "fadvise64"}
    wrong = {
        name: (one, found.get(name, found.get(other.get(name, name))))
        for name, one in table.items()
        if found.get(name, found.get(other.get(name, name))) != one
    }
    assert not wrong
