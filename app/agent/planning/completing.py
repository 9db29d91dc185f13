"""What must or should run with the tools that answer a question: before them, and after them."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from app.agent.planning.choosing import satisfied
from app.agent.planning.classify import Intent
from app.agent.planning.plan import Scene
from app.tools.planning import AllOf, AnyOf, Priority

_DEPTH = 16


def completed(wanted: Sequence[str], asked: Intent, scene: Scene) -> list[tuple[str, str]]:
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
