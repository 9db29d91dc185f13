"""What a run offers its model: the tools of the packs and, where it can use them, our own."""

from __future__ import annotations

from collections.abc import Sequence

from app.agent.execute import Tools, schema_of
from app.agent.llm.base import ToolSchema
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
