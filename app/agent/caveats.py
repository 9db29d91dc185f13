"""Tells behind whatever answer is given what the images of a run are not: no patient's, no chest.

It is told by the program, not left to a language model, which may leave a warning of a result out
or describe a picture by itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from app.agent.ended import Ended
from app.agent.evidence import cite
from app.tools.telling import one_line

HEAD = "**Mind the images:**"
SYNTHETIC = "results rest on a synthetic image, made by a model: they say nothing of any patient"
_OVERRULED = (" although ", "you said that")
"""In the warning of a result on an image that only the user's yes let in."""


def caveats(ended: Sequence[Ended], notes: Sequence[Mapping[str, Any]]) -> str:
    """A paragraph on images that prove nothing, "" where there are none.

    Args:
        ended: The calls of the run.
        notes: What is open, the current image first.
    """
    lines = list(dict.fromkeys([*_synthetic(ended), *_open(notes), *_overruled(ended)]))
    return "\n".join([HEAD, *(f"- {line}." for line in lines)]) if lines else ""


def _metadata(item: Ended) -> Mapping[str, Any]:
    found = item.message.data.get("metadata") if item.message.ok else None
    return found if isinstance(found, Mapping) else {}


def _synthetic(ended: Sequence[Ended]) -> Iterator[str]:
    numbers = [item.message.evidence for item in ended if _metadata(item).get("synthetic") is True]
    if numbers:
        text = SYNTHETIC
        for number in dict.fromkeys(numbers):
            text = cite(text, number)
        yield text


def _open(notes: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for note in notes[:1]:
        if note.get("synthetic"):
            which = note.get("id", "the image")
            yield f"{which} is synthetic, made by a model: it shows no patient"


def _overruled(ended: Sequence[Ended]) -> Iterator[str]:
    for item in ended:
        warnings = _metadata(item).get("warnings")
        for said in warnings if isinstance(warnings, list) else ():
            if isinstance(said, str) and all(part in said for part in _OVERRULED):
                yield cite(f"{item.call.name}: {one_line(said)}", item.message.evidence)
