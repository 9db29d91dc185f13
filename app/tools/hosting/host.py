"""The model host: runs functions that need torch in worker processes, one for each device.

A process starts with the first call and keeps its models loaded for later calls. Calls on one
device take turns. The process is ended if a function does not react to a cancel or exceeds its
time limit, and after `idle_s` seconds without work. If it crashes, the viewer goes on. The process
itself decides which models stay loaded (`model_process.serving`).
"""

from __future__ import annotations

import os
import platform
import re
import sys
import threading
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from app import paths
from app.errors import Cancelled, SightlineError, WorkerDied
from app.imaging.processes.workers import Worker
from app.log import get_logger
from app.tools.api import CancelToken, Progress, ToolFailed, ToolRetry
from app.tools.hosting import protocol
from app.tools.hosting.protocol import OutOfMemory, ProcessorOutOfMemory
from app.tools.hosting.states import (
    Durations,
    Estimate,
    Listener,
    ModelState,
    State,
    StateBoard,
    in_words,
)
from app.tools.models.cards import card
from app.tools.needs import AI_PACKAGES, missing_package

_DRIVERS = ("/dev/nvidiactl", "/dev/nvidia0", "/dev/dxg", "/dev/kfd")
"""Device files of NVIDIA, of the Windows Subsystem for Linux, and of AMD."""


@cache
def likely_device() -> str:
    """Return the device that torch will probably find ("cuda", "mps" or "cpu"); torch isn't loaded.

    The result only decides which process runs a call; there, torch chooses the device itself.
    """
    if sys.platform == "darwin":
        return "mps" if platform.machine() == "arm64" else "cpu"
    # Users hide their GPUs from torch by this variable.
    if os.environ.get("CUDA_VISIBLE_DEVICES", "0") in ("", "-1"):
        return "cpu"
    if sys.platform == "win32":
        system = Path(os.environ.get("SYSTEMROOT", "C:/Windows")) / "System32"
        return "cuda" if (system / "nvcuda.dll").exists() else "cpu"
    return "cuda" if any(Path(driver).exists() for driver in _DRIVERS) else "cpu"


def device_name(wanted: str) -> str:
    """Return the name of the device to run on: `wanted`, or `likely_device()` for "auto" or ""."""
    return likely_device() if wanted in ("", "auto") else wanted


_POLL_S = 0.05


