"""The main program of a model's process; it loads an engine and serves until the app ends it.

Only the standard library is imported before the process is set up. The process ends when the pipe
to the app closes, whether by the app or by its end.
"""

from __future__ import annotations

import ctypes
import importlib
import json
import os
import signal
import sys
import tempfile
import threading
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from app.imaging.processes.worker_main import lower_priority

NICE = 5
_PR_SET_PDEATHSIG = 1
_SYNCHRONIZE = 0x0010_0000
_ONCE = 0x8


@dataclass(frozen=True, slots=True)
class ServerConfig:
    """The settings of a model's process, explained in `LocalModel`.

    `engine` is the function that loads the model, as "module:function"; `key` is the API key that
    requests must carry.
    """

    engine: str
    path: str
    name: str
    key: str
    context_tokens: int
    output_tokens: int
    threads: int
    chat_template: str = ""
    temperature: float = 0.2
    seed: int | None = None


@dataclass(frozen=True, slots=True)
class Serving:
    """A server that is ready for requests, described by the engine that runs it.

    Attributes:
        url: The server's address, ending in "/v1".
        context_tokens: The actual context size, which may be smaller than requested.
        tools: Whether the chat template can show tools and calls.
        constrained: Whether the server can force an answer to conform to a JSON schema.
        notes: Notes for the user.
        keep: An object that must be kept alive as long as the server runs.
        key: The API key that requests must carry; filled in by the app, not by the engine.
    """

    url: str
    context_tokens: int
    tools: bool
    constrained: bool
    notes: tuple[str, ...] = ()
    keep: Any = None
    key: str = ""


class EngineFailed(Exception):
    """An engine cannot serve the model; holds a reason and a remedy in plain words."""

    def __init__(self, reason: str, remedy: str, detail: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.remedy = remedy
        self.detail = detail


Stage = Callable[[str], None]


def run(connection: Connection, config: ServerConfig, parent: int) -> None:
    """Load and serve the model; end when the app (process `parent`) closes `connection` or dies."""
    _tie_to_parent(parent)
    _set_up(config.threads)
    threading.Thread(target=_exit_on_pipe_close, args=(connection,), daemon=True).start()

    def send(**message: object) -> None:
        with suppress(OSError):
            connection.send_bytes(json.dumps(message).encode())

    with tempfile.TemporaryFile() as log:
        # What native code prints while it loads says why it fails; no prompt is known to it yet.
        os.dup2(log.fileno(), 2)
        os.dup2(2, 1)
        try:
            send(kind="stage", text="the program for it is being started")
            module, _, function = config.engine.partition(":")
            engine = getattr(importlib.import_module(module), function)
            serving: Serving = engine(config, lambda text: send(kind="stage", text=text))
        except BaseException as error:
            send(kind="failed", **_failure(error, config.path))
            os._exit(1)
        _outlive_parent_thread()
        # From here on a log could hold questions and answers.
        silence = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silence, 2)
        os.dup2(silence, 1)
    send(kind="ready", serving=asdict(replace(serving, keep=None)))
    threading.Event().wait()


def _failure(error: BaseException, path: str) -> dict[str, str]:
    """Return reason, remedy, detail and, if one is not installed, package of a failed load."""
    if isinstance(error, EngineFailed):
        detail = f"{error.detail}\n{native_output(path)}".strip()
        return {"reason": error.reason, "remedy": error.remedy, "detail": detail}
    reason = f"the model could not be loaded ({type(error).__name__})"
    remedy = "Check that its files are complete, or choose another model in the settings."
    if isinstance(error, MemoryError):
        reason, remedy = OUT_OF_MEMORY
    detail = _without_path("".join(traceback.format_exception(error))[-8_000:], path)
    missing = (error.name or "") if isinstance(error, ModuleNotFoundError) else ""
    package = missing.partition(".")[0]
    return {"reason": reason, "remedy": remedy, "detail": detail, "package": package}


OUT_OF_MEMORY = (
    "there is not enough memory for this model",
    "Close other programs, or choose a smaller model or a smaller context in the settings.",
)
"""The reason and the remedy to report when memory runs out."""


def native_output(path: str) -> str:
    """Return the last 8,000 bytes printed to standard error, with the model's `path` masked."""
    with suppress(OSError), os.fdopen(os.dup(2), "rb") as log:
        size = os.fstat(log.fileno()).st_size
        log.seek(max(0, size - 8_000))
        text = log.read().decode("utf-8", errors="replace")
        log.seek(size)
        return _without_path(text, path)
    return ""


def _without_path(text: str, path: str) -> str:
    return text.replace(path, "MODEL").replace(str(Path(path).parent), "FOLDER")


def _set_up(threads: int) -> None:
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ[name] = str(threads)
    # Nothing is fetched: the model is what lies on the disk.
    os.environ |= {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1"}
    # Ctrl+C in a terminal reaches the whole process group; the app decides what it means.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with suppress(OSError):
        lower_priority(NICE)


def _exit_on_pipe_close(connection: Connection) -> None:
    with suppress(BaseException):
        while True:
            connection.recv_bytes()
    os._exit(0)


def _tie_to_parent(parent: int) -> None:
    """Have the system end this process with the app, also during a load.

    llama.cpp holds Python's lock while it loads, which may take minutes, so that the thread that
    waits for the end of the pipe cannot run. On macOS the process ends after the load.
    """
    with suppress(OSError, AttributeError):
        if sys.platform == "linux":
            libc = ctypes.CDLL(None, use_errno=True)
            libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
            if os.getppid() != parent:
                os._exit(0)  # the app died before the call
        elif sys.platform == "win32":
            _tie_to_parent_on_windows(parent)


def _outlive_parent_thread() -> None:
    """From now on end only with the pipe.

    On Linux the thread that started this process counts as its parent, and may end before the app.
    """
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, 0)


def _tie_to_parent_on_windows(parent: int) -> None:
    if sys.platform != "win32":
        return
    kernel = ctypes.WinDLL("kernel32", use_last_error=True)
    kernel.OpenProcess.restype = ctypes.c_void_p
    kernel.OpenProcess.argtypes = [ctypes.c_uint32, ctypes.c_int, ctypes.c_uint32]
    register = kernel.RegisterWaitForSingleObject
    register.argtypes = [
        ctypes.POINTER(ctypes.c_void_p),
        ctypes.c_void_p,
        ctypes.c_void_p,
        ctypes.c_void_p,
        ctypes.c_uint32,
        ctypes.c_uint32,
    ]
    app = kernel.OpenProcess(_SYNCHRONIZE, 0, parent)
    if app:
        # A system thread calls TerminateProcess(this process, 0): it needs no lock of Python's.
        this_process, forever = ctypes.c_void_p(-1), 0xFFFF_FFFF
        terminate = ctypes.cast(kernel.TerminateProcess, ctypes.c_void_p)
        register(ctypes.byref(ctypes.c_void_p()), app, terminate, this_process, forever, _ONCE)
