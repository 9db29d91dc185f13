"""The tools that a run offers its model: those that a question may need, and the loop's own.

On a CPU, a model reads only some dozens of tokens a second, and a small model easily picks a wrong
tool from a long list. So a model is offered, with short schemas, only the tools that rules find for
the question; all tools if rules find none. It can still call any other tool by its name.

A tool whose model is not installed is not offered: a model running on a CPU would spend seconds
reading its description, and a call could only fail. The language model is only told the tool's
name, so that it can say what would be needed. If it calls the tool all the same, the tool runs and
reports what is missing.

If the tools do not fit into the model's context beside the question, those least likely to be
needed are left out (`that_fit`).
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from app.agent.context.read_result_tool import SPEC as _READER
from app.agent.context.shortening import schema_tokens
from app.agent.image_reference import unsuitable_image
from app.agent.llm.base import ToolSchema
from app.agent.llm.schema_calls import brief
from app.agent.loop.tool_execution import Tools, schema_of
from app.agent.planning import Intent, ToolPlan, described
from app.tools.api import Tool, ToolSpec
from app.tools.models.cards import cards
from app.tools.models.store import ModelStore
from app.tools.needs import is_installed

READ_RESULT = _READER.name


class OfferedTools:
    """The packs' tools and the loop's own; of two with the same name, only the pack's is used."""

    def __init__(self, tools: Tools, own: Sequence[Tool] = ()) -> None:
        self._tools = tools
        self._own = {tool.spec.name: tool for tool in own if tools.get(tool.spec.name) is None}

    def get(self, name: str) -> Tool | None:
        """Return the tool with that name, or None."""
        return self._tools.get(name) or self._own.get(name)

    def all(self) -> tuple[Tool, ...]:
        """Return every tool, in the order in which they are listed to the model."""
        return (*self._tools.all(), *self._own.values())

    def schemas(self) -> list[ToolSchema]:
        """Return the tools' schemas for the model."""
        return [described(tool.spec, schema_of(tool.spec.Input)) for tool in self.all()]


def cleaned(schemas: Sequence[ToolSchema], text: Callable[[str], str]) -> list[ToolSchema]:
    """Return the schemas with the function `text` applied to all their descriptions.

    `text` removes identifying text: a description may name a user's folder.
    """
    return [
        replace(
            item, description=text(item.description), parameters=_cleaned(item.parameters, text)
        )
        for item in schemas
    ]


def _cleaned(part: Any, text: Callable[[str], str], key: str = "") -> Any:
    if isinstance(part, Mapping):
        return {key: _cleaned(item, text, key) for key, item in part.items()}
    if isinstance(part, list):
        return [_cleaned(item, text) for item in part]
    # An argument may itself be called "description": its schema is a table.
    return text(part) if key == "description" and isinstance(part, str) else part


_TEXT = (
    "These tools exist and are not offered, since their models are not installed on this "
    "computer: {names}. Where the question needs one of them, say so; the user can install it in "
    "the program under Tools, Models."
)


class AvailableTools:
    """The tools of a run, without those for which `lacks` says that a model or package is missing.

    Tools in `named`, which the question names, are kept, since their error says what is missing.
    """

    def __init__(
        self, tools: Tools, named: Collection[str], lacks: Callable[[ToolSpec], bool]
    ) -> None:
        self._left_out = {
            tool.spec.name: tool
            for tool in tools.all()
            if tool.spec.needs and tool.spec.name not in named and lacks(tool.spec)
        }
        self._tools = tools

    def get(self, name: str) -> Tool | None:
        """Return the tool with that name, even one left out, or None if there is no such tool."""
        return self._tools.get(name)

    def all(self) -> tuple[Tool, ...]:
        """Return the tools that are not left out, in the order in which the model sees them."""
        return tuple(tool for tool in self._tools.all() if tool.spec.name not in self._left_out)

    def told_after(self, system: str, related: Collection[str] = ()) -> str:
        """Return the prompt `system`, followed by a paragraph that names the tools left out.

        If there are `related` tools, only those of them are named.
        """
        names = [name for name in self._left_out if not related or name in related]
        if not names:
            return system
        return f"{system}\n\n{_TEXT.format(names=', '.join(names))}".strip()


ROOM_TOKENS, FIRST_TOKENS = 1_100, 300
"""Room for all tools together, and for the first of those to which rules see no question lead."""


def without_record(intent: Intent) -> frozenset[str]:
    """Return the tools that have nothing to read, since no patient's record is open.

    They are those that packs list only for questions about a record, unless the question names one.
    """
    if intent.scene.records.count():
        return frozenset()
    kinds = [kind for _, kind in intent.scene.plans.kinds()]
    of_records = {name for kind in kinds if kind.needs_record for name in kind.tool_names}
    others = {name for kind in kinds if not kind.needs_record for name in kind.tool_names}
    return frozenset(of_records - others - set(intent.named))


def related_tools(intent: Intent) -> frozenset[str]:
    """Return the tools that a question may need, as found by rules; none if rules find no tool.

    They are the tools that answer it or work on an object in it, and all that no pack lists for a
    kind of question, with the tools that these require, that follow them or can replace them.
    """
    plans, plan = intent.scene.plans, intent.plan
    steps = plan.steps if isinstance(plan, ToolPlan) else ()
    found = {*intent.wanted, *intent.absent, *intent.named, *(step.tool for step in steps)}
    if not found:
        return frozenset()
    kinds = [kind for _, kind in plans.kinds()]
    for rule in plans.rules():
        if any(item.value in intent.targets for item in rule.values):
            found.add(rule.tool)
    found |= {name for kind in kinds if kind.name in intent.kinds for name in kind.tool_names}
    found |= intent.scene.tools.keys() - {name for kind in kinds for name in kind.tool_names}
    left = list(found)
    while left:
        tool = left.pop()
        rule = plans.rule(tool)
        near = {*plans.alternatives(tool), *(name for f in rule.feeds for name in f.tools)}
        near |= {name for need in rule.requires for name in need.tools}
        near |= {item.then for item in plans.successors(tool, intent.kinds)}
        left += near - found
        found |= near
    return frozenset(found)


