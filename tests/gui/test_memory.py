"""Memory: 200 studies opened and closed leave nothing behind; a long series keeps to its budget."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.gui.memory_runs import DIFFERENT, SMALL

pytestmark = [
    pytest.mark.gui,
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="reads /proc"),
]

GROWTH = 0.05
ALLOWANCE = 16 * 2**20
"""Beside the cache: frames under way between processes, and what the allocator keeps."""

LATE_THREADS = 2
"""A pool starts its second thread when its first is busy: on some machines only after the start."""

KEPT_BLOCKS = 64  # laid out corner texts
KEPT_NAMES = 1024
"""Patients whose names are kept parsed (`studies.catalogue`), the least recently used go first."""


def measured(repo: Path, run: str, *more: str) -> dict[str, Any]:
    """The numbers of a run in a process of its own."""
    command = [sys.executable, "-m", "tests.gui.memory_runs", run, *more]
    environment = {**os.environ, "QT_QPA_PLATFORM": "offscreen"}
    done = subprocess.run(
        command, cwd=repo, env=environment, capture_output=True, text=True, timeout=170, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    numbers: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return numbers


def test_two_hundred_studies_opened_and_closed_leave_nothing_behind(repo: Path):
    numbers = measured(repo, "studies")
    before, after = numbers["before"], numbers["after"]
    grown = after["resident"] / before["resident"] - 1
    print(f"{before['resident'] / 1e6:.0f} MB, {grown:+.1%} after {numbers['rounds']} studies")  # noqa: T201
    assert numbers["rounds"] == 200
    assert grown < GROWTH
    for kind in ("files", "segments", "children"):
        assert after[kind] <= before[kind], kind
    assert after["threads"] <= before["threads"] + LATE_THREADS
    more = {
        name: (before["objects"].get(name, 0), count)
        for name, count in after["objects"].items()
        if count > before["objects"].get(name, 0) + 2
    }
    known = more.pop("app.imaging.studies.catalogue.Identity", (0, 0))
    assert known[1] <= KEPT_NAMES
    blocks = more.pop("app.views.canvas.text_overlay.Block", (0, 0))
    assert blocks[1] <= KEPT_BLOCKS
    assert not more, "(before, after) of classes with more objects than before"


def test_two_thousand_compressed_slices_scroll_within_the_cache_s_budget(repo: Path):
    numbers = measured(repo, "scrolled")
    grown = numbers["peak"] - numbers["before"]
    print(f"{grown / 2**20:.0f} MiB grown with a cache of {SMALL / 2**20:.0f} MiB")  # noqa: T201
    assert numbers["slices"] == 2000
    assert numbers["slices"] * numbers["frame"] > 3 * numbers["budget"]  # it does not all fit
    assert numbers["kept"] <= numbers["budget"] == SMALL
    assert numbers["kept"] > SMALL * 0.9  # but what fits is kept
    assert grown < SMALL + ALLOWANCE
    assert DIFFERENT * numbers["frame"] < SMALL  # copies are files of their own to the cache
