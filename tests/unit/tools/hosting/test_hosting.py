"""Time left, states and devices: the parts of the host that need no process."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from app.errors import Cancelled, WorkerDied
from app.tools.api import ToolFailed
from app.tools.hosting import protocol
from app.tools.hosting.host import CallTracker, device_name, likely_device
from app.tools.hosting.states import Durations, Estimate, ModelState, State, StateBoard, in_words


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_time_left_follows_the_fraction_where_nothing_is_known():
    clock = Clock()
    estimate = Estimate(None, clock)
    assert estimate.left(0.05) is None  # too early to tell
    clock.now = 10.0
    assert estimate.left(0.25) == pytest.approx(30.0)


def test_the_time_that_loading_took_is_not_taken_for_the_pace_of_the_work():
    clock = Clock()
    estimate = Estimate(None, clock)
    clock.now = 40.0  # loading
    estimate.start_work()
    assert estimate.left(0.1) is None
    clock.now = 44.0
    assert estimate.left(0.2) == pytest.approx(32.0), "4 s for a tenth, not 44 s for a fifth"


def test_time_left_starts_with_what_such_calls_took_and_ends_with_the_fraction():
    clock = Clock()
    estimate = Estimate(40.0, clock)
    assert estimate.left(0.0) == 40.0
    clock.now = 20.0
    # Half is done: half by the fraction (20 s), half by what it took before (20 s).
    assert estimate.left(0.5) == pytest.approx(20.0)
    clock.now = 60.0
    assert estimate.left(0.75) == pytest.approx(15.0)  # it is over its usual time


def test_the_last_seconds_are_not_counted_down():
    clock = Clock()
    estimate = Estimate(10.0, clock)
    clock.now = 8.0
    assert estimate.left(0.0) is None


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (12.4, "about 12 s left"),
        (43.0, "about 45 s left"),
        (100.0, "about 2 min left"),
        (600.0, "about 10 min left"),
    ],
)
def test_time_left_in_words(seconds: float, words: str):
    assert in_words(seconds) == words


def test_what_calls_took_is_kept_between_programs(tmp_path: Path):
    file = tmp_path / "durations.json"
    first = Durations(lambda: file)
    for seconds in (10.0, 12.0, 50.0):
        first.add("entry|model|cpu|warm", seconds)
    assert Durations(lambda: file).median("entry|model|cpu|warm") == 12.0


def test_quick_calls_are_not_kept(tmp_path: Path):
    file = tmp_path / "durations.json"
    Durations(lambda: file).add("entry|model|cpu|warm", 0.1)
    assert not file.exists()


def test_of_many_kinds_of_calls_the_latest_are_kept_and_of_each_the_last_five(tmp_path: Path):
    file = tmp_path / "durations.json"
    durations = Durations(lambda: file)
    for number in range(310):
        durations.add(f"entry|model{number}|cpu|warm", 10.0)
    for seconds in (90.0, 90.0, 90.0, 20.0, 20.0, 20.0, 20.0, 20.0):
        durations.add("entry|model309|cpu|warm", seconds)
    again = Durations(lambda: file)
    assert again.median("entry|model0|cpu|warm") is None
    assert again.median("entry|model10|cpu|warm") == 10.0
    assert again.median("entry|model309|cpu|warm") == 20.0


def test_a_broken_or_unwritable_file_of_durations_costs_nothing(tmp_path: Path):
    file = tmp_path / "durations.json"
    file.write_text('{"a": "no list of seconds"}')
    assert Durations(lambda: file).median("a") is None
    nowhere = Durations(lambda: tmp_path / "missing" / "durations.json")
    nowhere.add("a", 10.0)
    assert nowhere.median("a") == 10.0


def test_a_call_that_takes_long_tells_how_long_still(tmp_path: Path):
    durations = Durations(lambda: tmp_path / "durations.json")
    durations.add("chest:entry|m|cpu|cold", 30.0)
    heard: list[str] = []
    board = StateBoard()
    following = CallTracker(board, "cpu", "m", lambda _, text: heard.append(text), durations)
    following.begin("chest:entry")
    following.progress(0.0, "Loading the model")
    assert heard == ["Loading the model (about 30 s left)"]
    assert board.states()["m"].left_s == pytest.approx(30.0, abs=1.0)


def test_an_event_of_the_process_is_no_text_for_people():
    heard: list[str] = []
    following = CallTracker(StateBoard(), "cpu", "m", lambda _, text: heard.append(text))
    following.begin("chest:entry")
    following.progress(0.0, protocol.event_text(protocol.WORKING))
    following.progress(0.0, "\x1e not what was agreed on")
    assert heard == []


def loaded(board: StateBoard, *models: str, lane: str = "cpu") -> None:
    one = {"device": lane, "dtype": "float32", "memory": 5}
    board.set_loaded(lane, [{"model": model, **one} for model in models])


def test_a_model_that_was_evicted_for_another_is_only_installed():
    board, heard = StateBoard(), list[ModelState]()
    loaded(board, "a")
    board.subscribe(heard.append)
    loaded(board, "b")
    assert [(one.model, one.state) for one in heard] == [
        ("a", State.INSTALLED),
        ("b", State.READY),
    ]


def test_one_on_its_way_and_one_that_failed_stay_told_when_others_are_loaded():
    board = StateBoard()
    board.set("cpu", ModelState("loads", State.LOADING))
    board.set("cpu", ModelState("failed", State.FAILED, why="a shard is missing"))
    loaded(board, "a")
    assert {name: one.state for name, one in board.states().items()} == {
        "a": State.READY,
        "failed": State.FAILED,
        "loads": State.LOADING,
    }
    loaded(board, "a", "failed")
    mended = board.states()["failed"]
    assert (mended.state, mended.why) == (State.READY, "")


def test_progress_is_told_rarely_and_a_change_of_state_always():
    board, heard = StateBoard(), list[ModelState]()
    loaded(board, "a")
    board.subscribe(heard.append)
    for step in range(1000):
        board.progress("cpu", "a", step / 1000, f"{step} tokens written", None)
    assert len(heard) < 100
    assert board.states()["a"].doing == "999 tokens written"
    board.set("cpu", ModelState("a", State.BUSY))
    assert heard[-1].state is State.BUSY


def test_memory_that_runs_out_at_work_is_told_of_the_model():
    board = StateBoard()
    loaded(board, "a")
    following = CallTracker(board, "cpu", "a", None, None)
    following.begin("chest:entry")
    following.failed(protocol.OutOfMemory("memory is too small"), alive=True)
    assert board.states()["a"].state is State.FAILED
    assert board.states()["a"].why == "memory is too small"


def test_a_model_that_never_said_that_it_is_loaded_is_not_told_ready():
    board = StateBoard()
    following = CallTracker(board, "cpu", "a", None, None)
    following.begin("chest:entry")
    following.progress(0.1, protocol.event_text(protocol.WORKING))
    following.done()
    assert board.states() == {}


def test_a_process_that_ends_takes_its_models_along_but_not_the_reason_of_a_failure():
    board = StateBoard()
    loaded(board, "a")
    following = CallTracker(board, "cpu", "b", None, None)
    following.begin("chest:entry")
    following.failed(WorkerDied("the model process crashed"), alive=False)
    states = board.states()
    assert list(states) == ["b"]
    assert (states["b"].state, states["b"].why) == (State.FAILED, "the model process crashed")


def test_an_image_that_a_model_refuses_is_no_failure_of_the_model():
    board = StateBoard()
    loaded(board, "a")
    following = CallTracker(board, "cpu", "a", None, None)
    following.begin("chest:entry")
    following.failed(ToolFailed("this is no chest"), alive=True)
    assert board.states()["a"].state is State.READY


def test_a_cancel_while_it_loads_leaves_it_unloaded_and_unblamed():
    board = StateBoard()
    following = CallTracker(board, "cpu", "a", None, None)
    following.begin("chest:entry")
    following.failed(Cancelled(), alive=True)
    assert board.states() == {}


def test_a_model_in_two_processes_is_told_by_the_one_that_works():
    board = StateBoard()
    loaded(board, "a", lane="cuda")
    loaded(board, "a", lane="cpu")
    board.set("cuda", ModelState("a", State.BUSY, device="cuda"))
    assert board.states()["a"].device == "cuda"


def test_a_listener_that_fails_harms_neither_the_call_nor_the_other_listeners(
    caplog: pytest.LogCaptureFixture,
):
    board, heard = StateBoard(), list[ModelState]()

    def fails(state: ModelState) -> None:
        raise ZeroDivisionError

    board.subscribe(fails)
    board.subscribe(heard.append)
    loaded(board, "a")
    assert len(heard) == 1
    assert "a listener to model states failed" in caplog.text


def test_after_its_end_a_subscription_hears_nothing():
    board, heard = StateBoard(), list[ModelState]()
    end = board.subscribe(heard.append)
    end()
    end()
    loaded(board, "a")
    assert heard == []


@pytest.mark.skipif(sys.platform == "darwin", reason="its accelerator cannot be hidden")
def test_without_an_accelerator_auto_means_the_processor(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    likely_device.cache_clear()
    try:
        assert device_name("auto") == "cpu"
        assert device_name("") == "cpu"
        assert device_name("cuda") == "cuda"
    finally:
        likely_device.cache_clear()
