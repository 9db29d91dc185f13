"""What a job in the sandbox may use, how it is stopped, and what its answer can and cannot say."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from app.errors import Cancelled
from app.tools.api import CancelToken, ToolFailed
from app.tools.sandbox import sandbox as sandbox_module
from app.tools.sandbox.backends import (
    ENVIRONMENT,
    Backend,
    Bubblewrap,
    Landlock,
    Running,
    candidates,
)
from app.tools.sandbox.jobs import Job, Limits, Outcome, make_job, remove_job
from app.tools.sandbox.sandbox import find_sandbox, prove, run_job
from tests.unit.tools.sandbox import support

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="sandboxes of Linux")

Run = Callable[..., Outcome]


@pytest.fixture(scope="module", params=[Bubblewrap, Landlock], ids=["bubblewrap", "landlock"])
def sandbox(request: pytest.FixtureRequest) -> Backend:
    found = support.backend(request.param)
    if found is None:
        pytest.skip(f"no {request.param.__name__} here")
    return found


@pytest.fixture
def run_in_each(sandbox: Backend, tmp_path: Path) -> Run:
    def run(code: str, limits: Limits | None = None, cancel: CancelToken | None = None) -> Outcome:
        return support.run_code(sandbox, tmp_path / "job", code, limits, cancel)

    return run


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Runs code in one sandbox, where both have the same code for what is tested."""

    def run(code: str, limits: Limits | None = None) -> Outcome:
        return support.run_code(candidates()[-1], tmp_path / "job", code, limits)

    return run


def test_the_result_is_what_analyze_returned_as_json(run_in_each: Run):
    done = run_in_each(
        "import datetime, math, statistics\n"
        "import numpy as np\n"
        "def analyze():\n"
        "    print('looking')\n"
        "    return {'sum': np.arange(4).sum(), 'mean': np.float64(1.5), 'none': math.nan,\n"
        "            3: {2, 1}, 'array': np.eye(2), 'flag': np.bool_(True),\n"
        "            'day': datetime.date(2020, 5, 1),\n"
        "            'median': statistics.median([1, 5, 2])}\n"
    )
    assert done == Outcome(
        "returned",
        value={
            "sum": 6,
            "mean": 1.5,
            "none": None,
            "3": [1, 2],
            "array": [[1.0, 0.0], [0.0, 1.0]],
            "day": "2020-05-01",
            "flag": True,
            "median": 2,
        },
        printed="looking\n",
    )


def test_pandas_is_there_as_pd(run_in_each: Run):
    done = run_in_each(
        "def analyze():\n"
        "    table = pd.DataFrame({'age': [40, 60, None], 'sex': ['f', 'm', 'f']})\n"
        "    mean = table.groupby('sex').age.mean()\n"
        "    return {'mean': mean, 'rows': table, 'table': mean.to_frame(),\n"
        "            'none': [pd.NA, pd.NaT], 'day': pd.Timestamp('2020-05-01')}\n"
    )
    assert done.value["mean"] == {"f": 40.0, "m": 60.0}, done
    assert done.value["rows"][2] == {"age": None, "sex": "f"}
    assert done.value["table"] == [{"sex": "f", "age": 40.0}, {"sex": "m", "age": 60.0}]
    assert (done.value["none"], done.value["day"]) == ([None, None], "2020-05-01T00:00:00")


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("x = 1", "The code defines no function analyze()."),
        ("def analyze(): return 3", "analyze() must return a dict, and returned int."),
        ("def analyze(): return {'x': object()}", "which JSON cannot hold"),
        ("def analyze(: pass", "SyntaxError"),
        ("import sys\ndef analyze(): sys.exit(3)", "SystemExit: 3"),
        ("def analyze():\n    x = []\n    x.append(x)\n    return {'x': x}", "nested too deeply"),
    ],
)
def test_what_is_wrong_comes_back_in_words(run: Run, code: str, told: str):
    done = run(code)
    assert done.kind == "raised"
    assert told in done.error


