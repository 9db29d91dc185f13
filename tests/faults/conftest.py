"""A decoder with started workers."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from app.imaging.decode import Decoder
from tests.faults import hostile_dicom
from tests.faults.bounds import open_all
from tests.faults.seeds import ENCODED


@pytest.fixture(scope="package")
def decoder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Decoder]:
    """One worker, which has imported what reads every syntax."""
    made = Decoder(1)
    folder = tmp_path_factory.mktemp("warm")
    for number, syntax in enumerate(ENCODED):
        code = hostile_dicom.code_of(syntax)[1]
        hostile_dicom.compressed(folder / f"{number}.dcm", syntax, code)
    assert open_all(made, folder).shown > 0
    yield made
    made.close()
