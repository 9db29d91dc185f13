"""The current state of each model, for the models window, and how long calls usually take.

Durations are kept in the cache folder: names of functions, models and devices, and seconds.
"""

from __future__ import annotations

import json
import statistics
import threading
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import Any

from app.log import get_logger
from app.user_files import read_regular, write_atomic

_log = get_logger(__name__)
_EVERY_S = 0.1
"""Minimum seconds between two reports of a model's progress; a new state is always reported."""


class State(StrEnum):
    """The states of a model: installed but not loaded, loading, ready, busy with a call, failed."""

    INSTALLED = "installed"
    LOADING = "loading"
    READY = "ready"
    BUSY = "busy"
    FAILED = "failed"


_WEIGHT = {State.BUSY: 3, State.LOADING: 2, State.READY: 1}
"""If a model is in several processes, the state with the highest value is shown; if values are
equal, the latest state."""


@dataclass(frozen=True, slots=True)
class ModelState:
    """The state of one model, with its progress and memory.

    Attributes:
        model: The card's name.
        device: "cpu", "cuda" or "mps"; "" if the model is not loaded.
        dtype: Name of the torch dtype in which the model is loaded.
        memory: Bytes of memory that the model was measured to use.
        why: Reason for a failure, as a text for the user.
        doing: The latest progress text from the running call ("24 tokens written").
        fraction: Progress of the running call, from 0 to 1.
        left_s: Estimated seconds until the call ends; None if not known.
        waiting: Number of calls for this model that are waiting for their turn.
    """

    model: str
    state: State
    device: str = ""
    dtype: str = ""
    memory: int = 0
    why: str = ""
    doing: str = ""
    fraction: float = 0.0
    left_s: float | None = None
    waiting: int = 0


Listener = Callable[[ModelState], object]


