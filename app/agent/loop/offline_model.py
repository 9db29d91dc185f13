"""The offline planner in the role of a language model, and answers by rules alone.

The offline planner's answers say that it is no language model. Rules answer only what a pack
declares as certain, and only if the question asks nothing else.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, replace

from app.agent.answers.german import in_german, is_german
from app.agent.answers.result_summaries import Skipped, write_summary
from app.agent.enforcement.director import Director
from app.agent.enforcement.plan_checklist import TAKEN_OUT
from app.agent.enforcement.rulings import BY_RULE, INSERTED
from app.agent.enforcement.verdicts import judge_task
from app.agent.events import TextDelta
from app.agent.llm.base import Call, ModelEvent, ModelFailed, ModelInfo, Plan, Text, ToolSchema
from app.agent.loop.emitter import Emitter
from app.agent.loop.limits import Stop
from app.agent.loop.transcript import Transcript
from app.agent.messages import Message, ToolCall
from app.agent.planning import BlockedStep, Intent, Planner, Reply, Step, ToolPlan, resolve
from app.agent.repeated_calls import NAME as REPEATED
from app.tools.pack_plan import NO_PLANS, Plans

_CALL_ID = re.compile(r"offline-(\d+)-(\d+)-.*")
_ID_CHARS = 40
"""Longer ids of calls are replaced, since endpoints refuse them."""
_DELTA = re.compile(r"\s*\S+(?:\s+\S+){0,2}|\s+")


class OfflineModel:
    """Takes the place of a language model: follows a plan made by rules.

    A message has the calls that wait for no other; each later one can use their results.
    `following` makes an instance for a run.
    """

    name = "offline"
    remote_host = ""
    # Rules read any length, and whole results.
    info = ModelInfo(context_tokens=1_000_000_000, own_tools=False, metered=False, rules=True)

    def __init__(self, plans: Plans = NO_PLANS, intent: Intent | None = None) -> None:
        self.planner = Planner(plans)
        self._intent = intent or Intent()
        self._announced = False
        self._order: Callable[[], Sequence[int]] = tuple
        self._alone: Callable[[str], bool] = lambda _: False

    def following(
        self,
        intent: Intent,
        order: Callable[[], Sequence[int]] = tuple,
        alone: Callable[[str], bool] = lambda _: False,
    ) -> OfflineModel:
        """Return an offline model for one run, which follows the plan in `intent`.

        Args:
            intent: What the question asks for.
            order: Returns the numbers of the steps to make, in their order, once the plan was
                announced: the user may have taken some out.
            alone: Returns whether a tool, by its name, may not run beside another.
        """
        model = OfflineModel(self.planner.plans, intent)
        model._order, model._alone = order, alone
        return model

    async def stream(
        self, messages: Sequence[Message], tools: Sequence[ToolSchema]
    ) -> AsyncIterator[ModelEvent]:
        """Yield the plan's next call, or the text of the answer once no call is left."""
        start = max((i for i, item in enumerate(messages) if item.role == "user"), default=-1)
        intent = self._intent
        german = is_german([item.text for item in messages if item.role == "user"])
        if isinstance(intent.plan, ToolPlan):
            plan, turn = intent.plan, messages[start + 1 :]
            if not self._announced and plan.steps:
                told = tuple((step.tool, step.skip or step.why) for step in plan.steps)
                yield Plan(told, tuple(step.after() for step in plan.steps))
            wanted = self._order() if self._announced else range(1, len(plan.steps) + 1)
            self._announced = True
            async for event in _work(intent, plan, turn, start, german, wanted, self._alone):
                yield event
            return
        text = intent.plan.text
        async for event in _spoken(in_german(text) if german else text):
            yield event


