"""Arrays between processes: mapped without a copy, freed with the last view, never trusted."""

from __future__ import annotations

import gc
import json
import multiprocessing
import os
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from app.imaging.processes import segments, wire

Ends = tuple[Connection, Connection]
LINUX = sys.platform == "linux"
on_linux = pytest.mark.skipif(not LINUX, reason="anonymous segments are Linux's")


@pytest.fixture
def ends() -> Iterator[Ends]:
    """Both ends of a pipe as between the app and a worker."""
    ours, theirs = multiprocessing.get_context("spawn").Pipe()
    yield ours, theirs
    ours.close()
    theirs.close()


@pytest.fixture(params=["segments", "pipe"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Each of the ways in which large arrays travel: on Linux, and on Windows and macOS."""
    if request.param == "segments" and not LINUX:
        pytest.skip("anonymous segments are Linux's")
    if request.param == "pipe":
        elsewhere(monkeypatch)
    return request.param


def elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on Windows and macOS: no anonymous segments, nor (on Windows) sockets in pipes."""

    def refuse(connection: object) -> None:
        raise OSError("not a socket")

    monkeypatch.setattr(segments, "AVAILABLE", False)
    monkeypatch.setattr(segments, "_socket", refuse)
    monkeypatch.setattr(segments, "write", lambda array: None)


def across(ends: Ends, message: dict[str, Any]) -> dict[str, Any]:
    """Send on a thread, since a pipe holds little that nobody reads."""
    ours, theirs = ends
    with ThreadPoolExecutor(1) as pool:
        sending = pool.submit(wire.send, theirs, message)
        received = wire.receive(ours)
        sending.result()
    return received


def mappings() -> int:
    """How many segments this process maps."""
    return Path("/proc/self/maps").read_text(encoding="ascii").count("memfd:sightline")


def descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


@pytest.mark.parametrize("dtype", ["u1", "<u2", ">i2", "f4", "f8", "?", "c8"])
def test_large_arrays_arrive_as_they_were(way: str, ends: Ends, dtype: str):
    sent = np.random.default_rng(1).integers(0, 2, (300, 700, 3)).astype(dtype)
    received = across(ends, {"a": sent, "b": [sent[::2, ::-1], sent[0]]})
    expected = (sent, sent[::2, ::-1], sent[0])
    for one, other in zip((received["a"], *received["b"]), expected, strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)


def test_nobody_can_write_into_what_arrived(way: str, ends: Ends):
    received = across(ends, {"large": np.zeros(10**6, np.uint8), "small": np.zeros(9, np.uint8)})
    for array in received.values():
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
        with pytest.raises(ValueError, match="WRITEABLE"):
            array.flags.writeable = True


@on_linux
def test_a_mapping_lives_as_long_as_the_last_view_and_holds_no_descriptor(ends: Ends):
    before, open_before = mappings(), descriptors()
    received = across(ends, {"a": np.arange(10**6, dtype=np.uint32)})
    assert descriptors() == open_before, "a cine of hundreds of frames would use them all up"
    view = received.pop("a")[10:20].reshape(5, 2).view(np.int32)
    gc.collect()
    assert mappings() == before + 1
    np.testing.assert_array_equal(view.ravel(), np.arange(10, 20))
    del view
    gc.collect()
    assert (mappings(), descriptors()) == (before, open_before)


@on_linux
def test_it_arrives_without_a_copy(ends: Ends):
    received = across(ends, {"a": np.ones(2**20, np.uint8)})["a"]
    start = received.__array_interface__["data"][0]
    for line in Path("/proc/self/maps").read_text(encoding="ascii").splitlines():
        low, high = (int(part, 16) for part in line.split()[0].split("-"))
        if low <= start < high:
            assert "memfd:sightline" in line
            return
    pytest.fail("it lies nowhere")


def forged(ends: Ends, item: dict[str, Any], handles: list[int]) -> None:
    """A message as a worker that was taken over might send it."""
    ours, theirs = ends
    header = {"body": {"a": {"__ndarray__": 0}}, "arrays": [item]}
    theirs.send_bytes(json.dumps(header).encode())
    if handles:
        segments.send_handles(theirs, handles)
        segments.close_handles(handles)
    wire.receive(ours)


def memory(size: int, *, seals: int = 0x2 | 0x4 | 0x8, hole: bool = False) -> int:
    import fcntl

    handle = os.memfd_create("sightline", os.MFD_ALLOW_SEALING)
    if hole:
        os.ftruncate(handle, size)
    else:
        os.write(handle, bytes(size))
    fcntl.fcntl(handle, fcntl.F_ADD_SEALS, seals)
    return handle


ITEM = {"dtype": "|u1", "shape": [1000, 1000], "shm": True}


@on_linux
@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda: memory(999_999), "smaller"),
        (lambda: memory(10**6, hole=True), "smaller"),
        (lambda: memory(10**6, seals=0), "sealed"),
        (lambda: memory(10**6, seals=0x4), "sealed"),
        (lambda: os.open("/etc/passwd", os.O_RDONLY), "not a segment"),
        (lambda: os.pipe()[0], "not a segment"),
    ],
)
def test_a_segment_that_could_fault_is_refused_before_it_is_touched(
    ends: Ends, make: Any, why: str
):
    open_before = descriptors()
    handle = make()
    extra = descriptors() - open_before - 1  # the other end of a pipe
    with pytest.raises(wire.WireError, match=why):
        forged(ends, ITEM, [handle])
    assert descriptors() == open_before + extra


