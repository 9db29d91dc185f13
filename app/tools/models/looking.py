"""A look at a model that another program may be replacing at that moment.

The lock of a change is not waited for: it is held for as long as gigabytes are fetched, and a
folder that may only be read has none. Models are put in place by renames, and each leaves a mark:
who finds the same marks before and after a look has seen one model, and else looks again.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from app.errors import SightlineError
from app.tools.api import ToolFailed
from app.tools.models.places import Place
from app.tools.models.swap import is_aside

Seen = TypeVar("Seen")
Marks = tuple[tuple[int, ...], ...]

PATIENCE_S = 1.0
"""How long a model is waited for that is neither as it was nor as it will be: a few renames."""

_PAUSE_S = 0.01
_LOOKS = 5  # each fooled by another installation of the same model


class BeingReplaced(ToolFailed):
    """Another Sightline replaces the model over and over, or hangs in the middle of it."""

    def __init__(self, place: Place) -> None:
        super().__init__(
            f"{place.card.title} is being replaced by another Sightline",
            remedy="Try again in a moment.",
        )


def steadily(place_of: Callable[[], Place], look: Callable[[Place], Seen]) -> Seen:
    """What is seen of a model, all of it at one moment.

    Args:
        place_of: Where it lies, after what was left behind there was put back.
        look: Looks at it; may be called again.

    Raises:
        BeingReplaced: There was no such moment.
        OSError, SightlineError: Raised by `look`, at one moment.
    """
    until = time.monotonic() + PATIENCE_S
    looks = 0
    while looks < _LOOKS:
        place = place_of()
        before = marks(place)
        if is_aside(place) and place.missing():
            if time.monotonic() >= until:
                break
            time.sleep(_PAUSE_S)
            continue
        looks += 1
        try:
            seen = look(place)
        except (OSError, SightlineError):
            if marks(place) == before:
                raise
        else:
            if marks(place) == before:
                return seen
    raise BeingReplaced(place_of())


def marks(place: Place) -> Marks:
    """What is other once other files are in place."""
    if place.card.folder:
        return _mark(place.base)[:2], _mark(place.record_path)
    return _mark(place.path), _mark(place.record_path)


def _mark(path: Path) -> tuple[int, ...]:
    try:
        found = path.stat()
    except OSError:
        return ()
    return found.st_dev, found.st_ino, found.st_mtime_ns, found.st_size
