"""What rules decide without a model: the next call, that nothing is left to do, or nothing at all.

"Finished" and "no rule applies" are different values. Rules decide only what a pack says that they
can be certain of, and only where the question says nothing besides.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from app.agent.enforcement.verdicts import judge_task
from app.agent.messages import Message
from app.agent.planning.classify import classify
from app.agent.planning.planner import decide
from app.agent.planning.resolve import Blocked, resolve
from app.agent.planning.steps import Scene, Step, Steps


@dataclass(frozen=True, slots=True)
class Act:
    """The next call.

    Attributes:
        step: Its tool and why; its arguments are values, none of them a source.
    """

    step: Step


@dataclass(frozen=True, slots=True)
class Finished:
    """Nothing is left to do.

    Attributes:
        why: "cell_counter ran: that answers it".
        topics: What was asked, for the summary.
        notes: What to tell about how the question was read.
    """

    why: str
    topics: frozenset[str] = frozenset()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NoRule:
    """No rule applies: a model, or the user, must say what to do."""


def rule_decision(
    question: str, scene: Scene, results: Sequence[Message]
) -> Act | Finished | NoRule:
    """What rules decide on a question.

    Args:
        question: As the user wrote it.
        scene: Images, tools, packs' data and the messages of earlier questions.
        results: What this question's calls gave so far, in the order in which they ended.
    """
    asked = classify(question, scene.plans, scene.tools)
    if not asked.certain or not asked.wanted:
        return NoRule()
    plan = decide(question, scene)
    if not isinstance(plan, Steps) or not plan.steps or any(step.skip for step in plan.steps):
        return NoRule()
    ran = [message for message in results if message.role == "tool"]
    planned = {step.tool for step in plan.steps}
    if any(message.tool not in planned for message in ran):
        return NoRule()  # somebody else has begun to answer
    latest = {message.tool: message for message in ran}
    done: dict[int, Message] = {}
    for number, step in enumerate(plan.steps, start=1):
        message = latest.get(step.tool)
        if message is None:
            return _act(step, plan, done, scene)
        if judge_task(scene.plans.rule(step.tool), message, asked).state != "done":
            return NoRule()  # rules have no answer to a failure
        done[number] = message
    tools = ", ".join(dict.fromkeys(step.tool for step in plan.steps))
    return Finished(f"{tools} ran: that answers it", plan.topics, plan.notes)


def _act(step: Step, plan: Steps, done: dict[int, Message], scene: Scene) -> Act | NoRule:
    ready = resolve(step, plan.steps, done, scene)
    if isinstance(ready, Blocked):
        return NoRule()
    return Act(replace(step, arguments=ready.arguments))
