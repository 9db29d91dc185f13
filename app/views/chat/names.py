"""Names of models, limits and effects in the window."""

from __future__ import annotations

from dataclasses import dataclass

from app.views.chat.text import one_line

BY_RULES = "Answered by rules"
"""Who signs an answer for which no language model was asked."""


def is_housekeeping(tool: str) -> bool:
    """Whether a call of the loop's own only keeps the plan: that is shown as a checklist."""
    return tool in ("update_plan", "check_answer")


def model_title(model: str) -> str:
    """A language model's name as a badge."""
    return "Offline planner" if model == "offline" else model


_EFFECTS = {
    "read": "It only reads what is open.",
    "compute": "It computes on this machine.",
    "write": "It writes files outside this conversation's own folder.",
    "send": "It sends data to another machine.",
    "execute": "It runs a program on this machine.",
}


def effect(effect: str) -> str:
    """What a tool of that effect (`app.tools.api.Approval`) does, in words."""
    return _EFFECTS.get(effect, one_line(effect, 80))


@dataclass(frozen=True, slots=True)
class Limit:
    """A limit that ended a run: what happened, and what can be done."""

    text: str
    advice: str


_RAISE = "What was found so far is above. Continue, or raise the limit in the settings."
_OTHERWISE = "What was found so far is above. Continue, or ask in other words."
_LIMITS = {
    "steps": Limit("The limit of steps for one question was reached.", _RAISE),
    "tool_calls": Limit("The limit of tool calls for one question was reached.", _RAISE),
    "tokens": Limit("The limit of tokens for one question was reached.", _RAISE),
    "cost": Limit("The limit of cost for one question was reached.", _RAISE),
    "wall_time": Limit("The time limit for one question was reached.", _RAISE),
    "repeated_call": Limit(
        "The assistant kept asking for the same tool call and was stopped.", _OTHERWISE
    ),
    "cycle": Limit("The assistant went round in a circle and was stopped.", _OTHERWISE),
}


def limit(stopped_by: str) -> Limit:
    """The limit that `run_finished.stopped_by` names, in words."""
    unknown = f"The run was stopped by a limit ({one_line(stopped_by, 60)})."
    return _LIMITS.get(stopped_by, Limit(unknown, _RAISE))


def in_settings(stopped_by: str) -> bool:
    """Whether the settings hold that limit."""
    return _LIMITS.get(stopped_by, Limit("", _RAISE)).advice == _RAISE


def usage(sent: int, got: int, cost: float | None, *, estimated: bool) -> str:
    """Tokens and cost of a run: "1,204 tokens in, 86 out, about $0.004"; "" for none."""
    if not (sent or got):
        return ""
    text = f"{sent:,} tokens in, {got:,} out" + (" (estimated)" if estimated else "")
    return text if cost is None else f"{text}, {_dollars(cost)}"


def _dollars(cost: float) -> str:
    if cost <= 0:
        return "no cost"
    if cost < 0.001:
        return "under $0.001"
    return f"about ${cost:.3f}" if cost < 0.1 else f"about ${cost:,.2f}"
