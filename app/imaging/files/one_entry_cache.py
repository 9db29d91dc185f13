"""What a worker process keeps of the file whose frames it is asked for one by one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class OneEntryCache:
    """The last thing that was made; forgotten before the next is made, so that both never are.

    Not thread-safe: a worker process runs one call at a time.
    """

    def __init__(self) -> None:
        self._key: object = None
        self._value: Any = None

    def get(self, key: object, make: Callable[[], Any]) -> Any:
        """What `make` gave for this key, now or before."""
        if key != self._key:
            self.clear()
            self._value = make()
            self._key = key
        return self._value

    def clear(self) -> None:
        """Forget it."""
        self._key = self._value = None
