"""What a run offers its model: the tools of the packs and, where it can use them, our own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from app.agent.llm.base import ToolSchema
from app.agent.loop.tool_execution import Tools, schema_of
from app.tools.api import Tool


class Offered:
    """Tools of the packs, and the loop's own behind them; a pack's tool keeps its name.

    Args:
        tools: The packs'.
        own: The loop's own, made for one run.
    """

    def __init__(self, tools: Tools, own: Sequence[Tool] = ()) -> None:
        self._tools = tools
        self._own = {tool.spec.name: tool for tool in own if tools.get(tool.spec.name) is None}

    def get(self, name: str) -> Tool | None:
        """The tool of that name."""
        return self._tools.get(name) or self._own.get(name)

    def all(self) -> tuple[Tool, ...]:
        """Every tool, in the order they are listed to the model."""
        return (*self._tools.all(), *self._own.values())

    def schemas(self) -> list[ToolSchema]:
        """What the model is told of them."""
        specs = [tool.spec for tool in self.all()]
        return [
            ToolSchema(item.name, item.description, schema_of(item.Input), item.phrases)
            for item in specs
        ]


_WORDS = frozenset(("description", "title", "default", "examples"))
"""What a schema says in words, beside what an endpoint reads."""


def cleaned(schemas: Sequence[ToolSchema], text: Callable[[str], str]) -> list[ToolSchema]:
    """The same with their words cleaned: a default may be a folder of this computer's user.

    Args:
        schemas: What a remote model would be told.
        text: Cleans a text.
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
