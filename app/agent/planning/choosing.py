"""Which tools answer the kinds of a question: the least that suffices, alternatives chosen."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from app.agent.planning.words import DETERMINERS, Match, Token
from app.tools.planning import AllOf, AnyOf, Plans, Priority, QuestionKind

_JOINED = DETERMINERS | frozenset(("and", "or", "und", "oder", "sowie", "then", "dann"))

_SEQUENCE = frozenset(
    ("then", "afterwards", "first", "finally", "next", "dann", "danach", "zuerst", "anschliessend")
)


def choose(
    kinds: Sequence[tuple[QuestionKind, Sequence[Match]]],
    about: Sequence[Match],
    tokens: Sequence[Token],
    plans: Plans,
    tools: Collection[str],
    left_out: Collection[str],
    named: Collection[str],
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The tools that suffice, in the order in which they run, and those that are not installed.

    Args:
        kinds: The kinds of question, in the order in which they are asked, with their words.
        about: Where what tools are about stands in the question.
        tokens: The question's words.
        plans: What the packs tell.
        tools: The tools there are.
        left_out: Those that the question leaves out.
        named: Those that it names.
    """
    wanted: dict[str, None] = {}
    absent: dict[str, None] = {}
    usable = _Usable(plans, tools, left_out, named)
    for kind, matches in kinds:
        for need in kind.tools:
            group = need.tools if isinstance(need, AnyOf) else (need,)
            if isinstance(need, AnyOf):
                spoken = _spoken(group, about, tokens, matches)
                chosen = usable.among(spoken) or usable.among(group, wanted)[:1]
            else:
                chosen = usable.of(need)
            wanted.update(dict.fromkeys(chosen))
            if not chosen and not any(name in tools for name in group):
                absent.update(dict.fromkeys(name for name in group[:1] if name not in left_out))
    # "Outline it and then tell me the date": the user's own order holds.
    told = any(token.text in _SEQUENCE for token in tokens)
    ordered = wanted if told else sorted(wanted, key=lambda name: plans.rule(name).stage)
    return tuple(ordered), tuple(absent)


class _Usable:
    """Which of the tools may be chosen at all."""

    def __init__(
        self,
        plans: Plans,
        tools: Collection[str],
        left_out: Collection[str],
        named: Collection[str],
    ) -> None:
        self._plans, self._tools = plans, tools
        self._left_out, self._named = left_out, named

    def among(self, group: Iterable[str], already: Collection[str] = ()) -> list[str]:
        """Those of a group that may be chosen, the readiest first; one chosen already is enough."""
        found = [name for name in group if self._may(name)]
        ready = [name for name in found if name in already or name in self._named]
        if ready:
            return ready
        best = [name for name in found if self._priority(name) > Priority.LOW]
        return sorted(best or found, key=lambda name: -self._priority(name))

    def of(self, tool: str) -> list[str]:
        """The tool, or what does the same work where it must not or should not be used."""
        if tool in self._left_out:
            return []
        if self._may(tool) and (self._priority(tool) > Priority.LOW or tool in self._named):
            return [tool]
        return self.among(self._plans.alternatives(tool))[:1]

    def _priority(self, tool: str) -> Priority:
        return self._plans.rule(tool).priority

    def _may(self, tool: str) -> bool:
        installed = tool in self._tools and tool not in self._left_out
        return installed and self._priority(tool) != Priority.EXCLUDED


def _spoken(
    group: Collection[str], about: Sequence[Match], tokens: Sequence[Token], asking: Sequence[Match]
) -> list[str]:
    """The tools of a group whose words the question has: one, or as many as are asked for.

    "Nuclei of the cells" is about nuclei, "cell nuclei" as well; "cells and nuclei" and "how many
    cells, how many nuclei" are about both.
    """
    said = sorted((match for match in about if match.owner in group), key=lambda item: item.first)
    heads = [
        match
        for number, match in enumerate(said)
        if not any(
            later.first == max(match.at) + 1 and later.owner != match.owner
            for later in said[number + 1 : number + 2]
        )
    ]
    found: list[Match] = []
    for match in heads:
        if not found or _counts_too(found[-1], match, tokens, asking):
            found.append(match)
    return list(dict.fromkeys(match.owner for match in found))


def _counts_too(
    before: Match, match: Match, tokens: Sequence[Token], asking: Sequence[Match]
) -> bool:
    start, end = max(before.at) + 1, match.first
    if any(start <= item.first < end for item in asking):
        return True
    return all(token.text in _JOINED for token in tokens[start:end])


def satisfied(need: AnyOf | AllOf, done: Collection[str]) -> bool:
    """Whether what a tool requires is among the tools that have run or will run before it."""
    if isinstance(need, AllOf):
        return all(name in done for name in need.tools)
    return not need.tools or any(name in done for name in need.tools)
