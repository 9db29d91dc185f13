"""How a call is to be made and what came of it, as the packs' rules tell the loop."""

from __future__ import annotations

from dataclasses import dataclass, field

from app.agent.enforcement.plan_checklist import Made
from app.agent.loop.tool_execution import Outcome


@dataclass(frozen=True, slots=True)
class Order:
    """How a call is to be made.

    Attributes:
        made: Who makes it, and why.
        outcome: What became of it already: it is not run.
        note: What the model is told with its result: material, since it may quote a file.
        advice: What Sightline itself asks of the model: names of tools and fixed words.
        own: It is the loop's own, and counts as no call of a tool.
    """

    made: Made = field(default_factory=Made)
    outcome: Outcome | None = None
    note: str = ""
    advice: str = ""
    own: bool = False


@dataclass(frozen=True, slots=True)
class Judged:
    """What came of a call.

    Attributes:
        state: "done", "incomplete" or "failed"; "" where nobody judged it.
        verdict: Why.
        note: What the model is told with the result, "" for nothing; as `Order.note`.
        advice: As `Order.advice`.
    """

    state: str = ""
    verdict: str = ""
    note: str = ""
    advice: str = ""


PLAIN = Order()
