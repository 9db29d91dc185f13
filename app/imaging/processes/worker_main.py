"""The main program of a worker process; imports only the standard library until it is set up.

Functions run on the main thread, one at a time. Another thread reads the pipe, so that a cancel or
the end of the app is noticed meanwhile.
"""

from __future__ import annotations

import importlib
import inspect
import math
import os
import queue
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from multiprocessing.connection import Connection
from typing import Any

from app.errors import Cancelled, SightlineError
from app.imaging.processes.memory_limit import limit_memory, resident_bytes

_CPU_MARGIN_S = 2.0
"""Added to the limit so that the app's own time-out, which has a better message, comes first."""


@dataclass(frozen=True, slots=True)
class WorkerConfig:
    """The settings of a worker process.

    Attributes:
        env: Environment variables, set before any large module is imported.
        preload: Modules to import at the start, so that the first call is quick.
        memory_limit_bytes: Limit on the address space beyond that of a bare interpreter, or None.
        nice: Unix niceness to add to that of the app's own process (0 to 19).
        quiet: Whether to drop the output of libraries rather than pass it on to standard error;
            codecs complain about files that they can decode.
        confined: Whether the process gives up all rights but those to read files and to calculate,
            once it has imported `preload` (`confinement`); on Linux only.
    """

    env: Mapping[str, str]
    preload: tuple[str, ...] = ()
    memory_limit_bytes: int | None = None
    nice: int = 5
    quiet: bool = False
    confined: bool = False


def run(connection: Connection, config: WorkerConfig) -> None:
    """Run as the worker process: serve calls until the app closes the pipe or dies."""
    _set_up(config)
    _Server(connection, config).serve()


def _set_up(config: WorkerConfig) -> None:
    os.environ.update(config.env)
    # Ctrl+C in a terminal reaches the whole process group, but only the app handles it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Standard output is for the app's JSON, so output of libraries goes to stderr.
    with suppress(OSError, AttributeError, ValueError):
        if config.quiet:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        os.dup2(2, 1)
    with suppress(OSError):
        lower_priority(config.nice)
    if config.memory_limit_bytes is not None:
        with suppress(OSError, ValueError):
            limit_memory(config.memory_limit_bytes)


def lower_priority(amount: int) -> None:
    """Raise the Unix niceness by `amount`; on Windows, set the priority to below normal."""
    if amount <= 0:
        return
    if sys.platform == "win32":
        import ctypes

        below_normal = 0x4000
        kernel = ctypes.windll.kernel32
        kernel.SetPriorityClass(kernel.GetCurrentProcess(), below_normal)
    else:
        os.nice(amount)


def _limit_cpu(timeout_s: float) -> None:
    """Let the system end a call over its time, also when the app that kills it has died."""
    if sys.platform == "win32":
        return
    import resource

    used = resource.getrusage(resource.RUSAGE_SELF)
    threads = 1 if os.environ.get("OMP_NUM_THREADS") == "1" else os.cpu_count() or 1
    seconds = used.ru_utime + used.ru_stime + timeout_s * threads + _CPU_MARGIN_S
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    if hard == resource.RLIM_INFINITY or seconds < hard:
        resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(seconds), hard))


class _Server:
    """The pipe, the running call and its progress reports."""

    def __init__(self, connection: Connection, config: WorkerConfig) -> None:
        # Imported here: numpy reads its thread limits from the environment when it is imported.
        from app.imaging.processes import wire

        self._wire = wire
        self._connection = connection
        self._config = config
        self._requests: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._cancelled: set[int] = set()

    def serve(self) -> None:
        if not self._config.confined:
            self._start_reading()
        for module in self._config.preload:
            importlib.import_module(module)
        if self._config.confined:
            self._confine()
            self._start_reading()  # not before: a thread keeps the rights with which it began
        self._send({"kind": "ready"})
        while True:
            self._answer(self._requests.get())

    def _confine(self) -> None:
        from app.imaging.processes.confinement import confine

        resident_bytes()  # opens what may not be opened later
        try:
            confine()
        except OSError as error:
            self._send({"kind": "unconfined", "errno": error.errno})

    def _start_reading(self) -> None:
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        try:
            while True:
                message = self._wire.receive(self._connection)
                if message["kind"] == "call":
                    self._requests.put(message)
                else:
                    self._cancelled.add(message["id"])
        except BaseException:
            # The app is gone or its message is broken, so no answer is needed any more.
            os._exit(0)

    def _send(self, message: Mapping[str, Any]) -> None:
        with self._lock:
            self._wire.send(self._connection, message)

    def _answer(self, request: dict[str, Any]) -> None:
        number: int = request["id"]
        answer: dict[str, Any]
        try:
            _limit_cpu(float(request["timeout_s"]))
            result = self._run(request["entry"], request["payload"], number)
            answer = {"kind": "result", "id": number, "value": result}
        except BaseException as error:  # a codec's panic is no Exception, and must be told too
            answer = {"kind": "error", "id": number, **_describe(error)}
        self._cancelled.discard(number)
        try:
            self._send(answer)
        except OSError:
            os._exit(0)
        except Exception as error:  # the function returned what cannot be sent, or is gone
            self._send({"kind": "error", "id": number, **_describe(error)})

    def _run(self, entry: str, payload: dict[str, Any], number: int) -> Mapping[str, Any]:
        function, takes_progress = _function(entry)

        def progress(fraction: float, text: str = "") -> None:
            if number in self._cancelled:
                raise Cancelled
            self._send(
                {"kind": "progress", "id": number, "fraction": float(fraction), "text": str(text)}
            )

        result = function(payload, progress) if takes_progress else function(payload)
        if not isinstance(result, Mapping):
            raise TypeError(f"{entry} must return a mapping, not {type(result).__name__}")
        return result


@cache
def _function(entry: str) -> tuple[Callable[..., Any], bool]:
    module, _, name = entry.partition(":")
    function: Callable[..., Any] = getattr(importlib.import_module(module), name)
    return function, len(inspect.signature(function).parameters) > 1


def _describe(error: BaseException) -> dict[str, Any]:
    if isinstance(error, SightlineError):
        texts = {key: getattr(error, key) for key in ("reason", "subject", "remedy", "detail")}
        return {"type": type(error).__name__, **texts}
    if isinstance(error, MemoryError):
        return {
            "type": "WorkerDied",
            "reason": "it needs more memory than a worker process may use",
            "detail": "MemoryError",
            "spent": True,
        }
    text = "".join(traceback.format_exception(error))
    return {"type": type(error).__name__, "reason": "", "detail": text[-20_000:]}
