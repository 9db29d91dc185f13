"""1,000 random interleavings of cancel, crash of the model process and kill of the program.

The first of each kind, about 50, run every day; the others with `--all`.

Others than those of every day:
SIGHTLINE_SEED=7 python -m pytest tests/unit/agent/test_interleavings.py
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from app.agent.events import RunEvent
from app.agent.sessions import SessionStore, Thread, writer
from app.tools.api import ToolContext, ToolFailed
from app.tools.hosting.host import ProcessHost
from tests.support.interleavings import (
    Shown,
    Story,
    check_next_question,
    check_thread,
    play,
    tools,
    without_waiting_for_the_disk,
)
from tests.support.scripted_model import call

SEED = int(os.environ.get("SIGHTLINE_SEED", "1"))
REPOSITORY = Path(__file__).parents[3]
CUTS = 980  # kills at a byte of the file, in this process
BATCHES = 49
KILLS = 20  # of a real process: each takes most of a second to start
CRASHES = 10  # of a real model process


def quick_and_slow(quick: int, every: int) -> list[Any]:
    """Parameters for the quick cases and, with `--all`, for every case."""
    return [quick, pytest.param(every, marks=pytest.mark.slow)]


@pytest.fixture(autouse=True)
def unsynced(monkeypatch: pytest.MonkeyPatch):
    """Writes are not waited for: what is killed here is a program, not the computer."""
    monkeypatch.setattr(writer, "os", writer.os)
    without_waiting_for_the_disk()


def size_of(thread: Thread) -> int:
    assert thread.folder is not None
    return (thread.folder / "thread.jsonl").stat().st_size


def killed_at_a_byte(root: Path, chance: random.Random, name: str) -> None:
    """Runs with cancels and model crashes; then the program is gone at any byte of the file.

    A file is only appended to, so that cutting it off anywhere is what a kill there leaves.
    """
    store = SessionStore(root)
    thread = store.new_thread()
    start = size_of(thread)
    shown: list[tuple[int, Shown]] = []

    def note(event: RunEvent) -> None:
        shown.append((size_of(thread), (event.run_id, event.seq, event.kind)))

    async def main() -> None:
        for turn in range(chance.randint(1, 2)):
            await play(Story(chance, f"{name}-{turn}"), thread, tools(), note)

    asyncio.run(main())
    thread.close()
    path = root / thread.thread_id / "thread.jsonl"
    for round_ in range(3):
        # The second kill may hit what the reopening itself writes.
        whole = path.read_bytes()
        cut = chance.choice([len(whole), chance.randint(start, len(whole))])
        path.write_bytes(whole[:cut])
        shown = [(size, one) for size, one in shown if size <= cut]
        thread = SessionStore(root).open(thread.thread_id)
        check_thread(thread, [one for _, one in shown])
        start = min(cut, size_of(thread))  # half a line is dropped
        check_next_question(thread, f"{name}-next-{round_}", note)
        check_thread(thread, [one for _, one in shown])
        thread.close()


@pytest.mark.parametrize(
    "batch", [0, *(pytest.param(n, marks=pytest.mark.slow) for n in range(1, BATCHES))]
)
def test_a_kill_at_any_byte_of_the_file(tmp_path: Path, batch: int):
    for number in range(CUTS // BATCHES):
        seed = f"{SEED}-{batch}-{number}"
        try:
            killed_at_a_byte(tmp_path, random.Random(seed), f"c{seed}")
        except Exception as error:
            raise AssertionError(f"interleaving {seed}") from error


def killed_for_real(root: Path, seed: int) -> None:
    """A process that runs questions is killed after a random number of events was shown."""
    root.mkdir()
    chance = random.Random(seed)
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.support.interleavings", str(root), str(seed)],
        stdout=subprocess.PIPE,
        cwd=REPOSITORY,
    )
    assert process.stdout is not None
    told: list[bytes] = [process.stdout.readline() for _ in range(chance.randint(1, 250))]
    process.kill()
    told.extend(process.stdout.read().splitlines(keepends=True))
    process.stdout.close()
    assert process.wait() != 0
    lines = [json.loads(line) for line in told if line.endswith(b"\n")]
    shown: dict[str, list[Shown]] = {}
    for thread_id, run_id, seq, kind in lines:
        shown.setdefault(thread_id, []).append((run_id, seq, kind))
    store = SessionStore(root)
    assert set(shown) <= {folder.name for folder in root.iterdir()}
    for folder in root.iterdir():
        if not (folder / "thread.jsonl").is_file():
            continue  # killed while it was made: nobody had seen it
        seen = shown.get(folder.name, [])
        again = store.open(folder.name)
        check_thread(again, seen)
        check_next_question(again, f"after-{seed}-{folder.name[-4:]}")
        again.close()
        check_thread(SessionStore(root).open(folder.name), seen)


@pytest.mark.parametrize("kills", quick_and_slow(2, KILLS))
def test_a_process_that_is_killed(tmp_path: Path, kills: int):
    with ThreadPoolExecutor(2) as pool:
        seeds = range(SEED * 1000, SEED * 1000 + kills)
        for done in [pool.submit(killed_for_real, tmp_path / str(s), s) for s in seeds]:
            done.result()


def die(payload: dict[str, object]) -> dict[str, object]:
    """In the model process: it is gone at once."""
    os._exit(9)


@pytest.mark.parametrize("least", quick_and_slow(1, CRASHES))
def test_a_model_process_that_dies(tmp_path: Path, least: int):
    host = ProcessHost()
    crashes: list[str] = []

    def call_it(context: ToolContext) -> None:
        try:
            host.call(f"{__name__}:die", {}, cancel=context.cancel, timeout_s=60.0)
        except ToolFailed:
            crashes.append(context.call_id)
            raise

    try:
        for number in range(3 * least):
            if len(crashes) >= least:
                break
            thread = SessionStore(tmp_path).new_thread()
            story = Story(random.Random(f"{SEED}-{number}"), f"h{number}")
            story.turns.insert(0, [call("lost", image_path=f"{number}")])
            shown: list[Shown] = []
            asyncio.run(
                play(
                    story,
                    thread,
                    tools(call_it),
                    lambda event, shown=shown: shown.append((event.run_id, event.seq, event.kind)),
                )
            )
            thread.close()
            again = SessionStore(tmp_path).open(thread.thread_id)
            check_thread(again, shown)
            check_next_question(again, f"h{number}-next")
    finally:
        host.close()
    assert len(crashes) >= least, "the process really died so often"
