"""One spawned process behind a pipe: starting it, following a call, ending it."""

from __future__ import annotations

import logging
import multiprocessing
import signal
import sys
import threading
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from typing import Any, Protocol

from app.errors import Cancelled, SightlineError, is_memory_text, unexpected
from app.imaging.processes import wire
from app.imaging.processes.confinement import ADDED
from app.imaging.processes.worker_main import WorkerConfig, run
from app.paths import shipped_table

_log = logging.getLogger(__name__)

Progress = Callable[[float, str], None]

START_TIMEOUT_S = 60.0
MESSAGE_S = 30.0
"""Time that a message may take from its first byte on, either way; then the process is killed."""

POLL_S = 0.02
_CRASHES: dict[str, str] = shipped_table("processes", "crashes")


class CancelLike(Protocol):
    """Protocol for cancel tokens, such as `app.tools.api.CancelToken`."""

    @property
    def cancelled(self) -> bool:
        """Whether the token has been cancelled."""
        ...

    def on_cancel(self, callback: Callable[[], None]) -> None:
        """Have `callback` called on any thread upon cancellation; at once if already cancelled."""
        ...


@dataclass(frozen=True, slots=True)
class Call:
    """One call to a process: the number in its messages, and arguments of `Worker.call`."""

    number: int
    timeout_s: float
    cancel: CancelLike | None
    progress: Progress | None
    grace_s: float

    @property
    def cancelled(self) -> bool:
        """Whether the call must end."""
        return self.cancel is not None and self.cancel.cancelled


class ProcessLostError(Exception):
    """The process is gone; the message is a predicate without subject: "crashed (memory fault)".

    Attributes:
        cancelled: Whether the app was stopping the process because its call was cancelled.
        by_itself: Whether the process ended without being killed by the app.
    """

    def __init__(self, how: str, *, cancelled: bool = False, by_itself: bool = False) -> None:
        super().__init__(how)
        self.cancelled = cancelled
        self.by_itself = by_itself


