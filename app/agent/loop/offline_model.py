"""Answers by rules: where there is no language model, and where rules are certain without it.

Beside a model, rules answer only what a pack declares as certain, and only if the question asks
nothing else.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import cast

from app.agent.answers.german import in_german
from app.agent.answers.result_summaries import Skipped, write_summary
from app.agent.enforcement.director import Director
from app.agent.enforcement.plan_checklist import TAKEN_OUT
from app.agent.enforcement.rulings import BY_RULE
from app.agent.enforcement.verdicts import judge_task
from app.agent.events import TextDelta
from app.agent.image_reference import image_arguments, name_of, title_of, with_image_names
from app.agent.llm.base import ModelEvent, ModelFailed, ModelInfo, Plan, ToolSchema
from app.agent.loop.emitter import Emitter
from app.agent.loop.limits import Stop
from app.agent.loop.transcript import Transcript
from app.agent.messages import Message, ToolCall
from app.agent.planning import BlockedStep, Intent, Planner, Reply, Step, ToolPlan, resolve
from app.agent.repeated_calls import NAME as REPEATED
from app.tools.pack_plan import NO_PLANS, Plans

_MOST_TITLES = 2
"""Images that the heading of a result names: a comparison has two."""
_LONGEST = 60
"""Characters of a step's arguments in the plan."""
_CALL_ID = re.compile(rf"{BY_RULE}(\d+)-.*")


class OfflineModel:
    """Stands where there is no language model: rules then answer every question (`RuleAnswers`)."""

    name = "offline"
    remote_host = ""
    # Rules read any length, and whole results.
    info = ModelInfo(context_tokens=1_000_000_000, own_tools=False, metered=False, rules=True)

    def __init__(self, plans: Plans = NO_PLANS) -> None:
        self.planner = Planner(plans)

    def stream(
        self, messages: Sequence[Message], tools: Sequence[ToolSchema]
    ) -> AsyncIterator[ModelEvent]:
        """Raise AssertionError: there is no model to ask."""
        raise AssertionError("rules answer in place of this model")


@dataclass(frozen=True, slots=True)
class Progress:
    """The state of a plan that is being carried out.

    Attributes:
        calls: The steps to make now, none of which waits for another, by their numbers from 1;
            earlier outputs are filled in. Empty once no call is left to make.
        skipped: Steps that cannot run, or that the user took out.
        notes: Remarks on the plan, and on how arguments were chosen.
    """

    calls: dict[int, Step]
    skipped: tuple[Skipped, ...]
    notes: tuple[str, ...]


def progress(
    intent: Intent,
    plan: ToolPlan,
    results: Mapping[int, Message],
    wanted: Sequence[int] | None,
    alone: Callable[[str], bool],
) -> Progress:
    """Return what of a plan is to be done next.

    `results` are those so far, by the number of the step; `wanted` are the numbers of the steps to
    make, in their order (None: all); `alone` returns whether a tool may not run beside another.
    """
    wanted = range(1, len(plan.steps) + 1) if wanted is None else wanted
    notes = list(plan.notes)
    skipped: list[Skipped] = []
    open_: set[int] = set()
    ready: dict[int, Step] = {}
    for number, step in enumerate(plan.steps, start=1):
        if number not in wanted and number not in results:
            skipped.append(Skipped(number, step.tool, TAKEN_OUT))
            continue
        if not open_.isdisjoint(step.after()):
            open_.add(number)
            continue
        found = resolve(step, plan.steps, results, intent.scene)
        if isinstance(found, BlockedStep):
            skipped.append(Skipped(number, step.tool, found.reason))
            continue
        notes += [f"{step.tool}: {note}." for note in found.notes]
        if number not in results:
            open_.add(number)
            ready[number] = replace(step, arguments=found.arguments)
    calls: dict[int, Step] = {}
    for number in (number for number in wanted if number in open_):
        tool = plan.steps[number - 1].tool
        single = alone(tool) or intent.in_order  # "first ..., then ..."
        if single and calls:
            break  # nothing overtakes it, and it overtakes nothing
        if number in ready:
            calls[number] = ready[number]
            # What follows a tool by its pack's rules comes before the next step, as in the answer.
            if single or intent.scene.plans.successors(tool, intent.kinds):
                break
    return Progress(calls, tuple(skipped), tuple(notes))


def step_number(call_id: str) -> int:
    """Return the number of the planner's step that a call is for; 0 for other calls."""
    match = _CALL_ID.fullmatch(call_id)
    return int(match[1]) if match else 0


