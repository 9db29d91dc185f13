"""One device's process, and the line of calls before it."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress

from app.errors import Cancelled
from app.imaging.processes.workers import Worker
from app.tools.api import CancelToken

_POLL_S = 0.05


class Lane:
    """A worker process whose calls take turns in the order in which they came.

    Args:
        name: The device.
        worker: Its process, started when it is first needed.
        ended: Called when the process was ended for want of work.
    """

    def __init__(self, name: str, worker: Worker, ended: Callable[[], None]) -> None:
        self.name = name
        self.worker = worker
        self._ended = ended
        self._turns = threading.Condition()
        self._line: deque[tuple[object, str]] = deque()
        self._closed = False
        self._used = time.monotonic()
        self._idle_s: float | None = None
        self._timer: threading.Timer | None = None

    @contextmanager
    def turn(
        self, what: str, cancel: CancelToken, waiting: Callable[[str], None] | None = None
    ) -> Generator[None]:
        """Wait for the process, and have it for oneself.

        Args:
            what: What it is wanted for, in words for those who wait behind.
            cancel: Ends the wait.
            waiting: Told what is waited for, when it is not one's turn at once.

        Raises:
            Cancelled: `cancel` was set, or the lane was closed.
        """
        ticket = object()
        with self._turns:
            self._line.append((ticket, what))
        try:
            self._wait(ticket, cancel, waiting)
            yield
        finally:
            with self._turns:
                self._line = deque(one for one in self._line if one[0] is not ticket)
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
                first, what = self._line[0]
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
        """Whether a call runs or waits."""
        with self._turns:
            return bool(self._line)

    def end_when_idle(self, idle_s: float | None) -> None:
        """End the process after so long without work; None for never."""
        with self._turns:
            known, self._idle_s = self._idle_s, idle_s
            if self._timer is not None and idle_s == known:
                return  # it looks again by itself
            self._arm(idle_s)

    def _arm(self, seconds: float | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if seconds is not None and not self._closed:
            self._timer = threading.Timer(max(seconds, 0.01), self._look)
            self._timer.daemon = True
            self._timer.start()

    def _look(self) -> None:
        """Whether it has been idle for long enough; else look again when it could have been."""
        with self._turns:
            self._timer = None
            if self._idle_s is None or self._closed:
                return
            left = self._idle_s - (time.monotonic() - self._used)
            if self._line or left > 0:
                self._arm(self._idle_s if self._line else left)
                return
            ticket = object()
            self._line.append((ticket, "another model"))
        try:
            with suppress(Cancelled):  # it is being closed meanwhile
                self.worker.end()
            self._ended()
        finally:
            with self._turns:
                self._line = deque(one for one in self._line if one[0] is not ticket)
                self._turns.notify_all()

    def close(self) -> None:
        """End the process, and with it the call that runs; those that wait are cancelled."""
        with self._turns:
            self._closed = True
            self._arm(None)
            self._turns.notify_all()
        self.worker.close()
