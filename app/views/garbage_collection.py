"""Python's garbage collector, kept from stalling the window.

A full collection looks at every container there is and stops all threads meanwhile: 40 ms for the
modules of the program, and 150 ms more with 100,000 instances open. What stays for long is
therefore taken out of its rounds, and none takes place while a scan makes such objects. Instances
and their tables are in no cycles: when a study is closed they go without it.
"""

from __future__ import annotations

import gc
from functools import cache

MANY = 10_000
"""Instances of open studies from which on a full collection is felt: 15 ms."""

_NEVER = 2**31 - 1


@cache
def spare_the_collector() -> None:
    """Take what was loaded at start-up out of the garbage collector's later rounds; once.

    Classes and modules stay until the end anyway.
    """
    gc.collect()
    gc.freeze()


class Collector:
    """Holds full collections back while a scan runs.

    The process has one collector: whoever holds it back lets it go again, whatever happens.
    """

    def __init__(self) -> None:
        self._before: tuple[int, int, int] | None = None

    def hold(self) -> None:
        """No full collection from now on; the same again is no matter."""
        if self._before is None:
            young, middle, _old = self._before = gc.get_threshold()
            gc.set_threshold(young, middle, _NEVER)

    def let_go(self, instances: int) -> None:
        """Full collections as before; the same again is no matter.

        Args:
            instances: So many are open now; many are taken out of later rounds.
        """
        if self._before is None:
            return
        gc.set_threshold(*self._before)
        self._before = None
        if instances >= MANY:
            gc.collect(1)  # garbage that is young must not stay for ever
            gc.freeze()
