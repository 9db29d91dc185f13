"""The main program of a model's process; it loads an engine and serves until the app ends it.

Only the standard library is imported before the process is set up. The process ends when the pipe
to the app is closed, by the app or because the app died. While llama.cpp loads a model, it holds
Python's lock, so the process then ends only after the load.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
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


@dataclass(frozen=True, slots=True)
class ServerConfig:
    """The settings of a model's process, explained in `LocalModel`.

    `engine` names the function that loads the model ("module:function"); `key` is the API key that
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


def run(connection: Connection, config: ServerConfig) -> None:
    """Load and serve the model; end when the app closes `connection` or dies."""
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
            from app.tools.hosting import cuda_pack

            cuda_pack.load()
            module, _, function = config.engine.partition(":")
            engine = getattr(importlib.import_module(module), function)
            serving: Serving = engine(config, lambda text: send(kind="stage", text=text))
        except BaseException as error:
            send(kind="failed", **_failure(error, config.path))
            os._exit(1)
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
    """Return the last 8,000 bytes of this process's standard error, with the `path` masked."""
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
