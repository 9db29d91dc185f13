"""Programs that mark are killed, fill the disk, or write at once: what is kept afterwards?"""

from __future__ import annotations

import os
import random
import sqlite3
import sys
import time
from collections.abc import Callable
from contextlib import closing
from multiprocessing import get_context
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import pytest

from app.workspace.mark_store import MarkStore
from tests.gui import marking_process

pytestmark = [
    pytest.mark.gui,
    pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL and limits of files are POSIX"),
    pytest.mark.timeout(6000),
]

KILLS = int(os.environ.get("SIGHTLINE_KILLS", "6"))
"""How often a program that marks is killed; 500 for the full figure."""

AT_ONCE = 6
"""Programs that run at the same time, each with a database of its own."""

AGAIN = 10
"""How often a database is used before a new one is begun."""

LOSS_S = 2.0
"""What a crash may lose."""

State = dict[str, str]
"""The label of each mark by id."""

Event = tuple[float, str, str, str]
"""When, what, which mark, and its label."""


@pytest.fixture(scope="module")
def start() -> Callable[..., tuple[BaseProcess, int]]:
    """Starts a function of `marking_process` in a process of its own; returns that and a pipe."""
    context = get_context("forkserver")  # imports once, not for each
    context.set_forkserver_preload(["tests.gui.marking_process"])

    def begin(function: Callable[..., None], store: Path, *given: Any) -> tuple[BaseProcess, int]:
        fifo = store.with_suffix(f".{random.random()}")
        os.mkfifo(fifo)
        process = context.Process(target=_run, args=(function, store, fifo, *given), daemon=True)
        process.start()
        return process, os.open(fifo, os.O_RDONLY)

    return begin


def _run(function: Callable[..., None], store: Path, fifo: Path, *given: Any) -> None:
    function(store, os.open(fifo, os.O_WRONLY), *given)


def events_of(pipe: int) -> list[Event]:
    """What was told on a pipe until its end."""
    with os.fdopen(pipe, "rb") as told:
        lines = [line for line in told.read().decode().split("\n") if line]
    parts = [line.split(" ", 3) for line in lines]
    return [(float(when), what, one, label) for when, what, one, label in parts]


def kept_in(store: Path) -> State:
    if not store.exists():
        return {}
    with closing(sqlite3.connect(store)) as database:
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    marks, unreadable = MarkStore(store).load([marking_process.IMAGE.sop_instance_uid])
    assert not unreadable
    return {one.finding.id: one.finding.label for one in marks}


def lost(before: State, events: list[Event], kept: State, killed: float) -> float:
    """Seconds before the kill at which the first change was made that is not kept.

    What is kept must be what there was at one moment: all changes until then, none after it.
    """
    state = dict(before)
    moments = [dict(state)]
    for _when, what, one, label in events:
        if what == "put":
            state[one] = label
        else:
            del state[one]
        moments.append(dict(state))
    last = max(number for number, moment in enumerate(moments) if moment == kept)
    return killed - events[last][0] if last < len(events) else 0.0


@pytest.mark.slow
def test_a_killed_program_loses_at_most_two_seconds_and_no_database(
    start: Callable[..., tuple[BaseProcess, int]], tmp_path: Path
):
    choose, losses, changes = random.Random(3), [], 0
    known: dict[int, State] = {}
    for first in range(0, KILLS, AT_ONCE):
        running: list[tuple[float, int, Path, BaseProcess, int]] = []
        for number in range(first, min(first + AT_ONCE, KILLS)):
            place = number % AT_ONCE
            generation = first // AT_ONCE // AGAIN
            store = tmp_path / f"{place}-{generation}.sqlite"
            if not store.exists():
                known[place] = {}
            process, pipe = start(marking_process.mark_until_killed, store, number)
            end = time.monotonic() + choose.uniform(0.2, 4.0)
            running.append((end, place, store, process, pipe))
        for end, place, store, process, pipe in sorted(running):
            time.sleep(max(0.0, end - time.monotonic()))
            killed = time.monotonic()
            process.kill()
            process.join()
            events = events_of(pipe)
            kept = kept_in(store)
            losses.append(lost(known[place], events, kept, killed))
            changes += len(events)
            known[place] = kept
    sys.stderr.write(f"{len(losses)} kills, {changes} changes, at most {max(losses):.2f} s lost\n")
    assert max(losses) <= LOSS_S


def test_two_programs_write_to_one_database_at_once_and_nothing_is_lost(
    start: Callable[..., tuple[BaseProcess, int]], tmp_path: Path
):
    store, count = tmp_path / "marks.sqlite", 60
    running = [start(marking_process.mark_and_stop, store, seed, count) for seed in (1, 2)]
    told = [events_of(pipe) for _process, pipe in running]
    assert [one[-1][1] for one in told] == ["saved", "saved"]
    wanted = {f"{seed}-{number + 1}": "v0" for seed in (1, 2) for number in range(count)}
    assert kept_in(store) == wanted


def test_a_full_disk_is_told_and_once_there_is_room_all_is_kept(
    start: Callable[..., tuple[BaseProcess, int]], tmp_path: Path
):
    store = tmp_path / "marks.sqlite"
    _process, pipe = start(marking_process.mark_on_a_full_disk, store, 1)
    events = events_of(pipe)
    (notice,) = [f"{one[2]} {one[3]}" for one in events if one[1] == "notice"]
    assert "disk is full or fails" in notice
    assert "Make room" in notice
    assert events[-1][1] == "saved"
    assert kept_in(store) == {"1-1": "v0", "1-2": "v0"}
