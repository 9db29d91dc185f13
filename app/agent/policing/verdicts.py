"""The shapes of a judgement: which rule applies to a call, and why."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class Rule(StrEnum):
    """What happens when a call is made."""

    ALLOW = "allow"
    ASK = "ask"
    DENY = "deny"


STRICTNESS = {Rule.ALLOW: 0, Rule.ASK: 1, Rule.DENY: 2}


@dataclass(frozen=True, slots=True)
class Touch:
    """Something outside the run that a call names, as it would really be reached.

    Attributes:
        what: "writes" (a file) or "sends to" (a host).
        argument: Where in the arguments it stands; "" where the tool brings it itself.
        shown: The whole path with links followed, or the host in its plain spelling with its port.
        note: What is odd about it, in words; "" for nothing.
    """

    what: str
    argument: str
    shown: str
    note: str = ""

    def told(self) -> dict[str, str]:
        """As `ApprovalRequested.touches` tells it."""
        return {
            "what": self.what,
            "argument": self.argument,
            "shown": self.shown,
            "note": self.note,
        }


@dataclass(frozen=True, slots=True)
class Judgement:
    """Which rule applies to a call.

    Attributes:
        rule: Allow, ask or deny.
        reason: Why, in a sentence for the model and the card; "" where nothing is to be said.
        argument: The argument that it is about, "" for the call as a whole.
        remedy: What to do instead, where it is denied.
        touches: What the call would reach outside the run.
        told: Why, for the card, where the user is told it otherwise.
    """

    rule: Rule
    reason: str = ""
    argument: str = ""
    remedy: str = ""
    touches: tuple[Touch, ...] = ()
    told: str = ""


ALLOWED = Judgement(Rule.ALLOW)


def strictest(found: Iterable[Judgement]) -> Judgement:
    """The strictest of all, the first among equals, with what all of them touch."""
    whole = tuple(found)
    if not whole:
        return ALLOWED
    worst = max(whole, key=lambda item: STRICTNESS[item.rule])
    touches = dict.fromkeys(touch for item in whole for touch in item.touches)
    return Judgement(
        worst.rule, worst.reason, worst.argument, worst.remedy, tuple(touches), worst.told
    )
