"""Check of a model's plan against the packs' rules; it is corrected, or refused with a reason."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace

from app.agent.enforcement.plan_checklist import PlannedStep
from app.agent.events import Override
from app.agent.planning import Intent, near_names
from app.tools.api import ToolRetry
from app.tools.pack_plan import AnyOf, Plans, Priority

_LIKENESS = 0.8  # of a tool's name that is mended: a letter or two, no other word


@dataclass(slots=True)
class Checked:
    """A plan as it may be followed.

    Attributes:
        steps: In an order in which no step waits for a later one.
        notes: The corrections, for the model.
        overrides: The changes made by rules.
    """

    steps: list[PlannedStep]
    notes: list[str] = field(default_factory=list[str])
    overrides: list[Override] = field(default_factory=list[Override])


def check_plan(
    steps: Sequence[PlannedStep],
    plans: Plans,
    asked: Intent,
    tools: Collection[str],
    ran: Collection[str] = (),
) -> Checked:
    """Return the plan, corrected where there is only one way to correct it.

    Args:
        steps: As the model wrote them.
        plans: The packs' rules.
        asked: The intent of the question.
        tools: The tools' names.
        ran: Tools that have already given a result.

    Raises:
        ToolRetry: A step names an unknown tool or waits for a step that does not exist, or steps
            wait for each other in a circle.
    """
    checked = Checked(_in_order([_known(step, tools) for step in steps]))
    for index, step in enumerate(checked.steps):
        checked.steps[index] = _allowed(step, plans, asked, checked)
    if any(step.tools for step in checked.steps):
        _complete(checked, plans, asked, tools, ran)
        _least(checked, plans, asked, ran)
    return checked


def _known(step: PlannedStep, tools: Collection[str]) -> PlannedStep:
    """Return the step with tool names that exist."""
    named: list[str] = []
    for name in step.tools:
        near = [name] if name in tools else near_names(name, list(tools), _LIKENESS)
        if len(near) != 1:
            hint = f"Did you mean {' or '.join(near)}? " if near else ""
            raise ToolRetry(
                f'Step "{step.title[:60]}" names "{name[:80]}", which is no tool',
                remedy=f"{hint}Tools: {', '.join(sorted(tools))}.",
            )
        named += near
    return replace(step, tools=tuple(dict.fromkeys(named)))


def _in_order(steps: Sequence[PlannedStep]) -> list[PlannedStep]:
    """Return the steps, each after those it waits for, and otherwise in their order."""
    for number, step in enumerate(steps, start=1):
        for other in step.after:
            if not 1 <= other <= len(steps) or other == number:
                raise ToolRetry(
                    f"Step {number} waits for step {other}, which is not another step of the plan",
                    remedy=f"Steps have the numbers 1 to {len(steps)}, in the order you send them.",
                )
    order: list[int] = []
    left = list(range(1, len(steps) + 1))
    while left:
        ready = next((n for n in left if set(steps[n - 1].after) <= set(order)), None)
        if ready is None:
            circle = ", ".join(map(str, left))
            raise ToolRetry(
                f"Steps {circle} wait for one another in a circle",
                remedy="Send the plan again, each step waiting only for what it really needs.",
            )
        order.append(ready)
        left.remove(ready)
    moved = {old: new for new, old in enumerate(order, start=1)}
    return [
        replace(steps[old - 1], after=tuple(sorted(moved[n] for n in set(steps[old - 1].after))))
        for old in order
    ]


def _allowed(step: PlannedStep, plans: Plans, asked: Intent, checked: Checked) -> PlannedStep:
    """Return the step without tools that may not run for this question."""
    kept: list[str] = []
    for name in step.tools:
        if plans.rule(name).priority is Priority.EXCLUDED:
            rule, reason = "excluded", f"{name} is excluded by its pack: it never runs."
        elif name in asked.left_out:
            said = asked.left_out[name]
            rule, reason = "left_out", f'The question leaves {name} out ("{said}").'
        else:
            kept.append(name)
            continue
        checked.overrides.append(Override(rule=rule, tool=name, reason=reason))
        checked.notes.append(f"Taken out of the plan: {name}. {reason}")
    if step.tools and not kept and step.state in ("pending", "running"):
        # Nothing of it may run: it is left out, and the goal does not wait for it.
        return replace(step, tools=(), state="skipped")
    return replace(step, tools=tuple(kept))


def _complete(
    checked: Checked, plans: Plans, asked: Intent, tools: Collection[str], ran: Collection[str]
) -> None:
    """Insert the tools that a step's tools need, where no earlier step has them."""
    there = set(ran)
    for index, step in enumerate(checked.steps):
        needed: list[str] = []
        for name in step.tools:
            for added in _needs(name, plans, asked, tools, {*there, *needed}, (name,)):
                needed.append(added)
                checked.notes.append(f"Put before {name}: {added}, whose result it needs.")
            needed.append(name)
        checked.steps[index] = replace(step, tools=tuple(dict.fromkeys(needed)))
        there |= set(needed)
    lacking = [name for name in asked.wanted if name not in there]
    if lacking:
        checked.notes.append(f"The question needs {', '.join(lacking)} as well.")


def _needs(
    name: str,
    plans: Plans,
    asked: Intent,
    tools: Collection[str],
    there: Collection[str],
    above: tuple[str, ...],
) -> list[str]:
    found: list[str] = []
    for need in plans.rule(name).requires:
        known = {*there, *found}
        usable = [
            other
            for other in need.tools
            if other in tools
            and other not in above
            and other not in asked.left_out
            and plans.rule(other).priority is not Priority.EXCLUDED
        ]
        if isinstance(need, AnyOf):
            if known & set(need.tools):
                continue
            usable.sort(key=lambda other: (other not in asked.wanted, -plans.rule(other).priority))
            usable = usable[:1]
        for other in usable:
            if other not in known:
                found += _needs(other, plans, asked, tools, known, (*above, other))
                found.append(other)
    return list(dict.fromkeys(found))


def _least(checked: Checked, plans: Plans, asked: Intent, ran: Collection[str]) -> None:
    """Add a note on tools that the question does not need."""
    if not asked.wanted:
        return
    useful = {*asked.wanted, *asked.named, *ran}
    left = list(useful)
    while left:
        name = left.pop()
        near = {other for need in plans.rule(name).requires for other in need.tools}
        near |= {item.then for item in plans.successors(name, asked.kinds)}
        near |= {source for feed in plans.rule(name).feeds for source in feed.tools}
        left += near - useful
        useful |= near
    planned = dict.fromkeys(name for step in checked.steps for name in step.tools)
    more = [name for name in planned if name not in useful]
    if more:
        checked.notes.append(f"Not needed for this question: {', '.join(more)}.")
