"""The line in which requests wait for a worker: most urgent first, and nobody for ever."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

from app.imaging.processes.workers import CancelLike

TURN = 4
"""Of so many requests beside what is looked at, one is the longest waiting of those that the user
asked for, however many neighbours are more urgent."""

PATIENCE_S = 0.5
"""How long those wait before they have such a turn."""

UNWANTED_S = 1.0
"""How long a call may go on that nobody waits for: ending its process costs 0.4 s of a core."""


class Priority(IntEnum):
    """What the user waits for goes first."""

    VISIBLE = 0
    NEIGHBOUR = 1
    VOLUME = 2
    THUMBNAIL = 3
    PREFETCH = 4


_ASKED_FOR = (Priority.VOLUME, Priority.THUMBNAIL)


class Answer(Future[dict[str, Any]]):
    """The future of a request.

    Cancelling it drops a request that waits. One that runs already goes on, since its answer is
    usually close and then worth keeping; but not for long.
    """

    def __init__(self, number: int, dropped: Callable[[int], object]) -> None:
        super().__init__()
        self.number = number
        self._dropped = dropped
        self._lock = threading.Lock()
        self._unwanted = self._given_up = False

    def cancel(self) -> bool:
        """Drop it; False when it runs or is done."""
        if not super().cancel():
            with self._lock:
                self._unwanted = True
            return False
        self._dropped(self.number)
        return True

    def want_again(self) -> bool:
        """Let one that runs although it was cancelled go on; False when it is being stopped."""
        with self._lock:
            self._unwanted = False
            return not self._given_up

    def give_up(self) -> bool:
        """Whether it is not wanted, so that it is to be stopped; it cannot be had again then."""
        with self._lock:
            self._given_up |= self._unwanted
            return self._given_up


@dataclass(slots=True, eq=False)
class Request:
    """A call that waits, or runs; while it runs it is also the call's cancel token."""

    entry: str
    payload: Mapping[str, Any]
    timeout_s: float
    cancel: CancelLike | None
    answer: Answer
    priority: int = Priority.VISIBLE
    since: float = field(default_factory=time.monotonic)

    def begin(self) -> bool:
        """Whether anybody wants it still; it can then no longer be dropped."""
        self.since = time.monotonic()
        return self.answer.set_running_or_notify_cancel()

    @property
    def cancelled(self) -> bool:
        """Whether it is to be stopped although it runs."""
        if self.cancel is not None and self.cancel.cancelled:
            return True
        return time.monotonic() - self.since > UNWANTED_S and self.answer.give_up()

    def on_cancel(self, callback: Callable[[], None]) -> None:
        """Part of `CancelLike`; a worker asks `cancelled` instead."""


class RequestQueue:
    """Requests in line, by priority and then by age; not thread-safe by itself."""

    def __init__(self) -> None:
        self._lines: dict[int, OrderedDict[int, Request]] = {
            int(priority): OrderedDict() for priority in Priority
        }
        self._places: dict[int, int] = {}
        self._passed_over = 0

    def __len__(self) -> int:
        return len(self._places)

    def put(self, request: Request, priority: int) -> None:
        """Add a request at the end of its line."""
        number = request.answer.number
        request.priority = int(priority)
        self._lines[request.priority][number] = request
        self._places[number] = request.priority

    def drop(self, number: int) -> None:
        """Remove a request if it still waits."""
        place = self._places.pop(number, None)
        if place is not None:
            del self._lines[place][number]

    def raise_priority(self, number: int, priority: int) -> bool:
        """Move a request to a more urgent line; False when it is in one, or does not wait."""
        place = self._places.get(number)
        if place is None or place <= priority:
            return False
        self.put(self._lines[place].pop(number), priority)
        return True

    def take(self, *, urgent_only: bool = False) -> Request | None:
        """The request whose turn it is, or None; with `urgent_only` none but what is looked at."""
        line = self._lines[Priority.VISIBLE]
        if not line and not urgent_only:
            line = self._line_on_turn()
        if not line:
            return None
        number, request = line.popitem(last=False)
        del self._places[number]
        return request

    def _line_on_turn(self) -> OrderedDict[int, Request]:
        waiting = (line for line in self._lines.values() if line)
        first = next(waiting, self._lines[Priority.VISIBLE])
        asked_for = [self._lines[priority] for priority in _ASKED_FOR if self._lines[priority]]
        oldest = min(asked_for, key=_age_of_first, default=first)
        # What is looked at is not counted: where a wheel asks for one visible frame and one
        # neighbour in turns, every turn by the count of all would fall on the visible ones.
        self._passed_over += 1
        late = oldest is not first and time.monotonic() - _age_of_first(oldest) > PATIENCE_S
        if oldest is first or (late and self._passed_over >= TURN):
            self._passed_over = 0
            return oldest
        return first

    def clear(self) -> list[Request]:
        """Remove all; gives what waited."""
        requests = [request for line in self._lines.values() for request in line.values()]
        for line in self._lines.values():
            line.clear()
        self._places.clear()
        return requests


def _age_of_first(line: OrderedDict[int, Request]) -> float:
    return next(iter(line.values())).since
