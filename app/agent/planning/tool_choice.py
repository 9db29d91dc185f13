"""Choice of tools: the fewest that answer a question, in order, and those that they require."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from app.agent.planning.plan import Intent, Scene
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
    """Return the tools that suffice, in running order, and needed tools that are not installed.

    `kinds` are the question's kinds, each with its matches; `about` are the matches of words for
    what tools work on ("nuclei") in the question's `tokens`. `tools` are the installed tools; the
    question excludes those in `left_out` and names those in `named`.
    """
    wanted: dict[str, None] = {}
    absent: dict[str, None] = {}
    usable = _UsableTools(plans, tools, left_out, named)
    for kind, matches in kinds:
        for need in kind.tools:
            group = need.tools if isinstance(need, AnyOf) else (need,)
            if isinstance(need, AnyOf):
                spoken = _mentioned_tools(group, about, tokens, matches)
                chosen = usable.from_group(spoken) or usable.from_group(group, wanted)[:1]
            else:
                chosen = usable.tool_or_alternative(need)
            wanted.update(dict.fromkeys(chosen))
            if not chosen and not any(name in tools for name in group):
                absent.update(dict.fromkeys(name for name in group[:1] if name not in left_out))
    # The user's order takes precedence over stages: "outline it and then tell me the date".
    explicit_order = any(token.text in _SEQUENCE for token in tokens)
    ordered = wanted if explicit_order else sorted(wanted, key=lambda name: plans.rule(name).stage)
    return tuple(ordered), tuple(absent)


class _UsableTools:
    """The tools that may be chosen for a question."""

    def __init__(
        self,
        plans: Plans,
        tools: Collection[str],
        left_out: Collection[str],
        named: Collection[str],
    ) -> None:
        self._plans, self._tools = plans, tools
        self._left_out, self._named = left_out, named

    def from_group(self, group: Iterable[str], already: Collection[str] = ()) -> list[str]:
        """Return the usable tools of a group, best first, or only those chosen or named already."""
        found = [name for name in group if self._is_usable(name)]
        ready = [name for name in found if name in already or name in self._named]
        if ready:
            return ready
        best = [name for name in found if self._priority(name) > Priority.LOW]
        return sorted(best or found, key=lambda name: -self._priority(name))

    def tool_or_alternative(self, tool: str) -> list[str]:
        """Return the tool, or an alternative if it is unusable or of low priority; else []."""
        if tool in self._left_out:
            return []
        if self._is_usable(tool) and (self._priority(tool) > Priority.LOW or tool in self._named):
            return [tool]
        return self.from_group(self._plans.alternatives(tool))[:1]

    def _priority(self, tool: str) -> Priority:
        return self._plans.rule(tool).priority

    def _is_usable(self, tool: str) -> bool:
        installed = tool in self._tools and tool not in self._left_out
        return installed and self._priority(tool) != Priority.EXCLUDED


def _mentioned_tools(
    group: Collection[str],
    about: Sequence[Match],
    tokens: Sequence[Token],
    kind_matches: Sequence[Match],
) -> list[str]:
    """Return the group's tools whose subjects are asked for.

    "Nuclei of the cells" and "cell nuclei" are about nuclei; "cells and nuclei" and "how many
    cells, how many nuclei" are about both.
    """
    said = sorted((match for match in about if match.owner in group), key=lambda item: item.first)
    heads = [
        match
        for number, match in enumerate(said)
        if not any(
            later.first == max(match.positions) + 1 and later.owner != match.owner
            for later in said[number + 1 : number + 2]
        )
    ]
    found: list[Match] = []
    for match in heads:
        if not found or _is_additional(found[-1], match, tokens, kind_matches):
            found.append(match)
    return list(dict.fromkeys(match.owner for match in found))


def _is_additional(
    before: Match, match: Match, tokens: Sequence[Token], kind_matches: Sequence[Match]
) -> bool:
    """Return whether a match names another subject: after "and", or in another question."""
    start, end = max(before.positions) + 1, match.first
    if any(start <= item.first < end for item in kind_matches):
        return True
    return all(token.text in _JOINED for token in tokens[start:end])


def satisfied(need: AnyOf | AllOf, done: Collection[str]) -> bool:
    """Return whether the tools in `done` meet the requirement `need`."""
    if isinstance(need, AllOf):
        return all(name in done for name in need.tools)
    return not need.tools or any(name in done for name in need.tools)


# Limit of nested prerequisites, in case packs declare a cycle.
_DEPTH = 16


def with_prerequisites(
    wanted: Sequence[str], intent: Intent, scene: Scene
) -> list[tuple[str, str]]:
    """Return the tools to run, in order, each as (tool, a few words on why it runs).

    Prerequisites of a tool in `wanted` come before it, unless an earlier question has run them; the
    successors that the packs declare come after it.
    """
    done = {message.tool for message in scene.earlier if message.role == "tool" and message.ok}
    order: dict[str, str] = {}
    for tool in wanted:
        _add_with_prerequisites(tool, "", order, done, intent, scene)
    return [(tool, why or scene.plans.rule(tool).why) for tool, why in order.items()]


def prerequisites(tool: str, done: Collection[str], scene: Scene) -> list[str]:
    """Return the tools that must run before `tool`; those in `done` or run earlier are left out."""
    ran = {message.tool for message in scene.earlier if message.role == "tool" and message.ok}
    order = dict.fromkeys(done, "")
    for need in scene.plans.rule(tool).requires:
        if not satisfied(need, ran | set(order)):
            for name in _tools_for_need(need, Intent(), scene):
                _add_with_prerequisites(name, "", order, ran, Intent(), scene, 1)
    return [name for name in order if name not in done and name != tool]


def _add_with_prerequisites(
    tool: str,
    why: str,
    order: dict[str, str],
    done: set[str],
    intent: Intent,
    scene: Scene,
    depth: int = 0,
) -> None:
    """Add a tool to `order`, with prerequisites before and successors after it."""
    if tool in order or depth > _DEPTH:
        return
    for need in scene.plans.rule(tool).requires:
        if not satisfied(need, done | set(order)):
            for name in _tools_for_need(need, intent, scene):
                _add_with_prerequisites(
                    name, f"{tool} needs it", order, done, intent, scene, depth + 1
                )
    order[tool] = why
    for item in scene.plans.successors(tool, intent.kinds):
        usable = _is_usable(item.then, intent, scene)
        if usable and item.then not in intent.wanted and item.arguments is None:
            _add_with_prerequisites(item.then, item.reason, order, done, intent, scene, depth + 1)


def _tools_for_need(need: AnyOf | AllOf, intent: Intent, scene: Scene) -> list[str]:
    """Return the tools to run for a requirement: all of them, or the best one that suffices."""
    if isinstance(need, AllOf):
        return [name for name in need.tools if name in scene.tools]
    found = [name for name in need.tools if _is_usable(name, intent, scene)]
    found.sort(key=lambda name: -scene.plans.rule(name).priority)
    return found[:1]


def _is_usable(tool: str, intent: Intent, scene: Scene) -> bool:
    excluded = scene.plans.rule(tool).priority == Priority.EXCLUDED
    return tool in scene.tools and tool not in intent.left_out and not excluded
