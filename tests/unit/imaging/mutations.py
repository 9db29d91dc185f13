"""Seeded damage to a file: whatever comes out must be a FileProblem, and soon."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from app.errors import FileProblem
from app.imaging.reading.image_entries import read_attributes, read_frame, read_instances


def assert_only_problems(source: bytes, target: Path, head: int, count: int = 50) -> int:
    """Damage bytes, mostly in the first `head`, and cut; read all that is left.

    Returns:
        How many of the damaged files were refused.
    """
    rng = np.random.default_rng(7)
    refused = 0
    for number in range(count):
        data = bytearray(source)
        for _ in range(int(rng.integers(1, 8))):
            end = head if rng.random() < 0.8 else len(data)
            data[int(rng.integers(0, min(end, len(data))))] = int(rng.integers(0, 256))
        if number % 5 == 0:
            del data[int(rng.integers(0, len(data))) :]
        target.write_bytes(bytes(data))
        started = time.monotonic()
        refused += not _read(target)
        assert time.monotonic() - started < 10
    return refused


def _read(path: Path) -> bool:
    """Whether it could be read; anything but a FileProblem goes through."""
    try:
        read_attributes(path)
        for instance in read_instances(path)[:3]:
            if instance.has_frames:
                frame = read_frame(path, instance.frames - 1, instance.part)
                assert frame.stored.ndim in (2, 3)
    except FileProblem as error:
        problem = error
    else:
        return True
    assert problem.reason
    assert problem.subject
    return False


def assert_refused(call: Callable[[], object], words: str) -> None:
    """The call raises a FileProblem that says `words`."""
    with pytest.raises(FileProblem) as caught:
        call()
    said = f"{caught.value.reason} {caught.value.remedy}"
    assert words in said, said
