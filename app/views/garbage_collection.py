"""Keeps Python's garbage collector from stalling the window.

A full collection visits every container and stops all threads: 40 ms for the modules of the
program, and 150 ms more with 100,000 open instances. Long-lived objects are therefore frozen, and
no full collection runs while a scan makes such objects. Instances and their tables are in no
cycles, so they are freed without it when a study is closed.
"""

from __future__ import annotations

import gc
from functools import cache

MANY = 10_000
"""Number of open instances from which a full collection takes 15 ms."""

_NEVER = 2**31 - 1


@cache
def freeze_startup_objects() -> None:
    """Freeze the objects of start-up, such as modules and classes; only once.

    Classes and modules stay until the end anyway.
    """
    gc.collect()
    gc.freeze()


class CollectionPause:
    """Suspends full collections while a scan runs; there must be only one at a time.

    Every `begin` must be followed by `end`, also after an error.
    """

    def __init__(self) -> None:
        self._before: tuple[int, int, int] | None = None

    def begin(self) -> None:
        """Suspend full collections; can be called twice."""
        if self._before is None:
            young, middle, _old = self._before = gc.get_threshold()
            gc.set_threshold(young, middle, _NEVER)

    def end(self, instances: int) -> None:
        """Resume full collections; can be called twice.

        Args:
            instances: Number of open instances; from `MANY` on they are frozen.
        """
        if self._before is None:
            return
        gc.set_threshold(*self._before)
        self._before = None
        if instances >= MANY:
            gc.collect(1)  # garbage that is young must not stay for ever
            gc.freeze()
