"""Arguments of a call that nobody wrote: from earlier results, the open image and defaults."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from app.agent.call_log import CallLog, output_of
from app.agent.image_reference import image_arguments, image_reference
from app.agent.llm.base import ToolSchema
from app.agent.loop.tool_execution import schema_of
from app.tools.api import ToolSpec
from app.tools.planning import Plans


@dataclass(frozen=True, slots=True)
class Bound:
    """A call's arguments.

    Attributes:
        arguments: As far as they are known.
        missing: What nothing gives, or what the tool would refuse; () when the call can be made.
        fed: Arguments that come from earlier results.
    """

    arguments: dict[str, Any]
    missing: tuple[str, ...] = ()
    fed: tuple[str, ...] = ()


def bind(
    spec: ToolSpec,
    plans: Plans,
    record: CallLog,
    images: Collection[str],
    *,
    given: Mapping[str, Any] | None = None,
    fresh: Collection[str] = (),
) -> Bound:
    """The arguments of a call of this tool.

    Args:
        spec: The tool.
        plans: What feeds it.
        record: Earlier results.
        images: The images that the call is about, by `image_reference`.
        given: Arguments that are known already; those that the tool does not take are left out.
        fresh: Tools whose result is newer than what was given, and so wins over it.
    """
    schema = schema_of(spec.Input)
    properties: dict[str, Any] = schema.get("properties", {})
    arguments = {name: value for name, value in (given or {}).items() if name in properties}
    fed = feed(arguments, properties, spec.name, plans, record, images, fresh)
    _show(arguments, spec, record, images)
    for name, values in plans.rule(spec.name).usual:
        if name in properties and values and arguments.get(name) is None:
            arguments[name] = list(values) if _many(properties[name]) else values[0]
    try:
        spec.Input.model_validate(arguments)
    except ValidationError as error:
        named = (str(item["loc"][0]) if item["loc"] else "" for item in error.errors())
        return Bound(arguments, tuple(dict.fromkeys(filter(None, named))) or ("arguments",), fed)
    return Bound(arguments, (), fed)


def feed(
    arguments: dict[str, Any],
    properties: Mapping[str, Any],
    tool: str,
    plans: Plans,
    record: CallLog,
    images: Collection[str],
    fresh: Collection[str] = (),
) -> tuple[str, ...]:
    """Set what earlier results give, where nothing is given or the result is newer."""
    fed: list[str] = []
    for item in plans.rule(tool).feeds:
        sources = item.tools or tuple(rule.tool for rule in plans.rules() if rule.makes)
        if item.argument not in properties:
            continue
        newer = item.argument not in fed and bool(set(sources) & set(fresh))
        if arguments.get(item.argument) not in (None, "", []) and not newer:
            continue
        last = record.latest(set(sources) & set(fresh) if newer else sources, images)
        value = output_of(last, item.key or plans.rule(last.call.name).makes) if last else None
        if value is None:
            continue
        if _many(properties[item.argument]) and not isinstance(value, list):
            value = [value]
        arguments[item.argument] = value
        fed.append(item.argument)
    return tuple(fed)


def _show(
    arguments: dict[str, Any], spec: ToolSpec, record: CallLog, images: Collection[str]
) -> None:
    """Name the image in the argument that takes one."""
    schema = ToolSchema(spec.name, "", schema_of(spec.Input))
    name = next(iter(image_arguments(schema)), "")
    if not name or arguments.get(name) not in (None, "", []):
        return
    chosen = record.current if record.current in images or not images else min(images)
    note = record.note(chosen)
    if note is None or image_reference(note) == "":
        return
    many = _many(schema.parameters["properties"][name])
    arguments[name] = [image_reference(note)] if many else image_reference(note)


def _many(field: Mapping[str, Any]) -> bool:
    """Whether an argument is a list, or a list or null."""
    kinds = {item.get("type") for item in (field, *field.get("anyOf", ()))} - {None, "null"}
    return kinds == {"array"}
