"""The model host: functions that need torch run in a process of their own, one for each device.

The process starts with the first call and stays warm, so that a model is loaded once. It is killed
for a cancel that the function does not heed, for a time-out and after `idle_s` without work; the
viewer survives whatever happens there.
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from app.errors import SightlineError, WorkerDied
from app.imaging.processes.workers import Worker
from app.log import get_logger
from app.tools.api import CancelToken, ToolFailed, ToolRetry
from app.tools.needs import AI_PACKAGES, missing_package

Progress = Callable[[float, str], None]

_log = get_logger(__name__)
_NO_MODULE = re.compile(r"ModuleNotFoundError: No module named '([\w.]+)'")
_OUT_OF_MEMORY = re.compile(r"OutOfMemoryError|out of memory|can't allocate memory", re.IGNORECASE)


def default_threads() -> int:
    """Threads for torch: all cores but one, which the window keeps for painting."""
    return max(1, (os.cpu_count() or 2) - 1)


@dataclass(slots=True)
class _Slot:
    """The process of one device, and how many calls use or wait for it."""

    worker: Worker
    users: int = 0
    idle: threading.Timer | None = field(default=None)


class ProcessHost:
    """Implements `app.tools.api.ModelHost` with worker processes.

    Args:
        threads: Threads of the numerical libraries there; None for `default_threads`.
        idle_s: End a process after so long without a call, to give its memory back; None never.
        allowed: Prefixes of the modules whose functions may be called there.
    """

    def __init__(
        self,
        *,
        threads: int | None = None,
        idle_s: float | None = None,
        allowed: tuple[str, ...] = ("app.",),
    ) -> None:
        count = str(threads or default_threads())
        self._env = {
            "OMP_NUM_THREADS": count,
            "MKL_NUM_THREADS": count,
            "OPENBLAS_NUM_THREADS": count,
            # Nothing is fetched at run time: weights come by `models get` or `models install`.
            "HF_HUB_OFFLINE": "1",
            "TRANSFORMERS_OFFLINE": "1",
        }
        self._idle_s = idle_s
        self._allowed = allowed
        self._slots: dict[str, _Slot] = {}
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

        Out of memory on an accelerator is tried once more on the CPU.

        Raises:
            Cancelled: `cancel` was set, or the host was closed.
            ToolFailed: It raised, took too long or its process died; or a package is missing.
            ToolRetry: The function says that the arguments are wrong.
        """
        device = str(payload.get("device") or "auto")
        try:
            return self._run(device, entry, payload, cancel, timeout_s, progress)
        except (ToolFailed, ToolRetry):
            raise
        except SightlineError as error:
            if device == "cpu" or not _OUT_OF_MEMORY.search(error.detail):
                raise _failed(error, timeout_s) from error
        if progress is not None:
            progress(0.0, "The accelerator's memory is full: once more on the processor")
        try:
            cpu = {**payload, "device": "cpu"}
            return self._run("cpu", entry, cpu, cancel, timeout_s, progress)
        except (ToolFailed, ToolRetry):
            raise
        except SightlineError as error:
            raise _failed(error, timeout_s) from error

    def warm(self, device: str = "auto") -> None:
        """Start a device's process now, without waiting for it."""
        slot = self._enter(device)
        try:
            slot.worker.warm()
        finally:
            self._leave(device, slot)

    @property
    def pids(self) -> dict[str, int]:
        """Process ids by device, of the processes that run."""
        with self._lock:
            found = {device: slot.worker.pid for device, slot in self._slots.items()}
        return {device: pid for device, pid in found.items() if pid is not None}

    def close(self) -> None:
        """End all processes, and with them the calls that run. Idempotent."""
        with self._lock:
            self._closed = True
            slots, self._slots = list(self._slots.values()), {}
        for slot in slots:
            if slot.idle is not None:
                slot.idle.cancel()
            slot.worker.close()

    def _run(
        self,
        device: str,
        entry: str,
        payload: Mapping[str, Any],
        cancel: CancelToken,
        timeout_s: float,
        progress: Progress | None,
    ) -> dict[str, Any]:
        slot = self._enter(device)
        try:
            return slot.worker.call(
                entry, payload, timeout_s=timeout_s, cancel=cancel, progress=progress
            )
        finally:
            self._leave(device, slot)

    def _enter(self, device: str) -> _Slot:
        with self._lock:
            slot = self._slots.get(device)
            if slot is None:
                slot = _Slot(Worker("model", env=self._env, allowed=self._allowed))
                if self._closed:
                    slot.worker.close()
                self._slots[device] = slot
            slot.users += 1
            if slot.idle is not None:
                slot.idle.cancel()
                slot.idle = None
            return slot

    def _leave(self, device: str, slot: _Slot) -> None:
        with self._lock:
            slot.users -= 1
            if slot.users == 0 and self._idle_s is not None and not self._closed:
                slot.idle = threading.Timer(self._idle_s, self._evict, (device, slot))
                slot.idle.daemon = True
                slot.idle.start()

    def _evict(self, device: str, slot: _Slot) -> None:
        with self._lock:
            if slot.users or self._slots.get(device) is not slot:
                return
            del self._slots[device]
        slot.worker.close()


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
