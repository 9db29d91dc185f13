"""Damaged files, 30 or with `--all` 1,000: `python -m tests.faults` gives the table.

SIGHTLINE_FAULTS=1 pytest -m faults tests/faults    # 10,000, and 200 in the main window
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.faults.mutate import mutant
from tests.faults.run import Tally, run
from tests.faults.seeds import seeds

posix = pytest.mark.skipif(os.name == "nt", reason="watches its processes by POSIX means")

FEW = 30
QUICK = 1000
QUICK_WINDOW = 42
FULL = 10_000
FULL_WINDOW = 200

asked_for = pytest.mark.skipif(
    os.environ.get("SIGHTLINE_FAULTS") != "1",
    reason="takes minutes: SIGHTLINE_FAULTS=1 pytest -m faults tests/faults",
)


def assert_unharmed(tally: Tally, count: int) -> None:
    """All mutants came to an end that is allowed, and every kind was among them."""
    assert not tally.failures, tally.table()
    assert sorted(one["number"] for one in tally.outcomes) == list(range(count))
    results = {one["result"] for one in tally.outcomes}
    assert {"shown", "refused"} <= results
    assert len({one["kind"] for one in tally.outcomes}) > min(38, count // 3)
    assert len(tally.good_s) > 0


@posix
def test_some_damaged_files_harm_nothing():
    assert_unharmed(run(range(FEW)), FEW)


@posix
@pytest.mark.slow
def test_a_thousand_damaged_files_harm_nothing():
    assert_unharmed(run(range(QUICK)), QUICK)


@posix
@pytest.mark.slow
@pytest.mark.gui
def test_damaged_files_in_the_main_window():
    assert_unharmed(run(range(QUICK_WINDOW), window=True), QUICK_WINDOW)


@posix
@asked_for
@pytest.mark.faults
@pytest.mark.timeout(1800)
def test_ten_thousand_damaged_files_harm_nothing():
    assert_unharmed(run(range(FULL)), FULL)


@posix
@asked_for
@pytest.mark.faults
@pytest.mark.gui
@pytest.mark.timeout(1800)
def test_two_hundred_damaged_files_in_the_main_window():
    assert_unharmed(run(range(FULL_WINDOW), window=True), FULL_WINDOW)


def test_a_number_gives_the_same_file_each_time(tmp_path: Path):
    kinds = [seeds(_folder(tmp_path, name), shared=False) for name in "ab"]
    assert list(kinds[0]) == list(kinds[1])
    for number in range(300):
        one, two = (mutant(files, 7, number) for files in kinds)
        assert (one.how, one.data) == (two.how, two.data), one.seed
        assert one.data != one.seed.data
    assert mutant(kinds[0], 8, 3).data != mutant(kinds[0], 7, 3).data


def _folder(parent: Path, name: str) -> Path:
    (parent / name).mkdir()
    return parent / name


def test_what_must_not_be_is_counted():
    """The counting itself: a host that dies and an error without words are failures."""
    tally = Tally()
    outcome = {"number": 3, "kind": "x", "name": "y", "how": ["bits"], "result": "refused"}
    outcome |= {"seconds": 0.1, "reason": "", "failures": ["no plain reason: ''"]}
    tally.take({"outcome": outcome})
    tally.take({"batch": 3, "good_s": 12.5, "rss": 1})
    assert [number for number, _ in tally.failures] == [3, 3]
    assert "FAILED 3: no plain reason" in tally.table()
