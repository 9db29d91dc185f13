"""Cuts off a process that drips its message, byte by byte, for ever.

A pipe's own time-out counts from byte to byte, and knows of no call's limit; Windows has none.
"""

from __future__ import annotations

import threading
import time
import weakref
from typing import Protocol

MESSAGE_S = 30.0
"""How long a whole message may take from its first byte on."""

_LOOK_S = 1.0
_NAME = "sightline-messages"


class Reading(Protocol):
    """Who reads a message."""

    reading_since: float | None
    """Monotonic time at which the message began; None between messages."""

    def cut_off(self) -> None:
        """End the other side, and the pipe for whoever holds it."""


_readers: weakref.WeakSet[Reading] = weakref.WeakSet()
_lock = threading.Lock()


def watch(reader: Reading) -> None:
    """Look after a reader for as long as it lives; one thread does for all."""
    with _lock:
        _readers.add(reader)
        if not any(thread.name == _NAME for thread in threading.enumerate()):
            threading.Thread(target=_look, name=_NAME, daemon=True).start()


def _look() -> None:
    while True:
        time.sleep(_LOOK_S)
        with _lock:
            readers = list(_readers)
        for reader in readers:
            since = reader.reading_since
            if since is not None and time.monotonic() - since > MESSAGE_S:
                reader.cut_off()
        readers.clear()
