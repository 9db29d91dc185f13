"""Arrays between processes: as they were sent, read-only, never trusted."""

from __future__ import annotations

import json
import multiprocessing
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Connection
from typing import Any

import numpy as np
import pytest

from app.imaging.processes import wire

Ends = tuple[Connection, Connection]


@pytest.fixture
def ends() -> Iterator[Ends]:
    """Both ends of a pipe as between the app and a worker."""
    ours, theirs = multiprocessing.get_context("spawn").Pipe()
    yield ours, theirs
    ours.close()
    theirs.close()


def across(ends: Ends, message: dict[str, Any]) -> dict[str, Any]:
    """Send on a thread, since a pipe holds little that nobody reads."""
    ours, theirs = ends
    with ThreadPoolExecutor(1) as pool:
        sending = pool.submit(wire.send, theirs, message)
        received = wire.receive(ours)
        sending.result()
    return received


@pytest.mark.parametrize("dtype", ["u1", "<u2", ">i2", "f4", "f8", "?", "c8"])
def test_large_arrays_arrive_as_they_were(ends: Ends, dtype: str):
    sent = np.random.default_rng(1).integers(0, 2, (300, 700, 3)).astype(dtype)
    received = across(ends, {"a": sent, "b": [sent[::2, ::-1], sent[0]]})
    expected = (sent, sent[::2, ::-1], sent[0])
    for one, other in zip((received["a"], *received["b"]), expected, strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)


def test_nobody_can_write_into_what_arrived(ends: Ends):
    received = across(ends, {"large": np.zeros(10**6, np.uint8), "small": np.zeros(9, np.uint8)})
    for array in received.values():
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
        with pytest.raises(ValueError, match="WRITEABLE"):
            array.flags.writeable = True


def forged(ends: Ends, item: dict[str, Any], *pieces: bytes) -> None:
    """A message as a worker that was taken over might send it."""
    ours, theirs = ends
    header = {"body": {"a": {"__ndarray__": 0}}, "arrays": [item]}
    theirs.send_bytes(json.dumps(header).encode())
    for piece in pieces:
        theirs.send_bytes(piece)
    wire.receive(ours)


ITEM = {"dtype": "|u1", "shape": [10, 10]}


@pytest.mark.parametrize(
    "item",
    [
        ITEM | {"dtype": "O"},
        ITEM | {"shape": [-1, 5]},
        ITEM | {"shape": [2**40, 2**20]},
        ITEM | {"shape": ["x"]},
    ],
)
def test_a_description_that_cannot_be_is_refused(ends: Ends, item: dict[str, Any]):
    with pytest.raises(wire.WireError):
        forged(ends, item)


@pytest.mark.parametrize("size", [0, 99, 101, 10_000])
def test_fewer_or_more_bytes_than_announced_are_refused(ends: Ends, size: int):
    with pytest.raises(wire.WireError, match="disagree"):
        forged(ends, ITEM, bytes(size))


def test_no_write_to_the_pipe_is_larger_than_every_system_takes(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(wire, "PIECE", 1000)
    sizes: list[int] = []
    here, there = multiprocessing.get_context("spawn").Pipe()
    original = here.send_bytes

    def counted(data: Any) -> None:
        sizes.append(len(data))
        original(data)

    monkeypatch.setattr(here, "send_bytes", counted, raising=False)
    arrays = [np.arange(count, dtype=np.uint16) for count in (0, 1, 500, 501, 4321)]
    wire.send(here, {"arrays": arrays})
    received = wire.receive(there)["arrays"]
    assert all(
        np.array_equal(a, b) and a.dtype == b.dtype for a, b in zip(arrays, received, strict=True)
    )
    assert max(sizes[1:]) == 1000
    assert sum(sizes[1:]) == sum(array.nbytes for array in arrays)
