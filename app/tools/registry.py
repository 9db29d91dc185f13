"""The registry of all tools: those of the built-in packs and those of third-party packages."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, fields, replace
from importlib.metadata import EntryPoint, entry_points
from typing import Any, cast

from app.log import get_logger
from app.tools import chest, diagnosis, general, microscopy, notes, record, viewer
from app.tools.api import Approval, Registrar, Tool, ToolContext, ToolFailed, ToolResult, ToolSpec
from app.tools.pack_plan import PackPlan, Plans, QuestionKind
from app.tools.picture_sources import CallImages, mark_synthetic

ENTRY_POINT_GROUP = "sightline.tool_packs"
"""An entry point of this group names a function `register(registry)`."""

OWN_PACK = "sightline"
"""Pack name of the agent loop's own tools, which the policy trusts; no other pack may use it."""

_log = get_logger(__name__)

_WORDS = """
    a about all an and any anything are as at be been but by can could do does done for from get
    give go has have help here how i if in is it its just know like look made make may me more my
    need no not now of ok on one or out please say see shall should show so some tell than that the
    them then there these they thing this those to up us use want was we were what when where which
    who why will with would yes you your
    case file files finding findings image images patient picture pictures question result results
    scan scans study
    aber alle als am an auch auf aus bei bild bilder bitte da das dass datei dem den der des die
    dies diese dieser dieses du ein eine einen er es etwas frage für gibt hat hier ich ihr im in ist
    ja kann kannst man mir mit nach nein nicht noch nur oder sag sagen sehen sich sie siehst sind so
    studie und uns von was wer wie wir wird wo zeig zeige zeigen zu zum zur
"""
EVERYDAY_WORDS = frozenset(_WORDS.split())
"""English and German words so common that, alone, they do not relate a question to any tool."""


@dataclass(frozen=True, slots=True)
class PackProblem:
    """The reason why a third-party pack could not be loaded, to be shown to the user."""

    pack: str
    reason: str


class Registry:
    """All tools by name, in the order in which they were registered, and the packs' plans."""

    def __init__(self) -> None:
        self._tools: dict[str, Tool] = {}
        # In a list that `without` shares: servers are allowed and change while the program runs.
        self._server_tools: list[dict[str, Tool]] = [{}]
        self._off: frozenset[str] = frozenset()
        self._names: dict[str, str] = {}
        self._plans: dict[str, PackPlan] = {}
        self.problems: tuple[PackProblem, ...] = ()

    def register(self, tool: Tool) -> None:
        """Add a tool; see `app.tools.api.Registrar`."""
        pinned = RegisteredTool(tool)
        name = pinned.spec.name
        for one in (name, *pinned.spec.other_names):
            if self.get(one) is not None:
                raise ValueError(f"a tool named {one!r} is already registered")
        self._tools[name] = pinned
        self._names |= dict.fromkeys(pinned.spec.other_names, name)

    def set_server_tools(self, tools: Iterable[Tool]) -> None:
        """Replace the tools that servers bring (`app.tools.mcp`), which come and go.

        One with the name of a pack's tool takes its place while it is there. Registries made by
        `without` change with this one.
        """
        self._server_tools[0] = {tool.spec.name: RegisteredTool(tool) for tool in tools}

    def plan(self, plan: PackPlan) -> None:
        """Add a pack's plan; see `app.tools.api.Registrar`."""
        if plan.pack in self._plans:
            raise ValueError(f"a pack named {plan.pack!r} has told the planner already")
        self._plans[plan.pack] = plan

    @property
    def plans(self) -> Plans:
        """The plans of all packs."""
        return Plans(self._plans.values())

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of findings in all tools' specs (`ToolSpec.labels`), each once."""
        found = (label for tool in self._tools.values() for label in tool.spec.labels)
        return tuple(dict.fromkeys(found))

    def get(self, name: str) -> Tool | None:
        """Return the tool with exactly that name or other name; None if there is none."""
        own = self._names.get(name, name)
        tool = self._server_tools[0].get(own)
        return tool if tool is not None and self._has(tool) else self._tools.get(own)

    def all(self) -> tuple[Tool, ...]:
        """Return every tool, in the order in which they were registered."""
        found = {name: one for name, one in self._server_tools[0].items() if self._has(one)}
        return tuple({**self._tools, **found}.values())

    def _has(self, tool: Tool) -> bool:
        return tool.spec.pack not in self._off

    def without(self, packs: Collection[str]) -> Registry:
        """Return a registry without the tools and plans of these packs; "general" always stays."""
        off = set(packs) - {"general"}
        kept = Registry()
        kept._tools = {name: t for name, t in self._tools.items() if t.spec.pack not in off}
        kept._server_tools, kept._off = self._server_tools, self._off | off
        kept._plans = {name: plan for name, plan in self._plans.items() if name not in off}
        kept.problems = self.problems
        return kept

    def only(self, tools: Collection[str]) -> Registry:
        """Return a registry with these tools only, and the rules of their packs.

        Questions are not read for it: of a pack's plan, only what is checked of a call is kept.
        """
        kept = Registry()
        kept._tools = {name: tool for name, tool in self._tools.items() if name in tools}
        packs = {tool.spec.pack for tool in kept._tools.values()}
        kept._plans = {
            name: replace(plan, kinds=(), successors=(), suggestions=())
            for name, plan in self._plans.items()
            if name in packs
        }
        return kept

    @property
    def packs(self) -> tuple[str, ...]:
        """The names of all packs, in the order in which they were registered."""
        return tuple(dict.fromkeys([*(tool.spec.pack for tool in self.all()), *self._plans]))

    def merge(self, other: Registry, plans: Iterable[PackPlan]) -> None:
        """Add all tools of the registry `other` and the plans in `plans`: all of them, or nothing.

        Raises:
            ValueError: One of these tools or plans is already registered.
        """
        new = {plan.pack: plan for plan in plans}
        theirs = other._tools.keys() | other._names.keys()
        if taken := sorted((self._tools.keys() | self._names.keys()) & theirs):
            raise ValueError(f"a tool named {taken[0]!r} is already registered")
        if taken := sorted(self._plans.keys() & new.keys()):
            raise ValueError(f"a pack named {taken[0]!r} has told the planner already")
        self._tools |= other._tools
        self._names |= other._names
        self._plans |= new


