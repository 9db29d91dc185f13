"""Rulings on a call: it goes, another goes first, or it is refused; and how it is then made."""

from __future__ import annotations

from dataclasses import dataclass, field
from uuid import uuid4

from app.agent.call_log import LoggedCall
from app.agent.enforcement.plan_checklist import CallOrigin
from app.agent.events import Override
from app.agent.loop.tool_execution import Outcome
from app.agent.messages import ToolCall
from app.tools.planning import AllOf, AnyOf, Successor

INSERTED = "rule-"
"""How the id of a call begins that rules put in."""


@dataclass(frozen=True, slots=True)
class Proceed:
    """The call is made, as it was asked for or changed.

    Attributes:
        call: What runs.
        override: What rules changed.
        note: What the model is told of it, with the result.
    """

    call: ToolCall
    override: Override | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class RunFirst:
    """Another call is made before."""

    call: ToolCall
    override: Override


@dataclass(frozen=True, slots=True)
class Refusal:
    """The call is not made.

    Attributes:
        call: What was asked for.
        override: Which rule, and why.
        remedy: What the model should do instead.
    """

    call: ToolCall
    override: Override
    remedy: str


Ruling = Proceed | RunFirst | Refusal


@dataclass(frozen=True, slots=True)
class PendingSuccessor:
    """A mandatory successor that has not run yet.

    Attributes:
        rule: What the pack says.
        cause: The call that it follows.
    """

    rule: Successor
    cause: LoggedCall


GO_ON_WITHOUT = (
    "Do not call it again. Go on without it, and say what it would have been needed for."
)


def listed(need: AnyOf | AllOf) -> str:
    """The tools that are needed, in words."""
    joined = " or " if isinstance(need, AnyOf) else " and "
    return joined.join(need.tools)


def new_id() -> str:
    """An id for a call that rules put in."""
    return f"{INSERTED}{uuid4().hex[:20]}"


@dataclass(frozen=True, slots=True)
class CallOrder:
    """How a call is to be made.

    Attributes:
        made: Who makes it, and why.
        outcome: What became of it already: it is not run.
        note: What the model is told with its result: material, since it may quote a file.
        advice: What Sightline itself asks of the model: names of tools and fixed words.
        own: It is the loop's own, and counts as no call of a tool.
    """

    made: CallOrigin = field(default_factory=CallOrigin)
    outcome: Outcome | None = None
    note: str = ""
    advice: str = ""
    own: bool = False


@dataclass(frozen=True, slots=True)
class CallVerdict:
    """What came of a call.

    Attributes:
        state: "done", "incomplete" or "failed"; "" where nobody judged it.
        verdict: Why.
        note: What the model is told with the result, "" for nothing; as `CallOrder.note`.
        advice: As `CallOrder.advice`.
    """

    state: str = ""
    verdict: str = ""
    note: str = ""
    advice: str = ""


PLAIN = CallOrder()
