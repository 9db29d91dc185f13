"""Verdicts on a call's result, and on whether the run reached its goal.

A call that succeeded is not yet an answer: a segmenter that found no cell where cells were asked
for is incomplete. A run that ended is not yet a success: the tools that the question needs must
have run and given a result, and so must the tools that the packs require after them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, cast

from app.agent.call_log import CallLog
from app.agent.image_reference import image_reference, name_of, unsuitable_image
from app.agent.messages import Message
from app.agent.planning import Intent, ToolPlan
from app.tools.pack_plan import Plans, Priority, ToolRule
from app.tools.result_wording import CallResult

TaskState = Literal["done", "incomplete", "failed"]
_MOST_NAMED = 8
_LONGEST_WHY = 300
_FAILED = frozenset(("failed", "failure", "error"))
_PARTIAL = frozenset(("partial", "incomplete", "timeout", "aborted"))


@dataclass(frozen=True, slots=True)
class TaskVerdict:
    """The verdict on one call.

    Attributes:
        state: "done", "incomplete" (it ran, but does not answer the question) or "failed".
        why: The reason, worded for the plan; may be "".
    """

    state: TaskState
    why: str = ""


@dataclass(frozen=True, slots=True)
class GoalVerdict:
    """The verdict on whether a run answers its question.

    Attributes:
        why: What is missing, as a sentence; "" if nothing is.
        missing: Needed tools that have not run, in the order in which they should run.
    """

    complete: bool
    why: str = ""
    missing: tuple[str, ...] = ()


def judge_task(
    rule: ToolRule, message: Message, asked: Intent, others: Sequence[CallResult] = ()
) -> TaskVerdict:
    """Return the verdict on a call, by its result `message`, its tool's `rule` and the question.

    `others` are the other results of the conversation, which may contradict it.
    """
    if not message.ok:
        return TaskVerdict("failed", _error(message))
    told = _told_state(message)
    if told is not None:
        return told
    doubt = doubt_of(rule, message, others)
    if doubt:
        return TaskVerdict("incomplete", doubt)
    if found_nothing(rule, message):
        keys = " and ".join(key.replace("_", " ") for key in rule.empty)
        if asked.expects_data:
            return TaskVerdict("incomplete", f"it found nothing: no {keys}")
        return TaskVerdict("done", f"it found nothing: no {keys}; none may be the answer")
    absent = _looked_for_in_vain(rule, message, _asked_values(rule.tool, asked))
    if absent:
        return TaskVerdict("incomplete", f"no result for {listing(absent)}")
    return TaskVerdict("done")


def doubt_of(rule: ToolRule, message: Message, others: Sequence[CallResult] = ()) -> str:
    """Return why a result cannot be all there is, by its tool's rule; "" if nothing says so."""
    return rule.doubt(message.output, others) if rule.doubt and message.ok else ""


def found_nothing(rule: ToolRule, message: Message) -> bool:
    """Return whether a call succeeded but all outputs under the keys in `rule.empty` are empty."""
    if not rule.empty or not message.ok:
        return False
    return all(_is_nothing(message.output.get(key)) for key in rule.empty)


def judge_goal(
    asked: Intent,
    plans: Plans,
    results: Sequence[Message],
    open_steps: Iterable[str],
    tools: Collection[str] | None = None,
    earlier: Iterable[Message] = (),
    barred: Callable[[str], str] = lambda _: "",
) -> GoalVerdict:
    """Return the verdict on whether the run answers the question.

    `open_steps` are the plan's steps that have not run; `tools` are the available tools, None for
    any. `earlier` are results from before this run about the same image: they count for a tool that
    did not run again, but the tools that packs require after them need not run. `barred` returns
    why a tool cannot run on any open image, or "" if it can; a barred tool is named in
    `GoalVerdict.why`, but is not `missing`.
    """
    ran = [message for message in results if message.role == "tool"]
    before = [message for message in earlier if message.role == "tool"]
    needed = _needed(asked, plans, ran, tools)
    reasons: list[str] = []
    missing: list[str] = []
    for tool, why in needed.items():
        verdict = _best(tool, plans, ran, asked) or _best(tool, plans, before, asked)
        if verdict is None and (bar := barred(tool)):
            reasons.append(bar)
        elif verdict is None:
            missing.append(tool)
            reasons.append(f"{tool} did not run{why}")
        elif verdict.state != "done":
            reasons.append(f"{tool}: {verdict.why or verdict.state}")
    for tool in sorted(asked.named - needed.keys()):
        verdict = _best(tool, plans, ran, asked)
        if verdict is not None and verdict.state == "failed":
            reasons.append(f"{tool}: {verdict.why or verdict.state}")
    reasons += [f"{tool} is needed and is not installed" for tool in asked.absent]
    if ran and not needed and not any(message.ok for message in ran):
        reasons.append("none of the calls gave a result")
    left = _left_open(open_steps, plans, needed, ran)
    if left:
        reasons.append(f"still open in the plan: {listing(left)}")
    why = "; ".join(reason.rstrip(".") for reason in reasons)
    if reasons and not any(why.startswith(tool) for tool in (*needed, *asked.absent)):
        why = f"{why[0].upper()}{why[1:]}"  # a tool keeps its name
    return GoalVerdict(not reasons, f"{why}." if why else "", tuple(missing))


