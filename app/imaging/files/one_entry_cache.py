"""Cache of a worker process for the file whose frames are requested one by one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class OneEntryCache:
    """Cache of one value, which is dropped before the next one is made, to save memory.

    Not thread-safe: a worker process runs one call at a time.
    """

    def __init__(self) -> None:
        self._key: object = None
        self._value: Any = None

    def get(self, key: object, make: Callable[[], Any]) -> Any:
        """Return the cached value if its key is `key`; otherwise cache and return `make()`."""
        if key != self._key:
            self.clear()
            self._value = make()
            self._key = key
        return self._value

    def clear(self) -> None:
        """Drop the cached value."""
        self._key = self._value = None
