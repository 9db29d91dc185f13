"""Texts for the user: names of models, effects of tools, and a run's limits and costs."""

from __future__ import annotations

from collections.abc import Iterable

from app.agent.events import DataSent, Usage
from app.agent.sessions import PastRun
from app.views.plain_text import one_line
from app.views.translation import tr, translatable

BY_RULES = translatable("Answered by rules")
"""Signature of an answer that was made without a language model."""

_EFFECTS = {
    "read": translatable("It only reads what is open."),
    "compute": translatable("It computes on this machine."),
    "write": translatable("It writes files outside this conversation's own folder."),
    "send": translatable("It sends data to another machine."),
    "execute": translatable("It runs a program on this machine."),
}
_LIMITS = {
    "steps": translatable("The limit of steps for one question was reached."),
    "tool_calls": translatable("The limit of tool calls for one question was reached."),
    "tokens": translatable("The limit of tokens for one question was reached."),
    "cost": translatable("The limit of cost for one question was reached."),
    "wall_time": translatable("The time limit for one question was reached."),
}
_LOOPS = {
    "repeated_call": translatable(
        "The assistant kept asking for the same tool call and was stopped."
    ),
    "cycle": translatable("The assistant repeated itself in a loop and was stopped."),
}


def model_title(model: str) -> str:
    """Return a language model's name (`LanguageModel.name`) as shown to users."""
    return tr("Offline planner") if model == "offline" else model


def effect(name: str) -> str:
    """Return a sentence on what a tool may do, given an `Approval` value such as "write"."""
    return tr(_EFFECTS[name]) if name in _EFFECTS else one_line(name, 80)


def limit(stopped_by: str) -> tuple[str, str, bool]:
    """Return (why the run ended, advice, whether settings have the limit) for a limit's name."""
    in_settings = stopped_by not in _LOOPS
    unknown = tr("The run was stopped by a limit ({stopped_by}).").format(
        stopped_by=one_line(stopped_by, 60)
    )
    advice = (
        tr("What was found so far is above. Continue, or raise the limit in the settings.")
        if in_settings
        else tr("What was found so far is above. Continue, or ask in other words.")
    )
    return tr((_LIMITS | _LOOPS).get(stopped_by, unknown)), advice, in_settings


def usage(event: Usage, *, local: bool = False) -> str:
    """Return a run's tokens and cost, e.g. "1,204 tokens in, 86 out, about $0.004"; "" for none.

    `local` says that the language model ran on this computer, which costs nothing.
    """
    sent, received = event.run_input_tokens, event.run_output_tokens
    return _usage(sent, received, event.estimated, event.cost, 0 if local else 1)


def total_usage(runs: Iterable[PastRun]) -> str:
    """Return the tokens and cost of a conversation, the sum over its runs."""
    ends: list[tuple[Usage, bool]] = []  # the last Usage of each run, and whether it sent data
    for run in runs:
        last = next((one for one in reversed(run.events) if isinstance(one, Usage)), None)
        if last is not None and (last.run_input_tokens or last.run_output_tokens):
            ends.append((last, any(isinstance(one, DataSent) for one in run.events)))
    if not ends:
        return tr("No language model was asked: no cost")
    paid = [one.cost for one, sent in ends if sent]
    known = [cost for cost in paid if cost is not None]
    text = _usage(
        sum(one.run_input_tokens for one, _ in ends),
        sum(one.run_output_tokens for one, _ in ends),
        any(one.estimated for one, _ in ends),
        sum(known) if known else None,
        len(paid),
    )
    if known and len(known) < len(paid):
        text += ", " + tr("without answers whose price is not known")
    return text


def _usage(sent: int, received: int, estimated: bool, cost: float | None, remote: int) -> str:
    if not (sent or received):
        return ""
    text = (
        tr("{sent:,} tokens in, {received:,} out (estimated)")
        if estimated
        else tr("{sent:,} tokens in, {received:,} out")
    ).format(sent=sent, received=received)
    if cost is not None:
        return f"{text}, {_dollars(cost)}"
    price = tr("price not known") if remote else tr("on this computer: no cost")
    return f"{text}, {price}"


def _dollars(cost: float) -> str:
    if cost <= 0:
        return tr("no cost")
    if cost < 0.001:
        return tr("under $0.001")
    figures = f"{cost:.3f}" if cost < 0.1 else f"{cost:,.2f}"
    return tr("about ${amount}").format(amount=figures)
