"""Tells where the results of a run contradict each other, behind whatever answer is given.

It is told by the program, not left to a language model: an answer that smooths a contradiction over
reads better than one that shows it.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from app.agent.ended import Ended
from app.agent.evidence import cite
from app.tools.planning import Plans
from app.tools.telling import Disagreement, Given, one_line

_log = logging.getLogger(__name__)
_IMAGE_ENDINGS = ("_path", "_paths")
ADVICE = "Nothing of this was averaged: look at the image yourself."


def disagreements(ended: Sequence[Ended], plans: Plans) -> str:
    """A paragraph on what the tools of a run disagree on, "" where they do not.

    Args:
        ended: The calls of the run.
        plans: What the packs say.
    """
    good = [item for item in ended if item.message.ok]
    given = [_given(item) for item in good]
    lines = [
        f"- on {one_line(found.about)}: {'; '.join(_sides(found, good))}."
        for found in _found(given, plans)
    ]
    return "\n".join(["**The tools disagree:**", *lines, ADVICE]) if lines else ""


def _found(given: Sequence[Given], plans: Plans) -> Iterator[Disagreement]:
    for pack in plans.packs:
        if pack.disagreements is None:
            continue
        try:
            yield from pack.disagreements(given)
        except Exception as error:  # a pack's own code, on whatever its tools returned
            _log.warning("The pack %s could not compare results (%s)", pack.pack, type(error))


def _sides(found: Disagreement, good: Sequence[Ended]) -> Iterator[str]:
    for text, place in found.sides:
        yield cite(one_line(text), good[place].message.evidence)


def _given(item: Ended) -> Given:
    data = item.message.data
    output, metadata = (_table(data.get(key)) for key in ("output", "metadata"))
    images = item.images or frozenset(_named(item.call.arguments))
    return Given(item.call.name, item.call.arguments, output, metadata, images)


def _table(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _named(arguments: Mapping[str, Any]) -> Iterator[str]:
    """What image arguments say, of images that are not open: made by the run itself."""
    for name, value in arguments.items():
        if name.endswith(_IMAGE_ENDINGS):
            yield from (str(item) for item in (value if isinstance(value, list) else [value]))
