"""Loading, keeping and unloading in the model process, and what is done when memory runs out."""

from __future__ import annotations

import os
import signal
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from app.errors import Cancelled
from app.tools.api import CancelToken, ToolFailed
from app.tools.hosting.host import ProcessHost
from app.tools.hosting.protocol import ProcessorOutOfMemory
from app.tools.hosting.states import ModelState, State
from app.tools.models.store import ModelStore
from tests.unit.tools.model_support import CONTENT, FILES, foldered, store, write_files

pytest.importorskip("torch")

from app.tools.model_process import memory
from app.tools.model_process.serving import files_unchanged

ENTRIES = "tests.unit.tools.serving_entries"
MIB = 2**20


@pytest.fixture
def host(model_process: ProcessHost) -> ProcessHost:
    """The shared process, with nothing loaded or told that a test must not find."""
    empty(model_process)
    for model in model_process.states():
        model_process.forget(model)
    return model_process


def empty(host: ProcessHost) -> None:
    """Unload all; the process stays, which the host itself would end."""
    entry = "app.tools.model_process.serving:unload"
    host.call(entry, {}, cancel=CancelToken(), timeout_s=120)


def report(host: ProcessHost) -> dict[str, Any]:
    entry = "app.tools.model_process.serving:report"
    return host.call(entry, {}, cancel=CancelToken(), timeout_s=120)


def loaded(host: ProcessHost) -> list[str]:
    return [one["model"] for one in report(host)["models"]]


