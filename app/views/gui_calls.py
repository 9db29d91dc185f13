"""Lets any thread call functions on the GUI thread.

PySide crashes when a thread emits a signal while the GUI thread deletes the object it belongs to.
Threads that nobody waits for therefore emit the signal of an object that is never deleted.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from PySide6.QtCore import QObject, Qt, Signal


class GuiCalls(QObject):
    """Calls functions, in the order they were sent, on the thread that created this object."""

    _arrived = Signal(object)

    def __init__(self) -> None:
        super().__init__()
        self._arrived.connect(self._call, Qt.ConnectionType.QueuedConnection)

    def send(self, function: Callable[[], object]) -> None:
        """Schedule a function to be called by the event loop later."""
        try:
            self._arrived.emit(function)
        except RuntimeError:
            return  # the program has ended

    def _call(self, function: Callable[[], object]) -> None:
        function()


@cache
def gui_calls() -> GuiCalls:
    """Return the shared `GuiCalls` object; the first call must be made on the GUI thread."""
    return GuiCalls()
