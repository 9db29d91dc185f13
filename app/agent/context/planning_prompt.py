"""The part of the system prompt that explains the packs' rules to a model, so that it plans well.

It is advice: the rules are enforced whether or not the model follows it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from app.agent.context.prompts import load_prompt
from app.tools.pack_plan import AnyOf, Plans, Priority, QuestionKind

_MOST = 40  # lines


def planning_text(plans: Plans, tools: Collection[str]) -> str:
    """Return the planning section of the system prompt; "" if no pack has rules.

    `tools` are those that are offered to the model; others are not mentioned.
    """
    lines = [*_kinds(plans, tools), *_chains(plans, tools), *_priorities(plans, tools)]
    if not lines:
        return ""
    head = load_prompt("PLANNING")
    return "\n".join([head, *dict.fromkeys(lines[:_MOST])])


def _kinds(plans: Plans, tools: Collection[str]) -> Iterator[str]:
    named: dict[str, list[str]] = {}
    for _, kind in plans.kinds():
        chain = _chain(kind, tools)
        if chain:
            named.setdefault(chain, []).append(kind.name.replace("_", " "))
    for chain, names in named.items():
        yield f"- {', '.join(dict.fromkeys(names))}: {chain}"


def _chain(kind: QuestionKind, tools: Collection[str]) -> str:
    links: list[str] = []
    for need in kind.tools:
        names = need.tools if isinstance(need, AnyOf) else (need,)
        there = [name for name in names if name in tools]
        if there:
            links.append(" or ".join(there))
    return " -> ".join(links)


def _chains(plans: Plans, tools: Collection[str]) -> Iterator[str]:
    for rule in plans.rules():
        if rule.tool not in tools:
            continue
        for need in rule.requires:
            there = [name for name in need.tools if name in tools]
            if there:
                joined = (" or " if isinstance(need, AnyOf) else " and ").join(there)
                yield f"- {rule.tool} needs a result of {joined} first"
    for pack in plans.packs:
        for item in pack.successors:
            after = [name for name in item.after if name in tools]
            if after and item.then in tools:
                how = "comes" if item.mandatory else "is recommended"
                when = f" (in: {', '.join(item.kinds)})" if item.kinds else ""
                yield f"- after {' or '.join(after)} {how} {item.then}{when}"


def _priorities(plans: Plans, tools: Collection[str]) -> Iterator[str]:
    rules = [rule for rule in plans.rules() if rule.tool in tools]
    low = [rule.tool for rule in rules if rule.priority is Priority.LOW]
    never = [rule.tool for rule in rules if rule.priority is Priority.EXCLUDED]
    if low:
        yield f"- only where nothing better is there, or the user names it: {', '.join(low)}"
    if never:
        yield f"- never: {', '.join(never)}"
