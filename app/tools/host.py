"""The model host: functions that need torch run in a process of their own, one for each device.

The process starts with the first call and stays warm, so that a model is loaded once. Calls on one
device take turns. The process is ended for a cancel that the function does not heed, for a time-out
and after `idle_s` without work; the viewer survives whatever happens there. What is loaded there,
and what has to go for it, is decided in the process itself (`model_process.serving`).
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from app import paths
from app.errors import SightlineError, WorkerDied
from app.imaging.processes.workers import Worker
from app.log import get_logger
from app.tools.api import CancelToken, ToolFailed, ToolRetry
from app.tools.hosting import devices
from app.tools.hosting.estimates import Durations
from app.tools.hosting.following import Following, Job
from app.tools.hosting.lane import Lane
from app.tools.hosting.protocol import OutOfMemory, ProcessorOutOfMemory
from app.tools.hosting.states import Listener, ModelState, StateBoard
from app.tools.needs import AI_PACKAGES, missing_package

Progress = Callable[[float, str], None]

IDLE_S = 600.0
"""A process without work for so long is ended, which gives its memory back."""

_log = get_logger(__name__)
_GRACE_S = 0.5
"""How long a cancelled model may take to stop by itself, and so stay loaded: stopping must be done
within a second, and ending a process that does not heed it takes a part of that."""
_UNLOAD_S = 30.0
_NO_MODULE = re.compile(r"ModuleNotFoundError: No module named '([\w.]+)'")
_OUT_OF_MEMORY = re.compile(r"OutOfMemoryError|out of memory|can't allocate memory", re.IGNORECASE)
_BROKEN_DEVICE = re.compile(r"CUDA error|device-side assert|CUBLAS_STATUS|cuDNN error|HIP error")
_SECRET = re.compile(r"(?:_|^)(?:KEY|APIKEY|TOKEN|SECRET|PASSWORD)$", re.IGNORECASE)
_ON_THE_PROCESSOR = "the accelerator's memory is too small: it ran on the processor, more slowly"


def default_threads() -> int:
    """Threads for torch: all cores but one, which the window keeps for painting."""
    return max(1, (os.cpu_count() or 2) - 1)


class ProcessHost:
    """Implements `app.tools.api.ModelHost` with worker processes.

    Args:
        threads: Threads of the numerical libraries there; None for `default_threads`.
        idle_s: End a process after so long without a call, to give its memory back; None never.
        allowed: Prefixes of the modules whose functions may be called there.
        durations: What calls took before; None for those of this machine.
    """

    def __init__(
        self,
        *,
        threads: int | None = None,
        idle_s: float | None = IDLE_S,
        allowed: tuple[str, ...] = ("app.",),
        durations: Durations | None = None,
    ) -> None:
        count = str(threads or default_threads())
        self._env = {
            "OMP_NUM_THREADS": count,
            "MKL_NUM_THREADS": count,
            "OPENBLAS_NUM_THREADS": count,
            # Nothing is fetched at run time: weights come by `models get` or `models install`.
            "HF_HUB_OFFLINE": "1",
            "TRANSFORMERS_OFFLINE": "1",
            "HF_HUB_DISABLE_TELEMETRY": "1",
            # Nor is anything taken from what other programs have fetched: nobody has pinned that.
            "HF_HUB_CACHE": str(paths.cache_dir() / "no-hub"),
            # A program that comes with a model has no business with the user's keys.
            **{name: "" for name in os.environ if _SECRET.search(name)},
        }
        self._idle_s = idle_s
        self._allowed = allowed
        self._durations = durations or Durations(lambda: paths.cache_dir() / "durations.json")
        self._board = StateBoard()
        self._lanes: dict[str, Lane] = {}
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

        What does not fit into an accelerator's memory is done once more on the processor; the
        answer's "notes" tell it.

        Raises:
            Cancelled: `cancel` was set, or the host was closed.
            ToolFailed: It raised, took too long or its process died; or a package is missing.
            ToolRetry: The function says that the arguments are wrong.
        """
        lane = devices.lane_of(str(payload.get("device") or "auto"))
        job = Job(entry, payload, cancel, timeout_s, progress)
        try:
            return self._run(lane, job)
        except SightlineError as error:
            if isinstance(error, ToolFailed | ToolRetry) and not isinstance(error, OutOfMemory):
                raise
            here = lane == "cpu" or isinstance(error, ProcessorOutOfMemory)
            if here or not (isinstance(error, OutOfMemory) or _OUT_OF_MEMORY.search(error.detail)):
                raise _failed(error, timeout_s) from error
        if progress is not None:
            progress(0.0, "The accelerator's memory is full: once more on the processor")
        job = replace(job, payload={**payload, "device": "cpu"})
        try:
            answer = self._run("cpu", job)
        except (ToolFailed, ToolRetry):
            raise
        except SightlineError as error:
            raise _failed(error, timeout_s) from error
        self._board.forget(job.model)  # it did run, though not where it was wanted
        return {**answer, "notes": [_ON_THE_PROCESSOR, *answer.get("notes", ())]}

    def states(self) -> dict[str, ModelState]:
        """What models do, by card name; one that is not in it is in no process."""
        for lane in self._open_lanes():
            if not lane.busy and lane.worker.pid is None:
                self._board.gone(lane.name)  # it was ended from outside, while nobody asked it
        return self._board.states()

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Call `listener(state)` with each change, on any thread; returns what ends that."""
        return self._board.subscribe(listener)

    def unload(self, model: str | None = None) -> None:
        """Take a model out of memory, or all; waits for the calls before it. For a thread.

        The process ends with its last model: that alone gives all memory back for certain.
        """
        for lane in self._open_lanes():
            if model is not None and model not in self._board.models(lane.name):
                continue
            with lane.turn("unloading a model", CancelToken()):
                here = self._board.models(lane.name)  # calls that came before have been there
                if model is not None and model not in here:
                    continue
                if model is None or here == {model}:
                    lane.worker.end()
                    self._board.gone(lane.name)
                    continue
                following = Following(self._board, lane.name, None, None, None)
                try:
                    lane.worker.call(
                        "app.tools.model_process.serving:unload",
                        {"model": model},
                        timeout_s=_UNLOAD_S,
                        progress=following.progress,
                    )
                except WorkerDied:
                    self._board.gone(lane.name)  # it is unloaded, if not as it was meant

    def forget(self, model: str) -> None:
        """A model's files were changed: what was told of an earlier failure holds no more."""
        self._board.forget(model)

    def end_when_idle(self, idle_s: float | None) -> None:
        """End processes after so long without work; None never. Holds at once."""
        self._idle_s = idle_s
        for lane in self._open_lanes():
            lane.end_when_idle(idle_s)

    def warm(self, device: str = "auto") -> None:
        """Start a device's process now, without waiting for it."""
        lane = self._lane(devices.lane_of(device))
        if not lane.busy:
            lane.worker.warm()

    @property
    def pids(self) -> dict[str, int]:
        """Process ids by device, of the processes that run."""
        found = {lane.name: lane.worker.pid for lane in self._open_lanes()}
        return {device: pid for device, pid in found.items() if pid is not None}

    def close(self) -> None:
        """End all processes, and with them the calls that run. Idempotent."""
        with self._lock:
            self._closed = True
            lanes = list(self._lanes.values())
        for lane in lanes:
            lane.close()
            self._board.gone(lane.name)

    def _run(self, name: str, job: Job) -> dict[str, Any]:
        lane = self._lane(name)
        if job.model:
            self._board.wait(job.model, 1)
        try:
            with lane.turn(job.title, job.cancel, job.waiting):
                if job.model:
                    self._board.wait(job.model, -1)
                    job = replace(job, model_waits=False)
                return self._follow(lane, job)
        finally:
            if job.model and job.model_waits:
                self._board.wait(job.model, -1)
            lane.end_when_idle(self._idle_s)

    def _follow(self, lane: Lane, job: Job) -> dict[str, Any]:
        """One call, when it is its turn."""
        following = Following(self._board, lane.name, job.model, job.progress, self._durations)
        before = lane.worker.pid
        if before is None:
            self._board.gone(lane.name)
        following.begin(job.entry)
        try:
            answer = lane.worker.call(
                job.entry,
                job.payload,
                timeout_s=job.timeout_s,
                cancel=job.cancel,
                progress=following.progress,
                grace_s=_GRACE_S,
                retry=True,
            )
        except BaseException as error:
            if isinstance(error, SightlineError) and _BROKEN_DEVICE.search(error.detail):
                lane.worker.end()  # nothing works in a process that has lost its device
            following.failed(error, alive=lane.worker.pid is not None)
            raise
        following.done()
        if before is not None and lane.worker.pid != before:
            restarted = "the model process had ended by itself and was started again"
            answer = {**answer, "notes": [*answer.get("notes", ()), restarted]}
        return answer

    def _lane(self, name: str) -> Lane:
        with self._lock:
            lane = self._lanes.get(name)
            if lane is None:
                worker = Worker("model", env=self._env, allowed=self._allowed)
                lane = Lane(name, worker, lambda: self._board.gone(name))
                if self._closed:
                    lane.close()
                self._lanes[name] = lane
            return lane

    def _open_lanes(self) -> list[Lane]:
        with self._lock:
            return list(self._lanes.values())


def _failed(error: SightlineError, timeout_s: float) -> ToolFailed:
    """What the user reads of an error in the model process."""
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