@on_linux
@pytest.mark.parametrize(
    "item",
    [
        ITEM | {"dtype": "O"},
        ITEM | {"shape": [-1, 5]},
        ITEM | {"shape": [2**40, 2**20]},
        ITEM | {"shape": ["x"]},
        ITEM | {"shm": "/../etc/passwd"},
        ITEM | {"shm": "psm_other"},
        ITEM | {"shm": 1},
        ITEM | {"shm": "slabcdp0"},
    ],
)
def test_a_description_that_cannot_be_is_refused(ends: Ends, item: dict[str, Any]):
    with pytest.raises(wire.WireError):
        forged(ends, item, [])


@on_linux
def test_too_few_or_too_many_descriptors_are_refused_and_closed(ends: Ends):
    open_before = descriptors()
    with pytest.raises(wire.WireError, match="missing"):
        forged(ends, ITEM, [memory(10**6), memory(10**6)])
    assert descriptors() == open_before


@on_linux
def test_what_was_sent_can_no_longer_change(ends: Ends):
    handle = segments.write(np.zeros(10**6, np.uint8))
    assert handle is not None
    for change in (lambda: os.ftruncate(handle, 10), lambda: os.pwrite(handle, b"x", 0)):
        with pytest.raises(PermissionError):
            change()
    os.close(handle)


def test_a_segment_where_there_are_none_is_refused(ends: Ends, monkeypatch: pytest.MonkeyPatch):
    elsewhere(monkeypatch)
    with pytest.raises(wire.WireError, match="no"):
        forged(ends, ITEM, [])


def test_without_room_for_segments_arrays_go_through_the_pipe(
    ends: Ends, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(segments, "write", lambda array: None)
    monkeypatch.setattr(wire, "INLINE_LIMIT", 1000)
    sent = np.arange(2000, dtype=np.uint16)
    np.testing.assert_array_equal(across(ends, {"a": sent})["a"], sent)


@on_linux
def test_a_peer_that_stops_in_the_middle_of_a_message_is_given_up_on(ends: Ends):
    ours, theirs = ends
    segments.give_up_on_stalled_peers(ours, 1)
    os.write(theirs.fileno(), (1000).to_bytes(4, "big") + b"{")
    with pytest.raises(BlockingIOError):
        wire.receive(ours)


@on_linux
def test_an_array_whose_file_was_cut_short_is_told_of_and_nothing_is_sent(
    ends: Ends, tmp_path: Path
):
    import mmap

    path = tmp_path / "pixels"
    path.write_bytes(bytes(10**6))
    with path.open("rb") as file:
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    array = np.frombuffer(mapped, np.uint8)
    os.truncate(path, 4096)
    with pytest.raises(segments.SourceTruncatedError):
        wire.send(ends[1], {"a": array})
    assert not ends[0].poll()


def test_no_write_to_the_pipe_is_larger_than_every_system_takes(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(segments, "AVAILABLE", False)
    monkeypatch.setattr(segments, "write", lambda _array: None)
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
