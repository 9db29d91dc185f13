"""Earlier results of the conversation, as tools see them, and the kinds of the files they made."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from pydantic import BaseModel

from app.agent.image_reference import made_arguments, made_by, resource_of
from app.agent.llm.base import ToolSchema
from app.agent.repeated_calls import inner_message
from app.agent.sessions import Thread
from app.tools.api import Artifact, PastResult, Resource, ToolSpec
from app.tools.pack_plan import Plans

_ROLES = {Resource.MASK: "mask", Resource.TABLE: "table"}
_NO_IMAGE = ("table", "plot", "file")


class PastResults:
    """The successful results of a conversation, those of the current run included.

    Implements `app.tools.api.Results`.

    Args:
        thread: The conversation.
        rejected: Ids of calls all of whose findings the user has rejected; they give no result.
    """

    def __init__(self, thread: Thread, rejected: Sequence[str] = ()) -> None:
        self._thread = thread
        self._rejected = frozenset(rejected)

    def all(self) -> tuple[PastResult, ...]:
        """Return the results, the oldest first."""
        return tuple(self._results())

    def by_id(self, call_id: str) -> PastResult | None:
        """Return the result of the call with that id, or None."""
        return next((item for item in self._results() if item.call_id == call_id), None)

    def latest(self, tool: str) -> PastResult | None:
        """Return the latest result of a tool, alone or on many images, or None."""
        found = [item for item in self._results() if item.tool == tool]
        return found[-1] if found else None

    def made(self) -> dict[str, tuple[str, str]]:
        """Return the role of each file that results list, and the tool that made it, by path."""
        return {
            str(artifact.path): (artifact.role, result.tool)
            for result in self._results()
            for artifact in result.artifacts
        }

    def _results(self) -> Iterator[PastResult]:
        history = self._thread.history
        calls = {call.id: call for message in history for call in message.tool_calls}
        for message in history:
            if message.role != "tool" or not message.ok or message.call_id in self._rejected:
                continue
            told = inner_message(message)
            call = calls.get(message.call_id)
            logged = self._thread.result(message.call_id) or {}
            yield PastResult(
                message.call_id,
                told.tool,
                dict(call.arguments) if call is not None else {},
                dict(message.output),
                dict(message.metadata),
                tuple(_artifacts(logged.get("artifacts"))),
            )


def _artifacts(items: Any) -> Iterator[Artifact]:
    for item in cast("list[Any]", items) if isinstance(items, list) else []:
        if isinstance(item, Artifact):
            yield item
        elif isinstance(item, Mapping) and isinstance(item.get("path"), str):
            known = cast("Mapping[str, Any]", item)
            options = known.get("options")
            yield Artifact(
                Path(known["path"]),
                str(known.get("role", "image")),
                str(known.get("title", "")),
                str(known.get("description", "")),
                options=dict(options) if isinstance(options, Mapping) else {},
            )


def wrong_kind(
    spec: ToolSpec,
    schema: Mapping[str, Any],
    args: BaseModel,
    results: PastResults,
    open_images: Sequence[str],
    plans: Plans,
) -> str:
    """Return why an argument's file is not what it takes ("a mask"), as a clause; "" if all are.

    `open_images` are the ids and paths of the open images. Files of which nothing is known are
    left to the policy and the tool.
    """
    fields: Mapping[str, Any] = schema.get("properties", {})
    kinds = made_arguments(ToolSchema(spec.name, "", dict(schema)))
    typed = {name: kind for name, field in fields.items() if (kind := resource_of(field))}
    if not typed:
        return ""
    made: dict[str, tuple[str, str]] | None = None
    for name, kind in typed.items():
        given = getattr(args, name, None)
        values = given if isinstance(given, list) else [given]
        for value in (item for item in values if isinstance(item, str) and item):
            made = results.made() if made is None else made
            role, tool = made.get(value, ("", ""))
            if kind in (Resource.IMAGE, Resource.IMAGES) and role in _NO_IMAGE:
                return f"{name} takes an image, and this is a {role} of {tool}"
            if name not in kinds:
                continue
            wanted = _ROLES.get(kind)
            if value in open_images:
                what = "an open image"
            elif role and wanted and role != wanted:
                what = f"a {role} of {tool}"
            else:
                continue
            return f"{name} takes {made_by(spec.name, name, kind, plans)}, and this is {what}"
    return ""