class DeviceQueue:
    """Runs calls in one device's worker process, one at a time in the order of their arrival.

    The `ended` function is called after the process was ended because it was idle.
    """

    def __init__(self, name: str, worker: Worker, ended: Callable[[], None]) -> None:
        self.name = name
        self.worker = worker
        self._ended = ended
        self._turns = threading.Condition()
        self._calls: dict[object, str] = {}  # titles, in the order of arrival
        self._closed = False
        self._used = time.monotonic()
        self._idle_s: float | None = None
        self._timer: threading.Timer | None = None

    @contextmanager
    def turn(
        self, title: str, cancel: CancelToken, waiting: Callable[[str], None] | None = None
    ) -> Generator[None]:
        """Wait until the call is first in the queue; in the `with` block, no other call runs.

        `title` is that of this call, shown to calls that wait for it. While this call waits,
        `waiting` is called with the title of the call that is first in the queue.

        Raises:
            Cancelled: `cancel` was set, or the queue was closed.
        """
        ticket = object()
        with self._turns:
            self._calls[ticket] = title
        try:
            self._wait(ticket, cancel, waiting)
            yield
        finally:
            self._used = time.monotonic()
            self._leave(ticket)

    def _leave(self, ticket: object) -> None:
        with self._turns:
            del self._calls[ticket]
            self._turns.notify_all()

    def _wait(
        self, ticket: object, cancel: CancelToken, waiting: Callable[[str], None] | None
    ) -> None:
        said = ""
        while True:
            with self._turns:
                if self._closed or cancel.cancelled:
                    raise Cancelled
                first, title = next(iter(self._calls.items()))
                if first is ticket:
                    return
                if said == title:
                    self._turns.wait(_POLL_S)
                    continue
            said = title
            if waiting is not None:
                waiting(title)

    @property
    def busy(self) -> bool:
        """True if a call is running or waiting."""
        with self._turns:
            return bool(self._calls)

    def end_when_idle(self, idle_s: float | None) -> None:
        """Set the idle time in seconds after which the process is ended; None to never end it."""
        with self._turns:
            known, self._idle_s = self._idle_s, idle_s
            if self._timer is not None and idle_s == known:
                return  # the timer is set for it
            self._arm(idle_s)

    def _arm(self, seconds: float | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if seconds is not None and not self._closed:
            self._timer = threading.Timer(max(seconds, 0.01), self._end_if_idle)
            self._timer.daemon = True
            self._timer.start()

    def _end_if_idle(self) -> None:
        """End the process if it has been idle for long enough; else set the timer again."""
        with self._turns:
            self._timer = None
            if self._idle_s is None or self._closed:
                return
            left = self._idle_s - (time.monotonic() - self._used)
            if self._calls or left > 0:
                self._arm(self._idle_s if self._calls else left)
                return
            ticket = object()
            self._calls[ticket] = "another model"
        try:
            with suppress(Cancelled):  # the queue was closed meanwhile
                self.worker.end()
            self._ended()
        finally:
            self._leave(ticket)

    def close(self) -> None:
        """End the process for good, even during a call; waiting calls raise `Cancelled`."""
        with self._turns:
            self._closed = True
            self._arm(None)
            self._turns.notify_all()
        self.worker.close()


@dataclass(frozen=True, slots=True)
class Job:
    """A call of a function in the model process; its fields are as in `ProcessHost.call`."""

    entry: str
    payload: Mapping[str, Any]
    cancel: CancelToken
    timeout_s: float
    progress: Progress | None

    @property
    def model(self) -> str:
        """Card name of the model in the payload; "" if it names none."""
        source: Any = self.payload.get("model")
        return str(source.get("name", "")) if isinstance(source, Mapping) else ""

    @property
    def title(self) -> str:
        """The title of the call's model, which is shown to calls that wait for this one."""
        try:
            return card(self.model).title
        except (KeyError, ValueError, OSError):
            return "another model"

    def waiting(self, title: str) -> None:
        """Tell the user, as progress, that this call waits for the call with this title."""
        if self.progress is not None:
            self.progress(0.0, f"Waiting for {title}")


class CallTracker:
    """Follows one call and reports its progress, its model's state and its remaining time.

    `device` is the device whose process runs the call; `model` is "" if the call uses no model.
    """

    def __init__(
        self,
        board: StateBoard,
        device: str,
        model: str = "",
        progress: Progress | None = None,
        durations: Durations | None = None,
    ) -> None:
        self._board = board
        self._device = device
        self._model = model
        self._report = progress
        self._durations = durations
        self._key = ""
        self._estimate = Estimate(None)

    def begin(self, entry: str) -> None:
        """Record that the call of `entry` ("module:function") has left the queue and starts."""
        known = self._known()
        if known is not None and known.state is State.READY:
            start, state = "warm", replace(known, state=State.BUSY, fraction=0.0, why="")
        else:
            start, state = "cold", ModelState(self._model, State.LOADING)
        self._key = "|".join((entry, self._model, self._device, start))
        usual = self._durations.median(self._key) if self._durations is not None else None
        self._estimate = Estimate(usual)
        if self._model:
            self._board.set(self._device, state)

    def progress(self, fraction: float, text: str) -> None:
        """Tell the user of a call's progress; if `text` is an event (see `protocol`), handle it."""
        event = protocol.parse_event(text)
        if event is not None:
            self._event(event)
            return
        left = self._estimate.left(fraction)
        if self._model:
            self._board.progress(self._device, self._model, fraction, text, left)
        if self._report is not None:
            self._report(fraction, text if left is None else f"{text} ({in_words(left)})")

    def _event(self, event: Mapping[str, Any]) -> None:
        kind = event.get("kind")
        if kind == protocol.LOADED:
            self._board.set_loaded(self._device, event.get("models", ()))
        elif self._model and kind in (protocol.WORKING, protocol.LOADING):
            now = State.BUSY if kind == protocol.WORKING else State.LOADING
            if now is State.BUSY:
                self._estimate.start_work()
            state = self._known() or ModelState(self._model, now)
            self._board.set(self._device, replace(state, state=now))

    def done(self) -> None:
        """Record that the call has returned: store its duration and set its model to ready."""
        if self._durations is not None and self._key:
            self._durations.add(self._key, self._estimate.elapsed)
        self._rest()

    def failed(self, error: BaseException, *, alive: bool) -> None:
        """Update the model's state after an error; `alive` is False if the process has ended."""
        known = self._known()
        if not alive:
            self._board.clear_device(self._device)
        loading = known is not None and known.state is State.LOADING
        to_blame = self._model and (loading or isinstance(error, WorkerDied | protocol.OutOfMemory))
        if isinstance(error, SightlineError) and to_blame:
            why = error.reason
            self._board.set(self._device, ModelState(self._model, State.FAILED, why=why))
        elif alive:
            self._rest(lost=loading and isinstance(error, Cancelled))

    def _known(self) -> ModelState | None:
        return self._board.get(self._device, self._model) if self._model else None

    def _rest(self, *, lost: bool = False) -> None:
        known = self._known()
        if known is None:
            return
        if lost or not known.device:
            self._board.remove(self._device, self._model)
        else:
            done = replace(known, state=State.READY, doing="", fraction=0.0, left_s=None)
            self._board.set(self._device, done)


_CUDA_LIBRARIES = "app.tools.model_process.cuda_libraries"
"""Module that a process imports first."""
IDLE_S = 600.0
"""Seconds without work after which a process is ended to free its memory."""

_log = get_logger(__name__)
_GRACE_S = 0.5
"""Seconds in which a cancelled call may stop by itself, so that its model stays loaded; ending a
process takes a part of the second within which a cancel must take effect."""
_UNLOAD_S = 30.0
_NO_MODULE = re.compile(r"ModuleNotFoundError: No module named '([\w.]+)'")
_OUT_OF_MEMORY = re.compile(r"OutOfMemoryError|out of memory|can't allocate memory", re.IGNORECASE)
# After these errors no CUDA call succeeds any more in the same process.
_BROKEN_DEVICE = re.compile(r"CUDA error|device-side assert|CUBLAS_STATUS|cuDNN error|HIP error")
_ON_THE_PROCESSOR = "the accelerator's memory is too small: it ran on the processor, more slowly"


def default_threads() -> int:
    """Return the number of threads for torch: all cores except one, which the window keeps."""
    return max(1, (os.cpu_count() or 2) - 1)


class ProcessHost:
    """Runs functions in one worker process per device; implements `app.tools.api.ModelHost`.

    Args:
        idle_s: Seconds without a call after which a process is ended; None to never end it.
    """

    def __init__(self, *, idle_s: float | None = IDLE_S) -> None:
        count = str(default_threads())
        # These are read when the libraries are loaded, so they cannot be set later.
        self._env = {
            "OMP_NUM_THREADS": count,
            "MKL_NUM_THREADS": count,
            "OPENBLAS_NUM_THREADS": count,
            # Nothing is fetched at run time: weights come by `models get` or `models install`.
            "HF_HUB_OFFLINE": "1",
            "TRANSFORMERS_OFFLINE": "1",
            "HF_HUB_DISABLE_TELEMETRY": "1",
            # Models that other programs downloaded are not used either: their digests are unknown.
            "HF_HUB_CACHE": str(paths.cache_dir() / "no-hub"),
        }
        self._idle_s = idle_s
        self._durations = Durations(lambda: paths.cache_dir() / "durations.json")
        self._board = StateBoard()
        self._queues: dict[str, DeviceQueue] = {}
        self._lock = threading.Lock()
        self._closed = False

    def call(
        self,
        entry: str,
        payload: Mapping[str, Any],
        *,
        cancel: CancelToken,
        timeout_s: float,
        progress: Progress | None = None,
    ) -> dict[str, Any]:
        """Call `entry` ("module:function") in the process of `payload["device"]` (default "auto").

        If an accelerator has too little memory, the call is repeated on the CPU, and the result's
        "notes" say so.

        Raises:
            Cancelled: `cancel` was set, or the host was closed.
            ToolFailed: The function raised an error or took too long, its process died, or a
                package is missing.
            ToolRetry: The function reported that its arguments are wrong.
        """
        device = device_name(str(payload.get("device") or "auto"))
        job = Job(entry, payload, cancel, timeout_s, progress)
        try:
            return self._run(device, job)
        except SightlineError as error:
            if isinstance(error, ToolFailed | ToolRetry) and not isinstance(error, OutOfMemory):
                raise
            here = device == "cpu" or isinstance(error, ProcessorOutOfMemory)
            if here or not (isinstance(error, OutOfMemory) or _OUT_OF_MEMORY.search(error.detail)):
                raise _failed(error, timeout_s) from error
        if progress is not None:
            progress(0.0, "The accelerator's memory is full: trying again on the processor")
        job = replace(job, payload={**payload, "device": "cpu"})
        try:
            answer = self._run("cpu", job)
        except (ToolFailed, ToolRetry):
            raise
        except SightlineError as error:
            raise _failed(error, timeout_s) from error
        self._board.forget(job.model)  # it ran, though on another device
        return {**answer, "notes": [_ON_THE_PROCESSOR, *answer.get("notes", ())]}

    def states(self) -> dict[str, ModelState]:
        """Return the state of each model that is loaded, waited for or has failed, by card name."""
        for queue in self._open_queues():
            if not queue.busy and queue.worker.pid is None:
                self._board.clear_device(queue.name)  # it was ended from outside while it was idle
        return self._board.states()

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Call `listener(state)` on each change, from any thread; return a function to stop it."""
        return self._board.subscribe(listener)

    def unload(self, model: str | None = None) -> None:
        """Unload a model, or all if None, after the calls that are running or waiting have ended.

        A process that has no other model loaded is ended, the only sure way to free its memory.
        """
        for queue in self._open_queues():
            if model is not None and model not in self._board.models(queue.name):
                continue
            with queue.turn("unloading a model", CancelToken()):
                here = self._board.models(queue.name)  # as the earlier calls left it
                if model is not None and model not in here:
                    continue
                if model is None or here == {model}:
                    queue.worker.end()
                    self._board.clear_device(queue.name)
                    continue
                tracker = CallTracker(self._board, queue.name)
                try:
                    queue.worker.call(
                        "app.tools.model_process.serving:unload",
                        {"model": model},
                        timeout_s=_UNLOAD_S,
                        progress=tracker.progress,
                    )
                except WorkerDied:
                    self._board.clear_device(queue.name)  # and the model with it

    def forget(self, model: str) -> None:
        """Remove a model's "failed" state, since its files have changed and it may now work."""
        self._board.forget(model)

    def end_when_idle(self, idle_s: float | None) -> None:
        """End each process after `idle_s` seconds without work; None to never end any."""
        self._idle_s = idle_s
        for queue in self._open_queues():
            queue.end_when_idle(idle_s)

    @property
    def pids(self) -> dict[str, int]:
        """The ids of the running processes, by device."""
        found = {queue.name: queue.worker.pid for queue in self._open_queues()}
        return {device: pid for device, pid in found.items() if pid is not None}

    def close(self) -> None:
        """End all processes and the calls running in them. Further calls of `close` do nothing."""
        with self._lock:
            self._closed = True
            queues = list(self._queues.values())
        for queue in queues:
            queue.close()
            self._board.clear_device(queue.name)

    def _run(self, name: str, job: Job) -> dict[str, Any]:
        queue = self._queue(name)
        try:
            with ExitStack() as turn:
                with self._board.waiting(job.model):
                    turn.enter_context(queue.turn(job.title, job.cancel, job.waiting))
                return self._make(queue, job)
        finally:
            queue.end_when_idle(self._idle_s)

    def _make(self, queue: DeviceQueue, job: Job) -> dict[str, Any]:
        tracker = CallTracker(self._board, queue.name, job.model, job.progress, self._durations)
        before = queue.worker.pid
        if before is None:
            self._board.clear_device(queue.name)
        tracker.begin(job.entry)
        try:
            answer = queue.worker.call(
                job.entry,
                job.payload,
                timeout_s=job.timeout_s,
                cancel=job.cancel,
                progress=tracker.progress,
                grace_s=_GRACE_S,
                retry=True,
            )
        except BaseException as error:
            if isinstance(error, SightlineError) and _BROKEN_DEVICE.search(error.detail):
                queue.worker.end()  # nothing works in a process that has lost its device
            tracker.failed(error, alive=queue.worker.pid is not None)
            raise
        tracker.done()
        if before is not None and queue.worker.pid != before:
            restarted = "the model process had ended by itself and was started again"
            answer = {**answer, "notes": [*answer.get("notes", ()), restarted]}
        return answer

    def _queue(self, name: str) -> DeviceQueue:
        with self._lock:
            queue = self._queues.get(name)
            if queue is None:
                worker = Worker("model", env=self._env, preload=(_CUDA_LIBRARIES,))
                queue = DeviceQueue(name, worker, lambda: self._board.clear_device(name))
                if self._closed:
                    queue.close()
                self._queues[name] = queue
            return queue

    def _open_queues(self) -> list[DeviceQueue]:
        with self._lock:
            return list(self._queues.values())


def _failed(error: SightlineError, timeout_s: float) -> ToolFailed:
    missing = _NO_MODULE.search(error.detail)
    if missing and missing[1].partition(".")[0] in AI_PACKAGES:
        return missing_package("This tool", missing[1].partition(".")[0])
    _log.info("model process: %s\n%s", type(error).__name__, error.detail)
    if isinstance(error, WorkerDied):
        remedy = error.remedy or (
            f"The limit is {timeout_s:g} s: ask again when the computer is less busy."
            if "too long" in error.reason
            else "Ask again: a fresh process is used. If it happens again, close other programs."
        )
    else:
        remedy = error.remedy or "The log has the details; ask again, or report it."
    return ToolFailed(error.reason, subject=error.subject, remedy=remedy, detail=error.detail)
