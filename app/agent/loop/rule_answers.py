"""Answers by rules alone, without a language model and without sending anything.

Rules answer only what a pack declares as certain, and only if the question asks nothing else.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace

from app.agent.answers.result_summaries import write_summary
from app.agent.enforcement.director import Director
from app.agent.enforcement.verdicts import judge_task
from app.agent.events import TextDelta
from app.agent.loop.emitter import Emitter
from app.agent.loop.limits import Stop
from app.agent.loop.transcript import Transcript
from app.agent.messages import Message, ToolCall
from app.agent.planning import BlockedStep, Intent, Step, ToolPlan, resolve
from app.tools.pack_plan import Plans

BY_RULES = "Answered by rules, no language model was asked: "
"""The beginning of an answer that was not written by a model."""

Work = Callable[[str, Sequence[ToolCall]], Awaitable[Stop | None]]
"""Makes the calls in one message, with its text; returns the limit that was reached, or None."""


@dataclass(frozen=True, slots=True)
class Finished:
    """The result when nothing is left to do.

    Attributes:
        why: The reason: "cell_counter ran: that answers it".
        topics: The question's kinds, for the summary.
        notes: Remarks on how the question was interpreted.
    """

    why: str
    topics: frozenset[str] = frozenset()
    notes: tuple[str, ...] = ()


def next_action(intent: Intent, results: Sequence[Message]) -> Step | Finished | None:
    """Return the rules' next call, with literal arguments, or None if they are not certain.

    `results` are those of this question's calls so far, in the order in which they ended.
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
    """Answers one question by rules, if they are certain.

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
        """Return the answer given by rules alone or the limit reached.

        None if a model is needed.
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
        told = write_summary(
            director.results, [], notes, finished.topics, director.intent.targets, self.plans
        )
        text = f"{BY_RULES}{told}"
        self.emitter.emit(TextDelta, text=text)
        self.transcript.say(Message(role="assistant", text=text))
        return text
