"""Futures for the replies of workers: callers can share one, and errors name the file."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError, Future
from pathlib import Path
from typing import Any, Generic, TypeVar

from app.errors import Cancelled, FileProblem, SightlineError, WorkerDied, unexpected

S = TypeVar("S")
T = TypeVar("T")
Reply = Future[dict[str, Any]]

_DAMAGED = "The file may be damaged; ask for a new export"


_OVER: Reply = Future()
"""Takes the place of replies that were handed on."""
_OVER.cancel()


class Pending(Generic[T]):
    """One request whose result several callers share; `abandon` is called once all have cancelled.

    `finish` drops `reply`, whose callbacks refer to this object: otherwise each of the two would
    keep the other, and so the pixels, in memory until a full garbage collection.
    """

    def __init__(self, reply: Future[Any], abandon: Callable[[], object]) -> None:
        self.reply = reply
        self._abandon = abandon
        self._lock = threading.Lock()
        self._waiting: list[Future[T]] = []

    def join(self) -> Future[T]:
        """Return a future for one more caller; cancelling it does not affect the other callers."""
        future: Future[T] = Future()
        with self._lock:
            self._waiting.append(future)
        future.add_done_callback(self._left)
        return future

    def finish(self, outcome: T | BaseException) -> None:
        """Hand the result or error to all waiting callers."""
        with self._lock:
            waiting, self._waiting = self._waiting, []
        self.reply, self._abandon = _OVER, _OVER.cancel
        for future in waiting:
            settle_future(future, outcome)

    @property
    def wanted(self) -> bool:
        """Whether any caller is still waiting; False once all have cancelled."""
        with self._lock:
            return not all(future.cancelled() for future in self._waiting)

    def _left(self, future: Future[T]) -> None:
        if future.cancelled() and not self.wanted:
            self._abandon()


def completed_future(value: T) -> Future[T]:
    """Return a future that already holds `value` as its result."""
    future: Future[T] = Future()
    future.set_result(value)
    return future


def settle_future(future: Future[T], outcome: T | BaseException) -> None:
    """Complete a future with a result or error, unless its owner has cancelled it."""
    if isinstance(outcome, CancelledError | Cancelled):
        future.cancel()
    if not future.set_running_or_notify_cancel():
        return
    if isinstance(outcome, BaseException):
        future.set_exception(outcome)
    else:
        future.set_result(outcome)


def converted_reply(reply: Reply, path: Path, convert: Callable[[dict[str, Any]], T]) -> Future[T]:
    """Return a future for a worker's reply, converted by `convert`; cancelling it cancels the call.

    Any error but a cancellation becomes a `FileProblem` for the file `path`.
    """
    pending = Pending[T](reply, reply.cancel)
    mine = pending.join()
    reply.add_done_callback(lambda reply: pending.finish(outcome_of(reply, path, convert)))
    return mine


def outcome_of(
    reply: Reply, path: Path, convert: Callable[[dict[str, Any]], T]
) -> T | BaseException:
    """Return a finished reply converted by `convert`, or its error as a FileProblem for `path`."""
    outcome = _converted(reply, convert)
    return as_file_problem(outcome, path) if isinstance(outcome, BaseException) else outcome


def _converted(given: Future[S], convert: Callable[[S], T]) -> T | BaseException:
    if given.cancelled():
        return CancelledError()
    error = given.exception()
    if error is not None:
        return error
    try:
        return convert(given.result())
    except BaseException as broken:
        return broken


def as_file_problem(error: BaseException, path: Path) -> BaseException:
    """Return any error of a worker as a `FileProblem` for `path`; a cancellation unchanged."""
    if isinstance(error, FileProblem | Cancelled | CancelledError):
        return error
    if isinstance(error, WorkerDied):
        reason = f"it cannot be decoded: {error.reason}"
    elif isinstance(error, MemoryError):
        reason, remedy = "there is too little free memory to show it", unexpected(error).remedy
        return FileProblem(reason, subject=str(path), remedy=remedy)
    else:
        reason = "it cannot be decoded: an unexpected error"
    detail = _code_lines(error.detail) if isinstance(error, SightlineError) else ""
    detail = detail or type(error).__name__
    return FileProblem(reason, subject=str(path), remedy=_DAMAGED, detail=detail)


def _code_lines(detail: str) -> str:
    """Return a traceback without its messages, which quote the file and would be logged."""
    lines = detail.splitlines()
    if len(lines) < 2:
        return detail
    kind = lines[-1].partition(":")[0] if re.match(r"[A-Za-z_.]+(:|$)", lines[-1]) else ""
    return "\n".join([line for line in lines if line.startswith('  File "')] + [kind])


def mapped_future(given: Future[S], convert: Callable[[S], T]) -> Future[T]:
    """Return a future for `convert(result of given)`; cancelling it cancels `given` too."""
    pending = Pending[T](given, given.cancel)
    mine = pending.join()
    given.add_done_callback(lambda done: pending.finish(_converted(done, convert)))
    return mine


def gathered_future(given: Sequence[Future[T]]) -> Future[list[T]]:
    """Return a future for the results of all; it fails with the first error.

    Cancelling it cancels all of them.
    """
    gathered: Future[list[T]] = Future()
    lock = threading.Lock()
    left = len(given)

    def done(one: Future[T]) -> None:
        nonlocal left
        failed = one.cancelled() or one.exception() is not None
        with lock:
            over = left == 0
            left = 0 if failed else left - 1
            last = left == 0
        if over or not last:
            return
        if one.cancelled():
            settle_future(gathered, CancelledError())
        elif failed:
            settle_future(gathered, one.exception() or CancelledError())
        else:
            settle_future(gathered, [each.result() for each in given])

    def left_alone(one: Future[list[T]]) -> None:
        if one.cancelled():
            for each in given:
                each.cancel()

    gathered.add_done_callback(left_alone)
    for each in given:
        each.add_done_callback(done)
    return gathered
