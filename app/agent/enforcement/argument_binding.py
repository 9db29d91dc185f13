"""Arguments for calls that rules make: from earlier results, the open image, and defaults."""

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
from app.tools.pack_plan import Plans


@dataclass(frozen=True, slots=True)
class Bound:
    """The arguments of a call that rules make.

    Attributes:
        arguments: Those that are known.
        missing: Required arguments that are unknown or invalid; () if the call can be made.
        fed: Names of arguments that come from earlier results.
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
    """Return the arguments for a call of this tool.

    Args:
        spec: The tool.
        plans: The packs' rules, which say what feeds the tool.
        record: The earlier calls.
        images: References of the images that the call is about.
        given: Arguments that are known already; those that the tool does not take are left out.
        fresh: Tools whose result is newer than `given`, and therefore replaces it.
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
    """Set arguments from earlier results, where none is given or the result is newer.

    Returns:
        The names of the arguments that were set.
    """
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
    """Set the argument that takes the image, if nothing is given for it."""
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
    """Return whether an argument takes a list, or a list or null."""
    kinds = {item.get("type") for item in (field, *field.get("anyOf", ()))} - {None, "null"}
    return kinds == {"array"}
