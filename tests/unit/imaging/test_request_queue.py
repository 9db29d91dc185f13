"""The line before the workers: order, fairness, and nothing left of what was dropped."""

from __future__ import annotations

import itertools
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator

import pytest

from app.errors import Cancelled, WorkerDied
from app.imaging.processes import worker_pool
from app.imaging.processes.worker_pool import (
    TURN,
    Answer,
    Priority,
    Request,
    RequestQueue,
    WorkerPool,
)
from app.imaging.processes.workers import Worker
from tests.support.hang import HANG_S

pytestmark = pytest.mark.usefixtures("forked")

ENTRIES = "tests.unit.imaging.worker_entries"
numbers = itertools.count()


def request(queue: RequestQueue, priority: int, *, age: float = 0.0) -> Request:
    made = Request("", {}, 1.0, None, Answer(next(numbers), queue.drop))
    made.since -= age
    queue.put(made, priority)
    return made


def test_the_most_urgent_goes_first_and_of_two_equals_the_older():
    queue = RequestQueue()
    order = [Priority.PREFETCH, Priority.THUMBNAIL, Priority.NEIGHBOUR, Priority.VISIBLE]
    waiting = [request(queue, priority) for priority in (*order, *order)]
    taken = [queue.take() for _ in waiting]
    assert taken == [waiting[place] for place in (3, 7, 2, 6, 1, 5, 0, 4)]
    assert queue.take() is None


def test_a_request_moves_forward_only():
    queue = RequestQueue()
    last, moved = request(queue, Priority.NEIGHBOUR), request(queue, Priority.PREFETCH)
    assert not queue.raise_priority(last.answer.number, Priority.PREFETCH)
    assert queue.raise_priority(moved.answer.number, Priority.VISIBLE)
    assert [queue.take(), queue.take()] == [moved, last]
    assert not queue.raise_priority(moved.answer.number, Priority.VISIBLE)


def test_what_was_cancelled_is_gone_from_the_line():
    queue = RequestQueue()
    waiting = [request(queue, Priority.PREFETCH) for _ in range(1000)]
    for one in waiting[1:]:
        assert one.answer.cancel()
    assert len(queue) == 1
    assert queue.take() is waiting[0]


def test_volumes_and_scans_go_on_while_neighbours_never_end():
    queue = RequestQueue()
    asked_for = [request(queue, Priority.THUMBNAIL, age=5), request(queue, Priority.VOLUME, age=3)]
    prefetched = request(queue, Priority.PREFETCH, age=9)
    taken: list[Request] = []
    for _ in range(3 * TURN):
        request(queue, Priority.NEIGHBOUR)
        one = queue.take()
        assert one is not None
        taken.append(one)
    assert [one for one in taken if one in asked_for] == asked_for, "the oldest first"
    assert prefetched not in taken


@pytest.mark.parametrize("visible", [1, 3, 7])
def test_their_turns_do_not_fall_on_what_is_looked_at(visible: int):
    queue = RequestQueue()
    slices = [request(queue, Priority.VOLUME, age=3) for _ in range(5)]
    others = 0
    for _ in range(3 * TURN):
        for _ in range(visible):
            shown = request(queue, Priority.VISIBLE)
            assert queue.take() is shown
        request(queue, Priority.NEIGHBOUR)
        others += queue.take() in slices
    assert others == 3


def test_a_scan_goes_on_while_volumes_never_end():
    queue = RequestQueue()
    scanned = request(queue, Priority.THUMBNAIL, age=5)
    taken: list[Request | None] = []
    for _ in range(TURN + 1):
        request(queue, Priority.VOLUME)
        taken.append(queue.take())
    assert scanned in taken


def test_what_is_looked_at_never_waits_for_a_turn():
    queue = RequestQueue()
    for _ in range(5):
        request(queue, Priority.THUMBNAIL, age=5)
    for _ in range(3 * TURN):
        shown = request(queue, Priority.VISIBLE)
        assert queue.take() is shown


