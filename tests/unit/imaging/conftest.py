"""A decoder with its worker processes, shared: each takes half a second to start."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from app.imaging.decode import Decoder


@pytest.fixture(scope="package")
def decoder() -> Iterator[Decoder]:
    made = Decoder(2)
    yield made
    made.close()