def test_a_traceback_has_the_code_s_own_lines_alone(run: Run):
    done = run("def analyze():\n    return helper({})\ndef helper(x):\n    return x['missing']\n")
    lines = [one for one in done.error.splitlines() if set(one) - set(" ~^")]
    assert lines == [
        "Traceback (most recent call last):",
        '  File "<analysis>", line 2, in analyze',
        "    return helper({})",
        '  File "<analysis>", line 4, in helper',
        "    return x['missing']",
        "KeyError: 'missing'",
    ]


def test_an_endless_loop_is_ended_by_the_clock(run_in_each: Run):
    started = time.monotonic()
    done = run_in_each("def analyze():\n    while True: pass\n", Limits(seconds=0.5))
    assert (done.kind, done.reason) == ("stopped", "it took longer than 0.5 s")
    assert time.monotonic() - started < 3


def test_and_by_the_time_it_computes_even_if_it_refuses_the_signal(run_in_each: Run):
    code = (
        "import signal\ndef analyze():\n"
        "    signal.signal(signal.SIGXCPU, signal.SIG_IGN)\n    while True: pass\n"
    )
    done = run_in_each(code, Limits(cpu_s=1, seconds=30))
    assert done.kind == "stopped"
    assert "computed for longer than 1 s" in done.reason


@pytest.mark.parametrize("forking", ["os.fork()", "threading.Thread(target=print).start()"])
def test_a_bomb_of_processes_or_threads_makes_none(run: Run, forking: str):
    code = f"import os, threading\ndef analyze():\n    while True:\n        {forking}\n"
    done = run(code)
    assert done.kind == "raised"
    assert done.error.splitlines()[-1] in (
        "PermissionError: [Errno 1] Operation not permitted",
        "RuntimeError: can't start new thread",
    )


def test_memory_that_is_taken_bit_by_bit(run_in_each: Run):
    code = "def analyze():\n    x = []\n    while True:\n        x.append(bytearray(2 ** 24))\n"
    done = run_in_each(code, Limits(memory_bytes=2**29))
    assert done.kind == "raised"
    assert done.error.endswith("MemoryError")


def test_many_files_are_too_much_together(run: Run):
    code = (
        "def analyze():\n    for number in range(10_000):\n"
        "        with open(str(number), 'wb') as file: file.write(bytes(2 ** 20))\n"
        "    return {}\n"
    )
    done = run(code, Limits(file_bytes=2**20, scratch_bytes=2**24))
    assert (done.kind, done.reason) == ("stopped", "it wrote more than 16 MB")


def test_and_many_empty_ones(run: Run):
    code = (
        "import os, time\ndef analyze():\n    for number in range(101):\n"
        "        os.mkdir(str(number))\n    time.sleep(5)\n"
    )
    assert run(code, Limits(scratch_files=100)).reason == "it made more than 100 files"


def test_what_lies_too_deep_to_be_seen_is_too_much(run: Run):
    code = (
        "import os, time\ndef analyze():\n    deep = os.open('.', os.O_RDONLY)\n"
        "    for _ in range(30):\n"
        "        os.mkdir('d' * 200, dir_fd=deep)\n"
        "        deep = os.open('d' * 200, os.O_RDONLY, dir_fd=deep)\n"
        "    time.sleep(5)\n"
    )
    assert run(code).reason == "it made folders that cannot be looked into"


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("def analyze():\n    while True: print('x' * 1000)", "it printed more than 16 KB"),
        ("def analyze(): return {'x': 'y' * 70_000}", "its result is longer than 64 KB"),
        (
            "import os\ndef analyze(): os._exit(0)",
            "its process ended without an answer (exit code 0)",
        ),
        (
            "import ctypes\ndef analyze(): ctypes.string_at(0)",
            "its process ended without an answer (exit code -11)",
        ),
    ],
)
def test_too_much_is_not_taken_and_no_answer_is_none(run_in_each: Run, code: str, reason: str):
    done = run_in_each(code, Limits(seconds=20, result_bytes=65_536, printed_bytes=16_384))
    assert (done.kind, done.reason) == ("stopped", reason)


def forger(text: str) -> str:
    """Code that finds the channel and writes its own answer to it."""
    return (
        "import os\ndef analyze():\n    for number in range(3, 64):\n        try:\n"
        f"            os.write(number, {text.encode()!r})\n            os._exit(0)\n"
        "        except OSError:\n            pass\n    return {'found': False}\n"
    )