def test_a_worker_in_reserve_takes_nothing_else():
    queue = RequestQueue()
    request(queue, Priority.NEIGHBOUR)
    assert queue.take(urgent_only=True) is None
    shown = request(queue, Priority.VISIBLE)
    assert queue.take(urgent_only=True) is shown


@pytest.fixture
def pool() -> Iterator[WorkerPool]:
    made = WorkerPool(2, "test", stand_by=())
    made.submit(f"{ENTRIES}:echo", {}).result(30)
    deadline = time.monotonic() + 60
    while made._workers[-1].pid is None and time.monotonic() < deadline:
        threading.Event().wait(0.02)
    yield made
    made.close()


def test_long_work_on_all_workers_does_not_hold_up_what_is_looked_at(pool: WorkerPool):
    long = [
        pool.submit(f"{ENTRIES}:hang", {}, priority=Priority.THUMBNAIL, timeout_s=60)
        for _ in range(3)
    ]
    while sum(one.running() for one in long) < 2:
        pass
    for number in range(5):
        assert pool.submit(f"{ENTRIES}:echo", {"n": number}).result(HANG_S) == {"n": number}
    assert sum(one.running() for one in long) == 2, "the reserve is for nothing else"


def test_what_runs_long_and_nobody_wants_is_stopped(
    pool: WorkerPool, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(worker_pool, "UNWANTED_S", 0.2)
    long = [
        pool.submit(f"{ENTRIES}:hang", {}, priority=Priority.PREFETCH, timeout_s=60)
        for _ in range(2)
    ]
    while not all(one.running() for one in long):
        pass
    for one in long:
        assert not one.cancel()
        with pytest.raises(Cancelled):
            one.result(10)
    wanted = [
        pool.submit(f"{ENTRIES}:echo", {"n": n}, priority=Priority.PREFETCH) for n in range(2)
    ]
    assert [one.result(20) for one in wanted] == [{"n": 0}, {"n": 1}]


@pytest.mark.skipif(sys.platform == "win32", reason="has no SIGKILL")
def test_a_call_whose_process_was_ended_from_outside_is_made_again():
    pool = WorkerPool(1, "test")
    try:
        first = pool.submit(f"{ENTRIES}:pid", {}).result(30)["pid"]
        running = pool.submit(f"{ENTRIES}:note", {"name": "slow", "pause_s": 0.5})
        while not running.running():
            pass
        os.kill(first, signal.SIGKILL)
        assert running.result(20)["name"] == "slow"
        assert pool.submit(f"{ENTRIES}:pid", {}).result(30)["pid"] != first
    finally:
        pool.close()


def test_a_request_that_is_wanted_again_while_it_runs_goes_on_unless_it_is_being_stopped():
    queue = RequestQueue()
    again, late = request(queue, Priority.VISIBLE), request(queue, Priority.VISIBLE)
    for one in (again, late):
        assert one.begin()
        assert not one.answer.cancel()
        assert not one.cancelled, "it may go on for a while"
    assert again.answer.want_again()
    for one in (again, late):
        one.since -= 2 * worker_pool.UNWANTED_S
    assert not again.cancelled
    assert late.cancelled
    assert not late.answer.want_again()
    assert late.cancelled


def test_a_reserve_that_cannot_start_just_now_starts_later(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(worker_pool, "_RESTART_PAUSE_S", 0.05)
    monkeypatch.setattr(worker_pool, "_AFTER_THE_OTHERS_S", 0.0)
    failures: list[BaseException] = [OSError("no more processes"), WorkerDied("it ended")]
    start = Worker.start

    def starts(worker: Worker) -> None:
        if failures:
            raise failures.pop()
        start(worker)

    monkeypatch.setattr(Worker, "start", starts)
    pool = WorkerPool(1, "test", stand_by=())
    try:
        pool.warm()
        deadline = time.monotonic() + 60
        while pool._workers[-1].pid is None and time.monotonic() < deadline:
            threading.Event().wait(0.02)
        assert pool._workers[-1].pid is not None
        assert not failures
    finally:
        pool.close()
