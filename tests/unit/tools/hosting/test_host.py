"""The model host: a real process; what it does on errors, cancels and time-outs."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from app import paths
from app.errors import Cancelled
from app.imaging.processes.workers import Worker
from app.tools.api import CancelToken, ToolFailed, ToolRetry
from app.tools.hosting.host import DeviceQueue, ProcessHost, default_threads, likely_device
from app.tools.hosting.states import ModelState, State
from app.tools.needs import is_installed
from tests.support.forked import SPAWNING
from tests.support.hang import HANG_S

pytestmark = pytest.mark.usefixtures("forked")

ENTRIES = "tests.unit.tools.entries"


@pytest.fixture
def host() -> Iterator[ProcessHost]:
    made = ProcessHost()
    yield made
    made.close()


def call(host: ProcessHost, name: str, payload: Any = None, **options: Any) -> dict[str, Any]:
    options.setdefault("cancel", CancelToken())
    options.setdefault("timeout_s", 30.0)
    return host.call(f"{ENTRIES}:{name}", payload or {}, **options)


def until(condition: Callable[[], bool], seconds: float = 60.0) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return True
        threading.Event().wait(0.02)
    return False


def test_arrays_go_there_and_back(host: ProcessHost):
    pixels = np.arange(12, dtype=np.uint8).reshape(3, 4)
    answer = call(host, "double", {"pixels": pixels})
    np.testing.assert_array_equal(answer["pixels"], pixels * 2)


def test_the_users_keys_do_not_reach_the_process_in_which_programs_of_models_run(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(multiprocessing, "get_context", SPAWNING)  # its start is what is tested
    kept = {"SIGHTLINE_TRIAL": "kept"}
    keys = ("HF_TOKEN", "OPENAI_API_KEY", "SIGHTLINE_ANTHROPIC_KEY", "PROXY_PASSWORD")
    for name, value in {**kept, **dict.fromkeys(keys, "secret")}.items():
        monkeypatch.setenv(name, value)
    made = ProcessHost()
    try:
        found = call(made, "environment", {"names": [*keys, *kept]})
    finally:
        made.close()
    assert found == {**dict.fromkeys(keys), **kept}


@pytest.mark.skipif(not is_installed("huggingface_hub"), reason="needs huggingface_hub")
def test_neither_a_network_nor_what_others_have_fetched_is_asked_for_models(host: ProcessHost):
    hub = call(host, "hub_cache")
    assert hub["offline"] is True
    assert Path(hub["folder"]).is_relative_to(paths.cache_dir())


def test_the_process_stays_warm_between_calls_and_is_not_this_one(host: ProcessHost):
    first = call(host, "echo", {"value": 1})["pid"]
    assert first == call(host, "echo", {"value": 2})["pid"]
    assert first != os.getpid()


def test_each_device_has_its_own_process(host: ProcessHost):
    cuda = call(host, "echo", {"value": 1, "device": "cuda"})["pid"]
    cpu = call(host, "echo", {"value": 1, "device": "cpu"})["pid"]
    assert host.pids == {"cuda": cuda, "cpu": cpu}
    assert cuda != cpu


def test_auto_shares_the_process_of_the_device_that_it_means(host: ProcessHost):
    auto = call(host, "echo", {"value": 1})["pid"]
    assert call(host, "echo", {"value": 1, "device": likely_device()})["pid"] == auto


def test_progress_arrives(host: ProcessHost):
    heard: list[tuple[float, str]] = []
    call(host, "steps", progress=lambda fraction, text: heard.append((fraction, text)))
    # On a busy machine it says how long it will take, too: "step 1 (about 4 s left)".
    assert [text.partition(" (")[0] for _, text in heard] == ["step 0", "step 1", "step 2"]


@pytest.mark.parametrize("entry", ["hang", "busy"])
def test_a_cancel_ends_a_blocked_model(host: ProcessHost, entry: str):
    pid = call(host, "echo", {"value": 1})["pid"]
    cancel = CancelToken()
    caught: list[BaseException] = []

    def run() -> None:
        try:
            call(host, entry, cancel=cancel, timeout_s=60)
        except BaseException as error:
            caught.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join(0.2)
    assert thread.is_alive()
    started = time.monotonic()
    cancel.cancel()
    thread.join(60)
    assert time.monotonic() - started < HANG_S
    assert isinstance(caught[0], Cancelled)
    # The next call finds a fresh process.
    assert call(host, "echo", {"value": 1})["pid"] != pid


def test_a_call_that_was_cancelled_before_starts_nothing(host: ProcessHost):
    cancel = CancelToken()
    cancel.cancel()
    with pytest.raises(Cancelled):
        call(host, "echo", {"value": 1}, cancel=cancel)


def test_a_hang_ends_at_its_time_out_and_says_so(host: ProcessHost):
    call(host, "echo", {"value": 1})
    with pytest.raises(ToolFailed, match="took too long") as caught:
        call(host, "hang", timeout_s=0.3)
    assert "0.3 s" in caught.value.remedy
    assert call(host, "echo", {"value": 1})["value"] == 1


def test_a_crash_is_told_and_survived(host: ProcessHost):
    with pytest.raises(ToolFailed, match="crashed") as caught:
        call(host, "crash")
    assert "fresh process" in caught.value.remedy
    assert call(host, "echo", {"value": 1})["value"] == 1


def test_an_unexpected_error_keeps_its_traceback_out_of_what_the_user_reads(host: ProcessHost):
    with pytest.raises(ToolFailed) as caught:
        call(host, "fail")
    assert "Traceback" not in caught.value.text
    assert "ZeroDivisionError: planted" in caught.value.detail


def test_a_tools_own_errors_come_through_as_they_are(host: ProcessHost):
    with pytest.raises(ToolRetry) as caught:
        call(host, "retry")
    assert caught.value.text == "name another organ. Use Heart."


def test_a_missing_package_says_exactly_what_to_add(host: ProcessHost):
    with pytest.raises(ToolFailed) as caught:
        call(host, "no_torch")
    assert "torch, which is not installed" in caught.value.reason
    assert "bootstrap.py run` without --viewer-only" in caught.value.remedy


def test_out_of_memory_is_tried_once_more_on_the_processor(host: ProcessHost):
    heard: list[str] = []
    answer = call(
        host,
        "full_unless_cpu",
        {"device": "cuda"},
        progress=lambda fraction, text: heard.append(text),
    )
    assert answer["device"] == "cpu"
    assert "memory is full" in heard[0]


def test_what_does_not_fit_the_accelerator_runs_on_the_processor_and_says_so(host: ProcessHost):
    source = {"name": "a"}
    answer = call(host, "too_small_unless_cpu", {"device": "cuda", "model": source})
    assert answer["device"] == "cpu"
    assert "ran on the processor" in answer["notes"][0]
    assert answer["notes"][1:] == ["a note of its own"]
    assert host.states() == {}  # not told as a failure


def test_what_ran_on_the_processor_already_is_not_tried_there_once_more(host: ProcessHost):
    # As where a driver is found, but torch finds no accelerator.
    heard: list[str] = []
    with pytest.raises(ToolFailed, match="this computer's memory is too small"):
        call(
            host,
            "too_small_on_the_processor",
            {"device": "cuda"},
            progress=lambda fraction, text: heard.append(text),
        )
    assert heard == []
    assert list(host.pids) == ["cuda"]


def test_an_idle_end_that_meets_the_closing_is_no_error():
    worker, ended = Worker("model"), threading.Event()
    lane = DeviceQueue("cpu", worker, ended.set)
    worker.close()
    lane.end_when_idle(0.01)  # a thread that raised would fail the test
    assert ended.wait(60)
    assert until(lambda: not lane.busy)


def test_a_process_that_lost_its_device_is_replaced(host: ProcessHost):
    pid = call(host, "echo", {"value": 1})["pid"]
    with pytest.raises(ToolFailed):
        call(host, "loses_device")
    assert call(host, "echo", {"value": 1})["pid"] != pid


def killed(host: ProcessHost) -> int:
    pid = host.pids["cpu"]
    os.kill(pid, signal.SIGKILL)
    assert until(lambda: host.pids.get("cpu") != pid)
    return pid


@pytest.mark.skipif(sys.platform == "win32", reason="there is no kill -9")
def test_a_process_that_was_killed_while_nobody_asked_it_holds_no_model(host: ProcessHost):
    call(host, "loads", {"model": {"name": "a"}, "device": "cpu"})
    assert host.states()["a"].state is State.READY
    heard: list[ModelState] = []
    host.subscribe(heard.append)
    killed(host)
    assert host.states() == {}
    assert [one.state for one in heard] == [State.INSTALLED]


@pytest.mark.skipif(sys.platform == "win32", reason="there is no kill -9")
def test_a_call_after_that_loads_and_is_told_so_from_its_start(host: ProcessHost):
    for name in ("a", "b"):
        call(host, "loads", {"model": {"name": name}, "device": "cpu"})
    heard: list[ModelState] = []
    host.subscribe(heard.append)
    pid = killed(host)
    call(host, "loads", {"model": {"name": "a"}, "device": "cpu"})
    states = [(one.model, one.state) for one in heard if one.waiting == 0]
    assert ("b", State.INSTALLED) in states
    assert State.BUSY not in [s for _, s in states[: states.index(("a", State.LOADING))]]
    assert set(host.states()) == {"a"}
    assert not os.path.exists(f"/proc/{pid}")  # noqa: PTH110 - nor a zombie of it


def test_unloading_looks_at_what_is_loaded_when_it_is_its_turn(host: ProcessHost):
    runs, go_on = threading.Event(), threading.Event()

    def progress(fraction: float, text: str) -> None:
        if text == "at work":
            runs.set()
            go_on.wait(60)

    def load(name: str, **options: Any) -> threading.Thread:
        payload = {"model": {"name": name}, "device": "cpu"}
        thread = threading.Thread(target=lambda: call(host, "loads", payload, **options))
        thread.start()
        return thread

    first = load("a", progress=progress)
    assert runs.wait(60)
    waits = threading.Event()
    second = load("b", progress=lambda fraction, text: waits.set())
    assert waits.wait(60)
    third = threading.Thread(target=lambda: host.unload("a"))
    third.start()
    assert until(lambda: "unloading a model" in waiting_in(host))
    go_on.set()
    for thread in (first, second, third):
        thread.join(60)
    assert host.pids  # b is there still: the process was not ended over its head


def waiting_in(host: ProcessHost) -> list[str]:
    (lane,) = host._open_queues()  # pyright: ignore[reportPrivateUsage]
    return list(lane._calls.values())  # pyright: ignore[reportPrivateUsage]


def test_another_idle_time_holds_at_once(host: ProcessHost):
    call(host, "echo", {"value": 1})
    assert host.pids
    host.end_when_idle(0.05)
    assert until(lambda: host.pids == {})


def test_an_idle_process_gives_its_memory_back():
    made = ProcessHost(idle_s=0.1)
    call(made, "echo", {"value": 1})
    assert until(lambda: made.pids == {})
    assert call(made, "echo", {"value": 1})["value"] == 1
    made.close()


def test_after_close_nothing_runs_any_more():
    made = ProcessHost()
    pid = call(made, "echo", {"value": 1})["pid"]
    made.close()
    made.close()
    assert until(lambda: not _alive(pid))
    with pytest.raises(Cancelled):
        call(made, "echo", {"value": 1})


@pytest.mark.parametrize("how", ["closed", "cancelled", "too long"])
def test_a_call_that_is_ended_leaves_no_model_busy_and_no_process(host: ProcessHost, how: str):
    model = {"model": {"name": "a"}, "device": "cpu"}
    call(host, "loads", model)
    pid, cancel, ends = host.pids["cpu"], CancelToken(), list[BaseException]()

    def run() -> None:
        try:
            call(host, "hang", model, cancel=cancel, timeout_s=0.5 if how == "too long" else 60)
        except (Cancelled, ToolFailed) as error:
            ends.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    assert until(lambda: host.states()["a"].state is State.BUSY)
    waits = threading.Thread(target=run)
    if how == "closed":
        waits.start()
        assert until(lambda: host.states()["a"].waiting == 1)
        host.close()
        waits.join(60)
    elif how == "cancelled":
        cancel.cancel()
    thread.join(60)
    assert {type(one) for one in ends} == {ToolFailed if how == "too long" else Cancelled}
    assert not _alive(pid)
    states = {name: (one.state, one.waiting) for name, one in host.states().items()}
    assert states == ({"a": (State.FAILED, 0)} if how == "too long" else {})


def test_torch_leaves_the_window_a_core_and_fetches_nothing(host: ProcessHost):
    pytest.importorskip("torch")
    answer = call(host, "threads", timeout_s=120)
    assert answer == {"threads": default_threads(), "hub": "1"}


def test_a_viewer_only_installation_says_what_to_add_in_a_second_of_computing():
    code = """
import sys, time
sys.modules["torch"] = None  # as if it were not installed
from app.tools.needs import require_packages
from tests.support.hang import HANG_S
started = time.process_time()
try:
    require_packages("The chest segmentation", "torch")
except Exception as error:
    print(type(error).__name__, error.text)
assert time.process_time() - started < 1
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith(
        "ToolFailed The chest segmentation needs the Python package torch"
    )
    assert "python3 installer/bootstrap.py run` without --viewer-only" in done.stdout


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except OSError:
        return False
    return True
