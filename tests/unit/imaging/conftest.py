"""A decoder with its worker processes, shared."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from app.imaging.decode import Decoder
from tests.support.forked import forked_workers


@pytest.fixture(scope="package")
def decoder() -> Iterator[Decoder]:
    with forked_workers():
        made = Decoder(2)
        made.warm()
    yield made
    made.close()