class Files:
    """Model files of one test: they need only be there."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def payload(self, name: str, memory: int = 0, **more: Any) -> dict[str, Any]:
        path = self.folder / f"{name}.safetensors"
        if not path.exists():
            path.write_bytes(b"x" * 100)
        figures = {"float32": memory} if memory else {}
        source = {"name": name, "path": str(path), "sha256": name, "memory": figures}
        return {"model": source, "device": "cpu", **more}


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)


def call(
    host: ProcessHost, payload: dict[str, Any], entry: str = "run", **options: Any
) -> dict[str, Any]:
    options.setdefault("cancel", CancelToken())
    options.setdefault("timeout_s", 60.0)
    return host.call(f"{ENTRIES}:{entry}", payload, **options)


def test_a_second_call_does_not_load_again(host: ProcessHost, files: Files):
    assert call(host, files.payload("a"))["loads"] == 1
    assert call(host, files.payload("a"))["loads"] == 0


def test_a_file_that_was_exchanged_is_loaded_anew_and_the_old_one_goes(
    host: ProcessHost, files: Files
):
    call(host, files.payload("a"))
    (files.folder / "a.safetensors").write_bytes(b"another")
    assert call(host, files.payload("a"))["loads"] == 1
    assert loaded(host) == ["a"]


def test_the_least_recently_used_goes_for_one_that_does_not_fit(host: ProcessHost, files: Files):
    options = {"size": 512, "limit": "3500K"}  # three models of 1 MB
    for name in ("a", "b", "c", "a", "d"):
        call(host, files.payload(name, MIB, **options))
    assert loaded(host) == ["c", "a", "d"]


def test_what_fits_no_memory_at_all_is_refused_before_it_is_loaded(host: ProcessHost, files: Files):
    with pytest.raises(ToolFailed, match="memory is too small for this model") as caught:
        call(host, files.payload("huge", 10**15))
    assert "Close other programs" in caught.value.remedy
    assert "needs 500000.0 GB" in caught.value.detail
    assert loaded(host) == []


def test_memory_that_runs_out_first_costs_the_other_models(host: ProcessHost, files: Files):
    call(host, files.payload("a"))
    answer = call(host, files.payload("b", fits_others=0))
    assert answer["notes"] == [
        "memory was too small: the other models were unloaded, and it was repeated"
    ]
    assert loaded(host) == ["b"]
    assert set(host.states()) == {"b"}  # nor is the other one told as ready still


def test_where_nothing_helps_all_that_went_for_it_is_told(host: ProcessHost, files: Files):
    call(host, files.payload("a"))
    call(host, files.payload("b"))
    with pytest.raises(ToolFailed, match="memory is too small"):
        call(host, files.payload("b", fits_dtype="none", exact=True))
    assert loaded(host) == []
    assert {name: one.state for name, one in host.states().items()} == {"b": State.FAILED}


def test_then_the_work_is_done_in_smaller_parts(host: ProcessHost, files: Files):
    answer = call(host, files.payload("a", fits_share=0.3))
    assert answer["notes"][-1] == (
        "memory was too small: it was done in parts of 1/4 of the usual size"
    )
    assert answer["loads"] == 1
    assert answer["dtype"] == "float32"


def test_an_eighth_of_the_usual_size_is_the_least_that_is_tried(host: ProcessHost, files: Files):
    answer = call(host, files.payload("a", fits_share=0.125))
    assert "1/8" in answer["notes"][-1]
    with pytest.raises(ToolFailed, match="memory is too small"):
        call(host, files.payload("a", fits_share=0.1, exact=True))


def test_then_it_is_computed_less_precisely(host: ProcessHost, files: Files):
    answer = call(host, files.payload("a", fits_dtype="bfloat16"))
    assert (answer["dtype"], answer["loads"]) == ("bfloat16", 2)
    # Its work asks for no share, so smaller parts would only have done the same again.
    assert answer["tries"] == ["float32", "bfloat16"]
    assert "less precisely" in answer["notes"][-1]


def test_of_the_steps_that_were_tried_only_those_that_hold_are_told(
    host: ProcessHost, files: Files
):
    # Smaller parts did not help, so the whole was done at once in the end.
    answer = call(host, files.payload("a", fits_dtype="bfloat16", fits_share=1.0))
    assert answer["notes"] == [
        "memory was too small: computed in bfloat16, less precisely than usual"
    ]


def test_what_fits_only_less_precisely_stays_loaded_so_and_is_told_each_time(
    host: ProcessHost, files: Files
):
    payload = files.payload("a", 4 * MIB, limit="3M")
    first, second = call(host, payload), call(host, payload)
    assert (first["loads"], second["loads"]) == (1, 0)
    assert first["dtype"] == second["dtype"] == "bfloat16"
    assert first["notes"] == second["notes"]
    assert "less precisely" in second["notes"][0]
    roomy = call(host, files.payload("a", 4 * MIB))
    assert (roomy["dtype"], roomy["notes"]) == ("float32", [])


def test_a_model_whose_figures_are_compared_is_never_computed_less_precisely(
    host: ProcessHost, files: Files
):
    with pytest.raises(ToolFailed, match="memory is too small") as caught:
        call(host, files.payload("a", fits_dtype="bfloat16", exact=True))
    assert isinstance(caught.value.__cause__, ProcessorOutOfMemory)
    assert loaded(host) == []


@pytest.mark.skipif(sys.platform != "linux", reason="the cap is a limit of Linux")
def test_a_real_cap_on_memory_is_survived_and_smaller_parts_get_through(
    host: ProcessHost, files: Files
):
    pid = host.pids["cpu"]
    wants = {"wants": 800 * MIB, "left": 300 * MIB}
    with pytest.raises(ToolFailed, match="memory is too small"):
        call(host, files.payload("a", **wants), "capped")
    answer = call(host, files.payload("a", **wants, parts=True), "capped")
    assert answer["taken"] == 200 * MIB
    assert "1/4" in answer["notes"][-1]
    assert host.pids["cpu"] == pid


def test_what_failed_to_load_leaves_nothing_behind(host: ProcessHost, files: Files):
    size = 3000  # 36 MB
    call(host, files.payload("a", size=size))
    empty(host)
    before = report(host)["resident"]
    for _ in range(3):
        with pytest.raises(ToolFailed) as caught:
            call(host, files.payload("b", size=size, load_fails=True))
        assert "a shard is missing" in caught.value.detail
    assert report(host)["resident"] - before < 18 * MIB
    assert loaded(host) == []


@pytest.fixture
def installed(tmp_path: Path) -> ModelStore:
    """A models folder with an installed model, and a program of its own that may change it."""
    made = store(tmp_path)
    made.install(made.plan_install(write_files(tmp_path, {"test-net.pt": CONTENT}) / "test-net.pt"))
    return made


def wanted(made: ModelStore, **more: Any) -> dict[str, Any]:
    return {**made.require("test-net", "A tool").payload("cpu"), **more}


@pytest.mark.parametrize("change", ["replaced", "removed"])
@pytest.mark.parametrize("fails", [False, True])
def test_what_is_replaced_while_it_is_loaded_answers_nothing_and_is_not_kept(
    host: ProcessHost, installed: ModelStore, tmp_path: Path, change: str, fails: bool
):
    """The answer would name files that it does not come from, or half of them."""
    (tmp_path / "later").write_bytes(CONTENT)
    payload = wanted(installed, load_fails=fails, **{change: str(tmp_path / "later")})
    with pytest.raises(ToolFailed, match="replaced or removed while it was being loaded") as caught:
        call(host, payload)
    assert "Ask again" in caught.value.remedy
    assert loaded(host) == []
    if change == "replaced":
        assert call(host, wanted(installed))["loads"] == 1


def test_what_was_replaced_before_it_is_loaded_is_not_taken_for_what_was_looked_at(
    host: ProcessHost, installed: ModelStore, tmp_path: Path
):
    payload = wanted(installed)
    assert call(host, payload)["loads"] == 1
    installed.install(installed.plan_install(tmp_path / "test-net.pt"))
    with pytest.raises(ToolFailed, match="replaced or removed"):
        call(host, payload)
    assert call(host, wanted(installed))["loads"] == 1
    payload = wanted(installed)
    installed.remove("test-net")
    with pytest.raises(ToolFailed, match="replaced or removed"):
        call(host, payload)


def test_of_a_folder_each_file_is_one_that_was_looked_at(tmp_path: Path):
    made = store(tmp_path, foldered())
    folder = write_files(made.folder / "test-folder", FILES)
    source = made.require("test-folder", "A tool").payload("cpu")["model"]
    assert set(source["files"]) == set(FILES)
    assert files_unchanged(source)
    (folder / "tokenizer" / "vocab.txt").write_bytes(b"b\na\n")
    os.utime(folder / "tokenizer" / "vocab.txt", ns=(1, 1))
    assert not files_unchanged(source)


def test_what_went_for_a_model_that_failed_to_load_is_not_told_as_ready(
    host: ProcessHost, files: Files
):
    tight = {"size": 512, "limit": "1500K"}
    call(host, files.payload("a", MIB, **tight))
    with pytest.raises(ToolFailed):
        call(host, files.payload("b", MIB, load_fails=True, **tight))
    assert {name: one.state for name, one in host.states().items()} == {"b": State.FAILED}


@pytest.mark.parametrize(
    ("text", "size"),
    [("8G", 8 * 2**30), (" 1.5gb ", 3 * 2**29), ("500MiB", 500 * MIB), ("123", 123), ("2T", 2**41)],
)
def test_the_budget_is_read_as_people_write_it(text: str, size: int):
    assert memory.parse_bytes(text) == size


@pytest.mark.parametrize("text", ["", "all", "-1G", "8X", "8 G B"])
def test_what_is_no_size_is_no_budget(text: str):
    assert memory.parse_bytes(text) is None


def test_a_cancel_while_it_loads_leaves_nothing_half_loaded(host: ProcessHost, files: Files):
    def cancelled() -> bool:
        """Whether the process that was cancelled stopped by itself: it is there still."""
        cancel = CancelToken()
        pid = host.pids["cpu"]

        def stop(fraction: float, text: str) -> None:
            if "shard" in text:
                cancel.cancel()

        with pytest.raises(Cancelled):
            call(
                host,
                files.payload("a", load_steps=100, load_s=0.02),
                cancel=cancel,
                progress=stop,
            )
        assert loaded(host) == []
        return host.pids["cpu"] == pid

    # What was loaded before is kept, unless other programs let it come too late, and it is killed.
    assert any(cancelled() for _ in range(3))


@pytest.mark.skipif(sys.platform != "linux", reason="resident memory is read as Linux tells it")
def test_fifty_models_come_and_go_and_memory_returns_to_within_5_percent(
    host: ProcessHost, files: Files
):
    answer = call(host, files.payload("a", size=3000, count=51), "cycles")
    held = answer["held"]
    assert 50 * answer["size"] > held[0]  # models that stayed would show
    assert max(held[1:]) <= 1.05 * held[0]


def test_to_let_go_of_a_model_the_modules_of_torch_are_not_gone_through(
    host: ProcessHost, files: Files
):
    call(host, files.payload("a"))
    empty(host)
    assert call(host, files.payload("a"), "looked_at")["count"] < 20_000


def test_states_tell_loading_busy_ready_and_gone(host: ProcessHost, files: Files):
    heard: list[ModelState] = []
    end = host.subscribe(heard.append)
    call(host, files.payload("a", steps=2, size=1000))
    ready = host.states()["a"]
    assert (ready.state, ready.device, ready.dtype) == (State.READY, "cpu", "float32")
    assert ready.memory == 4 * 1000 * (1000 + 1)  # its tensors, not what else was loaded with it
    host.unload("a")
    end()
    seen = list(dict.fromkeys(one.state for one in heard if one.model == "a"))
    assert [s for s in seen if s != State.INSTALLED] == [State.LOADING, State.BUSY, State.READY]
    assert heard[-1].state is State.INSTALLED
    assert "a" not in host.states()


def test_a_model_that_cannot_be_loaded_is_told_with_the_reason(host: ProcessHost, files: Files):
    with pytest.raises(ToolFailed):
        call(host, files.payload("a", 10**15))
    failed = host.states()["a"]
    assert failed.state is State.FAILED
    assert "memory is too small" in failed.why
    host.forget("a")
    assert "a" not in host.states()


def test_calls_for_one_device_take_turns_and_say_what_they_wait_for(
    host: ProcessHost, files: Files
):
    said: list[str] = []
    first_runs, waited = threading.Event(), threading.Event()

    def first(fraction: float, text: str) -> None:
        if text.startswith("step"):
            first_runs.set()
            waited.wait(60)

    def second(fraction: float, text: str) -> None:
        said.append(text)
        waited.set()

    thread = threading.Thread(
        target=lambda: call(host, files.payload("a", steps=2), progress=first)
    )
    thread.start()
    assert first_runs.wait(30)
    call(host, files.payload("b"), progress=second)
    thread.join(30)
    assert said[0] == "Waiting for another model"


def test_who_waits_for_a_turn_can_be_stopped(host: ProcessHost, files: Files):
    cancel, runs, go_on = CancelToken(), threading.Event(), threading.Event()

    def first(fraction: float, text: str) -> None:
        if text.startswith("step"):
            runs.set()
            go_on.wait(60)

    thread = threading.Thread(
        target=lambda: call(host, files.payload("a", steps=2), progress=first)
    )
    thread.start()
    assert runs.wait(30)
    with pytest.raises(Cancelled):
        call(host, files.payload("b"), cancel=cancel, progress=lambda f, t: cancel.cancel())
    assert host.states().get("b") is None
    go_on.set()
    thread.join(30)


@pytest.mark.skipif(sys.platform == "win32", reason="there is no kill -9")
def test_a_process_that_was_killed_in_a_call_is_started_again_and_the_call_done(
    host: ProcessHost, files: Files
):
    pid = host.pids["cpu"]

    def kill(fraction: float, text: str) -> None:
        if text.startswith("step 1") and host.pids["cpu"] == pid:
            os.kill(pid, signal.SIGKILL)

    answer = call(host, files.payload("a", steps=5), progress=kill)
    assert host.pids["cpu"] != pid
    assert answer["loads"] == 1
    assert "started again" in answer["notes"][-1]
    assert host.states()["a"].state is State.READY
