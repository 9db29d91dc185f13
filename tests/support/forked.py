"""Worker processes that are forked from one that has imported what they need.

A worker that is spawned, as the program does it, imports for half a second of a core; in tests of
what workers read, not of how they start, that was a tenth of the suite. Each is as fresh as a
spawned one: the process it is forked from has read no file.
"""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from multiprocessing import forkserver
from typing import Any

import pytest

from app.imaging.processes.confinement import ADDED, child_environment

SPAWNING = multiprocessing.get_context
"""As it is outside of `forked_workers`."""

_IMPORTED = (
    "app.imaging.processes.confinement",
    "app.imaging.processes.wire",
    "app.imaging.processes.worker_main",
    "app.imaging.reading.dicom_image",
    "app.imaging.reading.header_entries",
    "app.imaging.reading.image_entries",
    "app.imaging.scanning.listing",
    "app.records.fhir_reading",
    "tests.support.forked",
)
# Numpy reads it as it is imported; workers of the program get it before.
_SINGLE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


class _Forks:
    """A context of `multiprocessing` whose processes have the environment of spawned ones."""

    def __init__(self) -> None:
        self._real = multiprocessing.get_context("forkserver")
        self._real.set_forkserver_preload([*_IMPORTED])

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def Process(
        self, *, target: Callable[..., object], args: tuple[Any, ...] = (), **others: Any
    ) -> Any:
        variables = {**child_environment(), **(ADDED.get() or {})}
        given = ADDED.set(_SINGLE_THREAD)  # for the process they are forked from
        try:
            made = self._real.Process(target=_run, args=(variables, target, args), **others)
            forkserver.ensure_running()
        finally:
            ADDED.reset(given)
        return made


def _run(
    variables: Mapping[str, str], target: Callable[..., object], args: tuple[Any, ...]
) -> None:
    os.environ.clear()
    os.environ.update(variables)
    target(*args)


@contextmanager
def forked_workers() -> Generator[None]:
    """Fork, within this context, what the program spawns; not on Windows, which cannot."""
    if os.name == "nt":
        yield
        return
    forks = _Forks()

    def context(method: str | None = None) -> Any:
        return forks if method == "spawn" else SPAWNING(method)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(multiprocessing, "get_context", context)
        yield
