"""Following one call: what it tells goes to the user, to whoever shows states, and to estimates."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from app.errors import Cancelled, SightlineError, WorkerDied
from app.tools.api import CancelToken
from app.tools.hosting import protocol
from app.tools.hosting.estimates import Durations, Estimate, in_words
from app.tools.hosting.states import ModelState, State, StateBoard
from app.tools.models.cards import card

Progress = Callable[[float, str], None]


@dataclass(frozen=True, slots=True)
class Job:
    """A call to be made.

    Attributes:
        entry: "module:function".
        payload: What it is given.
        cancel: Ends it.
        timeout_s: Limit from the moment it is its turn.
        progress: Told how far it is.
        model_waits: Whether it still counts as waiting for its turn.
    """

    entry: str
    payload: Mapping[str, Any]
    cancel: CancelToken
    timeout_s: float
    progress: Progress | None
    model_waits: bool = True

    @property
    def model(self) -> str:
        """Name of the card of the model that is asked; "" where the call names none."""
        source: Any = self.payload.get("model")
        return str(source.get("name", "")) if isinstance(source, Mapping) else ""

    @property
    def title(self) -> str:
        """What is done, for those who wait until it is over."""
        try:
            return card(self.model).title
        except (KeyError, ValueError, OSError):
            return "another model"

    def waiting(self, what: str) -> None:
        """Tell the user what it waits for."""
        if self.progress is not None:
            self.progress(0.0, f"Waiting for {what}")


class Following:
    """One call's events.

    Args:
        board: What models do.
        lane: In which process it runs.
        model: The card's name, or None for no model.
        progress: The caller's.
        durations: What such calls took before.
    """

    def __init__(
        self,
        board: StateBoard,
        lane: str,
        model: str | None,
        progress: Progress | None,
        durations: Durations | None,
    ) -> None:
        self._board = board
        self._lane = lane
        self._model = model or ""
        self._told = progress
        self._durations = durations
        self._key = ""
        self._estimate = Estimate(None)

    def begin(self, entry: str) -> None:
        """It is its turn."""
        known = self._board.of(self._lane, self._model) if self._model else None
        ready = known is not None and known.state is State.READY
        temper = "warm" if ready else "cold"
        self._key = "|".join((entry, self._model, self._lane, temper))
        usual = self._durations.usual(self._key) if self._durations is not None else None
        self._estimate = Estimate(usual)
        if self._model:
            state = known if ready and known is not None else ModelState(self._model, State.LOADING)
            now = State.BUSY if ready else State.LOADING
            self._board.set(self._lane, replace(state, state=now, fraction=0.0, why=""))

    def progress(self, fraction: float, text: str) -> None:
        """What the call tells."""
        event = protocol.heard(text)
        if event is not None:
            self._event(event)
            return
        left = self._estimate.left(fraction)
        if self._model:
            self._board.progress(self._lane, self._model, fraction, text, left)
        if self._told is not None:
            self._told(fraction, text if left is None else f"{text} ({in_words(left)})")

    def _event(self, event: Mapping[str, Any]) -> None:
        kind = event.get("kind")
        if kind == protocol.LOADED:
            self._board.loaded(self._lane, event.get("models", ()))
        elif self._model and kind in (protocol.WORKING, protocol.LOADING):
            known = self._board.of(self._lane, self._model)
            now = State.BUSY if kind == protocol.WORKING else State.LOADING
            if now is State.BUSY:
                self._estimate.works()
            state = known or ModelState(self._model, now)
            self._board.set(self._lane, replace(state, state=now))

    def done(self) -> None:
        """It has answered."""
        if self._durations is not None and self._key:
            self._durations.note(self._key, self._estimate.elapsed)
        self._rest()

    def failed(self, error: BaseException, *, alive: bool) -> None:
        """It has raised.

        Args:
            error: What.
            alive: Whether the process is still there, and so what is loaded in it.
        """
        known = self._board.of(self._lane, self._model) if self._model else None
        if not alive:
            self._board.gone(self._lane)
        loading = known is not None and known.state is State.LOADING
        to_blame = self._model and (loading or isinstance(error, WorkerDied | protocol.OutOfMemory))
        if isinstance(error, SightlineError) and to_blame:
            why = error.reason
            self._board.set(self._lane, ModelState(self._model, State.FAILED, why=why))
        elif alive:
            self._rest(lost=loading and isinstance(error, Cancelled))

    def _rest(self, *, lost: bool = False) -> None:
        """The model waits for the next call, if it is loaded."""
        known = self._board.of(self._lane, self._model) if self._model else None
        if known is None:
            return
        if lost or not known.device:
            self._board.drop(self._lane, self._model)
        else:
            done = replace(known, state=State.READY, doing="", fraction=0.0, left_s=None)
            self._board.set(self._lane, done)
