"""What each model is doing, for whoever shows it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import StrEnum

from app.log import get_logger

_log = get_logger(__name__)
_EVERY_S = 0.1
"""Progress of a model is told this often at most; a change of its state always."""


class State(StrEnum):
    """What a model, or a tool by its models, is doing."""

    NOT_INSTALLED = "not installed"
    INSTALLED = "installed"
    LOADING = "loading"
    READY = "ready"
    BUSY = "busy"
    FAILED = "failed"


_WEIGHT = {State.BUSY: 3, State.LOADING: 2, State.READY: 1}
"""Which of its processes speaks for a model that has several; a failure that is newer does too."""


@dataclass(frozen=True, slots=True)
class ModelState:
    """What a model is doing.

    Attributes:
        model: Its card's name.
        state: What it is doing.
        device: Where it is: "cpu", "cuda" or "mps"; "" where it is not loaded.
        dtype: Name of the torch dtype in which it is loaded.
        memory: Bytes that it was measured to take.
        why: Why it failed, for the user.
        doing: What it is doing now, as the tool told it last ("24 tokens written").
        fraction: How much of the call that runs is done, 0..1.
        left_s: Seconds that the call was estimated to take from then on, or None.
        waiting: Calls for this model that wait for their turn.
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
    """The states of all models in all processes; thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._states: dict[tuple[str, str], ModelState] = {}
        self._waiting: dict[str, int] = {}
        self._listeners: list[Listener] = []
        self._told: dict[str, float] = {}

    def states(self) -> dict[str, ModelState]:
        """By model; one that is not in it is in no process: the store knows about it."""
        with self._lock:
            models = {model for _, model in self._states} | set(self._waiting)
            return {model: self._of(model) for model in sorted(models)}

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Call back with each change, on whatever thread it happens.

        Returns:
            What ends it.
        """
        with self._lock:
            self._listeners.append(listener)

        def end() -> None:
            with self._lock, suppress(ValueError):
                self._listeners.remove(listener)

        return end

    def set(self, lane: str, state: ModelState) -> None:
        """What a model does in the process of `lane` now."""
        with self._lock:
            self._states[lane, state.model] = state
        self._tell(state.model)

    def progress(
        self, lane: str, model: str, fraction: float, doing: str, left_s: float | None
    ) -> None:
        """How far a model's call is."""
        with self._lock:
            known = self._states.get((lane, model))
            if known is None:
                return
            self._states[lane, model] = replace(
                known, fraction=fraction, doing=doing, left_s=left_s
            )
            if time.monotonic() - self._told.get(model, 0.0) < _EVERY_S:
                return
        self._tell(model)

    def of(self, lane: str, model: str) -> ModelState | None:
        """What is known of a model in that process."""
        with self._lock:
            return self._states.get((lane, model))

    def loaded(self, lane: str, models: Iterable[Mapping[str, object]]) -> None:
        """Exactly these are loaded in that process; the one that runs keeps its state."""
        given = {str(one["model"]): one for one in models}
        with self._lock:
            before = {model for where, model in self._states if where == lane}
            changed = [model for model in before - set(given) if self._leave(lane, model)]
            for model, one in given.items():
                known = self._states.get((lane, model), ModelState(model, State.READY))
                told = replace(
                    known,
                    state=State.READY if known.state is State.FAILED else known.state,
                    why="",
                    device=str(one.get("device", "")),
                    dtype=str(one.get("dtype", "")),
                    memory=int(str(one.get("memory", 0))),
                )
                if told != known or model not in before:
                    self._states[lane, model] = told
                    changed.append(model)
        for model in changed:
            self._tell(model)

    def models(self, lane: str) -> set[str]:
        """What is in that process, or on its way there."""
        with self._lock:
            return {
                model
                for (where, model), state in self._states.items()
                if where == lane and state.state is not State.FAILED
            }

    def drop(self, lane: str, model: str) -> None:
        """It is not in that process after all."""
        with self._lock:
            self._states.pop((lane, model), None)
        self._tell(model)

    def gone(self, lane: str) -> None:
        """Its process has ended: nothing is loaded there; what failed stays told."""
        with self._lock:
            there = [model for where, model in self._states if where == lane]
            changed = [
                model for model in there if self._states[lane, model].state is not State.FAILED
            ]
            for model in changed:
                del self._states[lane, model]
        for model in changed:
            self._tell(model)

    def forget(self, model: str) -> None:
        """Its files were changed: an old failure says nothing any more."""
        with self._lock:
            failed = [
                key
                for key, state in self._states.items()
                if key[1] == model and state.state is State.FAILED
            ]
            for key in failed:
                del self._states[key]
        if failed:
            self._tell(model)

    def wait(self, model: str, more: int) -> None:
        """So many calls more (or fewer, negative) wait for their turn."""
        with self._lock:
            count = self._waiting.get(model, 0) + more
            if count > 0:
                self._waiting[model] = count
            else:
                self._waiting.pop(model, None)
        self._tell(model)

    def _leave(self, lane: str, model: str) -> bool:
        """Drop one that is not loaded, unless it is about to be or failed; whether it was."""
        if self._states[lane, model].state in (State.LOADING, State.FAILED):
            return False
        del self._states[lane, model]
        return True

    def _of(self, model: str) -> ModelState:
        found = [state for (_, name), state in self._states.items() if name == model]
        best = max(
            enumerate(found), key=lambda one: (_WEIGHT.get(one[1].state, 0), one[0]), default=None
        )
        state = best[1] if best is not None else ModelState(model, State.INSTALLED)
        return replace(state, waiting=self._waiting.get(model, 0))

    def _tell(self, model: str) -> None:
        with self._lock:
            self._told[model] = time.monotonic()
            state, listeners = self._of(model), list(self._listeners)
        for listener in listeners:
            try:
                listener(state)
            except Exception:  # whoever shows states must not end what they are about
                _log.exception("a listener to model states failed")


_ORDER = (
    State.FAILED,
    State.BUSY,
    State.LOADING,
    State.READY,
    State.INSTALLED,
    State.NOT_INSTALLED,
)


def tool_states(
    needs: Mapping[str, Iterable[str]], installed: Iterable[str], states: Mapping[str, ModelState]
) -> dict[str, State]:
    """What each tool is doing, by the models that it can use.

    Args:
        needs: Tool -> names of the cards that serve it.
        installed: Names of the cards that are installed.
        states: As of `StateBoard.states`.

    Returns:
        Of each tool the most telling state of its models; "not installed" where none of them is.
    """
    there = set(installed)

    def of(model: str) -> State:
        known = states.get(model)
        if known is not None and known.state is not State.INSTALLED:
            return known.state
        return State.INSTALLED if model in there else State.NOT_INSTALLED

    return {
        tool: min((of(model) for model in models), key=_ORDER.index, default=State.INSTALLED)
        for tool, models in needs.items()
    }
