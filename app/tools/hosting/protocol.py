"""What the model process tells the host beside progress; no torch here, both sides import it.

A told event travels as the text of a progress message that begins with a character which no text
for people has.
"""

from __future__ import annotations

import json
from typing import Any

from app.tools.api import ToolFailed

_MARK = "\x1e"
WORKING, LOADING, LOADED = "working", "loading", "loaded"


class OutOfMemory(ToolFailed):
    """All that can be done in one process was tried: memory is too small there."""


class ProcessorOutOfMemory(OutOfMemory):
    """It ran on the processor already: a process for that would find no more memory."""


def told(kind: str, **facts: Any) -> str:
    """The text of a progress message that tells an event."""
    return _MARK + json.dumps({"kind": kind, **facts})


def heard(text: str) -> dict[str, Any] | None:
    """The event that a progress message tells; None where its text is for people."""
    if not text.startswith(_MARK):
        return None
    try:
        event = json.loads(text[1:])
    except ValueError:
        return {}
    return event if isinstance(event, dict) else {}