class Process:
    """A worker process, started on creation, and the pipe to it."""

    def __init__(self, name: str, config: WorkerConfig) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe: Connection
        self._pipe, theirs = context.Pipe()
        self._process: SpawnProcess = context.Process(
            target=run, args=(theirs, config), name=f"sightline-{name}", daemon=True
        )
        self._ready = False
        self._killed = False
        ADDED.set(config.env)
        self._process.start()
        # The pipe reports the process's death only once our copy of its end is closed.
        theirs.close()

    @property
    def pid(self) -> int | None:
        """Process id; None if the process has none."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether the process is running and was not killed."""
        return not self._killed and self._process.is_alive()

    def ready(self, call: Call | None) -> None:
        """Wait until the process is ready; if `call` is given and cancelled, only the waiting ends.

        Raises:
            Cancelled: The call was cancelled.
            ProcessLostError: The process did not start in time, or ended.
        """
        deadline = time.monotonic() + START_TIMEOUT_S
        while not self._ready:
            if call is not None and call.cancelled:
                raise Cancelled
            if time.monotonic() > deadline:
                self.kill()
                raise ProcessLostError(f"did not start within {START_TIMEOUT_S:g} s")
            message = self._receive()
            if message is not None and message.get("kind") == "unconfined":
                _log_unconfined()
            elif message is not None:
                self._ready = True

    def call(self, call: Call, entry: str, payload: Mapping[str, Any]) -> dict[str, Any]:
        """Send a call to the process and wait for its result.

        Raises:
            Cancelled: The call was cancelled.
            ProcessLostError: The process ended, took too long or sent a broken answer.
            SightlineError: The function raised an error.
        """
        request: dict[str, Any] = {"kind": "call", "id": call.number, "entry": entry}
        request |= {"payload": payload, "timeout_s": call.timeout_s}
        deadline = time.monotonic() + call.timeout_s
        try:
            with self._limited():
                wire.send(self._pipe, request)
        except OSError:
            raise self._lost() from None
        try:
            answer = self._follow(deadline, call)
        except BaseException:
            # After any interruption (Ctrl+C, an error of the listener) the function still runs.
            self.kill()
            raise
        return self._outcome(answer, call)

    def _follow(self, deadline: float, call: Call) -> dict[str, Any]:
        """Pass progress on until the call's answer comes, within its time limit."""
        asked_to_stop = False
        while True:
            if call.cancelled and not asked_to_stop:
                asked_to_stop = True
                deadline = min(deadline, time.monotonic() + call.grace_s)
                with suppress(OSError):
                    wire.send(self._pipe, {"kind": "cancel", "id": call.number})
            if time.monotonic() >= deadline:
                self.kill()
                how = f"took too long ({call.timeout_s:g} s) and was stopped"
                raise ProcessLostError(how, cancelled=asked_to_stop)
            message = self._receive(cancelled=asked_to_stop)
            if message is None or message.get("id") != call.number:
                continue
            match message:  # a hostile file may have taken the process over
                case {"kind": "error"} | {"kind": "result", "value": dict()}:
                    return message
                case {"kind": "progress", "fraction": int() | float() as fraction, "text": text}:
                    if call.progress is not None:
                        call.progress(float(fraction), str(text))
                case _:
                    self.kill()
                    raise ProcessLostError("sent a broken answer (of an unknown kind)")

    def _outcome(self, message: dict[str, Any], call: Call) -> dict[str, Any]:
        if message["kind"] == "result":
            if call.cancelled:
                raise Cancelled
            return message["value"]
        if message.get("spent"):
            self.kill()
        error = _rebuild(message)
        if isinstance(error, Cancelled) and not call.cancelled:
            self.kill()
            raise ProcessLostError("sent a broken answer (nobody had cancelled it)")
        raise error

    def _receive(self, *, cancelled: bool = False) -> dict[str, Any] | None:
        """Return a message, or None when none comes soon."""
        try:
            if not self._pipe.poll(POLL_S):
                return None
            with self._limited():
                return wire.receive(self._pipe)
        except (EOFError, OSError):
            raise self._lost(cancelled=cancelled) from None
        except wire.WireError as error:
            self.kill()
            raise ProcessLostError(f"sent a broken answer ({error})") from None

    @contextmanager
    def _limited(self) -> Generator[None]:
        """Kill the process if a message through the pipe takes longer than `MESSAGE_S`."""
        limit = threading.Timer(MESSAGE_S, self.kill)
        limit.daemon = True
        limit.start()
        try:
            yield
        finally:
            limit.cancel()

    def _lost(self, *, cancelled: bool = False) -> ProcessLostError:
        self._process.join(timeout=1.0)
        code = self._process.exitcode
        by_itself = not self._killed and not cancelled
        self.kill()
        return ProcessLostError(death_reason(code), cancelled=cancelled, by_itself=by_itself)

    def kill(self) -> None:
        """Kill the process immediately; safe from any thread."""
        self._killed = True
        with suppress(OSError, ValueError):
            self._process.kill()

    def dispose(self) -> None:
        """Kill the process and free its resources. Must not be called while a call is running."""
        self.kill()
        # Closing fails while it still runs, e.g. inside a driver; then the system cleans up. Both
        # fail once it is closed.
        with suppress(ValueError):
            self._process.join(timeout=0.5)
            self._pipe.close()
            self._process.close()


@cache
def _log_unconfined() -> None:
    _log.warning("the system refused to confine a decode worker: it has all the user's rights")


def death_reason(code: int | None) -> str:
    """Return how a process ended, in words to follow its name: "ended unexpectedly (code 1)"."""
    if code is None:
        return "stopped answering"
    if code < 0:
        try:
            name = signal.Signals(-code).name
        except ValueError:
            return f"crashed (signal {-code})"
        return _CRASHES.get(name, f"crashed ({name})")
    if sys.platform == "win32" and code == 0xC0000005:
        return "crashed (memory fault)"
    return f"ended unexpectedly (code {code})"


def _rebuild(message: Mapping[str, Any]) -> Exception:
    """Rebuild the exception of an error message; only our own types are rebuilt."""
    name = str(message.get("type", ""))
    if name == Cancelled.__name__:
        return Cancelled()
    texts = {key: str(message.get(key, "")) for key in ("reason", "subject", "remedy", "detail")}
    kind = {cls.__name__: cls for cls in _own_errors(SightlineError)}.get(name)
    if kind is not None:
        return kind(texts.pop("reason"), **texts)
    if is_memory_text(texts["detail"]):
        told = unexpected(MemoryError())
        return SightlineError(told.reason, remedy=told.remedy, detail=texts["detail"])
    return SightlineError(f"an unexpected error ({name})", detail=texts["detail"])


def _own_errors(base: type[SightlineError]) -> list[type[SightlineError]]:
    return [base, *(cls for sub in base.__subclasses__() for cls in _own_errors(sub))]
