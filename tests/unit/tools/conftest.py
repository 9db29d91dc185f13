from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from app.tools.hosting.host import ProcessHost
from tests.unit.tools.support import Bench


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


@pytest.fixture(scope="session")
def model_process() -> Iterator[ProcessHost]:
    """The one model process of all tests: importing torch and transformers costs seconds."""
    host = ProcessHost()
    yield host
    host.close()
