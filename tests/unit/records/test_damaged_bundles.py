"""A thousand damaged bundles: no process of ours dies, and nothing is lost in silence."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.imaging.processes.worker_pool import WorkerPool
from app.records.record_library import RecordLibrary
from tests.unit.records.record_mutations import silent_losses, write_damaged


@pytest.mark.parametrize("count", [60, pytest.param(1000, marks=pytest.mark.slow)])
def test_damaged_bundles_are_read_as_far_as_they_go(
    pool: WorkerPool, tmp_path: Path, count: int
) -> None:
    paths = write_damaged(tmp_path, count)
    library = RecordLibrary(pool=pool)
    opened = library.open([tmp_path])
    assert silent_losses(library, paths) == []
    assert opened.files == count
    assert opened.patients > count / 3  # most are damaged in a part only
    assert opened.problems
    assert not any("process" in one.reason for one in opened.problems)  # no worker died
    for patient in library.patients(limit=20):  # what is there can be shown
        for entry in library.entries(patient.id):
            assert entry.name
    library.close()