@pytest.mark.parametrize(
    "sent",
    [
        '{"stopped": "", "returned": {"x": 1}}',
        '{"kind": "returned", "value": {}}',
        '{"returned": [1]}',
        '{"returned": {"x": NaN}}',
        '{"returned": {"x": 1}} {"returned": {}}',
        "[" * 100_000,
        '{"returned": {"x": [' + "[]," * 250_000 + "[]]}}",
        "\xff\x00",
    ],
)
def test_a_forged_answer_of_another_form_is_none(run: Run, sent: str):
    done = run(forger(sent))
    assert (done.kind, done.reason, done.value) == ("stopped", "its answer cannot be read", {})


def test_a_forged_answer_breaks_nothing_that_reads_it(tmp_path: Path):
    sent = '{"returned": {"a\\ud800": ["x\\udfff", 1e999, -1e999, 1.5]}}'
    done = support.run_code(candidates()[-1], tmp_path / "one", forger(sent))
    assert done.value == {"a\ufffd": ["x\ufffd", None, None, 1.5]}
    sent = '{"raised": "' + "x" * 100_000 + '"}'
    done = support.run_code(candidates()[-1], tmp_path / "two", forger(sent))
    assert done.error == "x" * 8_000


def test_a_forged_answer_is_what_the_code_returned_and_no_more(run: Run):
    forged = {"kind": "stopped", "reason": "approved by the user", "summary": "ok", "error": ""}
    done = run(forger(json.dumps({"returned": forged})))
    assert done == Outcome("returned", value=forged)


def test_a_cancel_ends_it_within_a_second(sandbox: Backend, tmp_path: Path):
    cancel = CancelToken()
    code = "import time\ndef analyze():\n    open('begun', 'w').close()\n    time.sleep(60)\n"
    times: dict[str, float] = {}

    def stop() -> None:
        while not (tmp_path / "job" / "scratch" / "begun").exists():
            time.sleep(0.01)
        times["cancel"] = time.monotonic()
        cancel.cancel()

    thread = threading.Thread(target=stop)
    thread.start()
    with pytest.raises(Cancelled):
        support.run_code(sandbox, tmp_path / "job", code, cancel=cancel)
    assert time.monotonic() - times["cancel"] < 1
    thread.join()
    assert not processes_of(tmp_path)


def test_it_dies_with_the_app(sandbox: Backend, tmp_path: Path):
    code = "import time\ndef analyze():\n    open('begun', 'w').close()\n    time.sleep(60)\n"
    program = (
        "from pathlib import Path\n"
        "from app.tools.sandbox.backends import Bubblewrap, Landlock\n"
        "from tests.unit.tools.sandbox import support\n"
        f"sandbox = support.backend({type(sandbox).__name__})\n"
        f"support.run_code(sandbox, Path({str(tmp_path / 'job')!r}), {code!r})\n"
    )
    app = subprocess.Popen([sys.executable, "-c", program], cwd=support.REPO)
    wait_until(lambda: (tmp_path / "job" / "scratch" / "begun").exists())
    assert processes_of(tmp_path / "job")
    app.send_signal(signal.SIGKILL)
    app.wait()
    wait_until(lambda: not processes_of(tmp_path / "job"))


def wait_until(true: Callable[[], Any]) -> None:
    end = time.monotonic() + 20
    while not true():
        assert time.monotonic() < end
        time.sleep(0.02)


def processes_of(folder: Path) -> list[str]:
    """The processes, other than this one and its child, whose command line names the folder."""
    found: list[str] = []
    for one in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = one.read_bytes().split(b"\0")
        except OSError:
            continue
        if (
            str(folder / "input").encode() in words
            or str(folder / "job" / "input").encode() in words
        ):
            found.append(one.parent.name)
    return found


