"""Writes an answer from tools' outputs alone: what was found, what failed, what stays open.

Every line about a result cites it by its number and stands under the tool's name. Scores and
measurements are described, never turned into a disease.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.agent.evidence import cite
from app.agent.messages import Message
from app.agent.planning.steps import CLASSIFIER, RATIO, SEGMENTATION
from app.agent.planning.text import has_words
from app.agent.summary_tools import (
    LABEL_ALIASES,
    OPERATING_POINT,
    one_line,
    render_result,
    warnings_of,
)

RATIO_MARGIN = 0.02
"""A ratio that lies nearer to 0.5 than this decides nothing; used when the tool does not judge."""
DISCLAIMER = "Not for diagnosis: a person has to look at the image."


@dataclass(frozen=True, slots=True)
class Skipped:
    """A step that was not run, and why."""

    number: int
    tool: str
    reason: str


def summarise(results: Sequence[Message], undone: Sequence[str] = ()) -> str:
    """What the calls of a run found so far, for a run that ended early.

    Args:
        results: Tool messages in the order of the calls.
        undone: What was still to be done: tools that were called but not run, steps of the plan.
    """
    blocks = _blocks(results, [], [])
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
) -> str:
    """The answer of the offline planner.

    Args:
        results: Tool messages in the order in which they ran.
        skipped: Steps that were not run.
        notes: What to tell about the plan itself.
        topics: What was asked about.
        question: The user's text, for the labels it asks about.
    """
    head = _head(results, skipped, topics)
    blocks = [head, *_direct_answers(results, skipped, topics, question)]
    blocks += _blocks(results, skipped, notes)
    limits = _limits(results, topics, question)
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
    results: Sequence[Message], skipped: Sequence[Skipped], notes: Sequence[str]
) -> list[str]:
    blocks = ["\n".join(render_result(message)) for message in results if message.ok]
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
    remedy = one_line(str(message.data.get("remedy") or ""), limit=600)
    # "Stopped by the user.", "Not run: ..." say themselves what became of it.
    what = "" if error.startswith(("Stopped", "Not run")) else " failed"
    return f"- **{message.tool}**{what}: {error}. {remedy}".rstrip()


def _direct_answers(
    results: Sequence[Message],
    skipped: Sequence[Skipped],
    topics: Collection[str],
    question: str,
) -> list[str]:
    done = {message.tool: message for message in results if message.ok}
    asked: list[tuple[str, str, Callable[[Mapping[str, Any]], str]]] = []
    if "heart_size" in topics:
        asked.append((RATIO, "whether the heart is enlarged", _heart_answer))
    if "disease" in topics:
        asked.append((CLASSIFIER, "which disease there is", _disease_answer(question)))
    answers: list[str] = []
    for tool, what, answer in asked:
        if tool in done:
            said = answer(done[tool].data.get("output", {})).splitlines()
            answers.append("\n".join(cite(line, done[tool].evidence) for line in said))
        elif any(message.tool == tool for message in results) or any(
            item.tool == tool for item in skipped
        ):
            answers.append(f"I cannot say {what}: {tool} gave no result (see below).")
    return [text for text in answers if text]


def _heart_answer(output: Mapping[str, Any]) -> str:
    ratio = output.get("ratio")
    if not isinstance(ratio, (int, float)):
        return f"I cannot say whether the heart is enlarged: {RATIO} gave no ratio."
    judged = one_line(str(output.get("judgement") or _judged(ratio)))
    doubt = "" if output.get("reliable", True) else " It is not reliable here: see the warnings."
    return (
        f"**Heart size:** the cardiothoracic ratio is about {ratio:.2f}, {judged}. Above 0.5 on an "
        f"upright PA film an adult's heart is commonly read as enlarged.{doubt}"
    )


def _judged(ratio: float) -> str:
    if abs(ratio - 0.5) < RATIO_MARGIN:
        return "too near 0.5 to decide"
    return "above 0.5" if ratio > 0.5 else "below 0.5"


def _disease_answer(question: str) -> Callable[[Mapping[str, Any]], str]:
    def answer(output: Mapping[str, Any]) -> str:
        scores = {
            label: float(score)
            for label, score in output.items()
            if isinstance(score, (int, float)) and not isinstance(score, bool)
        }
        asked = [
            label
            for label in scores
            if has_words(question, LABEL_ALIASES.get(label, label.replace("_", " ").lower()))
        ]
        if not asked:
            return _highest(scores)
        lines = [
            f"**{label.replace('_', ' ')}:** score {scores[label]:.2f}, "
            f"{_side(scores[label])} the operating point 0.5 ({CLASSIFIER}). A score is neither "
            "a probability nor a diagnosis."
            for label in asked
        ]
        return "\n".join(lines)

    return answer


def _highest(scores: Mapping[str, float]) -> str:
    above = sorted((item for item in scores.items() if item[1] > OPERATING_POINT), key=_by_score)
    listed = ", ".join(f"{label.replace('_', ' ')} {score:.2f}" for label, score in above)
    return (
        f"**Which disease:** I cannot name one. Above the operating point 0.5 of {CLASSIFIER}: "
        f"{listed or 'no label'}."
    )


def _by_score(item: tuple[str, float]) -> float:
    return -item[1]


def _side(score: float) -> str:
    if score == OPERATING_POINT:
        return "at"
    return "above" if score > OPERATING_POINT else "below"


_LESION = (
    r"tumou?rs?|lesions?|mass(?:es)?|nodules?|cancers?|metasta\w+|cavit\w+|fractures?|infiltrat\w+|"
    r"opacit(?:y|ies)|effusions?|consolidations?|pneumothora(?:x|ces)"
)
_MEASURED = (
    r"sizes?|how\s+(?:many|much|big|large|long|wide)|measure\w*|count|number\s+of|largest|smallest|"
    r"diameters?|segment\w*|outline\w*|contour\w*|delineate\w*|box(?:es)?"
)
_PART = (
    r"left|right|upper|lower|middle|lobes?|lobar|bilateral\w*|unilateral\w*|apical|apex|apices|basal|"
    r"bases"
)
_VOLUME = r"volumes?|capacity"


def _limits(results: Sequence[Message], topics: Collection[str], question: str) -> list[str]:
    """What was asked and no result above answers."""
    done = {message.tool for message in results if message.ok}
    grounded = "xray_phrase_grounding" in done
    lesion = has_words(question, _LESION)
    lines: list[str] = []
    if "disease" in topics:
        lines.append(
            "- Which disease it is: scores and outlines do not decide that; a radiologist does."
        )
    shown = f" {SEGMENTATION} outlines anatomy only." if SEGMENTATION in done else ""
    if (lesion or "disease" in topics) and "where" in topics and not grounded:
        lines.append(f"- Where a disease lies: no tool that ran locates one.{shown}")
    elif "disease" in topics and has_words(question, _PART) and not grounded:
        lines.append("- On which side or in which part: a score is for the whole film.")
    if lesion and has_words(question, _MEASURED):
        lines.append(
            "- Outline, size or number of a lesion: no tool that ran finds, measures or counts "
            f"lesions.{shown}"
        )
    if has_words(question, _VOLUME):
        lines.append("- A volume: a radiograph is flat and gives areas only.")
    if "compare" in topics:
        lines.append(
            "- Whether free texts agree: comparing them needs a language model; they stand above."
        )
    return lines
