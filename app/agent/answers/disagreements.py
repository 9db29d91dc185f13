"""Tells where results on one image contradict each other, behind whatever answer is given.

It is told by the program, not left to a language model: an answer that smooths a contradiction over
reads better than one that shows it. What an earlier run found is held against what a later one
finds, and is told again where an answer rests on a result that another one contradicts.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from app.agent.answers.evidence import cite
from app.agent.answers.relevant_results import Concerned
from app.agent.call_log import LoggedCall
from app.tools.planning import Plans
from app.tools.telling import Disagreement, Given, one_line

_log = logging.getLogger(__name__)
ADVICE = "Nothing of this was averaged: look at the image yourself."


def disagreements(concerned: Concerned, plans: Plans) -> str:
    """A paragraph on what the tools disagree on, "" where they do not.

    Args:
        concerned: What the answer may rest on.
        plans: What the packs say.
    """
    results = concerned.results
    given = [_given(item) for item in results]
    lines = [
        f"- on {one_line(found.about)}{_place(found, concerned)}: "
        f"{'; '.join(_sides(found, results))}."
        for found in _found(given, plans)
        if any(results[place].number in concerned.rested_on for _, place in found.sides)
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


def _place(found: Disagreement, concerned: Concerned) -> str:
    places = (concerned.where(concerned.results[place]) for _, place in found.sides)
    where = next(filter(None, places), "")
    return f" in {where}" if where else ""


def _sides(found: Disagreement, results: Sequence[LoggedCall]) -> Iterator[str]:
    for text, place in found.sides:
        yield cite(one_line(text), results[place].message.evidence)


def _given(item: LoggedCall) -> Given:
    data = item.message.data
    output, metadata = (_table(data.get(key)) for key in ("output", "metadata"))
    return Given(item.call.name, item.call.arguments, output, metadata, item.sources)


def _table(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
