"""Worker processes: what crashes, hangs or is cancelled there never harms the app."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from app.errors import Cancelled, FileProblem, SightlineError, WorkerDied
from app.imaging.processes import worker_process
from app.imaging.processes.worker_pool import Priority, WorkerPool
from app.imaging.processes.workers import Worker
from tests.faults.host import resident
from tests.support.forked import SPAWNING
from tests.support.hang import HANG_S

pytestmark = pytest.mark.usefixtures("forked")

ENTRIES = "tests.unit.imaging.worker_entries"


class Token:
    """A cancel token as `app.tools.api` has it."""

    def __init__(self) -> None:
        self._event = threading.Event()
        self._callbacks: list[Callable[[], None]] = []

    @property
    def cancelled(self) -> bool:
        return self._event.is_set()

    def cancel(self) -> None:
        self._event.set()
        for callback in self._callbacks:
            callback()

    def on_cancel(self, callback: Callable[[], None]) -> None:
        self._callbacks.append(callback)


@pytest.fixture
def worker() -> Iterator[Worker]:
    made = Worker("test")
    yield made
    made.close()


def call(worker: Worker, name: str, payload: dict[str, Any] | None = None, **options: Any) -> Any:
    options.setdefault("timeout_s", 30.0)
    return worker.call(f"{ENTRIES}:{name}", payload or {}, **options)


def dying(process: Any, end: Callable[[], None]) -> Callable[..., Any]:
    """`process.call` that finds its process dead."""
    calling = process.call

    def call_after_its_end(*args: Any) -> Any:
        end()
        return calling(*args)

    return call_after_its_end


def test_values_and_arrays_come_back_as_they_were_sent(worker: Worker):
    sent: dict[str, Any] = {
        "text": "Ä",
        "nothing": None,
        "nested": {"list": [1, 2.5, True], "small": np.arange(6, dtype=">i2").reshape(2, 3)},
        "empty": np.zeros((0, 4), np.float32),
        "large": np.arange(1_000_000, dtype=np.uint16).reshape(1000, 1000),
        "scalar": np.array(7),
    }
    back = call(worker, "echo", sent)
    assert back["text"] == "Ä"
    assert back["nothing"] is None
    assert back["nested"]["list"] == [1, 2.5, True]
    for key in ("empty", "large", "scalar"):
        assert back[key].dtype == sent[key].dtype
        np.testing.assert_array_equal(back[key], sent[key])
    np.testing.assert_array_equal(back["nested"]["small"], sent["nested"]["small"])
    assert not back["large"].flags.writeable


def test_a_huge_array_travels_both_ways(worker: Worker):
    array = np.random.default_rng(1).integers(0, 255, (64, 1024, 1024), np.uint8)
    np.testing.assert_array_equal(call(worker, "echo", {"array": array})["array"], array)


def test_what_cannot_be_sent_is_refused_by_name(worker: Worker):
    with pytest.raises(TypeError, match="Path"):
        call(worker, "echo", {"path": Path("x")})
    assert call(worker, "echo", {"a": 1}) == {"a": 1}


def test_a_result_that_cannot_be_sent_is_an_error(worker: Worker):
    with pytest.raises(SightlineError) as caught:
        call(worker, "hang_holding_a_large_array", {"size": 10_000_000})
    assert "cannot be sent" in caught.value.detail


def test_a_crash_is_told_in_plain_words_and_the_next_call_works(worker: Worker):
    with pytest.raises(WorkerDied, match="the test process crashed"):
        call(worker, "abort")
    assert call(worker, "echo", {"a": 1}) == {"a": 1}


@pytest.mark.skipif(sys.platform == "win32", reason="has no SIGKILL")
def test_a_process_killed_from_outside_before_its_first_call_is_replaced_for_that_call(
    worker: Worker,
):
    """It has served nothing yet, but it was not this call's file that ended it."""
    worker.start()
    process, pid = worker._process, worker.pid
    assert pid is not None
    process.call = dying(process, lambda: os.kill(pid, signal.SIGKILL))
    assert call(worker, "echo", {"a": 1}, retry=True) == {"a": 1}


