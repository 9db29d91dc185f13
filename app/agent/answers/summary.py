"""Writes an answer from tools' outputs alone: what was found, what failed, what stays open.

Every line about a result cites it by its number and stands under the tool's name. Scores and
measurements are described, never turned into a disease.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from app.agent.answers.evidence import cite
from app.agent.answers.summary_tools import direct_answer, render_result, warnings_of
from app.agent.messages import Message, for_people
from app.tools.planning import NO_PLANS, Plans
from app.tools.telling import Told, one_line

DISCLAIMER = "Not for diagnosis: a person has to look at the image."


@dataclass(frozen=True, slots=True)
class Skipped:
    """A step that was not run, and why."""

    number: int
    tool: str
    reason: str


def summarise(
    results: Sequence[Message], undone: Sequence[str] = (), plans: Plans = NO_PLANS
) -> str:
    """What the calls of a run found so far, for a run that ended early.

    Args:
        results: Tool messages in the order of the calls.
        undone: What was still to be done: tools that were called but not run, steps of the plan.
        plans: What the packs say of their tools' results.
    """
    blocks = _blocks(results, [], [], plans)
    open_ = [f"- {one_line(item)}" for item in dict.fromkeys(undone) if item.strip()]
    if open_:
        blocks.append("\n".join(["**Not run any more**", *open_]))
    return "\n\n".join([*blocks, DISCLAIMER])


def write_summary(
    results: Sequence[Message],
    skipped: Sequence[Skipped],
    notes: Sequence[str],
    topics: Collection[str],
    question: str = "",
    plans: Plans = NO_PLANS,
) -> str:
    """The answer of the offline planner.

    Args:
        results: Tool messages in the order in which they ran.
        skipped: Steps that were not run.
        notes: What to tell about the plan itself.
        topics: What was asked about: kinds of question.
        question: The user's text, for the labels it asks about.
        plans: What the packs say of their tools' results.
    """
    ran = frozenset(message.tool for message in results if message.ok)
    told = Told(frozenset(topics), ran, question)
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
    warnings = [
        cite(f"- {message.tool}: {warning}", message.evidence)
        for message in results
        if message.ok
        for warning in warnings_of(message.data)
    ]
    if warnings:
        blocks.append("\n".join(["**Warnings**", *dict.fromkeys(warnings)]))
    if notes:
        blocks.append("\n".join(["**About the steps**", *(f"- {n}" for n in dict.fromkeys(notes))]))
    return blocks


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
    results: Sequence[Message], skipped: Sequence[Skipped], told: Told, plans: Plans
) -> list[str]:
    """The answers that stand above all else."""
    done = {message.tool: message for message in results if message.ok}
    tried = {message.tool for message in results} | {item.tool for item in skipped}
    answers: list[str] = []
    for teller in plans.tellers():
        if not teller.kind or teller.kind not in told.kinds:
            continue
        if teller.tool in done:
            answers.append("\n".join(direct_answer(teller, done[teller.tool], told.question)))
        elif teller.tool in tried:
            text = f"I cannot say {teller.subject}: {teller.tool} gave no result (see below)."
            answers.append(text)
    return [text for text in answers if text]


def _limits(told: Told, plans: Plans) -> list[str]:
    """What was asked and no result above answers."""
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
