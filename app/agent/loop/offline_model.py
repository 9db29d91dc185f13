"""The offline planner in the role of a language model, and answers by rules alone.

The offline planner says that it is no language model. Rules answer only what a pack declares as
certain, and only if the question asks nothing else.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, replace

from app.agent.answers.result_summaries import Skipped, write_summary
from app.agent.enforcement.director import Director
from app.agent.enforcement.rulings import INSERTED
from app.agent.enforcement.verdicts import judge_task
from app.agent.events import TextDelta
from app.agent.llm.base import Call, ModelEvent, ModelInfo, Plan, Text, ToolSchema
from app.agent.loop.emitter import Emitter
from app.agent.loop.limits import Stop
from app.agent.loop.transcript import Transcript
from app.agent.messages import Message, ToolCall
from app.agent.planning import BlockedStep, Intent, Planner, Step, ToolPlan, resolve
from app.tools.pack_plan import NO_PLANS, Plans

_CALL_ID = re.compile(r"offline-(\d+)-(\d+)-.*")
_DELTA = re.compile(r"\s*\S+(?:\s+\S+){0,2}|\s+")


class OfflineModel:
    """Takes the place of a language model: follows a plan made by rules, one tool call at a time.

    Each call can thus use the results of earlier ones. `following` returns an instance for one run.
    """

    name = "offline"
    remote_host = ""
    # Rules read any length, and whole results.
    info = ModelInfo(context_tokens=1_000_000_000, own_tools=False, metered=False, rules=True)

    def __init__(self, plans: Plans = NO_PLANS, intent: Intent | None = None) -> None:
        self.planner = Planner(plans)
        self._intent = intent or Intent()

    def following(self, intent: Intent) -> OfflineModel:
        """Return an offline model for one run, which follows the plan in `intent`."""
        return OfflineModel(self.planner.plans, intent)

    async def stream(
        self, messages: Sequence[Message], tools: Sequence[ToolSchema]
    ) -> AsyncIterator[ModelEvent]:
        """Yield the plan's next call, or the text of the answer once no call is left."""
        start = max((i for i, item in enumerate(messages) if item.role == "user"), default=-1)
        intent = self._intent
        if isinstance(intent.plan, ToolPlan):
            async for event in _work(intent, intent.plan, messages[start + 1 :], start):
                yield event
            return
        async for event in _spoken(intent.plan.text):
            yield event


async def _work(
    intent: Intent, plan: ToolPlan, turn: Sequence[Message], start: int
) -> AsyncIterator[ModelEvent]:
    """Yield the first call of the plan that has not been made, or the answer.

    `start` is the number of the question's message, for the ids of its calls.
    """
    scene = intent.scene
    results = _results(turn)
    if not results and plan.steps:
        yield Plan(tuple((step.tool, step.skip or step.why) for step in plan.steps))
    notes = list(plan.notes)
    skipped: list[Skipped] = []
    for number, step in enumerate(plan.steps, start=1):
        ready = resolve(step, plan.steps, results, scene)
        if isinstance(ready, BlockedStep):
            skipped.append(Skipped(number, step.tool, ready.reason))
            continue
        notes += [f"{step.tool}: {note}." for note in ready.notes]
        if number not in results:
            call_id = f"offline-{start}-{number}-{step.tool}"
            yield Call(ToolCall(id=call_id, name=step.tool, arguments=ready.arguments))
            return
    found = [results[number] for number in sorted(results)]
    found += [item for item in turn if item.role == "tool" and item.call_id.startswith(INSERTED)]
    if not plan.steps:
        found = [message for message in scene.earlier if message.role == "tool"]
    text = write_summary(found, skipped, notes, plan.topics, intent.targets, scene.plans)
    async for event in _spoken(text):
        yield event


