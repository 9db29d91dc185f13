"""Takes arguments apart: every text, number and list in them, with its place and its names."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, cast

from pydantic import BaseModel

_log = logging.getLogger(__name__)

DEEPEST = 40
"""Levels of nesting; deeper arguments are refused."""

_GENERIC = frozenset(
    (
        *("name", "value", "values", "item", "items", "source", "target", "src", "location"),
        *("id", "key", "text"),
    )
)
"""Names that say nothing of what stands under them: those above them do."""


class TooDeep(ValueError):
    """Arguments are nested deeper than anybody could look at."""


@dataclass(frozen=True, slots=True)
class Piece:
    """One text, number or list.

    Attributes:
        value: What it is.
        where: Its place in words: "files[2].name".
        argument: The name of the argument that holds it.
        names: Keys on the way to it that say what it is, the nearest last.
        formats: "format" of the JSON schema there ("path", "uri").
        default: It is the whole argument, and what the tool takes where nobody gives it.
    """

    value: str | int | float | Sequence[Any] | Mapping[str, Any]
    where: str
    argument: str
    names: tuple[str, ...]
    formats: frozenset[str] = frozenset()
    default: bool = False


def pieces(input_type: type[BaseModel], arguments: Mapping[str, Any]) -> list[Piece]:
    """All pieces of exact arguments (plain JSON), keys of tables included.

    Raises:
        TooDeep: They are nested too deeply.
    """
    found: list[Piece] = []
    schema = _schema(input_type)
    for name, value in arguments.items():
        field = input_type.model_fields.get(name)
        untouched = field is not None and not field.is_required() and _same(field, value)
        part = _below(schema, [schema], name)
        found += (
            replace(piece, default=untouched)
            for piece in _walk(value, name, name, (name,), part, schema, 1)
        )
    return found


def _walk(
    value: Any,
    where: str,
    argument: str,
    names: tuple[str, ...],
    schemas: list[dict[str, Any]],
    root: dict[str, Any],
    depth: int,
) -> Iterator[Piece]:
    if depth > DEEPEST:
        raise TooDeep
    formats = frozenset(str(part["format"]) for part in schemas if "format" in part)
    if isinstance(value, str | int | float) and not isinstance(value, bool):
        yield Piece(value, where, argument, names, formats)
    elif isinstance(value, Mapping):
        table = cast("Mapping[str, Any]", value)
        yield Piece(table, where, argument, names)
        for key, item in table.items():
            yield Piece(key, f"{where} (a name in it)", argument, ())
            below = _below(root, schemas, key)
            closer = (*names, key) if key.lower() in _GENERIC else (key,)
            yield from _walk(item, f"{where}.{key}", argument, closer, below, root, depth + 1)
    elif isinstance(value, list):
        items = cast("list[Any]", value)
        yield Piece(items, where, argument, names)
        below = _items(root, schemas)
        for number, item in enumerate(items):
            at = f"{where}[{number}]"
            yield from _walk(item, at, argument, names, below, root, depth + 1)


def _same(field: Any, value: Any) -> bool:
    try:
        default = field.get_default(call_default_factory=True)
    except Exception:  # it is made of other arguments, or by a pack's code: judged as any value
        return False
    if isinstance(default, str | int | float | bool | None):
        return type(default) is type(value) and default == value
    # A path's default is written as its text; lists and tables compare as JSON.
    return str(default) == value if isinstance(value, str) else not default and not value


@lru_cache(maxsize=256)
def _schema(input_type: type[BaseModel]) -> dict[str, Any]:
    try:
        return input_type.model_json_schema(by_alias=False)
    except Exception as error:  # a pack's own types may have none; their names are still judged
        _log.debug("no schema for the arguments of a tool (%s)", type(error).__name__)
        return {}


def _resolved(root: dict[str, Any], part: Any, depth: int = 0) -> list[dict[str, Any]]:
    """A part of a schema as all that it may be: references and alternatives followed."""
    if not isinstance(part, dict) or depth > DEEPEST:
        return []
    known = cast("dict[str, Any]", part)
    found = [known]
    name = str(known.get("$ref", "")).removeprefix("#/$defs/")
    if name:
        found += _resolved(root, root.get("$defs", {}).get(name), depth + 1)
    for kind in ("anyOf", "oneOf", "allOf"):
        for item in known.get(kind, ()):
            found += _resolved(root, item, depth + 1)
    return found


def _below(root: dict[str, Any], schemas: list[dict[str, Any]], key: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for part in schemas:
        inner = part.get("properties", {}).get(key, part.get("additionalProperties"))
        found += _resolved(root, inner)
    return found


def _items(root: dict[str, Any], schemas: list[dict[str, Any]]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for part in schemas:
        for inner in (part.get("items"), *part.get("prefixItems", ())):
            found += _resolved(root, inner)
    return found
