"""Has the decoder make ready what will be looked at next: the neighbours of the shown frame."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future
from typing import Protocol

from app.imaging.decode import CACHE_BYTES
from app.imaging.processes.worker_pool import Priority
from app.imaging.types import Frame, Instance, Series

PlaceOf = Callable[[Instance], tuple[Series, int] | None]
Key = tuple[str, int, int, int]

CINE_AHEAD = 4
"""Frames of a cine that are decoded ahead of the one that is shown."""

NEAR = 2
"""Images of a stack, in the direction of scrolling, that are as urgent as neighbours are."""

AHEAD, BEHIND = 8, 2
AHEAD_BYTES = CACHE_BYTES // 4
"""What is made ready may not drive out what was looked at."""


class Frames(Protocol):
    """What gives frames."""

    def frame(self, instance: Instance, index: int, priority: int) -> Future[Frame]:
        """Decode one, or find it in the cache."""
        ...


class Prefetching:
    """Asks for the frames around the shown one, and drops what scrolling has left behind.

    A step of the wheel asks for one frame more and drops one: the others go on waiting.

    Args:
        decoder: Gives the frames, and keeps them.
        place_of: The series of an image and its place there, or None.
    """

    def __init__(self, decoder: Frames, place_of: PlaceOf) -> None:
        self._decoder = decoder
        self._place_of = place_of
        self._asked: dict[Key, tuple[int, Future[Frame]]] = {}
        self._where: tuple[str, int] = ("", 0)
        self._series: Series | None = None
        self._step = 1

    def around(self, instance: Instance, index: int) -> None:
        """Frame `index` of an image is shown, or will be in a moment."""
        self._follow(instance, index)
        asked: dict[Key, tuple[int, Future[Frame]]] = {}
        room = AHEAD_BYTES
        for other, frame, priority in self._wanted(instance, index):
            room -= _bytes_of(other)
            if room < 0:
                break
            key = (str(other.path), other.mtime_ns, other.part, frame)
            known = self._asked.pop(key, None)
            if known is None or priority < known[0]:
                mine = self._decoder.frame(other, frame, priority)
                if known is not None:
                    known[1].cancel()  # after the new one has joined it
                known = (priority, mine)
            asked[key] = known
        self.stop()
        self._asked = asked

    def stop(self) -> None:
        """Nothing is to be made ready any more."""
        for _, future in self._asked.values():
            future.cancel()
        self._asked = {}
        self._series = None

    def _follow(self, instance: Instance, index: int) -> None:
        """Find out in which direction somebody scrolls."""
        found = self._place_of(instance) if instance.frames == 1 else None
        if found is None:
            where = (f"{instance.path}/{instance.part}", index)
        else:
            where = (found[0].key, found[1])
        if where[0] != self._where[0]:
            self._step = 1
        elif where[1] != self._where[1]:
            self._step = 1 if where[1] > self._where[1] else -1
        self._where = where
        self._series = found[0] if found is not None else None

    def _wanted(self, instance: Instance, index: int) -> Iterator[tuple[Instance, int, int]]:
        """Images, frames and priorities, the most urgent first."""
        if instance.frames > 1:
            for step in range(1, min(CINE_AHEAD, instance.frames - 1) + 1):
                yield instance, (index + self._step * step) % instance.frames, Priority.PREFETCH
            return
        if self._series is None:
            return
        series, place = self._series.instances, self._where[1]
        order = [(step, Priority.NEIGHBOUR) for step in range(1, NEAR + 1)]
        order.append((-1, Priority.NEIGHBOUR))
        order += [(step, Priority.PREFETCH) for step in range(NEAR + 1, AHEAD + 1)]
        order += [(-step, Priority.PREFETCH) for step in range(2, BEHIND + 1)]
        for step, priority in order:
            other = place + self._step * step
            if 0 <= other < len(series):
                one = series[other]
                if one.has_frames:
                    forward = (step > 0) == (self._step > 0)
                    yield one, 0 if forward else one.frames - 1, priority


def _bytes_of(instance: Instance) -> int:
    """About how much a decoded frame takes."""
    samples = 3 if instance.get("SamplesPerPixel").strip() == "3" else 1
    bits = instance.get("BitsAllocated").strip()
    return instance.rows * instance.columns * samples * (1 if bits in ("1", "8") else 2)
