"""The tools that a run offers its model: the packs' tools that can work, and the loop's own.

A tool whose model is not installed is not offered: a model running on a CPU would spend seconds
reading its description, and a call could only fail. The language model is only told the tool's
name, so that it can say what would be needed. If it calls the tool all the same, the tool runs and
reports what is missing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from app.agent.llm.base import ToolSchema
from app.agent.loop.tool_execution import Tools, schema_of
from app.tools.api import Tool, ToolSpec
from app.tools.models.cards import cards
from app.tools.models.store import ModelStore
from app.tools.needs import is_installed


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
        specs = [tool.spec for tool in self.all()]
        return [
            ToolSchema(item.name, item.description, schema_of(item.Input), item.phrases, item.title)
            for item in specs
        ]


_WORDS = frozenset(("description", "title", "default", "examples"))
"""Keys of a schema that hold text for people."""


def cleaned(schemas: Sequence[ToolSchema], text: Callable[[str], str]) -> list[ToolSchema]:
    """Return the schemas with the function `text` applied to descriptions, titles and defaults.

    `text` removes identifying text: a default value, for example, may name a user's folder.
    """
    return [
        replace(
            item, description=text(item.description), parameters=_cleaned(item.parameters, text)
        )
        for item in schemas
    ]


def _cleaned(part: Any, text: Callable[[str], str], words: bool = False) -> Any:
    if isinstance(part, str):
        return text(part) if words else part
    if isinstance(part, Mapping):
        # An argument may itself be called "title": its schema is a table, and no words.
        return {
            key: _cleaned(item, text, words or (key in _WORDS and not _is_schema(item)))
            for key, item in part.items()
        }
    if isinstance(part, list | tuple):
        return [_cleaned(item, text, words) for item in part]
    return part


def _is_schema(item: Any) -> bool:
    return isinstance(item, Mapping) and bool({"type", "anyOf", "$ref", "allOf"} & set(item))


_TEXT = (
    "These tools exist and are not offered, since their models are not installed on this "
    "computer: {names}. Where the question needs one of them, say so; the user can install it in "
    "the program under Tools, Models."
)


class AvailableTools:
    """The tools of a run, without those for which `lacks` says that a model or package is missing.

    Tools in `named`, which the question names, are kept in any case, because the error of such a
    tool explains more.
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
        """Return the tool with that name, offered or not, or None: a call says what is missing."""
        return self._tools.get(name)

    def all(self) -> tuple[Tool, ...]:
        """Return the tools that are not left out, in the order in which the model sees them."""
        return tuple(tool for tool in self._tools.all() if tool.spec.name not in self._left_out)

    def told_after(self, system: str) -> str:
        """Return the prompt `system`, followed by a paragraph that names the tools left out."""
        if not self._left_out:
            return system
        return f"{system}\n\n{_TEXT.format(names=', '.join(self._left_out))}".strip()


def missing_needs(models_dir: Path) -> Callable[[ToolSpec], bool]:
    """Return a function that returns whether a tool's required package or model is missing."""
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