def reason(step: Step) -> str:
    """Return why a step runs and with what, so that the user can tell two of one tool apart."""
    values: list[str] = []
    for name, value in step.arguments.items():
        items = cast("list[object]", value) if isinstance(value, list) else [value]
        if not name.endswith(("path", "paths", "id")) and all(type(one) is str for one in items):
            values += filter(None, map(str, items))
        elif type(value) in (int, float):
            values.append(f"{name.replace('_', ' ')} {value}")
    told = ", ".join(values)
    told = told if len(told) <= _LONGEST else f"{told[:_LONGEST]}…"
    return ": ".join(filter(None, (step.why, told)))


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


def next_calls(
    intent: Intent,
    results: Sequence[Message],
    *,
    certain: bool = True,
    wanted: Sequence[int] | None = None,
    alone: Callable[[str], bool] = lambda _: False,
) -> Progress | None:
    """Return the next calls that rules make in place of a model; None if a model has to decide.

    `results` are those of this question's calls so far, in the order in which they ended; `wanted`
    and `alone` are as for `progress`. With `certain`, a model also has to decide if the question is
    not fully understood (`Intent.certain`), or if a step failed or cannot run. Without it, a step
    that cannot run is skipped.
    """
    plan = intent.plan
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
    done = _step_results(plan, ran, wanted)
    if certain:
        rule = intent.scene.plans.rule
        if any(judge_task(rule(one.tool), one, intent).state != "done" for one in done.values()):
            return None  # rules have no answer to a failure
    now = progress(intent, plan, done, wanted, alone)
    edited = any(item.reason == TAKEN_OUT for item in now.skipped)
    return now if edited or not (certain and now.skipped) else None


def _step_results(
    plan: ToolPlan, ran: Sequence[Message], wanted: Sequence[int] | None
) -> dict[int, Message]:
    """Return results by step: those of its own calls, else the latest of its tool by a model."""
    own = {step_number(message.call_id): message for message in ran}
    others = [message for message in ran if not step_number(message.call_id)]
    latest = {(message.tool, message.output.get("tool")): message for message in others}
    latest |= {(message.tool, None): message for message in others if message.tool != REPEATED}
    done: dict[int, Message] = {}
    for number, step in enumerate(plan.steps, start=1):
        repeated = step.arguments.get("tool") if step.tool == REPEATED else None
        message = own.get(number) or latest.get((step.tool, repeated))
        # A call that the user took out of a message gave no result.
        if message is not None and (message.ok or wanted is None or number in wanted):
            done[number] = message
    return done


