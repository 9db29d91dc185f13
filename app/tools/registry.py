"""Which tools there are: the built-in packs and those that other packages bring."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points

from app.log import get_logger
from app.tools import chest, general
from app.tools.api import Registrar, Tool
from app.tools.foreign_plans import bounded
from app.tools.pinned import PinnedTool
from app.tools.planning import PackPlan, Plans

ENTRY_POINT_GROUP = "sightline.tool_packs"
"""An entry point of this group names a function `register(registry)`."""

OWN_PACK = "sightline"
"""The pack of the loop's own tools, which the policy does not look into: nobody else's."""

_log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class PackProblem:
    """A third-party pack that could not be loaded: shown to the user, never fatal."""

    pack: str
    reason: str


class Registry:
    """Tools by name, in the order in which they were registered."""

    def __init__(self) -> None:
        self._tools: dict[str, Tool] = {}
        self._plans: dict[str, PackPlan] = {}
        self.problems: tuple[PackProblem, ...] = ()

    def register(self, tool: Tool) -> None:
        """Add a tool.

        Raises:
            ValueError: A tool of that name is already there.
        """
        pinned = PinnedTool(tool)
        name = pinned.spec.name
        if name in self._tools:
            raise ValueError(f"a tool named {name!r} is already registered")
        self._tools[name] = pinned

    def plan(self, plan: PackPlan) -> None:
        """Take what a pack tells the planner.

        Raises:
            ValueError: A pack of that name has told already.
        """
        if plan.pack in self._plans:
            raise ValueError(f"a pack named {plan.pack!r} has told the planner already")
        self._plans[plan.pack] = plan

    @property
    def plans(self) -> Plans:
        """What the packs tell the planner."""
        return Plans(self._plans.values())

    @property
    def labels(self) -> tuple[str, ...]:
        """Labels of findings with a colour of their own, in the order of the tools."""
        found = (label for tool in self._tools.values() for label in tool.spec.labels)
        return tuple(dict.fromkeys(found))

    def get(self, name: str) -> Tool | None:
        """The tool of that exact name, or None."""
        return self._tools.get(name)

    def all(self) -> tuple[Tool, ...]:
        """Every tool."""
        return tuple(self._tools.values())


class _Trial:
    """Collects a pack's tools, so that a pack that fails half-way leaves none behind."""

    def __init__(self, taken: Iterable[str], packs: Iterable[str]) -> None:
        self.tools: dict[str, Tool] = {}
        self.plans: dict[str, PackPlan] = {}
        self._taken = frozenset(taken)
        self._packs = frozenset(packs)

    def register(self, tool: Tool) -> None:
        pinned = PinnedTool(tool)  # once: what it says while it is looked at is what holds
        name = pinned.spec.name
        if pinned.spec.pack == OWN_PACK:
            raise ValueError(f"a pack may not call itself {OWN_PACK!r}")
        if name in self._taken or name in self.tools:
            raise ValueError(f"a tool named {name!r} is already registered")
        self.tools[name] = pinned

    def plan(self, plan: PackPlan) -> None:
        if plan.pack in self._packs or plan.pack in self.plans:
            raise ValueError(f"a pack named {plan.pack!r} has told the planner already")
        self.plans[plan.pack] = plan


def load_packs(third_party: Iterable[EntryPoint] | None = None) -> Registry:
    """The built-in packs, then the third-party ones.

    Args:
        third_party: Entry points to load; by default those that installed packages declare.

    Returns:
        The registry; `problems` says which third-party packs were left out, and why.
    """
    registry = Registry()
    general.register(registry)
    chest.register(registry)
    if third_party is None:
        third_party = entry_points(group=ENTRY_POINT_GROUP)
    problems: list[PackProblem] = []
    for point in third_party:
        problem = _load(registry, point)
        if problem:
            problems.append(problem)
    registry.problems = tuple(problems)
    return registry


def _load(registry: Registry, point: EntryPoint) -> PackProblem | None:
    taken = (tool.spec.name for tool in registry.all())
    trial = _Trial(taken, (plan.pack for plan in registry.plans.packs))
    try:
        register: Callable[[Registrar], object] = point.load()
        register(trial)
        plans = [bounded(plan, trial.tools) for plan in trial.plans.values()]
    except Exception as error:  # foreign code may raise anything; the viewer goes on
        reason = f"{type(error).__name__}: {error}"
        _log.warning("tool pack %s left out: %s", point.name, type(error).__name__)
        return PackProblem(point.name, reason)
    for tool in trial.tools.values():
        registry.register(tool)
    for plan in plans:
        registry.plan(plan)
    return None
