"""Choice of tools: the fewest that answer a question, and what must run before and after them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from app.agent.planning.classify import Intent
from app.agent.planning.plan import Scene
from app.agent.planning.vocabulary import DETERMINERS, Match, Token
from app.tools.pack_plan import AllOf, AnyOf, Plans, Priority, QuestionKind

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


_DEPTH = 16


def with_prerequisites(wanted: Sequence[str], asked: Intent, scene: Scene) -> list[tuple[str, str]]:
    """The tools in the order in which they run, each with a few words why.

    What one requires comes before it, unless an earlier question has run it; what the packs say
    comes next follows it.
    """
    done = {message.tool for message in scene.earlier if message.role == "tool" and message.ok}
    order: dict[str, str] = {}
    for tool in wanted:
        _add(tool, "", order, done, asked, scene)
    return [(tool, why or scene.plans.rule(tool).why) for tool, why in order.items()]


def required(tool: str, done: Collection[str], scene: Scene) -> list[str]:
    """What must run before a tool that the user names, in order; what is done already is not."""
    ran = {message.tool for message in scene.earlier if message.role == "tool" and message.ok}
    order = dict.fromkeys(done, "")
    for need in scene.plans.rule(tool).requires:
        if not satisfied(need, ran | set(order)):
            for name in _chosen(need, Intent(), scene):
                _add(name, "", order, ran, Intent(), scene, 1)
    return [name for name in order if name not in done and name != tool]


def _add(
    tool: str,
    why: str,
    order: dict[str, str],
    done: set[str],
    asked: Intent,
    scene: Scene,
    depth: int = 0,
) -> None:
    if tool in order or depth > _DEPTH:
        return
    for need in scene.plans.rule(tool).requires:
        if not satisfied(need, done | set(order)):
            for name in _chosen(need, asked, scene):
                _add(name, f"{tool} needs it", order, done, asked, scene, depth + 1)
    order[tool] = why
    for item in scene.plans.successors(tool, asked.kinds):
        usable = _usable(item.then, asked, scene)
        if usable and item.then not in asked.wanted:
            _add(item.then, item.reason, order, done, asked, scene, depth + 1)


def _chosen(need: AnyOf | AllOf, asked: Intent, scene: Scene) -> list[str]:
    """What to run for what is required: all of it, or the readiest that suffices."""
    if isinstance(need, AllOf):
        return [name for name in need.tools if name in scene.tools]
    found = [name for name in need.tools if _usable(name, asked, scene)]
    found.sort(key=lambda name: -scene.plans.rule(name).priority)
    return found[:1]


def _usable(tool: str, asked: Intent, scene: Scene) -> bool:
    excluded = scene.plans.rule(tool).priority == Priority.EXCLUDED
    return tool in scene.tools and tool not in asked.left_out and not excluded