def load_packs(third_party: Iterable[EntryPoint] | None = None) -> Registry:
    """Return built-in then third-party packs (None: installed); `problems` names failures."""
    registry = Registry()
    general.register(registry)
    chest.register(registry)
    microscopy.register(registry)
    record.register(registry)
    diagnosis.register(registry)
    notes.register(registry)
    viewer.register(registry)
    if third_party is None:
        third_party = entry_points(group=ENTRY_POINT_GROUP)
    problems = [_load(registry, point) for point in third_party]
    registry.problems = tuple(problem for problem in problems if problem is not None)
    return registry


def _load(registry: Registry, point: EntryPoint) -> PackProblem | None:
    # A registry of its own first, so that a pack that fails half-way leaves nothing behind.
    pack = Registry()
    try:
        register: Callable[[Registrar], object] = point.load()
        register(pack)
        if any(tool.spec.pack == OWN_PACK for tool in pack.all()):
            raise ValueError(f"a pack may not call itself {OWN_PACK!r}")
        names = [tool.spec.name for tool in pack.all()]
        registry.merge(pack, [limited_plan(plan, names) for plan in pack.plans.packs])
    except Exception as error:  # foreign code may raise anything; the viewer goes on
        reason = f"{type(error).__name__}: {error}"
        _log.warning("tool pack %s left out: %s", point.name, type(error).__name__)
        return PackProblem(point.name, reason)
    return None


class RegisteredTool:
    """Wraps a pack's tool; `run` refuses to run it if its spec has changed since it was registered.

    It also marks results that are based on synthetic images; see `picture_sources`.
    """

    def __init__(self, tool: Tool) -> None:
        self._tool = tool
        self.spec = plain_spec(tool.spec)

    def run(self, args: Any, context: ToolContext) -> ToolResult:
        """Run the wrapped tool and mark its result if it is based on synthetic images.

        Raises:
            ToolFailed: The tool's spec has changed since it was registered.
        """
        if plain_spec(self._tool.spec) != self.spec:
            raise ToolFailed(
                f"{self.spec.name} has changed what it says of itself since it was loaded",
                remedy="It is not run. Start Sightline again, or remove the pack that brings it.",
            )
        # Each call has its own, since calls of one tool may run at the same time.
        images = CallImages(context.images)
        return mark_synthetic(self._tool.run(args, replace(context, images=images)), images.models)

    def __getattr__(self, name: str) -> Any:
        # Other attributes of a pack's tool stay reachable, for its own tests and commands.
        return getattr(self._tool, name)


def plain_spec(spec: ToolSpec) -> ToolSpec:
    """Return an immutable copy of a spec, with each value read once and stored as a built-in type.

    An unknown `approval` is kept as a string; the user is then asked before the tool runs.
    """
    held = {item.name: getattr(spec, item.name) for item in fields(ToolSpec)}
    effect = "".join(str.__iter__(held["approval"]))  # a str subclass may lie about equality
    held["approval"] = next((item for item in Approval if item.value == effect), effect)
    held["paths"] = {
        str(name): use for name, use in cast("dict[str, Any]", dict(held["paths"])).items()
    }
    held["hosts"] = tuple(str(host) for host in held["hosts"])
    held["labels"] = tuple(str(label) for label in held["labels"])
    held["other_names"] = tuple(str(name) for name in held["other_names"])
    return ToolSpec(**held)


def limited_plan(plan: PackPlan, tools: Collection[str]) -> PackPlan:
    """Return a third-party pack's plan, changed so that it cannot disturb other packs.

    `tools` are the names of the pack's own tools. All plans are checked against every question, so
    words such as "is" or "image" would make the program ask the language model once more about
    nearly every question. Therefore the words in `EVERYDAY_WORDS` are removed from the plan's
    caveats and its kinds of question, and a kind without any words left is removed. A kind with
    `bare` keeps its words, since it counts only if packs know all other words in the clause.
    `greedy` and `addressed` are set to False for all kinds.

    Raises:
        ValueError: The plan has a rule for a tool that is not the pack's own.
    """
    foreign = sorted({rule.tool for rule in plan.tools} - set(tools))
    if foreign:
        raise ValueError(f"its plan has rules for tools of others: {', '.join(foreign)}")
    # `greedy` and `addressed` would take words away from other packs' kinds.
    own = (replace(kind, greedy=False, addressed=False) for kind in plan.kinds)
    kinds = (kind if kind.bare else _without_everyday_words(kind) for kind in own)
    caveats = tuple(word for word in plan.caveats if not _is_everyday(word))
    kept = tuple(kind for kind in kinds if kind is not None)
    return replace(plan, kinds=kept, caveats=caveats)


def _without_everyday_words(kind: QuestionKind) -> QuestionKind | None:
    words = tuple(word for word in kind.words if not _is_everyday(word))
    if words == kind.words:
        return kind
    return replace(kind, words=words) if words else None


def _is_everyday(word: str) -> bool:
    """Return True if a phrase has only everyday words: "is", "the image", "*"."""
    parts = word.casefold().replace("*", " ").split()
    return all(
        any(one in EVERYDAY_WORDS or len(one) < 2 for one in part.split("|")) for part in parts
    )
