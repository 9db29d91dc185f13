"""The intent of a question, for tests that need no open image."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import cast

from app.agent.llm.base import ToolSchema
from app.agent.planning import Intent, Planner, Scene
from app.tools.pack_plan import Plans


def intent_of(question: str, plans: Plans, tools: Collection[str]) -> Intent:
    """Return the intent of a question by these packs' words, of tools by name or with schemas."""
    if isinstance(tools, Mapping):
        schemas = cast("Mapping[str, ToolSchema]", tools)
    else:
        schemas = {name: ToolSchema(name, "", {}) for name in tools}
    return Planner(plans).interpret(question, Scene((), schemas))
