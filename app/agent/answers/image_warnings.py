"""Tells behind whatever answer is given what its images are not: no patient's, no chest, not hung.

It is told by the program, not left to a language model, which may leave a warning of a result out,
describe a picture by itself, or answer a later question from an earlier result.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from app.agent.answers.evidence import cite
from app.agent.answers.relevant_results import Concerned
from app.agent.call_log import LoggedCall
from app.agent.image_reference import name_of
from app.tools.planning import Plans
from app.tools.telling import has_words, one_line

HEAD = "**Mind the images:**"
SYNTHETIC = "results rest on a synthetic image, made by a model: they say nothing of any patient"
MIRRORED = (
    "as it is stored, mirrored: what it calls left or right by its own eyes may be the other side"
)
_OVERRULED = (" although ", "you said that")
"""In the warning of a result on an image that only the user's yes let in."""
_LONGEST = 600  # characters of one warning: all that was overruled stands in it


def caveats(concerned: Concerned, plans: Plans) -> str:
    """A paragraph on images that prove nothing, "" where there are none.

    Args:
        concerned: What the answer may rest on.
        plans: What the packs say.
    """
    lines = list(dict.fromkeys([*_synthetic(concerned), *_open(concerned)]))
    lines += [f"the model saw {name} {MIRRORED}" for name in concerned.mirrored]
    lines += _warned(concerned, plans)
    return "\n".join([HEAD, *(f"- {line}." for line in lines)]) if lines else ""


def _part(item: LoggedCall, key: str) -> Mapping[str, Any]:
    found = item.message.data.get(key)
    return found if isinstance(found, Mapping) else {}


def _synthetic(concerned: Concerned) -> Iterator[str]:
    made = [i for i in concerned.results if _part(i, "metadata").get("synthetic") is True]
    if made:
        yield _cited(SYNTHETIC, made)


def _open(concerned: Concerned) -> Iterator[str]:
    for note in concerned.seen:
        if note.get("synthetic"):
            which = name_of(note, concerned.seen)
            yield f"{which} is synthetic, made by a model: it shows no patient"


def _warned(concerned: Concerned, plans: Plans) -> Iterator[str]:
    """What several results say alike of one image stands once, with all their numbers."""
    alike: dict[tuple[str, str], list[LoggedCall]] = {}
    for item in concerned.results:
        for said in dict.fromkeys(_warnings(item)):
            if _minded(said, item.call.name, plans):
                alike.setdefault((concerned.where(item), said), []).append(item)
    for (where, said), items in alike.items():
        tools = ", ".join(dict.fromkeys(item.call.name for item in items))
        place = f" on {where}" if where else ""
        yield _cited(f"{tools}{place}: {one_line(said, _LONGEST)}", items)


def _warnings(item: LoggedCall) -> Iterator[str]:
    """The warnings of a result, wherever the tool put them."""
    for part in (_part(item, "output"), _part(item, "metadata")):
        told = part.get("warnings")
        for said in told if isinstance(told, list) else ():
            if isinstance(said, str):
                yield said


def _minded(said: str, tool: str, plans: Plans) -> bool:
    return all(part in said for part in _OVERRULED) or any(
        has_words(said, re.escape(word)) for word in plans.caveats(tool)
    )


def _cited(line: str, items: list[LoggedCall]) -> str:
    for number in dict.fromkeys(item.message.evidence for item in items):
        line = cite(line, number)
    return line
