"""Events that the model process sends to the host, beside progress; no torch here.

An event travels as the text of a progress message that begins with a control character, which no
text for people contains.
"""

from __future__ import annotations

import json
from typing import Any

from app.tools.api import ToolFailed

_MARK = "\x1e"
WORKING, LOADING, LOADED = "working", "loading", "loaded"


class OutOfMemory(ToolFailed):
    """Memory is too small in one process, whatever was tried there."""


class ProcessorOutOfMemory(OutOfMemory):
    """Memory is too small although the call already ran on the processor."""


def event_text(kind: str, **facts: Any) -> str:
    """Return the text of a progress message that carries an event."""
    return _MARK + json.dumps({"kind": kind, **facts})


def parse_event(text: str) -> dict[str, Any] | None:
    """Return the event that a progress message carries; None if its text is for people."""
    if not text.startswith(_MARK):
        return None
    try:
        event = json.loads(text[1:])
    except ValueError:
        return {}
    return event if isinstance(event, dict) else {}
