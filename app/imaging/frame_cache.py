"""Cache of decoded frames; least recently used frames go first, frames on a screen never."""

from __future__ import annotations

import dataclasses
from collections import OrderedDict
from collections.abc import Collection, Hashable, Iterable
from typing import Any, cast

import numpy as np

from app.imaging.types import Frame

Key = tuple[str, str, int, int, int, int, int]
"""Path of the file, SOP Instance UID, its times and size, part, frame."""

_FIXED_BYTES = 4096
"""Approximate memory of a frame besides its arrays."""


def footprint(frame: Frame) -> int:
    """Return the bytes that a frame keeps in memory: pixels, overlays, palettes, LUTs, shutters.

    Memory shared with the worker that sent it counts too, since no other process keeps it.
    """
    return _FIXED_BYTES + _array_bytes(frame)


def _array_bytes(value: Any) -> int:
    if isinstance(value, np.ndarray):
        array = cast("np.ndarray[Any, Any]", value)
        return max(array.nbytes, getattr(array.base, "nbytes", 0))
    if isinstance(value, tuple):
        return sum(_array_bytes(item) for item in cast("tuple[Any, ...]", value))
    if dataclasses.is_dataclass(value):
        return sum(_array_bytes(getattr(value, one.name)) for one in dataclasses.fields(value))
    return 0


class FrameCache:
    """Frames within a budget of bytes; not thread-safe by itself.

    Args:
        budget: Limit in bytes. Only pinned frames may exceed it.
    """

    def __init__(self, budget: int) -> None:
        self.budget = budget
        self._used = 0
        self._frames: OrderedDict[Key, tuple[Frame, int]] = OrderedDict()
        self._pins: dict[Hashable, frozenset[Key]] = {}
        self._pinned: frozenset[Key] = frozenset()

    @property
    def used(self) -> int:
        """Bytes of the cached frames."""
        return self._used

    def __len__(self) -> int:
        return len(self._frames)

    def __contains__(self, key: Key) -> bool:
        return key in self._frames

    def peek(self, key: Key) -> Frame | None:
        """Return a frame or None, without counting it as a use."""
        kept = self._frames.get(key)
        return None if kept is None else kept[0]

    def get(self, key: Key) -> Frame | None:
        """Return a frame and make it the most recently used, or return None."""
        kept = self._frames.get(key)
        if kept is None:
            return None
        self._frames.move_to_end(key)
        return kept[0]

    def put(self, key: Key, frame: Frame) -> None:
        """Add a frame and evict others for it; one that does not fit is dropped unless pinned.

        Of two frames with one key the first stays, since it is in use.
        """
        if key in self._frames:
            return
        size = footprint(frame)
        if key not in self._pinned and size > self.budget - self._pinned_bytes():
            return
        self._frames[key] = (frame, size)
        self._used += size
        self._shrink()

    def pin(self, owner: Hashable, keys: Iterable[Key]) -> None:
        """Replace the frames that a viewer shows or waits for.

        Args:
            owner: The viewer; each has its own pins.
            keys: Frames that are never evicted once they are cached; empty to unpin all.
        """
        pins = frozenset(keys)
        if pins:
            self._pins[owner] = pins
        else:
            self._pins.pop(owner, None)
        self._pinned = frozenset[Key]().union(*self._pins.values())
        self._shrink()

    def forget(self, paths: Collection[str]) -> None:
        """Drop all frames of closed files, pinned or not."""
        for key in [key for key in self._frames if key[0] in paths]:
            _, size = self._frames.pop(key)
            self._used -= size

    def clear(self) -> None:
        """Drop all frames and pins."""
        self._frames.clear()
        self._pins.clear()
        self._pinned = frozenset()
        self._used = 0

    def _pinned_bytes(self) -> int:
        return sum(self._frames[key][1] for key in self._pinned if key in self._frames)

    def _shrink(self) -> None:
        while self._used > self.budget:
            oldest = next((key for key in self._frames if key not in self._pinned), None)
            if oldest is None:
                return
            _, size = self._frames.pop(oldest)
            self._used -= size
