from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from app.records.record_library import RecordLibrary
from tests.unit.records.record_files import BUNDLES, write_bundles
from tests.unit.tools.record.charts import Charts, Json, write

Opens = Callable[..., Charts]


@pytest.fixture(scope="module", autouse=True)
def _forked(forked: None) -> None:
    """What reads records is forked: a process takes half a second to start."""


@pytest.fixture(autouse=True)
def _no_data_folders(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DATA", "DICOM", "CSV", "DNA"):
        monkeypatch.delenv(f"COHERENT_{name}_PATH", raising=False)


@pytest.fixture(scope="session")
def twelve(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RecordLibrary]:
    """The twelve bundles that a Synthea of 2019 wrote."""
    if not BUNDLES.is_dir():
        pytest.skip("needs ../shared/data/records")
    library = RecordLibrary(tmp_path_factory.mktemp("index"), workers=2)
    library.open([BUNDLES])
    yield library
    library.close()


@pytest.fixture(scope="session")
def made_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    write_bundles(folder, 12)
    return folder


@pytest.fixture(scope="session")
def made(made_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RecordLibrary]:
    """Bundles that the tests make, of twelve patients."""
    library = RecordLibrary(tmp_path_factory.mktemp("index"), workers=2)
    library.open([made_folder])
    yield library
    library.close()


@pytest.fixture
def opens(tmp_path: Path) -> Iterator[Opens]:
    """Write a record of one patient, and open it."""
    library = RecordLibrary(tmp_path / "index", workers=1)

    def open_record(*resources: Json, own: str = "p1", **more: object) -> Charts:
        path = write(tmp_path / "fhir", *resources, own=own, **more)
        opened = library.open([path])
        assert opened.problems == ()
        (tmp_path / own).mkdir()
        return Charts(tmp_path / own, library, own)

    yield open_record
    library.close()
