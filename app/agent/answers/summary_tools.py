"""One tool's result in words: what its pack says of it, else what it says itself."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping, Sequence
from typing import Any

from app.agent.answers.evidence import cite
from app.agent.messages import Message
from app.tools.planning import Plans
from app.tools.telling import Data, Said, Teller, number, one_line, said

_log = logging.getLogger(__name__)

_TEXT_LIMIT = 4000
_MOST_FIGURES = 12
_TEXTS = ("response", "text", "answer")
_IDENTIFYING = re.compile(r"patient|birth|accession|physician|operator|institution", re.IGNORECASE)


def render_result(message: Message, plans: Plans) -> list[str]:
    """The lines on one successful call, each with its evidence."""
    teller = plans.teller(message.tool)
    lines = _told(teller, message) or said(_generic(_part(message, "output"), _summary(message)))
    return [heading(teller), *(f"- {written([line], message.evidence)}" for line in lines)]


def direct_answer(teller: Teller, message: Message, question: str) -> list[str]:
    """What a result answers directly, a line each; nothing where its pack does not say."""
    if teller.answer is None:
        return []
    try:
        answer = teller.answer(_part(message, "output"), question)
        return [written(line, message.evidence) for line in answer]
    except Exception as error:
        _log.warning("A pack could not tell a result of %s (%s)", message.tool, type(error))
        return []


def written(sentences: Sequence[Said], number_: int) -> str:
    """Sentences in a line, those that rest on a result with its number."""
    return " ".join(cite(item.text, number_) if item.cites else item.text for item in sentences)


def heading(teller: Teller) -> str:
    """What the lines below it are about, and the tool that they rest on."""
    return f"**{teller.title}** ({teller.tool})" if teller.title else f"**{teller.tool}**"


def warnings_of(data: Data) -> list[str]:
    """The warnings that a result carries, wherever the tool put them."""
    found: list[str] = []
    for part in (data.get("output") or {}, data.get("metadata") or {}):
        value = part.get("warnings") if isinstance(part, Mapping) else None
        items = value if isinstance(value, list) else [value]
        found += [one_line(item) for item in items if isinstance(item, str) and item.strip()]
    return list(dict.fromkeys(found))


def _told(teller: Teller, message: Message) -> Sequence[Said]:
    if teller.lines is None:
        return ()
    try:
        return teller.lines(_part(message, "output"), _part(message, "metadata"))
    except Exception as error:  # a pack's own code, on whatever the tool returned
        _log.warning("A pack could not tell a result of %s (%s)", message.tool, type(error))
        return ()


def _part(message: Message, key: str) -> dict[str, Any]:
    return message.data.get(key) or {}


def _summary(message: Message) -> str:
    return one_line(str(message.data.get("summary") or ""), limit=1000)


def _generic(output: Data, summary: str) -> list[str]:
    """Any other tool: its own summary and texts, else the figures it gave."""
    lines = [summary] if summary else []
    lines += [
        f"{key}: “{one_line(value, _TEXT_LIMIT)}”"
        for key, value in output.items()
        if isinstance(value, str) and value.strip() and key in _TEXTS
    ]
    return lines or _figures(output) or ["Done; the tool gave no summary."]


def _figures(output: Data) -> list[str]:
    """What a tool without a summary returned: a line a value, lists and tables counted."""
    lines: list[str] = []
    for key, value in output.items():
        if value in (None, "", [], {}) or _IDENTIFYING.search(key):
            continue
        words = one_line(key.replace("_", " "), 60)
        if isinstance(value, bool):
            lines.append(f"{words}: {'yes' if value else 'no'}")
        elif isinstance(value, (int, float)):
            lines.append(f"{words}: {number(value, 4)}")
        elif isinstance(value, (list, tuple, Mapping)):
            count = len(value)
            lines.append(f"{words}: {count:,} {'entry' if count == 1 else 'entries'}")
        elif key.endswith(("path", "file")):
            lines.append(f"{words}: a file was made")
        else:
            lines.append(f"{words}: {one_line(str(value), 200)}")
    rest = len(lines) - _MOST_FIGURES
    return lines if rest <= 0 else [*lines[:_MOST_FIGURES], f"and {rest:,} more values"]
