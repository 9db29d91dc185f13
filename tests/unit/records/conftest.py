"""One pool of readers for all tests of records."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from app.imaging.processes.worker_pool import WorkerPool
from app.records.record_library import reading_pool


@pytest.fixture(scope="module", autouse=True)
def _forked(forked: None) -> None:
    """A process takes half a second to start."""


@pytest.fixture(scope="package")
def pool() -> Iterator[WorkerPool]:
    """The pool."""
    made = reading_pool(1)
    yield made
    made.close()
