"""Judges what a call gave, and whether the run as a whole reached its goal. Pure functions.

A call that ended well is not yet an answer: a segmenter that found no cell where cells were asked
for is incomplete. A run that ended is not yet a success: what the question needs must have run and
given something, and what the packs put behind it as well.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from app.agent.messages import Message
from app.agent.planning import Intent
from app.tools.planning import Plans, Priority, Successor, ToolRule

TaskState = Literal["done", "incomplete", "failed"]
_MOST_NAMED = 8
_LONGEST_WHY = 300
_FAILED = frozenset(("failed", "failure", "error"))
_PARTIAL = frozenset(("partial", "incomplete", "timeout", "aborted"))


@dataclass(frozen=True, slots=True)
class TaskVerdict:
    """What a call came to.

    Attributes:
        state: "done", "incomplete" (it ran, but does not answer) or "failed".
        why: In words for the plan; "" where nothing need be said.
    """

    state: TaskState
    why: str = ""


@dataclass(frozen=True, slots=True)
class GoalVerdict:
    """Whether the run answers the question.

    Attributes:
        complete: Whether it does.
        why: What is missing, in a sentence; "" where nothing is.
        missing: Tools that the question needs and that have not run, in the order to run them.
    """

    complete: bool
    why: str = ""
    missing: tuple[str, ...] = ()


def judge_task(rule: ToolRule, message: Message, asked: Intent) -> TaskVerdict:
    """What a call came to.

    Args:
        rule: What is known of its tool.
        message: Its result.
        asked: The question.
    """
    if not message.ok:
        return TaskVerdict("failed", _error(message))
    told = _told_state(message)
    if told is not None:
        return told
    if found_nothing(rule, message):
        keys = " and ".join(key.replace("_", " ") for key in rule.empty)
        if asked.expects_data:
            return TaskVerdict("incomplete", f"it found nothing: no {keys}")
        return TaskVerdict("done", f"it found nothing: no {keys}; none may be the answer")
    absent = _looked_for_in_vain(rule, message)
    if absent:
        return TaskVerdict("incomplete", f"no result for {listed(absent)}")
    return TaskVerdict("done")


def found_nothing(rule: ToolRule, message: Message) -> bool:
    """Whether a call that ended well came back empty, as far as its pack says how to tell."""
    if not rule.empty or not message.ok:
        return False
    output = output_of(message)
    return all(_is_nothing(output.get(key)) for key in rule.empty)


def judge_goal(
    asked: Intent,
    plans: Plans,
    results: Sequence[Message],
    open_steps: Iterable[str],
    tools: Collection[str] | None = None,
    earlier: Iterable[Message] = (),
    barred: Callable[[str], str] = lambda _: "",
) -> GoalVerdict:
    """Whether the run answers the question.

    Args:
        asked: The question.
        plans: What the packs say.
        results: The results of the run's calls, in the order in which they ended.
        open_steps: Tools, or titles, of the plan's steps that are not done.
        tools: The tools that there are; None where it is not known.
        earlier: Results of earlier questions about the same image: they serve this one as well,
            but what must follow them was for their own question to do.
        barred: Says of a tool why it cannot run here at all, "" where it can: it is told, but is
            not missing.
    """
    ran = [message for message in results if message.role == "tool"]
    at_hand = [*(message for message in earlier if message.role == "tool"), *ran]
    needed = _needed(asked, plans, ran, tools)
    reasons: list[str] = []
    missing: list[str] = []
    for tool, why in needed.items():
        verdict = _best(tool, plans, at_hand, asked)
        if verdict is None and (bar := barred(tool)):
            reasons.append(bar)
        elif verdict is None:
            missing.append(tool)
            reasons.append(f"{tool} did not run{why}")
        elif verdict.state != "done":
            reasons.append(f"{tool}: {verdict.why or verdict.state}")
    reasons += [f"{tool} is needed and is not installed" for tool in asked.absent]
    if ran and not needed and not any(message.ok for message in ran):
        reasons.append("none of the calls gave a result")
    left = _left_open(open_steps, plans, needed, ran)
    if left:
        reasons.append(f"still open in the plan: {listed(left)}")
    why = "; ".join(reason.rstrip(".") for reason in reasons)
    if reasons and not any(why.startswith(tool) for tool in (*needed, *asked.absent)):
        why = f"{why[0].upper()}{why[1:]}"  # a tool keeps its name
    return GoalVerdict(not reasons, f"{why}." if why else "", tuple(missing))


def listed(names: Sequence[str]) -> str:
    """Names in a line, the first few of many."""
    shown = ", ".join(names[:_MOST_NAMED])
    rest = len(names) - _MOST_NAMED
    return f"{shown} and {rest} more" if rest > 0 else shown


def output_of(message: Message) -> Mapping[str, Any]:
    """The `output` of a result; empty where there is none."""
    output = message.data.get("output")
    return output if isinstance(output, Mapping) else {}


def _needed(
    asked: Intent, plans: Plans, ran: Sequence[Message], tools: Collection[str] | None
) -> dict[str, str]:
    """Tools that must have given a result -> why, as it goes on after "did not run"."""
    needed = dict.fromkeys(asked.wanted, ", though the question needs it")
    # Those that come after what ran, and those that come after these in turn.
    waiting = [*needed, *(message.tool for message in ran if message.ok)]
    seen: set[str] = set()
    while waiting:
        tool = waiting.pop(0)
        if tool in seen:
            continue
        seen.add(tool)
        for item in plans.successors(tool, asked.kinds):
            if _must_follow(item, asked, plans, tools):
                needed.setdefault(item.then, f": {item.reason or f'it comes after {tool}'}")
                waiting.append(item.then)
    return needed


def _must_follow(
    item: Successor, asked: Intent, plans: Plans, tools: Collection[str] | None
) -> bool:
    return (
        item.mandatory
        and item.then not in asked.left_out
        and plans.rule(item.then).priority is not Priority.EXCLUDED
        and (tools is None or item.then in tools)
    )


def _best(tool: str, plans: Plans, ran: Sequence[Message], asked: Intent) -> TaskVerdict | None:
    """The best that a tool's calls came to; those of another that does the same work count too.

    None where none of them ran. A tool that the user names is not to be had by another.
    """
    same = (tool,) if tool in asked.named else plans.alternatives(tool)
    verdicts = [
        judge_task(plans.rule(message.tool), message, asked)
        for message in ran
        # Another one that failed says nothing of this one.
        if message.tool == tool or (message.ok and message.tool in same)
    ]
    order: tuple[TaskState, ...] = ("done", "incomplete", "failed")
    # Of equals the latest: the retry says more than what it mended.
    return min(reversed(verdicts), key=lambda item: order.index(item.state), default=None)


def _left_open(
    steps: Iterable[str], plans: Plans, needed: Collection[str], ran: Sequence[Message]
) -> list[str]:
    """Open steps that nothing else speaks of.

    A needed tool is told of as such. Another tool that stands open is a recommended one, or one
    that turned out not to be needed: the run may end without it.
    """
    tools = {rule.tool for rule in plans.rules()} | {message.tool for message in ran}
    return [step for step in dict.fromkeys(steps) if step not in tools and step not in needed]


def _places(message: Message) -> tuple[Mapping[str, Any], ...]:
    """Its `output` and its `metadata`."""
    metadata = message.data.get("metadata")
    return (output_of(message), metadata if isinstance(metadata, Mapping) else {})


def _told_state(message: Message) -> TaskVerdict | None:
    """What a tool that ended well says of itself, where it says that it did not do its work."""
    for place in _places(message):
        status, error = str(place.get("status") or "").lower(), place.get("error")
        if (isinstance(error, str) and error.strip()) or status in _FAILED:
            text = error if isinstance(error, str) and error.strip() else f"it says: {status}"
            return TaskVerdict("failed", _short(text.strip()))
        if status in _PARTIAL:
            return TaskVerdict("incomplete", f"it says: {status}")
    return None


def _looked_for_in_vain(rule: ToolRule, message: Message) -> list[str]:
    found: list[str] = []
    for key in rule.missing:
        for place in _places(message):
            value: Any = place.get(key)
            items: Iterable[Any] = value if isinstance(value, list | tuple) else [value]
            found += [str(item) for item in items if not _is_nothing(item)]
    return list(dict.fromkeys(found))


def _is_nothing(value: Any) -> bool:
    """None, 0, "", an empty list or table; a list of nothings, a table of nothings or zeros."""
    if isinstance(value, str):
        return not value.strip()
    if isinstance(value, bool | int | float):
        return not value or value != value  # NaN is no value either
    if isinstance(value, Mapping):
        return all(_is_nothing(item) for item in value.values())
    if isinstance(value, list | tuple):
        # A 0 in a list may be a number of an image or a channel: then there is one.
        return all(_is_nothing(item) and not isinstance(item, int | float) for item in value)
    return value is None


def _error(message: Message) -> str:
    told = message.data.get("error") or message.data.get("summary") or "it gave no result"
    return _short(str(told))


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST_WHY else f"{text[: _LONGEST_WHY - 1]}…"
