"""The plan in words: what a state, a rule and a goal are called in the window. Knows no toolkit."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.agent.events import Override, PlanUpdated
from app.views.chat import missing
from app.views.chat.text import one_line
from app.views.pack_texts import PackTexts

LONGEST = 2_000  # characters of a reason: it is shown in full
STATES = {
    "pending": "waiting",
    "running": "running",
    "done": "done",
    "incomplete": "incomplete",
    "failed": "failed",
    "skipped": "left out",
}
_PLANNERS = {"rules": "rules", "model": "the language model"}
ENFORCED = "enforced"


@dataclass(frozen=True, slots=True)
class StepText:
    """One line of the checklist.

    Attributes:
        state: A key of `STATES`.
        title: The tool, or the step as the model calls it.
        details: What is said below it: why, the verdict, what it waits for, who planned it.
        enforced: A rule put it in.
    """

    state: str
    title: str
    details: tuple[str, ...] = ()
    enforced: bool = False

    @property
    def word(self) -> str:
        """The state for people."""
        return STATES[self.state]

    @property
    def whole(self) -> str:
        """Everything, on one line."""
        more = f" ({'; '.join(self.details)})" if self.details else ""
        return f"{self.title}: {self.word}{more}"


@dataclass(frozen=True, slots=True)
class Changed:
    """What a rule changed.

    Attributes:
        what: In a few words.
        reason: Why, in full.
    """

    what: str
    reason: str

    @property
    def whole(self) -> str:
        """Everything, on one line."""
        return f"Changed by a rule: {self.what}. {self.reason}"


@dataclass(frozen=True, slots=True)
class PlanText:
    """A plan as it is shown.

    Attributes:
        steps: In order.
        planned_by: Who made all steps but those that rules put in; "" where that differs.
        changes: What rules changed.
        goal: "", "done" or "incomplete".
        goal_why: What is missing.
    """

    steps: tuple[StepText, ...] = ()
    planned_by: str = ""
    changes: tuple[Changed, ...] = ()
    goal: str = ""
    goal_why: str = ""

    @property
    def head(self) -> str:
        """The line that stays when it is folded."""
        if not self.steps:
            return "Plan"
        done = sum(1 for step in self.steps if step.state == "done")
        reached = " · goal reached" if self.goal == "done" else ""
        return f"Plan · {done} of {len(self.steps)} done{reached}"

    @property
    def changed(self) -> str:
        """How much rules changed, "" for nothing."""
        count = len(self.changes)
        return "" if not count else f"{count} change{'s' if count > 1 else ''} by rules"

    @property
    def unreached(self) -> str:
        """Why the goal was not reached, "" while that is not so."""
        if self.goal != "incomplete":
            return ""
        return f"Goal not reached{f': {self.goal_why}' if self.goal_why else '.'}"

    @property
    def whole(self) -> str:
        """A line a step and a change, and the goal."""
        lines = [step.whole for step in self.steps]
        lines += [change.whole for change in self.changes]
        reached = "Goal reached" if self.goal == "done" else ""
        return "\n".join([*lines, *filter(None, (self.unreached, reached))])


def read_plan(event: PlanUpdated, texts: PackTexts) -> PlanText:
    """An event as it is shown."""
    planners = {str(step.get("by", "")) for step in event.steps} - {ENFORCED}
    one = _PLANNERS.get(next(iter(planners)), "") if len(planners) == 1 else ""
    tools = _tools(event)
    # Why a step was not run stands with the rule's change, in full: not a second time at the step.
    said = {f"Not run: {item.reason}" for item in event.overrides}
    return PlanText(
        steps=tuple(
            _step(step, event.steps, tools, said, texts, tell_planner=not one)
            for step in event.steps
        ),
        planned_by=f"Planned by {one}" if one else "",
        changes=tuple(
            Changed(_what(item, texts), _sentence(item.reason, tools, texts))
            for item in event.overrides
        ),
        goal=event.goal,
        goal_why=_sentence(event.goal_why, tools, texts),
    )


def _tools(event: PlanUpdated) -> set[str]:
    """The tools that a plan names; a step in the model's own words is none."""
    named = {str(step.get("tool", "")) for step in event.steps}
    named.update(name for item in event.overrides for name in (item.tool, item.instead))
    return {name for name in named if name.isidentifier()}


def _sentence(text: str, tools: Iterable[str], texts: PackTexts) -> str:
    return texts.with_titles(one_line(missing.without_files(text), LONGEST), tools)


def _step(
    step: Mapping[str, Any],
    steps: Sequence[Mapping[str, Any]],
    tools: Collection[str],
    said: Collection[str],
    texts: PackTexts,
    *,
    tell_planner: bool,
) -> StepText:
    state, by = str(step.get("state", "")), str(step.get("by", ""))
    state = state if state in STATES else "pending"
    reasons = [str(step.get(key) or "") for key in ("why", "verdict")]
    details = [_sentence(text, tools, texts) for text in reasons if text not in said]
    if state == "pending":
        details.append(_waits_for(step.get("after") or (), steps, texts))
    if by == ENFORCED and state != "skipped":  # what a rule left out, no rule put in
        details.append("put in by a rule")
    elif tell_planner and by in _PLANNERS:
        details.append(f"planned by {_PLANNERS[by]}")
    told = tuple(dict.fromkeys(item for item in details if item))
    return StepText(state, _title(step.get("tool"), texts), told, by == ENFORCED)


def _title(tool: Any, texts: PackTexts) -> str:
    """A tool's title; a step that a model named in its own words is told in them."""
    text = one_line(str(tool or ""), 200)
    return text[:1].upper() + text[1:] if " " in text else texts.title(text)


def _waits_for(after: Any, steps: Sequence[Mapping[str, Any]], texts: PackTexts) -> str:
    numbers = [item for item in after if isinstance(item, int) and 1 <= item <= len(steps)]
    waited = [
        _title(steps[number - 1].get("tool"), texts)
        for number in numbers
        if steps[number - 1].get("state") in ("pending", "running")
    ]
    return f"waits for: {', '.join(waited)}" if waited else ""


def _what(item: Override, texts: PackTexts) -> str:
    """What was changed, in a few words."""
    tool = texts.title(one_line(item.tool, 80)) if item.tool else ""
    instead = texts.title(one_line(item.instead, 80)) if item.instead else ""
    known = {
        "dependency": f"{instead} runs first" if instead else f"{tool} cannot run yet",
        "successor": f"{instead} follows",
        "excluded": f"{tool} is not used",
        "left_out": f"{tool} is left out, as you asked",
        "low_priority": f"{instead} instead of {tool}",
        "unsuitable": f"{tool} is not for this image",
        "incomplete": "the model is asked once more",
        "empty_result": f"{instead} looks at what there is" if instead else f"{tool} found nothing",
    }
    return known.get(item.rule) or f"{tool or instead or 'a step'} is changed"
