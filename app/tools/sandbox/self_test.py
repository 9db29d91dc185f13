"""The self-test of a sandbox: code that tries to get out, and whether any of it worked."""

from __future__ import annotations

import os
import socket
import tempfile
from collections.abc import Generator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from app.tools.sandbox.jobs import Job, Outcome, make_job

_SECRET = "sightline-secret"

CODE = """
import ctypes, os, socket, subprocess, sys

GUEST = sys.modules["app.tools.sandbox.guest"].__file__

def refused(action):
    try:
        got = action()
    except (OSError, RuntimeError, ImportError, AttributeError):
        return True
    return got is False

def connects(kind, family, address):
    with socket.socket(family, kind) as one:
        one.settimeout(2)
        one.connect(address)
        one.send(b"x")

def forks():
    pid = os.fork()
    if not pid:
        os._exit(0)
    return True

def traces():
    seize = 0x4206  # unlike an attachment, it does not stop the parent
    return ctypes.CDLL(None, use_errno=True).ptrace(seize, os.getppid(), None, None) == 0

def links():
    os.symlink(OUTSIDE, "link")
    return open("link").read()

def analyze():
    import numpy as np

    with open("own", "w") as own:
        own.write("scratch")
    works = {
        "numpy": int(np.arange(5).sum()) == 10,
        "scratch": open("own").read() == "scratch",
    }
    attacks = {
        "reads a file outside": lambda: open(OUTSIDE).read(),
        "reads a file by numpy": lambda: np.fromfile(OUTSIDE, np.uint8).tobytes(),
        "lists a folder outside": lambda: "outside" in os.listdir(os.path.dirname(OUTSIDE)),
        "reads the list of users": lambda: open("/etc/passwd").read(),
        "writes outside": lambda: open(OUTSIDE + ".new", "w").write("x"),
        "changes a file outside": lambda: open(OUTSIDE, "a").write("x"),
        "changes its own program": lambda: open(GUEST, "a").write("x"),
        "connects by TCP": lambda: connects(socket.SOCK_STREAM, socket.AF_INET, TCP),
        "sends by UDP": lambda: connects(socket.SOCK_DGRAM, socket.AF_INET, UDP),
        "starts a program": lambda: subprocess.run([sys.executable, "-c", "0"]).returncode == 0,
        "sees variables": lambda: any(SECRET in value for value in os.environ.values()),
    }
    if hasattr(os, "fork"):
        attacks |= {
            "starts a process": forks,
            "links to a file outside": links,
            "looks into other processes": lambda: open(f"/proc/{os.getppid()}/environ", "rb"),
        }
    if hasattr(socket, "AF_UNIX"):
        kind, family = socket.SOCK_STREAM, socket.AF_UNIX
        attacks["connects to a Unix socket"] = lambda: connects(kind, family, UNIX)
    if sys.platform == "linux":
        attacks["traces its parent"] = traces
    return {"works": works, "refused": {name: refused(one) for name, one in attacks.items()}}
"""


@contextmanager
def attacks(folder: Path) -> Generator[Job]:
    """Lay the targets out in an empty folder, and give the job that attacks them."""
    with ExitStack() as stack:
        outside = folder / "outside"
        outside.write_text(_SECRET, "utf-8")
        tcp = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        udp = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        udp.bind(("127.0.0.1", 0))
        names: dict[str, object] = {
            "OUTSIDE": str(outside),
            "SECRET": _SECRET,
            "TCP": tcp.getsockname(),
            "UDP": udp.getsockname(),
            "UNIX": "",
        }
        if hasattr(socket, "AF_UNIX"):
            unix = stack.enter_context(socket.socket(socket.AF_UNIX))
            short = stack.enter_context(tempfile.TemporaryDirectory(prefix="sightline-"))
            with suppress(OSError):
                unix.bind(os.path.join(short, "socket"))  # noqa: PTH118 - at most 107 characters
                unix.listen()
                names["UNIX"] = unix.getsockname()
        job = folder / "job"
        job.mkdir()
        said = "\n".join(f"{name} = {value!r}" for name, value in names.items())
        yield make_job(job, f"{said}\n{CODE}")


def weakness(outcome: Outcome) -> str:
    """Return what the attacks got, or what they could not do that they must; "" if all is well."""
    if outcome.kind != "returned":
        said = (outcome.reason or outcome.error or outcome.printed).strip().splitlines()
        return f"the self-test did not run ({said[-1] if said else outcome.kind})"
    works, refused = outcome.value["works"], outcome.value["refused"]
    if idle := [name for name, done in works.items() if done is not True]:
        return f"these do not work: {', '.join(idle)}"
    return "; ".join(f"code in it {name}" for name, was in refused.items() if was is not True)