def _results(turn: Sequence[Message]) -> dict[int, Message]:
    """Return results of this question's calls by the number of their step.

    The loop may have replaced ids; calls without a readable one are numbered in order.
    """
    results: dict[int, Message] = {}
    for message in turn:
        # What the packs' rules put in is no step of this plan.
        if message.role == "tool" and not message.call_id.startswith(INSERTED):
            match = _CALL_ID.fullmatch(message.call_id)
            results[int(match.group(2)) if match else len(results) + 1] = message
    return results


async def _spoken(text: str) -> AsyncIterator[ModelEvent]:
    for match in _DELTA.finditer(text):
        yield Text(match.group())
        # Lets the loop see a cancel between two pieces.
        await asyncio.sleep(0)


Work = Callable[[str, Sequence[ToolCall]], Awaitable[Stop | None]]
"""Makes the calls in one message, with its text; returns the limit that was reached, or None."""


@dataclass(frozen=True, slots=True)
class Finished:
    """The result of `next_action` when no call is left to make.

    Attributes:
        why: The reason, such as "cell_counter ran: that answers it".
        topics: The question's kinds, for the summary.
        notes: Remarks on how the question was interpreted.
    """

    why: str
    topics: frozenset[str] = frozenset()
    notes: tuple[str, ...] = ()


def next_action(intent: Intent, results: Sequence[Message]) -> Step | Finished | None:
    """Return the next call that rules make, or `Finished`; None if a model has to decide.

    The call has literal arguments. `results` are those of this question's calls so far, in the
    order in which they ended.
    """
    plan, scene = intent.plan, intent.scene
    if not intent.certain or not intent.wanted:
        return None
    if not isinstance(plan, ToolPlan) or not plan.steps or any(step.skip for step in plan.steps):
        return None
    ran = [message for message in results if message.role == "tool"]
    planned = {step.tool for step in plan.steps}
    if any(message.tool not in planned for message in ran):
        return None  # somebody else has begun to answer
    latest = {message.tool: message for message in ran}
    done: dict[int, Message] = {}
    for number, step in enumerate(plan.steps, start=1):
        message = latest.get(step.tool)
        if message is None:
            ready = resolve(step, plan.steps, done, scene)
            if isinstance(ready, BlockedStep):
                return None
            return replace(step, arguments=ready.arguments)
        if judge_task(scene.plans.rule(step.tool), message, intent).state != "done":
            return None  # rules have no answer to a failure
        done[number] = message
    tools = ", ".join(dict.fromkeys(step.tool for step in plan.steps))
    return Finished(f"{tools} ran: that answers it", plan.topics, plan.notes)


@dataclass(slots=True)
class RuleAnswers:
    """Answers one question by rules, without a model, if the rules are certain.

    Attributes:
        plans: The packs' rules.
        director: Judges the results.
        work: Makes the calls.
        emitter: Emits the answer.
        transcript: Records the answer.
    """

    plans: Plans
    director: Director
    work: Work
    emitter: Emitter
    transcript: Transcript

    def begin(self) -> bool:
        """Return whether rules can start on the question, so that no model is needed yet."""
        return self._next() is not None

    async def answer(self) -> str | Stop | None:
        """Make the calls that rules choose; return the answer or the limit that was reached.

        Return None if a model is needed to go on.
        """
        self.director.by_rules = True
        while (decision := self._next()) is not None:
            if isinstance(decision, Step):
                calls = [self.director.rules_call(decision)]
            else:
                calls = self.director.before_answer()
            if not calls and isinstance(decision, Finished):
                return self._told(decision)
            stop = await self.work("", calls)
            if stop is not None:
                return stop
        self.director.by_rules = False
        return None

    def _next(self) -> Step | Finished | None:
        return next_action(self.director.intent, self.director.planned_results())

    def _told(self, finished: Finished) -> str:
        director = self.director
        notes = [*finished.notes, *director.notes]
        text = write_summary(
            director.results, [], notes, finished.topics, director.intent.targets, self.plans
        )
        self.emitter.emit(TextDelta, text=text)
        self.transcript.say(Message(role="assistant", text=text))
        return text