def test_what_ends_the_process_that_was_started_for_it_is_not_called_again(
    worker: Worker, tmp_path: Path
):
    log = tmp_path / "log"
    with pytest.raises(WorkerDied):
        call(worker, "note_and_abort", {"log": str(log)}, retry=True)
    assert log.read_text() == "once\n"
    worker.start()
    with pytest.raises(WorkerDied):
        call(worker, "note_and_abort", {"log": str(log)}, retry=True)
    assert log.read_text() == "once\n" * 3, "a warm process, and one more"


def test_a_crash_during_a_large_transfer_is_told(worker: Worker):
    with pytest.raises(WorkerDied):
        call(worker, "abort", {"array": np.zeros(10_000_000, np.uint8)})


BROKEN = [
    '{"body": {"id": 0}, "arrays": []}',
    '{"body": {"id": 0, "kind": "result"}, "arrays": []}',
    '{"body": {"id": 0, "kind": "result", "value": [1]}, "arrays": []}',
    '{"body": {"id": 0, "kind": "progress", "fraction": [], "text": ""}, "arrays": []}',
    '{"body": {"id": 0, "kind": "progress", "fraction": 1}, "arrays": []}',
    '{"body": {"id": 0, "kind": "error", "type": "Cancelled"}, "arrays": []}',
    '{"body": {"id": 0, "kind": {}}, "arrays": []}',
    '{"body": [], "arrays": []}',
    '{"arrays": 5}',
    "[" * 100_000,
    "not even JSON",
]


@pytest.mark.skipif(sys.platform != "linux", reason="/proc")
@pytest.mark.parametrize("text", BROKEN)
def test_an_answer_that_makes_no_sense_is_the_end_of_its_process(worker: Worker, text: str):
    with pytest.raises(WorkerDied, match="sent a broken answer"):
        call(worker, "speak", {"text": text})
    assert call(worker, "echo", {"a": 1}) == {"a": 1}


@pytest.mark.skipif(sys.platform != "linux", reason="/proc")
def test_an_answer_of_very_many_values_is_not_parsed(worker: Worker):
    before = resident()
    with pytest.raises(WorkerDied, match="sent a broken answer"):
        call(worker, "flood")
    assert resident() - before < 2**28


