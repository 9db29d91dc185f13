"""The real program with a real language model on this machine: its process never outlives it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.conftest import REPO
from tests.support.hang import HANG_S
from tests.support.small_model import gguf

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(sys.platform != "linux", reason="processes are found in /proc"),
]


def processes_of(home: Path) -> set[int]:
    """The processes that run with this profile."""
    found: set[int] = set()
    for folder in Path("/proc").iterdir():
        try:
            if f"SIGHTLINE_HOME={home}".encode() in (folder / "environ").read_bytes().split(b"\0"):
                found.add(int(folder.name))
        except (OSError, ValueError):
            continue  # no process, another user's, or gone meanwhile
    return found


@pytest.mark.parametrize(
    "end",
    [signal.SIGKILL, pytest.param(signal.SIGINT, marks=pytest.mark.slow)],
    ids=["killed", "interrupted"],
)
def test_the_model_is_gone_after_the_program(tmp_path: Path, end: signal.Signals) -> None:
    home = tmp_path / "home"
    command = [sys.executable, "-m", "app", "ask", "Say hello.", "--llm", f"local:{gguf()}"]
    with subprocess.Popen(
        [*command, "--json"],
        cwd=REPO,
        env={**os.environ, "SIGHTLINE_HOME": str(home)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as program:
        assert program.stdout is not None
        for line in program.stdout:
            event = json.loads(line)
            # Said when it is loaded: this model's template knows no tools, or it has begun.
            if event["kind"] not in ("run_started", "notice") or "no form" in event.get("text", ""):
                break
        started = processes_of(home)
        assert program.pid in started
        assert len(started) > 1, "the model has a process of its own"
        program.send_signal(end)
        program.wait(60)
        at = time.monotonic()
        while left := processes_of(home):
            assert time.monotonic() < at + HANG_S, f"still there: {left}"
            time.sleep(0.02)
        assert program.stderr is not None
        assert "Traceback" not in program.stderr.read()
