"""Workers that are killed are replaced, and the next image shows within two seconds."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from app.errors import FileProblem
from app.imaging.decode import Decoder
from app.imaging.types import Instance
from tests.faults.bounds import children
from tests.faults.hostile_dicom import code_of, compressed
from tests.faults.seeds import encode, packed
from tests.support.hang import HANG_S

SYNTAX = "1.2.840.10008.1.2.4.90"
_TRIES = 4


def workers() -> list[int]:
    """This process's decoding processes; not Python's own helper for shared memory."""
    found: list[int] = []
    for pid in children():
        try:
            command = Path(f"/proc/{pid}/cmdline").read_bytes()
        except OSError:
            continue
        if b"spawn_main" in command:
            found.append(pid)
    return found


@pytest.fixture
def own() -> Iterator[tuple[Decoder, list[int]]]:
    """A decoder of its own, and the processes that are its."""
    others = set(workers())
    made = Decoder(2)
    made.warm()
    deadline = time.monotonic() + 30
    while len(set(workers()) - others) < 2 and time.monotonic() < deadline:
        time.sleep(0.02)
    yield made, sorted(set(workers()) - others)
    made.close()


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="finds processes in /proc")
def test_all_workers_are_killed_and_the_next_image_shows(
    own: tuple[Decoder, list[int]], tmp_path: Path
):
    decoder, pids = own
    assert len(pids) == 2
    others = set(workers()) - set(pids)
    took: list[float] = []
    for number in range(_TRIES):
        path = compressed(tmp_path / f"{number}.dcm", SYNTAX, code_of(SYNTAX)[1])
        instance = decoder.scan([path]).result(30).studies[0].series[0].instances[0]
        for pid in set(workers()) - others:
            os.kill(pid, signal.SIGKILL)
        started = time.perf_counter()
        error = decoder.frame(instance).exception(30)
        if error is not None:  # it was already on its way to a process that is gone
            assert isinstance(error, FileProblem)
            assert "process" in error.reason
            decoder.frame(instance).result(30)
        took.append(time.perf_counter() - started)
    assert min(took) < HANG_S, took


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="finds processes in /proc")
def test_a_worker_is_killed_while_it_decodes(own: tuple[Decoder, list[int]], tmp_path: Path):
    decoder, pids = own
    pixels = np.random.default_rng(1).integers(0, 4000, (2048, 2048), np.uint16)
    path = packed(tmp_path / "large.dcm", pixels, SYNTAX, [encode(SYNTAX, pixels)] * 3)
    small = compressed(tmp_path / "small.dcm", SYNTAX, code_of(SYNTAX)[1])
    large, good = (_only(decoder, one) for one in (path, small))
    waiting = [decoder.frame(large, 0), decoder.thumbnail(large)]
    time.sleep(0.1)
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    for future in waiting:
        error = future.exception(30)
        assert error is None or isinstance(error, FileProblem)
        assert error is None or error.subject == str(path)
    started = time.perf_counter()
    assert decoder.frame(good).result(30).stored.shape == (24, 24)
    assert time.perf_counter() - started < HANG_S


def _only(decoder: Decoder, path: Path) -> Instance:
    return decoder.scan([path]).result(30).studies[0].series[0].instances[0]
