"""Counts the time in which a call waits for the user."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Generator


class Waited:
    """How long a call has waited for the user, which is not the tool's own time."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._total = 0.0
        self._since: float | None = None

    @property
    def seconds(self) -> float:
        """So far, a question that is still open included."""
        since = self._since
        return self._total + (self._clock() - since if since is not None else 0.0)

    @contextlib.contextmanager
    def waiting(self) -> Generator[None]:
        """The user is waited for in the block."""
        self._since = self._clock()
        try:
            yield
        finally:
            self._total, self._since = self.seconds, None
