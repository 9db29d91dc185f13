"""A pool of worker processes behind one queue of requests, most urgent first."""

from __future__ import annotations

import itertools
import threading
import time
import weakref
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from enum import IntEnum
from functools import partial
from operator import attrgetter
from typing import Any

from app.errors import Cancelled
from app.imaging.processes.confinement import log_whether_confined
from app.imaging.processes.workers import CancelLike, Worker

TURN = 4
"""Every `TURN`th request that is not visible goes to the one that has waited longest among volumes,
thumbnails and scans, however many neighbours are more urgent."""

PATIENCE_S = 0.5
"""Time that a volume, thumbnail or scan waits before it gets such a turn."""

UNWANTED_S = 1.0
"""Time that an unwanted call may go on; ending its process costs 0.4 s of a core."""


class Priority(IntEnum):
    """Urgency of a request; lower values go first."""

    VISIBLE = 0
    NEIGHBOUR = 1
    VOLUME = 2
    THUMBNAIL = 3
    PREFETCH = 4


_ASKED_FOR = (Priority.VOLUME, Priority.THUMBNAIL)


class Answer(Future[dict[str, Any]]):
    """The future for a request's reply.

    A cancelled request that is already running is stopped only when `UNWANTED_S` seconds have
    passed since it began, as its reply is usually near and worth keeping.
    """

    def __init__(self, number: int, dropped: Callable[[int], object]) -> None:
        super().__init__()
        self.number = number
        self._dropped = dropped
        self._lock = threading.Lock()
        self._unwanted = self._stopping = False

    def cancel(self) -> bool:
        """Drop a queued request and return True; mark a running one unwanted and return False."""
        if not super().cancel():
            with self._lock:
                self._unwanted = True
            return False
        self._dropped(self.number)
        return True

    def want_again(self) -> bool:
        """Undo the cancellation of a running request; return False if the request is stopping."""
        with self._lock:
            self._unwanted = False
            return not self._stopping

    def stop_if_unwanted(self) -> bool:
        """If the request is unwanted, return True and let `want_again` return False from now on."""
        with self._lock:
            self._stopping |= self._unwanted
            return self._stopping


@dataclass(slots=True, eq=False)
class Request:
    """A queued or running call of a worker, which also gets it as its cancel token."""

    entry: str
    payload: Mapping[str, Any]
    timeout_s: float
    cancel: CancelLike | None
    answer: Answer
    priority: int = Priority.VISIBLE
    since: float = field(default_factory=time.monotonic)

    def begin(self) -> bool:
        """Mark the request as running; return False if it was cancelled before that."""
        self.since = time.monotonic()
        return self.answer.set_running_or_notify_cancel()

    @property
    def cancelled(self) -> bool:
        """True if the call must stop: cancelled, or unwanted after running for `UNWANTED_S`."""
        if self.cancel is not None and self.cancel.cancelled:
            return True
        return time.monotonic() - self.since > UNWANTED_S and self.answer.stop_if_unwanted()

    def on_cancel(self, callback: Callable[[], None]) -> None:
        """Do nothing; required by `CancelLike`, but workers check `cancelled` instead."""


class RequestQueue:
    """Queued requests, by priority and then by the time they were added; not thread-safe."""

    def __init__(self) -> None:
        self._waiting: dict[int, Request] = {}
        self._passed_over = 0

    def __len__(self) -> int:
        return len(self._waiting)

    def put(self, request: Request, priority: int) -> None:
        """Add a request after all others with the same priority."""
        request.priority = int(priority)
        self._waiting[request.answer.number] = request

    def drop(self, number: int) -> None:
        """Remove the request with this `Answer.number`; do nothing if it is no longer queued."""
        self._waiting.pop(number, None)

    def raise_priority(self, number: int, priority: int) -> bool:
        """Make the request with this `Answer.number` more urgent; False if gone or as urgent."""
        request = self._waiting.get(number)
        if request is None or request.priority <= priority:
            return False
        self.drop(number)
        self.put(request, priority)
        return True

    def take(self, *, urgent_only: bool = False) -> Request | None:
        """Remove and return the next request, or None if there is none.

        With `urgent_only`, only `Priority.VISIBLE` is considered. Of the requests that are not
        visible, at least every `TURN`th is the oldest volume or thumbnail, provided that one has
        waited over `PATIENCE_S` seconds.
        """
        first = min(self._waiting.values(), key=attrgetter("priority"), default=None)
        if first is None or (urgent_only and first.priority > Priority.VISIBLE):
            return None
        # Visible requests are not counted: a wheel alternates between a visible frame and a
        # neighbour, so every turn would fall on a visible one.
        taken = first if first.priority == Priority.VISIBLE else self._on_turn(first)
        self.drop(taken.answer.number)
        return taken

    def _on_turn(self, first: Request) -> Request:
        asked_for = (one for one in self._waiting.values() if one.priority in _ASKED_FOR)
        oldest = min(asked_for, key=attrgetter("since"), default=first)
        self._passed_over += 1
        late = time.monotonic() - oldest.since > PATIENCE_S
        if oldest is first or (late and self._passed_over >= TURN):
            self._passed_over = 0
            return oldest
        return first

    def clear(self) -> list[Request]:
        """Remove and return all requests."""
        requests = list(self._waiting.values())
        self._waiting.clear()
        return requests


__all__ = ["Priority", "WorkerPool"]

_RESTART_PAUSE_S = 5.0
_AFTER_THE_OTHERS_S = 1.0
"""Delay of the reserve's start, which takes 0.4 s of a core that the other workers need first."""


def _drop(reference: weakref.ref[Answer]) -> None:
    answer = reference()
    if answer is not None:
        answer.cancel()


