"""A local model's process ends in every way it should, and what happened is said in plain words."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from app.agent.llm.base import ModelFailed
from app.agent.llm.local.model import LocalServer
from app.agent.llm.local.server_main import ServerConfig, Serving
from tests.support.hang import HANG_S
from tests.support.local_engines import SECRET

ENGINES = "tests.support.local_engines"
REPO = Path(__file__).resolve().parents[3]
Make = Callable[..., LocalServer]

pytestmark = pytest.mark.filterwarnings("error")


@pytest.fixture
def make() -> Iterator[Make]:
    """Makes servers with an engine of `tests.support.local_engines`; closes them."""
    made: list[LocalServer] = []

    def new(engine: str, path: str = "model.gguf", **options: float) -> LocalServer:
        config = ServerConfig(f"{ENGINES}:{engine}", path, "Tiny", "", 512, 128, 1)
        made.append(LocalServer(config, "Tiny (this computer)", **options))
        return made[-1]

    yield new
    for server in made:
        server.close()


def ready(server: LocalServer) -> Serving:
    return asyncio.run(server.ready())


def runs(pid: int) -> bool:
    """Whether a process is there and no mere entry that waits to be read."""
    if sys.platform == "win32":
        listed = subprocess.run(
            ["tasklist", "/FI", f"PID eq {pid}"], capture_output=True, text=True, check=False
        )
        return str(pid) in listed.stdout
    done = subprocess.run(
        ["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False
    )
    return done.stdout.strip() not in ("", "Z", "Z+", "ZN", "ZNl")


def gone_within(pid: int, seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while runs(pid):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def test_it_is_started_once_and_gone_after_close(make: Make):
    server = make("serving")

    async def both() -> tuple[Serving, Serving]:
        return await asyncio.gather(server.ready(), server.ready())

    first, second = asyncio.run(both())
    assert first is second
    pid = server.pid
    assert pid is not None
    server.close()
    server.close()
    assert gone_within(pid, HANG_S)
    assert server.pid is None
    with pytest.raises(ModelFailed, match="was closed"):
        ready(server)


def test_each_start_has_a_new_key(make: Make):
    server = make("serving")
    first = ready(server)
    assert first.notes == (first.key,), "the process was told it"
    assert len(first.key) > 30
    os.kill(server.pid or 0, signal.SIGTERM)
    asyncio.run(server.died(5))
    assert ready(server).key != first.key


def test_a_crash_is_told_and_the_next_question_starts_it_anew(make: Make):
    server = make("serving")
    ready(server)
    pid = server.pid
    assert asyncio.run(server.died(0.05)) == ""
    os.kill(pid or 0, signal.SIGTERM)
    how = asyncio.run(server.died(5))
    assert how in ("was ended from outside", "ended unexpectedly (code 15)")
    assert ready(server).url
    assert server.pid not in (pid, None)


@pytest.mark.parametrize(
    ("engine", "said"),
    [
        ("aborting", "crashed (it aborted itself) while it loaded the model"),
        ("refusing", "it is no model. Choose another."),
        ("out_of_memory", "there is not enough memory for this model. Close other programs"),
        ("lacking", "needs the Python package xllamacpp, which is not installed. Start it once"),
        ("absent", "the model could not be loaded (AttributeError)"),
    ],
)
def test_what_keeps_it_from_loading_is_said_with_a_remedy(make: Make, engine: str, said: str):
    if engine == "aborting" and sys.platform == "win32":
        pytest.skip("an abort has no signal there")
    server = make(engine)
    with pytest.raises(ModelFailed) as caught:
        ready(server)
    assert said in caught.value.text
    assert caught.value.text.startswith("Tiny (this computer): ")
    assert caught.value.remedy
    assert not caught.value.retryable
    assert server.pid is None


def test_a_load_that_never_ends_is_ended(make: Make):
    server = make("hanging", start_timeout_s=0.5)
    with pytest.raises(ModelFailed, match=r"was not loaded within 0\.5 s"):
        ready(server)
    assert server.pid is None


def test_a_cancel_ends_the_wait_and_not_the_load(make: Make):
    server = make("hanging")

    async def cancelled() -> float:
        waiting = asyncio.ensure_future(server.ready())
        while not server.stage:  # noqa: ASYNC110 (another process says it)
            await asyncio.sleep(0.01)
        at = time.monotonic()
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        return time.monotonic() - at

    assert asyncio.run(cancelled()) < HANG_S
    pid = server.pid
    assert pid is not None
    assert runs(pid)
    server.close()
    assert gone_within(pid, HANG_S), "also one that never lets Python run"


def test_it_ends_when_nothing_is_asked_for_a_while(make: Make):
    server = make("serving", idle_s=0.2)
    with server.in_use():
        ready(server)
        pid = server.pid
        time.sleep(0.4)
        assert server.pid == pid, "a question is under way"
    assert gone_within(pid or 0, HANG_S)
    assert ready(server).url, "and is started again for the next question"


def test_it_outlives_the_thread_that_started_it(make: Make):
    server = make("serving")
    thread = threading.Thread(target=lambda: ready(server))
    thread.start()
    thread.join()
    assert asyncio.run(server.died(0.5)) == ""


def test_nothing_it_prints_comes_out_once_it_serves(
    make: Make, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
):
    with caplog.at_level(logging.DEBUG):
        ready(make("serving", path=SECRET))
        time.sleep(0.1)
        with pytest.raises(ModelFailed) as caught:
            ready(make("refusing", path=f"/studies/{SECRET}/model.gguf"))
    printed = capfd.readouterr()
    assert SECRET not in printed.out + printed.err + caplog.text
    assert "native code met MODEL" in caught.value.detail, "the log can say why"


APP = """
import asyncio
import sys
import time
from app.agent.llm.local.model import LocalServer
from app.agent.llm.local.server_main import ServerConfig

async def main():
    config = ServerConfig(f"tests.support.local_engines:{sys.argv[1]}", "m", "Tiny", "", 512, 9, 1)
    server = LocalServer(config, "Tiny")
    waiting = asyncio.ensure_future(server.ready())
    while not server.stage and not waiting.done():
        await asyncio.sleep(0.01)
    if sys.argv[1] == "serving":
        await waiting
    print(server.pid, flush=True)
    if sys.argv[2] == "killed":
        time.sleep(600)

if __name__ == "__main__":
    asyncio.run(main())
"""


@pytest.mark.parametrize("end", ["killed", "forgetful"])
def test_it_is_gone_after_the_app(tmp_path: Path, end: str):
    """Killed, or ended without a word."""
    script = tmp_path / "an_app.py"
    script.write_text(APP, encoding="utf-8")
    with subprocess.Popen(
        [sys.executable, str(script), "serving", end],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(REPO)},
        text=True,
    ) as app:
        assert app.stdout is not None
        pid = int(app.stdout.readline())
        if end == "killed":
            assert runs(pid)
            app.kill()
        app.wait(60)
    assert gone_within(pid, HANG_S)
