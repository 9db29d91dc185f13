"""The queue of calls to one device's model process, and the choice of the device."""

from __future__ import annotations

import os
import platform
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

from app.errors import Cancelled
from app.imaging.processes.workers import Worker
from app.tools.api import CancelToken

_DRIVERS = ("/dev/nvidiactl", "/dev/nvidia0", "/dev/dxg", "/dev/kfd")
"""Device files of NVIDIA, of the Windows subsystem for Linux, and of AMD."""


@cache
def likely_device() -> str:
    """Return the device that torch is likely to find, "cuda", "mps" or "cpu", without torch.

    It only decides which process a call goes to. There torch itself chooses the device, and takes
    the processor if it finds no accelerator.
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
    """Return the device whose process serves `wanted`; "auto" means the likely one."""
    return likely_device() if wanted in ("", "auto") else wanted


_POLL_S = 0.05


class DeviceQueue:
    """A worker process whose calls take turns in the order in which they came.

    Args:
        name: The device: "cpu", "cuda" or "mps".
        worker: Its process, which starts when it is first needed.
        ended: Called when the process was ended because it was idle.
    """

    def __init__(self, name: str, worker: Worker, ended: Callable[[], None]) -> None:
        self.name = name
        self.worker = worker
        self._ended = ended
        self._turns = threading.Condition()
        self._calls: deque[tuple[object, str]] = deque()
        self._closed = False
        self._used = time.monotonic()
        self._idle_s: float | None = None
        self._timer: threading.Timer | None = None

    @contextmanager
    def turn(
        self, what: str, cancel: CancelToken, waiting: Callable[[str], None] | None = None
    ) -> Generator[None]:
        """Wait for a turn, and hold the process until the context ends.

        Args:
            what: Title of the call, shown to the calls that wait for it.
            cancel: Ends the wait.
            waiting: Called with the title of the call in front, if there is one.

        Raises:
            Cancelled: `cancel` was set, or the queue was closed.
        """
        ticket = object()
        with self._turns:
            self._calls.append((ticket, what))
        try:
            self._wait(ticket, cancel, waiting)
            yield
        finally:
            with self._turns:
                self._calls = deque(one for one in self._calls if one[0] is not ticket)
                self._used = time.monotonic()
                self._turns.notify_all()

    def _wait(
        self, ticket: object, cancel: CancelToken, waiting: Callable[[str], None] | None
    ) -> None:
        said = ""
        while True:
            with self._turns:
                if self._closed or cancel.cancelled:
                    raise Cancelled
                first, what = self._calls[0]
                if first is ticket:
                    return
                if said == what:
                    self._turns.wait(_POLL_S)
                    continue
            said = what
            if waiting is not None:
                waiting(what)

    @property
    def busy(self) -> bool:
        """True if a call runs or waits."""
        with self._turns:
            return bool(self._calls)

    def end_when_idle(self, idle_s: float | None) -> None:
        """End the process after so many seconds without work; None for never."""
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
            self._calls.append((ticket, "another model"))
        try:
            with suppress(Cancelled):  # the queue was closed meanwhile
                self.worker.end()
            self._ended()
        finally:
            with self._turns:
                self._calls = deque(one for one in self._calls if one[0] is not ticket)
                self._turns.notify_all()

    def close(self) -> None:
        """End the process and the call that runs there; calls that wait are cancelled."""
        with self._turns:
            self._closed = True
            self._arm(None)
            self._turns.notify_all()
        self.worker.close()
