"""Events, other than progress, that the model process sends to the host; no torch here.

An event ("model loaded") is sent as the text of a progress message. It begins with a control
character, with which texts for the user never begin.
"""

from __future__ import annotations

import json
from typing import Any

from app.tools.api import ToolFailed

_MARK = "\x1e"
WORKING, LOADING, LOADED = "working", "loading", "loaded"


class OutOfMemory(ToolFailed):
    """The error for a call that ran out of memory although every way to save memory was tried."""


class ProcessorOutOfMemory(OutOfMemory):
    """An `OutOfMemory` of a call that already ran on the CPU."""


def event_text(kind: str, **facts: Any) -> str:
    """Return an event as the text of a progress message; `facts` are its further keys."""
    return _MARK + json.dumps({"kind": kind, **facts})


def parse_event(text: str) -> dict[str, Any] | None:
    """Return the event in a progress message: "kind" and its facts; None for a text for the user.

    If the event is damaged, the result is {}.
    """
    if not text.startswith(_MARK):
        return None
    try:
        event = json.loads(text[1:])
    except ValueError:
        return {}
    return event if isinstance(event, dict) else {}
