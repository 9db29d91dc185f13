"""Several worker processes behind one queue, most urgent first."""

from __future__ import annotations

import heapq
import itertools
import threading
import weakref
from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from enum import IntEnum
from functools import partial
from typing import Any

from app.imaging.processes.workers import CancelLike, Worker


class Priority(IntEnum):
    """What the user waits for goes first."""

    VISIBLE = 0
    NEIGHBOUR = 1
    THUMBNAIL = 2
    PREFETCH = 3


@dataclass(slots=True)
class _Request:
    entry: str
    payload: Mapping[str, Any]
    timeout_s: float
    cancel: CancelLike | None
    future: Future[dict[str, Any]] = field(default_factory=Future[dict[str, Any]])
    taken: bool = False

    def drop(self) -> None:
        """Cancel it if it does not run yet."""
        self.future.cancel()


def _drop(reference: weakref.ref[Future[dict[str, Any]]]) -> None:
    """Cancel a request if it does not run yet."""
    future = reference()
    if future is not None:
        future.cancel()


class WorkerPool:
    """Several workers behind one queue; requests with the lowest `Priority` value go first.

    Its threads are daemons and its processes end with the app's, so that neither holds up exit.

    Args:
        count: How many processes.
        name: For messages.
        options: What `Worker` takes by keyword.
    """

    def __init__(self, count: int, name: str = "decoding", **options: Any) -> None:
        self._workers = [Worker(name, **options) for _ in range(count)]
        self._condition = threading.Condition()
        self._heap: list[tuple[int, int, _Request]] = []
        self._order = itertools.count()
        self._closed = False
        for worker in self._workers:
            threading.Thread(
                target=self._serve, args=(worker,), name=f"sightline-{name}", daemon=True
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
        """Queue a call (see `Worker.call`).

        Returns:
            Its future: fails as `Worker.call` does; `cancel()` drops it while it is queued, the
            `cancel` token also while it runs.
        """
        request = _Request(entry, payload, timeout_s, cancel)
        with self._condition:
            if self._closed:
                request.future.cancel()
                return request.future
            self._push(priority, request)
            self._condition.notify()
        if cancel is not None:
            # Weakly: one token serves the thousands of requests of a scan, whose answers are large.
            cancel.on_cancel(partial(_drop, weakref.ref(request.future)))
        return request.future

    def raise_priority(self, future: Future[dict[str, Any]], priority: int) -> None:
        """Move a queued request forward; nothing happens if it runs or is done."""
        with self._condition:
            for _, _, request in self._heap:
                if request.future is future and not request.taken:
                    self._push(priority, request)
                    return

    def warm(self) -> None:
        """Start all processes now, without waiting for them."""
        for worker in self._workers:
            worker.warm()

    def close(self) -> None:
        """Drop what is queued, end the processes. Idempotent."""
        with self._condition:
            self._closed = True
            dropped = [request for _, _, request in self._heap]
            self._heap.clear()
            self._condition.notify_all()
        for request in dropped:
            request.drop()
        for worker in self._workers:
            worker.close()

    def _push(self, priority: int, request: _Request) -> None:
        heapq.heappush(self._heap, (int(priority), next(self._order), request))

    def _take(self) -> _Request | None:
        """The most urgent request, or None when the pool is closed."""
        with self._condition:
            while True:
                while not self._heap and not self._closed:
                    self._condition.wait()
                if self._closed:
                    return None
                _, _, request = heapq.heappop(self._heap)
                # A request that was moved forward lies in the heap twice.
                if not request.taken:
                    request.taken = True
                    return request

    def _serve(self, worker: Worker) -> None:
        while (request := self._take()) is not None:
            if not request.future.set_running_or_notify_cancel():
                continue
            try:
                result = worker.call(
                    request.entry,
                    request.payload,
                    timeout_s=request.timeout_s,
                    cancel=request.cancel,
                )
            except BaseException as error:
                request.future.set_exception(error)
            else:
                request.future.set_result(result)
