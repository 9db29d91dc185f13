"""Calls on the GUI thread, from any thread.

A signal that a thread emits while the GUI thread deletes the object it belongs to crashes the
program: PySide checks that the object is there, lets go of the interpreter, then uses it. So
threads that nobody waits for emit the signal of an object that is never deleted.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from PySide6.QtCore import QObject, Qt, Signal


class Post(QObject):
    """Calls what is handed in on the thread that made it, in order."""

    _arrived = Signal(object)

    def __init__(self) -> None:
        super().__init__()
        self._arrived.connect(self._call, Qt.ConnectionType.QueuedConnection)

    def send(self, function: Callable[[], object]) -> None:
        """Call `function` soon, in a turn of the event loop of its own."""
        try:
            self._arrived.emit(function)
        except RuntimeError:
            return  # the program has ended

    def _call(self, function: Callable[[], object]) -> None:
        function()


@cache
def post() -> Post:
    """The only one; first asked for on the GUI thread."""
    return Post()