async def _work(
    intent: Intent,
    plan: ToolPlan,
    turn: Sequence[Message],
    start: int,
    german: bool,
    wanted: Sequence[int],
    alone: Callable[[str], bool],
) -> AsyncIterator[ModelEvent]:
    """Yield the next calls of the plan that wait for no other, or the answer.

    `start` is the number of the question's message, for the ids of its calls. `wanted` are the
    numbers of the steps to make, in their order; `alone` is as for `OfflineModel.following`.
    """
    scene = intent.scene
    results = _results(turn)
    notes = list(plan.notes)
    skipped: list[Skipped] = []
    open_: set[int] = set()
    calls: dict[int, Call] = {}
    for number, step in enumerate(plan.steps, start=1):
        if number not in wanted and number not in results:
            skipped.append(Skipped(number, step.tool, TAKEN_OUT))
            continue
        if not open_.isdisjoint(step.after()):
            open_.add(number)
            continue
        ready = resolve(step, plan.steps, results, scene)
        if isinstance(ready, BlockedStep):
            skipped.append(Skipped(number, step.tool, ready.reason))
            continue
        notes += [f"{step.tool}: {note}." for note in ready.notes]
        if number not in results:
            open_.add(number)
            call_id = f"offline-{start}-{number}-{step.tool}"[:_ID_CHARS]
            calls[number] = Call(ToolCall(id=call_id, name=step.tool, arguments=ready.arguments))
    batch: list[Call] = []
    for number in (number for number in wanted if number in open_):
        tool = plan.steps[number - 1].tool
        single = alone(tool) or intent.in_order  # "first ..., then ..."
        if single and batch:
            break  # nothing overtakes it, and it overtakes nothing
        if number in calls:
            batch.append(calls[number])
            # What follows a tool by its pack's rules comes before the next step, as in the answer.
            if single or scene.plans.successors(tool, intent.kinds):
                break
    if batch:
        for call in batch:
            yield call
        return
    # What the packs' rules put in stands where it ran: behind what it followed.
    steps = {id(item) for item in results.values()}
    found = [item for item in turn if id(item) in steps or item.call_id.startswith(INSERTED)]
    found = [item for item in found if item.role == "tool"]
    if not plan.steps:
        found = [message for message in scene.earlier if message.role == "tool"]
    text = write_summary(found, skipped, notes, plan.topics, intent.targets, scene.plans)
    async for event in _spoken(in_german(text) if german else text):
        yield event


def step_number(call_id: str) -> int:
    """Return the number of the planner's step that a call is for; 0 for other calls."""
    match = _CALL_ID.fullmatch(call_id)
    return int(match.group(2)) if match else 0


def _results(turn: Sequence[Message]) -> dict[int, Message]:
    """Return results by step, from call ids that the loop may have replaced, else in order."""
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


IN_PLACE = (
    "The language model did not call the tools that this needs, so rules answered in its place.\n\n"
)
"""The beginning of an answer that rules gave because a model did not do what it was asked."""


def _in_place_of_failed(error: ModelFailed) -> str:
    """Return the beginning of an answer that rules gave because the model failed."""
    why = error.reason.rstrip(".")
    return (
        f"The language model failed, so rules answered in its place. {why}. {error.remedy}".strip()
        + "\n\n"
    )


Work = Callable[[str, Sequence[ToolCall]], Awaitable[Stop | None]]
"""Makes the calls in one message, with its text; returns the limit that was reached, or None."""


@dataclass(frozen=True, slots=True)
class Finished:
    """The result of `next_action` when no call is left to make.

    Attributes:
        topics: Names of the question's kinds, for the summary.
        notes: Remarks on how the question was interpreted.
        skipped: Steps that could not run.
    """

    topics: frozenset[str] = frozenset()
    notes: tuple[str, ...] = ()
    skipped: tuple[Skipped, ...] = ()