def listing(names: Sequence[str]) -> str:
    """Join names into one line of text; if there are many, only the first few are listed."""
    shown = ", ".join(names[:_MOST_NAMED])
    rest = len(names) - _MOST_NAMED
    return f"{shown} and {rest} more" if rest > 0 else shown


def _needed(
    asked: Intent, plans: Plans, ran: Sequence[Message], tools: Collection[str] | None
) -> dict[str, str]:
    """Return the tools that must have given a result, each with the end of "... did not run"."""
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
            excluded = plans.rule(item.then).priority is Priority.EXCLUDED
            there = tools is None or item.then in tools
            wanted = item.mandatory and item.arguments is None and item.then not in asked.left_out
            if wanted and there and not excluded:
                needed.setdefault(item.then, f": {item.reason or f'it comes after {tool}'}")
                waiting.append(item.then)
    return needed


def _best(tool: str, plans: Plans, ran: Sequence[Message], asked: Intent) -> TaskVerdict | None:
    """Return the best verdict on a tool's calls or alternatives' (not if named); None if none."""
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
    """Return the open steps that no other reason mentions.

    A needed tool is mentioned as such. Any other open tool was only recommended, or turned out not
    to be needed: the run may end without it.
    """
    tools = {rule.tool for rule in plans.rules()} | {message.tool for message in ran}
    return [step for step in dict.fromkeys(steps) if step not in tools and step not in needed]


def _told_state(message: Message) -> TaskVerdict | None:
    """Return the verdict that a tool itself reports, if it says that it did not do its work."""
    for place in (message.output, message.metadata):
        status, error = str(place.get("status") or "").lower(), place.get("error")
        if (isinstance(error, str) and error.strip()) or status in _FAILED:
            text = error if isinstance(error, str) and error.strip() else f"it says: {status}"
            return TaskVerdict("failed", _short(text.strip()))
        if status in _PARTIAL:
            return TaskVerdict("incomplete", f"it says: {status}")
    return None


def _asked_values(tool: str, asked: Intent) -> set[str]:
    """Return the values that the question gives to a tool's lists; empty if it gives none."""
    steps = asked.plan.steps if isinstance(asked.plan, ToolPlan) else ()
    values = (value for step in steps if step.tool == tool for value in step.arguments.values())
    lists = (cast("list[Any]", value) for value in values if isinstance(value, list))
    return {item for given in lists for item in given if isinstance(item, str)}


def _looked_for_in_vain(rule: ToolRule, message: Message, asked: Collection[str]) -> list[str]:
    found: list[str] = []
    for key in rule.missing:
        for place in (message.output, message.metadata):
            value: Any = place.get(key)
            items: Iterable[Any] = value if isinstance(value, list | tuple) else [value]
            found += [str(item) for item in items if not _is_nothing(item)]
    found = [item for item in found if not asked or item in asked]
    return list(dict.fromkeys(found))


def _is_nothing(value: Any) -> bool:
    """Return whether a value is empty: None, 0, "", NaN, or a list or table of such values."""
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


class Goal:
    """Decides whether the results of a run answer its question."""

    def __init__(self, plans: Plans, intent: Intent, record: CallLog) -> None:
        notes = intent.scene.images
        self._plans = plans
        self._notes = notes
        self._record = record
        self._schemas = intent.scene.tools
        # The open images that the question names.
        by_id = {str(note.get("id")): note for note in notes}
        asked = (by_id[name] for name in intent.images if name in by_id)
        self._named = tuple(name_of(note, notes) for note in asked)
        self._images = frozenset(
            image_reference(note) for note in notes if note.get("id") in intent.images
        )

    def verdict(
        self, needed: Intent, results: Sequence[Message], waiting: Sequence[str]
    ) -> GoalVerdict:
        """Return the verdict on whether `results`, with earlier ones on the same image, suffice.

        `needed` is the intent that must be met; `waiting` are the plan's steps that have not begun.
        """
        meant = [message for message in results if self._meant(message)]
        verdict = judge_goal(
            needed,
            self._plans,
            meant,
            waiting,
            self._schemas,
            earlier=[item.message for item in self._record.earlier(self._images)],
            barred=lambda tool: self._barred(tool, needed),
        )
        if len(meant) < len(results) and not verdict.complete:
            names = " and ".join(self._named)
            verdict = replace(verdict, why=f"{verdict.why} The question is about {names}.")
        return verdict

    def found(self, results: Sequence[Message]) -> bool:
        """Return whether a call gave a result: in `results`, or earlier on the current image."""
        return any(item.ok for item in results) or any(self._record.earlier())

    def tried(self, tool: str, results: Sequence[Message]) -> bool:
        """Return whether, by `results`, a tool ran or failed on an image of the question."""
        return any(message.tool == tool and self._meant(message) for message in results)

    def _barred(self, tool: str, needed: Intent) -> str:
        """Return why a tool can run on none of the open images; "" where it can."""
        if not self._notes:
            return f"{tool} needs an image, and none is open" if needed.needs_image else ""
        whys = [unsuitable_image(self._plans.rule(tool).accepts, note) for note in self._notes]
        return f"{tool} is not for what is open: {whys[0]}" if all(whys) else ""

    def _meant(self, message: Message) -> bool:
        """Return whether a result may be about an image that the question names, if any."""
        if not self._images:
            return True
        ended = self._record.by_id(message.call_id)
        return ended is None or ended.may_concern(self._images)
