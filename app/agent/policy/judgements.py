"""The result of judging a call: which rule applies to it, why, and what it would reach."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from enum import StrEnum


class Rule(StrEnum):
    """The ruling on a call: it runs, the user is asked first, or it is refused."""

    ALLOW = "allow"
    ASK = "ask"
    DENY = "deny"


STRICTNESS = {Rule.ALLOW: 0, Rule.ASK: 1, Rule.DENY: 2}
"""Sort key of the rules, the strictest last."""


@dataclass(frozen=True, slots=True)
class Touch:
    """A file or host outside the run that a call would reach.

    Attributes:
        what: "writes" (a file) or "sends to" (a host).
        argument: Where the arguments name it; "" for a host that the tool itself declares.
        shown: The absolute path with links resolved, or the host in plain spelling with its port.
        note: A warning about the file or host for the user; "" for none.
    """

    what: str
    argument: str
    shown: str
    note: str = ""

    def to_dict(self) -> dict[str, str]:
        """Return the fields by name, as an item of `ApprovalRequested.touches`."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Judgement:
    """The rule that applies to a call, with its reason.

    Attributes:
        rule: Allow, ask or deny.
        reason: A sentence for the model and the approval card; "" if there is nothing to say.
        argument: The argument that the reason is about ("files[2].name"); "" for the whole call.
        remedy: What the model should do instead of a call that is denied.
        touches: Files and hosts outside the run that the call would reach.
        user_reason: Replaces `reason` on the card; "" to show `reason` itself.
    """

    rule: Rule
    reason: str = ""
    argument: str = ""
    remedy: str = ""
    touches: tuple[Touch, ...] = ()
    user_reason: str = ""


def strictest(judgements: Iterable[Judgement]) -> Judgement:
    """Return the first of the strictest judgements, with the touches of all; "allow" if none."""
    found = tuple(judgements)
    if not found:
        return Judgement(Rule.ALLOW)
    worst = max(found, key=lambda item: STRICTNESS[item.rule])
    touches = dict.fromkeys(touch for item in found for touch in item.touches)
    return replace(worst, touches=tuple(touches))
