"""An event loop whose clock a test can put forward, so that hours pass in no time."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class SkippingLoop(asyncio.SelectorEventLoop):
    """Timers that lie in the skipped time are due at once."""

    _skipped_s = 0.0

    def time(self) -> float:
        """The loop's clock."""
        return super().time() + self._skipped_s

    def skip(self, seconds: float) -> None:
        """Put the clock forward."""
        self._skipped_s += seconds


def skip(seconds: float) -> None:
    """Put the running loop's clock forward."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, SkippingLoop)
    loop.skip(seconds)


def run_skipping(main: Coroutine[Any, Any, T]) -> T:
    """Run `main` in such a loop."""
    with asyncio.Runner(loop_factory=SkippingLoop) as runner:
        return runner.run(main)
