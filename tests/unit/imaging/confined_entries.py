"""What a decode worker that a hostile file has taken over would try; imported before it may not."""

from __future__ import annotations

import ctypes
import os
import signal
import socket
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from app.imaging.processes import memory_limit

Payload = dict[str, Any]


def _outcome(action: Callable[[], object]) -> str:
    try:
        return f"done: {action()!r}"
    except OSError as error:
        return f"refused: {error.strerror}"


def read(payload: Payload) -> Payload:
    """The start of each file in `payload["paths"]`, or why it was refused."""
    return {path: _outcome(partial(_start, path)) for path in payload["paths"]}


def _start(path: str) -> bytes:
    return Path(path).read_bytes()[:4]


def environment(payload: Payload) -> Payload:
    """The environment as Python has it, and the bytes from which it was made."""
    del payload
    names = ("environ",)
    block = {name: _outcome(Path(f"/proc/self/{name}").read_bytes) for name in names}
    start = ctypes.POINTER(ctypes.c_char_p).in_dll(ctypes.CDLL(None), "environ")
    raw: list[str] = []
    while (one := start[len(raw)]) is not None:
        raw.append(one.decode("utf-8", "replace"))
    return {"variables": dict(os.environ), "raw": raw, **block}


def attempts(payload: Payload) -> Payload:
    """What becomes of everything else that it is not to do."""
    folder = Path(payload["folder"])
    parent = os.getppid()
    return {
        "tcp": _outcome(lambda: socket.create_connection(tuple(payload["address"]), 5)),
        "unix": _outcome(lambda: socket.socket(socket.AF_UNIX)),
        "udp": _outcome(lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM)),
        "write": _outcome(lambda: (folder / "new").write_bytes(b"x")),
        "delete": _outcome((folder / "kept").unlink),
        "rename": _outcome(lambda: (folder / "kept").rename(folder / "moved")),
        "shorten": _outcome(lambda: os.truncate(folder / "kept", 0)),
        "mode": _outcome(lambda: (folder / "kept").chmod(0o777)),
        "times": _outcome(lambda: os.utime(folder / "kept", (0, 0))),
        "link": _outcome(lambda: (folder / "link").symlink_to("/")),
        "run": _outcome(lambda: os.execv("/bin/true", ["true"])),
        "fork": _outcome(os.fork),
        "kill": _outcome(lambda: os.kill(parent, 0)),
        "group": _outcome(lambda: os.killpg(0, 0)),
        "look": _outcome(lambda: Path(f"/proc/{parent}/environ").read_bytes()[:4]),
        "memory": _outcome(lambda: Path(f"/proc/{parent}/mem").open("rb")),
        "temporary": _outcome(lambda: Path("/tmp/sightline-confined").write_bytes(b"x")),
    }


def needs(payload: Payload) -> Payload:
    """What decoding itself needs all the same."""
    import threading

    import numpy as np

    del payload
    told: list[int] = []
    thread = threading.Thread(target=lambda: told.append(1))
    thread.start()
    thread.join()
    signal.raise_signal(signal.SIGCONT)
    with memory_limit.limited_memory(2**28):
        pass
    array = np.arange(2**18, dtype=np.int64)  # travels in shared memory
    return {"thread": told, "bytes": memory_limit.resident_bytes(), "array": array}
