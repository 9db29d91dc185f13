"""Keeps Python's garbage collector from stalling the window.

A full collection visits every container and stops all threads: 40 ms for the program's modules, and
150 ms more with 100,000 open instances. Long-lived objects are therefore frozen, and no full
collection runs while a scan creates such objects. Instances and their tables are not part of
reference cycles, so closing a study frees them without the collector.
"""

from __future__ import annotations

import gc
from functools import cache

MANY = 10_000
"""Number of open instances above which a full collection takes 15 ms."""

_NEVER = 2**31 - 1


@cache
def freeze_startup_objects() -> None:
    """Exempt the objects that exist at the first call, e.g. modules, from garbage collection.

    Modules and classes stay in memory until the program ends anyway.
    """
    gc.collect()
    gc.freeze()


class CollectionPause:
    """Suspends full garbage collections during a scan; only one pause may be active at a time.

    Every `begin` must be followed by `end`, even after an error.
    """

    def __init__(self) -> None:
        self._before: tuple[int, int, int] | None = None

    def begin(self) -> None:
        """Suspend full collections; has no effect if they are already suspended."""
        if self._before is None:
            young, middle, _old = self._before = gc.get_threshold()
            gc.set_threshold(young, middle, _NEVER)

    def end(self, instances: int) -> None:
        """Resume full collections; with at least `MANY` open `instances`, freeze all objects."""
        if self._before is None:
            return
        gc.set_threshold(*self._before)
        self._before = None
        if instances >= MANY:
            gc.collect(1)  # garbage that is young must not stay for ever
            gc.freeze()
