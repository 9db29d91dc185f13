"""The plan as a live checklist of steps: pending, running, done, incomplete, failed or skipped.

A plan comes either from a planner or from the model itself. A planner's steps are tool calls, and
each takes its state from the call's outcome. The model writes its plan with `update_plan`: its
steps have titles and the states that the model gives them, as far as the results confirm them.
Calls that no plan foresaw, and calls that rules inserted, become steps as well.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass as pydantic_dataclass

from app.agent.events import Override
from app.agent.planning import Intent, near_names
from app.tools.api import ToolRetry
from app.tools.pack_plan import Plans, Priority

ENFORCED = "enforced"
TAKEN_OUT = "you took it out of the plan"
NOTHING_RAN = "none of its tools gave a result"


@pydantic_dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class PlannedStep:
    """A step of the plan that a model writes with `update_plan`."""

    title: Annotated[str, Field(min_length=1, max_length=120, description="What is to be found")]
    state: Literal["pending", "running", "done", "failed", "skipped"] = "pending"
    tools: Annotated[
        tuple[Annotated[str, Field(min_length=1, max_length=80)], ...],
        Field(max_length=8, description="The tools it needs, the fewest that suffice"),
    ] = ()
    after: Annotated[
        tuple[int, ...],
        Field(max_length=20, description="Numbers (from 1) of the steps it waits for"),
    ] = ()


@dataclass(frozen=True, slots=True)
class CallOrigin:
    """The origin of a call, shown with its step.

    Attributes:
        by: Who made the call: "model", "rules" (the planner) or "enforced" (overriding rules).
        why: The reason, for the plan.
    """

    by: str = "model"
    why: str = ""


@dataclass(slots=True, eq=False)
class _Step:
    tool: str
    why: str = ""
    state: str = "pending"
    by: str = ""
    verdict: str = ""
    tools: tuple[str, ...] = ()
    after: tuple[int, ...] = ()
    titled: bool = False
    number: int = 0  # among the planner's steps, from 1
    removed: bool = False  # by the user
    arguments: dict[str, str | int | float] = field(default_factory=dict[str, str | int | float])
    problem: str = ""  # with what the user wanted for one of them
    found: list[tuple[str, str, str]] = field(default_factory=list[tuple[str, str, str]])

    def event_steps(self) -> dict[str, Any]:
        """Return the step as it stands in the event, without empty fields."""
        shown: dict[str, Any] = {"tool": self.tool, "why": self.why, "state": self.state}
        more = {"by": self.by, "verdict": self.verdict, "after": list(self.after)}
        if self.state == "pending":
            more |= {"arguments": dict(self.arguments), "problem": self.problem}
        return shown | {name: value for name, value in more.items() if value}


class PlanState:
    """A run's plan: steps with states, changes made by rules, and whether the goal was reached.

    If `live`, calls that no plan foresaw become steps of their own.

    Attributes:
        changed: Whether anything has changed since the plan was last shown.
        overrides: The changes made by the packs' rules, in order.
        goal: "" until the run ends, then "done" or "incomplete".
        goal_why: The reason for `goal`, such as what is missing.
        held: Whether no step begins until the user lets the plan go on.
    """

    def __init__(self, *, live: bool = False) -> None:
        self._live = live
        self._steps: list[_Step] = []
        self._calls: dict[str, _Step] = {}
        self._tools: dict[str, str] = {}
        self._current: int | None = None
        self._taken_out: set[str] = set()
        self._notes: list[str] = []
        self.changed = False
        self.held = False
        self.overrides: list[Override] = []
        self.goal = ""
        self.goal_why = ""

    def __bool__(self) -> bool:
        """Return whether there is anything to show."""
        return bool(self._steps or self.overrides)

    def set(
        self,
        steps: Iterable[tuple[str, str]],
        by: str = "",
        after: Sequence[Sequence[int]] = (),
        arguments: Sequence[Mapping[str, str | int | float]] = (),
    ) -> None:
        """Replace the plan with a planner's steps, given as (tool, why).

        Steps that have run keep their state. `by` names the planner, as in `CallOrigin.by`; `after`
        are for each step the numbers, from 1, of those that it waits for, `arguments` those that
        the user may change.
        """
        forced = [step for step in self._steps if step.by == ENFORCED]
        kept = [step for step in self._steps if step.state != "pending" and step.by != ENFORCED]
        planned = [_Step(tool, why, by=by) for tool, why in steps]
        for index, old in enumerate(kept[: len(planned)]):
            if old.tool == planned[index].tool:
                planned[index] = old  # the same object: the call that runs still finds it
        for number, step in enumerate(planned, start=1):
            step.number = number
        for step, values in zip(planned, arguments, strict=False):
            step.arguments = dict(values)
        for step, numbers in zip(planned, after, strict=False):
            step.after = tuple(len(forced) + number for number in numbers)
        self._steps = [*forced, *planned]
        self._current = self._first("running")
        self.changed = True

    def write(self, steps: Iterable[PlannedStep]) -> None:
        """Replace the plan with the model's steps. Results and steps inserted by rules are kept."""
        before = {step.tool: step for step in self._steps if step.titled}
        own = [_written(item, before.get(item.title)) for item in steps]
        for step in own:  # what the user took out stays out, whatever the model writes
            gone = before.get(step.tool)
            if (gone is not None and gone.removed) or (
                step.tools and self._taken_out.issuperset(step.tools)
            ):
                step.state, step.verdict, step.removed = "skipped", TAKEN_OUT, True
        named = {name for step in own for name in step.tools}
        kept = [step for step in self._steps if self._stays(step, named)]
        for step in own:
            step.after = tuple(number + len(kept) for number in step.after)
        old, self._steps = self._steps, [*kept, *own]
        for step in own:
            self._bear_out(step, [*old, *own])
        now = {step.tool: step for step in own}
        for call_id, step in self._calls.items():
            if step.titled:  # a call that runs now belongs to the new step of the same title
                self._calls[call_id] = now.get(step.tool, step)
        running = self._first("running", titled=True)
        self._current = running if running is not None else self._first("pending", titled=True)
        self.changed = True

    def start(self, call_id: str, tool: str, made: CallOrigin | None = None) -> str:
        """Mark a call with the origin `made` as started.

        Pending tool steps before its own become skipped, unless a rule forced the call.

        Returns:
            A key for the step that the call belongs to: the call's own step, or else the step in
                progress; "" if there is neither.
        """
        made = made or CallOrigin()
        self._tools[call_id] = tool
        index = self._step_for(tool)
        if index is not None:
            if made.by != ENFORCED:
                for passed in self._steps[:index]:
                    waits = any(self._is_open(number) for number in passed.after)
                    if passed.state == "pending" and not passed.titled and not waits:
                        passed.state = "skipped"
            self._begin(call_id, index, made)
        elif self._live and (made.by == ENFORCED or not self._titled_current()):
            self._begin(call_id, self._add(tool, made), made)
        elif self._titled_current():
            assert self._current is not None
            self._calls[call_id] = self._steps[self._current]
        if self._current is None:
            return ""
        return f"{self._current} {self._steps[self._current].tool}"

    def finish(self, call_id: str, ok: bool, state: str = "", verdict: str = "") -> None:
        """Mark a call as finished.

        `state` is "done", "incomplete" or "failed"; if "", `ok` decides. `verdict` is the reason.
        """
        step = self._calls.pop(call_id, None)
        tool = self._tools.pop(call_id, "")
        if step is None:
            return
        judged = state or ("done" if ok else "failed")
        step.found.append((tool, judged, verdict))
        if not step.titled:
            step.state, step.verdict = judged, verdict
            self.changed = True
        elif verdict and step.verdict != verdict:
            step.verdict = verdict
            self.changed = True

    def edit(self, kind: str, index: int, tool: str) -> bool:
        """Change the plan for the user: "remove" a step that has not begun, move it "up" or "down".

        `index` is its place from 0, `tool` its tool or title. Return whether it could be done.
        """
        step = self._steps[index] if 0 <= index < len(self._steps) else None
        if step is None or step.tool != tool or not _can_be_edited(step):
            return False
        if kind == "remove":
            step.state, step.verdict, step.removed = "skipped", TAKEN_OUT, True
            others = [one for one in self._steps if one.state in ("pending", "running")]
            kept = {name for one in others for name in (one.tool, *one.tools)}
            self._taken_out |= {*(step.tools if step.titled else (step.tool,))} - kept
            self._notes.append(f'The user took "{tool}" out of the plan: leave it out.')
        else:
            places = [i for i, one in enumerate(self._steps) if _can_be_edited(one)]
            place = places.index(index) + (1 if kind == "down" else -1)
            if not 0 <= place < len(places):
                return False
            self._swap(index, places[place])
            order = ", ".join(one.tool for one in self._steps if _can_be_edited(one))
            self._notes.append(f"The user wants the remaining steps in this order: {order}.")
        self.changed = True
        return True

    def number_of(self, index: int, tool: str) -> int:
        """Return the number among the planner's steps of one that the user may change; else 0."""
        step = self._steps[index] if 0 <= index < len(self._steps) else None
        if step is None or step.tool != tool or not _can_be_edited(step):
            return 0
        return step.number

    def change(self, index: int, argument: str, value: Any, why: str, problem: str) -> None:
        """Show a step with the user's value for an argument, or why it cannot have that value."""
        step = self._steps[index]
        step.problem = problem
        if not problem:
            step.arguments[argument], step.why = value, why
        self.changed = True

    def is_taken_out(self, call_number: int, tool: str) -> bool:
        """Return whether the user took a call's step out of the plan.

        `call_number` is the number of the planner's step that it is for; 0 for none.
        """
        if tool in self._taken_out:
            return True
        return any(
            step.removed and step.number == call_number for step in self._steps if call_number
        )

    def order(self) -> list[int]:
        """Return the numbers of the planner's steps in their order, without those taken out."""
        return [step.number for step in self._steps if step.number and not step.removed]

    def take_notes(self) -> str:
        """Return what the user changed since the last time, for the model."""
        notes, self._notes = self._notes, []
        return " ".join(notes)

    def _swap(self, one: int, other: int) -> None:
        steps = self._steps
        steps[one], steps[other] = steps[other], steps[one]
        moved = {one + 1: other + 1, other + 1: one + 1}
        for step in steps:
            step.after = tuple(moved.get(number, number) for number in step.after)

    def _is_open(self, number: int) -> bool:
        there = number <= len(self._steps)
        return there and self._steps[number - 1].state in ("pending", "running")

    def recommend(self, tool: str, why: str) -> bool:
        """Add a step for a tool that packs recommend; return False if the plan already has one."""
        if any(tool == step.tool or tool in step.tools for step in self._steps):
            return False
        self._steps.append(_Step(tool, why, by="rules"))
        self.changed = True
        return True

    def override(self, item: Override) -> bool:
        """Record a change made by a rule; return whether it is new."""
        same = {"context", "sub_goal"}  # these two say when, not what
        if any(
            one.model_dump(exclude=same) == item.model_dump(exclude=same) for one in self.overrides
        ):
            return False
        self.overrides.append(item)
        self.changed = True
        return True

    def end(self, goal: str, why: str) -> None:
        """Record whether the run reached its goal ("done" or "incomplete"), and why."""
        if (self.goal, self.goal_why) != (goal, why):
            self.goal, self.goal_why, self.changed = goal, why, True

    def close(self, ok: bool) -> None:
        """End all open steps.

        If the model ended the run with an answer (`ok`), running steps are done. All other open
        steps are skipped.
        """
        for step in self._steps:
            if step.state in ("pending", "running"):
                step.state = "done" if ok and step.state == "running" else "skipped"
                if step.titled and step.state == "done":
                    self._bear_out(step, self._steps)
                self.changed = True

    def open(self) -> list[str]:
        """Return the tools, or titles, of the steps that are pending or running."""
        return [step.tool for step in self._steps if step.state in ("pending", "running")]

    def awaited(self, tool: str) -> list[str]:
        """Return the titles of the open steps that the model's plan puts before a tool's step."""
        index = self._step_for(tool)
        numbers = self._steps[index].after if index is not None else ()
        steps = [self._steps[number - 1] for number in numbers if number <= len(self._steps)]
        return [s.tool for s in steps if s.state in ("pending", "running") and not s.found]

    @property
    def taken_out(self) -> Collection[str]:
        """Return the tools that no step needs any more since the user took theirs out."""
        return self._taken_out

    def unreached(self) -> list[str]:
        """Return "TITLE: REASON" for each failed or incomplete step of the plan.

        A tool's step does not count where rules or a model repeated the call and that was done.
        """
        besides = (entry for step in self._steps if not step.number for entry in step.found)
        mended = {tool for tool, state, _ in besides if state == "done"}
        return [
            f"{step.tool}: {step.verdict or step.state}"
            for step in self._steps
            if step.state in ("incomplete", "failed")
            and (step.titled or (step.number and step.tool not in mended))
        ]

    @property
    def needs_tools(self) -> bool:
        """Return whether any step is a tool call or names tools."""
        return any(step.tools or not step.titled for step in self._steps)

    def waiting(self) -> list[str]:
        """Return the tools, or titles, of the steps that have not begun."""
        return [step.tool for step in self._steps if step.state == "pending"]

    def event_steps(self) -> list[dict[str, Any]]:
        """Return the steps in the form that events contain, and mark the plan as shown."""
        self.changed = False
        return [step.event_steps() for step in self._steps]

    def _begin(self, call_id: str, index: int, made: CallOrigin) -> None:
        step = self._steps[index]
        step.state = "running"
        if not step.titled:
            step.by = step.by or made.by if self._live else step.by
            step.why = step.why or made.why
        self._calls[call_id] = step
        self._current = index
        self.changed = True

    def _step_for(self, tool: str) -> int | None:
        """Return the index of the tool's pending step, else of the model's step that names it."""
        steps = list(enumerate(self._steps))
        named = [i for i, s in steps if s.tool == tool and s.state == "pending" and not s.titled]
        own = [i for i, s in steps if tool in s.tools and s.state in ("running", "pending")]
        return next(iter([*named, *own]), None)

    def _titled_current(self) -> bool:
        """Return whether a step of the model's own is under way that names no tools."""
        if self._current is None or not self._steps[self._current].titled:
            return False
        return not (self._live and self._steps[self._current].tools)

    def _add(self, tool: str, made: CallOrigin) -> int:
        index = self._first("pending")
        index = len(self._steps) if index is None else index
        self._steps.insert(index, _Step(tool, made.why, by=made.by))
        for step in self._steps:
            step.after = tuple(n + 1 if n > index else n for n in step.after)
        if self._current is not None and self._current >= index:
            self._current += 1
        return index

    def _stays(self, step: _Step, named: set[str]) -> bool:
        """Return whether a step is kept when the model writes a new plan that names these tools."""
        if step.titled or not self._live:
            return False
        if step.by == ENFORCED or step.state == "running":
            return True
        return bool(named) and step.tool not in named and step.state != "skipped"

    def _bear_out(self, step: _Step, among: Sequence[_Step]) -> None:
        """Correct a step that the model calls done, if its tools' results do not confirm it."""
        if step.state != "done" or not self._live:
            return
        elsewhere = [entry for other in among if other is not step for entry in other.found]
        found = [*(entry for entry in elsewhere if entry[0] in step.tools), *step.found]
        if step.tools and not any(tool in step.tools for tool, _, _ in found):
            step.state, step.verdict = "incomplete", NOTHING_RAN
            return
        last = {tool: (state, why) for tool, state, why in found}
        short = [item for item in last.values() if item[0] != "done"]
        if short and len(short) == len(last):
            step.state, step.verdict = short[0][0], short[0][1] or "its tools gave no result"

    def _first(self, state: str, *, titled: bool | None = None) -> int | None:
        return next(
            (
                index
                for index, step in enumerate(self._steps)
                if step.state == state and titled in (None, step.titled)
            ),
            None,
        )


