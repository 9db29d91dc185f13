"""Worker processes: where anything runs that may crash, hang, leak or block.

Codecs written in C abort and hang on broken files, and models take seconds and gigabytes, so
neither runs in the app's process. A `Worker` is one spawned process that calls functions by name;
it is killed and replaced after a crash, a time-out or a cancel. `worker_pool` shares several.
"""

from __future__ import annotations

import itertools
import multiprocessing
import secrets
import select
import signal
import sys
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from multiprocessing.shared_memory import SharedMemory
from typing import Any, Protocol

from app.errors import Cancelled, SightlineError, WorkerDied
from app.imaging.processes import segments, wire
from app.imaging.processes.worker_main import WorkerConfig, is_allowed, run

Progress = Callable[[float, str], None]

START_TIMEOUT_S = 60.0
STALL_S = 10.0
"""How long a process may stop in the middle of a message."""

_POLL_S = 0.02
_SINGLE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
_CRASHES = {
    "SIGSEGV": "crashed (memory fault)",
    "SIGBUS": "crashed (memory fault)",
    "SIGABRT": "crashed (it aborted itself)",
    "SIGFPE": "crashed (arithmetic fault)",
    "SIGILL": "crashed (illegal instruction)",
    "SIGKILL": "was ended by the system, probably for want of memory",
    "SIGXCPU": "used too much processor time",
    "SIGTERM": "was ended from outside",
}


class CancelLike(Protocol):
    """What a cancel token must offer; `app.tools.api.CancelToken` does."""

    @property
    def cancelled(self) -> bool:
        """Whether it was cancelled."""
        ...

    def on_cancel(self, callback: Callable[[], None]) -> None:
        """Call back on cancel, from any thread; at once when already cancelled."""
        ...


class Worker:
    """One worker process, started when it is first needed.

    Args:
        name: For messages to the user and the process list: "decoding", "model".
        memory_limit_bytes: Address space the process may use beyond a bare interpreter. Leave it
            None for anything that uses a GPU, whose driver reserves far more than it uses.
        env: Environment variables of the process; by default numerical libraries use one thread.
        allowed: Prefixes of the modules whose functions may be called.
        preload: Modules to import when the process starts.
        nice: How much less urgent than the app it is, 0 to 19.
        quiet: Drop what libraries print; for codecs, which complain about files they then decode.

    Example:
        >>> worker = Worker("decoding")
        >>> worker.call("app.imaging.reading.image_entries:attributes_entry", {"path": "/x.dcm"},
        ...             timeout_s=30)
    """

    def __init__(
        self,
        name: str,
        *,
        memory_limit_bytes: int | None = None,
        env: Mapping[str, str] | None = None,
        allowed: tuple[str, ...] = ("app.",),
        preload: tuple[str, ...] = (),
        nice: int = 5,
        quiet: bool = False,
    ) -> None:
        self.name = name
        self._allowed = allowed
        self._settings: dict[str, Any] = {
            "allowed": allowed,
            "env": dict(_SINGLE_THREAD if env is None else {**_SINGLE_THREAD, **env}),
            "preload": preload,
            "memory_limit_bytes": memory_limit_bytes,
            "nice": nice,
            "quiet": quiet,
        }
        self._turn = threading.Lock()
        self._numbers = itertools.count()
        self._process: _Process | None = None
        self._closed = False

    @property
    def pid(self) -> int | None:
        """Process id while one runs."""
        process = self._process
        return process.pid if process is not None and process.alive else None

    def warm(self) -> None:
        """Start the process now, without waiting until it is ready."""
        with self._turn:
            self._running()

    def start(self) -> None:
        """Start the process if none runs, and wait until it is ready.

        Raises:
            WorkerDied: It does not start.
            Cancelled: The worker was closed.
        """
        self._take_turn(None)
        try:
            self._running().ready(None)
        except _Lost as lost:
            raise self._died(lost, "") from None
        finally:
            self._turn.release()

    def call(
        self,
        entry: str,
        payload: Mapping[str, Any],
        *,
        timeout_s: float,
        cancel: CancelLike | None = None,
        progress: Progress | None = None,
        grace_s: float = 0.3,
        retry: bool = False,
    ) -> dict[str, Any]:
        """Call a function there and wait; calls from several threads take turns.

        Args:
            entry: "module:function", below an allowed prefix. It is called as `function(payload)`,
                or `function(payload, progress)` if it takes two parameters.
            payload: JSON values and arrays.
            timeout_s: Limit from the moment it is this call's turn, the process's start excluded.
            cancel: Ends the call early.
            progress: Called on the calling thread with a fraction 0..1 and a text.
            grace_s: How long a cancelled function may take to stop by itself (it stops at its next
                `progress`) and so save what the process has loaded, before the process is killed.
            retry: Whether a call in which the process ends by itself is made once more in a fresh
                one, unless it was fresh: it may have been ended from outside, or be the victim of
                what an earlier call did to its memory.

        Returns:
            The function's result, a mapping of JSON values and arrays.

        Raises:
            Cancelled: `cancel` was set, or the worker was closed.
            WorkerDied: It crashed, took too long or ran out of memory. The next call finds a new
                process.
            SightlineError: What the function raised: our own errors by their type, with subject,
                reason and remedy; of any other the traceback is in `detail`.
            ValueError: `entry` is not allowed.
        """
        if not is_allowed(entry, self._allowed):
            raise ValueError(f"{entry} may not be called in a worker")
        self._take_turn(cancel)
        call = _Call(next(self._numbers), timeout_s, cancel, progress, grace_s)
        try:
            try:
                return self._attempt(call, entry, payload)
            except _Lost as lost:
                if not retry or not lost.by_itself or self._closed or call.cancelled:
                    raise
                return self._attempt(call, entry, payload)
        except _Lost as lost:
            raise self._died(lost, entry) from None
        finally:
            if self._process is not None and not self._process.alive:
                self._stop()
            self._turn.release()

    def _attempt(self, call: _Call, entry: str, payload: Mapping[str, Any]) -> dict[str, Any]:
        process = self._running()
        process.ready(call)
        return process.call(call, entry, payload)

    def _died(self, lost: _Lost, entry: str) -> Exception:
        if self._closed or lost.cancelled:
            return Cancelled()
        return WorkerDied(f"the {self.name} process {lost}", detail=entry)

    def close(self) -> None:
        """End the process, and with it a call that runs. Idempotent."""
        self._closed = True
        process = self._process
        if process is not None:
            process.kill()
        if self._turn.acquire(timeout=1.0):
            self._stop()
            self._turn.release()

    def _take_turn(self, cancel: CancelLike | None) -> None:
        while not self._turn.acquire(timeout=_POLL_S):
            if self._closed or (cancel is not None and cancel.cancelled):
                raise Cancelled
        if self._closed or (cancel is not None and cancel.cancelled):
            self._turn.release()
            raise Cancelled

    def _running(self) -> _Process:
        if self._process is None or not self._process.alive:
            self._stop()
            prefix = f"sl{secrets.token_hex(5)}"
            self._process = _Process(self.name, WorkerConfig(prefix=prefix, **self._settings))
            if self._closed:
                self._process.kill()
        return self._process

    def _stop(self) -> None:
        if self._process is not None:
            self._process.dispose()
            self._process = None


