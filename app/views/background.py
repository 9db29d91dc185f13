"""Runs work off the GUI thread and delivers the results on it.

The GUI thread must not stall for 50 ms, so rendering, outlines and pictures are made in a small
thread pool. Their results, and those of the decoder's futures, come back as queued signals.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from functools import cache
from typing import Any, TypeVar

from PySide6.QtCore import QObject, Qt, Signal
from shiboken6 import isValid

from app.errors import Cancelled, SightlineError
from app.log import get_logger


class GuiCalls(QObject):
    """Calls functions, in the order they were sent, on the thread that created this object."""

    _arrived = Signal(object)

    def __init__(self) -> None:
        super().__init__()
        self._arrived.connect(self._call, Qt.ConnectionType.QueuedConnection)

    def send(self, function: Callable[[], object]) -> None:
        """Schedule a function to be called by the event loop later."""
        try:
            self._arrived.emit(function)
        except RuntimeError:
            return  # the program has ended

    def _call(self, function: Callable[[], object]) -> None:
        function()


@cache
def gui_calls() -> GuiCalls:
    """Return the shared `GuiCalls` object; the first call must be made on the GUI thread."""
    return GuiCalls()


_log = get_logger(__name__)

T = TypeVar("T")
OnError = Callable[[SightlineError], object]


class Background(QObject):
    """A thread pool that delivers its results on the thread that created this object."""

    def __init__(self, workers: int = 2, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._pool = ThreadPoolExecutor(workers, thread_name_prefix="sightline-view")
        self._closed = False
        self.pending = 0  # results not delivered yet
        self._gui = gui_calls()

    def submit(
        self,
        work: Callable[[], T],
        done: Callable[[T], object],
        failed: OnError | None = None,
    ) -> Future[T] | None:
        """Run `work` in the pool, then `done(result)` or `failed(error)` on this object's thread.

        Returns:
            The future of the work; None after `close`.
        """
        if self._closed:
            return None
        future = self._pool.submit(work)
        self.watch(future, done, failed)
        return future

    def watch(
        self,
        future: Future[T],
        done: Callable[[T], object],
        failed: OnError | None = None,
    ) -> None:
        """Call `done(result)` or `failed(error)` on this object's thread once a future is done."""
        self.pending += 1
        future.add_done_callback(lambda answer: self._post(answer, done, failed))

    def call(self, function: Callable[[], object]) -> None:
        """Call `function` on this object's thread; can be called from any thread."""
        done: Future[None] = Future()
        done.set_result(None)
        self.pending += 1
        self._post(done, lambda _none: function(), None)

    def close(self) -> None:
        """Wait for work that is running and discard the rest; no result is delivered afterwards."""
        self._closed = True
        self._pool.shutdown(wait=True, cancel_futures=True)

    def _post(self, future: Future[Any], done: Callable[[Any], object], failed: Any) -> None:
        # Queued even if the future is done, so that a callback never runs inside `watch`.
        if not self._closed:
            self._gui.send(lambda: self._deliver(future, done, failed))

    def _deliver(
        self, future: Future[Any], done: Callable[[Any], object], failed: OnError | None
    ) -> None:
        self.pending -= 1
        if self._closed or not isValid(self):
            return
        try:
            result = future.result()
        except (CancelledError, Cancelled):
            return
        except SightlineError as error:
            if failed:
                failed(error)
            return
        except Exception as error:
            _log.exception("background work failed")
            if failed:
                failed(
                    SightlineError(
                        "something went wrong inside Sightline",
                        remedy="Try again; the log has the details.",
                        detail=repr(error),
                    )
                )
            return
        done(result)
