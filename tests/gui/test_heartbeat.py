"""The heartbeat itself: a stall that is planted in the app's loop is noticed, test code is not."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from PySide6.QtCore import QEventLoop, QTimer

from tests.gui.heartbeat import BLOCKED_MS, COMPUTED_MS, Heartbeat, Stall

pytestmark = pytest.mark.gui


def compute(ms: float) -> None:
    """Keep the calling thread at work for so many ms of its own processor time."""
    until = time.thread_time() + ms / 1000
    while time.thread_time() < until:
        pass


def beaten(planted: Callable[[], object] | None) -> Heartbeat:
    """A heartbeat of its own that saw a loop of some beats in which `planted` was called."""
    beat = Heartbeat()
    loop = QEventLoop()
    if planted is not None:
        QTimer.singleShot(10, planted)
    QTimer.singleShot(40, loop.quit)
    with beat.loop():
        loop.exec()
    beat.stop()
    return beat


@pytest.fixture(autouse=True)
def _own_stalls_are_meant(request: pytest.FixtureRequest) -> None:
    """What is planted here must not count against this test."""
    request.applymarker(pytest.mark.stall_limit(60_000))


def test_a_planted_stall_is_noticed(qapp: object):
    beat = beaten(lambda: compute(COMPUTED_MS + 20))
    assert beat.worst.ms >= COMPUTED_MS
    assert "computed for" in beat.complaint()
    assert "handled no event for" in beat.complaint(50)


def test_a_thread_that_waits_is_noticed_by_the_clock(qapp: object):
    beat = beaten(None)
    beat.worst = Stall(ms=BLOCKED_MS, cpu_ms=1)
    assert "handled no event for" in beat.complaint()


def test_a_quiet_loop_is_no_stall(qapp: object):
    beat = beaten(None)
    assert beat.complaint() == ""
    assert beat.computed_ms < COMPUTED_MS / 3


def test_what_test_code_does_between_loops_is_measured_but_does_not_count(qapp: object):
    beat = Heartbeat()
    compute(COMPUTED_MS + 20)
    beat.stop()
    assert beat.longest_ms >= COMPUTED_MS
    assert beat.worst == Stall()
    assert beat.complaint() == ""


def test_every_test_with_a_window_has_one(request: pytest.FixtureRequest, qapp: object):
    assert "_measured" in request.fixturenames
    beat: Heartbeat = request.getfixturevalue("heartbeat")
    beat.restart()
    loop = QEventLoop()
    QTimer.singleShot(60, lambda: (compute(60), loop.quit()))
    loop.exec()
    beat.stop()
    assert beat.longest_ms > 40


def test_a_stopped_one_that_is_restarted_beats_again(qapp: object):
    beat = Heartbeat()
    beat.stop()
    beat.restart()
    assert beat._timer.isActive()
    beat.stop()