class StateBoard:
    """The states of all models in all worker processes, which listeners can follow; thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._states: dict[tuple[str, str], ModelState] = {}
        self._waiting = Counter[str]()
        self._listeners: list[Listener] = []
        self._told: dict[str, float] = {}

    def states(self) -> dict[str, ModelState]:
        """Return the state of each model that is loaded, waited for or has failed, by card name."""
        with self._lock:
            models = {model for _, model in self._states} | set(self._waiting)
            return {model: self._of(model) for model in sorted(models)}

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Call `listener(state)` on each change, from any thread; return a function to stop it."""
        with self._lock:
            self._listeners.append(listener)

        def end() -> None:
            with self._lock, suppress(ValueError):
                self._listeners.remove(listener)

        return end

    def set(self, device: str, state: ModelState) -> None:
        """Record the state of a model in the process that serves `device`."""
        with self._lock:
            self._states[device, state.model] = state
        self._tell(state.model)

    def progress(
        self, device: str, model: str, fraction: float, doing: str, left_s: float | None
    ) -> None:
        """Record the progress of a model's running call; see the attributes of `ModelState`."""
        with self._lock:
            known = self._states.get((device, model))
            if known is None:
                return
            self._states[device, model] = replace(
                known, fraction=fraction, doing=doing, left_s=left_s
            )
            if time.monotonic() - self._told.get(model, 0.0) < _EVERY_S:
                return
        self._tell(model)

    def get(self, device: str, model: str) -> ModelState | None:
        """Return a model's state in the process that serves `device`; None if there is none."""
        with self._lock:
            return self._states.get((device, model))

    def set_loaded(self, device: str, models: Iterable[Mapping[str, object]]) -> None:
        """Record which models are loaded in a device's process; a busy model stays busy.

        `models` are the dicts from `ModelCache.entries`.
        """
        given = {str(one["model"]): one for one in models}
        stay = (State.LOADING, State.FAILED)
        self._drop(
            lambda where, one: where == device and one.model not in given and one.state not in stay
        )
        for model, one in given.items():
            with self._lock:
                before = self._states.get((device, model))
                known = before or ModelState(model, State.READY)
                told = self._states[device, model] = replace(
                    known,
                    state=State.READY if known.state is State.FAILED else known.state,
                    why="",
                    device=str(one.get("device", "")),
                    dtype=str(one.get("dtype", "")),
                    memory=int(str(one.get("memory", 0))),
                )
            if told != before:
                self._tell(model)

    def models(self, device: str) -> set[str]:
        """Return the models that are loaded or being loaded in the process that serves `device`."""
        with self._lock:
            return {
                model
                for (where, model), state in self._states.items()
                if where == device and state.state is not State.FAILED
            }

    def remove(self, device: str, model: str) -> None:
        """Remove a model's state in the process that serves `device`."""
        self._drop(lambda where, one: where == device and one.model == model)

    def clear_device(self, device: str) -> None:
        """Remove the states, except "failed", of models in a device's process that has ended."""
        self._drop(lambda where, one: where == device and one.state is not State.FAILED)

    def forget(self, model: str) -> None:
        """Remove a model's "failed" states, since its files have changed and it may now work."""
        self._drop(lambda _where, one: one.model == model and one.state is State.FAILED)

    def _drop(self, unwanted: Callable[[str, ModelState], bool]) -> None:
        with self._lock:
            keys = [key for key, state in self._states.items() if unwanted(key[0], state)]
            for key in keys:
                del self._states[key]
        for _device, model in keys:
            self._tell(model)

    @contextmanager
    def waiting(self, model: str) -> Generator[None]:
        """Count one more call that waits for `model` during the `with` block; none if it is ""."""
        if not model:
            yield
            return
        self._add_waiting(model, 1)
        try:
            yield
        finally:
            self._add_waiting(model, -1)

    def _add_waiting(self, model: str, more: int) -> None:
        with self._lock:
            self._waiting[model] += more
            self._waiting += Counter()  # without those for which none wait
        self._tell(model)

    def _of(self, model: str) -> ModelState:
        found = [state for (_, name), state in self._states.items() if name == model]
        best = max(
            enumerate(found), key=lambda one: (_WEIGHT.get(one[1].state, 0), one[0]), default=None
        )
        state = best[1] if best is not None else ModelState(model, State.INSTALLED)
        return replace(state, waiting=self._waiting[model])

    def _tell(self, model: str) -> None:
        with self._lock:
            self._told[model] = time.monotonic()
            # Listeners are called without the lock: they may ask for states themselves.
            state, listeners = self._of(model), list(self._listeners)
        for listener in listeners:
            try:
                listener(state)
            except Exception:  # a faulty display must not end the model's work
                _log.exception("a listener to model states failed")


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
    """Stores how long calls took on this machine; `file` returns the path of the file with them."""

    def __init__(self, file: Callable[[], Path]) -> None:
        self._file = file
        self._lock = threading.Lock()

    def median(self, key: str) -> float | None:
        """Return the median duration in seconds stored under a key of `add`, or None."""
        with self._lock:
            found = self._known.get(key)
            return statistics.median(found) if found else None

    def add(self, key: str, seconds: float) -> None:
        """Store how long a call took; its key names the function, the model and the device."""
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
    """Estimates how long one call will still take.

    `usual` is the usual duration of such a call in seconds, or None; `clock` is monotonic, in s.
    """

    def __init__(self, usual: float | None, clock: Callable[[], float] = time.monotonic) -> None:
        self._usual = usual
        self._clock = clock
        self._started = clock()
        self._from = (self._started, 0.0)  # when the work began, and what was done then
        self._noticed = True  # the next fraction is not the first of the work

    def start_work(self) -> None:
        """Record that the model is loaded: the speed of the work is measured from now on."""
        self._noticed = False

    @property
    def elapsed(self) -> float:
        """Seconds since the call began."""
        return self._clock() - self._started

    def left(self, fraction: float) -> float | None:
        """Return the estimated remaining seconds; None if not known or below 3 seconds.

        `fraction` is the part of the call that is done, 0..1. The nearer it is to 1, the less the
        usual duration of such calls counts, and the more the speed of this one.
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
