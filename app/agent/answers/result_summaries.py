"""Answers written from tools' outputs alone: findings, failures and what remains open.

Every line about a result cites the result by its number and stands under the tool's name. Scores
and measurements are described, never interpreted as a disease.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from app.agent.answers.evidence import cite
from app.agent.messages import Message, for_people
from app.tools.pack_plan import NO_PLANS, Plans
from app.tools.result_wording import (
    AnswerContext,
    Data,
    ResultWording,
    Sentence,
    cited,
    number,
    one_line,
)

DISCLAIMER = "Not for diagnosis: a person has to look at the image."


@dataclass(frozen=True, slots=True)
class Skipped:
    """A step that was not run, with the reason."""

    number: int
    tool: str
    reason: str


def summarise(
    results: Sequence[Message], undone: Sequence[str] = (), plans: Plans = NO_PLANS
) -> str:
    """Return what the calls in a run found so far, for a run that ended early.

    `undone` names the calls that were not run, and the open steps of the plan.
    """
    blocks = _blocks(results, [], [], plans)
    open_ = [f"- {one_line(item)}" for item in dict.fromkeys(undone) if item.strip()]
    if open_:
        blocks.append("\n".join(["**Not run**", *open_]))
    return "\n\n".join([*blocks, DISCLAIMER])


def write_summary(
    results: Sequence[Message],
    skipped: Sequence[Skipped],
    notes: Sequence[str],
    topics: Collection[str],
    targets: frozenset[str] = frozenset(),
    plans: Plans = NO_PLANS,
) -> str:
    """Return the answer of the offline planner: a summary of what the calls found.

    `notes` are remarks on the plan, `topics` the names of the question's kinds, `targets` those of
    the packs' targets that the question is about.
    """
    ran = frozenset(message.tool for message in results if message.ok)
    if "warnings" in topics and not skipped:
        doubts = _warnings(results)
        head = "from the results earlier in this conversation."
        return "\n\n".join([head, *(doubts or ["None of them carries a warning."]), DISCLAIMER])
    told = AnswerContext(frozenset(topics), ran, targets)
    head = _head(results, skipped, topics)
    blocks = [head, *_direct_answers(results, skipped, told, plans)]
    blocks += _blocks(results, skipped, notes, plans)
    limits = _limits(told, plans)
    if limits:
        blocks.append("\n".join(["**What this does not answer**", *limits]))
    return "\n\n".join([*blocks, DISCLAIMER])


def _head(results: Sequence[Message], skipped: Sequence[Skipped], topics: Collection[str]) -> str:
    if not results and not skipped:
        return "no tool has run in this conversation yet."
    if not results:
        return "I could run none of the tools that this needs."
    good = [message.tool for message in results if message.ok]
    if "summary" in topics and not skipped:
        return "from the results earlier in this conversation."
    total = len(results) + len(skipped)
    ran = f"I ran {', '.join(dict.fromkeys(message.tool for message in results))}."
    if len(good) == total:
        return ran
    return f"{ran} {len(good)} of {total} steps gave a result; see below for the rest."


def _blocks(
    results: Sequence[Message], skipped: Sequence[Skipped], notes: Sequence[str], plans: Plans
) -> list[str]:
    blocks = ["\n".join(render_result(message, plans)) for message in results if message.ok]
    failures = [_failure(message) for message in results if not message.ok]
    failures += [f"- **{item.tool}** was not run: {_sentence(item.reason)}" for item in skipped]
    if failures:
        blocks.append("\n".join(["**Not done**", *failures]))
    blocks += _warnings(results)
    if notes:
        blocks.append("\n".join(["**About the steps**", *(f"- {n}" for n in dict.fromkeys(notes))]))
    return blocks


def _warnings(results: Sequence[Message]) -> list[str]:
    """Return the block of the results' warnings, or []."""
    warnings = [
        cite(f"- {message.tool}: {warning}", message.evidence)
        for message in results
        if message.ok
        for warning in warnings_of(message)
    ]
    return ["\n".join(["**Warnings**", *dict.fromkeys(warnings)])] if warnings else []


def _sentence(text: str) -> str:
    line = one_line(text)
    return line if line.endswith((".", "?", "!")) else f"{line}."


