"""Calls on the GUI thread from any thread.

PySide crashes when a thread emits a signal while the GUI thread deletes the object it belongs to.
So threads that are not waited for emit the signal of an object that is never deleted.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from PySide6.QtCore import QObject, Qt, Signal


class GuiCalls(QObject):
    """Calls functions on the thread that made it, in order."""

    _arrived = Signal(object)

    def __init__(self) -> None:
        super().__init__()
        self._arrived.connect(self._call, Qt.ConnectionType.QueuedConnection)

    def send(self, function: Callable[[], object]) -> None:
        """Call a function in a later turn of the event loop."""
        try:
            self._arrived.emit(function)
        except RuntimeError:
            return  # the program has ended

    def _call(self, function: Callable[[], object]) -> None:
        function()


@cache
def gui_calls() -> GuiCalls:
    """Return the only `GuiCalls`; first called on the GUI thread."""
    return GuiCalls()
