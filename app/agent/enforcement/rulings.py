"""What the packs' rules say to a call: it goes, another goes first, or it does not go."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import uuid4

from app.agent.call_log import LoggedCall
from app.agent.events import Override
from app.agent.messages import ToolCall
from app.tools.planning import AllOf, AnyOf, Successor

INSERTED = "rule-"
"""How the id of a call begins that rules put in."""


@dataclass(frozen=True, slots=True)
class Go:
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
class First:
    """Another call is made before."""

    call: ToolCall
    override: Override


@dataclass(frozen=True, slots=True)
class No:
    """The call is not made.

    Attributes:
        call: What was asked for.
        override: Which rule, and why.
        remedy: What the model should do instead.
    """

    call: ToolCall
    override: Override
    remedy: str


Ruling = Go | First | No


@dataclass(frozen=True, slots=True)
class Next:
    """A mandatory successor that has not run yet.

    Attributes:
        rule: What the pack says.
        cause: The call that it follows.
    """

    rule: Successor
    cause: LoggedCall


GO_ON = "Do not call it again. Go on without it, and say what it would have been needed for."


def listed(need: AnyOf | AllOf) -> str:
    """The tools that are needed, in words."""
    joined = " or " if isinstance(need, AnyOf) else " and "
    return joined.join(need.tools)


def new_id() -> str:
    """An id for a call that rules put in."""
    return f"{INSERTED}{uuid4().hex[:20]}"