@dataclass(slots=True)
class RuleAnswers:
    """Answers questions by rules, without a language model.

    Where there is a model, only if rules understand every word of the question.

    Attributes:
        work: Makes calls.
        ask: Asks the user once about several calls that are to come.
        announce: Shows the plan.
        ready: Returns once the user lets the next step begin.
        order: Returns the numbers of the steps to make, in their order, once the plan was
            announced: the user may have taken some out.
        alone: Returns whether a tool, by its name, may not run beside another.
    """

    director: Director
    work: Work
    ask: Callable[[Sequence[ToolCall]], Awaitable[None]]
    announce: Callable[[Plan], None]
    ready: Callable[[], Awaitable[None]]
    order: Callable[[], Sequence[int]]
    alone: Callable[[str], bool]
    emitter: Emitter
    transcript: Transcript
    _asked: dict[int, ToolCall] = field(default_factory=dict[int, ToolCall])
    """The calls that the user was asked about, by their steps."""

    @property
    def own_text(self) -> str:
        """The program's fixed reply, if the question asks for nothing else ("help"); else ""."""
        plan = self.director.intent.plan
        return plan.text if isinstance(plan, Reply) and plan.certain else ""

    def begin(self) -> bool:
        """Return whether rules can start on the question, so that no model is needed yet."""
        return next_calls(self.director.intent, self.director.planned_results()) is not None

    async def answer(self, *, certain: bool = True) -> str | Stop | None:
        """Make the calls that rules choose; return the answer or the limit that was reached.

        Return None if a model is needed to go on; never if not `certain` (see `next_calls`).
        """
        director = self.director
        director.by_rules = True
        plan = director.intent.plan
        if not isinstance(plan, ToolPlan):
            return self._say(plan.text)
        if plan.steps:
            told = tuple((step.tool, step.skip or reason(step)) for step in plan.steps)
            after = tuple(step.after() for step in plan.steps)
            self.announce(Plan(told, after, tuple(step.settable() for step in plan.steps)))
        while True:
            await self.ready()
            now: Progress | None = Progress({}, (), plan.notes)
            if plan.steps:
                await self._ask_together()
                await self.ready()  # the user may have held or changed the plan meanwhile
                found, wanted = director.planned_results(), self.order()
                now = next_calls(
                    director.intent, found, certain=certain, wanted=wanted, alone=self.alone
                )
            if now is None:
                director.by_rules = False
                return None
            calls = self._calls(now) or director.before_answer()
            if isinstance(calls, str) or not calls:
                return self._told(now)
            stop = await self.work("", calls)
            if stop is not None:
                return stop

    async def stand_in(self, said: str, failed: ModelFailed | None = None) -> str | Stop | None:
        """Make the remaining calls of the rules' plan, since a model only wrote the text `said`.

        `failed` is the model's failure, if that is why. Return the answer, or the limit that was
        reached; None if no call was left to make and the model did not fail after some.
        """
        director, ran = self.director, False
        if failed is not None:
            director.by_rules = True
            ran = bool(director.planned_results())
        while True:
            found = director.planned_results()
            now = next_calls(director.intent, found, certain=False, alone=self.alone)
            if now is None or not now.calls:
                break
            stop = await self.work("" if ran else said, self._calls(now))
            ran = True
            if stop is not None:
                return stop
        head = IN_PLACE if failed is None else _in_place_of_failed(failed)
        return self._told(now, head) if ran and now is not None else None

    async def _ask_together(self) -> None:
        """Ask once about all steps whose arguments are known before the plan begins."""
        plan = self.director.intent.plan
        if self._asked or self.director.planned_results() or not isinstance(plan, ToolPlan):
            return
        for number in self.order():
            step = plan.steps[number - 1]
            if step.after():  # its arguments come from results
                continue
            found = resolve(step, plan.steps, {}, self.director.intent.scene)
            if not isinstance(found, BlockedStep):
                step = replace(step, arguments=found.arguments)
                self._asked[number] = self.director.rules_call(number, step)
        await self.ask(list(self._asked.values()))

    def _calls(self, now: Progress) -> list[ToolCall]:
        return [self._call(number, step) for number, step in now.calls.items()]

    def _call(self, number: int, step: Step) -> ToolCall:
        asked = self._asked.get(number)
        if asked is not None and asked.arguments == step.arguments:
            return asked
        return self.director.rules_call(number, step)

    def _told(self, ended: Progress, head: str = "") -> str:
        director, intent = self.director, self.director.intent
        assert isinstance(intent.plan, ToolPlan)
        # In the order of the calls, however they ended: the same question gets the same answer.
        order = {call_id: place for place, call_id in enumerate(self.transcript.answered)}
        results = sorted(director.results, key=lambda one: order.get(one.call_id, len(order)))
        title, images = self._title(results), dict[str, str]()
        if not intent.plan.steps:  # it is about earlier ones
            known = {item.message.call_id: item for item in director.record.all()}
            results = [item for item in intent.scene.earlier if item.call_id in known]
            of_image = {one.call_id: known[one.call_id].images for one in results}
            if len(frozenset[str]().union(*of_image.values())) > 1:
                images = {key: self._titles(names) for key, names in of_image.items()}
            else:
                names = next((names for names in of_image.values() if names), frozenset[str]())
                title = self._titles(names)
        notes, topics, targets = [*ended.notes, *director.notes], intent.plan.topics, intent.targets
        plans = intent.scene.plans
        text = write_summary(results, ended.skipped, notes, topics, targets, plans, images)
        return self._say("\n\n".join(filter(None, (head.strip(), title, text))))

    def _titles(self, names: Collection[str]) -> str:
        """Return what images are, by their references; "" for none that is known."""
        known = (self.director.record.note(name) for name in names)
        open_ = [title_of(note) for note in self.director.intent.scene.images]
        titles = sorted(
            title if (title := title_of(note)) and open_.count(title) < 2 else name_of(note)
            for note in known
            if note is not None
        )
        return "; ".join(dict.fromkeys(titles)) if len(titles) <= _MOST_TITLES else ""

    def _title(self, results: Sequence[Message]) -> str:
        """Return what the image is that results are about; "" for none, or for several."""
        intent = self.director.intent
        schemas = [intent.scene.tools.get(one.tool) for one in results if one.ok]
        taken = [image_arguments(one) for one in schemas if one is not None]
        if len(intent.images) > 1 or not any(taken):
            return ""
        if any(len(names) > 1 or "images" in names for names in taken):
            return ""  # a comparison, or a result for each of several
        note = next((n for n in intent.scene.images if n.get("id") in intent.images), None)
        return title_of(note or intent.scene.images[0]) if intent.scene.images else ""

    def _say(self, text: str) -> str:
        german = self.director.asked_in_german
        text = in_german(text) if german else text
        text = with_image_names(text, self.director.intent.scene.images, german=german)
        self.emitter.emit(TextDelta, text=text)
        self.transcript.say(Message(role="assistant", text=text))
        return text
