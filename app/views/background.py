"""Runs work off the GUI thread and delivers the results on it.

The GUI thread must not stall for 50 ms, so rendering, outlines and pictures are made in a small
thread pool. Their results, and those of the decoder's futures, come back as queued signals.
"""

from __future__ import annotations

import math
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from functools import cache, partial
from typing import Any, TypeVar

from PySide6.QtCore import QObject, Qt, Signal
from shiboken6 import isValid

from app.errors import Cancelled, CancelToken, SightlineError, unexpected
from app.log import get_logger
from app.views.wording import error_text


class GuiCalls(QObject):
    """Calls functions, in the order they were sent, on the thread that created this object.

    PySide crashes if a thread emits a signal of an object while the GUI thread deletes that object.
    Threads that may outlive a window therefore use this object's signal, as it is never deleted.
    """

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


@cache
def _qt_types() -> Iterator[object]:
    """Return an iterator that creates PySide's classes, one a step."""
    loaded = [module for name, module in sys.modules.items() if name.startswith("PySide6.Qt")]
    return (getattr(module, name) for module in loaded for name in dir(module))


def create_qt_types(limit_s: float = math.inf) -> bool:
    """Go on creating PySide's classes for some time; return whether all are there.

    PySide creates a class when it is first used, and crashes or hangs if two threads do so at the
    same time. So all are created, in 0.2 s, on the GUI thread before another one may use any.
    """
    end = time.perf_counter() + limit_s
    return all(time.perf_counter() <= end for _made in _qt_types())


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
        *,
        uses_qt: bool = True,
    ) -> Future[T] | None:
        """Run `work` in the pool, then `done(result)` or `failed(error)` on this object's thread.

        Without `failed`, an error is dropped. Work that `uses_qt` has to wait for PySide's classes,
        see `create_qt_types`. Returns the future of `work`, or None after `close`.
        """
        if self._closed:
            return None
        if uses_qt:
            create_qt_types()
        future = self._pool.submit(work)
        self.watch(future, done, failed)
        return future

    def run_now(
        self, work: Callable[[], T], done: Callable[[T], object], failed: OnError | None = None
    ) -> None:
        """Do on this thread, before returning, what `submit` does: work of under 2 ms."""
        future: Future[T] = Future()
        try:
            future.set_result(work())
        except Exception as error:
            future.set_exception(error)
        self.pending += 1
        self._deliver(future, done, failed)

    def watch(
        self,
        future: Future[T],
        done: Callable[[T], object],
        failed: OnError | None = None,
    ) -> None:
        """When a future ends, call `done(result)` or `failed(error)` on this object's thread."""
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


class DaemonTasks:
    """Runs each task on a daemon thread; results come on the GUI thread while `owner` lives."""

    def __init__(self, owner: QObject | None = None) -> None:
        self._owner = owner
        self._post = gui_calls()
        self._closed = False
        self._tokens: set[CancelToken] = set()

    def run(
        self,
        work: Callable[[CancelToken], Any],
        done: Callable[[Any], object],
        failed: Callable[[str], object],
    ) -> CancelToken:
        """Run `work(token)` on a thread, then `done(result)` or `failed(reason)` on the GUI thread.

        Returns:
            The token that `work` receives; after it is cancelled, no result is delivered.
        """
        create_qt_types()
        token = CancelToken()
        self._tokens.add(token)

        def body() -> None:
            try:
                answer = partial(done, work(token))
            except Cancelled:
                self._tokens.discard(token)
                return
            except SightlineError as error:
                answer = partial(failed, error_text(error))
            except Exception as error:
                _log.warning("a background task failed (%s)", type(error).__name__)
                answer = partial(failed, unexpected(error).text)
            self._post.send(lambda: self._deliver(token, answer))

        threading.Thread(target=body, name="sightline-task", daemon=True).start()
        return token

    def close(self) -> None:
        """Cancel the running tasks and discard their results."""
        self._closed = True
        for token in tuple(self._tokens):
            token.cancel()
        self._tokens.clear()

    def _deliver(self, token: CancelToken, answer: Callable[[], object]) -> None:
        self._tokens.discard(token)
        gone = self._closed or (self._owner is not None and not isValid(self._owner))
        if not gone and not token.cancelled:
            answer()