def _can_be_edited(step: _Step) -> bool:
    return step.state == "pending" and step.by != ENFORCED


def _written(item: PlannedStep, before: _Step | None) -> _Step:
    step = _Step(
        item.title, state=item.state, tools=item.tools, after=item.after, titled=True, by="model"
    )
    if before is not None:
        step.found = before.found
        step.verdict = before.verdict if item.state != "pending" else ""
    return step


_LIKENESS = 0.8  # of a tool's name that is mended: a letter or two, no other word


@dataclass(slots=True)
class Checked:
    """A plan that has been checked and corrected.

    Attributes:
        steps: The steps, ordered so that none waits for a later one.
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
    """Return the plan, corrected wherever there is only one way to correct it.

    Tools that a step's tool requires are not added as steps: the enforcer runs them before that
    tool. `tools` are the existing tools, `ran` those that have given a result.

    Raises:
        ToolRetry: A step names an unknown tool or waits for a step that does not exist, or steps
            wait for each other in a circle.
    """
    checked = Checked(_in_order([_known(step, tools) for step in steps]))
    for index, step in enumerate(checked.steps):
        checked.steps[index] = _allowed(step, plans, asked, checked)
    there = {*ran, *(name for step in checked.steps for name in step.tools)}
    lacking = [name for name in asked.wanted if name not in there]
    if lacking and any(step.tools for step in checked.steps):
        checked.notes.append(f"The question needs {', '.join(lacking)} as well.")
    return checked


def _known(step: PlannedStep, tools: Collection[str]) -> PlannedStep:
    named: list[str] = []
    for name in step.tools:
        near = [name] if name in tools else near_names(name, list(tools), _LIKENESS)
        if len(near) != 1:
            hint = f"Did you mean {' or '.join(near)}? " if near else ""
            raise ToolRetry(
                f'Step "{step.title[:60]}" names "{name[:80]}", which is not a tool',
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
