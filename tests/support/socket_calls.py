"""Network system calls of a process and its children, traced with strace."""

from __future__ import annotations

import ipaddress
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.conftest import REPO

CALLS = "connect,sendto,sendmsg,sendmmsg,bind,socket"
_CALL = re.compile(r"\b(connect|sendto|sendmsg|sendmmsg|bind|socket)\((.*)")
_FAMILY = re.compile(r"sa_family=(AF_\w+)")
_ADDRESS = re.compile(
    r'sin_addr=inet_addr\("([^"]+)"\)|inet_pton\(AF_INET6, "([^"]+)"|sin6_addr=[^"]*"([^"]+)"'
)
_LOCAL = frozenset(("AF_UNIX", "AF_LOCAL", "AF_NETLINK", "AF_UNSPEC"))
"""Address families that only reach this machine's kernel and programs."""


@dataclass(frozen=True, slots=True)
class Traced:
    """A finished process with its network system calls.

    Attributes:
        returncode: As it ended.
        output: Its stdout and stderr.
        calls: The lines of its network calls.
    """

    returncode: int
    output: str
    calls: tuple[str, ...]

    def outside(self) -> list[str]:
        """Return calls to an address of another machine, or of a family that could reach one."""
        return [line for line in self.calls if _goes_out(line)]

    def names(self, call: str) -> list[str]:
        """Return the lines of one system call."""
        return [line for line in self.calls if f" {call}(" in f" {line}"]


def why_not() -> str:
    """Return the reason why tracing is impossible here, or ""."""
    if not sys.platform.startswith("linux"):
        return "strace exists on Linux only"
    if shutil.which("strace") is None:
        return "strace is not installed (Debian: apt-get install strace)"
    probe = subprocess.run(["strace", "-o", "/dev/null", "true"], capture_output=True, check=False)
    return "" if probe.returncode == 0 else "tracing is not allowed here (ptrace)"


def traced(
    command: Sequence[str], folder: Path, env: Mapping[str, str], timeout: float = 120
) -> Traced:
    """Run a command with all its children under strace.

    Args:
        command: What is run.
        folder: For strace's own file.
        env: Added to this process's environment.
        timeout: Seconds.
    """
    log = folder / "strace.txt"
    # -f follows children, -qq leaves their ends out, -s 0 no payload; --seccomp-bpf stops only at
    # the calls that are asked for, so that the rest runs at full speed.
    tracer = ["strace", "-f", "-qq", "-s", "0", "-e", f"trace={CALLS}", "-o", str(log)]
    tracer += ["--seccomp-bpf"] if _knows_seccomp() else []
    done = subprocess.run(
        [*tracer, *command],
        cwd=REPO,
        env={**os.environ, **env},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        encoding="utf-8",
        errors="replace",
        timeout=timeout,
        check=False,
    )
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    calls = tuple(line for line in lines if _CALL.search(line))
    return Traced(done.returncode, done.stdout + done.stderr, calls)


def _knows_seccomp() -> bool:
    told = subprocess.run(["strace", "--help"], capture_output=True, text=True, check=False)
    return "--seccomp-bpf" in told.stdout


def _goes_out(line: str) -> bool:
    found = _CALL.search(line)
    if found is None or found[1] == "socket":
        return False  # a socket alone reaches nobody
    family = _FAMILY.search(line)
    if family is None:
        return False  # what is connected already: its connect was judged
    if family[1] in _LOCAL:
        return False
    addresses = [next(filter(None, groups)) for groups in _ADDRESS.findall(line)]
    # An address of another family, or one that could not be read, counts as outside.
    return not addresses or not all(_is_loopback(text) for text in addresses)


def _is_loopback(text: str) -> bool:
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return (mapped or address).is_loopback