def may_need(
    intent: Intent, schemas: Sequence[ToolSchema], *, fast: bool = False
) -> list[ToolSchema]:
    """Return short schemas of the tools to offer to the model for a question.

    These are its `related_tools`, or all tools if there are none. If the question names no tool,
    others are added as long as they fit a limit of tokens. A model that reads `fast`, as one on a
    CPU does not, is offered all tools that work the window, if there is one. `update_plan` is
    offered only if rules find no related tools.
    """
    short = [replace(item, parameters=brief(item.parameters)) for item in schemas]
    related, scene = related_tools(intent), intent.scene.tools
    if not related:
        return short
    chosen = {*related, READ_RESULT}
    if intent.named:  # by name or by phrase: these are what is wanted
        return [item for item in short if item.name in chosen]
    kinds = intent.scene.plans.kinds()
    packs = [pack for pack, kind in kinds if set(kind.tool_names) & set(intent.wanted)]
    if intent.scene.shown and fast:
        chosen |= {n for pack, kind in kinds if pack.spoken is not None for n in kind.tool_names}
    near = {name for pack, kind in kinds if pack in packs for name in kind.tool_names}
    left = ROOM_TOKENS - sum(schema_tokens(item) for item in short if item.name in related)
    # First those for every image, then those of the packs that the question is about.
    for room, names in ((FIRST_TOKENS, scene.keys()), (left, near), (left, scene.keys())):
        for item in short:
            tokens = schema_tokens(item)
            if item.name in names and item.name not in chosen and tokens <= room:
                room, left = room - tokens, left - tokens
                chosen.add(item.name)
    return [item for item in short if item.name in chosen]


_WORD = re.compile(r"[^\W\d_]{3,}")
_STEM = 6  # letters that forms of a word have in common: report, reports, reported


def that_fit(
    intent: Intent, schemas: Sequence[ToolSchema], fit: Callable[[list[ToolSchema]], bool]
) -> list[ToolSchema]:
    """Return as many of the tools as `fit`, in their order, without those of the least use.

    The tools of the rules' plan come first, then those that rules relate to the question, those for
    what is open (an image that they accept, a record), and those that share rare words with the
    question. `read_result` always stays: without it a shortened result could not be read.
    """
    if fit(list(schemas)):
        return list(schemas)
    plans, plan, records = intent.scene.plans, intent.plan, intent.scene.records.count() > 0
    steps = plan.steps if isinstance(plan, ToolPlan) else ()
    wanted = {*intent.wanted, *intent.named, *(step.tool for step in steps)}
    related = related_tools(intent)
    kinds = [kind for _, kind in plans.kinds()]
    of_records = {name for kind in kinds if kind.needs_record for name in kind.tool_names}
    of_images = {name for kind in kinds if kind.needs_image for name in kind.tool_names}
    words = {item.name: _stems(f"{item.name} {item.title} {item.description}") for item in schemas}
    for kind in kinds:
        for name in kind.tool_names & words.keys():
            words[name] |= _stems(" ".join(kind.words))
    counts = Counter(word for item in words.values() for word in item)
    asked = _stems(intent.question)

    def use(item: ToolSchema) -> tuple[float, ...]:
        accepts = plans.rule(item.name).accepts
        pictured = any(not unsuitable_image(accepts, note) for note in intent.scene.images)
        # A tool for such images only is likelier than one for all.
        fits = 1 + bool(accepts.modalities) if pictured and item.name in of_images else 0
        is_open = 2 if records and item.name in of_records else fits
        rare = sum(1 / counts[word] for word in asked & words[item.name])
        return (item.name == READ_RESULT, item.name in wanted, item.name in related, is_open, rare)

    ranked = sorted(schemas, key=use, reverse=True)

    def first(number: int) -> list[ToolSchema]:
        chosen = {item.name for item in ranked[:number]}
        return [item for item in schemas if item.name in chosen]

    numbers = range(1, len(ranked))
    return first(bisect_left(numbers, True, key=lambda number: not fit(first(number + 1))) + 1)


def _stems(text: str) -> set[str]:
    return {word[:_STEM] for word in _WORD.findall(text.casefold())}


def missing_needs(models_dir: Path) -> Callable[[ToolSpec], bool]:
    """Return a function that tells whether a model or package that a tool requires is missing."""
    store = ModelStore(models_dir)

    def has_model(tool: str, name: str) -> bool:
        # Two layouts of a model, or two sections of a report, have a card each: either will do.
        same = {card.name for card in cards().values() if tool in card.tools and not card.embedded}
        known = (same | {name}) & set(cards())
        # Of the models that somebody else's pack brings nothing is known here.
        return not known or any(store.has(each) for each in known)

    def lacks(spec: ToolSpec) -> bool:
        needed = [need for need in spec.needs if not need.optional]
        return any(
            not (is_installed(n.name) if n.kind == "package" else has_model(spec.name, n.name))
            for n in needed
        )

    return lacks
