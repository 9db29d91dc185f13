"""Calls that a tool makes of other tools, on one image each; implements `api.InnerCalls`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pydantic import BaseModel, ValidationError

from app.agent.image_reference import as_value, image_argument
from app.agent.llm.base import ToolSchema
from app.agent.loop.tool_execution import Tools, schema_of
from app.agent.planning import near_names
from app.agent.policy.judgements import Judgement, Rule
from app.tools.api import (
    REPEATING_TOOL,
    Approval,
    Tool,
    ToolContext,
    ToolFailed,
    ToolResult,
    ToolRetry,
    ToolSpec,
)

Bind = Callable[[Tool, Mapping[str, Any], str], tuple[dict[str, Any], str]]
"""Returns a call's arguments for an image, and why it may not be made or ""."""


def with_image(tool: Tool, arguments: Mapping[str, Any], image: str) -> tuple[dict[str, Any], str]:
    """Return the arguments with the image in place, for a call outside a run."""
    schema = ToolSchema(tool.spec.name, "", schema_of(tool.spec.Input))
    slot = image_argument(schema)
    return {**arguments, slot: as_value(schema, slot, image)}, ""


class InnerCallRunner:
    """Runs inner calls in the thread of the outer one.

    Args:
        tools: The tools that there are.
        judge: Returns the policy's judgement of a tool with exactly these arguments.
        bind: Returns a call's arguments for an image, and why it may not be made or "".
    """

    def __init__(
        self,
        tools: Tools,
        judge: Callable[[ToolSpec, BaseModel], Judgement],
        bind: Bind = with_image,
    ) -> None:
        self._tools = tools
        self._judge = judge
        self._bind = bind

    def check(self, tool: str) -> ToolSpec:
        """Return a tool's description, if it takes an image and only reads or computes."""
        return self._tool(tool).spec

    def bind(self, tool: str, arguments: Mapping[str, Any], image: str) -> dict[str, Any]:
        """Return the arguments of a call on one image; see `app.tools.api.InnerCalls`."""
        found = self._tool(tool)
        bound, why = self._bind(found, arguments, image)
        if why:
            raise ToolFailed(why)
        args = _validated(found, bound)
        judged = self._judge(found.spec, args)
        if judged.rule is Rule.DENY:
            raise ToolFailed(judged.reason, remedy=judged.remedy)
        if judged.rule is Rule.ASK:
            raise ToolFailed(
                f"{tool} asks before each call by the policy of this installation, so it is not "
                "run on many images at once"
            )
        return bound

    def run(self, tool: str, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        """Run a tool on one image; see `app.tools.api.InnerCalls`."""
        found = self._tool(tool)
        return found.run(_validated(found, arguments), context)

    def _tool(self, name: str) -> Tool:
        found = self._tools.get(name)
        if found is None:
            near = near_names(name, [item.spec.name for item in self._tools.all()])
            hint = f"Did you mean {' or '.join(near)}?" if near else ""
            raise ToolRetry(f"there is no tool {name[:80]!r}", remedy=hint)
        acts = found.spec.approval not in (Approval.READ, Approval.COMPUTE)
        if acts or name == REPEATING_TOOL:
            why = "it does more than read and compute" if acts else "it repeats others itself"
            raise ToolRetry(f"{name} is never run on many images at once: {why}")
        if not image_argument(ToolSchema(name, "", schema_of(found.spec.Input))):
            raise ToolRetry(f"{name} takes no image")
        return found


def _validated(tool: Tool, arguments: Mapping[str, Any]) -> BaseModel:
    try:
        return tool.spec.Input.model_validate(dict(arguments))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise ToolRetry(f"wrong arguments for {tool.spec.name}: {where}: {first['msg']}") from None