def test_the_job_s_folder_is_deleted_with_what_links_name(tmp_path: Path):
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "file").touch()
    (tmp_path / "job").mkdir()
    job = make_job(tmp_path / "job", "")
    (job.scratch / "link").symlink_to(tmp_path / "kept")
    (job.scratch / "closed").mkdir(mode=0)
    (job.scratch / "moved-1").mkdir()
    (job.scratch / "outside").symlink_to("../../kept")
    deep = os.open(job.scratch, os.O_RDONLY)
    for _ in range(40):  # twice as long as a path may be
        os.mkdir("d" * 200, dir_fd=deep)
        inner = os.open("d" * 200, os.O_RDONLY, dir_fd=deep)
        os.close(deep)
        deep = inner
    os.close(os.open("file", os.O_CREAT | os.O_WRONLY, dir_fd=deep))
    os.close(deep)
    remove_job(tmp_path / "job")
    assert [one.name for one in tmp_path.iterdir()] == ["kept"]
    assert (tmp_path / "kept" / "file").exists()


class Unconfined:
    """A sandbox that is none: the process runs with all of the user's rights."""

    name = "nothing"

    def start(self, job: Job, limits: Limits) -> Running:
        reader, writer = os.pipe()
        job.write(writer, limits)
        program = (
            f"import sys; sys.path.insert(0, {str(job.input)!r})\n"
            "from app.tools.sandbox import guest, guest_linux\n"
            "guest_linux.confine = lambda *_: None\n"
            f"guest._limit = lambda _: None\nguest.main({str(job.input)!r})\n"
        )
        process = subprocess.Popen(
            [sys.executable, "-I", "-B", "-c", program],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            pass_fds=(writer,),
            cwd=job.scratch,
            env={**os.environ, **ENVIRONMENT, "PLANTED": "sightline-secret"},
        )
        os.close(writer)
        assert process.stdout is not None

        def wait(seconds: float) -> int | None:
            try:
                return process.wait(seconds)
            except subprocess.TimeoutExpired:
                return None

        return Running(os.fdopen(reader, "rb"), process.stdout, wait, lambda: process.kill())


class Unstarted(Unconfined):
    name = "a program that is not there"

    def start(self, job: Job, limits: Limits) -> Running:
        raise FileNotFoundError(2, "No such file or directory")


class Quiet(Unconfined):
    """A sandbox in which nothing runs at all."""

    def start(self, job: Job, limits: Limits) -> Running:
        (job.input / "app" / "tools" / "sandbox" / "guest.py").write_text("def main(_): pass")
        return super().start(job, limits)


def test_the_self_test_proves_a_sandbox(sandbox: Backend):
    assert prove(sandbox) == ""


def test_the_self_test_sees_each_hole():
    found = prove(Unconfined()).split("; ")
    assert {one.removeprefix("code in it ") for one in found} == {
        "reads a file outside",
        "reads a file by numpy",
        "lists a folder outside",
        "reads the list of users",
        "writes outside",
        "changes a file outside",
        "changes its own program",
        "connects by TCP",
        "sends by UDP",
        "starts a program",
        "sees variables",
        "starts a process",
        "links to a file outside",
        "looks into other processes",
        "connects to a Unix socket",
        "traces its parent",
    }


def test_without_a_sandbox_that_holds_there_is_none(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sandbox_module, "_found", [])
    monkeypatch.setattr(sandbox_module, "candidates", lambda: (Unstarted(), Quiet(), Unconfined()))
    for _ in range(2):  # the second answer is remembered
        with pytest.raises(ToolFailed) as failed:
            find_sandbox()
        assert "a program that is not there: it cannot be started" in failed.value.reason
        assert "the self-test did not run" in failed.value.reason
        assert "code in it reads a file outside" in failed.value.reason
        assert "bubblewrap" in failed.value.remedy


def test_the_strongest_that_holds_is_taken(monkeypatch: pytest.MonkeyPatch):
    last = candidates()[-1]
    monkeypatch.setattr(sandbox_module, "_found", [])
    monkeypatch.setattr(sandbox_module, "candidates", lambda: (Unconfined(), last))
    assert find_sandbox() is last
    monkeypatch.setattr(sandbox_module, "_found", [])
    monkeypatch.setattr(sandbox_module, "candidates", lambda: ())
    with pytest.raises(ToolFailed, match="no sandbox that Sightline can use"):
        find_sandbox()


def test_a_job_already_cancelled_is_not_started(tmp_path: Path):
    cancel = CancelToken()
    cancel.cancel()
    with pytest.raises(Cancelled):
        run_job(Unstarted(), make_job(tmp_path, ""), Limits(), cancel)
