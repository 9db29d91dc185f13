"""Signals, i.e. lists of callbacks, for classes that do not depend on a GUI toolkit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVarTuple

Args = TypeVarTuple("Args")


class Signal(Generic[*Args]):
    """A list of callbacks, called in order of connection on the thread that calls `emit`."""

    def __init__(self) -> None:
        self._slots: list[Callable[[*Args], object]] = []

    def connect(self, slot: Callable[[*Args], object]) -> Callable[[], None]:
        """Call `slot` each time the signal is emitted; return a function that disconnects it."""
        self._slots.append(slot)

        def disconnect() -> None:
            if slot in self._slots:
                self._slots.remove(slot)

        return disconnect

    def clear(self) -> None:
        """Disconnect every slot."""
        self._slots.clear()

    def emit(self, *args: *Args) -> None:
        """Call every slot with the arguments."""
        for slot in tuple(self._slots):
            slot(*args)