def next_action(
    intent: Intent, results: Sequence[Message], *, certain: bool = True
) -> Step | Finished | None:
    """Return the next call that rules make, or `Finished`; None if a model has to decide.

    In the call, earlier outputs are filled in. `results` are those of this question's calls so far,
    in the order in which they ended. With `certain`, a model also has to decide if the question is
    not fully understood (`Intent.certain`), or if a step failed or cannot run. Without it, a step
    that cannot run is skipped.
    """
    plan, scene = intent.plan, intent.scene
    if not isinstance(plan, ToolPlan) or not plan.steps:
        return None
    ran = [message for message in results if message.role == "tool"]
    if certain:
        if not intent.certain or not intent.wanted or any(step.skip for step in plan.steps):
            return None
        planned = {step.tool for step in plan.steps}
        if any(message.tool not in planned for message in ran):
            return None  # somebody else has begun to answer
    else:  # what failed for a model may work as the rules call it
        ran = [item for item in ran if item.ok or item.call_id.startswith(BY_RULE)]
    latest = {(message.tool, message.output.get("tool")): message for message in ran}
    latest |= {(message.tool, None): message for message in ran if message.tool != REPEATED}
    done: dict[int, Message] = {}
    skipped: list[Skipped] = []
    for number, step in enumerate(plan.steps, start=1):
        repeated = step.arguments.get("tool") if step.tool == REPEATED else None
        message = latest.get((step.tool, repeated))
        if message is None:
            ready = resolve(step, plan.steps, done, scene)
            if not isinstance(ready, BlockedStep):
                return replace(step, arguments=ready.arguments)
            if certain:
                return None
            skipped.append(Skipped(number, step.tool, ready.reason))
            continue
        if certain and judge_task(scene.plans.rule(step.tool), message, intent).state != "done":
            return None  # rules have no answer to a failure
        done[number] = message
    return Finished(plan.topics, plan.notes, tuple(skipped))


@dataclass(slots=True)
class RuleAnswers:
    """Answers a question without a language model if rules alone understand every word of it."""

    plans: Plans
    director: Director
    work: Work
    emitter: Emitter
    transcript: Transcript

    @property
    def own_text(self) -> str:
        """The program's fixed reply, if the question asks for nothing else ("help"); else ""."""
        plan = self.director.intent.plan
        return plan.text if isinstance(plan, Reply) and plan.certain else ""

    def begin(self) -> bool:
        """Return whether rules can start on the question, so that no model is needed yet."""
        return self._next() is not None

    async def answer(self) -> str | Stop | None:
        """Make the calls that rules choose; return the answer or the limit that was reached.

        Return None if a model is needed to go on.
        """
        self.director.by_rules = True
        if self.own_text:
            return self._say(self.own_text)
        while (decision := self._next()) is not None:
            if isinstance(decision, Step):
                calls = [self.director.rules_call(decision)]
            else:
                calls = self.director.before_answer()
            if not isinstance(calls, list) or not calls:
                assert isinstance(decision, Finished)
                return self._told(decision)
            stop = await self.work("", calls)
            if stop is not None:
                return stop
        self.director.by_rules = False
        return None

    async def stand_in(self, said: str, failed: ModelFailed | None = None) -> str | Stop | None:
        """Make the remaining calls of the rules' plan, since a model only wrote the text `said`.

        `failed` is the model's failure, if that is why. Return the answer, or the limit that was
        reached; None if no call was left to make and the model did not fail after some.
        """
        ran = False
        if failed is not None:
            self.director.by_rules = True
            ran = bool(self.director.planned_results())
        while isinstance(decision := self._next(certain=False), Step):
            stop = await self.work("" if ran else said, [self.director.rules_call(decision)])
            ran = True
            if stop is not None:
                return stop
        head = IN_PLACE if failed is None else _in_place_of_failed(failed)
        return self._told(decision, head) if ran and decision is not None else None

    def _next(self, *, certain: bool = True) -> Step | Finished | None:
        director = self.director
        return next_action(director.intent, director.planned_results(), certain=certain)

    def _told(self, finished: Finished, head: str = "") -> str:
        director, skipped = self.director, finished.skipped
        notes = [*finished.notes, *director.notes]
        targets = director.intent.targets
        told = write_summary(director.results, skipped, notes, finished.topics, targets, self.plans)
        return self._say(f"{head}{told}")

    def _say(self, text: str) -> str:
        if self.director.asked_in_german:
            text = in_german(text)
        self.emitter.emit(TextDelta, text=text)
        self.transcript.say(Message(role="assistant", text=text))
        return text