class WorkerPool:
    """Several workers that share one queue; requests with the lowest `Priority` value go first.

    If `stand_by` (module names) is given, one more worker imports these modules and is reserved for
    visible images (`Priority.VISIBLE`), so that one is ready even if all others are busy or hang.
    It starts with the first such request, or on `warm`. Threads are daemons and processes end with
    the app, so neither delays exit. The options are the keyword arguments of `Worker`.
    """

    def __init__(
        self,
        count: int,
        name: str = "decoding",
        *,
        stand_by: tuple[str, ...] | None = None,
        **options: Any,
    ) -> None:
        self._workers = [Worker(name, **options) for _ in range(count)]
        log_whether_confined()
        self._lock = threading.Lock()
        self._any = threading.Condition(self._lock)
        self._visible = threading.Condition(self._lock)
        self._queue = RequestQueue()
        self._numbers = itertools.count()
        self._closed = threading.Event()
        self._reserve_wanted = threading.Event()
        for worker in self._workers:
            self._thread(name, self._serve, worker)
        self._reserve: Worker | None = None
        if stand_by is not None:
            # The user waits for its results, so it is as urgent as the app itself.
            options |= {"preload": stand_by, "nice": 0}
            self._reserve = Worker(name, **options)
            self._thread(name, self._stand_by, self._reserve)
            self._workers.append(self._reserve)

    def _thread(self, name: str, target: Any, worker: Worker) -> None:
        threading.Thread(
            target=target, args=(worker,), name=f"sightline-{name}", daemon=True
        ).start()

    def submit(
        self,
        entry: str,
        payload: Mapping[str, Any],
        *,
        priority: int = Priority.VISIBLE,
        timeout_s: float = 30.0,
        cancel: CancelLike | None = None,
    ) -> Future[dict[str, Any]]:
        """Queue a call (see `Worker.call`) and return a future for its reply.

        `future.cancel()` drops a queued request and stops a running one after at most a second or
        so; the `cancel` token stops a running request immediately.
        """
        answer = Answer(next(self._numbers), self._forget)
        request = Request(entry, payload, timeout_s, cancel, answer)
        with self._lock:
            if not self._closed.is_set():
                self._queue.put(request, priority)
                self._wake(priority)
        if self._closed.is_set():
            answer.cancel()
        elif cancel is not None:
            # A weak reference, since one token serves thousands of requests with large answers.
            cancel.on_cancel(partial(_drop, weakref.ref(answer)))
        return answer

    def raise_priority(self, future: Future[dict[str, Any]], priority: int) -> None:
        """Move a queued request forward; does nothing if it is already running or done."""
        if not isinstance(future, Answer):
            return
        with self._lock:
            if self._queue.raise_priority(future.number, priority):
                self._wake(priority)

    def want_again(self, future: Future[dict[str, Any]]) -> bool:
        """Keep a cancelled request for a new caller; return False if the request is stopping."""
        return isinstance(future, Answer) and future.want_again()

    def warm(self) -> None:
        """Start all processes, without waiting for them."""
        for worker in self._workers:
            if worker is not self._reserve:
                worker.warm()
        self._reserve_wanted.set()

    def close(self) -> None:
        """Drop queued requests and end the processes. May be called more than once."""
        with self._lock:
            self._closed.set()
            dropped = self._queue.clear()
            self._any.notify_all()
            self._visible.notify_all()
        self._reserve_wanted.set()
        for request in dropped:
            request.answer.cancel()
        for worker in self._workers:
            worker.close()

    def _wake(self, priority: int) -> None:
        self._any.notify_all()  # one of them has a process that is ready
        if priority <= Priority.VISIBLE:
            self._visible.notify()

    def _forget(self, number: int) -> None:
        with self._lock:
            self._queue.drop(number)

    def _take(self, changed: threading.Condition) -> Request | None:
        with self._lock:
            while not self._closed.is_set():
                request = self._queue.take(urgent_only=changed is self._visible)
                if request is not None:
                    return request
                changed.wait()
            return None

    def _some_wait(self) -> bool:
        """Wait for a request; return False when the pool is closed."""
        with self._lock:
            self._any.wait_for(lambda: self._closed.is_set() or len(self._queue))
            return not self._closed.is_set()

    def _serve(self, worker: Worker) -> None:
        while self._some_wait():
            # Start the process first: that takes seconds on a busy machine, and meanwhile another
            # worker may take the request.
            with suppress(Exception):  # the call will tell
                worker.start()
            request = self._take(self._any)
            if request is None:
                return
            _answer(worker, request)
            if request.priority <= Priority.VISIBLE:
                self._reserve_wanted.set()
            del request  # its answer may be large, and nobody asks for the next in a long time

    def _stand_by(self, worker: Worker) -> None:
        """Serve visible requests, always from a process that has already started."""
        self._reserve_wanted.wait()
        self._closed.wait(_AFTER_THE_OTHERS_S)
        while not self._closed.is_set():
            try:
                worker.start()
            except Cancelled:  # the pool is closed
                return
            except Exception:  # it ends at once, or the system lets no process start just now
                self._closed.wait(_RESTART_PAUSE_S)
                continue
            request = self._take(self._visible)
            if request is not None:
                _answer(worker, request)
                del request


def _answer(worker: Worker, request: Request) -> None:
    if not request.begin():
        return
    try:
        result = worker.call(
            request.entry,
            request.payload,
            timeout_s=request.timeout_s,
            cancel=request,
            retry=True,
        )
    except BaseException as error:
        request.answer.set_exception(error)
    else:
        request.answer.set_result(result)
