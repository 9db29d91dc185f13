"""Worker processes, which run all code that may crash, hang, leak or block.

Codecs written in C abort and hang on broken files, and models take seconds and gigabytes, so
neither runs in the app's process. A `Worker` is one spawned process that calls functions by name;
it is killed and replaced after a crash, a time-out or a cancel. `worker_pool` shares several.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Any

from app.errors import Cancelled, WorkerDied
from app.imaging.processes.confinement import can_confine
from app.imaging.processes.worker_main import WorkerConfig
from app.imaging.processes.worker_process import (
    POLL_S,
    Call,
    CancelLike,
    Process,
    ProcessLostError,
    Progress,
)

__all__ = ["CancelLike", "Progress", "Worker"]

_SINGLE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


class Worker:
    """A worker process, started on first use.

    The name ("decoding", "model") appears in error messages. The other arguments are the fields of
    `WorkerConfig`; by default, numerical libraries use one thread. Anything that uses a GPU must
    have no memory limit, since its driver reserves far more than it uses.

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
        preload: tuple[str, ...] = (),
        nice: int = 5,
        quiet: bool = False,
        confined: bool = False,
    ) -> None:
        self.name = name
        variables = _SINGLE_THREAD | dict(env or {})
        self._config = WorkerConfig(
            variables, preload, memory_limit_bytes, nice, quiet, confined and can_confine()
        )
        self._turn = threading.Lock()
        self._numbers = itertools.count()
        self._process: Process | None = None
        self._closed = False

    @property
    def pid(self) -> int | None:
        """Id of the process; None if none is running."""
        process = self._process
        return process.pid if process is not None and process.alive else None

    def warm(self) -> None:
        """Start the process, without waiting until it is ready."""
        with self._turn:
            self._running()

    def start(self) -> None:
        """Start the process if none is running, and wait until it is ready.

        Raises:
            WorkerDied: The process does not start.
            Cancelled: The worker was closed.
        """
        with self._turn_of(None):
            try:
                self._running().ready(None)
            except ProcessLostError as lost:
                raise self._died(lost, "") from None

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
        """Call a function in the process and wait; calls from several threads take turns.

        Args:
            entry: "module:function", called as `function(payload)`, or as `function(payload,
                progress)` if it takes two parameters.
            payload: JSON values and arrays.
            timeout_s: Limit in seconds, without the waits for other calls and the process's start.
            cancel: Token that ends the call early.
            progress: Called on the calling thread with a fraction 0..1 and a text.
            grace_s: Seconds after a cancel in which the function may stop by itself at its next
                `progress`, so that the process keeps its loaded models. Then the process is killed.
            retry: Whether to repeat the call once if the process ends by itself: it may have been
                killed from outside, or an earlier call may have damaged its memory. A process that
                was started for this very call does not get a second try.

        Returns:
            The function's result, a mapping of JSON values and arrays.

        Raises:
            Cancelled: `cancel` was set, or the worker was closed.
            WorkerDied: The process crashed, took too long or ran out of memory.
            SightlineError: The function raised an error. The app's own error types keep subject,
                reason and remedy; for other errors, `detail` holds the traceback.
        """
        with self._turn_of(cancel):
            call = Call(next(self._numbers), timeout_s, cancel, progress, grace_s)
            ran_before = self._process is not None and self._process.alive
            try:
                try:
                    return self._attempt(call, entry, payload)
                except ProcessLostError as lost:
                    again = retry and ran_before and lost.by_itself
                    if not again or self._closed or call.cancelled:
                        raise
                    return self._attempt(call, entry, payload)
            except ProcessLostError as lost:
                raise self._died(lost, entry) from None
            finally:
                if self._process is not None and not self._process.alive:
                    self._stop()

    def _attempt(self, call: Call, entry: str, payload: Mapping[str, Any]) -> dict[str, Any]:
        process = self._running()
        process.ready(call)
        return process.call(call, entry, payload)

    def _died(self, lost: ProcessLostError, entry: str) -> Exception:
        if self._closed or lost.cancelled:
            return Cancelled()
        return WorkerDied(f"the {self.name} process {lost}", detail=entry)

    def end(self) -> None:
        """End the process once no call is running, to free memory; raise Cancelled if closed."""
        with self._turn_of(None):
            self._stop()

    def close(self) -> None:
        """End the process, even if a call is running. May be called more than once."""
        self._closed = True
        process = self._process
        if process is not None:
            process.kill()
        if self._turn.acquire(timeout=1.0):
            self._stop()
            self._turn.release()

    @contextmanager
    def _turn_of(self, cancel: CancelLike | None) -> Generator[None]:
        taken = False
        try:
            while not taken:
                taken = self._turn.acquire(timeout=POLL_S)
                if self._closed or (cancel is not None and cancel.cancelled):
                    raise Cancelled
            yield
        finally:
            if taken:
                self._turn.release()

    def _running(self) -> Process:
        if self._process is None or not self._process.alive:
            self._stop()
            self._process = Process(self.name, self._config)
            if self._closed:
                self._process.kill()
        return self._process

    def _stop(self) -> None:
        if self._process is not None:
            self._process.dispose()
            self._process = None
