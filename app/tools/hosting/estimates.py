"""Estimate how long a call will still take, by its progress and the durations of earlier calls.

Durations are kept in a small file in the cache folder: names of functions, models and devices, and
seconds; nothing about any image.
"""

from __future__ import annotations

import json
import statistics
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any

from app.settings import read_regular, write_atomic

_KEPT = 5
_MOST_KEYS = 300
_WORTH_S = 2.0
"""Seconds. Shorter calls need no estimate, so their durations are not kept."""
_LEAST_LEFT_S = 3.0
_EARLY = 0.1
"""Below this fraction, the progress says little about the remaining time."""
_LEAST_SHARE = 0.02
"""Minimum fraction done since the model began to work for an estimate based on progress."""


class Durations:
    """Durations of earlier calls on this machine, kept in the file whose path `file` returns."""

    def __init__(self, file: Callable[[], Path]) -> None:
        self._file = file
        self._lock = threading.Lock()

    def median(self, key: str) -> float | None:
        """Return the median seconds that earlier calls with this key took; None if not known."""
        with self._lock:
            found = self._known.get(key)
            return statistics.median(found) if found else None

    def add(self, key: str, seconds: float) -> None:
        """Store the duration in seconds of a call with this key."""
        if seconds < _WORTH_S and self.median(key) is None:
            return
        with self._lock:
            known = self._known
            known[key] = [*known.pop(key, []), round(seconds, 1)][-_KEPT:]
            for old in list(known)[:-_MOST_KEYS]:
                del known[old]
            with suppress(OSError):  # an estimate is not worth an error
                write_atomic(self._file(), json.dumps(known).encode())

    @cached_property
    def _known(self) -> dict[str, list[float]]:
        with suppress(Exception):  # whatever is wrong with it, it is only a cache
            read: dict[str, list[Any]] = json.loads(read_regular(self._file()))
            return {key: [float(one) for one in found][-_KEPT:] for key, found in read.items()}
        return {}


class Estimate:
    """Estimate of one call's remaining time.

    `usual` is what such a call usually takes in seconds, or None; `clock` is monotonic, in seconds.
    """

    def __init__(self, usual: float | None, clock: Callable[[], float] = time.monotonic) -> None:
        self._usual = usual
        self._clock = clock
        self._started = clock()
        self._from = (self._started, 0.0)  # when the work began, and what was done then
        self._noticed = True  # the next fraction is not the first of the work

    def start_work(self) -> None:
        """Measure the speed of the work from now on, without the time to load the model."""
        self._noticed = False

    @property
    def elapsed(self) -> float:
        """Seconds since the call began."""
        return self._clock() - self._started

    def left(self, fraction: float) -> float | None:
        """Return the estimated remaining seconds; None if not known or too few to report.

        `fraction` is the part of the call that is done, 0..1. The nearer it is to 1, the less the
        usual duration counts.
        """
        elapsed, fraction = self.elapsed, min(max(fraction, 0.0), 1.0)
        if not self._noticed:
            self._noticed, self._from = True, (self._clock(), fraction)
        began, before_it = self._from
        worked, share = self._clock() - began, fraction - before_it
        by_fraction = None
        if fraction >= _EARLY and share >= _LEAST_SHARE and worked >= _WORTH_S:
            by_fraction = worked * (1 - fraction) / share
        before = None if self._usual is None else max(0.0, self._usual - elapsed)
        if by_fraction is None:
            left = before
        elif before is None:
            left = by_fraction
        else:
            left = fraction * by_fraction + (1 - fraction) * before
        return left if left is not None and left >= _LEAST_LEFT_S else None


def in_words(seconds: float) -> str:
    """Return remaining seconds as text: "about 12 s left", "about 3 min left"."""
    if seconds < 20:
        return f"about {round(seconds)} s left"
    if seconds < 90:
        return f"about {round(seconds / 5) * 5} s left"
    return f"about {round(seconds / 60)} min left"
