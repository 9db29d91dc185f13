"""A tool as it was when it was registered: what it says of itself later changes nothing.

The policy rests on what a tool declares. A pack from elsewhere may hold a spec that says something
else each time, or change it once the tool is known; neither makes a call freer.
"""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any, cast

from app.tools.api import Approval, Tool, ToolContext, ToolFailed, ToolResult, ToolSpec
from app.tools.synthetic import NotingImages, marked


class PinnedTool:
    """Runs a tool under the declaration that it was registered with.

    Args:
        tool: The tool; its spec is read once, here.
    """

    def __init__(self, tool: Tool) -> None:
        self._tool = tool
        self._spec = plain_spec(tool.spec)

    @property
    def spec(self) -> ToolSpec:
        """What it said when it was registered."""
        return self._spec

    def run(self, args: Any, context: ToolContext) -> ToolResult:
        """Do it, as `Tool.run`.

        Raises:
            ToolFailed: The tool says something else of itself by now.
        """
        if plain_spec(self._tool.spec) != self._spec:
            raise ToolFailed(
                f"{self._spec.name} has changed what it says of itself since it was loaded",
                remedy="It is not run. Start Sightline again, or remove the pack that brings it.",
            )
        images = NotingImages(context.images)
        return marked(self._tool.run(args, replace(context, images=images)), images.models)

    def __getattr__(self, name: str) -> Any:
        # What else a pack's tool has (for its own tests and commands) stays within reach.
        return getattr(self._tool, name)


def plain_spec(spec: ToolSpec) -> ToolSpec:
    """A copy that holds plain values only: each field is read once and answers alike ever after.

    An effect that is none of ours stays as its text, for which the policy asks.
    """
    held = {item.name: getattr(spec, item.name) for item in fields(ToolSpec)}
    effect = "".join(str.__iter__(held["approval"]))  # its letters, whatever it says it equals
    held["approval"] = next((item for item in Approval if item.value == effect), effect)
    held["paths"] = {
        str(name): use for name, use in cast("dict[str, Any]", dict(held["paths"])).items()
    }
    held["hosts"] = tuple(str(host) for host in held["hosts"])
    held["labels"] = tuple(str(label) for label in held["labels"])
    return ToolSpec(**held)
