"""Rulings on a call: it proceeds, another call runs first, or it is refused."""

from __future__ import annotations

from dataclasses import dataclass, field
from uuid import uuid4

from app.agent.enforcement.plan_checklist import CallOrigin
from app.agent.events import Override
from app.agent.loop.tool_execution import Outcome
from app.agent.messages import ToolCall
from app.tools.pack_plan import AllOf, AnyOf

INSERTED = "rule-"
"""Prefix of the ids of calls that rules insert."""
BY_RULE = "rules-"
"""Prefix of the ids of calls that rules make where no model chooses them."""


@dataclass(frozen=True, slots=True)
class Proceed:
    """The ruling that a call is made, either as requested or changed.

    Attributes:
        override: The change made by a rule, or None.
        note: Text for the model, sent together with the result; "" for none.
    """

    call: ToolCall
    override: Override | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class RunFirst:
    """The ruling that another call is made first.

    Attributes:
        override: Which rule requires it, and why.
    """

    call: ToolCall
    override: Override


@dataclass(frozen=True, slots=True)
class Refusal:
    """The ruling that a call is not made.

    Attributes:
        override: Which rule refused it, and why.
        remedy: What the model should do instead.
    """

    call: ToolCall
    override: Override
    remedy: str


Ruling = Proceed | RunFirst | Refusal


GO_ON_WITHOUT = (
    "Do not call it again. Go on without it, and say what it would have been needed for."
)


def need_text(need: AnyOf | AllOf) -> str:
    """Return the names of the needed tools, joined with "or" for any of them or "and" for all."""
    joined = " or " if isinstance(need, AnyOf) else " and "
    return joined.join(need.tools)


def new_id() -> str:
    """Return a new id for a call that rules insert."""
    return f"{INSERTED}{uuid4().hex[:20]}"


@dataclass(frozen=True, slots=True)
class CallOrder:
    """Instructions for making one call, or the outcome of a call that must not run.

    Attributes:
        made: Who makes the call, and why.
        outcome: The outcome of a call that will not run; None if it will.
        note: Text sent to the model with the result. It is marked as data, because it may quote a
            file.
        advice: Sightline's own advice to the model; contains only tool names and fixed text.
    """

    made: CallOrigin = field(default_factory=CallOrigin)
    outcome: Outcome | None = None
    note: str = ""
    advice: str = ""


@dataclass(frozen=True, slots=True)
class CallVerdict:
    """The verdict on a finished call.

    Attributes:
        state: "done", "incomplete", "failed" or, if rules refused the call, "skipped"; "" if it was
            not judged.
        verdict: The reason for the state.
        note: Text sent to the model with the result, as in `CallOrder.note`.
        advice: Sightline's own advice to the model, as in `CallOrder.advice`.
    """

    state: str = ""
    verdict: str = ""
    note: str = ""
    advice: str = ""


PLAIN = CallOrder()