@pytest.mark.skipif(sys.platform != "linux", reason="/proc")
def test_an_answer_that_drips_for_ever_is_cut_off(worker: Worker, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(worker_process, "MESSAGE_S", 0.5)
    call(worker, "pid")
    started = time.monotonic()
    with pytest.raises(WorkerDied):
        call(worker, "speak", {"text": "{", "length": 2**20, "drip": True}, timeout_s=60)
    assert time.monotonic() - started < 10
    assert call(worker, "echo", {"a": 1}) == {"a": 1}


def test_a_hang_ends_at_its_time_limit(worker: Worker):
    call(worker, "pid")
    started = time.monotonic()
    with pytest.raises(WorkerDied, match="took too long"):
        call(worker, "hang", timeout_s=0.3)
    assert time.monotonic() - started < HANG_S
    assert call(worker, "echo", {"a": 1}) == {"a": 1}


def test_a_cancel_ends_a_hang(worker: Worker):
    call(worker, "pid")
    token = Token()
    cancelled_at: list[float] = []

    def cancel() -> None:
        cancelled_at.append(time.monotonic())
        token.cancel()

    threading.Timer(0.2, cancel).start()
    with pytest.raises(Cancelled):
        call(worker, "hang", cancel=token)
    assert time.monotonic() - cancelled_at[0] < HANG_S


def test_a_cancelled_function_that_reports_progress_keeps_its_process(worker: Worker):
    first = call(worker, "pid")["pid"]
    token = Token()
    seen: list[tuple[float, str]] = []

    def progress(fraction: float, text: str) -> None:
        seen.append((fraction, text))
        token.cancel()

    with pytest.raises(Cancelled):
        call(worker, "steps", {"count": 1000, "pause_s": 0.01}, cancel=token, progress=progress)
    assert seen[0] == (0.0, "step 0")
    assert call(worker, "pid")["pid"] == first


def test_a_call_already_cancelled_starts_nothing(worker: Worker):
    token = Token()
    token.cancel()
    with pytest.raises(Cancelled):
        call(worker, "echo", cancel=token)
    assert worker.pid is None


def test_our_own_errors_keep_type_subject_reason_and_remedy(worker: Worker):
    with pytest.raises(FileProblem) as caught:
        call(worker, "refuse")
    error = caught.value
    assert (error.subject, error.reason) == ("/tmp/a.dcm", "it is empty")
    assert (error.remedy, error.detail) == ("Copy it again.", "0 B")


@pytest.mark.parametrize(("entry", "name"), [("fail", "ZeroDivisionError"), ("panic", "Panic")])
def test_any_other_error_keeps_its_traceback_and_the_process(worker: Worker, entry: str, name: str):
    with pytest.raises(SightlineError) as caught:
        call(worker, entry)
    assert name in caught.value.reason
    assert "worker_entries.py" in caught.value.detail
    assert worker.pid is not None


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux enforces RLIMIT_AS")
def test_more_memory_than_allowed_is_an_error_and_the_process_is_replaced():
    worker = Worker("test", memory_limit_bytes=1024**3)
    try:
        first = call(worker, "pid")["pid"]
        with pytest.raises(WorkerDied, match="memory"):
            call(worker, "devour")
        assert call(worker, "pid")["pid"] != first
    finally:
        worker.close()


def test_a_worker_starts_light_and_less_urgent(worker: Worker, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(multiprocessing, "get_context", SPAWNING)  # its start is what is tested
    answer = call(worker, "modules")
    heavy = {"PySide6", "torch", "pydicom", "SimpleITK", "pytest", "app.cli"}
    if sys.modules["__main__"].__spec__ is None:
        heavy.discard("pytest")  # started by its script, which spawn imports again
    assert not heavy & set(answer["names"])
    if sys.platform != "win32":
        assert answer["nice"] >= min(19, os.nice(0) + 5)


def test_the_environment_is_set_before_anything_is_imported():
    worker = Worker("test", env={"SIGHTLINE_TEST": "yes"})
    try:
        assert call(worker, "environment", {"name": "SIGHTLINE_TEST"})["value"] == "yes"
        assert call(worker, "environment", {"name": "OMP_NUM_THREADS"})["value"] == "1"
        assert "SIGHTLINE_TEST" not in os.environ
    finally:
        worker.close()


def test_closing_ends_a_running_call():
    worker = Worker("test")
    call(worker, "pid")
    threading.Timer(0.2, worker.close).start()
    with pytest.raises(Cancelled):
        call(worker, "hang")
    with pytest.raises(Cancelled):
        call(worker, "pid")


def test_calls_from_several_threads_take_turns(worker: Worker):
    results: list[int] = []
    threads = [
        threading.Thread(target=lambda n=n: results.append(call(worker, "echo", {"n": n})["n"]))
        for n in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(results) == list(range(8))


APP = textwrap.dedent(
    """
    import os, sys, threading
    from app.imaging.processes.workers import Worker
    from app.imaging.processes.worker_pool import WorkerPool

    if __name__ == "__main__":
        worker = Worker("test")
        entries = "tests.unit.imaging.worker_entries"
        print(worker.call(entries + ":pid", {}, timeout_s=30)["pid"], flush=True)
        worker.call(entries + ":chatter", {}, timeout_s=30)
        pool = WorkerPool(1)
        pool.submit(entries + ":hang", {})
        threading.Thread(
            target=worker.call, args=(entries + ":hang", {}), kwargs={"timeout_s": 100}, daemon=True
        ).start()
        if sys.argv[1] == "die":
            os.kill(os.getpid(), 9)
    """
)


def process_is_gone(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()[0]
    except OSError:
        return True
    return state == "Z"


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks at /proc")
@pytest.mark.parametrize("how", ["leave", "die"])
def test_the_app_leaves_at_once_and_its_workers_with_it(how: str, tmp_path: Path, repo: Path):
    script = tmp_path / "script.py"
    script.write_text(APP, encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(repo)}
    done = subprocess.run(
        [sys.executable, str(script), how],
        cwd=repo,
        env=environment,
        stdout=subprocess.PIPE,
        timeout=120,
        check=False,
    )
    assert done.returncode == (0 if how == "leave" else -9)
    lines = done.stdout.decode().split()
    assert len(lines) == 1, "what a worker prints must not reach the app's standard output"
    deadline = time.monotonic() + 60
    while not process_is_gone(int(lines[0])):
        assert time.monotonic() < deadline, "the worker outlived the app"


def test_a_pool_serves_the_most_urgent_first_and_drops_what_was_cancelled():
    pool = WorkerPool(1, "test")
    try:
        entry = f"{ENTRIES}:note"
        blocker = pool.submit(entry, {"name": "blocker", "pause_s": 0.5})
        while not blocker.running():
            pass
        later = [
            pool.submit(entry, {"name": name}, priority=priority)
            for name, priority in (
                ("prefetch", Priority.PREFETCH),
                ("dropped", Priority.NEIGHBOUR),
                ("promoted", Priority.PREFETCH),
                ("thumbnail", Priority.THUMBNAIL),
                ("visible", Priority.VISIBLE),
            )
        ]
        assert later[1].cancel()
        pool.raise_priority(later[2], Priority.NEIGHBOUR)
        kept = [future for future in later if future is not later[1]]
        order = sorted((future.result(20) for future in kept), key=lambda note: note["at"])
        names = [note["name"] for note in order]
        assert names == ["visible", "promoted", "thumbnail", "prefetch"]
    finally:
        pool.close()


def test_a_pool_goes_on_after_a_crash_and_cancels_what_waits_when_closed():
    pool = WorkerPool(1, "test")
    crash = pool.submit(f"{ENTRIES}:abort", {})
    with pytest.raises(WorkerDied):
        crash.result(20)
    assert pool.submit(f"{ENTRIES}:echo", {"a": 1}).result(20) == {"a": 1}
    running = pool.submit(f"{ENTRIES}:hang", {})
    waiting = pool.submit(f"{ENTRIES}:echo", {})
    while not running.running():
        pass
    pool.close()
    assert waiting.cancelled()
    with pytest.raises(Cancelled):
        running.result(5)


def test_a_token_that_outlives_its_requests_does_not_keep_their_answers():
    """A scan of 100,000 files asks thousands of times with one token."""
    pool = WorkerPool(1, "test")
    token = Token()
    try:
        future = pool.submit(f"{ENTRIES}:echo", {"text": "x"}, cancel=token)
        assert future.result(30) == {"text": "x"}
        reference = weakref.ref(future)
        del future
        pool.submit(f"{ENTRIES}:echo", {}).result(30)  # its worker has let go of the first
        assert reference() is None
    finally:
        pool.close()


def test_a_request_does_not_wait_for_a_process_that_is_slow_to_start(
    monkeypatch: pytest.MonkeyPatch,
):
    """On a busy machine a process takes seconds: the others do the work meanwhile."""
    pool = WorkerPool(2, "test")
    may_start = threading.Event()
    slow: list[Worker] = []
    start, lock = Worker.start, threading.Lock()

    def start_slowly(worker: Worker) -> None:
        with lock:
            if not slow:
                slow.append(worker)
        if worker is slow[0]:
            may_start.wait(30)
        start(worker)

    monkeypatch.setattr(Worker, "start", start_slowly)
    try:
        replies = [pool.submit(f"{ENTRIES}:echo", {"number": n}) for n in range(8)]
        assert [reply.result(20)["number"] for reply in replies] == list(range(8))
        assert slow[0].pid is None
    finally:
        may_start.set()
        pool.close()
