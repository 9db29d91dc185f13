"""Futures let go of each other once they are done: what they held goes without a collection."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from app.imaging.processes.futures import Pending, Reply, converted_reply, mapped_future, outcome_of


@pytest.fixture(autouse=True)
def _no_collections() -> Iterator[None]:
    gc.disable()
    yield
    gc.enable()


def answered(reply: Reply) -> weakref.ref[Any]:
    """Answer it with pixels; who holds them."""
    pixels = np.zeros((4, 4), np.uint8)
    reply.set_result({"pixels": pixels})
    return weakref.ref(pixels)


def test_pixels_go_with_the_last_who_asked_for_them():
    reply: Reply = Future()
    mine = converted_reply(reply, Path("a.dcm"), lambda message: message["pixels"])
    held = answered(reply)
    assert mine.result() is held()
    del mine, reply
    assert held() is None


def test_a_shared_request_lets_go_of_its_reply():
    reply: Reply = Future()
    pending = Pending[Any](reply, reply.cancel)
    first, second = pending.join(), pending.join()

    def finish(done: Reply, waiting: Pending[Any] = pending) -> None:
        waiting.finish(outcome_of(done, Path("a"), len))

    reply.add_done_callback(finish)
    held = answered(reply)
    assert first.result() == second.result() == 1
    del reply, pending, finish
    assert held() is None


def test_what_was_made_of_a_result_lets_go_of_it():
    given: Future[Any] = Future()
    mine = mapped_future(given, len)
    pixels = np.zeros((4, 4), np.uint8)
    held = weakref.ref(pixels)
    given.set_result(pixels)
    del given, pixels
    assert mine.result() == 4
    assert held() is None


def test_cancelling_what_is_made_of_a_result_cancels_that():
    given: Future[Any] = Future()
    mapped_future(given, len).cancel()
    assert given.cancelled()
