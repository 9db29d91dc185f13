"""What a hostile file may cost in time and memory."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Generator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from app.errors import FileProblem
from app.imaging.decode import Decoder
from app.imaging.types import Content, Instance
from tests.faults.host import RAW, resident

SECONDS = 10.0
"""A second is promised, on a quiet machine; on a busy one the same work is charged more time."""
BYTES = 2**30
_HOST_GROWTH = 2**27
_POLL_S = 0.005
_TRIES = 3


@dataclass(slots=True)
class Cost:
    """What opening a file took.

    Attributes:
        seconds: Computed until the answer, by this process and its workers: other programs on the
            machine, which delay the answer, are not meant.
        worker_bytes: The most that any worker process held.
        reasons: Why it, or a part of it, is not shown.
        shown: Instances of which a frame, report or layer was given.
    """

    seconds: float = 0.0
    worker_bytes: int = 0
    reasons: list[str] = field(default_factory=list[str])
    shown: int = 0


_OWN_PROGRAM = Path("/proc/self/cmdline")


def children() -> list[int]:
    """Processes that this one started."""
    found: list[int] = []
    for task in Path("/proc/self/task").glob("*/children"):
        try:
            found += map(int, task.read_text(encoding="ascii").split())
        except OSError:
            continue
    return found


def peak(pid: int) -> int:
    """The most bytes of memory that a process ever held; 0 when it is gone.

    A child that is only being started shares this process's memory until it runs its own program:
    that is not its own.
    """
    try:
        if Path(f"/proc/{pid}/cmdline").read_bytes() == _OWN_PROGRAM.read_bytes():
            return 0
        lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines()
    except (OSError, UnicodeDecodeError):
        return 0
    return max((int(one.split()[1]) * 1024 for one in lines if one.startswith("VmHWM")), default=0)


@contextmanager
def watched() -> Generator[Callable[[], int]]:
    """Gives the most memory that any child held since; peaks from before are forgotten.

    A child that was there before and has taken none since is not meant: another test's model.
    """
    before: dict[int, int] = {}
    for pid in children():
        try:
            Path(f"/proc/{pid}/clear_refs").write_text("5", encoding="ascii")
        except OSError:
            continue
        before[pid] = peak(pid)
    most = 0
    stop = threading.Event()

    def highest() -> int:
        peaks = {pid: peak(pid) for pid in children()}
        return max((held for pid, held in peaks.items() if held != before.get(pid)), default=0)

    def look() -> None:
        nonlocal most
        while True:
            most = max(most, highest())
            if stop.wait(_POLL_S):
                return

    watcher = threading.Thread(target=look, daemon=True)
    watcher.start()
    try:
        yield lambda: max(most, highest())
    finally:
        stop.set()
        watcher.join()


def computed_s() -> float:
    """Seconds that this process and its children, the dead ones included, have computed."""
    times = os.times()
    total = times.user + times.system + times.children_user + times.children_system
    for pid in children():
        try:
            parts = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
        except (OSError, UnicodeDecodeError):
            continue
        total += (int(parts[11]) + int(parts[12])) / os.sysconf("SC_CLK_TCK")
    return total


def open_all(decoder: Decoder, path: Path) -> Cost:
    """Scan a path, and ask for all that the window would ask for first."""
    cost = Cost()
    with watched() as most:
        started = computed_s()
        result = decoder.scan([path]).result(90)
        cost.reasons += [problem.reason for problem in result.problems if not problem.remark]
        for study in result.studies:
            for series in study.series:
                for instance in series.instances[:2]:
                    _show(decoder, instance, cost)
        cost.seconds = computed_s() - started
        cost.worker_bytes = most()
    return cost


def _show(decoder: Decoder, instance: Instance, cost: Cost) -> None:
    calls: list[Callable[[], Future[Any]]] = [lambda: decoder.attributes(instance)]
    if instance.has_frames:
        calls.append(lambda: decoder.frame(instance, instance.frames - 1))
    elif instance.content in (Content.REPORT, Content.KEY_OBJECTS):
        calls.append(lambda: decoder.report(instance))
    elif instance.content is Content.STRUCTURES:
        calls.append(lambda: decoder.layer(instance))
    elif instance.content is Content.PRESENTATION:
        calls.append(lambda: decoder.presentation(instance))
    for number, call in enumerate(calls):
        error = call().exception(90)
        if error is None:
            cost.shown += number > 0
            continue
        assert isinstance(error, FileProblem), repr(error)
        assert error.subject.startswith(str(instance.path)), error.subject
        cost.reasons.append(error.reason)


def assert_cheap(decoder: Decoder, path: Path) -> Cost:
    """Open it within the bounds; on a busy machine the quickest of three times counts."""
    before = resident()
    best: Cost | None = None
    for _ in range(_TRIES):
        cost = open_all(decoder, path)
        assert cost.worker_bytes < BYTES, f"{cost.worker_bytes >> 20} MB in a worker"
        assert resident() - before < _HOST_GROWTH, "the window's process grew"
        best = cost if best is None or cost.seconds < best.seconds else best
        if best.seconds < SECONDS:
            break
    assert best is not None
    assert best.seconds < SECONDS, f"{best.seconds:.2f} s: {best.reasons}"
    for reason in best.reasons:
        assert reason, "no reason"
        assert not RAW.search(reason), f"no plain reason: {reason}"
    return best


def assert_refused(decoder: Decoder, path: Path, words: str = "") -> Cost:
    """Open it: nothing of it is shown, for a reason in plain words, within the bounds."""
    cost = assert_cheap(decoder, path)
    assert cost.reasons, "it was not refused"
    assert cost.shown == 0, "something was shown"
    assert words in " ".join(cost.reasons), cost.reasons
    assert "process" not in " ".join(cost.reasons), f"a worker died: {cost.reasons}"
    return cost
