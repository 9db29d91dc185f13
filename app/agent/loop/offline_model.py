"""The offline planner in the role of a language model; it says that it is not one."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Sequence

from app.agent.answers.result_summaries import Skipped, write_summary
from app.agent.enforcement.rulings import INSERTED
from app.agent.llm.base import Call, ModelEvent, ModelInfo, Plan, Text, ToolSchema
from app.agent.messages import Message, ToolCall
from app.agent.planning import BlockedStep, Intent, Planner, ToolPlan, resolve
from app.tools.pack_plan import NO_PLANS, Plans

_PREFIX = "Offline planner (no language model): "
_CALL_ID = re.compile(r"offline-(\d+)-(\d+)-.*")
_DELTA = re.compile(r"\s*\S+(?:\s+\S+){0,2}|\s+")


class OfflineModel:
    """Follows a plan made by rules, one call at a time, so that calls can use earlier results.

    `following` gives it the intent of one run's question.
    """

    name = "offline"
    remote_host = ""
    # Rules read any length, and whole results.
    info = ModelInfo(context_tokens=1_000_000_000, own_tools=False, metered=False, rules=True)

    def __init__(self, plans: Plans = NO_PLANS, intent: Intent | None = None) -> None:
        self.planner = Planner(plans)
        self._intent = intent or Intent()

    def following(self, intent: Intent) -> OfflineModel:
        """Return a model for one run that uses this interpretation of the question."""
        return OfflineModel(self.planner.plans, intent)

    async def stream(
        self, messages: Sequence[Message], tools: Sequence[ToolSchema]
    ) -> AsyncIterator[ModelEvent]:
        """Yield the next call in the plan, or the answer."""
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
    for match in _DELTA.finditer(_PREFIX + text):
        yield Text(match.group())
        # Lets the loop see a cancel between two pieces.
        await asyncio.sleep(0)