def _failure(message: Message) -> str:
    error = one_line(str(message.data.get("error") or "failed")).rstrip(".")
    remedy = one_line(for_people(str(message.data.get("remedy") or "")), limit=600)
    # "Stopped by the user.", "Not run: ..." say themselves what became of it.
    what = "" if error.startswith(("Stopped", "Not run")) else " failed"
    return f"- **{message.tool}**{what}: {error}. {remedy}".rstrip()


def _direct_answers(
    results: Sequence[Message], skipped: Sequence[Skipped], told: AnswerContext, plans: Plans
) -> list[str]:
    done = {message.tool: message for message in results if message.ok}
    tried = {message.tool for message in results} | {item.tool for item in skipped}
    answers: list[str] = []
    for wording in plans.wordings():
        if not wording.kind or wording.kind not in told.kinds:
            continue
        if wording.tool in done:
            answers.append("\n".join(direct_answer(wording, done[wording.tool], told.targets)))
        elif wording.tool in tried:
            text = f"I cannot say {wording.subject}: {wording.tool} gave no result (see below)."
            answers.append(text)
    return [text for text in answers if text]


def _limits(told: AnswerContext, plans: Plans) -> list[str]:
    """Return sentences on what was asked and no result answers."""
    lines = [
        line
        for pack in plans.packs
        if pack.unanswered is not None
        for line in pack.unanswered(told)
    ]
    if "compare" in told.kinds:
        lines.append(
            "Whether free texts agree: comparing them needs a language model"
            + ("; they stand above." if len(told.ran) > 1 else ", and two texts.")
        )
    return [f"- {line}" for line in lines]


_log = logging.getLogger(__name__)

_TEXT_LIMIT = 4000
_MOST_FIGURES = 12
_TEXTS = ("response", "text", "answer")
_IDENTIFYING = re.compile(r"patient|birth|accession|physician|operator|institution", re.IGNORECASE)


def render_result(message: Message, plans: Plans) -> list[str]:
    """Return the heading and the lines about one successful call, each line with its citation."""
    wording = plans.wording(message.tool)
    lines = _told(wording, message) or cited(_generic(message.output, _summary(message)))
    return [heading(wording), *(f"- {written([line], message.evidence)}" for line in lines)]


def direct_answer(wording: ResultWording, message: Message, targets: frozenset[str]) -> list[str]:
    """Return the direct answers that a result gives, one per line.

    The list is empty if the pack has no wording for direct answers.
    """
    if wording.answer is None:
        return []
    try:
        answer = wording.answer({**message.metadata, **message.output}, targets)
        return [written(line, message.evidence) for line in answer]
    except Exception as error:
        _log.warning("A pack could not tell a result of %s (%s)", message.tool, type(error))
        return []


def written(sentences: Sequence[Sentence], number_: int) -> str:
    """Return the sentences as one line; those with `cites` set cite the result `number_`."""
    return " ".join(cite(item.text, number_) if item.cites else item.text for item in sentences)


def heading(wording: ResultWording) -> str:
    """Return the heading above the lines about a tool."""
    return f"**{wording.title}** ({wording.tool})" if wording.title else f"**{wording.tool}**"


def warnings_of(message: Message) -> list[str]:
    """Return the warnings in a result, from its output and its metadata."""
    found: list[str] = []
    for part in (message.output, message.metadata):
        value = part.get("warnings")
        items = value if isinstance(value, list) else [value]
        found += [one_line(item) for item in items if isinstance(item, str) and item.strip()]
    return list(dict.fromkeys(found))


def _told(wording: ResultWording, message: Message) -> Sequence[Sentence]:
    if wording.lines is None:
        return ()
    try:
        return wording.lines(message.output, message.metadata)
    except Exception as error:  # a pack's own code, on whatever the tool returned
        _log.warning("A pack could not tell a result of %s (%s)", message.tool, type(error))
        return ()


def _summary(message: Message) -> str:
    return one_line(str(message.data.get("summary") or ""), limit=1000)


def _generic(output: Data, summary: str) -> list[str]:
    """Return lines on a tool without wording: its own summary and texts, else its figures."""
    lines = [summary] if summary else []
    lines += [
        f"{key}: “{one_line(value, _TEXT_LIMIT)}”"
        for key, value in output.items()
        if isinstance(value, str) and value.strip() and key in _TEXTS
    ]
    return lines or _figures(output) or ["Done; the tool gave no summary."]


def _figures(output: Data) -> list[str]:
    """Return a line for each value that a tool returned; lists and tables are counted."""
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
