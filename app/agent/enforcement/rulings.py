"""Rulings on a call: it proceeds, another runs first, or it is refused; and how it is then made."""

from __future__ import annotations

from dataclasses import dataclass, field
from uuid import uuid4

from app.agent.call_log import LoggedCall
from app.agent.enforcement.plan_checklist import CallOrigin
from app.agent.events import Override
from app.agent.loop.tool_execution import Outcome
from app.agent.messages import ToolCall
from app.tools.pack_plan import AllOf, AnyOf, Successor

INSERTED = "rule-"
"""Prefix of the ids of calls that rules insert."""


@dataclass(frozen=True, slots=True)
class Proceed:
    """The call is made, as requested or changed.

    Attributes:
        call: The call to make.
        override: The change made by a rule, or None.
        note: Told to the model together with the result.
    """

    call: ToolCall
    override: Override | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class RunFirst:
    """Another call is made first."""

    call: ToolCall
    override: Override


@dataclass(frozen=True, slots=True)
class Refusal:
    """The call is not made.

    Attributes:
        call: The requested call.
        override: Which rule refused it, and why.
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
        rule: The pack's rule.
        cause: The call that it follows.
    """

    rule: Successor
    cause: LoggedCall


GO_ON_WITHOUT = (
    "Do not call it again. Go on without it, and say what it would have been needed for."
)


def listed(need: AnyOf | AllOf) -> str:
    """Return the needed tools as text."""
    joined = " or " if isinstance(need, AnyOf) else " and "
    return joined.join(need.tools)


def new_id() -> str:
    """Return an id for a call that rules insert."""
    return f"{INSERTED}{uuid4().hex[:20]}"


@dataclass(frozen=True, slots=True)
class CallOrder:
    """How a call is to be made.

    Attributes:
        made: Who makes it, and why.
        outcome: Its outcome if it is not to run.
        note: Told to the model with its result as data, since it may quote a file.
        advice: Sightline's own advice to the model: only names of tools and fixed words.
        own: It is a call of the loop's own tool, and does not count as a tool call.
    """

    made: CallOrigin = field(default_factory=CallOrigin)
    outcome: Outcome | None = None
    note: str = ""
    advice: str = ""
    own: bool = False


@dataclass(frozen=True, slots=True)
class CallVerdict:
    """The verdict on a finished call.

    Attributes:
        state: "done", "incomplete" or "failed"; "" if it was not judged.
        verdict: The reason.
        note: Told to the model with the result, as `CallOrder.note`.
        advice: As `CallOrder.advice`.
    """

    state: str = ""
    verdict: str = ""
    note: str = ""
    advice: str = ""


PLAIN = CallOrder()
