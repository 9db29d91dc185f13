"""Direction of a run: the next call, the verdict on a result, and whether the goal is reached.

    the model's calls -> `turn` -> calls to make now -> `judge_result` -> `follow_ups` -> ...
    the model's answer -> `before_answer` -> calls that must still be made -> `finish`

These are methods of `Director`. The same rules apply whether a model or the offline planner plans.
If the packs have no rules, all calls and answers pass unchanged.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any
from uuid import uuid4

from app.agent.answers.german import is_german
from app.agent.call_log import CallLog
from app.agent.enforcement.discovery import AGAIN, LOOK, adapted_retry, listing_call
from app.agent.enforcement.enforcer import Enforcer
from app.agent.enforcement.plan_checklist import (
    ENFORCED,
    CallOrigin,
    PlannedStep,
    PlanState,
    check_plan,
)
from app.agent.enforcement.rulings import (
    BY_RULE,
    INSERTED,
    PLAIN,
    CallOrder,
    CallVerdict,
    Proceed,
    Refusal,
    RunFirst,
    new_id,
)
from app.agent.enforcement.verdicts import Goal, doubt_of, judge_task
from app.agent.events import Override
from app.agent.image_reference import as_value, image_argument, image_reference
from app.agent.llm.base import ToolSchema
from app.agent.loop.tool_execution import Tools, not_run, schema_of
from app.agent.messages import Message, ToolCall
from app.agent.planning import Intent, Planner, Scene, Step
from app.agent.repeated_calls import expanded, inner_message
from app.agent.request import RunRequest
from app.tools.api import Tool
from app.tools.pack_plan import Plans, ToolRule
from app.tools.result_wording import CallResult

_log = logging.getLogger(__name__)

_PUT_IN = "Sightline's rules put this call in: go on from its result, and do not repeat it."
_TRY_AGAIN = (
    "This result does not fit. Look what there is, try once more in another way, then answer."
)
_MOST_FIRST = 12
"""Maximum number of calls that rules insert before one turn, since rules may form a circle."""


class Director:
    """Applies the packs' rules to the plan, the calls and the answer of one run.

    Attributes:
        intent: What the question asks for.
        by_rules: Whether rules rather than a model choose the calls of this run.
        results: The results of this run, in the order in which they arrived.
        notes: Remarks for the answer on names (such as field values) that do not exist.
        model_sees: Whether the model was sent pictures with this question.
        record: The finished calls of the conversation.
        offered: Names of the tools that the model was told of; it is asked to call no others.
        model_declined_call: Whether the model was asked once to call a needed tool, and did not.
    """

    def __init__(self, plans: Plans, request: RunRequest, tools: Tools, plan: PlanState) -> None:
        self.plans = plans
        self.intent = Intent()
        self.by_rules = False
        self.results: list[Message] = []
        self.notes: list[str] = []
        self.model_sees = False
        self.record = CallLog()
        self.offered: frozenset[str] = frozenset()
        self._plan = plan
        self._request = request
        self._tools = tools
        self._enforcer: Enforcer | None = None
        self._goal: Goal | None = None
        self._schemas: dict[str, ToolSchema] = {}
        self._orders: dict[str, CallOrder] = {}
        self._settled: set[str] = set()  # calls that rules have judged, or made themselves
        self._moved: set[str] = set()
        self._looks: dict[str, tuple[ToolRule, ToolCall]] = {}  # the empty call that led to each
        self._looked: set[str] = set()
        self._next: list[ToolCall] = []
        self._urged = False
        self.model_declined_call = False

    @property
    def asked_in_german(self) -> bool:
        """Return whether the question, or else the last one that shows it, is in German."""
        said = [item.text for item in self._request.thread.history if item.role == "user"]
        return is_german([*said, self._request.question])

    def begin(
        self,
        planner: Planner,
        schemas: Sequence[ToolSchema],
        lacks: Callable[[str], bool] = lambda _: False,
    ) -> Intent:
        """Interpret the run's question, prepare the rules for it, and return its intent.

        Call this before the question is added to the thread's history. `schemas` are the tools for
        this run; `lacks` returns whether a tool lacks a model or package that it requires.
        """
        question, notes = self._request.question, self._request.image_notes
        # What the user has rejected does not count as a result: later answers must not rest on it.
        rejected = self._request.rejected_calls
        history = [
            item.model_copy(update={"ok": False}) if item.call_id in rejected else item
            for item in self._request.thread.history
        ]
        self._schemas = {schema.name: schema for schema in schemas}
        self.offered = frozenset(self._schemas)
        self.intent = planner.interpret(
            question,
            Scene(
                tuple(notes),
                self._schemas,
                tuple(expanded(history)),
                lacks=lacks,
                records=self._request.records,
                record_patient=self._request.record_patient,
                shown=self._request.shown,
            ),
        )
        self.record = CallLog(history, notes, self._request.out_dir)
        if self.plans:
            self._goal = Goal(self.plans, self.intent, self.record)
            self._enforcer = Enforcer(self.plans, self.intent, self._tools, self.record)
        return self.intent

    def check_plan(self, steps: Sequence[PlannedStep]) -> tuple[list[PlannedStep], list[str]]:
        """Check the model's own plan; return the corrected plan and notes on the corrections.

        Called in the thread of the tool `update_plan`.

        Raises:
            ToolRetry: The plan cannot be followed.
        """
        if self._enforcer is None:
            return list(steps), []
        ran = {message.tool for message in self.results if message.ok}
        ran |= {item.call.name for item in self.record.earlier()}
        checked = check_plan(steps, self.plans, self._needed(), self._schemas, ran)
        for override in checked.overrides:
            self._tell(override)
        return checked.steps, checked.notes

    def turn(self, waiting: deque[ToolCall]) -> list[ToolCall]:
        """Take from `waiting` the calls to make next, perhaps in parallel, and return them.

        The packs' rules may change or refuse these calls (see `order`), or insert others first.
        """
        turn: list[ToolCall] = []
        firsts = 0
        for place, call in enumerate(waiting):
            tool = self._tools.get(call.name)
            if tool is not None and tool.spec.name != call.name:  # by one of its other names
                waiting[place] = call.model_copy(update={"name": tool.spec.name})
        while waiting and (not turn or self._joins(waiting[0], turn)):
            call = waiting[0]
            if self._enforcer is None or call.id in self._settled:
                turn.append(waiting.popleft())
                continue
            later = () if call.id in self._moved else tuple(waiting)[1:]
            ruling = self._enforcer.judge(call, later)
            if isinstance(ruling, RunFirst) and firsts < _MOST_FIRST:
                firsts += 1
                self._put_first(ruling, waiting)
                continue
            waiting.popleft()
            turn.append(self._settle(call, ruling))
        return turn

    def bars(self, call: ToolCall) -> bool:
        """Return whether the question or the packs exclude a call, so that it will not run."""
        return self._enforcer is not None and self._enforcer.bars(call)

    def order(self, call: ToolCall) -> CallOrder:
        """Return how to make a call that `turn` returned, or the outcome of a refused call."""
        return self._orders.get(call.id, PLAIN)

    def judge_result(self, call: ToolCall, message: Message) -> CallVerdict:
        """Record a call's result and return the verdict on it, before the result is shown."""
        order = self.order(call)
        if self._tools.get(call.name) is None:
            return CallVerdict(note=order.note, advice=order.advice)
        self.record.add(call, message)
        self.results.append(message)
        if self._enforcer is None:
            return CallVerdict(note=order.note, advice=order.advice)
        inner = inner_message(message)
        rule = self.plans.rule(inner.tool)
        others = self._other_results(message)
        verdict = judge_task(rule, inner, self.intent, others)
        notes = [order.note]
        advice = [order.advice, self._recommend(call) if message.ok else ""]
        looked = self._looks.pop(call.id, None)
        if looked is not None:
            exists = self._adapt(*looked, message)
            notes.append(exists)
            verdict = replace(verdict, why=verdict.why or exists)
        elif verdict.state == "incomplete":
            notes.append(_sentence(verdict.why))
            if inner is message and not self._look(rule, call, message, others):
                advice.append(self._try_again(rule, message, others))
        # What rules refused was left out: nothing went wrong.
        state = "skipped" if order.outcome is not None else verdict.state
        return CallVerdict(state, verdict.why, _joined(notes), _joined(advice))

    def follow_ups(self) -> list[ToolCall]:
        """Return the calls that rules require because of the latest results, each only once."""
        following, self._next = self._next, []
        return following

    def before_answer(self) -> list[ToolCall] | str:
        """Return the calls that must run before the answer, or [] if the answer can be accepted.

        If the model itself has to make a call first, a text for the model is returned instead: the
        reason, and what to do. This text is "" if rules, not a model, choose the calls.
        """
        if self._enforcer is None or self._goal is None:
            return []
        ruling = self._enforcer.before_answer()
        if isinstance(ruling, RunFirst):
            self._insert(ruling.call, ruling.override)
            return [ruling.call]
        if isinstance(ruling, Refusal):
            self._tell(ruling.override)
            return "" if self.by_rules else _not_yet(ruling.override.reason, ruling.remedy)
        verdict = self._goal.verdict(self._needed(), self._inner_results(), self._plan.waiting())
        missing = [
            name
            for name in verdict.missing
            if name in self.offered and not self._goal.tried(name, self._inner_results())
        ]
        self.model_declined_call = not verdict.complete and bool(missing) and self._urged
        if verdict.complete or not missing or self._urged or self.by_rules:
            return []
        self._urged = True
        self._tell(Override(rule="incomplete", tool="", reason=_sentence(verdict.why)))
        remedy = f"Call {' and '.join(missing)}, or answer and say why it is not needed."
        return _not_yet("It needs a tool's result.", remedy)

    def finish(self, stopped: str = "", *, doubted: bool = False, uncited: bool = False) -> None:
        """End the plan, and record whether the goal was reached.

        `stopped` is the limit that ended the run, as a clause; "" if no limit did. `doubted` says
        that parts of the answer are marked, because no result supports them; `uncited` says that
        an answer written by rules cites no result.
        """
        if self._goal is None:
            return
        verdict = self._goal.verdict(self._needed(), self._inner_results(), self._plan.waiting())
        self._plan.close(not stopped)
        short = self._plan.unreached()
        if stopped:
            self._plan.end("incomplete", f"Stopped: {stopped}.")
        elif not verdict.complete:
            self._plan.end("incomplete", _sentence(verdict.why))
        elif short:
            self._plan.end("incomplete", _sentence("; ".join(short)))
        elif self._plan.needs_tools and not self._goal.found(self.results):
            self._plan.end("incomplete", "None of the steps gave a result.")
        elif self._plan and self.intent.viewer:
            self._plan.end("incomplete", self.intent.viewer)
        elif self._plan and doubted:
            self._plan.end("incomplete", "The answer says what no result shows; it is marked.")
        elif self._plan.needs_tools and uncited:
            self._plan.end("incomplete", "The results do not say what was asked.")
        elif self._plan:
            self._plan.end("done", _sentence(verdict.why))

    def unmet(self) -> list[tuple[str, str]]:
        """Return (tool, sentence for the answer) for each needed tool that lacks its model."""
        return self._enforcer.unmet() if self._enforcer is not None else []

    def planned_results(self) -> list[Message]:
        """Return the results of this run, without those of calls that rules inserted.

        Calls that rules repeated with a corrected argument (`adapted_retry`) are included.
        """
        return [
            item
            for item in self.results
            if item.call_id.endswith(AGAIN) or not item.call_id.startswith(INSERTED)
        ]

    def _inner_results(self) -> list[Message]:
        return [inner_message(item) for item in self.results]

    def bind(
        self, tool: Tool, arguments: Mapping[str, Any], image: str
    ) -> tuple[dict[str, Any], str]:
        """Return the arguments of a call on one of many images, and why it may not be made or "".

        `image` is an id or a path, as a tool is given it.
        """
        note = next((n for n in self._request.image_notes if image in (n["id"], n.get("path"))), {})
        reference = image_reference(note) or image
        if self._enforcer is not None:
            return self._enforcer.bind(tool, arguments, reference)
        schema = ToolSchema(tool.spec.name, "", schema_of(tool.spec.Input))
        slot = image_argument(schema)
        return {**arguments, slot: as_value(schema, slot, reference)}, ""

    def tool(self, name: str) -> Tool | None:
        """Return the tool of that name, or None."""
        return self._tools.get(name)

    def rules_call(self, number: int, step: Step) -> ToolCall:
        """Return the call for a step that was decided by rules alone, without a model.

        `number` is its place in the rules' plan, from 1.
        """
        call_id = f"{BY_RULE}{number}-{uuid4().hex[:20]}"
        call = ToolCall(id=call_id, name=step.tool, arguments=step.arguments)
        self._orders[call.id] = CallOrder(CallOrigin("rules", step.why))
        return call

    def _needed(self) -> Intent:
        """Return what is asked, without what a model with eyes or the user can do without."""
        needed = self.intent
        if self.model_sees and not self.by_rules:
            needed = needed.with_eyes()
        if out := self._plan.taken_out:
            needed = replace(needed, wanted=tuple(t for t in needed.wanted if t not in out))
        return needed

    def _joins(self, call: ToolCall, turn: Sequence[ToolCall]) -> bool:
        """Return whether a call may run beside those of the turn, because they do not affect it."""
        if self._enforcer is None:
            return True
        own = call.id.startswith(BY_RULE) or call.id not in self._orders
        return own and self._enforcer.may_run_beside(call, turn)

    def _put_first(self, ruling: RunFirst, waiting: deque[ToolCall]) -> None:
        first = ruling.call
        if first in waiting:  # the model asked for it as well, only later
            waiting.remove(first)
            self._moved.add(first.id)
            self._tell(ruling.override)
        else:
            self._insert(first, ruling.override)
        waiting.appendleft(first)

    def _settle(self, call: ToolCall, ruling: Proceed | RunFirst | Refusal) -> ToolCall:
        """Return the call as it is to be made, and note how."""
        self._settled.add(call.id)
        order = self.order(call)
        match ruling:
            case Proceed(changed, override, note):
                awaited = self._plan.awaited(changed.name)
                if awaited:
                    note = f"{note} By your plan it waits for: {', '.join(awaited)}.".strip()
                if override is not None:
                    self._tell(override)
                    order = replace(order, made=CallOrigin(ENFORCED, override.reason))
                if note:
                    self._orders[call.id] = replace(order, note=f"{order.note} {note}".strip())
                return changed
            case Refusal(_, override, remedy):
                self._tell(override)
                outcome = not_run(f"Not run: {override.reason}", remedy, override.reason)
                made = CallOrigin(ENFORCED)
                self._orders[call.id] = replace(order, made=made, outcome=outcome, advice=remedy)
            case RunFirst():
                pass  # rules go in circles: what is first enough is as it was asked for
        return call

    def _insert(self, call: ToolCall, override: Override) -> None:
        self._tell(override)
        note = f"Put in by Sightline's rules: {override.reason}"
        self._orders[call.id] = CallOrder(
            CallOrigin(ENFORCED, override.reason), note=note, advice=_PUT_IN
        )

    def _recommend(self, call: ToolCall) -> str:
        assert self._enforcer is not None
        told: list[str] = []
        for rule in self._enforcer.recommended(call.name):
            why = rule.reason.strip().rstrip(".")
            if self._plan.recommend(rule.then, f"recommended: {why}" if why else "recommended"):
                told.append(f"Recommended next: {rule.then}{f' ({why})' if why else ''}.")
        return " ".join(told)

    def _other_results(self, message: Message) -> list[CallResult]:
        """Return the successful results of the conversation, but for this one."""
        return [
            CallResult(item.call.name, item.call.arguments, item.message.output, {})
            for item in self.record.all()
            if item.message.ok and item.message.call_id != message.call_id
        ]

    def _try_again(self, rule: ToolRule, message: Message, others: Sequence[CallResult]) -> str:
        """Return the advice to try once more, where no rule can do it; once for each tool."""
        if self.by_rules or rule.tool in self._looked or not doubt_of(rule, message, others):
            return ""
        self._looked.add(rule.tool)
        return _TRY_AGAIN

    def _look(
        self, rule: ToolRule, call: ToolCall, message: Message, others: Sequence[CallResult]
    ) -> bool:
        """Have a call list what exists, at most once for each tool; return whether it will."""
        if rule.tool in self._looked:
            return False
        if rule.discovery is not None and not rule.discovery.tool and message.ok:
            self._looked.add(rule.tool)
            if call.arguments.get(rule.discovery.argument):
                self._adapt(rule, call, message)
            return True
        wanted = listing_call(rule, call, message, self.intent, self._schemas, others)
        if wanted is None:
            return False
        self._looked.add(rule.tool)
        why = "found nothing" if not doubt_of(rule, message, others) else "gave a doubtful result"
        reason = f"{rule.tool} {why}, so {wanted.name} looks what there is."
        self._follow(
            wanted,
            Override(rule="empty_result", tool=rule.tool, instead=wanted.name, reason=reason),
            (rule, call),
        )
        return True

    def _adapt(self, rule: ToolRule, empty: ToolCall, message: Message) -> str:
        """Have the empty call repeated with a name that exists; else return what exists."""
        again = adapted_retry(rule, empty, message)
        tool = rule.tool
        reason = _sentence(again.why)
        if again.call is None:
            self.notes.append(reason)
            return reason
        self._follow(
            again.call, Override(rule="empty_result", tool=tool, instead=tool, reason=reason)
        )
        return ""

    def _follow(
        self, call: ToolCall, override: Override, looked: tuple[ToolRule, ToolCall] | None = None
    ) -> None:
        # Rules know a retry as their own step again; other ids may be too long.
        again = call.id.startswith(BY_RULE) and call.id.endswith(AGAIN)
        ending = AGAIN if call.id.endswith(AGAIN) else LOOK
        known = call if again else call.model_copy(update={"id": f"{new_id()}{ending}"})
        self._insert(known, override)
        if looked is not None:
            self._looks[known.id] = looked
        self._next.append(known)

    def _tell(self, override: Override) -> None:
        """Show and log what a rule changed; the log gets only names of tools, no patient data."""
        done = list(dict.fromkeys(item.tool for item in self.results if item.ok))
        context = f"results so far: {', '.join(done)}" if done else "no results so far"
        goal = self.plans.rule(override.instead).why if override.instead else ""
        override = override.model_copy(update={"context": context, "sub_goal": goal})
        if self._plan.override(override):
            _log.info(
                "Override (%s): %s -> %s. %s Sub-goal: %s. Context: %s.",
                override.rule,
                override.tool or "answer",
                override.instead or "not run",
                override.reason,
                override.sub_goal or "none",
                override.context,
            )


def _not_yet(why: str, remedy: str) -> str:
    return f"The question is not answered yet. {_sentence(why)} {remedy}"


def _joined(parts: Iterable[str]) -> str:
    return " ".join(filter(None, parts))


def _sentence(text: str) -> str:
    line = " ".join(text.split())
    return line if not line or line.endswith((".", "?", "!")) else f"{line}."
