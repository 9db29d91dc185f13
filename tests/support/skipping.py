"""An event loop whose clock a test can advance, so that hours pass at once."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class SkippingLoop(asyncio.SelectorEventLoop):
    """An event loop that runs the timers of the skipped time at once."""

    _skipped_s = 0.0

    def time(self) -> float:
        """Return the loop's time in seconds."""
        return super().time() + self._skipped_s

    def skip(self, seconds: float) -> None:
        """Advance the clock."""
        self._skipped_s += seconds


def skip(seconds: float) -> None:
    """Advance the running loop's clock."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, SkippingLoop)
    loop.skip(seconds)


def run_skipping(main: Coroutine[Any, Any, T]) -> T:
    """Run `main` in such a loop and return its result."""
    with asyncio.Runner(loop_factory=SkippingLoop) as runner:
        return runner.run(main)
