"""Calls of the tool that repeats another: what they run on which images, and what each gave.

Planning and enforcement see such a call as one of the inner tool, on all of its images.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, cast

from app.agent.image_reference import image_reference
from app.agent.messages import Message, ToolCall
from app.tools.api import REPEATING_TOOL

NAME = REPEATING_TOOL


def inner_call(call: ToolCall, notes: Sequence[Mapping[str, Any]] = ()) -> ToolCall | None:
    """Return the call that is repeated, with all its images; None for any other call.

    `notes` are those on the open images, for a call that names none.
    """
    tool = call.arguments.get("tool")
    if call.name != NAME or not isinstance(tool, str) or not tool:
        return None
    given = call.arguments.get("arguments")
    arguments = dict(cast("dict[str, Any]", given)) if isinstance(given, dict) else {}
    images = call.arguments.get("images")
    group = str(call.arguments.get("group") or "").strip().lower()
    if not isinstance(images, list) or not images:
        images = [image_reference(note) for note in notes]
    if group:
        inside = {
            name
            for note in notes
            if str(note.get("group", "")).lower() == group
            for name in (image_reference(note), str(note.get("id")))
        }
        images = [name for name in images if name in inside]
    return call.model_copy(update={"name": tool, "arguments": {**arguments, "images": images}})


def as_repeated(call: ToolCall, like: ToolCall, drop: Collection[str]) -> ToolCall:
    """Return a call of one tool as one of the repeating tool, on the images of the call `like`.

    Its arguments in `drop` are those that each image has of its own.
    """
    own = {name: value for name, value in call.arguments.items() if name not in drop}
    where = {key: like.arguments[key] for key in ("images", "group") if like.arguments.get(key)}
    arguments = {"tool": call.name, **where, "arguments": own}
    return call.model_copy(update={"name": NAME, "arguments": arguments})


def inner_message(message: Message) -> Message:
    """Return a result of the repeating tool as one of the inner tool, with totals as figures."""
    tool = message.output.get("tool")
    if message.tool != NAME or not isinstance(tool, str):
        return message
    totals = cast("dict[str, dict[str, float]]", message.output.get("totals") or {})
    figures = {name: total.get("sum") for name, total in totals.items()}
    data = {**message.data, "output": {**figures, **message.output}}
    return message.model_copy(update={"tool": tool, "data": data})


def results_of(message: Message) -> list[dict[str, Any]]:
    """Return what each image gave, [] for a result of another tool."""
    rows = message.output.get("results") if message.output.get("tool") else None
    if not isinstance(rows, list):
        return []
    return [row for row in cast("list[Any]", rows) if isinstance(row, dict) and "image" in row]


def expanded(history: Sequence[Message]) -> list[Message]:
    """Return the messages with a call and a result of its own for each image of such calls.

    For planning only: "crop the cells" takes this image's mask of all that were segmented.
    """
    made = {item.call_id: item for item in history if item.role == "tool" and item.tool == NAME}
    told: list[Message] = []
    for message in history:
        calls = [call for call in message.tool_calls if results_of(made.get(call.id, message))]
        if calls:
            single = [one for call in calls for one in _single_calls(call, made[call.id])]
            message = message.model_copy(update={"tool_calls": [*message.tool_calls, *single]})
        told.append(message)
        if message.role == "tool" and message.tool == NAME:
            told += _single_results(message)
    return told


def _single_calls(call: ToolCall, result: Message) -> list[ToolCall]:
    tool = str(result.output.get("tool"))
    return [
        ToolCall(id=f"{call.id}#{place}", name=tool, arguments={"image": row["image"]})
        for place, row in enumerate(results_of(result))
    ]


def _single_results(result: Message) -> list[Message]:
    tool = str(result.output.get("tool"))
    return [
        Message(
            role="tool",
            call_id=f"{result.call_id}#{place}",
            tool=tool,
            ok=result.ok and "error" not in row,
            data={"summary": "", "output": row.get("output") or {}, "metadata": {}},
        )
        for place, row in enumerate(results_of(result))
    ]