@dataclass(frozen=True, slots=True)
class _Call:
    """One call's number, limits and listeners."""

    number: int
    timeout_s: float
    cancel: CancelLike | None
    progress: Progress | None
    grace_s: float

    @property
    def cancelled(self) -> bool:
        return self.cancel is not None and self.cancel.cancelled


class _Lost(Exception):
    """The process is gone; says how in words that follow its name.

    Attributes:
        cancelled: Whether it was to be stopped.
        by_itself: Whether a process that had served calls before went without our doing.
    """

    def __init__(self, how: str, *, cancelled: bool = False, by_itself: bool = False) -> None:
        super().__init__(how)
        self.cancelled = cancelled
        self.by_itself = by_itself


class _Process:
    """A started process and its pipe."""

    def __init__(self, name: str, config: WorkerConfig) -> None:
        context = multiprocessing.get_context("spawn")
        self._prefix = config.prefix
        self._pipe: Connection
        self._pipe, theirs = context.Pipe()
        segments.give_up_on_stalled_peers(self._pipe, STALL_S)
        self._poller = None
        if sys.platform != "win32":
            self._poller = select.poll()
            self._poller.register(self._pipe.fileno(), select.POLLIN)
        self._process: SpawnProcess = context.Process(
            target=run, args=(theirs, config), name=f"sightline-{name}", daemon=True
        )
        self._segments: list[SharedMemory] = []
        self._ready = False
        self._calls = 0
        self._killed = False
        self._process.start()
        # Without our copy of its end, the pipe reports the process's death.
        theirs.close()

    @property
    def pid(self) -> int | None:
        return self._process.pid

    @property
    def alive(self) -> bool:
        return not self._killed and self._process.is_alive()

    def ready(self, call: _Call | None) -> None:
        """Wait until it serves calls; a cancel ends the wait and lets it go on starting."""
        deadline = time.monotonic() + START_TIMEOUT_S
        while not self._ready:
            if call is not None and call.cancelled:
                raise Cancelled
            if time.monotonic() > deadline:
                self.kill()
                raise _Lost(f"did not start within {START_TIMEOUT_S:g} s")
            if self._receive(_POLL_S) is not None:
                self._ready = True

    def call(self, call: _Call, entry: str, payload: Mapping[str, Any]) -> dict[str, Any]:
        """Send the call and follow it to its end."""
        request: dict[str, Any] = {"kind": "call", "id": call.number, "entry": entry}
        request |= {"payload": payload, "timeout_s": call.timeout_s}
        deadline = time.monotonic() + call.timeout_s
        try:
            self._segments.extend(wire.send(self._pipe, request, f"{self._prefix}p"))
        except OSError:
            raise self._lost() from None
        try:
            answer = self._follow(deadline, call)
        except BaseException:
            # Whatever interrupted us (Ctrl+C, the listener): the function still runs there.
            self.kill()
            raise
        finally:
            segments.release(self._segments)
        return self._outcome(answer, call)

    def _follow(self, deadline: float, call: _Call) -> dict[str, Any]:
        """Pass progress on until the call's answer comes."""
        while True:
            message = self._next(deadline, call)
            if message["kind"] != "progress":
                return message
            if call.progress is not None:
                call.progress(message["fraction"], message["text"])

    def _outcome(self, message: dict[str, Any], call: _Call) -> dict[str, Any]:
        self._calls += 1
        if message["kind"] == "result":
            if not segments.ANONYMOUS:
                with suppress(OSError):
                    wire.send(self._pipe, {"kind": "received"}, "")
            if call.cancelled:
                raise Cancelled
            return message["value"]
        if message.get("spent"):
            self.kill()
        raise _rebuild(message)

    def _next(self, deadline: float, call: _Call) -> dict[str, Any]:
        """The call's next message; gives up on time-out and cancel."""
        asked_to_stop = False
        while True:
            if call.cancelled and not asked_to_stop:
                asked_to_stop = True
                deadline = min(deadline, time.monotonic() + call.grace_s)
                with suppress(OSError):
                    wire.send(self._pipe, {"kind": "cancel", "id": call.number}, "")
            if time.monotonic() >= deadline:
                self.kill()
                how = f"took too long ({call.timeout_s:g} s) and was stopped"
                raise _Lost(how, cancelled=asked_to_stop)
            message = self._receive(_POLL_S, cancelled=asked_to_stop)
            if message is not None and message.get("id") == call.number:
                return message

    def _receive(self, timeout_s: float, *, cancelled: bool = False) -> dict[str, Any] | None:
        """A message, or None when none comes in time."""
        try:
            return wire.receive(self._pipe) if self._readable(timeout_s) else None
        except (EOFError, OSError):
            raise self._lost(cancelled=cancelled) from None
        except wire.WireError as error:
            self.kill()
            raise _Lost(f"sent a broken answer ({error})") from None

    def _readable(self, timeout_s: float) -> bool:
        """Whether something comes in time; `Connection.poll` makes a selector each time."""
        if self._poller is None:
            return self._pipe.poll(timeout_s)
        return bool(self._poller.poll(timeout_s * 1000))

    def _lost(self, *, cancelled: bool = False) -> _Lost:
        self._process.join(timeout=1.0)
        code = self._process.exitcode
        by_itself = self._calls > 0 and not self._killed and not cancelled
        self.kill()
        return _Lost(_death(code), cancelled=cancelled, by_itself=by_itself)

    def kill(self) -> None:
        """End it at once; safe from any thread."""
        self._killed = True
        with suppress(OSError, ValueError):
            self._process.kill()

    def dispose(self) -> None:
        """End it and remove all it held. Not while a call runs."""
        self.kill()
        self._process.join(timeout=0.5)
        self._pipe.close()
        segments.release(self._segments)
        segments.discard(f"{self._prefix}p")
        segments.discard(f"{self._prefix}c")
        # Refused while it still runs (it sleeps in a driver): then it is left to the system.
        with suppress(ValueError):
            self._process.close()


def _death(code: int | None) -> str:
    """How a process ended, in plain words after its name."""
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
    """The exception that an error message describes: only our own types come back as such."""
    name = str(message.get("type", ""))
    if name == Cancelled.__name__:
        return Cancelled()
    texts = {key: str(message.get(key, "")) for key in ("reason", "subject", "remedy", "detail")}
    kind = {cls.__name__: cls for cls in _own_errors(SightlineError)}.get(name)
    if kind is not None:
        return kind(texts.pop("reason"), **texts)
    return SightlineError(f"an unexpected error ({name})", detail=texts["detail"])


def _own_errors(base: type[SightlineError]) -> list[type[SightlineError]]:
    return [base, *(cls for sub in base.__subclasses__() for cls in _own_errors(sub))]
